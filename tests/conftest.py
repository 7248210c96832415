"""What several test files share."""

import functools
import os
import re
from pathlib import Path

import browser
import jaxtyping
import kernels
import pytest
from playwright.sync_api import sync_playwright

from model.conftest import no_shape_checks, pytest_sessionstart

__all__ = ["no_shape_checks", "pytest_sessionstart"]  # for all tests, as for those of the model

ROOT = Path(__file__).parents[1]
MODELS = "smollm2-135m-instruct", "all-minilm-l6-v2"


def pytest_configure() -> None:
    """Check the shapes in annotations at every call, in the modules of the package that have some.

    In all modules, it would make the exercises take twice as long.
    """
    code = ROOT / "code"
    annotated = [
        ".".join(path.relative_to(code).with_suffix("").parts)
        for path in (code / "attnbook").rglob("*.py")
        if re.search("^from jaxtyping import", path.read_text("utf8"), re.M)
    ]
    jaxtyping.install_import_hook(annotated, "beartype.beartype")
    kernels.use_forks()


def pytest_collection_modifyitems(items: list) -> None:
    """Put files into the order in which they begin, and skip what needs the language model.

    One file builds the book, which takes half a minute. The others that need its pages begin later,
    so that they do not wait. Where the language model cannot be had, notebooks that load it are
    skipped; in CI they run, and fail with the line that says what is missing.
    """
    need_pages = {item.path for item in items if "html" in getattr(item, "fixturenames", ())}

    def turn(item: pytest.Item) -> int:
        if item.path.name == "test_pages.py":
            return 0
        return 1 if item.path.parent.name == "course" else 2 if item.path in need_pages else 3

    items.sort(key=turn)
    for item in items:
        if item.path.suffix == ".ipynb" and (models := loaded_in(item.path)):
            kernels.MODELS |= models
            if not os.environ.get("CI") and (reason := why_no_language_model()) is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


@functools.cache
def loaded_in(notebook: Path) -> set[str]:
    """The names of the trained models that a notebook loads."""
    text = notebook.read_text("utf8")
    return {model for model in MODELS if model in text} if "pretrained.load(" in text else set()


@pytest.fixture(scope="session")
def chromium():
    """A browser without a window."""
    with sync_playwright() as playwright:
        program = playwright.chromium.launch(executable_path=browser.PROGRAM, args=browser.FLAGS)
        yield program
        program.close()


def one_window(chromium, **options):
    """A context with a page that stays open, so that all its others are tabs of one window.

    A new window takes Chromium as much time as all that a small test does in it.
    """
    context = chromium.new_context(**options)
    context.new_page()
    return context


@pytest.fixture(scope="session")
def context(chromium):
    """A browser whose network is cut: it can open files only."""
    context = one_window(chromium, offline=True)
    yield context
    context.close()


@pytest.fixture
def root() -> Path:
    """The repository's root."""
    return ROOT


@functools.cache
def why_no_language_model() -> str | None:
    """Fetch the language model, once; in a line what is missing if it cannot be had."""
    from attnbook import pretrained

    try:
        for model in MODELS:
            pretrained.fetch(model, progress=False)
    except (ConnectionError, OSError, ValueError) as error:
        return f"no language model: {error}"
    return None
