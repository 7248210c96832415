"""What learners might hand in for the exercises of chapter 2."""

import math

import torch
import torch.nn.functional as F


def cross_right(x, memory, q_proj, k_proj, v_proj):
    return F.scaled_dot_product_attention(x @ q_proj, memory @ k_proj, memory @ v_proj)


def cross_by_einsum(x, memory, q_proj, k_proj, v_proj):
    scores = torch.einsum("...md,dk,...ne,ek->...mn", x, q_proj, memory, k_proj)
    weights = F.softmax(scores / k_proj.size(1) ** 0.5, -1)
    return torch.einsum("...mn,...nd,dv->...mv", weights, memory, v_proj)


def cross_mixing_first(x, memory, q_proj, k_proj, v_proj):
    scores = x @ q_proj @ (memory @ k_proj).transpose(-1, -2)
    weights = (scores * q_proj.shape[1] ** -0.5).exp()
    return weights @ memory @ v_proj / weights.sum(-1, keepdim=True)


def parts_right(weights, value):
    return torch.einsum("...ij,...jd->...ijd", weights, value)


def parts_by_loop(weights, value):
    rows = [row[..., None] * value for row in weights.unbind(-2)]
    return torch.stack(rows, dim=-3)


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


def one_matrix_by_loops(q_proj, k_proj):
    rows = [torch.stack([q @ k for k in k_proj]) / len(q) ** 0.5 for q in q_proj]
    return torch.stack(rows)


def one_matrix_by_asking(q_proj, k_proj):
    x = torch.eye(len(q_proj))
    query, key = x @ q_proj, x @ k_proj
    return (query @ key.T) / query.shape[1] ** 0.5


def by_cdist(query, key, value, sharpness):
    scores = -sharpness * torch.cdist(query, key) ** 2
    return F.softmax(scores, dim=-1) @ value


def by_expanding_the_square(query, key, value, sharpness):
    query, key = query.double(), key.double()
    # ‖q‖² is the same for all keys of a row, so softmax ignores it
    scores = sharpness * (2 * query @ key.mT - key.square().sum(-1)[..., None, :])
    return (scores.softmax(-1) @ value.double()).float()


def projection_by_solving(wanted, k_proj):
    # k_proj · q_projᵀ = √n · wantedᵀ
    right = len(wanted) ** 0.5 * wanted.T
    return torch.linalg.solve(k_proj, right).T


def projection_by_pinv(wanted, k_proj):
    return len(wanted) ** 0.5 * wanted @ torch.linalg.pinv(k_proj).T


WRONG = [
    ("2.2", lambda *args: cross_right(*args) + 1, "With a key projection of zeros"),
    ("2.2", lambda *args: cross_right(*args) + 1, "A token whose scaled score is"),
    ("2.2", lambda x, *more: cross_right(x.detach(), *more), "None reaches `x`"),
    ("2.3", lambda w, v: parts_right(w, v.flip(-2)), "depends on its own value alone"),
    ("2.3", lambda weights, value: parts_right(weights, value) * 2, "Summed over the keys"),
    ("2.4", lambda q, k, v: F.scaled_dot_product_attention(q, k, v) * 2, "If all values are 1"),
    ("2.4", lambda q, k, v: F.scaled_dot_product_attention(q, k.detach(), v), "cut off"),
    ("2.7", lambda *args: one_matrix_by_loops(*args) ** 2, "x M xᵀ gives the scaled scores"),
    ("2.7", lambda *args: one_matrix_by_loops(*args).triu(), "Exchanging the two projections"),
    ("2.9", lambda wanted, k: torch.linalg.inv(k.T), "The scaled scores of the one-hot tokens"),
    ("2.9", lambda wanted, k_proj: torch.linalg.inv(k_proj.T), "If all wanted scores are 0, so"),
    ("2.10", [[0.0, 3.0], [-1.0, 0.0]], "The man gives the thing 0.449."),
    ("2.10", [[0.0, 3.0], [-6.0, 0.0]], "No noun gives the next noun a weight of more than 0.9."),
    ("2.10", torch.zeros(2, 2), "The woman gives the man 0.25."),
    ("2.11", lambda q, k, v, sharpness: by_cdist(q, k, v, sharpness).detach(), "cut off from all"),
    (
        "2.11",
        lambda q, k, v, s: by_cdist(q, 2 * k, v, s),
        "Moving all queries and keys by the same",
    ),
    ("2.11", lambda q, k, v, s: by_cdist(q, k, v, s + 1), "A key whose score is larger by log"),
    ("2.13", lambda *args: others_right(*args) + 0.01, "No token attends to its own word"),
    ("2.13", lambda *args: others_right(*args).detach(), "Gradients flow back"),
    ("2.13", lambda *args: others_by_where(*args) * 0.5, "Each row of weights sums to 1"),
]

RIGHT = [
    ("2.1", 5),
    ("2.1", torch.tensor(5.0)),
    ("2.2", cross_right),
    ("2.2", cross_by_einsum),
    ("2.2", cross_mixing_first),
    ("2.3", parts_right),
    ("2.3", parts_by_loop),
    ("2.4", lambda q, k, v: F.scaled_dot_product_attention(q, k, v)),
    ("2.4", lambda q, k, v: (q @ k.mT / q.shape[-1] ** 0.5).mT.softmax(dim=1).mT @ v),
    ("2.5", 40 * 30**2),
    ("2.5", torch.tensor(35_000)),
    ("2.5", 34_000.0),
    ("2.7", one_matrix_by_loops),
    ("2.7", one_matrix_by_asking),
    ("2.7", lambda q_proj, k_proj: one_matrix_by_loops(q_proj, k_proj).double()),
    ("2.9", projection_by_solving),
    ("2.9", projection_by_pinv),
    ("2.9", lambda wanted, k_proj: projection_by_solving(wanted, k_proj).double()),
    ("2.10", [[0, 3], [-3, 0]]),
    ("2.10", torch.tensor([[0.5, 2.8], [-3.5, 0.2]])),
    ("2.10", [[-0.4, 3.1], [-3.1, -0.4]]),
    ("2.11", by_cdist),
    ("2.11", by_expanding_the_square),
    ("2.13", others_right),
    ("2.13", others_by_where),
    ("2.13", others_word_by_word),
]
