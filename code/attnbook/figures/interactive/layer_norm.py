"""Layer norm of a token, in two motions."""

from jaxtyping import Float
from torch import Tensor

from attnbook.figures import drawings
from attnbook.figures.interactive.base import Interactive, rounded


def layer_norm(token: Float[Tensor, " d"]) -> Interactive:
    """The features of a token as bars, which first move by their mean, and are then divided by σ.

    The reader goes from step to step; it plays once, when it is seen. Raises ``ValueError`` where
    the drawing does.
    """
    still = drawings.layer_norm(token)
    data = {"token": rounded(token.detach().cpu().double())}
    return Interactive("layer_norm", data, alt=still.alt, still=still)
