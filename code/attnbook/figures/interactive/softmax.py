"""Scores that a reader drags, their exponentials, and the shares that these have in their sum."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.softmax import softmax as drawn
from attnbook.figures.interactive.base import Interactive, finite, rounded

LARGEST = 4.0  # size of a score


def softmax(
    scores: Float[Tensor, " key"],
    value: Float[Tensor, " key"],
    *,
    words: Sequence[str],
    alt: str,
) -> Interactive:
    """Scores of two or three words, eˢ of each, and the weights as pieces of one whole.

    The reader drags one score, adds 1 to all, subtracts 1, or multiplies all scores by a factor
    from 0 to 5, and sees by which factor each weight has changed. The last line divides the scores
    themselves by their sum; what lies outside 0 to 1 is red. The still picture also mixes ``value``
    with the weights. ``words`` are short; ``alt`` says what can be seen.

    Raises ``ValueError`` if there are not 2 or 3 words with a score and a value each, if a score is
    below −4 or above 4, or if ``drawings.softmax`` cannot draw the numbers.
    """
    if not 2 <= len(words) <= 3 or scores.shape != (len(words),):
        raise ValueError(
            f"needs 2 or 3 words with a score each: got {len(words)} words and shape "
            f"{tuple(scores.shape)}"
        )
    scores, value = finite(scores=scores, value=value)
    if scores.abs().max() > LARGEST:
        raise ValueError(
            f"scores must lie between −{LARGEST:g} and {LARGEST:g}: got {scores.tolist()}"
        )
    data = {"words": list(words), "scores": rounded(scores), "largest": LARGEST}
    return Interactive("softmax", data, alt=alt, still=drawn(scores, value, labels=words))
