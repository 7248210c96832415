"""Exercises of chapter 3, "Why divide by √d?"."""

import math

import torch

from .engine import Exercise, Prediction

typical_score = Prediction(
    "3.1",
    "A typical dot product",
    stars=1,
    minutes=3,
    answer=20.0,
    hints=[
        "The dot product is a sum of 400 products. What is the variance of one of them?",
        "The variances of independent terms add up. The spread is the root of the variance.",
    ],
)
typical_score.wrong_value(
    "the variance, not the standard deviation",
    400.0,
    "You added up the variances of the 400 products. That gives the variance of the sum, whose "
    "unit is a score squared; how far a score typically is from 0 is its root.",
)
typical_score.wrong_value(
    "the mean, not the spread",
    0.0,
    "Positive and negative products cancel on average, so the mean is 0. But a single score is "
    "seldom close to its mean: the question is how far away it typically is.",
)
typical_score.wrong_value(
    "the spread of one product",
    1.0,
    "One product of two features has a standard deviation of 1. The dot product adds up 400 of "
    "them, and its spread grows with their number.",
)
typical_score.wrong_value(
    "a spread that would need both vectors to double it",
    math.sqrt(800),
    "You counted 800 random features. There are 800, but they enter in pairs: 400 products, each "
    "with a variance of 1.",
)


scaled_scores = Exercise(
    "3.2",
    "Scaled scores",
    stars=1,
    minutes=5,
    hints=[
        "All dot products at once are one matrix product: query times the transpose of key.",
        "`key.mT` swaps the last two axes and leaves axes in front of them alone.",
        "d_k is the number of features of one query: `query.shape[-1]`.",
    ],
)


@scaled_scores.solution
def _(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1])


@scaled_scores.inputs
def _(generator):
    yield (
        torch.tensor([[1.0, 2.0, 0.0]]),
        torch.tensor([[3.0, 1.0, 1.0], [0.0, 1.0, 2.0]]),
    )
    for shape_query, shape_key in [
        ((3, 4), (5, 4)),
        ((2, 3, 8), (2, 6, 8)),
        ((2, 2, 5, 3),) * 2,
    ]:
        yield (
            torch.randn(shape_query, generator=generator),
            torch.randn(shape_key, generator=generator),
        )


@scaled_scores.holds("Doubling a query doubles its scores.")
def _(f, query, key):
    before, after = f(query, key), f(2 * query, key)
    if not torch.allclose(after, 2 * before, rtol=1e-3, atol=1e-4):
        return f"One goes from {before.flatten()[0]:.3g} to {after.flatten()[0]:.3g}."


@scaled_scores.holds("Swapping query and key transposes the scores.")
def _(f, query, key):
    if not torch.allclose(f(query, key), f(key, query).mT, rtol=1e-3, atol=1e-4):
        return "The score of query i and key j changes when they change places."


@scaled_scores.holds("Gradients flow back to the query and the key.")
def _(f, query, key):
    return _no_gradient(f, query, key)


@scaled_scores.mistake("no scaling at all")
def _(query, key):
    """You return the plain dot products. They spread by √d_k, and for large d_k softmax turns
    them into all or nothing."""
    return query @ key.mT


@scaled_scores.mistake("dividing by d_k instead of its root")
def _(query, key):
    """You divide by d_k. The scores then shrink like 1/√d_k, and softmax can hardly tell one key
    from another."""
    return query @ key.mT / query.shape[-1]


@scaled_scores.mistake("multiplying by the root instead of dividing")
def _(query, key):
    """You multiply by √d_k. The scores, which already spread by √d_k, then spread by d_k."""
    return query @ key.mT * math.sqrt(query.shape[-1])


@scaled_scores.mistake("the root of the number of keys")
def _(query, key):
    """You take the root of the sequence length, axis −2. How large one score is depends on the
    number of features it adds up, not on how many keys there are."""
    return query @ key.mT / math.sqrt(key.shape[-2])


