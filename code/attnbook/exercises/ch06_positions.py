"""Exercises of chapter 6, "How do you tell it where?"."""

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
from attnbook.positions import sinusoidal_positions

beyond_the_trained_places = MultipleChoice(
    "6.0",
    "Beyond the trained places",
    hints=[
        "Which vectors of the learned table has training ever touched? Is place 16 any nearer to "
        "them than place 32?",
        "Waves come back. Many projections look one place back at the places 1 to 15: does "
        "anything in the training say what they do elsewhere?",
    ],
    answer="C",
    because="Training asks for the trained places only, and many projections solve those. The "
    "table holds random numbers beyond them. What a run has made of the waves fits some far places "
    "by chance, and another run fits others.",
)
beyond_the_trained_places.wrong_option(
    "A",
    "a near place is half known",
    "This assumes that a place is known in part if one near it was trained. But the vectors of a "
    "learned table have no neighbours. Look at the table's curve right after place 15 in Figure "
    "6.3.",
)
beyond_the_trained_places.wrong_option(
    "B",
    "what was not trained is never right",
    "It is true that no place beyond 15 was trained, and that the table knows nothing of these "
    "places. But waves are made of the same rotations everywhere. Look at the band of the "
    "sinusoids in Figure 6.3.",
)


longest_wavelength = NumericAnswer(
    "6.1",
    "The slowest pair",
    answer=2 * math.pi * 10000 ** (14 / 16),
    within=0.01,
    hints=[
        "How many pairs do 16 features make, and which number does the last pair have if the first "
        "is pair 0?",
        "Equation (6.1) gives the pair's frequency ω. The pair completes a cycle when ω times the "
        "position is 2π.",
    ],
)
longest_wavelength.wrong_value(
    "the limit for many features",
    2 * math.pi * 10000,
    "You took the 10000 · 2π from the paper. But no pair reaches this wavelength, and the last "
    "pair of a small model stays far below it.",
)
longest_wavelength.wrong_value(
    "the number of the feature instead of twice that of the pair",
    2 * math.pi * 10000 ** (15 / 16),
    "You put the last feature's number, 15, into the exponent. But that feature is a cosine, and "
    "it has the same angle as the sine before it.",
)
longest_wavelength.wrong_value(
    "the 2 of the exponent left out",
    2 * math.pi * 10000 ** (7 / 16),
    "You raised 10000 to the number of the pair, divided by d. The exponents are then only half as "
    "large as they should be.",
)
longest_wavelength.wrong_value(
    "the fastest pair",
    2 * math.pi,
    "You gave the wavelength of pair 0, which rotates by one radian with each step. Pair 0 is the "
    "first to be back where it was, but the question asks for the last.",
)
longest_wavelength.wrong_value(
    "the whole cycle left out",
    10000 ** (14 / 16),
    "You inverted the frequency. After that many positions, the pair has rotated by one radian. A "
    "whole cycle has more than six radians.",
)
longest_wavelength.wrong_value(
    "one pair too early",
    2 * math.pi * 10000 ** (12 / 16),
    "You stopped at pair 6. Count the pairs of 16 features again, and begin at 0.",
)


def _frequencies(d, *, factor=1.0):
    even = torch.arange(0, d, 2, dtype=torch.float64)
    return 10000.0 ** (-factor * even / d)


def _waves(angle):
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(start_dim=-2).float()


def _integers(generator, low, high, shape):
    return torch.randint(low, high, shape, generator=generator)


encode = Suspects(
    "6.2",
    "The encoding of any position",
    hints=[
        "Which properties of such vectors does the chapter prove? Each of them finds some of the "
        "wrong functions. Which functions have all of these properties, too?",
        "Try positions that say more than their places do. They need not be whole numbers, nor "
        "begin at 0, nor be sorted.",
        "With d = 4, you know both frequencies by heart. They are 1 and 1/100.",
    ],
)


@encode.wrong("numbers the positions 0, 1, 2, … and does not look at their values")
def _(positions, d):
    places = torch.arange(positions.numel()).view(positions.shape)
    return _waves(places[..., None] * _frequencies(d))


@encode.right("puts the sine and the cosine of each pair side by side")
def _(positions, d):
    return _waves(positions.double()[..., None] * _frequencies(d))


@encode.wrong("puts all sines before all cosines")
def _(positions, d):
    angle = positions[..., None] * _frequencies(d)
    return torch.cat([angle.sin(), angle.cos()], dim=-1).float()


@encode.wrong("doubles the exponents, so the frequencies fall too fast")
def _(positions, d):
    return _waves(positions[..., None] * _frequencies(d, factor=2.0))


@encode.right("writes each cosine as the sine of a larger angle")
def _(positions, d):
    j = torch.arange(d)
    omega = torch.exp(-math.log(10000) * (j - j % 2) / d)
    return torch.sin(positions[..., None] * omega + j % 2 * math.pi / 2)


@encode.wrong("cuts off the fraction of each position")
def _(positions, d):
    return _waves(positions.long()[..., None] * _frequencies(d))


@encode.right("fills in the sines and then the cosines", kept_back=True)
def _(positions, d):
    waves = torch.zeros(*positions.shape, d)
    angle = positions[..., None] / 10000 ** (torch.arange(0, d, 2) / d)
    waves[..., 0::2], waves[..., 1::2] = angle.sin(), angle.cos()
    return waves


@encode.wrong("gives each cosine the next frequency after that of its sine", kept_back=True)
def _(positions, d):
    each = torch.arange(d, dtype=torch.float64)
    angle = positions[..., None] * 10000.0 ** (-each / d)
    return torch.where(torch.arange(d) % 2 == 0, angle.sin(), angle.cos()).float()


@encode.wrong("exchanges the sine and the cosine of each pair", kept_back=True)
def _(positions, d):
    angle = positions[..., None] * _frequencies(d)
    return torch.stack([angle.cos(), angle.sin()], dim=-1).flatten(start_dim=-2).float()


@encode.wrong("adds 1 to each position", kept_back=True)
def _(positions, d):
    return _waves((positions[..., None] + 1) * _frequencies(d))


@encode.wrong("ignores the sign of a position", kept_back=True)
def _(positions, d):
    return _waves(positions.abs()[..., None] * _frequencies(d))


@encode.wrong("multiplies by powers of 10000 instead of dividing", kept_back=True)
def _(positions, d):
    return _waves(positions[..., None] * _frequencies(d, factor=-1.0))


@encode.wrong("sorts the positions of a row first", kept_back=True)
def _(positions, d):
    return _waves(positions.sort(dim=-1).values[..., None] * _frequencies(d))


