"""Exercises of chapter 4, "Why softmax?"."""

import math

import torch

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

what_the_losers_found = MultipleChoice(
    "4.0",
    "Did they find the key?",
    hints=[
        "An answer mixes the values of all keys. What can spoil it even if the right key has the "
        "largest weight?",
        "Double all scores, as longer queries would. What happens to the ratio of two weights, "
        "with squares and with the sigmoid?",
    ],
    answer="C",
    because="Squares find the right key far more often than they answer correctly, because they "
    "can't magnify the key's lead. The sigmoid can magnify a lead. But it finds the right key "
    "hardly more often than it answers correctly.",
)
what_the_losers_found.wrong_option(
    "A",
    "a wrong answer means a wrong key",
    "This takes a wrong answer for a wrong key. But an answer mixes the values of all keys. Look "
    "at how many answers the squares get right when one key gets all the weight.",
)
what_the_losers_found.wrong_option(
    "B",
    "both rules fail for the same reason",
    "This assumes that both rules fail for the same reason. But look at the sigmoid. Its largest "
    "weight already leads clearly, so it helps little to give all the weight to that key.",
)
what_the_losers_found.wrong_option(
    "D",
    "the flat rule shares out most evenly",
    "It is true that the sigmoid is flat where its scores are large. But below 0 it falls towards "
    "0, so its weights can be far apart. Compare the largest weights of both rules.",
)


weight_in_a_crowd = NumericAnswer(
    "4.1",
    "One key against a thousand",
    answer=math.exp(5) / (math.exp(5) + 1000),
    within=0.01,
    hints=[
        "Only differences count, so let the other scores be 0 and the best one 5.",
        "The numerator is e⁵. The denominator adds up 1001 exponentials.",
    ],
)
weight_in_a_crowd.wrong_value(
    "the number of keys ignored",
    math.exp(5) / (math.exp(5) + 10),
    "You kept the weight that the best key had among fewer keys. Its lead over each other key is "
    "the same, but now a thousand other keys add to the denominator.",
)
weight_in_a_crowd.wrong_value(
    "the best key left out of the denominator",
    math.exp(5) / 1000,
    "You divided by the exponentials of the other keys. But the best key also gets a share, so its "
    "own exponential belongs in the sum, too.",
)
weight_in_a_crowd.wrong_value(
    "the weight divided by a hundred",
    math.exp(5) / (math.exp(5) + 10) / 100,
    "You made the weight smaller in proportion to the number of other keys. That would be right if "
    "the other keys made up nearly the whole denominator. But with few keys, the best key makes up "
    "most of it.",
)
weight_in_a_crowd.wrong_value(
    "scores shared out without exponentials",
    5 / 1005,
    "You divided a score of 5 by 1005. But softmax shares out the exponentials of scores, and the "
    "exponential of 5 is much more than 5.",
)
weight_in_a_crowd.wrong_value(
    "in per cent",
    100 * math.exp(5) / (math.exp(5) + 1000),
    "You gave a number in per cent. But a weight is a share of 1, like the 0.94 of the question, "
    "and it is never larger than 1.",
)
weight_in_a_crowd.wrong_value(
    "two keys only",
    math.exp(5) / (math.exp(5) + 1),
    "You compared the best key with one other key. But a thousand other keys take part, and each "
    "of them counts.",
)


received_attention = Suspects(
    "4.2",
    "Received attention without padding",
    hints=[
        "Which result do you know without a computation? For example, what does a sentence of one "
        "word return, whatever its padding is?",
        "Choose an input on which many mistakes would show. In your batch, do the sentences have "
        "different numbers of words? Does padding come before a word, too?",
        "Write down what the result must be for two sentences, one with two words and one with one "
        "word. Then compare with `torch.allclose`.",
    ],
)


def _count(real):
    return real.sum(dim=-1, keepdim=True)


@received_attention.right("adds up in a matrix product, so its last digits may be different")
def _(weights, real):
    share = real / _count(real)
    return (share[:, None] @ weights)[:, 0]


@received_attention.wrong("divides by the number of all rows, including padding")
def _(weights, real):
    return (weights * real[..., None]).mean(dim=-2)


@received_attention.right("loops over the sentences")
def _(weights, real):
    pairs = zip(weights, real, strict=True)
    return torch.stack([rows[mask].mean(dim=0) for rows, mask in pairs])


@received_attention.wrong("averages the first rows, as many as the sentence has words")
def _(weights, real):
    first = torch.arange(real.shape[-1]) < _count(real)
    return (weights * first[..., None]).sum(dim=-2) / _count(real)


@received_attention.wrong("divides by the mean number of words in a sentence of the batch")
def _(weights, real):
    return (weights * real[..., None]).sum(dim=-2) / _count(real).float().mean()


@received_attention.right("computes in double precision, and rounds at the end")
def _(weights, real):
    share = real.double() / _count(real)
    return torch.einsum("sqk,sq->sk", weights.double(), share).float()


@received_attention.right("turns padding into NaN, and averages the rest", kept_back=True)
def _(weights, real):
    return weights.where(real[..., None], math.nan).nanmean(dim=-2)


@received_attention.wrong("averages all rows, including padding", kept_back=True)
def _(weights, real):
    return weights.mean(dim=-2)


@received_attention.wrong(
    "adds up all rows, including padding, and divides by the number of words", kept_back=True
)
def _(weights, real):
    return weights.sum(dim=-2) / _count(real)


@received_attention.wrong("adds up the rows without dividing", kept_back=True)
def _(weights, real):
    return (weights * real[..., None]).sum(dim=-2)


@received_attention.wrong("returns the row of the last word alone", kept_back=True)
def _(weights, real):
    last = (real * torch.arange(1, real.shape[-1] + 1)).argmax(dim=-1)
    return weights[torch.arange(len(weights)), last]


@received_attention.wrong("averages the rows of padding", kept_back=True)
def _(weights, real):
    return (weights * ~real[..., None]).sum(dim=-2) / _count(~real).clamp(min=1)


@received_attention.wrong(
    "averages the last rows, as many as the sentence has words", kept_back=True
)
def _(weights, real):
    last = torch.arange(real.shape[-1]).flip(0) < _count(real)
    return (weights * last[..., None]).sum(dim=-2) / _count(real)


@received_attention.wrong(
    "averages all rows from the first word to the last, also padding between them", kept_back=True
)
def _(weights, real):
    seen, to_come = real.cumsum(dim=-1), real.flip(-1).cumsum(dim=-1).flip(-1)
    between = (seen > 0) & (to_come > 0)
    return (weights * between[..., None]).sum(dim=-2) / _count(between)


@received_attention.wrong("adds 0.01 to the number of words before it divides", kept_back=True)
def _(weights, real):
    return (weights * real[..., None]).sum(dim=-2) / (_count(real) + 0.01)


@received_attention.solution
def _(f):
    weights = torch.randn(2, 3, 4).softmax(dim=-1)
    real = torch.tensor([[True, False, True], [False, True, False]])
    expected = torch.stack([(weights[0, 0] + weights[0, 2]) / 2, weights[1, 1]])
    return torch.allclose(f(weights, real), expected, atol=1e-5)


def _some_words(*shape):
    """Weights, a mask with padding after the words only, and the right averages."""
    weights = torch.randn(*shape).softmax(dim=-1)
    lengths = torch.arange(len(weights)) % (shape[1] - 1) + 2
    real = torch.arange(shape[1]) < lengths[:, None]
    return weights, real, (weights * real[..., None]).sum(dim=-2) / _count(real)


@received_attention.mistake("only what the average of any rows has")
def _(f):
    """Your test sees only what the average of any rows has, such as the sum 1. So it can't see
    which rows a function takes."""
    weights, real, _ = _some_words(3, 4, 5)
    return torch.allclose(f(weights, real).sum(dim=-1), torch.ones(3))


