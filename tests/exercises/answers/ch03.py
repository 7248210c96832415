"""What learners might hand in for the exercises of chapter 3."""

import decimal
import math

import numpy as np
import torch
import torch.nn.functional as F


def right_scores(query, key):
    query, key = query.transpose(1, 2), key.transpose(1, 2)
    return query @ key.mT / math.sqrt(query.shape[-1])


def softmax_by_logsumexp(scores, temperature):
    scores = scores / temperature
    return torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))


class IsNormalised:
    """Callable objects are functions too."""

    def __call__(self, f):
        query, key = torch.randn(3, 2, 4) + 1, torch.randn(3, 5, 4)
        pairs = query.unsqueeze(-2), key.unsqueeze(-3)
        return torch.allclose(f(query, key), 2 * F.cosine_similarity(*pairs, dim=-1), atol=1e-5)


def is_normalised_by_hand(f):
    query = torch.tensor([[[3.0, 4.0], [2.0, 2.0]]]).expand(2, 2, 2)
    key = torch.tensor([[[5.0, 0.0], [0.0, -0.5], [0.3, 0.4]]] * 2)
    key[1] *= -1
    right = torch.tensor([[0.6, -0.8, 1.0], [0.5**0.5, -(0.5**0.5), 0.7 * 2**0.5]]) * 2**0.5
    return (f(query, key) - torch.stack([right, -right])).abs().max() < 1e-4


def is_normalised_on_one_axis(f):
    x = torch.tensor([[[5.0, 0.0], [0.0, 2.0]]])
    return torch.equal(f(x, x) > 1.4, torch.eye(2).bool()[None])


def slope_by_identity(scores, temperature):
    weights = torch.softmax(scores / temperature, -1)
    identity = torch.eye(weights.shape[-1])
    return weights.unsqueeze(-1) * (identity - weights.unsqueeze(-2)) / temperature


def lost_axis(row_numbers):
    """An axis that ``keepdim`` kept, lost and put back at the end."""
    return row_numbers.squeeze()[..., None]


def softmax_with_a_lost_axis(scores, temperature):
    shares = ((scores - scores.amax(-1, keepdim=True)) / temperature).exp()
    return shares / lost_axis(shares.sum(-1, keepdim=True))


def slope_by_plain_exponentials(scores, temperature):
    weights = (scores / temperature).exp()
    weights = weights / weights.sum(-1, keepdim=True)
    slopes = torch.diag_embed(weights) - weights[..., None] * weights[..., None, :]
    return slopes / temperature


def attend_with_few_products(query, key, value):
    query = query / query.shape[-1] ** 0.25
    key = key / key.shape[-1] ** 0.25
    return torch.einsum("bqd,bkd->bqk", query, key).softmax(-1) @ value


def attend_with_the_other_axis(query, key, value):
    key = key.mT
    root = math.sqrt(key.shape[-2])
    return (query @ key / root).softmax(dim=2) @ value


WRONG = [
    ("3.1", 25, "25 is too large"),
    ("3.1", 21, "21 is too large"),
    ("3.1", 10**400, "too large"),
    ("3.1", 12, "12 is too small"),
    ("3.1", -20, "-20 is negative"),
    ("3.1", float("nan"), "NaN"),
    ("3.1", "twenty", "one number, but yours is a str"),
    ("3.1", True, "one number, but yours is a bool"),
    ("3.2", lambda q, k: right_scores(q, k) * 2, "A query of ones and a key of ones"),
    ("3.2", lambda q, k: right_scores(q, k).cumsum(1), "What one head sees"),
    ("3.2", lambda q, k: right_scores(q, k).detach(), "Gradients flow back"),
    ("3.3", lambda w: w.var(dim=-1, correction=0), "A row with all its weight on one"),
    ("3.3", lambda w: w.sum(-1), "Equal weights over n keys count as"),
    ("3.4", lambda s, t: torch.sigmoid(s / t), "Each row of weights sums to 1"),
    ("3.4", lambda s, t: (s / t**2).softmax(-1), "gets three times the weight"),
    ("3.4", lambda s, t: (s / t).softmax(-1).detach(), "Gradients flow back"),
    ("3.4", softmax_with_a_lost_axis, "Does an earlier step `squeeze`?"),
    ("3.5", lambda q, k, v: 2 * attend_with_few_products(q, k, v), "A query of zeros gets the"),
    ("3.5", lambda q, k, v: (q @ k.mT).sigmoid() @ v, "If all keys occur twice"),
    ("3.5", lambda q, k, v: attend_with_few_products(q, k.detach(), v), "Gradients flow back"),
    ("3.7", is_normalised_on_one_axis, "It lets B pass, which normalises the keys and not the"),
    ("3.7", lambda f: (IsNormalised()(f), f(*torch.ones(2, 1, 1, 2)) == 1)[1], "It accuses A"),
    ("3.8", lambda d_model, d_k: 1 / (d_model + d_k), "Without any division"),
    ("3.10", [12.0, 11.5, 0.0, -20.0], "The largest score is at least 100 above the smallest. It"),
    ("3.10", [100.0, 99.8, 50.0, 0.0], "Two of them are 99.8 and 100."),
    ("3.10", [100.0, 98.0, 50.0, 0.0], "If the first score rises by 0.1, its weight rises by at"),
    ("3.10", [100.0, 99.5, 0.0, 95.0], "If the fourth score rises by 10, no weight changes by"),
    ("3.11", lambda s, t: torch.diag_embed((s / t).softmax(-1)), "always sum to 1"),
    ("3.11", lambda s, t: s.softmax(-1).diag_embed(), "It predicts how the weights change"),
    ("3.11", slope_by_plain_exponentials, "The result contains NaN"),
    ("3.13", lambda d, rho, mu: d**0.5 * (1 + rho), "copies of one feature with mean 0"),
    ("3.13", lambda d, rho, mu: 2**d, "With no correlation and a mean of 0"),
]


