"""Multi-head attention against PyTorch's own, head by head, and with a cache."""

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attnbook.attention import attention, causal_mask, padding_mask
from attnbook.multihead import KVCache, MultiHeadAttention, grouped_attention
from attnbook.pytorch import to_pytorch
from model.tensors import draw, randomise


def make(d_model=12, num_heads=3, **options):
    layer = MultiHeadAttention(d_model=d_model, num_heads=num_heads, **options).double()
    return randomise(layer)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize(
    ("bias", "padded", "causal"),
    [(False, False, False), (True, True, False), (True, False, True), (True, True, True)],
)
def test_equals_pytorchs_own_forward_and_backward(bias, padded, causal, need_weights):
    ours = make(bias=bias)
    theirs = to_pytorch(ours)
    x, y = (draw(1, (2, 5, 12))[0].requires_grad_() for _ in range(2))
    mask = padding_mask(torch.tensor([5, 3]), 5) if padded else None
    output, weights = ours(x, mask=mask, causal=causal, need_weights=need_weights)
    expected, their_weights = theirs(
        y,
        y,
        y,
        attn_mask=~causal_mask(5) if causal else None,
        key_padding_mask=~mask.squeeze(1) if padded else None,
        average_attn_weights=False,
    )
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(weights, their_weights if need_weights else None)
    (output**2).sum().backward()
    (expected**2).sum().backward()
    torch.testing.assert_close(x.grad, y.grad)
    gradients = [
        torch.cat([getattr(ours, n).weight.grad for n in ["q_proj", "k_proj", "v_proj"]]),
        ours.out_proj.weight.grad,
    ]
    torch.testing.assert_close(gradients, [theirs.in_proj_weight.grad, theirs.out_proj.weight.grad])


def test_cross_attention_equals_pytorchs_own():
    ours = make()
    x, memory = draw(0, (2, 4, 12), (2, 7, 12))
    mask = padding_mask(torch.tensor([7, 2]), 7)
    found = ours(x, ours.keys_and_values(memory), mask, need_weights=True)
    expected = to_pytorch(ours)(
        x, memory, memory, key_padding_mask=~mask.squeeze(1), average_attn_weights=False
    )
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(ours(x, memory, mask)[0], expected[0])


def test_has_the_papers_parameters():
    torch.manual_seed(0)
    layer = MultiHeadAttention(d_model=64, num_heads=4)
    count = sum(parameter.numel() for parameter in layer.parameters())
    assert count == 4 * 64 * 64 + 4 * 64
    assert layer.dropout == 0.0
    for linear in (layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj):
        # Glorot and Bengio 2010: uniform between ±√(6 / (64 + 64))
        bound = math.sqrt(6 / 128)
        assert 0.98 * bound < linear.weight.abs().max() <= bound
        assert (linear.bias == 0).all()


def test_weights_are_dropped_while_training_and_not_otherwise():
    layer = make(dropout=0.5)
    (x,) = draw(0, (2, 9, 12))
    torch.manual_seed(0)
    _, weights = layer(x, need_weights=True)
    assert 0.3 < (weights == 0).double().mean() < 0.7
    _, weights = layer.eval()(x, need_weights=True)
    assert (weights > 0).all()
    torch.testing.assert_close(layer(x)[0], layer(x)[0])


def test_a_cache_keeps_its_rows_in_the_order_asked_for():
    key, value, more = draw(0, (3, 2, 2, 4), (3, 2, 2, 4), (5, 2, 1, 4))
    cache = KVCache(3, 2, 6, 4, dtype=torch.float64)
    kept = cache.append(key, value)
    assert torch.equal(kept[0], key) and torch.equal(kept[1], value)
    for rows in ([2, 0, 0], [1, 2], [1, 1, 0, 0, 1]):  # as many rows, fewer, more
        rows = torch.tensor(rows)
        key, value = key[rows], value[rows]
        cache.reorder(rows)
    assert cache.length == 2
    kept = cache.append(more, 2 * more)
    assert torch.equal(kept[0], torch.cat([key, more], dim=2))
    assert torch.equal(kept[1], torch.cat([value, 2 * more], dim=2))
    kept = cache.append(*[torch.zeros(5, 2, 3, 4)] * 2)  # full to the brim
    assert kept[0].shape == (5, 2, 6, 4)


