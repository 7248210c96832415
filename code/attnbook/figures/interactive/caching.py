"""Writing token by token, without a cache, with one and with flash attention: what it takes."""

from collections.abc import Sequence

from attnbook.figures import drawings
from attnbook.figures.interactive.base import Interactive

FEWEST, MOST = 4, 9


def caching(words: Sequence[str], *, prompt: int = 1) -> Interactive:
    """What each step of writing ``words`` computes and holds in memory, in three ways.

    A step reads the words so far and writes the next one. Without a cache, all keys, values and
    scores are computed again. With a cache, the new key and value join the earlier ones, and
    there is one row of scores; only the words of the prompt are read at once. Flash attention
    computes all again, too, but holds one tile of scores at a time. The reader goes from token to
    token; it plays once, and each score takes the same time.

    Raises ``ValueError`` unless there are 4 to 9 words, of which the prompt leaves two.
    """
    if not FEWEST <= len(words) <= MOST:
        raise ValueError(f"needs {FEWEST} to {MOST} words: got {list(words)}")
    most = len(words) - 1
    if not 1 <= prompt < most:
        raise ValueError(f"a prompt of 1 to {most - 1} words: got {prompt}")
    still = drawings.caching(
        (prompt + 1, most) if prompt > 1 else (max(1, most // 4), most // 2, most)
    )
    read = f"A prompt of {prompt} tokens is read at once. " if prompt > 1 else ""
    data = {"words": [*words], "prompt": prompt}
    return Interactive("caching", data, alt=read + still.alt, still=still)
