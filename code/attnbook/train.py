"""Train a Transformer to translate, from the command line.

    python -m attnbook.train --task numbers --folder runs/numbers
    python -m attnbook.train --task multi30k --folder runs/multi30k
    torchrun --nproc-per-node 2 -m attnbook.train --task multi30k --folder runs/multi30k

Numbers: "four hundred eighty-one" into "quatre cent quatre-vingt-un", in half a minute on two
cores. Multi30k: English descriptions of photographs into German, in minutes on a GPU, in hours on
a CPU. The data of Multi30k are downloaded, or read from the folder ATTNBOOK_MULTI30K.

The folder holds the training run (settings.json, state.json and the tensors step-N.safetensors).
Start the same command again after an interruption, and it continues from the last save. At the end
it receives the model in half precision (config.json, model.safetensors and, for sentences, the
subwords), which attnbook.translator.Translator.load(folder) reads, and the curve of its training
(curve.json). Its BLEU comes from python -m attnbook.scoring. A translator of numbers is tested on
all that were held out, and README.md, its card, says how many it got right.
"""

import argparse
import json
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean

import torch

from attnbook.atomic_files import atomic_write, read_json
from attnbook.checks import require_at_least_1
from attnbook.decoding import inference
from attnbook.model_card import write_card
from attnbook.tasks import Task, teach_multi30k, teach_numbers
from attnbook.training import (
    average_checkpoints,
    processes,
    rank_and_world,
    require_same_settings,
    round_weights,
    train,
)
from attnbook.training.checkpoint import History
from attnbook.training.settings import DEFAULTS, SETTINGS, NumberSettings, Settings, TaskSettings
from attnbook.translator import Translator


def parser() -> argparse.ArgumentParser:
    """The command's options; settings that are not given are None."""
    command = argparse.ArgumentParser(
        prog="python -m attnbook.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("--task", required=True, choices=DEFAULTS)
    command.add_argument(
        "--folder", required=True, type=Path, help="folder that holds the training run"
    )
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
    group = command.add_argument_group("options that do not change the result, except for rounding")
    group.add_argument("--device", help="cpu or cuda (default: cuda where there is one)")
    group.add_argument(
        "--threads",
        type=int,
        help="CPU threads (default: one for each core; 1 is best while other programs run)",
    )
    group.add_argument(
        "--evaluate-every",
        type=int,
        default=250,
        metavar="STEPS",
        help="how often to evaluate (default: 250)",
    )
    command.add_argument(
        "--bits",
        type=int,
        metavar="N",
        help="bits to which the finished weights are rounded (default: half precision)",
    )
    return command


def settings_of(options: argparse.Namespace) -> TaskSettings:
    """The settings of the task, with defaults for those not given.

    Raises ``ValueError`` for a setting that the task does not have, or for an impossible value.
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
    """Run the command; faults in its options are reported without a traceback."""
    command = parser()
    options = command.parse_args(arguments)
    try:
        with ExitStack() as stack:
            try:
                settings = settings_of(options)
                require_at_least_1(evaluate_every=options.evaluate_every)
                if options.threads is not None:
                    require_at_least_1(threads=options.threads)
                    torch.set_num_threads(options.threads)
                device = stack.enter_context(processes(options.device))
                task, translator = prepare(options, settings)
            except (ValueError, ImportError) as error:
                command.error(str(error))
            run(options, settings, task, translator, device)
    except OSError as error:  # no data, no room
        command.exit(1, f"{command.prog}: {error}\n")
    except KeyboardInterrupt:
        command.exit(130, "\ninterrupted: the same command continues from the last save\n")


def prepare(options: argparse.Namespace, settings: TaskSettings) -> tuple[Task, Translator]:
    """Read the data, build the model and note the settings in the folder.

    Raises ``ValueError`` for settings of which no model can be built, or that differ from those of
    the training run in the folder; ``OSError`` if the data cannot be read or downloaded.
    """
    if isinstance(settings, NumberSettings):
        task = teach_numbers(settings)
    else:
        task = teach_multi30k(settings)
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
        write_card(options.folder, settings, options.bits, task.test)
    sources = [source for source, _ in task.examples]
    for (source, target), written in zip(task.examples, translator.translate(sources), strict=True):
        print(f"\n{source}\n→ {written}")
        print("  as expected" if written == target else f"  expected: {target}")


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


def _keep_settings(folder: Path, settings: dict) -> None:
    """Write the settings beside the training run; only the number of steps may change later."""
    path = folder / "settings.json"
    if path.exists() and (folder / "state.json").exists():
        steps = {"steps": settings["steps"]}
        require_same_settings(folder, read_json(path) | steps, settings)
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(path, (json.dumps(settings, indent=2) + "\n").encode())


if __name__ == "__main__":
    main()
