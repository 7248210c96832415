"""Two heads that continue a repetition: one notes the word before, the other looks for the note."""

from collections.abc import Sequence

from attnbook.figures.drawings.svg import LINE, SMALL, Canvas, Drawing, fitted, tint
from attnbook.figures.style import KEY, QUERY, VALUE, WEIGHTS

MOST_WORDS = 9
CELL = 48.0  # of a word
BOX = 26.0  # how high its box is
NOTES, ASKED, SAID = 92.0, 178.0, 216.0  # the notes, the question, and the guess: their tops
LEAST = 0.02  # smaller weights are not drawn


def induction(
    words: Sequence[str], *, before: Sequence[str], weights: Sequence[float], guess: str
) -> Drawing:
    """What two heads make of a text whose last word was there already.

    The first head notes below each word but the first the one ``before`` it. The last word then
    looks for the notes that name it, with these ``weights`` (at least 0, the sum 1), and ``guess``
    is the word that they lead to.

    Raises ``ValueError`` if there are not 3 to 9 words, or not a note and a weight for each.
    """
    count = len(words)
    if not 3 <= count <= MOST_WORDS:
        raise ValueError(f"needs 3 to {MOST_WORDS} words: got {count}")
    for name, given in (("before", before), ("weights", weights)):
        if len(given) != count:
            raise ValueError(f"{name} needs one entry for each of {count} words: got {len(given)}")
    canvas = Canvas()
    middles = [(j + 0.5) * CELL for j in range(count)]
    first = "1  Each word but the first notes the word before it."
    canvas.text(0, 12, first, color=KEY, anchor="start", bold=True, size=SMALL)
    for j, (word, middle) in enumerate(zip(words, middles, strict=True)):
        last = j == count - 1
        _box(canvas, middle, 46, word, QUERY if last else "")
        if j:
            top = 40
            canvas.line((middle - 6, 46), (middle - 6, top), (middles[j - 1] + 6, top), color=KEY)
            canvas.arrow((middles[j - 1] + 6, top), (middles[j - 1] + 6, 46), color=KEY)
        canvas.text(middle, NOTES - 10, "after", color=KEY, size=SMALL)
        note = fitted(before[j], CELL - 2, SMALL) if j else "–"
        canvas.text(middle, NOTES + 6, note, color=KEY, size=SMALL)
    asker, right = middles[-1], 0.0
    for j, weight in enumerate(weights):
        if weight >= LEAST:
            half = 9 * weight
            ends = asker - 9 + 18 * right, asker - 9 + 18 * (right + weight)
            canvas.ribbon(
                (middles[j] - half, middles[j] + half, NOTES + 17),
                (*ends, ASKED - 11),
                fill=tint(WEIGHTS, 0.9 if weight == max(weights) else 0.3),
                stroke="none",
            )
        right += weight
    second = f"2  The last word asks: who comes after “{words[-1]}”?"
    canvas.text(asker + CELL / 2, ASKED, second, color=QUERY, anchor="end", bold=True, size=SMALL)
    canvas.text(asker - 33, SAID, "It predicts", color=VALUE, anchor="end", bold=True, size=SMALL)
    _box(canvas, asker, SAID - BOX / 2, guess, VALUE)
    notes = ", ".join(f"{words[j]} after {before[j]}" for j in range(1, count))
    return canvas.finish(
        f"The words {', '.join(words)}. Each word but the first looks one place back and notes the "
        f"word before it: {notes}. The last word, {words[-1]}, looks for a word with the note: "
        f"after {words[-1]}. It finds {guess} with a weight of {max(weights):.2f}, and predicts "
        f"{guess}."
    )


def _box(canvas: Canvas, middle: float, top: float, word: str, color: str) -> None:
    width = CELL - 5
    fill, stroke = (tint(color, 0.06), color) if color else ("none", LINE)
    canvas.box(middle - width / 2, top, width, BOX, fill=fill, stroke=stroke, round=5)
    word = fitted(word, width - 4, SMALL + 1)
    if color:
        canvas.text(middle, top + BOX / 2, word, size=SMALL + 1, color=color, bold=True)
    else:
        canvas.text(middle, top + BOX / 2, word, size=SMALL + 1)
