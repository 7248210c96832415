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

from attncourse import run as module
from attncourse.run import PNG, SVG, add_pictures, fold

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


def test_a_folded_solution_keeps_the_words_for_its_picture():
    words = {"image": {"alt": "A plot."}}
    cell = new_code_cell("plot()", metadata={"tags": ["solution"], "mystnb": words})
    fold(new_notebook(cells=[cell]))
    assert cell.metadata.mystnb["image"] == {"alt": "A plot."}
    assert cell.metadata.mystnb["code_prompt_show"] == "Show the solution"
    assert cell.metadata.cellView == "form" and cell.metadata.jupyter == {"source_hidden": True}


def test_a_picture_is_drawn_anew_only_if_its_drawing_has_changed(monkeypatch):
    monkeypatch.setattr(module, "CHROMIUM", None)
    output = new_output("display_data", data={SVG: "<svg/>"})
    notebook = new_notebook(cells=[new_code_cell(outputs=[output])])
    with pytest.raises(RuntimeError, match="Chromium is needed to store 1 drawings"):
        add_pictures(notebook, {"<svg></svg>": "another"})
    add_pictures(notebook, {"<svg/>": "kept"})
    assert stored(notebook)[PNG] == "kept"
