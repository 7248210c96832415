"""What all kinds of interactive figures share: they work everywhere, and nothing jumps."""

import html
import re

import browser
import examples
import nbformat
import pytest
import torch
from conftest import ROOT
from examples import FIGURES, alive, figure, fits, numbers, tabs
from IPython.core.formatters import DisplayFormatter

from attnbook import figure_assets
from attnbook.figures import interactive, style
from attncourse import run
from attncourse.run import make_small

browser.skip_without()
show = examples.show

STILL = "Run this cell, or allow scripts, to use the figure."
WITH_NUMBERS = [kind for kind in FIGURES if kind != "predict"]
every_figure = pytest.mark.parametrize("kind", FIGURES)


@pytest.fixture(scope="module")
def together(context):
    """A page with every kind, and one of them twice, for all tests that leave it as it was."""
    with tabs(context) as show:
        yield show("".join(map(alive, FIGURES)) + alive("query"))


def test_all_kinds_stand_on_a_page_together_and_none_needs_a_network_or_complains(together):
    assert together.locator(".frame").count() == len(FIGURES) + 1
    assert together.asked == [] and together.trouble == []
    assert together.locator("img").filter(visible=True).count() == 0, "the still pictures"
    assert together.get_by_text(STILL).filter(visible=True).count() == 0


def test_nothing_moves_for_readers_who_asked_for_that(together):
    together.emulate_media(reduced_motion="reduce")
    moving = """[...document.querySelectorAll('[label]')].flatMap(figure =>
        [...figure.shadowRoot.querySelectorAll('*')]
          .filter(e => getComputedStyle(e).transitionDuration !== '0s'
                    || getComputedStyle(e).animationName !== 'none')
          .map(e => `${figure.localName}: ${e.outerHTML.slice(0, 80)}`))"""
    assert together.evaluate(moving) == []


def test_a_figure_works_in_a_sandboxed_frame_as_colab_has_it(show):
    body = html.escape("".join(map(alive, FIGURES)))
    page = show(f'<iframe sandbox="allow-scripts" srcdoc="{body}" width=700 height=800></iframe>')
    frame = page.frame_locator("iframe")
    frame.locator("attnbook-waves .frame").wait_for()
    assert frame.locator(".frame").count() == len(FIGURES)
    assert numbers(frame.locator("attnbook-waves"))[1]
    frame.locator("attnbook-predict button").first.click()
    assert "That is the mouse." in frame.locator("attnbook-predict .said").inner_text()
    # some Chromium says, at any time, that a sandboxed frame may not write to the clipboard
    assert [text for text in page.trouble if "clipboard" not in text.lower()] == []


@pytest.mark.parametrize("kind", ["query", "break_translator"])  # the latter does more at its end
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


SCRIPTS = ROOT / "code/attnbook/figures/interactive"
PLAYED = [kind for kind in FIGURES if ", pace: " in (SCRIPTS / f"{kind}.js").read_text("utf8")]


@pytest.mark.parametrize("kind", PLAYED)
def test_steps_are_spoken_when_somebody_takes_them_and_not_while_they_play(show, kind):
    page = show(alive(kind), motion="reduce")
    spoken = """() => {
      const figure = document.querySelector("[label]");
      const said = () => figure.said.ariaLive;
      return [said(), (figure.play(), said()), (figure.pause(), said())];
    }"""
    assert page.evaluate(spoken) == ["polite", "off", "polite"]


@pytest.mark.parametrize(
    ("kind", "drawing"),
    [
        ("attention_map", "paint"),
        ("hero", "place"),
        ("stack", "drawCurves"),
        ("clocks", "paint"),
        ("decoding", "place"),
        ("shapes", "paint"),
        ("transformer", "placeVector"),
        ("softmax", "paint"),
        ("rivals", "paint"),
        ("rotary", "paint"),
        ("two_translators", "place"),
        ("waves", "paint"),
    ],
)
def test_a_figure_follows_its_width_while_it_is_on_the_page(show, kind, drawing):
    page = show(alive(kind))
    page.evaluate(
        """drawing => {
          window.old = document.querySelector("[label]");
          window.drawn = 0;
          old[drawing] = () => drawn++;
          old.style.width = "320px";
        }""",
        drawing,
    )
    page.wait_for_function("drawn > 0")
    page.wait_for_timeout(100)
    before = page.evaluate("old.remove(), drawn")
    page.wait_for_timeout(100)
    assert page.evaluate("drawn") == before
    page.evaluate("document.body.append(old)")  # somebody puts it back
    page.wait_for_function("before => drawn > before", arg=before)


def test_where_scripts_do_not_run_a_picture_with_its_text_stands(show):
    stored = [{"text/html": alive(kind)} for kind in FIGURES]
    for output in stored:
        make_small(output)  # as attncourse.run stores it
    page = show("".join(output["text/html"] for output in stored))
    pictures = page.locator("img").evaluate_all("all => all.map(e => [e.alt, e.naturalWidth])")
    assert [alt for alt, _ in pictures] == [figure(kind).still_alt for kind in WITH_NUMBERS]
    assert min(width for _, width in pictures) > 200
    assert page.get_by_text(figure("predict").alt).is_visible()  # what it asks is text
    assert page.get_by_text(STILL).filter(visible=True).count() == len(FIGURES)


