"""Exercises of chapter 8, "How do the blocks fit together?"."""

import copy
import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from attnbook.exercises.declare import (
    Construction,
    Exercise,
    MultipleChoice,
    NumericAnswer,
    Repair,
    Suspects,
)
from attnbook.exercises.properties import changed

beyond_three_quarters = MultipleChoice(
    "8.0",
    "Is attention linear?",
    hints=[
        "Does a layer norm divide by a constant, or by something that depends on the token?",
        "With a single key the weight is 1. What do the weights depend on if there are eight keys?",
    ],
    answer="D",
    because="The layer norm divides by the token's own size, and with several tokens the weights "
    "depend on their scores. Neither is linear, and either is enough.",
)
beyond_three_quarters.wrong_option(
    "A",
    "without the network all is linear",
    "Given its weights, attention is linear in the values. But the weights come out of a "
    "softmax, and a layer norm divides by the token's own size. Look at the last two rows.",
)
beyond_three_quarters.wrong_option(
    "B",
    "random tokens can't help",
    "It is true that the other tokens say nothing about `a` and `b`. But with more than one key, "
    "the weights depend on the token that asks. Look at the last row.",
)
beyond_three_quarters.wrong_option(
    "C",
    "a layer norm only rescales",
    "This would be true if all tokens were divided by the same number. But each token is divided "
    "by its own size. Look at the row with the norm.",
)


parameters = NumericAnswer(
    "8.1",
    "The parameters of a block",
    answer=49_984.0,
    within=0.0005,
    hints=[
        "Count three kinds of parts: the projections of attention, the projections of the network, "
        "and the norms.",
        "Attention has four projections of d_model features each, whatever the number of heads. A "
        "projection has a bias with one number for each feature that comes out.",
        "How many sub-layers does the block have, and so how many norms? Each norm has a scale and "
        "a shift.",
    ],
)
parameters.wrong_value(
    "the norms left out",
    49_728.0,
    "You counted only attention and the network. But the scales and shifts of the norms are "
    "learned, too.",
)
parameters.wrong_value(
    "one norm only",
    49_856.0,
    "You counted only half of the norms' parameters. But each sub-layer has a norm of its own, and "
    "each norm has both a scale and a shift.",
)
parameters.wrong_value(
    "no biases",
    49_408.0,
    "You counted the matrices of the six projections and left out their biases. But in this block, "
    "every projection has a bias.",
)
parameters.wrong_value(
    "no output projection",
    45_824.0,
    "You counted three projections in the attention. But a further projection mixes the outputs of "
    "the heads before they are added to the stream.",
)
parameters.wrong_value(
    "full-width projections for each head",
    99_904.0,
    "You gave each of the four heads projections of the full width. But the heads share this "
    "width, so each head has a quarter of the features.",
)
parameters.wrong_value(
    "a decoder block",
    66_752.0,
    "You counted two attentions and three norms. This is a decoder block, which also reads a "
    "memory.",
)


rms_norm = Exercise(
    "8.2",
    "A norm without a mean",
    hints=[
        "Write the formula from right to left: square, average, add, root, divide, scale.",
        "`mean(dim=-1, keepdim=True)` keeps the axis, so that the division fits again.",
        "Is ε under the root or outside it? Try a token whose features are all 0.",
    ],
    differentiable=True,
)


def _rms(x, gamma, epsilon):
    size = (x.square().mean(dim=-1, keepdim=True) + epsilon).sqrt()
    return gamma * x / size


@rms_norm.solution
def _(x, gamma, epsilon):
    return _rms(x, gamma, epsilon)


@rms_norm.inputs
def _(generator):
    yield torch.tensor([[3.0, 4.0]]), torch.tensor([1.0, 2.0]), 0.5
    yield torch.tensor([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]]), torch.ones(3), 0.1
    for shape in ((4, 6), (2, 1, 3, 4), (1, 1, 1)):
        x = 2 * torch.randn(shape, generator=generator) + 1
        yield x, 0.5 + torch.rand(shape[-1], generator=generator), 0.2


@rms_norm.holds("Each token is normalised by itself.")
def _(f, x, gamma, epsilon):
    alone = [f(row[None], gamma, epsilon)[0] for row in x.flatten(0, -2)]
    return changed(
        torch.stack(alone).view(x.shape),
        f(x, gamma, epsilon),
        "alone, a token gets the feature {}, but among others it gets {}",
    )


@rms_norm.holds("Without ε, the size of a token makes no difference.")
def _(f, x, gamma, epsilon):
    x = x + 0.1 * torch.arange(1.0, 1 + x.shape[-1])  # no constant token
    return changed(
        f(x, gamma, 0.0),
        f(3 * x, gamma, 0.0),
        "a token three times as large changes a feature from {} to {}",
    )


@rms_norm.mistake("the mean subtracted")
def _(x, gamma, epsilon):
    """You subtract the mean first, as layer norm does. But this norm must leave the mean in. Your
    results are wrong for every token whose features do not sum to 0."""
    return _rms(x - x.mean(dim=-1, keepdim=True), gamma, epsilon)


@rms_norm.mistake("divided by the standard deviation")
def _(x, gamma, epsilon):
    """You leave the mean in the token, but you measure the size around the mean. A token whose
    features are all equal then has a size of 0, so the division makes it huge."""
    return gamma * x / (x.var(dim=-1, correction=0, keepdim=True) + epsilon).sqrt()


@rms_norm.mistake("ε outside the root")
def _(x, gamma, epsilon):
    """You add ε outside the root instead of under it. Small tokens then get a different size than
    in models that were trained with the formula."""
    size = x.square().mean(dim=-1, keepdim=True).sqrt() + epsilon
    return gamma * x / size


@rms_norm.mistake("ε left out")
def _(x, gamma, epsilon):
    """You divide by the root of the mean of the squares, without ε. A token of zeros then becomes
    NaN, which spreads to everything that the model computes from it."""
    return _rms(x, gamma, 0.0)


@rms_norm.mistake("the sum instead of the mean")
def _(x, gamma, epsilon):
    """You divide by the length of the vector, which is the root of the sum of squares. The more
    features there are, the smaller they then become."""
    return gamma * x / (x.square().sum(dim=-1, keepdim=True) + epsilon).sqrt()


@rms_norm.mistake("no root")
def _(x, gamma, epsilon):
    """You divide by the mean of the squares, without the root. Large tokens then become small, and
    small ones become large."""
    return gamma * x / (x.square().mean(dim=-1, keepdim=True) + epsilon)


@rms_norm.mistake("over all tokens")
def _(x, gamma, epsilon):
    """You average over everything in the tensor. The output for a token then depends on the other
    tokens and sentences of the batch."""
    return gamma * x / (x.square().mean() + epsilon).sqrt()


