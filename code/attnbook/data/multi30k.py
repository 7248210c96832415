"""Multi30k: descriptions of photographs, each in two languages."""

import gzip
import hashlib
import os
from pathlib import Path

import torch

_SHA256 = {
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2017_flickr.en.gz": "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
    "test_2017_flickr.de.gz": "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
    "test_2017_mscoco.en.gz": "aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58",
    "test_2017_mscoco.de.gz": "799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338",
}


class Multi30k:
    """Descriptions of photographs in English and their translations into German, 32,475 pairs.

    The files come from the folder that the environment variable ``ATTNBOOK_MULTI30K`` names. If
    it is not set, each is downloaded when it is first needed (1.4 MB in all) from
    https://github.com/multi30k/dataset into PyTorch's cache, and stays there. All are checked
    against their SHA-256. They are not part of this package.

    Sources: Elliott et al. 2016, https://arxiv.org/abs/1605.00459; the test sets of 2017: Elliott
    et al. 2017, https://arxiv.org/abs/1710.07177.
    """

    URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
    PARTS = ("train", "val", "test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")

    def __init__(self, source: str = "en", target: str = "de") -> None:
        if {source, target} != {"en", "de"}:
            raise ValueError(f"the languages must be 'en' and 'de': got {source!r} and {target!r}")
        self.source, self.target = source, target

    def texts(self, part: str) -> list[tuple[str, str]]:
        """The sentence pairs of one part, in the files' order.

        Raises ``ValueError`` for an unknown part or a file that is not the expected one,
        ``FileNotFoundError`` if the named folder lacks a file, ``ConnectionError`` if it cannot
        be downloaded, and ``ImportError`` if ``pooch``, which downloads it, is missing.
        """
        if part not in self.PARTS:
            raise ValueError(f"part must be one of {self.PARTS}: got {part!r}")
        sides = [
            gzip.decompress(self._read(f"{part}.{language}.gz"))
            .decode("utf8")
            .split("\n")[:-1]  # splitlines() would also split at rarer signs
            for language in (self.source, self.target)
        ]
        return list(zip(*sides, strict=True))

    def _read(self, name: str) -> bytes:
        folder = os.environ.get("ATTNBOOK_MULTI30K")
        if not folder:
            return self._download(name).read_bytes()
        path = Path(folder) / name
        if not path.exists():
            raise FileNotFoundError(
                f"there is no {path}. ATTNBOOK_MULTI30K must name the folder with the files of "
                "Multi30k, or be unset to download them"
            )
        content = path.read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if found != _SHA256[name]:
            raise ValueError(
                f"{path} is not the file of Multi30k: its SHA-256 is {found}, "
                f"but {_SHA256[name]} is expected. Delete the file and download it again."
            )
        return content

    def _download(self, name: str) -> Path:
        """Where a file is; if it is not there yet, or is damaged, it is downloaded first."""
        try:
            import pooch
        except ImportError as error:
            raise ImportError(
                "pooch, which downloads Multi30k, is missing. Install it with pip install "
                '"attnbook[score]", or pip install pooch'
            ) from error
        folder = Path(torch.hub.get_dir()) / "multi30k"
        try:
            path = pooch.retrieve(self.URL + name, _SHA256[name], fname=name, path=folder)
        except (OSError, ValueError) as error:
            raise ConnectionError(
                f"{self.URL + name} could not be downloaded ({error}). Complete files stay in "
                f"{folder}, so a second try downloads only the others. Without a network, "
                "download the files elsewhere and name their folder in ATTNBOOK_MULTI30K."
            ) from error
        return Path(path)
