"""Scores and weights of one query, with and without the division by √d."""

import math

import torch.nn.functional as F
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import MOST_KEYS, Interactive, finite, rounded

FINE = 6  # each octave of a walk has at most 2 to this less one points


def scale(
    query: Float[Tensor, "draw d"], key: Float[Tensor, "draw key d"], *, alt: str
) -> Interactive:
    """Scores and weights of one query as features are added, undivided and divided by √d.

    The reader slides d through the powers of two from 2 up to the length of the vectors; d
    means their first d features. Scores are walks from feature to feature, which spread like the
    curves of plus and minus the root, and which a cut ends at d. Beside the cut are the weights
    that softmax makes of them, in the order of the scores. The walks of the other draws are grey.
    A button raises the best score by 1; dashed bars are the weights before that. The table has the
    size of softmax's Jacobian, the root of the sum of its squared entries wᵢ ([i = j] − wⱼ).

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
    places = [n for n in range(sizes[-1] + 1) if n % max(1, 2 ** (n.bit_length() - FINE)) == 0]
    walks = F.pad(partial, (1, 0))[..., places]
    data = {
        "sizes": sizes,
        "scores": rounded(scores),
        "places": places,
        "walks": rounded(walks, 1),
    }
    still = _still(scores[0, -1].sort().values, sizes[-1])
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
