"""What a chapter states of itself, computed from it: minutes, exercises and what it builds on."""

import copy
import re
from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from attncourse import UsageError
from attncourse.address import how_to_run
from attncourse.chapter import (
    ABOUT_PROOFS,
    ABOUT_SOLUTIONS,
    ChapterExercise,
    as_text,
    contents,
    exercises_of,
    in_laboratory,
    is_front,
    linked_title,
    number,
    of_chapters,
    opening,
    seen_from_chapters,
    title,
)
from attncourse.pages import plans
from attncourse.pages.claims import experiments
from attncourse.pages.gallery import INTO_LABORATORY, gallery, into_laboratory
from attncourse.pages.plans import table
from attncourse.pages.questions import questions
from attncourse.pages.timing import predictions, reading_minutes, sections

TIME = re.compile(r"^\*\*Time:\*\* .*$", re.M)
NEEDS = re.compile(r"^\*\*You need first:\*\* (.*)$", re.M)
EXERCISES = re.compile(r"^## Exercises$.*", re.M | re.S)  # the heading, and the text below it
BLOCK = re.compile(r"(<!-- computed: (\w+) -->\n).*?(<!-- end -->)", re.S)
MAIN_PATH = 9  # the chapter with a Transformer that translates
PATH = re.compile(rf"Chapters 1 to {MAIN_PATH} .*? exercises of the laboratory take .*? hours?\.")
FRONT = (10, "the whole idea in five questions, each with a picture first")  # minutes: its title
IN_LABORATORY = re.compile(r"(?<=^## Exercises\n\n)[^#\n].*", re.M)  # the paragraph below it
HOW_TO_ANSWER = (
    "Use the icons at the top of the page to download it or to open it as a notebook. Write your "
    "answer in the cell below each exercise, and run that cell. At the end of the cell, "
    "`check` tests your answer, tells you which properties hold, and names your mistake if it "
    "recognises one. "
    '`hint("{first}")` gives you a hint, and another each time you run it again.'
)


def needs(chapter: NotebookNode) -> list[int]:
    """The numbers of the chapters that this one says it needs, explains further or repeats."""
    text = NEEDS.search(opening(chapter))[1]
    lists = re.findall(r"\bchapters? (\d+(?:(?:, | and )\d+)*)", text)
    return sorted({int(n) for each in lists for n in re.findall(r"\d+", each)})


def hours(minutes: int) -> str:
    """Minutes in words, to a quarter of an hour: "about 1¾ hours"."""
    quarters = max(1, round(minutes / 15))
    whole, rest = divmod(quarters, 4)
    number = f"{whole or ''}{['', '¼', '½', '¾'][rest]}"
    return f"about {number} hour{'' if quarters <= 4 else 's'}"


def label(chapter: NotebookNode) -> str:
    """The line before a chapter's first section that says how long it takes."""
    todo = list(exercises_of(chapter))
    return (
        f"**Time:** {reading_minutes(chapter)} minutes to read and run; "
        f"{len(todo)} exercises, {hours(sum(task.minutes for task in todo))}."
    )


def elsewhere(path: Path, notebooks: dict[Path, NotebookNode]) -> str:
    """Where the laboratory of this chapter has further exercises; "" if it has none."""
    links = []
    for other, book in notebooks.items():
        if not in_laboratory(other) or number(other) != number(path):
            continue
        if numbers := sorted(int(task.id.split(".")[1]) for task in exercises_of(book)):
            *first, last = (f"{number(path)}.{n}" for n in numbers)
            if len(first) > 1 and numbers == [*range(numbers[0], numbers[-1] + 1)]:
                names = f"{first[0]} to {last}"
            else:
                names = f"{', '.join(first)} and {last}" if first else last
            links.append((numbers, f"[{names}]({seen_from_chapters(other)})"))
    where = ", ".join(link for _, link in sorted(links))
    return f" The laboratory has further exercises: {where}." if where else ""


def _to_answer(path: Path, notebook: NotebookNode) -> str:
    """How to answer the exercises of a notebook, with a hint on the first that asks for code.

    If none of a laboratory notebook asks for a function, the hint is on the first with a check.
    """
    checked = [task for task in exercises_of(notebook) if task.stub]
    functions = [task for task in checked if "def " in task.stub]
    if not functions and not (checked and in_laboratory(path)):
        raise UsageError(f"{path}: no exercise asks for a function, so no hint can be shown")
    return HOW_TO_ANSWER.format(first=(functions or checked)[0].id)