@rms_norm.mistake("over the tokens instead of the features")
def _(x, gamma, epsilon):
    """You average over the axis before the last. Each feature is then compared with the same
    feature of other tokens, and information passes between the tokens."""
    return gamma * x / (x.square().mean(dim=-2, keepdim=True) + epsilon).sqrt()


@rms_norm.mistake("no scale γ")
def _(x, gamma, epsilon):
    """You leave out γ. The model then can't give one feature more room than another."""
    return _rms(x, torch.ones_like(gamma), epsilon)


@rms_norm.mistake("1 + γ for the scale γ")
def _(x, gamma, epsilon):
    """You multiply by 1 + γ, as models do that store only how far the scale is from 1. But here, γ
    is the scale itself."""
    return _rms(x, 1 + gamma, epsilon)


@rms_norm.mistake("divided by the scale γ")
def _(x, gamma, epsilon):
    """You divide by γ. A feature for which the model learned a large scale then becomes small."""
    return _rms(x, 1 / gamma, epsilon)


class _Part:
    """A sub-layer to try answers with: a fixed function that prints as its name."""

    def __init__(self, name, function):
        self.name, self.function = name, function

    def __call__(self, *arguments):
        return self.function(*arguments)

    def __repr__(self):
        return self.name

    def __deepcopy__(self, memo):
        return self  # it can't be changed, so a copy is the same


def _centre(x):
    """A norm that is easy to follow: it takes off the mean, and limits the size."""
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred / (1 + centred.square().mean(dim=-1, keepdim=True)).sqrt()


def _matrix(generator, rows, columns):
    return 0.6 * torch.randn(rows, columns, generator=generator)


def _parts(generator, d):
    a, b = _matrix(generator, d, d), _matrix(generator, d, d)

    def attend(x):
        scores = x @ a @ x.mT
        return scores.softmax(dim=-1) @ (x @ b)

    c = _matrix(generator, d, d)
    feed = _Part("feed", lambda x: (x @ c + 0.3).relu())
    return _Part("attend", attend), feed, _Part("norm", _centre)


packed_mask = Exercise(
    "8.3",
    "Several sentences in one row",
    hints=[
        "Write three conditions, each as a boolean tensor that broadcasts to (batch, L, L): same "
        "sentence, not later, no padding. All three must hold.",
        "`document[:, :, None]` has the queries on the second-to-last axis, and `document[:, "
        "None]` has the keys on the last axis.",
        "Padding has the number 0 everywhere, so two paddings look like tokens of one sentence.",
    ],
)


def _packed(document):
    query, key = document[:, :, None], document[:, None]
    length = document.shape[-1]
    earlier = torch.ones(length, length).tril().bool()
    return (query == key) & earlier & (key != 0)


@packed_mask.solution
def _(document):
    return _packed(document)


@packed_mask.inputs
def _(generator):
    yield (torch.tensor([[1, 1, 2, 0]]),)
    yield (torch.tensor([[0, 0, 3, 3, 5], [4, 2, 2, 2, 0]]),)
    yield (torch.tensor([[1], [0]]),)  # places of one token
    for batch, length in ((3, 7), (2, 9)):
        shape = batch, length
        starts = torch.rand(shape, generator=generator) < 0.4
        document = starts.long().cumsum(dim=-1) + 1
        padding = torch.randint(1, 3, (batch, 1), generator=generator)
        places = torch.arange(length)
        yield (document * (places < length - padding),)


@packed_mask.holds("No token may attend to another sentence.")
def _(f, document):
    real = (document != 0)[:, :, None] & (document != 0)[:, None]
    wrong = f(document) & real & (document[:, :, None] != document[:, None])
    if wrong.any():
        b, i, j = wrong.nonzero()[0].tolist()
        return (
            f"Place {i}, in sentence {document[b, i].item()}, may attend to place {j}, "
            f"in sentence {document[b, j].item()}."
        )


@packed_mask.holds("No token may attend to padding, and padding may attend to nothing.")
def _(f, document):
    mask, padding = f(document), document == 0
    wrong = mask & (padding[:, :, None] | padding[:, None])
    if wrong.any():
        _, i, j = wrong.nonzero()[0].tolist()
        return f"Place {i} may attend to place {j}."


@packed_mask.mistake("the whole row seen")
def _(document):
    """You let a token see all earlier tokens of its row. A sentence then reads other sentences of
    its row, and the output depends on how the sentences were packed."""
    length = document.shape[-1]
    earlier = torch.ones(length, length).tril().bool()
    real = document != 0
    return earlier & real[:, None] & real[:, :, None]


@packed_mask.mistake("earlier sentences seen")
def _(document):
    """You compare the numbers of the sentences with ≥ instead of ==. A token then also sees earlier
    sentences of its row that have a smaller number."""
    query, key = document[:, :, None], document[:, None]
    return ((query >= key) & (key != 0)).tril()


@packed_mask.mistake("the future seen")
def _(document):
    """You require only the same sentence. Each token then sees the tokens that it must predict."""
    return (document[:, :, None] == document[:, None]) & (document != 0)[:, None]


@packed_mask.mistake("padding as a sentence of its own")
def _(document):
    """You treat padding like any other sentence. Padding then attends to padding, which takes time
    and looks as if it had a meaning."""
    length = document.shape[-1]
    earlier = torch.ones(length, length).tril().bool()
    return (document[:, :, None] == document[:, None]) & earlier


@packed_mask.mistake("the token itself left out")
def _(document):
    """You allow only earlier tokens, not the token itself. The first token of each sentence then
    has nothing at all to attend to."""
    return _packed(document) & ~torch.eye(document.shape[-1]).bool()


@packed_mask.mistake("inverted")
def _(document):
    """You return True where attending is forbidden, as some of PyTorch's modules want it. In this
    book, your mask hides the past and allows everything else."""
    return ~_packed(document)


@packed_mask.mistake("queries and keys exchanged")
def _(document):
    """You put the keys on the axis of the queries. Each token then sees the future instead of the
    past."""
    return _packed(document).mT


@packed_mask.mistake("one token of the future")
def _(document):
    """You shift the diagonal by one. Each token then sees exactly the token that it must
    predict."""
    length = document.shape[-1]
    earlier = torch.ones(length, length).tril(diagonal=1).bool()
    same = document[:, :, None] == document[:, None]
    return same & earlier & (document != 0)[:, None]


two_sources = Exercise(
    "8.4",
    "A decoder that reads two sources",
    hints=[
        "There are four sub-layers, each with a norm before it and a residual connection around "
        "it.",
        "In a sub-layer that reads a source, only one of the two arguments comes from the stream.",
        "Which sub-layers see what the earlier ones have added?",
    ],
    differentiable=True,
)


@two_sources.solution
def _(x, text, image, attend, read, feed, norm):
    x = x + attend(norm(x))
    x = x + read(norm(x), text)
    x = x + read(norm(x), image)
    return x + feed(norm(x))


