"""What all drawings are made of: text, formulas, boxes, lines, and the SVG that holds them."""

import html
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from attnbook.palette import LIGHT, PLOTS

WIDEST = 440  # units; on a telephone that becomes 350 pixels
ON_A_PAGE = 1.15  # pixels for a unit where there is room: text is then as large as the page's
MARGIN = 6

SMALL, TEXT, NAME = 13, 14, 17  # sizes of text, in units; 12.6 are 10 pixels there
INDEX, LEAST = 0.72, 10.2  # of the size of its letter, an index has this share, or these units
INK, SOFT = LIGHT["ink"], LIGHT["soft"]  # text, and text that stands back
LINE = PLOTS["outline"]

_SANS = "Inter,'Helvetica Neue',Arial,sans-serif"  # the page's
_SERIF = "'STIX Two Text','Source Serif 4','Times New Roman',Times,serif"
_NARROW = set(" .,:;|!'iIjl·()[]⋯⋮")
_WIDE = set("mwMW−×÷+=√→⊕%")
_PART = re.compile(r"(?P<shift>[_^])(?P<small>\{[^}]*\}|\w+|\S)|(?P<word>[^\W\d_]+)|(?P<other>.)")
_VARIABLE = re.compile(r"[A-Za-zα-ω]|[A-Z]{2}")  # one letter, or a product like QK


@dataclass(frozen=True)
class Drawing:
    """What the last line of a cell shows: a picture as SVG, and a text that says the same."""

    svg: str
    alt: str

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"image/svg+xml": self.svg, "text/plain": self.alt}


