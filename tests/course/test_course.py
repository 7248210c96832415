"""The command that runs chapters and tells them where the book lives."""

import re
import shutil

import nbformat
import pytest
import yaml
from conftest import ROOT
from nbclient.exceptions import CellExecutionError

from attnbook.course import __main__ as commands, address, assignment, handouts
from attnbook.course.chapter import chapters, exercises_of

SCALING = "chapters/03-scaling.ipynb"


def assigned(folder):
    return nbformat.read(folder / "source/03-scaling/03-scaling.ipynb", 4)


def headings(notebook):
    text = "\n".join(cell.source for cell in notebook.cells)
    return re.findall(r"^### Exercise ([\d.]+) ", text, re.M)


@pytest.fixture
def book(tmp_path, root, monkeypatch):
    """A copy of the book's settings with one small chapter."""
    shutil.copy(root / "_config.yml", tmp_path)
    (tmp_path / "_toc.yml").write_text("root: index\nchapters:\n  - file: chapters/01-where\n")
    (tmp_path / "chapters").mkdir()
    cells = [
        nbformat.v4.new_markdown_cell("# 1 · Where?"),
        nbformat.v4.new_code_cell(
            address.setup_cell(tmp_path), metadata={"tags": ["setup", "remove-cell"]}
        ),
        nbformat.v4.new_code_cell("import os\nos.listdir()"),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbformat.write(notebook, tmp_path / "chapters/01-where.ipynb")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_moving_rewrites_the_address_and_every_setup_cell_and_nothing_else(book):
    before = (book / "_config.yml").read_text("utf8").split("\n")
    commands.main(["home", "https://github.com/someone/a-book.git/"])
    after = (book / "_config.yml").read_text("utf8").split("\n")
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert len(changed) == 1
    config = yaml.safe_load("\n".join(after))
    assert config["repository"]["url"] == "https://github.com/someone/a-book"
    notebook = nbformat.read(book / "chapters/01-where.ipynb", 4)
    assert notebook.cells[1].source == address.setup_cell(book)
    assert "git+https://github.com/someone/a-book@main#" in notebook.cells[1].source
    assert notebook.cells[0].source == "# 1 · Where?"


@pytest.mark.parametrize(
    "url", ["github.com/a/b", "https://gitlab.com/a/b", "https://github.com/a", "x"]
)
def test_an_address_that_colab_cannot_open_is_refused_and_nothing_changes(book, url):
    before = (book / "_config.yml").read_bytes()
    with pytest.raises(SystemExit, match="OWNER/REPOSITORY"):
        commands.main(["home", url])
    assert (book / "_config.yml").read_bytes() == before


def test_a_chapter_runs_in_an_empty_folder_and_stores_its_outputs(book):
    path = book / "chapters/01-where.ipynb"
    commands.main(["run", str(path)])
    notebook = nbformat.read(path, 4)
    assert notebook.cells[2].outputs[0].data["text/plain"] == "[]"
    assert "execution" not in notebook.cells[2].metadata
    assert [p.name for p in (book / "chapters").iterdir()] == ["01-where.ipynb"]


def test_a_chapter_that_fails_stays_as_it_was(book):
    path = book / "chapters/01-where.ipynb"
    notebook = nbformat.read(path, 4)
    notebook.cells[2].source = "1 / 0"
    nbformat.write(notebook, path)
    before = path.read_bytes()
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        commands.main(["run"])
    assert path.read_bytes() == before


def test_outside_a_book_it_says_where_it_must_be_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=r"no _config\.yml in"):
        commands.main(["run"])


def test_moving_says_what_was_written(book, capsys):
    commands.main(["home", "https://github.com/someone/a-book"])
    assert "https://github.com/someone/a-book" in capsys.readouterr().out


def test_only_the_exercises_that_are_asked_for_are_assigned(root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(root)
    commands.main(["assignment", str(tmp_path), "--only", "3.2", "3.9"])
    assert [p.name for p in (tmp_path / "source").iterdir()] == ["03-scaling"]
    notebook = assigned(tmp_path)
    assert headings(notebook) == ["3.2", "3.9"]
    assert "2 exercises, 6 points, about 20 minutes" in notebook.cells[0].source
    assert "nbgrader generate_assignment 03-scaling" in capsys.readouterr().out


def test_all_exercises_are_assigned_if_none_is_named(root, tmp_path, monkeypatch):
    monkeypatch.chdir(root)
    commands.main(["assignment", str(tmp_path), SCALING])
    chapter = nbformat.read(root / SCALING, 4)
    todo = [task.id for task in exercises_of(chapter) if task.points]
    assert headings(assigned(tmp_path)) == todo


def test_an_exercise_that_does_not_exist_is_named_and_nothing_is_written(
    root, tmp_path, monkeypatch
):
    monkeypatch.chdir(root)
    with pytest.raises(SystemExit, match=r"no such exercise with points: 3\.99"):
        commands.main(["assignment", str(tmp_path), "--only", "3.2", "3.99"])
    assert list(tmp_path.iterdir()) == []


def test_an_assignment_says_how_to_install_what_it_needs(root, tmp_path, monkeypatch):
    monkeypatch.chdir(root)
    commands.main(["assignment", str(tmp_path), SCALING])
    first, setup, *_ = (cell.source for cell in assigned(tmp_path).cells)
    package = re.search(r'pip install ("attnbook @ git\+.+?")', first)[1]
    assert package in setup


@pytest.mark.parametrize("path", chapters(ROOT))
def test_nobody_is_told_to_compare_with_a_model_answer_that_is_not_there(path):
    chapter = nbformat.read(path, 4)
    for notebook in (
        handouts.student(chapter),
        assignment.assignment(chapter, [1], "https://example.org"),
    ):
        for cell in notebook.cells:
            assert not re.search(r"[Tt]hen compare\.", cell.source)


@pytest.mark.parametrize(
    ("file", "student"),
    [
        (
            "Course 7-Week 2-99/Ada Lovelace_101_assignsubmission_file/03-scaling.ipynb",
            "Ada Lovelace_101",
        ),
        ("Week/Ada Lovelace_101_assignsubmission_file_03-scaling.ipynb", "Ada Lovelace_101"),
        ("submissions/lovelaceada_101_9_03-scaling.ipynb", "lovelaceada_101"),
        ("submissions/lovelaceada_101_9_03-scaling-1.ipynb", "lovelaceada_101"),
        ("submissions/lovelaceada_LATE_101_9_03-scaling.ipynb", "lovelaceada_LATE_101"),
        (
            "a_1_b/Ada Lovelace_101_assignsubmission_file/Copy of 03-scaling (1).ipynb",
            "Ada Lovelace_101",
        ),
        ("submissions/ada.ipynb", None),
        ("submissions/lovelaceada_101_9_homework.ipynb", None),
    ],
)
def test_the_names_that_platforms_give_to_files_are_read(file, student):
    parts = re.findall(r'^    r"(.+)"$', assignment.NBGRADER_CONFIG, re.M)
    path = f"/home/me/my_2_class/downloaded/03-scaling/extracted/{file}"
    found = re.match("".join(parts), path)
    if student is None:
        assert found is None
    else:
        assert found["student_id"] == student
        assert found["file_id"] == "03-scaling"
