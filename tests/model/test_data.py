"""Vocabularies, number words, subwords and batches."""

import itertools
import random

import pytest
from hypothesis import given, settings, strategies as st
from num2words import num2words

from attnbook.data import (
    END,
    LANGUAGES,
    PAD,
    START,
    UNKNOWN,
    EpochSampler,
    NumberDataset,
    NumberTokenizer,
    SubwordTokenizer,
    Vocabulary,
    batches_by_length,
    collate,
)

TOKENS = {language: NumberTokenizer(language) for language in LANGUAGES}
NUMBERS = NumberDataset("en", "fr")


def test_special_symbols_come_first_and_each_token_once():
    vocabulary = Vocabulary(["b", "a", "b", "<pad>"])
    assert vocabulary.tokens[:4] == ["<pad>", "<start>", "<end>", "<unknown>"]
    assert (PAD, START, END, UNKNOWN) == (0, 1, 2, 3)
    assert vocabulary.tokens[4:] == ["b", "a"] and len(vocabulary) == 6
    assert vocabulary.encode(["a", "never", "b"]) == [5, 3, 4]
    assert vocabulary.decode([5, 2, 4]) == ["a", "<end>", "b"]
    with pytest.raises(IndexError):
        vocabulary.decode([6])


@pytest.mark.parametrize("language", LANGUAGES)
def test_numbers_are_spelt_as_by_num2words(language):
    """The package spells the thousands and the rest apart, which is sooner done."""
    spell = NumberTokenizer(language).spell
    for number in [*range(1_101), *random.Random(language).sample(range(10**6), 300)]:
        words = num2words(number, lang=language)
        if language == "en":
            words = words.replace(",", "").replace(" and ", " ")
        assert spell(number) == words


@pytest.mark.parametrize("language", LANGUAGES)
@settings(max_examples=200, deadline=None)
@given(number=st.integers(0, 10**12 - 1), digits=st.integers(1, 12))
def test_every_number_has_tokens_and_comes_back(language, number, digits):
    tokens = TOKENS[language]
    text = tokens.spell(number % 10**digits)
    numbers = tokens.encode(text)
    assert UNKNOWN not in numbers
    assert tokens.decode(numbers) == text


@pytest.mark.parametrize(
    ("language", "number", "split"),
    [
        ("en", 21_345, "twenty -one thousand three hundred forty -five"),
        ("fr", 80, "quatre -vingts"),
        ("fr_CH", 97, "nonante -sept"),
        ("de", 1_000_201, "eine Million zwei +hundert +eins"),
        ("es", 97, "noventa y siete"),
    ],
)
def test_numbers_are_cut_where_their_parts_meet(language, number, split):
    tokens = TOKENS[language]
    assert tokens.split(tokens.spell(number)) == split.split(" ")


def test_the_two_sides_say_the_same_number():
    assert NUMBERS.texts(97) == ("ninety-seven", "quatre-vingt-dix-sept")
    sides = zip((NUMBERS.source, NUMBERS.target), NUMBERS.pair(97), strict=True)
    assert tuple(side.decode(tokens) for side, tokens in sides) == NUMBERS.texts(97)


def test_held_out_numbers_are_a_tenth_and_never_among_the_others():
    trained = set(NUMBERS.sample(3000))
    tested = set(NUMBERS.sample(3000, held_out=True))
    assert not trained & tested
    everywhere = [NUMBERS.is_held_out(n) for n in range(20_000)]
    assert abs(sum(everywhere) / 20_000 - 0.1) < 0.01
    assert NUMBERS.sample(50, seed=3) == NUMBERS.sample(50, seed=3) != NUMBERS.sample(50, seed=4)
    other_seed = NumberDataset("en", "fr", seed=1)
    differ = [other_seed.is_held_out(n) != NUMBERS.is_held_out(n) for n in range(2000)]
    assert 0.1 < sum(differ) / 2000 < 0.3
    assert max(trained) > 95_000 and min(trained) < 5_000
    assert max(trained) < 100_000


def test_numbers_held_out_by_length_are_the_longer_ones():
    numbers = NumberDataset("en", "fr", below=10_000, longest=5)
    short = numbers.sample(300)
    long = numbers.sample(300, held_out=True)
    assert max(len(numbers.pair(n)[0]) for n in short) == 5
    assert min(len(numbers.pair(n)[0]) for n in long) == 6


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: NumberTokenizer("tlh"), "got 'tlh'"),
        (lambda: TOKENS["fr"].spell(-1), "got -1"),
        (lambda: TOKENS["fr"].spell(10**12), "got 1000000000000"),
        (lambda: NumberDataset(below=99), "between 100.*got 99"),
        (lambda: NumberDataset(longest=50).sample(1, held_out=True), "longest=50"),
        (lambda: NumberDataset(below=1000, longest=0).sample(1), "only 0 are for training"),
        (lambda: batches_by_length([3, 9], 8), "9 tokens.*max_tokens=8"),
        (lambda: EpochSampler([], 8), "no pairs"),
        (lambda: EpochSampler([([4], [5])], 10)(-1), "got -1"),
        (lambda: SubwordTokenizer.learn(["a b"], 500), "500 subwords could not be learned"),
    ],
)
def test_bad_input_raises_an_error_that_names_it(call, says):
    with pytest.raises(ValueError, match=says):
        call()


