"""Exercises of chapter 7, "Why several heads?"."""

import math

import torch

from attnbook.exercises.declare import (
    Construction,
    Exercise,
    MultipleChoice,
    NumericAnswer,
    Repair,
    Suspects,
)
from attnbook.exercises.properties import changed
from attnbook.exercises.report import told_apart

heads_that_start_alike = MultipleChoice(
    "7.0",
    "Heads that start alike",
    hints=[
        "Two heads that compute the same numbers: can their gradients differ?",
        "On its way back from the loss to a head's query projection, what does the gradient pass "
        "through?",
    ],
    answer="C",
    because="Equal heads with equal blocks of W_O receive equal gradients and stay equal. "
    "Different blocks send different gradients to projections that were the same.",
)
heads_that_start_alike.wrong_option(
    "A",
    "equal projections stay equal",
    "It is true that equal projections look at the same tokens at the start. But they learn by "
    "gradients, which reach each head through its own block of W_O. Compare the second and the "
    "third row of the table.",
)
heads_that_start_alike.wrong_option(
    "B",
    "the loss drives heads apart",
    "It is true that heads that differ would have a smaller loss. But gradient descent takes "
    "small steps, and equal heads take the same step. Look at the distance after training in the "
    "row of the heads that start all alike.",
)


parameters = NumericAnswer(
    "7.1",
    "Parameters of a layer",
    answer=2.0 * 512 * 128 + 2 * 512 * 512,
    within=0.001,
    hints=[
        "Each of the four projections is a matrix. How many features go in, and how many come out, "
        "for all heads together?",
        "The heads' outputs are mixtures of values. How many features do 8 of them have side by "
        "side?",
    ],
)
parameters.wrong_value(
    "the smaller queries and keys left out",
    4.0 * 512 * 512,
    "You counted four square matrices. They belong to the usual layer, whose queries and keys are "
    "as wide as its values.",
)
parameters.wrong_value(
    "without W_O",
    2.0 * 512 * 128 + 512 * 512,
    "You counted only the projections that lead into the heads. But the projection that leads out "
    "of them has parameters, too.",
)
parameters.wrong_value(
    "all four projections made smaller",
    4.0 * 512 * 128,
    "You gave all four projections 16 features for each head. But the values keep their features, "
    "and so does the projection that reads them.",
)
parameters.wrong_value(
    "W_O for one head",
    2.0 * 512 * 128 + 512 * 512 + 64 * 512,
    "You let the last projection read the features of one head. But it reads the outputs of all "
    "heads, side by side.",
)
parameters.wrong_value(
    "the projections of one head",
    2.0 * 512 * 16 + 512 * 64 + 512 * 512,
    "You counted the three projections of a single head. But each head has its own, so most of the "
    "projections are missing.",
)
parameters.wrong_value(
    "the queries alone made smaller",
    512.0 * 128 + 3 * 512 * 512,
    "You made the queries smaller and left the keys wide. But a dot product needs the same number "
    "of features on both sides.",
)
parameters.wrong_value(
    "values made smaller, too",
    3.0 * 512 * 128 + 512 * 512,
    "You gave the values 16 features for each head as well. But the values keep 64, and only "
    "queries and keys were made smaller.",
)


parameters.wrong_value(
    "with biases",
    2.0 * 512 * 128 + 2 * 512 * 512 + 2 * 128 + 2 * 512,
    "You counted biases, one for each feature that comes out of a projection. But this layer has "
    "no biases.",
)


split_three = Suspects(
    "7.2",
    "Queries, keys and values from one product",
    hints=[
        "Each function only moves numbers. So can you move them back, and what must come out then?",
        "To undo the split of `query`, put the tokens before the heads with `transpose(1, 2)`, "
        "then join the last two axes with `flatten(start_dim=2)`. This must be the first third of "
        "`x`.",
        "Where an axis has the size 1, many mistakes do no harm. How many sentences, tokens, heads "
        "and features of a head does your input have?",
    ],
)


@split_three.wrong("reshapes `x` to the new shape in one step")
def _(x, num_heads):
    batch, length, _ = x.shape
    return x.reshape(3, batch, num_heads, length, -1)


@split_three.right("cuts the last axis into three, and reorders the axes")
def _(x, num_heads):
    return x.unflatten(-1, (3, num_heads, -1)).permute(2, 0, 3, 1, 4)


@split_three.wrong("takes the query, the key and the value of each head to be side by side")
def _(x, num_heads):
    return x.unflatten(-1, (num_heads, 3, -1)).permute(3, 0, 2, 1, 4)


@split_three.right("cuts `x` into chunks, and stacks them")
def _(x, num_heads):
    parts = (part.chunk(num_heads, dim=-1) for part in x.chunk(3, dim=-1))
    return torch.stack([torch.stack(heads, dim=1) for heads in parts])


@split_three.right("looks up the features of each head by their numbers")
def _(x, num_heads):
    features = torch.arange(x.shape[-1]).view(3, 1, num_heads, 1, -1)
    sentence = torch.arange(len(x)).view(-1, 1, 1, 1)
    token = torch.arange(x.shape[1]).view(-1, 1)
    return x[sentence, token, features]


@split_three.wrong("stacks the heads in front of the sentences, and then reshapes")
def _(x, num_heads):
    batch, length, _ = x.shape
    heads = torch.stack(x.chunk(3 * num_heads, dim=-1))
    return heads.reshape(3, batch, num_heads, length, -1)


@split_three.right("multiplies `x` by zeros and ones", kept_back=True)
def _(x, num_heads):
    chosen = torch.eye(x.shape[-1]).unflatten(-1, (3, num_heads, -1)).to(x)
    return torch.einsum("blm,mkhc->kbhlc", x, chosen)


@split_three.wrong("returns the keys again instead of the values", kept_back=True)
def _(x, num_heads):
    parts = x.unflatten(-1, (3, num_heads, -1))[:, :, [0, 1, 1]]
    return parts.permute(2, 0, 3, 1, 4)


@split_three.wrong("returns the key before the query", kept_back=True)
def _(x, num_heads):
    parts = x.unflatten(-1, (3, num_heads, -1))[:, :, [1, 0, 2]]
    return parts.permute(2, 0, 3, 1, 4)


@split_three.wrong("gives the features to the heads in turn, one by one", kept_back=True)
def _(x, num_heads):
    return x.unflatten(-1, (3, -1, num_heads)).permute(2, 0, 4, 1, 3)


