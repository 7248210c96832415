"""Interactive figures: each is one piece of HTML with its data and script.

They look and work the same on the published page, in Colab's output frame, in JupyterLab and in
VS Code, make no network request, follow the light or dark theme around them, and can be used by
keyboard and screen reader. Where scripts do not run, a still picture with a text takes their
place.

Each kind is a module and a script of the same name. The module checks the numbers and draws the
still picture; the script draws the figure, with numbers that it computes as PyTorch does. What all
kinds share is in ``base``; ``figure_assets.NEEDS`` lists the kinds that consist of several scripts.
A new kind needs these two files, a line here, and an example in ``tests/figures/examples.py``.
"""

from attnbook.figures.interactive.all_heads import all_heads
from attnbook.figures.interactive.asking import asking
from attnbook.figures.interactive.attention_map import attention_map
from attnbook.figures.interactive.base import Interactive, without_script
from attnbook.figures.interactive.beam import beam
from attnbook.figures.interactive.break_translator import break_translator
from attnbook.figures.interactive.cache import cache
from attnbook.figures.interactive.caching import caching
from attnbook.figures.interactive.clocks import clocks
from attnbook.figures.interactive.decoding import decoding
from attnbook.figures.interactive.digits import digits
from attnbook.figures.interactive.heads import heads
from attnbook.figures.interactive.hero import hero
from attnbook.figures.interactive.induction import induction
from attnbook.figures.interactive.layer_norm import layer_norm
from attnbook.figures.interactive.lessons import lessons
from attnbook.figures.interactive.looking_back import looking_back
from attnbook.figures.interactive.memories import memories
from attnbook.figures.interactive.one_block import one_block
from attnbook.figures.interactive.one_head_or_two import one_head_or_two
from attnbook.figures.interactive.online_softmax import online_softmax
from attnbook.figures.interactive.path_of_a_fact import path_of_a_fact
from attnbook.figures.interactive.permutation import heard, permutation
from attnbook.figures.interactive.predict import predict
from attnbook.figures.interactive.query import query
from attnbook.figures.interactive.reorder import reorder
from attnbook.figures.interactive.rivals import rivals
from attnbook.figures.interactive.roles import roles
from attnbook.figures.interactive.rotary import rotary
from attnbook.figures.interactive.sampling import sampling
from attnbook.figures.interactive.scale import scale
from attnbook.figures.interactive.shapes import shapes
from attnbook.figures.interactive.softmax import softmax
from attnbook.figures.interactive.stack import stack
from attnbook.figures.interactive.stretch import stretch
from attnbook.figures.interactive.token import token
from attnbook.figures.interactive.transformer import transformer
from attnbook.figures.interactive.turning import turning
from attnbook.figures.interactive.two_translators import two_translators
from attnbook.figures.interactive.waves import waves

__all__ = [
    "Interactive",
    "all_heads",
    "asking",
    "attention_map",
    "beam",
    "break_translator",
    "cache",
    "caching",
    "clocks",
    "decoding",
    "digits",
    "heads",
    "heard",
    "hero",
    "induction",
    "layer_norm",
    "lessons",
    "looking_back",
    "memories",
    "one_block",
    "one_head_or_two",
    "online_softmax",
    "path_of_a_fact",
    "permutation",
    "predict",
    "query",
    "reorder",
    "rivals",
    "roles",
    "rotary",
    "sampling",
    "scale",
    "shapes",
    "softmax",
    "stack",
    "stretch",
    "token",
    "transformer",
    "turning",
    "two_translators",
    "waves",
    "without_script",
]
