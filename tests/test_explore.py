"""Figures to touch: right numbers, by mouse and keyboard, with nobody else asked, everywhere."""

import html
import json
import re

import browser
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe

from attnbook import explore

browser.skip_without()

KEYS = torch.tensor([[1.0, 0.25], [-0.5, 1.0], [0.5, 0.75], [-1.0, -0.75]])
VALUES = torch.tensor([10.0, -20.0, 35.5, 4.0])
NAMES = ["cat", "dog", "<i>", "a name that is rather long"]
generator = torch.Generator().manual_seed(0)
QUERY = torch.randn(3, 64, generator=generator)
KEY = torch.randn(3, 8, 64, generator=generator)

torch.manual_seed(0)
WEIGHTS = torch.randn(2, 3, 5, 6, dtype=torch.float64).mul(2).softmax(dim=-1)
ROWS = ["she", "reads", "a", "book", "<b>"]
COLUMNS = ["sie", "liest", "ein", "Buch", "</script>", "."]
FIGURES = {
    "query": lambda: explore.query(
        KEYS, VALUES, query=[0.8, 0.4], labels=NAMES, alt="Four keys."
    ),
    "scale": lambda: explore.scale(QUERY, KEY, alt="Eight weights."),
    "map": lambda: explore.attention_map(
        WEIGHTS, rows=ROWS, columns=COLUMNS, alt='Weights of "she" and four.'
    ),
}
every_figure = pytest.mark.parametrize("kind", FIGURES)


@pytest.fixture
def show(chromium):
    """Open HTML in a page that reaches nobody; collect what it asks for and complains of."""
    contexts = []

    def open_page(body, *, width=800, scheme="light", motion="no-preference"):
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            reduced_motion=motion,
        )
        contexts.append(context)
        page = context.new_page()
        page.trouble, page.asked = [], []
        page.on("console", lambda m: page.trouble.append(m.text))
        page.on("pageerror", lambda error: page.trouble.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.set_content(
            f"<!doctype html><html lang=en><title>x</title><main>{body}</main>"
        )
        return page

    yield open_page
    for context in contexts:
        context.close()


def numbers(place):
    """The table under a figure: its heading, and its rows of a heading and numbers."""
    details = place.locator("details").first
    if details.get_attribute("open") is None:
        details.locator("summary").click()
    rows = details.locator("tr")
    rows.first.wait_for()  # the table is made once it is opened
    table = [
        rows.nth(i).locator("th, td").all_inner_texts()
        for i in range(rows.count())
    ]
    return table[0][1:], {row[0]: row[1:] for row in table[1:]}


def values(place):
    return torch.tensor(
        [
            [float(text.replace("−", "-")) for text in row]
            for row in numbers(place)[1].values()
        ],
        dtype=torch.float64,
    )


def close(shown, right):
    return torch.allclose(shown.double(), right.double(), rtol=0, atol=1e-3)


@every_figure
def test_a_figure_asks_nobody_and_logs_nothing(show, kind):
    page = show(FIGURES[kind]().to_html())
    page.wait_for_selector("details")
    assert page.asked == [] and page.trouble == []


@every_figure
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 800])
def test_a_figure_is_accessible_and_never_scrolls_the_page(
    show, kind, scheme, width
):
    page = show(FIGURES[kind]().to_html(), width=width, scheme=scheme)
    page.locator("summary").click()
    found = Axe().run(page).response["violations"]
    assert [v for v in found if v["impact"] in ("serious", "critical")] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@every_figure
def test_a_figure_works_in_a_sandboxed_frame(show, kind):
    figure = FIGURES[kind]().to_html()
    page = show(
        f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(figure)}" '
        'width="700" height="800"></iframe>'
    )
    frame = page.frame_locator("iframe")
    assert numbers(frame)[1]
    assert page.trouble == []


@every_figure
def test_where_scripts_do_not_run_a_picture_with_its_text_stands(show, kind):
    figure = FIGURES[kind]()
    page = show(
        re.sub(r"<script.*?</script>", "", figure.to_html(), flags=re.S)
    )
    picture = page.locator("img")
    assert picture.get_attribute("alt") == figure.alt
    assert picture.evaluate("e => e.naturalWidth") > 200


