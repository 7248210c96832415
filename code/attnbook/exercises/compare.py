"""Comparing a learner's result with the right one, and saying in words how they differ."""

import decimal
import math
import numbers
import re
from collections.abc import Callable

import numpy as np
import torch

from attnbook.exercises import sandbox
from attnbook.exercises.sandbox import Outcome

# results this close are equal: float32, added up in another order
RELATIVE, ABSOLUTE = 1e-4, 1e-5


def same(a: object, b: object) -> bool:
    """Whether two results are equal up to rounding; NaN equals NaN, 0-d tensors equal numbers."""
    if is_number(a) and is_number(b):
        return _close(_float64(a).reshape(()), _float64(b).reshape(()))
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape or a.is_complex() != b.is_complex():
            return False
        return _close(_float64(a), _float64(b))
    return False


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.allclose(a, b, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)


def to_float(number: object) -> float:
    try:
        array = isinstance(number, torch.Tensor | np.ndarray)
        return float(number.item() if array else number)
    except OverflowError:  # 2**1024 and beyond
        return math.inf if number > 0 else -math.inf


def _float64(value: object) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", torch.float64)
    return torch.tensor(to_float(value), dtype=torch.float64)


def reproduces(a: Outcome, b: Outcome) -> bool:
    if a.error or b.error:
        return type(a.error) is type(b.error) and _text(a.error) == _text(b.error)
    return same(a.value, b.value)


def same_kind(problem: str | None, other: str) -> bool:
    """Whether two sentences tell the same but for their numbers."""
    return problem is not None and re.sub(r"\d+", "", problem) == re.sub(r"\d+", "", other)


def problem_of(outcome: Outcome, right: object, names: list[str], answer: Callable) -> str | None:
    """What is wrong with one outcome before its numbers are compared, as a sentence."""
    if outcome.error:
        return error_sentence(outcome, answer)
    if outcome.changed:
        edited = listed([f"`{names[i]}`" for i in outcome.changed])
        return f"It changes its input {edited} in place: compute a new tensor instead."
    return different_kind(outcome.value, right) or _not_finite(outcome.value, right)


def different_kind(value: object, right: object) -> str | None:
    if value is None:
        return "It returns None: is a `return` missing?"
    if not isinstance(right, torch.Tensor):
        if is_number(value):
            return None
        return f"It must return one number; it returns {kind_of(value)}."
    if not isinstance(value, torch.Tensor):
        return f"It must return a torch tensor; it returns {kind_of(value)}."
    if value.shape != right.shape:
        must, is_ = tuple(right.shape), tuple(value.shape)
        return f"The result must have the shape {must}; it has {is_}."
    if value.is_complex():
        return "The result must be real; it is complex."
    if right.dtype == torch.bool and value.dtype != torch.bool:
        return f"The result must be boolean; it is {value.dtype}."
    return None


def _not_finite(value: object, right: object) -> str | None:
    if isinstance(value, torch.Tensor) and value.is_complex():
        return None
    value, right = _float64(value), _float64(right)
    if value.isnan().logical_and(~right.isnan()).any():
        return "The result contains NaN (not a number)."
    if value.isinf().logical_and(~right.isinf()).any():
        return "The result contains an infinite number."
    return None


def error_sentence(outcome: Outcome, answer: Callable) -> str:
    error = outcome.error
    if outcome.timed_out:
        return str(error)
    message = _text(error).strip().split("\n")[0][:200].rstrip(".")
    place = sandbox.line_of(error, answer)
    sentence = f"It raises {type(error).__name__}{place}{': ' + message if message else ''}."
    if isinstance(error, RuntimeError) and re.search(
        r"shapes cannot be multiplied|first two dimensions of batch2", message
    ):
        sentence += " The sizes do not fit: is a transpose missing, or of other axes?"
    return sentence


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # an exception whose own text raises
        return ""


def distance(pairs: list[tuple[Outcome, object]]) -> str:
    """How far off the first wrong result is, without saying what it should be."""
    value, right = pairs[0][0].value, pairs[0][1]
    if isinstance(right, torch.Tensor) and right.dtype == torch.bool:
        wrong = (value != right).sum().item()
        return f"The result is not right: {wrong} of {right.numel()} entries are wrong."
    differences, ratios = [], []
    for outcome, right in pairs:
        value, right = _float64(outcome.value), _float64(right)
        differences.append((value - right).abs().max().item())
        usable = right.abs() > 1e-3 * right.abs().max()
        ratios.append((value / right)[usable].flatten())
    sentence = f"The result is not right: it is off by up to {differences[0]:.2g}."
    ratio = torch.cat(ratios)
    factor = ratio.mean()
    if (
        len(ratio) > 2
        and (ratio - factor).abs().max() < 1e-3 * factor.abs()
        # also where the right result is 0, which has no ratio
        and all(same(_float64(o.value), factor * _float64(right)) for o, right in pairs)
    ):
        sentence += " It is wrong by the same factor everywhere."
    return sentence


def ignores_input(pairs: list[tuple[Outcome, object]]) -> bool:
    """Whether three or more probes of one shape want different results and get one."""
    shapes: dict[object, list[int]] = {}
    for i, (_, right) in enumerate(pairs):
        shapes.setdefault(getattr(right, "shape", None), []).append(i)
    groups = [group for group in shapes.values() if len(group) > 2]
    return any(
        all(same(pairs[g[0]][0].value, pairs[i][0].value) for i in g)
        and not all(same(pairs[g[0]][1], pairs[i][1]) for i in g)
        for g in groups
    )


def is_number(value: object) -> bool:
    """Whether it is one real number: Python's, NumPy's or torch's, also in an array of size 1."""
    if isinstance(value, torch.Tensor):
        real = not value.is_complex() and value.dtype != torch.bool
        return real and value.numel() == 1
    if isinstance(value, np.ndarray):
        return value.size == 1 and value.dtype.kind in "iuf"
    return isinstance(value, numbers.Real | decimal.Decimal) and not isinstance(value, bool)


def kind_of(value: object) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    name = type(value).__name__
    if type(value).__module__ == "numpy":
        return f"a NumPy {name}"
    return f"{_article(name)} {name}"


def _article(word: str) -> str:
    return "an" if word[0].lower() in "aeiou" else "a"


def listed(words: list[str], last: str = "and") -> str:
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