def _reader(generator, d):
    a, b = _matrix(generator, d, d), _matrix(generator, d, d)

    def read(queries_from, keys_from):
        scores = queries_from @ a @ keys_from.mT
        return scores.softmax(dim=-1) @ (keys_from @ b)

    return _Part("read", read)


@two_sources.inputs
def _(generator):
    for batch, length, n, m, d in (
        (1, 1, 2, 3, 2),
        (2, 4, 4, 4, 3),
        (2, 3, 5, 2, 4),
        (2, 1, 1, 1, 2),
    ):
        attend, feed, norm = _parts(generator, d)
        yield (
            torch.randn(batch, length, d, generator=generator),
            2 * torch.randn(batch, n, d, generator=generator) + 1,
            2 * torch.randn(batch, m, d, generator=generator) - 1,
            attend,
            _reader(generator, d),
            feed,
            norm,
        )


_nothing = torch.zeros_like


def _always(number):
    return lambda x, *others: torch.full_like(x, number)


def _reads_nothing(queries_from, keys_from):
    return torch.zeros_like(queries_from)


@two_sources.holds("Each source is read once, as it is.")
def _(f, x, text, image, attend, read, feed, norm):
    asked = []

    def note(queries_from, keys_from):
        asked.append(keys_from)
        return torch.zeros_like(queries_from)

    f(x, text, image, attend, note, feed, norm)
    for name, source in (("text", text), ("image", image)):
        times = sum(keys.shape == source.shape and torch.allclose(keys, source) for keys in asked)
        if times != 1:
            return f"You call `read` with `{name}` as its second argument {times} times."


@two_sources.holds("The result of each sub-layer is added to the stream once.")
def _(f, x, text, image, attend, read, feed, norm):
    return changed(
        f(x, text, image, _nothing, _reads_nothing, _nothing, norm) + 130.0,
        f(x, text, image, _always(100.0), _always(10.0), _always(10.0), norm),
        "if `attend` returns 100, and `read` and `feed` return 10 each time, the result should be "
        "{}, but you return {}",
    )


@two_sources.mistake("the image before the text")
def _(x, text, image, attend, read, feed, norm):
    """You read the image first. The query to the image then knows nothing of the text, although the
    query to the text knows of the image."""
    x = x + attend(norm(x))
    x = x + read(norm(x), image)
    x = x + read(norm(x), text)
    return x + feed(norm(x))


@two_sources.mistake("both sources asked at once")
def _(x, text, image, attend, read, feed, norm):
    """You ask both sources with the same queries and add the two results. The queries to the image
    then can't depend on the text."""
    x = x + attend(norm(x))
    x = x + read(norm(x), text) + read(norm(x), image)
    return x + feed(norm(x))


@two_sources.mistake("all sub-layers on the incoming stream")
def _(x, text, image, attend, read, feed, norm):
    """You let all four sub-layers read the incoming stream. Then no sub-layer sees the updates of
    the others."""
    start = norm(x)
    read_both = read(start, text) + read(start, image)
    return x + attend(start) + read_both + feed(start)


@two_sources.mistake("the sources normalised again")
def _(x, text, image, attend, read, feed, norm):
    """You send the sources through the norm of the sub-layer. But their encoders have already
    normalised them, with a scale that was learned for them, and a second norm undoes this scale."""
    x = x + attend(norm(x))
    x = x + read(norm(x), norm(text))
    x = x + read(norm(x), norm(image))
    return x + feed(norm(x))


@two_sources.mistake("no norm before reading")
def _(x, text, image, attend, read, feed, norm):
    """You make the queries from the stream itself. Its size grows with every block below, and so do
    the scores."""
    x = x + attend(norm(x))
    x = x + read(x, text)
    x = x + read(x, image)
    return x + feed(norm(x))


@two_sources.mistake("no norm before the network")
def _(x, text, image, attend, read, feed, norm):
    """You give the stream itself to the network. The inputs of the network then grow with every
    block below."""
    x = x + attend(norm(x))
    x = x + read(norm(x), text)
    x = x + read(norm(x), image)
    return x + feed(x)


@two_sources.mistake("residual connections missing around the reading")
def _(x, text, image, attend, read, feed, norm):
    """You replace the stream by the vectors that were read. The content of the target's tokens is
    then lost, except for their effect on the weights."""
    x = x + attend(norm(x))
    x = read(norm(x), text)
    x = read(norm(x), image)
    return x + feed(norm(x))


@two_sources.mistake("the norm after each addition")
def _(x, text, image, attend, read, feed, norm):
    """You normalise after each sub-layer. This is the block of 2017, in which the stream no longer
    passes through unchanged."""
    x = norm(x + attend(x))
    x = norm(x + read(x, text))
    x = norm(x + read(x, image))
    return norm(x + feed(x))


@two_sources.mistake("read before attending to itself")
def _(x, text, image, attend, read, feed, norm):
    """You read the sources before the target's tokens have seen each other. The queries to the
    sources then come from each token alone."""
    x = x + read(norm(x), text)
    x = x + read(norm(x), image)
    x = x + attend(norm(x))
    return x + feed(norm(x))


@two_sources.mistake("the network left out")
def _(x, text, image, attend, read, feed, norm):
    """You stop after the reading. The network, in which each token works by itself on what it has
    read, is then missing."""
    x = x + attend(norm(x))
    x = x + read(norm(x), text)
    return x + read(norm(x), image)


pre_norm_block = Repair(
    "8.5",
    "Debug this: a stack that forgets",
    line=5,
    because="The network's residual connection starts from the update of attention alone. So the "
    "block drops x, and with it the embedding and all that earlier blocks have added.",
    hints=[
        "What does the stream contain after block 2, and what should it contain?",
        "Call each tensor by what it contains: x alone, an update alone, or a sum. Which tensors "
        "are still needed at the end?",
    ],
    differentiable=True,
)
pre_norm_block.right_line(
    1,
    "It normalises a copy of the stream for attention, and `x` itself stays as it is. This is what "
    "pre-norm means.",
)
pre_norm_block.right_line(
    2,
    "It lets attention read the normalised copy. The result is an update, which need not contain "
    "the token itself.",
)
pre_norm_block.right_line(
    3,
    "It adds the update of attention to x, as in equation (8.1). This sum contains everything that "
    "earlier blocks have added.",
)
pre_norm_block.right_line(
    4,
    "It normalises the sum for the network, which therefore sees what attention has found. The "
    "copy for attention is no longer needed, so its name may be used again.",
)


@pre_norm_block.solution
def _(x, attend, feed, norm):
    stream = x + attend(norm(x))
    return stream + feed(norm(stream))


