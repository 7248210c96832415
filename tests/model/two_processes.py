"""A training in one process or in two, which `test_train_command.py` compares.

torchrun --nproc-per-node=2 tests/model/two_processes.py FOLDER ARGUMENT...

The arguments are those of `python -m attnbook.train`, which runs last.
"""

import sys
from pathlib import Path

import torch

from attnbook import train as command
from attnbook.data import NumberDataset
from attnbook.training import processes, rank_and_world, train
from attnbook.transformer import Transformer


def learn(folder: Path) -> None:
    """Train on batches of every size up to 13, in float64.

    The gradient of a key's bias is zero but for rounding, which Adam in float32 blows up to whole
    steps, different ones in every arrangement.
    """
    numbers = NumberDataset("en", "fr", below=1000)
    torch.manual_seed(0)
    model = Transformer(
        source_size=len(numbers.source),
        target_size=len(numbers.target),
        d_model=16,
        num_heads=2,
        num_layers=1,
        d_ff=32,
        dropout=0.0,
    ).double()
    train(
        model,
        lambda s: [numbers.pair(n) for n in numbers.sample(1 + s % 13, seed=s)],
        steps=30,
        peak_rate=0.01,
        warmup=5,
        label_smoothing=0.1,
        device="cpu",
        progress=False,
        folder=folder,
    )


def learn_apart(folder: Path) -> None:
    """Let only the first process find the training; each notes what it is told."""
    rank, _ = rank_and_world()
    try:
        learn(folder if rank == 0 else folder.with_name("elsewhere"))
    except ValueError as error:
        folder.with_name(f"said-{rank}.txt").write_text(str(error))


if __name__ == "__main__":
    folder, *arguments = sys.argv[1:]
    with processes("cpu"):
        learn(Path(folder))
        learn_apart(Path(folder))
        command.main(arguments)
