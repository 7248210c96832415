"""A word that asks with its query, the keys that answer, and the values that come back."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
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
    """A word's query, the keys and values of all words, its weights, and what it then carries.

    ``x`` says of each word which of the ``features`` it has. The projections make of it a query
    and a key, whose columns are the ``labels``, and a value, whose columns are the ``hands``. A
    score is the product q·k, softmax makes weights of the scores, and these mix the values. The
    reader chooses the word that asks, at first ``asks``, and may take away the query (then the key
    asks), the value (then the word's x is handed over, in one sum with the word's own), or all
    three projections.

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
    still = _still(data, x @ W_K, x @ W_V, (x @ W_Q)[row])
    return Interactive("roles", data, alt=alt, still=still)


def _still(data: dict, keys: Tensor, values: Tensor, query: Tensor) -> plt.Figure:
    """A still picture with all three projections: a query, the keys, the weights, the values."""
    words, asks = data["words"], data["row"]
    weights = (keys @ query).double().softmax(dim=-1)
    still, axes = style.subplots(height=2.9)
    axes.set(xlim=(-2.3, len(words) - 0.4), ylim=(6.6, -0.5))
    axes.axis("off")

    def write(column: float | int, line: float | int, text: str, color: str, **options: Any) -> Any:
        options = {"ha": "center", "va": "center", "fontsize": 9} | options
        return axes.text(column, line, text.replace("$", r"\$"), color=color, **options)

    wish = [f"{name} {n}" for name, n in zip(data["labels"], query.tolist(), strict=True) if n]
    word = words[asks]
    for line, name, job, color in (
        (1, "query", f"what “{word}” looks for", style.QUERY),
        (3, "key", "what a word is found by", style.KEY),
        (4, "weight", "how well they fit", style.WEIGHTS),
        (5, "value", "what a word hands over", style.VALUE),
        (6.2, "output", f"what “{word}” takes in", style.VALUE),
    ):
        write(-2.3, line - 0.17, name, color, ha="left", weight="bold")
        write(-2.3, line + 0.22, job, style.NEUTRAL, ha="left", fontsize=8)
    write(asks, 1, " · ".join(wish) or "nothing", style.QUERY)
    mixture = zip(data["hands"], (weights @ values.double()).tolist(), strict=True)
    write(asks, 6.2, " · ".join(f"{name} {n:.1f}" for name, n in mixture), style.VALUE)
    lines = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
    for j, share in enumerate(weights.tolist()):
        write(j, 0, words[j], style.QUERY if j == asks else style.BLACK, weight="bold")
        for ends, color, width in (
            (((j, 2.65), (asks, 1.35)), style.QUERY, 0.8),
            (((asks, 5.85), (j, 5.35)), style.WEIGHTS, 0.8 + 4 * share),
        ):
            axes.annotate("", *ends, arrowprops=lines | {"color": color, "linewidth": width})
        for line, names, row, color in (
            (3, data["labels"], keys[j], style.KEY),
            (5, data["hands"], values[j], style.VALUE),
        ):
            has = [name for name, n in zip(names, row.tolist(), strict=True) if n]
            write(j, line, ", ".join(has) or "–", color)
        write(j, 4, f"{100 * share:.0f} %", style.WEIGHTS, weight="bold")
    return still
