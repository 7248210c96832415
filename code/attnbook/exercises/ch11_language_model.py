"""Exercises of chapter 11, "Is it the same in a language model?"."""

import math

import torch

from attnbook.exercises.declare import Exercise, MultipleChoice, NumericAnswer, Repair, Suspects
from attnbook.exercises.properties import changed
from attnbook.exercises.report import told_apart

without_the_first = MultipleChoice(
    "11.0",
    "Without the first token",
    hints=[
        "A head's weights have to sum to 1. What does the head do with them when it finds nothing?",
        "Hiding a token in all blocks deletes it. Which token is then the first one?",
    ],
    answer="C",
    because="Hiding a token in all blocks deletes it, and the next token takes its place. The "
    "heads rest on this token instead. But the value that the place hands over is needed, as the "
    "other rows show.",
)
without_the_first.wrong_option(
    "A",
    "a large weight is a large importance",
    "This takes the weight for the importance. But look at the other case in the question. If "
    "every token may look only at the first one, the first token has all the weight, and the loss "
    "is 8.3.",
)
without_the_first.wrong_option(
    "B",
    "half of the weight, half of the knowledge",
    "This takes the weight for knowledge of the text. But the first token could be any word, and "
    "without it, the second token takes its place.",
)
without_the_first.wrong_option(
    "D",
    "a wasted weight does harm",
    "This assumes that resting on the first token is a waste that harms the model. But the model "
    "was trained with this habit, and no later layer expects anything else, so the loss does not "
    "fall.",
)


