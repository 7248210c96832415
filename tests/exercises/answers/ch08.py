"""What learners might hand in for the exercises of chapter 8."""

import numpy as np
import torch
import torch.nn.functional as F

from .slips import remembers_shapes, squeezed


def rms(x, gamma, epsilon):
    return gamma * x * (x.square().mean(-1, keepdim=True) + epsilon).rsqrt()


def rms_of_pytorch(x, gamma, epsilon):
    return F.rms_norm(x, x.shape[-1:], weight=gamma, eps=epsilon)


def rms_of_plain_numbers(x, gamma, epsilon):
    rows = []
    for row in x.reshape(-1, x.shape[-1]).tolist():
        size = (sum(number**2 for number in row) / len(row) + epsilon) ** 0.5
        rows.append([number / size for number in row])
    return gamma * torch.tensor(rows).reshape(x.shape)


def rms_with_a_constant_size(x, gamma, epsilon):
    return gamma * x / (x.data.square().mean(-1, keepdim=True) + epsilon).sqrt()


def rms_token_by_token(x, gamma, epsilon):
    rows = [
        gamma * row / torch.sqrt(row @ row / len(row) + epsilon)
        for row in x.reshape(-1, x.shape[-1])
    ]
    return torch.stack(rows).reshape(x.shape)


def parallel(x, attend, feed, norm):
    return x + attend(norm(x)) + feed(norm(x))


def parallel_by_sum(x, attend, feed, norm):
    return sum((part(norm(x)) for part in (attend, feed)), start=x)


def parallel_behind_a_wall(x, attend, feed, norm):
    return parallel(x, attend, feed, lambda y: norm(y).detach())


def packed(document):
    same = document.unsqueeze(-1) == document.unsqueeze(-2)
    return same.tril() & (document != 0).unsqueeze(-1)


def packed_by_loops(document):
    batch, length = document.shape
    mask = torch.zeros(batch, length, length, dtype=torch.bool)
    for b in range(batch):
        for i in range(length):
            for j in range(i + 1):
                same = document[b, i] == document[b, j]
                mask[b, i, j] = same and document[b, i] > 0
    return mask


def packed_by_products(document):
    numbers = F.one_hot(document)[..., 1:].float()
    return (numbers @ numbers.mT).tril() > 0


def two_sources(x, text, image, attend, read, feed, norm):
    x = x + attend(norm(x))
    for source in (text, image):
        x = x + read(norm(x), source)
    return x + feed(norm(x))


def two_sources_by_a_list(x, text, image, attend, read, feed, norm):
    parts = [attend, lambda q: read(q, text), lambda q: read(q, image), feed]
    for part in parts:
        x = part(norm(x)) + x
    return x


def reads_the_text_twice(x, text, image, attend, read, feed, norm):
    return two_sources(x, text, text, attend, read, feed, norm)


def keys_from_the_stream(x, text, image, attend, read, feed, norm):
    return two_sources(x, text, image, attend, lambda q, k: read(q, q), feed, norm)


def no_residual_at_the_end(x, text, image, attend, read, feed, norm):
    x = two_sources(x, text, image, attend, read, torch.zeros_like, norm)
    return feed(norm(x))


def shares(x, sublayers, norm):
    streams = [x]
    for sublayer in sublayers:
        streams.append(streams[-1] + sublayer(norm(streams[-1])))
    streams = torch.stack(streams)
    parts = torch.cat([x[None], streams.diff(dim=0)])
    final = streams[-1]
    return torch.einsum("nbld,bld->nbl", parts, final) / final.norm(dim=-1) ** 2


def shares_of_normalised_streams(x, sublayers, norm):
    parts = [norm(x)]
    for sublayer in sublayers:
        parts.append(sublayer(norm(sum(parts))))
    y = sum(parts)
    return (torch.stack(parts) * y).sum(-1) / y.square().sum(-1)


def shares_by_dots(x, sublayers, norm):
    parts = [x]
    for sublayer in sublayers:
        parts.append(sublayer(norm(sum(parts))))
    y = sum(parts)
    dots = [torch.linalg.vecdot(part, y) for part in parts]
    return torch.stack(dots) / torch.linalg.vecdot(y, y)


def sentences(f, x):
    generator = torch.Generator().manual_seed(0)  # the seed of the probes
    before, result = f(x), torch.zeros(len(x), len(x), dtype=torch.bool)
    for j in range(len(x)):
        other = x.clone()
        other[j] = torch.randn(x[j].shape, generator=generator)
        for i in range(len(x)):
            result[i, j] = not torch.allclose(f(other)[i], before[i], atol=1e-5)
    return result


