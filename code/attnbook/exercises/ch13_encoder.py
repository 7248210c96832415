"""Exercises of chapter 13, "What does an encoder know?"."""

import math
import random

import torch
import torch.nn.functional as F

from attnbook.encoder import Encoder
from attnbook.exercises.declare import (
    Construction,
    Exercise,
    MultipleChoice,
    NumericAnswer,
    Repair,
    Suspects,
)
from attnbook.exercises.properties import changed, cut_off
from attnbook.exercises.report import describe, told_apart
from attnbook.interventions import without_positions

dog_and_man = MultipleChoice(
    "13.0",
    "Dog and man exchanged",
    hints=[
        "The vector of a text is the mean of its tokens' vectors. Which tokens does each of the "
        "two sentences have?",
        "A token's vector depends on its position and on the tokens around it. How much of the "
        "vector do you expect to come from the token itself?",
    ],
    answer="C",
    because="Most of the vector says which things occur in a text, and both sentences have the "
    "same words. Their order moves the vector only a little.",
)
dog_and_man.wrong_option(
    "A",
    "opposite stories, unrelated vectors",
    "This assumes that the vector is made of who does what. But most of it is made of the things "
    "that occur in the text, and these are the same here. Compare with the cosine of a sentence "
    "about something else.",
)
dog_and_man.wrong_option(
    "B",
    "half of the meaning is in the order",
    "This assumes that the order counts as much as the words. But the mean does not know from "
    "which place a vector came. The order reaches the mean only through the differences that "
    "positions make to the vectors of the same five words.",
)
dog_and_man.wrong_option(
    "D",
    "a mean has no order",
    "This holds only for an encoder without positions, whose token vectors, and therefore their "
    "mean, stay the same when tokens are reordered. But here, the vector of its position is "
    "added to each token before the first block.",
)


weight_of_the_best = NumericAnswer(
    "13.1",
    "The weight of the best answer",
    answer=math.exp(6) / (math.exp(6) + 19),
    within=0.0015,  # 0.955 and 0.954 are right, but 0.953, with twenty others, is not
    hints=[
        "A softmax depends only on differences of scores. By how much does the best score exceed "
        "the others, once the cosines are multiplied by 20?",
        "Subtract 20 · 0.25 from all scores. The denominator then has one large term, and 19 terms "
        "that are e⁰ = 1.",
    ],
)
weight_of_the_best.wrong_value(
    "no factor of 20",
    math.exp(0.3) / (math.exp(0.3) + 19),
    "You took the softmax of the cosines themselves. These differ so little that the best answer "
    "gets hardly more than an equal share.",
)
weight_of_the_best.wrong_value(
    "one other answer",
    math.exp(6) / (math.exp(6) + 1),
    "You counted one other answer. But there are 19 of them, and each adds to the denominator.",
)
weight_of_the_best.wrong_value(
    "twenty others",
    math.exp(6) / (math.exp(6) + 20),
    "You counted twenty other answers. But there are twenty answers in all, and one of them is the "
    "best.",
)
weight_of_the_best.wrong_value(
    "cosines divided by their sum",
    0.55 / (0.55 + 19 * 0.25),
    "You divided the cosine by the sum of all cosines, and then a factor of 20 cancels. But "
    "softmax takes the exponential of every score first.",
)
weight_of_the_best.wrong_value(
    "the others as if their cosine were 0",
    math.exp(11) / (math.exp(11) + 19),
    "You gave the other answers a score of 0. But their cosine is 0.25, so their score is 5.",
)
weight_of_the_best.wrong_value(
    "the others get nothing",
    1.0,
    "You gave all the weight to the best answer. But softmax gives every answer a share, and 19 "
    "small shares add up.",
)


def _pool(hidden, lengths, *, tokens_first=False, too_many=0, dim=-1):
    """Mean pooling, in which something may be wrong."""
    if tokens_first:
        hidden = F.normalize(hidden, dim=-1)
    real = torch.arange(hidden.shape[1]) < lengths[:, None] + too_many
    total = (hidden * real[..., None]).sum(dim=1)
    return F.normalize(total / lengths[:, None], dim=dim)


pooled = Exercise(
    "13.2",
    "Repair the mean pooling",
    hints=[
        "There are three mistakes. One is in what is averaged, one in what counts as a token, and "
        "one in what gets the length 1.",
        "The mean is taken of the vectors as they are. Which of them has its length changed before "
        "the sum, and should it?",
        "Positions are counted from 0. Write down the row of `real` for a text of two tokens, and "
        "count its ones.",
        "Each *text* gets a vector of length 1. Along which axis are the features of one text?",
    ],
)


@pooled.solution
def _(hidden, lengths):
    real = torch.arange(hidden.shape[1]) < lengths[:, None]
    return F.normalize((hidden * real[..., None]).sum(dim=1), dim=-1)


@pooled.inputs
def _(generator):
    yield (
        torch.tensor([[[3.0, 4.0], [3.0, -4.0]], [[1.0, 0.0], [0.0, 2.0]]]),
        torch.tensor([1, 2]),
    )
    for batch, longest, d in [(3, 5, 4), (1, 4, 3), (4, 1, 2), (3, 4, 1), (5, 6, 7)]:
        # lengths of tokens differ, so it shows if each is normalised first
        sizes = 0.3 + 3 * torch.rand(batch, longest, 1, generator=generator)
        hidden = sizes * torch.randn(batch, longest, d, generator=generator)
        lengths = torch.randint(1, longest + 1, (batch,), generator=generator)
        lengths[-1] = longest
        yield hidden, lengths


@pooled.holds("The vectors of padding do not count.")
def _(f, hidden, lengths):
    padding = torch.arange(hidden.shape[1]) >= lengths[:, None]
    return changed(
        f(hidden, lengths),
        f(hidden.masked_fill(padding[..., None], 7.0), lengths),
        "with other vectors at the padding, a feature changes from {} to {}",
    )


