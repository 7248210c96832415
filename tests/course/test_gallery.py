"""The page of the laboratory has each experiment with its number, its question and its result."""

import re

import nbformat
import pytest
from conftest import ROOT
from nbformat.v4 import new_markdown_cell, new_notebook

from attncourse import UsageError
from attncourse.chapter import chapters, laboratory, of_chapters, seen_from_chapters
from attncourse.pages import gallery

PAGE = (ROOT / "chapters/laboratory.md").read_text("utf8")
PATHS = {path: nbformat.read(path, as_version=4) for path in chapters(ROOT) + laboratory(ROOT)}


def beginning(number, text):
    return new_notebook(cells=[new_markdown_cell(f"# {number} · Why?\n\n> **Result.** {text}")])


def test_every_laboratory_notebook_is_on_the_page_once_with_its_result():
    found = re.findall(r"^- ([\d.]+) · \[[^]]+\]\((lab/[^)]+)\) (.+)$", PAGE, re.M)
    labs = {path: book for path, book in PATHS.items() if path in laboratory(ROOT)}
    assert len(found) == len(labs)
    assert {link: said for _, link, said in found} == {
        seen_from_chapters(path): gallery.result(path, book) for path, book in labs.items()
    }
    assert {number for number, *_ in found} >= {"1.1", "9.3", "11.8"}


def test_each_chapter_ends_with_its_main_experiments_which_come_first_in_the_gallery():
    for path, (main, others) in gallery.ranked(PATHS).items():
        assert 2 <= len(main) <= 3
        *_, above, last = PATHS[path].cells[-1].source.split("\n\n")
        assert above == gallery.into_laboratory(path, PATHS)
        assert last[:5] in {"Next,", "[Chap", "The p", "This "}, last
        section = re.split(r"^## ", PAGE, flags=re.M)[list(of_chapters(PATHS)).index(path) + 1]
        first, *rest = section.split("\n\n**Other experiments**\n\n")
        assert "\n\n**Main experiments**\n\n" in first and bool(rest) == bool(others)
        for text, labs in ((first, main), ("".join(rest), others)):
            assert re.findall(r"\((lab/[^)]+)\)", text) == [*map(seen_from_chapters, labs)]


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


@pytest.fixture
def books(tmp_path):
    """Three chapters, the first with four experiments, the second with none, the third with one."""

    def with_main(*names):
        main = "".join(f'{name} = "whether {name[-1]} does"\n' for name in names)
        (tmp_path / "laboratory.toml").write_text(main)
        labs = "lab/01-d", "lab/01-a", "lab/01-c", "lab/01-b", "lab/03-b"
        return {
            tmp_path / f"{name}.ipynb": beginning(
                f"{'Lab ' * ('lab' in name)}{int(name.removeprefix('lab/')[:2])}",
                "It does. Some more.",
            )
            for name in ("01-one", *labs, "02-two", "03-three")
        }

    return with_main


def test_experiments_are_numbered_by_their_order_below_their_chapter_and_the_main_ones_first(books):
    assert gallery.gallery(books("03-b", "01-b", "01-a")) == (
        "## 1 · [Why?](01-one.ipynb)\n\n**Main experiments**\n\n"
        "- 1.2 · [Why?](lab/01-a.ipynb) It does. Some more.\n"
        "- 1.4 · [Why?](lab/01-b.ipynb) It does. Some more.\n\n**Other experiments**\n\n"
        "- 1.1 · [Why?](lab/01-d.ipynb) It does. Some more.\n"
        "- 1.3 · [Why?](lab/01-c.ipynb) It does. Some more.\n\n"
        "## 3 · [Why?](03-three.ipynb)\n\n**Main experiments**\n\n"
        "- 3.1 · [Why?](lab/03-b.ipynb) It does. Some more.\n"
    )


def test_the_end_of_a_chapter_names_its_main_experiments_and_where_the_others_are(books):
    found = books("01-a", "01-b", "01-c", "03-b")
    one, two, three = of_chapters(found)
    assert gallery.into_laboratory(one, found) == (
        "To see for yourself [whether a does](lab/01-a.ipynb), [whether c does](lab/01-c.ipynb) "
        "and [whether b does](lab/01-b.ipynb), redo the main experiments of this chapter. The "
        "others are in [the gallery](laboratory.md#1--why)."
    )
    assert gallery.into_laboratory(two, found) == ""
    assert gallery.into_laboratory(three, found) == (
        "To see for yourself [whether b does](lab/03-b.ipynb), redo the main experiments of this "
        "chapter."
    )


@pytest.mark.parametrize(
    ("main", "says"),
    [
        (["01-a", "01-b", "01-x", "03-b"], "the laboratory has no 01-x; it has 01-d, 01-a, "),
        (["01-a", "03-b"], "chapter 1 has 1 main experiments, and needs 2 to 3 of 01-d, 01-a, "),
        (["01-a", "01-b", "01-c", "01-d", "03-b"], "chapter 1 has 4 main experiments"),
        (["01-a", "01-b"], "chapter 3 has 0 main experiments, and needs 1 of 03-b"),
        (["1.2.3 and"], "laboratory.toml: "),
    ],
)
def test_a_list_of_main_experiments_that_does_not_fit_the_laboratory_is_refused(books, main, says):
    with pytest.raises(UsageError, match=says):
        gallery.ranked(books(*main))
