"""Exercises of chapter 1, "How can a decoder look back?"."""

import math

import torch

from attnbook.exercises.compare import to_float
from attnbook.exercises.declare import Construction, Exercise, MultipleChoice, NumericAnswer
from attnbook.exercises.properties import changed
from attnbook.exercises.report import told_apart

cures_of_the_fixed_context = MultipleChoice(
    "1.0",
    "Cures of the fixed context",
    hints=[
        "How many bits does a number of six digits carry? Do 32 numbers have room for them?",
        "Even if there is room, packing and unpacking have to be learned.",
    ],
    answer="A",
    because="With twice the room or twice the training, part of the gap closes. With both, more "
    "than half of it closes. So the bottleneck is not a wall, but a price that is paid in "
    "parameters and steps.",
)
cures_of_the_fixed_context.wrong_option(
    "B",
    "the bottleneck taken for a lack of room",
    "This assumes that 32 numbers have no room for a long source. But six digits are about 20 "
    "bits, which need far less room than that. And with twice the room and the same training, most "
    "of the long numbers are still wrong.",
)
cures_of_the_fixed_context.wrong_option(
    "C",
    "the bottleneck taken for unfinished training",
    "This assumes that the model needs nothing but time. But after twice the steps, most of the "
    "long numbers are still wrong. Only many times the steps close more of the gap, and that is "
    "the price.",
)
cures_of_the_fixed_context.wrong_option(
    "D",
    "the bottleneck taken for a wall",
    "This assumes that a text that is too long can't pass through one vector, whatever the "
    "training. But six digits are about 20 bits, and 32 numbers have room for far more. With more "
    "room and more training, the model also gets far more of the long numbers right.",
)


number_of_weights = NumericAnswer(
    "1.1",
    "The size of an alignment map",
    answer=130.0,
    within=0.001,
    hints=[
        "The map has a row for each token that the decoder writes and a column for each token that "
        "the encoder reads.",
        "`END` is a token, too, on both sides.",
    ],
)
number_of_weights.wrong_value(
    "both END tokens forgotten",
    108.0,
    "You multiplied the numbers of words on the two sides. But the encoder also has a state for "
    "its END, and the decoder also looks back when it writes its own END.",
)
number_of_weights.wrong_value(
    "the END of the target forgotten",
    120.0,
    "You gave the map one row for each word of the target. But the decoder looks back once more, "
    "before it writes END.",
)
number_of_weights.wrong_value(
    "the END of the source forgotten",
    117.0,
    "You gave the map one column for each word of the source. But the encoder also reads END, and "
    "the decoder can look at the state of END.",
)
number_of_weights.wrong_value(
    "rows and columns added",
    23.0,
    "You added the number of target tokens and the number of source tokens. But each target token "
    "has a weight for each source token, so there are far more weights.",
)
number_of_weights.wrong_value(
    "the target against itself",
    169.0,
    "You counted target tokens against target tokens. That is attention within one sentence. Here "
    "the keys come from the source.",
)
number_of_weights.wrong_value(
    "the source against itself",
    100.0,
    "You counted source tokens against source tokens. That is attention within one sentence. Here "
    "the queries come from the target.",
)


context_vectors = Exercise(
    "1.2",
    "Context vectors of padded sources",
    hints=[
        "`torch.arange(n) < lengths[:, None]` is True for the real tokens: (batch, n).",
        "Padding must be hidden before softmax shares out the weight. Which energy gives a weight "
        "of exactly 0?",
        "Start with `energies.masked_fill(~is_real[:, None], -torch.inf)`. Then take softmax over "
        "the source, and after it the weighted sum.",
    ],
    differentiable=True,
)


def _is_real(memory, lengths):
    positions = torch.arange(memory.shape[1])
    return (positions < lengths[:, None])[:, None]  # (batch, 1, n)


def _attend(query, memory, visible):
    energies = (query @ memory.mT).masked_fill(~visible, -math.inf)
    return energies.softmax(dim=-1) @ memory


@context_vectors.solution
def _(query, memory, lengths):
    return _attend(query, memory, _is_real(memory, lengths))


