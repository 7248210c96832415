"""Interactive figures: right numbers, by mouse and keyboard, without a network, everywhere."""

import functools
import html
import json
import re

import browser
import nbformat
import pytest
import torch
import torch.nn.functional as F
from conftest import ROOT
from IPython.core.formatters import DisplayFormatter
from playwright.sync_api import expect

from attnbook import figure_assets
from attnbook.attention import attention
from attnbook.exercises import catalogue
from attnbook.figures import interactive, style
from attnbook.figures.interactive.transformer import CHAPTERS, PARTS
from attnbook.positions import frequencies, sinusoidal_positions
from attnbook.transformer import Transformer
from attncourse import run
from attncourse.run import make_small

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
COLUMNS = ["sie", "liest", "<!--<script>", "Buch", "</script>", "."]
SCORES = torch.tensor([1.5, -0.25, 3.0, 3.0, -2.0, 0.5, 4.75])  # the largest grows twice
HANDED = torch.tensor([8.0, -16.0, 0.5, 2.0, 100.0, -6.0, 1.0])
LIKELIEST = [[(f"first {t}", 0.5 + 0.1 * t), ("second", 0.25)] for t in range(len(ROWS))]
EMBEDDINGS, POSITIONS = torch.randn(2, 5, 4, dtype=torch.float64)
TOKENS = ["dog", "bites", "</script>", "today", "dog"]
PAPER = [
    torch.tensor(matrix)
    for matrix in (
        [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 2.0]],  # x
        [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]],  # W_Q
        [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0]],  # W_K
        [[3.0, 0.0], [1.0, 2.0]],  # W_V
    )
]
BOOK = ["He", " reads", " the", " book", "</script>"]
OF_HEADS = (3 * torch.randn(3, 4, 5, 5, dtype=torch.float64)).tril()
OF_HEADS = OF_HEADS.masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf).softmax(dim=-1)
OF_TWIN = OF_HEADS.clone()
OF_TWIN[..., 4, :] = OF_HEADS[..., 4, :].flip(-1)  # the last token alone is another
TWIN = [*BOOK[:4], " today"]
STILL = "Run this cell, or allow scripts, to use the figure."
FIGURES = {
    "predict": lambda: interactive.predict(
        options={"3 cm": "That is the mouse.", "</script>": "No `height`.", "60.8 cm": "The mean."},
        right="60.8 cm",
    ),
    "query": lambda: interactive.query(
        KEYS, VALUES, query=[0.8, 0.4], labels=NAMES, alt="Four keys."
    ),
    "all_heads": lambda: interactive.all_heads(
        (BOOK, OF_HEADS), (TWIN, OF_TWIN), link=(3, 1), alt="Twelve heads on two texts."
    ),
    "scale": lambda: interactive.scale(QUERY, KEY, alt="Eight weights."),
    "attention_map": lambda: interactive.attention_map(
        WEIGHTS, rows=ROWS, columns=COLUMNS, alt='Weights of "she" and four.'
    ),
    "decoding": lambda: interactive.decoding(
        WEIGHTS[0, 0],
        source=COLUMNS,
        written=ROWS,
        likeliest=LIKELIEST,
        alt="Five steps of a translation.",
    ),
    "online_softmax": lambda: interactive.online_softmax(SCORES, HANDED, alt="Seven scores."),
    "permutation": lambda: interactive.permutation(
        EMBEDDINGS, tokens=TOKENS, positions=POSITIONS, alt="Five <outputs>."
    ),
    "waves": lambda: interactive.waves(d_model=20, length=60, alt="Ten clocks."),
    "token": lambda: interactive.token(
        *PAPER, tokens=["the", "<i>", "</script>", "a name that is rather long"], alt="Four tokens."
    ),
    "transformer": lambda: interactive.transformer(),
    "break_translator": lambda: interactive.break_translator(2003),
}
WITH_NUMBERS = [kind for kind in FIGURES if kind != "predict"]
every_figure = pytest.mark.parametrize("kind", FIGURES)


@functools.cache
def figure(kind):
    """The example of a kind; drawing its still picture takes a while."""
    return FIGURES[kind]()


def alive(kind):
    """The example as it stands in a live notebook."""
    return figure(kind).to_html()


