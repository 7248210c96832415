"""Every chapter reads well in four places, proves its claims and stores a clean run."""

import ast
import itertools
import json
import re
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT

from attnbook.exercises import MultipleChoice, NumericAnswer, catalogue
from attnbook.laboratory import read_runs
from attncourse import address
from attncourse.chapter import (
    TITLE,
    cells_to_answer_in,
    chapters,
    contents,
    laboratory,
    notebooks,
    number,
)
from attncourse.pages import claims

CHAPTERS = chapters(ROOT)
LABORATORY = laboratory(ROOT)
CLAIMS = claims.ledger(ROOT / "chapters")

every_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
every_lab = pytest.mark.parametrize("path", LABORATORY, ids=lambda path: path.stem)
every_study = pytest.mark.parametrize("path", [*CHAPTERS, *LABORATORY], ids=lambda path: path.stem)
every_notebook = pytest.mark.parametrize("path", notebooks(ROOT), ids=lambda path: path.stem)


def read(path: Path):
    return nbformat.read(path, as_version=4)


def cells(path: Path, kind: str) -> list:
    return [cell for cell in read(path).cells if cell.cell_type == kind]


def tags(cell) -> list[str]:
    return cell.metadata.get("tags", [])


def prose(path: Path) -> str:
    """The text of a chapter without its code spans."""
    text = "\n\n".join(cell.source for cell in cells(path, "markdown"))
    return re.sub(r"`[^`\n]*`", "", text)


def test_the_contents_list_every_chapter_in_order():
    files = contents(ROOT)
    texts = [path for file in files if (path := file.with_name(f"{file.name}.md")).exists()]
    first, needed = (ROOT / f"chapters/{name}.ipynb" for name in ("index", "prerequisites"))
    assert notebooks(ROOT) == [first, *CHAPTERS, *LABORATORY, needed]
    assert sorted(LABORATORY) == sorted((ROOT / "chapters/lab").glob("*.ipynb"))
    assert sorted(texts) == sorted((ROOT / "chapters").glob("*.md"))
    assert len(notebooks(ROOT)) + len(texts) == len(files)


def test_ids_of_cells_are_unique_in_the_book():
    ids = [cell.id for path in notebooks(ROOT) for cell in read(path).cells]
    assert len(ids) == len({*ids})
    for path in LABORATORY:
        assert all(cell.id.startswith(f"lab{path.stem}-") for cell in read(path).cells)


def test_no_two_notebooks_share_a_name():
    names = [path.stem for path in notebooks(ROOT)]
    assert len(names) == len({*names})


@every_notebook
def test_the_notebook_is_valid_and_small(path):
    nbformat.validate(read(path))
    assert path.stat().st_size < 1_000_000
    assert read(path).metadata.language_info == {"name": "python"}


@every_chapter
def test_the_title_asks_the_chapters_question(path):
    first = read(path).cells[0]
    assert re.match(rf"# {number(path)} · .+\?\n", first.source)
    for expected in ("> **Question.**", "**Time:**", "**You need first:**", "**Afterwards"):
        assert expected in first.source


@every_notebook
def test_the_setup_cell_is_the_books(path):
    code = cells(path, "code")
    assert tags(code[0]) == ["setup", "remove-cell"]
    assert code[0].source == address.setup_cell(ROOT, path)
    assert code[0].outputs == []
    assert not any("setup" in tags(cell) for cell in code[1:])


@every_notebook
def test_the_text_is_plain_markdown(path):
    text = prose(path)
    assert not re.search(r"^\s*(:::|```\{)|\{[a-z:]+\}`", text, re.M), "MyST"
    html = re.findall(r"</?([a-z]+)[^>]*>", text)
    assert set(html) <= {"details", "summary"}, html
    assert "![" not in text, "an image that is no output"
    assert "](#" not in text, "Jupyter Book 2 warns of a link to a heading without its file"
    assert not re.search(r"\\(begin|label|eqref)\b", text), "not shown alike everywhere"
    assert text.count("$$") % 2 == 0
    # a doubled backslash is a new line in TeX, and the command behind it mere letters
    assert not re.search(r"\\\\[a-zA-Z,;]", text)


