"""The logit lens: what each token of a text would predict if the model stopped after a block."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import DIGITS, Interactive, finite, name_of, rounded

MOST_TOKENS = 12
GUESSES = 3  # of a token at a stage


def lens(
    tokens: Sequence[str],
    logits: Float[Tensor, "stages token vocabulary"],
    *,
    decode: Callable[[int], str],
    alt: str,
) -> Interactive:
    """What each token of a text would predict next if the model stopped after one of its blocks.

    ``logits`` are those after the embedding and after each block. The reader moves from one of
    these stages to the next. For the token that is chosen, the last one at first, bars show the
    probability of its final guess at every stage, or its place among all tokens. ``decode`` gives
    the text of a token of the vocabulary. ``alt`` says what can be seen.

    Raises ``ValueError`` for more than 12 tokens, for less than two stages, if there are not as
    many tokens as the logits have, or if a logit is not finite.
    Source: nostalgebraist 2020,
    https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens.
    """
    stages, length, vocabulary = logits.shape
    if len(tokens) != length or not 1 <= length <= MOST_TOKENS or stages < 2:
        raise ValueError(
            f"needs 1 to {MOST_TOKENS} tokens, with logits at two stages or more: got "
            f"{len(tokens)} tokens and logits of shape {tuple(logits.shape)}"
        )
    (logits,) = finite(logits=logits)
    probabilities = logits.softmax(dim=-1)
    likeliest, guesses = probabilities.topk(min(GUESSES, vocabulary))
    final = logits[-1].argmax(dim=-1).expand(stages, -1).unsqueeze(-1)
    chances = probabilities.gather(-1, final).squeeze(-1)
    places = (logits > logits.gather(-1, final)).sum(dim=-1) + 1
    pieces, numbers = torch.cat([guesses.flatten(), final[0, :, 0]]).unique(return_inverse=True)
    data = {
        "tokens": list(map(name_of, tokens)),
        "pieces": [name_of(decode(piece)) for piece in pieces.tolist()],
        "guesses": numbers[:-length].view(guesses.shape).tolist(),
        "likeliest": rounded(likeliest),
        "final": numbers[-length:].tolist(),
        # what is unlikely is not called impossible
        "chances": rounded(chances.clamp(min=10**-DIGITS)),
        "places": places.tolist(),
        "vocabulary": vocabulary,
    }
    guess = data["pieces"][data["final"][-1]]
    return Interactive("lens", data, alt=alt, still=_still(chances[:, -1], guess))


def _still(chances: Tensor, guess: str) -> Figure:
    """How likely the last token's final guess is after each block."""
    still, axes = style.subplots(wide=True)
    axes.bar(range(-1, len(chances) - 1), chances.tolist(), color=style.WEIGHTS)
    axes.set(ylim=(0, 1), xlabel="after block", ylabel=f"probability of “{guess}”")
    return still