@every_figure
def test_two_figures_on_a_page_share_what_they_define(show, kind):
    figure = FIGURES[kind]()
    page = show(figure.to_html() + figure.to_html())
    assert page.locator("summary").count() == 2 and page.trouble == []


@every_figure
def test_a_figure_follows_the_theme_around_it(show, kind):
    page = show(FIGURES[kind]().to_html())
    dark = "document.querySelector('main > *').hasAttribute('dark')"
    assert not page.evaluate(dark)
    for change, expected in (
        ("document.documentElement.dataset.theme = 'dark'", True),
        ("document.documentElement.dataset.theme = 'light'", False),
        ("delete document.documentElement.dataset.theme", False),
        ("document.documentElement.setAttribute('theme', 'dark')", True),
        ("document.documentElement.removeAttribute('theme')", False),
        ("document.body.dataset.jpThemeLight = 'false'", True),
        ("delete document.body.dataset.jpThemeLight", False),
        ("document.body.dataset.vscodeThemeKind = 'vscode-dark'", True),
    ):
        page.evaluate(change)
        page.wait_for_function(f"{dark} === {str(expected).lower()}")


@every_figure
def test_nothing_moves_for_who_asked_for_that(show, kind):
    page = show(FIGURES[kind]().to_html(), motion="reduce")
    moving = """[...document.querySelector('main > *').shadowRoot.querySelectorAll('*')]
        .filter(e => getComputedStyle(e).transitionDuration !== '0s'
                  || getComputedStyle(e).animationName !== 'none').length"""
    assert page.evaluate(moving) == 0


@every_figure
def test_a_figure_is_small(kind):
    figure = FIGURES[kind]()
    assert len(figure.to_html()) < 100_000
    bundle = figure._repr_mimebundle_()
    assert bundle["text/plain"] == figure.alt


def column(place, name):
    """The numbers of one column of the table; cells without any are left out."""
    heading, rows = numbers(place)
    texts = [row[heading.index(name)] for row in rows.values()]
    return torch.tensor(
        [float(text.replace("−", "-")) for text in texts if text]
    ).double()


def check_query(page, query, temperature=1.0):
    """All that is shown is what PyTorch computes for this query."""
    query = torch.tensor(query)
    scores = KEYS @ query / 2**0.5 / temperature
    weights = scores.softmax(dim=-1)
    output = weights @ VALUES
    assert list(numbers(page)[1]) == [*NAMES, "output"]
    assert close(column(page, "score"), scores)
    assert close(column(page, "weight"), weights)
    assert close(column(page, "value"), VALUES)
    parts = torch.cat([weights * VALUES, output[None]])
    assert close(column(page, "weight × value"), parts)
    bars = page.locator(".bars li").all_inner_texts()
    for j, bar in enumerate(bars):
        number = f"{weights[j]:.2f} × {VALUES[j]:g}".replace("-", "−")
        assert bar.split() == [*NAMES[j].split(), *number.split()]
    best = weights.argmax()
    said = "The query is at ({:.2f}, {:.2f}). It gives {} the weight {:.2f}, "
    said = said.format(*query, NAMES[best], weights[best]).replace("-", "−")
    assert page.locator(".said").inner_text().startswith(said)
    ending = f". The output is {output:.2f}.".replace("-", "−")
    assert page.locator(".said").inner_text().endswith(ending)
    widths = page.locator(".bar").evaluate_all(
        "bars => bars.map(b => b.offsetWidth / b.parentNode.offsetWidth)"
    )
    assert torch.tensor(widths).sub(weights).abs().max() < 0.02


