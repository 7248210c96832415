"""Examining a function that was handed in.

The answer and every catalogued mistake run on the same inputs, the probes. The mistake whose
results the answer reproduces is the diagnosis. Properties that fail are reported whether or not
a mistake is recognised.
"""

import contextlib
import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

import torch

from attnbook.exercises import sandbox
from attnbook.exercises.compare import (
    NAN,
    Comparison,
    contains_nan,
    error_sentence,
    is_number,
    reproduces,
    same,
    to_float,
)
from attnbook.exercises.declare import GRADIENTS, Exercise, Trial
from attnbook.exercises.report import Report, beside, describe, told_apart
from attnbook.exercises.sandbox import CheckIsOver, Outcome, Sandbox
from attnbook.exercises.shrink import Bounds, Case, Shrinker
from attnbook.exercises.words import listed


def name_mistake(mistake: str, exercise: Exercise, report: Report) -> None:
    report.diagnosis, report.explanation = mistake, exercise.explanations[mistake]


@dataclass
class _Attempt:
    """What an answer made of the inputs of one trial."""

    trial: Trial
    outcomes: list[Outcome]
    comparison: Comparison


class Examination:
    """One answer to a coding exercise, run in a sandbox; a report names its mistakes."""

    def __init__(self, exercise: Exercise, answer: Callable, box: Sandbox, report: Report) -> None:
        self.exercise, self.answer, self.box, self.report = exercise, answer, box, report
        self.names = exercise.arguments

    def judge(self, seed: int) -> None:
        """Run the answer on the inputs of a seed, and look closer if its results are tensors."""
        attempt = self.attempt(seed)
        stub = attempt.outcomes[0].error
        if type(stub) is NotImplementedError and not stub.args:
            self.report.attempted = False
            return
        if attempt.comparison.right_kind:
            attempt = self.examine(attempt, seed)
        else:
            self.report.failures += attempt.comparison.sentences()
        if self.report.failures:
            empty = self.stays_empty(attempt)
            if empty:
                self.report.failures.insert(0, empty)
            self.recognise(attempt, empty=bool(empty))
            self.weigh_guesses(attempt.comparison)
            self.show_counterexample(attempt)
        else:
            count = len(attempt.outcomes)
            self.report.holds.append(f"It agrees with the definition on {count} inputs.")

    def attempt(self, seed: int) -> _Attempt:
        trial = self.exercise.trial(seed)
        outcomes = self.box.call_on_all(self.answer, trial.probes)
        # fewer than the right results if time ran out
        pairs = list(zip(outcomes, trial.expected, strict=False))
        return _Attempt(trial, outcomes, Comparison(pairs, self.names, self.answer))

    def examine(self, attempt: _Attempt, seed: int) -> _Attempt:
        """Look closer at results of the right kind; return the attempt that shows what is wrong."""
        # the same shapes, but other numbers: an answer may keep results by shape
        other = self.attempt(seed + 1)
        stuck = _gets_stuck(attempt, other)
        if attempt.comparison.all_right and stuck:
            self.report.failures.append(
                "Given other numbers, it returns the same result as before. "
                "Does it remember earlier calls?"
            )
            return other
        if attempt.comparison.all_right and not other.comparison.all_right:
            attempt = other
        comparison = attempt.comparison
        failures = [comparison.low_precision(), comparison.problem()]
        if comparison.right_kind:
            failures.append(self.of_integer_type(attempt))
            with sandbox.reproducible(seed=1):
                failures.append(self.repeat(attempt))
                failures += self.test_properties(attempt)
        failures.append(comparison.difference())
        if not comparison.all_right and (stuck or comparison.ignores_input()):
            failures.append("Different inputs get the same result.")
        if comparison.has_nan:
            failures = [comparison.problem()]  # all else follows from it
        # what is cut off matters less than wrong numbers
        failures.sort(key=lambda failure: str(failure).startswith(f"Not true: {GRADIENTS}"))
        if not any(failures):
            failures.append(self.test_float64(attempt.trial))
        self.report.failures += filter(None, failures)
        return attempt

    def of_integer_type(self, attempt: _Attempt) -> str | None:
        """That results are of another type, where words have to be numbers that one can look up."""
        types = {getattr(outcome.value, "dtype", None) for outcome in attempt.outcomes}
        if not self.exercise.integers or types <= {torch.int32, torch.int64}:
            return None
        wrong = listed(sorted(map(str, types - {torch.int32, torch.int64})))
        return f"The result must be of an integer type, such as `torch.long`, but it is {wrong}."

    def repeat(self, attempt: _Attempt) -> str | None:
        """What goes wrong when the first and the last call are made again."""
        for i in (0, -1):
            before = attempt.outcomes[i]
            again = self.box.call(self.answer, attempt.trial.probes[i])
            if again.timed_out:
                return error_sentence(again, self.answer)
            if again.error:
                return "Called a second time with the same input, it fails. " + error_sentence(
                    again, self.answer
                )
            if not same(again.value, before.value):
                return (
                    "Called twice with the same input, it returns two different results: "
                    f"{told_apart(before.value, again.value)}, then "
                    f"{told_apart(again.value, before.value)}. "
                    "Its result must not depend on random numbers or on earlier calls."
                )
        return None

    def test_properties(self, attempt: _Attempt) -> list[str]:
        """Sentences on the properties that are contradicted; the report gets the others."""
        contradictions = []
        for item in self.exercise.properties:
            test = item.find_counterexample
            if item.sentence == GRADIENTS and not attempt.comparison.all_right:
                test = functools.partial(test, exact=False)  # other numbers, other gradients
            for probe in attempt.trial.probes:
                try:
                    contradiction = test(self.guarded, *probe)
                except _TookTooLong as stumble:
                    return [*contradictions, str(stumble)]
                except _Stumbled as stumble:
                    contradiction = str(stumble)
                if contradiction:
                    contradictions.append(f"Not true: {item.sentence} {contradiction}")
                    break
            else:
                self.report.holds.append(item.sentence)
        return contradictions

    def guarded(self, *arguments: object) -> object:
        """The answer's result, for properties; ``_Stumbled`` where there is none."""
        outcome = self.box.call(self.answer, arguments)
        if outcome.error:
            kind = _TookTooLong if outcome.timed_out else _Stumbled
            raise kind(error_sentence(outcome, self.answer))
        if contains_nan(outcome.value):
            raise _Stumbled(f"There, {NAN[0].lower()}{NAN[1:]}")
        if isinstance(outcome.value, torch.Tensor) and outcome.value.is_floating_point():
            return outcome.value.float()  # what properties calculate with; float64 is right too
        return outcome.value

    def test_float64(self, trial: Trial) -> str | None:
        """What goes wrong with numbers in double precision, where the reference takes them.

        No task mentions them. A constant in float32 that torch refuses to combine with them is
        therefore remarked on and no mistake; wrong numbers are one.
        """
        refused, taken = [], []
        for probe in map(_to_float64, trial.probes):
            with contextlib.suppress(RuntimeError):  # some inputs are functions with constants
                right = self.exercise.reference(*probe)
                [outcome] = self.box.call_on_all(self.answer, [probe])
                (refused if _mixes_types(outcome) else taken).append((outcome, right))
        start = "With the same inputs in float64:"
        sentences = Comparison(taken, self.names, self.answer).sentences()
        if sentences:
            return " ".join([start, *sentences])
        if refused:
            advice = "Give constants the type of the inputs, with `.to(x)` or `dtype=x.dtype`."
            sentences = Comparison(refused, self.names, self.answer).sentences()
            self.report.remarks.append(" ".join([start, *sentences, advice]))
        return None

    def stays_empty(self, attempt: _Attempt) -> str | None:
        """That nothing but zeros is returned, whatever numbers come in."""
        if not attempt.comparison.right_kind or attempt.comparison.all_right:
            return None
        if not all(map(_is_empty, attempt.outcomes)):
            return None
        if not all(map(_is_empty, self.on_noise(self.answer, attempt.trial))):
            return None
        return f"{_EMPTY_RESULT[_is_boolean(attempt.outcomes[0].value)]}. Is it ever filled?"

    def recognise(self, attempt: _Attempt, *, empty: bool = False) -> None:
        """Name the mistake that has the same results as the answer.

        Where these are empty, a mistake that finds something in other numbers is another one.
        """
        for alike in (_alike, _alike_where_it_runs):
            for name, mistake in self.exercise.mistakes.items():
                if alike(attempt, self.results_of(name, attempt.trial)):
                    if empty and not all(map(_is_empty, self.on_noise(mistake, attempt.trial))):
                        continue
                    name_mistake(name, self.exercise, self.report)
                    return

    def weigh_guesses(self, comparison: Comparison) -> None:
        """Take back what a recognised mistake explains better; guess where there is none."""
        report = self.report
        if report.diagnosis:
            unsure = [p.sentence for p in self.exercise.properties if p.presupposes]
            starts = tuple(f"Not true: {sentence}" for sentence in unsure)
            report.failures = [f for f in report.failures if not f.startswith(starts)]
        elif comparison.right_kind and not comparison.has_nan:
            report.failures += filter(None, [comparison.only_without_batch()])

    def results_of(self, name: str, trial: Trial) -> list[Outcome]:
        """What a known mistake makes of a trial's inputs."""
        if name not in trial.of_mistakes:
            with Sandbox() as box:
                mistake = self.exercise.mistakes[name]
                trial.of_mistakes[name] = box.call_on_all(mistake, trial.probes)
        return trial.of_mistakes[name]

    def on_noise(self, function: Callable, trial: Trial) -> list[Outcome]:
        """What a function makes of other numbers, which need not make sense."""
        with Sandbox() as box:
            return box.call_on_all(function, list(map(_noise, trial.probes)))

    def show_counterexample(self, attempt: _Attempt) -> None:
        """Show the smallest input with a wrong result, and what was printed there."""
        trial, wrong = attempt.trial, attempt.comparison.wrong
        if not wrong or isinstance(attempt.outcomes[wrong[0]].error, CheckIsOver):
            return
        cases = [Case(trial.probes[i], attempt.outcomes[i], trial.expected[i]) for i in wrong]
        case = Shrinker(self.exercise, self.answer, self.box, Bounds(trial.probes)).smallest(cases)
        if case.mixed:
            names = listed([f"`{self.names[i]}`" for i in case.mixed.arguments])
            self.report.failures.append(
                f"Cut along axis {case.mixed.axis} of {names}, each part alone gets the right "
                "result, but all parts together do not. Does a step mix them or treat them alike?"
            )
        given = ", ".join(
            f"`{name} = {describe(value)}`"
            for name, value in zip(self.names, case.probe, strict=True)
        )
        self.report.counterexample = f"for {given} {_what_came_out(case)}."
        self.report.printed = case.outcome.printed.rstrip()


