"""The page that a student gets back: points, answers, one verdict each, and comments."""

from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup, escape
from nbconvert.exporters import Exporter
from nbconvert.filters import ansi2html, strip_ansi
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.preprocessors import GetGrades

from attncourse.chapter import with_hints_unfolded
from attncourse.handouts.assignment import exercise_id
from attncourse.markdown_html import STYLE_OF_CODE, code, text

TEMPLATE = Path(__file__).with_name("feedback.html")

MODEL_ANSWER = "A model answer, and what gives points"
RUBRIC = {"tags": ["rubric"]}  # the metadata of a cell that has these
UNANSWERED = "No response."  # nbgrader's comment on a cell that is as it was handed out
REPORT = "attnbook-report"  # the class of what ``check`` and ``points`` display


class Marks(GetGrades):
    """Puts points and comments into a notebook, and whether somebody has given them yet."""

    def _get_score(self, cell: NotebookNode, resources: dict) -> None:
        super()._get_score(cell, resources)
        grade = self.gradebook.find_grade(
            cell.metadata.nbgrader.grade_id, self.notebook_id, self.assignment_id, self.student_id
        )
        unknown = grade.auto_score is None and grade.manual_score is None
        cell.metadata.nbgrader["marked"] = not unknown


class FeedbackPage(Exporter):
    """Writes a marked notebook as one page that needs no network."""

    file_extension = ".html"

    def from_notebook_node(self, nb: NotebookNode, resources: dict | None = None, **kw):
        nb, resources = super().from_notebook_node(nb, resources, **kw)
        marks = [_mark(cell) for cell in nb.cells if utils.is_grade(cell)]
        template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
            TEMPLATE.read_text("utf8")
        )
        page = template.render(
            title=nb.cells[0].source.split("\n")[0].lstrip("# "),
            parts=list(_parts(nb)),
            marks=marks,
            model_answer=MODEL_ANSWER,
            late_penalty=resources["nbgrader"]["late_penalty"],
            style_of_code=Markup(STYLE_OF_CODE),
        )
        return page, resources


def _mark(cell: NotebookNode) -> dict:
    """The points of an exercise, from its graded cell."""
    about = cell.metadata.nbgrader
    points = "not yet marked" if not about.marked else f"{about.score:g} of {about.points:g}"
    return {
        "id": exercise_id(about.grade_id),
        "score": about.score,
        "most": about.points,
        "marked": about.marked,
        "points": points,
        "answered": about.get("comment") != UNANSWERED,
    }


def _parts(nb: NotebookNode) -> Iterator[dict]:
    """What is on the page below the points, cell by cell; each has a kind."""
    for cell in nb.cells[1:]:  # the first tells how to fill in the notebook
        about = cell.metadata.get("nbgrader", {})
        part = {"comment": _comment(about)}
        if cell.cell_type == "markdown":
            part |= {"kind": "text", "html": text(with_hints_unfolded(cell.source), html=False)}
        elif cell.cell_type == "code":
            part |= {"kind": "code", "html": code(cell.source), "outputs": _outputs(cell)}
        if utils.is_grade(cell):
            part |= {"kind": "verdict" if cell.cell_type == "code" else "words"} | _mark(cell)
        if cell.metadata.get("tags") == RUBRIC["tags"]:
            part |= {"kind": "rubric", "html": text(cell.source.split("\n\n", 1)[1])}
        if about.get("grade_id") == "given":
            part["kind"] = "given"
        if about.get("grade_id") != "setup":
            yield part


def _comment(about: dict) -> Markup:
    """What the teacher says of an answer."""
    comment = about.get("comment") or ""
    return text("" if comment == UNANSWERED else comment)


def _outputs(cell: NotebookNode) -> list[Markup]:
    """What a cell shows: of a graded one its verdict, of any other all but ``check``'s.

    Both try an answer, and the verdict that counts comes from the graded cell.
    """
    graded = utils.is_grade(cell)
    shown = []
    for output in cell.outputs:
        is_report = REPORT in output.get("data", {}).get("text/html", "")
        if output.output_type == "error":
            shown.append(_error(output, whole=not graded))
        elif is_report == graded:
            shown.append(_output(output))
    return shown


def _error(output: NotebookNode, whole: bool) -> Markup:
    """An error in one line; below it, folded, where it came from."""
    trace = "\n".join(output.traceback)
    line = strip_ansi(trace).strip().split("\n")[-1]
    summary = escape(line)
    if not whole or line == strip_ansi(trace).strip():
        ungraded = (
            "No points could be computed. " if output.ename != "NoPoints" and not whole else ""
        )
        return Markup('<p class="error">{}{}</p>').format(ungraded, summary)
    return Markup('<details><summary class="error">{}</summary><pre>{}</pre></details>').format(
        summary, Markup(ansi2html(trace))
    )


def _output(output: NotebookNode) -> Markup:
    if output.output_type == "stream":
        return Markup("<pre>{}</pre>").format(Markup(ansi2html(output.text)))
    data = output.data
    for kind in ("image/png", "image/jpeg"):
        if kind in data:
            return Markup('<img alt="" src="data:{};base64,{}">').format(kind, data[kind].strip())
    if "text/html" in data:
        return Markup(data["text/html"])
    return Markup("<pre>{}</pre>").format(data.get("text/plain", ""))
