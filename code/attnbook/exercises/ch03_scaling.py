"""Exercises of chapter 3, "Why divide by √d?"."""

import math

import torch
import torch.nn.functional as F

from attnbook.exercises.compare import to_float
from attnbook.exercises.declare import (
    Construction,
    Exercise,
    MultipleChoice,
    NumericAnswer,
    Repair,
    Suspects,
)
from attnbook.exercises.properties import changed, row_sums
from attnbook.exercises.report import told_apart

average_response = MultipleChoice(
    "3.0",
    "Does the gradient vanish?",
    hints=[
        "The response is the Jacobian times the keys, over the divisor. Keep the weights as they "
        "are: what does leaving out a divisor of 32 do?",
        "An average over many rows can be carried by a few of them.",
    ],
    answer="C",
    because="On average it is even larger: with the same weights, a row responds √d times as "
    "strongly without the division, and a few rows still listen. But the typical row feels "
    "nothing.",
)
average_response.wrong_option(
    "A",
    "the gradient vanishes",
    "This takes the saturated rows for all rows. Look at the two columns of the table. The median "
    "does what you expect, but the mean does not.",
)
average_response.wrong_option(
    "B",
    "gain and loss cancel",
    "This assumes that each row loses in the Jacobian what it gains without the divisor. But gain "
    "and loss fall on different rows. Compare the median of the table with the mean.",
)


typical_score = NumericAnswer(
    "3.1",
    "A typical dot product",
    answer=20.0,
    within=0.01,
    hints=[
        "The dot product is a sum of 400 products. What is the variance of one of them?",
        "The variances of independent terms add up. The spread is the root of the variance.",
    ],
)
typical_score.wrong_value(
    "the variance, not the standard deviation",
    400.0,
    "You added up the variances of the 400 products. The result is the variance of the score, "
    "whose unit is a score squared. Its root says how far a score typically is from 0.",
)
typical_score.wrong_value(
    "the mean, not the spread",
    0.0,
    "Positive and negative products cancel on average, so the mean is 0. But a single score is "
    "seldom close to its mean, and the question is how far away from it the score typically is.",
)
typical_score.wrong_value(
    "the spread of one product",
    1.0,
    "One product of two features has a standard deviation of 1. But the dot product adds up 400 of "
    "these products, and its spread grows with their number.",
)
typical_score.wrong_value(
    "both vectors counted",
    math.sqrt(800),
    "You added up 800 terms, one for each feature. There are indeed 800 features, but they enter "
    "in pairs. The sum has only 400 products, each with a variance of 1.",
)


scaled_scores = Exercise(
    "3.2",
    "Scaled scores of several heads",
    hints=[
        "Each head needs a matrix product of its own, tokens by tokens. First bring the axis of "
        "the heads in front of the axis of the tokens: `query.transpose(1, 2)`.",
        "After that, `key.mT` swaps the last two axes of the keys and leaves the others alone.",
        "d_k is the number of features that one head sees, which is the size of the last axis.",
    ],
    differentiable=True,
)


def _heads_first(query, key):
    return query.transpose(1, 2), key.transpose(1, 2)


@scaled_scores.solution
def _(query, key):
    d_k = query.shape[-1]
    query, key = _heads_first(query, key)
    return query @ key.mT / math.sqrt(d_k)


@scaled_scores.inputs
def _(generator):
    yield (
        torch.tensor([[[[1.0, 2.0, 0.0]]]]),
        torch.tensor([[[[3.0, 1.0, 1.0]], [[0.0, 1.0, 2.0]]]]),
    )
    for shape_query, shape_key in [
        ((1, 2, 3, 2), (1, 4, 3, 2)),
        ((2, 5, 2, 8), (2, 3, 2, 8)),
        ((2, 4, 4, 5), (2, 4, 4, 5)),
        ((2, 3, 2, 1), (2, 1, 2, 1)),
    ]:
        yield (
            torch.randn(shape_query, generator=generator),
            torch.randn(shape_key, generator=generator),
        )


@scaled_scores.holds("A query of ones and a key of ones score √dₖ.")
def _(f, query, key):
    d_k = query.shape[-1]
    found = f(torch.ones_like(query), torch.ones_like(key)).flatten()[0].item()
    if not math.isclose(found, math.sqrt(d_k), rel_tol=1e-4):
        return f"For d_k={d_k}, they score {told_apart(found, math.sqrt(d_k))}."


@scaled_scores.holds("What one head sees never changes the scores of another.")
def _(f, query, key):
    other = query.clone()
    other[:, :, :-1] = 0.0
    return changed(f(query, key)[:, -1:], f(other, key)[:, -1:], "a score goes from {} to {}")


@scaled_scores.mistake("no scaling at all")
def _(query, key):
    """You return the plain dot products. They spread by √dₖ, and for large d_k softmax turns
    them into all or nothing."""
    query, key = _heads_first(query, key)
    return query @ key.mT


@scaled_scores.mistake("dividing by d_k instead of its root")
def _(query, key):
    """You divide by d_k. The scores then shrink like 1/√dₖ, and softmax can hardly tell one key
    from another."""
    d_k = query.shape[-1]
    query, key = _heads_first(query, key)
    return query @ key.mT / d_k


@scaled_scores.mistake("√d_model instead of √dₖ")
def _(query, key):
    """You divide by the root of heads times features. But one score adds up only the features of
    one head, so with several heads the scores are too close together."""
    d_model = query.shape[-1] * query.shape[-2]
    query, key = _heads_first(query, key)
    return query @ key.mT / math.sqrt(d_model)


