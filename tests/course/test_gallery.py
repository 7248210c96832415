"""The page of the laboratory has each experiment with its number, its question and its result."""

import re

import nbformat
import pytest
from conftest import ROOT
from nbformat.v4 import new_markdown_cell, new_notebook

from attncourse import UsageError
from attncourse.chapter import chapters, laboratory, seen_from_chapters
from attncourse.pages import gallery

PAGE = (ROOT / "chapters/laboratory.md").read_text("utf8")
PATHS = {path: nbformat.read(path, as_version=4) for path in chapters(ROOT) + laboratory(ROOT)}


def beginning(number, text):
    return new_notebook(cells=[new_markdown_cell(f"# {number} · Why?\n\n> **Result.** {text}")])


def test_every_laboratory_notebook_is_on_the_page_once_with_its_result():
    found = re.findall(r"^- ([\d.]+) · \[[^]]+\]\((lab/[^)]+)\) (.+)$", PAGE, re.M)
    labs = {path: book for path, book in PATHS.items() if path in laboratory(ROOT)}
    assert [link for _, link, _ in found] == [seen_from_chapters(path) for path in labs]
    assert [said for *_, said in found] == [gallery.result(*lab) for lab in labs.items()]
    assert {number for number, *_ in found} >= {"1.1", "9.3", "11.8"}


@pytest.mark.parametrize(
    "said",
    [
        "Little.",
        r"It is. All 20 learn if divided by $\sqrt{d}$.",
        "It gives up 0.5 nats at most, e.g. in one of them.",
    ],
)
def test_a_result_is_its_first_sentence_or_two_if_that_is_very_short(root, said):
    more = " Some more." if len(said) > gallery.SHORT else ""
    assert gallery.result(root, beginning("Lab 3", said + more)) == said


def test_a_laboratory_notebook_without_a_result_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"03-roots\.ipynb: the first cell needs .*Result"):
        gallery.result(
            tmp_path / "lab/03-roots.ipynb",
            new_notebook(cells=[new_markdown_cell("# Lab 3 · Why?")]),
        )


def test_experiments_are_numbered_by_their_order_below_their_chapter(tmp_path):
    names = "01-one", "lab/01-c", "lab/01-a", "02-two", "03-three", "lab/03-b"
    books = {
        tmp_path / f"{name}.ipynb": beginning(
            f"{'Lab ' * ('lab' in name)}{int(name.removeprefix('lab/')[:2])}", "It does. Some more."
        )
        for name in names
    }
    assert gallery.gallery(books) == (
        "## 1 · [Why?](01-one.ipynb)\n\n"
        "- 1.1 · [Why?](lab/01-c.ipynb) It does. Some more.\n"
        "- 1.2 · [Why?](lab/01-a.ipynb) It does. Some more.\n\n"
        "## 3 · [Why?](03-three.ipynb)\n\n"
        "- 3.1 · [Why?](lab/03-b.ipynb) It does. Some more.\n"
    )
