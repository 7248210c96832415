"""Figures to touch: each is one piece of HTML with its data and script, and asks nobody for more.

They look and work the same on the published page, in Colab's output frame, in JupyterLab and in
VS Code, follow the light or dark theme around them, and can be used by keyboard and screen
reader. Where scripts do not run, a still picture with a text stands in their place.

``figures.js`` draws them, with numbers that it computes as PyTorch does.
"""

import base64
import html
import io
import json
import math
import re
from collections.abc import Sequence
from importlib import resources

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.attention import attention
from attnbook.figures import style
from attnbook.positions import sinusoidal_positions

DIGITS = 4  # of the numbers that a figure carries
MOST_TOKENS = 50
MOST_KEYS = 12


class Figure:
    """What the last line of a cell shows; ``kind`` is the element of ``figures.js`` that draws it.

    ``alt`` says in a sentence or two what the figure shows, ``still`` is drawn where scripts do
    not run.
    """

    def __init__(self, kind: str, data: dict, *, alt: str, still: plt.Figure) -> None:
        self.kind, self.data, self.alt = kind, data, alt
        picture = io.BytesIO()
        still.savefig(picture, format="png", dpi=90)
        plt.close(still)
        few = style.with_fewer_colours(picture.getvalue(), 32)
        self._still = base64.b64encode(few).decode("ascii")

    def to_html(self) -> str:
        """The figure as HTML that can stand by itself."""
        # "</" would end the script element
        data = json.dumps(self.data, ensure_ascii=False).replace("</", "<\\/")
        alt = html.escape(self.alt, quote=True)
        return (
            f'<attnbook-{self.kind} label="{alt}">'
            f'<script type="application/json">{data}</script>'
            f'<img alt="{alt}" src="data:image/png;base64,{self._still}">'
            f"</attnbook-{self.kind}>\n<script>{_script()}</script>"
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": self.alt}


_SCRIPT = re.compile(r"(</attnbook-\w+>\n<script>).*(</script>)", re.S)


def renewed(stored: str) -> str:
    """The HTML of a figure that was stored with an earlier script, with the present one."""
    return _SCRIPT.sub(lambda found: f"{found[1]}{_script()}{found[2]}", stored)


def _script() -> str:
    script = resources.files(__name__).joinpath("figures.js").read_text("utf8")
    # without comments and indentation, as a page is to weigh little
    return re.sub(r"(?m)^ *//.*\n|^ +", "", script)


def query(
    keys: Float[Tensor, "key 2"],
    values: Float[Tensor, " key"],
    *,
    query: Sequence[float | int] | Float[Tensor, " 2"],
    labels: Sequence[str],
    alt: str,
) -> Figure:
    """Keys in the plane, and a query that the reader moves among them.

    Every key j gets the score q·kⱼ / (√2 · T), since a key has two features. Softmax of the
    scores gives the weights wⱼ, and the output is Σ wⱼ vⱼ. The reader also sets the temperature
    T, from 0.01 to 100; it is 1 at first.

    Parameters
    ----------
    keys
        The points, 1 to 12 of them.
    values
        The number that each key hands over.
    query
        Where the query is at first.
    labels
        A short name for each key.
    alt
        What can be seen, in a sentence.

    Raises ``ValueError`` if the sizes do not match, if there are more than 12 keys, or if a
    number is not finite.
    """
    query = torch.as_tensor(query, dtype=torch.float64).detach().cpu()
    keys, values = keys.detach().cpu().double(), values.detach().cpu().double()
    count = len(labels)
    if keys.shape != (count, 2) or values.shape != (count,):
        raise ValueError(
            f"{count} labels need keys of shape ({count}, 2) and values of shape "
            f"({count},): got {tuple(keys.shape)} and {tuple(values.shape)}"
        )
    if not 1 <= count <= MOST_KEYS:
        raise ValueError(f"1 to {MOST_KEYS} keys: got {count}")
    if query.shape != (2,):
        raise ValueError(f"a query has two numbers: got shape {tuple(query.shape)}")
    _demand_finite(keys=keys, values=values, query=query)
    step, reach = _grid(max(keys.abs().max().item(), query.abs().max().item()))
    weights = (keys @ query / math.sqrt(2)).softmax(dim=-1)
    still, axes = style.subplots(height=4.2)
    axes.scatter(*keys.T, s=2500 * weights, color=style.WEIGHTS, alpha=0.35)
    axes.plot(*keys.T, "s", color=style.KEY)
    axes.plot(*zip((0, 0), query.tolist(), strict=True), color=style.QUERY)
    axes.plot(*query, "o", color=style.QUERY, markersize=10)
    for label, point, weight in zip(labels, keys, weights, strict=True):
        axes.annotate(
            f"{label} {weight:.2f}",
            point.tolist(),
            xytext=(0, 12),
            textcoords="offset points",
            ha="center",
        )
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.set_title(f"output {weights @ values:.2f}")
    data = {
        "keys": _rounded(keys),
        "values": _rounded(values),
        "query": _rounded(query),
        "labels": list(labels),
        "reach": reach,
        "step": step,
    }
    return Figure("query", data, alt=alt, still=still)


def _demand_finite(**tensors: Tensor) -> None:
    for name, tensor in tensors.items():
        strange = tensor[~tensor.isfinite()]
        if len(strange):
            raise ValueError(f"{name} must be finite: got {strange[0].item()}")


def _grid(largest: float) -> tuple[float | int, float | int]:
    """A round step, and how far the plane reaches: a quarter beyond the largest number."""
    rough = largest / 32 or 0.05
    power = 10 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    reach = step * math.ceil((1.25 * largest or 1.0) / step)
    return round(step, 10), round(reach, 10)


def scale(query: Float[Tensor, "draw d"], key: Float[Tensor, "draw key d"], *, alt: str) -> Figure:
    """The weights of one query as features are added, with and without the division by √d.

    The reader slides d through the powers of two from 2 up to the length of the vectors; d
    means their first d features. Shown with the weights are the largest of them, their
    entropy −Σ wᵢ log wᵢ in nats, and the size of softmax's Jacobian, the root of the sum of its
    squared entries wᵢ ([i = j] − wⱼ).

    Parameters
    ----------
    query, key
        Some draws, among which the reader chooses: in each, one query and its 2 to 12 keys.
    alt
        What can be seen, in a sentence.

    Raises ``ValueError`` if query and key do not match, if there are fewer than 2 features, or
    keys beyond 2 to 12, or if a number is not finite.
    """
    shapes = f"got {tuple(query.shape)} and {tuple(key.shape)}"
    if (
        query.ndim != 2
        or key.ndim != 3
        or (len(key), key.shape[-1]) != query.shape
        or len(query) < 1
    ):
        raise ValueError(f"query of shape (draws, d) and key of shape (draws, keys, d): {shapes}")
    if query.shape[-1] < 2 or not 2 <= key.shape[1] <= MOST_KEYS:
        raise ValueError(f"2 or more features, and 2 to {MOST_KEYS} keys: {shapes}")
    _demand_finite(query=query, key=key)
    query, key = query.detach().cpu().double(), key.detach().cpu().double()
    sizes = [2**n for n in range(1, query.shape[-1].bit_length())]
    partial = (query[:, None] * key).cumsum(dim=-1)  # (draws, keys, d)
    scores = partial[..., [d - 1 for d in sizes]].mT  # (draws, sizes, keys)
    still, panels = style.subplots(2, height=3.0, sharey=True)
    last, names = scores[0, -1], range(1, key.shape[1] + 1)
    for axes, divisor, title, color in (
        (panels[0], 1.0, "undivided", style.NEUTRAL),
        (panels[1], math.sqrt(sizes[-1]), "÷ √d", style.WEIGHTS),
    ):
        weights = (last / divisor).softmax(dim=-1).tolist()
        axes.bar(names, weights, color=color)
        axes.set(title=f"d = {sizes[-1]}, {title}", xlabel="key", ylim=(0, 1))
    panels[0].set_ylabel("weight")
    data = {"sizes": sizes, "scores": _rounded(scores)}
    return Figure("scale", data, alt=alt, still=still)


def attention_map(
    weights: Float[Tensor, "*blocks_and_heads query key"],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    alt: str,
    start: tuple[int, int] = (0, 0),
) -> Figure:
    """Tokens on both sides, joined by lines as thick as their weights.

    Parameters
    ----------
    weights
        One map, (heads, query, key), or (blocks, heads, query, key). With several, the reader
        chooses the block and the head.
    rows, columns
        The tokens that look, on the left, and those that are looked at.
    start
        The block and the head that are shown first, counted from 0; the number of heads stands for
        the mean of all.
    alt
        What can be seen, in a sentence.

    Raises ``ValueError`` if tokens and weights do not match, if there are more than 50 tokens on
    a side, if ``weights`` has more than four axes, or if there is no such start.
    """
    if weights.ndim > 4 or weights.shape[-2:] != (len(rows), len(columns)):
        raise ValueError(
            f"weights of shape {tuple(weights.shape)} need that many tokens, and up "
            f"to two more axes: got {len(rows)} rows and {len(columns)} columns"
        )
    if not 1 <= len(rows) <= MOST_TOKENS or not 1 <= len(columns) <= MOST_TOKENS:
        raise ValueError(
            f"1 to {MOST_TOKENS} tokens on each side: got {len(rows)} rows and "
            f"{len(columns)} columns"
        )
    weights = weights.detach().to("cpu", torch.float64)
    while weights.ndim < 4:
        weights = weights.unsqueeze(0)
    blocks, heads = weights.shape[:2]
    block, head = start
    if not 0 <= block < blocks or not 0 <= head <= heads:
        raise ValueError(
            f"{blocks} blocks and {heads} heads have no start {start}: from (0, 0) "
            f"to ({blocks - 1}, {heads}), which is the mean"
        )
    shown = weights[block]
    still = _heat_map(shown.mean(dim=0) if head == heads else shown[head], rows, columns)
    data = {
        "rows": list(rows),
        "columns": list(columns),
        "weights": _rounded(weights),
        "start": [block, head],
    }
    return Figure("map", data, alt=alt, still=still)


def _heat_map(weights: Tensor, rows: Sequence[str], columns: Sequence[str]) -> plt.Figure:
    cell = 0.45 if len(rows) <= 12 else 0.25  # room for the numbers, if there are any
    still, axes = style.subplots(height=1 + cell * len(rows))
    style.heat_map(axes, weights, rows=list(rows), columns=list(columns))
    axes.tick_params(axis="x", rotation=90)
    return still


def decoding(
    weights: Float[Tensor, "step source"],
    *,
    source: Sequence[str],
    written: Sequence[str],
    likeliest: Sequence[Sequence[tuple[str, float]]],
    alt: str,
) -> Figure:
    """A translation token by token: where each one looks, and what else it could have been.

    Parameters
    ----------
    weights
        Of cross-attention: row t is where the model looks while it writes token t.
    source, written
        The tokens that are read and those that are written.
    likeliest
        For each step, some tokens and their probabilities, the likeliest first.
    alt
        What can be seen, in a sentence.

    Raises ``ValueError`` if the numbers of tokens and steps do not match.
    """
    sizes = len(written), len(source)
    if not all(sizes) or weights.shape != sizes or len(likeliest) != sizes[0]:
        raise ValueError(
            f"{sizes[0]} written tokens and {sizes[1]} of the source need as many rows and "
            f"columns of weights, and a list of the likeliest for each that is written: got "
            f"weights of shape {tuple(weights.shape)} and {len(likeliest)} lists"
        )
    weights = weights.detach().to("cpu", torch.float64)
    still = _heat_map(weights, written, source)
    data = {
        "source": list(source),
        "written": list(written),
        "weights": _rounded(weights),
        "likeliest": [
            [[token, round(chance, DIGITS)] for token, chance in step] for step in likeliest
        ],
    }
    return Figure("decoding", data, alt=alt, still=still)


def permutation(
    embeddings: Float[Tensor, "tokens d"],
    *,
    tokens: Sequence[str],
    positions: Float[Tensor, "tokens d"],
    alt: str,
) -> Figure:
    """Tokens that the reader puts in another order, with what self-attention makes of each.

    There are no maps: query, key and value are the vectors themselves. Without positions each
    token keeps its output wherever it stands; with them it does not.

    Parameters
    ----------
    embeddings
        One vector for each token, of 2 to 8 features.
    tokens
        3 to 8 tokens in the order that comes first.
    positions
        One vector for each place; a switch adds it to that of the token that stands there.
    alt
        What can be seen, in a sentence.

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
            "3 to 8 tokens, with embeddings and positions of 2 to 8 features for each: got "
            f"{len(tokens)} tokens, embeddings of shape {shape} and positions of shape "
            f"{tuple(positions.shape)}"
        )
    embeddings = embeddings.detach().to("cpu", torch.float64)
    positions = positions.detach().to("cpu", torch.float64)
    _demand_finite(embeddings=embeddings, positions=positions)
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
        "embeddings": _rounded(embeddings),
        "positions": _rounded(positions),
    }
    return Figure("permutation", data, alt=alt, still=still)


def waves(*, d_model: int, length: int, alt: str) -> Figure:
    """Sinusoidal positions as clocks, and the dot product of two of them against their distance.

    Parameters
    ----------
    d_model
        The number of features, even, from 2 to 512.
    length
        How many positions and how many offsets there are, 2 to 500, counted from 0.
    alt
        What can be seen, in a sentence.

    Raises ``ValueError`` for other sizes.
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.5.
    """
    if d_model % 2 or not 2 <= d_model <= 512:
        raise ValueError(f"d_model must be even and from 2 to 512: got {d_model}")
    if not 2 <= length <= 500:
        raise ValueError(f"length must be from 2 to 500: got {length}")
    marks = sinusoidal_positions(length, d_model, dtype=torch.float64)
    still, axes = style.subplots(height=2.8)
    axes.plot(range(length), marks @ marks[0], color=style.WEIGHTS)
    axes.set(xlabel="offset k", ylabel="PE(p) · PE(p + k)")
    data = {"d_model": d_model, "length": length}
    return Figure("waves", data, alt=alt, still=still)


def _rounded(values: Tensor) -> list:
    """As nested lists with few digits."""
    nested = values.tolist()

    def shorten(item: list | float) -> list | float:
        if isinstance(item, list):
            return [shorten(part) for part in item]
        return round(item, DIGITS)

    return shorten(nested)
