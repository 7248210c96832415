"""Encoder and decoder blocks against PyTorch's own, pre- and post-norm."""

import pytest
import torch
from hypothesis import given, settings, strategies as st

from attnbook.attention import causal_mask, padding_mask
from attnbook.blocks import DecoderBlock, EncoderBlock, FeedForward, Residual
from attnbook.multihead import KVCache
from attnbook.pytorch import to_pytorch
from model.tensors import draw, randomise, seeds

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
def test_an_encoder_block_equals_pytorchs_own(norm_first):
    ours = make(EncoderBlock, norm_first)
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


def test_the_feed_forward_network_is_the_papers():
    with pytest.raises(ValueError, match="d_ff must be at least 1: got 0"):
        FeedForward(d_model=4, d_ff=0)
    assert FeedForward(d_model=4, d_ff=1)(torch.ones(2, 4)).shape == (2, 4)
    network = randomise(FeedForward(d_model=4, d_ff=6).double())
    (x,) = draw(0, (2, 3, 4))
    wide = torch.clamp(x @ network.up_proj.weight.mT + network.up_proj.bias, min=0)
    torch.testing.assert_close(
        network(x), wide @ network.down_proj.weight.mT + network.down_proj.bias
    )
    fresh = FeedForward(d_model=40, d_ff=60)
    for linear in (fresh.up_proj, fresh.down_proj):
        assert (linear.bias == 0).all()
        bound = (6 / 100) ** 0.5
        assert 0.97 * bound < linear.weight.abs().max() <= bound


def test_residuals_put_the_norm_before_or_after():
    x, update = draw(0, (2, 3, 8), (2, 3, 8))
    for norm_first in (False, True):
        residual = Residual(8, dropout=0.0, norm_first=norm_first)
        residual = randomise(residual.double())
        before, after = (residual.norm, lambda x: x) if norm_first else (lambda x: x, residual.norm)
        torch.testing.assert_close(residual.before(x), before(x))
        torch.testing.assert_close(residual.add(x, update), after(x + update))


@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_blocks_are_pre_norm_and_without_dropout_by_default(kind):
    block = kind(d_model=12, num_heads=3, d_ff=20).double()
    (x,) = draw(0, (2, 5, 12))
    inputs = (x, x) if kind is DecoderBlock else (x,)
    chosen = make(kind, norm_first=True, dropout=0.0)
    chosen.load_state_dict(block.state_dict())
    torch.testing.assert_close(block(*inputs)[0], chosen(*inputs)[0])


@pytest.mark.parametrize("kind", [EncoderBlock, DecoderBlock])
def test_dropout_acts_on_every_sublayer_and_on_the_wide_layer(kind):
    block = make(kind, dropout=0.25)
    dropouts = [m.p for m in block.modules() if isinstance(m, torch.nn.Dropout)]
    assert dropouts == [0.25] * (3 if kind is EncoderBlock else 4)
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
@settings(max_examples=15, deadline=None)
@given(seed=seeds, length=st.integers(1, 6))
def test_one_token_at_a_time_gives_the_same_as_all_at_once(norm_first, seed, length):
    block = make(DecoderBlock, norm_first)
    x, memory = draw(seed, (2, length, 12), (2, 4, 12))
    mask = padding_mask(torch.tensor([4, 2]), 4)
    expected, self_weights, cross_weights = block(x, memory, mask, need_weights=True)
    past = KVCache(2, 3, length, 4, dtype=torch.float64)
    kept = block.cross_attention.keys_and_values(memory)
    for t in range(length):
        output, own, across = block(x[:, t : t + 1], kept, mask, past=past, need_weights=True)
        torch.testing.assert_close(output, expected[:, t : t + 1])
        torch.testing.assert_close(own, self_weights[:, :, t : t + 1, : t + 1])
        torch.testing.assert_close(across, cross_weights[:, :, t : t + 1])


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
