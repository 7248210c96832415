"""Sinusoidal positions as waves under a row of words, read off and added to the words' vectors."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, finite, rounded
from attnbook.positions import sinusoidal_positions

MOST_WORDS, MOST_WAVES = 16, 8


def waves(
    words: Float[Tensor, "length features"], *, tokens: Sequence[str], d_model: int, alt: str
) -> Interactive:
    """The waves of sinusoidal positions under a row of words, and what they add to a word.

    Each pair of features has a lane, with a sine and a cosine. The reader moves a line along the
    words, which reads the heights of the waves off. Below it are three rows of bars: these
    heights, which are the vector of the position, the vector of the word, and the sum of both. Of
    a token that comes more than once, all places have bars, and brackets say whether its vectors,
    and their sums, are the same. The line begins at such a token.

    ``words`` has the first 2, 4, 6 or 8 of the ``d_model`` features of each of 2 to 16 ``tokens``.
    ``alt`` says what can be seen.

    Raises ``ValueError`` for other sizes, if there are not as many tokens as words, or if a number
    is not finite.
    """
    length, features = words.shape
    if (
        not 2 <= length <= MOST_WORDS
        or not 2 <= features <= min(MOST_WAVES, d_model)
        or features % 2
    ):
        raise ValueError(
            f"needs 2 to {MOST_WORDS} words of 2, 4, 6 or {MOST_WAVES} features, at most d_model: "
            f"got shape {tuple(words.shape)} and d_model={d_model}"
        )
    if len(tokens) != length:
        raise ValueError(
            f"needs a token for each word: got {len(tokens)} tokens and {length} words"
        )
    (words,) = finite(words=words)
    again = (p for p in range(length) if tokens[p] in list(tokens)[:p])
    begin = next(again, length - 1)
    data = {"tokens": list(tokens), "words": rounded(words), "d_model": d_model, "begin": begin}
    return Interactive("waves", data, alt=alt, still=_still(words, tokens, d_model, begin))


def _still(words: Tensor, tokens: Sequence[str], d_model: int, place: int) -> Figure:
    """The waves in a lane for each pair, and the three rows of bars of one place."""
    length, features = words.shape
    pairs = features // 2
    marks = sinusoidal_positions(length, d_model, dtype=torch.float64)[place, :features]
    still, (lanes, below) = style.subplots(nrows=2, height=5.2, wide=True, height_ratios=(3, 2))
    between = torch.arange(-0.5, length - 0.5, 0.02, dtype=torch.float64)
    angles = between[:, None] * 10000 ** (-2 * torch.arange(pairs) / d_model)
    lane = -2.6 * torch.arange(pairs)
    lanes.plot(between, angles.sin() + lane, color=style.OTHER)
    lanes.plot(between, angles.cos() + lane, "--", color=style.OTHER, linewidth=1)
    lanes.axvline(place, color=style.BLACK)
    lanes.set(yticks=lane[[0, -1]].tolist(), yticklabels=["fast", "slow"])
    lanes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    lanes.set_xticks(range(length), tokens, rotation=45)
    for column, (vector, color) in enumerate(
        ((marks, style.OTHER), (words[place], style.NEUTRAL), (marks + words[place], style.BLACK))
    ):
        at = (features + 2) * column + torch.arange(features)
        below.bar(at.tolist(), vector.tolist(), color=color)
    names = [f"position {place}", f"+ {tokens[place]}", "= sum"]
    middle = [(features + 2) * column + (features - 1) / 2 for column in range(3)]
    below.set_xticks(middle, names)
    below.set(yticks=[0], yticklabels=[""])
    for axes in (lanes, below):
        axes.grid(visible=False)
    return still