@pooled.holds("A text's vector does not depend on the other texts in its batch.")
def _(f, hidden, lengths):
    twice = f(torch.cat([hidden, hidden]), torch.cat([lengths, lengths]))
    return changed(
        f(hidden, lengths),
        twice[: len(hidden)],
        "if all texts are in the batch twice, a feature changes from {} to {}",
    )


@pooled.mistake("nothing repaired")
def _(hidden, lengths):
    """This function still has all three mistakes. It normalises every token first, counts one
    vector of padding, and normalises over the texts of the batch."""
    return _pool(hidden, lengths, tokens_first=True, too_many=1, dim=0)


@pooled.mistake("each token normalised first")
def _(hidden, lengths):
    """You give each token's vector the length 1 before the sum. Long vectors then count no more
    than short ones, and the result points elsewhere than the mean of the vectors."""
    return _pool(hidden, lengths, tokens_first=True)


@pooled.mistake("one vector of padding counted")
def _(hidden, lengths):
    """You count one vector too many. In every text but the longest, this is a vector of padding, so
    a text gets a different vector when a longer one joins its batch."""
    return _pool(hidden, lengths, too_many=1)


@pooled.mistake("normalised over the batch")
def _(hidden, lengths):
    """You divide each *feature* by its length over all texts. A text's vector then depends on the
    other texts, and its length is not 1."""
    return _pool(hidden, lengths, dim=0)


@pooled.mistake("only the tokens repaired")
def _(hidden, lengths):
    """You no longer normalise each token first, but two mistakes are left. One vector of padding
    still counts, and the axis of the last step is still wrong."""
    return _pool(hidden, lengths, too_many=1, dim=0)


@pooled.mistake("only the padding repaired")
def _(hidden, lengths):
    """You have repaired what counts as a token, but two mistakes are left. Every token is still
    normalised first, and the axis of the last step is still wrong."""
    return _pool(hidden, lengths, tokens_first=True, dim=0)


@pooled.mistake("only the last step repaired")
def _(hidden, lengths):
    """You have repaired the axis of the last step, but two mistakes are left. Every token is still
    normalised first, and one vector of padding still counts."""
    return _pool(hidden, lengths, tokens_first=True, too_many=1)


@pooled.mistake("all padding counted")
def _(hidden, lengths):
    """You take the mean over all positions, also over those of padding. An encoder makes a vector
    there, too, so short texts in a batch with long ones become similar to each other."""
    return _pool(hidden, torch.full_like(lengths, hidden.shape[1]))


@pooled.mistake("the last token left out")
def _(hidden, lengths):
    """You count one token too few. Each text loses its last token, and a text of one token gets a
    vector of zeros."""
    return _pool(hidden, lengths, too_many=-1)


@pooled.mistake("no length of 1")
def _(hidden, lengths):
    """You return the mean itself. Its length is not 1, so a product of two such vectors is not
    their cosine."""
    real = torch.arange(hidden.shape[1]) < lengths[:, None]
    return (hidden * real[..., None]).sum(dim=1) / lengths[:, None]


@pooled.mistake("one length for the whole batch")
def _(hidden, lengths):
    """You divide by one length for the whole batch. Only all vectors together then have the length
    1, and each text's vector depends on the other texts."""
    real = torch.arange(hidden.shape[1]) < lengths[:, None]
    mean = (hidden * real[..., None]).sum(dim=1) / lengths[:, None]
    return mean / mean.norm()


@pooled.mistake("the first token alone")
def _(hidden, lengths):
    """You return the vector of the first token, [CLS]. Some encoders are trained to collect the
    text there, but the task asks for the mean over all tokens."""
    return F.normalize(hidden[:, 0], dim=-1)


def _best(scores, k, *, largest=True):
    """The numbers of the k best sections, above their weights."""
    weights, indices = scores.softmax(dim=-1).topk(k, largest=largest)
    return torch.stack([indices.to(weights), weights])


def _cosines(question, sections):
    return F.normalize(sections, dim=-1) @ F.normalize(question, dim=-1)


search = Exercise(
    "13.3",
    "Build the search",
    hints=[
        "The cosine is the product of two vectors of length 1. Which vectors must you divide by "
        "their lengths?",
        "All sections compete for the weight, so the softmax comes before the choice of the best.",
        "`topk(k)` gives the k largest numbers, largest first, and their places. `torch.stack` "
        "joins two tensors of the same shape along a new axis.",
    ],
)


@search.solution
def _(question, sections, k):
    cosines = F.normalize(sections, dim=-1) @ F.normalize(question, dim=-1)
    weights, indices = (20 * cosines).softmax(dim=-1).topk(k)
    return torch.stack([indices, weights])


@search.inputs
def _(generator):
    yield torch.tensor([2.0, 0.0]), torch.tensor([[0.0, 1.0], [3.0, 4.0], [1.0, 1.0]]), 2
    for sections, d, k in [(9, 5, 3), (6, 6, 6), (1, 4, 1), (2, 1, 2), (12, 3, 1), (20, 16, 4)]:
        question = torch.randn(d, generator=generator)
        if d == 1:  # there are only two directions, and a tie has no order
            near = torch.tensor([[-1.0], [1.0]])
        else:  # so near that several sections get weight
            near = question + torch.randn(sections, d, generator=generator)
        # no score is so far below another that its weight is 0, also if nobody normalises
        sizes = 0.2 + 1.3 * torch.rand(sections, 1, generator=generator)
        size = 0.3 + torch.rand(1, generator=generator)
        yield size * F.normalize(question, dim=-1), sizes * F.normalize(near, dim=-1), k


@search.holds("The lengths of the vectors do not matter.")
def _(f, question, sections, k):
    sizes = torch.linspace(4.0, 0.5, len(sections))[:, None]
    return changed(
        f(question, sections, k),
        f(3 * question, sizes * sections, k),
        "with vectors of other lengths, a number changes from {} to {}",
    )


