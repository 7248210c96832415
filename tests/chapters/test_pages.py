"""The built pages in a browser: offline, accessible, legible at every width, light and dark."""

import functools
import gzip
import http.server
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse
from pathlib import Path

import browser
import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import ROOT

from attnbook.course.address import set_repository

browser.skip_without()

NAMES = [
    path.relative_to(ROOT).with_suffix(".html").as_posix()
    for pattern in ("*.ipynb", "*.md")
    for path in sorted((ROOT / "chapters").glob(pattern))
]
HOME = "https://github.com/ada/attention-step-by-step"
PUBLISHED = "https://ada.github.io/attention-step-by-step/"
every_scheme = pytest.mark.parametrize("scheme", ["light", "dark"])


def build(book, out):
    """The folder of the pages, built afresh with every warning an error."""
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    command = [str(jupyter_book), "build", str(book)]
    command += ["--path-output", str(out), "-W", "-n", "--keep-going", "--all"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return out / "_build/html"


@pytest.fixture(scope="session")
def html(tmp_path_factory):
    """The pages of a published copy."""
    book = tmp_path_factory.mktemp("book")
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, book)
    unwanted = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
    shutil.copytree(ROOT / "chapters", book / "chapters", ignore=unwanted)
    set_repository(book, HOME)
    return build(book, book)


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
def opener(chromium, address):
    """Open pages with the network beyond this machine cut; collect what goes wrong."""

    def open_one(name, *, width=1280, scheme="light"):
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        page = context.new_page()
        page.trouble, page.strangers, page.weights = [], [], {}
        page.on("console", lambda m: m.type in ("error", "warning") and page.trouble.append(m.text))
        page.on("pageerror", lambda error: page.trouble.append(str(error)))

        def pass_only_local(route):
            url = route.request.url
            if url.startswith((address, "file:", "data:")):
                route.continue_()
            else:
                page.strangers.append(url)
                route.abort()

        page.route("**/*", pass_only_local)
        page.on("response", lambda r: page.weights.update({r.url: r}))
        response = page.goto(name if "://" in name else f"{address}/{name}")
        assert response.ok, name
        page.wait_for_load_state("networkidle")
        if "$" in page.inner_text("body") or page.query_selector(".math"):
            page.wait_for_selector("mjx-container")
            page.evaluate("MathJax.startup.promise")
        return page

    return open_one


@pytest.fixture
def open_page(opener):
    """Open pages for one test."""
    pages = []

    def open_one(*arguments, **options):
        pages.append(opener(*arguments, **options))
        return pages[-1]

    yield open_one
    for page in pages:
        page.context.close()


@pytest.fixture(scope="module", params=[*NAMES, "search.html", "genindex.html"])
def name(request):
    """Every page in turn; what looks at the same page runs together, so that it is opened once."""
    return request.param


@pytest.fixture(scope="module")
def wide(opener, name):
    page = opener(name)
    yield page
    page.context.close()


@pytest.fixture(scope="module")
def wide_dark(opener, name):
    page = opener(name, scheme="dark")
    yield page
    page.context.close()


@pytest.fixture(scope="module")
def telephone(opener, name):
    page = opener(name, width=390)
    yield page
    page.context.close()


def test_a_page_asks_nobody_else_and_logs_no_error(wide):
    page = wide
    assert page.strangers == []
    assert page.trouble == []
    assert page.title()


def test_all_maths_is_rendered_also_from_the_file_system(wide, open_page, html, name):
    for page in (wide, open_page((html / name).as_uri())):
        for formula in page.query_selector_all("div.math, span.math"):
            assert formula.query_selector("mjx-container"), formula.inner_text()
        assert page.query_selector_all("mjx-merror, [data-mjx-error]") == []
        assert "$" not in page.inner_text("main")


