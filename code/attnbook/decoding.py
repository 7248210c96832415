"""Write a target token by token: always the likeliest, or several candidates side by side.

Both searches work on any model with ``start(source, source_lengths, max_length=)``, which returns
a state, and ``step(tokens, state)``, which returns the scores of the next token: ``Transformer``
and ``Seq2Seq``. They switch dropout off while they run.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Int
from torch import Tensor, nn


def greedy_search(
    model: nn.Module,
    source: Int[Tensor, "batch source"],
    source_lengths: Int[Tensor, " batch"] | None = None,
    *,
    start: int,
    end: int,
    max_length: int,
) -> list[list[int]]:
    """Take the likeliest token at each step, until every target has ended.

    ``start`` and ``end`` are the numbers of the start and the end symbol. Returns one list of
    tokens for each source, without those two, cut off after ``max_length`` tokens.
    """
    _require_length(max_length)
    with _inference(model):
        state = model.start(source, source_lengths, max_length=max_length)
        token = source.new_full((len(source),), start)
        ended = torch.zeros_like(token, dtype=torch.bool)
        written = []
        while len(written) < max_length and not ended.all():
            token = model.step(token, state).argmax(dim=-1)
            written.append(token)
            ended |= token == end
    rows = (
        torch.stack(written, dim=1).tolist() if written else [[]] * len(source)
    )
    return [_until(end, row) for row in rows]


def beam_search(
    model: nn.Module,
    source: Int[Tensor, "batch source"],
    source_lengths: Int[Tensor, " batch"] | None = None,
    *,
    start: int,
    end: int,
    max_length: int,
    beam_size: int = 4,
    length_penalty: float = 0.6,
) -> list[list[int]]:
    """Keep the ``beam_size`` likeliest beginnings of each target; return the best that ended.

    A source is done when ``beam_size`` candidates have ended. They compete by their
    log-probability divided by ``((5 + length) / 6) ** length_penalty``, where the length counts the
    end symbol: without such a penalty (0.0) short targets win. A source of which no candidate
    ended within ``max_length`` tokens gets its likeliest beginning.

    Source: Wu et al. 2016, https://arxiv.org/abs/1609.08144, section 7 (eq. 14, without coverage).
    """
    _require_length(max_length)
    if beam_size < 1:
        raise ValueError(f"beam_size must be at least 1: got {beam_size}")
    batch = len(source)
    done = [[] for _ in range(batch)]  # of each source: (score, tokens)
    if batch == 0:
        return done
    first_row = torch.arange(batch, device=source.device)[:, None] * beam_size
    with _inference(model):
        state = model.start(source, source_lengths, max_length=max_length)
        state.repeat(beam_size)
        written = source.new_full((batch * beam_size, 1), start)
        # in float64, so that adding up cannot turn a lead into a tie
        scores = torch.full(
            (batch, beam_size),
            -torch.inf,
            dtype=torch.float64,
            device=source.device,
        )
        scores[:, 0] = 0.0  # all rows of a source begin alike: count one
        for length in range(1, max_length + 1):
            logits = model.step(written[:, -1], state)
            grown = scores.view(-1, 1) + logits.double().log_softmax(dim=-1)
            size = grown.shape[-1]
            # of the 2 · beam_size best, at most beam_size end: enough go on
            best, index = grown.view(batch, -1).topk(
                min(2 * beam_size, beam_size * size), dim=-1
            )
            rows, tokens = first_row + index // size, index % size
            ends = tokens == end
            penalty = ((5 + length) / 6) ** length_penalty
            for b, rank in ends[:, :beam_size].nonzero().tolist():
                if len(done[b]) < beam_size and best[b, rank] > -torch.inf:
                    text = written[rows[b, rank], 1:].tolist()
                    done[b].append((best[b, rank].item() / penalty, text))
            if all(len(candidates) == beam_size for candidates in done):
                break
            # stable: of those that go on, the best first
            order = ends.int().sort(dim=-1, stable=True).indices[:, :beam_size]
            scores = best.gather(1, order).masked_fill(
                ends.gather(1, order), -torch.inf
            )
            rows, tokens = rows.gather(1, order), tokens.gather(1, order)
            written = torch.cat(
                [written[rows.flatten()], tokens.view(-1, 1)], dim=1
            )
            state.reorder(rows.flatten())
    for b, candidates in enumerate(done):
        if not candidates:
            candidates.append((0.0, written[b * beam_size, 1:].tolist()))
    return [max(candidates, key=lambda c: c[0])[1] for candidates in done]


@contextmanager
def _inference(model: nn.Module) -> Iterator[None]:
    """No dropout and no gradients inside; the model is then as it was."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)


def _until(end: int, tokens: list[int]) -> list[int]:
    return tokens[: tokens.index(end)] if end in tokens else tokens


def _require_length(max_length: int) -> None:
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1: got {max_length}")