@search.holds("The best sections are the same ones, with the same weights, if you ask for more.")
def _(f, question, sections, k):
    return changed(
        f(question, sections, k),
        f(question, sections, len(sections))[:, :k],
        "if you ask for all sections, a number changes from {} to {}",
    )


@search.mistake("softmax over the best alone")
def _(question, sections, k):
    """You choose the best sections first, and divide the whole weight among them. A section then
    looks certain because you ask for few, even if many others fit nearly as well."""
    cosines, indices = _cosines(question, sections).topk(k)
    weights = (20 * cosines).softmax(dim=-1)
    return torch.stack([indices.to(weights), weights])


@search.mistake("no factor of 20")
def _(question, sections, k):
    """You take the softmax of the cosines themselves. A cosine is at most 1, so the weights are
    nearly equal."""
    return _best(_cosines(question, sections), k)


@search.mistake("divided by 20")
def _(question, sections, k):
    """You divide the cosines by 20. The scores then hardly differ, and the weights are nearly
    equal."""
    return _best(_cosines(question, sections) / 20, k)


@search.mistake("products instead of cosines")
def _(question, sections, k):
    """You take the products of the vectors as they are. A section with a long vector then beats a
    section that fits better."""
    return _best(20 * sections @ question, k)


@search.mistake("the sections not normalised")
def _(question, sections, k):
    """You divide only the question by its length. A section with a long vector then beats a section
    that fits better."""
    return _best(20 * sections @ F.normalize(question, dim=-1), k)


@search.mistake("the question not normalised")
def _(question, sections, k):
    """You divide only the sections by their lengths. The order is right, but a longer question then
    gets sharper weights."""
    return _best(20 * F.normalize(sections, dim=-1) @ question, k)


@search.mistake("sections normalised over the wrong axis")
def _(question, sections, k):
    """You divide each *feature* by its length over all sections. The vectors of the sections then
    have different lengths, and each depends on all the others."""
    return _best(20 * F.normalize(sections, dim=0) @ F.normalize(question, dim=-1), k)


@search.mistake("one length for all sections")
def _(question, sections, k):
    """You divide all sections by one number, the length of the whole table. Their lengths then
    still differ, so a section with a long vector beats a section that fits better."""
    return _best(20 * (sections / sections.norm()) @ F.normalize(question, dim=-1), k)


@search.mistake("the worst sections")
def _(question, sections, k):
    """You return the sections with the *smallest* weights. These are the ones that fit worst."""
    return _best(20 * _cosines(question, sections), k, largest=False)


@search.mistake("best last")
def _(question, sections, k):
    """You return the right sections, but the best one comes last. The task asks for it first."""
    return _best(20 * _cosines(question, sections), k).flip(-1)


@search.mistake("in the order of the sections")
def _(question, sections, k):
    """You return the right sections, but in the order in which they are in the table. The task asks
    for the best one first."""
    found = _best(20 * _cosines(question, sections), k)
    return found[:, found[0].argsort()]


@search.mistake("cosines instead of weights")
def _(question, sections, k):
    """You return the cosines of the best sections. A cosine does not say how many other sections
    fit nearly as well, as a weight does."""
    cosines, indices = _cosines(question, sections).topk(k)
    return torch.stack([indices.to(cosines), cosines])


@search.mistake("the rows exchanged")
def _(question, sections, k):
    """You return the weights in row 0 and the numbers of the sections in row 1. The task asks for
    the numbers first."""
    return _best(20 * _cosines(question, sections), k).flip(0)


_WORDS, _MOST = 12, 100  # in the vocabulary of the twins, and in a text


class _VectorOf:
    """The vectors that a random encoder without positions makes of texts, one being given."""

    def __init__(self, tokens, seed):
        self.tokens = tokens
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.encoder = Encoder(
                vocabulary_size=_WORDS, d_model=6, num_heads=2, num_layers=2, d_ff=12
            )
        self.encoder.float().eval()

    def __call__(self, text):
        text = torch.as_tensor(text)
        if text.ndim != 1 or text.is_floating_point() or text.dtype == torch.bool:
            raise ValueError("a text is a tensor of whole numbers with one axis")
        if not 0 < len(text) <= _MOST:
            raise ValueError(f"a text has 1 to {_MOST} tokens, but this one has {len(text)}")
        if not 0 <= text.min() <= text.max() < _WORDS:
            raise ValueError(f"tokens are numbers from 0 to {_WORDS - 1}: got {text.tolist()}")
        if sorted(text.tolist()) == sorted(self.tokens.tolist()):
            raise ValueError("this text is a reordering of the given one")
        return self.of(text)

    def of(self, text):
        with torch.no_grad(), without_positions(self.encoder):
            hidden, _ = self.encoder(text.long()[None])
        return F.normalize(hidden[0].mean(dim=0), dim=-1)

    def __repr__(self):
        return "the encoder without positions"

    def __deepcopy__(self, memo):
        return self


loss_of_hidden = Repair(
    "13.4",
    "Debug this: an encoder that only guesses the mask",
    line=1,
    because="Its method ends in an underscore, so it writes the mask into `tokens` itself. Line 3 "
    "then takes the mask for the hidden letter.",
    hints=[
        "The encoder has learned to guess the mask. What must `right` contain for a model to learn "
        "this?",
        "Print `tokens` after each line, for a text of three letters. Which line changes it?",
    ],
)
loss_of_hidden.right_line(
    2,
    "It runs the encoder on the texts with hidden letters. So the encoder never reads the letters "
    "that it has to guess.",
)
loss_of_hidden.right_line(
    3,
    "It takes the letters at the chosen places from `tokens`, and writes −100 into all other "
    "places. `cross_entropy` leaves out targets of −100.",
)
loss_of_hidden.right_line(
    4,
    "It takes the mean loss of the chosen letters. `cross_entropy` expects the axis of the "
    "vocabulary before that of the places, so `mT` exchanges the two.",
)


