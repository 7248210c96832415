"""Training: ``train`` in ``loop``, its loss, its checkpoints, and how several processes share it.

``python -m attnbook.train`` is the command.
"""

from attnbook.training.checkpoint import (
    Checkpoint,
    average_checkpoints,
    load_weights,
    require_same_settings,
    round_weights,
    save_weights,
)
from attnbook.training.loop import learning_rate, train
from attnbook.training.loss import smoothed_loss
from attnbook.training.parallel import default_device, processes, rank_and_world

__all__ = [
    "Checkpoint",
    "average_checkpoints",
    "default_device",
    "learning_rate",
    "load_weights",
    "processes",
    "rank_and_world",
    "require_same_settings",
    "round_weights",
    "save_weights",
    "smoothed_loss",
    "train",
]
