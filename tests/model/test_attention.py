"""Masks and the two paths of attention()."""

import math

import pytest
import torch
import torch.nn.functional as F
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
    scaled_dot_scores,
)
from model.tensors import DEVICES, DTYPES, TOLERANCE, attention_inputs, draw, seeds


@st.composite
def masked_inputs(draw_size):
    """The same with a mask, of which any row may be empty."""
    query, key, value = draw_size(attention_inputs())
    n, m = query.shape[-2], key.shape[-2]
    bits = draw_size(st.lists(st.booleans(), min_size=n * m, max_size=n * m))
    return query, key, value, torch.tensor(bits).view(n, m)


def by_loops(query, key, value, mask=None):
    """Attention as one would do it on paper, one query at a time."""
    output = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=value.dtype)
    for b, h, i in torch.cartesian_prod(*map(torch.arange, query.shape[:-1])).view(-1, 3):
        allowed = [j for j in range(key.shape[-2]) if mask is None or mask[i, j].item()]
        if not allowed:
            continue
        scores = [
            sum(x * y for x, y in zip(query[b, h, i], key[b, h, j], strict=True))
            / math.sqrt(query.shape[-1])
            for j in allowed
        ]
        exponentials = [math.exp(s - max(scores)) for s in scores]
        for j, e in zip(allowed, exponentials, strict=True):
            output[b, h, i] += e / sum(exponentials) * value[b, h, j]
    return output


@settings(max_examples=25, deadline=None)
@given(masked_inputs())
def test_both_paths_equal_the_calculation_on_paper(case):
    query, key, value, mask = case
    expected = by_loops(query, key, value, mask)
    for need_weights in (True, False):
        output, _ = attention(query, key, value, mask, need_weights=need_weights)
        torch.testing.assert_close(output, expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_both_paths_agree_in_every_dtype(device, dtype, causal, masked):
    shapes = [(2, 3, 7, 8)] * 3
    query, key, value = draw(0, *shapes, dtype=dtype, device=device)
    mask = padding_mask([7, 4], 7, device=device).unsqueeze(1)
    mask = mask if masked else None
    outputs = []
    for need_weights in (True, False):
        output, weights = attention(
            query, key, value, mask, causal=causal, need_weights=need_weights
        )
        assert output.dtype == dtype and output.device.type == device
        assert (weights is not None) == need_weights
        outputs.append(output)
    tolerance = TOLERANCE[dtype]
    torch.testing.assert_close(*outputs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("need_weights", [False, True])
def test_a_query_that_may_attend_to_nothing_gets_zeros_and_finite_gradients(
    device, dtype, need_weights
):
    tensors = draw(0, *[(2, 3, 16, 8)] * 3, dtype=dtype, device=device)
    query, key, value = (tensor.requires_grad_() for tensor in tensors)
    mask = torch.ones(16, 16, dtype=torch.bool, device=device)
    mask[1] = False
    output, weights = attention(query, key, value, mask, need_weights=need_weights)
    assert (output[..., 1, :] == 0).all()
    assert output.isfinite().all()
    if need_weights:
        assert (weights[..., 1, :] == 0).all()
    output.sum().backward()
    assert all(tensor.grad.isfinite().all() for tensor in (query, key, value))
    assert (query.grad[..., 1, :] == 0).all()


@settings(max_examples=50, deadline=None)
@given(masked_inputs())
def test_weights_of_a_row_sum_to_one_over_what_is_allowed(case):
    query, key, value, mask = case
    _, weights = attention(query, key, value, mask, need_weights=True)
    assert (weights >= 0).all()
    assert (weights.masked_select(~mask) == 0).all()
    expected = mask.any(dim=-1).to(weights.dtype).expand(weights.shape[:-1])
    torch.testing.assert_close(weights.sum(dim=-1), expected)


@settings(max_examples=50, deadline=None)
@given(attention_inputs(), seeds)
def test_permuting_keys_and_values_together_changes_nothing(case, seed):
    query, key, value = case
    order = torch.randperm(key.shape[-2], generator=torch.Generator().manual_seed(seed))
    before, _ = attention(query, key, value)
    after, _ = attention(query, key[..., order, :], value[..., order, :])
    torch.testing.assert_close(after, before)


@settings(max_examples=50, deadline=None)
@given(attention_inputs(), seeds)
def test_permuting_queries_permutes_the_outputs(case, seed):
    query, key, value = case
    order = torch.randperm(query.shape[-2], generator=torch.Generator().manual_seed(seed))
    before, _ = attention(query, key, value)
    after, _ = attention(query[..., order, :], key, value)
    torch.testing.assert_close(after, before[..., order, :])


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 8), seeds, st.booleans(), st.data())
def test_a_future_token_never_changes_an_earlier_output(length, seed, need_weights, data):
    query, key, value = draw(seed, *[(2, 2, length, 4)] * 3)
    now = data.draw(st.integers(0, length - 1))
    before, _ = attention(query, key, value, causal=True, need_weights=need_weights)
    for tensor in (query, key, value):
        tensor[..., now + 1 :, :] = 1e3
    after, _ = attention(query, key, value, causal=True, need_weights=need_weights)
    torch.testing.assert_close(
        after[..., : now + 1, :], before[..., : now + 1, :], rtol=0, atol=1e-12
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 8), seeds)
def test_the_present_token_counts_in_causal_attention(length, seed):
    query, key, value = draw(seed, *[(1, 1, length, 4)] * 3)
    for need_weights in (True, False):
        first, _ = attention(query, key, value, causal=True, need_weights=need_weights)
        torch.testing.assert_close(first[..., 0, :], value[..., 0, :])


