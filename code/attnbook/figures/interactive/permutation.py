"""The same tokens in two orders: the outputs of self-attention, or whom each of them hears."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
from jaxtyping import Float
from torch import Tensor

from attnbook.attention import attention, causal_mask
from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, finite, rounded, still_maps

SAME = 1e-9  # the least change of a number that counts
MOST = 5  # tokens
COLORS = style.OTHER, style.NEUTRAL, style.WORD, style.NEUTRAL  # of the tokens


def permutation(
    embeddings: Float[Tensor, "tokens d"],
    *,
    tokens: Sequence[str],
    positions: Float[Tensor, "tokens d"],
    order: Sequence[int],
    alt: str,
) -> Interactive:
    """Tokens in their order and in the reader's, and lines between the outputs of each token.

    There are no projections: query, key and value are the vectors themselves. Ribbons show the
    weights. Without positions, each token keeps its output at every position, and its line says so;
    with them it does not.

    ``tokens``, 3 to 5 of them, come in this order above, and at first in ``order`` below;
    ``embeddings`` has one vector of 2 to 8 features for each. ``positions`` has one vector for each
    place; a switch adds it to that of the token there. ``alt`` says what can be seen.

    Raises ``ValueError`` if these sizes do not match, if ``order`` does not list each token once,
    or if a number is not finite.
    Source: Zaheer et al. 2017, https://arxiv.org/abs/1703.06114 (equivariance); Vaswani et al.
    2017, https://arxiv.org/abs/1706.03762, sections 3.2.1 and 3.5.
    """
    shape = tuple(embeddings.shape)
    if (
        len(shape) != 2
        or shape[0] != len(tokens)
        or not 3 <= shape[0] <= MOST
        or not 2 <= shape[1] <= 8
        or tuple(positions.shape) != shape
    ):
        raise ValueError(
            f"needs 3 to {MOST} tokens, with embeddings and positions of 2 to 8 features for each: "
            f"got {len(tokens)} tokens, embeddings of shape {shape} and positions of shape "
            f"{tuple(positions.shape)}"
        )
    _check(order, tokens)
    embeddings, positions = finite(embeddings=embeddings, positions=positions)
    outputs, below = (attention(x, x, x)[0] for x in (embeddings, embeddings[[*order]]))
    data = {
        "tokens": list(tokens),
        "embeddings": rounded(embeddings),
        "positions": rounded(positions),
        "order": list(order),
    }
    still = _still(outputs, below, tokens, order)
    return Interactive("permutation", data, alt=alt, still=still)


def heard(tokens: Sequence[str], *, order: Sequence[int]) -> Interactive:
    """Whom each token has heard after one layer with a causal mask, in two orders, step by step.

    Raises ``ValueError`` if there are not 2 to 5 tokens, or if ``order`` does not list each once.
    """
    if not 2 <= len(tokens) <= MOST:
        raise ValueError(f"needs 2 to {MOST} tokens: got {len(tokens)}")
    _check(order, tokens)
    mask = causal_mask(len(tokens)).tril(-1).float()
    maps, said = [], []
    for listed in ([*range(len(tokens))], [*order]):
        names = [tokens[token] for token in listed]
        maps.append((mask, names, names, " ".join(names)))
        hears = (" and ".join(names[:place]) or "nobody" for place in range(len(names)))
        said.append(
            f" In {' '.join(names)}: "
            + "; ".join(f"{n} has heard {who}" for n, who in zip(names, hears, strict=True))
        )
    alt = f"Whom each word has heard.{'.'.join(said)}."
    data = {"tokens": list(tokens), "order": list(order), "heard": True}
    return Interactive("permutation", data, alt=alt, still=still_maps(*maps))


def _check(order: Sequence[int], tokens: Sequence[str]) -> None:
    if sorted(order) != [*range(len(tokens))]:
        raise ValueError(f"order must list each of {len(tokens)} tokens once: got {list(order)}")


def _still(above: Tensor, below: Tensor, tokens: Sequence[str], order: Sequence[int]) -> plt.Figure:
    """A still picture: outputs in two orders, and a line between those of the same token."""
    still, axes = style.subplots(height=3.0)
    axes.set(xlim=(-0.6, len(tokens) - 0.4), ylim=(5.4, -0.4))
    axes.axis("off")
    largest, features = above.abs().max().item(), above.shape[1]
    for outputs, listed, line, name in ((above, range(len(tokens)), 1, 0), (below, order, 4, 5)):
        for place, (token, output) in enumerate(zip(listed, outputs.tolist(), strict=True)):
            axes.text(place, name, tokens[token].replace("$", r"\$"), ha="center", va="center")
            lines = [line + 0.8 * ((f + 0.5) / features - 0.5) for f in range(features)]
            bars = [0.4 * number / largest for number in output]
            color = COLORS[token % len(COLORS)]
            axes.barh(lines, bars, left=place, height=0.7 / features, color=color)
            axes.plot([place, place], [line - 0.42, line + 0.42], color=style.NEUTRAL, linewidth=1)
    kept = (below - above[[*order]]).abs().amax(dim=1) < SAME
    for place, (token, same) in enumerate(zip(order, kept.tolist(), strict=True)):
        color = COLORS[token % len(COLORS)]
        axes.plot([token, place], [1.55, 3.05], color=color)
        text = "the same" if same else "differs"
        axes.text(place, 3.3, text, ha="center", va="center", color=color, fontsize=9)
    return still