@loss_of_hidden.solution
def _(tokens, chosen, mask, scores_of):
    hidden = tokens.masked_fill(chosen, mask)
    scores = scores_of(hidden)
    right = tokens.masked_fill(~chosen, -100)
    return F.cross_entropy(scores.mT, right)


@loss_of_hidden.inputs
def _(generator):
    yield (
        torch.tensor([[0, 1, 2]]),
        torch.tensor([[False, True, False]]),
        _LETTERS,
        _ScoresOf(generator),
    )
    for mask, *shape in ((_LETTERS, 1, 1), (5, 4, 1), (_LETTERS, 1, 5), (4, 3, 4)):
        tokens = torch.randint(mask, shape, generator=generator)
        chosen = torch.rand(shape, generator=generator) < 0.5
        chosen[0, 0] = True  # so that there is a letter to guess
        chosen[-1, -1], tokens[-1, -1] = True, 0
        yield tokens, chosen, mask, _ScoresOf(generator)


@loss_of_hidden.holds("If every hidden letter is guessed with certainty, the loss is 0.")
def _(f, tokens, chosen, mask, scores_of):
    certain = 50 * F.one_hot(tokens, mask + 1).to(torch.float32)
    result = torch.as_tensor(f(tokens.clone(), chosen.clone(), mask, lambda hidden: certain))
    return changed(torch.zeros_like(result), result, "it should be {}, but is {}")


@loss_of_hidden.holds("The guesses for visible letters do not matter.")
def _(f, tokens, chosen, mask, scores_of):
    def others(hidden):
        scores = scores_of(hidden)
        return torch.where(chosen[..., None], scores, scores.flip(-1) + 1)

    return changed(
        torch.as_tensor(f(tokens.clone(), chosen.clone(), mask, scores_of)),
        torch.as_tensor(f(tokens.clone(), chosen.clone(), mask, others)),
        "with other guesses there, the loss goes from {} to {}",
    )


def _loss(scores, right, which, **options):
    return F.cross_entropy(scores.mT, right.masked_fill(~which, -100), **options)


@loss_of_hidden.holds("Gradients flow back to the scores, so that the encoder can learn.")
def _(f, tokens, chosen, mask, scores_of):
    def loss_of(f):
        return lambda scores: f(tokens.clone(), chosen.clone(), mask, lambda hidden: scores)

    scores = scores_of(tokens.masked_fill(chosen, mask))
    return cut_off(loss_of(f), loss_of(loss_of_hidden.reference), ["scores"], (scores,))


@loss_of_hidden.broken
def _(tokens, chosen, mask, scores_of):
    """At the hidden places, the right answer is still the mask, and not the letter behind it. So
    the encoder learns to guess the mask that it reads."""
    hidden = tokens.masked_fill_(chosen, mask)
    return _loss(scores_of(hidden), tokens, chosen)


@loss_of_hidden.mistake("nothing hidden")
def _(tokens, chosen, mask, scores_of):
    """You let the encoder read all letters, including those that it must guess. It then learns to
    copy them, and nothing else."""
    return _loss(scores_of(tokens), tokens, chosen)


@loss_of_hidden.mistake("the visible letters hidden")
def _(tokens, chosen, mask, scores_of):
    """You hide the letters that were not chosen, and leave the chosen ones visible. The encoder
    then reads each letter that it must guess."""
    return _loss(scores_of(tokens.masked_fill(~chosen, mask)), tokens, chosen)


@loss_of_hidden.mistake("the visible letters guessed")
def _(tokens, chosen, mask, scores_of):
    """You hide the chosen letters, but let the encoder guess the others. It sees these letters, so
    it has to learn nothing about the hidden ones."""
    if chosen.all():
        return scores_of(tokens).sum() * 0
    return _loss(scores_of(tokens.masked_fill(chosen, mask)), tokens, ~chosen)


@loss_of_hidden.mistake("all letters guessed")
def _(tokens, chosen, mask, scores_of):
    """You let the encoder guess all letters, also the visible ones. Much of the loss then comes
    from letters that it only has to copy."""
    scores = scores_of(tokens.masked_fill(chosen, mask))
    return _loss(scores, tokens, torch.ones_like(chosen))


@loss_of_hidden.mistake("a mean over all places")
def _(tokens, chosen, mask, scores_of):
    """You add up the losses of the hidden letters, but divide by the number of all letters. The
    same guesses then cost less in a text with fewer hidden letters."""
    scores = scores_of(tokens.masked_fill(chosen, mask))
    return _loss(scores, tokens, chosen, reduction="sum") / chosen.numel()


letters_to_guess = Suspects(
    "13.5",
    "Hide some letters at random",
    hints=[
        "Two right functions hide different letters. Which relations between `tokens`, `hidden` "
        "and `right` hold in every draw?",
        "How many of 10,000 letters are hidden, roughly? Choose bounds that a right function "
        "hardly ever leaves, and a wrong one does.",
        "Compare two texts of a batch, and two calls with the same texts. Which places are "
        "hidden in each? And how many of a single text?",
    ],
)

_PAD, _MASK, _CHANCE = 0, 1, 0.15


def _hide(tokens, chosen):
    return tokens.masked_fill(chosen, _MASK), tokens.masked_fill(~chosen, -100)


def _drawn(tokens, chance=_CHANCE):
    return (torch.rand(tokens.shape) < chance) & (tokens != _PAD)


@letters_to_guess.wrong("also hides padding")
def _(tokens):
    return _hide(tokens, torch.rand(tokens.shape) < _CHANCE)


@letters_to_guess.right("draws a number for each token, and hides where it is small")
def _(tokens):
    return _hide(tokens, _drawn(tokens))


