"""A beam that grows token by token, beside what greedy search writes."""

from collections.abc import Sequence

from attnbook.figures import drawings
from attnbook.figures.drawings.translating import MOST_STEPS
from attnbook.figures.interactive.base import DIGITS, Interactive


def beam(start: str, steps: Sequence[Sequence[drawings.Beginning]], *, alt: str) -> Interactive:
    """The beginnings that compete at each step of a beam search, the likeliest ones first.

    Those that are kept have boxes, and the others fade. The reader goes from step to step; it plays
    once, when it is seen. ``start`` is what both searches have written before. Without scripts, the
    first steps stand still, as ``drawings.beam_tree`` draws them.

    Raises ``ValueError`` if a step does not have one beginning that greedy search writes and one
    that the beam ends with, both kept, or is not in order; and where the drawing does.
    """
    still = drawings.beam_tree(start, steps[:MOST_STEPS])
    for n, beginnings in enumerate(steps, start=1):
        kept = [one for one in beginnings if one.kept]
        if sum(one.greedy for one in kept) != 1 or sum(one.best for one in kept) != 1:
            raise ValueError(f"step {n}: one beginning must be greedy, and one the best")
        if sorted(beginnings, key=lambda one: (not one.kept, -one.log_p)) != list(beginnings):
            raise ValueError(f"step {n}: the likeliest come first, and those kept before others")
    data = {
        "start": start,
        "steps": [
            [
                {"token": one.token, "logP": round(one.log_p, DIGITS)}
                | {"before": one.before, "kept": one.kept, "greedy": one.greedy, "best": one.best}
                for one in beginnings
            ]
            for beginnings in steps
        ],
    }
    return Interactive("beam", data, alt=alt, still=still)
