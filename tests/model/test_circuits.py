"""What parts hand to each other: recorded outputs, circuits read from weights, sums that add up."""

import pytest
import torch
from torch import nn

from attnbook.circuits import attribution, head_updates, ov_circuit, qk_circuit, recorded
from attnbook.interventions import patched, patched_heads, without_heads
from attnbook.language_model import LanguageModel
from attnbook.multihead import MultiHeadAttention
from attnbook.transformer import Transformer
from model.tensors import draw, draw_tokens, randomise

SIZES = {"d_model": 16, "num_heads": 4, "num_layers": 2, "d_ff": 20}
TOKENS, OTHER = draw_tokens(1, (2, 5), 9), draw_tokens(2, (2, 5), 9)


def language_model():
    model = LanguageModel(vocabulary_size=9, num_kv_heads=2, **SIZES)
    return randomise(model.double()).eval(), (TOKENS,)


def translator(**options):
    model = Transformer(source_size=9, target_size=8, **SIZES, **options)
    return randomise(model.double()).eval(), (TOKENS, draw_tokens(3, (2, 4), 8))


MODELS = pytest.mark.parametrize("make", [language_model, translator])


def attention_of(**options):
    layer = MultiHeadAttention(d_model=16, num_heads=4, **options)
    return randomise(layer.double())


@MODELS
@pytest.mark.parametrize("place", [-1, 1])
def test_what_parts_add_to_a_logit_adds_up_to_it(make, place):
    model, inputs = make()
    for token in (0, 5):
        found = attribution(model, *inputs, token=token, place=place)
        total = torch.stack(list(found.values())).sum(dim=0)
        torch.testing.assert_close(total, model(*inputs)[0][:, place, token])


@MODELS
def test_a_head_of_the_last_block_adds_what_the_logit_loses_without_it(make):
    """Up to the last norm, which divides by the size of the whole stream."""
    model, inputs = make()
    last = model.decoder[-1] if make is translator else model.blocks[-1]
    norm = model.decoder_norm if make is translator else model.norm
    network = last.feed_forward  # would answer to a change
    with recorded(network, norm) as before:
        model(*inputs)
    layer = last.cross_attention if make is translator else last.attention
    name = "block 1 cross head 2" if make is translator else "block 1 head 2"
    added = attribution(model, *inputs, token=3)[name]
    with (
        patched(network, output=before[network]),
        recorded(norm, inputs=True) as with_it,
    ):
        model(*inputs)
        whole = with_it[norm]
        with without_heads(layer, [2]):
            model(*inputs)
    update = whole - with_it[norm]
    part = nn.functional.linear(
        (update - update.mean(-1, keepdim=True) if make is translator else update)[:, -1]
        * norm.weight,
        model.output.weight[3:4],
    )[:, 0]
    size = whole.var(-1, correction=0) if make is translator else whole.square().mean(-1)
    torch.testing.assert_close(added, part / (size[:, -1] + norm.eps).sqrt())


def test_post_norm_leaves_no_sum():
    model, inputs = translator(norm_first=False)
    with pytest.raises(ValueError, match="attribution needs a pre-norm model"):
        attribution(model, *inputs, token=3)


@pytest.mark.usefixtures("no_shape_checks")
def test_another_model_has_no_parts_with_names():
    with pytest.raises(ValueError, match="a LanguageModel or a Transformer: got Linear"):
        attribution(nn.Linear(2, 2), TOKENS, token=0)


@pytest.mark.parametrize("options", [{}, {"num_kv_heads": 2}])
def test_the_circuits_are_what_a_head_does(options):
    """A head that looks at one token alone adds that token times its OV circuit."""
    layer = attention_of(bias=False, **options)
    (x,) = draw(4, (1, 3, 16))
    query, (key, _) = layer._split(layer.q_proj(x)), layer.keys_and_values(x)
    for head in range(4):
        kv = head * len(key[0]) // 4
        scores = query[0, head] @ key[0, kv].T / layer.d_k**0.5
        torch.testing.assert_close(x[0] @ qk_circuit(layer, head) @ x[0].T, scores)
        alone = [h for h in range(4) if h != head]
        with without_heads(layer, alone):
            moved, _ = layer(x[:, :1])
        torch.testing.assert_close(x[:, :1] @ ov_circuit(layer, head), moved)


def test_heads_add_up_to_the_attention():
    layer = attention_of()
    (x,) = draw(5, (2, 3, 16))
    with recorded(layer.out_proj, inputs=True) as into, recorded(layer) as out:
        layer(x)
    heads = head_updates(layer, into[layer.out_proj])
    assert heads.shape == (2, 3, 4, 16)
    torch.testing.assert_close(heads.sum(dim=-2) + layer.out_proj.bias, out[layer])


@pytest.mark.parametrize("head", [-1, 4])
def test_a_head_that_is_not_there(head):
    for circuit in (qk_circuit, ov_circuit):
        with pytest.raises(ValueError, match=rf"from 0 to 3: got \[{head}\]"):
            circuit(attention_of(), head)


def test_patching_every_part_of_a_block_makes_it_that_of_the_other_text():
    model, _ = language_model()
    block = model.blocks[0]
    with recorded(block) as other:
        expected, _ = model(OTHER)
    with patched(block, output=other[block]):
        torch.testing.assert_close(model(TOKENS)[0], expected)
    with patched(block, output=other[block][:, 2:3], tokens=[2]), recorded(block) as mixed:
        model(TOKENS)
    assert (mixed[block][:, 2] == other[block][:, 2]).all()
    assert (mixed[block][:, [0, 1, 3, 4]] != other[block][:, [0, 1, 3, 4]]).any()


def test_patched_heads_hand_over_those_of_the_other_text():
    layer = attention_of()
    x, y = draw(6, (2, 3, 16), (2, 3, 16))
    with recorded(layer.out_proj, inputs=True) as other:
        layer(y)
    merged = other[layer.out_proj]
    with recorded(layer.out_proj, inputs=True) as own:
        layer(x)
    with patched_heads(layer, [0, 2], merged), recorded(layer) as mixed:
        layer(x)
    expected = own[layer.out_proj].clone()
    expected[..., :4], expected[..., 8:12] = merged[..., :4], merged[..., 8:12]
    torch.testing.assert_close(mixed[layer], layer.out_proj(expected))


@pytest.mark.usefixtures("no_shape_checks")
@MODELS
@torch.no_grad()
def test_a_compiled_model_is_recorded_and_patched_like_another(make):
    model, inputs = make()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    before, _ = compiled(*inputs)
    parts = [*(model.decoder if make is translator else model.blocks)]
    layer = parts[0].self_attention if make is translator else parts[0].attention
    with recorded(*parts) as expected:
        model(*inputs)
    with recorded(*parts) as found:
        compiled(*inputs)
    for part in parts:
        torch.testing.assert_close(found[part], expected[part])
    with patched_heads(layer, [1], torch.ones(1)):
        changed = compiled(*inputs)[0]
        torch.testing.assert_close(changed, model(*inputs)[0])
    assert not torch.allclose(changed, before)
    torch.testing.assert_close(compiled(*inputs)[0], before)
