"""What attention costs: cache, shared heads, a latent."""

from collections.abc import Sequence

from attnbook.figures.drawings.svg import (
    INK,
    LINE,
    SMALL,
    SOFT,
    TEXT,
    WIDEST,
    Canvas,
    Drawing,
    text_width,
    tint,
)
from attnbook.figures.style import BLACK, KEY, NEUTRAL, OTHER, QUERY, VALUE, WEIGHTS

TALL, GAP = 28, 24  # of a box with a number; between panels
PALE, STRONG = 0.1, 0.6  # shares of a colour: what waits, what is at work
MOST_STEP, MOST_SHARED, TILE = 8, 12, 2


def caching(steps: Sequence[int]) -> Drawing:
    """What each step of writing computes, without a cache, with one, and tile by tile.

    Raises ``ValueError`` for a step that is not 1 to 8, or steps that are too many for the width.
    """
    if not steps or not all(1 <= step <= MOST_STEP for step in steps) or len(steps) > 4:
        raise ValueError(
            f"at most 4 steps are drawn, each of 1 to {MOST_STEP} tokens: got {list(steps)}"
        )
    canvas, cell = Canvas(), 14
    places, x = [], 134.0
    for step in steps:
        places.append(x)
        x += max(step * cell, 64) + GAP
    tall = cell * (max(steps) + 2) + 40
    for row, name in enumerate(("no cache", "cache", "flash")):
        cached, flash = row == 1, row == 2
        top = 30.0 + row * tall
        canvas.text(0, top + cell / 2 - 2, name, color=INK, bold=True, anchor="start", size=TEXT)
        canvas.text(
            120, top + cell / 2 - 2, "K, V", formula=True, color=KEY, bold=True, anchor="end"
        )
        canvas.text(120, top + cell * 2 + 3, "scores", color=WEIGHTS, bold=True, anchor="end")
        for left, step in zip(places, steps, strict=True):
            if not row:
                canvas.text(left + step * cell / 2, 8, f"token {step}", color=SOFT)
            with canvas.group(f"{name}, token {step}", left, top):
                made = 0
                for j in range(step):
                    new = not cached or j == step - 1
                    canvas.box(j * cell, 0, cell - 1, cell - 1,
                               fill=tint(KEY, STRONG if new else 0.16))  # fmt: skip
                    for i in range(step):
                        in_tile = min(i, j) >= step - TILE
                        if in_tile if flash else not cached or i == step - 1:
                            made += 1
                            canvas.box(j * cell, cell * (i + 1) + 6, cell - 1, cell - 1,
                                       fill=tint(WEIGHTS, 0.75))  # fmt: skip
                canvas.box(-0.5, cell + 5, step * cell, step * cell, stroke=LINE, thick=1)
                text = f"{made} at a time" if flash else f"{made} score{'s' * (made > 1)}"
                canvas.text(step * cell / 2, cell * (step + 1) + 20, text, color=INK)
    counts = "; ".join(f"token {n} takes {n**2} scores without and {n} with a cache" for n in steps)
    return canvas.finish(
        "The picture shows what is computed for each new token. Without a cache, all keys, values "
        "and scores are computed again. With a cache, only one key, one value and one row of "
        "scores are computed, and earlier keys and values are kept. "
        "Flash attention computes all scores, but has only one tile of them in memory at once. "
        f"{counts[0].upper()}{counts[1:]}."
    )


