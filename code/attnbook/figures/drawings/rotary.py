"""Rotary positions: the hands of several pairs, and the score against the distance."""

import math
from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import number
from attnbook.figures.drawings.svg import INK, LINE, NAME, SMALL, SOFT, Canvas, Drawing, tint
from attnbook.figures.style import KEY, NEUTRAL, QUERY, WEIGHTS
from attnbook.positions import frequencies, rotary

D, PAIRS = 16, 3  # features of the head, and how many of its pairs are used: the fastest
STARTS = 0.9, 2.6, 0.4  # where the hands of the key lie before any rotation, as angles
PLACES = (3, 0), (7, 4), (8, 4)  # of the query and the key in the three rows of dials
FARTHEST = 15  # distance, in the curves
FINE = 8  # points of a smooth curve from one distance to the next
DIAL, ACROSS, DOWN = 30.0, 94.0, 116.0  # the radius, and from one dial to the next
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


def parts_of_score(p: int, r: int) -> Float[Tensor, " pairs"]:
    """What each pair adds to the score of the query at p and the key at r."""
    query, key = _at(p, r)
    return (query * key).view(-1, 2).sum(dim=-1)[:PAIRS]


def _at(p: int, r: int) -> Float[Tensor, "two features"]:
    """The query, rotated to place p, and the key, rotated to place r."""
    return torch.cat([rotary(x[None], start=at) for x, at in zip(hands(), (p, r), strict=True)])


def dials() -> Drawing:
    """Three pairs of a query and a key at three pairs of places, and the curve of their score.

    In the second row both have moved on by four places, in the third the query by one more.
    """
    canvas = Canvas()
    omega = frequencies(D)[:PAIRS].tolist()
    for i, name in enumerate(("fast", "slower", "slower still")):
        canvas.text(i * ACROSS, -70, name, color=INK, bold=True)
        canvas.text(i * ACROSS, -53, f"ω = {omega[i]:.2g}", size=SMALL)
    canvas.text(_total(), -70, "score", color=INK, bold=True)
    notes = (), ("both move", "by 4"), ("only q", "moves")
    for row, (p, r) in enumerate(PLACES):
        same = p - r == PLACES[0][0] - PLACES[0][1]
        _row(canvas, row, p, r, notes[row], WEIGHTS if same else SOFT)
    with canvas.group("curve", -120, len(PLACES) * DOWN - 2):
        _curve(canvas)
    found = [parts_of_score(p, r) for p, r in PLACES]
    said = "; ".join(
        f"with q at {p} and k at {r}, {' + '.join(map(number, parts.tolist()))} = "
        f"{number(parts.sum().item())}"
        for (p, r), parts in zip(PLACES, found, strict=True)
    )
    return canvas.finish(
        "Three dials in each of three rows, each with a hand for the query q and one for the key "
        "k. Each dial adds the cosine of the angle between its hands to the score. The first "
        f"rotates fast and the last one slowly: {said}. Below, a curve of the score against the "
        "distance from 0 to 15 is highest at distance 1. The first two rows are one point of it, "
        "at distance 3, and the last row is the point at distance 4."
    )


def _total() -> float:
    """Where the scores are."""
    return PAIRS * ACROSS - 22


def _row(canvas: Canvas, row: int, p: int, r: int, note: tuple[str, ...], color: str) -> None:
    """The dials of a query at p and a key at r, what each adds, and the sum."""
    with canvas.group(f"q at {p}, k at {r}", 0, row * DOWN):
        lines = f"q at {p}", f"k at {r}"
        for y, line, role in zip((-18, 0), lines, (QUERY, KEY), strict=True):
            canvas.text(-120, y, line, color=role, anchor="start", bold=True)
        for y, words in zip((20, 36), note, strict=False):
            canvas.text(-120, y, words, size=SMALL, anchor="start")
        found = parts_of_score(p, r).tolist()
        for i, (pair, part) in enumerate(
            zip(_at(p, r).view(2, -1, 2).unbind(1), found, strict=False)
        ):
            _dial(canvas, i * ACROSS, pair, color)
            canvas.text(i * ACROSS, DIAL + 26, number(part), color=INK)
            if i:
                canvas.text((i - 0.5) * ACROSS, DIAL + 26, "+")
        canvas.text((PAIRS - 0.55) * ACROSS, DIAL + 26, "=")
        canvas.text(_total(), DIAL + 26, number(sum(found)), size=NAME, bold=True,
                    color=color if color == WEIGHTS else INK)  # fmt: skip


