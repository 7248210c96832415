"""Pairs of token lists as batches: padded, of similar length, and in a new order each epoch."""

import random
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from attnbook.data.vocabulary import END, PAD, START

Pair = tuple[list[int], list[int]]  # the tokens of a source and of its target
PairsOfStep = Callable[[int], Sequence[Pair]]  # a step is counted from 0


@dataclass
class Batch:
    """Sources and targets padded to rectangles; every source ends with ``END``.

    Targets run from ``START`` to ``END``: the decoder reads ``target[:, :-1]`` and must predict
    ``target[:, 1:]``. The lengths stay on the CPU, where recurrent networks need them; a mask is
    made of them on the source's device.
    """

    source: Int[Tensor, "batch source"]
    source_lengths: Int[Tensor, " batch"]
    target: Int[Tensor, "batch target"]

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> "Batch":
        """The same batch with source and target on a device."""
        source, target = (
            tokens.to(device, non_blocking=non_blocking) for tokens in (self.source, self.target)
        )
        return Batch(source, self.source_lengths, target)

    def pin_memory(self) -> "Batch":
        """The same batch in memory from which a GPU can copy while the CPU goes on."""
        return Batch(
            self.source.pin_memory(), self.source_lengths.pin_memory(), self.target.pin_memory()
        )


def collate(pairs: Sequence[Pair]) -> Batch:
    """Make a batch of pairs of token lists.

    >>> batch = collate([([7, 8], [9]), ([7], [9, 8])])
    >>> batch.source.tolist(), batch.source_lengths.tolist(), batch.target.tolist()
    ([[7, 8, 2], [7, 2, 0]], [3, 2], [[1, 9, 2, 0], [1, 9, 8, 2]])
    """
    sources = [[*source, END] for source, _ in pairs]
    targets = [[START, *target, END] for _, target in pairs]
    lengths = torch.tensor([len(s) for s in sources], dtype=torch.int64)
    return Batch(_pad(sources), lengths, _pad(targets))


def _pad(rows: list[list[int]]) -> Int[Tensor, "batch length"]:
    length = max(map(len, rows), default=0)
    padded = [row + [PAD] * (length - len(row)) for row in rows]
    return torch.tensor(padded, dtype=torch.int64).view(len(rows), length)


def batches_by_length(
    lengths: Sequence[int], max_tokens: int, *, seed: int | str = 0
) -> list[list[int]]:
    """Group examples of similar length, since padding costs work.

    Returns lists of indices, each of as many examples as fit into ``max_tokens`` when all are
    padded to the longest. Equally long examples and the batches are shuffled by ``seed``.

    Raises ``ValueError`` if one example alone is longer than ``max_tokens``.

    >>> batches_by_length([2, 5, 1, 2], max_tokens=6)
    [[2, 0, 3], [1]]
    """
    generator = random.Random(seed)
    order = list(range(len(lengths)))
    generator.shuffle(order)
    order.sort(key=lambda i: lengths[i])  # stable: ties stay shuffled
    if order and lengths[order[-1]] > max_tokens:
        raise ValueError(
            f"an example of {lengths[order[-1]]} tokens does not fit into max_tokens={max_tokens}"
        )
    batches: list[list[int]] = [[]]
    for i in order:
        if (len(batches[-1]) + 1) * lengths[i] > max_tokens:
            batches.append([])
        batches[-1].append(i)
    generator.shuffle(batches)
    return [batch for batch in batches if batch]


class EpochSampler:
    """A finite set of pairs as batches without end: each epoch in a new order.

    Calling it with the number of a step gives that step's pairs, whatever was asked before, so that
    an interrupted training run can continue exactly where it stopped.
    """

    def __init__(self, pairs: Sequence[Pair], max_tokens: int, *, seed: int = 0) -> None:
        if not pairs:
            raise ValueError("there are no pairs to make batches of")
        self.pairs, self.max_tokens, self.seed = pairs, max_tokens, seed
        # with END; a target's START is read, but not written
        self._lengths = [max(len(s) + 1, len(t) + 1) for s, t in pairs]
        self._starts = [0]  # the first step of each epoch so far
        self._latest: tuple[int, list[list[int]]] = -1, []  # an epoch and its batches

    def _batches(self, epoch: int) -> list[list[int]]:
        if self._latest[0] != epoch:
            seed = f"{self.seed} {epoch}"
            self._latest = epoch, batches_by_length(self._lengths, self.max_tokens, seed=seed)
        return self._latest[1]

    def __call__(self, step: int) -> list[Pair]:
        """The pairs of one step, counted from 0. Raises ``ValueError`` for a negative step."""
        if step < 0:
            raise ValueError(f"steps are counted from 0: got {step}")
        while self._starts[-1] <= step:
            epoch = len(self._starts) - 1
            self._starts.append(self._starts[-1] + len(self._batches(epoch)))
        epoch = bisect_right(self._starts, step) - 1
        indices = self._batches(epoch)[step - self._starts[epoch]]
        return [self.pairs[i] for i in indices]
