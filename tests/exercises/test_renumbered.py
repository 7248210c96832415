"""The numbers before version 2.0 are understood, and the table that has them is right."""

import nbformat
import pytest
from answers.ch03 import right_scores
from conftest import ROOT

from attnbook import figures
from attnbook.exercises import check, hint, points
from attnbook.exercises.renumbered import BEFORE, number_now
from attnbook.figures.broken_models import RUNS
from attncourse.chapter import exercises_of, studies

TASKS = {task.id: task for path in studies(ROOT) for task in exercises_of(nbformat.read(path, 4))}
A_MODEL = next(iter(RUNS))


def chapter_and_number(id):
    chapter, number = map(int, id.split("."))
    return chapter, number


@pytest.mark.parametrize("id", BEFORE)
def test_what_an_earlier_exercise_hands_in_is_what_the_exercise_hands_in_now(id):
    task = TASKS[BEFORE[id]["now"]]
    assert BEFORE[id].get("answer") == (task.call[1] if task.stub else None)


def test_no_earlier_exercise_is_lost_or_there_twice():
    now = [entry["now"] for entry in BEFORE.values()]
    assert len({*now}) == len(now)
    for id, entry in BEFORE.items():
        (chapter, number), (same, other) = map(chapter_and_number, (id, entry["now"]))
        assert chapter == same and number != other and number and other
        # what has no entry has kept its number, so no other exercise may have got this number
        kept = {f"{chapter}.{n}" for n in range(number)} - {*BEFORE}
        assert not kept & {*now}, f"{kept & {*now}} had a number before, but no entry says which"


def test_functions_of_a_chapter_are_told_apart_by_their_names():
    for id, entry in BEFORE.items():
        if id in TASKS and TASKS[id].stub:
            assert TASKS[id].call[1] != entry.get("answer"), id


def test_a_number_that_is_gone_is_answered_with_the_new_one(monkeypatch, capsys):
    monkeypatch.setitem(BEFORE, "3.99", {"now": "3.2", "answer": "scaled_scores"})
    said = "What was exercise 3.99 before version 2.0 is exercise 3.2 now.\n"
    report = check("3.99", right_scores)
    assert report.passed and report.exercise.startswith("3.2 ")
    assert capsys.readouterr().out.startswith(said + "✓ Exercise 3.2 ")
    assert points("3.99", right_scores, of=4, seeds=[0]) == 4
    assert capsys.readouterr().out.startswith(said)
    hint("3.99")
    assert capsys.readouterr().out.startswith(said + "Hint 1 of ")
    monkeypatch.setitem(BEFORE, "3.98", {"now": A_MODEL, "answer": "repaired"})
    figures.symptoms("3.98")
    assert f"3.98 before version 2.0 is exercise {A_MODEL} now" in capsys.readouterr().out


def test_a_number_that_is_in_use_belongs_to_the_exercise_that_has_it_now(monkeypatch, capsys):
    def scaled_scores(query, key):
        return right_scores(query, key)

    monkeypatch.setitem(BEFORE, "3.3", {"now": "3.2", "answer": "scaled_scores"})
    assert check("3.3", right_scores).exercise.startswith("3.3 ")
    assert check("3.3", 4.0).exercise.startswith("3.3 ")
    assert check("3.3", ...).exercise.startswith("3.3 ")
    hint("3.3")
    assert "before version 2.0" not in capsys.readouterr().out
    for report in (check("3.3", scaled_scores), check("3.2", scaled_scores)):
        assert report.passed and report.exercise.startswith("3.2 ")
    said = "What was exercise 3.3 before version 2.0 is exercise 3.2 now."
    assert capsys.readouterr().out.count(said) == 1
    assert points("3.3", scaled_scores, of=4, seeds=[0]) == 4


def test_an_earlier_number_of_what_is_not_there_stays_unknown(monkeypatch, capsys):
    monkeypatch.setitem(BEFORE, "3.99", {"now": "3.98"})
    assert number_now("3.99", known=["3.2"]) == "3.99"
    with pytest.raises(KeyError, match=r"no exercise '3\.99'"):
        check("3.99", right_scores)
    assert not capsys.readouterr().out
