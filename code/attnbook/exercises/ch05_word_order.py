"""Exercises of chapter 5, "Does attention know word order?"."""

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

order_through_a_mask = MultipleChoice(
    "5.0",
    "Order through a mask",
    hints=[
        "Which scores does the mask forbid for the last token?",
        "Does a second layer read the words themselves, or the outputs of the first layer, in "
        "which each word has already heard of others?",
    ],
    answer="A",
    because="With one layer, the last token adds up all words, as it would without a mask. But "
    "through the mask, the outputs of the earlier words depend on their order, and a second layer "
    "reads these outputs.",
)
order_through_a_mask.wrong_option(
    "B",
    "the mask lets order in everywhere",
    "This assumes that the mask changes every output. It does break (5.2), but not at each token. "
    "The last token may see all words, so the mask takes nothing away from it. Look at the last "
    "boxes in Figure 5.5.",
)
order_through_a_mask.wrong_option(
    "C",
    "attention never knows order",
    'This is true where each token may see all others. But under a causal mask, "man" hears of '
    '"dog" only if "dog" comes before it. Look at the other boxes in Figure 5.5.',
)


outputs_of_dog = NumericAnswer(
    "5.1",
    "One word behind a causal mask",
    answer=8.0,
    within=0.01,
    hints=[
        'The output of "dog" depends on "dog" and on the words before it. Does it depend on their '
        "order, too?",
        'One layer adds up the words before "dog", and a sum has no order. So count the sets of '
        'words that can come before "dog".',
        "Each of the other three words is either before it or not.",
    ],
)
outputs_of_dog.wrong_value(
    "every order counted",
    24.0,
    'You give each order an output of its own. But many orders put the same words before "dog", '
    "and the output only adds these words up.",
)
outputs_of_dog.wrong_value(
    "the mask forgotten",
    1.0,
    'You treat the layer as if every token saw every other one. But under a causal mask, "dog" '
    "does not see the words after it.",
)
outputs_of_dog.wrong_value(
    "only the place counted",
    4.0,
    'You count the places where "dog" can be. But even at the same place, "dog" can have '
    "different words before it.",
)
outputs_of_dog.wrong_value(
    "the orders of the other three",
    6.0,
    "You count the orders of the other three words. But all that matters is which of them come "
    'before "dog", not in which order they come.',
)
outputs_of_dog.wrong_value(
    "the order of the words before it counted",
    16.0,
    'You count different orders of the words before "dog" as different. But one layer adds these '
    "words up, and a sum has no order.",
)
outputs_of_dog.wrong_value(
    "the first place forgotten",
    7.0,
    'You count only cases in which some word comes before "dog". But "dog" can also be the '
    "first word, and then it sees only itself.",
)


ring_mask = Construction(
    "5.2",
    "A mask for a ring",
    shape=(4, 4),
    hints=[
        "A token keeps its output if it attends to the same tokens as before, wherever they are "
        "now. For a mask of your choice, write down whom each token attends to in *a b c d* and in "
        "*d a b c*.",
        "When all tokens move one place on, each token comes to the place of its neighbour. So all "
        "four places must follow the same rule, and the place after the last one is the first.",
    ],
)
ring_mask.reference = torch.eye(4) + torch.eye(4).roll(-1, dims=1)

_IN_A_LINE, _MOVED_ON, _BACKWARDS = "abcd", "dabc", "dcba"
_PLACES = ("first", "second", "third", "fourth")


def _attended(mask, order):
    """For each token, in alphabetical order, the tokens that it attends to in this order."""
    rows = dict(zip(order, (mask > 1e-3).tolist(), strict=True))
    return {
        token: [other for other in _IN_A_LINE if rows[token][order.index(other)]]
        for token in _IN_A_LINE
    }


def _to(tokens):
    return " and ".join(tokens) if len(tokens) < 3 else f"{', '.join(tokens[:-1])} and {tokens[-1]}"


def _first_change(mask, order):
    """A token that attends to other tokens in this order, with both sets of tokens."""
    before, after = _attended(mask, _IN_A_LINE), _attended(mask, order)
    for token in _IN_A_LINE:
        if before[token] != after[token]:
            return token, _to(before[token]) or "nobody", _to(after[token]) or "nobody"
    return None


@ring_mask.holds("Each row of the mask has two ones and two zeros.")
def _(mask):
    off = (mask - mask.round().clamp(0, 1)).abs()
    if off.max() > 1e-3:
        return f"One entry is {mask.flatten()[off.argmax()].item():.3g}."
    for place, ones in zip(_PLACES, mask.sum(dim=-1).round().tolist(), strict=True):
        if ones != 2:
            return f"The entries of the {place} row sum to {ones:.0f}."


@ring_mask.holds("In the order d a b c, every token keeps its output.")
def _(mask):
    if change := _first_change(mask, _MOVED_ON):
        token, before, after = change
        return (
            f"In a b c d, the token {token} attends to {before}, but in d a b c, it attends to "
            f"{after}."
        )


@ring_mask.holds("In the order d c b a, some token gets a different output.")
def _(mask):
    if not _first_change(mask, _BACKWARDS):
        tokens = _to(_attended(mask, _IN_A_LINE)["b"]) or "nobody"
        return f"In both orders, b attends to {tokens}, and each other token keeps its tokens, too."


def _steps(mask):
    """For each place, how many places farther on, round the ring, are those it attends to."""
    return [
        frozenset((column - row) % 4 for column in range(4) if mask[row, column] > 0.5)
        for row in range(4)
    ]


@ring_mask.wrong("every place sees all", example=torch.ones(4, 4))
def _(mask):
    """You hide nothing. Without a hidden place, attention is blind to every order, so it can't tell
    when the tokens are read backwards."""
    return (mask > 0.5).all()


