"""What a class got right and wrong in an assignment, from its graded notebooks."""

import re
from collections import Counter
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.coursedir import CourseDirectory

from attnbook.exercises import catalogue
from attncourse.grading.grade import graded_notebook, handed_in, is_graded
from attncourse.handouts.assignment import exercise_id
from attncourse.pages.plans import table

SOLVED, UNNAMED, UNTRIED, NO_POINTS = "solved", "none that is known", "not tried", "stopped"
SHOWN = 3  # mistakes a row, the most frequent ones
EXERCISES = {exercise.id: exercise for exercise in catalogue()}


def summary(course: Path, assignment: str) -> str:
    """A table of the exercises, and the mistake to begin the next session with."""
    students = handed_in(course, assignment)
    graded = [student for student in students if is_graded(course, assignment, student)]
    verdicts: dict[str, Counter] = {}
    in_words: dict[str, list[float | None]] = {}
    with Gradebook(CourseDirectory(root=str(course.absolute())).db_url) as gradebook:
        for student in graded:
            notebook = nbformat.read(graded_notebook(course, assignment, student), as_version=4)
            for cell in filter(utils.is_grade, notebook.cells):
                id = exercise_id(cell.metadata.nbgrader.grade_id)
                if cell.cell_type == "code":
                    verdicts.setdefault(id, Counter())[verdict(id, cell)] += 1
                else:
                    mark = _marked(gradebook, assignment, student, cell)
                    in_words.setdefault(id, []).append(mark)
    lines = [f"{assignment}: {len(graded)} of {len(students)} submissions are graded", ""]
    rows = [_row(id, counts) for id, counts in verdicts.items()]
    header = "Exercise | Solved | Wrong | Not tried | Stopped | Mistakes that were named"
    lines.append(table(header, rows))
    for id, marks in in_words.items():
        given = [mark for mark in marks if mark is not None]
        mean = f", {sum(given) / len(given):.1f} points on average" if given else ""
        lines.append(f"{id}, in words: {len(given)} of {len(marks)} marked{mean}")
    return "\n".join([*lines, *_commonest(verdicts)])


def verdict(id: str, cell: NotebookNode) -> str:
    """What became of an answer: solved, untried, stopped, or the mistake that was recognised."""
    said = "\n".join(
        output.data.get("text/plain", "")
        for output in cell.outputs
        if "attnbook-report" in output.get("data", {}).get("text/html", "")
    )
    if not said or any(output.output_type == "error" for output in cell.outputs):
        return NO_POINTS
    if said.startswith("✓"):
        return SOLVED
    if said.startswith("○"):
        return UNTRIED
    named = re.search(r"Recognised: (.+)", said)
    known = EXERCISES[id].mistakes if named else ()
    return next((name for name in known if named[1].startswith(f"{name}.")), UNNAMED)


def _marked(
    gradebook: Gradebook, assignment: str, student: str, cell: NotebookNode
) -> float | None:
    """The points that somebody gave an answer in words; None if nobody has."""
    try:
        name = cell.metadata.nbgrader.grade_id
        grade = gradebook.find_grade(name, assignment, assignment, student)
    except MissingEntry:
        return None
    return None if grade.needs_manual_grade else grade.score


def _row(id: str, counts: Counter) -> tuple:
    wrong = {name: n for name, n in counts.items() if name not in (SOLVED, UNTRIED, NO_POINTS)}
    mistakes = sorted(wrong.items(), key=lambda item: (item[0] == UNNAMED, -item[1], item[0]))
    named = "; ".join(f"{name} ({n})" for name, n in mistakes[:SHOWN])
    rest = sum(n for _, n in mistakes[SHOWN:])
    return (
        id,
        f"{counts[SOLVED] / counts.total():.0%}",
        sum(wrong.values()),
        counts[UNTRIED],
        counts[NO_POINTS],
        named + (f"; others ({rest})" if rest else ""),
    )


def _commonest(verdicts: dict[str, Counter]) -> list[str]:
    """The mistake that was recognised most often, and what it causes."""
    named = [
        (n, id, name)
        for id, counts in verdicts.items()
        for name, n in counts.items()
        if id in EXERCISES and name in EXERCISES[id].explanations  # a teacher may add some
    ]
    if not named:
        return []
    n, id, name = max(named)
    often = "once" if n == 1 else f"{n} times"
    return ["", f"To begin with, {id}, {often}: {name}. {EXERCISES[id].explanations[name]}"]
