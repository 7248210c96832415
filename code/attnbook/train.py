"""Train a Transformer to translate, from the command line.

    python -m attnbook.train --task numbers --folder runs/numbers
    python -m attnbook.train --task multi30k --folder runs/multi30k
    torchrun --nproc-per-node 2 -m attnbook.train --task multi30k --folder runs/multi30k

Numbers: "four hundred eighty-one" into "quatre cent quatre-vingt-un", in half a minute on two
cores. Multi30k: English descriptions of photographs into German, in minutes on a GPU, in hours on
a CPU. The data of Multi30k are downloaded, or read from the folder ATTNBOOK_MULTI30K.

The folder keeps the training (settings.json, state.json and the tensors step-N.safetensors): start
the same command again after an interruption, and it continues from where it was saved last. At the
end it receives the model in half precision (config.json, model.safetensors and, for sentences, the
subwords), which attnbook.translator.Translator.load(folder) reads, and the curve of its training
(curve.json). Its BLEU comes from python -m attnbook.scoring. A translator of numbers is tested on
all that were held out, and README.md, its card, says how many it got right.
"""

import argparse
import json
import math
import platform
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from attnbook.atomic_files import atomic_write, read_json
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
from attnbook.decoding import inference
from attnbook.training import (
    average_checkpoints,
    processes,
    rank_and_world,
    require_same_settings,
    round_weights,
    smoothed_loss,
    train,
)
from attnbook.training.checkpoint import History
from attnbook.translator import Tokenizer, Translator


def setting(meaning: str) -> Any:
    """A field of ``Settings``, and what the command's help says of it."""
    return field(metadata={"meaning": meaning})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the result of a training depends on, whatever the task.

    Raises ``ValueError`` for numbers with which no training can run.
    """

    source: str = setting("language to translate from")
    target: str = setting("language to translate into")
    d_model: int = setting("features of a token")
    num_heads: int = setting("attention heads")
    num_layers: int = setting("blocks of the encoder, and of the decoder")
    d_ff: int = setting("width of the feed-forward networks")
    dropout: float = setting("probability of dropping a feature")
    norm: str = setting("pre or post: layer norm before or after a sub-layer")
    batch: int = setting("size of a batch: numbers; tokens of multi30k")
    steps: int = setting("steps of training in all")
    peak_rate: float = setting("highest learning rate")
    warmup: int = setting("steps until the highest rate is reached")
    label_smoothing: float = setting("probability spread over all words")
    clip: float = setting("largest norm of a gradient")
    save_every: int = setting("steps from one checkpoint to the next")
    average: int = setting("take the mean of so many last checkpoints")
    seed: int = setting("of weights, data and dropout")

    def __post_init__(self) -> None:
        for name in ("batch", "steps", "save_every", "average"):
            number = getattr(self, name)
            if number < 1:
                raise ValueError(f"{name} must be at least 1: got {number}")
        for name in ("peak_rate", "clip"):
            number = getattr(self, name)
            if not number > 0:
                raise ValueError(f"{name} must be above 0: got {number}")
        if not 0 <= self.label_smoothing <= 1:
            raise ValueError(
                f"label_smoothing must lie between 0 and 1: got {self.label_smoothing}"
            )


@dataclass(frozen=True, kw_only=True)
class NumberSettings(Settings):
    """Settings of the task numbers."""

    below: int = setting("train and test on numbers below this one")
    longest: int | None = setting("hold out all numbers of more tokens than this")


@dataclass(frozen=True, kw_only=True)
class Multi30kSettings(Settings):
    """Settings of the task multi30k."""

    vocabulary: int = setting("number of subwords, for both languages together")


TaskSettings = NumberSettings | Multi30kSettings

DEFAULTS: dict[str, TaskSettings] = {
    "numbers": NumberSettings(
        source="en",
        target="fr",
        below=100_000,
        longest=None,
        d_model=64,
        num_heads=4,
        num_layers=2,
        d_ff=256,
        dropout=0.0,
        norm="pre",
        batch=128,
        steps=700,
        peak_rate=0.003,
        warmup=100,
        label_smoothing=0.0,
        clip=1.0,
        save_every=250,
        average=1,
        seed=0,
    ),
    "multi30k": Multi30kSettings(
        source="en",
        target="de",
        vocabulary=6000,
        d_model=128,
        num_heads=4,
        num_layers=4,
        d_ff=256,
        dropout=0.2,
        norm="pre",
        batch=2048,
        steps=8000,
        peak_rate=0.0035,
        warmup=1000,
        label_smoothing=0.1,
        clip=1.0,
        save_every=250,
        average=5,
        seed=0,
    ),
}
MOST_TESTED = 100_000  # of larger ones a tenth of these many are drawn

# every setting that some task has
SETTINGS = {field.name: field for task in DEFAULTS.values() for field in fields(task)}


def parser() -> argparse.ArgumentParser:
    """The command's options; settings that are not given are None."""
    command = argparse.ArgumentParser(
        prog="python -m attnbook.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--task", required=True, choices=DEFAULTS)
    command.add_argument("--folder", required=True, type=Path, help="where the training is kept")
    group = command.add_argument_group("settings, with defaults for each task")
    for name, about in SETTINGS.items():
        defaults = [
            f"{task}: {'none' if getattr(known, name) is None else getattr(known, name)}"
            for task, known in DEFAULTS.items()
            if hasattr(known, name)
        ]
        group.add_argument(
            "--" + name.replace("_", "-"),
            type=int if name == "longest" else about.type,
            choices=["pre", "post"] if name == "norm" else None,
            metavar="X",
            help=f"{about.metadata['meaning']} ({', '.join(defaults)})",
        )
    group = command.add_argument_group("options that do not change the result, but for rounding")
    group.add_argument("--device", help="cpu or cuda (default: cuda where there is one)")
    group.add_argument(
        "--threads",
        type=int,
        help="of the CPU (default: one for each core; 1 is best while other programs run)",
    )
    group.add_argument(
        "--evaluate-every", type=int, default=250, metavar="STEPS", help="(default: 250)"
    )
    command.add_argument(
        "--bits",
        type=int,
        metavar="N",
        help="round the weights of the finished model to so many bits (default: half precision)",
    )
    return command


