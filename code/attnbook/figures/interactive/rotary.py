"""Rotary positions: a query and a key that rotate with the places of their words."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, finite, rounded
from attnbook.positions import frequencies, rotary as rotated

PAIRS = 3  # fast, middle and slow
LARGE = 1  # the one that is drawn large
MOST_WORDS = 10


def rotary(
    query: Float[Tensor, " features"],
    key: Float[Tensor, " features"],
    *,
    tokens: Sequence[str],
    asks: int,
    found: int,
    d_features: int,
    alt: str,
) -> Interactive:
    """A query and a key as arrows that rotate with the places of their words, and their score.

    ``query`` is that of the token at place ``asks``, and ``key`` that of an earlier token at place
    ``found``, of 3 to 10 ``tokens``. Both have six features, which are the first three pairs of a
    head of ``d_features``. The reader moves either word or both; the middle pair is drawn large at
    first, and the products of all pairs add up to the score. ``alt`` says what can be seen.

    Raises ``ValueError`` for other sizes or places, if the middle pair completes a turn, or if a
    number is not finite.
    Source: Su et al. 2021, https://arxiv.org/abs/2104.09864, section 3.2.
    """
    if not query.shape == key.shape == (2 * PAIRS,) or d_features < 2 * PAIRS:
        raise ValueError(
            f"query and key must have {2 * PAIRS} of at least {2 * PAIRS} features: got shapes "
            f"{tuple(query.shape)} and {tuple(key.shape)}, and d_features={d_features}"
        )
    if len(tokens) > MOST_WORDS or not 0 <= found < asks < len(tokens):
        raise ValueError(
            f"needs at most {MOST_WORDS} tokens, and a key before its query: "
            f"got {len(tokens)} tokens, found={found} and asks={asks}"
        )
    speeds = frequencies(d_features)[:PAIRS]
    farthest = math.degrees(speeds[LARGE] * (len(tokens) - 1))
    if farthest >= 360:
        raise ValueError(
            "the middle pair must not complete a turn: "
            f"it rotates by {farthest:.0f}° over {len(tokens)} tokens"
        )
    query, key = finite(query=query, key=key)
    data = {
        "tokens": list(tokens),
        "asks": asks,
        "found": found,
        "query": rounded(query.view(-1, 2)),
        "key": rounded(key.view(-1, 2)),
        "frequencies": rounded(speeds, 9),
    }
    vectors = torch.zeros(2, d_features, dtype=torch.float64)
    vectors[:, : 2 * PAIRS] = torch.stack([query, key])
    still = _still(vectors, (asks, found), tokens)
    return Interactive("rotary", data, alt=alt, still=still)


def _still(vectors: Tensor, places: tuple[int, int], tokens: Sequence[str]) -> Figure:
    """The middle pair at all places, with arrows at two of them, and the score."""
    still, plane = style.subplots(height=4.0)
    everywhere = rotated(vectors[:, None].expand(-1, len(tokens), -1))  # (two, length, features)
    pair = everywhere[..., 2 * LARGE : 2 * LARGE + 2]
    for stops, place, color in zip(pair, places, (style.QUERY, style.KEY), strict=True):
        plane.plot(*stops.T, "o-", color=color, alpha=0.3, markersize=4)
        x, y = stops[place].tolist()
        plane.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "-|>", "color": color})
        plane.annotate(tokens[place], (1.15 * x, 1.15 * y), color=color, ha="center")
    asks, found = places
    score = (everywhere[0, asks] @ everywhere[1, found]).item()
    plane.set(title=f"Move both words: the score stays {score:.2f}")
    plane.axis("equal")
    plane.margins(0.2)
    plane.axis("off")
    return still