@ring_mask.wrong("a causal mask", example=torch.ones(4, 4).tril())
def _(mask):
    """You let each place attend to itself and to all places before it. The first place then hears
    nobody else, so a token that comes there gets a different output."""
    return torch.equal((mask > 0.5).double(), torch.ones(4, 4).double().tril())


@ring_mask.wrong(
    "the same on both sides",
    example=[[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]],
)
def _(mask):
    """All your places follow one rule, but it treats both directions alike. Whoever is near on the
    left is then as near on the right when the tokens are read backwards."""
    steps = _steps(mask)
    mirrored = {-step % 4 for step in steps[0]}
    return len({*steps}) == 1 and len(mirrored) == 2 and steps[0] == mirrored


@ring_mask.wrong(
    "one place is an exception",
    example=[[1, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]],
)
def _(mask):
    """Three of your places follow one rule, and the fourth place does not. A token that comes to
    this place, or leaves it, attends to different neighbours than before."""
    steps = _steps(mask)
    return max(steps.count(one) for one in steps) == 3


mask_from_places = Exercise(
    "5.3",
    "A causal mask for tokens in any order",
    hints=[
        "Each query has a place, and each key has a place. Compare the place of every query with "
        "the place of every key.",
        "An axis of size 1 lets two tensors meet in all pairs: `query_places[:, :, None]`.",
        "The mask is True where attending is allowed. A token may attend to its own place.",
    ],
)


def _pairs(query_places, key_places):
    return query_places[:, :, None], key_places[:, None, :]


@mask_from_places.solution
def _(query_places, key_places):
    query, key = _pairs(query_places, key_places)
    return key <= query


@mask_from_places.inputs
def _(generator):
    yield torch.tensor([[2]]), torch.tensor([[3, 1, 2]])
    yield torch.tensor([[3, 4]]), torch.tensor([[0, 1, 2, 3, 4]])
    yield torch.tensor([[2, 0, 1]]), torch.tensor([[2, 0, 1]])
    for length_query, length_key in [(3, 5), (4, 4), (5, 1)]:
        start = torch.randint(0, 5, (2, 1), generator=generator)
        key = start + _orders(generator, 2, length_key)
        query = start + _orders(generator, 2, length_query)
        yield query, key


@mask_from_places.holds("No query may attend to a later place.")
def _(f, query_places, key_places):
    query, key = torch.broadcast_tensors(*_pairs(query_places, key_places))
    leak = f(query_places, key_places) & (key > query)
    if leak.any():
        return f"The query at place {query[leak][0]} may attend to place {key[leak][0]}."


@mask_from_places.holds("Every token may attend to itself.")
def _(f, query_places, key_places):
    own = f(key_places, key_places).diagonal(dim1=-2, dim2=-1)
    if not own.all():
        return f"The token at place {key_places[~own][0]} may not attend to itself."


@mask_from_places.mistake("a token may not see itself")
def _(query_places, key_places):
    """You allow only earlier places, not the token's own. The first token then has nothing at all
    to attend to."""
    query, key = _pairs(query_places, key_places)
    return key < query


@mask_from_places.mistake("one token of the future visible")
def _(query_places, key_places):
    """You let each token see one place further. A model that must predict the next word can then
    simply read it."""
    query, key = _pairs(query_places, key_places)
    return key <= query + 1


@mask_from_places.mistake("the mask inverted")
def _(query_places, key_places):
    """You return True where attending is forbidden. But in this book, True means allowed, although
    some functions of PyTorch mean the opposite."""
    query, key = _pairs(query_places, key_places)
    return key > query


@mask_from_places.mistake("looking ahead instead of back")
def _(query_places, key_places):
    """You allow the token's own place and all later ones. The model then sees only what it has not
    yet written."""
    query, key = _pairs(query_places, key_places)
    return key >= query


@mask_from_places.mistake("a triangle from the first corner")
def _(query_places, key_places):
    """You compare the rows and columns in which the tokens are stored. But here, the tokens are
    stored in any order, so rows and columns say nothing about their places."""
    shape = (len(query_places), query_places.shape[1], key_places.shape[1])
    return torch.ones(shape, dtype=torch.bool).tril()


@mask_from_places.mistake("a triangle from the last corner")
def _(query_places, key_places):
    """You count rows and columns from the end, as if the queries were the last tokens in storage.
    This is right only if the tokens are stored in the order of their places."""
    length_query, length_key = query_places.shape[1], key_places.shape[1]
    shape = (len(query_places), length_query, length_key)
    return torch.ones(shape, dtype=torch.bool).tril(length_key - length_query)


@mask_from_places.mistake("keys in the rows")
def _(query_places, key_places):
    """You give each key a row and each query a column. But a mask has the shape of the scores, and
    each row of the scores belongs to a query."""
    query, key = _pairs(query_places, key_places)
    return (key <= query).mT


@mask_from_places.mistake("only its own place")
def _(query_places, key_places):
    """You allow each token to see only its own place. Then no word ever hears of any other word."""
    query, key = _pairs(query_places, key_places)
    return key == query


@mask_from_places.mistake("one sentence's places for the whole batch")
def _(query_places, key_places):
    """You use the places of the first sentence for all sentences. But each sentence is stored in
    its own order."""
    query, key = _pairs(query_places, key_places)
    return (key[:1] <= query[:1]).expand(len(query_places), -1, -1).clone()


look_back = Repair(
    "5.4",
    "Debug this: a loss that is too good",
    line=3,
    because="Its triangle reaches one column past the diagonal. So each letter sees the next one, "
    "which is the letter that the model should predict.",
    hints=[
        "In the map, each row belongs to a query. Which letter does the first letter, *a*, attend "
        "to, and which letter should it predict?",
        "Print `allowed` for a length of 3. In which columns may its first row have a 1?",
    ],
    differentiable=True,
)
look_back.right_line(
    1,
    "It compares each query with each key, and divides by the root of the number of features, as "
    "in (5.1).",
)
look_back.right_line(
    2,
    "The scores have a row for each query and a column for each key, so this is the number of "
    "keys. There are as many queries.",
)
look_back.right_line(
    4,
    "It hides the keys for which `allowed` is 0, and no others. A score of −∞ becomes a weight of "
    "0, and the other weights of the row still sum to 1.",
)
look_back.right_line(
    5,
    "Softmax runs over the keys, so each row of weights sums to 1, as in the map. Then each query "
    "mixes the values with its weights.",
)