@scaled_scores.mistake("the root of the number of queries")
def _(query, key):
    """You take the root of the number of queries, axis −2 of the query. One score does not know
    how many other queries there are: it adds up d_k products."""
    return query @ key.mT / math.sqrt(query.shape[-2])


@scaled_scores.mistake("query and key swapped")
def _(query, key):
    """You put keys in the rows and queries in the columns. Softmax over a row would then share
    out one key among the queries, instead of one query's attention among the keys."""
    return key @ query.mT / math.sqrt(query.shape[-1])


@scaled_scores.mistake("softmax already applied")
def _(query, key):
    """You return weights, that is scores after softmax. The task asks for the scores that go
    into it."""
    return (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1)


row_entropy = Exercise(
    "3.3",
    "Entropy of the weights",
    stars=2,
    minutes=10,
    hints=[
        "Multiply each weight by its logarithm, add up each row, and change the sign.",
        "In the formula 0 · log 0 counts as 0. In floating point it is 0 · −∞ = NaN.",
        "`torch.xlogy(x, y)` is x · log(y) with exactly that rule.",
    ],
)


@row_entropy.solution
def _(weights):
    return -torch.xlogy(weights, weights).sum(dim=-1)


@row_entropy.inputs
def _(generator):
    yield (torch.tensor([[0.5, 0.5]]),)
    yield (torch.tensor([[0.25, 0.25, 0.25, 0.25], [0.7, 0.1, 0.1, 0.1]]),)
    yield (torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]),)
    for shape in [(3, 5), (2, 4, 6)]:
        yield (torch.randn(shape, generator=generator).softmax(dim=-1),)


@row_entropy.holds("Equal weights over n keys have an entropy of log n.")
def _(f, weights):
    n = weights.shape[-1]
    found = f(torch.full_like(weights, 1 / n)).flatten()[0].item()
    if not math.isclose(found, math.log(n), rel_tol=1e-3):
        return f"For n={n} you return {found:.4g}."


@row_entropy.holds("A row with all its weight on one key has an entropy of 0.")
def _(f, weights):
    certain = torch.zeros_like(weights)
    certain[..., 0] = 1.0
    found = f(certain).flatten()[0].item()
    if not abs(found) < 1e-4:
        return f"You return {found:.4g}."


@row_entropy.holds("The order of the keys does not matter.")
def _(f, weights):
    if not torch.allclose(
        f(weights), f(weights.flip(-1)), rtol=1e-3, atol=1e-5, equal_nan=True
    ):
        return "Reversing each row changes the result."


@row_entropy.mistake("0 · log 0 left as NaN")
def _(weights):
    """You multiply a weight of 0 by its logarithm, −∞, and get NaN. In large scores such zeros
    are common, and one of them spoils its whole row."""
    return -(weights * weights.log()).sum(dim=-1)


@row_entropy.mistake("the sign forgotten")
def _(weights):
    """You add up p · log p, which is never positive. Entropy is its negative."""
    return torch.xlogy(weights, weights).sum(dim=-1)


@row_entropy.mistake("bits instead of nats")
def _(weights):
    """You take the logarithm to base 2. That measures in bits, 1.44 times the number of nats that
    the natural logarithm gives."""
    return -torch.xlogy(weights, weights).sum(dim=-1) / math.log(2)


@row_entropy.mistake("the mean over the keys instead of the sum")
def _(weights):
    """You average over the keys. That divides the entropy by their number, and equal weights
    would no longer give log n."""
    return -torch.xlogy(weights, weights).mean(dim=-1)


@row_entropy.mistake("the sum over the queries instead of the keys")
def _(weights):
    """You add up along axis −2, down the columns. Each row is a distribution of its own; a column
    is not."""
    return -torch.xlogy(weights, weights).sum(dim=-2)


@row_entropy.mistake("one number for all rows")
def _(weights):
    """You add up all rows into one number. Each query has its own distribution and so its own
    entropy."""
    return -torch.xlogy(weights, weights).sum()


