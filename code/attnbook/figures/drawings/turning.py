"""Two words as arrows, and how their projections turn them into a query and a key that fits it."""

import math
from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import number
from attnbook.figures.drawings.svg import INK, LINE, NAME, SOFT, Canvas, Drawing, tint
from attnbook.figures.style import KEY, QUERY

LONG = 152.0  # of an arrow of length 1, in units
SECOND = 206.0  # where the second plane begins
ARC = 0.62  # how far from the origin an arrow turns, as a share of its length
BAND, SHADE = 13.0, 0.65  # of the shadow: how wide, and its share of the colour of lines
WIDEST_PAIR = 96.0  # of a name and two numbers, in any font
HEAD = 13.0  # length of the head of an arrow

Point = tuple[float, float]


def turning(
    x: Float[Tensor, "2 2"],
    W_Q: Float[Tensor, "2 2"],
    W_K: Float[Tensor, "2 2"],
    *,
    words: Sequence[str],
) -> Drawing:
    """Two words in a plane, then the query of the first and the key of the second.

    ``x`` has a row for each of the two ``words``: the one that asks, and the one that it should
    find. Below each plane is the dot product of its two arrows. All arrows have length 1, so the
    dot product is the length of the shadow that one casts on the other.

    Raises ``ValueError`` if there are not two words, or if an arrow does not have length 1 or
    points to the left or down.
    """
    asks, found = x
    query, key = asks @ W_Q, found @ W_K
    arrows = [arrow.tolist() for arrow in (asks, found, query, key)]
    if len(words) != 2 or any(abs(math.hypot(*a) - 1) > 1e-3 or min(a) < -1e-6 for a in arrows):
        raise ValueError(
            "needs two words, and arrows of length 1 that point to the right and up: got "
            f"{len(words)} words and {arrows}"
        )
    products = [_product(*arrows[:2]), _product(*arrows[2:])]
    a, b, q, k = ((LONG * right, -LONG * up) for right, up in arrows)
    canvas = Canvas()
    with canvas.group("words", 0, 0):
        _caption(canvas, "two words", f"{words[0]} · {words[1]}", *products[0])
        _shadow(canvas, a, b)
        for tip, word, numbers in ((a, words[0], arrows[0]), (b, words[1], arrows[1])):
            _slanted(canvas, tip, INK)
            _label(canvas, tip, f"{word} {_pair(numbers)}", INK)
    with canvas.group("projected", SECOND, 0):
        _caption(canvas, "query and key", "q · k", *products[1])
        _shadow(canvas, q, k)
        for start, tip, word, name, color in (
            (a, q, words[0], "W_Q", QUERY),
            (b, k, words[1], "W_K", KEY),
        ):
            _slanted(canvas, start, LINE)
            _label(canvas, start, word, SOFT)
            _turn(canvas, start, tip, name, color)
            _slanted(canvas, tip, color)
        for (x, y), name, numbers, color in (
            ((q[0] + 8, q[1] - 2), "q", arrows[2], QUERY),
            ((k[0] + 2, k[1] - 14), "k", arrows[3], KEY),
        ):
            canvas.text(x, y, f"{name} {_pair(numbers)}", color=color, anchor="start", formula=True)
            canvas.reach(x, y, x + WIDEST_PAIR, y)
    return canvas.finish(
        f"Two planes with arrows of length 1. On the left, the words {words[0]} "
        f"{_pair(arrows[0])} and {words[1]} {_pair(arrows[1])}, with the dot product "
        f"{products[0][1]}. On the right, W_Q turns {words[0]} to the query {_pair(arrows[2])}, "
        f"and W_K turns {words[1]} to the key {_pair(arrows[3])}. The query casts a shadow on "
        f"the key, which is as long as their dot product, {products[1][1]}."
    )


def _number(value: float) -> str:
    """With as few decimals as it needs, at most two."""
    return number(value, next((d for d in (0, 1) if abs(value - round(value, d)) < 1e-4), 2))


def _pair(arrow: Sequence[float]) -> str:
    return f"({', '.join(map(_number, arrow))})"