def _weights_where(allowed, query, key):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.masked_fill(~allowed, -math.inf).softmax(dim=-1)


def _square(query):
    return torch.ones(query.shape[-2], query.shape[-2], dtype=torch.bool)


@look_back.solution
def _(query, key, value):
    return _weights_where(_square(query).tril(), query, key) @ value


@look_back.inputs
def _(generator):
    yield (
        torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]),
        torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]),
        torch.tensor([[[2.0], [4.0]]]),
    )
    yield (  # the first token has a score of -93 with itself
        torch.tensor([[[-0.5], [0.01]]]),
        torch.tensor([[[186.0], [40.0]]]),
        torch.tensor([[[2.0], [40.0]]]),
    )
    for batch, length, d_k, d_v in ((2, 4, 3, 2), (3, 1, 4, 3), (1, 5, 1, 1)):
        yield (
            torch.randn(batch, length, d_k, generator=generator),
            torch.randn(batch, length, d_k, generator=generator),
            torch.randn(batch, length, d_v, generator=generator),
        )


@look_back.holds("The first token sees only itself, so its output is its own value.")
def _(f, query, key, value):
    first = f(query, key, value)[..., :1, :]
    return changed(value[..., :1, :], first, "its value is {}, but its output is {}")


@look_back.holds("Other values at the end never change what comes before.")
def _(f, query, key, value):
    other = value.clone()
    other[..., -1, :] += 10.0
    before, after = (f(query, key, v)[..., :-1, :] for v in (value, other))
    if before.numel():
        return changed(before, after, "with a different last value, {} becomes {}")


@look_back.broken
def _(query, key, value):
    """Each token still sees the token after it. In training, this is the token to be predicted, so
    the model copies it and learns nothing else."""
    return _weights_where(_square(query).tril(1), query, key) @ value


@look_back.mistake("the token itself hidden")
def _(query, key, value):
    """You hide the token itself, too. The first token then sees nothing, and softmax of nothing is
    NaN."""
    return _weights_where(_square(query).tril(-1), query, key) @ value


@look_back.mistake("looking ahead")
def _(query, key, value):
    """You keep the upper triangle. Each token then sees itself and all tokens that come after
    it."""
    return _weights_where(_square(query).triu(), query, key) @ value


@look_back.mistake("only what comes later")
def _(query, key, value):
    """You hide the past and show the future. The last token then sees nothing, and softmax of
    nothing is NaN."""
    return _weights_where(_square(query).triu(1), query, key) @ value


@look_back.mistake("no mask")
def _(query, key, value):
    """You hide nothing. Each token then sees the whole text, and with it the letter that it should
    predict."""
    return _weights_where(_square(query), query, key) @ value


@look_back.mistake("scores of later tokens set to 0")
def _(query, key, value):
    """You give the later tokens a score of 0. But e⁰ is 1, so softmax gives these tokens a weight,
    too."""
    scores = query @ key.mT / math.sqrt(query.shape[-1]) * _square(query).tril()
    return scores.softmax(dim=-1) @ value


