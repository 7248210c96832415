"""The loss of a training: cross-entropy with smoothed targets, without storing all scores."""

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
    (``python code/benchmarks --only "our loss"``). The scores have the weight's dtype, also under
    autocast, and are summed in float32 at least. There is no second derivative.

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
