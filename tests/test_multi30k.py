"""The files of Multi30k: read from a folder, or downloaded from a server on this machine."""

import functools
import gzip
import hashlib
import http.server
import sys
import threading

import pytest
import torch

from attnbook.data import Multi30k, multi30k


@pytest.fixture
def small_multi30k(monkeypatch):
    """Files like those of Multi30k, with their checksums in place of the true ones."""
    files = {
        f"{part}.{language}.gz": gzip.compress(
            "".join(f"{language} {part} {i}\n" for i in range(3)).encode()
        )
        for part in Multi30k.PARTS
        for language in ("en", "de")
    }
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    monkeypatch.setattr(multi30k, "_SHA256", sums)
    monkeypatch.delenv("ATTNBOOK_MULTI30K", raising=False)
    return files


def test_the_true_checksums_are_ten_and_well_formed():
    assert len(multi30k._SHA256) == 10
    assert all(len(bytes.fromhex(found)) == 32 for found in multi30k._SHA256.values())


def test_multi30k_is_read_from_the_folder_named(small_multi30k, tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNBOOK_MULTI30K", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"val\.en\.gz\. ATTNBOOK_MULTI30K"):
        Multi30k().texts("val")
    for name, content in small_multi30k.items():
        (tmp_path / name).write_bytes(content)
    pairs = Multi30k().texts("val")
    assert pairs == [(f"en val {i}", f"de val {i}") for i in range(3)]
    back = Multi30k("de", "en").texts("test_2016_flickr")
    assert back[0] == ("de test_2016_flickr 0", "en test_2016_flickr 0")
    (tmp_path / "val.en.gz").write_bytes(gzip.compress(b"another\n"))
    with pytest.raises(ValueError, match=r"val\.en\.gz"):
        Multi30k().texts("val")


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A folder that is served at the address of Multi30k, and the names that were asked for."""
    folder, asked = tmp_path / "served", []
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path.strip("/"))
            super().do_GET()

        def log_message(self, *_):
            pass

    handler = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        monkeypatch.setattr(Multi30k, "URL", f"http://127.0.0.1:{server.server_port}/")
        yield folder, asked
        server.shutdown()


def test_multi30k_is_downloaded_once_checked_and_resumed(
    small_multi30k, served, tmp_path, monkeypatch
):
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path))
    folder, asked = served
    (folder / "val.en.gz").write_bytes(small_multi30k["val.en.gz"])
    with pytest.raises(ConnectionError, match=r"val\.de\.gz.*404.*ATTNBOOK_MULTI30K"):
        Multi30k().texts("val")
    (folder / "val.de.gz").write_bytes(b"cut off")
    with pytest.raises(ConnectionError, match=r"val\.de\.gz"):
        Multi30k().texts("val")
    (folder / "val.de.gz").write_bytes(small_multi30k["val.de.gz"])
    for _ in range(2):
        assert Multi30k().texts("val")[2] == ("en val 2", "de val 2")
    assert asked == ["val.en.gz"] + 3 * ["val.de.gz"]
    stored = tmp_path / "multi30k"
    assert {path.name for path in stored.iterdir()} == {"val.en.gz", "val.de.gz"}
    (stored / "val.en.gz").write_bytes(b"damaged")
    assert Multi30k().texts("val")[2] == ("en val 2", "de val 2")


def test_what_is_not_there_is_named(small_multi30k, monkeypatch):
    with pytest.raises(ValueError, match="got 'en' and 'fr'"):
        Multi30k("en", "fr")
    with pytest.raises(ValueError, match="got 'dev'"):
        Multi30k().texts("dev")
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pooch.*attnbook\[score\]"):
        Multi30k().texts("val")
