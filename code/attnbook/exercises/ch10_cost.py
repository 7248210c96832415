"""Exercises of chapter 10, "What does attention cost?"."""

import math

import torch

from attnbook.exercises.declare import Exercise, MultipleChoice, NumericAnswer, Repair, Suspects
from attnbook.exercises.properties import changed, row_sums
from attnbook.exercises.report import told_apart

cost_of_the_fused_version = MultipleChoice(
    "10.0",
    "What the fused version saves",
    hints=[
        "How many products of a query with a key does the output depend on, however it is "
        "computed?",
        "To get the output alone, must any score be computed twice?",
    ],
    answer="A",
    because="Every query still meets every key, so the operations remain. Only the numbers in "
    "between are no longer stored, and here this saving did not cost time.",
)
cost_of_the_fused_version.wrong_option(
    "B",
    "what is not kept is not computed",
    "This takes storing for computing. The scores are dropped at once, but every query still meets "
    "every key. Look at the factor by which the time of the fused version grows.",
)
cost_of_the_fused_version.wrong_option(
    "C",
    "less memory must cost time",
    "It is true that saving memory often takes more time, and the backward pass does compute "
    "scores again. But here, only the output is needed. Compare the two rows of times.",
)


cache_size = NumericAnswer(
    "10.1",
    "The size of a cache",
    answer=1536.0,
    within=0.02,
    hints=[
        "What does one layer keep for one token of one text? To which heads does it belong?",
        "Use equation (10.13), with the heads that are cached. All numbers contain powers of two, "
        "so divide by 2²⁰ before you multiply.",
    ],
)
cache_size.wrong_value(
    "keys without values",
    768.0,
    "You counted one tensor for each layer. Keys alone give weights, but a new token also needs "
    "the values that get these weights.",
)
cache_size.wrong_value(
    "the query heads",
    6144.0,
    "You counted 16 heads. But queries of earlier tokens are never used again, so the number of "
    "query heads does not matter here.",
)
cache_size.wrong_value(
    "one text",
    192.0,
    "You counted the cache of a single text. But the texts have different tokens, so each text "
    "needs a cache of its own.",
)
cache_size.wrong_value(
    "numbers instead of bytes",
    384.0,
    "You counted numbers. But each number takes several bytes, as the task says.",
)
cache_size.wrong_value(
    "bytes instead of mebibytes",
    1536.0 * 2**20,
    "You gave the number of bytes. But the question asks for mebibytes, and each has 2²⁰ bytes.",
)
cache_size.wrong_value(
    "gibibytes instead of mebibytes",
    1.5,
    "You divided by 2³⁰, which gives gibibytes. But a mebibyte has 2²⁰ bytes.",
)
cache_size.wrong_value(
    "one layer",
    64.0,
    "You counted one layer. But every layer makes its own keys and values, and none can use those "
    "of another layer.",
)
cache_size.wrong_value(
    "megabytes instead of mebibytes",
    2 * 24 * 4 * 64 * 4096 * 8 * 4 / 1e6,
    "You divided by a million. But a mebibyte has almost five per cent more bytes than that.",
)


def _layer_flops(length, d_model, num_heads, kv_heads):
    d_kv = d_model // num_heads * kv_heads
    projections = 2 * length * d_model * (2 * d_model + 2 * d_kv)
    return projections, 4 * length**2 * d_model, d_kv


layer_flops = Exercise(
    "10.2",
    "Operations of a layer with shared keys",
    hints=[
        "Which of the four projections become smaller when heads share keys and values, and how "
        "many features do these projections make?",
        "How many rows of scores are there in all? Does a query head that shares its keys compute "
        "fewer scores?",
    ],
)


@layer_flops.solution
def _(length, d_model, num_heads, kv_heads):
    projections, inner, _ = _layer_flops(length, d_model, num_heads, kv_heads)
    return projections + inner


@layer_flops.inputs
def _(generator):
    yield 2, 4, 2, 1
    yield from [(10, 64, 8, 2), (300, 96, 6, 3), (7, 48, 12, 4)]
    yield 50, 32, 4, 4


@layer_flops.holds("With as many key heads as query heads, the number is (10.1) + (10.2).")
def _(f, length, d_model, num_heads, kv_heads):
    found = f(length, d_model, num_heads, num_heads)
    if not math.isclose(found, 4 * length**2 * d_model + 8 * length * d_model**2):
        return (
            f"For length={length}, d_model={d_model} and {num_heads} heads, you return {found:g}."
        )


@layer_flops.holds("Sharing saves operations, but only in two projections.")
def _(f, length, d_model, num_heads, kv_heads):
    full = f(length, d_model, num_heads, num_heads)
    saved = full - f(length, d_model, num_heads, 1)
    if num_heads > 1 and not 0 < saved < 4 * length * d_model**2:
        return (
            f"For length={length} and d_model={d_model}, one key head instead of {num_heads} saves "
            f"{saved:g} operations in your count."
        )


@layer_flops.mistake("scores shared, too")
def _(length, d_model, num_heads, kv_heads):
    """You count the scores of only one head in each group. But although the keys are shared, every
    query head has its own queries, and so its own scores."""
    projections, inner, _ = _layer_flops(length, d_model, num_heads, kv_heads)
    return projections + inner * kv_heads // num_heads


@layer_flops.mistake("nothing shared")
def _(length, d_model, num_heads, kv_heads):
    """You make all four projections equally large. But here, two of them make fewer features."""
    _, inner, _ = _layer_flops(length, d_model, num_heads, kv_heads)
    return 8 * length * d_model**2 + inner


@layer_flops.mistake("one of the large projections forgotten")
def _(length, d_model, num_heads, kv_heads):
    """A projection from d_model to d_model features is missing in your count. There are two such
    projections: one before the heads, for the queries, and one after them, for the outputs of all
    heads."""
    projections, inner, _ = _layer_flops(length, d_model, num_heads, kv_heads)
    return projections - 2 * length * d_model**2 + inner


@layer_flops.mistake("multiplications alone")
def _(length, d_model, num_heads, kv_heads):
    """Your count is half of the right one, as if a multiplication and the addition after it were
    one operation. Many texts count this way, but (10.1) and (10.2) count both."""
    projections, inner, _ = _layer_flops(length, d_model, num_heads, kv_heads)
    return (projections + inner) // 2


@layer_flops.mistake("half of the work between the projections")
def _(length, d_model, num_heads, kv_heads):
    """You count half of the operations with L². There are two products: of queries with keys, and
    of weights with values. All their entries are computed, and each entry needs additions as well
    as multiplications."""
    projections, inner, _ = _layer_flops(length, d_model, num_heads, kv_heads)
    return projections + inner // 2


@layer_flops.mistake("each head with d_model features")
def _(length, d_model, num_heads, kv_heads):
    """You multiply the work between the projections by the number of heads. But each head has only
    its share of the features, so all heads together need as many operations as one wide head."""
    projections, inner, _ = _layer_flops(length, d_model, num_heads, kv_heads)
    return projections + inner * num_heads


@layer_flops.mistake("only one of the two projections smaller")
def _(length, d_model, num_heads, kv_heads):
    """You make only one projection smaller. But a group of heads shares both its keys and its
    values."""
    _, inner, d_kv = _layer_flops(length, d_model, num_heads, kv_heads)
    return 2 * length * d_model * (3 * d_model + d_kv) + inner


def _random(generator, *shape):
    return torch.randn(shape, generator=generator)


def _scores(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1])


def _future(query, key, first_query, first_key):
    p = first_query + torch.arange(query.shape[-2])[:, None]
    return first_key + torch.arange(key.shape[-2]) > p


pool_heads = Exercise(
    "10.3",
    "From many heads of keys to few",
    hints=[
        "Give the rows three axes instead of one: the group, the head in the group, and the "
        "feature.",
        "`weight.unflatten(0, (…, …, …))` makes these axes. Take the mean over one of the three.",
    ],
)