@pytest.mark.usefixtures("no_shape_checks")
def test_a_cache_refuses_what_does_not_fit_and_keeps_what_it_has():
    cache = KVCache(2, 2, 4, 3)
    good = torch.ones(2, 2, 3, 3)
    cache.append(good, good)
    with pytest.raises(ValueError, match=r"max_length=4 tokens: got 3 more.*the 3"):
        cache.append(good, good)
    token = good[:, :, :1]
    for batch in (1, 3):
        wrong = torch.ones(batch, 2, 1, 3)
        for name, pair in {"key": (wrong, token), "value": (token, wrong)}.items():
            says = rf"{name} of the shape \(2, 2, 1, 3\): got \({batch}, 2"
            with pytest.raises(ValueError, match=says):
                cache.append(*pair)
    kept, _ = cache.append(good[:, :, :1], good[:, :, :1])
    assert torch.equal(kept, torch.ones(2, 2, 4, 3))


@pytest.mark.parametrize(
    ("d_model", "heads", "says"),
    [
        (10, 3, "d_model=10 is not divisible by num_heads=3"),
        (4, 0, "num_heads must be at least 1: got 0"),
        (0, 2, "d_model must be at least 1: got 0"),
    ],
)
def test_wrong_sizes_raise_an_error_that_names_them(d_model, heads, says):
    with pytest.raises(ValueError, match=says):
        MultiHeadAttention(d_model=d_model, num_heads=heads)


@pytest.mark.usefixtures("no_shape_checks")
def test_another_batch_is_not_broadcast():
    layer = make()
    x, memory = draw(0, (1, 4, 12), (3, 7, 12))
    with pytest.raises(ValueError, match="same batch size: got 1 and 3"):
        layer(x, memory)


def test_no_gradient_passes_through_a_cache():
    layer = make()
    (x,) = draw(0, (1, 2, 12))
    cache = KVCache(1, 3, 2, 4, dtype=torch.float64)
    for token in x.split(1, dim=1):
        past = cache.append(*layer.keys_and_values(token))
        output, _ = layer(token, past)
    output.sum().backward()
    assert layer.k_proj.weight.grad is None
    assert (layer.q_proj.weight.grad != 0).any()


def test_a_mask_without_a_batch_axis_is_for_all_heads_and_examples():
    layer = make()  # as many heads as tokens: no axis may be mistaken for another
    (x,) = draw(0, (2, 3, 12))
    expected, _ = layer(x, causal=True)
    for mask in (causal_mask(3), causal_mask(3).expand(2, 3, 3)):
        torch.testing.assert_close(layer(x, mask=mask)[0], expected)


@pytest.mark.parametrize("new", [1, 2])
@pytest.mark.parametrize("masked", [False, True])
def test_grouped_attention_equals_ordinary_attention_with_copied_heads(new, masked):
    query, key, value = draw(0, (2, 6, new, 4), (2, 2, 5, 4), (2, 2, 5, 3))
    mask = torch.tensor([[True, False, True, True, False]]).expand(new, 5) if masked else None
    copies = (x.repeat_interleave(3, dim=1) for x in (key, value))
    expected = attention(query, *copies, mask, need_weights=True)
    found = grouped_attention(query, key, value, mask, need_weights=True)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(grouped_attention(query, key, value, mask)[0], expected[0])


def test_a_new_token_copies_no_key():
    query, key, value = draw(0, (1, 6, 1, 4), (1, 2, 500, 4), (1, 2, 500, 4))
    largest = []

    class Sizes(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            output = function(*args, **(kwargs or {}))
            first = output[0] if isinstance(output, tuple) else output
            largest.append(first.numel())
            return output

    with Sizes():
        grouped_attention(query, key, value)
    assert max(largest) <= key.numel()
