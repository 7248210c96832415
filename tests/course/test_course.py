"""The command that runs chapters and tells them where the book lives."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest
import yaml
from nbclient.exceptions import CellExecutionError

from attnbook.exercises.renumbered import BEFORE
from attncourse import UsageError, __main__ as commands, address
from attncourse.chapter import (
    ChapterExercise,
    chapters,
    exercises_of,
    find_chapter,
    laboratory,
    notebooks,
)
from attncourse.handouts import assignment

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
            address.setup_cell(tmp_path, Path("01-where.ipynb")),
            metadata={"tags": ["setup", "remove-cell"]},
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
    assert notebook.cells[1].source == address.setup_cell(book, book / "chapters/01-where.ipynb")
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


def test_only_the_exercises_and_chapters_that_are_asked_for_are_assigned(
    root, tmp_path, monkeypatch
):
    monkeypatch.chdir(root)
    commands.main(["assignment", str(tmp_path / "two"), "--only", "3.2", "3.6"])
    assert [p.name for p in (tmp_path / "two/source").iterdir()] == ["03-scaling"]
    notebook = assigned(tmp_path / "two")
    assert headings(notebook) == ["3.2", "3.6"]
    assert "2 exercises, 6 points, about 20 minutes" in notebook.cells[0].source
    commands.main(["assignment", str(tmp_path / "all"), "--only", "3", "2.3"])
    assert {path.name for path in tmp_path.glob("all/source/*/*")} == {
        "02-queries-keys-values.ipynb",
        "03-root.ipynb",  # the laboratory of chapter 3 has exercises, too
        "03-scaling.ipynb",
        "03-sharp-start.ipynb",
    }
    todo = [task.id for task in exercises_of(nbformat.read(root / SCALING, 4)) if task.points]
    assert headings(assigned(tmp_path / "all")) == todo


def test_an_exercise_is_assigned_by_the_number_that_it_had_before(
    root, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(root)
    monkeypatch.setitem(BEFORE, "3.99", {"now": "3.2", "answer": "scaled_scores"})
    commands.main(["assignment", str(tmp_path / "one"), "--only", "3.99"])
    assert headings(assigned(tmp_path / "one")) == ["3.2"]
    assert (
        "What was exercise 3.99 before version 2.0 is exercise 3.2 now." in capsys.readouterr().out
    )


def test_what_a_command_needs_and_is_not_installed_is_named(root, tmp_path, monkeypatch):
    def lacks(*arguments):
        raise ModuleNotFoundError(name="nbgrader")

    monkeypatch.chdir(root)
    monkeypatch.setattr(assignment, "assignment", lacks)
    with pytest.raises(SystemExit, match=r"needs nbgrader.*attncourse\[teach\]"):
        commands.main(["assignment", str(tmp_path), "3"])


@pytest.mark.parametrize(
    "told", ["3", "03", "03-scaling", "03-scaling.ipynb", "chapters/03-scaling.ipynb"]
)
def test_a_chapter_goes_by_its_number_its_name_and_its_file(root, tmp_path, monkeypatch, told):
    monkeypatch.chdir(root)
    assert find_chapter(root, told) == root / SCALING
    commands.main(["student", str(tmp_path), told])
    assert [path.name for path in tmp_path.glob("*.ipynb")] == ["03-scaling.ipynb"]


@pytest.mark.parametrize("toc", ["chapters:", "parts:\n- caption: All\n  chapters:"])
def test_chapters_and_the_laboratory_are_told_apart_with_parts_and_without(tmp_path, toc):
    names = ["index", "02-maps", "notes", "lab/02-why", "lab/10-cost"]
    files = [f"  - file: chapters/{name}\n" for name in names[1:]]
    (tmp_path / "_toc.yml").write_text(f"root: chapters/index\n{toc}\n" + "".join(files))
    for name in ("index", "02-maps", "lab/02-why", "lab/10-cost"):
        path = tmp_path / f"chapters/{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(), path)
    folder = tmp_path / "chapters"
    maps, why, cost = (
        folder / f"{name}.ipynb" for name in ("02-maps", "lab/02-why", "lab/10-cost")
    )
    assert chapters(tmp_path) == [maps]
    assert laboratory(tmp_path) == [why, cost]
    assert notebooks(tmp_path) == [folder / "index.ipynb", maps, why, cost]
    assert find_chapter(tmp_path, "2") == maps
    for told in ("02-why", "lab/02-why", "chapters/lab/02-why.ipynb"):
        assert find_chapter(tmp_path, told) == why
    with pytest.raises(UsageError, match=r"02-maps, .* the laboratory has 02-why, 10-cost"):
        find_chapter(tmp_path, "10")


def test_chapters_and_the_laboratory_have_published_pages(book):
    commands.main(["home", "https://github.com/ada/x"])
    page = address.published_page(book, book / "chapters/lab/02-why.ipynb")
    assert page == "https://ada.github.io/x/chapters/lab/02-why.html"
    page = address.published_page(book, book / "chapters/02-maps.ipynb")
    assert page == "https://ada.github.io/x/chapters/02-maps.html"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--only", "3.2", "3.99"], r"no such exercise or chapter: 3\.99"),
        (["--only", "77"], "no such exercise or chapter: 77"),
        (["--only", "3.0"], r"3\.0 is a poll"),
        (["4", "--only", "3.2"], r"no such exercise or chapter: 3\.2; looked into 04-softmax"),
        (["77"], "no such chapter: 77"),
    ],
)
def test_what_does_not_exist_is_named_and_nothing_is_written(
    root, tmp_path, monkeypatch, arguments, says
):
    monkeypatch.chdir(root)
    with pytest.raises(SystemExit, match=says):
        commands.main(["assignment", str(tmp_path), *arguments])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("chapter", ["3", "03-scaling", SCALING])
def test_a_forgotten_folder_is_noticed(root, monkeypatch, chapter):
    monkeypatch.chdir(root)
    with pytest.raises(SystemExit, match="give the folder to write to first"):
        commands.main(["assignment", chapter])


@pytest.mark.parametrize("command", ["assignment", "student"])
def test_what_is_handed_out_says_how_to_install_and_leads_to_published_pages(
    book, root, command, capsys
):
    target = book / "chapters/01-where.ipynb"
    shutil.copy(root / SCALING, target)
    for url in ("", "https://github.com/ada/x"):
        if url:
            commands.main(["home", url])
        commands.main([command, str(book / "out")])
        assert ("does not know where it is published" in capsys.readouterr().err) == (not url)
        (made,) = (book / "out").rglob("*.ipynb")
        text = "\n".join(cell.source for cell in nbformat.read(made, 4).cells)
        assert f'`pip install "attnbook @ git+{url}' in text
        links = re.findall(r"\]\(([^)]+)\)", text)
        assert not [link for link in links if not link.startswith("https://")]
        assert "owner.invalid.github.io" not in text
        published = [link for link in links if link.startswith("https://ada.github.io/x/chapters/")]
        assert bool(published) == bool(url)


@pytest.mark.parametrize(
    ("stub", "answer"),
    [
        ('def f(x):\n    ...\n\n\ncheck("9.1", f)', "f"),
        ('y = ...\ncheck("9.1", (y, [1, 2]))', "(y, [1, 2])"),
        ('# über\ncheck(\n    "9.1", lambda a, b: a\n)', "lambda a, b: a"),
    ],
)
def test_the_answer_of_a_stub_is_whatever_its_check_is_given(stub, answer):
    task = ChapterExercise("9.1", stars=1, minutes=1, text="", stub=stub)
    assert task.call[1] == answer
    assert "check" not in task.call[0] and stub.startswith(task.call[0])
