"""Pieces of words as tokens, learned from texts."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import sentencepiece

from attnbook.data.vocabulary import END, PAD, START, UNKNOWN


class SubwordTokenizer:
    """Frequent pieces of words as tokens, by byte-pair encoding (the sentencepiece library).

    Texts are lower-cased first: "The" and "the" are one word then, and so are learned together.

    Source: Sennrich et al. 2016, https://arxiv.org/abs/1508.07909, section 3.2.
    """

    def __init__(self, model: bytes) -> None:
        self._model = model
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    @classmethod
    def learn(cls, texts: Iterable[str], size: int) -> "SubwordTokenizer":
        """Learn a vocabulary of ``size`` tokens, the four special ones included.

        Raises ``ValueError`` if the texts do not yield so many.
        """
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(text.lower() for text in texts),
                model_writer=model,
                vocab_size=size,
                model_type="bpe",
                character_coverage=1.0,
                max_sentence_length=2**24,  # longer ones would be left out
                num_threads=1,  # the same tokens every time
                pad_id=PAD,
                bos_id=START,
                eos_id=END,
                unk_id=UNKNOWN,
                minloglevel=2,
            )
        except RuntimeError as error:
            raise ValueError(f"{size} subwords could not be learned: {error}") from error
        return cls(model.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> "SubwordTokenizer":
        """Read what ``save`` wrote."""
        return cls(Path(path).read_bytes())

    def save(self, path: str | Path) -> None:
        """Write the vocabulary to a file in sentencepiece's own format."""
        Path(path).write_bytes(self._model)

    def __len__(self) -> int:
        return len(self._processor)

    def split(self, text: str) -> list[str]:
        """Cut a text into tokens; ``▁`` stands for the space before a word."""
        return self._processor.encode(text.lower(), out_type=str)

    def encode(self, text: str) -> list[int]:
        """A text's tokens as numbers."""
        return self._processor.encode(text.lower())

    def decode(self, numbers: Sequence[int]) -> str:
        """The text of these tokens."""
        return self._processor.decode(list(numbers))
