"""A feed-forward network as neurons: each asks a question of a token and adds its answer."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import Matrix, number
from attnbook.figures.drawings.svg import (
    INK,
    SMALL,
    SOFT,
    TEXT,
    Canvas,
    Drawing,
    text_width,
    tint,
)
from attnbook.figures.style import BLACK, NEUTRAL, OTHER

MOST_FEATURES, MOST_NEURONS = 8, 4
CELL, STEP, HIGH = 38.0, 30.0, 26.0  # of a feature: width, to the next one, height
NEURON, LINE, APART = 116.0, 18.0, 12.0  # of a neuron: width, height of a line, to the next one
LINES, PRODUCT = 23.0, 62.0  # for the lines on both sides of the neurons, and for what one adds


def neurons(
    x: Float[Tensor, " d"],
    up_proj: Float[Tensor, "d d_ff"],
    bias: Float[Tensor, " d_ff"],
    down_proj: Float[Tensor, "d_ff d"],
    *,
    token: str,
    features: Sequence[str],
    questions: Sequence[tuple[str, str]],
) -> Drawing:
    """What a feed-forward network with ReLU adds to a token's vector, neuron by neuron.

    On the left are the token's named features, on the right the same after the network. In the
    middle each neuron sums the features that its column of ``up_proj`` weighs, and its bias. If the
    sum is positive, it adds its row of ``down_proj``, times the sum. ``questions`` say in two lines
    what makes a neuron fire.

    Raises ``ValueError`` if names do not fit the projections, there are more than 8 features or
    4 neurons, two neurons add to the same feature, or a number has no room.
    """
    d, d_ff = up_proj.shape
    if (len(features), len(questions)) != (d, d_ff) or d > MOST_FEATURES or d_ff > MOST_NEURONS:
        raise ValueError(
            f"needs at most {MOST_FEATURES} named features and {MOST_NEURONS} questions: got "
            f"{len(features)} and {len(questions)} for a projection {tuple(up_proj.shape)}"
        )
    if (down_proj != 0).sum(dim=0).max() > 1:
        raise ValueError("two neurons add to the same feature: the drawing has room for one")
    hidden = (x @ up_proj + bias).relu()
    after = x + hidden @ down_proj
    room = max(text_width(name, SMALL) for name in features) + 6
    tall = 4 * LINE + 12
    height = max(d * STEP, d_ff * (tall + APART) - APART)
    canvas = Canvas()
    asks = room + CELL + LINES
    adds = asks + NEURON + LINES + PRODUCT
    rows = [(height - d * STEP) / 2 + (j + 0.5) * STEP for j in range(d)]
    boxes = [(height - d_ff * (tall + APART) + APART) / 2 + k * (tall + APART) for k in range(d_ff)]
    for k, y in enumerate(boxes):
        start, end = (asks, y + tall / 2), (asks + NEURON, y + tall / 2)
        color = tint(OTHER, 0.8) if hidden[k] > 0 else tint(NEUTRAL, 0.35)
        for j in up_proj[:, k].nonzero().flatten().tolist():
            thick = 2.5 if hidden[k] > 0 and x[j] else 1
            canvas.line((room + CELL, rows[j]), start, color=color, thick=thick)
        for j in down_proj[k].nonzero().flatten().tolist():
            _answer(canvas, end, (adds, rows[j]), hidden[k].item(), down_proj[k, j].item(), color)
    said = [_neuron(canvas, asks, y, x, up_proj[:, k], bias[k].item(), questions[k])
            for k, y in enumerate(boxes)]  # fmt: skip
    for name, left, vector in (("before", room, x), ("after", adds, after)):
        canvas.text(left + CELL / 2, -16, f"{token}, {name}", color=INK, bold=True)
        (texts,) = Matrix(vector[None], name="x").numbers()
        with canvas.group(name, left, 0):
            for j, (row, text) in enumerate(zip(rows, texts, strict=True)):
                _demand_room(text, CELL)
                new = after[j] != x[j] and name == "after"
                fill = tint(OTHER, 0.4) if new else tint(NEUTRAL, 0.16 if vector[j] else 0.04)
                canvas.box(0, row - HIGH / 2, CELL, HIGH, fill=fill, stroke=tint(NEUTRAL, 0.6),
                           thick=1)  # fmt: skip
                canvas.text(CELL / 2, row, text, size=SMALL, color=BLACK, bold=bool(new))
    for feature, row in zip(features, rows, strict=True):
        canvas.text(room - 6, row, feature, size=SMALL, color=INK, anchor="end")
        canvas.text(adds + CELL + 6, row, feature, size=SMALL, color=INK, anchor="start")
    listed = [f"{name} {text}" for name, text in zip(features, texts, strict=True)]
    return canvas.finish(
        f"What a network with {d_ff} neuron{'s' * (d_ff > 1)} makes of {token}. {' '.join(said)} "
        f"With what was added, {token} is: {', '.join(listed)}."
    )


def _answer(
    canvas: Canvas,
    start: tuple[float, float],
    end: tuple[float, float],
    fires: float,
    adds: float,
    color: str,
) -> None:
    """The line from a neuron to what it adds to, with the product that it adds."""
    product = f"{number(fires, 1 if fires else 0)} × {number(adds, 0 if adds % 1 == 0 else 1)}"
    _demand_room(product, PRODUCT)
    left = end[0] - PRODUCT
    canvas.line(start, (left, end[1]), color=color, thick=2.5 if fires else 1)
    canvas.text(end[0] - 4, end[1], product, size=SMALL, color=INK if fires else SOFT, anchor="end")


def _demand_room(text: str, room: float) -> None:
    if text_width(text, SMALL) > room:
        raise ValueError(f"{text} has no room in the drawing: use fewer features or digits")


def _neuron(
    canvas: Canvas,
    x: float,
    y: float,
    token: Tensor,
    weights: Tensor,
    bias: float,
    question: tuple[str, str],
) -> str:
    """Draw a neuron with its question and its sum; returns the same in words."""
    parts = [(w * v).item() for w, v in zip(weights, token, strict=True) if w] + [bias]
    terms = number(parts[0], 1)
    for part in parts[1:]:
        terms += f" {'−' if part < 0 else '+'} {number(abs(part), 1)}"
    _demand_room(terms, NEURON)
    total = sum(parts)
    fires = total > 0
    answer = f"= {number(total, 1)}" + ("" if fires else ", so 0")
    tall = 4 * LINE + 12
    with canvas.group(f"neuron {' '.join(question)}", x, y):
        canvas.box(0, 0, NEURON, tall, round=8, fill=tint(OTHER, 0.3) if fires else "#ffffff",
                   stroke=OTHER if fires else tint(NEUTRAL, 0.6))  # fmt: skip
        for line, (text, bold) in enumerate(
            ((question[0], True), (question[1], True), (terms, False), (answer, fires))
        ):
            canvas.text(NEURON / 2, 6 + (line + 0.5) * LINE, text, color=INK, bold=bold,
                        size=TEXT if bold and line < 2 else SMALL)  # fmt: skip
    said = "it fires" if fires else "it stays silent"
    return f"{' '.join(question)} {terms} {answer}: {said}."
