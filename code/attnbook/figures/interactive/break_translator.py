"""A trained translator that runs, and is broken and measured, in the page."""

from collections.abc import Mapping, Sequence
from functools import cache

from attnbook.data import NumberDataset
from attnbook.figures.interactive.base import Interactive, still_map
from attnbook.interventions import broken
from attnbook.translator import NUMBERS_TO_FRENCH, Translator

SWITCHES = (
    "divisor",
    "encoder_weights",
    "decoder_weights",
    "cross_weights",
    "encoder_heads_off",
    "decoder_heads_off",
    "cross_heads_off",
    "source_positions",
    "target_positions",
    "causal_mask",
    "residual",
    "norm",
    "feed_forward",
)
MOST_WRITTEN = 16  # tokens; the longest number takes 11


def break_translator(
    number: int | str = 481,
    *,
    show: Sequence[str] = SWITCHES,
    switches: Mapping[str, str | Sequence[int]] | None = None,
) -> Interactive:
    """A translator of numbers, English to French, whose parts the reader switches off.

    It runs in the page, with the weights of ``NUMBERS_TO_FRENCH``. Readers type a number below
    100,000, watch its French being written token by token, and see where each head looks. With any
    switches set, they can measure how many of 200 held-out numbers the translator still writes
    correctly, and they see some that it gets wrong. On the book's pages each switch has a link to
    its chapter.

    ``number`` is the number to begin with, or its English words. ``show`` names the switches that
    are visible at first; the others are behind "More switches". ``switches`` are set at the start:
    ``{"source_positions": "off"}``, as ``attnbook.interventions.broken`` takes them.

    Raises ``ValueError`` for a switch that does not exist or words that the translator does not
    know.

    >>> break_translator(2003, show=["source_positions"]).alt
    'A translator that runs in this page. It writes “two thousand three” as “deux mille trois”. \
Parts of it can be switched off.'
    """
    unknown = [name for name in show if name not in SWITCHES]
    if unknown:
        raise ValueError(f"there is no switch {', '.join(unknown)}; there are {list(SWITCHES)}")
    switches = dict(switches or {})
    translator = trained()
    tokens = translator.source_tokenizer
    words = tokens.spell(number) if isinstance(number, int) else number
    missing = [token for token in tokens.split(words) if token not in tokens.vocabulary.tokens]
    if missing:
        raise ValueError(f"the translator has no token for {missing} of {words!r}")
    with broken(translator.model, **switches):
        (written,) = translator.translate([words], max_length=MOST_WRITTEN)
        columns, rows, maps = translator.attention(words, written)
    still = still_map(maps.cross[0, 0].mean(dim=0), rows, columns)
    alt = (
        f"A translator that runs in this page. It writes “{words}” as “{written}”. "
        "Parts of it can be switched off."
    )
    data = {
        "words": words,
        "show": list(show),
        "switches": switches,
        "tested": held_out(),
        **running(),
    }
    return Interactive("break_translator", data, alt=alt, still=still)


def running() -> dict:
    """What a page needs besides the weights to run the translator."""
    translator = trained()
    sides = translator.source_tokenizer, translator.target_tokenizer
    return {
        "tokens": [side.vocabulary.tokens for side in sides],
        "heads": translator.options["num_heads"],
        "most": MOST_WRITTEN,
    }


@cache
def held_out() -> list[int]:
    """The 200 numbers that the figure tests: none was in the translator's training."""
    drawn = NumberDataset("en", "fr", below=100_000).sample(300, held_out=True, seed="page")
    return list(dict.fromkeys(drawn))[:200]


@cache
def trained() -> Translator:
    """The package's translator of numbers, which the figures run."""
    return Translator.load(NUMBERS_TO_FRENCH, device="cpu")
