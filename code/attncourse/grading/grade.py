"""Grade a class in several processes, so that no submission holds up or brings down another.

nbgrader grades each student in a process of its own. One that takes too long is ended with all that
it started; the others go on. What was graded before an interruption stays graded, so the same
command continues from there.
"""

import contextlib
import glob
import logging
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from multiprocessing import connection
from pathlib import Path

import nbformat
import psutil
from nbgrader import utils
from nbgrader.apps import AutogradeApp
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from sqlalchemy.exc import SAWarning
from tqdm import tqdm

LOADED_ONCE = ["attncourse.handouts.editions", "attncourse.grading.nbgrader", __name__]
LOCK_SECONDS = 60  # how long a process waits while others write into the gradebook


def grade(course: Path, assignment: str, processes: int, minutes: float) -> list[str]:
    """Grade what was handed in and is not yet graded; return who could not be graded, and why.

    A submission whose cells take more than the given number of minutes together is stopped.
    """
    todo = [
        student
        for student in handed_in(course, assignment)
        if not is_graded(course, assignment, student)
    ]
    for student in todo:
        _forget(course, assignment, student)  # what an interruption has left half done
    start = _processes()
    failed, running = {}, {}
    bar = tqdm(total=len(todo), unit="submission", disable=not todo)
    with tempfile.TemporaryDirectory() as folder:
        waiting = todo[::-1]
        try:
            while waiting or running:
                while waiting and len(running) < processes:
                    student = waiting.pop()
                    said = Path(folder, str(len(waiting)))
                    process = start.Process(target=_grade_one, args=(assignment, student, said))
                    process.start()
                    running[process] = student, said, time.monotonic() + 60 * minutes
                connection.wait([process.sentinel for process in running], timeout=1)
                for process, (student, said, end) in [*running.items()]:
                    late = time.monotonic() > end
                    if process.is_alive() and not late:
                        continue
                    _end(process)
                    del running[process]
                    text = said.read_text("utf8").strip() if said.exists() else ""
                    if late or process.exitcode:
                        stopped = f"stopped after {minutes:g} minutes, before it was done"
                        failed[student] = stopped if late else _reason(text)
                        _forget(course, assignment, student)
                        text = f"{student}: {failed[student]}"
                    tqdm.write(text)
                    bar.update()
        finally:
            for process, (student, _, _) in running.items():
                _end(process)
                _forget(course, assignment, student)
            bar.close()
    return [f"{student}: {why}" for student, why in failed.items()]


def _processes() -> multiprocessing.context.BaseContext:
    """How processes are started, each with one thread."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # more would only wait for one another
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    start = multiprocessing.get_context("forkserver")
    # all that a process needs is loaded once; each imports the program's main module anew
    start.set_forkserver_preload(LOADED_ONCE)
    return start


def handed_in(course: Path, assignment: str) -> list[str]:
    """Who has handed in something for an assignment."""
    return sorted(
        path.parent.parent.name
        for path in course.glob(f"submitted/*/{assignment}/{assignment}.ipynb")
    )


def graded_notebook(course: Path, assignment: str, student: str) -> Path:
    return course / "autograded" / student / assignment / f"{assignment}.ipynb"


def is_graded(course: Path, assignment: str, student: str) -> bool:
    """Whether grading has come to its end, so that every graded cell shows something.

    It has not if somebody has submitted again since, by nbgrader's exchange.
    """
    path = graded_notebook(course, assignment, student)
    submitted = course / "submitted" / student / assignment
    if not path.exists() or _time_in(submitted) != _time_in(path.parent):
        return False
    cells = nbformat.read(path, as_version=4).cells
    return all(cell.outputs for cell in cells if cell.cell_type == "code" and utils.is_grade(cell))


def _time_in(folder: Path) -> str:
    """When it was submitted, as nbgrader notes it and copies it to what it has graded."""
    path = folder / "timestamp.txt"
    return path.read_text("utf8").strip() if path.exists() else ""


def _forget(course: Path, assignment: str, student: str) -> None:
    shutil.rmtree(graded_notebook(course, assignment, student).parent, ignore_errors=True)


def _grade_one(assignment: str, student: str, said: Path) -> None:
    """Grade one student's submission, in a process of its own; what it says goes into a file."""
    with said.open("w", encoding="utf8") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    warnings.filterwarnings("ignore", category=SAWarning)  # of nbgrader, about its database
    app = AutogradeApp()
    app.initialize([assignment])
    app.log.setLevel(logging.WARNING)
    app.coursedir.assignment_id = assignment
    app.coursedir.student_id = glob.escape(student)
    if app.coursedir.db_url.startswith("sqlite:"):
        app.coursedir.db_url += f"?timeout={LOCK_SECONDS}"
    try:
        Autograde(coursedir=app.coursedir, parent=app).start()
    except NbGraderException:
        sys.exit(1)


def _reason(said: str) -> str:
    """Of all that nbgrader says of a failure, the line that names it."""
    errors = re.findall(r"^\s*(?:\w+\.)*(\w*(?:Error|Exception)\b.*)$", said, re.M)
    return errors[-1] if errors else "Python ended"


def _end(process: multiprocessing.Process) -> None:
    """End a process and all that it has started, kernels included, if it is still running."""
    family: list[psutil.Process] = []
    if process.is_alive():
        with contextlib.suppress(psutil.NoSuchProcess):
            parent = psutil.Process(process.pid)
            family = [*parent.children(recursive=True), parent]
    for member in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
    process.join()