@row_entropy.mistake("the effective number of keys")
def _(weights):
    """You return e to the power of the entropy, the effective number of keys. It says the same on
    another scale, but the task asks for the entropy."""
    return (-torch.xlogy(weights, weights).sum(dim=-1)).exp()


softmax_with_temperature = Exercise(
    "3.4",
    "A softmax with temperature",
    stars=2,
    minutes=10,
    hints=[
        "Divide the scores by the temperature first; everything else is softmax.",
        "e to the power of 1000 is infinite in floating point. What may be subtracted from all "
        "scores of a row without changing the weights?",
        "Subtract the largest score of each row: `scores.amax(dim=-1, keepdim=True)`.",
    ],
)


@softmax_with_temperature.solution
def _(scores, temperature):
    return (scores / temperature).softmax(dim=-1)


@softmax_with_temperature.inputs
def _(generator):
    yield torch.tensor([[1.0, 0.0]]), 0.5
    yield torch.tensor([[2.0, 1.0, 0.0]]), 4.0
    yield torch.tensor([[1000.0, 999.0, 0.0]]), 1.0
    yield torch.tensor([[-1000.0, -999.0, -1001.0]]), 2.0
    for shape, temperature in [((3, 5), 1.0), ((2, 4, 6), 0.1), ((2, 3, 3), 7.0)]:
        yield torch.randn(shape, generator=generator), temperature


@softmax_with_temperature.holds("Each row of weights sums to 1.")
def _(f, scores, temperature):
    return _row_sums(f(scores, temperature))


@softmax_with_temperature.holds("No weight is negative.")
def _(f, scores, temperature):
    smallest = f(scores, temperature).min().item()
    if smallest < 0:
        return f"The smallest is {smallest:.3g}."


@softmax_with_temperature.holds("A higher temperature makes the weights more equal.")
def _(f, scores, temperature):
    cool = f(scores, temperature).amax(dim=-1)
    warm = f(scores, 2 * temperature).amax(dim=-1)
    if (warm > cool + 1e-5).any():
        i = (warm - cool).argmax()
        return (
            f"At T={temperature:g} the largest weight of a row is {cool.flatten()[i]:.3g}, "
            f"at T={2 * temperature:g} it is {warm.flatten()[i]:.3g}."
        )


@softmax_with_temperature.holds("Adding the same number to all scores changes nothing.")
def _(f, scores, temperature):
    before, after = f(scores, temperature), f(scores + 3.0, temperature)
    if not torch.allclose(before, after, rtol=1e-3, atol=1e-4):
        return (
            f"A weight goes from {before.flatten()[0]:.3g} to {after.flatten()[0]:.3g}."
        )


@softmax_with_temperature.mistake("multiplying by the temperature")
def _(scores, temperature):
    """You multiply the scores by the temperature. Then a high temperature sharpens the weights,
    where it should even them out."""
    return (scores * temperature).softmax(dim=-1)


@softmax_with_temperature.mistake("dividing the weights instead of the scores")
def _(scores, temperature):
    """You apply softmax first and divide afterwards. The rows then sum to 1/T, and the weights
    keep their proportions whatever the temperature."""
    return scores.softmax(dim=-1) / temperature


@softmax_with_temperature.mistake("the root of the temperature")
def _(scores, temperature):
    """You divide by √T. The root belongs to d_k, because variance grows with d_k; a temperature
    divides the scores as it is."""
    return (scores / math.sqrt(temperature)).softmax(dim=-1)


@softmax_with_temperature.mistake("softmax over the queries")
def _(scores, temperature):
    """You normalise along axis −2, so the columns sum to 1. Each query, a row, must share out its
    attention among the keys."""
    return (scores / temperature).softmax(dim=-2)


