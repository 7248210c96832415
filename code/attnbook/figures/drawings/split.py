"""Two heads with numbers: how W_O adds up what they hand over, and which cells a split gives them.

Each head has a colour of its own, from its cells in the input to its part of the output.
"""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import CELL_HEIGHT, DARKEST, PLAIN, Matrix
from attnbook.figures.drawings.svg import (
    INK,
    SMALL,
    TEXT,
    WIDEST,
    Canvas,
    Drawing,
    text_width,
    tint,
)
from attnbook.figures.style import BLACK, NEUTRAL, OTHER, VALUE, WEIGHTS

HEADS = OTHER, NEUTRAL  # the colours of the two
SHADE = 0.3  # of these colours below a number
GAP = 28  # between what belongs to different heads
NAMES = 64  # room for the names of rows


def heads_add_up(
    weights: Float[Tensor, "heads length"],
    values: Float[Tensor, "length heads"],
    out_proj: Float[Tensor, "heads d_out"],
    *,
    tokens: Sequence[str],
    answers: Sequence[str],
) -> Drawing:
    """Two heads of one feature each, for one query, and how W_O adds up what they hand over.

    Each head mixes its own column of the values with its own row of weights. The results, side by
    side, are multiplied by W_O: each by its own row, and the products are added. ``answers`` names
    the features of the output.

    Raises ``ValueError`` if there are not two heads, or if labels or numbers do not fit.
    """
    if not len(weights) == values.shape[1] == len(out_proj) == len(HEADS):
        raise ValueError(
            f"the drawing has 2 heads: got weights {tuple(weights.shape)}, values "
            f"{tuple(values.shape)} and W_O {tuple(out_proj.shape)}"
        )
    if not len(tokens) == weights.shape[1] == len(values) or len(answers) != out_proj.shape[1]:
        raise ValueError(
            f"weights {tuple(weights.shape)}, values {tuple(values.shape)} and W_O "
            f"{tuple(out_proj.shape)} do not fit {len(tokens)} tokens and {len(answers)} answers"
        )
    results = (weights * values.mT).sum(dim=1)  # one number for each head
    added = results[:, None] * out_proj
    shares = Matrix(weights, name="weights", color=WEIGHTS).numbers()
    handed = Matrix(values.mT, name="values").numbers()
    (mixed,) = Matrix(results[None], name="heads").numbers()
    rows = Matrix(out_proj, name="W_O").numbers()
    products = Matrix(added, name="added").numbers()
    (sums,) = Matrix(added.sum(dim=0)[None], name="output").numbers()

    lane = (WIDEST - 12 - GAP) / 2
    cell = _cell_width((lane - NAMES - 8) / len(tokens), [*tokens, *shares[0], *shares[1]])
    wide = _cell_width((lane - 16) / len(answers), [*answers, *rows[0], *products[0], *products[1]])
    canvas, plain = Canvas(), [tint(VALUE, PLAIN)]
    for head, color in enumerate(HEADS):
        left = head * (lane + GAP)
        middle, first = left + lane / 2, left + lane - 8 - cell * len(tokens)
        corner = middle - wide * len(answers) / 2
        canvas.box(left, 0, lane, 318, fill=tint(color, 0.08), stroke=tint(color, 0.6), round=6)
        canvas.text(middle, 16, f"head {head + 1}", size=TEXT, color=INK, bold=True)
        for j, token in enumerate(tokens):
            canvas.text(first + cell * (j + 0.5), 40, token, color=INK)
        canvas.text(left + 6, 66, "weights", color=WEIGHTS, anchor="start")
        dark = [tint(WEIGHTS, DARKEST * share) for share in weights[head].tolist()]
        _cells(canvas, "weights", first, 52.0, cell, shares[head], dark, WEIGHTS)
        canvas.text(left + 6, 98, "values", color=VALUE, anchor="start")
        _cells(canvas, "values", first, 84.0, cell, handed[head], plain * len(tokens), VALUE)
        sum_of = " + ".join(f"{w}·{v}" for w, v in zip(shares[head], handed[head], strict=True))
        canvas.text(middle, 128, sum_of, color=INK)
        canvas.arrow((middle, 138), (middle, 156))
        _cells(canvas, "joined", middle - wide / 2, 158.0, wide, [mixed[head]], plain, VALUE)
        canvas.text(middle, 208, "· its row of W_O", formula=True, color=INK)
        of_head = [tint(color, SHADE)] * len(answers)
        _cells(canvas, "W_O", corner, 220.0, wide, rows[head], of_head, color)
        canvas.arrow((middle, 252), (middle, 278))
        _cells(canvas, "added", corner, 280.0, wide, products[head], plain * len(answers), VALUE)
    # both results are one row, and both products become one sum
    middle = lane + GAP / 2
    canvas.box(lane / 2 - wide / 2 - 6, 152, lane + GAP + wide + 12, 40, stroke=BLACK, dashes="4 3")
    canvas.text(middle, 172, "joined", color=INK, bold=True, halo=True)
    canvas.plus(middle, 294)
    canvas.arrow((middle, 303), (middle, 344))
    corner = middle - wide * len(answers) / 2
    for j, answer in enumerate(answers):
        canvas.text(corner + wide * (j + 0.5), 388, answer, color=INK)
    canvas.text(corner - 10, 360, "output", color=VALUE, anchor="end", bold=True)
    _cells(canvas, "output", corner, 346.0, wide, sums, plain * len(answers), VALUE)
    listed = "; ".join(
        f"head {head + 1} has the weights {', '.join(shares[head])} and the values "
        f"{', '.join(handed[head])}, which give {mixed[head]}; times its row of W O, "
        f"({', '.join(rows[head])}), that is ({', '.join(products[head])})"
        for head in range(len(HEADS))
    )
    named = ", ".join(f"{answer} {number}" for answer, number in zip(answers, sums, strict=True))
    return canvas.finish(f"For the tokens {', '.join(tokens)}: {listed}. Added up: {named}.")


