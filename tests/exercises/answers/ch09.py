"""What learners might hand in for the exercises of chapter 9."""

import math
import random

import numpy as np
import torch
import torch.nn.functional as F

from attnbook.data import END, PAD, START


def shifted(targets):
    batch = len(targets)
    reads = torch.cat([torch.full((batch, 1), START), targets], dim=1)
    says = F.pad(targets, (0, 1))
    says[torch.arange(batch), (targets != PAD).sum(dim=1)] = END
    return torch.stack([reads, says])


def shifted_by_loops(targets):
    reads, says = [], []
    for row in targets.tolist():
        words = [token for token in row if token != PAD]
        rest = [PAD] * (len(row) - len(words))
        reads.append([START, *words, *rest])
        says.append([*words, END, *rest])
    return torch.tensor([reads, says])


def shifted_by_where(targets):
    reads = F.pad(targets, (1, 0), value=START)
    says = F.pad(targets, (0, 1))
    return torch.stack([reads, torch.where((says == PAD) & (reads != PAD), END, says)])


def smoothed(logits, target, epsilon):
    return F.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=epsilon
    )


def smoothed_by_loops(logits, target, epsilon):
    losses = []
    for rows, words in zip(logits, target, strict=True):
        for row, word in zip(rows, words, strict=True):
            if word != PAD:
                log_p = row - row.logsumexp(dim=0)
                losses.append((epsilon - 1) * log_p[word] - epsilon * log_p.mean())
    return sum(losses) / len(losses)


def greedy(scores_of, max_length):
    tokens = [START]
    for _ in range(max_length):
        best = scores_of(tokens).argmax().item()
        if best == END:
            break
        tokens.append(best)
    words = tokens[1:]
    return torch.tensor(words + [PAD] * (max_length - len(words)))


def greedy_into_a_tensor(scores_of, max_length):
    result = torch.full((max_length,), PAD)
    for i in range(max_length):
        given = torch.cat([torch.tensor([START]), result[:i]])
        word = scores_of(given).log_softmax(dim=0).argmax()
        if word == END:
            return result
        result[i] = word
    return result


def greedy_by_recursion(scores_of, max_length, said=()):
    if len(said) == max_length:
        return torch.tensor(said)
    scores = scores_of([START, *said]).tolist()
    word = scores.index(max(scores))
    if word == END:
        return F.pad(torch.tensor(said).long(), (0, max_length - len(said)))
    return greedy_by_recursion(scores_of, max_length, (*said, word))


def greedy_masked_afterwards(scores_of, max_length):
    """As a batch would do it: on to the end, then everything from END on becomes padding."""
    tokens = [START]
    for _ in range(max_length):
        tokens.append(int(scores_of(tokens).argmax()))
    words = torch.tensor(tokens[1:])
    return words.masked_fill((words == END).cumsum(dim=0) > 0, PAD)


def extend(scores, log_probs):
    beam, V = log_probs.shape[1:]
    total = (scores[:, :, None] + log_probs).view(-1, beam * V)
    best, place = total.topk(beam, dim=1)
    rows = place.div(V, rounding_mode="floor")
    return torch.stack([best, rows, place.remainder(V)])


def extend_by_sorting(scores, log_probs):
    batch, beam, V = log_probs.shape
    result = torch.zeros(3, batch, beam)
    for b in range(batch):
        continuations = [
            ((scores[b, r] + log_probs[b, r, w]).item(), r, w)
            for r in range(beam)
            for w in range(V)
        ]
        best = sorted(continuations, reverse=True)[:beam]
        result[:, b] = torch.tensor(best).T
    return result


