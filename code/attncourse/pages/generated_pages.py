"""What a chapter states of itself, computed from it: minutes, exercises and what it builds on."""

import re
from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from attnbook.atomic_files import atomic_write
from attnbook.exercises import catalogue
from attncourse import UsageError
from attncourse.chapter import (
    ChapterExercise,
    contents,
    exercises_of,
    in_laboratory,
    linked_title,
    number,
    seen_from_chapters,
    write_notebook,
)
from attncourse.pages import plans
from attncourse.pages.claims import experiments, ledger
from attncourse.pages.plans import table
from attncourse.pages.questions import asked, questions
from attncourse.pages.timing import predictions, reading_minutes, sections
from attncourse.replicate import Runs

TIME = re.compile(r"^\*\*Time:\*\* .*$", re.M)
NEEDS = re.compile(r"^\*\*You need first:\*\* (.*)$", re.M)
# in the text above a chapter's exercises, and what follows it: where the missing ones are
LAST_ONE = re.compile(r"^(.* The last one has no check, but a model answer\.).*$", re.M)
BLOCK = re.compile(r"(<!-- computed: (\w+) -->\n).*?(<!-- end -->)", re.S)
PATH = re.compile(r"All chapters take .*? hours?\.")


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


def elsewhere(path: Path, notebooks: dict[Path, NotebookNode]) -> str:
    """Where those exercises are whose numbers a reader of this chapter misses; "" if none is."""
    links = []
    for other, book in notebooks.items():
        if not in_laboratory(other) or number(other) != number(path):
            continue
        if ids := [task.id for task in exercises_of(book)]:
            *first, last = sorted(ids, key=lambda told: int(told.split(".")[1]))
            names = f"{', '.join(first)} and {last}" if first else last
            links.append((int(ids[0].split(".")[1]), f"[{names}]({seen_from_chapters(other)})"))
    where = ", ".join(link for _, link in sorted(links))
    return f" Numbers missing here stand in the laboratory: {where}." if where else ""


def relabel(paths: Iterable[Path], texts: Iterable[Path]) -> list[Path]:
    """Write the labels into the notebooks and the tables into the texts; return what changed.

    A chapter also says where those of its exercises are that it has not. A notebook of the
    laboratory needs no label.
    """
    changed = []
    notebooks = {path: nbformat.read(path, as_version=4) for path in paths}
    for path, chapter in notebooks.items():
        first, rest = chapter.cells[0], elsewhere(path, notebooks)
        before = first.source
        labelled = TIME.search(before) and NEEDS.search(before)
        if not labelled and not in_laboratory(path):
            raise UsageError(
                f"{path}: the first cell needs a line **Time:** and a line **You need first:**"
            )
        first.source = TIME.sub(label(chapter), before, count=1)
        is_new = first.source != before
        if not in_laboratory(path):
            for cell in chapter.cells:
                text = LAST_ONE.sub(rf"\g<1>{rest}", cell.source)  # no backslash in it
                is_new |= text != cell.source
                cell.source = text
        if is_new:
            write_notebook(path, chapter)
            changed.append(path)
    for path in texts:
        before = path.read_text("utf8")
        unknown = {name for _, name, _ in BLOCK.findall(before)} - {*TABLES}
        if unknown:
            raise UsageError(
                f"{path}: no such table: {', '.join(sorted(unknown))}; there are "
                f"{', '.join(TABLES)}"
            )
        after = BLOCK.sub(lambda found: found[1] + TABLES[found[2]](notebooks) + found[3], before)
        after = PATH.sub(lambda _: whole_path(notebooks), after)
        if after != before:
            atomic_write(path, after.encode())
            changed.append(path)
    return changed


def pages(root: Path) -> list[Path]:
    """The pages with tables and times that are computed from the chapters.

    Raises ``UsageError`` if the table of contents names a page that is not there.
    """
    for file in contents(root):
        if not any(file.with_name(file.name + end).exists() for end in (".ipynb", ".md")):
            raise UsageError(f"_toc.yml names {file}, but no {file.name}.ipynb or .md is there")
    folder = root / "chapters"
    return [root / "README.md", *sorted(folder.glob("*.md")), folder / "index.ipynb"]


