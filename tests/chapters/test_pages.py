"""The built pages in a browser: offline, accessible, legible at every width, light and dark."""

import functools
import gzip
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse
from pathlib import Path

import browser
import nbformat
import pytest
from conftest import ROOT, one_window
from PIL import Image

from attnbook.figures import interactive
from attnbook.figures.interactive import without_script
from attncourse.address import set_repository

browser.skip_without()

NAMES = [
    path.relative_to(ROOT).with_suffix(".html").as_posix()
    for pattern in ("*.ipynb", "*.md", "lab/*.ipynb")
    for path in sorted((ROOT / "chapters").glob(pattern))
]
SCALING = "chapters/03-scaling.html"
HOME = "https://github.com/ada/attention-step-by-step"
PUBLISHED = "https://ada.github.io/attention-step-by-step/"


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Build a book into a folder, with every warning an error and no torch to be had."""
    without_torch = tmp_path_factory.mktemp("without") / "torch.py"
    without_torch.write_text("raise ImportError('a page that is built needs no torch')")
    path = os.pathsep.join([str(without_torch.parent), os.environ.get("PYTHONPATH", "")])

    def run(book):
        jupyter_book = Path(sys.executable).with_name("jupyter-book")
        command = [str(jupyter_book), "build", str(book), "-W", "-n", "--keep-going"]
        environment = os.environ | {"PYTHONPATH": path}
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert result.returncode == 0, result.stdout + result.stderr
        return book / "_build/html"

    return run


def copy_settings(book):
    """What a book needs beside its chapters."""
    shutil.copy(ROOT / "_config.yml", book)
    for name in ("_ext", "_static", "_templates"):
        shutil.copytree(ROOT / "chapters" / name, book / "chapters" / name, dirs_exist_ok=True)


@pytest.fixture(scope="session")
def html(tmp_path_factory, build):
    """The pages of a published copy."""
    book = tmp_path_factory.mktemp("book")
    shutil.copy(ROOT / "_toc.yml", book)
    unwanted = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
    shutil.copytree(ROOT / "chapters", book / "chapters", ignore=unwanted)
    copy_settings(book)
    set_repository(book, HOME)
    return build(book)


@functools.cache
def compressed(path):
    return gzip.compress(path.read_bytes())


@pytest.fixture(scope="session")
def address(html):
    class Host(http.server.SimpleHTTPRequestHandler):
        """Sends text compressed, as every host does."""

        def do_GET(self):
            path = Path(self.translate_path(self.path))
            kind = self.guess_type(path)
            if not path.is_file() or not re.search("text|javascript|json|svg", kind):
                super().do_GET()
                return
            text = compressed(path)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *arguments):
            pass

    handler = functools.partial(Host, directory=html)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def open_page(context, html):
    """Open pages from the file system; collect what they ask for and what goes wrong."""

    def open_one(name, *, width=1400, scheme="light", page=None):
        page = page or watch(context.new_page())
        page.asked, page.trouble = [], []
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.goto((html / name).as_uri())
        if page.query_selector(".math"):
            page.evaluate("MathJax.startup.promise")
        return page

    return open_one


def watch(page):
    """Collect the addresses that a page asks for, and what it complains of."""
    page.asked, page.trouble = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("console", lambda m: m.type in ("error", "warning") and page.trouble.append(m.text))
    page.on("pageerror", lambda error: page.trouble.append(str(error)))
    return page


@pytest.fixture(scope="module")
def online(chromium):
    """A browser that reaches the pages' host."""
    context = one_window(chromium)
    yield context
    context.close()


@pytest.fixture(scope="module", params=[*NAMES, "search.html", "genindex.html"])
def name(request):
    """Every page in turn; what looks at the same page runs together, so that it is opened once."""
    return request.param


@pytest.fixture(scope="module")
def telephone(context):
    """A tab for one page after the other."""
    page = watch(context.new_page())
    yield page
    page.close()


@pytest.fixture(scope="module")
def page(open_page, telephone, name):
    """The page on a telephone at night."""
    return open_page(name, width=390, scheme="dark", page=telephone)


@pytest.fixture(scope="module")
def scaling(open_page):
    """A chapter with all there is, for the tests that look at one page."""
    page = open_page(SCALING)
    yield page
    page.close()