@received_attention.mistake("only the numbers in the padding changed")
def _(f):
    """You test that the weights in a row of padding change nothing. But a function can leave out
    the padding and still divide by the wrong number."""
    weights, real, _ = _some_words(3, 4, 5)
    other = torch.where(real[..., None], weights, weights.flip(-1))
    return torch.allclose(f(weights, real), f(other, real))


@received_attention.mistake("no result that is known")
def _(f):
    """You test what must change nothing, and that the averages sum to 1. But a single row sums to
    1, too, so a function that returns one row of a word has these properties as well."""
    weights, real, _ = _some_words(3, 4, 5)
    real = real.flip(-1)  # padding first
    other = torch.where(real[..., None], weights, weights.flip(-1))
    result = f(weights, real)
    return (
        torch.allclose(result, f(other, real))
        and torch.allclose(result.sum(dim=-1), torch.ones(3))
        and torch.allclose(result[:1], f(weights[:1], real[:1]))
    )


@received_attention.mistake("no padding")
def _(f):
    """Your sentences have no padding, or equal weights in it. So your test can't see what a
    function does with padding."""
    weights = torch.randn(3, 4, 5).softmax(dim=-1)
    result = f(weights, torch.ones(3, 4).bool())
    return torch.allclose(result, weights.mean(dim=-2), atol=1e-5)


@received_attention.mistake("padding after the words only")
def _(f):
    """In your sentences, all padding comes after the words. Then the rows that count are the first
    ones, and a function may take them without looking where the words are."""
    weights, real, right = _some_words(3, 4, 5)
    return torch.allclose(f(weights, real), right, atol=1e-5)


@received_attention.mistake("padding before the words only")
def _(f):
    """In your sentences, all padding comes before the words. Then the rows that count are the last
    ones, and a function may take them without looking where the words are."""
    weights, real, _ = _some_words(3, 4, 5)
    real = real.flip(-1)
    right = (weights * real[..., None]).sum(dim=-2) / _count(real)
    return torch.allclose(f(weights, real), right, atol=1e-5)


@received_attention.mistake("no padding between words")
def _(f):
    """In your sentences, no padding comes between two words. So a function may take all rows from
    the first word to the last."""
    weights = torch.randn(2, 4, 5).softmax(dim=-1)
    real = torch.tensor([[False, True, True, False], [False, True, True, True]])
    right = (weights * real[..., None]).sum(dim=-2) / _count(real)
    return torch.allclose(f(weights, real), right, atol=1e-5)


@received_attention.mistake("one sentence at a time")
def _(f):
    """Your batches have one sentence, or sentences with equally many words. So your test can't see
    whether the sentences of a batch are kept apart."""
    weights = torch.randn(1, 5, 6).softmax(dim=-1)
    real = torch.tensor([[False, True, False, True, False]])
    return torch.allclose(f(weights, real), weights[:, [1, 3]].mean(dim=-2), atol=1e-5)


@received_attention.mistake("sentences of one word only")
def _(f):
    """Each of your sentences has a single word. With one row, there is nothing to divide, so your
    test can't see by what a function divides."""
    weights = torch.randn(2, 3, 4).softmax(dim=-1)
    real = torch.tensor([[False, True, False], [False, False, True]])
    return torch.allclose(f(weights, real), weights[real], atol=1e-5)


@received_attention.mistake("no room for rounding")
def _(f):
    """You demand that the numbers are equal to the last bit. But a right function may add and
    divide in a different order, and then its last digits are different."""
    weights = torch.randn(2, 7, 40).softmax(dim=-1)
    real = torch.tensor([[True, False, True, True, False, True, True], [False, True] * 3 + [True]])
    expected = (weights * real[..., None]).sum(dim=-2) / _count(real)
    return torch.equal(f(weights, real), expected)


@received_attention.mistake("too much room for rounding")
def _(f):
    """You accept results that are off by too much. Averages of weights are small numbers, so a
    mistake can be small, too."""
    weights = torch.randn(2, 3, 4).softmax(dim=-1)
    real = torch.tensor([[True, False, True], [False, True, False]])
    expected = torch.stack([(weights[0, 0] + weights[0, 2]) / 2, weights[1, 1]])
    return torch.allclose(f(weights, real), expected, atol=0.01)


log_weights = Exercise(
    "4.3",
    "The logarithm of softmax",
    hints=[
        "On paper: log(eˢ / Σ) = s − log Σ. The exponential and the logarithm of the numerator "
        "cancel before anything can underflow.",
        "log Σ eˢ still overflows. Take the largest score m out of the sum: "
        "log Σ eˢ = m + log Σ eˢ⁻ᵐ.",
        "In the end, m occurs in both terms. So subtract it from the scores first, and use only "
        "the new scores from then on.",
    ],
    differentiable=True,
)


def _shifted(scores):
    return scores - scores.amax(dim=-1, keepdim=True)


@log_weights.solution
def _(scores):
    scores = _shifted(scores)
    return scores - scores.exp().sum(dim=-1, keepdim=True).log()


@log_weights.inputs
def _(generator):
    yield (torch.tensor([[1.0, 0.0]]),)
    yield (torch.tensor([[0.0, -300.0, 1.0]]),)
    yield (torch.tensor([[500.0, -500.0], [-500.0, -501.0]]),)
    for shape in [(3, 5), (4, 1, 6), (2, 3, 1)]:
        yield (2 * torch.randn(shape, generator=generator),)


@log_weights.holds("In each row, their exponentials sum to 1.")
def _(f, scores):
    return row_sums(f(scores).exp())


@log_weights.holds("Adding the same number to all scores changes nothing.")
def _(f, scores):
    return changed(f(scores), f(scores + 500.0), "a log weight goes from {} to {}")


@log_weights.mistake("the logarithm of the finished weights")
def _(scores):
    """You compute the weights and then take their logarithm. But a weight may underflow to 0. Its
    logarithm is then −∞, and training on it ends with NaN."""
    return scores.softmax(dim=-1).log()


@log_weights.mistake("no maximum subtracted")
def _(scores):
    """You take the exponentials of the scores as they are. Beyond a score of 88, the exponential is
    infinite. Below −104, it is 0. In both cases, the logarithm of the sum is lost."""
    return scores - scores.exp().sum(dim=-1, keepdim=True).log()


@log_weights.mistake("the maximum subtracted on one side only")
def _(scores):
    """You subtract the maximum inside the sum, but not from the score in front of the sum. Every
    row is then off by its own maximum."""
    return scores - _shifted(scores).exp().sum(dim=-1, keepdim=True).log()


@log_weights.mistake("one maximum for all rows")
def _(scores):
    """You subtract the largest score of the whole tensor. In a row whose scores are far below it,
    every exponential is 0, and the logarithm of 0 is −∞."""
    scores = scores - scores.max()
    return scores - scores.exp().sum(dim=-1, keepdim=True).log()


@log_weights.mistake("the exponential forgotten in the sum")
def _(scores):
    """You add up the scores themselves, not their exponentials. Their sum may be negative or 0, and
    its logarithm means nothing here."""
    return scores - scores.sum(dim=-1, keepdim=True).log()


@log_weights.mistake("the largest score instead of the sum")
def _(scores):
    """You subtract the maximum and stop there. The maximum is the largest part of the logarithm of
    the sum, but not all of it, so the shares sum to more than 1."""
    return _shifted(scores)


@log_weights.mistake("the sum over the queries instead of the keys")
def _(scores):
    """You normalise along axis −2, so the columns sum to 1. But each query shares out its own
    attention, so the rows must sum to 1."""
    return scores.log_softmax(dim=-2)


@log_weights.mistake("the logarithm to base 2")
def _(scores):
    """You take the logarithm of the sum to base 2. But the numerator is a power of e, so the two
    terms no longer fit together."""
    scores = _shifted(scores)
    return scores - scores.exp().sum(dim=-1, keepdim=True).log2()


