"""Where two computations must agree: stored and fresh runs, or two ways to one result.

The package has a file of stored runs for each laboratory notebook. It begins with comments that say
what made the runs. A table in CSV follows, with one or several rows for each seed.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import takewhile
from typing import SupportsFloat, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

Columns: TypeAlias = dict[str, np.ndarray]
Cell: TypeAlias = str | SupportsFloat
Row: TypeAlias = Mapping[str, Cell]

STORED_RUNS = resources.files("attnbook") / "stored_runs"
DIGITS = 5  # of a stored number


def read_runs(name: str) -> Columns:
    """The stored runs of the laboratory notebook with this name, such as "02-values", by column.

    Raises ``FileNotFoundError`` if the package has no runs under this name.
    """
    file = STORED_RUNS / f"{name}.csv"
    if not file.is_file():
        raise FileNotFoundError(
            f"no runs are stored for {name}. This command, in the root of the book's repository, "
            f"makes and stores them: python -m attncourse replicate lab/{name}"
        )
    return columns(file.read_text("utf8"))


def columns(text: str) -> Columns:
    r"""The columns of a file of stored runs. Columns with anything but numbers hold texts.

    Raises ``ValueError`` if a row does not have as many cells as the first line has names.

    >>> runs = columns("# torch 2.13.0\nseed,design,right\n0,one head,51.5\n0,two heads,100\n")
    >>> print(*runs["design"], *runs["right"], sep=", ")
    one head, two heads, 51.5, 100.0
    """
    _, rows = comments_and_rows(text)
    return {name: _numbers_or_texts([row[name] for row in rows]) for name in rows[0]}


def comments_and_rows(text: str) -> tuple[list[str], list[dict[str, str]]]:
    """The comments of a file of stored runs, and its rows by the names of their columns.

    Raises ``ValueError`` if a row does not have as many cells as the first line has names.
    """
    lines = list(io.StringIO(text))
    comments = [line[1:].strip() for line in takewhile(lambda line: line.startswith("#"), lines)]
    names, *rows = csv.reader(lines[len(comments) :])
    for row in rows:
        if len(row) != len(names):
            raise ValueError(
                f"there are {len(names)} columns, {', '.join(names)}, but a row is {row}"
            )
    return comments, [dict(zip(names, row, strict=True)) for row in rows]


def _numbers_or_texts(cells: list[str]) -> np.ndarray:
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError:
        return np.array(cells)


def where(runs: Columns, **wanted: object) -> Columns:
    """The rows in which the named columns have the wanted values.

    Raises ``ValueError`` if there is no such row.

    >>> runs = {"seed": np.array([0, 1]), "right": np.array([51.5, 100.0])}
    >>> where(runs, seed=1)["right"].tolist()
    [100.0]
    """
    chosen = np.logical_and.reduce([runs[name] == value for name, value in wanted.items()])
    if not chosen.any():
        raise ValueError(f"no row has {wanted}")
    return {name: column[chosen] for name, column in runs.items()}


@dataclass(frozen=True)
class Pairs:
    """The differences of two designs in runs that share a seed, the first minus the second."""

    differences: np.ndarray

    @property
    def median(self) -> float:
        return float(np.median(self.differences))

    @property
    def more(self) -> int:
        """In how many pairs the first design has more than the second."""
        return int((self.differences > 0).sum())

    @property
    def less(self) -> int:
        """In how many pairs the first design has less than the second."""
        return int((self.differences < 0).sum())

    @property
    def p(self) -> float:
        """How likely so uneven a split is if neither design tends to have more: the sign test."""
        unequal = self.more + self.less
        at_least = sum(math.comb(unequal, k) for k in range(max(self.more, self.less), unequal + 1))
        return min(1.0, 2 * at_least / 2**unequal)

    def __format__(self, spec: str) -> str:
        """The median and the range of the differences, and in how many pairs it has this sign."""
        low, high = self.differences.min(), self.differences.max()
        number, word = (self.less, "less") if self.median < 0 else (self.more, "more")
        several = f"{self.median:{spec}} ({low:{spec}} to {high:{spec}})"
        return f"{several}, {word} in {number} of {len(self.differences)}".replace("-", "−")


def paired(first: ArrayLike, second: ArrayLike) -> Pairs:
    """Compare two designs in pairs: runs in the same order of seeds, the first minus the second.

    Seeds differ more from each other than designs do, and a pair has its seed in common. Raises
    ``ValueError`` for different numbers of runs and for none.

    >>> pairs = paired([97.0, 92.5, 95.0], [99.5, 97.5, 95.5])
    >>> print(f"{pairs:+.1f}", pairs.p)
    −2.5 (−5.0 to −0.5), less in 3 of 3 0.25
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if first.shape != second.shape or first.ndim != 1 or not len(first):
        raise ValueError(
            f"pairs need the same number of runs: got {first.shape} and {second.shape}"
        )
    return Pairs(first - second)


def as_stored(value: Cell) -> str:
    """A cell of a row as the file of stored runs has it: numbers are rounded.

    >>> print(as_stored("one head"), as_stored(2 / 3), as_stored(100.0), as_stored(2048))
    one head 0.66667 100 2048
    """
    return value if isinstance(value, str) else f"{float(value):.{DIGITS}g}"