@settings(max_examples=30, deadline=None)
@given(attention_inputs(batch=2), st.integers(1, 5), seeds)
def test_padding_never_changes_a_result(case, extra, seed):
    query, key, value = case
    length = key.shape[-2]
    rubbish = draw(
        seed, (*key.shape[:-2], extra, key.shape[-1]), (*key.shape[:-2], extra, value.shape[-1])
    )
    padded_key, padded_value = (
        torch.cat([real, 100 * junk], dim=-2)
        for real, junk in zip((key, value), rubbish, strict=True)
    )
    mask = padding_mask(torch.tensor([length, length]), length + extra).unsqueeze(1)
    for need_weights in (True, False):
        output, _ = attention(query, padded_key, padded_value, mask, need_weights=need_weights)
        torch.testing.assert_close(output, attention(query, key, value)[0])


def test_causal_and_padding_masks_combine():
    mask = causal_mask(3) & padding_mask(torch.tensor([3, 2]), 3)
    expected = [[[1, 0, 0], [1, 1, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0], [1, 1, 0]]]
    assert mask.int().tolist() == expected
    query, key, value = draw(0, *[(2, 3, 4)] * 3)
    padding = padding_mask(torch.tensor([3, 2]), 3)
    by_mask = attention(query, key, value, mask, need_weights=True)[0]
    for need_weights in (True, False):
        by_flag, _ = attention(query, key, value, padding, causal=True, need_weights=need_weights)
        torch.testing.assert_close(by_flag, by_mask)


def test_an_empty_example_is_all_padding():
    assert padding_mask(torch.tensor([0, 2]), 2).int().tolist() == [[[0, 0]], [[1, 1]]]


def test_pytorchs_multihead_attention_takes_the_inverted_mask():
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(8, 1, bias=False, batch_first=True)
    module.double()
    (x,) = draw(0, (2, 5, 8))
    mask = causal_mask(5)
    query, key, value = (x @ w.mT for w in module.in_proj_weight.chunk(3))
    ours, weights = attention(query, key, value, mask, need_weights=True)
    theirs, their_weights = module(x, x, x, attn_mask=~mask)
    torch.testing.assert_close(weights, their_weights)
    torch.testing.assert_close(ours @ module.out_proj.weight.mT, theirs)


@pytest.mark.parametrize("need_weights", [False, True])
def test_attention_has_the_right_gradients(need_weights):
    tensors = [t.requires_grad_() for t in draw(0, (2, 1, 3, 4), (2, 1, 5, 4), (2, 1, 5, 2))]
    mask = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 0, 1], [0, 0, 0, 0, 0]]).bool()

    def function(*tensors):
        return attention(*tensors, mask, need_weights=need_weights)[0]

    assert torch.autograd.gradcheck(function, tensors)


