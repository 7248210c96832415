"""What enters attention: a word's vector and a position's, added; five ways to mark a position."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import Matrix, Scale, first_that_fits, number
from attnbook.figures.drawings.draw_matrix import draw_matrix, head_room, label_width
from attnbook.figures.drawings.svg import INK, NAME, SMALL, SOFT, TEXT, Canvas, Drawing, tint
from attnbook.figures.style import NEUTRAL, OTHER, RED
from attnbook.positions import sinusoidal_positions

BETWEEN = 10  # two matrices, besides the name of the lower one
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


def word_plus_position(
    words: Float[Tensor, "length d"],
    positions: Float[Tensor, "length d"],
    *,
    tokens: Sequence[str],
) -> Drawing:
    """Word vectors, under them those of their positions, and under both their sum.

    Each token is a row, each feature a column, so that every number stands under what it is the sum
    of. Positions are counted from 0. If a token comes twice, its rows are in front of the others
    (those of the first such token), and beside them stands whether they are the same or different.

    Raises ``ValueError`` if the two have different shapes, if there are not as many tokens as rows,
    if one drawing is too narrow for them, or if a number is not finite.
    """
    if words.shape != positions.shape:
        shapes = f"{tuple(words.shape)} and {tuple(positions.shape)}"
        raise ValueError(f"each word needs a position of as many features: got shapes {shapes}")
    places = [f"position {p}" for p in range(len(positions))]
    parts = _with_equal_decimals(
        Matrix(words, name="word", rows=tokens),
        Matrix(positions, name="position", color=OTHER, rows=places),
        Matrix(words + positions, name="sum", rows=tokens),
        strong=_places_of_a_token_that_returns(tokens),
    )
    labels = max(label_width(part, Scale(28, 28, True)) for part in parts)

    def draw(canvas: Canvas, scale: Scale) -> None:
        y = 0.0
        for part, sign in zip(parts, ("", "+", "="), strict=True):
            y += head_room(part, scale)
            draw_matrix(canvas, 0, y, part, scale)
            height = scale.size(part)[1]
            if sign:
                canvas.text(-labels - 14, y + height / 2, sign, size=NAME, color=INK)
            if sign != "+":
                _compare(canvas, y, part, scale)
            y += height + BETWEEN

    return first_that_fits(draw, parts).finish(_said(parts, tokens))


def _said(parts: Sequence[Matrix], tokens: Sequence[str]) -> str:
    """Word plus position in words."""
    word, position, both = parts
    rows = [
        f"{token} ({', '.join(w)}) plus {place} ({', '.join(p)}) is ({', '.join(s)})"
        for token, place, w, p, s in zip(
            tokens, position.rows, *(part.numbers() for part in parts), strict=True
        )
    ]
    alt = f"Word plus position, feature by feature: {'; '.join(rows)}."
    if twice := word.strong:
        alt += (
            f" The word vectors of {tokens[twice[0]]}, at the positions "
            f"{' and '.join(map(str, twice))}, are {_verdict(word)}. "
            f"The sums are {_verdict(both)}."
        )
    return alt


def _places_of_a_token_that_returns(tokens: Sequence[str]) -> list[int]:
    """Where the first token stands that comes more than once; empty if none does."""
    tokens = list(tokens)
    again = next((token for token in tokens if tokens.count(token) > 1), None)
    return [place for place, token in enumerate(tokens) if token == again]


def _with_equal_decimals(*parts: Matrix, strong: Sequence[int]) -> list[Matrix]:
    """The matrices with as many decimals as one of them needs, and with rows in front."""
    decimals = max(part.digits for part in parts)
    return [replace(part, decimals=decimals, strong=strong) for part in parts]


def _verdict(part: Matrix) -> str:
    """Whether all rows in front are the same."""
    first, *others = part.values[list(part.strong)]
    return "the same" if all(torch.equal(first, other) for other in others) else "different"


def _compare(canvas: Canvas, y: float, part: Matrix, scale: Scale) -> None:
    """To the right of a matrix, a bracket around the rows in front says how they compare."""
    places = scale.axes(part)[0].places
    drawn = [y + (places[i] + 0.5) * scale.height for i in part.strong if i in places]
    if len(drawn) < 2:
        return
    right = scale.size(part)[0] + 6
    top, *between, bottom = drawn
    canvas.line((right, top), (right + 10, top), (right + 10, bottom), (right, bottom), color=INK)
    for middle in between:
        canvas.line((right, middle), (right + 10, middle), color=INK)
    canvas.text(right + 17, (top + bottom) / 2, _verdict(part), bold=True, anchor="start")


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
