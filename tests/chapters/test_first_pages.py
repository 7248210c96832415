"""The page of what readers need first: its folded answers are right."""

import re

import nbformat
import torch
from conftest import ROOT

FOLDED = re.compile(r"<details>\n<summary>Answer</summary>\n\n(.+?)\n\n</details>", re.S)
FIRST = "chapters/prerequisites.ipynb"


def test_the_folded_answers_are_right():
    """In the answer of each section stands the number that PyTorch computes."""
    cells = nbformat.read(ROOT / FIRST, as_version=4).cells
    page = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    sections = [section.partition("\n") for section in re.split(r"^## ", page, flags=re.M)[1:]]
    answers = {idea: FOLDED.findall(text) for idea, _, text in sections}
    q = torch.tensor([2.0, 1.0])
    assert torch.isclose(q @ (q / q.norm()), torch.tensor(5.0).sqrt())
    shares = [torch.tensor([a, a - 1, a - 2]).softmax(dim=0) for a in (102.0, 2.0)]
    assert torch.allclose(*shares)
    torch.manual_seed(1)
    variance = (torch.randn(100_000, 64).sum(dim=1) / 8).var()
    w = torch.tensor(0.0, requires_grad=True)
    ((w - 3) ** 2).backward()
    x = torch.ones(32, 10, 64)
    right = {
        "Vectors and the dot product": r"\sqrt{5}",
        "The matrix product": f"{tuple((torch.ones(6, 768) @ torch.ones(768, 64)).shape)}",
        "Softmax": "2, 1 and 0",
        "Mean and variance": f"{variance:.0f}",
        "Gradient descent": f"{w.detach() - 1.5 * w.grad:g}",
        "Batches and shapes": f"{tuple((x @ x.mT).shape)}",
    }
    assert [*right] == [*answers], f"{FIRST} has other sections: give the answer of each here"
    for idea, number in right.items():
        assert len(answers[idea]) == 1, f"{FIRST}, {idea!r}: needs one folded answer"
        assert number in answers[idea][0], f"{FIRST}, {idea!r}: the answer is {number}"
