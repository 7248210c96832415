"""All matrices of one head: sizes, numbers, and what a press or a slider changes."""

import math
import re

import browser
import examples
import pytest
import torch
from examples import OF_SHAPES, PAPER, alive, fits, numbers, press, said, strips

from attnbook.figures import interactive

browser.skip_without()
show = examples.show
WORDS = ["cat", "<i>", "</script>", "drank", "so", "x"]


def matrices(length, d_k):
    """The matrices that the figure shows, in its order."""
    x, *projections = (matrix.double() for matrix in OF_SHAPES)
    x, projections = x[:length], [W[:, :d_k] for W in projections]
    query, key, value = (x @ W for W in projections)
    scores = query @ key.mT / math.sqrt(d_k)
    weights = scores.softmax(dim=-1)
    made = [query, key, value, query, key.mT, value, scores, weights, weights @ value]
    return [x, *projections, *made]


def block(page, name):
    return page.get_by_role("button", name=re.compile(f"^{name}, [^,]+$"))


def drawn(page):
    """The name of each block, and how many squares of which opacity it has, in their places."""
    return page.locator(".matrix").evaluate_all(
        """all => all.map(block => [block.getAttribute("aria-label"),
             [...block.querySelectorAll(".cell")].map(cell => [+cell.getAttribute("x"),
               +cell.getAttribute("y"), +cell.getAttribute("fill-opacity")])])"""
    )


def demand_right(page, length, d_k):
    side = float(page.locator(".cell").first.get_attribute("width"))
    right = matrices(length, d_k)
    shown = drawn(page)
    assert len(shown) == len(right)
    for (label, cells), matrix in zip(shown, right, strict=True):
        rows, columns = matrix.shape
        assert f", {rows} × {columns}" in label
        x, y, shade = torch.tensor(cells).double().T.unflatten(-1, (rows, columns))
        assert torch.allclose(x, x[0, 0] + side * torch.arange(columns).double(), atol=1e-3)
        assert torch.allclose(y.mT, y[0, 0] + side * torch.arange(rows).double(), atol=1e-3)
        between = (matrix - matrix.min()) / (matrix.max() - matrix.min())
        assert torch.allclose(shade, 0.14 + 0.8 * between, atol=1e-3), label


@pytest.mark.parametrize(("width", "scheme"), [(800, "light"), (390, "dark")])
def test_every_number_has_a_square_of_one_size_and_sliders_change_how_many(show, width, scheme):
    body = f"<h1>Shapes</h1>{alive('shapes')}"
    page = show(body, width=width, scheme=scheme, motion="reduce")
    for length, d_k in ((4, 3), (6, 3), (6, 5), (3, 5), (3, 2)):
        for label, size in (("Words L", length), ("Head size dₖ", d_k)):
            page.get_by_role("slider", name=label).fill(str(size))
        demand_right(page, length, d_k)
        assert fits(page)
    assert numbers(page)[1] == {
        "x": ["L × d_model", "3 × 7", "21"],
        **{f"W_{role}": [f"d_model × d_{'kkv'[n]}", "7 × 2", "14"] for n, role in enumerate("QKV")},
        **{role: [f"L × d_{'kkv'[n]}", "3 × 2", "6"] for n, role in enumerate("QKV")},
        "scores": ["L × L", "3 × 3", "9"],
        "weights": ["L × L", "3 × 3", "9"],
        "output": ["L × d_v", "3 × 2", "6"],
    }
    assert browser.violations(page) == []
    assert page.trouble == []


def test_a_slider_frames_what_grows_and_says_it(show):
    page = show(alive("shapes"), motion="reduce")
    grown = """all => all.filter(block => block.querySelector(".old"))
                          .map(block => block.getAttribute("aria-label").replace(/, .{5}/, ""))"""
    page.get_by_role("slider", name="Words L").fill("5")
    of_words = ["x", "Q", "K", "V", "Q, again", "Kᵀ", "V, again", "scores", "weights", "output"]
    assert page.locator(".matrix").evaluate_all(grown) == of_words
    assert "(25 numbers, not 16)" in said(page)
    page.get_by_role("slider", name="Head size").fill("4")
    of_head = ["WQ", "WK", "WV", "Q", "K", "V", "Q, again", "Kᵀ", "V, again", "output"]
    assert page.locator(".matrix").evaluate_all(grown) == of_head
    assert "stay 5 × 5" in said(page).replace("\N{NO-BREAK SPACE}", " ")
    page.get_by_role("slider", name="Head size").fill("3")
    assert page.locator(".old").count() == 0  # the old size would lie on its neighbours


def test_while_matrices_grow_the_last_row_may_be_the_chosen_one(show):
    page = show(alive("shapes"))
    page.get_by_role("button", name="output").focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    for size in ("6", "3", "6"):  # its row is gone, and comes back
        page.get_by_role("slider", name="Words L").fill(size)
        page.wait_for_timeout(700)
        assert page.trouble == []
    assert "(36 numbers, not 9)" in said(page)


