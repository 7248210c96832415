"""A Transformer together with the tokens of its two languages: texts in, texts out."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from attnbook.atomic_files import atomic_write, read_json
from attnbook.checks import require_at_least_1
from attnbook.data import END, SPECIAL, START, NumberTokenizer, SubwordTokenizer, collate
from attnbook.decoding import beam_search, greedy_search, inference
from attnbook.training import default_device, load_weights, save_weights
from attnbook.transformer import AttentionMaps, Transformer

Tokenizer = NumberTokenizer | SubwordTokenizer

# the folders of the translators that come with the package: of descriptions of photographs, and
# of numbers below 100,000
ENGLISH_TO_GERMAN = Path(__file__).parent / "multi30k_en_de"
NUMBERS_TO_FRENCH = Path(__file__).parent / "numbers_en_fr"


class Translator:
    """Translate texts with a Transformer of given sizes, yet to be trained or loaded.

    ``options`` are those of ``Transformer``, but for the sizes of the vocabularies, which follow
    from the tokens.
    """

    def __init__(
        self, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer, **options: Any
    ) -> None:
        self.source_tokenizer, self.target_tokenizer = source_tokenizer, target_tokenizer
        self.options = options
        self.model = Transformer(
            source_size=len(source_tokenizer), target_size=len(target_tokenizer), **options
        )

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam_size: int = 1,
        length_penalty: float = 0.6,
        max_length: int | None = None,
        batch_size: int = 256,
    ) -> list[str]:
        """Translate texts, by greedy search or, with a ``beam_size`` above 1, by beam search.

        A translation ends after ``max_length`` tokens at the latest; by default after ten more than
        twice the length of the longest source, or where the model's learned positions end.
        """
        if isinstance(texts, str):
            raise TypeError(f"texts must be a list of texts: got the single text {texts!r}")
        require_at_least_1(batch_size=batch_size)
        device = next(self.model.parameters()).device
        sources = [self.source_tokenizer.encode(text) for text in texts]
        if max_length is None:
            max_length = 10 + 2 * max(map(len, sources), default=0)
            if self.options.get("num_positions"):
                max_length = min(max_length, self.options["num_positions"])
        order = sorted(range(len(texts)), key=lambda i: len(sources[i]))
        translations = [""] * len(texts)
        for first in range(0, len(order), batch_size):
            rows = order[first : first + batch_size]
            batch = collate([(sources[i], []) for i in rows]).to(device)
            search = greedy_search
            if beam_size != 1:
                search = partial(beam_search, beam_size=beam_size, length_penalty=length_penalty)
            found = search(
                self.model,
                batch.source,
                batch.source_lengths,
                start_token=START,
                end_token=END,
                max_length=max_length,
            )
            for i, tokens in zip(rows, found, strict=True):
                translations[i] = self.target_tokenizer.decode(tokens)
        return translations

    def attention(self, source: str, target: str) -> tuple[list[str], list[str], AttentionMaps]:
        """How the model attends when it reads a source and writes this target.

        Returns the tokens of the source, those of the target, and all maps, for a batch of one.
        The target's tokens begin with the start symbol, because they are what the decoder reads:
        row t of ``target`` and ``cross`` belongs to the writing of token t + 1.
        """
        device = next(self.model.parameters()).device
        pair = (self.source_tokenizer.encode(source), self.target_tokenizer.encode(target))
        batch = collate([pair]).to(device)
        with inference(self.model):
            _, maps = self.model(batch.source, batch.target[:, :-1], need_weights=True)
        return (
            [*self.source_tokenizer.split(source), SPECIAL[END]],
            [SPECIAL[START], *self.target_tokenizer.split(target)],
            maps,
        )

    def save(self, folder: str | Path, *, dtype: torch.dtype | None = None) -> None:
        """Write weights, sizes and tokens into a folder, from which ``load`` reads them.

        With a ``dtype`` the weights are rounded to it in the file.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        config = {"model": self.options}
        for side in ("source", "target"):
            tokenizer = getattr(self, f"{side}_tokenizer")
            if isinstance(tokenizer, NumberTokenizer):
                config[side] = {"numbers": tokenizer.language}
            elif side == "target" and tokenizer is self.source_tokenizer:
                config[side] = config["source"]
            else:
                config[side] = {"subwords": f"{side}.model"}
                tokenizer.save(folder / f"{side}.model")
        save_weights(self.model, folder / "model.safetensors", dtype=dtype)
        text = json.dumps(config, indent=2) + "\n"
        atomic_write(folder / "config.json", text.encode())

    @classmethod
    def load(cls, folder: str | Path, *, device: torch.device | str | None = None) -> "Translator":
        """Read what ``save`` wrote; ready to translate, by default on a CUDA GPU if there is one.

        Raises ``FileNotFoundError`` if the folder holds no translator.
        """
        folder = Path(folder)
        config = read_json(folder / "config.json")
        source = _load_tokenizer(folder, config["source"])
        one_for_both = config["target"] == config["source"]
        target = source if one_for_both else _load_tokenizer(folder, config["target"])
        translator = cls(source, target, **config["model"])
        load_weights(translator.model, folder / "model.safetensors")
        translator.model.to(device or default_device()).eval()
        return translator


def _load_tokenizer(folder: Path, described: dict[str, str]) -> Tokenizer:
    if "numbers" in described:
        return NumberTokenizer(described["numbers"])
    return SubwordTokenizer.load(folder / described["subwords"])
