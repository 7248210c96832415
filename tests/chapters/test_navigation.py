"""How readers come from page to page: the sidebar, the reading order, search and the gallery."""

import browser
import building
import pytest
from conftest import ROOT

from attncourse.chapter import chapters, laboratory, laboratory_numbers, main_experiments

browser.skip_without()
html, open_page = building.html, building.open_page

LABS = laboratory(ROOT)
NUMBERS = laboratory_numbers(LABS)
MAIN = main_experiments(ROOT / "chapters")
LAST = chapters(ROOT)[-1]
WORKSHOP = "Can you build a GPT yourself?"  # comes after the last chapter
PROJECTS = "What could you find out?"


def texts(page, selector):
    return [text.strip() for text in page.locator(selector).all_inner_texts()]


def page_of(path):
    return path.relative_to(ROOT).with_suffix(".html").as_posix()


def test_what_one_needs_comes_first_then_chapters_reference_and_the_laboratory_as_one_entry(
    open_page,
):
    page = open_page("chapters/index.html")
    entries = texts(page, ".bd-docs-nav a")
    assert entries[:2] == ["What you need first", "Attention in ten minutes"]
    assert [entry.split(" ")[0] for entry in entries[2:-9]] == [
        str(n + 1) for n in range(len(chapters(ROOT)))
    ]
    assert entries[-9:-7] == [WORKSHOP, PROJECTS]
    assert entries[-7] == "Questions" and entries[-1] == "The laboratory in pictures"
    assert texts(page, ".bd-docs-nav .caption")[-2:] == ["Reference", "Laboratory"]


def test_the_laboratory_of_a_chapter_is_in_the_sidebar_of_this_chapter_and_of_its_own_pages(
    open_page,
):
    own = [f"{NUMBERS[path]} · " for path in LABS if path.name.startswith("09-")]
    assert own[2] == "9.3 · "
    for name in ("09-translating", "lab/09-beam"):
        page = open_page(f"chapters/{name}.html")
        entries = texts(page, ".bd-docs-nav li li a")
        assert len(entries) == len(own)
        assert all(map(str.startswith, entries, own))
        assert page.locator(".bd-docs-nav [aria-current=page]").count() == 1
        marked = page.locator(".bd-docs-nav .main-experiment").all()
        assert len(marked) == sum(name.startswith("09-") for name in MAIN)
    assert not texts(open_page("chapters/glossary.html"), ".bd-docs-nav li li a")


@pytest.mark.parametrize("path", LABS[-2:], ids=lambda path: path.stem)
def test_a_page_of_the_laboratory_is_titled_by_its_number(html, path):
    page = (html / page_of(path)).read_text("utf8")
    assert f"<title>{NUMBERS[path]} · " in page and f"<h1>{NUMBERS[path]} · " in page
    assert "Lab 11 ·" not in page


def around(page):
    """The titles of the pages before and after one."""
    return [page.inner_text(f".{side} .prev-next-title") for side in ("left-prev", "right-next")]


def test_one_reads_chapter_after_chapter_and_the_laboratory_of_a_chapter_and_back(open_page):
    front = around(open_page("chapters/00-ten-minutes.html"))
    assert front[0] == "What you need first" and front[1].startswith("1 · ")
    assert around(open_page(page_of(LAST)))[1] == WORKSHOP
    assert around(open_page("chapters/your-own-gpt.html"))[1] == PROJECTS
    assert around(open_page("chapters/projects.html"))[1] == "Questions"
    before, after = around(open_page("chapters/09-translating.html"))
    assert before.startswith("8 · ") and after.startswith("10 · ")
    first, *_, last = [path for path in LABS if path.name.startswith("09-")]
    before, after = around(open_page(page_of(first)))
    assert before.startswith("9 · ") and after.startswith("9.2 · ")
    page = open_page(page_of(last))
    assert around(page)[1] == "Back to chapter 9"
    page.click(".right-next")
    assert page.url.endswith("09-translating.html")


@pytest.mark.parametrize(
    ("query", "chapter"),
    [
        ("why divide by sqrt d", 3),
        ("KV cache", 10),
        ("what is a query", 2),
        ("flash attention", 10),
        ("multi-head", 7),
        ("positional encoding", 6),
        ("softmax", 4),
        ("what is attention", 0),
    ],
)
def test_search_ranks_first_the_chapter_that_answers(open_page, query, chapter):
    page = open_page("search.html")
    page.goto(f"{page.url}?q={query}")
    first = page.locator("ul.search > li > a").first  # results appear in their order
    assert first.get_attribute("href").startswith(f"chapters/{chapter:02d}-")


IN_VIEW = """() => {
  const entry = document.querySelector("[aria-current=page]");
  const { top, bottom } = entry.getBoundingClientRect();
  return 0 <= top && bottom <= innerHeight && entry.checkVisibility();
}"""


def test_the_entry_of_a_page_is_in_view_wherever_the_sidebar_was_before(open_page):
    page = open_page("chapters/index.html")
    start = page.url.rpartition("/")[0]
    for name in ("laboratory", "prerequisites", "lab/11-layers", "00-ten-minutes", "glossary"):
        page.goto(f"{start}/{name}.html")
        page.wait_for_timeout(100)
        assert page.evaluate(IN_VIEW), name
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    page.click(".primary-toggle")
    page.wait_for_timeout(100)
    assert page.evaluate(IN_VIEW)


BEFORE = """() => [...document.querySelectorAll("a[href], button, input, summary, [tabindex='0']")]
    .filter(e => e.checkVisibility())
    .filter(e => e.compareDocumentPosition(document.querySelector("article")) & 4).length"""


def test_little_stands_between_a_keyboard_and_the_text_and_one_link_skips_it(open_page):
    page = open_page("chapters/09-translating.html")
    assert page.evaluate(BEFORE) <= 45
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent.trim()") == "Skip to main content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("!!document.activeElement.closest('main')")


def test_the_gallery_has_a_picture_for_each_experiment_and_shows_one_chapter_without_scripts(
    chromium, html
):
    context = chromium.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((html / "chapters/laboratory.html").as_uri())
    main = [path for path in LABS if path.stem in MAIN]
    others = [path for path in LABS if path not in main]
    assert page.locator("ul.gallery > li").count() == len(LABS)
    cards = page.locator("ul.gallery:not(.others) > li").all()
    rows = page.locator("ul.gallery.others > li").all()
    assert texts(page, "p.rank")[:2] == ["Main experiments", "Other experiments"]
    for card, path in zip([*cards, *rows], [*main, *others], strict=True):
        assert card.inner_text().startswith(f"{NUMBERS[path]} · ")
        assert card.locator("a").get_attribute("href") == f"lab/{path.stem}.html"
        picture = card.locator("img")
        assert picture.get_attribute("loading") == "lazy" and picture.get_attribute("alt")
        file = html / "chapters" / picture.get_attribute("src")
        assert 1000 < file.stat().st_size < 40_000
    assert page.locator("ul.gallery > li:visible").count() == len(LABS)
    page.get_by_label("9", exact=True).check()
    shown = texts(page, "ul.gallery > li:visible .question")
    assert [text.partition(" · ")[0] for text in shown] == [
        NUMBERS[path] for path in [*main, *others] if path.name.startswith("09-")
    ]
    context.close()
