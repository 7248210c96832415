"""Two recurrent translators in the page: one has one vector of the source, the other looks back."""

from difflib import SequenceMatcher

import matplotlib.pyplot as plt

from attnbook.data import END, SPECIAL
from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive
from attnbook.two_translators import D_MODEL, NUMBERS, load, looks, measured, translate

STEPS = (1, 21, 321, 4321, 54_321)
FAINT = 0.04  # weights that are not drawn, as in the script


def two_translators(number: int = 54_321) -> Interactive:
    """Two translators of numbers, English to French, that get the same number.

    Both run in the page, with the weights of ``attnbook.two_translators``. One squeezes the number
    into one vector. The other keeps a vector for each token and looks back at them for each token
    that it writes, and ribbons show where it looks. Both translations are shown at once, and a
    button shows how they are written. Readers lengthen the number, or type one.

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
    """Both translators, one below the other: English above, French below, and what joins them."""
    still, panels = style.subplots(nrows=2, height=4.4)
    still.set_figwidth(8)
    english = [*NUMBERS.source.split(NUMBERS.source.spell(number)), SPECIAL[END].strip("<>")]
    for axes, (design, tokens), title in zip(
        panels, written.items(), ("One vector", "Looking back"), strict=True
    ):
        reads, writes = (
            [(i + 0.5) / len(side) for i in range(len(side))] for side in (english, tokens)
        )
        blocks = SequenceMatcher(None, tokens, wanted, autojunk=False).get_matching_blocks()
        hits = {i for block in blocks for i in range(block.a, block.a + block.size)}
        for x, text in zip(reads, english, strict=True):
            axes.text(x, 1.05, text, color=style.KEY, size=10, ha="center")
        for i, (x, text) in enumerate(zip(writes, tokens, strict=True)):
            shown, color = (text, style.QUERY) if i in hits else (f"✗ {text}", style.RED)
            axes.text(x, -0.05, shown, color=color, size=10, ha="center", va="top")
        if design == "one_vector":
            axes.plot(0.5, 0.5, "s", markersize=16, color=style.VALUE)
            for x, y in [*((x, 1) for x in reads), *((x, 0) for x in writes)]:
                axes.plot([x, 0.5], [y, 0.5], color=style.NEUTRAL, linewidth=0.8, zorder=0)
        else:
            for x, row in zip(writes, looks(load()[design], number, tokens), strict=True):
                for place, weight in zip(reads, row, strict=True):
                    if weight > FAINT:
                        axes.plot([place, x], [1, 0], color=style.WEIGHTS, linewidth=8 * weight)
        axes.set_title(f"{title}: {'right' if tokens == wanted else 'wrong'}", loc="left", pad=22)
        axes.set(xlim=(0, 1), ylim=(-0.2, 1.02))
        axes.axis("off")
    return still
