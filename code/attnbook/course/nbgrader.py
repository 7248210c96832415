"""What the book adds to nbgrader, so that one odd submission neither stops nor fools a grader.

Used by the ``nbgrader_config.py`` that ``python -m attnbook.course assignment`` writes. Needs
nbgrader: ``pip install "attnbook[teach]"``.
"""

import re
from pathlib import Path

import nbformat
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader import utils
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import Execute, NbGraderPreprocessor

SHOWN_CHARACTERS = 20_000


class Restore(NbGraderPreprocessor):
    """Put a student's answers into a fresh copy of the assignment.

    Cells that were deleted, locked cells that were edited and metadata that an editor dropped
    (Google Colab does) are thus as they were released. Cells that the student added stay, behind
    the cell that they stood behind.
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
            place = _answer_in_words(fresh, last, own_places | {*answers})
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


def _answer_in_words(fresh: NotebookNode, last: int, taken: set[int]) -> int | None:
    """The place of an answer in words, if the text before it is its exercise's."""
    place = last + 1
    if place >= len(fresh.cells) or place in taken:
        return None
    cell = fresh.cells[place]
    in_words = cell.cell_type == "markdown" and utils.is_solution(cell)
    return place if in_words else None


class Run(Execute):
    """Run a submission to its end, whatever is in it.

    If Python itself dies, the cells behind get an error, and thereby no points. Output is cut to
    a readable length. A graded cell that returned no number gets an error, too: nbgrader gives
    all points to a cell that shows nothing.
    """

    def preprocess(self, nb: NotebookNode, resources: dict, km=None) -> tuple[NotebookNode, dict]:
        try:
            nb, resources = super().preprocess(nb, resources, km)
        except DeadKernelError:
            self.log.warning("Python died: the cells behind get no points")
        for cell in nb.cells:
            if cell.cell_type != "code":
                continue
            for output in cell.outputs:
                if len(output.get("text", "")) > SHOWN_CHARACTERS:
                    output.text = output.text[:SHOWN_CHARACTERS] + "\n... Output truncated ...\n"
            if utils.is_grade(cell) and not any(
                output.output_type in ("execute_result", "error") for output in cell.outputs
            ):
                cell.outputs.append(
                    new_output(
                        "error",
                        ename="NoPoints",
                        evalue="",
                        traceback=[
                            "This cell was not reached, or its output was "
                            "suppressed: no points could be computed."
                        ],
                    )
                )
        return nb, resources
