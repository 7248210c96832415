"""Sinusoidal, learned and rotary positions, and the embedding that adds them to words."""

import math

import pytest
import torch
from hypothesis import given, settings, strategies as st

from attnbook.positions import (
    STRETCHES,
    LearnedPositions,
    SinusoidalPositions,
    TokenEmbedding,
    frequencies,
    rotary,
    shift_matrix,
    sinusoidal_positions,
    stretched_frequencies,
)
from model.tensors import DEVICES, DTYPES, draw

dimensions = st.integers(1, 24)
even_dimensions = dimensions.map(lambda n: 2 * n)
positions = st.integers(0, 10_000)


@settings(max_examples=50, deadline=None)
@given(positions, st.integers(0, 4), dimensions)
def test_every_feature_equals_the_papers_formula(start, length, d_model):
    table = sinusoidal_positions(length, d_model, start=start, dtype=torch.float64)
    assert table.shape == (length, d_model)
    for row in range(length):
        for feature in range(d_model):
            i, is_cosine = divmod(feature, 2)
            angle = (start + row) / 10000 ** (2 * i / d_model)
            expected = math.cos(angle) if is_cosine else math.sin(angle)
            assert table[row, feature].item() == pytest.approx(expected, abs=1e-11)


def test_positions_are_rounded_only_at_the_end():
    exact = sinusoidal_positions(3, 64, start=100_000, dtype=torch.float64)
    single = sinusoidal_positions(3, 64, start=100_000)
    assert single.dtype == torch.float32
    assert (single - exact).abs().max() < 6e-8


@settings(max_examples=50, deadline=None)
@given(st.integers(-2000, 2000), positions, even_dimensions)
def test_one_matrix_shifts_every_position(offset, start, d_model):
    start += 2000  # positions before the first would be negative
    here = sinusoidal_positions(3, d_model, start=start, dtype=torch.float64)
    there = sinusoidal_positions(3, d_model, start=start + offset, dtype=torch.float64)
    matrix = shift_matrix(offset, d_model)
    torch.testing.assert_close(here @ matrix.mT, there, rtol=0, atol=5e-11)
    torch.testing.assert_close(matrix @ matrix.mT, torch.eye(d_model, dtype=torch.float64))


def stretched(method, factor, d_features=16, trained_length=32):
    return stretched_frequencies(d_features, factor, method=method, trained_length=trained_length)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 64), st.floats(1, 64), st.integers(1, 100_000))
def test_stretched_positions_slow_the_slowest_pair_by_the_factor(pairs, factor, trained_length):
    trained = frequencies(2 * pairs)
    for method in STRETCHES:
        slowed = stretched(method, factor, 2 * pairs, trained_length)
        turns = trained * trained_length / (2 * math.pi)
        by = trained / slowed  # how many times slower
        if method == "as trained":
            assert torch.equal(slowed, trained)
        elif method == "interpolation":
            assert torch.allclose(by, torch.tensor(factor).double())
        elif method == "a larger base":
            even = factor ** (torch.arange(pairs).double() / (pairs - 1))  # from 1 to the factor
            assert torch.allclose(by, even)
        else:
            assert torch.allclose(by, torch.where(turns < 1, factor, 1.0).double())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"method": "yarn"}, "method must be one of .* got 'yarn'"),
        ({"method": "by parts", "factor": 0.5}, "factor must be at least 1: got 0.5"),
        ({"method": "by parts", "trained_length": 0}, "trained_length must be at least 1: got 0"),
        ({"method": "a larger base", "d_features": 2}, "two pairs of features: got d_features=2"),
    ],
)
def test_positions_that_cannot_be_stretched_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        stretched(**{"factor": 2.0, **changed})


@pytest.mark.parametrize("start", [0, 2, 9000])
def test_rotation_turns_a_vector_by_the_angle_of_its_position(start):
    x = draw(0, (2, 3, 5, 6))[0]
    rotated = rotary(x, start=start)
    for row in range(5):
        turn = shift_matrix(start + row, 6).mT  # the other way round
        torch.testing.assert_close(rotated[..., row, :], x[..., row, :] @ turn.mT)


