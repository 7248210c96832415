"""Tokens in any order, the weights of self-attention, and its outputs."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.attention import attention
from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, finite, rounded


def permutation(
    embeddings: Float[Tensor, "tokens d"],
    *,
    tokens: Sequence[str],
    positions: Float[Tensor, "tokens d"],
    alt: str,
) -> Interactive:
    """Tokens that the reader puts in another order, with a map of weights and the outputs.

    There are no projections: query, key and value are the vectors themselves. Without positions
    each token keeps its weights and its output at every position; with them it does not.

    ``tokens``, 3 to 8 of them, come in this order first; ``embeddings`` has one vector of 2 to 8
    features for each. ``positions`` has one vector for each place; a switch adds it to that of the
    token there. ``alt`` says what can be seen.

    Raises ``ValueError`` if these sizes do not match or a number is not finite.
    Source: Zaheer et al. 2017, https://arxiv.org/abs/1703.06114 (equivariance); Vaswani et al.
    2017, https://arxiv.org/abs/1706.03762, sections 3.2.1 and 3.5.
    """
    shape = tuple(embeddings.shape)
    if (
        len(shape) != 2
        or shape[0] != len(tokens)
        or not 3 <= shape[0] <= 8
        or not 2 <= shape[1] <= 8
        or tuple(positions.shape) != shape
    ):
        raise ValueError(
            "needs 3 to 8 tokens, with embeddings and positions of 2 to 8 features for each: got "
            f"{len(tokens)} tokens, embeddings of shape {shape} and positions of shape "
            f"{tuple(positions.shape)}"
        )
    embeddings, positions = finite(embeddings=embeddings, positions=positions)
    outputs, weights = attention(embeddings, embeddings, embeddings, need_weights=True)
    still, (left, right) = style.subplots(2, height=1 + 0.5 * len(tokens), sharey=True)
    names = [token.replace("$", r"\$") for token in tokens]
    style.heat_map(left, weights, rows=names, columns=names)
    left.set_aspect("auto")
    features = shape[1]
    for i, output in enumerate(outputs.tolist()):
        places = [i + 0.7 * ((f + 0.5) / features - 0.5) for f in range(features)]
        right.barh(places, output, height=0.6 / features, color=style.VALUE)
    right.axvline(0, color=style.NEUTRAL, linewidth=1)
    right.tick_params(labelleft=False)
    right.set_title("output")
    data = {
        "tokens": list(tokens),
        "embeddings": rounded(embeddings),
        "positions": rounded(positions),
    }
    return Interactive("permutation", data, alt=alt, still=still)
