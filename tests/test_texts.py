"""The texts that language models are measured on."""

import pytest

from attnbook.texts import LONG_TEXTS, SHORT, TEXTS, short_text


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