def settings_of(options: argparse.Namespace) -> TaskSettings:
    """The settings of the task, with defaults for those not given.

    Raises ``ValueError`` for a setting that the task does not have, or that cannot be.
    """
    defaults = DEFAULTS[options.task]
    given = {
        name: getattr(options, name) for name in SETTINGS if getattr(options, name) is not None
    }
    foreign = [name for name in given if not hasattr(defaults, name)]
    if foreign:
        raise ValueError(f"{options.task} has no setting {', '.join(foreign)}")
    return replace(defaults, **given)


def main(arguments: list[str] | None = None) -> None:
    """Run the command; what is wrong with its options is said without a traceback."""
    command = parser()
    options = command.parse_args(arguments)
    try:
        with ExitStack() as stack:
            try:
                settings = settings_of(options)
                if options.evaluate_every < 1:
                    raise ValueError(
                        f"evaluate_every must be at least 1: got {options.evaluate_every}"
                    )
                if options.threads is not None:
                    if options.threads < 1:
                        raise ValueError(f"threads must be at least 1: got {options.threads}")
                    torch.set_num_threads(options.threads)
                device = stack.enter_context(processes(options.device))
                task, translator = prepare(options, settings)
            except ValueError as error:
                command.error(str(error))
            run(options, settings, task, translator, device)
    except OSError as error:  # no data, no room
        command.exit(1, f"{command.prog}: {error}\n")
    except KeyboardInterrupt:
        command.exit(130, "\ninterrupted: the same command continues from the last save\n")


@dataclass
class Task:
    """What is to be learned, and how to tell whether it has been."""

    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    pairs_of_step: PairsOfStep
    evaluate: Callable[[Translator], dict[str, float]]
    examples: list[tuple[str, str]]
    test: Callable[[Translator], tuple[int, int]] | None = None  # how many are right, of how many


def prepare(options: argparse.Namespace, settings: TaskSettings) -> tuple[Task, Translator]:
    """Read the data, build the model and note the settings in the folder.

    Raises ``ValueError`` for settings of which no model can be built, or other ones than those
    of the training that the folder holds; ``OSError`` if the data cannot be had.
    """
    task = _numbers(settings) if isinstance(settings, NumberSettings) else _multi30k(settings)
    task.pairs_of_step(0)  # are there any?
    torch.manual_seed(settings.seed)
    translator = Translator(
        task.source_tokenizer,
        task.target_tokenizer,
        d_model=settings.d_model,
        num_heads=settings.num_heads,
        num_layers=settings.num_layers,
        d_ff=settings.d_ff,
        dropout=settings.dropout,
        norm_first=settings.norm == "pre",
        tied=task.source_tokenizer is task.target_tokenizer,
    )
    if rank_and_world()[0] == 0:
        _keep_settings(options.folder, {"task": options.task, **asdict(settings)})
    return task, translator


