"""What enters attention: a word's vector and a position's vector, added."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import Matrix, Scale, first_that_fits
from attnbook.figures.drawings.draw_matrix import draw_matrix, head_room, label_width
from attnbook.figures.drawings.svg import INK, NAME, Canvas, Drawing
from attnbook.figures.style import BLACK, OTHER

BETWEEN = 10  # two matrices, besides the name of the lower one


def word_plus_position(
    words: Float[Tensor, "length d"],
    positions: Float[Tensor, "length d"],
    *,
    tokens: Sequence[str],
) -> Drawing:
    """Word vectors, under them those of their positions, and under both their sum.

    Each token is a row, each feature a column, so that every number stands under what it is the sum
    of. Positions are counted from 0.

    Raises ``ValueError`` if the two have different shapes, if there are not as many tokens as rows,
    if one drawing is too narrow for them, or if a number is not finite.
    """
    if words.shape != positions.shape:
        raise ValueError(
            f"each word needs a position of as many features: got shapes {tuple(words.shape)} and "
            f"{tuple(positions.shape)}"
        )
    places = [f"position {p}" for p in range(len(positions))]
    parts = [
        Matrix(words, name="word", rows=tokens),
        Matrix(positions, name="position", color=OTHER, rows=places),
        Matrix(words + positions, name="sum", color=BLACK, rows=tokens),
    ]
    labels = max(label_width(part, Scale(28, 28, True)) for part in parts)

    def draw(canvas: Canvas, scale: Scale) -> None:
        y = 0.0
        for part, sign in zip(parts, ("", "+", "="), strict=True):
            y += head_room(part, scale)
            draw_matrix(canvas, 0, y, part, scale)
            height = scale.size(part)[1]
            if sign:
                canvas.text(-labels - 14, y + height / 2, sign, size=NAME, color=INK)
            y += height + BETWEEN

    rows = [
        f"{token} ({', '.join(word)}) plus {place} ({', '.join(position)}) is ({', '.join(both)})"
        for token, place, word, position, both in zip(
            tokens, places, *(part.numbers() for part in parts), strict=True
        )
    ]
    return first_that_fits(draw, parts).finish(
        f"Word plus position, feature by feature: {'; '.join(rows)}."
    )