@look_back.mistake("a score for later tokens that is not low enough")
def _(query, key, value):
    """You give the later tokens a low score. But the other scores can be just as low, and then
    softmax gives the later tokens a weight."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.masked_fill(~_square(query).tril(), -100.0).softmax(dim=-1) @ value


@look_back.mistake("later tokens removed after softmax")
def _(query, key, value):
    """You set the weights of later tokens to 0 after softmax. The other weights then sum to less
    than 1, because the later tokens have already taken their share."""
    weights = _weights_where(_square(query), query, key) * _square(query).tril()
    return weights @ value


weight_of_the_first = NumericAnswer(
    "5.5",
    "The weight of being first",
    answer=sum(1 / i for i in range(1, 1001)),
    within=0.1,
    hints=[
        "Query i may attend to i tokens. If everything is random, what share of the weight does "
        "each of them get, on average?",
        "Add up the shares 1, 1/2, 1/3, … of the first token. This sum grows like a logarithm.",
    ],
)
weight_of_the_first.wrong_value(
    "the mask forgotten",
    1,
    "You gave the first token as much as any other. Without a mask, this would be right, but here "
    "every query may attend to the first token, and only one to the last.",
)
weight_of_the_first.wrong_value(
    "all the weight",
    1000,
    "You gave the first token all the weight of every query. Every query may attend to it, but "
    "nearly every query shares its weight among many more tokens.",
)
weight_of_the_first.wrong_value(
    "half of the weight",
    500,
    "You gave the first token half of each query's weight. That is right for the second query "
    "only, because later ones share their weight among more tokens.",
)
weight_of_the_first.wrong_value(
    "a logarithm to base 2",
    math.log2(1000),
    "You counted how often 1000 can be halved. Each doubling of the length does add the same "
    "amount to the first token's weight, but this amount is less than 1.",
)
weight_of_the_first.wrong_value(
    "a logarithm to base 10",
    math.log10(1000),
    "You counted the zeros of 1000. Each tenfold increase of the length does add the same amount "
    "to the first token's weight, but this amount is more than 1.",
)
weight_of_the_first.wrong_value(
    "twice the average",
    2,
    "You took twice the average, because the first token is seen by twice as many queries as a "
    "token in the middle. But the first queries also have very few tokens to choose from.",
)


order_blind_ceiling = Exercise(
    "5.7",
    "The ceiling for an order-blind model",
    hints=[
        "The model sees only the bag, and must give the same answer to all sentences of the bag. "
        "Which answer is right most often, and how often?",
        "In one bag, the model can be right as often as the most frequent answer occurs. This is "
        "the largest number of the row.",
        "Add up these largest numbers over the bags, and divide by the number of all sentences.",
    ],
)


@order_blind_ceiling.solution
def _(counts):
    return counts.amax(dim=-1).sum(dim=-1) / counts.sum(dim=(-2, -1))


@order_blind_ceiling.inputs
def _(generator):
    yield (torch.tensor([[[3.0, 1.0], [0.0, 2.0]]]),)
    yield (torch.tensor([[[5.0, 5.0], [8.0, 0.0], [1.0, 3.0]]]),)
    yield (torch.tensor([[[4.0, 1.0, 0.0], [0.0, 0.0, 7.0]], [[2.0, 2.0, 1.0], [1.0, 6.0, 0.0]]]),)
    for shape in [(2, 5, 3), (2, 3, 1)]:
        counts = torch.randint(0, 12, shape, generator=generator)
        counts[:, 0] = counts[:, 0] * 5 + 1
        yield (counts.float(),)


@order_blind_ceiling.holds("If every bag has only one answer, the ceiling is 1.")
def _(f, counts):
    clear = torch.zeros_like(counts)
    clear[..., 0] = counts.sum(dim=-1)
    return changed(torch.ones(len(counts)), f(clear), "it should be {}, but you return {}")


@order_blind_ceiling.holds(
    "Merging two bags, which hides something from the model, never raises the ceiling."
)
def _(f, counts):
    merged = counts[:, 1:].clone()
    merged[:, 0] = merged[:, 0] + counts[:, 0]
    before, after = f(counts), f(merged)
    if not (after <= before + 1e-5).all():
        worst = (after - before).argmax()
        low, high = before[worst].item(), after[worst].item()
        return f"It rises from {told_apart(low, high)} to {told_apart(high, low)}."


@order_blind_ceiling.mistake("the best bag for each answer")
def _(counts):
    """You take the largest number of each column, and so find the bag that fits an answer best. But
    the model is given the bag and looks for the answer."""
    return counts.amax(dim=-2).sum(dim=-1) / counts.sum(dim=(-2, -1))


@order_blind_ceiling.mistake("all bags weighted alike")
def _(counts):
    """You average the shares of the bags. A bag with a hundred sentences then counts no more than a
    bag with a single one."""
    shares = counts.amax(dim=-1) / counts.sum(dim=-1).clamp_min(1)
    return shares.mean(dim=-1)


@order_blind_ceiling.mistake("one answer for everything")
def _(counts):
    """You let the model give the same answer to all sentences. But an order-blind model is not that
    blind, because it can tell one bag from another."""
    return counts.sum(dim=-2).amax(dim=-1) / counts.sum(dim=(-2, -1))


@order_blind_ceiling.mistake("only bags with a single answer")
def _(counts):
    """You count only the bags in which a single answer occurs. But in the other bags, the model
    still gives its best answer and is right part of the time."""
    clear = (counts > 0).sum(dim=-1) == 1
    return (counts.sum(dim=-1) * clear).sum(dim=-1) / counts.sum(dim=(-2, -1))


@order_blind_ceiling.mistake("guessing in proportion")
def _(counts):
    """You let the model draw each answer as often as the answer occurs in the bag. Such a model is
    right less often than it could be."""
    sums = counts.sum(dim=-1).clamp_min(1)
    right = counts.square().sum(dim=-1) / sums
    return right.sum(dim=-1) / counts.sum(dim=(-2, -1))


@order_blind_ceiling.mistake("the number of sentences instead of the share")
def _(counts):
    """You return the number of sentences that are answered correctly. An accuracy is this number as
    a share of all sentences."""
    return counts.amax(dim=-1).sum(dim=-1)


@order_blind_ceiling.mistake("the errors instead of the right answers")
def _(counts):
    """You return the share of wrong answers. The shares of right and wrong answers add up to 1."""
    right = counts.amax(dim=-1).sum(dim=-1) / counts.sum(dim=(-2, -1))
    return 1 - right


@order_blind_ceiling.mistake("all data sets counted together")
def _(counts):
    """You divide by the number of sentences of all data sets of the batch. But each data set has a
    ceiling of its own."""
    return counts.amax(dim=-1).sum(dim=-1) / counts.sum() + torch.zeros(len(counts))


def _orders(generator, *shape):
    return torch.rand(shape, generator=generator).argsort(dim=-1)


reach = Exercise(
    "5.8",
    "What a token can have heard of",
    hints=[
        "Follow one token. After the first layer, it knows itself and the tokens that its mask "
        "allows. In the second layer, it hears everything that the tokens it sees there already "
        "know.",
        "Token i knows token j after a layer if i may see some token m that knew j before. This is "
        "a matrix product in which any non-zero number means yes.",
        "Start with the identity. For each layer in turn, multiply by (mask or identity) from the "
        "left, and compare the result with 0.",
    ],
)


def _with_self(masks):
    return masks | torch.eye(masks.shape[-1], dtype=torch.bool)


def _compose(masks):
    known = torch.eye(masks.shape[-1])
    for mask in masks.float().unbind(dim=-3):
        known = (mask @ known > 0).float()
    return known.bool()


@reach.solution
def _(masks):
    return _compose(_with_self(masks))


@reach.inputs
def _(generator):
    small = torch.zeros(1, 2, 3, 3, dtype=torch.bool)
    small[0, 0, 1, 0] = small[0, 1, 2, 1] = True
    yield (small,)
    window = torch.ones(5, 5).tril() - torch.ones(5, 5).tril(-2)
    yield (window.bool().expand(1, 2, 5, 5).clone(),)
    yield (torch.ones(1, 3, 16, 16, dtype=torch.bool),)  # 256 paths, which are 0 in a byte
    for batch, layers, length in [(2, 1, 5), (2, 3, 6), (3, 3, 4), (2, 2, 1)]:
        shape = (batch, layers, length, length)
        yield (torch.rand(shape, generator=generator) < 1 / length,)


@reach.holds("Every token knows itself.")
def _(f, masks):
    own = f(masks).diagonal(dim1=-2, dim2=-1)
    if not own.all():
        token = (~own).nonzero()[0, -1].item()
        return f"Token {token} does not know itself (tokens are counted from 0)."


@reach.holds("If all layers look back only, no token ever knows of a later one.")
def _(f, masks):
    leak = f(masks.tril()).triu(1)
    if leak.any():
        _, i, j = leak.nonzero()[0].tolist()
        return f"Token {i} knows token {j} (tokens are counted from 0)."


@reach.mistake("all masks combined")
def _(masks):
    """You ask whether any layer lets i see j. But in a later layer, a token also hears what another
    token has heard before."""
    return _with_self(masks).any(dim=-3)


@reach.mistake("only what every layer allows")
def _(masks):
    """You ask whether all layers let i see j. But a token keeps what it has heard once, and need
    not hear it again."""
    return _with_self(masks).all(dim=-3)


@reach.mistake("the residual connection forgotten")
def _(masks):
    """You multiply the masks as they are. In a layer whose mask does not let a token see itself,
    the token then forgets everything that it knew."""
    return _compose(masks)


@reach.mistake("the layers in reverse")
def _(masks):
    """You multiply the layers from the wrong side. News then travels through the last layer first
    and through the first layer last."""
    return _compose(_with_self(masks).flip(-3))


@reach.mistake("rows and columns exchanged")
def _(masks):
    """You return the matrix with rows and columns exchanged. Row i then says which tokens have
    heard of token i."""
    return _compose(_with_self(masks)).mT


@reach.mistake("the last layer only")
def _(masks):
    """You look only at the last mask. But the tokens that it lets through have already heard of
    others in the layers below."""
    return _with_self(masks)[..., -1, :, :]


@reach.mistake("the first layer repeated")
def _(masks):
    """You use the first mask for every layer. But each layer has a mask of its own."""
    return _compose(_with_self(masks)[..., :1, :, :].expand_as(masks))


@reach.mistake("any number of layers")
def _(masks):
    """You follow the links until nothing new turns up. But news takes only one step in each layer,
    and only along the links of that layer."""
    anywhere = _with_self(masks).any(dim=-3, keepdim=True)
    length = masks.shape[-1]
    shape = (*masks.shape[:-3], length, length, length)
    return _compose(anywhere.expand(shape))


no_order_map = MultipleChoice(
    "5.9",
    "The layer that knows no order",
    hints=[
        "What can differ between the first *the* and the second if the layer knows nothing "
        "about their places?",
        "The word *the* is in two rows and in two columns. Compare the rows, and then the columns.",
    ],
    answer="B",
    figure=True,
    because="Without positions and without a mask, both *the* ask with the same query and are "
    "found by the same key. So their rows are equal, and so are their columns.",
)
no_order_map.wrong_option(
    "A",
    "no positions, but a mask",
    "Wherever both *the* are seen, they get equal weights, so this layer has no positions. But "
    "every word gives the weight 0 to the words after it.",
)
no_order_map.wrong_option(
    "C",
    "equal columns are enough",
    "Both *the* have equal columns, so their keys are the same. But their rows differ, so "
    "their queries depend on the place.",
)
no_order_map.wrong_option(
    "D",
    "each place has weights of its own",
    "You expected two places to have different weights. But they hold the same word, and only "
    "something that marks the places can make its rows and its columns differ.",
)


even_window_attention = Exercise(
    "5.10",
    "A window that shares evenly",
    hints=[
        "With equal scores, a token gives each token of its window the same weight. How large is "
        "this weight at the start of the sentence, and how large is it later?",
        "The output is a mean, that is, a sum over the window, divided by the number of tokens in "
        "the window. `cumsum` gives the sums from the start up to each token.",
        "Subtract the sum of the values that have left the window. To get these sums, move the "
        "sums of `cumsum` down by `window` places, and put zeros in front.",
    ],
    differentiable=True,
)


def _in_window(length, before, after=0):
    """Whether j is one of ``before`` places before i, i itself, or ``after`` places after it."""
    place = torch.arange(length)
    back = place[:, None] - place
    return (back <= before) & (back >= -after)


def _share(allowed, value):
    weights = allowed / allowed.sum(dim=-1, keepdim=True).clamp_min(1)
    return weights @ value


@even_window_attention.solution
def _(value, window):
    return _share(_in_window(value.shape[-2], window - 1), value)


@even_window_attention.inputs
def _(generator):
    yield torch.tensor([[[6.0], [2.0], [1.0], [5.0]]]), 2
    for shape, window in [
        ((2, 7, 3), 3),
        ((3, 4, 4), 9),
        ((3, 1, 6, 2), 1),
        ((2, 1, 3), 2),
        ((2, 9, 5), 4),
    ]:
        yield torch.randn(shape, generator=generator), window


@even_window_attention.holds("The last output has an equal share of each value in its window.")
def _(f, value, window):
    length = value.shape[-2]
    inside = min(window, length)
    shares = torch.zeros(length)
    shares[-inside:] = 1 / inside
    found = f(torch.eye(length)[None], window)[0, -1]
    return changed(shares, found, "one share should be {}, but is {}")


@even_window_attention.holds("A later value never changes an earlier output.")
def _(f, value, window):
    other = value.clone()
    other[..., -1, :] += 1e30  # shows however small its weight is
    return changed(
        f(value, window)[..., :-1, :],
        f(other, window)[..., :-1, :],
        "an earlier output goes from {} to {}",
    )


@even_window_attention.mistake("no window")
def _(value, window):
    """You average over all tokens so far, as a causal mask without a window does. But a window
    forgets the older tokens."""
    return _share(_in_window(value.shape[-2], value.shape[-2]), value)


@even_window_attention.mistake("one token too many")
def _(value, window):
    """You take `window` tokens before each token, and the token itself. But the token is already
    part of its own window."""
    return _share(_in_window(value.shape[-2], window), value)


@even_window_attention.mistake("without the token itself")
def _(value, window):
    """You average only over the earlier tokens of the window. But a causal mask lets a token see
    itself, too, and the first token sees nothing else."""
    allowed = _in_window(value.shape[-2], window - 1)
    return _share(allowed & ~_in_window(value.shape[-2], 0), value)


@even_window_attention.mistake("divided by the window even at the start")
def _(value, window):
    """You divide by `window` everywhere. But the windows of the first tokens have fewer tokens, so
    their weights add up to less than 1."""
    return _in_window(value.shape[-2], window - 1).float() @ value / window


@even_window_attention.mistake("the sum instead of the mean")
def _(value, window):
    """You add up the values of the window, as if each weight were 1. But softmax makes the weights
    of each row add up to 1."""
    return _in_window(value.shape[-2], window - 1).float() @ value


@even_window_attention.mistake("divided by the number of tokens so far")
def _(value, window):
    """You divide by the number of all tokens so far. But tokens that have left the window take no
    share, so the weights of later rows add up to less than 1."""
    sums = _in_window(value.shape[-2], window - 1).float() @ value
    return sums / torch.arange(1.0, value.shape[-2] + 1)[:, None]


@even_window_attention.mistake("looking ahead")
def _(value, window):
    """You average over each token and the tokens after it. But the mask of a decoder looks back,
    not ahead."""
    return _share(_in_window(value.shape[-2], 0, window - 1), value)


@even_window_attention.mistake("a window to both sides")
def _(value, window):
    """Your window reaches to both sides, like the window of a convolution. The outputs then know
    words that have not been written yet."""
    return _share(_in_window(value.shape[-2], window - 1, window - 1), value)


@even_window_attention.mistake("along the features")
def _(value, window):
    """You average along the last axis, over the features of one token. But the tokens are on the
    axis before it, so no token ever hears of another one."""
    return _share(_in_window(value.shape[-1], window - 1), value.mT).mT


order_blind_part = Exercise(
    "5.12",
    "What survives all orders",
    hints=[
        "Whatever the order, an entry on the diagonal stays on the diagonal, because row and "
        "column are reordered alike. Which places can the entry reach, and how often does it reach "
        "each of them?",
        "Over all orders, an entry off the diagonal visits every place off the diagonal equally "
        "often. So all these places get the same average.",
        "On the diagonal, put the mean of its L entries. Off the diagonal, put the mean of the "
        "other L² − L entries.",
    ],
)


def _two_numbers(on, off, length):
    """``on`` on the diagonal and ``off`` beside it: (..., length, length)."""
    identity = torch.eye(length)
    return on[..., None, None] * identity + off[..., None, None] * (1 - identity)


def _trace(mixing):
    return mixing.diagonal(dim1=-2, dim2=-1).sum(dim=-1)


@order_blind_part.solution
def _(mixing):
    length, on = mixing.shape[-1], _trace(mixing)
    off = (mixing.sum(dim=(-2, -1)) - on) / (length * (length - 1))
    return _two_numbers(on / length, off, length)


@order_blind_part.inputs
def _(generator):
    yield (torch.tensor([[[3.0, 4.0, 0.0], [2.0, 0.0, 1.0], [4.0, 1.0, 6.0]]]),)
    yield (torch.tensor([[1.0, 4.0, 0.0], [2.0, 5.0, 3.0], [6.0, 0.0, 3.0]]),)
    for shape in [(1, 2, 2), (2, 4, 4), (3, 1, 9, 9)]:
        yield (torch.randn(shape, generator=generator),)


@order_blind_part.holds("Reordering rows and columns alike changes nothing.")
def _(f, mixing):
    part = f(mixing)
    order = torch.arange(mixing.shape[-1])
    order[0], order[-1] = order[-1].item(), order[0].item()
    return changed(
        part,
        part[..., order, :][..., order],
        "with the first and the last token exchanged {} becomes {}",
    )


@order_blind_part.holds("The sum of the diagonal and the sum of all entries stay the same.")
def _(f, mixing):
    part = f(mixing)
    for name, measure in (("diagonal", _trace), ("whole matrix", lambda m: m.sum(dim=(-2, -1)))):
        found = changed(measure(mixing), measure(part), f"the {name} goes from {{}} to {{}}")
        if found:
            return found


@order_blind_part.mistake("the mean of all entries everywhere")
def _(mixing):
    """You put the same mean everywhere. But an entry on the diagonal never leaves the diagonal, so
    the two kinds of places do not mix."""
    average = mixing.mean(dim=(-2, -1), keepdim=True)
    return average.expand_as(mixing).clone()


@order_blind_part.mistake("nothing off the diagonal")
def _(mixing):
    """You keep the diagonal and set the rest to 0. But what a token takes from the other tokens
    does not vanish in the average. It is only the same for all of them."""
    length = mixing.shape[-1]
    on = _trace(mixing) / length
    return _two_numbers(on, torch.zeros_like(on), length)


@order_blind_part.mistake("divided by all places")
def _(mixing):
    """You add up the entries off the diagonal and divide by the number of all places. But there are
    fewer places off the diagonal than that."""
    length, on = mixing.shape[-1], _trace(mixing)
    off = (mixing.sum(dim=(-2, -1)) - on) / length**2
    return _two_numbers(on / length, off, length)


@order_blind_part.mistake("the diagonal counted among the rest")
def _(mixing):
    """For the places off the diagonal, you take the mean of all entries. But the entries on the
    diagonal never get there."""
    length = mixing.shape[-1]
    on = _trace(mixing) / length
    return _two_numbers(on, mixing.mean(dim=(-2, -1)), length)


@order_blind_part.mistake("the diagonal left as it was")
def _(mixing):
    """You average only off the diagonal. But when the tokens trade places, what each token keeps of
    itself moves along with it."""
    length, on = mixing.shape[-1], _trace(mixing)
    off = (mixing.sum(dim=(-2, -1)) - on) / (length * (length - 1))
    rest = _two_numbers(torch.zeros_like(off), off, length)
    return rest + mixing * torch.eye(length)


@order_blind_part.mistake("averaged with the transpose")
def _(mixing):
    """You average the matrix with its transpose. The result is symmetric, but each token is still
    in its old place."""
    return (mixing + mixing.mT) / 2


@order_blind_part.mistake("cyclic shifts only")
def _(mixing):
    """You average only over the orders that move the sentence round in a ring. In these orders,
    neighbours stay neighbours, and most other orders are left out."""
    length = mixing.shape[-1]
    shifts = [mixing.roll((s, s), (-2, -1)) for s in range(length)]
    return torch.stack(shifts).mean(dim=0)


@order_blind_part.mistake("only the rows reordered")
def _(mixing):
    """You reorder the outputs, but not the inputs. Rows and columns belong to the same tokens, so
    they must move together."""
    return mixing.mean(dim=-2, keepdim=True).expand_as(mixing).clone()


@order_blind_part.mistake("the sum instead of the average")
def _(mixing):
    """You add up all orders and do not divide by their number. Your result is too large by this
    factor, which grows with every further token."""
    length, on = mixing.shape[-1], _trace(mixing)
    off = (mixing.sum(dim=(-2, -1)) - on) / (length * (length - 1))
    return math.factorial(length) * _two_numbers(on / length, off, length)


set_summary = Suspects(
    "5.13",
    "One vector for a set of any size",
    hints=[
        "What must not change the summary of a set? But a function that never looks at the query "
        "would have these properties, too. Which test does it fail?",
        "You need a result that you know. Choose a query and elements whose scores you can work "
        "out in your head. With d = 4, the divisor √d is 2.",
        "Two elements with the scores 0 and log 3 get the weights 1/4 and 3/4.",
    ],
)


def _real(x, lengths):
    return torch.arange(x.shape[1]) < lengths[:, None]  # (batch, n)


def _scores(query, x):
    return x @ query / math.sqrt(len(query))  # (batch, n)


def _mix(weights, x):
    return (weights[:, None] @ x)[:, 0]


@set_summary.wrong("sets the weights of the padding to 0 after softmax")
def _(query, x, lengths):
    return _mix(_scores(query, x).softmax(dim=-1) * _real(x, lengths), x)


@set_summary.wrong("gives the padding a score of 0")
def _(query, x, lengths):
    return _mix((_scores(query, x) * _real(x, lengths)).softmax(dim=-1), x)


@set_summary.right("loops over the sets")
def _(query, x, lengths):
    sets = [rows[:length] for rows, length in zip(x, lengths.tolist(), strict=True)]
    return torch.stack([(rows @ query / len(query) ** 0.5).softmax(dim=0) @ rows for rows in sets])


@set_summary.right("gives the padding a score of −∞")
def _(query, x, lengths):
    scores = _scores(query, x).masked_fill(~_real(x, lengths), -math.inf)
    return _mix(scores.softmax(dim=-1), x)


@set_summary.wrong("does not divide the scores by √d")
def _(query, x, lengths):
    scores = (x @ query).masked_fill(~_real(x, lengths), -math.inf)
    return _mix(scores.softmax(dim=-1), x)


@set_summary.right("divides the query instead of the scores")
def _(query, x, lengths):
    scores = x @ (query / math.sqrt(len(query)))
    return _mix(scores.where(_real(x, lengths), -1e9).softmax(dim=-1), x)


@set_summary.right("computes in double precision, and rounds at the end", kept_back=True)
def _(query, x, lengths):
    x = x.double()
    scores = _scores(query.double(), x).masked_fill(~_real(x, lengths), -math.inf)
    return _mix(scores.softmax(dim=-1), x).to(query)


@set_summary.wrong("divides the scores by √n instead of √d", kept_back=True)
def _(query, x, lengths):
    scores = x @ query / math.sqrt(x.shape[1])
    return _mix(scores.masked_fill(~_real(x, lengths), -math.inf).softmax(dim=-1), x)


@set_summary.wrong("divides the scores of a set by the root of its size", kept_back=True)
def _(query, x, lengths):
    scores = x @ query / lengths[:, None].sqrt()
    return _mix(scores.masked_fill(~_real(x, lengths), -math.inf).softmax(dim=-1), x)


@set_summary.wrong("gives all sets of a batch the size of the smallest", kept_back=True)
def _(query, x, lengths):
    scores = _scores(query, x).masked_fill(~_real(x, lengths.min()[None]), -math.inf)
    return _mix(scores.softmax(dim=-1), x)


@set_summary.wrong("averages the elements, whatever the query is", kept_back=True)
def _(query, x, lengths):
    return _mix(_real(x, lengths) / lengths[:, None].to(x), x)


@set_summary.wrong("returns the element with the largest score", kept_back=True)
def _(query, x, lengths):
    scores = _scores(query, x).masked_fill(~_real(x, lengths), -math.inf)
    return x[torch.arange(len(x)), scores.argmax(dim=-1)]


@set_summary.wrong("leaves out the last element of each larger set", kept_back=True)
def _(query, x, lengths):
    real = _real(x, (lengths - 1).clamp_min(1))
    return _mix(_scores(query, x).masked_fill(~real, -math.inf).softmax(dim=-1), x)


@set_summary.wrong("gives all sets of a batch the length of the first", kept_back=True)
def _(query, x, lengths):
    real = _real(x, lengths[:1])
    return _mix(_scores(query, x).masked_fill(~real, -math.inf).softmax(dim=-1), x)


@set_summary.wrong("takes each row of zeros for padding, and ignores `lengths`", kept_back=True)
def _(query, x, lengths):
    scores = _scores(query, x).masked_fill((x == 0).all(dim=-1), -1e9)
    return _mix(scores.softmax(dim=-1), x)


@set_summary.wrong("lets the sets of a batch share the weights", kept_back=True)
def _(query, x, lengths):
    scores = _scores(query, x).masked_fill(~_real(x, lengths), -1e9)
    weights = scores.softmax(dim=0) * _real(x, lengths)
    return _mix(weights, x)


@set_summary.wrong("uses the sigmoid of each score as its weight", kept_back=True)
def _(query, x, lengths):
    return _mix(_scores(query, x).sigmoid() * _real(x, lengths), x)


@set_summary.solution
def _(f):
    query = torch.tensor([2.0, 0.0, 0.0, 0.0])  # so a score is an element's first number
    x = torch.randn(2, 3, 4)
    x[0, :2, 0] = torch.tensor([0.0, math.log(3)])
    expected = torch.stack([x[0, 0] / 4 + x[0, 1] * 3 / 4, x[1, 0]])
    return torch.allclose(f(query, x, torch.tensor([2, 1])), expected, atol=1e-5)


def _a_batch():
    """A query and three sets with 4, 2 and 3 elements of five."""
    return torch.randn(4), torch.randn(3, 5, 4), torch.tensor([4, 2, 3])


def _other_padding(x, lengths):
    return x.where(_real(x, lengths)[..., None], torch.randn(x.shape))


def _other_order(x, lengths):
    places = torch.arange(x.shape[1]).expand(x.shape[:2])
    turned = torch.where(_real(x, lengths), lengths[:, None] - 1 - places, places)
    return x.gather(1, turned[..., None].expand(x.shape))


def _equal_elements(f):
    query, x, lengths = _a_batch()
    x = torch.where(_real(x, lengths)[..., None], x[:, :1], x)
    return torch.allclose(f(query, x, lengths), x[:, 0], atol=1e-5)


@set_summary.mistake("only the order changed")
def _(f):
    """You test that the order of the elements changes nothing. But a function that does not look at
    the order can still look at the padding."""
    query, x, lengths = _a_batch()
    before, after = f(query, x, lengths), f(query, _other_order(x, lengths), lengths)
    return torch.allclose(before, after, atol=1e-5)


@set_summary.mistake("only the padding changed")
def _(f):
    """You test that the numbers in the padding change nothing. But a function that ignores the
    padding can still mix the elements in a wrong way."""
    query, x, lengths = _a_batch()
    before, after = f(query, x, lengths), f(query, _other_padding(x, lengths), lengths)
    return torch.allclose(before, after, atol=1e-5)


@set_summary.mistake("only equal elements")
def _(f):
    """Your test accepts any weights of the elements. For example, if all elements of a set are
    equal, the summary is this element, whichever weights they get."""
    return _equal_elements(f)


@set_summary.mistake("only each set by itself")
def _(f):
    """You compare the summary of a set in a batch with the summary of the same set alone. But a
    function can make the same mistake in both."""
    query, x, lengths = _a_batch()
    alone = [f(query, x[i : i + 1, :n], lengths[i : i + 1]) for i, n in enumerate(lengths.tolist())]
    return torch.allclose(f(query, x, lengths), torch.cat(alone), atol=1e-5)


def _nothing_changes(f):
    query, x, lengths = _a_batch()
    before = f(query, x, lengths)
    after = f(query, _other_order(_other_padding(x, lengths), lengths), lengths)
    return torch.allclose(before, after, atol=1e-5)


@set_summary.mistake("only what must change nothing")
def _(f):
    """You test that order and padding change nothing. But the result of a function that never looks
    at the query has these properties, too."""
    return _nothing_changes(f)


@set_summary.mistake("no scores with known weights")
def _(f):
    """You test that order and padding change nothing, and that the weights sum to 1. But a function
    that never looks at the query can have all these properties."""
    return _nothing_changes(f) and _equal_elements(f)


@set_summary.mistake("no padding")
def _(f):
    """Your sets have no padding. So your test can't see what a function does with it."""
    query, x, _ = _a_batch()
    return torch.allclose(
        f(query, x, torch.tensor([5, 5, 5])),
        _mix(_scores(query, x).softmax(dim=-1), x),
        atol=1e-5,
    )