def extend_in_two_rounds(scores, log_probs):
    """The best of each row first: more than `beam` of one row never survive."""
    beam = scores.shape[1]
    of_row, words = log_probs.topk(beam, dim=-1)
    total = (scores[..., None] + of_row).flatten(start_dim=1)
    best, place = total.sort(dim=1, descending=True)
    place = place[:, :beam]
    token = words.flatten(start_dim=1).gather(1, place)
    return torch.stack([best[:, :beam], place // beam, token])


def extend_by_unravelling(scores, log_probs):
    total = scores.unsqueeze(2) + log_probs
    best, place = total.flatten(1).topk(scores.shape[1])
    rows, tokens = torch.unravel_index(place, total.shape[1:])
    return torch.stack([best, rows.float(), tokens.float()])


def precision_by_reference(f):
    """A second implementation, on random words."""
    drawn = random.Random(0)
    for _ in range(100):
        n, pair = drawn.randint(1, 3), [drawn.choices("abc", k=drawn.randint(0, 9)) for _ in "cr"]
        found, left = ([x[i : i + n] for i in range(len(x) - n + 1)] for x in pair)
        count, right = len(found), 0
        for gram in found:
            if gram in left:
                left.remove(gram)
                right += 1
        if not math.isclose(f(*pair, n), right / max(1, count), abs_tol=1e-9):
            return False
    return True


def precision_by_properties(f):
    """Of itself, with a word in front, read backwards, of one word, another middle, too short."""
    a, b, c = words = "a", "b", "c"
    return bool(
        np.allclose(
            [
                f([*words, a, b], [*words, a, b], 2),
                f([c, a, b, c], [*words, a, c, c, c], 2),
                f([c, b, a], [*words], 2),
                f([a] * 9, [b, a, b, a], 1),
                f([a, b, c], [a, a, c], 3),
                f([a, b], [a, b], 3),
            ],
            [1, 1, 0, 2 / 9, 0, 0],
        )
    )


def precision_of_itself_and_of_the_same_word(f):
    itself = ["the", "cat", "and", "the", "cat"]
    return f(itself, itself, 2) > 0.99 and abs(f(["a"] * 9, [*"babac"], 1) - 2 / 9) < 1e-6


def network(parameters, x):
    hidden = (x @ parameters["W_1"] + parameters["b_1"]).relu()
    return hidden @ parameters["W_2"] + parameters["b_2"]


def averaged(checkpoints, x):
    mean = {
        name: torch.stack([c[name] for c in checkpoints]).mean(dim=0) for name in checkpoints[0]
    }
    return network(mean, x)


def averaged_by_adding(checkpoints, x):
    total = {}
    for checkpoint in checkpoints:
        for name, tensor in checkpoint.items():
            total[name] = total.get(name, 0) + tensor
    return network({n: t / len(checkpoints) for n, t in total.items()}, x)


def averaged_while_reading(checkpoints, x):
    mean = {name: tensor.clone() for name, tensor in checkpoints[0].items()}
    for k, checkpoint in enumerate(checkpoints[1:], start=2):
        for name in mean:
            mean[name] += (checkpoint[name] - mean[name]) / k
    return network(mean, x)


def averaged_in_one_vector(checkpoints, x):
    names = list(checkpoints[0])
    rows = [torch.cat([c[n].flatten() for n in names]) for c in checkpoints]
    mean, found, first = torch.stack(rows).mean(dim=0), {}, 0
    for name in names:
        tensor = checkpoints[0][name]
        piece = mean[first : first + tensor.numel()]
        found[name] = piece.view(tensor.shape)
        first += tensor.numel()
    return network(found, x)


def translation_loss(scores, targets):
    says = shifted_by_where(targets)[1]
    return F.cross_entropy(scores.flatten(0, 1), says.flatten(), ignore_index=PAD)


def translation_loss_by_loops(scores, targets):
    losses = []
    for row, words in zip(scores.log_softmax(dim=-1), targets.tolist(), strict=True):
        says = [*(word for word in words if word != PAD), END]
        losses += [-row[place, word] for place, word in enumerate(says)]
    return torch.stack(losses).mean()


def translation_loss_by_scatter(scores, targets):
    says = F.pad(targets, (0, 1), value=PAD)
    length = (targets != PAD).sum(dim=1, keepdim=True)
    return F.cross_entropy(scores.mT, says.scatter(1, length, END), ignore_index=PAD)


WRONG = [
    ("9.2", lambda t: shifted(t) * 0, "it must be predicted 0 times"),
    ("9.2", lambda t: shifted(t).flip(-1), "A word that must be predicted at one"),
    ("9.2", lambda t: shifted(t).float(), "of an integer type"),
    ("9.3", [[0.4, 0.35, 0.25], [0.3] * 3, [0.52, 0.24, 0.24], [1.0, 0, 0]], "Row 1 sums to 0.9"),
    (
        "9.3",
        [[0.4, 0.35, 0.25], [0.34, 0.33, 0.33], [0.52, 0.24, 0.24], [1.2, -0.2, 0]],
        "One number",
    ),
    ("9.3", [[0.345, 0.34, 0.315], [0.34, 0.33, 0.33], [0.5, 0.25, 0.25], [1, 0, 0]], "by 0.005."),
    (
        "9.3",
        [[0.4, 0.35, 0.25], [0.4, 0.3, 0.3], [0.5, 0.25, 0.25], [1, 0, 0]],
        "finds AA with 0.160",
    ),
    ("9.3", [[0.4, 0.35, 0.25], [0.34, 0.33, 0.33], [0.6, 0.2, 0.2], [1, 0, 0]], "BA with 0.210"),
    ("9.4", lambda f, m: greedy(lambda t: f(t[1:] or t), m), "Every word is the one with the"),
    ("9.4", lambda f, m: greedy(lambda t: f(t[1:] or t), m), "always begin with START"),
    ("9.4", lambda *given: greedy(*given).double(), "of an integer type"),
    ("9.5", lambda s, t: translation_loss(s, t) * len(t), "The loss of a batch is the mean"),
    ("9.5", lambda s, t: F.cross_entropy(s.mT, shifted(t)[1]), "The scores after the end"),
    ("9.5", lambda s, t: translation_loss(s.detach(), t), "Gradients flow back"),
    ("9.7", lambda g, t, e: smoothed(g[:, :1], t[:, :1], e), "Every word counts the same, in"),
    ("9.7", lambda g, t, e: smoothed(g.detach(), t, e), "Gradients flow back"),
    ("9.8", lambda c, x: averaged(c, x).relu(), "Where the mean of b_1 sets all hidden"),
    ("9.8", lambda c, x: averaged(c, x).relu(), "With a single checkpoint, the result"),
    ("9.9", lambda s, p: extend(s, p)[..., :1].expand(-1, -1, s.shape[1]), "No continuation is"),
    ("9.9", lambda s, p: extend(s, p) + 1, "Every new score is the score of its row"),
    (
        "9.10",
        precision_of_itself_and_of_the_same_word,
        "pass, which ignores the order of the words",
    ),
    ("9.10", lambda f: f(["a"], ["a"], 1) == 0, "It accuses B, which is right."),
]

RIGHT = [
    ("9.1", 82),
    ("9.1", 81.8),
    ("9.1", 100 * np.exp(20 * np.log(0.99))),
    ("9.2", shifted),
    ("9.2", shifted_by_loops),
    ("9.2", shifted_by_where),
    ("9.3", [[0.25, 0.35, 0.4], [0, 0, 1], [0.3, 0.53, 0.17], [0.33, 0.33, 0.34]]),
    ("9.3", [[0.38, 0.34, 0.28], [0.34, 0.33, 0.33], [0.2, 0.54, 0.26], [0.02, 0, 0.98]]),
    ("9.4", greedy),
    ("9.4", greedy_into_a_tensor),
    ("9.4", greedy_by_recursion),
    ("9.4", greedy_masked_afterwards),
    ("9.5", translation_loss),
    ("9.5", translation_loss_by_loops),
    ("9.5", translation_loss_by_scatter),
    ("9.7", smoothed),
    ("9.7", smoothed_by_loops),
    ("9.8", averaged),
    ("9.8", averaged_by_adding),
    ("9.8", averaged_while_reading),
    ("9.8", averaged_in_one_vector),
    ("9.9", extend),
    ("9.9", extend_by_sorting),
    ("9.9", extend_in_two_rounds),
    ("9.9", extend_by_unravelling),
    ("9.10", precision_by_reference),
    ("9.10", precision_by_properties),
    ("9.11", 360),
    ("9.11", 40 * (14.5 / 5) ** 2),
]
