"""Exercises of chapter 11, "Is it the same in a language model?"."""

import math

import torch

from attnbook.exercises.declare import Exercise, MultipleChoice, NumericAnswer
from attnbook.exercises.properties import changed
from attnbook.exercises.report import told_apart

without_the_first = MultipleChoice(
    "11.0",
    "Without the first token",
    hints=[
        "What does a head do with weights that have to sum to 1 when it finds nothing?",
        "A token that is hidden in all blocks is deleted. Which token is the first one then?",
    ],
    answer="C",
    because="A token that is hidden in all blocks is deleted, and the next token takes its place. "
    "Heads rest there instead. But what the place hands over is needed, as the other rows show.",
)
without_the_first.wrong_option(
    "A",
    "a large weight is a large importance",
    "This takes the weight for the importance. But the question says what happens if every token "
    "may look at the first one alone, which has all the weight then. The loss is 8.3.",
)
without_the_first.wrong_option(
    "B",
    "half of the weight, half of what is known",
    "This takes the weight for knowledge of the text. But the word at this place could be any "
    "word, and the second token takes its place.",
)
without_the_first.wrong_option(
    "D",
    "a wasted weight does harm",
    "This assumes that resting is a waste from which the model suffers. But the model was trained "
    "with it, and no later layer expects anything else, so the loss does not fall.",
)

cache_bytes = NumericAnswer(
    "11.1",
    "The cache of a token",
    answer=46080.0,
    within=0.001,
    hints=[
        "What does one block keep of one token? Which heads make it, those of the queries?",
        "Two tensors, three heads of 64 features each; then blocks, then bytes.",
    ],
)
cache_bytes.wrong_value(
    "the heads of queries",
    138240.0,
    "You counted nine heads. Nobody asks an earlier token's query again, so it is not kept.",
)
cache_bytes.wrong_value(
    "keys without values",
    23040.0,
    "You counted one tensor. Keys say how much of a token is wanted; what is handed over must be "
    "kept as well.",
)
cache_bytes.wrong_value(
    "one block",
    1536.0,
    "You counted one block. Each has keys and values of its own.",
)
cache_bytes.wrong_value(
    "numbers instead of bytes",
    11520.0,
    "You counted numbers. Each takes several bytes, as the task says.",
)


def _random(generator, *shape):
    return torch.randn(shape, generator=generator)


def _maps(generator, *shape):
    """Causal weights of many heads: (layers, heads, query, key)."""
    scores = 2 * _random(generator, *shape)
    hidden = torch.ones(shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, -math.inf).softmax(dim=-1)


sink_share = Exercise(
    "11.2",
    "The share of the first token",
    hints=[
        "Which axis is the keys'? You want its first entry.",
        "The first query sees one token only, so its weight says nothing: leave this row out.",
    ],
)


@sink_share.solution
def _(maps):
    return maps[..., 1:, 0].mean(dim=(1, 2))


@sink_share.inputs
def _(generator):
    yield (torch.tensor([[[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]]]),)
    yield (torch.tensor([[[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.9, 0.1]]]]),)  # two heads
    for shape in [(3, 2, 5, 5), (2, 4, 7, 7), (4, 1, 3, 3)]:
        yield (_maps(generator, *shape),)


@sink_share.holds("If all later tokens look at the first one alone, the share is 1.")
def _(f, maps):
    resting = torch.zeros_like(maps)
    resting[..., 0] = 1.0
    found = f(resting)
    if not torch.allclose(found, torch.ones(len(maps))):
        return f"You return {told_apart(found.min().item(), 1)}."


@sink_share.mistake("the largest head")
def _(maps):
    """You return the share of the head that looks at the first token most. The share of a layer is
    the mean over its heads."""
    return maps[..., 1:, 0].mean(dim=2).amax(dim=1)


@sink_share.mistake("the first query's weight counted")
def _(maps):
    """You also count the first token's own row. It can look nowhere else, so its weight there is 1
    in every head, and every share comes out too large."""
    return maps[..., 0].mean(dim=(1, 2))


