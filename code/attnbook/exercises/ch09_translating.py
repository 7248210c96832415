"""Exercises of chapter 9, "Does it translate?"."""

import math
import random
from collections import Counter
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from attnbook.data import END, PAD, START
from attnbook.exercises.declare import (
    Construction,
    Exercise,
    MultipleChoice,
    NumericAnswer,
    Repair,
    Suspects,
)
from attnbook.exercises.properties import changed

after_a_wrong_word = MultipleChoice(
    "9.0",
    "After a wrong word",
    hints=[
        "What has the model learned about the words so far? Can they ever be wrong?",
        "Three places further on, how many right words are there between the wrong one and the "
        "next?",
    ],
    answer="B",
    because="In training, the words so far were always right, so the model trusts them, and one "
    "wrong word confuses it deeply. But the confusion does not last. A few tokens later, the model "
    "is right again.",
)
after_a_wrong_word.wrong_option(
    "A",
    "the source alone decides",
    "It is true that the source is still there. But the model has learned to rely on the words so "
    "far as well, because they were always right in training. Look at the first row.",
)
after_a_wrong_word.wrong_option(
    "C",
    "one mistake spoils the rest",
    "It is true that training never showed such a beginning. But only one of its words is wrong, "
    "and all words after this one are right. Look at the last two rows.",
)


whole_sentences = NumericAnswer(
    "9.1",
    "Sentences without a mistake",
    answer=100 * 0.99**20,
    within=0.005,
    hints=[
        "A sentence is right if its first token is right, and its second, and so on. If several "
        "independent events must all happen, what do you do with their probabilities?",
        "Equation (9.1) has the same product, written as a sum of logarithms.",
    ],
)
whole_sentences.wrong_value(
    "the share of tokens",
    99.0,
    "You gave the share of tokens that are right. But a sentence has many chances to go wrong, so "
    "fewer whole sentences are right.",
)
whole_sentences.wrong_value(
    "one per cent taken off for each token",
    80.0,
    "You added up the twenty chances of a mistake. A sentence with two mistakes is then counted "
    "twice.",
)
whole_sentences.wrong_value(
    "one token too few",
    100 * 0.99**19,
    "You left out one of the tokens, perhaps END. But a sentence that does not stop where it "
    "should is not right, either.",
)
whole_sentences.wrong_value(
    "one token too many",
    100 * 0.99**21,
    "You counted a token that is not among the twenty, perhaps START. But START is given, so "
    "nothing can go wrong with it.",
)
whole_sentences.wrong_value(
    "the sentences with a mistake",
    100 * (1 - 0.99**20),
    "You gave the number of sentences with a mistake. The question asks for the others.",
)
whole_sentences.wrong_value(
    "exactly one mistake",
    100 * 20 * 0.01 * 0.99**19,
    "You gave the number of sentences with exactly one mistake. The question asks for those "
    "without any.",
)
whole_sentences.wrong_value(
    "the probability instead of the number",
    0.99**20,
    "You gave the probability for one sentence. The question asks how many of a hundred sentences "
    "are right.",
)


def _integers(generator, low, high, shape):
    return torch.randint(low, high, shape, generator=generator)


def _padded_words(generator, lengths, *, words=20):
    lengths = torch.tensor(lengths)[:, None]
    T = int(lengths.max())
    numbers = _integers(generator, 3, words, (len(lengths), T))
    return numbers * (torch.arange(T) < lengths)


teacher_forcing = Exercise(
    "9.2",
    "What the decoder reads and what it must predict",
    hints=[
        "Write both rows for the sentence 7 8 9 on paper, one below the other. Then do it again "
        "for a sentence of one word in the same batch.",
        "For one of the two results, `torch.cat` puts a column before `targets`; for the other, "
        "after it. Which of the two is then complete?",
        "`(targets != PAD).sum(dim=1)` is the number of words in each sentence. Which column is "
        "the first one after these words?",
    ],
    integers=True,
)


def _columns(targets, *, first=START, last=PAD):
    column = torch.full_like(targets[:, :1], first)
    reads = torch.cat([column, targets], dim=1)
    says = torch.cat([targets, torch.full_like(column, last)], dim=1)
    return reads, says


def _with_end(rows, targets):
    place = (targets != PAD).sum(dim=1, keepdim=True)
    return rows.scatter(1, place, END)


@teacher_forcing.solution
def _(targets):
    reads, says = _columns(targets)
    return torch.stack([reads, _with_end(says, targets)])


@teacher_forcing.inputs
def _(generator):
    yield (torch.tensor([[7, 8], [9, PAD]]),)
    for lengths in ([4, 4], [3], [1, 1], [2, 0, 6, 3, 5]):
        yield (_padded_words(generator, lengths),)
    yield (F.pad(_padded_words(generator, [3, 2]), (0, 2), value=PAD),)  # cut from a larger batch


@teacher_forcing.holds("In every sentence, END must be predicted once.")
def _(f, targets):
    times = (f(targets)[1] == END).sum(dim=-1)
    if (times != 1).any():
        return f"In one sentence, it must be predicted {times[times != 1][0].item()} times."


@teacher_forcing.holds("A word that must be predicted at one place is read at the next.")
def _(f, targets):
    reads, says = f(targets)
    is_word = says[:, :-1] > END
    wrong = (reads[:, 1:] != says[:, :-1]) & is_word
    if wrong.any():
        said, read = says[:, :-1][wrong][0], reads[:, 1:][wrong][0]
        return f"{said.item():g} must be predicted, but then {read.item():g} is read."


@teacher_forcing.mistake("END after the padding")
def _(targets):
    """You put END into the last column of every sentence. In a short sentence, the model must then
    predict padding before END, so it never learns to stop right after the last word."""
    return torch.stack(_columns(targets, last=END))


@teacher_forcing.mistake("END after the longest sentence, for all")
def _(targets):
    """You put END into the same column for all sentences, after the longest of them. In a short
    sentence, the model must then predict padding before END, so it never learns to stop right after
    the last word."""
    reads, says = _columns(targets)
    says[:, (targets != PAD).sum(dim=1).max()] = END
    return torch.stack([reads, says])


@teacher_forcing.mistake("no END")
def _(targets):
    """You put padding right after the last word, without END. The model then never learns to stop,
    and its translations do not end."""
    return torch.stack(_columns(targets))


@teacher_forcing.mistake("the word to predict is read")
def _(targets):
    """At each place, you let the decoder read the word that it must predict there. It then learns
    only to copy. Its loss is nearly 0, but it can't write anything by itself."""
    _, says = _columns(targets)
    return torch.stack([says, _with_end(says, targets)])


@teacher_forcing.mistake("the two exchanged")
def _(targets):
    """You return the two results in the wrong order. The decoder then learns to predict the word
    before the one that it reads, and it has already seen this word."""
    reads, says = _columns(targets)
    return torch.stack([_with_end(says, targets), reads])


