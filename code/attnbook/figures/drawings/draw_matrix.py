"""How a matrix is drawn: its cells, its numbers, its frame, and the labels around it."""

from attnbook.figures.drawings.cells import (
    CELL_HEIGHT,
    DARKEST,
    PALE,
    PLAIN,
    STRONG,
    Axis,
    Matrix,
    Scale,
)
from attnbook.figures.drawings.svg import (
    INK,
    NAME,
    SMALL,
    SOFT,
    TEXT,
    Canvas,
    formula_width,
    text_width,
    tint,
)
from attnbook.figures.style import BLACK, WEIGHTS

VARIABLE = 16  # size of a label like a_1
LABEL_HEIGHT = 15
SHADES = 5  # of cells without a number: few colours, few bytes


def is_formula(label: str) -> bool:
    """Whether a label is a letter with an index or exponent rather than a word."""
    return len(label) > 2 and label[0].isalpha() and label[1] in "_^"


def draw_matrix(
    canvas: Canvas,
    x: float,
    y: float,
    matrix: Matrix,
    scale: Scale,
    *,
    title: str = "above",
) -> None:
    """Draw a matrix whose left upper corner is (x, y).

    ``title`` says where name and shape are: ``above``, ``below`` or ``left``. If a matrix is
    narrower than both, its name is above it and its shape below.
    """
    _demand_drawn(matrix, *scale.axes(matrix))
    width, height = scale.size(matrix)
    with canvas.group(matrix.name, x, y):
        _fill(canvas, matrix, scale)
        if scale.numbers:
            _write_numbers(canvas, matrix, scale)
        _frame(canvas, matrix, scale)
        if label_width(matrix, scale):
            _write_row_labels(canvas, matrix, scale)
        if matrix.columns is not None and scale.width >= LABEL_HEIGHT:
            _write_column_labels(canvas, matrix, scale)
        top = 11 - head_room(matrix, scale)
        if title == "left":
            _write_name(canvas, -12, height / 2 - 10, matrix, "end")
            _write_shape(canvas, -12, height / 2 + 10, matrix, "end")
        elif title == "below":
            _write_name_and_shape(canvas, width / 2, height + 16, matrix)
        elif foot_room(matrix, scale):
            _write_name(canvas, width / 2, top, matrix, "middle")
            _write_shape(canvas, width / 2, height + 12, matrix, "middle")
        else:
            _write_name_and_shape(canvas, width / 2, top, matrix)


def head_room(matrix: Matrix, scale: Scale) -> float:
    """How much room the title and the labels of columns take above."""
    if matrix.columns is None or scale.width < LABEL_HEIGHT:
        return 26.0
    widest = max(map(_label_width, matrix.columns))
    return 26 + (widest + 6 if widest > scale.width - 2 else 22)


def foot_room(matrix: Matrix, scale: Scale) -> float:
    """How much room the shape takes below, where it does not fit above."""
    return 20.0 if title_width(matrix) > scale.size(matrix)[0] + 8 else 0.0


def label_width(matrix: Matrix, scale: Scale) -> float:
    """How much room the labels of rows take on the left."""
    if matrix.rows is None or scale.height < LABEL_HEIGHT:
        return 0.0
    return 7 + max(map(_label_width, matrix.rows))


def title_width(matrix: Matrix) -> float:
    """How wide name and shape are in a line."""
    return _name_width(matrix) + 6 + text_width(matrix.shape, SMALL)


def _demand_drawn(matrix: Matrix, rows: Axis, columns: Axis) -> None:
    for kind, axis, marked in (("row", rows, matrix.row), ("column", columns, matrix.column)):
        if marked is not None and marked not in axis.places:
            shown = ", ".join(map(str, axis.places))
            raise ValueError(
                f"{matrix.name} has shape {tuple(matrix.values.shape)}: {kind} {marked} is in the "
                f"break, only {shown} are drawn"
            )


def _write_name_and_shape(canvas: Canvas, middle: float, y: float, matrix: Matrix) -> None:
    name, shape = _name_width(matrix), text_width(matrix.shape, SMALL)
    _write_name(canvas, middle - (shape + 6) / 2, y, matrix, "middle")
    _write_shape(canvas, middle + (name + 6) / 2, y + 1, matrix, "middle")


def _write_name(canvas: Canvas, x: float, y: float, matrix: Matrix, anchor: str) -> None:
    size = _name_size(matrix.name)
    canvas.text(x, y, matrix.name, formula=True, size=size, color=matrix.color, anchor=anchor,
                bold=True)  # fmt: skip


def _write_shape(canvas: Canvas, x: float, y: float, matrix: Matrix, anchor: str) -> None:
    canvas.text(x, y, matrix.shape, size=SMALL, color=SOFT, anchor=anchor)


def _name_size(name: str) -> float:
    return NAME if len(name) <= 2 or is_formula(name) else TEXT


def _name_width(matrix: Matrix) -> float:
    return formula_width(matrix.name, _name_size(matrix.name))


def _write_row_labels(canvas: Canvas, matrix: Matrix, scale: Scale) -> None:
    for i, place in scale.axes(matrix)[0].places.items():
        middle = (place + 0.5) * scale.height
        _write_label(canvas, -7, middle, matrix.rows[i], "end", i == matrix.row)


