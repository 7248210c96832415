"""What learners might hand in for the exercises of chapter 5."""

import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F

from .slips import remembers_shapes, squeezed


def right_matrix(order):
    return F.one_hot(order, order.shape[-1]).float()


def rows_softened(order):
    return (2.0 * right_matrix(order)).softmax(dim=-1)


def last_row_missing(order):
    P = right_matrix(order)
    P[..., -1, :] = 0.0
    return P


def right_ceiling(counts):
    return counts.amax(dim=-1).sum(dim=-1) / counts.sum(dim=(-2, -1))


def one_sentence_more(counts):
    right = counts.amax(dim=-1).sum(dim=-1)
    return right / (counts.sum(dim=(-2, -1)) + 1)


def first_bag_only(counts):
    return counts[:, 0].amax(dim=-1) / counts[:, 0].sum(dim=-1).clamp_min(1)


def ceiling_of_the_first(counts):
    return right_ceiling(counts[:1]).expand(len(counts))


def right_mask(query_places, key_places):
    return key_places[:, None] <= query_places[..., None]


def two_places_back(query_places, key_places):
    distance = query_places[..., None] - key_places[:, None]
    return (distance >= 0) & (distance < 2)


def not_the_first_place(query_places, key_places):
    return right_mask(query_places, key_places) & (key_places[:, None] > 0)


def right_window(value, window):
    length = value.shape[-2]
    sums = value.cumsum(-2)
    left = F.pad(sums, (0, 0, window, 0))[..., :length, :]
    return (sums - left) / torch.arange(1, length + 1).clamp_max(window)[:, None]


def window_through_a_fill(value, window):
    allowed = torch.ones(value.shape[-2], value.shape[-2]).tril().triu(1 - window).bool()
    return torch.zeros(allowed.shape).masked_fill(~allowed, -50.0).softmax(-1) @ value


def largest_of_window(value, window):
    padded = F.pad(value, (0, 0, window - 1, 0), value=-torch.inf)
    return padded.unfold(-2, window, 1).amax(-1)


def right_reach(masks):
    known = torch.eye(masks.shape[-1], dtype=torch.bool).expand_as(masks[:, 0])
    for mask in masks.unbind(1):
        known = known | (mask.float() @ known.float() > 0)
    return known


def two_layers_only(masks):
    return right_reach(masks[:, :2])


def reach_in_the_first_sentence(masks):
    return right_reach(masks[:1]).expand_as(masks[:, 0])


def everything(masks):
    return torch.ones_like(masks[:, 0])


def right_summary(query, x, lengths):
    scores = x @ query / math.sqrt(x.shape[-1])
    padding = torch.arange(x.shape[1]) >= lengths[:, None]
    weights = scores.masked_fill(padding, -math.inf).softmax(-1)
    return torch.einsum("bn,bnd->bd", weights, x)


def summary_with_padding_at(low):
    def answer(query, x, lengths):
        scores = x @ query / math.sqrt(x.shape[-1])
        padding = torch.arange(x.shape[1]) >= lengths[:, None]
        weights = scores.masked_fill(padding, low).softmax(-1)
        return torch.einsum("bn,bnd->bd", weights, x)

    return answer


def summary_by_fixed_weights(query, x, lengths):
    scores = x @ query / math.sqrt(x.shape[-1])
    padding = torch.arange(x.shape[1]) >= lengths[:, None]
    weights = scores.masked_fill(padding, -math.inf).softmax(-1).detach()
    return torch.einsum("bn,bnd->bd", weights, x)


def the_first_element(query, x, lengths):
    return x[:, 0]


def the_sum_of_the_elements(query, x, lengths):
    return right_summary(query, x, lengths) * lengths[:, None]


def divided_by_d(query, x, lengths):
    return right_summary(query / math.sqrt(len(query)), x, lengths)


def right_part(mixing):
    length = mixing.shape[-1]
    eye = torch.eye(length)
    on = (mixing * eye).sum((-2, -1), keepdim=True) / length
    off = (mixing * (1 - eye)).sum((-2, -1), keepdim=True)
    return on * eye + off / (length * (length - 1)) * (1 - eye)


def largest_of_the_rest(mixing):
    eye = torch.eye(mixing.shape[-1])
    rest = (mixing - 1e9 * eye).amax((-2, -1), keepdim=True)
    return right_part(mixing) * eye + rest * (1 - eye)


