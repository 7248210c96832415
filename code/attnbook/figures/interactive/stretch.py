"""Rotary positions beyond the length of the training texts, and three ways to slow them down."""

import math

import torch
from matplotlib.figure import Figure

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, rounded
from attnbook.positions import STRETCHES, frequencies, stretched_frequencies

FACTORS = (1, 2, 4, 8)  # how many times as long as in training a text may be
FIRST = 4
MOST_PAIRS = 8


def stretch(*, d_features: int, pairs: int, trained_length: int, alt: str) -> Interactive:
    """The angle of each pair of features at each distance, in texts longer than in training.

    Each row is a pair, with the cosine of its angle against the distance between two tokens. The
    curve is in another colour where no training text has had such an angle. The reader chooses how
    long the text is, and by which of ``STRETCHES`` the pairs are slowed down.

    The first ``pairs`` (2 to 8) of ``d_features`` features are shown; training texts have
    ``trained_length`` tokens, 8 to 128. ``alt`` says what can be seen.

    Raises ``ValueError`` for other sizes, or if there are fewer pairs than that.
    """
    if not 2 <= pairs <= min(MOST_PAIRS, d_features // 2):
        raise ValueError(
            f"pairs must be from 2 to {MOST_PAIRS}, at most half of d_features: "
            f"got pairs={pairs} and d_features={d_features}"
        )
    if not 8 <= trained_length <= 128:
        raise ValueError(f"trained_length must be from 8 to 128: got {trained_length}")
    sizes = {"d_features": d_features, "trained_length": trained_length}
    slowed = [
        [
            rounded(stretched_frequencies(factor=float(factor), method=method, **sizes)[:pairs], 9)
            for factor in FACTORS
        ]
        for method in STRETCHES
    ]
    data = {
        "length": trained_length,
        "methods": STRETCHES,
        "factors": FACTORS,
        "first": FACTORS.index(FIRST),
        "frequencies": slowed,
    }
    still = _still(frequencies(d_features)[:pairs], trained_length)
    return Interactive("stretch", data, alt=alt, still=still)


def _still(trained: torch.Tensor, length: int) -> Figure:
    """The pairs as they were trained, in a longer text."""
    still, panels = style.subplots(nrows=len(trained), height=0.9 * len(trained), sharex=True)
    distance = torch.arange(0, FIRST * length, 0.25, dtype=torch.float64)
    for i, (axes, frequency) in enumerate(zip(panels, trained, strict=True)):
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