@softmax_with_temperature.mistake("the maximum not subtracted")
def _(scores, temperature):
    """You take exponentials of the scores as they are. Large scores overflow to ∞/∞ = NaN, very
    negative ones underflow to 0/0 = NaN."""
    exponentials = (scores / temperature).exp()
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@softmax_with_temperature.mistake("the temperature ignored")
def _(scores, temperature):
    """You never use the temperature. The result is right for T = 1 alone."""
    return scores.softmax(dim=-1)


@softmax_with_temperature.mistake("all rows normalised together")
def _(scores, temperature):
    """You divide by the sum over the whole matrix. Each row has to sum to 1 by itself."""
    exponentials = (scores / temperature - (scores / temperature).max()).exp()
    return exponentials / exponentials.sum()


softmax_jacobian = Exercise(
    "3.5",
    "The slope of softmax",
    stars=2,
    minutes=15,
    hints=[
        "The diagonal holds pᵢ(1 − pᵢ), all other entries −pᵢpⱼ. Both are pᵢ·[i = j] − pᵢpⱼ.",
        "All products pᵢpⱼ at once: `weights[..., :, None] * weights[..., None, :]`.",
        "`torch.diag_embed(weights)` puts each row on the diagonal of its own matrix.",
    ],
)


@softmax_jacobian.solution
def _(weights):
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


@softmax_jacobian.inputs
def _(generator):
    yield (torch.tensor([0.75, 0.25]),)
    yield (torch.tensor([0.5, 0.3, 0.2]),)
    for shape in [(2, 3), (3, 3), (2, 4, 5)]:
        yield (torch.randn(shape, generator=generator).softmax(dim=-1),)


@softmax_jacobian.holds(
    "Each row of the matrix sums to 0: the weights always sum to 1."
)
def _(f, weights):
    sums = f(weights).sum(dim=-1)
    if not sums.abs().max() < 1e-4:
        return f"One row sums to {sums.flatten()[sums.abs().argmax()]:.3g}."


@softmax_jacobian.holds("The matrix is symmetric.")
def _(f, weights):
    jacobian = f(weights)
    if not torch.allclose(jacobian, jacobian.mT, atol=1e-5):
        return "Entry (i, j) differs from entry (j, i)."


@softmax_jacobian.holds("It predicts how weights change when a score changes a little.")
def _(f, weights):
    step = torch.zeros_like(weights, dtype=torch.float64)
    step[..., 0] = 1e-4
    scores = weights.double().log()
    measured = ((scores + step).softmax(-1) - (scores - step).softmax(-1)) / 2e-4
    predicted = f(weights)[..., 0].double()
    if not torch.allclose(measured, predicted, atol=1e-4):
        worst = (measured - predicted).abs().max().item()
        return (
            f"Raising the first score, the prediction of a slope is off by {worst:.2g}."
        )


@softmax_jacobian.mistake("the diagonal alone")
def _(weights):
    """You fill in pᵢ(1 − pᵢ) and leave the rest 0, as if each weight depended on its own score
    alone. Raising one score also takes weight away from all others: the entries −pᵢpⱼ."""
    return torch.diag_embed(weights * (1 - weights))


@softmax_jacobian.mistake("the diagonal term missing")
def _(weights):
    """You have −pᵢpⱼ everywhere. On the diagonal there is also the direct effect +pᵢ of a score
    on its own weight."""
    return -weights[..., :, None] * weights[..., None, :]


@softmax_jacobian.mistake("a plus between the two terms")
def _(weights):
    """You add pᵢpⱼ instead of subtracting it. Then raising one score would raise every weight,
    and they could no longer sum to 1."""
    return torch.diag_embed(weights) + weights[..., :, None] * weights[..., None, :]


@softmax_jacobian.mistake("the sign of everything flipped")
def _(weights):
    """You have the negative of the matrix. Raising a score must raise its own weight."""
    return weights[..., :, None] * weights[..., None, :] - torch.diag_embed(weights)


@softmax_jacobian.mistake("softmax applied a second time")
def _(weights):
    """You apply softmax to the weights, which are already its result. That flattens them, and the
    slope belongs to another point."""
    weights = weights.softmax(dim=-1)
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


