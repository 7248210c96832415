"""Small models with one line of a learner: each trains with it and says what it shows.

``RUNS`` has one for each exercise in which a line is to be mended, and ``symptoms`` draws them.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from attnbook.blocks import FeedForward
from attnbook.data import END, START, NumberDataset
from attnbook.encoder import Encoder
from attnbook.language_model import LanguageModel
from attnbook.multihead import MultiHeadAttention
from attnbook.positions import LearnedPositions, TokenEmbedding
from attnbook.transformer import Transformer


@dataclass
class Run:
    """A model that was trained: its losses, and what it attends to.

    There is one loss for each step or, if ``against`` says so, for the numbers 1, 2, 3, … of
    something else.
    """

    """A model that was trained: its losses, one for each step, and a map of its symptom."""

    losses: list[float]
    weights: Tensor  # (rows, columns)
    rows: Sequence[str]
    columns: Sequence[str]
    against: str = "step"


RUNS: dict[str, Callable[[Callable], Run]] = {}  # by exercise


def _of(id: str) -> Callable:
    """Decorator: what trains the model of an exercise with a function that answers it."""

    def add(train: Callable[[Callable], Run]) -> Callable:
        RUNS[id] = train
        return train

    return add


def _descend(
    parameters: Sequence[Tensor], loss_of: Callable[[], Tensor], steps: int, rate: float = 0.01
) -> list[float]:
    """Train for some steps with Adam at a learning rate; the loss before each step."""
    optimiser = torch.optim.Adam(parameters, lr=rate)
    losses = []
    for _ in range(steps):
        loss = loss_of()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


@_of("2.4")
def _(look_up: Callable) -> Run:
    """Eight letters get new colours in every batch: which colour has this letter?"""
    letters, colours, d = 8, 8, 16
    asks, answers = nn.Embedding(letters, d), nn.Embedding(letters, d)
    holds, names = nn.Embedding(colours, d), nn.Linear(d, colours)

    def outputs(asked: Tensor, colour: Tensor) -> Tensor:  # (batch, 1), (batch, 8)
        key = answers.weight.expand(len(colour), -1, -1)
        return names(look_up(asks(asked), key, holds(colour)))

    def loss_of() -> Tensor:
        colour = torch.rand(32, letters).argsort(dim=-1)
        asked = torch.randint(letters, (32, 1))
        return F.cross_entropy(
            outputs(asked, colour).flatten(0, 1), colour.gather(1, asked).flatten()
        )

    modules = nn.ModuleList([asks, answers, holds, names])
    losses = _descend([*modules.parameters()], loss_of, 150)
    with torch.no_grad():  # the weights are what comes out if the values are the identity
        asked = torch.tensor([[1]])
        weights = look_up(asks(asked), answers.weight[None], torch.eye(letters)[None])[0]
    return Run(losses, weights, ["b"], [*"abcdefgh"])


@_of("3.5")
def _(attend: Callable) -> Run:
    """Four letters have colours: which has the first? The map is from before the first step."""
    letters, colours, shown, d, d_k = 6, 8, 4, 32, 1024
    symbols, holds, names = (
        nn.Embedding(letters, d),
        nn.Embedding(colours, d),
        nn.Linear(d, colours),
    )
    asks, answers = (nn.Parameter(torch.randn(d, d_k) / math.sqrt(d)) for _ in range(2))

    def output(asked: Tensor, letter: Tensor, value: Tensor) -> Tensor:
        return attend(symbols(asked) @ asks, symbols(letter) @ answers, value)

    def loss_of() -> Tensor:
        letter = torch.rand(32, letters).argsort(dim=-1)[:, :shown]
        colour = torch.randint(colours, (32, shown))
        found = output(letter[:, :1], letter, holds(colour))
        return F.cross_entropy(names(found)[:, 0], colour[:, 0])

    with torch.no_grad():
        letter = torch.tensor([[1, 3, 4, 5]])
        weights = output(letter, letter, torch.eye(shown)[None])[0]
    modules = nn.ModuleList([symbols, holds, names])
    losses = _descend([*modules.parameters(), asks, answers], loss_of, 120, rate=0.003)
    return Run(losses, weights, [*"bdef"], [*"bdef"])


@_of("4.5")
def _(weigh: Callable) -> Run:
    """Up to six letters have colours, and padding fills the rest: which has the first letter?"""
    letters, colours, places, d = 8, 8, 6, 8
    asks, answers = nn.Embedding(letters, d), nn.Embedding(letters, d)
    holds, names = nn.Embedding(colours, d), nn.Linear(d, colours)

    def weights(asked: Tensor, letter: Tensor, lengths: Tensor) -> Tensor:
        return weigh(-torch.cdist(asks(asked), answers(letter)), lengths)

    def loss_of() -> Tensor:
        lengths = torch.randint(1, places + 1, (32,))
        real = torch.arange(places) < lengths[:, None]
        letter = torch.rand(32, letters).argsort(dim=-1)[:, :places] * real
        colour = torch.randint(colours, (32, places)) * real
        output = weights(letter[:, :1], letter, lengths) @ holds(colour)
        return F.cross_entropy(names(output)[:, 0], colour[:, 0])

    modules = nn.ModuleList([asks, answers, holds, names])
    losses = _descend([*modules.parameters()], loss_of, 150)
    with torch.no_grad():
        letter = torch.tensor([[1, 4, 6, 0, 0, 0]])
        shown = weights(letter[:, :3], letter, torch.tensor([3]))[0]
    return Run(losses, shown, [*"beg"], [*"beg–––"])


@_of("5.4")
def _(look_back: Callable) -> Run:
    """Which letter comes next? It is one of two, so that log 2 is the least possible loss."""
    letters, length, d = 8, 5, 16
    embed = TokenEmbedding(letters, d, positions=LearnedPositions(length, d))
    asks, answers, holds = (nn.Linear(d, d, bias=False) for _ in range(3))
    names = nn.Linear(d, letters)

    def mixed(text: Tensor, value: Tensor | None = None) -> tuple[Tensor, Tensor]:
        x = embed(text)
        return x, look_back(asks(x), answers(x), holds(x) if value is None else value)

    def loss_of() -> Tensor:
        steps = torch.randint(1, 3, (32, length + 1))
        text = (torch.randint(letters, (32, 1)) + steps.cumsum(dim=-1)) % letters
        x, update = mixed(text[:, :-1])
        return F.cross_entropy(names(x + update).flatten(0, 1), text[:, 1:].flatten())

    modules = nn.ModuleList([embed, asks, answers, holds, names])
    losses = _descend([*modules.parameters()], loss_of, 150)
    with torch.no_grad():
        _, weights = mixed(torch.tensor([[0, 1, 3, 4, 6]]), torch.eye(length)[None])
    return Run(losses, weights[0], [*"abdeg"], [*"abdeg"])


@_of("6.5")
def _(with_positions: Callable) -> Run:
    """Which letter stands before each? One of the two before it in the ring a, b, c, d."""
    letters, length, d = 4, 6, 16
    embedding, names = nn.Embedding(letters, d), nn.Linear(d, letters)
    nn.init.normal_(embedding.weight, std=d**-0.5)
    layer = MultiHeadAttention(d_model=d, num_heads=1, bias=False)

    def answers(text: Tensor) -> tuple[Tensor, Tensor]:
        x = with_positions(embedding(text))
        update, weights = layer(x, need_weights=True)
        return names(x + update), weights

    def loss_of() -> Tensor:
        steps = torch.randint(1, 3, (32, length))
        text = (torch.randint(letters, (32, 1)) + steps.cumsum(dim=-1)) % letters
        return F.cross_entropy(answers(text)[0][:, 1:].mT, text[:, :-1])

    losses = _descend(
        [*embedding.parameters(), *names.parameters(), *layer.parameters()], loss_of, 150
    )
    with torch.no_grad():
        _, weights = answers(torch.arange(3).repeat(1, 2))
    return Run(losses, weights[0, 0], [*"abcabc"], [*"abcabc"])


@_of("7.5")
def _(causal_heads: Callable) -> Run:
    """Three letters drawn at random, then the same three again: which letter comes next?"""
    letters, length, d = 8, 6, 16
    embed = TokenEmbedding(letters, d, positions=LearnedPositions(length, d))
    projections, joined = nn.Linear(d, 3 * d), nn.Linear(d, d)
    names = nn.Linear(d, letters)

    def loss_of() -> Tensor:
        once = torch.randint(letters, (32, 3))
        text = torch.cat([once, once, once[:, :1]], dim=1)
        x = embed(text[:, :-1])
        heads = causal_heads(*projections(x).chunk(3, dim=-1), 2)
        return F.cross_entropy(names(x + joined(heads)).mT, text[:, 1:])

    modules = nn.ModuleList([embed, projections, joined, names])
    losses = _descend([*modules.parameters()], loss_of, 200)
    with torch.no_grad():  # one text for each letter whose values alone are 1
        x = embed(torch.arange(3).repeat(length, 2))
        query, key, _ = projections(x).chunk(3, dim=-1)
        marked = torch.eye(length)[..., None].expand_as(query)
        share = causal_heads(query, key, marked, 2).mean(dim=-1).T  # (row, letter)
    return Run(losses, share, [*"abcabc"], [*"abcabc"])


@_of("8.5")
def _(pre_norm_block: Callable) -> Run:
    """The last digit of the sum of each digit and the one before it, by three blocks."""
    digits, length, d, layers = 10, 6, 24, 3
    embed = TokenEmbedding(digits, d, positions=LearnedPositions(length, d))
    attends = [MultiHeadAttention(d_model=d, num_heads=1) for _ in range(layers)]
    feeds = [FeedForward(d_model=d, d_ff=48) for _ in range(layers)]
    names = nn.Linear(d, digits)

    def norm(x: Tensor) -> Tensor:
        return F.layer_norm(x, x.shape[-1:])

    def loss_of() -> Tensor:
        text = torch.randint(digits, (32, length))
        x = embed(text)
        for attend, feed in zip(attends, feeds, strict=True):
            x = pre_norm_block(x, lambda x, attend=attend: attend(x, causal=True)[0], feed, norm)
        sums = (text[:, 1:] + text[:, :-1]) % digits
        return F.cross_entropy(names(norm(x))[:, 1:].mT, sums)

    modules = nn.ModuleList([embed, *attends, *feeds, names])
    losses = _descend([*modules.parameters()], loss_of, 160)
    marks = torch.eye(1 + layers)[:, None, None]  # of the embedding, and of each block's updates
    streams = [marks[0]]
    for mark in marks[1:]:

        def half(x: Tensor, mark: Tensor = mark) -> Tensor:  # two updates make one mark
            return mark / 2

        streams.append(pre_norm_block(streams[-1], half, half, lambda x: x))
    contents = torch.cat(streams[1:])[:, 0]
    return Run(losses, contents, ["after 1", "after 2", "after 3"], ["start", "1", "2", "3"])


@_of("9.5")
def _(translation_loss: Callable) -> Run:
    """Numbers below 1000 in French: how likely is each token of 313, after the tokens before it?"""
    numbers = NumberDataset(below=1000)
    sizes = {"source_size": len(numbers.source), "target_size": len(numbers.target)}
    sizes |= {"d_model": 32, "num_heads": 4, "num_layers": 1, "d_ff": 64}
    model = Transformer(**sizes, dropout=0.0)

    def score(drawn: list[int]) -> tuple[Tensor, Tensor]:
        sources, targets = (
            [torch.tensor(tokens) for tokens in side]
            for side in zip(*map(numbers.pair, drawn), strict=True)
        )
        source, target = (pad_sequence(side, batch_first=True) for side in (sources, targets))
        reads = F.pad(target, (1, 0), value=START)
        return model(source, reads, [*map(len, sources)])[0], target

    def loss_of() -> Tensor:
        return translation_loss(*score(torch.randint(1000, (24,)).tolist()))

    losses = _descend([*model.parameters()], loss_of, 80)
    with torch.no_grad():
        scores, target = score([313])
    tokens = target[0].tolist()
    words = numbers.target.vocabulary.decode(tokens)
    chances = scores[0].softmax(dim=-1)[:, [*tokens, END]]
    return Run(losses, chances, ["START", *words], [*words, "END"])


@_of("10.5")
def _(in_blocks: Callable) -> Run:
    """Letters have colours. The softmax of a model that knows them all is computed in blocks."""
    letters, d = 8, 16
    asks, answers = nn.Embedding(letters, d), nn.Embedding(letters, d)
    holds, names = nn.Embedding(letters, d), nn.Linear(d, letters)
    modules = nn.ModuleList([asks, answers, holds, names])

    def loss_of(known: int = letters, block: int = letters, batch: int = 32) -> Tensor:
        colour = torch.rand(batch, letters).argsort(dim=-1)[:, :known]
        asked = torch.randint(known, (batch, 1))
        scores = asks(asked) @ answers.weight[:known].T
        if block == letters:
            mixed = scores.softmax(dim=-1) @ holds(colour)
        else:
            mixed = in_blocks(scores, holds(colour), block)
        return F.cross_entropy(names(mixed)[:, 0], colour.gather(1, asked)[:, 0])

    _descend([*modules.parameters()], loss_of, 150)
    with torch.no_grad():
        losses = [loss_of(known, 2, 500).item() for known in range(1, letters + 1)]
        scores = asks(torch.tensor([1, 4, 7])) @ answers.weight.T
        weights = in_blocks(scores, torch.eye(letters), 2)
    return Run(losses, weights, [*"beh"], [*"abcdefgh"], against="letters in the dictionary")


@_of("11.5")
def _(top_p: Callable) -> Run:
    """Letters follow each other in the alphabet. How likely are those that top-p lets through?"""
    letters, length = 8, 12
    sizes = {"d_model": 16, "num_heads": 2, "num_layers": 1, "d_ff": 32}
    model = LanguageModel(vocabulary_size=letters, **sizes)

    def texts() -> Tensor:  # one, two or three letters further each time
        chances = torch.tensor([0.0, 0.6, 0.25, 0.15]).expand(32, -1)
        steps = chances.multinomial(length, replacement=True)
        return (torch.randint(letters, (32, 1)) + steps.cumsum(dim=-1)) % letters

    def loss_of() -> Tensor:
        text = texts()
        return F.cross_entropy(model(text[:, :-1])[0].mT, text[:, 1:])

    _descend([*model.parameters()], loss_of, 100)
    with torch.no_grad():
        logits = model(texts())[0].flatten(0, 1)
        nats = -logits.log_softmax(dim=-1)
        losses = [(top_p(logits, n / 10) * nats).sum(dim=-1).mean().item() for n in range(1, 11)]
        after = model(torch.tensor([[0], [2], [4]]))[0][:, -1]
        return Run(losses, top_p(after, 0.8), [*"ace"], [*"abcdefgh"], against="p, in tenths")


@_of("13.4")
def _(loss_of_hidden: Callable) -> Run:
    """Three letters at equal distances, such as ace: which letter is hidden?"""
    names, d, mask = "abcdefg?", 16, 7
    sizes = {"vocabulary_size": len(names), "max_length": 3, "d_model": d, "d_ff": 2 * d}
    encoder = Encoder(**sizes, num_heads=2, num_layers=1, dropout=0.0)
    guesses = nn.Linear(d, len(names))

    def scores_of(texts: Tensor) -> Tensor:
        return guesses(encoder(texts)[0])

    def loss_of() -> Tensor:
        first, distance = torch.randint(3, (32, 1)), torch.randint(1, 3, (32, 1))
        chosen = torch.rand(32, 3).argsort(dim=-1) == 0  # one letter, and sometimes others
        chosen |= torch.rand(32, 3) < 0.3
        return loss_of_hidden(first + distance * torch.arange(3), chosen, mask, scores_of)

    losses = _descend([*encoder.parameters(), *guesses.parameters()], loss_of, 120)
    texts = ["a?c", "a?e", "?df", "cd?"]
    tokens = torch.tensor([[*map(names.index, text)] for text in texts])
    with torch.no_grad():
        chances = scores_of(tokens).softmax(dim=-1)[tokens == mask]
    return Run(losses, chances, texts, [*names])
