"""Give marks and feedback back to the platform that submissions came from.

Moodle and Canvas each import a table that they have exported before, and an archive of files for
students. So the marks are filled into the table that the teacher downloads, in the rows of those
numbers that the platform gave with each submission, and each page of feedback gets the name by
which the platform knows whose it is:

    Moodle   column "Identifier": Participant 12345   Ada Lovelace_12345_assignsubmission_file/…
    Canvas   column "ID": 12347                       lovelaceada_12347_678_03-scaling.html
"""

import csv
import io
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from attnbook.atomic_files import atomic_write, read_json
from attncourse import UsageError
from attncourse.grading.collect import ORIGIN

FOLDER = "returned"
POINTS_POSSIBLE = "Points Possible"  # Canvas has a row with this in its first column
MAXIMUM = "Maximum Grade"  # Moodle has a column
SAME = 0.005  # platforms round points to two digits


@dataclass
class Returned:
    """What became of the students of an assignment."""

    table: Path
    archive: Path
    filled: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    no_score: list[str] = field(default_factory=list)
    not_in_table: list[str] = field(default_factory=list)
    no_page: list[str] = field(default_factory=list)
    not_from_platform: list[str] = field(default_factory=list)

    def left_out(self) -> dict[str, list[str]]:
        """Who got no mark or no page, by the reason."""
        return {
            "without a mark, because it is not complete": self.no_score,
            "without a mark, because they are not in the table": self.not_in_table,
            "without a page; first: nbgrader generate_feedback": self.no_page,
            "put into submitted/ by hand, so their number on the platform is not known": (
                self.not_from_platform
            ),
        }


@dataclass
class Table:
    """A platform's table of marks: its rows, and where their numbers and marks are."""

    rows: list[list[str]]
    delimiter: str
    numbers: int  # the column with the platform's number of a student
    marks: int
    kept: list[int]  # the columns that are given back
    maximum: float | None  # what the platform takes for all points

    def row_of(self, number: str) -> list[str] | None:
        """The row of the student with a number."""
        for row in self.rows[1:]:
            if re.search(rf"(?<!\d){number}$", row[self.numbers].strip()):
                return row
        return None

    def text(self) -> str:
        """The table as the platform imports it."""
        out = io.StringIO()
        writer = csv.writer(out, delimiter=self.delimiter)
        writer.writerows([row[i] for i in self.kept] for row in self.rows)
        return out.getvalue()


def give_back(
    course: Path, assignment: str, known: dict[str, dict], path: Path, column: str | None = None
) -> Returned:
    """Fill the marks of an assignment into a platform's table, and zip the pages of feedback.

    ``known`` has a row of ``grades.csv`` for each student.

    Raises ``UsageError``, and writes nothing, if the table is none of Moodle's or Canvas's, or if
    the platform has other points in mind.
    """
    table = read_table(path, assignment, column)
    _refuse_other_points(table, known, path, assignment)
    folder = course / FOLDER
    done = Returned(folder / f"{assignment}-marks.csv", folder / f"{assignment}-feedback.zip")
    pages: dict[str, bytes] = {}
    for student, row in known.items():
        origin = course / "submitted" / student / assignment / ORIGIN
        if row["status"] == "not handed in":
            continue
        if not origin.exists():
            done.not_from_platform.append(student)
            continue
        about = read_json(origin)
        line = table.row_of(about["handed_in_as"].rpartition("_")[2])
        if row["score"] == "":
            done.no_score.append(f"{student}: {row['status']}")
        elif line is None:
            done.not_in_table.append(f"{student}, handed in as {about['handed_in_as']}")
        else:
            line[table.marks] = f"{row['score']:g}"
            done.filled.append(student)
        page = course / "feedback" / student / assignment / f"{assignment}.html"
        if page.exists():
            done.pages.append(student)
            pages[name_of_page(about["path"], page.name)] = page.read_bytes()
        else:
            done.no_page.append(student)
    folder.mkdir(exist_ok=True)
    atomic_write(done.table, table.text().encode())
    atomic_write(done.archive, _zipped(pages))
    return done


def _refuse_other_points(table: Table, known: dict[str, dict], path: Path, assignment: str) -> None:
    most = next(iter(known.values()))["max_score"] if known else None
    if most is not None and table.maximum is not None and abs(table.maximum - most) > SAME:
        raise UsageError(
            f"{path}: {assignment} has {most:g} points, and the platform expects "
            f"{table.maximum:g}. Set them to {most:g} there, and download the table again"
        )


def read_table(path: Path, assignment: str, column: str | None = None) -> Table:
    """A grading worksheet of Moodle, or a gradebook of Canvas."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not a CSV file in UTF-8 ({error})") from error
    delimiter = ";" if text.split("\n")[0].count(";") > text.split("\n")[0].count(",") else ","
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(row)]
    header = rows[0] if rows else []
    rows = [row + [""] * (len(header) - len(row)) for row in rows]
    if "ID" in header and "Section" in header:
        marks = _column(path, header, column or assignment)
        kept = [*range(header.index("Section") + 1), marks]
        possible = next((row for row in rows if POINTS_POSSIBLE in row[0]), None)
        maximum = possible[marks] if possible else ""
        return Table(rows, delimiter, header.index("ID"), marks, kept, _number(maximum))
    first = rows[1][0] if len(rows) > 1 else ""
    if re.fullmatch(r"\D*\d+", first):  # its title is in the language of the Moodle
        marks = _column(path, header, column or "Grade")
        maximum = rows[1][header.index(MAXIMUM)] if MAXIMUM in header else ""
        return Table(rows, delimiter, 0, marks, [*range(len(header))], _number(maximum))
    raise UsageError(
        f"{path} is not a grading worksheet of Moodle, whose first column says Participant "
        f"12345, and not a gradebook of Canvas, with the columns ID and Section; its columns are "
        f"{', '.join(header) or 'none'}"
    )


def _column(path: Path, header: list[str], name: str) -> int:
    """The place of a column; Canvas adds a number to its name: ``03-scaling (4711)``."""
    found = [i for i, title in enumerate(header) if title == name]
    found = found or [
        i for i, title in enumerate(header) if re.match(rf"{re.escape(name)}\b", title)
    ]
    if len(found) != 1:
        raise UsageError(
            f"{path}: {len(found) or 'no'} columns are called {name}; say which by --column, of "
            f"{', '.join(header)}"
        )
    return found[0]


def _number(text: str) -> float | None:
    """The number that a cell says, with a comma or a point; None if it says none."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def name_of_page(handed_in: str, page: str) -> str:
    """Under which name a platform takes a file for the student who handed in another.

    >>> name_of_page("Week 2/Ada Lovelace_12345_assignsubmission_file/a.ipynb", "03-scaling.html")
    'Ada Lovelace_12345_assignsubmission_file/03-scaling.html'
    >>> name_of_page("submissions/lovelaceada_LATE_12347_678_a.ipynb", "03-scaling.html")
    'lovelaceada_LATE_12347_678_03-scaling.html'
    """
    for part in PurePosixPath(handed_in).parts:
        found = re.match(r"[^/_]+_\d+_assignsubmission_[a-z]+", part)
        if found:
            return f"{found[0]}/{page}"
    name = PurePosixPath(handed_in).name
    return re.match(r"[^/_]+(?:_LATE)?_\d+_\d+_", name)[0] + page


def _zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()
