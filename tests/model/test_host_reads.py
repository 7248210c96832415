"""How often the CPU would have to wait for a GPU, because it reads one of its numbers."""

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from attnbook.decoding import beam_search, greedy_search
from attnbook.language_model import generate
from attnbook.training import train
from model.parts import PARTS, WORDS, make

pytestmark = pytest.mark.usefixtures("no_shape_checks")  # a compiler would trace the checks, too


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
    INDEXES = torch.ops.aten.index.Tensor, torch.ops.aten.index_put_.default
    count, pause = 0, False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        reads = function in self.READS
        if function in self.INDEXES:  # a mask selects as many rows as it has True
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
@pytest.mark.parametrize(("log_interval", "expected"), [(10, 1), (3, 3)])
def test_a_training_reads_the_device_only_every_log_interval(name, log_interval, expected):
    pairs = [([4, 5, 6][: n % 3 + 1], [7, 8][: n % 2 + 1]) for n in range(8)]
    options = {"steps": 9, "peak_rate": 0.01, "warmup": 1, "progress": False}
    options["log_interval"] = log_interval
    trained = make(PARTS[name])
    assert reads(lambda: train(trained, lambda step: pairs, **options)) == expected


@pytest.mark.parametrize("beam_size", [None, 4])
def test_a_search_reads_the_device_once_for_each_token(beam_size):
    part = PARTS["Transformer, lengths"]
    module, (source, _, lengths) = make(part), part.inputs(3, 4)
    options = {"start_token": 1, "end_token": WORDS, "max_length": 6}  # it never ends

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
