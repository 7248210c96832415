"""Stored runs are read and compared; two results that agree are said to, others raise."""

import numpy as np
import pytest
import torch

from attnbook import confirm
from attnbook.laboratory import assert_replicates, columns, read_runs, where

STORED = """\
# experiment 0123
# torch 2.13.0
seed,design,right,steps
0,one map,51.5,300
0,two maps,100,300
1,one map,72,300
"""


def rows(right=51.5, design="one map", steps=300):
    return [
        {"design": design, "right": right, "steps": steps},
        {"design": "two maps", "right": 100.0, "steps": 300},
    ]


def test_stored_runs_are_columns_of_numbers_and_of_texts():
    runs = columns(STORED)
    assert list(runs) == ["seed", "design", "right", "steps"]
    assert runs["seed"].tolist() == [0, 0, 1] and runs["right"].tolist() == [51.5, 100, 72]
    assert runs["design"].tolist() == ["one map", "two maps", "one map"]
    with pytest.raises(ValueError, match="4 columns"):
        columns(STORED + "2,one map\n")


def test_runs_are_found_by_the_name_of_their_notebook():
    assert {"seed", "design", "mate"} <= {*read_runs("02-values")}
    with pytest.raises(FileNotFoundError, match="replicate lab/02-new"):
        read_runs("02-new")


def test_rows_are_chosen_by_what_stands_in_their_columns():
    runs = columns(STORED)
    assert where(runs, design="one map", seed=1)["right"].tolist() == [72]
    with pytest.raises(ValueError, match="three maps"):
        where(runs, design="three maps")


def test_fresh_runs_agree_up_to_what_the_call_allows(capsys):
    assert_replicates(columns(STORED), {0: rows(right=51.9), 1: rows(right=72.0)[0]}, right=0.5)
    assert "seeds 0, 1 agree" in capsys.readouterr().out
    assert_replicates(columns(STORED), {1: rows(right=72.0)[0]})
    assert "seed 1 agrees" in capsys.readouterr().out
    assert_replicates(columns("seed,right\n0,33.333"), {0: {"right": 100 / 3}})  # it was rounded
    with pytest.raises(ValueError, match="seed"):
        assert_replicates(columns(STORED), {7: rows()}, right=0.5)


@pytest.mark.parametrize(
    ("fresh", "says"),
    [
        (rows(right=52.1), r"seed 0, row 1: right is 52\.1, stored is 51\.5, more than 0\.5 apart"),
        (rows(right=float("nan")), "right is nan"),
        (rows(design="no map"), "seed 0, row 1: design is no map, stored is one map"),
        (rows(steps=301), "steps is 301, stored is 300"),
        (rows()[:1], "seed 0 has 1 rows, but 2 are stored"),
        ([{"right": 51.5}] * 2, r"columns \['right'\], but \['seed', 'design'"),
    ],
)
def test_a_fresh_run_that_differs_names_seed_column_and_both_values(fresh, says):
    with pytest.raises(AssertionError, match=says):
        assert_replicates(columns(STORED), {0: fresh}, right=0.5)


def test_rows_that_are_not_compared_are_left_out_and_no_others():
    stored, elsewhere = columns(STORED), {0: rows(right=3.0)}
    assert_replicates(stored, elsewhere, skip={"design": ["one map"]})
    assert_replicates(stored, {1: rows(72.0)[0]}, skip={"steps": [600]})
    for without in (None, {"design": ["two maps"]}):
        with pytest.raises(AssertionError, match=r"right is 3, stored is 51\.5"):
            assert_replicates(stored, elsewhere, skip=without, right=0.5)
    with pytest.raises(AssertionError, match="seed 0 has 0 rows, but 1 are stored"):
        assert_replicates(stored, {0: rows()[:1]}, skip={"design": ["one map"]})


MANY = "seed,design,right\n0,one map,20\n0,two maps,80\n1,one map,60\n1,two maps,81\n"


def test_rows_that_hang_on_rounding_must_lie_about_where_other_seeds_lie():
    def compare(one, two, **options):
        fresh = {"design": "one map", "right": one}, {"design": "two maps", "right": two}
        assert_replicates(columns(MANY), {0: fresh}, chaotic={"design": ["one map"]}, **options)

    compare(79.9, 80.0, right=1)
    for one in (80.1, -0.1, float("nan")):
        with pytest.raises(AssertionError, match=f"row 1: right is {one:g}, all .* 20 to 60"):
            compare(one, 80.0, right=1)
    compare(85.0, 80.0, right=25)
    with pytest.raises(AssertionError, match=r"row 2: right is 81\.1, stored is 80"):
        compare(58.0, 81.1, right=1)  # the other row is not named
    with pytest.raises(AssertionError, match="row 1: right is 58, stored is 20"):
        compare(58.0, 80.0)  # no column may differ


def test_what_is_equal_is_said_in_one_line(capsys):
    confirm("equal to PyTorch's", torch.ones(2, requires_grad=True), torch.ones(2) + 9e-7)
    assert capsys.readouterr().out == "✓ equal to PyTorch's (to 1e-06)\n"
    confirm("masked alike", [-np.inf, 1.0], torch.tensor([-np.inf, 1.0]), within=1e-3)
    confirm("equal in half precision", torch.ones(2, dtype=torch.bfloat16), np.ones(2))


@pytest.mark.parametrize(
    ("theirs", "says"),
    [
        ([1.0, 2.5], r"not the same: .*0\.5, more than 1e-06"),
        ([1.0, float("nan")], "not the same"),
        ([1.0, float("inf")], "not the same"),
        ([[1.0, 2.0]], r"not the same: .*\(2,\) and \(1, 2\)"),
    ],
)
def test_what_differs_raises_with_the_largest_difference(theirs, says):
    with pytest.raises(AssertionError, match=says):
        confirm("the same", [1.0, 2.0], theirs)
