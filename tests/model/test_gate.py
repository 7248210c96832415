"""The gate: every public part of the model works wherever PyTorch's ecosystem takes it.

Compilers, exporters, other devices, function transforms: each check runs on every part of
``PARTS`` to which it can apply.
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
from torch.overrides import TorchFunctionMode
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

pytestmark = pytest.mark.usefixtures("no_shape_checks")  # a compiler would trace the checks, too


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


def tokens(count, *, lengths=False):
    def draw(batch, length):
        inputs = [draw_tokens(i, (batch, length), WORDS) for i in range(count)]
        if lengths:
            inputs.append(torch.arange(batch) % length + 1)
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


def parts(check):
    return pytest.mark.parametrize(
        "part",
        [pytest.param(part, id=name) for name, part in PARTS.items() if check not in part.cannot],
    )


def make(part):
    torch.manual_seed(0)
    return randomise(part.make()).eval()


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@parts("compile")
def test_compiled_as_one_graph_it_computes_the_same(part):
    torch.compiler.reset()
    module = make(part)
    compiled = torch.compile(module, fullgraph=True, backend="eager")
    for batch, length in ((2, 3), (4, 7)):
        inputs = part.inputs(batch, length)
        if "compiled gradients" not in part.cannot:
            inputs = [x.requires_grad_() if x.is_floating_point() else x for x in inputs]
        outputs = [compiled(*inputs), module(*inputs)]
        close(*outputs)
        trained = [*module.parameters(), *(x for x in inputs if x.requires_grad)]
        if trained:
            close(*(torch.autograd.grad(first_of(x).square().sum(), trained) for x in outputs))


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
    if isinstance(module, Function | Weighing):  # these take ``*inputs``
        shapes = [tuple(shapes)]
    exported = torch.export.export(module, tuple(inputs), dynamic_shapes=tuple(shapes))
    for inputs in (other, part.inputs(2, 9)):
        close(exported.module()(*inputs), module(*inputs))


@parts("meta")
def test_made_without_memory_it_takes_weights_by_assignment(part):
    module, inputs = make(part), part.inputs(3, 4)
    with torch.device("meta"):
        empty = part.make()
    empty.load_state_dict(module.state_dict(), assign=True)
    close(empty.eval()(*inputs), module(*inputs))
    assert len([*empty.parameters()]) == len([*module.parameters()])  # what was tied still is


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


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # of the CPU's fused kernel
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
    for length in (4, 1):
        assert first_of(module(*part.inputs(0, length))).shape[:1] in ((0,), ())
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


INTERVENTIONS = {
    "uniform weights": lambda model: attention_weights(model, change=uniform),
    "another divisor": lambda model: divisor(model, number=1.0),
    "no causal mask": lambda model: without_causal_mask(model),
    "a head less": lambda model: without_heads(found(model, MultiHeadAttention)[0], [1]),
    "no feed-forward": lambda model: without(*found(model, FeedForward | GatedFeedForward)),
    "no residual": lambda model: without_residual(model),
    "no norm": lambda model: without_norm(model),
    "no positions": lambda model: without_positions(model),
}


def found(model, kind):
    return [part for part in model.modules() if isinstance(part, kind)]


@pytest.mark.parametrize("intervention", INTERVENTIONS.values(), ids=INTERVENTIONS)
@pytest.mark.parametrize("name", ["Transformer", "LanguageModel"])
def test_interventions_work_on_a_compiled_model_and_end(name, intervention):
    torch.compiler.reset()
    module, inputs = make(PARTS[name]), PARTS[name].inputs(2, 5)
    before = first_of(module(*inputs))
    compiled = torch.compile(module, backend="eager")
    close(first_of(compiled(*inputs)), before)
    with intervention(module):
        changed = first_of(module(*inputs))
        assert not torch.allclose(changed, before)
        close(first_of(compiled(*inputs)), changed)
    close(first_of(compiled(*inputs)), before)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_a_compiled_model_trains():
    torch.compiler.reset()
    pairs = [([4, 5, 6][: n % 3 + 1], [7, 8][: n % 2 + 1]) for n in range(8)]
    histories = []
    for compiles in (False, True):
        torch.manual_seed(0)
        trained = model()
        if compiles:
            trained.hidden = torch.compile(trained.hidden, fullgraph=True, backend="eager")
        options = {"steps": 5, "peak_rate": 0.01, "warmup": 1, "progress": False}
        histories.append(train(trained, lambda step: pairs[step:], **options)["losses"])
    close(*map(torch.tensor, histories))


def test_a_cached_step_is_compiled_for_any_number_of_tokens():
    torch.compiler.reset()
    counter = torch._dynamo.testing.CompileCounter()
    written = language_model().eval()
    expected = list(generate(written, [3, 4], max_new_tokens=12))
    written.hidden = torch.compile(written.hidden, fullgraph=True, backend=counter)
    assert list(generate(written, [3, 4], max_new_tokens=12)) == expected
    assert counter.frame_count <= 4  # the prompt, the first new token, and all others


class Operators(TorchDispatchMode):
    """Counts operators that read the device, unless their call is counted already."""

    READS = (
        torch.ops.aten._local_scalar_dense.default,
        torch.ops.aten.nonzero.default,
        torch.ops.aten.equal.default,
        torch.ops.aten.allclose.default,
        torch.ops.aten.masked_select.default,
        torch.ops.aten._unique2.default,
        torch.ops.aten.repeat_interleave.Tensor,
    )
    count, pause = 0, False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        reads = function in self.READS
        if function in (
            torch.ops.aten.index.Tensor,
            torch.ops.aten.index_put_.default,
        ):  # a mask selects as many rows as it has True
            reads = any(x is not None and x.dtype == torch.bool for x in args[1])
        self.count += reads and not self.pause
        return function(*args, **(kwargs or {}))


class Calls(TorchFunctionMode):
    """Counts calls that hand out a tensor's numbers: on a GPU, the CPU would have to wait."""

    READS = (Tensor.item, Tensor.tolist, Tensor.numpy, Tensor.cpu, Tensor.__bool__, Tensor.__int__)
    count = 0

    def __init__(self, operators):
        super().__init__()
        self.operators = operators

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.count += function in self.READS
        self.operators.pause = function in self.READS
        try:
            return function(*args, **(kwargs or {}))
        finally:
            self.operators.pause = False


