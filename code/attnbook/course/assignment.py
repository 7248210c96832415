"""A chapter's exercises as an nbgrader assignment."""

import ast
import copy
import re
from collections.abc import Container, Iterable

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from attnbook.course.chapter import (
    EXERCISE_TAGS,
    HEADING,
    ChapterExercise,
    definitions,
    exercises_of,
    names,
    tags,
)

# whatever a submission has changed in the package's functions
RELOAD_PACKAGE = """\
import sys

[sys.modules.pop(m) for m in [*sys.modules] if m.startswith("attnbook")]
from attnbook.exercises import points
"""

ALWAYS_AT_HAND = {"check", "hint", "math", "torch", "F", "nn"}

NBGRADER_CONFIG = r"""# Settings of nbgrader for this course; it is yours to edit.
from pathlib import Path

from attnbook.course.nbgrader import Restore, Run
from nbgrader.converters import Autograde

c = get_config()
here = Path(__file__).parent
c.CourseDirectory.course_id = "attention"
c.CourseDirectory.root = str(here)
c.Exchange.root = str(here / "exchange")
c.ClearSolutions.code_stub = {"python": ""}  # the stub stands above the solution
c.ClearSolutions.text_stub = "*Your answer:*"
c.Execute.timeout = 120  # seconds a cell; an endless loop is stopped then
# How zip_collect finds student and assignment in the names that a platform gives to files:
#     Ada Lovelace_123_assignsubmission_file/03-scaling.ipynb (Moodle)
#     lovelaceada_123_456_03-scaling-1.ipynb (Canvas)
c.FileNameCollectorPlugin.named_regexp = (
    r".*/(?P<student_id>[^/_]+(_LATE)?_\d+)_[^/]*(/[^/]*?)??"
    r"(?P<file_id>\d\d-[a-z]+(-[a-z]+)*)[^/]*\.ipynb$"
)

defaults = Autograde.sanitize_preprocessors.default_args[0]
c.Autograde.sanitize_preprocessors = [Restore, *defaults]
defaults = Autograde.autograde_preprocessors.default_args[0]
c.Autograde.autograde_preprocessors = [Run, *defaults[1:]]
"""


def assignment(
    chapter: NotebookNode, seeds: Iterable[int], address: str, only: Container[str] | None = None
) -> NotebookNode:
    """A chapter's exercises as the source of an nbgrader assignment.

    Parameters
    ----------
    chapter
        The chapter's notebook.
    seeds
        Seeds of the inputs on which answers are graded; students do not see them.
    address
        Where the chapter can be read.
    only
        The numbers of the exercises to take; by default all that have points.

    The notebook has what the exercises need from the chapter, then for each exercise its text,
    a cell to answer in, with a visible check, and a cell that nbgrader grades. Solutions stand
    between the marks that ``nbgrader generate_assignment`` cuts at.
    """
    todo = [
        task for task in exercises_of(chapter) if task.points and (only is None or task.id in only)
    ]
    title = re.match(r"# (.+)", chapter.cells[0].source)[1]
    setup = next(c for c in chapter.cells if "setup" in tags(c))
    package = re.search(r'"(attnbook @ .+)"', setup.source)[1]
    total = sum(task.points for task in todo)
    minutes = sum(task.minutes for task in todo)
    cells = [
        new_markdown_cell(
            f"# Exercises of chapter {title}\n\n"
            f"Read the chapter first: [{address}]({address}). "
            f"There are {len(todo)} exercises, {total} points, about "
            f"{minutes} minutes. On Google Colab the next cell installs what you "
            "need; on your own computer, run this once in a terminal: "
            f'`pip install "{package}"`.\n\nRun the cells in order, replace each `...` '
            "and run the cell again. `check` tells you what holds, and what "
            'does not; `hint("…")` with the number of an exercise gives a '
            "hint. Your answers are graded on other inputs than those you "
            "see. A right answer gets all points of its exercise; a wrong one "
            "up to half of them, in equal parts for the properties that hold. "
            "Hand in this file under the name that it has."
        ),
        new_code_cell(setup.source, metadata=_graded("setup", locked=True)),
        new_code_cell(needed(chapter, todo), metadata=_graded("given", locked=True)),
    ]
    for task in todo:
        name = "exercise-" + task.id.replace(".", "-")
        points = "1 point" if task.points == 1 else f"{task.points} points"
        cells.append(new_markdown_cell(HEADING.sub(rf"\g<0> · {points}", task.text, count=1)))
        if task.model_answer:
            cells.append(
                new_markdown_cell(
                    f"### BEGIN SOLUTION\n{task.model_answer}\n### END SOLUTION",
                    metadata=_graded(name, answer=True, points=task.points),
                )
            )
            continue
        stub, answer = task.call
        cells += [
            new_code_cell(
                f"{stub}\n### BEGIN SOLUTION\n{_solution(task)}\n"
                f'### END SOLUTION\ncheck("{task.id}", {answer})',
                metadata=_graded(f"{name}-answer", answer=True),
            ),
            new_code_cell(
                f"# {points} for exercise {task.id}\n"
                f"### BEGIN HIDDEN TESTS\n{RELOAD_PACKAGE}\n"
                f'points("{task.id}", {answer}, of={task.points}, '
                f"seeds={tuple(seeds)})\n"
                "### END HIDDEN TESTS",
                metadata=_graded(name, locked=True, points=task.points),
            ),
        ]
    for i, cell in enumerate(cells):
        cell.id = f"a{i:02d}"  # the same whenever it is made again
    return new_notebook(cells=cells, metadata=copy.deepcopy(chapter.metadata))


def _solution(task: ChapterExercise) -> str:
    """The solution cell without its title and its call of check."""
    lines = task.solution.rstrip().split("\n")
    return "\n".join(lines[1:-1]).strip()


def _graded(
    name: str, *, locked: bool = False, answer: bool = False, points: int | None = None
) -> dict:
    """The metadata that make a cell one of nbgrader's."""
    about = {
        "schema_version": 3,
        "grade_id": name,
        "locked": locked,
        "solution": answer,
        "grade": points is not None,
        "task": False,
    }
    return {"nbgrader": about if points is None else about | {"points": points}}


def needed(chapter: NotebookNode, todo: Iterable[ChapterExercise]) -> str:
    """The chapter's imports and definitions that its exercises use, in the chapter's order."""
    wanted = set(ALWAYS_AT_HAND)
    for task in todo:
        if task.stub:
            for code in (task.stub, _solution(task)):
                uses, defines = names(code)
                wanted |= uses - defines
        # functions and classes of the chapter that the text speaks of
        wanted |= {f"def {name}" for name in re.findall(r"`(\w+)`", task.text)}
    imports, others = [], []
    for cell in reversed(chapter.cells):
        if cell.cell_type != "code" or EXERCISE_TAGS & {*tags(cell)}:
            continue
        for statement, source in reversed(definitions(cell.source)):
            uses, defines = names(source)
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                defines |= {f"def {statement.name}"}
            if not defines & wanted:
                continue
            wanted = (wanted - defines) | (uses - defines)
            if isinstance(statement, ast.Import | ast.ImportFrom):
                imports.append(source)
            else:
                others.append(source)
    return "\n\n\n".join(["\n".join(imports[::-1]), *others[::-1]])
