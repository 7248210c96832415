"""Trying a learner's test on suspects, the functions that it must sort into right and wrong."""

import time
from collections.abc import Callable

import numpy as np
import torch

from attnbook.exercises import sandbox
from attnbook.exercises.compare import error_sentence
from attnbook.exercises.declare import Suspect, Suspects, Verdict
from attnbook.exercises.report import Report, describe
from attnbook.exercises.sandbox import CheckIsOver, Sandbox, TimeIsUp

DRAWS = 3  # how often a test is tried, each time with other random numbers of its own
SLOW = 4.0  # seconds; a test that needs more is tried once


class NoVerdict(Exception):
    """A test did not say whether a suspect is right; the text says what it did instead."""


def judge_test(exercise: Suspects, test: Callable, seed: int, report: Report) -> None:
    """Say which right functions a test accuses, and which wrong ones it lets pass."""
    for draw in range(DRAWS):
        began = time.monotonic()
        try:
            with Sandbox() as box:
                verdicts = verdicts_of(exercise, test, box, seed + draw)
        except NoVerdict as nothing:
            report.failures.append(str(nothing))
            return
        if any(verdict.right != verdict.suspect.right for verdict in verdicts):
            _report_errors(exercise, verdicts, draw, report)
            if draw == 0:
                _recognise(exercise, verdicts, seed, report)
            return
        if time.monotonic() - began > SLOW:
            break
    report.holds += [item.sentence for item in exercise.properties]
    report.holds += _sorted_out(exercise)


def verdicts_of(exercise: Suspects, test: Callable, box: Sandbox, seed: int) -> list[Verdict]:
    """A test's verdict on each suspect; whatever it draws at random, it draws for all of them."""
    asked = [_ask(test, suspect, box, seed) for suspect in exercise.suspects]
    if not any(calls for _, calls in asked):
        raise NoVerdict("Your test never calls the function that it gets.")
    return [verdict for verdict, _ in asked]


def _ask(test: Callable, suspect: Suspect, box: Sandbox, seed: int) -> tuple[Verdict, int]:
    """The verdict on a suspect, and how often the test called it."""
    calls, stopped = 0, []

    def f(*arguments: object, **named: object) -> object:
        nonlocal calls
        calls += 1
        try:
            return suspect.function(*arguments, **named)
        except Exception as error:
            stopped.append(error)
            raise

    with sandbox.reproducible(seed):
        outcome = box.call(test, (f,))
    if stopped and outcome.error is stopped[-1]:
        sentence = error_sentence(outcome, test).removeprefix("It raises ")
        return Verdict(suspect, False, sentence), calls
    which = suspect.letter or "a function that you have not seen"
    if outcome.timed_out:
        raise NoVerdict(_too_slow(outcome.error))
    if outcome.error:
        sentence = error_sentence(outcome, test)
        if isinstance(outcome.error, AssertionError):
            sentence += " A test returns True or False here, so write `return` for `assert`."
        raise NoVerdict(f"Given {which}, {_lower(sentence)}")
    value = outcome.value
    if isinstance(value, torch.Tensor) and value.dtype == torch.bool and value.numel() == 1:
        value = value.item()
    if not isinstance(value, bool | np.bool_):
        raise NoVerdict(
            f"Your test must return True or False, but for {which} it returns `{describe(value)}`."
            + (" Does each way through it end with a `return`?" if value is None else "")
        )
    return Verdict(suspect, bool(value)), calls


def _too_slow(error: TimeIsUp) -> str:
    if isinstance(error, CheckIsOver):
        return (
            "Trying your test on all functions took more than "
            f"{sandbox.SECONDS_PER_CHECK:g} seconds. Can it call each of them less often, or with "
            "smaller inputs?"
        )
    return (
        f"It did not finish within {sandbox.SECONDS_PER_CALL:g} seconds. Is there a loop that "
        "never ends? If not, call the function less often, or with smaller inputs."
    )


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _report_errors(exercise: Suspects, verdicts: list[Verdict], draw: int, report: Report) -> None:
    for item in exercise.properties:
        contradiction = item.find_counterexample(verdicts)
        if contradiction:
            if draw:
                contradiction = f"With different random numbers, {_lower(contradiction)}"
            report.failures.append(f"Not true: {item.sentence} {contradiction}")
        else:
            report.holds.append(item.sentence)
    if len({verdict.right for verdict in verdicts}) == 1:
        report.holds.clear()  # who suspects all or nobody has found out nothing


def _sorted_out(exercise: Suspects) -> list[str]:
    """What a learner who has solved the exercise may know."""
    shown = [one for one in exercise.suspects if one.letter and not one.right]
    unseen = sum(not one.letter for one in exercise.suspects)
    return [
        *(f"{one.letter} is wrong, because it {one.does}." for one in shown),
        f"Your test also judges {unseen} functions correctly that you have not seen.",
    ]


def _recognise(exercise: Suspects, verdicts: list[Verdict], seed: int, report: Report) -> None:
    """Name the weak test that gives the same verdicts."""
    said = [verdict.right for verdict in verdicts]
    for name, weak in exercise.mistakes.items():
        with Sandbox() as box:
            if said == [v.right for v in verdicts_of(exercise, weak, box, seed)]:
                report.diagnosis, report.explanation = name, exercise.explanations[name]
                return
