"""The rules that score a query against a key, and linear attention."""

import itertools

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


def test_every_score_equals_its_formula_entry_by_entry():
    shapes = (2, 2, 3, 4), (2, 2, 5, 4), (4, 4), (4, 7), (4, 7), (7,)
    query, key, weight, query_weight, key_weight, energy = draw(0, *shapes)
    dot, scaled = dot_scores(query, key), scaled_dot_scores(query, key)
    general = general_scores(query, key, weight)
    additive = additive_scores(query, key, query_weight, key_weight, energy)
    for *batch, i, j in itertools.product(range(2), range(2), range(3), range(5)):
        q, k, at = query[*batch, i], key[*batch, j], (*batch, i, j)
        torch.testing.assert_close(dot[at], q.dot(k))
        torch.testing.assert_close(scaled[at], q.dot(k) / 2)
        torch.testing.assert_close(general[at], q @ weight @ k)
        hidden = torch.tanh(query_weight.T @ q + key_weight.T @ k)
        torch.testing.assert_close(additive[at], energy.dot(hidden))


@settings(max_examples=50, deadline=None)
@given(attention_inputs())
def test_linear_attention_is_a_weighted_mean_of_the_values_in_both_orders(case):
    query, key, value = case
    weights = (F.elu(query) + 1) @ (F.elu(key) + 1).mT
    expected = weights / weights.sum(dim=-1, keepdim=True) @ value
    for quadratic in (False, True):
        output = linear_attention(query, key, value, quadratic=quadratic)
        torch.testing.assert_close(output, expected)


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


def test_linear_attention_does_less_work_unless_asked_for_more():
    tensors = draw(0, *[(100, 4)] * 3)
    work = []
    for options in ({}, {"quadratic": True}):
        with FlopCounterMode(display=False) as counter:
            linear_attention(*tensors, **options)
        work.append(counter.get_total_flops())
    assert work[1] > 10 * work[0]
