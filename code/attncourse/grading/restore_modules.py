"""Keep a submission from harming what grades it, which runs in the same Python.

A submission's memory is limited. Before its points are counted, its changes to loaded modules are
undone: ``torch.allclose = …`` in one of its cells would change how answers are
compared. So are its hooks in IPython, which could rewrite the cell that counts, or its result.
"""

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch
from IPython import get_ipython
from IPython.core.formatters import DisplayFormatter

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
    plain_notebook = _remember_notebook(memory)
    folder, here = os.getcwd(), str(Path(attnbook.__file__).parents[1])
    finders = [(found, [*found]) for found in (sys.path, sys.meta_path, sys.path_hooks)]

    def put_back() -> None:
        for owner, names in memory.items():
            for name, value in names.items():
                if vars(owner).get(name) is not value:
                    setattr(owner, name, value)
        plain_notebook()
        for owner in [owner for owner in memory if isinstance(owner, type)]:
            for name in vars(owner).keys() - memory[owner].keys():
                if callable(vars(owner)[name]):
                    delattr(owner, name)
        for name in [*sys.modules]:
            if name.split(".")[0] in ("attnbook", "attncourse"):
                del sys.modules[name]
        os.chdir(folder)
        for found, before in finders:
            found[:] = before
        sys.path.insert(0, here)  # before the folder of the submission
        sys.path_importer_cache.clear()

    return put_back


def _remember_notebook(memory: Memory) -> Callable[[], None]:
    """Note what IPython calls around a cell and with its result; return what restores it.

    The classes go into the memory. Restored are hooks on events, what rewrites a cell's code, and
    what turns its result into text.
    """
    shell = get_ipython()
    manager, hook, publisher = shell.input_transformer_manager, shell.displayhook, shell.display_pub
    parts = [shell, shell.events, manager, hook, publisher, shell.display_trap]
    for part in (*parts, shell.display_formatter):
        memory |= {owner: dict(vars(owner)) for owner in type(part).mro()[:-1]}
    names = [(part, {*vars(part)}) for part in parts]
    lists = [
        *shell.events.callbacks.values(),
        shell.ast_transformers,
        shell.input_transformers_post,
    ]
    lists += [manager.cleanup_transforms, manager.line_transforms, manager.token_transformers]
    held = [(found, [*found]) for found in lists]

    def put_back() -> None:
        shell.events, shell.input_transformer_manager = parts[1], manager
        shell.displayhook = shell.display_trap.hook = hook
        shell.display_pub = publisher
        for part, before in names:  # a method that was replaced in one object
            for name in vars(part).keys() - before:
                if callable(getattr(type(part), name, None)):
                    delattr(part, name)
        for found, before in held:
            found[:] = before
        fresh, used = DisplayFormatter(parent=shell), shell.display_formatter
        pictures = {kind for kind in used.formatters if kind.startswith("image/")}
        fresh.formatters |= {kind: used.formatters[kind] for kind in pictures}
        shell.display_formatter = fresh
        if "matplotlib.pyplot" in sys.modules:  # show the figures of later cells as before
            shell.enable_matplotlib("inline")

    return put_back
