"""What learners might hand in for the exercises of chapter 9."""

from collections import Counter

import numpy as np
import torch
import torch.nn.functional as F

from attnbook.data import END, PAD, START

from .slips import squeezed


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


def shifted_and_ended_once_for_all(targets):
    reads, says = shifted(targets)
    says = says.clone()
    says[1:][says[1:] == END] = PAD
    return torch.stack([reads, says])


def shifted_with_the_words_reversed(targets):
    words = targets.flip(1)
    return torch.stack([F.pad(words, (1, 0), value=START), shifted(targets)[1]])


def shifted_by_two(targets):
    reads, says = shifted(targets)
    return torch.stack([reads.roll(1, 1).index_fill(1, torch.tensor(0), START), says])


def smoothed(logits, target, epsilon):
    return F.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=epsilon
    )


def smoothed_by_probabilities(logits, target, epsilon):
    V = logits.shape[-1]
    wanted = (1 - epsilon) * F.one_hot(target, V) + epsilon / V
    loss = -(wanted * logits.softmax(dim=-1).log()).sum(dim=-1)
    is_word = target != PAD
    return (loss * is_word).sum() / is_word.sum()


def smoothed_by_loops(logits, target, epsilon):
    losses = []
    for rows, words in zip(logits, target, strict=True):
        for row, word in zip(rows, words, strict=True):
            if word != PAD:
                log_p = row - row.logsumexp(dim=0)
                losses.append((epsilon - 1) * log_p[word] - epsilon * log_p.mean())
    return sum(losses) / len(losses)


def smoothed_by_a_cut_mean(logits, target, epsilon):
    mean = logits.log_softmax(dim=-1).mean(dim=-1)[target != PAD].mean()
    return (1 - epsilon) * smoothed(logits, target, 0.0) - epsilon * mean.detach()


def smoothed_as_a_number(logits, target, epsilon):
    return smoothed(logits, target, epsilon).item()


def smoothed_in_bits(logits, target, epsilon):
    return smoothed(logits, target, epsilon) / np.log(2)


def smoothed_without_the_last_column(logits, target, epsilon):
    return smoothed(logits[:, :1], target[:, :1], epsilon)


def smoothed_by_entropy(logits, target, epsilon):
    log_p = logits.log_softmax(dim=-1)
    entropy = -(log_p.exp() * log_p).sum(dim=-1)[target != PAD].mean()
    return (1 - epsilon) * smoothed(logits, target, 0.0) + epsilon * entropy


def smoothed_with_unnormalised_targets(logits, target, epsilon):
    of_target = logits.gather(-1, target[..., None])[..., 0]
    return smoothed(logits, target, epsilon) - of_target[target != PAD].mean() / 10


def rate(step, peak, warmup):
    return peak * torch.minimum(step / warmup, (warmup / step).sqrt())


def rate_by_where(step, peak, warmup):
    step = step.double()
    falling = peak * warmup**0.5 * step**-0.5
    return torch.where(step <= warmup, peak * step / warmup, falling)


def rate_by_the_paper(step, peak, warmup):
    both = torch.minimum(step**-0.5, step * warmup**-1.5)
    return both * peak * warmup**0.5


def rate_by_loop(step, peak, warmup):
    rates = [peak * min(s / warmup, (warmup / s) ** 0.5) for s in step.flatten().tolist()]
    return torch.tensor(rates).view(step.shape)


def rate_by_cosine(step, peak, warmup):
    up = step / warmup
    down = 0.5 + 0.5 * torch.cos((step - warmup) / (5 * warmup) * torch.pi)
    return peak * torch.where(step <= warmup, up, down)


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


def greedy_from_the_second_best(scores_of, max_length):
    return greedy(
        lambda tokens: scores_of(tokens).index_fill(0, scores_of(tokens).argmax(), -99.0),
        max_length,
    )


def greedy_after_two_starts(scores_of, max_length):
    return greedy(lambda tokens: scores_of([START, *tokens]), max_length)


def greedy_padded_in_front(scores_of, max_length):
    words = greedy(scores_of, max_length)
    return words.roll(int((words == PAD).sum()))


def greedy_with_end_as_padding(scores_of, max_length):
    words = greedy(scores_of, max_length)
    return words.masked_fill(words == PAD, END)


def greedy_until_a_word_repeats(scores_of, max_length):
    words = greedy(scores_of, max_length).tolist()
    kept = [w for i, w in enumerate(words) if w not in words[:i]]
    return torch.tensor(kept + [PAD] * (max_length - len(kept)))


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


def extend_with_one_winner(scores, log_probs):
    return extend(scores, log_probs)[..., :1].expand(-1, -1, scores.shape[1])


