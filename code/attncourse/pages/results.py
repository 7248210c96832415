"""The results that cells show, each named by a key, and the sentences that say them.

A sentence has places such as ``[[two heads | right, %]]``, a row and a column of a table, or
``[[weight on itself #]]``, the words around a number. A key says which result is meant, so a row, a
column or a line that comes in front of it changes no sentence.
"""

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from nbformat import NotebookNode

from attncourse import UsageError
from attncourse.chapter import seen_from_chapters

PLACE = re.compile(r"\[\[(.+?)(?: \.(first|last))?\]\]")
NUMBER = re.compile(r"[-−]?\d+(?:[.,]\d+)*(?:e[+-]\d+)?(?: ± \d+(?:\.\d+)?)?")
LIST = re.compile(rf"{NUMBER.pattern}(?:, {NUMBER.pattern})+")
# a list in brackets, or a number with its spread, a range or a shape
VALUE = rf"({LIST.pattern}(?=\])|{NUMBER.pattern}(?:(?:–| to | × ){NUMBER.pattern})*)"


class Cell:
    """A code cell of a notebook, and what it shows.

    ``printed`` is what it prints; ``tables`` are the header and the rows of each table, as texts;
    ``text`` has both in one line, the tables in Markdown.
    """

    def __init__(self, path: Path, notebook: NotebookNode, place: int) -> None:
        self.path, self.notebook, self.place = path, notebook, place
        self.node = notebook.cells[place]
        self.printed = "".join(o.text for o in self.node.outputs if o.output_type == "stream")
        shown = [o.get("data", {}) for o in self.node.outputs]
        tables = [text for data in shown if (text := data.get("text/markdown", "")).startswith("|")]
        self.text = _in_one_line(self.printed, *tables)
        self.tables = [_rows(table) for table in tables]

    def __str__(self) -> str:
        return f"{seen_from_chapters(self.path)} (cell {self.node.id})"

    def find(self, key: str) -> list[str]:
        """All values that a key names. Words that the cell does not show may be in its code."""
        if "#" in key:
            words = re.compile(r"(?<!\w)" + re.escape(key).replace(r"\#", VALUE))
            return words.findall(self.text) or words.findall(_in_one_line(self.node.source))
        *label, title = key.split(" | ")
        return [
            value
            for header, *rows in self.tables
            for row in rows
            if row[: len(label)] == label
            for column, value in zip(header, row, strict=True)
            if column == title and value
        ]

    def known_keys(self) -> list[str]:
        """A key for every value of the cell's tables, and for every number that it prints."""
        lines = NUMBER.sub("#", self.printed).splitlines()
        found = [part.strip(" ,;:)") for line in lines for part in re.findall(r"[^#]+#", line)]
        for header, *rows in self.tables:
            for row in rows:
                alike = [other for other in rows if other[0] == row[0]]
                n = 1 if len(alike) == 1 else 2
                found += [" | ".join([*row[:n], title]) for title in header[n:]]
        return found


def cells_of(path: Path, notebook: NotebookNode) -> list[Cell]:
    """The code cells of a notebook."""
    cells = enumerate(notebook.cells)
    return [Cell(path, notebook, i) for i, cell in cells if cell.cell_type == "code"]


