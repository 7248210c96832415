"""What a notebook lacks: each rule finds what breaks it, and names the file to edit."""

import copy
import re

import pytest
from conftest import ROOT
from nbformat.v4 import new_markdown_cell, new_output

from attnbook.exercises import Exercise
from attncourse import (
    UsageError,
    __main__ as commands,
)
from attncourse.chapter import tags
from attncourse.rules import missing
from attncourse.rules.book import Book, Notebook
from attncourse.rules.chapter import is_taught
from attncourse.rules.exercises import (
    are_built_alike,
    has_answers_in_words,
)

BOOK = Book(ROOT)
CHAPTER = ROOT / "chapters/03-scaling.ipynb"
COST = ROOT / "chapters/10-cost.ipynb"  # has interactive figures with a number
LAB = ROOT / "chapters/lab/03-root.ipynb"
MAPS = ROOT / "chapters/lab/02-maps.ipynb"  # has a figure to read
FRONT = ROOT / "chapters/00-ten-minutes.ipynb"


def changed(path):
    """A copy of one notebook in a copy of the book, to be broken."""
    book = copy.copy(BOOK)
    notebook = Notebook(book, path)
    notebook.node = copy.deepcopy(BOOK.notebooks[path].node)
    book.notebooks = BOOK.notebooks | {path: notebook}
    return notebook


def cell(notebook, words):
    """The first cell whose source has these words."""
    return next(cell for cell in notebook.cells if words in cell.source)


def say(words, instead):
    """Break a notebook by other words in one of its cells."""

    def change(notebook):
        found = cell(notebook, words)
        found.source = found.source.replace(words, instead)

    return change


def add(source):
    """Break a notebook by a text at its end."""
    return lambda notebook: notebook.cells.append(new_markdown_cell(source, id="03-new"))


def show(**output):
    """Break a notebook by what its last cell of code shows."""
    return lambda notebook: notebook.code[-1].outputs.append(new_output(**output))


def tag(words, *tags):
    """Break a notebook by other tags of a cell."""
    return lambda notebook: cell(notebook, words).metadata.update(tags=[*tags])


def drop(words):
    """Break a notebook by a cell that is gone."""
    return lambda notebook: notebook.cells.remove(cell(notebook, words))


def read_last(words):
    """Break a notebook by a cell at a different place."""

    def change(notebook):
        found = cell(notebook, words)
        notebook.cells.remove(found)
        notebook.cells.append(found)

    return change


def rename(notebook):
    notebook.cells[-1].id = "new"


def use_an_id_twice(notebook):
    notebook.cells[-1].id = BOOK.notebooks[ROOT / "chapters/04-softmax.ipynb"].cells[0].id


def no_text_for_a_picture(notebook):
    found = next(c for c in notebook.code if "image" in c.metadata.get("mystnb", {}))
    del found.metadata.mystnb["image"]


def name_no_paper(notebook):
    for each in notebook.cells:
        each.source = each.source.replace("arxiv.org", "example.org")


def promise_no_points(notebook):
    cell(notebook, "### Exercise 3.6 ").source = re.sub(
        r"\(\d points?", "(much", cell(notebook, "### Exercise 3.6 ").source
    )


PROOF = (
    "### Exercise 3.5 ★☆☆ · 5 min\n\n**Prove it.** One is one.\n\n"
    "<details>\n<summary>A model answer</summary>\n\nIt is (4 points).\n\n</details>"
)


def add_a_proof(notebook):
    """In place of 3.10, so that no number is used twice, and none is missing."""
    place = notebook.cells.index(cell(notebook, "### Exercise 3.5 "))
    between = "predict" in tags(notebook.cells[place + 1])
    between |= "symptoms" in tags(notebook.cells[place + 1])
    notebook.node.cells[place : place + 3 + between] = [new_markdown_cell(PROOF, id="03-proof")]
    del notebook.book.exercises["3.5"]


def show_the_code(notebook):
    del notebook.tagged("hide-input")[0].metadata["jupyter"]