@context_vectors.inputs
def _(generator):
    yield (
        torch.tensor([[[1.0, 0.0]]]),
        torch.tensor([[[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]]),
        torch.tensor([2]),
    )
    yield (  # low energies, and a padded state that shows in the result if it gets any weight
        torch.tensor([[[2.0, 0.0]]]),
        torch.tensor([[[-10.0, 1.0], [-10.5, 3.0], [0.0, 1e25]]]),
        torch.tensor([2]),
    )
    yield (  # energies of ±256
        torch.tensor([[[256.0, 0.0], [-256.0, 0.0]]]),
        torch.tensor([[[1.0, 1.0], [1 - 2**-8, 3.0], [0.0, 7.0]]]),
        torch.tensor([2]),
    )
    yield (  # padding that scores 300 more
        torch.tensor([[[10.0, 0.0]]]),
        torch.tensor([[[1.0, 1.0], [0.5, 3.0], [31.0, 7.0]]]),
        torch.tensor([2]),
    )
    for m, n, d, lengths in [(3, 5, 4, [5, 2]), (1, 4, 1, [1, 4, 3]), (4, 4, 3, [2, 3])]:
        yield (
            torch.randn(len(lengths), m, d, generator=generator),
            torch.randn(len(lengths), n, d, generator=generator),
            torch.tensor(lengths),
        )


@context_vectors.holds("Other numbers in the padding change nothing.")
def _(f, query, memory, lengths):
    real = _is_real(memory, lengths).mT  # (batch, n, 1)
    other = torch.where(real, memory, torch.full_like(memory, 7.0))
    return changed(
        f(query, memory, lengths),
        f(query, other, lengths),
        "with other padding a feature goes from {} to {}",
    )


@context_vectors.holds("A state whose energy is larger by log 3 counts three times as much.")
def _(f, query, memory, lengths):
    states = torch.tensor([[[math.log(3), 0.0, 1.0], [0.0, 0.0, 0.0]]])
    share = f(torch.tensor([[[1.0, 0.0, 0.0]]]), states, torch.tensor([2])).flatten()[-1].item()
    if not abs(share - 0.75) < 1e-4:
        return f"Its weight should be 0.75, but is {told_apart(share, 0.75)}."


@context_vectors.mistake("padding ignored")
def _(query, memory, lengths):
    """You attend to the padding as if it were text. The context then depends on how much padding a
    source gets, and so on the other sources of its batch."""
    return _attend(query, memory, torch.ones(1, 1, memory.shape[1], dtype=torch.bool))


@context_vectors.mistake("padded energies set to 0")
def _(query, memory, lengths):
    """You set the energies of padding to 0. But e⁰ = 1, so padding still gets weight. It even gets
    more than a real token with a negative energy."""
    energies = (query @ memory.mT).masked_fill(~_is_real(memory, lengths), 0.0)
    return energies.softmax(dim=-1) @ memory


@context_vectors.mistake("the mask applied after softmax")
def _(query, memory, lengths):
    """You remove the weights of padding after softmax has shared them out. The remaining weights
    sum to less than 1, and the context shrinks as the padding grows."""
    weights = (query @ memory.mT).softmax(dim=-1) * _is_real(memory, lengths)
    return weights @ memory


@context_vectors.mistake("the mask inverted")
def _(query, memory, lengths):
    """You hide the real tokens and show the padding. A source without padding then has nothing left
    to attend to."""
    return _attend(query, memory, ~_is_real(memory, lengths))


@context_vectors.mistake("one padded state too many")
def _(query, memory, lengths):
    """You let one state after the last real token take part. But positions are counted from 0, so a
    source of two tokens has the positions 0 and 1."""
    return _attend(query, memory, _is_real(memory, lengths + 1))


@context_vectors.mistake("the last real token hidden")
def _(query, memory, lengths):
    """You hide one token too many. The last real token is never looked at, and a source with a
    single token has nothing left to look at."""
    return _attend(query, memory, _is_real(memory, lengths - 1))


@context_vectors.mistake("softmax over the queries")
def _(query, memory, lengths):
    """You share out each state among the queries. But each query must share out its weight among
    the states, and your weights of one query don't sum to 1."""
    energies = query @ memory.mT
    weights = energies.softmax(dim=1) * _is_real(memory, lengths)
    return weights @ memory


@context_vectors.mistake("the plain mean of the states")
def _(query, memory, lengths):
    """You give every real token the same weight. Then the query plays no part, and every step of
    the decoder gets the same context."""
    weights = _is_real(memory, lengths) / lengths[:, None, None]
    return (weights @ memory).expand_as(query)


@context_vectors.mistake("no softmax")
def _(query, memory, lengths):
    """You mix the states with the energies themselves. But energies may be negative and sum to
    anything, so the result is not a weighted mean."""
    energies = (query @ memory.mT).masked_fill(~_is_real(memory, lengths), 0.0)
    return energies @ memory


@context_vectors.mistake("the energies scaled")
def _(query, memory, lengths):
    """You divide the energies by the root of the number of features. But the task asks for the
    plain dot product. With your energies, the weights are more even."""
    return _attend(query / math.sqrt(query.shape[-1]), memory, _is_real(memory, lengths))


@context_vectors.mistake("the exponentials of large energies")
def _(query, memory, lengths):
    """You take the exponentials of the energies as they are. The exponential of 256 is too large
    for the computer and becomes infinite, and infinity divided by infinity is NaN."""
    shares = (query @ memory.mT).exp() * _is_real(memory, lengths)
    return shares / shares.sum(dim=-1, keepdim=True) @ memory


@context_vectors.mistake("the padding included in the maximum")
def _(query, memory, lengths):
    """You subtract the largest energy of the whole row, padding included. Where padding has a far
    higher energy than the real states, the exponentials of the real states all become 0, and 0 / 0
    is NaN."""
    energies = query @ memory.mT
    shares = (energies - energies.amax(-1, keepdim=True)).exp() * _is_real(memory, lengths)
    return shares / shares.sum(dim=-1, keepdim=True) @ memory


german_looks = Construction(
    "1.3",
    "States that look in the German order",
    shape=(3, 2),
    hints=[
        "Call the features of the first state a and b, and write down its three energies. Which "
        "two of them must be the smaller ones?",
        "Energies may be negative, and only their differences count. To look at a token, a state "
        "need not point towards it. It can also point away from the others.",
    ],
)
german_looks.reference = torch.tensor([[-2.0, -2.0], [2.5, -1.5], [0.5, 2.9]])

_MEMORY = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 2.0]]).double()  # of Figure 1.3


