"""Run experiments with seeds that nobody has looked at, and compare them with the stored runs.

What a notebook says was written while its stored runs were in view. The seeds that follow them were
not: where an experiment's seed chooses a text, theirs are other texts. Their rows are stored in a
folder of their own, which the package does not ship.
"""

import io
import re
import traceback
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import nbformat
import numpy as np

from attnbook import laboratory
from attnbook.laboratory import Columns
from attncourse.chapter import stored_runs, tags
from attncourse.replicate import replicate


@dataclass
class Comparison:
    """The results of runs with new seeds, beside the stored ones."""

    values: int  # measured by the new seeds
    outside: int  # of these, how many lie outside the range of the stored ones
    expected: float  # how many would if the new seeds were no different
    failed: list[str]  # the assertions that fail once the new seeds are among the runs


def unseen(
    path: Path, seeds: int, *, workers: int | None = None, again: bool = False
) -> Comparison:
    """Run the seeds that follow the stored ones, store their rows, and compare.

    Raises what ``replicate`` raises.
    """
    stored = stored_runs(path)
    file = stored.parent / "unseen" / stored.name
    old = laboratory.columns(stored.read_text("utf8"))
    first = int(old["seed"].max()) + 1
    file.parent.mkdir(exist_ok=True)
    replicate(path, seeds, first=first, file=file, workers=workers, again=again)
    new = laboratory.columns(file.read_text("utf8"))
    values = outside = 0
    for theirs, ours in _measured(old, new):
        values += len(ours)
        outside += int(((ours < theirs.min()) | (ours > theirs.max())).sum())
    # a new value is as likely as any other to be the smallest or the largest of all
    expected = values * 2 / (first + 1)
    together = {name: np.concatenate([old[name], new[name]]) for name in old}
    return Comparison(values, outside, expected, list(_failed_assertions(path, together)))


def _measured(old: Columns, new: Columns) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The values of each measurement: of all stored seeds, and of the new ones.

    Rows that are alike in all texts, and have the same place among these in their seed's rows, are
    of one setting. A number that is the same for all seeds is a setting or cannot vary.
    """
    texts = [name for name, column in old.items() if column.dtype.kind == "U"]
    old_rows, new_rows = _by_setting(old, texts), _by_setting(new, texts)
    for setting in old_rows.keys() & new_rows.keys():
        for name in old.keys() - {"seed", *texts}:
            theirs, ours = old[name][old_rows[setting]], new[name][new_rows[setting]]
            if len({*theirs, *ours}) > 1:
                yield theirs, ours


def _by_setting(runs: Columns, texts: list[str]) -> dict[tuple, list[int]]:
    found: dict[tuple, list[int]] = {}
    seen: dict[tuple, int] = {}
    for row, seed in enumerate(runs["seed"]):
        alike = tuple(runs[name][row] for name in texts)
        place = seen[seed, alike] = seen.get((seed, alike), -1) + 1
        found.setdefault((*alike, place), []).append(row)
    return found


def _failed_assertions(path: Path, runs: Columns) -> Iterator[str]:
    """Which cells of a notebook assert something that is not true of these runs, and what.

    Where a cell stops at an assertion, later ones may lack a name. They are said to be untried.
    """
    names = {"__name__": "__main__"}
    failed = False
    with patch.object(laboratory, "read_runs", lambda name: _of(path, name, runs)):
        for cell in nbformat.read(path, as_version=4).cells:
            runs_anew = re.search(r"^fresh = ", cell.source, re.M)
            if cell.cell_type != "code" or runs_anew or {"setup", "verify"} & {*tags(cell)}:
                continue
            try:
                with redirect_stdout(io.StringIO()):
                    exec(compile(cell.source, cell.id, "exec"), names)
            except AssertionError as error:
                failed = True
                yield f"{cell.id}: {str(error) or _line_of(error, cell.source)}"
            except NameError as error:
                if not failed:
                    raise
                yield f"{cell.id} was not tried: {error}"


def _line_of(error: AssertionError, source: str) -> str:
    """The line of the cell that raised, for an assertion without a message."""
    *_, last = traceback.extract_tb(error.__traceback__)
    return source.splitlines()[last.lineno - 1].strip()


def _of(path: Path, name: str, runs: Columns) -> Columns:
    """These runs for the notebook itself, the stored ones of any other that it reads."""
    if name == path.stem:
        return runs
    return laboratory.columns((stored_runs(path).parent / f"{name}.csv").read_text("utf8"))