BROKEN = [
    (CHAPTER, rename, "cell ids must begin with 03-, and these do not: new"),
    (CHAPTER, use_an_id_twice, "another notebook has these cell ids, too: 04-"),
    (CHAPTER, drop("import google.colab"), r"is the setup cell: copy it from index"),
    (CHAPTER, tag("import google.colab", "setup"), "the tags setup and remove-cell, not"),
    (CHAPTER, add("```{note}\nx\n```"), "MyST is understood only on the page"),
    (CHAPTER, add("{math}`x`"), "MyST is understood only on the page"),
    (CHAPTER, add("<b>x</b>"), "<details> and <summary>"),
    (CHAPTER, add("![x](y.png)"), "must be the output of a cell"),
    (CHAPTER, add("[x](#measure-it)"), "needs its file"),
    (CHAPTER, add("$$x = 1"), "a formula is not closed"),
    (CHAPTER, add(r"$\\alpha$"), "as a new line"),
    (CHAPTER, add("It is trained anew."), r"'anew' \(write: again\) in: It is trained anew"),
    (CHAPTER, say("    # your code here\n", f"    # {'x' * 100}\n"), "a line has 1.. characters"),
    (CHAPTER, say("# 3 · Why divide by √d?", "# Why"), r"begins with .*`# 3 · …\?`"),
    (CHAPTER, say("**Time:**", "Time:"), r"begins with `\*\*Time:\*\*`"),
    (CHAPTER, lambda n: n.node.metadata.pop("measures"), "for the list on the landing page"),
    (CHAPTER, say(r"\tag{3.1}", r"\tag{3.9}"), r"numbered \['3.9'.* must be \['3.1'"),
    (CHAPTER, add("as (3.77) says"), r"refers to equation \(3.77\), which is not there"),
    (CHAPTER, say("> **Predict.** ", "> Predict: "), r"ends with the question, `> \*\*Predict"),
    (CHAPTER, tag("options={", "predict"), "the tags hide-input and nbval-ignore-output"),
    (CHAPTER, tag("import torch", "claim-C99"), "has no claim C99"),
    (CHAPTER, say("## What we measured", "## Results"), "its last sections are"),
    (CHAPTER, name_no_paper, "its last section links to a paper"),
    (CHAPTER, add("### Exercise 3.8: more"), "it begins with a line like `### Exercise 3.2"),
    (CHAPTER, add("### Exercise 3.99 ★☆☆ · 5 min\n\nWhy?"), "ch03_scaling.py does not have 3.99"),
    (CHAPTER, add("### Exercise 3.2 ★☆☆ · 5 min\n\nWhy?"), "exercise 3.2 is in 2 places"),
    (CHAPTER, drop("### Exercise 3.2 "), "no cell begins with `### Exercise 3.2"),
    (CHAPTER, drop("### Exercise 3.6 "), "its last exercise has a model answer"),
    (CHAPTER, promise_no_points, "the model answer of 3.6 must say what gets points"),
    (CHAPTER, add(PROOF.replace("**Prove it.** ", "")), "but no other exercise has one"),
    (CHAPTER, add(PROOF.replace("points", "p.")), "the model answer of 3.5 must say what gets"),
    (CHAPTER, add(PROOF.split("<details>")[0]), "3.5 is in 2 places"),
    (CHAPTER, drop("<summary>Solution 3.2<"), "3.2: below its text there must be a stub"),
    (CHAPTER, say("<summary>Solution 3.2<", "<summary>Mine<"), "3.2: its solution is a text, so"),
    (CHAPTER, say("```python\ndef scaled_scores(", "```python\ndef f("), "it defines the function"),
    (
        CHAPTER,
        say("# drawing\n", "# drawing\nscaled_scores = 1\n"),
        "give `scaled_scores` a different name",
    ),
    (CHAPTER, say('check("3.2", ', 'check("3.3", '), r'it ends with `check\("3.2", …\)`'),
    (CHAPTER, say("- **B** ", "- **E** "), "exercise 3.0: its text has"),
    (CHAPTER, no_text_for_a_picture, "a text for those who can't see the picture"),
    (CHAPTER, drop("### Exercise 3.2 "), r"exercise 3\.3 must have the number 3\.2: count from 0"),
    (CHAPTER, read_last("### Exercise 3.2 "), r"exercise 3\.3 must have the number 3\.2: "),
    (CHAPTER, add("### Exercise 3.99 ★☆☆ · 5 min\n\nWhy?"), r"page has 7 exercises beside 3\.0"),
    (CHAPTER, say("*Figure 3.1. ", "*Figure 3.7. "), r"its caption, `\*Figure 3.1. …"),
    (COST, say("*Figure 10.10. ", "*Figure 10.9. "), r"its caption, `\*Figure 10.10. …"),
    (CHAPTER, show_the_code, "run chapters/03-scaling.ipynb hides code .* do so in 03-"),
    (
        CHAPTER,
        lambda n: n.code[3].update(execution_count=9),
        "run it, and its outputs are stored: python -m attncourse run chapters/03-",
    ),
    (CHAPTER, show(output_type="stream", name="stderr", text="?"), "prints a warning"),
    (CHAPTER, show(output_type="stream", text="<X at 0x7f>"), "an address in memory"),
    (CHAPTER, tag("interactive.scale(", "hide-input"), "has the tag nbval-ignore-output"),
    (
        CHAPTER,
        show(output_type="display_data", data={"image/svg+xml": "<svg/>"}),
        "a PNG of each drawing",
    ),
    (CHAPTER, say("figures.subplots(", "figures.subplots(1, "), "older than its code"),
    (FRONT, say("# Attention in", "# 0 · Attention in"), "a title without a number"),
    (FRONT, drop("drawings.in_parallel("), "'## Why not simply .* needs a figure right below"),
    (FRONT, say("[Chapter 11](11-language-model.ipynb)", "It"), "must end with a link to the ch"),
    (FRONT, say("*Figure 1. ", "*Figure 0.1. "), r"its caption, `\*Figure 1. …"),
    (MAPS, say("**Read the figure.**", "Look:"), r"so its text begins with \*\*Read the figure"),
    (MAPS, say('"A", "B", "C" or "D"', '"A" or "B"'), r"its stub has \['A', 'B'\], and the module"),
    (MAPS, tag("figures.unlabelled(", "hide-input"), "there must be a stub, tagged exercise"),
    (LAB, say("# Lab 3 · ", "# "), "begins with its question, `# Lab 3 ·"),
    (LAB, say("> **Result.**", "Result:"), r"needs a line `> \*\*Result"),
    (LAB, say("](../03-scaling.ipynb)", "]"), "links to its chapter"),
    (LAB, lambda n: n.code[1].outputs.clear(), "the figure that shows the result must be above"),
    (LAB, say("## What would refute it", "## Else"), "needs a section `## What would refute"),
    (LAB, say("def experiment(seed)", "def run(seed)"), "defines `def experiment"),
    (LAB, say('read_runs("03-root")', 'read_runs("03-sharp-start")'), 'read_runs."03-root"'),
    (LAB, drop("fresh = {0"), "runs one seed: `fresh = "),
    (LAB, drop("assert_replicates(\n"), "tagged hide-input and verify, compares it"),
    (LAB, say("ROWS, KEYS = 1000, 8", "ROWS, KEYS = 999, 8"), "the experiment has changed"),
    (LAB, say("ROWS, KEYS = 1000", "X = 0.53287\nROWS, KEYS = 1000"), "has 0.53287, which it mea"),
]


