"""Undo what a submission has changed in loaded modules, before its points are counted.

A submission runs in the same Python as what grades it. ``torch.allclose = …`` in one of its cells
would so change how answers are compared.
"""

import sys
from types import ModuleType

import torch

Memory = dict[ModuleType | type, dict[str, object]]


def remember() -> Memory:
    """Every function and class of every loaded module, and every method of a tensor.

    What else a module holds, such as a count or a cache, may well change while it is used.
    """
    modules = [module for module in sys.modules.values() if isinstance(module, ModuleType)]
    memory: Memory = {
        module: {name: value for name, value in vars(module).items() if callable(value)}
        for module in modules
    }
    memory[torch.Tensor] = dict(vars(torch.Tensor))
    return memory


def put_back(memory: Memory) -> None:
    """Make all that ``remember`` saw as it was, and take away what tensors have learned since."""
    for owner, names in memory.items():
        for name, value in names.items():
            if vars(owner).get(name) is not value:
                setattr(owner, name, value)
    for name in vars(torch.Tensor).keys() - memory[torch.Tensor].keys():
        delattr(torch.Tensor, name)
