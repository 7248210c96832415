"""Exercises of chapter 6, "How do you tell it where?"."""

import math

import torch

from attnbook.exercises.declare import Exercise, MultipleChoice, NumericAnswer
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
    "learned table have no neighbours: look at its curve right after place 15 in Figure 6.4.",
)
beyond_the_trained_places.wrong_option(
    "B",
    "what was not trained is never right",
    "No place beyond 15 was trained, that is true, and the table knows nothing of them. But waves "
    "are made of the same rotations everywhere: look at the band of the sinusoids in Figure 6.4.",
)


longest_wavelength = NumericAnswer(
    "6.1",
    "The slowest pair",
    answer=2 * math.pi * 10000 ** (14 / 16),
    within=0.01,
    hints=[
        "How many pairs do 16 features make, and which number has the last one if the first is "
        "pair 0?",
        "Equation (6.1) gives the pair's frequency ω. It completes a cycle when ω times the "
        "position is 2π.",
    ],
)
longest_wavelength.wrong_value(
    "the limit for many features",
    2 * math.pi * 10000,
    "You took the 10000 · 2π of the paper's sentence. No pair reaches it: the last pair of a small "
    "model stops far earlier.",
)
longest_wavelength.wrong_value(
    "the number of the feature instead of twice that of the pair",
    2 * math.pi * 10000 ** (15 / 16),
    "You put the last feature's number, 15, into the exponent. That feature is a cosine, and it "
    "shares the angle of the sine before it.",
)
longest_wavelength.wrong_value(
    "the 2 of the exponent left out",
    2 * math.pi * 10000 ** (7 / 16),
    "You raised 10000 to the number of the pair over d. Then the pairs would slow down only half "
    "as fast as they do.",
)
longest_wavelength.wrong_value(
    "the fastest pair",
    2 * math.pi,
    "You gave the wavelength of pair 0, which rotates by one radian with each step. It is the "
    "first to be back, the question is for the last.",
)
longest_wavelength.wrong_value(
    "the whole cycle left out",
    10000 ** (14 / 16),
    "You inverted the frequency. After that many positions the hand has rotated by one radian, and "
    "a whole cycle takes more than six of them.",
)
longest_wavelength.wrong_value(
    "one pair too early",
    2 * math.pi * 10000 ** (12 / 16),
    "You stopped at pair 6. Count the pairs of 16 features again, and begin at 0.",
)


def _frequencies(d, *, factor=1.0):
    even = torch.arange(0, d, 2, dtype=torch.float64)
    return 10000.0 ** (-factor * even / d)


def _waves(angle, d):
    pairs = torch.stack([angle.sin(), angle.cos()], dim=-1)
    return pairs.flatten(start_dim=-2)[..., :d].float()


def _integers(generator, low, high, shape):
    return torch.randint(low, high, shape, generator=generator)


encode = Exercise(
    "6.2",
    "The encoding of any position",
    hints=[
        "`positions[..., None]` has one more axis, along which the frequencies can lie.",
        "There is one angle for each pair: as many as `torch.arange(0, d, 2)` has entries. "
        "`torch.stack([sines, cosines], dim=-1)` puts the two of each pair side by side.",
        "After flattening the last two axes, an odd d leaves one feature too many.",
    ],
)


@encode.solution
def _(positions, d):
    return _waves(positions.double()[..., None] * _frequencies(d), d)


@encode.inputs
def _(generator):
    yield torch.tensor([0.0, 1.0, 2.5]), 4
    yield torch.tensor([[3.0, -1.0, 0.5], [7.0, 2.0, 4.0]]), 6
    for shape, d in [((4,), 7), ((1, 1), 1), ((6, 1, 4), 8)]:
        yield 20 * torch.rand(shape, generator=generator) - 5, d
    yield _integers(generator, -5, 15, (4,)), 7


@encode.holds("For an even d all vectors have the same length.")
def _(f, positions, d):
    if d % 2 == 0:
        lengths = f(positions, d).norm(dim=-1)
        return changed(
            lengths.flatten()[:1].expand_as(lengths),
            lengths,
            "one vector has the length {}, another {}",
        )