def say(sentence: str, cells: Sequence[Cell], shows: str = "") -> tuple[str, Cell]:
    """A sentence with the results in its places, and the one cell that they all come from.

    That cell also shows the text ``shows``. Raises ``UsageError`` if a key is none, if a number of
    the sentence is in no key, if no cell or several fit, or if a key names several results.
    """
    keys = [key for key, _ in PLACE.findall(sentence)]
    _refuse_what_has_no_key(sentence, keys, shows)
    some = [cell for cell in cells if _in_one_line(shows) in cell.text]
    fitting = [cell for cell in some if all(map(cell.find, keys))]
    if not some:
        raise UsageError(f"the text {shows!r} is in no cell of {_notebooks(cells)}")
    if not fitting:
        raise UsageError(_why_none_fits(keys, some))
    if len(fitting) > 1:
        raise UsageError(
            f"several cells show {_places(keys) or repr(shows)}: {', '.join(map(str, fitting))}; "
            'name the notebook = "…", or shows = "…", a text that only one of these cells shows'
        )
    (cell,) = fitting
    for key in keys:
        if len(values := cell.find(key)) > 1:
            raise UsageError(
                f"{_places([key])} names {len(values)} results of {cell}: {', '.join(values)}; "
                "add the next cell of the row, or more of the words around the number"
            )
    return PLACE.sub(lambda found: readable(cell.find(found[1])[0], found[2]), sentence), cell


def readable(value: str, end: str | None = None) -> str:
    """A value as text writes it, or its ``first`` or ``last`` number.

    >>> print(*map(readable, ["2e-14", "1e-5", "0e+00", "-0.8 ± 0.1"]), sep="; ")
    $2 \\cdot 10^{-14}$; $10^{-5}$; 0; −0.8 ± 0.1
    >>> print(readable("0.2, 0.1, 0.7"), readable("-0.5–3.9", "first"), sep="; ")
    0.2, 0.1 and 0.7; −0.5
    """
    if end:
        numbers = NUMBER.findall(value)
        if not numbers:
            raise UsageError(f"{value!r} has no {end} number")
        value = numbers[0 if end == "first" else -1]
    if LIST.fullmatch(value):
        value = " and ".join(value.rsplit(", ", 1))
    return NUMBER.sub(lambda found: _with_power(found[0]), value)


def _with_power(number: str) -> str:
    factor, _, power = number.partition("e")
    if not power:
        return number.replace("-", "−")
    if float(factor) == 0:
        return "0"
    times = "" if factor == "1" else rf"{factor} \cdot "
    return f"${times}10^{{{int(power)}}}$"


def _refuse_what_has_no_key(sentence: str, keys: Sequence[str], shows: str) -> None:
    for key in keys:
        if key.count("#") > 1 or not ("#" in key or " | " in key):
            raise UsageError(f"[[{key}]] is neither [[row | column]] nor words around one #")
    words = PLACE.sub("", sentence)
    if "[[" in words or (not keys and not shows):
        raise UsageError(f"{sentence!r} needs a whole key, such as [[row | column]], or shows")
    for number in re.findall(r"\d+(?:\.\d+)?", words):
        if not re.search(rf"(?<![\d.]){number}(?![\d.])", " ".join([*keys, shows])):
            raise UsageError(f"{sentence!r} has the number {number}, which is in none of its keys")


def _why_none_fits(keys: Sequence[str], cells: Sequence[Cell]) -> str:
    for key in keys:
        if not any(cell.find(key) for cell in cells):
            known = [each for cell in cells for each in cell.known_keys()]
            near = difflib.get_close_matches(key, known, n=5, cutoff=0)
            return (
                f"{_places([key])} is in no cell of {_notebooks(cells)}; "
                f"similar keys: {_places(near) or 'none'}"
            )
    return f"no single cell of {_notebooks(cells)} shows all of {_places(keys)}"


def _places(keys: Sequence[str]) -> str:
    return ", ".join(f"[[{key}]]" for key in keys)


def _notebooks(cells: Sequence[Cell]) -> str:
    return " or ".join(dict.fromkeys(seen_from_chapters(cell.path) for cell in cells))


def _rows(table: str) -> list[list[str]]:
    header, _, *rows = table.strip().splitlines()
    cells = [re.split(r"(?<!\\)\|", line.strip()[1:-1]) for line in [header, *rows]]
    return [[cell.strip().replace(r"\|", "|") for cell in row] for row in cells]


def _in_one_line(*texts: str) -> str:
    return " ".join(" ".join(texts).split())
