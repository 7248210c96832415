"""One look of a decoder back at the source: query, energies, weights, context."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import CELL_HEIGHT, DARKEST, Matrix, points
from attnbook.figures.drawings.draw_matrix import text_box
from attnbook.figures.drawings.svg import (
    INK,
    SMALL,
    SOFT,
    TEXT,
    WIDEST,
    Canvas,
    Drawing,
    tint,
)
from attnbook.figures.style import KEY, NEUTRAL, QUERY, VALUE, WEIGHTS

LEFT = 108  # of the states; the names of the rows stand before
MOST_TOKENS = 3
THICKEST = 12  # a line to the context, for a weight of 1


def looking_back(
    query: Float[Tensor, " d"], memory: Float[Tensor, "source d"], *, tokens: Sequence[str]
) -> Drawing:
    """The decoder's query meets each state of the encoder; the weights mix these to the context.

    The energies are dot products, not divided. From above downwards: the source's tokens, their
    states, energies, weights, and the context, joined to each weight by a line as thick as it is.

    Raises ``ValueError`` if there are not as many tokens as states, 2 or 3, if a state has too many
    features or digits for its box, or if a number is not finite.
    """
    if len(tokens) != len(memory) or not 2 <= len(tokens) <= MOST_TOKENS:
        raise ValueError(
            f"needs 2 to {MOST_TOKENS} tokens with a state each: got {len(tokens)} tokens and "
            f"{len(memory)} states"
        )
    energies = memory @ query
    weights = energies.softmax(dim=-1)
    asked, *states = points(torch.stack([query, *memory]))
    (context,) = points((weights @ memory)[None])
    (scores,) = Matrix(energies[None], name="energies").numbers()
    (shares,) = Matrix(weights[None], name="weights", color=WEIGHTS).numbers()

    canvas = Canvas()
    step = (WIDEST - LEFT - 12) / len(tokens)
    wide = step - 14
    middles = [LEFT + step * j + wide / 2 for j in range(len(tokens))]
    for y, name in ((40, "states"), (112, "energies"), (184, "weights")):
        canvas.text(0, y, name, anchor="start")
    for j, x in enumerate(middles):
        canvas.text(x, 8, tokens[j], size=TEXT, color=INK)
        left = x - wide / 2
        text_box(canvas, f"state {j + 1}", left, 26.0, wide, f"h_{j + 1} = {states[j]}", KEY, 0.16)
        canvas.arrow((x + 7, 26 + CELL_HEIGHT), (x + 7, 98), color=KEY)
        text_box(canvas, f"energy {j + 1}", left, 98.0, wide, scores[j], NEUTRAL, 0.1)
        canvas.arrow((x, 98 + CELL_HEIGHT), (x, 170))
        share = weights[j].item()
        canvas.line((x, 170 + CELL_HEIGHT), (middles[-1], 246), color=tint(VALUE, 0.6),
                    thick=max(0.6, THICKEST * share))  # fmt: skip
        text_box(canvas, f"weight {j + 1}", left, 170.0, wide, shares[j], WEIGHTS, DARKEST * share)
    canvas.text(8, 148, "↓ softmax", size=SMALL, color=SOFT, anchor="start")
    # the query enters from the left, and meets every state in a dot product
    text_box(canvas, "query", 0.0, 62.0, 92.0, f"z = {asked}", QUERY, 0.16)
    canvas.line((92, 76), (middles[-1] - 7, 76), color=QUERY)
    for x in middles:
        canvas.arrow((x - 7, 76), (x - 7, 98), color=QUERY)
    mix = " + ".join(f"{share} · h_{j + 1}" for j, share in enumerate(shares))
    right = middles[-1] + wide / 2
    text_box(canvas, "context", right - 132, 246.0, 132.0, f"c = {context}", VALUE, 0.2)
    canvas.text(right - 144, 260, f"{mix}  =", formula=True, anchor="end")
    listed = ", ".join(
        f"{tokens[j]} {states[j]}, energy {scores[j]}, weight {shares[j]}"
        for j in range(len(tokens))
    )
    return canvas.finish(
        f"The query z {asked} meets the state of each source token: {listed}. The context, the "
        f"states mixed by these weights, is {context}."
    )
