"""What learners might hand in for the exercises of chapter 2."""

import math

import torch
import torch.nn.functional as F


def cross_right(x, memory, query_map, key_map, value_map):
    return F.scaled_dot_product_attention(x @ query_map, memory @ key_map, memory @ value_map)


def cross_by_einsum(x, memory, query_map, key_map, value_map):
    scores = torch.einsum("...md,dk,...ne,ek->...mn", x, query_map, memory, key_map)
    weights = F.softmax(scores / key_map.size(1) ** 0.5, -1)
    return torch.einsum("...mn,...nd,dv->...mv", weights, memory, value_map)


def cross_mixing_first(x, memory, query_map, key_map, value_map):
    scores = x @ query_map @ (memory @ key_map).transpose(-1, -2)
    weights = (scores * query_map.shape[1] ** -0.5).exp()
    return weights @ memory @ value_map / weights.sum(-1, keepdim=True)


def cross_with_a_residual(x, memory, query_map, key_map, value_map):
    out = cross_right(x, memory, query_map, key_map, value_map)
    return out + out.mean(dim=-2, keepdim=True)


def cross_causal(x, memory, query_map, key_map, value_map):
    return F.scaled_dot_product_attention(
        x @ query_map, memory @ key_map, memory @ value_map, is_causal=True
    )


def parts_right(weights, value):
    return torch.einsum("...ij,...jd->...ijd", weights, value)


def parts_by_loop(weights, value):
    rows = [row[..., None] * value for row in weights.unbind(-2)]
    return torch.stack(rows, dim=-3)


def parts_equal(weights, value):
    mean = (weights @ value)[..., None, :] / weights.shape[-1]
    return mean.expand(*weights.shape, value.shape[-1])


def others_right(query, key, words):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    same = (words.unsqueeze(-1) == words.unsqueeze(-2)).float()
    return (scores - 1e9 * same).softmax(-1)


def others_by_where(query, key, words):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.size(-1) ** 0.5
    other = words[..., None] - words[..., None, :] != 0
    return F.softmax(torch.where(other, scores, -torch.inf), dim=-1)


def others_word_by_word(query, key, words):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    for word in words.unique():
        here = words == word
        hide = here[..., :, None] & here[..., None, :]
        scores = scores.masked_fill(hide, float("-inf"))
    return torch.softmax(scores, -1)


def others_evenly(query, key, words):
    other = (words[..., :, None] != words[..., None, :]).float()
    return other / other.sum(-1, keepdim=True)


def one_matrix_by_loops(query_map, key_map):
    rows = [torch.stack([q @ k for k in key_map]) / len(q) ** 0.5 for q in query_map]
    return torch.stack(rows)


def one_matrix_by_asking(query_map, key_map):
    x = torch.eye(len(query_map))
    query, key = x @ query_map, x @ key_map
    return (query @ key.T) / query.shape[1] ** 0.5


def by_cdist(query, key, value, sharpness):
    scores = -sharpness * torch.cdist(query, key) ** 2
    return F.softmax(scores, dim=-1) @ value


def by_expanding_the_square(query, key, value, sharpness):
    query, key = query.double(), key.double()
    # ‖q‖² is the same for all keys of a row, so softmax ignores it
    scores = sharpness * (2 * query @ key.mT - key.square().sum(-1)[..., None, :])
    return (scores.softmax(-1) @ value.double()).float()


def by_cosine(query, key, value, sharpness):
    query, key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
    return (sharpness * query @ key.mT).softmax(-1) @ value


def by_city_blocks(query, key, value, sharpness):
    distances = torch.cdist(query, key, p=1)
    return (-sharpness * distances).softmax(-1) @ value


def map_by_solving(wanted, key_map):
    # key_map · query_mapᵀ = √n · wantedᵀ
    right = len(wanted) ** 0.5 * wanted.T
    return torch.linalg.solve(key_map, right).T


def map_by_pinv(wanted, key_map):
    return len(wanted) ** 0.5 * wanted @ torch.linalg.pinv(key_map).T


WRONG = [
    ("2.1", 6, "6 is too large"),
    ("2.1", -4, "-4 is negative"),
    ("2.1", "5", "one number; yours is a str"),
    ("2.2", cross_with_a_residual, "What one token asks does not change the output of another"),
    ("2.2", cross_causal, "The order of the tokens in `memory`"),
    ("2.2", lambda *args: cross_right(*args).detach(), "Gradients flow back"),
    ("2.2", lambda *args: cross_right(*args) + 1, "Twice the value map"),
    ("2.3", parts_equal, "depends on its own value alone"),
    ("2.3", lambda weights, value: parts_right(weights, value) * 2, "Summed over the keys"),
    ("2.3", lambda weights, value: parts_right(weights, value).mT, "must have the shape"),
    ("2.4", others_evenly, "off by up to"),
    ("2.4", lambda *args: others_by_where(*args) * 0.5, "Each row of weights sums to 1"),
    ("2.4", lambda *args: others_by_where(*args).triu(), "Each row of weights sums to 1"),
    (
        "2.5",
        lambda query_map, key_map: one_matrix_by_loops(query_map, key_map) ** 2,
        "x M xᵀ gives the scaled scores",
    ),
    (
        "2.5",
        lambda query_map, key_map: one_matrix_by_loops(query_map, key_map) * 3,
        "same factor everywhere",
    ),
    ("2.6", by_cosine, "Moving all queries and keys alike"),
    ("2.6", by_city_blocks, "off by up to"),
    (
        "2.6",
        lambda q, k, v, sharpness: by_cdist(q, k, v, sharpness + 1),
        "At sharpness 0 every output is the mean value",
    ),
    (
        "2.7",
        lambda wanted, key_map: torch.linalg.inv(key_map.T),
        "The scaled scores of the one-hot tokens",
    ),
    (
        "2.7",
        lambda wanted, key_map: map_by_solving(wanted, key_map) + 0.1,
        "Where no scores are wanted",
    ),
]

RIGHT = [
    ("2.1", 5),
    ("2.1", torch.tensor(5.0)),
    ("2.2", cross_right),
    ("2.2", cross_by_einsum),
    ("2.2", cross_mixing_first),
    ("2.3", parts_right),
    ("2.3", parts_by_loop),
    ("2.4", others_right),
    ("2.4", others_by_where),
    ("2.4", others_word_by_word),
    ("2.5", one_matrix_by_loops),
    ("2.5", one_matrix_by_asking),
    ("2.6", by_cdist),
    ("2.6", by_expanding_the_square),
    ("2.7", map_by_solving),
    ("2.7", map_by_pinv),
]
