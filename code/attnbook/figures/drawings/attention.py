"""Self-attention as a flow of matrices."""

import math
from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import MOST_NUMBERS, Matrix, Scale, first_that_fits, number
from attnbook.figures.drawings.draw_matrix import (
    draw_matrix,
    foot_room,
    head_room,
    label_width,
)
from attnbook.figures.drawings.matrices import plain
from attnbook.figures.drawings.svg import (
    SMALL,
    Canvas,
    Drawing,
)
from attnbook.figures.style import KEY, QUERY, VALUE, WEIGHTS


def self_attention(
    x: Float[Tensor, "length d_in"],
    *,
    q_proj: Float[Tensor, "d_in d_k"],
    k_proj: Float[Tensor, "d_in d_k"],
    v_proj: Float[Tensor, "d_in d_v"],
    tokens: Sequence[str],
    row: int = 0,
    name: str = "x",
) -> Drawing:
    """The whole of self-attention, one matrix for each step, and one token's row through all.

    The projections are multiplied from the right, ``x @ q_proj``; the ``weight`` of an
    ``nn.Linear`` is the transpose.

    Raises ``ValueError`` if tokens or ``row`` do not fit x, or a number is not finite.
    """
    query, key, value = x @ q_proj, x @ k_proj, x @ v_proj
    scores = query @ key.mT
    scaled = scores / math.sqrt(query.shape[-1])
    weights = scaled.softmax(dim=-1)
    of_tokens = {"rows": tokens, "row": row}
    inputs = Matrix(x, name=name, **of_tokens)
    projections = [
        Matrix(q_proj, name="W_Q", color=QUERY),
        Matrix(k_proj, name="W_K", color=KEY),
        Matrix(v_proj, name="W_V", color=VALUE),
    ]
    made = [
        Matrix(query, name="Q", color=QUERY, row=row),
        Matrix(key, name="K", color=KEY),
        Matrix(value, name="V", color=VALUE),
    ]
    steps = [
        Matrix(scores, name="Q K^T", columns=tokens, **of_tokens),
        Matrix(scaled, name="scores", row=row),
        Matrix(weights, name="weights", color=WEIGHTS, columns=tokens, **of_tokens),
    ]
    output = Matrix(weights @ value, name="output", color=VALUE, row=row)

    def draw(canvas: Canvas, scale: Scale) -> None:
        _draw_flow(canvas, scale, inputs, projections, made, steps, output)

    canvas = first_that_fits(draw, [inputs, *projections, *made, *steps, output])
    return canvas.finish(_say_flow(inputs, made, steps, output))


def _draw_flow(
    canvas: Canvas,
    scale: Scale,
    inputs: Matrix,
    projections: list[Matrix],
    made: list[Matrix],
    steps: list[Matrix],
    output: Matrix,
) -> None:
    """Above, x times the three projections; below, the steps to the weights, and the mix under
    V."""
    products, scores, weights = steps
    gap, first_arrow, last_arrow = 12, 52, 44
    side, tall = scale.size(products)  # of each of the three below

    # each projection stands above its product, in whose line x stands on the left
    width, height = scale.size(inputs)
    foot = max(foot_room(matrix, scale) for matrix in projections)
    top = (
        max(scale.size(matrix)[1] for matrix in projections)
        + foot
        + head_room(made[0], scale)
        + gap
    )
    draw_matrix(canvas, 0, top, inputs, scale)
    lefts, x = [], width + gap
    for product in made:
        lefts.append(x)
        x += scale.size(product)[0] + gap
    lefts[2] = max(lefts[2], 2 * side + first_arrow + last_arrow)  # for what stands below
    for x, projection, product in zip(lefts, projections, made, strict=True):
        above = top - head_room(product, scale) - foot - 8 - scale.size(projection)[1]
        draw_matrix(canvas, x, above, projection, scale)
        draw_matrix(canvas, x, top, product, scale)
    bottom = top + height
    middles = [x + scale.size(product)[0] / 2 for x, product in zip(lefts, made, strict=True)]

    # queries meet keys
    y = bottom + 34
    for middle, bus, end, color in (
        (middles[0], bottom + 12, side / 2 - 7, QUERY),
        (middles[1], bottom + 20, side / 2 + 7, KEY),
    ):
        canvas.arrow((middle, bottom + 3), (middle, bus), (end, bus), (end, y), color=color)
    y += head_room(products, scale) + 4
    draw_matrix(canvas, 0, y, products, scale)
    x = lefts[2] - last_arrow - side
    canvas.arrow((side + 5, y + tall / 2), (x - 5, y + tall / 2))
    canvas.text((side + x) / 2, y + tall / 2 - 17, "÷ √d_k", formula=True)
    root = math.sqrt(made[0].values.shape[1])
    root_text = number(root, 0 if root.is_integer() else 1)
    canvas.text((side + x) / 2, y + tall / 2 + 14, f"= {root_text}", size=SMALL)
    draw_matrix(canvas, x, y, scores, scale)

    # each row becomes weights, and these mix the values
    y += tall + foot_room(scores, scale)
    arrow = x + side / 2
    canvas.arrow((arrow, y + 5), (arrow, y + 34))
    canvas.text(arrow - 10, y + 19, "softmax of each row", anchor="end")
    y += 30 + head_room(weights, scale)
    draw_matrix(canvas, x, y, weights, scale)
    canvas.arrow((x + side + 5, y + tall / 2), (lefts[2] - 5, y + tall / 2))
    canvas.text((x + side + lefts[2]) / 2, y + tall / 2 - 12, "mix")
    above = y - head_room(output, scale) + 2
    canvas.arrow((middles[2], bottom + 3), (middles[2], above), color=VALUE)
    draw_matrix(canvas, lefts[2], y, output, scale)
    _write_mix(canvas, x - label_width(weights, scale) - 14, y, weights, output)


def _write_mix(canvas: Canvas, x: float, y: float, weights: Matrix, output: Matrix) -> None:
    """Write out how the row's output is mixed, in lines that end at x."""
    size = len(weights.values)
    result = output.texts(output.values[output.row])
    if size > 6:
        return
    lines = [
        f"{share} · v_{j + 1}" for j, share in enumerate(weights.texts(weights.values[weights.row]))
    ]
    lines = [lines[0], *(f"+ {line}" for line in lines[1:])]
    if len(result) <= 3:
        lines.append(f"= ({', '.join(result)})")
    for i, line in enumerate(lines):
        canvas.text(x, y + 4 + 22 * i, line, formula=True, anchor="end")


def _say_flow(inputs: Matrix, made: list[Matrix], steps: list[Matrix], output: Matrix) -> str:
    token = plain(inputs.rows[inputs.row])
    weights = ", ".join(
        f"{share} for {plain(other)}"
        for share, other in zip(
            steps[2].texts(steps[2].values[inputs.row]), inputs.rows, strict=True
        )
    )
    result = output.texts(output.values[inputs.row])
    ending = f", which give ({', '.join(result)})" if len(result) <= MOST_NUMBERS else ""
    shapes = ", ".join(f"{matrix.name} {matrix.shape}" for matrix in made)
    return (
        f"Self-attention, step by step: {inputs.plain_name} {inputs.shape} times three projections "
        f"gives {shapes}. Q times K transposed, divided by the root of {made[0].values.shape[1]}, "
        f"gives scores, {steps[1].shape}; softmax of each row gives weights; weights times V gives "
        f"the output, {output.shape}. Framed is the row of {token}: its weights are "
        f"{weights}{ending}."
    )
