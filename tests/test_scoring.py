"""BLEU against numbers worked out by hand, and the translator that comes with the package."""

import json
import math

import pytest

from attnbook import scoring
from attnbook.scoring import bleu
from attnbook.translator import ENGLISH_TO_GERMAN, Translator

REFERENCE = "Ein Mann fährt mit dem Rad, und ein Hund läuft neben ihm."


def test_bleu_is_clipped_precisions_times_a_penalty_for_brevity():
    # words, cut from their punctuation: 14 in the reference, 12 here
    translation = "ein Mann fährt mit dem rad, und ein hund läuft."
    precisions = 12 / 12, 10 / 11, 9 / 10, 8 / 9
    by_hand = math.exp(1 - 14 / 12) * math.prod(precisions) ** (1 / 4)
    score = bleu([translation], [REFERENCE], "de")
    assert score["tokenised"] == pytest.approx(100 * by_hand, abs=0.01)
    assert score["sacrebleu"] == pytest.approx(100 * by_hand, abs=0.01)
    assert "case:lc" in score["signature"] and "tok:13a" in score["signature"]


def test_the_two_figures_cut_words_differently():
    translation, reference = ("3,5 km bergauf gehen sie", "3,5km bergauf gehen sie")
    scores = bleu([translation], [reference], "de")
    assert scores["tokenised"] != scores["sacrebleu"]


def test_the_interval_says_how_much_the_choice_of_sentences_matters():
    right, wrong = REFERENCE, "ein mann fährt mit dem zug, und ein hund schläft bei ihm."
    few = bleu([right, wrong] * 5, [REFERENCE] * 10, "de")["interval"]
    many = bleu([right, wrong] * 125, [REFERENCE] * 250, "de")["interval"]
    assert few / many == pytest.approx(5, rel=0.3)  # as the root of the number of sentences
    assert bleu([right] * 5, [REFERENCE] * 5, "de")["interval"] == 0


@pytest.mark.parametrize("texts", [([], []), (["a"], ["a", "b"])])
def test_every_translation_needs_one_reference(texts):
    with pytest.raises(ValueError, match="every translation needs one ref"):
        bleu(*texts, "de")


def test_the_command_scores_a_folder_and_keeps_the_result(tmp_path, monkeypatch, capsys):
    sentences = [("A man rides.", "ein mann fährt mit dem rad.")] * 3
    monkeypatch.setattr(scoring.Multi30k, "texts", lambda *_: sentences)
    monkeypatch.setattr(
        Translator,
        "translate",
        lambda self, texts, beam_size, length_penalty: (
            ["ein mann fährt mit dem rad." if beam_size > 1 else "ein mann"] * len(texts)
        ),
    )
    Translator.load(ENGLISH_TO_GERMAN).save(tmp_path)
    scoring.main(["--folder", str(tmp_path)])
    kept = json.loads((tmp_path / "scores.json").read_text("utf8"))
    assert set(kept) == set(scoring.PARTS)
    assert kept["test_2016_flickr"]["beam 5"]["tokenised"] == 100
    assert kept["test_2016_flickr"]["greedy"]["tokenised"] < 50
    assert capsys.readouterr().out.count("BLEU 100.00 ± 0.00 tokenised") == 4


def test_a_folder_without_a_translator_is_named(tmp_path, capsys):
    with pytest.raises(SystemExit):
        scoring.main(["--folder", str(tmp_path)])
    assert "config.json" in capsys.readouterr().err


def test_the_packages_translator_is_small_and_translates():
    assert sum(path.stat().st_size for path in ENGLISH_TO_GERMAN.iterdir()) < 6_000_000
    translator = Translator.load(ENGLISH_TO_GERMAN)
    found = translator.translate(["A man is reading a book."], beam_size=5)
    assert found == ["ein mann liest ein buch."]


def test_the_shipped_seed_is_the_one_that_the_validation_part_prefers():
    seeds = json.loads((ENGLISH_TO_GERMAN / "seeds.json").read_text("utf8"))
    curve, scores = (
        json.loads((ENGLISH_TO_GERMAN / f"{name}.json").read_text("utf8"))
        for name in ("curve", "scores")
    )
    assert seeds.keys() == {"1", "2"} and scores.keys() == set(scoring.PARTS)
    assert scores["test_2016_flickr"]["beam 5"]["tokenised"] >= 38  # as the book promises
    for other in seeds.values():
        assert other["scores"].keys() == scores.keys()
        assert [one["step"] for one in other["curve"]] == [one["step"] for one in curve]
        assert other["curve"][-1]["perplexity"] > curve[-1]["perplexity"]
        of_val = other["scores"]["val"]["beam 5"]["tokenised"]
        assert of_val < scores["val"]["beam 5"]["tokenised"]
