"""Exercises that answer back: what an exercise is and how an answer to it is graded.

A submission and every catalogued mistake run on the same inputs, the probes. The mistake whose
results the submission reproduces is the diagnosis. Properties that fail are reported whether or
not a mistake is recognised.
"""

import contextlib
import inspect
import math
import re
import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch

from attnbook.exercises import sandbox
from attnbook.exercises.compare import (
    NAN,
    Comparison,
    contains_nan,
    error_sentence,
    is_number,
    kind_of,
    listed,
    reproduces,
    same,
    to_float,
)
from attnbook.exercises.properties import cut_off
from attnbook.exercises.report import Report, describe, told_apart
from attnbook.exercises.sandbox import Outcome, Sandbox

GRADIENTS = "Gradients flow back to the inputs, so that models can learn."


@dataclass
class Property:
    """A sentence that holds for right answers, and the test that looks for a counterexample."""

    sentence: str
    # (function, *probe) -> None, or a sentence with numbers that contradicts it
    find_counterexample: Callable


@dataclass
class Trial:
    """The inputs of one seed, the right results, and those of the known mistakes by name."""

    probes: list[tuple]
    expected: list
    of_mistakes: dict[str, list[Outcome]] = field(default_factory=dict)


@dataclass
class Attempt:
    """What an answer made of the inputs of one trial."""

    trial: Trial
    outcomes: list[Outcome]
    comparison: Comparison


