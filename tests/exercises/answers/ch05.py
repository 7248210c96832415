"""What learners might hand in for the exercises of chapter 5."""

import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F


def right_window(value, window):
    length = value.shape[-2]
    sums = value.cumsum(-2)
    left = F.pad(sums, (0, 0, window, 0))[..., :length, :]
    return (sums - left) / torch.arange(1, length + 1).clamp_max(window)[:, None]


def window_through_a_fill(value, window):
    allowed = torch.ones(value.shape[-2], value.shape[-2]).tril().triu(1 - window).bool()
    return torch.zeros(allowed.shape).masked_fill(~allowed, -50.0).softmax(-1) @ value


def is_first_of_one(f):
    x = torch.randn(3, 4, 2)
    return torch.allclose(f(torch.ones(2), x, torch.ones(3).long()), x[:, 0])


def reach_counted_in_bytes(masks):
    known = torch.eye(masks.shape[-1], dtype=torch.uint8)
    for mask in (masks | known.bool()).to(torch.uint8).unbind(1):
        known = (mask[..., None] * known[..., None, :, :]).sum(-2, dtype=torch.uint8)
    return known > 0


def part_by_the_first_axes(mixing):
    length = mixing.shape[-1]
    trace, eye = mixing.diagonal().sum(), torch.eye(length)
    off = (mixing.sum((-1, -2), keepdim=True) - trace) / (length * (length - 1))
    return trace / length * eye + off * (1 - eye)