@split_three.wrong("puts the features before the tokens, and then reshapes", kept_back=True)
def _(x, num_heads):
    batch, length, _ = x.shape
    parts = [part.mT.reshape(batch, num_heads, length, -1) for part in x.chunk(3, dim=-1)]
    return torch.stack(parts)


@split_three.wrong("gives every head the features of the first", kept_back=True)
def _(x, num_heads):
    first = x.unflatten(-1, (3, num_heads, -1))[..., :1, :]
    return first.repeat(1, 1, 1, num_heads, 1).permute(2, 0, 3, 1, 4)


def _merged(parts):
    return torch.cat([part.transpose(1, 2).flatten(start_dim=2) for part in parts], dim=-1)


@split_three.solution
def _(f):
    x = torch.randn(2, 3, 12)
    return torch.equal(_merged(f(x, 2)), x)


@split_three.mistake("only shapes, or equal numbers")
def _(f):
    """No function fails your test. For example, it sees only the shape of the result, or numbers
    that are all the same."""
    return f(torch.ones(2, 3, 12), 2).shape == (3, 2, 2, 3, 2)


@split_three.mistake("only whether all numbers are there")
def _(f):
    """You test whether the result has the same numbers as the input. But if numbers go to the wrong
    heads or tokens, they are all still there."""
    x = torch.randn(2, 3, 12)
    return torch.equal(f(x, 2).flatten().sort().values, x.flatten().sort().values)


@split_three.mistake("one sentence only")
def _(f):
    """Your batch has a single sentence. So your test can't see whether a function keeps the
    sentences apart."""
    x = torch.randn(1, 3, 12)
    return torch.equal(_merged(f(x, 2)), x)


@split_three.mistake("one token only")
def _(f):
    """Each of your sentences has a single token. So your test can't see whether the features of a
    token stay with this token."""
    x = torch.randn(2, 1, 12)
    return torch.equal(_merged(f(x, 2)), x)


@split_three.mistake("one head only")
def _(f):
    """You ask for a single head, which gets all features. So your test can't see which head gets
    which feature."""
    x = torch.randn(2, 3, 12)
    return torch.equal(_merged(f(x, 1)), x)


@split_three.mistake("heads of one feature")
def _(f):
    """In your input, each head has a single feature. So your test can't see whether the features of
    a head were side by side."""
    x = torch.randn(2, 3, 12)
    return torch.equal(_merged(f(x, 4)), x)


@split_three.mistake("merged by a reshape")
def _(f):
    """You undo the split with a reshape alone. A reshape keeps the numbers in their order in
    memory, so it undoes only another reshape."""
    x = torch.randn(2, 3, 12)
    return torch.equal(f(x, 2).reshape(x.shape), x)


@split_three.mistake("the values not looked at")
def _(f):
    """You do not look at the values, the last of the three parts. So your test can't see whether a
    function returns them at all."""
    x = torch.randn(2, 3, 12)
    return torch.equal(_merged(f(x, 2)[:1]), x[..., :4])


@split_three.mistake("the queries not looked at")
def _(f):
    """You look only at the values, the last of the three parts, or treat queries and keys alike.
    So your test can't see whether a function returns them in the right order."""
    x = torch.randn(2, 3, 12)
    return torch.equal(_merged(f(x, 2)[2:]), x[..., 8:])


score_matrices = Exercise(
    "7.3",
    "What asks for what",
    hints=[
        "For one head, the scores are (x W_Q)(x W_K)ᵀ / √d_k. Which product is between x and xᵀ?",
        "An `nn.Linear` stores the transpose of the projection, so each of its rows belongs to one "
        "output feature.",
        "`weight.unflatten(0, (num_heads, -1))` gives the rows of each head. Which of the two must "
        "be transposed so that their product is a (d_model, d_model) matrix?",
    ],
)


def _by_rows(weight, num_heads):
    return weight.unflatten(0, (num_heads, -1))


@score_matrices.solution
def _(query_weight, key_weight, num_heads):
    query = _by_rows(query_weight, num_heads)
    key = _by_rows(key_weight, num_heads)
    return query.mT @ key / math.sqrt(query.shape[1])


@score_matrices.inputs
def _(generator):
    # two heads of two features each
    yield (
        torch.tensor([[1.0, 0, 2, 0], [0, 1, 0, 0], [0, 0, 1, 0], [3, 0, 0, 1]]),
        torch.tensor([[0.0, 1, 0, 0], [0, 0, 2, 0], [1, 0, 0, 0], [0, 1, 0, 1]]),
        2,
    )
    for rows, d_model, num_heads in [
        (6, 6, 3),
        (12, 6, 3),
        (9, 12, 3),
        (1, 1, 1),
    ]:
        yield (
            torch.randn(rows, d_model, generator=generator),
            torch.randn(rows, d_model, generator=generator),
            num_heads,
        )


@score_matrices.holds("Each head's scores are x B xᵀ.")
def _(f, query_weight, key_weight, num_heads):
    x = torch.linspace(-1, 1, 3 * query_weight.shape[1]).sin().view(3, -1)
    query, key = (
        (x @ weight.T).unflatten(-1, (num_heads, -1)).transpose(0, 1)
        for weight in (query_weight, key_weight)
    )
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return changed(
        scores,
        x @ f(query_weight, key_weight, num_heads).to(x) @ x.T,
        "for one pair of tokens, the score is {}, but your B gives {}",
    )


@score_matrices.holds("The rank of each B is at most the number of features of a head.")
def _(f, query_weight, key_weight, num_heads):
    d_k = len(query_weight) // num_heads
    B = f(query_weight, key_weight, num_heads).double()
    rank = torch.linalg.matrix_rank(B, rtol=1e-5).max().item()
    if rank > d_k:
        return f"With d_k={d_k}, one B has the rank {rank}."


@score_matrices.mistake("not scaled")
def _(query_weight, key_weight, num_heads):
    """You multiply the two projections and leave out the division. The scores are then too large by
    the root of the number of a head's features, and the weights are too sharp."""
    return _by_rows(query_weight, num_heads).mT @ _by_rows(key_weight, num_heads)


@score_matrices.mistake("divided by the root of d_model")
def _(query_weight, key_weight, num_heads):
    """You divide by the root of the number of features of a token. But a head has fewer features
    than a token, so its scores are too small."""
    query, key = (_by_rows(w, num_heads) for w in (query_weight, key_weight))
    return query.mT @ key / math.sqrt(query.shape[-1])


@score_matrices.mistake("divided by the root of all heads' features")
def _(query_weight, key_weight, num_heads):
    """You divide by the root of the number of rows, which is the number of features of all heads
    together. But a score adds up the features of only one head."""
    query, key = (_by_rows(w, num_heads) for w in (query_weight, key_weight))
    return query.mT @ key / math.sqrt(len(query_weight))