def how_to_answer(path: Path, notebooks: dict[Path, NotebookNode]) -> str:
    """The text above a chapter's exercises: how to answer them, and where there are more."""
    text = f"## Exercises\n\n{_to_answer(path, notebooks[path])}{ABOUT_SOLUTIONS}"
    return text + elsewhere(path, notebooks)


def outdated(notebooks: dict[Path, NotebookNode], texts: Iterable[Path]) -> dict[Path, str]:
    """What the chapters and the texts must say, by path, where they do not say it yet.

    A notebook of the laboratory only says how to answer its exercises. Raises ``UsageError`` if a
    chapter has no place for its labels, and if a text has a place for a table that does not exist.
    """
    changed = {}
    chapters = of_chapters(notebooks)
    for path in notebooks:
        if path in chapters:
            new = _labelled(path, notebooks)
        elif in_laboratory(path):
            new = _with_how_to_answer(path, notebooks[path])
        else:
            continue
        if new.cells != notebooks[path].cells:
            changed[path] = as_text(new)
    for path in texts:
        if path.suffix == ".ipynb":
            before = nbformat.read(path, as_version=4)
            new = copy.deepcopy(before)
            for cell in new.cells:
                cell.source = _filled(path, cell.source, notebooks)
            before, after = as_text(before), as_text(new)
        else:
            before = path.read_text("utf8")
            after = _filled(path, before, notebooks)
        if after != before:
            changed[path] = after
    return changed


def _labelled(path: Path, notebooks: dict[Path, NotebookNode]) -> NotebookNode:
    """A chapter with its time, the text above its exercises, and the way into its laboratory."""
    chapter = copy.deepcopy(notebooks[path])
    if not TIME.search(opening(chapter)) or not NEEDS.search(opening(chapter)):
        raise UsageError(
            f"{path}: before its first section it needs a line **Time:** and a line "
            "**You need first:**"
        )
    timed = next(cell for cell in chapter.cells if TIME.search(cell.source))
    timed.source = TIME.sub(label(chapter), timed.source, count=1)
    text = how_to_answer(path, notebooks)
    for cell in chapter.cells:
        if cell.cell_type == "markdown":
            cell.source = EXERCISES.sub(lambda _: text, cell.source)
    end = chapter.cells[-1]
    if end.cell_type != "markdown":
        raise UsageError(f"{path}: it must end with text, such as the question of the next chapter")
    end.source = _leading_into(end.source, into_laboratory(path, notebooks))
    return chapter


def _leading_into(text: str, sentence: str) -> str:
    """The end of a chapter with a sentence, which may be new or "", before its last paragraph."""
    *before, last = text.split("\n\n")
    if before and before[-1].startswith(INTO_LABORATORY):
        before.pop()
    return "\n\n".join([*before, *([sentence] if sentence else []), last])