def open_tab(context):
    """A page without a network, which notes what it asks for and complains of."""
    page = context.new_page()
    page.on("console", lambda m: page.trouble.append(m.text))
    page.on("pageerror", lambda error: page.trouble.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    return page


def fill(page, body, *, width=800, scheme="light", motion="no-preference"):
    """Put HTML into a page that is empty."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion=motion)
    page.trouble, page.asked = [], []
    page.set_content(f"<!doctype html><html lang=en><title>x</title><main>{body}</main>")
    expect(page.locator('[aria-busy="true"]')).to_have_count(0)  # the translator writes at first
    return page


@pytest.fixture(scope="module")
def tabs(context):
    """Empty pages for the next test: a new one takes Chromium as long as many a test."""
    return []


@pytest.fixture
def show(context, tabs):
    """Open HTML in a page of this test's own."""
    shown = []

    def show(body, **options):
        shown.append(tabs.pop() if tabs else open_tab(context))
        shown[-1].bring_to_front()  # a tab that nobody sees moves once a second
        return fill(shown[-1], body, **options)

    yield show
    for page in shown:
        page.mouse.move(0, 0)  # nothing is pointed at
        page.goto("about:blank")  # another document, which knows no figure
    tabs += shown


@pytest.fixture(scope="module")
def shown(context):
    """A page with the example of a kind below a heading, for all tests that leave it as it was."""
    filled = functools.cache(lambda kind: fill(open_tab(context), f"<h1>x</h1>{alive(kind)}"))

    def shown(kind):
        filled(kind).bring_to_front()  # Playwright waits for frames, and an unseen tab has none
        return filled(kind)

    return shown


def numbers(place):
    """The table under a figure: its heading, and its rows of a heading and numbers."""
    details = place.locator("details").first
    if details.get_attribute("open") is None:
        details.locator("summary").click()
    details.locator("tr").first.wait_for()  # the table is made once it is opened
    table = details.evaluate(
        "d => [...d.querySelectorAll('tr')].map(row => [...row.cells].map(c => c.innerText))"
    )
    return table[0][1:], {row[0]: row[1:] for row in table[1:]}


def values(place):
    return torch.tensor(
        [[float(text.replace("−", "-")) for text in row] for row in numbers(place)[1].values()],
        dtype=torch.float64,
    )


def close(shown, right):
    return torch.allclose(shown.double(), right.double(), rtol=0, atol=1e-3)


@every_figure
def test_a_figure_makes_no_network_request_and_logs_nothing(shown, kind):
    page = shown(kind)
    page.wait_for_selector(".frame")
    assert page.asked == [] and page.trouble == []


@every_figure
def test_a_figure_is_accessible_and_never_scrolls_the_page(shown, kind):
    browser.skip_without_axe()
    page = shown(kind)
    opener = "summary" if kind in WITH_NUMBERS else "button"
    page.locator(opener).first.click()
    for width in (800, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            assert browser.violations(page) == []
    if kind in WITH_NUMBERS:  # as it was
        page.locator("summary").click()
    page.set_viewport_size({"width": 800, "height": 900})


@every_figure
def test_a_figure_works_in_a_sandboxed_frame(show, kind):
    page = show(
        f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(alive(kind))}" '
        'width="700" height="800"></iframe>'
    )
    frame = page.frame_locator("iframe")
    if kind in WITH_NUMBERS:
        assert numbers(frame)[1]
    else:
        frame.locator("button").first.click()
        assert "That is the mouse." in frame.locator(".said").inner_text()
    assert page.trouble == []


@every_figure
def test_a_figure_that_is_removed_follows_nothing_any_more(show, kind):
    page = show(alive(kind))
    page.evaluate("""
        window.old = document.querySelector("[label]");
        window.changes = 0;
        const toggle = old.toggleAttribute;
        old.toggleAttribute = function (...all) { changes++; return toggle.apply(this, all); };
        document.documentElement.dataset.theme = "dark";
    """)
    page.wait_for_function("changes === 1")
    before = page.evaluate("old.remove(), old.shadowRoot.textContent")
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(100)
    assert page.evaluate("[changes, old.shadowRoot.textContent]") == [1, before]
    page.evaluate("document.body.append(old)")  # somebody puts it back
    page.wait_for_function("changes > 1")
    assert not page.evaluate("old.hasAttribute('dark')")
    assert page.trouble == []


@every_figure
def test_where_scripts_do_not_run_a_picture_with_its_text_stands(show, kind):
    stored = {"text/html": alive(kind)}
    make_small(stored)  # as course.run stores it
    page = show(stored["text/html"])
    if kind == "predict":  # what it asks is text
        assert page.get_by_text(figure(kind).alt).is_visible()
    else:
        picture = page.locator("img")
        assert picture.get_attribute("alt") == figure(kind).alt
        assert picture.evaluate("e => e.naturalWidth") > 200
    assert page.get_by_text(STILL).is_visible()
    assert page.trouble == []


@every_figure
def test_where_scripts_run_neither_picture_nor_its_text_is_seen(shown, kind):
    page = shown(kind)
    assert page.locator(".frame").is_visible()
    assert not page.locator("img").is_visible()
    assert not page.get_by_text(STILL).is_visible()


@every_figure
def test_a_live_figure_brings_what_all_share_and_its_own_kind_only(kind):
    name = kind.replace("_", "-")
    assert re.findall(r'attnbook\.define\("([\w-]+)"', alive(kind)) == [name]
    assert alive(kind).count("window.attnbook ??=") == 1
    assert DisplayFormatter().format(figure(kind))[0]["text/html"] == alive(kind)


def test_every_kind_is_a_module_and_a_script_and_has_an_example_here():
    folder = ROOT / "code/attnbook/figures/interactive"
    modules = {path.stem for path in folder.glob("[!_]*.py")} - {"base"}
    files = {path.stem for path in folder.glob("*.js")} - {"base", "translator"}
    assert modules == files == {*figure_assets.kinds()} == {*FIGURES}
    assert all(getattr(interactive, kind).__name__ == kind for kind in FIGURES)


def test_all_kinds_stand_on_a_page_together(show):
    page = show("".join(alive(kind) for kind in FIGURES) + alive("query"))
    assert page.locator(".frame").count() == len(FIGURES) + 1 and page.trouble == []


@pytest.mark.parametrize("kind", ["attention_map", "decoding"])
def test_no_token_can_swallow_the_rest_of_the_page(show, kind):
    page = show(alive(kind) + "<p id=after>the rest</p>")
    assert numbers(page)[0] == COLUMNS
    assert page.locator("#after").is_visible()


def test_a_notebook_that_is_run_shows_it_alive_and_stores_it_still(show, tmp_path, monkeypatch):
    path = tmp_path / "notebook.ipynb"
    code = "from attnbook.figures import interactive\n"
    code += "interactive.waves(d_model=4, length=3, alt='Two clocks.')"
    cells = [nbformat.v4.new_code_cell(code)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    shown = []  # as the kernel sends it to Colab or JupyterLab

    def note(output):
        shown.append(output["text/html"])
        make_small(output)

    monkeypatch.setattr(run, "make_small", note)
    run.run(path)
    assert numbers(show(shown[0]))[1]
    (output,) = nbformat.read(path, as_version=4).cells[0].outputs
    page = show(output.data["text/html"])
    assert page.get_by_text(STILL).is_visible() and page.locator("summary").count() == 0


def test_stored_figures_are_still_pictures_without_the_script():
    count = 0
    for path in (ROOT / "chapters").rglob("*.ipynb"):
        for cell in json.loads(path.read_text("utf8"))["cells"]:
            for output in cell.get("outputs", []):
                shown = "".join(output.get("data", {}).get("text/html", ""))
                if "<attnbook-" in shown:
                    assert STILL in shown, path
                    assert shown.count("<script") == shown.count('type="application/json"') == 1
                    count += 1
    assert count > 9


@every_figure
def test_a_figure_follows_the_theme_around_it(shown, kind):
    page = shown(kind)
    dark = "document.querySelector('[label]').hasAttribute('dark')"
    page.wait_for_function(f"!{dark}")
    for change, expected in (
        ("document.documentElement.dataset.theme = 'dark'", True),
        ("document.documentElement.dataset.theme = 'light'", False),
        ("delete document.documentElement.dataset.theme", False),
        ("document.documentElement.setAttribute('theme', 'dark')", True),
        ("document.documentElement.removeAttribute('theme')", False),
        ("document.body.dataset.jpThemeLight = 'false'", True),
        ("delete document.body.dataset.jpThemeLight", False),
        ("document.body.dataset.vscodeThemeKind = 'vscode-dark'", True),
        ("delete document.body.dataset.vscodeThemeKind", False),
    ):
        page.evaluate(change)
        page.wait_for_function(f"{dark} === {str(expected).lower()}")


@every_figure
def test_nothing_moves_for_who_asked_for_that(shown, kind):
    page = shown(kind)
    page.emulate_media(reduced_motion="reduce")
    moving = """[...document.querySelector('[label]').shadowRoot.querySelectorAll('*')]
        .filter(e => getComputedStyle(e).transitionDuration !== '0s'
                  || getComputedStyle(e).animationName !== 'none').length"""
    assert page.evaluate(moving) == 0
    page.emulate_media(reduced_motion="no-preference")


@every_figure
def test_a_figure_is_small(kind):
    needed = sum(len(figure_assets.script(name)) for name in figure_assets.NEEDS.get(kind, ()))
    assert len(alive(kind)) - needed < 100_000
    assert needed < 130_000  # the translator's weights are 99,000 letters of this
    bundle = figure(kind)._repr_mimebundle_()
    assert bundle["text/plain"] == figure(kind).alt


def column(place, name):
    """The numbers of one column of the table; cells without any are left out."""
    heading, rows = numbers(place)
    texts = [row[heading.index(name)] for row in rows.values()]
    return torch.tensor([float(text.replace("−", "-")) for text in texts if text]).double()


STEP = "document.querySelector('[label]').data.step"


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
    page = show(alive("query"))
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


def test_values_that_are_points_are_mixed_in_the_plane(show):
    memory = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, -2.0]])
    page = show(
        interactive.query(
            memory, memory, query=[1, 1], labels="abc", alt="Three.", divide=False
        ).to_html()
    )
    page.get_by_role("slider", name="Query, moved").press("ArrowRight")
    asked = torch.tensor([1.0 + page.evaluate(STEP), 1.0])
    weights = (memory @ asked).softmax(dim=-1)  # not divided
    output = weights @ memory
    assert close(column(page, "weight"), weights)
    written = "({:.3f}, {:.3f})".format(*output).replace("-", "−")
    assert numbers(page)[1]["output"][-1] == written
    said = "The output is ({:.2f}, {:.2f}).".format(*output).replace("-", "−")
    assert page.locator(".said").inner_text().endswith(said)
    bar = page.locator(".bars li").all_inner_texts()[2]
    assert bar.split("×")[1].strip() == "(1, −2)"
    lines = page.locator("line.part").evaluate_all(
        "all => all.map(l => l.getAttribute('stroke-width'))"
    )
    assert torch.tensor([float(width) for width in lines]).sub(9 * weights).abs().max() < 1e-4
    # the triangle stands where the output is
    unit = page.locator("line.part").first.evaluate("l => (+l.getAttribute('x2')) / 2")
    place = page.locator("line.part").first.evaluate(
        "l => [+l.getAttribute('x1'), -l.getAttribute('y1')]"
    )
    assert torch.tensor(place).div(unit).sub(output).abs().max() < 1e-3
    assert page.trouble == []


@pytest.mark.parametrize("query", [(1, 1), (2, 1), (-2.5, 1), (0, 1.5), (2, 0), (0, -2)])
def test_no_name_lies_on_the_query_or_on_the_output(show, query):
    memory = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 2.0]])
    labels = ["forty", "-two", "END"]
    figure = interactive.query(memory, memory, query=query, labels=labels, alt="", divide=False)
    page = show(figure.to_html())

    def boxes(selector):
        found = page.locator(selector).all()
        return [(box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"])
                for box in (one.bounding_box() for one in found)]  # fmt: skip

    names, dots = boxes(".plane text:not(.soft)"), boxes(".plane :is(circle.query, .found)")
    assert len(names) == 4 and len(dots) == 2
    for left, top, right, bottom in names:
        middle = (top + bottom) / 2  # the letters are lower than their box
        for x1, y1, x2, y2 in dots:
            assert right < x1 + 3 or left > x2 - 3 or not y1 < middle < y2


def test_the_query_is_dragged_by_finger_and_beside_it_the_page_scrolls(show):
    tall = alive("query") + "<p style='height: 2000px'>"
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
            x, y = (a + share * (b - a) for a, b in zip(start, end, strict=True))
            across = plane["x"] + plane["width"] / 2 + unit * x
            down = plane["y"] + plane["height"] / 2 - unit * y
            kind = {0: "touchStart", 11: "touchEnd"}.get(step, "touchMove")
            points = [] if step == 11 else [{"x": across, "y": down}]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    swipe((0.8, 0.4), (-0.5, 1.0))
    assert page.evaluate("scrollY") == 0
    check_query(page, [-0.5, 1.0])
    page.keyboard.press("ArrowUp")
    check_query(page, [-0.5, 1.05])
    swipe((0.8, -0.8), (0.8, 0.8))
    page.wait_for_function("scrollY > 20")
    check_query(page, [-0.5, 1.05])


def test_the_query_is_moved_by_keyboard_alone(show):
    page = show(alive("query"))
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
    data = interactive.query(
        size * torch.eye(2), torch.ones(2), query=[0, 0], labels="ab", alt=""
    ).data
    assert 1.25 * size <= data["reach"] <= 1.35 * size
    assert 25 <= data["reach"] / data["step"] <= 101


@pytest.mark.parametrize(
    ("keys", "values", "query", "labels", "message"),
    [
        (torch.ones(3, 3), torch.ones(3), [1, 1], "abc", r"got \(3, 3\)"),
        (torch.ones(3, 2), torch.ones(3, 3), [1, 1], "abc", r"and \(3, 3\)"),
        (torch.ones(3, 2), torch.ones(3), [1, 1], "ab", "2 labels"),
        (torch.ones(0, 2), torch.ones(0), [1, 1], "", "got 0"),
        (torch.ones(13, 2), torch.ones(13), [1, 1], "x" * 13, "got 13"),
        (torch.ones(1, 2), torch.ones(1), [1, 1, 1], "a", r"got shape \(3,\)"),
        (torch.ones(1, 2), torch.ones(1), [1, torch.inf], "a", "query .* inf"),
        (torch.ones(1, 2) / 0, torch.ones(1), [1, 1], "a", "keys .* inf"),
        (torch.ones(1, 2), -torch.ones(1) / 0, [1, 1], "a", "values .* -inf"),
    ],
)
@pytest.mark.usefixtures("no_shape_checks")
def test_keys_that_cannot_be_asked_are_refused(keys, values, query, labels, message):
    with pytest.raises(ValueError, match=message):
        interactive.query(keys, values, query=query, labels=labels, alt="")


def check_scale(page, d, *, divided=False, draw=0):
    """All that is shown is what PyTorch computes from the first d features."""
    scores = KEY[draw, :, :d] @ QUERY[draw, :d]
    scores = (scores / (d**0.5 if divided else 1)).double()
    weights = scores.softmax(dim=-1)
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(dim=-1), scores).norm()
    measures = torch.stack([weights.max(), jacobian])
    assert close(column(page, "score"), scores)
    assert close(column(page, "weight"), torch.cat([weights, measures]))
    shares = torch.cat([weights, measures / torch.tensor([1, 0.5])])
    widths = page.locator(".bar").evaluate_all(
        "bars => bars.map(b => b.offsetWidth / b.parentNode.offsetWidth)"
    )
    assert torch.tensor(widths).sub(shares).abs().max() < 0.02
    said = page.locator(".said").inner_text()
    assert said.startswith(
        f"d = {d}, {'divided by √d' if divided else 'undivided'}: key "
        f"{weights.argmax() + 1} has the largest weight, {weights.max():.2f}."
    )
    assert said.endswith("saturated." if jacobian < 0.01 else "listens.")
    return jacobian < 0.01