quiet_softmax = Exercise(
    "4.4",
    "A softmax that may say nothing",
    hints=[
        "The 1 in the denominator is e⁰. It acts like one more key with the score 0, whose weight "
        "is thrown away.",
        "When you subtract the largest score, m, from all scores, the score 0 of that key becomes "
        "−m, and its exponential becomes e⁻ᵐ.",
        "m must not be smaller than 0, or e⁻ᵐ overflows: `scores.amax(dim=-1, "
        "keepdim=True).clamp(min=0.0)`. With a mask, first set the scores that are not allowed to "
        "−∞.",
    ],
    differentiable=True,
)


def _masked(scores, mask):
    return scores.masked_fill(~mask, -math.inf)


def _quiet(scores):
    largest = scores.amax(dim=-1, keepdim=True).clamp(min=0.0)
    exponentials = (scores - largest).exp()
    total = exponentials.sum(dim=-1, keepdim=True)
    return exponentials / ((-largest).exp() + total)


@quiet_softmax.solution
def _(scores, mask):
    return _quiet(_masked(scores, mask))


@quiet_softmax.inputs
def _(generator):
    yield torch.tensor([[0.0, 0.0]]), torch.tensor([[True, True]])
    yield (
        torch.tensor([[1.0, 0.0, 2.0], [-1.0, 1.0, 0.0]]),
        torch.tensor([[True, True, False], [False, False, False]]),
    )
    yield (
        torch.tensor([[200.0, 199.0, -200.0], [-200.0, -199.0, -150.0]]),
        torch.tensor([[True, True, True], [True, True, False]]),
    )
    for rows, keys in [((2, 3), 5), ((3, 1), 6), ((1, 2), 1)]:
        scores = 2 * torch.randn(*rows, keys, generator=generator)
        mask = torch.rand(*rows, keys, generator=generator) < 0.7
        mask[..., 0] = True
        yield scores, mask


@quiet_softmax.holds("No row sums to more than 1, and no weight is negative.")
def _(f, scores, mask):
    weights = f(scores, mask)
    if not weights.min() >= 0:
        return f"One weight is {weights.min().item():.3g}."
    if not weights.sum(dim=-1).max() <= 1 + 1e-4:
        return f"One row sums to {told_apart(weights.sum(dim=-1).max().item(), 1)}."


@quiet_softmax.holds("A masked key has no weight and no influence.")
def _(f, scores, mask):
    weights = f(scores, mask)
    if (~mask).any():
        left = weights[~mask].abs().max().item()
        if left != 0:
            return f"A masked key has the weight {left:.3g}."
        other = torch.where(mask, scores, scores + 3.0)
        return changed(weights, f(other, mask), "another masked score turns {} into {}")


@quiet_softmax.mistake("the plain softmax")
def _(scores, mask):
    """You leave the 1 out of the denominator. Every row then gives away all its weight, and a row
    without any allowed key becomes 0/0."""
    return _masked(scores, mask).softmax(dim=-1)


@quiet_softmax.mistake("the 1 not shifted with the scores")
def _(scores, mask):
    """You subtract the maximum from the scores and still add 1. But the 1 is an exponential, too,
    so the weights now depend on which number is subtracted."""
    scores = _masked(scores, mask)
    exponentials = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return exponentials / (1 + exponentials.sum(dim=-1, keepdim=True))


@quiet_softmax.mistake("the 1 not shifted, empty rows aside")
def _(scores, mask):
    """You treat empty rows correctly, but you subtract the maximum from the scores and still add 1.
    The 1 is an exponential, too, so the weights now depend on which number is subtracted."""
    scores = _masked(scores, mask)
    largest = scores.amax(dim=-1, keepdim=True)
    largest = largest.masked_fill(largest == -math.inf, 0.0)
    exponentials = (scores - largest).exp()
    return exponentials / (1 + exponentials.sum(dim=-1, keepdim=True))


@quiet_softmax.mistake("no maximum subtracted")
def _(scores, mask):
    """You take the exponentials of the scores as they are. From a score of 89 on, they are
    infinite, and infinity divided by infinity is NaN."""
    exponentials = _masked(scores, mask).exp()
    return exponentials / (1 + exponentials.sum(dim=-1, keepdim=True))


@quiet_softmax.mistake("masked scores set to 0")
def _(scores, mask):
    """You set masked scores to 0. But the exponential of 0 is 1, so masked keys get weight like any
    other."""
    return _quiet(scores.masked_fill(~mask, 0.0))


@quiet_softmax.mistake("the mask applied to the weights")
def _(scores, mask):
    """You mask after the division. The weights of the masked keys are gone, but their exponentials
    are still part of the denominator and make the other weights smaller."""
    return _quiet(scores) * mask


@quiet_softmax.mistake("the mask inverted")
def _(scores, mask):
    """You mask where the mask is True. But in this book, True means that attending is allowed."""
    return _quiet(_masked(scores, ~mask))


@quiet_softmax.mistake("minus infinity subtracted from itself")
def _(scores, mask):
    """You subtract the largest score of every row as it is. In a row without any allowed key, this
    is −∞ − (−∞), and the result is NaN."""
    scores = _masked(scores, mask)
    largest = scores.amax(dim=-1, keepdim=True)
    exponentials = (scores - largest).exp()
    total = exponentials.sum(dim=-1, keepdim=True)
    return exponentials / ((-largest).exp() + total)


@quiet_softmax.mistake("the extra key kept")
def _(scores, mask):
    """You add a key with the score 0 and return its weight as well. But this key belongs to no
    token, and it has no value that could be mixed in."""
    scores = _masked(scores, mask)
    nobody = torch.zeros_like(scores[..., :1])
    return torch.cat([scores, nobody], dim=-1).softmax(dim=-1)


weigh = Repair(
    "4.5",
    "Debug this: a dictionary with gaps",
    line=3,
    because="It gives padding a score of −0.000000001. This is nearly 0, the best score that a "
    "letter can have.",
    hints=[
        "In the map, which places get as much weight as the letter that is asked for?",
        "Which score does padding have after line 3, and what is the exponential of this score?",
    ],
    differentiable=True,
)
weigh.right_line(
    1,
    "It counts the places of the keys from 0, along the last axis of the scores.",
)
weigh.right_line(
    2,
    "Places are counted from 0. So a text with 3 letters has them at the places 0, 1 and 2, and "
    "its padding begins at 3.",
)
weigh.right_line(
    4,
    "It finds the largest score of each row. Line 5 turns this score into 0, so the sum in line 6 "
    "is at least 1, even if all scores are very low.",
)
weigh.right_line(
    5,
    "It takes the same number away from all scores of a row. This changes no weight, because only "
    "differences of scores count.",
)
weigh.right_line(
    6,
    "It divides the exponentials of a row by their sum. So the weights of each row in the map sum "
    "to 1.",
)


def _padding(scores, lengths):
    return torch.arange(scores.shape[-1]) >= lengths[:, None, None]


def _without(padding, scores):
    return scores.masked_fill(padding, -math.inf).softmax(dim=-1)


@weigh.solution
def _(scores, lengths):
    return _without(_padding(scores, lengths), scores)


@weigh.inputs
def _(generator):
    yield torch.tensor([[[-1.0, -2.0, -3.0]]]), torch.tensor([2])
    yield torch.tensor([[[-1.0, -2.0, 0.0, -5.0]], [[0.0, -2.0, -1.0, -4.0]]]), torch.tensor([1, 3])
    far = [-999.0, -1000.0]  # letters far from the query, beside various scores of padding
    yield torch.tensor([[[*far, -998.0]], [[*far, 0.0]]]), torch.tensor([2, 2])
    yield torch.tensor([[[*far, -998.0], [-2.0, 0.0, -3.0]]]), torch.tensor([2])
    yield torch.tensor([[[-90.0, -91.0, 0.0]]]), torch.tensor([2])  # e⁻⁹⁰ is no 0, but e⁹⁰ is ∞
    for batch, queries, keys in ((3, 2, 5), (2, 3, 4), (2, 2, 1), (1, 4, 3)):
        lengths = torch.randint(1, keys + 1, (batch,), generator=generator)
        lengths[-1] = keys  # of a batch, the longest text has no padding
        yield -3 * torch.rand(batch, queries, keys, generator=generator), lengths


