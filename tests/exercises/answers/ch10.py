"""What learners might hand in for the exercises of chapter 10."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def layer_flops(length, d_model, num_heads, kv_heads):
    d_kv = d_model // num_heads * kv_heads
    projections = 2 * length * d_model * (2 * d_model + 2 * d_kv)
    return projections + 4 * length**2 * d_model


def layer_flops_head_by_head(length, d_model, num_heads, kv_heads):
    d_k = d_model // num_heads
    total = 0
    for _ in range(num_heads):
        total += 2 * length * length * d_k * 2  # scores, mixing
        total += 2 * length * d_model * d_k * 2  # query, output
    for _ in range(kv_heads):
        total += 2 * length * d_model * d_k * 2  # key, value
    return total


def layer_flops_in_floats(length, d_model, num_heads, kv_heads):
    share = kv_heads / num_heads
    return 4.0 * length * d_model * (d_model * (1 + share) + length)


def tile(query, key, log_sum, first_query, first_key):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    weights = (scores - log_sum[..., None]).exp()
    p = first_query + torch.arange(query.shape[-2])[:, None]
    r = first_key + torch.arange(key.shape[-2])
    return weights.masked_fill(r > p, 0.0)


def tile_by_loops(query, key, log_sum, first_query, first_key):
    result = torch.zeros(*query.shape[:-1], key.shape[-2])
    for i in range(query.shape[-2]):
        for j in range(key.shape[-2]):
            if first_key + j <= first_query + i:
                score = (query[..., i, :] * key[..., j, :]).sum(-1)
                score = score / query.shape[-1] ** 0.5
                result[..., i, j] = torch.exp(score - log_sum[..., i])
    return result


def tile_with_a_fill(query, key, log_sum, first_query, first_key, *, fill):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    p = first_query + torch.arange(query.shape[-2])[:, None]
    future = first_key + torch.arange(key.shape[-2]) > p
    return (scores.masked_fill(future, fill) - log_sum[..., None]).exp()


def slots(written, window):
    last = written - 1
    return (last - (last - torch.arange(window)) % window).clamp(min=-1)


def slots_by_writing(written, window):
    cache = [-1] * window
    for p in range(written):
        cache[p % window] = p
    return torch.tensor(cache)


def slots_by_rounds(written, window):
    slot = torch.arange(window)
    rounds = (written - slot + window - 1) // window  # how often written
    return torch.where(rounds > 0, slot + (rounds - 1) * window, -1)


def pooled(weight, num_heads, kv_heads):
    d_k = weight.shape[0] // num_heads
    groups = weight.unflatten(0, (kv_heads, num_heads // kv_heads, d_k))
    return groups.mean(dim=1).flatten(0, 1)


def pooled_by_loops(weight, num_heads, kv_heads):
    heads = weight.chunk(num_heads)
    group = num_heads // kv_heads
    means = [sum(heads[g * group : (g + 1) * group]) / group for g in range(kv_heads)]
    return torch.cat(means)


def pooled_by_matrix(weight, num_heads, kv_heads):
    group = num_heads // kv_heads
    mix = torch.eye(kv_heads).repeat_interleave(group, dim=1) / group
    identity = torch.eye(len(weight) // num_heads)
    return torch.kron(mix, identity) @ weight


def reached(windows, dilations):
    places = {0}
    for w, g in zip(windows.tolist(), dilations.tolist(), strict=True):
        places = {place + g * step for place in places for step in range(w)}
    return len(places)


def reached_by_polynomials(windows, dilations):
    ways = np.ones(1)
    for w, g in zip(windows.tolist(), dilations.tolist(), strict=True):
        step = np.zeros((w - 1) * g + 1)
        step[::g] = 1
        ways = np.convolve(ways, step)
    return int((ways > 0.5).sum())


def reached_by_masks(windows, dilations):
    length = 1 + int(((windows - 1) * dilations).sum())
    distance = torch.arange(length)[:, None] - torch.arange(length)
    reach = torch.eye(length)
    for w, g in zip(windows, dilations, strict=True):
        seen = (distance >= 0) & (distance % g == 0) & (distance < w * g)
        reach = reach @ seen.float()
    return (reach[-1] > 0).sum()


def gradient(weights, value, output, output_gradient):
    mean = (output * output_gradient).sum(dim=-1, keepdim=True)
    return weights * (output_gradient @ value.mT - mean)


def gradient_from_differences(weights, value, output, output_gradient):
    difference = value.unsqueeze(-3) - output.unsqueeze(-2)
    along = (difference * output_gradient.unsqueeze(-2)).sum(dim=-1)
    return along * weights


def gradient_by_einsum(weights, value, output, output_gradient):
    first = torch.einsum("...qd,...kd->...qk", output_gradient, value)
    second = torch.einsum("...qd,...qd->...q", output_gradient, output)
    return weights * first - weights * second[..., None]


def decode(query, keys, values, lengths):
    groups = query.unflatten(1, (keys.shape[1], -1))
    scores = groups @ keys.mT / math.sqrt(query.shape[-1])
    used = torch.arange(keys.shape[-2]) < lengths[:, None]
    scores = scores.masked_fill(~used[:, None, None], -math.inf)
    return (scores.softmax(dim=-1) @ values).flatten(1, 2)


def decode_by_pytorch(query, keys, values, lengths):
    used = torch.arange(keys.shape[-2]) < lengths[:, None]
    output = F.scaled_dot_product_attention(
        query[:, :, None], keys, values, attn_mask=used[:, None, None], enable_gqa=True
    )
    return output[:, :, 0]


def decode_by_loops(query, keys, values, lengths):
    output = torch.zeros_like(query)
    group = query.shape[1] // keys.shape[1]
    for b, n in enumerate(lengths.tolist()):
        for h in range(query.shape[1]):
            k, v = keys[b, h // group, :n], values[b, h // group, :n]
            weights = F.softmax(k @ query[b, h] / query.shape[-1] ** 0.5, dim=0)
            output[b, h] = weights @ v
    return output


def decode_by_copies(query, keys, values, lengths):
    group = query.shape[1] // keys.shape[1]
    keys = keys.repeat_interleave(group, dim=1)
    values = values.repeat_interleave(group, dim=1)
    scores = torch.einsum("bhd,bhnd->bhn", query, keys) * query.shape[-1] ** -0.5
    hidden = torch.arange(keys.shape[-2]) >= lengths[:, None, None]
    weights = torch.softmax(scores - 1e9 * hidden, dim=-1)
    return torch.einsum("bhn,bhnd->bhd", weights, values)


def decode_with_a_fill(query, keys, values, lengths, *, fill):
    groups = query.unflatten(1, (keys.shape[1], -1))
    scores = groups @ keys.mT / math.sqrt(query.shape[-1])
    used = torch.arange(keys.shape[-2]) < lengths[:, None]
    scores = scores.masked_fill(~used[:, None, None], fill)
    return (scores.softmax(dim=-1) @ values).flatten(1, 2)


def slots_of_a_short_text(written, window):
    places = [-1] * window
    for place in range(min(written, 50)):
        places[place % window] = place
    return torch.tensor(places)


def reached_in_a_text_of(length):
    def reached_by_marking(windows, dilations):
        seen = torch.zeros(length, dtype=torch.bool)
        seen[0] = True
        for window, dilation in zip(windows.tolist(), dilations.tolist(), strict=True):
            seen = torch.stack(
                [
                    torch.cat([seen.new_zeros(s), seen])[:length]
                    for s in range(0, window * dilation, dilation)
                ]
            ).any(0)
        return seen.sum()

    return reached_by_marking


def absorbed(query, latent, up_key):
    return query @ up_key.mT @ latent.mT / math.sqrt(query.shape[-1])


def absorbed_from_keys(query, latent, up_key):  # the plain order
    return query @ (latent @ up_key).mT * query.shape[-1] ** -0.5


def absorbed_by_loops(query, latent, up_key):
    rows = []
    for head, matrix in enumerate(up_key):
        for asking in query[head]:
            rows += [(matrix @ asking) @ c / query.shape[-1] ** 0.5 for c in latent]
    return torch.stack(rows).view(*query.shape[:2], len(latent))


def absorbed_by_einsum(query, latent, up_key):
    scores = torch.einsum("hnd,hsd,ls->hnl", query, up_key, latent)
    return scores / math.sqrt(up_key.shape[-1])


def after_a_guess(p, q, guess):
    result = torch.zeros_like(p)
    passes = min(1.0, (p[guess] / q[guess]).item())
    result[guess] = passes
    if passes < 1:
        residual = torch.relu(p - q)
        result += (1 - passes) * residual / residual.sum()
    return result


def after_a_guess_by_loops(p, q, guess):
    more = [max(0.0, float(a - b)) for a, b in zip(p, q, strict=True)]
    lost = max(0.0, 1 - float(p[guess]) / float(q[guess]))
    chances = [lost * each / sum(more) for each in more]
    chances[guess] += 1 - lost
    return torch.tensor(chances)


def after_a_guess_from_what_is_left(p, q, guess):
    both = torch.minimum(p, q)
    left = (p - both) / (1 - both.sum())
    kept = both[guess] / q[guess]
    return torch.where(torch.arange(len(p)) == guess, kept, 0.0) + (1 - kept) * left


def softmax_in_blocks(scores, value, block):
    return scores.softmax(dim=-1) @ value


def softmax_in_merged_blocks(scores, value, block):
    """Each block is finished, and then merged with the others by its log-sum-exp."""
    log_sums, outputs = [], []
    for s, v in zip(scores.split(block, dim=-1), value.split(block, dim=-2), strict=True):
        log_sums.append(s.logsumexp(dim=-1, keepdim=True))
        outputs.append(s.softmax(dim=-1) @ v)
    shares = torch.stack(log_sums).softmax(dim=0)
    return (shares * torch.stack(outputs)).sum(dim=0)


def softmax_in_two_rounds(scores, value, block):
    m = scores.amax(dim=-1, keepdim=True)
    total = mix = 0.0
    for j in range(0, scores.shape[-1], block):
        terms = (scores[..., j : j + block] - m).exp()
        total = total + terms.sum(dim=-1, keepdim=True)
        mix = mix + terms @ value[..., j : j + block, :]
    return mix / total


def cached_as_in_pytorch(f):
    """PyTorch's attention at once, against calls of many lengths."""
    query, key, value = torch.randn(3, 3, 15, 8)
    expected = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    cache, first = None, 0
    for length in (1, 2, 5, 1, 6):
        now = slice(first, first + length)
        output, cache = f(query[:, now], key[:, now], value[:, now], cache)
        if not torch.allclose(output, expected[:, now], atol=1e-4):
            return False
        first += length
    return True


