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


def adds_by_reference(f):
    """A second implementation, in loops over the features."""
    merged, weight = torch.randn(2, 3, 6), torch.randn(6, 6)
    for head in range(2):
        expected = sum(merged[..., i, None] * weight[:, i] for i in range(3 * head, 3 * head + 3))
        if not torch.allclose(f(merged, weight, 2, head), expected, atol=1e-4):
            return False
    return True


def adds_feature_by_feature(f):
    """If only one feature is not 0, its column of W_O comes from its head, and else nothing."""
    weight = torch.arange(36.0).view(6, 6).cos()
    for i in range(6):
        merged = torch.zeros(2, 4, 6)
        merged[1, 2, i] = 1.0
        for head in range(3):
            expected = torch.zeros(2, 4, 6)
            expected[1, 2] = weight[:, i] * (i // 2 == head)
            if (f(merged, weight, 3, head) - expected).abs().max() > 1e-4:
                return False
    return True


def adds_something_of_its_own(f):
    """The right sum, and each head notices its own features; others may notice them, too."""
    merged, weight = torch.randn(2, 4, 12), torch.randn(12, 12)
    other = merged.clone()
    other[..., 4:8] += 1
    whole = sum(f(merged, weight, 3, h) for h in range(3))
    own = not torch.allclose(f(merged, weight, 3, 1), f(other, weight, 3, 1))
    return own and torch.allclose(whole, merged @ weight.mT, atol=1e-4)


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
    ("11.5", lambda x, p: cut(x, p * p), "The result is not right"),
    ("11.5", lambda x, p: cut(2 * x, p), "With p = 1, nothing is cut, so the result"),
    ("11.5", lambda x, p: cut(x + torch.arange(x.shape[-1]), p), "If the tokens change places"),
    ("11.7", lambda *given: favours(*given).abs(), "changes the sign"),
    ("11.7", lambda *given: favours(*given) + 1, "If the stream does not change"),
    ("11.9", adds_something_of_its_own, "It lets B pass, which takes every `num_heads`-th"),
    ("11.9", lambda f: not adds_by_reference(f), "It accuses A, which is right"),
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
    ("11.5", cut),
    ("11.5", cut_by_comparing),
    ("11.5", cut_by_loops),
    ("11.7", favours),
    ("11.7", favours_by_numbers),
    ("11.8", 16),
    ("11.8", np.float64(10 + 2.8 * np.sqrt(20) / 2)),
    ("11.9", adds_by_reference),
    ("11.9", adds_feature_by_feature),
]
