"""Write a target token by token: always the likeliest, or several candidates side by side."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnbook.checks import require_at_least_1


@runtime_checkable
class State(Protocol):
    """What a decoder remembers of the targets so far; beam search changes its rows."""

    def repeat(self, times: int) -> None:
        """Put ``times`` copies of each row next to each other."""

    def reorder(self, rows: Int[Tensor, " batch"]) -> None:
        """Let row b continue what row ``rows[b]``, of the same source, has written."""


OwnState = TypeVar("OwnState", bound=State)


@runtime_checkable
class Decoder(Protocol[OwnState]):
    """What both searches need of a model: a ``Transformer`` and a ``Seq2Seq`` have it."""

    def prefill(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"] | Sequence[int] | None,
        *,
        max_length: int,
    ) -> OwnState:
        """Read the sources and get ready to write up to ``max_length`` tokens."""

    def decode_step(
        self, tokens: Int[Tensor, " batch"], state: OwnState
    ) -> Float[Tensor, "batch vocabulary"]:
        """Append one token to each target, in ``state``, and score the next."""

    def modules(self) -> Iterator[nn.Module]:
        """The model and all its parts, as every ``nn.Module`` gives them."""


def greedy_search(
    model: Decoder[OwnState],
    source: Int[Tensor, "batch source"],
    source_lengths: Int[Tensor, " batch"] | Sequence[int] | None = None,
    *,
    start_token: int,
    end_token: int,
    max_length: int,
) -> list[list[int]]:
    """Take the likeliest token at each step, until every target has ended.

    Returns a list of tokens for each source, without the start and the end token, cut off after
    ``max_length`` tokens. Dropout is off meanwhile. Raises ``ValueError`` for a ``max_length``
    below 1.
    """
    require_at_least_1(max_length=max_length)
    if len(source) == 0:
        return []
    with inference(model):
        state = model.prefill(source, source_lengths, max_length=max_length)
        token = source.new_full((len(source),), start_token)
        ended = torch.zeros_like(token, dtype=torch.bool)
        written: list[Tensor] = []
        while len(written) < max_length and not ended.all():
            token = model.decode_step(token, state).argmax(dim=-1)  # (batch,)
            written.append(token)
            ended |= token == end_token
    targets = torch.stack(written, dim=1).tolist()
    return [
        target[: target.index(end_token)] if end_token in target else target for target in targets
    ]


def beam_search(
    model: Decoder[OwnState],
    source: Int[Tensor, "batch source"],
    source_lengths: Int[Tensor, " batch"] | Sequence[int] | None = None,
    *,
    start_token: int,
    end_token: int,
    max_length: int,
    beam_size: int = 4,
    length_penalty: float = 0.6,
) -> list[list[int]]:
    """Follow the ``beam_size`` likeliest beginnings of each target; return the best that ended.

    A candidate that ends keeps its place, so one beginning fewer is followed from then on, until
    all have ended. They compete by their log-probability divided by
    ``((5 + length) / 6) ** length_penalty``; the length counts the end token. Without the division
    (``length_penalty=0.0``) short targets win, as every token makes a target less likely. A source
    of which no candidate ends within ``max_length`` tokens gets its likeliest beginning.

    Returns lists of tokens as ``greedy_search`` does. With ``beam_size=1``, they are the same
    except for ties. Dropout is off meanwhile. Raises ``ValueError`` for a ``max_length`` or
    ``beam_size`` below 1.

    Source: Wu et al. 2016, https://arxiv.org/abs/1609.08144, section 7, eq. 14, without its
    coverage penalty; beam size and exponent from Vaswani et al. 2017,
    https://arxiv.org/abs/1706.03762, section 6.1.
    """
    require_at_least_1(max_length=max_length, beam_size=beam_size)
    batch, device = source.shape[0], source.device
    if batch == 0:
        return []
    precise = torch.float32 if device.type == "mps" else torch.float64  # Apple's GPUs lack float64
    ended: list[list[tuple[float, list[int]]]] = [[] for _ in range(batch)]  # (score, tokens)
    written: list[list[int]] = [[] for _ in range(batch * beam_size)]
    num_ended = torch.zeros(batch, 1, dtype=torch.int64, device=device)
    place = torch.arange(beam_size, device=device)
    first_row = torch.arange(batch, device=device)[:, None] * beam_size
    with inference(model):
        state = model.prefill(source, source_lengths, max_length=max_length)
        state.repeat(beam_size)
        token = source.new_full((batch * beam_size,), start_token)
        # all rows of a source begin alike, so only the first counts; as precise as the device
        # can be, so that adding up hardly ever turns a lead into a tie
        scores = torch.zeros(batch, beam_size, dtype=precise, device=device)
        scores[:, 1:] = -torch.inf
        for length in range(1, max_length + 1):
            logits = model.decode_step(token, state)  # (batch · beam, words)
            words = logits.shape[-1]
            log_probs = logits.to(precise).log_softmax(dim=-1)
            # a model may rule out every continuation of an impossible beginning
            log_probs = log_probs.masked_fill(log_probs.isnan(), -torch.inf)
            extended = (scores.view(-1, 1) + log_probs).view(batch, -1)
            scores, index = extended.topk(beam_size, dim=-1)  # (batch, beam)
            rows, tokens = first_row + index // words, index % words
            scores = scores.masked_fill(place >= beam_size - num_ended, -torch.inf)
            # the one read of this step: until it arrives, the CPU waits for the GPU
            found = torch.stack([rows.to(precise), tokens.to(precise), scores]).flatten(1).tolist()

            written = [
                [*written[int(row)], int(token)] for row, token in zip(*found[:2], strict=True)
            ]
            divisor = ((5 + length) / 6) ** length_penalty
            for i, score in enumerate(found[2]):
                if written[i][-1] == end_token and score > -math.inf:
                    ended[i // beam_size].append((score / divisor, written[i][:-1]))
                    found[2][i] = -math.inf
            if max(found[2]) == -math.inf:
                break
            ends = (tokens == end_token) & (scores > -torch.inf)
            num_ended = num_ended + ends.sum(dim=1, keepdim=True)
            scores = scores.masked_fill(ends, -torch.inf)
            token = tokens.flatten()
            state.reorder(rows.flatten())
    for b, candidates in enumerate(ended):
        if not candidates:
            rows_of_b = range(b * beam_size, (b + 1) * beam_size)
            candidates.append((0.0, written[max(rows_of_b, key=lambda row: found[2][row])]))
    return [max(candidates, key=lambda c: c[0])[1] for candidates in ended]


@contextmanager
def inference(model: nn.Module | Decoder) -> Iterator[None]:
    """No dropout and no gradients inside; afterwards, every module is back in its mode."""
    training = [module for module in model.modules() if module.training]
    for module in training:
        module.training = False
    try:
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True
