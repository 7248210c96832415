"""The command that runs chapters and tells them where the book lives."""

import shutil

import nbformat
import pytest
import yaml
from nbclient.exceptions import CellExecutionError

from attnbook import course


@pytest.fixture
def book(tmp_path, root, monkeypatch):
    """A copy of the book's settings with one small chapter."""
    shutil.copy(root / "_config.yml", tmp_path)
    (tmp_path / "chapters").mkdir()
    cells = [
        nbformat.v4.new_markdown_cell("# 1 · Where?"),
        nbformat.v4.new_code_cell(
            course.setup_cell(tmp_path),
            metadata={"tags": ["setup", "remove-cell"]},
        ),
        nbformat.v4.new_code_cell("import os\nos.listdir()"),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbformat.write(notebook, tmp_path / "chapters/01-where.ipynb")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_moving_rewrites_the_address_and_every_setup_cell_and_nothing_else(
    book,
):
    before = (book / "_config.yml").read_text("utf8").split("\n")
    course.main(["home", "https://github.com/someone/a-book.git/"])
    after = (book / "_config.yml").read_text("utf8").split("\n")
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert len(changed) == 1
    config = yaml.safe_load("\n".join(after))
    assert config["repository"]["url"] == "https://github.com/someone/a-book"
    notebook = nbformat.read(book / "chapters/01-where.ipynb", 4)
    assert notebook.cells[1].source == course.setup_cell(book)
    assert (
        "git+https://github.com/someone/a-book@main#"
        in notebook.cells[1].source
    )
    assert notebook.cells[0].source == "# 1 · Where?"


@pytest.mark.parametrize(
    "url",
    ["github.com/a/b", "https://gitlab.com/a/b", "https://github.com/a", "x"],
)
def test_an_address_that_colab_cannot_open_is_refused_and_nothing_changes(
    book, url
):
    before = (book / "_config.yml").read_bytes()
    with pytest.raises(SystemExit, match="OWNER/REPOSITORY"):
        course.main(["home", url])
    assert (book / "_config.yml").read_bytes() == before


def test_a_chapter_runs_in_an_empty_folder_and_stores_its_outputs(book):
    path = book / "chapters/01-where.ipynb"
    course.main(["run", str(path)])
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
        course.main(["run"])
    assert path.read_bytes() == before


def test_outside_a_book_it_says_where_it_must_be_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match=r"no _config\.yml in"):
        course.main(["run"])