@every_figure
def test_a_live_figure_is_small_and_brings_what_all_share_and_its_own_kind_only(kind):
    name = kind.replace("_", "-")
    assert re.findall(r'attnbook\.define\("([\w-]+)"', alive(kind)) == [name]
    assert alive(kind).count("window.attnbook ??=") == 1
    runs = "translator_data" in figure_assets.NEEDS.get(kind, ())
    weights = len(figure_assets.script("translator_data")) if runs else 0
    assert weights < 100_000 and len(alive(kind)) - weights < 100_000
    shown, _ = DisplayFormatter().format(figure(kind))
    assert shown == {"text/html": alive(kind), "text/plain": figure(kind).alt}


def test_every_kind_is_a_module_and_a_script_and_has_an_example_here():
    folder = ROOT / "code/attnbook/figures/interactive"
    modules = {path.stem for path in folder.glob("[!_]*.py")} - {"base"}
    assert modules == {*figure_assets.kinds()} == {*FIGURES}, (
        "each kind needs KIND.py and KIND.js, an example in tests/figures/examples.py, and, if it "
        "has further scripts, a line in figure_assets.NEEDS"
    )
    assert all(getattr(interactive, kind).__name__ == kind for kind in FIGURES)


def test_a_notebook_that_is_run_shows_it_alive_and_stores_it_still(show, tmp_path, monkeypatch):
    path = tmp_path / "notebook.ipynb"
    code = "from attnbook.figures import interactive\n"
    code += "interactive.clocks(d_model=4, length=3, alt='Two clocks.')"
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


def test_a_figure_follows_the_theme_around_it(show):
    page = show(alive("scale"))
    dark = "document.querySelector('[label]').hasAttribute('dark')"
    page.wait_for_function(f"!{dark}")
    for change, expected in (
        ("document.documentElement.dataset.theme = 'dark'", True),
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
  for (const next of all("button").filter((button) => button.textContent.startsWith("next")))
    while (next.ariaDisabled !== "true") {
      next.click();
      seen.push(height());
    }
  for (const token of all("[role=option], button")) {
    token.dispatchEvent(new MouseEvent("mouseenter"));
    seen.push(height());
  }
  return [...new Set(seen)];
}"""
LARGEST = interactive.token(
    *(2.5 * torch.randn(shape) for shape in ((6, 4), (4, 4), (4, 4), (4, 4))),
    tokens=["understanding"] * 6,
    alt="The largest.",
)
HEARD = interactive.heard(["dog", "bites", "man", "?"], order=[2, 1, 0, 3])


# an answer makes room for its reason, once
ALL = [*WITH_NUMBERS, "largest", "ways", "heard"]
WRAPS = {"all_heads", "asking", "two_translators"}  # rows of words, on a small tablet


@pytest.mark.parametrize(
    ("kind", "width"),
    [(k, width) for k in ALL for width in (800, 640, 390) if width != 640 or k not in WRAPS],
)
def test_a_figure_fits_and_keeps_its_height_whatever_one_does(show, kind, width):
    others = {"largest": LARGEST.to_html, "ways": examples.ways, "heard": HEARD.to_html}
    page = show(others[kind]() if kind in others else alive(kind), width=width)
    assert len(page.locator("[label]").evaluate(HEIGHTS)) == 1
    assert fits(page)
    cut = "all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)"
    assert page.locator(".flow .cell").evaluate_all(cut) == []  # numbers in cells


EYE = torch.eye(8)
EVEN = torch.full((50, 50), 1 / 50)
FIFTY = [f"token {i}" for i in range(50)]
SIZES = {  # the smallest and the largest of each kind that takes many sizes: parts, how many
    "one token": (
        lambda: interactive.attention_map(EYE[:1, :1], rows="a", columns="b", alt=""),
        ".weight",
        1,
    ),
    "fifty": (
        lambda: interactive.attention_map(EVEN, rows=FIFTY, columns=FIFTY, alt=""),
        ".weight",
        2500,
    ),
    "one pair": (lambda: interactive.clocks(d_model=2, length=2, alt=""), ".face", 1),
    "256 pairs": (lambda: interactive.clocks(d_model=512, length=500, alt=""), ".face", 4),
    "five tokens": (
        lambda: interactive.permutation(
            EYE[:5], tokens=["understanding"] * 5, positions=EYE[:5], order=range(5), alt=""
        ),
        ".bar",
        80,
    ),
}


@pytest.mark.parametrize(("draw", "part", "count"), SIZES.values(), ids=SIZES)
def test_figures_of_every_size_fit_a_telephone(show, draw, part, count):
    figure = draw().to_html()
    page = show(figure, width=390)
    assert page.locator(part).count() == count
    assert fits(page)
    assert len(figure) < 200_000


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


@pytest.mark.parametrize(
    ("kind", "group", "count"), [("token", ".flow", 50), ("transformer", ".both", 35)]
)
def test_arrow_keys_reach_every_number_and_every_part(show, kind, group, count):
    page = show(alive(kind), width=390)
    if kind == "token":
        page.locator(".names button").nth(6).click()
    assert page.locator(f"{group} button").count() == count
    assert page.locator("[label]").evaluate(REACHED.replace("SELECTOR", group)) == count


def test_data_of_a_new_kind_that_is_no_json_is_refused():
    still, _ = style.subplots()
    with pytest.raises(ValueError, match="JSON"):
        interactive.Interactive("query", {"keys": [torch.nan]}, alt="", still=still)
