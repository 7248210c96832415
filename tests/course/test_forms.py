"""The forms and the exam: their keys are right, and a class is measured with them."""

import csv
import math
import re

import numpy as np
import pytest
from conftest import ROOT

from attncourse import UsageError, __main__ as commands
from attncourse.grading import gain
from attncourse.handouts import forms

TOLD = forms.read(ROOT)
PAIRS, EXAM = TOLD["pair"], TOLD["exam"]


def test_there_are_twelve_pairs_and_twenty_questions_from_all_over_the_book():
    assert len(PAIRS) == 12 and len(EXAM) == 20
    for questions, least in ((PAIRS, 8), (EXAM, 10)):
        chapters = [question["chapter"] for question in questions]
        assert chapters == sorted(chapters) and len({*chapters}) >= least


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair["about"])
def test_both_forms_have_four_options_and_differ(pair):
    for name in "ab":
        assert len({*pair[name]["options"]}) == 4
        # the right answer is not told by its length
        right, *wrong = map(len, pair[name]["options"])
        assert right <= max(9, 1.5 * max(wrong)), pair[name]["ask"]
    assert pair["a"]["ask"] != pair["b"]["ask"]


def test_each_letter_is_right_three_times():
    key = forms.key(PAIRS)
    for column in (4, 5):
        letters = [row.split(" | ")[column - 1].strip(" |") for row in key.split("\n")[4:-1]]
        assert sorted(letters) == sorted(3 * forms.LETTERS)


@pytest.mark.parametrize("question", EXAM, ids=lambda question: question["ask"][:40])
def test_the_key_of_the_exam_gives_all_points_and_the_right_number(question):
    given = map(int, re.findall(r"\((\d) points?\)", question["key"]))
    assert sum(given) == question["points"]
    if "compute" in question:
        number = eval(question["compute"], {"math": math})
        assert question["number"] == pytest.approx(number, rel=1e-3)
        shown = f"{number:,.0f}" if number == round(number) else f"{number:.1f}"
        assert shown in question["key"]


def test_the_numbers_of_the_forms_are_those_that_attention_gives():
    """The pairs that are computed by hand: the output, the spread of scores, and their count."""
    by_hand = {pair["about"]: pair for pair in PAIRS}["weights and an output, by hand"]
    for name, ratio, values in (("a", (1, 3), (8, 4)), ("b", (4, 1), (5, 10))):
        weights = np.array(ratio) / sum(ratio)
        mixed, even, largest, exchanged = map(float, by_hand[name]["options"])
        assert mixed == weights @ values and even == np.mean(values)
        assert largest == values[weights.argmax()] and exchanged == weights[::-1] @ values