@softmax_jacobian.mistake("(1 − p) spread over the rows")
def _(weights):
    """You multiply pᵢ by (1 − pⱼ) everywhere. That is right on the diagonal alone, where i = j;
    elsewhere the entry is −pᵢpⱼ."""
    return weights[..., :, None] * (1 - weights[..., None, :])


cosine_scores = Exercise(
    "3.6",
    "Cosine scores",
    stars=2,
    minutes=10,
    hints=[
        "Divide every query and every key by its own length; then take dot products.",
        "The length of each row: `query.norm(dim=-1, keepdim=True)`.",
        "`torch.nn.functional.normalize(query, dim=-1)` does the first step.",
    ],
)


@cosine_scores.solution
def _(query, key, scale):
    normalise = torch.nn.functional.normalize
    return scale * normalise(query, dim=-1) @ normalise(key, dim=-1).mT


@cosine_scores.inputs
def _(generator):
    yield torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0, 0.0], [0.0, 2.0]]), 10.0
    for n_query, n_key, d, scale in [(3, 4, 6, 1.0), (5, 5, 2, 3.0), (2, 6, 16, 8.0)]:
        yield (
            2 * torch.randn(2, n_query, d, generator=generator),
            torch.randn(2, n_key, d, generator=generator) / 2,
            scale,
        )


@cosine_scores.holds("Making a key three times as long changes no score.")
def _(f, query, key, scale):
    before, after = f(query, key, scale), f(query, 3 * key, scale)
    if not torch.allclose(before, after, rtol=1e-3, atol=1e-4):
        return (
            f"A score goes from {before.flatten()[0]:.3g} to {after.flatten()[0]:.3g}."
        )


@cosine_scores.holds("Making a query three times as long changes no score.")
def _(f, query, key, scale):
    before, after = f(query, key, scale), f(3 * query, key, scale)
    if not torch.allclose(before, after, rtol=1e-3, atol=1e-4):
        return (
            f"A score goes from {before.flatten()[0]:.3g} to {after.flatten()[0]:.3g}."
        )


@cosine_scores.holds("A vector scored against itself gets exactly the scale.")
def _(f, query, key, scale):
    own = f(key, key, scale).diagonal(dim1=-2, dim2=-1)
    if not torch.allclose(own, torch.full_like(own, scale), rtol=1e-3):
        return f"One gets {own.flatten()[(own - scale).abs().argmax()]:.3g}, the scale is {scale}."


@cosine_scores.mistake("the queries not normalised")
def _(query, key, scale):
    """You divide the keys by their length and leave the queries as they are. A long query still
    gets large scores and sharp weights."""
    return scale * query @ torch.nn.functional.normalize(key, dim=-1).mT


@cosine_scores.mistake("the keys not normalised")
def _(query, key, scale):
    """You divide the queries by their length and leave the keys as they are. A long key still
    draws attention by its length."""
    return scale * torch.nn.functional.normalize(query, dim=-1) @ key.mT


@cosine_scores.mistake("normalising along the sequence")
def _(query, key, scale):
    """You normalise along axis −2, each feature over all tokens. The length of a vector is taken
    along its features, axis −1."""
    normalise = torch.nn.functional.normalize
    return scale * normalise(query, dim=-2) @ normalise(key, dim=-2).mT


@cosine_scores.mistake("dividing by the squared length")
def _(query, key, scale):
    """You divide by the sum of squares. That is the squared length: long vectors now get small
    scores instead of large ones."""
    query = query / query.square().sum(dim=-1, keepdim=True)
    return scale * query @ (key / key.square().sum(dim=-1, keepdim=True)).mT


@cosine_scores.mistake("√d_k on top of the cosine")
def _(query, key, scale):
    """You divide the cosine by √d_k as well. A cosine never leaves −1…1, whatever d_k is: there
    is nothing left to scale down."""
    normalise = torch.nn.functional.normalize
    return (
        scale
        * normalise(query, dim=-1)
        @ normalise(key, dim=-1).mT
        / query.shape[-1] ** 0.5
    )


