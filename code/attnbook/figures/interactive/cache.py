"""How large a cache of keys and values gets, and what each way to shrink it saves."""

import dataclasses
from collections.abc import Sequence

from matplotlib.figure import Figure

from attnbook.caches import PublishedModel
from attnbook.figures import style
from attnbook.figures.interactive.base import Interactive

TOKENS = 2**17  # what the figure shows first


def cache(models: Sequence[PublishedModel], *, first: str, alt: str) -> Interactive:
    """The cache of published models, or of sizes that the reader chooses.

    Bars show the cache if each head had keys and values of its own in all layers, after sharing
    them (or keeping a latent instead), after windows and states, and with fewer bits per number.
    The figure begins with the model that is called ``first``. ``alt`` says what can be seen.

    Raises ``ValueError`` if no model has this name.
    """
    names = [model.name for model in models]
    if first not in names:
        raise ValueError(f"first must be one of {names}: got {first!r}")
    data = {
        "first": names.index(first),
        "models": [
            {"name": model.name, "year": model.year, **dataclasses.asdict(model.sizes)}
            for model in models
        ],
    }
    return Interactive("cache", data, alt=alt, still=_still(models))


def _still(models: Sequence[PublishedModel]) -> Figure:
    """The cache of one long text in each model."""
    still, axes = style.subplots(height=0.8 + 0.3 * len(models))
    sizes = [model.sizes.bytes(TOKENS) / 1e9 for model in models]
    bars = axes.barh([model.name for model in models], sizes, color=style.WEIGHTS)
    axes.bar_label(bars, [f"{size:.1f}" for size in sizes], padding=3)
    axes.invert_yaxis()
    axes.set(xlabel=f"GB for one text of {TOKENS:,} tokens, 16 bits for each number", xscale="log")
    return still