def assert_replicates(
    stored: Columns,
    fresh: Mapping[int, Row | Sequence[Row]],
    *,
    skip: Mapping[str, Sequence[str | float]] | None = None,
    chaotic: Mapping[str, Sequence[str | float]] | None = None,
    **within: float,
) -> None:
    r"""Assert that fresh runs, one row or several for each seed, agree with the stored ones.

    ``within`` has columns of numbers, and how much each may differ. The others must be equal.
    ``skip`` names rows that are not compared, by a column and its values: what is not run again.
    ``chaotic`` names runs that depend on rounding. On a different processor, their results differ,
    as those of a different seed would. So they must lie within the range of all stored seeds, or at
    most half its width beyond it. Prints one line. Raises ``AssertionError`` with the seed, the
    column and both values.

    >>> stored = columns("seed,design,right\n0,one head,51.5")
    >>> assert_replicates(stored, {0: {"design": "one head", "right": 51.4}}, right=0.5)
    ✓ a fresh run of seed 0 agrees with the stored one
    >>> assert_replicates(stored, {0: {"design": "one head", "right": 49.0}}, right=0.5)
    Traceback (most recent call last):
    AssertionError: seed 0, row 1: right is 49, stored is 51.5, more than 0.5 apart
    """
    for column, values in (skip or {}).items():
        compared = ~np.isin(stored[column], list(values))
        stored = {name: cells[compared] for name, cells in stored.items()}
    for seed, rows in fresh.items():
        rows = [rows] if isinstance(rows, Mapping) else rows
        rows = [row for row in rows if not _is_named(row, skip)]
        kept = where(stored, seed=seed)
        if len(rows) != len(kept["seed"]):
            raise AssertionError(
                f"seed {seed} has {len(rows)} rows, but {len(kept['seed'])} are stored"
            )
        for i, row in enumerate(rows):
            if {"seed", *row} != {*stored}:
                raise AssertionError(
                    f"seed {seed} has the columns {[*row]}, but {[*stored]} are stored"
                )
            settings = {name: kept[name][i] for name in row if name not in within}
            for name, value in row.items():
                place = f"seed {seed}, row {i + 1}: {name}"
                if name in within and _is_named(row, chaotic):
                    _compare_with_all(value, where(stored, **settings)[name], within[name], place)
                else:
                    _compare(value, kept[name][i], within.get(name), place)
    seeds = ", ".join(map(str, fresh))
    if len(fresh) == 1:
        print(f"✓ a fresh run of seed {seeds} agrees with the stored one")
    else:
        print(f"✓ fresh runs of seeds {seeds} agree with the stored ones")


def _is_named(row: Row, rows: Mapping[str, Sequence[str | float]] | None) -> bool:
    """Whether a row has one of the values that are named, by column."""
    return any(row[column] in values for column, values in (rows or {}).items())


def _compare(value: Cell, stored: Cell, within: float | None, place: str) -> None:
    value, stored = as_stored(value), as_stored(stored)
    says = f"{place} is {value}, stored is {stored}"
    if within is None:
        if value != stored:
            raise AssertionError(says)
    elif not abs(float(value) - float(stored)) <= within:  # also if one is not a number
        raise AssertionError(f"{says}, more than {within:g} apart")


def _compare_with_all(value: Cell, stored: np.ndarray, within: float, place: str) -> None:
    low, high = stored.min(), stored.max()
    beyond = max(within, (high - low) / 2)
    if not low - beyond <= float(value) <= high + beyond:  # also if it is not a number
        says = f"{place} is {as_stored(value)}, all seeds are {as_stored(low)} to {as_stored(high)}"
        raise AssertionError(f"{says}, more than {as_stored(beyond)} apart")


def confirm(says: str, ours: ArrayLike, theirs: ArrayLike, *, within: float = 1e-6) -> None:
    """Assert that two results are equal up to ``within``, and print this in one line.

    Raises ``AssertionError`` with the largest difference, or with the shapes if they differ.

    >>> confirm("equal to the sum by hand", [0.1 + 0.2], [0.3])
    ✓ equal to the sum by hand (to 1e-06)
    """
    ours, theirs = _array(ours), _array(theirs)
    if ours.shape != theirs.shape:
        raise AssertionError(f"not {says}: the shapes are {ours.shape} and {theirs.shape}")
    with np.errstate(invalid="ignore"):  # ∞ − ∞
        differences = np.where(ours == theirs, 0.0, np.abs(ours - theirs))
    if not (differences <= within).all():  # also if one is not a number
        raise AssertionError(
            f"not {says}: the largest difference is {differences.max():.3g}, more than {within:g}"
        )
    print(f"✓ {says} (to {within:g})")


def _array(numbers: ArrayLike) -> np.ndarray:
    if hasattr(numbers, "detach"):  # a tensor, maybe on another device or in half precision
        numbers = numbers.detach().double().cpu()
    return np.asarray(numbers, dtype=np.float64)