@sink_share.mistake("rows and columns exchanged")
def _(maps):
    """You take the first *row*: where the first token looks. The question is who looks at it, and
    that stands in a column."""
    return maps[..., 0, 1:].mean(dim=(1, 2))


@sink_share.mistake("one number for all layers")
def _(maps):
    """You average over the layers as well. Early and late layers differ here more than anything
    else, and that is then gone."""
    return maps[..., 1:, 0].mean().expand(len(maps))


@sink_share.mistake("the largest weight")
def _(maps):
    """You take the largest weight of each row. Often it lies on the first token, and often it does
    not."""
    return maps[..., 1:, :].amax(dim=-1).mean(dim=(1, 2))


@sink_share.mistake("a sum over the heads")
def _(maps):
    """You add the heads up. A share can then be larger than 1."""
    return maps[..., 1:, 0].mean(dim=2).sum(dim=1)


@sink_share.mistake("the last query left out")
def _(maps):
    """You leave out the last query instead of the first. The first one can look nowhere else, so
    its weight of 1 makes every share too large."""
    return maps[..., :-1, 0].mean(dim=(1, 2))


@sink_share.mistake("divided by all queries")
def _(maps):
    """You leave out the first query's weight, but divide by the number of all queries. Every share
    comes out too small."""
    return maps[..., 1:, 0].sum(dim=(1, 2)) / (maps.shape[1] * maps.shape[2])


continuing = Exercise(
    "11.3",
    "Find the head that continues",
    hints=[
        "The token at place length + i stood at place i before. What followed it there?",
        "In the lower half of the map, `maps[..., length:, :]`, these places lie on a diagonal.",
    ],
)


@continuing.solution
def _(maps, length):
    copy = maps[..., length:, :]
    return copy.diagonal(1, dim1=-2, dim2=-1).mean(dim=-1)


@continuing.inputs
def _(generator):
    small = torch.zeros(1, 1, 4, 4)
    small[..., 0, 0] = small[..., 1, 0] = small[..., 2, 1] = 1.0
    small[..., 3, :] = torch.tensor([0.1, 0.2, 0.6, 0.1])
    yield small, 2
    for shape, length in [((3, 2, 8, 8), 4), ((2, 5, 6, 6), 3), ((1, 3, 10, 10), 5)]:
        yield _maps(generator, *shape), length


@continuing.holds("A head that always looks at what followed has the score 1.")
def _(f, maps, length):
    perfect = torch.zeros_like(maps)
    place = torch.arange(length, 2 * length)
    perfect[..., place, place - length + 1] = 1.0
    found = f(perfect, length)
    if not torch.allclose(found, torch.ones(maps.shape[:2])):
        return f"Yours has {told_apart(found.min().item(), 1)}."


@continuing.mistake("the same token, not what followed")
def _(maps, length):
    """You measure who looks back at the *same* token. A head that does so knows where it stood, and
    not yet how it went on."""
    return maps[..., length:, :].diagonal(0, dim1=-2, dim2=-1).mean(dim=-1)


@continuing.mistake("the token before")
def _(maps, length):
    """You measure who looks at the token *before* the first occurrence. What the model has to say
    next stood on its other side."""
    place = torch.arange(length, maps.shape[-1])
    return maps[..., place, (place - length - 1).clamp(min=0)].mean(dim=-1)


@continuing.mistake("the previous token")
def _(maps, length):
    """You measure who looks at the previous token. That head is needed as well, in an earlier
    block, but it continues nothing."""
    place = torch.arange(length, maps.shape[-1])
    return maps[..., place, place - 1].mean(dim=-1)


@continuing.mistake("both halves")
def _(maps, length):
    """You average over the first half as well, or divide by the length of both halves. In the first
    half nothing has been said before, and nothing can be continued."""
    copy = maps[..., length:, :].diagonal(1, dim1=-2, dim2=-1)
    return copy.sum(dim=-1) / maps.shape[-1]


