"""The browser that draws and photographs what readers see."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

from attncourse import UsageError

# Playwright starts a browser of its own, if it has one, where there is none of these.
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@contextmanager
def new_page(to: str, **options) -> Iterator[Page]:
    """An empty page of Chromium, with Playwright's options for a page.

    Raises ``UsageError`` if there is no Chromium; the message names what it is needed ``to`` do.
    """
    if CHROMIUM is None:
        raise UsageError(f"Chromium is needed to {to}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser.new_page(**options)
        browser.close()
