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
(curve.json). Its BLEU comes from python -m attnbook.scoring.
"""

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import torch

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
from attnbook.files import read_json, replace_file
from attnbook.training import (
    average_checkpoints,
    processes,
    rank_and_world,
    require_same_settings,
    smoothed_loss,
    train,
)
from attnbook.translator import Tokens, Translator

# Settings of each task, with their defaults
DEFAULTS = {
    "numbers": {
        "source": "en",
        "target": "fr",
        "below": 100_000,
        "longest": None,
        "d_model": 64,
        "num_heads": 4,
        "num_layers": 2,
        "d_ff": 256,
        "dropout": 0.0,
        "norm": "pre",
        "batch": 128,
        "steps": 700,
        "peak_rate": 0.003,
        "warmup": 100,
        "label_smoothing": 0.0,
        "clip": 1.0,
        "save_every": 250,
        "average": 1,
        "seed": 0,
    },
    "multi30k": {
        "source": "en",
        "target": "de",
        "vocabulary": 6000,
        "d_model": 128,
        "num_heads": 4,
        "num_layers": 4,
        "d_ff": 256,
        "dropout": 0.2,
        "norm": "pre",
        "batch": 2048,
        "steps": 8000,
        "peak_rate": 0.0035,
        "warmup": 1000,
        "label_smoothing": 0.1,
        "clip": 1.0,
        "save_every": 250,
        "average": 5,
        "seed": 0,
    },
}
# What they mean, and their types
SETTINGS = {
    "source": ("language to translate from", str),
    "target": ("language to translate into", str),
    "below": ("train and test on numbers below this one", int),
    "longest": ("hold out all numbers of more tokens than this", int),
    "vocabulary": ("number of subwords, for both languages together", int),
    "d_model": ("features of a token", int),
    "num_heads": ("attention heads", int),
    "num_layers": ("blocks of the encoder, and of the decoder", int),
    "d_ff": ("width of the feed-forward networks", int),
    "dropout": ("probability of dropping a feature", float),
    "norm": ("pre or post: layer norm before or after a sub-layer", str),
    "batch": ("size of a batch: numbers; tokens of multi30k", int),
    "steps": ("steps of training in all", int),
    "peak_rate": ("highest learning rate", float),
    "warmup": ("steps until the highest rate is reached", int),
    "label_smoothing": ("probability spread over all words", float),
    "clip": ("largest norm of a gradient", float),
    "save_every": ("steps from one checkpoint to the next", int),
    "average": ("take the mean of so many last checkpoints", int),
    "seed": ("of weights, data and dropout", int),
}


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
    for name, (meaning, kind) in SETTINGS.items():
        defaults = [
            f"{task}: {'none' if known[name] is None else known[name]}"
            for task, known in DEFAULTS.items()
            if name in known
        ]
        group.add_argument(
            "--" + name.replace("_", "-"),
            type=kind,
            choices=["pre", "post"] if name == "norm" else None,
            metavar="X",
            help=f"{meaning} ({', '.join(defaults)})",
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
    return command


def settings_of(options: argparse.Namespace) -> dict:
    """The task and its settings, with defaults for those not given.

    Raises ``ValueError`` for a setting that the task does not have.
    """
    defaults = DEFAULTS[options.task]
    given = {
        name: getattr(options, name) for name in SETTINGS if getattr(options, name) is not None
    }
    foreign = given.keys() - defaults.keys()
    if foreign:
        raise ValueError(f"{options.task} has no setting {', '.join(sorted(foreign))}")
    return {"task": options.task, **defaults, **given}


def main(arguments: list[str] | None = None) -> None:
    """Run the command; what is wrong with its options is said without a traceback."""
    command = parser()
    options = command.parse_args(arguments)
    try:
        settings = settings_of(options)
        if options.threads is not None and options.threads < 1:
            raise ValueError(f"threads must be at least 1: got {options.threads}")
        if settings["average"] < 1:
            raise ValueError(f"average must be at least 1: got {settings['average']}")
        if options.threads:
            torch.set_num_threads(options.threads)
        with processes(options.device) as device:
            run(settings, options, device)
    except (ValueError, OSError) as error:
        command.error(str(error))
    except KeyboardInterrupt:
        command.exit(130, "\ninterrupted: the same command continues from the last save\n")


def run(settings: dict, options: argparse.Namespace, device: torch.device) -> None:
    """Prepare the data and the model, train, and show what was learned."""
    is_main = rank_and_world()[0] == 0
    task = _numbers(settings) if settings["task"] == "numbers" else _multi30k(settings)
    torch.manual_seed(settings["seed"])
    sizes = ("d_model", "num_heads", "num_layers", "d_ff", "dropout")
    translator = Translator(
        task.source_tokens,
        task.target_tokens,
        **{name: settings[name] for name in sizes},
        norm_first=settings["norm"] == "pre",
        tied=task.source_tokens is task.target_tokens,
    )
    if is_main:
        _keep_settings(options.folder, settings)
        count = sum(p.numel() for p in translator.model.parameters())
        print(f"{count:,} parameters, on {device}", flush=True)
    how = ("steps", "peak_rate", "warmup", "label_smoothing", "clip", "seed")
    history = train(
        translator.model,
        task.pairs_of_step,
        **{name: settings[name] for name in how},
        device=device,
        folder=options.folder,
        save_every=settings["save_every"],
        keep=settings["average"],
        evaluate=lambda _: task.evaluate(translator),
        evaluate_every=options.evaluate_every,
    )
    if not is_main:
        return
    if settings["average"] > 1:
        average_checkpoints(translator.model, options.folder, settings["average"])
        with inference(translator.model):
            for name, result in task.evaluate(translator).items():
                print(f"the mean of the last checkpoints: {name} {result:g}")
    translator.save(options.folder, dtype=torch.float16)
    _keep_curve(options.folder, history)
    sources = [source for source, _ in task.examples]
    for (source, target), written in zip(task.examples, translator.translate(sources), strict=True):
        print(f"\n{source}\n→ {written}")
        print("  as expected" if written == target else f"  expected: {target}")


@dataclass
class Task:
    """What is to be learned, and how to tell whether it has been."""

    source_tokens: Tokens
    target_tokens: Tokens
    pairs_of_step: PairsOfStep
    evaluate: Callable[[Translator], dict[str, float]]
    examples: list[tuple[str, str]]


def _numbers(settings: dict) -> Task:
    numbers = NumberDataset(
        settings["source"],
        settings["target"],
        below=settings["below"],
        longest=settings["longest"],
        seed=settings["seed"],
    )
    tested = numbers.sample(1000, held_out=True, seed="test")
    texts = [numbers.texts(number) for number in tested]

    def pairs_of_step(step: int) -> list[Pair]:
        drawn = numbers.sample(settings["batch"], seed=step)
        return [numbers.pair(number) for number in drawn]

    def evaluate(translator: Translator) -> dict[str, float]:
        written = translator.translate([source for source, _ in texts])
        right = [w == t for w, (_, t) in zip(written, texts, strict=True)]
        return {"exact": sum(right) / len(right)}

    return Task(numbers.source, numbers.target, pairs_of_step, evaluate, texts[:5])


def _multi30k(settings: dict) -> Task:
    data = Multi30k(settings["source"], settings["target"])
    texts = {
        # as SubwordTokenizer gives them back
        part: [(s.lower(), t.lower()) for s, t in data.texts(part)]
        for part in ("train", "val")
    }
    subwords = SubwordTokenizer.learn(
        (text for pair in texts["train"] for text in pair), settings["vocabulary"]
    )
    pairs = {
        part: [(subwords.encode(s), subwords.encode(t)) for s, t in texts[part]] for part in texts
    }
    pairs_of_step = EpochSampler(pairs["train"], settings["batch"], seed=settings["seed"])
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
            tokens += (target != PAD).sum().item()
        return {"perplexity": math.exp(total / tokens)}

    return Task(subwords, subwords, pairs_of_step, evaluate, texts["val"][:5])


def _keep_curve(folder: Path, history: dict) -> None:
    """Write how the training went: at each evaluation, also the mean loss since the one before."""
    curve, first = [], 0
    for evaluation in history["evaluations"]:
        losses = history["losses"][first : evaluation["step"]]
        first = evaluation["step"]
        curve.append(evaluation | {"loss": round(fmean(losses), 4)})
    text = json.dumps(curve, indent=1) + "\n"
    replace_file(folder / "curve.json", text.encode())


def _keep_settings(folder: Path, settings: dict) -> None:
    """Write the settings beside the training; only the number of steps may change later."""
    path = folder / "settings.json"
    if path.exists() and (folder / "state.json").exists():
        steps = {"steps": settings["steps"]}
        require_same_settings(folder, read_json(path) | steps, settings)
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(path, (json.dumps(settings, indent=2) + "\n").encode())


if __name__ == "__main__":
    main()
