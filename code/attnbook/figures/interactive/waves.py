"""Sinusoidal positions as waves under a row of words, read off and added to the words' vectors."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, finite, rounded
from attnbook.positions import sinusoidal_positions

MOST_WORDS, MOST_WAVES = 10, 8


def waves(
    words: Float[Tensor, "length features"], *, tokens: Sequence[str], d_model: int, alt: str
) -> Interactive:
    """The waves of sinusoidal positions under a row of words, and what they add to each word.

    Under each word are three rows of bars: the heights of the waves there, which are the vector of
    its position, the vector of the word, and the sum of both. The reader moves a line along the
    words, which reads the heights off. Of a token that comes more than once, it begins at the last,
    and brackets say whether its vectors, and their sums, are the same.

    ``words`` has the first 2 to 8 of the ``d_model`` features of each of 2 to 10 ``tokens``.
    ``alt`` says what can be seen.

    Raises ``ValueError`` for other sizes, if there are not as many tokens as words, or if a number
    is not finite.
    """
    length, features = words.shape
    if not 2 <= length <= MOST_WORDS or not 2 <= features <= min(MOST_WAVES, d_model):
        raise ValueError(
            f"needs 2 to {MOST_WORDS} words of 2 to {MOST_WAVES} features, at most d_model: "
            f"got shape {tuple(words.shape)} and d_model={d_model}"
        )
    if len(tokens) != length:
        raise ValueError(
            f"needs a token for each word: got {len(tokens)} tokens and {length} words"
        )
    (words,) = finite(words=words)
    first = next((token for token in tokens if list(tokens).count(token) > 1), tokens[-1])
    twins = [place for place, token in enumerate(tokens) if token == first]
    data = {"tokens": list(tokens), "words": rounded(words), "d_model": d_model, "twins": twins}
    return Interactive("waves", data, alt=alt, still=_still(words, tokens, d_model, twins[-1]))


def _still(words: Tensor, tokens: Sequence[str], d_model: int, place: int) -> Figure:
    """The waves, and three rows of bars, with the column of one place in front."""
    length, features = words.shape
    marks = sinusoidal_positions(length, d_model, dtype=torch.float64)[:, :features]
    still, panels = style.subplots(
        nrows=4, height=6.2, wide=True, sharex=True, height_ratios=(2.4, 1, 1, 1.6)
    )
    between = torch.arange(-0.5, length - 0.5, 0.02, dtype=torch.float64)
    frequencies = 10000 ** (-2 * (torch.arange(features) // 2) / d_model)
    angles = between[:, None] * frequencies
    heights = torch.where(torch.arange(features) % 2 == 0, angles.sin(), angles.cos())
    panels[0].plot(between, heights - 2.4 * torch.arange(features), color=style.OTHER)
    panels[0].set(yticks=[], ylabel="waves")
    panels[0].tick_params(top=True, labeltop=True, bottom=False, length=0)
    panels[0].set_xticks(range(length), tokens)
    at = torch.arange(length)[:, None] + 0.11 * (torch.arange(features) - (features - 1) / 2)
    for axes, name, vectors, color in (
        (panels[1], "position", marks, style.OTHER),
        (panels[2], "+ word", words, style.NEUTRAL),
        (panels[3], "= sum", marks + words, style.BLACK),
    ):
        axes.bar(at.flatten().tolist(), vectors.flatten().tolist(), width=0.08, color=color)
        axes.set(yticks=[0], yticklabels=[""], ylabel=name)
        axes.tick_params(labelbottom=False, length=0)
    for axes in panels:
        axes.axvspan(place - 0.5, place + 0.5, color=style.OTHER, alpha=0.12, linewidth=0)
        axes.grid(axis="x", visible=False)
    return still