@pre_norm_block.inputs
def _(generator):
    yield (
        torch.tensor([[[1.0, 3.0], [2.0, -2.0]]]),
        _Part("doubles", lambda x: 2 * x),
        _Part("plus_1", lambda x: x + 1),
        _Part("halves", lambda x: x / 2),
    )
    for shape in ((2, 3, 4), (3, 5, 6), (2, 1, 2)):
        parts = _parts(generator, shape[-1])
        yield (torch.randn(shape, generator=generator), *parts)


@pre_norm_block.holds("If both sub-layers return zeros, the stream is unchanged.")
def _(f, x, attend, feed, norm):
    return changed(x, f(x, _nothing, _nothing, norm), "a feature turns from {} into {}")


@pre_norm_block.holds("The update of each sub-layer is added to the stream once.")
def _(f, x, attend, feed, norm):
    return changed(
        f(x, _nothing, _nothing, norm) + 110.0,
        f(x, _always(100.0), _always(10.0), norm),
        "if `attend` returns 100 and `feed` returns 10 each time, the result should be {}, but you "
        "return {}",
    )


@pre_norm_block.broken
def _(x, attend, feed, norm):
    """The block still returns its two updates alone. All that was in the stream before this block
    is lost."""
    update = attend(norm(x))
    return update + feed(norm(x + update))


@pre_norm_block.mistake("the update of attention is lost")
def _(x, attend, feed, norm):
    """You add the update of the network to x. The stream keeps what earlier blocks have added, but
    what attention has found reaches it only through the network."""
    return x + feed(norm(x + attend(norm(x))))


@pre_norm_block.mistake("the stream is normalised")
def _(x, attend, feed, norm):
    """You add the update of the network to the normalised sum. So each block rescales everything
    that is in the stream."""
    read = norm(x + attend(norm(x)))
    return read + feed(read)


@pre_norm_block.mistake("a norm around the whole block")
def _(x, attend, feed, norm):
    """You normalise the result as well. The norm then rescales the stream after each block, as in
    a post-norm block, although the sub-layers have norms already."""
    stream = x + attend(norm(x))
    return norm(stream + feed(norm(stream)))


@pre_norm_block.mistake("the network reads the sum as it is")
def _(x, attend, feed, norm):
    """You let the network read the sum itself, and not its normalised copy. The numbers that the
    network reads then grow from block to block."""
    stream = x + attend(norm(x))
    return stream + feed(stream)


@pre_norm_block.mistake("the network sees only the update")
def _(x, attend, feed, norm):
    """You let the network read the update of attention. It then does not see the token itself, nor
    what earlier blocks have added to it."""
    update = attend(norm(x))
    return x + update + feed(norm(update))


@pre_norm_block.mistake("x is added twice")
def _(x, attend, feed, norm):
    """You add x to a sum that contains it already. The stream then doubles in each block, and the
    updates hardly count."""
    stream = x + attend(norm(x))
    return x + stream + feed(norm(stream))


updates = Exercise(
    "8.7",
    "Who wrote what into the stream",
    hints=[
        "Run the stream forward as the model does, and keep each update before you add it.",
        "The first entry is the stream that comes in. `torch.stack` puts a list of tensors on a "
        "new first axis.",
        "The size of the final stream is the same for all entries. Compute it at the end.",
    ],
)


def _updates(x, sublayers, norm):
    parts = [x]
    for sublayer in sublayers:
        parts.append(sublayer(norm(x)))
        x = x + parts[-1]
    return torch.stack(parts), x


def _share(parts, x):
    return (parts * x).sum(dim=-1) / x.square().sum(dim=-1)


@updates.solution
def _(x, sublayers, norm):
    return _share(*_updates(x, sublayers, norm))


@updates.inputs
def _(generator):
    yield (
        torch.tensor([[[3.0, 4.0]]]),
        [
            _Part("turns", lambda x: torch.stack([-x[..., 1], x[..., 0]], -1)),
            _Part("plus_1", lambda x: x + 1),
        ],
        _Part("halves", lambda x: x / 2),
    )
    for shape, count in (
        ((2, 3, 4), 2),
        ((3, 2, 3), 4),
        ((2, 1, 2), 0),
    ):
        sublayers, norm = [], _Part("norm", _centre)
        while len(sublayers) < count:
            sublayers += _parts(generator, shape[-1])[:2]
        x = 2 * torch.randn(shape, generator=generator)
        yield x, sublayers[:count], norm


@updates.holds("The shares of each token sum to 1.")
def _(f, x, sublayers, norm):
    sums = f(x, sublayers, norm).sum(dim=0)
    return changed(torch.ones_like(sums), sums, "one sum should be {}, but is {}")


@updates.holds("A sub-layer reads the normalised stream, which contains all earlier updates.")
def _(f, x, sublayers, norm):
    seen, update = [], torch.arange(1.0, 1 + x.shape[-1]).expand_as(x)

    def look(entering):
        seen.append(entering)
        return update

    f(x, [look, look], norm)
    for number, entering in enumerate(seen[:2]):
        sentence = f"sub-layer {number} should read {{}} once, but reads {{}}"
        if problem := changed(norm(x + number * update), entering, sentence):
            return problem


@updates.mistake("the updates added to the normalised stream")
def _(x, sublayers, norm):
    """You add each update to the normalised tokens and continue with this sum. The stream then
    loses its size at every sub-layer, and its parts no longer add up to it."""
    parts = [x]
    for sublayer in sublayers:
        x = norm(x)
        parts.append(sublayer(x))
        x = x + parts[-1]
    return _share(torch.stack(parts), x)


@updates.mistake("every sub-layer reads the first stream")
def _(x, sublayers, norm):
    """You give the incoming stream to all sub-layers. The sub-layers then know nothing of each
    other, as if they were side by side."""
    parts = torch.stack([x, *(part(norm(x)) for part in sublayers)])
    return _share(parts, parts.sum(dim=0))


@updates.mistake("no norm before the sub-layers")
def _(x, sublayers, norm):
    """You let the sub-layers read the stream itself, without the norm. Their updates are then not
    those of the model."""
    return _share(*_updates(x, sublayers, lambda y: y))


@updates.mistake("the streams instead of the updates")
def _(x, sublayers, norm):
    """You keep the stream after each sub-layer. But this stream contains everything that was added
    before, so the shares sum to more than 1."""
    parts, final = _updates(x, sublayers, norm)
    return _share(parts.cumsum(dim=0), final)


@updates.mistake("lengths instead of projections")
def _(x, sublayers, norm):
    """You compare the lengths of the updates. Two updates that cancel each other are then counted
    twice instead of not at all."""
    parts, _ = _updates(x, sublayers, norm)
    lengths = parts.norm(dim=-1)
    return lengths / lengths.sum(dim=0)


@updates.mistake("divided by the length once")
def _(x, sublayers, norm):
    """You divide the dot product by the length of the final stream, not by the square of the
    length. The shares then grow with the stream."""
    parts, final = _updates(x, sublayers, norm)
    return (parts * final).sum(dim=-1) / final.norm(dim=-1)