def cached_by_influence(f):
    """What each output depends on, that it is a mean, and the weights of two known scores."""
    tokens = torch.randn(3, 2, 8, 4).double()

    def run(query, key, value):
        one, cache = f(query[:, :3], key[:, :3], value[:, :3], None)
        two, cache = f(query[:, 3:4], key[:, 3:4], value[:, 3:4], cache)
        three, cache = f(query[:, 4:6], key[:, 4:6], value[:, 4:6], cache)
        four, _ = f(query[:, 6:], key[:, 6:], value[:, 6:], cache)
        return torch.cat([one, two, three, four], dim=1)

    sees = torch.ones(8, 8).tril().bool()
    for which in (1, 2):
        for sentence in range(2):
            for j in range(8):
                other = tokens.clone()
                other[which, sentence, j] += 1
                moved = (run(*other) - run(*tokens)).abs().amax(-1) > 1e-9
                expected = torch.zeros(2, 8).bool()
                # nobody can tell the first token's key from another one
                expected[sentence] = sees[:, j] & ~((which == 1) & (torch.arange(8) == 0))
                if not torch.equal(moved, expected):
                    return False
    ones = run(*tokens[:2], torch.ones(2, 8, 4).double())
    query, key = torch.tensor([[[0.0], [3.0]], [[0.0], [math.log(3) / 3]]]).expand(2, 2, 9)[:, None]
    value = torch.arange(18.0).view(1, 2, 9)
    last = f(query / 3, key, value, None)[0][0, 1]
    return torch.allclose(ones, torch.ones(2, 8, 4).double()) and torch.allclose(
        last, value[0, 0] / 4 + value[0, 1] * 3 / 4
    )