class Exercise:
    """A coding exercise: a reference, inputs to try it on, properties, and known mistakes.

    If it is ``differentiable``, gradients must flow back through an answer as they do through the
    reference, to every argument that is a tensor of floating-point numbers.

    >>> double = Exercise("0.1", "Twice", hints=["What is x + x?"])
    >>> @double.solution
    ... def twice(x):
    ...     return 2 * x
    >>> @double.inputs
    ... def inputs(generator):
    ...     yield (3.0,)
    >>> @double.mistake("the square")
    ... def square(x):
    ...     \"\"\"You multiply x by itself. That is right for 2 alone.\"\"\"
    ...     return x**2
    >>> double.grade(lambda x: x * x).diagnosis
    'the square'
    """

    def __init__(
        self, id: str, title: str, *, hints: Iterable[str], differentiable: bool = False
    ) -> None:
        self.id, self.title = id, title
        self.hints = tuple(hints)
        self.reference: object = None
        self.mistakes: dict[str, object] = {}
        self.explanations: dict[str, str] = {}
        self.properties: list[Property] = []
        self._inputs: Callable[[torch.Generator], Iterable[tuple]] | None = None
        self._trials: dict[int, Trial] = {}  # by seed
        if differentiable:
            self.properties.append(Property(GRADIENTS, self._cut_off))

    def solution(self, function: Callable) -> Callable:
        """Decorator: the reference that every answer is compared with."""
        self.reference = function
        self._trials = {}
        return function

    def inputs(self, function: Callable) -> Callable:
        """Decorator: a generator function of argument tuples, the smallest first."""
        self._inputs = function
        self._trials = {}
        return function

    def holds(self, sentence: str) -> Callable:
        """Decorator: a test ``(f, *arguments)`` that returns None or what contradicts it."""

        def add(function: Callable) -> Callable:
            self.properties.append(Property(sentence, function))
            return function

        return add

    def mistake(self, name: str) -> Callable:
        """Decorator: a known wrong answer; its docstring says what was done and what it causes."""

        def add(function: Callable) -> Callable:
            self.mistakes[name] = function
            self.explanations[name] = " ".join((function.__doc__ or "").split())
            return function

        return add

    def probes(self, seed: int = 0) -> list[tuple]:
        """The inputs on which answers are compared; another seed gives fresh ones."""
        return list(self._inputs(torch.Generator().manual_seed(seed)))

    def trial(self, seed: int) -> Trial:
        """What a seed's answers are compared with; it is made once and never changes."""
        if seed not in self._trials:
            probes = self.probes(seed)
            self._trials[seed] = Trial(probes, [self.reference(*probe) for probe in probes])
        return self._trials[seed]

    def grade(self, answer: object, seed: int = 0) -> Report:
        """Run the answer and say what holds and what does not; never raises."""
        report = self._report()
        try:
            if _untouched(answer):
                report.attempted = False
            else:
                with sandbox.reproducible():
                    self._grade(report, answer, seed)
        except Exception as error:
            report.holds.clear()
            report.failures.append(
                "Your answer, or what it returns, is of a kind that can't be examined "
                f"({type(error).__name__})."
            )
        return report

    def share(self, report: Report) -> float:
        """The share of its points that an answer earned, from 0 to 1.

        A right answer earns all; a wrong one up to half, in equal parts for the properties that
        hold.
        """
        if report.passed:
            return 1.0
        held = sum(item.sentence in report.holds for item in self.properties)
        return held / len(self.properties) / 2 if self.properties else 0.0

    def _report(self) -> Report:
        return Report(f"{self.id} · {self.title}")

    def _grade(self, report: Report, answer: object, seed: int) -> None:
        misfit = self._misfit(answer)
        if misfit:
            report.failures.append(misfit)
            return
        with Sandbox() as box:
            attempt = self._try(box, answer, seed)
            stub = attempt.outcomes[0].error
            if type(stub) is NotImplementedError and not stub.args:
                report.attempted = False
                return
            if attempt.comparison.right_kind:
                attempt = self._examine(box, answer, attempt, seed, report)
            else:
                report.failures += attempt.comparison.sentences()
        if report.failures:
            self._recognise(attempt, report)
            self._show_counterexample(attempt, report)
        else:
            report.holds.append(f"Agrees with the definition on {len(attempt.outcomes)} inputs.")

    def _misfit(self, answer: object) -> str | None:
        names = self._names()
        wanted = f"a function of {listed(names)}"
        if not callable(answer):
            return f"The answer is {wanted}; yours is {kind_of(answer)}, not a function."
        try:
            inspect.signature(answer).bind(*names)
        except TypeError:
            own = listed(list(inspect.signature(answer).parameters))
            return f"The answer is {wanted}; yours takes {own or 'no arguments'}."
        except ValueError:  # a built-in without a signature: calling it will tell
            return None
        return None

    def _try(self, box: Sandbox, answer: Callable, seed: int) -> Attempt:
        trial = self.trial(seed)
        outcomes = _run(box, answer, trial.probes)
        # fewer than the right results if time ran out
        comparison = Comparison(
            list(zip(outcomes, trial.expected, strict=False)), self._names(), answer
        )
        return Attempt(trial, outcomes, comparison)

    def _examine(
        self, box: Sandbox, answer: Callable, attempt: Attempt, seed: int, report: Report
    ) -> Attempt:
        """Look closer at results of the right kind; return the attempt that shows what is wrong."""
        # the same shapes, but other numbers: an answer may keep results by shape
        other = self._try(box, answer, seed + 1)
        stuck = _gets_stuck(attempt, other)
        if attempt.comparison.all_right and stuck:
            report.failures.append(
                "Given other numbers, it returns the same result as before. "
                "Does it remember earlier calls?"
            )
            return other
        if attempt.comparison.all_right and not other.comparison.all_right:
            attempt = other
        comparison = attempt.comparison
        failures = [comparison.problem()]
        if comparison.right_kind:
            with sandbox.reproducible(seed=1):
                failures.append(self._repeat(box, answer, attempt))
                failures += self._test_properties(box, answer, attempt.trial, report)
        failures.append(comparison.difference())
        if not comparison.all_right and (stuck or comparison.ignores_input()):
            failures.append("Different inputs get the same result.")
        if comparison.has_nan:
            failures = [comparison.problem()]  # all else follows from it
        if not any(failures):
            failures.append(self._test_float64(box, answer, attempt.trial, report))
        report.failures += filter(None, failures)
        return attempt

    def _repeat(self, box: Sandbox, answer: Callable, attempt: Attempt) -> str | None:
        """What goes wrong when the first and the last call are made again."""
        for i in (0, -1):
            before, again = attempt.outcomes[i], box.call(answer, attempt.trial.probes[i])
            if again.error:
                return "Called a second time with the same input, it fails. " + error_sentence(
                    again, answer
                )
            if not same(again.value, before.value):
                return (
                    "Called twice with the same input, it returns two different results: "
                    f"{told_apart(before.value, again.value)}, then "
                    f"{told_apart(again.value, before.value)}. "
                    "It must not draw random numbers or remember earlier calls."
                )
        return None

    def _test_properties(
        self, box: Sandbox, answer: Callable, trial: Trial, report: Report
    ) -> list[str]:
        """Sentences on the properties that are contradicted; the others are added to the report."""

        def guarded(*arguments: object) -> object:
            outcome = box.call(answer, arguments)
            if outcome.error:
                raise _Stumbled(error_sentence(outcome, answer))
            if contains_nan(outcome.value):
                raise _Stumbled(f"There: {NAN}")
            if isinstance(outcome.value, torch.Tensor) and outcome.value.is_floating_point():
                return outcome.value.float()  # what properties calculate with; float64 is right too
            return outcome.value

        contradictions = []
        for item in self.properties:
            for probe in trial.probes:
                try:
                    contradiction = item.find_counterexample(guarded, *probe)
                except _Stumbled as stumble:
                    contradiction = str(stumble)
                if contradiction:
                    contradictions.append(f"Not true: {item.sentence} {contradiction}")
                    break
            else:
                report.holds.append(item.sentence)
        return contradictions

    def _test_float64(
        self, box: Sandbox, answer: Callable, trial: Trial, report: Report
    ) -> str | None:
        """What goes wrong with numbers in double precision, where the reference takes them.

        No task mentions them. A constant in float32 that torch refuses to combine with them is
        therefore remarked on and no mistake; wrong numbers are one.
        """
        refused, taken = [], []
        for probe in map(_to_float64, trial.probes):
            with contextlib.suppress(RuntimeError):  # some inputs are functions with constants
                right = self.reference(*probe)
                [outcome] = _run(box, answer, [probe])
                (refused if _mixes_types(outcome) else taken).append((outcome, right))
        start = "With the same inputs in float64:"
        sentences = Comparison(taken, self._names(), answer).sentences()
        if sentences:
            return " ".join([start, *sentences])
        if refused:
            advice = "Constants can have the type of the inputs: `.to(x)` or `dtype=x.dtype`."
            sentences = Comparison(refused, self._names(), answer).sentences()
            report.remarks.append(" ".join([start, *sentences, advice]))
        return None

    def _cut_off(self, f: Callable, *probe: object) -> str | None:
        return cut_off(f, self.reference, self._names(), probe)

    def _names(self) -> list[str]:
        """The names of the arguments, as the chapter calls them."""
        return list(inspect.signature(self.reference).parameters)

    def _recognise(self, attempt: Attempt, report: Report) -> None:
        trial, outcomes = attempt.trial, attempt.outcomes
        for name, mistake in self.mistakes.items():
            if name not in trial.of_mistakes:
                with Sandbox() as box:
                    trial.of_mistakes[name] = _run(box, mistake, trial.probes)
            produced = trial.of_mistakes[name]
            if len(produced) == len(outcomes) and all(map(reproduces, outcomes, produced)):
                report.diagnosis, report.explanation = name, self.explanations[name]
                return

    def _show_counterexample(self, attempt: Attempt, report: Report) -> None:
        wrong = attempt.comparison.first_wrong
        if wrong is None:
            return
        trial, outcome = attempt.trial, attempt.outcomes[wrong]
        given = ", ".join(
            f"`{name} = {describe(value)}`"
            for name, value in zip(self._names(), trial.probes[wrong], strict=True)
        )
        result = told_apart(outcome.value, trial.expected[wrong])
        then = "it stops with an error" if outcome.error else f"you return `{result}`"
        report.counterexample = f"for {given} {then}."
        report.printed = outcome.printed.rstrip()


