"""Interventions: each changes what it says, nothing else, and nothing once its block has ended."""

import math
from contextlib import ExitStack
from copy import deepcopy

import pytest
import torch
from torch import nn

from attnbook.attention import masked_softmax
from attnbook.blocks import EncoderBlock
from attnbook.decoding import greedy_search
from attnbook.interventions import (
    attention_weights,
    broken,
    divisor,
    forced,
    keys_and_values,
    on_token,
    permuted,
    shuffled_positions,
    uniform,
    without,
    without_causal_mask,
    without_heads,
    without_norm,
    without_positions,
    without_residual,
)
from attnbook.language_model import LanguageModel, generate
from attnbook.multihead import MultiHeadAttention
from attnbook.transformer import Transformer
from model.tensors import draw, draw_tokens, randomise

SIZES = {"d_model": 12, "num_heads": 3, "d_ff": 20}
SOURCE, LENGTHS = draw_tokens(1, (2, 5), 9), torch.tensor([5, 3])
TARGET = draw_tokens(2, (2, 4), 8)
ORDER = [3, 1, 4, 0, 2]


def make(num_layers=2, **options):
    model = Transformer(source_size=9, target_size=8, num_layers=num_layers, **SIZES, **options)
    return randomise(model.double()).eval()


def logits(model, target=TARGET):
    return model(SOURCE, target, LENGTHS)[0]


def maps(model):
    return model(SOURCE, TARGET, LENGTHS, need_weights=True)[1]


def cross(model):
    return [block.cross_attention for block in model.decoder]


def itself(model):
    return [block.self_attention for block in model.decoder]


def worthless(layer, key, value):
    """The first token hands over nothing."""
    return key, torch.cat([torch.zeros_like(value[:, :, :1]), value[:, :, 1:]], dim=2)


# each changes the model somewhere
ALL = {
    "uniform weights": lambda m: attention_weights(m, change=uniform),
    "uniform weights of a head": lambda m: attention_weights(m.encoder, change=uniform, heads=[1]),
    "weights on a token": lambda m: attention_weights(m.encoder, change=on_token(2)),
    "no weights": lambda m: attention_weights(*cross(m), change=forced(torch.zeros(1, 1, 1, 1))),
    "no divisor": lambda m: divisor(m, number=1.0),
    "no causal mask": lambda m: without_causal_mask(m),
    "a head less": lambda m: without_heads(m.encoder[1].self_attention, [0]),
    "no cross-attention": lambda m: without(*cross(m)),
    "no feed-forward": lambda m: without(m.encoder[0].feed_forward, m.decoder[1].feed_forward),
    "no residual": lambda m: without_residual(m),
    "no norm": lambda m: without_norm(m),
    "no positions": lambda m: without_positions(m.source_embedding),
    "shuffled positions": lambda m: shuffled_positions(m, order=ORDER),
}
EACH = pytest.mark.parametrize("name", ALL)


@EACH
def test_an_intervention_changes_the_model_and_nothing_of_it_is_left_behind(name):
    model = make()
    before = logits(model)
    attributes = {part: list(vars(part)) for part in model.modules()}
    weights = deepcopy(model.state_dict())
    with pytest.raises(KeyError), ALL[name](model):
        inside, found = model(SOURCE, TARGET, LENGTHS, need_weights=True)
        assert not torch.allclose(inside, before, atol=1e-3)
        again, none = model(SOURCE, TARGET, LENGTHS)
        torch.testing.assert_close(again, inside)
        assert found is not None and none is None
        if name != "no causal mask":  # tokens written earlier cannot look at those written later
            state = model.prefill(SOURCE, LENGTHS, max_length=4)
            steps = [model.decode_step(token, state) for token in TARGET.T]
            torch.testing.assert_close(torch.stack(steps, dim=1), inside)
        inside.square().sum().backward()
        raise KeyError
    assert model.target_embedding.token.weight.grad.isfinite().all()
    assert torch.equal(logits(model), before)
    for part, names in attributes.items():
        assert list(vars(part)) == names, type(part)
        assert not part._forward_hooks and not part._forward_pre_hooks
    for key, value in model.state_dict().items():
        assert torch.equal(value, weights[key])


def test_interventions_combine_in_either_order():
    model = make()
    some = ["uniform weights of a head", "no divisor", "no causal mask", "a head less", "no norm"]
    outputs = []
    for order in (some, some[::-1]):  # each pair in both orders
        with ExitStack() as stack:
            for name in order:
                stack.enter_context(ALL[name](model))
            outputs.append(logits(model))
    torch.testing.assert_close(*outputs)