def cached_in_two_short_calls(f):
    value = torch.arange(6.0).view(1, 6, 1)
    key = torch.zeros(1, 6, 1)
    one, cache = f(key[:, :3], key[:, :3], value[:, :3], None)
    two, _ = f(key[:, 3:], key[:, 3:], value[:, 3:], cache)
    return bool((torch.cat([one, two], dim=1) - value / 2).abs().max() < 1e-5)


WRONG = [
    ("10.2", lambda n, d, h, g: n * d, "(10.1) + (10.2)"),
    ("10.2", lambda n, d, h, g: n * d, "Sharing saves operations, but only in"),
    ("10.3", lambda w, h, g: pooled(w, h, g).flip(0), "A group depends only on its own heads"),
    ("10.3", lambda w, h, g: pooled(w, h, g) * 0.5, "If the heads of a group are equal,"),
    ("10.4", lambda *a: decode_with_a_fill(*a, fill=-20.0), "The result is not right"),
    ("10.4", lambda *a: decode_with_a_fill(*a, fill=-20.0), "The numbers beyond a text's length"),
    ("10.4", lambda *a: decode_with_a_fill(*a, fill=-1000.0), "The result is not right"),
    ("10.4", lambda q, k, v, n: decode(q, k, v, n).flip(1), "The first heads do not see the last"),
    ("10.5", lambda s, v, b: softmax_in_blocks(s[..., :b], v[..., :b, :], b), "The size of the"),
    ("10.5", lambda s, v, b: softmax_in_blocks(s, v, b) * 2, "If all values are 1, every output"),
    ("10.5", lambda s, v, b: softmax_in_blocks(s / s.shape[-1], v, b), "The result is not right"),
    ("10.7", lambda *a: tile_with_a_fill(*a, fill=-150.0), "gets a weight of exactly 0"),
    ("10.7", lambda q, k, s, i, j: tile(q, k, s, i, j) * 2, "If a tile contains all keys that a"),
    ("10.8", lambda w, v, o, g: gradient(w, v, o, g) / 2, "the derivative that PyTorch computes"),
    ("10.8", lambda w, v, o, g: gradient(w, v, g, o), "Over a whole row, the gradients of"),
    ("10.9", lambda q, c, u: absorbed(q, c, u) + 1, "A latent of zeros gets the score 0"),
    ("10.9", lambda q, c, u: absorbed(q, c, u - u.mean(0)), "The scores of a head do not"),
    ("10.10", lambda n, w: slots(n, w).float(), "of an integer type"),
    ("10.10", lambda n, w: slots(n, w) + 1, "hold the latest tokens"),
    ("10.10", lambda n, w: torch.full((w,), n - 1), "One more token changes one slot."),
    ("10.10", slots_of_a_short_text, "The slots hold the latest tokens"),
    ("10.12", lambda w, g: reached(w, g) + 1, "For windows of [2, 2], you return 4"),
    ("10.12", lambda w, g: reached(w, g.flip(0)), "A further layer with a window of 1"),
    ("10.12", reached_in_a_text_of(100), "The result is not right"),
    ("10.12", reached_in_a_text_of(1000), "The result is not right"),
    ("10.13", lambda p, q, i: after_a_guess(q, p, i) if p[i] else q, "Over all guesses of the"),
    ("10.13", lambda p, q, i: q, "A guess that the large model finds"),
    ("10.13", lambda p, q, i: (p + q) / 2, "Over all guesses of the"),
    ("10.15", cached_in_two_short_calls, "pass, which keeps only the keys and values of the last"),
    ("10.15", lambda f: not cached_as_in_pytorch(f), "It accuses A, which is right."),
]

