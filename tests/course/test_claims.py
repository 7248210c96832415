"""The index of experiments says of every claim what its chapter measured, and where."""

import re
import shutil

import nbformat
import pytest
from conftest import ROOT

from attncourse.chapter import chapters, laboratory, seen_from_chapters
from attncourse.pages import claims, generated_pages

LEDGER = claims.ledger(ROOT / "chapters")
PAGE = (ROOT / "chapters/experiments.md").read_text("utf8")
OUTPUT = """\
largest weight
   d      undivided        ÷ √d
   4  0.525 ± 0.004       0.342
1024  0.969 ± 0.004       -3e-07
"""


def cell(text, id="C05", code="assert error < 1e-5"):
    """A cell that proves a claim and has printed a text."""
    printed = nbformat.v4.new_output("stream", name="stdout", text=text)
    return nbformat.v4.new_code_cell(code, metadata={"tags": [f"claim-{id}"]}, outputs=[printed])


def chapter(*cells):
    """A notebook of cells; a string is a text."""
    text = nbformat.v4.new_markdown_cell
    cells = [text(c) if isinstance(c, str) else c for c in cells]
    return nbformat.v4.new_notebook(cells=cells)


def lines(tmp_path, notebook, *measured):
    claim = {"chapter": 3, "claim": "…", "measured": list(measured)}
    path = tmp_path / "03-scaling.ipynb"
    return list(claims.measured("C05", claim, {path: notebook}))


def test_every_claim_of_the_ledger_is_on_the_page_below_its_chapter():
    parts = re.split(r"^## (\d+) · ", PAGE, flags=re.M)
    sections = dict(zip(map(int, parts[1::2]), parts[2::2], strict=True))
    for id, claim in LEDGER.items():
        (entry,) = re.findall(
            rf"^\*\*{id}\. .+(?:\n\n- .+(?:\n- .+)*)", sections[claim["chapter"]], re.M
        )
        assert entry.startswith(f"**{id}. {claim['claim']}.**")
        assert entry.count("\n- ") == len(claim["measured"])
        assert ("*Half true.*" in entry) == ("but" in claim)


def test_no_number_on_the_page_was_typed():
    # one that says for what it was measured is looked for, too
    for id, claim in LEDGER.items():
        for item in claim["measured"]:
            typed = re.sub(r"\{\d+\}", "", item["say"])
            for number in re.findall(r"\d+(?:\.\d+)?", typed):
                assert re.search(rf"(?<![\d.]){number}(?![\d.])", item["find"]), (id, number)


def test_a_changed_output_changes_the_page(tmp_path):
    copy = tmp_path / "chapters"
    shutil.copytree(ROOT / "chapters", copy)
    path, page = copy / "03-scaling.ipynb", copy / "experiments.md"
    stored = path.read_text("utf8")
    path.write_text(stored.replace("0.969 ± 0.004", "0.123 ± 0.004"), "utf8")
    paths = [copy / seen_from_chapters(path) for path in chapters(ROOT) + laboratory(ROOT)]
    assert generated_pages.relabel(paths, [page]) == [page]
    assert PAGE.count("0.969") == 1
    assert page.read_text("utf8") == PAGE.replace("0.969", "0.123")


def test_a_number_is_found_by_the_text_around_it(tmp_path):
    found = chapter("## Measure it\n\nText.", cell(OUTPUT), "## Next")
    place = "([Measure it](03-scaling.ipynb#measure-it))"
    assert lines(
        tmp_path,
        found,
        {"find": "weight ... 1024 # #", "say": "{0}, then {1}."},
        {"find": "assert error < #", "say": "Below {0}."},
        {"find": "largest weight", "say": "No number."},
    ) == [
        f"0.969\u00a0±\u00a00.004, then $-3 \\cdot 10^{{-7}}$. {place}",
        f"Below $10^{{-5}}$. {place}",
        f"No number. {place}",
    ]