def test_the_weights_of_the_other_heads_stay():
    model = make()
    before = maps(model).source
    with attention_weights(model.encoder[0], change=uniform, heads=[0, 2]):
        after = maps(model).source
    assert torch.equal(after[0, :, 1], before[0, :, 1])
    assert (after[0, 0, [0, 2]] == 1 / 5).all()


@pytest.mark.parametrize("num_kv_heads", [4, 2, 1])
def test_without_heads_their_columns_of_the_output_projection_do_nothing(num_kv_heads):
    layer = MultiHeadAttention(d_model=16, num_heads=4, num_kv_heads=num_kv_heads)
    layer = randomise(layer.double())
    (x,) = draw(4, (2, 5, 16))
    other = deepcopy(layer)
    with torch.no_grad():
        other.out_proj.weight[:, 0:4] = 0
        other.out_proj.weight[:, 8:12] = 0
    with without_heads(layer, [0, 2]):
        torch.testing.assert_close(layer(x)[0], other(x)[0])


def test_uniform_weights_are_equal_wherever_masks_allow_attending():
    model = make()
    before = maps(model)
    with attention_weights(*cross(model), change=uniform):
        after = maps(model)
    for weights, length in zip(after.cross.unbind(1), LENGTHS.tolist(), strict=True):
        assert (weights[..., :length] == 1 / length).all() and not weights[..., length:].any()
    assert torch.equal(after.source, before.source)
    assert torch.equal(after.target[0], before.target[0])  # the first block reads the same
    with attention_weights(*itself(model), change=uniform):
        after = maps(model).target
    torch.testing.assert_close(
        after, (torch.ones(4, 4).tril() / torch.arange(1, 5)[:, None]).double().expand_as(after)
    )


def test_weights_can_be_put_on_one_token():
    model = make()
    with attention_weights(model, change=on_token(3)):
        found = maps(model)
    expected = torch.zeros(5).double().index_fill_(0, torch.tensor(3), 1.0)
    assert torch.equal(found.source[:, 0], expected.expand_as(found.source[:, 0]))
    assert not found.source[:, 1].any()  # there the token is padding
    assert not found.target[..., :3, :].any()  # and here it comes later
    assert (found.target[..., 3, 3] == 1).all()
    with (
        pytest.raises(ValueError, match="4 tokens, counted from 0: got the token 4"),
        attention_weights(*itself(model), change=on_token(4)),
    ):
        logits(model)


def test_forcing_the_models_own_weights_changes_nothing_and_others_are_used():
    model = make()
    before, own = logits(model), maps(model).cross
    with ExitStack() as stack:
        for layer, weights in zip(cross(model), own, strict=True):
            stack.enter_context(attention_weights(layer, change=forced(weights)))
        torch.testing.assert_close(logits(model), before)
    wanted = draw(3, (4, 5))[0].softmax(dim=-1)
    with attention_weights(*cross(model), change=forced(wanted)):
        found = maps(model).cross
    assert torch.equal(found, wanted.expand_as(found))


def test_scores_are_divided_by_another_number():
    layer = randomise(MultiHeadAttention(d_model=12, num_heads=3).double())
    (x,) = draw(4, (2, 5, 12))
    scores = layer._split(layer.q_proj(x)) @ layer._split(layer.k_proj(x)).mT
    for number in (0.5, 7.0):
        with divisor(layer, number=number):
            _, weights = layer(x, need_weights=True)
        torch.testing.assert_close(weights, masked_softmax(scores / number))


def test_without_the_causal_mask_tokens_see_later_ones_but_not_while_they_are_written():
    model = make(num_layers=1)
    changed = TARGET.clone()
    changed[:, -1] = (TARGET[:, -1] + 1) % 8
    options = {"start_token": 1, "end_token": 2, "max_length": 6}
    written = greedy_search(model, SOURCE, LENGTHS, **options)
    before = maps(model)
    assert torch.equal(logits(model)[:, :-1], logits(model, changed)[:, :-1])
    with without_causal_mask(model):
        assert not torch.allclose(logits(model)[:, :-1], logits(model, changed)[:, :-1])
        after = maps(model)
        assert greedy_search(model, SOURCE, LENGTHS, **options) == written
    assert torch.equal(after.source, before.source)
    assert (after.target > 0).all() and (before.target.triu(1) == 0).all()