SENTENCES = [
    f"The {size} {animal} sees {number} {animal}s."
    for size in ("small", "smaller", "great", "greater")
    for animal in ("dog", "cat", "horse", "mouse")
    for number in ("two", "three", "seven", "twenty")
]


def test_subwords_give_texts_back_in_lower_case(tmp_path):
    subwords = SubwordTokenizer.learn(SENTENCES, 60)
    assert len(subwords) == 60
    for text in SENTENCES:
        numbers = subwords.encode(text)
        assert max(numbers) < 60 and min(numbers) > UNKNOWN
        assert subwords.decode(numbers) == text.lower()
        pieces = subwords.split(text)
        assert len(pieces) == len(numbers)
        assert "".join(pieces) == "▁" + text.lower().replace(" ", "▁")
    assert subwords.encode("The dog") == subwords.encode("the DOG")
    assert UNKNOWN in subwords.encode("日")
    subwords.save(tmp_path / "words.model")
    again = SubwordTokenizer.load(tmp_path / "words.model")
    assert again.encode(SENTENCES[0]) == subwords.encode(SENTENCES[0])
    long = SubwordTokenizer.learn(["zebra " * 2000, *SENTENCES], 60)
    assert UNKNOWN not in long.encode("zebra")


def test_a_batch_pads_behind_and_marks_both_ends():
    batch = collate([([7, 8], [9]), ([7], [9, 8, 5])])
    assert batch.source.tolist() == [[7, 8, END], [7, END, PAD]]
    assert batch.source_lengths.tolist() == [3, 2]
    assert batch.target.tolist() == [[START, 9, END, PAD, PAD], [START, 9, 8, 5, END]]
    empty = collate([])
    assert empty.source.shape == (0, 0) and empty.source_lengths.shape == (0,)
    moved = batch.to("meta")
    assert moved.target.device.type == moved.source.device.type == "meta"
    assert moved.source_lengths is batch.source_lengths


lengths = st.lists(st.integers(1, 20), max_size=60)


@settings(max_examples=100, deadline=None)
@given(lengths, st.integers(20, 90), st.integers(0, 5))
def test_batches_hold_every_example_once_and_not_too_much(lengths, max_tokens, seed):
    batches = batches_by_length(lengths, max_tokens, seed=seed)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) * max(lengths[i] for i in batch) <= max_tokens
    # no batch's lengths lie among another's
    spans = sorted((min(lengths[i] for i in b), max(lengths[i] for i in b)) for b in batches)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


def test_batches_are_few_and_come_in_another_order_each_epoch():
    generator = random.Random(0)
    lengths = [generator.randint(1, 30) for _ in range(2000)]
    batches = batches_by_length(lengths, 300)
    assert len(batches) < 1.1 * sum(lengths) / 300
    assert batches_by_length(lengths, 300) == batches
    other = batches_by_length(lengths, 300, seed=1)
    assert sorted(map(sorted, other)) != sorted(map(sorted, batches))
    firsts = [lengths[batch[0]] for batch in batches]
    assert firsts != sorted(firsts)


def test_epochs_give_each_pair_once_an_epoch_whatever_was_asked_before():
    pairs = [([5] * (1 + i % 4), [6] * (i % 3) + [7 + i]) for i in range(40)]
    epochs = EpochSampler(pairs, max_tokens=15)
    steps = [epochs(step) for step in range(200)]
    again, other = (EpochSampler(pairs, max_tokens=15, seed=seed) for seed in (0, 1))
    assert again(150) == steps[150] and again(3) == steps[3]
    assert [other(step) for step in range(9)] != steps[:9]
    seen, first = [], None
    for step, batch in enumerate(steps):
        seen += batch
        batch = collate(batch)
        assert batch.source.numel() <= 15 and batch.target[:, 1:].numel() <= 15
        if len(seen) == len(pairs) and first is None:
            first = step + 1
            assert sorted(seen) == sorted(pairs)
    second = [pair for batch in steps[first : 2 * first] for pair in batch]
    assert steps[:first] != steps[first : 2 * first]
    assert len(second) >= len(pairs) - 15
