"""All matrices of one head of attention, to scale."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import Matrix
from attnbook.figures.drawings.matrices import matrices
from attnbook.figures.interactive.base import Interactive, finite, rounded
from attnbook.figures.style import KEY, QUERY, VALUE


def shapes(
    x: Float[Tensor, "length d_model"],
    W_Q: Float[Tensor, "d_model d_k"],
    W_K: Float[Tensor, "d_model d_k"],
    W_V: Float[Tensor, "d_model d_v"],
    *,
    tokens: Sequence[str],
    length: int,
    d_k: int,
    entry: tuple[int, int],
    alt: str,
) -> Interactive:
    """All matrices of one head, with a square for each number, from the tokens to the output.

    The reader sets how many tokens and how many features of the head there are, and sees which
    matrices grow: at first the first ``length`` rows of x and the first ``d_k`` columns of the
    projections. If all tokens are there at first, no size can be set. A press on a matrix lights
    its two factors and makes its numbers again. At first, one ``entry`` of the scores is lit. When
    the figure is seen, all numbers are made once: the lit token's row passes over the columns that
    it is multiplied by, and the other rows follow. Squares that are large enough hold their
    numbers. Without scripts, x is beside its queries, keys and values.
    ``alt`` says what can be seen.

    Raises ``ValueError`` if the sizes do not match, or if a number is not finite.
    """
    many, d_model = x.shape
    projections = [tuple(W.shape) for W in (W_Q, W_K, W_V)]
    most = W_Q.shape[1]
    wanted = [(d_model, most), (d_model, most), (d_model, min(most, W_V.shape[-1]))]
    if len(tokens) != many or projections != wanted:
        raise ValueError(
            f"x of shape {tuple(x.shape)} needs {many} tokens and projections of {d_model} rows, "
            "two as wide as each other and a third no wider: got "
            f"{len(tokens)} tokens and {projections}"
        )
    if not (3 <= length <= many and 2 <= d_k <= most and all(0 <= at < length for at in entry)):
        raise ValueError(
            f"length must be from 3 to {many}, d_k from 2 to {most} and the entry one of length × "
            f"length scores: got length {length}, d_k {d_k} and entry {entry}"
        )
    x, W_Q, W_K, W_V = finite(x=x, W_Q=W_Q, W_K=W_K, W_V=W_V)
    made = (("Q", W_Q, QUERY), ("K", W_K, KEY), ("V", W_V, VALUE))
    still = matrices(
        Matrix(x[:length], name="x", rows=tokens[:length], row=entry[0]),
        *(
            Matrix(x[:length] @ W[:, :d_k], name=name, color=color, row=entry[0])
            for name, W, color in made
        ),
    )
    data = {
        "tokens": list(tokens),
        "most": most,
        "first": {"L": length, "d": d_k, "entry": list(entry)},
        **{name: rounded(W) for name, W in (("x", x), ("W_Q", W_Q), ("W_K", W_K), ("W_V", W_V))},
    }
    return Interactive("shapes", data, alt=alt, still=still)
