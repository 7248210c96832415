"""Matrices to scale, alone, side by side and multiplied."""

from dataclasses import replace

from torch import Tensor

from attnbook.figures.drawings.cells import MOST_NUMBERS, Matrix, Scale, first_that_fits
from attnbook.figures.drawings.draw_matrix import (
    draw_matrix,
    foot_room,
    is_formula,
    label_width,
    title_width,
)
from attnbook.figures.drawings.svg import NAME, TEXT, Canvas, Drawing, formula_width, text_width

LONGEST_SUM = 340  # units


def matrix(values: Tensor, **options: object) -> Drawing:
    """A matrix as a block, with its shape, and a number in each cell if there are few.

    ``options`` are those of ``Matrix``: its name, the colour of its role, labels and marks.
    Larger ones are shaded by value: white is 0 or the lowest number drawn, the darkest the largest.
    More than twelve rows or columns have a break. ``row`` or ``column`` is framed; both frame an
    entry.

    Raises ``ValueError`` if labels, row or column do not fit, or a number is not finite.
    """
    return matrices(Matrix(values, **options))


def matrices(*parts: Matrix | str) -> Drawing:
    """Matrices in a line, in one scale, with signs between them: ``matrices(x, "·", W, "=", Q)``.

    Raises ``ValueError`` if they do not fit beside each other.
    """
    shown = [part for part in parts if isinstance(part, Matrix)]

    def draw(canvas: Canvas, scale: Scale) -> None:
        tallest = max(scale.size(part)[1] for part in shown)
        x = 0.0
        for part in parts:
            if isinstance(part, str):
                width = formula_width(part, NAME)
                canvas.text(x + width / 2, tallest / 2, part, formula=True, size=NAME)
                x += width + 10
                continue
            width, height = scale.size(part)
            over = 0.0 if foot_room(part, scale) else max(0.0, (title_width(part) - width) / 2)
            x += max(over, label_width(part, scale))
            draw_matrix(canvas, x, (tallest - height) / 2, part, scale)
            x += width + over + 10

    alt = " ".join(_sentence(part) for part in shown)
    return first_that_fits(draw, shown).finish(alt)


def _sentence(matrix: Matrix) -> str:
    """What a reader who can't see it should know about a matrix."""
    text = f"The matrix {matrix.plain_name} has {counted(matrix)}."
    if matrix.rows is not None:
        text = f"{text[:-1]}, one row each for {', '.join(map(plain, matrix.rows))}."
    if matrix.row is not None and matrix.column is not None:
        return (
            f"{text} Framed is the entry {matrix.texts(matrix.values[matrix.row])[matrix.column]}."
        )
    if matrix.row is not None:
        row = matrix.values[matrix.row]
        return f"{text} Framed is its row {row_name(matrix)}{_listed(matrix, row)}."
    if matrix.column is not None:
        column = matrix.values[:, matrix.column]
        return f"{text} Framed is its column {matrix.column + 1}{_listed(matrix, column)}."
    return text


def counted(matrix: Matrix) -> str:
    rows, columns = matrix.values.shape
    return f"{rows} row{'s' * (rows > 1)} and {columns} column{'s' * (columns > 1)}"


def plain(label: str) -> str:
    return label.replace("_", " ") if is_formula(label) else label


def row_name(matrix: Matrix) -> str:
    """The label of the framed row, or its number."""
    return str(matrix.row + 1) if matrix.rows is None else plain(matrix.rows[matrix.row])


def _listed(matrix: Matrix, values: Tensor) -> str:
    return f", ({', '.join(matrix.texts(values))})" if len(values) <= MOST_NUMBERS else ""


def product(
    left: Matrix, right: Matrix, *, name: str, color: str, row: int = 0, column: int = 0
) -> Drawing:
    """The product of two matrices: it is in the corner where rows meet columns.

    ``row`` of ``left`` and ``column`` of ``right`` are framed, and the entry that they make; below
    them is the calculation.

    Raises ``ValueError`` if the sizes do not fit, or there is no such row or column.
    """
    if left.values.shape[1] != right.values.shape[0]:
        raise ValueError(
            f"{left.name} {left.shape} and {right.name} {right.shape} can't be multiplied: "
            f"{left.values.shape[1]} columns, but {right.values.shape[0]} rows"
        )
    left, right = replace(left, row=row), replace(right, column=column)
    marks = {"rows": left.rows, "columns": right.columns, "row": row, "column": column}
    result = Matrix(left.values @ right.values, name=name, color=color, **marks)
    calculation = _calculation(left, right, result)

    def draw(canvas: Canvas, scale: Scale) -> None:
        width, height = scale.size(left)
        right_width, right_height = scale.size(right)
        gap = 16
        x, y = width + gap, right_height + gap  # the corner of the product
        # from the row and from the column towards where they meet
        middle_y = y + (scale.axes(left)[0].places[row] + 0.5) * scale.height
        middle_x = x + (scale.axes(right)[1].places[column] + 0.5) * scale.width
        canvas.line((width, middle_y), (x, middle_y), color=left.color, thick=2.5)
        canvas.line((middle_x, right_height), (middle_x, y), color=right.color, thick=2.5)
        draw_matrix(canvas, 0, y, left, scale, title="below")
        draw_matrix(canvas, x, 0, right, scale, title="left")
        below = replace(result, rows=None, columns=None)
        draw_matrix(canvas, x, y, below, scale, title="below")
        canvas.text((x + right_width) / 2, y + height + 46, calculation, size=TEXT)

    alt = (
        f"The product of {left.plain_name}, {counted(left)}, and {right.plain_name}, "
        f"{counted(right)}, is {result.plain_name}, {counted(result)}. Framed: row "
        f"{row_name(left)} of {left.plain_name} and column {column + 1} of {right.plain_name} "
        f"give one entry, {calculation}."
    )
    return first_that_fits(draw, [left, right, result]).finish(alt)


def _calculation(left: Matrix, right: Matrix, result: Matrix) -> str:
    """Such as ``1·0 + 2·3 = 6``; of a long sum the beginning, and how many products follow."""
    row = left.texts(left.values[left.row])
    column = right.texts(right.values[:, right.column])
    products = [f"{_in_brackets(a)}·{_in_brackets(b)}" for a, b in zip(row, column, strict=True)]
    total = result.texts(result.values[result.row])[result.column]
    whole = f"{' + '.join(products)} = {total}"
    if len(products) <= MOST_NUMBERS and text_width(whole, TEXT) <= LONGEST_SUM:
        return whole
    return f"{products[0]} + {len(products) - 1} more = {total}"


def _in_brackets(number: str) -> str:
    return f"({number})" if number.startswith("−") else number
