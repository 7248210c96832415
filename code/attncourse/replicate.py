"""Run the experiment of a laboratory notebook for many seeds, and store what comes out.

The cells tagged ``experiment`` are the one source. Their rows stand in a file beside the notebook,
under what made them: the experiment's fingerprint and the versions. Each finished seed is stored at
once, so that whoever starts again after an interruption goes on where it was.
"""

import contextlib
import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from tqdm import tqdm

from attnbook.atomic_files import atomic_write
from attncourse import UsageError
from attncourse.chapter import tags, write_notebook

STORED = '''\
# What `python -m attncourse replicate` stored in {name}, which made this cell.
STORED = r"""
{text}"""
'''

Row = dict[str, str]


@dataclass
class Runs:
    """The rows of finished seeds, and what made them, one line each."""

    made_by: list[str]
    rows: dict[int, list[Row]] = field(default_factory=dict)

    def text(self) -> str:
        """The file of these runs: what made them, then a table in the order of the seeds."""
        lines = [f"# {line}" for line in self.made_by]
        for seed in sorted(self.rows):
            for row in self.rows[seed]:
                if len(lines) == len(self.made_by):
                    lines.append(",".join(["seed", *row]))
                lines.append(",".join([str(seed), *row.values()]))
        return "\n".join(lines) + "\n"

    @classmethod
    def read(cls, text: str) -> "Runs":
        """The runs in a file, as ``text`` wrote it."""
        lines = text.split("\n")[:-1]
        runs = cls([line.removeprefix("# ") for line in lines if line.startswith("#")])
        names, *table = (line.split(",") for line in lines if not line.startswith("#"))
        for seed, *cells in table:
            row = dict(zip(names[1:], cells, strict=True))
            runs.rows.setdefault(int(seed), []).append(row)
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


def replicate(path: Path, seeds: int, *, workers: int | None = None, again: bool = False) -> int:
    """Run the experiment for the seeds 0, 1, …, and store its rows; return how many were new.

    ``workers`` run at the same time, each with one thread; by default one for each core. ``again``
    drops what was stored by other code or other versions. Raises ``UsageError`` if such rows are
    there, if a seed fails (the others are stored nevertheless), and if a file can't be written.
    """
    notebook = nbformat.read(path, as_version=4)
    code = experiment(notebook)
    if not code or not _stored_cells(notebook):
        raise UsageError(
            f"{path} needs a cell with the tag experiment, and one with the tag stored for what "
            "comes out"
        )
    file = path.with_suffix(".csv")
    runs = _runs_so_far(file, made_by(code), again)
    todo = [seed for seed in range(seeds) if seed not in runs.rows]
    failed = {}
    with contextlib.closing(_answers(code, todo, workers or os.cpu_count())) as answers:
        for seed, answer in answers:
            if "error" in answer:
                failed[seed] = answer["error"]
                continue
            runs.rows[seed] = answer["rows"]
            _write(file, runs, seed)
    if runs.rows:
        store(path, runs.text())
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
        [sys.executable, "-m", "attncourse.experiment_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        text=True,
    )
    running.add(process)
    answer, complaints = process.communicate(json.dumps({"code": code, "seed": seed}))
    running.discard(process)
    with contextlib.suppress(ValueError):
        return json.loads(answer)
    last = complaints.strip().split("\n")[-1]
    return {"error": f"its process ended with {process.returncode} {last}".strip()}


def _write(file: Path, runs: Runs, seed: int) -> None:
    try:
        atomic_write(file, runs.text().encode())
    except OSError as error:
        raise UsageError(
            f"seed {seed} could not be stored: {error.strerror}: {file}; {len(runs.rows) - 1} "
            "seeds are there. Once there is room, the same command goes on from these"
        ) from error


def store(path: Path, text: str) -> None:
    """Write stored runs into the notebook, which stands alone on Colab."""
    notebook = nbformat.read(path, as_version=4)
    (cell,) = _stored_cells(notebook)
    source = STORED.format(name=path.with_suffix(".csv").name, text=text).rstrip()
    if cell.source != source:
        cell.source = source
        write_notebook(path, notebook)


def _stored_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if "stored" in tags(cell)]
