"""Rotary positions beside their rivals: the score of a query and a key against the distance."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.svg import INK, LINE, NAME, SMALL, SOFT, Canvas, Drawing, tint
from attnbook.figures.style import NEUTRAL, WEIGHTS
from attnbook.positions import frequencies

D, PAIRS = 16, 3  # features of the head, and how many of its pairs are used: the fastest
STARTS = 0.9, 2.6, 0.4  # where the hands of the key lie before any rotation, as angles
FARTHEST = 15  # distance, in the curves
FINE = 8  # points of a smooth curve from one distance to the next
SLOPE = 0.5  # ALiBi's, as in the laboratory
BIASES = [0.4, 3.0, 1.8, 1.2, 0.8, 0.5, 0.2, 0.0, -0.2, -0.3, -0.4, -0.5, -0.6, -0.7, -0.8, -0.9]
TRAINED, NEW = 15, 31  # places of the query
ROOM, HIGH, ROW = 178.0, 54.0, 84.0  # of a curve its width and height, and the next one's distance


def hands() -> Float[Tensor, "two features"]:
    """A query and a key whose hands lie on each other if the query is one place later."""
    angles = torch.zeros(2, PAIRS, dtype=torch.float64)
    angles[1] = torch.tensor(STARTS)
    angles[0] = angles[1] - frequencies(D)[:PAIRS]
    pairs = torch.stack([angles.cos(), angles.sin()], dim=-1)
    return torch.cat([pairs.flatten(1), torch.zeros(2, D - 2 * PAIRS)], dim=-1)


def _distances(canvas: Canvas, wide: float, y: float) -> None:
    """The numbers below an axis."""
    shown = range(0, FARTHEST + 1, 5)
    canvas.texts([wide * k / FARTHEST for k in shown], y, [str(k) for k in shown], SOFT)
    canvas.reach(-5, y - 8, wide + 8, y + 8)


def _fine() -> list[float]:
    """The distances at which a smooth curve is drawn."""
    return [k / FINE for k in range(FARTHEST * FINE + 1)]


def rotated() -> list[float]:
    """The score of the rotated query and key at each distance: the same at all places."""
    past = torch.tensor(_fine(), dtype=torch.float64)[:, None] - 1
    return (past * frequencies(D)[:PAIRS]).cos().sum(dim=-1).tolist()


def added(p: int) -> list[float]:
    """The score at each distance if sinusoids are added to the same query and key instead."""
    query, key = hands()[:, : 2 * PAIRS]
    angles = (p - torch.tensor(_fine(), dtype=torch.float64))[:, None] * frequencies(D)[:PAIRS]
    marks = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    return ((key + marks) @ (query + marks[0])).tolist()  # the first is the query's own place


def rivals(right: Mapping[str, float]) -> Drawing:
    """How the score of one query and one key depends on their distance, at two places.

    A row for each of four ways to mark positions. ``right`` says how many answers (in %) each way
    gets right at new places, under the names "rotary", "numbers", "ALiBi" and "sinusoids".
    """
    canvas = Canvas()
    steps = [(min(max(k + side, 0.0), float(FARTHEST)), BIASES[k])
             for k in range(FARTHEST + 1) for side in (-0.5, 0.5)]  # fmt: skip
    slope = [(k, -SLOPE * k) for k in (0.0, float(FARTHEST))]
    smooth = list(zip(_fine(), rotated(), strict=True))
    with_marks = [list(zip(_fine(), added(p), strict=True)) for p in (TRAINED, NEW)]
    rows = {
        "rotary": ("rotary", ("rotates q and k,", "pair by pair"), smooth, smooth),
        "numbers": ("like T5", ("adds a number for", "each distance"), steps, steps),
        "ALiBi": ("ALiBi", (f"subtracts {SLOPE:g} for", "each place"), slope, slope),
        "sinusoids": ("sinusoids", ("adds a vector for", "each place"), *with_marks),
    }
    middle = ROOM / 2
    canvas.text(middle, -74, "score at each distance", color=INK, bold=True)
    for y, place in ((-53.0, f"q at {TRAINED} (trained)"), (-35.0, f"q at {NEW} (new)")):
        _stroke(canvas, [(22.0, y), (52.0, y)], NEUTRAL if y == -53 else "")
        canvas.text(60, y, place, size=SMALL, anchor="start")
    for y, words in ((-74, "right at"), (-56, "new places")):
        canvas.text(ROOM + 60, y, words, color=INK, bold=True)
    for row, (name, (title, how, old, new)) in enumerate(rows.items()):
        with canvas.group(name, 0, row * ROW):
            _rival(canvas, title, how, old, new, right[name])
    with canvas.group("axis", 0, len(rows) * ROW - 12):
        _distances(canvas, ROOM, 0.0)
        canvas.text(middle, 18, "places from k to q", size=SMALL)
    found = {name: f"{share:.0f} %" for name, share in right.items()}
    return canvas.finish(
        "The score of one query and one key against their distance from 0 to 15, for a query at "
        f"the trained place {TRAINED} and at the new place {NEW}. With rotary positions it is a "
        "wave, with a number for each distance (like T5) it has steps, and with ALiBi it is a "
        "straight line that falls. These curves are the same at both places, and the designs get "
        f"{found['rotary']}, {found['numbers']} and {found['ALiBi']} right at new places. If "
        "sinusoids are added to the words, the curve at the new place is a different one, and "
        f"{found['sinusoids']} are right."
    )


def _rival(
    canvas: Canvas,
    title: str,
    how: tuple[str, str],
    old: list[tuple[float, float]],
    new: list[tuple[float, float]],
    right: float,
) -> None:
    """A row: what the design does, its curves at a trained and at a new place, and a result."""
    same = old == new
    color = WEIGHTS if same else INK
    canvas.text(-132, 6, title, color=color, size=NAME, anchor="start", bold=True)
    for y, words in zip((27, 44), how, strict=True):
        canvas.text(-132, y, words, size=SMALL, anchor="start")
    values = [value for _, value in old + new]
    low, high = min(values), max(values)

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return ROOM * point[0] / FARTHEST, HIGH * (high - point[1]) / (high - low)

    canvas.line((0, HIGH + 5), (ROOM, HIGH + 5), color=tint(LINE, 0.6), thick=1)
    _stroke(canvas, [*map(at, old)], WEIGHTS if same else NEUTRAL)
    _stroke(canvas, [*map(at, new)])
    canvas.text(ROOM + 60, 16, f"{right:.0f} %", color=color, size=NAME, bold=True)
    canvas.text(ROOM + 60, 37, "same curve" if same else "new curve", size=SMALL)


def _stroke(canvas: Canvas, points: list[tuple[float, float]], color: str = "") -> None:
    """A broad pale line, or without a colour a thin one of dashes."""
    if color:
        canvas.line(*points, color=tint(color, 0.45), thick=7)
    else:
        canvas.line(*points, color=INK, thick=2)
        canvas.elements[-1] = canvas.elements[-1].replace("/>", ' stroke-dasharray="5 4"/>')