@continuing.mistake("the last place left out")
def _(maps, length):
    """You leave out the last place of the copy. Its token was followed, too: by the first token of
    the copy."""
    copy = maps[..., length:-1, :]
    return copy.diagonal(1, dim1=-2, dim2=-1)[..., : length - 1].mean(dim=-1)


@continuing.mistake("the last place wrapped round")
def _(maps, length):
    """You let the last token of the text be followed by the first of all. It was followed by the
    first token of the copy."""
    place = torch.arange(length, 2 * length)
    return maps[..., place, (place - length + 1) % length].mean(dim=-1)


@continuing.mistake("the last query of the first half, too")
def _(maps, length):
    """You take one query more, from the end of the first half. It stands before the copy, and
    nothing has been repeated yet."""
    return maps.diagonal(1 - length, dim1=-2, dim2=-1).mean(dim=-1)


@continuing.mistake("query and key exchanged")
def _(maps, length):
    """You take keys for queries. A row of a map belongs to the token that looks, a column to the
    one that is looked at."""
    place = torch.arange(length, 2 * length)
    return maps[..., place - length + 1, place].mean(dim=-1)


grouped = Exercise(
    "11.4",
    "Heads that share their keys",
    hints=[
        "How many heads of queries belong to one of keys? Heads that are neighbours share.",
        "`repeat_interleave` makes neighbours, `repeat` does not.",
        "Then it is attention as ever: scores over √d_k, the mask, softmax, values.",
    ],
    differentiable=True,
)


def _grouped(query, key, value, copies):
    key, value = copies(key), copies(value)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, -math.inf).softmax(dim=-1) @ value


@grouped.solution
def _(query, key, value):
    group = query.shape[1] // key.shape[1]
    return _grouped(query, key, value, lambda x: x.repeat_interleave(group, dim=1))


@grouped.inputs
def _(generator):
    for batch, heads, kv_heads, length, d_k in [
        (1, 4, 2, 2, 1),
        (2, 6, 3, 4, 5),
        (3, 6, 2, 5, 4),
        (1, 9, 3, 1, 8),
    ]:
        query = 2 * _random(generator, batch, heads, length, d_k)
        key, value = (_random(generator, batch, kv_heads, length, d_k) for _ in range(2))
        yield query, key, value
    yield (  # scores of ±256, and the future scores most
        torch.tensor([256.0, -256.0, 256.0]).view(1, 1, 3, 1).repeat(1, 2, 1, 1),
        torch.tensor([1.0, 1 - 2**-8, -1.0]).view(1, 1, 3, 1),
        torch.tensor([1.0, 3.0, 5.0]).view(1, 1, 3, 1),
    )


@grouped.holds("With as many heads of keys as of queries each has its own.")
def _(f, query, key, value):
    own = query[:, : key.shape[1]]
    return changed(
        f(own, key, value),
        torch.cat([f(own[:, [h]], key[:, [h]], value[:, [h]]) for h in range(key.shape[1])], dim=1),
        "together an entry is {}, head by head {}",
    )


@grouped.holds("No output moves when a later token's value changes.")
def _(f, query, key, value):
    other = value.clone()
    other[..., -1, :] += 1.0
    before, after = f(query, key, value), f(query, key, other)
    return changed(before[..., :-1, :], after[..., :-1, :], "an earlier output goes from {} to {}")


@grouped.mistake("every second head shares")
def _(query, key, value):
    """You lay the heads of keys one after the other, again and again. Heads of queries that are
    neighbours then have different keys, and the groups are others than those that were trained."""
    group = query.shape[1] // key.shape[1]
    return _grouped(query, key, value, lambda x: x.repeat(1, group, 1, 1))


@grouped.mistake("one head of keys for all")
def _(query, key, value):
    """You use the first head of keys and values for all queries. That exists, as multi-query
    attention, but here there are several."""
    return _grouped(query, key, value, lambda x: x[:, :1].expand_as(query))


@grouped.mistake("no mask")
def _(query, key, value):
    """You leave out the mask. A language model that sees the next token has nothing to say."""
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    return (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1) @ value