def sentences_from_one_draw(f, x):
    other = torch.randn(x.shape, generator=torch.Generator().manual_seed(0))
    columns = []
    for j in range(len(x)):
        changed = torch.cat([x[:j], other[j : j + 1], x[j + 1 :]])
        columns.append(((f(changed) - f(x)).abs() > 1e-5).any(2).any(1))
    return torch.stack(columns, dim=1)


def sentences_by_many_draws(f, x):
    """Tries several sizes, and replaces all but one sentence as well."""
    generator, before = torch.Generator().manual_seed(1), f(x)
    found = torch.zeros(len(x), len(x), dtype=torch.bool)
    for size in (0.5, 1.0, 3.0):
        for j in range(len(x)):
            other = x.clone()
            other[j] += size * torch.randn(x[j].shape, generator=generator)
            found[:, j] |= ~torch.isclose(f(other), before, atol=3e-6).flatten(1).all(1)
    return found


def sentences_by_changes_of(f, x, places):
    columns = []
    for j in range(len(x)):
        other = x.clone()
        other[j][places] += 1.7
        moved = (f(other) - f(x)).abs()
        columns.append(moved.flatten(1).amax(1) > 1e-5)
    return torch.stack(columns, 1)


def sentences_seen_from_a_small_step(f, x):
    generator = torch.Generator().manual_seed(1)
    columns = []
    for j in range(len(x)):
        other = x.clone()
        other[j] += 1e-3 * torch.randn(x[j].shape, generator=generator)
        columns.append(((f(other) - f(x)).abs() > 1e-6).flatten(1).any(1))
    return torch.stack(columns, 1)


def folded(gamma, beta, weight, bias):
    return torch.vstack([torch.diag(gamma) @ weight, beta @ weight + bias])


def folded_by_probing(gamma, beta, weight, bias):
    def old(z):
        return (gamma * z + beta) @ weight + bias

    zero = old(torch.zeros_like(gamma))
    return torch.cat([old(torch.eye(len(gamma))) - zero, zero[None]])


def started_alike(layers):
    n = len(layers)
    result = torch.eye(n).bool()
    for i in range(n):
        for j in range(i):
            same = all((layers[i][k] == layers[j][k]).all() for k in layers[i])
            result[i, j] = result[j, i] = same
    return result


def started_alike_in_one_vector(layers):
    rows = torch.stack([torch.cat([p.flatten() for p in layer.values()]) for layer in layers])
    return torch.cdist(rows, rows, p=torch.inf) == 0


def started_alike_but_for_rounding(layers):
    rows = torch.stack([torch.cat([p.flatten() for p in layer.values()]) for layer in layers])
    return torch.cdist(rows, rows, p=torch.inf) < 0.01


def started_like_the_first(layers):
    return started_alike(layers)[:1].expand(len(layers), -1)


