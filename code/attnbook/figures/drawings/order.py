"""The same words in two orders: the output of one, and whom each hears under a mask."""

from collections.abc import Sequence

from jaxtyping import Bool, Float
from torch import Tensor

from attnbook.attention import attention
from attnbook.figures.drawings.cells import CELL_HEIGHT, DARKEST, Matrix, points
from attnbook.figures.drawings.draw_matrix import text_box
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
from attnbook.figures.style import BLACK, KEY, NEUTRAL, VALUE, WEIGHTS

MOST_WORDS = 4
LINE = 19  # from one line of a list to the next
GAP = 12  # between boxes
LEFT = 52.0  # of the words; the names of the rows stand before
SIGN = 15.0  # between two boxes of a sum
OUTPUT = 86.0  # wide
BETWEEN = 44.0  # from one sentence to the other


def two_orders(
    query: Float[Tensor, " d_k"],
    key: Float[Tensor, "words d_k"],
    value: Float[Tensor, "words d_v"],
    *,
    words: Sequence[str],
    order: Sequence[int],
    asks: str,
) -> Drawing:
    """One query meets the same words in two orders: ``words`` as they come, and then in ``order``.

    Each word has its key, its value, and the product of weight and value below it; the products
    are the terms of the sum that is the output. Lines, as thick as the weights, join a word's
    product with its place in the second order. ``asks`` is the word whose query it is.

    Raises ``ValueError`` if there are not as many keys and values as words, 2 to 4, if ``order``
    does not list each word once, or if a number is not finite or has no room.
    """
    _demand_orders(words, order)
    if not len(key) == len(value) == len(words):
        raise ValueError(
            f"needs a key and a value for each of {len(words)} words: got {len(key)} keys and "
            f"{len(value)} values"
        )
    canvas = Canvas()
    wide = (WIDEST - LEFT - OUTPUT - SIGN * len(words)) / len(words)
    step = wide + SIGN
    rows = [20.0 + k * (CELL_HEIGHT + 3) for k in range(3)]  # keys, values, products
    bottom = rows[-1] + CELL_HEIGHT  # of a sentence, from its top
    below = bottom + BETWEEN  # where the second one begins
    _, weights = attention(query[None], key, value, need_weights=True)
    for place, word in enumerate(order):
        above, under = (LEFT + p * step + wide / 2 for p in (word, place))
        canvas.line((above, bottom), (under, below - 4), color=tint(WEIGHTS, 0.35),
                    thick=max(1.0, 12 * weights[0, word].item()))  # fmt: skip
    said = []
    for number, (top, listed) in enumerate(((0.0, range(len(words))), (below, order)), start=1):
        sentence = [words[word] for word in listed]
        outputs, weights = attention(
            query[None], key[[*listed]], value[[*listed]], need_weights=True
        )
        keys, values = (points(x[[*listed]]) for x in (key, value))
        (shares,) = Matrix(weights, name="weights").numbers()
        products = [f"{share} · {v}" for share, v in zip(shares, values, strict=True)]
        (output,) = points(outputs)
        names = zip(rows, ("key", "value"), strict=False)
        for y, name in (*((y + 14, name) for y, name in names), (rows[2] + 6, "weight"),
                        (rows[2] + 22, "· value")):  # fmt: skip
            canvas.text(0, top + y, name, size=SMALL, color=SOFT, anchor="start")
        for place, word in enumerate(sentence):
            x = LEFT + place * step
            canvas.text(x + wide / 2, top + 6, word, size=NAME, color=INK, bold=word == asks)
            for y, name, text, color, share in zip(
                rows,
                ("key", "value", "product"),
                (keys[place], values[place], products[place]),
                (KEY, VALUE, WEIGHTS),
                (0.16, 0.16, DARKEST * weights[0, place].item()),
                strict=True,
            ):
                text_box(canvas, f"{name} of {word}, order {number}", x, top + y, wide, text, color,
                         share)  # fmt: skip
            canvas.text(x + wide + SIGN / 2, top + rows[2] + CELL_HEIGHT / 2,
                        "+" if place < len(words) - 1 else "=", color=INK)  # fmt: skip
        x = WIDEST - OUTPUT
        for y, name in ((28, "output of"), (12, asks)):
            canvas.text(x + OUTPUT / 2, top + rows[2] - y, name, size=SMALL, color=SOFT)
        text_box(canvas, f"output, order {number}", x, top + rows[2], OUTPUT, output, VALUE, 0.3)
        met = ", ".join(
            f"{word} key {k}, value {v}" for word, k, v in zip(sentence, keys, values, strict=True)
        )
        said.append(f"{met}: {' + '.join(products)} = {output}.")
    return canvas.finish(
        f"The query of {asks} in two orders of the same words. First {said[0]} Then {said[1]}"
    )


def heard(
    mask: Bool[Tensor, "words words"], *, words: Sequence[str], order: Sequence[int]
) -> Drawing:
    """Whom each word has heard after one layer with this mask, in two orders of the same words.

    The mask is True where a place may attend to another one. Words that have heard different words
    in the two orders are highlighted.

    Raises ``ValueError`` if the mask does not fit 2 to 4 words, or ``order`` does not list each
    once.
    """
    _demand_orders(words, order)
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


def _demand_orders(words: Sequence[str], order: Sequence[int]) -> None:
    if not 2 <= len(words) <= MOST_WORDS:
        raise ValueError(f"needs 2 to {MOST_WORDS} words: got {len(words)}")
    if sorted(order) != [*range(len(words))]:
        raise ValueError(f"an order must list each of {len(words)} words once: got {list(order)}")