@every_chapter
def test_equations_are_numbered_in_order_and_references_exist(path):
    text = prose(path)
    numbers = re.findall(r"\\tag\{([\d.]+)\}", text)
    assert numbers == [f"{number(path)}.{i + 1}" for i in range(len(numbers))]
    for reference in re.findall(rf"\(({number(path)}\.\d+)\)", text):
        assert reference in numbers


@every_notebook
def test_every_cell_was_run_in_order_without_errors_or_warnings(path):
    code = cells(path, "code")
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    for cell in code:
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr"
            assert " at 0x" not in json.dumps(output), "an address differs every time"
    assert "execution" not in json.dumps([cell.metadata for cell in code])


@every_notebook
def test_a_drawing_is_stored_as_a_picture_too(path):
    """JupyterLab shows no SVG of a notebook that it doesn't trust."""
    for cell in cells(path, "code"):
        for output in cell.outputs:
            kinds = output.get("data", {})
            assert "image/svg+xml" not in kinds or "image/png" in kinds, cell.id


@every_study
def test_every_figure_has_a_text_and_a_caption(path):
    everything = read(path).cells
    figures = 0
    chapter = "" if path in LABORATORY else f"{number(path)}."
    for cell, following in itertools.pairwise(everything):
        pictures = [
            output
            for output in cell.get("outputs", [])
            if {"image/png", "image/svg+xml"} & {*output.get("data", {})}
        ]
        if pictures:
            figures += 1
            assert len(pictures) == 1
            alt = cell.metadata["mystnb"]["image"]["alt"]
            assert len(alt) > 80 and "\n" not in alt
            caption = f"*Figure {chapter}{figures}. "
            assert following.source.startswith(caption)
            assert "hide-input" in tags(cell)
    assert figures


@every_notebook
def test_lines_of_code_fit_the_page(path):
    for cell in cells(path, "code"):
        if not {"setup", "hide-input", "stored"} & set(tags(cell)):
            assert max(map(len, cell.source.split("\n"))) <= 80, cell.source


@every_notebook
def test_jupyterlab_and_colab_hide_the_code_that_the_page_hides(path):
    for cell in cells(path, "code"):
        hidden = bool({"hide-input", "solution", "stored"} & {*tags(cell)})
        words = cell.metadata.get("jupyter"), cell.metadata.get("cellView")
        expected = ({"source_hidden": True}, "form") if hidden else (None, None)
        assert words == expected, "python -m attncourse run writes it"
        switch = cell.metadata.get("mystnb", {}).get("code_prompt_show")
        assert switch == ("Show the solution" if "solution" in tags(cell) else None)


def test_the_right_option_of_a_prediction_is_not_mostly_the_last():
    """Else a class learns to take the last."""
    places = []
    for path in CHAPTERS:
        for cell in cells(path, "code"):
            if "predict" in tags(cell) and "right=" in cell.source:
                given = {k.arg: k.value for k in ast.parse(cell.source).body[-1].value.keywords}
                options = [key.value for key in given["options"].keys]
                places.append(options.index(given["right"].value) == len(options) - 1)
    assert len(places) > 20 and sum(places) <= 0.4 * len(places)  # by chance a third


def claim_tags(path: Path) -> dict[str, list]:
    found: dict[str, list] = {}
    for cell in cells(path, "code"):
        for tag in tags(cell):
            if tag.startswith("claim-"):
                found.setdefault(tag.removeprefix("claim-"), []).append(cell)
    return found


@every_chapter
def test_every_claim_of_the_chapter_has_a_cell_that_asserts_it(path):
    """There, or in the laboratory notebooks that belong to the chapter."""
    here = [path, *(lab for lab in LABORATORY if number(lab) == number(path))]
    home = {id for id, claim in CLAIMS.items() if claim["chapter"] == number(path)}
    assert home <= {id for notebook in here for id in claim_tags(notebook)}


@every_study
def test_a_cell_that_proves_a_claim_asserts_it(path):
    found = claim_tags(path)
    assert set(found) <= set(CLAIMS)
    for id, proofs in found.items():
        for cell in proofs:
            assert re.search(r"^(assert |confirm\()", cell.source, re.M), id


