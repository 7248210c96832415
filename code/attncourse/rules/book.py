"""The book as its rules see it: every notebook, read once, and what is stored beside them."""

import re
import tomllib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from attnbook.exercises import Exercise, catalogue
from attncourse.chapter import (
    HEADING,
    MODEL_ANSWER,
    PROOF,
    in_laboratory,
    is_front,
    notebooks,
    number,
    seen_from_chapters,
    tags,
)

MODEL_ANSWER_BELOW = "<details><summary>A model answer</summary> … </details>"  # as rules say it


class Book:
    """The repository of the book in a folder; ``also`` are notebooks that no page lists yet."""

    def __init__(self, root: Path, also: tuple[Path, ...] = ()) -> None:
        self.root = root
        self.listed = notebooks(root)
        self.notebooks = {path: Notebook(self, path) for path in [*self.listed, *also]}
        self.exercises: dict[str, Exercise] = {task.id: task for task in catalogue()}

    def text(self, name: str) -> str:
        """What a file of the repository says, "" if there is none."""
        path = self.root / name
        return path.read_text("utf8") if path.exists() else ""

    @cached_property
    def claims(self) -> dict[str, dict]:
        """The ledger of claims by their ids, such as C05."""
        return tomllib.loads(self.text("chapters/claims.toml"))

    @cached_property
    def plans(self) -> dict:
        """The teaching plans."""
        return tomllib.loads(self.text("chapters/plans.toml"))


class Notebook:
    """One notebook of a book. It is empty if its file is still to be written."""

    def __init__(self, book: Book, path: Path) -> None:
        self.book, self.path = book, path
        self.name = path.relative_to(book.root).as_posix()
        self.in_laboratory = in_laboratory(path)
        self.is_front = is_front(path)
        self.is_study = bool(re.match(r"\d\d-", path.name))  # a chapter or of the laboratory
        self.number = number(path) if self.is_study else 0
        self.seen_from_chapters = seen_from_chapters(path)

    @cached_property
    def node(self) -> NotebookNode:
        """The notebook as ``nbformat`` reads it."""
        return nbformat.read(self.path, as_version=4) if self.path.exists() else new_notebook()

    @property
    def cells(self) -> list[NotebookNode]:
        """All cells."""
        return self.node.cells

    @property
    def first(self) -> str:
        """The text of the first cell."""
        return self.cells[0].source if self.cells else ""

    @property
    def code(self) -> list[NotebookNode]:
        """The cells of code."""
        return [cell for cell in self.cells if cell.cell_type == "code"]

    def tagged(self, tag: str) -> list[NotebookNode]:
        """The cells of code that have a tag."""
        return [cell for cell in self.code if tag in tags(cell)]

    @property
    def text(self) -> str:
        """All that is no code."""
        return "\n\n".join(cell.source for cell in self.cells if cell.cell_type == "markdown")

    @property
    def prose(self) -> str:
        """The text, without its code spans."""
        return re.sub(r"`[^`\n]+`", "", self.text)

    @property
    def headings(self) -> list[str]:
        """The headings of its sections."""
        return re.findall(r"^## (.+)$", self.prose, re.M)

    @property
    def family(self) -> "list[Notebook]":
        """A chapter and the laboratory notebooks that belong to it."""
        return [other for other in self.book.notebooks.values() if other.number == self.number]

    def exercises(self) -> Iterator[tuple[str, int]]:
        """Yield the number of each exercise, and the place of the cell that asks it."""
        for i, cell in enumerate(self.cells):
            found = HEADING.match(cell.source)
            if cell.cell_type == "markdown" and found:
                yield found["id"], i

    @property
    def model_answers(self) -> dict[str, str]:
        """Of the exercises that are answered in words, proofs among them."""
        found = {id: MODEL_ANSWER.search(self.cells[i].source) for id, i in self.exercises()}
        return {id: answer[1] for id, answer in found.items() if answer}

    @property
    def proofs(self) -> list[str]:
        """The exercises that ask for a proof."""
        return [id for id, i in self.exercises() if PROOF.match(self.cells[i].source)]
