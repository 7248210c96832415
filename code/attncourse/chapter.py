"""Which chapters and laboratory notebooks there are, and what is in one.

A laboratory notebook, ``chapters/lab/NN-question.ipynb``, belongs to chapter NN. The front chapter,
``chapters/00-…``, comes before chapter 1: it has no number on its page, and no exercises.
"""

import ast
import re
import symtable
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml
from nbformat import NotebookNode

from attnbook.atomic_files import atomic_write
from attncourse import UsageError

TITLE = re.compile(r"# (?:Lab )?(?P<number>\d+) · (?P<question>.+)")

HEADING = re.compile(
    r"^### Exercise (?P<id>[\d.]+) (?P<stars>[★☆]{3}) · (?P<minutes>\d+) min$", re.M
)

MODEL_ANSWER = re.compile(r"\n*<details>\s*<summary>A model answer</summary>(.*?)</details>", re.S)

POINTS = re.compile(r"\((\d+) points?")  # in a model answer

PROOF = re.compile(rf"{HEADING.pattern}\n\n\*\*Prove it\.\*\* ", re.M)  # its text begins so

HINT = re.compile(r"<details>\s*<summary>A hint</summary>(.*?)</details>", re.S)  # of a proof

SOLUTION = re.compile(
    r"<details(?: open)?>\n<summary>Solution (?P<id>[\d.]+)</summary>\n\n"
    r"```python\n(?P<code>.*)\n```\n\n</details>",
    re.S,
)

POINTS_A_STAR = 2

EXERCISE_TAGS = {"setup", "exercise"}  # of code that is no part of a chapter's experiments

DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign)

ABOUT_SOLUTIONS = (
    " A solution is folded below each exercise."
    " Exercises in words and proofs have a model answer instead of a check."
)

ABOUT_PROOFS = "You write a proof on paper. It has a model answer instead of a check."

COMPARE_SENTENCE = re.compile(r"(, then compare| Then compare)\.$", re.M)


def contents(root: Path) -> list[Path]:
    """The book's files in the order of ``_toc.yml``, without their endings."""
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf8"))

    def files(entry: dict) -> Iterator[Path]:
        if "file" in entry:
            yield root / entry["file"]
        for group in ("parts", "chapters", "sections"):
            for inner in entry.get(group, []):
                yield from files(inner)

    return [root / toc["root"], *files(toc)]


def notebooks(root: Path) -> list[Path]:
    """The book's notebooks, in order: the page that it opens with, chapters, the laboratory."""
    paths = [file.with_name(file.name + ".ipynb") for file in contents(root)]
    return [path for path in paths if path.exists()]


def in_laboratory(path: Path) -> bool:
    """Whether a notebook is one of the laboratory, by its folder."""
    return path.parent.name == "lab"


def is_front(path: Path) -> bool:
    """Whether a notebook is the front chapter."""
    return path.name.startswith("00-")


def number(path: Path) -> int:
    """The number of a chapter, or of the chapter that a laboratory notebook belongs to."""
    return int(path.stem.split("-")[0])


def chapters(root: Path) -> list[Path]:
    """The notebooks of the book's numbered chapters, in order."""
    return [path for path in studies(root) if not in_laboratory(path) and not is_front(path)]


def laboratory(root: Path) -> list[Path]:
    """The notebooks of the book's laboratory, in order."""
    return [path for path in studies(root) if in_laboratory(path)]


def laboratory_numbers(notebooks: Iterable[Path]) -> dict[Path, str]:
    """The numbers of laboratory notebooks, by their order: 9.3 is the third of chapter 9."""
    numbers, count = {}, Counter()
    for path in filter(in_laboratory, notebooks):
        count[number(path)] += 1
        numbers[path] = f"{number(path)}.{count[number(path)]}"
    return numbers


def main_experiments(chapters: Path) -> dict[str, str]:
    """The laboratory's main experiments, by ``laboratory.toml`` in the folder of the chapters.

    Each notebook's name comes with the words that name it at the end of its chapter. Raises
    ``UsageError`` if the file is not TOML.
    """
    path = chapters / "laboratory.toml"
    try:
        return tomllib.loads(path.read_text("utf8")) if path.exists() else {}
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from error


def studies(root: Path) -> list[Path]:
    """The front chapter, the chapters and the laboratory, in order."""
    return [path for path in notebooks(root) if re.match(r"\d\d-", path.name)]


def workshop(root: Path) -> list[Path]:
    """The notebooks in which readers make something of their answers to exercises, in order."""
    return [path for path in notebooks(root) if path.name.startswith("your-own-")]


def stored_runs(path: Path) -> Path:
    """The file, in the package attnbook, that has the stored runs of a laboratory notebook."""
    return path.parents[2] / f"code/attnbook/stored_runs/{path.stem}.csv"