@updates.mistake("compared with the incoming stream")
def _(x, sublayers, norm):
    """You project onto the incoming stream. But the question is what each part contributes to the
    final stream."""
    parts, _ = _updates(x, sublayers, norm)
    return _share(parts, x)


@updates.mistake("the cosine")
def _(x, sublayers, norm):
    """You divide by the length of the update, too. A tiny update in the right direction then
    counts as much as a large one."""
    parts, final = _updates(x, sublayers, norm)
    return torch.cosine_similarity(parts, final.expand_as(parts), dim=-1)


pre_norm_curve = MultipleChoice(
    "8.8",
    "The stream of pre-norm",
    hints=[
        "In pre-norm, what does a sub-layer read, and how large is its update, at the bottom "
        "and at the top of the stack?",
        "Sums of random numbers of equal size grow like the root of how many there are. How "
        "does this look on a logarithmic axis?",
    ],
    answer="D",
    figure=True,
    because="Each sub-layer reads a normalised stream, so all updates are about equally large. "
    "Random updates of the same size add up like a walk, and the stream grows ever more "
    "slowly.",
)
pre_norm_curve.wrong_option(
    "A",
    "nothing holds the stream back",
    "You know that no norm is on the stream in pre-norm. But this curve grows by the same "
    "factor with each block, so the updates grow with the stream that they are computed from.",
)
pre_norm_curve.wrong_option(
    "B",
    "a norm makes vectors smaller",
    "You expected a norm to make the features small. But this curve falls to less than a "
    "millionth, so nothing keeps the size of what came in.",
)
pre_norm_curve.wrong_option(
    "C",
    "a norm keeps the size",
    "You expected the norm to keep the features at one size. But this stream has exactly the "
    "same size after each block, so the norm must be on the stream itself.",
)


separate_layers = Suspects(
    "8.9",
    "Stacks whose layers are their own",
    hints=[
        "How many numbers should a stack of three layers have, compared with a stack of one? How "
        "many do you get if PyTorch finds no parameters at all?",
        "Which parameters of two layers must differ when training begins, and which start alike in "
        "all layers?",
        "After `backward`, what does the gradient of a parameter tell you that the forward pass "
        "never used?",
    ],
)


class _Layer(nn.Module):
    """What a stack is made of, with a norm that it may share with others."""

    def __init__(self, d: int, norm: nn.Module | None = None) -> None:
        super().__init__()
        self.norm, self.linear = norm or nn.LayerNorm(d), nn.Linear(d, d)
        self.draw()

    def draw(self) -> None:
        self.linear.reset_parameters()
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + F.gelu(self.linear(self.norm(x)))


class _PackedLayer(nn.Module):
    """Computes the same with two parameters, the matrix and all other numbers in one row."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.randn(d, d) / math.sqrt(d))
        self.others = nn.Parameter(torch.tensor([0.0, 1.0, 0.0]).repeat_interleave(d))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bias, scale, shift = self.others.chunk(3)
        normalised = F.layer_norm(x, bias.shape, scale, shift)
        return x + F.gelu(F.linear(normalised, self.matrix, bias))


class _Loop(nn.Module):
    """Applies its layers one after the other, however it keeps them."""

    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def _layers(n, d):
    return [_Layer(d) for _ in range(n)]


@separate_layers.right("puts new layers into a `Sequential`")
def _(n, d):
    return nn.Sequential(*_layers(n, d))


@separate_layers.wrong("copies the first layer, as PyTorch's `TransformerEncoder` does")
def _(n, d):
    layer = _Layer(d)
    return nn.Sequential(*(copy.deepcopy(layer) for _ in range(n)))


@separate_layers.wrong("uses a single layer over and over")
def _(n, d):
    return nn.Sequential(*[_Layer(d)] * n)


@separate_layers.right("copies the first layer, and then draws the numbers of each copy again")
def _(n, d):
    layer = _Layer(d)
    stack = nn.Sequential(*(copy.deepcopy(layer) for _ in range(n)))
    for layer in stack:
        layer.draw()
    return stack


@separate_layers.wrong("keeps its layers in a list, where PyTorch finds no parameters")
def _(n, d):
    return _Loop(_layers(n, d))


@separate_layers.right("loops over a `ModuleList` of new layers")
def _(n, d):
    return _Loop(nn.ModuleList(_layers(n, d)))


@separate_layers.right("puts a smaller stack and a new layer together", kept_back=True)
def _(n, d):
    stack = _Layer(d)
    for _ in range(n - 1):
        stack = nn.Sequential(stack, _Layer(d))
    return stack


@separate_layers.right("has one parameter for the bias and the norm of a layer", kept_back=True)
def _(n, d):
    return nn.Sequential(*(_PackedLayer(d) for _ in range(n)))


@separate_layers.wrong("uses its second layer for all but the first", kept_back=True)
def _(n, d):
    return nn.Sequential(_Layer(d), *[_Layer(d)] * (n - 1))


@separate_layers.wrong("starts all layers but the first as copies of the second", kept_back=True)
def _(n, d):
    second = _Layer(d)
    return nn.Sequential(_Layer(d), *(copy.deepcopy(second) for _ in range(n - 1)))


@separate_layers.wrong("starts the last layer as a copy of the first", kept_back=True)
def _(n, d):
    layers = _layers(n, d)
    return nn.Sequential(*layers[:-1], copy.deepcopy(layers[0]))


@separate_layers.wrong("shares one norm among all layers", kept_back=True)
def _(n, d):
    norm = nn.LayerNorm(d)
    return nn.Sequential(*(_Layer(d, norm) for _ in range(n)))


@separate_layers.wrong("has all layers, but applies only the last", kept_back=True)
def _(n, d):
    layers = _layers(n, d)
    stack = _Loop(layers[-1:])
    stack.all = nn.ModuleList(layers)
    return stack


def _count(stack):
    return sum(p.numel() for p in stack.parameters())


def _grows(f):
    """Whether three layers have three times as many parameters as one, even if these are none."""
    return _count(f(3, 6)) == 3 * _count(f(1, 6))


def _drawn(stack):
    return [p for p in stack.parameters() if p.ndim == 2]


def _all_differ(parameters):
    return not any(torch.equal(one, other) for one, other in itertools.combinations(parameters, 2))


def _all_used(stack):
    stack(torch.randn(2, 6)).sum().backward()
    return all(p.grad is not None for p in stack.parameters())


@separate_layers.solution
def _(f):
    stack = f(3, 6)
    return _count(stack) > 0 and _grows(f) and _all_differ(_drawn(stack)) and _all_used(stack)


@separate_layers.mistake("only the number of parameters")
def _(f):
    """You only count parameters. Your test doesn't ask which numbers they start with, nor whether
    they are used."""
    return _count(f(3, 6)) > 0 and _grows(f)


@separate_layers.mistake("only the number of parameters, which may be 0")
def _(f):
    """You only count parameters. And if PyTorch finds none in a stack, three times nothing is still
    nothing."""
    return _grows(f)


@separate_layers.mistake("nothing asked of a stack without parameters")
def _(f):
    """You test all parameters that PyTorch finds. If it finds none, there is nothing to test, and
    the stack passes."""
    stack = f(3, 6)
    return _grows(f) and _all_differ(_drawn(stack)) and _all_used(stack)


@separate_layers.mistake("no two parameters alike")
def _(f):
    """You demand that no two parameters have the same numbers. But all biases start at 0, and all
    scales of norms at 1."""
    stack = f(3, 6)
    return _grows(f) and _all_differ(stack.parameters()) and _all_used(stack)


@separate_layers.mistake("four parameters for each layer")
def _(f):
    """You demand that PyTorch finds four parameters for each layer. But a right stack may keep its
    numbers in fewer or in more parameters."""
    stack = f(3, 6)
    found = [*stack.parameters()]
    return len(found) == 12 and _grows(f) and _all_differ(_drawn(stack)) and _all_used(stack)


@separate_layers.mistake("never more than two layers")
def _(f):
    """None of your stacks has more than two layers. So your test can't see whether a third layer
    has numbers of its own."""
    stack = f(2, 6)
    twice = _count(stack) == 2 * _count(f(1, 6)) > 0
    return twice and _all_differ(_drawn(stack)) and _all_used(stack)


@separate_layers.mistake("neighbours compared")
def _(f):
    """You compare each layer only with one other, such as the next. Layers further apart may still
    be copies."""
    stack = f(3, 6)
    alike = any(torch.equal(*pair) for pair in itertools.pairwise(_drawn(stack)))
    return _count(stack) > 0 and _grows(f) and not alike and _all_used(stack)


@separate_layers.mistake("the forward pass not asked")
def _(f):
    """You look at the parameters, but not at what the forward pass does with them. A stack may have
    a layer that it never uses."""
    stack = f(3, 6)
    return _count(stack) > 0 and _grows(f) and _all_differ(_drawn(stack))


@separate_layers.mistake("numbers not compared")
def _(f):
    """You don't compare the numbers in different layers. A copy of a layer is an object of its own,
    but it starts with the same numbers."""
    stack = f(3, 6)
    return _count(stack) > 0 and _grows(f) and _all_used(stack)


@separate_layers.mistake("a single layer")
def _(f):
    """You build stacks of one layer, or ask only what is true of a single layer, too. So your test
    can't see whether two layers share or copy anything."""
    return _count(f(1, 6)) > 0 and _all_used(f(1, 6))