EVERYBODY_AND_THE_FIRST = [[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]

WRONG = [
    ("5.2", torch.eye(4).roll(1, 1), "The entries of the first row sum to 1."),
    ("5.2", [[0.5] * 4] * 4, "One entry is 0.5."),
    ("5.2", [[0.5] * 4] * 4, "b attends to a, b, c and d"),
    ("5.2", torch.zeros(4, 4).index_fill(1, torch.tensor([0, 1]), 1), "but in d a b c, it attends"),
    ("5.2", EVERYBODY_AND_THE_FIRST, "attends to a and b, but in d a b c, it attends to a and d"),
    ("5.3", lambda q, k: mask_by_loops(q, k) & (k[:, None] > 2), "Every token may attend to it"),
    ("5.3", lambda q, k: mask_by_loops(q, k) | True, "No query may attend to a later place"),
    ("5.4", lambda q, k, v: 2 * looking_back(q, k, v), "The first token sees only itself"),
    ("5.4", lambda q, k, v: looking_back(q, k, v) + v.mean(-2, True) * 0.1, "Other values at"),
    ("5.4", lambda q, k, v: looking_back(q, k.detach(), v), "Gradients flow back"),
    ("5.7", lambda counts: ceiling_by_loops(counts) / 2, "If every bag has only one answer,"),
    ("5.7", lambda c: c[:, 0].amax(-1) / c[:, 0].sum(-1).clamp(1), "Merging two bags, which"),
    ("5.8", lambda masks: torch.ones_like(masks[:, 0]), "If all layers look back"),
    ("5.8", lambda masks: torch.zeros_like(masks[:, 0]), "Token 0 does not know itself"),
    ("5.8", reach_counted_in_bytes, "The result is not right"),
    ("5.10", lambda value, window: value, "has an equal share of each value"),
    ("5.10", window_through_a_fill, "A later value never changes"),
    ("5.10", lambda value, window: right_window(value.detach(), window), "Gradients flow back"),
    ("5.12", lambda mixing: mixing, "Reordering rows and columns alike"),
    ("5.12", lambda mixing: mixing * 0, "stay the same. The diagonal goes from"),
    ("5.12", part_by_the_first_axes, "It is right where the result has 2 axes, and wrong where"),
    ("5.13", is_first_of_one, "It lets E pass, which does not divide the scores by √d."),
    ("5.13", lambda f: is_first_of_one(lambda *g: 2 * f(*g)), "It accuses C, which is right."),
]


def ceiling_by_loops(counts):
    return torch.tensor(
        [sum(max(bag) for bag in data) / sum(map(sum, data)) for data in counts.tolist()]
    )


def ceiling_by_shares(counts):
    bags = counts.sum(-1)
    shares = torch.where(bags > 0, counts.amax(-1) / bags, 0.0)
    return (shares * bags / bags.sum(-1, keepdim=True)).sum(-1)


def mask_by_loops(query_places, key_places):
    return torch.tensor(
        [
            [[k <= q for k in keys] for q in queries]
            for queries, keys in zip(query_places.tolist(), key_places.tolist(), strict=True)
        ]
    )


def mask_by_negation(query_places, key_places):
    return ~torch.gt(key_places.unsqueeze(1), query_places.unsqueeze(2))


def window_by_attention(value, window):
    length = value.shape[-2]
    zeros = torch.zeros(*value.shape[:-1], 2)
    mask = torch.ones(length, length, dtype=torch.bool).tril().triu(1 - window)
    return F.scaled_dot_product_attention(zeros, zeros, value, attn_mask=mask)


def window_by_slices(value, window):
    means = [value[..., max(0, i + 1 - window) : i + 1, :].mean(-2) for i in range(value.shape[-2])]
    return torch.stack(means, -2)


def reach_by_sets(masks):
    result = torch.zeros_like(masks[:, 0])
    for b, layers in enumerate(masks.tolist()):
        known = [{i} for i in range(len(layers[0]))]
        for mask in layers:
            seen = [[known[j] for j, see in enumerate(row) if see] for row in mask]
            known = [known[i].union(*seen[i]) for i in range(len(known))]
        for i, tokens in enumerate(known):
            result[b, i, list(tokens)] = True
    return result


def reach_by_matrix_powers(masks):
    product = torch.eye(masks.shape[-1]).repeat(len(masks), 1, 1)
    for layer in range(masks.shape[1]):
        product = product + masks[:, layer].float() @ product
    return product > 0


def is_what_torch_computes(f):
    query, x, lengths = 3 * torch.randn(6), torch.randn(4, 5, 6), torch.tensor([5, 1, 3, 2])
    mask = torch.arange(5) < lengths[:, None, None]
    right = F.scaled_dot_product_attention(query.expand(4, 1, -1), x, x, attn_mask=mask)[:, 0]
    return (f(query, x, lengths) - right).abs().max() < 1e-4


def is_known_set_by_set(f):
    """The ratio of two weights, then what must not count."""
    query, x, lengths = torch.ones(9), torch.randn(2, 4, 9), torch.tensor([2, 3])
    x[0, :2] = torch.eye(9)[:2] * torch.tensor([[3.0], [1.5]])
    x[0, 2:] = 1e3 * torch.randn(2, 9)
    result = f(query, x, lengths)
    ratio = (result[0, 0] / 3.0) / (result[0, 1] / 1.5)
    alone = f(query, x[1:, [2, 0, 1]], lengths[1:])
    return (
        math.isclose(ratio, math.exp(0.5), rel_tol=1e-4)
        and math.isclose(result[0, 0] / 3 + result[0, 1] / 1.5, 1, rel_tol=1e-4)
        and torch.allclose(result[1], alone[0], atol=1e-5)
    )


def part_by_two_projections(mixing):
    length = mixing.shape[-1]
    eye = torch.eye(length)
    trace = torch.einsum("...ii", mixing)[..., None, None]
    total = mixing.sum((-1, -2), keepdim=True)
    b = (total - trace) / (length * (length - 1))
    return (trace / length - b) * eye + b


def part_by_counting(mixing):
    length = mixing.shape[-1]
    off = [mixing[..., i, j] for i, j in itertools.permutations(range(length), 2)]
    on = [mixing[..., i, i] for i in range(length)]
    off, on = torch.stack(off).mean(0), torch.stack(on).mean(0)
    result = off[..., None, None].repeat(*[1] * off.ndim, length, length)
    for i in range(length):
        result[..., i, i] = on
    return result


def looking_back(query, key, value):
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


def looking_back_token_by_token(query, key, value):
    root = math.sqrt(query.shape[-1])
    rows = []
    for i in range(query.shape[-2]):
        powers = (query[:, i : i + 1] @ key[:, : i + 1].mT / root).exp()
        rows.append(powers @ value[:, : i + 1] / powers.sum(dim=-1, keepdim=True))
    return torch.cat(rows, dim=1)


def looking_back_with_a_bias(query, key, value):
    future = torch.full((key.shape[-2],) * 2, -math.inf).triu(diagonal=1)
    scores = torch.einsum("...qd,...kd->...qk", query, key) / query.shape[-1] ** 0.5
    return (scores + future).softmax(-1) @ value


RIGHT = [
    ("5.1", 2**3),
    ("5.1", torch.tensor(8)),
    ("5.2", torch.eye(4).bool() | torch.eye(4).bool().roll(1, 1)),
    ("5.2", [[0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1], [1, 1, 0, 0]]),
    ("5.2", np.array([[0, 0, 1, 1], [1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 0]])),
    ("5.3", mask_by_loops),
    ("5.3", mask_by_negation),
    ("5.4", looking_back),
    ("5.4", looking_back_token_by_token),
    ("5.4", looking_back_with_a_bias),
    ("5.5", math.log(1000) + 0.577),
    ("5.5", torch.tensor(7.0)),
    ("5.5", 8),
    ("5.7", ceiling_by_loops),
    ("5.7", ceiling_by_shares),
    ("5.8", reach_by_sets),
    ("5.8", reach_by_matrix_powers),
    ("5.10", right_window),
    ("5.10", window_by_attention),
    ("5.10", window_by_slices),
    ("5.12", part_by_two_projections),
    ("5.12", part_by_counting),
    ("5.13", is_what_torch_computes),
    ("5.13", is_known_set_by_set),
]