@encode.wrong("counts on in steps of 1 from the first position", kept_back=True)
def _(positions, d):
    places = torch.arange(positions.numel()).view(positions.shape)
    return _waves((positions.flatten()[:1] + places)[..., None] * _frequencies(d))


@encode.wrong("rounds the result to whole numbers if the positions are integers", kept_back=True)
def _(positions, d):
    return _waves(positions[..., None] * _frequencies(d)).to(positions.dtype).float()


@encode.wrong("gives all rows the positions of the first row", kept_back=True)
def _(positions, d):
    row = positions.reshape(-1, *positions.shape[-1:])[0]
    return _waves(row.expand(positions.shape)[..., None] * _frequencies(d))


@encode.wrong("subtracts the first position from all", kept_back=True)
def _(positions, d):
    return _waves((positions - positions.flatten()[:1])[..., None] * _frequencies(d))


def _with_four_features(p):
    return torch.stack([p.sin(), p.cos(), (p / 100).sin(), (p / 100).cos()], dim=-1)


@encode.solution
def _(f):
    rows = torch.tensor([[2.5, -1.0], [7.0, 0.5]]), torch.tensor([5, -2])
    return all(torch.allclose(f(p, 4), _with_four_features(p), atol=1e-5) for p in rows)


@encode.mistake("no integers")
def _(f):
    """All your positions are floats. So your test can't see what happens to integers, in whose data
    type a sine has no room for its decimals."""
    p = torch.tensor([[2.5, -1.0], [7.0, 0.5]])
    return torch.allclose(f(p, 4), _with_four_features(p), atol=1e-5)


@encode.mistake("one row of positions")
def _(f):
    """Your positions are a single row. So your test can't see whether each row of several gets its
    own positions."""
    rows = torch.tensor([2.5, -1.0, 7.0, 0.5]), torch.tensor([5, -2])
    return all(torch.allclose(f(p, 4), _with_four_features(p), atol=1e-5) for p in rows)


@encode.mistake("only the lengths of the vectors")
def _(f):
    """You test that all vectors have the same length. This holds wherever a sine and a cosine
    belong to the same angle, and the angle itself can be wrong."""
    lengths = f(torch.tensor([2.5, -1.0, 7.0, 0.5]), 8).norm(dim=-1)
    return torch.allclose(lengths, torch.full((4,), 2.0), atol=1e-4)


@encode.mistake("only that distances count")
def _(f):
    """You test that the product of two vectors depends only on the distance of their positions.
    This holds for any frequencies, and for any order of the features."""
    one, other = f(torch.tensor([0.0, 1.5]), 8), f(torch.tensor([0.7, 2.2]), 8)
    return torch.allclose(one[0] @ one[1], other[0] @ other[1], atol=1e-4)


@encode.mistake("only the positions 0, 1, 2 and so on")
def _(f):
    """Your positions are 0, 1, 2 and so on, in their order. Then each of them is also the number of
    its place, so your test can't see which of the two a function uses."""
    p = torch.arange(5.0)
    return torch.allclose(f(p, 4), _with_four_features(p), atol=1e-5)


@encode.mistake("positions in increasing order")
def _(f):
    """In your test, no position is followed by a smaller one. So your test can't see whether a
    function sorts the positions."""
    p = torch.tensor([-7.5, -1.0, 0.5, 30.0])
    return torch.allclose(f(p, 4), _with_four_features(p), atol=1e-5)


@encode.mistake("one position at a time")
def _(f):
    """You try one position at a time. So your test can't see what a function does with several
    positions in one call."""
    return all(
        torch.allclose(f(p, 4), _with_four_features(p), atol=1e-5)
        for p in torch.tensor([[-2.5], [7.0], [0.5]])
    )


@encode.mistake("only whole numbers")
def _(f):
    """All your positions are whole numbers. So your test can't see what happens to a fraction."""
    p = torch.tensor([5.0, -1.0, 7.0])
    return torch.allclose(f(p, 4), _with_four_features(p), atol=1e-5)


@encode.mistake("no negative position")
def _(f):
    """None of your positions is negative. So your test can't see whether a function looks at the
    sign."""
    p = torch.tensor([2.5, 7.0, 0.5])
    return torch.allclose(f(p, 4), _with_four_features(p), atol=1e-5)


@encode.mistake("only position 0")
def _(f):
    """You look only at position 0. All its angles are 0, whatever the frequencies are."""
    return torch.allclose(f(torch.zeros(1), 6), torch.tensor([[0.0, 1.0] * 3]), atol=1e-5)


@encode.mistake("a single pair")
def _(f):
    """You ask for two features, which are a single pair of the frequency 1. So your test can't see
    the frequencies of other pairs."""
    p = torch.tensor([2.5, -1.0, 7.0])
    return torch.allclose(f(p, 2), torch.stack([p.sin(), p.cos()], dim=-1), atol=1e-5)


@encode.mistake("no room for rounding")
def _(f):
    """You demand that the numbers are equal to the last bit. But a right function may compute the
    angles in a different way, and then its last digits are different."""
    p = torch.linspace(-90, 90, 50)
    return torch.equal(f(p, 4), _with_four_features(p))


similarity_at = Exercise(
    "6.3",
    "Similarity at a distance",
    hints=[
        "The cosine of an angle between vectors is their dot product divided by both lengths. "
        "Equation (6.6) has the dot product.",
        "The squared length is the dot product at distance 0. Which number is that?",
        "`distances[..., None]` times the d/2 frequencies gives one angle for each pair.",
    ],
)


@similarity_at.solution
def _(distances, d):
    angle = distances.double()[..., None] * _frequencies(d)
    return angle.cos().mean(dim=-1).float()


@similarity_at.inputs
def _(generator):
    yield torch.tensor([0.0, 1.0, 3.0]), 4
    yield torch.tensor([[5.0, -2.0], [300.0, 0.0], [-7.0, 1.0]]), 6
    for shape, d in [((1, 1), 16), ((3, 1, 2), 2), ((2, 4), 64)]:
        yield _integers(generator, -20, 21, shape).float(), d
    yield _integers(generator, -20, 21, (2, 4)), 16


@similarity_at.holds("The similarity is 1 at distance 0, and never larger.")
def _(f, distances, d):
    at_zero = f(torch.zeros(1), d).item()
    if not math.isclose(at_zero, 1, abs_tol=1e-4):
        return f"For d={d}, you return {told_apart(at_zero, 1)} at distance 0."
    largest = f(distances, d).max().item()
    if not largest < 1 + 1e-4:
        return f"For d={d}, one of your similarities is {told_apart(largest, 1)}."


