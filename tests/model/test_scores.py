"""The rules that score a query against a key, and linear attention."""

import torch
import torch.nn.functional as F
from hypothesis import given, settings
from torch.utils.flop_counter import FlopCounterMode

from attnbook.attention import (
    additive_scores,
    dot_scores,
    general_scores,
    linear_attention,
    positive_features,
    scaled_dot_scores,
)
from model.tensors import attention_inputs, draw


def test_scores_have_the_right_gradients():
    shapes = (2, 3, 4), (2, 5, 6), (4, 6), (4, 7), (6, 7), (7,)
    query, key, weight, query_weight, key_weight, energy = (
        tensor.requires_grad_() for tensor in draw(0, *shapes)
    )
    (same_size,) = draw(1, (2, 5, 4))
    same_size.requires_grad_()
    gradcheck = torch.autograd.gradcheck
    assert gradcheck(dot_scores, (query, same_size))
    assert gradcheck(scaled_dot_scores, (query, same_size))
    assert gradcheck(general_scores, (query, key, weight))
    assert gradcheck(additive_scores, (query, key, query_weight, key_weight, energy))


def test_every_score_equals_its_formula_entry_by_entry():
    shapes = (2, 3, 4), (2, 5, 4), (4, 4), (4, 7), (4, 7), (7,)
    query, key, weight, query_weight, key_weight, energy = draw(0, *shapes)
    dot, scaled = dot_scores(query, key), scaled_dot_scores(query, key)
    general = general_scores(query, key, weight)
    additive = additive_scores(query, key, query_weight, key_weight, energy)
    for b in range(2):
        for i in range(3):
            for j in range(5):
                q, k = query[b, i], key[b, j]
                torch.testing.assert_close(dot[b, i, j], q.dot(k))
                torch.testing.assert_close(scaled[b, i, j], q.dot(k) / 2)
                torch.testing.assert_close(general[b, i, j], q @ weight @ k)
                hidden = torch.tanh(query_weight.T @ q + key_weight.T @ k)
                torch.testing.assert_close(additive[b, i, j], energy.dot(hidden))


@settings(max_examples=50, deadline=None)
@given(attention_inputs())
def test_linear_attention_is_the_same_in_both_orders(case):
    query, key, value = case
    linear = linear_attention(query, key, value)
    quadratic = linear_attention(query, key, value, quadratic=True)
    torch.testing.assert_close(linear, quadratic)


@settings(max_examples=30, deadline=None)
@given(attention_inputs())
def test_linear_attention_is_a_weighted_mean_of_the_values(case):
    query, key, value = case
    weights = positive_features(query) @ positive_features(key).mT
    assert (weights > 0).all()
    weights = weights / weights.sum(dim=-1, keepdim=True)
    torch.testing.assert_close(linear_attention(query, key, value), weights @ value)


def test_linear_attention_has_the_right_gradients():
    tensors = [t.requires_grad_() for t in draw(0, (2, 3, 4), (2, 5, 4), (2, 5, 2))]
    assert torch.autograd.gradcheck(linear_attention, tensors)


def test_linear_attention_survives_very_negative_features_and_half_precision():
    query, key, value = draw(0, (2, 4), (3, 4), (3, 2), dtype=torch.float32)
    weights = positive_features(query - 20) @ positive_features(key - 20).mT
    assert (positive_features(query - 20) > 0).all() and (weights > 0).all()
    for quadratic in (False, True):
        output = linear_attention(query - 20, key, value, quadratic=quadratic)
        assert output.isfinite().all()
        long = [torch.full((1, 512, 64), 5.0, dtype=torch.float16) for _ in range(3)]
        output = linear_attention(*long, quadratic=quadratic)
        torch.testing.assert_close(output, long[2], rtol=1e-2, atol=1e-2)
        for feature in (-20.0, 40.0):
            query, key = torch.full((2, 3, 64), feature, dtype=torch.float16)
            value = torch.ones(3, 2, dtype=torch.float16)
            output = linear_attention(query, key, value, quadratic=quadratic)
            torch.testing.assert_close(output, value)


def test_positive_features_are_elu_plus_one():
    (x,) = draw(0, (1000,))
    x = torch.cat([x, torch.tensor([-1.0, 0.0, 1.0, 1e-9]).double()])
    torch.testing.assert_close(positive_features(x), F.elu(x) + 1)


def test_additive_scores_take_any_number_of_axes_in_front():
    shapes = (3, 2, 4, 5), (3, 2, 6, 5), (5, 7), (5, 7), (7,)
    query, key, *weights = draw(0, *shapes)
    scores = additive_scores(query, key, *weights)
    for a in range(3):
        for b in range(2):
            alone = additive_scores(query[a, b], key[a, b], *weights)
            torch.testing.assert_close(scores[a, b], alone)


def test_linear_attention_does_less_work_unless_asked_for_more():
    tensors = draw(0, *[(100, 4)] * 3)
    work = []
    for options in ({}, {"quadratic": True}):
        with FlopCounterMode(display=False) as counter:
            linear_attention(*tensors, **options)
        work.append(counter.get_total_flops())
    assert work[1] > 10 * work[0]
