"""What readers make of their answers to exercises: the lines that no test of notebooks runs."""

import re

import nbformat
import torch
from conftest import ROOT
from torch.nn.utils.rnn import pad_sequence

from attnbook import gpt
from attnbook.data import Multi30k

COLOURS = ("black", "white", "brown", "large", "small", "young")


def test_the_model_of_ones_own_trains_on_captions_and_writes(monkeypatch, capsys):
    cells = nbformat.read(ROOT / "chapters/your-own-gpt.ipynb", as_version=4).cells
    text = "\n".join(cell.source for cell in cells)
    [lines] = re.findall("```python\n(import random.*?)```", text, re.S)
    captions = [(f"a {colour} dog chases the ball", "") for colour in COLOURS]
    monkeypatch.setattr(Multi30k, "texts", lambda self, part: captions * 200)
    given = vars(gpt) | {"parts": {}, "device": "cpu", "batch": None}
    given["pad_sequence"] = pad_sequence
    [train] = (cell.source for cell in cells if cell.source.startswith("def train("))
    exec(train, given)
    torch.manual_seed(0)
    exec(lines.replace("learn(seen, 2000)", "learn(seen, 40)").replace("=2000,", "=20,"), given)
    loss, *written = capsys.readouterr().out.splitlines()
    assert float(re.search(r"captions: (.*)", loss)[1]) < 2
    assert [line.split(" → ")[0] for line in written] == [
        "a man",
        "two dogs",
        "a woman in a red dress",
    ]