@encode.holds("A position between two whole numbers is neither of them.")
def _(f, positions, d):
    before, between, after = f(torch.tensor([2.0, 2.5, 3.0]), d)
    for neighbour, p in (before, 2), (after, 3):
        if torch.allclose(neighbour, between):
            return f"For d={d} you give 2.5 the vector of {p}."


@encode.mistake("the exponent doubled")
def _(positions, d):
    """You double a number that is even already, so the exponent is 4i/d. The frequencies fall twice
    as fast, and most features hardly change from one position to the next."""
    return _waves(positions[..., None] * _frequencies(d, factor=2.0), d)


@encode.mistake("the exponent halved")
def _(positions, d):
    """You use the number of the pair, i/d, where the exponent has twice that. The frequencies fall
    only half as far, and the slowest wave is far too short."""
    return _waves(positions[..., None] * _frequencies(d, factor=0.5), d)


@encode.mistake("cosine with the next frequency")
def _(positions, d):
    """You give every feature a frequency of its own, so a cosine rotates more slowly than its sine.
    They are no longer one hand, and the lengths of the vectors differ."""
    each = torch.arange(d, dtype=torch.float64)
    angle = positions[..., None] * 10000.0 ** (-each / d)
    waves = torch.where(torch.arange(d) % 2 == 0, angle.sin(), angle.cos())
    return waves.float()


@encode.mistake("sine and cosine exchanged")
def _(positions, d):
    """You begin each pair with the cosine. A new model would learn as well with it, but one that
    was trained on (6.2) would read the hands wrongly."""
    angle = positions[..., None] * _frequencies(d)
    pairs = torch.stack([angle.cos(), angle.sin()], dim=-1)
    return pairs.flatten(start_dim=-2)[..., :d].float()


@encode.mistake("all sines first")
def _(positions, d):
    """You put all sines first and all cosines after them. A new model would learn as well with it,
    but the features are not in the order of (6.2)."""
    angle = positions[..., None] * _frequencies(d)
    halves = torch.cat([angle.sin(), angle.cos()], dim=-1)
    return halves[..., :d].float()


@encode.mistake("frequencies that grow")
def _(positions, d):
    """You multiply by the power of 10000 instead of dividing. Each pair then rotates faster than
    the one before, and the last ones by thousands of radians at each step."""
    return _waves(positions[..., None] * _frequencies(d, factor=-1.0), d)


@encode.mistake("the row number instead of the position")
def _(positions, d):
    """You count 0, 1, 2 along the last axis and never look at what stands there. A position of 2.5
    or −1 is then encoded as whatever place it has in the tensor."""
    places = torch.arange(positions.shape[-1]).expand(positions.shape)
    return _waves(places[..., None] * _frequencies(d), d)


@encode.mistake("positions counted from 1")
def _(positions, d):
    """You add 1 to each position. All vectors then belong to the neighbour, and position 0 is not
    (0, 1, 0, 1, …)."""
    return _waves((positions[..., None] + 1) * _frequencies(d), d)


@encode.mistake("sines alone")
def _(positions, d):
    """You fill both features of a pair with the sine. A sine has the same value on its way up and
    on its way down, and nothing tells the two apart."""
    angle = positions[..., None] * _frequencies(d)
    return angle.sin().repeat_interleave(2, dim=-1)[..., :d].float()


@encode.mistake("the fraction cut off")
def _(positions, d):
    """You make whole numbers of the positions first. 2.5 then has the vector of another position,
    and small steps are lost."""
    return _waves(positions.long()[..., None] * _frequencies(d), d)


@encode.mistake("an odd d rounded up")
def _(positions, d):
    """You compute the frequencies for d + 1 features where d is odd. (6.1) divides by d itself, so
    all waves but the first come out too fast."""
    return _waves(positions[..., None] * _frequencies(d + d % 2), d)


@encode.mistake("an odd feature without a wave")
def _(positions, d):
    """You leave the last feature of an odd d at 0. The last pair loses its cosine only: its sine
    belongs there."""
    waves = _waves(positions[..., None] * _frequencies(d), d)
    if d % 2:
        waves[..., -1] = 0.0
    return waves


