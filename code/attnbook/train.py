"""Train a Transformer to translate, from the command line.

    python -m attnbook.train --task numbers --folder runs/numbers
    python -m attnbook.train --task multi30k --folder runs/multi30k
    torchrun --nproc-per-node 2 -m attnbook.train --task multi30k --folder runs/multi30k

Numbers: "four hundred eighty-one" into "quatre cent quatre-vingt-un", in half a minute on two
cores. Multi30k: English descriptions of photographs into German, in minutes on a GPU, in hours on
a CPU. The data of Multi30k are downloaded, or read from the folder ATTNBOOK_MULTI30K.

The folder receives the training while it runs: start the same command again after an interruption
and it goes on where it was saved last. It also receives the finished model, which
attnbook.translator.Translator.load(folder) reads.
"""

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.distributed as dist

from attnbook.data import (
    PAD,
    Batches,
    Epochs,
    Multi30k,
    NumberTokens,
    NumberWords,
    Pair,
    Subwords,
    collate,
)
from attnbook.training import processes, smoothed_loss, train
from attnbook.translator import Translator

TASKS = ("numbers", "multi30k")
# name: (what it is, type, default for numbers, default for multi30k)
OPTIONS = {
    "source": ("language to read", str, "en", "en"),
    "target": ("language to write", str, "fr", "de"),
    "below": ("numbers: largest number, not included", int, 100_000, None),
    "longest": ("numbers: hold out those of more tokens", int, None, None),
    "vocabulary": ("multi30k: size of the joint vocabulary", int, None, 8000),
    "d-model": ("features of a token", int, 64, 128),
    "num-heads": ("attention heads", int, 4, 4),
    "num-layers": ("blocks in encoder and in decoder", int, 2, 4),
    "d-ff": ("width of the feed-forward networks", int, 256, 256),
    "dropout": ("probability of dropping a feature", float, 0.0, 0.3),
    "norm": ("pre or post: norm before or after", str, "pre", "pre"),
    "batch": ("pairs (numbers), tokens (multi30k)", int, 128, 4096),
    "steps": ("steps of training in all", int, 750, 8000),
    "peak-rate": ("highest learning rate", float, 0.003, 0.005),
    "warmup": ("steps until it is reached", int, 200, 2000),
    "label-smoothing": ("probability given away", float, 0.0, 0.1),
    "clip": ("longest gradient", float, 1.0, 1.0),
    "seed": ("of weights, data and dropout", int, 0, 0),
}


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m attnbook.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--task", required=True, choices=TASKS)
    parser.add_argument(
        "--folder", required=True, type=Path, help="where the training is kept"
    )
    group = parser.add_argument_group(
        "settings", "Defaults in parentheses, for numbers and for multi30k."
    )
    for name, (what, kind, *defaults) in OPTIONS.items():
        shown = ", ".join("–" if d is None else str(d) for d in defaults)
        group.add_argument(
            f"--{name}", type=kind, metavar="X", help=f"{what} ({shown})"
        )
    group = parser.add_argument_group("what changes no result but for rounding")
    group.add_argument("--device", help="cpu or cuda (cuda where there is one)")
    group.add_argument("--threads", type=int, help="of a CPU (all cores)")
    group.add_argument("--save-every", type=int, default=250, metavar="STEPS")
    group.add_argument(
        "--evaluate-every", type=int, default=250, metavar="STEPS"
    )
    return parser


def settings(options: argparse.Namespace) -> dict:
    """The task and its settings, defaults filled in."""
    chosen = {"task": options.task}
    for name, (_, _, *defaults) in OPTIONS.items():
        key = name.replace("-", "_")
        value = getattr(options, key)
        chosen[key] = (
            defaults[TASKS.index(options.task)] if value is None else value
        )
    if chosen["norm"] not in ("pre", "post"):
        raise ValueError(f"norm must be pre or post: got {chosen['norm']!r}")
    return chosen


def main(arguments: list[str] | None = None) -> None:
    command = parser()
    options = command.parse_args(arguments)
    try:
        chosen = settings(options)
        if options.threads:
            torch.set_num_threads(options.threads)
        with processes(options.device) as device:
            run(chosen, options, device)
    except (ValueError, OSError) as error:
        command.error(str(error))