def test_each_measurement_names_its_own_section_and_the_figure_that_follows(tmp_path):
    found = chapter(
        "## First things",
        cell("a 1"),
        "Text.\n\n### Exercise 3.0 ★☆☆ · 2 min",
        cell("b 2"),
        "*Figure 3.1. One.*\n\n## Why √d? A test",
        cell("c 3"),
        "## Last",
        "*Figure 3.2. Two.*",
    )
    first = "[First things](03-scaling.ipynb#first-things)"
    assert lines(
        tmp_path,
        found,
        {"find": "a #", "say": "{0}"},
        {"find": "a #", "say": "{0}", "figure": False},
        {"find": "b #", "say": "{0}"},
        {"find": "c #", "say": "{0}"},
    ) == [
        f"1 ({first}, Figure 3.1)",
        f"1 ({first})",
        f"2 ({first}, Figure 3.1)",
        "3 ([Why √d? A test](03-scaling.ipynb#why-d-a-test))",
    ]


def test_a_claim_may_be_proved_in_the_laboratory_which_is_then_named(tmp_path):
    books = {
        tmp_path / "03-scaling.ipynb": chapter("## Measure it", cell("a 1"), "## Next"),
        tmp_path / "lab/03-roots.ipynb": chapter("# Lab 3 · Why?", "## More", cell("b 2"), "## N"),
    }
    claim = {"measured": [{"find": "b #", "say": "{0}"}, {"find": "a #", "say": "{0}"}]}
    assert list(claims.measured("C05", claim, books)) == [
        "2 ([More](lab/03-roots.ipynb#more))",
        "1 ([Measure it](03-scaling.ipynb#measure-it))",
    ]
    with pytest.raises(ValueError, match=r"C06: no cell of 03-\S+ or lab/03-roots\.ipynb has"):
        list(claims.measured("C06", claim, books))


@pytest.mark.parametrize("path", laboratory(ROOT), ids=lambda path: path.stem)
def test_every_laboratory_notebook_is_on_the_page_with_its_result(path):
    notebook = nbformat.read(path, as_version=4)
    (line,) = re.findall(rf"^- \[.+\]\(lab/{path.name}\) (.+)$", PAGE, re.M)
    assert line == claims.result(path, notebook)


def test_a_number_may_stand_in_a_table(tmp_path):
    shown = {
        "text/markdown": "| projections | right |",
        "text/plain": "projections  right\none   51 ± 7",
    }
    proof = cell("")
    proof.outputs = [nbformat.v4.new_output("display_data", data=shown)]
    found = chapter("## Measure it", proof, "## Next")
    (line,) = lines(tmp_path, found, {"find": "one #", "say": "{0}"})
    assert line.startswith("51\u00a0±\u00a07 (")


def test_a_laboratory_notebook_without_a_result_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"03-roots\.ipynb: the first cell needs .*Result"):
        claims.result(tmp_path / "lab/03-roots.ipynb", chapter("# Lab 3 · Why?"))


def test_a_claim_without_a_cell_is_refused_by_name(tmp_path):
    found = chapter("## Measure it", cell(OUTPUT, id="C06"), "## Next")
    with pytest.raises(ValueError, match=r"C05.*03-scaling\.ipynb has the tag"):
        lines(tmp_path, found, {"find": "weight", "say": "…"})


def test_a_text_that_no_cell_has_is_refused_with_the_claim_and_the_chapter(tmp_path):
    found = chapter("## Measure it", cell(OUTPUT), "## Next")
    with pytest.raises(ValueError, match=r"C05.*03-scaling.*'d = 9 #'"):
        lines(tmp_path, found, {"find": "d = 9 #", "say": "{0}"})


def test_a_sentence_with_more_places_than_numbers_is_refused(tmp_path):
    found = chapter("## Measure it", cell(OUTPUT), "## Next")
    with pytest.raises(ValueError, match=r"C05.*\{1\}.*'1024 #'"):
        lines(tmp_path, found, {"find": "1024 #", "say": "{0} and {1}"})


def test_a_claim_of_which_nothing_was_measured_is_refused(tmp_path):
    found = chapter("## Measure it", cell(OUTPUT), "## Next")
    with pytest.raises(ValueError, match=r"C05.*ledger"):
        lines(tmp_path, found)
