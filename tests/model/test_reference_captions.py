"""The book's own sentences are what notebooks take them for."""

import re

from attnbook.reference_captions import FOUR_KINDS, KINDS, SCENES


def words(text):
    return re.findall(r"\w+", text.lower())


def test_every_scene_has_three_translations_and_words_that_stand_once_in_both():
    assert len(SCENES) == 40 == len({scene.english for scene in SCENES})
    for scene in SCENES:
        assert len({*scene.german}) == 3 and scene.words
        for english, german in scene.words.items():
            assert words(scene.english).count(english) == 1, (scene.english, english)
            assert words(scene.german[0]).count(german) == 1, (scene.german[0], german)


def test_there_is_a_sentence_of_each_kind_and_none_twice():
    sentences = [pair for row in FOUR_KINDS for pair in row.values()]
    assert all([*row] == [*KINDS] for row in FOUR_KINDS) and len(FOUR_KINDS) == 20
    assert len({english for english, _ in sentences}) == len({de for _, de in sentences}) == 80
    assert all(en[0].isupper() and en[-1] in ".?!" for en, _ in sentences)
    assert all(de == de.lower() and de[-1] == en[-1] for en, de in sentences)
