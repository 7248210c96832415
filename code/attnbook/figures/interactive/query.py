"""A query among keys in the plane."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import MOST_KEYS, Interactive, finite, rounded


def query(
    keys: Float[Tensor, "key 2"],
    values: Float[Tensor, " key"] | Float[Tensor, "key 2"],
    *,
    query: Sequence[float | int] | Float[Tensor, " 2"],
    labels: Sequence[str],
    alt: str,
    divide: bool = True,
) -> Interactive:
    """Keys in the plane, and a query that the reader moves among them.

    Every key j gets the score q·kⱼ / (√2 · T), since a key has two features; ``divide=False``
    leaves the root out. Softmax of the scores gives the weights wⱼ, and the output is Σ wⱼ vⱼ.
    The reader also sets the temperature T, from 0.01 to 100; it is 1 at first.

    ``keys`` are 1 to 12 points, ``labels`` their short names. ``values`` is what each of them hands
    over: a number, or a point of the same plane, in which the output then moves. ``query`` is where
    the query is at first; ``alt`` says what can be seen.

    Raises ``ValueError`` if the sizes do not match, if there are more than 12 keys, or if a
    number is not finite.
    """
    query = torch.as_tensor(query, dtype=torch.float64)
    count = len(labels)
    if keys.shape != (count, 2) or values.shape not in {(count,), (count, 2)}:
        raise ValueError(
            f"{count} labels need keys of shape ({count}, 2) and values of shape "
            f"({count},) or ({count}, 2): got {tuple(keys.shape)} and {tuple(values.shape)}"
        )
    if not 1 <= count <= MOST_KEYS:
        raise ValueError(f"needs 1 to {MOST_KEYS} keys: got {count}")
    if query.shape != (2,):
        raise ValueError(f"a query must have two numbers: got shape {tuple(query.shape)}")
    keys, values, query = finite(keys=keys, values=values, query=query)
    points = [keys, query, values] if values.ndim == 2 else [keys, query]
    step, reach = _grid(max(point.abs().max().item() for point in points))
    divisor = math.sqrt(2) if divide else 1.0
    weights = (keys @ query / divisor).softmax(dim=-1)
    output = weights @ values
    still, axes = style.subplots(height=4.2)
    axes.scatter(*keys.T, s=2500 * weights, color=style.WEIGHTS, alpha=0.35)
    axes.plot(*keys.T, "s", color=style.KEY)
    axes.plot(*zip((0, 0), query.tolist(), strict=True), color=style.QUERY)
    axes.plot(*query, "o", color=style.QUERY, markersize=10)
    for label, point, weight in zip(labels, keys, weights, strict=True):
        axes.annotate(
            f"{label} {weight:.2f}",
            point.tolist(),
            xytext=(0, 12),
            textcoords="offset points",
            ha="center",
        )
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    if values.ndim == 2:
        axes.plot(*output, "^", color=style.VALUE, markersize=10)
    axes.set_title(f"output {', '.join(f'{number:.2f}' for number in output.reshape(-1).tolist())}")
    data = {
        "keys": rounded(keys),
        "values": rounded(values),
        "query": rounded(query),
        "labels": list(labels),
        "reach": reach,
        "step": step,
    }
    if not divide:
        data["divisor"] = 1  # the script's own is √2
    return Interactive("query", data, alt=alt, still=still)


def _grid(largest: float) -> tuple[float | int, float | int]:
    """A round step, and how far the plane reaches: a quarter beyond the largest number."""
    rough = largest / 32 or 0.05
    power = 10 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    reach = step * math.ceil((1.25 * largest or 1.0) / step)
    return round(step, 10), round(reach, 10)
