"""Binary digits that jump, beside waves that glide."""

import torch

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive
from attnbook.positions import sinusoidal_positions


def digits(*, alt: str) -> Interactive:
    """Four binary digits and four sines of the positions 0 to 15, which the reader steps through.

    The sines are those of the first pairs of ``sinusoidal_positions`` for 16 features. The figure
    plays once. ``alt`` says what can be seen.
    """
    position = torch.arange(16)
    still, panels = style.subplots(nrows=2, height=3.2, sharex=True)
    for axes, title, features, colors in (
        (panels[0], "Binary digits jump", position // 2 ** torch.arange(4)[:, None] % 2, "Greys"),
        (panels[1], "Waves glide", sinusoidal_positions(16, 16)[:, :8:2].T, "YlOrBr"),
    ):
        axes.imshow(features.tolist(), cmap=colors, aspect="auto")
        axes.set(title=title)
        axes.set_yticks((0, 3), ("fast", "slow"))
        axes.grid(visible=False)
    panels[1].set(xlabel="position", xticks=range(16))
    return Interactive("digits", {}, alt=alt, still=still)