def test_huge_scores_stay_finite():
    query = torch.full((1, 1, 2, 4), 1e4)
    for need_weights in (True, False):
        output, _ = attention(query, query, query, need_weights=need_weights)
        torch.testing.assert_close(output, query)


def test_axes_in_front_may_be_missing_or_broadcast():
    query, key, value = draw(0, (5, 4), (2, 3, 6, 4), (2, 1, 6, 7))
    expected = F.scaled_dot_product_attention(
        query.expand(2, 3, 5, 4), key, value.expand(2, 3, 6, 7)
    )
    for need_weights in (True, False):
        output, _ = attention(query, key, value, need_weights=need_weights)
        torch.testing.assert_close(output, expected)


def test_dropout_drops_weights_and_keeps_their_expectation():
    query, key, value = draw(0, (1, 1, 50, 4), (1, 1, 200, 4), (1, 1, 200, 3))
    torch.manual_seed(0)
    exact, kept = attention(query, key, value, need_weights=True)
    _, weights = attention(query, key, value, dropout=0.25, need_weights=True)
    dropped = weights == 0
    assert abs(dropped.double().mean() - 0.25) < 0.02
    torch.testing.assert_close(weights[~dropped], kept[~dropped] / 0.75)
    for need_weights in (True, False):
        runs = [
            attention(query, key, value, dropout=0.25, need_weights=need_weights)[0]
            for _ in range(200)
        ]
        assert (torch.stack(runs).mean(dim=0) - exact).abs().max() < 0.08
        assert (runs[0] - exact).abs().max() > 0.01


def test_the_returned_weights_are_those_that_made_the_output():
    query, key, value = draw(0, (2, 5, 4), (2, 6, 4), (2, 6, 3))
    output, weights = attention(query, key, value, dropout=0.5, need_weights=True)
    torch.testing.assert_close(weights @ value, output)


A, B = torch.zeros(2, 3, 4), torch.zeros(2, 5, 4)
BAD_CALLS = [
    (attention, (A, torch.zeros(2, 5, 6), B), {}, ValueError, "4 and 6"),
    (attention, (A, B, torch.zeros(2, 7, 4)), {}, ValueError, "5 keys and 7 values"),
    (attention, (A, B, B), {"causal": True}, ValueError, "3 queries and 5 keys"),
    (attention, (B, A, A), {"causal": True}, ValueError, "5 queries and 3 keys"),
    (attention, (A, B, torch.zeros(2, 3, 4)), {}, ValueError, "5 keys and 3 values"),
    (attention, (A, B, B), {"dropout": 1.5}, ValueError, "1.5"),
    (attention, (A, B, B), {"dropout": -0.5}, ValueError, "-0.5"),
    (
        attention,
        (A[0], B[0], B[0], torch.ones(1, 3, 5).bool()),
        {},
        ValueError,
        r"\(1, 3, 5\).*\(3, 5\)",
    ),
    (attention, (A, B, B, torch.zeros(3, 5)), {}, TypeError, "float32"),
    (attention, (A, B, B, torch.ones(5, 3).bool()), {}, ValueError, r"\(5, 3\).*\(2, 3, 5\)"),
    (attention, (A, B, B, torch.ones(4, 2, 3, 5).bool()), {}, ValueError, r"\(4, 2"),
    (masked_softmax, (A, torch.ones(3, 4)), {}, TypeError, "float32"),
    (masked_softmax, (A, torch.ones(2, 2).bool()), {}, ValueError, r"\(2, 2\)"),
    (dot_scores, (A, torch.zeros(2, 5, 6)), {}, ValueError, "4 and 6"),
    (dot_scores, (torch.zeros(2, 5, 6), A), {}, ValueError, "6 and 4"),
    (general_scores, (A, B, torch.zeros(4, 3)), {}, ValueError, r"\(4, 4\).*\(4, 3\)"),
    (scaled_dot_scores, (A, torch.zeros(2, 5, 6)), {}, ValueError, "4 and 6"),
    (general_scores, (A, B, torch.zeros(4, 6)), {}, ValueError, r"\(4, 4\).*\(4, 6\)"),
    (
        additive_scores,
        (A, B, torch.zeros(4, 7), torch.zeros(4, 8), torch.zeros(7)),
        {},
        ValueError,
        r"key_weight.*\(4, 7\).*\(4, 8\)",
    ),
    (
        additive_scores,
        (A, B, torch.zeros(5, 7), torch.zeros(4, 7), torch.zeros(7)),
        {},
        ValueError,
        r"query_weight.*\(4, 7\).*\(5, 7\)",
    ),
    (linear_attention, (A, torch.zeros(2, 5, 6), B), {}, ValueError, "4 and 6"),
    (linear_attention, (A, B, torch.zeros(2, 7, 4)), {}, ValueError, "5 keys and 7"),
    (
        attention,
        (A, B.expand(3, 2, 5, 4)[:, :1].expand(3, 3, 5, 4), B),
        {},
        ValueError,
        r"fit together: got \(2,\), \(3, 3\), \(2,\)",
    ),
    (
        linear_attention,
        (A, B[:1].expand(3, 5, 4), B),
        {},
        ValueError,
        r"got \(2,\), \(3,\), \(2,\)",
    ),
    (padding_mask, ([2, 5], 4), {}, ValueError, "max_length=4.*2 to 5"),
    (padding_mask, ([-1, 3], 3), {}, ValueError, "-1 to 3"),
]


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize(("function", "arguments", "options", "error", "says"), BAD_CALLS)
def test_wrong_sizes_raise_an_error_that_names_them(function, arguments, options, error, says):
    with pytest.raises(error, match=says):
        function(*arguments, **options)


