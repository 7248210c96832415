"""What learners might hand in for the exercises of chapter 13."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def pooling(hidden, lengths):
    real = torch.arange(hidden.shape[1])[None, :] < lengths[:, None]
    mean = (hidden * real[:, :, None]).sum(dim=1) / lengths[:, None]
    return mean / mean.norm(dim=1, keepdim=True)


def pooling_text_by_text(hidden, lengths):
    rows = []
    for text, length in zip(hidden, lengths.tolist(), strict=True):
        mean = text[:length].mean(dim=0)
        rows.append(mean / math.sqrt((mean**2).sum()))
    return torch.stack(rows)


def pooling_by_padded_lengths(hidden, lengths):
    """The number that a sum is divided by does not change its direction."""
    padding = torch.arange(lengths.max()) >= lengths.unsqueeze(1)
    return F.normalize(hidden.masked_fill(padding.unsqueeze(2), 0).mean(1))


def pooling_as_a_product(hidden, lengths):
    real = (torch.arange(hidden.size(1)) < lengths[:, None]).to(hidden)
    return F.normalize(torch.einsum("bt,btd->bd", real, hidden), p=2, dim=1)


def found(question, sections, k):
    cosines = F.cosine_similarity(sections, question[None], dim=1)
    weights = F.softmax(20 * cosines, dim=0)
    best = weights.argsort(descending=True)[:k]
    return torch.stack((best, weights[best]))


def found_in_python(question, sections, k):
    cosines = [
        (section @ question / (section.norm() * question.norm())).item() for section in sections
    ]
    total = sum(math.exp(20 * cosine) for cosine in cosines)
    order = sorted(range(len(cosines)), key=lambda i: -cosines[i])[:k]
    return torch.tensor([order, [math.exp(20 * cosines[i]) / total for i in order]])


def found_by_attention(question, sections, k):
    """The question is a query, and the sections are keys."""
    query, keys = question / question.norm(), sections / sections.norm(dim=1, keepdim=True)
    weights = torch.softmax(query @ keys.T / 0.05, -1)
    best = torch.topk(weights, k)
    return torch.vstack([best.indices, best.values])


def each_token_twice(tokens, vector_of):
    return vector_of(tokens.repeat_interleave(2))


def three_copies(tokens, vector_of):
    return vector_of(torch.cat([tokens, tokens.flip(0), tokens]))


def a_list(tokens, vector_of):
    return vector_of(2 * tokens.tolist())


def terms(one, other):
    n, m = len(one), len(other)
    products = torch.einsum("nd,md->nm", one, other) / (n * m)
    return products / one.mean(0).norm() / other.mean(0).norm()


def terms_by_loops(one, other):
    length = torch.linalg.norm(one.sum(0)) * torch.linalg.norm(other.sum(0))
    return torch.stack([torch.stack([(a * b).sum() / length for b in other]) for a in one])


def terms_with_each_text_divided_first(one, other):
    one, other = (text / text.sum(0).pow(2).sum().sqrt() for text in (one, other))
    return one @ other.T


def cosines_with_the_right_sum(one, other):
    pairs = F.normalize(one, dim=1) @ F.normalize(other, dim=1).T
    cosine = F.cosine_similarity(one.mean(0), other.mean(0), dim=0)
    return pairs * cosine / pairs.sum()


def hidden_letters(tokens, chosen, mask, scores_of):
    scores = scores_of(torch.where(chosen, mask, tokens))
    return F.cross_entropy(scores[chosen], tokens[chosen])


def hidden_letters_in_copies(tokens, chosen, mask, scores_of):
    hidden, right = tokens.clone(), tokens.clone()
    hidden.masked_fill_(chosen, mask)
    right[~chosen] = -100
    return F.cross_entropy(scores_of(hidden).transpose(1, 2), right)


def hidden_letters_by_loops(tokens, chosen, mask, scores_of):
    hidden = tokens.clone()
    hidden[chosen] = mask
    log_p = scores_of(hidden).log_softmax(dim=-1)
    places = chosen.nonzero().tolist()
    return -sum(log_p[i, j, tokens[i, j]] for i, j in places) / len(places)


def hides_by_counting(f):
    """How often each letter of many equal texts is hidden, and each pair of letters."""
    tokens = torch.tensor([[5, 7, 9, 0]]).expand(20_000, 4)
    hidden, right = f(tokens)
    if not torch.equal(torch.maximum(hidden, right), tokens):  # one of them has the letter
        return False
    if not torch.equal(hidden == 1, right > 0):
        return False
    at = (hidden == 1).double()
    expected = torch.full((4, 4), 0.15**2).fill_diagonal_(0.15).double()
    expected[-1] = expected[:, -1] = 0
    together = at.mT @ at / len(at)
    return bool((together - expected).abs().max() < 0.02) and not torch.equal(hidden, f(tokens)[0])


def hides_by_numbers(f):
    tokens = np.tile(np.arange(2, 1002), (30, 1))
    tokens[0, 300:] = 0
    (hidden, right), (again, _) = (
        (x.numpy() for x in f(torch.from_numpy(tokens))) for _ in range(2)
    )
    at = hidden != tokens
    return bool(
        (hidden[at] == 1).all()
        and (right[at] == tokens[at]).all()
        and (right[~at] == -100).all()
        and not at[0, 300:].any()
        and 0.13 < at[1:].mean() < 0.17
        and np.abs(at[1:].mean(axis=0) - 0.15).max() < 0.5
        and np.abs(at[1:].mean(axis=1) - 0.15).max() < 0.1
        and len({*at[1:].sum(axis=1)}) > 1
        and (hidden != again).any()
    )


def hides_what_it_asks_for(f):
    """Neither the share nor another call, but texts are compared."""
    tokens = torch.randint(2, 28, (20, 1000))
    tokens[:, 900:] = 0
    hidden, right = f(tokens)
    fits = torch.equal(torch.where(right == -100, hidden, right), tokens)
    fits &= torch.equal(right != -100, hidden == 1)
    return (
        fits and not (hidden[:, 900:] == 1).any() and (hidden == 1)[:2].unique(dim=0).shape[0] > 1
    )


WRONG = [
    ("13.2", lambda hidden, lengths: pooling(hidden.abs(), lengths), "The result is not right"),
    ("13.2", lambda hidden, lengths: hidden.amax(dim=1), "The vectors of padding do not count."),
    ("13.2", lambda *given: pooling(*given).cumsum(dim=0), "The result is not right"),
    ("13.2", lambda *given: pooling(*given).softmax(dim=0), "does not depend on the other texts"),
    ("13.3", lambda q, s, k: found(q, s, k)[1], "must have the shape"),
    ("13.3", lambda q, s, k: tuple(found(q, s, k)), "must return a torch tensor"),
    ("13.3", lambda q, s, k: found(q, s - s.mean(0), k), "The lengths of the vectors"),
    ("13.3", lambda q, s, k: found(q, s[:k], k), "with the same weights, if you ask for more"),
    ("13.4", lambda t, c, m, f: hidden_letters(t, c, m, f) + 1, "is guessed with certainty"),
    (
        "13.4",
        lambda t, c, m, f: hidden_letters(t, c, m, lambda h: f(h) + f(h)[:, :1]),
        "The guesses for visible letters",
    ),
    ("13.4", lambda t, c, m, f: hidden_letters(t, c, m, f).detach(), "flow back to the scores"),
    ("13.4", lambda t, c, m, f: hidden_letters(t, c, m + 1, f), "tokens are numbers from 0 to 7"),
    ("13.4", lambda t, c, m, f: hidden_letters(1.0 * t, c, m, f), "a tensor of whole numbers"),
    ("13.5", hides_what_it_asks_for, "pass, which begins each call with the same seed."),
    ("13.5", lambda f: not hides_by_counting(f), "It accuses B, which is right."),
    ("13.8", [[0.1, 0.05], [3.0, 3.0], [0.8, 0.3]], "The cosines are 0.894, 0.707 and 0.936."),
    ("13.8", [[0.1, 0.0], [0.85, 1.5], [0.8, 0.6]], "products are 0.100, 0.850 and 0.800."),
    ("13.8", [[0.3, 0.0], [3.0, 3.0], [0.8, 0.6]], "distances are 0.700, 3.606 and 0.632."),
    ("13.8", [[0.0, 0.0], [3.0, 3.0], [0.8, 0.6]], "The cosines are 0.000, 0.707 and 0.800."),
    ("13.10", cosines_with_the_right_sum, "twice as long as another's has twice its terms"),
    ("13.10", lambda one, other: terms(one, other).sum(), "must have the shape"),
    ("13.10", lambda one, other: terms(one, other).abs(), "Your terms sum to the cosine"),
    ("13.11", lambda tokens, vector_of: tokens.repeat(2), "must have the shape"),
    ("13.11", lambda tokens, vector_of: torch.ones(6), "You never run `vector_of`."),
    (
        "13.11",
        lambda tokens, vector_of: vector_of([*tokens, 99]),
        "tokens are numbers from 0 to 11",
    ),
    ("13.11", lambda tokens, vector_of: vector_of(tokens[:0]), "a text has 1 to 100 tokens"),
    ("13.11", lambda tokens, vector_of: vector_of(2.0 * tokens), "a tensor of whole numbers"),
    (
        "13.11",
        lambda tokens, vector_of: vector_of(torch.cat([tokens, tokens, tokens[:1]])),
        "Your text has the vector of the given one. The vector of your text",
    ),
]

RIGHT = [
    ("13.1", 0.955),
    ("13.1", torch.tensor([11.0] + 19 * [5.0]).softmax(dim=0)[0]),
    ("13.2", pooling),
    ("13.2", pooling_text_by_text),
    ("13.2", pooling_by_padded_lengths),
    ("13.2", pooling_as_a_product),
    ("13.3", found),
    ("13.3", found_in_python),
    ("13.3", found_by_attention),
    ("13.4", hidden_letters),
    ("13.4", hidden_letters_in_copies),
    ("13.4", hidden_letters_by_loops),
    ("13.5", hides_by_counting),
    ("13.5", hides_by_numbers),
    ("13.8", [[5.0, 0.0], [9.0, 9.0], [0.7, -0.5]]),
    ("13.8", [[0.2, 0.01], [1.5, -2.0], [1.0, 0.5]]),
    ("13.10", terms),
    ("13.10", terms_by_loops),
    ("13.10", terms_with_each_text_divided_first),
    ("13.11", each_token_twice),
    ("13.11", three_copies),
    ("13.11", a_list),
]
