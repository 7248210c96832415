"""What chapters and the page for teachers state of minutes, plans and commands is true."""

import re
import shutil

import nbformat
import pytest
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from attnbook.exercises import catalogue, sandbox
from attnbook.exercises.renumbered import BEFORE
from attncourse import (
    UsageError,
    __main__ as commands,
)
from attncourse.address import how_to_run, set_repository
from attncourse.chapter import ABOUT_PROOFS, chapters, laboratory, studies
from attncourse.pages import generated_pages, plans, timing
from attncourse.pages.claims import HEADING, anchor
from attncourse.rules import missing
from attncourse.rules.book import Book

CHAPTERS = {path: nbformat.read(path, as_version=4) for path in chapters(ROOT)}
LABORATORY = {path: nbformat.read(path, as_version=4) for path in laboratory(ROOT)}
PAGE = (ROOT / "chapters/teaching.md").read_text("utf8")
README = (ROOT / "README.md").read_text("utf8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "chapters").glob("*.md"))]
INDEX = ROOT / "chapters/index.ipynb"

IN_WORDS = "<details>\n<summary>A model answer</summary>\nYes (2 points).\n</details>"
A_PLAN = """
[six_weeks]
minutes = 30
[[six_weeks.session]]
session = "1.1"
chapter = 3
without = ["Two"]
together = ["3.1"]
discuss = "a poll"

[three_weeks]
minutes = 30
[[three_weeks.session]]
session = "1.1"
chapter = 3
only = ["One"]
also = [{ chapter = 3, only = ["Two"] }]
discuss = "a poll"
[[three_weeks.session]]
session = "1.2 (a)"
chapter = 3
discuss = "a poll"
[[three_weeks.session]]
session = "1.2 (b)"
story = "Refute it"
minutes = 20
discuss = "Which sentence?"

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

[[seminar]]
paper = "Ada 1843"
link = "https://example.org/notes"
chapters = [3]
laboratory = "03-hold"
discuss = "Does it?"

[[self_study]]
want = "all"
read = [{ chapter = 3 }, { chapter = 3, to = "One" }]
exercises = ["3.1"]
"""


def solution(id):
    """A solution, which is folded."""
    text = f"<details>\n<summary>Solution {id}</summary>\n\n```python\nx = 1\n```\n\n</details>"
    return new_markdown_cell(text, metadata={"tags": ["solution"]})


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
        solution("3.0"),
        new_markdown_cell("## Exercises\n\n### Exercise 3.1 ★☆☆ · 10 min"),
        new_code_cell('check("3.1", ...)', metadata={"tags": ["exercise"]}),
        solution("3.1"),
        new_markdown_cell(f"### Exercise 3.2 ★☆☆ · 20 min\n\n{IN_WORDS}"),
    ]

    def with_plan(plan):
        (tmp_path / "plans.toml").write_text(plan)
        return {tmp_path / "03-why.ipynb": new_notebook(cells=cells)}

    return with_plan


def last_rows(table):
    return [row.strip("| ").split(" | ") for row in table.strip().split("\n")[2:]]


def test_what_is_computed_from_the_chapters_is_up_to_date():
    """`labels` and `missing` say so; the pages also have what stands between their tables."""
    assert missing.not_up_to_date(Book(ROOT)) == []


def test_a_page_of_the_contents_that_is_not_there_is_named(tmp_path):
    (tmp_path / "_toc.yml").write_text("root: index\nchapters:\n- file: chapters/glossary\n")
    (tmp_path / "index.md").touch()
    with pytest.raises(UsageError, match=r"_toc\.yml names .*glossary, but no glossary\.ipynb"):
        generated_pages.pages(tmp_path)


def test_the_text_above_the_exercises_shows_a_hint_and_where_the_others_are(small, tmp_path):
    books = small(A_PLAN)
    (path,) = books
    with pytest.raises(UsageError, match=r"03-why\.ipynb: no exercise asks for a function"):
        generated_pages.how_to_answer(path, books)
    assert '`hint("3.0")`' in generated_pages._to_answer(tmp_path / "lab/03-a.ipynb", books[path])
    next(c for c in books[path].cells if 'check("3.1"' in c.source).source = "def f(): ..."
    for name, ids in {
        "lab/03-b": ["3.3", "3.4"],
        "lab/03-a": ["3.6"],
        "lab/03-c": ["3.8", "3.7", "3.9"],
    }.items():
        tasks = [f"### Exercise {id} ★☆☆ · 7 min\n\n{IN_WORDS}" for id in ids]
        book = new_notebook(cells=[new_markdown_cell(task) for task in tasks])
        books[tmp_path / f"{name}.ipynb"] = book
    text = generated_pages.how_to_answer(path, books)
    assert text.startswith("## Exercises\n\n") and '`hint("3.1")`' in text
    assert text.endswith(
        " The laboratory has further exercises: [3.3 and 3.4](lab/03-b.ipynb), "
        "[3.6](lab/03-a.ipynb), [3.7 to 3.9](lab/03-c.ipynb)."
    )


