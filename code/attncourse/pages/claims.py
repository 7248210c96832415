"""The ledger of claims, and the page that says where each is measured and what came out."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from myst_parser.mdit_to_docutils.base import default_slugify as anchor
from nbformat import NotebookNode

from attncourse import UsageError
from attncourse.chapter import (
    linked_title,
    number,
    of_chapters,
    seen_from_chapters,
    tags,
)
from attncourse.pages.results import Cell, cells_of, say

HEADING = re.compile(r"^#+ (?!Exercise )(.+)$", re.M)
CAPTION = re.compile(r"^\*(Figure [\d.]+)\. ", re.M)


def ledger(folder: Path) -> dict[str, dict]:
    """The claims that the chapters in a folder must show, by their ids such as C05."""
    return tomllib.loads((folder / "claims.toml").read_text("utf8"))


def section(chapter: NotebookNode, i: int) -> tuple[str, str]:
    """The heading above cell ``i``, and the next figure in its section or ""."""
    above = [
        found[1]
        for cell in chapter.cells[:i]
        if cell.cell_type == "markdown"
        for found in HEADING.finditer(cell.source)
    ]
    for cell in chapter.cells[i:]:
        if cell.cell_type == "markdown":
            end = HEADING.search(cell.source)
            text = cell.source[: end.start()] if end else cell.source
            caption = CAPTION.search(text)
            if caption or end:
                return above[-1], caption[1] if caption else ""
    return above[-1], ""


def measured(id: str, claim: dict, notebooks: dict[Path, NotebookNode]) -> Iterator[str]:
    """Yield what was measured of a claim, each with its place.

    ``notebooks`` are the claim's chapter and what the laboratory has on it. Raises ``UsageError``
    if the claim says nothing, if it has no cell, or if its cells do not show what it says.
    """
    told = f"chapters/claims.toml, {id}"
    cells = [
        cell
        for path, notebook in notebooks.items()
        for cell in cells_of(path, notebook)
        if f"claim-{id}" in tags(cell.node)
    ]
    if not cells:
        where = " or ".join(map(seen_from_chapters, notebooks))
        raise UsageError(f"{told}: no cell of {where} has the tag claim-{id}")
    if not claim.get("measured"):
        raise UsageError(f"{told}: the ledger does not say what was measured")
    for item in claim["measured"]:
        yield finding(item, cells, told)


def finding(item: str | dict, cells: list[Cell], told: str) -> str:
    """A sentence with the results in its places, and where they are: the section, and the figure.

    An ``item`` is the sentence, or has it as ``say``, beside ``notebook`` (where its results are),
    ``shows`` (a text that their cell shows) and ``figure`` (true, if the next one is named). Raises
    ``UsageError``, which begins with ``told``, if not exactly one of the cells has the results.
    """
    item = {"say": item} if isinstance(item, str) else item
    if home := item.get("notebook"):
        cells = [cell for cell in cells if seen_from_chapters(cell.path) == f"{home}.ipynb"]
    if not cells:
        raise UsageError(f"{told}: there is no notebook {home}, or it has no cell with the tag")
    try:
        said, cell = say(item["say"], cells, item.get("shows", ""))
    except UsageError as error:
        raise UsageError(f"{told}: {error}") from None
    heading, figure = section(cell.notebook, cell.place)
    place = f"[{heading}]({seen_from_chapters(cell.path)}#{anchor(heading)})"
    if item.get("figure"):
        if not figure:
            raise UsageError(f"{told}: no figure follows {cell} in its section")
        place += f", {figure}"
    said = re.sub(r" (?=[±×%])|(?<=[±×]) ", "\N{NO-BREAK SPACE}", said)
    said = re.sub(r"(?<![\d.,])\d{5,}(?![\d.])", lambda number: f"{int(number[0]):,}", said)
    return f"{said} ({place})"


def experiments(notebooks: dict[Path, NotebookNode]) -> str:
    """The index of experiments: for each claim what was measured, and where."""
    chapters = of_chapters(notebooks)
    claims = ledger(next(iter(chapters)).parent)
    parts = []
    for path, chapter in chapters.items():
        here = {p: book for p, book in notebooks.items() if number(p) == number(path)}
        claimed = {k: c for k, c in claims.items() if c["chapter"] == number(path)}
        if claimed:
            parts.append(f"## {linked_title(path, chapter)}")
        for id, claim in claimed.items():
            verdict = f" *Half true.* {claim['but']}" if "but" in claim else ""
            parts.append(f"**{id}. {claim['claim']}.**{verdict}")
            parts.append("\n".join(f"- {line}" for line in measured(id, claim, here)))
    return "\n\n".join(parts) + "\n"
