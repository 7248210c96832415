"""A training run in a folder: saved so that no interruption loses it, continued where it was."""

import json
import re
from pathlib import Path
from typing import TypedDict

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from attnbook.atomic_files import atomic_write, read_json
from attnbook.checks import require_at_least_1


class History(TypedDict):
    """How a training run went: the loss of each step, and each evaluation with its step."""

    losses: list[float]
    evaluations: list[dict[str, float]]


class Checkpoint:
    """A training run in a folder: its tensors as safetensors, all else as JSON, no pickles.

    The tensors are the parameters and what Adam keeps of each, not a module's buffers.

    ``state.json`` names the file of tensors that belongs to it and is replaced last, in one go.
    So whenever the process is killed, the folder holds one complete state, either the new one or
    the old one. The tensors of the last ``keep`` saves stay in the folder.
    """

    def __init__(self, folder: str | Path, *, keep: int = 1) -> None:
        self.folder = Path(folder)
        self.keep = keep

    def save(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, settings: dict, history: History
    ) -> None:
        """Write the state after the last step of ``history``."""
        self.folder.mkdir(parents=True, exist_ok=True)
        tensors = {}
        for name, parameter in model.named_parameters():
            tensors[f"model.{name}"] = parameter.detach().contiguous()
            for key, value in optimizer.state[parameter].items():
                tensors[f"adam.{key}.{name}"] = value
        file = f"step-{len(history['losses'])}.safetensors"
        atomic_write(self.folder / file, save(tensors))
        state = {"tensors": file, "settings": settings, **history}
        atomic_write(self.folder / "state.json", json.dumps(state).encode())
        files = saved_tensors(self.folder)
        last = files.index(self.folder / file) + 1
        for other in [*files[last:], *files[: max(0, last - self.keep)]]:  # of no later training
            other.unlink()

    def load(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, settings: dict
    ) -> History | None:
        """Bring model and optimizer to the saved state; return its history, None if there is none.

        Raises ``ValueError`` if it was saved with different settings or for a different model.
        """
        path = self.folder / "state.json"
        if not path.exists():
            return None
        state = read_json(path)
        try:
            saved, file = state.pop("settings"), state.pop("tensors")
            history = History(losses=state["losses"], evaluations=state["evaluations"])
        except KeyError as error:
            raise ValueError(f"{path} lacks {error}") from error
        require_same_settings(self.folder, saved, settings)
        tensors = _read_tensors(self.folder / file)
        _copy_into(model, _weights(tensors), self.folder)
        adam = optimizer.state_dict()
        adam["state"] = {
            i: {key: tensors[f"adam.{key}.{name}"] for key in ("step", "exp_avg", "exp_avg_sq")}
            for i, (name, _) in enumerate(model.named_parameters())
            if f"adam.step.{name}" in tensors  # else it was never trained
        }
        optimizer.load_state_dict(adam)
        return history


def saved_tensors(folder: str | Path) -> list[Path]:
    """The files of tensors that a training run has left in its folder, the oldest first."""
    files = Path(folder).glob("step-*.safetensors")
    return sorted(files, key=lambda file: int(file.stem.split("-")[1]))


def average_checkpoints(model: nn.Module, folder: str | Path, last: int) -> None:
    """Give a model the mean of the weights in the ``last`` checkpoints of its training.

    With a rate that never reaches 0, the weights of each step wander around a better place, and
    their mean is nearer to it. If there are fewer checkpoints, the model gets the mean of those.

    Raises ``ValueError`` if there is no checkpoint, or if they belong to a different model.
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 6.1.
    """
    require_at_least_1(last=last)
    files = saved_tensors(folder)[-last:]
    if not files:
        raise ValueError(f"{folder} holds no checkpoint to average")
    trainings = [_weights(_read_tensors(file)) for file in files]
    mean = {
        name: torch.stack([weights[name] for weights in trainings]).mean(dim=0)
        for name in trainings[0]
    }
    _copy_into(model, mean, Path(folder))


def require_same_settings(folder: Path, saved: dict, settings: dict) -> None:
    """Raise ``ValueError`` and name the differences if there are any."""
    changed = [
        f"{name}={saved.get(name)} there, {settings.get(name)} now"
        for name in settings | saved
        if saved.get(name) != settings.get(name)
    ]
    if changed:
        raise ValueError(
            f"{folder} holds a training run with different settings ({'; '.join(changed)}): "
            "choose a different folder"
        )


def save_weights(model: nn.Module, path: str | Path, *, dtype: torch.dtype | None = None) -> None:
    """Write a model's parameters, not its buffers, as safetensors; shared ones are written once.

    With a ``dtype`` they are rounded to it: ``torch.float16`` halves the file.
    """
    tensors = {
        name: parameter.detach().to(dtype or parameter.dtype).contiguous()
        for name, parameter in model.named_parameters()
    }
    atomic_write(Path(path), save(tensors))


@torch.no_grad()
def round_weights(model: nn.Module, bits: int) -> None:
    """Round each row of a weight, in place, to ``bits``-bit integers times a power of two.

    The power is the row's own, the smallest with which its largest number fits. With 8 bits the
    whole numbers run from -127 to 127, and half precision has all products exactly.

    Raises ``ValueError`` for less than 2 bits.

    >>> layer = nn.Linear(3, 1, bias=False)
    >>> _ = layer.weight.data.copy_(torch.tensor([[1.0, 0.3, -0.6]]))
    >>> round_weights(layer, 3)  # from -3 to 3, times 1/2
    >>> layer.weight.tolist()
    [[1.0, 0.5, -0.5]]
    """
    if bits < 2:
        raise ValueError(f"a number and its sign need at least 2 bits: got {bits}")
    largest = 2 ** (bits - 1) - 1
    for parameter in model.parameters():
        most = parameter.abs().amax(dim=-1, keepdim=True)
        power = torch.where(most > 0, most / largest, 1.0).log2().ceil().exp2()
        parameter.copy_((parameter / power).round() * power)


def load_weights(model: nn.Module, path: str | Path) -> None:
    """Read what ``save_weights`` wrote.

    Raises ``ValueError`` if the parameters' names or shapes are those of a different model. (The
    number of heads changes neither.)
    """
    _copy_into(model, _read_tensors(Path(path)), Path(path))


def _weights(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix("model."): tensor
        for name, tensor in tensors.items()
        if name.startswith("model.")
    }


# version 1's names for the projections and the token embedding
_RENAMED = {
    "attention.query": "attention.q_proj",
    "attention.key": "attention.k_proj",
    "attention.value": "attention.v_proj",
    "attention.output": "attention.out_proj",
    "feed_forward.widen": "feed_forward.up_proj",
    "feed_forward.narrow": "feed_forward.down_proj",
    "feed_forward.gate.": "feed_forward.gate_proj.",
    "embedding.word": "embedding.token",
}


def _read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        tensors = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    old_name = re.compile("|".join(map(re.escape, _RENAMED)))
    return {old_name.sub(lambda old: _RENAMED[old[0]], name): x for name, x in tensors.items()}


def _copy_into(model: nn.Module, tensors: dict[str, Tensor], where: Path) -> None:
    parameters = dict(model.named_parameters())
    for name in parameters | tensors:
        here, there = (
            tuple(side[name].shape) if name in side else "missing" for side in (parameters, tensors)
        )
        if here != there:
            raise ValueError(
                f"{where} belongs to a different model: {name} is {here} here and {there} there"
            )
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])
