"""The path of a fact through a language model, found by swapping one vector after one block."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.figures import drawings
from attnbook.figures.interactive.base import Interactive, finite, name_of, rounded


def path_of_a_fact(
    tokens: Sequence[str],
    chances: Float[Tensor, "swapped block answer"],
    *,
    head: tuple[int, int],
    weight: float,
    moved: float,
    ranks: Sequence[int],
    guesses: Sequence[str],
    answers: tuple[str, str],
    other: str,
) -> Interactive:
    """What a language model answers if one vector, after one block, comes from another text.

    That text has the ``other`` word instead of the last token but one. ``chances`` are those of the
    two ``answers``, the right one and that of the other text, if the vector of the last token but
    one or that of the last one is swapped, after each block. (The tokens before have the same
    vectors in both texts.) Between both, a head (its block, its number) carries the fact: the last
    token gives the last but one this ``weight`` in it, and if its output alone is swapped, the
    other answer has the probability ``moved``. ``ranks`` are the places of the right answer if the
    model stopped after a block, and ``guesses`` the first ones (the logit lens). The reader moves
    from block to block.

    Raises ``ValueError`` if the numbers of blocks differ, if a number is not finite, or for what
    ``drawings.path_of_a_fact`` refuses.
    """
    (chances,) = finite(chances=chances)
    swapped, blocks, _ = chances.shape
    if swapped != 2 or not len(ranks) == len(guesses) == blocks:
        raise ValueError(
            f"needs two swapped tokens, and a rank and a guess after each of {blocks} blocks: got "
            f"{swapped} tokens, {len(ranks)} ranks and {len(guesses)} guesses"
        )
    shares = torch.zeros(len(tokens), blocks, dtype=chances.dtype)
    shares[-2:] = chances[..., 1]
    quarters = {head[0] // 2, head[0] - 1, head[0], blocks - 1}
    still = drawings.path_of_a_fact(
        tokens,
        shares,
        head=head,
        weight=weight,
        moved=moved,
        ranks={block: ranks[block] for block in sorted(quarters)},
        answers=answers,
        other=other,
    )
    data = {
        "tokens": [*tokens],
        "chances": rounded(chances),
        "head": [*head],
        "weight": round(weight, 4),
        "moved": round(moved, 4),
        "ranks": [*ranks],
        "guesses": [name_of(guess) for guess in guesses],
        "answers": [*answers],
        "other": other,
    }
    return Interactive("path_of_a_fact", data, alt=still.alt, still=still)