@scaled_scores.mistake("multiplying by the root instead of dividing")
def _(query, key):
    """You multiply by √dₖ. The dot products already spread by √dₖ, and your scores spread by
    d_k."""
    d_k = query.shape[-1]
    query, key = _heads_first(query, key)
    return query @ key.mT * math.sqrt(d_k)


@scaled_scores.mistake("the root of the number of keys")
def _(query, key):
    """You divide by the root of the sequence length. But the size of a score depends on how many
    features it adds up, not on how many keys there are."""
    length = key.shape[1]
    query, key = _heads_first(query, key)
    return query @ key.mT / math.sqrt(length)


@scaled_scores.mistake("query and key swapped")
def _(query, key):
    """You put the keys in the rows and the queries in the columns. Softmax over a row would then
    share out one key among the queries, instead of one query's attention among the keys."""
    d_k = query.shape[-1]
    query, key = _heads_first(query, key)
    return key @ query.mT / math.sqrt(d_k)


@scaled_scores.mistake("heads scored against heads")
def _(query, key):
    """You leave the axes in their order, with the tokens in front of the heads. The heads of each
    token are then scored against each other, and no token is ever scored against a different
    one."""
    return query @ key.mT / math.sqrt(query.shape[-1])


@scaled_scores.mistake("view instead of transpose")
def _(query, key):
    """You reshape to bring the heads to the front. But reshaping keeps the numbers in their order
    in memory, so it mixes features of different tokens and heads. Only a transpose moves an
    axis."""
    d_k = query.shape[-1]
    query, key = (x.reshape(x.shape[0], x.shape[2], x.shape[1], d_k) for x in (query, key))
    return query @ key.mT / math.sqrt(d_k)


@scaled_scores.mistake("the key not transposed")
def _(query, key):
    """You multiply query by key as they are. But in a matrix product, rows meet columns, so the
    key's tokens must become its columns."""
    query, key = _heads_first(query, key)
    return query @ key / math.sqrt(query.shape[-1])


@scaled_scores.mistake("softmax already applied")
def _(query, key):
    """You return weights, that is, scores after softmax. The task asks for the scores before
    softmax."""
    d_k = query.shape[-1]
    query, key = _heads_first(query, key)
    return (query @ key.mT / math.sqrt(d_k)).softmax(dim=-1)


effective_keys = Exercise(
    "3.3",
    "The effective number of keys",
    hints=[
        "First compute the entropy of each row: multiply each weight by its logarithm, add up, and "
        "change the sign. Then take the exponential.",
        "In the formula, 0 · log 0 counts as 0. In floating point, it is 0 · −∞ = NaN.",
        "`torch.xlogy(x, y)` is x · log(y) with exactly that rule.",
    ],
)


def _entropy(weights):
    return -torch.xlogy(weights, weights).sum(dim=-1)


@effective_keys.solution
def _(weights):
    return _entropy(weights).exp()


@effective_keys.inputs
def _(generator):
    yield (torch.tensor([[0.75, 0.25]]),)
    yield (torch.tensor([[0.25, 0.25, 0.25, 0.25], [0.7, 0.1, 0.1, 0.1]]),)
    yield (torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]),)
    for shape in [(3, 5), (4, 1, 6), (2, 3, 1)]:
        yield (torch.randn(shape, generator=generator).softmax(dim=-1),)


@effective_keys.holds("Equal weights over n keys count as n keys.")
def _(f, weights):
    n = weights.shape[-1]
    for found in f(torch.full_like(weights, 1 / n)).flatten().tolist():
        if not math.isclose(found, n, rel_tol=1e-3):
            return f"For n={n}, you return {told_apart(found, n)}."


@effective_keys.holds("A row with all its weight on one key counts as one key.")
def _(f, weights):
    certain = torch.zeros_like(weights)
    certain[..., 0] = 1.0
    for found in f(certain).flatten().tolist():
        if not abs(found - 1) < 1e-4:
            return f"You return {told_apart(found, 1)}."


@effective_keys.mistake("0 · log 0 left as NaN")
def _(weights):
    """You multiply a weight of 0 by its logarithm, −∞, and get NaN. With large scores, such zeros
    are common, and a single one spoils its whole row."""
    return (-(weights * weights.log()).sum(dim=-1)).exp()


@effective_keys.mistake("the entropy itself")
def _(weights):
    """You return the entropy H. It says the same on a different scale, but the number of keys is e
    to the power of H."""
    return _entropy(weights)


@effective_keys.mistake("the sign forgotten")
def _(weights):
    """You add up w · log w, which is never positive, and take the exponential of this sum. The
    result is one over the effective number of keys."""
    return (-_entropy(weights)).exp()


@effective_keys.mistake("the logarithm to base 2")
def _(weights):
    """You measure the entropy in bits and raise e to its power. But the logarithm and the power
    need the same base."""
    return (_entropy(weights) / math.log(2)).exp()


@effective_keys.mistake("the mean over the keys instead of the sum")
def _(weights):
    """You average over the keys, but the entropy is a sum. The average divides H by the number of
    keys, and n equal weights no longer count as n keys."""
    return (_entropy(weights) / weights.shape[-1]).exp()


@effective_keys.mistake("the sum over the queries instead of the keys")
def _(weights):
    """You add up along axis −2, down the columns. But the rows are the distributions, and the
    columns are not."""
    return (-torch.xlogy(weights, weights).sum(dim=-2)).exp()


@effective_keys.mistake("one number for all rows")
def _(weights):
    """You add up all rows into one number. But each query has its own distribution, and so its own
    number of keys."""
    return (-torch.xlogy(weights, weights).sum()).exp()


