"""Scores that are added up feature by feature, as random walks that spread like a root."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, finite, rounded

POINTS = 128  # of a walk, after the first


def walks(query: Float[Tensor, "pair d"], key: Float[Tensor, "pair d"], *, alt: str) -> Interactive:
    """The scores of some pairs of query and key, added up feature by feature, as walks.

    They grow in four steps, to 1, 4, 9 and 16 sixteenths of the features, and two curves show plus
    and minus the root of the number of features. A switch divides each sum by the root of its
    number of features. ``alt`` says what can be seen.

    Raises ``ValueError`` if query and key do not match, if the number of features is not a multiple
    of 128, or if a number is not finite.
    """
    if query.ndim != 2 or query.shape != key.shape or not len(query) or query.shape[-1] % POINTS:
        raise ValueError(
            f"needs query and key of one shape, with a multiple of {POINTS} features: "
            f"got {tuple(query.shape)} and {tuple(key.shape)}"
        )
    query, key = finite(query=query, key=key)
    d = query.shape[-1]
    sums = F.pad((query * key).cumsum(dim=-1), (1, 0))[:, :: d // POINTS]
    data = {"walks": rounded(sums, 1), "d": d}
    return Interactive("walks", data, alt=alt, still=_still(sums, d))


def _still(sums: Tensor, d: int) -> Figure:
    """All walks, and the curves of plus and minus the root."""
    still, axes = style.subplots(height=3.6)
    steps = torch.linspace(0, d, sums.shape[-1])
    axes.plot(steps, sums.T, color=style.NEUTRAL, linewidth=0.5, alpha=0.35)
    for sign in (1, -1):
        axes.plot(steps, sign * steps.sqrt(), color=style.WEIGHTS, linewidth=2.6)
    axes.annotate(f"√{d}", (d, d**0.5), color=style.WEIGHTS, fontweight="bold")
    axes.set(xlabel="features added up", ylabel="sum so far", xlim=(0, d))
    return still
