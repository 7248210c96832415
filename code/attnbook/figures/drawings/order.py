"""The same words in two orders, and whom each hears under a mask."""

from collections.abc import Sequence

from jaxtyping import Bool
from torch import Tensor

from attnbook.figures.drawings.svg import (
    INK,
    NAME,
    SMALL,
    SOFT,
    WIDEST,
    Canvas,
    Drawing,
    text_width,
    tint,
)
from attnbook.figures.style import BLACK, KEY, NEUTRAL

MOST_WORDS = 4
LINE = 19  # from one line of a list to the next
GAP = 12  # between boxes
LEFT = 52.0  # of the words; the names of the rows stand before


def heard(
    mask: Bool[Tensor, "words words"], *, words: Sequence[str], order: Sequence[int]
) -> Drawing:
    """Whom each word has heard after one layer with this mask, in two orders of the same words.

    The mask is True where a place may attend to another one. Words that have heard different words
    in the two orders are highlighted.

    Raises ``ValueError`` if the mask does not fit 2 to 4 words, or ``order`` does not list each
    once.
    """
    if not 2 <= len(words) <= MOST_WORDS:
        raise ValueError(f"needs 2 to {MOST_WORDS} words: got {len(words)}")
    if sorted(order) != [*range(len(words))]:
        raise ValueError(f"an order must list each of {len(words)} words once: got {list(order)}")
    if tuple(mask.shape) != (len(words), len(words)):
        raise ValueError(f"needs a mask for {len(words)} words: got shape {tuple(mask.shape)}")
    orders = [[*range(len(words))], [*order]]
    sets = [
        {word: [listed[j] for j in range(len(words)) if mask[i, j] and j != i]
         for i, word in enumerate(listed)}
        for listed in orders
    ]  # fmt: skip

    canvas = Canvas()
    step = (WIDEST - LEFT) / len(words)
    wide = step - GAP
    tall = LINE * max(1, *(len(o) for known in sets for o in known.values())) + 14
    said = []
    for i, (listed, known) in enumerate(zip(orders, sets, strict=True)):
        top = i * (tall + 58.0)
        canvas.text(0, top + 34 + tall / 2, "has", size=SMALL, color=SOFT, anchor="start")
        canvas.text(0, top + 50 + tall / 2, "heard", size=SMALL, color=SOFT, anchor="start")
        for place, word in enumerate(listed):
            x = LEFT + place * step
            changes = {*sets[0][word]} != {*sets[1][word]}
            names = [words[other] for other in known[word]] or ["–"]
            for name in (words[word], *names):
                if text_width(name, NAME) > wide:
                    raise ValueError(f"{name} has no room in a box of the drawing")
            canvas.text(x + wide / 2, top + 8, words[word], size=NAME, color=INK, bold=changes)
            canvas.arrow((x + wide / 2, top + 20), (x + wide / 2, top + 36))
            with canvas.group(f"{words[word]} has heard, order {i + 1}", x, top + 36):
                canvas.box(0, 0, wide, tall, round=4,
                           fill=tint(KEY, 0.16) if changes else tint(NEUTRAL, 0.06),
                           stroke=KEY if changes else NEUTRAL)  # fmt: skip
                first = tall / 2 - LINE * (len(names) - 1) / 2
                for line, name in enumerate(names):
                    canvas.text(wide / 2, first + LINE * line, name, color=BLACK)
        said.append(
            "; ".join(
                f"{words[w]} has heard " + (" and ".join(words[o] for o in known[w]) or "nobody")
                for w in listed
            )
        )
    return canvas.finish(
        f"Whom each word has heard. In {' '.join(words)}: {said[0]}. "
        f"In {' '.join(words[w] for w in order)}: {said[1]}."
    )
