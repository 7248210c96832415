"""Tests that the properties of several exercises share: each returns None or a contradiction."""

from collections.abc import Callable

import torch


def changed(before: torch.Tensor, after: torch.Tensor, sentence: str) -> str | None:
    """None if equal, else the sentence with the pair of numbers that differs most."""
    before, after = before.double(), after.double()  # an answer may be either
    if torch.allclose(before, after, rtol=1e-3, atol=1e-4):
        return None
    worst = (before - after).abs().nan_to_num(torch.inf).argmax()
    numbers = (f"{x.flatten()[worst].item():.4g}" for x in (before, after))
    return (sentence[0].upper() + sentence[1:] + ".").format(*numbers)


def row_sums(weights: torch.Tensor) -> str | None:
    """None if every row sums to 1, else the sum that is farthest from it."""
    sums = weights.sum(dim=-1)
    if not (sums - 1).abs().max() < 1e-4:
        return f"One sums to {sums.flatten()[(sums - 1).abs().argmax()]:.3g}."


def no_gradient(f: Callable, *tensors: torch.Tensor) -> str | None:
    """None if a gradient reaches every one of the tensors through ``f``."""
    tensors = [tensor.clone().requires_grad_() for tensor in tensors]
    result = f(*tensors)
    if not result.requires_grad:
        return "The result is cut off from its inputs (`detach`, `item`, `numpy`, `no_grad`?)."
    gradients = torch.autograd.grad(result.sum(), tensors, allow_unused=True)
    if any(gradient is None for gradient in gradients):
        return "One of the inputs gets none."
