"""Words of a sentence that ask each other: a question to change, all at once, or one worked out."""

from collections.abc import Mapping, Sequence
from typing import Literal

from jaxtyping import Int
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, still_map

MOST_WORDS = 6
FEATURES = 3  # as many as fit into a line


def asking(
    words: Mapping[str, str],
    *,
    features: Sequence[str],
    queries: Int[Tensor, "word feature"],
    keys: Int[Tensor, "word feature"],
    hands: Sequence[str],
    values: Int[Tensor, "word hand"],
    asks: str,
    alt: str,
    view: Literal["query", "ribbons", "row"],
) -> Interactive:
    """Words that ask each other; one of them is shown with its weights.

    ``words`` are the words and the question that each asks. ``features``, three, name the columns
    of ``queries`` and ``keys``, and ``hands`` those of ``values``. A fit is the product q·k,
    softmax makes weights of the fits, and these mix the values. ``asks`` is the word that is shown
    first. In the view ``"query"``, three steps lead to what this word takes in, and the reader
    shares the points of its query out among the features. In the other views the reader chooses
    the word. ``"ribbons"`` shows the weights of all words as curves, and ``"row"`` works out one
    word, with the tables of all words behind a fold.
    ``alt`` says what can be seen.

    Raises ``ValueError`` if the sizes do not match, if there are more than 6 words or not three
    features, if a number is negative, or if no word is called ``asks``.
    """
    names = list(words)
    shapes = [tuple(each.shape) for each in (queries, keys, values)]
    wanted = [(len(names), len(features)), (len(names), len(features)), (len(names), len(hands))]
    if shapes != wanted or not 1 <= len(names) <= MOST_WORDS:
        raise ValueError(
            f"needs 1 to {MOST_WORDS} words with queries, keys and values of the shapes {wanted}: "
            f"got {shapes} for {len(names)} words"
        )
    if len(features) != FEATURES:
        raise ValueError(f"a query must have {FEATURES} features: got {len(features)}")
    if (lowest := min(each.min().item() for each in (queries, keys, values))) < 0:
        raise ValueError(f"all numbers must be 0 or more: got {lowest}")
    if asks not in names:
        raise ValueError(f"the word that asks first must be one of {names}: got {asks!r}")
    row = names.index(asks)
    weights = (queries @ keys.mT).double().softmax(dim=-1)
    data = {
        "words": names,
        "voices": list(words.values()),
        "features": list(features),
        "queries": queries.tolist(),
        "keys": keys.tolist(),
        "hands": list(hands),
        "values": values.tolist(),
        "row": row,
        "view": view,
    }
    if view == "ribbons":
        still = still_map(weights, names, names)
    else:
        still = _bars(weights[row], names, asks)
    return Interactive("asking", data, alt=alt, still=still)


def _bars(weights: Tensor, words: list[str], asks: str) -> object:
    """A still picture of one word's weights."""
    still, axes = style.subplots(height=2.2)
    axes.bar(words, weights.tolist(), color=style.WEIGHTS, width=0.5)
    for place, weight in enumerate(weights.tolist()):
        axes.text(place, weight + 0.02, f"{100 * weight:.0f} %", ha="center")
    axes.set(ylabel=f"weight that “{asks}” gives", ylim=(0, 1.1))
    axes.grid(visible=False, axis="x")
    return still