def test_a_press_lights_the_factors_and_says_the_product_with_its_sizes(show):
    page = show(alive("shapes"), motion="reduce")
    lit = """all => all.map(block => block.getAttribute("aria-label").replace(/, .{5}/, ""))"""
    _, _, _, _, *made = matrices(4, 3)
    for name, factors, product in (
        ("scores", ["Q, again", "Kᵀ"], "Q (4 × 3) times Kᵀ (3 × 4) gives scores (4 × 4)"),
        ("output", ["V, again", "weights"], "weights (4 × 4) times V (4 × 3) gives output (4 × 3)"),
        ("K", ["x", "WK"], "x (4 × 7) times WK (7 × 3) gives K (4 × 3)"),
        ("weights", ["scores"], "Softmax turns each row of the scores into weights"),
        ("Kᵀ", ["K"], "K (4 × 3) is turned over, which gives Kᵀ (3 × 4)"),
        ("x", [], "x (4 × 7) has a row for each word"),
    ):
        edge = block(page, name).locator(".cell").last  # the last entry
        edge.click(force=True)
        assert sorted(page.locator(".matrix.part").evaluate_all(lit)) == sorted([*factors, name])
        assert block(page, name).get_attribute("aria-pressed") == "true"
        assert product in said(page).replace("\N{NO-BREAK SPACE}", " ")
        if name in ("scores", "weights", "output"):
            matrix = made[6 + ["scores", "weights", "output"].index(name)]
            number = f"{matrix[-1, -1]:.2f}".replace("-", "−")
            assert number in said(page)
            if name != "weights":
                (row, column, each), total = strips(page)
                assert total.endswith(number)
                assert torch.tensor(row).mul(torch.tensor(column)).tolist() == pytest.approx(
                    each, abs=0.05
                )
                assert page.locator(".inner").all_text_contents() == [str(len(each))] * 2


def test_arrow_keys_choose_an_entry(show):
    page = show(alive("shapes"), motion="reduce")
    block(page, "weights").focus()
    press(page, "ArrowLeft", "ArrowDown", "ArrowDown", "ArrowDown")  # from (1, 2), to an edge
    assert "The weight of “<i>” for “drank”" in said(page)
    assert f"{matrices(4, 3)[-2][3, 1]:.2f}" in said(page)


def test_numbers_are_made_in_order_once_it_is_seen_and_a_press_stops_that(show):
    page = show(alive("shapes"))
    page.get_by_role("button", name="stop").wait_for()
    assert block(page, "output").locator(".none").count() == 4 * 3
    assert block(page, "x").locator(".none").count() == 0
    block(page, "Q").click(force=True)
    assert block(page, "output").locator(".none").count() == 0
    page.get_by_role("button", name="play").wait_for()  # Q is made again, alone
    demand_right(page, 4, 3)


def test_the_lit_row_passes_over_the_columns_and_each_gives_one_number(show):
    page = show(alive("shapes"), motion="reduce")
    lit, place, row, columns = page.locator("[label]").evaluate("""figure => {
      figure.run = { stage: 0, part: 0.5, alone: false }; // 4.5 of the 9 columns
      figure.draw();
      const cells = node => [...node.querySelectorAll(".cell")].map(cell =>
        [+cell.getAttribute("x"), +cell.getAttribute("fill-opacity")]);
      return [figure.lit(), figure.passes.firstChild.getAttribute("transform"),
        cells(figure.passes), cells(figure.blocks.W_K)];
    }""")
    assert lit == "K"
    side = float(page.locator(".cell").first.get_attribute("width"))
    x, _, turned = map(float, re.findall(r"[\d.]+", place))
    assert turned == 90 and x == pytest.approx(columns[1][0] + side / 2)  # K's second column
    own = OF_SHAPES[0][:4].double()
    shade = 0.14 + 0.8 * (own[1] - own[1].min()) / (own[1].max() - own[1].min())
    assert torch.allclose(torch.tensor([each for _, each in row]).double(), shade, atol=1e-3)
    empty = {name: block(page, name).locator(".none").count() for name in "QKV"}
    assert empty == {"Q": 9, "K": 10, "V": 12}  # the second number of K is on its way


def test_numbers_are_in_the_squares_if_there_is_room(show):
    sizes = {"tokens": ["a_1", "a_2", "a_3", "a_4"], "length": 4, "d_k": 4, "entry": (1, 3)}
    figure = interactive.shapes(*PAPER, **sizes, alt="The numbers of chapter 2.")
    page = show(f"<h1>Numbers</h1>{figure.to_html()}", motion="reduce", width=900)
    written = page.locator(".numbers").evaluate_all(
        "all => all.map(e => [...e.querySelectorAll('.number')].map(n => n.textContent).join(' '))"
    )
    assert written[4].startswith("1 0 1 0 0 1 0 1"), "queries"
    assert written[-2].split()[4:8] == [".07", ".20", ".20", ".53"]
    assert written[-1].split()[2:4] == ["2.3", "2.9"]
    assert page.get_by_role("slider").count() == 0, "all four tokens are there already"
    assert browser.violations(page) == []


def test_nothing_moves_for_whoever_wants_no_motion(show):
    page = show(alive("shapes"), motion="reduce")
    page.wait_for_timeout(300)
    assert page.get_by_role("button", name="play").is_visible()
    demand_right(page, 4, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": WORDS[:5]}, "got 5 tokens"),
        ({"length": 7}, "got length 7"),
        ({"d_k": 1}, "d_k 1"),
        ({"entry": (0, 4)}, r"entry \(0, 4\)"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    right = {"tokens": WORDS, "length": 4, "d_k": 3, "entry": (1, 2), "alt": "x"}
    with pytest.raises(ValueError, match=message):
        interactive.shapes(*OF_SHAPES, **right | change)
