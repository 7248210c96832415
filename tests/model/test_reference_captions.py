"""The book's own sentences are what notebooks take them for."""

import re

from attnbook.reference_captions import (
    FOUR_KINDS,
    JUDGED,
    KINDS,
    SCENES,
    UNSEEN_KINDS,
    UNSEEN_SCENES,
)


def words(text):
    return re.findall(r"\w+", text.lower())


def test_every_scene_has_three_translations_and_words_that_stand_once_in_both():
    scenes = SCENES + UNSEEN_SCENES
    assert len(SCENES) == 40 and len({scene.english for scene in scenes}) == len(scenes)
    for scene in scenes:
        assert len({*scene.german}) == 3 and scene.words
        for english, german in scene.words.items():
            assert words(scene.english).count(english) == 1, (scene.english, english)
            assert words(scene.german[0]).count(german) == 1, (scene.german[0], german)


def test_there_is_a_sentence_of_each_kind_and_none_twice():
    rows = FOUR_KINDS + UNSEEN_KINDS
    sentences = [pair for row in rows for pair in row.values()]
    assert all([*row] == [*KINDS] for row in rows) and len(FOUR_KINDS) == 20
    assert len({english for english, _ in sentences}) == len(sentences)
    assert len({german for _, german in sentences}) == len(sentences)
    assert all(en[0].isupper() and en[-1] in ".?!" for en, _ in sentences)
    assert all(de == de.lower() and de[-1] == en[-1] for en, de in sentences)


def test_the_judged_captions_are_no_scenes_and_a_wrong_one_has_its_reason():
    english = {caption.english for caption in JUDGED}
    assert len(JUDGED) == 40 == len(english)
    assert not english & {scene.english for scene in SCENES}
    assert any(caption.wrong for caption in JUDGED) and not all(caption.wrong for caption in JUDGED)
