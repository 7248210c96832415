"""Two heads with numbers: how W_O adds up what they hand over, and which cells a split gives them.

Each head has a colour of its own, from its cells in the input to its part of the output.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import CELL_HEIGHT, DARKEST, PLAIN, STRONG, Matrix
from attnbook.figures.drawings.svg import (
    INK,
    NAME,
    SMALL,
    SOFT,
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
LANE = (WIDEST - 12 - GAP) / 2  # width of the panel of a head
MIDDLES = LANE / 2, LANE * 1.5 + GAP  # of the panels
MIDDLE = LANE + GAP / 2  # of the drawing
BESIDE = 46  # room for the names of rows that stand in the middle of a panel
PANEL, TALL = 78.0, 240.0  # where panels begin, and how tall they are
JOINED, SUM = PANEL + 110, PANEL + 201  # where the rows of results and of products begin


def heads_add_up(
    weights: Float[Tensor, "heads length"],
    values: Float[Tensor, "length heads"],
    out_proj: Float[Tensor, "heads d_out"],
    *,
    tokens: Sequence[str],
    answers: Sequence[str],
    asks: str | None = None,
    value_name: str = "values",
) -> Drawing:
    """Two heads of one feature each, for one query, and how W_O adds up what they hand over.

    First comes the question, then each token with its value, one for both heads or one for each.
    Each head mixes its own column of the values with its own row of weights. The results, side by
    side, are multiplied by W_O: each by its own row, and the products are added. ``answers`` names
    the features of the output; an answer that is the value of one token is given its name.
    ``asks`` is the question; if it is not given, the names of the answers with question marks.

    Raises ``ValueError`` if there are not two heads, or if labels or numbers do not fit.
    """
    _demand_two_heads(weights, values, out_proj, tokens, answers)
    results = (weights * values.mT).sum(dim=1)  # one number for each head
    heads = _panels(weights, values, results, out_proj)
    found = _found(results @ out_proj, values, tokens, answers)
    asks = asks or " ".join(f"{answer}?" for answer in answers)
    given = map(", ".join, map(dict.fromkeys, Matrix(values, name="values").numbers()))
    sizes = [f"{token} {value}" for token, value in zip(tokens, given, strict=True)]
    canvas = Canvas()
    canvas.text(MIDDLE, 0, asks, size=NAME, bold=True)
    _values_of_tokens(canvas, sizes, value_name)
    wide = _cell_width((LANE - 2 * BESIDE) / len(answers),
                       [*answers, *(text for head in heads for text in head.texts)])  # fmt: skip
    for place, head in enumerate(heads):
        _draw_head(canvas, place, head, tokens, answers, wide)
    _add_up(canvas, wide, found)
    listed = "; ".join(f"head {place + 1} {head.said}" for place, head in enumerate(heads))
    return canvas.finish(
        f"{asks} The {value_name} of the words: {'; '.join(sizes)}. For them, {listed}. "
        f"Added up: {'; '.join(found)}."
    )


@dataclass(frozen=True)
class _Head:
    """What is written in the panel of a head, besides how large its weights are."""

    shares: list[float]
    weights: list[str]
    values: list[str]
    result: list[str]
    row: list[str]
    products: list[str]

    @property
    def texts(self) -> list[str]:
        return self.result + self.row + self.products

    @property
    def terms(self) -> str:
        return " + ".join(f"{w}·{v}" for w, v in zip(self.weights, self.values, strict=True))

    @property
    def said(self) -> str:
        return (
            f"has the weights {', '.join(self.weights)}, which give {self.result[0]}; times its "
            f"row of W O, ({', '.join(self.row)}), that is ({', '.join(self.products)})"
        )


def _panels(weights: Tensor, values: Tensor, results: Tensor, out_proj: Tensor) -> list[_Head]:
    added = results[:, None] * out_proj
    return [
        _Head(*shown)
        for shown in zip(
            weights.tolist(),
            Matrix(weights, name="weights").numbers(),
            map(list, zip(*Matrix(values, name="values").numbers(), strict=True)),
            Matrix(results[:, None], name="heads").numbers(),
            Matrix(out_proj, name="W_O").numbers(),
            Matrix(added, name="added").numbers(),
            strict=True,
        )
    ]


def _demand_two_heads(
    weights: Tensor,
    values: Tensor,
    out_proj: Tensor,
    tokens: Sequence[str],
    answers: Sequence[str],
) -> None:
    shapes = (f"weights {tuple(weights.shape)}, values {tuple(values.shape)} and W_O "
              f"{tuple(out_proj.shape)}")  # fmt: skip
    if not len(weights) == values.shape[1] == len(out_proj) == len(HEADS):
        raise ValueError(f"the drawing has 2 heads: got {shapes}")
    if not len(tokens) == weights.shape[1] == len(values) or len(answers) != out_proj.shape[1]:
        raise ValueError(f"{shapes} do not fit {len(tokens)} tokens and {len(answers)} answers")


def _found(
    output: Tensor, values: Tensor, tokens: Sequence[str], answers: Sequence[str]
) -> list[str]:
    """Each answer with its number, and with the one token that has this value, if there is one."""
    (numbers,) = Matrix(output[None], name="output").numbers()
    found = []
    for answer, text, feature in zip(answers, numbers, output.tolist(), strict=True):
        same = (values - feature).abs().amax(dim=1) < 0.005
        named = [token for token, equal in zip(tokens, same.tolist(), strict=True) if equal]
        found.append(f"{answer}: {text}" + (f" = {named[0]}" if len(named) == 1 else ""))
    return found


def _values_of_tokens(canvas: Canvas, sizes: Sequence[str], name: str) -> None:
    """A row above both panels: each token with its value."""
    wide = _cell_width((LANE + GAP + 40) / len(sizes), sizes) + 6
    left = MIDDLE - wide * len(sizes) / 2
    canvas.text(left - 10, 38, name, color=VALUE, anchor="end", bold=True)
    _cells(canvas, "values", left, 24.0, wide, sizes, [tint(VALUE, PLAIN)] * len(sizes), VALUE)
    for middle in MIDDLES:
        canvas.arrow((MIDDLE, 53), (MIDDLE, 61), (middle, 61), (middle, PANEL - 2))


def _draw_head(
    canvas: Canvas,
    place: int,
    head: _Head,
    tokens: Sequence[str],
    answers: Sequence[str],
    wide: float,
) -> None:
    """A panel: the weights of a head, its result, and what that adds to each answer."""
    color, middle, left = HEADS[place], MIDDLES[place], MIDDLES[place] - LANE / 2
    canvas.box(left, PANEL, LANE, TALL, fill=tint(color, 0.08), stroke=tint(color, 0.6), round=6)
    cell = _cell_width((LANE - NAMES - 8) / len(tokens), [*tokens, *head.weights])
    first, top = left + LANE - 8 - cell * len(tokens), PANEL + 16.0
    canvas.text(left + 6, top, f"head {place + 1}", anchor="start", bold=True)
    canvas.texts([first + cell * (j + 0.5) for j in range(len(tokens))], top, tokens, INK)
    canvas.text(left + 6, top + 26, "weights", color=WEIGHTS, anchor="start")
    dark = [tint(WEIGHTS, DARKEST * share) for share in head.shares]
    _cells(canvas, "weights", first, top + 12, cell, head.weights, dark, WEIGHTS)
    canvas.text(middle, top + 57, head.terms, size=SMALL, color=SOFT)
    canvas.arrow((middle, top + 68), (middle, JOINED - 8))
    _cells(canvas, "joined", middle - wide / 2, JOINED, wide, head.result, [tint(VALUE, PLAIN)],
           VALUE)  # fmt: skip
    corner, pale = middle - wide * len(answers) / 2, [tint(color, PLAIN)] * len(answers)
    canvas.texts([corner + wide * (j + 0.5) for j in range(len(answers))], SUM - 44, answers, SOFT)
    for y, label, name, texts in ((SUM - 32, "· W_O", "W_O", head.row),
                                  (SUM, "=", "added", head.products)):  # fmt: skip
        canvas.text(corner - 7, y + CELL_HEIGHT / 2, label, formula=True, size=SMALL, color=SOFT,
                    anchor="end")  # fmt: skip
        _cells(canvas, name, corner, y, wide, texts, pale, "#ffffff", SOFT)


def _add_up(canvas: Canvas, wide: float, found: Sequence[str]) -> None:
    """Both results become one row, and the products of both become the answers."""
    left, right = MIDDLES
    canvas.box(left - wide / 2 - 6, JOINED - 6, right - left + wide + 12, CELL_HEIGHT + 12,
               stroke=BLACK, dashes="4 3")  # fmt: skip
    canvas.text(MIDDLE, JOINED + CELL_HEIGHT / 2, "joined", bold=True, halo=True)
    canvas.plus(MIDDLE, SUM + CELL_HEIGHT / 2)
    top = PANEL + TALL + 22
    canvas.arrow((MIDDLE, SUM + CELL_HEIGHT / 2 + 9), (MIDDLE, top - 2))
    cell = _cell_width((LANE + GAP + 60) / len(found), found)
    corner = MIDDLE - cell * len(found) / 2
    canvas.text(corner - 10, top + CELL_HEIGHT / 2, "output", color=VALUE, anchor="end", bold=True)
    with canvas.group("output", corner, top):
        for j, text in enumerate(found):
            canvas.box(j * cell, 0, cell, CELL_HEIGHT, fill=tint(VALUE, STRONG), stroke=VALUE)
            canvas.text((j + 0.5) * cell, CELL_HEIGHT / 2, text, size=SMALL, color=BLACK, bold=True)


def splits(
    x: Float[Tensor, "length d_model"],
    ways: Mapping[str, Float[Tensor, "heads length d_k"]],
    *,
    tokens: Sequence[str],
) -> Drawing:
    """Which cells of x two heads get, in one way of splitting it and in another.

    Above, x in the colours of the heads; below, what each head gets. ``ways`` are named results of
    splits. All numbers of x must differ, because they identify the cells.

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
    color: str = BLACK,
) -> None:
    """Cells with text."""
    with canvas.group(name, x, y):
        for j, fill in enumerate(fills):
            canvas.box(j * wide, 0, wide, CELL_HEIGHT, fill=fill, stroke=stroke, thick=1)
        canvas.texts([wide * (j + 0.5) for j in range(len(texts))], CELL_HEIGHT / 2, texts, color)
