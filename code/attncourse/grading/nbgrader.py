"""What the book adds to nbgrader, so that one odd submission neither stops nor misleads a grader.

``configure`` is called by the ``nbgrader_config.py`` that ``python -m attncourse assignment``
writes. Needs nbgrader: ``pip install ./code "./code/attncourse[teach]"``.

A submission is a program. What it changes in loaded modules is undone before its points are
counted, and no cell that it kills or blocks costs more than itself. But a function that looks up
the solution when it is called, or changes then what it is compared with, is not found out.
"""

import contextlib
import copy
import ctypes
import logging
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import nbformat
import psutil
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbconvert.preprocessors.sanitize import SanitizeHTML
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import (
    Execute,
    NbGraderPreprocessor,
    OverwriteCells,
    SaveAutoGrades,
)
from sqlalchemy.exc import SAWarning
from traitlets import default
from traitlets.config import Config

from attncourse.grading.feedback import MODEL_ANSWER, RUBRIC, FeedbackPage, Marks
from attncourse.grading.marks import MarksExport, waiting

SHOWN_CHARACTERS = 20_000

# What a submission's Python does first: it takes no more memory than this, and remembers itself.
BEGIN = """\
from attncourse.grading.restore_modules import limit_memory, remember; \
limit_memory({gigabytes}); _put_back = remember()"""
NO_MEMORY = "DefaultCPUAllocator: can't allocate memory"  # so torch says it

# No script that a submission displays runs in the form grader or on the page of feedback.
HARMLESS_TAGS = (
    "a b br code div em h4 i li ol p pre span strong sub sup table tbody td th thead tr ul"
)
HARMLESS = SanitizeHTML(
    tags=HARMLESS_TAGS.split(),
    attributes={"*": ["class", "style"], "a": ["href"], "td": ["colspan"], "th": ["colspan"]},
    styles=["border-left", "color", "font-weight", "line-height", "padding", "text-align"],
)

IN_WORDS = re.compile("### BEGIN SOLUTION\n(.*)\n### END SOLUTION", re.S)

# With a fresh package: what a submission did to its exercises is gone with them.
PUT_BACK = "_put_back()"


def configure(c: Config, gigabytes: float = 4) -> None:
    """Settings that every course needs, and the memory that a submission may take."""
    c.ClearSolutions.code_stub = {"python": ""}  # the stub stands above the solution
    c.ClearSolutions.text_stub = "*Your answer:*"
    c.KernelManager.transport_encryption = "auto"  # else each kernel warns that it has none
    c.Execute.extra_arguments = [f"--IPKernelApp.exec_lines={BEGIN.format(gigabytes=gigabytes)}"]
    c.Execute.iopub_timeout = 10  # seconds for what was printed to arrive, or a loop to stop
    replaced = {OverwriteCells: Overwrite, Execute: Run, SaveAutoGrades: Save}
    for name in ("sanitize_preprocessors", "autograde_preprocessors"):
        defaults = getattr(Autograde, name).default_args[0]
        c.Autograde[name] = [replaced.get(step, step) for step in defaults]
    c.Autograde.sanitize_preprocessors.insert(0, Restore)
    c.Autograde.autograde_preprocessors.append(ShowRubric)
    if "autograde" in sys.argv:
        c.NbGrader.log_level = "WARN"  # Save prints one line for each student instead of eight
        warnings.filterwarnings("ignore", category=SAWarning)  # of nbgrader, about its database
    c.GenerateFeedback.preprocessors = [Marks]
    c.GenerateFeedback.exporter_class = FeedbackPage
    c.ExportApp.plugin_class = MarksExport


