"""What a small model with one wrong line shows: its loss while it learns, or after, and a map.

``symptoms("2.4")`` trains the model of the exercise with the code as learners get it, and
``symptoms("2.4", look_up)`` with their own. The grey line is the same model with the mended code.
"""

from collections.abc import Callable
from functools import cache

import torch
from matplotlib.axes import Axes
from torch import Tensor

from attnbook.exercises import Repair, catalogue
from attnbook.exercises.renumbered import number_now
from attnbook.figures.broken_models import RUNS, Run
from attnbook.figures.style import NEUTRAL, RED, heat_map, subplots


def symptoms(id: str, answer: Callable | None = None) -> None:
    """Train the model of an exercise with an answer, and draw its losses and its map.

    Without an answer, the code is that of the exercise, with its wrong line.

    Raises ``KeyError`` if nothing is to be mended in exercise ``id``.
    """
    id = number_now(id, RUNS, answer)
    if id not in RUNS:
        raise KeyError(f"exercise {id!r} has no model to mend: these have one, {[*RUNS]}")
    run = trained(id) if answer is None else _trained(id, answer)
    height = max(2.7, 1.6 + 0.3 * len(run.rows))  # so that the numbers of a square map do not touch
    _, axes = subplots(2, height=height, wide=True, width_ratios=(1, 1.15))
    _draw(trained(id, mended=True), axes[0], color=NEUTRAL, label="mended")
    _draw(run, axes[0], color=RED, label="wrong line" if answer is None else "your code")
    axes[0].set(xlabel=run.against, title="loss in nats", ylim=(0, None))
    axes[0].legend()
    heat_map(axes[1], run.weights, rows=run.rows, columns=run.columns)


@cache
def trained(id: str, *, mended: bool = False) -> Run:
    """The model of an exercise, trained with the code as learners get it, or mended."""
    [exercise] = (task for task in catalogue() if task.id == id)
    return _trained(id, exercise.reference if mended else exercise.mistakes[Repair.NOT_MENDED])


def _trained(id: str, answer: Callable) -> Run:
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(0)
        return RUNS[id](answer)


def _draw(run: Run, axes: Axes, **options: object) -> None:
    """Draw the losses: means of ten steps, or all if they are not those of steps."""
    if run.against == "step":
        axes.plot(_smooth(run.losses), **options)
    else:
        axes.plot(range(1, len(run.losses) + 1), run.losses, marker="o", **options)
        axes.margins(y=0.5)  # for the legend
        axes.locator_params(axis="x", integer=True)


def _smooth(losses: list[float]) -> Tensor:
    """Means of ten steps, without those at the end that fill no ten."""
    return torch.tensor(losses).unfold(0, 10, 1).mean(dim=1)
