"""Encoder and decoder blocks against PyTorch's own, pre- and post-norm."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnbook.attention import causal_mask, padding_mask
from attnbook.blocks import DecoderBlock, EncoderBlock, FeedForward, Residual
from attnbook.multihead import KVCache
from attnbook.pytorch import to_pytorch
from model.tensors import draw, randomise

BOTH_NORMS = pytest.mark.parametrize("norm_first", [False, True])


def make(kind, norm_first=True, **options):
    block = kind(d_model=12, num_heads=3, d_ff=20, norm_first=norm_first, **options)
    return randomise(block.double())


def assert_same_gradients(ours, theirs, our_inputs, their_inputs):
    """Compare the inputs' gradients one by one, the weights' by their length."""
    for x, y in zip(our_inputs, their_inputs, strict=True):
        torch.testing.assert_close(x.grad, y.grad)
    lengths = [sum((p.grad**2).sum() for p in module.parameters()) for module in (ours, theirs)]
    torch.testing.assert_close(*lengths)


@BOTH_NORMS
@pytest.mark.parametrize("others", [{}, {"activation": F.gelu, "epsilon": 0.3}])
def test_an_encoder_block_equals_pytorchs_own(norm_first, others):
    ours = make(EncoderBlock, norm_first, **others)
    theirs = to_pytorch(ours)
    x, y = (draw(1, (2, 5, 12))[0].requires_grad_() for _ in range(2))
    mask = padding_mask(torch.tensor([5, 3]), 5)
    output, weights = ours(x, mask, need_weights=True)
    expected = theirs(y, src_key_padding_mask=~mask.squeeze(1))
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(ours(x, mask)[0], expected)
    assert weights.shape == (2, 3, 5, 5) and ours(x)[1] is None
    (output**2).sum().backward()
    (expected**2).sum().backward()
    assert_same_gradients(ours, theirs, [x], [y])


@BOTH_NORMS
def test_a_decoder_block_equals_pytorchs_own(norm_first):
    ours = make(DecoderBlock, norm_first)
    theirs = to_pytorch(ours)
    ours_in, theirs_in = (
        [t.requires_grad_() for t in draw(1, (2, 4, 12), (2, 6, 12))] for _ in range(2)
    )
    mask = padding_mask(torch.tensor([6, 2]), 6)
    output, self_weights, cross_weights = ours(*ours_in, mask, need_weights=True)
    expected = theirs(
        *theirs_in, tgt_mask=~causal_mask(4), memory_key_padding_mask=~mask.squeeze(1)
    )
    torch.testing.assert_close(output, expected)
    plain = ours(*ours_in, mask)
    torch.testing.assert_close(plain[0], expected)
    assert plain[1:] == (None, None)
    assert self_weights.shape == (2, 3, 4, 4)
    assert cross_weights.shape == (2, 3, 4, 6)
    assert (self_weights.triu(1) == 0).all()
    assert (cross_weights[1, ..., 2:] == 0).all()
    (output**2).sum().backward()
    (expected**2).sum().backward()
    assert_same_gradients(ours, theirs, ours_in, theirs_in)


def test_a_fresh_feed_forward_network_is_initialised_as_glorot_and_bengio_did():
    with pytest.raises(ValueError, match="d_ff must be at least 1: got 0"):
        FeedForward(d_model=4, d_ff=0)
    fresh = FeedForward(d_model=40, d_ff=60)
    for linear in (fresh.up_proj, fresh.down_proj):
        assert (linear.bias == 0).all()
        bound = (6 / 100) ** 0.5
        assert 0.97 * bound < linear.weight.abs().max() <= bound


@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_dropout_acts_on_every_sublayer_and_on_the_wide_layer(kind):
    count = 3 if kind is EncoderBlock else 4
    for options, p in (({}, 0.0), ({"dropout": 0.25}, 0.25)):
        block = kind(d_model=12, num_heads=3, d_ff=20, **options).double()
        assert [m.p for m in block.modules() if isinstance(m, nn.Dropout)] == [p] * count
        assert all(m.norm_first for m in block.modules() if isinstance(m, Residual))
    torch.manual_seed(0)
    wide = block.feed_forward(draw(0, (40, 12))[0])
    assert (wide != block.eval().feed_forward(draw(0, (40, 12))[0])).any()


@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_if_all_updates_are_dropped_the_stream_passes_unchanged(kind):
    block = make(kind, norm_first=True).train()
    for module in block.modules():
        if isinstance(module, Residual):
            module.dropout.p = 1.0
    x, memory = draw(0, (2, 5, 12), (2, 3, 12))
    inputs = (x, memory) if kind is DecoderBlock else (x,)
    assert torch.equal(block(*inputs)[0], x)


@BOTH_NORMS
def test_one_token_at_a_time_gives_the_same_as_all_at_once(norm_first):
    block = make(DecoderBlock, norm_first)
    x, memory = draw(0, (2, 4, 12), (2, 4, 12))
    mask = padding_mask(torch.tensor([4, 2]), 4)
    expected, self_weights, cross_weights = block(x, memory, mask, need_weights=True)
    past = KVCache(2, 3, 4, 4, dtype=torch.float64)
    kept = block.cross_attention.keys_and_values(memory)
    for t in range(4):
        found = block(x[:, t : t + 1], kept, mask, past=past, need_weights=True)
        own = self_weights[:, :, t : t + 1, : t + 1]
        across = cross_weights[:, :, t : t + 1]
        torch.testing.assert_close(found, (expected[:, t : t + 1], own, across))


@pytest.mark.parametrize("count", [0, 3])
def test_with_the_past_in_a_cache_only_one_token_is_taken(count):
    x, memory = draw(0, (2, count, 12), (2, 4, 12))
    past = KVCache(2, 3, 8, 4, dtype=torch.float64)
    with pytest.raises(ValueError, match=f"one at a time: got {count}"):
        make(DecoderBlock)(x, memory, past=past)
    assert past.length == 0


def test_a_module_without_a_counterpart_is_named():
    with pytest.raises(TypeError, match="FeedForward"):
        to_pytorch(FeedForward(d_model=2, d_ff=2))


def test_a_hook_keeps_what_was_below_zero():
    (x,), kept = draw(0, (2, 3, 4)), []
    network = FeedForward(d_model=4, d_ff=60).double()
    network.up_proj.register_forward_hook(lambda module, inputs, output: kept.append(output))
    network(x)
    torch.testing.assert_close(kept[0], network.up_proj(x))
    assert (kept[0] < 0).any()
