"""A smaller counterexample: one part of a batch, or two, instead of the whole."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch

from attnbook.exercises.compare import Comparison, same
from attnbook.exercises.declare import Exercise
from attnbook.exercises.sandbox import Outcome, Sandbox

MOST_NUMBERS = 24  # that an input has, if a message can show all of them

Axis = tuple[int, int]  # the place of an argument, and an axis of it, counted from the end


@dataclass
class Cut:
    """An input cut along one axis of some arguments; each part has its right result."""

    arguments: list[int]  # the places of those that were cut
    axis: int
    parts: list[tuple[tuple, torch.Tensor]]
    pairs: list[tuple[tuple, torch.Tensor]]  # of parts that are neighbours, if there are others


@dataclass
class Case:
    """An input, what an answer makes of it, and what is right."""

    probe: tuple
    outcome: Outcome
    right: object
    mixed: Cut | None = None  # a cut whose parts are right alone, but not together

    @property
    def size(self) -> int:
        """How many numbers its largest tensor has."""
        tensors = [x for x in self.probe if isinstance(x, torch.Tensor)]
        return max((tensor.numel() for tensor in tensors), default=0)


class Bounds:
    """What no cut may break, or its parts would be no inputs that the task allows.

    Axes of the same size in all inputs belong together, such as the two of a square matrix; an
    axis along which all numbers sum to 1 is a row of weights, which stays whole.

    >>> square = [(torch.zeros(n, n),) for n in (1, 2, 3)]
    >>> Bounds(square).allow(square[1], {(0, -2)})
    False
    """

    def __init__(self, probes: list[tuple]) -> None:
        sizes = [dict(_sizes(probe)) for probe in probes]
        axes = list(dict.fromkeys(axis for these in sizes for axis in these))
        self._tied = [pair for pair in itertools.combinations(axes, 2) if _equal(pair, sizes)]
        self._whole = {axis for axis in axes if _sums_to_1(axis, probes)}

    def allow(self, probe: tuple, cut: set[Axis]) -> bool:
        """Whether these axes may be cut, and no others."""
        there = dict(_sizes(probe))
        tied = [pair for pair in self._tied if there.keys() >= {*pair}]
        return not cut & self._whole and all((a in cut) == (b in cut) for a, b in tied)


def _sizes(probe: tuple) -> Iterator[tuple[Axis, int]]:
    for i, argument in enumerate(probe):
        if isinstance(argument, torch.Tensor):
            yield from (((i, axis), argument.shape[axis]) for axis in range(-argument.ndim, 0))


def _equal(pair: tuple[Axis, Axis], sizes: list[dict[Axis, int]]) -> bool:
    """Whether two axes have the same size wherever both exist: three sizes at least, no chance."""
    found = {(these[pair[0]], these[pair[1]]) for these in sizes if these.keys() >= {*pair}}
    return len(found) > 2 and all(a == b for a, b in found)


def _sums_to_1(axis: Axis, probes: list[tuple]) -> bool:
    i, dim = axis
    having = [probe[i] for probe in probes if isinstance(probe[i], torch.Tensor)]
    having = [tensor for tensor in having if tensor.ndim >= -dim]
    return any(tensor.shape[dim] > 1 for tensor in having) and all(
        tensor.is_floating_point() and bool(((tensor.sum(dim) - 1).abs() < 1e-4).all())
        for tensor in having
    )


def cuts(reference: Callable, probe: tuple, right: object, bounds: Bounds) -> Iterator[Cut]:
    """Cut an input so that the results of its parts together are the whole result, if it can be.

    Which arguments have such an axis, a batch or a sentence's rows, is found by trying it. The
    first axis comes first.
    """
    if not isinstance(right, torch.Tensor):
        return
    for axis, size, arguments in _candidates(probe):
        if not bounds.allow(probe, {(i, axis - probe[i].ndim) for i in arguments}):
            continue
        parts = [_part(probe, arguments, axis, i) for i in range(size)]
        try:
            expected = [reference(*part) for part in parts]
            whole = [torch.cat(expected, dim) for dim in range(right.ndim)]
            if any(same(result, right) for result in whole):
                pairs = [_part(probe, arguments, axis, i, 2) for i in range(size - 1)]
                pairs = [(pair, reference(*pair)) for pair in pairs if size > 2]
                yield Cut(arguments, axis, list(zip(parts, expected, strict=True)), pairs)
        except (RuntimeError, IndexError, ValueError):  # it can't be cut in this way
            continue


def _candidates(probe: tuple) -> Iterator[tuple[int, int, list[int]]]:
    """An axis, its size, and arguments that have it: as many of them as possible first."""
    tensors = [i for i, argument in enumerate(probe) if isinstance(argument, torch.Tensor)]
    for axis in range(3):
        sizes = {i: probe[i].shape[axis] for i in tensors if probe[i].ndim > axis}
        for size in dict.fromkeys(n for n in sizes.values() if n > 1):
            having = [i for i, n in sizes.items() if n == size]
            for count in range(len(having), 0, -1):
                for some in itertools.combinations(having, count):
                    yield axis, size, [*some]


def _part(probe: tuple, arguments: list[int], axis: int, place: int, length: int = 1) -> tuple:
    return tuple(
        argument.narrow(axis, place, length) if i in arguments else argument
        for i, argument in enumerate(probe)
    )


class Shrinker:
    """Looks for the smallest input that shows what is wrong with an answer."""

    def __init__(self, exercise: Exercise, answer: Callable, box: Sandbox, bounds: Bounds) -> None:
        self.reference, self.names = exercise.reference, exercise.arguments
        self.answer, self.box, self.bounds = answer, box, bounds

    def smallest(self, cases: list[Case]) -> Case:
        """What becomes of the first case that a message can show whole, or else of the smallest."""
        found: list[Case] = []
        for case in cases:
            found.append(self.shrink(case))
            if found[-1].size <= MOST_NUMBERS or found[-1].outcome.timed_out:
                break
        return min(found, key=lambda case: case.size)

    def shrink(self, case: Case) -> Case:
        """The first part of an input whose result is wrong, and so on; or all of it.

        The batch is cut first. If its parts are right alone, two of them are left.
        """
        while not case.outcome.timed_out:
            for pieces in cuts(self.reference, case.probe, case.right, self.bounds):
                smaller, alone = self._cut_down(case, pieces)
                if alone and getattr(case.outcome.value, "shape", None) == case.right.shape:
                    case = replace(case, mixed=case.mixed or pieces)
                if smaller:
                    case = replace(smaller, mixed=case.mixed)
                    break
            else:
                break
        return case

    def _cut_down(self, case: Case, pieces: Cut) -> tuple[Case | None, bool]:
        """The first part, or pair of parts, that is wrong; and whether each part alone is right."""
        for parts in (pieces.parts, pieces.pairs):
            outcomes = self.box.call_on_all(self.answer, [probe for probe, _ in parts])
            rights = [right for _, right in parts[: len(outcomes)]]
            pairs = list(zip(outcomes, rights, strict=True))
            wrong = Comparison(pairs, self.names, self.answer).wrong if pairs else []
            if wrong:
                part = Case(parts[wrong[0]][0], *pairs[wrong[0]])
                return part, parts is pieces.pairs
            if len(pairs) < len(parts):  # time ran out
                return None, False
        return None, True
