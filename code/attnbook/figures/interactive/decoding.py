"""A translation that is followed token by token."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.figures.interactive.base import DIGITS, Interactive, finite, rounded, still_map


def decoding(
    weights: Float[Tensor, "step source"],
    *,
    source: Sequence[str],
    written: Sequence[str],
    likeliest: Sequence[Sequence[tuple[str, float]]],
    alt: str,
) -> Interactive:
    """A translation token by token: where the model looks, and what it could have written instead.

    ``weights`` are those of cross-attention: row t is where the model looks while it writes token
    t of ``written``, on the tokens of ``source``. ``likeliest`` has for each step as many tokens
    and their probabilities; the first, which is the likeliest, is written. ``alt`` says what can
    be seen.

    Raises ``ValueError`` if the numbers of tokens and steps do not match, if a token is not the
    likeliest one, or if a number is not finite.
    """
    sizes = len(written), len(source)
    if not all(sizes) or weights.shape != sizes or len(likeliest) != sizes[0]:
        raise ValueError(
            f"{sizes[0]} written tokens and {sizes[1]} of the source need as many rows and "
            f"columns of weights, and a list of likely tokens for each written one: got "
            f"weights of shape {tuple(weights.shape)} and {len(likeliest)} lists"
        )
    for token, [(first, _), *_] in zip(written, likeliest, strict=True):
        if token != first:
            raise ValueError(f"the likeliest token is written: got {token!r}, not {first!r}")
    chances = [chance for step in likeliest for _, chance in step]
    weights, _ = finite(weights=weights, likeliest=torch.tensor(chances))
    still = still_map(weights, written, source)
    data = {
        "source": list(source),
        "written": list(written),
        "weights": rounded(weights),
        "likeliest": [
            [[token, round(chance, DIGITS)] for token, chance in step] for step in likeliest
        ],
    }
    return Interactive("decoding", data, alt=alt, still=still)
