"""Notebooks made from the chapters for students and instructors, and the folder they go to.

The chapters are the only source. Each function takes a chapter, an ``nbformat`` notebook, and
returns a new one; ``Folder`` writes files and never over somebody's edits.
"""

import copy
import hashlib
import json
import re
import secrets
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from attnbook.atomic_files import atomic_write
from attnbook.exercises import catalogue
from attncourse.address import install_note, with_links_to
from attncourse.chapter import MODEL_ANSWER, tags, without_comparison

ABOUT_SOLUTIONS = re.compile(
    r" A solution is folded below each exercise\. The last one has no check, "
    r"but a model answer\."
)


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
        cell.source = ABOUT_SOLUTIONS.sub(" The last one is answered in words.", cell.source)
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
            cell.metadata = {"tags": ["solution"]}
            id = re.match(r"# @title Solution ([\d.]+)", cell.source)[1]
            cells.append(new_markdown_cell(_for_the_teacher(known[id]), id=f"{cell.id}-teacher"))
    copied.cells = cells
    return copied


def _for_the_teacher(exercise) -> str:
    hints = [f"{i}. {text}" for i, text in enumerate(exercise.hints, start=1)]
    mistakes = [f"- **{name}.** {exercise.explanations[name]}" for name in exercise.mistakes]
    properties = [f"- {item.sentence}" for item in exercise.properties]
    return "\n\n".join(
        f"*{title}*\n\n" + "\n".join(lines)
        for title, lines in (
            ("Hints", hints),
            ("Properties that are tested", properties),
            ("Mistakes that are recognised, and what is said then", mistakes),
        )
        if lines
    )


class Folder:
    """Writes files into a folder, but never over what somebody has changed there.

    It remembers a fingerprint of each file that it wrote. A file that is still as it was written
    is brought up to date; a file that was edited, or that was there before, is kept.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._record = path / ".attnbook.json"
        self.kept: list[str] = []
        self.written: list[str] = []
        known = {"files": {}}
        if self._record.exists():
            known = json.loads(self._record.read_text("utf8"))
        self._known = known

    def seeds(self, count: int = 3) -> list[int]:
        """Random seeds, drawn once for this folder."""
        if "seeds" not in self._known:
            self._known["seeds"] = [secrets.randbelow(10**9) for _ in range(count)]
        return self._known["seeds"]

    def write(self, name: str, content: str | bytes | NotebookNode) -> None:
        """Write one file, unless somebody has changed it since it was last written here."""
        if isinstance(content, NotebookNode):
            nbformat.validate(content)
            content = nbformat.writes(content) + "\n"
        if isinstance(content, str):
            content = content.encode("utf8")
        path = self.path / name
        files = self._known["files"]
        if path.exists():
            there = _fingerprint(path.read_bytes())
            if there not in (files.get(name), _fingerprint(content)):
                self.kept.append(name)
                return
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, content)
        files[name] = _fingerprint(content)
        atomic_write(self._record, json.dumps(self._known, indent=1).encode())
        self.written.append(name)


def _fingerprint(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