next_token_head = MultipleChoice(
    "11.1",
    "The head that finds the next token",
    hints=[
        "At the second *d*, the model must predict *e*. Where in the text does it say what "
        "follows a *d*?",
        "Follow the row of *d* in each map, and read the name of the column with the strongest "
        "colour.",
    ],
    answer="A",
    figure=True,
    because="From the second *b* on, this head looks one place beyond the first occurrence of "
    "the token that it reads. So it finds what came next the first time.",
)
next_token_head.wrong_option(
    "B",
    "the token before",
    "This head has a clear diagonal. But it looks at the token right before the one that it "
    "reads, so from *d* it finds *c*.",
)
next_token_head.wrong_option(
    "C",
    "the same token",
    "This head finds each token's first occurrence. But there it finds only the token that it "
    "already reads, so from *d* it finds *d*.",
)
next_token_head.wrong_option(
    "D",
    "the strongest colour",
    "This head has the largest weights. But it looks at the first token from everywhere, so it "
    "finds the same whatever it reads.",
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
        "Which axis belongs to the keys? You need its first entry.",
        "The first query sees only one token, so its weight says nothing. Leave out this row.",
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


@sink_share.holds("If all later tokens look only at the first one, the share is 1.")
def _(f, maps):
    resting = torch.zeros_like(maps)
    resting[..., 0] = 1.0
    found = f(resting)
    if not torch.allclose(found, torch.ones(len(maps))):
        return f"You return {told_apart(found.min().item(), 1)}."


@sink_share.mistake("the largest head")
def _(maps):
    """You return the share of the head that looks most at the first token. But the share of a layer
    is the mean over its heads."""
    return maps[..., 1:, 0].mean(dim=2).amax(dim=1)


@sink_share.mistake("the first query's weight counted")
def _(maps):
    """You also count the first token's own row. But the first token can look nowhere else, so this
    weight is 1 in every head, and every share becomes too large."""
    return maps[..., 0].mean(dim=(1, 2))


@sink_share.mistake("rows and columns exchanged")
def _(maps):
    """You take the first *row*, which says where the first token looks. But the question asks which
    tokens look at it, and these weights are in a column."""
    return maps[..., 0, 1:].mean(dim=(1, 2))


@sink_share.mistake("one number for all layers")
def _(maps):
    """You average over the layers as well. But the largest differences are between early and late
    layers, and your average hides them."""
    return maps[..., 1:, 0].mean().expand(len(maps))


@sink_share.mistake("the largest weight")
def _(maps):
    """You take the largest weight of each row. But this weight is often on a token other than the
    first."""
    return maps[..., 1:, :].amax(dim=-1).mean(dim=(1, 2))


@sink_share.mistake("a sum over the heads")
def _(maps):
    """You add up the heads. A share can then be larger than 1."""
    return maps[..., 1:, 0].mean(dim=2).sum(dim=1)


@sink_share.mistake("the last query left out")
def _(maps):
    """You leave out the last query instead of the first. The first query can look only at the first
    token, so its weight of 1 makes every share too large."""
    return maps[..., :-1, 0].mean(dim=(1, 2))


@sink_share.mistake("divided by all queries")
def _(maps):
    """You leave out the first query's weight, but you divide by the number of all queries. Every
    share is then too small."""
    return maps[..., 1:, 0].sum(dim=(1, 2)) / (maps.shape[1] * maps.shape[2])


continuing = Exercise(
    "11.3",
    "Find the head that continues",
    hints=[
        "The token at place length + i was at place i before. Which token followed it there?",
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


@continuing.holds("A head that always looks at the token that followed has a score of 1.")
def _(f, maps, length):
    perfect = torch.zeros_like(maps)
    place = torch.arange(length, 2 * length)
    perfect[..., place, place - length + 1] = 1.0
    found = f(perfect, length)
    if not torch.allclose(found, torch.ones(maps.shape[:2])):
        return f"For such a head, you return {told_apart(found.min().item(), 1)}."


@continuing.mistake("the same token instead of the next one")
def _(maps, length):
    """You measure how much a head looks back at the *same* token. Such a head knows where the token
    was before, but not how the text went on."""
    return maps[..., length:, :].diagonal(0, dim1=-2, dim2=-1).mean(dim=-1)


@continuing.mistake("the token before")
def _(maps, length):
    """You measure how much a head looks at the token *before* the first occurrence. But the token
    that the model must predict is on the other side."""
    place = torch.arange(length, maps.shape[-1])
    return maps[..., place, (place - length - 1).clamp(min=0)].mean(dim=-1)


@continuing.mistake("the previous token")
def _(maps, length):
    """You measure how much a head looks at the previous token. Such a head is needed in an earlier
    block, but it continues nothing."""
    place = torch.arange(length, maps.shape[-1])
    return maps[..., place, place - 1].mean(dim=-1)


@continuing.mistake("both halves")
def _(maps, length):
    """You average over the first half as well, or divide by the length of both halves. But in the
    first half, no token is repeated, so a head can't continue anything."""
    copy = maps[..., length:, :].diagonal(1, dim1=-2, dim2=-1)
    return copy.sum(dim=-1) / maps.shape[-1]


@continuing.mistake("the last place left out")
def _(maps, length):
    """You leave out the last place of the copy. But its token was followed by a token, too: the
    first token of the copy."""
    copy = maps[..., length:-1, :]
    return copy.diagonal(1, dim1=-2, dim2=-1)[..., : length - 1].mean(dim=-1)


@continuing.mistake("the last place wrapped round")
def _(maps, length):
    """You let the last token be followed by the first token of the whole text. But it was followed
    by the first token of the copy."""
    place = torch.arange(length, 2 * length)
    return maps[..., place, (place - length + 1) % length].mean(dim=-1)


@continuing.mistake("the last query of the first half, too")
def _(maps, length):
    """You take one more query, from the end of the first half. But this query comes before the
    copy, and nothing has been repeated yet."""
    return maps.diagonal(1 - length, dim1=-2, dim2=-1).mean(dim=-1)


@continuing.mistake("query and key exchanged")
def _(maps, length):
    """You take keys for queries. But a row of a map belongs to the token that looks, and a column
    to the token that is looked at."""
    place = torch.arange(length, 2 * length)
    return maps[..., place - length + 1, place].mean(dim=-1)


grouped = Exercise(
    "11.4",
    "Heads that share their keys",
    hints=[
        "How many query heads belong to one key head? Neighbouring heads share.",
        "`repeat_interleave` makes neighbours, `repeat` does not.",
        "The rest is attention as usual: scores divided by √d_k, the mask, softmax, and the "
        "values.",
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


@grouped.holds("With as many key heads as query heads, each query head has its own keys.")
def _(f, query, key, value):
    own = query[:, : key.shape[1]]
    return changed(
        f(own, key, value),
        torch.cat([f(own[:, [h]], key[:, [h]], value[:, [h]]) for h in range(key.shape[1])], dim=1),
        "together an entry is {}, but head by head it is {}",
    )


@grouped.holds("No output changes when the value of a later token changes.")
def _(f, query, key, value):
    other = value.clone()
    other[..., -1, :] += 1.0
    before, after = f(query, key, value), f(query, key, other)
    return changed(before[..., :-1, :], after[..., :-1, :], "an earlier output goes from {} to {}")


@grouped.mistake("every second head shares")
def _(query, key, value):
    """You repeat the whole list of key heads. Neighbouring query heads then have different keys,
    and the groups are different from those in training."""
    group = query.shape[1] // key.shape[1]
    return _grouped(query, key, value, lambda x: x.repeat(1, group, 1, 1))


@grouped.mistake("one head of keys for all")
def _(query, key, value):
    """You use the first head of keys and values for all queries. This is multi-query attention, but
    here there are several heads of keys and values."""
    return _grouped(query, key, value, lambda x: x[:, :1].expand_as(query))


@grouped.mistake("no mask")
def _(query, key, value):
    """You leave out the mask. A language model that sees the next token has nothing left to
    predict."""
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    return (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1) @ value


@grouped.mistake("its own place hidden")
def _(query, key, value):
    """You hide a token's own place together with the future. The first token then sees nothing at
    all, and its row is left with zeros."""
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu()
    return scores.masked_fill(hidden, -math.inf).softmax(dim=-1).nan_to_num(0.0) @ value


@grouped.mistake("divided by the root of all features")
def _(query, key, value):
    """You divide by the root of the features of all heads together. But each head takes dot
    products of only its own features."""
    group = query.shape[1] // key.shape[1]
    query = query / math.sqrt(query.shape[1])
    return _grouped(query, key, value, lambda x: x.repeat_interleave(group, dim=1))


@grouped.mistake("divided by the root of all features that share")
def _(query, key, value):
    """You divide by the root of the features of all heads that share a key. But each head takes dot
    products of only its own features."""
    group = query.shape[1] // key.shape[1]
    query = query / math.sqrt(group)
    return _grouped(query, key, value, lambda x: x.repeat_interleave(group, dim=1))


@grouped.mistake("no scaling")
def _(query, key, value):
    """You leave out the division by √d_k. The weights are then sharper than in training."""
    group = query.shape[1] // key.shape[1]
    query = query * math.sqrt(query.shape[-1])
    return _grouped(query, key, value, lambda x: x.repeat_interleave(group, dim=1))


@grouped.mistake("groups of query heads that are not neighbours")
def _(query, key, value):
    """You cut the query heads as (heads in a group, groups). Heads that are not neighbours then
    share their keys, so most heads use the keys of a different group."""
    groups = key.shape[1]
    query = query.unflatten(1, (-1, groups)).transpose(1, 2).flatten(1, 2)
    group = query.shape[1] // groups
    return _grouped(query, key, value, lambda x: x.repeat_interleave(group, dim=1))


@grouped.mistake("keys of neighbours, values in turn")
def _(query, key, value):
    """You let neighbouring heads share keys, but you give them the values in turn. A head then
    finds a token by the keys of one head and gets the value of another."""
    group = query.shape[1] // key.shape[1]
    value = value.repeat(1, group, 1, 1)
    return _grouped(
        query, key, value, lambda x: x if x is value else x.repeat_interleave(group, dim=1)
    )


@grouped.mistake("future scores set to 0")
def _(query, key, value):
    """You set the scores of later tokens to 0. But e⁰ = 1, so they still get weight."""
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    scores = (query @ key.mT / math.sqrt(query.shape[-1])).tril()
    return scores.softmax(dim=-1) @ value


@grouped.mistake("a token that does not see itself")
def _(query, key, value):
    """You hide the token itself as well. The first token then sees nothing, and its row is NaN."""
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu()
    return scores.masked_fill(hidden, -math.inf).softmax(dim=-1) @ value


@grouped.mistake("the exponentials of large scores")
def _(query, key, value):
    """You take the exponentials of the scores as they are. The exponential of 256 is too large for
    the computer and becomes infinite, and infinity divided by infinity is NaN."""
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    shares = (query @ key.mT / math.sqrt(query.shape[-1])).exp().tril()
    return shares / shares.sum(dim=-1, keepdim=True) @ value


top_p = Repair(
    "11.5",
    "Debug this: top-p that keeps the wrong tokens",
    line=5,
    because="The probabilities are sorted, and have to go back to the tokens to which they belong. "
    "This line sorts them a second time instead.",
    hints=[
        "Even with p = 1, where nothing is cut, the loss is too high. Which lines do something "
        "else than cut?",
        "Take three tokens with the probabilities 0.1, 0.6 and 0.3, and p = 1. Write down `order`, "
        "and `kept` before and after line 5.",
    ],
)
top_p.right_line(
    1,
    "It turns the logits into probabilities. The tokens of the vocabulary are on the last axis, so "
    "softmax runs over this axis.",
)
top_p.right_line(
    2,
    "It puts the largest probability first. `order` says to which token each of the sorted "
    "probabilities belongs.",
)
top_p.right_line(
    3,
    "It is the sum of all larger probabilities. `cumsum` also counts the probability of the token "
    "itself, so this probability is subtracted again.",
)
top_p.right_line(
    4,
    "It keeps a token if those before it do not yet reach p. So the likeliest token always stays, "
    "and so does the one with which the sum reaches p.",
)
top_p.right_line(
    6,
    "It divides by the sum, so that the kept tokens share all of the probability. The sum does not "
    "depend on the order of the tokens.",
)


def _sorted(logits):  # the largest first, the sums of those before, and the tokens
    largest, order = logits.softmax(dim=-1).sort(dim=-1, descending=True)
    return largest, largest.cumsum(dim=-1) - largest, order


def _at_their_tokens(kept, order):
    kept = kept.scatter(-1, order, kept)
    return kept / kept.sum(dim=-1, keepdim=True)


@top_p.solution
def _(logits, p):
    probabilities = logits.softmax(dim=-1)
    largest, order = probabilities.sort(dim=-1, descending=True)
    before = largest.cumsum(dim=-1) - largest
    kept = largest * (before < p)
    kept = kept.scatter(-1, order, kept)
    return kept / kept.sum(dim=-1, keepdim=True)


@top_p.inputs
def _(generator):
    yield torch.tensor([[1.0, 3.0, 2.0]]), 0.9
    for batch, V, p in ((1, 1, 0.5), (2, 6, 0.7), (3, 9, 1.0), (4, 5, 0.2), (1, 12, 0.95)):
        yield 2 * torch.randn(batch, V, generator=generator), p


@top_p.holds("With p = 1, nothing is cut, so the result is the softmax of the logits.")
def _(f, logits, p):
    return changed(logits.softmax(dim=-1), f(logits, 1.0), "A probability should be {}, but is {}")


@top_p.holds("If the tokens change places, their probabilities move with them.")
def _(f, logits, p):
    return changed(
        f(logits, p).roll(1, dims=-1),
        f(logits.roll(1, dims=-1), p),
        "a probability is {} before and {} after",
    )


@top_p.broken
def _(logits, p):
    """The sorted probabilities still do not go back to their own tokens. So the model draws tokens
    that happen to be at other places of the order."""
    largest, before, order = _sorted(logits)
    kept = (largest * (before < p)).gather(-1, order)
    return kept / kept.sum(dim=-1, keepdim=True)


@top_p.mistake("left in the sorted order")
def _(logits, p):
    """You leave the probabilities in their sorted order. Token 0 then gets the largest probability,
    whatever the model expects."""
    largest, before, _ = _sorted(logits)
    kept = largest * (before < p)
    return kept / kept.sum(dim=-1, keepdim=True)


@top_p.mistake("the mask of the sorted tokens")
def _(logits, p):
    """You apply the cut, which is in the sorted order, to the unsorted probabilities. It then keeps
    the first tokens of the vocabulary, and not the likeliest ones."""
    _, before, _ = _sorted(logits)
    kept = logits.softmax(dim=-1) * (before < p)
    return kept / kept.sum(dim=-1, keepdim=True)


@top_p.mistake("sorted back, but not divided")
def _(logits, p):
    """You do not divide by the sum of what is kept. The probabilities of the kept tokens then sum
    to less than 1."""
    largest, before, order = _sorted(logits)
    kept = largest * (before < p)
    return kept.scatter(-1, order, kept)


@top_p.mistake("the token that reaches p is cut")
def _(logits, p):
    """You cut the token with which the sum reaches p. If the likeliest token alone reaches p,
    nothing is left, and the result is 0/0."""
    largest, before, order = _sorted(logits)
    return _at_their_tokens(largest * (before + largest < p), order)


@top_p.mistake("the least likely tokens")
def _(logits, p):
    """You sort with the smallest probability first. The cut then takes away the likeliest
    tokens."""
    smallest, order = logits.softmax(dim=-1).sort(dim=-1)
    before = smallest.cumsum(dim=-1) - smallest
    return _at_their_tokens(smallest * (before < p), order)


@top_p.mistake("in the order of the vocabulary")
def _(logits, p):
    """You add up the probabilities in the order of the vocabulary, without sorting them. What is
    kept then depends on the numbers of the tokens."""
    probabilities = logits.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    kept = probabilities * (before < p)
    return kept / kept.sum(dim=-1, keepdim=True)


@top_p.mistake("softmax of what is kept")
def _(logits, p):
    """You take the softmax of what is kept. The exponential of 0 is 1, so all tokens that were cut
    come back."""
    largest, before, order = _sorted(logits)
    kept = largest * (before < p)
    return kept.scatter(-1, order, kept).softmax(dim=-1)


def _best_of(heads, sentences):
    """How many sentences the best of some heads that guess gets right, on average."""
    up_to = [math.comb(sentences, k) / 2**sentences for k in range(sentences)]
    # the mean is the sum over k of the chance that the best has more than k right
    return sum(1 - sum(up_to[: k + 1]) ** heads for k in range(sentences))


logit_difference = Exercise(
    "11.7",
    "Which noun does a change favour?",
    hints=[
        "A logit is the dot product of the last vector with a token's row of the output "
        "projection.",
        "Only the difference of the two rows matters. It is one vector, with which you can compare "
        "both streams.",
        "RMSNorm is not linear, so first normalise each stream, and then take the difference.",
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


@logit_difference.holds("If the stream does not change, the result is 0.")
def _(f, before, after, scale, output_weight, one, other):
    found = f(before, before, scale, output_weight, one, other).abs().max().item()
    if found > 1e-4:
        return f"You return {found:.3g}."


@logit_difference.holds("Exchanging the tokens changes the sign.")
def _(f, before, after, scale, output_weight, one, other):
    return changed(
        f(before, after, scale, output_weight, one, other),
        -f(before, after, scale, output_weight, other, one),
        "one way it is {}, but the other way it is minus {}",
    )


@logit_difference.mistake("the norm of the change")
def _(before, after, scale, output_weight, one, other):
    """You normalise the *change* of the stream. But each stream is divided by its own size, so you
    must normalise before you subtract."""
    return _rms(after - before, scale) @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("no norm")
def _(before, after, scale, output_weight, one, other):
    """You leave out the last norm. But the output projection never reads the stream itself, which
    is many times as large."""
    return (after - before) @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("the scale forgotten")
def _(before, after, scale, output_weight, one, other):
    """You divide by the size and leave out the learned scale. Features that should count less then
    count as much as the others."""
    ones = torch.ones_like(scale)
    difference = _rms(after, ones) - _rms(before, ones)
    return difference @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("before minus after")
def _(before, after, scale, output_weight, one, other):
    """You subtract the difference after the change from the difference before it. A change that
    favours the first token then seems to be against it."""
    difference = _rms(before, scale) - _rms(after, scale)
    return difference @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("one token's logit")
def _(before, after, scale, output_weight, one, other):
    """You use the logit of only one token. But if both logits rise by the same amount, the change
    favours neither token, so you need both."""
    return (_rms(after, scale) - _rms(before, scale)) @ output_weight[one]


def _with_epsilon(x, scale, epsilon, *, outside=0.0):
    return scale * x / ((x.square().mean(dim=-1, keepdim=True) + epsilon).sqrt() + outside)


@logit_difference.mistake("ε left out")
def _(before, after, scale, output_weight, one, other):
    """You leave out ε. A stream of very small numbers is then scaled up to size 1, which the model
    never does."""
    difference = _with_epsilon(after, scale, 0.0) - _with_epsilon(before, scale, 0.0)
    return difference @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("ε outside the root")
def _(before, after, scale, output_weight, one, other):
    """You add ε after taking the root. There, ε has much less effect than under the root."""
    after = _with_epsilon(after, scale, 0.0, outside=1e-5)
    before = _with_epsilon(before, scale, 0.0, outside=1e-5)
    return (after - before) @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("the sum instead of the mean")
def _(before, after, scale, output_weight, one, other):
    """You divide by the length of the vector, which is the root of a sum. But RMSNorm takes the
    root of a mean, so your result is too small by a factor of √d."""
    after, before = (
        scale * x / (x.square().sum(dim=-1, keepdim=True) + 1e-5).sqrt() for x in (after, before)
    )
    return (after - before) @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("a different ε")
def _(before, after, scale, output_weight, one, other):
    """You take 10⁻⁶ for ε, as many norms do. But the norm of this model has a different ε."""
    difference = _with_epsilon(after, scale, 1e-6) - _with_epsilon(before, scale, 1e-6)
    return difference @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("the norm held fixed")
def _(before, after, scale, output_weight, one, other):
    """You divide both streams by the size of the stream before the change. But the change makes the
    stream larger or smaller, and the norm then divides by the new size."""
    size = (before.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()
    return scale * (after - before) / size @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("probabilities instead of logits")
def _(before, after, scale, output_weight, one, other):
    """You compare probabilities. But a logit is the number before softmax, and it does not depend
    on the other tokens of the vocabulary."""
    now, then = ((_rms(x, scale) @ output_weight.mT).softmax(dim=-1) for x in (after, before))
    return (now - then)[:, one] - (now - then)[:, other]


@logit_difference.mistake("a norm over the batch as well")
def _(before, after, scale, output_weight, one, other):
    """You divide by one size for the whole batch. But each text must be normalised by itself."""
    after, before = (scale * x / (x.square().mean() + 1e-5).sqrt() for x in (after, before))
    return (after - before) @ (output_weight[one] - output_weight[other])


@logit_difference.mistake("the mean subtracted")
def _(before, after, scale, output_weight, one, other):
    """You subtract the mean of the features first, as a layer norm does. But RMSNorm does not
    subtract the mean."""
    after, before = (_rms(x - x.mean(dim=-1, keepdim=True), scale) for x in (after, before))
    return (after - before) @ (output_weight[one] - output_weight[other])


best_by_chance = NumericAnswer(
    "11.8",
    "The best of 270 heads that know nothing",
    answer=_best_of(270, 20),
    within=0.05,
    hints=[
        "A head that knows nothing gets about half of the sentences right. How far from half are "
        "the luckiest of 270 heads?",
        "Of the 2²⁰ ways in which 20 sentences can turn out, how many have exactly k right ones? "
        "Look for the largest k that about one of the 270 heads reaches.",
    ],
)
best_by_chance.wrong_value(
    "a typical head",
    10.0,
    "You gave the mean of all heads. But the best one was chosen among 270 because it had more "
    "luck than the others.",
)
best_by_chance.wrong_value(
    "one standard deviation above the mean",
    10 + math.sqrt(5),
    "You added one standard deviation to the mean. But about every sixth head has that much luck, "
    "and the best of 270 has more.",
)
best_by_chance.wrong_value(
    "two standard deviations above the mean",
    10 + 2 * math.sqrt(5),
    "This is about two standard deviations above the mean, the limit for a test of one head. But "
    "with 270 heads, several exceed this limit by luck.",
)
best_by_chance.wrong_value(
    "always right",
    20.0,
    "You assumed that among so many heads, one is always right. But a head that guesses gets all "
    "20 sentences right only once in a million tests.",
)
best_by_chance.wrong_value(
    "the spread of twenty, not of ten",
    10 + 2.8 * math.sqrt(10),
    "You seem to have taken the root of 20 · ½ as the standard deviation. But the variance of one "
    "sentence is ½ · ½, so the standard deviation is smaller.",
)


what_a_head_adds = Suspects(
    "11.9",
    "What one head adds",
    hints=[
        "What must come out if you add up what all heads add? You can compute this without knowing "
        "which features belong to which head.",
        "Wrong functions can have the right sum, too. So change the features of one head. Whose "
        "result must change, and whose must not?",
        "Three heads with several features each, and random numbers, show more than two heads or "
        "round numbers.",
    ],
)


def _own(merged, num_heads, head):
    """The features of a head."""
    d_k = merged.shape[-1] // num_heads
    return slice(head * d_k, (head + 1) * d_k)


def _without(merged, num_heads, head):
    kept = merged.clone()
    kept[..., _own(merged, num_heads, head)] = 0.0
    return kept


@what_a_head_adds.right("multiplies the features of the head by their columns of W_O")
def _(merged, output_weight, num_heads, head):
    own = _own(merged, num_heads, head)
    return merged[..., own] @ output_weight[:, own].mT


@what_a_head_adds.wrong("takes every `num_heads`-th feature for those of the head")
def _(merged, output_weight, num_heads, head):
    own = slice(head, None, num_heads)
    return merged[..., own] @ output_weight[:, own].mT


@what_a_head_adds.wrong("takes rows of W_O instead of columns")
def _(merged, output_weight, num_heads, head):
    own = _own(merged, num_heads, head)
    return merged[..., own] @ output_weight[own]


@what_a_head_adds.right("subtracts what all other heads add from what all heads add")
def _(merged, output_weight, num_heads, head):
    others = _without(merged, num_heads, head) @ output_weight.mT
    return merged @ output_weight.mT - others


@what_a_head_adds.wrong("returns what all other heads add")
def _(merged, output_weight, num_heads, head):
    return _without(merged, num_heads, head) @ output_weight.mT


@what_a_head_adds.right("sets the features of all other heads to 0")
def _(merged, output_weight, num_heads, head):
    return (merged - _without(merged, num_heads, head)) @ output_weight.mT


@what_a_head_adds.right("gives the features of each head an axis of their own", kept_back=True)
def _(merged, output_weight, num_heads, head):
    features, columns = (x.unflatten(-1, (num_heads, -1)) for x in (merged, output_weight))
    return torch.einsum("blhd,ohd->blho", features, columns)[:, :, head]


@what_a_head_adds.wrong("reshapes `merged` so that a head mixes several tokens", kept_back=True)
def _(merged, output_weight, num_heads, head):
    batch, length, d = merged.shape
    parts = merged.reshape(batch, num_heads, length, d // num_heads)
    return parts[:, head] @ output_weight[:, _own(merged, num_heads, head)].mT


@what_a_head_adds.wrong("uses the first sentence for all sentences", kept_back=True)
def _(merged, output_weight, num_heads, head):
    own = _own(merged, num_heads, head)
    return merged[:1, :, own].expand(len(merged), -1, -1) @ output_weight[:, own].mT


@what_a_head_adds.wrong("returns what the head before adds", kept_back=True)
def _(merged, output_weight, num_heads, head):
    own = _own(merged, num_heads, (head - 1) % num_heads)
    return merged[..., own] @ output_weight[:, own].mT


@what_a_head_adds.wrong("takes all features from the first of the head on", kept_back=True)
def _(merged, output_weight, num_heads, head):
    own = slice(_own(merged, num_heads, head).start, None)
    return merged[..., own] @ output_weight[:, own].mT


@what_a_head_adds.wrong("counts the heads from the last to the first", kept_back=True)
def _(merged, output_weight, num_heads, head):
    own = _own(merged, num_heads, num_heads - 1 - head)
    return merged[..., own] @ output_weight[:, own].mT


@what_a_head_adds.wrong("begins each head one feature after the head before", kept_back=True)
def _(merged, output_weight, num_heads, head):
    own = slice(head, head + merged.shape[-1] // num_heads)
    return merged[..., own] @ output_weight[:, own].mT


@what_a_head_adds.wrong("gives each head as many features as there are heads", kept_back=True)
def _(merged, output_weight, num_heads, head):
    own = slice(head * num_heads, (head + 1) * num_heads)
    return merged[..., own] @ output_weight[:, own].mT


@what_a_head_adds.wrong(
    "uses the right columns of W_O, but every `num_heads`-th feature", kept_back=True
)
def _(merged, output_weight, num_heads, head):
    own = _own(merged, num_heads, head)
    return merged[..., head::num_heads] @ output_weight[:, own].mT


@what_a_head_adds.wrong("gives each head an equal share of what all heads add", kept_back=True)
def _(merged, output_weight, num_heads, head):
    return merged @ output_weight.mT / num_heads


@what_a_head_adds.wrong("divides what the head adds by the number of heads", kept_back=True)
def _(merged, output_weight, num_heads, head):
    own = _own(merged, num_heads, head)
    return merged[..., own] @ output_weight[:, own].mT / num_heads


@what_a_head_adds.wrong("returns the features of the head without W_O", kept_back=True)
def _(merged, output_weight, num_heads, head):
    return merged - _without(merged, num_heads, head)


def _sum_is_whole(f, merged, output_weight, num_heads):
    updates = [f(merged, output_weight, num_heads, head) for head in range(num_heads)]
    return torch.allclose(sum(updates), merged @ output_weight.mT, atol=1e-4)


def _only_own_features(f, merged, output_weight, num_heads, own=0, alike=torch.allclose, **room):
    """Whether the features of one head change what this head adds, and nothing else."""
    other = merged.clone()
    other[..., _own(merged, num_heads, own)] += 1.0
    return all(
        alike(*(f(x, output_weight, num_heads, head) for x in (merged, other)), **room)
        == (head != own)
        for head in range(num_heads)
    )


def _known_update(f, merged, weight, num_heads, head):
    own = _own(merged, num_heads, head)
    right = merged[..., own] @ weight[:, own].mT
    return torch.allclose(f(merged, weight, num_heads, head), right, atol=1e-4)


@what_a_head_adds.solution
def _(f):
    inputs = torch.randn(2, 4, 12), torch.randn(12, 12), 3
    return _sum_is_whole(f, *inputs) and _only_own_features(f, *inputs, atol=1e-4)


@what_a_head_adds.mistake("only the sum over the heads")
def _(f):
    """You test only that the heads sum to the whole update. A function can share out the features,
    or the update itself, in a wrong way and still have the right sum."""
    return _sum_is_whole(f, torch.randn(2, 4, 12), torch.randn(12, 12), 3)


@what_a_head_adds.mistake("only the sum over two heads")
def _(f):
    """You test only that two heads sum to the whole update. With two heads, the sum is the same if
    each returns what the other one adds."""
    return _sum_is_whole(f, torch.randn(2, 4, 12), torch.randn(12, 12), 2)


@what_a_head_adds.mistake("only which features count")
def _(f):
    """You test only whose features change which result. Your test doesn't ask how large a result
    is, nor whether W_O is used correctly."""
    return _only_own_features(f, torch.randn(2, 4, 12), torch.randn(12, 12), 3, atol=1e-4)


@what_a_head_adds.mistake("a W_O that equals its transpose")
def _(f):
    """Your W_O equals its transpose, as the identity does. So rows and columns are the same, and
    your test can't see which of them a function takes."""
    half = torch.randn(12, 12)
    inputs = torch.randn(2, 4, 12), half + half.mT, 3
    return _sum_is_whole(f, *inputs) and _only_own_features(f, *inputs, atol=1e-4)


@what_a_head_adds.mistake("the identity as W_O")
def _(f):
    """Your W_O is the identity, which changes nothing. So your test can't see how a function uses
    W_O, nor whether it uses it at all."""
    inputs = torch.randn(2, 4, 12), torch.eye(12), 3
    return _sum_is_whole(f, *inputs) and _only_own_features(f, *inputs, atol=1e-4)


@what_a_head_adds.mistake("heads with one feature")
def _(f):
    """Your heads have one feature each. Then features that are side by side can't be told from
    features that are further apart."""
    inputs = torch.randn(2, 4, 3), torch.randn(3, 3), 3
    return _sum_is_whole(f, *inputs) and _only_own_features(f, *inputs, atol=1e-4)


@what_a_head_adds.mistake("as many heads as features of a head")
def _(f):
    """In your input, there are as many heads as features of a head. So your test can't see which
    of the two numbers a function uses."""
    merged, weight = torch.randn(2, 4, 9), torch.randn(9, 9)
    return all(_known_update(f, merged, weight, 3, head) for head in range(3))


@what_a_head_adds.mistake("equal features")
def _(f):
    """All features in your `merged` are equal. So your test can't see which of them a function
    takes for a head."""
    merged, weight = torch.ones(2, 4, 12), torch.randn(12, 12)
    return all(_known_update(f, merged, weight, 3, head) for head in range(3))


@what_a_head_adds.mistake("only the middle head")
def _(f):
    """You change the features of the middle head. It is the middle one from both ends, so your test
    can't see whether a function counts the heads from the first."""
    inputs = torch.randn(2, 4, 12), torch.randn(12, 12), 3
    return _sum_is_whole(f, *inputs) and _only_own_features(f, *inputs, own=1, atol=1e-4)


@what_a_head_adds.mistake("only the first head")
def _(f):
    """You try only head 0. It begins at feature 0, so your test can't see where a function lets
    the other heads begin."""
    merged, weight = torch.randn(2, 4, 12), torch.randn(12, 12)
    return _known_update(f, merged, weight, 3, 0)


@what_a_head_adds.mistake("one token only")
def _(f):
    """Your sentences have a single token. So your test can't see whether a function keeps the
    tokens apart."""
    inputs = torch.randn(2, 1, 12), torch.randn(12, 12), 3
    return _sum_is_whole(f, *inputs) and _only_own_features(f, *inputs, atol=1e-4)


@what_a_head_adds.mistake("one sentence only")
def _(f):
    """Your batch has a single sentence. So your test can't see whether a function keeps the
    sentences apart."""
    inputs = torch.randn(1, 4, 12), torch.randn(12, 12), 3
    return _sum_is_whole(f, *inputs) and _only_own_features(f, *inputs, atol=1e-4)


@what_a_head_adds.mistake("a single head")
def _(f):
    """You try a single head, whose update is the whole update. Your test then can't see which
    features or which number a function takes for a head."""
    return _sum_is_whole(f, torch.randn(2, 4, 12), torch.randn(12, 12), 1)


@what_a_head_adds.mistake("no room for rounding")
def _(f):
    """You demand that a result is the same to the last bit when other features change. But a right
    function may compute with the other features and subtract them again, which rounds a little."""
    inputs = torch.randn(2, 4, 12), torch.randn(12, 12), 3
    return _sum_is_whole(f, *inputs) and _only_own_features(f, *inputs, alike=torch.equal)


@what_a_head_adds.mistake("only shapes")
def _(f):
    """No function fails your test. The shape of the result, for example, is always right."""
    return f(torch.randn(2, 4, 12), torch.randn(12, 12), 3, 1).shape == (2, 4, 12)
