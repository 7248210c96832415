"""What learners might hand in for the exercises of chapter 4."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def average_in_two_batches(f):
    """Padding changes nothing, nor does a second sentence; two words share equally."""
    weights = torch.rand(3, 5, 4)
    weights /= weights.sum(-1, keepdim=True)
    real = torch.tensor([[0, 1, 1, 0, 0], [1, 0, 0, 0, 1], [0, 0, 0, 1, 0]]).bool()
    together = f(weights, real)
    for i in range(3):
        words = weights[i][real[i]]
        if not torch.allclose(f(words[None], torch.ones(1, len(words)).bool())[0], together[i]):
            return False
    return bool((together[2] - weights[2, 3]).abs().max() < 1e-5) and bool(
        (2 * together[1] - weights[1, 0] - weights[1, 4]).abs().max() < 1e-5
    )


def average_of_numbers_by_hand(f):
    weights = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], [[0.2, 0.8]] * 2 + [[1, 0]]])
    real = torch.tensor([[True, False, True], [True, False, False]])
    return np.allclose(f(weights, real), [[0.75, 0.25], [0.2, 0.8]])


def average_of_one_sentence(f):
    weights = torch.randn(1, 3, 3).softmax(dim=-1)
    real = torch.tensor([[True, True, False]])
    return torch.allclose(f(weights, real)[0], weights[0][real[0]].mean(dim=0))


def logs_by_masked_rest(scores):
    """log of 1 plus what the others add, seen from each score."""
    differences = scores.unsqueeze(-2) - scores.unsqueeze(-1)
    return -torch.logsumexp(differences, dim=-1)


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


def fading_by_logarithms(query, key, value, decay):
    ages = torch.arange(key.shape[-2])[:, None] - torch.arange(key.shape[-2])
    logs = torch.log(query @ key.mT) + math.log(decay) * ages
    return logs.masked_fill(ages < 0, -torch.inf).softmax(-1) @ value


def logs_with_a_lost_axis(scores):
    return scores - scores.logsumexp(-1).squeeze()[..., None]


def sparsemax_with_a_lost_axis(scores):
    ordered = scores.sort(-1, descending=True).values
    tau = (ordered.cumsum(-1) - 1) / torch.arange(1, scores.shape[-1] + 1)
    last = (ordered > tau).sum(-1, keepdim=True) - 1
    return (scores - tau.gather(-1, last).squeeze()[..., None]).relu()


def differential_by_loop(query, key, value, factor):
    """One map after the other, by the size of a half."""
    half = query.shape[-1] // 2
    output = 0.0
    for part, sign in ((slice(None, half), 1.0), (slice(half, None), -factor)):
        q, k = query[..., part] / half**0.5, key[..., part]
        e = torch.exp(torch.einsum("...id,...jd->...ij", q, k))
        output = output + sign * (e / e.sum(-1, keepdim=True)) @ value
    return output


def differential_by_heads(query, key, value, factor):
    """Each half is a head, with the same values."""
    q, k = (x.unflatten(-1, (2, -1)).transpose(-2, -3) for x in (query, key))
    heads = F.scaled_dot_product_attention(q, k, value.unsqueeze(-3).expand(*k.shape[:-1], -1))
    return heads[..., 0, :, :] - factor * heads[..., 1, :, :]


def weigh_with_a_bias(scores, lengths):
    bias = torch.zeros(len(lengths), 1, scores.shape[-1])
    for row, length in zip(bias, lengths.tolist(), strict=True):
        row[:, length:] = -1e9
    return (scores + bias).softmax(dim=-1)


def weigh_by_exponentials(scores, lengths):
    real = torch.arange(scores.shape[-1]) < lengths[:, None, None]
    largest = scores.where(real, -math.inf).amax(dim=-1, keepdim=True)
    powers = (scores - largest).where(real, 0).exp() * real
    return powers / powers.sum(dim=-1, keepdim=True)


def centred(weights):
    """Scores with a sum of 0 that softmax turns into these weights."""
    logs = torch.tensor(weights).log()
    return logs - logs.mean()


WRONG = [
    ("4.2", average_of_one_sentence, "It lets D pass, which averages the first rows, as many as"),
    ("4.2", lambda f: not average_of_numbers_by_hand(f), "It accuses A, which is right."),
    ("4.2", lambda f: bool(f(torch.ones(1, 1, 1), torch.tensor([[True]])) == 1), "It lets B pass"),
    ("4.3", lambda s: s.softmax(-1), "their exponentials sum to 1"),
    ("4.3", lambda s: s - s.logsumexp(-1, keepdim=True).clamp(max=99), "Adding the same number"),
    ("4.3", lambda s: F.log_softmax(s.detach(), -1), "Gradients flow back"),
    ("4.3", logs_with_a_lost_axis, "Does an earlier step `squeeze`?"),
    ("4.4", lambda s, m: s.sigmoid() * m, "No row sums to more than 1"),
    ("4.4", quiet_with_masked_at(-50.0), "A masked key has no weight"),
    ("4.4", quiet_with_masked_at(-90.0), "A masked key has no weight"),
    ("4.4", lambda s, m: quiet_with_room(s, m).detach(), "Gradients flow back"),
    ("4.5", lambda s, n: weigh_with_a_bias(s, n) + 0.1 * s.softmax(-1), "Padding gets no weight"),
    ("4.5", lambda s, n: 2 * weigh_with_a_bias(s, n), "The weights of each row sum to 1"),
    ("4.5", lambda s, n: weigh_with_a_bias(s.detach(), n), "Gradients flow back"),
    ("4.7", lambda s: (s - s.amax(-1, keepdim=True) + 1).relu(), "Of two keys whose scores"),
    ("4.7", sparsemax_from_minus_10_to_10, "The result is not right"),
    ("4.7", lambda s: sparsemax_by_removal(s, 3), "A key whose score is at least 1"),
    ("4.7", sparsemax_with_a_lost_axis, "Does an earlier step `squeeze`?"),
    ("4.8", lambda a, la, b, lb: torch.maximum(a, b), "all keys at once"),
    ("4.8", lambda *halves: merge_with_maximum(*halves).detach(), "Gradients flow back"),
    ("4.9", lambda q, k, v, d: fading_by_loop(q, k.detach(), v, d), "None reaches `key`"),
    ("4.9", lambda q, k, v, d: fading_by_loop(q, k, v, d**0.5), "counts decay² times as much as"),
    ("4.9", lambda q, k, v, d: fading_by_loop(q, k.softmax(-2), v, d), "No token sees what comes"),
    ("4.10", lambda gap, n, target: gap * (1 - target), "that weight"),
    ("4.10", lambda gap, n, target: 1.0, "Twice the gap"),
    ("4.12", lambda w, v: (w @ v).square().sum(-1), "a draw has no error"),
    ("4.12", lambda w, v: 2 * error_by_differences(w, v), "With two values, the error is the"),
    ("4.14", [3.0, -4.0, 1.0], "The output is between 19.9 and 20.1. It is 15.96."),
    ("4.14", centred([0.4, 0.5, 0.1]), "The second key has a weight of at most 0.05. It has a"),
    ("4.14", torch.tensor([0.79, 0.0125, 0.1975]).log(), "The three scores sum to 0. They sum"),
    ("4.14", [0.0, 0.0, 0.0], "It is 30."),
    ("4.16", lambda q, k, v, x: differential_by_loop(q, k.detach(), v, x), "None reaches `key`"),
    ("4.16", lambda q, k, v, x: differential_by_loop(q, k, v, x + 0.1), "With λ = 0"),
    ("4.16", lambda q, k, v, x: differential_by_loop(q, k, v, x * x), "sum to 1 − λ"),
]

RIGHT = [
    ("4.1", 0.1292),
    ("4.1", np.exp(5) / (np.exp(5) + 1000)),
    ("4.1", torch.tensor([5.0] + [0.0] * 1000).softmax(-1)[0]),
    ("4.2", average_in_two_batches),
    ("4.2", average_of_numbers_by_hand),
    ("4.3", logs_by_masked_rest),
    ("4.3", lambda scores: F.log_softmax(scores, dim=-1)),
    ("4.3", lambda scores: scores - scores.logsumexp(-1, keepdim=True)),
    ("4.4", quiet_with_room),
    ("4.4", quiet_by_double),
    ("4.4", quiet_by_sigmoid),
    ("4.5", weigh_with_a_bias),
    ("4.5", weigh_by_exponentials),
    (
        "4.5",
        lambda s, n: torch.where(torch.arange(s.shape[-1]) < n[:, None, None], s, -1e4).softmax(2),
    ),
    ("4.7", sparsemax_by_halving),
    ("4.7", sparsemax_by_removal),
    ("4.8", merge_with_maximum),
    ("4.8", merge_with_logaddexp),
    ("4.9", fading_by_loop),
    ("4.9", fading_by_logarithms),
    ("4.10", temperature_by_search),
    ("4.10", lambda gap, n, target: -gap / np.log((1 / target - 1) / (n - 1))),
    ("4.11", 5.8 / math.log(10)),
    ("4.11", torch.tensor(2.4)),
    ("4.12", error_by_differences),
    ("4.12", error_by_pairs),
    ("4.14", centred([0.76, 0.05, 0.19])),
    ("4.14", [3.69, -6.0, 2.31]),
    ("4.14", np.array([10.46, -19.535, 9.075])),
    ("4.15", 9.2 + 0.5),
    ("4.15", torch.tensor(9.5)),
    ("4.15", 9.9),
    ("4.16", differential_by_loop),
    ("4.16", differential_by_heads),
]
