"""Two small translators that differ in one thing: what the decoder knows of the source.

    python -m attnbook.two_translators

One decoder gets a single context vector, the other one looks back at all states of the encoder. The
command trains both in the same way, on the same numbers below a million, in two minutes on
one core. It then rounds their weights to 8 bits and writes them into the package, where the first
figure of chapter 1 finds them. Its card, README.md, says how many held-out numbers each gets right.
"""

import argparse
import json
import platform
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch

from attnbook.atomic_files import atomic_write, read_json
from attnbook.data import END, START, NumberDataset, Pair, collate
from attnbook.decoding import greedy_search, inference
from attnbook.seq2seq import Seq2Seq
from attnbook.training import load_weights, round_weights, save_weights, train

FOLDER = Path(__file__).parent / "two_translators_en_fr"
DESIGNS = {"one_vector": None, "looking_back": "dot"}  # the energy of each
NUMBERS = NumberDataset("en", "fr", below=10**6)
D_MODEL, STEPS, BATCH, SEED = 16, 2500, 32, 0
MOST_WRITTEN = 20  # tokens; the longest number below a million takes 14
TESTED = 300  # of each length from four digits on

CARD = """\
# Two translators of numbers, English to French

```bash
python -m attnbook.two_translators
```

made them: two `Seq2Seq` models of {parameters:,} parameters each, with {d_model} features, trained
alike for {steps} steps of {batch} numbers below a million, with the seed {seed}. First the number
of digits was drawn, then the number; about a third of those above 100 are round. About
a tenth of all numbers, chosen by a hash, was held out. The weights are rounded to 8 bits, with a
power of two for each row.

Numbers that they write right, to the letter, by greedy search:

| digits | {digits} |
|---|{rule}|
{rows}

Below 100 all numbers were tested, learned ones too; from 100 on, held-out ones alone. Python
{python}, PyTorch {torch}, {machine}.
"""


def model_of(design: str) -> Seq2Seq:
    """An untrained translator of one of the ``DESIGNS``."""
    sizes = {"source_size": len(NUMBERS.source), "target_size": len(NUMBERS.target)}
    return Seq2Seq(**sizes, d_model=D_MODEL, energy=DESIGNS[design])


@cache
def load() -> dict[str, Seq2Seq]:
    """The trained translators by their designs, ready to translate."""
    models = {design: model_of(design) for design in DESIGNS}
    for design, model in models.items():
        load_weights(model, FOLDER / f"{design}.safetensors")
        model.eval()
    return models


def measured() -> dict[str, list[int]]:
    """How many numbers each design writes right, for one digit, two digits and so on.

    ``tested`` says of how many.
    """
    return read_json(FOLDER / "right.json")


def translate(model: Seq2Seq, numbers: Sequence[int]) -> list[list[str]]:
    """The French tokens that a model writes for some numbers, without the end symbol."""
    batch = collate([(NUMBERS.pair(number)[0], []) for number in numbers])
    found = greedy_search(
        model,
        batch.source,
        batch.source_lengths,
        start_token=START,
        end_token=END,
        max_length=MOST_WRITTEN,
    )
    return [NUMBERS.target.vocabulary.decode(tokens) for tokens in found]


def looks(model: Seq2Seq, number: int, written: Sequence[str]) -> list[list[float]]:
    """The weights with which a model looks back when it writes these tokens, a row for each."""
    batch = collate([(NUMBERS.pair(number)[0], NUMBERS.target.vocabulary.encode(written))])
    with inference(model):
        _, weights = model(batch.source, batch.target[:, :-1], batch.source_lengths)
    return weights[0, : len(written)].tolist()


def draw(generator: random.Random, *, held_out: bool) -> int:
    """A number: first how many digits it may have, then which; a third is round."""
    while True:
        number = generator.randrange(10 ** generator.randint(1, 6))
        if number > 100 and generator.random() < 1 / 3:
            number -= number % 10 ** generator.randint(2, len(str(number)) - 1)
        if NUMBERS.is_held_out(number) == held_out:
            return number


def pairs_of_step(step: int) -> list[Pair]:
    """What both translators learn in one step of training."""
    generator = random.Random(f"{SEED} {step}")
    return [NUMBERS.pair(draw(generator, held_out=False)) for _ in range(BATCH)]


def of_length(digits: int) -> list[int]:
    """Numbers with so many digits to test, held out if there are more than two digits.

    Those below 1,000 are all there are; of longer ones, some are drawn.
    """
    first = 10 ** (digits - 1) if digits > 1 else 0
    if digits < 4:
        return [n for n in range(first, 10**digits) if digits < 3 or NUMBERS.is_held_out(n)]
    generator = random.Random(f"tested {digits}")
    drawn: dict[int, None] = {}
    while len(drawn) < TESTED:
        number = generator.randrange(first, 10**digits)
        if NUMBERS.is_held_out(number):
            drawn[number] = None
    return list(drawn)


def count_right(model: Seq2Seq, numbers: Sequence[int]) -> int:
    """How many of some numbers a model writes right, to the letter."""
    right = [NUMBERS.target.split(NUMBERS.texts(number)[1]) for number in numbers]
    return sum(w == r for w, r in zip(translate(model, numbers), right, strict=True))


def main(arguments: Sequence[str] | None = None) -> None:
    """Train both translators, and write their weights and their card into a folder."""
    command = argparse.ArgumentParser(prog="python -m attnbook.two_translators")
    command.add_argument("--folder", type=Path, default=FOLDER, help="(default: in the package)")
    command.add_argument("--steps", type=int, default=STEPS, help=f"(default: {STEPS})")
    options = command.parse_args(arguments)
    torch.set_num_threads(1)  # tensors are small: more threads would only wait
    options.folder.mkdir(parents=True, exist_ok=True)
    numbers = [of_length(digits) for digits in range(1, 7)]
    right = {"tested": [len(some) for some in numbers]}
    for design in DESIGNS:
        torch.manual_seed(SEED)
        model = model_of(design)
        train(model, pairs_of_step, steps=options.steps, peak_rate=0.02, warmup=50, seed=SEED)
        round_weights(model, bits=8)
        save_weights(model, options.folder / f"{design}.safetensors", dtype=torch.float16)
        right[design] = [count_right(model, some) for some in numbers]
    rows = [
        f"| {name.replace('_', ' ')} | {' | '.join(map(str, found))} |"
        for name, found in right.items()
    ]
    atomic_write(options.folder / "right.json", (json.dumps(right) + "\n").encode())
    card = CARD.format(
        parameters=sum(p.numel() for p in model.parameters()),
        d_model=D_MODEL,
        steps=options.steps,
        batch=BATCH,
        seed=SEED,
        digits=" | ".join(map(str, range(1, 7))),
        rule="|".join(["---:"] * 6),
        rows="\n".join(rows),
        python=platform.python_version(),
        torch=torch.__version__,
        machine=platform.machine(),
    )
    atomic_write(options.folder / "README.md", card.encode())
    print("\n".join(rows))


if __name__ == "__main__":
    main()