@separate_layers.mistake("nothing found")
def _(f):
    """No stack fails your test. The shape of the output, for example, is always right."""
    return f(3, 6)(torch.randn(2, 6)).shape == (2, 6)


embedding_at_the_top = NumericAnswer(
    "8.11",
    "What is left of the embedding",
    answer=1 / math.sqrt(49),
    within=0.1,
    hints=[
        "How long is the stream at the top, if the embedding has the length 1? Random vectors with "
        "many features are nearly at right angles to each other.",
        "The cosine is a dot product, divided by both lengths. In the dot product of the embedding "
        "with the stream, only one of the terms is not about 0.",
    ],
)
embedding_at_the_top.wrong_value(
    "lengths added up",
    1 / 49,
    "You added up the lengths of all vectors. But a sum is that long only if the vectors are "
    "parallel, and these vectors are nearly at right angles to each other.",
)
embedding_at_the_top.wrong_value(
    "one update for each block",
    1 / math.sqrt(25),
    "You counted one update for each block. But the attention and the network of a block each add "
    "an update of their own.",
)
embedding_at_the_top.wrong_value(
    "unrelated vectors",
    1 / math.sqrt(512),
    "You gave the typical cosine of two random vectors with 512 features. But the stream is not "
    "unrelated to the embedding, which is one of its terms.",
)
embedding_at_the_top.wrong_value(
    "nothing left",
    0.0,
    "You assumed that the updates erase the embedding. But pre-norm blocks only add to the stream, "
    "so the embedding is still a part of the sum.",
)
embedding_at_the_top.wrong_value(
    "the length of the stream",
    7.0,
    "You found how many times as long as the embedding the stream becomes. But a cosine is at most "
    "1, and it gets smaller as the stream grows.",
)


exclusive_or = Construction(
    "8.12",
    "Exclusive or, with a norm",
    shape=(3, 3),
    hints=[
        "Which sum of a and b is 0 for two of the four tokens, and large for the other two? How "
        "can two features carry this sum so that their mean stays 0?",
        "Give the last feature nothing but a constant. What does the norm make of it if the other "
        "features are small, and what if they are large?",
    ],
)
exclusive_or.reference = torch.tensor([[2.0, -2.0, 0.0], [2.0, -2.0, 0.0], [-0.6, -0.6, 1.2]])

_EQUAL, _DIFFERENT = ((1, 1), (-1, -1)), ((1, -1), (-1, 1))


def _last_features(matrix, tokens):
    rows = torch.tensor([[a, b, 1] for a, b in tokens]).double()
    return F.layer_norm(rows @ matrix, (3,))[:, -1].tolist()


def _not_above(matrix, token):
    [own] = _last_features(matrix, [token])
    equal = _last_features(matrix, _EQUAL)
    best = max(range(2), key=equal.__getitem__)
    if own < equal[best] + 0.5 - 1e-6:
        return f"It is {own:.3f}, but for {_EQUAL[best]} it is {equal[best]:.3f}."
    return None


@exclusive_or.holds("For (1, -1), the last feature is at least 0.5 larger than if both are equal.")
def _(matrix):
    return _not_above(matrix, (1, -1))


@exclusive_or.holds("For (-1, 1), the last feature is at least 0.5 larger than if both are equal.")
def _(matrix):
    return _not_above(matrix, (-1, 1))