def scores_by_einsum(query, key):
    scale = query.size(-1) ** -0.5
    return scale * torch.einsum("bihd,bjhd->bhij", query, key)


def scores_scaling_both_first(query, key):
    root = query.shape[-1] ** 0.25
    query, key = (query.permute(0, 2, 1, 3) / root, key.permute(0, 2, 3, 1) / root)
    return torch.matmul(query, key)


def scores_by_broadcasting(query, key):
    products = query[:, :, None] * key[:, None]  # (batch, i, j, heads, d_k)
    root = torch.tensor(float(query.shape[-1])).sqrt()
    return products.sum(-1).movedim(-1, 1) / root


def scores_head_by_head(query, key):
    heads = zip(query.unbind(2), key.unbind(2), strict=True)
    return torch.stack([q @ k.mT / q.shape[-1] ** 0.5 for q, k in heads], dim=1)


def keys_by_selecting(weights):
    logarithms = torch.where(weights > 0, weights.clamp_min(1e-30).log(), 0.0)
    return (-weights * logarithms).sum(-1).exp()


def keys_by_torch(weights):
    return torch.distributions.Categorical(probs=weights).perplexity()


def keys_by_loops(weights):
    rows = weights.reshape(-1, weights.shape[-1])
    sums = [sum(-w * math.log2(w) for w in row.tolist() if w > 0) for row in rows]
    return torch.tensor([2**s for s in sums]).reshape(weights.shape[:-1])


def slope_by_autograd(scores, temperature):
    def weights(row):
        return F.softmax(row / temperature, dim=-1)

    rows = scores.reshape(-1, scores.shape[-1])
    slopes = [torch.autograd.functional.jacobian(weights, row) for row in rows]
    return torch.stack(slopes).reshape(*scores.shape, scores.shape[-1])


def spread_by_matrix(d, rho, mu):
    covariance = torch.full((d, d), float(rho), dtype=torch.float64)
    covariance.fill_diagonal_(1)
    return (covariance.square().sum() + 2 * mu**2 * covariance.sum()).sqrt()


RIGHT = [
    ("3.1", 20),
    ("3.1", math.sqrt(400)),
    ("3.1", np.float32(20.0)),
    ("3.1", np.array([20])),
    ("3.1", torch.tensor(20.0, requires_grad=True)),
    ("3.1", decimal.Decimal(20)),
    ("3.2", right_scores),
    ("3.2", scores_by_einsum),
    ("3.2", scores_scaling_both_first),
    ("3.2", scores_by_broadcasting),
    ("3.2", scores_head_by_head),
    ("3.2", lambda *args: right_scores(*args).double()),
    ("3.3", keys_by_selecting),
    ("3.3", keys_by_torch),
    ("3.3", keys_by_loops),
    ("3.4", softmax_by_logsumexp),
    ("3.4", lambda scores, temperature: (scores.double() / temperature).softmax(dim=-1)),
    ("3.4", lambda scores, temperature: F.softmax(scores / temperature, dim=-1)),
    ("3.5", attend_with_few_products),
    ("3.5", attend_with_the_other_axis),
    ("3.5", lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v)),
    ("3.7", IsNormalised()),
    ("3.7", is_normalised_by_hand),
    ("3.8", lambda d_model, d_k: (d_model * d_k) ** -0.5),
    ("3.8", lambda d_model, d_k: np.float64(1) / np.sqrt(d_model * d_k)),
    ("3.10", [0.0, -0.5, -60.0, -120.0]),
    ("3.10", torch.tensor([500, 501, 400, 450])),
    ("3.10", [-50.0, -150.0, -50.7, -80.0]),
    ("3.11", slope_by_autograd),
    ("3.11", slope_by_identity),
    ("3.12", 256),
    ("3.12", torch.tensor(18.0) ** 2),
    ("3.13", spread_by_matrix),
    ("3.14", 1000 * 2 * 0.117 * 0.4),
    ("3.14", 100),
    ("3.14", torch.tensor(88.0)),
]
