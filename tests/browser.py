"""Chromium and axe-core, for the tests of pages and of figures."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from attncourse.chromium import CHROMIUM as PROGRAM

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
AXE = Path(__file__).parent / "node_modules/axe-core/axe.min.js"  # package.json has the version


_bounding_box = Locator.bounding_box


def _box_once_drawn(self: Locator, **options) -> dict[str, float]:
    """Its box, also if a figure has just replaced it, as figures do for a new size.

    Playwright has found the old one then, and gives None, as it does for what is hidden.
    """
    for _ in range(40):
        if (box := _bounding_box(self, **options)) is not None:
            return box
        self.page.wait_for_timeout(25)
    raise AssertionError(f"{self} is hidden")


Locator.bounding_box = _box_once_drawn


def skip_without() -> None:
    """Skip the module that calls this; in CI a missing browser is an error instead."""
    if PROGRAM is None and not os.environ.get("CI"):
        pytest.skip("needs Chromium: apt-get install chromium", allow_module_level=True)


def skip_without_axe() -> None:
    """Skip the test that calls this, before it changes a page; in CI it fails instead."""
    if not AXE.exists() and not os.environ.get("CI"):
        pytest.skip("needs axe-core: npm ci --prefix tests")


def violations(page: Page, *only: str) -> list[tuple[str, list[str]]]:
    """What axe-core finds wrong by all its rules, or some: each rule with its first elements."""
    skip_without_axe()
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text("utf8"))
    # no rule in use looks into style sheets, which a page from the file system may not read
    options = {"resultTypes": ["violations"], "preload": False} | (
        {"runOnly": only} if only else {}
    )
    found = page.evaluate("options => axe.run(document, options)", options)
    return [
        (rule["id"], [node["html"][:200] for node in rule["nodes"][:3]])
        for rule in found["violations"]
    ]