@letters_to_guess.right("throws dice for one token after the other, with Python's `random`")
def _(tokens):
    dice = [random.random() if token != _PAD else 1 for token in tokens.flatten().tolist()]
    return _hide(tokens, torch.tensor(dice).view(tokens.shape) < _CHANCE)


@letters_to_guess.wrong("takes the right letters from the text in which they are hidden already")
def _(tokens):
    chosen = _drawn(tokens)
    hidden, _ = _hide(tokens, chosen)
    return hidden, _hide(hidden, chosen)[1]


@letters_to_guess.right("lets `bernoulli` choose, with the chance 0 for padding")
def _(tokens):
    chances = torch.where(tokens == _PAD, 0.0, _CHANCE)
    return _hide(tokens, torch.bernoulli(chances).bool())


@letters_to_guess.wrong("hides the same places in all texts of a batch")
def _(tokens):
    return _hide(tokens, _drawn(tokens[:1] + 2) & (tokens != _PAD))


@letters_to_guess.right("keeps what dropout sets to 0", kept_back=True)
def _(tokens):
    kept = F.dropout((tokens != _PAD).float(), _CHANCE) > 0
    return _hide(tokens, ~kept & (tokens != _PAD))


@letters_to_guess.wrong("begins each call with the same seed", kept_back=True)
def _(tokens):
    generator = torch.Generator().manual_seed(0)
    chosen = torch.rand(tokens.shape, generator=generator) < _CHANCE
    return _hide(tokens, chosen & (tokens != _PAD))


@letters_to_guess.wrong("hides exactly 15 % of the letters of each text", kept_back=True)
def _(tokens):
    letters = tokens != _PAD
    places = torch.rand(tokens.shape).masked_fill(~letters, 1.0).argsort().argsort()
    return _hide(tokens, places < (_CHANCE * letters.sum(dim=-1, keepdim=True)).round())


@letters_to_guess.wrong("hides 85 % of the letters and leaves 15 %", kept_back=True)
def _(tokens):
    return _hide(tokens, _drawn(tokens, 1 - _CHANCE))


@letters_to_guess.wrong("hides each letter with a probability of 0.2", kept_back=True)
def _(tokens):
    return _hide(tokens, _drawn(tokens, 0.2))


@letters_to_guess.wrong("hides each letter with a probability of 0.1", kept_back=True)
def _(tokens):
    return _hide(tokens, _drawn(tokens, 0.1))


@letters_to_guess.wrong("hides 15 % of the texts, and all letters of these", kept_back=True)
def _(tokens):
    whole = torch.rand(len(tokens), 1).argsort(dim=0) < _CHANCE * len(tokens)
    return _hide(tokens, whole & (tokens != _PAD))


@letters_to_guess.wrong("asks for the visible letters instead of the hidden ones", kept_back=True)
def _(tokens):
    chosen = _drawn(tokens)
    return _hide(tokens, chosen)[0], _hide(tokens, ~chosen & (tokens != _PAD))[1]


@letters_to_guess.wrong("asks for all letters, also the visible ones", kept_back=True)
def _(tokens):
    return _hide(tokens, _drawn(tokens))[0], _hide(tokens, tokens != _PAD)[1]


def _texts(*, padding=True):
    """Long texts of letters; if there is padding, half of them end with it."""
    tokens = torch.randint(2, 28, (20, 2000))
    if padding:
        tokens[:10, 1000:] = _PAD
    return tokens


def _fits(tokens, hidden, right):
    """Whether exactly the letters that are hidden are asked for, and none is padding."""
    chosen = hidden == _MASK
    return (
        torch.equal(hidden, tokens.masked_fill(chosen, _MASK))
        and torch.equal(right, tokens.masked_fill(~chosen, -100))
        and not chosen[tokens == _PAD].any()
    )


def _shares(tokens, hidden):
    """Which share of each text is hidden."""
    return (hidden == _MASK).sum(dim=-1) / (tokens != _PAD).sum(dim=-1)


def _share_fits(tokens, hidden, low=0.1, high=0.2):
    shares = _shares(tokens, hidden)
    return bool(((low < shares) & (shares < high)).all())


def _counts_differ(hidden):
    """Whether not all texts without padding have the same number of letters hidden."""
    return len((hidden[10:] == _MASK).sum(dim=-1).unique()) > 1


def _texts_differ(hidden):
    """Whether the last two texts, which have no padding, have other letters hidden."""
    return not torch.equal(hidden[-1] == _MASK, hidden[-2] == _MASK)


@letters_to_guess.solution
def _(f):
    tokens = _texts()
    hidden, right = f(tokens)
    again = not torch.equal(hidden, f(tokens)[0])
    return (
        _fits(tokens, hidden, right)
        and _share_fits(tokens, hidden)
        and _counts_differ(hidden)
        and again
    )


@letters_to_guess.mistake("only that both results fit together")
def _(f):
    """You test that the hidden letters are those that must be guessed. But your test doesn't ask
    how many letters are hidden, nor whether they are drawn at random."""
    tokens = _texts()
    return _fits(tokens, *f(tokens))


@letters_to_guess.mistake("only the share")
def _(f):
    """You test only how many letters are hidden. Your test can't see which places they have, nor
    which letters must be guessed."""
    tokens = _texts()
    return _share_fits(tokens, f(tokens)[0])


@letters_to_guess.mistake("only the hidden letters")
def _(f):
    """You look only at the first result, in which letters are hidden. But the second result may ask
    for the wrong ones."""
    tokens = _texts()
    hidden, _ = f(tokens)
    again = not torch.equal(hidden, f(tokens)[0])
    return _share_fits(tokens, hidden) and _counts_differ(hidden) and again


