"""Exercises that answer back: what an exercise is and how an answer to it is graded.

A submission and every catalogued mistake run on the same inputs, the probes. The mistake whose
results the submission reproduces is the diagnosis. Properties that fail are reported whether or
not a mistake is recognised.
"""

import dis
import inspect
import math
import numbers
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

from . import sandbox
from .report import Report, describe
from .sandbox import Outcome

RELATIVE, ABSOLUTE = (
    1e-4,
    1e-5,
)  # results this close are equal: float32 in another order


@dataclass
class Property:
    """A sentence that holds for right answers, and the test that looks for a counterexample."""

    sentence: str
    find_counterexample: (
        Callable  # (function, *probe) -> None or a sentence with numbers
    )


class Exercise:
    """A coding exercise: a reference, inputs to try it on, properties, and known mistakes.

    >>> double = Exercise("0.1", "Twice", stars=1, minutes=1, hints=["What is x + x?"])
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
        self, id: str, title: str, *, stars: int, minutes: int, hints: Iterable[str]
    ) -> None:
        self.id, self.title, self.stars, self.minutes = id, title, stars, minutes
        self.hints = tuple(hints)
        self.reference: object = None
        self.mistakes: dict[str, object] = {}
        self.explanations: dict[str, str] = {}
        self.properties: list[Property] = []
        self._inputs: Callable[[torch.Generator], Iterable[tuple]] | None = None

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
        report = Report(f"{self.id} · {self.title}")
        if _untouched(answer):
            report.attempted = False
            return report
        misfit = self._misfit(answer)
        if misfit:
            report.failures.append(misfit)
            return report
        with sandbox.unchanged_surroundings():
            probes = self.probes(seed)
            expected = [self.reference(*probe) for probe in probes]
            outcomes = _run(answer, probes)
        if isinstance(outcomes[0].error, NotImplementedError):
            report.attempted = False
            return report
        wrong = self._compare(answer, probes, expected, outcomes, report)
        if report.failures:
            self._recognise(probes, outcomes, expected, report)
            if wrong is not None:
                self._show_counterexample(probes[wrong], outcomes[wrong], report)
        return report

    def _misfit(self, answer: object) -> str | None:
        names = list(inspect.signature(self.reference).parameters)
        wanted = f"a function of {_and(names)}"
        if not callable(answer):
            kind = type(answer).__name__
            return f"The answer is {wanted}; yours is {_article(kind)} {kind}, not a function."
        try:
            inspect.signature(answer).bind(*names)
        except TypeError:
            own = _and(list(inspect.signature(answer).parameters))
            return f"The answer is {wanted}; yours takes {own or 'no arguments'}."
        except (
            ValueError
        ):  # a built-in function without a signature: calling it will tell
            return None
        return None

    def _compare(
        self,
        answer: Callable,
        probes: list[tuple],
        expected: list,
        outcomes: list[Outcome],
        report: Report,
    ) -> int | None:
        """Fill ``report.failures`` and ``report.holds``; return the first probe that fails."""
        names = list(inspect.signature(self.reference).parameters)
        wrong = None
        problems = [
            _problem(outcome, right, names, answer)
            for outcome, right in zip(outcomes, expected, strict=False)
        ]
        found = [i for i, problem in enumerate(problems) if problem]
        if found:
            wrong = found[0]
            more = (
                f" Likewise on {len(found) - 1} more inputs." if len(found) > 1 else ""
            )
            report.failures.append(f"{problems[wrong]}{more}")
        if any(outcome.timed_out or outcome.error for outcome in outcomes):
            return wrong
        if wrong is None or not _different_kind(outcomes[wrong].value, expected[wrong]):
            with sandbox.unchanged_surroundings(seed=1):
                self._repeat(answer, probes, outcomes, report)
                self._test_properties(answer, probes, report)
        differing = [
            i
            for i, (outcome, right) in enumerate(zip(outcomes, expected, strict=True))
            if not same(outcome.value, right)
        ]
        if differing:
            first = differing[0]
            if not found:
                report.failures.append(
                    _distance(outcomes[first].value, expected[first])
                )
                if _ignores_input(outcomes, expected):
                    report.failures.append("Different inputs get the same result.")
            if wrong is None or first < wrong:
                wrong = first
        elif not report.failures:
            report.holds.append(f"Agrees with the definition on {len(probes)} inputs.")
        return wrong

    def _repeat(
        self,
        answer: Callable,
        probes: list[tuple],
        outcomes: list[Outcome],
        report: Report,
    ) -> None:
        for probe, outcome in ((probes[0], outcomes[0]), (probes[-1], outcomes[-1])):
            again = sandbox.call(answer, probe)
            if again.error or not same(again.value, outcome.value):
                report.failures.append(
                    "Called twice with the same input, it returns two different results: "
                    f"{describe(outcome.value)}, then "
                    f"{again.error if again.error else describe(again.value)}. "
                    "It must not draw random numbers or remember earlier calls."
                )
                return

    def _test_properties(
        self, answer: Callable, probes: list[tuple], report: Report
    ) -> None:
        def guarded(*arguments: object) -> object:
            outcome = sandbox.call(answer, arguments)
            if outcome.error:
                raise _Stumbled(_error_sentence(outcome, answer))
            return outcome.value

        for item in self.properties:
            for probe in probes:
                try:
                    contradiction = item.find_counterexample(guarded, *probe)
                except _Stumbled as stumble:
                    contradiction = str(stumble)
                except Exception:  # the result is of a kind the test can't compute with
                    contradiction = "The result can't be tested for this."
                if contradiction:
                    report.failures.append(f"Not true: {item.sentence} {contradiction}")
                    break
            else:
                report.holds.append(item.sentence)

    def _recognise(
        self,
        probes: list[tuple],
        outcomes: list[Outcome],
        expected: list,
        report: Report,
    ) -> None:
        for name, mistake in self.mistakes.items():
            with sandbox.unchanged_surroundings():
                produced = _run(mistake, probes)
            if len(produced) == len(outcomes) and all(
                map(_reproduces, outcomes, produced)
            ):
                report.diagnosis, report.explanation = name, self.explanations[name]
                return

    def _show_counterexample(
        self, probe: tuple, outcome: Outcome, report: Report
    ) -> None:
        names = inspect.signature(self.reference).parameters
        given = ", ".join(
            f"`{name} = {describe(value)}`"
            for name, value in zip(names, probe, strict=True)
        )
        result = describe(outcome.value)
        then = "it stops with an error" if outcome.error else f"you return `{result}`"
        report.counterexample = f"for {given} {then}."
        report.printed = outcome.printed.rstrip()


class Prediction(Exercise):
    """An exercise whose answer is a number the learner commits to before running the code."""

    def __init__(
        self,
        id: str,
        title: str,
        *,
        stars: int,
        minutes: int,
        hints: Iterable[str],
        answer: float,
        within: float = 0.05,
    ) -> None:
        super().__init__(id, title, stars=stars, minutes=minutes, hints=hints)
        self.reference = answer
        self.within = within  # relative

    def wrong_value(self, name: str, value: float, explanation: str) -> None:
        """Add a known wrong answer and the two sentences that explain it."""
        self.mistakes[name] = value
        self.explanations[name] = explanation

    def grade(self, answer: object, seed: int = 0) -> Report:
        report = Report(f"{self.id} · {self.title}")
        if answer is None or answer is ...:
            report.attempted = False
            return report
        if not _is_number(answer):
            kind = type(answer).__name__
            report.failures.append(
                f"The answer is one number; yours is {_article(kind)} {kind}."
            )
            return report
        number = float(answer)
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
                    report.diagnosis, report.explanation = name, self.explanations[name]
        return report


class _Stumbled(Exception):
    """The learner's function raised while a property was being tested."""


