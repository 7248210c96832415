"""Results as a table, on the page, in a notebook and in a terminal."""

import re
from collections.abc import Iterable, Sequence

_LARGE = {1e12: "trillion", 1e9: "billion", 1e6: "million"}
_NUMBER = re.compile(r"[-−]?\d[\d.,]*(?:e[+-]\d+)?(?: ?[±–] ?\d[\d.,]*)?(?: ?%| [bmtr]+illion)?")


class Table:
    """Rows of texts below a header; notebooks show it as a table."""

    def __init__(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.header, self.rows = header, rows
        columns = list(zip(*rows, strict=True))
        self.to_the_right = [all(_NUMBER.fullmatch(cell) for cell in column) for column in columns]
        self.widths = [
            max(map(len, [name, *column])) for name, column in zip(header, columns, strict=True)
        ]

    def __repr__(self) -> str:
        """The table as plain text."""
        return "\n".join(
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, self.widths, self.to_the_right, strict=True)
            ).rstrip()
            for row in [self.header, *self.rows]
        )

    def _repr_markdown_(self) -> str:
        """Called by Jupyter."""
        rule = ["---:" if right else "---" for right in self.to_the_right]
        rows = [self.header, *self.rows]
        lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows]
        return "\n".join([lines[0], "| " + " | ".join(rule) + " |", *lines[1:]])


def in_words(number: float) -> str:
    """A number rounded to two digits, as one reads it aloud.

    >>> in_words(1.63e11), in_words(2_560_000), in_words(12_345)
    ('160 billion', '2.6 million', '12,000')
    """
    whole = float(f"{number:.1e}")
    for size, name in _LARGE.items():
        if whole >= size:
            return f"{float(f'{whole / size:.2g}'):g} {name}"
    return f"{whole:,.0f}"


def table(header: Sequence[str], rows: Iterable[Iterable[object]]) -> Table:
    """A table of results. Numbers, with their spread or as percentages, are aligned right.

    Raises ``ValueError`` if there are no rows, or if one does not have as many cells as the header.

    >>> table(["design", "right"], [["one head", "51 ± 7"], ["two heads", 100]])
    design      right
    one head   51 ± 7
    two heads     100
    """
    texts = [[str(cell) for cell in row] for row in rows]
    if not texts:
        raise ValueError("a table needs at least one row: got none")
    for row in texts:
        if len(row) != len(header):
            raise ValueError(f"{len(header)} columns, {', '.join(header)}: got the row {row}")
    return Table(list(header), texts)
