"""Two words as arrows, which projections turn into a query and a key."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures import drawings
from attnbook.figures.drawings.cells import number
from attnbook.figures.interactive.base import Interactive, finite, rounded


def turning(
    x: Float[Tensor, "2 2"],
    W_Q: Float[Tensor, "2 2"],
    W_K: Float[Tensor, "2 2"],
    *,
    words: Sequence[str],
) -> Interactive:
    """Two words in a plane, which turn to the query of the first and the key of the second.

    The reader lets ``W_Q`` and ``W_K`` turn one word each, lets ``W_Q`` turn both, or takes the
    words as they are, and sees the dot product as the shadow of one arrow on the other. Both turn
    once by themselves. ``x`` has a row for each of the two ``words``, and all arrows have length 1.

    Raises ``ValueError`` if ``drawings.turning`` cannot draw the words, or if a number is not
    finite.
    """
    x, W_Q, W_K = finite(x=x, W_Q=W_Q, W_K=W_K)
    still = drawings.turning(x, W_Q, W_K, words=words)
    query, key, alone = x[0] @ W_Q, x[1] @ W_K, x[1] @ W_Q
    alt = (
        f"Two arrows of length 1, the words {words[0]} and {words[1]}. Their dot product is "
        f"{number((x[0] @ x[1]).item(), 2)}. W_Q turns {words[0]} to its query, and W_K turns "
        f"{words[1]} to its key, whose dot product is {number((query @ key).item(), 2)}. If W_Q "
        f"turns both words, it is {number((query @ alone).item(), 2)}."
    )
    data = {"x": rounded(x), "W_Q": rounded(W_Q), "W_K": rounded(W_K), "words": list(words)}
    return Interactive("turning", data, alt=alt, still=still)