def test_chapters_are_numbered_without_a_gap():
    assert [number(path) for path in CHAPTERS] == [*range(1, len(CHAPTERS) + 1)]


def test_claims_stand_in_the_order_of_their_numbers():
    """There may be gaps: a claim comes with the chapter that proves it."""
    assert all(re.fullmatch(r"C\d\d", id) for id in CLAIMS)
    assert list(CLAIMS) == sorted(CLAIMS)
    assert list(CLAIMS)[:43] == [f"C{i:02d}" for i in range(1, 44)]  # none is ever dropped


def test_every_claim_is_proved_in_a_chapter():
    assert set().union(*map(claim_tags, [*CHAPTERS, *LABORATORY])) == set(CLAIMS)


@every_chapter
def test_exercises_of_chapter_and_catalogue_are_the_same(path):
    """Those that stand in the laboratory notebooks of the chapter are among them."""
    graded = [e for e in catalogue() if e.id.startswith(f"{number(path)}.")]
    assert len(graded) >= 6
    here = [path, *(lab for lab in LABORATORY if number(lab) == number(path))]
    headings = {}
    for notebook in map(read, here):
        for i, cell in enumerate(notebook.cells):
            match = re.match(r"### Exercise ([\d.]+) ([★☆]{3}) · (\d+) min\n", cell.source)
            if cell.cell_type == "markdown" and cell.source.startswith("### Exercise"):
                assert match, cell.source[:60]
                assert match[1] not in headings
                headings[match[1]] = notebook, i, match[2]
    for exercise in graded:
        notebook, i, stars = headings.pop(exercise.id)
        assert stars in ("★☆☆", "★★☆", "★★★")
        stub, solution = cells_to_answer_in(notebook, i)
        assert tags(stub) == ["exercise"]
        assert tags(solution) == ["solution", "hide-cell"]
        assert solution.source.startswith(f"# @title Solution {exercise.id}\n")
        for cell, says in ((stub, "not attempted."), (solution, "solved.")):
            last = cell.source.rstrip().split("\n")[-1]
            assert last.startswith(f'check("{exercise.id}", ')
            assert says in cell.outputs[0].data["text/plain"]
            if not isinstance(exercise, MultipleChoice | NumericAnswer):
                assert f"def {last.split(', ')[1][:-1]}(" in cell.source
    for notebook, i, _ in headings.values():  # those without a check have a model answer
        assert "<summary>A model answer</summary>" in notebook.cells[i].source


@every_chapter
def test_the_chapter_asks_for_one_choice_within_its_story(path):
    chapter = f"{number(path)}."
    choice, *more = (
        exercise
        for exercise in catalogue()
        if isinstance(exercise, MultipleChoice) and exercise.id.startswith(chapter)
    )
    assert choice.id == f"{chapter}0" and not more
    sources = [cell.source for cell in read(path).cells]
    headings = [source.split(" ★")[0] for source in sources]
    place = headings.index(f"### Exercise {choice.id}")
    story = "\n\n".join(sources[:place])
    assert "\n## " in story and "## Exercises" not in story
    stub, solution = (cell.source for cell in cells_to_answer_in(read(path), place))
    task = sources[place]
    assert re.findall(r"^- \*\*(.+?)\*\* ", task, re.M) == choice.options
    assert re.findall(r'"([A-Z])"', stub) == choice.options
    assert re.findall(r'"([A-Z])"', solution) == [choice.reference]


@every_chapter
def test_predictions_to_click_stand_under_their_question_and_before_what_answers_them(path):
    asked = False
    for cell, above in zip(read(path).cells[1:], read(path).cells[:-1], strict=True):
        if "predict" in tags(cell):
            assert {"hide-input", "nbval-ignore-output"} <= {*tags(cell)}
            last = above.source.split("\n\n")[-1]
            assert last.startswith(("> **Predict.** ", "- **A** ")), last
            asked = True
        if "answer" in tags(cell):
            assert asked, cell.id
        if "answer" in tags(above) and cell.cell_type == "markdown":
            behind_the_veil = re.split(r"^##+ ", cell.source, flags=re.M)[0]
            assert "**Predict.**" not in behind_the_veil


