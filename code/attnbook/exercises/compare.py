"""Comparing a learner's results with the right ones, and saying in words how they differ."""

import decimal
import itertools
import math
import numbers
import re
import traceback
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from attnbook.exercises.report import describe
from attnbook.exercises.sandbox import Outcome
from attnbook.exercises.words import kind_of, listed, shortened

# results this close are equal: float32, added up in another order
RELATIVE, ABSOLUTE = 1e-4, 1e-5

NAN = "The result contains NaN (not a number)."
_FEW_DIGITS = (torch.bfloat16, torch.float16)


def same(a: object, b: object) -> bool:
    """Whether two results are equal up to rounding; NaN equals NaN, 0-d tensors equal numbers."""
    if is_number(a) and is_number(b):
        return _close(_float64(a).reshape(()), _float64(b).reshape(()))
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape or a.is_complex() != b.is_complex():
            return False
        return _close(_float64(a), _float64(b))
    return False


def reproduces(a: Outcome, b: Outcome) -> bool:
    """Whether two calls had the same result, or failed in the same way."""
    if a.error or b.error:
        return type(a.error) is type(b.error) and _text(a.error) == _text(b.error)
    return same(a.value, b.value)


def contains_nan(value: object) -> bool:
    """Whether a tensor or a number is, or holds, NaN."""
    if isinstance(value, torch.Tensor):
        return bool(value.isnan().any())
    return is_number(value) and math.isnan(to_float(value))


def is_number(value: object) -> bool:
    """Whether it is one real number: Python's, NumPy's or torch's, also in an array of size 1."""
    if isinstance(value, torch.Tensor):
        real = not value.is_complex() and value.dtype != torch.bool
        return real and value.numel() == 1
    if isinstance(value, np.ndarray):
        return value.size == 1 and value.dtype.kind in "iuf"
    return isinstance(value, numbers.Real | decimal.Decimal) and not isinstance(value, bool)


