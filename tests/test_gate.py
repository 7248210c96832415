"""The gate: every public part of the model works wherever PyTorch's ecosystem takes it.

Compilers, exporters, other devices, function transforms: each check runs on each part of ``PARTS``.
"""

import copy
import io
import pickle
from dataclasses import dataclass, field
from functools import partial

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.func import functional_call, grad, vmap
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from attnbook import attention, positions
from attnbook.blocks import DecoderBlock, EncoderBlock, FeedForward
from attnbook.data import PAD
from attnbook.decoding import beam_search, greedy_search
from attnbook.interventions import (
    attention_weights,
    divisor,
    uniform,
    without,
    without_causal_mask,
    without_heads,
    without_norm,
    without_positions,
    without_residual,
)
from attnbook.language_model import GatedFeedForward, LanguageBlock, LanguageModel, generate
from attnbook.multihead import MultiHeadAttention, grouped_attention
from attnbook.seq2seq import Energy, Seq2Seq
from attnbook.training import smoothed_loss, train
from attnbook.transformer import Transformer
from shared import draw_tokens, randomise

D, WORDS = 12, 11
SIZES = {"d_model": D, "num_heads": 6, "d_ff": 20}

pytestmark = pytest.mark.usefixtures("no_shape_checks")  # which a compiler would trace, too


class Function(nn.Module):
    """A function as a module without parameters."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


@dataclass
class Part:
    """How a part is made, and inputs of it for a batch and a length; ``x`` is one of floats."""

    make: object
    inputs: object
    cannot: dict[str, str] = field(default_factory=dict)  # a check, and why it does not apply


def floats(*names):
    """Inputs of floats whose axes are named: b for the batch, n for the length, numbers as such."""

    def draw(batch, length):
        generator = torch.Generator().manual_seed(0)
        sizes = {"b": batch, "n": length}
        return [
            torch.randn(
                [
                    sizes.get(axis) or int(axis) if axis != "b" and axis != "n" else sizes[axis]
                    for axis in name.split()
                ],
                generator=generator,
            )
            for name in names
        ]

    return draw


def tokens(count, *, lengths=False, last=()):
    def draw(batch, length):
        inputs = [draw_tokens(i, (batch, length), WORDS) for i in range(count)]
        if lengths:
            inputs.append((torch.arange(batch) % length + 1))
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
    mask = attention.padding_mask(lengths, key.shape[-2]).unsqueeze(1)
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
    Transformer, source_size=WORDS, target_size=WORDS, num_layers=2, **SIZES, dropout=0.0
)
language_model = partial(
    LanguageModel, vocabulary_size=WORDS, num_layers=2, num_kv_heads=2, **SIZES
)
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
    "TokenEmbedding": Part(
        lambda: positions.TokenEmbedding(WORDS, D, positions=positions.SinusoidalPositions(D)),
        tokens(1),
    ),
    "TokenEmbedding, learned": Part(
        lambda: positions.TokenEmbedding(WORDS, D, positions=positions.LearnedPositions(16, D)),
        tokens(1),
    ),
    "MultiHeadAttention": Part(
        lambda: MultiHeadAttention(d_model=D, num_heads=6), floats("b n 12")
    ),
    "MultiHeadAttention, mask": Part(
        lambda: Masked(MultiHeadAttention(d_model=D, num_heads=6)), masked
    ),
    "MultiHeadAttention, grouped": Part(
        lambda: MultiHeadAttention(d_model=D, num_heads=6, num_kv_heads=2), floats("b n 12")
    ),
    "FeedForward": Part(lambda: FeedForward(d_model=D, d_ff=20), floats("b n 12")),
    "GatedFeedForward": Part(lambda: GatedFeedForward(d_model=D, d_ff=20), floats("b n 12")),
    "EncoderBlock": Part(lambda: EncoderBlock(**SIZES), floats("b n 12")),
    "EncoderBlock, post-norm": Part(
        lambda: EncoderBlock(**SIZES, norm_first=False), floats("b n 12")
    ),
    "DecoderBlock": Part(lambda: DecoderBlock(**SIZES), floats("b n 12", "b 5 12")),
    "LanguageBlock": Part(
        lambda: LanguageBlock(**SIZES, num_kv_heads=2, dropout=0.0, epsilon=1e-5),
        floats("b n 12"),
    ),
    "Transformer": Part(model, tokens(2)),
    "Transformer, lengths": Part(model, tokens(2, lengths=True)),
    "Transformer, weights": Part(lambda: Weighing(model()), tokens(2, lengths=True)),
    "Transformer, learned, tied": Part(partial(model, num_positions=16, tied=True), tokens(2)),
    "LanguageModel": Part(language_model, tokens(1)),
    "LanguageModel, no positions": Part(partial(language_model, rotary_base=None), tokens(1)),
    "Energy": Part(lambda: Energy("additive", D), floats("b n 12", "b 5 12")),
    "Seq2Seq": Part(
        lambda: Seq2Seq(source_size=WORDS, target_size=WORDS, d_model=D, energy="dot"),
        tokens(2, lengths=True),
        {
            "compile": NO_RNN,
            "export": NO_RNN,
            "fake": PACKED,
            "vmap": PACKED,
            "empty": PACKED,
            "half": "nn.GRU on a CPU has no half precision",
        },
    ),
    "smoothed_loss": Part(lambda: Function(smoothed_loss), loss_inputs),
}


class Masked(nn.Module):
    """Passes the mask by its name."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, mask):
        return self.layer(x, mask=mask)