def run(
    chosen: dict, options: argparse.Namespace, device: torch.device
) -> None:
    """Prepare the data and the model, train, and show what it learned."""
    _require_same_settings(options.folder, chosen)
    task = (_numbers if chosen["task"] == "numbers" else _multi30k)(chosen)
    torch.manual_seed(chosen["seed"])
    sizes = ("d_model", "num_heads", "num_layers", "d_ff", "dropout")
    translator = Translator(
        task.source_tokens,
        task.target_tokens,
        **{name: chosen[name] for name in sizes},
        norm_first=chosen["norm"] == "pre",
        tied=task.source_tokens is task.target_tokens,
    )
    first = not dist.is_initialized() or dist.get_rank() == 0
    if first:
        count = sum(p.numel() for p in translator.model.parameters())
        print(f"{count:,} parameters, on {device}", flush=True)
    how = ("steps", "peak_rate", "warmup", "label_smoothing", "clip", "seed")
    train(
        translator.model,
        task.batches,
        **{name: chosen[name] for name in how},
        device=device,
        folder=options.folder,
        save_every=options.save_every,
        evaluate=lambda model: task.evaluate(translator),
        evaluate_every=options.evaluate_every,
    )
    if not first:
        return
    translator.save(options.folder)
    sources = [source for source, _ in task.examples]
    for (source, target), written in zip(
        task.examples, translator.translate(sources), strict=True
    ):
        print(f"\n{source}\n→ {written}")
        print("  as expected" if written == target else f"  expected: {target}")


@dataclass
class Task:
    """What is to be learned, and how to tell whether it has been."""

    source_tokens: NumberTokens | Subwords
    target_tokens: NumberTokens | Subwords
    batches: Batches
    evaluate: Callable[[Translator], dict[str, float]]
    examples: list[tuple[str, str]]


def _numbers(chosen: dict) -> Task:
    numbers = NumberWords(
        chosen["source"],
        chosen["target"],
        below=chosen["below"],
        longest=chosen["longest"],
        seed=chosen["seed"],
    )
    tested = numbers.sample(1000, held_out=True, seed="test")
    texts = [numbers.texts(number) for number in tested]

    def batches(step: int) -> list[Pair]:
        drawn = numbers.sample(chosen["batch"], seed=step)
        return [numbers.pair(number) for number in drawn]

    def evaluate(translator: Translator) -> dict[str, float]:
        written = translator.translate([source for source, _ in texts])
        right = [w == t for w, (_, t) in zip(written, texts, strict=True)]
        return {"exact": sum(right) / len(right)}

    return Task(numbers.source, numbers.target, batches, evaluate, texts[:5])


def _multi30k(chosen: dict) -> Task:
    data = Multi30k(chosen["source"], chosen["target"])
    texts = {
        part: [(s.lower(), t.lower()) for s, t in data.texts(part)]
        for part in ("train", "val")
    }
    words = Subwords.learn(
        (text for pair in texts["train"] for text in pair), chosen["vocabulary"]
    )
    pairs = {
        part: [(words.encode(s), words.encode(t)) for s, t in texts[part]]
        for part in texts
    }
    batches = Epochs(pairs["train"], chosen["batch"], seed=chosen["seed"])
    unseen = pairs["val"]

    @torch.inference_mode()
    def evaluate(translator: Translator) -> dict[str, float]:
        model = translator.model.eval()
        device = model.output.weight.device
        total, tokens = 0.0, 0
        for i in range(0, len(unseen), 128):
            batch = collate(unseen[i : i + 128]).to(device)
            target = batch.target[:, 1:]
            hidden, _ = model.hidden(
                batch.source, batch.target[:, :-1], batch.source_lengths
            )
            total += smoothed_loss(hidden, model.output.weight, target).item()
            tokens += (target != PAD).sum().item()
        return {"perplexity": math.exp(total / tokens)}

    return Task(words, words, batches, evaluate, texts["val"][:5])


def _require_same_settings(folder: Path, chosen: dict) -> None:
    """Keep the settings beside the training; only the number of steps may change later."""
    path = folder / "settings.json"
    if path.exists():
        there = json.loads(path.read_text("utf8"))
        changed = [
            f"{name}={there.get(name)} there, {chosen.get(name)} now"
            for name in chosen | there
            if name != "steps" and there.get(name) != chosen.get(name)
        ]
        if changed:
            raise ValueError(
                f"{folder} holds another training ({'; '.join(changed)}): choose another folder"
            )
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(chosen, indent=2) + "\n", "utf8")


if __name__ == "__main__":
    main()
