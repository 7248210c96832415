"""What a chapter states of itself, computed from it: minutes, exercises and what it builds on."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from attnbook.course.chapter import EXERCISE_TAGS, exercises_of, linked_title, tags
from attnbook.course.claims import experiments
from attnbook.figures import interactive

WORDS_A_MINUTE = 200
LINES_A_MINUTE = 12  # of code, read and run
MINUTES_A_FIGURE = 0.5

TIME = re.compile(r"^\*\*Time:\*\* .*$", re.M)
NEEDS = re.compile(r"^\*\*You need first:\*\* (.*)$", re.M)
BLOCK = re.compile(r"(<!-- computed: (\w+) -->\n).*?(<!-- end -->)", re.S)


def sections(chapter: NotebookNode) -> Iterator[tuple[str, float]]:
    """Yield title and minutes of each section but the exercises, the introduction first."""
    minutes = {"Introduction": 0.0}
    title = "Introduction"
    for cell in chapter.cells:
        if EXERCISE_TAGS & {*tags(cell)}:
            continue
        if cell.cell_type == "markdown":
            for part in re.split(r"^(?=## )", cell.source, flags=re.M):
                heading = re.match(r"## (.+)", part)
                title = heading[1] if heading else title
                # nobody reads the address of a link
                text = re.sub(r"\]\([^)\s]*\)", "]", part)
                words = len(re.findall(r"\w+", text))
                minutes.setdefault(title, 0.0)
                minutes[title] += words / WORDS_A_MINUTE
            continue
        if "hide-input" not in tags(cell):
            lines = [line for line in cell.source.split("\n") if line.strip()]
            minutes[title] += len(lines) / LINES_A_MINUTE
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data or "<attnbook-" in data.get("text/html", ""):
                minutes[title] += MINUTES_A_FIGURE
                break
    minutes.pop("Exercises", None)
    yield from minutes.items()


def reading_minutes(chapter: NotebookNode) -> int:
    """Minutes to read and run a chapter, to the next five."""
    return 5 * round(sum(minutes for _, minutes in sections(chapter)) / 5)


def predictions(chapter: NotebookNode) -> int:
    """How often the reader is asked to predict, in the text or with a choice, N.0."""
    choices = sum(task.id.endswith(".0") for task in exercises_of(chapter))
    return choices + sum(c.source.count("**Predict.**") for c in chapter.cells)


def needs(chapter: NotebookNode) -> list[int]:
    """The numbers of the chapters that this one says it needs, explains further or repeats."""
    text = NEEDS.search(chapter.cells[0].source)[1]
    lists = re.findall(r"\bchapters? (\d+(?:(?:, | and )\d+)*)", text)
    return sorted({int(n) for each in lists for n in re.findall(r"\d+", each)})


def hours(minutes: int) -> str:
    """Minutes in words, to a quarter of an hour: "about 1¾ hours"."""
    quarters = max(1, round(minutes / 15))
    whole, rest = divmod(quarters, 4)
    number = f"{whole or ''}{['', '¼', '½', '¾'][rest]}"
    return f"about {number} hour{'' if quarters <= 4 else 's'}"


def label(chapter: NotebookNode) -> str:
    """The line in a chapter's first cell that says how long it takes."""
    todo = list(exercises_of(chapter))
    return (
        f"**Time:** {reading_minutes(chapter)} minutes to read and run; "
        f"{len(todo)} exercises, {hours(sum(task.minutes for task in todo))}."
    )


def relabel(paths: Iterable[Path], texts: Iterable[Path]) -> list[Path]:
    """Write the labels into the chapters and the tables into the texts; return what changed."""
    changed = []
    chapters = {path: nbformat.read(path, as_version=4) for path in paths}
    for path, chapter in chapters.items():
        first = chapter.cells[0]
        before = first.source
        if not TIME.search(before) or not NEEDS.search(before):
            raise ValueError(
                f"{path}: the first cell needs a line **Time:** and a line **You need first:**"
            )
        first.source = TIME.sub(label(chapter), before, count=1)
        if first.source != before:
            nbformat.write(chapter, path)
            changed.append(path)
    for path in texts:
        before = path.read_text("utf8")
        unknown = {name for _, name, _ in BLOCK.findall(before)} - {*TABLES}
        if unknown:
            raise ValueError(
                f"{path}: no such table: {', '.join(sorted(unknown))}; there are "
                f"{', '.join(TABLES)}"
            )
        after = BLOCK.sub(lambda found: found[1] + TABLES[found[2]](chapters) + found[3], before)
        if after != before:
            path.write_text(after, "utf8")
            changed.append(path)
    return changed


def renew_figures(paths: Iterable[Path]) -> list[Path]:
    """Give figures that are stored in notebooks the present script; return what changed."""
    changed = []
    for path in paths:
        notebook = nbformat.read(path, as_version=4)
        figures = [
            output.data
            for cell in notebook.cells
            for output in cell.get("outputs", [])
            if "<attnbook-" in output.get("data", {}).get("text/html", "")
        ]
        stored = [figure["text/html"] for figure in figures]
        for figure in figures:
            figure["text/html"] = interactive.renewed(figure["text/html"])
        if stored != [figure["text/html"] for figure in figures]:
            nbformat.write(notebook, path)
            changed.append(path)
    return changed


def _table(header: str, rows: Iterable[Iterable]) -> str:
    columns = header.count("|") + 1
    lines = [f"| {header} |", "|" + "---|" * columns]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _chapters(chapters: dict[Path, NotebookNode]) -> str:
    rows = []
    for path, chapter in chapters.items():
        todo = list(exercises_of(chapter))
        rows.append(
            (
                linked_title(path, chapter),
                ", ".join(map(str, needs(chapter))) or "–",
                reading_minutes(chapter),
                predictions(chapter),
                len(todo),
                sum(task.minutes for task in todo),
                sum(task.points for task in todo),
            )
        )
    sums = [sum(column) for column in list(zip(*rows, strict=True))[2:]]
    rows.append(("**All**", "", *(f"**{total}**" for total in sums)))
    return _table(
        "Chapter | Refers to | Read and run, min | Predictions | Exercises | Their min | Points",
        rows,
    )


def _sections(chapters: dict[Path, NotebookNode]) -> str:
    rows = []
    for path, chapter in chapters.items():
        parts = [f"{title} **{max(1, round(minutes))}**" for title, minutes in sections(chapter)]
        rows.append((path.stem.split("-")[0].lstrip("0"), " · ".join(parts)))
    return _table("Chapter | Sections and their minutes", rows)


def _exercises(chapters: dict[Path, NotebookNode]) -> str:
    rows = []
    for path, chapter in chapters.items():
        parts = [
            f"{task.id} {'★' * task.stars} **{task.minutes}**"
            + (" *words*" if task.model_answer else "")
            for task in exercises_of(chapter)
        ]
        rows.append((path.stem.split("-")[0].lstrip("0"), " · ".join(parts)))
    return _table("Chapter | Exercises, stars and minutes", rows)


TABLES = {
    "chapters": _chapters,
    "sections": _sections,
    "exercises": _exercises,
    "experiments": experiments,
}
