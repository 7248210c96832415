"""Attention: score every query against every key, turn scores into weights, mix the values.

All tensors are batch first: ``(..., length, features)``. A mask is boolean and **True where
attending is allowed**; it broadcasts to ``(..., L_query, L_key)``.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor


def dot_scores(
    query: Float[Tensor, "*#batch query d_k"],
    key: Float[Tensor, "*#batch key d_k"],
) -> Float[Tensor, "*#batch query key"]:
    """Score by the plain dot product, ``q · k``.

    Raises ``ValueError`` if query and key have different numbers of features.
    Source: Luong et al. 2015, https://arxiv.org/abs/1508.04025, section 3.1 ("dot").

    >>> dot_scores(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[11.,  2.]])
    """
    _require_equal_features("query", query, "key", key)
    return query @ key.mT


def scaled_dot_scores(
    query: Float[Tensor, "*#batch query d_k"],
    key: Float[Tensor, "*#batch key d_k"],
) -> Float[Tensor, "*#batch query key"]:
    """Score by the dot product divided by ``√d_k``, so that the spread does not grow with d_k.

    Raises ``ValueError`` if query and key have different numbers of features.
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2.1, eq. 1.

    >>> scaled_dot_scores(torch.ones(1, 4), torch.ones(1, 4))
    tensor([[2.]])
    """
    # dividing first keeps the product in the range of half precision
    return dot_scores(query / math.sqrt(query.shape[-1]), key)


def general_scores(
    query: Float[Tensor, "*#batch query d_query"],
    key: Float[Tensor, "*#batch key d_key"],
    weight: Float[Tensor, "d_query d_key"],
) -> Float[Tensor, "*#batch query key"]:
    """Score by a learned bilinear form, ``q W kᵀ``: query and key may differ in size.

    Raises ``ValueError`` if ``weight`` does not have the shape ``(d_query, d_key)``.
    Source: Luong et al. 2015, https://arxiv.org/abs/1508.04025, section 3.1 ("general").
    """
    _require_shape("weight", weight, (query.shape[-1], key.shape[-1]))
    return query @ weight @ key.mT


def additive_scores(
    query: Float[Tensor, "*#batch query d_query"],
    key: Float[Tensor, "*#batch key d_key"],
    query_weight: Float[Tensor, "d_query d_hidden"],
    key_weight: Float[Tensor, "d_key d_hidden"],
    energy_weight: Float[Tensor, " d_hidden"],
) -> Float[Tensor, "*#batch query key"]:
    """Score by a small network with one hidden layer, ``tanh(q W_q + k W_k) · v``.

    ``energy_weight`` is the vector v that turns the hidden layer into one number. Needs memory for
    ``L_query · L_key · d_hidden`` numbers, where a dot product needs ``L_query · L_key``.

    Raises ``ValueError`` if a weight does not fit the others.
    Source: Bahdanau et al. 2015, https://arxiv.org/abs/1409.0473, section A.1.2.
    """
    _require_shape("energy_weight", energy_weight, query_weight.shape[-1:])
    _require_shape("query_weight", query_weight, (query.shape[-1], energy_weight.shape[0]))
    _require_shape("key_weight", key_weight, (key.shape[-1], energy_weight.shape[0]))
    # (..., query, 1, d_hidden) and (..., 1, key, d_hidden)
    from_query = (query @ query_weight).unsqueeze(-2)
    from_key = (key @ key_weight).unsqueeze(-3)
    return torch.tanh(from_query + from_key) @ energy_weight  # (..., query, key)


def causal_mask(
    length: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "length length"]:
    """Allow each position to attend to itself and to what came before it.

    >>> causal_mask(3).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def padding_mask(
    lengths: Int[Tensor, " batch"] | Sequence[int],
    max_length: int,
    *,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "batch 1 key"]:
    """Allow every query to attend to the first ``lengths[b]`` keys of example b, not to padding.

    ``max_length`` is the padded length. The axis of size 1 stands for the queries, so
    ``causal_mask(L) & padding_mask(lengths, L)`` is the ``(batch, L, L)`` mask of a padded decoder.
    Heads need one more axis: ``.unsqueeze(1)``. The mask is on ``device``, by default where the
    lengths are.

    Raises ``ValueError`` if a length in a list is negative or larger than ``max_length``. The
    numbers in a tensor are trusted, because reading them would make the CPU wait for the GPU.

    >>> padding_mask([1, 3], 3).int()
    tensor([[[1, 0, 0]],
    <BLANKLINE>
            [[1, 1, 1]]], dtype=torch.int32)
    """
    if not isinstance(lengths, Tensor):
        if lengths and not 0 <= min(lengths) <= max(lengths) <= max_length:
            raise ValueError(
                f"lengths must lie between 0 and max_length={max_length}: "
                f"got {min(lengths)} to {max(lengths)}"
            )
        lengths = torch.tensor(lengths, dtype=torch.int64)
    # from a GPU, a copy that does not block would be read before it has arrived
    lengths = lengths.to(device, non_blocking=lengths.device.type == "cpu")
    positions = torch.arange(max_length, device=lengths.device)
    return (positions < lengths[:, None]).unsqueeze(1)


