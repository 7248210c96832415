"""A class hands in an assignment, and real nbgrader grades it: from the chapter to the marks."""

import copy
import csv
import html
import json
import os
import re
import subprocess
import zipfile
from textwrap import indent

import nbformat
import pytest
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell

from attnbook.exercises import MultipleChoice, NumericAnswer, catalogue, points
from attncourse import __main__ as commands
from attncourse.chapter import exercises_of
from attncourse.pages.timing import without_exercises
from shared import as_colab_saves

PROGRAMS = ROOT / ".teach/bin"  # nbgrader has an environment of its own
if not (PROGRAMS / "nbgrader").exists() and not os.environ.get("CI"):
    pytest.skip("needs nbgrader in .teach, see CONTRIBUTING.md", allow_module_level=True)

CHAPTER = "03-scaling"
TASKS = {
    task.id: task
    for task in exercises_of(nbformat.read(ROOT / f"chapters/{CHAPTER}.ipynb", as_version=4))
}
EXERCISES = {e.id: e for e in catalogue() if e.id in TASKS and not isinstance(e, MultipleChoice)}
MOST_POINTS = {id: float(TASKS[id].points) for id in EXERCISES}
(IN_WORDS,) = (id for id, task in TASKS.items() if task.model_answer)
NUMBER, *_ = (id for id, exercise in EXERCISES.items() if isinstance(exercise, NumericAnswer))
FIRST, SECOND, THIRD = (id for id in EXERCISES if id != NUMBER)
SECONDS = 8  # instead of the teacher's 120; longer than what `check` gives an answer
IN_MY_WORDS, NOTE = "It is not right, because…", "A note to myself"
LOOP = "import time\nwhile True:\n    time.sleep(0.1)"
GIGABYTES = 1  # instead of the teacher's 4
EAT = "eaten = []\nwhile True:\n    eaten.append(bytearray(10**8))"

# Several commands of nbgrader in one process: each would take three seconds to begin.
GRADE = """
import contextlib, sys
from jupyter_core.application import NoStart
from nbgrader.apps import NbGraderApp
for command in sys.argv[1:]:
    if command.startswith("from "):
        exec(command)
        continue
    sys.argv = ["nbgrader", *command.split()]
    app = NbGraderApp()
    app.initialize(sys.argv[1:])
    with contextlib.suppress(NoStart):  # that a subcommand has run ends it so
        app.start()
    app.reset()
"""
MARK_BY_HAND = f"""\
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    where = "exercise-{IN_WORDS.replace(".", "-")}", "{CHAPTER}", "{CHAPTER}", "perfect"
    grade, comment = book.find_grade(*where), book.find_comment(*where)
    grade.manual_score, grade.needs_manual_grade = 3, False
    comment.manual_comment = "How large is $q \\\\cdot k$?"
    book.db.commit()
"""


def run(course, program, *arguments):
    """Call a program of the teacher's environment; what it printed."""
    own = {"VIRTUAL_ENV", "PATH", "PYTHONPATH"}
    result = subprocess.run(
        [PROGRAMS / program, *arguments],
        cwd=course,
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if k not in own}
        | {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "code")},
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout + result.stderr


def cell_of(notebook, grade_id):
    return next(
        cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )


def graded_cell(notebook, id):
    return cell_of(notebook, f"exercise-{id.replace('.', '-')}")


def answer_cell(notebook, id):
    return cell_of(notebook, f"exercise-{id.replace('.', '-')}-answer")


def answer(notebook, id, code):
    """Write an answer in front of the visible check."""
    cell = answer_cell(notebook, id)
    cell.source = code + "\n\n" + cell.source.split("\n")[-1]


