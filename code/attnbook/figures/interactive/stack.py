"""The running translator and its parts: words, heads, a network, and what it writes."""

from collections.abc import Sequence

from attnbook.figures.interactive.base import Interactive, still_map
from attnbook.figures.interactive.break_translator import LARGEST, MOST_WRITTEN, running, trained


def stack(numbers: Sequence[int] = (481, 97, 2003, 30_071)) -> Interactive:
    """Where each head of a running translator looks, and what it writes without one of its parts.

    Once it is seen, it writes the French of the first of ``numbers``, token after token, each of
    which runs back and asks for the next; a button takes the next number. Ribbons lead from each
    head of the last cross-attention to the English words, as wide as its weights before the chosen
    French token was written; those of a chosen head are strong. Each head and the networks have a
    switch, and the page computes what the model writes without them.

    Raises ``ValueError`` without a number, or for one that the translator has not learned.

    >>> stack([76]).alt
    'A translator that runs in this page, with four heads and a network. It writes “seventy-six” \
as “soixante-seize”. Heads and network can be switched off.'
    """
    unknown = [number for number in numbers if not 0 <= number <= LARGEST]
    if unknown or not numbers:
        raise ValueError(f"needs at least one number, from 0 to {LARGEST:,}: got {list(numbers)}")
    translator = trained()
    words = translator.source_tokenizer.spell(numbers[0])
    (written,) = translator.translate([words], max_length=MOST_WRITTEN)
    columns, rows, maps = translator.attention(words, written)
    alt = (
        "A translator that runs in this page, with four heads and a network. It writes "
        f"“{words}” as “{written}”. Heads and network can be switched off."
    )
    data = {
        "numbers": list(numbers),
        **running(),
    }
    still = still_map(maps.cross[-1, 0].mean(dim=0), rows, columns)
    return Interactive("stack", data, alt=alt, still=still)
