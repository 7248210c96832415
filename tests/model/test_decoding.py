"""Greedy and beam search, on translators and on a chain small enough to list every target."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch import nn

from attnbook.decoding import Decoder, beam_search, greedy_search
from attnbook.seq2seq import Seq2Seq
from attnbook.transformer import Transformer
from model.tensors import draw_tokens, randomise, seeds

START, END = 0, 1
SYMBOLS = {"start_token": START, "end_token": END}


class Chain(nn.Module):
    """The next token depends on the source and on the token before, by a table of scores."""

    def __init__(self, seed, sources=3, size=4):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.table = torch.randn(sources, size, size, generator=generator, dtype=torch.float64)

    def prefill(self, source, source_lengths=None, *, max_length):
        return State(self.table[source[:, 0]])

    def decode_step(self, tokens, state):
        return state.tables[torch.arange(len(tokens)), tokens]


class State:
    def __init__(self, tables):
        self.tables = tables

    def repeat(self, times):
        self.tables = self.tables.repeat_interleave(times, dim=0)

    def reorder(self, rows):
        assert torch.equal(self.tables, self.tables[rows])  # same source
        self.tables = self.tables[rows]


def score(table, tokens, length_penalty):
    """The score of a target that ends, by the formula."""
    log_probs = table.log_softmax(dim=-1)
    path = [START, *tokens, END]
    total = sum(log_probs[a, b].item() for a, b in itertools.pairwise(path))
    return total / ((5 + len(tokens) + 1) / 6) ** length_penalty


def every_target(size, max_length):
    others = [token for token in range(size) if token != END]
    for length in range(max_length):
        yield from itertools.product(others, repeat=length)


@settings(max_examples=25, deadline=None)
@given(seeds, st.integers(1, 4), st.sampled_from([0.0, 0.6, 1.0, 2.0]))
def test_a_beam_that_holds_every_target_finds_the_best(seed, max_length, length_penalty):
    chain = Chain(seed)
    source = torch.tensor([[0], [1], [2]])
    found = beam_search(
        chain,
        source,
        max_length=max_length,
        beam_size=150,
        length_penalty=length_penalty,
        **SYMBOLS,
    )
    for table, tokens in zip(chain.table, found, strict=True):
        best = max(score(table, t, length_penalty) for t in every_target(4, max_length))
        assert score(table, tokens, length_penalty) == pytest.approx(best)


def test_greedy_can_miss_what_a_beam_of_two_finds():
    chain = Chain(0, sources=1, size=4)
    chain.table[0] = torch.tensor(
        [
            [0.0, 0.0, 0.55, 0.45],  # after start: 2 a little likelier than 3
            [1.0, 1.0, 1.0, 1.0],
            [0.0, 0.4, 0.3, 0.3],  # after 2: anything
            [0.0, 0.9, 0.05, 0.05],  # after 3: almost surely the end
        ]
    ).log()
    source = torch.zeros(1, 1, dtype=torch.int64)
    options = {"max_length": 3, **SYMBOLS}
    assert greedy_search(chain, source, **options) == [[2]]
    found = beam_search(chain, source, beam_size=2, length_penalty=0.0, **options)
    assert found == [[3]]  # 0.45 · 0.9 against 0.55 · 0.4


@pytest.mark.parametrize("beam_size", [2, 5])
def test_unlikely_targets_that_end_early_do_not_crowd_out_the_likely_one(beam_size):
    chain = Chain(0, sources=1, size=7)
    table = torch.full((7, 7), 0.001)
    for now, following in itertools.pairwise([START, 2, 3, 4, 5, 6, END]):
        table[now, END], table[now, following] = 0.02, 0.975
    chain.table[0] = table.log()
    source = torch.zeros(1, 1, dtype=torch.int64)
    found = beam_search(chain, source, max_length=9, beam_size=beam_size, **SYMBOLS)
    assert found == [[2, 3, 4, 5, 6]]


def test_a_length_penalty_favours_longer_targets():
    chain = Chain(0, sources=1, size=3)
    chain.table[0] = torch.tensor([[0.0, 0.3, 0.7], [1.0, 1.0, 1.0], [0.0, 0.3, 0.7]]).log()
    source = torch.zeros(1, 1, dtype=torch.int64)
    lengths = []
    for penalty in (0.0, 1.0, 3.0):
        found = beam_search(
            chain, source, beam_size=8, max_length=4, length_penalty=penalty, **SYMBOLS
        )
        lengths.append(len(found[0]))
    assert lengths == [0, 0, 3]


def test_a_target_that_never_ends_is_cut_off():
    chain = Chain(0, sources=1, size=3)
    chain.table[0, :, END] = -math.inf
    source = torch.zeros(1, 1, dtype=torch.int64)
    options = {"max_length": 5, **SYMBOLS}
    found = beam_search(chain, source, beam_size=3, **options)
    assert len(found[0]) == 5 and END not in found[0]
    assert len(greedy_search(chain, source, **options)[0]) == 5


def models():
    torch.manual_seed(0)
    transformer = Transformer(
        source_size=11, target_size=9, d_model=12, num_heads=3, num_layers=2, d_ff=20, dropout=0.5
    )
    yield randomise(transformer.double())
    for energy in (None, "additive"):
        model = Seq2Seq(source_size=11, target_size=9, d_model=8, energy=energy)
        yield randomise(model.double())


MODELS = pytest.mark.parametrize("model", list(models()), ids=["transformer", "fixed", "attentive"])


@MODELS
@settings(max_examples=6, deadline=None)
@given(seed=seeds, max_length=st.integers(1, 8))
def test_a_beam_of_one_is_greedy_and_both_equal_uncached_decoding(model, seed, max_length):
    source = draw_tokens(seed, (4, 5), 11)
    lengths = torch.tensor([5, 1, 3, 4])
    options = {"max_length": max_length, "start_token": 1, "end_token": 2}
    greedy = greedy_search(model, source, lengths, **options)
    beam = beam_search(model, source, lengths, beam_size=1, **options)
    assert greedy == beam
    model.eval()
    for b in range(4):
        target = [1]
        while len(target) <= max_length:
            logits, _ = model(source[b : b + 1, : lengths[b]], torch.tensor([target]))
            target.append(logits[0, -1].argmax().item())
            if target[-1] == 2:
                target.pop()
                break
        assert greedy[b] == target[1:]


@MODELS
@settings(max_examples=5, deadline=None)
@given(seed=seeds)
def test_a_beam_does_not_depend_on_batch_mates(model, seed):
    source = draw_tokens(seed, (4, 5), 11)
    lengths = torch.tensor([5, 1, 3, 4])
    options = {"max_length": 8, "start_token": 1, "end_token": 2, "beam_size": 3}
    together = beam_search(model, source, lengths, **options)
    for b in range(4):
        alone = beam_search(model, source[b : b + 1, : lengths[b]], **options)
        assert together[b] == alone[0]


@MODELS
def test_searching_switches_dropout_off_and_leaves_the_model_as_it_was(model):
    source = draw_tokens(0, (2, 5), 11)
    options = {"max_length": 9, "start_token": 1, "end_token": 2}
    for search in (greedy_search, beam_search):
        expected = search(model.eval(), source, **options)
        part = next(model.train().children()).eval()  # as one may freeze a part
        assert search(model, source, **options) == expected
        frozen = set(part.modules())
        assert all(m.training == (m not in frozen) for m in model.modules())
    with pytest.raises(IndexError):
        greedy_search(model, source + 100, **options)
    assert model.training and not part.training


def test_no_sources_give_no_targets():
    model = next(models())
    source = torch.zeros(0, 4, dtype=torch.int64)
    options = {"max_length": 5, "start_token": 1, "end_token": 2}
    assert greedy_search(model, source, **options) == []
    assert beam_search(model, source, **options) == []


@pytest.mark.parametrize("search", [greedy_search, beam_search])
def test_impossible_sizes_raise_an_error_that_names_them(search):
    source = torch.zeros(1, 1, dtype=torch.int64)
    with pytest.raises(ValueError, match="max_length must be at least 1: got 0"):
        search(Chain(0), source, max_length=0, **SYMBOLS)
    with pytest.raises(ValueError, match="beam_size must be at least 1: got 0"):
        beam_search(Chain(0), source, max_length=3, beam_size=0, **SYMBOLS)


class OnlyTwoSentences(Chain):
    """Rules out everything but ``3 4 end`` and ``3 5 end``, and all after an impossible start."""

    def __init__(self):
        super().__init__(0, sources=1, size=6)
        table = torch.zeros(6, 6, dtype=torch.float64)
        table[START, 3] = table[4, END] = table[5, END] = 1.0
        table[3, 4], table[3, 5] = 0.6, 0.4
        self.table[0] = table.log()


@pytest.mark.parametrize("beam_size", [2, 9])
def test_what_the_model_rules_out_is_never_written(beam_size):
    source = torch.zeros(1, 1, dtype=torch.int64)
    options = {"max_length": 5, **SYMBOLS}
    model = OnlyTwoSentences()
    assert beam_search(model, source, beam_size=beam_size, **options) == [[3, 4]]


def test_a_decoder_has_parts_whose_dropout_can_be_switched_off():
    class Parrot:
        prefill = decode_step = lambda self, *inputs, **options: None

    assert isinstance(Chain(0), Decoder) and not isinstance(Parrot(), Decoder)
