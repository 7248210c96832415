"""The index of experiments says of every claim what its chapter measured, and where."""

import re

import nbformat
import pytest
from conftest import ROOT

from attnbook import figures
from attncourse import UsageError
from attncourse.chapter import chapters, laboratory
from attncourse.pages import claims, generated_pages

LEDGER = claims.ledger(ROOT / "chapters")
PAGE = (ROOT / "chapters/experiments.md").read_text("utf8")
HEADER = ["design", "steps", "right, %", "weight"]
ROWS = [
    ["one", 150, "51 ± 7", "-0.5–3.9"],
    ["one", 300, "2e-14", 0.2],
    ["two", 150, 97, "1–2"],
    ["none", 0, 0, ""],
]
PRINTED = "weights: [0.2, 0.1, 0.7]\nqueries 4 × 2, of 20 seeds\nothers 6, 8 beyond"
SENTENCE = (
    "Two get [[two | right, %]] % right, one [[one | 300 | right, %]], of [[of # seeds]]. It has "
    "[[one | 150 | weight .first]] to [[one | 150 | weight .last]], by hand [[weights: [#]]."
)
SAID = (
    "Two get 97\u00a0% right, one $2 \\cdot 10^{-14}$, of 20. It has −0.5 to 3.9, by hand 0.2, 0.1 "
    "and 0.7. ([Measure it](03-scaling.ipynb#measure-it))"
)


def cell(printed=PRINTED, header=HEADER, rows=ROWS, tag="claim-C05", code="assert error < 1e-5"):
    """A cell that proves a claim: it has printed a text, and has shown a table."""
    table = {"text/markdown": figures.table(header, rows)._repr_markdown_()}
    outputs = [
        nbformat.v4.new_output("stream", name="stdout", text=printed),
        nbformat.v4.new_output("display_data", data=table),
    ]
    return nbformat.v4.new_code_cell(code, metadata={"tags": [tag]}, outputs=outputs)


def notebook(*cells):
    """A notebook of cells; a string is a text."""
    text = nbformat.v4.new_markdown_cell
    return nbformat.v4.new_notebook(cells=[text(c) if isinstance(c, str) else c for c in cells])


def lines(tmp_path, book, *measured, laboratory=None):
    """What the index says of claim C05, measured in a chapter and in the laboratory."""
    books = {tmp_path / "03-scaling.ipynb": book}
    if laboratory:
        books[tmp_path / "lab/03-roots.ipynb"] = laboratory
    return list(claims.measured("C05", {"chapter": 3, "measured": list(measured)}, books))


def line(tmp_path, sentence, *cells):
    """What the index says of claim C05 in one sentence, from cells of one section."""
    return lines(tmp_path, notebook("## Measure it", *cells), sentence)[0]


def test_every_claim_of_the_ledger_is_on_the_page_below_its_chapter():
    parts = re.split(r"^## (\d+) · ", PAGE, flags=re.M)
    sections = dict(zip(map(int, parts[1::2]), parts[2::2], strict=True))
    for id, claim in LEDGER.items():
        found = re.findall(
            rf"^\*\*{id}\. .+(?:\n\n- .+(?:\n- .+)*)", sections[claim["chapter"]], re.M
        )
        assert len(found) == 1, f"{id} has to be once below chapter {claim['chapter']}"
        begins = f"**{id}. {claim['claim']}.**" + (" *Half true.* " if "but" in claim else "\n")
        assert found[0].startswith(begins), f"{id} says its claim, and if that is half true"
        assert found[0].count("\n- ") == len(claim["measured"]), f"{id} says all that was measured"


def test_a_changed_output_changes_the_page():
    page = ROOT / "chapters/experiments.md"
    books = {p: nbformat.read(p, as_version=4) for p in chapters(ROOT) + laboratory(ROOT)}
    (path,) = (path for path in books if path.stem == "03-scaling")
    stored = path.read_text("utf8").replace("0.969 ± 0.004", "0.123 ± 0.004")
    books[path] = nbformat.reads(stored, as_version=4)
    assert PAGE.count("0.969") == 1
    found = generated_pages.outdated(books, [page])
    assert found == {page: PAGE.replace("0.969", "0.123")}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"header": ["design", "steps", "left, %", *HEADER[2:]]}
        | {"rows": [[*row[:2], 13, *row[2:]] for row in ROWS]},
        {"rows": [["zero", 150, 13, "5–6"], ["one", 75, 13, "5–6"], *ROWS]},
        {"rows": ROWS[::-1]},
        {"printed": f"places: [9.8, 9.9]\nproof 7 seeds, of 7 kinds, {PRINTED}"},
    ],
    ids=["as it is", "column", "rows", "order", "words"],
)
def test_what_comes_in_front_of_a_result_changes_no_sentence(tmp_path, changed):
    assert line(tmp_path, SENTENCE, cell(**changed)) == SAID


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("Four queries: [[queries #]].", "Four queries: 4\u00a0×\u00a02."),
        ("Of others, [[others #]].", "Of others, 6."),  # 8 is said of something else
        ("The code says [[error < #]].", "The code says $10^{-5}$."),
        ("By hand [[three | weight]].", "By hand 1, 2 and 3."),
        ({"say": "Two agree.", "shows": "| two | 150 |"}, "Two agree."),
        ({"say": "All 20 agree.", "shows": "of 20 seeds"}, "All 20 agree."),
    ],
)
def test_a_value_may_be_a_shape_or_a_list_or_in_the_code_or_be_shown_only(tmp_path, sentence, says):
    found = line(tmp_path, sentence, cell(rows=[*ROWS, ["three", 0, 0, "1, 2, 3"]]))
    assert found.startswith(f"{says} (")


