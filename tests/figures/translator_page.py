"""The breakable translator on a page, and how to use and to read it, for its tests."""

import contextlib
import html
import re

import pytest
from conftest import one_window

from attnbook.data import NumberDataset
from attnbook.figures import interactive
from attnbook.translator import NUMBERS_TO_FRENCH, Translator

NUMBERS = NumberDataset("en", "fr", below=100_000)
TRANSLATOR = Translator.load(NUMBERS_TO_FRENCH)


@contextlib.contextmanager
def pages(context):
    """A function that opens the figure in a page; at the end, nothing may have gone wrong."""
    opened = []

    def show(*arguments, frame=False, width=800, book=False, **options):
        page = context.new_page()
        opened.append(page)
        page.trouble = []
        page.on("console", lambda m: page.trouble.append(m.text))
        page.on("pageerror", lambda error: page.trouble.append(str(error)))
        page.set_viewport_size({"width": width, "height": 900})
        body = interactive.break_translator(*arguments, **options).to_html()
        if frame:
            body = f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(body)}" height=900 />'
        of_book = "data-content_root=../" if book else ""  # as Sphinx marks its pages
        page.set_content(
            f"<!doctype html><html lang=en {of_book}><title>x</title><main>{body}</main>"
        )
        place = page.frame_locator("iframe") if frame else page
        place.locator(".verdict:not(:empty)").wait_for()  # the first number is written
        return page

    yield show
    for page in opened:
        # some Chromium says, at any time, that a sandboxed frame may not write to the clipboard
        assert [text for text in page.trouble if "clipboard" not in text.lower()] == []
        page.close()


@pytest.fixture(scope="module")
def still(chromium):
    """A browser of somebody who wants no motion: numbers are written at once."""
    context = one_window(chromium, offline=True, reduced_motion="reduce")
    yield context
    context.close()


@pytest.fixture
def show(still):
    """Open the figure in a page of this test's own."""
    with pages(still) as show:
        yield show


def french(page):
    """The tokens that it has written."""
    return [re.sub(r"\s", "", text) for text in page.locator(".french button").all_inner_texts()]


def french_of(number):
    """The tokens that are right."""
    return [*NUMBERS.target.split(NUMBERS.texts(number)[1]), "⟨end⟩"]


def type_in(page, text):
    page.get_by_label("A number below 100,000").fill(text)
    page.keyboard.press("Enter")


def said(page):
    return page.locator(".said").inner_text().replace("\u2011", "-").replace("\u00a0", " ")


def measure(page, guess="0 to 20"):
    """Measure, after a prediction where one is asked for; what it then says."""
    page.get_by_role("button", name="Measure on 200").click()
    if page.locator(".guess button").count():
        page.get_by_role("button", name=guess, exact=True).click()
    page.locator(".guess", has_text="of 200 right,").wait_for(timeout=60_000)
    return page.locator(".guess").inner_text().replace("\u00a0", " ")
