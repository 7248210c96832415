"""Drawings of the mechanism: matrices to scale, and what each chapter does with them.

All are SVG, with the book's colour for each role and numbers that come from the tensors given.
A drawing is at most 440 units wide and its text at least 13 units high, so that it can be read on a
telephone, where it is 350 pixels wide.
"""

from attnbook.figures.drawings.blocks import decoder_block, encoder_blocks, then_and_now
from attnbook.figures.drawings.both_ways import Reading, both_ways
from attnbook.figures.drawings.cells import Matrix
from attnbook.figures.drawings.cost import (
    caching,
    guessing,
    latent,
    shared_heads,
)
from attnbook.figures.drawings.encoder_decoder import encoder_decoder
from attnbook.figures.drawings.in_parallel import in_parallel
from attnbook.figures.drawings.induction import induction
from attnbook.figures.drawings.layer_norm import layer_norm
from attnbook.figures.drawings.looking_back import looking_back
from attnbook.figures.drawings.matrices import matrices, matrix, product
from attnbook.figures.drawings.memories import memories
from attnbook.figures.drawings.network import neurons
from attnbook.figures.drawings.one_block import one_block
from attnbook.figures.drawings.own_gpt import own_gpt
from attnbook.figures.drawings.path_of_a_fact import path_of_a_fact
from attnbook.figures.drawings.positions import five_marks
from attnbook.figures.drawings.score import score
from attnbook.figures.drawings.split import heads_add_up, splits
from attnbook.figures.drawings.svg import Drawing
from attnbook.figures.drawings.translating import Beginning, beam_tree, teacher_forcing
from attnbook.figures.drawings.turning import turning

__all__ = [
    "Beginning",
    "Drawing",
    "Matrix",
    "Reading",
    "beam_tree",
    "both_ways",
    "caching",
    "decoder_block",
    "encoder_blocks",
    "encoder_decoder",
    "five_marks",
    "guessing",
    "heads_add_up",
    "in_parallel",
    "induction",
    "latent",
    "layer_norm",
    "looking_back",
    "matrices",
    "matrix",
    "memories",
    "neurons",
    "one_block",
    "own_gpt",
    "path_of_a_fact",
    "product",
    "score",
    "shared_heads",
    "splits",
    "teacher_forcing",
    "then_and_now",
    "turning",
]
