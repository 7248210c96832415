"""Masks and the two paths of attention()."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings, strategies as st

from attnbook.attention import (
    additive_scores,
    attention,
    causal_mask,
    dot_scores,
    general_scores,
    linear_attention,
    masked_softmax,
    padding_mask,
)
from model.tensors import DEVICES, DTYPES, TOLERANCE, attention_inputs, draw, seeds


def by_loops(query, key, value, mask):
    """Output and weights as one would calculate them on paper, one query at a time."""
    batch = torch.broadcast_shapes(*(x.shape[:-2] for x in (query, key, value)))
    query, key, value = (x.expand(*batch, -1, -1) for x in (query, key, value))
    weights = torch.zeros(*batch, query.shape[-2], key.shape[-2], dtype=value.dtype)
    output = torch.zeros(*batch, query.shape[-2], value.shape[-1], dtype=value.dtype)
    mask = mask.expand(weights.shape)
    for *b, i in itertools.product(*map(range, weights.shape[:-1])):
        allowed = mask[*b, i].nonzero().flatten().tolist()
        scores = [query[*b, i].dot(key[*b, j]) / math.sqrt(query.shape[-1]) for j in allowed]
        exponentials = [math.exp(score) for score in scores]
        for j, e in zip(allowed, exponentials, strict=True):
            weights[*b, i, j] = e / sum(exponentials)
            output[*b, i] += e / sum(exponentials) * value[*b, j]
    return output, weights


@settings(max_examples=30, deadline=None)
@given(attention_inputs(), seeds, st.booleans(), st.sampled_from(["none", "one", "per example"]))
def test_both_paths_equal_the_calculation_on_paper(case, seed, causal, masks):
    n, m = case[0].shape[-2], case[1].shape[-2]
    if causal:  # as many queries as keys
        n = m = min(n, m)
    query, key, value = case[0][..., :n, :], case[1][..., :m, :], case[2][..., :m, :]
    mask = None
    if masks != "none":  # any row may be empty
        (noise,) = draw(seed, (n, m) if masks == "one" else (len(query), 1, n, m))
        mask = noise > 0
    allowed = torch.ones(n, m).bool().tril() if causal else torch.ones(n, m).bool()
    expected, expected_weights = by_loops(
        query, key, value, allowed if mask is None else allowed & mask
    )
    output, weights = attention(query, key, value, mask, causal=causal, need_weights=True)
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(weights, expected_weights)
    output, weights = attention(query, key, value, mask, causal=causal)
    torch.testing.assert_close(output, expected)
    assert weights is None


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize(
    "shapes",
    [
        ((5, 4), (2, 3, 6, 4), (2, 1, 6, 7), (5, 6)),
        ((2, 3, 5, 4), (6, 4), (6, 4), (2, 3, 5, 6)),
        ((5, 4), (2, 3, 6, 4), (2, 3, 6, 4), (2, 3, 5, 6)),
        ((3, 4), (3, 4), (5, 3, 4), (5, 3, 3)),
        ((2, 2, 5, 4), (2, 2, 6, 4), (2, 2, 6, 4), (6,)),
    ],
)
def test_axes_in_front_may_be_missing_or_broadcast(shapes):
    query, key, value, noise = draw(0, *shapes)
    expected, _ = by_loops(query, key, value, noise > 0)
    for need_weights in (True, False):
        output, _ = attention(query, key, value, noise > 0, need_weights=need_weights)
        torch.testing.assert_close(output, expected)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("need_weights", [False, True])
def test_a_query_that_may_attend_to_nothing_gets_zeros_and_finite_gradients(
    device, dtype, need_weights
):
    exact = draw(0, *[(2, 3, 16, 8)] * 3)
    query, key, value = (x.to(device, dtype, copy=True).requires_grad_() for x in exact)
    mask = torch.ones(16, 16, dtype=torch.bool)
    mask[1] = False
    with torch.autograd.detect_anomaly(check_nan=True):
        output, weights = attention(
            query, key, value, mask.to(device), causal=True, need_weights=need_weights
        )
        output.sum().backward()
    assert output.dtype == dtype and output.device.type == device
    tolerance = TOLERANCE[dtype]
    expected, _ = by_loops(*exact, mask & causal_mask(16))
    torch.testing.assert_close(output.cpu().double(), expected, rtol=tolerance, atol=tolerance)
    assert (output[..., 1, :] == 0).all()
    if need_weights:
        assert (weights[..., 1, :] == 0).all()
    assert all(tensor.grad.isfinite().all() for tensor in (query, key, value))
    assert (query.grad[..., 1, :] == 0).all()


@pytest.mark.parametrize("need_weights", [False, True])
def test_attention_has_the_right_gradients(need_weights):
    tensors = [t.requires_grad_() for t in draw(0, (2, 1, 3, 4), (2, 1, 5, 4), (2, 1, 5, 2))]
    mask = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 0, 1], [0, 0, 0, 0, 0]]).bool()

    def function(*tensors):
        return attention(*tensors, mask, need_weights=need_weights)[0]

    assert torch.autograd.gradcheck(function, tensors)


def test_masks_of_padded_examples():
    mask = causal_mask(3) & padding_mask(torch.tensor([3, 2, 0]), 3)
    assert mask.int().tolist() == [
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
        [[1, 0, 0], [1, 1, 0], [1, 1, 0]],
        [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
    ]
    assert padding_mask(torch.zeros(0, dtype=torch.int64), 4).shape == (0, 1, 4)
    assert padding_mask([], 0).shape == (0, 1, 0)


@pytest.mark.parametrize("need_weights", [False, True])
def test_large_inputs_stay_finite(need_weights):
    query = torch.full((1, 1, 2, 4), 1e4)
    output, _ = attention(query, query, query, need_weights=need_weights)
    torch.testing.assert_close(output, query)
    query, key, value = (100 * x for x in draw(0, *[(2, 2, 3, 64)] * 3))
    output, _ = attention(query.half(), key.half(), value.half(), need_weights=need_weights)
    assert output.isfinite().all()


def test_dropout_drops_weights_and_keeps_their_expectation():
    query, key, value = draw(0, (1, 1, 50, 4), (1, 1, 200, 4), (1, 1, 200, 3))
    torch.manual_seed(0)
    exact, kept = attention(query, key, value, need_weights=True)
    output, weights = attention(query, key, value, dropout=0.25, need_weights=True)
    torch.testing.assert_close(weights @ value, output)
    dropped = weights == 0
    assert abs(dropped.double().mean() - 0.25) < 0.02
    torch.testing.assert_close(weights[~dropped], kept[~dropped] / 0.75)
    runs = torch.stack([attention(query, key, value, dropout=0.25)[0] for _ in range(200)])
    assert (runs.mean(dim=0) - exact).abs().max() < 0.08
    assert (runs[0] - exact).abs().max() > 0.01
    for need_weights in (True, False):
        output, _ = attention(query, key, value, dropout=1.0, need_weights=need_weights)
        assert (output == 0).all()


A, B, SIX = torch.zeros(2, 3, 4), torch.zeros(2, 5, 4), torch.zeros(2, 5, 6)
SEVEN = torch.zeros(2, 7, 4)


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: attention(A, SIX, B), ValueError, "4 and 6"),
        (lambda: attention(A, B, SEVEN), ValueError, "5 keys and 7 values"),
        (lambda: attention(A, B, B, causal=True), ValueError, "3 queries and 5 keys"),
        (lambda: attention(A, B, B, dropout=1.5), ValueError, "1.5"),
        (lambda: attention(A, B, B, dropout=-0.5), ValueError, "-0.5"),
        (lambda: attention(A, B[:1].expand(3, 5, 4), B), ValueError, "fit together"),
        (lambda: attention(A, B, B, torch.zeros(3, 5)), TypeError, "float32"),
        (lambda: attention(A, B, B, A[0].bool()), ValueError, r"\(3, 4\).*\(2, 3, 5\)"),
        (lambda: attention(A[0], B[0], B[0], SEVEN[:1, :3, :1].bool()), ValueError, r"\(3, 5\)"),
        (lambda: masked_softmax(A, torch.ones(3, 4)), TypeError, "float32"),
        (lambda: masked_softmax(A, torch.ones(2, 2).bool()), ValueError, r"\(2, 2\)"),
        (lambda: dot_scores(A, SIX), ValueError, "4 and 6"),
        (lambda: general_scores(A, B, A[0]), ValueError, r"\(4, 4\).*\(3, 4\)"),
        (
            lambda: additive_scores(A, B, SEVEN[0].mT, SIX[0], torch.zeros(7)),
            ValueError,
            r"key_weight.*\(4, 7\).*\(5, 6\)",
        ),
        (
            lambda: additive_scores(A, B, torch.zeros(5, 7), SEVEN[0].mT, torch.zeros(7)),
            ValueError,
            r"query_weight.*\(4, 7\).*\(5, 7\)",
        ),
        (lambda: linear_attention(A, SIX, B), ValueError, "4 and 6"),
        (lambda: linear_attention(A, B, SEVEN), ValueError, "5 keys and 7"),
        (
            lambda: linear_attention(A, B[:1].expand(3, 5, 4), B),
            ValueError,
            r"got \(2,\), \(3,\), \(2,\)",
        ),
        (lambda: padding_mask([2, 5], 4), ValueError, "max_length=4.*2 to 5"),
        (lambda: padding_mask([-1, 3], 3), ValueError, "-1 to 3"),
    ],
)
def test_wrong_sizes_raise_an_error_that_names_them(call, error, says):
    with pytest.raises(error, match=says):
        call()