@cosine_scores.mistake("the scale ignored")
def _(query, key, scale):
    """You return the bare cosine. Scores between −1 and 1 can't make softmax sharp: one weight is
    at most e² = 7.4 times another."""
    normalise = torch.nn.functional.normalize
    return normalise(query, dim=-1) @ normalise(key, dim=-1).mT


@cosine_scores.mistake("dividing by the scale")
def _(query, key, scale):
    """You divide the cosine by the scale. The scale takes the place of 1/√d_k: it multiplies."""
    normalise = torch.nn.functional.normalize
    return normalise(query, dim=-1) @ normalise(key, dim=-1).mT / scale


correlated_spread = Exercise(
    "3.7",
    "Features that move together",
    stars=3,
    minutes=20,
    hints=[
        "The mean of q·k is still 0, so its variance is the mean of (q·k)² = Σᵢ Σⱼ qᵢkᵢqⱼkⱼ.",
        "q and k are independent of each other: E[qᵢkᵢqⱼkⱼ] = E[qᵢqⱼ] · E[kᵢkⱼ].",
        "E[qᵢqⱼ] is 1 for i = j and ρ otherwise. How many pairs (i, j) are there of each kind?",
    ],
)


@correlated_spread.solution
def _(d, rho):
    return math.sqrt(d + d * (d - 1) * rho**2)


@correlated_spread.inputs
def _(generator):
    yield 2, 0.5
    yield from [(4, 0.0), (4, 1.0), (64, 0.1), (64, 0.3), (256, 0.05), (1024, 0.5)]


@correlated_spread.holds("Without correlation it is √d.")
def _(f, d, rho):
    found = float(f(d, 0.0))
    if not math.isclose(found, math.sqrt(d), rel_tol=1e-4):
        return f"For d={d} you return {found:.4g}."


@correlated_spread.holds("When all features are copies of one, it is d.")
def _(f, d, rho):
    found = float(f(d, 1.0))
    if not math.isclose(found, d, rel_tol=1e-4):
        return f"For d={d} you return {found:.4g}."


@correlated_spread.holds("It agrees with 40 000 random pairs of vectors.")
def _(f, d, rho):
    if d > 64:
        return None
    generator = torch.Generator().manual_seed(d)
    shared = torch.randn(2, 40_000, 1, generator=generator)
    own = torch.randn(2, 40_000, d, generator=generator)
    query, key = math.sqrt(rho) * shared + math.sqrt(1 - rho) * own
    measured, found = (query * key).sum(dim=-1).std().item(), float(f(d, rho))
    if not math.isclose(measured, found, rel_tol=0.05):
        return (
            f"For d={d}, ρ={rho} they spread by {measured:.3g}; you return {found:.4g}."
        )


@correlated_spread.mistake("the correlation ignored")
def _(d, rho):
    """You return √d, as for independent features. Features that move together do not cancel each
    other, so the spread is larger."""
    return math.sqrt(d)


@correlated_spread.mistake("ρ instead of ρ²")
def _(d, rho):
    """You count the correlation once. It enters through the query and through the key, and the two
    factors multiply to ρ²."""
    return math.sqrt(d + d * (d - 1) * rho)


@correlated_spread.mistake("each pair of features counted once")
def _(d, rho):
    """You count d(d−1)/2 pairs. The double sum over i and j meets each pair twice, as (i, j) and
    as (j, i)."""
    return math.sqrt(d + d * (d - 1) / 2 * rho**2)


@correlated_spread.mistake("d² pairs instead of d(d−1)")
def _(d, rho):
    """You count d² pairs with ρ². The d pairs with i = j are already in the first term: they
    contribute 1 each, and must not be counted again."""
    return math.sqrt(d + d * d * rho**2)


