"""The marks of a class as a table that says what is not yet marked, graded or handed in."""

import csv
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry, SubmittedAssignment, SubmittedNotebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.plugins import ExportPlugin

from attncourse.handouts.assignment import exercise_id

COLUMNS = (
    "assignment",
    "student_id",
    "score",
    "max_score",
    "status",
    "timestamp",
    "late_submission_penalty",
)


class MarksExport(ExportPlugin):
    """Writes ``grades.csv``: a row for each student and assignment.

    A score is there only if it is whole. Otherwise ``status`` says what is missing, and the
    score is empty, so that nobody takes it for a zero.
    """

    def export(self, gradebook: Gradebook) -> None:
        course = CourseDirectory(parent=self)
        rows = [
            _row(gradebook, course, assignment, student)
            for assignment in gradebook.assignments
            if not self.assignment or assignment.name in self.assignment
            for student in _students(gradebook, course)
            if not self.student or student in map(str, self.student)
        ]
        path = Path(self.to or "grades.csv")
        with path.open("w", encoding="utf8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
        print(
            f"{path}: {len(rows)} rows, {sum(row['score'] == '' for row in rows)} without a score"
        )


def marks(root: Path, assignment: str) -> dict[str, dict]:
    """The row of each student for one assignment of the course in a folder."""
    course = CourseDirectory(root=str(root.absolute()))
    with Gradebook(course.db_url) as gradebook:
        found = gradebook.find_assignment(assignment)
        students = _students(gradebook, course)
        return {student: _row(gradebook, course, found, student) for student in students}


def _students(gradebook: Gradebook, course: CourseDirectory) -> list[str]:
    """All who are known to nbgrader, and all who have handed in something since."""
    submitted = Path(course.root, course.submitted_directory)
    handed_in = [folder.name for folder in submitted.glob("*") if folder.is_dir()]
    return sorted({student.id for student in gradebook.students} | {*handed_in})


def _row(gradebook: Gradebook, course: CourseDirectory, assignment, student: str) -> dict:
    """What is known of one student's work on one assignment."""
    row = {"assignment": assignment.name, "student_id": student, "max_score": assignment.max_score}

    def there(directory: str) -> bool:
        return Path(course.format_path(directory, student, assignment.name)).exists()

    try:
        submission = gradebook.find_submission(assignment.name, student)
    except MissingEntry:
        submission = None
    graded = submission and there(course.autograded_directory)
    if not graded:
        collected = there(course.submitted_directory)
        return row | {"score": "", "status": "not yet graded" if collected else "not handed in"}
    to_mark, marked_before = waiting(submission), waiting(submission, marked=True)
    penalty = submission.late_submission_penalty or 0.0
    states = [
        f"not yet marked: {to_mark}" if to_mark else "",
        f"marked before it was graded again: {marked_before}" if marked_before else "",
    ]
    return row | {
        "score": "" if to_mark else max(0.0, submission.score - penalty),
        "status": "; ".join(filter(None, states)),
        "timestamp": submission.timestamp or "",
        "late_submission_penalty": penalty,
    }


def waiting(submission: SubmittedAssignment | SubmittedNotebook, *, marked: bool = False) -> str:
    """The exercises that wait for the teacher, such as "3.6", or "".

    With ``marked``, those instead that were marked, and then graded again: somebody handed in
    twice, or all were graded again.
    """
    notebooks = getattr(submission, "notebooks", [submission])
    ids = [
        exercise_id(grade.name)
        for notebook in notebooks
        for grade in notebook.grades
        if grade.needs_manual_grade and (grade.manual_score is not None) == marked
    ]
    return ", ".join(sorted(ids))
