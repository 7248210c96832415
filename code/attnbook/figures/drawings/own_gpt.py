"""The language model of *Your own GPT*, with the functions that learners write in colour."""

from attnbook.figures.drawings.svg import INK, LINE, SOFT, TEXT, Canvas, Drawing, tint
from attnbook.figures.style import BLACK, NEUTRAL, WEIGHTS

WIDE, TALL, GAP = 186, 28, 18  # of a box; to the next
MORE = 26  # above a block, and where the stream is added
STACK = (  # from the tokens to the scores, with the number of an exercise if it is one
    ("embedding", None),
    ("norm", "8.2"),
    ("queries, keys and values", None),
    ("rotary positions", "6.4"),
    ("attention", "11.4"),
    ("norm", "8.2"),
    ("network with a gate", None),
    ("norm", "8.2"),
    ("scores of the next token", None),
)
BLOCK = range(1, 7)  # of the stack, repeated for each block
ADDED = {4: 1, 6: 5}  # the outputs that are added to what came before these inputs
ASIDE = (("train: shift the texts", "9.2"), ("write: the next token", "9.4"),
         ("attend with a cache", "10.4"))  # fmt: skip


def own_gpt() -> Drawing:
    """All parts of the model in their order; beside it, how it trains and writes."""
    canvas, tops, y = Canvas(), [], 0.0
    for i in range(len(STACK)):
        tops.append(y)
        y += TALL + GAP + (MORE if i == 0 or i in ADDED else 0)
    for i, (name, exercise) in enumerate(STACK):
        _part(canvas, 0, tops[i], name, exercise)
        if i:
            canvas.arrow((WIDE / 2, tops[i - 1] + TALL), (WIDE / 2, tops[i]), color=SOFT)
    for end, start in ADDED.items():  # the stream goes around, and is added again
        above, below = tops[start] - 14, tops[end] + TALL + 16
        around = (WIDE / 2, above), (-14, above), (-14, below), (WIDE / 2 - 9, below)
        canvas.line(*around, color=SOFT)
        canvas.plus(WIDE / 2, below)
    top, bottom = tops[BLOCK[0]] - 24, tops[BLOCK[-1]] + TALL + 30
    canvas.box(-24, top, WIDE + 34, bottom - top, stroke=LINE, round=6, dashes="4 4")
    left = WIDE + 30
    canvas.text(left, top + 8, "a block, repeated", color=SOFT, anchor="start")
    for i, (name, exercise) in enumerate(ASIDE):
        _part(canvas, left, tops[3] + i * (TALL + GAP), name, exercise)
    canvas.box(left, tops[7], 16, 16, fill=tint(WEIGHTS, 0.16), stroke=WEIGHTS, round=3)
    canvas.text(left + 24, tops[7] + 8, "your function", color=INK, anchor="start")
    yours = "; ".join(f"{name} ({exercise})" for name, exercise in (*STACK, *ASIDE) if exercise)
    return canvas.finish(
        "A column of boxes from the embedding to the scores. Six of them form a block, which is "
        f"repeated. Three more boxes are beside it. In colour, with their exercises: {yours}."
    )


def _part(canvas: Canvas, x: float, y: float, name: str, exercise: str | None) -> None:
    color = WEIGHTS if exercise else NEUTRAL
    canvas.box(
        x, y, WIDE, TALL, fill=tint(color, 0.16 if exercise else 0.06), stroke=color, round=4
    )
    if exercise:
        canvas.text(x + 8, y + TALL / 2, name, size=TEXT - 1, color=BLACK, anchor="start")
        canvas.text(x + WIDE - 8, y + TALL / 2, exercise, size=TEXT - 1, color=WEIGHTS, bold=True,
                    anchor="end")  # fmt: skip
    else:
        canvas.text(x + 8, y + TALL / 2, name, size=TEXT - 1, color=INK, anchor="start")