class NumericAnswer(Exercise):
    """An exercise whose answer is a number the learner commits to before running the code."""

    def __init__(
        self, id: str, title: str, *, answer: float, within: float = 0.05, hints: Iterable[str]
    ) -> None:
        super().__init__(id, title, hints=hints)
        self.reference = answer
        self.within = within  # relative

    def wrong_value(self, name: str, value: float, explanation: str) -> None:
        """Add a known wrong answer and the two sentences that explain it."""
        self.mistakes[name] = value
        self.explanations[name] = explanation

    def _grade(self, report: Report, answer: object, seed: int) -> None:
        if not is_number(answer):
            report.failures.append(f"The answer is one number; yours is {kind_of(answer)}.")
            return
        number = to_float(answer)
        if math.isclose(number, self.reference, rel_tol=self.within):
            report.holds.append("That is the number, up to rounding.")
        elif math.isnan(number):
            report.failures.append("The answer is one number; yours is NaN.")
        elif number < 0 <= self.reference:
            report.failures.append(f"{describe(number)} is negative; this can't be.")
        else:
            side = "large" if number > self.reference else "small"
            report.failures.append(f"{told_apart(number, self.reference)} is too {side}.")
            off = {
                name: abs(number - value)
                for name, value in self.mistakes.items()
                if math.isclose(number, value, rel_tol=self.within, abs_tol=1e-9)
            }
            if off:
                report.diagnosis = nearest = min(off, key=off.get)
                report.explanation = self.explanations[nearest]


