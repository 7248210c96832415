"""Exercises whose answer is a test: what is said about tests that are right, weak or no tests."""

import random
import time

import numpy as np
import pytest
import torch

from attnbook.exercises import Suspects, sandbox, suspects, verdicts
from attnbook.exercises.grade import grade


@pytest.fixture
def double():
    """Four functions, of which two double a number, and two more that learners do not see."""
    exercise = Suspects("0.1", "Twice", hints=["…"])
    exercise.right("adds x to itself")(lambda x: x + x)
    exercise.wrong("squares x")(lambda x: x * x)
    exercise.right("multiplies x by 2.0")(lambda x: 2.0 * x)
    exercise.wrong("doubles the size of x")(lambda x: 2 * abs(x))
    exercise.right("adds x and 1e-9 twice", kept_back=True)(lambda x: 2 * (x + 1e-9))
    exercise.wrong("returns 6", kept_back=True)(lambda x: 6)

    @exercise.solution
    def _(f):
        return all(abs(f(x) - 2 * x) < 1e-6 for x in (3, -1))

    @exercise.mistake("only 2 tried")
    def _(f):
        """You try only the number 2. Its square is 4, too."""
        return abs(f(2) - 4) < 1e-6

    return exercise


def failures_of(double, test):
    report = grade(double, test)
    assert report.attempted and not report.passed
    return " ".join(report.failures)


def right(f):
    return np.allclose([f(3), f(-2)], [6, -4])


@pytest.mark.parametrize("kind", [bool, np.bool_, torch.tensor, lambda said: torch.tensor([said])])
def test_a_test_that_tells_all_apart_passes_whatever_kind_of_true_it_returns(double, kind):
    report = grade(double, lambda f: kind(bool(right(f))))
    assert report.passed and double.share(report) == 1
    assert report.holds == [
        Suspects.ACCEPTS,
        Suspects.FINDS,
        "B is wrong, because it squares x.",
        "D is wrong, because it doubles the size of x.",
        "Your test also judges 2 functions correctly that you have not seen.",
    ]


def test_what_passes_is_named_if_it_is_shown_and_described_if_not(double):
    assert failures_of(double, lambda f: f(3) == 6) == (
        "Not true: A right function passes your test, in whatever style it is written. It accuses "
        "a function that you have not seen, which is right. (It adds x and 1e-9 twice.) "
        "Not true: Your test finds each wrong one. It lets D pass, which doubles the size of x."
    )
    passes = failures_of(double, lambda f: abs(f(3) - 6) < 0.1 and f(-1) != 2)
    assert "It lets a function that you have not seen pass, which returns 6." in passes


def test_a_weak_test_is_recognised_and_gets_points_for_accusing_nobody(double):
    report = grade(double, lambda f: round(f(2)) == 4)
    assert report.diagnosis == "only 2 tried" and report.holds == [Suspects.ACCEPTS]
    assert double.share(report) == 0.25


@pytest.mark.parametrize("said", [True, False])
def test_who_says_the_same_about_all_gets_no_points(double, said):
    report = grade(double, lambda f: (f(1), said)[1])
    assert not report.passed and double.share(report) == 0


@pytest.mark.parametrize("draw", [random.random, lambda: torch.rand(()).item()])
def test_a_test_must_not_depend_on_luck(double, draw):
    with sandbox.reproducible(0):
        first = draw()

    def test(f):
        return right(f) or draw() != first

    assert "With different random numbers, it lets B pass" in failures_of(double, test)


def test_neither_a_list_of_letters_nor_one_of_functions_is_an_answer(double):
    functions = [double.by_letter[letter] for letter in "AC"]
    assert [f.__name__ for f in functions] == ["A", "C"]
    assert "It accuses A, which" in failures_of(double, lambda f: (f(1), f in functions)[1])
    assert "It accuses A, which" in failures_of(double, lambda f: (f(1), f.__name__ in "AC")[1])


def asserts(f):
    assert f(3) == 7
    return True


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (lambda f: True, "Your test never calls the function that it gets."),
        (lambda f: print(f(3)), "for A it returns `None`. Does each way through it end with a"),
        (lambda f: f(torch.ones(2)) == 2, "for A it returns `[True, True]`."),
        (lambda f: f(3), "must return True or False, but for A it returns `6`."),
        (lambda f: f(3).numel() == 1, "Given A, it raises AttributeError in line"),
        (asserts, "so write `return` for `assert`."),
        (lambda: True, "The answer must be a function of f, but yours takes no arguments."),
        ("BD", "The answer must be a function of f, but yours is a str, not a function."),
    ],
)
def test_what_is_no_test_is_told_so(double, test, said):
    assert said in failures_of(double, test)


def test_a_stub_is_not_attempted(double):
    def stub(f): ...

    assert not grade(double, stub).attempted


def test_a_suspect_that_stops_inside_the_test_is_accused(double):
    @double.wrong("stops at 3")
    def stops(x):
        return 2 * x // (x != 3)

    assert grade(double, right).passed
    accused = failures_of(double, lambda f: f(3, 4) == 6)
    assert "It accuses A, which is right." in accused
    assert "In your test, it stops: TypeError in line" in accused


def test_a_test_that_never_ends_is_stopped(double, monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS_PER_CALL", 0.3)

    def endless(f):
        while f(1):
            pass

    assert "It did not finish within 0.3 seconds" in failures_of(double, endless)


def test_a_slow_test_is_told_to_call_less_often(double, monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS_PER_CHECK", 0.2)
    said = failures_of(double, lambda f: (time.sleep(0.1), right(f))[1])
    assert "Trying your test on all functions took more than 0.2 seconds." in said
    assert "call each of them less often" in said and "matrix" not in said


def test_a_slow_test_is_tried_with_one_draw_only(double, monkeypatch):
    monkeypatch.setattr(verdicts, "SLOW", 0.0)
    tried = []
    assert grade(double, lambda f: (tried.append(f), right(f))[1]).passed
    assert len(tried) == len(double.suspects)


def test_only_exercises_with_suspects_have_them():
    with pytest.raises(ValueError, match=r"3\.2 has no functions to sort out"):
        suspects("3.2")
