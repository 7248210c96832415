"""What learners might hand in for the exercises of chapter 1."""

import numpy as np
import torch
import torch.nn.functional as F


def step(x, h, gate, candidate):
    both = torch.cat([x, h], dim=-1)
    keep = torch.sigmoid(both @ gate)
    return keep * h + (1 - keep) * torch.tanh(both @ candidate)


def contexts(query, memory, lengths):
    real = torch.arange(memory.shape[1]) < lengths[:, None]
    energies = (query @ memory.mT).masked_fill(~real[:, None], -torch.inf)
    return energies.softmax(dim=-1) @ memory


def local(energies, centres, D, outside=-torch.inf):
    away = torch.arange(energies.shape[-1]) - centres[..., None]
    inside = energies.masked_fill(away.abs() > D, outside).softmax(-1)
    return inside * torch.exp(-2 * (away / D) ** 2)


def layers_by_counting(distance, window):
    layers, seen = 0, 0
    while seen < distance:
        layers, seen = layers + 1, seen + window // 2
    return layers


WRONG = [
    ("1.2", lambda q, h, n: contexts(q.detach(), h, n), "Gradients flow back"),
    ("1.2", lambda q, h, n: contexts(q / q.shape[-1], h, n), "counts three times as much"),
    ("1.2", lambda q, h, n: contexts(q, h, n[:1].expand_as(n)), "Other numbers in the padding"),
    ("1.3", [[1, -2], [2.5, -1.5], [0.5, 2.9]], "The first state gives -two a weight of at least"),
    (
        "1.3",
        [[-3, 0], [0.8, -0.2], [0.5, 2.9]],
        "The second state gives forty a weight of at",
    ),
    ("1.3", [[-3, 0], [2.5, -1.5], [1, 0]], "The third state gives END a weight of at least 0.8"),
    ("1.3", torch.zeros(3, 2), "The weights are 0.333 for forty, 0.333 for -two and"),
    ("1.4", lambda *args: concat_by_pairs(*args) * 3, "Where every tanh gives 1, the energy"),
    ("1.6", lambda e, p, D: local(e, p, D) * 3, "If softmax gives all its weight to one"),
    ("1.6", lambda e, p, D: local(e, p, D, outside=-50.0), "exactly 0"),
    ("1.6", lambda e, p, D: local(e, p, D, outside=-150.0), "exactly 0"),
    ("1.6", lambda e, p, D: local(e, p.detach(), D), "None reaches `centres`"),
    ("1.8", lambda w: crossing_by_loops(w) / 3, "Looks at the places 2, 0 and 1"),
    ("1.9", lambda x, h, g, c: step(x, h, g, c) + 0.5, "keeps the old state"),
    ("1.9", lambda x, h, g, c: step(x, h, g, c / 2), "the new state is the candidate"),
    ("1.9", lambda x, h, g, c: step(x, h.detach(), g, c), "Gradients flow back"),
    ("1.10", lambda distance, window: distance, "fewer layers are enough"),
    ("1.10", lambda distance, window: layers_by_counting(distance, window) + 0.001, "return 2.001"),
]


def step_by_lerp(x, h, gate, candidate):
    both = torch.hstack([x, h])
    return torch.lerp((both @ candidate).tanh(), h, (both @ gate).sigmoid())


def step_by_parts(x, h, gate, candidate):
    d_in = x.shape[1]
    forget = 1 / (1 + torch.exp(x @ gate[:d_in] + h @ gate[d_in:]))
    new = torch.tanh(x @ candidate[:d_in] + h @ candidate[d_in:])
    return h + forget * (new - h)


def contexts_by_torch(query, memory, lengths):
    mask = torch.arange(memory.shape[1])[None] < lengths[:, None]
    return F.scaled_dot_product_attention(query, memory, memory, attn_mask=mask[:, None], scale=1.0)


def contexts_one_by_one(query, memory, lengths):
    rows = []
    for q, h, n in zip(query, memory, lengths.tolist(), strict=True):
        rows.append(torch.softmax(q @ h[:n].T, dim=1) @ h[:n])
    return torch.stack(rows)


def concat_by_pairs(query, key, weight, v):
    m, n = query.shape[-2], key.shape[-2]
    left = query.unsqueeze(-2).expand(*query.shape[:-1], n, -1)
    right = key.unsqueeze(-3).expand(*key.shape[:-2], m, -1, -1)
    return (torch.cat([left, right], dim=-1) @ weight).tanh() @ v


def concat_by_einsum(query, key, weight, v):
    d = query.shape[-1]
    left = torch.einsum("...id,dh->...ih", query, weight[:d])
    right = torch.einsum("...jd,dh->...jh", key, weight[d:])
    hidden = torch.tanh(left[..., :, None, :] + right[..., None, :, :])
    return torch.einsum("...h,h->...", hidden, v)


def crossing_by_loops(weights):
    shares = []
    for places in weights.argmax(-1).flatten(0, -2).tolist():
        m = len(places)
        pairs = [(t, u) for u in range(m) for t in range(u)]
        shares.append(sum(places[t] > places[u] for t, u in pairs) / len(pairs))
    return torch.tensor(shares).view(weights.shape[:-2])


def crossing_by_combinations(weights):
    places = weights.max(dim=-1).indices
    pairs = torch.combinations(torch.arange(places.shape[-1]))
    first, second = places[..., pairs[:, 0]], places[..., pairs[:, 1]]
    return (first > second).double().mean(dim=-1)


def local_row_by_row(energies, centres, D):
    weights = torch.zeros_like(energies)
    for b in range(energies.shape[0]):
        for t in range(energies.shape[1]):
            p = centres[b, t]
            inside = [j for j in range(energies.shape[2]) if abs(j - p) <= D]
            shares = energies[b, t, inside].softmax(0)
            for share, j in zip(shares, inside, strict=True):
                bell = torch.exp(-((j - p) ** 2) / (2 * (D / 2) ** 2))
                weights[b, t, j] = share * bell
    return weights


RIGHT = [
    ("1.1", 130),
    ("1.1", np.int64(130)),
    ("1.2", contexts),
    ("1.2", contexts_by_torch),
    ("1.2", contexts_one_by_one),
    ("1.3", [[-3, 0], [2, -2], [0, 3]]),
    ("1.3", np.array([[-2.7, 1.2], [2.9, 0.5], [-1.0, 2.8]])),
    ("1.3", torch.tensor([[-2.5, -0.5], [2.5, -0.5], [1.2, 2.6]])),
    ("1.4", concat_by_pairs),
    ("1.4", concat_by_einsum),
    ("1.6", local),
    ("1.6", local_row_by_row),
    ("1.8", crossing_by_loops),
    ("1.8", crossing_by_combinations),
    ("1.9", step),
    ("1.9", step_by_lerp),
    ("1.9", step_by_parts),
    ("1.10", layers_by_counting),
    ("1.10", lambda distance, window: np.ceil(2 * distance / (window - 1))),
]
