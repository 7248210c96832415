"""One training loop: on a CPU or a GPU, in one process or many, interrupted and resumed at will.

A training is a function of its settings: the pairs of step n, and the random numbers drawn in it,
depend on n and on the seed alone. So it can stop anywhere and go on as if it had not.
"""

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed as dist
from jaxtyping import Float, Int
from safetensors.torch import load_file, save
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.parallel import DistributedDataParallel
from tqdm.auto import trange

from attnbook.data import PAD, Batch, Pair, PairsOfStep, collate


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
    ``logsumexp(scores) - (1 - ε) · score of the target - ε · mean of the scores``, in nats.

    The scores are worked through piece by piece and never stored as a whole, which saves time and
    memory where there are many words. There is no second derivative.

    Source: Szegedy et al. 2016, https://arxiv.org/abs/1512.00567, section 7.
    """
    return _LossInPieces.apply(
        hidden.flatten(end_dim=-2), weight, target.flatten(), label_smoothing
    )


class _LossInPieces(torch.autograd.Function):
    """Loss and gradient of a piece while its scores are there; the backward pass only scales."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(
        ctx,
        hidden: Float[Tensor, "targets d_hidden"],
        weight: Float[Tensor, "words d_hidden"],
        target: Int[Tensor, " targets"],
        smoothing: float,
    ) -> Float[Tensor, ""]:
        words = len(weight)
        loss = hidden.new_zeros(())
        hidden_grad = torch.zeros_like(hidden)
        weight_grad = torch.zeros_like(weight)
        size = max(
            1, 2**21 // words
        )  # 8 MB of scores: small enough for a cache
        for first in range(0, len(hidden), size):
            rows = slice(first, first + size)
            right = target[rows, None]  # (piece, 1)
            is_token = right != PAD
            scores = hidden[rows] @ weight.mT  # (piece, words)
            total = scores.logsumexp(dim=-1, keepdim=True)
            of_target = scores.gather(1, right)
            mean = scores.mean(dim=-1, keepdim=True)
            losses = total - (1 - smoothing) * of_target - smoothing * mean
            loss += losses.masked_fill(~is_token, 0.0).sum()
            # by the scores: their softmax minus the smoothed target
            grad = scores.sub_(total).exp_().sub_(smoothing / words)
            grad.scatter_add_(
                1, right, torch.full_like(of_target, smoothing - 1)
            )
            grad.mul_(is_token)
            hidden_grad[rows] = grad @ weight
            weight_grad.addmm_(grad.mT, hidden[rows])
        ctx.save_for_backward(hidden_grad, weight_grad)
        return loss

    @staticmethod
    @once_differentiable
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, scale: Float[Tensor, ""]) -> tuple[Tensor | None, ...]:
        hidden_grad, weight_grad = ctx.saved_tensors
        return hidden_grad * scale, weight_grad * scale, None, None


