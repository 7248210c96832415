"""What chapters and the page for teachers state of minutes, exercises and commands is true."""

import re
import shutil
from datetime import datetime

import nbformat
import pytest
from conftest import ROOT
from nbformat.v4 import new_markdown_cell, new_notebook

from attnbook.course import __main__ as commands, labels
from attnbook.course.chapter import chapters, exercises_of, notebooks
from attnbook.exercises import catalogue

CHAPTERS = {
    int(path.stem.split("-")[0]): nbformat.read(path, as_version=4) for path in chapters(ROOT)
}
TASKS = {task.id: task for chapter in CHAPTERS.values() for task in exercises_of(chapter)}
PAGE = (ROOT / "chapters/teaching.md").read_text("utf8")
README = (ROOT / "README.md").read_text("utf8")
ROUNDING = 5  # minutes; a chapter's own are given to the next five


def rows_below(heading):
    """The rows of the first table below a heading, as lists of cells."""
    table = re.search(rf"^## {heading}\n.*?\n\|---.*?\n((?:\|[^\n]*\n)+)", PAGE, re.M | re.S)[1]
    return [row[1:-1].split("|") for row in table.splitlines()]


def in_one_line(text):
    """A text with each command that goes on behind a backslash in one line."""
    return text.replace("\\\n", " ")


def cells(row):
    return [cell.strip() for cell in row]


def exercises_in(text):
    return re.findall(r"\b\d+\.\d+\b", text)


def minutes_of(ids):
    return sum(TASKS[id].minutes for id in ids)


def told(number, which):
    """The titles of the sections of a chapter that a plan names."""
    minutes = dict(labels.sections(CHAPTERS[number]))
    named = re.findall(r'"((?:[^"]|"almost")+)"', which)
    assert set(named) <= set(minutes), which
    titles = list(minutes)
    if which.startswith("to "):
        titles = titles[: titles.index(named[0]) + 1]
    elif which.startswith("from "):
        titles = titles[titles.index(named[0]) :]
    elif which.startswith("without "):
        titles = [title for title in titles if title not in named]
    elif which.startswith("only "):
        titles = named
    else:
        assert not which, which
    return titles


def parts(text):
    """(chapter, titles, stated minutes) of each part of a text: ``2 (55), 3 to "…" (18)``."""
    found = re.findall(r"(?:^|, )(\d+)((?: (?:to|from|without|only) .+?)?) \((\d+)\)", text)
    return [
        (int(number), told(int(number), which.strip()), int(stated))
        for number, which, stated in found
    ]


def stories(text):
    """(stated, computed) minutes of each part of a text."""
    return [
        (stated, sum(dict(labels.sections(CHAPTERS[n]))[t] for t in titles))
        for n, titles, stated in parts(text)
    ]


def predictions_in(number, titles):
    """How often the reader predicts in these sections, in the text or with a choice, N.0."""
    count, title = 0, "Introduction"
    for cell in CHAPTERS[number].cells:
        if cell.cell_type == "markdown":
            for part in re.split(r"^(?=## )", cell.source, flags=re.M):
                heading = re.match(r"## (.+)", part)
                title = heading[1] if heading else title
                asked = r"\*\*Predict\.\*\*|^### Exercise \d+\.0 "
                count += (title in titles) * len(re.findall(asked, part, re.M))
    return count


def number_in(cell):
    return int(cell) if cell.isdigit() else 0


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(
        ROOT / "chapters",
        tmp_path / "chapters",
        ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"),
    )
    shutil.copy(ROOT / "_toc.yml", tmp_path)
    return tmp_path / "chapters"


def test_what_chapters_and_texts_state_of_minutes_is_up_to_date(copy):
    texts = sorted(copy.glob("*.md"))
    assert labels.relabel(chapters(copy.parent), texts) == []


def test_stored_figures_have_the_present_script(copy):
    assert labels.renew_figures(notebooks(copy.parent)) == []