class Canvas:
    """Collects the elements of a drawing, at any coordinates, and how far they reach.

    x grows to the right, y downwards.
    """

    def __init__(self) -> None:
        self.elements: list[str] = []
        self.origin = 0.0, 0.0  # of the group that is being drawn
        self.left = self.top = float("inf")
        self.right = self.bottom = float("-inf")

    @property
    def width(self) -> float:
        return self.right - self.left + 2 * MARGIN

    def reach(self, left: float, top: float, right: float, bottom: float) -> None:
        """Make room for this rectangle."""
        x, y = self.origin
        left, top, right, bottom = left + x, top + y, right + x, bottom + y
        self.left, self.top = min(self.left, left), min(self.top, top)
        self.right, self.bottom = max(self.right, right), max(self.bottom, bottom)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        formula: bool = False,
        size: float = TEXT,
        color: str = INK,
        anchor: str = "middle",
        bold: bool = False,
        upwards: bool = False,
        halo: bool = False,
    ) -> None:
        """Write a line of text that begins, ends or (``anchor``) has its middle at x.

        y is the middle of the line. ``upwards`` turns it about this point, and ``halo`` keeps the
        lines behind it away. In a formula one letter, or two capitals, are variables, ``W_Q`` has
        an index and ``K^T`` an exponent.
        """
        width = formula_width(text, size) if formula else text_width(text, size)
        markup = _set(text, size) if formula else html.escape(text, quote=False)
        base = round(0.35 * size)  # from the middle: a capital is 0.7 of the size high
        style = _text_style(size, color, anchor, bold)
        style += ' stroke="#fff" stroke-width="5" paint-order="stroke"' if halo else ""
        start = {"middle": -width / 2, "start": 0.0, "end": -width}[anchor]
        if upwards:
            place = f'transform="translate({_n(x + base)} {_n(y)})rotate(-90)"'
            self.reach(x - size / 2, y - start - width, x + size / 2, y - start)
        else:
            place = f'x="{_n(x)}" y="{_n(y + base)}"'
            self.reach(x + start, y - 0.6 * size, x + start + width, y + 0.6 * size)
        self.elements.append(f"<text {place}{style}>{markup}</text>")

    def texts(
        self,
        places: Sequence[float],
        y: float,
        texts: Sequence[str],
        color: str,
    ) -> None:
        """Write small texts in one line, each with its middle at a place."""
        parts = [f'<tspan x="{_n(x)}">{html.escape(text, quote=False)}</tspan>'
                 for x, text in zip(places, texts, strict=True)]  # fmt: skip
        style = _text_style(SMALL, color, "middle", False)
        self.elements.append(f'<text y="{round(y + 0.35 * SMALL)}"{style}>{"".join(parts)}</text>')

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str = "none",
        stroke: str = "none",
        thick: float = 1.5,
        round: float = 0,
        dashes: str = "",
    ) -> None:
        """Draw a rectangle from its left upper corner."""
        style = f' fill="{fill}"'
        style += f' stroke="{stroke}"' if stroke != "none" else ""
        style += f' stroke-width="{thick}"' if thick != 1 and stroke != "none" else ""
        style += f' rx="{round}"' if round else ""
        style += f' stroke-dasharray="{dashes}"' if dashes else ""
        self.elements.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"{style}/>'
        )
        self.reach(x, y, x + width, y + height)

    def cells(
        self,
        places: dict[str, list[tuple[float, float]]],
        width: float,
        height: float,
    ) -> None:
        """Fill rectangles of one size: of each colour those with these left upper corners."""
        paths = ""
        for color in sorted(places):
            lines: list[list[float]] = []  # a thick line fills neighbours in a row at once
            for x, y in places[color]:
                if lines and (lines[-1][0] + lines[-1][2], lines[-1][1]) == (x, y):
                    lines[-1][2] += width
                else:
                    lines.append([x, y, width])
                self.reach(x, y, x + width, y + height)
            path = "".join(f"M{_n(x)} {_n(y + height / 2)}h{_n(long)}" for x, y, long in lines)
            paths += f'<path d="{path}" stroke="{color}"/>'
        self.elements.append(f'<g stroke-width="{_n(height)}">{paths}</g>')

    def grid(self, xs: Sequence[float], height: float, ys: Sequence[float], width: float) -> None:
        """Draw thin white lines, upright at xs and across at ys."""
        path = "".join(f"M{_n(x)} 0v{_n(height)}" for x in xs)
        path += "".join(f"M0 {_n(y)}h{_n(width)}" for y in ys)
        self.elements.append(f'<path d="{path}" stroke="#fff"/>')

    def line(self, *points: tuple[float, float], color: str = LINE, thick: float = 1.5) -> None:
        """Draw a line through the points."""
        path = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
        fill = ' fill="none"' if len(points) > 2 else ""
        self.elements.append(f'<path d="M{path}"{fill} stroke="{color}" stroke-width="{thick}"/>')
        for x, y in points:
            self.reach(x, y, x, y)

    def hatch(self, x: float, y: float, width: float, height: float) -> None:
        """Fill a rectangle with thin slanted lines, for what is hidden."""
        path = ""
        for start in range(6, int(width + height), 6):  # where a line meets the upper edge
            a, b = (
                (min(start, width), max(start - width, 0)),
                (max(start - height, 0), min(start, height)),
            )
            path += f"M{_n(x + a[0])} {_n(y + a[1])}L{_n(x + b[0])} {_n(y + b[1])}"
        self.elements.append(f'<path d="{path}" stroke="{tint(LINE, 0.6)}"/>')
        self.reach(x, y, x + width, y + height)

    def ribbon(
        self,
        start: tuple[float, float, float],
        end: tuple[float, float, float],
        *,
        fill: str,
        stroke: str,
    ) -> None:
        """Draw a band from one level down to another: of each its left, its right, and its y."""
        (a, b, top), (c, d, bottom) = start, end
        middle = (top + bottom) / 2
        path = (
            f"M{_n(a)} {_n(top)}C{_n(a)} {_n(middle)} {_n(c)} {_n(middle)} {_n(c)} {_n(bottom)}"
            f"H{_n(d)}C{_n(d)} {_n(middle)} {_n(b)} {_n(middle)} {_n(b)} {_n(top)}z"
        )
        self.elements.append(f'<path d="{path}" fill="{fill}" stroke="{stroke}"/>')
        self.reach(min(a, c), top, max(b, d), bottom)

    def area(self, points: Sequence[tuple[float, float]], *, fill: str) -> None:
        """Fill what is between the points."""
        path = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
        self.elements.append(f'<path d="M{path}z" fill="{fill}"/>')
        for x, y in points:
            self.reach(x, y, x, y)

    def bend(
        self, start: tuple[float, float], end: tuple[float, float], half: float, *, fill: str
    ) -> None:
        """Draw a band of twice ``half`` that leaves and arrives across, in the shape of an S."""
        (a, b), (c, d) = start, end
        middle = (a + c) / 2
        path = f"M{_n(a)} {_n(b)}C{_n(middle)} {_n(b)} {_n(middle)} {_n(d)} {_n(c)} {_n(d)}"
        style = f'fill="none" stroke="{fill}" stroke-width="{_n(2 * half)}"'
        self.elements.append(f'<path d="{path}" {style}/>')
        self.reach(a, min(b, d) - half, c, max(b, d) + half)

    def arrow(self, *points: tuple[float, float], color: str = SOFT) -> None:
        """Draw a line through the points with a head at the last, which comes across or upright."""
        (before_x, before_y), (x, y) = points[-2:]
        dx, dy = _sign(x - before_x), _sign(y - before_y)
        self.line(*points[:-1], (x - 6 * dx, y - 6 * dy), color=color)
        left, top = x - 8 * dx + 4 * dy, y - 8 * dy - 4 * dx
        self.elements.append(
            f'<path d="M{_n(x)} {_n(y)}L{_n(left)} {_n(top)}l{-8 * dy} {8 * dx}z" fill="{color}"/>'
        )
        self.reach(x, y, x, y)

    def stream(
        self, x: float, top: float, bottom: float, width: float, color: str, *, both: bool
    ) -> None:
        """Draw an arrow upwards, or to both ends, as wide as what it stands for."""
        head = _n(width / 2 + 5)
        start = f"V{_n(bottom - 9)}h5L{_n(x)} {_n(bottom)}l-{head}-9h5"
        start = start if both else f"V{_n(bottom)}h-{_n(width)}"
        self.elements.append(
            f'<path d="M{_n(x)} {_n(top)}l{head} 9h-5{start}V{_n(top + 9)}h-5z" fill="{color}"/>'
        )
        self.reach(x - width / 2 - 5, top, x + width / 2 + 5, bottom)

    def arrows_down(self, places: Sequence[float], top: float, bottom: float, color: str) -> None:
        """Draw arrows beside each other."""
        lines = "".join(f"M{_n(x)} {_n(top)}V{_n(bottom - 6)}" for x in places)
        heads = "".join(f"M{_n(x)} {_n(bottom)}l-4-8h8z" for x in places)
        self.elements.append(
            f'<path d="{lines}" stroke="{color}" stroke-width="1.5"/>'
            f'<path d="{heads}" fill="{color}"/>'
        )

    def dots(self, x: float, y: float, *, across: bool) -> None:
        """Draw three dots about a point, for what is left out."""
        start, step = (
            (f"{_n(x - 5)} {_n(y)}", "h0m5 0") if across else (f"{_n(x)} {_n(y - 5)}", "h0m0 5")
        )
        self.elements.append(
            f'<path d="M{start}{step}{step}h0" stroke="{SOFT}" stroke-width="2.6" '
            'stroke-linecap="round"/>'
        )

    def plus(self, x: float, y: float) -> None:
        """Draw the sign of an addition, a cross in a circle."""
        self.elements.append(
            f'<circle cx="{_n(x)}" cy="{_n(y)}" r="9" fill="#fff" stroke="{INK}" '
            f'stroke-width="1.5"/><path d="M{_n(x - 5)} {_n(y)}h10M{_n(x)} {_n(y - 5)}v10" '
            f'stroke="{INK}" stroke-width="1.5"/>'
        )
        self.reach(x - 9, y - 9, x + 9, y + 9)

    @contextmanager
    def group(self, name: str, x: float, y: float) -> Iterator[None]:
        """Elements with a name, by which tests can find them, and an origin of their own."""
        self.elements.append(
            f'<g data-name="{html.escape(name)}" transform="translate({_n(x)} {_n(y)})">'
        )
        before, self.origin = self.origin, (x, y)
        yield
        self.origin = before
        self.elements.append("</g>")

    def finish(self, alt: str) -> Drawing:
        """Put everything on a white background, with a margin around it."""
        x, y = self.left - MARGIN, self.top - MARGIN
        width, height = self.width, self.bottom - self.top + 2 * MARGIN
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" class="attnbook" role="img" '
            f'viewBox="{_n(x)} {_n(y)} {_n(width)} {_n(height)}" '
            f'width="{round(ON_A_PAGE * width)}" height="{round(ON_A_PAGE * height)}" '
            f'aria-label="{html.escape(alt)}" '
            f'font-family="{_SANS}" font-size="{SMALL}" fill="{SOFT}" text-anchor="middle">'
            f"<style>.attnbook .m{{font-family:{_SERIF};font-style:italic}}"
            f".attnbook .x{{font-size:max({LEAST}px,{INDEX}em)}}</style>"
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" '
            f'fill="#fff"/>{"".join(self.elements)}</svg>'
        )
        return Drawing(svg, alt)


