"""Inputs and tolerances that several test files use."""

import torch
from hypothesis import strategies as st

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}

sizes = st.integers(1, 6)
seeds = st.integers(0, 2**31)


def draw(seed, *shapes, dtype=torch.float64, device="cpu"):
    """Normal random tensors, the same on every device."""
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(shape, generator=generator, dtype=torch.float64).to(device, dtype)
        for shape in shapes
    ]


def draw_tokens(seed, shape, size, first=3):
    """Random tokens from ``first`` to ``size - 1``."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(first, size, shape, generator=generator)


def randomise(module, seed=0):
    """Draw all parameters, biases and norms too, so that none of them goes unnoticed."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.3 * noise.to(parameter))
    return module


@st.composite
def attention_inputs(choose, batch=None):
    """Query, key and value of random sizes, with a batch axis and heads."""
    batch = choose(st.integers(1, 3)) if batch is None else batch
    heads, n, m, d_k, d_v = (choose(sizes) for _ in range(5))
    shapes = ((batch, heads, n, d_k), (batch, heads, m, d_k), (batch, heads, m, d_v))
    return draw(choose(seeds), *shapes)
