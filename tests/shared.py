"""Inputs and tolerances that several test files use."""

import json

import nbformat
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


def as_colab_saves(notebook):
    """Colab writes an older format, keeps ids elsewhere, adds metadata and may drop unknown."""
    cells = []
    for i, cell in enumerate(notebook.cells):
        cell = json.loads(json.dumps(cell))
        del cell["id"]
        cell["metadata"] = {"id": f"aB3{i:09d}"}
        if cell["cell_type"] == "code":
            cell["metadata"]["outputId"] = "0f9a-4d"
            cell["metadata"]["colab"] = {"base_uri": "https://localhost:8080/"}
        cells.append(cell)
    metadata = {
        "colab": {"provenance": [], "toc_visible": True},
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "language_info": {"name": "python"},
    }
    content = {"nbformat": 4, "nbformat_minor": 0}
    return nbformat.from_dict(content | {"metadata": metadata, "cells": cells})