@pytest.fixture(scope="module", params=["light", "dark"])
def schemed(request, open_page):
    """The same chapter in either colour scheme, which it has as its attribute."""
    page = open_page(SCALING, scheme=request.param)
    page.scheme = request.param
    yield page
    page.close()


def test_all_maths_is_rendered(page):
    unset = page.evaluate(
        """[...document.querySelectorAll('div.math, span.math')]
             .filter(formula => !formula.querySelector('mjx-container'))
             .map(formula => formula.textContent)"""
    )
    assert unset == []
    assert page.query_selector_all("mjx-merror, [data-mjx-error]") == []
    assert "$" not in page.inner_text("main")


def test_every_interactive_figure_works_by_scripts_of_the_page_and_no_other_comes(page, html, name):
    source = (html / name).read_text("utf8")
    figures = re.findall(r"<attnbook-([\w-]+) label=", source)
    found = re.findall(r'<script src="\S*_static/(interactive[\w-]*)\.js\?v=\w+">', source)
    kinds = sorted({kind.replace("-", "_") for kind in figures})
    assert found == (["interactive", *(f"interactive-{kind}" for kind in kinds)] if kinds else [])
    assert "attnbook.define" not in source
    assert page.locator(".frame[role=group]").count() == len(figures)


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1400, "dark")])
def test_what_stands_around_the_text_has_contrast_in_the_other_scheme_too(open_page, width, scheme):
    page = open_page("chapters/index.html", width=width, scheme=scheme)
    assert browser.violations(page, "color-contrast") == []
    page.close()


