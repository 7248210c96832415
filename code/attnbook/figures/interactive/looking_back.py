"""One look of a decoder back at the source, in small steps that the reader can play."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from attnbook.figures import drawings
from attnbook.figures.interactive.base import Interactive, rounded


def looking_back(
    query: Float[Tensor, " d"], memory: Float[Tensor, "source d"], *, tokens: Sequence[str]
) -> Interactive:
    """The decoder's query meets each state of the encoder; the weights mix these to the context.

    Energies are dot products. Exponentials, weights and the context follow, one step at a time, and
    each number travels to where it is needed. It plays once.

    Raises ``ValueError`` as the drawing of the same name does, which is the still picture.
    """
    still = drawings.looking_back(query, memory, tokens=tokens)
    data = {"z": rounded(query), "memory": rounded(memory), "tokens": list(tokens)}
    return Interactive("looking_back", data, alt=still.alt, still=still)
