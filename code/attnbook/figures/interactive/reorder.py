"""Queries, keys and values in another order: which rows and columns move."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.attention import attention
from attnbook.figures.drawings.cells import points
from attnbook.figures.interactive.base import Interactive, finite, rounded, still_maps


def reorder(
    query: Float[Tensor, "asking d_k"],
    key: Float[Tensor, "words d_k"],
    value: Float[Tensor, "words d_v"],
    *,
    words: Sequence[str],
    asks: Sequence[str],
    order: Sequence[int],
) -> Interactive:
    """A map of weights, whose rows follow the queries and whose columns follow the keys.

    Three switches put queries, keys and values into ``order``, and the outputs are computed from
    the weights and the values below them. When the figure is seen, queries move once, then keys
    and values together. ``asks`` are the words whose queries these are: all, or a single one, which
    stays.

    Raises ``ValueError`` if ``asks`` is neither, if the sizes do not match, if ``order`` does not
    list each word once, or if a number is not finite.
    """
    if list(asks) != list(words) and (len(asks) != 1 or asks[0] not in words):
        raise ValueError(f"asks must be all words or one of {[*words]}: got {[*asks]}")
    if not len(query) == len(asks) or not len(key) == len(value) == len(words):
        raise ValueError(
            f"needs a query for each of {len(asks)} and a key and a value for each of {len(words)} "
            f"words: got {len(query)} queries, {len(key)} keys and {len(value)} values"
        )
    if sorted(order) != [*range(len(words))]:
        raise ValueError(f"order must list each of {len(words)} words once: got {list(order)}")
    query, key, value = finite(query=query, key=key, value=value)
    outputs, weights = attention(query, key, value, need_weights=True)
    data = {
        "words": list(words),
        "asks": [words.index(word) for word in asks],
        "order": list(order),
        "query": rounded(query),
        "key": rounded(key),
        "value": rounded(value),
    }
    gives = [
        f"“{word}” gives "
        + ", ".join(f"{share:.2f} to {other}" for other, share in zip(words, row, strict=True))
        + f", and gets {output}"
        for word, row, output in zip(asks, weights.tolist(), points(outputs), strict=True)
    ]
    same = (
        "each word has the same output" if len(asks) > 1 else f"the output of {asks[0]} is the same"
    )
    alt = (
        f"A map of weights. {'. '.join(gives)}. In the order {' '.join(words[i] for i in order)}, "
        f"the weights move with the words, and {same}."
    )
    orders = [*range(len(words))], [*order]
    maps = []
    for listed in orders:
        rows = listed if len(asks) > 1 else [0]
        names = [words[j] for j in listed]
        maps.append((weights[rows][:, listed], [asks[i] for i in rows], names, " ".join(names)))
    return Interactive("reorder", data, alt=alt, still=still_maps(*maps))
