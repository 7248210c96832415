"""Build a book as its readers get it, and open its pages, for the tests of pages."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from conftest import ROOT
from filelock import FileLock

from attncourse.address import set_repository

NAMES = [
    path.relative_to(ROOT).with_suffix(".html").as_posix()
    for pattern in ("*.ipynb", "*.md", "lab/*.ipynb")
    for path in sorted((ROOT / "chapters").glob(pattern))
]
SCALING = "chapters/03-scaling.html"
HOME = "https://github.com/ada/attention-step-by-step"


def build(book):
    """Build with every warning an error and no torch to be had; return the folder of the pages."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "torch.py").write_text("raise ImportError('building pages needs no torch')")
        path = os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])
        jupyter_book = Path(sys.executable).with_name("jupyter-book")
        command = [str(jupyter_book), "build", str(book), "-W", "-n", "--keep-going"]
        environment = os.environ | {"PYTHONPATH": path}
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    return book / "_build/html"


def copy_settings(book):
    """What a book needs beside its chapters."""
    shutil.copy(ROOT / "_config.yml", book)
    for name in ("_ext", "_static", "_templates"):
        shutil.copytree(ROOT / "chapters" / name, book / "chapters" / name, dirs_exist_ok=True)


def watch(page):
    """Collect the addresses that a page asks for, and what it complains of."""
    page.asked, page.trouble = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("console", lambda m: m.type in ("error", "warning") and page.trouble.append(m.text))
    page.on("pageerror", lambda error: page.trouble.append(str(error)))
    return page


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    """The pages of a published copy of the book, which all files of one test run share.

    A file takes them by ``html = building.html``.
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    pages = shared / "pages"
    with FileLock(shared / "book.lock"):
        if not pages.exists():
            book = tmp_path_factory.mktemp("book")
            for name in ("_toc.yml", "README.md"):
                shutil.copy(ROOT / name, book)
            unwanted = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
            shutil.copytree(ROOT / "chapters", book / "chapters", ignore=unwanted)
            copy_settings(book)
            set_repository(book, HOME)
            build(book).rename(pages)
    return pages


@pytest.fixture(scope="module")
def open_page(context, html):
    """Open pages from the file system; those that are still open at a file's end are closed."""
    opened = []

    def open_one(name, *, width=1400, scheme="light"):
        page = watch(context.new_page())
        opened.append(page)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.goto((html / name).as_uri())
        page.evaluate("document.fonts.ready")
        return page

    yield open_one
    for page in opened:
        page.close()