class Course:
    """The folder of a course with one assignment, and what students get of it."""

    def __init__(self, folder):
        self.folder = folder
        self.released = nbformat.read(folder / f"release/{CHAPTER}/{CHAPTER}.ipynb", 4)
        self.seeds = json.loads((folder / ".attnbook.json").read_text())["seeds"]
        source = nbformat.read(folder / f"source/{CHAPTER}/{CHAPTER}.ipynb", 4)
        self.right = {
            id: re.search(
                "### BEGIN SOLUTION\n(.*)\n### END", answer_cell(source, id).source, re.S
            )[1]
            for id in EXERCISES
        }

    def blank(self):
        return copy.deepcopy(self.released)

    def perfect(self):
        notebook = self.blank()
        for id, code in self.right.items():
            answer(notebook, id, code)
        graded_cell(notebook, IN_WORDS).source = IN_MY_WORDS
        return notebook

    def begin(self, notebook, id, code):
        """Put something in front of the right answer."""
        answer(notebook, id, f"{code}\n{self.right[id]}")

    def name_of(self, id):
        """What the right answer defines, and the check is called with."""
        return re.search(r"(\w+)\)$", answer_cell(self.released, id).source)[1]

    def err(self, notebook, id):
        """Answer with the first known mistake; the points that it should get."""
        name = next(iter(EXERCISES[id].mistakes))
        known = f"{{e.id: e for e in catalogue()}}[{id!r}].mistakes[{name!r}]"
        code = f"from attnbook.exercises import catalogue\n{self.name_of(id)} = {known}"
        answer(notebook, id, code)
        mistake = EXERCISES[id].mistakes[name]
        return points(id, mistake, of=MOST_POINTS[id], seeds=self.seeds)

    def collect(self, submissions, monkeypatch):
        """Collect an archive as Moodle gives it; file names are what students make of them."""
        archive = self.folder / "submissions.zip"
        with zipfile.ZipFile(archive, "w") as file:
            for student, notebook in submissions.items():
                place = f"Week 2/{student}_{NUMBERS[student]}_assignsubmission_file"
                file.writestr(f"{place}/Copy_of_03_scaling.ipynb", nbformat.writes(notebook))
        monkeypatch.chdir(self.folder)
        commands.main(["collect", CHAPTER, str(archive)])

    def marks(self, name):
        with (self.folder / name).open() as file:
            return {row["student_id"]: row for row in csv.DictReader(file)}

    def grades(self, student):
        """The points of each exercise as the feedback page gives them."""
        found = re.findall(r'href="#([\d.]+)">\1: <b>([^<]+)</b>', self.feedback(student))
        return dict(found)

    def feedback(self, student):
        path = self.folder / f"feedback/{student}/{CHAPTER}/{CHAPTER}.html"
        return path.read_text("utf8")


# What each student hands in, and the points of the exercises that should not get all of theirs.


def perfect(course):
    """A cell of one's own that an answer uses, a note, megabytes of output, all on Colab."""
    notebook = course.perfect()
    place = notebook.cells.index(answer_cell(notebook, FIRST))
    notebook.cells.insert(place, new_code_cell("own = math"))
    assert "math." in course.right[FIRST]
    answer(notebook, FIRST, course.right[FIRST].replace("math.", "own."))
    course.begin(notebook, SECOND, 'print("x" * 5_000_000)\nprint("y\\n" * 1_000_000)')
    loud = course.right[THIRD].replace(":\n", ':\n    print("z" * 1_000_000)\n', 1)
    answer(notebook, THIRD, loud)
    add_note(notebook)
    return as_colab_saves(notebook), {}


def add_note(notebook):
    """A cell of text right in front of the answer in words."""
    place = notebook.cells.index(graded_cell(notebook, IN_WORDS))
    notebook.cells.insert(place, new_markdown_cell(NOTE))


def empty(course):
    """Nothing, but for an answer that raises."""
    notebook = course.blank()
    course.begin(notebook, NUMBER, "1 / 0")
    return notebook, dict.fromkeys(EXERCISES, 0.0)


def careless(course):
    """A loop in front of an answer, deleted cells, a function of another name, a mistake."""
    notebook = course.perfect()
    wrong = {THIRD: course.err(notebook, THIRD)}
    course.begin(notebook, NUMBER, LOOP)
    gone = [cell_of(notebook, "setup"), cell_of(notebook, "given"), answer_cell(notebook, FIRST)]
    gone += [graded_cell(notebook, id) for id in (FIRST, THIRD, IN_WORDS)]
    notebook.cells = [cell for cell in notebook.cells if cell not in gone]
    cell = answer_cell(notebook, SECOND)
    cell.source = cell.source.replace(course.name_of(SECOND), "mine")
    return notebook, wrong | dict.fromkeys((NUMBER, FIRST, SECOND), 0.0)


