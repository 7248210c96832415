"""A softmax that is computed block by block."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, finite, rounded

MOST_SCORES = 8
LARGEST = 100  # of scores and values: longer numbers would not fit under their bars


def online_softmax(
    scores: Float[Tensor, " key"], values: Float[Tensor, " key"], *, alt: str
) -> Interactive:
    """One output of attention, Σ softmax(s)ⱼ vⱼ, from one block of scores at a time.

    Bars show the scores with the largest so far m, each e^(s − m), and their sums: the denominator
    ℓ, the numerator a (times the values) and the output a ÷ ℓ. When m grows, the old sums shrink
    before the new terms join them. The reader steps through the blocks, chooses their size (a power
    of two, two scores at first), and may leave the old sums as they are, which gives a wrong
    output. It plays once.

    ``scores`` and ``values`` are 2 to 8 numbers, each of at most 100; ``alt`` says what can be
    seen.

    Raises ``ValueError`` if their numbers do not match or are not within these limits, or if one
    of them is not finite.
    """
    sizes = tuple(scores.shape), tuple(values.shape)
    if scores.ndim != 1 or sizes[0] != sizes[1] or not 2 <= len(scores) <= MOST_SCORES:
        raise ValueError(
            f"needs 2 to {MOST_SCORES} scores, and as many values: got shapes {sizes[0]} and "
            f"{sizes[1]}"
        )
    scores, values = finite(scores=scores, values=values)
    largest = torch.cat([scores, values]).abs().max().item()
    if largest > LARGEST:
        raise ValueError(f"scores and values must lie within ±{LARGEST}: got {largest:g}")

    still, (left, right) = style.subplots(2, height=3.0, sharey=False)
    counts = range(1, len(scores) + 1)
    left.plot(counts, scores, "o", color=style.WEIGHTS, label="score")
    so_far = scores.cummax(dim=0).values
    left.step(counts, so_far, where="post", color=style.BLACK, label="largest so far")
    left.set(xlabel="scores seen", ylabel="score")
    left.legend()
    outputs = [scores[:n].softmax(dim=0) @ values[:n] for n in counts]
    right.plot(counts, outputs, color=style.VALUE)
    right.set(xlabel="scores seen", ylabel="a ÷ ℓ")
    data = {"scores": rounded(scores), "values": rounded(values)}
    return Interactive("online_softmax", data, alt=alt, still=still)
