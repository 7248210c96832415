"""A small Transformer, and a training of twelve steps on number words."""

import torch

from attnbook.data import NumberDataset
from attnbook.training import train
from attnbook.transformer import Transformer

NUMBERS = NumberDataset("en", "fr", below=1000)


def make(seed=0, **options):
    torch.manual_seed(seed)
    options = {
        "source_size": len(NUMBERS.source),
        "target_size": len(NUMBERS.target),
        "d_model": 16,
        "num_heads": 2,
        "num_layers": 1,
        "d_ff": 32,
        "dropout": 0.1,
    } | options
    return Transformer(**options)


def pairs(step, count=16):
    return [NUMBERS.pair(n) for n in NUMBERS.sample(count, seed=step)]


def run(model, steps=12, pairs_of_step=pairs, **options):
    options = {"peak_rate": 0.01, "warmup": 5, "progress": False} | options
    return train(model, pairs_of_step, steps=steps, **options)


def parameters(model):
    return torch.cat([p.detach().flatten().cpu() for p in model.parameters()])
