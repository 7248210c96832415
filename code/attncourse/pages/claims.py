"""The ledger of claims, and the page that says where each is measured and what came out."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from myst_parser.mdit_to_docutils.base import default_slugify as anchor
from nbformat import NotebookNode

from attncourse import UsageError
from attncourse.chapter import in_laboratory, linked_title, number, seen_from_chapters, tags

HEADING = re.compile(r"^#+ (?!Exercise )(.+)$", re.M)
RESULT = re.compile(r"^> \*\*Result\.\*\* (.+)$", re.M)
CAPTION = re.compile(r"^\*(Figure [\d.]+)\. ", re.M)
Proof = tuple[Path, int, str]  # a notebook, the number of its cell, and what that cell shows
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


def evidence(cell: NotebookNode) -> str:
    """What a cell prints, tables too, and below it the code, whose asserts hold the bounds."""
    printed = [o.text for o in cell.outputs if o.output_type == "stream"]
    shown = [o.get("data", {}) for o in cell.outputs]
    tables = [data["text/plain"] for data in shown if "text/markdown" in data]
    return "\n".join(["".join(printed), *tables, cell.source])


def measured(id: str, claim: dict, notebooks: dict[Path, NotebookNode]) -> Iterator[str]:
    """Yield what was measured of a claim, each with its place, taken from the notebooks' cells.

    ``notebooks`` are the claim's chapter and what the laboratory has on it. Raises ``UsageError``
    if the claim says nothing, has no cell, or if a text that it looks for is in none of its cells.
    """
    proofs = [
        (path, i, evidence(cell))
        for path, notebook in notebooks.items()
        for i, cell in enumerate(notebook.cells)
        if f"claim-{id}" in tags(cell)
    ]
    where = " or ".join(map(seen_from_chapters, notebooks))
    if not proofs:
        raise UsageError(f"{id}: no cell of {where} has the tag claim-{id}")
    if not claim.get("measured"):
        raise UsageError(f"{id}: the ledger does not say what was measured")
    for item in claim["measured"]:
        yield finding(item, proofs, id, f"{where} with the tag claim-{id}", notebooks)


def finding(
    item: dict, proofs: Iterable[Proof], of: str, where: str, notebooks: dict[Path, NotebookNode]
) -> str:
    """What was measured, with its place: ``say`` with the numbers that ``find`` finds.

    Raises ``UsageError``, which says ``of`` what and ``where``, if no proof has the text, or if
    ``say`` has more places than ``find`` has numbers.
    """
    find = pattern(item["find"])
    hits = [(path, i, hit) for path, i, text in proofs if (hit := find.search(text))]
    if not hits:
        raise UsageError(f"{of}: no cell of {where} has the text {item['find']!r}")
    path, i, found = hits[0]
    try:
        said = item["say"].format(*map(readable, found.groups()))
    except IndexError:
        raise UsageError(
            f"{of}: {item['say']!r} has more places than {item['find']!r} has numbers"
        ) from None
    heading, figure = section(notebooks[path], i)
    place = f"[{heading}]({seen_from_chapters(path)}#{anchor(heading)})"
    if figure and item.get("figure", True):
        place += f", {figure}"
    said = re.sub(r" (?=[±×%])|(?<=[±×]) ", "\N{NO-BREAK SPACE}", said)
    return f"{said} ({place})"


def result(path: Path, notebook: NotebookNode) -> str:
    """The sentence with which a laboratory notebook begins. Raises ``UsageError`` without one."""
    found = RESULT.search(notebook.cells[0].source)
    if not found:
        raise UsageError(f"{path}: the first cell needs a line > **Result.** with what came out")
    return found[1]


def experiments(notebooks: dict[Path, NotebookNode]) -> str:
    """The index of experiments: for each claim what was measured, and where.

    Below the claims of a chapter stand its laboratory notebooks, each with its result.
    """
    chapters = {path: book for path, book in notebooks.items() if not in_laboratory(path)}
    claims = ledger(next(iter(chapters)).parent)
    parts = []
    for path, chapter in chapters.items():
        here = {p: book for p, book in notebooks.items() if number(p) == number(path)}
        claimed = {k: c for k, c in claims.items() if c["chapter"] == number(path)}
        if claimed or len(here) > 1:
            parts.append(f"## {linked_title(path, chapter)}")
        for id, claim in claimed.items():
            verdict = f" *Half true.* {claim['but']}" if "but" in claim else ""
            parts.append(f"**{id}. {claim['claim']}.**{verdict}")
            parts.append("\n".join(f"- {line}" for line in measured(id, claim, here)))
        laboratory = {p: book for p, book in here.items() if in_laboratory(p)}
        if laboratory:
            parts.append("In the laboratory:")
            lines = [
                f"- {linked_title(p, book)} {result(p, book)}" for p, book in laboratory.items()
            ]
            parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"
