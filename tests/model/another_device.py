"""Every part of the model on a device that is not the CPU, with no such device at hand.

PyTorch lets a program register a device that is nothing but a name. Fake tensors on it have a dtype
and a shape but no numbers, and like a GPU's they refuse to meet a tensor that was left on the CPU.
``test_another_device.py`` runs these tests.
"""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.backend_registration import (
    _DummyBackendModule,
    _setup_privateuseone_for_python_backend,
)

from attnbook.positions import sinusoidal_positions
from model.parts import PARTS, WORDS, D, first_of, language_model, model


class Module(_DummyBackendModule):
    """What PyTorch asks about the device."""

    def get_amp_supported_dtype(self):
        return [torch.bfloat16]


@pytest.fixture(scope="module")
def elsewhere():
    """The device, which a process can register once."""
    _setup_privateuseone_for_python_backend("elsewhere", Module())
    return torch.device("elsewhere", 0)


def made(make, device):
    with torch.device(device):
        return make().eval()


@pytest.mark.parametrize(
    "part", [pytest.param(p, id=name) for name, p in PARTS.items() if "fake" not in p.cannot]
)
def test_no_part_leaves_a_tensor_on_the_cpu(part, elsewhere):
    with FakeTensorMode():
        module = made(part.make, elsewhere)
        # lengths stay on the CPU, where a batch keeps them
        inputs = [x if x.ndim == 1 else x.to(elsewhere) for x in part.inputs(3, 4)]
        inputs = [x.requires_grad_() if x.is_floating_point() else x for x in inputs]
        output = first_of(module(*inputs))
        assert output.device == elsewhere
        output.sum().backward()
        trained = [x for x in (*module.parameters(), *inputs) if x.requires_grad]
        assert trained and all(x.grad is None or x.grad.device == elsewhere for x in trained)


@torch.no_grad()
def test_a_translation_is_written_where_the_model_is(elsewhere):
    with FakeTensorMode():
        translator = made(model, elsewhere)
        source = torch.ones(3, 4, dtype=torch.int64, device=elsewhere)
        state = translator.prefill(source, torch.tensor([4, 2, 3]), max_length=5)
        state.repeat(2)
        for _ in range(3):
            scores = translator.decode_step(source.new_ones(6), state)
            state.reorder(source.new_zeros(6))
        assert scores.device == elsewhere and scores.shape == (6, WORDS)


@torch.no_grad()
def test_a_text_is_written_where_the_model_is(elsewhere):
    with FakeTensorMode():
        writer = made(language_model, elsewhere)
        past = writer.init_cache(1, max_length=9)
        for new in (4, 1, 3):  # the prompt, one token, several after it
            tokens = torch.ones(1, new, dtype=torch.int64, device=elsewhere)
            scores, maps = writer(tokens, past, need_weights=True)
        assert scores.device == maps.device == elsewhere
        assert sinusoidal_positions(4, D, device=elsewhere).device == elsewhere