def test_a_laboratory_notebook_says_how_its_proof_is_answered(tmp_path):
    proof = new_markdown_cell(f"### Exercise 3.4 ★☆☆ · 7 min\n\n**Prove it.** So.\n\n{IN_WORDS}")
    lab = tmp_path / "lab/03-b.ipynb"
    books = {lab: new_notebook(cells=[new_markdown_cell("## Exercises\n\nHow?"), proof])}
    told = nbformat.reads(generated_pages.outdated(books, [])[lab], as_version=4)
    assert told.cells[0].source == f"## Exercises\n\n{ABOUT_PROOFS}"
    code = [
        new_markdown_cell("### Exercise 3.5 ★☆☆ · 7 min"),
        new_code_cell('def f(): ...\n\n\ncheck("3.5", f)', metadata={"tags": ["exercise"]}),
        solution("3.5"),
    ]
    books[lab].cells += code
    told = nbformat.reads(generated_pages.outdated(books, [])[lab], as_version=4)
    assert told.cells[0].source.endswith(f"each time you run it again. {ABOUT_PROOFS}")


@pytest.mark.parametrize("stale", ["", "To see for yourself [that](lab/03-old.ipynb), redo.\n\n"])
def test_the_way_into_the_laboratory_is_the_paragraph_before_the_last(small, tmp_path, stale):
    books = small(A_PLAN)
    (path,) = books
    cells = books[path].cells
    cells[0].source += "\n\n**Time:** 1 minute.\n**You need first:** nothing."
    next(c for c in cells if 'check("3.1"' in c.source).source = 'def f(): ...\ncheck("3.1", f)'
    cells.append(new_markdown_cell(f"## Where this comes from\n\nAda.\n\n{stale}Next, more."))
    written = nbformat.reads(generated_pages.outdated(books, [])[path], as_version=4)
    assert written.cells[-1].source == "## Where this comes from\n\nAda.\n\nNext, more."
    books[tmp_path / "lab/03-b.ipynb"] = new_notebook(cells=[new_markdown_cell("# Lab 3 · Is it?")])
    (tmp_path / "laboratory.toml").write_text('03-b = "whether it is"')
    written = nbformat.reads(generated_pages.outdated(books, [])[path], as_version=4)
    assert written.cells[-1].source == (
        "## Where this comes from\n\nAda.\n\nTo see for yourself [whether it is](lab/03-b.ipynb), "
        "redo the main experiments of this chapter.\n\nNext, more."
    )
    cells.append(new_code_cell("x = 1"))
    with pytest.raises(UsageError, match=r"03-why\.ipynb: it must end with text"):
        generated_pages.outdated(books, [])


def filled(page):
    """A page as `labels` writes it, by what the book's notebooks have."""
    return generated_pages.outdated(CHAPTERS | LABORATORY, [page])[page]


def test_a_text_gets_its_tables_filled_and_keeps_the_rest(tmp_path):
    text = tmp_path / "teaching.md"
    blocks = [f"<!-- computed: {name} -->\nstale\n<!-- end -->" for name in generated_pages.TABLES]
    text.write_text("Before.\n\n" + "\n\n%%%\n\n".join(blocks) + "\n\nAfter.\n")
    written = filled(text)
    assert written.startswith("Before.\n") and written.endswith("After.\n")
    assert "stale" not in written and written.count("%%%") == len(blocks) - 1
    text.write_text("<!-- computed: weather -->\n<!-- end -->\n")
    with pytest.raises(UsageError, match=r"teaching\.md.*weather"):
        filled(text)


def test_the_landing_page_gets_its_list_and_how_long_everything_takes(tmp_path):
    before, page = INDEX.read_text("utf8"), tmp_path / "index.ipynb"
    old = "Chapters 1 to 9 take 1 hour, and the 2 exercises of the laboratory take 3 hours."
    stale = generated_pages.PATH.sub(old, before)
    page.write_text(re.sub(r'    "\| \d+ \| .*\n', "", stale), "utf8")
    books = {path: nbformat.read(path, as_version=4) for path in studies(ROOT)}
    assert generated_pages.outdated(books, [page])[page] == before
    assert before.count(generated_pages.whole_path(books)) == 1