def _looks(states):
    return (states @ _MEMORY.T).softmax(dim=-1)


def _too_weak(weights, token):
    """None if the token has at least 0.8 of the weights, else what it has instead."""
    if weights[token] >= 0.799:
        return None
    found = f"The weights are {weights[0]:.3f} for forty, {weights[1]:.3f} for -two and"
    return f"{found} {weights[2]:.3f} for END."


@german_looks.holds("The first state gives -two a weight of at least 0.8.")
def _(states):
    return _too_weak(_looks(states)[0], 1)


@german_looks.holds("The second state gives forty a weight of at least 0.8.")
def _(states):
    return _too_weak(_looks(states)[1], 0)


@german_looks.holds("The third state gives END a weight of at least 0.8.")
def _(states):
    return _too_weak(_looks(states)[2], 2)


@german_looks.holds("No state is longer than 3.")
def _(states):
    lengths = states.norm(dim=-1)
    if lengths.max() > 3.001:
        which = ("first", "second", "third")[lengths.argmax()]
        return f"The {which} state has a length of {lengths.max().item():.4g}."


@german_looks.wrong("the encoder's own states", example=[[0.0, 1.0], [2.0, 0.0], [1.0, 2.0]])
def _(states):
    """You repeat the states of the encoder. But a state need not have its largest energy with a
    copy of itself, because the energy also grows with the length."""
    return torch.allclose(states, _MEMORY[[1, 0, 2]])


@german_looks.wrong("pointing straight at -two", example=[[0.0, 3.0], [2.5, -1.5], [0.5, 2.9]])
def _(states):
    """Your first state points exactly in the direction of -two. But the state of END is longer and
    has a part in this direction, so its energy is larger."""
    return abs(states[0, 0]) < 0.05 * states[0, 1]


@german_looks.wrong("the English order", example=[[2.5, -1.5], [-3.0, 0.0], [0.5, 2.9]])
def _(states):
    """Your decoder looks at the tokens in the order in which they were read. A German number says
    its units before its tens."""
    return _looks(states)[:2].argmax(dim=-1).tolist() == [0, 1]


@german_looks.wrong("too long", example=[[-6.0, 0.0], [6.0, -3.0], [2.0, 6.0]])
def _(states):
    """Your decoder looks where it should, but some of its states are too long. A longer state makes
    the weights sharper, and the direction has to do more of the work here."""
    return _looks(states).argmax(dim=-1).tolist() == [1, 0, 2] and states.norm(dim=-1).max() > 3.001


concat_energy = Exercise(
    "1.4",
    "The concat energy for all pairs",
    hints=[
        "In [q; k] W, the first d_query rows of W meet the query, and the other rows meet the key. "
        "So the product is the sum of two products.",
        "`weight.split([d_query, d_key])` cuts W into these two parts.",
        "Give each part an axis of size 1, at different places, and the sum adds every query to "
        "every key: (..., m, 1, d_hidden) and (..., 1, n, d_hidden).",
    ],
    differentiable=True,
)


def _parts(query, key, weight):
    upper, lower = weight.split([query.shape[-1], key.shape[-1]])
    return (query @ upper).unsqueeze(-2), (key @ lower).unsqueeze(-3)


@concat_energy.solution
def _(query, key, weight, v):
    from_query, from_key = _parts(query, key, weight)
    return torch.tanh(from_query + from_key) @ v


