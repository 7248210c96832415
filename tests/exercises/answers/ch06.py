"""What learners might hand in for the exercises of chapter 6."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from attnbook import positions as book


def encode(positions, d):
    angle = positions[..., None] / 10000 ** (torch.arange(0, d, 2) / d)
    pairs = torch.stack([angle.sin(), angle.cos()], dim=-1)
    return pairs.flatten(start_dim=-2)[..., :d]


def is_encoding_like_the_book(f):
    """The book's function knows whole positions; a sine and a cosine tell the rest."""
    whole = torch.tensor([[30, 4], [17, 0]])
    table = book.sinusoidal_positions(31, 8)
    half = f(torch.tensor([-0.5]), 8)[0]
    doubled = torch.stack([-2 * half[0::2] * half[1::2], 1 - 2 * half[0::2] ** 2], dim=-1)
    return torch.allclose(f(whole, 8), table[whole], atol=1e-5) and torch.allclose(
        doubled.flatten(), table[1], atol=1e-5
    )


def is_encoding_feature_by_feature(f):
    d, waves = 6, [math.cos, math.sin]
    for p, first in ((-7.25, 1.0), (-7, 1)):
        expected = [waves[j % 2 == 0](p / 10000 ** ((j - j % 2) / d)) for j in range(d)]
        found = f(torch.tensor([[first, p], [p, first]]), d)
        if not np.allclose(torch.stack([found[0, 1], found[1, 0]]), [expected] * 2, atol=1e-4):
            return False
    return True


def counted(is_token):
    return (is_token.long().cumsum(dim=-1) - 1).clamp(min=0) * is_token


def counted_by_loops(is_token):
    result = torch.zeros(is_token.shape, dtype=torch.long)
    for b, row in enumerate(is_token.tolist()):
        seen = 0
        for i, word in enumerate(row):
            if word:
                result[b, i] = seen
                seen += 1
    return result


def counted_by_matrix(is_token):
    length = is_token.shape[-1]
    earlier = torch.ones(length, length).triu(diagonal=1)
    before = is_token.float() @ earlier
    return torch.where(is_token, before, 0.0).long()


def similarity(distances, d):
    omega = 10000 ** (-torch.arange(0, d, 2) / d)
    return torch.cos(distances[..., None] * omega).mean(dim=-1)


