"""The lessons of one sentence: all in one pass in training, one in each pass in writing."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures import drawings
from attnbook.figures.interactive.base import Interactive, finite, rounded


def lessons(
    source: str,
    reads: Sequence[str],
    says: Sequence[str],
    chances: Float[Tensor, " lessons"],
) -> Interactive:
    """A sentence whose tokens are predicted in training and in writing, pass by pass.

    In training, the mask hides from each row what comes after, and one pass predicts all rows. In
    writing, each pass predicts one token, which drops into the next row. The reader steps from
    pass to pass; it plays once. ``chances`` are the probabilities of ``says``, which the model must
    also write itself.

    Raises ``ValueError`` where the drawing does, or if a number is not finite.
    """
    (chances,) = finite(chances=chances)
    still = drawings.teacher_forcing(source, reads, says, chances)
    data = {
        "source": source,
        "reads": list(reads),
        "says": list(says),
        "chances": rounded(chances),
    }
    alt = (
        f"The translation of “{source}” in training and in writing, with a row for each token to "
        f"predict. In training, the mask hides from each row what comes after, and one pass "
        f"predicts all {len(says)} tokens. In writing, each pass predicts one token, and the next "
        f"row reads it, so {len(says)} passes are needed."
    )
    return Interactive("lessons", data, alt=alt, still=still)