@pytest.mark.parametrize(("path", "change", "says"), BROKEN)
def test_what_breaks_a_rule_is_found_and_the_file_is_named(path, change, says):
    assert not missing.lacks(BOOK.notebooks[path])
    notebook = changed(path)
    change(notebook)
    found = missing.lacks(notebook)
    assert any(re.search(says, lack, re.S) for lack in found), found
    assert all(lack.split(": ")[0] == notebook.name for lack in found)


def test_a_proof_may_be_anywhere_and_need_not_be_assigned():
    for place in (CHAPTER, LAB):
        notebook = changed(CHAPTER)
        notebook.book.exercises = {**BOOK.exercises}
        add_a_proof(notebook)
        if place == LAB:
            lab = changed(LAB)
            lab.book = notebook.book
            notebook.book.notebooks[LAB] = lab
            lab.node.cells.append(
                notebook.node.cells.pop(notebook.cells.index(cell(notebook, PROOF)))
            )
        notebook.book.plans = copy.deepcopy(BOOK.plans)
        for week in notebook.book.plans["homework"]:
            week["exercises"] = [id for id in week["exercises"] if id != "3.5"]
        for rule in (has_answers_in_words, are_built_alike, is_taught):
            assert not [*rule(notebook)]


def test_what_stands_beside_a_chapter_is_found_and_the_file_is_named():
    """Nothing but the table of contents and the notebook are there: all else is to be written."""
    notebook = changed(CHAPTER)
    book = notebook.book
    book.listed = []
    book.claims = {"C01": {"chapter": 3}}
    book.plans = {"six_weeks": {"session": []}, "homework": []}
    book.text = lambda name: ""
    task = Exercise("3.1", "", hints=[])
    task.explanations["x"] = "You do it."
    book.exercises = {"3.1": task}
    found = "\n".join(missing.lacks(notebook))
    for says in (
        "_toc.yml: list it in its part, as `- file: chapters/03-scaling`",
        "ch03_scaling.py: it has 1 exercises and needs 6",
        "ch03_scaling.py: its predictions are []",
        "ch03_scaling.py: exercise 3.1: it needs a hint or more",
        "ch03_scaling.py: exercise 3.1: it knows 0 mistakes and needs 4",
        "ch03_scaling.py: exercise 3.1: it has 0 properties and needs one or two",
        "ch03_scaling.py: exercise 3.1: the mistake 'x' needs two sentences",
        "tests/exercises/answers/ch03.py: it must have two lists, `WRONG` and `RIGHT`",
        "There is none yet for WRONG, RIGHT, 3.1",
        "chapters/claims.toml: C01 belongs to chapter 3, but no cell",
        "chapters/glossary.md: no term leads to the chapter",
        "chapters/plans.toml: a [[six_weeks.session]] must take chapter 3",
        "chapters/plans.toml: a [[homework]] must assign exercise 3.6",
    ):
        assert says in found, found


