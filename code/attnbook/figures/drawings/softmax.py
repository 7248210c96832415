"""Softmax, step by step: scores, their exponentials, and shares of one whole."""

import itertools

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import number
from attnbook.figures.drawings.svg import (
    LINE,
    NAME,
    SMALL,
    SOFT,
    TEXT,
    Canvas,
    Drawing,
    text_width,
)
from attnbook.figures.style import KEY, NEUTRAL, VALUE, WEIGHTS

MOST, LARGEST = 3, 5.0  # keys; size of a score
ROW, BAR = 34.0, 20  # height of a key's row and of its bar, in units
SCORES, EXPONENTIALS, WHOLE = 50.0, 60.0, 96.0  # width of the longest bars
GAP, APART = 6, 10  # beside a number; between the columns


def softmax(scores: Float[Tensor, " key"], value: Float[Tensor, " key"]) -> Drawing:
    """Scores as bars, their exponentials, and weights: parts of one bar that is 1 long.

    Below it is the mixture of the values, one number for each key.

    Raises ``ValueError`` if there are none or more than 3 keys, not as many values, if a score is
    below −5 or above 5, or if a number is not finite.
    """
    if scores.ndim != 1 or scores.shape != value.shape or not 1 <= len(scores) <= MOST:
        raise ValueError(
            f"needs 1 to {MOST} keys with a score and a value each: "
            f"got shapes {tuple(scores.shape)} and {tuple(value.shape)}"
        )
    if not ((scores.abs() <= LARGEST).all() and value.isfinite().all()):
        raise ValueError(
            f"scores must lie between −{LARGEST:g} and {LARGEST:g}, and values be finite: "
            f"got {scores.tolist()} and {value.tolist()}"
        )
    exponentials, weights = scores.exp(), scores.softmax(dim=0)
    texts = [_texts(row) for row in (scores, exponentials, weights, value)]
    total = _texts(exponentials.sum()[None])[0]
    (output,) = _texts((weights @ value)[None])
    parts = (f"{w}·({v})" if "−" in v else f"{w}·{v}" for w, v in zip(*texts[2:], strict=True))
    mixture = f"{' + '.join(parts)} = {output}"
    canvas = Canvas()
    middles = [(i + 0.5) * ROW for i in range(len(scores))]
    for i, y in enumerate(middles):
        canvas.text(0, y, f"key {i + 1}", color=KEY, anchor="start")
    room = max(text_width(text, TEXT) for text in texts[0]) + GAP
    end = text_width("key 1", TEXT) + GAP
    end = _bars(canvas, "score s", end + room, middles, scores, texts[0], SCORES)
    start = end + room + APART
    end = _bars(canvas, "e^s", start, middles, exponentials, texts[1], EXPONENTIALS)
    bottom = len(scores) * ROW
    canvas.text(start, bottom + 14, f"sum {total}", anchor="start")
    room = max(text_width(text, TEXT) for text in texts[1]) + GAP
    start = end + room + APART
    _shares(canvas, start, middles, weights, texts[2], bottom)
    canvas.text(0, bottom + 42, f"output  {mixture}", color=VALUE, anchor="start")
    return canvas.finish(
        f"{len(scores)} keys with the scores {', '.join(texts[0])}. Their exponentials are "
        f"{', '.join(texts[1])}, with the sum {total}. Divided by it they are the weights "
        f"{', '.join(texts[2])}, drawn one after the other along a line from 0 to 1. The output is "
        f"{mixture}."
    )


def _bars(
    canvas: Canvas,
    name: str,
    start: float,
    middles: list[float],
    row: Tensor,
    texts: list[str],
    longest: float,
) -> float:
    """Draw a bar for each number, to the left if it is negative, with the number at its end.

    Returns where the column of bars ends.
    """
    least, most = min(0.0, row.min().item()), max(0.0, row.max().item())
    unit = longest / (most - least or 1.0)
    zero = start - least * unit
    canvas.text(start + longest / 2, -14, name, formula=True, size=NAME)
    with canvas.group(name, 0, 0):
        for y, value, text in zip(middles, row.tolist(), texts, strict=True):
            long = value * unit
            canvas.box(zero + min(0.0, long), y - BAR / 2, abs(long), BAR, fill=NEUTRAL)
            side, anchor = (-GAP, "end") if value < 0 else (GAP, "start")
            canvas.text(zero + long + side, y, text, anchor=anchor)
    canvas.line((zero, 0), (zero, middles[-1] + ROW / 2), thick=1)
    return start + longest


def _shares(
    canvas: Canvas,
    start: float,
    middles: list[float],
    weights: Tensor,
    texts: list[str],
    bottom: float,
) -> None:
    """Draw the weights as parts of one bar, each in its row, from where the one above ends."""
    canvas.text(start + WHOLE / 2, -14, "weight w", formula=True, size=NAME)
    canvas.line((start, 0), (start, bottom), thick=1)
    ends = [start, *(start + WHOLE * weights.cumsum(dim=0)).tolist()]
    with canvas.group("weight w", 0, 0):
        for (left, right), y, text in zip(itertools.pairwise(ends), middles, texts, strict=True):
            canvas.box(left, y - BAR / 2, right - left, BAR, fill=WEIGHTS)
            canvas.line((right, y + BAR / 2), (right, bottom), color=LINE, thick=1)
            wide = text_width(text, TEXT) + 2 * GAP
            if right - left > wide:
                canvas.text((left + right) / 2, y, text, color="#ffffff")
            elif left - start > wide:
                canvas.text(left - GAP, y, text, color=WEIGHTS, anchor="end")
            else:
                canvas.text(right + GAP, y, text, color=WEIGHTS, anchor="start")
    canvas.line((start, bottom), (start + WHOLE, bottom), color=SOFT)
    canvas.text(start, bottom + 14, "0", size=SMALL)
    canvas.text(start + WHOLE, bottom + 14, "1", size=SMALL)


def _texts(row: Tensor) -> list[str]:
    """The numbers with as many decimals as they all need, at most two."""
    exact = (d for d in range(2) if torch.allclose(row, row.round(decimals=d), rtol=0, atol=1e-6))
    digits = next(exact, 2)
    return [number(value, digits) for value in row.tolist()]
