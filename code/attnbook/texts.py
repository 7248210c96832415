"""English passages to measure a model on; their files have the sources.

``TEXTS`` are short, some forty tokens. ``LONG_TEXTS`` have at least 1,500 tokens. ``MEANINGS`` has
sentences that ask what a model can tell apart. ``PAIRS`` are questions and answers to measure a
search on.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Pair:
    """An answer, with a question that uses its words and one that uses none of them."""

    subject: str  # two answers share it
    answer: str
    same_words: str
    other_words: str


def _file(name: str) -> dict:
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf8"))


def _passages(name: str) -> tuple[str, ...]:
    return tuple(passage["text"] for passage in _file(name)["passages"])


TEXTS = _passages("texts.toml")
LONG_TEXTS = _passages("long_texts.toml")
MEANINGS = _file("meanings.toml")
PAIRS = tuple(Pair(**pair) for pair in _file("question_pairs.toml")["pair"])
MEASURED = 20  # of ``TEXTS``, on which everything is measured; the others choose heads for it
SHORT = range(160, 400)  # letters of a short text


def short_text(seed: int) -> str:
    """The text for this seed: one of twenty ``TEXTS``, and from 20 on, sentences of a long one.

    So every experiment can be run on texts that nobody has chosen. Raises ``ValueError`` for a
    negative seed and if no text is left.

    >>> short_text(0) == TEXTS[0], short_text(20) in LONG_TEXTS[0].replace("\\n", " ")
    (True, True)
    """
    if seed < 0:
        raise ValueError(f"texts are counted from 0: got {seed}")
    if seed < MEASURED:
        return TEXTS[seed]
    round_, passage = divmod(seed - MEASURED, len(LONG_TEXTS))
    pieces = _pieces(LONG_TEXTS[passage])
    if round_ >= len(pieces):
        raise ValueError(f"there is no text for the seed {seed}")
    return pieces[round_]


def _pieces(passage: str) -> list[str]:
    """Whole sentences in a row, as many as make a short text; not the first, often an address."""
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z\"'(])", passage.replace("\n", " "))
    pieces = [""]
    for sentence in sentences:
        if len(pieces[-1]) >= SHORT.start:
            pieces.append("")
        pieces[-1] = f"{pieces[-1]} {sentence}".strip()
    return [piece for piece in pieces[1:] if len(piece) in SHORT]
