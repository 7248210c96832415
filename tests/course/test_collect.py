"""What a platform gives is sorted: every student once, the newest notebook, nothing silently."""

import json
import zipfile

import pytest

from attncourse import UsageError, __main__ as commands
from attncourse.grading.collect import collect

ASSIGNMENT = "03-scaling"
MOODLE = "Week 2/{}_assignsubmission_file/{}"
CANVAS = "submissions/{}_{}"
JUNE = (2027, 6, 1, 12, 0, 0)


def notebook(text="", heading="### Exercise 3.2 ★☆☆ · 10 min"):
    cells = [{"source": [heading, "\n", text]}, {"source": 'x = 1\ncheck("3.2", x)'}]
    return json.dumps({"cells": cells})


@pytest.fixture
def course(tmp_path, monkeypatch):
    release = tmp_path / "release" / ASSIGNMENT
    release.mkdir(parents=True)
    (release / f"{ASSIGNMENT}.ipynb").write_text(notebook())
    (tmp_path / "nbgrader_config.py").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def archive(course, files, changed=JUNE):
    path = course / "submissions.zip"
    with zipfile.ZipFile(path, "w") as file:
        for name, content in files.items():
            file.writestr(zipfile.ZipInfo(name, changed), content)
    return path


def students(course):
    return sorted(path.parent.parent.name for path in course.glob("submitted/*/*/*.ipynb"))


def content(course, student):
    return (course / f"submitted/{student}/{ASSIGNMENT}/{ASSIGNMENT}.ipynb").read_text()


@pytest.mark.parametrize(
    ("file", "student"),
    [
        (MOODLE.format("Ada Lovelace_101", "03-scaling.ipynb"), "Ada Lovelace"),
        (MOODLE.format("Ada Lovelace_101", "Copy_of_03_scaling.ipynb"), "Ada Lovelace"),
        (MOODLE.format("Ada Lovelace_101", "homework.ipynb"), "Ada Lovelace"),
        ("Ada Lovelace_101_assignsubmission_file_03-scaling.ipynb", "Ada Lovelace"),
        ("Ada Lovelace_101_assignsubmission_file_/03-scaling.ipynb", "Ada Lovelace"),
        (CANVAS.format("noetheremmy_12347", "678_03-scaling.ipynb"), "noetheremmy_12347"),
        (CANVAS.format("noetheremmy_LATE_12347", "678_03-scaling-1.ipynb"), "noetheremmy_12347"),
        ("noetheremmy_12347_678_Copy of 03-scaling (1).ipynb", "noetheremmy_12347"),
    ],
)
def test_the_names_that_platforms_and_students_give_to_files_are_read(course, file, student):
    done = collect(course, ASSIGNMENT, archive(course, {file: notebook()}))
    assert done.new == students(course) == [student]


def test_an_archive_that_was_unpacked_is_read_too(course):
    path = course / MOODLE.format("Ada Lovelace_101", "03-scaling.ipynb")
    path.parent.mkdir(parents=True)
    path.write_text(notebook())
    assert collect(course, ASSIGNMENT, course / "Week 2").new == ["Ada Lovelace"]


def test_another_number_in_another_assignment_is_the_same_student(course):
    (course / "release/04-softmax").mkdir()
    (course / "release/04-softmax/04-softmax.ipynb").write_text(notebook())
    for assignment, number in [(ASSIGNMENT, 12345), ("04-softmax", 22345)]:
        file = MOODLE.format(f"Ada Lovelace_{number}", "a.ipynb")
        collect(course, assignment, archive(course, {file: notebook()}))
    assert [path.name for path in (course / "submitted").iterdir()] == ["Ada Lovelace"]


def test_two_of_one_name_are_refused_also_if_one_hands_in_later(course):
    first, second = (MOODLE.format(f"Ada Lovelace_{n}", "a.ipynb") for n in (1, 2))
    both = {first: notebook("one"), second: notebook("two")}
    with pytest.raises(UsageError, match=r"called Ada Lovelace: Ada Lovelace_1, Ada Lovelace_2\."):
        collect(course, ASSIGNMENT, archive(course, both))
    assert students(course) == []
    collect(course, ASSIGNMENT, archive(course, {first: both[first]}))
    with pytest.raises(UsageError, match="Ada Lovelace_1, Ada Lovelace_2"):
        collect(course, ASSIGNMENT, archive(course, {second: both[second]}))
    assert "one" in content(course, "Ada Lovelace")


