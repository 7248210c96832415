"""Drawings of the mechanism: matrices to scale, scores, flows of matrices, heads, blocks, costs.

All are SVG, with the book's colour for each role and numbers that come from the tensors given.
A drawing is at most 440 units wide and its text at least 13 units high, so that it can be read on a
telephone, where it is 350 pixels wide.
"""

from attnbook.figures.drawings.attention import heads, self_attention
from attnbook.figures.drawings.blocks import decoder_block, encoder_block, transformer
from attnbook.figures.drawings.cells import Matrix
from attnbook.figures.drawings.cost import (
    caching,
    growth,
    loop_orders,
    shared_heads,
    softmax_in_blocks,
)
from attnbook.figures.drawings.looking_back import looking_back
from attnbook.figures.drawings.matrices import matrices, matrix, product
from attnbook.figures.drawings.score import score
from attnbook.figures.drawings.svg import Drawing

__all__ = [
    "Drawing",
    "Matrix",
    "caching",
    "decoder_block",
    "encoder_block",
    "growth",
    "heads",
    "looking_back",
    "loop_orders",
    "matrices",
    "matrix",
    "product",
    "score",
    "self_attention",
    "shared_heads",
    "softmax_in_blocks",
    "transformer",
]
