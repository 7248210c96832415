"""The gallery of the laboratory: each experiment with its question and its result in a line.

The laboratory has two ranks. The main experiments of a chapter, two or three, come first in the
gallery, and the end of the chapter leads to them. Which ones these are is in ``laboratory.toml``.
"""

import re
from pathlib import Path

from myst_parser.mdit_to_docutils.base import default_slugify as anchor
from nbformat import NotebookNode

from attncourse import UsageError
from attncourse.chapter import (
    in_laboratory,
    laboratory_numbers,
    linked_title,
    main_experiments,
    number,
    of_chapters,
    seen_from_chapters,
    title,
)

RESULT = re.compile(r"^> \*\*Result\.\*\* (.+)$", re.M)
SHORT = 25  # letters; a first sentence such as "It is." says too little alone
RANKS = "laboratory.toml"
FEWEST, MOST = 2, 3  # main experiments of a chapter, if its laboratory has as many
HEADINGS = "Main experiments", "Other experiments"
INTO_LABORATORY = "To see for yourself "  # begins the sentence at the end of a chapter


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


def ranked(notebooks: dict[Path, NotebookNode]) -> dict[Path, tuple[dict[Path, str], list[Path]]]:
    """For each chapter, its main experiments with the words that name them, and its others.

    Raises ``UsageError`` if ``laboratory.toml`` names a notebook that is not there, or too few or
    too many of a chapter.
    """
    labs = {path.stem: path for path in notebooks if in_laboratory(path)}
    chapters = of_chapters(notebooks)
    words = main_experiments(next(iter(chapters)).parent)
    if unknown := [name for name in words if name not in labs]:
        raise UsageError(
            f"{RANKS}: the laboratory has no {', '.join(unknown)}; it has {', '.join(labs)}"
        )
    ranks = {}
    for path in chapters:
        own = {name: lab for name, lab in labs.items() if number(lab) == number(path)}
        main = {lab: words[name] for name, lab in own.items() if name in words}
        fewest, most = min(FEWEST, len(own)), min(MOST, len(own))
        if not fewest <= len(main) <= most:
            wanted = f"{fewest} to {most}" if fewest < most else fewest
            raise UsageError(
                f"{RANKS}: chapter {number(path)} has {len(main)} main experiments, and needs "
                f"{wanted} of {', '.join(own)}"
            )
        ranks[path] = main, [lab for lab in own.values() if lab not in main]
    return ranks


def into_laboratory(path: Path, notebooks: dict[Path, NotebookNode]) -> str:
    """The end of a chapter leads to its main experiments by this text; "" if it has none."""
    main, others = ranked(notebooks)[path]
    if not main:
        return ""
    *first, last = (f"[{words}]({seen_from_chapters(lab)})" for lab, words in main.items())
    links = f"{', '.join(first)} and {last}" if first else last
    text = f"{INTO_LABORATORY}{links}, redo the main experiments of this chapter."
    if others:
        heading = anchor(" · ".join(title(notebooks[path])))
        text += f" The others are in [the gallery](laboratory.md#{heading})."
    return text


def gallery(notebooks: dict[Path, NotebookNode]) -> str:
    """The experiments of each chapter by rank. On the page, each gets the picture of its result."""
    numbers = laboratory_numbers(notebooks)
    parts = []
    for path, ranks in ranked(notebooks).items():
        if any(ranks):
            parts.append(f"## {linked_title(path, notebooks[path])}")
        for heading, labs in zip(HEADINGS, ranks, strict=True):
            lines = [
                f"- {numbers[lab]} · {linked_title(lab, notebooks[lab])} "
                f"{result(lab, notebooks[lab])}"
                for lab in labs
            ]
            if lines:
                parts += [f"**{heading}**", "\n".join(lines)]
    return "\n\n".join(parts) + "\n"