@letters_to_guess.mistake("padding not looked at")
def _(f):
    """Your texts have no padding, or your test doesn't look at it. So your test can't see what a
    function does with padding."""
    tokens = _texts(padding=False)
    hidden, right = f(tokens)
    again = not torch.equal(hidden, f(tokens)[0])
    return (
        _fits(tokens, hidden, right)
        and _share_fits(tokens, hidden)
        and _counts_differ(hidden)
        and again
    )


@letters_to_guess.mistake("calls not compared")
def _(f):
    """You don't compare two calls with the same texts. A function that hides the same places in
    each call then seems to draw them at random."""
    tokens = _texts()
    hidden, right = f(tokens)
    return _fits(tokens, hidden, right) and _share_fits(tokens, hidden) and _counts_differ(hidden)


@letters_to_guess.mistake("neither calls nor numbers compared")
def _(f):
    """You compare neither two calls with the same texts, nor how many letters are hidden in each
    text. So your test can't see whether each letter is drawn by itself, and again in each call."""
    tokens = _texts()
    hidden, right = f(tokens)
    return _fits(tokens, hidden, right) and _share_fits(tokens, hidden) and _texts_differ(hidden)


@letters_to_guess.mistake("neither calls nor texts compared")
def _(f):
    """You compare neither two calls with the same texts, nor the texts of a batch. So your test
    can't see whether each letter is drawn by itself."""
    tokens = _texts()
    hidden, right = f(tokens)
    return _fits(tokens, hidden, right) and _share_fits(tokens, hidden)


@letters_to_guess.mistake("texts not compared")
def _(f):
    """You don't compare the texts of a batch. So your test can't see whether each text has a draw
    of its own."""
    tokens = _texts()
    hidden, right = f(tokens)
    again = not torch.equal(hidden, f(tokens)[0])
    return _fits(tokens, hidden, right) and _share_fits(tokens, hidden) and again


@letters_to_guess.mistake("how many in each text")
def _(f):
    """You don't test whether the texts of a batch have different numbers of hidden letters. If each
    letter is hidden whatever happens to the others, these numbers are hardly ever the same."""
    tokens = _texts()
    hidden, right = f(tokens)
    again = not torch.equal(hidden, f(tokens)[0])
    return (
        _fits(tokens, hidden, right)
        and _share_fits(tokens, hidden)
        and _texts_differ(hidden)
        and again
    )


@letters_to_guess.mistake("the share not tested")
def _(f):
    """You don't test how many letters are hidden, or your bounds are very wide. A function may then
    hide far too many, or far too few."""
    tokens = _texts()
    hidden, right = f(tokens)
    again = not torch.equal(hidden, f(tokens)[0])
    return _fits(tokens, hidden, right) and _counts_differ(hidden) and again


@letters_to_guess.mistake("the share of a text")
def _(f):
    """You test how many letters of a batch are hidden, but not how many of a single text. A
    function may hide whole texts and leave all others as they are."""
    tokens = _texts()
    hidden, right = f(tokens)
    again = not torch.equal(hidden, f(tokens)[0])
    share = _shares(tokens, hidden).mean().item()
    return _fits(tokens, hidden, right) and 0.13 < share < 0.17 and _counts_differ(hidden) and again


@letters_to_guess.mistake("wide bounds")
def _(f):
    """Your bounds for the share of hidden letters are too wide. In long texts, this share is hardly
    ever far from 0.15, so your bounds can be close to it."""
    tokens = _texts()
    hidden, right = f(tokens)
    again = not torch.equal(hidden, f(tokens)[0])
    fits = _share_fits(tokens, hidden, 0.02, 0.4)
    return _fits(tokens, hidden, right) and fits and _counts_differ(hidden) and again


@letters_to_guess.mistake("no room for chance")
def _(f):
    """No function passes your test. For example, the share of hidden letters is different in each
    draw, so it is hardly ever exactly 0.15."""
    tokens = _texts()
    hidden, right = f(tokens)
    share = ((hidden == _MASK).sum() / (tokens != _PAD).sum()).item()
    return _fits(tokens, hidden, right) and share == _CHANCE


@letters_to_guess.mistake("two calls must agree")
def _(f):
    """You demand that two calls hide the same letters. But a function that draws at random draws
    again in each call."""
    tokens = _texts()
    hidden, right = f(tokens)
    return _fits(tokens, hidden, right) and torch.equal(hidden, f(tokens)[0])


@letters_to_guess.mistake("nothing found")
def _(f):
    """No function fails your test. The shapes of both results, for example, are always right."""
    tokens = _texts()
    return all(result.shape == tokens.shape for result in f(tokens))


three_ways_to_search = Construction(
    "13.8",
    "Three ways to search, three answers",
    shape=(3, 2),
    hints=[
        "Draw the question as an arrow. Which of the three measures notices how long an answer's "
        "arrow is, and which notices its direction?",
        "A short arrow can have the best direction. Can a long arrow in a poor direction have a "
        "larger dot product?",
    ],
)
three_ways_to_search.reference = torch.tensor([[0.1, 0.0], [3.0, 3.0], [0.8, 0.6]])


def _measures(answers):
    """The cosine, the dot product and the distance of each answer and the question (1, 0)."""
    question = torch.tensor([1.0, 0.0]).double()
    cosine = F.normalize(answers, dim=-1) @ question
    return cosine, answers @ question, (answers - question).norm(dim=-1)


def _behind(values, best):
    """The values in words if the one that must be largest does not lead by 0.1, else None."""
    others = torch.cat([values[:best], values[best + 1 :]])
    if values[best] < others.max() + 0.1 - 1e-6:
        return "{:.3f}, {:.3f} and {:.3f}.".format(*values.abs() if best == 2 else values)
    return None


@three_ways_to_search.holds("The cosine of answer 0 is larger than the others by at least 0.1.")
def _(answers):
    found = _behind(_measures(answers)[0], 0)
    return found and f"The cosines are {found}"