@score_matrices.mistake("divided by d_k")
def _(query_weight, key_weight, num_heads):
    """You divide by the number of features of a head, not by its root. The scores are then too
    small, and the weights are too even."""
    query, key = (_by_rows(w, num_heads) for w in (query_weight, key_weight))
    return query.mT @ key / query.shape[1]


@score_matrices.mistake("query and key exchanged")
def _(query_weight, key_weight, num_heads):
    """You transpose the key's projection instead of the query's. In your B, the token that asks and
    the token that is asked have exchanged their roles."""
    query, key = (_by_rows(w, num_heads) for w in (query_weight, key_weight))
    return key.mT @ query / math.sqrt(query.shape[1])


@score_matrices.mistake("heads that alternate")
def _(query_weight, key_weight, num_heads):
    """You give the rows to the heads in turn. Each head then consists of rows of all heads,
    although it should have a block of rows."""
    query, key = (
        w.unflatten(0, (-1, num_heads)).transpose(0, 1) for w in (query_weight, key_weight)
    )
    return query.mT @ key / math.sqrt(query.shape[1])


@score_matrices.mistake("all heads together")
def _(query_weight, key_weight, num_heads):
    """You multiply the whole projections, which adds up the features of all heads, and give every
    head the result. You then have the same wide head several times."""
    d_k = len(query_weight) // num_heads
    B = query_weight.T @ key_weight / math.sqrt(d_k)
    return B.expand(num_heads, -1, -1).clone()


attend = Exercise(
    "7.4",
    "Several heads that ask another sequence",
    hints=[
        "Queries are made from `x`, and keys and values from `memory`. Each of the three is split "
        "into heads in the same way.",
        "The scores have the shape (batch, heads, L_query, L_key), but the mask has no axis for "
        "the heads. Where must you insert one, so that each mask is used for all heads of its own "
        "sentence?",
        "To merge the heads, undo the two steps of the split in reverse order. W_O comes last.",
    ],
    differentiable=True,
)


def _split(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def _merge(heads):
    return heads.transpose(1, 2).flatten(start_dim=2)


def _attend(
    x, memory, projections, num_heads, mask, *, split=_split, merge=_merge, scale=None, dim=-1
):
    W_Q, W_K, W_V, W_O = projections
    query, key, value = (split(made, num_heads) for made in (x @ W_Q, memory @ W_K, memory @ W_V))
    scores = query @ key.mT / (scale or math.sqrt(query.shape[-1]))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=dim).nan_to_num(0.0)
    return merge(weights @ value) @ W_O


def _scores(x, memory, projections, num_heads):
    query, key = _split(x @ projections[0], num_heads), _split(memory @ projections[1], num_heads)
    return query @ key.mT / math.sqrt(query.shape[-1])


def _mixed(weights, memory, projections, num_heads):
    return _merge(weights @ _split(memory @ projections[2], num_heads)) @ projections[3]


@attend.solution
def _(x, memory, projections, num_heads, mask):
    return _attend(x, memory, projections, num_heads, mask[:, None])


def _mask(generator, *shape):
    mask = torch.rand(shape, generator=generator) < 0.6
    mask[..., 0] |= ~mask.any(dim=-1)  # each query may attend to something
    mask[0, 0, -1] = False  # and at least one weight is forbidden
    mask[0, 0, 0] = True
    return mask


@attend.inputs
def _(generator):
    one = torch.eye(2).expand(4, 2, 2)
    yield (
        torch.tensor([[[1.0, 2.0]]]),
        torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]),
        torch.tensor([[[1.0, 0], [0, 1]], [[1, 1], [0, 1]], [[2, 0], [1, 1]], [[1, 0], [1, 1]]]),
        2,
        torch.tensor([[[True, True, False]]]),
    )
    yield (  # the only score that counts is −1024, and the other one is 1024
        torch.full((1, 1, 2), 32.0),
        torch.tensor([[[-32.0, -32.0], [32.0, 32.0]]]),
        one.clone(),
        2,
        torch.tensor([[[True, False]]]),
    )
    # in the second, batch and heads agree; in the third, both lengths
    for batch, L_query, L_key, d_model, num_heads in [
        (2, 3, 5, 6, 3),
        (2, 4, 3, 8, 2),
        (3, 4, 4, 12, 4),
        (1, 2, 1, 1, 1),
    ]:
        yield (
            torch.randn(batch, L_query, d_model, generator=generator),
            torch.randn(batch, L_key, d_model, generator=generator),
            torch.randn(4, d_model, d_model, generator=generator) / math.sqrt(d_model),
            num_heads,
            _mask(generator, batch, L_query, L_key),
        )


@attend.holds("A token that no query may attend to changes nothing.")
def _(f, x, memory, projections, num_heads, mask):
    if memory.shape[1] == 1:
        return None
    hidden = mask.clone()
    hidden[..., -1] = False
    hidden[..., 0] = True
    other = memory.clone()
    other[:, -1] += 3.0
    return changed(
        f(x, memory, projections, num_heads, hidden),
        f(x, other, projections, num_heads, hidden),
        "with another last token in memory, an output goes from {} to {}",
    )


def _last_head_alone(projections, num_heads):
    """The projections of a layer in which W_O reads the last head and no other."""
    projections, d_k = projections.clone(), projections.shape[-1] // num_heads
    projections[3, :-d_k] = 0.0
    return projections


@attend.holds("The queries of one head change no other head.", presupposes=True)
def _(f, x, memory, projections, num_heads, mask):
    projections, d_k = _last_head_alone(projections, num_heads), projections.shape[-1] // num_heads
    others = projections.clone()
    others[0, :, :-d_k] *= -2.0
    return changed(
        f(x, memory, projections, num_heads, mask),
        f(x, memory, others, num_heads, mask),
        "with other queries in the heads before, an output of the last one goes from {} to {}",
    )


@attend.mistake("split without a transpose")
def _(x, memory, projections, num_heads, mask):
    """You split by a single view with the heads before the tokens, and you also merge without a
    transpose. Tokens are then cut up and mixed, although every shape is right."""

    def view(x, num_heads):
        return x.reshape(len(x), num_heads, x.shape[1], -1)

    def merge(heads):
        return heads.reshape(len(heads), heads.shape[2], -1)

    return _attend(x, memory, projections, num_heads, mask[:, None], split=view, merge=merge)