@concat_energy.inputs
def _(generator):
    yield (
        torch.tensor([[1.0]]),
        torch.tensor([[0.5], [2.0]]),
        torch.tensor([[0.5], [-0.5]]),
        torch.tensor([2.0]),
    )
    for batch, m, n, d_query, d_key, d_hidden in [
        ((), 3, 5, 4, 2, 6),
        ((1,), 2, 1, 3, 5, 4),
        ((2, 1), 3, 3, 2, 2, 5),
    ]:
        yield (
            torch.randn(*batch, m, d_query, generator=generator),
            torch.randn(*batch, n, d_key, generator=generator),
            torch.randn(d_query + d_key, d_hidden, generator=generator) / 2,
            torch.randn(d_hidden, generator=generator),
        )


@concat_energy.holds("Where every tanh gives 1, the energy is the sum of v.")
def _(f, query, key, weight, v):
    energies = f(query.abs() + 1, key.abs() + 1, torch.full_like(weight, 100.0), v)
    return changed(v.sum().expand_as(energies), energies, "the sum is {}, but an energy is {}")


@concat_energy.holds(
    "If the rows of W that meet the query are 0, all queries have the same energies."
)
def _(f, query, key, weight, v):
    weight = weight.clone()
    weight[: query.shape[-1]] = 0.0
    energies = f(query, key, weight, v)
    return changed(
        energies[..., :1, :].expand_as(energies),
        energies,
        "one query has the energy {}, but another has {}",
    )


@concat_energy.mistake("the key in front of the query")
def _(query, key, weight, v):
    """You put the key first. The rows of W that are meant for the query then meet features of the
    key."""
    from_key, from_query = _parts(key, query, weight)  # (…, n, 1), (…, 1, m)
    return (torch.tanh(from_key + from_query) @ v).mT


@concat_energy.mistake("tanh left out")
def _(query, key, weight, v):
    """You leave out tanh. Then the energy is one number from the query plus one number from the
    key. Softmax ignores a number that is added for all keys alike, so the query no longer
    matters."""
    from_query, from_key = _parts(query, key, weight)
    return (from_query + from_key) @ v


@concat_energy.mistake("tanh after v")
def _(query, key, weight, v):
    """You apply tanh to the finished energy. Inside it, query and key are only added, so neither
    changes the effect of the other. And every energy lies between −1 and 1."""
    from_query, from_key = _parts(query, key, weight)
    return torch.tanh((from_query + from_key) @ v)


@concat_energy.mistake("v left out")
def _(query, key, weight, v):
    """You add up the hidden features without v. Then all features count the same, and no feature
    can count against a pair."""
    from_query, from_key = _parts(query, key, weight)
    return torch.tanh(from_query + from_key).sum(dim=-1)


@concat_energy.mistake("keys in the rows, queries in the columns")
def _(query, key, weight, v):
    """You put the keys in the rows and the queries in the columns. Softmax over a row would then
    share out one key among the queries."""
    from_query, from_key = _parts(query, key, weight)
    return (torch.tanh(from_query + from_key) @ v).mT


@concat_energy.mistake("a product instead of a sum")
def _(query, key, weight, v):
    """You multiply the query's part by the key's part. But when two vectors side by side are
    multiplied by a matrix, their two parts add up."""
    from_query, from_key = _parts(query, key, weight)
    return torch.tanh(from_query * from_key) @ v


@concat_energy.mistake("tanh of each part by itself")
def _(query, key, weight, v):
    """You apply tanh to each part and then add. Then neither query nor key changes the effect of
    the other, and every query would prefer the same key."""
    from_query, from_key = _parts(query, key, weight)
    return (torch.tanh(from_query) + torch.tanh(from_key)) @ v


@concat_energy.mistake("a sigmoid instead of tanh")
def _(query, key, weight, v):
    """You use the sigmoid instead of tanh. The sigmoid is never negative, so the energies are
    shifted and closer together."""
    from_query, from_key = _parts(query, key, weight)
    return torch.sigmoid(from_query + from_key) @ v


@concat_energy.mistake("softmax already applied")
def _(query, key, weight, v):
    """You return weights, that is, energies after softmax. The task asks for the energies before
    softmax."""
    from_query, from_key = _parts(query, key, weight)
    return (torch.tanh(from_query + from_key) @ v).softmax(dim=-1)


local_weights = Exercise(
    "1.6",
    "Attention within a window",
    hints=[
        "`torch.arange(n) - centres[..., None]` is the signed distance of every position from the "
        "centre of every row: (batch, m, n).",
        "Before softmax, set the energies outside the window to −∞. Their weights are then 0.",
        "The factor comes after softmax, and the weights are not normalised again. With σ = D/2, "
        "the exponent is −2 (j − p)² / D².",
    ],
    differentiable=True,
)


