"""A matrix as a block: what it shows, and in which scale."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from attnbook.figures.drawings.svg import SMALL, WIDEST, Canvas, text_width
from attnbook.figures.style import NEUTRAL

MOST_NUMBERS = 8  # rows or columns with a number in each cell
LONGEST = 12  # rows or columns that are drawn without a break
CELL_HEIGHT = 28  # of a cell with a number
DARKEST = 0.58  # share of the role's colour under a number: black is legible on it
PALE, PLAIN, STRONG = 0.07, 0.16, 0.32  # shares of the colour: beside what is meant, alone, meant


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix to draw, with its name, the colour of its role, and labels of rows and columns.

    ``row``, ``column`` or both, for an entry, are what the drawing points at. Where shades show
    values, the largest one is darkest, or ``darkest`` if several matrices share a scale. Names and
    labels like ``W_Q`` are set as formulas. Raises ``ValueError`` if something does not fit the
    matrix, or a number is not finite.
    """

    values: Tensor
    _: KW_ONLY
    name: str
    color: str = NEUTRAL
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    row: int | None = None
    column: int | None = None
    darkest: float | None = None

    def __post_init__(self) -> None:
        values = torch.as_tensor(self.values).detach().to("cpu", torch.float64)
        object.__setattr__(self, "values", values)
        if values.ndim != 2 or 0 in values.shape:
            raise ValueError(f"{self.name} must be a matrix: got shape {tuple(values.shape)}")
        unexpected = values[~values.isfinite()]
        if len(unexpected):
            raise ValueError(f"{self.name} must be finite: got {unexpected[0].item()}")
        for kind, size, labels, marked in (
            ("row", len(values), self.rows, (self.row,)),
            ("column", values.shape[1], self.columns, (self.column,)),
        ):
            if labels is not None and len(labels) != size:
                raise ValueError(
                    f"{self.name} has shape {tuple(values.shape)}, which needs {size} {kind} "
                    f"labels: got {len(labels)}"
                )
            missing = [i for i in marked if i is not None and not 0 <= i < size]
            if missing:
                raise ValueError(
                    f"{self.name} has shape {tuple(values.shape)}: there is no {kind} {missing[0]}"
                )

    @property
    def shape(self) -> str:
        """Such as ``6 × 768``."""
        return " × ".join(map(str, self.values.shape))

    @property
    def plain_name(self) -> str:
        return self.name.replace("_", " ").replace("^T", " transposed")

    def numbers(self) -> list[list[str]]:
        """The values as text, row by row."""
        return [self.texts(row) for row in self.values]

    def texts(self, values: Tensor) -> list[str]:
        """A row or column as text."""
        return [number(value, self.digits) for value in values.tolist()]

    @cached_property
    def digits(self) -> int:
        """How many decimals the numbers need: two at most."""
        largest = self.values.abs().max().item()
        most = 0 if largest >= 100 else 1 if largest >= 10 else 2
        return next((digits for digits in range(most) if self._has_decimals(digits)), most)

    def _has_decimals(self, digits: int) -> bool:
        return torch.allclose(self.values, self.values.round(decimals=digits), rtol=0, atol=1e-6)


def number(value: float, digits: int = 2) -> str:
    """A number as text, with a real minus sign, and none before a zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


@dataclass(frozen=True)
class Axis:
    """Which of ``size`` rows or columns are drawn, and where, in cells; a long axis has a break."""

    size: int
    begin: int = 5
    end: int = 2
    places: dict[int, float] = field(init=False)

    def __post_init__(self) -> None:
        places = {i: float(i) for i in range(self.size)}
        if self.broken:
            places = {i: float(i) for i in range(self.begin)}
            for i in range(self.end):
                places[self.size - self.end + i] = self.begin + 1 + i
        object.__setattr__(self, "places", places)

    @property
    def broken(self) -> bool:
        return self.size > LONGEST

    @property
    def length(self) -> float:
        return max(self.places.values()) + 1


@dataclass(frozen=True)
class Scale:
    """How matrices are drawn: width and height of a cell, numbers or shades, length of breaks.

    All matrices of a drawing share one, so that they can be compared.
    """

    width: float
    height: float
    numbers: bool
    begin: int = 5
    end: int = 2

    def axes(self, matrix: Matrix) -> tuple[Axis, Axis]:
        """The rows and the columns."""
        rows, columns = matrix.values.shape
        return Axis(rows, self.begin, self.end), Axis(columns, self.begin, self.end)

    def size(self, matrix: Matrix) -> tuple[float, float]:
        """Width and height of the matrix."""
        rows, columns = self.axes(matrix)
        return columns.length * self.width, rows.length * self.height


def scales(shown: Sequence[Matrix]) -> list[Scale]:
    """What to try until these matrices fit into a drawing: numbers, then smaller and smaller."""
    found = []
    if max(max(matrix.values.shape) for matrix in shown) <= MOST_NUMBERS:
        texts = [text for matrix in shown for row in matrix.numbers() for text in row]
        widest = max(text_width(text, SMALL) for text in texts)
        found += [
            Scale(max(CELL_HEIGHT, math.ceil(widest) + room), CELL_HEIGHT, True)
            for room in (8, 4, 1)
        ]
    for begin, end in ((5, 2), (3, 1)):
        found += [Scale(size, size, False, begin, end) for size in (20, 18, 16)]
    return found + [Scale(size, size, False, 3, 1) for size in (14, 12, 10, 8, 6, 4)]


def first_that_fits(draw, shown: Sequence[Matrix]) -> Canvas:
    """Let ``draw(canvas, scale)`` draw in one scale after the other, until it is narrow enough."""
    for scale in scales(shown):
        canvas = Canvas()
        draw(canvas, scale)
        if canvas.width <= WIDEST:
            return canvas
    shapes = ", ".join(f"{matrix.name} {matrix.shape}" for matrix in shown)
    raise ValueError(f"too wide for one drawing: {shapes}")


def points(vectors: Tensor) -> list[str]:
    """Each row as text: a number, or several in brackets."""
    rows = Matrix(torch.as_tensor(vectors), name="vectors").numbers()
    return [row[0] if len(row) == 1 else f"({', '.join(row)})" for row in rows]
