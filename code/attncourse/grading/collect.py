"""Put what students handed in on a learning platform where nbgrader looks for it.

Moodle and Canvas each give an archive in which the names of folders or files say whose they are:

    Ada Lovelace_12345_assignsubmission_file/03-scaling.ipynb   Moodle
    lovelaceada_LATE_12347_678_03-scaling-1.ipynb               Canvas

Canvas's first number belongs to the student. Moodle's belongs to student and assignment, so there
the name alone says who it is. Where this is not enough, ``roster.csv`` does.
"""

import csv
import json
import re
import shutil
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from attnbook.atomic_files import atomic_write, read_json
from attncourse import UsageError

MOODLE = re.compile(
    r"(?:.*/)?(?P<name>[^/_]+)_(?P<number>\d+)_assignsubmission_[a-z]+_?/?(?P<file>[^/]*)"
)
CANVAS = re.compile(r"(?:.*/)?(?P<name>[^/_]+)(?:_LATE)?_(?P<number>\d+)_\d+_(?P<file>[^/]+)")

EXERCISE = re.compile(r'^### Exercise ([\d.]+)|^check\("([\d.]+)"', re.M)

ROSTER = "roster.csv"
ROSTER_COLUMNS = ["handed_in_as", "student"]
ORIGIN = "origin.json"  # beside a collected notebook: what the platform said of it


@dataclass
class File:
    """A file of an archive, and who handed it in."""

    path: str
    changed: tuple  # when, as far as the archive tells
    content: bytes
    name: str = ""  # "" if the path does not tell
    number: str = ""
    student: str = ""

    @property
    def handed_in_as(self) -> str:
        return f"{self.name}_{self.number}"


@dataclass
class Collected:
    """What became of an archive: students, or paths of files, by what was done with them."""

    new: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    as_before: list[str] = field(default_factory=list)
    older: list[str] = field(default_factory=list)  # than what was collected before
    several: list[str] = field(default_factory=list)  # which one was taken
    without_notebook: list[str] = field(default_factory=list)
    not_on_roster: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def collect(course: Path, assignment: str, source: Path) -> Collected:
    """Copy the newest notebook of each student into ``submitted``.

    ``source`` is an archive of the platform, or the folder it was unpacked into. Whoever had
    handed in something else before is graded again: what was graded then is removed, though not
    the points that were given by hand.

    Raises ``UsageError``, and writes nothing, if two students can't be told apart.
    """
    exercises = _exercises((course / f"release/{assignment}/{assignment}.ipynb").read_bytes())
    roster = _roster(course / ROSTER)
    done = Collected()
    by_student: dict[str, list[File]] = {}
    for file in _files(source):
        if not file.name:
            done.unknown.append(file.path)
            continue
        file.student = _student(file, roster)
        by_student.setdefault(file.student, []).append(file)
        listed = {file.name, file.handed_in_as} & roster.keys()
        if roster and not listed and file.handed_in_as not in done.not_on_roster:
            done.not_on_roster.append(file.handed_in_as)
    _refuse_namesakes(course, assignment, by_student, roster)
    for student, files in sorted(by_student.items()):
        notebooks = [file for file in files if exercises & _exercises(file.content)]
        if not notebooks:
            names = ", ".join(PurePosixPath(file.path).name for file in files)
            done.without_notebook.append(f"{student} ({names})")
            continue
        newest = max(notebooks, key=lambda file: (file.changed, _version(file.path)))
        if len(notebooks) > 1:
            done.several.append(f"{student}: {newest.path}")
        _store(course, assignment, newest, done)
    return done


def _files(source: Path) -> Iterator[File]:
    """Yield what is in an archive or a folder, with who handed it in."""
    for path, changed, content in _entries(source):
        hidden = any(part.startswith((".", "__MACOSX")) for part in path.split("/"))
        if not hidden:
            found = MOODLE.fullmatch(path) or CANVAS.fullmatch(path)
            who = {"name": found["name"], "number": found["number"]} if found else {}
            yield File(path, changed, content, **who)


