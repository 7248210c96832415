"""Figures: the look of the book's plots (``style``), and figures to use (``interactive``)."""

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