@weigh.holds("Padding gets no weight.")
def _(f, scores, lengths):
    weights = f(scores, lengths)
    padded = weights[_padding(scores, lengths).expand_as(weights)]
    if padded.numel():
        return changed(torch.zeros_like(padded), padded, "its weight should be {}, but is {}")


@weigh.holds("The weights of each row sum to 1.")
def _(f, scores, lengths):
    return row_sums(f(scores, lengths))


@weigh.broken
def _(scores, lengths):
    """Padding still has a score of 0, or nearly 0. But e⁰ is 1, so softmax gives padding a weight,
    too."""
    return scores.masked_fill(_padding(scores, lengths), 0.0).softmax(dim=-1)


@weigh.mistake("the lowest score for padding")
def _(scores, lengths):
    """You give padding the lowest score of its row. Padding then gets a small weight, but it must
    not get any."""
    lowest = scores.masked_fill(_padding(scores, lengths), math.inf).amin(dim=-1, keepdim=True)
    return torch.where(_padding(scores, lengths), lowest, scores).softmax(dim=-1)


@weigh.mistake("a score for padding that is not low enough")
def _(scores, lengths):
    """You give padding a low score. But a letter that is far from the query can have a score that
    is just as low, and then softmax gives padding a weight."""
    return scores.masked_fill(_padding(scores, lengths), -100.0).softmax(dim=-1)


@weigh.mistake("−∞ times the mask")
def _(scores, lengths):
    """You multiply −∞ by the mask, and add the product to the scores. For a letter, this is 0 times
    infinity, and the result is NaN."""
    return (scores - math.inf * _padding(scores, lengths)).softmax(dim=-1)


@weigh.mistake("nothing taken away from the scores")
def _(scores, lengths):
    """You hide the padding, but take nothing away from the scores. If all letters are far from the
    query, their exponentials are rounded to 0, and the result is 0/0."""
    exponentials = scores.exp() * ~_padding(scores, lengths)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@weigh.mistake("the largest score taken from the padding, too")
def _(scores, lengths):
    """You hide the padding only after the largest score has been taken away, and this score may be
    that of padding. If all letters are far from the query, their exponentials are rounded to 0, and
    the result is 0/0."""
    exponentials = (scores - scores.amax(dim=-1, keepdim=True)).exp() * ~_padding(scores, lengths)
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@weigh.mistake("padding hidden only after the exponential")
def _(scores, lengths):
    """You take away the largest score of a letter, but hide the padding only after the exponential.
    If the score of padding is far above it, this exponential is infinite, and infinity times 0 is
    NaN."""
    padding = _padding(scores, lengths)
    largest = scores.masked_fill(padding, -math.inf).amax(dim=-1, keepdim=True)
    exponentials = (scores - largest).exp() * ~padding
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


@weigh.mistake("padding keeps its scores")
def _(scores, lengths):
    """You leave the scores of padding as they are. They come from numbers that mean nothing, and
    softmax turns them into weights."""
    return scores.softmax(dim=-1)


@weigh.mistake("padding removed after softmax")
def _(scores, lengths):
    """You set the weights of padding to 0 after softmax. The other weights then sum to less than 1,
    because padding has already taken its share."""
    return scores.softmax(dim=-1) * ~_padding(scores, lengths)


@weigh.mistake("padding of score 0 removed after softmax")
def _(scores, lengths):
    """You set the weights of padding to 0 at the end, and leave its scores at 0. The other weights
    then sum to less than 1, because padding has already taken its share."""
    padding = _padding(scores, lengths)
    return scores.masked_fill(padding, 0.0).softmax(dim=-1) * ~padding


@weigh.mistake("the letters hidden")
def _(scores, lengths):
    """You hide the letters and show the padding. A text without padding then gets NaN, because
    softmax of nothing is NaN."""
    return _without(~_padding(scores, lengths), scores)


@weigh.mistake("padding one place too late")
def _(scores, lengths):
    """Your padding begins one place too late. Places are counted from 0, so the first place of the
    padding is still seen."""
    return _without(_padding(scores, lengths + 1), scores)


@weigh.mistake("padding one place too early")
def _(scores, lengths):
    """Your padding begins one place too early. It hides the last letter of each text, and a text
    with one letter gets NaN."""
    return _without(_padding(scores, lengths - 1), scores)


sparsemax = Exercise(
    "4.7",
    "Sparsemax",
    hints=[
        "Suppose you knew that exactly the k largest scores stay above 0. Their weights must sum "
        "to 1, so τ = (sum of these k scores − 1) / k.",
        "Sort each row, largest first. `cumsum` then gives the sum for every k at once. The k-th "
        "score belongs to the support if it is above the τ of this k.",
        "Count the places that belong to the support. Their number is k. Pick the τ of that k with "
        "`gather`, and return `(scores - tau).clamp(min=0)`.",
    ],
)


def _sparsemax(scores, mass=1.0):
    ordered = scores.sort(dim=-1, descending=True).values
    counts = torch.arange(1, scores.shape[-1] + 1)
    tau = (ordered.cumsum(dim=-1) - mass) / counts
    support = (ordered > tau).sum(dim=-1, keepdim=True).clamp(min=1)
    return (scores - tau.gather(-1, support - 1)).clamp(min=0)


@sparsemax.solution
def _(scores):
    return _sparsemax(scores)


@sparsemax.inputs
def _(generator):
    yield (torch.tensor([[0.5, 0.0]]),)
    yield (torch.tensor([[2.0, 1.8, 0.5], [0.0, 0.0, 0.0]]),)
    yield (torch.tensor([[500.5, 500.0], [-500.0, -500.5]]),)  # only differences count
    yield (torch.tensor([[-2.0, -2e5, -20.0, 0.0, -200.0, -2e6, -2e4, -2e3]]),)
    for shape in [(2, 20), (3, 1, 6), (2, 3, 1)]:
        yield (torch.randn(shape, generator=generator),)


@sparsemax.holds("Of two keys whose scores differ by ½, the better one gets ¾.")
def _(f, scores):
    share = f(torch.tensor([[0.5, 0.0]]))[0, 0].item()
    if not abs(share - 0.75) < 1e-4:
        return f"It gets {told_apart(share, 0.75)}."


@sparsemax.holds("A key whose score is at least 1 below the best has no weight.")
def _(f, scores):
    behind = scores <= scores.amax(dim=-1, keepdim=True) - 1
    if behind.any():
        largest = f(scores)[behind].abs().max().item()
        if not largest < 1e-5:
            return f"One such key has the weight {largest:.3g}."


@sparsemax.mistake("softmax")
def _(scores):
    """You return softmax. A weight of softmax never reaches 0, so no key is ever left out."""
    return scores.softmax(dim=-1)


@sparsemax.mistake("all keys in the support")
def _(scores):
    """You compute τ as if every key kept some weight. As soon as one weight falls below 0 and is
    cut off, the others sum to more than 1."""
    tau = (scores.sum(dim=-1, keepdim=True) - 1) / scores.shape[-1]
    return (scores - tau).clamp(min=0)


@sparsemax.mistake("cut off, then divided by the sum")
def _(scores):
    """You cut off negative weights and divide by what is left. The row sums to 1, but its weights
    no longer differ as the scores do, and too many keys keep a share."""
    tau = (scores.sum(dim=-1, keepdim=True) - 1) / scores.shape[-1]
    weights = (scores - tau).clamp(min=0)
    return weights / weights.sum(dim=-1, keepdim=True)