def _product(a: Sequence[float], b: Sequence[float]) -> tuple[str, str]:
    """The dot product as a sum of products, and its value."""
    parts = [f"{_number(x)}·{_number(y)}" for x, y in zip(a, b, strict=True)]
    return " + ".join(parts), _number(sum(x * y for x, y in zip(a, b, strict=True)))


def _caption(canvas: Canvas, title: str, formula: str, parts: str, value: str) -> None:
    """Above a plane what it shows, and below it the dot product of its arrows."""
    canvas.text(0, -LONG - 46, title, size=NAME, color=INK, anchor="start", bold=True)
    canvas.text(0, 46, f"{formula} = {parts}", color=INK, anchor="start", formula=True)
    said = f"= {value}, {'the shadow of q' if float(value) > 0 else 'no shadow'}"
    canvas.text(0, 68, said, color=INK, anchor="start", bold=True)


def _label(canvas: Canvas, tip: Point, text: str, color: str) -> None:
    """Below the tip of an arrow that points to the right; above that of one that points up."""
    x, y = tip
    if x > -y:
        canvas.text(x, y + 16, text, color=color, anchor="end", bold=True)
    else:
        canvas.text(x, y - 14, text, color=color, anchor="start", bold=True)


def _slanted(canvas: Canvas, tip: Point, color: str) -> None:
    """An arrow from the origin."""
    x, y = tip
    far = math.hypot(x, y)
    canvas.line((0, 0), (x * (1 - HEAD / 2 / far), y * (1 - HEAD / 2 / far)), color=color, thick=3)
    _head(canvas, tip, (x / far, y / far), HEAD, color)
    canvas.reach(x - HEAD / 2, y, x + HEAD / 2, y)


def _head(canvas: Canvas, tip: Point, ahead: Point, long: float, color: str) -> None:
    """A triangle that ends at ``tip``; ``ahead`` is its direction, of length 1."""
    (x, y), (dx, dy) = tip, ahead
    back, side = (x - long * dx, y - long * dy), 0.42 * long
    ends = [(back[0] - side * dy, back[1] + side * dx), (back[0] + side * dy, back[1] - side * dx)]
    path = "L".join(f"{px:.1f} {py:.1f}" for px, py in ((x, y), *ends))
    canvas.elements.append(f'<path d="M{path}z" fill="{color}"/>')


def _shadow(canvas: Canvas, a: Point, b: Point) -> None:
    """What falls from the tip of a, at a right angle, on b: a band along b that ends there."""
    far = math.hypot(*b)
    share = (a[0] * b[0] + a[1] * b[1]) / far**2
    if share < 1e-6:
        return
    foot = b[0] * share, b[1] * share
    canvas.line((0, 0), foot, color=tint(LINE, SHADE), thick=BAND)
    canvas.elements.append(
        f'<path d="M{a[0]:.1f} {a[1]:.1f}L{foot[0]:.1f} {foot[1]:.1f}" stroke="{SOFT}" '
        'stroke-width="1.5" stroke-dasharray="4 4"/>'
    )


def _turn(canvas: Canvas, start: Point, end: Point, name: str, color: str) -> None:
    """An arc with a head from one arrow towards another, and beside it the name of a matrix."""
    radius = ARC * LONG
    first, last = (math.atan2(-y, x) for x, y in (start, end))
    way = 1 if last > first else -1
    stop = last - way * 0.03  # before the arrow
    neck = stop - way * 0.08  # the head is straight
    (x, y), (to_x, to_y) = _round(first, radius), _round(neck, radius)
    canvas.elements.append(
        f'<path d="M{x:.1f} {y:.1f}A{radius:.1f} {radius:.1f} 0 0 {int(way < 0)} {to_x:.1f} '
        f'{to_y:.1f}" fill="none" stroke="{color}" stroke-width="2"/>'
    )
    direction = -way * math.sin(stop - way * 0.05), -way * math.cos(stop - way * 0.05)
    _head(canvas, _round(stop, radius), direction, 10.0, color)
    x, y = _round((first + last) / 2, 1.26 * radius)
    canvas.text(x, y, name, color=color, size=NAME, formula=True)


def _round(angle: float, radius: float) -> Point:
    """A point on a circle about the origin."""
    return radius * math.cos(angle), -radius * math.sin(angle)