def test_the_command_writes_forms_keys_and_what_moodle_imports(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    commands.main(["forms", str(tmp_path)])
    names = {path.name for path in tmp_path.iterdir()} - {".attnbook.json"}
    assert names == {*forms.files(ROOT)}
    paper = (tmp_path / "form-a.md").read_text("utf8")
    assert (
        paper.count("- **A** ") == paper.count("- **E** ") == 12
        and "right" not in paper.split("\n", 3)[3]
    )
    told = (tmp_path / "form-b.gift.txt").read_text("utf8").split("\n}\n")[:-1]
    for question, pair in zip(told, PAIRS, strict=True):
        assert f"\n    ={forms._escaped(pair['b']['options'][0])}\n" in question
        plain = re.sub(r"\\.", "", question)
        assert plain.count("=") == 1 and plain.count("~") == 4 and plain.count("{") == 1
    exam = [(tmp_path / f"exam{end}.md").read_text("utf8") for end in ("", "-key")]
    assert all(question["key"] not in exam[0] and question["key"] in exam[1] for question in EXAM)


def table(path, rows, header=None, who="student"):
    """A table of students with their points."""
    count = len(next(iter(rows.values())))
    with path.open("w", newline="", encoding="utf8") as file:
        writer = csv.writer(file)
        writer.writerow([who, *(header or range(1, count + 1))])
        writer.writerows([name, *points] for name, points in rows.items())
    return path


def test_the_gain_of_a_class_is_what_it_is_by_hand(tmp_path):
    before = {f"s{i}": [1, 0, 0, 0] for i in range(6)} | {"away": [1, 1, 1, 1]}
    after = {f"s{i}": [1, 1, int(i < 3), 0] for i in range(6)} | {"new": [0, 0, 0, 0]}
    found = gain.gain(table(tmp_path / "x.csv", before), table(tmp_path / "y.csv", after))
    assert (found.students, found.before, found.after) == (6, 1.0, 2.5)
    assert found.normalised == pytest.approx(1.5 / 3)
    assert found.questions == [(1, 1), (0, 1), (0, 0.5), (0, 0)]
    assert found.only_once == ["away", "new"]
    # a mean of six draws from 1 and 2: half a point to either side is 2.4 standard errors
    assert found.gained[0] == pytest.approx(1.17, abs=0.02)
    assert found.gained[1] == pytest.approx(1.83, abs=0.02)
    assert found.normalised_in == pytest.approx([x / 3 for x in found.gained])


def test_the_interval_holds_95_of_100_means(tmp_path):
    before = {f"s{i}": [0, 0] for i in range(200)}
    after = {f"s{i}": [i % 2, 0] for i in range(200)}  # a gain of 0.5 with a deviation of 0.5
    found = gain.gain(table(tmp_path / "x.csv", before), table(tmp_path / "y.csv", after))
    half = 1.96 * 0.5 / math.sqrt(200)
    assert found.gained == pytest.approx((0.5 - half, 0.5 + half), abs=0.006)


def test_moodles_table_is_read_with_its_points_and_its_last_row(tmp_path, monkeypatch, capsys):
    header = ["Q. 1 /0,50", "Q. 2 /0,50"]
    rows = {f"ada{i}@example.org": ["0,50", "-"] for i in range(5)}
    before = table(tmp_path / "b.csv", rows | {"": ["0,50", "0,00"]}, header, "Email address")
    rows = {name.upper(): ["0.50", "0.50"] for name in rows}
    after = table(tmp_path / "a.csv", rows, header, "Email address")
    monkeypatch.chdir(ROOT)
    commands.main(["gain", str(before), str(after)])
    said = capsys.readouterr().out
    assert "right before: 1.0, after: 2.0" in said
    assert "normalised gain: 1.00 (95 % interval 1.00 to 1.00)" in said
    assert "| 2 |  | 0 | 100 |" in said


FIVE = {f"s{i}": [1, 0] for i in range(5)}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ({"s0": [1, 0]}, FIVE, "1 students are in both tables"),
        (FIVE, {name: [1, 0, 1] for name in FIVE}, "the tables have 2 and 3 questions"),
        (FIVE, {name: [2, 0] for name in FIVE}, "s0 has '2' where 0 to 1 points can be"),
        (FIVE, {name: ["?", 0] for name in FIVE}, "s0 has '?' where"),
        ({name: [1, 1] for name in FIVE}, FIVE, "nothing could be gained"),
    ],
)
def test_tables_that_measure_nothing_are_refused(tmp_path, before, after, says):
    tables = table(tmp_path / "b.csv", before), table(tmp_path / "a.csv", after)
    with pytest.raises(UsageError, match=re.escape(says)):
        gain.gain(*tables)


def test_a_table_without_students_or_with_one_twice_is_refused(tmp_path):
    with pytest.raises(UsageError, match="its columns are who, 1, 2"):
        gain.scores(table(tmp_path / "x.csv", FIVE, who="who"))
    twice = table(tmp_path / "y.csv", {"s0": [1, 0], "S0": [1, 1]})
    with pytest.raises(UsageError, match="s0 is in it twice"):
        gain.scores(twice)