positions_of = Exercise(
    "6.3",
    "Positions in a padded batch",
    hints=[
        "How many words stand before this one in its own row? That number is its position.",
        "`is_token.long().cumsum(dim=-1)` counts the words up to each place, the place itself "
        "included.",
        "Look at what comes out for padding before the first word, and between two words.",
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


@positions_of.holds("The words of each sentence have the numbers 0, 1, 2, ….")
def _(f, is_token):
    for row, mask in zip(f(is_token), is_token, strict=True):
        found = row[mask].tolist()
        if found != list(range(len(found))):
            return f"Those of one sentence have {found}."


@positions_of.holds("More padding on the left changes the position of no word.")
def _(f, is_token):
    padded = torch.nn.functional.pad(is_token, (2, 0), value=False)
    return changed(
        f(is_token).float(),
        f(padded)[:, 2:].float(),
        "two more paddings turn the number {} into {}",
    )


@positions_of.mistake("padding counted")
def _(is_token):
    """You number the places of the tensor, padding included. The same sentence then gets other
    positions if a longer one happens to be in its batch."""
    return torch.arange(is_token.shape[-1]) * is_token


@positions_of.mistake("counted from 1")
def _(is_token):
    """You count the words up to and including each one. The first word then has position 1, one
    more than in training."""
    return is_token.long().cumsum(dim=-1) * is_token


@positions_of.mistake("padding gets −1")
def _(is_token):
    """You subtract 1 everywhere, also before the first word. Padding there gets −1, which in a
    table of learned vectors means the last row."""
    return is_token.long().cumsum(dim=-1) - 1


@positions_of.mistake("padding gets the number of the word before it")
def _(is_token):
    """You let the count stand still over padding. Padding after a word then has that word's
    position instead of 0."""
    return (is_token.long().cumsum(dim=-1) - 1).clamp(min=0)


@positions_of.mistake("counted along the batch")
def _(is_token):
    """You count along the first axis, from sentence to sentence. The position of a word then
    depends on which other sentences are in the batch."""
    return (is_token.long().cumsum(dim=0) - 1).clamp(min=0) * is_token


@positions_of.mistake("only the padding before the first word taken off")
def _(is_token):
    """You shift each sentence by the padding in front of it. Padding between two words is still
    counted as if words stood there."""
    first = is_token.long().argmax(dim=-1, keepdim=True)
    return (torch.arange(is_token.shape[-1]) - first) * is_token


@positions_of.mistake("all padding of the sentence taken off")
def _(is_token):
    """You subtract the number of all paddings of the sentence, wherever they stand. Padding after a
    word then moves the word, too."""
    padding = (~is_token).sum(dim=-1, keepdim=True)
    places = torch.arange(is_token.shape[-1]) - padding
    return places.clamp(min=0) * is_token


@positions_of.mistake("counted from the end")
def _(is_token):
    """You count how many words are still to come. The last word then has position 0, and every
    sentence is numbered backwards."""
    after = is_token.long().flip(-1).cumsum(dim=-1).flip(-1) - 1
    return after.clamp(min=0) * is_token


similarity_at = Exercise(
    "6.4",
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


@similarity_at.holds("At distance 0 it is 1, and nowhere more.")
def _(f, distances, d):
    at_zero = f(torch.zeros(1), d).item()
    if not math.isclose(at_zero, 1, abs_tol=1e-4):
        return f"For d={d} you return {told_apart(at_zero, 1)} there."
    largest = f(distances, d).max().item()
    if not largest < 1 + 1e-4:
        return f"For d={d} you return {told_apart(largest, 1)} once."


@similarity_at.holds("It agrees with the vectors of positions 50 and 50 + k.")
def _(f, distances, d):
    table = sinusoidal_positions(400, d)
    vectors = table[50 + distances.long()]
    measured = torch.nn.functional.cosine_similarity(vectors, table[50], dim=-1)
    found = f(distances, d)
    worst = (found - measured).abs().flatten().argmax()
    if not torch.allclose(found, measured.to(found), atol=1e-4):
        side = "more" if measured.flatten()[worst] > found.flatten()[worst] else "less"
        k, value = distances.flatten()[worst], found.flatten()[worst]
        return f"For d={d}, k={k:g} you return {value:.4g}; they are {side} alike."


@similarity_at.mistake("the dot product, not the cosine")
def _(distances, d):
    """You add up the cosines of the pairs. That is the dot product of the vectors, which grows with
    the number of features; it has still to be divided by their lengths."""
    return (distances[..., None] * _frequencies(d)).cos().sum(dim=-1).float()


@similarity_at.mistake("divided by d")
def _(distances, d):
    """You divide by the number of features. There are only half as many pairs, so equal positions
    come out as half alike."""
    angle = distances[..., None] * _frequencies(d)
    return (angle.cos().sum(dim=-1) / d).float()


@similarity_at.mistake("divided by the length once")
def _(distances, d):
    """You divide by the length of one vector. The dot product contains both, so the result still
    grows with the number of features."""
    angle = distances[..., None] * _frequencies(d)
    return (angle.cos().sum(dim=-1) / math.sqrt(d / 2)).float()


@similarity_at.mistake("sines instead of cosines")
def _(distances, d):
    """You average sines. They are 0 at distance 0, as if a position had nothing in common with
    itself."""
    return (distances[..., None] * _frequencies(d)).sin().mean(dim=-1).float()


@similarity_at.mistake("the distance from position 0 to twice as far")
def _(distances, d):
    """You take the product of the cosines of both positions and leave out that of their sines, as
    if p were 0 and both hands mattered alone. Each pair needs both coordinates."""
    angle = distances[..., None] * _frequencies(d)
    return angle.cos().square().mean(dim=-1).float()


@similarity_at.mistake("a frequency for each feature")
def _(distances, d):
    """You use as many frequencies as features. Sine and cosine share one, so half of yours belong
    to no pair."""
    each = 10000.0 ** (-torch.arange(d, dtype=torch.float64) / d)
    return (distances[..., None] * each).cos().mean(dim=-1).float()


@similarity_at.mistake("the exponent doubled")
def _(distances, d):
    """You double a number that is even already, so the exponent is 4i/d. Most pairs then hardly
    rotate, and all positions look too much alike."""
    slow = _frequencies(d, factor=2.0)
    return (distances[..., None] * slow).cos().mean(dim=-1).float()


@similarity_at.mistake("one cosine of the mean angle")
def _(distances, d):
    """You average the frequencies first and take one cosine. The pairs rotate at different speeds,
    and the mean of cosines is not the cosine of the mean."""
    return (distances * _frequencies(d).mean()).cos().float()


nearest_position = Exercise(
    "6.5",
    "From the vector back to the position",
    hints=[
        "Make the vectors of all positions, one in each row, and compare each given vector with "
        "every row.",
        "The squared distance to row t is |v|² − 2 v·t + |t|². Which of the three terms differ "
        "from row to row?",
        "`argmax` along the axis of the positions gives the number of the best row. Which position "
        "has row 0?",
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
        return f"For d={d} the vector of position {first + row} becomes {found[row].item()}."


@nearest_position.holds("A vector twice as long has the same position.")
def _(f, vectors, first, length):
    return changed(
        f(vectors, first, length).float(),
        f(2 * vectors, first, length).float(),
        "twice as long, the vector of {} becomes that of {}",
    )


@nearest_position.mistake("the farthest position")
def _(vectors, first, length):
    """You take the position that is least alike: the largest distance, or the smallest dot product.
    Its vector points away the most."""
    table = sinusoidal_positions(length, vectors.shape[-1], start=first)
    return first + (vectors @ table.mT).argmin(dim=-1)


@nearest_position.mistake("the row instead of the position")
def _(vectors, first, length):
    """You return the number of the row. Row 0 belongs to the position `first`, so every answer is
    too small by that much."""
    table = sinusoidal_positions(length, vectors.shape[-1], start=first)
    return (vectors @ table.mT).argmax(dim=-1)


@nearest_position.mistake("compared with the positions from 0 on")
def _(vectors, first, length):
    """You compare with the vectors of the first positions of all. The text begins elsewhere, and a
    vector from there is like none of these."""
    table = sinusoidal_positions(length, vectors.shape[-1])
    return (vectors @ table.mT).argmax(dim=-1)


@nearest_position.mistake("the vectors of the first positions of all")
def _(vectors, first, length):
    """You make the vectors of the positions from 0 on, and add `first` to the best row. The text
    begins elsewhere, and a vector from there is like none of these."""
    table = sinusoidal_positions(length, vectors.shape[-1])
    return first + (vectors @ table.mT).argmax(dim=-1)


@nearest_position.mistake("the first pair alone")
def _(vectors, first, length):
    """You compare only the fast hand, the first two features. It is back after 2π positions, so
    positions about six apart are mixed up."""
    table = sinusoidal_positions(length, vectors.shape[-1], start=first)
    return first + (vectors[..., :2] @ table[:, :2].mT).argmax(dim=-1)


@nearest_position.mistake("the slowest pair alone")
def _(vectors, first, length):
    """You compare only the slow hand, the last two features. It hardly rotates from one position to
    the next, so a little noise sends it far away."""
    table = sinusoidal_positions(length, vectors.shape[-1], start=first)
    return first + (vectors[..., -2:] @ table[:, -2:].mT).argmax(dim=-1)


@nearest_position.mistake("the sines alone")
def _(vectors, first, length):
    """You compare every second feature, the sines. A sine is the same on its way up and on its way
    down, so half of what the vector says is lost."""
    table = sinusoidal_positions(length, vectors.shape[-1], start=first)
    return first + (vectors[..., ::2] @ table[:, ::2].mT).argmax(dim=-1)


@nearest_position.mistake("the size of the product")
def _(vectors, first, length):
    """You take the dot product that is largest in size, whatever its sign. A vector that points
    the opposite way then counts as alike."""
    table = sinusoidal_positions(length, vectors.shape[-1], start=first)
    return first + (vectors @ table.mT).abs().argmax(dim=-1)


@nearest_position.mistake("the largest feature")
def _(vectors, first, length):
    """You look for the largest of the features. Its number says which wave is at its top, not at
    which position we are."""
    return first + vectors.argmax(dim=-1)


grid_positions = Exercise(
    "6.6",
    "Positions in an image",
    hints=[
        "Make two tables: `book.sinusoidal_positions(rows, d // 2)` and one for the columns.",
        "Each row's vector is needed once for every column, and the other way round: "
        "`repeat_interleave` and `repeat`, or `expand` on a tensor (rows, columns, d // 2).",
        "Read like text: the column changes with every token, the row after a whole line.",
    ],
)


def _grid(row, column):
    """Join a vector for each row with one for each column, as (rows, columns, d)."""
    shape = len(row), len(column), -1
    both = [row[:, None].expand(shape), column[None].expand(shape)]
    return torch.cat(both, dim=-1)


@grid_positions.solution
def _(rows, columns, d):
    row = sinusoidal_positions(rows, d // 2)
    column = sinusoidal_positions(columns, d // 2)
    return _grid(row, column).flatten(end_dim=1)


@grid_positions.inputs
def _(generator):
    yield 2, 3, 4
    yield from [(3, 2, 8), (1, 5, 4), (6, 3, 16), (1, 1, 4)]


@grid_positions.holds("Two patches of one row share the first half.")
def _(f, rows, columns, d):
    half = f(rows, columns, d).view(rows, columns, d)[..., : d // 2]
    return changed(
        half[:, :1].expand_as(half),
        half,
        "in one row a feature is {} at the left edge and {} elsewhere",
    )


@grid_positions.holds("No two patches have the same vector.")
def _(f, rows, columns, d):
    vectors = f(rows, columns, d)
    distance = torch.cdist(vectors, vectors)
    distance.fill_diagonal_(math.inf)
    if distance.numel() > 1 and not distance.min() > 1e-3:
        first, second = divmod(distance.argmin().item(), len(vectors))
        return f"Patches {first} and {second} of {len(vectors)} do."


@grid_positions.mistake("rows and columns exchanged")
def _(rows, columns, d):
    """You put the column into the first half and the row into the second. The halves are swapped
    for everyone who reads them as the task says."""
    row = sinusoidal_positions(rows, d // 2)
    column = sinusoidal_positions(columns, d // 2)
    return _grid(row, column).flatten(end_dim=1).roll(d // 2, dims=-1)


@grid_positions.mistake("read column by column")
def _(rows, columns, d):
    """You list the patches of the first column, then those of the second. The vectors are right,
    but most are given to the wrong patch."""
    row = sinusoidal_positions(rows, d // 2)
    column = sinusoidal_positions(columns, d // 2)
    return _grid(row, column).transpose(0, 1).flatten(end_dim=1)


@grid_positions.mistake("one long line")
def _(rows, columns, d):
    """You number the patches from first to last and encode that number. Two patches one above the
    other then look as if they were a whole line apart."""
    return sinusoidal_positions(rows * columns, d)


@grid_positions.mistake("added instead of side by side")
def _(rows, columns, d):
    """You add the vector of the row to that of the column. Row 1, column 2 then has the same vector
    as row 2, column 1."""
    row = sinusoidal_positions(rows, d)[:, None]
    return (row + sinusoidal_positions(columns, d)).flatten(end_dim=1)


@grid_positions.mistake("halves cut from d features")
def _(rows, columns, d):
    """You make sinusoids for d features and keep the first half of each. What is cut off are the
    slow waves, which say roughly where a patch is."""
    row = sinusoidal_positions(rows, d)[:, : d // 2]
    column = sinusoidal_positions(columns, d)[:, : d // 2]
    return _grid(row, column).flatten(end_dim=1)


@grid_positions.mistake("fast waves for the rows, slow ones for the columns")
def _(rows, columns, d):
    """You make sinusoids for d features and give one half to the rows, the other to the columns.
    The columns get slow waves only, and neighbours there are nearly the same."""
    row = sinusoidal_positions(rows, d)[:, : d // 2]
    column = sinusoidal_positions(columns, d)[:, d // 2 :]
    return _grid(row, column).flatten(end_dim=1)


@grid_positions.mistake("row and column in turn")
def _(rows, columns, d):
    """You mix the two, a feature of the row and one of the column in turn. All numbers are there,
    but not in two halves."""
    row = sinusoidal_positions(rows, d // 2)
    column = sinusoidal_positions(columns, d // 2)
    both = _grid(row, column).unflatten(-1, (2, -1))
    return both.mT.flatten(start_dim=-2).flatten(end_dim=1)


rotate_halves = Exercise(
    "6.7",
    "Rotary positions with the other pairing",
    hints=[
        "`x.chunk(2, dim=-1)` gives the first and the second half: the two coordinates of all "
        "hands.",
        "Angles have the shape (length, d/2): the row number times the d/2 frequencies of (6.1). "
        "They fit either half as it is.",
        "A rotation makes (a cos − b sin, a sin + b cos) of (a, b). Where do the two results "
        "belong?",
    ],
    differentiable=True,
)


def _rotate(x, *, angle=None, back=False):
    length, d = x.shape[-2:]
    if angle is None:
        place = torch.arange(length, dtype=torch.float64)
        angle = place[:, None] * _frequencies(d)
    angle = -angle if back else angle
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


@rotate_halves.solution
def _(x):
    return _rotate(x)


@rotate_halves.inputs
def _(generator):
    yield (torch.tensor([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]),)
    for shape in [(5, 2), (2, 100, 8), (1, 1, 4), (3, 1, 4, 6)]:
        yield (torch.randn(shape, generator=generator),)


@rotate_halves.holds("The product of two rows depends on their distance alone.")
def _(f, x):
    length = x.shape[-2]
    if length > 2:
        alike = x[..., :1, :].expand_as(x)  # the same vector everywhere
        rotated = f(alike)
        next_to = (rotated[..., 1:, :] * rotated[..., :-1, :]).sum(dim=-1)
        return changed(
            next_to[..., :1].expand_as(next_to),
            next_to,
            "two neighbours have the product {}, two others {}",
        )


@rotate_halves.holds("Feature i is mixed with feature i + d/2 and no other.")
def _(f, x):
    d = x.shape[-1]
    one = torch.zeros_like(x)
    one[..., 0] = 1.0
    touched = (f(one).abs() > 1e-6).flatten(end_dim=-2).any(dim=0).nonzero()
    extra = [i for i in touched.flatten().tolist() if i not in (0, d // 2)]
    if extra:
        return f"For d={d} feature 0 reaches feature {extra[0]}."


@rotate_halves.mistake("neighbours paired")
def _(x):
    """You rotate features 0 and 1, 2 and 3, and so on, as the chapter does. Weights that were
    trained with the other pairing would meet the wrong partners."""
    a, b = x[..., 0::2], x[..., 1::2]
    rotated = _rotate(torch.cat([a, b], dim=-1))
    return torch.stack(rotated.chunk(2, dim=-1), dim=-1).flatten(start_dim=-2)


@rotate_halves.mistake("rotated back")
def _(x):
    """You rotate the other way round. If query and key are both rotated so, nothing shows; next to
    keys that were stored by another program, everything is wrong."""
    return _rotate(x, back=True)


@rotate_halves.mistake("a mirror instead of a rotation")
def _(x):
    """You have the same sign twice, as in (a cos + b sin, a sin + b cos). This is not a rotation:
    it changes lengths, and scores no longer depend on the distance alone."""
    place = torch.arange(x.shape[-2])
    angle = place[:, None] * _frequencies(x.shape[-1])
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos + b * sin, a * sin + b * cos], dim=-1)


@rotate_halves.mistake("frequencies in the order of neighbours")
def _(x):
    """You pair the halves, but repeat each frequency twice in a row, as neighbours would need it.
    The two features of a pair then rotate by different angles."""
    length, d = x.shape[-2:]
    angle = torch.arange(length)[:, None] * _frequencies(d)
    angle = angle.repeat_interleave(2, dim=-1)  # (length, d)
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-b, a], dim=-1) * sin


@rotate_halves.mistake("frequencies for half the features")
def _(x):
    """You compute the frequencies with d/2 in the exponent instead of d. They fall too fast, and
    the slow pairs hardly rotate at all."""
    length, d = x.shape[-2:]
    omega = 10000.0 ** (-2 * torch.arange(0, d, 2, dtype=torch.float64) / d)
    return _rotate(x, angle=torch.arange(length)[:, None] * omega)


@rotate_halves.mistake("positions counted from 1")
def _(x):
    """You rotate row 0, too, and every row by one step too many. Scores within one text stay the
    same, but the row at position 0 should not move at all."""
    place = torch.arange(1, x.shape[-2] + 1)
    return _rotate(x, angle=place[:, None] * _frequencies(x.shape[-1]))


@rotate_halves.mistake("one angle for all pairs")
def _(x):
    """You rotate every pair by the position itself. All hands then run at the same speed, and
    places six apart can hardly be told apart."""
    place = torch.arange(x.shape[-2], dtype=torch.float64)
    return _rotate(x, angle=place[:, None].expand(-1, x.shape[-1] // 2))


@rotate_halves.mistake("angles in half precision")
def _(x):
    """You compute the angles in bfloat16. It has eight binary digits, so the whole numbers above
    256 are rounded, and angles are wrong long before that."""
    place = torch.arange(x.shape[-2], dtype=torch.bfloat16)
    angle = place[:, None] * _frequencies(x.shape[-1]).to(torch.bfloat16)
    return _rotate(x, angle=angle.float())


@rotate_halves.mistake("sinusoids added")
def _(x):
    """You add position vectors instead of rotating. The length of the vectors changes, and so does
    the word in them."""
    return x + sinusoidal_positions(*x.shape[-2:])


alibi_weights = Exercise(
    "6.8",
    "Attention that fades with distance",
    hints=[
        "At which place does the first of the queries stand, if the last one stands at place "
        "L_key − 1?",
        "With the places as a column for queries and a row for keys, their difference is the "
        "distance, of shape (L_query, L_key). `slopes[:, None, None]` lies along the heads.",
        "Everything with a negative distance lies in the future: its score becomes −∞ before "
        "softmax.",
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


@alibi_weights.holds("What comes later gets exactly 0, whatever the scores are.")
def _(f, scores, slopes):
    later = _distances(*scores.shape[-2:]) < 0
    large = torch.where(later, 1000.0, scores - 1000.0)
    for given in scores, large:
        weights = f(given, slopes)
        if weights[..., later].any():
            return f"One key that comes later gets {weights[..., later].max().item():.3g}."


@alibi_weights.holds("Of equal scores, the nearer key gets more.")
def _(f, scores, slopes):
    steep = torch.ones_like(slopes)
    last = f(torch.zeros_like(scores), steep)[..., -1, :]
    if last.shape[-1] > 1 and not (last.diff(dim=-1) > 0).all():
        numbers = ", ".join(f"{w:.2f}" for w in last.flatten()[: last.shape[-1]])
        return f"With scores of 0 and a slope of 1 the last query has the weights {numbers}."


@alibi_weights.mistake("the distance added")
def _(scores, slopes):
    """You raise a score with its distance. Then the farther away a key is, the more weight it
    gets."""
    return _fading(scores, slopes, sign=1)


@alibi_weights.mistake("the queries at the first places")
def _(scores, slopes):
    """You let the first query stand at place 0. With fewer queries than keys the last ones then
    can't see the end of the text, where they stand."""
    distance = _distances(*scores.shape[-2:], start=0)
    biased = scores - slopes[:, None, None] * distance
    return biased.masked_fill(distance < 0, -math.inf).softmax(dim=-1)


@alibi_weights.mistake("the future visible")
def _(scores, slopes):
    """You lower scores to both sides and hide nothing. A token that is being written then attends
    to what has not been written yet."""
    distance = _distances(*scores.shape[-2:]).abs()
    return _fading(scores, slopes, distance=distance, future=True)


@alibi_weights.mistake("the future rewarded")
def _(scores, slopes):
    """You subtract the signed distance and hide nothing. In the future the distance is negative, so
    scores there are raised."""
    return _fading(scores, slopes, future=True)


@alibi_weights.mistake("one slope for all heads")
def _(scores, slopes):
    """You use the first slope in every head. All heads then fade alike, and none of them looks
    farther back than the others."""
    return _fading(scores, slopes[:1].expand_as(slopes))


@alibi_weights.mistake("the mean of the slopes for all heads")
def _(scores, slopes):
    """You use the mean of the slopes in every head. All heads then fade alike, and none of them
    looks farther back than the others."""
    return _fading(scores, slopes.mean().expand_as(slopes))


@alibi_weights.mistake("the slopes forgotten")
def _(scores, slopes):
    """You subtract the bare distance in every head. All heads then fade alike, and steeply: one
    place away costs a factor of e."""
    return _fading(scores, torch.ones_like(slopes))


@alibi_weights.mistake("lowered after softmax")
def _(scores, slopes):
    """You mask, apply softmax and then scale the weights by the distance. They no longer sum to
    1."""
    plain = _fading(scores, torch.zeros_like(slopes))
    distance = _distances(*scores.shape[-2:]).clamp(min=0)
    return plain * torch.exp(-slopes[:, None, None] * distance)


@alibi_weights.mistake("multiplied instead of lowered")
def _(scores, slopes):
    """You multiply the score by slope and distance instead of subtracting them. A key at distance 0
    then scores 0, however well it fits."""
    distance = _distances(*scores.shape[-2:])
    biased = scores * slopes[:, None, None] * distance
    return biased.masked_fill(distance < 0, -math.inf).softmax(dim=-1)


@alibi_weights.mistake("itself hidden")
def _(scores, slopes):
    """You hide distance 0 together with the future. A token can't attend to itself then, and the
    first one to nothing at all, so its place is left with zeros."""
    distance = _distances(*scores.shape[-2:])
    biased = scores - slopes[:, None, None] * distance
    biased = biased.masked_fill(distance <= 0, -math.inf)
    return biased.softmax(dim=-1).nan_to_num(0.0)


@alibi_weights.mistake("the distance squared")
def _(scores, slopes):
    """You subtract the slope times the squared distance. Far keys are punished much harder than
    near ones, and even gentle slopes see only a few places back."""
    distance = _distances(*scores.shape[-2:])
    return _fading(scores, slopes, distance=distance.square())


@alibi_weights.mistake("divided by the distance")
def _(scores, slopes):
    """You divide scores by one plus slope times distance. That makes negative scores larger with
    the distance, so a bad fit counts as better the farther away it is."""
    distance = _distances(*scores.shape[-2:])
    biased = scores / (1 + slopes[:, None, None] * distance.clamp(min=0))
    return biased.masked_fill(distance < 0, -math.inf).softmax(dim=-1)