@sparsemax.mistake("negative scores cut off, then divided by the sum")
def _(scores):
    """You cut off negative scores instead of scores below a threshold, and divide by the sum. Where
    no score is positive, nothing is left, and 0 / 0 is NaN."""
    positive = scores.clamp(min=0)
    return positive / positive.sum(dim=-1, keepdim=True)


@sparsemax.mistake("one place off in the support")
def _(scores):
    """You take τ from one place too far down the sorted row. It then includes a key that has no
    weight, and the row sums to more than 1."""
    ordered = scores.sort(dim=-1, descending=True).values
    counts = torch.arange(1, scores.shape[-1] + 1)
    tau = (ordered.cumsum(dim=-1) - 1) / counts
    support = (ordered > tau).sum(dim=-1, keepdim=True)
    place = support.clamp(max=scores.shape[-1] - 1)
    return (scores - tau.gather(-1, place)).clamp(min=0)


@sparsemax.mistake("the 1 forgotten")
def _(scores):
    """All your weights are 0. This happens without the 1 to which they must sum. Then τ equals the
    best score, and no score is above it."""
    return _sparsemax(scores, mass=0.0)


@sparsemax.mistake("the weights left in sorted order")
def _(scores):
    """You return the weights of the sorted scores. Every weight is right, but it is in the place of
    a different key."""
    return _sparsemax(scores).sort(dim=-1, descending=True).values


@sparsemax.mistake("one threshold for all rows")
def _(scores):
    """You use the τ of the first row in every row. But each query has its own scores and needs its
    own threshold."""
    rows = scores.reshape(-1, scores.shape[-1])
    tau = rows[0].max() - _sparsemax(rows[0]).max()
    return (scores - tau).clamp(min=0)


@sparsemax.mistake("along the queries instead of the keys")
def _(scores):
    """You make the columns sum to 1. But each query shares out its own attention, so the rows must
    sum to 1."""
    return _sparsemax(scores.mT).mT


merge = Exercise(
    "4.8",
    "Two halves of the keys",
    hints=[
        "Each half has already divided by its own denominator. Over all keys the "
        "denominator is the sum of the two.",
        "So the first half's share is e^a / (e^a + e^b), where a and b are the two logarithms. "
        "Weight the first half's output by this share.",
        "Subtract the larger of a and b from both before you take exponentials. Or use "
        "`torch.sigmoid(a - b)`, which is the same share.",
    ],
    differentiable=True,
)


def _first_share(log_a, log_b):
    return torch.stack([log_a, log_b], dim=-1).softmax(dim=-1)[..., :1]


@merge.solution
def _(output_a, log_sum_a, output_b, log_sum_b):
    share = _first_share(log_sum_a, log_sum_b)
    return share * output_a + (1 - share) * output_b


@merge.inputs
def _(generator):
    yield (
        torch.tensor([[4.0]]),
        torch.tensor([math.log(3.0)]),
        torch.tensor([[0.0]]),
        torch.tensor([0.0]),
    )
    yield (
        torch.tensor([[1.0, 2.0]]),
        torch.tensor([-math.inf]),
        torch.tensor([[3.0, 5.0]]),
        torch.tensor([0.5]),
    )
    yield (
        torch.tensor([[1.0, 2.0], [0.0, 1.0]]),
        torch.tensor([900.0, -900.0]),
        torch.tensor([[3.0, 5.0], [2.0, 2.0]]),
        torch.tensor([899.0, -901.0]),
    )
    for rows, d_v in [((2, 1), 4), ((1, 3), 2), ((3, 4), 3)]:
        outputs = torch.randn(2, *rows, d_v, generator=generator)
        log_sums = 2 + torch.randn(2, *rows, generator=generator)
        yield outputs[0], log_sums[0], outputs[1], log_sums[1]


@merge.holds("Two equal outputs are merged into the same output.")
def _(f, output_a, log_sum_a, output_b, log_sum_b):
    return changed(
        output_a,
        f(output_a, log_sum_a, output_a, log_sum_b),
        "both halves have {}, but your result has {}",
    )


@merge.holds("The result equals attention to all keys at once.")
def _(f, output_a, log_sum_a, output_b, log_sum_b):
    generator = torch.Generator().manual_seed(0)
    rows, d_v = output_a.shape[:-1], output_a.shape[-1]
    scores = 2 * torch.randn(*rows, 7, generator=generator)
    value = torch.randn(7, d_v, generator=generator)
    halves = []
    for part in (slice(0, 3), slice(3, 7)):
        weights = scores[..., part].softmax(dim=-1)
        halves += [weights @ value[part], scores[..., part].logsumexp(dim=-1)]
    return changed(
        scores.softmax(dim=-1) @ value, f(*halves), "there, a number is {}, but yours is {}"
    )


@merge.mistake("the plain mean of the halves")
def _(output_a, log_sum_a, output_b, log_sum_b):
    """You average the two outputs. A half with the better keys then counts no more than the other
    half."""
    return (output_a + output_b) / 2


@merge.mistake("the outputs added up")
def _(output_a, log_sum_a, output_b, log_sum_b):
    """You add the outputs. But each half is already divided by its own sum, so the weights now sum
    to 2."""
    return output_a + output_b


@merge.mistake("logarithms used as sums")
def _(output_a, log_sum_a, output_b, log_sum_b):
    """You share out by the logarithms themselves. But the whole denominator adds up the sums, not
    their logarithms, and a logarithm may even be negative or −∞."""
    share = (log_sum_a / (log_sum_a + log_sum_b))[..., None]
    return share * output_a + (1 - share) * output_b


@merge.mistake("the two shares exchanged")
def _(output_a, log_sum_a, output_b, log_sum_b):
    """You give each half the share of the other. Then the keys that fit badly count most."""
    share = _first_share(log_sum_a, log_sum_b)
    return (1 - share) * output_a + share * output_b


@merge.mistake("exponentials without a maximum")
def _(output_a, log_sum_a, output_b, log_sum_b):
    """You take the exponentials of the logarithms as they are. Large ones overflow and very small
    ones become 0. Both lead to NaN."""
    a, b = log_sum_a.exp()[..., None], log_sum_b.exp()[..., None]
    return (a * output_a + b * output_b) / (a + b)


@merge.mistake("the better half takes all")
def _(output_a, log_sum_a, output_b, log_sum_b):
    """You keep the output whose sum is larger and drop the other. But the other half has weight,
    too, unless its sum is very much smaller."""
    return torch.where((log_sum_a > log_sum_b)[..., None], output_a, output_b)


@merge.mistake("not divided by the common sum")
def _(output_a, log_sum_a, output_b, log_sum_b):
    """You divide both halves by the larger sum and add them up. But the common denominator is
    larger than that sum, so the weights sum to more than 1."""
    largest = torch.maximum(log_sum_a, log_sum_b)
    a = (log_sum_a - largest).exp()[..., None]
    b = (log_sum_b - largest).exp()[..., None]
    return a * output_a + b * output_b


forgetful_attention = Exercise(
    "4.9",
    "A memory that fades",
    hints=[
        "Key s has faded t − s times when query t comes. Its part is decay^(t − s) · (query_t · "
        "key_s), for s ≤ t.",
        "Either loop over the tokens with two running sums, both multiplied by `decay` before the "
        "new term is added. Or build the (L, L) matrix of decay^(t − s), 0 above the diagonal.",
        "The sum with the values has to fade, and so does the sum by which it is divided. `query @ "
        "key.mT` leaves the leading axes alone, so it also works for batches.",
    ],
    differentiable=True,
)


def _fading(length, decay):
    ages = torch.arange(length)[:, None] - torch.arange(length)
    return torch.where(ages >= 0, decay ** ages.clamp(min=0), 0.0)


