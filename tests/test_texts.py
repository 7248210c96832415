"""The texts that language models are measured on."""

import re

import pytest

from attnbook.texts import LONG_TEXTS, MEANINGS, PAIRS, SHORT, TEXTS, short_text


def test_the_first_twenty_seeds_have_the_texts_of_the_book():
    assert [short_text(seed) for seed in range(20)] == [*TEXTS[:20]]


def test_further_seeds_have_sentences_of_long_texts_each_once():
    texts = [short_text(seed) for seed in range(20, 280)]
    assert len({*texts, *TEXTS}) == len(texts) + len(TEXTS)
    flat = [passage.replace("\n", " ") for passage in LONG_TEXTS]
    for text in texts:
        assert len(text) in SHORT and text[-1] in ".!?\"'"
        (passage,) = (passage for passage in flat if text in passage)
        assert not passage.startswith(text)  # how a passage begins is often an address


def test_there_is_no_text_before_the_first_nor_after_the_last():
    with pytest.raises(ValueError, match="got -1"):
        short_text(-1)
    with pytest.raises(ValueError, match="no text for the seed 9999"):
        short_text(9999)


def words(text):
    return re.findall(r"[\w']+", text.lower())


@pytest.mark.parametrize("kind", ["order", "negation", "pronoun"])
def test_right_and_wrong_are_the_same_words_in_another_order(kind):
    items = MEANINGS[kind]
    assert len(items) == 20
    for item in items:
        assert sorted(words(item["right"])) == sorted(words(item["wrong"]))
        assert words(item["right"]) != words(item["wrong"])


def test_half_of_the_right_sentences_have_the_order_of_the_text():
    kept = 0
    for item in MEANINGS["order"]:
        text, right, wrong = (words(item[name]) for name in ("text", "right", "wrong"))
        both = {w for w in text if right.count(w) == 1 and right.index(w) != wrong.index(w)}
        kept += sorted(both, key=text.index) == sorted(both, key=right.index)
    assert kept == 10


def test_a_bank_is_told_by_words_after_it_in_five_sentences_and_before_it_in_five():
    for sentences in MEANINGS["senses"]["bank"].values():
        assert [words(s).index("bank") == 1 for s in sentences] == 5 * [True] + 5 * [False]
        assert all(words(s)[-1] == "bank" for s in sentences[5:])


@pytest.mark.parametrize("word", MEANINGS["senses"])
def test_a_word_has_as_many_sentences_in_both_meanings_and_is_in_each_once(word):
    one, other = MEANINGS["senses"][word].values()
    assert len(one) == len(other)
    assert all(words(sentence).count(word) == 1 for sentence in one + other)


def test_a_question_in_other_words_shares_only_small_words_with_its_answer():
    assert len({pair.answer for pair in PAIRS}) == len(PAIRS) == 100
    subjects = [pair.subject for pair in PAIRS]
    assert {subjects.count(subject) for subject in subjects} == {2}
    small = {"a", "do", "from", "in", "more", "of", "that", "the", "to"}
    for pair in PAIRS:  # "lifts" and "lift" are the same word
        answer, same, other = (
            {word[:5] for word in words(text)} - small
            for text in (pair.answer, pair.same_words, pair.other_words)
        )
        assert not answer & other, pair
        assert len(answer & same) >= 3, pair
