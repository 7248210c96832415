"""The exercises of the book, and what grades answers to them.

Chapters use ``check`` and ``hint``, assignments ``points``, tests ``catalogue``. Each module
``ch…`` holds one chapter's exercises: a reference, inputs to try answers on, properties of right
answers, and the mistakes that people make. They write these with ``declare``, and with
``properties``, tests that several exercises share. ``grade`` judges an answer: ``sandbox`` runs the
learner's function, ``compare`` says how its results differ from the right ones, ``shrink`` looks
for a smaller counterexample, ``verdicts`` tries a learner's test, and ``report`` is what the
learner sees.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pkgutil import iter_modules

from attnbook.exercises import grade
from attnbook.exercises.declare import (
    Construction,
    Exercise,
    MultipleChoice,
    NumericAnswer,
    Repair,
    Suspects,
)
from attnbook.exercises.renumbered import number_now
from attnbook.exercises.report import Report

__all__ = [
    "Construction",
    "Exercise",
    "MultipleChoice",
    "NumericAnswer",
    "Repair",
    "Report",
    "Suspects",
    "catalogue",
    "check",
    "hint",
    "points",
    "suspects",
]

_CHAPTERS = [
    import_module(f"{__name__}.{module.name}")
    for module in sorted(iter_modules(__path__), key=lambda module: module.name)
    if module.name.startswith("ch")
]
_hints_given: dict[str, int] = {}


def catalogue() -> Iterator[Exercise]:
    """Yield every exercise of the book, in its order."""
    for chapter in _CHAPTERS:
        yield from (item for item in vars(chapter).values() if isinstance(item, Exercise))


_EXERCISES = {exercise.id: exercise for exercise in catalogue()}


def check(id: str, answer: object) -> Report:
    """Grade an answer, show what holds and what does not, and return the report.

    Raises ``KeyError`` if there is no exercise ``id``.
    """
    report = grade.grade(_find(id, answer), answer)
    report.show()
    return report


def hint(id: str) -> None:
    """Print the next hint of an exercise; each call unfolds one more.

    Raises ``KeyError`` if there is no exercise ``id``.
    """
    exercise = _find(id)
    id, hints = exercise.id, exercise.hints
    given = _hints_given[id] = min(_hints_given.get(id, 0) + 1, len(hints))
    for number, text in enumerate(hints[:given], start=1):
        print(f"Hint {number} of {len(hints)}: {text}")
    if given == len(hints):
        print("That was the last hint. In the book, a solution is folded below the exercise.")


def suspects(id: str) -> dict[str, Callable]:
    """The functions of an exercise to sort out, by letter.

    Raises ``KeyError`` if there is no exercise ``id``, ``ValueError`` if it has no such functions.
    """
    exercise = _find(id)
    if not isinstance(exercise, Suspects):
        raise ValueError(f"exercise {id} has no functions to sort out")
    return exercise.by_letter


def points(id: str, answer: object, *, of: float, seeds: Iterable[int]) -> float:
    """Grade an answer for an assignment: its points, from 0 to ``of``, to two decimals.

    It is tried on the inputs of one seed after the other, and the first that shows a mistake
    counts. A right answer gets all points; a wrong one up to half, in equal parts for the
    properties that hold.

    Raises ``KeyError`` if there is no exercise ``id``, ``ValueError`` if there are no seeds.
    """
    exercise = _find(id, answer)
    seeds = [*seeds]
    if not seeds:
        raise ValueError(
            "seeds is empty, but an answer must be tried on the inputs of at least one seed"
        )
    for seed in seeds:
        report = grade.grade(exercise, answer, seed)
        if not report.passed:
            break
    report.show()
    return round(of * exercise.share(report), 2)


def _find(id: str, answer: object = None) -> Exercise:
    """The exercise with this number; a number from before version 2.0 is understood, too."""
    id = number_now(id, _EXERCISES, answer)
    if id not in _EXERCISES:
        chapter = str(id).split(".")[0] + "."
        near = [known for known in _EXERCISES if known.startswith(chapter)]
        raise KeyError(
            f"no exercise {id!r} has a check and hints. Write the number in quotes, as one of "
            f"{', '.join(map(repr, near or _EXERCISES))}"
        )
    return _EXERCISES[id]
