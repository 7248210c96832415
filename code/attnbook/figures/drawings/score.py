"""A score, as the sum it is: one product after the other."""

import itertools

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import Matrix, Scale, number
from attnbook.figures.drawings.draw_matrix import draw_matrix
from attnbook.figures.drawings.svg import INK, LINE, NAME, SOFT, Canvas, Drawing
from attnbook.figures.style import KEY, NEUTRAL, QUERY

CELL, COLUMN = 28, 64.0  # height and largest width of a feature, in units
ROW = 252  # largest width of all features
MOST = 6  # features
WALK = 92  # height of the sums


def score(query: Float[Tensor, " d"], key: Float[Tensor, " d"]) -> Drawing:
    """A query times a key, feature by feature; below, their sum as a walk, a step for each.

    Raises ``ValueError`` if the two are not equally long, have no features or more than 6, or a
    number is not finite.
    """
    if query.ndim != 1 or query.shape != key.shape or not 1 <= len(query) <= MOST:
        raise ValueError(
            f"query and key must have the same 1 to {MOST} features: "
            f"got shapes {tuple(query.shape)} and {tuple(key.shape)}"
        )
    rows = [
        Matrix(values[None], name=name, color=color)
        for name, values, color in (
            ("q", query, QUERY),
            ("k", key, KEY),
            ("product", query * key, NEUTRAL),
        )
    ]
    scale = Scale(min(COLUMN, ROW / len(query)), CELL, True)
    canvas = Canvas()
    for i, row in enumerate(rows):
        draw_matrix(canvas, 0, i * (CELL + 12), row, scale, title="left")
    products = rows[2].values[0]
    sums = [0.0, *products.cumsum(dim=0).tolist()]
    with canvas.group("walk", 0, 3 * (CELL + 12) + 14):
        _draw_walk(canvas, sums, scale.width)
    q, k, steps = (", ".join(row.numbers()[0]) for row in rows)
    return canvas.finish(
        f"The query ({q}) and the key ({k}) are multiplied feature by feature: {steps}. Below, the "
        f"products are added one after the other: from 0 to {_end(sums)}, the score."
    )


def _draw_walk(canvas: Canvas, sums: list[float], column: float) -> None:
    """Draw a level line for each sum, one column wide, and arrows from each to the next."""
    top, length = max(sums), max(sums) - min(sums) or 1.0
    heights = [(top - s) / length * WALK for s in sums]
    end = (len(sums) - 1) * column
    canvas.line((0, heights[0]), (end, heights[0]), color=LINE, thick=1)
    canvas.text(-12, heights[0], "0", anchor="end")
    for i, (before, after) in enumerate(itertools.pairwise(heights)):
        x = (i + 0.5) * column  # the step stands below its product
        if abs(after - before) > 8:
            canvas.arrow((x, before), (x, after), color=NEUTRAL)
        canvas.line((x, after), (min(x + column, end), after), color=SOFT, thick=2.5)
    canvas.text(end + 8, heights[-1], f"q · k = {_end(sums)}", formula=True, size=NAME, color=INK,
                anchor="start", bold=True)  # fmt: skip


def _end(sums: list[float]) -> str:
    """The last sum, with as many decimals as all of them need."""
    return number(sums[-1], 0 if all(float(s).is_integer() for s in sums) else 2)