def test_every_chapter_is_in_the_landing_pages_list_with_its_minutes_and_what_it_measures(small):
    books = small(A_PLAN)
    (path,) = books
    with pytest.raises(UsageError, match=r'03-why\.ipynb: its metadata need .* "measures"'):
        generated_pages.TABLES["landing"](books)
    books[path].metadata["measures"] = "why"
    front = new_notebook(cells=[new_markdown_cell("# In ten minutes\n\nMore.")])
    table = generated_pages.TABLES["landing"]({path.with_name("00-front.ipynb"): front} | books)
    first, second = last_rows(table)
    assert first[:2] == ["[In ten minutes](00-front.ipynb)", "10"]
    assert second == ["3", "[Why?](03-why.ipynb)", "10", "why"]


@pytest.mark.parametrize("home", ["", "https://github.com/ada/attention"])
def test_the_landing_page_names_the_buttons_that_are_there(tmp_path, home):
    (tmp_path / "chapters").mkdir()
    for name in ("_config.yml", "_toc.yml", "README.md", "chapters/index.ipynb"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "_toc.yml").write_text("root: chapters/index\n")
    if home:
        set_repository(tmp_path, home)
    text = how_to_run(tmp_path)
    page = nbformat.read(tmp_path / "chapters/index.ipynb", as_version=4)
    assert sum(f"{text}<!-- end -->" in cell.source for cell in page.cells) == 1
    assert len(re.findall("rocket|Google Colab|GitHub icon", text)) == (3 if home else 0)
    (line,) = re.findall(r"^```bash\n(.+)\n```$", text, re.M)
    assert f"```bash\n{line}\n```" in README
    set_repository(tmp_path, "https://github.com/ada/other")
    again = nbformat.read(tmp_path / "chapters/index.ipynb", as_version=4)
    assert "rocket" in again.cells[4].source and again.cells[4].source.count("<!-- end -->") == 2


def test_all_exercises_count_and_only_chapters_are_read(small, tmp_path):
    books = small(A_PLAN)
    task = "# Lab 3 · Why?\n\n### Exercise 3.9 ★☆☆ · 73 min\n\n"
    books[tmp_path / "lab/03-more.ipynb"] = new_notebook(cells=[new_markdown_cell(task + IN_WORDS)])
    assert generated_pages.whole_path(books) == (
        "Chapters 1 to 9 lead to a Transformer that translates, and take about ¼ hour to read and "
        "run. The other chapters, on the cost of attention and on trained models, take about ¼ "
        "hour. The 3 exercises of all chapters take about ½ hour, and the 1 exercises of the "
        "laboratory take about 1¼ hours."
    )