@similarity_at.holds("The similarity agrees with the vectors of positions 50 and 50 + k.")
def _(f, distances, d):
    table = sinusoidal_positions(400, d)
    vectors = table[50 + distances.long()]
    measured = torch.nn.functional.cosine_similarity(vectors, table[50], dim=-1)
    found = f(distances, d)
    worst = (found - measured).abs().flatten().argmax()
    if not torch.allclose(found, measured.to(found), atol=1e-4):
        side = "more" if measured.flatten()[worst] > found.flatten()[worst] else "less"
        k, value = distances.flatten()[worst], found.flatten()[worst]
        return f"For d={d} and k={k:g}, you return {value:.4g}, but the vectors are {side} alike."


@similarity_at.mistake("the dot product, not the cosine")
def _(distances, d):
    """You add up the cosines of the pairs. The sum is the dot product of the vectors, which grows
    with the number of features. It must still be divided by both lengths."""
    return (distances[..., None] * _frequencies(d)).cos().sum(dim=-1).float()


@similarity_at.mistake("divided by d")
def _(distances, d):
    """You divide by the number of features. But there are only half as many pairs, so two equal
    positions get a similarity of one half."""
    angle = distances[..., None] * _frequencies(d)
    return (angle.cos().sum(dim=-1) / d).float()


@similarity_at.mistake("divided by the length once")
def _(distances, d):
    """You divide by the length of one vector only. But the dot product contains both lengths, so
    the result still grows with the number of features."""
    angle = distances[..., None] * _frequencies(d)
    return (angle.cos().sum(dim=-1) / math.sqrt(d / 2)).float()


@similarity_at.mistake("sines instead of cosines")
def _(distances, d):
    """You average sines. All of them are 0 at distance 0, as if a position had nothing in common
    with itself."""
    return (distances[..., None] * _frequencies(d)).sin().mean(dim=-1).float()


@similarity_at.mistake("the product of the sines left out")
def _(distances, d):
    """You multiply the cosine of each angle by itself, and leave out the sines. But a dot product
    adds up both products of a pair, and together they are one cosine of the distance."""
    angle = distances[..., None] * _frequencies(d)
    return angle.cos().square().mean(dim=-1).float()


@similarity_at.mistake("a frequency for each feature")
def _(distances, d):
    """You use as many frequencies as features. But each sine shares its frequency with a cosine, so
    half of your frequencies belong to no pair."""
    each = 10000.0 ** (-torch.arange(d, dtype=torch.float64) / d)
    return (distances[..., None] * each).cos().mean(dim=-1).float()


@similarity_at.mistake("the exponent doubled")
def _(distances, d):
    """You double a number that is already even, so the exponent is 4i/d. Most pairs then hardly
    rotate, and all positions look too much alike."""
    slow = _frequencies(d, factor=2.0)
    return (distances[..., None] * slow).cos().mean(dim=-1).float()


@similarity_at.mistake("one cosine of the mean angle")
def _(distances, d):
    """You first average the frequencies and then take one cosine. But the pairs rotate at different
    speeds, and the mean of cosines is not the cosine of the mean."""
    return (distances * _frequencies(d).mean()).cos().float()


rotate_halves = Exercise(
    "6.4",
    "Rotary positions with the other pairing",
    hints=[
        "`x.chunk(2, dim=-1)` gives the first and the second half, which are the two coordinates "
        "of all pairs.",
        "The angles have the shape (length, d/2). They are the positions `start`, `start + 1` and "
        "so on, times the d/2 frequencies of (6.1), and they fit each half as it is.",
        "A rotation turns (a, b) into (a cos − b sin, a sin + b cos). Where do the two results "
        "belong?",
    ],
    differentiable=True,
)


def _rotary_frequencies(d, base):
    return base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)


def _angles(x, start, base):
    length, d = x.shape[-2:]
    return torch.arange(start, start + length)[:, None] * _rotary_frequencies(d, base)


def _rotate(x, angle):
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


@rotate_halves.solution
def _(x, start, base):
    return _rotate(x, _angles(x, start, base))


@rotate_halves.inputs
def _(generator):
    yield torch.tensor([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]), 0, 10000
    yield torch.tensor([[1.0, 2.0, 3.0, 4.0]]), 3, 10000
    for shape, start, base in (
        ((5, 2), 7, 10000),
        ((2, 100, 8), 0, 100000),
        ((1, 1, 4), 300, 500),
        ((3, 1, 4, 6), 11, 100),
    ):
        yield torch.randn(shape, generator=generator), start, base


@rotate_halves.holds("The product of two rows depends only on their distance.")
def _(f, x, start, base):
    length = x.shape[-2]
    if length > 2:
        alike = x[..., :1, :].expand_as(x)  # the same vector everywhere
        rotated = f(alike, start, base)
        next_to = (rotated[..., 1:, :] * rotated[..., :-1, :]).sum(dim=-1)
        return changed(
            next_to[..., :1].expand_as(next_to),
            next_to,
            "two neighbours have the product {}, but two others have {}",
        )


@rotate_halves.holds("Feature i is mixed with feature i + d/2 and with no other.")
def _(f, x, start, base):
    d = x.shape[-1]
    one = torch.zeros_like(x)
    one[..., 0] = 1.0
    touched = (f(one, start, base).abs() > 1e-6).flatten(end_dim=-2).any(dim=0).nonzero()
    extra = [i for i in touched.flatten().tolist() if i not in (0, d // 2)]
    if extra:
        return f"For d={d}, feature 0 is mixed with feature {extra[0]}."


@rotate_halves.mistake("neighbours paired")
def _(x, start, base):
    """You rotate features 0 and 1, 2 and 3, and so on, as the chapter does. But weights that were
    trained with the other pairing would then meet the wrong partners."""
    a, b = x[..., 0::2], x[..., 1::2]
    rotated = _rotate(torch.cat([a, b], dim=-1), _angles(x, start, base))
    return torch.stack(rotated.chunk(2, dim=-1), dim=-1).flatten(start_dim=-2)


@rotate_halves.mistake("the start forgotten")
def _(x, start, base):
    """You rotate the first row as if it were at position 0. If a model writes with a cache, each
    new token comes alone, so it would always be at position 0."""
    return _rotate(x, _angles(x, 0, base))


@rotate_halves.mistake("always the base 10000")
def _(x, start, base):
    """You use the base 10000, whatever `base` says. A model that was trained with a different base
    would then rotate its slow pairs by the wrong angles."""
    return _rotate(x, _angles(x, start, 10000.0))


@rotate_halves.mistake("rotated back")
def _(x, start, base):
    """You rotate in the opposite direction. If you rotate both queries and keys in this way, the
    scores are still right. But with keys that another program has stored, all scores are wrong."""
    return _rotate(x, -_angles(x, start, base))


@rotate_halves.mistake("a mirror instead of a rotation")
def _(x, start, base):
    """You use the same sign twice, as in (a cos + b sin, a sin + b cos). This is not a rotation,
    because it changes lengths. The scores then no longer depend only on the distance."""
    angle = _angles(x, start, base)
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos + b * sin, a * sin + b * cos], dim=-1)


