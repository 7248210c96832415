"""What pages have beyond the theme: chapters/_ext/html_postprocess.py, styles and scripts."""

import re
from pathlib import Path

import browser
import building
import nbformat
import pytest
from building import NAMES, SCALING
from conftest import ROOT
from PIL import Image
from playwright.sync_api import expect

from attncourse.chapter import TITLE, chapters

browser.skip_without()
html, open_page = building.html, building.open_page

PUBLISHED = "https://ada.github.io/attention-step-by-step/"


@pytest.fixture(scope="module")
def scaling(open_page):
    """A chapter with all there is, for the tests that look at one page."""
    return open_page(SCALING)


@pytest.fixture(scope="module", params=["light", "dark"])
def schemed(request, open_page):
    """The same chapter in either colour scheme, which it has as its attribute."""
    page = open_page(SCALING, scheme=request.param)
    page.scheme = request.param
    return page


def test_the_style_sheet_has_the_icons_that_pages_show_and_few_others(html):
    sheet = (html / "_static/styles/pydata-sphinx-theme.css").read_text("utf8")
    kept = {*re.findall(r"\.(fa-[\w-]+):before", sheet)}
    shown = [(html / name).read_text("utf8") for name in NAMES]
    icons = {*re.findall(r"<(?:i|span) class=\"fa-\w+ (fa-[\w-]+)", "".join(shown))}
    assert icons and icons <= kept
    assert len(kept) < 100


def test_figures_and_reports_have_the_colours_of_the_page(schemed):
    assert schemed.evaluate("document.documentElement.dataset.theme") == schemed.scheme
    figures = schemed.query_selector_all("div.cell_output img:not([src*=still])")
    assert figures
    for figure in figures:
        assert figure.get_attribute("alt")
        filter = figure.evaluate("e => getComputedStyle(e).filter")
        assert filter.startswith("invert" if schemed.scheme == "dark" else "none")
    report = schemed.query_selector(".attnbook-report")
    own = report.evaluate("e => getComputedStyle(e).color")
    assert own == schemed.evaluate("getComputedStyle(document.body).color")
    box = report.evaluate("e => getComputedStyle(e.parentElement).backgroundColor")
    assert box == "rgba(0, 0, 0, 0)"
    figure = schemed.query_selector("attnbook-scale")
    ground = figure.evaluate("e => getComputedStyle(e.parentElement).backgroundColor")
    assert ground == "rgba(0, 0, 0, 0)"
    assert figure.evaluate("e => e.hasAttribute('dark')") == (schemed.scheme == "dark")


def test_the_scripts_of_pages_say_what_their_sources_say(open_page):
    """A minifier had dropped spaces of templates within templates."""
    page = open_page("chapters/09-translating.html")
    said = page.locator("attnbook-break-translator .said").first
    expect(said).to_have_text("The translator writes “quatre cent quatre-vingt-un”, which is 481.")


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
    assert figure.locator("img").is_visible() and figure.locator("p").is_visible()
    assert figure.locator("img").evaluate("e => e.naturalWidth") > 300
    assert "data:image/png" not in (html / SCALING).read_text("utf8")  # it is a file of its own
    context.close()


def test_the_map_of_the_transformer_links_to_chapters_by_their_titles(open_page):
    page = open_page("chapters/index.html")
    figure = page.locator("attnbook-transformer")
    found = {}
    for box in figure.locator(".box").all():
        box.dispatch_event("click")
        found |= dict(figure.locator(".more a").evaluate_all("a => a.map(a => [a.href, a.text])"))
    titles = {
        path.stem: TITLE.match(nbformat.read(path, as_version=4).cells[0].source)
        for path in chapters(ROOT)
    }
    assert len(found) > 8
    for link, text in found.items():
        title = titles[Path(link).stem]
        assert text == f"Chapter {title['number']} · {title['question']}"


PICTURES = (  # but those that are blurred, or in an interactive figure
    ":is(img[src*=_images], svg.attnbook):not(.glimpse > *, [src*=still])"
)


