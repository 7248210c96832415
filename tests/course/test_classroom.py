"""A class hands in an assignment, and real nbgrader grades it: from the chapter to the marks."""

import copy
import csv
import html
import json
import os
import subprocess

import nbformat
import pytest
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell

from attnbook.course.chapter import exercises_of
from attnbook.exercises import Choice, catalogue, points
from shared import as_colab_saves

PROGRAMS = ROOT / ".teach/bin"  # nbgrader has an environment of its own
if not (PROGRAMS / "nbgrader").exists() and not os.environ.get("CI"):
    pytest.skip("needs nbgrader in .teach, see CONTRIBUTING.md", allow_module_level=True)

CHAPTER = "03-scaling"
EXERCISES = {e.id: e for e in catalogue() if e.id.startswith("3.") and not isinstance(e, Choice)}
MOST_POINTS = {
    exercise.id: 2.0 * exercise.stars
    for exercise in exercises_of(nbformat.read(ROOT / f"chapters/{CHAPTER}.ipynb", as_version=4))
    if exercise.id in EXERCISES
}
IN_WORDS, IN_WORDS_POINTS = "3.9", 4.0
MISTAKES = {
    f"mistakes-{k}": {id: list(e.mistakes)[k] for id, e in EXERCISES.items() if k < len(e.mistakes)}
    for k in range(max(len(e.mistakes) for e in EXERCISES.values()))
}
READ_GRADES = """
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    print("GRADES", json.dumps({
        submission.student.id: {
            grade.name: (grade.auto_score, grade.needs_manual_grade)
            for notebook in submission.notebooks for grade in notebook.grades
        }
        for submission in book.assignment_submissions("03-scaling")
    }))
"""
MARK_BY_HAND = """
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    grade = book.find_grade("exercise-3-9", "03-scaling", "03-scaling", "perfect")
    grade.manual_score, grade.needs_manual_grade = 3, False
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
    return result.stdout


def cell_of(notebook, grade_id):
    return next(
        cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )


def answer_cell(notebook, id):
    return cell_of(notebook, f"exercise-{id.replace('.', '-')}-answer")


def answer(notebook, id, code):
    """Write an answer in front of the visible check."""
    cell = answer_cell(notebook, id)
    cell.source = code + "\n\n" + cell.source.split("\n")[-1]


def handed_over(notebook, id):
    """The name that the check of an exercise is called with."""
    return answer_cell(notebook, id).source.split(", ")[-1].rstrip(")")


class Class:
    """What each student hands in, and the points that this should get."""

    def __init__(self, course):
        self.course = course
        released = course / f"release/{CHAPTER}/{CHAPTER}.ipynb"
        source = course / f"source/{CHAPTER}/{CHAPTER}.ipynb"
        self.released = nbformat.read(released, as_version=4)
        self.expected = {}
        self.right = {}
        source = nbformat.read(source, as_version=4)
        for id in EXERCISES:
            code = answer_cell(source, id).source
            code = code.split("### BEGIN SOLUTION\n")[1]
            self.right[id] = code.split("\n### END SOLUTION")[0]
        self.seeds = json.loads((course / ".attnbook.json").read_text())["seeds"]

    def blank(self):
        return copy.deepcopy(self.released)

    def perfect(self):
        notebook = self.blank()
        for id, code in self.right.items():
            answer(notebook, id, code)
        cell_of(notebook, "exercise-3-9").source = "It is not right, because…"
        return notebook

    def hands_in(self, student, notebook, wrong=()):
        """Expect all points but for those of the exercises in ``wrong``."""
        folder = self.course / "submitted" / student / CHAPTER
        folder.mkdir(parents=True)
        text = nbformat.writes(notebook)
        (folder / f"{CHAPTER}.ipynb").write_text(text, "utf8")
        self.expected[student] = MOST_POINTS | dict(wrong)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    course = tmp_path_factory.mktemp("course")
    program = ["-m", "attnbook.course", "assignment", str(course)]
    run(ROOT, "python", *program, str(ROOT / f"chapters/{CHAPTER}.ipynb"))
    config = course / "nbgrader_config.py"
    text = config.read_text()
    assert "c.Execute.timeout = 120" in text  # too long to wait for here
    config.write_text(text.replace("timeout = 120", "timeout = 20"))
    run(course, "nbgrader", "generate_assignment", CHAPTER)
    return course


@pytest.fixture(scope="module")
def graded(course):
    """The class, graded, with feedback and exported marks."""
    pupils = Class(course)
    nothing = dict.fromkeys(EXERCISES, 0.0)
    pupils.hands_in("perfect", pupils.perfect())
    pupils.hands_in("empty", pupils.blank(), nothing)

    half = pupils.blank()
    for id in ("3.1", "3.2", "3.3", "3.4"):
        answer(half, id, pupils.right[id])
    zeros = {id: 0.0 for id in EXERCISES if id > "3.4"}
    pupils.hands_in("half", half, zeros)

    for student, mistakes in MISTAKES.items():
        notebook, wrong = pupils.perfect(), {}
        for id, name in mistakes.items():
            answer(
                notebook,
                id,
                "from attnbook.exercises import catalogue\n\n"
                "exercises = {e.id: e for e in catalogue()}\n"
                f"{handed_over(notebook, id)} = "
                f"exercises[{id!r}].mistakes[{name!r}]",
            )
            wrong[id] = points(
                id, EXERCISES[id].mistakes[name], of=MOST_POINTS[id], seeds=pupils.seeds
            )
            assert wrong[id] <= MOST_POINTS[id] / 2
        pupils.hands_in(student, notebook, wrong)

    crashing = pupils.perfect()
    answer(crashing, "3.2", "1 / 0\n" + pupils.right["3.2"])
    answer(crashing, "3.3", "def effective_keys(weights:\n    return 1")
    answer(crashing, "3.4", "import sys\nsys.exit()\n" + pupils.right["3.4"])
    pupils.hands_in("crashing", crashing, {"3.2": 0.0, "3.3": 0.0, "3.4": 0.0})

    dies = pupils.perfect()
    answer(dies, "3.4", "import os\nos._exit(1)")
    dead = {id: 0.0 for id in EXERCISES if id > "3.3"}
    pupils.hands_in("python-dies", dies, dead)

    endless = pupils.perfect()
    answer(endless, "3.3", "while True:\n    pass")
    loop = "def softmax_with_temperature(scores, temperature):\n    while True:"
    answer(endless, "3.4", f"{loop}\n        pass")
    pupils.hands_in("endless", endless, {"3.3": 0.0, "3.4": 0.0})

    loud = pupils.perfect()
    shout = 'print("x" * 5_000_000)\nprint("y\\n" * 1_000_000)\n'
    answer(loud, "3.3", shout + pupils.right["3.3"])
    inside = pupils.right["3.4"].replace(":\n", ':\n    print("z" * 1_000_000)\n', 1)
    answer(loud, "3.4", inside)
    pupils.hands_in("loud", loud)

    deletes = pupils.perfect()
    gone = {"setup", "given", "exercise-3-3-answer", "exercise-3-3"}
    gone |= {"exercise-3-4", "exercise-3-9"}
    deletes.cells = [
        cell
        for cell in deletes.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") not in gone
    ]
    pupils.hands_in("deletes", deletes, {"3.3": 0.0})

    renames = pupils.perfect()
    cell = answer_cell(renames, "3.3")
    cell.source = cell.source.replace("effective_keys", "mine")
    pupils.hands_in("renames", renames, {"3.3": 0.0})

    edits = pupils.blank()
    for cell in edits.cells:
        about = cell.metadata.get("nbgrader", {})
        if about.get("grade") and cell.cell_type == "code":
            cell.source, about["points"] = "100.0", 100
            about["locked"] = False
    cell_of(edits, "given").source = 'check = lambda *a: "solved"'
    answer(edits, "3.2", "points = lambda *a, **k: 100.0")
    fool = "import attnbook.exercises as e\ne.points = lambda *a, of, **k: of"
    answer(edits, "3.3", fool)
    answer(
        edits,
        "3.4",
        "from attnbook.exercises.exercise import Exercise\nExercise.share = lambda *a: 1.0",
    )
    pupils.hands_in("edits", edits, nothing)

    silent = pupils.perfect()
    hush = 'get_ipython().ast_node_interactivity = "none"\n'
    answer(silent, "3.4", hush + pupils.right["3.4"])
    pupils.hands_in("silent", silent, dead)

    helper = pupils.perfect()
    place = helper.cells.index(answer_cell(helper, "3.1"))
    helper.cells.insert(place + 2, new_code_cell("root_of = math.sqrt"))
    code = pupils.right["3.2"].replace("math.sqrt", "root_of")
    assert "root_of" in code
    answer(helper, "3.2", code)
    pupils.hands_in("helper", helper)

    notes = pupils.perfect()
    place = notes.cells.index(cell_of(notes, "exercise-3-9"))
    notes.cells.insert(place, new_markdown_cell("A note to myself"))
    pupils.hands_in("notes", notes)

    pupils.hands_in("colab", as_colab_saves(pupils.perfect()))

    run(course, "nbgrader", "autograde", CHAPTER)
    printed = run(course, "python", "-c", READ_GRADES)
    pupils.grades = json.loads(printed.split("GRADES ")[1])
    run(course, "python", "-c", MARK_BY_HAND)
    run(course, "nbgrader", "generate_feedback", CHAPTER)
    run(course, "nbgrader", "export")
    with (course / "grades.csv").open() as file:
        pupils.marks = {
            row["student_id"]: (float(row["score"]), float(row["max_score"]))
            for row in csv.DictReader(file)
        }
    return pupils


def feedback(pupils, student):
    path = pupils.course / f"feedback/{student}/{CHAPTER}/{CHAPTER}.html"
    return path.read_text("utf8")


def test_what_students_get_has_no_trace_of_a_solution_or_a_hidden_test(course):
    released = (course / f"release/{CHAPTER}/{CHAPTER}.ipynb").read_text()
    pupils = Class(course)
    for code in pupils.right.values():
        for line in code.split("\n"):
            if len(line.strip()) > 12 and not line.startswith(("def ", "import ")):
                assert line.strip() not in released
    assert "points(" not in released and "seeds" not in released
    assert not any(str(seed) in released for seed in pupils.seeds)
    assert "SOLUTION" not in released and "HIDDEN" not in released


def test_every_submission_gets_exactly_its_points(graded):
    for student, expected in graded.expected.items():
        got = {
            name.removeprefix("exercise-").replace("-", "."): points
            for name, (points, _) in graded.grades[student].items()
        }
        assert got.pop(IN_WORDS) in (None, 0.0)
        assert got == expected, student
    assert graded.grades.keys() == graded.expected.keys()


def test_a_note_before_an_answer_in_words_is_not_taken_for_it(graded):
    path = graded.course / f"autograded/notes/{CHAPTER}/{CHAPTER}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    answer = cell_of(notebook, "exercise-3-9")
    assert answer.source.startswith("It is not right, because")
    assert "A note to myself" in [cell.source for cell in notebook.cells]


def test_only_answers_in_words_wait_for_the_teacher(graded):
    for student, grades in graded.grades.items():
        by_hand = {name for name, (_, waits) in grades.items() if waits}
        in_words = student not in ("empty", "half", "edits", "deletes")
        assert by_hand == ({"exercise-3-9"} if in_words else set()), student


def test_marks_are_exported_with_those_given_by_hand(graded):
    most = sum(MOST_POINTS.values()) + IN_WORDS_POINTS
    for student, expected in graded.expected.items():
        by_hand = 3.0 if student == "perfect" else 0.0
        score = sum(expected.values()) + by_hand
        assert graded.marks[student] == (pytest.approx(score), most), student


@pytest.mark.parametrize("student", MISTAKES)
def test_the_feedback_names_each_mistake_and_explains_it(graded, student):
    page = html.unescape(feedback(graded, student))
    for id, name in MISTAKES[student].items():
        assert f"Recognised: {name}." in page
        first_words = EXERCISES[id].explanations[name].split("`")[0]
        assert first_words in page


@pytest.mark.parametrize(
    ("student", "says"),
    [
        ("empty", "not attempted"),
        ("crashing", "ZeroDivisionError"),
        ("crashing", "SyntaxError"),
        ("endless", "CellTimeoutError"),
        ("endless", "did not finish within"),
        ("loud", "Output truncated"),
        ("python-dies", "no points could be computed"),
        ("silent", "no points could be computed"),
        ("renames", "'effective_keys' is not defined"),
    ],
)
def test_the_feedback_says_what_happened(graded, student, says):
    page = html.unescape(feedback(graded, student))
    assert says in page
    assert len(page) < 1_500_000


def test_grading_one_student_again_gives_the_same(graded):
    again = ["--student", "deletes", "--force"]
    run(graded.course, "nbgrader", "autograde", CHAPTER, *again)
    printed = run(graded.course, "python", "-c", READ_GRADES)
    grades = json.loads(printed.split("GRADES ")[1])
    assert grades["deletes"] == graded.grades["deletes"]
    assert grades["crashing"] == graded.grades["crashing"]


def test_making_the_assignment_again_keeps_the_teachers_edits(course):
    source = course / f"source/{CHAPTER}/{CHAPTER}.ipynb"
    before = source.read_bytes(), (course / "nbgrader_config.py").read_bytes()
    program = ["-m", "attnbook.course", "assignment", str(course)]
    printed = run(ROOT, "python", *program, str(ROOT / f"chapters/{CHAPTER}.ipynb"))
    after = source.read_bytes(), (course / "nbgrader_config.py").read_bytes()
    assert after == before
    assert "kept as you have edited it" in printed
    assert "nbgrader_config.py" in printed.split("kept")[1]
