"""Layer norm as what happens to the features of a token on a line."""

import itertools
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import number
from attnbook.figures.drawings.svg import INK, SMALL, TEXT, Canvas, Drawing, text_width, tint
from attnbook.figures.style import NEUTRAL, OTHER

LONG, ROW = 224, 76  # of a line of numbers, and from one to the next
LEAST = 20  # units: a token that would be squeezed to less is enlarged
STEPS = ("x", "x − μ", "(x − μ) / σ")
DOTS = ((OTHER, 4.5), (NEUTRAL, 8.0))  # of each token; where both meet, both are seen


@dataclass(frozen=True)
class _Normed:
    """A token, its mean and spread, and its features as they are, centred and divided."""

    mean: float
    spread: float
    rows: list[list[float]]

    def texts(self, row: int) -> list[str]:
        return [_text(value) for value in self.rows[row]]

    def says(self, row: int) -> str:
        return ", ".join(self.texts(row))

    def does(self, row: int) -> str:
        return (f"− μ = {_text(self.mean)}", f"÷ σ = {_text(self.spread)}")[row]


def layer_norm(*tokens: Float[Tensor, " d"]) -> Drawing:
    """One token or two on lines of numbers: as they are, centred, and divided by their spread.

    All lines have one scale, but the last is enlarged where its numbers would be one dot.

    Raises ``ValueError`` if there are not one or two tokens, or the features of one are all equal
    or not finite.
    """
    if not 1 <= len(tokens) <= len(DOTS):
        raise ValueError(f"there must be 1 or {len(DOTS)} tokens: got {len(tokens)}")
    found = []
    for token in tokens:
        mean, spread = token.mean(), token.std(correction=0)
        if not (spread > 0 and spread.isfinite()):
            raise ValueError(f"features must be finite and different: got {token.tolist()}")
        steps = (token, token - mean, (token - mean) / spread)
        found.append(_Normed(mean.item(), spread.item(), [step.tolist() for step in steps]))
    canvas = Canvas()
    enlarged = _draw(canvas, found)
    says = [
        f"The token ({one.says(0)}) has the mean {_text(one.mean)}. "
        f"Centred, it is ({one.says(1)}). "
        f"Divided by its spread, {_text(one.spread)}, it is ({one.says(2)})."
        for one in found
    ]
    same = len(found) == 2 and found[0].says(2) == found[1].says(2)
    says += ["Both end at the same places."] * same + ["The last line is enlarged."] * enlarged
    return canvas.finish(" ".join(["Layer norm on lines of numbers.", *says]))


def _text(value: float) -> str:
    return number(value, 1).removesuffix(".0")


def _draw(canvas: Canvas, found: list[_Normed]) -> bool:
    """Draw the lines, and say whether the last is enlarged."""
    plain = [value for one in found for row in one.rows[:2] for value in row] + [0.0]
    last = max(abs(value) for one in found for value in one.rows[2])
    unit = LONG / (max(plain) - min(plain))
    zero = -min(plain) * unit
    enlarged = 2 * last * unit < LEAST
    units = [unit, unit, min(zero, LONG - zero) / last if enlarged else unit]
    places = [[[zero + units[row] * value for value in one.rows[row]] for row in range(3)]
              for one in found]  # fmt: skip
    for one, (color, _) in zip(places, DOTS, strict=False):
        for row in (0, 1):
            for start, end in zip(one[row], one[row + 1], strict=True):
                ends = (start, row * ROW), (end, (row + 1) * ROW)
                canvas.line(*ends, color=tint(color, 0.5), thick=1)
    for row, step in enumerate(STEPS):
        y = float(row * ROW)
        canvas.line((-8, y), (LONG + 8, y), thick=1)
        canvas.line((zero, y - 6), (zero, y + 6))
        canvas.text(-24, y, step, formula=True, size=TEXT, color=INK, anchor="end")
        if enlarged and row == 2:
            canvas.text(-24, y + 18, "enlarged", anchor="end", size=SMALL)
        if row == 0 and len(found) == 1:  # there is room below
            canvas.text(zero, y + 16, "0", size=SMALL, halo=True)
        for i, one in reversed([*enumerate(found)]):
            above = i == 0 and (row < 2 or len(found) == 2)
            _dots(canvas, places[i][row], y, one.texts(row), DOTS[i], above=above)
            if row < 2:
                between = y + ROW / 2 + 20 * i - 10 * (len(found) - 1)
                canvas.text(LONG + 20, between, one.does(row), anchor="start", color=DOTS[i][0])
    return enlarged


def _dots(
    canvas: Canvas,
    places: list[float],
    y: float,
    texts: list[str],
    look: tuple[str, float],
    *,
    above: bool,
) -> None:
    """Draw a token's features with a number at each, or all in one text where they are crowded."""
    color, radius = look
    for x in places:
        canvas.disc(x, y, radius, fill=color)
    ordered = sorted(zip(places, texts, strict=True))
    crowded = any(
        b - a < text_width(before + after, SMALL) / 2 + 4
        for (a, before), (b, after) in itertools.pairwise(ordered)
    )
    labels = ordered
    if crowded:
        text = ", ".join(texts)
        half = text_width(text, SMALL) / 2
        middle = (min(places) + max(places)) / 2
        labels = [(min(max(middle, half - 8), LONG + 8 - half), text)]
    side = -18 if above else 20
    for x, text in labels:
        canvas.text(x, y + side, text, size=SMALL, color=color, bold=True, halo=True)
