"""One training run in several processes, each with a share of every batch."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist


@contextmanager
def processes(device: torch.device | str | None = None) -> Iterator[torch.device]:
    """Join the other processes of ``torchrun``, if there are any; yields the device to use.

    Within another such block the processes stay joined.

    Without ``device``, CUDA where there is one. Several processes talk through NCCL on CUDA and
    through Gloo on the CPU; on CUDA each takes the GPU of its number. Raises ``ValueError`` for
    any other device, and for CUDA where there is none.
    """
    if device is None:
        device = default_device()
    if str(device).split(":")[0] not in ("cpu", "cuda"):
        raise ValueError(f"device must be cpu or cuda: got {device}")
    device = torch.device(device)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device is {device}, but PyTorch finds no GPU here")
    if "WORLD_SIZE" not in os.environ:
        yield device
        return
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    if dist.is_initialized():
        yield device
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield device
    finally:
        dist.destroy_process_group()


def default_device() -> torch.device:
    """The CUDA GPU if PyTorch finds one, otherwise the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def rank_and_world() -> tuple[int, int]:
    """The number of this process, from 0, and how many there are."""
    if not dist.is_initialized():
        return 0, 1
    return dist.get_rank(), dist.get_world_size()


def wait_for_all() -> None:
    """Wait until all processes are here."""
    if dist.is_initialized():
        dist.barrier()


def require_equal_everywhere(first: int, folder: str | Path | None) -> None:
    """Raise ``ValueError`` if not all processes have found a training run of ``first`` steps."""
    if not dist.is_initialized():
        return
    steps = [None] * dist.get_world_size()
    dist.all_gather_object(steps, first)
    if len(set(steps)) > 1:
        raise ValueError(
            f"the processes found different training runs in {folder}, after {steps} steps: "
            "all processes must share one folder"
        )
