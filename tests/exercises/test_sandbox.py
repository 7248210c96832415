"""A check survives whatever a learner hands in, and leaves the notebook as it was."""

import contextlib
import copy
import math
import random
import sys
import threading
import time

import numpy as np
import pytest
import torch
from answers.ch03 import right_scores

from attnbook.exercises import catalogue, check, sandbox
from attnbook.exercises.grade import grade

EXERCISES = {exercise.id: exercise for exercise in catalogue()}


def stub(query, key):
    """Its docstring stays."""
    # your code here
    ...


def stub_that_raises(query, key):
    raise NotImplementedError


def without_source(body, indent="\n    "):
    """A function that was not read from any file."""
    found = {}
    exec(f"def answer(query, key):{indent}{body}", found)
    return found["answer"]


STUBS = [
    None,
    ...,
    stub,
    stub_that_raises,
    lambda query, key: ...,
    lambda query, key: None,
    without_source("..."),
    without_source("pass", indent=" "),
    without_source("return ..."),
    without_source("'Its docstring.'\n    ..."),
]


@pytest.mark.parametrize(
    ("id", "answer"),
    [("3.0", None), ("3.0", ...), ("3.1", None), ("3.1", ...), *(("3.2", stub) for stub in STUBS)],
)
def test_an_untouched_stub_is_not_attempted(id, answer, capsys):
    report = check(id, answer)
    assert not report.attempted and not report.passed and report.failures == []
    shown = capsys.readouterr().out
    assert "not attempted" in shown and "Replace the `...`" in shown


@pytest.mark.parametrize(
    "answer",
    [
        lambda query, key: 0,
        lambda query, key: True,
        lambda query, key: "text",
        lambda query, key: query,
        lambda query, key: math.inf,
        without_source("return 5"),
        without_source("'Its docstring.'\n    return 'text'"),
        without_source("if key is None: pass"),
    ],
)
def test_the_shortest_of_answers_is_one(answer):
    assert grade(EXERCISES["3.2"], answer).attempted


class Hostile(Exception):
    def __str__(self):
        raise SystemExit

    def __repr__(self, *_):
        raise RuntimeError

    __eq__ = __hash__ = __repr__


def raises_something_hostile(query, key):
    raise Hostile


def endless(query, key):
    while True:
        print("still here")


def calls_itself(query, key):
    return calls_itself(query, key)


def undefined_name(query, key):
    return query @ key.mT / root  # noqa: F821


def edits_both(query, key):
    query *= 0
    key.zero_()
    return query @ key.mT


async def asynchronous(query, key):
    return right_scores(query, key)


SURVIVED = [
    (endless, "did not finish within"),
    (calls_itself, "RecursionError"),
    (undefined_name, ": `return query @ key.mT / root  # noqa: F821`: name"),
    (lambda q, k: Hostile(), "must return a torch tensor, but it returns a Hostile"),
    (edits_both, "changes its input `query` and `key` in place"),
    (lambda q, k: sys.exit("bye"), "SystemExit"),
    (lambda q, k: (_ for _ in ()).throw(KeyboardInterrupt), "KeyboardInterrupt"),
    (lambda q, k: input("?"), "It raises"),
    (lambda q, k: right_scores(q, k).to_sparse(), "can't be examined"),
    (lambda q, k: right_scores(q, k).to("meta"), "can't be examined"),
    (raises_something_hostile, "It raises Hostile"),
    (asynchronous, "leave out that word"),
    (lambda q, k: q[0] @ k, "Is a transpose missing, one too many, or of other axes?"),
    (lambda q, k: right_scores(q, k) * torch.nan, "contains NaN"),
    (lambda q, k: right_scores(q, k) + torch.inf, "infinite"),
    (lambda q, k: 3.0, "must return a torch tensor, but it returns a float"),
    (lambda q, k: (q @ k.mT, None), "it returns a tuple"),
    (lambda q, k: right_scores(q, k) * 1j, "complex"),
    (lambda q, k: torch.ones(0), "it has (0,)"),
    (lambda q: q, "yours takes q"),
    (lambda: 0, "yours takes no arguments"),
    (3.0, "yours is a float, not a function"),
    (np.ones((2, 2)), "yours is a NumPy ndarray, not a function"),
    (print, "Is a `return` missing?"),
    (torch.add, "The result must have the shape"),
]


@pytest.mark.parametrize(("answer", "sentence"), SURVIVED)
def test_whatever_is_handed_in_gets_a_sentence(answer, sentence, monkeypatch, capsys):
    monkeypatch.setattr(sandbox, "SECONDS_PER_CALL", 1.0)
    report = check("3.2", answer)
    assert report.attempted and not report.passed and report.diagnosis is None
    assert sentence in " ".join(report.failures)
    shown = capsys.readouterr().out
    assert sentence in shown and "Traceback" not in shown


def test_a_loop_that_catches_everything_does_not_hang_the_check(monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS_PER_CALL", 0.2)
    alive = True

    def until_the_test_ends(query, key):
        while alive:
            with contextlib.suppress(BaseException):
                time.sleep(0.001)

    started = time.monotonic()
    report = grade(EXERCISES["3.2"], until_the_test_ends)
    alive = False
    assert "did not finish" in report.failures[0]
    assert time.monotonic() - started < 10


def test_many_slow_calls_run_out_of_time_together(monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS_PER_CHECK", 0.5)

    def slow(query, key):
        time.sleep(0.2)
        return right_scores(query, key)

    assert "took more than 0.5 seconds" in grade(EXERCISES["3.2"], slow).failures[0]


def test_checks_leave_no_threads_behind():
    before = threading.active_count()
    for _ in range(20):
        grade(EXERCISES["3.2"], right_scores)
    time.sleep(0.1)
    assert threading.active_count() <= before + 1


@pytest.mark.usefixtures("no_shape_checks")  # beartype draws from `random`
def test_a_check_leaves_no_trace():
    def careless(query, key):
        torch.manual_seed(3), np.random.seed(3), random.seed(3)
        torch.set_default_dtype(torch.float64)
        sys.stdout.close()
        return right_scores(query, key)

    torch.manual_seed(0), np.random.seed(0), random.seed(0)
    expected = torch.rand(1), np.random.rand(), random.random()
    torch.manual_seed(0), np.random.seed(0), random.seed(0)
    before = sys.stdout
    grade(EXERCISES["3.2"], careless)
    assert sys.stdout is before and not before.closed
    assert (torch.rand(1), np.random.rand(), random.random()) == expected
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize(
    "mode",
    [
        torch.no_grad,
        torch.inference_mode,
        lambda: torch.autocast("cpu", torch.bfloat16),
        lambda: torch.device("meta"),
    ],
)
@pytest.mark.parametrize("id", ["3.2", "9.7"])
def test_the_mode_the_notebook_is_in_does_not_matter(mode, id):
    exercise = copy.copy(EXERCISES[id])
    exercise.solution(exercise.reference)  # nothing is known from earlier checks
    with mode():
        report = grade(exercise, exercise.reference)
    assert report.passed, str(report)


def test_thousands_of_printed_lines_do_not_use_up_the_time():
    with sandbox.Sandbox() as box:
        outcome = box.call(lambda: [print("one line of many") for _ in range(100)], ())
        assert len(outcome.printed) == sandbox.PRINTED_CHARACTERS
        assert sys.stdout.write is len  # nothing is kept, so nothing takes time
        assert box.call(lambda: print("the next call"), ()).printed == "the next call\n"
