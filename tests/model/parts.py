"""Parts of the model, each with inputs of any size, and what cannot apply to it.

A module that is whole inside another one, such as a feed-forward network, is checked in that one.
"""

from dataclasses import dataclass, field
from functools import partial

import torch
from torch import nn

from attnbook import attention, positions
from attnbook.blocks import EncoderBlock
from attnbook.data import PAD
from attnbook.encoder import Encoder
from attnbook.language_model import LanguageModel
from attnbook.multihead import MultiHeadAttention, grouped_attention
from attnbook.seq2seq import ENERGIES, Energy, Seq2Seq
from attnbook.training import smoothed_loss
from attnbook.transformer import Transformer
from model.tensors import draw_tokens, randomise

D, WORDS = 12, 11
SIZES = {"d_model": D, "num_heads": 6, "d_ff": 20}


class Function(nn.Module):
    """A function as a module without parameters."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


@dataclass
class Part:
    """How to make a part, and how to draw its inputs for a batch size and a length."""

    make: object
    inputs: object
    cannot: dict[str, str] = field(default_factory=dict)  # a check, and why it does not apply


def floats(*names):
    """Inputs of floats whose axes are named: b for the batch, n for the length, numbers as such."""

    def draw(batch, length):
        generator = torch.Generator().manual_seed(0)
        sizes = {"b": batch, "n": length}
        shapes = [[sizes[a] if a in sizes else int(a) for a in name.split()] for name in names]
        return [torch.randn(shape, generator=generator) for shape in shapes]

    return draw


def tokens(count, *, shortest=None):
    """Tokens, and the lengths of texts if the shortest one's is given."""

    def draw(batch, length):
        inputs = [draw_tokens(i, (batch, length), WORDS) for i in range(count)]
        if shortest is not None:
            inputs.append(torch.arange(batch) % length + shortest)
        return inputs

    return draw


def masked(batch, length):
    (x,) = floats("b n 12")(batch, length)
    return [x, torch.ones(batch, length, length, dtype=torch.bool).tril()]


def causal(query, key, value):
    return attention.attention(query, key, value, causal=True)


def with_weights(query, key, value):
    return attention.attention(query, key, value, need_weights=True)


def padded(query, key, value, lengths):
    mask = attention.padding_mask(lengths, key.shape[-2], device=key.device).unsqueeze(1)
    return attention.attention(query, key, value, mask)


def with_lengths(batch, length):
    return [*floats(*["b 2 n 4"] * 3)(batch, length), torch.arange(batch) % length + 1]


def loss_inputs(batch, length):
    hidden, weight = floats("b n 12", "11 12")(batch, length)
    target = draw_tokens(0, (batch, length), WORDS)
    target[:, 1:].masked_fill_(target[:, 1:] == 3, PAD)
    return [hidden, weight, target]


NO_RNN = "Dynamo and export do not trace nn.GRU"
PACKED = "packed sequences of nn.GRU need lengths that the CPU can read"
model = partial(
    Transformer, source_size=WORDS, target_size=WORDS, num_layers=1, **SIZES, dropout=0.0
)
language_model = partial(
    LanguageModel, vocabulary_size=WORDS, num_layers=1, num_kv_heads=2, **SIZES
)
ENCODER = {"vocabulary_size": WORDS, "num_layers": 1, "max_length": 16, "dropout": 0.0} | SIZES
PARTS = {
    "attention": Part(lambda: Function(attention.attention), floats(*["b 2 n 4"] * 3)),
    "attention, causal": Part(lambda: Function(causal), floats(*["b 2 n 4"] * 3)),
    "attention, weights": Part(lambda: Function(with_weights), floats(*["b 2 n 4"] * 3)),
    "attention, lengths": Part(lambda: Function(padded), with_lengths),
    "linear_attention": Part(
        lambda: Function(attention.linear_attention), floats(*["b 2 n 4"] * 3)
    ),
    "grouped_attention": Part(
        lambda: Function(grouped_attention), floats("b 6 n 4", "b 2 n 4", "b 2 n 4")
    ),
    "rotary": Part(lambda: Function(positions.rotary), floats("b 2 n 4")),
    "MultiHeadAttention, mask": Part(
        lambda: Masked(MultiHeadAttention(d_model=D, num_heads=6)), masked
    ),
    "EncoderBlock, post-norm": Part(
        lambda: EncoderBlock(**SIZES, norm_first=False), floats("b n 12")
    ),
    "Encoder": Part(partial(Encoder, **ENCODER), tokens(1)),
    "Encoder, lengths": Part(partial(Encoder, **ENCODER), tokens(1, shortest=1)),
    "Transformer": Part(model, tokens(2)),
    "Transformer, lengths": Part(model, tokens(2, shortest=0)),
    "Transformer, weights": Part(lambda: Weighing(model()), tokens(2, shortest=0)),
    "Transformer, learned, tied": Part(partial(model, num_positions=16, tied=True), tokens(2)),
    "LanguageModel": Part(language_model, tokens(1)),
    "LanguageModel, no positions": Part(partial(language_model, rotary_base=None), tokens(1)),
    **{
        f"Energy, {kind}": Part(partial(Energy, kind, D), floats("b n 12", "b 5 12"))
        for kind in ENERGIES
    },
    "Seq2Seq": Part(
        lambda: Seq2Seq(source_size=WORDS, target_size=WORDS, d_model=D, energy="dot"),
        tokens(2, shortest=1),
        dict.fromkeys(("compile", "export"), NO_RNN)
        | dict.fromkeys(("fake", "vmap", "empty"), PACKED),
    ),
    "smoothed_loss": Part(
        lambda: Function(smoothed_loss),
        loss_inputs,
        {
            "export": "an exporter unrolls the loop over pieces, as many as the length asks for",
            "compiled gradients": "Dynamo does not trace the shape checks of an autograd.Function",
        },
    ),
}


class Masked(nn.Module):
    """Passes the mask by its name."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, mask):
        return self.layer(x, mask=mask)


class Weighing(nn.Module):
    """A model that is asked for its weights, too."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        return self.model(*inputs, need_weights=True)


def first_of(output):
    return output[0] if isinstance(output, tuple) else output


def close(a, b, tolerance=1e-5):
    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def make(part):
    torch.manual_seed(0)
    return randomise(part.make()).eval()
