"""Exercises of chapter 12, "What happens inside a language model?"."""

import math

import torch
import torch.nn.functional as F

from attnbook.exercises.declare import Construction, Exercise, MultipleChoice, NumericAnswer
from attnbook.exercises.properties import changed
from attnbook.exercises.report import describe, told_apart

one_head_twelve_countries = MultipleChoice(
    "12.0",
    "One head and twelve countries",
    hints=[
        "Is there anything special about France and Germany for a head that carries a country?",
        "Each head has its own projections. What would another head have to look at?",
    ],
    answer="C",
    because="Head 4 carries the country, whichever it is. No other head of the block does so, and "
    "the other heads' outputs alone leave the original country where head 4 finds it.",
)
one_head_twelve_countries.wrong_option(
    "A",
    "one sentence is an accident",
    "This takes the head for a memory of one country. But a head's projections are the same for "
    "all countries, and it moves what it finds.",
)
one_head_twelve_countries.wrong_option(
    "B",
    "the work is shared",
    "This spreads the work over the block. But one head of all 270 was enough to turn *Paris* into "
    "*Berlin*, and the next best ones were not.",
)
one_head_twelve_countries.wrong_option(
    "D",
    "a block works as a whole",
    "This takes the block for the part that carries the country. But each head has its own "
    "weights, and the others look elsewhere.",
)


share_of_the_best = NumericAnswer(
    "12.1",
    "The share of the right token",
    answer=math.exp(5) / (math.exp(5) + 9),
    within=0.0031,  # 0.94 is right, but 0.937, with ten others, is not
    hints=[
        "The weights are a softmax of the ten scores. What does softmax make of a score of 0?",
        "e⁰ = 1. So the denominator has one large term and nine small ones.",
    ],
)
share_of_the_best.wrong_value(
    "the others get nothing",
    1.0,
    "You gave all the weight to the token that fits, as if a score of 0 were a weight of 0. But "
    "e⁰ is not 0, so each of the other tokens gets a small share.",
)
share_of_the_best.wrong_value(
    "one other token",
    math.exp(5) / (math.exp(5) + 1),
    "You counted one token with a score of 0. But there are nine of them, and each adds to the "
    "denominator.",
)
share_of_the_best.wrong_value(
    "ten others",
    math.exp(5) / (math.exp(5) + 10),
    "You counted ten tokens with a score of 0. But the head sees ten tokens in all, and one of "
    "them has the score 5.",
)
share_of_the_best.wrong_value(
    "the score without its exponential",
    5 / 14,
    "You compared the score itself with nine ones. But softmax takes the exponential of every "
    "score, of the large one as well.",
)


def _head(token, note, *, query=None, key=None, value=None, hide=None):
    """The second head, parts of which may be changed."""
    query, key = (token if query is None else query), (note if key is None else key)
    scores = 60 * query @ key.mT / math.sqrt(token.shape[-1])
    weights = (hide or _without_later)(scores)
    return weights @ (token if value is None else value)


def _without_later(scores, first=1):
    later = torch.ones(scores.shape, dtype=torch.bool).triu(first)
    return scores.masked_fill(later, -math.inf).softmax(dim=-1)


def _set_to_0(scores):
    return scores.tril().softmax(dim=-1)


def _noted(text, words=8):
    """The tokens of a text and the notes about the tokens before them, both one-hot."""
    token = F.one_hot(text, words).float()
    return token, torch.cat([token[:1], token[:-1]])


second_head = Exercise(
    "12.2",
    "Repair the second head",
    hints=[
        "There are three mistakes. One is in what the head compares, one in what it may see, and "
        "one in what it hands over.",
        "The head asks with the present word. Where is it written after which word a word came?",
        "A score of 0 is not a weight of 0. Which score becomes a weight of 0?",
        "The note helps the head to find a place. But which word does the head have to predict?",
    ],
)


