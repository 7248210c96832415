"""The numbers that exercises had before version 2.0.

Learners and teachers have notebooks and notes with these numbers. ``renumbered.toml`` has them, so
that the commands can say which numbers the exercises have now.
"""

import tomllib
from collections.abc import Container
from importlib.resources import files

# by the old number: the number "now", and what the stub hands to check as its "answer"
BEFORE: dict[str, dict[str, str]] = tomllib.loads(
    (files(__package__) / "renumbered.toml").read_text("utf8")
)


def number_now(id: str, known: Container[str], answer: object = None) -> str:
    """The number that an exercise has now; a sentence says so where it had a different one.

    A number in ``known`` means the exercise that has it now. Only a function with the name that
    the stub of the earlier exercise gives it belongs to the earlier exercise.

    >>> BEFORE["0.7"] = {"now": "0.2", "answer": "doubled"}
    >>> number_now("0.7", known=["0.1", "0.2"])
    What was exercise 0.7 before version 2.0 is exercise 0.2 now.
    '0.2'
    >>> number_now("0.7", known=["0.1", "0.2", "0.7"])
    '0.7'
    >>> del BEFORE["0.7"]
    """
    before = BEFORE.get(id, {"now": id})
    now = before["now"]
    if now == id or now not in known:
        return id
    name = getattr(answer, "__name__", None)
    if id in known and (name is None or name != before.get("answer")):
        return id
    print(sentence(id, now))
    return now


def sentence(id: str, now: str) -> str:
    """What tells people which number an exercise has now."""
    return f"What was exercise {id} before version 2.0 is exercise {now} now."