def test_a_renamed_column_is_refused_with_the_keys_near_to_it(tmp_path):
    gone = r"\[\[two \| right, %\]\] is in no cell of 03-scaling\.ipynb"
    with pytest.raises(
        UsageError, match=rf"C05: {gone}; similar keys: .*\[\[two \| correct, %\]\]"
    ):
        line(tmp_path, SENTENCE, cell(header=["design", "steps", "correct, %", "weight"]))


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("It is [[three | weight]].", r"\[\[three \| weight\]\] is in no .* \[\[two \| weight\]\]"),
        ("It is [[none | weight]].", r"\[\[none \| weight\]\] is in no cell"),  # it is empty
        ("It is [[of # runs]].", r"\[\[of # runs\]\] is in no cell .* \[\[of #\]\]"),
        ("It is [[one | weight]].", r"\[\[one \| weight\]\] names 2 results .*: -0\.5–3\.9, 0\.2"),
        ("It is [[#, ]].", r"\[\[#, \]\] names \d results"),
        ("It is [[# of #]].", r"\[\[# of #\]\] is neither"),
        ("It is [[weight]].", r"\[\[weight\]\] is neither"),
        ("It is [[two | weight]], [[one | weight].", "needs a whole key"),
        ("It is good.", "needs a whole key"),
        ("For 20 it is [[two | weight]].", "the number 20, which is in none of its keys"),
        ("It is [[two | design .last]].", "'two' has no last number"),
        ({"say": "It agrees.", "shows": "both agree"}, "'both agree' is in no cell of 03-"),
        ({"say": SENTENCE, "notebook": "04-softmax"}, "no notebook 04-softmax"),
        ({"say": SENTENCE, "figure": True}, "no figure follows 03-scaling"),
    ],
)
def test_a_sentence_whose_keys_do_not_name_one_result_is_refused(tmp_path, sentence, says):
    with pytest.raises(UsageError, match=rf"^chapters/claims\.toml, C05: .*{says}"):
        line(tmp_path, sentence, cell())


def test_all_results_of_a_sentence_come_from_one_cell(tmp_path):
    first, second = cell("a 1"), cell("b 2", rows=[["none", 0, 0, 0]])
    assert line(tmp_path, "[[two | weight]], [[a #]]", first, second).startswith("1–2, 1 (")
    with pytest.raises(UsageError, match=r"no single cell of .* shows all of \[\[two .*\[\[b #"):
        line(tmp_path, "[[two | weight]], [[b #]]", first, second)
    twice = [cell("a 1"), cell("b 2")]
    with pytest.raises(UsageError, match=r"several cells show \[\[two .*name .*shows = "):
        line(tmp_path, "[[two | weight]]", *twice)
    named = {"say": "[[two | weight]]", "shows": "b"}
    assert line(tmp_path, named, *twice).startswith("1–2 (")


def test_each_measurement_names_its_own_section_and_the_figure_that_follows(tmp_path):
    found = notebook(
        "## First things",
        cell("a 1"),
        "Text.\n\n### Exercise 3.0 ★☆☆ · 2 min",
        cell("b 2"),
        "*Figure 3.1. One.*\n\n## Why √d? A test",
        cell("c 3"),
        "## Last",
        "*Figure 3.2. Two.*",
    )
    first = "[First things](03-scaling.ipynb#first-things)"
    assert lines(
        tmp_path,
        found,
        {"say": "[[a #]]", "figure": True},
        "[[a #]]",
        {"say": "[[b #]]", "figure": True},
        "[[c #]]",
    ) == [
        f"1 ({first}, Figure 3.1)",
        f"1 ({first})",
        f"2 ({first}, Figure 3.1)",
        "3 ([Why √d? A test](03-scaling.ipynb#why-d-a-test))",
    ]


def test_a_claim_may_be_proved_in_the_laboratory_which_is_then_named(tmp_path):
    book, lab = notebook("## Measure it", cell("a 1")), notebook("## More", cell("b 2"))
    both = {"say": "[[two | weight]]", "notebook": "lab/03-roots"}
    assert lines(tmp_path, book, "[[b #]]", "[[a #]]", both, laboratory=lab) == [
        "2 ([More](lab/03-roots.ipynb#more))",
        "1 ([Measure it](03-scaling.ipynb#measure-it))",
        "1–2 ([More](lab/03-roots.ipynb#more))",
    ]
    with pytest.raises(UsageError, match=r"C05: no cell of 03-\S+ or lab/03-roots\.ipynb has the"):
        untagged = notebook("## More", cell(tag="claim-C06"))
        lines(tmp_path, untagged, "[[b #]]", laboratory=untagged)


def test_a_claim_of_which_nothing_was_measured_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"C05: the ledger does not say what was measured"):
        lines(tmp_path, notebook("## Measure it", cell()))