def classes_of_the_package() -> set[str]:
    return {
        name
        for path in (ROOT / "code/attnbook").glob("*.py")
        for name in re.findall(r"^class (\w+)", path.read_text("utf8"), re.M)
    }


@every_chapter
def test_a_part_of_the_model_is_named_in_its_section_before_it_is_built(path):
    section = ""
    for cell in read(path).cells:
        if cell.cell_type == "markdown":
            section = f"{section}\n\n{cell.source}".split("\n## ")[-1].lower()
            continue
        for name in re.findall(r"^class (\w+)", cell.source, re.M):
            if name in classes_of_the_package():
                words = re.sub(r"\B([A-Z])", r" \1", name).lower()
                text = section.replace("-", " ")
                assert words in text, f"{name}: {section[:60]}"


@every_chapter
def test_the_last_sections_sum_up_and_name_sources(path):
    headings = re.findall(r"^## (.+)$", prose(path), re.M)
    if "In a language model" in headings:
        assert headings.pop(-2) == "In a language model"
    assert headings[-3:] == ["Exercises", "What we measured", "Where this comes from"]
    assert re.search(r"\]\(https://arxiv\.org/abs/", prose(path).split("## ")[-1])


@every_lab
def test_a_laboratory_notebook_begins_with_its_result_and_the_figure_that_shows_it(path):
    first, *others = read(path).cells
    title = TITLE.match(first.source)
    assert first.source.startswith(f"# Lab {number(path)} · ") and title["question"].endswith("?")
    assert claims.RESULT.search(first.source)
    (chapter,) = (other for other in CHAPTERS if number(other) == number(path))
    assert f"](../{chapter.name}" in first.source
    before = list(itertools.takewhile(lambda cell: "\n## " not in f"\n{cell.source}", others))
    shown = [output.get("data", {}) for cell in before for output in cell.get("outputs", [])]
    assert any(kind.startswith("image/") for data in shown for kind in data)
    headings = re.findall(r"^## (.+)$", prose(path), re.M)
    assert "What would refute it" in headings


@every_lab
def test_a_laboratory_notebook_has_one_experiment_and_compares_it_with_its_stored_runs(path):
    code = cells(path, "code")
    experiments = "\n".join(cell.source for cell in code if "experiment" in tags(cell))
    assert re.search(r"^def experiment\(seed(, \w+=\w+(\(\w+\))?)?\):$", experiments, re.M)
    (stored,) = (cell for cell in code if "stored" in tags(cell))
    assert tags(stored) == ["stored", "remove-cell"] and not stored.outputs
    others = "\n".join(cell.source for cell in code if "experiment" not in tags(cell))
    assert re.search(r"= read_runs\(STORED\)$", others, re.M)
    (fresh,) = (cell.source for cell in code if re.search(r"^fresh = ", cell.source, re.M))
    assert re.search(r"^fresh = \{\s*0: ", fresh, re.M)  # one seed, run anew
    assert re.search(r"\bexperiment\(0\b|\bmeasure\(train\(", fresh)
    compare = [cell for cell in code if re.search(r"^assert_replicates\(", cell.source, re.M)]
    assert len(compare) == 1 and "verify" in tags(compare[0])


@every_lab
def test_an_experiment_holds_none_of_its_results(path):
    code = "\n".join(cell.source for cell in cells(path, "code") if "experiment" in tags(cell))
    (stored,) = (cell for cell in cells(path, "code") if "stored" in tags(cell))
    (compared,) = (
        c.source for c in cells(path, "code") if re.search(r"^assert_replicates\(", c.source, re.M)
    )
    names = {}
    exec(stored.source, names)
    measured = {
        f"{value:g}"
        for name, column in read_runs(names["STORED"]).items()
        if f" {name}=" in compared  # the others are settings
        for value in column
        if value != round(value)
    }
    assert not measured & {*re.findall(r"(?<![\w.])\d+\.\d+", code)}