@second_head.solution
def _(token, note):
    scores = 60 * token @ note.mT / math.sqrt(token.shape[-1])
    later = torch.ones(scores.shape, dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -math.inf).softmax(dim=-1) @ token


@second_head.inputs
def _(generator):
    yield _noted(torch.tensor([0, 1, 2, 1]), words=3)
    for words, period, times in [(8, 3, 2), (5, 4, 2), (6, 1, 4)]:
        once = 1 + torch.randperm(words - 1, generator=generator)[:period]
        yield _noted(torch.cat([torch.tensor([0]), once.repeat(times)]), words)
    yield tuple(0.4 * torch.rand(2, 7, 6, generator=generator))  # no fit is perfect


@second_head.holds("It continues a repetition.")
def _(f, token, note):
    guess = f(*_noted(torch.tensor([0, 1, 2, 3, 1, 2]), words=4))[-1].argmax().item()
    if guess != 3:
        return f"After 0 1 2 3 1 2, it predicts {guess} instead of 3."


@second_head.holds("No word depends on later words.")
def _(f, token, note):
    half = len(token) // 2
    return changed(
        f(token, note)[:half],
        f(token[:half], note[:half]),
        "with the later words, a share is {}, but without them it is {}",
    )


@second_head.mistake("nothing repaired")
def _(token, note):
    """This head still has all three mistakes. It looks for the present word itself, gives weight to
    later words, and hands over notes."""
    return _head(token, note, key=token, value=note, hide=_set_to_0)


@second_head.mistake("the tokens as keys")
def _(token, note):
    """Your keys are the tokens. The head then finds the places where the present word is, and not
    the places after them."""
    return _head(token, note, key=token)


@second_head.mistake("the notes as values")
def _(token, note):
    """Your values are the notes. The head finds the right place, but it hands over the note, which
    is the present word once more."""
    return _head(token, note, value=note)


@second_head.mistake("later scores set to 0")
def _(token, note):
    """You set the scores of later words to 0. But e⁰ = 1, so later words get weight where no note
    fits."""
    return _head(token, note, hide=_set_to_0)


@second_head.mistake("only the keys repaired")
def _(token, note):
    """You have repaired the keys, but neither the mask nor the values. Later words still get
    weight, and the head hands over notes."""
    return _head(token, note, value=note, hide=_set_to_0)


@second_head.mistake("only the values repaired")
def _(token, note):
    """You have repaired the values, but neither the keys nor the mask. The head still looks for the
    present word itself, and later words still get weight."""
    return _head(token, note, key=token, hide=_set_to_0)


@second_head.mistake("only the mask repaired")
def _(token, note):
    """You have repaired the mask, but neither the keys nor the values. The head still looks for the
    present word itself, and it hands over notes."""
    return _head(token, note, key=token, value=note)


@second_head.mistake("queries and keys exchanged")
def _(token, note):
    """You ask with the note and look among the tokens. The head then looks for the word before the
    present one, and not for the present word."""
    return _head(token, note, query=note, key=token)


@second_head.mistake("notes compared with notes")
def _(token, note):
    """You compare the notes with each other. The head then finds words that came after the same
    word as the present one, and the present word is always among them."""
    return _head(token, note, query=note)


@second_head.mistake("no mask")
def _(token, note):
    """You leave out the mask. A word then sees the words after it, among them the one that the head
    has to predict."""
    return _head(token, note, hide=lambda scores: scores.softmax(dim=-1))


@second_head.mistake("masked after softmax")
def _(token, note):
    """You set the weights of later words to 0 after softmax. The weights that are left then sum to
    less than 1."""
    return _head(token, note, hide=lambda scores: scores.softmax(dim=-1).tril())


@second_head.mistake("its own place hidden")
def _(token, note):
    """You hide a word's own place together with the later words. The first word then sees nothing
    at all, and its row is NaN."""
    return _head(token, note, hide=lambda scores: _without_later(scores, first=0))


