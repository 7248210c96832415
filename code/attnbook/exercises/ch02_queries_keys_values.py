"""Exercises of chapter 2, "What are queries, keys and values?"."""

import math

import torch

from attnbook.exercises.declare import (
    Construction,
    Exercise,
    MultipleChoice,
    NumericAnswer,
    Repair,
)
from attnbook.exercises.properties import changed, row_sums
from attnbook.exercises.report import told_apart

one_shared_projection = MultipleChoice(
    "2.0",
    "One projection for queries and keys",
    hints=[
        "With one projection, compare the score that the woman gives the man with the score that "
        "the man gives the woman.",
        "Go once round the circle, and write down which score has to be larger than which.",
    ],
    answer="B",
    because='One trained projection can make "she" and "Anna" alike. But its scores are the '
    "same in both directions, and a circle needs a direction.",
)
one_shared_projection.wrong_option(
    "A",
    "a projection can't change what is similar",
    "This assumes that with one projection, words find each other only if they were alike from the "
    "start. But the projection is trained, and it decides which words become alike. Look at how "
    'far this design gets with "she" and "Anna".',
)
one_shared_projection.wrong_option(
    "C",
    "more training cures everything",
    "This assumes that one projection can be trained for any relation. But with one projection, "
    "the woman's score for the man equals the man's score for the woman, in every sentence. Look "
    "at whether a single seed gets round the circle.",
)


output_by_hand = NumericAnswer(
    "2.1",
    "An output by hand",
    answer=5.0,
    within=0.01,
    hints=[
        "The exponential undoes the logarithm: e^(ln 5) = 5. And e^0 = 1.",
        "The three exponentials sum to 8. What are the three weights?",
    ],
)
output_by_hand.wrong_value(
    "every value counted alike",
    32 / 3,
    "You took the plain mean of the three values. But the scores differ, so the values do not get "
    "equal shares.",
)
output_by_hand.wrong_value(
    "the best key alone",
    0.0,
    "You returned the value of the key with the highest score. Softmax gives this key the largest "
    "share, but not all of the weight.",
)
output_by_hand.wrong_value(
    "the exponentials not divided by their sum",
    40.0,
    "You multiplied the values by the exponentials themselves. The exponentials sum to 8, so the "
    "output lies outside the range of the values.",
)
output_by_hand.wrong_value(
    "scores divided by their sum",
    8 * math.log(2) / math.log(10),
    "You divided each score by the sum of the scores. Without the exponential, a score of 0 gets "
    "no share at all.",
)
output_by_hand.wrong_value(
    "scores used as weights",
    8 * math.log(2),
    "You multiplied the values by the scores. But scores are not shares. They must go through "
    "softmax first.",
)
output_by_hand.wrong_value(
    "the values in reverse",
    17.0,
    "You gave the first value the weight of the last key. But the weights, the keys and the values "
    "have the same order.",
)


cross_attention = Exercise(
    "2.2",
    "One sentence asks another",
    hints=[
        "Start with the three products. Which of `x` and `memory` goes through which projection?",
        "The tokens that ask have queries. The tokens that are asked have keys and values.",
        "The rest is equation (2.2), which is the chapter's function `attention`.",
    ],
    differentiable=True,
)


