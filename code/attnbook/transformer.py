"""The Transformer: an encoder that reads the source, a decoder that writes the target."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook.attention import padding_mask
from attnbook.blocks import DecoderBlock, EncoderBlock, blocks_of
from attnbook.checks import require_at_least_1
from attnbook.multihead import KeysAndValues, KVCache
from attnbook.positions import (
    LearnedPositions,
    SinusoidalPositions,
    TokenEmbedding,
)


class AttentionMaps(NamedTuple):
    """All weights, by layer and head: in the source, in the target, and from target to source."""

    source: Float[Tensor, "layers batch heads source source"]
    target: Float[Tensor, "layers batch heads target target"]
    cross: Float[Tensor, "layers batch heads target source"]


@dataclass
class DecodingState:
    """What the decoder keeps from step to step; the lists have one entry for each layer."""

    memory: list[KeysAndValues]  # of the source
    memory_mask: Bool[Tensor, "batch 1 source"] | None
    past: list[KVCache]  # of the target so far

    def repeat(self, times: int) -> None:
        """Put ``times`` copies of each row next to each other."""

        def copies(x: Tensor) -> Tensor:
            return x.repeat_interleave(times, dim=0)

        self.memory = [(copies(key), copies(value)) for key, value in self.memory]
        if self.memory_mask is not None:
            self.memory_mask = copies(self.memory_mask)
        rows = torch.arange(len(self.memory[0][0]), device=self.memory[0][0].device)
        self.reorder(rows // times)

    def reorder(self, rows: Int[Tensor, " batch"]) -> None:
        """Let row b continue what row ``rows[b]``, of the same source, has written."""
        for cache in self.past:
            cache.reorder(rows)


class Transformer(nn.Module):
    """Encoder and decoder of ``num_layers`` blocks, between embeddings and an output projection.

    ``source_size`` and ``target_size`` are the sizes of the two vocabularies. Positions are
    sinusoidal. With ``num_positions`` they are learned instead, a table for each side, and longer
    inputs are an error. ``norm_first=True`` is pre-norm, with one more norm after each stack;
    ``False`` is the post-norm of 2017. ``tied=True`` lets the source embedding, the target
    embedding and the output projection share one matrix.

    Raises ``ValueError`` for less than one layer, and if embeddings are tied between vocabularies
    of different sizes.
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3 and figure 1.

    >>> model = Transformer(source_size=9, target_size=7, d_model=8, num_heads=2, num_layers=1,
    ...                     d_ff=16)
    >>> logits, _ = model(torch.tensor([[3, 4, 5]]), torch.tensor([[1, 6]]))
    >>> logits.shape
    torch.Size([1, 2, 7])
    """

    def __init__(
        self,
        *,
        source_size: int,
        target_size: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        dropout: float = 0.1,
        norm_first: bool = True,
        tied: bool = False,
        num_positions: int | None = None,
    ) -> None:
        super().__init__()
        require_at_least_1(num_layers=num_layers)
        if tied and source_size != target_size:
            raise ValueError(
                "tied embeddings need one vocabulary for both sides: "
                f"got source_size={source_size} and target_size={target_size}"
            )

        def embedding(size: int) -> TokenEmbedding:
            positions: nn.Module
            if num_positions is None:
                positions = SinusoidalPositions(d_model)
            else:
                positions = LearnedPositions(num_positions, d_model)
            return TokenEmbedding(size, d_model, positions=positions, dropout=dropout)

        def stack(block: type[nn.Module]) -> nn.ModuleList:
            return nn.ModuleList(
                block(
                    d_model=d_model,
                    num_heads=num_heads,
                    d_ff=d_ff,
                    dropout=dropout,
                    norm_first=norm_first,
                )
                for _ in range(num_layers)
            )

        def last_norm() -> nn.Module:
            return nn.LayerNorm(d_model) if norm_first else nn.Identity()

        self.source_embedding = embedding(source_size)
        self.encoder = stack(EncoderBlock)
        self.encoder_norm = last_norm()
        self.target_embedding = embedding(target_size)
        self.decoder = stack(DecoderBlock)
        self.decoder_norm = last_norm()
        self.output = nn.Linear(d_model, target_size, bias=False)
        nn.init.normal_(self.output.weight, std=d_model**-0.5)
        self.tied = tied
        self.tie()
        # weights that are loaded by assignment have come apart
        self.register_load_state_dict_post_hook(Transformer.tie)

    def tie(self, _: object = None) -> None:
        """Let both embeddings and the output projection share one matrix, if they are tied."""
        if self.tied:
            self.output.weight = self.target_embedding.token.weight
            self.source_embedding.token.weight = self.output.weight

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        target: Int[Tensor, "batch target"],
        source_lengths: Int[Tensor, " batch"] | Sequence[int] | None = None,
        *,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch target target_size"], AttentionMaps | None]:
        """Score every possible next token at each position of the target.

        ``target`` starts with the start symbol: position t sees tokens 0 to t and scores token
        t + 1. ``source_lengths`` tells tokens from padding in the source; None means no padding.
        Lengths in a list are checked, see ``padding_mask``. Returns the scores before softmax and,
        on request, all attention weights.
        """
        hidden, maps = self.hidden(source, target, source_lengths, need_weights=need_weights)
        return self.output(hidden), maps

    def hidden(
        self,
        source: Int[Tensor, "batch source"],
        target: Int[Tensor, "batch target"],
        source_lengths: Int[Tensor, " batch"] | Sequence[int] | None = None,
        *,
        need_weights: bool = False,
    ) -> tuple[Float[Tensor, "batch target d_model"], AttentionMaps | None]:
        """The decoder's output after its last norm, from which ``output`` makes the scores."""
        memory, mask, source_maps = self.encode(source, source_lengths, need_weights=need_weights)
        y = self.target_embedding(target)
        target_maps, cross_maps = [], []
        for block in self.decoder:
            y, target_map, cross_map = block(y, memory, mask, need_weights=need_weights)
            target_maps.append(target_map)
            cross_maps.append(cross_map)
        maps = None
        if need_weights:
            maps = AttentionMaps(
                source=torch.stack([weights for weights in source_maps if weights is not None]),
                target=torch.stack(target_maps),
                cross=torch.stack(cross_maps),
            )
        return self.decoder_norm(y), maps

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"] | Sequence[int] | None = None,
        *,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "batch source d_model"],
        Bool[Tensor, "batch 1 source"] | None,
        list[Float[Tensor, "batch heads source source"] | None],
    ]:
        """Read the source. Returns the memory, its mask (False for padding) and the weights.

        The weights are a list with an entry for each layer: None unless requested.
        """
        mask = None
        if source_lengths is not None:
            require_a_length_for_each(source, source_lengths)
            mask = padding_mask(source_lengths, source.shape[1], device=source.device)
        x = self.source_embedding(source)
        maps = []
        for block in self.encoder:
            x, weights = block(x, mask, need_weights=need_weights)
            maps.append(weights)
        return self.encoder_norm(x), mask, maps

    def prefill(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"] | Sequence[int] | None = None,
        *,
        max_length: int,
    ) -> DecodingState:
        """Read the source and get ready to write up to ``max_length`` tokens, one by one.

        For inference: no gradient passes through the caches.
        """
        memory, mask, _ = self.encode(source, source_lengths)
        keys_and_values = [
            block.cross_attention.keys_and_values(memory)
            for block in blocks_of(self.decoder, DecoderBlock)
        ]
        batch, heads, _, d_k = keys_and_values[0][0].shape
        past = [
            KVCache(
                batch,
                heads,
                max_length,
                d_k,
                dtype=memory.dtype,
                device=memory.device,
            )
            for _ in self.decoder
        ]
        return DecodingState(keys_and_values, mask, past)

    def decode_step(
        self, tokens: Int[Tensor, " batch"], state: DecodingState
    ) -> Float[Tensor, "batch target_size"]:
        """Take one more token of each target and score the next; ``state`` moves on by one."""
        y = self.target_embedding(tokens.unsqueeze(1), start=state.past[0].length)
        for block, memory, past in zip(self.decoder, state.memory, state.past, strict=True):
            y, _, _ = block(y, memory, state.memory_mask, past=past)
        return self.output(self.decoder_norm(y)).squeeze(1)


def require_a_length_for_each(source: Tensor, source_lengths: Tensor | Sequence[int]) -> None:
    """Raise ``ValueError`` if there are more or fewer lengths than sources."""
    count = source_lengths.shape[0] if isinstance(source_lengths, Tensor) else len(source_lengths)
    if count != source.shape[0]:
        raise ValueError(
            f"every source needs a length: got {source.shape[0]} sources and {count} lengths"
        )