@three_ways_to_search.holds(
    "The dot product of answer 1 is larger than the others by at least 0.1."
)
def _(answers):
    found = _behind(_measures(answers)[1], 1)
    return found and f"The dot products are {found}"


@three_ways_to_search.holds("The distance of answer 2 is smaller than the others by at least 0.1.")
def _(answers):
    found = _behind(-_measures(answers)[2], 2)
    return found and f"The distances are {found}"


@three_ways_to_search.wrong("all of length 1", example=[[1.0, 0.0], [0.6, 0.8], [0.8, 0.6]])
def _(answers):
    """All your vectors have the length 1, as the question has. Then the dot product is the cosine,
    and the answer with the largest cosine is also the nearest."""
    return torch.allclose(answers.norm(dim=-1), torch.ones(3).double(), atol=1e-3)


@three_ways_to_search.wrong(
    "cosine and dot product agree", example=[[3.0, 0.0], [1.0, 1.0], [0.9, 0.5]]
)
def _(answers):
    """The same answer has the largest cosine and the largest dot product. It has the best
    direction, and no other answer is long enough to overtake it."""
    cosine, product, _ = _measures(answers)
    return bool(cosine.argmax() == product.argmax() and product.max() > 0)


@three_ways_to_search.wrong(
    "answer 0 is also the nearest", example=[[0.9, 0.0], [3.0, 3.0], [0.8, 0.6]]
)
def _(answers):
    """Answer 0 is also the nearest, because it is about as long as the question. The cosine does
    not ask how long an answer is."""
    return bool(_measures(answers)[2].argmin() == 0 and answers[0].norm() > 0.1)


@three_ways_to_search.wrong(
    "the largest dot product is also the nearest", example=[[0.1, 0.0], [1.1, 0.6], [0.3, 0.2]]
)
def _(answers):
    """The answer with the largest dot product is also the nearest. An answer can have a larger dot
    product than this one and still be far away."""
    _, product, distance = _measures(answers)
    return bool(product.argmax() == distance.argmin() and answers.any())


encoder_panel = MultipleChoice(
    "13.9",
    "Whose vectors change",
    hints=[
        "If two vectors of a word are exactly the same, what can't the word have seen?",
        "Which words may an encoder look at, and which may a language model look at?",
    ],
    answer="B",
    figure=True,
    because="Only here have words on both sides of *saw* changed. An encoder has no causal "
    "mask, so all words see the new one.",
)
encoder_panel.wrong_option(
    "A",
    "a text is read from left to right",
    "You expected a change to reach only the words that come later. But here the three words "
    "before *saw* keep their vectors exactly, so they can't have looked at it.",
)
encoder_panel.wrong_option(
    "C",
    "each word has a vector of its own",
    "You expected the change in one word to concern only this word. But here all others keep "
    "their vectors exactly, so no word has seen its neighbours.",
)
encoder_panel.wrong_option(
    "D",
    "words before it change",
    "You looked for a model that sees what comes later. But here the words after *saw* keep "
    "their vectors exactly, so they can't have looked back.",
)


shares_of_cosine = Exercise(
    "13.10",
    "Which pairs of tokens make a cosine?",
    hints=[
        "Write the product of the two means as a sum over pairs of tokens. By which number is "
        "the sum divided?",
        "The cosine is this product, divided by the lengths of the two *means*. Each term of the "
        "sum is divided by them as well.",
        "The factor 1 / (n m) cancels if you take the lengths of the sums instead of the means.",
    ],
)


@shares_of_cosine.solution
def _(one, other):
    lengths = one.sum(dim=0).norm() * other.sum(dim=0).norm()
    return one @ other.mT / lengths


@shares_of_cosine.inputs
def _(generator):
    yield torch.tensor([[3.0, 0.0], [1.0, 3.0]]), torch.tensor([[2.0, 8.0], [4.0, 0.0]])
    for n, m, d in [(3, 5, 4), (4, 4, 6), (1, 3, 5), (4, 1, 3), (1, 1, 2), (3, 2, 1)]:
        # a direction in common, so that no mean is near 0
        common = 1 + torch.rand(d, generator=generator)
        one = torch.randn(n, d, generator=generator) + common
        other = 2 * torch.randn(m, d, generator=generator) + common
        yield one.abs() if d == 1 else one, other


@shares_of_cosine.holds("Your terms sum to the cosine of the two means.")
def _(f, one, other):
    cosine = F.cosine_similarity(one.mean(dim=0), other.mean(dim=0), dim=0)
    return changed(cosine, f(one, other).sum(), "the cosine is {}, but your terms sum to {}")


@shares_of_cosine.holds("A token whose vector is twice as long as another's has twice its terms.")
def _(f, one, other):
    terms = f(torch.cat([one, 2 * one[:1]]), other)
    return changed(2 * terms[0], terms[-1], "twice the term is {}, but you return {}")


@shares_of_cosine.mistake("the cosine of each pair")
def _(one, other):
    """You take the cosine of each pair of tokens, and divide by the number of pairs. But in a mean,
    a long vector counts more than a short one, so these terms do not sum to the cosine."""
    pairs = F.normalize(one, dim=-1) @ F.normalize(other, dim=-1).mT
    return pairs / pairs.numel()


@shares_of_cosine.mistake("no lengths")
def _(one, other):
    """You do not divide by the lengths of the means. Your terms then sum to the product of the two
    means, which is not their cosine."""
    return one @ other.mT / (len(one) * len(other))


@shares_of_cosine.mistake("the number of pairs forgotten")
def _(one, other):
    """You divide by the lengths of the means, but not by the number of pairs. The more tokens the
    texts have, the larger is your sum."""
    return one @ other.mT / (one.mean(dim=0).norm() * other.mean(dim=0).norm())


