"""Multi-head attention: several small attentions side by side, and a cache for decoding."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attnbook.attention import attention
from attnbook.checks import require_at_least_1
from attnbook.positions import Rotations, rotate

# of all heads: (batch, heads, length, d_k) each
KeysAndValues = tuple[
    Float[Tensor, "batch kv_heads key d_k"], Float[Tensor, "batch kv_heads key d_k"]
]


class KVCache:
    """Keys and values of the tokens so far, so that a new token computes only its own.

    The buffers are allocated once, for ``max_length`` tokens; the first ``length`` are in use.
    For inference: gradients do not pass through the buffers.
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
        shape = (batch, num_heads, max_length, d_k)
        self._keys = torch.empty(shape, dtype=dtype, device=device)
        self._values = torch.empty_like(self._keys)
        self.length = 0

    def append(
        self,
        key: Float[Tensor, "batch heads new d_k"],
        value: Float[Tensor, "batch heads new d_k"],
    ) -> KeysAndValues:
        """Append the keys and values of new tokens; return those of all tokens so far.

        The returned tensors are views of the buffers, so nothing is copied.

        Raises ``ValueError`` if the buffers are too short or made for a different batch.
        """
        batch, heads, max_length, d_k = self._keys.shape
        end = self.length + key.shape[-2]
        if end > max_length:
            raise ValueError(
                f"the cache has room for max_length={max_length} tokens: got {key.shape[-2]} more "
                f"after the {self.length} that it has"
            )
        expected = (batch, heads, key.shape[-2], d_k)
        for name, tensor in (("key", key), ("value", value)):
            if tuple(tensor.shape) != expected:
                raise ValueError(
                    f"the cache needs a {name} of the shape {expected}: got {tuple(tensor.shape)}"
                )
        self._keys[:, :, self.length : end] = key.detach()
        self._values[:, :, self.length : end] = value.detach()
        self.length = end
        return self._keys[:, :, :end], self._values[:, :, :end]

    def reorder(self, rows: Int[Tensor, " new_batch"]) -> None:
        """Let row b continue what row ``rows[b]`` holds, as beam search needs.

        There may be more or fewer rows than before.
        """
        for name in ("_keys", "_values"):
            old = getattr(self, name)
            new = old.new_empty(len(rows), *old.shape[1:])
            new[:, :, : self.length] = old[rows, :, : self.length]
            setattr(self, name, new)


def grouped_attention(
    query: Float[Tensor, "batch heads query d_k"],
    key: Float[Tensor, "batch kv_heads key d_k"],
    value: Float[Tensor, "batch kv_heads key d_v"],
    mask: Bool[Tensor, "*#batch #query #key"] | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,
    need_weights: bool = False,
) -> tuple[
    Float[Tensor, "batch heads query d_v"],
    Float[Tensor, "batch heads query key"] | None,
]:
    """``attention`` in which each head of keys and values serves a group of the queries' heads.

    With as many heads of keys as of queries it is ``attention``. Raises what ``attention`` raises.
    Source: Ainslie et al. 2023, https://arxiv.org/abs/2305.13245, section 2.2.
    """
    group = query.shape[1] // key.shape[1]
    if group > 1 and query.shape[2] == 1 and mask is None and not causal:
        # One new token: a group's queries are the rows of one head, and no key is copied. With
        # 2000 tokens in the cache, copies would take as much time as all products of a block.
        rows = query.reshape(*key.shape[:2], group, query.shape[-1])
        output, weights = attention(rows, key, value, dropout=dropout, need_weights=need_weights)
        if weights is not None:
            weights = weights.flatten(1, 2).unsqueeze(2)
        return output.flatten(1, 2).unsqueeze(2), weights
    if group > 1:
        key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    return attention(
        query, key, value, mask, causal=causal, dropout=dropout, need_weights=need_weights
    )