def test_the_query_is_dragged_by_the_mouse(show):
    page = show(FIGURES["query"]().to_html())
    check_query(page, [0.8, 0.4])
    handle = page.get_by_role("slider", name="Query, moved")
    plane = page.locator("svg").first.bounding_box()
    unit = (plane["width"] * (160 - 12) / 320) / 1.25  # pixels for a 1

    def to(x, y):
        across = plane["x"] + plane["width"] / 2 + unit * x
        return across, plane["y"] + plane["height"] / 2 - unit * y

    page.mouse.move(*to(0.8, 0.4))
    page.mouse.down()
    page.mouse.move(*to(0.0, 0.0), steps=3)
    page.mouse.move(*to(-0.7, -0.5), steps=3)
    check_query(page, [-0.7, -0.5])
    page.mouse.move(plane["x"] + 600, plane["y"] - 90)  # out of the plane
    check_query(page, [1.25, 1.25])
    page.mouse.up()
    page.mouse.move(*to(0.2, 0.2))
    check_query(page, [1.25, 1.25])
    page.mouse.click(*to(-0.2, 0.6))
    check_query(page, [-0.2, 0.6])
    assert min(handle.bounding_box()[side] for side in ("width", "height")) > 24


def test_the_query_is_dragged_by_finger_and_beside_it_the_page_scrolls(show):
    tall = FIGURES["query"]().to_html() + "<p style='height: 2000px'>"
    page = show(tall, width=390)
    numbers(page)  # opened now, so that the focus stays with the query
    page.evaluate("scrollTo(0, 0)")
    touch = page.context.new_cdp_session(page)
    plane = page.locator("svg").first.bounding_box()
    unit = (plane["width"] * (160 - 12) / 320) / 1.25  # pixels for a 1

    def swipe(start, end):
        """From a point of the plane to another, in ten steps."""
        for step in range(12):
            share = min(step, 10) / 10
            x, y = (
                a + share * (b - a) for a, b in zip(start, end, strict=True)
            )
            across = plane["x"] + plane["width"] / 2 + unit * x
            down = plane["y"] + plane["height"] / 2 - unit * y
            kind = {0: "touchStart", 11: "touchEnd"}.get(step, "touchMove")
            points = [] if step == 11 else [{"x": across, "y": down}]
            touch.send(
                "Input.dispatchTouchEvent",
                {"type": kind, "touchPoints": points},
            )

    swipe((0.8, 0.4), (-0.5, 1.0))
    assert page.evaluate("scrollY") == 0
    check_query(page, [-0.5, 1.0])
    page.keyboard.press("ArrowUp")
    check_query(page, [-0.5, 1.05])
    swipe((0.8, -0.8), (0.8, 0.8))
    page.wait_for_function("scrollY > 20")
    check_query(page, [-0.5, 1.05])