def test_a_text_gets_its_tables_filled_and_keeps_the_rest(copy):
    text = copy / "teaching.md"
    for name in labels.TABLES:
        text.write_text(f"Before.\n\n<!-- computed: {name} -->\nstale\n<!-- end -->\n\nAfter.\n")
        labels.relabel(chapters(copy.parent), [text])
        written = text.read_text("utf8")
        assert written.startswith("Before.\n") and written.endswith("After.\n")
        assert re.search(rf"<!-- computed: {name} -->\n(\||##) ", written)
        assert "stale" not in written and written.count("\n") > 15


def test_a_figure_that_was_stored_with_an_old_script_gets_the_present_one(copy):
    path = copy / "01-looking-back.ipynb"
    before = path.read_bytes()
    chapter = nbformat.read(path, as_version=4)
    figure = next(
        output.data
        for cell in chapter.cells
        for output in cell.get("outputs", [])
        if "<attnbook-map" in output.get("data", {}).get("text/html", "")
    )
    whole = figure["text/html"]
    figure["text/html"] = whole[: whole.rindex("<script>")] + "<script>old</script>"
    nbformat.write(chapter, path)
    assert labels.renew_figures([path]) == [path]
    assert path.read_bytes() == before


def test_an_unknown_table_is_refused_by_name(copy):
    text = copy / "teaching.md"
    text.write_text("<!-- computed: weather -->\n<!-- end -->\n")
    with pytest.raises(ValueError, match=r"teaching\.md.*weather"):
        labels.relabel(chapters(copy.parent), [text])


def test_every_table_stands_on_one_page():
    found = [
        name
        for path in (ROOT / "chapters").glob("*.md")
        for name in re.findall(r"^<!-- computed: (\w+) -->$", path.read_text("utf8"), re.M)
    ]
    assert sorted(found) == sorted(labels.TABLES)


def test_each_session_of_the_six_weeks_adds_up_to_90_minutes():
    rows = [cells(row) for row in rows_below("Six weeks")]
    assert len(rows) == 12
    for session, story, besides, _ in rows:
        shown = int(re.search(r"\((\d+)\)$", story)[1])
        solved = re.search(r"together [\d., ]+ \((\d+)\)", besides)
        others = re.findall(r"\b(?:votes|rest) (\d+)\b", besides)
        solving = int(solved[1]) if solved else 0
        assert shown + solving + sum(map(int, others)) == 90, session
        assert minutes_of(exercises_in(besides)) == solving, session
        if session != "6.2":
            ((stated, computed),) = stories(story)
            assert abs(stated - computed) <= ROUNDING, (session, computed)


def test_votes_take_two_minutes_for_each_prediction():
    rows = [(row[1], row[2]) for row in map(cells, rows_below("Six weeks"))]
    rows += [(row[1], f"votes {row[2]}") for row in map(cells, rows_below("One day"))]
    told_rows = [(parts(story), votes) for story, votes in rows]
    told_rows = [(found, votes) for found, votes in told_rows if found]
    assert len(told_rows) > 15
    for number, chapter in CHAPTERS.items():
        everywhere = predictions_in(number, dict(labels.sections(chapter)))
        assert everywhere == labels.predictions(chapter)
    for found, votes in told_rows:
        asked = sum(predictions_in(n, titles) for n, titles, _ in found)
        stated = re.search(r"votes (\d+)", votes)
        if stated:
            assert int(stated[1]) == 2 * asked, (found, votes)


def test_the_six_weeks_visit_every_chapter():
    rows = [cells(row) for row in rows_below("Six weeks")][:-1]
    visited = {int(story.split()[0]) for _, story, *_ in rows}
    assert visited == set(CHAPTERS)


def test_each_row_of_the_one_day_ends_when_the_next_begins():
    rows = [cells(row) for row in rows_below("One day")]
    starts = [datetime.strptime(row[0], "%H:%M") for row in rows]
    lengths = [int(row[-1]) for row in rows]
    for i in range(len(rows) - 1):
        assert (starts[i + 1] - starts[i]).seconds == 60 * lengths[i], rows[i]


