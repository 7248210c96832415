"""The search for sections of the book that answer a question."""

import re

import nbformat
import numpy as np
import pytest
from conftest import ROOT, why_no_language_model

from attncourse.__main__ import main
from attncourse.pages import ask
from attncourse.pages.questions import asked

SECTIONS = ask.sections(ROOT)
BY_ADDRESS = {section.address: section for section in SECTIONS}


VECTORS = {"up": (1.0, 0.0), "down": (-1.0, 0.0), "across": (0.0, 1.0), "aslant": (0.6, 0.8)}


def section(address, *paragraphs):
    return ask.Section("3 · Why?", "Because", address, paragraphs)


class Reader:
    """Reads a text as the vector of its last word, and remembers what it has read."""

    def __init__(self):
        self.texts = []

    def __call__(self, texts):
        self.texts += texts
        return np.array([VECTORS[text.split()[-1]] for text in texts])


def test_sections_are_those_of_chapters_the_laboratory_and_three_pages():
    assert len(BY_ADDRESS) == len(SECTIONS), "no address leads to two sections"
    pages = {address.split("#")[0] for address in BY_ADDRESS}
    assert {"00-ten-minutes.ipynb", "03-scaling.ipynb", "lab/12-lens.ipynb"} <= pages
    others = {page for page in pages if not re.match(r"(lab/)?\d\d-.+\.ipynb", page)}
    assert others == {"prerequisites.ipynb", "notation.ipynb", "glossary.md"}


def test_a_section_has_the_address_of_the_links_to_it():
    links = re.compile(r"\]\((?:\.\./)?((?:lab/)?\d\d-[\w-]+\.ipynb#[^)]+)\)")
    linked = {
        link
        for page in ("glossary", "experiments")
        for link in links.findall((ROOT / f"chapters/{page}.md").read_text("utf8"))
    }
    # some lead to a heading within a section
    assert len(linked & {*BY_ADDRESS}) > 0.8 * len(linked), linked - {*BY_ADDRESS}


def test_a_section_is_text_without_marks_code_or_links(tmp_path):
    cells = [
        nbformat.v4.new_markdown_cell("# 3 · Why?\n\n> **Question.** Why *so*?"),
        nbformat.v4.new_code_cell("import math"),
        nbformat.v4.new_markdown_cell(
            "## A [root](x.md#y)\n\nOne.\n\n| a | b |\n|---|:---|\n| c | d |\n\n- e\n- f\n\n"
            "<details>\n<summary>More</summary>\n\n```python\n## no heading\n```\n\n</details>"
        ),
        nbformat.v4.new_markdown_cell("## Empty"),
    ]
    (tmp_path / "chapters").mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "chapters/03-why.ipynb")
    (tmp_path / "_toc.yml").write_text("root: chapters/03-why\n")
    first, second = ask.sections(tmp_path)
    assert first == ask.Section("3 · Why?", "", "03-why.ipynb", ("Question. Why so?",))
    assert second.title == "3 · Why? · A root"
    assert second.paragraphs == ("One.", "a b", "c d", "- e", "- f", "More")


def test_the_section_with_the_nearest_paragraph_is_the_best(tmp_path):
    sections = [
        section("03-a.ipynb", "aslant", "aslant"),  # the nearest mean, and the nearest beginning
        section("lab/04-b.ipynb#c", "down", "across", "up"),
        section("glossary.md#d", "down"),
    ]
    vectors = ask.Vectors(Reader(), tmp_path / "vectors.npz")
    found = ask.scores(["up", "aslant"], sections, vectors)
    assert found == pytest.approx(np.array([[0.6, 1.0, -1.0], [1.0, 0.8, -0.6]]))
    assert [ask.best(row) for row in found] == [[1, 0, 2], [0, 1, 2]]
    assert [each.chapter for each in sections] == [3, 4, None]
    says = ask.right_chapter([4, 4], found, sections)
    assert says == "first 1, among the first three 2, of 2 questions"


def test_only_changed_paragraphs_are_read_again(tmp_path):
    read, file = Reader(), tmp_path / "vectors.npz"
    before = ask.Vectors(read, file).kept(["up", "down"])
    assert (ask.Vectors(read, file).kept(["down", "up"]) == before[::-1]).all()
    assert read.texts == ["up", "down"]
    ask.Vectors(read, file).kept(["up", "across"])
    assert read.texts == ["up", "down", "across"]
    file.write_bytes(file.read_bytes()[:50])
    assert (ask.Vectors(read, file).kept(["up"]) == before[:1]).all(), "a damaged file"
    assert read.texts[3:] == ["up"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [([], "ask a question, such as"), ([" "], "ask a question"), (["--measure", "x"], "no such")],
)
def test_a_question_that_is_none_is_an_error(monkeypatch, arguments, says):
    monkeypatch.setattr("attncourse.__main__.ROOT", ROOT)
    with pytest.raises(SystemExit, match=says):
        main(["ask", *arguments])


def test_the_openings_of_the_chapters_answer_most_of_the_questions(tmp_path):
    if reason := why_no_language_model():
        pytest.skip(reason)
    openings = [each for each in SECTIONS if re.match(r"\d\d-[^#]+$", each.address)]
    vectors = ask.Vectors(ask.of_encoder().read, tmp_path / "vectors.npz")
    items = asked(ROOT / "chapters")
    found = ask.scores([item["ask"] for item in items], openings, vectors)
    right = [
        openings[ask.best(row, 1)[0]].chapter == item["chapter"]
        for row, item in zip(found, items, strict=True)
    ]
    assert sum(right) > len(right) / 3, f"{sum(right)} of {len(right)}"
    (why,) = ask.scores(["why divide by the root?"], openings, vectors)
    assert openings[ask.best(why)[0]].address == "03-scaling.ipynb"