@effective_keys.mistake("softmax applied a second time")
def _(weights):
    """You apply softmax to the weights, which are already the result of softmax. This makes them
    more even, and far too many keys seem to count."""
    return _entropy(weights.softmax(dim=-1)).exp()


@effective_keys.mistake("one over the sum of squares")
def _(weights):
    """You return 1/Σw², which is also called an effective number and also gives n for n equal
    weights. But it is not e to the power of the entropy, because it counts small weights less."""
    return 1 / weights.square().sum(dim=-1)


softmax_with_temperature = Exercise(
    "3.4",
    "A softmax with temperature",
    hints=[
        "Divide the scores by the temperature first. The rest is softmax.",
        "In floating point, e to the power of 1000 is infinite. What can you subtract from all "
        "scores of a row without changing the weights?",
        "Subtract the largest score of each row: `scores.amax(dim=-1, keepdim=True)`.",
    ],
    differentiable=True,
)


@softmax_with_temperature.solution
def _(scores, temperature):
    return (scores / temperature).softmax(dim=-1)


@softmax_with_temperature.inputs
def _(generator):
    yield torch.tensor([[1.0, 0.0]]), 0.5
    yield torch.tensor([[2.0, 1.0, 0.0]]), 2.0
    yield torch.tensor([[-1000.0, -999.0, -1001.0]]), 2.0
    yield torch.tensor([[1000.0, 999.0, 0.0], [-1000.0, -999.0, -998.0]]), 1.0
    for shape, temperature in [((4, 1, 6), 0.1), ((2, 3, 1), 4.0), ((2, 3, 3), 7.0)]:
        yield torch.randn(shape, generator=generator), temperature


@softmax_with_temperature.holds("Each row of weights sums to 1.")
def _(f, scores, temperature):
    return row_sums(f(scores, temperature))


@softmax_with_temperature.holds("A score that is larger by T · log 3 gets three times the weight.")
def _(f, scores, temperature):
    share = f(torch.tensor([[temperature * math.log(3), 0.0]]), temperature)[0, 0].item()
    if not abs(share - 0.75) < 1e-4:
        found = told_apart(share, 0.75)
        return f"For T={temperature:g} and two scores, its weight should be 0.75, but is {found}."


@softmax_with_temperature.mistake("multiplying by the temperature")
def _(scores, temperature):
    """You multiply the scores by the temperature. Then a high temperature sharpens the weights,
    although it should make them more even."""
    return (scores * temperature).softmax(dim=-1)


@softmax_with_temperature.mistake("dividing the weights instead of the scores")
def _(scores, temperature):
    """You apply softmax first and divide afterwards. The rows then sum to 1/T, and the weights
    keep their proportions whatever the temperature."""
    return scores.softmax(dim=-1) / temperature


@softmax_with_temperature.mistake("the root of the temperature")
def _(scores, temperature):
    """You divide by √T. The root belongs to d_k, because the variance of the scores grows with d_k.
    But a temperature divides the scores without a root."""
    return (scores / math.sqrt(temperature)).softmax(dim=-1)


@softmax_with_temperature.mistake("softmax over the queries")
def _(scores, temperature):
    """You normalise along axis −2, so the columns sum to 1. But each query must share out its
    attention among the keys, so each row must sum to 1."""
    return (scores / temperature).softmax(dim=-2)


@softmax_with_temperature.mistake("the maximum not subtracted")
def _(scores, temperature):
    """You take the exponentials of the scores as they are. Large scores overflow, which gives ∞/∞ =
    NaN. Very negative scores underflow, which gives 0/0 = NaN."""
    exponentials = (scores / temperature).exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@softmax_with_temperature.mistake("the temperature ignored")
def _(scores, temperature):
    """You never use the temperature. The result is right only for T = 1."""
    return scores.softmax(dim=-1)


@softmax_with_temperature.mistake("the largest score of the whole matrix subtracted")
def _(scores, temperature):
    """You subtract one maximum from all rows. A row whose scores are far below this maximum
    underflows to 0/0 = NaN, so each row needs its own maximum."""
    scores = scores / temperature
    exponentials = (scores - scores.max()).exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@softmax_with_temperature.mistake("each matrix normalised as a whole")
def _(scores, temperature):
    """You apply softmax to all entries of a matrix at once. But each row has to sum to 1 by
    itself."""
    together = (scores / temperature).flatten(start_dim=-2)
    return together.softmax(dim=-1).view(scores.shape)


@softmax_with_temperature.mistake("all rows normalised together")
def _(scores, temperature):
    """You divide by the sum over the whole matrix. But each row has to sum to 1 by itself."""
    exponentials = (scores / temperature - (scores / temperature).max()).exp()
    return exponentials / exponentials.sum()


attend = Repair(
    "3.5",
    "Debug this: sharp from the start",
    line=2,
    because="In line 1, the axes of the keys were exchanged. So their last axis is no longer that "
    "of the features, and the divisor is the root of the number of keys.",
    hints=[
        "In the map, one key gets nearly all the weight of each query, though everything is still "
        "random. Are the scores too small or too large?",
        "Which number should the divisor be for 1024 features? Print `root`, and the shape of "
        "`key` after line 1.",
    ],
    differentiable=True,
)
attend.right_line(
    1,
    "It exchanges rows and columns of the keys, so that every query meets every key in the "
    "product of line 3.",
)
attend.right_line(
    3,
    "The shapes fit, because line 1 has already exchanged the axes of the keys. Each score is the "
    "dot product of a query and a key, divided by `root`.",
)
attend.right_line(
    4,
    "Softmax runs over the keys, so each row of weights sums to 1, as in the map.",
)
attend.right_line(
    5,
    "Each query mixes the values with its weights. In the map, the weights are already wrong.",
)