def test_the_module_gives_any_length_from_any_start():
    module = SinusoidalPositions(6).double()
    for length, start in ((3, 0), (2, 254), (256, 0), (1, 256), (700, 300)):
        expected = sinusoidal_positions(length, 6, start=start, dtype=torch.float64)
        assert torch.equal(module(expected, start), expected)
    assert torch.equal(module(expected), module(expected, 0))
    assert not list(module.parameters()) and not module.state_dict()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_embedding_rounds_exact_positions_to_its_own_dtype(device, dtype):
    embedding = TokenEmbedding(5, 6, positions=SinusoidalPositions(6))
    with torch.no_grad():
        embedding.token.weight.zero_()
    embedding = embedding.bfloat16().to(device, dtype)  # rounds no position
    x = embedding(torch.zeros(1, 3, dtype=torch.int64, device=device), 7)
    expected = sinusoidal_positions(3, 6, start=7, dtype=dtype)
    assert torch.equal(x.cpu(), expected.unsqueeze(0))


def test_learned_positions_are_rows_of_a_table_that_ends():
    module = LearnedPositions(10, 4)
    assert [p.shape for p in module.parameters()] == [(10, 4)]
    assert torch.equal(module(torch.zeros(2, 3, 4), 2), module.table[2:5])
    assert torch.equal(module(torch.zeros(10, 4)), module.table)
    large = LearnedPositions(100, 40).table
    assert large.std().item() == pytest.approx(0.5**0.5, rel=0.1)
    with pytest.raises(ValueError, match=r"max_length=10 learned.*: got 3 positions from 8"):
        module(torch.zeros(3, 4), 8)
    for start in (-5, -1):
        says = rf"counted from 0: got 2 positions from {start}"
        with pytest.raises(ValueError, match=says):
            module(torch.zeros(2, 4), start)


def test_an_embedding_is_word_plus_position():
    torch.manual_seed(0)
    embedding = TokenEmbedding(2000, 64, positions=SinusoidalPositions(64), dropout=0.5).eval()
    tokens = torch.arange(2000).view(2, 1000)
    words = embedding.token.weight[tokens] * 8
    assert words.std().item() == pytest.approx(1, rel=0.02)  # as large as positions
    for start in (0, 5):
        table = sinusoidal_positions(1000, 64, start=start)
        torch.testing.assert_close(embedding(tokens, start=start), words + table)
    embedding.positions = None
    torch.testing.assert_close(embedding(tokens, start=7), words)


def test_dropout_follows_the_sum_of_word_and_position():
    torch.manual_seed(0)
    positions = LearnedPositions(40, 50)
    embedding = TokenEmbedding(9, 50, positions=positions, dropout=0.25)
    tokens = torch.full((3, 40), 4)
    dropped = embedding(tokens)
    zeros = dropped == 0
    assert abs(zeros.double().mean() - 0.25) < 0.02
    kept = embedding.eval()(tokens)
    torch.testing.assert_close(dropped[~zeros], kept[~zeros] / 0.75)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: frequencies(0), "d_features must be at least 1: got 0"),
        (lambda: sinusoidal_positions(-1, 4), "negative: got -1"),
        (lambda: shift_matrix(1, 5), "d_model must be even.*got 5"),
        (lambda: rotary(torch.zeros(2, 3)), "must be even.*got 3"),
        (lambda: SinusoidalPositions(0), "d_model must be.*got 0"),
        (lambda: SinusoidalPositions(4)(torch.zeros(3, 4), -1), "cannot be negative: got -1"),
        (lambda: LearnedPositions(0, 4), "max_length must be.*got 0"),
        (lambda: LearnedPositions(4, 0), "d_model must be.*got 0"),
    ],
)
def test_wrong_sizes_raise_an_error_that_names_them(call, says):
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rotating_in_half_precision_rounds_once(dtype):
    (x,) = draw(0, (64, 64))
    rounded = x.to(dtype)
    assert torch.equal(rotary(rounded), rotary(rounded.float()).to(dtype))


def test_positions_are_made_where_they_are_needed():
    assert sinusoidal_positions(3, 4, device="meta").device.type == "meta"
    assert SinusoidalPositions(4)(torch.empty(2, 3, 4, device="meta")).device.type == "meta"
    assert rotary(torch.empty(3, 4, device="meta")).device.type == "meta"