WRONG = [
    ("8.1", 40_000, "is too small"),
    ("8.1", 100_500, "is too large"),
    ("8.1", -1, "negative"),
    ("8.2", lambda x, g, e: rms(x, g, e) + 1, "off by up to"),
    ("8.2", lambda x, g, e: rms(x, g, 0.0 * e + 1e-9), "Where the mean of a token's squares is ε"),
    ("8.2", lambda x, g, e: rms(x, g, e * e), "Where the mean of a token's squares is ε"),
    ("8.2", rms_with_a_constant_size, "Those of `x` are wrong: is a step cut off?"),
    ("8.2", rms_of_plain_numbers, "None reaches `x`"),
    ("8.2", lambda x, g, e: x * g, "the scale of a token makes no difference"),
    ("8.2", lambda x, g, e: rms(x, g * g, e), "Doubling γ doubles"),
    ("8.2", lambda x, g, e: rms(x, g, e).mT, "must have the shape"),
    ("8.3", lambda x, a, f, n: x + a(n(x)), "is added to the stream, once"),
    ("8.3", lambda x, a, f, n: x + f(n(x)), "If `attend` returns 100 and `feed` 10"),
    ("8.3", parallel_behind_a_wall, "Those of `x` are wrong: is a step cut off?"),
    ("8.3", remembers_shapes(parallel), "Given other numbers, it returns the same result"),
    ("8.3", lambda x, a, f, n: parallel(x, a, f, n) / 2, "the stream is unch"),
    ("8.3", lambda x, a, f, n: x + a(n(x)) * f(n(x)), "does not depend on the other"),
    ("8.3", lambda x, a, f, n: parallel(x, a, f, lambda y: n(n(y))), "normali"),
    ("8.4", lambda d: packed(d).long(), "must be boolean"),
    ("8.4", lambda d: packed(d)[0], "must have the shape"),
    ("8.4", lambda d: packed(d.flip(-1)), "to itself"),
    ("8.4", lambda d: packed(d).triu(diagonal=-1), "may attend to all of it. That of sentence 2"),
    ("8.4", lambda d: (d[:, :, None] <= d[:, None]).tril() & (d != 0)[:, None], "another sentence"),
    ("8.4", lambda d: packed((d > 0).long() * 1) & (d > 1)[:, None], "itself"),
    ("8.5", reads_the_text_twice, "read, once each"),
    ("8.5", keys_from_the_stream, "read, once each"),
    ("8.5", no_residual_at_the_end, "the stream is unchanged"),
    ("8.5", lambda x, t, i, a, r, f, n: two_sources(x, t, i, a, r, f, lambda y: y), "normalised"),
    (
        "8.5",
        lambda x, t, i, a, r, f, n: two_sources(x, t, i, a, r, f, lambda y: n(y).detach()),
        "Those of `x` are wrong: is a step cut off?",
    ),
    ("8.5", lambda x, t, *rest: two_sources(x, t.data, *rest), "None reaches `text`"),
    ("8.5", lambda x, t, i, a, r, f, n: x, "read, once each"),
    ("8.6", lambda x, s, n: shares(x, s, n).flip(0), "off by"),
    ("8.6", lambda x, s, n: shares(x, s, n)[1:], "must have the shape"),
    ("8.6", lambda x, s, n: shares(x, s, n).abs(), "sum to 1"),
    ("8.6", lambda x, s, n: shares(x, s, n).softmax(0), "has the share 0"),
    ("8.6", shares_of_normalised_streams, "A sub-layer reads the normalised stream, with all"),
    ("8.7", squeezed(sentences), "must have the shape (1, 1)"),
    ("8.7", lambda f, x: sentences_by_changes_of(f, x, (..., -1)), "of one feature of one token"),
    ("8.7", lambda f, x: sentences_by_changes_of(f, x, -1), "of one feature of one token"),
    ("8.7", sentences_seen_from_a_small_step, "A leak that is a jump"),
    ("8.7", lambda f, x: torch.eye(len(x)).bool(), "depends on every one"),
    ("8.7", lambda f, x: torch.ones(len(x), len(x)).bool(), "on itself alone"),
    ("8.7", lambda f, x: ~sentences(f, x), "on itself alone"),
    ("8.7", lambda f, x: sentences(f, x).float(), "must be boolean"),
    ("8.7", lambda f, x: sentences(f, x).any(-1), "must have the shape"),
    ("8.8", lambda g, b, w, c: folded(g, b, w, c)[:-1], "must have the shape"),
    ("8.8", lambda g, b, w, c: folded(g, -b, w, c), "The projection alone does"),
    ("8.8", lambda g, b, w, c: folded(1 + g, b, w, c), "With γ = 1 and β = 0"),
    ("8.8", lambda g, b, w, c: folded(g, b, w, c) * g.mean(), "γ does not"),
    ("8.10", started_alike_but_for_rounding, "entries are wrong"),
    ("8.10", started_like_the_first, "Every layer is like itself"),
    ("8.10", lambda layers: torch.eye(len(layers)).bool(), "A copy is like its original"),
    ("8.10", lambda layers: torch.ones(len(layers), len(layers)).bool(), "were drawn separately"),
    ("8.10", lambda layers: started_alike(layers).int(), "must be boolean"),
    ("8.10", squeezed(started_alike), "must have the shape (1, 1)"),
]

RIGHT = [
    ("8.1", 49984),
    ("8.1", np.int64(49_984)),
    ("8.2", rms),
    ("8.2", rms_of_pytorch),
    ("8.2", rms_token_by_token),
    ("8.3", parallel),
    ("8.3", parallel_by_sum),
    ("8.4", packed),
    ("8.4", packed_by_loops),
    ("8.4", packed_by_products),
    ("8.5", two_sources),
    ("8.5", two_sources_by_a_list),
    ("8.6", shares),
    ("8.6", shares_by_dots),
    ("8.7", sentences),
    ("8.7", sentences_from_one_draw),
    ("8.7", sentences_by_many_draws),
    ("8.8", folded),
    ("8.8", folded_by_probing),
    ("8.10", started_alike),
    ("8.10", started_alike_in_one_vector),
]
