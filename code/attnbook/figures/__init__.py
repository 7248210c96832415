"""Figures: the look of plots (``style``), the ``runs`` of rivals, ``symptoms`` of models
that learners mend, ``unlabelled`` figures that they read, tables, ``drawings``, and ``interactive``
figures.
"""

from attnbook.figures.runs import lines, mark, strips
from attnbook.figures.style import (
    BLACK,
    KEY,
    NEUTRAL,
    OTHER,
    QUERY,
    RED,
    VALUE,
    WEIGHTS,
    heat_map,
    subplots,
)
from attnbook.figures.symptoms import symptoms
from attnbook.figures.table import in_words, table
from attnbook.figures.unlabelled import unlabelled

__all__ = [
    "BLACK",
    "KEY",
    "NEUTRAL",
    "OTHER",
    "QUERY",
    "RED",
    "VALUE",
    "WEIGHTS",
    "heat_map",
    "in_words",
    "lines",
    "mark",
    "strips",
    "subplots",
    "symptoms",
    "table",
    "unlabelled",
]
