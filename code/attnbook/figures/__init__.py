"""Figures: the look of plots (``style``), drawings of the mechanism, and interactive figures."""

from attnbook.figures.style import (
    BLACK,
    KEY,
    NEUTRAL,
    OTHER,
    QUERY,
    RED,
    VALUE,
    WEIGHTS,
    curve,
    heat_map,
    subplots,
)

__all__ = [
    "BLACK",
    "KEY",
    "NEUTRAL",
    "OTHER",
    "QUERY",
    "RED",
    "VALUE",
    "WEIGHTS",
    "curve",
    "heat_map",
    "subplots",
]
