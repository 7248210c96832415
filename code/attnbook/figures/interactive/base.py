"""What all kinds of interactive figures share: their HTML, and checks of the numbers in it."""

import base64
import html
import io
import json
from collections.abc import Sequence

import matplotlib.pyplot as plt
from torch import Tensor

from attnbook import figure_assets
from attnbook.figures import style
from attnbook.figures.drawings.svg import Drawing

DIGITS = 4  # of the numbers that a figure carries
MOST_KEYS = 12
_SCRIPT_START = '\n<script class="attnbook">'


class Interactive:
    """What the last line of a cell shows: a figure that a reader can use.

    ``kind`` is the name of the script beside this module that draws it, ``data`` what this script
    reads, as JSON. ``alt`` says in a sentence or two what the figure shows; ``still`` is the
    picture for places where scripts do not run. Without one, ``alt`` takes its place. A drawing
    says itself what it shows.

    Raises ``ValueError`` if the data has a number that is not finite.
    """

    def __init__(
        self, kind: str, data: dict, *, alt: str, still: plt.Figure | Drawing | None = None
    ) -> None:
        self.kind, self.data, self.alt = kind, data, alt
        self.still_alt = still.alt if isinstance(still, Drawing) else alt
        self._still = _encoded(still) if still else None
        self._json = json.dumps(data, ensure_ascii=False, allow_nan=False)

    def to_html(self) -> str:
        """The figure as HTML that needs nothing else and makes no network request."""
        element = f"attnbook-{self.kind.replace('_', '-')}"
        # "<" in a token could end the script element, or begin another
        data = self._json.replace("<", r"\u003c")
        alt = html.escape(self.alt, quote=True)
        still = f"<p>{alt}</p>"
        if self._still:
            still_alt = html.escape(self.still_alt, quote=True)
            still = f'<img alt="{still_alt}" src="data:image/{self._still}">'
        return (
            f'<{element} label="{alt}"><script type="application/json">{data}</script>'
            f"{still}<p>Run this cell, or allow scripts, to use the figure.</p></{element}>"
            f"{_SCRIPT_START}{figure_assets.script(figure_assets.SHARED)}"
            f"{figure_assets.script_of(self.kind)}</script>"
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": self.alt}


def without_script(figure: str) -> str:
    """The HTML of a figure without its script; other HTML is not changed."""
    return figure.split(_SCRIPT_START)[0]


def _encoded(still: plt.Figure | Drawing) -> str:
    """A drawing as SVG, or a plot as PNG, in base64; the plot is closed."""
    if isinstance(still, Drawing):
        return f"svg+xml;base64,{base64.b64encode(still.svg.encode()).decode('ascii')}"
    picture = io.BytesIO()
    still.savefig(picture, format="png", dpi=90)
    plt.close(still)
    few = style.with_fewer_colours(picture.getvalue(), 32)
    return f"png;base64,{base64.b64encode(few).decode('ascii')}"


def finite(**tensors: Tensor) -> list[Tensor]:
    """The tensors in double precision, on the CPU.

    Raises ``ValueError`` with the name of the first that has a number like NaN.
    """
    for name, tensor in tensors.items():
        unexpected = tensor[~tensor.isfinite()]
        if len(unexpected):
            raise ValueError(f"{name} must be finite: got {unexpected[0].item()}")
    return [tensor.detach().cpu().double() for tensor in tensors.values()]


def rounded(values: Tensor, digits: int = DIGITS) -> list:
    """Numbers as nested lists, with few digits."""

    def shorten(item: list | float) -> list | float:
        if isinstance(item, list):
            return [shorten(part) for part in item]
        return round(item, digits)

    return shorten(values.tolist())


def name_of(piece: str) -> str:
    """A piece of text as a figure shows it: without spaces around it, and never empty."""
    return piece.strip() or ("↵" if "\n" in piece else "␣")


def still_map(weights: Tensor, rows: Sequence[str], columns: Sequence[str]) -> plt.Figure:
    """A still picture of weights: a heat map."""
    cell = 0.45 if len(rows) <= 12 else 0.25  # room for the numbers, if there are any
    still, axes = style.subplots(height=1 + cell * len(rows))
    style.heat_map(axes, weights, rows=list(rows), columns=list(columns))
    axes.tick_params(axis="x", rotation=90)
    return still


def still_maps(*maps: tuple[Tensor, Sequence[str], Sequence[str], str]) -> plt.Figure:
    """A still picture of weights side by side: each with its rows, its columns and its name."""
    still, panels = style.subplots(len(maps), height=1.2 + 0.45 * len(maps[0][1]), wide=True)
    for axes, (weights, rows, columns, name) in zip(panels, maps, strict=True):
        style.heat_map(axes, weights, rows=list(rows), columns=list(columns))
        axes.set_xlabel(name.replace("$", r"\$"))
    return still
