"""Why several heads: one average of two words, beside two heads that bring a word each."""

from collections.abc import Sequence

from attnbook.figures.drawings.cells import CELL_HEIGHT
from attnbook.figures.drawings.draw_matrix import text_box
from attnbook.figures.drawings.svg import INK, NAME, SMALL, Canvas, Drawing, tint
from attnbook.figures.style import QUERY, RED, VALUE, WEIGHTS

PANEL, BETWEEN = 204.0, 32.0  # for one head and for two, and from one to the other
WORD, GAP = 60.0, 12.0  # a word's box, and from one to the next
BLEND = 124.0  # the box with both words
FULL = 40.0  # of all ribbons of one average together
FALL = 38.0  # from the words to what the verb gets
FIRST, NEXT = 46.0, 132.0  # where the first sentence begins, and how far below the second one
SHARES = 0.07, 0.32  # of the colour: the first noun, and the second


def one_head_or_two(words: Sequence[str], *, questions: Sequence[str], asks: str) -> Drawing:
    """A verb gets the same mixture of its two nouns in both orders, or with two heads one of each.

    ``words`` are a noun, a verb and a noun, and the second sentence swaps the nouns. ``questions``
    say what each of two heads looks for. ``asks`` is the question above.

    Raises ``ValueError`` if there are not three words and two questions, or if a word has no room.
    """
    if (len(words), len(questions)) != (3, 2):
        raise ValueError(
            f"needs 3 words and 2 questions: got {len(words)} words and {len(questions)} questions"
        )
    first, verb, second = words
    shares = dict(zip((first, second), SHARES, strict=True))
    middles = PANEL / 2, 1.5 * PANEL + BETWEEN
    canvas = Canvas()
    canvas.text(PANEL + BETWEEN / 2, 0, asks, size=NAME, color=QUERY, bold=True)
    for x, title in zip(middles, ("one head", "two heads"), strict=True):
        canvas.text(x, 27, title, size=NAME, color=INK, bold=True)
    said = []
    for row, (who, whom) in enumerate(((first, second), (second, first))):
        sentence, top = (who, verb, whom), FIRST + row * NEXT
        results = top + CELL_HEIGHT + FALL
        blend = f"½ {who} + ½ {whom}"
        ends = [middles[0] + side * FULL / 4 for side in (-1, 1)]
        _ribbons(canvas, 0.0, top, ends, FULL / 2, "½")
        _boxes(canvas, 0.0, top, sentence, shares)
        text_box(canvas, f"one head, order {row + 1}", middles[0] - BLEND / 2, results, BLEND,
                 blend, VALUE, sum(SHARES) / 2)  # fmt: skip
        canvas.text(middles[0], results + CELL_HEIGHT + 12, "one average", size=SMALL)

        left = PANEL + BETWEEN
        ends = [left + WORD / 2, left + PANEL - WORD / 2]
        _ribbons(canvas, left, top, ends, FULL, "1")
        _boxes(canvas, left, top, sentence, shares)
        for x, word, question in zip(ends, (who, whom), questions, strict=True):
            text_box(canvas, f"{question} order {row + 1}", x - WORD / 2, results, WORD, word,
                     VALUE, shares[word])  # fmt: skip
            canvas.text(x, results + CELL_HEIGHT + 12, question, size=SMALL)
        found = " and ".join(
            f"{word} ({question})" for word, question in zip((who, whom), questions, strict=True)
        )
        said.append(
            f"In {' '.join(sentence)}, one head gives {verb} {blend}, and two heads give {found}."
        )
    bottom = FIRST + 2 * NEXT - 1
    canvas.text(middles[0], bottom, "the same both times", color=RED, bold=True)
    canvas.text(middles[1], bottom, "different", color=VALUE, bold=True)
    return canvas.finish(
        f"{asks} {' '.join(said)} The mixture is the same both times, and the two words are not."
    )


def _boxes(
    canvas: Canvas, left: float, top: float, words: Sequence[str], shares: dict[str, float]
) -> None:
    """The three words of a sentence; the verb, which asks, has its colour."""
    for k, word in enumerate(words):
        color, share = (VALUE, shares[word]) if word in shares else (QUERY, 0.16)
        text_box(canvas, "word", left + k * (WORD + GAP), top, WORD, word, color, share)


def _ribbons(
    canvas: Canvas, left: float, top: float, ends: Sequence[float], wide: float, weight: str
) -> None:
    """From the first and the last word of a sentence, to the middles of where they end."""
    for side, x, end in zip((-1, 1), (left + WORD / 2, left + PANEL - WORD / 2), ends, strict=True):
        start = top + CELL_HEIGHT
        with canvas.group("ribbon", 0, 0):
            canvas.ribbon((x - wide / 2, x + wide / 2, start),
                          (end - wide / 2, end + wide / 2, start + FALL),
                          fill=tint(WEIGHTS, 0.4), stroke=tint(WEIGHTS, 0.7))  # fmt: skip
        canvas.text(x + side * (wide / 2 + 4), start + 12, weight, color=WEIGHTS,
                    anchor="end" if side < 0 else "start", bold=True)  # fmt: skip
    if top == FIRST:  # once says what the numbers are
        canvas.text(left + PANEL / 2, start + 9, f"weight {weight}", size=SMALL, color=WEIGHTS)
