"""Notebooks made from the chapters: for students, for graded assignments, for instructors.

The chapters are the only source. Each function takes a chapter, an ``nbformat`` notebook, and
returns a new one; ``Folder`` writes files and never over somebody's edits.
"""

import ast
import copy
import hashlib
import json
import os
import re
import secrets
import symtable
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from .exercises import catalogue

HEADING = re.compile(
    r"^### Exercise (?P<id>[\d.]+) (?P<stars>[★☆]{3}) · (?P<minutes>\d+) min$", re.M
)
MODEL_ANSWER = re.compile(r"\n*<details>\s*<summary>A model answer</summary>(.*?)</details>", re.S)
POINTS_A_STAR = 2
OF_EXERCISES = {"setup", "exercise", "solution"}
DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign)
ABOUT_SOLUTIONS = re.compile(
    r" A solution is folded below each exercise\. The last one has no check, "
    r"but a model answer\."
)
# whatever a submission has changed in the package's functions
AFRESH = """\
import sys

[sys.modules.pop(m) for m in [*sys.modules] if m.startswith("attnbook")]
from attnbook.exercises import points
"""
THEN_COMPARE = re.compile(r"(, then compare| Then compare)\.$", re.M)


def tags(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def linked_title(path: Path, chapter: NotebookNode) -> str:
    """A chapter's number and its question, which links to it from another page."""
    number, question = re.match(r"# (\d+) · (.+)", chapter.cells[0].source).groups()
    return f"{number} · [{question}]({path.name})"


@dataclass
class Task:
    """An exercise as it stands in a chapter: its text, and its cells or its model answer."""

    id: str
    stars: int
    minutes: int
    text: str
    stub: str = ""  # ends with the call of check; "" if it is answered in words
    solution: str = ""
    model_answer: str = ""

    @property
    def points(self) -> int:
        """By stars; an answer in words has as many as its rubric, "(2 points)", adds up to.

        The choice before an experiment, N.0, has none: whoever is wrong has learned most.
        """
        if self.id.endswith(".0"):
            return 0
        if not self.model_answer:
            return POINTS_A_STAR * self.stars
        return sum(map(int, re.findall(r"\((\d+) points?", self.model_answer)))

    @property
    def call(self) -> tuple[str, str]:
        """The stub without its last line, and the name that this line hands to check."""
        *code, check = self.stub.rstrip().split("\n")
        return "\n".join(code).rstrip(), check.split(", ")[1].rstrip(")")


def tasks(chapter: NotebookNode) -> Iterator[Task]:
    """Yield the exercises of a chapter, in its order."""
    for i, cell in enumerate(chapter.cells):
        found = HEADING.search(cell.source)
        if cell.cell_type != "markdown" or not found:
            continue
        text = cell.source[found.start() :]
        answer = MODEL_ANSWER.search(text)
        task = Task(
            id=found["id"],
            stars=found["stars"].count("★"),
            minutes=int(found["minutes"]),
            text=text[: answer.start()] if answer else text.rstrip(),
        )
        if answer:
            task.text = _without_comparison(task.text)
            task.model_answer = answer[1].strip()
        else:
            stub, solution = chapter.cells[i + 1 : i + 3]
            task.stub, task.solution = stub.source, solution.source
        yield task


def _without_comparison(text: str) -> str:
    """Where there is no model answer, nobody is told to compare with it."""
    return THEN_COMPARE.sub(lambda found: "." if found[1].startswith(",") else "", text)


def student(chapter: NotebookNode) -> NotebookNode:
    """The whole chapter without solutions, model answers and outputs: to be run and filled in."""
    copied = copy.deepcopy(chapter)
    cells = []
    for cell in copied.cells:
        if "solution" in tags(cell):
            continue
        cells.append(cell)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            continue
        cell.source, in_words = MODEL_ANSWER.subn("", cell.source)
        cell.source = ABOUT_SOLUTIONS.sub(" The last one is answered in words.", cell.source)
        if in_words:
            cell.source = _without_comparison(cell.source)
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
    todo = [task for task in tasks(chapter) if task.points and (only is None or task.id in only)]
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
                f"### BEGIN HIDDEN TESTS\n{AFRESH}\n"
                f'points("{task.id}", {answer}, of={task.points}, '
                f"seeds={tuple(seeds)})\n"
                "### END HIDDEN TESTS",
                metadata=_graded(name, locked=True, points=task.points),
            ),
        ]
    for i, cell in enumerate(cells):
        cell.id = f"a{i:02d}"  # the same whenever it is made again
    return new_notebook(cells=cells, metadata=copy.deepcopy(chapter.metadata))


def _solution(task: Task) -> str:
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


ALWAYS_AT_HAND = {"check", "hint", "math", "torch", "F", "nn"}


def needed(chapter: NotebookNode, todo: Iterable[Task]) -> str:
    """The chapter's imports and definitions that its exercises use, in the chapter's order."""
    wanted = set(ALWAYS_AT_HAND)
    for task in todo:
        if task.stub:
            for code in (task.stub, _solution(task)):
                uses, defines = names(code)
                wanted |= uses - defines
        # functions and classes of the chapter that the text speaks of
        wanted |= {f"def {name}" for name in re.findall(r"`(\w+)`", task.text)}
    imports, definitions = [], []
    for cell in reversed(chapter.cells):
        if cell.cell_type != "code" or OF_EXERCISES & {*tags(cell)}:
            continue
        for statement, source in reversed(_definitions(cell.source)):
            uses, defines = names(source)
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                defines |= {f"def {statement.name}"}
            if not defines & wanted:
                continue
            wanted = (wanted - defines) | (uses - defines)
            if isinstance(statement, ast.Import | ast.ImportFrom):
                imports.append(source)
            else:
                definitions.append(source)
    return "\n\n\n".join(["\n".join(imports[::-1]), *definitions[::-1]])


def _definitions(code: str) -> list[tuple[ast.stmt, str]]:
    """What a cell imports, defines and assigns, each with its source."""
    lines = code.split("\n")
    found = []
    for statement in ast.parse(code).body:
        if isinstance(statement, DEFINITIONS):
            decorators = getattr(statement, "decorator_list", [])
            first = min([statement.lineno, *(d.lineno for d in decorators)])
            source = "\n".join(lines[first - 1 : statement.end_lineno])
            found.append((statement, source))
    return found


def names(code: str) -> tuple[set[str], set[str]]:
    """The names that a piece of code takes from outside, and those it defines."""
    top = symtable.symtable(code, "cell", "exec")
    used, defined = set(), set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if table is top and (symbol.is_assigned() or symbol.is_imported()):
                defined.add(symbol.get_name())
            if symbol.is_referenced() and (table is top or symbol.is_global()):
                used.add(symbol.get_name())
    return used, defined


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
        _replace(path, content)
        files[name] = _fingerprint(content)
        _replace(self._record, json.dumps(self._known, indent=1).encode())
        self.written.append(name)


def _fingerprint(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _replace(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_bytes(content)
    os.replace(unfinished, path)
