"""A smaller counterexample: one part of a batch instead of the whole."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from attnbook.exercises.compare import same

Axis = tuple[int, int]  # the place of an argument, and an axis of it, counted from the end


@dataclass
class Cut:
    """An input cut along one axis of some arguments, and the right result of each part."""

    arguments: list[int]  # the places of those that were cut
    axis: int
    parts: list[tuple]
    expected: list[torch.Tensor]


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


def cut(reference: Callable, probe: tuple, right: object, bounds: Bounds) -> Cut | None:
    """Cut an input so that the results of its parts together are the whole result, if it can be.

    Which arguments have such an axis, a batch or a sentence's rows, is found by trying it.
    """
    if not isinstance(right, torch.Tensor):
        return None
    for axis, size, arguments in _candidates(probe):
        if not bounds.allow(probe, {(i, axis - probe[i].ndim) for i in arguments}):
            continue
        parts = [_part(probe, arguments, axis, i) for i in range(size)]
        try:
            expected = [reference(*part) for part in parts]
            whole = [torch.cat(expected, dim) for dim in range(right.ndim)]
        except (RuntimeError, IndexError, ValueError):  # it can't be cut in this way
            continue
        if any(same(result, right) for result in whole):
            return Cut(arguments, axis, parts, expected)
    return None


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


def _part(probe: tuple, arguments: list[int], axis: int, place: int) -> tuple:
    return tuple(
        argument.narrow(axis, place, 1) if i in arguments else argument
        for i, argument in enumerate(probe)
    )
