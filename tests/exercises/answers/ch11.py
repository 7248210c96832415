"""What learners might hand in for the exercises of chapter 11."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def share(maps):
    return maps[:, :, 1:, 0].mean(dim=-1).mean(dim=-1)


def share_by_loops(maps):
    shares = []
    for layer in maps.tolist():
        weights = [row[0] for head in layer for row in head[1:]]
        shares.append(sum(weights) / len(weights))
    return torch.tensor(shares)


def share_by_einsum(maps):
    _, heads, length, _ = maps.shape
    return torch.einsum("lhq->l", maps[:, :, 1:, 0]) / (heads * (length - 1))


def follows(maps, length):
    place = torch.arange(length, maps.shape[-1])
    return maps[:, :, place, place - length + 1].mean(-1)


def follows_by_loops(maps, length):
    found = torch.zeros(maps.shape[:2])
    for layer in range(maps.shape[0]):
        for head in range(maps.shape[1]):
            for i in range(length):
                found[layer, head] += maps[layer, head, length + i, i + 1] / length
    return found


def follows_by_traces(maps, length):
    part = maps[..., length:, 1 : length + 1]
    return part.diagonal(dim1=2, dim2=3).sum(-1) / length


def attend(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal=1)
    return F.softmax(scores.masked_fill(later, float("-inf")), dim=-1) @ value


def groups_by_axes(query, key, value):
    batch, heads, length, d = query.shape
    kv = key.shape[1]
    query = query.reshape(batch, kv, heads // kv, length, d)
    return attend(query, key[:, :, None], value[:, :, None]).reshape(batch, heads, length, d)


def groups_head_by_head(query, key, value):
    group = query.shape[1] // key.shape[1]
    heads = [
        attend(query[:, h], key[:, h // group], value[:, h // group]) for h in range(query.shape[1])
    ]
    return torch.stack(heads, dim=1)


def groups_of_pytorch(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)


def adds(merged, output_weight, num_heads, head):
    heads = merged.unflatten(-1, (num_heads, -1))
    projections = output_weight.unflatten(-1, (num_heads, -1))
    return heads[..., head, :] @ projections[:, head].mT


def adds_by_zeros(merged, output_weight, num_heads, head):
    d = merged.shape[-1] // num_heads
    mine = torch.zeros_like(merged)
    mine[..., head * d : (head + 1) * d] = merged[..., head * d : (head + 1) * d]
    return F.linear(mine, output_weight)


def favours(before, after, scale, output_weight, one, other):
    def difference(x):
        logits = F.rms_norm(x, x.shape[-1:], scale, 1e-5) @ output_weight.mT
        return logits[:, one] - logits[:, other]

    return difference(after) - difference(before)


def favours_by_numbers(before, after, scale, output_weight, one, other):
    direction = output_weight[one] - output_weight[other]

    def difference(x):
        return x @ (scale * direction) / (x.pow(2).mean(-1) + 1e-5).sqrt()

    return difference(after) - difference(before)


def cut(logits, p):
    largest, order = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    kept = largest * (largest.cumsum(dim=-1) - largest < p)
    kept = kept.gather(-1, order.argsort(dim=-1))
    return kept / kept.sum(dim=-1, keepdim=True)


def cut_by_comparing(logits, p):
    """Without sorting: which tokens are likelier than this one?"""
    probabilities = logits.softmax(dim=-1)
    larger = probabilities[..., None, :] > probabilities[..., :, None]
    before = (larger * probabilities[..., None, :]).sum(dim=-1)
    return logits.masked_fill(before >= p, -torch.inf).softmax(dim=-1)


def cut_by_loops(logits, p):
    result = torch.zeros_like(logits)
    for row, probabilities in zip(result, logits.softmax(dim=-1), strict=True):
        total = 0.0
        for token in probabilities.argsort(descending=True).tolist():
            if total < p:
                row[token] = probabilities[token]
            total += probabilities[token].item()
    return result / result.sum(dim=-1, keepdim=True)


WRONG = [
    ("11.2", lambda maps: 1 - share(maps), "the share is 1"),
    ("11.3", lambda maps, length: follows(maps, length) * length, "has a score of 1"),
    ("11.4", lambda q, k, v: groups_by_axes(q, k.detach(), v), "None reaches `key`"),
    (
        "11.4",
        lambda q, k, v: groups_by_axes(q, k.flip(1), v.flip(1)),
        "each query head has its own keys",
    ),
    ("11.5", lambda m, w, n, h: adds(m, w, n, h) / n, "The contributions of all heads"),
    ("11.6", lambda *given: favours(*given).abs(), "changes the sign"),
    ("11.6", lambda *given: favours(*given) + 1, "If the stream does not change"),
    ("11.8", lambda x, p: cut(x, p * p), "The result is not right"),
    ("11.8", lambda x, p: cut(2 * x, p), "With p = 1, nothing is cut, so the result"),
    ("11.8", lambda x, p: cut(x + torch.arange(x.shape[-1]), p), "If the tokens change places"),
]

RIGHT = [
    ("11.1", " a. "),
    ("11.2", share),
    ("11.2", share_by_loops),
    ("11.2", share_by_einsum),
    ("11.3", follows),
    ("11.3", follows_by_loops),
    ("11.3", follows_by_traces),
    ("11.4", groups_by_axes),
    ("11.4", groups_head_by_head),
    ("11.4", groups_of_pytorch),
    ("11.5", adds),
    ("11.5", adds_by_zeros),
    ("11.6", favours),
    ("11.6", favours_by_numbers),
    ("11.8", cut),
    ("11.8", cut_by_comparing),
    ("11.8", cut_by_loops),
    ("11.9", 16),
    ("11.9", np.float64(10 + 2.8 * np.sqrt(20) / 2)),
]
