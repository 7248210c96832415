"""The gate: every public part of the model works wherever PyTorch's ecosystem takes it.

Compilers, exporters, other devices, function transforms: each check runs on every part of
``PARTS`` to which it can apply.
"""

import copy
import io
import pickle

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.func import functional_call, grad, vmap
from torch.utils.checkpoint import checkpoint

from attnbook.language_model import generate
from attnbook.training import train
from model.parts import PARTS, Function, Weighing, close, first_of, language_model, make, model
from model.tensors import DEVICES

pytestmark = pytest.mark.usefixtures("no_shape_checks")  # a compiler would trace the checks, too


def parts(check):
    return pytest.mark.parametrize(
        "part",
        [pytest.param(part, id=name) for name, part in PARTS.items() if check not in part.cannot],
    )


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
    sizes = {
        3: torch.export.Dim("batch", min=2, max=64),
        4: torch.export.Dim("length", min=2, max=16),
    }
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


@parts("dtypes")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("dtype", "most"), [(torch.float32, 1e-5), (torch.bfloat16, 0.03), (torch.float16, 0.004)]
)
def test_in_every_dtype_it_computes_nearly_the_same(part, device, dtype, most):
    def cast(x, device, dtype):  # lengths stay on the CPU
        return x.to(device, dtype) if x.is_floating_point() else x if x.ndim == 1 else x.to(device)

    exact, inputs = make(part).double(), part.inputs(3, 4)
    expected = first_of(exact(*(cast(x, "cpu", torch.float64) for x in inputs)))
    module = copy.deepcopy(exact).to(device, dtype)
    output = first_of(module(*(cast(x, device, dtype) for x in inputs)))
    assert output.dtype in (dtype, torch.float32) and output.device.type == device
    error = (output.cpu().double() - expected).norm() / expected.norm()
    assert error < (most if output.dtype == dtype else max(most, 1e-5))
    if output.requires_grad:
        output.sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in module.parameters())


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
