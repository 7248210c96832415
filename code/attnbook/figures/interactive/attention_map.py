"""Weights between tokens, drawn as lines."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.interactive.base import Interactive, finite, rounded, still_map

MOST_TOKENS = 50


def attention_map(
    weights: Float[Tensor, "*blocks_and_heads query key"],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    alt: str,
    start: tuple[int, int] = (0, 0),
    row: int | None = None,
) -> Interactive:
    """Tokens on both sides, joined by lines as thick as their weights.

    ``weights`` are one map, or those of all heads (heads, query, key), or those of all blocks
    (blocks, heads, query, key); among several the reader chooses. ``rows`` are the tokens that
    look, on the left, ``columns`` those that are looked at. ``start`` is the block and the head
    that are shown first, counted from 0; the number of heads stands for the mean of all. ``row`` is
    the token that is chosen first, without it the one with the largest weight. ``alt`` says what
    can be seen.

    Raises ``ValueError`` if tokens and weights do not match, if there are more than 50 tokens on
    a side, if ``weights`` has more than four axes or a number that is not finite, or if there is
    no such start or row.
    """
    if weights.ndim > 4 or weights.shape[-2:] != (len(rows), len(columns)):
        raise ValueError(
            f"needs weights with an entry for each row and column, and at most two axes before: "
            f"got {tuple(weights.shape)} for {len(rows)} rows and {len(columns)} columns"
        )
    if not 1 <= len(rows) <= MOST_TOKENS or not 1 <= len(columns) <= MOST_TOKENS:
        raise ValueError(
            f"needs 1 to {MOST_TOKENS} tokens on each side: got {len(rows)} rows and "
            f"{len(columns)} columns"
        )
    (weights,) = finite(weights=weights)
    while weights.ndim < 4:
        weights = weights.unsqueeze(0)
    blocks, heads = weights.shape[:2]
    block, head = start
    if not 0 <= block < blocks or not 0 <= head <= heads:
        raise ValueError(
            f"{blocks} blocks and {heads} heads have no start {start}, only (0, 0) to "
            f"({blocks - 1}, {heads}), where head {heads} is the mean"
        )
    if row is not None and not 0 <= row < len(rows):
        raise ValueError(f"only {len(rows)} tokens look, so there is no row {row}")
    shown = weights[block].mean(dim=0) if head == heads else weights[block, head]
    still = still_map(shown, rows, columns)
    data = {
        "rows": list(rows),
        "columns": list(columns),
        "weights": rounded(weights),
        "start": [block, head],
        "row": row,
    }
    return Interactive("attention_map", data, alt=alt, still=still)