def test_the_weights_at_each_size_are_pytorchs(show):
    page = show(alive("scale"))
    saturated = []
    for draw in range(3):
        page.get_by_label("Draw").select_option(f"draw {draw + 1}")
        for divided in (False, True):
            page.get_by_label("divide by √d").set_checked(divided)
            for place in range(6):
                page.get_by_role("slider").fill(str(place))
                at = {"divided": divided, "draw": draw}
                saturated.append(check_scale(page, 2 ** (place + 1), **at))
    assert True in saturated and False in saturated


def test_the_size_is_set_and_divided_by_keyboard_alone(show):
    page = show(alive("scale"))
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
    page = show(interactive.scale(query, key, alt="Two weights.").to_html())
    expected = torch.tensor([1.0, 0.0, 1.0, 0.0])
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
@pytest.mark.usefixtures("no_shape_checks")
def test_draws_that_do_not_fit_are_refused(query, key, message):
    with pytest.raises(ValueError, match=message):
        interactive.scale(torch.ones(query), torch.ones(key), alt="")
    with pytest.raises(ValueError, match="key must be finite: got nan"):
        interactive.scale(torch.ones(1, 4), torch.ones(1, 3, 4) * torch.nan, alt="")


def test_the_map_shows_the_weights_of_each_block_and_head(show):
    page = show(alive("attention_map"))
    heading, rows = numbers(page)
    assert heading == COLUMNS and list(rows) == ROWS
    assert close(values(page), WEIGHTS[0, 0])
    page.get_by_label("Block").select_option("block 2")
    page.get_by_label("Head").select_option("head 3")
    assert close(values(page), WEIGHTS[1, 2])
    page.get_by_label("Head").select_option("mean of all heads")
    assert close(values(page), WEIGHTS[1].mean(dim=0))


def test_the_map_opens_where_it_is_told_to(show):
    for start, right, block, head in (
        ((1, 2), WEIGHTS[1, 2], "block 2", "head 3"),
        ((0, 3), WEIGHTS[0].mean(dim=0), "block 1", "mean of all heads"),
    ):
        figure = interactive.attention_map(
            WEIGHTS, rows=ROWS, columns=COLUMNS, alt="Weights.", start=start
        )
        page = show(figure.to_html())
        assert close(values(page), right)
        for label, name in (("Block", block), ("Head", head)):
            menu = page.get_by_label(label).locator("option:checked")
            assert menu.inner_text() == name


@pytest.mark.parametrize("start", [(2, 0), (0, 4), (-1, 0)])
def test_a_start_that_is_not_there_is_refused(start):
    with pytest.raises(ValueError, match=re.escape(f"no start {start}")):
        interactive.attention_map(WEIGHTS, rows=ROWS, columns=COLUMNS, alt="", start=start)


HEIGHTS = """e => {
  const height = () => e.getBoundingClientRect().height;
  const seen = [height()];
  const all = (selector) => [...e.shadowRoot.querySelectorAll(selector)];
  for (const slider of all("input[type=range]"))
    for (const value of [slider.max, slider.min]) {
      slider.value = value;
      slider.dispatchEvent(new Event("input"));
      seen.push(height());
    }
  for (const control of [...all("[role=switch]"), ...all("button")]) {
    control.focus();
    control.click();
    seen.push(height());
  }
  for (const token of all("[role=option], button")) {
    token.dispatchEvent(new MouseEvent("mouseenter"));
    seen.push(height());
  }
  return [...new Set(seen)];
}"""


