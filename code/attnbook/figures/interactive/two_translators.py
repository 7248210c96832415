"""Two recurrent translators in the page: one has one vector of the source, the other looks back."""

from difflib import SequenceMatcher

import matplotlib.pyplot as plt

from attnbook.data import END, SPECIAL
from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive
from attnbook.two_translators import D_MODEL, NUMBERS, load, looks, measured, translate

STEPS = (1, 21, 321, 4321, 54_321)


def two_translators(number: int = 54_321) -> Interactive:
    """Two translators of numbers, English to French, that get the same number.

    Both run in the page, with the weights of ``attnbook.two_translators``. One squeezes the number
    into one vector, which fills up while it reads. The other looks back at all tokens for each one
    that it writes, and lines show where it looks. Readers lengthen the number, or type one.

    Raises ``ValueError`` for a number that is not between 0 and 999,999.

    >>> two_translators(47).alt
    'Two translators that run in this page get the number 47. The one with one vector writes \
“quarante-sept”, which is right. The one that looks back writes “quarante-sept”, which is right.'
    """
    if not 0 <= number < NUMBERS.below:
        raise ValueError(f"the translators know numbers from 0 to 999,999: got {number}")
    wanted = NUMBERS.target.split(NUMBERS.texts(number)[1])
    written = {design: translate(model, [number])[0] for design, model in load().items()}
    told = [
        f"“{NUMBERS.target.join(tokens)}”, which is {'right' if tokens == wanted else 'wrong'}."
        for tokens in written.values()
    ]
    alt = (
        f"Two translators that run in this page get the number {number:,}. The one with one vector "
        f"writes {told[0]} The one that looks back writes {told[1]}"
    )
    data = {
        "number": number,
        "steps": STEPS,
        "features": list(range(D_MODEL)),
        "tokens": [side.vocabulary.tokens for side in (NUMBERS.source, NUMBERS.target)],
        "right": measured(),
    }
    return Interactive("two_translators", data, alt=alt, still=_still(number, written, wanted))


def _still(number: int, written: dict[str, list[str]], wanted: list[str]) -> plt.Figure:
    """Both translators side by side: English above, French below, and what joins them."""
    still, panels = style.subplots(columns=2)
    still.set_size_inches(8, 3.2)
    english = [*NUMBERS.source.split(NUMBERS.source.spell(number)), SPECIAL[END].strip("<>")]
    for axes, (design, tokens), title in zip(
        panels, written.items(), ("One vector", "Looking back"), strict=True
    ):
        reads = [i / max(len(english) - 1, 1) for i in range(len(english))]
        writes = [i / max(len(tokens) - 1, 1) for i in range(len(tokens))]
        right = tokens == wanted
        same = SequenceMatcher(None, tokens, wanted, autojunk=False).get_matching_blocks()
        hits = {i for block in same for i in range(block.a, block.a + block.size)}
        for x, text in zip(reads, english, strict=True):
            axes.text(x, 1.04, text, rotation=60, color=style.KEY, size=9)
        for i, (x, text) in enumerate(zip(writes, tokens, strict=True)):
            color = style.QUERY if i in hits else style.RED
            axes.text(x, -0.04, text, rotation=60, color=color, size=9, ha="right", va="top")
        if design == "one_vector":
            axes.plot(0.5, 0.5, "s", markersize=22, color=style.VALUE)
            for x, y in [*((x, 1) for x in reads), *((x, 0) for x in writes)]:
                axes.plot([x, 0.5], [y, 0.5], color=style.NEUTRAL, linewidth=0.8, zorder=0)
        else:
            for x, row in zip(writes, looks(load()[design], number, tokens), strict=True):
                for place, weight in zip(reads, row, strict=True):
                    axes.plot([place, x], [1, 0], color=style.WEIGHTS, linewidth=8 * weight)
        axes.set_title(f"{title}: {'right' if right else 'wrong'}", pad=62)
        axes.set(xlim=(-0.1, 1.15), ylim=(-0.02, 1.02))
        axes.axis("off")
    return still
