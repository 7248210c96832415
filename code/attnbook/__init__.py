"""The package behind Attention, Step by Step, to be read from the bottom upwards.

``attention``, ``positions``, ``multihead``, ``blocks``, ``transformer``, ``decoding``,
``seq2seq``, ``language_model``, ``interventions``, ``data``, ``training``, ``translator``,
``pretrained``: each imports only from those before it, and chapters say which they build.

Annotations state shapes, by jaxtyping: ``Float[Tensor, "batch query d_k"]`` has three axes, and
within one call a name stands for one size. ``"*batch query d_k"`` may have any number of axes in
front, ``"#batch"`` may also be 1 and is then broadcast. (A name alone is written with a leading
space, ``" batch"``.)
"""

from attnbook.laboratory import confirm

__all__ = ["confirm"]
