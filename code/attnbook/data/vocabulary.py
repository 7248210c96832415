"""Tokens and their numbers."""

from collections.abc import Iterable, Sequence

PAD, START, END, UNKNOWN = range(4)
SPECIAL = ("<pad>", "<start>", "<end>", "<unknown>")


class Vocabulary:
    """Tokens and their numbers, the four special symbols first.

    >>> vocabulary = Vocabulary(["vingt", "deux", "vingt"])
    >>> vocabulary.encode(["deux", "vingt", "mille"]), vocabulary.decode([5, 4])
    ([5, 4, 3], ['deux', 'vingt'])
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens = list(dict.fromkeys([*SPECIAL, *tokens]))
        self._numbers = {token: i for i, token in enumerate(self.tokens)}

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """The tokens' numbers; ``UNKNOWN`` for what is not in the vocabulary."""
        return [self._numbers.get(token, UNKNOWN) for token in tokens]

    def decode(self, numbers: Sequence[int]) -> list[str]:
        """The tokens of these numbers. Raises ``IndexError`` for one that is too large."""
        return [self.tokens[number] for number in numbers]
