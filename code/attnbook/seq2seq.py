"""Translation with recurrent networks: one fixed context vector, or attention at every step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnbook.attention import (
    additive_scores,
    dot_scores,
    general_scores,
    masked_softmax,
    padding_mask,
    scaled_dot_scores,
)
from attnbook.transformer import require_a_length_for_each

ENERGIES = ("dot", "scaled_dot", "general", "additive")


class Energy(nn.Module):
    """One of the four energies, with the weights it needs (none for the two dot products).

    An energy is what the papers on Seq2Seq call the score of a query against a key. Raises
    ``ValueError`` if ``kind`` is not one of ``ENERGIES``.
    """

    def __init__(self, kind: str, d_model: int) -> None:
        super().__init__()
        if kind not in ENERGIES:
            raise ValueError(f"energy must be one of {ENERGIES}: got {kind!r}")
        self.kind = kind
        shapes: dict[str, dict[str, tuple[int, ...]]] = {
            "general": {"weight": (d_model, d_model)},
            "additive": {
                "query_weight": (d_model, d_model),
                "key_weight": (d_model, d_model),
                "energy_weight": (d_model,),
            },
        }
        self.weights = nn.ParameterDict(
            {
                name: torch.randn(shape) / d_model**0.5
                for name, shape in shapes.get(kind, {}).items()
            }
        )

    def forward(
        self,
        query: Float[Tensor, "batch query d_model"],
        key: Float[Tensor, "batch key d_model"],
    ) -> Float[Tensor, "batch query key"]:
        energies: dict[str, Callable[..., Tensor]] = {
            "dot": dot_scores,
            "scaled_dot": scaled_dot_scores,
            "general": general_scores,
            "additive": additive_scores,
        }
        return energies[self.kind](query, key, **self.weights)


@dataclass
class RecurrentState:
    """What the decoder keeps from step to step."""

    hidden: Float[Tensor, "batch d_model"]  # the decoder's state
    memory: Float[Tensor, "batch source d_model"]  # the encoder's states
    memory_mask: Bool[Tensor, "batch 1 source"] | None
    fixed_context: Float[Tensor, "batch d_model"]  # the encoder's last states

    def repeat(self, times: int) -> None:
        """Put ``times`` copies of each row next to each other."""

        def copies(x: Tensor) -> Tensor:
            return x.repeat_interleave(times, dim=0)

        self.hidden, self.memory = copies(self.hidden), copies(self.memory)
        self.fixed_context = copies(self.fixed_context)
        if self.memory_mask is not None:
            self.memory_mask = copies(self.memory_mask)

    def reorder(self, rows: Int[Tensor, " batch"]) -> None:
        """Let row b continue what row ``rows[b]``, of the same source, has written."""
        self.hidden = self.hidden[rows]


class Seq2Seq(nn.Module):
    """A bidirectional GRU reads the source, a GRU writes the target.

    With ``energy=None`` the decoder gets the same context vector at every step: the encoder's
    last states. With an energy it makes a new one at every step: its state before the step is the
    query, the encoder's states are the keys and the values. Both have the same parameters except
    for the energy's own. The decoder's state and the context together give the scores, by one
    linear projection.

    Raises ``ValueError`` if ``d_model`` is odd (each direction of the encoder has half of it) or
    the energy unknown. Sources: Cho et al. 2014, https://arxiv.org/abs/1406.1078 (fixed context);
    Bahdanau et al. 2015, https://arxiv.org/abs/1409.0473, section 3 (attention, query and additive
    energy); Luong et al. 2015, https://arxiv.org/abs/1508.04025, section 3.1 (the other energies).

    >>> model = Seq2Seq(source_size=9, target_size=7, d_model=8, energy="dot")
    >>> logits, alignments = model(torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6]]))
    >>> logits.shape, alignments.shape
    (torch.Size([1, 2, 7]), torch.Size([1, 2, 3]))
    """

    def __init__(
        self,
        *,
        source_size: int,
        target_size: int,
        d_model: int,
        energy: str | None,
    ) -> None:
        super().__init__()
        if d_model < 2 or d_model % 2:
            raise ValueError(f"d_model must be even, half for each direction: got {d_model}")
        self.source_embedding = nn.Embedding(source_size, d_model)
        self.encoder = nn.GRU(d_model, d_model // 2, bidirectional=True, batch_first=True)
        self.initial_state = nn.Linear(d_model, d_model)
        self.energy = None if energy is None else Energy(energy, d_model)
        self.target_embedding = nn.Embedding(target_size, d_model)
        self.decoder = nn.GRUCell(2 * d_model, d_model)
        self.output = nn.Linear(2 * d_model, target_size, bias=False)

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        target: Int[Tensor, "batch target"],
        source_lengths: Int[Tensor, " batch"] | Sequence[int] | None = None,
    ) -> tuple[
        Float[Tensor, "batch target target_size"],
        Float[Tensor, "batch target source"] | None,
    ]:
        """Score every possible next token at each position of the target.

        ``target`` starts with the start symbol: position t sees tokens 0 to t and scores token
        t + 1. Returns the scores before softmax and the alignments, None for a fixed context.
        """
        hidden, alignments = self.hidden(source, target, source_lengths)
        return self.output(hidden), alignments

    def hidden(
        self,
        source: Int[Tensor, "batch source"],
        target: Int[Tensor, "batch target"],
        source_lengths: Int[Tensor, " batch"] | Sequence[int] | None = None,
    ) -> tuple[
        Float[Tensor, "batch target readout"],
        Float[Tensor, "batch target source"] | None,
    ]:
        """The decoder's states, each joined to its context: 2 · d_model features for ``output``."""
        state = self.prefill(source, source_lengths)
        hidden, alignments = [], []
        for embedded in self.target_embedding(target).unbind(dim=1):
            readout, weights = self._advance(embedded, state)
            hidden.append(readout)
            if weights is not None:
                alignments.append(weights)
        if self.energy is None:
            return torch.stack(hidden, dim=1), None
        return torch.stack(hidden, dim=1), torch.stack(alignments, dim=1)

    def prefill(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"] | Sequence[int] | None = None,
        *,
        max_length: int | None = None,
    ) -> RecurrentState:
        """Read the source. ``max_length`` is ignored: a recurrent state does not grow.

        Raises ``ValueError`` if a source has no tokens, or if there is no source at all.
        """
        batch, length = source.shape
        mask, lengths = None, torch.full((batch,), length)
        if source_lengths is not None:
            require_a_length_for_each(source, source_lengths)
            mask = padding_mask(source_lengths, length, device=source.device)
            lengths = torch.as_tensor(source_lengths).cpu()  # where packing needs them
        if batch == 0 or lengths.min() < 1:
            raise ValueError(
                "at least one source is needed, with at least one token each: "
                f"got lengths {lengths.tolist()}"
            )
        packed = pack_padded_sequence(
            self.source_embedding(source),
            lengths,
            batch_first=True,
            enforce_sorted=False,
        )
        packed, last = self.encoder(packed)
        memory, _ = pad_packed_sequence(packed, batch_first=True, total_length=length)
        context = last.transpose(0, 1).flatten(start_dim=1)  # both directions
        return RecurrentState(self.initial_state(context).tanh(), memory, mask, context)

    def decode_step(
        self, tokens: Int[Tensor, " batch"], state: RecurrentState
    ) -> Float[Tensor, "batch target_size"]:
        """Take one more token of each target and score the next; ``state`` moves on by one."""
        readout, _ = self._advance(self.target_embedding(tokens), state)
        return self.output(readout)

    def _advance(
        self, embedded: Float[Tensor, "batch d_model"], state: RecurrentState
    ) -> tuple[Float[Tensor, "batch readout"], Float[Tensor, "batch source"] | None]:
        context, weights = state.fixed_context, None
        if self.energy is not None:
            query = state.hidden.unsqueeze(1)
            scores = self.energy(query, state.memory)
            weights = masked_softmax(scores, state.memory_mask)
            context = (weights @ state.memory).squeeze(1)
            weights = weights.squeeze(1)
        state.hidden = self.decoder(torch.cat([embedded, context], dim=-1), state.hidden)
        return torch.cat([state.hidden, context], dim=-1), weights