def _entries(source: Path) -> Iterator[tuple[str, tuple, bytes]]:
    if source.is_dir():
        for path in sorted(source.rglob("*")):
            if path.is_file():
                changed = time.localtime(path.stat().st_mtime)[:6]
                yield path.relative_to(source).as_posix(), changed, path.read_bytes()
        return
    if not zipfile.is_zipfile(source):
        raise UsageError(f"neither a folder nor a zip archive: {source}")
    with zipfile.ZipFile(source) as archive:
        for entry in archive.infolist():
            if not entry.is_dir():
                yield entry.filename, entry.date_time, archive.read(entry)


def _exercises(content: bytes) -> set[str]:
    """The exercises in a notebook, whatever its name is; none if it is not a notebook."""
    try:
        cells = json.loads(content)["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
    except (ValueError, KeyError, TypeError):
        return set()
    return {a or b for a, b in EXERCISE.findall(text)}


def _version(path: str) -> int:
    """The 2 of ``03-scaling-2.ipynb`` or ``03-scaling (2).ipynb``."""
    found = re.search(r"(?:-| \()(\d+)\)?\.ipynb$", path)
    return int(found[1]) if found else 0


def _student(file: File, roster: dict[str, str]) -> str:
    for known in (file.handed_in_as, file.name):
        if known in roster:
            return roster[known]
    return file.name if MOODLE.fullmatch(file.path) else file.handed_in_as


def _roster(path: Path) -> dict[str, str]:
    """Who is who: from a name on the platform, with its number or without, to the student."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if not {*ROSTER_COLUMNS} <= {*(reader.fieldnames or [])}:
            raise UsageError(f"{path}: the first line must be {','.join(ROSTER_COLUMNS)}")
        rows = [(row["handed_in_as"].strip(), row["student"].strip()) for row in reader]
    roster: dict[str, str] = {}
    for name, student in rows:
        if re.search(r"[/\\]|^\.|^$", student):
            raise UsageError(f"{path}: {student!r} can't be the name of a folder")
        if roster.setdefault(name, student) != student:
            raise UsageError(
                f"{path}: {name} is {roster[name]} and {student}; add the number that the "
                f"platform gives to each, such as {name}_12345"
            )
    return roster


def _refuse_namesakes(
    course: Path, assignment: str, by_student: dict[str, list[File]], roster: dict[str, str]
) -> None:
    """Nobody's work is taken for another's who has the same name."""
    for student, files in by_student.items():
        names = {file.handed_in_as for file in files}
        origin = course / "submitted" / student / assignment / ORIGIN
        if origin.exists():
            names.add(read_json(origin)["handed_in_as"])
        unclear = sorted(name for name in names if roster.get(name) != student)
        if len(names) > 1 and unclear:
            rows = "\n".join(f"{name},{student} {i}" for i, name in enumerate(sorted(names), 1))
            raise UsageError(
                f"in {assignment} there are {len(names)} students called {student}: "
                f"{', '.join(sorted(names))}. Nothing was collected. Say in {course / ROSTER} who "
                f"is who, for instance:\n\n{','.join(ROSTER_COLUMNS)}\n{rows}"
            )


def _store(course: Path, assignment: str, file: File, done: Collected) -> None:
    """Write a notebook where nbgrader looks for it, and note what it took the place of."""
    path = course / "submitted" / file.student / assignment / f"{assignment}.ipynb"
    origin = path.with_name(ORIGIN)
    if not path.exists():
        done.new.append(file.student)
    elif path.read_bytes() == file.content:
        done.as_before.append(file.student)
        return
    elif origin.exists() and read_json(origin)["changed"] > [*file.changed]:
        done.older.append(file.student)
        return
    else:
        done.again.append(file.student)
        for graded in ("autograded", "feedback"):
            shutil.rmtree(course / graded / file.student / assignment, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, file.content)
    about = {"handed_in_as": file.handed_in_as, "path": file.path, "changed": file.changed}
    atomic_write(origin, json.dumps(about, ensure_ascii=False).encode())