@teacher_forcing.mistake("END is read")
def _(targets):
    """In a short sentence, you let the decoder read END where the task asks for padding. This does
    not harm the loss, because nothing must be predicted there, but it is not the result that the
    task describes."""
    reads, says = _columns(targets)
    place = (targets != PAD).sum(dim=1, keepdim=True) + 1
    wide = F.pad(reads, (0, 1)).scatter(1, place, END)[:, :-1]
    return torch.stack([wide, _with_end(says, targets)])


@teacher_forcing.mistake("END instead of the last word")
def _(targets):
    """You write END over the last word of each sentence. The model then never learns to predict
    this word."""
    reads, says = _columns(targets)
    place = ((targets != PAD).sum(dim=1, keepdim=True) - 1).clamp(min=0)
    return torch.stack([reads, says.scatter(1, place, END)])


@teacher_forcing.mistake("END instead of the last word, or in the last column")
def _(targets):
    """You write END over the last word of each sentence, and into the last column if the sentence
    has no word. The model then never learns to predict the last word."""
    reads, says = _columns(targets)
    place = (targets != PAD).sum(dim=1, keepdim=True) - 1
    return torch.stack([reads, says.scatter(1, place % says.shape[1], END)])


@teacher_forcing.mistake("END wherever padding is")
def _(targets):
    """You fill the rest of each sentence with END. The loss then counts every END, and short
    sentences mostly teach the model to write END."""
    reads, says = _columns(targets)
    return torch.stack([reads, says.masked_fill(says == PAD, END)])


@teacher_forcing.mistake("START must be predicted")
def _(targets):
    """You put START at the beginning of both rows. The two rows are then the same except for END,
    and the model learns to copy."""
    reads, _ = _columns(targets)
    place = (targets != PAD).sum(dim=1, keepdim=True) + 1
    says = F.pad(reads, (0, 1)).scatter(1, place, END)[:, :-1]
    return torch.stack([reads, says])


@teacher_forcing.mistake("padding read first")
def _(targets):
    """You shift the targets to the right and leave padding in the first place. The decoder then
    learns to begin with PAD, but a translation begins with START."""
    reads, says = _columns(targets, first=PAD)
    return torch.stack([reads, _with_end(says, targets)])


two_searches_miss = Construction(
    "9.3",
    "A sentence that two searches miss",
    shape=(4, 3),
    hints=[
        "Draw a tree with three branches, each of which has three branches again. How likely is "
        "a sentence at best, if its first token is likely and its second token is not?",
        "The best sentence must begin with a token that even a beam of two drops. How sure must "
        "the model be after this token, and how unsure after the most likely one?",
    ],
)
two_searches_miss.reference = torch.tensor(
    [[0.40, 0.35, 0.25], [0.34, 0.33, 0.33], [0.52, 0.24, 0.24], [1.0, 0.0, 0.0]]
)


def _found_by(chances, beam):
    """The likeliest sentence, with its probability, among those of the kept first tokens."""
    sentences = chances[0][:, None] * chances[1:]
    kept = chances[0].topk(beam).indices
    first = kept[sentences[kept].amax(dim=1).argmax()]
    second = sentences[first].argmax()
    return "ABC"[first] + "ABC"[second], sentences[first, second].item()


def _likelier(chances, beam, wider, names):
    (one, low), (other, high) = _found_by(chances, beam), _found_by(chances, wider)
    if high < 1.3 * low - 1e-6 or high <= low:
        return f"{names[0]} finds {one} with {low:.4f}, and {names[1]} {other} with {high:.4f}."
    return None


@two_searches_miss.holds("Each row holds probabilities, which sum to 1.")
def _(chances):
    if chances.min() < 0:
        return f"One number is {chances.min():g}."
    off = (chances.sum(dim=1) - 1).abs()
    if off.max() > 1e-3:
        row = int(off.argmax())
        return f"Row {row} sums to {chances[row].sum():.3f}."


@two_searches_miss.holds("The probabilities of the first token differ by at least 0.02.")
def _(chances):
    gaps = chances[0].sort().values.diff()
    if gaps.min() < 0.02 - 1e-6:
        return f"Two of them differ by {gaps.min():.3f}."


@two_searches_miss.holds("The beam's sentence is at least 1.3 times as likely as greedy search's.")
def _(chances):
    return _likelier(chances, 1, 2, ("Greedy search", "the beam"))


@two_searches_miss.holds("The best sentence of all is at least 1.3 times as likely as the beam's.")
def _(chances):
    return _likelier(chances, 2, 3, ("The beam", "a search of all sentences"))


@two_searches_miss.wrong(
    "probabilities of whole sentences",
    example=[[0.5, 0.3, 0.2], [0.2, 0.2, 0.1], [0.3, 0.0, 0.0], [0.2, 0.0, 0.0]],
)
def _(chances):
    """Rows 1 to 3 hold the probabilities of whole sentences. The second token needs a row that
    sums to 1 after each first token, because the model is asked only once this token is written."""
    is_first = bool((chances[0].sum() - 1).abs() < 1e-3)
    return is_first and torch.allclose(chances[1:].sum(dim=1), chances[0], atol=1e-3)


@two_searches_miss.wrong(
    "the likeliest first token wins",
    example=[[0.8, 0.15, 0.05], [0.6, 0.2, 0.2], [0.6, 0.2, 0.2], [1.0, 0.0, 0.0]],
)
def _(chances):
    """The best of your sentences begins with the likeliest first token. Greedy search then finds
    it, and no beam can do better."""
    return 0 < _found_by(chances, 3)[1] <= _found_by(chances, 1)[1]