def test_without_a_sublayer_the_stream_passes_it_unchanged():
    block = randomise(EncoderBlock(**SIZES).double())
    (x,) = draw(5, (2, 5, 12))
    with without(block.feed_forward):
        attended, _ = block(x)
    update, _ = block.self_attention(block.attention_residual.before(x))
    torch.testing.assert_close(attended, x + update)
    with without(block.feed_forward, block.self_attention):
        assert torch.equal(block(x)[0], x)
        assert block(x, need_weights=True)[1].sum(-1).allclose(torch.ones(()).double())


def test_a_sublayer_is_left_out_for_the_tokens_that_are_named():
    model = make_language_model()
    block, (x,) = model.blocks[0], draw(7, (2, 5, 16))
    whole = block(x)[0]
    with without(block.attention, block.feed_forward, tokens=[0, 3]):
        changed = block(x)[0]
    assert torch.equal(changed[:, [0, 3]], x[:, [0, 3]])
    assert torch.equal(changed[:, [1, 2, 4]], whole[:, [1, 2, 4]])
    with without(block.attention, block.feed_forward, tokens=slice(1, None)):
        assert torch.equal(block(x)[0][:, 1:], x[:, 1:])


def test_keys_and_values_are_replaced_and_the_weights_of_their_block_stay():
    model = make_language_model()
    _, before = model(TOKENS, need_weights=True)
    seen = []

    def change(layer, key, value):
        seen.append((layer, key.shape, value.shape))
        return worthless(layer, key, value)

    with keys_and_values(model.blocks[0], change=change):
        _, maps = model(TOKENS, need_weights=True)
    assert seen == [(model.blocks[0].attention, (2, 2, 6, 4), (2, 2, 6, 4))]
    assert torch.equal(maps[0], before[0]) and not torch.allclose(maps[1], before[1])


@pytest.mark.parametrize("norm_first", [False, True])
def test_without_the_residual_an_update_stands_alone(norm_first):
    block = randomise(EncoderBlock(norm_first=norm_first, **SIZES).double())
    first, second = block.attention_residual.norm, block.feed_forward_residual.norm
    (x,) = draw(5, (2, 5, 12))
    with without_residual(block):
        found, _ = block(x)
    if norm_first:
        expected = block.feed_forward(second(block.self_attention(first(x))[0]))
    else:
        expected = second(block.feed_forward(first(block.self_attention(x)[0])))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("norm_first", [False, True])
def test_without_norms_the_model_is_one_that_has_none(norm_first):
    model = make(norm_first=norm_first)
    other = deepcopy(model)
    for part in list(other.modules()):
        for name, child in part.named_children():
            if isinstance(child, nn.LayerNorm):
                setattr(part, name, nn.Identity())
    with without_norm(model):
        torch.testing.assert_close(logits(model), logits(other))


def test_positions_are_left_out_or_shuffled_on_the_side_that_is_named():
    model = make()
    other = deepcopy(model)
    other.source_embedding.positions = None
    rotating = make_language_model()
    still = deepcopy(rotating)
    still.rotary_base = None
    with without_positions(model.source_embedding, rotating):
        torch.testing.assert_close(logits(model), logits(other))
        assert torch.equal(rotating(TOKENS)[0], still(TOKENS)[0])
    embedding = model.target_embedding
    table = embedding.positions(torch.zeros(5, 12).double())
    words = embedding(TARGET) - table[:4]
    with shuffled_positions(embedding, order=ORDER):
        torch.testing.assert_close(embedding(TARGET), words + table[ORDER[:4]])
        torch.testing.assert_close(embedding(TARGET[:, 2:], 2), (words + table[ORDER[:4]])[:, 2:])
    with shuffled_positions(embedding, order=[1, 0]):  # the others stay
        torch.testing.assert_close(embedding(TARGET), words + table[[1, 0, 2, 3]])
        assert embedding(TARGET[:, :0]).shape == (2, 0, 12)