def _what_came_out(case: Case) -> str:
    if case.outcome.timed_out:
        return "it does not finish"
    if case.outcome.error:
        return f"it stops with an error; right is `{describe(case.right)}`"
    return beside(case.outcome.value, case.right)


class _Stumbled(Exception):
    """The learner's function raised while a property was being tested."""


class _TookTooLong(_Stumbled):
    """It was stopped there, which contradicts no property."""


def _gets_stuck(attempt: _Attempt, other: _Attempt) -> bool:
    """Whether an input got the result of an earlier one, though another was right."""
    return any(
        same(before.value, after.value) and not same(right_before, right_after)
        for before, after, right_before, right_after in zip(
            attempt.outcomes,
            other.outcomes,
            attempt.trial.expected,
            other.trial.expected,
            strict=False,
        )
    )


def _alike(attempt: _Attempt, produced: list[Outcome]) -> bool:
    """Whether a mistake has the same results as an answer."""
    return len(produced) == len(attempt.outcomes) and all(
        map(reproduces, attempt.outcomes, produced)
    )


def _alike_where_it_runs(attempt: _Attempt, produced: list[Outcome]) -> bool:
    """Whether a mistake has an answer's wrong results, two at least, where these are numbers."""
    wrong = 0
    for ours, theirs, right in zip(
        attempt.outcomes, produced, attempt.trial.expected, strict=False
    ):
        if ours.error or contains_nan(ours.value):
            continue
        if not reproduces(ours, theirs):
            return False
        wrong += not same(ours.value, right)
    return wrong >= 2


_EMPTY_RESULT = (
    "The result is all zeros, whatever the inputs are",
    "The result is False everywhere",
)


def _is_boolean(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.bool


def _is_empty(outcome: Outcome) -> bool:
    """Whether a call returned nothing but zeros."""
    value = outcome.value
    if isinstance(value, torch.Tensor):
        return not value.any()
    return is_number(value) and to_float(value) == 0


def _noise(probe: tuple) -> tuple:
    """Other numbers of the same shapes, which need not make sense."""
    generator = torch.Generator().manual_seed(0)
    return tuple(
        torch.randn(a.shape, generator=generator)
        if isinstance(a, torch.Tensor) and a.is_floating_point()
        else a
        for a in probe
    )


def _mixes_types(outcome: Outcome) -> bool:
    """Whether torch refused to combine two types of numbers."""
    error = outcome.error
    return type(error) is RuntimeError and bool(re.search("dtype|Double", str(error)))


def _to_float64(argument: object) -> object:
    if isinstance(argument, torch.Tensor) and argument.is_floating_point():
        return argument.double()
    if isinstance(argument, list | tuple):
        return type(argument)(map(_to_float64, argument))
    if isinstance(argument, dict):
        return {name: _to_float64(value) for name, value in argument.items()}
    return argument