def _heads(weight, num_heads, kv_heads):
    """The rows as (group, head in the group, feature, d_model)."""
    return weight.unflatten(0, (kv_heads, num_heads // kv_heads, -1))


@pool_heads.solution
def _(weight, num_heads, kv_heads):
    return _heads(weight, num_heads, kv_heads).mean(dim=1).flatten(0, 1)


@pool_heads.inputs
def _(generator):
    yield torch.arange(8.0)[:, None].square(), 4, 2
    for shape, heads, groups in [
        ((18, 7), 6, 2),
        ((24, 6), 12, 3),
        ((2, 1), 2, 1),
    ]:
        yield _random(generator, *shape), heads, groups


@pool_heads.holds("If the heads of a group are equal, the group's head is equal to them.")
def _(f, weight, num_heads, kv_heads):
    first = _heads(weight, num_heads, kv_heads)[:, :1]
    alike = first.expand(-1, num_heads // kv_heads, -1, -1).flatten(0, 2)
    return changed(
        first.flatten(0, 2),
        f(alike, num_heads, kv_heads),
        "in the heads an entry is {}, but in the group it is {}",
    )


@pool_heads.holds("A group depends only on its own heads.")
def _(f, weight, num_heads, kv_heads):
    other = weight.clone()
    other[: len(weight) // kv_heads] += 1.0
    half = len(weight) // num_heads
    return changed(
        f(weight, num_heads, kv_heads)[half:],
        f(other, num_heads, kv_heads)[half:],
        "when the first group changes, an entry of a different group goes from {} to {}",
    )


@pool_heads.mistake("the first head of each group")
def _(weight, num_heads, kv_heads):
    """You keep one head of each group and drop the others. Everything that the dropped heads had
    learned is then lost."""
    return _heads(weight, num_heads, kv_heads)[:, 0].flatten(0, 1)


@pool_heads.mistake("the sum")
def _(weight, num_heads, kv_heads):
    """You add up the heads of a group. The larger the group is, the larger the keys and the scores
    then become, and the weights are too sharp."""
    return _heads(weight, num_heads, kv_heads).sum(dim=1).flatten(0, 1)


@pool_heads.mistake("the largest instead of the mean")
def _(weight, num_heads, kv_heads):
    """You take the largest number among the heads of a group, entry by entry. The results are then
    too large on average, and each entry comes from a single head."""
    return _heads(weight, num_heads, kv_heads).amax(dim=1).flatten(0, 1)


@pool_heads.mistake("every other head in a group")
def _(weight, num_heads, kv_heads):
    """You put heads into a group that are not neighbours. Queries of a head may then meet a mean of
    keys that does not include the keys of this head."""
    heads = weight.unflatten(0, (num_heads // kv_heads, kv_heads, -1))
    return heads.mean(dim=0).flatten(0, 1)


@pool_heads.mistake("neighbouring features instead of heads")
def _(weight, num_heads, kv_heads):
    """You average neighbouring rows. But these rows are features of one head, and the mean of
    different features is none of them."""
    return weight.unflatten(0, (-1, num_heads // kv_heads)).mean(dim=1)


@pool_heads.mistake("the first heads of all")
def _(weight, num_heads, kv_heads):
    """You keep the first heads and drop all the others. The later groups then get keys of heads
    that do not belong to them."""
    return weight.unflatten(0, (num_heads, -1))[:kv_heads].flatten(0, 1)


@pool_heads.mistake("one mean for all groups")
def _(weight, num_heads, kv_heads):
    """You average over all heads and give every group the result. This is multi-query attention
    with copies."""
    mean = weight.unflatten(0, (num_heads, -1)).mean(dim=0)
    return mean.repeat(kv_heads, 1)


decode_step = Exercise(
    "10.4",
    "One step of decoding",
    hints=[
        "Give the query heads two axes: the group, and the head within the group. Then each group "
        "meets its own keys.",
        "`query.unflatten(1, (kv_heads, -1))` has the shape `(batch, kv_heads, group, d_k)`, which "
        "fits a product with `keys.mT`.",
        "The keys that are in use differ from text to text, but not from head to head. So the mask "
        "needs two axes of size 1.",
    ],
)


def _decode(query, keys, values, used=None, *, scale=None, fill=-math.inf):
    scores = query.unflatten(1, (keys.shape[1], -1)) @ keys.mT
    scores = scores / (scale or math.sqrt(query.shape[-1]))
    if used is not None:
        scores = scores.masked_fill(~used[:, None, None], fill)
    return (scores.softmax(dim=-1) @ values).flatten(1, 2)


def _used(keys, lengths):
    return torch.arange(keys.shape[-2]) < lengths[:, None]


@decode_step.solution
def _(query, keys, values, lengths):
    return _decode(query, keys, values, _used(keys, lengths))


@decode_step.inputs
def _(generator):
    yield (
        torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 0.0]]]),
        torch.tensor([[[[1.0, 0.0], [0, 1], [3, 3]], [[0, 2], [1, 1], [1, 0]]]]),
        torch.tensor([[[[4.0, 0.0], [0, 4], [9, 9]], [[1, 2], [3, 0], [7, 7]]]]),
        torch.tensor([2]),
    )
    yield (  # the only score that counts is −1024, and the other one is 1024
        torch.tensor([[[32.0]]]),
        torch.tensor([[[[-32.0], [32.0]]]]),
        torch.tensor([[[[1.0], [2.0]]]]),
        torch.tensor([1]),
    )
    for batch, heads, kv_heads, length, d, lengths in [
        (3, 4, 2, 6, 5, [6, 2, 4]),
        (2, 6, 2, 5, 4, [1, 4]),
        (2, 1, 1, 1, 1, [1, 1]),
        (4, 8, 2, 4, 6, [2, 3, 1, 3]),
    ]:
        yield (
            _random(generator, batch, heads, d),
            _random(generator, batch, kv_heads, length, d),
            _random(generator, batch, kv_heads, length, d),
            torch.tensor(lengths),
        )


@decode_step.holds("The numbers beyond a text's length do not matter.")
def _(f, query, keys, values, lengths):
    used = _used(keys, lengths)[:, None, :, None]
    return changed(
        f(query, keys, values, lengths),
        f(query, keys.where(used, 2.0), values.where(used, -5.0), lengths),
        "other leftovers turn an output of {} into {}",
    )


@decode_step.holds("The first heads do not see the last key head.")
def _(f, query, keys, values, lengths):
    group = query.shape[1] // keys.shape[1]
    other = torch.cat([values[:, :-1], values[:, -1:] + 3.0], dim=1)
    return changed(
        f(query, keys, values, lengths)[:, :-group],
        f(query, keys, other, lengths)[:, :-group],
        "other values there turn {} into {}",
    )


@decode_step.mistake("the lengths ignored")
def _(query, keys, values, lengths):
    """You attend to the whole buffer. Leftovers of earlier texts then get weight."""
    return _decode(query, keys, values)


@decode_step.mistake("heads assigned in turn")
def _(query, keys, values, lengths):
    """You give query head i the key head i mod kv_heads. Neighbouring heads then use different
    keys, so most heads use the keys of a different group."""
    repeats = query.shape[1] // keys.shape[1]
    keys, values = (keys.repeat(1, repeats, 1, 1), values.repeat(1, repeats, 1, 1))
    return _decode(query, keys, values, _used(keys, lengths))


@decode_step.mistake("one token too few")
def _(query, keys, values, lengths):
    """You leave out the last token in use. But this is the new token, which must see itself. And of
    a text with a single token, nothing is left."""
    return _decode(query, keys, values, _used(keys, lengths - 1))


@decode_step.mistake("the new token left out")
def _(query, keys, values, lengths):
    """You leave out the last token in use if there are others. But this is the new token, which
    must also see itself."""
    return _decode(query, keys, values, _used(keys, (lengths - 1).clamp(min=1)))


@decode_step.mistake("one token too many")
def _(query, keys, values, lengths):
    """You let the token after the last one in use take part. But in all texts that do not fill the
    buffer, this token is a leftover."""
    return _decode(query, keys, values, _used(keys, lengths + 1))


@decode_step.mistake("no scaling")
def _(query, keys, values, lengths):
    """You leave out the division by √d_k. The weights are then sharper than in training."""
    return _decode(query, keys, values, _used(keys, lengths), scale=1.0)


@decode_step.mistake("hidden scores set to 0")
def _(query, keys, values, lengths):
    """You set the scores of leftovers to 0. But e⁰ = 1, so they still get weight."""
    return _decode(query, keys, values, _used(keys, lengths), fill=0.0)


@decode_step.mistake("the first token alone")
def _(query, keys, values, lengths):
    """You let the queries see only the first token. This happens if a causal mask is applied to a
    single query. The mask takes it for the first query of the text, although it is the last."""
    return _decode(query, keys, values, _used(keys, torch.ones_like(lengths)))


@decode_step.mistake("the longest text's length for all")
def _(query, keys, values, lengths):
    """You cut the buffer where the longest text ends. But the shorter texts still attend to
    leftovers."""
    longest = lengths.max().expand_as(lengths)
    return _decode(query, keys, values, _used(keys, longest))


@decode_step.mistake("the first head of keys for all")
def _(query, keys, values, lengths):
    """You let all heads use the first head of keys and values, as in multi-query attention. The
    other heads of the cache are then never read."""
    return _decode(query, keys[:, :1], values[:, :1], _used(keys, lengths))


@decode_step.mistake("divided by the root of the buffer's length")
def _(query, keys, values, lengths):
    """You divide by the root of the number of slots. But a score is a sum over the features of a
    head, and it grows with the number of these features."""
    root = math.sqrt(keys.shape[-2])
    return _decode(query, keys, values, _used(keys, lengths), scale=root)


softmax_in_blocks = Repair(
    "10.5",
    "Debug this: a softmax in blocks that forgets its best score",
    line=5,
    because="It subtracts the largest score of its own block, even if an earlier block has a "
    "larger one. The new terms are then too large beside the old sums.",
    hints=[
        "Which letters get weight although the query does not ask for them? Do their blocks come "
        "before the block of the right letter, or after it?",
        "Take two blocks of one score each, first 2 and then 0. What do `old` and `new` have to be "
        "in the second block, and what are they?",
    ],
)
softmax_in_blocks.right_line(
    1,
    "It takes the next block of scores. The last block may be smaller, but no other line depends "
    "on the size of a block.",
)
softmax_in_blocks.right_line(
    2,
    "It finds the largest score of the block, for each query. The axis is kept, so that the result "
    "can be compared with all scores of the query.",
)
softmax_in_blocks.right_line(
    3,
    "It is the largest score so far, because `clamp` replaces `best` by `m` where `m` is larger. "
    "In the first block, `m` is −∞ and replaces nothing.",
)
softmax_in_blocks.right_line(
    4,
    "It is the factor that corrects the old sums when the maximum grows. In the first block, it is "
    "0, and there is nothing to correct.",
)
softmax_in_blocks.right_line(
    6,
    "It corrects the old denominator and adds the new terms, as (10.5) does. If the new terms were "
    "right, the denominator would be right, too.",
)
softmax_in_blocks.right_line(
    7,
    "It corrects the old numerator and adds the new terms times their values, as (10.6) does. If "
    "the new terms were right, the numerator would be right, too.",
)
softmax_in_blocks.right_line(
    8,
    "It keeps the largest score so far for the next block. It has to be the last line of the loop, "
    "because line 4 needs the old maximum.",
)
softmax_in_blocks.right_line(
    9,
    "It divides the numerator by the denominator. This has to happen only once, after the last "
    "block.",
)


def _blocks(scores, value, block):
    return zip(scores.split(block, dim=-1), value.split(block, dim=-2), strict=True)


@softmax_in_blocks.solution
def _(scores, value, block):
    m, total, mix = -math.inf, 0.0, 0.0
    for j in range(0, scores.shape[-1], block):
        s = scores[..., j : j + block]
        best = s.amax(dim=-1, keepdim=True)
        new_m = best.clamp(min=m)
        old = (m - new_m).exp()
        new = (s - new_m).exp()
        total = old * total + new.sum(dim=-1, keepdim=True)
        mix = old * mix + new @ value[..., j : j + block, :]
        m = new_m
    return mix / total


@softmax_in_blocks.inputs
def _(generator):
    yield torch.tensor([[[2.0, 0.0]]]), torch.tensor([[[3.0], [9.0]]]), 1
    for queries, keys, d, block in ((1, 5, 3, 2), (3, 7, 1, 3), (2, 4, 2, 4), (2, 3, 4, 9)):
        yield (
            2 * torch.randn(2, queries, keys, generator=generator),
            torch.randn(2, keys, d, generator=generator),
            block,
        )
    for block, *large in (
        (1, [[997.0, 998.0, 999.0, 1000.0]]),  # each score is the largest so far
        (1, [[-1000.0, 0.0, 999.0, 1000.0]]),  # and far above those before
        (1, [[1000.0, -1000.0, 999.0, 0.0], [-901.0, -900.0, -1000.0, -899.0]]),
        (2, [[-1000.0, 1000.0, 999.0, -1000.0]], [[-903.0, -904.0, -902.0, -900.0]]),
    ):
        value = torch.tensor([[[1.0], [2.0], [4.0], [8.0]]]).repeat(len(large), 1, 1)
        yield torch.tensor(large), value, block


@softmax_in_blocks.holds("The size of the blocks does not change the result.")
def _(f, scores, value, block):
    at_once = f(scores, value, scores.shape[-1])
    return changed(at_once, f(scores, value, block), "In one block, it is {}, but here it is {}")


@softmax_in_blocks.holds("If all values are 1, every output is 1.")
def _(f, scores, value, block):
    result = f(scores, torch.ones_like(value), block)
    return changed(torch.ones_like(result), result, "It should be {}, but is {}")


def _running(
    scores,
    value,
    block,
    *,
    subtracted=lambda m, best, new_m: new_m,  # of the old maximum, the block's, and the new one
    total_kept=False,
    mix_kept=False,
):
    """In blocks, with one thing changed."""
    m, total, mix = -math.inf, 0.0, 0.0
    for s, v in _blocks(scores, value, block):
        best = s.amax(dim=-1, keepdim=True)
        new_m = best.clamp(min=m)
        old, new = (m - new_m).exp(), (s - subtracted(m, best, new_m)).exp()
        total = (total if total_kept else old * total) + new.sum(dim=-1, keepdim=True)
        mix = (mix if mix_kept else old * mix) + new @ v
        m = new_m
    return mix / total


@softmax_in_blocks.broken
def _(scores, value, block):
    """Each block is still measured by its own largest score. So its best key counts as much as the
    best key of all blocks before it, however low its score is."""
    return _running(scores, value, block, subtracted=lambda m, best, new_m: best)


@softmax_in_blocks.mistake("the old sums left as they are")
def _(scores, value, block):
    """You no longer correct the old sums when the maximum grows. The earlier blocks then count too
    much."""
    return _running(scores, value, block, total_kept=True, mix_kept=True)


@softmax_in_blocks.mistake("only the denominator corrected")
def _(scores, value, block):
    """You correct the old denominator, but not the old numerator. The weights then sum to more than
    1 if a later block has a larger score."""
    return _running(scores, value, block, mix_kept=True)


@softmax_in_blocks.mistake("only the numerator corrected")
def _(scores, value, block):
    """You correct the old numerator, but not the old denominator. The weights then sum to less than
    1 if a later block has a larger score."""
    return _running(scores, value, block, total_kept=True)


@softmax_in_blocks.mistake("the maximum of each block alone")
def _(scores, value, block):
    """You replace the largest score so far by that of each block, and correct the old sums for it.
    This is right for small scores. But if an earlier score is much larger, the factor overflows."""
    m, total, mix = -math.inf, 0.0, 0.0
    for s, v in _blocks(scores, value, block):
        best = s.amax(dim=-1, keepdim=True)
        old, new = (m - best).exp(), (s - best).exp()
        total = old * total + new.sum(dim=-1, keepdim=True)
        mix = old * mix + new @ v
        m = best
    return mix / total


@softmax_in_blocks.mistake("no maximum")
def _(scores, value, block):
    """You subtract no maximum. This is right for small scores, but the exponentials of large scores
    overflow."""
    return scores.exp() @ value / scores.exp().sum(dim=-1, keepdim=True)


@softmax_in_blocks.mistake("nothing subtracted from the new scores")
def _(scores, value, block):
    """You subtract nothing from the scores of a block, although the old sums are measured by the
    largest score. So the terms of different blocks cannot be compared, and large ones overflow."""
    return _running(scores, value, block, subtracted=lambda m, best, new_m: 0.0)


@softmax_in_blocks.mistake("the old maximum subtracted")
def _(scores, value, block):
    """You subtract the largest score of the blocks before. In the first block, this is −∞, so the
    exponentials are infinite and the result is NaN."""
    return _running(scores, value, block, subtracted=lambda m, best, new_m: m)


@softmax_in_blocks.mistake("a mean over the blocks")
def _(scores, value, block):
    """You give each block a softmax of its own, and take the mean of their outputs. All blocks then
    count the same, whatever their scores are."""
    outputs = [s.softmax(dim=-1) @ v for s, v in _blocks(scores, value, block)]
    return torch.stack(outputs).mean(dim=0)


@softmax_in_blocks.mistake("the last block alone")
def _(scores, value, block):
    """You start with new sums in each block. The result is then the softmax of the last block, and
    all others are lost."""
    *_, (s, v) = _blocks(scores, value, block)
    return s.softmax(dim=-1) @ v


tile_of_weights = Exercise(
    "10.7",
    "A tile of weights, computed again",
    hints=[
        "Softmax is $e^{s_j}$ divided by a denominator, which you already have. In which form do "
        "you have it?",
        "The denominator belongs to the query, so it is the same along the axis of the keys. "
        "`log_sum[..., None]` has an axis for the keys.",
        "Whether a key is in the future depends on its place in the text, not on its place in the "
        "tile.",
    ],
)


@tile_of_weights.solution
def _(query, key, log_sum, first_query, first_key):
    weights = (_scores(query, key) - log_sum[..., None]).exp()
    return weights.masked_fill(_future(query, key, first_query, first_key), 0.0)


def _tile(query, key, first_query, b_query, first_key, b_key):
    """The arguments for one tile of causal attention of a whole text."""
    hidden = _future(query, key, 0, 0)
    log_sum = _scores(query, key).masked_fill(hidden, -math.inf).logsumexp(-1)
    rows = slice(first_query, first_query + b_query)
    return (
        query[..., rows, :],
        key[..., first_key : first_key + b_key, :],
        log_sum[..., rows],
        first_query,
        first_key,
    )


@tile_of_weights.inputs
def _(generator):
    query = torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
    key = torch.tensor([[1.0, 1.0], [0.0, 2.0], [1.0, 0.0]])
    yield _tile(query, key, 1, 2, 0, 3)
    for shape, tile in [
        ((2, 1, 9, 4), (3, 4, 0, 2)),
        ((2, 10, 6), (2, 3, 6, 4)),
        ((3, 14, 8), (9, 5, 8, 4)),
        ((1, 4, 1), (2, 1, 1, 1)),
    ]:
        query, key = _random(generator, 2, *shape)
        yield _tile(query, key, *tile)
    # each query sees low scores only, and hides higher ones
    score = torch.tensor([-75.0, -74.0, -76.0, 20.0, 25.0]) + _random(generator, 5)
    yield _tile(torch.ones(5, 1), score[:, None], 0, 3, 0, 5)
    yield _tile(torch.ones(3, 1), 100 + _random(generator, 3, 1), 0, 3, 0, 3)


@tile_of_weights.holds("A future key gets a weight of exactly 0, however low the other scores are.")
def _(f, query, key, log_sum, first_query, first_key):
    weights = f(query, key, log_sum, first_query, first_key)
    hidden = _future(query, key, first_query, first_key)
    leak = weights.masked_fill(~hidden, 0.0).abs().max().item()
    if leak:
        return f"One gets a weight of {leak:.3g}."


@tile_of_weights.holds(
    "If a tile contains all keys that a query may see, the query's weights sum to 1."
)
def _(f, query, key, log_sum, first_query, first_key):
    first = key.shape[-2] - 1  # the place of the last key
    scores = _scores(query, key).masked_fill(_future(query, key, first, 0), -math.inf)
    return row_sums(f(query, key, scores.logsumexp(dim=-1), first, 0))


@tile_of_weights.mistake("softmax within the tile")
def _(query, key, log_sum, first_query, first_key):
    """You take the softmax of the tile's own scores. Then each row sums to 1 in every tile, and to
    far more than 1 in all tiles together."""
    hidden = _future(query, key, first_query, first_key)
    scores = _scores(query, key).masked_fill(hidden, -math.inf)
    return scores.softmax(dim=-1).nan_to_num(0.0)


@tile_of_weights.mistake("the tile's places instead of the text's")
def _(query, key, log_sum, first_query, first_key):
    """You compare the rows and columns of the tile, both counted from 0. A tile whose keys are all
    in the past is then cut along its diagonal, although its queries may see all of these keys."""
    weights = (_scores(query, key) - log_sum[..., None]).exp()
    return weights.masked_fill(_future(query, key, 0, 0), 0.0)


@tile_of_weights.mistake("no mask")
def _(query, key, log_sum, first_query, first_key):
    """You leave out the causal mask. Future keys then get weights, in addition to those that
    already sum to 1."""
    return (_scores(query, key) - log_sum[..., None]).exp()


@tile_of_weights.mistake("the query's own key hidden")
def _(query, key, log_sum, first_query, first_key):
    """You also hide the key at the query's own place. Its weight is then missing, and the rest of
    the row sums to less than 1."""
    weights = (_scores(query, key) - log_sum[..., None]).exp()
    hidden = _future(query, key, first_query, first_key)
    p = first_query + torch.arange(query.shape[-2])[:, None]
    own = first_key + torch.arange(key.shape[-2]) == p
    return weights.masked_fill(hidden | own, 0.0)


@tile_of_weights.mistake("one key of the future")
def _(query, key, log_sum, first_query, first_key):
    """You let each query see the key after its own place. But this key was not in the denominator,
    so the row sums to more than 1."""
    weights = (_scores(query, key) - log_sum[..., None]).exp()
    hidden = _future(query, key, first_query + 1, first_key)
    return weights.masked_fill(hidden, 0.0)


@tile_of_weights.mistake("no scaling")
def _(query, key, log_sum, first_query, first_key):
    """You leave out the division by √d. But the denominator was computed from divided scores, so
    the two do not fit together."""
    weights = (query @ key.mT - log_sum[..., None]).exp()
    return weights.masked_fill(_future(query, key, first_query, first_key), 0.0)


@tile_of_weights.mistake("scaled twice")
def _(query, key, log_sum, first_query, first_key):
    """You divide the scores by d, which is √d twice. But the denominator was computed from scores
    that were divided by √d only once, so the two do not fit together."""
    scores = _scores(query, key) / math.sqrt(query.shape[-1])
    weights = (scores - log_sum[..., None]).exp()
    return weights.masked_fill(_future(query, key, first_query, first_key), 0.0)


@tile_of_weights.mistake("divided by the logarithm")
def _(query, key, log_sum, first_query, first_key):
    """You divide by the log-sum-exp itself. But this is the logarithm of the denominator, and it
    can be small or even negative."""
    weights = _scores(query, key).exp() / log_sum[..., None]
    return weights.masked_fill(_future(query, key, first_query, first_key), 0.0)


@tile_of_weights.mistake("the past hidden instead of the future")
def _(query, key, log_sum, first_query, first_key):
    """You keep the keys that the mask should hide, and you hide the others. Each query then sees
    only the keys that it must not see."""
    weights = (_scores(query, key) - log_sum[..., None]).exp()
    hidden = _future(query, key, first_query, first_key)
    return weights.masked_fill(~hidden, 0.0)


@tile_of_weights.mistake("the mask applied after the exponential")
def _(query, key, log_sum, first_query, first_key):
    """You also take the exponentials of hidden scores and multiply them by 0. But a future key may
    have a far higher score than all keys before it. Its exponential is then infinite, and infinity
    times 0 is NaN."""
    weights = (_scores(query, key) - log_sum[..., None]).exp()
    return weights * ~_future(query, key, first_query, first_key)


@tile_of_weights.mistake("numerator and denominator computed apart")
def _(query, key, log_sum, first_query, first_key):
    """You divide one exponential by another. But each of them can be infinite or 0, even where
    their quotient is an ordinary weight."""
    weights = _scores(query, key).exp() / log_sum.exp()[..., None]
    return weights * ~_future(query, key, first_query, first_key)


score_gradient = Exercise(
    "10.8",
    "The gradient of a tile of scores",
    hints=[
        "The gradient of a weight is the product of its value and the gradient of the output, "
        "because the weight multiplies this value.",
        "Through one row of softmax, the gradient of score j is w_j times a difference. From the "
        "gradient of weight j, subtract the weighted mean of the gradients of all weights.",
        "This mean goes over all keys of the row, including those of other tiles. Write it out and "
        "look for the output in it.",
    ],
)


@score_gradient.solution
def _(weights, value, output, output_gradient):
    mean = (output * output_gradient).sum(dim=-1, keepdim=True)
    return weights * (output_gradient @ value.mT - mean)


@score_gradient.inputs
def _(generator):
    yield (
        torch.tensor([[0.5, 0.25]]),  # a third key has the other quarter
        torch.tensor([[2.0, 0.0], [0.0, 4.0]]),
        torch.tensor([[1.0, 2.0]]),
        torch.tensor([[1.0, 1.0]]),
    )
    for *shape, queries, n, d, tile in [
        (3, 1, 4, 6, 4, slice(0, 4)),
        (3, 4, 5, 3, slice(0, 5)),  # a tile that is the whole row
        (1, 1, 3, 1, slice(1, 2)),
        (2, 4, 9, 6, slice(5, 9)),
    ]:
        weights = _random(generator, *shape, queries, n).softmax(dim=-1)
        value = _random(generator, *shape, n, d)
        gradient = _random(generator, *shape, queries, d)
        yield (weights[..., tile], value[..., tile, :], weights @ value, gradient)


@score_gradient.holds("Over a whole row, the gradients of the scores sum to 0.")
def _(f, weights, value, output, output_gradient):
    whole = weights / weights.sum(dim=-1, keepdim=True)
    sums = f(whole, value, whole @ value, output_gradient).sum(dim=-1)
    return changed(torch.zeros_like(sums), sums, "one sum should be {}, but is {}")


@score_gradient.holds(
    "Where a tile is a whole row, the result is the derivative that PyTorch computes."
)
def _(f, weights, value, output, output_gradient):
    # log w is a row of scores of which softmax makes w
    whole = weights / weights.sum(dim=-1, keepdim=True)
    scores = whole.log().requires_grad_()
    (right,) = torch.autograd.grad(scores.softmax(dim=-1) @ value, scores, output_gradient)
    found = f(whole, value, whole @ value, output_gradient)
    return changed(right, found, "one gradient is {}, but you return {}")


@score_gradient.mistake("the mean over the tile alone")
def _(weights, value, output, output_gradient):
    """You take the mean over the keys of the tile. But the other keys of the row share the same
    denominator, so the mean must include them, too."""
    gradient = output_gradient @ value.mT
    mean = (weights * gradient).sum(dim=-1, keepdim=True)
    return weights * (gradient - mean)


@score_gradient.mistake("the denominator taken for a constant")
def _(weights, value, output, output_gradient):
    """You let a score change only its own weight. But a larger score also makes the weights of all
    other keys smaller."""
    return weights * (output_gradient @ value.mT)


@score_gradient.mistake("each weight on its own")
def _(weights, value, output, output_gradient):
    """You use w(1 − w), the derivative of a weight with respect to its own score. The effect of the
    score on the other weights of the row is missing."""
    return weights * (1 - weights) * (output_gradient @ value.mT)


@score_gradient.mistake("the gradient of the weights")
def _(weights, value, output, output_gradient):
    """You return the gradient of the loss with respect to the weights. The step through softmax,
    back to the scores, is still missing."""
    return output_gradient @ value.mT


@score_gradient.mistake("the weight left out")
def _(weights, value, output, output_gradient):
    """You subtract the mean, but do not multiply by the weight. A key without any weight then has
    as large a gradient as the others."""
    mean = (output * output_gradient).sum(dim=-1, keepdim=True)
    return output_gradient @ value.mT - mean


@score_gradient.mistake("the wrong sign")
def _(weights, value, output, output_gradient):
    """You subtract the other way round. Gradient descent would then make the loss larger."""
    mean = (output * output_gradient).sum(dim=-1, keepdim=True)
    return weights * (mean - output_gradient @ value.mT)


@score_gradient.mistake("plus instead of minus")
def _(weights, value, output, output_gradient):
    """You add the mean instead of subtracting it. A number that is added to all scores of the row
    then seems to matter, although softmax ignores it."""
    mean = (output * output_gradient).sum(dim=-1, keepdim=True)
    return weights * (output_gradient @ value.mT + mean)


@score_gradient.mistake("a mean over features")
def _(weights, value, output, output_gradient):
    """You average output times gradient over the features instead of summing. The number that you
    subtract is then too small by a factor, the number of features."""
    mean = (output * output_gradient).mean(dim=-1, keepdim=True)
    return weights * (output_gradient @ value.mT - mean)


absorbed_scores = Exercise(
    "10.9",
    "Scores without keys",
    hints=[
        "The keys of a head would be `latent @ up_key[head]`. Write the product of a query with "
        "these keys, and move a bracket.",
        "Multiply each query by the transpose of its head's matrix. The result has as many "
        "features as a latent. But does the root change, too?",
    ],
)


def _absorbed(query, latent, up_key):
    return query @ up_key.mT @ latent.mT


@absorbed_scores.solution
def _(query, latent, up_key):
    return _absorbed(query, latent, up_key) / math.sqrt(query.shape[-1])


@absorbed_scores.inputs
def _(generator):
    yield (
        torch.tensor([[[2.0, 0.0]], [[0.0, 4.0]]]),
        torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]]),
        torch.tensor([[[1.0, 2.0], [0, 1], [3, 0]], [[2, 0], [1, 1], [0, 5]]]),
    )
    for heads, queries, d_k, length, size in [
        (3, 4, 5, 6, 2),
        (2, 1, 3, 4, 7),
        (4, 3, 1, 1, 5),
        (1, 2, 4, 3, 1),
        (3, 2, 4, 5, 4),
    ]:
        yield (
            _random(generator, heads, queries, d_k),
            _random(generator, length, size),
            _random(generator, heads, size, d_k),
        )


@absorbed_scores.holds("A latent of zeros gets the score 0, and the other scores stay the same.")
def _(f, query, latent, up_key):
    longer = torch.cat([latent, torch.zeros_like(latent[:1])])
    before = f(query, latent, up_key)
    expected = torch.cat([before, torch.zeros_like(before[..., :1])], dim=-1)
    return changed(expected, f(query, longer, up_key), "a score should be {} and is {}")


@absorbed_scores.holds("The scores of a head do not depend on the other heads.")
def _(f, query, latent, up_key):
    other = torch.cat([up_key[:1], up_key[1:] + 1.0])
    return changed(
        f(query, latent, up_key)[:1],
        f(query, latent, other)[:1],
        "when the other heads change, a score of the first head goes from {} to {}",
    )


@absorbed_scores.mistake("divided by the root of the latent's size")
def _(query, latent, up_key):
    """You divide by the root of the number of features of a latent. The new queries have as many
    features. But the scores must be those of the keys, and a key has d_k features."""
    return _absorbed(query, latent, up_key) / math.sqrt(latent.shape[-1])


@absorbed_scores.mistake("no scaling")
def _(query, latent, up_key):
    """You leave out the division by √d_k. The weights are then sharper than in training."""
    return _absorbed(query, latent, up_key)


@absorbed_scores.mistake("the first head's matrix for all")
def _(query, latent, up_key):
    """You multiply every query by the matrix of the first head. All heads share the latents, but
    each head has a matrix of its own."""
    return _absorbed(query, latent, up_key[:1]) / math.sqrt(query.shape[-1])


@absorbed_scores.mistake("the mean of the heads' matrices")
def _(query, latent, up_key):
    """You multiply every query by the mean of all matrices. The heads then all look for the same
    things in a latent."""
    mean = up_key.mean(dim=0, keepdim=True)
    return _absorbed(query, latent, mean) / math.sqrt(query.shape[-1])


positions_in_slots = Exercise(
    "10.10",
    "What is in the slots of a rolling cache",
    hints=[
        "Write the slots of `window = 4` on paper, token by token, up to the seventh.",
        "The last token has the position `written - 1`. How many places before it is the token "
        "that is now in slot i?",
        "Applied to a difference, `%` counts round the ring. What does your formula give for a "
        "slot that is still empty?",
    ],
    integers=True,
)


@positions_in_slots.solution
def _(written, window):
    last = written - 1
    return (last - (last - torch.arange(window)) % window).clamp(min=-1)


@positions_in_slots.inputs
def _(generator):
    yield 3, 2
    yield from [(7, 4), (2, 5), (12, 4), (0, 3), (4, 1), (23, 6), (5, 5), (2000, 7)]


@positions_in_slots.holds("The slots hold the latest tokens, each of them once.")
def _(f, written, window):
    found = [p for p in f(written, window).tolist() if p != -1]
    wanted = set(range(max(0, written - window), written))
    if set(found) != wanted or len(found) != len(wanted):
        return (
            f"After {written} tokens, {window} slots hold "
            f"{', '.join(f'{p:g}' for p in sorted(found)) or 'nothing'}."
        )


@positions_in_slots.holds("One more token changes one slot.")
def _(f, written, window):
    before, after = f(written, window), f(written + 1, window)
    count = (before != after).sum().item()
    if count != 1:
        return f"From {written} to {written + 1} tokens, {count} of {window} slots change."


@positions_in_slots.mistake("slots in the order of time")
def _(written, window):
    """You list the latest tokens from old to new. This order would mean moving all of them with
    every new token, which a ring avoids."""
    return (written - window + torch.arange(window)).clamp(min=-1)


@positions_in_slots.mistake("the number of tokens taken for the last position")
def _(written, window):
    """You take the number of tokens as the position of the last one. But positions are counted from
    0, so one of your slots holds a token that is still to come."""
    return (written - (written - torch.arange(window)) % window).clamp(min=-1)


@positions_in_slots.mistake("a round that is not finished")
def _(written, window):
    """You give all slots a position of the current round. But the slots that this round has not
    reached hold tokens of the round before."""
    start = max(written - 1, 0) // window * window
    position = start + torch.arange(window)
    return position if written else torch.full((window,), -1)


@positions_in_slots.mistake("empty slots not marked")
def _(written, window):
    """You use the formula even where it falls below 0. Slots that were never written then get
    positions before the beginning of the text."""
    last = written - 1
    return last - (last - torch.arange(window)) % window


@positions_in_slots.mistake("empty slots at position 0")
def _(written, window):
    """You leave an empty slot at 0. The slot then seems to hold the first token."""
    last = written - 1
    return (last - (last - torch.arange(window)) % window).clamp(min=0)


@positions_in_slots.mistake("never overwritten")
def _(written, window):
    """You leave in each slot the first token that was written there. The cache then holds the
    beginning of the text for ever."""
    slot = torch.arange(window)
    return torch.where(slot < written, slot, -1)


@positions_in_slots.mistake("the ring turned backwards")
def _(written, window):
    """You count in the wrong direction how long ago each slot was written. The positions are the
    right ones, but most of them are in the wrong slot."""
    last = written - 1
    return (last - (torch.arange(window) - last) % window).clamp(min=-1)


window_curve = MultipleChoice(
    "10.11",
    "The bend of a window",
    hints=[
        "On logarithmic axes, a straight line that rises by one power of ten for each power of "
        "ten grows in proportion. One that rises by two grows with the square.",
        "What does the window change for a text that is shorter than the window? And what does "
        "one more token cost in a text that is far longer?",
    ],
    answer="C",
    figure=True,
    because="In a text that is shorter than the window, each token sees all before it, so the "
    "count grows with the square. Beyond that, each further token costs the same, so the line "
    "gets less steep. The bend shows how wide the window is.",
)
window_curve.wrong_option(
    "A",
    "any bend is a window",
    "You looked for a bend. But this curve gets steeper at its bend, so in long texts each "
    "further token costs more and more.",
)
window_curve.wrong_option(
    "B",
    "attention grows with the square",
    "You know that attention grows with the square of the length. This curve does so up to its "
    "end, so nothing ever limits how many tokens a query sees.",
)
window_curve.wrong_option(
    "D",
    "a window makes everything linear",
    "You know that a window makes long texts cheap. But this curve grows in proportion from "
    "the first tokens on, where a window does not limit anything.",
)


tokens_reached = Exercise(
    "10.12",
    "Windows with gaps",
    hints=[
        "Take two layers with window 2 and dilation 2, and write down every place that the top "
        "token can reach. How many places are there?",
        "Begin with a set that contains only place 0. Each layer adds each of its steps to each "
        "place in the set.",
        "A place that is reached in several ways counts once.",
    ],
)


def _places(windows, dilations):
    places = {0}
    for w, g in zip(windows.tolist(), dilations.tolist(), strict=True):
        places = {place + g * i for place in places for i in range(w)}
    return places


@tokens_reached.solution
def _(windows, dilations):
    return len(_places(windows, dilations))


@tokens_reached.inputs
def _(generator):
    yield torch.tensor([2, 2]), torch.tensor([2, 2])
    for windows, dilations in [
        ([3, 2], [1, 5]),
        ([2, 3, 2], [1, 2, 4]),
        ([4], [3]),
        ([3, 3, 3], [1, 1, 1]),
        ([2, 4, 3, 2], [3, 2, 7, 1]),
        ([1, 3], [6, 4]),
        ([5, 6, 2], [9, 60, 1200]),  # it reaches back 1536 places
    ]:
        yield torch.tensor(windows), torch.tensor(dilations)


@tokens_reached.holds("Without gaps, the number is 1 + the sum of all (window − 1).")
def _(f, windows, dilations):
    found = float(f(windows, torch.ones_like(dilations)))
    if found != 1 + (windows - 1).sum().item():
        return f"For windows of {windows.tolist()}, you return {found:g}."


@tokens_reached.holds("A further layer with a window of 1 adds nothing.")
def _(f, windows, dilations):
    one = torch.ones(1, dtype=windows.dtype)
    found = float(f(windows, dilations))
    more = float(f(torch.cat([windows, one]), torch.cat([dilations, 3 * one])))
    if found != more:
        return f"Without it, you return {found:g}, but with it, {more:g}."


@tokens_reached.mistake("the places in the gaps counted, too")
def _(windows, dilations):
    """You count all places from the nearest to the farthest. But some of these places are in gaps,
    and no path reaches them."""
    return 1 + ((windows - 1) * dilations).sum().item()


@tokens_reached.mistake("paths instead of places")
def _(windows, dilations):
    """You multiply the windows. The product is the number of paths, but several paths may end at
    the same token."""
    return windows.prod().item()


@tokens_reached.mistake("dilation left out")
def _(windows, dilations):
    """You count as if there were no gaps. But with different dilations, the steps of two layers
    combine to reach more places."""
    return 1 + (windows - 1).sum().item()


@tokens_reached.mistake("the widest layer alone")
def _(windows, dilations):
    """You count the tokens that one layer sees. But these tokens have themselves looked back in the
    layers below."""
    return windows.max().item()


@tokens_reached.mistake("the tokens of all layers added up")
def _(windows, dilations):
    """You add up the windows. But each layer's window contains the token itself, which you count
    once for each layer."""
    return windows.sum().item()


@tokens_reached.mistake("only steps of single layers")
def _(windows, dilations):
    """You combine the places that each layer sees from the top token. But a path may take steps in
    several layers, and these steps add up."""
    pairs = zip(windows.tolist(), dilations.tolist(), strict=True)
    return len({g * i for w, g in pairs for i in range(w)})


next_token_chances = Exercise(
    "10.13",
    "Accept a guess, or draw again",
    hints=[
        "With the draft alone, a token comes too often if `q` is larger than `p` there. How many "
        "of these guesses may pass?",
        "The guess passes with the chance `(p[guess] / q[guess]).clamp(max=1)`. The remaining "
        "chance goes to a different distribution, which makes up for what is missing.",
        "What is missing after the guesses that passed is `(p - q).clamp(min=0)`. Divide it by its "
        "sum, because it must be a distribution.",
    ],
)


def _after_a_guess(guess, chance, rest):
    """The guess with this chance, otherwise a token from the rest."""
    result = (1 - chance) * rest
    result[guess] += chance
    return result


def _residual(p, q):
    more = (p - q).clamp(min=0)
    return more / more.sum()


@next_token_chances.solution
def _(p, q, guess):
    chance = (p[guess] / q[guess]).clamp(max=1)
    return _after_a_guess(guess, chance, _residual(p, q))


@next_token_chances.inputs
def _(generator):
    yield torch.tensor([0.5, 0.25, 0.25]), torch.tensor([0.25, 0.25, 0.5]), 2
    yield torch.tensor([0.5, 0.25, 0.25]), torch.tensor([0.25, 0.25, 0.5]), 0
    yield torch.tensor([0.25, 0.75]), torch.tensor([1.0, 0.0]), 0
    for size, guess in ((3, 1), (5, 4), (8, 0), (8, 6)):
        p, q = _random(generator, 2, size).softmax(dim=-1)
        yield p, q, guess
    p, q = _random(generator, 2, 6).softmax(dim=-1)
    yield p, q, int((q / p).argmax())


@next_token_chances.holds("Over all guesses of the draft, tokens come as the large model asks.")
def _(f, p, q, guess):
    mixed = sum(q[i] * f(p, q, i) for i in range(len(q)) if q[i] > 0)
    return changed(p, mixed, "a token that the large model gives the probability {} comes with {}")


@next_token_chances.holds("A guess that the large model finds as likely as the draft does passes.")
def _(f, p, q, guess):
    for i in range(len(q)):
        if p[i] >= q[i] > 0 and not f(p, q, i)[i] > 1 - 1e-4:
            passed = told_apart(f(p, q, i)[i].item(), 1)
            return f"It passes with a chance of {passed} only."
    return None


@next_token_chances.mistake("drawn again from all of p")
def _(p, q, guess):
    """After a rejection, you draw from all of `p`. But the tokens that passed have taken a part of
    `p` already, so the favourites of the draft come too often."""
    return _after_a_guess(guess, (p[guess] / q[guess]).clamp(max=1), p)


@next_token_chances.mistake("accepted if likely enough")
def _(p, q, guess):
    """You keep the guess if `p` is at least `q` there, and reject it otherwise. But then a token
    that the draft overrates never passes, and the other tokens come too often."""
    return _after_a_guess(guess, (p[guess] >= q[guess]).to(p), _residual(p, q))


@next_token_chances.mistake("the ratio upside down")
def _(p, q, guess):
    """You divide `q` by `p`. So the guesses that the draft overrates always pass, and those that it
    underrates are often rejected."""
    chance = (q[guess] / p[guess]).clamp(max=1)
    return _after_a_guess(guess, chance, _residual(p, q))


@next_token_chances.mistake("the chance p alone")
def _(p, q, guess):
    """You accept the guess with the chance `p`, as if it had been drawn without looking at `q`. Too
    many guesses are rejected, and then the residual is not what is missing."""
    return _after_a_guess(guess, p[guess], _residual(p, q))


@next_token_chances.mistake("draw from p and compare")
def _(p, q, guess):
    """You draw a token from `p`, whatever the guess was. The tokens come as they should, but far
    fewer guesses turn out right than could be accepted."""
    return p


@next_token_chances.mistake("a residual that does not sum to 1")
def _(p, q, guess):
    """You do not divide the positive part of `p - q` by its sum. Then the result is not a
    distribution, because a part of the chance is lost after each rejection."""
    chance = (p[guess] / q[guess]).clamp(max=1)
    return _after_a_guess(guess, chance, (p - q).clamp(min=0))


cached_attention = Suspects(
    "10.15",
    "Attention with a cache",
    hints=[
        "Five tokens can come in one call, or in several calls that hand on the cache. What must "
        "be the same?",
        "Calls may have different lengths. Have you tried several tokens after a call that left a "
        "cache, and more than two calls?",
        "A function can treat all calls alike and still be wrong. For which scores do you know the "
        "weights? With d = 4, √d is 2. Scores of log 1, log 2 and log 3 give weights in the ratio "
        "1 : 2 : 3.",
    ],
)


def _attended(query, keys, values, hidden):
    scores = query @ keys.mT / math.sqrt(query.shape[-1])
    return scores.masked_fill(hidden, -math.inf).softmax(dim=-1) @ values


def _later(query, keys):
    """What the new tokens, the last of all, may not see."""
    new, n = query.shape[1], keys.shape[1]
    return torch.ones(new, n, dtype=torch.bool).triu(n - new + 1)


def _appended(cache, key, value):
    return [new if cache is None else torch.cat([cache[i], new], 1) for i, new in _pair(key, value)]


def _pair(key, value):
    return enumerate((key, value))


@cached_attention.right("hides the later tokens of the call with a triangle, shifted to the right")
def _(query, key, value, cache):
    keys, values = _appended(cache, key, value)
    return _attended(query, keys, values, _later(query, keys)), (keys, values)


@cached_attention.wrong("hides nothing, so that a token sees the later ones of its call")
def _(query, key, value, cache):
    keys, values = _appended(cache, key, value)
    return _attended(query, keys, values, torch.tensor(False)), (keys, values)


@cached_attention.right("takes one token after the other, even within a call")
def _(query, key, value, cache):
    outputs = []
    for i in range(query.shape[1]):
        cache = _appended(cache, key[:, i : i + 1], value[:, i : i + 1])
        outputs.append(_attended(query[:, i : i + 1], *cache, torch.tensor(False)))
    return torch.cat(outputs, dim=1), cache


@cached_attention.wrong("lets token i of a call see only the first i + 1 tokens of the text")
def _(query, key, value, cache):
    keys, values = _appended(cache, key, value)
    hidden = torch.ones(query.shape[1], keys.shape[1], dtype=torch.bool).triu(1)
    return _attended(query, keys, values, hidden), (keys, values)


@cached_attention.wrong("puts the new keys and values before the old ones")
def _(query, key, value, cache):
    keys, values = _before(cache, key, value)
    return _attended(query, keys, values, _later(query, keys)), (keys, values)


def _before(cache, key, value):
    return [new if cache is None else torch.cat([new, cache[i]], 1) for i, new in _pair(key, value)]


@cached_attention.right("keeps the positions of all tokens in the cache, and compares them")
def _(query, key, value, cache):
    keys, values = _appended(cache and cache[:2], key, value)
    position = torch.arange(keys.shape[1])
    own = position[keys.shape[1] - query.shape[1] :]
    hidden = position > own[:, None]
    return _attended(query, keys, values, hidden), (keys, values, position)


@cached_attention.right("keeps the last tokens first in the cache", kept_back=True)
def _(query, key, value, cache):
    keys, values = _before(cache, key.flip(1), value.flip(1))
    hidden = _later(query, keys).flip(1)
    return _attended(query, keys, values, hidden), (keys, values)


@cached_attention.wrong("lets all tokens of a call see what its first one sees", kept_back=True)
def _(query, key, value, cache):
    keys, values = _appended(cache, key, value)
    return _attended(query, keys, values, _later(query, keys)[:1]), (keys, values)


@cached_attention.wrong("hides the other tokens of a call, also the earlier ones", kept_back=True)
def _(query, key, value, cache):
    keys, values = _appended(cache, key, value)
    hidden = _later(query, keys)
    hidden[:, -query.shape[1] :] = ~torch.eye(query.shape[1], dtype=torch.bool)
    return _attended(query, keys, values, hidden), (keys, values)


@cached_attention.wrong("hides later tokens only in the first call", kept_back=True)
def _(query, key, value, cache):
    keys, values = _appended(cache, key, value)
    hidden = _later(query, keys) & (cache is None)
    return _attended(query, keys, values, hidden), (keys, values)


@cached_attention.wrong("keeps only the last token of each call", kept_back=True)
def _(query, key, value, cache):
    keys, values = _appended(cache, key, value)
    kept = _appended(cache, key[:, -1:], value[:, -1:])
    return _attended(query, keys, values, _later(query, keys)), kept


@cached_attention.wrong("keeps only the keys and values of the last call", kept_back=True)
def _(query, key, value, cache):
    keys, values = _appended(cache, key, value)
    return _attended(query, keys, values, _later(query, keys)), (key, value)


@cached_attention.wrong("keeps only the last four tokens, with those of a call", kept_back=True)
def _(query, key, value, cache):
    keys, values = _appended(cache, key, value)
    hidden = _later(query, keys)
    return _attended(query, keys, values, hidden), (keys[:, -4:], values[:, -4:])


@cached_attention.wrong("does not divide the scores", kept_back=True)
def _(query, key, value, cache):
    keys, values = _appended(cache, key, value)
    query = query * math.sqrt(query.shape[-1])
    return _attended(query, keys, values, _later(query, keys)), (keys, values)


@cached_attention.wrong("averages the values, whatever query and keys are", kept_back=True)
def _(query, key, value, cache):
    keys, values = _appended(cache, key, value)
    return _attended(0 * query, keys, values, _later(query, keys)), (keys, values)


@cached_attention.wrong("mixes the keys instead of the values", kept_back=True)
def _(query, key, value, cache):
    keys, values = _appended(cache, key, value)
    return _attended(query, keys, keys, _later(query, keys)), (keys, values)


@cached_attention.wrong("lets each token see only itself", kept_back=True)
def _(query, key, value, cache):
    return value.clone(), (key, value)


@cached_attention.wrong("hides a token from itself, unless it is the first", kept_back=True)
def _(query, key, value, cache):
    keys, values = _appended(cache, key, value)
    hidden = torch.ones(query.shape[1], keys.shape[1], dtype=torch.bool).triu(
        keys.shape[1] - query.shape[1]
    )
    hidden[:, 0] = False
    return _attended(query, keys, values, hidden), (keys, values)


@cached_attention.wrong("uses the keys of the first sentence for all sentences", kept_back=True)
def _(query, key, value, cache):
    keys, values = _appended(cache, key[:1].expand_as(key), value)
    return _attended(query, keys, values, _later(query, keys)), (keys, values)


def _in_calls(f, tokens, *lengths):
    """The outputs for query, key and value if calls of these lengths hand on the cache."""
    outputs, cache = [], None
    for part in zip(*(x.split(lengths, dim=1) for x in tokens), strict=True):
        output, cache = f(*part, cache)
        outputs.append(output)
    return torch.cat(outputs, dim=1)


def _calls_agree(f, tokens, *lengths):
    return torch.allclose(
        _in_calls(f, tokens, *lengths), _in_calls(f, tokens, sum(lengths)), atol=1e-5
    )


def _averages(f, tokens, *lengths):
    """Whether a token gets the mean value of all tokens up to itself, if all keys are equal."""
    query, key, value = tokens
    means = value.cumsum(dim=1) / torch.arange(1, value.shape[1] + 1)[:, None]
    found = _in_calls(f, (query, torch.zeros_like(key), value), *lengths)
    return torch.allclose(found, means, atol=1e-5)


def _known(f, tokens, *lengths, room=1e-5):
    """Whether scores of log 1, log 2, log 3, … give weights in the ratio 1 : 2 : 3 : …."""
    query, key, value = (x.clone() for x in tokens)
    parts = torch.arange(1.0, value.shape[1] + 1)
    query[:] = 0.0
    query[..., 0] = math.sqrt(query.shape[-1])  # so a score is a key's first feature
    key[..., 0] = parts.log()
    mixed = (parts[:, None] * value).cumsum(dim=1) / parts.cumsum(dim=0)[:, None]
    return bool((_in_calls(f, (query, key, value), *lengths) - mixed).abs().max() <= room)


def _alone(f, tokens):
    """Whether the last sentence gets the same outputs without the others."""
    alone = [x[-1:] for x in tokens]
    length = tokens[0].shape[1]
    return torch.allclose(_in_calls(f, tokens, length)[-1:], _in_calls(f, alone, length), atol=1e-5)


def _all_right(f, tokens, *lengths):
    agree = _calls_agree(f, tokens, *lengths)
    return agree and _known(f, tokens, *lengths) and _alone(f, tokens)


@cached_attention.solution
def _(f):
    return _all_right(f, torch.randn(3, 2, 9, 4), 4, 1, 1, 3)


@cached_attention.mistake("only token by token")
def _(f):
    """Where there is a cache, your calls bring one token. A function that arranges several new
    tokens wrongly beside the cache then goes unnoticed, as does one that is wrong in every call."""
    return _calls_agree(f, torch.randn(3, 2, 9, 4), *[1] * 9)


@cached_attention.mistake("only two calls")
def _(f):
    """You make two calls. The cache must also hand on what earlier calls have left in it, and this
    shows only in a third call."""
    return _calls_agree(f, torch.randn(3, 2, 7, 4), 4, 3)


@cached_attention.mistake("only that the calls agree")
def _(f):
    """You test that several calls agree with one. A function that makes the same mistake in every
    call agrees with itself, too."""
    return _calls_agree(f, torch.randn(3, 2, 9, 4), 4, 1, 1, 3)


@cached_attention.mistake("only the future")
def _(f):
    """You test that later tokens change no earlier output. But your test doesn't ask whether a
    token sees all the earlier ones."""
    tokens = torch.randn(3, 2, 9, 4)
    other = tokens.clone()
    other[:, :, -1] += 1.0
    before, after = (_in_calls(f, x, 3, 6)[:, :-1] for x in (tokens, other))
    return torch.allclose(before, after, atol=1e-5)


@cached_attention.mistake("only one call")
def _(f):
    """You make one call, with no cache. All that can go wrong with the cache then goes
    unnoticed."""
    tokens = torch.randn(3, 2, 9, 4)
    return _known(f, tokens, 9) and _alone(f, tokens)


@cached_attention.mistake("only short texts")
def _(f):
    """Your texts are short. A function that forgets what is a few tokens back then goes
    unnoticed."""
    return _all_right(f, torch.randn(3, 2, 5, 4), 1, 1, 1, 2)


@cached_attention.mistake("only one sentence")
def _(f):
    """Your batch has one sentence, or your test gives all sentences the same keys. So your test
    can't see whether the sentences are kept apart."""
    tokens, lengths = torch.randn(3, 1, 9, 4), (4, 1, 1, 3)
    return _calls_agree(f, tokens, *lengths) and _known(f, tokens, *lengths)


@cached_attention.mistake("equal scores")
def _(f):
    """In your test, all scores are equal, as with queries or keys of zeros. So it can't see how the
    weights depend on the scores."""
    return _averages(f, torch.randn(3, 2, 9, 4), 4, 1, 1, 3)


@cached_attention.mistake("calls that agree, and equal scores")
def _(f):
    """You test that the calls agree, and you know the output only where all scores are equal. There
    it doesn't matter how the weights depend on the scores."""
    tokens, lengths = torch.randn(3, 2, 9, 4), (4, 1, 1, 3)
    agree = _calls_agree(f, tokens, *lengths)
    return agree and _averages(f, tokens, *lengths) and _alone(f, tokens)


@cached_attention.mistake("one tensor as queries, keys and values")
def _(f):
    """Your values are the keys. So your test can't see which of the two a function mixes."""
    x = torch.randn(2, 9, 4)
    hidden = torch.ones(9, 9, dtype=torch.bool).triu(1)
    expected = _attended(x, x, x, hidden)
    return torch.allclose(_in_calls(f, (x, x, x), 4, 1, 1, 3), expected, atol=1e-5)


@cached_attention.mistake("√d makes no difference")
def _(f):
    """Your test can't see whether a function divides by √d. For example, √d is 1 if the vectors
    have a single feature."""
    query, key, value = torch.randn(3, 2, 9, 1)
    hidden = torch.ones(9, 9, dtype=torch.bool).triu(1)
    expected = _attended(query, key, value, hidden)
    return torch.allclose(_in_calls(f, (query, key, value), 4, 1, 1, 3), expected, atol=1e-5)


@cached_attention.mistake("no room for rounding")
def _(f):
    """No function passes your test. For example, if numbers must be equal to the last bit, right
    functions fail because they add in a different order."""
    return _known(f, torch.randn(3, 2, 30, 64), 30, room=0.0)


@cached_attention.mistake("nothing found")
def _(f):
    """No function fails your test. The shape of the output, for example, is always right."""
    tokens = torch.randn(3, 2, 9, 4)
    return _in_calls(f, tokens, 4, 5).shape == tokens[2].shape


tokens_a_pass = NumericAnswer(
    "10.16",
    "Sixteen guesses in one pass",
    answer=sum(0.8**n for n in range(17)),
    within=0.05,
    hints=[
        "Suppose that the third guess is wrong. What happens to the guesses after it, right or "
        "wrong?",
        "How likely is it that the first guess is kept? And the second? The sum of these chances "
        "is the mean number of guesses that are kept.",
    ],
)
tokens_a_pass.wrong_value(
    "every right guess counted",
    1 + 16 * 0.8,
    "You counted all guesses that are right. But a right guess after a wrong one is dropped, "
    "because it continues a text that the large model does not write.",
)
tokens_a_pass.wrong_value(
    "every right guess, and no token of its own",
    16 * 0.8,
    "You took 80 % of the guesses. But the first wrong guess ends the run, and in each pass the "
    "large model also adds a token of its own.",
)
tokens_a_pass.wrong_value(
    "no token of its own",
    sum(0.8**n for n in range(1, 17)),
    "You counted the guesses that are kept. But after them, each pass adds the token that the "
    "large model itself writes.",
)
tokens_a_pass.wrong_value(
    "all guesses kept",
    17.0,
    "You counted 16 guesses and the large model's own token. But a pass adds that many tokens only "
    "if no guess is wrong, which seldom happens.",
)
tokens_a_pass.wrong_value(
    "all guesses or none",
    1 + 16 * 0.8**16,
    "You kept all the guesses if all are right, and otherwise none. But the guesses before the "
    "first wrong one are kept, too.",
)