def test_what_cannot_be_changed_is_an_error_with_the_values():
    model = make()
    block = model.encoder[0]
    for intervention, says in (
        (without_heads(block.self_attention, [0, 3]), r"from 0 to 2: got \[3\]"),
        (attention_weights(model, change=uniform, heads=[-1]), r"from 0 to 2: got \[-1\]"),
        (divisor(block.feed_forward, number=1.0), "no attention within FeedForward"),
        (divisor(model, number=0.0), "above 0: got 0.0"),
        (divisor(model, number=math.inf), "above 0: got inf"),
        (without_norm(nn.Embedding(2, 2)), "no norm within Embedding"),
        (without_residual(), "no residual stream within nothing"),
        (without_positions(block), "no part with positions within EncoderBlock"),
        (shuffled_positions(model, order=[0, 2, 2]), r"0 to 2 once: got \[0, 2, 2\]"),
        (broken(model, cross_heads_off="off"), "_heads_off must be a list of heads: got 'off'"),
    ):
        with pytest.raises(ValueError, match=says), intervention:
            pass


# the language model, whose heads share keys and whose positions turn queries and keys

TOKENS = draw_tokens(3, (2, 6), 11)


def make_language_model(num_layers=2):
    sizes = {"d_model": 16, "num_heads": 4, "num_kv_heads": 2, "d_ff": 20}
    model = LanguageModel(vocabulary_size=11, num_layers=num_layers, **sizes)
    return randomise(model.double()).eval()


IN_A_LANGUAGE_MODEL = {
    "uniform weights of a head": lambda m: attention_weights(
        m.blocks[-1], change=uniform, heads=[2]
    ),
    "permuted weights": lambda m: attention_weights(m, change=permuted(0)),
    "no divisor": lambda m: divisor(m, number=1.0),
    "no value of a token": lambda m: keys_and_values(m, change=worthless),
    "no causal mask": lambda m: without_causal_mask(m),
    "a head less": lambda m: without_heads(m.blocks[0].attention, [3]),
    "no attention": lambda m: without(m.blocks[0].attention),
    "no feed-forward": lambda m: without(m.blocks[-1].feed_forward),
    "no feed-forward for a token": lambda m: without(m.blocks[0].feed_forward, tokens=[0]),
    "no residual": lambda m: without_residual(m),
    "no norm": lambda m: without_norm(m),
    "no positions": lambda m: without_positions(m),
}


@pytest.mark.parametrize("name", IN_A_LANGUAGE_MODEL)
def test_a_language_model_is_changed_and_nothing_is_left_behind(name):
    model = make_language_model()
    before = model(TOKENS)[0]
    with pytest.raises(KeyError), IN_A_LANGUAGE_MODEL[name](model):
        inside, found = model(TOKENS, need_weights=True)
        assert not torch.allclose(inside, before, atol=1e-3)
        assert found.shape == (2, 2, 4, 6, 6)
        torch.testing.assert_close(model(TOKENS)[0], inside)
        # with a cache the first token of a step is another, and there are other weights to deal
        if name not in ("no causal mask", "permuted weights") and "token" not in name:
            written = list(generate(model, [3, 4], max_new_tokens=5))
            assert written == list(generate(model, [3, 4], max_new_tokens=5, cached=False))
        raise KeyError
    assert torch.equal(model(TOKENS)[0], before)


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize("name", [*IN_A_LANGUAGE_MODEL, "shuffled positions"])
@torch.no_grad()
def test_a_compiled_model_is_changed_as_well_and_changed_back(name):
    torch.compiler.reset()
    if name in IN_A_LANGUAGE_MODEL:
        model, inputs = make_language_model(num_layers=1), (TOKENS,)
        intervention = IN_A_LANGUAGE_MODEL[name]
    else:
        model, inputs, intervention = make(num_layers=1), (SOURCE, TARGET, LENGTHS), ALL[name]
    before = model(*inputs)[0]
    compiled = torch.compile(model, backend="eager")
    torch.testing.assert_close(compiled(*inputs)[0], before)
    with intervention(model):
        changed = model(*inputs)[0]
        torch.testing.assert_close(compiled(*inputs)[0], changed)
    assert not torch.allclose(changed, before)
    torch.testing.assert_close(compiled(*inputs)[0], before)


def test_permuted_weights_are_the_same_in_another_order_where_masks_allow():
    model = make_language_model()
    before = model(TOKENS, need_weights=True)[1][0]
    with attention_weights(model.blocks[0], change=permuted(1)):
        after = model(TOKENS, need_weights=True)[1][0]
    assert after.triu(1).max() == 0 and not torch.allclose(before, after, atol=1e-2)
    torch.testing.assert_close(before.sort(dim=-1).values, after.sort(dim=-1).values)
    with attention_weights(model.blocks[0], change=permuted(2)):
        assert not torch.equal(after, model(TOKENS, need_weights=True)[1][0])
