"""Two words are turned into a query and a key: the dot product is PyTorch's at every moment."""

import browser
import examples
import pytest
import torch
from examples import TURNS, alive, number, numbers, said

browser.skip_without()
show = examples.show
WORDS, ONE, TWO = "the words", "WQ for both", "WQ and WK"
MAPS = {
    WORDS: [torch.eye(2)] * 2,
    ONE: [TURNS["W_Q"]] * 2,
    TWO: [TURNS["W_Q"], TURNS["W_K"]],
}


def vectors(case):
    return torch.stack([row @ by for row, by in zip(torch.eye(2), MAPS[case], strict=True)])


def pressed(page):
    return page.locator("[aria-pressed=true]").inner_text().replace("\n", "")


def tips(page):
    """Where the two arrows end, of length 1."""
    found = page.locator("g:is(.ink, .query, .key):has(line)").evaluate_all(
        "all => all.map(g => g.querySelector('.head').getAttribute('d').match(/[-\\d.e]+/g))"
    )
    return torch.tensor([[float(x), -float(y)] for x, y, *_ in found]) / 150


@pytest.mark.parametrize("case", MAPS)
def test_each_case_shows_its_vectors_and_their_dot_product(show, case):
    page = show(alive("turning"), motion="reduce")
    assert pressed(page) == TWO
    page.get_by_role("button").nth([*MAPS].index(case)).press("Enter")
    right = vectors(case)
    product = right[0] @ right[1]
    assert pressed(page) == case
    assert torch.allclose(tips(page), right, atol=1e-3)
    rows = numbers(page)[1]
    assert number(rows["dot product"][0]) == pytest.approx(product.item(), abs=0.005)
    written = page.locator(".score b").inner_text()
    assert number(written) == pytest.approx(product.item(), abs=0.005) and written in said(page)
    shadow = page.locator(".shadow")
    assert shadow.count() == (product > 0.01), "a right angle casts none, and is marked"
    assert page.locator(".right").count() == 1 - shadow.count()
    if shadow.count():
        x, y = shadow.evaluate(
            "e => [e.getPointAtLength(e.getTotalLength())].flatMap(({ x, y }) => [x, y])"
        )
        foot = torch.tensor([x, -y]) / 150
        assert torch.allclose(foot, right[1] * product, atol=1e-2)


def test_both_projections_turn_the_words_once_by_themselves(show):
    page = show(alive("turning"))
    assert pressed(page) == WORDS and torch.allclose(tips(page), torch.eye(2), atol=1e-3)
    score = page.locator(".score b")
    page.wait_for_function("document.querySelector('[label]').angles[0] > 0.1")
    a, b = page.evaluate("document.querySelector('[label]').angles")
    assert 0 < a < b
    page.wait_for_function("document.querySelector('[label]').angles[0] > 0.64349")  # at its end
    assert score.inner_text() == "0.96"
    assert pressed(page) == TWO and torch.allclose(tips(page), vectors(TWO), atol=1e-3)
    page.get_by_role("button", name=WORDS).click()
    page.wait_for_timeout(3000)
    assert score.inner_text() == "0" and pressed(page) == WORDS


def test_one_projection_keeps_the_right_angle_all_the_way(show):
    page = show(alive("turning"))
    page.get_by_role("button").nth(1).focus()  # so nothing comes by itself
    products = page.evaluate("""new Promise((done) => {
      const figure = document.querySelector("[label]"), seen = [];
      figure.buttons[1].click();
      const look = () => {
        seen.push(figure.product.textContent);
        if (figure.angles[0] > 0.643) done(seen);
        else requestAnimationFrame(look);
      };
      look();
    })""")
    assert len(products) > 2 and {*products} == {"0"}
    assert pressed(page) == ONE


@pytest.mark.parametrize("width", [390, 800])
def test_axe_finds_nothing_and_all_names_are_in_the_plane(show, width):
    for scheme in ("light", "dark"):
        page = show(f"<h1>T</h1>{alive('turning')}", width=width, scheme=scheme, motion="reduce")
        for button in page.get_by_role("button").all():
            button.click()
            outside = page.locator(".plane").evaluate("""plane => {
              const frame = plane.closest(".frame").getBoundingClientRect();
              return [...plane.querySelectorAll("text")].map(e => e.getBoundingClientRect())
                .filter(box => box.left < frame.left || box.right > frame.right).length; }""")
            assert outside == 0
        assert browser.violations(page) == []
        assert examples.fits(page)
