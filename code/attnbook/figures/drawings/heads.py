"""Two heads on one sentence, in six steps: projections, a map for each, joined and projected."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import Matrix, Scale, number
from attnbook.figures.drawings.draw_matrix import draw_map
from attnbook.figures.drawings.svg import (
    INK,
    NAME,
    SMALL,
    TEXT,
    Canvas,
    Drawing,
    fitted,
    tint,
)
from attnbook.figures.style import BLACK, KEY, NEUTRAL, OTHER, QUERY, VALUE, WEIGHTS

HEADS = OTHER, NEUTRAL  # the colours of the two, as where they add up
MOST_TOKENS = 5
ROW = 15.0  # of a token, in each matrix
FULL, HALF = 84.0, 42.0  # as wide as all features, and as those of a head
STRONG, PALE = 0.45, 0.16  # shares of a colour: what belongs to head 1, and to head 2
WIDE, BETWEEN = 202.0, 8.0  # a head's panel, and from one to the other
LEFT, RIGHT = 62.0, 153.0  # in a panel: its map, and what it hands over
LONGEST = 44.0  # of a token's name
SIGN = 14.0  # between two blocks
ARROWS = 30.0  # from x to the panels, and from these to what is joined


def heads(
    weights: Float[Tensor, "heads length length"],
    *,
    tokens: Sequence[str],
    jobs: Sequence[str],
    d_model: int,
) -> Drawing:
    """From x at the top down to the output, with a panel for each of two heads, and all sizes.

    ``weights`` are those of the two heads, ``jobs`` say in a few words what each one looks for.

    Raises ``ValueError`` if there are not two heads and jobs, if the weights do not fit 2 to 5
    tokens, or if ``d_model`` is odd or has more than two digits.
    """
    if not len(weights) == len(jobs) == len(HEADS) or d_model % 2 or d_model > 99:
        raise ValueError(
            f"the drawing has 2 heads of half of d_model={d_model}: got weights "
            f"{tuple(weights.shape)} and {len(jobs)} jobs; d_model must be even and below 100"
        )
    length = len(tokens)
    if tuple(weights.shape[1:]) != (length, length) or not 2 <= length <= MOST_TOKENS:
        raise ValueError(
            f"needs maps for 2 to {MOST_TOKENS} tokens: got weights {tuple(weights.shape)} and "
            f"{length} tokens"
        )
    names = [fitted(token, LONGEST, SMALL) for token in tokens]
    darkest = weights.max().item()  # of both maps, so that they can be compared
    maps = [Matrix(one, name="weights", color=WEIGHTS, darkest=darkest) for one in weights]
    side, whole = ROW * length, f"{length} × {d_model}"
    middle = WIDE + BETWEEN / 2 + 14  # of x, which has a text on its left
    canvas = Canvas()
    canvas.step(9, side / 2 - 9, 1)
    canvas.text(24, side / 2 - 9, "x has one row", formula=True, color=INK, anchor="start")
    canvas.text(24, side / 2 + 9, "for each word", color=INK, anchor="start")
    _names(canvas, middle - FULL / 2 - 6, 0.0, names, INK)
    _block(canvas, "x", middle - FULL / 2, 0.0, FULL, side, NEUTRAL, whole)
    for line, text in enumerate(("Each head", "reads all of x")):
        canvas.text(middle + FULL / 2 + 14, side / 2 + 18 * line - 9, text, formula=True,
                    color=INK, anchor="start")  # fmt: skip
    top = side + ARROWS
    for head, (one, job) in enumerate(zip(maps, jobs, strict=True)):
        left = head * (WIDE + BETWEEN)
        x = left + WIDE / 2
        canvas.arrow((middle, side + 3), (middle, side + 13), (x, side + 13), (x, top - 3))
        bottom = _panel(canvas, head, (left, top), one, names, job, d_model)

    below, x = bottom + ARROWS + 8, RIGHT
    end = below - 3
    canvas.arrow((x + HALF / 2, bottom), (x + HALF / 2, end))
    start = WIDE + BETWEEN + RIGHT + HALF / 2
    canvas.arrow((start, bottom), (start, bottom + 12), (x + 1.5 * HALF, bottom + 12),
                 (x + 1.5 * HALF, end))  # fmt: skip
    canvas.step(9, below + side / 2 - 9, 5)
    canvas.text(24, below + side / 2 - 9, "the outputs,", color=INK, anchor="start")
    canvas.text(24, below + side / 2 + 9, "joined", color=INK, anchor="start")
    for head, share in enumerate((STRONG, PALE)):
        _block(canvas, f"joined, head {head + 1}", x + head * HALF, below, HALF, side, VALUE, "",
               letter=f"head_{head + 1}", share=share)  # fmt: skip
    canvas.text(x + HALF, below + side / 2 + 9, whole, size=SMALL, color=BLACK)
    canvas.text(x + FULL + SIGN / 2, below + side / 2, "·", color=INK, size=NAME)
    x += FULL + SIGN
    canvas.step(x + 9, bottom + 26, 6)
    canvas.text(x + 24, bottom + 26, "multiplied by W_O", formula=True, color=INK, anchor="start")
    _block(canvas, "W_O", x, below, FULL, max(side, FULL), NEUTRAL, f"{d_model} × {d_model}",
           share=0.3)  # fmt: skip
    canvas.text(x + FULL + SIGN / 2, below + side / 2, "=", color=INK, size=NAME)
    x += FULL + SIGN
    _block(canvas, "output", x, below, FULL, side, NEUTRAL, whole)
    return canvas.finish(_say(maps, tokens, jobs, d_model), fills_column=True)


def _panel(
    canvas: Canvas,
    head: int,
    corner: tuple[float, float],
    one: Matrix,
    names: Sequence[str],
    job: str,
    d_model: int,
) -> float:
    """A head: what it makes of x, its map, and what it hands over. Returns where it ends."""
    side, color, share = ROW * len(names), HEADS[head], PALE if head else STRONG
    half = f"{len(names)} × {d_model // 2}"
    left, top = corner
    made, shown = top + 52, top + 52 + side + 62  # where Q, K, V and the map begin
    bottom = shown + side + 30
    canvas.box(left, top, WIDE, bottom - top, round=6, fill=tint(color, 0.08),
               stroke=tint(color, 0.6), thick=1)  # fmt: skip
    name = f"head {head + 1}"
    canvas.text(left + 8, top + 14, name, color=INK, anchor="start", bold=True)
    canvas.text(left + 62, top + 14, job, size=SMALL, color=INK, anchor="start")
    canvas.step(left + 17, top + 38, 2)
    text = f"3 projections, {d_model} × {d_model // 2}"
    canvas.text(left + 31, top + 38, text, size=SMALL, color=INK, anchor="start")
    middles = {"Q": LEFT - 21, "K": LEFT + 41, "V": RIGHT + HALF / 2}
    for letter, role in zip(middles, (QUERY, KEY, VALUE), strict=True):
        x = left + middles[letter]
        _block(canvas, f"{letter} of {name}", x - HALF / 2, made, HALF, side, role, half,
               letter=letter, share=share)  # fmt: skip

    canvas.step(left + 17, shown - 37, 3)
    canvas.text(left + 31, shown - 37, "map", color=INK, anchor="start")
    canvas.text(left + 8, shown - 17, f"{len(names)} × {len(names)}", size=SMALL, color=INK,
                anchor="start")  # fmt: skip
    for j, token in enumerate(names):
        canvas.text(left + LEFT + (j + 0.5) * ROW, shown - 5, token, size=SMALL, color=KEY,
                    anchor="start", upwards=True)  # fmt: skip
    _names(canvas, left + LEFT - 6, shown, names, QUERY)
    draw_map(canvas, left + LEFT, shown, one, Scale(ROW, ROW, False))
    canvas.box(left + LEFT, shown, side, side, stroke=tint(WEIGHTS, 0.6), thick=1)
    for letter in "QK":
        x = left + middles[letter]
        canvas.arrow((x, made + side + 3), (x, made + side + 12))
    x = left + middles["V"]
    canvas.arrow((x, made + side + 3), (x, shown - 3))
    y = shown + side / 2
    canvas.arrow((left + LEFT + side + 3, y), (left + RIGHT - 3, y))
    _block(canvas, f"output of {name}", x - HALF / 2, shown, HALF, side, VALUE, half,
           letter=f"head_{head + 1}", share=share)  # fmt: skip
    canvas.step(left + 17, shown + side + 16, 4)
    canvas.text(left + 31, shown + side + 16, "weighted averages of V", formula=True, size=SMALL,
                color=INK, anchor="start")  # fmt: skip
    return bottom


def _names(canvas: Canvas, x: float, y: float, names: Sequence[str], color: str) -> None:
    """The tokens one below the other, in lines that end at x."""
    for i, name in enumerate(names):
        canvas.text(x, y + (i + 0.5) * ROW, name, size=SMALL, color=color, anchor="end")


def _block(
    canvas: Canvas,
    name: str,
    x: float,
    y: float,
    wide: float,
    high: float,
    color: str,
    size: str,
    *,
    letter: str = "",
    share: float = 0.16,
) -> None:
    """A matrix without numbers, but with its name, or ``letter`` in its place, and its size."""
    with canvas.group(name, x, y):
        canvas.box(0, 0, wide, high, fill=tint(color, share), stroke=tint(color, 0.6), thick=1)
        shown = letter or name
        large = NAME if len(shown) <= 3 else TEXT if wide == FULL else SMALL
        canvas.text(wide / 2, high / 2 - 11, shown, formula=True, size=large, color=BLACK)
        if size:
            canvas.text(wide / 2, high / 2 + 9, size, size=SMALL, color=BLACK)


def _say(maps: Sequence[Matrix], tokens: Sequence[str], jobs: Sequence[str], d_model: int) -> str:
    """What can be seen: where each token looks most."""
    said = []
    for head, (one, job) in enumerate(zip(maps, jobs, strict=True), start=1):
        looks = []
        for token, row in zip(tokens, one.values, strict=True):
            most = row.max()
            best = [other for other, share in zip(tokens, row, strict=True) if most - share < 1e-6]
            where = "everywhere" if len(best) == len(tokens) else "at " + " and ".join(best)
            looks.append(f"{token} {where} ({number(most.item())})")
        said.append(f"Head {head} looks for {job}: {', '.join(looks)}.")
    half, length = d_model // 2, len(tokens)
    return (
        f"The sentence {' '.join(tokens)} becomes x, {length} × {d_model}. Each of two heads makes "
        f"Q, K and V of all of x, {length} × {half} each, then a map, {length} × {length}, and "
        f"weighted averages of V, {length} × {half}. {' '.join(said)} The averages of both heads "
        f"are joined, {length} × {d_model}, and multiplied by W O, {d_model} × {d_model}, which "
        f"makes the output, {length} × {d_model}."
    )