def test_a_telephone_never_scrolls_sideways(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_formulas_on_a_telephone_start_where_one_can_read_them(page, html, name):
    starts = page.evaluate(
        """[...document.querySelectorAll('div.math mjx-math')].map(
             m => m.getBoundingClientRect().left)"""
    )
    assert len(starts) == (html / name).read_text("utf8").count('<div class="math')
    assert all(start >= 0 for start in starts)


def test_on_a_telephone_code_keeps_its_lines_and_scrolls_in_its_own_box(page):
    """Python in two lines where one was meant looks wrong."""
    boxes = page.evaluate(
        """[...document.querySelectorAll('.cell_input pre')]
             .filter(code => code.checkVisibility())
             .map(code => [getComputedStyle(code).whiteSpace, code.scrollWidth > code.clientWidth,
                           code.tabIndex])"""
    )
    assert {space for space, *_ in boxes} <= {"pre"}
    assert {index for _, wide, index in boxes if wide} <= {0}, "not to be scrolled by keyboard"


def test_on_a_telephone_no_token_shape_or_number_with_its_spread_ends_in_another_line(page):
    broken = page.evaluate(
        """[...document.querySelectorAll('article :is(td, em, code, span)')]
             .filter(e => e.checkVisibility() && !e.closest('pre, [hidden]')
               && !e.querySelector('.math') && !e.closest('.math'))
             .filter(e => {
               const token = /^(-[a-z]+|\\([\\w, ]{1,28}\\)|[-−]?[\\d.]+ ?[±–] ?[\\d.]+)$/;
               return token.test(e.textContent.trim());
             })
             .filter(e => {
               const texts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
               const tops = new Set();
               const words = document.createRange();
               while (texts.nextNode()) {
                 words.selectNodeContents(texts.currentNode);
                 for (const box of words.getClientRects()) tops.add(Math.round(box.top));
               }
               return tops.size > 1;
             })
             .map(e => e.textContent)"""
    )
    assert broken == []


def test_no_mark_of_emphasis_is_left_in_the_text(html, name):
    article = (html / name).read_text("utf8").partition("<article")[2].partition("</article>")[0]
    unread = r"<(pre|code|script|style)\b.*?</\1>|<(span|div) class=\"math.*?</\2>|<[^>]*>"
    text = re.sub(unread, "", article, flags=re.S)
    assert re.findall(r".{0,40}\*.{0,40}", text) == []


def test_the_number_of_a_formula_is_seen_on_a_telephone(page):
    cut = page.evaluate(
        """[...document.querySelectorAll('div.math:has(mjx-labels)')]
             .filter(formula => formula.scrollWidth > formula.clientWidth)
             .map(formula => formula.querySelector('math mtd').textContent)"""
    )
    assert cut in ([], ["(1.5)"])  # three formulas in one line


def test_no_formula_within_a_line_is_cut_off_on_a_telephone(page):
    """The theme hides what is wider than the text: such a formula has to be written as two."""
    cut = page.evaluate(
        """[...document.querySelectorAll('article span.math:has(mjx-container)')]
             .filter(formula => formula.checkVisibility())
             .filter(formula => formula.querySelector('mjx-math').getBoundingClientRect().right
               > formula.getBoundingClientRect().right + 1)
             .map(formula => formula.textContent)"""
    )
    assert cut == []


def test_a_page_weighs_at_most_a_megabyte_without_mathjax(page):
    files = {Path(urllib.parse.urlparse(url).path) for url in page.asked if "/mathjax/" not in url}
    weights = {file.name: file.stat().st_size for file in files}
    assert {"book.css", "book.js"} < {*weights}
    assert sum(weights.values()) <= 1_000_000, weights


def test_a_page_makes_no_network_request_and_logs_no_error(page):
    assert page.asked
    assert [url for url in page.asked if not url.startswith(("file:", "data:"))] == []
    assert page.trouble == []
    assert page.title()


# Of a thousand tokens of code and formulas one of each kind stays: axe-core finds the same in all
# of them, and needs three times as long.
KEEP_ONE_OF_EACH_KIND = """
  const kinds = new Set();
  for (const item of document.querySelectorAll(".highlight pre span, mjx-container")) {
    const kind = `${item.localName} ${item.className} ${item.getAttribute("display")}`;
    if (kinds.has(kind)) item.replaceWith(item.textContent);
    kinds.add(kind);
  }
"""


def test_axe_finds_nothing_on_a_telephone_at_night_nor_on_a_wide_screen_by_day(page, name):
    """The last test of a page, which it changes."""
    page.evaluate(KEEP_ONE_OF_EACH_KIND)
    assert browser.violations(page) == []
    if "/lab/" in name:  # nothing stands there that no chapter has
        return
    page.evaluate("document.querySelectorAll('book-veil').forEach(veil => veil.see())")
    page.set_viewport_size({"width": 1400, "height": 900})
    page.emulate_media(color_scheme="light")
    page.wait_for_timeout(500)  # the theme looks a moment later which boxes scroll now
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert browser.violations(page) == []
    assert page.trouble == []


def test_figures_blend_into_the_page(schemed):
    assert schemed.evaluate("document.documentElement.dataset.theme") == schemed.scheme
    figures = schemed.query_selector_all("div.cell_output img:not([src^=data])")
    assert figures
    for figure in figures:
        assert figure.get_attribute("alt")
        filter = figure.evaluate("e => getComputedStyle(e).filter")
        assert filter.startswith("invert" if schemed.scheme == "dark" else "none")


def test_reports_of_exercises_have_the_pages_colours(schemed):
    report = schemed.query_selector(".attnbook-report")
    own = report.evaluate("e => getComputedStyle(e).color")
    assert own == schemed.evaluate("getComputedStyle(document.body).color")
    box = report.evaluate("e => getComputedStyle(e.parentElement).backgroundColor")
    assert box == "rgba(0, 0, 0, 0)"


def test_interactive_figures_stand_on_the_pages_ground_and_follow_its_theme(schemed):
    figure = schemed.query_selector("attnbook-scale")
    ground = figure.evaluate("e => getComputedStyle(e.parentElement).backgroundColor")
    assert ground == "rgba(0, 0, 0, 0)"
    assert figure.evaluate("e => e.hasAttribute('dark')") == (schemed.scheme == "dark")


def test_a_page_is_printed_as_a_light_one(schemed):
    theme = "document.documentElement.dataset.theme"
    schemed.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert schemed.evaluate(theme) == "light"
    schemed.evaluate("dispatchEvent(new Event('afterprint'))")
    assert schemed.evaluate(theme) == schemed.scheme


def test_without_scripts_a_still_picture_stands_with_a_sentence(without_scripts, html):
    page = without_scripts.new_page()
    page.goto((html / SCALING).as_uri())
    figure = page.locator("attnbook-scale")
    assert figure.locator("img").is_visible()
    assert "allow scripts" in figure.inner_text()


def test_a_picture_leads_to_its_file(scaling, html):
    links = scaling.query_selector_all("div.cell_output a:has(> img)")
    assert len(links) == len(scaling.query_selector_all("img[src*=_images]")) > 3
    for link in links:
        target = html / "chapters" / link.get_attribute("href")
        assert target.read_bytes().startswith((b"\x89PNG", b"<svg "))


def test_the_letters_of_a_plot_are_as_large_as_the_pages(scaling, html):
    """A plot has 12 points at 120 pixels an inch, the page 16 pixels: 12 points at 96."""
    plot = scaling.query_selector("div.cell_output img[src$='.png']")
    with Image.open(html / "chapters" / plot.get_attribute("src")) as file:
        pixels = file.width
    assert plot.evaluate("e => e.naturalWidth") == pytest.approx(pixels * 96 / 120, abs=1)


def test_solutions_are_folded_and_open(scaling):
    solution = scaling.locator("details.hide", has_text="Show the solution").first
    inside = solution.locator("text=check(").first
    assert not inside.is_visible()
    place = solution.locator("summary p").first.bounding_box()["x"]
    solution.locator("summary").click()
    assert inside.is_visible()
    switch = solution.locator("summary p", has_text="Hide the solution")
    assert switch.bounding_box()["x"] == place  # it does not move under the pointer
    assert "@title" not in solution.inner_text(), "of use on Colab only"
    solution.locator("summary").click()


def test_a_long_cell_shows_its_beginning_until_one_asks(open_page):
    page = open_page("chapters/lab/02-no-maps.html")
    cell = page.locator(".cell_input:has(> .fold)").first
    switch, code = cell.get_by_role("checkbox"), cell.locator("pre")
    assert re.fullmatch(r"Show all \d+ lines", cell.locator("label").inner_text())

    def height():
        return code.evaluate("e => e.clientHeight")

    short = height()
    switch.press("Enter")
    assert height() > 1.5 * short
    assert cell.locator("label").inner_text() == "Show less"
    switch.press("Space")
    assert height() == short
    page.close()


def test_the_summary_is_a_table(scaling):
    rows = scaling.query_selector_all("section[id='what-we-measured'] table tr")
    assert len(rows) > 4


def test_the_setup_cell_is_not_on_the_page(scaling):
    text = scaling.inner_text("article")
    assert "pip install" not in text and "google.colab" not in text


def test_the_rocket_opens_the_chapter_on_colab(scaling):
    link = scaling.query_selector("a[href*='colab.research.google.com']")
    assert link.get_attribute("href").endswith("/blob/main/chapters/03-scaling.ipynb")


def test_print_has_the_whole_text_and_nothing_that_one_could_only_click(open_page):
    page = open_page(SCALING)
    page.emulate_media(media="print")
    assert not page.locator("details.hide").first.is_visible()
    assert not page.locator("button.copybtn").first.is_visible()
    assert page.locator("#exercises").is_visible()
    code = page.locator(".cell_input pre").first
    assert code.evaluate("e => e.scrollWidth <= e.clientWidth")
    page.close()


def test_search_finds_a_word(online, address):
    page = watch(online.new_page())
    page.goto(f"{address}/search.html?q=temperature")
    page.wait_for_selector("ul.search li a")
    links = [a.get_attribute("href") for a in page.query_selector_all("ul.search a")]
    assert any("03-scaling.html" in link for link in links)
    assert page.trouble == []
    page.close()


def test_the_style_sheet_has_the_icons_that_pages_show_and_few_others(html, name):
    sheet = (html / "_static/styles/pydata-sphinx-theme.css").read_text("utf8")
    kept = {*re.findall(r"\.(fa-[\w-]+):before", sheet)}
    icons = {
        *re.findall(r"<(?:i|span) class=\"fa-\w+ (fa-[\w-]+)", (html / name).read_text("utf8"))
    }
    assert icons and icons <= kept
    assert len(kept) < 100


def cell(code, *tags, **shown):
    """A cell that was run: its code, its tags, and what it shows, by the name of the format."""
    outputs = []
    for kind, text in shown.items():
        if kind == "stdout":
            outputs.append(nbformat.v4.new_output("stream", name=kind, text=text))
        else:
            data = {f"text/{kind}": text}
            outputs.append(nbformat.v4.new_output("display_data", data=data))
    return nbformat.v4.new_code_cell(code, metadata={"tags": [*tags]}, outputs=outputs)


def asking(figure):
    """A prediction as it is stored."""
    return cell("predict()", "hide-input", "predict", html=without_script(figure.to_html()))


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """A book of two pages, without a home, that have what a page can have."""
    book = tmp_path_factory.mktemp("small")
    copy_settings(book)
    (book / "_toc.yml").write_text(
        "format: jb-book\nroot: chapters/page\nchapters:\n  - file: chapters/choice\n"
    )
    text = nbformat.v4.new_markdown_cell
    table = "| design | seeds | range |\n|---|---|---|\n| one | 5 | −0.3 to 1 |\n| two | ✗ | 7 % |"
    x_or_y = interactive.predict(options={"X": "For X.", "Y": "For Y."}, right="Y")
    page = [
        text("# A page\n\nWith all there is."),
        cell("confirm()", "hide-input", "verify", stdout="✓ equal to PyTorch's (to 1e-06)\n"),
        cell("table()", "hide-input", markdown=table),
        text("## Questions\n\n> **Predict.** X or Y?"),
        asking(x_or_y),
        text("The first result.\n\n> **Predict.** And now, X or Y?"),
        asking(x_or_y),
        cell("1 + 1", stdout="The second result."),
        text("## Another section\n\nIts text."),
    ]
    options = "- **A** Neither.\n- **B** The first, but not $x$.\n- **C** Both."
    choice = [
        text("# A choice\n\nIt is made by button."),
        text(f"## One\n\n### Exercise 2.0 ★☆☆ · 2 min\n\nWhich one?\n\n{options}"),
        asking(interactive.predict("2.0")),
        cell('check("2.0", ...)', "exercise", stdout="not attempted"),
        cell('check("2.0", "B")', "solution", "hide-cell", stdout="solved"),
        cell("train()", stdout="The way to it."),
        cell("plot()", "hide-input", "answer", stdout="The answer."),
        text("*Figure 2.1. What it shows.*\n\nWhat it means."),
        text("What follows.\n\n## Two\n\n> **Predict.** X or Y?"),
        asking(x_or_y),
        cell("1 + 1", "answer", stdout="Another answer."),
        text("## Three\n\nThe end."),
    ]
    for name, cells in {"page": page, "choice": choice}.items():
        metadata = {"language_info": {"name": "python"}}
        notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
        nbformat.write(notebook, book / f"chapters/{name}.ipynb")
    return book


@pytest.fixture(scope="session")
def pages(small, build):
    return build(small) / "chapters"


def test_until_the_book_has_a_home_no_button_leads_there(pages):
    page = (pages / "page.html").read_text("utf8")
    body = page[page.index("<body") :]
    assert not re.search(r'href="[^"]*(owner\.invalid|colab)', body)


@pytest.fixture
def open_alone(context, tmp_path):
    """Open a file in a browser that remembers nothing of others."""
    opened = []

    def open_one(path, *, start="", width=1400):
        page = watch(context.new_page())
        opened.append(page)
        page.set_viewport_size({"width": width, "height": 900})
        page.add_init_script(start)
        page.goto(path.as_uri())
        return page

    (tmp_path / "empty.html").touch()
    context.pages[0].goto((tmp_path / "empty.html").as_uri())
    context.pages[0].evaluate("localStorage.clear()")  # all files share it
    yield open_one
    for page in opened:
        page.close()


@pytest.fixture(scope="module")
def without_scripts(chromium):
    context = one_window(chromium, offline=True, java_script_enabled=False)
    yield context
    context.close()


@pytest.mark.parametrize("width", [390, 1400])
def test_what_was_checked_is_one_small_line_with_the_code_behind_a_switch_in_it(
    open_alone, pages, width
):
    page = open_alone(pages / "page.html", width=width)
    checked = page.locator(".tag_verify")
    line, switch = checked.locator(".cell_output pre"), checked.locator("summary")
    before = switch.bounding_box()
    assert checked.bounding_box()["height"] < 40
    assert before["x"] > line.bounding_box()["x"] + line.bounding_box()["width"] - 1
    assert not checked.locator(".cell_input").is_visible()
    switch.press("Enter")
    assert checked.locator(".cell_input").is_visible()
    assert switch.bounding_box() == before
    assert checked.locator(".cell_input").bounding_box()["y"] > before["y"] + 10


def test_a_table_of_results_has_its_numbers_under_each_other_and_one_rule(open_alone, pages):
    page = open_alone(pages / "page.html")
    cells = page.locator(".cell_output td, .cell_output th").evaluate_all(
        "cells => cells.map(cell => [cell.innerText, getComputedStyle(cell).textAlign])"
    )
    right = {text for text, align in cells if align == "right"}
    assert right == {"seeds", "range", "5", "−0.3 to 1", "✗", "7 %"}
    grounds = page.locator("article tr").evaluate_all(
        "rows => rows.map(row => getComputedStyle(row).backgroundColor)"
    )
    assert {*grounds} == {"rgba(0, 0, 0, 0)"}


BOX = "The result is behind your prediction."


def seen(page, *texts):
    """Those of the texts that can be seen."""
    return [
        text
        for text in texts
        if any(place.is_visible() for place in page.get_by_text(text, exact=True).all())
    ]


ANSWER = ["The way to it.", "The answer.", "Figure 2.1. What it shows.", "What it means."]


@pytest.fixture
def choosing(open_alone, pages):
    """A page with two predictions, in a browser that has not seen it."""
    return open_alone(pages / "choice.html")


def test_a_choice_names_the_misconception_and_shows_its_result_whole_and_alone(choosing):
    assert seen(choosing, *ANSWER, "Another answer.", "What follows.") == ["What follows."]
    assert (
        choosing.locator(".tag_exercise, .tag_solution").count() == 0
    )  # buttons are there instead
    assert choosing.get_by_text("predict()").count() == 0  # this code would tell
    question = choosing.locator("attnbook-predict").first
    choosing.evaluate("window.MathJax.startup.promise")
    assert choosing.locator("[slot=B] mjx-container").is_visible()
    before = question.bounding_box()
    question.get_by_role("button", name="C Both.").press("Enter")
    said = question.locator(".said").inner_text()
    assert said.startswith("✗ Not so: “more training cures everything”. This assumes")
    assert seen(choosing, *ANSWER, "Another answer.") == ANSWER
    assert [box.is_visible() for box in choosing.get_by_text(BOX).all()] == [False, True]
    assert question.bounding_box()["y"] == before["y"]
    assert choosing.trouble == []


def test_a_result_is_seen_without_predicting_and_the_keyboard_stays_there(choosing):
    button = choosing.locator(".veil-box button").first
    assert button.inner_text() == "Show without predicting"
    button.press("Enter")
    assert seen(choosing, *ANSWER, "Another answer.") == ANSWER
    assert not button.is_visible()
    assert choosing.evaluate("document.activeElement.getAttribute('aria-label')") == "The result"
    assert "The answer." in choosing.evaluate("document.activeElement.innerText")


def test_results_are_shown_always_once_one_has_asked_for_it_on_every_page(choosing, pages):
    def switch():
        return choosing.get_by_role("checkbox", name="Show all results, always").last

    choosing.set_viewport_size({"width": 390, "height": 400})
    switch().evaluate("input => input.scrollIntoView({ behavior: 'instant', block: 'center' })")
    place = switch().bounding_box()["y"]
    switch().press("Space")
    assert seen(choosing, *ANSWER, "Another answer.") == [*ANSWER, "Another answer."]
    assert abs(switch().bounding_box()["y"] - place) < 2
    choosing.goto((pages / "page.html").as_uri())
    assert seen(choosing, "The first result.", "The second result.", BOX) == [
        "The first result.",
        "The second result.",
    ]
    assert switch().is_checked()
    switch().press("Space")
    assert seen(choosing, "The first result.", "The second result.") == []
    choosing.goto((pages / "choice.html").as_uri())
    assert seen(choosing, *ANSWER, "Another answer.") == []


def test_where_nothing_may_be_stored_the_switch_works_for_the_page(open_alone, pages):
    forbidden = "Object.defineProperty(window, 'localStorage', { get() { throw new Error(); } });"
    page = open_alone(pages / "choice.html", start=forbidden)
    assert seen(page, *ANSWER) == []
    page.get_by_role("checkbox", name="Show all results, always").first.check()
    assert seen(page, *ANSWER, "Another answer.") == [*ANSWER, "Another answer."]


def test_search_in_the_page_print_and_readers_without_scripts_reach_a_result(
    choosing, without_scripts, pages
):
    choosing.emulate_media(media="print")
    assert seen(choosing, *ANSWER) == ANSWER
    assert not choosing.locator(".veil-box").first.is_visible()
    choosing.emulate_media(media="screen")
    assert seen(choosing, *ANSWER) == []
    hidden = choosing.locator("book-veil").evaluate_all("veils => veils.map(veil => veil.hidden)")
    assert hidden == ["until-found"] * 2
    # as search does with what it has found
    choosing.get_by_text("The answer.").dispatch_event("beforematch")
    assert seen(choosing, *ANSWER, "Another answer.") == ANSWER
    still = without_scripts.new_page()
    still.goto((pages / "choice.html").as_uri())
    texts = [*ANSWER, "Another answer.", "Both."]
    assert seen(still, *texts, BOX) == texts


def test_without_cells_that_answer_a_veil_reaches_to_the_next_heading_and_holds_others(
    open_alone, pages
):
    page = open_alone(pages / "page.html")
    texts = ["The first result.", "The second result.", "Its text."]
    buttons = page.get_by_role("button", name="X")
    assert buttons.count() == page.get_by_role("button", name="Show without").count() == 1
    assert seen(page, *texts) == texts[2:]
    buttons.click()
    assert seen(page, *texts) == [texts[0], texts[2]]
    buttons.nth(1).click()
    assert seen(page, *texts) == texts


@pytest.mark.parametrize("start", ["", "delete HTMLElement.prototype.onbeforematch"])
def test_a_place_behind_two_veils_is_reached_by_a_link(open_alone, pages, start):
    page = open_alone(pages / "page.html", start=start)
    place = page.get_by_text("The second result.")
    place.evaluate("place => place.id = 'there'")
    assert not place.is_visible()
    page.evaluate("location.hash = 'there'")
    page.wait_for_function("!document.querySelector('book-veil[hidden]')")
    assert place.is_visible()


def test_one_setting_builds_the_book_without_veils(small, pages, build, open_alone, tmp_path):
    book = shutil.copytree(small, tmp_path / "book")
    settings = book / "_config.yml"
    text = settings.read_text("utf8")
    settings.write_text(text.replace("veil_results: true", "veil_results: false"))
    page = open_alone(build(book) / "chapters/choice.html")
    assert seen(page, *ANSWER, BOX) == ANSWER
    page.get_by_role("button", name="X").click()
    assert page.locator(".said").last.inner_text() == "✗ Not so. For X."
    assert page.trouble == []


def test_under_a_figure_stands_its_caption_and_then_a_small_switch_for_its_code(scaling):
    cell = scaling.locator(".cell.tag_hide-input:has(img)").first
    figure, caption, switch = (cell.locator(part) for part in ("img", ".caption", "summary"))

    def span(part):
        box = part.bounding_box()
        return box["y"], box["y"] + box["height"]

    assert span(figure)[1] <= span(caption)[0] < span(caption)[1] <= span(switch)[0]
    assert switch.inner_text() == "code"
    assert switch.bounding_box()["height"] < 30 and switch.bounding_box()["width"] < 80
    assert not cell.locator("pre").is_visible()
    switch.press("Enter")
    assert cell.locator("pre").is_visible()
    switch.press("Enter")


def test_the_chapters_stand_in_parts(scaling):
    parts = scaling.locator("nav.bd-links p.caption").all_inner_texts()
    chapters = ["Attention", "Order", "The Transformer", "In the world"]
    assert parts == [*chapters, "Laboratory", "Reference"]


def test_the_first_screen_says_what_attention_is_and_where_to_go(open_page):
    page = open_page("chapters/index.html")
    first = page.locator("article p").first
    assert first.locator("strong").inner_text() == "Attention"
    doors = page.locator("article ul").first.locator("li")
    assert doors.locator("strong").all_inner_texts() == ["Read.", "Run.", "Teach."]
    written = page.locator("attnbook-break-translator").get_by_text("cent", exact=True).first
    above = first.bounding_box(), doors.last.bounding_box(), written.bounding_box()
    ends = [box["y"] + box["height"] for box in above]
    assert ends == sorted(ends) and ends[-1] < 900
    page.close()


def test_the_first_figure_of_a_chapter_begins_on_the_first_screen(open_page):
    page = open_page("chapters/08-blocks.html")
    facts = page.locator(".facts")
    texts = facts.locator("> p").all_inner_texts()
    begins = ("Time:", "You need first:", "Afterwards you can")
    assert all(text.startswith(begin) for text, begin in zip(texts, begins, strict=True))
    assert facts.locator("details").count() == 1, "the imports"
    figure = page.locator("attnbook-transformer .frame").first
    assert figure.bounding_box()["y"] < 700
    page.close()


def test_a_page_of_figures_without_a_chapters_number_has_their_captions_too(open_page):
    page = open_page("chapters/prerequisites.html")
    captions = page.locator(".cell.tag_hide-input:has(img) > .caption").all_inner_texts()
    assert [caption.split(". ")[0] for caption in captions] == [f"Figure {i}" for i in range(1, 7)]
    page.close()


def test_a_search_engine_finds_every_page_once_and_whole_addresses(html):
    sitemap = (html / "sitemap.xml").read_text("utf8")
    found = re.findall("<loc>(.*?)</loc>", sitemap)
    assert sorted(found) == sorted(f"{PUBLISHED}{name}" for name in NAMES)
    titles, descriptions = set(), set()
    for name in NAMES:
        head = (html / name).read_text("utf8").split("</head>")[0]
        canonical = f'<link rel="canonical" href="{PUBLISHED}{name}" />'
        assert canonical in head
        titles.add(re.search("<title>(.*?)</title>", head)[1])
        meta = dict(re.findall(r'<meta \w+="([^"]+)" content="([^"]*)"', head))
        assert meta["og:url"] == PUBLISHED + name
        card = meta["og:image"].removeprefix(PUBLISHED)
        assert (html / card).stat().st_size > 10_000
        assert 100 < len(meta["description"]) <= 203
        assert not re.search(r"[\\$]|owner", meta["description"]), name
        descriptions.add(meta["description"])
    assert len(titles) == len(descriptions) == len(NAMES)


SLOW = {  # "slow 4G" of Lighthouse: 1.6 Mbit/s, 150 ms
    "offline": False,
    "latency": 150,
    "downloadThroughput": 1.6e6 / 8,
    "uploadThroughput": 0.75e6 / 8,
}
WATCH_SHIFTS = """
  window.shift = 0;
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) window.shift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
"""
# what must have come before anything is painted: the page, its style sheets, its scripts
BEFORE_THE_FIRST_PAINT = """
  ["navigation", "resource"].flatMap(type => performance.getEntriesByType(type))
    .filter(entry => entry.entryType === "navigation" || entry.renderBlockingStatus === "blocking")
    .map(entry => entry.encodedBodySize)
"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(
    "name",
    [
        "chapters/index.html",  # a figure on the first screen
        "chapters/02-queries-keys-values.html",  # veils
        "chapters/04-softmax.html",  # the most formulas
        "chapters/09-translating.html",  # the most figures
        "chapters/teaching.html",  # wide tables
    ],
)
def test_a_page_is_readable_soon_and_does_not_jump_on_a_slow_connection(
    online, address, name, width
):
    page = watch(online.new_page())
    page.set_viewport_size({"width": width, "height": 900})
    page.add_init_script(WATCH_SHIFTS)
    session = online.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    session.send("Network.emulateNetworkConditions", SLOW)
    page.goto(f"{address}/{name}")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)  # for what is set in place at last
    sizes = page.evaluate(BEFORE_THE_FIRST_PAINT)
    assert len(sizes) > 4
    # not the clock of a machine that may be busy: two round trips, then the bytes
    seconds = 2 * SLOW["latency"] / 1000 + sum(sizes) / SLOW["downloadThroughput"]
    assert seconds < 1.5
    assert page.evaluate("window.shift") < 0.1
    assert [url for url in page.asked if not url.startswith((address, "data:"))] == []
    assert page.trouble == []
    page.close()
