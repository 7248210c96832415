"""One training loop: on a CPU or a GPU, in one process or many, interrupted and resumed at will.

A training run is a function of its settings: the pairs of step n, and the random numbers drawn in
it, depend on n and on the seed alone. So it can stop anywhere and continue as if it had not
stopped.
"""

import math
import random
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from tqdm import TqdmWarning

from attnbook.checks import require_above_0, require_at_least_1
from attnbook.data import Batch, Pair, PairsOfStep, collate
from attnbook.decoding import inference
from attnbook.language_model import LanguageModel
from attnbook.seq2seq import Seq2Seq
from attnbook.training.checkpoint import Checkpoint, History
from attnbook.training.loss import smoothed_loss
from attnbook.training.parallel import rank_and_world, require_equal_everywhere, wait_for_all
from attnbook.transformer import Transformer

with warnings.catch_warnings():
    # a notebook without ipywidgets gets bars of text: no reason to warn
    warnings.simplefilter("ignore", TqdmWarning)
    from tqdm.auto import trange

Model = Transformer | Seq2Seq | LanguageModel


def learning_rate(step: int, *, peak: float, warmup: int) -> float:
    """The rate of a step, counted from 0: up in a line for ``warmup`` steps, then down as 1/√step.

    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 5.3, eq. 3, with the
    peak given instead of following from ``d_model``.
    """
    step += 1
    return peak * min(step / max(warmup, 1), math.sqrt(max(warmup, 1) / step))


def train(
    model: Model,
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
    log_interval: int = 10,
    progress: bool = True,
) -> History:
    """Train a model, in place, on the pairs that ``pairs_of_step(step)`` gives for each step.

    A ``LanguageModel`` learns the targets; it has no source to read.

    Adam with the paper's β₁ = 0.9, β₂ = 0.98 and ε = 1e-9, ``learning_rate`` with this peak and
    warm-up, gradients clipped to the norm ``clip``. On a GPU that computes in bfloat16 the forward
    pass does so where that is safe; on others, such as a T4, it stays in float32. PyTorch's random
    numbers are seeded again at every step.

    Every ``log_interval`` steps, and before an evaluation or a save, the CPU reads the losses and
    the gradients' norms. In between, the CPU never waits for the device, except with a ``Seq2Seq``,
    whose sequences PyTorch sorts on the CPU. If a loss or a gradient is not finite, its update is
    skipped. ``pairs_of_step`` must depend on the step alone: it is called one step ahead. To train
    a compiled model, compile ``model.hidden``, which is what the loop calls.

    Under ``torchrun`` each process takes its share of every batch; the result is that of one
    process, except for rounding and dropout. Call it inside ``processes``.

    With a ``folder``, the training is saved there every ``save_every`` steps and at the end, and
    continues from what it finds there. The last ``keep`` of these checkpoints stay, for
    ``average_checkpoints``. ``evaluate(model)`` is called every ``evaluate_every`` steps
    and at the end, without dropout and gradients. Afterwards the model is on ``device``, in
    evaluation mode.

    Returns the history: ``{"losses": [one a step], "evaluations": [{"step": …, …}]}``; a loss is
    the mean over the batch's target tokens, in nats, with label smoothing. Raises ``ValueError`` if
    a number is impossible, a loss or a gradient is not finite (raised at the next read, naming the
    step; its update is not applied, and nothing is saved after it), or the folder holds a training
    run with more steps, different settings or a different model.

    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, sections 5.3 and 5.4; clipping
    and bfloat16 came later.
    """
    require_at_least_1(
        steps=steps,
        save_every=save_every,
        keep=keep,
        evaluate_every=evaluate_every,
        log_interval=log_interval,
    )
    require_above_0(peak_rate=peak_rate, clip=clip)
    if math.isinf(peak_rate):
        raise ValueError("peak_rate must be finite: got inf")
    settings = {
        "peak_rate": peak_rate,
        "warmup": warmup,
        "label_smoothing": label_smoothing,
        "clip": clip,
        "seed": seed,
    }
    rank, _ = rank_and_world()
    device = torch.device(device)
    updates = _Updates(model.to(device), label_smoothing, clip, device)
    checkpoint = None
    history: History = {"losses": [], "evaluations": []}
    if folder is not None:
        checkpoint = Checkpoint(folder, keep=keep)
        history = checkpoint.load(model, updates.optimizer, settings) or history
    first = len(history["losses"])
    require_equal_everywhere(first, folder)
    if first > steps:
        raise ValueError(f"{folder} holds a training run of {first} steps: got steps={steps}")
    model.train()
    unread: list[Tensor] = []  # loss and gradient's norm of the steps since the last read
    if first < steps:
        share = _share(pairs_of_step(first), device)
    # None: shown to people, not written into log files
    hidden = None if progress and rank == 0 else True
    bar = trange(first, steps, initial=first, total=steps, unit="step", disable=hidden)
    for step in bar:
        rng = random.Random(f"{seed} {step} {rank}")
        torch.manual_seed(rng.getrandbits(63))
        unread.append(updates(*share, learning_rate(step, peak=peak_rate, warmup=warmup)))
        if step + 1 < steps:  # collated and copied while the device computes
            share = _share(pairs_of_step(step + 1), device)

        done = step + 1
        is_last = done == steps
        evaluates = evaluate is not None and (done % evaluate_every == 0 or is_last)
        saves = checkpoint is not None and (done % save_every == 0 or is_last)
        if done % log_interval == 0 or evaluates or saves or is_last:
            history["losses"] += _read(unread, done - len(unread), peak_rate, warmup)
            unread.clear()
            bar.set_postfix_str(f"loss {history['losses'][-1]:.3f}", refresh=False)
        if evaluate is not None and evaluates and rank == 0:
            with inference(model):
                result = {name: float(x) for name, x in evaluate(model).items()}
            history["evaluations"].append({"step": done, **result})
            if progress:
                text = "  ".join(f"{name} {x:g}" for name, x in result.items())
                bar.write(f"step {done}  {text}")
        if checkpoint is not None and saves:
            if rank == 0:
                checkpoint.save(model, updates.optimizer, settings, history)
            wait_for_all()  # nobody leaves before it is saved
    model.eval()
    return history


