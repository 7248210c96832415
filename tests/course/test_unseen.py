"""Seeds that nobody has looked at are compared with the stored runs and must keep the promises."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from attnbook.laboratory import columns
from attncourse.chapter import stored_runs
from attncourse.replicate import replicate
from attncourse.unseen import unseen

EXPERIMENT = """\
def experiment(seed):
    right = 90 + seed % 4 if seed < 4 else {right}
    sizes = {{8: 0, 16: 6}}  # what the larger size gains is more than seeds differ by
    return [
        {{"design": d, "size": size, "right": right + gain}}
        for d in ("one", "two")
        for size, gain in sizes.items()
    ]
"""
HARDLY = 'assert (runs["right"] > 85).all(), "it hardly learns"\nshown = 1'
PROMISE = """\
from attnbook.laboratory import read_runs
runs = read_runs("01-which")
assert (runs["right"] >= 90).all()
"""


def lab(folder, right):
    path = folder / "chapters/lab/01-which.ipynb"
    for parent in (path.parent, stored_runs(path).parent):
        parent.mkdir(parents=True, exist_ok=True)
    tagged = new_code_cell(
        EXPERIMENT.format(right=right), metadata={"tags": ["experiment"]}, id="what"
    )
    cells = [
        new_markdown_cell("# Lab 1 · Which?"),
        tagged,
        new_code_cell(PROMISE, id="promise"),
        new_code_cell(
            'assert (runs["right"] > 85).all(), "it hardly learns"\nshown = 1', id="more"
        ),
        new_code_cell("shown + 1", id="shown"),
        new_code_cell("fresh = {0: experiment(0)}\n1 / 0"),
    ]
    nbformat.write(new_notebook(cells=cells), path)
    replicate(path, 4, workers=1)
    return path


def test_the_seeds_that_follow_are_stored_in_a_folder_of_their_own(tmp_path):
    path = lab(tmp_path, right=92)
    before = stored_runs(path).read_text()
    found = unseen(path, 2, workers=1)
    new = columns((stored_runs(path).parent / "unseen/01-which.csv").read_text())
    assert new["seed"].tolist() == [4] * 4 + [5] * 4 and stored_runs(path).read_text() == before
    assert (found.values, found.outside, found.failed) == (8, 0, [])
    assert found.expected == pytest.approx(8 * 2 / 5)


def test_each_size_is_compared_with_its_own_runs(tmp_path):
    # 95 and 101 lie between the two sizes' runs and above both, so beyond the range of each
    assert unseen(lab(tmp_path, right=95), 2, workers=1).outside == 8


def test_what_lies_outside_and_what_no_longer_holds_is_said(tmp_path):
    found = unseen(lab(tmp_path, right=80), 2, workers=1)
    assert found.outside == 8
    assert found.failed == [
        'promise: assert (runs["right"] >= 90).all()',
        "more: it hardly learns",
        "shown was not tried: name 'shown' is not defined",
    ]