@set_summary.mistake("padding of zeros")
def _(f):
    """Your padding consists of zeros. So your test can't see whether a function looks at
    `lengths`, or finds the padding by its zeros."""
    query, x, lengths = _a_batch()
    x = x * _real(x, lengths)[..., None]
    scores = _scores(query, x).masked_fill(~_real(x, lengths), -math.inf)
    return torch.allclose(f(query, x, lengths), _mix(scores.softmax(dim=-1), x), atol=1e-5)


@set_summary.mistake("one set only")
def _(f):
    """Your batch has a single set, or sets of equal size. So your test can't see whether each set
    has its own length."""
    query, x, lengths = _a_batch()
    real = x[0, :4]
    expected = _scores(query, real).softmax(dim=-1) @ real
    return torch.allclose(f(query, x[:1], lengths[:1])[0], expected, atol=1e-5)


@set_summary.mistake("equal scores")
def _(f):
    """All elements of your sets have nearly the same score, as with a query of zeros. So your test
    can't see how weights depend on scores."""
    _, x, lengths = _a_batch()
    expected = _mix(_real(x, lengths) / lengths[:, None], x)
    return torch.allclose(f(torch.zeros(4), x, lengths), expected, atol=1e-5)


@set_summary.mistake("√d makes no difference")
def _(f):
    """Your test can't see whether a function divides by √d. For example, √d is 1 if the elements
    have a single feature."""
    x, lengths = torch.tensor([[[0.0], [math.log(3)], [5.0]]] * 2), torch.tensor([2, 1])
    expected = torch.tensor([[math.log(3) * 3 / 4], [0.0]])
    return torch.allclose(f(torch.ones(1), x, lengths), expected, atol=1e-5)