class _Updates:
    """What one step does on the device, without a read by the CPU."""

    def __init__(
        self, model: Model, label_smoothing: float, clip: float, device: torch.device
    ) -> None:
        self.parameters = list(model.parameters())
        self.clip = clip
        self.optimizer = torch.optim.Adam(
            self.parameters, lr=0.0, betas=(0.9, 0.98), eps=1e-9, fused=True
        )
        # Skips an update, on the device, if a gradient is not finite. The scale of 1 never grows.
        self.guard = torch.amp.GradScaler(device.type, init_scale=1.0, growth_interval=2**31 - 1)
        self.objective: nn.Module = _Objective(model, label_smoothing)
        _, self.world = rank_and_world()
        if self.world > 1:
            self.objective = DistributedDataParallel(
                self.objective, device_ids=[device] if device.type == "cuda" else None
            )
        computes_in_bfloat16 = device.type == "cuda" and torch.cuda.is_bf16_supported(
            including_emulation=False
        )
        self.autocast = torch.autocast(device.type, torch.bfloat16, enabled=computes_in_bfloat16)

    def __call__(self, batch: Batch, scale: float, rate: float) -> Float[Tensor, "2"]:
        """Change the weights at this rate; returns the step's loss and its gradient's norm."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        with self.autocast:
            loss = self.objective(batch) * scale
        # DistributedDataParallel takes the mean over the processes; the sum is wanted
        self.guard.scale(loss * self.world).backward()
        loss = loss.detach()
        if self.world > 1:
            dist.all_reduce(loss)
        norm = nn.utils.clip_grad_norm_(self.parameters, self.clip)
        # 0, or not a number if the loss or the norm is not finite, so that the guard notices
        nothing = 0 * (loss + norm)
        for parameter in self.parameters:
            if parameter.grad is not None:
                parameter.grad += nothing
        self.guard.unscale_(self.optimizer)
        self.guard.step(self.optimizer)
        self.guard.update()
        self.optimizer.zero_grad()
        return torch.stack([loss, norm])


class _Objective(nn.Module):
    """A model and its loss in one module, so that DistributedDataParallel sees the whole step."""

    def __init__(self, model: Model, label_smoothing: float) -> None:
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        written = batch.target[:, :-1]
        if isinstance(self.model, LanguageModel):
            hidden, _ = self.model.hidden(written)
        else:
            hidden, _ = self.model.hidden(batch.source, written, batch.source_lengths)
        return smoothed_loss(
            hidden, self.model.output.weight, batch.target[:, 1:], self.label_smoothing
        )


def _share(pairs: Sequence[Pair], device: torch.device) -> tuple[Batch, float]:
    """This process's share of a step's pairs, on the way to the device, and its loss's factor."""
    if not pairs:
        raise ValueError("a step needs at least one pair: got none")
    rank, world = rank_and_world()
    share = pairs[rank::world]
    tokens = sum(len(target) + 1 for _, target in pairs)  # each with its END
    batch = collate(share or pairs[:1])
    if device.type == "cuda":
        batch = batch.pin_memory()
    return batch.to(device, non_blocking=True), bool(share) / tokens


def _read(unread: list[Tensor], first: int, peak_rate: float, warmup: int) -> list[float]:
    """The losses of the steps from ``first`` on: here the CPU waits for the device."""
    losses = []
    for step, (loss, norm) in enumerate(torch.stack(unread).tolist(), start=first):
        for name, number in (("loss", loss), ("gradient norm", norm)):
            if not math.isfinite(number):
                raise ValueError(
                    f"the {name} of step {step} is {number}. Try a lower peak rate than "
                    f"{peak_rate:g} or a longer warm-up than {warmup} steps"
                )
        losses.append(loss)
    return losses
