"""Rules for laboratory notebooks: a result, the experiment that shows it, and its stored runs."""

import itertools
import re
from collections.abc import Iterator

from attnbook.laboratory import columns
from attncourse.chapter import TITLE, stored_runs, tags
from attncourse.pages.gallery import RESULT
from attncourse.replicate import Runs, experiment, fingerprint
from attncourse.rules.book import Notebook
from attncourse.run import PNG, SVG

FEWEST_SEEDS = 10


def begins_with_its_result(notebook: Notebook) -> Iterator[str]:
    """A reader sees question, result and chapter first, and at the end how to refute it."""
    number, first = notebook.number, notebook.first
    title = TITLE.match(first)
    if not title or not first.startswith(f"# Lab {number} · ") or title["question"][-1] != "?":
        yield f"the first cell begins with its question, `# Lab {number} · …?`"
    if not RESULT.search(first):
        yield "the first cell needs a line `> **Result.** …` with the result"
    if not re.search(rf"\]\(\.\./{number:02d}-[\w-]+\.ipynb", first):
        yield f"the first cell links to its chapter, as in [Chapter {number}](../{number:02d}-…)"
    if "What would refute it" not in notebook.headings:
        yield "it needs a section `## What would refute it`"


def shows_its_result_first(notebook: Notebook) -> Iterator[str]:
    """The figure that shows the result is above the first section."""
    above = itertools.takewhile(lambda cell: "\n## " not in f"\n{cell.source}", notebook.cells[1:])
    shown = [output.get("data", {}) for cell in above for output in cell.get("outputs", [])]
    if notebook.in_laboratory and not any(
        {PNG, SVG} & {*data} or "<attnbook-" in data.get("text/html", "") for data in shown
    ):
        yield "the figure that shows the result must be above the first section"


def has_an_experiment(notebook: Notebook) -> Iterator[str]:
    """One function is the source of all rows; one seed runs again and must find what is stored."""
    name = notebook.path.stem
    code = [cell.source for cell in notebook.code if "experiment" not in tags(cell)]
    others = "\n".join(code)
    if not re.search(
        r"^def experiment\(seed(?:, \w+=[\w(), ]+)*\):$", experiment(notebook.node), re.M
    ):
        yield "a cell tagged experiment defines `def experiment(seed):`, which returns rows"
    if not re.search(rf'= read_runs\("{name}"\)$', others, re.M):
        yield f'a cell reads the stored runs with `runs = read_runs("{name}")`'
    fresh = [source for source in code if re.search(r"^fresh = \{\s*0: ", source, re.M)]
    if len(fresh) != 1 or not re.search(r"\bexperiment\(0\b|\bmeasure\(train\(", fresh[0]):
        yield "one cell, without the tag experiment, runs one seed: `fresh = {0: experiment(0)}`"
    if [("verify" in tags(cell)) for cell in _comparisons(notebook)] != [True]:
        yield "one cell, tagged hide-input and verify, compares it: `assert_replicates(runs, …)`"


def _comparisons(notebook: Notebook) -> list:
    return [cell for cell in notebook.code if re.search(r"^assert_replicates\(", cell.source, re.M)]


def has_stored_runs(notebook: Notebook) -> Iterator[str]:
    """Many seeds are stored, of the experiment as it is now."""
    file, code = stored_runs(notebook.path), experiment(notebook.node)
    command = f"python -m attncourse replicate lab/{notebook.path.stem}"
    if not file.exists():
        yield f"no runs are stored yet, which takes one command: {command} --seeds 20"
        return
    runs = Runs.read(file.read_text("utf8"))
    if runs.made_by[:1] != [f"experiment {fingerprint(code)}"]:
        yield f"the experiment has changed since its runs were stored: {command} --again"
    if len(runs.rows) < FEWEST_SEEDS or sorted(runs.rows) != [*range(len(runs.rows))]:
        yield f"it has the seeds {sorted(runs.rows)} and needs {FEWEST_SEEDS} or more, from 0 on"


def types_no_result(notebook: Notebook) -> Iterator[str]:
    """An experiment measures: its code has no number that its runs have measured."""
    file = stored_runs(notebook.path)
    if not file.exists():
        return  # has_stored_runs says so
    compared = "\n".join(cell.source for cell in _comparisons(notebook))
    measured = {
        f"{value:g}"
        for name, column in columns(file.read_text("utf8")).items()
        if f" {name}=" in compared  # the others are settings
        for value in column
        if value != round(value)
    }
    typed = measured & {*re.findall(r"(?<![\w.])\d+\.\d+", experiment(notebook.node))}
    if typed:
        yield f"its experiment has {', '.join(sorted(typed))}, which it measures: do not type it"