def _with_how_to_answer(path: Path, notebook: NotebookNode) -> NotebookNode:
    """A notebook of the laboratory with the paragraph above its exercises, if it has some."""
    notebook = copy.deepcopy(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and IN_LABORATORY.search(cell.source):
            todo = list(exercises_of(notebook))
            coded = [_to_answer(path, notebook)] if any(task.stub for task in todo) else []
            proved = [ABOUT_PROOFS] if any(task.model_answer for task in todo) else []
            text = " ".join(coded + proved)
            cell.source = IN_LABORATORY.sub(lambda _, text=text: text, cell.source)
    return notebook


def _filled(path: Path, text: str, notebooks: dict[Path, NotebookNode]) -> str:
    """A text with its tables, and with the sentence that says how long everything takes."""
    unknown = {name for _, name, _ in BLOCK.findall(text)} - {*TABLES}
    if unknown:
        raise UsageError(
            f"{path}: no such table: {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}"
        )
    text = BLOCK.sub(lambda found: found[1] + TABLES[found[2]](notebooks) + found[3], text)
    return PATH.sub(lambda _: whole_path(notebooks), text)


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
    main = {path: book for path, book in notebooks.items() if number(path) <= MAIN_PATH}
    rest = {path: book for path, book in notebooks.items() if number(path) > MAIN_PATH}
    return (
        f"Chapters 1 to {MAIN_PATH} lead to a Transformer that translates, and take "
        f"{hours(_to_read(main))} to read and run. The other chapters, "
        f"on the cost of attention and on trained models, take {hours(_to_read(rest))}. "
        f"The {len(own)} exercises of all chapters take {hours(sum(own))}, and the {len(other)} "
        f"exercises of the laboratory take {hours(sum(other))}."
    )


def _on_chapter(path: Path, notebooks: dict[Path, NotebookNode]) -> list[ChapterExercise]:
    """The exercises of a chapter, and those on it of the laboratory."""
    return [
        task
        for other, book in notebooks.items()
        if number(other) == number(path)
        for task in exercises_of(book)
    ]


def _chapters(notebooks: dict[Path, NotebookNode]) -> str:
    rows = []
    for path, chapter in of_chapters(notebooks).items():
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


def _contents(notebooks: dict[Path, NotebookNode]) -> str:
    """The README's list of chapters."""
    titles = [(path, title(chapter)) for path, chapter in of_chapters(notebooks).items()]
    rows = [(n, f"[{question}](chapters/{path.name})") for path, (n, question) in titles]
    return table("Chapter | Question", rows)


def _landing(notebooks: dict[Path, NotebookNode]) -> str:
    """The landing page's list of chapters, which the page shows as cards.

    What a chapter measures is in its metadata.
    """
    rows = []
    for path in filter(is_front, notebooks):
        heading = notebooks[path].cells[0].source.splitlines()[0].lstrip("# ")
        rows.append(("", f"[{heading}]({path.name})", *FRONT))
    for path, chapter in of_chapters(notebooks).items():
        n, question = title(chapter)
        if not chapter.metadata.get("measures"):
            raise UsageError(f'{path}: its metadata need a short text "measures"')
        link = f"[{question}]({path.name})"
        rows.append((n, link, reading_minutes(chapter), chapter.metadata.measures))
    return table(" | Question | Minutes | What you will measure", rows)


def _running(notebooks: dict[Path, NotebookNode]) -> str:
    """How to run the book, as the landing page has it."""
    return how_to_run(next(iter(of_chapters(notebooks))).parents[1])


def _outcomes(notebooks: dict[Path, NotebookNode]) -> str:
    """What each chapter says that its reader can do afterwards."""
    rows = []
    for path, chapter in of_chapters(notebooks).items():
        said = re.search(r"\*\*Afterwards you can\*\* (.+)\.", opening(chapter))
        rows.append((number(path), said[1] if said else "–"))
    return table("Chapter | Afterwards, students can", rows)


def _sections(notebooks: dict[Path, NotebookNode]) -> str:
    rows = []
    for path, chapter in of_chapters(notebooks).items():
        parts = [
            f"{title} **{max(1, round(minutes))}**" for title, minutes in sections(chapter).items()
        ]
        rows.append((number(path), " · ".join(parts)))
    return table("Chapter | Sections and their minutes", rows)


def _exercises(notebooks: dict[Path, NotebookNode]) -> str:
    rows = []
    for path in of_chapters(notebooks):
        parts = [
            f"{task.id} {'★' * task.stars} **{task.minutes}**"
            + (" *words*" if task.model_answer else "")
            for task in _on_chapter(path, notebooks)
        ]
        rows.append((number(path), " · ".join(parts)))
    return table("Chapter | Exercises, stars and minutes", rows)


def _to_read(notebooks: dict[Path, NotebookNode]) -> int:
    return sum(map(reading_minutes, of_chapters(notebooks).values()))


TABLES = {
    "contents": _contents,
    "landing": _landing,
    "running": _running,
    "chapters": _chapters,
    "outcomes": _outcomes,
    "sections": _sections,
    "exercises": _exercises,
    "experiments": experiments,
    "gallery": gallery,
    "questions": questions,
    "six_weeks": plans.six_weeks,
    "three_weeks": plans.three_weeks,
    "workload": plans.workload,
    "changes": plans.changes,
    "one_day": plans.one_day,
    "polls": plans.polls,
    "homework": plans.homework,
    "homework_command": plans.homework_command,
    "seminar": plans.seminar,
    "self_study": plans.self_study,
}
