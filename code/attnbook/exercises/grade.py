"""Grading: what runs an answer to an exercise and judges it.

The answer and every catalogued mistake run on the same inputs, the probes. The mistake whose
results the answer reproduces is the diagnosis. Properties that fail are reported whether or not
a mistake is recognised.
"""

import contextlib
import functools
import inspect
import math
import re
import string
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
    kind_of,
    listed,
    reproduces,
    same,
    to_float,
)
from attnbook.exercises.declare import (
    GRADIENTS,
    Exercise,
    MultipleChoice,
    NumericAnswer,
    Trial,
)
from attnbook.exercises.report import Report, beside, describe, told_apart
from attnbook.exercises.sandbox import Outcome, Sandbox
from attnbook.exercises.shrink import cut


def grade(exercise: Exercise, answer: object, seed: int = 0) -> Report:
    """Run the answer on the inputs of a seed and say what holds and what does not; never raises.

    >>> double = Exercise("0.1", "Twice", hints=["What is x + x?"])
    >>> _ = double.solution(lambda x: 2 * x)
    >>> _ = double.inputs(lambda generator: [(3.0,)])
    >>> grade(double, lambda x: x * x).failures
    ['The result is not right: it is off by up to 3.']
    >>> grade(double, lambda x: x + x).passed
    True
    """
    report = Report(f"{exercise.id} · {exercise.title}")
    try:
        if _untouched(answer):
            report.attempted = False
        else:
            with sandbox.reproducible():
                _judge(exercise, answer, seed, report)
    except Exception as error:
        report.holds.clear()
        report.failures.append(
            "Your answer, or what it returns, is of a kind that can't be examined "
            f"({type(error).__name__})."
        )
    return report


def _judge(exercise: Exercise, answer: object, seed: int, report: Report) -> None:
    match exercise:
        case NumericAnswer():
            _judge_number(exercise, answer, report)
        case MultipleChoice():
            _judge_letter(exercise, answer, report)
        case _ if misfit := _misfit(answer, exercise.arguments):
            report.failures.append(misfit)
        case _:
            with Sandbox() as box:
                _Examination(exercise, answer, box, report).judge(seed)


def _judge_number(exercise: NumericAnswer, answer: object, report: Report) -> None:
    if not is_number(answer):
        report.failures.append(f"The answer is one number; yours is {kind_of(answer)}.")
        return
    number = to_float(answer)
    if math.isclose(number, exercise.reference, rel_tol=exercise.within):
        report.holds.append("That is the number, up to rounding.")
    elif math.isnan(number):
        report.failures.append("The answer is one number; yours is NaN.")
    elif number < 0 <= exercise.reference:
        report.failures.append(f"{describe(number)} is negative; this can't be.")
    else:
        side = "large" if number > exercise.reference else "small"
        report.failures.append(f"{told_apart(number, exercise.reference)} is too {side}.")
        off = {
            name: abs(number - value)
            for name, value in exercise.mistakes.items()
            if math.isclose(number, value, rel_tol=exercise.within, abs_tol=1e-9)
        }
        if off:
            _name(min(off, key=off.get), exercise, report)


def _judge_letter(exercise: MultipleChoice, answer: object, report: Report) -> None:
    around = string.whitespace + string.punctuation  # "a)" is a letter, too
    letter = answer.strip(around).upper() if isinstance(answer, str) else None
    if letter not in exercise.options:
        letters = listed([f'`"{option}"`' for option in exercise.options], last="or")
        report.failures.append(
            f"The answer is one letter, {letters}; yours is `{describe(answer)}`."
        )
    elif letter == exercise.reference:
        report.holds.append(exercise.because)
    else:
        report.failures.append(f"{letter} is not what the next experiment shows.")
        names = {option: name for name, option in exercise.mistakes.items()}
        _name(names[letter], exercise, report)


def _name(mistake: str, exercise: Exercise, report: Report) -> None:
    report.diagnosis, report.explanation = mistake, exercise.explanations[mistake]


def _misfit(answer: object, names: list[str]) -> str | None:
    """What is wrong with an answer that is not a function of these arguments."""
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


