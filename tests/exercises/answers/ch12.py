"""What learners might hand in for the exercises of chapter 12."""

import math

import torch
import torch.nn.functional as F


def repaired(token, note):
    length, words = token.shape
    scores = token @ (60 * note).T / words**0.5
    seen = torch.tril(torch.ones(length, length)) == 1
    weights = F.softmax(torch.where(seen, scores, -math.inf), dim=1)
    return weights @ token


def repaired_word_by_word(token, note):
    rows = []
    for i in range(len(token)):
        scores = note[: i + 1] @ token[i] * 60 / math.sqrt(len(token[i]))
        rows.append((scores.softmax(0)[:, None] * token[: i + 1]).sum(0))
    return torch.stack(rows)


def repaired_by_pytorch(token, note):
    query, key = (60 * token)[None, None], note[None, None]
    found = F.scaled_dot_product_attention(query, key, token[None, None], is_causal=True)
    return found[0, 0]


def copies(embedding, ov, unembedding):
    logits = (embedding @ ov) @ unembedding.T
    less = logits < logits.diag().unsqueeze(1)
    others = ~torch.eye(len(logits), dtype=torch.bool)
    return less[others].float().mean()


def copies_by_loops(embedding, ov, unembedding):
    shares = []
    for i, row in enumerate((embedding @ ov @ unembedding.T).tolist()):
        others = row[:i] + row[i + 1 :]
        shares.append(sum(other < row[i] for other in others) / len(others))
    return sum(shares) / len(shares)


def copies_by_ranks(embedding, ov, unembedding):
    logits = torch.einsum("td,de,ve->tv", embedding, ov, unembedding)
    own = logits.diagonal().contiguous()[:, None]
    place = torch.searchsorted(logits.sort(dim=1).values, own)
    return (place / (len(logits) - 1)).mean().item()


def text(asked, one, other):
    words = [0]
    for word in (one, other):
        words += [asked, word]
    return torch.tensor([*words, asked])


def text_by_places(asked, one, other):
    words = torch.zeros(6, dtype=torch.int32)
    words[1::2], words[2], words[4] = asked, one, other
    return words


def terms(merged, output_weight, stream, scale, row):
    batch, heads, d_k = merged.shape
    reads = F.rms_norm(stream, stream.shape[-1:], scale, 1e-5) / stream * row
    found = torch.zeros(batch, heads).to(merged)
    for h in range(heads):
        found[:, h] = (merged[:, h] @ output_weight[:, h * d_k : (h + 1) * d_k].T * reads).sum(-1)
    return found


def terms_backwards(merged, output_weight, stream, scale, row):
    """From the logit back to the heads."""
    size = torch.sqrt(torch.mean(stream**2, dim=1) + 1e-5)
    reads = ((scale * row) @ output_weight).view(merged.shape[1:])
    return torch.einsum("bhk,hk,b->bh", merged, reads, 1 / size)


def as_in_the_text(layer):
    scores, values = torch.zeros(2, 4, 4), torch.zeros(2, 4, 2)
    scores[0, :, 1], scores[0, 0, 2] = 10, 20
    scores[1, :, 3], scores[1, 0, 0] = 10, 20
    values[:, 1] = torch.tensor([1.0, 0.0])
    values[:, 2] = torch.tensor([0.0, 1.0])
    return layer(scores, values)


def one_exception(layer):
    """One head is always at place 3; the other one outvotes it, unless A is at place 2."""
    scores, values = torch.full((2, 4, 4), -50.0), torch.zeros(2, 4, 2)
    scores[0, :, 1], scores[0, 0, 2], scores[1, :, 3] = 0.0, 50.0, 0.0
    values[0, 1, 0] = values[0, 2, 1] = 3.0
    values[1, 1, 0] = values[1, 2, 1] = 1.0
    return layer(scores, values)


def against(layer):
    """Each head looks at the wrong word, and votes against it."""
    scores, values = torch.zeros(2, 4, 4), torch.zeros(2, 4, 2)
    scores[0, :, 1] = scores[1, :, 3] = 20.0
    scores[0, 0, 0] = scores[1, 0, 2] = 40.0
    values[:, 1, 0] = values[:, 2, 1] = -1.0
    return layer(scores, values)


def one_head_alone(layer):
    """Three texts are right, the most that one head can reach."""
    scores, values = torch.zeros(2, 4, 4), torch.zeros(2, 4, 2)
    scores[0, :, 1], scores[0, 0, 2] = 20.0, 40.0
    values[0, 1, 0] = values[0, 2, 1] = 1.0
    values[0, 0, 0] = 0.5
    return layer(scores, values)


WRONG = [
    ("12.2", lambda token, note: repaired(token, note.flip(-1)), "It continues a repetition."),
    ("12.2", lambda token, note: repaired(token, note) / 2, "The result is not right"),
    ("12.3", lambda *given: copies(*given) / 2, "hands each token on has the share 1"),
    ("12.3", lambda *given: 1.0, "lowers only the token's own logit has the share 0"),
    (
        "12.4",
        lambda asked, one, other: torch.tensor([0, one, asked, other, asked, asked]),
        "a share of one half",
    ),
    ("12.4", lambda *words: text(*words).float(), "must be of an integer type"),
    ("12.5", one_head_alone, "After D B A C, A, B has the logit 0.5, and C has 0."),
    ("12.5", lambda layer: torch.ones(4), "You never run `layer`."),
    ("12.5", lambda layer: layer(torch.zeros(2, 4), torch.zeros(2, 4, 2)), "must have the shape"),
    ("12.7", lambda *given: terms(*given).softmax(dim=1), "their shares sum to the logit"),
    ("12.7", lambda *given: terms(*given).abs(), "their shares sum to the logit"),
    ("12.8", [[0.5, 3.0], [1, 0], [-1, 1], [1, 0]], "It adds 0.500."),
    (
        "12.8",
        [[0.0, 1.5], [1, 0], [-1, 1], [1, 0]],
        "is 1.500 with both heads, and 1.000 without A",
    ),
    ("12.8", [[0.0, 3.0], [0.5, 0], [-1, 1], [1, 0]], "Head B adds at least 1 directly"),
    (
        "12.8",
        [[0.0, 3.0], [1, 0], [-0.5, 1], [1, 0]],
        "is 3.500 with both heads, and 3.000 without B",
    ),
]

RIGHT = [
    ("12.1", 0.943),
    ("12.1", 0.94),
    ("12.1", torch.tensor([5.0] + 9 * [0.0]).softmax(dim=0)[0]),
    ("12.2", repaired),
    ("12.2", repaired_word_by_word),
    ("12.2", repaired_by_pytorch),
    ("12.3", copies),
    ("12.3", copies_by_loops),
    ("12.3", copies_by_ranks),
    ("12.4", text),
    ("12.4", text_by_places),
    ("12.5", as_in_the_text),
    ("12.5", one_exception),
    ("12.5", against),
    ("12.7", terms),
    ("12.7", terms_backwards),
    ("12.8", [[0.0, 5.0], [2, -2], [0, 1], [1, 0]]),
    ("12.8", [[0.0, -4.0], [1, 1], [0, -0.5], [2, 7]]),
    ("12.8", [[0.0, -2.0], [2, 0], [2, 1], [-1, 0]]),
]
