"""A notebook that is run stores what it shows, small and to be seen everywhere."""

import base64
import io
import subprocess
import sys

import browser
import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image

from attnbook import laboratory
from attncourse import UsageError, chromium
from attncourse.run import HASH, PNG, SVG, add_pictures, fold, pictures, run

DRAWING = """from attnbook.figures import drawings
import torch
drawings.matrix(torch.eye({rows}), name="eye")"""


def stored(notebook):
    return notebook.cells[0].outputs[0].data


def test_a_drawing_is_stored_with_a_picture_of_its_size(tmp_path):
    browser.skip_without()
    path = tmp_path / "drawing.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(DRAWING.format(rows=3))]), path)
    # in a process of its own: this one may have a browser open, which starts no other
    subprocess.run([sys.executable, "-m", "attncourse", "run", str(path)], check=True)
    first = stored(nbformat.read(path, as_version=4))
    with Image.open(io.BytesIO(base64.b64decode(first[PNG]))) as picture:
        pixels = np.asarray(picture.convert("L"))
    height = float(first[SVG].split('height="')[1].split('"')[0])
    assert abs(pixels.shape[0] - 1.5 * height) <= 2
    assert pixels.max() == 255 and pixels.min() < 100, "dark on white"
    ((_, output, current),) = pictures(nbformat.read(path, as_version=4))
    assert output.metadata == {HASH: current}


def test_what_was_edited_while_a_notebook_ran_is_not_lost(tmp_path):
    path = tmp_path / "edited.ipynb"
    edit = f"open({str(path)!r}, 'a').write(' ')"
    nbformat.write(new_notebook(cells=[new_code_cell(edit)]), path)
    with pytest.raises(UsageError, match=r"edited\.ipynb was edited while it ran"):
        run(path)
    assert path.read_text().endswith(" ")
    assert nbformat.read(path, as_version=4).cells[0].execution_count is None


SETUP, ABOVE, ANSWER, PLOT = "%pip install", 'runs = read_runs("01-a")', "x = ...", "draw(runs)"
SHOWN = {PNG: "picture"}, {"text/html": "<attnbook-token>"}, {"text/plain": "no picture"}


def hashes(setup=SETUP, above=ABOVE, answer=ANSWER, plot=PLOT, runs="seed,right\n0,1\n"):
    """The hashes of two figures, each the only output of a cell."""
    (laboratory.STORED_RUNS / "01-a.csv").write_text(runs)
    cells = [
        new_code_cell(setup, metadata={"tags": ["setup"]}),
        new_code_cell(above),
        new_code_cell(answer, metadata={"tags": ["exercise"]}),
        *(new_code_cell(plot, outputs=[new_output("display_data", data=d)]) for d in SHOWN),
    ]
    return [current for _, _, current in pictures(new_notebook(cells=cells))]


def test_a_hash_changes_with_the_code_and_the_runs_that_make_its_picture(tmp_path, monkeypatch):
    monkeypatch.setattr(laboratory, "STORED_RUNS", tmp_path)
    first, second = hashes()
    assert first != second  # the cell of the first stands above the second
    for other in (
        {"setup": "%pip install attnbook"},
        {"answer": "x = 1"},
        {"above": f"# all of them\n{ABOVE}"},
        {"plot": "draw(\n    runs,\n)"},
        {"runs": "# torch 3\nseed,right\n0,1.0\n"},
    ):
        assert hashes(**other) == [first, second], other
    for other in ({"above": f"{ABOVE}; x = 1"}, {"plot": "plot(runs)"}, {"runs": "seed,r\n0,1\n"}):
        assert not {*hashes(**other)} & {first, second}, other


@pytest.mark.parametrize(
    ("tags", "data", "source", "label"),
    [
        (["hide-input"], {SVG: "<svg/>"}, "draw()", "# drawing"),
        (["hide-input"], {"text/markdown": "| a |"}, "table()", "# table"),
        (["hide-input"], {"text/plain": "1"}, "1", "# output"),
        (["hide-input"], None, "from x import y", "# imports"),
        (["hide-input"], None, "x = 1", "# code"),
        (["hide-input", "verify"], {"text/plain": "1"}, "1", "# check"),
        (["hide-input", "predict"], {"text/html": "x"}, "ask()", "# prediction"),
        (["hide-input", "answer"], {SVG: "<svg/>"}, "draw()", "# answer"),
    ],
)
def test_a_folded_cell_says_in_its_first_line_what_it_is_and_only_once(tags, data, source, label):
    outputs = [new_output("display_data", data=data)] if data else []
    words = {"image": {"alt": "A plot."}}
    cell = new_code_cell(source, outputs=outputs, metadata={"tags": tags, "mystnb": words})
    notebook = new_notebook(cells=[cell])
    for _ in range(2):
        fold(notebook)
        assert cell.source == f"{label}\n{source}"
    assert cell.metadata.mystnb == words and cell.metadata.cellView == "form"
    hidden = {"source_hidden": True} | ({"outputs_hidden": True} if "answer" in tags else {})
    assert cell.metadata.jupyter == hidden


def test_code_in_the_open_and_that_of_stored_runs_is_left_as_it_is():
    for tags in ([], ["experiment"], ["hide-input", "experiment"], ["exercise"]):
        cell = new_code_cell("x = 1", metadata={"tags": tags})
        fold(new_notebook(cells=[cell]))
        assert cell.source == "x = 1"


def test_a_picture_is_drawn_anew_only_if_its_drawing_has_changed(monkeypatch):
    monkeypatch.setattr(chromium, "CHROMIUM", None)
    output = new_output("display_data", data={SVG: "<svg/>"})
    notebook = new_notebook(cells=[new_code_cell(outputs=[output])])
    with pytest.raises(UsageError, match="Chromium is needed to store 1 drawings"):
        add_pictures(notebook, {"<svg></svg>": "another"})
    add_pictures(notebook, {"<svg/>": "kept"})
    assert stored(notebook)[PNG] == "kept"
