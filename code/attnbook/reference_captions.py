"""Sentences with right translations, to measure a translator on that learned other sentences.

``SCENES`` are captions with three translations each. ``FOUR_KINDS`` has sentences of the four
``KINDS`` with one translation each, as pairs of English and German.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Scene:
    """What could be seen on a photograph, with three right translations.

    ``words`` has English words, and what stands for each of them in the first translation.
    """

    english: str
    german: tuple[str, str, str]
    words: Mapping[str, str]


_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf8"))

SCENES = tuple(Scene(**scene | {"german": tuple(scene["german"])}) for scene in _FILE["scenes"])
FOUR_KINDS = tuple({kind: tuple(pair) for kind, pair in row.items()} for row in _FILE["four_kinds"])
KINDS = tuple(FOUR_KINDS[0])