@attend.mistake("merged without a transpose")
def _(x, memory, projections, num_heads, mask):
    """You split the heads correctly, but you merge them by a view alone. A token's output is then
    put together from one head at several tokens."""

    def merge(heads):
        return heads.reshape(len(heads), heads.shape[2], -1)

    return _attend(x, memory, projections, num_heads, mask[:, None], merge=merge)


@attend.mistake("without W_O")
def _(x, memory, projections, num_heads, mask):
    """You put the heads side by side and stop there. Each head then has output features of its own,
    and nothing mixes the heads."""
    same = torch.stack([*projections[:3], torch.eye(projections.shape[-1])])
    return _attend(x, memory, same, num_heads, mask[:, None])


@attend.mistake("divided by the root of d_model")
def _(x, memory, projections, num_heads, mask):
    """You divide by the root of the whole width. But the scores of a head add up fewer products
    than that, so the weights become too even."""
    scale = math.sqrt(x.shape[-1])
    return _attend(x, memory, projections, num_heads, mask[:, None], scale=scale)


@attend.mistake("not scaled")
def _(x, memory, projections, num_heads, mask):
    """You leave out the division of the scores. The weights are then too sharp, and the wider the
    heads are, the sharper they become."""
    return _attend(x, memory, projections, num_heads, mask[:, None], scale=1.0)


@attend.mistake("one wide head")
def _(x, memory, projections, num_heads, mask):
    """You never split the features. All of them then form one head with one row of weights,
    whatever the number of heads."""
    return _attend(x, memory, projections, 1, mask[:, None])


@attend.mistake("the mask ignored")
def _(x, memory, projections, num_heads, mask):
    """You let every query attend to every token of memory. Padding and forbidden later tokens are
    then mixed into the output."""
    return _attend(x, memory, projections, num_heads, None)


@attend.mistake("the mask inverted")
def _(x, memory, projections, num_heads, mask):
    """You forbid what the mask allows, and allow the rest. PyTorch's `nn.MultiheadAttention` reads
    masks that way, but here, True means that attending is allowed."""
    return _attend(x, memory, projections, num_heads, ~mask[:, None])


@attend.mistake("the mask after softmax")
def _(x, memory, projections, num_heads, mask):
    """You set weights to 0 after softmax. The forbidden tokens have then already taken their share,
    and a row of weights sums to less than 1."""
    weights = _scores(x, memory, projections, num_heads).softmax(dim=-1)
    return _mixed(weights * mask[:, None], memory, projections, num_heads)


@attend.mistake("forbidden scores set to 0")
def _(x, memory, projections, num_heads, mask):
    """You set forbidden scores to 0. But 0 is a score like any other, and its token still gets
    weight."""
    scores = _scores(x, memory, projections, num_heads) * mask[:, None]
    return _mixed(scores.softmax(dim=-1), memory, projections, num_heads)


@attend.mistake("one row of weights for all heads")
def _(x, memory, projections, num_heads, mask):
    """You average the weights over the heads, and every head uses the mean. The heads then no
    longer look at different tokens."""
    scores = _scores(x, memory, projections, num_heads).masked_fill(~mask[:, None], -math.inf)
    mean = scores.softmax(dim=-1).mean(dim=1, keepdim=True)
    return _mixed(mean, memory, projections, num_heads)


@attend.mistake("the best token alone")
def _(x, memory, projections, num_heads, mask):
    """You hand over only the value with the highest score. No gradient then tells queries and keys
    which other token would have been better."""
    scores = _scores(x, memory, projections, num_heads).masked_fill(~mask[:, None], -math.inf)
    best = torch.nn.functional.one_hot(scores.argmax(dim=-1), memory.shape[1])
    return _mixed(best.to(x), memory, projections, num_heads)


@attend.mistake("no exponential")
def _(x, memory, projections, num_heads, mask):
    """You divide the scores by their sum and leave out the exponential. But scores may be negative,
    and the sum of a row may be 0, so the result is not a row of weights."""
    scores = _scores(x, memory, projections, num_heads) * mask[:, None]
    return _mixed(scores / scores.sum(dim=-1, keepdim=True), memory, projections, num_heads)


@attend.mistake("divided by the root of the number of tokens")
def _(x, memory, projections, num_heads, mask):
    """You divide by the root of the length of memory. But a score adds up the features of a head,
    and the number of these features makes scores large."""
    scale = math.sqrt(memory.shape[1])
    return _attend(x, memory, projections, num_heads, mask[:, None], scale=scale)


@attend.mistake("softmax over the heads")
def _(x, memory, projections, num_heads, mask):
    """You normalise over the axis of heads. The heads then compete for each token, and the weights
    of one head do not sum to 1."""
    return _attend(x, memory, projections, num_heads, mask[:, None], dim=1)


@attend.mistake("keys handed over instead of values")
def _(x, memory, projections, num_heads, mask):
    """You mix the keys by the weights. But a key says how a token is found, and only a value is
    meant to be handed over."""
    same = torch.stack([projections[0], projections[1], projections[1], projections[3]])
    return _attend(x, memory, same, num_heads, mask[:, None])


@attend.mistake("key projection and value projection exchanged")
def _(x, memory, projections, num_heads, mask):
    """You take the third projection for the keys and the second for the values. Tokens are then
    found by their values, and they hand over their keys."""
    return _attend(x, memory, projections[[0, 2, 1, 3]], num_heads, mask[:, None])


@attend.mistake("query projection and key projection exchanged")
def _(x, memory, projections, num_heads, mask):
    """You send `x` through the key projection and `memory` through the query projection. Each score
    then answers a different question."""
    return _attend(x, memory, projections[[1, 0, 2, 3]], num_heads, mask[:, None])


@attend.mistake("projections transposed")
def _(x, memory, projections, num_heads, mask):
    """You multiply by the transposed projections, as `nn.Linear` does with its weights. But these
    projections must be used as they are."""
    return _attend(x, memory, projections.mT, num_heads, mask[:, None])


