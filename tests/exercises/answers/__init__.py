"""Right and wrong answers to the exercises, one module for each chapter.

``WRONG`` holds (exercise, answer that no catalogue lists, part of the sentence that must be true);
``RIGHT`` holds (exercise, answer in another style than the reference).
"""

from . import ch01, ch02, ch03, ch04, ch05, ch06, ch07, ch08, ch09, ch10

_CHAPTERS = (ch01, ch02, ch03, ch04, ch05, ch06, ch07, ch08, ch09, ch10)

WRONG = [answer for chapter in _CHAPTERS for answer in chapter.WRONG]
RIGHT = [answer for chapter in _CHAPTERS for answer in chapter.RIGHT]
