"""The book's figures: one look, one colour for each role, legible in light and dark pages.

Figures have a white background of their own, so they stay legible in a dark notebook; the
published page inverts them in its dark mode. Colours are told apart by colour-blind readers
(Okabe and Ito's palette, darkened to a contrast of at least 4.5:1).
"""

import io
from collections.abc import Sequence
from functools import cache
from importlib import resources

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from PIL import Image

from attnbook.palette import LIGHT, PLOTS

QUERY, KEY, VALUE, WEIGHTS = (LIGHT[role] for role in ("query", "key", "value", "weights"))
WORD = LIGHT["word"]
# for what is none of the four
NEUTRAL, OTHER, BLACK, RED = (PLOTS[name] for name in ("neutral", "other", "black", "red"))
FONT = "Inter"  # the pages' sans; the package brings it
_WEIGHT_MAP = LinearSegmentedColormap.from_list("weights", ["#ffffff", WEIGHTS, "#3d0f30"])
# Its beginning, 58 % of the way to WEIGHTS: on all of it black digits have a contrast of 4.5:1, and
# so have the light ones of a dark page, which turns figures over. Half-way to black no digit has.
_NUMBERED_MAP = LinearSegmentedColormap.from_list("numbered", ["#ffffff", "#c58eb6"])


def subplots(
    columns: int = 1, *, height: float = 3.2, wide: bool = False, **options: object
) -> tuple[Figure, object]:
    """A figure in the book's style: 4.8 inches wide, or 6.4 with several panels side by side.

    A ``wide`` one is always 5.7 inches, which is as wide as the page's text, and its letters are a
    little larger. ``height`` is in inches; other options go to ``plt.subplots``. Returns the figure
    and its axes. The width keeps the text legible on a telephone, where the page is 390 pixels
    wide. The style stays in force for what is drawn afterwards. Its letters are the pages'.
    """
    _bring_font()
    plt.style.use("attnbook.figures.book")  # book.mplstyle
    width = 4.8 if columns == 1 else 6.4
    if wide:
        width = 5.7
        plt.rc("font", size=12)
        plt.rc("axes", titlesize=12)
    return plt.subplots(ncols=columns, figsize=(width, height), layout="constrained", **options)


@cache
def _bring_font() -> None:
    """Let matplotlib find the font that the package brings."""
    for weight in ("Regular", "Bold"):
        file = resources.files("attnbook").joinpath(f"figures/fonts/{FONT}-{weight}.ttf")
        with resources.as_file(file) as path:
            font_manager.fontManager.addfont(path)


def heights(runs: int) -> np.ndarray:
    """Heights in a row for each of several runs, between -0.3 and 0.3, so that equal ones show.

    Multiples of the golden ratio fill the row evenly, however many runs there are.
    """
    return 0.6 * ((np.arange(runs) * 0.618) % 1 - 0.5)


def heat_map(axes: Axes, matrix: ArrayLike, *, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Draw weights as a map with a token at each row and column, and the number in each cell.

    White is 0 and the darkest colour is 1. Beyond 12 rows or columns the numbers are
    left out. Raises ``ValueError`` if the labels do not match the matrix.
    """
    matrix = np.asarray(matrix)
    if matrix.shape != (len(rows), len(columns)):
        raise ValueError(
            f"a matrix of shape {matrix.shape} needs that many labels: "
            f"got {len(rows)} rows and {len(columns)} columns"
        )
    numbered = max(matrix.shape) <= 12
    shades = _NUMBERED_MAP if numbered else _WEIGHT_MAP
    axes.imshow(matrix, cmap=shades, vmin=0.0, vmax=1.0)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, top=True, bottom=False, labeltop=True, labelbottom=False)
    if numbered:
        for (i, j), weight in np.ndenumerate(matrix):
            color = BLACK if round(float(weight), 2) else NEUTRAL
            size = "medium" if len(columns) < 8 else 10  # of so many, larger ones would touch
            look = {"ha": "center", "va": "center", "color": color, "fontsize": size}
            axes.text(j, i, f"{weight:.2f}", **look)


def with_fewer_colours(picture: bytes, colours: int) -> bytes:
    """The same PNG on white with at most the given number of colours: a third of the bytes.

    ``colours`` is 1 to 256.
    """
    after = io.BytesIO()
    with Image.open(io.BytesIO(picture)) as before:
        figure = before.convert("RGBA")
    white = Image.new("RGBA", figure.size, "white")
    figure = Image.alpha_composite(white, figure).convert("RGB")
    few = figure.quantize(colours, dither=Image.Dither.NONE)
    few.save(after, "png", optimize=True)
    return after.getvalue()
