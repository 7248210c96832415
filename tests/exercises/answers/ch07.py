"""What learners might hand in for the exercises of chapter 7."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def split_leaves_numbers_in_place(f):
    """Numbers that say where they come from."""
    batch, length, num_heads, d_k = 3, 5, 2, 4
    x = torch.arange(batch * length * 3 * num_heads * d_k).view(batch, length, -1)
    parts = f(x, num_heads)
    return all(
        parts[kind, b, h, t, c] == x[b, t, (kind * num_heads + h) * d_k + c]
        for kind in range(3)
        for b in range(batch)
        for h in range(num_heads)
        for t in range(length)
        for c in range(d_k)
    )


def split_by_slices(f):
    x = torch.randn(2, 3, 3 * 2 * 5)
    query, key, value = f(x, 2)
    whole = [x[..., :10], x[..., 10:20], x[..., 20:]]
    halves = [(p[:, 0], p[:, 1]) for p in (query, key, value)]
    return all(
        torch.allclose(first, w[..., :5]) and torch.allclose(second, w[..., 5:])
        for (first, second), w in zip(halves, whole, strict=True)
    )


def split_of_sums(f):
    x = torch.randn(2, 3, 12)
    return torch.allclose(f(x, 2).sum(dim=(2, 4))[0], x[..., :4].sum(dim=-1), atol=1e-5)


def matrices(query_weight, key_weight, num_heads):
    query = query_weight.unflatten(0, (num_heads, -1))
    key = key_weight.unflatten(0, (num_heads, -1))
    return query.mT @ key / math.sqrt(query.shape[1])


def matrices_by_loop(query_weight, key_weight, num_heads):
    result = []
    for W_Q, W_K in zip(query_weight.chunk(num_heads), key_weight.chunk(num_heads), strict=True):
        result.append(W_Q.T @ W_K * len(W_Q) ** -0.5)
    return torch.stack(result)


def matrices_by_einsum(query_weight, key_weight, num_heads):
    d_k = len(query_weight) // num_heads
    query = query_weight.view(num_heads, d_k, -1)
    key = key_weight.view(num_heads, d_k, -1)
    return torch.einsum("hka,hkb->hab", query, key) / d_k**0.5


def attend(x, memory, projections, num_heads, mask):
    W_Q, W_K, W_V, W_O = projections
    query, key, value = (
        made.unflatten(-1, (num_heads, -1)).transpose(1, 2)
        for made in (x @ W_Q, memory @ W_K, memory @ W_V)
    )
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(~mask[:, None], -math.inf)
    heads = scores.softmax(dim=-1) @ value
    return heads.transpose(1, 2).flatten(start_dim=2) @ W_O


def attend_by_loop(x, memory, projections, num_heads, mask):
    query_projections, key_projections, value_projections = (
        m.chunk(num_heads, -1) for m in projections[:3]
    )
    total = 0
    for W_Q, W_K, W_V, W_O in zip(
        query_projections,
        key_projections,
        value_projections,
        projections[3].chunk(num_heads),
        strict=True,
    ):
        scores = (x @ W_Q) @ (memory @ W_K).mT / math.sqrt(W_Q.shape[-1])
        weights = torch.where(mask, scores, -1e9).softmax(dim=-1)
        total = total + weights @ (memory @ W_V) @ W_O
    return total


def attend_by_einsum(x, memory, projections, num_heads, mask):
    d_model = x.shape[-1]
    q, k, v = (m.view(d_model, num_heads, -1) for m in projections[:3])
    scores = torch.einsum("bia,ahd,bjc,chd->bhij", x, q, memory, k)
    scores = scores / math.sqrt(d_model // num_heads)
    bias = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    weights = (scores + bias.unsqueeze(1)).softmax(dim=-1)
    heads = torch.einsum("bhij,bjc,chd->bihd", weights, memory, v)
    return heads.reshape(*x.shape) @ projections[3]


def attend_with_pytorch(x, memory, projections, num_heads, mask):
    W_Q, W_K, W_V, W_O = projections
    query, key, value = (
        made.unflatten(-1, (num_heads, -1)).transpose(1, 2)
        for made in (x @ W_Q, memory @ W_K, memory @ W_V)
    )
    heads = F.scaled_dot_product_attention(query, key, value, mask[:, None])
    return heads.transpose(1, 2).flatten(start_dim=2) @ W_O


def attend_with_a_module_of_pytorch(x, memory, projections, num_heads, mask):
    layer = nn.MultiheadAttention(x.shape[-1], num_heads, bias=False, batch_first=True)
    weights = {
        "in_proj_weight": torch.cat([m.T for m in projections[:3]]),
        "out_proj.weight": projections[3].T,
    }
    forbidden = (~mask).repeat_interleave(num_heads, dim=0)
    options = {"attn_mask": forbidden}
    return torch.func.functional_call(layer, weights, (x, memory, memory), options)[0]


def attend_with(x, memory, projections, num_heads, mask, *, change=lambda w: w, fill=-math.inf):
    """Does something to the weights, or fills with another number."""
    W_Q, W_K, W_V, W_O = projections
    query, key, value = (
        made.unflatten(-1, (num_heads, -1)).transpose(1, 2)
        for made in (x @ W_Q, memory @ W_K, memory @ W_V)
    )
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(~mask[:, None], fill).softmax(dim=-1)
    return (change(weights) @ value).transpose(1, 2).flatten(start_dim=2) @ W_O


def without(heads, weight):
    num_heads = heads.shape[1]
    blocks = weight.T.unflatten(0, (num_heads, -1))
    added = (heads @ blocks).transpose(0, 1)
    on = 1 - torch.eye(num_heads)
    gates = on[:, None] * on
    return (gates[..., None, None, None] * added).sum(dim=2)


def without_by_zeros(heads, weight):
    batch, num_heads, length, _ = heads.shape
    result = torch.zeros(num_heads, num_heads, batch, length, len(weight))
    for i in range(num_heads):
        for j in range(num_heads):
            silent = heads.clone()
            silent[:, [i, j]] = 0
            merged = silent.transpose(1, 2).flatten(start_dim=2)
            result[i, j] = F.linear(merged, weight)
    return result


def without_by_subtraction(heads, weight):
    num_heads, d_k = heads.shape[1], heads.shape[-1]
    blocks = weight.view(-1, num_heads, d_k)
    added = torch.einsum("bhld,mhd->hblm", heads, blocks)
    result = added.sum(dim=0) - added[:, None] - added
    for i in range(num_heads):
        result[i, i] += added[i]
    return result


def entropy(w):
    return -torch.special.xlogy(w, w).sum(dim=-1)


def divergences(weights):
    u, v = weights[:, :, None], weights[:, None]
    between = entropy((u + v) / 2) - (entropy(u) + entropy(v)) / 2
    return between.mean(dim=(0, 3))


def divergences_by_loop(weights):
    num_heads = weights.shape[1]
    result = torch.zeros(num_heads, num_heads)
    for i in range(num_heads):
        for j in range(num_heads):
            u, v = weights[:, i], weights[:, j]
            both = torch.special.entr((u + v) / 2).sum(-1)
            own = torch.special.entr(u).sum(-1) + torch.special.entr(v).sum(-1)
            result[i, j] = (both - own / 2).mean()
    return result


def divergences_by_kl(weights):
    u, v = torch.broadcast_tensors(weights[:, :, None], weights[:, None])
    log_m = ((u + v) / 2).clamp(min=1e-30).log()
    halves = [F.kl_div(log_m, w, reduction="none").sum(-1) for w in (u, v)]
    return (sum(halves) / 2).mean(dim=(0, 3))


def importance(heads, weight, gradient):
    blocks = weight.T.unflatten(0, (heads.shape[1], -1))
    by_gate = ((heads @ blocks) * gradient[:, None]).sum(dim=(2, 3))
    return by_gate.abs().mean(dim=0)


def importance_through_the_heads(heads, weight, gradient):
    """As Michel et al. write it: head times the gradient by the head."""
    back = (gradient @ weight).unflatten(-1, (heads.shape[1], -1))
    return (heads * back.transpose(1, 2)).sum(dim=(2, 3)).abs().mean(dim=0)


def importance_by_autograd(heads, weight, gradient):
    with torch.enable_grad():
        gates = torch.ones(*heads.shape[:2], requires_grad=True)
        merged = (heads * gates[:, :, None, None]).transpose(1, 2)
        loss = (merged.flatten(start_dim=2) @ weight.T * gradient).sum()
        (by_gate,) = torch.autograd.grad(loss, gates)
    return by_gate.abs().mean(dim=0)


def importance_by_loops(heads, weight, gradient):
    batch, num_heads, _, d_k = heads.shape
    result = torch.zeros(num_heads)
    for h in range(num_heads):
        block = weight[:, h * d_k : (h + 1) * d_k]
        for b in range(batch):
            added = heads[b, h] @ block.T
            result[h] += (added * gradient[b]).sum().abs() / batch
    return result


def causal_heads(query, key, value, num_heads):
    heads = (x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (query, key, value))
    mixed = F.scaled_dot_product_attention(*heads, is_causal=True)
    return mixed.transpose(1, 2).flatten(start_dim=2)


def causal_heads_by_loop(query, key, value, num_heads):
    before = torch.ones(query.shape[1], query.shape[1]).tril() > 0
    heads = []
    for q, k, v in zip(*(x.chunk(num_heads, dim=-1) for x in (query, key, value)), strict=True):
        scores = (q @ k.mT / q.shape[-1] ** 0.5).where(before, torch.tensor(-math.inf).to(q))
        heads.append(scores.softmax(dim=-1) @ v)
    return torch.cat(heads, dim=-1)


def causal_heads_by_einsum(query, key, value, num_heads):
    query, key, value = (x.unflatten(-1, (num_heads, -1)) for x in (query, key, value))
    scores = torch.einsum("bihd,bjhd->bhij", query, key) / math.sqrt(query.shape[-1])
    future = torch.ones(scores.shape[-2:]).triu(diagonal=1).bool()
    weights = scores.masked_fill(future, -math.inf).softmax(dim=-1)
    return torch.einsum("bhij,bjhd->bihd", weights, value).flatten(start_dim=2)


WRONG = [
    ("7.2", split_of_sums, "not seen pass, which returns the keys again instead of"),
    ("7.2", lambda f: bool((f(torch.ones(1, 1, 6), 2) == 1).sum() == 3), "It accuses B, which is"),
    ("7.3", lambda q, k, n: 2 * matrices(q, k, n), "Each head's scores are x B xᵀ."),
    ("7.3", lambda q, k, n: matrices(q, k, n).softmax(-1), "The rank of each B is at most"),
    ("7.4", lambda *a: attend_with(*a, change=torch.detach), "None reaches `x`"),
    ("7.4", lambda *a: attend_with(*a, fill=-20.0), "The result is not right"),
    ("7.4", lambda *a: attend_with(*a, fill=-20.0), "A token that no query may attend to"),
    ("7.4", lambda *a: attend_with(*a, fill=-1000.0), "The result is not right"),
    ("7.4", lambda *a: attend_with(*a, change=lambda w: w[:, :1]), "change no other head"),
    ("7.5", lambda *a: causal_heads(*a).roll(-1, dims=1), "No row changes if the last token"),
    ("7.5", lambda *a: causal_heads(*a).flip(-1), "The first features of the result come"),
    ("7.5", lambda q, k, v, n: causal_heads(q, k, v.detach(), n), "None reaches `value`"),
    ("7.8", lambda w: 1 - divergences(w), "between a head and itself is 0"),
    ("7.8", lambda w: divergences(w) / 2, "two heads that share no key is log 2"),
    ("7.10", lambda h, w: without(h, w).flip(0), "Where a head is off, its output"),
    ("7.10", lambda h, w: without(h, w).flip(1), "If a head returns zeros"),
    ("7.11", lambda h, w, g: importance(h, w, g) ** 2, "For a single example, the importance"),
    ("7.12", [[3.12, 3.1, 0.0], [0.0, 3.1, 3.3]], "Head 1 gives dog 0.494, park 0.484"),
    ("7.12", [[3.3, 2.8, 2.0], [2.0, 2.8, 3.3]], "In sum, the heads give dog 0.677"),
]

RIGHT = [
    ("7.1", 655360),
    ("7.1", 655360.0),
    ("7.1", np.int64(655360)),
    ("7.2", split_leaves_numbers_in_place),
    ("7.2", split_by_slices),
    ("7.3", matrices),
    ("7.3", matrices_by_loop),
    ("7.3", matrices_by_einsum),
    ("7.4", attend),
    ("7.4", attend_by_loop),
    ("7.4", attend_by_einsum),
    ("7.4", attend_with_pytorch),
    ("7.4", attend_with_a_module_of_pytorch),
    ("7.5", causal_heads),
    ("7.5", causal_heads_by_loop),
    ("7.5", causal_heads_by_einsum),
    ("7.7", 62),
    ("7.7", torch.tensor(100 * 5 / 8)),
    ("7.8", divergences),
    ("7.8", divergences_by_loop),
    ("7.8", divergences_by_kl),
    ("7.9", 6),
    ("7.9", np.int64(48 // 8)),
    ("7.10", without),
    ("7.10", without_by_zeros),
    ("7.10", without_by_subtraction),
    ("7.11", importance),
    ("7.11", importance_through_the_heads),
    ("7.11", importance_by_autograd),
    ("7.11", importance_by_loops),
    ("7.12", [[0.0, 3.0, 3.2], [3.2, 3.0, 0.0]]),
    ("7.12", torch.log(torch.tensor([[0.51, 0.44, 0.05], [0.04, 0.43, 0.53]]))),
    ("7.12", [[11.0, 10.8, 5.0], [-9.0, 0.0, 0.2]]),
]