copying_share = Exercise(
    "12.3",
    "Does a head copy?",
    hints=[
        "Send all tokens through the circuit at once. The result has one row for each token and "
        "one column for each logit.",
        "A token's own logit is on the diagonal. Compare each row with its entry there.",
        "A token is not one of the others. How many pairs of a token and another one are there?",
    ],
)


def _raised(embedding, ov, unembedding):
    return embedding @ ov @ unembedding.mT


def _share(logits):
    words = len(logits)
    return (logits < logits.diagonal()[:, None]).sum() / (words * (words - 1))


@copying_share.solution
def _(embedding, ov, unembedding):
    logits = embedding @ ov @ unembedding.mT
    words = len(logits)
    return (logits < logits.diagonal()[:, None]).sum().item() / (words * (words - 1))


@copying_share.inputs
def _(generator):
    yield torch.eye(2), torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.eye(2)
    yield torch.eye(3), torch.zeros(3, 3), torch.eye(3)  # no logit is raised more than another
    for words, d in [(7, 3), (9, 5), (12, 12), (4, 1), (15, 6)]:
        yield (
            torch.randn(words, d, generator=generator),
            torch.randn(d, d, generator=generator),
            torch.randn(words, d, generator=generator),
        )


@copying_share.holds("A circuit that hands each token on has the share 1.")
def _(f, embedding, ov, unembedding):
    found = float(f(torch.eye(4), torch.eye(4), torch.eye(4)))
    if not abs(found - 1) < 1e-4:
        return f"You return {told_apart(found, 1)}."


@copying_share.holds("A circuit that lowers only the token's own logit has the share 0.")
def _(f, embedding, ov, unembedding):
    found = float(f(torch.eye(4), -torch.eye(4), torch.eye(4)))
    if not abs(found) < 1e-4:
        return f"You return {told_apart(found, 0)}."


@copying_share.mistake("the token counted among the others")
def _(embedding, ov, unembedding):
    """You divide by the number of all pairs, in which each token is also paired with itself. But a
    logit is never less than itself, so your share can't reach 1."""
    logits = _raised(embedding, ov, unembedding)
    return (logits < logits.diagonal()[:, None]).float().mean()


@copying_share.mistake("less or equal")
def _(embedding, ov, unembedding):
    """You also count logits that are *equal* to the token's own, such as the own logit itself. A
    circuit that does nothing then seems to copy."""
    logits = _raised(embedding, ov, unembedding)
    return (logits <= logits.diagonal()[:, None]).float().mean()


@copying_share.mistake("columns instead of rows")
def _(embedding, ov, unembedding):
    """You compare each token's own logit with the rest of its *column*. This tells which tokens
    raise one logit. But the task asks which logits one token raises."""
    return _share(_raised(embedding, ov, unembedding).mT)


@copying_share.mistake("only the largest logit")
def _(embedding, ov, unembedding):
    """You count the tokens whose own logit is raised most of all. A token whose own logit comes
    second then counts as if it were not copied at all."""
    best = _raised(embedding, ov, unembedding).argmax(dim=-1)
    return (best == torch.arange(len(best))).float().mean()


@copying_share.mistake("the ones that are raised more")
def _(embedding, ov, unembedding):
    """You count the logits that are raised *more* than the token's own. A perfect copier then gets
    a share of 0."""
    return _share(-_raised(embedding, ov, unembedding))


@copying_share.mistake("the circuit transposed")
def _(embedding, ov, unembedding):
    """You multiply by the transpose of the OV circuit. A vector is a row here, so it comes before
    the matrix, and the *rows* of the matrix belong to the features that go in."""
    return _share(_raised(embedding, ov.mT, unembedding))


two_answers = Exercise(
    "12.4",
    "A text with two answers",
    hints=[
        "The second head divides its weight equally among all places whose note names the last "
        "word. How many such places do you need?",
        "The note of a place is the word before it. So `one` must come right after `asked`.",
        "The first word of a text has no word before it. What is its note, and does it matter?",
    ],
    integers=True,
)


