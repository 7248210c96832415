"""A sentence read word after word, and all at once: who works in which step."""

from collections.abc import Sequence

from attnbook.figures.drawings.svg import INK, LINE, SMALL, TEXT, Canvas, Drawing, tint
from attnbook.figures.style import NEUTRAL, WEIGHTS

MOST_WORDS = 5
CELL, ROW = 38.0, 26.0  # of a word in a step
LEFT = 48.0  # of the first cell: the names of the steps stand before
BETWEEN = 14.0  # the two halves
TOP = 52.0  # of the first step


def in_parallel(words: Sequence[str], *, link: tuple[int, int]) -> Drawing:
    """Who works in which step: on the left one word after another, on the right all words at once.

    Steps go downwards. On the left each word waits for what the one before it hands over. On the
    right every word asks all words in the first step. ``link`` is the place of two words, the first
    of which must reach the second: its path is counted.

    Raises ``ValueError`` if there are not 2 to 5 words, or if the link does not lead from one of
    them to a later one.
    """
    count = len(words)
    if not 2 <= count <= MOST_WORDS:
        raise ValueError(f"2 to {MOST_WORDS} words: got {count}")
    start, end = link
    if not 0 <= start < end < count:
        raise ValueError(f"a link goes from one of {count} words to a later one: got {link}")
    canvas = Canvas()
    right = LEFT + count * CELL + BETWEEN
    for left, title, color in (
        (LEFT, "one word after another", NEUTRAL),
        (right, "all words at once", WEIGHTS),
    ):
        middles = [left + (j + 0.5) * CELL for j in range(count)]
        canvas.text(left + count * CELL / 2, 8, title, size=TEXT, color=color, bold=True)
        for x, word in zip(middles, words, strict=True):
            canvas.text(x, 34, word, size=SMALL, color=INK)
    for step in range(count):
        y = TOP + step * ROW
        canvas.text(0, y + ROW / 2, f"step {step + 1}", anchor="start")
        for j in range(count):
            _cell(canvas, LEFT, step, j, NEUTRAL if step == j else "")
            if step == 0:
                _cell(canvas, right, step, j, WEIGHTS)
    for j in range(count - 1):  # what each hands to the next
        x, y = LEFT + (j + 1) * CELL, TOP + (j + 0.5) * ROW
        canvas.arrow((x - 6, y), (x + CELL / 2, y), (x + CELL / 2, y + ROW - 9), color=INK)
    canvas.text(right + count * CELL / 2, TOP + 0.5 * (count + 1) * ROW, "finished", size=TEXT,
                color=WEIGHTS)  # fmt: skip
    bottom = TOP + count * ROW
    far = end - start
    hands = f"“{words[start]}” to “{words[end]}”:"
    for left, line, color in (
        (LEFT, f"{hands} {far} hand-over{'s' if far > 1 else ''}", NEUTRAL),
        (right, f"{hands} 1 look", WEIGHTS),
    ):
        canvas.text(left + count * CELL / 2, bottom + 18, line, color=color)
    return canvas.finish(
        f"The words {', '.join(words)}, and who works in which step. One word after another: in "
        f"each of {count} steps one word works and hands over to the next, so from {words[start]} "
        f"to {words[end]} there are {far} hand-overs. All words at once: all {count} work in "
        "step 1, each looks at every word, and then they are finished."
    )


def _cell(canvas: Canvas, left: float, step: int, word: int, color: str) -> None:
    fill, stroke = (tint(color, 0.55), color) if color else ("none", tint(LINE, 0.4))
    x, y = left + word * CELL + 3, TOP + step * ROW + 3
    canvas.box(x, y, CELL - 6, ROW - 6, fill=fill, stroke=stroke, thick=1.2, round=4)