def _normalised(parts, value):
    return parts @ value / parts.sum(dim=-1, keepdim=True)


@forgetful_attention.solution
def _(query, key, value, decay):
    parts = query @ key.mT * _fading(query.shape[-2], decay)
    return _normalised(parts, value)


@forgetful_attention.inputs
def _(generator):
    yield (
        torch.ones(2, 2),
        torch.tensor([[1.0, 3.0], [2.0, 2.0]]),
        torch.tensor([[3.0], [0.0]]),
        0.5,
    )
    yield (
        torch.tensor([[1.0, 1.0], [2.0, 1.0], [1.0, 3.0]]),
        torch.tensor([[1.0, 2.0], [3.0, 1.0], [1.0, 1.0]]),
        torch.tensor([[4.0], [0.0], [8.0]]),
        0.5,
    )
    yield torch.ones(1, 1, 1), torch.ones(1, 1, 1), torch.tensor([[[3.0]]]), 0.9
    yield (  # the oldest token has faded four times
        torch.ones(5, 1),
        torch.tensor([[1.0], [2.0], [1.0], [3.0], [1.0]]),
        torch.tensor([[16.0], [0.0], [4.0], [0.0], [1.0]]),
        0.5,
    )
    for batch, length, d_k, d_v, decay in [
        ((2,), 4, 2, 3, 0.3),
        ((3, 1), 6, 4, 5, 0.7),
        ((3,), 5, 3, 4, 1.0),
        ((), 160, 2, 1, 0.01),  # 0.01¹⁶⁰ is 0 even in double precision
    ]:
        query, key = 0.1 + torch.rand(2, *batch, length, d_k, generator=generator)
        yield (query, key, torch.randn(*batch, length, d_v, generator=generator), decay)


@forgetful_attention.holds("No token sees what comes after it.")
def _(f, query, key, value, decay):
    later = [tensor.clone() for tensor in (query, key, value)]
    later[0][..., -1, :] += 1.0
    later[1][..., -1, :] += 1.0
    later[2][..., -1, :] += 1e30  # shows however small its weight is
    return changed(
        f(query, key, value, decay)[..., :-1, :],
        f(*later, decay)[..., :-1, :],
        "when the last token changes, an earlier output goes from {} to {}",
    )


@forgetful_attention.holds(
    "If all keys are equal, a key that is two steps old counts decay² times as much as the newest."
)
def _(f, query, key, value, decay):
    oldest, _, newest = f(torch.ones(3, 1), torch.ones(3, 1), torch.eye(3), decay)[-1].tolist()
    if not math.isclose(oldest, decay**2 * newest, rel_tol=1e-3):
        return f"With a decay of {decay:g}, their weights are {oldest:.4g} and {newest:.4g}."


@forgetful_attention.mistake("nothing fades")
def _(query, key, value, decay):
    """You leave out the decay. The first token then counts as much as the newest, however long ago
    it was."""
    return _normalised(query @ key.mT * _fading(query.shape[-2], 1.0), value)


@forgetful_attention.mistake("only the values' sum fades")
def _(query, key, value, decay):
    """You let the numerator fade, but not the sum by which it is divided. The weights no longer sum
    to 1, and the outputs shrink as the text goes on."""
    scores = query @ key.mT
    length = query.shape[-2]
    total = (scores * _fading(length, 1.0)).sum(dim=-1, keepdim=True)
    return scores * _fading(length, decay) @ value / total


@forgetful_attention.mistake("the future included")
def _(query, key, value, decay):
    """You also include later tokens, faded by their distance. But a model that writes text does not
    know these tokens yet."""
    ages = torch.arange(query.shape[-2])[:, None] - torch.arange(query.shape[-2])
    return _normalised(query @ key.mT * decay ** ages.abs(), value)


@forgetful_attention.mistake("not divided by the sum of the weights")
def _(query, key, value, decay):
    """You return the plain sum. Its size depends on the lengths of the keys and queries, and it is
    not a weighted mean of the values."""
    return query @ key.mT * _fading(query.shape[-2], decay) @ value


@forgetful_attention.mistake("only the newest token fades")
def _(query, key, value, decay):
    """You multiply the new term by the decay instead of the memory. Old tokens then count more than
    the newest one, and they never fade."""
    fading = _fading(query.shape[-2], 1.0)
    fading = fading - (1 - decay) * torch.eye(query.shape[-2])
    return _normalised(query @ key.mT * fading, value)


@forgetful_attention.mistake("the oldest kept best")
def _(query, key, value, decay):
    """You raise the decay to the power of the position, counted from the start. Then the first
    token has faded least, and the newest has faded most."""
    places = torch.arange(query.shape[-2])
    fading = _fading(query.shape[-2], 1.0) * decay**places
    return _normalised(query @ key.mT * fading, value)


@forgetful_attention.mistake("the decay subtracted from 1")
def _(query, key, value, decay):
    """You multiply the memory by 1 − decay. A decay of 0.9 should keep nine tenths at each step,
    but yours keeps only one tenth."""
    fading = _fading(query.shape[-2], 1 - decay)
    return _normalised(query @ key.mT * fading, value)


@forgetful_attention.mistake("softmax on the products")
def _(query, key, value, decay):
    """You take exponentials of the products. The result is softmax attention that fades, and no
    running sum can compute it."""
    return _normalised((query @ key.mT).exp() * _fading(query.shape[-2], decay), value)


@forgetful_attention.mistake("divided by a power that underflows")
def _(query, key, value, decay):
    """You divide each key by a power of `decay`, so that plain running sums are enough. But within
    some hundred tokens, this power becomes 0, and the result becomes NaN."""
    places = torch.arange(key.shape[-2])[:, None]
    aged = key / decay**places
    memory = (aged[..., :, None] * value[..., None, :]).cumsum(dim=-3)
    total = (query * aged.cumsum(dim=-2)).sum(dim=-1, keepdim=True)
    return (query[..., None, :] @ memory)[..., 0, :] / total


temperature_for = Exercise(
    "4.10",
    "The temperature for a given weight",
    hints=[
        "Let the best key have the score `gap` and all others the score 0. The best key's weight "
        "is e^(gap/T) / (e^(gap/T) + n − 1).",
        "Set this equal to `target`, call e^(gap/T) = x, and solve for x first.",
        "x = target · (n − 1) / (1 − target). What is T if e^(gap/T) = x?",
    ],
)


def _odds(n, target):
    return target * (n - 1) / (1 - target)


@temperature_for.solution
def _(gap, n, target):
    return gap / math.log(_odds(n, target))


@temperature_for.inputs
def _(generator):
    yield 1.0, 2, 0.75
    yield from [
        (2.0, 2, 0.9),
        (1.0, 11, 0.6),
        (3.0, 101, 0.9),
        (0.5, 1001, 0.99),
        (4.0, 5, 0.3),
        (10.0, 33, 0.8),
    ]


@temperature_for.holds("At this temperature softmax gives that weight.")
def _(f, gap, n, target):
    temperature = to_float(f(gap, n, target))
    scores = torch.zeros(n, dtype=torch.float64)
    scores[0] = gap
    found = (scores / temperature).softmax(dim=-1)[0].item()
    if not abs(found - target) < 1e-3:
        return (
            f"For gap={gap:g}, n={n} and target={target:g}, you return {temperature:.4g}, at which "
            f"the weight is {told_apart(found, target)}."
        )


@temperature_for.holds("Twice the gap allows twice the temperature.")
def _(f, gap, n, target):
    one, two = to_float(f(gap, n, target)), to_float(f(2 * gap, n, target))
    if not math.isclose(two, 2 * one, rel_tol=1e-3):
        return f"For gap={gap:g}, you return {one:.4g}; for gap={2 * gap:g}, you return {two:.4g}."