def test_a_laboratory_notebook_must_be_listed_below_its_own_chapter():
    notebook = changed(LAB)
    others = [path for path in BOOK.listed if path != LAB]
    place = others.index(CHAPTER.with_name("04-softmax.ipynb")) + 1
    notebook.book.listed = [*others[:place], LAB, *others[place:]]
    (lack,) = missing.lacks(notebook)
    assert lack == "_toc.yml: list it below chapter 3, not after 04-softmax"


def test_stored_runs_are_demanded(tmp_path):
    notebook = changed(LAB)
    notebook.path = tmp_path / "chapters/lab/03-root.ipynb"
    assert any("replicate lab/03-root --seeds 20" in lack for lack in missing.lacks(notebook))
    file = tmp_path / "code/attnbook/stored_runs/03-root.csv"
    file.parent.mkdir(parents=True)
    stored = (ROOT / f"code/attnbook/stored_runs/{file.name}").read_text("utf8").split("\n")
    file.write_text("\n".join(line for line in stored if not re.match(r"[2-9]|1\d", line)), "utf8")
    assert any("has the seeds [0, 1] and needs 10" in lack for lack in missing.lacks(notebook))


def test_a_notebook_that_is_still_to_be_written_lacks_everything_in_order():
    path = ROOT / "chapters/98-memory.ipynb"
    found = missing.lacks(Book(ROOT, also=(path,)).notebooks[path])
    files = [*dict.fromkeys(lack.split(": ")[0] for lack in found)]
    assert files == [
        "chapters/98-memory.ipynb",
        "_toc.yml",
        "code/attnbook/exercises/ch98_memory.py",
        "tests/exercises/answers/ch98.py",
        "chapters/glossary.md",
        "chapters/plans.toml",
    ]
    assert "write the notebook" in found[0]
    lab = ROOT / "chapters/lab/98-why.ipynb"
    found = missing.lacks(Book(ROOT, also=(lab,)).notebooks[lab])
    assert {lack.split(": ")[0] for lack in found} == {"chapters/lab/98-why.ipynb", "_toc.yml"}
    assert any("list it below its chapter, under `sections:`" in lack for lack in found)


def test_a_file_that_is_no_notebook_is_said_to_be_none(tmp_path):
    notebook = changed(CHAPTER)
    notebook.node.cells[0].cell_type = "poem"
    notebook.path = tmp_path / "03-scaling.ipynb"
    notebook.path.write_text(" " * 1_000_000)
    says = [*missing.every.exists(notebook)]
    assert "not a valid notebook" in says[0] and "may have 1,000,000" in says[1]


@pytest.mark.parametrize(
    ("told", "file"),
    [
        ("3", "03-scaling"),
        ("03-scaling", "03-scaling"),
        ("chapters/03-scaling.ipynb", "03-scaling"),
        ("index", "index"),
        ("98", "98-NAME"),
        ("98-memory", "98-memory"),
        ("lab/98-why", "lab/98-why"),
        ("chapters/lab/03-root.ipynb", "lab/03-root"),
    ],
)
def test_a_notebook_is_found_by_its_name_or_number(told, file):
    assert missing.find(ROOT, told) == ROOT / f"chapters/{file}.ipynb"


@pytest.mark.parametrize("told", ["memory", "lab/why", "lab/3"])
def test_a_name_that_no_notebook_can_have_is_refused(told):
    with pytest.raises(UsageError, match=f"{told} names no notebook: say 12 or"):
        missing.find(ROOT, told)


def test_the_command_numbers_what_is_missing_and_fails_until_nothing_is(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    with pytest.raises(SystemExit, match="1"):
        commands.main(["missing", "98-memory"])
    assert re.match(r"1\. chapters/98-memory.ipynb: .*\n2\. _toc.yml: ", capsys.readouterr().out)
    monkeypatch.setattr(missing, "not_up_to_date", lambda book: [])
    commands.main(["missing", "3"])
    assert capsys.readouterr().out == "nothing is missing\n"


def test_what_labels_would_write_is_said_last(monkeypatch):
    outdated = {ROOT / "README.md": "…"}
    monkeypatch.setattr(missing.generated_pages, "outdated", lambda *_: outdated)
    monkeypatch.setattr(missing.screenshots, "outdated", lambda *_: {})
    (lack,) = missing.report(ROOT, "3").split("\n")
    assert lack == "1. README.md: python -m attncourse labels brings it up to date"