def test_a_roster_tells_them_apart_and_merges_names(course):
    roster = ["handed_in_as,student", "Ada Lovelace_1,ada.l", "Ada Lovelace_2,ada.k"]
    roster += ["Ada L.,ada.l", "Emmy Noether,emmy"]
    (course / "roster.csv").write_text("\n".join(roster))
    people = ["Ada Lovelace_1", "Ada Lovelace_2", "Emmy Noether_9", "Karl_4"]
    files = {MOODLE.format(name, "a.ipynb"): notebook(name) for name in people}
    done = collect(course, ASSIGNMENT, archive(course, files))
    assert students(course) == ["Karl", "ada.k", "ada.l", "emmy"]
    assert "Ada Lovelace_2" in content(course, "ada.k")
    assert done.not_on_roster == ["Karl_4"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("name,id\nAda,ada", "the first line must be handed_in_as,student"),
        ("handed_in_as,student\nAda,a\nAda,b", "Ada is a and b"),
        ("handed_in_as,student\nAda,../x", "can't be the name of a folder"),
    ],
)
def test_a_roster_that_cannot_be_is_refused(course, rows, says):
    (course / "roster.csv").write_text(rows)
    with pytest.raises(UsageError, match=says):
        collect(course, ASSIGNMENT, archive(course, {}))


def test_who_hands_in_again_is_listed_and_what_was_graded_before_is_removed(course):
    ada, emmy = (MOODLE.format(who, "a.ipynb") for who in ("Ada_1", "Emmy_2"))
    collect(course, ASSIGNMENT, archive(course, {ada: notebook("old"), emmy: notebook()}))
    for folder in ("autograded", "feedback"):
        for student in ("Ada", "Emmy"):
            (course / folder / student / ASSIGNMENT).mkdir(parents=True)
    done = collect(course, ASSIGNMENT, archive(course, {ada: notebook("new"), emmy: notebook()}))
    assert (done.new, done.again, done.as_before) == ([], ["Ada"], ["Emmy"])
    assert "new" in content(course, "Ada")
    for folder in ("autograded", "feedback"):
        assert not (course / folder / "Ada" / ASSIGNMENT).exists()
        assert (course / folder / "Emmy" / ASSIGNMENT).exists()


def test_an_older_archive_replaces_nothing(course):
    ada = MOODLE.format("Ada_1", "a.ipynb")
    collect(course, ASSIGNMENT, archive(course, {ada: notebook("new")}))
    may = (2027, 5, 1, 12, 0, 0)
    done = collect(course, ASSIGNMENT, archive(course, {ada: notebook("old")}, changed=may))
    assert done.older == ["Ada"] and "new" in content(course, "Ada")


def test_of_several_notebooks_the_newest_counts_and_the_command_says_so(course, capsys):
    files = {
        CANVAS.format("ada_1", "7_03-scaling.ipynb"): notebook("first"),
        CANVAS.format("ada_1", "8_03-scaling-2.ipynb"): notebook("third"),
        CANVAS.format("ada_LATE_1", "9_03-scaling-1.ipynb"): notebook("second"),
    }
    commands.main(["collect", ASSIGNMENT, str(archive(course, files))])
    assert "third" in content(course, "ada_1")
    assert "newest was taken:\n    ada_1: submissions/ada_1_8_03" in capsys.readouterr().out


def test_what_is_no_notebook_of_these_exercises_is_listed(course, capsys):
    files = {
        MOODLE.format("Ada_1", "solution.pdf"): "%PDF",
        MOODLE.format("Emmy_2", "04-softmax.ipynb"): notebook(
            heading="### Exercise 4.2 ★☆☆ · 1 min"
        ).replace("3.2", "4.2"),
        MOODLE.format("Karl_3", "03-scaling.ipynb"): '{"cells": [',
        MOODLE.format("Rosa_4", "03-scaling.ipynb"): notebook(),
        "__MACOSX/Rosa_4_assignsubmission_file/._03-scaling.ipynb": "x",
        "submissions/ada.ipynb": notebook(),
    }
    commands.main(["collect", ASSIGNMENT, str(archive(course, files))])
    printed = capsys.readouterr().out
    assert students(course) == ["Rosa"]
    assert "1 new submissions" in printed and "MACOSX" not in printed
    for line in ("Ada (solution.pdf)", "Emmy (04-softmax.ipynb)", "Karl (03-scaling.ipynb)"):
        assert f"    {line}\n" in printed
    assert "of unknown students" in printed and "    submissions/ada.ipynb\n" in printed


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["05-word-order", "x.zip"], r"no such assignment: 05-word-order.*03-scaling"),
        ([ASSIGNMENT, "x.zip"], "no such archive or folder: x.zip"),
        ([ASSIGNMENT, "nbgrader_config.py"], "neither a folder nor a zip archive"),
    ],
)
def test_what_is_typed_wrongly_is_said_without_a_traceback(course, arguments, says):
    with pytest.raises(SystemExit, match=says):
        commands.main(["collect", *arguments])


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["collect", ASSIGNMENT, "x.zip"], r"no nbgrader_config\.py in .*folder of your course"),
        (["run"], r"no _config\.yml in .*root of the repository"),
    ],
)
def test_elsewhere_a_command_says_where_it_must_be_run(tmp_path, monkeypatch, command, says):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=says):
        commands.main(command)