def _write_column_labels(canvas: Canvas, matrix: Matrix, scale: Scale) -> None:
    """Write the labels above the columns, upwards if they are too wide."""
    places = scale.axes(matrix)[1].places
    upwards = max(map(_label_width, matrix.columns)) > scale.width - 2
    anchor, y = ("start", -6) if upwards else ("middle", -13)
    for j, place in places.items():
        middle = (place + 0.5) * scale.width
        _write_label(canvas, middle, y, matrix.columns[j], anchor, j == matrix.column, upwards)


def _write_label(
    canvas: Canvas, x: float, y: float, label: str, anchor: str, marked: bool, upwards: bool = False
) -> None:
    formula = is_formula(label)
    size, color = (VARIABLE if formula else SMALL), (INK if marked else SOFT)
    canvas.text(x, y, label, formula=formula, size=size, color=color, anchor=anchor, bold=marked,
                upwards=upwards)  # fmt: skip


def _label_width(label: str) -> float:
    return formula_width(label, VARIABLE) if is_formula(label) else text_width(label, SMALL)


def _fill(canvas: Canvas, matrix: Matrix, scale: Scale) -> None:
    """Colour the cells: by value if they are weights or have no numbers, else all alike."""
    rows, columns = scale.axes(matrix)
    width, height = scale.size(matrix)
    shade = _by_value if matrix.color == WEIGHTS or not scale.numbers else _by_mark
    shades = iter(shade(matrix, scale))
    places: dict[str, list] = {}
    for down in rows.places.values():
        for right in columns.places.values():
            place = right * scale.width, down * scale.height
            places.setdefault(next(shades), []).append(place)
    places.pop("#ffffff", None)
    canvas.cells(places, scale.width, scale.height)
    if scale.width >= 10:  # white between the cells
        canvas.grid(
            [x * scale.width for x in columns.places.values()][1:],
            height,
            [y * scale.height for y in rows.places.values()][1:],
            width,
        )


def _by_value(matrix: Matrix, scale: Scale) -> list[str]:
    """The colours of the cells that are drawn, row by row: the larger the value, the darker."""
    rows, columns = scale.axes(matrix)
    drawn = matrix.values[list(rows.places)][:, list(columns.places)]
    lowest = drawn.min().clamp(max=0)
    highest = drawn.max() if matrix.darkest is None else matrix.darkest
    shares = (drawn - lowest) / (highest - lowest).clamp(min=1e-12)
    if scale.numbers:
        return [tint(matrix.color, DARKEST * share) for share in shares.flatten().tolist()]
    steps = (SHADES * shares).round() / SHADES
    return [tint(matrix.color, 0.9 * step) for step in steps.flatten().tolist()]


def _by_mark(matrix: Matrix, scale: Scale) -> list[str]:
    """The colours of the cells, row by row: stronger where the drawing points."""
    rows, columns = scale.axes(matrix)
    if matrix.row is None and matrix.column is None:
        return [tint(matrix.color, PLAIN)] * len(rows.places) * len(columns.places)
    return [
        tint(matrix.color, STRONG if _is_marked(matrix, i, j) else PALE)
        for i in rows.places
        for j in columns.places
    ]


def _is_marked(matrix: Matrix, i: int, j: int) -> bool:
    """Whether the cell is in a row, in the column, or the entry that the drawing points at."""
    return matrix.row in (None, i) and matrix.column in (None, j)


def _frame(canvas: Canvas, matrix: Matrix, scale: Scale) -> None:
    """Frame the matrix, cut open where it has a break, and what the drawing points at."""
    rows, columns = scale.axes(matrix)
    width, height = scale.size(matrix)
    canvas.box(-0.5, -0.5, width, height, stroke=tint(matrix.color, 0.6), thick=1)
    if columns.broken:
        x = (columns.begin + 0.5) * scale.width
        canvas.cells({"#fff": [(x - 4, -2.5), (x - 4, height - 2.5)]}, 8, 4)
        canvas.dots(x, height / 2, across=True)
    if rows.broken:
        y = (rows.begin + 0.5) * scale.height
        canvas.cells({"#fff": [(-2.5, y - 4), (width - 2.5, y - 4)]}, 4, 8)
        canvas.dots(width / 2, y, across=False)
    left = top = 0.0
    if matrix.row is not None:
        top, height = rows.places[matrix.row] * scale.height, scale.height
    if matrix.column is not None:
        left, width = columns.places[matrix.column] * scale.width, scale.width
    if (matrix.row, matrix.column) != (None, None):
        canvas.box(left - 0.5, top - 0.5, width, height, stroke=matrix.color, thick=2.5, round=2)


def _write_numbers(canvas: Canvas, matrix: Matrix, scale: Scale) -> None:
    places = [(j + 0.5) * scale.width for j in range(matrix.values.shape[1])]
    for i, texts in enumerate(matrix.numbers()):
        # what the drawing does not point at stands back; on darker cells only black is legible
        back = matrix.row not in (None, i)
        color = BLACK if matrix.color == WEIGHTS else SOFT if back else INK
        canvas.texts(places, (i + 0.5) * scale.height, texts, color)


def text_box(
    canvas: Canvas, name: str, x: float, y: float, wide: float, text: str, color: str, share: float
) -> None:
    """A box as tall as a cell, with a line of text. Raises ``ValueError`` if that has no room."""
    if formula_width(text, TEXT) > wide:
        raise ValueError(
            f"{text} has no room in a box of the drawing: use fewer features or digits"
        )
    with canvas.group(name, x, y):
        canvas.box(0, 0, wide, CELL_HEIGHT, fill=tint(color, share), stroke=color, round=4)
        canvas.text(wide / 2, CELL_HEIGHT / 2, text, formula=True, color=BLACK)
