"""The page of questions: each with a verdict, and with what the book measured."""

import re

import nbformat
import pytest
from conftest import ROOT

from attncourse import UsageError
from attncourse.chapter import chapters, laboratory
from attncourse.pages.questions import VERDICTS, asked, questions

QUESTIONS = asked(ROOT / "chapters")
BOOKS = {path: nbformat.read(path, as_version=4) for path in [*chapters(ROOT), *laboratory(ROOT)]}


def test_about_thirty_questions_of_all_chapters_each_once():
    assert 30 <= len(QUESTIONS) <= 50
    assert len({item["ask"] for item in QUESTIONS}) == len(QUESTIONS)
    chapters = [item["chapter"] for item in QUESTIONS]
    assert chapters == sorted(chapters) and {*chapters} == {*range(1, max(chapters) + 1)}


@pytest.mark.parametrize("item", QUESTIONS, ids=lambda item: item["ask"])
def test_a_question_is_short_and_has_a_verdict(item):
    assert item["ask"].endswith("?") and len(item["ask"]) < 70
    assert item["said"].endswith(".") and item["verdict"] in VERDICTS
    sentences = re.findall(r"[.?](?: |$)", item["answer"])
    assert len(sentences) <= 4 and len(item["answer"].split()) <= 75
    assert not re.search(r"\d\.\d|\d ?%", item["answer"]), "numbers come from cells"


def test_no_number_of_the_page_was_typed():
    for item in QUESTIONS:
        for proof in item["measured"]:
            if not isinstance(proof, str):
                typed = re.sub(r"\{\d+\}", "", proof["say"])
                for number in re.findall(r"\d+(?:\.\d+)?", typed):
                    assert re.search(rf"(?<![\d.]){number}(?![\d.])", proof["find"]), typed


def test_each_answer_stands_on_a_number_with_its_place():
    page = questions(BOOKS)
    for part in page.split("\n### ")[1:]:
        lines = re.findall(r"^- (.+)$", part, re.M)
        assert lines and re.search(r"\d", lines[0].split(" ([")[0]), part
        assert all(re.search(r" \(\[.+\]\(.+\.ipynb#.+\).*\)$", line) for line in lines)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"verdict": "Maybe"}, "is Maybe: not one of"),
        ({"measured": ["C05.9"]}, "C05 has no line 9"),
        ({"measured": ["C99.1"]}, "C99 is not a claim"),
        (
            {"measured": [{"notebook": "03-scaling", "find": "no such text #", "say": "{0}"}]},
            "has the text 'no such text #'",
        ),
        ({"measured": [{"notebook": "03-none", "find": "#", "say": "{0}"}]}, "no notebook 03-none"),
    ],
)
def test_a_question_without_its_proof_is_an_error(monkeypatch, change, says):
    changed = [{**QUESTIONS[0], **change}]
    monkeypatch.setattr("attncourse.pages.questions.asked", lambda folder: changed)
    with pytest.raises(UsageError, match=says):
        questions(BOOKS)
