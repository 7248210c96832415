"""A verb and its two nouns in two sentences: what one head hands over, and what two heads do."""

from collections.abc import Sequence

from attnbook.figures import drawings
from attnbook.figures.interactive.base import Interactive


def one_head_or_two(words: Sequence[str], *, questions: Sequence[str], asks: str) -> Interactive:
    """One head mixes two nouns, with weights that the reader sets; two heads bring one each.

    The nouns go to what the verb gets once, when the figure is seen. ``words`` are a noun, a verb
    and a noun, and the second sentence swaps the nouns. ``questions`` say what each of two heads
    looks for, and ``asks`` says both. Without scripts, weights stay equal.

    Raises ``ValueError`` where the drawing does.
    """
    still = drawings.one_head_or_two(words, questions=questions, asks=asks)
    data = {"words": list(words), "questions": list(questions), "asks": asks}
    return Interactive("one_head_or_two", data, alt=still.alt, still=still)