def splits(
    x: Float[Tensor, "length d_model"],
    ways: Mapping[str, Float[Tensor, "heads length d_k"]],
    *,
    tokens: Sequence[str],
) -> Drawing:
    """Which cells of x two heads get, in one way of splitting it and in another.

    Above, x in the colours of the heads; below, what each head gets. ``ways`` are named results of
    splits. All numbers of x must differ, for by them a cell is found again.

    Raises ``ValueError`` if they do not, or if a way does not give each cell of x to one of two
    heads.
    """
    matrix = Matrix(x, name="x", rows=tokens)
    cells = {value: place for place, value in enumerate(x.flatten().tolist())}
    if len(cells) < x.numel():
        raise ValueError(f"all {x.numel()} numbers of x must differ: {len(cells)} do")
    rows, columns = x.shape
    texts = [text for row in matrix.numbers() for text in row]
    wide = _cell_width(46.0, texts)
    canvas = Canvas()
    panel = wide * columns
    said = []
    for number, (name, heads) in enumerate(ways.items()):
        if len(heads) != len(HEADS) or sorted(heads.flatten().tolist()) != sorted(cells):
            raise ValueError(
                f"{name!r} gives no cell of x {tuple(x.shape)} to each of 2 heads: "
                f"got {tuple(heads.shape)}"
            )
        left = number * (panel + GAP)
        canvas.text(left + panel / 2, 0, name, size=TEXT, color=INK, bold=True)
        owner = {value: head for head in range(2) for value in heads[head].flatten().tolist()}
        for i in range(rows):
            fills = [tint(HEADS[owner[value]], SHADE) for value in x[i].tolist()]
            row = texts[i * columns : (i + 1) * columns]
            top = 16.0 + i * CELL_HEIGHT
            if number == 0:
                canvas.text(-8, top + CELL_HEIGHT / 2, tokens[i], anchor="end")
            _cells(canvas, f"x, {name}", left, top, wide, row, fills, "#ffffff")
        below = 16.0 + rows * CELL_HEIGHT
        width = wide * heads.shape[-1]
        for head, got in enumerate(heads):
            corner = left + head * (panel - width)
            canvas.arrow((corner + width / 2, below + 6), (corner + width / 2, below + 28))
            canvas.text(corner + width / 2, below + 40, f"head {head + 1}", color=INK, bold=True)
            of_head = [[texts[cells[value]] for value in row] for row in got.tolist()]
            for i, row in enumerate(of_head):
                top = below + 52 + i * CELL_HEIGHT
                fills = [tint(HEADS[head], SHADE)] * len(row)
                _cells(canvas, f"head {head + 1}, {name}", corner, top, wide, row, fills, "#ffffff")
            listed = "; ".join(", ".join(row) for row in of_head)
            said.append(f"{name}, head {head + 1} gets the rows {listed}")
    shown = "; ".join(", ".join(row) for row in matrix.numbers())
    return canvas.finish(f"x, {matrix.shape}, has the rows {shown}. {'. '.join(said)}.")


def _cell_width(room: float, texts: Sequence[str]) -> float:
    """As wide as there is room, but no wider than is needed for these texts."""
    needed = max(text_width(text, SMALL) for text in texts) + 6
    if needed > room:
        raise ValueError(f"{max(texts, key=len)!r} has no room in a cell of the drawing")
    return float(round(min(room, max(needed + 8, 36))))


def _cells(
    canvas: Canvas,
    name: str,
    x: float,
    y: float,
    wide: float,
    texts: Sequence[str],
    fills: Sequence[str],
    stroke: str,
) -> None:
    """Cells with numbers."""
    with canvas.group(name, x, y):
        for j, fill in enumerate(fills):
            canvas.box(j * wide, 0, wide, CELL_HEIGHT, fill=fill, stroke=stroke, thick=1)
        canvas.texts([wide * (j + 0.5) for j in range(len(texts))], CELL_HEIGHT / 2, texts, BLACK)
