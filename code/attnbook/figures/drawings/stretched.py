"""Rotary positions in a text longer than in training, and what it costs to slow their pairs."""

import itertools
import math
from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.svg import INK, LINE, SOFT, Canvas, Drawing, tint
from attnbook.figures.style import NEUTRAL, RED, WEIGHTS

SLOWED = {
    "untouched": "no pair slowed",
    "interpolation": "all pairs slowed",
    "larger base": "slow ones more",
    "by parts": "slow ones only",
}
ASKED = "near", "names"  # read by the fast pairs, and spoiled by the slow ones
WAVE, HIGH, PITCH = 142.0, 8.0, 24.0  # of a curve its width, its amplitude and the next one's place
ROW = 3 * PITCH + 20
BAR, GAP = 98.0, 8.0  # of a result, and how far it is from the curves
STEP, LEFT = 6.0, 158.0  # where the angle of a step ends, and the names begin, left of the curves

Way = Float[Tensor, " pairs"]


def stretched(
    ways: Mapping[str, Way],
    right: Mapping[str, tuple[float, float]],
    *,
    pairs: Sequence[int],
    trained: int,
    length: int,
) -> Drawing:
    """How a fast, a middle and a slow pair rotate in a long text, and which answers are right.

    ``ways`` has the frequencies of all pairs as trained ("untouched") and slowed in three ways
    ("interpolation", "larger base", "by parts"); ``pairs`` are the three that are drawn. A curve is
    the cosine of a pair's angle at each distance up to ``length`` tokens, and red where no distance
    up to ``trained`` tokens had such an angle. ``right`` says how many questions (in %) about near
    tokens and about names are answered right.
    """
    canvas = Canvas()
    middle = WAVE / 2
    canvas.text(middle, -58, "three pairs, fast to slow", bold=True)
    canvas.text(middle, -36, "red: new angles", color=RED, bold=True)
    canvas.text(-STEP, -36, "a token", color=SOFT, anchor="end")
    canvas.text(WAVE + GAP + BAR / 2, -36, "right", bold=True)
    wide = WAVE * trained / length
    bottom = len(ways) * ROW - 22
    canvas.box(0, -HIGH - 8, wide, bottom + HIGH + 8, fill=tint(LINE, 0.3))
    for row, (name, now) in enumerate(ways.items()):
        color = WEIGHTS if name == "by parts" else INK
        with canvas.group(name, 0, row * ROW):
            canvas.text(-LEFT, 0, name, size=15, color=color, anchor="start", bold=True)
            canvas.text(-LEFT, PITCH - 2, SLOWED[name], color=SOFT, anchor="start")
            for line, pair in enumerate(pairs):
                speeds = ways["untouched"][pair].item(), now[pair].item()
                _pair(canvas, line * PITCH, *speeds, trained, length)
            for line, what, share in zip((0, 2), ASKED, right[name], strict=True):
                _result(canvas, line * PITCH, f"{what} {share:.0f} %", share, color)
    canvas.text(0, bottom + 14, f"{trained} trained", color=SOFT, anchor="start")
    canvas.text(WAVE, bottom + 14, f"{length}", color=SOFT, anchor="end")
    results = "; ".join(
        f"{name} ({SLOWED[name]}): near {near:.0f} %, names {names:.0f} %"
        for name, (near, names) in right.items()
    )
    return canvas.finish(
        f"A fast, a middle and a slow pair as waves over {length} tokens, of which training had "
        f"{trained}, in four ways. Untouched, the slower pairs are red beyond the trained tokens, "
        "because their angles are new. Interpolation removes the red, but also slows the fast "
        "pair. A larger base leaves some red. By parts removes the red and keeps the fast pair. "
        f"Right answers: {results}."
    )


def _new(was: float, now: float, trained: int, length: int) -> list[tuple[float, float]]:
    """The distances, from one to another, whose angles no distance in training had."""
    known = was * trained
    if known >= 2 * math.pi:
        return []
    turns = range(math.ceil((now * length - known) / (2 * math.pi)))
    return [
        ((2 * math.pi * turn + known) / now, min(2 * math.pi * (turn + 1) / now, 1.0 * length))
        for turn in turns
    ]


def _pair(canvas: Canvas, y: float, was: float, now: float, trained: int, length: int) -> None:
    """A curve, red where its angles are new, and at its left how far one token rotates the pair."""
    unit = WAVE / length
    thin = 1.0 if now * length > 20 * math.pi else 1.5
    _wave(canvas, y, now / unit, (0.0, WAVE), NEUTRAL, thin)
    for start, end in _new(was, now, trained, length):
        _wave(canvas, y, now / unit, (unit * start, unit * end), RED, 3.0)
    spoiled = now < 0.5 * was and was * trained >= 2 * math.pi
    canvas.text(-STEP, y, _degrees(now), color=RED if spoiled else SOFT, anchor="end", bold=spoiled)


def _wave(
    canvas: Canvas, y: float, speed: float, part: tuple[float, float], color: str, thick: float
) -> None:
    """A part of a cosine, with a piece for each half of a turn."""
    start, end = part
    crests = (n * math.pi / speed for n in range(math.ceil(end * speed / math.pi)))
    places = [start, *(x for x in crests if start < x < end), end]
    path = ""
    for a, b in itertools.pairwise(places):
        points = []
        for x, ahead in ((a, (b - a) / 3), (b, (a - b) / 3)):  # of both ends, a way along the slope
            height = y - HIGH * math.cos(speed * x)
            points.append((x + ahead, height + HIGH * speed * math.sin(speed * x) * ahead))
        points.append((b, height))
        path += "C" + " ".join(f"{round(x, 1):g} {round(y, 1):g}" for x, y in points)
    first = f"M{round(start, 1):g} {round(y - HIGH * math.cos(speed * start), 1):g}"
    canvas.elements.append(
        f'<path d="{first}{path}" fill="none" stroke="{color}" stroke-width="{thick}"/>'
    )
    canvas.reach(start, y - HIGH, end, y + HIGH)


def _result(canvas: Canvas, y: float, words: str, share: float, color: str) -> None:
    """A bar as long as its share of the right answers, red below half, with the number on it."""
    x = WAVE + GAP
    canvas.box(x, y - 10, BAR, 20, fill=tint(LINE, 0.2), round=3)
    color = RED if share < 50 else color
    canvas.box(x, y - 10, BAR * share / 100, 20, fill=tint(color, 0.3), round=3)
    canvas.text(x + 4, y, words, color=INK, anchor="start", bold=True)


def _degrees(angle: float) -> str:
    return f"{math.degrees(angle):.{0 if angle > 0.17 else 1}f}°"