def masked_softmax(
    scores: Float[Tensor, "*batch query key"],
    mask: Bool[Tensor, "*#batch #query #key"] | None = None,
) -> Float[Tensor, "*batch query key"]:
    """Turn each row of scores into weights that sum to 1 over the keys the mask allows.

    A row in which nothing is allowed gets weights of zero, because its softmax would be 0/0.

    Raises ``TypeError`` if the mask is not boolean, ``ValueError`` if it does not broadcast.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    _require_mask(mask, scores.shape)
    scores = scores.masked_fill(~mask, -math.inf)
    empty = ~mask.any(dim=-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(dim=-1)
    return weights.masked_fill(empty, 0.0)


def attention(
    query: Float[Tensor, "*#batch query d_k"],
    key: Float[Tensor, "*#batch key d_k"],
    value: Float[Tensor, "*#batch key d_v"],
    mask: Bool[Tensor, "*#batch #query #key"] | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,
    need_weights: bool = False,
) -> tuple[
    Float[Tensor, "*#batch query d_v"],
    Float[Tensor, "*#batch query key"] | None,
]:
    """Mix the values by how well each query fits each key: ``softmax(Q Kᵀ / √d_k) V``.

    Returns ``(output, weights)``. With ``need_weights=True`` the weights are computed explicitly,
    as in the formula. Otherwise, the same output comes from PyTorch's fused kernel, which never
    stores the ``L_query × L_key`` weights, and ``weights`` is None.

    The kernel that saves this memory takes four-dimensional inputs ``(batch, heads, length,
    features)``; for other inputs, PyTorch computes the same output step by step. The kernel has no
    second derivative.

    ``mask`` is True where attending is allowed. ``causal=True`` stands for (or adds)
    ``causal_mask(L)``; the fused kernel then skips the forbidden half instead of reading a mask.
    A query for which nothing is allowed gets an output of zeros.

    ``dropout`` is the probability that a weight is set to zero, the others being scaled up to
    keep the expected sum. It acts whenever it is not 0, so pass 0.0 when you evaluate. The returned
    weights are those that made the output, after dropout.

    Raises ``ValueError`` for sizes that do not fit and ``TypeError`` for a mask that is not
    boolean. Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, eq. 1.

    >>> value = torch.tensor([[1.0], [3.0]])
    >>> output, weights = attention(torch.zeros(1, 2), torch.ones(2, 2), value, need_weights=True)
    >>> output, weights
    (tensor([[2.]]), tensor([[0.5000, 0.5000]]))
    """
    _require_equal_features("query", query, "key", key)
    _require_a_value_per_key(key, value)
    if not 0.0 <= dropout <= 1.0:
        raise ValueError(f"dropout must be a probability between 0 and 1: got {dropout}")
    length_query, length_key = query.shape[-2], key.shape[-2]
    if causal and length_query != length_key:
        raise ValueError(
            "causal attention needs as many queries as keys, all of one sequence: "
            f"got {length_query} queries and {length_key} keys"
        )
    batch = _batch_of(query, key, value)
    if mask is not None:
        mask = torch.atleast_2d(mask)
        _require_mask(mask, (*batch, length_query, length_key))
        query = query.expand(*batch, -1, -1)  # it may have fewer axes than the mask
    if causal and (mask is not None or need_weights):
        triangle = causal_mask(length_query, device=query.device)
        mask, causal = triangle if mask is None else mask & triangle, False

    if need_weights:
        scores = scaled_dot_scores(query, key)  # (..., query, key)
        weights = F.dropout(masked_softmax(scores, mask), dropout)
        return weights @ value, weights  # (..., query, d_v)
    output = F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, dropout_p=dropout, is_causal=causal
    )
    return output, None


def positive_features(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Map features to positive numbers, ``elu(x) + 1``, so that their dot products are positive.

    Source: Katharopoulos et al. 2020, https://arxiv.org/abs/2006.16236, eq. 7.
    """
    # below 0, elu(x) + 1 is e^x; added up in floating point it would round to 0
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


