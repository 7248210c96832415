"""A smaller counterexample: one part of a batch instead of the whole."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from attnbook.exercises.compare import same


@dataclass
class Cut:
    """An input cut along one axis of some arguments, and the right result of each part."""

    arguments: list[int]  # the places of those that were cut
    axis: int
    parts: list[tuple]
    expected: list[torch.Tensor]


def cut(reference: Callable, probe: tuple, right: object) -> Cut | None:
    """Cut an input so that the results of its parts together are the whole result, if it can be.

    Which arguments have such an axis, a batch or a sentence's rows, is found by trying it.
    """
    if not isinstance(right, torch.Tensor):
        return None
    for axis, size, arguments in _candidates(probe):
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
