"""Two heads that continue a repetition, step by step: a note, a match, a copy."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures import drawings
from attnbook.figures.interactive.base import Interactive, finite, name_of, rounded


def induction(
    words: Sequence[str],
    *,
    notes: Float[Tensor, "word word"],
    matches: Float[Tensor, "word word"],
    heads: tuple[str, str] = ("head 1", "head 2"),
) -> Interactive:
    """What two heads, one after the other, make of a text that repeats itself.

    With the weights ``notes``, the first head looks at the word before, which becomes a note. With
    the weights ``matches``, the second head looks for the note that names the word that asks, and
    copies the word there. ``heads`` are their names. The last word asks first, and the reader may
    choose another one. It plays once.

    Raises ``ValueError`` for weights that are not finite or that do not fit the words, or for what
    ``drawings.induction`` refuses.
    """
    words = [name_of(word) for word in words]
    count = len(words)
    for name, weights in (("notes", notes), ("matches", matches)):
        if weights.shape != (count, count):
            raise ValueError(
                f"{name} must be {count} × {count} for {count} words: got {tuple(weights.shape)}"
            )
    notes, matches = finite(notes=notes, matches=matches)
    still = drawings.induction(
        words,
        before=[words[found] for found in notes.argmax(dim=-1).tolist()],
        weights=matches[-1].tolist(),
        guess=words[int(matches[-1].argmax())],
    )
    data = {
        "words": words,
        "notes": rounded(notes),
        "matches": rounded(matches),
        "heads": [*heads],
    }
    return Interactive("induction", data, alt=still.alt, still=still)