@rotate_halves.mistake("frequencies in the order of neighbours")
def _(x, start, base):
    """You pair the halves, but you repeat each frequency twice in a row, which is right only for
    pairs of neighbours. The two features of a pair then rotate by different angles."""
    angle = _angles(x, start, base).repeat_interleave(2, dim=-1)  # (length, d)
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-b, a], dim=-1) * sin


@rotate_halves.mistake("frequencies for half the features")
def _(x, start, base):
    """You compute the frequencies with d/2 in the exponent instead of d. The frequencies then fall
    too fast, and the slow pairs hardly rotate at all."""
    return _rotate(x, _angles(x, start, float(base) ** 2))


@rotate_halves.mistake("positions counted from 1")
def _(x, start, base):
    """You rotate every row by one step too many. The scores within one text stay the same, but the
    row at position 0 should not be rotated at all."""
    return _rotate(x, _angles(x, start + 1, base))


@rotate_halves.mistake("one angle for all pairs")
def _(x, start, base):
    """You rotate every pair by the position itself. All pairs then rotate at the same speed, and
    positions six apart can hardly be told apart."""
    return _rotate(x, _angles(x, start, 1.0))


@rotate_halves.mistake("angles in half precision")
def _(x, start, base):
    """You compute the angles in bfloat16. This type has only eight binary digits, so whole numbers
    above 256 are rounded, and the angles are wrong long before that."""
    frequency = _angles(x, 1, base)[0].to(torch.bfloat16)
    place = torch.arange(start, start + x.shape[-2], dtype=torch.bfloat16)
    return _rotate(x, (place[:, None] * frequency).float())


@rotate_halves.mistake("sinusoids added")
def _(x, start, base):
    """You add position vectors instead of rotating. This changes the length of the vectors, and
    also the word that they represent."""
    return x + sinusoidal_positions(*x.shape[-2:], start=start)


with_positions = Repair(
    "6.5",
    "Debug this: positions that do not tell the order",
    line=2,
    because="`len(x)` is the number of texts in the batch. So the positions count the texts, and "
    "all letters of a text get the same vector.",
    hints=[
        "Compare the rows of the two a's, and then the columns of the two a's. What do the vectors "
        "of these two letters have in common?",
        "Write down the shape of each tensor. In which axis of `x`, which has the shape "
        "(batch, length, d), do the waves change?",
    ],
    differentiable=True,
)
with_positions.right_line(
    1,
    "It makes the features of the letters about as large as sines and cosines, as in equation "
    "(6.7).",
)
with_positions.right_line(
    3,
    "It computes the exponents 2i of equation (6.1), one for each pair of features. A sine and its "
    "cosine share a frequency, so d / 2 numbers are enough.",
)
with_positions.right_line(
    4,
    "It divides each position by 10000^(2i/d), which is the same as multiplying it by the "
    "frequency of equation (6.1).",
)
with_positions.right_line(
    5,
    "It puts each cosine beside its sine, in a new last axis of two features.",
)
with_positions.right_line(
    6,
    "It joins the pairs to vectors of d features, and adds these to the vectors of the letters. "
    "The order of the features is that of equation (6.2).",
)


def _sines_and_cosines(position, d):
    even = torch.arange(0, d, 2)
    angle = position / 10000 ** (even / d)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(start_dim=-2)


def _placed(x, position):
    return math.sqrt(x.shape[-1]) * x + _sines_and_cosines(position, x.shape[-1])


@with_positions.solution
def _(x):
    return _placed(x, torch.arange(x.shape[1])[:, None])


@with_positions.inputs
def _(generator):
    yield (torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]),)
    for shape in ((2, 3, 4), (3, 1, 6), (2, 50, 8), (4, 4, 2)):
        yield (torch.randn(shape, generator=generator),)


@with_positions.holds("Each text of the batch gets the same positions.")
def _(f, x):
    waves = f(torch.zeros_like(x))
    return changed(
        waves[:1].expand_as(waves), waves, "one feature is {} in the first text, but {} in another"
    )


@with_positions.holds("What is added to the first feature is the sine of the position.")
def _(f, x):
    added = f(torch.zeros_like(x))[..., 0]
    sines = torch.arange(x.shape[1]).sin()
    return changed(sines.expand_as(added), added, "one sine is {}, but {} is added")


@with_positions.broken
def _(x):
    """The positions still count the texts of the batch. All letters of a text get the same vector,
    so their order is lost."""
    return _placed(x, torch.arange(len(x))[:, None, None])


@with_positions.mistake("positions that count on from text to text")
def _(x):
    """You number all letters of the batch in one go. The position of a letter then depends on the
    texts before its own, although these have nothing to do with it."""
    batch, length, _ = x.shape
    return _placed(x, torch.arange(batch * length).view(batch, length, 1))


@with_positions.mistake("counted from 1")
def _(x):
    """You count the positions from 1. This model could learn with these vectors, but each letter
    gets the vector of the next position, so that a trained model would fail."""
    return _placed(x, torch.arange(1, x.shape[1] + 1)[:, None])


@with_positions.mistake("shares of the length")
def _(x):
    """You give each letter the share of the text that lies before it. A step to the next letter
    then rotates the hands by an angle that depends on the length."""
    return _placed(x, torch.arange(x.shape[1])[:, None] / x.shape[1])


@with_positions.mistake("counted from the end")
def _(x):
    """You count from the last letter. The vector of a letter then changes when the text goes on."""
    return _placed(x, torch.arange(x.shape[1]).flip(0)[:, None])


@with_positions.mistake("letters that are not scaled")
def _(x):
    """You add the vectors of the letters as they are. Before training, they are then much
    smaller than the sines and cosines, and attention hardly notices them."""
    return x + _sines_and_cosines(torch.arange(x.shape[1])[:, None], x.shape[-1])


alibi_weights = Exercise(
    "6.7",
    "Attention that fades with distance",
    hints=[
        "At which place is the first query if the last query is at place L_key − 1?",
        "Put the places of the queries into a column and the places of the keys into a row. Their "
        "difference is the distance, with the shape (L_query, L_key). `slopes[:, None, None]` adds "
        "the axes that the slopes need.",
        "A key with a negative distance is in the future, so its score becomes −∞ before softmax.",
    ],
    differentiable=True,
)


def _distances(L_query, L_key, *, start=None):
    start = L_key - L_query if start is None else start
    query = torch.arange(start, start + L_query)[:, None]
    return query - torch.arange(L_key)