@temperature_for.mistake("one over the temperature")
def _(gap, n, target):
    """You return the factor by which the scores are multiplied. But a temperature divides the
    scores, so yours is upside down."""
    return math.log(_odds(n, target)) / gap


@temperature_for.mistake("all n keys counted as others")
def _(gap, n, target):
    """You count n other keys. But one of the n keys is the best key itself, so only n − 1 others
    are left.
    """
    return gap / math.log(target * n / (1 - target))


@temperature_for.mistake("the number of other keys forgotten")
def _(gap, n, target):
    """You compare the best key with a single other key. But all the others together count for more,
    so the temperature must be lower."""
    return gap / math.log(target / (1 - target))


@temperature_for.mistake("the best key left out of the denominator")
def _(gap, n, target):
    """You set e^(gap/T) over n − 1 equal to the target. But the best key's own exponential belongs
    in the denominator, too."""
    return gap / math.log(target * (n - 1))


@temperature_for.mistake("the logarithm to base 10")
def _(gap, n, target):
    """You take the logarithm to base 10. But softmax raises e to a power, and only the natural
    logarithm undoes that."""
    return gap / math.log10(_odds(n, target))


@temperature_for.mistake("multiplied by the logarithm")
def _(gap, n, target):
    """You multiply the gap by the logarithm. Then a higher target would need a higher temperature.
    But a high temperature makes the weights more even."""
    return gap * math.log(_odds(n, target))


@temperature_for.mistake("the exponent not solved for")
def _(gap, n, target):
    """You divide the gap by x = e^(gap/T) itself. But the temperature is in the exponent, and only
    a logarithm brings it down."""
    return gap / _odds(n, target)


temperature_of_dots = NumericAnswer(
    "4.11",
    "The temperature behind the weights",
    hints=[
        "The sum below the fraction is the same for all keys. So what is the logarithm of the "
        "ratio of two weights?",
        "Take two heights that are a factor of 10 apart, and read how far apart the scores are "
        "there.",
    ],
    answer=2.5,
    within=0.15,
)
temperature_of_dots.wrong_value(
    "powers of ten taken for powers of e",
    5.76,
    "You read how far the score must rise for a weight ten times as large. But the weights are "
    "powers of e, not of 10.",
)
temperature_of_dots.wrong_value(
    "the slope",
    0.4,
    "You read the slope of the line. At a high temperature the line is flat, so slope and "
    "temperature are not the same.",
)
temperature_of_dots.wrong_value(
    "no temperature",
    1.0,
    "You assumed that the scores were not divided. Then one more in the score would multiply "
    "the weight by 2.7, and the dots would rise far more steeply.",
)
temperature_of_dots.wrong_value(
    "the slope in powers of ten",
    0.174,
    "You read how many powers of ten the weight rises for one more in the score. This number "
    "is small where the temperature is high.",
)


sampling_error = Exercise(
    "4.12",
    "The error of one draw",
    hints=[
        "First compute the output, which is the mean of the draw: `weights @ value`.",
        "The difference of every value from every output has the shape (..., L_query, L_key, d_v). "
        "Give `value` an axis for the queries, and give the output an axis for the keys.",
        "Square it, add up the features, and take the mean over the keys, each with its weight.",
    ],
)


def _distances(weights, value):
    """Squared distance of each value from each query's output: (..., query, key)."""
    output = weights @ value
    difference = value.unsqueeze(-3) - output.unsqueeze(-2)
    return difference.square().sum(dim=-1)


@sampling_error.solution
def _(weights, value):
    return (weights * _distances(weights, value)).sum(dim=-1)


@sampling_error.inputs
def _(generator):
    yield torch.tensor([[0.75, 0.25]]), torch.tensor([[0.0], [4.0]])
    yield (
        torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]),
        torch.tensor([[2.0, 0.0], [0.0, 2.0], [1.0, 3.0]]),
    )
    for rows, keys, d_v in [((2, 3), 5, 4), ((2, 1), 6, 2), ((1, 4), 3, 5), ((2,), 1, 2)]:
        weights = torch.randn(*rows, keys, generator=generator).softmax(dim=-1)
        yield (weights, 1 + torch.randn(*rows[:-1], keys, d_v, generator=generator))


@sampling_error.holds("With all the weight on one key, a draw has no error.")
def _(f, weights, value):
    certain = torch.zeros_like(weights)
    certain[..., -1] = 1.0
    worst = f(certain, value).abs().max().item()
    if not worst < 1e-4:
        return f"You return an error of {worst:.4g}."


@sampling_error.holds(
    "With two values, the error is the product of the two weights and the squared distance."
)
def _(f, weights, value):
    rows = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
    found = f(rows, torch.tensor([[0.0, 0.0], [1.0, 2.0]]))
    return changed(5 * rows.prod(dim=-1), found, "an error should be {} and is {}")


@sampling_error.mistake("the output not subtracted")
def _(weights, value):
    """You average the squared length of the values. It measures how far the values are from 0, and
    it stays large even when every draw gives the same value."""
    return (weights @ value.square()).sum(dim=-1)


@sampling_error.mistake("every key counted alike")
def _(weights, value):
    """You average over the keys with equal weights. But a key with a large weight is drawn more
    often, so its distance counts more."""
    return _distances(weights, value).mean(dim=-1)


@sampling_error.mistake("the root taken")
def _(weights, value):
    """You return the root of the mean square. This root is a distance, but the task asks for the
    expected square."""
    return (weights * _distances(weights, value)).sum(dim=-1).sqrt()


@sampling_error.mistake("the mean over the features instead of the sum")
def _(weights, value):
    """You average over the features. But a squared length is a sum over them. With an average,
    vectors with many features would seem to have no larger error than vectors with few."""
    return (weights * _distances(weights, value)).sum(dim=-1) / value.shape[-1]


@sampling_error.mistake("the plain mean subtracted")
def _(weights, value):
    """You measure the distance from the plain mean of the values. But the draws scatter around the
    weighted mean, which is the output."""
    away = (value - value.mean(dim=-2, keepdim=True)).square().sum(dim=-1)
    return (weights * away.unsqueeze(-2)).sum(dim=-1)


@sampling_error.mistake("squared weights")
def _(weights, value):
    """You multiply the squared distances by squared weights. But a key is drawn with the
    probability w, so an expectation multiplies its distance by w."""
    return (weights.square() * _distances(weights, value)).sum(dim=-1)


@sampling_error.mistake("the distance instead of its square")
def _(weights, value):
    """You average the distances themselves. But the task asks for the expected square, which counts
    rare large errors more."""
    return (weights * _distances(weights, value).sqrt()).sum(dim=-1)


@sampling_error.mistake("one number for each feature")
def _(weights, value):
    """You keep the features apart. The task asks for the squared length of the error, which is a
    sum over the features."""
    output = weights @ value
    return weights @ value.square() - output.square()


scores_for_20 = Construction(
    "4.14",
    "An output of 20 without its key",
    shape=(3,),
    hints=[
        "First choose weights, not scores. If the second key had no weight at all, in which "
        "proportion would you have to mix 10 and 60 to get 20?",
        "Softmax takes exponentials, so logarithms are scores for any positive weights. And adding "
        "the same number to all scores changes no weight.",
    ],
)
scores_for_20.reference = torch.tensor([0.78, 0.025, 0.195]).log()
scores_for_20.reference -= scores_for_20.reference.mean()


@scores_for_20.holds("The output is between 19.9 and 20.1.")
def _(scores):
    output = (scores.softmax(dim=-1) @ torch.tensor([10.0, 20.0, 60.0]).double()).item()
    if not 19.899 < output < 20.101:
        return f"It is {output:.4g}."


@scores_for_20.holds("The second key has a weight of at most 0.05.")
def _(scores):
    weight = scores.softmax(dim=-1)[1].item()
    if weight > 0.051:
        return f"It has a weight of {weight:.2g}."


