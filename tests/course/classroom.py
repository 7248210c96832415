"""A class with its submissions, from perfect to cheating, and the course that grades them."""

import copy
import csv
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

from attnbook.exercises import Exercise, NumericAnswer, catalogue, points
from attncourse import __main__ as commands
from attncourse.chapter import exercises_of
from shared import as_colab_saves

PROGRAMS = ROOT / ".teach/bin"  # nbgrader has an environment of its own
if not (PROGRAMS / "nbgrader").exists() and not os.environ.get("CI"):
    pytest.skip("needs nbgrader in .teach, see CONTRIBUTING.md", allow_module_level=True)

CHAPTER = "03-scaling"
TASKS = {
    task.id: task
    for task in exercises_of(nbformat.read(ROOT / f"chapters/{CHAPTER}.ipynb", as_version=4))
}
EXERCISES = {e.id: e for e in catalogue() if e.id in TASKS and TASKS[e.id].points}
MOST_POINTS = {id: float(TASKS[id].points) for id in EXERCISES}
(IN_WORDS,) = (id for id, task in TASKS.items() if task.model_answer)
NUMBER, *_ = (id for id, exercise in EXERCISES.items() if isinstance(exercise, NumericAnswer))
FIRST, SECOND, THIRD = (id for id, exercise in EXERCISES.items() if type(exercise) is Exercise)
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
    """A cell of one's own that answers use, a figure, a note, megabytes of output, all on Colab."""
    notebook = course.perfect()
    place = notebook.cells.index(answer_cell(notebook, FIRST))
    notebook.cells.insert(place, new_code_cell("own = math\nimport matplotlib.pyplot as plt"))
    assert "math." in course.right[FIRST]
    answer(notebook, FIRST, course.right[FIRST].replace("math.", "own."))
    course.begin(notebook, SECOND, 'print("x" * 5_000_000)\nprint("y\\n" * 1_000_000)')
    loud = course.right[THIRD].replace(":\n", ':\n    print("z" * 1_000_000)\n', 1)
    answer(notebook, THIRD, f"plt.plot([1, 2])\n{loud}")
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


def guessing(course):
    """The first known mistake wherever the answer is no function that the student writes."""
    notebook = course.perfect()
    graded_cell(notebook, IN_WORDS).source = graded_cell(course.released, IN_WORDS).source
    others = [id for id, exercise in EXERCISES.items() if type(exercise) is not Exercise]
    return notebook, {id: course.err(notebook, id) for id in others}


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
    course.begin(notebook, THIRD, "get_ipython().ast_node_interactivity = 'none'")
    return notebook, wrong


# Each would give all points: before the cell that counts, in its code, and in what it shows.
HOOKS = (
    """
import os, subprocess, sys
ip = get_ipython()
def give_all(*_):
    import attnbook.exercises as e
    e.points = lambda *a, of, **k: float(of)
for event in ("pre_run_cell", "pre_execute"):
    ip.events.register(event, give_all)
""",
    """
def rewrite(lines):
    return ["100.0\\n"] if "points(" in "".join(lines) else lines
ip.input_transformers_cleanup.append(rewrite)
ip.input_transformers_post.append(rewrite)
""",
    """
ip.displayhook.compute_format_data = lambda result: ({"text/plain": "6.0"}, {})
type(ip.displayhook).compute_format_data = lambda self, result: ({"text/plain": "6.0"}, {})
ip.display_formatter.formatters["text/plain"].for_type(float, lambda n, p, cycle: p.text("6.0"))
""",
)
SCRIPT_IN_WORDS = "<script>document.title = 'taken'</script>"
MARK = f"left-behind-by-a-submission-to-{os.getpid()}"
LEFT_BEHIND = f"""
command = [sys.executable, "-c", "import time; time.sleep(3600)", "{MARK}"]
subprocess.Popen(command, start_new_session=True)
"""
SCRIPT = """
from IPython.display import HTML, Javascript, display
display(HTML("<p>shown</p><script>document.title = 'taken'</script><img src=x onerror='alert(1)'>"))
display(Javascript("document.title = 'taken'"))
"""


def hooking(course):
    """Hooks in IPython, a process that outlives its Python, scripts for the pages."""
    notebook = course.perfect()
    wrong = {}
    for id, hook in zip((FIRST, SECOND, THIRD), HOOKS, strict=True):
        wrong[id] = course.err(notebook, id)
        answer_cell(notebook, id).source += hook
    course.begin(notebook, NUMBER, SCRIPT + HOOKS[0] + LEFT_BEHIND)
    graded_cell(notebook, IN_WORDS).source = graded_cell(course.released, IN_WORDS).source
    notebook.cells.insert(3, new_markdown_cell(f"A note {SCRIPT_IN_WORDS}"))
    return notebook, wrong


STUDENTS = [perfect, empty, careless, crashing, cheating, hooking, guessing]
NUMBERS = {student.__name__: i for i, student in enumerate(STUDENTS, 101)}  # the platform's