WRONG = [
    ("5.1", 9, "9 is too large"),
    ("5.1", 2, "2 is too small"),
    ("5.1", 120, "120 is too large"),
    ("5.1", -8, "-8 is negative"),
    ("5.2", rows_softened, "There are other numbers than 0 and 1"),
    ("5.2", last_row_missing, "One row adds up to 0"),
    ("5.2", lambda order: right_matrix(order).roll(1, -2), "belongs stands"),
    ("5.2", lambda order: -right_matrix(order), "One row adds up to -1"),
    ("5.2", remembers_shapes(right_matrix), "returns the same result as before"),
    ("5.2", squeezed(right_matrix), "is there a `squeeze`?"),
    ("5.2", lambda order: order, "must have the shape (1, 3, 3)"),
    ("5.3", one_sentence_more, "Ten times as many sentences"),
    ("5.3", first_bag_only, "off by up to"),
    ("5.3", lambda counts: right_ceiling(counts).sqrt(), "1 over their number"),
    ("5.3", lambda counts: right_ceiling(counts) ** 2, "1 over their number"),
    ("5.3", lambda counts: counts.amax(-1) / counts.sum(-1).clamp_min(1), "must have the shape"),
    ("5.3", lambda counts: counts[..., 0].sum(-1) / counts.sum((-2, -1)), "answers are listed"),
    ("5.3", ceiling_of_the_first, "A data set never depends on the others"),
    ("5.4", two_places_back, "may attend to all earlier places"),
    ("5.4", squeezed(right_mask), "is there a `squeeze`?"),
    ("5.4", not_the_first_place, "The token at place 0 may not"),
    ("5.4", lambda q, k: right_mask(q, k).float(), "The result must be boolean"),
    ("5.4", lambda q, k: right_mask(q, k) & (k[:, None] > 2), "from 10 on"),
    ("5.4", lambda q, k: torch.ones_like(right_mask(q, k)), "No query may attend to a later place"),
    ("5.5", largest_of_window, "has an equal share of each value"),
    ("5.5", lambda value, window: value, "has an equal share of each value"),
    ("5.5", lambda value, window: right_window(value, max(1, window - 1)), "an equal share"),
    ("5.5", window_through_a_fill, "A later value never changes"),
    ("5.5", lambda value, window: right_window(value.detach(), window), "Gradients flow back"),
    ("5.5", squeezed(right_window), "is there a `squeeze`?"),
    ("5.5", lambda value, window: right_window(value, window) * 2, "same factor everywhere"),
    (
        "5.5",
        lambda value, window: right_window(value, window) + value[..., -1:, :],
        "A later value never changes",
    ),
    ("5.6", two_layers_only, "entries are wrong"),
    ("5.6", lambda masks: right_reach(masks.tril()), "everyone knows everyone"),
    ("5.6", reach_in_the_first_sentence, "A sentence never depends on the others"),
    ("5.6", squeezed(right_reach), "is there a `squeeze`?"),
    ("5.6", everything, "Layers that all look back"),
    ("5.6", lambda masks: torch.zeros_like(masks[:, 0]), "Token 0 does not (counted from 0)"),
    ("5.6", lambda masks: right_reach(masks).float(), "must be boolean"),
    ("5.7", the_first_element, "The order of the elements"),
    ("5.7", the_sum_of_the_elements, "A query of zeros"),
    ("5.7", divided_by_d, "counts three times as much"),
    ("5.7", summary_by_fixed_weights, "Gradients flow back"),
    ("5.7", summary_with_padding_at(-20.0), "Padding gets a weight of exactly 0"),
    ("5.7", summary_with_padding_at(-50.0), "Padding gets a weight of exactly 0"),
    ("5.7", summary_with_padding_at(-500.0), "Padding gets a weight of exactly 0"),
    ("5.7", lambda query, x, lengths: right_summary(query.squeeze(), x, lengths), "It raises"),
    ("5.7", squeezed(right_summary), "is there a `squeeze`?"),
    (
        "5.7",
        lambda query, x, lengths: right_summary(query, x, lengths) + x[:, -1],
        "What stands in the padding",
    ),
    ("5.7", lambda query, x, lengths: right_summary(query, x, lengths)[:1], "must have the shape"),
    ("5.8", remembers_shapes(right_part), "returns the same result as before"),
    ("5.8", squeezed(right_part), "is there a `squeeze`?"),
    ("5.8", lambda mixing: mixing, "Reordering rows and columns alike"),
    ("5.8", lambda mixing: right_part(mixing) / 2, "same factor everywhere"),
    ("5.8", largest_of_the_rest, "the sum of all entries are kept"),
    ("5.8", lambda mixing: mixing * 0, "are kept. The diagonal goes from"),
]


def matrix_by_indexing(order):
    return torch.eye(order.shape[-1])[order]