def crashing(course):
    """Two answers that need too much memory, a loop that nothing stops, one inside."""
    notebook = course.perfect()
    course.begin(notebook, NUMBER, "import torch\ntorch.ones(10**10)")
    course.begin(notebook, FIRST, EAT)
    ignore = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)"
    course.begin(notebook, SECOND, f"{ignore}\n{LOOP}")
    inside = course.right[THIRD].replace(":\n", f":\n{indent(LOOP, '    ')}\n", 1)
    answer(notebook, THIRD, inside)
    add_note(notebook)
    return notebook, dict.fromkeys((NUMBER, FIRST, SECOND, THIRD), 0.0)


# it would give all points: on the path, and beside the notebook
OWN_PACKAGE = """
from pathlib import Path
for folder in (Path("fake/attnbook/exercises"), Path("attnbook/exercises")):
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").write_text(
        "check = hint = print\\npoints = lambda *a, of, **k: of"
    )
import os, sys
sys.path.insert(0, os.path.abspath("fake"))
os.chdir("fake")
"""


def cheating(course):
    """Changes what grades, brings its own, hides its result: the answers get what they deserve."""
    notebook = course.blank()
    for id in EXERCISES:
        cell = graded_cell(notebook, id)
        cell.source, cell.metadata.nbgrader["points"] = "100.0", 100
        cell.metadata.nbgrader["locked"] = False
    cell_of(notebook, "given").source = 'check = lambda *a: "solved"'
    wrong = dict.fromkeys(EXERCISES, 0.0) | {id: course.err(notebook, id) for id in (FIRST, SECOND)}
    course.begin(notebook, NUMBER, OWN_PACKAGE + "sys.exit()")
    answer_cell(notebook, FIRST).source += (
        "\nimport attnbook.exercises as e\n"
        "e.points = points = lambda *a, of, **k: of\n"
        "e.Exercise.share = lambda *a: 1.0"
    )
    answer_cell(notebook, SECOND).source += (
        "\nimport torch\n"
        "torch.allclose = torch.equal = torch.Tensor.allclose = lambda *a, **k: True\n"
        "torch.Tensor.__eq__ = lambda *a: torch.ones(()).bool()"
    )
    course.begin(notebook, THIRD, "get_ipython().displayhook.quiet = lambda: True")
    return notebook, wrong


STUDENTS = [perfect, empty, careless, crashing, cheating]
NUMBERS = {student.__name__: i for i, student in enumerate(STUDENTS, 101)}  # the platform's


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """An assignment, made and released."""
    folder = tmp_path_factory.mktemp("course")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(ROOT)
        commands.main(["assignment", str(folder), CHAPTER])
    config = folder / "nbgrader_config.py"
    text = config.read_text()
    for name, ours, of_test in [("timeout = ", 120, SECONDS), ("gigabytes=", 4, GIGABYTES)]:
        assert f"{name}{ours}" in text
        text = text.replace(f"{name}{ours}", f"{name}{of_test}")
    config.write_text(text)
    run(folder, "nbgrader", "generate_assignment", CHAPTER)
    return Course(folder)


@pytest.fixture(scope="module")
def graded(course):
    """The class, collected and graded, with marks before and after the teacher's, and feedback."""
    handed_in = {student.__name__: student(course) for student in STUDENTS}
    with pytest.MonkeyPatch.context() as monkeypatch:
        course.collect({name: notebook for name, (notebook, _) in handed_in.items()}, monkeypatch)
    course.expected = {name: MOST_POINTS | wrong for name, (_, wrong) in handed_in.items()}
    left = course.folder / f"submitted/no_notebook/{CHAPTER}/{CHAPTER}.ipynb"
    left.parent.mkdir(parents=True)
    left.write_text("{")  # put there by hand
    half = course.folder / f"autograded/perfect/{CHAPTER}/{CHAPTER}.ipynb"
    half.parent.mkdir(parents=True)
    half.write_text(nbformat.writes(course.released))  # interrupted before anything ran
    # much of the time they wait for what never ends: so all at once
    several = ["--processes", str(len(STUDENTS) + 1)]
    course.printed = run(course.folder, "python", "-m", "attncourse", "grade", CHAPTER, *several)
    (course.folder / "moodle.csv").write_text(moodle_table(), "utf8")
    steps = [
        "export --to unmarked.csv",
        MARK_BY_HAND,
        f"generate_feedback {CHAPTER}",
        "export --to marked.csv",
        f"from attncourse.__main__ import main; main(['return', '{CHAPTER}', 'moodle.csv'])",
    ]
    course.returned = run(course.folder, "python", "-c", GRADE, *steps)
    return course