@two_answers.solution
def _(asked, one, other):
    return torch.tensor([0, asked, one, asked, other, asked])


@two_answers.inputs
def _(generator):
    yield 1, 2, 3
    for _ in range(4):
        yield tuple((1 + torch.randperm(7, generator=generator)[:3]).tolist())


@two_answers.holds("The two heads give each of the two words a share of one half.")
def _(f, asked, one, other):
    text = f(asked, one, other).long()
    if not 0 <= text.min() <= text.max() < 8:
        return f"But your text `{describe(text)}` has numbers that belong to no word."
    shares = _head(*_noted(text))[-1]
    for word in (one, other):
        if not abs(shares[word] - 0.5) < 0.01:
            share = told_apart(shares[word].item(), 0.5)
            return f"With the text `{describe(text)}`, word {word} has the share {share}."


@two_answers.mistake("no start")
def _(asked, one, other):
    """You leave out the 0. The first word is then `asked`, and its note is `asked` as well. So the
    second head also looks there, and each of three words gets a third."""
    return torch.tensor([asked, one, asked, other, asked])


@two_answers.mistake("no question at the end")
def _(asked, one, other):
    """Your text does not end with `asked`. The second head then asks with `other`, which no note
    names."""
    return torch.tensor([0, asked, one, asked, other])


@two_answers.mistake("one word after the other")
def _(asked, one, other):
    """You let `other` follow directly after `one`. But a note names only the word right before, so
    the note of `other` is `one`, and only `one` gets a share."""
    return torch.tensor([0, asked, one, other, asked])


@two_answers.mistake("each word before the question")
def _(asked, one, other):
    """You put each of the two words *before* an `asked`. But the second head predicts words that
    came after it, and here this is only `other`."""
    return torch.tensor([0, one, asked, other, asked])


@two_answers.mistake("the words exchanged")
def _(asked, one, other):
    """You let `other` come first. The shares are right, but the task asks for `one` first."""
    return torch.tensor([0, asked, other, asked, one, asked])


@two_answers.mistake("a start before each part")
def _(asked, one, other):
    """You begin each part with a 0. The shares are right, but only the first word of a text needs
    another word before it, so your text is too long."""
    return torch.tensor([0, asked, one, 0, asked, other, 0, asked])


two_heads = Exercise(
    "12.5",
    "Two heads in one layer",
    hints=[
        "With no exception, a head that looks at place 1 is right in the first and the third text. "
        "What is at place 1 in the other two?",
        "A head gives all its weight to A if A is at place 2 and has by far the largest score "
        "there. If A's value is 0, the head then adds nothing.",
        "Head 0 looks at place 1, unless A is at place 2. Which texts are left for head 1, and "
        "where must it look?",
    ],
)


def _built(looks, exceptions, a_adds=0.0):
    """Heads that look at these places, unless A is at the place of the exception."""
    scores, values = torch.zeros(2, 4, 4), torch.zeros(2, 4, 2)
    for head in range(2):
        scores[head, :, looks[head]] = 20.0
        if exceptions:
            scores[head, 0, exceptions[head]] = 40.0
    values[:, 1, 0] = values[:, 2, 1] = 1.0
    values[:, 0, 0] = a_adds
    return scores, values


@two_heads.solution
def _(layer):
    scores, values = torch.zeros(2, 4, 4), torch.zeros(2, 4, 2)
    scores[0, :, 1] = scores[1, :, 3] = 20.0
    scores[0, 0, 2] = scores[1, 0, 0] = 40.0
    values[:, 1, 0] = values[:, 2, 1] = 1.0
    return layer(scores, values)


@two_heads.inputs
def _(generator):
    yield (_Layer(),)