causal_heads = Repair(
    "7.5",
    "Debug this: a model that knows too much",
    line=7,
    because="Before it, the numbers of one head are side by side, and `reshape` keeps their order. "
    "So a row of the result holds what one head found for several tokens, also for later ones.",
    hints=[
        "Query 0 sees only letter 0. But in the map, one half of row 0 is letter 1. Which query "
        "has brought letter 1 there?",
        "Write down the names of the axes after each line. Which axis varies fastest, and which "
        "one next?",
    ],
    differentiable=True,
)
causal_heads.right_line(
    1,
    "It keeps the shape (batch, L, d_model), which is also the shape of the right result.",
)
causal_heads.right_line(
    2,
    "It cuts the features of each token into heads. The shape is then (batch, L, heads, d_k).",
)
causal_heads.right_line(
    3,
    "It moves the axis of the heads in front of the axis of the tokens. So each head compares its "
    "own features of one token with those of another.",
)
causal_heads.right_line(
    4,
    "It compares the queries and the keys of each head. The last axis now has the d_k features of "
    "one head, so the root is right, too.",
)
causal_heads.right_line(
    5,
    "It marks the scores of later tokens, which are above the diagonal. Without `diagonal=1`, it "
    "would mark the token itself as well.",
)
causal_heads.right_line(
    6,
    "It turns the marked scores into −∞, so that softmax makes their weights exactly 0. After this "
    "line, no query gives any weight to a later token.",
)


def _in_heads(query, key, value, num_heads):
    return (_split(x, num_heads) for x in (query, key, value))


