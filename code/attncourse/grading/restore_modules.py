"""Keep a submission from harming what grades it, which runs in the same Python.

A submission's memory is limited. Before its points are counted, its changes to loaded modules are
undone: ``torch.allclose = …`` in one of its cells would change how answers are
compared.
"""

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch
from IPython import get_ipython

import attnbook

Memory = dict[ModuleType | type, dict[str, object]]


def limit_memory(gigabytes: float) -> None:
    """Let this notebook's Python have so much memory; it ends when all of it is taken.

    Linux keeps to it. Other systems do not count what torch takes, or have no limits.
    """
    with contextlib.suppress(ImportError):  # on Windows
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        limit = int(gigabytes * 2**30)
        limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        # otherwise the memory stays taken, and none is left to name the line where it ran out
        get_ipython().set_custom_exc((MemoryError,), lambda *_, **__: os._exit(1))


def remember() -> Callable[[], None]:
    """Note every function and class of every loaded module, and every method of a tensor.

    Returns a function that restores them. It also drops the book's packages, which are then
    imported again from where they came from, whatever a submission has put into ``sys.path`` or
    beside itself.
    What else a module holds, such as a count or a cache, may well change while it is used.
    """
    modules = [module for module in sys.modules.values() if isinstance(module, ModuleType)]
    memory: Memory = {
        module: {name: value for name, value in vars(module).items() if callable(value)}
        for module in modules
    }
    memory[torch.Tensor] = dict(vars(torch.Tensor))
    folder, here = os.getcwd(), str(Path(attnbook.__file__).parents[1])
    finders = [(found, [*found]) for found in (sys.path, sys.meta_path, sys.path_hooks)]

    def put_back() -> None:
        for owner, names in memory.items():
            for name, value in names.items():
                if vars(owner).get(name) is not value:
                    setattr(owner, name, value)
        for name in vars(torch.Tensor).keys() - memory[torch.Tensor].keys():
            delattr(torch.Tensor, name)
        for name in [*sys.modules]:
            if name.split(".")[0] in ("attnbook", "attncourse"):
                del sys.modules[name]
        os.chdir(folder)
        for found, before in finders:
            found[:] = before
        sys.path.insert(0, here)  # before the folder of the submission
        sys.path_importer_cache.clear()

    return put_back
