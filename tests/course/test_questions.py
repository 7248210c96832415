"""The page of questions: each with a verdict, and with what the book measured."""

import re

import nbformat
import pytest
from conftest import ROOT

from attncourse import UsageError
from attncourse.chapter import chapters, laboratory
from attncourse.pages.questions import asked, questions

QUESTIONS = asked(ROOT / "chapters")
BOOKS = {path: nbformat.read(path, as_version=4) for path in [*chapters(ROOT), *laboratory(ROOT)]}


def test_every_chapter_answers_a_question_and_none_is_asked_twice():
    assert len({item["ask"] for item in QUESTIONS}) == len(QUESTIONS), "nothing is asked twice"
    chapters = [item["chapter"] for item in QUESTIONS]
    assert chapters == sorted(chapters), "questions stand in the order of chapters"
    assert {*chapters} == {*range(1, max(chapters) + 1)}, "each chapter answers a question"


@pytest.mark.parametrize("item", QUESTIONS, ids=lambda item: item["ask"])
def test_an_answer_types_no_number(item):
    assert not re.search(r"\d\.\d|\d ?%", item["answer"]), "numbers come from cells"


def test_each_answer_stands_on_a_number():
    for part in questions(BOOKS).split("\n### ")[1:]:
        first = re.search(r"^- (.+) \(\[", part, re.M)
        assert first and re.search(r"\d", first[1]), f"the first proof says no number: {part}"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"verdict": "Maybe"}, "the verdict is Maybe, and has"),
        ({"measured": ["C05 What nobody measured"]}, "0 lines of C05 begin with 'What nobody"),
        ({"measured": ["C05"]}, r"\d lines of C05 begin with '', and one must"),
        ({"measured": ["C99"]}, "C99 is not a claim"),
        (
            {"measured": [{"notebook": "03-scaling", "say": "It is [[1024 | such]]."}]},
            r"\[\[1024 \| such\]\] is in no cell of 03-scaling\.ipynb; similar keys: \[\[1024",
        ),
        ({"measured": [{"notebook": "03-none", "say": "It is [[a | b]]."}]}, "no notebook 03-none"),
    ],
)
def test_a_question_without_its_proof_is_an_error(monkeypatch, change, says):
    changed = [{**QUESTIONS[0], **change}]
    monkeypatch.setattr("attncourse.pages.questions.asked", lambda folder: changed)
    with pytest.raises(UsageError, match=f"{re.escape(QUESTIONS[0]['ask'])}.*{says}"):
        questions(BOOKS)


def test_the_landing_page_says_how_many_sentences_get_a_verdict():
    page = nbformat.read(ROOT / "chapters/index.ipynb", as_version=4)
    texts = [cell.source for cell in page.cells if cell.cell_type == "markdown"]
    assert f"a verdict on {len(QUESTIONS)} sentences" in "\n".join(texts)
