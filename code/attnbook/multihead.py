"""Multi-head attention: several small attentions side by side, and their memory in decoding."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook.attention import attention

# of all heads: (batch, heads, length, d_k) each
KeysAndValues = tuple[
    Float[Tensor, "batch heads key d_k"], Float[Tensor, "batch heads key d_k"]
]


class KVCache:
    """Keys and values of the tokens so far, so that a new token computes only its own.

    The buffers are allocated once, for ``max_length`` tokens; ``length`` of them are in use.
    For inference: what is written into a buffer takes no gradient along.
    """

    def __init__(
        self,
        batch: int,
        num_heads: int,
        max_length: int,
        d_k: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        shape = (2, batch, num_heads, max_length, d_k)
        self._buffer = torch.empty(shape, dtype=dtype, device=device)
        self.length = 0

    def append(
        self,
        key: Float[Tensor, "batch heads new d_k"],
        value: Float[Tensor, "batch heads new d_k"],
    ) -> KeysAndValues:
        """Write the keys and values of new tokens behind the others; return those of all tokens.

        What is returned is a view of the buffers, so it costs no copy.

        Raises ``ValueError`` if the buffers are too short or made for another batch.
        """
        _, batch, heads, max_length, d_k = self._buffer.shape
        end = self.length + key.shape[-2]
        if end > max_length:
            raise ValueError(
                f"the cache holds max_length={max_length} tokens: got {key.shape[-2]} more "
                f"behind the {self.length} that are there"
            )
        expected = (batch, heads, key.shape[-2], d_k)
        for name, tensor in (("key", key), ("value", value)):
            if tuple(tensor.shape) != expected:
                raise ValueError(
                    f"the cache needs a {name} of the shape {expected}: got {tuple(tensor.shape)}"
                )
        self._buffer[0, :, :, self.length : end] = key
        self._buffer[1, :, :, self.length : end] = value
        self.length = end
        key, value = self._buffer[:, :, :, :end]
        return key, value

    def reorder(self, rows: Int[Tensor, " new_batch"]) -> None:
        """Let row b continue what row ``rows[b]`` holds, as beam search needs."""
        used = self._buffer[:, :, :, : self.length].index_select(1, rows)
        if len(rows) != self._buffer.shape[1]:
            shape = list(self._buffer.shape)
            shape[1] = len(rows)
            self._buffer = self._buffer.new_empty(shape)
        self._buffer[:, :, :, : self.length] = used


class MultiHeadAttention(nn.Module):
    """Attention in ``num_heads`` subspaces of ``d_k = d_model / num_heads`` features each.

    Every head has its own maps to queries, keys and values; the heads' outputs, side by side, go
    through the map W_O. The maps of all heads are stored as one: rows ``h · d_k`` to
    ``(h + 1) · d_k`` of a weight belong to head h.

    ``dropout`` drops attention weights. It is off by default because PyTorch's fused kernel on
    the CPU cannot drop weights: training with it takes more time and ``L²`` memory there.

    Raises ``ValueError`` if ``d_model`` is not divisible by ``num_heads``.
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2.2.

    >>> layer = MultiHeadAttention(d_model=8, num_heads=2)
    >>> output, weights = layer(torch.randn(1, 3, 8), need_weights=True)
    >>> output.shape, weights.shape
    (torch.Size([1, 3, 8]), torch.Size([1, 2, 3, 3]))
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if num_heads < 1 or d_model < 1 or d_model % num_heads:
            raise ValueError(
                f"d_model={d_model} is not divisible by num_heads={num_heads}"
            )
        self.num_heads = num_heads
        self.dropout = dropout
        self.query = nn.Linear(d_model, d_model, bias=bias)
        self.key = nn.Linear(d_model, d_model, bias=bias)
        self.value = nn.Linear(d_model, d_model, bias=bias)
        self.output = nn.Linear(d_model, d_model, bias=bias)
        for linear in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(linear.weight)
            if bias:
                nn.init.zeros_(linear.bias)

    def forward(
        self,
        x: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch key d_model"]
        | KeysAndValues
        | None = None,
        mask: Bool[Tensor, "#batch #query key"] | None = None,
        *,
        causal: bool = False,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "batch query d_model"],
        Float[Tensor, "batch heads query key"] | None,
    ]:
        """Let x ask: the queries come from x, the keys and values from ``memory``.

        Without ``memory`` they come from x too: self-attention. Where they are known already,
        from ``keys_and_values`` or a cache, pass the two in its place. ``mask`` is True where
        attending is allowed, the same for all heads; ``causal=True`` keeps each token from those
        after it. Returns the output and, on request, the weights of each head.
        """
        query = self._split(self.query(x))
        if not isinstance(memory, tuple):
            memory = self.keys_and_values(x if memory is None else memory)
        key, value = memory
        heads, weights = attention(
            query,
            key,
            value,
            None if mask is None else mask.unsqueeze(1),  # for every head
            causal=causal,
            dropout=self.dropout if self.training else 0.0,
            need_weights=need_weights,
        )
        return self.output(self._merge(heads)), weights

    def keys_and_values(
        self, memory: Float[Tensor, "batch key d_model"]
    ) -> KeysAndValues:
        """The keys and values of all heads: what is worth keeping while the queries change."""
        return self._split(self.key(memory)), self._split(self.value(memory))

    def _split(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch heads length d_k"]:
        # (batch, length, d_model) → (batch, length, heads, d_k) → (batch, heads, length, d_k)
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def _merge(
        self, heads: Float[Tensor, "batch heads length d_k"]
    ) -> Float[Tensor, "batch length d_model"]:
        return heads.transpose(1, 2).flatten(start_dim=2)
