"""One block of the Transformer carries one word upwards: bars, and what is added to them."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import CELL_HEIGHT, DARKEST, number
from attnbook.figures.drawings.svg import (
    INK,
    LINE,
    NAME,
    SOFT,
    TEXT,
    Canvas,
    Drawing,
    text_width,
    tint,
)
from attnbook.figures.style import BLACK, NEUTRAL, OTHER, WEIGHTS

FIRST, STEP = 64.0, 60.0  # the middle of the first bar, and to the next one
BAR, TALL = 34.0, 28.0  # width of a bar, and height of one for a value of 1
MOST = 6  # features
RIGHT = FIRST + STEP * (MOST - 0.5)
BOX, HIGH = 40.0, 60.0  # where boxes begin, on the right of the stream, and their height
COLORS = NEUTRAL, WEIGHTS, OTHER  # of what was there, of what attention adds, and the network
STRENGTH = 0.5  # share of these colours in a bar


def one_block(
    stages: Float[Tensor, "3 d"],
    weights: Float[Tensor, " words"],
    *,
    words: Sequence[str],
    word: int,
    features: Sequence[str],
    fires: str,
) -> Drawing:
    """A word's vector as bars on the residual stream: as it comes in, and after both additions.

    From below upwards: the word; attention, which adds something from other words; the network,
    which adds what it concludes. ``stages`` are the vectors before, between and after, and bars
    have the colour of the part that added them. ``weights`` are what the word number ``word`` gives
    to all words, and ``fires`` is the question that the network answers with yes.

    Raises ``ValueError`` if names do not fit the numbers, there are more than 6 features, a bar
    would have to shrink, or the words have no room.
    """
    if (len(features), len(words)) != (stages.shape[1], len(weights)) or len(features) > MOST:
        raise ValueError(
            f"needs at most {MOST} named features, and a weight for each word: got {len(features)} "
            f"names for stages {tuple(stages.shape)}, {len(words)} words and {len(weights)} weights"
        )
    updates = [stages[0], *stages.diff(dim=0)]
    if min(update.min() for update in updates) < 0:
        raise ValueError(f"no bar may shrink or begin below 0: got {stages.tolist()}")
    adds = [_listed(features, update) for update in updates]
    titles = "attention adds", "the network adds"

    canvas = Canvas()
    wide = text_width(words[word], NAME) + 20
    canvas.box(-wide / 2, 0, wide, CELL_HEIGHT, fill=tint(NEUTRAL, 0.16), stroke=NEUTRAL, round=6)
    canvas.text(0, CELL_HEIGHT / 2, words[word], size=NAME, color=INK, bold=True)
    y = _bars(canvas, 0.0, updates[:1], features)
    for place, title in enumerate(titles, start=1):
        top = y - HIGH - 20
        canvas.line((0, y), (0, top), thick=5)
        canvas.box(BOX, top + 10, RIGHT - BOX, HIGH, fill=tint(COLORS[place], 0.1),
                   stroke=COLORS[place], round=6)  # fmt: skip
        canvas.arrow((0, y - 25), (BOX, y - 25))
        canvas.arrow((BOX, top + 27), (9, top + 27))
        canvas.plus(0, top + 27)
        canvas.text(BOX + 12, top + 27, f"{title} {adds[place]}", anchor="start", bold=True)
        if place == 1:
            _looks(canvas, BOX + 12, top + 54, words, weights)
        else:
            canvas.text(BOX + 12, top + 54, f"{fires} Yes.", color=INK, anchor="start")
        y = _bars(canvas, top, updates[: place + 1], features)
    canvas.line((0, y + 1), (0, y - 8), thick=5)
    canvas.elements.append(f'<path d="M0 {y - 20:g}l-8 13h16z" fill="{LINE}"/>')
    canvas.reach(-8, y - 20, 8, y)
    shares = [f"{other} {number(w)}" for other, w in zip(words, weights.tolist(), strict=True)]
    return canvas.finish(
        f"The word {words[word]} goes upwards through a block, as a vector of bars on a line. It "
        f"comes in with {adds[0]}. Attention gives the words these weights: {', '.join(shares)}. "
        f"It adds {adds[1]}. {fires} Yes, so the network adds {adds[2]}. On goes "
        f"{words[word]} with {_listed(features, stages[-1])}."
    )


def _listed(features: Sequence[str], values: Tensor) -> str:
    """Such as 0.9 drinking: those that are not 0."""
    pairs = zip(features, values.tolist(), strict=True)
    return ", ".join(f"{number(y, 1)} {feature}" for feature, y in pairs if y) or "nothing"


def _bars(canvas: Canvas, y: float, updates: Sequence[Tensor], features: Sequence[str]) -> float:
    """A shelf on the stream, from y upwards: bars made of all updates. Returns where it ends."""
    floor = y - 22
    totals = sum(updates).tolist()
    top = floor - TALL * max(totals) - 20
    canvas.line((0, y + 1), (0, top), thick=5)
    canvas.line((0, floor), (RIGHT, floor), thick=2)
    with canvas.group("bars", 0, 0):
        for j, (feature, total) in enumerate(zip(features, totals, strict=True)):
            x, height = FIRST + j * STEP, 0.0
            for update, color in zip(updates, COLORS, strict=False):
                if more := TALL * update[j].item():
                    height += more
                    canvas.box(x - BAR / 2, floor - height, BAR, more, fill=tint(color, STRENGTH),
                               stroke=color, thick=1)  # fmt: skip
            if total:
                canvas.text(x, floor - height - 10, number(total, 1), size=TEXT, color=INK)
            canvas.text(x, floor + 12, feature, size=TEXT, color=INK if total else SOFT,
                        bold=total > 0)  # fmt: skip
    return top


def _looks(canvas: Canvas, x: float, y: float, words: Sequence[str], weights: Tensor) -> None:
    """The words in a line, the more weight the darker, with the largest weight as a number."""
    shares = weights.tolist()
    texts = [f"{word} {number(share, 1)}" if share == max(shares) else word
             for word, share in zip(words, shares, strict=True)]  # fmt: skip
    room = RIGHT - 8 - x - sum(text_width(text, TEXT) + 10 for text in texts)
    if room < 0:
        raise ValueError(f"{' '.join(words)} has no room in the drawing")
    for text, share in zip(texts, shares, strict=True):
        wide = text_width(text, TEXT) + 10
        with canvas.group("word", x, y - 12):
            canvas.box(0, 0, wide, 24, fill=tint(WEIGHTS, DARKEST * share), round=4)
            canvas.text(wide / 2, 12, text, color=BLACK)
        x += wide + min(4, room / len(words))