def find_chapter(root: Path, told: str) -> Path:
    """The chapter that somebody means by its file, its name or its number.

    Notebooks of the laboratory and of the workshop go by their files and names. Raises
    ``UsageError`` if there is none.
    """
    name = Path(told).name.removesuffix(".ipynb")
    for path in chapters(root):
        if name.isdigit() and int(name) == number(path):
            return path
    for path in [*studies(root), *workshop(root)]:
        if name == path.stem:
            return path
    raise UsageError(
        f"no such chapter: {told}; there are {', '.join(path.stem for path in chapters(root))}, "
        "and each also goes by its number; the laboratory has "
        f"{', '.join(path.stem for path in laboratory(root)) or 'none'}"
    )


def of_chapters(notebooks: dict[Path, NotebookNode]) -> dict[Path, NotebookNode]:
    """The numbered chapters among the notebooks of the book."""
    return {
        path: book
        for path, book in notebooks.items()
        if not in_laboratory(path) and not is_front(path)
    }


def as_text(notebook: NotebookNode) -> str:
    """A notebook as its file has it."""
    return nbformat.writes(notebook) + "\n"


def write_notebook(path: Path, notebook: NotebookNode) -> None:
    """Write a notebook whole or not at all."""
    atomic_write(path, as_text(notebook).encode())


def tags(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def title(notebook: NotebookNode) -> tuple[str, str]:
    """The number and the question of a chapter or of a laboratory notebook."""
    return TITLE.match(notebook.cells[0].source).group("number", "question")


def opening(notebook: NotebookNode) -> str:
    """The text before the first section: question, short answer, minutes and needs."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return re.split(r"^## ", "\n\n".join(texts), maxsplit=1, flags=re.M)[0]


def linked_title(path: Path, notebook: NotebookNode) -> str:
    """A chapter's number and its question, which links to it from another page.

    A laboratory notebook has its question alone, because it is listed below its chapter.
    """
    n, question = title(notebook)
    link = f"[{question}]({seen_from_chapters(path)})"
    return link if in_laboratory(path) else f"{n} · {link}"


def seen_from_chapters(path: Path) -> str:
    """Where a notebook is, seen from the folder of the chapters."""
    return f"lab/{path.name}" if in_laboratory(path) else path.name


@dataclass
class ChapterExercise:
    """An exercise as a chapter has it: its text, and its cells or its model answer."""

    id: str
    stars: int
    minutes: int
    text: str
    stub: str = ""  # ends with the call of check; "" if it is answered in words
    figure: str = ""  # the code of the figure that is to be read
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
        return sum(map(int, POINTS.findall(self.model_answer)))

    @property
    def call(self) -> tuple[str, str]:
        """The stub without its call of check, and what this call hands over.

        A stub that is to be mended is called with ``...``, for the number of the wrong line. In the
        end, its function is handed over.
        """
        *before, last = ast.parse(self.stub).body
        _, answer = last.value.args
        above = "\n".join(self.stub.split("\n")[: last.lineno - 1]).rstrip()
        code = ast.get_source_segment(self.stub, answer)
        return above, before[-1].name if code == "..." else code


def exercises_of(chapter: NotebookNode) -> Iterator[ChapterExercise]:
    """Yield the exercises of a chapter, in its order."""
    for i, cell in enumerate(chapter.cells):
        found = HEADING.search(cell.source)
        if cell.cell_type != "markdown" or not found:
            continue
        text = cell.source[found.start() :]
        answer = MODEL_ANSWER.search(text)
        task = ChapterExercise(
            id=found["id"],
            stars=found["stars"].count("★"),
            minutes=int(found["minutes"]),
            text=text[: answer.start()] if answer else text.rstrip(),
        )
        if answer:
            task.text = without_comparison(task.text)
            task.model_answer = answer[1].strip()
        else:
            stub, solution = cells_to_answer_in(chapter, i)
            folded = SOLUTION.fullmatch(solution.source)
            if not folded:
                raise UsageError(f"exercise {task.id}: there is no folded solution below its stub")
            task.stub, task.solution = stub.source, folded["code"]
            below = chapter.cells[i + 1]
            task.figure = below.source if "to-read" in tags(below) else ""
        yield task


def cells_to_answer_in(chapter: NotebookNode, place: int) -> list[NotebookNode]:
    """The stub and the solution of the exercise whose text is at a place of a chapter.

    They follow right after it, or after the buttons that a page has instead, or after the figure
    with the symptoms of the code that is to be mended, or after the figure that is to be read.
    """
    between = bool({"predict", "symptoms", "to-read"} & {*tags(chapter.cells[place + 1])})
    return chapter.cells[place + 1 + between : place + 3 + between]


def without_comparison(text: str) -> str:
    """Where there is no model answer, nobody is told to compare with it."""
    return COMPARE_SENTENCE.sub(lambda found: "." if found[1].startswith(",") else "", text)


def with_hints_unfolded(text: str) -> str:
    """For pages that show tags as they are written.

    >>> with_hints_unfolded("<details>\\n<summary>A hint</summary>\\n\\nAdd.\\n\\n</details>")
    '*A hint:* Add.'
    """
    return HINT.sub(lambda found: f"*A hint:* {found[1].strip()}", text)


def definitions(code: str) -> list[tuple[ast.stmt, str]]:
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
