"""Chromium, for the tests of pages and of figures."""

import os

import pytest

from attnbook.course.pdf import CHROMIUM as PROGRAM

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def skip_without() -> None:
    """Skip the module that calls this; in CI a missing browser is an error instead."""
    if PROGRAM is None and not os.environ.get("CI"):
        pytest.skip("needs Chromium: apt-get install chromium", allow_module_level=True)
