"""A word goes upwards through one block, and two parts add to its vector, step by step."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures import drawings
from attnbook.figures.interactive.base import Interactive, finite, rounded


def one_block(
    stages: Float[Tensor, "3 words d"],
    weights: Float[Tensor, "words words"],
    fires: Float[Tensor, "words neurons"],
    *,
    words: Sequence[str],
    asks: Sequence[int],
    features: Sequence[str],
    questions: Sequence[str],
) -> Interactive:
    """The vectors of words as bars that grow: as they come in, after attention, and at the end.

    The reader steps, and chooses one of the words whose places are ``asks``; it plays once, when it
    is seen. ``stages`` are the vectors before, between and after, ``weights`` those of attention,
    and ``fires`` the sums of the neurons, whose ``questions`` are answered with yes where a sum is
    above 0. Without scripts, the first of the words stands still, as ``drawings.one_block`` draws
    it.

    Raises ``ValueError`` if there is not a question for each neuron, if a number is not finite, or
    if a bar of any word would have to shrink; and where the drawing does.
    """
    if len(questions) != fires.shape[1]:
        raise ValueError(f"{fires.shape[1]} neurons need a question each: got {len(questions)}")
    stages, weights, fires = finite(stages=stages, weights=weights, fires=fires)
    for word in asks:
        if (lowest := min(stages[0, word].min(), stages[:, word].diff(dim=0).min()).item()) < 0:
            raise ValueError(f"no bar may shrink or begin below 0: got {lowest} for {words[word]}")
    first = asks[0]
    asked = questions[int(fires[first].argmax())]
    still = drawings.one_block(stages[:, first], weights[first], words=words, word=first,
                               features=features, fires=asked)  # fmt: skip
    data = {
        "words": list(words),
        "asks": list(asks),
        "features": list(features),
        "questions": list(questions),
        "stages": rounded(stages),
        "weights": rounded(weights),
        "fires": rounded(fires),
    }
    return Interactive("one_block", data, alt=still.alt, still=still)