def _attention(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.softmax(dim=-1) @ value


@cross_attention.solution
def _(x, memory, q_proj, k_proj, v_proj):
    return _attention(x @ q_proj, memory @ k_proj, memory @ v_proj)


@cross_attention.inputs
def _(generator):
    yield (
        torch.tensor([[1.0, 0.0], [0.0, 2.0]]),
        torch.tensor([[1.0, 1.0], [0.0, 1.0], [2.0, 0.0]]),
        torch.tensor([[1.0], [1.0]]),
        torch.tensor([[1.0], [-1.0]]),
        torch.tensor([[2.0], [1.0]]),
    )
    yield (  # keys have two features, values one
        torch.tensor([[1.0, 0.0], [0.0, 2.0]]),
        torch.tensor([[1.0, 1.0], [0.0, 1.0], [2.0, 0.0]]),
        torch.tensor([[1.0, 0.0], [1.0, 1.0]]),
        torch.tensor([[1.0, 1.0], [-1.0, 0.0]]),
        torch.tensor([[2.0], [1.0]]),
    )
    yield (
        torch.tensor([[1.0, 0.0], [0.0, 2.0]]),
        torch.tensor([[1.0, 1.0], [0.0, 1.0]]),
        torch.tensor([[1.0, 0.0], [1.0, 1.0]]),
        torch.tensor([[1.0, 1.0], [-1.0, 0.0]]),
        torch.tensor([[2.0, 0.0], [1.0, 1.0]]),
    )
    for batch, m, n, d_model, d_k, d_v in [
        ((), 3, 3, 6, 6, 6),
        ((2, 1), 4, 4, 6, 3, 3),
        ((1,), 5, 1, 6, 4, 2),
        ((1, 3), 1, 6, 1, 8, 3),
    ]:
        yield (
            torch.randn(*batch, m, d_model, generator=generator),
            torch.randn(*batch, n, d_model, generator=generator),
            torch.randn(d_model, d_k, generator=generator) / d_model**0.5,
            torch.randn(d_model, d_k, generator=generator) / d_model**0.5,
            torch.randn(d_model, d_v, generator=generator) / d_model**0.5,
        )


@cross_attention.holds("With a key projection of zeros, every output is the mean of the values.")
def _(f, x, memory, q_proj, k_proj, v_proj):
    found = f(x, memory, q_proj, torch.zeros_like(k_proj), v_proj)
    mean = (memory @ v_proj).mean(dim=-2, keepdim=True).expand_as(found)
    return changed(mean, found, "the mean is {}, but an output is {}")


@cross_attention.holds("A token whose scaled score is larger by log 3 counts three times as much.")
def _(f, x, memory, q_proj, k_proj, v_proj):
    k_proj = torch.zeros(2, 4)
    k_proj[0, 0] = math.log(3) * math.sqrt(4)
    # a value projection that shows the weight of the first token
    first = torch.tensor([[1.0], [0.0]])
    share = f(first.mT, torch.eye(2), torch.eye(2, 4), k_proj, first).item()
    if not abs(share - 0.75) < 1e-4:
        return f"Of two tokens, its weight should be 0.75, but is {told_apart(share, 0.75)}."


@cross_attention.mistake("the two sentences exchanged")
def _(x, memory, q_proj, k_proj, v_proj):
    """You let the tokens of `memory` ask those of `x`. The result then has one row for each token
    of `memory`, and the tokens of `x` get no answer."""
    return _attention(memory @ q_proj, x @ k_proj, x @ v_proj)


@cross_attention.mistake("self-attention")
def _(x, memory, q_proj, k_proj, v_proj):
    """You take queries, keys and values from `x` alone. Nothing from `memory` can reach the
    output."""
    return _attention(x @ q_proj, x @ k_proj, x @ v_proj)


@cross_attention.mistake("everything from `memory`")
def _(x, memory, q_proj, k_proj, v_proj):
    """You take queries, keys and values from `memory`. Then the tokens of `x` ask nothing, and the
    result has one row for each token of `memory`."""
    return _attention(memory @ q_proj, memory @ k_proj, memory @ v_proj)


@cross_attention.mistake("the values taken from `x`")
def _(x, memory, q_proj, k_proj, v_proj):
    """You take the values from `x`. But each weight belongs to a token of `memory`, and no token of
    `x` corresponds to that token."""
    return _attention(x @ q_proj, memory @ k_proj, x @ v_proj)


@cross_attention.mistake("the tokens mixed without the value projection")
def _(x, memory, q_proj, k_proj, v_proj):
    """You mix the tokens of `memory` as they are. The value projection is never used, so attention
    can't learn what each token hands over."""
    return _attention(x @ q_proj, memory @ k_proj, memory)


@cross_attention.mistake("the key projection for queries and keys")
def _(x, memory, q_proj, k_proj, v_proj):
    """You send queries and keys through the same projection. A token then looks for just what it is
    found by, and `q_proj` can't learn."""
    return _attention(x @ k_proj, memory @ k_proj, memory @ v_proj)


@cross_attention.mistake("query projection and key projection exchanged")
def _(x, memory, q_proj, k_proj, v_proj):
    """You send `x` through the key projection and `memory` through the query projection. Each score
    then answers a different question."""
    return _attention(x @ k_proj, memory @ q_proj, memory @ v_proj)


@cross_attention.mistake("key projection and value projection exchanged")
def _(x, memory, q_proj, k_proj, v_proj):
    """You find tokens by their values and hand over their keys. This runs only where keys and
    values have the same number of features."""
    return _attention(x @ q_proj, memory @ v_proj, memory @ k_proj)


@cross_attention.mistake("keys handed over instead of values")
def _(x, memory, q_proj, k_proj, v_proj):
    """You mix the keys. But a key says how a token is found, not what the token hands over. And the
    value projection is never used."""
    return _attention(x @ q_proj, memory @ k_proj, memory @ k_proj)


@cross_attention.mistake("no division by √d_k")
def _(x, memory, q_proj, k_proj, v_proj):
    """You use the scores without the division. The more features a key has, the sharper the weights
    become."""
    scores = (x @ q_proj) @ (memory @ k_proj).mT
    return scores.softmax(dim=-1) @ (memory @ v_proj)


@cross_attention.mistake("divided twice by √d_k")
def _(x, memory, q_proj, k_proj, v_proj):
    """You divide the scores by √d_k twice, or by d_k once, which is the same. The weights become
    too even. Does a function that you call also divide?"""
    query, key = x @ q_proj, memory @ k_proj
    return (query @ key.mT / query.shape[-1]).softmax(dim=-1) @ (memory @ v_proj)


@cross_attention.mistake("√d_model instead of √d_k")
def _(x, memory, q_proj, k_proj, v_proj):
    """You divide by the root of the number of features of a token. But a score adds up as many
    products as a *key* has features."""
    scores = (x @ q_proj) @ (memory @ k_proj).mT / math.sqrt(x.shape[-1])
    return scores.softmax(dim=-1) @ (memory @ v_proj)


@cross_attention.mistake("√d_v instead of √d_k")
def _(x, memory, q_proj, k_proj, v_proj):
    """You divide by the root of the number of features of a value. But a score adds up as many
    products as a *key* has features."""
    scores = (x @ q_proj) @ (memory @ k_proj).mT / math.sqrt(v_proj.shape[-1])
    return scores.softmax(dim=-1) @ (memory @ v_proj)


@cross_attention.mistake("softmax over the queries")
def _(x, memory, q_proj, k_proj, v_proj):
    """Your softmax runs down the columns, over the queries. The queries then compete for each key,
    and the weights of one query do not sum to 1."""
    query, key = x @ q_proj, memory @ k_proj
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.softmax(dim=-2) @ (memory @ v_proj)


@cross_attention.mistake("no softmax")
def _(x, memory, q_proj, k_proj, v_proj):
    """You mix the values with the scores. But scores may be negative and need not sum to 1, so the
    output can lie far outside the range of the values."""
    query, key = x @ q_proj, memory @ k_proj
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores @ (memory @ v_proj)


contributions = Exercise(
    "2.3",
    "Who contributed what",
    hints=[
        "Each entry is the weight of query i on key j, times one feature of value j. Nothing is "
        "summed.",
        "The result has one more axis than each of the inputs. `weights[..., None]` adds an axis "
        "at the end.",
        "The weights need an axis for the features, and the values need an axis for the queries. "
        "Broadcasting does the rest.",
    ],
)


@contributions.solution
def _(weights, value):
    return weights[..., :, :, None] * value[..., None, :, :]


@contributions.inputs
def _(generator):
    yield (torch.tensor([[0.75, 0.25], [0.5, 0.5]]), torch.tensor([[4.0, 0.0], [8.0, 2.0]]))
    for batch, n_query, n_key, d_v in [
        ((2,), 4, 4, 4),
        ((3,), 2, 5, 4),
        ((2, 1), 4, 1, 2),
        ((1, 2), 1, 3, 1),
    ]:
        scores = torch.randn(*batch, n_query, n_key, generator=generator)
        value = torch.randn(*batch, n_key, d_v, generator=generator)
        yield scores.softmax(dim=-1), value


@contributions.holds("Summed over the keys, the parts give the output.")
def _(f, weights, value):
    parts = f(weights, value)
    return changed(weights @ value, parts.sum(dim=-2), "an output is {}, but its parts sum to {}")


@contributions.holds("What a key contributes depends on its own value alone.")
def _(f, weights, value):
    if value.shape[-2] < 2:
        return None
    other = torch.cat([value[..., :-1, :], value[..., -1:, :] + 1], dim=-2)
    return changed(
        f(weights, value)[..., :-1, :],
        f(weights, other)[..., :-1, :],
        "changing the last value moves the part of another key from {} to {}",
    )


@contributions.mistake("already summed over the keys")
def _(weights, value):
    """You return the output itself. Once the parts are added up, nobody can tell which token
    contributed what."""
    return weights @ value


@contributions.mistake("queries and keys exchanged")
def _(weights, value):
    """You put the axis of the keys before the axis of the queries. The task's sum over the keys
    then no longer gives the output."""
    return (weights[..., :, :, None] * value[..., None, :, :]).transpose(-3, -2)


@contributions.mistake("the query's own value")
def _(weights, value):
    """You multiply each weight by the value of the token that asks. But attention adds up the
    values of the tokens that are attended to."""
    return weights[..., :, :, None] * value[..., :, None, :]


@contributions.mistake("the weights transposed")
def _(weights, value):
    """You use the weight of query j on key i. But the rows of the weights belong to the queries."""
    return weights.mT[..., :, :, None] * value[..., None, :, :]


@contributions.mistake("the values without their weights")
def _(weights, value):
    """You list every value for every query at full size. A token that is hardly attended to then
    seems to contribute as much as any other."""
    return torch.ones_like(weights)[..., None] * value[..., None, :, :]


@contributions.mistake("divided by the number of keys")
def _(weights, value):
    """You divide by the number of keys, as in a plain mean. But the weights already sum to 1."""
    parts = weights[..., :, :, None] * value[..., None, :, :]
    return parts / weights.shape[-1]


@contributions.mistake("each row's parts scaled by its largest weight")
def _(weights, value):
    """You divide each row by its largest weight. The parts then sum to more than the output."""
    largest = weights.amax(dim=-1, keepdim=True)
    return (weights / largest)[..., :, :, None] * value[..., None, :, :]


look_up = Repair(
    "2.4",
    "Debug this: a dictionary that never learns",
    line=2,
    because="Its softmax runs over the queries, so each key shares its weight out among them.",
    hints=[
        "What is the sum of the weights in the map, and what should it be?",
        "The scores have the shape (batch, queries, keys). Which axis must softmax compare?",
    ],
    differentiable=True,
)
look_up.right_line(
    1,
    "It compares each query with each key, and divides by the root of the number of features. The "
    "scores have the shape (batch, queries, keys), as they should.",
)
look_up.right_line(
    3,
    "It mixes the values with the weights of each query. If the weights were right, the output "
    "would be right, too.",
)


@look_up.solution
def _(query, key, value):
    return _attention(query, key, value)


@look_up.inputs
def _(generator):
    yield (
        torch.tensor([[[1.0, 0.0]]]),
        torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]),
        torch.tensor([[[2.0], [4.0]]]),
    )
    for queries, keys in ((3, 3), (1, 5), (4, 2)):
        yield (
            torch.randn(2, queries, 4, generator=generator),
            torch.randn(2, keys, 4, generator=generator),
            torch.randn(2, keys, 3, generator=generator),
        )


