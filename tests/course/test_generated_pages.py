"""What chapters and the page for teachers state of minutes, plans and commands is true."""

import re
import shutil
import tomllib

import nbformat
import pytest
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from attnbook.exercises import catalogue, sandbox
from attncourse import (
    UsageError,
    __main__ as commands,
)
from attncourse.chapter import chapters, exercises_of, laboratory
from attncourse.pages import generated_pages, pictures, plans, timing
from attncourse.pages.claims import HEADING, anchor

CHAPTERS = {path: nbformat.read(path, as_version=4) for path in chapters(ROOT)}
LABORATORY = {path: nbformat.read(path, as_version=4) for path in laboratory(ROOT)}
PLANS = tomllib.loads((ROOT / "chapters/plans.toml").read_text("utf8"))
PAGE = (ROOT / "chapters/teaching.md").read_text("utf8")
README = (ROOT / "README.md").read_text("utf8")
README_NUMBERS = re.search(r"<!-- computed: numbers -->\n(.*?)<!--", README, re.S)[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "chapters").glob("*.md"))]

A_PLAN = """
[six_weeks]
minutes = 30
[[six_weeks.session]]
session = "1.1"
chapter = 3
without = ["Two"]
together = ["3.1"]
discuss = "a poll"

[one_day]
start = "9:00"
end = "9:30"
[[one_day.part]]
chapter = 3
only = ["Two"]
[[one_day.part]]
story = "Break"
minutes = 10

[[homework]]
week = 1
exercises = ["3.2"]
why = "words"

[[self_study]]
want = "all"
read = [{ chapter = 3 }, { chapter = 3, to = "One" }]
exercises = ["3.1"]
"""