@scores_for_20.holds("The three scores sum to 0.")
def _(scores):
    total = scores.sum().item()
    if abs(total) > 0.011:
        return f"They sum to {total:.3g}."


@scores_for_20.wrong("all the weight on the value 20", example=[-3.0, 6.0, -3.0])
def _(scores):
    """You give nearly all the weight to the key whose value is 20. This is a look-up, but the task
    asks for a mixture that hardly contains this value."""
    return scores.softmax(dim=-1)[1] > 0.9


@scores_for_20.wrong("weights instead of scores", example=[0.8, 0.0, 0.2])
def _(scores):
    """Your three numbers are themselves shares of a whole. But they are scores, and softmax makes
    other weights of them, which are more even."""
    return (scores >= 0).all() and abs(scores.sum() - 1) < 0.011


@scores_for_20.wrong("10 and 60 mixed in equal parts", example=[2.0, -4.0, 2.0])
def _(scores):
    """You give the first and the third key the same weight. Their mean is 35, which is too far from
    10."""
    weights = scores.softmax(dim=-1)
    return weights[1] < 0.051 and abs(weights[0] - weights[2]) < 0.01


@scores_for_20.wrong("the ratio of the weights as a ratio of the scores", example=[4.0, -5.0, 1.0])
def _(scores):
    """Your first score is four times your third score. But the ratio of two weights depends on the
    difference of the scores, not on their ratio."""
    return abs(scores[2]) > 0.1 and abs(scores[0] / scores[2] - 4) < 0.01


score_for_half = NumericAnswer(
    "4.15",
    "Half of the weight among ten thousand",
    answer=math.log(10_000) + 1**2 / 2,
    within=0.03,
    hints=[
        "The right key has half of the weight if its exponential equals the sum of the "
        "exponentials of all the others.",
        "This sum is the number of the other keys times their mean exponential. Which score has "
        "such an exponential? The logarithm of a product is a sum of logarithms.",
    ],
)
score_for_half.wrong_value(
    "the exponential of the mean score",
    math.log(10_000),
    "You gave each of the other keys the mean score, 0. But scores above the mean add more to the "
    "sum of the exponentials than scores below the mean take away.",
)
score_for_half.wrong_value(
    "only level with the best of the others",
    3.85,
    "You made the score about as large as the largest of the others. The right key then ties with "
    "its best rival, but all the lower scores have exponentials, too.",
)
score_for_half.wrong_value(
    "a logarithm to base 10",
    math.log10(10_000) + 1**2 / 2,
    "You counted the zeros of 10,000, which is a logarithm to base 10. Softmax takes powers of e, "
    "so each further zero raises the score by more than 1.",
)
score_for_half.wrong_value(
    "a logarithm to base 2",
    math.log2(10_000) + 1**2 / 2,
    "You counted how often 10,000 can be halved, which is a logarithm to base 2. Softmax takes "
    "powers of e, so doubling the number of keys raises the score by less than 1.",
)
score_for_half.wrong_value(
    "the variance not halved",
    math.log(10_000) + 1**2,
    "You added the whole variance of the scores. But in the mean of their exponentials, the "
    "exponent is only half of the variance.",
)
score_for_half.wrong_value(
    "no logarithm",
    10_000 * math.exp(1**2 / 2),
    "You gave the sum of the exponentials of the other keys. The question asks for a score, and "
    "softmax takes the exponential of this score, too.",
)


differential_attention = Exercise(
    "4.16",
    "Differential attention",
    hints=[
        "`query.chunk(2, dim=-1)` gives the two halves of each query. Do the same with the keys.",
        "Each half makes weights of its own, by a softmax of its own. Only these weights are "
        "subtracted.",
        "A score of a half is a sum of d products, so divide it by the root of the size of a half. "
        "The values are not split.",
    ],
    differentiable=True,
)


def _weights(query, key):
    return (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1)


def _two_maps(query, key):
    query_1, query_2 = query.chunk(2, dim=-1)
    key_1, key_2 = key.chunk(2, dim=-1)
    return _weights(query_1, key_1), _weights(query_2, key_2)


@differential_attention.solution
def _(query, key, value, factor):
    first, second = _two_maps(query, key)
    return (first - factor * second) @ value


@differential_attention.inputs
def _(generator):
    yield (
        torch.tensor([[1.0, 2.0, 2.0, -1.0]]),
        torch.tensor([[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 1.0]]),
        torch.tensor([[1.0], [3.0]]),
        0.5,
    )
    for shape, keys, size, factor in [
        ((3,), 5, 6, 0.8),
        ((2, 1), 4, 6, 0.3),
        ((2, 3), 4, 2, 0.7),
        ((1, 2), 1, 8, 0.6),
    ]:
        yield (
            torch.randn(*shape, size, generator=generator),
            torch.randn(*shape[:-1], keys, size, generator=generator),
            torch.randn(*shape[:-1], keys, 3, generator=generator),
            factor,
        )


@differential_attention.holds("With λ = 0, the second half changes nothing.")
def _(f, query, key, value, factor):
    half = query.shape[-1] // 2
    other = torch.cat([query[..., :half], query[..., half:] + 1.0], dim=-1)
    before, after = f(query, key, value, 0.0), f(other, key, value, 0.0)
    return changed(before, after, "a different second half turns {} into {}")


@differential_attention.holds("If both halves are alike, the weights of each query sum to 1 − λ.")
def _(f, query, key, value, factor):
    half = query.shape[-1] // 2
    alike = [torch.cat([x[..., :half]] * 2, dim=-1) for x in (query, key)]
    total = f(*alike, torch.ones_like(value), factor).reshape(-1)[0].item()
    if not abs(total - (1 - factor)) < 1e-4:
        return f"They sum to {told_apart(total, 1 - factor)}."


@differential_attention.mistake("the scores subtracted")
def _(query, key, value, factor):
    """You subtract scores, and take one softmax of the difference. Its weights are never negative
    and always sum to 1, so no weight that both maps share is removed."""
    queries, keys = query.chunk(2, dim=-1), key.chunk(2, dim=-1)
    first, second = (q @ k.mT for q, k in zip(queries, keys, strict=True))
    root = math.sqrt(queries[0].shape[-1])
    return ((first - factor * second) / root).softmax(dim=-1) @ value


@differential_attention.mistake("the root of both halves together")
def _(query, key, value, factor):
    """You divide by the root of the size of the whole query. But each score sums the products of
    one half only, so your weights are too even."""
    first, second = _two_maps(query / math.sqrt(2), key)
    return (first - factor * second) @ value


@differential_attention.mistake("the halves not split")
def _(query, key, value, factor):
    """You make both maps from the whole query and the whole keys. Both maps are then the same, and
    their difference is one map, multiplied by a number."""
    scores = query @ key.mT / math.sqrt(query.shape[-1] // 2)
    return (1 - factor) * scores.softmax(dim=-1) @ value


@differential_attention.mistake("λ forgotten")
def _(query, key, value, factor):
    """You subtract the whole second map. The weights of each query then sum to 0."""
    first, second = _two_maps(query, key)
    return (first - second) @ value


@differential_attention.mistake("the maps added")
def _(query, key, value, factor):
    """You add the second map. Weight that both maps give to the same key is then counted more, and
    it should be removed."""
    first, second = _two_maps(query, key)
    return (first + factor * second) @ value


@differential_attention.mistake("divided by 1 − λ")
def _(query, key, value, factor):
    """You make the weights sum to 1 again. The formula leaves the sum at 1 − λ."""
    first, second = _two_maps(query, key)
    return (first - factor * second) @ value / (1 - factor)


@differential_attention.mistake("the halves exchanged")
def _(query, key, value, factor):
    """You subtract the map of the first half from that of the second half. So the keys that the
    first half looks for are pushed away."""
    first, second = _two_maps(query, key)
    return (second - factor * first) @ value