def matrix_by_scatter(order):
    empty = torch.zeros(*order.shape, order.shape[-1])
    return empty.scatter(-1, order.unsqueeze(-1), 1.0)


def matrix_by_loops(order):
    P = np.zeros((*order.shape, order.shape[-1]))
    for place in np.ndindex(*order.shape):
        P[(*place, order[place].item())] = 1
    return torch.from_numpy(P)


def ceiling_by_loops(counts):
    return torch.tensor(
        [sum(max(bag) for bag in data) / sum(map(sum, data)) for data in counts.tolist()]
    )


def ceiling_by_shares(counts):
    bags = counts.sum(-1)
    shares = torch.where(bags > 0, counts.amax(-1) / bags, 0.0)
    return (shares * bags / bags.sum(-1, keepdim=True)).sum(-1)


def mask_by_loops(query_places, key_places):
    return torch.tensor(
        [
            [[k <= q for k in keys] for q in queries]
            for queries, keys in zip(query_places.tolist(), key_places.tolist(), strict=True)
        ]
    )


def mask_by_negation(query_places, key_places):
    return ~torch.gt(key_places.unsqueeze(1), query_places.unsqueeze(2))


def window_by_attention(value, window):
    length = value.shape[-2]
    zeros = torch.zeros(*value.shape[:-1], 2)
    mask = torch.ones(length, length, dtype=torch.bool).tril().triu(1 - window)
    return F.scaled_dot_product_attention(zeros, zeros, value, attn_mask=mask)


def window_by_slices(value, window):
    means = [value[..., max(0, i + 1 - window) : i + 1, :].mean(-2) for i in range(value.shape[-2])]
    return torch.stack(means, -2)


def reach_by_sets(masks):
    result = torch.zeros_like(masks[:, 0])
    for b, layers in enumerate(masks.tolist()):
        known = [{i} for i in range(len(layers[0]))]
        for mask in layers:
            seen = [[known[j] for j, see in enumerate(row) if see] for row in mask]
            known = [known[i].union(*seen[i]) for i in range(len(known))]
        for i, tokens in enumerate(known):
            result[b, i, list(tokens)] = True
    return result


def reach_by_matrix_powers(masks):
    product = torch.eye(masks.shape[-1]).repeat(len(masks), 1, 1)
    for layer in range(masks.shape[1]):
        product = product + masks[:, layer].float() @ product
    return product > 0


def summary_by_torch(query, x, lengths):
    mask = torch.arange(x.shape[1]) < lengths[:, None, None]
    queries = query.expand(len(x), 1, -1)
    return F.scaled_dot_product_attention(queries, x, x, attn_mask=mask)[:, 0]


def summary_set_by_set(query, x, lengths):
    summaries = []
    for elements, length in zip(x, lengths.tolist(), strict=True):
        elements = elements[:length]
        weights = (elements @ query / len(query) ** 0.5).softmax(0)
        summaries.append(weights @ elements)
    return torch.stack(summaries)


def part_by_two_projections(mixing):
    length = mixing.shape[-1]
    eye = torch.eye(length)
    trace = torch.einsum("...ii", mixing)[..., None, None]
    total = mixing.sum((-1, -2), keepdim=True)
    b = (total - trace) / (length * (length - 1))
    return (trace / length - b) * eye + b


def part_by_counting(mixing):
    length = mixing.shape[-1]
    off = [mixing[..., i, j] for i, j in itertools.permutations(range(length), 2)]
    on = [mixing[..., i, i] for i in range(length)]
    off, on = torch.stack(off).mean(0), torch.stack(on).mean(0)
    result = off[..., None, None].repeat(*[1] * off.ndim, length, length)
    for i in range(length):
        result[..., i, i] = on
    return result


RIGHT = [
    ("5.1", 2**3),
    ("5.1", torch.tensor(8)),
    ("5.2", matrix_by_indexing),
    ("5.2", matrix_by_scatter),
    ("5.2", matrix_by_loops),
    ("5.2", lambda order: F.one_hot(order, order.shape[-1])),
    ("5.3", ceiling_by_loops),
    ("5.3", ceiling_by_shares),
    ("5.4", mask_by_loops),
    ("5.4", mask_by_negation),
    ("5.5", right_window),
    ("5.5", window_by_attention),
    ("5.5", window_by_slices),
    ("5.6", reach_by_sets),
    ("5.6", reach_by_matrix_powers),
    ("5.7", summary_by_torch),
    ("5.7", summary_set_by_set),
    ("5.8", part_by_two_projections),
    ("5.8", part_by_counting),
]
