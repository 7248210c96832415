"""The settings of a training run, and their defaults for each task."""

from dataclasses import dataclass, field, fields
from typing import Any

from attnbook.checks import require_above_0, require_at_least_1


def setting(meaning: str) -> Any:
    """A field of ``Settings``, and what the command's help says of it."""
    return field(metadata={"meaning": meaning})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the result of a training run depends on, whatever the task.

    Raises ``ValueError`` for numbers with which no training can run.
    """

    source: str = setting("language to translate from")
    target: str = setting("language to translate into")
    d_model: int = setting("features of a token")
    num_heads: int = setting("attention heads")
    num_layers: int = setting("blocks of the encoder, and of the decoder")
    d_ff: int = setting("width of the feed-forward networks")
    dropout: float = setting("probability of dropping a feature")
    norm: str = setting("pre or post: layer norm before or after a sub-layer")
    batch: int = setting("size of a batch: in numbers or, for multi30k, in tokens")
    steps: int = setting("training steps in all")
    peak_rate: float = setting("highest learning rate")
    warmup: int = setting("steps until the highest rate is reached")
    label_smoothing: float = setting("probability spread over all words")
    clip: float = setting("largest norm of a gradient")
    save_every: int = setting("steps from one checkpoint to the next")
    average: int = setting("how many of the last checkpoints to average")
    seed: int = setting("of weights, data and dropout")

    def __post_init__(self) -> None:
        require_at_least_1(
            batch=self.batch, steps=self.steps, save_every=self.save_every, average=self.average
        )
        require_above_0(peak_rate=self.peak_rate, clip=self.clip)
        if not 0 <= self.label_smoothing <= 1:
            raise ValueError(
                f"label_smoothing must lie between 0 and 1: got {self.label_smoothing}"
            )


@dataclass(frozen=True, kw_only=True)
class NumberSettings(Settings):
    """Settings of the task numbers."""

    below: int = setting("train and test on numbers below this one")
    longest: int | None = setting("hold out all numbers with more tokens than this")
    round_share: float = setting("share of numbers below 1,000 or divisible by 100")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.round_share <= 1:
            raise ValueError(f"round_share must lie between 0 and 1: got {self.round_share}")


@dataclass(frozen=True, kw_only=True)
class Multi30kSettings(Settings):
    """Settings of the task multi30k."""

    vocabulary: int = setting("number of subwords, for both languages together")


TaskSettings = NumberSettings | Multi30kSettings

DEFAULTS: dict[str, TaskSettings] = {
    "numbers": NumberSettings(
        source="en",
        target="fr",
        below=100_000,
        longest=None,
        round_share=0.0,
        d_model=64,
        num_heads=4,
        num_layers=2,
        d_ff=256,
        dropout=0.0,
        norm="pre",
        batch=128,
        steps=700,
        peak_rate=0.003,
        warmup=100,
        label_smoothing=0.0,
        clip=1.0,
        save_every=250,
        average=1,
        seed=0,
    ),
    "multi30k": Multi30kSettings(
        source="en",
        target="de",
        vocabulary=6000,
        d_model=128,
        num_heads=4,
        num_layers=4,
        d_ff=256,
        dropout=0.2,
        norm="pre",
        batch=2048,
        steps=8000,
        peak_rate=0.0035,
        warmup=1000,
        label_smoothing=0.1,
        clip=1.0,
        save_every=250,
        average=5,
        seed=0,
    ),
}

# every setting that some task has
SETTINGS = {field.name: field for task in DEFAULTS.values() for field in fields(task)}