def moodle_table():
    """A grading worksheet as Moodle writes it, with somebody who has handed in nothing."""
    most = sum(MOST_POINTS.values()) + TASKS[IN_WORDS].points
    header = "Identifier,Full name,Status,Grade,Maximum Grade,Last modified (grade)"
    numbers = NUMBERS | {"absent": 900}
    rows = [f'Participant {n},{name},-,,{most:.2f},"-"' for name, n in numbers.items()]
    return "\n".join([header, *rows]) + "\n"


def test_what_students_get_has_no_trace_of_a_solution_or_a_hidden_test(course):
    released = (course.folder / f"release/{CHAPTER}/{CHAPTER}.ipynb").read_text()
    for code in course.right.values():
        for line in code.split("\n"):
            if len(line.strip()) > 12 and not line.startswith(("def ", "import ")):
                assert line.strip() not in released
    assert "points(" not in released and "seeds" not in released
    assert not any(str(seed) in released for seed in course.seeds)
    assert "SOLUTION" not in released and "HIDDEN" not in released


@pytest.mark.parametrize("student", [student.__name__ for student in STUDENTS])
def test_every_submission_gets_exactly_its_points(graded, student):
    grades = graded.grades(student)
    grades.pop(IN_WORDS)
    expected = graded.expected[student]
    assert grades == {id: f"{expected[id]:g} of {MOST_POINTS[id]:g}" for id in expected}


def test_a_mistake_gets_at_most_half_and_is_named_and_explained(graded):
    page = html.unescape(graded.feedback("careless"))
    assert graded.expected["careless"][THIRD] <= MOST_POINTS[THIRD] / 2
    name, explanation = next(iter(EXERCISES[THIRD].explanations.items()))
    assert f"Recognised: {name}." in page
    assert explanation.split("`")[0] in page


def test_the_class_is_summed_up_with_its_commonest_mistakes(graded):
    rows = re.findall(
        r"^\| ([\d.]+) \| (\d+%) \| (\d+) \| (\d+) \| (\d+) \| (.*) \|$", graded.printed, re.M
    )
    said = {id: row for id, *row in rows}
    first = {id: next(iter(EXERCISES[id].mistakes)) for id in EXERCISES}
    # perfect is right, careless errs, crashing never ends, cheating hides its points
    assert said[THIRD] == ["20%", "2", "1", "1", f"{first[THIRD]} (1); none that is known (1)"]
    assert f"{IN_WORDS}, in words: 3 of 5 marked, 0.0 points on average" in graded.printed
    assert re.search(
        rf"To begin with, [\d.]+, 1 times: .*\. {EXERCISES[THIRD].explanations[first[THIRD]][:20]}",
        graded.printed,
    )


def test_what_cannot_be_graded_is_named_and_holds_up_nobody(graded):
    assert "not graded:\n    no_notebook: NotJSONError: " in graded.printed
    assert graded.marks("unmarked.csv")["no_notebook"]["status"] == "not yet graded"
    assert not (graded.folder / "autograded/no_notebook").exists()


def test_marks_and_pages_go_back_under_the_platforms_names(graded):
    with (graded.folder / f"returned/{CHAPTER}-marks.csv").open() as file:
        grade = {row["Full name"]: row["Grade"] for row in csv.DictReader(file)}
    marks = graded.marks("marked.csv")
    assert grade.pop("absent") == ""
    for student, mark in grade.items():
        score = marks[student]["score"]
        assert mark == (f"{float(score):g}" if score else "")
    assert grade["perfect"] and not grade["crashing"]
    assert f"crashing: not yet marked: {IN_WORDS}" in graded.returned
    with zipfile.ZipFile(graded.folder / f"returned/{CHAPTER}-feedback.zip") as archive:
        name = f"empty_{NUMBERS['empty']}_assignsubmission_file/{CHAPTER}.html"
        assert archive.read(name).decode() == graded.feedback("empty")
        assert len(archive.namelist()) == len(STUDENTS)