def test_both_paths_stay_finite_for_large_inputs_in_half_precision():
    tensors = draw(0, *[(2, 2, 3, 64)] * 3)
    query, key, value = ((100 * tensor).half() for tensor in tensors)
    for need_weights in (True, False):
        output, _ = attention(query, key, value, need_weights=need_weights)
        assert output.isfinite().all()


@pytest.mark.usefixtures("no_shape_checks")
def test_a_mask_over_the_keys_alone_needs_no_further_axes():
    query, key, value = draw(0, *[(2, 2, 5, 4)] * 3)
    mask = torch.tensor([True, True, False, True, False])
    expected = attention(query, key, value, mask.expand(5, 5))[0]
    for need_weights in (True, False):
        output, _ = attention(query, key, value, mask, need_weights=need_weights)
        torch.testing.assert_close(output, expected)


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_an_empty_row_makes_no_nan_on_the_way():
    tensors = [tensor.requires_grad_() for tensor in draw(0, *[(1, 1, 3, 4)] * 3)]
    mask = torch.tensor([[1, 1, 1], [0, 0, 0], [1, 0, 0]]).bool()
    with torch.autograd.detect_anomaly(check_nan=True):
        output, _ = attention(*tensors, mask, need_weights=True)
        output.sum().backward()


def test_a_batch_of_no_examples_has_an_empty_mask():
    lengths = torch.zeros(0, dtype=torch.int64)
    assert padding_mask(lengths, 4).shape == (0, 1, 4)
    assert padding_mask(lengths, 0).shape == padding_mask([], 0).shape == (0, 1, 0)


def test_dropping_every_weight_leaves_nothing():
    query, key, value = draw(0, *[(1, 2, 3, 4)] * 3)
    for need_weights in (True, False):
        output, _ = attention(query, key, value, dropout=1.0, need_weights=need_weights)
        assert (output == 0).all()


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_mask_may_have_the_axes_that_only_queries_or_only_keys_have(need_weights):
    many, single = draw(0, (2, 3, 5, 4), (5, 4))
    mask = torch.ones(2, 3, 5, 5).bool().tril()
    for query, key in ((many, single), (single, many)):
        output, _ = attention(query, key, key, mask, need_weights=need_weights)
        query, key = query.expand(2, 3, 5, 4), key.expand(2, 3, 5, 4)
        for b in range(2):
            for h in range(3):
                one = query[b, h], key[b, h], key[b, h], mask[b, h]
                torch.testing.assert_close(output[b, h], attention(*one)[0])


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_mask_may_have_the_axes_that_only_values_have(need_weights):
    (x,), (value,) = draw(0, (3, 4)), draw(1, (5, 3, 4))
    mask = torch.ones(5, 3, 3).bool().tril()
    output, _ = attention(x, x, value, mask, need_weights=need_weights)
    for b in range(5):
        torch.testing.assert_close(output[b], attention(x, x, value[b], mask[b])[0])
