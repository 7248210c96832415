"""Two heads on one sentence: their columns of Q, K and V, their maps, joined and projected."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import Matrix, Scale, number
from attnbook.figures.drawings.draw_matrix import draw_map
from attnbook.figures.drawings.svg import (
    INK,
    NAME,
    SMALL,
    SOFT,
    Canvas,
    Drawing,
    fitted,
    text_width,
    tint,
)
from attnbook.figures.style import KEY, NEUTRAL, OTHER, QUERY, VALUE, WEIGHTS

HEADS = OTHER, NEUTRAL  # the colours of the two, as where they add up
MOST_TOKENS = 6
ROW = 17.0  # of a token in x, in a map, and in what leaves it
THIN, GAP = 10.0, 26.0  # of a token in Q, K and V, and between these
WIDE = 18.0  # x and the output
HALF = 14.0  # a head's columns, of Q as of what is joined
STRONG, PALE = 0.45, 0.16  # shares of a colour: the columns of head 1, and of head 2
ABOVE = 78.0  # a map: its head's name and the tokens' names
LONGEST = 44.0  # of a token's name


def heads(
    weights: Float[Tensor, "heads length length"],
    *,
    tokens: Sequence[str],
    jobs: Sequence[str],
    d_model: int,
) -> Drawing:
    """A sentence at the left edge, cut into the columns of two heads, with a map for each of them.

    ``weights`` are those of the two heads, ``jobs`` say in a few words what each one looks for.
    What the heads hand over is joined, and W_O makes the output.

    Raises ``ValueError`` if there are not two heads and jobs, if the weights do not fit 2 to 6
    tokens, or if ``d_model`` is odd.
    """
    if not len(weights) == len(jobs) == len(HEADS) or d_model % 2:
        raise ValueError(
            f"the drawing has 2 heads of half of d_model={d_model}: got weights "
            f"{tuple(weights.shape)} and {len(jobs)} jobs"
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
    side, room = ROW * length, max(text_width(name, SMALL) for name in names)
    middle = ABOVE + side + 22  # where the lane of head 2 begins
    canvas = Canvas()
    _sentence(canvas, middle, side, names)
    left = 90 + room  # of the maps
    joined = left + side + 50, middle - side / 2
    for head, (one, job) in enumerate(zip(maps, jobs, strict=True)):
        _lane(canvas, head, head * middle, left, one, names, job)
        end = joined[1] - 3 if head == 0 else joined[1] + side + 3
        start = left + side + 36, head * middle + ABOVE + side / 2
        x = joined[0] + (head + 0.5) * HALF
        canvas.arrow(start, (x, start[1]), (x, end))
    _halves(canvas, "joined", *joined, VALUE, side)
    x = joined[0] + 2 * HALF
    canvas.text(x - HALF + 4, joined[1] - 28, "joined", color=VALUE, anchor="start", bold=True)
    canvas.arrow((x + 3, middle), (x + 29, middle))
    canvas.text(x + 15, middle - 17, "W_O", formula=True, color=INK)
    canvas.text(x + 40, joined[1] - 10, "output", size=SMALL, color=SOFT)
    _strip(canvas, "output", x + 31, joined[1], WIDE, NEUTRAL, side)
    return canvas.finish(_say(maps, tokens, jobs, d_model))


def _sentence(canvas: Canvas, middle: float, side: float, names: Sequence[str]) -> None:
    """The tokens, x, and the columns of both heads in Q, K and V."""
    _names(canvas, -6.0, middle - side / 2, names, INK)
    _strip(canvas, "x", 0.0, middle - side / 2, WIDE, NEUTRAL, side)
    canvas.text(9, middle - side / 2 - 14, "x", formula=True, size=NAME, color=INK)
    canvas.arrow((20, middle), (38, middle))
    thin = THIN * len(names)
    y = middle - 1.5 * thin - GAP
    for head in range(2):
        x = 40 + (head + 0.5) * HALF
        canvas.text(x, y - 30, str(head + 1), size=SMALL, color=SOFT)
    for name, color in (("Q", QUERY), ("K", KEY), ("V", VALUE)):
        canvas.text(40 + HALF, y - 11, name, formula=True, size=NAME, color=color, bold=True)
        _halves(canvas, name, 40.0, y, color, thin)
        y += thin + GAP


def _lane(
    canvas: Canvas, head: int, y: float, left: float, one: Matrix, names: Sequence[str], job: str
) -> None:
    """A head: what it looks for, its map, and what it hands over."""
    side, color = ROW * len(names), HEADS[head]
    start, corner = 76.0, y + ABOVE
    canvas.box(start, y, left + side + 40 - start, ABOVE + side + 10, round=6,
               fill=tint(color, 0.08), stroke=tint(color, 0.6), thick=1)  # fmt: skip
    name = f"head {head + 1}"
    canvas.text(start + 8, y + 15, name, color=INK, anchor="start", bold=True)
    canvas.text(start + 62, y + 15, job, size=SMALL, color=INK, anchor="start")
    for j, token in enumerate(names):
        canvas.text(left + (j + 0.5) * ROW, corner - 5, token, size=SMALL, color=KEY,
                    anchor="start", upwards=True)  # fmt: skip
    _names(canvas, left - 6, corner, names, QUERY)
    draw_map(canvas, left, corner, one, Scale(ROW, ROW, False))
    canvas.box(left, corner, side, side, stroke=tint(WEIGHTS, 0.6), thick=1)
    canvas.arrow((left + side + 3, corner + side / 2), (left + side + 18, corner + side / 2))
    share = PALE if head else STRONG
    _strip(canvas, name, left + side + 20, corner, HALF, VALUE, side, share)


def _names(canvas: Canvas, x: float, y: float, names: Sequence[str], color: str) -> None:
    """The tokens one below the other, in lines that end at x."""
    for i, name in enumerate(names):
        canvas.text(x, y + (i + 0.5) * ROW, name, size=SMALL, color=color, anchor="end")


def _halves(canvas: Canvas, name: str, x: float, y: float, color: str, high: float) -> None:
    """The columns of head 1 beside those of head 2."""
    for head, share in enumerate((STRONG, PALE)):
        _strip(canvas, f"{name}, head {head + 1}", x + head * HALF, y, HALF, color, high, share)


def _strip(
    canvas: Canvas,
    name: str,
    x: float,
    y: float,
    wide: float,
    color: str,
    high: float,
    share: float = 0.16,
) -> None:
    """A matrix without numbers."""
    with canvas.group(name, x, y):
        canvas.box(0, 0, wide, high, fill=tint(color, share), stroke=tint(color, 0.6), thick=1)


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
    half = d_model // 2
    return (
        f"The sentence {' '.join(tokens)} becomes x, {len(tokens)} × {d_model}, and x becomes Q, K "
        f"and V. Of each, head 1 has the first {half} columns and head 2 the other {half}. "
        f"{' '.join(said)} What they hand over is joined side by side, and W O makes the output."
    )
