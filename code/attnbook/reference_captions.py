"""Sentences with correct translations, to measure a translator that learned different ones.

``SCENES`` are captions with three translations each. ``FOUR_KINDS`` has sentences of the four
``KINDS`` with one translation each, as pairs of English and German. ``JUDGED`` are captions as the
translator that comes with the package writes them, with a judgement of each translation. No number
in the book depends on ``UNSEEN_SCENES`` and ``UNSEEN_KINDS``.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Scene:
    """A caption of an imagined photograph, with three correct translations.

    ``words`` has English words, and the words that translate each of them in the first translation.
    """

    english: str
    german: tuple[str, str, str]
    words: Mapping[str, str]


@dataclass(frozen=True)
class JudgedCaption:
    """A caption, what the translator of captions wrote, and why that is wrong.

    ``wrong`` is empty if the translation is right, in meaning and grammar.
    """

    english: str
    german: str
    wrong: str = ""


_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf8"))
_JUDGED = tomllib.loads(Path(__file__).with_name("judged_captions.toml").read_text("utf8"))


def _scenes(name: str) -> tuple[Scene, ...]:
    return tuple(Scene(**scene | {"german": tuple(scene["german"])}) for scene in _FILE[name])


def _kinds(name: str) -> tuple[dict[str, tuple[str, str]], ...]:
    return tuple({kind: tuple(pair) for kind, pair in row.items()} for row in _FILE[name])


SCENES, UNSEEN_SCENES = _scenes("scenes"), _scenes("unseen_scenes")
FOUR_KINDS, UNSEEN_KINDS = _kinds("four_kinds"), _kinds("unseen_kinds")
KINDS = tuple(FOUR_KINDS[0])
JUDGED = tuple(JudgedCaption(**caption) for caption in _JUDGED["captions"])
