"""How a translator learns and writes: the shift of teacher forcing, and a beam."""

from collections.abc import Sequence
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.svg import (
    INK,
    LINE,
    SMALL,
    SOFT,
    TEXT,
    WIDEST,
    Canvas,
    Drawing,
    fitted,
    text_width,
    tint,
)
from attnbook.figures.style import BLACK, KEY, NEUTRAL, OTHER, QUERY

MOST_LESSONS, MOST_STEPS = 9, 5
TALL, GAP = 26, 6  # of a box with a token; between two


def teacher_forcing(
    source: str,
    reads: Sequence[str],
    says: Sequence[str],
    chances: Float[Tensor, " lessons"],
) -> Drawing:
    """A row for each lesson: what the decoder reads, what is hidden from it, what it must predict.

    Beside each token to predict is the model's probability of it.

    Raises ``ValueError`` if there are not as many tokens to predict and probabilities as tokens to
    read, 2 to 9, or if ``says`` is not ``reads`` shifted by one.
    """
    count = len(reads)
    if not len(says) == len(chances) == count or not 2 <= count <= MOST_LESSONS:
        raise ValueError(
            f"2 to {MOST_LESSONS} lessons are drawn, each with a token to read, a token to predict "
            f"and its probability: got {count}, {len(says)} and {len(chances)}"
        )
    if list(says[:-1]) != list(reads[1:]):
        raise ValueError(f"{list(says)} is not {list(reads)} shifted by one")
    canvas = Canvas()
    right = WIDEST - 34  # the end of the tokens to predict
    told = min(96.0, max(text_width(word, SMALL) for word in says) + 10)
    room = right - told - 24 - 3 * count  # for all tokens that are read
    wide = [text_width(word, SMALL) + 9 for word in reads]
    wide = [w * min(1, room / sum(wide)) for w in wide]
    lefts = [sum(wide[:t]) + 3 * t for t in range(count)]
    end = lefts[-1] + wide[-1]
    canvas.text(0, 0, "every row sees the whole source", anchor="start")
    canvas.box(0, 11, WIDEST, TALL, fill=tint(KEY, 0.2), round=4)
    canvas.text(WIDEST / 2, 11 + TALL / 2, fitted(source, WIDEST - 2 * GAP, TEXT), color=INK)
    canvas.text(0, 57, "and reads this", anchor="start")
    canvas.text(WIDEST, 57, "to predict this", anchor="end")
    canvas.text(end, 57, "hidden by the mask", anchor="end")
    tops = [70.0 + t * (TALL + 3) for t in range(count)]
    for t, (top, word) in enumerate(zip(tops, says, strict=True)):
        middle = top + TALL / 2
        with canvas.group(f"lesson {t + 1}", 0, 0):
            for left, across, seen in zip(lefts[: t + 1], wide, reads, strict=False):
                canvas.box(left, top, across, TALL, round=4, fill=tint(NEUTRAL, 0.2))
                canvas.text(left + across / 2, middle, fitted(seen, across, SMALL), size=SMALL,
                            color=INK)  # fmt: skip
            if t < count - 1:
                canvas.hatch(lefts[t + 1], top, end - lefts[t + 1], TALL)
            canvas.arrow((end + 3, middle), (right - told - 3, middle))
            canvas.box(right - told, top, told, TALL, round=4, fill=tint(QUERY, 0.25))
            canvas.text(right - told / 2, middle, fitted(word, told, SMALL), size=SMALL, color=INK)
            canvas.text(WIDEST, middle, f"{chances[t].item():.2f}", anchor="end")
    below = tops[-1] + TALL + 18
    canvas.text(0, below, "training: all rows at once", color=INK, bold=True, anchor="start")
    canvas.text(WIDEST, below, "writing: one row at a time", color=INK, bold=True, anchor="end")
    lessons = "; ".join(
        f"after {seen}, {word} with {chance:.2f}"
        for seen, word, chance in zip(reads, says, chances.tolist(), strict=True)
    )
    return canvas.finish(
        f"The lessons of one target, a row each. In every row, the decoder sees the source, "
        f"“{source}”, and the target up to one token. The rest is hatched, because the mask hides "
        "it. The decoder must predict the next token, and the number is the probability that it "
        f"gives this token: {lessons}. In training, all rows are computed at once. In writing, "
        "one row is computed at a time."
    )


