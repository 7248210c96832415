"""Every part of the model on a GPU that is not there: fake tensors notice a wrong device.

    python3 -m venv cuda && cuda/bin/pip install torch numpy ... pytest hypothesis
    cuda/bin/python tests/model/fake_cuda.py

This needs PyTorch's CUDA build, several gigabytes, in an environment of its own, but no GPU. Its
fake tensors have a device, a dtype and a shape, but no numbers. So forward passes, attention
weights and decoding run; a backward pass needs a GPU.
"""

import sys
from pathlib import Path

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "code"), str(ROOT / "tests")]

from attnbook.positions import sinusoidal_positions  # noqa: E402
from model.parts import PARTS, WORDS, D, first_of, language_model, model  # noqa: E402

CUDA = torch.device("cuda")


def on_cuda(inputs):
    # lengths stay on the CPU, where a batch keeps them
    return [x if x.ndim == 1 else x.to(CUDA) for x in inputs]


def made(make):
    with torch.device(CUDA):
        return make().eval()


def forward(part):
    output = first_of(made(part.make)(*on_cuda(part.inputs(3, 4))))
    assert output.device.type == "cuda", output.device


def translate():
    translator = made(model)
    source = torch.ones(3, 4, dtype=torch.int64, device=CUDA)
    state = translator.prefill(source, torch.tensor([4, 2, 3]), max_length=5)
    state.repeat(2)
    for _ in range(3):
        scores = translator.decode_step(torch.ones(6, dtype=torch.int64, device=CUDA), state)
        state.reorder(torch.zeros(6, dtype=torch.int64, device=CUDA))
    assert scores.device.type == "cuda" and scores.shape == (6, WORDS)


def write():
    writer = made(language_model)
    past = writer.init_cache(1, max_length=9)
    for new in (4, 1, 3):  # the prompt, one token, several after it
        tokens = torch.ones(1, new, dtype=torch.int64, device=CUDA)
        scores, maps = writer(tokens, past, need_weights=True)
    assert scores.device == maps.device and scores.device.type == "cuda"


def positions():
    assert sinusoidal_positions(4, D, device=CUDA).device.type == "cuda"


def main():
    cannot = {name for name, part in PARTS.items() if "fake" in part.cannot}
    checks = {name: lambda part=part: forward(part) for name, part in PARTS.items()}
    checks |= {"translate step by step": translate, "write step by step": write}
    checks |= {"sinusoidal_positions": positions}
    failed = 0
    for name, check in checks.items():
        if name in cannot:
            print(f"–  {name}: {PARTS[name].cannot['fake']}")
            continue
        try:
            with torch.no_grad(), FakeTensorMode():
                check()
            print(f"✓  {name}")
        except Exception as error:
            failed += 1
            print(f"✗  {name}: {type(error).__name__}: {str(error).splitlines()[0]}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