def _scores(query, key, divisor):
    return query @ key.mT / divisor


@attend.solution
def _(query, key, value):
    return _scores(query, key, math.sqrt(query.shape[-1])).softmax(dim=-1) @ value


@attend.inputs
def _(generator):
    yield (
        torch.tensor([[[1.0, 1.0, 0.0, 2.0]]]),
        torch.tensor([[[2.0, 0.0, 1.0, 1.0], [0.0, 1.0, 3.0, 1.0]]]),
        torch.tensor([[[2.0], [6.0]]]),
    )
    for batch, queries, keys, d_k, d_v in ((2, 3, 4, 7, 5), (3, 1, 5, 1, 2), (1, 4, 1, 3, 6)):
        yield (
            torch.randn(batch, queries, d_k, generator=generator),
            torch.randn(batch, keys, d_k, generator=generator),
            torch.randn(batch, keys, d_v, generator=generator),
        )


@attend.holds("If all keys occur twice, with their values, no output changes.")
def _(f, query, key, value):
    twice = f(query, torch.cat([key, key], dim=-2), torch.cat([value, value], dim=-2))
    return changed(f(query, key, value), twice, "with the keys twice, {} becomes {}")


@attend.holds("A query of zeros gets the mean of the values.")
def _(f, query, key, value):
    found = f(torch.zeros_like(query), key, value)
    mean = value.mean(dim=-2, keepdim=True).expand_as(found)
    return changed(mean, found, "the mean is {}, but the output is {}")


@attend.broken
def _(query, key, value):
    """You still divide by the root of the number of keys. But how far the scores spread does not
    depend on how many keys there are."""
    return _scores(query, key, math.sqrt(key.shape[-2])).softmax(dim=-1) @ value


@attend.mistake("no division")
def _(query, key, value):
    """You do not divide at all. The scores then spread even farther, and softmax gives nearly all
    the weight to one key."""
    return _scores(query, key, 1.0).softmax(dim=-1) @ value


@attend.mistake("no root")
def _(query, key, value):
    """You divide by the number of features itself. The scores then shrink as this number grows, and
    softmax can hardly tell one key from another."""
    return _scores(query, key, query.shape[-1]).softmax(dim=-1) @ value


@attend.mistake("the number of keys itself")
def _(query, key, value):
    """You divide by the number of keys. A longer text then has flatter weights, however many
    features there are."""
    return _scores(query, key, key.shape[-2]).softmax(dim=-1) @ value


@attend.mistake("the number of queries")
def _(query, key, value):
    """You divide by the root of the number of queries. The weights of one query then depend on how
    many others ask at the same time."""
    return _scores(query, key, math.sqrt(query.shape[-2])).softmax(dim=-1) @ value


@attend.mistake("the size of the batch")
def _(query, key, value):
    """You divide by the root of the size of the batch. The weights then depend on how many texts
    are computed at the same time."""
    return _scores(query, key, math.sqrt(len(key))).softmax(dim=-1) @ value


@attend.mistake("the features of the values")
def _(query, key, value):
    """You take the number of features from the values. But the values play no part in the scores,
    and may have more or fewer features than the keys."""
    return _scores(query, key, math.sqrt(value.shape[-1])).softmax(dim=-1) @ value


@attend.mistake("the weights divided")
def _(query, key, value):
    """You divide after softmax. The weights are then as sharp as without a division, and no longer
    sum to 1."""
    return _scores(query, key, 1.0).softmax(dim=-1) @ value / math.sqrt(query.shape[-1])


normalised_scores = Suspects(
    "3.7",
    "Scores of normalised queries and keys",
    hints=[
        "What may you do to a query without changing its scores? And to one key of several?",
        "For some vectors, you know the root mean square at once. For example, what is it if each "
        "feature is 1 or −1?",
        "The scores of such vectors are their scaled dot products. Now make each vector longer or "
        "shorter by a factor of its own. What must the function return?",
    ],
)


def _unit_rms(x):
    return x / x.square().mean(dim=-1, keepdim=True).sqrt()


@normalised_scores.right("multiplies the cosines by √d_k")
def _(query, key):
    query, key = (F.normalize(x, dim=-1) for x in (query, key))
    return math.sqrt(query.shape[-1]) * query @ key.mT


@normalised_scores.wrong("normalises the keys and not the queries")
def _(query, key):
    return query @ _unit_rms(key).mT / math.sqrt(query.shape[-1])


@normalised_scores.wrong("divides all keys of a sentence by one number, and all queries, too")
def _(query, key):
    query, key = (x / x.square().mean(dim=(-2, -1), keepdim=True).sqrt() for x in (query, key))
    return query @ key.mT / math.sqrt(query.shape[-1])


@normalised_scores.right("divides the queries and the keys, and then the dot products")
def _(query, key):
    return _unit_rms(query) @ _unit_rms(key).mT / math.sqrt(query.shape[-1])


@normalised_scores.wrong("first subtracts the mean of each vector")
def _(query, key):
    query, key = (_unit_rms(x - x.mean(dim=-1, keepdim=True)) for x in (query, key))
    return query @ key.mT / math.sqrt(query.shape[-1])


@normalised_scores.right("divides the finished dot products by the lengths of both vectors")
def _(query, key):
    lengths = query.norm(dim=-1)[..., :, None] * key.norm(dim=-1)[..., None, :]
    return query @ key.mT / lengths * math.sqrt(query.shape[-1])


