"""What learners might hand in for the exercises of chapter 8."""

import numpy as np
import torch
import torch.nn.functional as F


def rms(x, gamma, epsilon):
    return gamma * x * (x.square().mean(-1, keepdim=True) + epsilon).rsqrt()


def rms_of_pytorch(x, gamma, epsilon):
    return F.rms_norm(x, x.shape[-1:], weight=gamma, eps=epsilon)


def rms_token_by_token(x, gamma, epsilon):
    rows = [
        gamma * row / torch.sqrt(row @ row / len(row) + epsilon)
        for row in x.reshape(-1, x.shape[-1])
    ]
    return torch.stack(rows).reshape(x.shape)


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


def shares(x, sublayers, norm):
    streams = [x]
    for sublayer in sublayers:
        streams.append(streams[-1] + sublayer(norm(streams[-1])))
    streams = torch.stack(streams)
    parts = torch.cat([x[None], streams.diff(dim=0)])
    final = streams[-1]
    return torch.einsum("nbld,bld->nbl", parts, final) / final.norm(dim=-1) ** 2


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


def folded(gamma, beta, weight, bias):
    return torch.vstack([torch.diag(gamma) @ weight, beta @ weight + bias])


def folded_by_probing(gamma, beta, weight, bias):
    def old(z):
        return (gamma * z + beta) @ weight + bias

    zero = old(torch.zeros_like(gamma))
    return torch.cat([old(torch.eye(len(gamma))) - zero, zero[None]])


def stack_of_own_layers(f):
    """PyTorch's count by hand, matrices compared by their sums, and gradients."""
    d, n = 5, 4
    stack = f(n, d)
    if sum(p.numel() for p in stack.parameters()) != n * (d * d + 3 * d):
        return False
    sums = {p.sum().item() for p in stack.parameters() if p.dim() == 2}
    stack(torch.randn(d)).square().sum().backward()
    return len(sums) == n and not any(p.grad is None for p in stack.parameters())


def stack_by_its_effects(f):
    """Changing any parameter changes the output, and so many numbers are of each kind."""
    stack, x = f(3, 4), torch.randn(2, 4)
    matrices = sum(p.numel() for p in stack.parameters() if p.ndim > 1)
    if matrices != 3 * 16 or sum(p.numel() for p in stack.parameters()) != 3 * (16 + 3 * 4):
        return False
    before = stack(x)
    with torch.no_grad():
        for p in stack.parameters():
            change = torch.linspace(1, 2, p.shape[-1])
            p += change
            if torch.allclose(stack(x), before):
                return False
            p -= change
    first, second, third = (p for p in f(3, 4).parameters() if p.ndim > 1)
    return not any(map(torch.allclose, (first, second, third), (second, third, first)))


def stack_with_own_numbers(f):
    """All matrices are there and differ, but the rest is not looked at."""
    matrices = {p.sum().item() for p in f(3, 4).parameters() if p.ndim == 2}
    return len(matrices) == 3


def rms_with_a_lost_axis(x, gamma, epsilon):
    return gamma * x / (x.square().mean(-1).squeeze()[..., None] + epsilon).sqrt()


def leaks_by_sums(f, x):
    before, columns = f(x).sum((1, 2)), []
    for j in range(len(x)):
        other = x.clone()
        other[j] = torch.randn_like(x[j])
        columns.append((f(other).sum((1, 2)) - before).abs() > 1e-4)
    return torch.stack(columns, -1)


def pre_norm_block(x, attend, feed, norm):
    for part in (attend, feed):
        x = x + part(norm(x))
    return x


def pre_norm_block_by_updates(x, attend, feed, norm):
    found = attend(norm(x))
    return x + found + feed(norm(x + found))


def pre_norm_block_by_a_list(x, attend, feed, norm):
    contents = [x, attend(norm(x))]
    contents.append(feed(norm(torch.stack(contents).sum(dim=0))))
    return torch.stack(contents).sum(dim=0)


WRONG = [
    ("8.2", lambda x, g, e: rms(x.detach(), g, e), "None reaches `x`"),
    ("8.2", lambda x, g, e: x * g, "the size of a token makes no difference"),
    ("8.2", rms_with_a_lost_axis, "Does an earlier step `squeeze`?"),
    ("8.3", lambda d: packed(d.flip(-1)), "No token may attend to padding, and"),
    ("8.3", lambda d: packed(d % 2 + (d > 0)), "No token may attend to another"),
    ("8.4", lambda x, t, *rest: two_sources(x, t.data, *rest), "None reaches `text`"),
    ("8.4", lambda x, t, i, a, r, f, n: x, "Each source is read once, as it is"),
    ("8.4", lambda x, t, i, a, r, f, n: x, "The result of each sub-layer is added"),
    ("8.5", lambda x, *parts: 2 * pre_norm_block(x, *parts), "If both sub-layers return zeros"),
    ("8.5", lambda x, a, f, n: x + 2 * a(n(x)), "The update of each sub-layer is added"),
    ("8.5", lambda x, a, f, n: pre_norm_block(x.detach(), a, f, n), "The result is cut off"),
    ("8.7", lambda x, s, n: shares(x, s, n).abs(), "sum to 1"),
    ("8.7", lambda x, s, n: shares(n(x), s, n), "A sub-layer reads the normalised stream"),
    ("8.9", stack_with_own_numbers, "pass, which shares one norm among all layers."),
    ("8.9", lambda f: len(f(2, 4)) == 2, "It accuses F, which is right."),
    ("8.12", [[1.0, 0, -1], [-1, 0, 1], [0, 0.3, 0]], "For (1, -1), the last feature is"),
    ("8.12", [[-1.0, 0, 1], [1, 0, -1], [0, 0.3, 0]], "For (-1, 1), the last feature is"),
    ("8.12", [[1.0, 0, 0], [0, 1, 0], [0, 0, 1]], "but for (-1, -1) it is 1.41"),
    ("8.13", lambda g, b, w, c: folded(g, -b, w, c), "The new projection alone gives"),
    ("8.13", lambda g, b, w, c: folded(1 + g, b, w, c), "With γ = 1 and β = 0"),
    ("8.14", lambda f, x: ~sentences(f, x), "A leak of one feature of one token"),
    ("8.14", lambda f, x: ~sentences(f, x), "A leak that is a jump, and has no"),
    ("8.14", leaks_by_sums, "entries are wrong"),
]

RIGHT = [
    ("8.1", 49984),
    ("8.1", np.int64(49_984)),
    ("8.2", rms),
    ("8.2", rms_of_pytorch),
    ("8.2", rms_token_by_token),
    ("8.3", packed),
    ("8.3", packed_by_loops),
    ("8.3", packed_by_products),
    ("8.4", two_sources),
    ("8.4", two_sources_by_a_list),
    ("8.5", pre_norm_block),
    ("8.5", pre_norm_block_by_updates),
    ("8.5", pre_norm_block_by_a_list),
    ("8.7", shares),
    ("8.7", shares_by_dots),
    ("8.9", stack_of_own_layers),
    ("8.9", stack_by_its_effects),
    ("8.11", 0.14),
    ("8.11", torch.tensor(1 / 7)),
    ("8.12", [[3.0, -3.0, 0.0], [3.0, -3.0, 0.0], [0.0, -1.0, 1.0]]),
    ("8.12", [[-4, 5, 1], [-4, 5, 1], [6, 6, 9]]),
    ("8.13", folded),
    ("8.13", folded_by_probing),
    ("8.14", sentences),
    ("8.14", sentences_from_one_draw),
    ("8.14", sentences_by_many_draws),
]