def _text_style(size: float, color: str, anchor: str, bold: bool) -> str:
    """The attributes that differ from those of the whole drawing."""
    style = f' font-size="{_n(size)}"' if size != SMALL else ""
    style += f' fill="{color}"' if color != SOFT else ""
    style += f' text-anchor="{anchor}"' if anchor != "middle" else ""
    return style + (' font-weight="600"' if bold else "")


def tint(color: str, share: float) -> str:
    """The colour mixed with white: ``share`` 0 is white, 1 the colour itself."""
    parts = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - share * (255 - part)):02x}" for part in parts)


def text_width(text: str, size: float) -> float:
    """About how wide a line of text is: a little more than in most fonts."""
    return size * sum(map(_letter_width, text))


def fitted(text: str, room: float, size: float) -> str:
    """The text, cut off where the room ends."""
    if text_width(text, size) <= room:
        return text
    while text and text_width(text + "…", size) > room:
        text = text[:-1]
    return text + "…"


def formula_width(formula: str, size: float) -> float:
    """About how wide a formula is."""
    width = 0.0
    for part in _PART.finditer(formula):
        if part["small"]:
            width += text_width(part["small"].strip("{}"), max(LEAST, INDEX * size))
        else:
            width += text_width(part["word"] or part["other"], size)
    return width


def _letter_width(letter: str) -> float:
    if letter > "\u2e80":  # Chinese and its neighbours
        return 1.0
    if letter in _NARROW:
        return 0.34
    if letter in _WIDE:
        return 0.86
    return 0.7 if letter.isupper() else 0.62


def _set(formula: str, size: float) -> str:
    """The formula as SVG."""
    markup, lowered = "", 0.0
    for part in _PART.finditer(formula):
        shift = {None: 0.0, "_": 0.25 * size, "^": -0.4 * size}[part["shift"]]
        words = (part["small"] or "").strip("{}") or part["word"] or part["other"]
        classes = "m" * bool(_VARIABLE.fullmatch(words)) + " x" * bool(part["small"])
        style = f' class="{classes.strip()}"' if classes else ""
        style += f' dy="{_n(shift - lowered)}"' if shift != lowered else ""
        lowered = shift
        words = html.escape(words, quote=False)
        markup += f"<tspan{style}>{words}</tspan>" if style else words
    return markup


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _n(number: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{round(number, 1):g}".replace("-0.", "-.") if number else "0"
