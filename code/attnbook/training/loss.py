"""The loss of training: cross-entropy with smoothed targets, without storing all scores."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from attnbook.data import PAD


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

    This is ``F.cross_entropy(hidden @ weight.mT, target, ignore_index=PAD, label_smoothing=…,
    reduction="sum")``, but the scores are worked through piece by piece and never stored as a
    whole. With 6000 words that takes two thirds of the time and a fraction of the memory
    (``python code/benchmarks --only "our loss"``). The products are taken in the weight's dtype, or
    in autocast's; softmax and the sums are computed in at least float32. There is no second
    derivative. In float16 the gradient of a sum over many targets can overflow; bfloat16 has the
    range for it.

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
    kind = weight.device.type
    cast = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else weight.dtype
    with torch.autocast(kind, enabled=False):
        loss, _, _ = _LossInPieces.apply(
            hidden.reshape(-1, hidden.shape[-1]).to(cast),
            weight,
            target.reshape(-1),
            label_smoothing,
            torch.is_grad_enabled() and hidden.requires_grad,
            torch.is_grad_enabled() and weight.requires_grad,
        )
    return loss


class _LossInPieces(torch.autograd.Function):
    """Loss and gradient of a piece while its scores are there; the backward pass only scales."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        hidden: Float[Tensor, "targets d_hidden"],
        weight: Float[Tensor, "words d_hidden"],
        target: Int[Tensor, " targets"],
        smoothing: float,
        need_hidden_grad: bool,
        need_weight_grad: bool,
    ) -> tuple[Float[Tensor, ""], Tensor, Tensor]:
        words = weight.shape[0]
        dtype = torch.promote_types(weight.dtype, torch.float32)
        matrix = weight.to(hidden.dtype)
        is_token = (target != PAD).to(dtype)[:, None]
        loss = torch.zeros((), dtype=dtype, device=weight.device)
        hidden_grads = []
        weight_grad = weight.new_zeros(weight.shape if need_weight_grad else 0, dtype=dtype)
        # 8 MB of scores fit into a CPU's cache; a GPU is faster with a few large products
        size = max(1, (2**21 if weight.device.type == "cpu" else 2**26) // words)
        for first in range(0, hidden.shape[0], size):
            rows, right = hidden[first : first + size], target[first : first + size, None]
            counts = is_token[first : first + size]  # 0 for padding
            log_probs = (rows @ matrix.mT).to(dtype).log_softmax(dim=-1)  # (piece, words)
            of_target = log_probs.gather(1, right)
            smooth = log_probs.mean(dim=-1, keepdim=True)
            loss = loss - (counts * ((1 - smoothing) * of_target + smoothing * smooth)).sum()
            if need_hidden_grad or need_weight_grad:
                # by the scores: their softmax minus the smoothed target
                grad = log_probs.exp_().sub_(smoothing / words)
                grad.scatter_add_(1, right, torch.full_like(of_target, smoothing - 1))
                grad = grad.mul_(counts).to(hidden.dtype)
            if need_hidden_grad:
                hidden_grads.append(grad @ matrix)
            if need_weight_grad:
                weight_grad = weight_grad + grad.mT @ rows
        hidden_grad = torch.cat(hidden_grads) if hidden_grads else hidden.new_zeros(hidden.shape)
        return loss, hidden_grad, weight_grad.to(weight.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        _, hidden_grad, weight_grad = output
        ctx.mark_non_differentiable(hidden_grad, weight_grad)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(hidden_grad, weight_grad)
        ctx.needs = inputs[-2:]

    @staticmethod
    @once_differentiable
    def backward(ctx, scale: Float[Tensor, ""], *_: None) -> tuple[Tensor | None, ...]:
        grads = (
            grad * scale.to(grad.dtype) if needed else None
            for grad, needed in zip(ctx.saved_tensors, ctx.needs, strict=True)
        )
        return *grads, None, None, None, None
