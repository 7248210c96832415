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
from conftest import ROOT

from attnbook.course.address import set_repository

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
            text = gzip.compress(path.read_bytes())
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
def context(chromium):
    """A browser whose network is cut: it can open files only."""
    context = chromium.new_context(offline=True)
    yield context
    context.close()


@pytest.fixture(scope="module")
def open_page(context, html):
    """Open pages from the file system; collect what they ask for and what goes wrong."""

    def open_one(name, *, width=1400, scheme="light"):
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        watch(page)
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


@pytest.fixture(scope="module", params=[*NAMES, "search.html", "genindex.html"])
def name(request):
    """Every page in turn; what looks at the same page runs together, so that it is opened once."""
    return request.param


@pytest.fixture(scope="module")
def page(open_page, name):
    """The page on a telephone at night."""
    page = open_page(name, width=390, scheme="dark")
    yield page
    page.close()


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


def test_every_interactive_figure_works_by_one_script_of_the_page(page, html, name):
    source = (html / name).read_text("utf8")
    figures = len(re.findall(r"<attnbook-[\w-]+ label=", source))
    scripts = re.findall(r'<script src="\S*_static/interactive\.js\?v=\w+">', source)
    assert len(scripts) == (1 if figures else 0)
    assert "attnbook.define" not in source
    assert page.locator(".frame[role=group] summary").count() == figures


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


def test_axe_finds_nothing_on_a_telephone_at_night_nor_on_a_wide_screen_by_day(page):
    """The last test of a page, which it changes."""
    page.evaluate(KEEP_ONE_OF_EACH_KIND)
    assert browser.violations(page) == []
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


def test_without_scripts_a_still_picture_stands_with_a_sentence(chromium, html):
    context = chromium.new_context(offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto((html / SCALING).as_uri())
    figure = page.locator("attnbook-scale")
    assert figure.locator("img").is_visible()
    assert "allow scripts" in figure.inner_text()
    context.close()


def test_a_picture_leads_to_its_file(scaling, html):
    links = scaling.query_selector_all("div.cell_output a:has(> img)")
    assert len(links) == len(scaling.query_selector_all("img[src*=_images]")) > 3
    for link in links:
        target = html / "chapters" / link.get_attribute("href")
        assert target.read_bytes().startswith(b"\x89PNG")


def test_solutions_are_folded_and_open(scaling):
    solution = scaling.locator("details.hide", has_text="Show the solution").first
    inside = solution.locator("text=check(").first
    assert not inside.is_visible()
    solution.locator("summary").click()
    assert inside.is_visible()
    assert solution.locator("summary").inner_text() == "Hide the solution"
    solution.locator("summary").click()


def test_a_long_cell_shows_its_beginning_until_one_asks(scaling):
    cell = scaling.locator(".cell_input:has(> .fold)").first
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


def test_search_finds_a_word(chromium, address):
    page = chromium.new_page()
    watch(page)
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


def test_until_the_book_has_a_home_no_button_leads_there(tmp_path, build):
    copy_settings(tmp_path)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: chapters/page\n")
    title = nbformat.v4.new_markdown_cell("# A page")
    nbformat.write(nbformat.v4.new_notebook(cells=[title]), tmp_path / "chapters/page.ipynb")
    page = (build(tmp_path) / "chapters/page.html").read_text("utf8")
    body = page[page.index("<body") :]
    assert not re.search(r'href="[^"]*(owner\.invalid|colab)', body)


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
        "chapters/04-softmax.html",  # the most formulas
        "chapters/09-translating.html",  # the most figures
        "chapters/teaching.html",  # wide tables
    ],
)
def test_a_page_is_readable_soon_and_does_not_jump_on_a_slow_connection(
    chromium, address, name, width
):
    context = chromium.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    watch(page)
    page.add_init_script(WATCH_SHIFTS)
    session = context.new_cdp_session(page)
    session.send("Network.enable")
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
    context.close()
