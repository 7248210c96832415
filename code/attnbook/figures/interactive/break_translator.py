"""A trained translator that runs, and is broken and measured, in the page."""

from collections.abc import Mapping, Sequence
from functools import cache

from attnbook.data import NumberDataset
from attnbook.figures.interactive.base import Interactive, still_map
from attnbook.interventions import broken
from attnbook.translator import NUMBERS_TO_FRENCH, Translator

SWITCHES = {  # each as attnbook.interventions.broken takes it, and what readers see
    "divisor=off": "No division of scores",
    "divisor=sqrt(d_model)": "Divide the scores by √32, not √8",
    "encoder_weights=uniform": "Encoder: equal weights",
    "decoder_weights=uniform": "Decoder: equal weights on its own words",
    "cross_weights=uniform": "Decoder: equal weights on the English",
    "encoder_weights=off": "No encoder attention",
    "cross_weights=off": "No cross-attention",
    "source_positions=off": "No English positions",
    "source_positions=shuffled": "Shuffled English positions",
    "target_positions=off": "No French positions",
    "target_positions=shuffled": "Shuffled French positions",
    "residual=off": "No residual addition",
    "norm=off": "No layer norm",
    "feed_forward=off": "No feed-forward network",
    "causal_mask=off": "No causal mask",
}
HEADS = {
    "encoder_heads_off": "Self-attention of the encoder, without",
    "decoder_heads_off": "Self-attention of the decoder, without",
    "cross_heads_off": "Cross-attention, without",
}
PARTS = (
    "cross_weights=off",
    "source_positions=off",
    "residual=off",
    "norm=off",
    "feed_forward=off",
    "encoder_weights=off",
    "divisor=off",
    "causal_mask=off",
)
LARGEST = 99_999  # that the translator has learned
MOST_WRITTEN = 16  # tokens; the longest number takes 11


def break_translator(
    number: int = 481,
    *,
    show: Sequence[str] = PARTS,
    switches: Mapping[str, str | Sequence[int]] | None = None,
) -> Interactive:
    """A translator of numbers, English to French, whose parts the reader takes away.

    It runs in the page, with the weights of ``NUMBERS_TO_FRENCH``. Ribbons lead from each French
    token to the English ones, as wide as the weights of the cross-attention, averaged over the
    heads. A switch changes the French and the ribbons at once, above what the translator writes as
    trained. Readers can type another number, and count how many of 200 held-out numbers the
    translator still writes correctly.

    ``number`` is the number to begin with. ``show`` names the switches: keys of ``SWITCHES``, or
    of ``HEADS``, which have a switch for each head. ``switches`` are set at the start:
    ``{"source_positions": "off"}``, as ``attnbook.interventions.broken`` takes them.

    Raises ``ValueError`` for a switch that does not exist or a number that the translator has not
    learned.

    >>> break_translator(2003, show=["source_positions=off"]).alt
    'A translator that runs in this page. It writes “two thousand three” as “deux mille trois”. \
Parts of it can be switched off.'
    """
    there = [*SWITCHES, *HEADS]
    unknown = [name for name in show if name not in there]
    if unknown:
        raise ValueError(f"there is no switch {', '.join(unknown)}; there are {there}")
    if not 0 <= number <= LARGEST:
        raise ValueError(f"needs a number from 0 to {LARGEST:,}: got {number}")
    translator = trained()
    words = translator.source_tokenizer.spell(number)
    switches = dict(switches or {})
    with broken(translator.model, **switches):
        (written,) = translator.translate([words], max_length=MOST_WRITTEN)
        columns, rows, maps = translator.attention(words, written)
    still = still_map(maps.cross[0, 0].mean(dim=0), rows, columns)
    alt = (
        f"A translator that runs in this page. It writes “{words}” as “{written}”. "
        "Parts of it can be switched off."
    )
    plain = [[SWITCHES[name], *name.split("=")] for name in show if name in SWITCHES]
    heads = range(translator.options["num_heads"])
    groups = [
        [HEADS[name], [[f"head {head + 1}", name, head] for head in heads]]
        for name in show
        if name in HEADS
    ]
    data = {
        "number": number,
        "groups": [[None, plain], *groups] if plain else groups,
        "switches": switches,
        **measured(),
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
def measured() -> dict[str, list[int]]:
    """The numbers that a page tests, and those that come out wrong when nothing is broken."""
    translator = trained()
    words = [translator.source_tokenizer.spell(number) for number in held_out()]
    written = translator.translate(words, max_length=MOST_WRITTEN)
    right = map(translator.target_tokenizer.spell, held_out())
    pairs = zip(held_out(), written, right, strict=True)
    return {"tested": held_out(), "wrong": [number for number, a, b in pairs if a != b]}


@cache
def trained() -> Translator:
    """The package's translator of numbers, which the figures run."""
    return Translator.load(NUMBERS_TO_FRENCH, device="cpu")
