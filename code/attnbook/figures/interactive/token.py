"""One token on its way through self-attention."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
from jaxtyping import Float
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, finite, rounded

MOST_TOKENS = 6
MOST_FEATURES = 4
LARGEST = 999  # a cell has room for three digits
EXACT = 6  # digits: products of these numbers are shown with two


def token(
    x: Float[Tensor, "tokens d_model"],
    W_Q: Float[Tensor, "d_model d_k"],
    W_K: Float[Tensor, "d_model d_k"],
    W_V: Float[Tensor, "d_model d_v"],
    *,
    tokens: Sequence[str],
    follow: int = 1,
    alt: str,
) -> Interactive:
    """Self-attention of one token in seven steps, with every number, and how it is computed.

    The steps are x → q, k, v → scores → ÷ √d_k → softmax → mix → output. The query q = x W_Q of
    the followed token meets the key of each token; softmax((q · k) / √d_k) weighs the values.

    ``x`` has a row for each of ``tokens``, 2 to 6 of them. It and the projections have 1 to 4
    features. ``follow`` is the token that is followed first, counted from 0; the reader can choose
    another. ``alt`` says what can be seen.

    Raises ``ValueError`` if the sizes do not match or are larger than that, if there is no such
    token to follow, if a number is not finite, or if a number of any step is too large for its cell
    (above 999).
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2.1.
    """
    tensors = {"x": x, "W_Q": W_Q, "W_K": W_K, "W_V": W_V}
    _demand_sizes(tokens, **tensors)
    if not 0 <= follow < len(tokens):
        raise ValueError(f"follow must be from 0 to {len(tokens) - 1}: got {follow}")
    numbers = finite(**tensors)
    data = {name: rounded(tensor, EXACT) for name, tensor in zip(tensors, numbers, strict=True)}
    steps = _attend(*numbers)
    largest = max(tensor.abs().max().item() for tensor in [*numbers, *steps.values()])
    if largest > LARGEST:
        raise ValueError(f"only numbers up to {LARGEST} fit into the cells: got {largest:g}")
    still = _still(tokens, follow, steps)
    data |= {"tokens": list(tokens), "follow": follow}
    return Interactive("token", data, alt=alt, still=still)


def _demand_sizes(tokens: Sequence[str], x: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor) -> None:
    shapes = [tuple(tensor.shape) for tensor in (x, W_Q, W_K, W_V)]
    match = (
        all(len(shape) == 2 for shape in shapes)
        and len(x) == len(tokens)
        and W_Q.shape == W_K.shape
        and len(W_Q) == len(W_V) == x.shape[1]
    )
    if not match:
        raise ValueError(
            "needs x of shape (tokens, d_model), W_Q and W_K (d_model, d_k), W_V (d_model, d_v): "
            f"got {len(tokens)} tokens and {', '.join(map(str, shapes))}"
        )
    features = x.shape[1], W_K.shape[1], W_V.shape[1]
    if not 2 <= len(tokens) <= MOST_TOKENS or not all(1 <= d <= MOST_FEATURES for d in features):
        raise ValueError(
            f"needs 2 to {MOST_TOKENS} tokens, and d_model, d_k and d_v from 1 to {MOST_FEATURES}: "
            f"got {len(tokens)} tokens and {features}"
        )


def _attend(x: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor) -> dict[str, Tensor]:
    """All numbers on the way of all tokens."""
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    scores = q @ k.mT
    scaled = scores / math.sqrt(k.shape[-1])
    weights = scaled.softmax(dim=-1)
    output = weights @ v
    return {
        "x": x,
        "q": q,
        "k": k,
        "v": v,
        "scores": scores,
        "scaled": scaled,
        "weights": weights,
        "output": output,
    }


def _still(tokens: Sequence[str], i: int, steps: dict[str, Tensor]) -> plt.Figure:
    """All steps of token i: its query above the keys, its output below the values."""
    n, d_k = steps["k"].shape
    still, axes = style.subplots()
    still.set_size_inches(6.4, 0.3 * (n + 3))
    axes.axis("off")
    blocks = (
        ("x", steps["x"], style.BLACK),
        ("keys", steps["k"], style.KEY),
        ("q · k", steps["scores"][i, :, None], style.NEUTRAL),
        (f"÷ √{d_k}", steps["scaled"][i, :, None], style.NEUTRAL),
        ("weights", steps["weights"][i, :, None], style.WEIGHTS),
        ("values", steps["v"], style.VALUE),
    )
    left = 0.0
    for name, block, color in blocks:
        features = block.shape[1]
        width = max(features, 1.4)
        axes.text(left + width / 2, -0.6, name, ha="center", color=color)
        _cells(axes, left, 1, block, color, width / features)
        if name == "keys":
            _cells(axes, left, 0, steps["q"][i, None], style.QUERY, width / features)
        if name == "values":
            _cells(axes, left, n + 1, steps["output"][i, None], style.BLACK, width / features)
        left += width + 0.3
    for row, text in enumerate((f"query of {tokens[i]}", *tokens, f"output of {tokens[i]}")):
        axes.text(-0.2, row + 0.5, text.replace("$", r"\$"), ha="right", va="center")
    axes.set(xlim=(-3.5, left), ylim=(n + 2, -1))
    return still


def _cells(
    axes: plt.Axes, left: float, top: int, numbers: Tensor, color: str, width: float
) -> None:
    """A matrix as cells with their numbers, its first at (left, top)."""
    for i, row in enumerate(numbers.tolist()):
        for j, number in enumerate(row):
            x, y = left + j * width, top + i
            axes.add_patch(Rectangle((x, y), width, 1, fill=False, edgecolor=color))
            text = f"{number:.0f}" if number % 1 == 0 else f"{number:.2f}"
            axes.text(x + width / 2, y + 0.5, text, ha="center", va="center", fontsize=9)