def shared_heads(num_heads: int, *, kv_heads: Sequence[int]) -> Drawing:
    """Which heads of queries read which heads of keys and values, for several numbers of these.

    Raises ``ValueError`` for more than 12 heads of queries or 3 panels, or if the queries can't be
    divided among the keys.
    """
    if not 1 <= num_heads <= MOST_SHARED or not 1 <= len(kv_heads) <= 3:
        raise ValueError(
            f"up to {MOST_SHARED} heads of queries and 3 panels are drawn: got {num_heads} heads "
            f"and {len(kv_heads)} panels"
        )
    for count in kv_heads:
        if count < 1 or num_heads % count:
            raise ValueError(f"num_heads={num_heads} is not divisible by kv_heads={count}")
    canvas = Canvas()
    wide = (WIDEST - 12 - GAP * (len(kv_heads) - 1)) / len(kv_heads)
    step = wide / num_heads
    for panel, count in enumerate(kv_heads):
        left = panel * (wide + GAP)
        group = num_heads // count
        with canvas.group(f"{count} heads of keys", left, 0):
            canvas.text(wide / 2, 0, _kind(num_heads, count), color=INK, bold=True)
            middles = [(i + 0.5) * step * group for i in range(count)]
            for h in range(num_heads):
                x = (h + 0.5) * step
                canvas.line((x, 38), (middles[h // group], 78), color=LINE)
                canvas.box(x - step / 2 + 1, 18, step - 2, 20, fill=tint(QUERY, STRONG))
            for x in middles:
                canvas.box(x - step / 2 + 1, 78, step - 2, 16, fill=tint(KEY, STRONG))
                canvas.box(x - step / 2 + 1, 95, step - 2, 16, fill=tint(VALUE, STRONG))
            text = f"{count} head{'s' * (count > 1)} kept"
            canvas.text(wide / 2, 128, text, color=INK if text_width(text, SMALL) < wide else SOFT)
    counts = "; ".join(
        f"{count} head{'s' * (count > 1)} of keys and values, each read by {num_heads // count}"
        for count in kv_heads
    )
    return canvas.finish(
        f"{num_heads} heads of queries, above, are joined by lines to the heads of keys and values "
        f"that they read, below. The panels have {counts}."
    )


def latent(num_heads: int) -> Drawing:
    """Two orders of one product: keys and values made from a latent, or queries that ask it.

    Raises ``ValueError`` unless there are 1 to 12 heads.
    """
    if not 1 <= num_heads <= MOST_SHARED:
        raise ValueError(f"1 to {MOST_SHARED} heads are drawn: got {num_heads}")
    canvas = Canvas()
    wide = (WIDEST - 12 - GAP) / 2
    step = wide / num_heads
    middles = [(h + 0.5) * step for h in range(num_heads)]
    boxes = {
        "make keys and values": ((KEY, PALE), (VALUE, PALE)),
        "project the queries instead": ((QUERY, PALE), (QUERY, PALE)),
    }
    for panel, (title, (upper, lower)) in enumerate(boxes.items()):
        with canvas.group(title, panel * (wide + GAP), 0):
            canvas.text(wide / 2, 0, title, color=INK, bold=True)
            for x in middles:
                canvas.line((x, 38), (x, 72), color=LINE)
                canvas.line((x, 106), (wide / 2, 140), color=LINE)
                canvas.box(x - step / 2 + 1, 18, step - 2, 20, fill=tint(QUERY, STRONG))
                canvas.box(x - step / 2 + 1, 72, step - 2, 17, fill=tint(*upper))
                canvas.box(x - step / 2 + 1, 89, step - 2, 17, fill=tint(*lower))
            canvas.box(wide / 4, 140, wide / 2, 20, fill=tint(NEUTRAL, STRONG))
            canvas.text(wide / 2, 178, "one latent kept", color=INK)
    return canvas.finish(
        f"Left: {num_heads} queries, above, are joined to a pale key and value each, and all "
        "of these to one latent, below. Right: pale queries take their place."
    )


def guessing(text: str, guesses: Sequence[str], replies: Sequence[str]) -> Drawing:
    """A small model guesses tokens, and a large one says in one pass what it would have written.

    ``replies`` are the large model's own next tokens, after the text and after each guess. The
    guesses that equal them are kept, up to the first that does not, which is replaced.

    Raises ``ValueError`` unless there are 2 to 4 guesses and one reply more.
    """
    if not 2 <= len(guesses) <= 4 or len(replies) != len(guesses) + 1:
        raise ValueError(
            f"2 to 4 guesses and one reply more are drawn: got {len(guesses)} guesses and "
            f"{len(replies)} replies"
        )
    checked = zip(guesses, replies, strict=False)
    kept = next((i for i, (one, other) in enumerate(checked) if one != other), len(guesses))
    canvas, label = Canvas(), "its next tokens"
    first = 18 + max(text_width(words, TEXT) for words in (text, label))
    wide = (WIDEST - 12 - first) / max(len(guesses), kept + 1) - 6
    lefts = [first + j * (wide + 6) for j in range(len(replies))]
    canvas.text(0, 0, "a small model guesses", color=INK, bold=True, anchor="start")
    canvas.box(0, 14, first - 6, TALL, fill=tint(NEUTRAL, PALE), stroke=LINE, round=4)
    canvas.text((first - 6) / 2, 14 + TALL / 2, text, color=INK)
    for j, (x, guess) in enumerate(zip(lefts, guesses, strict=False)):
        canvas.box(x, 14, wide, TALL, stroke=NEUTRAL if j < kept else LINE, round=4, dashes="5 3")
        canvas.text(x + wide / 2, 14 + TALL / 2, guess, color=INK if j < kept else SOFT)
    right = lefts[-1] - 6
    canvas.box(0, 66, right, TALL, fill=tint(OTHER, PALE), stroke=OTHER, round=4)
    canvas.text(right / 2, 66 + TALL / 2, "the large model reads all of it in one pass", color=INK)
    canvas.arrows_down([(first - 6) / 2, *(x + wide / 2 for x in lefts[:-1])], 44, 64, SOFT)
    canvas.text(0, 132, label, color=INK, bold=True, anchor="start")
    columns = [(first - 6) / 2, *(x + wide / 2 for x in lefts)]
    for j, (x, reply) in enumerate(zip(lefts, replies, strict=True)):
        if j > kept:
            continue
        color, says = (NEUTRAL, "kept") if j < kept else (OTHER, "new")
        canvas.line((columns[j], 94), (columns[j + 1], 118), color=SOFT)  # from the token before
        canvas.box(x, 118, wide, TALL, fill=tint(color, 0.16), stroke=color, round=4)
        canvas.text(x + wide / 2, 118 + TALL / 2, reply, color=BLACK, bold=j == kept)
        canvas.text(x + wide / 2, 160, says, color=INK)
    if kept < len(guesses) - 1:
        middle = (columns[kept + 2] + columns[len(guesses)]) / 2
        canvas.text(middle, 160, "no use", color=SOFT)
    return canvas.finish(
        f"After “{text}”, a small model guesses “{' '.join(guesses)}”. In one pass, the large "
        f"model gives its own next token after each of them: “{' '.join(replies[: kept + 1])}”. "
        f"{kept} of {len(guesses)} guesses {'is' if kept == 1 else 'are'} kept, and the next "
        "token is new."
    )


def _kind(num_heads: int, kv_heads: int) -> str:
    if kv_heads == num_heads:
        return "multi-head"
    return "multi-query" if kv_heads == 1 else "grouped"