def _fading(scores, slopes, *, distance=None, sign=-1, future=False):
    if distance is None:
        distance = _distances(*scores.shape[-2:])
    biased = scores + sign * slopes[:, None, None] * distance
    if not future:
        biased = biased.masked_fill(_distances(*scores.shape[-2:]) < 0, -math.inf)
    return biased.softmax(dim=-1)


@alibi_weights.solution
def _(scores, slopes):
    return _fading(scores, slopes)


@alibi_weights.inputs
def _(generator):
    yield (torch.tensor([[[[0.0, 1.0, 0.0], [1.0, 0.0, 2.0]]]]), torch.tensor([0.5]))
    yield (torch.tensor([[[[0.0, 1.0, 0.0]], [[1.0, 0.0, 2.0]]]]), torch.tensor([1.0, 0.5]))
    for batch, heads, L_query, L_key in [(2, 3, 5, 5), (1, 2, 1, 6)]:
        shape = batch, heads, L_query, L_key
        slopes = 2.0 ** -torch.arange(1, heads + 1)
        yield torch.randn(shape, generator=generator), slopes
    yield torch.randn(2, 2, 1, 1, generator=generator), torch.tensor([0.5, 0.25])
    yield torch.randn(3, 3, 4, 5, generator=generator), torch.tensor([0.3, 0.0, 1.0])


@alibi_weights.holds("Later keys get a weight of exactly 0, whatever their scores are.")
def _(f, scores, slopes):
    later = _distances(*scores.shape[-2:]) < 0
    large = torch.where(later, 1000.0, scores - 1000.0)
    for given in scores, large:
        weights = f(given, slopes)
        if weights[..., later].any():
            return f"One later key gets {weights[..., later].max().item():.3g}."


@alibi_weights.holds("If two keys have equal scores, the nearer one gets more weight.")
def _(f, scores, slopes):
    steep = torch.ones_like(slopes)
    last = f(torch.zeros_like(scores), steep)[..., -1, :]
    if last.shape[-1] > 1 and not (last.diff(dim=-1) > 0).all():
        numbers = ", ".join(f"{w:.2f}" for w in last.flatten()[: last.shape[-1]])
        return f"With scores of 0 and a slope of 1, the last query has the weights {numbers}."


@alibi_weights.mistake("the distance added")
def _(scores, slopes):
    """You add the distance instead of subtracting it. The farther away a key is, the more weight it
    then gets."""
    return _fading(scores, slopes, sign=1)


@alibi_weights.mistake("the queries at the first places")
def _(scores, slopes):
    """You put the first query at place 0. If there are fewer queries than keys, the last queries
    then can't see the end of the text, although that is where they are."""
    distance = _distances(*scores.shape[-2:], start=0)
    biased = scores - slopes[:, None, None] * distance
    return biased.masked_fill(distance < 0, -math.inf).softmax(dim=-1)


@alibi_weights.mistake("the future visible")
def _(scores, slopes):
    """You lower the scores on both sides and hide nothing. A token that is being written then
    attends to tokens that have not been written yet."""
    distance = _distances(*scores.shape[-2:]).abs()
    return _fading(scores, slopes, distance=distance, future=True)


@alibi_weights.mistake("the future rewarded")
def _(scores, slopes):
    """You subtract the signed distance and hide nothing. For keys in the future, the distance is
    negative, so their scores are raised."""
    return _fading(scores, slopes, future=True)


@alibi_weights.mistake("one slope for all heads")
def _(scores, slopes):
    """You use the first slope in every head. All heads then fade at the same rate, and none of them
    looks farther back than the others."""
    return _fading(scores, slopes[:1].expand_as(slopes))


@alibi_weights.mistake("the mean of the slopes for all heads")
def _(scores, slopes):
    """You use the mean of the slopes in every head. All heads then fade at the same rate, and none
    of them looks farther back than the others."""
    return _fading(scores, slopes.mean().expand_as(slopes))


@alibi_weights.mistake("the slopes forgotten")
def _(scores, slopes):
    """You subtract the distance without its slope in every head. All heads then fade at the same
    rate, and steeply, because each place farther away divides the weight by e."""
    return _fading(scores, torch.ones_like(slopes))


@alibi_weights.mistake("lowered after softmax")
def _(scores, slopes):
    """You mask, apply softmax and then scale the weights by the distance. The weights then no
    longer sum to 1."""
    plain = _fading(scores, torch.zeros_like(slopes))
    distance = _distances(*scores.shape[-2:]).clamp(min=0)
    return plain * torch.exp(-slopes[:, None, None] * distance)


@alibi_weights.mistake("multiplied instead of lowered")
def _(scores, slopes):
    """You multiply the score by slope and distance instead of subtracting their product. A key at
    distance 0 then has a score of 0, however well it fits."""
    distance = _distances(*scores.shape[-2:])
    biased = scores * slopes[:, None, None] * distance
    return biased.masked_fill(distance < 0, -math.inf).softmax(dim=-1)


@alibi_weights.mistake("a token's own place hidden")
def _(scores, slopes):
    """You hide distance 0 together with the future. Then a token can't attend to itself. The first
    token can't attend to anything, so its row is left with zeros."""
    distance = _distances(*scores.shape[-2:])
    biased = scores - slopes[:, None, None] * distance
    biased = biased.masked_fill(distance <= 0, -math.inf)
    return biased.softmax(dim=-1).nan_to_num(0.0)


@alibi_weights.mistake("the distance squared")
def _(scores, slopes):
    """You subtract the slope times the squared distance. Distant keys then lose far more than near
    ones, and even heads with a gentle slope see only a few places back."""
    distance = _distances(*scores.shape[-2:])
    return _fading(scores, slopes, distance=distance.square())


@alibi_weights.mistake("divided by the distance")
def _(scores, slopes):
    """You divide the scores by one plus slope times distance. This raises negative scores with the
    distance, so a bad fit seems better the farther away it is."""
    distance = _distances(*scores.shape[-2:])
    biased = scores / (1 + slopes[:, None, None] * distance.clamp(min=0))
    return biased.masked_fill(distance < 0, -math.inf).softmax(dim=-1)


rotary_map = MultipleChoice(
    "6.9",
    "The map of rotary positions",
    hints=[
        "Along a diagonal, query and key are always the same number of places apart.",
        "After one whole turn, a pair of features is back where it started. Can the score of a "
        "far key be higher than the score of a near one?",
    ],
    answer="D",
    figure=True,
    because="Rotary positions let the score depend on the distance alone, so each diagonal has "
    "one shade. And because features turn in circles, the score falls and rises with the "
    "distance.",
)
rotary_map.wrong_option(
    "A",
    "waves in all directions",
    "You looked for waves, and this map has them. But along a diagonal, where the distance is "
    "always the same, the shade changes.",
)
rotary_map.wrong_option(
    "B",
    "the same shade along each diagonal",
    "You looked for a score that depends on the distance alone. But in this map, the score "
    "falls by the same amount with each further place, and never rises again.",
)
rotary_map.wrong_option(
    "C",
    "a rotation changes no length",
    "You know that a rotation keeps the length of a vector. But a query and a key at different "
    "places turn by different angles, and in this map no place makes any difference.",
)


