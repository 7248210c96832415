"""The gallery of the laboratory: each experiment with its question and its result in a line."""

import re
from pathlib import Path

from nbformat import NotebookNode

from attncourse import UsageError
from attncourse.chapter import in_laboratory, laboratory_numbers, linked_title, number, of_chapters

RESULT = re.compile(r"^> \*\*Result\.\*\* (.+)$", re.M)
SHORT = 25  # letters; a first sentence such as "It is." says too little alone


def result(path: Path, notebook: NotebookNode) -> str:
    """The result, in the first sentence or two of the line that begins a laboratory notebook.

    Raises ``UsageError`` if the notebook has no such line.
    """
    found = RESULT.search(notebook.cells[0].source)
    if not found:
        raise UsageError(f"{path}: the first cell needs a line > **Result.** with the result")
    said, *others = re.split(r"(?<=[.!?]) (?=[A-Z])", found[1])
    while others and len(said) < SHORT:
        said += f" {others.pop(0)}"
    return said


def gallery(notebooks: dict[Path, NotebookNode]) -> str:
    """The experiments of each chapter. On the page, each gets the picture of its result."""
    numbers = laboratory_numbers(notebooks)
    parts = []
    for path, chapter in of_chapters(notebooks).items():
        lines = [
            f"- {numbers[other]} · {linked_title(other, book)} {result(other, book)}"
            for other, book in notebooks.items()
            if in_laboratory(other) and number(other) == number(path)
        ]
        if lines:
            parts += [f"## {linked_title(path, chapter)}", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"