@correlated_spread.mistake("the variance, not the standard deviation")
def _(d, rho):
    """You return the variance. The spread that is compared with √d is its root."""
    return d + d * (d - 1) * rho**2


@correlated_spread.mistake("the independent part forgotten")
def _(d, rho):
    """You keep only the pairs i ≠ j. With ρ = 0 nothing would be left, but independent features
    still spread by √d."""
    return math.sqrt(d * (d - 1)) * rho


query_init_std = Exercise(
    "3.8",
    "The scale hidden in the initial weights",
    stars=3,
    minutes=20,
    hints=[
        "One feature of the query is a sum of d_model terms xⱼWⱼᵢ. What is its variance if the "
        "entries of W_Q have the standard deviation s?",
        "The keys have features of variance 1. The score adds up d_k products of variance "
        "d_model · s² each.",
        "Set d_k · d_model · s² = 1 and solve for s.",
    ],
)


@query_init_std.solution
def _(d_model, d_k):
    return 1 / math.sqrt(d_model * d_k)


@query_init_std.inputs
def _(generator):
    yield 4, 4
    yield from [(4, 16), (16, 4), (64, 256), (512, 64), (768, 64)]


@query_init_std.holds(
    "Scores of simulated queries and keys spread by 1 without any division."
)
def _(f, d_model, d_k):
    generator = torch.Generator().manual_seed(d_model)
    x, y = torch.randn(2, 1000, d_model, generator=generator)
    query_map, key_map = torch.randn(2, d_model, d_k, generator=generator)
    query, key = (
        x @ query_map * float(f(d_model, d_k)),
        y @ key_map / math.sqrt(d_model),
    )
    spread = (query @ key.mT).std().item()
    limit = 1.3 if min(d_model, d_k) < 64 else 1.1
    if not 1 / limit < spread < limit and min(d_model, d_k) > 4:
        return f"For d_model={d_model}, d_k={d_k} they spread by {spread:.3g}."


@query_init_std.mistake("the usual 1/√d_model")
def _(d_model, d_k):
    """You return the usual choice, which gives each query feature a variance of 1. The scores then
    spread by √d_k, as before."""
    return 1 / math.sqrt(d_model)


@query_init_std.mistake("d_model left out")
def _(d_model, d_k):
    """You return 1/√d_k. A query feature adds up d_model inputs, so its variance grows with d_model
    unless the weights shrink with it."""
    return 1 / math.sqrt(d_k)


@query_init_std.mistake("the variance, not the standard deviation")
def _(d_model, d_k):
    """You return the variance of the entries. The task asks for their standard deviation, its
    root."""
    return 1 / (d_model * d_k)


@query_init_std.mistake("d_k divided out twice")
def _(d_model, d_k):
    """You divide by d_k where √d_k is enough. The scores then spread by 1/√d_k, as if they had been
    divided by d_k."""
    return 1 / (math.sqrt(d_model) * d_k)


@query_init_std.mistake("the scale shared out between both maps")
def _(d_model, d_k):
    """You take the fourth root of d_k, which is right when W_Q and W_K share the work. Here W_K
    keeps its usual spread, so W_Q has to do all of it."""
    return 1 / (math.sqrt(d_model) * d_k**0.25)


def _row_sums(weights: torch.Tensor) -> str | None:
    sums = weights.sum(dim=-1)
    if not (sums - 1).abs().max() < 1e-4:
        return f"One sums to {sums.flatten()[(sums - 1).abs().argmax()]:.3g}."


def _no_gradient(f, *tensors: torch.Tensor) -> str | None:
    tensors = [tensor.clone().requires_grad_() for tensor in tensors]
    result = f(*tensors)
    if not result.requires_grad:
        return "The result is cut off from its inputs (`detach`, `item`, `numpy`, `no_grad`?)."
    gradients = torch.autograd.grad(result.sum(), tensors, allow_unused=True)
    if any(gradient is None for gradient in gradients):
        return "One of the inputs gets none."
