"""What a class has learned: its answers to a form before the course, and to the other one after it.

Each table is a CSV file with a row for each student: Moodle's export of a quiz (columns
``Email address`` and ``Q. 1 /1.00`` …), or any table with a column ``student`` and the columns
``1``, ``2`` … that have 1 for a right answer and 0 for a wrong one.
"""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attncourse import UsageError

# the names of a column that tells students apart
NAMES = ("Email address", "ID number", "student", "Student")
ROUNDS = 10_000  # of the bootstrap


@dataclass
class Gain:
    """Numbers of a class. Its intervals hold 95 of 100 results if its students are drawn again."""

    students: int
    questions: list[tuple[float, float]]  # shares of right answers before and after
    before: float  # right answers on average
    after: float
    gained: tuple[float, float]  # the interval of after - before
    normalised: float  # of all that could be gained, the share that was
    normalised_in: tuple[float, float]
    only_once: list[str]  # students who are in one of the tables alone


def scores(path: Path) -> dict[str, list[float]]:
    """The share of the points that each student got for each question.

    Raises ``UsageError`` for a table without students or questions, a student who is in it twice,
    or a cell that is no number of points.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = list(rows[0]) if rows else []
    who = next((name for name in NAMES if name in columns), None)
    questions = {}
    for column in columns:
        if found := re.fullmatch(r"(?:Q\. ?)?(\d+)(?: ?/(\d+(?:[.,]\d+)?))?", column.strip()):
            most = float((found[2] or "1").replace(",", "."))
            questions[int(found[1])] = column, most
    if who is None or not questions:
        raise UsageError(
            f"{path}: it needs a column of students ({', '.join(NAMES)}) and columns of questions "
            f"(1, 2, … or Q. 1 /1.00, …), but its columns are {', '.join(columns) or 'none'}"
        )
    found = {}
    for row in rows:
        name = (row[who] or "").strip().lower()
        if not name:  # Moodle's last row has averages
            continue
        if name in found:
            raise UsageError(f"{path}: {name} is in it twice; leave one attempt of each student")
        found[name] = [
            _share(path, name, row[c], most) for _, (c, most) in sorted(questions.items())
        ]
    return found


def _share(path: Path, name: str, cell: str, most: float) -> float:
    text = (cell or "").strip().replace(",", ".")
    if text in ("", "-"):  # not answered
        return 0.0
    try:
        share = float(text) / most
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"{path}: {name} has {cell!r} where 0 to {most:g} points can be")
    return share


def gain(before: Path, after: Path) -> Gain:
    """Compare two tables, student by student.

    The normalised gain is that of Hake 1998, https://doi.org/10.1119/1.18809: the gain of the class
    divided by the gain that all right answers after the course would be. Intervals come from
    drawing students with replacement.

    Raises ``UsageError`` for different numbers of questions, for fewer than five students in both
    tables, or if nothing could be gained.
    """
    first, second = scores(before), scores(after)
    both = sorted(first.keys() & second.keys())
    if len(both) < 5:
        raise UsageError(
            f"{len(both)} students are in both tables, too few to measure: are they named alike?"
        )
    counts = {len(table[name]) for table in (first, second) for name in both}
    if len(counts) > 1:
        raise UsageError(f"the tables have {min(counts)} and {max(counts)} questions")
    (count,) = counts
    x, y = (np.array([table[name] for name in both]) for table in (first, second))  # (students, n)
    if x.mean() == 1:
        raise UsageError("everybody was right about everything before: nothing could be gained")
    drawn = np.random.default_rng(0).integers(len(both), size=(ROUNDS, len(both)))
    before_drawn, after_drawn = (table.sum(axis=1)[drawn].mean(axis=1) for table in (x, y))
    gained = after_drawn - before_drawn
    possible = np.maximum(count - before_drawn, 1e-9)
    return Gain(
        students=len(both),
        questions=list(zip(x.mean(axis=0).tolist(), y.mean(axis=0).tolist(), strict=True)),
        before=x.sum(axis=1).mean(),
        after=y.sum(axis=1).mean(),
        gained=_interval(gained),
        normalised=(y.mean() - x.mean()) / (1 - x.mean()),
        normalised_in=_interval(gained / possible),
        only_once=sorted(first.keys() ^ second.keys()),
    )


def _interval(numbers: np.ndarray) -> tuple[float, float]:
    low, high = np.percentile(numbers, [2.5, 97.5]).tolist()
    return low, high


def summary(found: Gain, about: list[str]) -> str:
    """What a teacher reads: the class, then each question."""
    count = len(found.questions)
    low, high = found.gained
    least, most = found.normalised_in
    lines = [
        f"{found.students} students, {count} questions",
        f"right before: {found.before:.1f}, after: {found.after:.1f}",
        f"gain: {found.after - found.before:+.1f} (95 % interval {low:+.1f} to {high:+.1f})",
        f"normalised gain: {found.normalised:.2f} (95 % interval {least:.2f} to {most:.2f})",
        "",
        "| | About | Right before, % | After, % |",
        "|---|---|---|---|",
    ]
    names = about if len(about) == count else [""] * count
    for number, (name, (x, y)) in enumerate(zip(names, found.questions, strict=True), start=1):
        lines.append(f"| {number} | {name} | {100 * x:.0f} | {100 * y:.0f} |")
    return "\n".join(lines)
