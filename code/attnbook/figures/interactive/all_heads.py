"""The weights of all heads of a language model on a sentence or two, with a search among them."""

import base64
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.figures.interactive.base import Interactive, finite, still_map

MOST_TOKENS = 24
STEPS = 255  # a weight is stored as a byte


def all_heads(
    *texts: tuple[Sequence[str], Float[Tensor, "blocks heads token token"]],
    link: tuple[int, int],
    alt: str,
) -> Interactive:
    """One head of a causal model with ribbons for its weights; below, every head as a square.

    Each of ``texts`` is its tokens and the weights of all heads on them. The more a head does what
    the reader searches for, the stronger is the colour of its square. Readers search for heads with
    a large weight from one token to another, which at first are the two places in ``link``, or for
    heads that look at the previous token, at the token itself, at the first token, or at all tokens
    evenly. The menus for this are in a fold. The head that is shown first is the strongest. Of a
    text after the first, only the rows from the first different token on are stored, because the
    rows before are the same in a causal model. ``alt`` says what can be seen.

    Raises ``ValueError`` without a text, for texts that do not fit their weights or have more than
    24 tokens, for models of different sizes, for weights on a later token or outside 0 to 1, if an
    equal beginning has different weights, or if there is no such link.
    """
    if not texts:
        raise ValueError("needs at least one text: got none")
    looks, looked_at = link
    shortest = min(len(tokens) for tokens, _ in texts)
    if not 0 <= looked_at <= looks < shortest:
        raise ValueError(
            f"a link must go from a token that all texts have, 0 to {shortest - 1}, to itself or "
            f"to an earlier one: got {link}"
        )
    first_tokens, first = texts[0]
    stored = []
    for tokens, weights in texts:
        _demand_causal(weights, len(tokens))
        if weights.shape[:2] != first.shape[:2]:
            raise ValueError(
                f"all texts need the same blocks and heads: got {tuple(first.shape[:2])} and "
                f"{tuple(weights.shape[:2])}"
            )
        same = 0 if not stored else _common(first_tokens, tokens)
        difference = (weights[..., :same, :same] - first[..., :same, :same]).abs()
        if same and difference.max() > 1 / STEPS:
            raise ValueError(
                f"the first {same} tokens are equal, but their weights differ by "
                f"{difference.max().item():.3g}"
            )
        stored.append({"tokens": list(tokens), "same": same, "rows": _bytes(weights, same)})
    looking = first[:, :, looks, looked_at]
    block, head = divmod(int(looking.argmax()), first.shape[1])
    still = still_map(first[block, head], first_tokens, first_tokens)
    data = {
        "blocks": len(first),
        "heads": first.shape[1],
        "texts": stored,
        "link": list(link),
    }
    return Interactive("all_heads", data, alt=alt, still=still)


def _demand_causal(weights: Tensor, length: int) -> None:
    if weights.ndim != 4 or weights.shape[2:] != (length, length) or not 2 <= length <= MOST_TOKENS:
        raise ValueError(
            f"needs weights (blocks, heads, token, token) of 2 to {MOST_TOKENS} tokens: got "
            f"{tuple(weights.shape)} for {length} tokens"
        )
    finite(weights=weights)
    if weights.min() < 0 or weights.max() > 1 + 1e-5:
        raise ValueError(
            f"weights must be from 0 to 1: got {weights.min().item()} to {weights.max().item()}"
        )
    if weights.triu(diagonal=1).max() > 0:
        raise ValueError("no token may look at a later one: got weights above the diagonal")


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many tokens two texts begin with in common."""
    pairs = list(zip(one, other, strict=False))
    return next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs))


def _bytes(weights: Tensor, first_row: int) -> str:
    """The rows from one on, each up to its diagonal, head after head, as base64."""
    rows, columns = torch.tril_indices(*weights.shape[2:])
    kept = rows >= first_row
    numbers = weights.detach().cpu()[..., rows[kept], columns[kept]]
    levels = (STEPS * numbers).round().clamp(max=STEPS).to(torch.uint8)
    return base64.b64encode(levels.numpy().tobytes()).decode("ascii")
