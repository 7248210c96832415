"""The real language model: equal to transformers' Llama, and loaded with little memory."""

import json
import os
import re
import subprocess
import sys

import pytest
import torch
from conftest import why_no_language_model

from attnbook import pretrained
from attnbook.encoder import embed
from attnbook.figures.unlabelled import shown
from attnbook.language_model import generate
from transformers_reference import COLUMNS, ENCODED, ENCODER, MODEL, STORED, mark, varied_lines


@pytest.fixture(scope="module")
def language_model_file():
    """The file of the weights; without it a test is skipped, but in CI it fails."""
    reason = why_no_language_model()
    if reason is not None:
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return pretrained.fetch(MODEL)[0]


@pytest.fixture(scope="module")
def language_model(language_model_file):
    """The language model and its tokenizer; nobody may change them."""
    return pretrained.load(MODEL)


def test_scores_equal_those_of_transformers_llama(language_model):
    model, _ = language_model
    stored = json.loads(STORED.read_text("utf8"))
    assert stored["largest_difference"] < 2e-4
    for prompt in stored["prompts"]:
        with torch.no_grad():
            logits, _ = model(torch.tensor([prompt["tokens"]]))
        assert logits[0].argmax(dim=-1).tolist() == prompt["best"]
        difference = logits[0, :, COLUMNS] - torch.tensor(prompt["scores"])
        assert difference.abs().max() < 5e-4


def test_tokens_equal_those_of_transformers_on_a_thousand_lines(language_model):
    _, tokenizer = language_model
    stored = json.loads(STORED.read_text("utf8"))
    for prompt in stored["prompts"]:
        assert tokenizer.encode(prompt["text"]) == prompt["tokens"]
        assert tokenizer.decode(prompt["tokens"]) == prompt["text"]
    lines = varied_lines()
    assert len(set(lines)) > 950
    tokens = [tokenizer.encode(line) for line in lines]
    assert [mark(numbers) for numbers in tokens] == stored["marks"]
    for line, numbers in zip(lines, tokens, strict=True):
        if not re.search("[\x01-\x08\x0b-\x1f\x7f]", line):  # some of these are in no token
            assert tokenizer.decode(numbers) == line


def test_a_stream_has_whole_characters_and_a_text_its_pieces(language_model):
    model, tokenizer = language_model
    assert tokenizer.split("It costs 1999 €.") == ["It", " costs", " ", *"1999", " €", "."]
    assert len(tokenizer) == model.embedding.num_embeddings
    text = "注意力 😀 é and 鍵"
    pieces = list(tokenizer.stream(iter(tokenizer.encode(text))))
    assert "".join(pieces) == text
    assert all("\N{REPLACEMENT CHARACTER}" not in piece for piece in pieces)
    half = tokenizer.encode("😀")[:1]
    assert list(tokenizer.stream(iter(half))) == ["\N{REPLACEMENT CHARACTER}"]


def test_it_knows_a_capital_and_answers_with_the_cache_as_without(language_model):
    model, tokenizer = language_model
    tokens = tokenizer.encode("The capital of France is Paris. The capital of Germany is")
    written = list(generate(model, tokens, max_new_tokens=8))
    assert tokenizer.decode(written).startswith(" Berlin")
    assert written == list(generate(model, tokens, max_new_tokens=8, cached=False))
    prompt = tokenizer.encode(pretrained.chat("What is the capital of France?"))
    end = tokenizer.special["<|im_end|>"]
    answer = list(generate(model, prompt, max_new_tokens=20, end_tokens=[end]))
    assert "Paris" in tokenizer.decode(answer)
    assert len(answer) < 20


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what was the peak")
def test_loading_takes_little_memory(language_model_file):
    code = (
        "import re, torch; from attnbook import pretrained;"
        f"model, _ = pretrained.load({MODEL!r}, dtype=torch.bfloat16);"
        "peak = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1];"
        "print(model.norm.weight.dtype, peak)"
    )
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    dtype, peak = run.stdout.split()
    assert dtype == "torch.bfloat16" and int(peak) * 1024 < 0.75e9


def test_too_little_memory_is_an_error_with_the_numbers(language_model_file, monkeypatch):
    monkeypatch.setattr(pretrained, "_available_memory", lambda: 300 * 10**6)
    with pytest.raises(MemoryError, match=r"636 MB .*300 MB .*bfloat16"):
        pretrained.load(MODEL)
    monkeypatch.setattr(pretrained, "_available_memory", lambda: None)
    monkeypatch.setattr(pretrained, "LanguageModel", lambda **_: torch.empty(2**60))
    with pytest.raises(MemoryError, match="636 MB"):
        pretrained.load(MODEL)


def test_an_unknown_name_and_a_missing_library_are_named(monkeypatch):
    with pytest.raises(ValueError, match=r"smollm2.*: got 'gpt-7'"):
        pretrained.load("gpt-7")
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(ImportError, match=r"gguf.*attnbook\[llm\]"):
        pretrained.load(MODEL)


@pytest.fixture(scope="module")
def encoder(language_model_file):
    """The encoder and its tokenizer; nobody may change them."""
    return pretrained.load(ENCODER)


def test_vectors_of_texts_equal_those_of_transformers_bert(encoder):
    model, tokenizer = encoder
    stored = json.loads(STORED.read_text("utf8"))["encoder"]
    assert stored["largest_difference"] < 5e-5
    assert [mark(tokenizer.encode(text)) for text in ENCODED] == stored["marks"]
    expected = torch.tensor(stored["means"])
    with torch.no_grad():
        means = [model(torch.tensor([tokenizer.encode(text)]))[0][0].mean(0) for text in ENCODED]
    assert (torch.stack(means)[:, ::24] - expected).abs().max() < 5e-5
    vectors = embed(model, tokenizer, ENCODED)
    torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(len(ENCODED)))
    torch.testing.assert_close(vectors, torch.nn.functional.normalize(torch.stack(means)),
                               rtol=0, atol=1e-5)  # fmt: skip


def test_the_encoder_puts_paraphrases_near_each_other_and_reads_pieces_of_words(encoder):
    model, tokenizer = encoder
    texts = ["How old are you?", "What is your age?", "The train was late again."]
    cosines = embed(model, tokenizer, texts) @ embed(model, tokenizer, texts).mT
    assert cosines[0, 1] > 0.7 and cosines[0, 2] < 0.2
    assert tokenizer.split("Pickled fish") == ["[CLS]", "pick", "##led", "fish", "[SEP]"]
    assert tokenizer.decode(tokenizer.encode("Pickled fish")) == "pickled fish"
    assert len(tokenizer) == model.embedding.num_embeddings


def test_one_head_finds_what_came_next_the_first_time(language_model):
    maps = shown("11.1", *language_model).maps
    finds = {letter: rows[2:].diagonal(3).mean() > 0.6 for letter, rows in maps.items()}
    assert [letter for letter, true in finds.items() if true] == ["A"]


def test_only_the_encoder_lets_a_word_change_the_words_on_both_sides(language_model, encoder):
    bars = shown("13.9", *encoder, *language_model).bars
    both = {
        letter: change[:3].max() > 0.05 and change[4:].max() > 0.05
        for letter, change in bars.items()
    }
    assert [letter for letter, true in both.items() if true] == ["B"]
    assert bars["A"][:3].abs().max() < 1e-4 and bars["D"][4:].abs().max() < 1e-4
    assert bars["C"][:3].abs().max() < 1e-4 and bars["C"][4:].abs().max() < 1e-4