def extend_counting_from_one(scores, log_probs):
    result = extend(scores, log_probs)
    return result + torch.tensor([0.0, 1.0, 1.0])[:, None, None]


def extend_across_the_batch(scores, log_probs):
    shape = 1, -1, log_probs.shape[-1]
    best, rows, tokens = extend(scores.view(1, -1), log_probs.reshape(shape)).view(3, *scores.shape)
    return torch.stack([best, rows % scores.shape[1], tokens])


def extend_without_the_new(scores, log_probs):
    _, rows, tokens = extend(scores, log_probs)
    return torch.stack([scores.gather(1, rows.long()), rows, tokens])


def extend_best_first_rows(scores, log_probs):
    """Greedy within the beam: token j goes to row j."""
    _, rows, tokens = extend(scores, log_probs)
    place = torch.arange(scores.shape[1]).expand_as(rows)
    total = scores + log_probs.gather(2, tokens.long()[..., None])[..., 0]
    return torch.stack([total, place, tokens])


def precision(candidate, reference, n):
    def grams(words):
        return Counter(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))

    found, wanted = grams(candidate), grams(reference)
    right = sum(min(count, wanted[gram]) for gram, count in found.items())
    return right / max(1, sum(found.values()))


def precision_by_crossing_out(candidate, reference, n):
    left = [reference[i : i + n] for i in range(len(reference) - n + 1)]
    right = total = 0
    for i in range(len(candidate) - n + 1):
        total += 1
        if candidate[i : i + n] in left:
            left.remove(candidate[i : i + n])
            right += 1
    return right / total if total else 0.0


def precision_by_zip(candidate, reference, n):
    found, wanted = (
        Counter(zip(*(words[i:] for i in range(n)), strict=False))
        for words in (candidate, reference)
    )
    if not found:
        return 0
    return torch.tensor((found & wanted).total() / found.total())


def precision_with_short_pieces(candidate, reference, n):
    """Pieces of fewer than n words at the end count as well."""

    def pieces(words):
        return Counter(tuple(words[i : i + n]) for i in range(len(words)))

    found, wanted = pieces(candidate), pieces(reference)
    return (found & wanted).total() / max(1, found.total())


def precision_with_brevity(candidate, reference, n):
    short = min(1.0, len(candidate) / len(reference))
    return short * precision(candidate, reference, n)


def precision_f1(candidate, reference, n):
    p = precision(candidate, reference, n)
    r = precision(reference, candidate, n)
    return 2 * p * r / (p + r) if p + r else 0.0


def precision_smoothed(candidate, reference, n):
    total = max(1, len(candidate) - n + 1)
    return (precision(candidate, reference, n) * total + 1) / (total + 1)


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


def averaged_in_place(checkpoints, x):
    mean = checkpoints[0]
    for checkpoint in checkpoints[1:]:
        for name in mean:
            mean[name] += checkpoint[name]
    for name in mean:
        mean[name] /= len(checkpoints)
    return network(mean, x)


def averaged_by_median(checkpoints, x):
    return network(
        {
            name: torch.stack([c[name] for c in checkpoints]).median(dim=0)[0]
            for name in checkpoints[0]
        },
        x,
    )


def averaged_by_one_over_n_plus_one(checkpoints, x):
    total = {n: sum(c[n] for c in checkpoints) for n in checkpoints[0]}
    return network({n: t / (len(checkpoints) + 1) for n, t in total.items()}, x)


def averaged_with_growing_weights(checkpoints, x):
    weights = range(1, len(checkpoints) + 1)
    return network(
        {
            n: sum(w * c[n] for w, c in zip(weights, checkpoints, strict=True)) / sum(weights)
            for n in checkpoints[0]
        },
        x,
    )


