"""Marks and pages of feedback get the names by which Moodle and Canvas know whose they are."""

import csv
import json
import re
import zipfile

import pytest

from attncourse import UsageError
from attncourse.grading.give_back import give_back

ASSIGNMENT = "03-scaling"
WORKSHEET = [
    "Identifier,Full name,Status,Grade,Maximum Grade,Last modified (grade)",
    'Participant 12345,"Lovelace, Ada",Submitted for grading,,16.00,"-"',
    'Participant 345,Karl,Submitted for grading,,16.00,"-"',
]
GRADEBOOK = [
    "Student,ID,SIS User ID,SIS Login ID,Section,04-softmax (8),03-scaling (7),Final Score",
    "    Points Possible,,,,,43,16,(read only)",
    '"Noether, Emmy",12347,,emmy,Week 3,12,,75',
    '"Gauss, Karl",347,,karl,Week 3,11,5,70',
]
MOODLE = (
    "ada",
    "Ada Lovelace_12345",
    "W/Ada Lovelace_12345_assignsubmission_file/03-scaling.ipynb",
)
KARL = ("karl", "Karl_345", "W/Karl_345_assignsubmission_file/03.ipynb")
CANVAS = ("emmy", "noetheremmy_12347", "submissions/noetheremmy_LATE_12347_678_my work.ipynb")


def write(path, lines, newline="\n"):
    path.write_text(newline.join(lines) + newline, "utf-8-sig")
    return path


@pytest.fixture
def course(tmp_path):
    """Two students of Moodle, one number the end of the other, and one of Canvas."""
    for student, handed_in_as, path in (MOODLE, KARL, CANVAS):
        place = tmp_path / "submitted" / student / ASSIGNMENT
        place.mkdir(parents=True)
        about = {"handed_in_as": handed_in_as, "path": path, "changed": []}
        (place / "origin.json").write_text(json.dumps(about))
        page = tmp_path / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html"
        page.parent.mkdir(parents=True)
        page.write_text(student)
    return tmp_path


def known(**scores):
    return {
        student: {"score": score, "status": "" if score != "" else "not yet marked: 3.9"}
        | {"max_score": 16}
        for student, score in scores.items()
    }


def rows(path, **options):
    with path.open(newline="") as file:
        return list(csv.reader(file, **options))


def pages(done):
    with zipfile.ZipFile(done.archive) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_moodle_gets_its_worksheet_and_its_folders_back(course):
    table = write(course / "w.csv", WORKSHEET)
    done = give_back(course, ASSIGNMENT, known(karl=3.0, ada=12.5), table)
    header, ada, karl = rows(done.table)
    assert header == WORKSHEET[0].split(",") and ada[1] == "Lovelace, Ada"
    assert (ada[3], karl[3]) == ("12.5", "3")
    assert pages(done) == {
        f"Karl_345_assignsubmission_file/{ASSIGNMENT}.html": "karl",
        f"Ada Lovelace_12345_assignsubmission_file/{ASSIGNMENT}.html": "ada",
    }


def test_canvas_gets_names_and_the_one_column_back(course):
    done = give_back(course, ASSIGNMENT, known(emmy=9.0), write(course / "g.csv", GRADEBOOK))
    header, possible, emmy, karl = rows(done.table)
    assert header == [*GRADEBOOK[0].split(",")[:5], "03-scaling (7)"]
    assert possible[0].strip() == "Points Possible" and possible[-1] == "16"
    assert (emmy[1], emmy[-1], karl[-1]) == ("12347", "9", "5")
    assert pages(done) == {f"noetheremmy_LATE_12347_678_{ASSIGNMENT}.html": "emmy"}


def test_tables_with_semicolons_and_german_titles_are_read_too(course):
    lines = [line.replace(",", ";") for line in WORKSHEET]
    lines[0] = "ID;Vollständiger Name;Status;Bewertung;Bestwertung;Zuletzt geändert (Bewertung)"
    lines[1:] = [re.sub("Participant", "Teilnehmer/in", line) for line in lines[1:]]
    table = write(course / "w.csv", lines, newline="\r\n")
    done = give_back(course, ASSIGNMENT, known(ada=1), table, column="Bewertung")
    _, ada, karl = rows(done.table, delimiter=";")
    assert (ada[0], ada[1], ada[3]) == ("Teilnehmer/in 12345", "Lovelace; Ada", "1")
    assert karl[3] == ""


def test_nobody_gets_a_mark_that_is_not_whole_and_all_are_named(course):
    table = write(course / "w.csv", WORKSHEET)
    done = give_back(course, ASSIGNMENT, known(ada="", emmy=3, zed=1), table)
    assert not done.filled
    assert done.no_score == ["ada: not yet marked: 3.9"]
    assert done.not_in_table == ["emmy, handed in as noetheremmy_12347"]
    assert done.not_from_platform == ["zed"]


@pytest.mark.parametrize(
    ("lines", "column", "says"),
    [
        ([WORKSHEET[0], WORKSHEET[1].replace("16", "100")], None, "has 16 points.*expects 100"),
        ([GRADEBOOK[0].replace("03-scaling (7)", "Week 3 (7)")], None, "no columns are called 03"),
        ([GRADEBOOK[0].replace("04-softmax (8)", "03-scaling (8)")], None, "2 columns are called"),
        (WORKSHEET, "Marks", "no columns are called Marks"),
        (["a,b", "c,d"], None, "not a grading worksheet.*its columns are a, b"),
        ([], None, "its columns are none"),
    ],
)
def test_a_table_that_cannot_be_filled_is_refused_and_nothing_is_written(
    course, lines, column, says
):
    table = write(course / "w.csv", lines)
    with pytest.raises(UsageError, match=says):
        give_back(course, ASSIGNMENT, known(ada=1), table, column)
    assert not (course / "returned").exists()


def test_a_file_that_is_no_text_is_refused(course):
    (course / "w.csv").write_bytes(b"PK\x03\x04\xff\xfe")
    with pytest.raises(UsageError, match="not a CSV file in UTF-8"):
        give_back(course, ASSIGNMENT, known(ada=1), course / "w.csv")
