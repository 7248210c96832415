"""Scores that a reader drags, the bars that a curve makes of them, and their shares in the sum."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, finite, rounded

LARGEST = 4.0  # size of a score


def softmax(scores: Float[Tensor, " key"], *, words: Sequence[str], alt: str) -> Interactive:
    """Scores of two or three words, a bar for eˢ of each, and the weights as pieces of one whole.

    Each bar is as high as the curve of eˢ at its score. The reader drags one score, adds 1 to all,
    subtracts 1, or multiplies all scores by a factor from 0 to 5, and sees by which factor each
    weight has changed. Other rules have other curves: the scores themselves, their squares, ReLU
    and sigmoid. A weight outside 0 to 1 is red. ``words`` are short; ``alt`` says what can be seen.

    Raises ``ValueError`` if there are not 2 or 3 words with a score each, or if a score is not
    finite, below −4 or above 4.
    """
    if not 2 <= len(words) <= 3 or scores.shape != (len(words),):
        raise ValueError(
            f"needs 2 or 3 words with a score each: got {len(words)} words and shape "
            f"{tuple(scores.shape)}"
        )
    (scores,) = finite(scores=scores)
    if scores.abs().max() > LARGEST:
        raise ValueError(
            f"scores must lie between −{LARGEST:g} and {LARGEST:g}: got {scores.tolist()}"
        )
    data = {"words": list(words), "scores": rounded(scores), "largest": LARGEST}
    return Interactive("softmax", data, alt=alt, still=_still(scores, words))


def _still(scores: Tensor, words: Sequence[str]) -> Figure:
    """The curve of eˢ with the words' scores on it, above the whole with a piece for each."""
    still, (curve, whole) = style.subplots(height=5.2, nrows=2, height_ratios=(4, 1))
    x, parts = torch.linspace(-LARGEST, LARGEST, 200), scores.exp()
    curve.plot(x, x.exp(), color=style.WEIGHTS)
    curve.vlines(scores, 0, parts, color=style.WEIGHTS, linewidth=6)
    end = 0.0
    for word, score, part in zip(words, scores.tolist(), parts.tolist(), strict=True):
        curve.annotate(f"{word} {part:.2f}", (score - 0.2, part), ha="right", color=style.KEY)
        share = part / parts.sum().item()
        whole.barh(0, share, left=end, color=style.WEIGHTS, edgecolor="white")
        whole.annotate(f"{word}\n{share:.2f}", (end + share / 2, 0), ha="center", va="center",
                       color="white")  # fmt: skip
        end += share
    curve.set(xlabel="score s", ylabel="eˢ", ylim=(0, 1.5 * parts.max().item()))
    whole.set(title="weights", xlim=(0, 1), yticks=[])
    return still