def reads(call):
    with Operators() as operators, Calls(operators) as calls:
        call()
    return operators.count + calls.count


def test_the_counter_sees_a_read():
    x = torch.arange(3)
    calls = [lambda: x[0].item(), lambda: bool(x[0]), lambda: x[x > 1], x.tolist, x.numpy, x.cpu]
    assert [reads(call) for call in calls] == [1] * 6
    assert reads(lambda: torch.equal(x, x + 1)) == 1 and reads(lambda: x.max()) == 0


@pytest.mark.parametrize("name", ["Transformer, lengths", "LanguageModel"])
@pytest.mark.parametrize(
    ("steps", "log_interval", "expected"), [(9, 10, 1), (9, 3, 3), (60, 20, 3)]
)
def test_a_training_reads_the_device_only_every_log_interval(name, steps, log_interval, expected):
    pairs = [([4, 5, 6][: n % 3 + 1], [7, 8][: n % 2 + 1]) for n in range(8)]
    options = {"steps": steps, "peak_rate": 0.01, "warmup": 1, "progress": False}
    trained = make(PARTS[name])
    assert (
        reads(lambda: train(trained, lambda step: pairs, log_interval=log_interval, **options))
        == expected
    )


@pytest.mark.parametrize("beam_size", [None, 1, 4])
def test_a_search_reads_the_device_once_for_each_token(beam_size):
    part = PARTS["Transformer, lengths"]
    module, (source, _, lengths) = make(part), part.inputs(3, 4)
    options = {
        "start_token": 1,
        "end_token": WORDS,
        "max_length": 6,
    }  # an end token that is never written

    def search():
        if beam_size is None:
            return greedy_search(module, source, lengths, **options)
        return beam_search(module, source, lengths, beam_size=beam_size, **options)

    assert {len(written) for written in search()} == {6}
    assert reads(search) <= 6 + (beam_size is None)  # greedy search reads what it wrote at the end


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_language_model_reads_the_device_once_for_each_token(temperature):
    module = make(PARTS["LanguageModel"])
    options = {"max_new_tokens": 6, "temperature": temperature}
    assert reads(lambda: list(generate(module, [3, 4], **options))) == 6