def test_every_table_stands_on_one_page():
    found = [
        name
        for path in [*PAGES, INDEX]
        for name in re.findall(r"<!-- computed: (\w+) -->", path.read_text("utf8"))
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


def test_what_students_can_do_is_what_the_opening_of_a_chapter_says(small):
    books = small(A_PLAN)
    assert last_rows(generated_pages.TABLES["outcomes"](books)) == [["3", "–"]]
    next(iter(books.values())).cells[0].source += "\n\n**Afterwards you can** say why, and when."
    assert last_rows(generated_pages.TABLES["outcomes"](books)) == [["3", "say why, and when"]]


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
    cells = [question, new_markdown_cell("word " * 800), new_markdown_cell("## Exercises")]
    books[tmp_path / "lab/03-more.ipynb"] = new_notebook(cells=cells)
    ((*_, besides, laboratory, _),) = last_rows(plans.six_weeks(books))
    minutes = 4 + plans.LABORATORY  # its page has to be read
    assert besides.endswith(f"rest {60 - 16 - minutes}")
    assert laboratory == f"[Why not?](lab/03-more.ipynb) ({minutes})"


def test_a_session_can_take_a_second_chapter_and_another_can_be_a_choice(small):
    first, second, third = last_rows(plans.three_weeks(small(A_PLAN)))
    assert first[1:3] == ['3 only "One" (3), 3 only "Two" (3)', "polls 4; rest 20"]
    assert (second[0], third[0]) == ("1.2 (a)", "1.2 (b)")
    assert third[1:3] == ["Refute it (20)", "rest 10"]


def test_a_line_to_change_must_be_in_its_notebook_once(small, tmp_path):
    plan = A_PLAN + "[[change]]\nlaboratory = '03-more'\nfind = 'STEPS = 9'\nto = 'STEPS = 5'\n"
    books = small(plan)
    cells = [new_markdown_cell("# Lab 3 · Why not?"), new_code_cell("STEPS = 9")]
    books[tmp_path / "lab/03-more.ipynb"] = new_notebook(cells=cells)
    assert last_rows(plans.changes(books)) == [
        ["[Why not?](lab/03-more.ipynb)", "`STEPS = 9`", "`STEPS = 5`"]
    ]
    cells[1].source = "STEPS = 8"
    with pytest.raises(UsageError, match=r"03-more has 'STEPS = 9' 0 times, not once"):
        plans.changes(books)


def test_the_workload_has_the_hours_in_class_and_at_home_and_counts_a_choice_once(small):
    six, three = last_rows(plans.workload(small(A_PLAN.replace("minutes = 30", "minutes = 60"))))
    assert six == ["Six weeks", "1", "1", "0", "1", "23"]  # 20 of the exercise, 3 to read
    # both sessions are of the same chapter here, so its homework counts for each
    assert three == ["Three weeks", "2", "2", "1", "3", "40"]


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


def test_a_seminar_names_the_paper_its_chapters_and_what_to_repeat(small, tmp_path):
    books = small(A_PLAN)
    lab = new_notebook(cells=[new_markdown_cell("# Lab 3 · Does it hold?\n\n" + "word " * 800)])
    path = next(iter(books)).parent / "lab/03-hold.ipynb"
    first, *_ = last_rows(plans.seminar(books | {path: lab}))
    assert first[:2] == ["1", "[Ada 1843](https://example.org/notes)"]
    assert re.fullmatch(r"chapter 3 \(\d+\)", first[2])
    assert first[3:] == ["[Does it hold?](lab/03-hold.ipynb) (4)", "Does it?"]
    with pytest.raises(UsageError, match="the laboratory has no 03-hold"):
        plans.seminar(books)


def test_a_path_for_self_study_adds_up(small):
    rows = last_rows(plans.self_study(small(A_PLAN)))
    assert rows == [["all", '3 (7), 3 to "One" (4)', "11", "3.1"]]


def test_an_exercise_of_the_laboratory_is_counted_with_those_of_its_chapter_but_no_homework(
    small, tmp_path
):
    books = small(A_PLAN.replace('exercises = ["3.2"]', 'exercises = ["3.9"]'))
    with pytest.raises(UsageError, match=r"no exercise 3\.9$"):
        plans.homework(books)
    task = "# Lab 3 · Why?\n\n### Exercise 3.9 ★☆☆ · 7 min\n\n"
    books[tmp_path / "lab/03-more.ipynb"] = new_notebook(cells=[new_markdown_cell(task + IN_WORDS)])
    with pytest.raises(UsageError, match=r"exercise 3\.9 is in the laboratory"):
        plans.homework(books)  # its page would have to be read first
    assert "3.9 ★ **7** *words*" in generated_pages.TABLES["exercises"](books)
    assert generated_pages.TABLES["sections"](books).count("\n") == 3  # a header and the chapter


def test_a_plan_with_an_earlier_number_is_told_the_new_one(small, monkeypatch):
    monkeypatch.setitem(BEFORE, "3.99", {"now": "3.2"})
    books = small(A_PLAN.replace('exercises = ["3.2"]', 'exercises = ["3.99"]'))
    with pytest.raises(UsageError, match=r"no exercise 3\.99\. What was .* is exercise 3\.2 now"):
        plans.homework(books)


@pytest.mark.parametrize(
    ("table", "old", "new", "says"),
    [
        (plans.six_weeks, '"Two"', '"Three"', "chapter 3 has no section 'Three'; it has .*'Two'"),
        (plans.six_weeks, "chapter = 3", "chapter = 4", "no chapter 4"),
        (plans.six_weeks, '"3.1"', '"3.7"', r"no exercise 3\.7"),
        (plans.six_weeks, "minutes = 30", "minutes = 20", r"session 1\.1 takes 16 of its 20"),
        (
            plans.three_weeks,
            "minutes = 20",
            "minutes = 26",
            r"session 1\.2 \(b\) takes 26 of its 30",
        ),
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
        words = re.findall(r'"[^"]+"|\S+', line)  # a question is one argument
        options = commands.parser().parse_args(words)
        assert options.command == words[0]


def test_the_page_says_how_long_an_answer_may_take():
    call, check = sandbox.SECONDS_PER_CALL, sandbox.SECONDS_PER_CHECK
    assert f"{call:g} seconds for one call and {check:g} seconds for all" in PAGE