class _Objective(nn.Module):
    """A model and its loss in one module, so that DistributedDataParallel sees the whole step."""

    def __init__(self, model: nn.Module, label_smoothing: float) -> None:
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        hidden, _ = self.model.hidden(
            batch.source, batch.target[:, :-1], batch.source_lengths
        )
        return smoothed_loss(
            hidden,
            self.model.output.weight,
            batch.target[:, 1:],
            self.label_smoothing,
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
    continues from what it finds there. ``evaluate(model)`` is called every ``evaluate_every`` steps
    and at the end. Afterwards the model is on ``device``, in evaluation mode.

    Returns the history: ``{"losses": [one a step], "evaluations": [{"step": …, …}]}``; a loss is
    the mean over the batch's target tokens, in nats, with label smoothing. Raises ``ValueError`` if
    a batch is smaller than the number of processes, the folder holds a training with other
    settings, or a loss is not finite.

    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, sections 5.3 and 5.4; clipping
    and bfloat16 came later.
    """
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
        checkpoint = Checkpoint(folder)
        history = checkpoint.load(model, optimizer, settings) or history
    first = len(history["losses"])
    _require_equal_everywhere(first, folder)

    objective = _Objective(model, label_smoothing)
    if world > 1:
        objective = DistributedDataParallel(
            objective,
            device_ids=[device] if device.type == "cuda" else None,
            broadcast_buffers=False,
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
        # the hash of integers, unlike that of texts, is always the same
        torch.manual_seed(hash((seed, step, rank)) % 2**63)
        rate = learning_rate(step, peak=peak_rate, warmup=warmup)
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = _gradients(objective, pairs_of_step(step), device)
        if not math.isfinite(loss):
            raise ValueError(
                f"the loss of step {step} is {loss}, after steps at rates up to {rate:.2g}: "
                "try a lower peak rate or a longer warm-up"
            )
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad()
        history["losses"].append(loss)
        bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)

        done = step + 1
        due = done % evaluate_every == 0 or done == steps
        if evaluate is not None and due and rank == 0:
            result = {"step": done, **evaluate(model)}
            history["evaluations"].append(result)
            bar.write("  ".join(f"{name} {x:g}" for name, x in result.items()))
            model.train()
        if checkpoint is not None and (done % save_every == 0 or done == steps):
            if rank == 0:
                checkpoint.save(model, optimizer, settings, history)
            _wait()
    model.eval()
    return history


def _gradients(
    objective: nn.Module, pairs: Sequence[Pair], device: torch.device
) -> float:
    """Backpropagate the loss of this process's share of the pairs; return the loss of all."""
    rank, world = rank_and_world()
    if len(pairs) < world:
        raise ValueError(
            f"a batch of {len(pairs)} pairs is too small for {world} processes"
        )
    batch = collate(pairs[rank::world]).to(device)
    tokens = sum(len(target) + 1 for _, target in pairs)  # each with its END
    with torch.autocast(
        device.type, torch.bfloat16, enabled=device.type == "cuda"
    ):
        loss = objective(batch) / tokens
    # DistributedDataParallel takes the mean over the processes; the sum is wanted
    (loss * world).backward()
    loss = loss.detach()
    if world > 1:
        dist.all_reduce(loss)
    return loss.item()


class Checkpoint:
    """A training in a folder: its tensors as safetensors, everything else as JSON, no pickles.

    ``state.json`` names the file of tensors that belongs to it and is replaced last, in one go.
    So whenever the process is killed, the folder holds one complete training: the new or the old.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def save(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        settings: dict,
        history: dict,
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
        for old in self.folder.glob("step-*.safetensors"):
            if old.name != file:
                old.unlink()

    def load(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        settings: dict,
    ) -> dict | None:
        """Bring model and optimizer to the saved state; return its history, None if there is none.

        Raises ``ValueError`` if it was saved with other settings or for another model.
        """
        path = self.folder / "state.json"
        if not path.exists():
            return None
        state = json.loads(path.read_text("utf8"))
        require_same_settings(self.folder, state.pop("settings"), settings)
        tensors = load_file(self.folder / state.pop("tensors"))
        _copy_into(model, tensors, "model.", self.folder)
        adam = optimizer.state_dict()
        adam["state"] = {
            i: {
                key: tensors[f"adam.{key}.{name}"]
                for key in ("step", "exp_avg", "exp_avg_sq")
            }
            for i, (name, _) in enumerate(model.named_parameters())
            if f"adam.step.{name}" in tensors  # else it was never trained
        }
        optimizer.load_state_dict(adam)
        return state


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


def save_weights(model: nn.Module, path: str | Path) -> None:
    """Write a model's parameters, not its buffers, as safetensors; shared ones are written once."""
    tensors = {name: p.detach() for name, p in model.named_parameters()}
    replace_file(Path(path), save(tensors))


def load_weights(model: nn.Module, path: str | Path) -> None:
    """Read what ``save_weights`` wrote. Raises ``ValueError`` if it is of another model."""
    _copy_into(model, load_file(path), "", Path(path))


@contextmanager
def processes(
    device: torch.device | str | None = None,
) -> Iterator[torch.device]:
    """Join the other processes of ``torchrun``, if there are any; yields the device to use.

    Without ``device``, CUDA where there is one. Several processes talk through NCCL on CUDA and
    through Gloo on the CPU; on CUDA each takes the GPU of its number.
    """
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(device)
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


def _wait() -> None:
    """Until all processes are here."""
    if dist.is_initialized():
        dist.barrier()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that at any moment its old or its new content is there, whole."""
    temporary = path.with_name(f".{path.name}.part")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _copy_into(
    model: nn.Module, tensors: dict[str, Tensor], prefix: str, where: Path
) -> None:
    parameters = dict(model.named_parameters())
    for name, parameter in parameters.items():
        tensor = tensors.get(prefix + name)
        if tensor is None or tensor.shape != parameter.shape:
            there = "none" if tensor is None else tuple(tensor.shape)
            raise ValueError(
                f"{where} is of another model: {name} has the shape {tuple(parameter.shape)} "
                f"here and {there} there"
            )
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(tensors[prefix + name])
