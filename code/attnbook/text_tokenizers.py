"""Any text as tokens and back: the pieces that trained models read."""

from collections.abc import Iterator, Sequence
from pathlib import Path


class TextTokenizer:
    """Any text as tokens and back: byte pair encoding, the pieces that a model was trained with.

    ``tokens`` are all pieces in the order of their numbers, ``merges`` the pairs of pieces that are
    joined, in this order. A digit is a token of its own. A ``special`` token, such as
    ``<|im_end|>``, is one token wherever a text has it.

    Source: Sennrich et al. 2016, https://arxiv.org/abs/1508.07909, of bytes as in Radford et al.
    2019, section 2.2.
    """

    def __init__(
        self, tokens: Sequence[str], merges: Sequence[tuple[str, str]], special: Sequence[str]
    ) -> None:
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

        numbers = {token: i for i, token in enumerate(tokens)}
        tokenizer = Tokenizer(models.BPE(vocab=numbers, merges=list(merges)))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
            ]
        )
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
        self._tokenizer = tokenizer
        self.special = {token: numbers[token] for token in special}

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's tokens."""
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of these tokens; bytes that are no valid character become ``�``."""
        return self._tokenizer.decode(list(tokens), skip_special_tokens=False)

    def split(self, text: str) -> list[str]:
        """The pieces of a text, each as a text of its own."""
        return [self.decode([token]) for token in self.encode(text)]

    def stream(self, tokens: Iterator[int]) -> Iterator[str]:
        """The text of tokens as they come, such as those of ``generate``.

        A character of several tokens comes with its last one.
        """
        waiting, text = [], ""
        for token in tokens:
            waiting.append(token)
            text = self.decode(waiting)
            if not text.endswith("\N{REPLACEMENT CHARACTER}"):
                yield text
                waiting, text = [], ""
        if text:
            yield text


class WordPieceTokenizer:
    """Any text as tokens and back: WordPiece, the longest known pieces of each word.

    Texts are lower-cased, and accents are dropped. A piece that continues a word begins with
    ``##``. ``path`` is a file ``tokenizer.json`` as the library tokenizers writes it.

    Source: Schuster and Nakajima 2012, section 3; the rule of the longest piece is that of Devlin
    et al. 2019, https://arxiv.org/abs/1810.04805.
    """

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's tokens, between those of [CLS] and [SEP]."""
        return self._tokenizer.encode(text).ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of these tokens, in lower case, without [CLS] and [SEP]."""
        return self._tokenizer.decode(list(tokens))

    def split(self, text: str) -> list[str]:
        """The pieces of a text, [CLS] and [SEP] among them."""
        return self._tokenizer.encode(text).tokens
