"""Sinusoidal positions as clocks."""

import torch

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive
from attnbook.positions import sinusoidal_positions


def clocks(*, d_model: int, length: int, alt: str) -> Interactive:
    """Sinusoidal positions as clocks, and the dot product of two of them against their distance.

    ``d_model`` is the number of features, even, from 2 to 512; ``length`` is how many positions and
    how many offsets there are, 2 to 500, counted from 0. ``alt`` says what can be seen.

    Raises ``ValueError`` for other sizes.
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.5.
    """
    if d_model % 2 or not 2 <= d_model <= 512:
        raise ValueError(f"d_model must be even and from 2 to 512: got {d_model}")
    if not 2 <= length <= 500:
        raise ValueError(f"length must be from 2 to 500: got {length}")
    marks = sinusoidal_positions(length, d_model, dtype=torch.float64)
    still, axes = style.subplots(height=2.8)
    axes.plot(range(length), marks @ marks[0], color=style.WEIGHTS)
    axes.set(xlabel="offset k", ylabel="PE(p) · PE(p + k)")
    data = {"d_model": d_model, "length": length}
    return Interactive("clocks", data, alt=alt, still=still)
