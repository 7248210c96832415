"""Run the experiment of a laboratory notebook for many seeds, and store the results.

The cells tagged ``experiment`` are the one source. The package attnbook has a file with their rows,
and with what made them: the experiment's fingerprint and the versions. Each finished seed is stored
at once, so that the same command continues after an interruption. Each seed has a process of its
own. This costs a second, keeps one run from changing another, and limits a crash to one seed.
"""

import contextlib
import csv
import hashlib
import io
import json
import linecache
import os
import platform
import subprocess
import sys
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from tqdm import tqdm

from attnbook.atomic_files import atomic_write
from attnbook.laboratory import as_stored, comments_and_rows
from attncourse import UsageError
from attncourse.chapter import stored_runs, tags

Row = dict[str, str]
WORKER = "from attncourse.replicate import answer; answer()"  # the program of one seed
EXPERIMENT = "<experiment>"  # the name of its file in a traceback


@dataclass
class Runs:
    """The rows of finished seeds, and what made them, one line each."""

    made_by: list[str]
    rows: dict[int, list[Row]] = field(default_factory=dict)

    def text(self) -> str:
        """The file of these runs: what made them, then a table in the order of the seeds."""
        file = io.StringIO()
        file.writelines(f"# {line}\n" for line in self.made_by)
        table = [{"seed": seed} | row for seed in sorted(self.rows) for row in self.rows[seed]]
        writer = csv.DictWriter(file, table[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
        return file.getvalue()

    @classmethod
    def read(cls, text: str) -> "Runs":
        """The runs in a file, as ``text`` wrote it."""
        made_by, table = comments_and_rows(text)
        runs = cls(made_by)
        for row in table:
            runs.rows.setdefault(int(row.pop("seed")), []).append(row)
        return runs


def experiment(notebook: NotebookNode) -> str:
    """The code of the cells tagged ``experiment``, "" if there is none."""
    return "\n\n\n".join(cell.source for cell in notebook.cells if "experiment" in tags(cell))


def fingerprint(code: str) -> str:
    """A short text that changes with every change of the code."""
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def made_by(code: str) -> list[str]:
    """What decides on the rows, as the file of stored runs says it."""
    python = ".".join(platform.python_version_tuple()[:2])
    versions = [f"{name} {version(name)}" for name in ("attnbook", "torch")]
    return [f"experiment {fingerprint(code)}", f"python {python}", *versions]


def replicate(
    path: Path,
    seeds: int,
    *,
    first: int = 0,
    file: Path | None = None,
    workers: int | None = None,
    again: bool = False,
) -> int:
    """Run a notebook's experiment for the seeds 0, 1, …, and store its rows; return how many
    seeds were new.

    The seeds begin with ``first``, and ``file`` is where the rows are stored if not in the package.
    ``workers`` run at the same time, each with one thread; by default one for each core. ``again``
    drops what was stored by other code or other versions. Raises ``UsageError`` if such rows are
    there, if a seed fails (the others are stored nevertheless), and if a file can't be written.
    """
    code = experiment(nbformat.read(path, as_version=4))
    if not code:
        raise UsageError(f"{path} needs a cell with the tag experiment")
    file = file or stored_runs(path)
    runs = _runs_so_far(file, made_by(code), again)
    todo = [seed for seed in range(first, first + seeds) if seed not in runs.rows]
    failed = {}
    with contextlib.closing(_answers(code, todo, workers or os.cpu_count())) as answers:
        for seed, found in answers:
            if "error" in found:
                failed[seed] = found["error"]
                continue
            runs.rows[seed] = found["rows"]
            _write(file, runs, seed)
    if failed:
        raise UsageError(
            "\n".join(f"seed {seed} failed: {failed[seed]}" for seed in sorted(failed))
            + f"\n{len(runs.rows)} other seeds are in {file}"
        )
    return len(todo)


def _runs_so_far(file: Path, made_by: list[str], again: bool) -> Runs:
    if again or not file.exists():
        return Runs(made_by)
    runs = Runs.read(file.read_text("utf8"))
    changed = sorted({*runs.made_by} - {*made_by})
    if changed:
        raise UsageError(
            f"{file} was made by {', '.join(changed)}, which is now "
            f"{', '.join(sorted({*made_by} - {*runs.made_by}))}. Rows of both would be mixed: "
            "add --again to drop the stored ones and run all seeds again"
        )
    return runs


def _write(file: Path, runs: Runs, seed: int) -> None:
    try:
        atomic_write(file, runs.text().encode())
    except OSError as error:
        raise UsageError(
            f"seed {seed} could not be stored: {error.strerror}: {file}; {len(runs.rows) - 1} "
            "seeds are there. Once there is room, the same command continues from these"
        ) from error


def _answers(code: str, seeds: list[int], workers: int) -> Iterator[tuple[int, dict]]:
    """Yield each seed, as soon as it is finished, with its rows or its error."""
    running: set[subprocess.Popen] = set()
    with ThreadPoolExecutor(workers) as pool:
        tasks = {pool.submit(_run, code, seed, running): seed for seed in seeds}
        try:
            for task in tqdm(as_completed(tasks), total=len(seeds), unit="seed"):
                yield tasks[task], task.result()
        finally:  # also after Ctrl-C, and if a file can't be written
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list(running):
                process.kill()


def _run(code: str, seed: int, running: set[subprocess.Popen]) -> dict:
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        text=True,
    )
    running.add(process)
    found, complaints = process.communicate(json.dumps({"code": code, "seed": seed}))
    running.discard(process)
    with contextlib.suppress(ValueError):
        return json.loads(found)
    last = complaints.strip().split("\n")[-1]
    return {"error": f"its process ended with {process.returncode} {last}".strip()}


def answer() -> None:
    """Run an experiment for one seed, and write its rows or its error to the standard output.

    The code and the seed come from the standard input; all is JSON.
    """
    task = json.load(sys.stdin)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = {"rows": _rows(task["code"], task["seed"])}
    except Exception as error:
        found = {"error": _said(error)}
    json.dump(found, sys.stdout)


def _rows(code: str, seed: int) -> list[Row]:
    """What ``experiment(seed)`` returns, a row or several, as text."""
    linecache.cache[EXPERIMENT] = len(code), None, code.splitlines(keepends=True), EXPERIMENT
    names = {"__name__": "__main__"}
    exec(compile(code, EXPERIMENT, "exec"), names)
    rows = names["experiment"](seed)
    rows = [rows] if isinstance(rows, dict) else list(rows)
    if not rows:
        raise ValueError("experiment returned no row")
    for row in rows:
        if [*row] != [*rows[0]] or "seed" in row:
            raise ValueError(f"a row has the columns {[*row]}, the first one {[*rows[0]]}")
    return [{name: as_stored(value) for name, value in row.items()} for row in rows]


def _said(error: Exception) -> str:
    """An error in one line, with the line of the experiment where it happened."""
    what = "".join(traceback.format_exception_only(error)).strip()
    lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == EXPERIMENT]
    place = f" (line {lines[-1].lineno}: {lines[-1].line})" if lines else ""
    return f"{what}{place}"
