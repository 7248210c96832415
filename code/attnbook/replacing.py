"""What interventions are made of: modules of a kind, and replacing what they have for a while."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from torch import nn

from attnbook.multihead import MultiHeadAttention

Part = TypeVar("Part", bound=nn.Module)

_CLASS_HAS_IT = object()  # a module has no attribute of its own of this name


def replaced_forward(
    modules: Iterable[nn.Module], replaced: Callable[[Callable], Callable]
) -> AbstractContextManager[None]:
    """Run ``replaced(forward)`` instead of each module's ``forward``.

    A model that is compiled already notices this, but would not notice a hook.
    """
    return replaced_attribute("forward", {module: replaced(module.forward) for module in modules})


@contextmanager
def replaced_attribute(name: str, values: Mapping[nn.Module, object]) -> Iterator[None]:
    """Let modules have another attribute, or another function instead of a method."""
    before = {module: vars(module).get(name, _CLASS_HAS_IT) for module in values}
    for module, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, value in before.items():
            if value is _CLASS_HAS_IT:
                delattr(module, name)
            else:
                setattr(module, name, value)


def parts(within: Sequence[nn.Module]) -> list[nn.Module]:
    """These modules and all within them, each once."""
    return list(dict.fromkeys(part for module in within for part in module.modules()))


def parts_of(
    within: Sequence[nn.Module], kind: type[Part] | tuple[type[Part], ...], name: str
) -> list[Part]:
    found = [part for part in parts(within) if isinstance(part, kind)]
    return require_some(found, within, name)


def attentions_of(within: Sequence[nn.Module]) -> list[MultiHeadAttention]:
    return parts_of(within, MultiHeadAttention, "attention")


def require_some(found: list[Part], within: Sequence[nn.Module], name: str) -> list[Part]:
    if not found:
        kinds = ", ".join(type(module).__name__ for module in within) or "nothing"
        raise ValueError(f"there is no {name} within {kinds}")
    return found


def require_heads(layer: MultiHeadAttention, heads: Sequence[int]) -> None:
    unknown = [head for head in heads if not 0 <= head < layer.num_heads]
    if unknown:
        raise ValueError(f"the heads are counted from 0 to {layer.num_heads - 1}: got {unknown}")