@normalised_scores.right("computes in double precision, and rounds at the end", kept_back=True)
def _(query, key):
    query, key = _unit_rms(query.double()), _unit_rms(key.double())
    return (torch.einsum("bqd,bkd->bqk", query, key) / math.sqrt(query.shape[-1])).float()


@normalised_scores.wrong("normalises the queries and not the keys", kept_back=True)
def _(query, key):
    return _unit_rms(query) @ key.mT / math.sqrt(query.shape[-1])


@normalised_scores.wrong("returns the cosines", kept_back=True)
def _(query, key):
    return F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT


@normalised_scores.wrong("normalises, and returns plain dot products", kept_back=True)
def _(query, key):
    return _unit_rms(query) @ _unit_rms(key).mT


@normalised_scores.wrong("divides by the mean square, without the root", kept_back=True)
def _(query, key):
    query, key = (x / x.square().mean(dim=-1, keepdim=True) for x in (query, key))
    return query @ key.mT / math.sqrt(query.shape[-1])


@normalised_scores.wrong("normalises each feature over the tokens", kept_back=True)
def _(query, key):
    return _unit_rms(query.mT).mT @ _unit_rms(key.mT) / math.sqrt(query.shape[-1])


@normalised_scores.wrong("divides by √L_key instead of √d_k", kept_back=True)
def _(query, key):
    return _unit_rms(query) @ _unit_rms(key).mT / math.sqrt(key.shape[1])


@normalised_scores.wrong("uses the keys of the first sentence for all sentences", kept_back=True)
def _(query, key):
    return _unit_rms(query) @ _unit_rms(key[:1]).mT / math.sqrt(query.shape[-1])


@normalised_scores.wrong("divides only vectors whose root mean square is above 1", kept_back=True)
def _(query, key):
    query, key = (x / x.square().mean(-1, keepdim=True).sqrt().clamp(min=1) for x in (query, key))
    return query @ key.mT / math.sqrt(query.shape[-1])


def _signs(*shape):
    """Features that are 1 or −1, so that each vector has a root mean square of 1."""
    return torch.randn(shape).sign()


@normalised_scores.solution
def _(f):
    query, key = _signs(2, 3, 5), _signs(2, 4, 5)  # with five features, no mean is 0
    longer = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[0.5], [3.0], [5.0], [8.0]])
    scores = f(longer[0] * query, longer[1] * key)
    return torch.allclose(scores, query @ key.mT / math.sqrt(5), atol=1e-4)


@normalised_scores.mistake("only lengths changed")
def _(f):
    """You test that no score changes if vectors become longer. But many functions ignore the
    lengths and still return scores that are too small or too large."""
    query, key = torch.randn(2, 3, 5), torch.randn(2, 4, 5)
    longer = torch.tensor([[0.5], [3.0], [5.0], [8.0]])
    return torch.allclose(f(3 * query, longer * key), f(query, key), atol=1e-4)


@normalised_scores.mistake("all vectors longer by the same factor")
def _(f):
    """You make all queries, or all keys, longer by the same factor. So your test can't see whether
    each vector is divided by its own number."""
    query, key = torch.randn(2, 3, 5), torch.randn(2, 4, 5)
    return torch.allclose(f(3 * query, 3 * key), f(query, key), atol=1e-4)


@normalised_scores.mistake("vectors of one length")
def _(f):
    """All your vectors have the root mean square 1 before a function divides anything. So your test
    can't see whether it divides."""
    query, key = _signs(2, 3, 5), _signs(2, 4, 5)
    return torch.allclose(f(query, key), query @ key.mT / math.sqrt(5), atol=1e-4)


@normalised_scores.mistake("only the queries differ in length")
def _(f):
    """Your queries differ in length, but all keys have the root mean square 1 from the start. So
    your test can't see whether a function divides the keys."""
    query, key = _signs(2, 3, 5), _signs(2, 4, 5)
    longer = torch.tensor([[1.0], [2.0], [4.0]])
    return torch.allclose(f(longer * query, key), query @ key.mT / math.sqrt(5), atol=1e-4)


@normalised_scores.mistake("the mean makes no difference")
def _(f):
    """Your test can't see whether a function subtracts the mean. This makes no difference to
    vectors whose mean is 0, nor to what a vector scores against itself."""
    query, key = (x - x.mean(dim=-1, keepdim=True) for x in (torch.randn(2, 4, 6) for _ in "ab"))
    right = _unit_rms(query) @ _unit_rms(key).mT / math.sqrt(6)
    return torch.allclose(f(query, key), right, atol=1e-4)


@normalised_scores.mistake("one query and one key")
def _(f):
    """You try a single query and a single key. So your test can't see whether the vectors of a
    sentence are normalised one by one."""
    query, key = _signs(1, 1, 5), _signs(1, 1, 5)
    return torch.allclose(f(2 * query, 3 * key), query @ key.mT / math.sqrt(5), atol=1e-4)


@normalised_scores.mistake("only the largest possible score")
def _(f):
    """You test that no score is larger than √d_k. But scores that are too small are never larger
    than that."""
    query, key = 3 * torch.randn(2, 30, 5), 3 * torch.randn(2, 40, 5)
    return bool((f(query, key).abs() < math.sqrt(5) + 1e-4).all())


query_init_std = Exercise(
    "3.8",
    "The scale hidden in the initial weights",
    hints=[
        "One feature of the query is a sum of d_model terms xⱼWⱼᵢ. What is its variance if the "
        "entries of W_Q have the standard deviation s?",
        "The features of the keys have variance 1. The score adds up d_k products, and each "
        "product has the variance d_model · s².",
        "Set d_k · d_model · s² = 1 and solve for s.",
    ],
)


