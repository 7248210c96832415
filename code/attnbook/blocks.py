"""Encoder and decoder blocks: attention, then a feed-forward network, around a residual stream."""

from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnbook.checks import require_at_least_1
from attnbook.multihead import KeysAndValues, KVCache, MultiHeadAttention

Activation: TypeAlias = Callable[[Tensor], Tensor]


class FeedForward(nn.Module):
    """The same small network for each position: project to ``d_ff`` features, ReLU, project back.

    ``activation`` is the non-linear function of the ``d_ff`` features, by default ReLU. BERT and
    GPT-2 use GELU.
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.3, eq. 2; the dropout
    after the ReLU is not in the paper, but in its authors' code and in PyTorch's.
    """

    def __init__(
        self,
        *,
        d_model: int,
        d_ff: int,
        dropout: float = 0.0,
        activation: Activation = F.relu,
    ) -> None:
        super().__init__()
        require_at_least_1(d_ff=d_ff)
        self.activation = activation
        self.up_proj = nn.Linear(d_model, d_ff)
        self.down_proj = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        for linear in (self.up_proj, self.down_proj):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        wide = self.activation(self.up_proj(x))  # not in place: a hook may have kept it
        return self.down_proj(self.dropout(wide))


class Residual(nn.Module):
    """What surrounds a sub-layer on the residual stream x: a norm, and dropout of the update.

    Pre-norm (``norm_first=True``): ``x + dropout(sublayer(norm(x)))``, as analysed by Xiong et al.
    2020, https://arxiv.org/abs/2002.04745. Post-norm: ``norm(x + dropout(sublayer(x)))``, as in
    Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, sections 3.1 and 5.4. The code of the
    blocks is the same for both: ``add(x, sublayer(before(x)))``.
    """

    def __init__(
        self, d_model: int, *, dropout: float, norm_first: bool, norm: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model) if norm is None else norm
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def before(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        """The input of the sub-layer: the stream or, with pre-norm, the normalised stream."""
        return self.norm(x) if self.norm_first else x

    def add(
        self, x: Float[Tensor, "*batch d_model"], update: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """The stream with the sub-layer's update added and, with post-norm, normalised."""
        x = x + self.dropout(update)
        return x if self.norm_first else self.norm(x)


class EncoderBlock(nn.Module):
    """Self-attention, then the feed-forward network.

    ``epsilon`` keeps the norms from dividing by 0.
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.1.
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm_first: bool = True,
        activation: Activation = F.relu,
        epsilon: float = 1e-5,
    ) -> None:
        super().__init__()

        def residual() -> Residual:
            norm = nn.LayerNorm(d_model, eps=epsilon)
            return Residual(d_model, dropout=dropout, norm_first=norm_first, norm=norm)

        self.self_attention = MultiHeadAttention(d_model=d_model, num_heads=num_heads)
        self.attention_residual = residual()
        self.feed_forward = FeedForward(
            d_model=d_model, d_ff=d_ff, dropout=dropout, activation=activation
        )
        self.feed_forward_residual = residual()

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        mask: Bool[Tensor, "#batch #length length"] | None = None,
        *,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "batch length d_model"],
        Float[Tensor, "batch heads length length"] | None,
    ]:
        """Return the new stream and, on request, the attention weights of each head."""
        residual = self.attention_residual
        update, weights = self.self_attention(
            residual.before(x), mask=mask, need_weights=need_weights
        )
        x = residual.add(x, update)

        residual = self.feed_forward_residual
        update = self.feed_forward(residual.before(x))
        return residual.add(x, update), weights


class DecoderBlock(nn.Module):
    """Causal self-attention, attention to the encoder's output, then the feed-forward network.

    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.1.
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float = 0.0,
        norm_first: bool = True,
    ) -> None:
        super().__init__()

        def residual() -> Residual:
            return Residual(d_model, dropout=dropout, norm_first=norm_first)

        def attention() -> MultiHeadAttention:
            return MultiHeadAttention(d_model=d_model, num_heads=num_heads)

        self.self_attention = attention()
        self.self_attention_residual = residual()
        self.cross_attention = attention()
        self.cross_attention_residual = residual()
        self.feed_forward = FeedForward(d_model=d_model, d_ff=d_ff, dropout=dropout)
        self.feed_forward_residual = residual()

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        memory: Float[Tensor, "batch source d_model"] | KeysAndValues,
        memory_mask: Bool[Tensor, "#batch 1 source"] | None = None,
        *,
        past: KVCache | None = None,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "batch target d_model"],
        Float[Tensor, "batch heads target seen"] | None,
        Float[Tensor, "batch heads target source"] | None,
    ]:
        """Return the new stream and, on request, the weights over the target and the source.

        ``memory`` is the encoder's output, or the keys and values that ``cross_attention`` makes
        of it; ``memory_mask`` is False for its padding. Padding after the target needs no mask,
        since no token sees what comes later.

        With ``past``, the keys and values of the tokens before, x is the next token alone; it is
        added to ``past``, and the weights are over all of them. Raises ``ValueError`` for several
        tokens, because they would see each other.
        """
        if past is not None and x.shape[1] != 1:
            raise ValueError(
                f"with the past in a cache, tokens must come one at a time: got {x.shape[1]}"
            )
        residual = self.self_attention_residual
        normed = residual.before(x)
        keys_and_values = self.self_attention.keys_and_values(normed)
        if past is not None:
            keys_and_values = past.append(*keys_and_values)
        update, self_weights = self.self_attention(
            normed, keys_and_values, causal=past is None, need_weights=need_weights
        )
        x = residual.add(x, update)

        residual = self.cross_attention_residual
        update, cross_weights = self.cross_attention(
            residual.before(x), memory, memory_mask, need_weights=need_weights
        )
        x = residual.add(x, update)

        residual = self.feed_forward_residual
        update = self.feed_forward(residual.before(x))
        return residual.add(x, update), self_weights, cross_weights


Block = TypeVar("Block", bound=nn.Module)


def blocks_of(stack: Iterable[nn.Module], kind: type[Block]) -> list[Block]:
    """The blocks of a stack, also where another module wraps them, as ``torch.compile`` does."""
    return [part for layer in stack for part in layer.modules() if isinstance(part, kind)]
