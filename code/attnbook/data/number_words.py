"""Numbers in words: pairs of texts without end, each with exactly one right translation."""

import functools
import hashlib
import random
import re
from collections.abc import Sequence

from num2words import num2words

from attnbook.data.batches import Pair
from attnbook.data.vocabulary import Vocabulary

LANGUAGES = ("de", "en", "es", "fr", "fr_CH")


class NumberTokenizer:
    """The words that a language's numbers are made of, as tokens: every number can be written.

    A token that continues a word starts with ``-`` if a hyphen joins it, and with ``+`` if nothing
    separates them. For number words ``join`` undoes ``split``. English is spelt without commas and
    without "and": four hundred eighty-one.

    Raises ``ValueError`` for a language that is not among ``LANGUAGES``.

    >>> tokens = NumberTokenizer("fr")
    >>> tokens.split(tokens.spell(97)), NumberTokenizer("de").split("siebenundneunzig")
    (['quatre', '-vingt', '-dix', '-sept'], ['sieben', '+und', '+neunzig'])
    """

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise ValueError(f"language must be one of {LANGUAGES}: got {language!r}")
        self.language = language
        self._pieces = None
        if language == "de":  # writes a number as one word
            numbers = [*range(20), *range(20, 100, 10)]
            words = [num2words(n, lang="de") for n in numbers]
            words += ["ein", "eine", "und", "hundert", "tausend"]
            longest_first = sorted(words, key=len, reverse=True)
            self._pieces = re.compile("|".join([*longest_first, r"\w+"]))

    @functools.cached_property
    def vocabulary(self) -> Vocabulary:
        """The language's tokens."""
        return _vocabulary(self.language)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def spell(self, number: int) -> str:
        """Write a number in words. Raises ``ValueError`` below 0 and from 10¹² on."""
        if not 0 <= number < 10**12:
            raise ValueError(f"only numbers from 0 to 10**12 - 1 can be spelt: got {number}")
        rest = number % 1000
        if not 1000 < number < 10**6 or not rest:
            return _spelled(number, self.language)
        # the thousands, then what is left
        between = "" if self.language == "de" else " "
        return _spelled(number - rest, self.language) + between + _spelled(rest, self.language)

    def split(self, text: str) -> list[str]:
        """Cut a text into tokens."""
        tokens = []
        for word in text.split(" "):
            if self._pieces is None:
                tokens += re.split("(?=-)", word)
            else:
                first, *others = self._pieces.findall(word) or [word]
                tokens += [first, *("+" + part for part in others)]
        return tokens

    def join(self, tokens: Sequence[str]) -> str:
        """Join tokens into a text."""
        return " ".join(tokens).replace(" -", "-").replace(" +", "")

    def encode(self, text: str) -> list[int]:
        """A text's tokens as numbers."""
        return self.vocabulary.encode(self.split(text))

    def decode(self, numbers: Sequence[int]) -> str:
        """The text of these tokens."""
        return self.join(self.vocabulary.decode(numbers))


@functools.lru_cache(10_000)  # spelling takes time
def _spelled(number: int, language: str) -> str:
    words = num2words(number, lang=language)
    if language == "en":
        words = words.replace(",", "").replace(" and ", " ")
    return words


@functools.cache  # spelling takes time
def _vocabulary(language: str) -> Vocabulary:
    tokens = NumberTokenizer(language)
    # what a number is put together from: up to 999, then one thousand, two thousand, a million, …
    parts = [*range(1000), *(n * 1000**power for power in (1, 2, 3) for n in (1, 2))]
    return Vocabulary(token for n in parts for token in tokens.split(tokens.spell(n)))


class NumberDataset:
    """Numbers below ``below`` in the words of two languages: pairs without end, and exact.

    Some numbers are held out, for testing only. By value: about a tenth of all, chosen by a hash of
    ``seed`` and the number, so that the tested numbers are like the others. By length, with
    ``longest=n``: all whose source has more than n tokens, so that the tested numbers are longer
    than any that were learned.

    Raises ``ValueError`` if ``below`` is less than 100 or more than 10¹².

    >>> numbers = NumberDataset("en", "fr", below=1000)
    >>> numbers.texts(481)
    ('four hundred eighty-one', 'quatre cent quatre-vingt-un')
    """

    def __init__(
        self,
        source: str = "en",
        target: str = "fr",
        *,
        below: int = 100_000,
        longest: int | None = None,
        seed: int = 0,
    ) -> None:
        if not 100 <= below <= 10**12:
            raise ValueError(f"below must lie between 100 and 10**12: got {below}")
        self.source, self.target = NumberTokenizer(source), NumberTokenizer(target)
        self.below, self.longest, self.seed = below, longest, seed
        self._pairs: dict[int, Pair] = {}

    def texts(self, number: int) -> tuple[str, str]:
        """A number in the words of both languages."""
        return self.source.spell(number), self.target.spell(number)

    def pair(self, number: int) -> Pair:
        """The tokens of a number in both languages."""
        if number not in self._pairs:  # spelling takes time
            source, target = self.texts(number)
            self._pairs[number] = self.source.encode(source), self.target.encode(target)
        return self._pairs[number]

    def is_held_out(self, number: int) -> bool:
        """Whether this number is for testing only."""
        if self.longest is not None:
            return len(self.source.split(self.source.spell(number))) > self.longest
        digest = hashlib.sha256(f"{self.seed} {number}".encode()).digest()
        return digest[0] < 26  # of 256 values: a tenth

    def sample(
        self,
        count: int,
        *,
        held_out: bool = False,
        seed: int | str = 0,
        round_share: float = 0.0,
    ) -> list[int]:
        """Draw ``count`` numbers at random, the same for the same ``seed``, from one of the parts.

        About ``round_share`` of them are numbers that people try first: those below 1,000 and the
        multiples of 100, which are rare among all.
        Raises ``ValueError`` if hardly any number belongs to that part.
        """
        generator = random.Random(f"{self.seed} {seed}")
        drawn: list[int] = []
        tries = 0
        while len(drawn) != count:
            if tries == 1000 * (len(drawn) + 10):
                part = "held out" if held_out else "for training"
                raise ValueError(
                    f"of {tries} numbers below {self.below}, only {len(drawn)} are {part} "
                    f"with longest={self.longest}"
                )
            number = generator.randrange(self.below)
            if round_share and generator.random() < round_share:
                number = generator.choice((number % 1000, number // 100 * 100))
            if self.is_held_out(number) == held_out:
                drawn.append(number)
            tries += 1
        return drawn