RIGHT = [
    ("10.1", 1536),
    ("10.1", 1.5 * 1024),
    ("10.1", np.float32(1536)),
    ("10.2", layer_flops),
    ("10.2", layer_flops_head_by_head),
    ("10.2", layer_flops_in_floats),
    ("10.3", pooled),
    ("10.3", pooled_by_loops),
    ("10.3", pooled_by_matrix),
    ("10.4", decode),
    ("10.4", decode_by_pytorch),
    ("10.4", decode_by_loops),
    ("10.4", decode_by_copies),
    ("10.5", softmax_in_blocks),
    ("10.5", softmax_in_merged_blocks),
    ("10.5", softmax_in_two_rounds),
    ("10.7", tile),
    ("10.7", tile_by_loops),
    ("10.8", gradient),
    ("10.8", gradient_from_differences),
    ("10.8", gradient_by_einsum),
    ("10.9", absorbed),
    ("10.9", absorbed_from_keys),
    ("10.9", absorbed_by_loops),
    ("10.9", absorbed_by_einsum),
    ("10.10", slots),
    ("10.10", slots_by_writing),
    ("10.10", slots_by_rounds),
    ("10.12", reached),
    ("10.12", reached_by_polynomials),
    ("10.12", reached_by_masks),
    ("10.13", after_a_guess),
    ("10.13", after_a_guess_by_loops),
    ("10.13", after_a_guess_from_what_is_left),
    ("10.15", cached_as_in_pytorch),
    ("10.15", cached_by_influence),
    ("10.16", 5),
    ("10.16", torch.tensor(4.8)),
]