@grouped.mistake("its own place hidden")
def _(query, key, value):
    """You hide a token's own place together with the future. The first token then sees nothing at
    all, and its place is left with zeros."""
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu()
    return scores.masked_fill(hidden, -math.inf).softmax(dim=-1).nan_to_num(0.0) @ value


@grouped.mistake("divided by the root of all features")
def _(query, key, value):
    """You divide by the root of the features of all heads together. Each head takes dot products of
    its own features only."""
    group = query.shape[1] // key.shape[1]
    query = query / math.sqrt(query.shape[1])
    return _grouped(query, key, value, lambda x: x.repeat_interleave(group, dim=1))


@grouped.mistake("divided by the root of all features that share")
def _(query, key, value):
    """You divide by the root of the features of all heads that share a key. Each head takes dot
    products of its own features only."""
    group = query.shape[1] // key.shape[1]
    query = query / math.sqrt(group)
    return _grouped(query, key, value, lambda x: x.repeat_interleave(group, dim=1))


@grouped.mistake("no scaling")
def _(query, key, value):
    """You leave out the division by √d_k. The weights become sharper than those that the model was
    trained with."""
    group = query.shape[1] // key.shape[1]
    query = query * math.sqrt(query.shape[-1])
    return _grouped(query, key, value, lambda x: x.repeat_interleave(group, dim=1))


@grouped.mistake("heads of queries that are not neighbours in a group")
def _(query, key, value):
    """You cut the heads of queries as (heads in a group, groups). Heads that share a key then lie
    apart, and come out in their old order, so each has asked another's keys."""
    groups = key.shape[1]
    query = query.unflatten(1, (-1, groups)).transpose(1, 2).flatten(1, 2)
    group = query.shape[1] // groups
    return _grouped(query, key, value, lambda x: x.repeat_interleave(group, dim=1))


@grouped.mistake("keys of neighbours, values in turn")
def _(query, key, value):
    """You let neighbours share keys, but deal out the values in turn. A head then finds a token by
    one head's keys and gets another head's value."""
    group = query.shape[1] // key.shape[1]
    value = value.repeat(1, group, 1, 1)
    return _grouped(
        query, key, value, lambda x: x if x is value else x.repeat_interleave(group, dim=1)
    )


@grouped.mistake("future scores set to 0")
def _(query, key, value):
    """You set the scores of later tokens to 0. Softmax makes e⁰ = 1 of that, so they still get
    weight."""
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    scores = (query @ key.mT / math.sqrt(query.shape[-1])).tril()
    return scores.softmax(dim=-1) @ value


@grouped.mistake("a token that does not see itself")
def _(query, key, value):
    """You hide the token itself as well. The first one then sees nothing, and its row is NaN."""
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu()
    return scores.masked_fill(hidden, -math.inf).softmax(dim=-1) @ value


@grouped.mistake("the exponentials of large scores")
def _(query, key, value):
    """You take the exponentials of the scores as they are. One of 256 is beyond the numbers that
    the computer has, and infinity divided by infinity is NaN."""
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    shares = (query @ key.mT / math.sqrt(query.shape[-1])).exp().tril()
    return shares / shares.sum(dim=-1, keepdim=True) @ value


without_a_head = Exercise(
    "11.5",
    "What one head adds",
    hints=[
        "Head h has the features h · d_k to (h + 1) · d_k of `merged`. Which columns of W_O read "
        "them?",
        "With one head's features alone, the projection W_O needs these columns only.",
    ],
)


def _columns(merged, num_heads, head):
    d_k = merged.shape[-1] // num_heads
    return slice(head * d_k, (head + 1) * d_k)


@without_a_head.solution
def _(merged, output_weight, num_heads, head):
    own = _columns(merged, num_heads, head)
    return merged[..., own] @ output_weight[:, own].mT