@pytest.fixture
def small(tmp_path):
    """One small chapter: a minute of introduction, two sections of three, and three exercises."""
    words = "word " * 200
    cells = [
        new_markdown_cell(f"# 3 · Why?\n\n{words}"),
        new_markdown_cell(f"## One\n\n**Predict.** {words * 3}"),
        new_markdown_cell("## Two"),
        new_code_cell("x = 1\n" * 36),
        new_markdown_cell("### Exercise 3.0 ★☆☆ · 2 min"),
        new_code_cell('check("3.0", ...)', metadata={"tags": ["exercise"]}),
        new_code_cell("", metadata={"tags": ["solution"]}),
        new_markdown_cell("## Exercises\n\n### Exercise 3.1 ★☆☆ · 10 min"),
        new_code_cell('check("3.1", ...)', metadata={"tags": ["exercise"]}),
        new_code_cell("", metadata={"tags": ["solution"]}),
        new_markdown_cell(
            "### Exercise 3.2 ★☆☆ · 20 min\n\n"
            "<details>\n<summary>A model answer</summary>\nYes (2 points).\n</details>"
        ),
    ]

    def with_plan(plan):
        (tmp_path / "plans.toml").write_text(plan)
        return {tmp_path / "03-why.ipynb": new_notebook(cells=cells)}

    return with_plan


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(
        ROOT / "chapters",
        tmp_path / "chapters",
        ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"),
    )
    for name in ("_toc.yml", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path / "chapters"


def notebooks(root):
    return chapters(root) + laboratory(root)


def test_a_laboratory_notebook_without_runs_and_a_missing_page_are_named(copy):
    every, text = notebooks(copy.parent), copy.parent / "README.md"
    text.write_text(
        text.read_text("utf8").replace("computed: numbers -->\n", "computed: numbers -->\n\n")
    )
    (copy / "lab/02-maps.csv").unlink()
    with pytest.raises(
        UsageError, match=r"02-maps\.csv is missing: python.* replicate lab/02-maps"
    ):
        generated_pages.relabel(every, [text])
    (copy / "glossary.md").unlink()
    with pytest.raises(UsageError, match=r"_toc\.yml names .*glossary, but no glossary\.ipynb"):
        generated_pages.pages(copy.parent)


def last_rows(table):
    return [row.strip("| ").split(" | ") for row in table.strip().split("\n")[2:]]


def test_what_chapters_and_texts_state_of_minutes_is_up_to_date(copy):
    assert generated_pages.relabel(notebooks(copy.parent), generated_pages.pages(copy.parent)) == []
    assert pictures.write(copy.parent) == []


def test_a_chapter_says_where_each_exercise_is_whose_number_is_missing():
    for path, chapter in CHAPTERS.items():
        (text,) = [c.source for c in chapter.cells if re.search(r"^## Exercises$", c.source, re.M)]
        said = generated_pages.LAST_ONE.search(text)[0]
        links = re.findall(r"\[([\d., and]+)\]\((lab/[\w-]+\.ipynb)\)", said)
        found = {id: file for ids, file in links for id in re.split(", | and ", ids)}
        here = [task.id for task in exercises_of(chapter)]
        there = {
            task.id: f"lab/{other.name}"
            for other, book in LABORATORY.items()
            for task in exercises_of(book)
            if task.id.startswith(f"{int(path.stem[:2])}.")
        }
        assert found == there
        numbers = sorted(int(id.split(".")[1]) for id in [*here, *found])
        assert numbers == [*range(len(numbers))], path  # none is nowhere


def test_a_text_gets_its_tables_filled_and_keeps_the_rest(copy):
    text = copy / "teaching.md"
    blocks = [f"<!-- computed: {name} -->\nstale\n<!-- end -->" for name in generated_pages.TABLES]
    text.write_text("Before.\n\n" + "\n\n%%%\n\n".join(blocks) + "\n\nAfter.\n")
    generated_pages.relabel(notebooks(copy.parent), [text])
    written = text.read_text("utf8")
    assert written.startswith("Before.\n") and written.endswith("After.\n")
    assert "stale" not in written and written.count("%%%") == len(blocks) - 1
    for name in generated_pages.TABLES:
        (filled,) = re.findall(rf"<!-- computed: {name} -->\n(.+?)<!-- end -->", written, re.S)
        assert filled.startswith(("|", "##", "```bash")) and filled.count("\n") > 3


def test_the_landing_page_says_how_long_all_chapters_and_all_exercises_take(copy):
    page = copy / "index.ipynb"
    before = page.read_text("utf8")
    assert before.count(generated_pages.whole_path(CHAPTERS | LABORATORY)) == 1
    page.write_text(generated_pages.PATH.sub("All chapters take about 9 hours.", before), "utf8")
    assert generated_pages.relabel(notebooks(copy.parent), [page]) == [page]
    assert page.read_text("utf8") == before


def test_the_readme_counts_what_there_is():
    said = {what.split()[0]: int(n.replace(",", "")) for n, what in last_rows(README_NUMBERS)}
    texts = [path.read_text("utf8") for path in [*CHAPTERS, *LABORATORY]]
    headings = [id for text in texts for id in re.findall(r'"### Exercise ([\d.]+) ', text)]
    assert said["exercises;"] == len(headings) == len({*headings})
    files = [path.with_suffix(".csv") for path in LABORATORY]
    rows = [line for file in files for line in file.read_text().split("\n") if line[:1].isdigit()]
    assert said["results"] == len(rows)
    assert f" {len(files)} experiments" in README_NUMBERS
    claims, questions = (
        (ROOT / f"chapters/{name}.toml").read_text("utf8") for name in ("claims", "questions")
    )
    assert said["claims"] == len(re.findall(r"^\[C\d+\]$", claims, re.M))
    assert said["questions"] == questions.count("\n[[question]]\n")


def test_all_exercises_count_and_only_chapters_are_read(small, tmp_path):
    books = small(A_PLAN)
    task = "# Lab 3 · Why?\n\n### Exercise 3.9 ★☆☆ · 73 min\n\n"
    in_words = "<details>\n<summary>A model answer</summary>\nYes (2 points).\n</details>"
    books[tmp_path / "lab/03-more.ipynb"] = new_notebook(cells=[new_markdown_cell(task + in_words)])
    assert generated_pages.whole_path(books) == (
        "All chapters take about ¼ hour to read and run, their 3 exercises about ½ hour, "
        "the 1 of the laboratory about 1¼ hours."
    )


def test_an_unknown_table_is_refused_by_name(copy):
    text = copy / "teaching.md"
    text.write_text("<!-- computed: weather -->\n<!-- end -->\n")
    with pytest.raises(UsageError, match=r"teaching\.md.*weather"):
        generated_pages.relabel(notebooks(copy.parent), [text])


def test_every_table_stands_on_one_page():
    found = [
        name
        for path in PAGES
        for name in re.findall(r"^<!-- computed: (\w+) -->$", path.read_text("utf8"), re.M)
    ]
    assert sorted(found) == sorted(generated_pages.TABLES)


def test_sections_and_predictions_are_counted_where_they_stand(small):
    (chapter,) = small(A_PLAN).values()
    assert timing.sections(chapter) == {
        "Introduction": pytest.approx(1, abs=0.1),
        "One": pytest.approx(3, abs=0.1),
        "Two": pytest.approx(3, abs=0.1),
    }
    assert timing.predictions(chapter) == {"Introduction": 0, "One": 1, "Two": 1, "Exercises": 0}


def test_a_session_has_the_minutes_of_its_sections_votes_and_exercises_and_rests_the_others(small):
    ((session, story, besides, _, discuss),) = last_rows(plans.six_weeks(small(A_PLAN)))
    assert (session, story, discuss) == ("1.1", '3 without "Two" (4)', "a poll")
    assert besides == "polls 2; together 3.1 (10); rest 14"


def test_a_question_of_the_laboratory_takes_its_minutes_of_a_session(small, tmp_path):
    plan = A_PLAN.replace("minutes = 30", "minutes = 60")
    books = small(plan.replace('["3.1"]\ndiscuss', '["3.1"]\nlaboratory = ["03-more"]\ndiscuss'))
    with pytest.raises(UsageError, match=r"plans\.toml: the laboratory has no 03-more; it has"):
        plans.six_weeks(books)
    question = new_markdown_cell("# Lab 3 · Why not?")
    books[tmp_path / "lab/03-more.ipynb"] = new_notebook(cells=[question])
    ((*_, besides, laboratory, _),) = last_rows(plans.six_weeks(books))
    assert besides.endswith(f"rest {60 - 16 - plans.LABORATORY}")
    assert laboratory == f"[Why not?](lab/03-more.ipynb) ({plans.LABORATORY})"


def test_the_votes_name_what_is_believed_with_each_wrong_answer(small):
    choice = next(item for item in catalogue() if item.id == "3.0")
    ((id, link, right, beliefs),) = last_rows(plans.polls(small(A_PLAN)))
    assert (id, link, right) == ("3.0", f"[{choice.title}](03-why.ipynb)", choice.reference)
    assert all(f"**{letter}** {name}" in beliefs for name, letter in choice.mistakes.items())
    assert f"**{right}**" not in beliefs


def test_the_parts_of_the_day_follow_each_other(small):
    first, second = last_rows(plans.one_day(small(A_PLAN)))
    assert first == ["9:00", '3 only "Two" (3)', "2", "", "5"]
    assert second[:2] == ["9:05", "Break"] and second[-1] == "10"


def test_homework_counts_the_sections_that_no_session_has_room_for(small):
    assert last_rows(plans.homework(small(A_PLAN))) == [["1", "3.2", "20", "3", "words"]]
    assert plans.homework_command(small(A_PLAN)) == (
        "```bash\npython -m attncourse assignment ../attention-class --only \\\n    3.2\n```\n"
    )


def test_a_path_for_self_study_adds_up(small):
    rows = last_rows(plans.self_study(small(A_PLAN)))
    assert rows == [["all", '3 (7), 3 to "One" (4)', "11", "3.1"]]


def test_an_exercise_of_the_laboratory_is_planned_and_counted_with_those_of_its_chapter(
    small, tmp_path
):
    books = small(A_PLAN.replace('exercises = ["3.2"]', 'exercises = ["3.9"]'))
    with pytest.raises(UsageError, match=r"no exercise 3\.9"):
        plans.homework(books)
    task = "# Lab 3 · Why?\n\n### Exercise 3.9 ★☆☆ · 7 min"
    in_words = "\n<details>\n<summary>A model answer</summary>\nYes (2 points).\n</details>"
    books[tmp_path / "lab/03-more.ipynb"] = new_notebook(cells=[new_markdown_cell(task + in_words)])
    assert last_rows(plans.homework(books))[0][:3] == ["1", "3.9", "7"]
    assert "3.9 ★ **7** *words*" in generated_pages.TABLES["exercises"](books)
    assert generated_pages.TABLES["sections"](books).count("\n") == 3  # a header and the chapter


@pytest.mark.parametrize(
    ("table", "old", "new", "says"),
    [
        (plans.six_weeks, '"Two"', '"Three"', "chapter 3 has no section 'Three'; it has .*'Two'"),
        (plans.six_weeks, "chapter = 3", "chapter = 4", "no chapter 4"),
        (plans.six_weeks, '"3.1"', '"3.7"', r"no exercise 3\.7"),
        (plans.six_weeks, "minutes = 30", "minutes = 20", r"session 1\.1 takes 16 of its 20"),
        (plans.one_day, '"9:30"', '"9:10"', "ends at 09:15, after 9:10"),
        (plans.homework, '["3.2"]', '["3.1"]', r"3\.1 is planned twice"),
        (plans.homework, '["3.2"]', '["3.2", "3.2"]', r"3\.2 is planned twice"),
        (plans.homework, '["3.2"]', '["3.0"]', r"3\.0 has no points"),
        (plans.self_study, 'to = "One"', 'to = "Four"', "no section 'Four'"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_and_says_what_is_wrong(small, table, old, new, says):
    assert old in A_PLAN
    with pytest.raises(UsageError, match=rf"plans\.toml: .*{says}"):
        table(small(A_PLAN.replace(old, new)))


def test_too_much_homework_is_refused(small, monkeypatch):
    monkeypatch.setattr(plans, "HOMEWORK", 22)
    with pytest.raises(UsageError, match="week 1 has 23 minutes at home, not 22"):
        plans.homework(small(A_PLAN))


def test_the_six_weeks_visit_every_chapter():
    visited = {entry.get("chapter") for entry in PLANS["six_weeks"]["session"]} - {None}
    assert visited == {int(path.stem.split("-")[0]) for path in CHAPTERS}


def test_every_answer_in_words_is_assigned():
    in_words = {
        task.id
        for book in [*CHAPTERS.values(), *LABORATORY.values()]
        for task in exercises_of(book)
        if task.model_answer
    }
    assert in_words <= {id for entry in PLANS["homework"] for id in entry["exercises"]}


def test_all_chapters_of_a_list_are_needed():
    first = new_markdown_cell("**You need first:** chapters 2, 3 and 4, matrices, and chapter 7")
    assert generated_pages.needs(new_notebook(cells=[first])) == [2, 3, 4, 7]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_link_to_a_page_or_a_section_of_the_book_leads_there(page):
    for target, place in re.findall(r"\]\(([^):#]*)#?([^)]*)\)", page.read_text("utf8")):
        if target.startswith("http"):
            continue
        path = page.parent / target if target else page
        assert path.exists(), target
        if place:
            texts = [path.read_text("utf8")]
            if path.suffix == ".ipynb":
                cells = nbformat.read(path, as_version=4).cells
                texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
            assert place in {anchor(h) for text in texts for h in HEADING.findall(text)}, place


@pytest.mark.parametrize("text", [PAGE, README], ids=["teaching.md", "README"])
def test_every_command_of_the_course_exists(text):
    in_one_line = re.sub(r"\\\n", " ", text)
    lines = re.findall(r"python -m attncourse ([^\n`&]+)", in_one_line)
    assert lines
    for line in lines:
        options = commands.parser().parse_args(line.split())
        assert options.command == line.split()[0]


def test_the_page_says_how_long_an_answer_may_take():
    call, check = sandbox.SECONDS_PER_CALL, sandbox.SECONDS_PER_CHECK
    assert f"{call:g} seconds for one call and {check:g} seconds for all" in PAGE