@look_up.holds("If all values are 1, every output is 1.")
def _(f, query, key, value):
    result = f(query, key, torch.ones_like(value))
    return changed(torch.ones_like(result), result, "It should be {}, but is {}")


@look_up.broken
def _(query, key, value):
    """Softmax still runs over the queries. A key then gives all its weight away, even if only one
    query asks, so that this query gets the sum of all values."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.softmax(dim=-2) @ value


@look_up.mistake("softmax over the batch")
def _(query, key, value):
    """Your softmax runs over the batch. The weights then depend on the other texts that happen to
    be in it."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.softmax(dim=0) @ value


@look_up.mistake("divided by the number of keys")
def _(query, key, value):
    """You leave softmax where it is, and divide the output by the number of keys. With one query,
    the weights are then equal, whatever it asks for."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.softmax(dim=-2) @ value / key.shape[-2]


@look_up.mistake("divided by the sums of the rows")
def _(query, key, value):
    """You leave softmax where it is, and divide the weights of each query by their sum. They then
    sum to 1, but they still depend on what the other queries ask for."""
    weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-2)
    return weights / weights.sum(dim=-1, keepdim=True) @ value


@look_up.mistake("keys and queries exchanged in the scores")
def _(query, key, value):
    """You transpose the scores, so that their rows belong to the keys. But an output belongs to a
    query, so the scores no longer fit the values."""
    scores = key @ query.mT / math.sqrt(query.shape[-1])
    return scores.softmax(dim=-1) @ value


@look_up.mistake("no softmax")
def _(query, key, value):
    """You remove softmax. The weights are then the scores themselves, which can be negative and
    sum to anything."""
    return query @ key.mT / math.sqrt(query.shape[-1]) @ value


sharpness_of_a_degree = NumericAnswer(
    "2.5",
    "A finer dictionary",
    answer=40 * (1 - math.cos(math.radians(30))) / (1 - math.cos(math.radians(1))),
    within=0.1,
    hints=[
        "Only differences of scores matter. The arrow at 45° has a score of 1 with its own key. "
        "How much lower are its scores with the two neighbours, as a function of the angle?",
        "Near its top, a cosine is a parabola: cos a ≈ 1 − a²/2.",
    ],
)
sharpness_of_a_degree.wrong_value(
    "in proportion to the angle",
    40 * 30,
    "You made the sharpness larger by the factor by which the angle is smaller. But a cosine is "
    "flat at its top, so the lead over the neighbours shrinks faster than the angle.",
)
sharpness_of_a_degree.wrong_value(
    "the same sharpness",
    40,
    "You kept the sharpness, perhaps because the right key still has the largest score. But its "
    "lead over its neighbours is now tiny, and many keys share the weight.",
)
sharpness_of_a_degree.wrong_value(
    "in proportion to the number of keys",
    40 * 91 / 4,
    "You multiplied the sharpness by the ratio of the numbers of keys. But nearly all of the "
    "missing weight goes to the two neighbours, so only their distance matters.",
)
sharpness_of_a_degree.wrong_value(
    "the cube of the angle",
    40 * 30**3,
    "You took the third power of the ratio of the angles. But near its top, a cosine "
    "falls with a lower power of the angle.",
)
sharpness_of_a_degree.wrong_value(
    "the root of the angle",
    40 * math.sqrt(30),
    "You took the root of the ratio of the angles. The sharpness then grows more slowly than the "
    "angle shrinks. But a cosine is flat at its top, so the sharpness must grow faster.",
)
sharpness_of_a_degree.wrong_value(
    "smaller instead of larger",
    40 / 30,
    "You divided the sharpness by the ratio of the angles. But a smaller sharpness spreads the "
    "weight over more keys, and keys that are closer together need a larger one.",
)


score_matrix = Exercise(
    "2.7",
    "One matrix for two projections",
    hints=[
        "Write the scores with both projections: (x W_Q)(x W_K)ᵀ / √d_k.",
        "The transpose of a product is the product of the transposes in reverse: (x W_K)ᵀ = "
        "W_Kᵀ xᵀ.",
        "Everything between x and xᵀ is M.",
    ],
)


@score_matrix.solution
def _(q_proj, k_proj):
    return q_proj @ k_proj.mT / math.sqrt(q_proj.shape[-1])


@score_matrix.inputs
def _(generator):
    yield (torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[1.0, 1.0], [0.0, 1.0]]))
    yield (torch.tensor([[1.0], [2.0]]), torch.tensor([[1.0], [-1.0]]))
    for d_model, d_k in [(4, 4), (6, 3), (3, 8), (1, 2)]:
        yield torch.randn(2, d_model, d_k, generator=generator).unbind()


@score_matrix.holds("x M xᵀ gives the scaled scores of a sentence of any length.")
def _(f, q_proj, k_proj):
    generator = torch.Generator().manual_seed(0)
    matrix = f(q_proj, k_proj)
    for length in (1, 3, 7):
        x = torch.randn(length, len(q_proj), generator=generator)
        scores = _scores(x @ q_proj, x @ k_proj)
        contradiction = changed(
            scores, x @ matrix @ x.mT, "a score is {}, but your matrix gives {}"
        )
        if contradiction:
            return contradiction


@score_matrix.holds("Exchanging the two projections transposes the matrix.")
def _(f, q_proj, k_proj):
    return changed(f(q_proj, k_proj).mT, f(k_proj, q_proj), "an entry should be {}, but is {}")


@score_matrix.mistake("transposed")
def _(q_proj, k_proj):
    """You return the transpose. It exchanges the two roles: the score of query i against key j
    becomes the score of query j against key i."""
    return k_proj @ q_proj.mT / math.sqrt(q_proj.shape[-1])


@score_matrix.mistake("no division by √d_k")
def _(q_proj, k_proj):
    """You leave out the division. The matrix then gives the scores before scaling."""
    return q_proj @ k_proj.mT


@score_matrix.mistake("√d_model instead of √d_k")
def _(q_proj, k_proj):
    """You divide by the root of the number of rows, which is the number of features of a token. But
    the divisor belongs to the features of a key."""
    return q_proj @ k_proj.mT / math.sqrt(q_proj.shape[-2])


@score_matrix.mistake("divided by d_k instead of its root")
def _(q_proj, k_proj):
    """You divide by d_k. All scores are then too small by a factor of √d_k, and the weights are too
    even."""
    return q_proj @ k_proj.mT / q_proj.shape[-1]


@score_matrix.mistake("the projections multiplied along the wrong side")
def _(q_proj, k_proj):
    """You transposed the first projection, not the second. The result has one row and one column
    for each feature of a key, not of a token. It fits only where the two numbers happen to be
    equal."""
    return q_proj.mT @ k_proj / math.sqrt(q_proj.shape[-1])


@score_matrix.mistake("the projections multiplied entry by entry")
def _(q_proj, k_proj):
    """You multiply matching entries of the two projections. But a score combines every feature of
    one token with every feature of the other."""
    return q_proj * k_proj / math.sqrt(q_proj.shape[-1])


@score_matrix.mistake("the two directions averaged")
def _(q_proj, k_proj):
    """You average the matrix with its transpose. But a symmetric matrix can express only relations
    that hold both ways."""
    product = q_proj @ k_proj.mT / math.sqrt(q_proj.shape[-1])
    return (product + product.mT) / 2


shared_map = MultipleChoice(
    "2.8",
    "The map of a shared projection",
    hints=[
        "Token 1 asks token 2, and token 2 asks token 1. Which two vectors does each of the "
        "two scores multiply if there is only one projection?",
        "Compare each number with the number on the other side of the diagonal.",
    ],
    answer="C",
    figure=True,
    because="With one projection, the score of two tokens is the same product whichever of "
    "them asks. So both sides of the diagonal have the same numbers. (Softmax would hide this, "
    "because it divides each row by a sum of its own.)",
)
shared_map.wrong_option(
    "A",
    "every token likes itself best",
    "You looked for the map in which each token has its largest score with itself. But here "
    "token 5 scores token 1 far lower than token 1 scores token 5, so the two tokens compare "
    "different vectors.",
)
shared_map.wrong_option(
    "B",
    "the two sides have opposite signs",
    "The two sides of this map belong together, but their signs are opposite. And every token "
    "scores itself with 0, although a vector times itself is more than 0.",
)
shared_map.wrong_option(
    "D",
    "all rows are equal",
    "You took one shared projection for one shared query. Here all tokens ask with the same "
    "query, although their own vectors differ.",
)


q_proj_for = Exercise(
    "2.9",
    "Projections written by hand",
    hints=[
        "With x = I, the queries are the rows of W_Q, and the keys are the rows of W_K. Write the "
        "scaled scores as a product of matrices.",
        "Solve W_Q W_Kᵀ / √n = wanted for W_Q. To do so, multiply both sides from the right.",
        "`torch.linalg.inv` inverts a matrix. Which matrix is to the right of W_Q?",
    ],
)


@q_proj_for.solution
def _(wanted, k_proj):
    return math.sqrt(len(k_proj)) * wanted @ torch.linalg.inv(k_proj.mT)


@q_proj_for.inputs
def _(generator):
    yield (torch.tensor([[0.0, 1.0], [2.0, 0.0]]), torch.tensor([[1.0, 1.0], [0.0, 1.0]]))
    yield torch.tensor([[3.0]]), torch.tensor([[2.0]])
    for n in (3, 4, 6):
        noise = torch.randn(n, n, generator=generator) / n
        yield (torch.randn(n, n, generator=generator), 2 * torch.eye(n) + noise)


@q_proj_for.holds("The scaled scores of the one-hot tokens are the wanted ones.")
def _(f, wanted, k_proj):
    scores = _scores(f(wanted, k_proj), k_proj)
    return changed(wanted, scores, "one should be {}, but is {}")


@q_proj_for.holds("If all wanted scores are 0, so are all queries.")
def _(f, wanted, k_proj):
    q_proj = f(torch.zeros_like(wanted), k_proj)
    return changed(torch.zeros_like(wanted), q_proj, "an entry should be {}, but is {}")


@q_proj_for.mistake("the division by √d_k forgotten")
def _(wanted, k_proj):
    """You leave the division by √d_k out of the equation. The scores are then too small."""
    return wanted @ torch.linalg.inv(k_proj.mT)


@q_proj_for.mistake("divided by √d_k once more")
def _(wanted, k_proj):
    """You divide by √d_k. But attention divides by √d_k, too, so the scores become too small by a
    factor of d_k."""
    return wanted @ torch.linalg.inv(k_proj.mT) / math.sqrt(len(k_proj))


@q_proj_for.mistake("the key projection not transposed")
def _(wanted, k_proj):
    """You invert the key projection as it is. But in the scores, it is transposed."""
    return math.sqrt(len(k_proj)) * wanted @ torch.linalg.inv(k_proj)


@q_proj_for.mistake("the key projection instead of an inverse")
def _(wanted, k_proj):
    """You multiply by the key projection as it is. But only an inverse undoes a projection, and a
    matrix is its own inverse only in special cases, such as a reflection."""
    return math.sqrt(len(k_proj)) * wanted @ k_proj


@q_proj_for.mistake("transposed instead of inverted")
def _(wanted, k_proj):
    """You multiply by the key projection's transpose. The transpose undoes a projection only in
    special cases, such as a rotation."""
    return math.sqrt(len(k_proj)) * wanted @ k_proj.mT


@q_proj_for.mistake("multiplied from the left")
def _(wanted, k_proj):
    """You put the inverse to the left of `wanted`. But matrix products don't commute, and the key
    projection acts from the right."""
    return math.sqrt(len(k_proj)) * torch.linalg.inv(k_proj.mT) @ wanted


@q_proj_for.mistake("the wanted table transposed")
def _(wanted, k_proj):
    """You use the transpose of `wanted`. Row i then says which tokens look for token i, not which
    tokens it looks for."""
    return math.sqrt(len(k_proj)) * wanted.mT @ torch.linalg.inv(k_proj.mT)


@q_proj_for.mistake("as if the key projection were the identity")
def _(wanted, k_proj):
    """You return the wanted scores, scaled. That would be right if every key were one-hot, but the
    key projection turns the one-hot tokens into different keys."""
    return math.sqrt(len(k_proj)) * wanted


circle_q_proj = Construction(
    "2.10",
    "Once round the circle",
    shape=(2, 2),
    hints=[
        "The query of the woman is (1, 0) times the matrix, so it is the first row. At which key "
        "should it point? What does this say about the second row?",
        "The direction of a query decides which noun it finds, and its length how sharply. Call "
        "the length c, and write down the four scores of one noun.",
    ],
)
circle_q_proj.reference = torch.tensor([[0.5, 3.0], [-3.0, 0.5]])

_NOUNS = ("woman", "man", "thing", "group")
_CIRCLE = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]).double()
_NEXT = [1, 2, 3, 0]


def _in_the_circle(q_proj):
    """The weights of the four nouns, whose keys are their own vectors."""
    return (_CIRCLE @ q_proj @ _CIRCLE.T / math.sqrt(2)).softmax(dim=-1)


def _of_the_next(q_proj):
    return _in_the_circle(q_proj)[range(4), _NEXT]


def _gives(weights, noun):
    return f"The {_NOUNS[noun]} gives the {_NOUNS[_NEXT[noun]]} {weights[noun].item():.3g}."


@circle_q_proj.holds("Each noun gives the next noun a weight of at least 0.7.")
def _(q_proj):
    weights = _of_the_next(q_proj)
    if weights.min() < 0.699:
        return _gives(weights, weights.argmin().item())


@circle_q_proj.holds("No noun gives the next noun a weight of more than 0.9.")
def _(q_proj):
    weights = _of_the_next(q_proj)
    if weights.max() > 0.901:
        return _gives(weights, weights.argmax().item())


@circle_q_proj.wrong("queries that are the keys", example=[[2.9, 0.0], [0.0, 2.9]])
def _(q_proj):
    """Your matrix keeps the direction of each vector. So the query of each noun points at its own
    key, and the noun looks at itself."""
    return _in_the_circle(q_proj).argmax(dim=-1).tolist() == [0, 1, 2, 3]


@circle_q_proj.wrong("a symmetric matrix", example=[[0.0, 2.9], [2.9, 0.0]])
def _(q_proj):
    """Your matrix equals its transpose. So the woman scores the man as the man scores the woman,
    and the circle has no direction."""
    return q_proj.any() and abs(q_proj[0, 1] - q_proj[1, 0]) < 1e-3


@circle_q_proj.wrong("the circle backwards", example=[[0.0, -2.9], [2.9, 0.0]])
def _(q_proj):
    """Each of your nouns looks most at the noun before it. Perhaps you have read the rows of the
    matrix as its columns, but tokens are rows here, and the matrix is on their right."""
    return _in_the_circle(q_proj).argmax(dim=-1).tolist() == [3, 0, 1, 2]


@circle_q_proj.wrong("queries that are too short", example=[[0.0, 2.0], [-2.0, 0.0]])
def _(q_proj):
    """Each of your nouns looks most at the next one, but its query is too short. The scores are
    then too close together, perhaps because the division by √2 is missing in your sketch."""
    weights = _of_the_next(q_proj)
    looks = _in_the_circle(q_proj).argmax(dim=-1).tolist()
    return looks == _NEXT and q_proj.any() and weights.max() < 0.7


@circle_q_proj.wrong("queries that are too long", example=[[0.0, 8.0], [-8.0, 0.0]])
def _(q_proj):
    """Each of your nouns looks most at the next one, but its query is too long. Twice the length
    doubles all differences of the scores, and softmax leaves hardly anything to the others."""
    return _of_the_next(q_proj).min() > 0.9


lookup_by_distance = Exercise(
    "2.11",
    "A look-up by distance",
    hints=[
        "You need all pairs of a query and a key. Give the queries an axis of size 1 where the "
        "keys have their tokens, do the same the other way round, and subtract.",
        "Square, then sum over the features, the last axis. That leaves (..., L_query, L_key).",
        "A small distance must give a large weight. Where does the minus sign belong?",
    ],
    differentiable=True,
)


def _squared_distances(query, key):
    differences = query[..., :, None, :] - key[..., None, :, :]
    return differences.square().sum(dim=-1)


@lookup_by_distance.solution
def _(query, key, value, sharpness):
    distances = _squared_distances(query, key)
    return (-sharpness * distances).softmax(dim=-1) @ value


@lookup_by_distance.inputs
def _(generator):
    yield (
        torch.tensor([[0.0], [2.0]]),
        torch.tensor([[0.0], [1.0], [3.0]]),
        torch.tensor([[8.0], [4.0], [0.0]]),
        1.0,
    )
    yield (  # every key is far from the query: scores of −200 and less
        torch.tensor([[10.0]]),
        torch.tensor([[0.0], [20.0], [-1.0]]),
        torch.tensor([[8.0], [4.0], [0.0]]),
        2.0,
    )
    for batch, n_query, n_key, d_k, d_v, sharpness in [
        ((2,), 4, 4, 4, 4, 0.2),
        ((1, 3), 1, 5, 3, 4, 0.7),
        ((1,), 5, 1, 2, 1, 2.0),
    ]:
        yield (
            torch.randn(*batch, n_query, d_k, generator=generator),
            torch.randn(*batch, n_key, d_k, generator=generator),
            torch.randn(*batch, n_key, d_v, generator=generator),
            sharpness,
        )


@lookup_by_distance.holds("Moving all queries and keys by the same vector changes nothing.")
def _(f, query, key, value, sharpness):
    return changed(
        f(query, key, value, sharpness),
        f(query + 1, key + 1, value, sharpness),
        "an output goes from {} to {}",
    )


@lookup_by_distance.holds("A key whose score is larger by log 3 counts three times as much.")
def _(f, query, key, value, sharpness):
    side = math.sqrt(math.log(3) / 10)  # sharpness 2 and sides of 1 and 2: −2 · (1 + 4) · side²
    keys = torch.tensor([[0.0, 0.0], [side, -2 * side]])
    share = f(torch.zeros(1, 2), keys, torch.tensor([[1.0], [0.0]]), 2.0).item()
    if not abs(share - 0.75) < 1e-4:
        return f"Of two keys, its weight should be 0.75, but is {told_apart(share, 0.75)}."


@lookup_by_distance.mistake("the minus sign forgotten")
def _(query, key, value, sharpness):
    """Your score grows with the distance, because its minus sign is missing. So the farthest key
    gets the largest weight."""
    distances = _squared_distances(query, key)
    return (sharpness * distances).softmax(dim=-1) @ value


@lookup_by_distance.mistake("the distance not squared")
def _(query, key, value, sharpness):
    """You use the distance itself. Distant keys then keep a larger share, and the weights have a
    sharp corner where a query meets a key."""
    distances = _squared_distances(query, key).sqrt()
    return (-sharpness * distances).softmax(dim=-1) @ value


@lookup_by_distance.mistake("the mean over the features")
def _(query, key, value, sharpness):
    """You average the squares over the features. The more features there are, the less the same
    distance then counts."""
    distances = _squared_distances(query, key) / query.shape[-1]
    return (-sharpness * distances).softmax(dim=-1) @ value


@lookup_by_distance.mistake("divided by √d_k as well")
def _(query, key, value, sharpness):
    """You divide by √d_k, as for dot products. But here, the sharpness alone decides how soft the
    look-up is."""
    scores = -sharpness * _squared_distances(query, key)
    return (scores / math.sqrt(query.shape[-1])).softmax(dim=-1) @ value


@lookup_by_distance.mistake("summed, then squared")
def _(query, key, value, sharpness):
    """You add up the differences and square the sum. Differences of opposite sign then cancel, and
    two vectors far apart can have the distance 0."""
    differences = query[..., :, None, :] - key[..., None, :, :]
    distances = differences.sum(dim=-1).square()
    return (-sharpness * distances).softmax(dim=-1) @ value


@lookup_by_distance.mistake("the sharpness squared as well")
def _(query, key, value, sharpness):
    """You multiply by the sharpness before you square. The sharpness is then squared, too."""
    distances = _squared_distances(sharpness * query, sharpness * key)
    return (-distances).softmax(dim=-1) @ value


@lookup_by_distance.mistake("divided by the sharpness")
def _(query, key, value, sharpness):
    """You divide by the sharpness, as if it were a width. A larger sharpness then makes the look-up
    softer."""
    distances = _squared_distances(query, key)
    return (-distances / sharpness).softmax(dim=-1) @ value


@lookup_by_distance.mistake("the sharpness left out")
def _(query, key, value, sharpness):
    """You never use the sharpness. Every look-up is then equally soft."""
    return (-_squared_distances(query, key)).softmax(dim=-1) @ value


@lookup_by_distance.mistake("softmax over the queries")
def _(query, key, value, sharpness):
    """Your softmax runs over the queries. The weights of one query then do not sum to 1, and its
    output is not a mean of the values."""
    distances = _squared_distances(query, key)
    return (-sharpness * distances).softmax(dim=-2) @ value


@lookup_by_distance.mistake("the dot product")
def _(query, key, value, sharpness):
    """You score by the dot product. It grows with the length of a key, so a long key may beat a
    near one."""
    return (sharpness * query @ key.mT).softmax(dim=-1) @ value


@lookup_by_distance.mistake("the exponentials not divided by their sum")
def _(query, key, value, sharpness):
    """You weight the values by the exponentials without dividing by their sum. A query far from
    every key then gets an output near 0."""
    distances = _squared_distances(query, key)
    return (-sharpness * distances).exp() @ value


@lookup_by_distance.mistake("exponentials that are all 0")
def _(query, key, value, sharpness):
    """You take the exponentials of the scores as they are and divide by their sum. Far from all
    keys, every exponential is rounded to 0, and 0 / 0 is NaN."""
    shares = (-sharpness * _squared_distances(query, key)).exp()
    return shares / shares.sum(dim=-1, keepdim=True) @ value


weights_on_other_words = Exercise(
    "2.13",
    "Looking at other words",
    hints=[
        "Which pairs of tokens are the same word? Compare `words` with itself, once with an axis "
        "of size 1 at the end and once before it: a boolean (..., L, L).",
        "A score whose weight must be 0 has to be taken out *before* softmax, so that the other "
        "weights share everything.",
        "For which score is the exponential exactly 0? `scores.masked_fill(same_word, ...)`.",
    ],
    differentiable=True,
)


def _scores(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1])


def _same(words):
    return words[..., :, None] == words[..., None, :]


@weights_on_other_words.solution
def _(query, key, words):
    scores = _scores(query, key)
    return scores.masked_fill(_same(words), -math.inf).softmax(dim=-1)


@weights_on_other_words.inputs
def _(generator):
    yield (
        torch.tensor([[1.0], [2.0], [0.0]]),
        torch.tensor([[1.0], [0.0], [2.0]]),
        torch.tensor([7, 5, 7]),
    )
    for words, d_k in [
        ([[[4, 4, 9, 2]]], 3),
        ([[1, 2, 1, 2, 3], [8, 8, 8, 6, 8]], 4),
        ([[[3, 1, 2]], [[5, 5, 4]]], 16),
    ]:
        words = torch.tensor(words)
        query = torch.randn(*words.shape, d_k, generator=generator)
        key = torch.randn(*words.shape, d_k, generator=generator)
        yield query, key, words
    large = torch.tensor([[40.0, 20.0], [20.0, 40.0], [30.0, 30.0]])
    yield (  # scores of +1000 and more, and of −1000 and less
        large.expand(2, -1, -1).clone(),
        torch.stack([large, -large]),
        torch.tensor([[1, 2, 3], [1, 2, 1]]),
    )


@weights_on_other_words.holds("No token attends to its own word.")
def _(f, query, key, words):
    own = f(query, key, words)[_same(words)]
    if not (own == 0).all():
        return f"One does, with a weight of {own.abs().max().item():.3g}."


@weights_on_other_words.holds("Each row of weights sums to 1.")
def _(f, query, key, words):
    return row_sums(f(query, key, words))


@weights_on_other_words.mistake("nothing excluded")
def _(query, key, words):
    """You return the weights of ordinary self-attention. A token still looks at its own word, often
    most of all."""
    return _scores(query, key).softmax(dim=-1)


@weights_on_other_words.mistake("only the token itself excluded")
def _(query, key, words):
    """You exclude only the diagonal. The token still attends to the other copies of its word."""
    itself = torch.eye(query.shape[-2], dtype=torch.bool)
    scores = _scores(query, key)
    return scores.masked_fill(itself, -math.inf).softmax(dim=-1)


@weights_on_other_words.mistake("only the other copies excluded")
def _(query, key, words):
    """You exclude the other copies of a word, but not the token itself. The token is the same word,
    too, and may take all the weight."""
    itself = torch.eye(query.shape[-2], dtype=torch.bool)
    scores = _scores(query, key)
    return scores.masked_fill(_same(words) & ~itself, -math.inf).softmax(dim=-1)


@weights_on_other_words.mistake("excluded after softmax")
def _(query, key, words):
    """You set the weights of the same word to 0 after softmax. Their share is then missing, and the
    rows sum to less than 1."""
    weights = _scores(query, key).softmax(dim=-1)
    return weights.masked_fill(_same(words), 0.0)


@weights_on_other_words.mistake("excluded after softmax, then divided again")
def _(query, key, words):
    """You remove weights after softmax and divide by what is left. Where a token gave all its
    weight to its own word, nothing is left, and 0/0 is NaN."""
    weights = _scores(query, key).softmax(dim=-1)
    weights = weights.masked_fill(_same(words), 0.0)
    return weights / weights.sum(dim=-1, keepdim=True)


@weights_on_other_words.mistake("scores set to 0 or nearly 0")
def _(query, key, words):
    """You set the score for the same word to 0, or to a tiny number such as 1e−9. The exponential
    of 0 is 1, so the word still gets a weight."""
    scores = _scores(query, key)
    return scores.masked_fill(_same(words), 0.0).softmax(dim=-1)


@weights_on_other_words.mistake("only its own word allowed")
def _(query, key, words):
    """Your mask is inverted. It excludes all other words and keeps the same one, so a token sees
    nothing but itself and its copies."""
    scores = _scores(query, key)
    return scores.masked_fill(~_same(words), -math.inf).softmax(dim=-1)


@weights_on_other_words.mistake("the mask multiplied by minus infinity")
def _(query, key, words):
    """You multiply the mask by minus infinity and add it. Where the mask is 0 this is 0 · ∞, which
    is NaN."""
    return (_scores(query, key) + _same(words) * -math.inf).softmax(dim=-1)


@weights_on_other_words.mistake("no division by √d_k")
def _(query, key, words):
    """You leave out the division by √d_k. With many features the weights become far too sharp."""
    scores = query @ key.mT
    return scores.masked_fill(_same(words), -math.inf).softmax(dim=-1)


@weights_on_other_words.mistake("divided twice by √d_k")
def _(query, key, words):
    """You divide the scores by √d_k twice, or by d_k once, which is the same. The weights become
    too even."""
    scores = query @ key.mT / query.shape[-1]
    return scores.masked_fill(_same(words), -math.inf).softmax(dim=-1)


@weights_on_other_words.mistake("softmax over the queries")
def _(query, key, words):
    """Your softmax runs down the columns. Then the columns sum to 1, but a row, which has the
    weights of one query, does not."""
    scores = _scores(query, key)
    return scores.masked_fill(_same(words), -math.inf).softmax(dim=-2)
