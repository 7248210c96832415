"""Texts as numbers: vocabularies, number words without end, Multi30k, batches of like length."""

import functools
import gzip
import hashlib
import io
import os
import random
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import sentencepiece
import torch
from jaxtyping import Int
from num2words import num2words
from torch import Tensor

PAD, START, END, UNKNOWN = range(4)
SPECIAL = ("<pad>", "<start>", "<end>", "<unknown>")

Pair = tuple[list[int], list[int]]  # the tokens of a source and of its target
PairsOfStep = Callable[[int], Sequence[Pair]]  # a step is counted from 0


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


LANGUAGES = ("de", "en", "es", "fr", "fr_CH")


class NumberTokenizer:
    """The words that a language's numbers are made of, as tokens: every number can be written.

    A token that continues a word starts with ``-`` if a hyphen joins it, and with ``+`` if nothing
    stands between. For number words ``join`` undoes ``split``. English is spelt without commas and
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
            raise ValueError(f"numbers from 0 to 10**12 - 1 can be spelt: got {number}")
        words = num2words(number, lang=self.language)
        if self.language == "en":
            words = words.replace(",", "").replace(" and ", " ")
        return words

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

    def sample(self, count: int, *, held_out: bool = False, seed: int | str = 0) -> list[int]:
        """Draw ``count`` numbers at random, the same for the same ``seed``, from one of the parts.

        Raises ``ValueError`` if hardly any number belongs to that part.
        """
        generator = random.Random(f"{self.seed} {seed}")
        drawn: list[int] = []
        tries = 0
        while len(drawn) != count:
            if tries == 1000 * (len(drawn) + 10):
                part = "held out" if held_out else "for training"
                raise ValueError(
                    f"of {tries} numbers below {self.below} only {len(drawn)} are {part} "
                    f"with longest={self.longest}"
                )
            number = generator.randrange(self.below)
            if self.is_held_out(number) == held_out:
                drawn.append(number)
            tries += 1
        return drawn


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
            raise ValueError(f"no {size} subwords: {error}") from error
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


_SHA256 = {
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2017_flickr.en.gz": "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
    "test_2017_flickr.de.gz": "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
    "test_2017_mscoco.en.gz": "aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58",
    "test_2017_mscoco.de.gz": "799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338",
}


class Multi30k:
    """Descriptions of photographs in English and their translations into German, 32,475 pairs.

    The files come from the folder that the environment variable ``ATTNBOOK_MULTI30K`` names. If
    it is not set, each is downloaded when it is first needed (1.4 MB in all) from
    https://github.com/multi30k/dataset into PyTorch's cache, and stays there. All are checked
    against their SHA-256. They are not part of this package.

    Sources: Elliott et al. 2016, https://arxiv.org/abs/1605.00459; the test sets of 2017: Elliott
    et al. 2017, https://arxiv.org/abs/1710.07177.
    """

    URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
    PARTS = ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")

    def __init__(self, source: str = "en", target: str = "de") -> None:
        if {source, target} != {"en", "de"}:
            raise ValueError(f"Multi30k pairs 'en' with 'de' here: got {source!r} and {target!r}")
        self.source, self.target = source, target

    def texts(self, part: str) -> list[tuple[str, str]]:
        """The sentence pairs of one part, in the files' order.

        Raises ``ValueError`` for an unknown part or a file that is not the expected one,
        ``FileNotFoundError`` if the named folder lacks a file, and ``ConnectionError`` if it
        cannot be downloaded.
        """
        if part not in self.PARTS:
            raise ValueError(f"part must be one of {self.PARTS}: got {part!r}")
        sides = [
            gzip.decompress(self._read(f"{part}.{language}.gz"))
            .decode("utf8")
            .split("\n")[:-1]  # splitlines() would also split at rarer signs
            for language in (self.source, self.target)
        ]
        return list(zip(*sides, strict=True))

    def _read(self, name: str) -> bytes:
        folder = os.environ.get("ATTNBOOK_MULTI30K")
        if folder:
            path = Path(folder) / name
            if not path.exists():
                raise FileNotFoundError(
                    f"there is no {path}: ATTNBOOK_MULTI30K has to name the folder with the files "
                    "of Multi30k, or be unset to download them"
                )
        else:
            path = Path(torch.hub.get_dir()) / "multi30k" / name
            if not path.exists():
                self._download(name, path)
        content = path.read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if found != _SHA256[name]:
            raise ValueError(
                f"{path} is not the file of Multi30k: its SHA-256 is {found}, "
                f"expected {_SHA256[name]}. Delete it and get it again."
            )
        return content

    def _download(self, name: str, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            torch.hub.download_url_to_file(self.URL + name, str(path), hash_prefix=_SHA256[name])
        except (OSError, RuntimeError) as error:
            raise ConnectionError(
                f"{self.URL + name} could not be downloaded ({error}). Files that are complete "
                f"stay in {path.parent}: try again, and only the others are fetched. Without a "
                "network, get the files elsewhere and name their folder in ATTNBOOK_MULTI30K."
            ) from error


@dataclass
class Batch:
    """Sources and targets padded to rectangles; every source ends with ``END``.

    Targets run from ``START`` to ``END``: the decoder reads ``target[:, :-1]`` and must predict
    ``target[:, 1:]``. The lengths stay on the CPU, where recurrent networks need them; a mask is
    made of them on the source's device.
    """

    source: Int[Tensor, "batch source"]
    source_lengths: Int[Tensor, " batch"]
    target: Int[Tensor, "batch target"]

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> "Batch":
        """The same batch with source and target on a device."""
        source, target = (
            tokens.to(device, non_blocking=non_blocking) for tokens in (self.source, self.target)
        )
        return Batch(source, self.source_lengths, target)

    def pin_memory(self) -> "Batch":
        """The same batch in memory from which a GPU can copy while the CPU goes on."""
        return Batch(
            self.source.pin_memory(), self.source_lengths.pin_memory(), self.target.pin_memory()
        )


def collate(pairs: Sequence[Pair]) -> Batch:
    """Make a batch of pairs of token lists.

    >>> batch = collate([([7, 8], [9]), ([7], [9, 8])])
    >>> batch.source.tolist(), batch.source_lengths.tolist(), batch.target.tolist()
    ([[7, 8, 2], [7, 2, 0]], [3, 2], [[1, 9, 2, 0], [1, 9, 8, 2]])
    """
    sources = [[*source, END] for source, _ in pairs]
    targets = [[START, *target, END] for _, target in pairs]
    lengths = torch.tensor([len(s) for s in sources], dtype=torch.int64)
    return Batch(_pad(sources), lengths, _pad(targets))


def _pad(rows: list[list[int]]) -> Int[Tensor, "batch length"]:
    length = max(map(len, rows), default=0)
    padded = [row + [PAD] * (length - len(row)) for row in rows]
    return torch.tensor(padded, dtype=torch.int64).view(len(rows), length)


def batches_by_length(
    lengths: Sequence[int], max_tokens: int, *, seed: int | str = 0
) -> list[list[int]]:
    """Group examples of like length: the less padding, the less work.

    Returns lists of indices, each of as many examples as fit into ``max_tokens`` when all are
    padded to the longest. Equally long examples and the batches are shuffled by ``seed``.

    Raises ``ValueError`` if one example alone is longer than ``max_tokens``.

    >>> batches_by_length([2, 5, 1, 2], max_tokens=6)
    [[2, 0, 3], [1]]
    """
    generator = random.Random(seed)
    order = list(range(len(lengths)))
    generator.shuffle(order)
    order.sort(key=lambda i: lengths[i])  # stable: ties stay shuffled
    if order and lengths[order[-1]] > max_tokens:
        raise ValueError(
            f"an example of {lengths[order[-1]]} tokens does not fit into max_tokens={max_tokens}"
        )
    batches: list[list[int]] = [[]]
    for i in order:
        if (len(batches[-1]) + 1) * lengths[i] > max_tokens:
            batches.append([])
        batches[-1].append(i)
    generator.shuffle(batches)
    return [batch for batch in batches if batch]


class EpochSampler:
    """A finite set of pairs as batches without end: each epoch in a new order.

    Calling it with the number of a step gives that step's pairs, whatever was asked before, so
    that an interrupted training can go on exactly where it stopped.
    """

    def __init__(self, pairs: Sequence[Pair], max_tokens: int, *, seed: int = 0) -> None:
        if not pairs:
            raise ValueError("there are no pairs to make batches of")
        self.pairs, self.max_tokens, self.seed = pairs, max_tokens, seed
        # with END; a target's START is read, but not written
        self._lengths = [max(len(s) + 1, len(t) + 1) for s, t in pairs]
        self._starts = [0]  # the first step of each epoch so far
        self._latest: tuple[int, list[list[int]]] = -1, []  # an epoch and its batches

    def _batches(self, epoch: int) -> list[list[int]]:
        if self._latest[0] != epoch:
            seed = f"{self.seed} {epoch}"
            self._latest = epoch, batches_by_length(self._lengths, self.max_tokens, seed=seed)
        return self._latest[1]

    def __call__(self, step: int) -> list[Pair]:
        """The pairs of one step, counted from 0. Raises ``ValueError`` for a negative step."""
        if step < 0:
            raise ValueError(f"steps are counted from 0: got {step}")
        while self._starts[-1] <= step:
            epoch = len(self._starts) - 1
            self._starts.append(self._starts[-1] + len(self._batches(epoch)))
        epoch = bisect_right(self._starts, step) - 1
        indices = self._batches(epoch)[step - self._starts[epoch]]
        return [self.pairs[i] for i in indices]