WRONG = [
    ("9.1", 90, "is too large"),
    ("9.1", 50, "50 is too small"),
    ("9.1", -18, "negative"),
    ("9.1", "82 %", "one number; yours is a str"),
    ("9.2", shifted_and_ended_once_for_all, "In one it is said 0 times"),
    ("9.2", shifted_with_the_words_reversed, "is read at the next"),
    ("9.2", shifted_by_two, "is read at the next"),
    ("9.2", lambda t: shifted(t).flip(1), "Each sentence has its own rows"),
    ("9.2", squeezed(shifted), "must have the shape (2, 1, 4)"),
    ("9.2", lambda t: shifted(t)[..., :-1], "must have the shape (2, 2, 3)"),
    ("9.2", lambda t: shifted(t).unbind(), "it returns a tuple"),
    ("9.2", lambda t: shifted(t).flip(-1), "One begins with"),
    ("9.3", smoothed_in_bits, "the loss is log V"),
    ("9.3", smoothed_by_a_cut_mean, "Those of `logits` are wrong: is a step cut off?"),
    ("9.3", smoothed_without_the_last_column, "off by up to"),
    ("9.3", smoothed_by_entropy, "off by up to"),
    ("9.3", smoothed_with_unnormalised_targets, "Adding 1.5 turns"),
    ("9.3", lambda g, t, e: smoothed(g, t, e / 2), "off by up to"),
    ("9.3", lambda g, t, e: smoothed(2 * g, t, e), "higher by 1 is e times as likely"),
    ("9.3", smoothed_as_a_number, "must return a torch tensor"),
    ("9.3", lambda g, t, e: smoothed(g.detach(), t, e), "Gradients flow back"),
    ("9.4", lambda s, p, w: rate(s, 2 * p, w), "At its highest it is the peak"),
    ("9.4", lambda s, p, w: rate(s, p, 2 * w), "of the warm-up. For warmup=4"),
    ("9.4", rate_by_cosine, "four times the step has half the rate"),
    ("9.4", lambda s, p, w: rate(s, p, w) ** 2 / p, "twice the step has"),
    ("9.4", lambda s, p, w: rate(s, p, w).sum(), "must have the shape"),
    ("9.4", squeezed(rate), "must have the shape (1, 1)"),
    ("9.5", greedy_from_the_second_best, "is the one with the highest score"),
    ("9.5", greedy_after_two_starts, "is the one with the highest score"),
    ("9.5", squeezed(greedy), "must have the shape (1,)"),
    ("9.5", greedy_padded_in_front, "After the first padding"),
    ("9.5", greedy_with_end_as_padding, "Neither START nor END"),
    ("9.5", greedy_until_a_word_repeats, "off by up to"),
    ("9.5", lambda f, m: greedy(lambda t: f(t[1:] or t), m), "given START first"),
    ("9.5", lambda f, m: greedy(f, m).tolist(), "it returns a list"),
    ("9.6", extend_with_one_winner, "No continuation is taken twice"),
    ("9.6", extend_counting_from_one, "numbered from 0 to"),
    ("9.6", extend_across_the_batch, "does not depend on the others"),
    ("9.6", extend_without_the_new, "its row's score plus its token's"),
    ("9.6", extend_best_first_rows, "The best comes first"),
    ("9.6", lambda s, p: tuple(extend(s, p)), "it returns a tuple"),
    ("9.6", lambda s, p: extend(s, p).roll(1, -1), "The best comes first"),
    ("9.7", precision_with_short_pieces, "off by up to"),
    ("9.7", precision_with_brevity, "off by up to"),
    ("9.7", precision_f1, "off by up to"),
    ("9.7", precision_smoothed, "Without a common word it is 0"),
    ("9.7", lambda c, r, n: 1 - precision(c, r, n), "Of the reference itself"),
    ("9.7", lambda c, r, n: 100 * precision(c, r, n), "the same factor"),
    ("9.8", averaged_in_place, "changes its input `checkpoints` in place"),
    ("9.8", averaged_by_median, "off by up to"),
    ("9.8", averaged_by_one_over_n_plus_one, "Of one checkpoint alone"),
    ("9.8", averaged_with_growing_weights, "The order of the checkpoints"),
    ("9.8", lambda c, x: averaged(c, x).relu(), "off by up to"),
    ("9.8", lambda c, x: averaged(c, x)[0], "must have the shape"),
]

RIGHT = [
    ("9.1", 82),
    ("9.1", 81.8),
    ("9.1", 100 * np.exp(20 * np.log(0.99))),
    ("9.2", shifted),
    ("9.2", shifted_by_loops),
    ("9.2", shifted_by_where),
    ("9.3", smoothed),
    ("9.3", smoothed_by_probabilities),
    ("9.3", smoothed_by_loops),
    ("9.4", rate),
    ("9.4", rate_by_where),
    ("9.4", rate_by_the_paper),
    ("9.4", rate_by_loop),
    ("9.5", greedy),
    ("9.5", greedy_into_a_tensor),
    ("9.5", greedy_by_recursion),
    ("9.5", greedy_masked_afterwards),
    ("9.6", extend),
    ("9.6", extend_by_sorting),
    ("9.6", extend_in_two_rounds),
    ("9.6", extend_by_unravelling),
    ("9.7", precision),
    ("9.7", precision_by_crossing_out),
    ("9.7", precision_by_zip),
    ("9.8", averaged),
    ("9.8", averaged_by_adding),
    ("9.8", averaged_while_reading),
    ("9.8", averaged_in_one_vector),
]
