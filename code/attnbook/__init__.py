"""The package behind Attention, Step by Step, to be read from the bottom upwards.

Each of these modules and packages imports only from those before it:

- ``checks``, ``atomic_files``, ``ranges``, ``laboratory``: numbers and files,
- ``attention``, ``positions``, ``multihead``, ``blocks``, ``transformer``, ``decoding``,
  ``seq2seq``, ``language_model``, ``text_tokenizers``, ``encoder``, ``replacing``,
  ``interventions``, ``circuits``, ``pytorch``, ``gpt``: the models, as chapters build them,
- ``data``, ``training``, ``translator``, ``tasks``, ``model_card``, ``train``, ``scoring``,
  ``two_translators``: what they learn, and how well,
- ``wheel_files``, ``pretrained``, ``caches``: models that others have trained,
- ``texts``, ``reference_captions``: sentences to measure models on,
- ``palette``, ``exercises``, ``figure_assets``, ``figures``: what grades an answer, and what is
  drawn.

Annotations state shapes, by jaxtyping: ``Float[Tensor, "batch query d_k"]`` has three axes, and
within one call a name stands for one size. ``"*batch query d_k"`` may have any number of axes in
front, ``"#batch"`` may also be 1 and is then broadcast. (A name alone is written with a leading
space, ``" batch"``.)
"""

from attnbook.laboratory import confirm

__all__ = ["confirm"]
