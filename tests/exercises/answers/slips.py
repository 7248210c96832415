"""Slips that can be made in any exercise, put into a right answer."""

import torch


def squeezed(answer):
    """Drops all axes of size 1 from the result."""
    return lambda *arguments: answer(*arguments).squeeze()


def remembers_shapes(answer):
    """Gives what it has found before for tensors of the same shapes and the same numbers."""
    results = {}

    def remembering(*arguments):
        tensors = tuple(a.shape for a in arguments if isinstance(a, torch.Tensor))
        seen = tensors, tuple(a for a in arguments if isinstance(a, int | float))
        if seen not in results:
            results[seen] = answer(*arguments)
        return results[seen]

    return remembering