def _first(f, points, sentence):
    """A sentence about the first text for which a learner's layer earns so many points."""
    found = []

    def layer(scores, values):
        found.append(_logits(scores, values).float().round(decimals=4))
        return _points(found[-1])

    f(layer)
    if not found:
        return "You never run `layer`."
    for text, logits in zip(_TEXTS, found[-1].tolist(), strict=True):
        if _points(found[-1])[_TEXTS.index(text)] == points:
            b, c = map(describe, logits)
            return f"After {' '.join(text)}, A, {sentence.format(b, c)}."


@two_heads.holds("No text ends in a tie.")
def _(f, layer):
    return _first(f, 0.5, "B and C both have the logit {}")


@two_heads.holds("No text gets the wrong word.")
def _(f, layer):
    return _first(f, 0, "B has the logit {}, and C has {}")


@two_heads.mistake("ties everywhere")
def _(layer):
    """All four texts end in a tie. If every head looks at the same places in all texts, the layer
    adds B as often as C. So where a head looks must depend on the place of A."""
    return layer(*_built((1, 3), ()))


@two_heads.mistake("the trick for place 1 alone")
def _(layer):
    """Your layer solves the two texts in which A is at place 0, and leaves the others in a tie. Do
    both heads use the same trick? One of them is needed for the texts with A at place 2."""
    return layer(*_built((1, 1), (2, 2)))


@two_heads.mistake("the trick for place 3 alone")
def _(layer):
    """Your layer solves the two texts in which A is at place 2, and leaves the others in a tie. Do
    both heads use the same trick? One of them is needed for the texts with A at place 0."""
    return layer(*_built((3, 3), (0, 0)))


@two_heads.mistake("the exceptions exchanged")
def _(layer):
    """Your layer prefers the wrong word in all four texts. Each head must rest where the word after
    A is *not* at its place. Does it rest in the other two texts?"""
    return layer(*_built((1, 3), (0, 2)))


@two_heads.mistake("always B")
def _(layer):
    """Your layer prefers B in all four texts. The values of B and C, or what the other words add,
    are then not balanced."""
    return layer(*_built((1, 3), (2, 0), a_adds=5.0))


logit_shares = Exercise(
    "12.7",
    "What each head adds to a logit",
    hints=[
        "First, compute what each head adds to the stream. Which columns of `output_weight` read "
        "the features of head h?",
        "RMSNorm divides the whole stream by one number. What is each head's update divided by?",
        "Scale and row act on each feature, so a dot product with `scale * row` does both.",
    ],
)


def _updates(merged, output_weight):
    moves = output_weight.unflatten(1, merged.shape[1:])
    return torch.einsum("bhk,dhk->bhd", merged, moves)


def _size(stream, epsilon=1e-5):
    return (stream.square().mean(dim=-1, keepdim=True) + epsilon).sqrt()


