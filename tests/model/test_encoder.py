"""The encoder: its parts against formulas, its padding, and the vectors that it makes of texts."""

import pytest
import torch
import torch.nn.functional as F

from attnbook.encoder import Encoder, embed
from attnbook.interventions import (
    attention_weights,
    divisor,
    shuffled_positions,
    uniform,
    without,
    without_heads,
    without_norm,
    without_positions,
)
from attnbook.pytorch import to_pytorch
from attnbook.text_tokenizers import WordPieceTokenizer
from model.tensors import draw_tokens, randomise

TOKENS = draw_tokens(0, (2, 5), 11)


def make(**options):
    options = {
        "vocabulary_size": 11,
        "d_model": 16,
        "num_heads": 4,
        "num_layers": 2,
        "d_ff": 20,
        "max_length": 8,
    } | options
    return randomise(Encoder(**options).double()).eval()


class Letters(WordPieceTokenizer):
    """A tokenizer that knows 7 letters, between 1 and 2."""

    def __init__(self):
        pass

    def encode(self, text):
        return [1, *(3 + "abcdefg".index(letter) for letter in text), 2]


def test_it_is_pytorchs_blocks_above_a_sum_of_three_vectors():
    model, types = make(epsilon=0.1), torch.tensor([[0, 0, 1, 1, 1], [0, 1, 0, 1, 0]])
    x = model.embedding.weight[TOKENS] + model.positions.table[:5] + model.token_types.weight[types]
    x = F.layer_norm(x, (16,), model.norm.weight, model.norm.bias, 0.1)
    for block in model.blocks:
        x = to_pytorch(block)(x)
    torch.testing.assert_close(model(TOKENS, token_types=types)[0], x)
    zeros = torch.zeros_like(types)
    torch.testing.assert_close(model(TOKENS)[0], model(TOKENS, token_types=zeros)[0])


def test_maps_are_asked_for_and_padding_changes_nothing():
    model = make()
    vectors, maps = model(TOKENS, [5, 3], need_weights=True)
    assert maps.shape == (2, 2, 4, 5, 5) and maps[:, 1, :, :, 3:].max() == 0
    plain, none = model(TOKENS, torch.tensor([5, 3]))
    assert none is None
    torch.testing.assert_close(plain, vectors)
    torch.testing.assert_close(vectors[1:, :3], model(TOKENS[1:, :3])[0])


def test_bad_input_is_named():
    model = make()
    with pytest.raises(ValueError, match="max_length=8"):
        model(draw_tokens(0, (1, 9), 11))
    with pytest.raises(ValueError, match="2 sources and 1 lengths"):
        model(TOKENS, [5])
    with pytest.raises(ValueError, match="num_layers must be at least 1: got 0"):
        make(num_layers=0)
    with pytest.raises(TypeError, match="a list of texts: got the text 'abc'"):
        embed(model, Letters(), "abc")
    with pytest.raises(ValueError, match="batch_size must be at least 1: got 0"):
        embed(model, Letters(), ["abc"], batch_size=0)


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_a_text_has_the_same_vector_alone_and_among_others(batch_size):
    model = make().train()  # its dropout must not matter
    texts = ["abc", "", "gfedcb", "a", "abc"]
    vectors = embed(model, Letters(), texts, batch_size=batch_size)
    assert model.training
    model.eval()
    for text, vector in zip(texts, vectors, strict=True):
        mean = model(torch.tensor([Letters().encode(text)]))[0][0].mean(dim=0)
        torch.testing.assert_close(vector, mean / mean.norm())
    assert embed(model, Letters(), []).shape == (0, 16)
    probe = torch.zeros(16, dtype=torch.double, requires_grad=True)
    (vectors @ probe).sum().backward()  # one can train on them


def test_a_long_text_is_cut_with_a_warning_and_keeps_its_end():
    model = make()
    with pytest.warns(UserWarning, match="text 1 has 12 tokens and is cut to 8"):
        _, vector = embed(model, Letters(), ["a", "abcabcabca"])
    mean = model(torch.tensor([[*Letters().encode("abcabc")]]))[0][0].mean(0)
    torch.testing.assert_close(vector, mean / mean.norm())


CHANGES = {
    "even weights": lambda m: attention_weights(m, change=uniform),
    "no divisor": lambda m: divisor(m, number=1.0),
    "no attention": lambda m: without(*(block.self_attention for block in m.blocks)),
    "no network": lambda m: without(m.blocks[0].feed_forward),
    "a head less": lambda m: without_heads(m.blocks[1].self_attention, [2]),
    "no norm": without_norm,
    "no positions": without_positions,
    "shuffled positions": lambda m: shuffled_positions(m, order=[4, 3, 2, 1, 0]),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.usefixtures("no_shape_checks")
@torch.no_grad()
def test_interventions_change_it_compiled_or_not_and_leave_nothing_behind(name):
    torch.compiler.reset()
    model = make()
    before = model(TOKENS)[0]
    compiled = torch.compile(model, backend="eager")
    with CHANGES[name](model):
        changed = model(TOKENS)[0]
        torch.testing.assert_close(compiled(TOKENS)[0], changed)
    assert not torch.allclose(changed, before, atol=1e-3)
    assert torch.equal(model(TOKENS)[0], before)


def test_without_positions_a_text_is_a_bag_of_tokens():
    model = make()
    with without_positions(model):
        one, other = embed(model, Letters(), ["abcde", "ecabd"])
    torch.testing.assert_close(one, other)
    one, other = embed(model, Letters(), ["abcde", "ecabd"])
    assert not torch.allclose(one, other, atol=1e-3)