class Restore(NbGraderPreprocessor):
    """Put a student's answers into a fresh copy of the assignment.

    Cells that were deleted, locked cells that were edited and metadata that an editor dropped
    (Google Colab does) are thus as they were released. Cells that the student added stay after the
    cells that they followed.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        where = CourseDirectory(parent=self)
        about = resources["nbgrader"]
        released = where.format_path(where.release_directory, ".", about["assignment"])
        fresh = nbformat.read(Path(released, about["notebook"] + ".ipynb"), as_version=4)
        return restored(nb, fresh), resources


def restored(submitted: NotebookNode, fresh: NotebookNode) -> NotebookNode:
    """The released notebook ``fresh`` with the answers and the added cells of ``submitted``."""
    by_key = {key: i for i, cell in enumerate(fresh.cells) for key in _keys(cell)}
    own_places = {by_key[key] for cell in submitted.cells for key in _keys(cell) if key in by_key}
    answers: dict[int, str] = {}
    added: dict[int, list[NotebookNode]] = {}
    last = 0
    for cell in submitted.cells:
        place = next((by_key[k] for k in _keys(cell) if k in by_key), None)
        if place is None and cell.cell_type == "markdown":
            words = _answer_in_words(fresh, last)
            if words is not None and words not in own_places:
                answers[words] = "\n\n".join(filter(None, [answers.get(words), cell.source]))
                continue
        if place is None or place in answers:
            cell.metadata.pop("nbgrader", None)
            added.setdefault(last, []).append(cell)
            continue
        last = place
        if utils.is_solution(fresh.cells[place]):
            answers[place] = cell.source
    cells = []
    for i, cell in enumerate(fresh.cells):
        cell.source = answers.get(i, cell.source)
        cells += [cell, *added.get(i, [])]
    for i, cell in enumerate(cells):
        cell.id = f"cell-{i}"
    fresh.cells = cells
    return fresh


def _keys(cell: NotebookNode) -> list[tuple]:
    """What a cell can be recognised by, the surest first."""
    kind = cell.cell_type
    keys = [
        ("grade_id", cell.metadata.get("nbgrader", {}).get("grade_id")),
        ("source", kind, cell.source.strip()),
    ]
    check = re.findall(r'^check\("([\d.]+)"', cell.source, re.M)
    if kind == "code" and len(check) == 1:
        keys.append(("check", check[0]))
    heading = re.match(r"### Exercise ([\d.]+)", cell.source)
    if kind == "markdown" and heading:
        keys.append(("heading", heading[1]))
    return [key for key in keys if key[1]]


def _answer_in_words(fresh: NotebookNode, last: int) -> int | None:
    """The place of an answer in words, if the text before it is its exercise's.

    An answer that has lost its metadata can't be told from a note beside it: both count.
    """
    place = last + 1
    if place >= len(fresh.cells):
        return None
    cell = fresh.cells[place]
    in_words = cell.cell_type == "markdown" and utils.is_solution(cell)
    return place if in_words else None


class Overwrite(OverwriteCells):
    """Put the hidden tests back, without a warning for each that a student does not have them."""

    def report_change(self, name: str, attr: str, old: object, new: object) -> None:
        """``Restore`` has already put back what a student changed."""


class Run(Execute):
    """Run a submission to its end, whatever is in it.

    A cell that kills Python, or that can't be stopped, is named. The cells after it run in a fresh
    Python, after all those before it but the culprit. Output is cut to a readable length. A graded
    cell that returned no number gets an error: nbgrader gives all points to a cell that shows
    nothing.
    """

    @default("log")
    def _log_default(self) -> logging.Logger:
        """What nbclient says while it runs a notebook names no student; ``_warn`` does."""
        silent = logging.getLogger("attncourse.grading.nbgrader")
        silent.setLevel(logging.CRITICAL)
        return silent

    def preprocess(self, nb: NotebookNode, resources: dict, km=None) -> tuple[NotebookNode, dict]:
        NotebookClient.__init__(self, nb, km)  # as the class above begins, too
        self.resources = resources
        self._left_out: set[int] = set()
        done = 0
        with _ending_what_is_started():
            while done < len(nb.cells):
                done = self._run_from(done, nb.cells)
        for cell in nb.cells:
            if cell.cell_type == "code":
                if _ran_too_long(cell):
                    cell.outputs = [output for output in cell.outputs if "ename" not in output]
                    why = f"This cell ran for {self.timeout} seconds and was stopped."
                    self._warn(cell, why)
                    _fail(cell, why)
                _shorten(cell)
                cell.outputs = HARMLESS.sanitize_code_outputs(cell.outputs)
                if utils.is_grade(cell) and not _shows_points_or_error(cell):
                    _fail(cell, "No points could be computed: its output was suppressed.")
        return nb, resources

    def _run_from(self, first: int, cells: list[NotebookNode]) -> int:
        """Run the cells from ``first`` in a fresh Python; return how many cells are now done.

        The cells before, which have their outputs, run again without showing any.
        """
        with self.setup_kernel():
            for i, cell in enumerate(cells):
                if cell.cell_type != "code" or i in self._left_out:
                    continue
                if i < first and utils.is_grade(cell):
                    continue
                why = self._run(cell if i >= first else copy.deepcopy(cell))
                if why:
                    self._blame(i, why, cells)
                    return max(first, i + 1)
        return len(cells)

    def _run(self, cell: NotebookNode) -> str | None:
        """Run a cell; return why no other can run in this Python, or None."""
        try:
            if utils.is_grade(cell):
                self._execute(new_code_cell(PUT_BACK))
            self._execute(cell)
        except DeadKernelError:
            return "Python ended here: it ran out of memory, or met a command such as exit."
        except CellTimeoutError:
            return f"This cell did not finish in {self.timeout} seconds and could not be stopped."
        if _lacks_memory(cell):  # and what it has taken is lost to all cells after it
            return "This cell needs more memory than a submission may take."
        return None

    def _execute(self, cell: NotebookNode) -> None:
        """Execute a cell as if it were a notebook; some run twice, and not in their order."""
        self.nb = new_notebook(cells=[cell])
        self.reset_execution_trackers()
        self.execute_cell(cell, 0)

    def _blame(self, i: int, why: str, cells: list[NotebookNode]) -> None:
        """Leave a cell out from now on, and the cell that would have graded it."""
        name = self._warn(cells[i], why)
        for j, cell in enumerate(cells):
            graded = utils.is_grade(cell) and name == f"{cell.metadata.nbgrader.grade_id}-answer"
            if graded:
                _fail(cell, "No points could be computed.")
            if graded or i == j:
                self._left_out.add(j)
        cells[i].outputs = []
        _fail(cells[i], f"{why} The other cells ran without it.")

    def _warn(self, cell: NotebookNode, why: str) -> str:
        """Tell the teacher which cell did what; return its name."""
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "a cell that the student added")
        self.parent.log.warning("%s, %s: %s", self.resources["nbgrader"]["student"], name, why)
        return name


@contextlib.contextmanager
def _ending_what_is_started() -> Iterator[None]:
    """End all processes that were started meanwhile, and on Linux those left behind by others.

    There this process becomes the parent of orphans. Otherwise one with a session of its own
    would go on after the Python that started it.
    """
    if sys.platform == "linux":
        PR_SET_CHILD_SUBREAPER = 36
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    before = psutil.Process().children(recursive=True)
    try:
        yield
    finally:
        for process in psutil.Process().children(recursive=True):
            if process not in before:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()


def _ran_too_long(cell: NotebookNode) -> bool:
    return any(output.get("ename") == "CellTimeoutError" for output in cell.outputs)


def _lacks_memory(cell: NotebookNode) -> bool:
    return any(NO_MEMORY in output.get("evalue", "") for output in cell.outputs)


def _shorten(cell: NotebookNode) -> None:
    for output in cell.outputs:
        if len(output.get("text", "")) > SHOWN_CHARACTERS:
            output.text = output.text[:SHOWN_CHARACTERS] + "\n... Output truncated ...\n"


def _shows_points_or_error(cell: NotebookNode) -> bool:
    return any(output.output_type in ("execute_result", "error") for output in cell.outputs)


def _fail(cell: NotebookNode, why: str) -> None:
    cell.outputs.append(new_output("error", ename="NoPoints", evalue=why, traceback=[why]))


class Save(SaveAutoGrades):
    """Save the points, and say in one line what a student got."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        nb, resources = super().preprocess(nb, resources)
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as gradebook:
            found = gradebook.find_submission_notebook(
                about["notebook"], about["assignment"], about["student"]
            )
            to_mark = waiting(found)
            points = f"{found.score:g} of {found.max_score:g} points"
        print(f"{about['student']}: {points}" + (f", to mark: {to_mark}" if to_mark else ""))
        return nb, resources


class ShowRubric(NbGraderPreprocessor):
    """Put the model answer, and what gives points, under each answer in words.

    So the one who marks has it beside the points to type, and the student on the page of feedback.
    """

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        where = CourseDirectory(parent=self)
        about = resources["nbgrader"]
        folder = where.format_path(where.source_directory, ".", about["assignment"])
        source = nbformat.read(Path(folder, about["notebook"] + ".ipynb"), as_version=4)
        rubrics = {
            cell.metadata.nbgrader.grade_id: found[1].strip()
            for cell in source.cells
            if cell.cell_type == "markdown" and (found := IN_WORDS.search(cell.source))
        }
        cells = []
        for cell in nb.cells:
            cells.append(cell)
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name in rubrics:
                text = f"**{MODEL_ANSWER}**\n\n{rubrics[name]}"
                cells.append(new_markdown_cell(text, id=f"{cell.id}-rubric", metadata=RUBRIC))
        nb.cells = cells
        return nb, resources
