"""How long a chapter takes: its sections in minutes, and where the reader is asked to predict."""

import re
from collections.abc import Iterator

from nbformat import NotebookNode

from attncourse.chapter import EXERCISE_TAGS, HEADING, tags

WORDS_A_MINUTE = 200
LINES_A_MINUTE = 12  # of code, read and run
MINUTES_A_FIGURE = 0.5
MINUTES_A_VOTE = 2
# Sections are timed as a teacher shows them. Whoever reads alone, and tries every figure, takes
# longer: six readers of two chapters took 35 to 50 minutes for what a teacher shows in 25 to 30.
READERS_TAKE = 1.4


def _titled(chapter: NotebookNode) -> Iterator[tuple[str, NotebookNode, str]]:
    """Yield each cell with the title of its section; a text once for each section in it."""
    title = "Introduction"
    for cell in chapter.cells:
        if cell.cell_type != "markdown":
            yield title, cell, cell.source
            continue
        for part in re.split(r"^(?=## )", cell.source, flags=re.M):
            heading = re.match(r"## (.+)", part)
            title = heading[1] if heading else title
            yield title, cell, part


def without_exercises(chapter: NotebookNode) -> list[NotebookNode]:
    """The cells of a chapter before the section that has its exercises."""
    places = [i for i, cell in enumerate(chapter.cells) if cell.source.startswith("## Exercises")]
    return chapter.cells[: places[0]] if places else chapter.cells


def sections(chapter: NotebookNode) -> dict[str, float]:
    """Title and minutes of each section but the exercises, the introduction first."""
    minutes: dict[str, float] = {}
    for title, cell, text in _titled(chapter):
        if (EXERCISE_TAGS | {"predict"}) & {*tags(cell)}:
            continue  # a prediction takes as long as its question, which stands in the text
        minutes.setdefault(title, 0.0)
        if cell.cell_type == "markdown":
            # nobody reads the address of a link
            words = re.findall(r"\w+", re.sub(r"\]\([^)\s]*\)", "]", text))
            minutes[title] += len(words) / WORDS_A_MINUTE
            continue
        if "hide-input" not in tags(cell):
            lines = [line for line in cell.source.split("\n") if line.strip()]
            minutes[title] += len(lines) / LINES_A_MINUTE
        minutes[title] += MINUTES_A_FIGURE * _shows_a_figure(cell)
    minutes.pop("Exercises", None)
    return minutes


def _shows_a_figure(cell: NotebookNode) -> bool:
    shown = [output.get("data", {}) for output in cell.outputs]
    return any(
        "image/png" in data or "image/svg+xml" in data or "<attnbook-" in data.get("text/html", "")
        for data in shown
    )


def predictions(chapter: NotebookNode) -> dict[str, int]:
    """How often each section asks the reader to predict, in the text or with a choice, N.0."""
    counts: dict[str, int] = {}
    for title, cell, text in _titled(chapter):
        if cell.cell_type == "markdown":
            choices = [found for found in HEADING.finditer(text) if found["id"].endswith(".0")]
            asked = text.count("**Predict.**") + len(choices)
            counts[title] = counts.get(title, 0) + asked
    return counts


def reading_minutes(chapter: NotebookNode) -> int:
    """Minutes to read and run a chapter alone, to the next five."""
    return 5 * round(READERS_TAKE * sum(sections(chapter).values()) / 5)