@query_init_std.solution
def _(d_model, d_k):
    return 1 / math.sqrt(d_model * d_k)


@query_init_std.inputs
def _(generator):
    yield 8, 2
    yield from [(4, 4), (4, 16), (16, 4), (64, 256), (512, 64), (768, 64)]


@query_init_std.holds("Without any division, the scores of simulated queries and keys spread by 1.")
def _(f, d_model, d_k):
    generator = torch.Generator().manual_seed(d_model)
    x, y = torch.randn(2, 1000, d_model, generator=generator)
    q_proj, k_proj = torch.randn(2, d_model, d_k, generator=generator)
    query, key = (x @ q_proj * to_float(f(d_model, d_k)), y @ k_proj / math.sqrt(d_model))
    spread = (query @ key.mT).std().item()
    limit = 1.3 if min(d_model, d_k) < 64 else 1.1
    if not 1 / limit < spread < limit and min(d_model, d_k) > 4:
        return f"For d_model={d_model} and d_k={d_k}, they spread by {spread:.3g}."


@query_init_std.mistake("the usual 1/√d_model")
def _(d_model, d_k):
    """You return the usual choice, which gives each query feature a variance of 1. With it, the
    scores still spread by √dₖ."""
    return 1 / math.sqrt(d_model)


@query_init_std.mistake("d_model left out")
def _(d_model, d_k):
    """You return 1/√dₖ. But a query feature adds up d_model inputs, so its variance grows with
    d_model unless the weights shrink accordingly."""
    return 1 / math.sqrt(d_k)


@query_init_std.mistake("the variance, not the standard deviation")
def _(d_model, d_k):
    """You return the variance of the entries. The task asks for the root of the variance, their
    standard deviation."""
    return 1 / (d_model * d_k)


@query_init_std.mistake("d_k divided out twice")
def _(d_model, d_k):
    """You divide by d_k, but √dₖ is enough. The scores then spread by 1/√dₖ, as if they had been
    divided by d_k."""
    return 1 / (math.sqrt(d_model) * d_k)


@query_init_std.mistake("the scale shared out between both projections")
def _(d_model, d_k):
    """You take the fourth root of d_k, which is right when W_Q and W_K share the work. But here W_K
    keeps its usual spread, so W_Q must do all of the work."""
    return 1 / (math.sqrt(d_model) * d_k**0.25)


listening_scores = Construction(
    "3.10",
    "Far apart, and softmax still listens",
    shape=(4,),
    hints=[
        "By (3.6), a weight w responds to its own score with the slope w (1 − w). For which w is "
        "this slope largest?",
        "A key whose score is 50 below the best one has a weight of less than e⁻⁵⁰. How much "
        "weight does it have if its score rises by 10?",
    ],
)
listening_scores.reference = torch.tensor([80.0, 79.4, 20.0, -40.0])


def _raised(scores, key, by):
    """How much the weights change if the score of one key rises: (4,)."""
    after = scores.clone()
    after[key] += by
    return after.softmax(dim=-1) - scores.softmax(dim=-1)


@listening_scores.holds("The largest score is at least 100 above the smallest.")
def _(scores):
    apart = (scores.max() - scores.min()).item()
    if apart < 99.999:
        return f"It is {apart:.5g} above it."


@listening_scores.holds("Any two scores differ by at least 0.5.")
def _(scores):
    scores = scores.sort().values
    gap = scores.diff().argmin()
    if scores[gap + 1] - scores[gap] < 0.499:
        return f"Two of them are {scores[gap].item():.5g} and {scores[gap + 1].item():.5g}."


@listening_scores.holds("If the first score rises by 0.1, its weight rises by at least 0.02.")
def _(scores):
    rise = _raised(scores, 0, 0.1)[0].item()
    if rise < 0.0199:
        before = scores.softmax(dim=-1)[0].item()
        return f"Its weight is {before:.2g}, and it rises by {rise:.3g}."


@listening_scores.holds("If the fourth score rises by 10, no weight changes by more than 0.001.")
def _(scores):
    change = _raised(scores, 3, 10.0).abs().max().item()
    if change > 0.0011:
        return f"One weight changes by {change:.2g}."


@listening_scores.wrong("one key far ahead", example=[100.0, 50.0, 10.0, 0.0])
def _(scores):
    """One of your scores is so far ahead that its key has nearly all the weight. This row is
    saturated, so a rise of 0.1 in any score hardly changes a weight."""
    return scores.softmax(dim=-1).max() > 0.99


@listening_scores.wrong("two equal scores", example=[100.0, 100.0, 50.0, 0.0])
def _(scores):
    """Two of your scores are equal. Keys with equal scores do share their weight, but here all
    scores must be different."""
    return (scores.sort().values.diff() < 1e-3).any()


@listening_scores.wrong("all close together", example=[1.5, 1.0, 0.5, 0.0])
def _(scores):
    """Your scores lie close together, so softmax listens to each of them. But the task asks for
    scores that are far apart."""
    return scores.max() - scores.min() < 10


softmax_slope = Exercise(
    "3.11",
    "The slope of softmax with a temperature",
    hints=[
        "Call the weights w = softmax(s / T). Equation (3.6) is their slope in s / T, but you need "
        "their slope in s. Which rule of calculus connects the two slopes?",
        "The chain rule: d(s / T) / ds = 1 / T.",
        "`w[..., :, None] * w[..., None, :]` gives all products wᵢwⱼ at once, and "
        "`torch.diag_embed(w)` puts each row on the diagonal of a matrix of its own.",
    ],
)