def same(a: object, b: object) -> bool:
    """Whether two results are equal up to rounding; NaN equals NaN, 0-d tensors equal numbers."""
    try:
        return _same(a, b)
    except Exception:  # a result so strange that it can't be compared equals nothing
        return False


def _same(a: object, b: object) -> bool:
    if _is_number(a) and _is_number(b):
        a, b = (torch.tensor(float(x), dtype=torch.float64) for x in (a, b))
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape or a.is_complex() != b.is_complex():
            return False
        a, b = a.detach().to(torch.float64), b.detach().to(torch.float64)
        return torch.allclose(a, b, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and bool(a == b)


def _run(function: Callable, probes: list[tuple]) -> list[Outcome]:
    """One outcome for each probe, up to the first that runs out of time."""
    outcomes = []
    seconds = sandbox.SECONDS_PER_CHECK
    for probe in probes:
        start = time.monotonic()
        outcomes.append(
            sandbox.call(function, probe, min(seconds, sandbox.SECONDS_PER_CALL))
        )
        if outcomes[-1].timed_out:
            break
        seconds -= time.monotonic() - start
    return outcomes


def _reproduces(a: Outcome, b: Outcome) -> bool:
    if a.error or b.error:
        return type(a.error) is type(b.error) and not a.timed_out
    return a.changed == b.changed and same(a.value, b.value)


def _problem(
    outcome: Outcome, right: object, names: list[str], answer: Callable
) -> str | None:
    """What is wrong with one outcome before its numbers are compared, as a sentence."""
    if outcome.error:
        return _error_sentence(outcome, answer)
    if outcome.changed:
        edited = _and([f"`{names[i]}`" for i in outcome.changed])
        return f"It changes its input {edited} in place: compute a new tensor instead."
    return _different_kind(outcome.value, right) or _not_finite(outcome.value, right)


def _different_kind(value: object, right: object) -> str | None:
    if value is None:
        return "It returns None: is a `return` missing?"
    if _is_number(right):
        if _is_number(value):
            return None
        got = _kind(value)
        return f"It must return one number; it returns {got}."
    if isinstance(right, torch.Tensor):
        if not isinstance(value, torch.Tensor):
            return f"It must return a torch tensor; it returns {_kind(value)}."
        if value.shape != right.shape:
            must, is_ = tuple(right.shape), tuple(value.shape)
            return f"The result must have the shape {must}; it has {is_}."
        if value.is_complex():
            return "The result must be real; it is complex."
        if right.dtype == torch.bool and value.dtype != torch.bool:
            return f"The result must be boolean; it is {value.dtype}."
        return None
    return None if type(value) is type(right) else f"It returns {_kind(value)}."


def _not_finite(value: object, right: object) -> str | None:
    if not (_is_number(value) or isinstance(value, torch.Tensor)):
        return None
    value, right = (
        torch.as_tensor(x).detach().to(torch.float64) for x in (value, right)
    )
    if value.isnan().logical_and(~right.isnan()).any():
        return "The result contains NaN (not a number)."
    if value.isinf().logical_and(~right.isinf()).any():
        return "The result contains an infinite number."
    return None


def _error_sentence(outcome: Outcome, answer: Callable) -> str:
    error = outcome.error
    if outcome.timed_out:
        return (
            f"It did not finish within {sandbox.SECONDS_PER_CALL:g} seconds "
            "on an input this small: is there a loop that never ends?"
        )
    message = _text(error).strip().split("\n")[0][:200].rstrip(".")
    place = sandbox.line_of(error, answer)
    sentence = (
        f"It raises {type(error).__name__}{place}{': ' + message if message else ''}."
    )
    if isinstance(error, RuntimeError) and re.search(
        r"shapes cannot be multiplied|first two dimensions of batch2", message
    ):
        sentence += " The sizes do not fit: is a transpose missing, or of other axes?"
    return sentence


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an exception whose own text raises
        return ""


def _distance(value: object, right: object) -> str:
    """How far off the numbers are, without saying what they should be."""
    value, right = (torch.as_tensor(x).detach().to(torch.float64) for x in (value, right))
    worst = (value - right).abs().max().item()
    sentence = f"The result is not right: it is off by up to {worst:.2g}."
    usable = right.abs() > 1e-3 * right.abs().max()
    if usable.any():
        ratio = (value / right)[usable]
        mean = ratio.mean().item()
        if (ratio - mean).abs().max() < 1e-3 * abs(mean) and abs(mean - 1) > 0.01:
            sentence += f" Here it is {mean:.3g} times what it should be."
    return sentence


def _ignores_input(outcomes: list[Outcome], expected: list) -> bool:
    """Whether some probes want different results of one shape and all get the same one."""
    shapes: dict[object, list[int]] = {}
    for i, right in enumerate(expected):
        shapes.setdefault(getattr(right, "shape", None), []).append(i)
    groups = [group for group in shapes.values() if len(group) > 1]
    varied = [
        g for g in groups if not all(same(expected[g[0]], expected[i]) for i in g)
    ]
    return bool(varied) and all(
        same(outcomes[g[0]].value, outcomes[i].value) for g in varied for i in g
    )


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


def _is_number(value: object) -> bool:
    if isinstance(value, torch.Tensor):
        return value.ndim == 0 and not value.is_complex() and value.dtype != torch.bool
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _kind(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    name = type(value).__name__
    if type(value).__module__ == "numpy":
        return f"a NumPy {name}"
    return f"{_article(name)} {name}"


def _article(word: str) -> str:
    return "an" if word[0].lower() in "aeiou" else "a"


def _and(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
