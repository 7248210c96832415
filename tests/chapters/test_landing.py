"""The page that the book opens with: a picture on the first screen, a card for each chapter."""

import browser
import building
import nbformat
import pytest
from building import HOME
from conftest import ROOT

from attncourse.chapter import chapters, studies, title

browser.skip_without()
html, open_page = building.html, building.open_page
LANDING = "chapters/index.html"
FRONT = next(path for path in studies(ROOT) if path.name.startswith("00-"))


def bottom(part):
    box = part.bounding_box()
    return box["y"] + box["height"]


def test_title_sentence_two_ways_in_and_the_whole_picture_stand_on_the_first_screen(open_page):
    page = open_page(LANDING)
    article = page.locator("article")
    ways = article.locator("section > ul").first.locator("a")
    assert [way.get_attribute("href").partition(".")[0] for way in ways.all()] == [
        FRONT.stem,
        chapters(ROOT)[0].stem,
    ]
    assert page.get_by_role("heading", level=1).is_visible()
    hero = page.locator("attnbook-hero")
    parts = [article.locator("p").first, ways.first, hero]
    ends = [bottom(part) for part in parts]
    assert ends == sorted(ends) and ends[-1] < 900
    box = hero.bounding_box()
    assert box["width"] > 1000 and 380 < box["height"] < 480
    assert page.locator("attnbook-break-translator").count() == 0, "the form is in chapter 9"


@pytest.mark.parametrize(("width", "columns"), [(1400, 3), (800, 2), (390, 1)])
def test_each_chapter_has_a_card_that_is_a_link_with_a_picture_of_its_own(
    open_page, width, columns
):
    page = open_page(LANDING, width=width)
    cards = page.locator("ul.cards > li")
    expected = [("Attention in ten minutes", FRONT)]
    for path in chapters(ROOT):
        expected.append((title(nbformat.read(path, as_version=4))[1], path))
    assert cards.count() == len(expected)
    for card, (question, path) in zip(cards.all(), expected, strict=True):
        link = card.get_by_role("link")
        assert link.get_attribute("href") == f"{path.stem}.html"
        assert link.locator(".question").inner_text() == question
        assert link.locator("svg[viewBox='0 0 320 200']").is_visible()
        room, box = card.bounding_box(), link.bounding_box()
        assert box == room, "all of it is the link"
    lefts = {round(card.bounding_box()["x"]) for card in cards.all()}
    assert len(lefts) == columns


def test_the_buttons_that_the_page_names_are_there(open_page):
    page = open_page(LANDING)
    text = page.locator("article").inner_text()
    assert "Google Colab" in text and "GitHub icon" in text
    assert page.locator(".bd-header-article a[href^='https://colab']").count() == 1
    assert page.locator(f".bd-header-article a[href='{HOME}']").count() == 1


def test_without_scripts_the_whole_picture_stands(chromium, html):
    context = chromium.new_context(offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto((html / LANDING).as_uri())
    assert page.locator("attnbook-hero img").is_visible()
    context.close()
