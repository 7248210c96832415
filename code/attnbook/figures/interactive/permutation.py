"""Tokens in any order, and what self-attention makes of them."""

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
    """Tokens that the reader puts in another order, with what self-attention makes of each.

    There are no projections: query, key and value are the vectors themselves. Without positions
    each token keeps its output at every position; with them it does not.

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
    outputs, _ = attention(embeddings, embeddings, embeddings)
    still, panels = style.subplots(
        len(tokens), height=1 + 0.25 * shape[1], sharex=True, sharey=True
    )
    for axes, token, output in zip(panels, tokens, outputs, strict=True):
        axes.barh(range(shape[1]), output.tolist(), color=style.VALUE)
        axes.axvline(0, color=style.NEUTRAL, linewidth=1)
        axes.set_title(token.replace("$", r"\$"), loc="center")
        axes.set_yticks([])
    panels[0].invert_yaxis()
    data = {
        "tokens": list(tokens),
        "embeddings": rounded(embeddings),
        "positions": rounded(positions),
    }
    return Interactive("permutation", data, alt=alt, still=still)
