"""What learners might hand in for the exercises of chapter 2."""

import math

import torch
import torch.nn.functional as F

from .slips import remembers_shapes, squeezed


def wrong_in_a_batch_of_1(answer):
    def doubled(first, *more):
        alone = first.ndim > 2 and first.shape[0] == 1
        return answer(first, *more) * (2 if alone else 1)

    return doubled


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


def cross_with_a_residual(x, memory, q_proj, k_proj, v_proj):
    out = cross_right(x, memory, q_proj, k_proj, v_proj)
    return out + out.mean(dim=-2, keepdim=True)


def cross_causal(x, memory, q_proj, k_proj, v_proj):
    return F.scaled_dot_product_attention(
        x @ q_proj, memory @ k_proj, memory @ v_proj, is_causal=True
    )


def cross_divided_more(x, memory, q_proj, k_proj, v_proj):
    return cross_right(x, memory, q_proj, k_proj / v_proj.shape[-1] ** 0.5 / 2, v_proj)


def cross_by_sigmoid(x, memory, q_proj, k_proj, v_proj):
    scores = x @ q_proj @ (memory @ k_proj).mT / q_proj.shape[-1] ** 0.5
    return scores.sigmoid() @ memory @ v_proj


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


def others_at(low):
    def answer(query, key, words):
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        same = words[..., :, None] == words[..., None, :]
        return scores.masked_fill(same, low).softmax(-1)

    return answer


def others_scaled_by_length(query, key, words):
    return others_right(query * (query.shape[-1] / query.shape[-2]) ** 0.5, key, words)


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


def by_largest_difference(query, key, value, sharpness):
    differences = query[..., :, None, :] - key[..., None, :, :]
    return (-sharpness * differences.square().amax(-1)).softmax(-1) @ value


def by_fixed_weights(query, key, value, sharpness):
    scores = -sharpness * torch.cdist(query, key) ** 2
    return F.softmax(scores, dim=-1).detach() @ value


def by_cosine(query, key, value, sharpness):
    query, key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
    return (sharpness * query @ key.mT).softmax(-1) @ value


def by_city_blocks(query, key, value, sharpness):
    distances = torch.cdist(query, key, p=1)
    return (-sharpness * distances).softmax(-1) @ value


def projection_by_solving(wanted, k_proj):
    # k_proj · q_projᵀ = √n · wantedᵀ
    right = len(wanted) ** 0.5 * wanted.T
    return torch.linalg.solve(k_proj, right).T


def projection_by_pinv(wanted, k_proj):
    return len(wanted) ** 0.5 * wanted @ torch.linalg.pinv(k_proj).T


WRONG = [
    ("2.1", 6, "6 is too large"),
    ("2.1", -4, "-4 is negative"),
    ("2.1", "5", "one number; yours is a str"),
    ("2.2", cross_with_a_residual, "What one token asks does not change the output of another"),
    ("2.2", cross_causal, "The order of the tokens in `memory`"),
    ("2.2", lambda *args: cross_right(*args).detach(), "Gradients flow back"),
    ("2.2", lambda *args: cross_right(*args) + 1, "Twice the value projection"),
    ("2.2", cross_divided_more, "counts three times as much"),
    ("2.2", cross_by_sigmoid, "every output is the mean of the values"),
    ("2.2", lambda x, *more: cross_right(x.detach(), *more), "None reaches `x`"),
    ("2.2", squeezed(cross_right), "is there a `squeeze`?"),
    ("2.2", wrong_in_a_batch_of_1(cross_right), "The result is not right"),
    ("2.3", parts_equal, "depends on its own value alone"),
    ("2.3", lambda weights, value: parts_right(weights, value) * 2, "Summed over the keys"),
    ("2.3", lambda weights, value: parts_right(weights, value).mT, "must have the shape"),
    ("2.3", squeezed(parts_right), "is there a `squeeze`?"),
    ("2.3", wrong_in_a_batch_of_1(parts_right), "The result is not right"),
    ("2.3", remembers_shapes(parts_right), "returns the same result as before"),
    ("2.4", others_evenly, "off by up to"),
    ("2.4", others_scaled_by_length, "the weights differ by"),
    ("2.4", others_at(-20.0), "No token attends to its own word"),
    ("2.4", others_at(-500.0), "No token attends to its own word. One does with weight 1."),
    ("2.4", lambda *args: others_right(*args).detach(), "Gradients flow back"),
    ("2.4", remembers_shapes(others_right), "returns the same result as before"),
    ("2.4", squeezed(others_right), "is there a `squeeze`?"),
    ("2.4", wrong_in_a_batch_of_1(others_right), "The result is not right"),
    ("2.4", lambda *args: others_by_where(*args) * 0.5, "Each row of weights sums to 1"),
    ("2.4", lambda *args: others_by_where(*args).triu(), "Each row of weights sums to 1"),
    (
        "2.5",
        lambda q_proj, k_proj: one_matrix_by_loops(q_proj, k_proj) ** 2,
        "x M xᵀ gives the scaled scores",
    ),
    (
        "2.5",
        lambda q_proj, k_proj: one_matrix_by_loops(q_proj, k_proj) * 3,
        "same factor everywhere",
    ),
    ("2.5", squeezed(one_matrix_by_loops), "is there a `squeeze`?"),
    ("2.6", by_largest_difference, "counts three times as much"),
    ("2.6", by_fixed_weights, "None reaches `query`"),
    ("2.6", lambda q, k, v, sharpness: by_cdist(q, k, v, sharpness).detach(), "cut off from all"),
    ("2.6", squeezed(by_cdist), "is there a `squeeze`?"),
    ("2.6", wrong_in_a_batch_of_1(by_cdist), "The result is not right"),
    ("2.6", by_cosine, "Moving all queries and keys alike"),
    ("2.6", by_city_blocks, "off by up to"),
    (
        "2.6",
        lambda q, k, v, sharpness: by_cdist(q, k, v, sharpness + 1),
        "At sharpness 0 every output is the mean value",
    ),
    (
        "2.7",
        lambda wanted, k_proj: torch.linalg.inv(k_proj.T),
        "The scaled scores of the one-hot tokens",
    ),
    (
        "2.7",
        lambda wanted, k_proj: projection_by_solving(wanted, k_proj) + 0.1,
        "Where no scores are wanted",
    ),
    ("2.7", squeezed(projection_by_solving), "is there a `squeeze`?"),
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
    ("2.5", lambda q_proj, k_proj: one_matrix_by_loops(q_proj, k_proj).double()),
    ("2.6", by_cdist),
    ("2.6", by_expanding_the_square),
    ("2.7", projection_by_solving),
    ("2.7", projection_by_pinv),
    ("2.7", lambda wanted, k_proj: projection_by_solving(wanted, k_proj).double()),
]