class MultipleChoice(Exercise):
    """A prediction among options: the learner commits to a letter before running the code.

    >>> spread = MultipleChoice(
    ...     "0.1", "Twice the terms", hints=["Add up the variances."],
    ...     answer="B", because="Variances add up, and the spread is their root.",
    ... )
    >>> spread.wrong_option("A", "everything doubles", "You add up spreads. Variances add up.")
    >>> spread.grade("a").diagnosis
    'everything doubles'
    """

    def __init__(
        self, id: str, title: str, *, answer: str, because: str, hints: Iterable[str]
    ) -> None:
        super().__init__(id, title, hints=hints)
        self.reference = answer
        self.because = because

    def wrong_option(self, letter: str, name: str, explanation: str) -> None:
        """Add a wrong option: the misconception behind it, and what contradicts that."""
        self.mistakes[name] = letter
        self.explanations[name] = explanation

    @property
    def options(self) -> list[str]:
        """The letters to choose from, the right one among them."""
        return sorted([self.reference, *self.mistakes.values()])

    def _grade(self, report: Report, answer: object, seed: int) -> None:
        around = string.whitespace + string.punctuation  # "a)" is a letter, too
        letter = answer.strip(around).upper() if isinstance(answer, str) else None
        if letter not in self.options:
            quoted = [f'`"{option}"`' for option in self.options]
            letters = listed(quoted, last="or")
            report.failures.append(
                f"The answer is one letter, {letters}; yours is `{describe(answer)}`."
            )
        elif letter == self.reference:
            report.holds.append(self.because)
        else:
            report.failures.append(f"{letter} is not what the next experiment shows.")
            names = {option: name for name, option in self.mistakes.items()}
            report.diagnosis = names[letter]
            report.explanation = self.explanations[names[letter]]


class _Stumbled(Exception):
    """The learner's function raised while a property was being tested."""


def _run(box: Sandbox, function: Callable, probes: list[tuple]) -> list[Outcome]:
    """One outcome for each probe, up to the first that runs out of time."""
    outcomes = []
    with sandbox.reproducible():
        for probe in probes:
            outcomes.append(box.call(function, probe))
            if outcomes[-1].timed_out:
                break
    return outcomes


def _gets_stuck(attempt: Attempt, other: Attempt) -> bool:
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


def _untouched(answer: object) -> bool:
    """Whether the stub still stands: `...` itself, or a function with nothing else in its body."""
    if answer is None or answer is ...:
        return True
    code = getattr(answer, "__code__", None)
    if code is None:
        return False
    constants = set(code.co_consts) - {answer.__doc__}
    return constants <= {None, ...} and code.co_code in {f.__code__.co_code for f in _EMPTY}


def _plain() -> None: ...


def _documented() -> None:
    """Its bytecode differs from the plain one's where constants are numbered."""


_EMPTY = (_plain, _documented, lambda: ...)
