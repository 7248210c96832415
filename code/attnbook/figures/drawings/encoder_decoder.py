"""A translator of two halves, and what passes between them: one vector, or all states."""

from collections.abc import Sequence
from itertools import pairwise

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import CELL_HEIGHT
from attnbook.figures.drawings.draw_matrix import text_box
from attnbook.figures.drawings.svg import INK, SMALL, SOFT, TEXT, WIDEST, Canvas, Drawing
from attnbook.figures.style import KEY, QUERY, VALUE, WEIGHTS

LEFT = 84  # of the states; the names of the halves stand before
MOST_TOKENS = 4
ENCODER, CONTEXT, DECODER = 26.0, 104.0, 182.0  # tops of the rows of boxes
WIDE = 56.0  # a box
THICKEST = 9  # a line, for a weight of 1


def encoder_decoder(
    source: Sequence[str],
    target: Sequence[str],
    *,
    weights: Float[Tensor, "target source"] | None = None,
) -> Drawing:
    """The encoder's states above, the decoder's below, and what the decoder gets in between.

    Without ``weights`` that is one vector c, made of both last states. With them each state of the
    decoder is joined to each of the encoder, by a line as thick as its weight.

    Raises ``ValueError`` if there are not 2 to 4 tokens on each side, or weights of another shape.
    """
    for tokens in (source, target):
        if not 2 <= len(tokens) <= MOST_TOKENS:
            raise ValueError(f"needs 2 to {MOST_TOKENS} tokens on each side: got {len(tokens)}")
    if weights is not None and weights.shape != (len(target), len(source)):
        raise ValueError(
            f"needs a weight for each of {len(target)} × {len(source)} pairs: got "
            f"{tuple(weights.shape)}"
        )
    canvas = Canvas()
    reads, writes = (_middles(len(tokens)) for tokens in (source, target))
    canvas.text(0, ENCODER + 14, "encoder", color=INK, anchor="start")
    canvas.text(0, DECODER + 14, "decoder", color=INK, anchor="start")
    if weights is None:
        _one_vector(canvas, reads, writes)
    else:
        _all_states(canvas, reads, writes, weights)
    for j, (x, token) in enumerate(zip(reads, source, strict=True), start=1):
        canvas.text(x, 10, token, size=TEXT, color=INK)
        text_box(canvas, f"state {j}", x - WIDE / 2, ENCODER, WIDE, f"h_{j}", KEY, 0.16)
    for left, right in pairwise(reads):  # two GRUs, one a direction
        canvas.arrow((left + WIDE / 2, ENCODER + 7), (right - WIDE / 2, ENCODER + 7), color=KEY)
        canvas.arrow((right - WIDE / 2, ENCODER + 21), (left + WIDE / 2, ENCODER + 21), color=KEY)
    for t, (x, token) in enumerate(zip(writes, target, strict=True), start=1):
        text_box(canvas, f"step {t}", x - WIDE / 2, DECODER, WIDE, f"z_{t}", QUERY, 0.16)
        canvas.arrow((x, DECODER + CELL_HEIGHT), (x, DECODER + CELL_HEIGHT + 22))
        canvas.text(x, DECODER + CELL_HEIGHT + 34, token, size=TEXT, color=INK)
    for left, right in pairwise(writes):
        canvas.arrow((left + WIDE / 2, DECODER + 14), (right - WIDE / 2, DECODER + 14), color=QUERY)
    return canvas.finish(_alt(source, target, weights))


def _middles(count: int) -> list[float]:
    step = (WIDEST - 12 - LEFT) / count
    return [LEFT + step * (i + 0.5) for i in range(count)]


def _one_vector(canvas: Canvas, reads: list[float], writes: list[float]) -> None:
    """Both last states go into c, and c to every step of the decoder."""
    middle = (LEFT + WIDEST - 12) / 2
    for x in (reads[0], reads[-1]):
        canvas.line((x, ENCODER + CELL_HEIGHT), (middle, CONTEXT), color=KEY)
    for x in writes:
        canvas.line((middle, CONTEXT + CELL_HEIGHT), (x, DECODER), color=VALUE)
    text_box(canvas, "context", middle - WIDE / 2, CONTEXT, WIDE, "c", VALUE, 0.2)
    canvas.text(middle + WIDE / 2 + 10, CONTEXT + 14, "all it hands over", size=SMALL, color=SOFT,
                anchor="start", halo=True)  # fmt: skip


def _all_states(canvas: Canvas, reads: list[float], writes: list[float], weights: Tensor) -> None:
    """A line from each state of the encoder to each of the decoder."""
    for x, row in zip(writes, weights.tolist(), strict=True):
        for above, weight in zip(reads, row, strict=True):
            canvas.line((above, ENCODER + CELL_HEIGHT), (x, DECODER), color=WEIGHTS,
                        thick=round(max(0.6, THICKEST * weight), 1))  # fmt: skip


def _alt(source: Sequence[str], target: Sequence[str], weights: Tensor | None) -> str:
    """What the drawing shows, in words."""
    halves = (
        f"The encoder has a state for each token it reads: {', '.join(source)}. The decoder has "
        f"one for each token it writes: {', '.join(target)}. "
    )
    if weights is None:
        return halves + "Between them is a single vector c, the encoder's last states."
    most = [source[j] for j in weights.argmax(dim=-1).tolist()]
    looks = [f"{token} mostly at {place}" for token, place in zip(target, most, strict=True)]
    return halves + f"Each of these looks at all states of the encoder: {', '.join(looks)}."
