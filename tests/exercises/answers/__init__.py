"""Right and wrong answers to the exercises, one module for each chapter.

``WRONG`` holds (exercise, answer that no catalogue lists, part of the sentence that must be true);
``RIGHT`` holds (exercise, answer in another style than the reference).
"""

from importlib import import_module
from pkgutil import iter_modules

_CHAPTERS = [
    import_module(f"{__name__}.{module.name}")
    for module in sorted(iter_modules(__path__), key=lambda module: module.name)
    if module.name.startswith("ch")
]

WRONG = [answer for chapter in _CHAPTERS for answer in chapter.WRONG]
RIGHT = [answer for chapter in _CHAPTERS for answer in chapter.RIGHT]
