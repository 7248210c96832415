"""Rotary positions beyond the length of the training texts, and three ways to slow them down."""

import math
from collections.abc import Mapping, Sequence

import torch
from matplotlib.figure import Figure

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, rounded
from attnbook.positions import STRETCHES, frequencies, stretched_frequencies

FACTORS = (1, 2, 4, 8)  # how many times as long as in training a text may be
FIRST = 4
MOST_PAIRS = 8
FOUND = (
    "what is near",
    "names",
)  # what a model is asked for: the pairs that it needs are fast, or slow


def stretch(
    *,
    d_features: int,
    pairs: int | Sequence[int],
    trained_length: int,
    base: float = 10000.0,
    right: Mapping[str, Sequence[Sequence[float]]] | None = None,
    alt: str,
) -> Interactive:
    """The angle of each pair of features at each distance, in texts longer than in training.

    Each row is a pair, with the cosine of its angle against the distance between two tokens. The
    curve is in another colour where no training text has had such an angle. The reader chooses how
    long the text is, and by which of ``STRETCHES`` the pairs are slowed down.

    ``pairs`` are the numbers of the 2 to 8 pairs that are shown, or how many of the fastest ones;
    training texts have ``trained_length`` tokens, 8 to 128. ``right`` says for each stretch, under
    the name that it then has, what share of the tokens a model finds (in %) in texts of each
    length: those that are near, and those with a name. The stretches are then made for the longest
    text, and the figure plays once. ``alt`` says what can be seen.

    Raises ``ValueError`` for other sizes, or if there are fewer pairs than that.
    """
    shown = list(range(pairs)) if isinstance(pairs, int) else list(pairs)
    if not 2 <= len(shown) <= MOST_PAIRS or max(shown) >= d_features // 2:
        raise ValueError(
            f"pairs must be from 2 to {MOST_PAIRS}, at most half of d_features: "
            f"got pairs={pairs} and d_features={d_features}"
        )
    if not 8 <= trained_length <= 128:
        raise ValueError(f"trained_length must be from 8 to 128: got {trained_length}")
    sizes = {"d_features": d_features, "trained_length": trained_length, "base": base}
    made_for = [FACTORS[-1]] * len(FACTORS) if right else FACTORS
    slowed = [
        [
            rounded(stretched_frequencies(factor=float(factor), method=method, **sizes)[shown], 9)
            for factor in made_for
        ]
        for method in STRETCHES
    ]
    data = {
        "length": trained_length,
        "methods": list(right or STRETCHES),
        "factors": FACTORS,
        "first": len(FACTORS) - 1 if right else FACTORS.index(FIRST),
        "pairs": shown,
        "frequencies": slowed,
        "found": FOUND if right else [],
    }
    if right:
        data["right"] = [[[round(s) / 100 for s in both] for both in way] for way in right.values()]
    still = _still(frequencies(d_features, base)[shown], shown, trained_length)
    return Interactive("stretch", data, alt=alt, still=still)


def _still(trained: torch.Tensor, pairs: Sequence[int], length: int) -> Figure:
    """The pairs as they were trained, in a longer text."""
    still, panels = style.subplots(nrows=len(trained), height=0.9 * len(trained), sharex=True)
    distance = torch.arange(0, FIRST * length, 0.25, dtype=torch.float64)
    for i, axes, frequency in zip(pairs, panels, trained, strict=True):
        angle = frequency * distance
        new = angle % (2 * math.pi) > frequency * length
        wave = angle.cos()
        axes.axvspan(0, length - 1, color="#f0f0f0", zorder=0)
        axes.plot(distance, wave, color=style.NEUTRAL)
        axes.plot(distance, wave.where(new, torch.nan), color=style.RED, linewidth=2.5)
        axes.set(ylabel=f"pair {i}", ylim=(-1.2, 1.2), yticks=[])
        axes.grid(False)
    panels[-1].set(xlabel="distance between two tokens")
    return still
