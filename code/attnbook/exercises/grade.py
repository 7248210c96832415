"""Grading: what tells the kinds of exercises apart and judges an answer to each."""

import inspect
import math
import string

import torch

from attnbook.exercises import sandbox
from attnbook.exercises.compare import (
    is_number,
    to_float,
)
from attnbook.exercises.declare import (
    Construction,
    Exercise,
    MultipleChoice,
    NumericAnswer,
    Repair,
    Suspects,
)
from attnbook.exercises.examine import Examination, name_mistake
from attnbook.exercises.report import Report, describe, told_apart
from attnbook.exercises.sandbox import Sandbox
from attnbook.exercises.verdicts import judge_test
from attnbook.exercises.words import kind_of, listed


def grade(exercise: Exercise, answer: object, seed: int = 0) -> Report:
    """Run the answer on the inputs of a seed and say what holds and what does not; never raises.

    >>> double = Exercise("0.1", "Twice", hints=["What is x + x?"])
    >>> _ = double.solution(lambda x: 2 * x)
    >>> _ = double.inputs(lambda generator: [(3.0,)])
    >>> grade(double, lambda x: x * x).failures
    ['The result is not right. It is off by up to 3.']
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
            "Your answer, or its result, is of a kind that can't be examined "
            f"({type(error).__name__})."
        )
    return report


def _judge(exercise: Exercise, answer: object, seed: int, report: Report) -> None:
    match exercise:
        case NumericAnswer():
            _judge_number(exercise, answer, report)
        case MultipleChoice():
            _judge_letter(exercise, answer, report)
        case Construction():
            _judge_construction(exercise, answer, report)
        case Repair() if is_number(answer):
            _judge_line(exercise, answer, report)
        case _ if misfit := _misfit(answer, exercise):
            report.failures.append(misfit)
        case Suspects():
            judge_test(exercise, answer, seed, report)
        case _:
            with Sandbox() as box:
                Examination(exercise, answer, box, report).judge(seed)


def _judge_number(exercise: NumericAnswer, answer: object, report: Report) -> None:
    if not is_number(answer):
        report.failures.append(f"The answer must be one number, but yours is {kind_of(answer)}.")
        return
    number = to_float(answer)
    # a share of the right number, as the task says, not of the larger of both
    error = abs(number - exercise.reference) / (abs(exercise.reference) or 1)
    if error <= exercise.within + 1e-9:
        how = "up to rounding" if error <= 0.01 else f"within {100 * exercise.within:.0f} %"
        report.holds.append(f"Your number is right, {how}.")
    elif math.isnan(number):
        report.failures.append("The answer must be one number, but yours is NaN.")
    elif number < 0 <= exercise.reference:
        report.failures.append(f"{describe(number)} is negative, but the right number is not.")
    else:
        side = "large" if number > exercise.reference else "small"
        report.failures.append(f"{told_apart(number, exercise.reference)} is too {side}.")
        off = {
            name: abs(number - value)
            for name, value in exercise.mistakes.items()
            if math.isclose(number, value, rel_tol=exercise.within, abs_tol=1e-9)
        }
        if off:
            name_mistake(min(off, key=off.get), exercise, report)


def _judge_letter(exercise: MultipleChoice, answer: object, report: Report) -> None:
    around = string.whitespace + string.punctuation  # "a)" is a letter, too
    letter = answer.strip(around).upper() if isinstance(answer, str) else None
    if letter not in exercise.options:
        letters = listed([f'`"{option}"`' for option in exercise.options], last="or")
        report.failures.append(
            f"The answer must be one letter, {letters}, but yours is `{describe(answer)}`."
        )
    elif letter == exercise.reference:
        report.holds.append(exercise.because)
    else:
        evidence = "figure" if exercise.figure else "next experiment"
        report.failures.append(f"The {evidence} contradicts {letter}.")
        names = {option: name for name, option in exercise.mistakes.items()}
        name_mistake(names[letter], exercise, report)


def _judge_construction(exercise: Construction, answer: object, report: Report) -> None:
    try:
        found = torch.as_tensor(answer).detach()
    except (TypeError, ValueError, RuntimeError):
        got = kind_of(answer)
    else:
        got = None
        if found.shape != exercise.shape:
            got = f"of shape {tuple(found.shape)}"
        elif found.is_complex() or not found.isfinite().all():
            got = "complex" if found.is_complex() else "not finite"
    if got:
        report.failures.append(
            f"The answer must be a tensor of finite numbers of shape {exercise.shape}, but yours "
            f"is {got}."
        )
        return
    found = found.double()
    for item in exercise.properties:
        if contradiction := item.find_counterexample(found):
            report.failures.append(f"Not true: {item.sentence} {contradiction}")
        else:
            report.holds.append(item.sentence)
    if report.failures:
        for name, recognises in exercise.recognises.items():
            if recognises(found):
                name_mistake(name, exercise, report)
                return


def _judge_line(exercise: Repair, answer: object, report: Report) -> None:
    number = to_float(answer)
    if number == exercise.line:
        report.holds.append(f"Line {exercise.line} is the wrong one. {exercise.because}")
        report.failures.append("Now mend this line, and check the function.")
    elif number in exercise.right_lines:
        report.failures.append(f"Line {number:.0f} is right. {exercise.right_lines[int(number)]}")
    else:
        lines = sorted([exercise.line, *exercise.right_lines])
        report.failures.append(
            f"There is no line {describe(answer)}: the lines have the numbers from {lines[0]} to "
            f"{lines[-1]}."
        )


def _misfit(answer: object, exercise: Exercise) -> str | None:
    """What is wrong with an answer that is not a function of the arguments."""
    names = exercise.arguments
    wanted = f"a function of {listed(names)}"
    if isinstance(exercise, Repair) and not callable(answer):
        number = "the number of a line, such as 1"
        return f"The answer must be {number}, or {wanted}, but yours is {kind_of(answer)}."
    if not callable(answer):
        return f"The answer must be {wanted}, but yours is {kind_of(answer)}, not a function."
    try:
        inspect.signature(answer).bind(*names)
    except TypeError:
        own = listed(list(inspect.signature(answer).parameters))
        return f"The answer must be {wanted}, but yours takes {own or 'no arguments'}."
    except ValueError:  # a built-in without a signature: calling it will tell
        return None
    return None


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
