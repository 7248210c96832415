"""A translator that writes by itself, for the landing page; three buttons break it in place."""

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path
from torch import Tensor

from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive
from attnbook.figures.interactive.break_translator import MOST_WRITTEN, measured, running, trained

NUMBERS = (97, 481, 72, 1066, 2003, 30_071, 4_500)  # the first opens; a button shows the rest
ABOUT = "This small Transformer in your browser turns numbers into French."
HINT = " Choose a French word to see how much the translator looked at each English word."
BREAKS = {  # what each button does and how it undoes that, what it switches, what is gone then
    ("Mix up the word order", "Restore the word order"): (
        {"source_positions": "shuffled"},
        "Each English word now has the position of a different word.",
    ),
    ("Hide the English", "Show the English again"): (
        {"cross_weights": "off"},
        "Without the English, it writes the same words for every number.",
    ),
    ("Hide its own words", "Show its own words again"): (
        {"decoder_weights": "off"},
        "The translator no longer sees what it has already written.",
    ),
}


def hero() -> Interactive:
    """The book's first picture: a running translator that shows where it looks, and three breaks.

    It writes a number in French, one token after the other. Ribbons lead from each token to the
    English ones, as wide as the weights of the last cross-attention, averaged over the heads. A
    button takes one thing away from the model and shows what it writes then, and how many of 200
    held-out numbers come out right. Once, when the figure is seen, the English is hidden and shown
    again by itself, and captions say so. All of this is computed in the page, except for the
    numbers that are right when nothing is broken.

    >>> hero().alt
    'A small Transformer writes “ninety-seven” as “quatre-vingt-dix-sept”. Ribbons show at which \
English words it looked for each French one.'
    """
    translator = trained()
    words = translator.source_tokenizer.spell(NUMBERS[0])
    (written,) = translator.translate([words], max_length=MOST_WRITTEN)
    columns, rows, maps = translator.attention(words, written)
    alt = (
        f"A small Transformer writes “{words}” as “{written}”. "
        "Ribbons show at which English words it looked for each French one."
    )
    data = {
        "numbers": NUMBERS,
        "about": ABOUT,
        "hint": HINT,
        "breaks": [
            {"act": act, "undo": undo, "switches": switches, "why": why}
            for (act, undo), (switches, why) in BREAKS.items()
        ],
        **running(),
        **measured(),
    }
    still = _still(columns, rows[1:], maps.cross[-1, 0].mean(dim=0))
    return Interactive("hero", data, alt=alt, still=still)


def _still(english: list[str], french: list[str], weights: Tensor) -> plt.Figure:
    """Both texts as chips, and ribbons as wide as the weights. ``<end>`` is only looked at."""
    still, axes = style.subplots()
    still.set_size_inches(6.4, 2.2)
    tops = _chips(axes, english, 1, style.KEY)
    bottoms = _chips(axes, french, 0, style.QUERY)
    for i, at in enumerate(bottoms):
        left = at - 0.35
        for to, weight in zip(tops, weights[i].tolist(), strict=True):
            axes.add_patch(_ribbon((left, 0.14), (to - 0.35 * weight, 0.86), 0.7 * weight))
            left += 0.7 * weight
    axes.set(xlim=(-0.1, max(len(english), len(french)) + 0.1), ylim=(-0.2, 1.2))
    axes.axis("off")
    return still


def _chips(axes: plt.Axes, texts: list[str], y: float, color: str) -> list[float]:
    """Draw a row of tokens; return where the middle of each is."""
    middles = [i + 0.5 for i in range(len(texts))]
    for x, text in zip(middles, texts, strict=True):
        round_box = FancyBboxPatch(
            (x - 0.38, y - 0.1),
            0.76,
            0.2,
            "round,pad=0.04",
            ec=color,
            fc="white",
            mutation_aspect=1,
        )
        axes.add_patch(round_box)
        axes.text(x, y, text.strip("<>"), ha="center", va="center", color=color)
    return middles


def _ribbon(start: tuple[float, float], end: tuple[float, float], width: float) -> PathPatch:
    """A band of the same width at both ends, from the left corner of each."""
    (x, low), (to, high) = start, end
    middle = (low + high) / 2
    there = [(x, low), (x, middle), (to, middle), (to, high)]
    back = [(x + width, y) for x, y in reversed(there)]
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3]
    return PathPatch(Path(there + back, codes), fc=style.WEIGHTS, ec="none", alpha=0.5)
