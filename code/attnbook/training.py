"""One training loop: on a CPU or a GPU, in one process or many, interrupted and resumed at will.

A training is a function of its settings: the pairs of step n, and the random numbers drawn in it,
depend on n and on the seed alone. So it can stop anywhere and go on as if it had not.
"""

import json
import math
import os
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
from jaxtyping import Float, Int
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.parallel import DistributedDataParallel
from tqdm import TqdmWarning

from attnbook.data import PAD, Batch, Pair, PairsOfStep, collate
from attnbook.decoding import inference

with warnings.catch_warnings():
    # a notebook without ipywidgets gets bars of text: no reason to warn
    warnings.simplefilter("ignore", TqdmWarning)
    from tqdm.auto import trange


def learning_rate(step: int, *, peak: float, warmup: int) -> float:
    """The rate of a step, counted from 0: up in a line for ``warmup`` steps, then down as 1/√step.

    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 5.3, eq. 3, with the
    peak given instead of following from ``d_model``.
    """
    step += 1
    return peak * min(step / max(warmup, 1), math.sqrt(max(warmup, 1) / step))


def smoothed_loss(
    hidden: Float[Tensor, "*batch d_hidden"],
    weight: Float[Tensor, "words d_hidden"],
    target: Int[Tensor, "*batch"],
    label_smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Cross-entropy of the scores ``hidden @ weight.mT``, summed over all targets but padding.

    With smoothing ε and V words, the target is to have the probability ``1 - ε + ε / V`` and every
    other word ``ε / V``, so that the loss of one target is
    ``-(1 - ε) log p(target) - ε mean of log p(word)``, in nats, where p is the scores' softmax.

    The scores are worked through piece by piece and never stored as a whole, which saves time and
    memory where there are many words. They have the weight's dtype, also under autocast, and are
    summed in float32 at least. There is no second derivative.

    Raises ``ValueError`` for shapes that do not fit and a smoothing outside 0 to 1.
    Source: Szegedy et al. 2016, https://arxiv.org/abs/1512.00567, section 7.
    """
    if target.shape != hidden.shape[:-1]:
        raise ValueError(
            f"every vector needs one target: got vectors {tuple(hidden.shape[:-1])} "
            f"and targets {tuple(target.shape)}"
        )
    if not 0.0 <= label_smoothing <= 1.0:
        raise ValueError(f"label_smoothing must lie between 0 and 1: got {label_smoothing}")
    is_token = target != PAD
    return _LossInPieces.apply(
        hidden[is_token].to(weight.dtype),
        weight,
        target[is_token],
        label_smoothing,
        torch.is_grad_enabled(),
    )


class _LossInPieces(torch.autograd.Function):
    """Loss and gradient of a piece while its scores are there; the backward pass only scales."""

    @staticmethod
    def forward(
        ctx,
        hidden: Float[Tensor, "targets d_hidden"],
        weight: Float[Tensor, "words d_hidden"],
        target: Int[Tensor, " targets"],
        smoothing: float,
        need_gradients: bool,
    ) -> Float[Tensor, ""]:
        words = len(weight)
        dtype = torch.promote_types(weight.dtype, torch.float32)
        loss = torch.zeros((), dtype=dtype, device=weight.device)
        hidden_grad = torch.zeros_like(hidden)
        weight_grad = torch.zeros_like(weight)
        size = max(1, 2**21 // words)  # 8 MB of scores: small enough for a cache
        for first in range(0, len(hidden), size):
            piece = slice(first, first + size)
            right = target[piece, None]
            with torch.autocast(weight.device.type, enabled=False):
                scores = hidden[piece] @ weight.mT  # (piece, words)
                log_probs = scores.log_softmax(dim=-1)
                of_target = log_probs.gather(1, right)
                loss -= (1 - smoothing) * of_target.sum(dtype=dtype)
                loss -= smoothing * log_probs.mean(dim=-1).sum(dtype=dtype)
                if need_gradients:
                    # by the scores: their softmax minus the smoothed target
                    grad = log_probs.exp_().sub_(smoothing / words)
                    grad.scatter_add_(1, right, torch.full_like(of_target, smoothing - 1))
                    torch.mm(grad, weight, out=hidden_grad[piece])
                    weight_grad.addmm_(grad.mT, hidden[piece])
        ctx.save_for_backward(hidden_grad, weight_grad)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx, scale: Float[Tensor, ""]) -> tuple[Tensor | None, ...]:
        hidden_grad, weight_grad = ctx.saved_tensors
        scale = scale.to(weight_grad.dtype)
        return hidden_grad * scale, weight_grad * scale, None, None, None


class _Objective(nn.Module):
    """A model and its loss in one module, so that DistributedDataParallel sees the whole step."""

    def __init__(self, model: nn.Module, label_smoothing: float) -> None:
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        hidden, _ = self.model.hidden(batch.source, batch.target[:, :-1], batch.source_lengths)
        return smoothed_loss(
            hidden, self.model.output.weight, batch.target[:, 1:], self.label_smoothing
        )


def train(
    model: nn.Module,
    pairs_of_step: PairsOfStep,
    *,
    steps: int,
    peak_rate: float,
    warmup: int,
    label_smoothing: float = 0.0,
    clip: float = 1.0,
    seed: int = 0,
    device: torch.device | str = "cpu",
    folder: str | Path | None = None,
    save_every: int = 1000,
    keep: int = 1,
    evaluate: Callable[[nn.Module], dict[str, float]] | None = None,
    evaluate_every: int = 1000,
    progress: bool = True,
) -> dict:
    """Train a model, in place, on the pairs that ``pairs_of_step(step)`` gives for each step.

    Adam with the paper's β₁ = 0.9, β₂ = 0.98 and ε = 1e-9, ``learning_rate`` with this peak and
    warm-up, gradients clipped to the norm ``clip``. On CUDA the forward pass runs in bfloat16 where
    that is safe. PyTorch's random numbers are seeded anew at every step.

    Under ``torchrun`` each process takes its share of every batch; the result is that of one
    process, but for rounding and dropout. Call it inside ``processes``.

    With a ``folder``, the training is saved there every ``save_every`` steps and at the end, and
    continues from what it finds there. The last ``keep`` of these checkpoints stay, for
    ``average_checkpoints``. ``evaluate(model)`` is called every ``evaluate_every`` steps
    and at the end, without dropout and gradients. Afterwards the model is on ``device``, in
    evaluation mode.

    Returns the history: ``{"losses": [one a step], "evaluations": [{"step": …, …}]}``; a loss is
    the mean over the batch's target tokens, in nats, with label smoothing. Raises ``ValueError`` if
    a number is impossible, a loss is not finite, or the folder holds a training of more steps, with
    other settings or of another model.

    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, sections 5.3 and 5.4; clipping
    and bfloat16 came later.
    """
    for name, number in {
        "steps": steps,
        "save_every": save_every,
        "keep": keep,
        "evaluate_every": evaluate_every,
    }.items():
        if number < 1:
            raise ValueError(f"{name} must be at least 1: got {number}")
    for name, number in {"peak_rate": peak_rate, "clip": clip}.items():
        if not number > 0:
            raise ValueError(f"{name} must be above 0: got {number}")
    settings = {
        "peak_rate": peak_rate,
        "warmup": warmup,
        "label_smoothing": label_smoothing,
        "clip": clip,
        "seed": seed,
    }
    rank, world = rank_and_world()
    device = torch.device(device)
    model.to(device)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True
    )
    checkpoint = None
    history = {"losses": [], "evaluations": []}
    if folder is not None:
        checkpoint = Checkpoint(folder, keep=keep)
        history = checkpoint.load(model, optimizer, settings) or history
    first = len(history["losses"])
    _require_equal_everywhere(first, folder)
    if first > steps:
        raise ValueError(f"{folder} holds a training of {first} steps: got steps={steps}")

    objective = _Objective(model, label_smoothing)
    if world > 1:
        objective = DistributedDataParallel(
            objective, device_ids=[device] if device.type == "cuda" else None
        )
    model.train()
    bar = trange(
        first,
        steps,
        initial=first,
        total=steps,
        unit="step",
        # None: shown to people, not written into log files
        disable=None if progress and rank == 0 else True,
    )
    for step in bar:
        chance = random.Random(f"{seed} {step} {rank}")
        torch.manual_seed(chance.getrandbits(63))
        rate = learning_rate(step, peak=peak_rate, warmup=warmup)
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = _gradients(objective, pairs_of_step(step), device)
        if not math.isfinite(loss):
            raise ValueError(
                f"the loss of step {step} is {loss}: try a lower peak rate than {peak_rate:g} "
                f"or a longer warm-up than {warmup} steps"
            )
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad()
        history["losses"].append(loss)
        bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)

        done = step + 1
        due = done % evaluate_every == 0 or done == steps
        if evaluate is not None and due and rank == 0:
            with inference(model):
                result = {n: float(x) for n, x in evaluate(model).items()}
            history["evaluations"].append({"step": done, **result})
            if progress:
                text = "  ".join(f"{name} {x:g}" for name, x in result.items())
                bar.write(f"step {done}  {text}")
        if checkpoint is not None and (done % save_every == 0 or done == steps):
            if rank == 0:
                checkpoint.save(model, optimizer, settings, history)
            if world > 1:
                dist.barrier()  # nobody leaves before it is saved
    model.eval()
    return history


def _gradients(objective: nn.Module, pairs: Sequence[Pair], device: torch.device) -> float:
    """Backpropagate the loss of this process's share of the pairs; return the loss of all."""
    if not pairs:
        raise ValueError("a step needs at least one pair: got none")
    rank, world = rank_and_world()
    share = pairs[rank::world]
    batch = collate(share or pairs[:1]).to(device)
    tokens = sum(len(target) + 1 for _, target in pairs)  # each with its END
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        loss = objective(batch) * bool(share) / tokens
    # DistributedDataParallel takes the mean over the processes; the sum is wanted
    (loss * world).backward()
    loss = loss.detach()
    if world > 1:
        dist.all_reduce(loss)
    return loss.item()


class Checkpoint:
    """A training in a folder: its tensors as safetensors, everything else as JSON, no pickles.

    The tensors are the parameters and what Adam keeps of each, not a module's buffers.

    ``state.json`` names the file of tensors that belongs to it and is replaced last, in one go.
    So whenever the process is killed, the folder holds one complete training: the new or the old.
    The tensors of the last ``keep`` saves stay in the folder.
    """

    def __init__(self, folder: str | Path, *, keep: int = 1) -> None:
        self.folder = Path(folder)
        self.keep = keep

    def save(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, settings: dict, history: dict
    ) -> None:
        """Write the state after the last step of ``history``."""
        self.folder.mkdir(parents=True, exist_ok=True)
        tensors = {}
        for name, parameter in model.named_parameters():
            tensors[f"model.{name}"] = parameter.detach()
            for key, value in optimizer.state[parameter].items():
                tensors[f"adam.{key}.{name}"] = value
        file = f"step-{len(history['losses'])}.safetensors"
        replace_file(self.folder / file, save(tensors))
        state = {"tensors": file, "settings": settings, **history}
        replace_file(self.folder / "state.json", json.dumps(state).encode())
        for old in saved_tensors(self.folder)[: -self.keep]:
            old.unlink()

    def load(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, settings: dict
    ) -> dict | None:
        """Bring model and optimizer to the saved state; return its history, None if there is none.

        Raises ``ValueError`` if it was saved with other settings or for another model.
        """
        path = self.folder / "state.json"
        if not path.exists():
            return None
        state = read_json(path)
        try:
            saved, file = state.pop("settings"), state.pop("tensors")
            history = {name: state[name] for name in ("losses", "evaluations")}
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
    """The files of tensors that a training has left in its folder, the oldest first."""
    files = Path(folder).glob("step-*.safetensors")
    return sorted(files, key=lambda file: int(file.stem.split("-")[1]))


def average_checkpoints(model: nn.Module, folder: str | Path, last: int) -> None:
    """Give a model the mean of the weights in the ``last`` checkpoints of its training.

    With a rate that never reaches 0, the weights of each step wander around a better place: their
    mean is nearer to it. Where fewer checkpoints are there, it is the mean of those.

    Raises ``ValueError`` if there is none, or they are of another model.
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 6.1.
    """
    if last < 1:
        raise ValueError(f"last must be at least 1: got {last}")
    files = saved_tensors(folder)[-last:]
    if not files:
        raise ValueError(f"{folder} holds no checkpoint to average")
    trainings = [_weights(_read_tensors(file)) for file in files]
    mean = {
        name: torch.stack([weights[name] for weights in trainings]).mean(dim=0)
        for name in trainings[0]
    }
    _copy_into(model, mean, Path(folder))


def _weights(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix("model."): tensor
        for name, tensor in tensors.items()
        if name.startswith("model.")
    }


def require_same_settings(folder: Path, saved: dict, settings: dict) -> None:
    """Raise ``ValueError`` and name the differences if there are any."""
    changed = [
        f"{name}={saved.get(name)} there, {settings.get(name)} now"
        for name in settings | saved
        if saved.get(name) != settings.get(name)
    ]
    if changed:
        raise ValueError(
            f"{folder} holds a training with other settings ({'; '.join(changed)}): "
            "choose another folder"
        )


def save_weights(model: nn.Module, path: str | Path, *, dtype: torch.dtype | None = None) -> None:
    """Write a model's parameters, not its buffers, as safetensors; shared ones are written once.

    With a ``dtype`` they are rounded to it: ``torch.float16`` halves the file.
    """
    tensors = {name: p.detach().to(dtype or p.dtype) for name, p in model.named_parameters()}
    replace_file(Path(path), save(tensors))


def load_weights(model: nn.Module, path: str | Path) -> None:
    """Read what ``save_weights`` wrote.

    Raises ``ValueError`` if the parameters' names or shapes are those of another model. (The number
    of heads changes neither.)
    """
    _copy_into(model, _read_tensors(Path(path)), Path(path))


def read_json(path: Path) -> dict:
    """Read a file of settings or of state. Raises ``ValueError`` and names it if it is damaged."""
    try:
        content = json.loads(path.read_text("utf8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} is damaged: it holds no names with values")
    return content


def _read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged: {error}") from error


@contextmanager
def processes(device: torch.device | str | None = None) -> Iterator[torch.device]:
    """Join the other processes of ``torchrun``, if there are any; yields the device to use.

    Without ``device``, CUDA where there is one. Several processes talk through NCCL on CUDA and
    through Gloo on the CPU; on CUDA each takes the GPU of its number. Raises ``ValueError`` for
    any other device, and for CUDA where there is none.
    """
    has_cuda = torch.cuda.is_available()
    if device is None:
        device = "cuda" if has_cuda else "cpu"
    if str(device).split(":")[0] not in ("cpu", "cuda"):
        raise ValueError(f"device must be cpu or cuda: got {device}")
    device = torch.device(device)
    if device.type == "cuda" and not has_cuda:
        raise ValueError(f"device is {device}, but PyTorch finds no GPU here")
    if "WORLD_SIZE" not in os.environ:
        yield device
        return
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield device
    finally:
        dist.destroy_process_group()


def rank_and_world() -> tuple[int, int]:
    """The number of this process, from 0, and how many there are."""
    if not dist.is_initialized():
        return 0, 1
    return dist.get_rank(), dist.get_world_size()


def _require_equal_everywhere(first: int, folder: str | Path | None) -> None:
    if not dist.is_initialized():
        return
    steps = [None] * dist.get_world_size()
    dist.all_gather_object(steps, first)
    if len(set(steps)) > 1:
        raise ValueError(
            f"the processes found different trainings in {folder}, after {steps} steps: "
            "it must be one folder that all of them see"
        )


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that at any moment its old or its new content is there, whole."""
    temporary = path.with_name(f".{path.name}.part")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _copy_into(model: nn.Module, tensors: dict[str, Tensor], where: Path) -> None:
    parameters = dict(model.named_parameters())
    for name in parameters | tensors:
        here, there = (
            tuple(side[name].shape) if name in side else "missing" for side in (parameters, tensors)
        )
        if here != there:
            raise ValueError(
                f"{where} is of another model: {name} is {here} here and {there} there"
            )
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[name])
