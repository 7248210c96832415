"""Why several heads: one average of two words, beside two averages of the same words."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import CELL_HEIGHT, Matrix
from attnbook.figures.drawings.draw_matrix import text_box
from attnbook.figures.drawings.svg import INK, NAME, Canvas, Drawing, tint
from attnbook.figures.style import QUERY, RED, VALUE, WEIGHTS

WORD = 72.0  # width of a word's box
FULL = 52.0  # of all ribbons of one average together
LEFT, RIGHT = (36.0, 128.0), (238.0, 355.0)  # the middles of the words, for one head and for two
WORDS, RESULTS, LINES = 48.0, 160.0, 218.0  # where boxes and lines of text begin, downwards
SHARES = 0.07, 0.22  # of the colour: the first word, and the second
GUESSES = 3


def one_head_or_two(
    values: Float[Tensor, " tokens"],
    one: Float[Tensor, " tokens"],
    two: Float[Tensor, "heads tokens"],
    *,
    tokens: Sequence[str],
    answers: Sequence[str],
    asks: str,
) -> Drawing:
    """One head blends the values of two words into a number that other pairs give as well.

    Beside it are two heads, with different weights: their two numbers together belong to one pair
    only. A ribbon is as wide as its weight. Below are the equations of the unknown values, which
    ``answers`` names. ``asks`` is the question above.

    Raises ``ValueError`` if there are not two words and two heads, if the heads have equal weights,
    or if a word or a number has no room.
    """
    sizes = len(tokens), len(answers), len(values), len(one), *two.shape
    if {*sizes} != {2}:
        raise ValueError(
            f"the drawing has 2 words and 2 heads: got {len(tokens)} words, {len(answers)} "
            f"answers, {len(values)} values, and weights {tuple(one.shape)} and {tuple(two.shape)}"
        )
    if abs(torch.linalg.det(two)) < 1e-6:
        raise ValueError(f"the 2 heads have equal weights: {two.tolist()}")
    step = torch.stack([-one[1], one[0]]) / one.max()  # on this way the average stays the same
    guesses = torch.stack([values + k * step for k in range(GUESSES)])
    ((blend,),) = _texts((one @ values)[None, None])
    (averages,) = _texts((two @ values)[None])
    (found,) = _texts(torch.linalg.solve(two, two @ values)[None])
    pairs = ", ".join(" and ".join(pair) for pair in _texts(guesses))
    words = [f"{token} {size}" for token, size in zip(tokens, _texts(guesses)[0], strict=True)]
    first, *others = (
        " + ".join(f"{weight} · {answer}" for weight, answer in zip(row, answers, strict=True))
        + f" = {total}"
        for row, total in zip(_texts(torch.stack([one, *two])), [blend, *averages], strict=True)
    )
    named = " and ".join(f"{name} = {size}" for name, size in zip(answers, found, strict=True))

    canvas = Canvas()
    middle = sum(LEFT) / 2, sum(RIGHT) / 2
    canvas.text((LEFT[0] + RIGHT[1]) / 2, 0, asks, size=NAME, color=QUERY, bold=True)
    for x, title in zip(middle, ("one head", "two heads"), strict=True):
        canvas.text(x, 30, title, size=NAME, color=INK, bold=True)
    _mix(canvas, LEFT, middle[:1], one[None], words, [blend])
    _mix(canvas, RIGHT, RIGHT, two, words, averages)

    lost, back = [first, pairs, "all fit"], [*others, f"only {named} fit"]
    for x, lines, color in zip(middle, (lost, back), (RED, VALUE), strict=True):
        for k, line in enumerate(lines):
            canvas.text(x, LINES + 22 * k, line, color=INK if line != lines[-1] else color)
    return canvas.finish(
        f"{asks} The words are {' and '.join(words)}. One head: {first}. The pairs {pairs} all "
        f"fit. Two heads: {', and '.join(others)}. Only {named} fit. Ribbons from the words to "
        "each result are as wide as these weights."
    )


def _texts(numbers: Tensor) -> list[list[str]]:
    return Matrix(numbers, name="numbers").numbers()


def _mix(
    canvas: Canvas,
    places: Sequence[float],
    ends: Sequence[float],
    weights: Tensor,
    words: Sequence[str],
    results: Sequence[str],
) -> None:
    """Two words, and ribbons from both to each average, side by side at both ends."""
    bottom = WORDS + CELL_HEIGHT
    given = weights.sum(dim=0).tolist()
    lefts = [x - FULL * total / 2 for x, total in zip(places, given, strict=True)]
    rows = zip(ends, weights.tolist(), _texts(weights), strict=True)
    for head, (end, row, shown) in enumerate(rows):
        stop = end - FULL * sum(row) / 2
        for j, weight in enumerate(row):
            wide = FULL * weight
            if not weight:
                continue
            with canvas.group("ribbon", 0, 0):
                canvas.ribbon((lefts[j], lefts[j] + wide, bottom), (stop, stop + wide, RESULTS),
                              fill=tint(WEIGHTS, 0.4), stroke=tint(WEIGHTS, 0.7))  # fmt: skip
            x, anchor = ((lefts[j] + wide + 6, "start") if (head if len(weights) > 1 else j)
                         else (lefts[j] - 6, "end"))  # fmt: skip
            canvas.text(x, bottom + 11, shown[j], color=WEIGHTS, anchor=anchor, bold=True)
            lefts[j], stop = lefts[j] + wide, stop + wide
    for x, word, share in zip(places, words, SHARES, strict=True):
        text_box(canvas, "word", x - WORD / 2, WORDS, WORD, word, VALUE, share)
    for x, result in zip(ends, results, strict=True):
        text_box(canvas, "average", x - WORD / 2, RESULTS, WORD, result, VALUE, sum(SHARES) / 2)
