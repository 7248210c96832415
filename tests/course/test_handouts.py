"""Notebooks made from the chapters: nothing of a solution left, nothing of a teacher's lost."""

import ast
import builtins
import os
import re

import matplotlib.pyplot as plt
import nbformat
import pytest
from conftest import ROOT, why_no_language_model

from attnbook import exercises
from attnbook.exercises import MultipleChoice, NumericAnswer, catalogue
from attnbook.exercises.grade import grade
from attncourse import __main__ as commands
from attncourse.chapter import (
    ABOUT_PROOFS,
    ABOUT_SOLUTIONS,
    chapters,
    exercises_of,
    laboratory,
    names,
    tags,
)
from attncourse.handouts import assignment, editions
from attncourse.handouts.folder import Folder
from shared import as_colab_saves

CHAPTERS = chapters(ROOT)
LABORATORY = laboratory(ROOT)
every_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
every_notebook = pytest.mark.parametrize(
    "path", [*CHAPTERS, *LABORATORY], ids=lambda path: path.stem
)


def read(path):
    return nbformat.read(path, as_version=4)


def with_its_laboratory(path):
    """A chapter and the laboratory notebooks that belong to it: exercises stand in all of them."""
    return [read(path), *(read(lab) for lab in LABORATORY if lab.stem[:2] == path.stem[:2])]


def telling_lines(task):
    """The lines of a solution that give it away: not the stub's, nor trivial ones."""
    lines = {line.strip() for line in task.solution.split("\n")}
    lines |= {line.strip() for line in task.model_answer.split("\n")}
    return {line for line in lines - {*task.stub.split("\n")} if len(line) > 14}


ANSWER = "<summary>A model answer</summary>"  # other folds are the chapter's own


@every_chapter
def test_a_students_chapter_has_no_trace_of_a_solution(path):
    chapter = read(path)
    shown = "\n".join(c.source for c in editions.student(chapter).cells)
    story = "\n".join(
        c.source for c in chapter.cells if "solution" not in tags(c) and ANSWER not in c.source
    )
    for task in exercises_of(chapter):
        assert task.solution or task.model_answer
        for line in telling_lines(task):
            assert line not in shown or line in story, line
    assert "Solution" not in shown and ANSWER not in shown
    assert ABOUT_SOLUTIONS in story and ABOUT_SOLUTIONS not in shown
    outputs = [c.get("outputs") for c in editions.student(chapter).cells]
    assert not any(outputs)


@every_notebook
def test_a_students_chapter_needs_nothing_that_was_taken_out(path):
    known = set(dir(builtins)) | {"get_ipython", "__name__"}
    for cell in editions.student(read(path)).cells:
        assert not re.search(r"[Tt]hen compare\.", cell.source), "with no model answer"
        assert ABOUT_PROOFS not in cell.source
        if cell.cell_type == "code" and "setup" not in tags(cell):
            used, defined = names(cell.source)
            assert used - defined <= known, used - defined - known
            known |= defined


@every_notebook
def test_a_students_chapter_keeps_all_cells_but_the_solutions_also_when_colab_saves_it(path):
    chapter = read(path)
    student = editions.student(chapter)
    added = [cell for cell in student.cells if cell.id.endswith(("-install", "-answer"))]
    kept = [cell for cell in student.cells if cell not in added]
    assert [cell.id for cell in kept] == [
        cell.id for cell in chapter.cells if "solution" not in tags(cell)
    ]
    assert all(cell.cell_type == "markdown" for cell in added)
    code = {cell.id: cell.source for cell in chapter.cells if cell.cell_type == "code"}
    assert all(cell.source == code[cell.id] for cell in kept if cell.cell_type == "code")
    nbformat.validate(as_colab_saves(student))


@every_notebook
def test_an_assignment_holds_what_its_stubs_and_solutions_need(path):
    notebook = assignment.assignment(read(path), [1, 2], "https://example.org")
    nbformat.validate(notebook)
    assert not re.search(r"[Tt]hen compare\.", "\n".join(c.source for c in notebook.cells))
    known = set(dir(builtins))
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and about["grade_id"] != "setup":
            used, defined = names(cell.source)
            assert used - defined <= known, cell.source
            known |= defined
    ids = [c.metadata["nbgrader"]["grade_id"] for c in notebook.cells if "nbgrader" in c.metadata]
    assert len(ids) == len(set(ids))


@every_notebook
def test_the_solutions_that_a_notebook_shows_solve_its_exercises(path, monkeypatch):
    solved = []
    monkeypatch.setattr(
        exercises, "check", lambda id, answer: solved.append(grade(known[id], answer))
    )
    known = {exercise.id: exercise for exercise in catalogue()}
    given, *tasks = [
        cell.source
        for cell in assignment.assignment(read(path), [1], "").cells
        if cell.cell_type == "code"
        and "points for" not in cell.source
        and "%pip" not in cell.source
    ]
    if "pretrained.load(" in given and not os.environ.get("CI"):  # for a figure to read
        reason = why_no_language_model()
        if reason is not None:
            pytest.skip(reason)
    world = {}
    exec(given, world)
    world["check"] = exercises.check
    for answer in tasks:
        exec(answer, world)
    plt.close("all")  # the figures to read
    assert len(solved) == sum("check(" in answer for answer in tasks)
    assert all(report.passed and report.holds for report in solved), solved