@without_a_head.inputs
def _(generator):
    yield torch.tensor([[[1.0, 2.0]]]), torch.tensor([[1.0, 0.0], [3.0, 1.0]]), 2, 1
    for batch, length, heads, d_k, head in [(2, 3, 3, 4, 0), (1, 4, 4, 2, 2), (2, 1, 2, 3, 1)]:
        d_model = heads * d_k
        yield (
            _random(generator, batch, length, d_model),
            _random(generator, d_model, d_model),
            heads,
            head,
        )


@without_a_head.holds("What all heads add is what the block adds.")
def _(f, merged, output_weight, num_heads, head):
    together = sum(f(merged, output_weight, num_heads, h) for h in range(num_heads))
    return changed(merged @ output_weight.mT, together, "the block adds {}, your heads {}")


@without_a_head.mistake("rows of the weight")
def _(merged, output_weight, num_heads, head):
    """You take the head's *rows* of W_O. They say which features of the stream are written, and all
    heads write to all; what a head is read by are its columns."""
    own = _columns(merged, num_heads, head)
    return merged[..., own] @ output_weight[own]


@without_a_head.mistake("all but the head")
def _(merged, output_weight, num_heads, head):
    """You return what is left *without* the head. The question is what it adds itself."""
    kept = merged.clone()
    kept[..., _columns(merged, num_heads, head)] = 0.0
    return kept @ output_weight.mT


@without_a_head.mistake("heads interleaved")
def _(merged, output_weight, num_heads, head):
    """You take every num_heads-th feature. A head's features stand side by side."""
    own = slice(head, None, num_heads)
    return merged[..., own] @ output_weight[:, own].mT


@without_a_head.mistake("counted from 1")
def _(merged, output_weight, num_heads, head):
    """You count the heads from 1. Your result is then what the head before adds."""
    own = _columns(merged, num_heads, (head - 1) % num_heads)
    return merged[..., own] @ output_weight[:, own].mT


@without_a_head.mistake("counted from 1, and nothing for head 0")
def _(merged, output_weight, num_heads, head):
    """You count the heads from 1. Your result is then what the head before adds, and for head 0
    nothing."""
    own = _columns(merged, num_heads, head - 1)
    return merged[..., own] @ output_weight[:, own].mT


@without_a_head.mistake("the head's features alone")
def _(merged, output_weight, num_heads, head):
    """You keep the head's own features and leave out W_O. It decides where in the stream they are
    written."""
    kept = torch.zeros_like(merged)
    own = _columns(merged, num_heads, head)
    kept[..., own] = merged[..., own]
    return kept


logit_difference = Exercise(
    "11.6",
    "Which noun does a change favour?",
    hints=[
        "A logit is the dot product of the last vector with a token's row of the output "
        "projection.",
        "Only the difference of the two rows matters: one vector to compare both streams with.",
        "RMSNorm is not linear: norm each stream, then take the difference.",
    ],
)