class Weighing(nn.Module):
    """A model that is asked for its weights, which it returns as a tuple."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *inputs):
        logits, maps = self.model(*inputs, need_weights=True)
        return logits, maps.source, maps.target, maps.cross


def first_of(output):
    return output[0] if isinstance(output, tuple) else output


def close(a, b, tolerance=1e-5):
    torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def parts(check):
    return pytest.mark.parametrize(
        "part",
        [pytest.param(part, id=name) for name, part in PARTS.items() if check not in part.cannot],
    )


def make(part):
    return randomise(part.make()).eval()


@parts("compile")
def test_compiled_as_one_graph_it_computes_the_same(part):
    torch.compiler.reset()
    module = make(part)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    for batch, length in ((2, 3), (3, 4), (4, 7)):
        inputs = part.inputs(batch, length)
        close(compiled(*inputs), module(*inputs))


@parts("export")
def test_exported_it_takes_any_batch_and_any_length(part):
    module, inputs = make(part), part.inputs(3, 4)
    batch, length = (
        torch.export.Dim("batch", min=2, max=64),
        torch.export.Dim("length", min=2, max=16),
    )
    sizes = {3: batch, 4: length}
    other = part.inputs(5, 7)
    shapes = [
        {
            i: sizes[old]
            for i, (old, new) in enumerate(zip(a.shape, b.shape, strict=True))
            if old != new
        }
        for a, b in zip(inputs, other, strict=True)
    ]
    if isinstance(module, Function | Masked | Weighing | Transformer):
        shapes = shapes
    exported = torch.export.export(
        module, tuple(inputs), dynamic_shapes=as_parameters(module, shapes)
    )
    for inputs in (other, part.inputs(2, 9)):
        close(exported.module()(*inputs), module(*inputs))


def as_parameters(module, shapes):
    import inspect

    names = list(inspect.signature(module.forward).parameters.values())
    if names[0].kind == inspect.Parameter.VAR_POSITIONAL:
        return (tuple(shapes),)
    return tuple(shapes)


@parts("meta")
def test_made_without_memory_it_takes_weights_by_assignment(part):
    module, inputs = make(part), part.inputs(3, 4)
    with torch.device("meta"):
        empty = part.make()
    empty.load_state_dict(module.state_dict(), assign=True)
    close(empty.eval()(*inputs), module(*inputs))


@parts("fake")
def test_fake_tensors_leave_no_trace_in_later_calls(part):
    module, inputs = make(part), part.inputs(3, 4)
    expected = module(*inputs)
    fresh = make(part)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        imagined = first_of(fresh(*(mode.from_tensor(x) for x in inputs)))
        assert isinstance(imagined, FakeTensor) and imagined.shape == first_of(expected).shape
    close(fresh(*inputs), expected)
    assert type(first_of(fresh(*inputs))) is Tensor


@parts("vmap")
def test_the_gradients_of_each_example_come_from_one_call(part):
    module, inputs = make(part), part.inputs(3, 4)
    weights = dict(module.named_parameters()) or {"0": torch.zeros(())}

    def loss(weights, *example):
        if "0" in weights and not dict(module.named_parameters()):
            example = [x + weights["0"] if x.is_floating_point() else x for x in example]
            return first_of(module(*example)).square().sum()
        return first_of(functional_call(module, weights, tuple(example))).square().sum()

    shared = [x.shape[:1] != (3,) for x in inputs]
    examples = [x if same else x.unsqueeze(1) for x, same in zip(inputs, shared, strict=True)]
    axes = (None, *(None if same else 0 for same in shared))
    together = vmap(grad(loss), axes)(weights, *examples)
    for i in range(3):
        one = [x if same else x[i] for x, same in zip(examples, shared, strict=True)]
        alone = grad(loss)(weights, *one)
        for name in weights:
            close(together[name][i], alone[name], 1e-4)


@parts("empty")
def test_a_batch_of_none_and_the_shortest_texts_work(part):
    module = make(part)
    assert first_of(module(*part.inputs(0, 4))).numel() in (0, 1)
    output = first_of(module(*part.inputs(1, 1)))
    assert output.numel() and output.isfinite().all()


@parts("half")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_computes_nearly_the_same(part, dtype):
    module, inputs = make(part), part.inputs(3, 4)
    halved = [x.to(dtype) if x.is_floating_point() else x for x in inputs]
    output, expected = first_of(copy.deepcopy(module).to(dtype)(*halved)), first_of(module(*inputs))
    assert output.dtype in (dtype, torch.float32) and output.isfinite().all()
    error = (output.float() - expected).norm() / expected.norm()
    assert error < (0.03 if dtype == torch.bfloat16 else 0.004)


@parts("copy")
def test_it_can_be_pickled_and_copied(part):
    module, inputs = make(part), part.inputs(3, 4)
    expected = module(*inputs)
    if not isinstance(module, Function):
        close(pickle.loads(pickle.dumps(module))(*inputs), expected)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other = part.make().eval()
    other.load_state_dict(torch.load(file))
    close(other(*inputs), expected)
    close(copy.deepcopy(module)(*inputs), expected)


@parts("checkpointing")
def test_recomputed_on_the_way_back_it_has_the_same_gradients(part):
    module, inputs = make(part), part.inputs(3, 4)
    inputs = [x.requires_grad_() if x.is_floating_point() else x for x in inputs]
    trained = [*module.parameters(), *(x for x in inputs if x.requires_grad)]
    gradients = [
        torch.autograd.grad(first_of(output).square().sum(), trained)
        for output in (checkpoint(module, *inputs, use_reentrant=False), module(*inputs))
    ]
    close(*gradients)
