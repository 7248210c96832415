"""A class hands in an assignment, and real nbgrader grades it: from the chapter to the marks."""

import csv
import html
import re
import zipfile

import nbformat
import psutil
import pytest
from classroom import (
    CHAPTER,
    EXERCISES,
    FIRST,
    GIGABYTES,
    GRADE,
    IN_MY_WORDS,
    IN_WORDS,
    MARK,
    MARK_BY_HAND,
    MOST_POINTS,
    NOTE,
    NUMBER,
    NUMBERS,
    SCRIPT_IN_WORDS,
    SECOND,
    SECONDS,
    STUDENTS,
    TASKS,
    THIRD,
    Course,
    graded_cell,
    run,
)
from conftest import ROOT

from attncourse import __main__ as commands


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
    for id, code in course.right.items():
        for line in {*code.split("\n")} - {*TASKS[id].stub.split("\n")}:
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
    # perfect and guessing are right, careless and hooking err, crashing never ends, cheating hides
    # its points
    assert said[THIRD] == ["29%", "3", "1", "1", f"{first[THIRD]} (2); none that is known (1)"]
    assert f"{IN_WORDS}, in words: 5 of 7 marked, 0.0 points on average" in graded.printed
    id, name, because = re.search(
        r"^To begin with, ([\d.]+), 2 times: (.+?)\. (.+)$", graded.printed, re.M
    ).groups()
    assert EXERCISES[id].explanations[name] == because


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
        ("crashing", f"did not finish in {SECONDS} seconds and could not be stopped"),
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


def test_a_figure_is_shown_also_after_cells_that_were_graded(graded):
    assert graded.feedback("perfect").count('src="data:image/png') == 1


def test_no_script_that_a_submission_displays_can_run(graded, chromium):
    path = graded.folder / f"autograded/hooking/{CHAPTER}/{CHAPTER}.ipynb"
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            assert "application/javascript" not in data
            assert "<script" not in data.get("text/html", "") + data.get("text/markdown", "")
    page = chromium.new_page()
    page.goto((graded.folder / f"feedback/hooking/{CHAPTER}/{CHAPTER}.html").as_uri())
    assert page.title() != "taken" and page.locator("img[onerror]").count() == 0
    assert any(
        "shown" in text and "<script>" in text for text in page.locator(".output").all_inner_texts()
    )
    assert page.locator("p", has_text=SCRIPT_IN_WORDS).count() == 1
    assert "border-left" in page.locator(".attnbook-report").first.get_attribute("style")
    page.close()


def test_what_a_submission_leaves_behind_is_ended(graded):
    assert not any(MARK in (p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"]))


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