def _away(energies, centres):
    return torch.arange(energies.shape[-1]) - centres[..., None]


def _windowed(energies, away, D):
    return energies.masked_fill(away.abs() > D, -math.inf).softmax(dim=-1)


def _bell(away, sigma):
    return torch.exp(-(away**2) / (2 * sigma**2))


@local_weights.solution
def _(energies, centres, D):
    away = _away(energies, centres)
    return _windowed(energies, away, D) * _bell(away, D / 2)


@local_weights.inputs
def _(generator):
    yield torch.tensor([[[0.0, 1.0, 2.0, 0.0]]]), torch.tensor([[1.25]]), 1
    yield torch.tensor([[[0.0, 1.0, 2.0, 0.0]]]), torch.tensor([[1.0]]), 1
    large = torch.tensor([[[0.0, 150.0, 149.0, 300.0], [300.0, -150.0, -149.0, 0.0]]])
    yield large, torch.tensor([[1.25, 1.25]]), 1
    for batch, m, n, D in [(2, 3, 7, 2), (3, 1, 9, 3), (2, 5, 1, 1), (1, 6, 8, 2.5)]:
        place = torch.rand(batch, m, generator=generator) * (n - 1)
        yield torch.randn(batch, m, n, generator=generator), place, D


@local_weights.holds("Outside the window, every weight is exactly 0.")
def _(f, energies, centres, D):
    outside = _away(energies, centres).abs() > D
    low = torch.where(outside, 0.0, -80.0)  # even then
    for given in (energies, low):
        found = f(given, centres, D)[outside].abs()
        if found.numel() and found.max() > 0:
            return f"One weight there is {found.max().item():.3g}."


@local_weights.holds(
    "If softmax gives all its weight to one position, the result there is the height of the bell."
)
def _(f, energies, centres, D):
    away = _away(energies, centres)
    first = (away.abs() <= D).int().argmax(dim=-1, keepdim=True)
    found = f(torch.zeros_like(energies).scatter(-1, first, 60.0), centres, D)
    bell = _bell(away.gather(-1, first), D / 2)
    return changed(bell, found.gather(-1, first), "the bell is {}, but the weight is {}")


@local_weights.mistake("normalised again at the end")
def _(energies, centres, D):
    """You make the rows sum to 1 again, or put the bell into softmax, which does the same. But here
    the bell must take weight away, and the more of it, the further the looks are from the
    centre."""
    away = _away(energies, centres)
    weights = _windowed(energies, away, D) * _bell(away, D / 2)
    return weights / weights.sum(dim=-1, keepdim=True)


@local_weights.mistake("the window cut out after softmax")
def _(energies, centres, D):
    """You let all positions take part in softmax and remove those outside the window afterwards.
    Energies that should be hidden have then taken weight from the window."""
    away = _away(energies, centres)
    weights = energies.softmax(dim=-1) * (away.abs() <= D)
    return weights * _bell(away, D / 2)


@local_weights.mistake("the edge of the window left out")
def _(energies, centres, D):
    """You exclude positions exactly D away from the centre. But the window of the task includes its
    edges."""
    away = _away(energies, centres)
    inside = energies.masked_fill(away.abs() >= D, -math.inf).softmax(dim=-1)
    return inside * _bell(away, D / 2)


@local_weights.mistake("no window")
def _(energies, centres, D):
    """You let all positions take part and rely on the bell. But the bell never reaches 0, however
    far away a position is, and softmax still sees every energy."""
    away = _away(energies, centres)
    return energies.softmax(dim=-1) * _bell(away, D / 2)


@local_weights.mistake("no bell")
def _(energies, centres, D):
    """You cut out the window, but leave out the bell. The middle of the window is then not
    favoured, and no gradient tells the centre where to move."""
    return _windowed(energies, _away(energies, centres), D)


@local_weights.mistake("σ = D")
def _(energies, centres, D):
    """You take D itself for σ. The bell is then twice as wide as it should be, and hardly falls
    within the window."""
    away = _away(energies, centres)
    return _windowed(energies, away, D) * _bell(away, D)


@local_weights.mistake("the 2 in the exponent forgotten")
def _(energies, centres, D):
    """You divide the squared distance by σ² alone. The bell then falls too steeply."""
    away = _away(energies, centres)
    return _windowed(energies, away, D) * torch.exp(-((away / (D / 2)) ** 2))


@local_weights.mistake("the distance not squared")
def _(energies, centres, D):
    """You use the distance instead of its square. The bell then has a sharp peak and is too low
    near the centre."""
    away = _away(energies, centres).abs()
    return _windowed(energies, away, D) * torch.exp(-away / (2 * (D / 2) ** 2))


