"""A sentence read word after word, and all at once: who works in which step."""

from collections.abc import Sequence
from itertools import combinations

from attnbook.figures.drawings.svg import INK, LINE, SOFT, Canvas, Drawing, tint
from attnbook.figures.style import NEUTRAL, WEIGHTS

MOST_WORDS = 5
SIZE = 15  # of letters: the drawing is wider than others
CELL, ROW = 41.0, 26.0  # of a word in a step
LEFT = 54.0  # of the first cell: the names of the steps stand before
BETWEEN = 22.0  # the two halves
ARCS = 40.0  # how high the arcs rise
TOP = 88.0  # of the first step


def in_parallel(words: Sequence[str], *, link: tuple[int, int]) -> Drawing:
    """Who works in which step: on the left one word after another, on the right all words at once.

    Steps go downwards. On the left each word waits for what the one before it hands over. On the
    right every word asks all words in the first step. ``link`` is the place of two words, the
    first of which must reach the second: its path is counted.

    Raises ``ValueError`` if there are not 2 to 5 words, or if the link does not lead from one of
    them to a later one.
    """
    count = len(words)
    if not 2 <= count <= MOST_WORDS:
        raise ValueError(f"needs 2 to {MOST_WORDS} words: got {count}")
    start, end = link
    if not 0 <= start < end < count:
        raise ValueError(f"a link must go from one of {count} words to a later one: got {link}")
    canvas = Canvas()
    right = LEFT + count * CELL + BETWEEN
    far = end - start
    bottom = TOP + count * ROW
    for left, title, color, steps, path in (
        (LEFT, "one word after another", INK, count, f"{far} hand-over{'s' if far > 1 else ''}"),
        (right, "all words at once", WEIGHTS, 1, "1 look"),
    ):
        middle = left + count * CELL / 2
        canvas.text(middle, 0, title, size=SIZE, color=color, bold=True)
        for j, word in enumerate(words):
            canvas.text(left + (j + 0.5) * CELL, TOP - 12, word, size=SIZE)
        canvas.text(
            middle, TOP + (steps + 0.5) * ROW, "finished", size=SIZE, color=color, bold=True
        )
        said = f"“{words[start]}” to “{words[end]}”: {path}"
        canvas.text(middle, bottom + ROW + 14, said, size=SIZE, color=WEIGHTS)
    for step in range(count):
        y = TOP + step * ROW
        canvas.text(0, y + ROW / 2, f"step {step + 1}", size=SIZE, anchor="start")
        for j in range(count):
            _cell(canvas, LEFT, step, j, NEUTRAL if step == j else "")
            if step == 0:
                _cell(canvas, right, step, j, WEIGHTS)
    for j in range(count - 1):  # what each hands to the next
        x, y = LEFT + (j + 1) * CELL, TOP + (j + 0.5) * ROW
        middle, low = x + CELL / 2, y + ROW - 9
        color, thick = (WEIGHTS, 3) if start <= j < end else (SOFT, 1.5)
        canvas.line((x - 4, y), (middle, y), (middle, low - 7), color=color, thick=thick)
        canvas.arrow((middle, y), (middle, low), color=color)
    for pair in sorted(combinations(range(count), 2), key=lambda pair: pair == link):
        color, thick = (WEIGHTS, 3.5) if pair == link else (tint(WEIGHTS, 0.4), 1.2)
        x, to = (right + (j + 0.5) * CELL for j in pair)
        y, high = TOP - 24, 4 / 3 * ARCS * (pair[1] - pair[0]) / (count - 1)
        canvas.elements.append(
            f'<path d="M{x} {y}C{x} {y - high:g} {to} {y - high:g} {to} {y}" fill="none" '
            f'stroke="{color}" stroke-width="{thick}"/>'
        )
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
