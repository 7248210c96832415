"""Every notebook follows the rules of the book, and all of them make one book."""

import ast
import re

import pytest
from conftest import ROOT

from attncourse.chapter import chapters, contents, is_front, laboratory, number, tags
from attncourse.rules.book import Book
from attncourse.rules.missing import lacks

BOOK = Book(ROOT)
CHAPTERS = chapters(ROOT)
LABORATORY = laboratory(ROOT)


@pytest.mark.parametrize("path", BOOK.notebooks, ids=lambda path: path.stem)
def test_the_notebook_lacks_nothing(path):
    """`python -m attncourse missing` says the same; the rules are in `attncourse.rules`."""
    if found := lacks(BOOK.notebooks[path]):
        pytest.fail("\n".join(found), pytrace=False)


def test_the_contents_list_every_page_once():
    files = contents(ROOT)
    pages = [file.with_suffix("") for end in ("ipynb", "md") for file in _pages(end)]
    assert sorted(files) == sorted(pages)
    start = [ROOT / f"chapters/{name}.ipynb" for name in ("index", "prerequisites")]
    front = [path for path in BOOK.listed if is_front(path)]
    assert {*BOOK.listed[:3]} == {*start, *front} and len(front) == 1
    others = [ROOT / f"chapters/{name}.ipynb" for name in ("your-own-gpt", "notation")]
    assert sorted(BOOK.listed[3:]) == sorted([*CHAPTERS, *LABORATORY, *others])


def _pages(ending):
    folder = ROOT / "chapters"
    return [*folder.glob(f"*.{ending}"), *folder.glob(f"lab/*.{ending}")]


def test_no_two_notebooks_share_a_name():
    names = [path.stem for path in BOOK.notebooks]
    assert len(names) == len({*names})


def test_chapters_are_numbered_without_a_gap():
    assert [number(path) for path in CHAPTERS] == [*range(1, len(CHAPTERS) + 1)]


def test_claims_stand_in_the_order_of_their_numbers():
    """There may be gaps: a claim comes with the chapter that proves it."""
    assert all(re.fullmatch(r"C\d\d", id) for id in BOOK.claims)
    assert list(BOOK.claims) == sorted(BOOK.claims)
    assert list(BOOK.claims)[:43] == [f"C{i:02d}" for i in range(1, 44)]  # none is ever dropped


def test_every_claim_belongs_to_a_chapter():
    """The rules of that chapter then demand a cell that proves it."""
    assert {claim["chapter"] for claim in BOOK.claims.values()} <= {*map(number, CHAPTERS)}


def test_the_right_option_of_a_prediction_is_not_mostly_the_last():
    """Else a class learns to take the last."""
    places = []
    for path in CHAPTERS:
        for cell in BOOK.notebooks[path].code:
            if "predict" in tags(cell) and "right=" in cell.source:
                given = {k.arg: k.value for k in ast.parse(cell.source).body[-1].value.keywords}
                options = [key.value for key in given["options"].keys]
                places.append(options.index(given["right"].value) == len(options) - 1)
    assert len(places) > 20 and sum(places) <= 0.4 * len(places)  # by chance a third