@pytest.mark.parametrize("opened", ["wide", "wide_dark", "telephone"])
def test_axe_finds_nothing_serious(request, name, opened):
    page = request.getfixturevalue(opened)
    options = {"resultTypes": ["violations"]}
    # nothing but contrast depends on the scheme, nor contrast on the width
    if opened.endswith("dark"):
        options["runOnly"] = ["color-contrast"]
    found = [
        (violation["id"], [node["html"][:200] for node in violation["nodes"][:3]])
        for violation in Axe().run(page, options=options).response["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
    assert found == []


def test_a_telephone_never_scrolls_sideways(telephone):
    assert telephone.evaluate("document.documentElement.scrollWidth") <= 390


def test_formulas_on_a_telephone_start_where_one_can_read_them(telephone):
    starts = telephone.evaluate(
        """[...document.querySelectorAll('div.math mjx-math')].map(
             m => m.getBoundingClientRect().left)"""
    )
    assert all(start >= 0 for start in starts)


@every_scheme
def test_figures_blend_into_the_page(open_page, scheme):
    page = open_page("chapters/03-scaling.html", scheme=scheme)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    figures = page.query_selector_all("div.cell_output img:not([src^=data])")
    assert figures
    for figure in figures:
        assert figure.get_attribute("alt")
        filter = figure.evaluate("e => getComputedStyle(e).filter")
        assert filter.startswith("invert" if scheme == "dark" else "none")


def test_a_figure_leads_to_its_picture(open_page, html):
    page = open_page("chapters/03-scaling.html")
    links = page.query_selector_all("div.cell_output a:has(> img)")
    assert len(links) == len(page.query_selector_all("img[src*=_images]")) > 3
    for link in links:
        target = html / "chapters" / link.get_attribute("href")
        assert target.read_bytes().startswith(b"\x89PNG")


@every_scheme
def test_reports_of_exercises_have_the_pages_colours(open_page, scheme):
    page = open_page("chapters/03-scaling.html", scheme=scheme)
    report = page.query_selector(".attnbook-report")
    own = report.evaluate("e => getComputedStyle(e).color")
    assert own == page.evaluate("getComputedStyle(document.body).color")
    box = report.evaluate("e => getComputedStyle(e.parentElement).backgroundColor")
    assert box == "rgba(0, 0, 0, 0)"


def test_the_figures_of_a_page_share_one_script(open_page, html):
    name = "chapters/09-translating.html"
    assert (html / name).read_text("utf8").count("customElements.define") == 6
    page = open_page(name)
    for figure in ("attnbook-map", "attnbook-decoding"):
        assert page.locator(f"{figure} summary").count() == 1


@every_scheme
def test_figures_to_touch_stand_on_the_pages_ground_and_follow_its_theme(open_page, scheme):
    page = open_page("chapters/01-looking-back.html", scheme=scheme)
    figure = page.query_selector("attnbook-map")
    ground = figure.evaluate("e => getComputedStyle(e.parentElement).backgroundColor")
    assert ground == "rgba(0, 0, 0, 0)"
    assert figure.evaluate("e => e.hasAttribute('dark')") == (scheme == "dark")


def test_solutions_are_folded_and_open(open_page):
    page = open_page("chapters/03-scaling.html")
    solution = page.locator("details.hide", has_text="Show the solution").first
    inside = solution.locator("text=check(").first
    assert not inside.is_visible()
    solution.locator("summary").click()
    assert inside.is_visible()


def test_a_long_cell_shows_its_beginning_until_one_asks(open_page):
    page = open_page("chapters/03-scaling.html")
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


def test_the_summary_is_a_table(open_page):
    page = open_page("chapters/03-scaling.html")
    rows = page.query_selector_all("section[id='what-we-measured'] table tr")
    assert len(rows) > 4


def test_the_setup_cell_is_not_on_the_page(open_page):
    text = open_page("chapters/03-scaling.html").inner_text("article")
    assert "pip install" not in text and "google.colab" not in text


def test_search_finds_a_word(open_page):
    page = open_page("search.html?" + urllib.parse.urlencode({"q": "temperature"}))
    page.wait_for_selector("ul.search li a")
    links = [a.get_attribute("href") for a in page.query_selector_all("ul.search a")]
    assert any("03-scaling.html" in link for link in links)
    assert page.trouble == []


def test_the_rocket_opens_the_chapter_on_colab(open_page):
    page = open_page("chapters/03-scaling.html")
    link = page.query_selector("a[href*='colab.research.google.com']")
    assert link.get_attribute("href").endswith("/blob/main/chapters/03-scaling.ipynb")


def test_until_the_book_has_a_home_no_button_leads_there(tmp_path):
    html = build(ROOT, tmp_path)
    for name in NAMES:
        page = (html / name).read_text("utf8")
        body = page[page.index("<body") :]
        assert not re.search(r'href="[^"]*(owner\.invalid|colab)', body), name


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


@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_is_readable_soon_and_does_not_jump_on_a_slow_connection(
    chromium, address, name, width
):
    context = chromium.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.add_init_script(WATCH_SHIFTS)
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", SLOW)
    page.goto(f"{address}/{name}")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)  # for what is set in place at last
    paint = "performance.getEntriesByName('first-contentful-paint')[0]"
    assert page.evaluate(f"{paint}.startTime") < 3000  # milliseconds
    assert page.evaluate("window.shift") < 0.1
    context.close()


def test_a_page_weighs_at_most_a_megabyte_without_mathjax(wide):
    weights = {
        url: len(response.body())
        for url, response in wide.weights.items()
        if "/mathjax/" not in url
    }
    assert sum(weights.values()) <= 1_000_000, weights


def test_a_dark_page_is_printed_as_a_light_one(open_page):
    page = open_page("chapters/03-scaling.html", scheme="dark")
    theme = "document.documentElement.dataset.theme"
    assert page.evaluate(theme) == "dark"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(theme) == "light"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(theme) == "dark"


def test_print_has_the_whole_text_and_nothing_that_one_could_only_click(open_page):
    page = open_page("chapters/03-scaling.html")
    page.emulate_media(media="print")
    assert not page.locator("details.hide").first.is_visible()
    assert not page.locator("button.copybtn").first.is_visible()
    assert page.locator("#exercises").is_visible()
    code = page.locator(".cell_input pre").first
    assert code.evaluate("e => e.scrollWidth <= e.clientWidth")