def run(
    options: argparse.Namespace,
    settings: Settings,
    task: Task,
    translator: Translator,
    device: torch.device,
) -> None:
    """Train, and show what was learned."""
    is_main = rank_and_world()[0] == 0
    if is_main:
        count = sum(p.numel() for p in translator.model.parameters())
        print(f"{count:,} parameters, on {device}", flush=True)
    history = train(
        translator.model,
        task.pairs_of_step,
        steps=settings.steps,
        peak_rate=settings.peak_rate,
        warmup=settings.warmup,
        label_smoothing=settings.label_smoothing,
        clip=settings.clip,
        seed=settings.seed,
        device=device,
        folder=options.folder,
        save_every=settings.save_every,
        keep=settings.average,
        evaluate=lambda _: task.evaluate(translator),
        evaluate_every=options.evaluate_every,
    )
    if not is_main:
        return
    if settings.average > 1:
        average_checkpoints(translator.model, options.folder, settings.average)
        with inference(translator.model):
            for name, result in task.evaluate(translator).items():
                print(f"the mean of the last checkpoints: {name} {result:g}")
    if options.bits is not None:
        round_weights(translator.model, options.bits)
    translator.save(options.folder, dtype=torch.float16)
    _keep_curve(options.folder, history)
    if task.test is not None and isinstance(settings, NumberSettings):
        _write_card(options, settings, task.test)
    sources = [source for source, _ in task.examples]
    for (source, target), written in zip(task.examples, translator.translate(sources), strict=True):
        print(f"\n{source}\n→ {written}")
        print("  as expected" if written == target else f"  expected: {target}")


def _numbers(settings: NumberSettings) -> Task:
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
        drawn = numbers.sample(settings.batch, seed=step)
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


def _multi30k(settings: Multi30kSettings) -> Task:
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


def _keep_curve(folder: Path, history: History) -> None:
    """Write how the training went: at each evaluation, also the mean loss since the one before."""
    curve, first = [], 0
    for evaluation in history["evaluations"]:
        step = int(evaluation["step"])
        losses = history["losses"][first:step]
        first = step
        curve.append(evaluation | {"loss": round(fmean(losses), 4)})
    text = json.dumps(curve, indent=1) + "\n"
    atomic_write(folder / "curve.json", text.encode())


CARD = """\
# A translator of numbers, {source} to {target}

```bash
{command}
```

made it: {parameters:,} parameters, {bytes:,} bytes in half precision{rounded}.
Batches of {batch} numbers below {below:,}, in words, for {steps} steps, as drawn by
`attnbook.data.NumberDataset` with the seed {seed}, and nothing else;
{held_out}.

Of {tested:,} held-out numbers it writes {right:,} right, to the letter ({share:.2%}), by greedy
search, with the weights as they are in the file, `model.safetensors`. Python {python},
PyTorch {torch}, {machine}.

`config.json` has its sizes, `settings.json` how it was trained, `curve.json` loss and accuracy
during training. `attnbook.translator.Translator.load` reads the folder.
"""


def _write_card(
    options: argparse.Namespace,
    settings: NumberSettings,
    test: Callable[[Translator], tuple[int, int]],
) -> None:
    """Write what the model is, what made it, and how often it is right on held-out numbers."""
    folder = options.folder
    translator = Translator.load(folder)  # as whoever loads it has it, rounded
    right, tested = test(translator)
    defaults = asdict(DEFAULTS["numbers"])
    given = [
        f"--{name.replace('_', '-')} {value}"
        for name, value in asdict(settings).items()
        if value != defaults[name]
    ]
    rounded = ""
    if options.bits is not None:
        given.append(f"--bits {options.bits}")
        rounded = f", rounded to {options.bits} bits and a power of two for each row"
    held_out = "about a tenth of them, chosen by a hash, was held out"
    if settings.longest is not None:
        held_out = f"all of more than {settings.longest} tokens were held out"
    card = CARD.format(
        **asdict(settings),
        command=" ".join(["python -m attnbook.train --task numbers", *given, f"--folder {folder}"]),
        parameters=sum(p.numel() for p in translator.model.parameters()),
        bytes=(folder / "model.safetensors").stat().st_size,
        rounded=rounded,
        held_out=held_out,
        right=right,
        tested=tested,
        share=right / tested,
        python=platform.python_version(),
        torch=torch.__version__,
        machine=platform.machine(),
    )
    atomic_write(folder / "README.md", card.encode())


def _keep_settings(folder: Path, settings: dict) -> None:
    """Write the settings beside the training; only the number of steps may change later."""
    path = folder / "settings.json"
    if path.exists() and (folder / "state.json").exists():
        steps = {"steps": settings["steps"]}
        require_same_settings(folder, read_json(path) | steps, settings)
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(path, (json.dumps(settings, indent=2) + "\n").encode())


if __name__ == "__main__":
    main()
