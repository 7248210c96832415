"""How the book prints a number that was measured with several seeds."""

import torch
from numpy.typing import ArrayLike


def mean_and_range(runs: ArrayLike, digits: int = 2) -> str:
    """The mean over runs, ± half the range from the smallest to the largest.

    Raises ``ValueError`` if there is no run.

    >>> mean_and_range([1.0, 2.0, 3.5], digits=1)
    '2.2 ± 1.2'
    """
    runs = torch.as_tensor(runs, dtype=torch.float64)
    if runs.numel() == 0:
        raise ValueError("a mean needs at least one run: got none")
    half_range = (runs.max() - runs.min()) / 2
    return f"{runs.mean():z.{digits}f} ± {half_range:.{digits}f}"


def span(runs: ArrayLike, digits: int = 0) -> str:
    """The smallest and the largest of all runs, or one number if they are printed alike.

    Raises ``ValueError`` if there is no run.

    >>> span([72.4, 78.1]), span([99.8, 100.0])
    ('72–78', '100')
    """
    runs = torch.as_tensor(runs, dtype=torch.float64)
    if runs.numel() == 0:
        raise ValueError("a span needs at least one run: got none")
    ends = [f"{end:z.{digits}f}" for end in (runs.min(), runs.max())]
    return "–".join(dict.fromkeys(ends))
