"""The whole Transformer against nn.Transformer, its maps, and its independence of company."""

import pytest
import torch

from attnbook.attention import causal_mask
from attnbook.positions import LearnedPositions, SinusoidalPositions
from attnbook.pytorch import to_pytorch
from attnbook.transformer import Transformer
from model.tensors import draw_tokens, randomise


def make(**options):
    options = {
        "source_size": 11,
        "target_size": 9,
        "d_model": 12,
        "num_heads": 3,
        "num_layers": 2,
        "d_ff": 20,
        "dropout": 0.0,
    } | options
    return randomise(Transformer(**options).double())


@pytest.mark.parametrize("norm_first", [False, True])
def test_equals_pytorchs_own_forward_and_backward(norm_first):
    ours = make(norm_first=norm_first)
    theirs = to_pytorch(ours)
    source, target = draw_tokens(0, (3, 6), 11), draw_tokens(1, (3, 4), 9)
    lengths = torch.tensor([6, 1, 4])
    padding = torch.arange(6) >= lengths[:, None]
    logits, _ = ours(source, target, lengths)
    hidden = theirs(
        ours.source_embedding(source),
        ours.target_embedding(target),
        tgt_mask=~causal_mask(4),
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
    )
    expected = hidden @ ours.output.weight.mT
    torch.testing.assert_close(logits, expected)

    around = [
        ours.source_embedding.token.weight,
        ours.target_embedding.token.weight,
        ours.output.weight,
    ]
    within = [
        [p for name, p in model.named_parameters() if name.startswith(("encoder", "decoder"))]
        for model in (ours, theirs)
    ]
    gradients = torch.autograd.grad((logits**2).sum(), around + within[0])
    wanted = torch.autograd.grad((expected**2).sum(), around + within[1])
    torch.testing.assert_close(gradients[:3], wanted[:3])
    lengths = [sum((g**2).sum() for g in some[3:]) for some in (gradients, wanted)]
    torch.testing.assert_close(*lengths)


def test_maps_are_given_for_every_layer_and_head_on_request():
    model = make(num_layers=3)
    source, target = draw_tokens(0, (2, 6), 11), draw_tokens(1, (2, 4), 9)
    lengths = torch.tensor([6, 2])
    plain, none = model(source, target, lengths)
    logits, maps = model(source, target, lengths, need_weights=True)
    assert none is None
    torch.testing.assert_close(logits, plain)
    assert maps.source.shape == (3, 2, 3, 6, 6)
    assert maps.target.shape == (3, 2, 3, 4, 4)
    assert maps.cross.shape == (3, 2, 3, 4, 6)
    for weights in (maps.source, maps.target, maps.cross):
        sums = weights.sum(dim=-1)
        torch.testing.assert_close(sums, torch.ones_like(sums))
    assert (maps.source[:, 1, ..., 2:] == 0).all()
    assert (maps.cross[:, 1, ..., 2:] == 0).all()
    assert (maps.target.triu(1) == 0).all()
    assert not torch.equal(maps.cross[0], maps.cross[1])


def test_tied_embeddings_are_one_matrix():
    model = make(source_size=9, tied=True)
    assert model.output.weight is model.target_embedding.token.weight
    assert model.output.weight is model.source_embedding.token.weight
    untied = make(source_size=9)
    count, more = (sum(p.numel() for p in m.parameters()) for m in (model, untied))
    assert more - count == 2 * 9 * 12
    untied.load_state_dict(model.state_dict())
    source, target = draw_tokens(0, (2, 6), 9), draw_tokens(1, (2, 4), 9)
    torch.testing.assert_close(model(source, target)[0], untied(source, target)[0])
    with pytest.raises(ValueError, match="source_size=11 and target_size=9"):
        make(tied=True)


def test_positions_are_learned_when_a_length_is_given():
    model = make(num_positions=5)
    for embedding in (model.source_embedding, model.target_embedding):
        assert isinstance(embedding.positions, LearnedPositions)
        assert embedding.positions.table.shape == (5, 12)
    with pytest.raises(ValueError, match=r"max_length=5 learned.*: got 6"):
        model(draw_tokens(0, (1, 6), 11), draw_tokens(0, (1, 2), 9))
    assert isinstance(make().target_embedding.positions, SinusoidalPositions)


def test_a_fresh_model_knows_nothing_but_is_not_far_off():
    torch.manual_seed(0)
    model = Transformer(
        source_size=300, target_size=200, d_model=64, num_heads=4, num_layers=2, d_ff=128
    )
    assert model.output.bias is None and model.encoder[0].attention_residual.norm_first
    source, target = draw_tokens(0, (8, 9), 300), draw_tokens(1, (8, 9), 200)
    logits, _ = model(source, target)
    assert 0.7 < logits.std() < 1.3
    again, _ = model(source, target)
    assert not torch.equal(logits, again)  # dropout, 0.1 by default
    dropouts = {m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)}
    assert dropouts == {0.1}


@torch.no_grad()
def test_one_token_at_a_time_gives_the_same_scores_as_all_at_once():
    model = make()
    source, target = draw_tokens(0, (3, 5), 11), draw_tokens(1, (3, 7), 9)
    lengths = torch.tensor([5, 1, 3])
    expected, _ = model(source, target, lengths)
    calls = []  # keys and values of the source are computed once
    for block in model.decoder:
        for linear in (block.cross_attention.k_proj, block.cross_attention.v_proj):
            linear.register_forward_hook(lambda *_: calls.append(1))
    state = model.prefill(source, lengths, max_length=7)
    for t in range(7):
        torch.testing.assert_close(model.decode_step(target[:, t], state), expected[:, t])
    assert len(calls) == 2 * len(model.decoder)


@pytest.mark.usefixtures("no_shape_checks")
def test_every_source_needs_a_length_and_a_target_and_every_model_a_layer():
    with pytest.raises(ValueError, match="num_layers must be at least 1: got 0"):
        make(num_layers=0)
    model = make()
    source, target = draw_tokens(0, (2, 6), 11), draw_tokens(1, (2, 4), 9)
    with pytest.raises(ValueError, match="2 sources and 1 lengths"):
        model(source, target, torch.tensor([6]))
    with pytest.raises(ValueError, match="same batch size: got 2 and 1"):
        model(source[:1], target)
