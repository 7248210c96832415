"""Five ways to mark a position."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import Matrix, number
from attnbook.figures.drawings.svg import INK, NAME, SMALL, SOFT, TEXT, Canvas, Drawing, tint
from attnbook.figures.style import NEUTRAL, OTHER, RED
from attnbook.positions import sinusoidal_positions

ROW = 16.0  # height of a position in the five pictures
WIDE = 98.0  # of a picture's cells
LENGTHS = 5, 8  # the sentences of "share"
POSITIONS = 8
STEP = 3  # the first of the two positions that are framed
VERDICTS = {
    "number": "grows",
    "share": "stretches",
    "one-hot": "isolates",
    "binary": "jumps",
    "waves": "glides",
}
APART = WIDE + 36, POSITIONS * ROW + 88  # from one picture to the next, across and downwards


def five_marks() -> Drawing:
    """Five ways to mark the positions 0 to 7 by vectors, each with a word about what is wrong.

    The number, the share of the length, a feature for each position, binary digits, and waves: the
    first six of 32 sinusoids. A row is a position, and the step from 3 to 4 is framed.
    """
    canvas = Canvas()
    position = torch.arange(POSITIONS)
    binary = position[:, None] // torch.tensor([4, 2, 1]) % 2
    waves = sinusoidal_positions(POSITIONS, 32)[:, :6]
    shares = [(position[:n] / (n - 1)).tolist() for n in LENGTHS]

    with canvas.group("number", *_corner(0)):
        _bars(canvas, 0.0, position.float().tolist(), WIDE / (POSITIONS - 1))
        canvas.line((WIDE / 7, 0), (WIDE / 7, POSITIONS * ROW), color=INK, thick=1)
        canvas.texts([0, WIDE / 7, WIDE], -12, ["0", "1", "7"], SOFT)
    with canvas.group("share", *_corner(1)):
        for place, (n, share) in enumerate(zip(LENGTHS, shares, strict=True)):
            x, long = place * (WIDE / 2 + 4), WIDE / 2 - 4
            _bars(canvas, x, share, long)
            canvas.line((x + long, 0), (x + long, n * ROW), color=INK, thick=1)
            canvas.text(x + long / 2, -12, f"{n} words", size=SMALL, color=SOFT)
    _shades(canvas, 2, "one-hot", torch.eye(POSITIONS), NEUTRAL)
    _shades(canvas, 3, "binary", binary.float(), NEUTRAL, ["4", "2", "1"])
    _shades(canvas, 4, "waves", (waves + 1) / 2, OTHER, ["fast", "", "", "", "", "slow"])
    for place, (name, verdict) in enumerate(VERDICTS.items()):
        _around(canvas, place, name, verdict)
    x, y = _corner(5)
    for line, text in enumerate(("A row is a position.", "A column is a feature:",
                                 "the darker, the larger.", "", "Framed is the step",
                                 f"from {STEP} to {STEP + 1}.")):  # fmt: skip
        canvas.text(x - 14, y + 20 + 18 * line, text, size=SMALL, color=SOFT, anchor="start")
    rows = Matrix(waves, name="waves").numbers()
    near = "; ".join(f"position {p} ({', '.join(rows[p])})" for p in (STEP, STEP + 1))
    digits = ["".join(map(str, row)) for row in binary[STEP : STEP + 2].tolist()]
    steps = [number(1 / (n - 1)) for n in LENGTHS]
    return canvas.finish(
        f"Five ways to mark the positions 0 to {POSITIONS - 1}. The number grows: its bars get "
        f"longer and longer. The share of the length stretches: a step is {steps[0]} in a sentence "
        f"of {LENGTHS[0]} words and {steps[1]} in one of {LENGTHS[1]}. One-hot isolates: each "
        f"position has a feature of its own. Binary jumps: {STEP} is {digits[0]} and {STEP + 1} is "
        f"{digits[1]}. Waves glide: {near}."
    )


def _corner(place: int) -> tuple[float, float]:
    """Where the cells of a picture begin: three in a line."""
    return place % 3 * APART[0], place // 3 * APART[1]


def _around(canvas: Canvas, place: int, name: str, verdict: str) -> None:
    """Title, numbers of the positions, the frame around a step, and below the verdict."""
    x, y = _corner(place)
    canvas.text(x + WIDE / 2, y - 34, name, size=NAME, color=INK, bold=True)
    for p in range(POSITIONS):
        canvas.text(x - 14, y + (p + 0.5) * ROW, str(p), size=SMALL, color=SOFT)
    canvas.box(x - 22, y + STEP * ROW - 1, WIDE + 26, 2 * ROW + 2, stroke=INK, round=4)
    canvas.text(x + WIDE / 2, y + POSITIONS * ROW + 16, verdict, size=TEXT, bold=True,
                color=OTHER if name == "waves" else RED)  # fmt: skip


def _bars(canvas: Canvas, x: float, values: Sequence[float], unit: float) -> None:
    """A bar in each row."""
    for p, value in enumerate(values):
        if value:
            canvas.box(x, (p + 0.5) * ROW - 5, value * unit, 10, fill=tint(NEUTRAL, 0.5))


def _shades(
    canvas: Canvas,
    place: int,
    name: str,
    shares: Float[Tensor, "positions features"],
    color: str,
    heads: Sequence[str] = (),
) -> None:
    """A cell for each position and feature, from white for 0 to dark for 1."""
    wide = min(WIDE / shares.shape[1], 24.0)
    left = (WIDE - wide * shares.shape[1]) / 2
    with canvas.group(name, *_corner(place)):
        places: dict[str, list] = {}
        for p, row in enumerate(shares.tolist()):
            for j, share in enumerate(row):
                fill = tint(color, 0.06 + 0.7 * round(share, 2))
                places.setdefault(fill, []).append((left + j * wide, p * ROW))
        canvas.cells(places, wide, ROW)
        for j in range(1, shares.shape[1]):
            canvas.line((left + j * wide, 0), (left + j * wide, POSITIONS * ROW), color="#ffffff",
                        thick=1)  # fmt: skip
        for j, head in enumerate(heads):
            if head:
                canvas.text(left + (j + 0.5) * wide, -12, head, size=SMALL, color=SOFT)