@local_weights.mistake("the centre rounded to a position")
def _(energies, centres, D):
    """You round the centre to a whole position. The weights then jump when the centre moves, and
    training can't move it by a small step."""
    away = _away(energies, centres.round())
    return _windowed(energies, away, D) * _bell(away, D / 2)


@local_weights.mistake("energies outside set to 0")
def _(energies, centres, D):
    """You set the energies outside the window to 0 before softmax. But e⁰ = 1, so the positions
    outside still take weight, and too little is left inside the window."""
    away = _away(energies, centres)
    inside = energies.masked_fill(away.abs() > D, 0.0).softmax(dim=-1)
    return inside * (away.abs() <= D) * _bell(away, D / 2)


@local_weights.mistake("energies multiplied by the bell")
def _(energies, centres, D):
    """You multiply the energies by the bell before softmax. A negative energy then gets larger the
    further away it is, so weights that should shrink grow instead."""
    away = _away(energies, centres)
    return _windowed(energies * _bell(away, D / 2), away, D)


@local_weights.mistake("the exponentials of large energies")
def _(energies, centres, D):
    """You take the exponentials of the energies as they are. The exponential of 150 is too large
    for the computer and becomes infinite, and infinity divided by infinity is NaN."""
    away = _away(energies, centres)
    shares = energies.exp() * (away.abs() <= D)
    return shares / shares.sum(dim=-1, keepdim=True) * _bell(away, D / 2)


crossing_share = Exercise(
    "1.8",
    "How often the look goes back",
    hints=[
        "`weights.argmax(dim=-1)` gives one place for each row: (..., m).",
        "Compare all places with all: `places[..., :, None] > places[..., None, :]` is True at "
        "(t, u) if t looks further to the right than u.",
        "Each pair of target tokens occurs twice in this table, and only the entries with t before "
        "u count. `triu(diagonal=1)` keeps them. With m tokens, there are m (m − 1) / 2 pairs.",
    ],
)


def _pairs(m):
    return m * (m - 1) / 2


def _crossings(places):
    table = places[..., :, None] > places[..., None, :]
    return table.triu(diagonal=1).sum(dim=(-2, -1))


@crossing_share.solution
def _(weights):
    return _crossings(weights.argmax(dim=-1)) / _pairs(weights.shape[-2])


@crossing_share.inputs
def _(generator):
    yield (torch.tensor([[[0.1, 0.3, 0.6], [0.7, 0.1, 0.2], [0.2, 0.1, 0.7]]]),)
    for shape in [(3, 4, 5), (2, 6, 4), (4, 5, 7), (2, 2, 1), (2, 1, 4, 4)]:
        yield ((1.5 * torch.randn(shape, generator=generator)).softmax(dim=-1),)


@crossing_share.holds("Looks at the places 2, 0 and 1 cross in two of three pairs.")
def _(f, weights):
    found = f(torch.eye(3)[[2, 0, 1]][None]).item()
    if not abs(found - 2 / 3) < 1e-4:
        return f"You return {told_apart(found, 2 / 3)}."


@crossing_share.holds("Sharper weights with the same order change nothing.")
def _(f, weights):
    sharper = weights**3 / (weights**3).sum(dim=-1, keepdim=True)
    return changed(f(weights), f(sharper), "the share goes from {} to {}")


@crossing_share.mistake("each pair counted twice in the total")
def _(weights):
    """You divide by m (m − 1), the number of ordered pairs. But each pair of tokens can cross only
    once, so your share never exceeds one half."""
    m = weights.shape[-2]
    return _crossings(weights.argmax(dim=-1)) / (m * (m - 1))


@crossing_share.mistake("two looks at one place counted as crossing")
def _(weights):
    """You also count pairs that look at the same place. One source word that belongs to three
    target words would then seem to reverse the order."""
    places = weights.argmax(dim=-1)
    table = places[..., :, None] >= places[..., None, :]
    count = table.triu(diagonal=1).sum(dim=(-2, -1))
    return count / _pairs(weights.shape[-2])


@crossing_share.mistake("only neighbouring target tokens compared")
def _(weights):
    """You compare each target token only with the next one. But two tokens can also cross if there
    are others between them."""
    places = weights.argmax(dim=-1)
    return (places[..., :-1] > places[..., 1:]).float().mean(dim=-1)


@crossing_share.mistake("the share of pairs that go forward")
def _(weights):
    """You count the pairs whose later token looks further to the right. But these pairs keep the
    order of the source."""
    places = weights.argmax(dim=-1)
    return _crossings(-places) / _pairs(weights.shape[-2])


@crossing_share.mistake("each pair counted in both orders")
def _(weights):
    """You count the whole table. It contains every pair twice, once in each order, so pairs that do
    not cross are counted as well."""
    places = weights.argmax(dim=-1)
    table = places[..., :, None] > places[..., None, :]
    return table.sum(dim=(-2, -1)) / _pairs(weights.shape[-2])