def test_the_query_is_moved_by_keyboard_alone(show):
    page = show(FIGURES["query"]().to_html())
    numbers(page)
    page.evaluate("document.activeElement.blur()")

    def press(*keys):
        for key in keys:
            page.keyboard.press(key)

    def value(name):
        slider = page.get_by_role("slider", name=name)
        return slider.get_attribute("aria-valuetext")

    page.locator("summary").focus()
    press(*["Shift+Tab"] * 4)
    press("ArrowLeft", "ArrowLeft")
    check_query(page, [0.7, 0.4])
    press("Tab", "End")
    check_query(page, [0.7, 1.25])
    assert value("Query y") == "1.25"
    press("Tab", "Home")
    check_query(page, [0.7, 1.25], temperature=0.01)
    press("ArrowRight", "ArrowRight", "ArrowRight")
    check_query(page, [0.7, 1.25], temperature=0.1)
    assert value("Temperature") == "0.1"
    press("Tab", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown")
    check_query(page, [0.75, 1.1], temperature=0.1)
    assert value("Query, moved") == "x 0.75, y 1.10"
    press("ArrowUp", *["ArrowLeft"] * 50)
    check_query(page, [-1.25, 1.15], temperature=0.1)
    assert value("Query x") == "−1.25"


@pytest.mark.parametrize("size", [1e-3, 1.0, 6.0, 1e4])
def test_the_plane_reaches_a_quarter_beyond_the_numbers(size):
    data = explore.query(
        size * torch.eye(2), torch.ones(2), query=[0, 0], labels="ab", alt=""
    ).data
    assert 1.25 * size <= data["reach"] <= 1.35 * size
    assert 25 <= data["reach"] / data["step"] <= 101


@pytest.mark.parametrize(
    ("keys", "values", "query", "labels", "message"),
    [
        (torch.ones(3, 3), torch.ones(3), [1, 1], "abc", r"got \(3, 3\)"),
        (torch.ones(3, 2), torch.ones(3, 2), [1, 1], "abc", r"and \(3, 2\)"),
        (torch.ones(3, 2), torch.ones(3), [1, 1], "ab", "2 labels"),
        (torch.ones(0, 2), torch.ones(0), [1, 1], "", "got 0"),
        (torch.ones(13, 2), torch.ones(13), [1, 1], "x" * 13, "got 13"),
        (torch.ones(1, 2), torch.ones(1), [1, 1, 1], "a", r"got shape \(3,\)"),
        (torch.ones(1, 2), torch.ones(1), [1, torch.inf], "a", "query .* inf"),
        (torch.ones(1, 2) / 0, torch.ones(1), [1, 1], "a", "keys .* inf"),
        (torch.ones(1, 2), -torch.ones(1) / 0, [1, 1], "a", "values .* -inf"),
    ],
)
def test_keys_that_cannot_be_asked_are_refused(
    keys, values, query, labels, message
):
    with pytest.raises(ValueError, match=message):
        explore.query(keys, values, query=query, labels=labels, alt="")


def check_scale(page, d, *, divided=False, draw=0):
    """All that is shown is what PyTorch computes from the first d features."""
    scores = KEY[draw, :, :d] @ QUERY[draw, :d]
    scores = (scores / (d**0.5 if divided else 1)).double()
    weights = scores.softmax(dim=-1)
    entropy = torch.special.entr(weights).sum()
    jacobian = torch.autograd.functional.jacobian(
        lambda s: s.softmax(dim=-1), scores
    ).norm()
    measures = torch.stack([weights.max(), entropy, jacobian])
    assert close(column(page, "score"), scores)
    assert close(column(page, "weight"), torch.cat([weights, measures]))
    shares = torch.cat([weights, measures / torch.tensor([1, 8, 0.5])])
    shares[9] = entropy / torch.tensor(8.0).log()
    widths = page.locator(".bar").evaluate_all(
        "bars => bars.map(b => b.offsetWidth / b.parentNode.offsetWidth)"
    )
    assert torch.tensor(widths).sub(shares).abs().max() < 0.02
    said = page.locator(".said").inner_text()
    assert said.startswith(
        f"d = {d}, {'divided by √d' if divided else 'undivided'}: key "
        f"{weights.argmax() + 1} has the largest weight, {weights.max():.2f}."
    )
    assert said.endswith("deaf." if jacobian < 0.01 else "listens.")
    return jacobian < 0.01


def test_the_weights_at_each_size_are_pytorchs(show):
    page = show(FIGURES["scale"]().to_html())
    deaf = []
    for draw in range(3):
        page.get_by_label("Draw").select_option(f"draw {draw + 1}")
        for divided in (False, True):
            page.get_by_label("divide by √d").set_checked(divided)
            for place in range(6):
                page.get_by_role("slider").fill(str(place))
                at = {"divided": divided, "draw": draw}
                deaf.append(check_scale(page, 2 ** (place + 1), **at))
    assert True in deaf and False in deaf


def test_the_size_is_set_and_divided_by_keyboard_alone(show):
    page = show(FIGURES["scale"]().to_html())
    numbers(page)
    page.locator("summary").focus()
    for _ in range(3):
        page.keyboard.press("Shift+Tab")
    check_scale(page, 2)
    page.keyboard.press("End")
    check_scale(page, 64)
    page.keyboard.press("ArrowLeft")
    check_scale(page, 32)
    slider = page.get_by_role("slider", name="Features d")
    assert slider.get_attribute("aria-valuetext") == "32"
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    check_scale(page, 32, divided=True)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    check_scale(page, 32, divided=True, draw=1)


def test_weights_stay_numbers_where_exponentials_overflow(show):
    query, key = torch.tensor([[30.0, 30.0]]), torch.zeros(1, 2, 2)
    key[0, 0] = 30
    page = show(explore.scale(query, key, alt="Two weights.").to_html())
    expected = torch.tensor([1.0, 0.0, 1.0, 0.0, 0.0])
    assert close(column(page, "weight"), expected)


@pytest.mark.parametrize(
    ("query", "key", "message"),
    [
        ((8,), (3, 8), r"got \(8,\) and \(3, 8\)"),
        ((2, 8), (2, 3, 4), r"got \(2, 8\) and \(2, 3, 4\)"),
        ((1, 8), (2, 3, 8), r"got \(1, 8\) and \(2, 3, 8\)"),
        ((0, 8), (0, 3, 8), r"got \(0, 8\)"),
        ((1, 1), (1, 3, 1), r"2 or more features.*got \(1, 1\)"),
        ((1, 8), (1, 1, 8), r"2 to 12 keys.*\(1, 1, 8\)"),
        ((1, 8), (1, 13, 8), r"2 to 12 keys.*\(1, 13, 8\)"),
    ],
)
def test_draws_that_do_not_fit_are_refused(query, key, message):
    with pytest.raises(ValueError, match=message):
        explore.scale(torch.ones(query), torch.ones(key), alt="")
    with pytest.raises(ValueError, match="key must be finite: got nan"):
        explore.scale(torch.ones(1, 4), torch.ones(1, 3, 4) * torch.nan, alt="")


def test_the_map_shows_the_weights_of_each_layer_and_head(show):
    page = show(FIGURES["map"]().to_html())
    heading, rows = numbers(page)
    assert heading == COLUMNS and list(rows) == ROWS
    assert close(values(page), WEIGHTS[0, 0])
    page.get_by_label("Layer").select_option("layer 2")
    page.get_by_label("Head").select_option("head 3")
    assert close(values(page), WEIGHTS[1, 2])
    page.get_by_label("Head").select_option("mean of all heads")
    assert close(values(page), WEIGHTS[1].mean(dim=0))


def test_the_map_says_where_a_token_looks_by_mouse_and_by_keyboard(show):
    page = show(FIGURES["map"]().to_html())
    best = WEIGHTS[0, 0].argmax(dim=-1).tolist()

    def said():
        return page.locator(".said").inner_text()

    def says(row):
        weight = WEIGHTS[0, 0, row, best[row]]
        return f"{ROWS[row]} looks at {COLUMNS[best[row]]} {weight:.2f}"

    assert said().startswith("Point at a token")
    page.get_by_role("option", name="book").hover()
    assert said().startswith(says(3))
    page.mouse.move(5, 600)
    assert said().startswith("Point at a token")
    page.get_by_label("Head").focus()
    page.keyboard.press("Tab")
    for key, row in (("", 0), ("ArrowDown", 1), ("End", 4), ("ArrowDown", 4)):
        if key:
            page.keyboard.press(key)
        assert said().startswith(says(row)), key
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    assert said().startswith(says(0))
    page.keyboard.press("Escape")
    assert said().startswith("Point at a token")


@pytest.mark.parametrize("size", [1, 50])
def test_the_map_takes_one_to_fifty_tokens(show, size):
    weights = torch.full((size, size), 1 / size)
    tokens = [f"token {i}" for i in range(size)]
    figure = explore.attention_map(
        weights, rows=tokens, columns=tokens, alt="Even weights."
    )
    page = show(figure.to_html(), width=390)
    assert page.locator(".weight").count() == size * size
    assert close(values(page), weights)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert len(figure.to_html()) < 160_000


@pytest.mark.parametrize(
    ("shape", "rows", "columns"),
    [((2, 3), 3, 3), ((1, 1, 1, 2, 2), 2, 2), ((51, 1), 51, 1), ((0, 2), 0, 2)],
)
def test_a_map_that_does_not_fit_is_refused_with_its_sizes(
    shape, rows, columns
):
    with pytest.raises(ValueError, match=f"{rows} rows and {columns} columns"):
        explore.attention_map(
            torch.zeros(shape),
            rows=["x"] * rows,
            columns=["y"] * columns,
            alt="",
        )


@pytest.mark.parametrize("kind", ["map", "query", "scale"])
def test_numbers_in_a_figure_are_short(kind):
    data = json.dumps(FIGURES[kind]().data)
    assert max(map(len, re.findall(r"\d\.(\d+)", data))) <= 4
