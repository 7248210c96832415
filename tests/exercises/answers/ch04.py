"""What learners might hand in for the exercises of chapter 4."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from .ch02 import wrong_in_a_batch_of_1
from .slips import remembers_shapes, squeezed


def right_received(weights, real):
    return (weights * real[..., None]).sum(-2) / real.sum(-1, keepdim=True)


def received_by_matrix(weights, real):
    share = real / real.sum(-1, keepdim=True)  # of each row that counts
    return (share.unsqueeze(-2) @ weights).squeeze(-2)


def received_by_loops(weights, real):
    shape = (*weights.shape[:-2], weights.shape[-1])
    rows = weights.reshape(-1, *weights.shape[-2:])
    masks = real.reshape(-1, real.shape[-1])
    pairs = zip(rows, masks, strict=True)
    return torch.stack([w[m].mean(dim=0) for w, m in pairs]).reshape(shape)


def received_first_sentence(weights, real):
    found = right_received(weights, real)
    return found.reshape(-1, found.shape[-1])[0].expand_as(found)


def logs_by_masked_rest(scores):
    """log of 1 plus what the others add, seen from each score."""
    differences = scores.unsqueeze(-2) - scores.unsqueeze(-1)
    return -torch.logsumexp(differences, dim=-1)


def logs_in_double(scores):
    return scores.double().softmax(dim=-1).log()


def temperature_by_search(gap, n, target):
    low, high = 1e-6, 1e6
    for _ in range(200):
        middle = math.sqrt(low * high)
        weight = 1 / (1 + (n - 1) * math.exp(-gap / middle))
        low, high = (middle, high) if weight > target else (low, middle)
    return middle


def error_by_differences(weights, value):
    output = weights @ value
    difference = value[..., None, :, :] - output[..., :, None, :]
    return torch.einsum("...ij,...ijd->...i", weights, difference**2)


def error_of_the_best(weights, value):
    best = F.one_hot(weights.argmax(-1), weights.shape[-1]).float()
    return (weights @ value - best @ value).square().sum(-1)


def error_by_pairs(weights, value):
    """Half the expected squared distance between two independent draws."""
    apart = torch.cdist(value, value).square()
    return ((weights @ apart) * weights).sum(-1) / 2


def quiet_with_room(scores, mask):
    scores = torch.where(mask, scores, -math.inf)
    m = scores.amax(-1, keepdim=True).clamp(min=0)
    e = torch.exp(scores - m)
    return e / (torch.exp(-m) + e.sum(-1, keepdim=True))


def quiet_with_masked_at(low):
    def answer(scores, mask):
        return quiet_with_room(torch.where(mask, scores, low), torch.ones_like(mask))

    return answer


def quiet_by_double(scores, mask):
    e = scores.double().exp() * mask
    return (e / (1 + e.sum(-1, keepdim=True))).float()


def quiet_by_sigmoid(scores, mask):
    """Softmax, times the share that is given away at all."""
    scores = scores.masked_fill(~mask, -1e4)
    given = torch.sigmoid(torch.logsumexp(scores, -1, keepdim=True))
    return scores.softmax(-1) * given * mask


def merge_with_maximum(output_a, log_sum_a, output_b, log_sum_b):
    m = torch.maximum(log_sum_a, log_sum_b)
    a, b = ((x - m).exp()[..., None] for x in (log_sum_a, log_sum_b))
    return (a * output_a + b * output_b) / (a + b)


def merge_with_logaddexp(output_a, log_sum_a, output_b, log_sum_b):
    both = torch.logaddexp(log_sum_a, log_sum_b)
    parts = (log_sum_a, output_a), (log_sum_b, output_b)
    return sum((x - both).exp().unsqueeze(-1) * o for x, o in parts)


def merge_without_a_scale(output_a, log_sum_a, output_b, log_sum_b):
    return merge_with_maximum(output_a, log_sum_a / 2, output_b, log_sum_b / 2)


def sparsemax_by_halving(scores):
    """Search the threshold between the best score minus 1 and the best."""
    high = scores.amax(-1, keepdim=True)
    low = high - 1
    for _ in range(60):
        middle = (low + high) / 2
        too_much = (scores - middle).clamp(min=0).sum(-1, keepdim=True) > 1
        low, high = (torch.where(too_much, middle, low), torch.where(too_much, high, middle))
    return (scores - low).clamp(min=0)


def sparsemax_from_minus_10_to_10(scores):
    low, high = (torch.full_like(scores[..., :1], end) for end in (-10.0, 10.0))
    for _ in range(60):
        middle = (low + high) / 2
        too_much = (scores - middle).clamp(min=0).sum(-1, keepdim=True) > 1
        low, high = (torch.where(too_much, middle, low), torch.where(too_much, high, middle))
    return (scores - low).clamp(min=0)


def sparsemax_by_removal(scores, rounds=None):
    """Drop keys below the threshold until none is left below it."""
    kept = torch.ones_like(scores, dtype=torch.bool)
    for _ in range(rounds or scores.shape[-1]):
        total = (scores * kept).sum(-1, keepdim=True)
        tau = (total - 1) / kept.sum(-1, keepdim=True)
        kept = kept & (scores > tau)
    return (scores - tau).clamp(min=0)


def fading_by_loop(query, key, value, decay):
    memory = torch.zeros(*key.shape[:-2], key.shape[-1], value.shape[-1])
    total = torch.zeros(*key.shape[:-2], key.shape[-1])
    outputs = []
    for t in range(key.shape[-2]):
        k, v, q = key[..., t, :], value[..., t, :], query[..., t, :]
        memory = decay * memory + k[..., :, None] * v[..., None, :]
        total = decay * total + k
        output = (q[..., None, :] @ memory)[..., 0, :]
        outputs.append(output / (q * total).sum(-1, keepdim=True))
    return torch.stack(outputs, dim=-2)


def fading_by_cumsum(query, key, value, decay):
    places = torch.arange(key.shape[-2]).double()[:, None]
    aged = key.double() * decay**-places  # old keys are small beside new ones
    memory = (aged[..., :, None] * value.double()[..., None, :]).cumsum(-3)
    total = aged.cumsum(-2)
    output = (query.double()[..., None, :] @ memory)[..., 0, :]
    return output / (query.double() * total).sum(-1, keepdim=True)


def fading_by_logarithms(query, key, value, decay):
    ages = torch.arange(key.shape[-2])[:, None] - torch.arange(key.shape[-2])
    logs = torch.log(query @ key.mT) + math.log(decay) * ages
    return logs.masked_fill(ages < 0, -torch.inf).softmax(-1) @ value


def fading_in_values_space(query, key, value, decay):
    """Averages of the values with fading, without looking at keys."""
    ages = torch.arange(key.shape[-2])[:, None] - torch.arange(key.shape[-2])
    fading = torch.where(ages >= 0, decay ** ages.clamp(min=0), 0.0)
    return fading @ value / fading.sum(-1, keepdim=True)


def fading_once(query, key, value, decay):
    ages = torch.arange(key.shape[-2])[:, None] - torch.arange(key.shape[-2])
    fading = torch.where(ages > 0, decay, 1.0).tril()
    parts = query @ key.mT * fading
    return parts @ value / parts.sum(-1, keepdim=True)


def fading_seen_from_the_end(query, key, value, decay):
    return fading_by_loop(query[..., -1:, :].expand_as(query), key, value, decay)


WRONG = [
    ("4.1", 0.5, "too large"),
    ("4.1", 0.001, "too small"),
    ("4.1", -0.1, "negative"),
    ("4.2", lambda w, r: w.amax(-2), "What the keys receive on average"),
    ("4.2", received_first_sentence, "the keys receive what that row gives"),
    ("4.2", lambda w, r: w[..., 0, :], "the keys receive what that row gives"),
    ("4.2", lambda w, r: right_received(w, r).softmax(-1), "the keys receive what that row gives"),
    ("4.2", squeezed(right_received), "is there a `squeeze`?"),
    ("4.2", lambda w, r: w.median(-2).values, "What the keys receive"),
    ("4.3", lambda s: s.softmax(-1), "Their exponentials sum to 1"),
    ("4.3", lambda s: -s.log_softmax(-1), "They differ from each other"),
    ("4.3", lambda s: (s.softmax(-1) + 1e-9).log(), "off by up to"),
    ("4.3", lambda s: s - s.mean(-1, keepdim=True), "exponentials sum to 1"),
    (
        "4.3",
        lambda s: s - s.exp().sum(-1, keepdim=True).clamp(max=1e30).log(),
        "exponentials sum to 1",
    ),
    ("4.3", logs_in_double, "infinite"),
    ("4.3", lambda s: F.log_softmax(s.detach(), -1), "Gradients flow back"),
    ("4.3", lambda s: F.log_softmax(s, -1).clamp(min=-745), "as the scores do"),
    (
        "4.3",
        remembers_shapes(lambda s: F.log_softmax(s, dim=-1)),
        "returns the same result as before",
    ),
    ("4.3", squeezed(logs_by_masked_rest), "is there a `squeeze`?"),
    ("4.4", lambda gap, n, target: gap * (1 - target), "that weight"),
    ("4.4", lambda gap, n, target: 1.0, "Twice the gap"),
    ("4.4", lambda gap, n, target: gap / math.log(n), "that weight"),
    ("4.4", lambda gap, n, target: [gap], "must return one number"),
    ("4.5", lambda w, v: (w @ v).square().sum(-1), "a draw has no error"),
    ("4.5", lambda w, v: 2 * error_by_differences(w, v), "same factor"),
    ("4.5", lambda w, v: 1 - w.square().sum(-1), "four times the error"),
    ("4.5", error_of_the_best, "the product of both weights"),
    ("4.5", squeezed(error_by_differences), "is there a `squeeze`?"),
    ("4.5", wrong_in_a_batch_of_1(error_by_differences), "The result is not right"),
    ("4.6", lambda s, m: s.sigmoid() * m, "No row sums to more than 1"),
    ("4.6", lambda s, m: s.masked_fill(~m, -1e4).softmax(-1) * m, "over what its row keeps back"),
    ("4.6", lambda s, m: quiet_with_room(s, m) ** 2, "keeps back"),
    ("4.6", quiet_with_masked_at(-50.0), "What is masked has no weight"),
    ("4.6", quiet_with_masked_at(-90.0), "What is masked has no weight"),
    ("4.6", lambda s, m: quiet_with_room(s, m).detach(), "Gradients flow back"),
    ("4.6", squeezed(quiet_with_room), "is there a `squeeze`?"),
    ("4.7", lambda a, la, b, lb: torch.maximum(a, b), "all keys at once"),
    (
        "4.7",
        lambda a, la, b, lb: torch.sigmoid((la - lb) / 2)[..., None] * (a - b) + b,
        "all keys at once",
    ),
    ("4.7", lambda a, la, b, lb: a, "Changing the places"),
    ("4.7", merge_without_a_scale, "all keys at once"),
    ("4.7", lambda *halves: merge_with_maximum(*halves).detach(), "Gradients flow back"),
    ("4.7", squeezed(merge_with_maximum), "is there a `squeeze`?"),
    ("4.8", lambda s: (s - s.amax(-1, keepdim=True) + 1).relu(), "sums to 1"),
    (
        "4.8",
        lambda s: F.normalize((s - s.amax(-1, keepdim=True) + 1).relu(), p=1, dim=-1),
        "weights differ as the scores do",
    ),
    ("4.8", lambda s: F.one_hot(s.argmax(-1), s.shape[-1]).float(), "the better one gets ¾"),
    ("4.8", sparsemax_from_minus_10_to_10, "Adding the same number"),
    ("4.8", lambda s: sparsemax_by_removal(s, 3), "sums to 1"),
    ("4.8", lambda s: sparsemax_by_removal(s, 6), "sums to 1"),
    ("4.8", remembers_shapes(sparsemax_by_removal), "returns the same result as before"),
    ("4.8", squeezed(sparsemax_by_removal), "is there a `squeeze`?"),
    ("4.8", lambda s: sparsemax_by_removal(s * 2), "weights differ"),
    ("4.9", fading_in_values_space, "off by up to"),
    ("4.9", fading_by_cumsum, "contains NaN"),
    ("4.9", fading_once, "counts decay² times the newest"),
    ("4.9", fading_seen_from_the_end, "No token sees what comes after it"),
    ("4.9", lambda q, k, v, d: fading_by_loop(q, k.detach(), v, d), "None reaches `key`"),
    ("4.9", squeezed(fading_by_loop), "is there a `squeeze`?"),
    ("4.9", wrong_in_a_batch_of_1(fading_by_loop), "The result is not right"),
    ("4.9", lambda q, k, v, d: fading_by_loop(q, k, v, d**0.5), "counts decay² times the newest"),
    ("4.9", lambda q, k, v, d: fading_by_loop(q, k.softmax(-2), v, d), "off by up to"),
    ("4.9", lambda q, k, v, d: v, "off by up to"),
]

RIGHT = [
    ("4.1", 0.1292),
    ("4.1", np.exp(5) / (np.exp(5) + 1000)),
    ("4.1", torch.tensor([5.0] + [0.0] * 1000).softmax(-1)[0]),
    ("4.2", received_by_matrix),
    ("4.2", received_by_loops),
    ("4.2", lambda weights, real: right_received(weights.double(), real)),
    ("4.3", logs_by_masked_rest),
    ("4.3", lambda scores: F.log_softmax(scores, dim=-1)),
    ("4.3", lambda scores: scores - scores.logsumexp(-1, keepdim=True)),
    ("4.4", temperature_by_search),
    ("4.4", lambda gap, n, target: -gap / np.log((1 / target - 1) / (n - 1))),
    ("4.5", error_by_differences),
    ("4.5", error_by_pairs),
    ("4.6", quiet_with_room),
    ("4.6", quiet_by_double),
    ("4.6", quiet_by_sigmoid),
    ("4.7", merge_with_maximum),
    ("4.7", merge_with_logaddexp),
    ("4.8", sparsemax_by_halving),
    ("4.8", sparsemax_by_removal),
    ("4.9", fading_by_loop),
    ("4.9", fading_by_logarithms),
]