@crossing_share.mistake("divided by m squared")
def _(weights):
    """You divide by the number of entries in the table. But a token makes no pair with itself, and
    each pair must count only once. Even a full reversal gets less than one half from you."""
    return _crossings(weights.argmax(dim=-1)) / weights.shape[-2] ** 2


@crossing_share.mistake("the number instead of the share")
def _(weights):
    """You return the number of pairs that cross. But long targets have more pairs, so this number
    can't be compared between sentences."""
    return _crossings(weights.argmax(dim=-1)).float()


@crossing_share.mistake("the expected position instead of the largest weight")
def _(weights):
    """You compare the mean positions of the looks. A row that gives half of its weight to each end
    of the source then seems to look at the middle."""
    positions = torch.arange(weights.shape[-1], dtype=weights.dtype)
    return _crossings(weights @ positions) / _pairs(weights.shape[-2])


@crossing_share.mistake("the largest weight of each column")
def _(weights):
    """You find the target token that looks most at each source token. But the task asks where each
    target token looks."""
    return _crossings(weights.argmax(dim=-2)) / _pairs(weights.shape[-1])


gated_step = Exercise(
    "1.9",
    "A gated step",
    hints=[
        "`torch.cat([x, h], dim=-1)` puts the input and the state side by side. The result has the "
        "shape (batch, d_in + d).",
        "Both matrices are applied to the same pair. The sigmoid belongs to the gate, the tanh to "
        "the candidate.",
        "Mix feature by feature. The gate is the share of the old state, and the rest is the share "
        "of the candidate.",
    ],
    differentiable=True,
)


def _pair(x, h):
    return torch.cat([x, h], dim=-1)


@gated_step.solution
def _(x, h, gate, candidate):
    keep = torch.sigmoid(_pair(x, h) @ gate)
    return keep * h + (1 - keep) * torch.tanh(_pair(x, h) @ candidate)


@gated_step.inputs
def _(generator):
    yield (
        torch.tensor([[1.0]]),
        torch.tensor([[3.0]]),
        torch.tensor([[1.0], [-0.5]]),
        torch.tensor([[0.5], [0.25]]),
    )
    for batch, d_in, d in [(2, 3, 4), (3, 5, 2), (4, 1, 1)]:
        shapes = (batch, d_in), (batch, d), (d_in + d, d), (d_in + d, d)
        x, h, gate, candidate = (torch.randn(shape, generator=generator) for shape in shapes)
        yield x, 2 * h, gate / 2, candidate / 2


@gated_step.holds("A gate that is fully open (u = 1) keeps the old state.")
def _(f, x, h, gate, candidate):
    x, h = x.abs() + 0.1, h.abs() + 0.1
    open_gate = torch.full_like(gate, 300.0)
    return changed(h, f(x, h, open_gate, candidate), "a feature goes from {} to {}")


@gated_step.holds("A closed gate (u = 0) forgets, and the new state is the candidate.")
def _(f, x, h, gate, candidate):
    x, h = x.abs() + 0.1, h.abs() + 0.1
    return changed(
        torch.tanh(_pair(x, h) @ candidate),
        f(x, h, torch.full_like(gate, -300.0), candidate),
        "a feature of the candidate is {}, but in the new state it is {}",
    )


@gated_step.mistake("the gate used the wrong way round")
def _(x, h, gate, candidate):
    """You let u choose the candidate and 1 − u the old state. A gate near 1 should keep the old
    state, but yours forgets it."""
    keep = torch.sigmoid(_pair(x, h) @ gate)
    return (1 - keep) * h + keep * torch.tanh(_pair(x, h) @ candidate)


@gated_step.mistake("the state in front of the input")
def _(x, h, gate, candidate):
    """You put h before x. The rows of both matrices then meet the wrong features. PyTorch does not
    complain, because the sizes still fit."""
    both = torch.cat([h, x], dim=-1)
    keep = torch.sigmoid(both @ gate)
    return keep * h + (1 - keep) * torch.tanh(both @ candidate)


@gated_step.mistake("tanh for the gate")
def _(x, h, gate, candidate):
    """You squeeze the gate with tanh, which gives numbers between −1 and 1. But a share can't be
    negative. With a negative share, the state may grow or change its sign."""
    keep = torch.tanh(_pair(x, h) @ gate)
    return keep * h + (1 - keep) * torch.tanh(_pair(x, h) @ candidate)


@gated_step.mistake("a sigmoid for the candidate")
def _(x, h, gate, candidate):
    """You squeeze the candidate into numbers between 0 and 1. Whenever the old state is forgotten,
    no feature of the new one can then be negative."""
    keep = torch.sigmoid(_pair(x, h) @ gate)
    return keep * h + (1 - keep) * torch.sigmoid(_pair(x, h) @ candidate)


