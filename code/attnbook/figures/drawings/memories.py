"""Flash attention's two memories, and what moves between them."""

from attnbook.figures.drawings.svg import (
    INK,
    LINE,
    SMALL,
    TEXT,
    WIDEST,
    Canvas,
    Drawing,
    tint,
)
from attnbook.figures.style import KEY, NEUTRAL, OTHER, QUERY, VALUE, WEIGHTS

PALE, STRONG = 0.1, 0.6  # shares of a colour: what waits, what is at work
LEFT_OF = {"Q": 0.0, "K": 16.0, "V": 32.0, "out": 54.0}
COLORS = {"Q": QUERY, "K": KEY, "V": VALUE, "out": VALUE}


def memories(length: int, *, d: int, tile: int, size: int) -> Drawing:
    """What moves between a small, fast and a large, slow memory: four lines, flash attention.

    ``size`` is that of a number, in bytes. Matrices and arrows are to scale.

    Raises ``ValueError`` unless tiles of d × d divide the length into 4 to 8 blocks.
    """
    blocks = length // tile
    if tile != d or length % tile or not 4 <= blocks <= 8:
        raise ValueError(
            f"tiles of {d} tokens must divide the length into 4 to 8 blocks: got {length} tokens "
            f"and tiles of {tile}"
        )
    canvas, long = Canvas(), 64.0  # the side of all weights
    cell, strip = long / blocks, length * d * size  # bytes of Q
    square = length**2 * size
    wide, small, top, low = 212.0, 112.0, 46.0, 152.0
    unit = long / (4 * square)  # of a byte
    ins = {"four lines": 4 * strip, "flash attention": 2 * strip}
    through = {"four lines": 4 * square, "flash attention": 2 * strip * blocks}
    for panel, name in enumerate(ins):
        flash = bool(panel)
        with canvas.group(name, panel * (WIDEST - wide), 0):
            canvas.text(wide / 2, 0, name, size=TEXT, color=INK, bold=True)
            x = (wide - small) / 2
            canvas.box(x, 14, small, top, fill=tint(OTHER, PALE), stroke=OTHER, round=4)
            canvas.text(wide / 2, 27, "fast memory", color=INK)
            held = ["Q", "K", "V", "tile", "out"] if flash else ["Q", "K", "tile"]
            for n, part in enumerate(held):
                at = wide / 2 + (n - len(held) / 2) * (cell + 8) + 4
                color = COLORS.get(part, WEIGHTS)
                canvas.box(at, 42, cell, cell, fill=tint(color, STRONG))
            if flash:
                for n, text in enumerate(("scores", "stay")):
                    canvas.text(x + small + 3, 28 + 18 * n, text, size=SMALL, color=WEIGHTS,
                                anchor="start")  # fmt: skip
            ends = 14 + top + 3, low - 3
            thin, thick = ins[name] * unit, through[name] * unit
            canvas.stream(x + 14, *ends, thin, tint(NEUTRAL, STRONG), both=True)
            words = ("Q,", "output") if flash else ("Q, K, V,", "output")
            for n, text in enumerate((*words, _kilobytes(ins[name]))):
                canvas.text(x + 4, ends[0] + 22 + 18 * n, text, anchor="end", color=INK)
            middle = wide / 2 + (12 if flash else 22)
            color = KEY if flash else WEIGHTS
            canvas.stream(middle, *ends, thick, tint(color, 0.35), both=not flash)
            words = ("K, V", f"{blocks} times") if flash else ("scores,", "weights")
            for n, text in enumerate((*words, _kilobytes(through[name]))):
                canvas.text(middle + (thick / 2 + 8 if flash else 0), ends[0] + 22 + 18 * n, text,
                            anchor="start" if flash else "middle", color=INK)  # fmt: skip
            _slow_memory(canvas, wide, low, long, cell, flash=flash)
            canvas.text(wide / 2, low + long + 39, "slow memory", color=INK)
            canvas.text(wide / 2, low + long + 70, f"{_kilobytes(ins[name] + through[name])} moved",
                        size=TEXT, color=INK, bold=True)  # fmt: skip
    before, after = (ins[name] + through[name] for name in ins)
    return canvas.finish(
        f"Attention to {length} tokens of {d} features, with numbers of {size} bytes. A small, "
        "fast memory holds a few blocks, a large, slow memory the whole matrices, and arrows as "
        "wide as the bytes that move join the two. The four lines move Q, K, V and the output, "
        f"{_kilobytes(ins['four lines'])}, and scores and weights out and in again, "
        f"{_kilobytes(through['four lines'])}. Flash attention moves Q and the output, "
        f"{_kilobytes(ins['flash attention'])}, and K and V {blocks} times, "
        f"{_kilobytes(through['flash attention'])}. A tile of its scores never leaves the fast "
        f"memory. In all, {_kilobytes(before)} and {_kilobytes(after)} are moved."
    )


def _slow_memory(
    canvas: Canvas, wide: float, low: float, long: float, cell: float, *, flash: bool
) -> None:
    """The whole matrices, each with the block at work."""
    canvas.box(0, low, wide, long + 52, fill=tint(NEUTRAL, 0.08), stroke=LINE, round=4)
    for part, left in LEFT_OF.items():
        color, begin = COLORS[part], low + 24
        canvas.text(7 + left + cell / 2, low + 12, part, formula=part != "out",
                    color=color, bold=True)  # fmt: skip
        canvas.box(7 + left, begin, cell, long, fill=tint(color, 0.25))
        at = 1 if part in ("Q", "out") else 2  # the block at work
        canvas.box(7 + left, begin + at * cell, cell, cell, fill=tint(color, STRONG))
    if flash:
        canvas.text(143, low + 24 + long / 2 - 9, "no scores,", color=INK)
        canvas.text(143, low + 24 + long / 2 + 9, "no weights", color=INK)
    else:
        for n, part in enumerate(("scores", "weights")):
            left = 76 + n * (long + 3)
            canvas.box(left, low + 24, long, long, fill=tint(WEIGHTS, 0.25))
            canvas.box(left + 2 * cell, low + 24 + cell, cell, cell,
                       fill=tint(WEIGHTS, STRONG))  # fmt: skip
            canvas.text(left + long / 2, low + 12, part, color=WEIGHTS, bold=True)


def _kilobytes(count: int) -> str:
    return f"{count / 1000:,.0f} kB"
