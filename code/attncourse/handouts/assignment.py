"""A chapter's exercises as an nbgrader assignment."""

import ast
import copy
import re
from collections.abc import Container, Iterable

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from attncourse.address import install_note, with_links_to
from attncourse.chapter import (
    EXERCISE_TAGS,
    HEADING,
    ChapterExercise,
    definitions,
    exercises_of,
    names,
    tags,
)

ALWAYS_AT_HAND = {"check", "hint", "math", "torch", "F", "nn"}

NBGRADER_CONFIG = """\
# Settings of nbgrader for this course; it is yours to edit.
from pathlib import Path

from attncourse.grading.nbgrader import configure

c = get_config()
here = Path(__file__).parent
c.CourseDirectory.course_id = "attention"
c.CourseDirectory.root = str(here)
c.Exchange.root = str(here / "exchange")
c.Execute.timeout = 120  # seconds a cell; an endless loop is stopped then
configure(c, gigabytes=4)  # of memory that a submission may take
"""


def assignment(
    chapter: NotebookNode, seeds: Iterable[int], page: str, only: Container[str] | None = None
) -> NotebookNode:
    """A chapter's exercises as the source of an nbgrader assignment.

    ``seeds`` are those of the inputs on which answers are graded; students do not see them.
    ``page`` is where the chapter can be read, "" if it is not published. ``only`` has the numbers
    of the exercises to take; by default all that have points.

    The notebook has what the exercises need from the chapter, then for each exercise its text,
    a cell to answer in, with a visible check, and a cell that nbgrader grades. Solutions are
    between the marks that ``nbgrader generate_assignment`` cuts at.
    """
    todo = [
        task for task in exercises_of(chapter) if task.points and (only is None or task.id in only)
    ]
    setup = next(cell for cell in chapter.cells if "setup" in tags(cell))
    cells = [
        new_markdown_cell(_introduction(chapter, todo, page)),
        new_code_cell(setup.source, metadata=_graded("setup", locked=True)),
        new_code_cell(needed(chapter, todo), metadata=_graded("given", locked=True)),
    ]
    for task in todo:
        text = HEADING.sub(rf"\g<0> · {_points(task)}", task.text, count=1)
        cells.append(new_markdown_cell(with_links_to(page, text)))
        cells += _in_words(task) if task.model_answer else _in_code(task, seeds)
    for i, cell in enumerate(cells):
        cell.id = f"a{i:02d}"  # the same whenever it is made again
    return new_notebook(cells=cells, metadata=copy.deepcopy(chapter.metadata))


def _introduction(chapter: NotebookNode, todo: list[ChapterExercise], page: str) -> str:
    title = re.match(r"# (.+)", chapter.cells[0].source)[1]
    title = title if title.startswith("Lab ") else f"chapter {title}"
    total = sum(task.points for task in todo)
    minutes = sum(task.minutes for task in todo)
    return (
        f"# Exercises of {title}\n\n"
        f"Read it first{f': [{page}]({page})' if page else ''}. There "
        f"{'is 1 exercise' if len(todo) == 1 else f'are {len(todo)} exercises'}, "
        f"{_count(total)}, about {minutes} minutes. {install_note(chapter)}\n\n"
        "Run the cells in order, replace each `...` and run the cell again. `check` tells you "
        'what holds and what does not. `hint("…")`, with the number of an exercise, gives a hint. '
        "Your answers are graded on different inputs from those that you see. A right answer gets "
        "all points of its exercise. A wrong answer gets up to half of them, in equal parts for "
        "the properties that hold. Hand in this file without changing its name."
    )


def _points(task: ChapterExercise) -> str:
    return _count(task.points)


def _count(points: int) -> str:
    return "1 point" if points == 1 else f"{points} points"


def _in_words(task: ChapterExercise) -> list[NotebookNode]:
    """The cell that the teacher marks."""
    return [
        new_markdown_cell(
            f"### BEGIN SOLUTION\n{task.model_answer}\n### END SOLUTION",
            metadata=_graded(_grade_id(task), answer=True, points=task.points),
        )
    ]


def _in_code(task: ChapterExercise, seeds: Iterable[int]) -> list[NotebookNode]:
    """The figure to read, if any, the cell to answer in, and the one that counts its points."""
    stub, answer = task.call
    figure = _graded(f"{_grade_id(task)}-figure", locked=True)
    return [
        *([new_code_cell(task.figure, metadata=figure)] if task.figure else []),
        new_code_cell(
            f"{stub}\n### BEGIN SOLUTION\n{task.solution}\n### END SOLUTION\n"
            f'check("{task.id}", {answer})',
            metadata=_graded(f"{_grade_id(task)}-answer", answer=True),
        ),
        new_code_cell(
            f"# {_points(task)} for exercise {task.id}\n"
            "### BEGIN HIDDEN TESTS\n"
            "import attnbook.exercises\n\n"
            f'attnbook.exercises.points("{task.id}", {answer}, of={task.points}, '
            f"seeds={tuple(seeds)})\n"
            "### END HIDDEN TESTS",
            metadata=_graded(_grade_id(task), locked=True, points=task.points),
        ),
    ]


def _grade_id(task: ChapterExercise) -> str:
    return "exercise-" + task.id.replace(".", "-")


def exercise_id(grade_id: str) -> str:
    """The exercise that nbgrader knows by another name.

    >>> exercise_id("exercise-4-10-answer")
    '4.10'
    """
    return grade_id.removeprefix("exercise-").removesuffix("-answer").replace("-", ".")


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
            for code in (task.figure, task.stub, task.solution):
                uses, defines = names(code)
                wanted |= uses - defines
        # functions and classes of the chapter that the text speaks of
        wanted |= {f"def {name}" for name in re.findall(r"`(\w+)`", task.text)}
        wanted |= {*re.findall(r"`(\w+)\.\w+\(", task.text)}  # of `figures.symptoms(…)`
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