def whole_path(notebooks: dict[Path, NotebookNode]) -> str:
    """The sentence of the landing page that says how long everything takes."""
    own, other = [], []
    for path, book in notebooks.items():
        (other if in_laboratory(path) else own).extend(task.minutes for task in exercises_of(book))
    return (
        f"All chapters take {hours(_to_read(notebooks))} to read and run, "
        f"their {len(own)} exercises {hours(sum(own))}, "
        f"the {len(other)} of the laboratory {hours(sum(other))}."
    )


def _without_laboratory(notebooks: dict[Path, NotebookNode]) -> dict[Path, NotebookNode]:
    return {path: book for path, book in notebooks.items() if not in_laboratory(path)}


def _on_chapter(path: Path, notebooks: dict[Path, NotebookNode]) -> list[ChapterExercise]:
    """The exercises of a chapter, and those on it that stand in the laboratory."""
    return [
        task
        for other, book in notebooks.items()
        if number(other) == number(path)
        for task in exercises_of(book)
    ]


def _chapters(notebooks: dict[Path, NotebookNode]) -> str:
    rows = []
    for path, chapter in _without_laboratory(notebooks).items():
        todo = _on_chapter(path, notebooks)
        rows.append(
            (
                linked_title(path, chapter),
                ", ".join(map(str, needs(chapter))) or "–",
                reading_minutes(chapter),
                sum(predictions(chapter).values()),
                len(todo),
                sum(task.minutes for task in todo),
                sum(task.points for task in todo),
            )
        )
    sums = [sum(column) for column in list(zip(*rows, strict=True))[2:]]
    rows.append(("**All**", "", *(f"**{total}**" for total in sums)))
    return table(
        "Chapter | Refers to | Read and run, min | Predictions | Exercises | Their min | Points",
        rows,
    )


def _sections(notebooks: dict[Path, NotebookNode]) -> str:
    rows = []
    for path, chapter in _without_laboratory(notebooks).items():
        parts = [
            f"{title} **{max(1, round(minutes))}**" for title, minutes in sections(chapter).items()
        ]
        rows.append((number(path), " · ".join(parts)))
    return table("Chapter | Sections and their minutes", rows)


def _exercises(notebooks: dict[Path, NotebookNode]) -> str:
    rows = []
    for path in _without_laboratory(notebooks):
        parts = [
            f"{task.id} {'★' * task.stars} **{task.minutes}**"
            + (" *words*" if task.model_answer else "")
            for task in _on_chapter(path, notebooks)
        ]
        rows.append((number(path), " · ".join(parts)))
    return table("Chapter | Exercises, stars and minutes", rows)


def _to_read(notebooks: dict[Path, NotebookNode]) -> int:
    return sum(map(reading_minutes, _without_laboratory(notebooks).values()))


def _numbers(notebooks: dict[Path, NotebookNode]) -> str:
    """What the README counts."""
    chapters = _without_laboratory(notebooks)
    folder = next(iter(chapters)).parent
    tasks = {task.id for book in notebooks.values() for task in exercises_of(book)}
    mistakes = sum(len(each.mistakes) for each in catalogue() if each.id in tasks)
    stored = [path.with_suffix(".csv") for path in notebooks if in_laboratory(path)]
    for path in stored:
        if not path.exists():
            raise UsageError(
                f"{path} is missing: python -m attncourse replicate lab/{path.stem} makes it"
            )
    runs = [Runs.read(path.read_text("utf8")) for path in stored]
    rows = sum(len(rows) for of_seed in runs for rows in of_seed.rows.values())
    return table(
        "How many | Of what",
        [
            (len(chapters), f"chapters, {hours(_to_read(notebooks))} to read and run in all"),
            (len(ledger(folder)), "claims about attention, each measured"),
            (f"{rows:,}", f"results of {len(runs)} experiments, a row each, by seed"),
            (len(tasks), f"exercises; they know {mistakes} mistakes by name"),
            (len(asked(folder)), "questions that people ask, with a verdict"),
        ],
    )


TABLES = {
    "numbers": _numbers,
    "chapters": _chapters,
    "sections": _sections,
    "exercises": _exercises,
    "experiments": experiments,
    "questions": questions,
    "six_weeks": plans.six_weeks,
    "one_day": plans.one_day,
    "polls": plans.polls,
    "homework": plans.homework,
    "homework_command": plans.homework_command,
    "self_study": plans.self_study,
}