def test_what_is_done_on_the_one_day_fits_into_its_minutes():
    for _, story, votes, together, minutes in map(cells, rows_below("One day")):
        ids = exercises_in(together)
        if not stories(story):
            assert not together
            continue
        ((stated, computed),) = stories(story)
        assert abs(stated - computed) <= ROUNDING, (story, computed)
        needed = stated + number_in(votes) + minutes_of(ids)
        assert needed <= int(minutes) <= needed + 5, story
        if ids:
            assert together.endswith(f"({minutes_of(ids)})")


def test_homework_is_at_most_two_hours_a_week_and_nothing_twice():
    weeks, seen = {}, set()
    for row in rows_below("Six weeks"):
        seen |= set(exercises_in(cells(row)[2]))
    for week, assigned, minutes, _ in map(cells, rows_below("What to assign")):
        ids = exercises_in(assigned)
        assert minutes_of(ids) == int(minutes), assigned
        assert not seen & set(ids), seen & set(ids)
        seen |= set(ids)
        weeks[week] = weeks.get(week, 0) + int(minutes)
    assert sorted(weeks) == list("123456")
    assert max(weeks.values()) <= 120


def test_every_answer_in_words_that_is_in_no_session_is_assigned():
    in_words = {task.id for task in TASKS.values() if task.model_answer}
    homework = {id for row in rows_below("What to assign") for id in exercises_in(row[1])}
    assert in_words <= homework


def test_one_command_assigns_the_homework():
    (line,) = re.findall(
        r"^python -m attnbook\.course assignment \S+ --only (.+)$", in_one_line(PAGE), re.M
    )
    homework = [id for row in rows_below("What to assign") for id in exercises_in(row[1])]
    assert line.split() == homework


def test_all_chapters_of_a_list_are_needed():
    first = new_markdown_cell("**You need first:** chapters 2, 3 and 4, matrices, and chapter 7")
    assert labels.needs(new_notebook(cells=[first])) == [2, 3, 4, 7]


def test_paths_for_self_study_add_up():
    rows = [cells(row) for row in rows_below("To learn alone")]
    assert len(rows) == 3
    for _, read, minutes, then in rows:
        found = stories(read)
        assert sum(stated for stated, _ in found) == int(minutes), read
        for stated, computed in found:
            assert abs(stated - computed) <= ROUNDING, (read, computed)
        assert set(exercises_in(then)) <= set(TASKS)


def test_every_section_named_in_italics_against_a_misconception_exists():
    chapter = None
    for row in map(cells, rows_below("What learners get wrong")):
        chapter = int(row[0]) if row[0] else chapter
        titles = [title.rstrip("?.") for title, _ in labels.sections(CHAPTERS[chapter])]
        named = re.findall(r"\*([A-Z][^*]+)\*", row[-1])
        assert named
        for name in named:
            assert any(t.startswith(name.rstrip("?.")) for t in titles), name


def test_every_link_to_a_page_of_the_book_leads_there():
    for target in re.findall(r"\]\(([^):#]+)\)", PAGE):
        assert (ROOT / "chapters" / target).exists(), target


@pytest.mark.parametrize("text", [PAGE, README], ids=["teaching.md", "README"])
def test_every_command_of_the_course_exists(text):
    lines = re.findall(r"python -m attnbook\.course ([^\n`&]+)", in_one_line(text))
    assert lines
    for line in lines:
        options = commands.parser().parse_args(line.split())
        assert options.command == line.split()[0]


def test_the_page_says_how_many_exercises_and_mistakes_there_are():
    graded = list(catalogue())
    assert "About ninety exercises" in PAGE and 85 <= len(graded) <= 95
    assert "more than six hundred mistakes" in PAGE
    assert 600 < sum(len(exercise.mistakes) for exercise in graded) < 700