@exclusive_or.wrong("no constant", example=[[1.0, 0.0, -1.0], [-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
def _(matrix):
    """Your last row gives every feature the same, and the norm subtracts it with the mean. Without
    a constant, the norm of (-1, 1) is that of (1, -1) with all signs changed, so only one of them
    can be large."""
    return bool((matrix[2] - matrix[2].mean()).abs().max() < 1e-3)


@exclusive_or.wrong(
    "the other way round", example=[[2.0, -2.0, 0.0], [-2.0, 2.0, 0.0], [-0.6, -0.6, 1.2]]
)
def _(matrix):
    """Your last feature tells equal pairs from different ones, but it is larger for the equal ones.
    The norm shrinks the constant where your other features are large."""
    return min(_last_features(matrix, _EQUAL)) > max(_last_features(matrix, _DIFFERENT)) + 0.1


@exclusive_or.wrong("too small", example=[[0.4, -0.4, 0.0], [0.4, -0.4, 0.0], [-0.6, -0.6, 1.2]])
def _(matrix):
    """Your last feature is larger where a and b differ, but not by enough. What depends on a and b
    is too small beside the constant, so the norm divides by nearly the same number each time."""
    return min(_last_features(matrix, _DIFFERENT)) > max(_last_features(matrix, _EQUAL))


folded = Exercise(
    "8.13",
    "A norm that disappears into a projection",
    hints=[
        "Write the normalised token as z. The norm gives γ ⊙ z + β, and the projection turns this "
        "into (γ ⊙ z + β) W + b.",
        "Multiply out. Which part does not depend on z?",
        "Feature i of z meets row i of the matrix.",
    ],
)


@folded.solution
def _(gamma, beta, weight, bias):
    return torch.cat([gamma[:, None] * weight, (beta @ weight + bias)[None]])


@folded.inputs
def _(generator):
    yield (
        torch.tensor([2.0, 3.0]),
        torch.tensor([1.0, -1.0]),
        torch.tensor([[1.0, 0.0], [4.0, 5.0]]),
        torch.tensor([0.5, 1.5]),
    )
    for d, out in ((5, 5), (4, 6), (6, 2), (1, 1)):
        draw = [torch.randn(shape, generator=generator) for shape in ((d,), (d,), (d, out), (out,))]
        yield (1 + 0.5 * draw[0], *draw[1:])


@folded.holds("The new projection alone gives what the norm and the old projection gave.")
def _(f, gamma, beta, weight, bias):
    d = len(gamma)
    z = _scale(torch.arange(3.0 * d).view(3, d).cos(), -1)
    both = f(gamma, beta, weight, bias)
    return changed(
        (gamma * z + beta) @ weight + bias,
        z @ both[:-1] + both[-1],
        "for one token, the norm and the old projection give {}, but the new projection gives {}",
    )


@folded.holds("With γ = 1 and β = 0, nothing changes.")
def _(f, gamma, beta, weight, bias):
    ones, zeros = torch.ones_like(gamma), torch.zeros_like(beta)
    return changed(torch.cat([weight, bias[None]]), f(ones, zeros, weight, bias), "{} becomes {}")


@folded.mistake("β left out")
def _(gamma, beta, weight, bias):
    """You keep the bias of the projection as it is. The norm's shift is then lost for all
    tokens."""
    return torch.cat([gamma[:, None] * weight, bias[None]])


@folded.mistake("γ left out")
def _(gamma, beta, weight, bias):
    """You keep the matrix as it is. The norm's scales are then lost, as if all of them were 1."""
    return torch.cat([weight, (beta @ weight + bias)[None]])


@folded.mistake("β goes through the folded matrix")
def _(gamma, beta, weight, bias):
    """You send β through the matrix that already contains γ. The shift is then scaled by γ,
    although the norm adds it after the scaling."""
    matrix = gamma[:, None] * weight
    return torch.cat([matrix, (beta @ matrix + bias)[None]])


@folded.mistake("the bias of the projection left out")
def _(gamma, beta, weight, bias):
    """You replace the bias of the projection by the part that comes from the norm. The projection's
    own bias is then lost."""
    return torch.cat([gamma[:, None] * weight, (beta @ weight)[None]])


@folded.mistake("the matrix divided by γ")
def _(gamma, beta, weight, bias):
    """You divide the rows by γ, as if to undo the norm. Features that the norm makes large then
    become small."""
    return torch.cat([weight / gamma[:, None], (beta @ weight + bias)[None]])


@folded.mistake("one scale for all")
def _(gamma, beta, weight, bias):
    """You use the mean of γ for all features. Then no feature is scaled more than another, although
    γ was learned for just that."""
    return torch.cat([gamma.mean() * weight, (beta @ weight + bias)[None]])


sentence_leaks = Exercise(
    "8.14",
    "Does the batch leak?",
    hints=[
        "Replace one sentence by a different one, call `f` again, and see which outputs change.",
        "Which replacements could a layer fail to notice? A norm removes a number that is added to "
        "all features, and it removes the size.",
        "Nearly every layer notices fresh random numbers from a `torch.Generator` with a fixed "
        "seed. Compare with a small tolerance.",
    ],
)


def _sees(f, x, replace, *, threshold=1e-5):
    before, columns = f(x), []
    for j in range(len(x)):
        other = x.clone()
        other[j] = replace(x[j])
        moved = (f(other) - before).abs().flatten(start_dim=1)
        columns.append(moved.amax(dim=-1) > threshold)
    return torch.stack(columns, dim=-1)


def _fresh(x):
    return torch.randn(x.shape, generator=torch.Generator().manual_seed(5))


@sentence_leaks.solution
def _(f, x):
    return _sees(f, x, _fresh)


def _scale(x, dims):
    centred = x - x.mean(dim=dims, keepdim=True)
    return centred / (centred.square().mean(dim=dims, keepdim=True) + 1e-3).sqrt()


# what single numbers, by token and feature, are added to, so many sentences on
_SINGLE_NUMBERS = {(0, -1): 1, (-1, 0): -1, (0, 0): 2}


def _adds_single_numbers(x):
    result = x.clone()
    for (token, feature), shift in _SINGLE_NUMBERS.items():
        result[:, token, feature] += x.roll(shift, 0)[:, token, feature]
    return result


def _a_little(x):
    """At most 0.0002, and nearly that unless the first number of the sentence before is 0."""
    return 2e-4 * (100 * x.roll(1, 0)[:, :1, :1].abs()).tanh()


def _adds_a_little_to_one_number(x):
    result = x.clone()
    result[:, :1, :1] += _a_little(x)
    return result


def _layer(name):
    return _Part(
        name,
        {
            "layer_norm": lambda x: _scale(x, -1),
            "batch_norm": lambda x: _scale(x, (0, 1)),
            "running_sum": lambda x: x.cumsum(dim=0),
            "adds_a_little_of_the_sentence_before": lambda x: x + 3e-4 * x.roll(1, 0),
            "adds_single_numbers_of_others": _adds_single_numbers,
            "adds_a_little_to_all_numbers": lambda x: x + _a_little(x),
            "adds_a_little_to_one_number": _adds_a_little_to_one_number,
            "adds_1_where_the_sentence_before_is_positive": lambda x: x + (x.roll(1, 0) > 0),
            "norm_then_sum": lambda x: (_scale(x, -1) * torch.arange(1.0, 1 + x.shape[-1])).cumsum(
                dim=0
            ),
            "reversed": lambda x: _scale(x.flip(0), -1),
            "adds_and_takes_off": lambda x: (x + x.sum(dim=0)) - x.sum(dim=0),
            "first_for_all": lambda x: _scale(x[:1] + 0 * x, -1),
            "pairs": lambda x: x + x.unflatten(0, (-1, 2)).sum(1).repeat_interleave(2, 0),
        }[name],
    )


@sentence_leaks.inputs
def _(generator):
    yield _layer("running_sum"), torch.tensor([[[1.0, 2.0]], [[0.0, 0.0]]])
    # a learner's own generator may have the same seed: don't begin with the same numbers
    torch.rand(101, generator=generator)
    for name, shape in (
        ("layer_norm", (3, 2, 4)),
        ("batch_norm", (4, 3, 2)),
        ("reversed", (3, 2, 5)),
        ("adds_and_takes_off", (3, 4, 5)),
        ("first_for_all", (3, 1, 4)),
        ("norm_then_sum", (3, 2, 4)),
        ("pairs", (4, 2, 1)),
        ("layer_norm", (1, 2, 4)),
        ("adds_a_little_of_the_sentence_before", (4, 2, 4)),
        ("adds_single_numbers_of_others", (5, 2, 4)),
        ("adds_1_where_the_sentence_before_is_positive", (4, 3, 6)),
    ):
        x = torch.randn(shape, generator=generator)
        x[-1] = 0.0  # an empty sentence is a sentence, too
        yield _layer(name), x
    for name in "adds_a_little_to_all_numbers", "adds_a_little_to_one_number":
        x = torch.randn(3, 4, 6, generator=generator)
        x[:, 0, 0] = 0.0  # any other number there shows
        yield _layer(name), x


def _misjudged(found, right):
    wrong = found != right
    if wrong.any():
        i, j = wrong.nonzero()[0].tolist()
        says = "depends" if found[i, j] else "does not depend"
        return f"You say that output {i} {says} on sentence {j}."


def _itself_and(n, *shifts):
    """The dependence on the sentence itself and on those that stand so far before it."""
    own = torch.eye(n).bool()
    return sum((own.roll(shift, dims=0) for shift in shifts), start=own)


@sentence_leaks.holds("A leak of one feature of one token is a leak, whichever it is.")
def _(f, layer, x):
    if layer.name == "adds_single_numbers_of_others":
        return _misjudged(f(layer, x), _itself_and(len(x), *_SINGLE_NUMBERS.values()))


@sentence_leaks.holds("A leak that is a jump, and has no derivative, is a leak.")
def _(f, layer, x):
    if layer.name == "adds_1_where_the_sentence_before_is_positive":
        return _misjudged(f(layer, x), _itself_and(len(x), 1))


@sentence_leaks.mistake("rows and columns exchanged")
def _(f, x):
    """You put the changed sentence in the rows. The matrix then says which sentence influences
    which the wrong way round."""
    return _sees(f, x, _fresh).mT


@sentence_leaks.mistake("zeros replaced by zeros")
def _(f, x):
    """You replace a sentence of zeros by zeros again. The sentence is then not changed at all, and
    seems to influence nothing."""
    return _sees(f, x, torch.zeros_like)


@sentence_leaks.mistake("a constant added")
def _(f, x):
    """You add the same number to all features. But a layer norm subtracts the mean of the features,
    so the leak stays hidden."""
    return _sees(f, x, lambda row: row + 1)


@sentence_leaks.mistake("only the sum of the features watched")
def _(f, x):
    """You watch only the sum of an output's features, or the gradient of this sum. But after a
    layer norm, the sum is 0 whatever the input is, so it shows no influence."""
    x = x.clone().requires_grad_()
    rows = []
    for total in f(x).sum(dim=(1, 2)):
        gradient = torch.autograd.grad(total, x, retain_graph=True)[0]
        rows.append(gradient.abs().flatten(start_dim=1).amax(dim=-1) > 1e-3)
    return torch.stack(rows)


@sentence_leaks.mistake("only one feature changed")
def _(f, x):
    """You change only the first feature of each token. A leak through another feature is then not
    found."""

    def replace(row):
        return torch.cat([row[:, :1] + 1.7, row[:, 1:]], dim=-1)

    return _sees(f, x, replace)


@sentence_leaks.mistake("only one token changed")
def _(f, x):
    """You change only the first token of a sentence. A leak from a later token is then not
    found."""
    return _sees(f, x, lambda row: torch.cat([_fresh(row)[:1], row[1:]]))


@sentence_leaks.mistake("the derivative at one place")
def _(f, x):
    """You compute the derivatives at `x`. But a layer may jump, or be flat exactly at `x`. Its
    output then depends on a sentence, although the derivative is 0."""
    derivative = torch.autograd.functional.jacobian(f, x)
    return derivative.abs().amax(dim=(1, 2, 4, 5)) > 1e-6


@sentence_leaks.mistake("a weak leak taken for rounding")
def _(f, x):
    """Your threshold is so high that weak leaks pass. But rounding changes numbers by only about a
    ten-millionth, which is far less than a weak leak does."""
    return _sees(f, x, _fresh, threshold=1e-2)


@sentence_leaks.mistake("the threshold above the weakest leaks")
def _(f, x):
    """Your threshold is a little too high. Every change of a number by more than 10⁻⁴ is a leak,
    and rounding changes numbers far less."""
    return _sees(f, x, _fresh, threshold=5e-4)


@sentence_leaks.mistake("the mean change watched")
def _(f, x):
    """You take the mean of the changes of a sentence's numbers. A weak leak into a single number is
    then averaged away. Only the largest change shows it."""
    before, columns = f(x), []
    for j in range(len(x)):
        other = x.clone()
        other[j] = _fresh(x[j])
        columns.append((f(other) - before).abs().mean(dim=(1, 2)) > 1e-4)
    return torch.stack(columns, dim=-1)


@sentence_leaks.mistake("rounding counted")
def _(f, x):
    """You take every difference for an influence. But some differences are mere rounding, so layers
    without a leak seem to leak, too."""
    before, columns = f(x), []
    for j in range(len(x)):
        other = x.clone()
        other[j] = _fresh(x[j])
        columns.append((f(other) != before).flatten(start_dim=1).any(dim=-1))
    return torch.stack(columns, dim=-1)


@sentence_leaks.mistake("each sentence counted as its own source")
def _(f, x):
    """You assume that an output always depends on its own sentence. A layer that puts the sentences
    of the batch into a different order then passes the test."""
    return _sees(f, x, _fresh) | torch.eye(len(x)).bool()


@sentence_leaks.mistake("the sentence alone, not its influence")
def _(f, x):
    """You compare the output for a sentence alone with its output in the batch. This shows whether
    the sentence is influenced, but not by which other sentence."""
    alone = torch.cat([f(x[j : j + 1]) for j in range(len(x))])
    moved = (alone - f(x)).abs().flatten(start_dim=1).amax(dim=-1) > 1e-5
    return moved[:, None] | torch.eye(len(x)).bool()