def test_a_proof_has_no_check_is_folded_away_for_students_and_marked_by_its_points():
    proof = (
        "### Exercise 3.9 ★☆☆ · 5 min\n\n**Prove it.** One is one.\n\n"
        "<details>\n<summary>A hint</summary>\n\nLook twice.\n\n</details>\n\n"
        "<details>\n<summary>A model answer</summary>\n\nIt is (4 points).\n\n</details>"
    )
    lab = read(ROOT / "chapters/lab/03-root.ipynb")
    lab.cells += [
        nbformat.v4.new_markdown_cell(f"## Exercises\n\n{ABOUT_PROOFS}", id="about"),
        nbformat.v4.new_markdown_cell(proof, id="proof"),
    ]
    (task,) = (task for task in exercises_of(lab) if task.id == "3.9")
    assert task.points == 4 and task.model_answer == "It is (4 points)."
    about, asked, answer = editions.student(lab).cells[-3:]
    assert "no check" in about.source and ABOUT_PROOFS not in about.source
    assert "Look twice." in asked.source and "It is" not in asked.source
    assert answer.source == "*Your answer:*"
    made = assignment.assignment(lab, [1], "", only=["3.9"])
    asked, answer = made.cells[-2:]
    assert "★☆☆ · 5 min · 4 points" in asked.source and "Look twice." in asked.source
    assert answer.metadata.nbgrader.points == 4
    assert answer.source == "### BEGIN SOLUTION\nIt is (4 points).\n### END SOLUTION"


def test_one_exercise_is_no_exercises():
    chapter = read(ROOT / "chapters/03-scaling.ipynb")
    for only, said in (["3.2"], "There is 1 exercise, 2 points"), (["3.2", "3.4"], "There are 2 e"):
        assert said in assignment.assignment(chapter, [1], "", only).cells[0].source


def test_an_assignment_brings_along_what_the_chapter_built_and_its_task_names():
    source = (
        assignment.assignment(read(ROOT / "chapters/02-queries-keys-values.ipynb"), [1], "x")
        .cells[2]
        .source
    )
    names = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    assert (
        names == ["arrow", "attention"] and "figures" in source
    )  # for figures.symptoms, in a text


def test_an_assignment_shows_the_figure_that_is_to_be_read():
    made = assignment.assignment(read(ROOT / "chapters/lab/02-maps.ipynb"), [1], "")
    sources = [cell.source for cell in made.cells]
    text, figure, stub = (
        next(i for i, source in enumerate(sources) if part in source)
        for part in ("**Read the figure.**", "figures.unlabelled(", "shared_map_letter = ...")
    )
    assert text + 1 == figure == stub - 1
    assert "import figures" in sources[2]


@every_chapter
def test_the_answer_book_shows_solutions_hints_and_what_is_recognised(path):
    notebooks = [editions.answers(notebook) for notebook in with_its_laboratory(path)]
    for notebook in notebooks:
        nbformat.validate(notebook)
    text = "\n".join(cell.source for notebook in notebooks for cell in notebook.cells)
    found = {tag for notebook in notebooks for c in notebook.cells for tag in tags(c)}
    assert "hide-cell" not in found and "<details>" not in text
    number = int(path.stem[:2])
    for exercise in catalogue():
        if exercise.id.startswith(f"{number}."):
            assert all(hint in text for hint in exercise.hints)
            for name in exercise.mistakes:
                assert f"**{name}.**" in text
            for suspect in getattr(exercise, "suspects", ()):
                assert f": it {suspect.does}." in text
            assert getattr(exercise, "because", "") in text or isinstance(exercise, MultipleChoice)
            if not isinstance(exercise, NumericAnswer):
                assert f"<summary>Solution {exercise.id}</summary>" in text


def test_files_are_written_kept_and_brought_up_to_date(tmp_path):
    there = tmp_path / "new/course/e"
    there.parent.mkdir(parents=True)
    there.write_text("somebody's")
    folder = Folder(tmp_path / "new/course")
    for name in ("a", "b/c", "d", "e"):
        folder.write(name, "one")
    assert folder.written == ["a", "b/c", "d"] and folder.kept == ["e"]
    assert there.read_text() == "somebody's"
    (tmp_path / "new/course/b/c").write_text("mine")
    folder = Folder(tmp_path / "new/course")
    for name in ("a", "b/c"):
        folder.write(name, "two")
    assert folder.written == ["a"] and folder.kept == ["b/c"]
    assert (folder.path / "a").read_text() == "two"
    assert (folder.path / "b/c").read_text() == "mine"
    assert (folder.path / "d").read_text() == "one"


def test_seeds_are_drawn_once_for_a_folder(tmp_path):
    folder = Folder(tmp_path)
    seeds = folder.seeds()
    assert len(set(seeds)) == 3
    folder.write("a", "x")
    assert Folder(tmp_path).seeds() == seeds
    assert Folder(tmp_path / "other").seeds() != seeds


@pytest.mark.parametrize("command", ["student", "assignment", "answers"])
def test_the_command_writes_once_and_again_and_says_what_it_kept(
    command, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(ROOT)
    commands.main([command, str(tmp_path)])
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    notebooks = [path for path in files if path.suffix == ".ipynb"]
    with_exercises = [path for path in LABORATORY if any(exercises_of(read(path)))]
    laboratory = with_exercises if command == "assignment" else LABORATORY
    front = command != "assignment"  # which has no exercises
    # students also get the workshop, and the answer book three pages around the chapters
    others = front + {"student": 1, "answers": 4}.get(command, 0)
    assert len(notebooks) == len(CHAPTERS) + len(laboratory) + others
    notebooks[0].write_text("edited")
    commands.main([command, str(tmp_path)])
    assert f"kept as you have edited it: {notebooks[0]}" in capsys.readouterr().out
    assert notebooks[0].read_text() == "edited"
    for path in files.keys() - {notebooks[0]}:
        assert path.read_bytes() == files[path], path
