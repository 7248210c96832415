"""The path of a fact through a language model: from its own word, by one head, to the answer."""

from collections.abc import Mapping, Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.svg import (
    INK,
    LINE,
    SMALL,
    SOFT,
    Canvas,
    Drawing,
    tint,
)
from attnbook.figures.style import KEY, QUERY, VALUE, WEIGHTS

MOST_TOKENS, MOST_BLOCKS = 6, 40
LEFT, LONG, BOX = 64.0, 300.0, 52.0  # where lines begin, how long they are, the box of the answer
ROW, CROSSING = 22.0, 88.0  # from one line to the next, and from the fact's to the last one
BEND = 66.0  # the room for the ribbon between two blocks
WIDE = 30.0  # a line that decides the whole answer
EDGE = 4.0  # half as long as a block
LEAST = 0.03  # a smaller share is not drawn


def path_of_a_fact(
    tokens: Sequence[str],
    shares: Float[Tensor, "token block"],
    *,
    head: tuple[int, int],
    weight: float,
    moved: float,
    ranks: Mapping[int, int],
    answers: tuple[str, str],
    other: str,
) -> Drawing:
    """A line for each token through the blocks, as wide as its vector decides the answer there.

    ``shares`` say how likely the second of ``answers`` is, instead of the first one, if a token's
    vector after a block comes from a text with the ``other`` word instead of the last but one. The
    head (its block, its number) in which the last token gives the last but one this ``weight`` is
    a ribbon between both, as wide as its output alone makes that answer likely (``moved``).
    ``ranks`` are those of the first answer after some blocks.

    Raises ``ValueError`` if there are not 2 to 6 tokens or more than 40 blocks, or if shares do not
    fit the tokens.
    """
    count, final = len(tokens), shares.shape[-1] - 1
    if not 2 <= count <= MOST_TOKENS or len(shares) != count or final >= MOST_BLOCKS:
        raise ValueError(
            f"needs 2 to {MOST_TOKENS} tokens with a share after each of at most {MOST_BLOCKS} "
            f"blocks: got {count} tokens and shares {tuple(shares.shape)}"
        )
    xs = {block: _middle(block, head[0], final) for block in range(final + 1)}
    fact, last = tokens[-2:]
    answer, turned = answers
    canvas = Canvas()
    canvas.text(0, 0, f"A line is as wide as {turned} is likely, if its vector",
                color=SOFT, anchor="start", size=SMALL)  # fmt: skip
    canvas.text(0, 18, f"is swapped for that of a text about {other}.",
                color=SOFT, anchor="start", size=SMALL)  # fmt: skip
    rows = [46 + ROW * i for i in range(count - 2)]
    rows += [46 + ROW * (count - 2) + 10, 46 + ROW * (count - 2) + 10 + CROSSING]
    for token, y, share in zip(tokens, rows, shares.tolist(), strict=True):
        color = {fact: KEY, last: QUERY}.get(token, SOFT)
        canvas.text(LEFT - 8, y, token, color=color, anchor="end", bold=token in (fact, last))
        canvas.line((LEFT, y), (LEFT + LONG, y), color=LINE)
        for part in (range(head[0]), range(head[0], final + 1)):  # before the ribbon, after it
            _river(canvas, y, {xs[b]: share[b] for b in part})
    _crossing(canvas, xs, rows[-2:], head, weight, moved, (fact, last))
    canvas.text(LEFT, rows[-1] - 12, "nothing of it here yet", color=SOFT, anchor="start",
                size=SMALL)  # fmt: skip
    right = LEFT + LONG
    canvas.arrow((right, rows[-1]), (right + 12, rows[-1]), color=VALUE)
    canvas.box(right + 12, rows[-1] - 15, BOX, 30, fill=tint(VALUE, 0.06), stroke=VALUE, round=5)
    canvas.text(right + 12 + BOX / 2, rows[-1], answer, color=VALUE, bold=True)
    low = rows[-1] + WIDE / 2 + 16
    canvas.text(0, low, f"{answer} is guess", color=INK, anchor="start", size=SMALL)
    canvas.texts([xs[b] for b in ranks], low, [f"{rank:,}" for rank in ranks.values()], INK)
    marks = [*range(0, head[0] - 1, 5), head[0], final]
    canvas.text(LEFT - 8, low + 22, "block", color=SOFT, anchor="end", size=SMALL)
    canvas.texts([xs[b] for b in marks], low + 22, [str(b) for b in marks], SOFT)
    listed = ", ".join(f"{rank:,} after block {block}" for block, rank in ranks.items())
    block, number = head
    return canvas.finish(
        f"The tokens {', '.join(tokens)} as lines through {final + 1} blocks. A line is wide "
        f"where the model answers {turned} instead of {answer} if the vector there is swapped "
        f"for that of a text about {other}. {_said(tokens, shares)} Between them, head {number} of "
        f"block {block} is a ribbon: {last} gives {fact} {100 * weight:.0f} % of its weight, and "
        f"this head alone makes {turned} {100 * moved:.0f} % likely. {answer} is guess {listed}."
    )


def _middle(block: int, carries: int, final: int) -> float:
    """Where a block is on the line: the ribbon has room before the block that it belongs to."""
    step = (LONG - BEND) / (final + 1)
    return LEFT + step * (block + 0.5) + BEND * (block >= carries)


def _river(canvas: Canvas, y: float, shares: Mapping[float, float]) -> None:
    """A token's line at these places, as wide as its shares, with the last one in percent."""
    wide = [(x, WIDE / 2 * share) for x, share in shares.items() if share > LEAST]
    if not wide:
        return
    (left, first), (right, last) = wide[0], wide[-1]
    edges = [(left - EDGE, first), *wide, (right + EDGE, last)]
    canvas.area([(x, y - half) for x, half in edges] + [(x, y + half) for x, half in edges[::-1]],
                fill=VALUE)  # fmt: skip
    if last < WIDE / 4:  # too thin for a text
        return
    texts = [(right, "end", f"{200 * last / WIDE:.0f} %")]
    if right - left > 120:
        texts.append((left + 2, "start", "the country"))
    for x, anchor, text in texts:
        canvas.text(x, y, text, color="#ffffff", size=SMALL, anchor=anchor, bold=True)


def _crossing(
    canvas: Canvas,
    xs: Mapping[int, float],
    rows: Sequence[float],
    head: tuple[int, int],
    weight: float,
    moved: float,
    words: tuple[str, str],
) -> None:
    """The ribbon of the head that carries the fact to the last token, and what it does in words."""
    start, end = xs[head[0] - 1] + EDGE, xs[head[0]] - EDGE
    half = WIDE / 2 * moved
    canvas.bend((start, rows[0]), (end, rows[1]), half, fill=WEIGHTS)
    fact, last = words
    for line, text in enumerate(
        (f"head {head[1]} of block {head[0]} carries it:",
         f"“{last}” looks at “{fact}”, {100 * weight:.0f} %")
    ):  # fmt: skip
        canvas.text(start - 4, rows[0] + WIDE / 2 + 14 + 17 * line, text, color=WEIGHTS,
                    anchor="end", size=SMALL, bold=line == 0)  # fmt: skip


def _said(tokens: Sequence[str], shares: Tensor) -> str:
    """Which line is wide after which blocks, in words."""
    said = []
    for token, row in zip(tokens, shares.tolist(), strict=True):
        wide = [block for block, share in enumerate(row) if share > 0.5]
        if wide:
            said.append(f"The line of {token} is wide from block {wide[0]} to block {wide[-1]}.")
    return " ".join(said)