def test_a_picture_leads_to_its_file(scaling, html):
    links = scaling.query_selector_all("div.cell_output a:has(> img, > svg)")
    assert len(links) == len(scaling.query_selector_all(PICTURES)) > 3
    for link in links:
        target = html / "chapters" / link.get_attribute("href")
        assert target.read_bytes().startswith((b"\x89PNG", b"<svg "))


def test_the_letters_of_a_plot_are_as_large_as_the_pages(scaling, html):
    """A plot has 12 points at 120 pixels an inch, the page 16 pixels: 12 points at 96."""
    plot = scaling.query_selector("div.cell_output a > img[src$='.png']")
    with Image.open(html / "chapters" / plot.get_attribute("src")) as file:
        pixels = file.width
    assert plot.evaluate("e => e.naturalWidth") == pytest.approx(pixels * 96 / 120, abs=1)


def test_solutions_are_folded_and_open(scaling):
    solution = scaling.locator("details", has_text="Solution 3.2").first
    code = solution.locator(".highlight-python")
    assert not code.is_visible()
    solution.locator("summary").click()
    assert code.is_visible() and "def scaled_scores" in code.inner_text()
    assert code.locator(".copybtn").count() == 1
    solution.locator("summary").click()


def test_a_laboratory_page_shows_what_came_out_before_its_experiment(open_page):
    page = open_page("chapters/lab/05-bag.html")
    headings = page.locator("article h2").evaluate_all("all => all.map(h => h.firstChild.data)")
    assert headings[:2] == ["What came out", "The experiment"]
    fold = page.locator("details.experiment")
    assert fold.count() == 1
    assert re.fullmatch(r"The experiment, \d{2,3} lines", fold.locator("summary").inner_text())
    code = fold.locator("pre").first
    assert not code.is_visible()
    fold.locator("summary").press("Enter")
    assert code.is_visible()


def test_the_setup_cell_is_not_on_the_page_and_the_rocket_opens_the_chapter_on_colab(scaling):
    text = scaling.inner_text("article")
    assert "pip install" not in text and "google.colab" not in text
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


def test_beside_a_figure_stands_its_caption_and_in_its_corner_a_switch_for_its_code(scaling):
    cell = scaling.locator(".cell.tag_hide-input:has(svg.attnbook)").first
    figure, caption, switch = (
        cell.locator(part) for part in ("svg.attnbook", ".caption", "summary")
    )
    drawn, told, small = (part.bounding_box() for part in (figure, caption, switch))
    assert told["x"] >= drawn["x"] + drawn["width"], "in the margin"
    assert small["y"] <= drawn["y"] and small["x"] >= drawn["x"] + drawn["width"] - 40
    assert switch.inner_text() == "code", "its name"
    assert 24 <= small["height"] < 30 and small["width"] < 80
    assert not cell.locator("pre").is_visible()
    switch.press("Enter")
    assert cell.locator("pre").is_visible()
    switch.press("Enter")


def test_on_a_telephone_the_switch_for_the_code_covers_no_plot(open_page):
    page = open_page(SCALING, width=390)
    cells = page.locator("div.cell.tag_hide-input:has(a.picture > img)").all()
    seen = [cell for cell in cells if cell.locator("img").is_visible()]
    assert seen
    for cell in seen:
        plot, switch = (cell.locator(part).bounding_box() for part in ("img", "summary"))
        assert switch["y"] + switch["height"] <= plot["y"]


def test_the_first_figure_of_a_chapter_begins_on_the_first_screen(open_page):
    page = open_page("chapters/08-blocks.html")
    facts = page.locator("details.facts > div")
    assert facts.locator("> p").count() == 3, "time, needs and aims"
    assert facts.locator("details").count() == 1, "the imports"
    figure = page.locator("article").locator("svg.attnbook, .frame").first
    assert figure.bounding_box()["y"] < 450


def test_a_page_of_figures_without_a_chapters_number_has_their_captions_too(open_page):
    page = open_page("chapters/prerequisites.html")
    captions = page.locator(
        ".cell.tag_hide-input:has(img, svg.attnbook) > .caption"
    ).all_inner_texts()
    assert [caption.split(". ")[0] for caption in captions] == [f"Figure {i}" for i in range(1, 7)]


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
