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

torch.manual_seed(0)
WEIGHTS = torch.randn(2, 3, 5, 6, dtype=torch.float64).mul(2).softmax(dim=-1)
ROWS = ["she", "reads", "a", "book", "<b>"]
COLUMNS = ["sie", "liest", "ein", "Buch", "</script>", "."]
LIKELIEST = [
    [(f"first {t}", 0.5 + 0.1 * t), ("second", 0.25)] for t in range(len(ROWS))
]
FIGURES = {
    "map": lambda: explore.attention_map(
        WEIGHTS, rows=ROWS, columns=COLUMNS, alt='Weights of "she" and four.'
    ),
    "decoding": lambda: explore.decoding(
        WEIGHTS[0, 0],
        source=COLUMNS,
        written=ROWS,
        likeliest=LIKELIEST,
        alt="Five steps of a translation.",
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


def test_a_translation_is_followed_token_by_token(show):
    page = show(FIGURES["decoding"]().to_html())
    assert close(values(page), WEIGHTS[0, 0])

    def shows(t):
        weights = WEIGHTS[0, 0, t]
        assert page.locator("mark").inner_text() == ROWS[t]
        assert page.locator(".written").inner_text().split() == ROWS[: t + 1]
        chips = page.locator(".token small").all_inner_texts()
        assert close(
            torch.tensor([*map(float, chips)]), weights.round(decimals=2)
        )
        bars = page.locator(".bars span").all_inner_texts()
        assert bars == [f"first {t}", f"{0.5 + 0.1 * t:.2f}", "second", "0.25"]
        most = COLUMNS[weights.argmax()]
        said = page.locator(".said").inner_text()
        assert said == (
            f"Writing {ROWS[t]}, it looks most at {most} ({weights.max():.2f})."
        )

    shows(0)
    page.get_by_role("button", name="next").click()
    shows(1)
    page.get_by_role("button", name="back").click()
    page.get_by_role("button", name="back").click()
    shows(0)
    page.get_by_label("Token").focus()
    page.keyboard.press("End")
    shows(4)
    page.keyboard.press("ArrowLeft")
    shows(3)


def test_a_translation_that_does_not_fit_is_refused_with_its_sizes():
    with pytest.raises(
        ValueError, match=r"2 written tokens .* \(5, 6\) and 1 l"
    ):
        explore.decoding(
            WEIGHTS[0, 0],
            source=COLUMNS,
            written=["a", "b"],
            likeliest=[[]],
            alt="",
        )


def test_numbers_in_a_figure_are_short():
    data = json.dumps(FIGURES["map"]().data)
    assert max(map(len, re.findall(r"\d\.(\d+)", data))) <= 4