def to_float(number: object) -> float:
    """Any such number as one of Python's, which are infinite from 2**1024 on."""
    try:
        array = isinstance(number, torch.Tensor | np.ndarray)
        return float(number.item() if array else number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.allclose(a, b, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)


def _float64(value: object) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", torch.float64)
    return torch.tensor(to_float(value), dtype=torch.float64)


class Comparison:
    """One answer's outcomes beside the right results: what is wrong, in sentences."""

    def __init__(
        self, pairs: list[tuple[Outcome, object]], names: list[str], answer: Callable
    ) -> None:
        self._pairs = pairs
        self._problems = [_problem(o, right, names, answer) for o, right in self._pairs]
        self._bad = [i for i, problem in enumerate(self._problems) if problem]
        self._differing = [
            i
            for i, (outcome, right) in enumerate(self._pairs)
            if not self._problems[i] and not same(outcome.value, right)
        ]

    @property
    def wrong(self) -> list[int]:
        """The places of the results that are wrong."""
        return sorted({*self._bad, *self._differing})

    @property
    def all_right(self) -> bool:
        """Whether no result is wrong."""
        return not self.wrong

    @property
    def right_kind(self) -> bool:
        """Whether all results are of the kind asked for, whatever their numbers."""
        return not any(o.error or _different_kind(o.value, right) for o, right in self._pairs)

    @property
    def has_nan(self) -> bool:
        """Whether there is NaN in results that are of the right kind."""
        return self.right_kind and NAN in self._problems

    def sentences(self) -> list[str]:
        """All that is wrong with the results themselves."""
        return [*filter(None, (self.problem(), self.difference()))]

    def problem(self) -> str | None:
        """What is wrong before numbers are compared."""
        if not self._bad:
            return None
        sentence = NAN if self.has_nan else self._problems[self._bad[0]]
        alike = sum(_same_but_for_numbers(self._problems[i], sentence) for i in self._bad) - 1
        if all(_squeezed(*self._pairs[i]) for i in self._bad):
            sentence += " An axis of size 1 is missing. Is there a `squeeze`?"
        elif all(_stretched(*self._pairs[i]) for i in self._bad):
            sentence += " An axis of size 1 has grown. Does an earlier step `squeeze`?"
        return sentence + (_likewise(alike) if alike else "")

    def difference(self) -> str | None:
        """How far off the results are, and what the wrong ones have in common.

        It does not say what they should be.
        """
        if not self._differing:
            return None
        wrong = [self._pairs[i] for i in self._differing]
        outcome, right = wrong[0]
        numbers = [(_float64(outcome.value), _float64(right)) for outcome, right in wrong]
        if isinstance(right, torch.Tensor) and right.dtype == torch.bool:
            count = (outcome.value != right).sum().item()
            off, more = f"{count} of {right.numel()} entries are wrong.", _place(numbers)
        else:
            off, more = _off_by(*numbers[0]), _in_common(numbers) or _place(numbers)
        if sum(right.numel() for _, right in numbers) < 3:
            more = None  # of so few numbers nearly anything is true
        if more and len(wrong) < len(self._pairs):
            more = f"Where it is wrong, {more[0].lower()}{more[1:]}".replace(" everywhere", "")
        start = "The result is not right. "
        if errors := [outcome for outcome, _ in self._pairs if outcome.error]:
            runs = "finishes" if all(outcome.timed_out for outcome in errors) else "runs"
            start = f"Where it {runs}, the result is not right. "
        elif self._bad:
            start = "On other inputs, the result is not right. "
        sentences = [start + off, more]
        good = len(self._pairs) - len(self._bad) - len(self._differing)
        if good:
            sentences.append(f"On {good} of {len(self._pairs)} inputs, it is right.")
        return " ".join(filter(None, sentences))

    def low_precision(self) -> str | None:
        """That wrong results have few digits, by their type or by their numbers."""
        wrong = [(self._pairs[i][0].value, self._pairs[i][1]) for i in self._differing]
        if not wrong or not all(isinstance(x, torch.Tensor) for pair in wrong for x in pair):
            return None
        values, rights = zip(*wrong, strict=True)
        if values[0].dtype in _FEW_DIGITS:
            kind = str(values[0].dtype).removeprefix("torch.")
            return f"The result is in {kind}, which has few digits. Keep the type of the inputs."
        value, right = (
            _float64(torch.cat([x.flatten() for x in side])) for side in (values, rights)
        )
        near = torch.allclose(value, right, rtol=0.1, atol=0.02 * right.abs().max().item())
        for dtype in _FEW_DIGITS if near else ():
            if _has_digits_of(dtype, value) and not _has_digits_of(dtype, right):
                kind = str(dtype).removeprefix("torch.")
                return (
                    f"Its numbers have no more digits than {kind} has. Does a step use that type?"
                )
        return None

    def only_without_batch(self) -> str | None:
        """That all results with few axes are right, and all with more of them wrong."""
        axes = [[], []]  # of the wrong results, of the right ones
        for i, (outcome, right) in enumerate(self._pairs):
            if isinstance(right, torch.Tensor) and not outcome.error:
                axes[i not in self._bad and i not in self._differing].append(right.ndim)
        wrong, good = axes
        if not wrong or not good or max(good) >= min(wrong):
            return None
        return (
            f"It is right where the result has {max(good)} axes, and wrong where it has more. Does "
            "a step count the axes from the front?"
        )

    def ignores_input(self) -> bool:
        """Whether inputs that want different results get one.

        Two tensors of numbers tell; of single numbers, and of True and False, a few may agree by
        chance, so it must be all of one shape, and three at least.
        """
        shapes: dict[object, list[tuple]] = {}
        for outcome, right in self._pairs:
            shapes.setdefault(getattr(right, "shape", None), []).append((outcome.value, right))
        return any(
            _all_same(values) and not _all_same(rights)
            for group in shapes.values()
            for some in _groups(group)
            for values, rights in [zip(*some, strict=True)]
        )


def _likewise(count: int) -> str:
    return f" The same happens on {count} more input{'s' if count > 1 else ''}."


def _has_digits_of(dtype: torch.dtype, numbers: torch.Tensor) -> bool:
    return torch.equal(numbers.to(dtype).double(), numbers)


def _groups(results: list[tuple]) -> Iterator[Sequence[tuple]]:
    _, right = results[0]
    if isinstance(right, torch.Tensor) and right.is_floating_point() and right.numel() > 2:
        yield from itertools.combinations(results, 2)
    elif len(results) > 2:
        yield results


def _all_same(results: Sequence) -> bool:
    return all(same(results[0], result) for result in results[1:])


def _problem(outcome: Outcome, right: object, names: list[str], answer: Callable) -> str | None:
    """What is wrong with one outcome before its numbers are compared, as a sentence."""
    if outcome.error:
        return error_sentence(outcome, answer)
    if outcome.changed:
        edited = listed([f"`{names[i]}`" for i in outcome.changed])
        return f"It changes its input {edited} in place. Compute a new tensor instead."
    return _different_kind(outcome.value, right) or _not_finite(outcome.value, right)


def _different_kind(value: object, right: object) -> str | None:
    if value is None:
        return "It returns None. Is a `return` missing?"
    if not isinstance(right, torch.Tensor):
        if is_number(value):
            return None
        return f"It must return one number, but it returns {kind_of(value)}."
    if not isinstance(value, torch.Tensor):
        return f"It must return a torch tensor, but it returns {kind_of(value)}."
    if value.shape != right.shape:
        must, is_ = tuple(right.shape), tuple(value.shape)
        return f"The result must have the shape {must}, but it has {is_}."
    if value.is_complex():
        return "The result must be real, but it is complex."
    if right.dtype == torch.bool and value.dtype != torch.bool:
        return f"The result must be boolean, but it is {value.dtype}."
    return None


def _squeezed(outcome: Outcome, right: object) -> bool:
    """Whether nothing but axes of size 1 is missing."""
    value = outcome.value
    if not isinstance(value, torch.Tensor) or not isinstance(right, torch.Tensor):
        return False
    long_axes = ([n for n in x.shape if n != 1] for x in (value, right))
    return value.ndim < right.ndim and next(long_axes) == next(long_axes)


def _stretched(outcome: Outcome, right: object) -> bool:
    """Whether axes of size 1, and no others, have another size."""
    value = outcome.value
    if not isinstance(value, torch.Tensor) or not isinstance(right, torch.Tensor):
        return False
    if value.ndim != right.ndim or value.shape == right.shape:
        return False
    return all(n == m or m == 1 for n, m in zip(value.shape, right.shape, strict=True))


def _not_finite(value: object, right: object) -> str | None:
    value, right = _float64(value), _float64(right)
    if value.isnan().logical_and(~right.isnan()).any():
        return NAN
    if value.isinf().logical_and(~right.isinf()).any():
        return "The result contains an infinite number."
    return None


def error_sentence(outcome: Outcome, answer: Callable) -> str:
    """What a call stopped with, and in which line of the answer."""
    error = outcome.error
    if outcome.timed_out:
        return str(error)
    message = shortened(_text(error).strip().split("\n")[0], 200).rstrip(".")
    place = _line_of(error, answer)
    sentence = f"It raises {type(error).__name__}{place}{': ' + message if message else ''}."
    if isinstance(error, RuntimeError) and re.search(
        r"shapes cannot be multiplied|first two dimensions of batch2", message
    ):
        sentence += " The sizes do not fit. Is a transpose missing, one too many, or of other axes?"
    return sentence


def _line_of(error: BaseException, function: Callable) -> str:
    """The learner's own line that raised, as `` in line 3: `return x / y` ``, or nothing."""
    code = getattr(function, "__code__", None)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if code is not None and frame.filename == code.co_filename and frame.line:
            return f" in line {frame.lineno}: `{shortened(frame.line.strip(), 80)}`"
    return ""


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # an exception whose own text raises
        return ""


def _same_but_for_numbers(problem: str, other: str) -> bool:
    return re.sub(r"\d+", "", problem) == re.sub(r"\d+", "", other)


def _off_by(value: torch.Tensor, right: torch.Tensor) -> str:
    finite = right.isfinite()
    if same(value[finite], right[finite]):
        return "It is finite where it must be infinite."
    return f"It is off by up to {describe((value - right)[finite].abs().max().item(), digits=2)}."


def _in_common(pairs: list[tuple[torch.Tensor, torch.Tensor]]) -> str | None:
    """What is true of all wrong results and may tell where to look: the first that is found."""
    values, rights = (torch.cat([x.flatten() for x in side]) for side in zip(*pairs, strict=True))
    tables = all(right.ndim > 1 and right.shape[-1] > 1 for _, right in pairs)
    if same(values, -rights):
        return "It has the wrong sign everywhere."
    if rights.count_nonzero() > 2 and _scaled(values, rights, 0):
        return "It is off by the same factor everywhere."
    if _shifted(values, rights, 0):
        return "It is off by the same amount everywhere."
    if _axes_exchanged(pairs):
        return "Two of its axes are exchanged."
    if tables and all(_scaled(value, right, -1) for value, right in pairs):
        return "Each row is the right one times a number."
    if tables and all(_shifted(value, right, -1) for value, right in pairs):
        return "Each row is the right one plus a number."
    if all(same(value.flatten().msort(), right.flatten().msort()) for value, right in pairs):
        return "The numbers are right, but not their order."
    return None


def _scaled(value: torch.Tensor, right: torch.Tensor, dim: int) -> bool:
    """Whether all along an axis is the right result times one number."""
    finite = value.isfinite() & right.isfinite()
    product = torch.where(finite, value * right, 0.0).sum(dim, keepdim=True)
    square = torch.where(finite, right * right, 0.0).sum(dim, keepdim=True)
    factor = torch.where(square > 0, product / square, 1.0)
    return bool(factor.all()) and same(value, factor * right)


def _shifted(value: torch.Tensor, right: torch.Tensor, dim: int) -> bool:
    """Whether all along an axis is the right result plus one number."""
    amount = (value - right).nanmean(dim, keepdim=True)  # inf - inf is NaN
    return same(value, right + amount.nan_to_num(0.0))


def _axes_exchanged(pairs: list[tuple[torch.Tensor, torch.Tensor]]) -> bool:
    axes = range(-min(right.ndim for _, right in pairs), 0)
    return any(
        all(same(value.transpose(i, j), right) for value, right in pairs)
        for i, j in itertools.combinations(axes, 2)
    )


def _place(pairs: list[tuple[torch.Tensor, torch.Tensor]]) -> str | None:
    """An axis whose first or last entry alone is right, or wrong."""
    wrong = [~torch.isclose(v, r, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True) for v, r in pairs]
    dimensions = {places.ndim for places in wrong}
    if len(dimensions) > 1:
        return None
    for axis in range(dimensions.pop()):
        # one row for each wrong result: which of the entries along the axis are wrong
        along = [
            places.transpose(0, axis).reshape(places.shape[axis], -1).any(1) for places in wrong
        ]
        if any(len(row) < 2 for row in along):
            continue
        for name, place in ("first", 0), ("last", -1):
            others = [row[1:] if place == 0 else row[:-1] for row in along]
            if all(row.all() for row in others) and not any(row[place] for row in along):
                return f"Along axis {axis}, only the {name} entry is right."
            if not any(row.any() for row in others):
                return f"Along axis {axis}, only the {name} entry is wrong."
    return None