class MultiHeadAttention(nn.Module):
    """Attention in ``num_heads`` subspaces of ``d_k = d_model / num_heads`` features each.

    Every head has its own projections to queries, keys and values; the heads' outputs, side by
    side, go through the projection W_O. The projections of all heads are stored as one: rows
    ``h · d_k`` to ``(h + 1) · d_k`` of a weight belong to head h.

    With ``num_kv_heads`` there are fewer heads of keys and values than of queries: head h of the
    queries reads head ``h // (num_heads // num_kv_heads)`` of keys and values. These *grouped
    queries* (Ainslie et al. 2023, https://arxiv.org/abs/2305.13245) make a cache smaller.

    ``dropout`` drops attention weights. It is off by default, and in the blocks of this package,
    because PyTorch's fused kernel on the CPU cannot drop weights: training with it takes more time
    and ``L²`` memory there.

    Raises ``ValueError`` if ``d_model`` is not divisible by ``num_heads``, if ``num_heads`` is not
    divisible by ``num_kv_heads``, or if one of them is below 1.
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2.2.

    >>> layer = MultiHeadAttention(d_model=8, num_heads=2)
    >>> output, weights = layer(torch.randn(1, 3, 8), need_weights=True)
    >>> output.shape, weights.shape
    (torch.Size([1, 3, 8]), torch.Size([1, 2, 3, 3]))
    """

    # what mixes the values; attnbook.interventions puts another function in its place
    attend = staticmethod(grouped_attention)

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        require_at_least_1(d_model=d_model, num_heads=num_heads)
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model} is not divisible by num_heads={num_heads}")
        if num_kv_heads is None:
            num_kv_heads = num_heads
        if num_kv_heads < 1 or num_heads % num_kv_heads:
            raise ValueError(
                f"num_heads={num_heads} is not divisible by num_kv_heads={num_kv_heads}"
            )
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
        self.d_k = d_model // num_heads
        self.dropout = dropout
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, num_kv_heads * self.d_k, bias=bias)
        self.v_proj = nn.Linear(d_model, num_kv_heads * self.d_k, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        for linear in (self.q_proj, self.k_proj, self.v_proj, self.out_proj):
            nn.init.xavier_uniform_(linear.weight)
            if bias:
                nn.init.zeros_(linear.bias)

    def forward(
        self,
        x: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch key d_model"] | KeysAndValues | None = None,
        mask: Bool[Tensor, "*#batch #query #key"] | None = None,
        *,
        causal: bool = False,
        rotation: Rotations | None = None,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "batch query d_model"],
        Float[Tensor, "batch heads query key"] | None,
    ]:
        """Attend from x to ``memory``: the queries come from x, the keys and values from memory.

        Without ``memory`` they come from x too: self-attention. Where they are known already,
        from ``keys_and_values`` or a ``KVCache``, pass the tuple ``(keys, values)`` instead.

        ``mask`` is True where attending is allowed, and the same for all heads: ``(query, key)``
        for the whole batch, or ``(batch, query, key)``, where batch and query may be 1.
        ``causal=True`` keeps each token from attending to those after it. ``rotation`` rotates
        queries and keys by their positions; keys that are passed as a tuple are rotated already.
        Returns the output and, on request, the weights of each head. Raises ``ValueError`` for
        different batch sizes, and what ``attention`` raises.
        """
        query = self._split(self.q_proj(x))  # (batch, heads, query, d_k)
        if rotation is not None:
            query = rotate(query, rotation)
        if not isinstance(memory, tuple):
            memory = self.keys_and_values(x if memory is None else memory, rotation)
        key, value = memory
        if key.shape[0] != x.shape[0]:
            raise ValueError(
                f"x and memory need the same batch size: got {x.shape[0]} and {key.shape[0]}"
            )
        if mask is not None and mask.ndim > 2:
            mask = mask.unsqueeze(1)  # the same for every head
        heads, weights = self.attend(
            query,
            key,
            value,
            mask,
            causal=causal,
            dropout=self.dropout if self.training else 0.0,
            need_weights=need_weights,
        )
        return self.out_proj(self._merge(heads)), weights  # (batch, query, d_model)

    def keys_and_values(
        self, memory: Float[Tensor, "batch key d_model"], rotation: Rotations | None = None
    ) -> KeysAndValues:
        """The keys and values of all heads, which are worth keeping while the queries change."""
        key = self._split(self.k_proj(memory))
        if rotation is not None:
            key = rotate(key, rotation)
        return key, self._split(self.v_proj(memory))

    def _split(
        self, x: Float[Tensor, "batch length features"]
    ) -> Float[Tensor, "batch heads length d_k"]:
        # (batch, length, heads · d_k) → (batch, length, heads, d_k) → (batch, heads, length, d_k)
        return x.unflatten(-1, (-1, self.d_k)).transpose(1, 2)

    def _merge(
        self, heads: Float[Tensor, "batch heads length d_k"]
    ) -> Float[Tensor, "batch length d_model"]:
        return heads.transpose(1, 2).flatten(start_dim=2)
