"""Figures that exercises ask about: panels and curves with letters instead of names.

``unlabelled("2.8")`` draws the figure of an exercise. What it shows is computed when it is drawn.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from torch import Tensor, nn

from attnbook.attention import attention, causal_mask
from attnbook.blocks import FeedForward
from attnbook.encoder import Encoder
from attnbook.figures.style import BLACK, KEY, OTHER, QUERY, VALUE, WEIGHTS, subplots
from attnbook.language_model import LanguageModel
from attnbook.multihead import MultiHeadAttention
from attnbook.positions import rotary, sinusoidal_positions
from attnbook.text_tokenizers import TextTokenizer

SHADES = {  # pale ones for numbers, and two colours for numbers of both signs
    "full": LinearSegmentedColormap.from_list("full", ["#ffffff", WEIGHTS]),
    "pale": LinearSegmentedColormap.from_list("pale", ["#ffffff", "#c58eb6"]),
    "signs": LinearSegmentedColormap.from_list("signs", ["#7fb6d8", "#ffffff", "#e0a076"]),
}


@dataclass
class Maps:
    """Maps by their letters, each with the same rows and columns."""

    maps: dict[str, Tensor]
    rows: list[str]
    columns: list[str]
    shades: str = "full"
    digits: int | None = None  # of the numbers in the cells, if they have numbers
    limit: float | None = None  # the darkest value; if there is none, each map has its own


@dataclass
class Bars:
    """Bars by the letters of their panels, one for each label."""

    bars: dict[str, Tensor]
    labels: list[str]
    ylabel: str


@dataclass
class Curves:
    """Curves by their letters, over the same places."""

    places: list[float]
    curves: dict[str, list[float]]
    xlabel: str
    ylabel: str
    logarithmic: tuple[bool, bool]  # the axes x and y


@dataclass
class Dots:
    """Dots, without letters."""

    xs: Tensor
    ys: Tensor
    xlabel: str
    ylabel: str


@dataclass
class Histogram:
    """How many of some numbers are in each interval, in percent."""

    numbers: Tensor
    edges: list[float]
    xlabel: str


Shown = Maps | Bars | Curves | Dots | Histogram
FIGURES: dict[str, Callable[..., Shown]] = {}


def unlabelled(id: str, *models: object) -> None:
    """Draw the figure of an exercise, which may show pretrained models.

    Raises ``KeyError`` if exercise ``id`` has no such figure.
    """
    _draw(shown(id, *models))


def shown(id: str, *models: object) -> Shown:
    """What the figure of an exercise shows."""
    if id not in FIGURES:
        raise KeyError(f"exercise {id!r} has no figure to read: these have one, {[*FIGURES]}")
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        return FIGURES[id](*models)


def _of(id: str) -> Callable:
    def add(function: Callable[..., Shown]) -> Callable[..., Shown]:
        FIGURES[id] = function
        return function

    return add


def _draw(figure: Shown) -> None:
    match figure:
        case Maps():
            high = 0.6 + 2.45 * len(figure.rows) / len(figure.columns)
            _, panels = subplots(2, nrows=2, height=2 * high, wide=True)
            for axes, letter in zip(panels.flat, figure.maps, strict=True):
                _draw_map(axes, letter, figure)
        case Bars():
            _, panels = subplots(nrows=4, height=5.2, wide=True, sharex=True)
            for axes, (letter, bars) in zip(panels, figure.bars.items(), strict=True):
                axes.bar(range(len(bars)), bars.tolist(), color=WEIGHTS)
                axes.set_title(letter, fontweight="bold")
                axes.grid(axis="x", visible=False)
                axes.set_ylim(0, 1.15 * max(float(all.max()) for all in figure.bars.values()))
            panels[-1].set_xticks(range(len(figure.labels)), figure.labels)
            panels[0].get_figure().supylabel(figure.ylabel, fontsize="medium")
        case Curves():
            _draw_curves(figure)
        case Dots():
            _, axes = subplots(height=3.2, wide=True)
            axes.plot(figure.xs, figure.ys, "o", color=WEIGHTS)
            axes.set(xlabel=figure.xlabel, ylabel=figure.ylabel, yscale="log")
            axes.xaxis.set_major_locator(MaxNLocator(13, steps=[1, 2, 4, 5, 10]))
            axes.grid(which="minor", axis="y", linewidth=0.5)
        case Histogram():
            _, axes = subplots(height=3, wide=True)
            share = torch.full_like(figure.numbers, 100 / len(figure.numbers))
            axes.hist(figure.numbers, figure.edges, weights=share, color=WEIGHTS, edgecolor="white")
            axes.set(xlabel=figure.xlabel, ylabel="scores in %")


def _draw_map(axes: Axes, letter: str, figure: Maps) -> None:
    values = figure.maps[letter]
    most = figure.limit or values.max().item()
    least = 0.0 if figure.limit else min(values.min().item(), most - 0.1)
    if figure.shades == "signs":
        most = values.abs().max().item()
        least = -most
    axes.imshow(values.numpy(), cmap=SHADES[figure.shades], vmin=least, vmax=most)
    axes.set_title(letter, fontweight="bold")
    axes.set_xticks(range(len(figure.columns)), figure.columns)
    axes.set_yticks(range(len(figure.rows)), figure.rows)
    axes.grid(False)
    axes.spines[:].set(visible=True, color="#cccccc")
    axes.tick_params(length=0, top=True, bottom=False, labeltop=True, labelbottom=False)
    if figure.digits is None:
        return
    for i, row in enumerate(values.tolist()):
        for j, value in enumerate(row):
            text = f"{value:z.{figure.digits}f}".replace("-", "−")
            axes.text(j, i, text, ha="center", va="center", color=BLACK, fontsize=10)


def _draw_curves(figure: Curves) -> None:
    _, axes = subplots(height=3.6, wide=True)
    colors = (QUERY, KEY, VALUE, OTHER)
    dashes = ("-", "--", "-.", ":")
    for (letter, curve), color, dash in zip(figure.curves.items(), colors, dashes, strict=True):
        axes.plot(figure.places, curve, dash, color=color)
        look = {"color": color, "fontweight": "bold", "va": "center", "fontsize": 13}
        axes.annotate(
            letter, (figure.places[-1], curve[-1]), (6, 0), textcoords="offset points", **look
        )
    axes.set(xlabel=figure.xlabel, ylabel=figure.ylabel)
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        if figure.logarithmic["xy".index(name)]:
            axes.set(**{f"{name}scale": "log"})
            axis.set_major_locator(LogLocator(numticks=20))
            axis.set_minor_formatter(NullFormatter())


@_of("2.8")
def _four_kinds_of_scores() -> Maps:
    """Scores of queries and keys that are separate, turned, shared, and with one query for all."""
    generator = torch.Generator().manual_seed(2030)
    x = torch.randn(5, 8, generator=generator)
    query, key = torch.randn(2, 8, 4, generator=generator)
    turned = torch.tensor([[0.0, 1, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 1], [0, 0, -1, 0]])
    q = x @ query
    scores = {
        "A": q @ (x @ (0.75 * query + 0.75 * key)).T,
        "B": q @ (q @ turned).T,
        "C": q @ q.T,
        "D": q[:1].expand(5, -1) @ (x @ key).T,
    }
    scores = {letter: found / 8 for letter, found in scores.items()}
    words = [f"{i}" for i in range(1, 6)]
    return Maps(scores, words, words, shades="signs", digits=1)


@_of("3.12")
def _undivided_scores() -> Histogram:
    """Scores of random queries and keys, not divided."""
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 20_000, 300, generator=generator)
    return Histogram((q * k).sum(dim=-1), [*range(-70, 71, 5)], "q · k, not divided")


@_of("4.11")
def _weights_on_a_log_axis() -> Dots:
    """The weights of one query at a temperature of 2.5."""
    generator = torch.Generator().manual_seed(3)
    scores = 4 * torch.randn(14, generator=generator)
    return Dots(scores, (scores / 2.5).softmax(dim=0), "score", "weight")


@_of("5.9")
def _a_word_twice() -> Maps:
    """Weights of layers that get the order in different ways, on a text with one word twice."""
    generator = torch.Generator().manual_seed(1)
    words = ["the", "cat", "saw", "the", "dog"]
    vectors = torch.randn(5, 16, generator=generator)
    x = vectors[[words.index(word) for word in words]]
    q_proj, k_proj = torch.randn(2, 16, 16, generator=generator) / 4
    placed = x + sinusoidal_positions(5, 16)
    weights = {
        "A": _weights(x @ q_proj, x @ k_proj, causal_mask(5)),
        "B": _weights(x @ q_proj, x @ k_proj),
        "C": _weights(placed @ q_proj, x @ k_proj),
        "D": _weights(placed @ q_proj, placed @ k_proj),
    }
    return Maps(weights, words, words, shades="pale", digits=2, limit=1.0)


def _weights(query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
    _, weights = attention(query, key, key, mask, need_weights=True)
    return weights


@_of("6.9")
def _one_word_at_all_places() -> Maps:
    """The scores of one word with itself, which differ only by its places."""
    generator = torch.Generator().manual_seed(2)
    length, features = 16, 16
    x = torch.randn(features, generator=generator).expand(length, features)
    q_proj, k_proj = torch.randn(2, features, features, generator=generator) / 4
    q, k = x @ q_proj, x @ k_proj
    places = torch.arange(length)
    added = x + sinusoidal_positions(length, features)
    scores = {
        "A": (added @ q_proj) @ (added @ k_proj).T,
        "B": q @ k.T - 0.3 * (places[:, None] - places).abs(),
        "C": q @ k.T,
        "D": rotary(q) @ rotary(k).T,
    }
    labels = [f"{i}" if i % 5 == 0 else "" for i in range(length)]
    return Maps(scores, labels, labels)


@_of("7.9")
def _spectrum() -> Dots:
    """The singular values of the matrix that makes the scores of one head."""
    generator = torch.Generator().manual_seed(0)
    q_proj, k_proj = torch.randn(2, 48, 8, generator=generator) / math.sqrt(48)
    sizes = torch.linalg.svdvals(q_proj @ k_proj.T)
    return Dots(torch.arange(1, 49), sizes, "number", "singular value")


@_of("8.8")
def _streams() -> Curves:
    """How large the vectors are after each of 24 blocks, before training."""
    kinds = {"A": "no norm", "B": "no addition", "C": "post-norm", "D": "pre-norm"}
    sizes: dict[str, list[float]] = {}
    for letter, kind in kinds.items():
        torch.manual_seed(0)
        x = torch.randn(4, 16, 64)
        sizes[letter] = [x.std().item()]
        for _ in range(24):
            for part in (
                MultiHeadAttention(d_model=64, num_heads=4),
                FeedForward(d_model=64, d_ff=256),
            ):
                x = _through(part, x, kind)
            sizes[letter].append(x.std().item())
    return Curves([*range(25)], sizes, "blocks", "size of the features", (False, True))


def _through(part: nn.Module, x: Tensor, kind: str) -> Tensor:
    """A sub-layer with what is around it."""
    read = F.layer_norm(x, x.shape[-1:]) if kind == "pre-norm" else x
    update = part(read)[0] if isinstance(part, MultiHeadAttention) else part(read)
    x = update if kind == "no addition" else x + update
    return F.layer_norm(x, x.shape[-1:]) if kind == "post-norm" else x


@_of("10.11")
def _operations() -> Curves:
    """Operations of four layers, for texts of many lengths."""
    lengths = [2**n for n in range(3, 15)]
    d, wide, window = 64, 1024, 1024
    each = {
        "A": lambda n: 8 * n * d**2 + 4 * n**2 * d,  # with the projections
        "B": lambda n: 4 * n**2 * wide,  # scores and mixtures
        "C": lambda n: 4 * d * sum(min(m, window) for m in range(1, n + 1)),
        "D": lambda n: 4 * n * d**2,  # linear attention
    }
    counts = {letter: [float(count(n)) for n in lengths] for letter, count in each.items()}
    return Curves([*map(float, lengths)], counts, "tokens", "operations", (True, True))


@_of("11.1")
def _four_heads(model: LanguageModel, tokenizer: TextTokenizer) -> Maps:
    """Where four heads look from the copy of a text of random tokens."""
    length = 6
    generator = torch.Generator().manual_seed(21)
    once = torch.randint(100, len(tokenizer), (1, length), generator=generator)
    _, maps = model(torch.cat([once, once], dim=1), need_weights=True)
    heads = {"A": (17, 4), "B": (16, 0), "C": (8, 1), "D": (7, 1)}  # block, head
    rows = {letter: maps[block, 0, head, length:] for letter, (block, head) in heads.items()}
    names = [*"abcdef"]
    return Maps(rows, names, 2 * names, limit=1.0)


@_of("13.9")
def _one_word_replaced(
    encoder: Encoder,
    tokenizer: TextTokenizer,
    language_model: LanguageModel,
    its_tokenizer: TextTokenizer,
) -> Bars:
    """How much the vector of each word changes if the fourth of seven is replaced."""
    words, place = ["the", "old", "man", "saw", "a", "small", "dog"], 3

    def by_encoder(words: list[str]) -> Tensor:
        return encoder(torch.tensor([tokenizer.encode(" ".join(words))]))[0][0, 1:-1]

    def by_language_model(words: list[str]) -> Tensor:
        return language_model.hidden(torch.tensor([its_tokenizer.encode(" ".join(words))]))[0][0]

    def alone(words: list[str]) -> Tensor:
        return torch.cat([by_encoder([word]) for word in words])

    other = [*words[:place], "heard", *words[place + 1 :]]
    bars = {}
    for letter, read, step in (
        ("A", by_language_model, 1),
        ("B", by_encoder, 1),
        ("C", alone, 1),
        ("D", by_language_model, -1),
    ):
        before, after = (read(text[::step]) for text in (words, other))
        changes = 1 - F.cosine_similarity(before, after, dim=-1)
        bars[letter] = changes.flip(0) if step < 0 else changes
    return Bars(bars, words, "change of the vector")