def linear_attention(
    query: Float[Tensor, "*#batch query d_k"],
    key: Float[Tensor, "*#batch key d_k"],
    value: Float[Tensor, "*#batch key d_v"],
    *,
    quadratic: bool = False,
) -> Float[Tensor, "*#batch query d_v"]:
    """Attention without softmax: weights proportional to ``φ(q) · φ(k)``, φ = positive_features.

    Without softmax between them, the three matrices may be multiplied in either order.
    ``φ(Q) (φ(K)ᵀ V)``, the default, costs ``O(L d²)``; ``(φ(Q) φ(K)ᵀ) V`` (``quadratic=True``)
    costs ``O(L² d)`` and gives the same output.

    Raises ``ValueError`` for sizes that do not fit.
    Source: Katharopoulos et al. 2020, https://arxiv.org/abs/2006.16236, eq. 4 to 6.
    """
    _require_equal_features("query", query, "key", key)
    _require_a_value_per_key(key, value)
    _batch_of(query, key, value)
    dtype = value.dtype
    # half precision can hold neither features this small nor sums this large
    query, key, value = (
        x.to(torch.promote_types(dtype, torch.float32)) for x in (query, key, value)
    )
    query, key = positive_features(query), positive_features(key)
    if quadratic:
        weights = query @ key.mT  # (..., query, key)
        return (weights @ value / weights.sum(dim=-1, keepdim=True)).to(dtype)
    memory = key.mT @ value  # (..., d_k, d_v)
    normaliser = query @ key.sum(dim=-2).unsqueeze(-1)  # (..., query, 1)
    return (query @ memory / normaliser).to(dtype)


def _require_equal_features(name_a: str, a: Tensor, name_b: str, b: Tensor) -> None:
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"{name_a} and {name_b} need the same number of features: "
            f"got {a.shape[-1]} and {b.shape[-1]}"
        )


def _require_a_value_per_key(key: Tensor, value: Tensor) -> None:
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"every key needs one value: got {key.shape[-2]} keys and {value.shape[-2]} values"
        )


def _batch_of(query: Tensor, key: Tensor, value: Tensor) -> torch.Size:
    shapes = [x.shape[:-2] for x in (query, key, value)]
    if shapes[0] == shapes[1] == shapes[2]:
        return shapes[0]
    try:
        return torch.broadcast_shapes(*shapes)
    except RuntimeError as error:
        sizes = ", ".join(str(tuple(shape)) for shape in shapes)
        raise ValueError(
            f"query, key and value need batch axes that fit together: got {sizes}"
        ) from error


def _require_shape(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(tensor.shape) != shape:
        raise ValueError(f"{name} must have the shape {shape}: got {tuple(tensor.shape)}")


def _require_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    if mask.dtype != torch.bool:
        raise TypeError(
            f"a mask must be boolean, True where attending is allowed: got {mask.dtype}"
        )
    try:
        fits = torch.broadcast_shapes(mask.shape, shape) == tuple(shape)
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"the mask of shape {tuple(mask.shape)} does not broadcast to "
            f"(..., query, key) = {tuple(shape)}"
        )