@gated_step.mistake("the candidate not squeezed")
def _(x, h, gate, candidate):
    """You mix in the candidate without tanh. Over many steps, the features of the state can then
    grow without limit."""
    keep = torch.sigmoid(_pair(x, h) @ gate)
    return keep * h + (1 - keep) * (_pair(x, h) @ candidate)


@gated_step.mistake("the candidate added in full")
def _(x, h, gate, candidate):
    """You keep a share of the old state and add all of the candidate. The two shares then sum to
    more than 1."""
    keep = torch.sigmoid(_pair(x, h) @ gate)
    return keep * h + torch.tanh(_pair(x, h) @ candidate)


@gated_step.mistake("the old state kept in full")
def _(x, h, gate, candidate):
    """You keep all of the old state and add a share of the candidate. Then nothing is ever
    forgotten, and the state can grow with every step."""
    keep = torch.sigmoid(_pair(x, h) @ gate)
    return h + (1 - keep) * torch.tanh(_pair(x, h) @ candidate)


@gated_step.mistake("the gate ignores the old state")
def _(x, h, gate, candidate):
    """You compute the gate from the input alone. But what to keep also depends on what is already
    there, so the gate needs the old state, too."""
    keep = torch.sigmoid(x @ gate[: x.shape[-1]])
    return keep * h + (1 - keep) * torch.tanh(_pair(x, h) @ candidate)


layers_needed = Exercise(
    "1.10",
    "How many layers of convolution it takes",
    hints=[
        "How far does a single layer see to one side if its window has 3 tokens? And if it has 5?",
        "Each further layer adds the same reach. To get the smallest number of layers, divide and "
        "round up.",
    ],
)


def _reach(window):
    return (window - 1) // 2


@layers_needed.solution
def _(distance, window):
    return math.ceil(distance / _reach(window))


@layers_needed.inputs
def _(generator):
    yield 4, 7
    yield from [(2, 3), (5, 7), (7, 7), (1, 9), (8, 5), (64, 3), (64, 9), (100, 7)]


@layers_needed.holds("With that many layers, a change arrives; with fewer, it does not.")
def _(f, distance, window):
    layers, reach = to_float(f(distance, window)), _reach(window)
    seen = layers * reach
    if not distance <= seen + 1e-4:
        return (
            f"You return {layers:g}, but with a window of {window}, so many layers see only "
            f"{seen:g} tokens away, not {distance}."
        )
    if (layers - 1) * reach >= distance:
        return (
            f"For a distance of {distance} and a window of {window}, you return "
            f"{layers:g}, but fewer layers are enough."
        )


@layers_needed.holds("It is a whole number.")
def _(f, distance, window):
    layers = to_float(f(distance, window))
    if not min(layers % 1, -layers % 1) < 1e-4:
        return f"For distance={distance} and window={window}, you return {layers:.7g}."


@layers_needed.mistake("rounded down")
def _(distance, window):
    """You round down. Then the last part of the way is not covered."""
    return distance // _reach(window)


@layers_needed.mistake("rounded to the nearest")
def _(distance, window):
    """You round to the nearest whole number. Where less than half a layer is left over, you drop
    it, and the last part of the way is not covered."""
    return round(distance / _reach(window))


@layers_needed.mistake("not rounded")
def _(distance, window):
    """You return a fraction. But a model can't have half a layer, and its layers must cover the
    whole way."""
    return distance / _reach(window)


@layers_needed.mistake("always one more")
def _(distance, window):
    """You divide, round down and add 1. Where the division has no remainder, this is one layer too
    many."""
    return distance // _reach(window) + 1


@layers_needed.mistake("the whole window as reach")
def _(distance, window):
    """You let a layer reach as far as its window is wide. But the window lies on both sides of a
    position and contains the position itself."""
    return math.ceil(distance / window)


@layers_needed.mistake("both sides counted")
def _(distance, window):
    """You count the neighbours on both sides. But the first input lies on one side of the last
    output, and the other half of the window looks the wrong way."""
    return math.ceil(distance / (window - 1))


@layers_needed.mistake("half the window, rounded up")
def _(distance, window):
    """You count the position itself as a step of the reach. A window of 3 would then reach two
    tokens to each side, and so contain 5 tokens in all."""
    return math.ceil(distance / ((window + 1) // 2))


@layers_needed.mistake("a reach that doubles with each layer")
def _(distance, window):
    """You let the reach double with each layer. It doubles in dilated convolutions, which have
    growing gaps. Here every layer adds the same reach."""
    return math.ceil(math.log2(distance / _reach(window) + 1))
