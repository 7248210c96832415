"""How the next token is drawn: temperature, top-k and top-p, live on a language model's logits."""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, finite, name_of, rounded

STORED = 200  # tokens with their logits
SHOWN = 12
COLDEST, HOTTEST = 0.1, 3.0
ERROR = 1e-3  # of the denominator, from the tokens that are not stored


def sampling(
    prompts: Mapping[str, Float[Tensor, " vocabulary"]], *, decode: Callable[[int], str], alt: str
) -> Interactive:
    """The likeliest next tokens of some prompts; the reader cuts some and draws from the others.

    A mapping gives the logits of each prompt's next token. Sliders set the temperature, top-k and
    top-p, in the order of ``attnbook.language_model.generate``. Bars show the probability of a
    token before the cuts and after them, and a button draws ten tokens with a seeded generator.
    ``decode`` gives the text of a token. ``alt`` says what can be seen.

    Of each prompt, the 200 largest logits are stored one by one, and the others as a histogram. The
    denominator of softmax is right within 0.1 % at temperatures from 0.1 to 3.

    Raises ``ValueError`` without a prompt, for vocabularies of different sizes or of 12 tokens or
    fewer, or if a logit is not finite.
    """
    shapes = {tuple(logits.shape) for logits in prompts.values()}
    sizes = {shape[0] for shape in shapes if len(shape) == 1 and shape[0] > SHOWN}
    if len(shapes) != 1 or not sizes:
        raise ValueError(
            f"needs at least one prompt, with logits of one vocabulary of more than {SHOWN} "
            f"tokens: got {len(prompts)} prompts with logits of the shapes {sorted(shapes)}"
        )
    stored = []
    for prompt, logits in prompts.items():
        (logits,) = finite(logits=logits)
        largest, tokens = logits.sort(descending=True)
        width, counts = _histogram(largest)
        stored.append(
            {
                "prompt": prompt,
                "logits": rounded(largest[:STORED]),
                "pieces": [name_of(decode(token)) for token in tokens[:STORED].tolist()],
                "width": width,
                "counts": counts,
            }
        )
    (vocabulary,) = sizes
    data = {"prompts": stored, "vocabulary": vocabulary, "shown": SHOWN, "hottest": HOTTEST}
    still = _still(stored[0]["pieces"], next(iter(prompts.values())))
    return Interactive("sampling", data, alt=alt, still=still)


def _histogram(largest: Tensor) -> tuple[float, list[int]]:
    """How many of the logits that are not stored are in each bin, and the width of a bin.

    The first bin ends at the smallest logit that is stored.
    """
    rest = largest[STORED:]
    if len(rest) == 0:
        return 1.0, []
    below = largest[STORED - 1] - rest
    temperatures = torch.linspace(COLDEST, HOTTEST, 30, dtype=torch.float64)[:, None]
    width = 1.0
    while True:
        bins = (below / width).long()
        inside = largest[STORED - 1] - (bins + 0.5) * width  # the middle of a logit's bin
        exact, binned = (
            (torch.cat([largest[:STORED], part]) - largest[0]).div(temperatures).exp().sum(dim=-1)
            for part in (rest, inside)
        )
        if (binned / exact - 1).abs().max() < ERROR / 2:  # rounding gets the other half
            return width, bins.bincount().tolist()
        width /= 2


def _still(pieces: list[str], logits: Tensor) -> Figure:
    """The likeliest tokens of the first prompt, with the temperature 1 and nothing cut."""
    probabilities = logits.detach().softmax(dim=-1).sort(descending=True).values[:SHOWN]
    still, axes = style.subplots(wide=True, height=4.0)
    axes.barh(range(SHOWN), probabilities.tolist(), color=style.WEIGHTS)
    axes.set_yticks(range(SHOWN), pieces[:SHOWN])
    axes.invert_yaxis()
    axes.set(xlabel="probability of the next token")
    return still