@two_searches_miss.wrong(
    "the beam misses nothing",
    example=[[0.5, 0.4, 0.1], [0.34, 0.33, 0.33], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
)
def _(chances):
    """The best of your sentences begins with one of the two first tokens that the beam keeps. So
    greedy search misses it, but a beam of two finds it."""
    return _found_by(chances, 2)[1] >= _found_by(chances, 3)[1]


@two_searches_miss.wrong(
    "the beam gains nothing",
    example=[[0.4, 0.35, 0.25], [0.4, 0.3, 0.3], [0.4, 0.3, 0.3], [1.0, 0.0, 0.0]],
)
def _(chances):
    """The sentence of your beam is the one that greedy search writes. So the second beginning that
    the beam keeps leads to nothing better."""
    return _found_by(chances, 1)[1] >= _found_by(chances, 2)[1]


@dataclass(frozen=True)
class _Decoder:
    """A made-up model that writes one sentence, and nonsense after any other beginning.

    Without an END among its words, it never stops.
    """

    says: tuple[int, ...]
    words: int

    def __call__(self, tokens):
        tokens = [int(token) for token in tokens]
        chance = random.Random(f"{tokens} {self.says}")
        scores = [chance.uniform(-4, -1) for _ in range(self.words)]
        scores[PAD], scores[START] = -8.0, -9.0
        if END not in self.says:
            scores[END] = -9.0
        said = tokens[1:]
        known = len(said) < len(self.says) and (tokens == [START, *self.says[: len(said)]])
        if known:
            scores[self.says[len(said)]] = -0.5
        return torch.tensor(scores)

    def __repr__(self):
        said = ", ".join("END" if t == END else str(t) for t in self.says[:9])
        more = ", …" if len(self.says) > 9 else ""
        return f"<a model that writes {said}{more}>"


greedy = Exercise(
    "9.4",
    "Greedy search",
    hints=[
        "Keep one list of tokens. How does it begin, and what do you add to it in each round?",
        "There are two reasons to stop. Which of them leaves a token that is not part of the "
        "result?",
        "First make a result of the required length that has only `PAD`, and then put the words "
        "in.",
    ],
    integers=True,
)


def _written(words, max_length):
    row = (list(words) + [PAD] * max_length)[:max_length]
    return torch.tensor(row)


def _said(scores_of, max_length, *, best=torch.argmax, stop=True):
    tokens = [START]
    while len(tokens) <= max_length:
        token = int(best(scores_of(tokens)))
        if stop and token == END:
            break
        tokens.append(token)
    return tokens[1:]


@greedy.solution
def _(scores_of, max_length):
    return _written(_said(scores_of, max_length), max_length)


@greedy.inputs
def _(generator):
    def words(count):
        return tuple(_integers(generator, 3, 12, (count,)).tolist())

    yield _Decoder((4, 3, END), 6), 4
    yield _Decoder((*words(6), END), 12), 9
    yield _Decoder(words(10), 12), 5  # it never says END
    yield _Decoder((END,), 12), 3
    yield _Decoder((5, 4, END), 6), 1
    yield _Decoder((*words(5), END), 12), 5  # END comes just too late
    yield _Decoder((7, 7, *words(2), 7, END), 12), 8


def _recording(scores_of, calls):
    # a function, unlike an object, is not copied on its way into the answer
    def watched(tokens):
        calls.append([int(token) for token in tokens])
        return scores_of(tokens)

    return watched


@greedy.holds("The tokens that the model is given always begin with START.")
def _(f, scores_of, max_length):
    calls = []
    f(_recording(scores_of, calls), max_length)
    for tokens in calls:
        if tokens[:1] != [START]:
            return f"You once gave it {tokens}."


@greedy.holds("Every word is the one with the highest score.")
def _(f, scores_of, max_length):
    words = [token for token in f(scores_of, max_length).tolist() if token not in (PAD, END)]
    for i, word in enumerate(words):
        scores = scores_of([START, *words[:i]])
        if not 0 <= word < len(scores) or scores[int(word)] < scores.max():
            return f"As word number {i + 1} of {scores_of!r}, you take {word:g}, which is not."


@greedy.mistake("END kept")
def _(scores_of, max_length):
    """You add the token to the list before you look whether it is END. The sentence then
    ends with a token that is not a word of it."""
    words = _said(scores_of, max_length, stop=False)
    end = words.index(END) + 1 if END in words else None
    return _written(words[:end], max_length)


@greedy.mistake("START kept")
def _(scores_of, max_length):
    """You return the list as the model reads it, including START. If the sentence has the greatest
    length, its last word is cut off."""
    return _written([START, *_said(scores_of, max_length)], max_length)


@greedy.mistake("END does not stop it")
def _(scores_of, max_length):
    """You always go on to the greatest length. But the model was never trained to write after the
    end of a sentence, and the words that it writes there are nonsense."""
    return _written(_said(scores_of, max_length, stop=False), max_length)


@greedy.mistake("END removed afterwards")
def _(scores_of, max_length):
    """You go on to the greatest length and remove END afterwards. The nonsense after END then
    stays, as if it belonged to the sentence."""
    words = _said(scores_of, max_length, stop=False)
    return _written([w for w in words if w != END], max_length)


@greedy.mistake("begun without START")
def _(scores_of, max_length):
    """You begin with an empty list. But in training, the decoder always read START first, and
    without START it writes nonsense."""
    words = []
    while len(words) < max_length:
        token = int(scores_of(words).argmax())
        if token == END:
            break
        words.append(token)
    return _written(words, max_length)


@greedy.mistake("only the last word given")
def _(scores_of, max_length):
    """You give the model only the last word. It then does not know what it wrote before, and not
    even that the sentence has begun."""
    words = []
    while len(words) < max_length:
        token = int(scores_of([START, *words][-1:]).argmax())
        if token == END:
            break
        words.append(token)
    return _written(words, max_length)


@greedy.mistake("START and the last word given")
def _(scores_of, max_length):
    """You give the model START and the last word. From the third word on, it no longer knows how
    the sentence began."""
    words = []
    while len(words) < max_length:
        token = int(scores_of([START, *words[-1:]]).argmax())
        if token == END:
            break
        words.append(token)
    return _written(words, max_length)


@greedy.mistake("the first word again and again")
def _(scores_of, max_length):
    """You give the model only START each time. It then never reads what it wrote, and writes the
    same word again and again."""
    words = []
    while len(words) < max_length:
        token = int(scores_of([START]).argmax())
        if token == END:
            break
        words.append(token)
    return _written(words, max_length)


@greedy.mistake("one word too few")
def _(scores_of, max_length):
    """You count START as one of the words that may be written. A sentence of the greatest length
    then loses its last word."""
    return _written(_said(scores_of, max_length - 1), max_length)


@greedy.mistake("the least likely word")
def _(scores_of, max_length):
    """You take the word with the lowest score. All scores are negative, but the best one is still
    the largest."""
    return _written(_said(scores_of, max_length, best=torch.argmin), max_length)


translation_loss = Repair(
    "9.5",
    "Debug this: a translator that stops too early",
    line=3,
    because="Its colon stands for all rows, so every sentence gets an END in the columns of all "
    "lengths in the batch.",
    hints=[
        "After *cent*, END gets nearly all of the probability. What must `says` contain so that a "
        "model learns this?",
        "Take a batch of two sentences, one of one word and one of three words. Write down both "
        "rows of `says` after each line that changes them.",
    ],
    differentiable=True,
)
translation_loss.right_line(
    1,
    "It adds a column, because the longest sentence needs room for its END. In all other "
    "sentences, this column holds padding, as it should.",
)
translation_loss.right_line(
    2,
    "It counts the words of each sentence. Columns are counted from 0, so this number is also the "
    "number of the column right after the words.",
)
translation_loss.right_line(
    4,
    "It turns the scores at each place into log-probabilities. The tokens of the vocabulary are on "
    "the last axis, so softmax has to run over this axis.",
)
translation_loss.right_line(
    5,
    "It picks the log-probability of the token that must be predicted at each place. `gather` "
    "needs as many axes as `log_p` has, so an axis is added and removed again.",
)
translation_loss.right_line(
    6,
    "It takes the mean over all tokens that must be predicted. Padding is left out, but END is not "
    "padding, so it counts.",
)


def _mean_loss(scores, says):
    of_target = scores.log_softmax(dim=-1).gather(-1, says[..., None])[..., 0]
    return -of_target[says != PAD].mean()


def _with_end_in(columns, scores, targets, *, rows=slice(None)):
    says = F.pad(targets, (0, 1), value=PAD)
    says[rows, columns] = END
    return _mean_loss(scores, says)


def _lengths(targets):
    return (targets != PAD).sum(dim=1)


@translation_loss.solution
def _(scores, targets):
    says = F.pad(targets, (0, 1), value=PAD)
    length = (targets != PAD).sum(dim=1)
    says[torch.arange(len(says)), length] = END
    log_p = scores.log_softmax(dim=-1)
    of_target = log_p.gather(-1, says[..., None])[..., 0]
    return -of_target[says != PAD].mean()


@translation_loss.inputs
def _(generator):
    scores = torch.tensor([[0.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 3.0], [1.0, 0.0, 4.0, 0.0]])
    yield torch.stack([scores, scores.flip(0)]), torch.tensor([[3, PAD], [3, 3]])
    for lengths, spare, V in (([4], 0, 6), ([1, 1], 0, 5), ([5, 2, 1, 3], 0, 9), ([3, 2], 2, 7)):
        targets = F.pad(_padded_words(generator, lengths, words=V), (0, spare), value=PAD)
        shape = targets.shape[0], targets.shape[1] + 1, V
        yield 2 * torch.randn(shape, generator=generator), targets


@translation_loss.holds("The loss of a batch is the mean over the tokens of its sentences.")
def _(f, scores, targets):
    tokens = _lengths(targets) + 1
    alone = torch.stack(
        [torch.as_tensor(f(scores[i : i + 1], targets[i : i + 1])) for i in range(len(targets))]
    )
    return changed(
        (alone * tokens).sum() / tokens.sum(),
        torch.as_tensor(f(scores, targets)),
        "One sentence at a time, the mean is {}, but the batch has a loss of {}",
    )


@translation_loss.holds("The scores after the end of a sentence do not matter.")
def _(f, scores, targets):
    after = torch.arange(scores.shape[1]) > _lengths(targets)[:, None]
    other = torch.where(after[..., None], scores.flip(-1), scores)
    return changed(
        torch.as_tensor(f(scores, targets)),
        torch.as_tensor(f(other, targets)),
        "with other scores there, the loss goes from {} to {}",
    )


@translation_loss.broken
def _(scores, targets):
    """In every row, you still write END into the columns of all lengths. So a long sentence loses
    its words there, and the model learns to stop where a shorter sentence of the batch ends."""
    return _with_end_in(_lengths(targets), scores, targets)


@translation_loss.mistake("END in the last column")
def _(scores, targets):
    """You write END into the last column of every sentence. A short sentence must then predict END
    after padding, so the model never learns to stop right after the last word."""
    return _with_end_in(-1, scores, targets)


@translation_loss.mistake("END after the longest sentence, for all")
def _(scores, targets):
    """You write END into one column for all sentences, after the longest of them. In a shorter
    sentence, END then comes after padding, so the model never learns to stop right after the last
    word."""
    return _with_end_in(_lengths(targets).max(), scores, targets)


@translation_loss.mistake("END after the shortest sentence, for all")
def _(scores, targets):
    """You write END into one column for all sentences, after the shortest of them. Each longer
    sentence then loses a word, and must continue after its END."""
    return _with_end_in(_lengths(targets).min(), scores, targets)


@translation_loss.mistake("END wherever padding is")
def _(scores, targets):
    """You replace all padding by END. The loss then counts every END, so short sentences mostly
    teach the model to write END."""
    says = F.pad(targets, (0, 1), value=PAD)
    return _mean_loss(scores, says.masked_fill(says == PAD, END))


@translation_loss.mistake("END instead of the last word")
def _(scores, targets):
    """You write END over the last word of each sentence. The model then never learns this word, and
    stops one word too early."""
    rows = torch.arange(len(targets))
    return _with_end_in(_lengths(targets) - 1, scores, targets, rows=rows)


@translation_loss.mistake("no END")
def _(scores, targets):
    """You leave END out. The model then learns all words, but it never learns to stop."""
    return _mean_loss(scores, F.pad(targets, (0, 1), value=PAD))


smoothed_loss = Exercise(
    "9.7",
    "The smoothed loss of a batch",
    hints=[
        "Start from `logits.log_softmax(dim=-1)`. Both terms of (9.2) are made from it.",
        "`gather` with `target[..., None]` picks one of the V numbers at each place.",
        "If half of the batch is padding, over how many targets do you take the mean?",
    ],
    differentiable=True,
)


def _losses(logits, target, epsilon):
    log_p = logits.log_softmax(dim=-1)
    of_target = log_p.gather(-1, target[..., None])[..., 0]
    return -(1 - epsilon) * of_target - epsilon * log_p.mean(dim=-1)


@smoothed_loss.solution
def _(logits, target, epsilon):
    return _losses(logits, target, epsilon)[target != PAD].mean()


@smoothed_loss.inputs
def _(generator):
    yield (
        torch.tensor([[[0.0, 0.0, 0.0, 2.0], [1.0, 0.0, 2.0, 0.0]]]),
        torch.tensor([[3, PAD]]),
        0.2,
    )
    large = torch.tensor([[[120.0, 0.0, 0.0, 111.0], [0.0, -120.0, 0.0, -240.0]]])
    yield large, torch.tensor([[3, 1]]), 0.1
    for lengths, V, epsilon in [
        ([4, 4], 6, 0.3),
        ([1, 1], 5, 0.0),
        ([5, 2, 1, 3], 12, 0.1),
    ]:
        target = _padded_words(generator, lengths, words=V)
        logits = 2 * torch.randn(*target.shape, V, generator=generator)
        yield logits, target, epsilon


@smoothed_loss.holds("The scores at padding do not matter.")
def _(f, logits, target, epsilon):
    other = torch.where((target == PAD)[..., None], logits.flip(-1), logits)
    return changed(
        torch.as_tensor(f(logits, target, epsilon)),
        torch.as_tensor(f(other, target, epsilon)),
        "with other scores there, the loss goes from {} to {}",
    )


@smoothed_loss.holds("Every word counts the same, in whatever sentence it is.")
def _(f, logits, target, epsilon):
    return changed(
        torch.as_tensor(f(logits, target, epsilon)),
        torch.as_tensor(f(logits.flatten(0, 1)[None], target.view(1, -1), epsilon)),
        "the same words in one long sentence turn the loss {} into {}",
    )


@smoothed_loss.mistake("padding counted")
def _(logits, target, epsilon):
    """You take the mean over all places, including padding. The model then learns to predict PAD,
    and the more the lengths in a batch differ, the more it does so."""
    return _losses(logits, target, epsilon).mean()


@smoothed_loss.mistake("divided by all places")
def _(logits, target, epsilon):
    """You leave the losses of padding out of the sum, but divide by all places. The same words then
    count less in a batch with more padding."""
    return (_losses(logits, target, epsilon) * (target != PAD)).mean()


@smoothed_loss.mistake("padding smoothed")
def _(logits, target, epsilon):
    """You leave padding out of the first term, but keep it in the second. You then also smooth at
    places where nothing must be predicted."""
    log_p = logits.log_softmax(dim=-1)
    is_word = target != PAD
    of_target = log_p.gather(-1, target[..., None])[..., 0] * is_word
    loss = -(1 - epsilon) * of_target - epsilon * log_p.mean(dim=-1)
    return loss.sum() / is_word.sum()


@smoothed_loss.mistake("a mean of the sentences' means")
def _(logits, target, epsilon):
    """You take the mean of each sentence first, and then the mean of these means. A word of a short
    sentence then counts more than a word of a long one."""
    is_word = target != PAD
    loss = _losses(logits, target, epsilon) * is_word
    return (loss.sum(dim=1) / is_word.sum(dim=1)).mean()


@smoothed_loss.mistake("the sum of all losses")
def _(logits, target, epsilon):
    """You add up the losses and do not divide. The loss and its gradient then grow with the size of
    the batch."""
    return _losses(logits, target, epsilon)[target != PAD].sum()


@smoothed_loss.mistake("the sum over the words instead of their mean")
def _(logits, target, epsilon):
    """You add up the log-probabilities of all V words in the second term. The smoothing is then V
    times too strong, and with a large vocabulary it outweighs the target."""
    log_p = logits.log_softmax(dim=-1)
    of_target = log_p.gather(-1, target[..., None])[..., 0]
    loss = -(1 - epsilon) * of_target - epsilon * log_p.sum(dim=-1)
    return loss[target != PAD].mean()


@smoothed_loss.mistake("ε shared among the other words")
def _(logits, target, epsilon):
    """You share ε among the V − 1 other words and give the target none of it. This is a different
    way of smoothing, and it is a little stronger than (9.2)."""
    V = logits.shape[-1]
    return _losses(logits, target, epsilon * V / (V - 1))[target != PAD].mean()


@smoothed_loss.mistake("ε shared among the other words, without PAD")
def _(logits, target, epsilon):
    """You share ε among the V − 2 words that are neither the target nor PAD, as the Annotated
    Transformer does. But in (9.2), all V words get the same share."""
    log_p, V = logits.log_softmax(dim=-1), logits.shape[-1]
    of_target = log_p.gather(-1, target[..., None])[..., 0]
    of_others = log_p.sum(dim=-1) - log_p[..., PAD] - of_target
    loss = -(1 - epsilon) * of_target - epsilon / (V - 2) * of_others
    return loss[target != PAD].mean()


@smoothed_loss.mistake("the target's share of ε left out")
def _(logits, target, epsilon):
    """You give the target only 1 − ε, and each of the other words ε / V. The weights of a target
    then sum to less than 1."""
    log_p = logits.log_softmax(dim=-1)
    of_target = log_p.gather(-1, target[..., None])[..., 0]
    missing = epsilon / logits.shape[-1] * of_target
    return (_losses(logits, target, epsilon) + missing)[target != PAD].mean()


@smoothed_loss.mistake("the logarithm of the mean")
def _(logits, target, epsilon):
    """You take the logarithm of the mean probability in the second term. But this mean is always 1
    / V, whatever the scores are, so the term is constant and smooths nothing."""
    V = logits.shape[-1]
    plain = (1 - epsilon) * _losses(logits, target, 0.0)
    return plain[target != PAD].mean() + epsilon * math.log(V)


@smoothed_loss.mistake("no smoothing")
def _(logits, target, epsilon):
    """You compute the plain cross-entropy. It asks the model for a probability of 1, which finite
    scores can't give."""
    return _losses(logits, target, 0.0)[target != PAD].mean()


@smoothed_loss.mistake("1 − ε left out")
def _(logits, target, epsilon):
    """You add the second term, but you do not make the first smaller. The weights of a target then
    sum to more than 1."""
    plain = _losses(logits, target, 0.0)
    smooth = _losses(logits, target, 1.0)
    return (plain + epsilon * smooth)[target != PAD].mean()


@smoothed_loss.mistake("ε and 1 − ε exchanged")
def _(logits, target, epsilon):
    """You give ε to the target and share the rest equally among all words. The model then hardly
    learns which word is right."""
    return _losses(logits, target, 1 - epsilon)[target != PAD].mean()


@smoothed_loss.mistake("the sign forgotten")
def _(logits, target, epsilon):
    """You take the mean of the log-probabilities without the minus sign. Training makes a loss
    small, so it would make the right words improbable."""
    return -_losses(logits, target, epsilon)[target != PAD].mean()


@smoothed_loss.mistake("no softmax")
def _(logits, target, epsilon):
    """You use the scores as if they were log-probabilities. Nothing then keeps the sum of the
    probabilities at 1, and the loss falls without limit as the scores grow."""
    of_target = logits.gather(-1, target[..., None])[..., 0]
    loss = -(1 - epsilon) * of_target - epsilon * logits.mean(dim=-1)
    return loss[target != PAD].mean()


@smoothed_loss.mistake("the logarithm of a softmax that is 0")
def _(logits, target, epsilon):
    """You take the logarithm of the finished probabilities. But a very small probability is rounded
    to 0, and its logarithm is minus infinity."""
    log_p = logits.softmax(dim=-1).log()
    of_target = log_p.gather(-1, target[..., None])[..., 0]
    return (-(1 - epsilon) * of_target - epsilon * log_p.mean(dim=-1))[target != PAD].mean()


@smoothed_loss.mistake("softmax along the sentence")
def _(logits, target, epsilon):
    """You apply softmax along the places of a sentence instead of over the words. The places then
    compete for each word, and later places influence earlier ones."""
    log_p = logits.log_softmax(dim=1)
    of_target = log_p.gather(-1, target[..., None])[..., 0]
    loss = -(1 - epsilon) * of_target - epsilon * log_p.mean(dim=-1)
    return loss[target != PAD].mean()


averaged = Exercise(
    "9.8",
    "One model from several checkpoints",
    hints=[
        "The result is the output of a single network. Which parameters does this network have?",
        "Build a new dictionary with the names of the first checkpoint.",
        "`torch.stack` puts the tensors of one name together and adds an axis for the checkpoints.",
    ],
)


def _network(parameters, x):
    hidden = (x @ parameters["W_1"] + parameters["b_1"]).relu()
    return hidden @ parameters["W_2"] + parameters["b_2"]


def _weighted(checkpoints, weights):
    pairs = list(zip(weights, checkpoints, strict=True))
    return {n: sum(w * c[n] for w, c in pairs) for n in checkpoints[0]}


def _equal_shares(checkpoints):
    return [1 / len(checkpoints)] * len(checkpoints)


@averaged.solution
def _(checkpoints, x):
    return _network(_weighted(checkpoints, _equal_shares(checkpoints)), x)


@averaged.inputs
def _(generator):
    def one_feature(W_1, b_1, W_2, b_2):
        return Parameters(
            W_1=torch.tensor([[W_1]]),
            b_1=torch.tensor([b_1]),
            W_2=torch.tensor([[W_2]]),
            b_2=torch.tensor([b_2]),
        )

    yield (
        [one_feature(2.0, 1.0, 1.0, 0.0), one_feature(-4.0, 3.0, 3.0, 6.0)],
        torch.tensor([[1.0], [-1.0]]),
    )
    for count, d, hidden, out, batch in [
        (3, 4, 6, 2, 5),
        (1, 3, 5, 4, 2),
        (5, 2, 8, 3, 4),
        (2, 1, 2, 3, 1),
    ]:
        shapes = {"W_1": (d, hidden), "b_1": (hidden,), "W_2": (hidden, out), "b_2": (out,)}
        yield (
            [
                Parameters(
                    {
                        name: torch.randn(shape, generator=generator)
                        for name, shape in shapes.items()
                    }
                )
                for _ in range(count)
            ],
            torch.randn(batch, d, generator=generator),
        )


@averaged.holds("With a single checkpoint, the result is the output of this checkpoint.")
def _(f, checkpoints, x):
    return changed(
        _network(checkpoints[-1], x),
        f(checkpoints[-1:], x),
        "a checkpoint returns {}, but your result is {}",
    )


@averaged.holds(
    "Where the mean of b_1 sets all hidden features to 0, only the mean of b_2 is left."
)
def _(f, checkpoints, x):
    if len(checkpoints) < 3:
        return None
    # one b_1 far above 0, the others as far below it: so is their mean
    shifts = [1e5] + [-1e5] * (len(checkpoints) - 1)
    shifted = [
        Parameters({**c, "b_1": c["b_1"] + shift})
        for c, shift in zip(checkpoints, shifts, strict=True)
    ]
    b_2 = torch.stack([c["b_2"] for c in checkpoints]).mean(dim=0)
    return changed(
        b_2.expand(len(x), -1),
        f(shifted, x),
        "there, one number of the mean of b_2 is {}, but the output is {}",
    )


@averaged.mistake("the outputs averaged")
def _(checkpoints, x):
    """You run every checkpoint and average the outputs. This is an ensemble, which is a different
    way to use checkpoints, but needs as many runs as there are checkpoints."""
    return torch.stack([_network(c, x) for c in checkpoints]).mean(dim=0)


@averaged.mistake("the last checkpoint alone")
def _(checkpoints, x):
    """You use the last checkpoint as it is. The other checkpoints then have no influence on the
    result."""
    return _network(checkpoints[-1], x)


@averaged.mistake("the sum instead of the mean")
def _(checkpoints, x):
    """You add up the parameters and do not divide. The more checkpoints there are, the larger your
    parameters become."""
    return _network(_weighted(checkpoints, [1] * len(checkpoints)), x)


@averaged.mistake("each new checkpoint counted half")
def _(checkpoints, x):
    """You take the mean of the first two, then the mean of the result and the third, and so on. The
    last checkpoint then counts for half, and the first ones hardly count at all."""
    mean = checkpoints[0]
    for checkpoint in checkpoints[1:]:
        mean = _weighted([mean, checkpoint], [0.5, 0.5])
    return _network(mean, x)


@averaged.mistake("always divided by 2")
def _(checkpoints, x):
    """You divide by 2, however many checkpoints there are. With any other number of checkpoints,
    all parameters are too large or too small."""
    return _network(_weighted(checkpoints, [0.5] * len(checkpoints)), x)


@averaged.mistake("only the first and the last")
def _(checkpoints, x):
    """You average the first and the last checkpoint. The checkpoints between them are not used."""
    ends = [checkpoints[0], checkpoints[-1]]
    return _network(_weighted(ends, [0.5, 0.5]), x)


@averaged.mistake("the biases not averaged")
def _(checkpoints, x):
    """You average the matrices and keep the biases of the last checkpoint. But each bias was
    learned together with a matrix that is no longer there."""
    mean = _weighted(checkpoints, _equal_shares(checkpoints))
    last = checkpoints[-1]
    return _network({**mean, "b_1": last["b_1"], "b_2": last["b_2"]}, x)


@averaged.mistake("the matrices not averaged")
def _(checkpoints, x):
    """You average the biases and keep the matrices of the last checkpoint. But most parameters of a
    network are in its matrices, so your network is nearly the last checkpoint."""
    mean = _weighted(checkpoints, _equal_shares(checkpoints))
    last = checkpoints[-1]
    return _network({**mean, "W_1": last["W_1"], "W_2": last["W_2"]}, x)


@averaged.mistake("averaged layer by layer")
def _(checkpoints, x):
    """You average the outputs of the checkpoints' hidden layers, and apply the mean matrix to this
    average. The result is neither one network nor an ensemble, and every checkpoint still has to
    run."""
    mean = _weighted(checkpoints, _equal_shares(checkpoints))
    hidden = torch.stack([(x @ c["W_1"] + c["b_1"]).relu() for c in checkpoints]).mean(dim=0)
    return hidden @ mean["W_2"] + mean["b_2"]


extend = Exercise(
    "9.9",
    "One step of beam search",
    hints=[
        "How many continuations does one sentence have in all? The best are chosen among all of "
        "them, so they must compete along one axis.",
        "The log-probability of a longer beginning is a sum. `scores[..., None]` has the axis that "
        "is needed for the words.",
        "`topk` says at which place of the long axis each winner was. Each row has V words. If V = "
        "5, which row and which word does place 7 belong to?",
    ],
)


def _best_of(total, *, parts=None):
    beam, V = total.shape[-2:]
    best, place = total.flatten(start_dim=-2).topk(beam, dim=-1)
    parts = V if parts is None else parts
    return torch.stack([best, place // parts, place % parts])


@extend.solution
def _(scores, log_probs):
    return _best_of(scores[..., None] + log_probs)


@extend.inputs
def _(generator):
    yield (
        torch.tensor([[-1.0, -2.0]]),
        torch.tensor([[0.2, 0.3, 0.5], [0.02, 0.9, 0.08]]).log()[None],
    )
    for batch, beam, V in [(3, 4, 6), (4, 2, 11), (2, 1, 1)]:
        chance = torch.randn(batch, beam, V, generator=generator)
        scores = -4 * torch.rand(batch, beam, generator=generator)
        scores = scores.sort(dim=-1, descending=True).values
        yield scores, (1.5 * chance).log_softmax(dim=-1)
    # the first step: all rows hold START alone, so only one of them counts
    only_one = torch.tensor([[0.0, -torch.inf, -torch.inf]]).expand(2, -1)
    chance = torch.randn(2, 3, 8, generator=generator)
    yield only_one.clone(), chance.log_softmax(dim=-1)


def _no_place(name, numbers, count):
    wrong = (numbers < 0) | (numbers >= count) | (numbers % 1 != 0)
    if wrong.any():
        return (
            f"One {name} is {numbers[wrong][0].item():.4g}, but they are "
            f"numbered from 0 to {count - 1}."
        )


@extend.holds("Every new score is the score of its row plus the score of its token.")
def _(f, scores, log_probs):
    beam, V = log_probs.shape[-2:]
    new, row, token = f(scores, log_probs)
    if wrong := _no_place("row", row, beam) or _no_place("token", token, V):
        return wrong
    row, token = row.long(), token.long()
    total = (scores[..., None] + log_probs).flatten(start_dim=1)
    right = total.gather(1, row * V + token)
    return changed(
        right.nan_to_num(neginf=-1e4),
        new.nan_to_num(neginf=-1e4),
        "for one row and token, the sum is {}, but the new score is {}",
    )


@extend.holds("No continuation is taken twice.")
def _(f, scores, log_probs):
    result = f(scores, log_probs)
    for row, token in zip(result[1].tolist(), result[2].tolist(), strict=True):
        pairs = list(zip(row, token, strict=True))
        for pair in pairs:
            if pairs.count(pair) > 1:
                return f"One sentence takes row {pair[0]:g} with token {pair[1]:g} again."


@extend.mistake("the best token of each row")
def _(scores, log_probs):
    """You continue every row with its own best token. The rows then never compete. A bad beginning
    stays in the beam, and a good one can't branch."""
    best, token = log_probs.max(dim=-1)
    new, row = (scores + best).sort(dim=-1, descending=True)
    return torch.stack([new, row, token.gather(1, row)])


@extend.mistake("one continuation of each row")
def _(scores, log_probs):
    """You take the best sum of every row. The rows then never compete. A bad beginning stays in the
    beam, and a good one can't branch."""
    best, token = (scores[..., None] + log_probs).max(dim=-1)
    new, row = best.sort(dim=-1, descending=True)
    return torch.stack([new, row, token.gather(1, row)])


@extend.mistake("only the best row continued")
def _(scores, log_probs):
    """You take all continuations from the best row. Beginnings whose score is a little lower can
    then never catch up, and the beam is little more than greedy search."""
    beam = scores.shape[-1]
    row = scores.argmax(dim=-1, keepdim=True)
    total = (scores[..., None] + log_probs)[torch.arange(len(row)), row[:, 0]]
    best, token = total.topk(beam, dim=-1)
    return torch.stack([best, row.expand_as(token), token])


@extend.mistake("the scores so far forgotten")
def _(scores, log_probs):
    """You compare only the new tokens. A likely token after an unlikely beginning then beats a
    continuation that is better as a whole."""
    return _best_of(log_probs)


@extend.mistake("chosen without the scores so far, added afterwards")
def _(scores, log_probs):
    """You choose by the new tokens alone and add the scores of the rows to the winners afterwards.
    The sums are right, but other continuations would have been better, and the order may be
    wrong."""
    _, row, token = _best_of(log_probs)
    places = (row * log_probs.shape[-1] + token).long()
    total = (scores[..., None] + log_probs).flatten(start_dim=1)
    return torch.stack([total.gather(1, places), row, token])


@extend.mistake("multiplied instead of added")
def _(scores, log_probs):
    """You multiply two logarithms. Both are negative, so the least likely pairs get the largest
    products."""
    return _best_of((scores[..., None] * log_probs).nan_to_num(posinf=1e4, neginf=-1e4))


@extend.mistake("probabilities added")
def _(scores, log_probs):
    """You turn the log-probabilities back into probabilities and add them to the scores. A token of
    probability 0 then changes nothing, and a token of probability 1 adds 1 to the score."""
    return _best_of(scores[..., None] + log_probs.exp())


@extend.mistake("rows and tokens exchanged")
def _(scores, log_probs):
    """You return the rows as the tokens and the tokens as the rows. The caller
    then looks up beginnings that do not exist, and writes words that nobody chose."""
    best, row, token = _best_of(scores[..., None] + log_probs)
    return torch.stack([best, token, row])


@extend.mistake("divided by the beam instead of the words")
def _(scores, log_probs):
    """You divide the place by the number of rows. But a place counts the words of all rows before
    it, so your result points to the wrong rows and the wrong tokens."""
    return _best_of(scores[..., None] + log_probs, parts=scores.shape[-1])


@extend.mistake("the worst instead of the best")
def _(scores, log_probs):
    """You keep the continuations with the lowest scores. But log-probabilities are negative, and
    the better ones are nearer to 0."""
    total = scores[..., None] + log_probs
    worst, row, token = _best_of(-total)
    return torch.stack([-worst, row, token])


@extend.mistake("in the order of the rows")
def _(scores, log_probs):
    """You keep the right continuations, but in the order of the rows from which they come. A caller
    who takes the first row for the best then gets a different one."""
    result = _best_of(scores[..., None] + log_probs)
    place = result[1] * log_probs.shape[-1] + result[2]
    order = place.argsort(dim=-1).expand_as(result)
    return result.gather(-1, order)


@extend.mistake("the best last")
def _(scores, log_probs):
    """You sort from the lowest score upwards. A caller who takes the first row for the best then
    gets the worst of the beam."""
    return _best_of(scores[..., None] + log_probs).flip(-1)


@extend.mistake("the mean instead of the sum")
def _(scores, log_probs):
    """You take the mean of the old score and the new log-probability. Each step then halves the
    scores of the earlier tokens, and the beginning of a long sentence is forgotten."""
    return _best_of((scores[..., None] + log_probs) / 2)


clipped_precision = Suspects(
    "9.10",
    "BLEU's clipped precision",
    hints=[
        "Think of a candidate that is easy to judge. What must come out if the candidate is the "
        "reference itself, even if words are repeated in it?",
        "Count by hand for a candidate that repeats a word too often, with a longer reference. "
        "Then do the same with n = 2, for words in a different order.",
        "Have you tried a candidate that is shorter than n?",
    ],
)


def _grams(words, n):
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def _share(right, of):
    return right / of if of else 0.0


def _right(found, wanted):
    return (Counter(found) & Counter(wanted)).total()


@clipped_precision.wrong("counts every n-gram that occurs in the reference as right")
def _(candidate, reference, n):
    found, wanted = _grams(candidate, n), _grams(reference, n)
    return _share(sum(gram in wanted for gram in found), len(found))


@clipped_precision.right("counts the n-grams of both, and takes the smaller counts")
def _(candidate, reference, n):
    found = _grams(candidate, n)
    return _share(_right(found, _grams(reference, n)), len(found))


@clipped_precision.wrong("divides by the number of n-grams in the reference")
def _(candidate, reference, n):
    found, wanted = _grams(candidate, n), _grams(reference, n)
    return _share(_right(found, wanted), len(wanted))


@clipped_precision.wrong("counts an n-gram once at most, even if the reference has it twice")
def _(candidate, reference, n):
    found, wanted = _grams(candidate, n), _grams(reference, n)
    return _share(len({*found} & {*wanted}), len(found))


@clipped_precision.right("crosses out what it has found, and adds a rounded share for each")
def _(candidate, reference, n):
    found, left, precision = _grams(candidate, n), _grams(reference, n), 0.0
    for gram in found:
        if gram in left:
            left.remove(gram)
            precision += 1 / len(found)
    return precision


@clipped_precision.right("subtracts the share of wrong n-grams from 1, which rounds a little")
def _(candidate, reference, n):
    found, wanted = (Counter(_grams(words, n)) for words in (candidate, reference))
    return 1 - (found - wanted).total() / found.total() if found else 0.0


@clipped_precision.right("compares texts, with spaces between the words", kept_back=True)
def _(candidate, reference, n):
    found, wanted = ([" ".join(g) for g in _grams(words, n)] for words in (candidate, reference))
    return sum(min(found.count(g), wanted.count(g)) for g in {*found}) / max(1, len(found))


@clipped_precision.wrong("ignores the order of the words in an n-gram", kept_back=True)
def _(candidate, reference, n):
    found, wanted = (
        [tuple(sorted(gram)) for gram in _grams(words, n)] for words in (candidate, reference)
    )
    return _share(_right(found, wanted), len(found))


@clipped_precision.wrong("compares only the first and last words of n-grams", kept_back=True)
def _(candidate, reference, n):
    found, wanted = (
        [(gram[0], gram[-1]) for gram in _grams(words, n)] for words in (candidate, reference)
    )
    return _share(_right(found, wanted), len(found))


@clipped_precision.wrong("divides by the number of words in the candidate", kept_back=True)
def _(candidate, reference, n):
    return _share(_right(_grams(candidate, n), _grams(reference, n)), len(candidate))


@clipped_precision.wrong(
    "looks for an n-gram only at the same place in the reference", kept_back=True
)
def _(candidate, reference, n):
    found, wanted = _grams(candidate, n), _grams(reference, n)
    return _share(sum(a == b for a, b in zip(found, wanted, strict=False)), len(found))


@clipped_precision.wrong("also multiplies by BLEU's brevity penalty", kept_back=True)
def _(candidate, reference, n):
    found = _grams(candidate, n)
    penalty = math.exp(min(0.0, 1 - len(reference) / max(1, len(candidate))))
    return penalty * _share(_right(found, _grams(reference, n)), len(found))


@clipped_precision.wrong("leaves out the last n-gram of each list", kept_back=True)
def _(candidate, reference, n):
    found, wanted = _grams(candidate, n)[:-1], _grams(reference, n)[:-1]
    return _share(_right(found, wanted), len(found))


@clipped_precision.wrong("returns 1 if the candidate has no n-gram", kept_back=True)
def _(candidate, reference, n):
    found = _grams(candidate, n)
    return _right(found, _grams(reference, n)) / len(found) if found else 1.0


def _gives(f, *examples, room=1e-6):
    """Whether f gives the right precision, the last of each example."""
    return all(
        abs(f(candidate.split(), reference.split(), n) - right) <= room
        for candidate, reference, n, right in examples
    )


_ITSELF = "the cat and the cat", "the cat and the cat", 2, 1
_REPEATED = "the the the cat", "cat the saw the dog", 1, 3 / 4
_REORDERED = "was it dark", "it was dark", 2, 0
_SHORT = "cat", "cat", 2, 0
_LONGER = "it was dark", "it is dark", 3, 0


@clipped_precision.solution
def _(f):
    return _gives(f, _ITSELF, _REPEATED, _REORDERED, _SHORT, _LONGER)


@clipped_precision.mistake("only all or nothing")
def _(f):
    """No function fails your test. Where all words of a candidate are right, or none is, wrong
    counts don't show."""
    return _gives(f, ("the cat sat", "the cat sat", 1, 1), ("a dog ran", "the cat sat", 1, 0))


@clipped_precision.mistake("only single words")
def _(f):
    """You try only n = 1. The order of the words then doesn't matter, and there are as many n-grams
    as words."""
    return _gives(f, _REPEATED, ("the cat the cat", "the cat the cat", 1, 1), ("", "cat", 1, 0))


@clipped_precision.mistake("the words between the first and the last")
def _(f):
    """Your test can't see whether a function compares the words in the middle of an n-gram. With
    n = 1 and n = 2, there are none. With a larger n, you need an n-gram in which only a word in
    the middle is wrong."""
    return _gives(f, _ITSELF, _REPEATED, _REORDERED, _SHORT)


@clipped_precision.mistake("nothing repeated")
def _(f):
    """No n-gram is repeated in your candidates. But clipping concerns only n-grams that are
    repeated."""
    new = ("so the cat sat", "the cat sat on it", 2, 2 / 3), ("it was", "it was so", 1, 1)
    return _gives(f, *new, _REORDERED, _SHORT, _LONGER)


@clipped_precision.mistake("sentences of the same length")
def _(f):
    """Your candidates are as long as their references. Then it doesn't matter by which of the two
    numbers of n-grams a function divides."""
    equal = "the the the cat", "cat the saw the", 1, 3 / 4
    return _gives(f, _ITSELF, equal, _REORDERED, _SHORT, _LONGER)


@clipped_precision.mistake("right n-grams at their own places only")
def _(f):
    """In your candidates, each n-gram that is right has the same place as in the reference. But a
    translation may begin with one word more, and be right after that."""
    at_place = "the cat the the", "the cat saw the dog ran", 1, 3 / 4
    return _gives(f, _ITSELF, at_place, _REORDERED, _SHORT, _LONGER)


@clipped_precision.mistake("only the example of the paper")
def _(f):
    """You try only one candidate of seven equal words. This shows the clipping, but nothing about
    longer n-grams and their places."""
    return _gives(f, ("the the the the the the the", "the cat is on the mat", 1, 2 / 7))


@clipped_precision.mistake("only candidates that are long enough")
def _(f):
    """Each of your candidates has an n-gram. So your test can't see what a function returns for a
    candidate that is too short."""
    return _gives(f, _ITSELF, _REPEATED, _REORDERED, _LONGER)


@clipped_precision.mistake("no room for rounding")
def _(f):
    """You demand that the number is equal to the last bit. But a right function may add up shares,
    and these are rounded."""
    ten = "it was dark and it was cold and it rained"
    return _gives(f, (ten, ten, 1, 1), _ITSELF, _REPEATED, _REORDERED, _SHORT, _LONGER, room=0)


@clipped_precision.mistake("too much room for rounding")
def _(f):
    """You accept numbers that are off by a quarter. In a short sentence, one n-gram counted wrongly
    changes the precision by less."""
    return _gives(f, _ITSELF, _REPEATED, _REORDERED, _SHORT, _LONGER, room=0.25)


class Parameters(dict):
    """Tensors by name that can be compared as a whole."""

    def __eq__(self, other):
        return self.keys() == other.keys() and all(
            torch.equal(tensor, other[name]) for name, tensor in self.items()
        )

    __hash__ = None


captions_to_judge = NumericAnswer(
    "9.11",
    "How many captions to judge",
    answer=1.96**2 * 25 / 40 * 15 / 40 / 0.05**2,
    within=0.15,
    hints=[
        "The share is a mean over captions. How does the spread of a mean of n independent numbers "
        "depend on n?",
        "The interval must become a third as wide. By which factor must n grow, if the width falls "
        "as the root of n?",
    ],
)
captions_to_judge.wrong_value(
    "three times as many captions",
    120.0,
    "You took three times as many captions for an interval a third as wide. But mistakes in both "
    "directions partly cancel, so the width falls more slowly than the number of captions grows.",
)
captions_to_judge.wrong_value(
    "one side compared with both",
    90.0,
    "You compared 15 points on one side with 10 points on both sides together. Both numbers must "
    "say how far the interval reaches to one side.",
)
captions_to_judge.wrong_value(
    "both sides compared with one",
    1440.0,
    "You compared 30 points on both sides together with 5 points on one side. Both numbers must "
    "say how far the interval reaches to one side.",
)
captions_to_judge.wrong_value(
    "the cube",
    1080.0,
    "You took the third power of the ratio of the widths. But the width falls as the square root "
    "of the number of captions, so a lower power is enough.",
)