@dataclass
class _Attempt:
    """What an answer made of the inputs of one trial."""

    trial: Trial
    outcomes: list[Outcome]
    comparison: Comparison


class _Examination:
    """One answer to a coding exercise, run in a sandbox; a report says what is found."""

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
            self.show_counterexample(attempt)
        else:
            count = len(attempt.outcomes)
            self.report.holds.append(f"Agrees with the definition on {count} inputs.")

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
        failures += [comparison.difference(), comparison.only_without_batch()]
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
        return f"The result must be of an integer type, which `nn.Embedding` takes; it is {wrong}."

    def repeat(self, attempt: _Attempt) -> str | None:
        """What goes wrong when the first and the last call are made again."""
        for i in (0, -1):
            before = attempt.outcomes[i]
            again = self.box.call(self.answer, attempt.trial.probes[i])
            if again.error:
                return "Called a second time with the same input, it fails. " + error_sentence(
                    again, self.answer
                )
            if not same(again.value, before.value):
                return (
                    "Called twice with the same input, it returns two different results: "
                    f"{told_apart(before.value, again.value)}, then "
                    f"{told_apart(again.value, before.value)}. "
                    "Its result may depend neither on random numbers nor on earlier calls."
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
            raise _Stumbled(error_sentence(outcome, self.answer))
        if contains_nan(outcome.value):
            raise _Stumbled(f"There: {NAN}")
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
            advice = "Constants can have the type of the inputs: `.to(x)` or `dtype=x.dtype`."
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
        return f"{_EMPTY_RESULT[_is_boolean(attempt.outcomes[0].value)]}: is it ever filled?"

    def recognise(self, attempt: _Attempt, *, empty: bool = False) -> None:
        """Name the mistake that has the same results as the answer.

        Where these are empty, a mistake that finds something in other numbers is another one.
        """
        for alike in (_alike, _alike_where_it_runs):
            for name, mistake in self.exercise.mistakes.items():
                if alike(attempt, self.results_of(name, attempt.trial)):
                    if empty and not all(map(_is_empty, self.on_noise(mistake, attempt.trial))):
                        continue
                    _name(name, self.exercise, self.report)
                    return

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
        wrong = attempt.comparison.first_wrong
        if wrong is None:
            return
        trial = attempt.trial
        probe, outcome, right = self.shrink(
            trial.probes[wrong], attempt.outcomes[wrong], trial.expected[wrong]
        )
        given = ", ".join(
            f"`{name} = {describe(value)}`" for name, value in zip(self.names, probe, strict=True)
        )
        then = "it stops with an error" if outcome.error else beside(outcome.value, right)
        self.report.counterexample = f"for {given} {then}."
        self.report.printed = outcome.printed.rstrip()

    def shrink(
        self, probe: tuple, outcome: Outcome, right: object
    ) -> tuple[tuple, Outcome, object]:
        """The first part of an input whose result is wrong, and so on; or all of it.

        If the parts are right alone and wrong together, the report says so.
        """
        while not outcome.timed_out and (pieces := cut(self.exercise.reference, probe, right)):
            outcomes = self.box.call_on_all(self.answer, pieces.parts)
            pairs = list(zip(outcomes, pieces.expected, strict=False))
            wrong = Comparison(pairs, self.names, self.answer).first_wrong
            if wrong is None:
                all_tried = len(pairs) == len(pieces.parts)
                if all_tried and getattr(outcome.value, "shape", None) == right.shape:
                    names = listed([f"`{self.names[i]}`" for i in pieces.arguments])
                    self.report.failures.append(
                        f"Cut along axis {pieces.axis} of {names}, each part alone gets the right "
                        "result, but not all together: does a step mix them or treat them alike?"
                    )
                break
            probe, outcome, right = pieces.parts[wrong], outcomes[wrong], pieces.expected[wrong]
        return probe, outcome, right


class _Stumbled(Exception):
    """The learner's function raised while a property was being tested."""


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


_EMPTY_RESULT = ("The result is all zeros, whatever comes in", "The result is False everywhere")


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
