"""Scores and weights of one query, with and without the division by √d."""

import math

from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import MOST_KEYS, Interactive, finite, rounded


def scale(
    query: Float[Tensor, "draw d"], key: Float[Tensor, "draw key d"], *, alt: str
) -> Interactive:
    """Scores and weights of one query as features are added, undivided and divided by √d.

    The reader slides d through the powers of two from 2 up to the length of the vectors; d
    means their first d features. Both sides show the scores on the same axis, and the weights that
    softmax makes of them, in the order of the scores. The undivided scores leave trails from size
    to size, and the divided ones are also on an axis that is zoomed in. A button raises the best
    score by 1; dashed bars are the weights before that. The table has the size of softmax's
    Jacobian, the root of the sum of its squared entries wᵢ ([i = j] − wⱼ). The figure begins two
    sizes before the largest.

    ``query`` and ``key`` are some draws, which a button shows one after the other: in each, one
    query and its 2 to 12 keys. ``alt`` says what can be seen.

    Raises ``ValueError`` if query and key do not match, if there are fewer than 2 features, if
    there are not 2 to 12 keys, or if a number is not finite.
    """
    shapes = f"got {tuple(query.shape)} and {tuple(key.shape)}"
    if (
        query.ndim != 2
        or key.ndim != 3
        or (len(key), key.shape[-1]) != query.shape
        or len(query) < 1
    ):
        raise ValueError(f"needs query (draws, d) and key (draws, keys, d): {shapes}")
    if query.shape[-1] < 2 or not 2 <= key.shape[1] <= MOST_KEYS:
        raise ValueError(f"needs 2 or more features, and 2 to {MOST_KEYS} keys: {shapes}")
    query, key = finite(query=query, key=key)
    sizes = [2**n for n in range(1, query.shape[-1].bit_length())]
    partial = (query[:, None] * key).cumsum(dim=-1)  # (draws, keys, d)
    scores = partial[..., [d - 1 for d in sizes]].mT  # (draws, sizes, keys)
    first = max(0, len(sizes) - 3)  # what the script shows first
    still = _still(scores[0, first].sort().values, sizes[first])
    data = {"sizes": sizes, "scores": rounded(scores)}
    return Interactive("scale", data, alt=alt, still=still)


def _still(scores: Tensor, d: int) -> Figure:
    """Scores above their weights, undivided and divided, as high as the figure that moves."""
    still, panels = style.subplots(2, height=5.2, nrows=2, height_ratios=(1, 3))
    for (above, below), divisor, title in (
        (panels[:, 0], 1.0, "q·k"),
        (panels[:, 1], math.sqrt(d), "q·k ÷ √d"),
    ):
        reach = 1.2 * (scores.abs().max() / divisor).item()
        above.plot(scores / divisor, 0 * scores, "o", color=style.KEY, alpha=0.75)
        above.plot(scores[-1:] / divisor, [0], "o", color=style.WEIGHTS)
        above.annotate("best key", (scores[-1] / divisor, 0.4), ha="center", color=style.WEIGHTS)
        above.set(title=f"d = {d}, {title}", yticks=[], ylim=(-1, 1), xlim=(-reach, reach))
        above.set_xlabel("score")
        names = range(1, len(scores) + 1)
        below.bar(names, (scores / divisor).softmax(dim=-1).tolist(), color=style.WEIGHTS)
        below.set(xticks=[], xlabel="keys, by their scores", ylim=(0, 1))
    panels[1, 0].set_ylabel("weight")
    return still