def _dial(canvas: Canvas, x: float, pair: Float[Tensor, "two features"], color: str) -> None:
    """A circle with the hands of a query and a key, and the angle between them."""
    (a, b), (c, d) = pair.tolist()
    wide = 0.62 * DIAL
    to_left = a * d - b * c > 0  # the key lies to the left of the query
    canvas.elements.append(
        f'<circle cx="{_one(x)}" cy="0" r="{_one(DIAL)}" fill="none" stroke="{tint(LINE, 0.6)}"/>'
        f'<path d="M{_one(x)} 0L{_one(x + wide * a)} {_one(-wide * b)}A{_one(wide)} {_one(wide)} '
        f'0 0 {int(not to_left)} {_one(x + wide * c)} {_one(-wide * d)}z" '
        f'fill="{tint(color, 0.3)}"/>'
    )
    canvas.reach(x - DIAL, -DIAL, x + DIAL, DIAL)
    apart = math.acos(max(-1.0, min(1.0, a * c + b * d)))
    aside = max(0.0, 0.45 - apart) / 2 * (1 if to_left else -1)  # room for both letters
    for name, role, (across, up), turn in (("k", KEY, (c, d), aside), ("q", QUERY, (a, b), -aside)):
        _hand(canvas, x, across, up, role)
        angle = math.atan2(up, across) + turn
        at = x + 1.32 * DIAL * math.cos(angle), -1.32 * DIAL * math.sin(angle)
        canvas.text(*at, name, size=SMALL, color=role, bold=True)


def _hand(canvas: Canvas, x: float, across: float, up: float, color: str) -> None:
    """An arrow from the middle of a dial."""
    tip = x + DIAL * across, -DIAL * up
    neck = tip[0] - 9 * across, tip[1] + 9 * up
    canvas.line((x, 0.0), neck, color=color, thick=2.5)
    sides = [(neck[0] + side * up, neck[1] + side * across) for side in (4.5, -4.5)]
    points = "L".join(f"{_one(a)} {_one(b)}" for a, b in (tip, *sides))
    canvas.elements.append(f'<path d="M{points}z" fill="{color}"/>')


def _curve(canvas: Canvas) -> None:
    """The score against the distance, with the points of the three rows."""
    wide, high = 398.0, 76.0
    values = rotated()
    low = min(values)

    def at(distance: float, value: float) -> tuple[float, float]:
        return wide * distance / FARTHEST, high * (PAIRS - value) / (PAIRS - low)

    canvas.text(0, -20, "the score at each distance", color=INK, anchor="start", bold=True)
    canvas.line(at(0.0, 0.0), at(float(FARTHEST), 0.0), color=tint(LINE, 0.6), thick=1)
    canvas.text(wide + 10, at(0.0, 0.0)[1], "0", size=SMALL)
    canvas.line(*map(at, _fine(), values), color=WEIGHTS, thick=2)
    first = PLACES[0][0] - PLACES[0][1]
    for distance in sorted({p - r for p, r in PLACES}):
        color = WEIGHTS if distance == first else INK
        value = values[distance * FINE]
        x, y = at(float(distance), value)
        canvas.elements.append(f'<circle cx="{_one(x)}" cy="{_one(y)}" r="5" fill="{color}"/>')
        canvas.text(x + 10, y + (-7 if distance == first else 15), number(value), color=color,
                    anchor="start", bold=True)  # fmt: skip
    _distances(canvas, wide, high + 16)
    canvas.text(wide / 2, high + 34, "places from k to q", size=SMALL)


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


def _one(value: float) -> str:
    return f"{round(value, 1):g}"
