"""How the next token is drawn: temperature, top-k and top-p, live on a language model's logits."""

from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive, finite, name_of, rounded

STORED = 30  # tokens with their logits
SHOWN = 8
HOTTEST = 3.0
TEMPERATURES = torch.tensor([0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, HOTTEST], dtype=torch.float64)
ERROR = 1e-3  # of the denominator, from the tokens that are not stored


def sampling(
    logits: Mapping[tuple[int, ...], Float[Tensor, " vocabulary"]],
    *,
    decode: Callable[[Sequence[int]], str],
    alt: str,
) -> Interactive:
    """The likeliest next tokens of some prompts; the reader cuts some and draws from the others.

    A mapping gives, for the tokens of a text, the logits of its next token. A text that is another
    one and a token more is its continuation, which the reader reaches by drawing this token; the
    others are the prompts. Sliders set the temperature, top-k and top-p, in the order of
    ``attnbook.language_model.generate``. Bars show the probability of a token before the cuts and
    after them. On these bars, random numbers of a seeded generator fall. ``decode`` gives the text
    of tokens. ``alt`` says what can be seen.

    Of each text, the 30 largest logits are stored one by one, and the others as a histogram. The
    denominator of softmax is right within 0.1 % at temperatures from 0.1 to 3.

    Raises ``ValueError`` without a text, for vocabularies of different sizes or of 8 tokens or
    fewer, or if a logit is not finite.
    """
    shapes = {tuple(of_text.shape) for of_text in logits.values()}
    sizes = {shape[0] for shape in shapes if len(shape) == 1 and shape[0] > SHOWN}
    if len(shapes) != 1 or not sizes:
        raise ValueError(
            f"needs at least one text, with logits of one vocabulary of more than {SHOWN} "
            f"tokens: got {len(logits)} texts with logits of the shapes {sorted(shapes)}"
        )
    places = {text: i for i, text in enumerate(logits)}
    pieces: dict[int, int] = {}  # the place of each token among those that are named
    nodes = []
    for text, of_text in logits.items():
        (of_text,) = finite(logits=of_text)
        largest = of_text.topk(min(STORED, len(of_text)))
        tokens = largest.indices.tolist()
        others = torch.ones(len(of_text), dtype=torch.bool)
        others[tokens] = False
        width, counts, means = _histogram(largest.values, of_text[others])
        following = [places.get((*text, token)) for token in tokens]
        while following and following[-1] is None:
            following.pop()
        nodes.append(
            {
                "logits": rounded(largest.values),
                "pieces": [pieces.setdefault(token, len(pieces)) for token in tokens],
                "width": width,
                "counts": counts,
                "means": means,
                "next": following,
            }
        )
    prompts = [text for text in logits if text[:-1] not in places]
    (vocabulary,) = sizes
    data = {
        "prompts": [{"text": decode(text), "node": places[text]} for text in prompts],
        "nodes": nodes,
        "pieces": [decode([token]) for token in pieces],
        "vocabulary": vocabulary,
        "shown": SHOWN,
        "most": STORED,
        "hottest": HOTTEST,
    }
    first = logits[prompts[0]]
    names = [name_of(decode([token])) for token in first.topk(SHOWN).indices.tolist()]
    return Interactive("sampling", data, alt=alt, still=_still(names, first))


def _histogram(stored: Tensor, others: Tensor) -> tuple[float, list[int], list[float]]:
    """The width of bins for the others, how many of them are in each bin, and their mean there.

    Within a bin, the figure takes them for spread evenly about their mean. Empty bins are left out.
    """

    def denominators(logits: Tensor, counts: Tensor | float = 1.0) -> Tensor:
        scaled = (logits - stored[0]) / TEMPERATURES[:, None]
        return (counts * scaled.exp()).sum(dim=-1)

    exact = denominators(stored) + denominators(others)
    width = 4.0
    while True:
        bins = ((stored[-1] - others) / width).long()
        counts = bins.bincount().double()
        means = bins.bincount(weights=others) / counts
        counts, means = counts[counts > 0], means[counts > 0]
        half = width / 2 / TEMPERATURES[:, None]
        found = denominators(stored) + denominators(means, counts * half.sinh() / half)
        if not len(others) or (found / exact - 1).abs().max() < ERROR / 2:  # rounding has the rest
            return width, counts.long().tolist(), rounded(means)
        width /= 2


def _still(pieces: list[str], logits: Tensor) -> Figure:
    """The likeliest tokens of the first prompt, with the temperature 1 and nothing cut."""
    probabilities = logits.detach().softmax(dim=-1).sort(descending=True).values[:SHOWN]
    still, axes = style.subplots(wide=True, height=4.0)
    axes.barh(range(SHOWN), probabilities.tolist(), color=style.WEIGHTS)
    axes.set_yticks(range(SHOWN), pieces)
    axes.invert_yaxis()
    axes.set(xlabel="probability of the next token")
    return still
