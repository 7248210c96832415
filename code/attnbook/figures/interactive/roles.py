"""A word that asks, with all three projections and without some of them, side by side."""

from collections.abc import Sequence

from jaxtyping import Int
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive

MOST_WORDS = 6
MOST_FEATURES = 6


def roles(
    words: Sequence[str],
    x: Int[Tensor, "word feature"],
    W_Q: Int[Tensor, "feature label"],
    W_K: Int[Tensor, "feature label"],
    W_V: Int[Tensor, "feature hand"],
    *,
    features: Sequence[str],
    labels: Sequence[str],
    hands: Sequence[str],
    asks: str,
    alt: str,
) -> Interactive:
    """A word's weights and what it then carries, in four cases one below the other.

    ``x`` says of each word which of the ``features`` it has. The projections make of it a query
    and a key, whose columns are the ``labels``, and a value, whose columns are the ``hands``. A
    score is the product q·k, softmax makes weights of the scores, and these mix the values. The
    cases are: all three projections; no query (then the key asks); no value (then the word's x is
    handed over, in one sum with the word's own); and none of them. The reader chooses the word
    that asks, at first ``asks``, and the case whose keys and values are shown.

    ``alt`` says what can be seen.

    Raises ``ValueError`` if the sizes do not match, if there are more than 6 words or features, if
    a number is negative, or if no word is called ``asks``.
    """
    sizes = len(words), len(features), len(labels), len(hands)
    wanted = [sizes[:2], sizes[1:3], sizes[1:3], (sizes[1], sizes[3])]
    tensors = {"x": x, "W_Q": W_Q, "W_K": W_K, "W_V": W_V}
    shapes = [tuple(tensor.shape) for tensor in tensors.values()]
    if shapes != wanted or not 1 <= len(words) <= MOST_WORDS or len(features) > MOST_FEATURES:
        raise ValueError(
            f"needs 1 to {MOST_WORDS} words, at most {MOST_FEATURES} features, and x, W_Q, W_K, "
            f"W_V of the shapes {wanted}: got {shapes} for {len(words)} words"
        )
    if (lowest := min(tensor.min().item() for tensor in tensors.values())) < 0:
        raise ValueError(f"all numbers must be 0 or more: got {lowest}")
    if asks not in words:
        raise ValueError(f"the word that asks first must be one of {list(words)}: got {asks!r}")
    row = list(words).index(asks)
    data = {name: tensor.tolist() for name, tensor in tensors.items()}
    data |= {
        "words": list(words),
        "features": list(features),
        "labels": list(labels),
        "hands": list(hands),
        "row": row,
    }
    weights = {
        "all three": (x @ W_Q)[row] @ (x @ W_K).T,
        "no query": (x @ W_K)[row] @ (x @ W_K).T,
        "none": x[row] @ x.T,
    }
    still = _shares({k: s.double().softmax(dim=-1) for k, s in weights.items()}, words, asks)
    return Interactive("roles", data, alt=alt, still=still)


def _shares(weights: dict[str, Tensor], words: Sequence[str], asks: str) -> object:
    """A still picture: one bar of weights for each case, cut into the words that they go to."""
    still, axes = style.subplots(height=2.2)
    for place, shares in enumerate(weights.values()):
        ends = shares.cumsum(dim=0)
        for word, share, end in zip(words, shares.tolist(), ends.tolist(), strict=True):
            left = end - share
            axes.barh(place, share, left=left, color=style.WEIGHTS, edgecolor="white", height=0.6)
            if share > 0.1:
                text = f"{word} {100 * share:.0f} %"
                axes.text(left + share / 2, place, text, ha="center", va="center", color="white",
                          fontsize=9)  # fmt: skip
    axes.set_yticks(range(len(weights)), list(weights))
    axes.set(xlabel=f"weight that “{asks}” gives", xlim=(0, 1))
    axes.invert_yaxis()
    axes.grid(visible=False)
    return still
