"""Exercises that answer back: what an exercise is and how an answer to it is graded.

A submission and every catalogued mistake run on the same inputs, the probes. The mistake whose
results the submission reproduces is the diagnosis. Properties that fail are reported whether or
not a mistake is recognised.
"""

import dis
import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from attnbook.exercises import sandbox
from attnbook.exercises.compare import (
    different_kind,
    distance,
    error_sentence,
    ignores_input,
    is_number,
    kind_of,
    listed,
    problem_of,
    reproduces,
    same,
    same_kind,
    to_float,
)
from attnbook.exercises.properties import cut_off
from attnbook.exercises.report import Report, describe
from attnbook.exercises.sandbox import Outcome, Sandbox

GRADIENTS = "Gradients flow back to the inputs, so that models can learn."


@dataclass
class Property:
    """A sentence that holds for right answers, and the test that looks for a counterexample."""

    sentence: str
    # (function, *probe) -> None, or a sentence with numbers that contradicts it
    find_counterexample: Callable


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
        if differentiable:
            self.properties.append(Property(GRADIENTS, self._cut_off))

    def solution(self, function: Callable) -> Callable:
        """Decorator: the reference that every answer is compared with."""
        self.reference = function
        return function

    def inputs(self, function: Callable) -> Callable:
        """Decorator: a generator function of argument tuples, the smallest first."""
        self._inputs = function
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

    def grade(self, answer: object, seed: int = 0) -> Report:
        """Run the answer and say what holds and what does not; never raises."""
        report = self._report()
        try:
            if _untouched(answer):
                report.attempted = False
            else:
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
        box = Sandbox()
        with sandbox.surroundings():
            probes = self.probes(seed)
            expected = [self.reference(*probe) for probe in probes]
            outcomes = _run(box, answer, probes)
        stub = outcomes[0].error
        if type(stub) is NotImplementedError and not stub.args:
            report.attempted = False
            return
        wrong = self._compare(box, answer, probes, expected, outcomes, report)
        if report.failures:
            self._recognise(probes, outcomes, report)
            if wrong is not None:
                self._show_counterexample(probes[wrong], outcomes[wrong], report)

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

    def _compare(
        self,
        box: Sandbox,
        answer: Callable,
        probes: list[tuple],
        expected: list,
        outcomes: list[Outcome],
        report: Report,
    ) -> int | None:
        """Fill ``report.failures`` and ``report.holds``; return the first probe that fails."""
        names = self._names()
        pairs = list(zip(outcomes, expected, strict=False))
        problems = [problem_of(o, right, names, answer) for o, right in pairs]
        bad = [i for i, problem in enumerate(problems) if problem]
        differing = [
            i
            for i, (outcome, right) in enumerate(pairs)
            if not problems[i] and not same(outcome.value, right)
        ]
        if bad:
            first = problems[bad[0]]
            alike = sum(same_kind(problems[i], first) for i in bad) - 1
            more = f" Likewise on {alike} more inputs." if alike else ""
            report.failures.append(first + more)
        if not any(o.error or different_kind(o.value, right) for o, right in pairs):
            with sandbox.surroundings(seed=1):
                self._repeat(box, answer, probes, outcomes, report)
                self._test_properties(box, answer, probes, report)
        if differing:
            report.failures.append(distance([pairs[i] for i in differing]))
            if ignores_input(pairs):
                report.failures.append("Different inputs get the same result.")
        elif not report.failures:
            report.holds.append(f"Agrees with the definition on {len(probes)} inputs.")
        return min(bad + differing, default=None)

    def _repeat(
        self,
        box: Sandbox,
        answer: Callable,
        probes: list[tuple],
        outcomes: list[Outcome],
        report: Report,
    ) -> None:
        for i in (0, -1):
            again = box.call(answer, probes[i])
            if again.error:
                report.failures.append(
                    "Called a second time with the same input, it fails. "
                    + error_sentence(again, answer)
                )
                return
            if not same(again.value, outcomes[i].value):
                report.failures.append(
                    "Called twice with the same input, it returns two different results: "
                    f"{describe(outcomes[i].value)}, then {describe(again.value)}. "
                    "It must not draw random numbers or remember earlier calls."
                )
                return

    def _test_properties(
        self, box: Sandbox, answer: Callable, probes: list[tuple], report: Report
    ) -> None:
        def guarded(*arguments: object) -> object:
            outcome = box.call(answer, arguments)
            if outcome.error:
                raise _Stumbled(error_sentence(outcome, answer))
            return outcome.value

        for item in self.properties:
            for probe in probes:
                try:
                    contradiction = item.find_counterexample(guarded, *probe)
                except _Stumbled as stumble:
                    contradiction = str(stumble)
                if contradiction:
                    report.failures.append(f"Not true: {item.sentence} {contradiction}")
                    break
            else:
                report.holds.append(item.sentence)

    def _cut_off(self, f: Callable, *probe: object) -> str | None:
        return cut_off(f, self.reference, self._names(), probe)

    def _names(self) -> list[str]:
        """The names of the arguments, as the chapter calls them."""
        return list(inspect.signature(self.reference).parameters)

    def _recognise(self, probes: list[tuple], outcomes: list[Outcome], report: Report) -> None:
        for name, mistake in self.mistakes.items():
            with sandbox.surroundings():
                produced = _run(Sandbox(), mistake, probes)
            if len(produced) == len(outcomes) and all(map(reproduces, outcomes, produced)):
                report.diagnosis, report.explanation = name, self.explanations[name]
                return

    def _show_counterexample(self, probe: tuple, outcome: Outcome, report: Report) -> None:
        names = self._names()
        given = ", ".join(
            f"`{name} = {describe(value)}`" for name, value in zip(names, probe, strict=True)
        )
        result = describe(outcome.value)
        then = "it stops with an error" if outcome.error else f"you return `{result}`"
        report.counterexample = f"for {given} {then}."
        report.printed = outcome.printed.rstrip()


class Prediction(Exercise):
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
            report.failures.append(f"{describe(number)} is too {side}.")
            for name, value in self.mistakes.items():
                if math.isclose(number, value, rel_tol=self.within, abs_tol=1e-9):
                    report.diagnosis = name
                    report.explanation = self.explanations[name]


class Choice(Exercise):
    """A prediction among options: the learner commits to a letter before running the code.

    >>> spread = Choice(
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
        letter = answer.strip().upper() if isinstance(answer, str) else None
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
    for probe in probes:
        outcomes.append(box.call(function, probe))
        if outcomes[-1].timed_out:
            break
    return outcomes


def _untouched(answer: object) -> bool:
    """Whether the stub still stands: `...` itself, or a function whose body is `...` or `pass`."""
    if answer is None or answer is ...:
        return True
    code = getattr(answer, "__code__", None)
    if code is None:
        return False
    harmless = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}
    instructions = list(dis.get_instructions(code))
    return all(
        i.opname in harmless
        and (i.opname not in ("LOAD_CONST", "RETURN_CONST") or i.argval in (None, ...))
        for i in instructions
    )