# an answer makes room for its reason, once; the translator has a row for each token that it reads
@pytest.mark.parametrize("kind", [k for k in WITH_NUMBERS if k != "break_translator"])
def test_a_figure_keeps_its_height_whatever_one_does(shown, kind):
    """The last test of a page, which it changes."""
    page = shown(kind)
    figure = page.locator("[label]")
    for width in (800, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert len(figure.evaluate(HEIGHTS)) == 1, width


def test_the_map_says_where_a_token_looks_by_mouse_and_by_keyboard(show):
    page = show(alive("attention_map"))
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


@pytest.mark.usefixtures("no_shape_checks")
def test_weights_and_probabilities_that_are_not_finite_are_refused():
    unexpected = WEIGHTS[0, 0].clone()
    unexpected[2, 1] = torch.nan
    with pytest.raises(ValueError, match="weights must be finite: got nan"):
        interactive.attention_map(unexpected, rows=ROWS, columns=COLUMNS, alt="")
    options = {"source": COLUMNS, "written": ROWS, "alt": ""}
    with pytest.raises(ValueError, match="weights must be finite: got nan"):
        interactive.decoding(unexpected, likeliest=LIKELIEST, **options)
    unlikely = [*LIKELIEST[:-1], [("x", torch.inf)]]
    with pytest.raises(ValueError, match="likeliest must be finite: got inf"):
        interactive.decoding(WEIGHTS[0, 0], likeliest=unlikely, **options)


def test_data_of_a_new_kind_that_is_no_json_is_refused():
    still, _ = style.subplots()
    with pytest.raises(ValueError, match="JSON"):
        interactive.Interactive("query", {"keys": [torch.nan]}, alt="", still=still)


@pytest.mark.parametrize("size", [1, 50])
def test_the_map_takes_one_to_fifty_tokens(show, size):
    weights = torch.full((size, size), 1 / size)
    tokens = [f"token {i}" for i in range(size)]
    figure = interactive.attention_map(weights, rows=tokens, columns=tokens, alt="Even weights.")
    page = show(figure.to_html(), width=390)
    assert page.locator(".weight").count() == size * size
    assert close(values(page), weights)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert len(figure.to_html()) < 200_000


@pytest.mark.parametrize(
    ("shape", "rows", "columns"),
    [((2, 3), 3, 3), ((1, 1, 1, 2, 2), 2, 2), ((51, 1), 51, 1), ((0, 2), 0, 2)],
)
@pytest.mark.usefixtures("no_shape_checks")
def test_a_map_that_does_not_fit_is_refused_with_its_sizes(shape, rows, columns):
    with pytest.raises(ValueError, match=f"{rows} rows and {columns} columns"):
        interactive.attention_map(
            torch.zeros(shape), rows=["x"] * rows, columns=["y"] * columns, alt=""
        )


def test_a_translation_is_followed_token_by_token(show):
    page = show(alive("decoding"))
    assert close(values(page), WEIGHTS[0, 0])

    def shows(t):
        weights = WEIGHTS[0, 0, t]
        assert page.locator("mark").inner_text() == ROWS[t]
        assert page.locator(".written").inner_text().split() == ROWS[: t + 1]
        chips = page.locator(".token small").all_inner_texts()
        assert close(torch.tensor([*map(float, chips)]), weights.round(decimals=2))
        bars = page.locator(".candidates span").all_inner_texts()
        assert bars == [f"first {t}", f"{0.5 + 0.1 * t:.2f}", "second", "0.25"]
        most = COLUMNS[weights.argmax()]
        said = page.locator(".said").inner_text()
        assert said == (f"Writing {ROWS[t]}, it looks most at {most} ({weights.max():.2f}).")

    shows(0)
    page.get_by_role("button", name="next").click()
    shows(1)
    back = page.get_by_role("button", name="back")
    back.click()
    shows(0)
    assert back.get_attribute("aria-disabled") == "true"
    back.press("Enter")
    shows(0)
    page.get_by_label("Token").focus()
    page.keyboard.press("End")
    shows(4)
    page.keyboard.press("ArrowLeft")
    shows(3)


@pytest.mark.usefixtures("no_shape_checks")
def test_a_translation_that_does_not_fit_is_refused_with_its_sizes():
    with pytest.raises(ValueError, match=r"2 written tokens .* \(5, 6\) and 1 l"):
        interactive.decoding(
            WEIGHTS[0, 0], source=COLUMNS, written=["a", "b"], likeliest=[[]], alt=""
        )


def after_each_block(size, corrected=True):
    """The largest score so far, and what stands in the other columns, by its definition."""
    rows = []
    for n in range(0, len(SCORES), size):
        old, seen = SCORES[:n].double(), SCORES[: n + size].double()
        m = seen.max()
        factor = (old.max() - m).exp() if n else torch.tensor(0.0)
        parts = (seen - m).exp()
        below, above = parts.sum(), parts @ HANDED[: n + size].double()
        if not corrected and n:
            factor = torch.tensor(1.0)
            below = rows[-1][2] + parts[n:].sum()
            above = rows[-1][3] + parts[n:] @ HANDED[n : n + size].double()
        rows.append(torch.stack([m, factor, below, above, above / below]))
    return torch.stack(rows)


def test_a_softmax_is_followed_block_by_block(show):
    page = show(alive("online_softmax"))
    whole = (SCORES.softmax(dim=0) @ HANDED).item()
    lines, now = page.locator(".sums b"), page.locator(".keys .now")

    def stands(size, block, corrected=True):
        right = after_each_block(size, corrected)
        assert numbers(page)[0] == ["m", "factor", "ℓ", "a", "a ÷ ℓ"]
        assert close(values(page), right)
        m, *_, output = right[block].tolist()
        ends = [line.split("=")[-1].strip() for line in lines.all_inner_texts()]
        shown = [f"{number:.2f}".replace("-", "−") for number in right[block].tolist()]
        shown[1] = "nothing to correct" if block == 0 else shown[1]
        assert ends == shown if corrected else ends[2:] == shown[2:]
        new = (SCORES[block * size : (block + 1) * size] - m).exp()
        parts = [text.split("= ")[-1].strip() for text in now.all_inner_texts()]
        assert parts == [f"{part:.2f}" for part in new]
        blocks = -(-len(SCORES) // size)
        assert said(page).startswith(f"Block {block + 1} of {blocks}. ")
        ending = f"So far the output is {output:.2f}."
        if block == blocks - 1:
            ending = f"The output is {output:.2f}, as by softmax over all scores at once."
            if not corrected:
                ending = f"{output:.2f}; softmax over all scores at once gives {whole:.2f}."
        assert said(page).endswith(ending.replace("-", "−"))

    assert after_each_block(2)[-1, -1].item() == pytest.approx(whole)
    next_block = page.get_by_role("button", name="next")
    for block in range(4):
        stands(2, block)
        next_block.press("Enter")  # the last one changes nothing
    stands(2, 3)
    assert next_block.get_attribute("aria-disabled") == "true"
    page.get_by_role("button", name="back").click()
    stands(2, 2)
    page.get_by_role("switch", name="leave the old sums").press("Space")
    stands(2, 2, corrected=False)
    next_block.click()
    stands(2, 3, corrected=False)
    page.get_by_role("switch", name="leave the old sums").click()
    size = page.get_by_label("Scores in a block")
    assert size.locator("option").all_inner_texts() == ["1", "2", "4", "all 7"]
    size.select_option("all 7")
    stands(7, 0)
    size.select_option("1")
    next_block.click()
    assert "The largest score stays, and so do the old sums." in said(page)
    stands(1, 1)
    next_block.click()
    assert "The largest score has grown: the old sums shrink." in said(page)
    stands(1, 2)


@pytest.mark.usefixtures("no_shape_checks")
def test_scores_that_an_online_softmax_cannot_show_are_refused():
    for scores, handed, says in (
        (SCORES, HANDED[:6], r"as many values: got shapes \(7,\) and \(6,\)"),
        (SCORES[:1], HANDED[:1], r"2 to 16 scores"),
        (torch.zeros(17), torch.zeros(17), r"2 to 16 scores"),
        (torch.tensor([0.0, torch.inf]), HANDED[:2], "scores must be finite: got inf"),
        (SCORES, 1000 * HANDED, "within ±10000: got 100000"),
    ):
        with pytest.raises(ValueError, match=says):
            interactive.online_softmax(scores, handed, alt="")


@pytest.mark.parametrize("kind", sorted({*FIGURES} - {"waves", "transformer"}))
def test_numbers_in_a_figure_are_short(kind):
    data = json.dumps(figure(kind).data)
    assert max(map(len, re.findall(r"\d\.(\d+)", data)), default=0) <= 4


def said(page):
    return page.locator(".said").inner_text()


def outputs(order, positions):
    x = EMBEDDINGS[order] + (POSITIONS if positions else 0)
    return attention(x, x, x)[0]


def table(page):
    """The numbers of a table with repeated headings: the heading of each row, and the rest."""
    numbers(page)
    rows = page.locator("table").evaluate(
        "t => [...t.tBodies[0].rows].map(row => [...row.cells].map(c => c.innerText))"
    )
    shown = [[float(text.replace("−", "-")) for text in numbers] for _, *numbers in rows]
    return [token for token, *_ in rows], torch.tensor(shown, dtype=torch.float64)


def shows(page, order, positions=False):
    """Tokens, table and sentence are those of this order."""
    names = [TOKENS[i] for i in order]
    tokens, shown = table(page)
    right = outputs(order, positions)
    change = (right - outputs(range(5), positions)[order]).abs().max()
    if order == [0, 1, 2, 3, 4]:
        sentence = "the first order"
    elif positions:
        assert change > 0.05
        sentence = f"the largest change of a number is {change:.2f}."
    else:
        sentence = "The outputs are those of before, in the new order."
    return (
        page.locator(".places button").all_inner_texts() == tokens == names
        and close(shown, right)
        and sentence in said(page)
        and f"“{' '.join(names)}”" in said(page)
    )


def drag(page, start, end, *, drop=True):
    """Take the token at one place to another, by the mouse."""
    for place, act in ((start, page.mouse.down), (end, page.mouse.up)):
        box = page.locator(".places button").nth(place).bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
        if drop or place == start:
            act()


def test_tokens_are_dragged_and_take_their_outputs_with_them(show):
    page = show(alive("permutation"), motion="reduce")
    assert shows(page, [0, 1, 2, 3, 4])
    drag(page, 0, 3)
    assert shows(page, [1, 2, 3, 0, 4])
    assert said(page).startswith("dog is now at place 4: ")
    page.keyboard.press("ArrowRight")  # the focus went along
    assert shows(page, [1, 2, 3, 4, 0])
    page.keyboard.press("ArrowLeft")
    page.mouse.move(300, 600)  # let go: nothing follows the mouse any more
    page.mouse.move(20, 600)
    assert shows(page, [1, 2, 3, 0, 4])
    drag(page, 4, 0, drop=False)
    page.mouse.move(2000, 600)  # beyond the edge is the last place
    page.mouse.up()
    assert shows(page, [1, 2, 3, 0, 4])


def test_tokens_are_dragged_by_finger_and_the_page_still_scrolls(show):
    page = show(alive("permutation") + "<p style='height: 2000px'>", width=390)
    touch = page.context.new_cdp_session(page)
    box = page.locator(".places button").nth(0).bounding_box()
    start = box["x"] + 9, box["y"] + 9

    def swipe(dx, dy):
        for type, part in (
            ("touchStart", 0),
            *(("touchMove", part / 8) for part in range(1, 9)),
            ("touchEnd", 1),
        ):
            at = {"x": start[0] + dx * part, "y": start[1] + dy * part}
            points = [] if type == "touchEnd" else [at]
            touch.send("Input.dispatchTouchEvent", {"type": type, "touchPoints": points})

    swipe(2 * box["width"] + 20, 5)
    assert shows(page, [1, 2, 0, 3, 4])
    assert page.evaluate("scrollY") == 0
    swipe(5, -70)
    page.wait_for_function("scrollY > 20")
    assert shows(page, [1, 2, 0, 3, 4])


def test_tokens_are_moved_by_keyboard_alone(show):
    page = show(alive("permutation"))
    pressed = page.locator('.places [aria-pressed="true"]')

    def press(*keys):
        for key in keys:
            page.keyboard.press(key)

    page.eval_on_selector("details", "e => { e.open = true }")
    press(*["Tab"] * 5)
    press("ArrowLeft")  # there is nothing before the first
    assert shows(page, [0, 1, 2, 3, 4])
    press("Tab", "ArrowRight", "ArrowRight", "Control+ArrowRight")
    assert shows(page, [0, 2, 3, 1, 4])
    assert said(page).startswith("bites is now at place 4: ")
    assert pressed.get_attribute("aria-label") == "bites, place 4 of 5"
    assert pressed.evaluate("e => e === e.getRootNode().activeElement")
    press("Alt+ArrowRight", "ArrowRight")
    assert shows(page, [0, 2, 3, 4, 1])
    press(*["Shift+Tab"] * 8)  # to "Earlier"
    press("Enter", "Space")
    assert shows(page, [0, 2, 1, 3, 4])
    press("Tab", "Enter")  # "Later"
    assert shows(page, [0, 2, 3, 1, 4])
    press("Tab", "Tab", "Space")  # "with positions"
    assert shows(page, [0, 2, 3, 1, 4], positions=True)
    press("Shift+Tab", "Enter")  # "First order"
    assert shows(page, [0, 1, 2, 3, 4], positions=True)
    press("Tab", "Tab", "Enter", *["Shift+Tab"] * 3, "Enter")  # first, later
    assert shows(page, [1, 0, 2, 3, 4], positions=True)


def test_with_positions_outputs_depend_on_the_place(show):
    page = show(alive("permutation"))
    drag(page, 3, 1)
    assert shows(page, [0, 3, 1, 2, 4])
    page.get_by_label("with positions").check()
    assert shows(page, [0, 3, 1, 2, 4], positions=True)
    page.get_by_role("button", name="</script>, place 4").click()
    page.get_by_role("button", name="Later").click()
    assert shows(page, [0, 3, 1, 4, 2], positions=True)
    page.get_by_label("with positions").uncheck()
    assert shows(page, [0, 3, 1, 4, 2])


def test_bars_are_as_long_as_the_outputs(show):
    page = show(alive("permutation"))
    page.locator(".places button").nth(1).press("ArrowRight")
    bars = page.eval_on_selector_all(
        ".output",
        """all => all.map(e => [e.x, e.width].map(a => a.baseVal.value))
                   .map(([x, width]) => x < 49.99 ? -width : width)""",
    )
    right = outputs([0, 2, 1, 3, 4], False)
    both = torch.stack([outputs([0, 1, 2, 3, 4], on) for on in (False, True)])
    assert close(torch.tensor(bars).view(5, 4) / 48, right / both.abs().max())


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_moved_token_glides_unless_one_asked_for_no_motion(show, motion):
    page = show(alive("permutation"), motion=motion)
    moving = (
        page.locator(".places button")
        .nth(1)
        .evaluate(
            """e => {
          const down = { key: "ArrowRight", bubbles: true };
          e.dispatchEvent(new KeyboardEvent("keydown", down));
          return e.getRootNode().getAnimations().length;
        }"""
        )
    )
    assert moving == (0 if motion == "reduce" else 2)


@pytest.mark.parametrize(("tokens", "d"), [(3, 2), (8, 8)])
def test_three_to_eight_tokens_fit_a_telephone(show, tokens, d):
    x = torch.eye(8)[:tokens, :d]
    figure = interactive.permutation(
        x, tokens=["understanding"] * tokens, positions=x, alt="Outputs."
    )
    page = show(figure.to_html(), width=390)
    assert page.locator(".output").count() == tokens * d
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(
    ("tokens", "embeddings", "positions"),
    [
        (2, (2, 4), (2, 4)),
        (9, (9, 4), (9, 4)),
        (3, (4, 4), (4, 4)),
        (3, (3, 1), (3, 1)),
        (3, (3, 9), (3, 9)),
        (3, (3, 4), (4, 4)),
        (3, (3, 4, 1), (3, 4, 1)),
    ],
)
@pytest.mark.usefixtures("no_shape_checks")
def test_tokens_that_cannot_be_put_in_order_are_refused_with_their_sizes(
    tokens, embeddings, positions
):
    says = (
        f"got {tokens} tokens, embeddings of shape {embeddings} and positions of shape {positions}"
    )
    with pytest.raises(ValueError, match=re.escape(says)):
        interactive.permutation(
            torch.zeros(embeddings), tokens=["x"] * tokens, positions=torch.zeros(positions), alt=""
        )


@pytest.mark.parametrize("name", ["embeddings", "positions"])
@pytest.mark.usefixtures("no_shape_checks")
def test_numbers_that_are_not_finite_are_refused(name):
    vectors = {"embeddings": torch.ones(3, 2), "positions": torch.ones(3, 2)}
    vectors[name][1, 1] = torch.nan
    with pytest.raises(ValueError, match=f"{name} must be finite: got nan"):
        interactive.permutation(**vectors, tokens=["x"] * 3, alt="")


def slide(page, label, value):
    """Bring a slider to a value, by keys."""
    slider = page.get_by_role("slider", name=label, exact=True)
    slider.press("Home")
    for _ in range(value):
        slider.press("ArrowRight")


def product(page):
    return float(re.search(r" = (-?\d+\.\d+)", said(page).replace("−", "-"))[1])


def waves_are(page, p, k):
    """Table, sentence and clocks are those of position p and offset k."""
    marks = sinusoidal_positions(120, 20, dtype=torch.float64)
    _, rows = numbers(page)
    assert list(rows) == [*map(str, range(10)), "sum"]
    shown = torch.tensor(
        [
            [float(text.replace("−", "-")) for text in row]
            for pair, row in rows.items()
            if pair != "sum"
        ],
        dtype=torch.float64,
    )
    omega, at_p, later, cosine = shown.T
    total = marks[p] @ marks[p + k]
    faces = page.locator(".clocks output").all_inner_texts()
    right = [f"{torch.cos(k * frequencies(20)[i]):.2f}" for i in PAIRS]
    return (
        torch.allclose(omega, frequencies(20), rtol=1e-3)
        and close(at_p.sin(), marks[p, ::2])
        and close(at_p.cos(), marks[p, 1::2])
        and close(later.sin(), marks[p + k, ::2])
        and close(later.cos(), marks[p + k, 1::2])
        and close(cosine.sum() / 10, total / 10)
        and close(torch.tensor(float(rows["sum"][-1].replace("−", "-"))), total)
        and abs(product(page) - total) < 0.006
        and f"PE({p}) · PE({p + k})" in said(page)
        and [text.replace("−", "-") for text in faces] == right
    )


PAIRS = [0, 1, 2, 3, 4, 5, 6, 7]  # of ten; the slowest are left out


def test_clocks_and_products_are_those_of_the_positions(show):
    page = show(alive("waves"))
    assert waves_are(page, 3, 5)
    for label, value, now in (
        ("Position p", 17, (17, 5)),
        ("Offset k", 11, (17, 11)),
        ("Offset k", 0, (17, 0)),
        ("Position p", 0, (0, 0)),
    ):
        slide(page, label, value)
        assert waves_are(page, *now)
        assert page.locator("label output").all_inner_texts() == [*map(str, now)]


def test_moving_p_rotates_every_hand_and_leaves_the_product_and_the_curve(show):
    page = show(alive("waves"))

    def attributes(selector):
        return page.eval_on_selector_all(selector, "all => all.map(e => e.getAttribute('d'))")

    def curve():
        numbers = re.findall(r"[\d.]+", attributes(".curve")[0])
        return torch.tensor([*map(float, numbers)])

    product_before, curve_before = product(page), curve()
    hands = attributes(".hand")
    page.get_by_label("Position p").press("ArrowRight")
    assert said(page).startswith("Moving p rotates all hands, but the product s")
    assert product(page) == product_before
    assert close(curve(), curve_before)
    assert not {*hands} & {*attributes(".hand")}
    page.get_by_label("Offset k").press("ArrowRight")
    assert product(page) != product_before
    assert "Moving p" not in said(page)
    assert close(curve(), curve_before)


def test_hands_point_to_sine_and_cosine(show):
    page = show(alive("waves"))
    slide(page, "Position p", 9)
    ends = page.eval_on_selector_all(
        ".hand", "all => all.map(e => e.getAttribute('d').split('L')[1])"
    )
    ends = torch.tensor([[*map(float, end.split(","))] for end in ends]) / 40
    marks = sinusoidal_positions(15, 20).view(15, 10, 2)
    right = marks[[9, 14]][:, PAIRS] * torch.tensor([1, -1])  # y grows downwards
    assert close(ends.view(8, 2, 2), right.transpose(0, 1))
    arcs = page.eval_on_selector_all(".rotation", "all => all.map(e => e.getAttribute('d'))")
    large = [re.search(r"A30,30 0 (\d) 1 ", arc)[1] for arc in arcs]
    assert large == [*"10000000"]  # five steps of pair 0 are beyond half a cycle


def test_the_curve_is_the_product_against_the_offset(show):
    page = show(alive("waves"))
    slide(page, "Offset k", 7)
    path = page.locator(".curve").get_attribute("d")
    points = torch.tensor([*map(float, re.findall(r"[\d.]+", path))]).view(-1, 2)
    marks = sinusoidal_positions(60, 20)
    right = marks @ marks[0]
    height = (points[0, 1] - points[:, 1]) / (points[0, 1] - points[7, 1])
    assert close(height, (right - 10) / (right[7] - 10))
    mark = page.locator(".here")
    place = [float(mark.get_attribute(name)) for name in ("cx", "cy")]
    assert close(torch.tensor(place), points[7])


@pytest.mark.parametrize(("d_model", "length"), [(2, 2), (16, 9), (512, 500)])
def test_waves_of_every_size_fit_a_telephone(show, d_model, length):
    figure = interactive.waves(d_model=d_model, length=length, alt="Clocks.")
    page = show(figure.to_html(), width=390)
    assert page.locator(".face").count() == min(d_model // 2, 8)
    assert page.locator(".clocks").inner_text().startswith("pair 0\n")
    slide(page, "Offset k", 1)
    mark = sinusoidal_positions(2, d_model, dtype=torch.float64)
    assert abs(product(page) - mark[0] @ mark[1]) < 0.006
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(
    ("d_model", "length", "says"),
    [
        (5, 9, "d_model must be even and from 2 to 512: got 5"),
        (0, 9, "got 0"),
        (514, 9, "got 514"),
        (4, 1, "length must be from 2 to 500: got 1"),
        (4, 501, "got 501"),
    ],
)
@pytest.mark.usefixtures("no_shape_checks")
def test_waves_of_other_sizes_are_refused(d_model, length, says):
    with pytest.raises(ValueError, match=says):
        interactive.waves(d_model=d_model, length=length, alt="")


STEPS = {"x": 0, "q": 1, "k": 1, "v": 1, "score": 2, "scaled": 3, "weight": 4, "output": 5}


def random_tokens(tokens, d_model, d_k, d_v, size=1.0):
    generator = torch.Generator().manual_seed(tokens)
    shapes = (tokens, d_model), (d_model, d_k), (d_model, d_k), (d_model, d_v)
    return [size * torch.randn(shape, generator=generator) for shape in shapes]


def way(x, W_Q, W_K, W_V, follow):
    """What PyTorch computes on the way of a token, and for all tokens their queries."""
    x, W_Q, W_K, W_V = (tensor.double() for tensor in (x, W_Q, W_K, W_V))
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    score = k @ q[follow]
    scaled = score / k.shape[-1] ** 0.5
    output = F.scaled_dot_product_attention(q[None], k[None], v[None])[0, follow]
    numbers = {"x": x, "q": q[follow], "k": k, "v": v, "score": score, "scaled": scaled}
    return numbers | {"weight": scaled.softmax(dim=-1), "output": output}, q


def number(text):
    return float(text.replace("−", "-"))


def as_shown(value):
    """Whole numbers as they are, others with as many digits as there is room for."""
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    text = f"{value:.0f}" if abs(value - round(value)) < 1e-9 else f"{value:.{digits}f}"
    return text.replace("-", "−")


def cells(page):
    """The cells of the picture by kind, as texts in the shape of what they show."""
    found = page.locator(".flow .cell").evaluate_all(
        "all => all.map(e => [e.getAttribute('aria-label'), e.textContent])"
    )
    shown = {}
    for label, text in found:
        kind = re.match(r"[a-z]+", label)[0]
        assert label.endswith(text or "not yet computed")
        shown.setdefault(kind, []).append(text)
    return shown


def go(page, step):
    page.locator(".names button").nth(step).click()


def follow(page, i):
    page.locator(".controls button").nth(i).click()


@pytest.mark.parametrize(
    "tensors",
    [PAPER, random_tokens(6, 4, 4, 4), random_tokens(5, 3, 2, 1), random_tokens(2, 1, 1, 3)],
    ids=["paper", "largest", "middle", "smallest"],
)
def test_every_number_on_the_way_of_every_token_is_pytorchs(show, tensors):
    n = len(tensors[0])
    names = [f"t{i}" for i in range(n)]
    page = show(interactive.token(*tensors, tokens=names, follow=n - 1, alt="x").to_html())
    go(page, 6)
    for i in [n - 1, *range(n - 1)]:
        if i < n - 1:
            follow(page, i)
        right, queries = way(*tensors, i)
        shown = cells(page)
        assert {*shown} == {*STEPS}
        for kind, values in right.items():
            assert shown[kind] == [as_shown(value) for value in values.flatten().tolist()], kind
        _, rows = numbers(page)
        *inside, last = rows.values()
        columns = [right["x"], queries, right["k"]]
        columns += [right[name][:, None] for name in ("score", "scaled", "weight")] + [right["v"]]
        table = torch.tensor([[number(text) for text in row] for row in inside])
        assert close(table, torch.cat(columns, dim=-1))
        assert close(torch.tensor([number(text) for text in last if text]), right["output"])


def test_a_number_appears_in_its_step_and_stays(show):
    page = show(alive("token"))
    for step in [*range(7), 3, 0]:
        go(page, step)
        shown = {kind for kind, texts in cells(page).items() if all(texts)}
        assert shown == {kind for kind, first in STEPS.items() if first <= step}
        assert all(
            text == "" for k, texts in cells(page).items() if k not in shown for text in texts
        )
        lit = page.locator(".flow .lit").evaluate_all("all => all.map(e => e.ariaLabel)")
        newest = {kind for kind, first in STEPS.items() if first == step}
        assert newest <= {re.match("[a-z]+", label)[0] for label in lit}


STEPS_SAY = (
    "<i>₂ is x₂ = (0, 1).",
    "q₂ = x₂ W_Q = (0, 1, 0, 1).",
    "q₂ · k₄ = 0·0 + 1·2 + 0·2 + 1·2 = 4.",
    "a name t…₄: 4 ÷ √4 = 2.",
    "a name t…₄: e^2 = 7.39, divided by the sum of all 4, 13.83, is 0.53.",
    "Number 1: 0.07·3 + 0.20·1 + 0.20·4 + 0.53·2 = 2.27.",
    "<i>₂ came as (0, 1) and leaves as (2.27, 2.92): a mixture of all values, the largest share, "
    "0.53, from a name t…₄.",
)


IN_FOCUS = "e => e.shadowRoot.activeElement.getAttribute('aria-current')"


def test_all_steps_are_walked_by_keyboard_alone(show):
    page = show(alive("token"))

    def at(step):
        current = page.locator('.names [aria-current="step"]')
        return STEPS_SAY[step] in said(page) and current.count() == 1

    page.keyboard.press("Tab")
    for _ in range(4):  # the tokens; then Back
        page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert at(0)
    for step in range(1, 7):
        page.keyboard.press("ArrowRight")
        assert at(step), step
        assert page.locator("[label]").evaluate(IN_FOCUS) == "step"
    page.keyboard.press("ArrowRight")  # there is nothing after the last
    assert at(6)
    page.keyboard.press("Home")
    assert at(0)
    page.keyboard.press("Tab")  # Next
    for step in range(1, 7):
        page.keyboard.press("Enter")
        assert at(step), step
    assert page.get_by_role("button", name="Next").get_attribute("aria-disabled") == "true"
    page.keyboard.press("Tab")  # into the picture
    page.keyboard.press("ArrowUp")
    assert "<i>₂" not in said(page) and "the₁ is x₁ = (1, 0)." in said(page)
    page.locator('.cell[aria-label^="scaled₃"]').focus()
    page.keyboard.press("ArrowLeft")
    assert "q₂ · k₃ = 0·1 + 1·1 + 0·2 + 1·1 = 2." in said(page)
    page.get_by_role("button", name="Back").press("Enter")
    assert at(5)


REACHED = """e => {
  const reached = [e.shadowRoot.querySelector("SELECTOR [tabindex='0']")];
  for (const from of reached)
    for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) {
      from.focus();
      from.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
      const now = e.shadowRoot.activeElement;
      if (!reached.includes(now)) reached.push(now);
    }
  return reached.length;
}"""


@pytest.mark.parametrize("width", [390, 800])
@pytest.mark.parametrize(
    ("kind", "group", "count"), [("token", ".flow", 50), ("transformer", ".both", 35)]
)
def test_arrow_keys_reach_every_number_and_every_part(show, width, kind, group, count):
    page = show(alive(kind), width=width)
    if kind == "token":
        go(page, 6)
    assert page.locator(f"{group} button").count() == count
    assert page.locator("[label]").evaluate(REACHED.replace("SELECTOR", group)) == count


def test_a_number_that_is_pointed_at_shows_how_it_was_computed(show):
    tensors = random_tokens(5, 3, 4, 2)
    page = show(interactive.token(*tensors, tokens="abcde", follow=1, alt="x").to_html())
    go(page, 6)
    right, _ = way(*tensors, 1)
    W_K = tensors[2].double()

    def opens(label, a, b, result):
        """The sentence has these products and their sum, and so have the rows below."""
        page.locator(f'.cell[aria-label^="{label}"]').hover()
        factors = [
            "·".join(f"({t})" if t.startswith("−") else t for t in map(as_shown, pair))
            for pair in zip(a.tolist(), b.tolist(), strict=True)
        ]
        assert f"{' + '.join(factors)} = {as_shown(result.item())}." in said(page)
        used = page.locator(".flow .used").evaluate_all("all => all.map(e => e.textContent)")
        lens = page.locator(".lens .cell").all_inner_texts()
        return used, lens

    for j in range(5):
        q, k, score = right["q"], right["k"][j], right["score"][j]
        used, lens = opens(f"score{'₁₂₃₄₅'[j]}", q, k, score)
        assert used == [as_shown(value) for value in [*q.tolist(), *k.tolist()]]
        assert lens == [as_shown(value) for row in (q, k, q * k) for value in row.tolist()]
        assert page.locator(".lens b").last.inner_text() == f"= {as_shown(score.item())}"
    for f in range(2):
        weight, v = right["weight"], right["v"][:, f]
        used, lens = opens(f"output₂, number {f + 1}", weight, v, right["output"][f])
        assert lens == [
            as_shown(value) for row in (weight, v, weight * v) for value in row.tolist()
        ]
        assert sorted(used) == sorted(as_shown(value) for value in [*weight.tolist(), *v.tolist()])
    for f in range(4):
        used, lens = opens(f"k₄, number {f + 1}", right["x"][3], W_K[:, f], right["k"][3, f])
        assert used == [as_shown(value) for value in right["x"][3].tolist()]
        assert lens == [as_shown(v) for row in (*W_K, right["k"][3]) for v in row.tolist()]
    page.locator('.cell[aria-label^="weight₃"]').hover()
    scores = right["scaled"]
    least = scores.max() if not 0 <= scores.max() <= 6 else 0
    powers = (scores - least).exp()
    assert f"divided by the sum of all 5, {powers.sum():.2f}, is {right['weight'][2]:.2f}" in said(
        page
    )
    page.mouse.move(1, 1)
    assert "came as" in said(page)


def test_another_token_has_its_own_query_and_weights_but_the_same_keys_and_values(show):
    page = show(alive("token"))
    go(page, 6)
    before = cells(page)
    follow(page, 3)
    after = cells(page)
    assert {kind for kind in STEPS if before[kind] == after[kind]} == {"x", "k", "v"}
    assert page.locator('.controls [aria-pressed="true"]').inner_text() == "a name t…₄"


def tap(page, locator):
    """With a finger."""
    box = locator.bounding_box()
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    touch = page.context.new_cdp_session(page)
    for kind, points in (("touchStart", [at]), ("touchEnd", [])):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_steps_numbers_and_parts_are_chosen_by_finger(show):
    page = show(alive("token"), width=390)
    for step in (1, 2):
        tap(page, page.get_by_role("button", name="Next"))
        page.locator(".said", has_text=STEPS_SAY[step]).wait_for()
    tap(page, page.locator('.cell[aria-label^="score₃"]'))
    page.locator(".said", has_text="q₂ · k₃ = 0·1 + 1·1 + 0·2 + 1·1 = 2.").wait_for()
    page = show(alive("transformer"), width=390)
    tap(page, page.get_by_role("button", name="cross-attention"))
    page.locator(".said", has_text=PARTS["cross-attention"][0]).wait_for()


@pytest.mark.parametrize("width", [390, 800])
def test_the_largest_preset_fits_and_never_changes_its_height(show, width):
    tensors = random_tokens(6, 4, 4, 4, size=2.5)
    figure = interactive.token(*tensors, tokens=["understanding"] * 6, alt="x")
    page = show(figure.to_html(), width=width)
    heights = page.locator("[label]").evaluate(
        """e => {
          const seen = new Set();
          const all = (selector) => [...e.shadowRoot.querySelectorAll(selector)];
          for (const button of all("button:not(.cell)")) {
            button.click();
            seen.add(e.offsetHeight);
          }
          all(".names button").at(-1).click();
          for (const cell of all(".cell")) {
            cell.dispatchEvent(new MouseEvent("mouseenter"));
            seen.add(e.offsetHeight);
          }
          return [...seen];
        }"""
    )
    assert len(heights) == 1
    names = page.locator(".flow .token").filter(visible=True)
    assert names.count() == (6 if width == 800 else 12)  # on a telephone there are two bands
    cut = """all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)"""
    assert page.locator(".flow .cell").evaluate_all(cut) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_weights_of_scores_as_large_as_fit_are_numbers(show):
    x = torch.tensor([[1.0], [-1.0]])
    one = torch.tensor([[1.0]])
    page = show(interactive.token(x, 900 * one, one, one, tokens="ab", alt="x").to_html())
    go(page, 4)
    assert cells(page)["weight"] == ["0", "1"]
    assert "b₂: e^0 = 1, divided by the sum of all 2, 1.00, is 1." in said(page)


@pytest.mark.parametrize(
    ("shapes", "tokens", "says"),
    [
        (((7, 2), (2, 4), (2, 4), (2, 2)), 7, "2 to 6 tokens.*got 7 tokens and (2, 4, 2)"),
        (((1, 2), (2, 4), (2, 4), (2, 2)), 1, "got 1 tokens"),
        (((4, 5), (5, 4), (5, 4), (5, 2)), 4, "from 1 to 4: got 4 tokens and (5, 4, 2)"),
        (((4, 2), (2, 5), (2, 5), (2, 2)), 4, "got 4 tokens and (2, 5, 2)"),
        (((4, 2), (2, 4), (2, 4), (2, 0)), 4, "got 4 tokens and (2, 4, 0)"),
        (((4, 2), (2, 4), (2, 3), (2, 2)), 4, "got 4 tokens and (4, 2), (2, 4), (2, 3), (2, 2)"),
        (((4, 2), (3, 4), (3, 4), (2, 2)), 4, "x of shape (tokens, d_model)"),
        (((4, 2), (2, 4), (2, 4), (3, 2)), 4, "x of shape (tokens, d_model)"),
        (((4, 2), (2, 4), (2, 4), (2, 2)), 3, "got 3 tokens and (4, 2)"),
        (((4,), (2, 4), (2, 4), (2, 2)), 4, "got 4 tokens and (4,)"),
    ],
)
@pytest.mark.usefixtures("no_shape_checks")
def test_tokens_that_cannot_be_followed_are_refused_with_their_sizes(shapes, tokens, says):
    tensors = [torch.ones(shape) for shape in shapes]
    with pytest.raises(ValueError, match=re.escape(says).replace(r"\.\*", ".*")):
        interactive.token(*tensors, tokens=["x"] * tokens, alt="")


@pytest.mark.usefixtures("no_shape_checks")
def test_numbers_that_do_not_fit_into_cells_are_refused():
    for follow in (-1, 4):
        with pytest.raises(ValueError, match=f"follow must be from 0 to 3: got {follow}"):
            interactive.token(*PAPER, tokens="abcd", follow=follow, alt="")
    x, *projections = PAPER
    with pytest.raises(ValueError, match="W_V must be finite: got inf"):
        interactive.token(x, *projections[:2], projections[2] / 0, tokens="abcd", alt="")
    with pytest.raises(ValueError, match="numbers up to 999 fit into the cells: got 3200"):
        interactive.token(20 * x, *projections, tokens="abcd", alt="")


def test_each_part_says_what_it_does_the_shape_that_leaves_it_and_its_chapters(show):
    page = show(alive("transformer"))
    boxes = [box for sheet in figure("transformer").data["sheets"] for box in sheet["boxes"]]
    assert {box["part"] for box in boxes} == {*PARTS}
    for place, box in enumerate(boxes):
        page.locator(".box").nth(place).dispatch_event("click")
        does, leaves, chapters = PARTS[box["part"]]
        assert said(page) == does
        side = box.get("side", "L")
        more = page.locator(".more").inner_text().splitlines()
        assert more == [
            f"Leaves as {leaves.replace('(batch, L', f'(batch, {side}')}",
            *(f"Chapter {number} · {CHAPTERS[number][1]}" for number in chapters),
        ]
        pressed = page.locator('.box[aria-pressed="true"]').count()
        assert pressed == sum(other["part"] == box["part"] for other in boxes)
    assert list(numbers(page)[1]) == [*PARTS]
    assert page.locator("a").count() == 0  # there is no book around it


def test_the_shapes_are_those_of_the_books_transformer():
    sizes = {"batch": 2, "source": 5, "target": 4, "d_model": 6, "vocabulary": 11, "h": 3}
    sizes |= {"d_k": 2, "d_v": 2}
    model = Transformer(source_size=9, target_size=11, d_model=6, num_heads=3, num_layers=1, d_ff=8)
    found = {}

    def note(name, side):
        def hook(module, inputs, output):
            output = output[0] if isinstance(output, tuple) else output
            found[name, side] = tuple(output.shape)

        return hook

    encoder, decoder = model.encoder[0], model.decoder[0]
    for module, name, side in (
        (model.source_embedding.token, "embedding", "source"),
        (model.source_embedding, "positions", "source"),
        (encoder.self_attention, "self-attention", "source"),
        (encoder.feed_forward, "feed-forward", "source"),
        (encoder.feed_forward_residual.norm, "norm", "source"),
        (model.encoder_norm, "memory", "source"),
        (decoder, "residual stream", "target"),
        (decoder.self_attention, "masked self-attention", "target"),
        (decoder.cross_attention, "cross-attention", "target"),
        (model.output, "linear", "target"),
    ):
        module.register_forward_hook(note(name, side))
    source, target = torch.ones(2, 5, dtype=torch.long), torch.ones(2, 4, dtype=torch.long)
    logits, maps = model(source, target, need_weights=True)
    found |= {("source", "source"): tuple(source.shape), ("target", "target"): tuple(target.shape)}
    found["probabilities", "target"] = tuple(logits.softmax(dim=-1).shape)
    key, value = encoder.self_attention.keys_and_values(torch.ones(2, 5, 6))
    found["projections", "source"] = tuple(key.shape)
    crossing = {"L_query": "target", "L_key": "source"}
    weights = tuple(maps.cross[0].shape)
    found |= {(name, "target"): weights for name in ("scores", "scaling", "mask", "softmax")}
    found["mixing", "target"] = (*weights[:-1], value.shape[-1])
    found["heads", "target"] = found["cross-attention", "target"]
    assert {name for name, _ in found} == {*PARTS}
    for (name, side), shape in found.items():
        axes = PARTS[name][1].strip("()").split(", ")
        named = [crossing.get(axis, side if axis == "L" else axis) for axis in axes]
        assert shape == tuple(sizes[axis] for axis in named), name


def test_norms_stand_where_the_two_kinds_of_model_have_them(show):
    page = show(alive("transformer"), motion="reduce")
    norms = page.locator(".box:not(.gone)", has_text="norm")
    sizes = {"source_size": 9, "target_size": 9, "d_model": 4, "num_heads": 2, "d_ff": 8}
    streams = [26 / 344, 318 / 344]
    for post in (False, True):
        page.get_by_role("switch").set_checked(post)
        model = Transformer(**sizes, num_layers=1, norm_first=not post)
        modules = [m for m in model.modules() if isinstance(m, torch.nn.LayerNorm)]
        places = norms.evaluate_all(
            "all => all.map(e => (e.offsetLeft + e.offsetWidth / 2) / e.offsetParent.offsetWidth)"
        )
        assert len(places) == len(modules) == (5 if post else 7)
        on_stream = [any(abs(place - x) < 0.02 for x in streams) for place in places]
        assert sum(on_stream) == (5 if post else 2)  # in pre-norm only the last of each stack
        assert said(page).startswith("Post-norm" if post else "The encoder reads")


def test_chapters_are_those_of_the_book():
    for number, (file, title) in CHAPTERS.items():
        notebook = json.loads((ROOT / f"chapters/{file}.ipynb").read_text("utf8"))
        heading = "".join(notebook["cells"][0]["source"]).splitlines()[0]
        assert heading == f"# {number} · {title}"
    assert len(CHAPTERS) == len([*(ROOT / "chapters").glob("[01]*.ipynb")])


@pytest.mark.parametrize("root", ["../", "../../"])
def test_a_page_of_the_book_links_to_the_chapters(show, root):
    page = show(alive("transformer"))
    page.evaluate("root => { document.documentElement.dataset.content_root = root }", root)
    page.get_by_role("button", name="self-attention", exact=True).click()
    links = page.locator(".more a").evaluate_all(
        "all => all.map(e => [e.innerText, e.getAttribute('href')])"
    )
    assert links == [
        [f"Chapter {number} · {CHAPTERS[number][1]}", f"{root}chapters/{CHAPTERS[number][0]}.html"]
        for number in (2, 7)
    ]


def test_you_are_here_is_a_small_picture_with_that_part_lit(show):
    parts = "self-attention", "residual stream", "scaling", "heads"
    figures = {part: interactive.transformer(here=part) for part in parts}
    page = show("".join(figure.to_html() for figure in figures.values()), width=390)
    boxes = [box for sheet in figure("transformer").data["sheets"] for box in sheet["boxes"]]
    lit = page.locator("[label]").evaluate_all(
        """all => all.map(({ shadowRoot: root }) => [...root.querySelectorAll("rect")]
             .map((rect, place) => rect.classList.contains("lit") ? place : null)
             .filter(place => place !== null))"""
    )
    for part, places in zip(parts, lit, strict=True):
        assert places == [n for n, box in enumerate(boxes) if box["part"] == part]
        assert figures[part].alt == f"Where we are in the Transformer: {part}. {PARTS[part][0]}"
        assert len(figures[part].to_html()) < 35_000
    for text, part in zip(page.locator(".said").all_inner_texts(), parts, strict=True):
        assert text.startswith(f"You are here: {part}") and text.endswith(PARTS[part][0])
    assert page.locator("details, button").count() == 0
    assert page.get_by_text("Chapter 8 · How do the blocks fit together?").count() == len(parts)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.trouble == []


def test_you_are_here_is_accessible_and_links_to_the_whole(show):
    page = show("<h1>x</h1>" + interactive.transformer(here="scaling", alt="Here.").to_html())
    assert browser.violations(page) == []
    assert page.get_by_role("group", name="Here.").count() == 1
    page = show(
        "<script>document.documentElement.dataset.content_root = '../'</script>"
        + interactive.transformer(here="scaling").to_html()
    )
    assert page.locator("a").get_attribute("href") == "../chapters/08-blocks.html"


@pytest.mark.usefixtures("no_shape_checks")
def test_a_place_that_is_not_on_the_map_is_refused():
    with pytest.raises(ValueError, match=r"here must be one of source, target,.*: got 'decoder'"):
        interactive.transformer(here="decoder")


def answers(page):
    """The answers of a prediction: text, mark and whether it is the present one."""
    return [
        (button.inner_text().replace("\n", " ").strip(), button.get_attribute("aria-pressed"))
        for button in page.get_by_role("button").all()
    ]


def test_a_prediction_names_what_is_believed_and_lets_one_change_ones_mind(show):
    page = show(interactive.predict("2.0").to_html())
    choice = next(exercise for exercise in catalogue() if exercise.id == "2.0")
    assert answers(page) == [("A", "false"), ("B", "false"), ("C", "false")]
    for why in (*choice.explanations.values(), choice.because):
        assert not page.get_by_text(why).first.is_visible()
    page.get_by_role("button", name="C").click()
    belief = "more training cures everything"
    assert said(page) == f"✗ Not so: “{belief}”. {choice.explanations[belief]}"
    assert answers(page)[1:] == [("B", "false"), ("✗ C your first answer", "true")]
    page.get_by_role("button", name="B").click()
    assert said(page) == f"✓ That is it. {choice.because}"
    assert answers(page) == [
        ("A", "false"),
        ("✓ B", "true"),
        ("✗ C your first answer", "false"),
    ]


def test_a_prediction_is_made_by_keyboard_and_spoken(show):
    page = show(alive("predict"), width=390)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert said(page) == "✗ Not so. No height."
    assert page.locator(".said code").inner_text() == "height"
    assert page.locator(".said").get_attribute("aria-live") == "polite"
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert said(page) == "✓ That is it. The mean."
    assert "your first answer" in answers(page)[1][0]


def test_a_prediction_tells_the_page_and_does_not_jump_when_one_changes_ones_mind(show):
    figure = interactive.predict("2.0").to_html()  # reasons of 6 and of 4 lines
    page = show(figure + "<p id=after>the rest</p>", width=390)
    page.evaluate(
        "window.heard = 0; addEventListener('attnbook-predicted', () => window.heard += 1)"
    )

    def place():
        return page.locator("#after").bounding_box()["y"]

    page.get_by_role("button").nth(0).click()
    before = place()
    page.get_by_role("button").nth(1).click()
    assert page.evaluate("window.heard") == 2
    assert place() == before


@pytest.mark.parametrize(
    ("options", "right"),
    [
        ({}, "x"),
        ({"x": "The only one."}, "x"),
        ({"x": "One.", "y": "The other."}, "z"),
        ({"x": "One.", "y": "The other."}, None),
    ],
)
def test_a_prediction_without_a_right_answer_among_others_is_refused(options, right):
    with pytest.raises(ValueError, match="two or more options, one of them right: got "):
        interactive.predict(options=options, right=right)


def test_a_prediction_of_the_catalogue_has_to_be_one():
    with pytest.raises(KeyError, match=r"no choice '2\.1'; there are 1\.0, 2\.0, "):
        interactive.predict("2.1")


def head_search(page):
    """The strongest heads as (name, score), and the score of every head in its order."""
    strongest = [text.split(" · ") for text in page.locator(".strongest button").all_inner_texts()]
    squares = page.get_by_role("option").and_(page.locator("[id^=head-]"))
    labels = squares.evaluate_all("all => all.map(e => e.getAttribute('aria-label'))")
    return strongest, [float(label.split(", ")[1]) for label in labels]


def entropy(rows):
    return -torch.xlogy(rows, rows).sum(dim=-1)


SEARCHES = {
    "a token looks at another": lambda maps: maps[..., 3, 1],
    "looks at the token before": lambda maps: maps.diagonal(-1, -2, -1).mean(dim=-1),
    "looks at itself": lambda maps: maps.diagonal(0, -2, -1)[..., 1:].mean(dim=-1),
    "looks at the first token": lambda maps: maps[..., 1:, 0].mean(dim=-1),
    "looks everywhere evenly": lambda maps: (
        entropy(maps)[..., 1:] / torch.arange(2.0, 6).double().log()
    ).mean(dim=-1),
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("twin", [False, True])
def test_a_search_among_all_heads_finds_what_pytorch_finds(show, search, twin):
    page = show(alive("all_heads"))
    page.get_by_label("Sentence").select_option(index=int(twin))
    page.get_by_label("Find a head").select_option(label=search)
    asked_for = page.get_by_role("combobox").count()  # the token looked at, where one is searched
    assert asked_for == (3 if search == "a token looks at another" else 2)
    right = SEARCHES[search](OF_TWIN if twin else OF_HEADS).flatten()
    strongest, scores = head_search(page)
    assert torch.tensor(scores).sub(right).abs().max() < 0.01
    assert [name for name, _ in strongest[:1]] == ["{}.{}".format(*divmod(int(right.argmax()), 4))]
    assert len(strongest) == 5
    chosen = page.get_by_role("option", selected=True).and_(page.locator("[id^=head-]"))
    assert chosen.get_attribute("id") == f"head-{right.argmax()}"
    assert f"{right.max():.2f}" in said(page) and "number 1 of 12" in said(page)


def test_the_weights_of_a_head_are_pytorchs_in_every_sentence(show):
    page = show(alive("all_heads"))
    for place in (0, 7, 11):
        page.locator(f"#head-{place}").click()
        for twin, maps in enumerate((OF_HEADS, OF_TWIN)):
            page.get_by_label("Sentence").select_option(index=twin)
            right = maps.flatten(0, 1)[place]
            _, rows = numbers(page)
            for row, cells in zip(right, rows.values(), strict=True):
                shown = torch.tensor([float(cell or 0) for cell in cells]).double()
                assert shown.sub(row).abs().max() < 0.003  # a step is 1 / 255
            assert [len([c for c in cells if c]) for cells in rows.values()] == [1, 2, 3, 4, 5]


def test_tokens_are_chosen_and_heads_walked_through_by_keyboard(show):
    page = show(alive("all_heads"), width=390)
    page.locator("#head-0").click()
    grid = page.get_by_role("listbox", name="All heads")
    grid.focus()
    for key, place in (("ArrowRight", 1), ("ArrowDown", 5), ("ArrowLeft", 4), ("End", 11)):
        page.keyboard.press(key)
        assert grid.get_attribute("aria-activedescendant") == f"head-{place}"
    page.locator(".tokens button").first.focus()
    page.keyboard.press("Enter")
    shares = page.locator(".tokens button span + span").all_inner_texts()
    assert shares == ["1.00", "–", "–", "–", "–"]  # the first token sees itself alone
    assert page.get_by_role("combobox").nth(2).locator("option").count() == 1
    page.locator(".tokens button").nth(3).click()
    shares = page.locator(".tokens button span + span").all_inner_texts()
    shown = torch.tensor([float(share) for share in shares[:4]])
    assert shown.sub(OF_HEADS[2, 3, 3, :4]).abs().max() < 0.01
    assert shares[4] == "–"
    assert page.trouble == []


def heads_with(link=(3, 1), texts=None):
    return interactive.all_heads(*(texts or [(BOOK, OF_HEADS)]), link=link, alt="")


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            {"link": (1, 3)},
            "a token of all texts, 0 to 4, to itself or one before",
        ),
        ({"texts": [(BOOK[:4], OF_HEADS)]}, r"got \(3, 4, 5, 5\) for 4 tokens"),
        ({"texts": [(BOOK, OF_HEADS.mT)]}, "no token may look at a later one"),
        ({"texts": [(BOOK, 2 * OF_HEADS)]}, "weights are from 0 to 1: got 0.0 to 2.0"),
        ({"texts": [(BOOK, OF_HEADS), (BOOK, OF_HEADS[:2])]}, "need the same blocks and heads"),
        (
            {"texts": [(BOOK, OF_HEADS), (BOOK, OF_TWIN)]},
            "first 5 tokens are equal, but their w",
        ),
        ({"texts": [(BOOK, OF_HEADS * torch.nan)]}, "weights must be finite: got nan"),
    ],
)
def test_heads_that_no_causal_model_has_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        heads_with(**options)


def test_all_heads_need_a_text():
    with pytest.raises(ValueError, match="needs a text at least: got none"):
        interactive.all_heads(link=(0, 0), alt="")
