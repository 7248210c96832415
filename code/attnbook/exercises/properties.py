"""Tests that the properties of several exercises share: each returns None or a contradiction."""

from collections.abc import Callable

import torch

from attnbook.exercises.compare import ABSOLUTE, RELATIVE, same
from attnbook.exercises.report import told_apart
from attnbook.exercises.words import shortened


def changed(before: torch.Tensor, after: torch.Tensor, sentence: str) -> str | None:
    """None if equal, else the sentence with the pair of numbers that differs most."""
    before, after = before.double(), after.double()  # an answer may be either
    if torch.allclose(before, after, rtol=1e-3, atol=1e-4):
        return None
    difference = torch.where(before == after, 0.0, (before - after).abs())  # inf - inf is NaN
    worst = difference.nan_to_num(torch.inf).argmax()
    one, other = (x.flatten()[worst].item() for x in (before, after))
    sentence = sentence.format(told_apart(one, other), told_apart(other, one))
    return sentence[0].upper() + sentence[1:] + "."


def row_sums(weights: torch.Tensor) -> str | None:
    """None if every row sums to 1, else the sum that is farthest from it."""
    sums = weights.sum(dim=-1)
    if not (sums - 1).abs().max() < 1e-4:
        return f"One row sums to {told_apart(sums.flatten()[(sums - 1).abs().argmax()].item(), 1)}."
    return None


def cut_off(
    f: Callable, reference: Callable, names: list[str], arguments: tuple, *, exact: bool = True
) -> str | None:
    """None if gradients flow back through ``f`` as they do through the reference.

    They are those of a fixed random sum of the result's entries. Where the result itself is wrong,
    its gradients must arrive, but may differ; unless ``exact``, they may everywhere. Inputs with
    large numbers are left out, because they lose gradients in rounding.
    """
    if any(_largest(argument) > LARGE for argument in arguments):
        return None
    right, expected = _gradients(reference, arguments)
    try:
        result, found = _gradients(f, arguments)
    except RuntimeError as error:  # steps in place overwrite what `backward` needs
        return f"`backward` fails: {shortened(str(error).splitlines()[0], 200)}"
    if not result.requires_grad:
        return f"The result is cut off from all inputs. {_SCISSORS} can cause this."
    right_there = same(result, right)
    for name, wanted, gradient in zip(names, expected, found, strict=True):
        if wanted is None or not wanted.abs().max() > ABSOLUTE:  # 0 but for rounding, or NaN
            continue
        # where the result is wrong, a gradient of 0 may be what belongs to it
        if gradient is None or (right_there and not gradient.any()):
            return f"None reaches `{name}`. It is not used, or cut off. {_SCISSORS} can cause this."
        if right_there and gradient.isnan().any():
            return f"Those of `{name}` contain NaN, although the result does not. {_HIDDEN_NAN}"
        if right_there and exact and not _same_gradient(gradient, wanted):
            return f"Those of `{name}` are wrong. Is a step cut off? {_SCISSORS} can cause this."
    return None


LARGE = 100.0
_HIDDEN_NAN = (
    "Some step divides by 0, or multiplies infinity by 0. A later `where` or mask hides this in "
    "the result, but not in the gradient."
)
_SCISSORS = "`detach`, `.data`, `item`, `numpy` or `no_grad`"


def _gradients(f: Callable, arguments: tuple) -> tuple[torch.Tensor, list[torch.Tensor | None]]:
    """The result and, for each argument, its gradient, or None where none arrives."""
    given = [
        a.clone().requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a
        for a in arguments
    ]
    result = f(*given)
    learned = [a for a in given if isinstance(a, torch.Tensor) and a.requires_grad]
    if not result.requires_grad:
        return result, [None] * len(given)
    weights = torch.randn(result.shape, generator=torch.Generator().manual_seed(0))
    finite = result.isfinite()  # masked scores are -inf
    total = (weights.to(result) * result)[finite].sum()
    arrived = iter(torch.autograd.grad(total, learned, allow_unused=True))
    return result, [next(arrived) if any(a is x for x in learned) else None for a in given]


def _largest(argument: object) -> float:
    """The largest size of a finite number in a tensor; 0 for anything else."""
    if not isinstance(argument, torch.Tensor) or not argument.is_floating_point():
        return 0.0
    return argument[argument.isfinite()].abs().amax().item() if argument.isfinite().any() else 0.0


def _same_gradient(gradient: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Whether they are equal up to rounding, which grows with the largest of the numbers."""
    difference = (gradient - wanted).abs().max()
    return bool(difference <= ABSOLUTE + RELATIVE * wanted.abs().max())