nearest_position = Exercise(
    "6.10",
    "From the vector back to the position",
    hints=[
        "Make the vectors of all positions, one in each row, and compare each given vector with "
        "every row.",
        "The squared distance to row t is |v|² − 2 v·t + |t|². Which of the three terms differ "
        "from row to row?",
        "`argmax` along the axis of the positions gives the number of the best row. To which "
        "position does row 0 belong?",
    ],
    integers=True,
)


@nearest_position.solution
def _(vectors, first, length):
    table = sinusoidal_positions(length, vectors.shape[-1], start=first)
    return first + (vectors @ table.mT).argmax(dim=-1)


@nearest_position.inputs
def _(generator):
    yield torch.tensor([[0.9, -0.3], [-0.9, 0.4]]), 2, 4
    for shape, d, first, length, noise in [
        ((2, 5), 16, 30, 60, 0.1),
        ((4, 1, 3), 64, 0, 100, 0.3),
        ((1, 1), 4, 7, 1, 0.5),  # there is one position to choose from
        ((7,), 32, 500, 25, 0.5),
    ]:
        place = _integers(generator, length // 2, length, shape)
        vectors = sinusoidal_positions(length, d, start=first)[place]
        size = 0.5 + torch.rand(*shape, 1, generator=generator)
        drawn = torch.randn(*shape, d, generator=generator)
        yield size * (vectors + noise * drawn), first, length


@nearest_position.holds("It finds the position of every vector without noise.")
def _(f, vectors, first, length):
    d = vectors.shape[-1]
    found = f(sinusoidal_positions(length, d, start=first), first, length)
    wrong = (found != first + torch.arange(length)).nonzero()
    if len(wrong):
        row = wrong[0].item()
        return f"For d={d}, the vector of position {first + row} gets {found[row].item()}."


@nearest_position.holds("A vector twice as long has the same position.")
def _(f, vectors, first, length):
    return changed(
        f(vectors, first, length).float(),
        f(2 * vectors, first, length).float(),
        "twice as long, the vector of {} is taken for that of {}",
    )


@nearest_position.mistake("the farthest position")
def _(vectors, first, length):
    """You take the position whose vector has the largest distance or the smallest dot product. This
    position is the least similar."""
    table = sinusoidal_positions(length, vectors.shape[-1], start=first)
    return first + (vectors @ table.mT).argmin(dim=-1)


@nearest_position.mistake("the row instead of the position")
def _(vectors, first, length):
    """You return the number of the row. But row 0 belongs to the position `first`, so every answer
    is too small by `first`."""
    table = sinusoidal_positions(length, vectors.shape[-1], start=first)
    return (vectors @ table.mT).argmax(dim=-1)


@nearest_position.mistake("compared with the positions from 0 on")
def _(vectors, first, length):
    """You compare with the vectors of the positions from 0 on. But the text begins elsewhere, and
    its vectors are similar to none of these."""
    table = sinusoidal_positions(length, vectors.shape[-1])
    return (vectors @ table.mT).argmax(dim=-1)


@nearest_position.mistake("the vectors of the first positions of all")
def _(vectors, first, length):
    """You make the vectors of the positions from 0 on, and add `first` to the best row. But the
    text begins elsewhere, and its vectors are similar to none of these."""
    table = sinusoidal_positions(length, vectors.shape[-1])
    return first + (vectors @ table.mT).argmax(dim=-1)


@nearest_position.mistake("the first pair alone")
def _(vectors, first, length):
    """You compare only the fastest pair, which is the first two features. This pair completes a
    cycle after 2π positions, so positions about six apart are mixed up."""
    table = sinusoidal_positions(length, vectors.shape[-1], start=first)
    return first + (vectors[..., :2] @ table[:, :2].mT).argmax(dim=-1)


@nearest_position.mistake("the slowest pair alone")
def _(vectors, first, length):
    """You compare only the slowest pair, which is the last two features. This pair hardly rotates
    from one position to the next, so even a little noise leads to a distant position."""
    table = sinusoidal_positions(length, vectors.shape[-1], start=first)
    return first + (vectors[..., -2:] @ table[:, -2:].mT).argmax(dim=-1)


@nearest_position.mistake("the sines alone")
def _(vectors, first, length):
    """You compare only every second feature, that is, the sines. But a sine is the same on its way
    up and on its way down, so half of the vector's information is lost."""
    table = sinusoidal_positions(length, vectors.shape[-1], start=first)
    return first + (vectors[..., ::2] @ table[:, ::2].mT).argmax(dim=-1)


@nearest_position.mistake("the size of the product")
def _(vectors, first, length):
    """You take the dot product that is largest in size, whatever its sign. A vector that points the
    opposite way then counts as similar."""
    table = sinusoidal_positions(length, vectors.shape[-1], start=first)
    return first + (vectors @ table.mT).abs().argmax(dim=-1)


@nearest_position.mistake("the largest feature")
def _(vectors, first, length):
    """You look for the largest feature. Its number says which wave is at its top, but not which
    position the vector belongs to."""
    return first + vectors.argmax(dim=-1)


read_both = Construction(
    "6.11",
    "Word and place from one sum",
    shape=(4, 4),
    hints=[
        "By (6.10), W acts on the word and on the place, and adds up the results. Which columns "
        "give 0 for cat and 0 for dog?",
        "The last two numbers should hardly change from place 0 to place 15. Which features of a "
        "place hardly change?",
    ],
)
read_both.reference = torch.tensor(
    [[4.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0], [-3.0, 0.0, 1.0, 0.0], [0.0, -3.0, 0.0, 1.0]]
)


def _read(matrix, columns):
    """What these columns read off cat and off dog, at each of the places 0 to 15."""
    words = torch.tensor([[0.6, 0.0, 0.8, 0.0], [0.0, 0.6, 0.0, 0.8]]).double()
    place = torch.arange(16).double()
    places = torch.stack(
        [place.sin(), place.cos(), (place / 100).sin(), (place / 100).cos()], dim=1
    )
    return (words[:, None] + places) @ matrix[:, columns]


_OF_PLACE, _OF_WORD = slice(0, 2), slice(2, 4)


@read_both.holds("In the first two numbers, cat and dog at one place are at most 0.01 apart.")
def _(matrix):
    cat, dog = _read(matrix, _OF_PLACE)
    distance = (cat - dog).norm(dim=-1)[0].item()
    if distance > 0.01 + 1e-3:
        return f"At place 0, their distance is {distance:.3f}."


@read_both.holds("In the first two numbers, different places are at least 0.1 apart.")
def _(matrix):
    cat, _ = _read(matrix, _OF_PLACE)
    distance = torch.cdist(cat, cat).fill_diagonal_(torch.inf)
    if distance.min() < 0.1 - 1e-6:
        one, other = divmod(distance.argmin().item(), 16)
        return f"For cat, the places {one} and {other} are {distance.min():.3f} apart."


@read_both.holds("In the last two numbers, one word at different places is at most 0.3 apart.")
def _(matrix):
    cat, _ = _read(matrix, _OF_WORD)
    distance = torch.cdist(cat, cat)
    if distance.max() > 0.3 + 1e-6:
        one, other = divmod(distance.argmax().item(), 16)
        return f"For cat, the places {one} and {other} are {distance.max():.3f} apart."


@read_both.holds("In the last two numbers, cat and dog are at least 0.8 apart, wherever they are.")
def _(matrix):
    cat, dog = _read(matrix, _OF_WORD)
    distance = torch.cdist(cat, dog)
    if distance.min() < 0.8 - 1e-6:
        one, other = divmod(distance.argmin().item(), 16)
        return f"Cat at place {one} and dog at place {other} are {distance.min():.3f} apart."


@read_both.wrong(
    "word and place exchanged",
    example=[[0.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, 4.0], [1.0, 0.0, -3.0, 0.0], [0, 1, 0, -3]],
)
def _(matrix):
    """Your first two numbers say which word it is, and your last two say where it is. The task asks
    for the place first."""
    cat, dog = _read(matrix, _OF_WORD)
    tells_words = torch.dist(*_read(matrix, _OF_PLACE)[:, 0]) > 0.1
    return bool(tells_words and torch.dist(cat[0], cat[1]) > 0.1) and torch.allclose(
        cat, dog, atol=0.01
    )


@read_both.wrong("the fast features as they are", example=torch.eye(4).tolist())
def _(matrix):
    """You read the place from the features of the fast waves alone. But cat and dog use these
    features as well, so the first two numbers also say which word it is."""
    fast, slow = matrix[:2, :2], matrix[2:, :2]
    return bool(fast.abs().max() > 0.01 and slow.abs().max() < 1e-3)


@read_both.wrong(
    "the word from the fast features",
    example=[[4.0, 0.0, 1.0, 0.0], [0.0, 4.0, 0.0, 1.0], [-3.0, 0.0, 1.0, 0.0], [0.0, -3.0, 0, 1]],
)
def _(matrix):
    """Your last two numbers also read the features of the fast waves. These change so much from
    place to place that one word at two places differs as much as two words do."""
    return bool(matrix[:2, 2:].norm() > 0.3)


words_like_the_place = NumericAnswer(
    "6.12",
    "Words that look like a place",
    answer=10_000 * math.erfc(0.3 * math.sqrt(64) / math.sqrt(2)) / 2,
    within=0.25,
    hints=[
        "Divide the position vector by its length. What is then the standard deviation of its dot "
        "product with a word's vector, and about how long is the word's vector?",
        "A cosine has a standard deviation of about 1/√d. How many standard deviations above the "
        "mean is 0.3?",
    ],
)
words_like_the_place.wrong_value(
    "both directions counted",
    10_000 * math.erfc(0.3 * math.sqrt(64) / math.sqrt(2)),
    "You counted the words on both sides, those with a cosine below −0.3 as well. The question "
    "asks only for words that point in the direction of the position vector.",
)
words_like_the_place.wrong_value(
    "the mean size taken for the standard deviation",
    10_000 * math.erfc(0.3 / 0.101 / math.sqrt(2)) / 2,
    "You divided 0.3 by 0.101, the mean size of a cosine in the chapter's table. The mean size is "
    "smaller than the standard deviation, so the bound seemed farther away than it is.",
)
words_like_the_place.wrong_value(
    "the root forgotten",
    0.0,
    "You took 1/64 for the standard deviation of a cosine, and 0.3 is far beyond that. But 1/64 is "
    "the variance, and its root is much larger.",
)
words_like_the_place.wrong_value(
    "two features instead of 64",
    10_000 * math.acos(0.3) / math.pi,
    "You treated all angles as equally likely. This is right for arrows on paper, but with many "
    "features, nearly all vectors are almost at right angles to the position vector.",
)
words_like_the_place.wrong_value(
    "one standard deviation",
    10_000 * math.erfc(1 / math.sqrt(2)) / 2,
    "You took 0.3 for one standard deviation above the mean. But the standard deviation is "
    "smaller than that, because it shrinks as the number of features grows.",
)


positions_of = Exercise(
    "6.13",
    "Positions in a padded batch",
    hints=[
        "How many words come before this word in its own row? This number is its position.",
        "`is_token.long().cumsum(dim=-1)` counts the words up to each place, including the place "
        "itself.",
        "Check the results for padding before the first word and between two words.",
    ],
    integers=True,
)


@positions_of.solution
def _(is_token):
    return (is_token.long().cumsum(dim=-1) - 1).clamp(min=0) * is_token


@positions_of.inputs
def _(generator):
    yield (torch.tensor([[False, True, True]]),)
    left, right = [False, False, True, True, True], [True] * 4 + [False]
    yield (torch.tensor([left, right]),)
    yield (torch.tensor([[False, True, False, True, True, False]]),)
    # sentences of different lengths, padded on the left
    lengths = _integers(generator, 1, 7, (5, 1))
    yield (torch.arange(8) >= 8 - lengths,)
    yield (torch.tensor([[True], [False]]),)  # places of one word
    yield (torch.rand(5, 8, generator=generator) < 0.6,)


@positions_of.holds("The words of each sentence have the positions 0, 1, 2, ….")
def _(f, is_token):
    for row, mask in zip(f(is_token), is_token, strict=True):
        found = row[mask].tolist()
        if found != list(range(len(found))):
            return f"The words of one sentence have the positions {found}."


@positions_of.holds("More padding on the left changes the position of no word.")
def _(f, is_token):
    padded = torch.nn.functional.pad(is_token, (2, 0), value=False)
    return changed(
        f(is_token).float(),
        f(padded)[:, 2:].float(),
        "two more paddings turn the position {} into {}",
    )


@positions_of.mistake("padding counted")
def _(is_token):
    """You number the places of the tensor, padding included. The same sentence then gets other
    positions if a longer one happens to be in its batch."""
    return torch.arange(is_token.shape[-1]) * is_token


@positions_of.mistake("counted from 1")
def _(is_token):
    """You count the words up to and including each word. The first word then has position 1, which
    is one more than in training."""
    return is_token.long().cumsum(dim=-1) * is_token


@positions_of.mistake("padding gets −1")
def _(is_token):
    """You subtract 1 everywhere, even before the first word. Padding there gets −1, which means the
    last row of a table of learned vectors."""
    return is_token.long().cumsum(dim=-1) - 1


@positions_of.mistake("padding gets the number of the word before it")
def _(is_token):
    """You do not count padding, but you leave the count there as it is. Padding after a word then
    has the word's position instead of 0."""
    return (is_token.long().cumsum(dim=-1) - 1).clamp(min=0)


@positions_of.mistake("counted along the batch")
def _(is_token):
    """You count along the first axis, from sentence to sentence. The position of a word then
    depends on which other sentences are in the batch."""
    return (is_token.long().cumsum(dim=0) - 1).clamp(min=0) * is_token


@positions_of.mistake("only the padding before the first word subtracted")
def _(is_token):
    """You shift each sentence by the padding in front of it. But you still count padding between
    two words as if it were words."""
    first = is_token.long().argmax(dim=-1, keepdim=True)
    return (torch.arange(is_token.shape[-1]) - first) * is_token


@positions_of.mistake("all padding of the sentence subtracted")
def _(is_token):
    """You subtract the number of all paddings of the sentence, wherever they are. Padding after a
    word then changes the position of the word, too."""
    padding = (~is_token).sum(dim=-1, keepdim=True)
    places = torch.arange(is_token.shape[-1]) - padding
    return places.clamp(min=0) * is_token


@positions_of.mistake("counted from the end")
def _(is_token):
    """You count the words that are still to come. The last word then has position 0, and every
    sentence is numbered backwards."""
    after = is_token.long().flip(-1).cumsum(dim=-1).flip(-1) - 1
    return after.clamp(min=0) * is_token


stretched_frequencies = Exercise(
    "6.14",
    "Rotary positions, stretched by parts",
    hints=[
        "`base ** (-torch.arange(0, d, 2) / d)` has the frequencies ω of training. A pair rotates "
        "by ω radians with each token, and 2π radians make one turn.",
        "The share of the old frequency is 1 at four turns and 0 at one turn. `clamp(0, 1)` keeps "
        "it there for all other pairs.",
        "`share * ω + (1 - share) * ω / factor` mixes both frequencies.",
    ],
)


def _share(omega, trained_length, *, slowest=1.0, fastest=4.0):
    turns = trained_length * omega / (2 * math.pi)
    return ((turns - slowest) / (fastest - slowest)).clamp(0, 1)


def _stretched(d, base, factor, trained_length, share=_share):
    omega = _rotary_frequencies(d, base)
    kept = share(omega, trained_length)
    return (kept * omega + (1 - kept) * omega / factor).float()


@stretched_frequencies.solution
def _(d, base, factor, trained_length):
    return _stretched(d, base, factor, trained_length)


@stretched_frequencies.inputs
def _(generator):
    yield 6, 100.0, 8.0, 30
    yield from [(16, 200.0, 8.0, 64), (8, 50.0, 2.5, 20)]
    yield 2, 100.0, 4.0, 16  # one pair, between slow and fast
    yield 12, 30.0, 4.0, int(_integers(generator, 8, 40, (1,)))


@stretched_frequencies.holds("A factor of 1 changes no frequency.")
def _(f, d, base, factor, trained_length):
    return changed(
        _rotary_frequencies(d, base),
        f(d, base, 1.0, trained_length),
        "with a factor of 1, you turn a frequency of {} into {}",
    )


@stretched_frequencies.holds("A pair that makes four turns or more keeps its frequency.")
def _(f, d, base, factor, trained_length):
    omega = _rotary_frequencies(d, base)
    fast = _share(omega, trained_length) == 1
    return changed(
        omega[fast],
        f(d, base, factor, trained_length)[fast],
        "you turn the frequency of a fast pair, {}, into {}",
    )


@stretched_frequencies.mistake("all pairs interpolated")
def _(d, base, factor, trained_length):
    """You divide all frequencies by the factor. The fast pairs then rotate too slowly, and a head
    that looks one token back can no longer tell this token from its neighbours."""
    return (_rotary_frequencies(d, base) / factor).float()


@stretched_frequencies.mistake("a larger base")
def _(d, base, factor, trained_length):
    """You change the base. This slows every pair but the first, and each of them by a different
    factor, so pairs of four turns and more change as well."""
    larger = base * factor ** (d / max(d - 2, 1))
    return _rotary_frequencies(d, larger).float()


@stretched_frequencies.mistake("fast and slow exchanged")
def _(d, base, factor, trained_length):
    """You slow the fast pairs and leave the slow ones. Near distances then look different from
    those in training, and the slow pairs still reach angles that never occurred there."""
    return _stretched(
        d, base, factor, trained_length, lambda omega, length: 1 - _share(omega, length)
    )


@stretched_frequencies.mistake("no pairs between slow and fast")
def _(d, base, factor, trained_length):
    """You switch from one rule to the other at one turn. Pairs that make between one and four turns
    should have a frequency between the old one and the divided one."""
    return _stretched(
        d, base, factor, trained_length, lambda omega, n: (_share(omega, n) > 0).double()
    )


@stretched_frequencies.mistake("radians counted as turns")
def _(d, base, factor, trained_length):
    """You count radians where the rule counts turns. A turn has more than six radians, so you take
    many slow pairs for fast ones."""
    return _stretched(
        d, base, factor, trained_length, lambda omega, n: _share(omega, n * 2 * math.pi)
    )


@stretched_frequencies.mistake("wavelengths mixed instead of frequencies")
def _(d, base, factor, trained_length):
    """You mix the wavelengths. In the middle between the two limits, the wavelength then lies
    halfway, and the frequency is lower than the rule says."""
    omega = _rotary_frequencies(d, base)
    kept = _share(omega, trained_length)
    return (omega / (kept + (1 - kept) * factor)).float()


@stretched_frequencies.mistake("the share not limited")
def _(d, base, factor, trained_length):
    """You let the share of the old frequency leave the range from 0 to 1. Pairs with more than four
    turns then rotate faster than in training, and the slowest pairs can rotate backwards."""

    def share(omega, length):
        return (length * omega / (2 * math.pi) - 1) / 3

    return _stretched(d, base, factor, trained_length, share)


@stretched_frequencies.mistake("multiplied by the factor")
def _(d, base, factor, trained_length):
    """You multiply the slow frequencies by the factor. The slow pairs then reach new angles even
    earlier in the text than before."""
    return _stretched(d, base, 1 / factor, trained_length)