@shares_of_cosine.mistake("the number of pairs twice")
def _(one, other):
    """You divide by the lengths of the sums, and by the number of pairs as well. But a sum is as
    many times longer than its mean as the text has tokens, so you have divided by this number
    twice."""
    lengths = one.sum(dim=0).norm() * other.sum(dim=0).norm()
    return one @ other.mT / (len(one) * len(other)) / lengths


@shares_of_cosine.mistake("the mean of the lengths")
def _(one, other):
    """You divide by the mean length of the tokens' vectors. But the vectors of a text do not all
    point in one direction, so the mean vector is shorter than they are."""
    lengths = one.norm(dim=-1).sum() * other.norm(dim=-1).sum()
    return one @ other.mT / lengths


@shares_of_cosine.mistake("the lengths of the tables")
def _(one, other):
    """You divide each text by the length of its whole table. But the cosine needs the length of
    the mean of its rows."""
    return one @ other.mT / (one.norm() * other.norm())


@shares_of_cosine.mistake("one length twice")
def _(one, other):
    """You divide by the length of the first text's vector twice. The length of the second one is
    then still in the result."""
    return one @ other.mT / one.sum(dim=0).square().sum()


@shares_of_cosine.mistake("terms that sum to 1")
def _(one, other):
    """You divide by the sum of all products, so that your terms sum to 1. Two texts that have
    nothing in common then get as much as two equal ones."""
    products = one @ other.mT
    return products / products.sum()


@shares_of_cosine.mistake("transposed")
def _(one, other):
    """You exchange the two texts. The task asks for a row for each token of `one`, and a column for
    each token of `other`."""
    return other @ one.mT / (one.sum(dim=0).norm() * other.sum(dim=0).norm())


_LETTERS = 7  # of the texts with hidden letters; their mask is one token more


class _ScoresOf:
    """Scores for each token of texts, from random vectors of the token, its place and its text."""

    def __init__(self, generator):
        self.of_token, self.of_text = torch.randn(
            2, _LETTERS + 1, _LETTERS + 1, generator=generator
        )
        self.of_place = torch.randn(10, _LETTERS + 1, generator=generator)

    def __call__(self, hidden):
        hidden = torch.as_tensor(hidden)
        if hidden.ndim != 2 or hidden.is_floating_point() or hidden.dtype == torch.bool:
            raise ValueError("texts are a tensor of whole numbers with two axes")
        if not 0 <= hidden.min() <= hidden.max() <= _LETTERS:
            raise ValueError(f"tokens are numbers from 0 to {_LETTERS}: got {hidden.tolist()}")
        text = self.of_text[hidden].mean(dim=1, keepdim=True)
        return self.of_token[hidden] + text + self.of_place[: hidden.shape[1]]

    def __repr__(self):
        return "a random encoder"

    def __deepcopy__(self, memo):
        return self


twin = Exercise(
    "13.11",
    "Another text with the same vector",
    hints=[
        "Without positions, two equal tokens of a text have equal vectors. What does a mean depend "
        "on, apart from the vectors that it is taken of?",
        "The vectors themselves must stay the same, too. When does a token get the same mixture of "
        "values, although there are more tokens to attend to?",
        "Softmax shares the weight of a token among its copies. What must be true of the number of "
        "copies of each token?",
    ],
)


@twin.solution
def _(tokens, vector_of):
    return vector_of(tokens.repeat(2))


@twin.inputs
def _(generator):
    yield _with_encoder(torch.tensor([2, 7, 7]), generator)
    for length in (1, 2, 5, 8):
        tokens = torch.randint(1, _WORDS, (length,), generator=generator)
        yield _with_encoder(tokens, generator)


def _with_encoder(tokens, generator):
    return tokens, _VectorOf(tokens, int(torch.randint(10**6, (), generator=generator)))


@twin.holds("Your text has the vector of the given one.")
def _(f, tokens, vector_of):
    texts = []

    def recorded(text):
        vector = vector_of(text)
        texts.append(torch.as_tensor(text))
        return vector

    f(tokens, recorded)
    if not texts:
        return "You never run `vector_of`."
    ours, wanted = vector_of.of(texts[-1]), vector_of.of(tokens)
    if not torch.allclose(ours, wanted, rtol=0.0, atol=1e-5):
        cosine = told_apart((ours @ wanted).item(), 1)
        return f"The vector of your text `{describe(texts[-1])}` has a cosine of {cosine} with it."


@twin.mistake("a reordering")
def _(tokens, vector_of):
    """Your text has the tokens of the given one, each as often as there. It gets the same vector,
    as every reordering does. But the task asks for a text that is no reordering."""
    return vector_of(tokens.flip(0))


@twin.mistake("the last token repeated")
def _(tokens, vector_of):
    """You repeat only the last token. It then counts twice in the mean, and every token attends to
    it more than before."""
    return vector_of(torch.cat([tokens, tokens[-1:]]))


@twin.mistake("padding added")
def _(tokens, vector_of):
    """You add the token 0. Without a mask, 0 is a token like every other one, so all tokens attend
    to it, and its vector counts in the mean."""
    return vector_of(torch.cat([tokens, torch.zeros_like(tokens[:1])]))


@twin.mistake("the ends only once")
def _(tokens, vector_of):
    """You repeat all but the first and the last token. These two then have a smaller share in the
    mean and in each softmax. They count like all other tokens, also if they are [CLS] and [SEP]."""
    return vector_of(torch.cat([tokens[:1], tokens[1:-1], tokens[1:-1], tokens[-1:]]))


@twin.mistake("each different token once")
def _(tokens, vector_of):
    """You write each different token once. But a token that comes twice counts twice in the mean,
    and it gets twice the weight from every token."""
    return vector_of(tokens.unique())


@twin.mistake("other tokens")
def _(tokens, vector_of):
    """You replace each token by another one, as if only the pattern of the text counted. But every
    token has an embedding of its own."""
    return vector_of((tokens + 1) % _WORDS)