def _jacobian(weights):
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


@softmax_slope.solution
def _(scores, temperature):
    return _jacobian((scores / temperature).softmax(dim=-1)) / temperature


@softmax_slope.inputs
def _(generator):
    yield torch.tensor([1.0, 0.0]), 2.0
    yield torch.tensor([[200.0, 199.0, -200.0], [-200.0, -199.0, -201.0]]), 1.0
    for shape, temperature in [
        ((2, 1), 4.0),
        ((3, 3), 0.25),
        ((3, 1, 4), 1.5),
        ((2, 4, 5), 1.5),
    ]:
        yield torch.randn(shape, generator=generator), temperature


@softmax_slope.holds("Each row of the matrix sums to 0, because the weights always sum to 1.")
def _(f, scores, temperature):
    sums = f(scores, temperature).sum(dim=-1)
    if not sums.abs().max() < 1e-4:
        return f"One row sums to {sums.flatten()[sums.abs().argmax()]:.3g}."


@softmax_slope.holds("It predicts how the weights change when a score changes a little.")
def _(f, scores, temperature):
    step = torch.zeros_like(scores, dtype=torch.float64)
    step[..., 0] = 1e-4
    up, down = (((scores + sign * step) / temperature).softmax(-1) for sign in (1, -1))
    measured = (up - down) / 2e-4
    predicted = f(scores, temperature)[..., 0].double()
    if not torch.allclose(measured, predicted, atol=1e-4):
        worst = (measured - predicted).abs().max().item()
        return f"When the first score is raised, a predicted slope is off by {worst:.2g}."


@softmax_slope.mistake("the temperature forgotten outside")
def _(scores, temperature):
    """You return the slope in s / T. But a small change of s and the resulting change of s / T
    differ in size, so the slope in s has a further factor."""
    return _jacobian((scores / temperature).softmax(dim=-1))


@softmax_slope.mistake("the temperature forgotten inside")
def _(scores, temperature):
    """You take the weights at temperature 1. But the slope must be computed from the weights at
    temperature T, that is, at s / T."""
    return _jacobian(scores.softmax(dim=-1)) / temperature


@softmax_slope.mistake("multiplying by the temperature")
def _(scores, temperature):
    """You multiply by T at the end. But at a high temperature, the weights hardly respond to the
    scores, and your slope says the opposite."""
    return _jacobian((scores / temperature).softmax(dim=-1)) * temperature


@softmax_slope.mistake("the diagonal alone")
def _(scores, temperature):
    """You set every entry off the diagonal to 0, as if each weight depended only on its own score.
    But raising one score also takes weight away from all other keys."""
    weights = (scores / temperature).softmax(dim=-1)
    return torch.diag_embed(weights * (1 - weights)) / temperature


@softmax_slope.mistake("the diagonal term missing")
def _(scores, temperature):
    """You return the products of two weights everywhere. But the diagonal must also have the direct
    effect of a score on its own weight."""
    weights = (scores / temperature).softmax(dim=-1)
    return -weights[..., :, None] * weights[..., None, :] / temperature


@softmax_slope.mistake("a plus between the two terms")
def _(scores, temperature):
    """You add the products of two weights. Then raising one score would raise every weight, and
    they could no longer sum to 1."""
    weights = (scores / temperature).softmax(dim=-1)
    return (2 * torch.diag_embed(weights) - _jacobian(weights)) / temperature


@softmax_slope.mistake("the sign of everything flipped")
def _(scores, temperature):
    """You return the negative of the matrix. But raising a score must raise its own weight."""
    return -_jacobian((scores / temperature).softmax(dim=-1)) / temperature


@softmax_slope.mistake("(1 − w) spread over the rows")
def _(scores, temperature):
    """You multiply each weight by one minus the other weight everywhere. That is right only on the
    diagonal, where both are the same weight."""
    weights = (scores / temperature).softmax(dim=-1)
    return weights[..., :, None] * (1 - weights[..., None, :]) / temperature


features_of_scores = NumericAnswer(
    "3.12",
    "The number of features behind the scores",
    hints=[
        "How wide is the interval around 0 that has two thirds of the scores? The bars to the "
        "right of 0 have about 11, 10, 9 and 7 %.",
        "A score is a sum of d products, each of which has the variance 1. So what is the "
        "variance of the score?",
    ],
    answer=300.0,
    within=0.25,
)
features_of_scores.wrong_value(
    "the spread itself",
    17.0,
    "You read a standard deviation. But the spread of a score is not its number of terms, "
    "because terms of different signs cancel.",
)
features_of_scores.wrong_value(
    "the whole middle taken for the spread",
    1200.0,
    "You took the whole width of the middle two thirds for the standard deviation. It reaches "
    "from one standard deviation below 0 to one above.",
)
features_of_scores.wrong_value(
    "the edge taken for the spread",
    2700.0,
    "You read where the histogram ends. Among so many scores, the outermost lie three standard "
    "deviations from 0 or even farther.",
)
features_of_scores.wrong_value(
    "the root instead of the square",
    4.2,
    "You took the root of the spread. But the spread is itself a root, and has to be squared.",
)


real_spread = Exercise(
    "3.13",
    "Features with a mean that move together",
    hints=[
        "Write q = μ + a and k = μ + b, where a and b have mean 0. Then q·k = dμ² + μ Σaᵢ + "
        "μ Σbᵢ + Σaᵢbᵢ, and the last three terms are uncorrelated.",
        "Var(Σaᵢ) adds up all covariances of the features. Of these, d are 1, and d(d − 1) are ρ.",
        "In Var(Σaᵢbᵢ) = Σᵢ Σⱼ E[aᵢaⱼ] · E[bᵢbⱼ], the covariances are squared.",
    ],
)


