"""Words of a sentence that ask each other: a question to drag, or all questions at once."""

from collections.abc import Mapping, Sequence

from jaxtyping import Int
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, still_map

MOST_WORDS = 6
FEATURES = 3  # a triangle has three corners


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
    drag: bool = False,
) -> Interactive:
    """Words that ask each other; one of them is shown with its weights as curves.

    ``words`` are the words and the question that each asks. ``features``, three, name the columns
    of ``queries`` and ``keys``, and ``hands`` those of ``values``. A score is the product q·k,
    softmax makes weights of the scores, and these mix the values. ``asks`` is the word that is
    shown first. With ``drag`` the reader moves this word's query inside a triangle, whose corners
    are the features: its whole numbers keep their sum. Without it the reader chooses the word, and
    the tables of all words stand below. ``alt`` says what can be seen.

    Raises ``ValueError`` if the sizes do not match, if there are more than 6 words or not three
    features, if a number is negative, or if no word is called ``asks``.
    """
    names = list(words)
    shapes = [tuple(each.shape) for each in (queries, keys, values)]
    wanted = [(len(names), len(features)), (len(names), len(features)), (len(names), len(hands))]
    if shapes != wanted or not 1 <= len(names) <= MOST_WORDS:
        raise ValueError(
            f"1 to {MOST_WORDS} words with queries, keys and values of the shapes {wanted}: got "
            f"{shapes} for {len(names)} words"
        )
    if len(features) != FEATURES:
        raise ValueError(f"a query has {FEATURES} features: got {len(features)}")
    if (lowest := min(each.min().item() for each in (queries, keys, values))) < 0:
        raise ValueError(f"all numbers are 0 or more: got {lowest}")
    if asks not in names:
        raise ValueError(f"one of {names} asks first: got {asks!r}")
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
        "drag": drag,
    }
    still = _bars(weights[row], names, asks) if drag else still_map(weights, names, names)
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