def test_the_rubric_stands_beside_the_answer_to_mark(graded):
    path = graded.folder / f"autograded/crashing/{CHAPTER}/{CHAPTER}.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    place = next(i for i, cell in enumerate(cells) if cell.source == IN_MY_WORDS)
    assert TASKS[IN_WORDS].model_answer in cells[place + 1].source
    assert "(2 points)" in cells[place + 1].source
    folded = re.search(
        "<details><summary>A model answer.*?</details>", graded.feedback("crashing"), re.S
    )
    assert "(2 points)" in folded[0]


def test_no_score_is_exported_while_an_answer_waits_for_its_mark(graded):
    marks = graded.marks("unmarked.csv")
    for student, row in marks.items():
        if student == "no_notebook":
            continue
        waits = student in ("perfect", "crashing")
        assert (row["score"] == "") == waits, student
        assert row["status"] == (f"not yet marked: {IN_WORDS}" if waits else "")
    assert marks.keys() == {*graded.expected, "no_notebook"}


def test_a_marked_answer_completes_the_score(graded):
    marks = graded.marks("marked.csv")
    assert float(marks["perfect"]["score"]) == sum(MOST_POINTS.values()) + 3
    assert float(marks["empty"]["score"]) == 0
    assert marks["crashing"]["score"] == ""
    assert graded.grades("perfect")[IN_WORDS].startswith("3 of ")
    assert graded.grades("crashing")[IN_WORDS] == "not yet marked"
    assert f"so far; not yet marked: {IN_WORDS}" in graded.feedback("crashing")


@pytest.mark.parametrize(
    ("student", "answer"), [("crashing", IN_MY_WORDS), ("perfect", f"{NOTE}\n\n{IN_MY_WORDS}")]
)
def test_a_note_is_not_taken_for_the_answer_in_words_and_never_costs_it(graded, student, answer):
    """Colab drops what tells the two apart: there both count."""
    path = graded.folder / f"autograded/{student}/{CHAPTER}/{CHAPTER}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    assert graded_cell(notebook, IN_WORDS).source == answer
    assert NOTE in "\n".join(cell.source for cell in notebook.cells)


@pytest.mark.parametrize(
    ("student", "says"),
    [
        ("empty", "not attempted"),
        ("empty", "Not answered."),
        ("careless", f"ran for {SECONDS} seconds and was stopped"),
        ("careless", "is not defined"),
        ("empty", "ZeroDivisionError: division by zero"),
        ("crashing", "Python ended here"),
        ("crashing", f"was not done after {SECONDS} seconds and could not be stopped"),
        ("crashing", "did not finish within"),
        ("perfect", "Output truncated"),
        ("crashing", "needs more memory than a submission may take"),
        ("cheating", "SystemExit"),
        ("cheating", "No points could be computed: its output was suppressed"),
    ],
)
def test_the_feedback_says_what_happened(graded, student, says):
    page = html.unescape(graded.feedback(student))
    assert says in page
    assert len(page) < 300_000


def test_grading_prints_a_line_for_each_student_and_warns_only_of_trouble(graded):
    said = {"perfect": f" to mark: {IN_WORDS}", "empty": "empty: 0 of "}
    for student in graded.expected:
        (line,) = re.findall(rf"^{student}: .* points.*$", graded.printed, re.M)
        assert said.get(student, "") in line
    warnings = re.findall(r"WARNING\] (\w+), exercise-([\d-]+)-answer: ", graded.printed)
    troubles = {("careless", NUMBER)} | {("crashing", id) for id in (NUMBER, FIRST, SECOND)}
    assert {(who, id.replace("-", ".")) for who, id in warnings} == troubles
    assert graded.printed.count("WARN") == len(troubles) and "ERROR" not in graded.printed


