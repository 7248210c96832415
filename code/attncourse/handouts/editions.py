"""A chapter's editions for students and for instructors.

The chapters are the only source. Each function takes a chapter, an ``nbformat`` notebook, and
returns a new one.
"""

import copy

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from attnbook.exercises import Repair, Suspects, catalogue
from attncourse.address import install_note, with_links_to
from attncourse.chapter import (
    ABOUT_PROOFS,
    ABOUT_SOLUTIONS,
    MODEL_ANSWER,
    SOLUTION,
    tags,
    without_comparison,
)

WITHOUT_ANSWERS = {  # what students read instead
    ABOUT_SOLUTIONS: " Exercises in words and proofs have no check.",
    ABOUT_PROOFS: "You write a proof on paper. It has no check.",
}


def student(chapter: NotebookNode, page: str = "") -> NotebookNode:
    """The whole chapter without solutions, model answers and outputs: to be run and filled in.

    Links to other pages of the book lead to the published ones beside this chapter's ``page``.
    """
    copied = copy.deepcopy(chapter)
    cells = []
    for cell in copied.cells:
        if "solution" in tags(cell):
            continue
        if "setup" in tags(cell):
            cells.append(new_markdown_cell(install_note(chapter), id=f"{cell.id}-install"))
        cells.append(cell)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            continue
        cell.source, in_words = MODEL_ANSWER.subn("", with_links_to(page, cell.source))
        for about, instead in WITHOUT_ANSWERS.items():
            cell.source = cell.source.replace(about, instead)
        if in_words:
            cell.source = without_comparison(cell.source)
            cells.append(new_markdown_cell("*Your answer:*", id=f"{cell.id}-answer"))
    copied.cells = cells
    return copied


def answers(chapter: NotebookNode) -> NotebookNode:
    """The whole chapter with its solutions open, and what each exercise recognises."""
    copied = copy.deepcopy(chapter)
    known = {exercise.id: exercise for exercise in catalogue()}
    cells = []
    for cell in copied.cells:
        if cell.cell_type == "markdown":
            cell.source = cell.source.replace("<details>", "<details open>")
        cells.append(cell)
        if "solution" in tags(cell):
            id = SOLUTION.fullmatch(cell.source)["id"]
            cells.append(new_markdown_cell(_for_the_teacher(known[id]), id=f"{cell.id}-teacher"))
    copied.cells = cells
    return copied


def _for_the_teacher(exercise) -> str:
    hints = [f"{i}. {text}" for i, text in enumerate(exercise.hints, start=1)]
    mistakes = [f"- **{name}.** {exercise.explanations[name]}" for name in exercise.mistakes]
    properties = [f"- {item.sentence}" for item in exercise.properties]
    lines = {}
    if isinstance(exercise, Repair):
        lines = dict(sorted({exercise.line: exercise.because, **exercise.right_lines}.items()))
    suspects = []
    if isinstance(exercise, Suspects):
        suspects = [
            f"- **{one.letter or 'Not shown'}**, {'right' if one.right else 'wrong'}: "
            f"it {one.does}."
            for one in exercise.suspects
        ]
    return "\n\n".join(
        f"*{title}*\n\n" + "\n".join(items)
        for title, items in (
            ("Hints", hints),
            ("What is said about each line", [f"{n}. {said}" for n, said in lines.items()]),
            ("The functions to sort out", suspects),
            ("Properties that are tested", properties),
            ("Mistakes that are recognised, and what is said then", mistakes),
        )
        if items
    )
