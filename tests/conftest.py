"""What several test files share."""

import contextlib
import functools
import os
import sys
from pathlib import Path

import browser
import jaxtyping
import pytest
import torch
from playwright.sync_api import sync_playwright

from attnbook import pretrained

ROOT = Path(__file__).parents[1]
MODEL = "smollm2-135m-instruct"


def pytest_sessionstart() -> None:
    """Compute on one thread, and let `unshare -rn pytest` run, which cuts off every network.

    Tensors are small here, and two threads wait for each other as soon as anything else runs.
    Notebook kernels and the browser talk to this machine through loopback, so switch that on.
    """
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"  # for the commands that tests start
    if sys.platform == "linux":
        import kernels
        from pyroute2 import IPRoute, NetlinkError

        with IPRoute() as network, contextlib.suppress(NetlinkError):  # only root may, or has to
            network.link("set", index=1, state="up")
        kernels.install()


# the files that take more than half a minute, besides notebooks
LONG = (
    "test_pages.py",
    "test_exercises.py",
    "test_training.py",
    "test_interactive.py",
    "test_break_translator.py",
    "test_classroom.py",
    "test_translator.py",
    "test_pretrained.py",
)


def pytest_collection_modifyitems(items: list) -> None:
    """Put the long files first, so that the processes that share them end together."""
    items.sort(key=lambda item: (item.path.name not in LONG, item.path.suffix != ".ipynb"))
    _skip_notebooks_without_their_model(items)


def _skip_notebooks_without_their_model(items: list) -> None:
    """Skip the cells of notebooks that load the language model where it cannot be had.

    In CI they run, and fail with the line that says what is missing.
    """
    needs_model = functools.cache(lambda path: "pretrained.load(" in path.read_text("utf8"))
    for item in items:
        if item.path.suffix == ".ipynb" and needs_model(item.path) and not os.environ.get("CI"):
            reason = why_no_language_model()
            if reason is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


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
    try:
        pretrained.fetch(MODEL, progress=False)
    except (ConnectionError, OSError, ValueError) as error:
        return f"no language model: {error}"
    return None


def require_language_model() -> None:
    """Skip a test that needs the language model where it cannot be had; in CI let it fail."""
    reason = why_no_language_model()
    if reason is not None:
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def language_model_file() -> Path:
    """The file of the language model's weights."""
    require_language_model()
    return pretrained.fetch(MODEL)


@pytest.fixture(scope="session")
def language_model(language_model_file):
    """The language model and its tokenizer; nobody may change them."""
    return pretrained.load(MODEL)


@pytest.fixture
def no_shape_checks():
    """Call the package as learners do, without the checks that the tests switch on."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
