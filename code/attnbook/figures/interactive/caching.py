"""Writing token by token, without and with a cache: what each step computes and what it keeps."""

from collections.abc import Sequence

from attnbook.figures import drawings
from attnbook.figures.interactive.base import Interactive

FEWEST, MOST = 4, 7


def caching(words: Sequence[str]) -> Interactive:
    """What each step of writing ``words`` computes, without a cache and with one.

    A step reads the words so far and writes the next one. Without a cache, all keys, values and
    scores are computed once more. With a cache, the new key and value join the earlier ones, and
    there is one row of scores. The reader goes from token to token; it plays once.

    Raises ``ValueError`` unless there are 4 to 7 words.
    """
    if not FEWEST <= len(words) <= MOST:
        raise ValueError(f"needs {FEWEST} to {MOST} words: got {list(words)}")
    still = drawings.caching(range(len(words) - 3, len(words)))
    return Interactive("caching", {"words": [*words]}, alt=still.alt, still=still)