class Beginning(NamedTuple):
    """A target so far in a beam: its last token, its log p, and what it continues.

    ``before`` counts the beginnings of the step before. ``kept`` says whether the beam goes on with
    it; ``greedy`` and ``best``, whether greedy search wrote it and whether the end is its own.
    """

    token: str
    log_p: float
    before: int
    kept: bool
    greedy: bool = False
    best: bool = False


def beam_tree(start: str, steps: Sequence[Sequence[Beginning]]) -> Drawing:
    """The beginnings that a beam compares, step after step, from the left to the right.

    Those that are kept have boxes, the others beside them are dropped. Raises ``ValueError`` if
    there is no step or more than 5, or a beginning continues none that is kept.
    """
    if not 1 <= len(steps) <= MOST_STEPS:
        raise ValueError(f"1 to {MOST_STEPS} steps are drawn: got {len(steps)}")
    canvas, tall = Canvas(), 42.0
    root = min(104.0, text_width(start, TEXT) + 8)
    step = (WIDEST - root) / len(steps)
    highest = max(map(len, steps)) * tall
    canvas.text(0, highest / 2, fitted(start, root, TEXT), size=TEXT, color=INK, anchor="start")
    ends = [(root - 4, highest / 2)]  # where the lines from the kept ones begin
    kept_before, said = [True], []
    for n, beginnings in enumerate(steps):
        for one in beginnings:
            if not (0 <= one.before < len(kept_before) and kept_before[one.before]):
                raise ValueError(f"step {n + 1}: {one.token} continues nothing that is kept")
        order = sorted(
            range(len(beginnings)),
            key=lambda i: (ends[beginnings[i].before][1], -beginnings[i].log_p),
        )
        left, wide = root + n * step + 14, step - 20
        top = (highest - len(beginnings) * tall) / 2
        new = {}
        for row, i in enumerate(order):
            one, y = beginnings[i], top + (row + 0.5) * tall
            color = BLACK if one.best else OTHER if one.greedy else LINE
            canvas.line(ends[one.before], (left, y), color=color if one.kept else tint(LINE, 0.6),
                        thick=2.4 if one.best or one.greedy else 1.2)  # fmt: skip
            with canvas.group(f"{one.token}, step {n + 1}", 0, 0):
                if one.kept:
                    canvas.box(left, y - 18, wide, 36, fill="#fff", stroke=color, round=4,
                               thick=2 if one.best or one.greedy else 1)  # fmt: skip
                canvas.text(left + wide / 2, y - 8, fitted(one.token, wide, SMALL), size=SMALL,
                            color=INK if one.kept else SOFT, bold=one.best)  # fmt: skip
                canvas.text(left + wide / 2, y + 9, f"{one.log_p:z.2f}".replace("-", "−"))
            new[i] = (left + wide, y)
        said.append(
            f"Step {n + 1}: "
            + ", ".join(
                f"{beginnings[i].token} {beginnings[i].log_p:z.2f}"
                + (" kept" if beginnings[i].kept else " dropped")
                + (", greedy" if beginnings[i].greedy else "")
                + (", the best" if beginnings[i].best else "")
                for i in order
            )
        )
        ends = [new[i] for i in range(len(beginnings))]
        kept_before = [one.kept for one in beginnings]
    return canvas.finish(
        f"A tree of beginnings that all continue {start}, each with its last token and its log p. "
        f"{'. '.join(said)}."
    )
