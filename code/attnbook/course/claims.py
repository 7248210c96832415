"""The ledger of claims, and the page that says where each is measured and what came out."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from myst_parser.mdit_to_docutils.base import default_slugify as anchor
from nbformat import NotebookNode

from attnbook.course import UsageError
from attnbook.course.chapter import linked_title, tags

HEADING = re.compile(r"^#+ (?!Exercise )(.+)$", re.M)
CAPTION = re.compile(r"^\*(Figure [\d.]+)\. ", re.M)
NUMBER = r"(-?\d+(?:[.,]\d+)*(?:e[+-]\d+)?(?: ± \d+(?:\.\d+)?)?)"


def ledger(folder: Path) -> dict[str, dict]:
    """The claims that the chapters in a folder must show, by their ids such as C05."""
    return tomllib.loads((folder / "claims.toml").read_text("utf8"))


def pattern(find: str) -> re.Pattern:
    """A text with ``#`` for a number and its spread, and `` ... `` for anything between.

    All else stands for itself, and a space for any white space:

    >>> print(*pattern("d ... 16 #").search("  d\\n  4  2.0\\n 16  4.0 ± 0.1").groups())
    4.0 ± 0.1
    """
    regex = re.escape(find).replace(r"\ \.\.\.\ ", r"\s(?:.*?\s)?")
    regex = regex.replace(r"\ ", r"\s+").replace(r"\#", NUMBER)
    return re.compile(rf"(?<!\S){regex}", re.S)


def readable(number: str) -> str:
    """A number as text writes it.

    >>> print(*map(readable, ["2e-14", "1e-5", "0e+00", "-0.8 ± 0.1"]), sep=", ")
    $2 \\cdot 10^{-14}$, $10^{-5}$, 0, −0.8 ± 0.1
    """
    factor, _, power = number.partition("e")
    if not power:
        return number.replace("-", "−")
    if float(factor) == 0:
        return "0"
    times = "" if factor == "1" else rf"{factor} \cdot "
    return f"${times}10^{{{int(power)}}}$"


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


def _evidence(cell: NotebookNode) -> str:
    """What a cell prints, and below it the code, whose asserts hold the bounds."""
    printed = [o.text for o in cell.outputs if o.output_type == "stream"]
    return "".join(printed) + "\n" + cell.source


def measured(id: str, claim: dict, path: Path, chapter: NotebookNode) -> Iterator[str]:
    """Yield what was measured of a claim, each with its place, taken from the chapter's cells.

    Raises ``UsageError`` if the claim says nothing, has no cell, or if a text that it looks for
    is in none of its cells.
    """
    proofs = [
        (i, _evidence(cell)) for i, cell in enumerate(chapter.cells) if f"claim-{id}" in tags(cell)
    ]
    if not proofs:
        raise UsageError(f"{id}: no cell of {path.name} has the tag claim-{id}")
    if not claim.get("measured"):
        raise UsageError(f"{id}: the ledger does not say what was measured")
    for item in claim["measured"]:
        find = pattern(item["find"])
        hits = [(i, hit) for i, text in proofs if (hit := find.search(text))]
        if not hits:
            raise UsageError(
                f"{id}: no cell of {path.name} with the tag claim-{id} has the "
                f"text {item['find']!r}"
            )
        i, found = hits[0]
        try:
            said = item["say"].format(*map(readable, found.groups()))
        except IndexError:
            raise UsageError(
                f"{id}: {item['say']!r} has more places than {item['find']!r} has numbers"
            ) from None
        heading, figure = section(chapter, i)
        place = f"[{heading}]({path.name}#{anchor(heading)})"
        if figure and item.get("figure", True):
            place += f", {figure}"
        said = re.sub(r" (?=[±×%])|(?<=[±×]) ", "\N{NO-BREAK SPACE}", said)
        yield f"{said} ({place})"


def experiments(chapters: dict[Path, NotebookNode]) -> str:
    """The index of experiments: for each claim what was measured, and where."""
    claims = ledger(next(iter(chapters)).parent)
    parts = []
    for path, chapter in chapters.items():
        number = int(path.stem.split("-")[0])
        here = {k: c for k, c in claims.items() if c["chapter"] == number}
        if here:
            parts.append(f"## {linked_title(path, chapter)}")
        for id, claim in here.items():
            verdict = f" *Half true.* {claim['but']}" if "but" in claim else ""
            parts.append(f"**{id}. {claim['claim']}.**{verdict}")
            found = measured(id, claim, path, chapter)
            parts.append("\n".join(f"- {line}" for line in found))
    return "\n\n".join(parts) + "\n"
