"""One word in two texts that differ only after it: what a model can know of the difference."""

from collections.abc import Sequence
from typing import NamedTuple

from attnbook.figures.drawings.svg import LINE, SMALL, SOFT, Canvas, Drawing, fitted, tint
from attnbook.figures.style import QUERY, WEIGHTS

MOST_WORDS = 5
CELL, BOX = 84.0, 26.0  # of a word: its room, and how high its box is
PANEL = 178.0  # how high a panel is
WORDS, ARCS = 68.0, 34.0  # of a panel: the top of its boxes, and of its lowest arc
LEAST, THICK = 0.005, 9  # smaller weights are not drawn; how much thicker a weight of 1 is


class Reading(NamedTuple):
    """How a model reads: whom the word looks at, and how alike it is in the two texts."""

    title: str
    weights: Sequence[float]
    cosine: float


def both_ways(
    words: Sequence[str], other: str, *, asks: int, readings: Sequence[Reading]
) -> Drawing:
    """Draw, for each reading, the words that the word ``asks`` looks at, by their weights.

    The other text ends with the word ``other`` instead of the last one. Raises ``ValueError`` if
    there are not 3 to 5 words, if no word has the number ``asks``, or for more or fewer weights.
    """
    count = len(words)
    if not 3 <= count <= MOST_WORDS:
        raise ValueError(f"3 to {MOST_WORDS} words: got {count}")
    if not 0 <= asks < count - 1:
        raise ValueError(f"a word before the last, 0 to {count - 2}, asks: got {asks}")
    canvas, said = Canvas(), []
    for i, (title, weights, cosine) in enumerate(readings):
        if len(weights) != count:
            raise ValueError(f"{title}: got {len(weights)} weights for {count} words")
        _panel(canvas, i * PANEL, [*words, other], asks, readings[i])
        looks = [f"{w} {x:.2f}" for w, x in zip(words, weights, strict=True) if x >= LEAST]
        said.append(f"{title}: {words[asks]} looks at {', '.join(looks)}; cosine {cosine:.2f}.")
    texts = f"{' '.join(words)}, and {' '.join([*words[:-1], other])}"
    return canvas.finish(f"The word {words[asks]} in two texts: {texts}. {' '.join(said)}")


def _panel(canvas: Canvas, top: float, words: Sequence[str], asks: int, reading: Reading) -> None:
    *words, other = words
    middles = [(j + 0.5) * CELL for j in range(len(words))]
    canvas.text(0, top + 8, reading.title, color=QUERY, anchor="start", bold=True)
    for j, (word, middle) in enumerate(zip(words, middles, strict=True)):
        unread = reading.weights[j] < LEAST
        _box(canvas, middle, top + WORDS, word, asks=j == asks, pale=unread)
        if j != asks and not unread:
            # arcs of words that are farther away are higher, and end side by side
            high = top + ARCS - 9 * (abs(j - asks) - 1)
            end = middles[asks] + 9 * (j - asks)
            path = (middle, top + WORDS), (middle, high), (end, high), (end, top + WORDS - 8)
            canvas.line(*path, color=WEIGHTS, thick=round(1.5 + THICK * reading.weights[j], 1))
            canvas.arrow((end, top + WORDS - 9), (end, top + WORDS), color=WEIGHTS)
            side, edge = ("end", -8) if j < asks else ("start", 6)
            number = f"{reading.weights[j]:.2f}"
            place = middle + edge, top + WORDS - 10
            canvas.text(*place, number, size=SMALL, color=WEIGHTS, anchor=side)
    unread = reading.weights[-1] < LEAST
    _box(canvas, middles[-1], top + WORDS + BOX + 16, other, asks=False, pale=unread)
    canvas.text(middles[-1], top + WORDS + BOX + 8, "or", size=SMALL, color=SOFT)
    same = reading.cosine > 0.9995
    verdict = "exactly the same vector" if same else "a different vector in each"
    below = top + WORDS + BOX + 30
    canvas.text(0, below, f"“{words[asks]}” in both texts:", size=SMALL, anchor="start")
    answer = f"{verdict} (cosine {reading.cosine:.2f})"
    canvas.text(0, below + 17, answer, size=SMALL, anchor="start", bold=True)


def _box(canvas: Canvas, middle: float, top: float, word: str, *, asks: bool, pale: bool) -> None:
    width = CELL - 10
    fill, stroke = (tint(QUERY, 0.08), QUERY) if asks else ("none", LINE)
    style = {"fill": fill, "stroke": stroke, "dashes": "3 3" if pale else ""}
    canvas.box(middle - width / 2, top, width, BOX, round=5, **style)
    color = {"color": QUERY} if asks else {"color": SOFT} if pale else {}
    word = fitted(word, width - 4, SMALL + 1)
    canvas.text(middle, top + BOX / 2, word, size=SMALL + 1, bold=asks, **color)
