"""What ``attnbook.train`` can teach a translator: number words, and sentences of Multi30k."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from attnbook.data import (
    PAD,
    EpochSampler,
    Multi30k,
    NumberDataset,
    Pair,
    PairsOfStep,
    SubwordTokenizer,
    collate,
)
from attnbook.training import smoothed_loss
from attnbook.training.settings import Multi30kSettings, NumberSettings
from attnbook.translator import Tokenizer, Translator

MOST_TESTED = 100_000  # of larger ones a tenth of these many are drawn


@dataclass
class Task:
    """What is to be learned, and how to tell whether it has been."""

    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    pairs_of_step: PairsOfStep
    evaluate: Callable[[Translator], dict[str, float]]
    examples: list[tuple[str, str]]
    test: Callable[[Translator], tuple[int, int]] | None = None  # how many are right, of how many


def teach_numbers(settings: NumberSettings) -> Task:
    """Number words; evaluated on a thousand of the numbers that are held out."""
    numbers = NumberDataset(
        settings.source,
        settings.target,
        below=settings.below,
        longest=settings.longest,
        seed=settings.seed,
    )
    tested = numbers.sample(1000, held_out=True, seed="test")
    texts = [numbers.texts(number) for number in tested]

    def pairs_of_step(step: int) -> list[Pair]:
        drawn = numbers.sample(settings.batch, seed=step, round_share=settings.round_share)
        return [numbers.pair(number) for number in drawn]

    def evaluate(translator: Translator) -> dict[str, float]:
        written = translator.translate([source for source, _ in texts])
        right = [w == t for w, (_, t) in zip(written, texts, strict=True)]
        return {"exact": sum(right) / len(right)}

    def test(translator: Translator) -> tuple[int, int]:
        if settings.below <= MOST_TESTED:
            held_out = [n for n in range(settings.below) if numbers.is_held_out(n)]
        else:
            held_out = numbers.sample(MOST_TESTED // 10, held_out=True, seed="card")
        pairs = [numbers.texts(number) for number in held_out]
        written = translator.translate([source for source, _ in pairs])
        return sum(w == t for w, (_, t) in zip(written, pairs, strict=True)), len(pairs)

    return Task(numbers.source, numbers.target, pairs_of_step, evaluate, texts[:5], test)


def teach_multi30k(settings: Multi30kSettings) -> Task:
    """Sentences of Multi30k in lower case; evaluated on those of its validation part.

    Raises what ``Multi30k.texts`` raises, and ``ValueError`` for a vocabulary of a size that the
    sentences do not yield.
    """
    data = Multi30k(settings.source, settings.target)
    texts = {
        # as SubwordTokenizer gives them back
        part: [(s.lower(), t.lower()) for s, t in data.texts(part)]
        for part in ("train", "val")
    }
    subwords = SubwordTokenizer.learn(
        (text for pair in texts["train"] for text in pair), settings.vocabulary
    )
    pairs = {
        part: [(subwords.encode(s), subwords.encode(t)) for s, t in texts[part]] for part in texts
    }
    pairs_of_step = EpochSampler(pairs["train"], settings.batch, seed=settings.seed)
    unseen = pairs["val"]

    def evaluate(translator: Translator) -> dict[str, float]:
        model = translator.model
        device = model.output.weight.device
        total, tokens = 0.0, 0
        for i in range(0, len(unseen), 128):
            batch = collate(unseen[i : i + 128]).to(device)
            target = batch.target[:, 1:]
            hidden, _ = model.hidden(batch.source, batch.target[:, :-1], batch.source_lengths)
            total += smoothed_loss(hidden, model.output.weight, target).item()
            tokens += int((target != PAD).sum().item())
        return {"perplexity": math.exp(total / tokens)}

    return Task(subwords, subwords, pairs_of_step, evaluate, texts["val"][:5])