def _rms(x, scale):
    return scale * x / (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()


@logit_difference.solution
def _(before, after, scale, output_weight, one, other):
    direction = output_weight[one] - output_weight[other]
    return (_rms(after, scale) - _rms(before, scale)) @ direction


@logit_difference.inputs
def _(generator):
    for batch, d, words in [(1, 2, 3), (3, 6, 7), (2, 5, 4), (1, 8, 5)]:
        before, change = _random(generator, batch, d), _random(generator, batch, d)
        scale = 0.5 + torch.rand(d, generator=generator)
        weight = _random(generator, words, d)
        yield 3 * before, 3 * before + change, scale, weight, 0, words - 1
        yield before / 300, (before + change) / 300, scale, weight, 0, words - 1  # ε counts


@logit_difference.holds("No change of the stream, no difference.")
def _(f, before, after, scale, output_weight, one, other):
    found = f(before, before, scale, output_weight, one, other).abs().max().item()
    if found > 1e-4:
        return f"Yours is {found:.3g}."


@logit_difference.holds("Exchanging the tokens changes the sign.")
def _(f, before, after, scale, output_weight, one, other):
    return changed(
        f(before, after, scale, output_weight, one, other),
        -f(before, after, scale, output_weight, other, one),
        "one way it is {}, the other way minus {}",
    )


@logit_difference.mistake("the norm of the change")
def _(before, after, scale, output_weight, one, other):
    """You norm the *change* of the stream. A norm of a difference is not the difference of the
    norms: each stream is divided by its own size."""
    return _rms(after - before, scale) @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("no norm")
def _(before, after, scale, output_weight, one, other):
    """You leave out the last norm. The output projection never sees the stream itself, which is
    many times as large."""
    return (after - before) @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("the scale forgotten")
def _(before, after, scale, output_weight, one, other):
    """You divide by the size and leave out the learned scale. Features that should weigh less
    then count as much as the others."""
    ones = torch.ones_like(scale)
    difference = _rms(after, ones) - _rms(before, ones)
    return difference @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("before minus after")
def _(before, after, scale, output_weight, one, other):
    """You subtract what is after from what is before. A change that favours the first token then
    comes out as one against it."""
    difference = _rms(before, scale) - _rms(after, scale)
    return difference @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("one token's logit")
def _(before, after, scale, output_weight, one, other):
    """You follow one token's logit. If both rise by as much, nothing is favoured: look at the other
    as well."""
    return (_rms(after, scale) - _rms(before, scale)) @ output_weight[one]


def _with_epsilon(x, scale, epsilon, *, outside=0.0):
    return scale * x / ((x.square().mean(dim=-1, keepdim=True) + epsilon).sqrt() + outside)


@logit_difference.mistake("ε left out")
def _(before, after, scale, output_weight, one, other):
    """You leave out ε. A stream of very small numbers is then blown up to size 1, which the model
    never does."""
    difference = _with_epsilon(after, scale, 0.0) - _with_epsilon(before, scale, 0.0)
    return difference @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("ε outside the root")
def _(before, after, scale, output_weight, one, other):
    """You add ε after the root has been taken. It then counts for much less than inside."""
    after = _with_epsilon(after, scale, 0.0, outside=1e-5)
    before = _with_epsilon(before, scale, 0.0, outside=1e-5)
    return (after - before) @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("the sum instead of the mean")
def _(before, after, scale, output_weight, one, other):
    """You divide by the length of the vector, the root of a sum. RMSNorm takes the root of a mean,
    so your result is too small by √d."""
    after, before = (
        scale * x / (x.square().sum(dim=-1, keepdim=True) + 1e-5).sqrt() for x in (after, before)
    )
    return (after - before) @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("another ε")
def _(before, after, scale, output_weight, one, other):
    """You take 10⁻⁶ for ε, as many norms do. This model's norm has another one."""
    difference = _with_epsilon(after, scale, 1e-6) - _with_epsilon(before, scale, 1e-6)
    return difference @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("the norm held fixed")
def _(before, after, scale, output_weight, one, other):
    """You divide both streams by the size of the one before. The change makes the stream larger or
    smaller, and the norm divides by the new size."""
    size = (before.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()
    return scale * (after - before) / size @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("probabilities instead of logits")
def _(before, after, scale, output_weight, one, other):
    """You compare probabilities. A logit is the number before softmax, which no other token of the
    vocabulary can change."""
    now, then = ((_rms(x, scale) @ output_weight.mT).softmax(dim=-1) for x in (after, before))
    return (now - then)[:, one] - (now - then)[:, other]


@logit_difference.mistake("a norm over the batch as well")
def _(before, after, scale, output_weight, one, other):
    """You divide by one size for the whole batch. Each text is normalised by itself."""
    after, before = (scale * x / (x.square().mean() + 1e-5).sqrt() for x in (after, before))
    return (after - before) @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("the mean taken off")
def _(before, after, scale, output_weight, one, other):
    """You subtract the mean of the features first, as a layer norm does. RMSNorm leaves it in."""
    after, before = (_rms(x - x.mean(dim=-1, keepdim=True), scale) for x in (after, before))
    return (after - before) @ (output_weight[one] - output_weight[other])