def _variance(d, rho, mu, *, pairs=1.0, power=2, sides=2):
    noise = d + d * (d - 1) * pairs * rho**power
    return noise + sides * mu**2 * (d + d * (d - 1) * pairs * rho)


@real_spread.solution
def _(d, rho, mu):
    return math.sqrt(_variance(d, rho, mu))


@real_spread.inputs
def _(generator):
    yield 2, 0.5, 1.0
    yield from [(4, 0.0, 0.0), (4, 0.0, 2.0), (4, 1.0, 0.0), (16, 0.25, 0.5)]
    yield from [(64, 0.1, 0.1), (256, 0.05, 0.3), (1024, 0.5, 1.0)]


@real_spread.holds("With no correlation and a mean of 0, the spread is √d.")
def _(f, d, rho, mu):
    found = to_float(f(d, 0.0, 0.0))
    if not math.isclose(found, math.sqrt(d), rel_tol=1e-4):
        return f"For d={d}, you return {told_apart(found, math.sqrt(d))}."


@real_spread.holds("When all features are copies of one feature with mean 0, the spread is d.")
def _(f, d, rho, mu):
    found = to_float(f(d, 1.0, 0.0))
    if not math.isclose(found, d, rel_tol=1e-4):
        return f"For d={d}, you return {told_apart(found, d)}."


@real_spread.mistake("the correlation ignored")
def _(d, rho, mu):
    """You treat the features as independent. But features that move together do not cancel each
    other, so the spread is larger."""
    return math.sqrt(_variance(d, 0.0, mu))


@real_spread.mistake("the mean ignored")
def _(d, rho, mu):
    """You leave out the mean. But the mean does more than shift the score. It is multiplied by the
    random part of the other vector, and this product adds to the spread."""
    return math.sqrt(_variance(d, rho, 0.0))


@real_spread.mistake("ρ instead of ρ² in the product of the two random parts")
def _(d, rho, mu):
    """You count the correlation once in Σaᵢbᵢ. But it enters this sum through the query and through
    the key, and the two factors multiply."""
    return math.sqrt(_variance(d, rho, mu, power=1))


@real_spread.mistake("each pair of features counted once")
def _(d, rho, mu):
    """You count d(d−1)/2 pairs. But the double sum over i and j contains each pair twice, as (i, j)
    and as (j, i)."""
    return math.sqrt(_variance(d, rho, mu, pairs=0.5))


@real_spread.mistake("the mean of one vector only")
def _(d, rho, mu):
    """You let the mean of the query meet the random part of the key, but not the other way round.
    Both vectors have that mean, so the term occurs twice."""
    return math.sqrt(_variance(d, rho, mu, sides=1))


@real_spread.mistake("independent features in the terms with the mean")
def _(d, rho, mu):
    """You use 2μ²d, which is right for independent features. But the sum of features that move
    together spreads more, so these terms need ρ, too."""
    return math.sqrt(d + d * (d - 1) * rho**2 + 2 * mu**2 * d)


@real_spread.mistake("the variance, not the standard deviation")
def _(d, rho, mu):
    """You return the variance. The spread that is compared with √d is its root."""
    return _variance(d, rho, mu)


@real_spread.mistake("already divided by √d")
def _(d, rho, mu):
    """You return the spread after the division by √d. The task asks for the spread of the plain dot
    product."""
    return math.sqrt(_variance(d, rho, mu) / d)


listening_pairs = NumericAnswer(
    "3.14",
    "Pairs that softmax still listens to",
    answer=1000 * math.erf(5.3 / math.sqrt(2 * 1024) / math.sqrt(2)),
    within=0.15,
    hints=[
        "The variance of a score is 1024. What is the variance of the difference of two scores?",
        "The band reaches from −5.3 to 5.3. How many tenths of the difference's standard deviation "
        "is that?",
    ],
)
listening_pairs.wrong_value(
    "the second key forgotten",
    1000 * math.erf(5.3 / math.sqrt(1024) / math.sqrt(2)),
    "You used the spread of one score. But the band is about the difference of two scores, whose "
    "variances add up.",
)
listening_pairs.wrong_value(
    "standard deviations added",
    1000 * math.erf(5.3 / (2 * math.sqrt(1024)) / math.sqrt(2)),
    "You added the spreads of the two scores. Only variances add up, so the spread of the "
    "difference is smaller than that.",
)
listening_pairs.wrong_value(
    "one side only",
    500 * math.erf(5.3 / math.sqrt(2 * 1024) / math.sqrt(2)),
    "You counted only dots on one side of the middle. The band reaches just as far to the other "
    "side, where the second key leads.",
)
listening_pairs.wrong_value(
    "the root forgotten",
    1000 * math.erf(5.3 / (2 * 1024) / math.sqrt(2)),
    "You compared the width of the band with the variance of the difference. Compare it with the "
    "standard deviation, which is the root of the variance and far smaller.",
)
listening_pairs.wrong_value(
    "the dots outside",
    1000 * math.erfc(5.3 / math.sqrt(2 * 1024) / math.sqrt(2)),
    "You counted the dots outside the band. These dots are saturated, but the question asks for "
    "the dots to which softmax still listens.",
)
listening_pairs.wrong_value(
    "the number of features of the figure",
    1000 * math.erf(5.3 / math.sqrt(2 * 64) / math.sqrt(2)),
    "You estimated the share of the dots for 64 features, as in the figure. With more features, "
    "the dots spread farther, but the band stays as wide as it was.",
)
