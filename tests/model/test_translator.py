"""A trained translator: texts in, texts out, saved and loaded."""

import contextlib
import io
import re

import pytest
import torch

from attnbook import train as command
from attnbook.data import NumberDataset, SubwordTokenizer
from attnbook.translator import NUMBERS_TO_FRENCH, Translator

NUMBERS = NumberDataset("en", "fr", below=10_000)

SMALL = ["--task", "numbers", "--below", "10000", "--num-layers", "1", "--batch", "64"]
# at 0.003, the rate of larger batches, some seeds and some processors end below 99 %
LEARN = [*SMALL, "--steps", "500", "--peak-rate", "0.002"]
TINY = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 8}


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """The folder of a translator that the command has trained, and what the command printed."""
    folder, printed = tmp_path_factory.mktemp("run"), io.StringIO()
    with contextlib.redirect_stdout(printed):
        command.main([*LEARN, "--folder", str(folder)])
    return folder, printed.getvalue()


@pytest.fixture(scope="module")
def translator(training):
    return Translator.load(training[0])


def test_the_command_learns_99_of_100_numbers_it_has_never_seen(training):
    last = re.findall(r"step 500  exact ([\d.]+)", training[1])
    assert len(last) == 1 and float(last[0]) >= 0.99
    assert training[1].count("as expected") >= 4


@pytest.mark.parametrize("beam_size", [1, 3])
def test_unseen_numbers_are_translated(translator, beam_size):
    texts = [NUMBERS.texts(n) for n in NUMBERS.sample(200, held_out=True, seed=1)]
    written = translator.translate([s for s, _ in texts], beam_size=beam_size)
    right = sum(w == t for w, (_, t) in zip(written, texts, strict=True))
    assert right >= 190
    few = translator.translate([s for s, _ in texts], beam_size=beam_size, batch_size=7)
    assert few == written


def test_translations_come_in_the_order_of_their_sources(translator):
    texts = ["nine hundred ninety-nine", "one", "two hundred", "ten"]
    together = translator.translate(texts)
    assert together == [translator.translate([text])[0] for text in texts]
    assert translator.translate([]) == []
    assert len(translator.translate(texts, max_length=1)[0].split()) == 1


def test_attention_is_shown_for_the_tokens_read(translator):
    source, target, maps = translator.attention("ninety-seven", "quatre-vingt-dix-sept")
    assert source == ["ninety", "-seven", "<end>"]
    assert target == ["<start>", "quatre", "-vingt", "-dix", "-sept"]
    assert maps.cross.shape == (1, 1, 4, 5, 3)
    assert maps.source.shape == (1, 1, 4, 3, 3)
    assert maps.target.shape == (1, 1, 4, 5, 5)


@pytest.mark.parametrize("tied", [False, True])
def test_subwords_are_saved_beside_the_weights_and_stay_shared(tmp_path, tied):
    texts = [f"word{i} and word{i + 1}" for i in range(30)]
    source = SubwordTokenizer.learn(texts, 40)
    target = source if tied else SubwordTokenizer.learn(texts, 30)
    translator = Translator(source, target, **TINY, tied=tied)
    for folder in (tmp_path / "once", tmp_path / "again"):
        translator.save(folder)
        names = {"config.json", "model.safetensors", "source.model"}
        assert {path.name for path in folder.iterdir()} == names | (
            set() if tied else {"target.model"}
        )
        loaded = Translator.load(folder)
        assert not loaded.model.training
        assert loaded.translate(texts[:3]) == translator.translate(texts[:3])
        assert (loaded.source_tokenizer is loaded.target_tokenizer) == tied
        embedding = loaded.model.source_embedding.token.weight
        assert (loaded.model.output.weight is embedding) == tied
        translator = loaded


def test_a_translation_ends_where_learned_positions_end():
    translator = Translator(NUMBERS.source, NUMBERS.target, **TINY, num_positions=6)
    with torch.no_grad():
        translator.model.output.weight.zero_()[:4] = -1.0  # never ends
        translator.model.decoder_norm.weight.zero_()
        translator.model.decoder_norm.bias.fill_(1.0)
    written = translator.translate(["one thousand two"])
    assert len(NUMBERS.target.split(written[0])) == 6
    with pytest.raises(ValueError, match="max_length must be at least 1: got 0"):
        translator.translate(["one"], max_length=0)


@pytest.mark.usefixtures("no_shape_checks")
def test_texts_come_in_a_list_and_in_batches(translator):
    with pytest.raises(TypeError, match="got the single text 'one'"):
        translator.translate("one")
    with pytest.raises(ValueError, match=r"batch_size must.*got 0"):
        translator.translate(["one"], batch_size=0)


def test_the_card_of_a_translator_of_numbers_says_how_often_it_is_right(training, translator):
    folder, _ = training
    card = (folder / "README.md").read_text("utf8")
    assert "python -m attnbook.train --task numbers --num-layers 1 --batch 64 --steps 500 " in card
    held_out = [n for n in range(10_000) if NUMBERS.is_held_out(n)]
    texts = [NUMBERS.texts(number) for number in held_out]
    written = translator.translate([source for source, _ in texts])
    right = sum(w == t for w, (_, t) in zip(written, texts, strict=True))
    assert f"Of {len(texts):,} held-out numbers it writes {right:,} right" in card
    assert f"{(folder / 'model.safetensors').stat().st_size:,} bytes" in card


def test_the_packages_translator_of_numbers_is_what_its_card_says():
    card = (NUMBERS_TO_FRENCH / "README.md").read_text("utf8")
    files = {path.name: path.stat().st_size for path in NUMBERS_TO_FRENCH.iterdir()}
    assert f"{files['model.safetensors']:,} bytes" in card
    assert re.search(r"Of 10,066 held-out numbers it writes 10,066 right", card)


def test_the_packages_translator_is_right_on_the_numbers_that_people_try_first():
    translator = Translator.load(NUMBERS_TO_FRENCH)
    numbers = NumberDataset("en", "fr", below=100_000)

    def wrong(tried):
        texts = [numbers.texts(number) for number in tried]
        written = translator.translate([source for source, _ in texts])
        return [n for n, w, (_, t) in zip(tried, written, texts, strict=True) if w != t]

    assert wrong(range(1000)) == []
    assert wrong(range(0, 100_000, 100)) == []
    assert len(wrong(numbers.sample(1000, seed="others"))) <= 5
    assert wrong(numbers.sample(500, held_out=True, seed="card")) == []