def similarity_by_loop(distances, d):
    total = 0
    for i in range(d // 2):
        total = total + torch.cos(distances / 10000 ** (2 * i / d))
    return 2 * total / d


def similarity_through_vectors(distances, d):
    zero = encode(torch.zeros(1), d)
    return F.cosine_similarity(encode(distances, d), zero, dim=-1)


def nearest(vectors, first, length):
    table = book.sinusoidal_positions(length, vectors.shape[-1], start=first)
    return first + (vectors @ table.mT).argmax(dim=-1)


def nearest_by_distance(vectors, first, length):
    table = book.sinusoidal_positions(first + length, vectors.shape[-1])[first:]
    return (vectors[..., None, :] - table).norm(dim=-1).argmin(dim=-1) + first


def nearest_by_cosine(vectors, first, length):
    positions = torch.arange(first, first + length)
    table = book.sinusoidal_positions(length, vectors.shape[-1], start=first)
    cosine = F.cosine_similarity(vectors[..., None, :], table, dim=-1)
    return positions[cosine.argmax(-1)]


def rotate_halves(x, start, base):
    length, d = x.shape[-2:]
    angle = torch.arange(start, start + length)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    a, b = x.chunk(2, dim=-1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def rotate_by_rotate_half(x, start, base):
    length, d = x.shape[-2:]
    omega = base ** (-torch.arange(0, d, 2) / d)
    angle = (start + torch.arange(length))[:, None] * torch.cat([omega, omega])
    a, b = x.chunk(2, dim=-1)
    return x * angle.cos() + torch.cat([-b, a], dim=-1) * angle.sin()


def rotate_by_reordering(x, start, base):
    a, b = x.chunk(2, dim=-1)
    neighbours = torch.stack([a, b], dim=-1).flatten(start_dim=-2)
    rotated = book.rotary(neighbours, start=start, base=float(base)).unflatten(-1, (-1, 2))
    return torch.cat(rotated.unbind(dim=-1), dim=-1)


def rotate_by_complex_numbers(x, start, base):
    length, d = x.shape[-2:]
    angle = torch.arange(start, start + length)[:, None] * base ** (-torch.arange(0, d, 2) / d)
    rotated = torch.complex(*x.chunk(2, dim=-1)) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([rotated.real, rotated.imag], dim=-1)


def alibi(scores, slopes):
    L_query, L_key = scores.shape[-2:]
    key = torch.arange(L_key)
    distance = key[L_key - L_query :, None] - key
    scores = scores - slopes[:, None, None] * distance
    return scores.masked_fill(distance < 0, -math.inf).softmax(dim=-1)


def alibi_with_a_fill(scores, slopes, *, fill):
    L_query, L_key = scores.shape[-2:]
    key = torch.arange(L_key)
    distance = key[L_key - L_query :, None] - key
    scores = scores - slopes[:, None, None] * distance
    return scores.masked_fill(distance < 0, fill).softmax(dim=-1)


def alibi_without_a_maximum(scores, slopes):
    """Exponentials as they are: of large scores they are 0 or infinite."""
    L_query, L_key = scores.shape[-2:]
    key = torch.arange(L_key)
    distance = key[L_key - L_query :, None] - key
    parts = (scores - slopes[:, None, None] * distance).exp() * (distance >= 0)
    return parts / parts.sum(dim=-1, keepdim=True)


def alibi_as_published(scores, slopes):
    """A bias by the key's place alone: softmax ignores what a row shares."""
    L_query, L_key = scores.shape[-2:]
    biased = scores + slopes[:, None, None] * torch.arange(L_key)
    seen = torch.ones(L_query, L_key).tril(diagonal=L_key - L_query)
    return biased.masked_fill(seen == 0, -math.inf).softmax(dim=-1)


def alibi_by_loops(scores, slopes):
    weights = torch.zeros_like(scores)
    _, heads, L_query, L_key = scores.shape
    for h in range(heads):
        for i in range(L_query):
            place = L_key - L_query + i
            distance = place - torch.arange(place + 1)
            row = scores[:, h, i, : place + 1] - slopes[h] * distance
            weights[:, h, i, : place + 1] = F.softmax(row, dim=-1)
    return weights


def stretched(d, base, factor, trained_length):
    omega = base ** (-torch.arange(0, d, 2) / d)
    turns = trained_length * omega / (2 * math.pi)
    share = ((turns - 1) / 3).clamp(0, 1)
    return share * omega + (1 - share) * omega / factor


def stretched_by_loops(d, base, factor, trained_length):
    result = []
    for i in range(d // 2):
        omega = base ** (-2 * i / d)
        turns = trained_length / (2 * math.pi / omega)  # by the wavelength
        if turns >= 4:
            result.append(omega)
        elif turns <= 1:
            result.append(omega / factor)
        else:
            share = (turns - 1) / (4 - 1)
            result.append(share * omega + (1 - share) * omega / factor)
    return torch.tensor(result)


def stretched_by_interpolating(d, base, factor, trained_length):
    omega = np.exp(-math.log(base) * np.arange(0, d, 2) / d)
    turns = trained_length * omega / (2 * math.pi)
    times = 1 / factor + (1 - 1 / factor) * np.interp(turns, [1, 4], [0, 1])
    return torch.from_numpy(omega * times)


def with_positions(x):
    _, length, d = x.shape
    position, pair = torch.meshgrid(torch.arange(length), torch.arange(d // 2), indexing="ij")
    angle = position * 10000 ** (-2 * pair / d)
    result = x * d**0.5
    result[..., 0::2] += angle.sin()
    result[..., 1::2] += angle.cos()
    return result


def with_positions_by_loop(x):
    rows = []
    for p in range(x.shape[-2]):
        angles = [p / 10000 ** (i / x.shape[-1]) for i in range(0, x.shape[-1], 2)]
        row = [wave(angle) for angle in angles for wave in (math.sin, math.cos)]
        rows.append(math.sqrt(x.shape[-1]) * x[:, p] + torch.tensor(row))
    return torch.stack(rows, dim=1)


def with_positions_for_all(x):
    position = torch.arange(x.shape[1])[None, :, None].expand(len(x), -1, 1)
    even = torch.arange(0, x.shape[-1], 2)
    angle = position / 10000 ** (even / x.shape[-1])
    waves = torch.stack([angle.sin(), angle.cos()], dim=-1)
    return math.sqrt(x.shape[-1]) * x + waves.flatten(start_dim=-2)


WRONG = [
    ("6.2", lambda f: not f(torch.zeros(2), 4)[:, ::2].any(), "It lets D pass, which doubles the"),
    ("6.2", lambda f: is_encoding_feature_by_feature(lambda p, d: -f(p, d)), "It accuses B, which"),
    ("6.3", lambda k, d: similarity(k, d).abs(), "positions 50 and 50 + k"),
    ("6.3", lambda k, d: 1 - similarity(k, d), "The similarity is 1 at distance 0"),
    ("6.4", lambda x, s, b: rotate_halves(x.detach(), s, b), "Gradients flow back"),
    ("6.4", lambda *a: rotate_halves(*a).flip(-1), "Feature i is mixed with feature i +"),
    ("6.5", lambda x: with_positions(x) + torch.arange(len(x))[:, None, None], "Each text of the"),
    ("6.5", lambda x: with_positions(x).flip(-1), "What is added to the first feature"),
    ("6.5", lambda x: with_positions(x.detach()), "The result is cut off"),
    ("6.7", lambda s, m: alibi_with_a_fill(s, m, fill=-20.0), "get a weight of exactly 0"),
    ("6.7", lambda s, m: alibi_with_a_fill(s, m, fill=-500.0), "get a weight of exactly 0"),
    ("6.7", alibi_without_a_maximum, "the result contains NaN"),
    ("6.7", lambda s, m: alibi(s.detach(), m), "None reaches `scores`"),
    ("6.7", lambda s, m: alibi(s, m * 0), "If two keys have equal scores"),
    ("6.10", lambda *given: nearest(*given).float(), "of an integer type"),
    ("6.10", lambda v, p, n: nearest(v, p, n) // 2 * 2, "without noise"),
    ("6.10", lambda v, p, n: nearest(v.round(), p, n), "A vector twice as long has the same"),
    (
        "6.11",
        [[4.0, 0, 0, 0], [0, 4, 0, 0], [-2.9, 0, 1, 0], [0, -2.9, 0, 1]],
        "their distance is 0.113",
    ),
    ("6.11", [[0.4, 0, 0, 0], [0, 0.4, 0, 0], [-0.3, 0, 1, 0], [0, -0.3, 0, 1]], "are 0.096 apart"),
    (
        "6.11",
        [[4.0, 0, 0, 0], [0, 4, 0, 0], [-3, 0, 3, 0], [0, -3, 0, 3]],
        "0 and 15 are 0.450 apart",
    ),
    (
        "6.11",
        [[4.0, 0, 0, 0], [0, 4, 0, 0], [-3, 0, 0.5, 0], [0, -3, 0, 0.5]],
        "dog at place 15 are",
    ),
    ("6.13", lambda t: counted(t).float(), "of an integer type"),
    ("6.13", lambda t: counted(t).flip(-1), "More padding on the left changes"),
    ("6.13", lambda t: counted(t) * 2, "have the positions 0, 1, 2"),
    ("6.14", lambda d, b, f, n: stretched(d, b, f, n) * f / 2, "A factor of 1 changes"),
    ("6.14", lambda d, b, f, n: stretched(d, b, f, n / 2), "A pair that makes four turns"),
    ("6.14", lambda d, b, f, n: stretched(d, b, f, n).flip(0), "A factor of 1 changes"),
]

RIGHT = [
    ("6.1", 19869),
    ("6.1", 2 * math.pi * 10000 ** (14 / 16)),
    ("6.1", np.float64(19869.18)),
    ("6.2", is_encoding_like_the_book),
    ("6.2", is_encoding_feature_by_feature),
    ("6.3", similarity),
    ("6.3", similarity_by_loop),
    ("6.3", similarity_through_vectors),
    ("6.4", rotate_halves),
    ("6.4", rotate_by_rotate_half),
    ("6.4", rotate_by_reordering),
    ("6.4", rotate_by_complex_numbers),
    ("6.5", with_positions),
    ("6.5", with_positions_by_loop),
    ("6.5", with_positions_for_all),
    ("6.7", alibi),
    ("6.7", alibi_as_published),
    ("6.7", alibi_by_loops),
    ("6.10", nearest),
    ("6.10", nearest_by_distance),
    ("6.10", nearest_by_cosine),
    ("6.11", [[4.0, 4, 0, 0], [4, -4, 0, 0], [-3, -3, 0, 0], [-3, 3, 0, 2]]),
    ("6.11", [[0.8, 0, 0.03, 0], [0, 0.8, 0, 0], [-0.6, 0, 1.2, 0.7], [0, -0.6, -0.7, 1.2]]),
    ("6.12", 80),
    ("6.12", torch.tensor(76)),
    ("6.12", 95.0),
    ("6.13", counted),
    ("6.13", counted_by_loops),
    ("6.13", counted_by_matrix),
    ("6.14", stretched),
    ("6.14", stretched_by_loops),
    ("6.14", stretched_by_interpolating),
]