def _causal(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    future = torch.ones_like(scores).triu(diagonal=1).bool()
    return scores.masked_fill(future, -math.inf).softmax(dim=-1) @ value


@causal_heads.solution
def _(query, key, value, num_heads):
    return _merge(_causal(*_in_heads(query, key, value, num_heads)))


@causal_heads.inputs
def _(generator):
    # two heads of one feature each; all that a query may see gets the same weight
    zeros = torch.zeros(1, 2, 2)
    yield zeros, zeros, torch.tensor([[[1.0, 10.0], [3.0, 20.0]]]), 2
    for batch, length, d_k, num_heads in ((2, 3, 2, 2), (1, 5, 1, 3), (2, 4, 3, 1), (3, 1, 2, 4)):
        shape = batch, length, num_heads * d_k
        yield *(torch.randn(shape, generator=generator) for _ in range(3)), num_heads


@causal_heads.holds("No row changes if the last token changes, except the last row.")
def _(f, query, key, value, num_heads):
    others = [x.clone() for x in (query, key, value)]
    for x in others:
        x[:, -1] += 1.0
    before, after = f(query, key, value, num_heads), f(*others, num_heads)
    if query.shape[1] > 1:
        sentence = "a number of an earlier row goes from {} to {}"
        return changed(before[:, :-1], after[:, :-1], sentence)


@causal_heads.holds("The first features of the result come from the first head.")
def _(f, query, key, value, num_heads):
    d_k = value.shape[-1] // num_heads
    others = value.clone()
    others[..., d_k:] += 1.0  # the values of the other heads
    return changed(
        f(query, key, value, num_heads)[..., :d_k],
        f(query, key, others, num_heads)[..., :d_k],
        "if the values of the other heads change, one of these features goes from {} to {}",
    )


@causal_heads.broken
def _(query, key, value, num_heads):
    """The result is still read from head to head. A row then holds several tokens of one head,
    so that a token gets what a later token has found."""
    return _causal(*_in_heads(query, key, value, num_heads)).reshape(query.shape)


@causal_heads.mistake("heads that attend to each other")
def _(query, key, value, num_heads):
    """You leave the axis of the heads where it was, and the shapes fit. But attention now mixes
    the heads of one token, and no token sees another one."""
    parts = (x.unflatten(-1, (num_heads, -1)) for x in (query, key, value))
    return _causal(*parts).reshape(query.shape)


@causal_heads.mistake("split by a view as well")
def _(query, key, value, num_heads):
    """You also split in one step, so that the last line undoes the split. But then a head gets all
    features of a few tokens, and never sees the others."""
    batch, length, _ = query.shape
    parts = (x.reshape(batch, num_heads, length, -1) for x in (query, key, value))
    return _causal(*parts).reshape(query.shape)


@causal_heads.mistake("tokens and features exchanged")
def _(query, key, value, num_heads):
    """You exchange the tokens and the features of each head. A row then holds single features of
    many tokens, also of later ones."""
    return _causal(*_in_heads(query, key, value, num_heads)).mT.reshape(query.shape)


@causal_heads.mistake("heads that alternate")
def _(query, key, value, num_heads):
    """You keep the tokens apart, but you put the axis of the heads last. The features of the heads
    then alternate, although the next projection expects them head by head."""
    return (
        _causal(*_in_heads(query, key, value, num_heads)).permute(0, 2, 3, 1).reshape(query.shape)
    )


@causal_heads.mistake("batch and heads exchanged")
def _(query, key, value, num_heads):
    """You exchange the heads and the batch. A row still holds several tokens of one head, and in a
    batch of several texts, it may even come from a different text."""
    return _causal(*_in_heads(query, key, value, num_heads)).transpose(0, 1).reshape(query.shape)


missed_by_three = NumericAnswer(
    "7.7",
    "Eight words and three random heads",
    answer=100 * (8 - 3) / 8,
    within=0.03,
    hints=[
        "Each average is an equation. How many equations does the reader have, and how many "
        "unknowns?",
        "The eight numbers of a sentence are a point in a space of eight dimensions, and they vary "
        "equally in all directions. In how many directions do the averages not change?",
    ],
)
missed_by_three.wrong_value(
    "the part that the reader finds",
    100 * 3 / 8,
    "You gave the part of the variance that the reader finds. The question asks for the part that "
    "it misses.",
)
missed_by_three.wrong_value(
    "a single average",
    100 * 7 / 8,
    "You counted only one average. Heads that all have the same weights would miss as much, but "
    "random rows of weights differ.",
)
missed_by_three.wrong_value(
    "each head finds an eighth of the rest",
    100 * (7 / 8) ** 3,
    "You let each head find an eighth of what the heads before it missed. But each head adds one "
    "equation, which removes one whole direction.",
)
missed_by_three.wrong_value(
    "two words and one head",
    50.0,
    "This is right for one head and two words, where one equation is missing. But with three heads "
    "and eight words, more than one is missing.",
)
missed_by_three.wrong_value(
    "a share instead of a percentage",
    5 / 8,
    "You gave a share between 0 and 1. The question asks for a percentage, so multiply your number "
    "by 100.",
)
missed_by_three.wrong_value(
    "nothing",
    0.0,
    "You assumed that the reader can recover all the numbers. But three equations do not determine "
    "eight unknowns, even with the best weights.",
)
missed_by_three.wrong_value(
    "everything",
    100.0,
    "You assumed that averages with random weights say nothing. But the reader knows these "
    "weights, so each average still tells it one combination of the numbers.",
)


divergences = Exercise(
    "7.8",
    "How differently heads look",
    hints=[
        "`weights[:, :, None]` and `weights[:, None]` broadcast to all pairs of heads.",
        "`torch.special.xlogy(w, w)` is w log w, and it is 0 where w is 0.",
        "Entropies are sums over the keys. First compute the divergence of each pair of rows. The "
        "mean over batch and queries comes last.",
    ],
)


def _entropy(w):
    return -torch.special.xlogy(w, w).sum(dim=-1)


def _pairs(weights):
    return weights[:, :, None], weights[:, None]


def _between(weights):
    u, v = _pairs(weights)
    return _entropy((u + v) / 2) - (_entropy(u) + _entropy(v)) / 2


@divergences.solution
def _(weights):
    return _between(weights).mean(dim=(0, 3))


@divergences.inputs
def _(generator):
    yield (torch.tensor([[[[0.5, 0.5, 0.0]], [[0.0, 0.5, 0.5]]]]),)
    for shape in [(2, 3, 4, 5), (2, 4, 3, 3), (1, 1, 2, 1)]:
        scores = 2 * torch.randn(shape, generator=generator)
        yield (scores.softmax(dim=-1),)
    scores = torch.randn(2, 3, 5, 5, generator=generator)  # with a causal mask
    future = torch.ones(5, 5).triu(diagonal=1) > 0
    yield (scores.masked_fill(future, -math.inf).softmax(dim=-1),)


@divergences.holds("The divergence between a head and itself is 0.")
def _(f, weights):
    own = f(weights).diagonal()
    if not own.abs().max() < 1e-4:
        return f"For one head, you return {own[own.abs().argmax()]:.3g}."


@divergences.holds(
    "The divergence of two heads that share no key is log 2, and no divergence is larger."
)
def _(f, weights):
    if weights.shape[1] == 1:
        return None
    apart = torch.zeros_like(weights[:, :2])
    apart[:, 0, :, 0] = 1.0
    apart[:, 1, :, 1:] = 1 / (weights.shape[-1] - 1)
    found = f(apart)[0, 1].item()
    if not math.isclose(found, math.log(2), abs_tol=1e-3):
        side = "more" if found > math.log(2) else "less"
        shown = told_apart(found, math.log(2))
        return f"For two such heads, you return {shown}, which is {side}."
    largest = f(weights).max().item()
    if largest > math.log(2) + 1e-4:
        return f"One of your divergences is {told_apart(largest, math.log(2))}."


@divergences.mistake("0 log 0 left as NaN")
def _(weights):
    """You multiply a weight by its logarithm. Where the weight is 0, the logarithm is −∞, and the
    product is NaN."""

    def entropy(w):
        return -(w * w.log()).sum(dim=-1)

    u, v = _pairs(weights)
    between = entropy((u + v) / 2) - (entropy(u) + entropy(v)) / 2
    return between.mean(dim=(0, 3))


@divergences.mistake("averaged before comparing")
def _(weights):
    """You average the maps over batch and queries first and compare the means. Heads that look at
    different tokens in each sentence, but at each token equally often on the whole, then seem
    alike."""
    mean = weights.mean(dim=(0, 2), keepdim=True)
    return _between(mean).mean(dim=(0, 3))


@divergences.mistake("logarithms with base 2")
def _(weights):
    """You use logarithms with base 2. The divergence is then in bits, and it is 1 for heads that
    share no key."""
    return _between(weights).mean(dim=(0, 3)) / math.log(2)


@divergences.mistake("the root of the divergence")
def _(weights):
    """You take the root of each divergence. The root is the Jensen–Shannon *distance*. It is a
    metric, but the task asks for the divergence."""
    return _between(weights).clamp(min=0).sqrt().mean(dim=(0, 3))


@divergences.mistake("summed over the queries")
def _(weights):
    """You sum over the queries instead of averaging. In long sentences, all heads then seem to
    differ more."""
    return _between(weights).sum(dim=3).mean(dim=0)


@divergences.mistake("entropies added, not averaged")
def _(weights):
    """You subtract both entropies in full. The divergence of a head from itself is then minus its
    entropy instead of 0."""
    u, v = _pairs(weights)
    between = _entropy((u + v) / 2) - _entropy(u) - _entropy(v)
    return between.mean(dim=(0, 3))


@divergences.mistake("u + v without the half")
def _(weights):
    """You take the entropy of the sum of the two rows. But the sum is not a row of weights, because
    it adds up to 2."""
    u, v = _pairs(weights)
    between = _entropy(u + v) - (_entropy(u) + _entropy(v)) / 2
    return between.mean(dim=(0, 3))


@divergences.mistake("the difference of the entropies")
def _(weights):
    """You compare how sharp two heads are, not where they look. Two heads that look at different
    tokens, but are equally sharp, then get a difference of 0."""
    u, v = _pairs(weights)
    return (_entropy(u) - _entropy(v)).abs().mean(dim=(0, 3))


heads_of_spectrum = NumericAnswer(
    "7.9",
    "The number of heads in a spectrum",
    hints=[
        "Numbers in float32 have about seven digits. Which of the singular values would be 0 "
        "without rounding?",
        "A query of this head has d_k features. In how many directions can a product of a 48 × "
        "d_k matrix and a d_k × 48 matrix stretch a vector?",
    ],
    answer=6.0,
    within=0.01,
)
heads_of_spectrum.wrong_value(
    "the features of a head",
    8.0,
    "You counted the singular values that are not rounding errors. They tell how many features "
    "a query of this head has.",
)
heads_of_spectrum.wrong_value(
    "all singular values",
    48.0,
    "You counted all singular values. A layer has that many heads only if each head has a "
    "single feature.",
)
heads_of_spectrum.wrong_value(
    "the rounding errors",
    40.0,
    "You counted the tiny singular values. They are the directions that this head does not read.",
)
heads_of_spectrum.wrong_value(
    "divided by the rounding errors",
    1.2,
    "You divided by the number of tiny singular values. They are the directions that this head "
    "does not read, so they say nothing about its own size.",
)


without_pairs = Exercise(
    "7.10",
    "The layer without two of its heads",
    hints=[
        "By (7.5), the output is a sum over the heads. Which terms are missing when i and j are "
        "off? And which when i and j are the same head?",
        "The weight of an `nn.Linear` is the transpose of W_O. After `.T`, the rows of one head "
        "are a block.",
        "Give each head a gate that is 1 or 0. Write down the row of gates with only head i off, "
        "and the row with only head j off. What happens when you multiply the two rows?",
    ],
)


def _blocks(weight, num_heads):
    return weight.T.unflatten(0, (num_heads, -1))


def _added(heads, weight):
    return (heads @ _blocks(weight, heads.shape[1])).transpose(0, 1)


def _gates(num_heads):
    on = 1 - torch.eye(num_heads)
    return on[:, None] * on  # [i, j, h] is 0 if h is i or j


def _gated(gates, added):
    return (gates[..., None, None, None] * added).sum(dim=2)


@without_pairs.solution
def _(heads, weight):
    return _gated(_gates(heads.shape[1]), _added(heads, weight))


def _heads_and_weight(generator):
    # a batch, heads, tokens, d_k and d_model; the weight is often square
    for batch, num_heads, length, d_k, d_model in [
        (2, 3, 4, 2, 6),
        (3, 2, 2, 3, 6),
        (3, 4, 3, 2, 5),
        (1, 1, 1, 1, 1),
    ]:
        yield (
            torch.randn(batch, num_heads, length, d_k, generator=generator),
            torch.randn(d_model, num_heads * d_k, generator=generator),
            (batch, length, d_model),
        )


@without_pairs.inputs
def _(generator):
    # three heads of one feature add (1, 0), (0, 3) and (4, 2)
    yield (torch.tensor([[[[1.0]], [[3.0]], [[2.0]]]]), torch.tensor([[1.0, 0, 2], [0, 1, 1]]))
    for heads, weight, _ in _heads_and_weight(generator):
        yield heads, weight


def _layer(heads, weight):
    return heads.transpose(1, 2).flatten(start_dim=2) @ weight.T


@without_pairs.holds("If a head returns zeros, switching it off changes nothing.")
def _(f, heads, weight):
    silent = heads.clone()
    silent[:, 0] = 0.0
    return changed(
        _layer(silent, weight),
        f(silent, weight)[0, 0],
        "with a first head of zeros an output is {}, but without this head it is {}",
    )


@without_pairs.holds("Where a head is off, its output changes nothing.")
def _(f, heads, weight):
    louder = heads.clone()
    louder[:, -1] *= 3.0
    return changed(f(heads, weight)[-1], f(louder, weight)[-1], "an output goes from {} to {}")


@without_pairs.mistake("the same head off twice")
def _(heads, weight):
    """You always subtract the outputs of two heads, even where both are the same head. On the
    diagonal, you then subtract one head twice."""
    added = _added(heads, weight)
    return added.sum(dim=0) - added[:, None] - added


@without_pairs.mistake("nothing off on the diagonal")
def _(heads, weight):
    """You leave all heads on where i equals j. But there, one head should be off."""
    gates = _gates(heads.shape[1])
    gates.diagonal()[:] = 1.0
    return _gated(gates, _added(heads, weight))


@without_pairs.mistake("the pair alone")
def _(heads, weight):
    """You return the sum of what the two heads add. This is the layer with only these two heads on,
    and all others off."""
    return _gated(1 - _gates(heads.shape[1]), _added(heads, weight))


@without_pairs.mistake("one of the two off")
def _(heads, weight):
    """You switch off one head of each pair. The other head stays on."""
    num_heads = heads.shape[1]
    gates = (1 - torch.eye(num_heads)).expand(num_heads, -1, -1)
    return _gated(gates, _added(heads, weight))


@without_pairs.mistake("off only where both gates are off")
def _(heads, weight):
    """You leave a head on unless both gates switch it off. With two different heads, no head is
    then off."""
    on = 1 - torch.eye(heads.shape[1])
    return _gated(torch.maximum(on[:, None], on), _added(heads, weight))


@without_pairs.mistake("scaled up")
def _(heads, weight):
    """You scale up the heads that are left, as dropout does. You then not only switch off the pair,
    but also change all the other heads."""
    gates = _gates(heads.shape[1])
    left = gates.sum(dim=2, keepdim=True).clamp(min=1.0)
    return _gated(gates * heads.shape[1] / left, _added(heads, weight))


@without_pairs.mistake("the mean of the others")
def _(heads, weight):
    """You average what the other heads add. But the heads of a layer are summed, so your result is
    too small, and the more heads there are, the smaller it is."""
    gates = _gates(heads.shape[1])
    left = gates.sum(dim=2, keepdim=True).clamp(min=1.0)
    return _gated(gates / left, _added(heads, weight))


@without_pairs.mistake("rows of W_O in turn")
def _(heads, weight):
    """You give each head every num_heads-th row of W_O. But the rows of a head form a block, so
    each head meets rows that belong to others."""
    blocks = weight.T.unflatten(0, (-1, heads.shape[1])).transpose(0, 1)
    added = (heads @ blocks).transpose(0, 1)
    return _gated(_gates(heads.shape[1]), added)


@without_pairs.mistake("blocks in reverse")
def _(heads, weight):
    """You pair the first head with the last block of W_O, and so on. Heads then go through the
    blocks of other heads."""
    blocks = _blocks(weight, heads.shape[1]).flip(0)
    added = (heads @ blocks).transpose(0, 1)
    return _gated(_gates(heads.shape[1]), added)


@without_pairs.mistake("merged without a transpose")
def _(heads, weight):
    """You put the heads together by a view alone, with two of them set to 0. Tokens and heads are
    then mixed up, and a token gets features that belong to others."""
    gates = _gates(heads.shape[1])[:, :, None, :, None, None]
    merged = (gates * heads).reshape(*gates.shape[:2], len(heads), heads.shape[2], -1)
    return merged @ weight.T


importance = Exercise(
    "7.11",
    "The importance of heads, all at once",
    hints=[
        "With gates, the output is the sum of g_i times what head i adds (7.5). How does one "
        "number of the output change with g_i?",
        "By the chain rule, multiply each number of the gradient by that change, and sum over "
        "tokens and features. The sum is the derivative of the loss.",
        "Each example has its own gate, so it has its own sum. In which order do you then take the "
        "absolute value, the sum and the mean?",
    ],
)


def _by_gate(heads, weight, gradient):
    added = heads @ _blocks(weight, heads.shape[1])
    return added * gradient[:, None]  # (batch, heads, L, d_model)


@importance.solution
def _(heads, weight, gradient):
    products = _by_gate(heads, weight, gradient)
    return products.sum(dim=(2, 3)).abs().mean(dim=0)


@importance.inputs
def _(generator):
    # one feature for each of two heads; examples pull in different directions
    yield (
        torch.tensor([[[[1.0], [2.0]], [[3.0], [1.0]]]]).repeat(2, 1, 1, 1),
        torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
        torch.tensor([[[1.0, 0.0], [-1.0, 1.0]], [[-2.0, 0.0], [0.0, 0.5]]]),
    )
    for heads, weight, shape in _heads_and_weight(generator):
        yield heads, weight, torch.randn(shape, generator=generator)


@importance.holds("The sign of one example's gradient does not matter.")
def _(f, heads, weight, gradient):
    turned = gradient.clone()
    turned[0] *= -1.0
    return changed(
        f(heads, weight, gradient),
        f(heads, weight, turned),
        "with the sign of the first example flipped, an importance goes from {} to {}",
    )


@importance.holds(
    "For a single example, the importance is how fast the loss changes when the gate "
    "gets slightly smaller."
)
def _(f, heads, weight, gradient):
    heads, gradient = heads[:1], gradient[:1]
    lost = []
    for i in range(heads.shape[1]):
        less = heads.clone()
        less[:, i] *= 0.5
        change = _layer(heads, weight) - _layer(less, weight)
        lost.append(2 * (change * gradient).sum().abs())
    return changed(
        torch.stack(lost),
        f(heads, weight, gradient),
        "by a smaller gate, one importance is {}, but your function returns {}",
    )


@importance.mistake("absolute values of the single products")
def _(heads, weight, gradient):
    """You take absolute values before you sum over tokens and features. Products that cancel each
    other in the loss are then all counted."""
    products = _by_gate(heads, weight, gradient)
    return products.abs().sum(dim=(2, 3)).mean(dim=0)


@importance.mistake("absolute value of the mean")
def _(heads, weight, gradient):
    """You average over the examples first. A head that helps one example and harms another as much
    then seems to do nothing."""
    products = _by_gate(heads, weight, gradient)
    return products.sum(dim=(2, 3)).mean(dim=0).abs()


@importance.mistake("no absolute value")
def _(heads, weight, gradient):
    """You keep the signs. Positive and negative examples then cancel, and an importance may be
    negative."""
    products = _by_gate(heads, weight, gradient)
    return products.sum(dim=(2, 3)).mean(dim=0)


@importance.mistake("absolute value for each token")
def _(heads, weight, gradient):
    """You take the absolute value of each token's sum. But an example has one gate for all its
    tokens, and the effects of its tokens may cancel."""
    products = _by_gate(heads, weight, gradient)
    return products.sum(dim=3).abs().sum(dim=2).mean(dim=0)


@importance.mistake("summed over the batch")
def _(heads, weight, gradient):
    """You sum over the examples instead of averaging. The importance then grows with the size of
    the batch."""
    products = _by_gate(heads, weight, gradient)
    return products.sum(dim=(2, 3)).abs().sum(dim=0)


@importance.mistake("the mean over the tokens")
def _(heads, weight, gradient):
    """You average over the tokens before you take the absolute value. But the loss changes with the
    sum over all tokens, so your result is too small."""
    products = _by_gate(heads, weight, gradient)
    return products.sum(dim=3).mean(dim=2).abs().mean(dim=0)


@importance.mistake("features of W_O in turn")
def _(heads, weight, gradient):
    """You give each head every num_heads-th column of the weight. But the columns of a head form a
    block, so each head meets columns that belong to others."""
    blocks = weight.T.unflatten(0, (-1, heads.shape[1])).transpose(0, 1)
    products = (heads @ blocks) * gradient[:, None]
    return products.sum(dim=(2, 3)).abs().mean(dim=0)


@importance.mistake("the length of what a head adds")
def _(heads, weight, gradient):
    """You measure how much each head adds, and never use the gradient. But a head may add a lot on
    which the loss does not depend."""
    added = heads @ _blocks(weight, heads.shape[1])
    return added.square().sum(dim=(2, 3)).sqrt().mean(dim=0)


@importance.mistake("W_O left out")
def _(heads, weight, gradient):
    """You multiply the heads by the gradient as it arrives at the layer's output. But W_O lies
    between the two and decides what each head adds."""
    own = gradient.unflatten(-1, (heads.shape[1], -1)).transpose(1, 2)
    return (heads * own).sum(dim=(2, 3)).abs().mean(dim=0)


second_in_both = Construction(
    "7.12",
    "First in no head, and first in all",
    shape=(2, 3),
    hints=[
        "Write down the weights first, as two rows that sum to 1. Which word can be the favourite "
        "of both heads together, if it is not the favourite of either?",
        "Softmax turns the logarithms of weights into these weights again.",
    ],
)
second_in_both.reference = torch.tensor([[3.3, 3.1, 0.0], [0.0, 3.1, 3.3]])


def _thirds(weights):
    dog, park, man = weights.tolist()
    return f"dog {dog:.3f}, park {park:.3f} and man {man:.3f}"


@second_in_both.holds("In each head, dog or man gets at least 0.05 more weight than park.")
def _(scores):
    for head, weights in enumerate(scores.softmax(dim=-1), start=1):
        if max(weights[0], weights[2]) < weights[1] + 0.05 - 1e-6:
            return f"Head {head} gives {_thirds(weights)}."


@second_in_both.holds("Over both heads, park gets at least 0.2 more than dog and than man.")
def _(scores):
    total = scores.softmax(dim=-1).sum(dim=0)
    if max(total[0], total[2]) > total[1] - 0.2 + 1e-6:
        return f"In sum, the heads give {_thirds(total)}."


@second_in_both.wrong("weights instead of scores", example=[[0.5, 0.4, 0.1], [0.1, 0.4, 0.5]])
def _(scores):
    """You gave weights, which sum to 1, but softmax still follows. It makes weights of such small
    numbers that hardly differ."""
    return bool((scores >= 0).all()) and torch.allclose(
        scores.sum(dim=-1), torch.ones(2).double(), atol=1e-3
    )


@second_in_both.wrong("park leads in a head", example=[[0.0, 2.0, 0.0], [0.0, 2.0, 0.0]])
def _(scores):
    """Park gets the most weight in one of your heads or in both. It is then no surprise that it
    counts most in the sum."""
    return bool((scores.argmax(dim=-1) == 1).any())


@second_in_both.wrong("one favourite", example=[[3.0, 2.8, 0.0], [3.0, 2.8, 0.0]])
def _(scores):
    """Both heads give the same word the most weight. This word is then ahead in the sum as well,
    because it is ahead in both terms."""
    first, second = scores.argmax(dim=-1).tolist()
    return first == second and bool((scores[:, first] > scores[:, 1]).all())


@second_in_both.wrong("little for park", example=[[5.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
def _(scores):
    """Each head gives its favourite nearly all of its weight. Park then gets too little from both
    to catch up in the sum."""
    return bool((scores.softmax(dim=-1)[:, 1] < 0.3).all())
