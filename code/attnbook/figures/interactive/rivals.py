"""Rotary positions beside their rivals: the scores of a query that slides to new places."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, rounded
from attnbook.positions import frequencies

D, PAIRS = 16, 3  # features of the head, and how many of its pairs are used: the fastest
STARTS = 0.9, 2.6, 0.4  # where the hands of the key lie before any rotation, as angles
SLOPE = 0.5  # ALiBi's, as in the laboratory
BIASES = [0.4, 3.0, 1.8, 1.2, 0.8, 0.5, 0.2, 0.0, -0.2, -0.3, -0.4, -0.5, -0.6, -0.7, -0.8, -0.9]
HOW = {
    "rotary": ("rotates q and k,", "pair by pair"),
    "like T5": ("adds a number", "per distance"),
    "ALiBi": (f"subtracts {SLOPE:g}", "per place"),
    "sinusoids": ("adds a vector", "per place"),
}


def hands() -> Float[Tensor, "two features"]:
    """A query and a key whose hands lie on each other if the query is one place later."""
    angles = torch.tensor(STARTS, dtype=torch.float64).repeat(2, 1)
    angles[0] -= frequencies(D)[:PAIRS]
    return torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(1)


def rivals(right: Mapping[str, Sequence[float]], *, alt: str) -> Interactive:
    """How the scores of one query and its keys change if the query slides to new places.

    A row for each of four ways to mark positions, with the scores of a query that slides from 15,
    the last trained place, to 31. ``right`` says how many answers (in %) each way gets
    right at trained and at new places, under the names of ``HOW``. ``alt`` says what can be seen.

    Raises ``ValueError`` for other names.
    """
    if [*right] != [*HOW]:
        raise ValueError(f"needs results of {', '.join(HOW)}: got {', '.join(right)}")
    query, key = hands()
    data = {
        "designs": [
            [name, HOW[name], *(round(float(share) / 100, 4) for share in shares)]
            for name, shares in right.items()
        ],
        "query": rounded(query),
        "key": rounded(key),
        "frequencies": rounded(frequencies(D)[:PAIRS], 9),
        "biases": BIASES,
        "slope": SLOPE,
    }
    return Interactive("rivals", data, alt=alt, still=_still(right))


def _still(right: Mapping[str, Sequence[float]]) -> Figure:
    """The right answers of each design, at trained and at new places."""
    still, axes = style.subplots(height=2.8)
    for line, (_, new) in enumerate(right.values()):
        axes.barh(-line, new, color=style.WEIGHTS if new > 50 else style.RED)
    axes.set(yticks=[-line for line in range(len(right))], yticklabels=right)
    axes.set(xlabel="right at new places, %", xlim=(0, 100))
    return still