def test_a_page_of_feedback_gives_each_verdict_once_and_reads_well_offline(graded, chromium):
    page = chromium.new_page(viewport={"width": 390, "height": 800})
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((graded.folder / f"feedback/perfect/{CHAPTER}/{CHAPTER}.html").as_uri())
    verdicts = page.locator(".attnbook-report").all_inner_texts()
    assert [re.search(r"Exercise ([\d.]+)", text)[1] for text in verdicts] == [*EXERCISES]
    text = page.locator("main").inner_text()
    assert "$" not in text and "\\cdot" not in text and page.locator("math").count() > 5
    assert "seeds" not in text and "attnbook.exercises.points" not in text
    assert text.count("Comment") == 1 and "How large is" in text
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert len(asked) == 1
    page.goto((graded.folder / f"feedback/empty/{CHAPTER}/{CHAPTER}.html").as_uri())
    assert "Comment" not in page.locator("main").inner_text()
    page.close()


def test_who_hands_in_again_is_listed_and_graded_anew(graded, monkeypatch, capsys):
    path = graded.folder / f"submitted/empty/{CHAPTER}/{CHAPTER}.ipynb"
    as_before = nbformat.reads(path.read_text("utf8"), as_version=4)
    graded.collect({"cheating": graded.perfect(), "empty": as_before}, monkeypatch)
    printed = capsys.readouterr().out
    assert "0 new submissions, 1 as before" in printed
    assert "handed in again, to be graded again:\n    cheating\n" in printed
    said = run(graded.folder, "python", "-m", "attncourse", "return", CHAPTER, "moodle.csv")
    assert "    cheating: not yet graded\n" in said
    with (graded.folder / f"returned/{CHAPTER}-marks.csv").open() as file:
        grade = {row["Full name"]: row["Grade"] for row in csv.DictReader(file)}
    assert (grade["cheating"], grade["empty"]) == ("", "0")


def test_making_the_assignment_again_keeps_the_teachers_edits(course, monkeypatch, capsys):
    files = [course.folder / f"source/{CHAPTER}/{CHAPTER}.ipynb"]
    files.append(course.folder / "nbgrader_config.py")
    before = [path.read_bytes() for path in files]
    monkeypatch.chdir(ROOT)
    commands.main(["assignment", str(course.folder), CHAPTER])
    assert [path.read_bytes() for path in files] == before
    assert f"kept as you have edited it: {files[1]}" in capsys.readouterr().out


EACH_SLIDE = """
[...document.querySelectorAll(".slides > section")].map((_, i) => {
  Reveal.slide(i);
  const s = Reveal.getCurrentSlide();
  const over = Math.max(s.scrollHeight - s.clientHeight, s.scrollWidth - s.clientWidth);
  return [over, s.innerText, s.querySelectorAll(".body > *").length];
})
"""


def test_slides_show_every_drawing_and_ask_each_vote_without_a_network(tmp_path, chromium):
    """One deck in a browser: a slide for what is shown, two for a poll, nothing cut off."""
    run(ROOT, "python", "-m", "attncourse", "slides", str(tmp_path), "2")
    chapter = nbformat.read(ROOT / "chapters/02-queries-keys-values.ipynb", as_version=4)
    cells = without_exercises(chapter)
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(error))
    page.goto((tmp_path / "02-queries-keys-values.html").as_uri())
    page.wait_for_function("Reveal.isReady()")
    drawings = [
        cell
        for cell in cells
        if any("image/svg+xml" in o.get("data", {}) for o in cell.get("outputs", []))
    ]
    assert page.locator(".body > svg").count() == len(drawings) > 3
    polls = [cell for cell in cells if "predict" in cell.metadata.get("tags", [])]
    assert (
        page.locator("section.poll").count()
        == page.locator("section.answer .right").count()
        == len(polls)
        > 3
    )
    assert (
        page.locator("section.code").count()
        == sum("slide" in cell.metadata.get("tags", []) for cell in cells)
        > 0
    )
    for i, (over, text, shown) in enumerate(page.evaluate(EACH_SLIDE)):
        assert over <= 1 and (text.strip() or shown), i
        assert "$" not in text and "](" not in text, i
    assert len(asked) == 1 and not errors
    page.close()