@logit_shares.solution
def _(merged, output_weight, stream, scale, row):
    moves = output_weight.unflatten(1, merged.shape[1:])
    updates = torch.einsum("bhk,dhk->bhd", merged, moves)
    size = (stream.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()
    return updates @ (scale * row) / size


@logit_shares.inputs
def _(generator):
    yield (
        torch.tensor([[[1.0], [2.0]]]),
        torch.tensor([[1.0, 0.0], [3.0, 1.0]]),
        torch.tensor([[3.0, 4.0]]),
        torch.tensor([1.0, 2.0]),
        torch.tensor([1.0, 1.0]),
    )
    for batch, heads, d_k, d in [(2, 3, 3, 9), (3, 2, 2, 6), (1, 4, 1, 4), (2, 1, 3, 5)]:
        merged = torch.randn(batch, heads, d_k, generator=generator)
        weight = torch.randn(d, heads * d_k, generator=generator)
        stream = 3 * torch.randn(batch, d, generator=generator) + 1
        scale = 0.5 + torch.rand(d, generator=generator)
        row = torch.randn(d, generator=generator)
        yield merged, weight, stream, scale, row
        yield merged / 900, weight, stream / 900, scale, row  # ε counts


@logit_shares.holds("If the stream is the sum of the heads, their shares sum to the logit.")
def _(f, merged, output_weight, stream, scale, row):
    stream = merged.flatten(1) @ output_weight.mT
    return changed(
        (stream / _size(stream)) @ (scale * row),
        f(merged, output_weight, stream, scale, row).sum(dim=1),
        "the logit is {}, but your shares sum to {}",
    )


@logit_shares.holds("If the stream stays the same, twice the output of a head has twice the share.")
def _(f, merged, output_weight, stream, scale, row):
    return changed(
        2 * f(merged, output_weight, stream, scale, row),
        f(2 * merged, output_weight, stream, scale, row),
        "twice the share is {}, but you return {}",
    )


@logit_shares.mistake("each update normalised by itself")
def _(merged, output_weight, stream, scale, row):
    """You divide each update by its own size. A head that adds next to nothing then seems to add
    as much as the others, and the shares no longer sum to the logit."""
    updates = _updates(merged, output_weight)
    return updates / _size(updates) @ (scale * row)


@logit_shares.mistake("the size of the heads' sum")
def _(merged, output_weight, stream, scale, row):
    """You divide by the size of the sum of the heads. But the norm sees the whole stream, to which
    all blocks and the embedding have added."""
    updates = _updates(merged, output_weight)
    return updates @ (scale * row) / _size(updates.sum(dim=1))


@logit_shares.mistake("no norm")
def _(merged, output_weight, stream, scale, row):
    """You leave out the division. But the last norm divides the stream by its size, and with it
    everything that was added to the stream."""
    return _updates(merged, output_weight) @ (scale * row)


@logit_shares.mistake("the scale forgotten")
def _(merged, output_weight, stream, scale, row):
    """You leave out the learned scale of the norm. Features that should count less then count as
    much as the others."""
    return _updates(merged, output_weight) @ row / _size(stream)


@logit_shares.mistake("heads interleaved")
def _(merged, output_weight, stream, scale, row):
    """You give a head columns of the weight that are not neighbours. But the features of a head are
    side by side, and so are its columns."""
    moves = output_weight.unflatten(1, merged.shape[:0:-1]).transpose(1, 2)
    updates = torch.einsum("bhk,dhk->bhd", merged, moves)
    return updates @ (scale * row) / _size(stream)


@logit_shares.mistake("one size for the whole batch")
def _(merged, output_weight, stream, scale, row):
    """You divide by one size for the whole batch. But each text is normalised by itself."""
    return _updates(merged, output_weight) @ (scale * row) / _size(stream.flatten())


@logit_shares.mistake("the mean subtracted")
def _(merged, output_weight, stream, scale, row):
    """You subtract the mean of the features, as a layer norm does. But RMSNorm does not subtract
    the mean."""
    updates = _updates(merged, output_weight)
    updates = updates - updates.mean(dim=-1, keepdim=True)
    return updates @ (scale * row) / _size(stream - stream.mean(dim=-1, keepdim=True))


@logit_shares.mistake("ε left out")
def _(merged, output_weight, stream, scale, row):
    """You leave out ε. For a stream of very small numbers, your shares are then too large."""
    return _updates(merged, output_weight) @ (scale * row) / _size(stream, epsilon=0.0)


_TEXTS = ("ABDC", "DCAB", "ACDB", "DBAC")
_RIGHT = torch.tensor([0, 0, 1, 1])  # B, B, C, C


def _logits(scores, values):
    """The logits of B and C after each of the four texts: (text, logit)."""
    for name, given, shape in [("scores", scores, (2, 4, 4)), ("values", values, (2, 4, 2))]:
        if tuple(given.shape) != shape:
            raise ValueError(f"{name} must have the shape {shape}, but it has {tuple(given.shape)}")
    words = torch.tensor([["ABCD".index(word) for word in text] for text in _TEXTS])
    weights = scores[:, words, torch.arange(4)].softmax(dim=-1)  # (head, text, place)
    return torch.einsum("htp,htpv->tv", weights, values[:, words])


def _points(logits):
    """1 for each text whose right word has the larger logit, ½ for a tie, or else 0."""
    right, wrong = logits.gather(1, torch.stack([_RIGHT, 1 - _RIGHT], dim=1)).unbind(dim=1)
    return torch.where(right.isclose(wrong, atol=1e-5), 0.5, (right > wrong).to(logits))


class _Layer:
    def __call__(self, scores, values):
        return _points(_logits(scores, values))

    def __repr__(self):
        return "the layer"

    def __deepcopy__(self, memo):
        return self


two_rankings = Construction(
    "12.8",
    "Two heads, ranked twice",
    shape=(4, 2),
    hints=[
        "If A does not touch feature 0, how can A still change the logit? Which of the four "
        "vectors must read what A writes, and which must write into feature 0?",
        "If B is off, the neuron must write more, and exactly as much more as B had added. Must B "
        "excite the neuron, or inhibit it?",
    ],
)
two_rankings.reference = torch.tensor([[0.0, 3.0], [1.0, 0.0], [-1.0, 1.0], [1.0, 0.0]])


def _logit(found, *, without=None):
    a, b, key, value = found
    stream = (0 * a if without == "A" else a) + (0 * b if without == "B" else b)
    return (stream + (stream @ key).clamp(min=0) * value)[0].item()


def _switched_off(found, head):
    return (
        f"The logit is {_logit(found):.3f} with both heads, and {_logit(found, without=head):.3f} "
        f"without {head}."
    )


@two_rankings.holds("Head A adds at most 0.01 directly to the logit, up or down.")
def _(found):
    if found[0, 0].abs() > 0.01 + 1e-3:
        return f"It adds {found[0, 0]:.3f}."


@two_rankings.holds("Without A, the logit is at least 1 lower.")
def _(found):
    if _logit(found) - _logit(found, without="A") < 1 - 1e-3:
        return _switched_off(found, "A")


@two_rankings.holds("Head B adds at least 1 directly to the logit.")
def _(found):
    if found[1, 0] < 1 - 1e-3:
        return f"It adds {found[1, 0]:.3f}."


@two_rankings.holds("Without B, the logit changes by at most 0.1.")
def _(found):
    if abs(_logit(found) - _logit(found, without="B")) > 0.1 + 1e-3:
        return _switched_off(found, "B")


@two_rankings.wrong(
    "the neuron never writes a logit", example=[[0.0, 3.0], [1.0, 0.0], [-1.0, 1.0], [0.0, 1.0]]
)
def _(found):
    """Your neuron adds nothing to feature 0. The logit is then the sum of what the two heads add
    directly, and switching a head off takes away just that."""
    return bool(found[3, 0].abs() < 1e-3)


@two_rankings.wrong(
    "the neuron is silent", example=[[0.0, -1.0], [2.0, 0.0], [-1.0, 1.0], [1.0, 0.0]]
)
def _(found):
    """With both heads on, your neuron reads a number that is not positive, so it adds nothing. It
    can then pass nothing on from A."""
    return bool((found[0] + found[1]) @ found[2] <= 0)


@two_rankings.wrong(
    "the neuron does not read B", example=[[0.0, 3.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
)
def _(found):
    """Your neuron reads the same number with and without B. So it can't make up for what is missing
    without B."""
    return bool((found[1] @ found[2]).abs() < 1e-3)


@two_rankings.wrong(
    "B excites the neuron", example=[[0.0, 3.0], [1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]
)
def _(found):
    """Switching off B takes away what B adds directly, and then your neuron writes less as well.
    Both effects have the same direction, so they add up."""
    return bool(found[1, 0] > 0 and (found[1] @ found[2]) * found[3, 0] > 0)
