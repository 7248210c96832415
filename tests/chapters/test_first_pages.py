"""The page that the book opens with, and the page of what its readers need first."""

import re

import nbformat
import pytest
import torch
from conftest import ROOT

from attncourse.chapter import TITLE, chapters

FOLDED = re.compile(r"<details>\n<summary>Answer</summary>\n\n(.+?)\n\n</details>", re.S)
FIRST, INDEX = "chapters/prerequisites.ipynb", "chapters/index.ipynb"


def read(name):
    return nbformat.read(ROOT / name, as_version=4).cells


def text(cells):
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def ideas():
    """The cells of each section of the page of what readers need first, by its heading.

    A text cell may end one section and begin the next.
    """
    found, heading = {}, ""
    for cell in read(FIRST):
        if cell.cell_type == "code":
            found[heading].append(cell)
            continue
        for part in re.split(r"^(?=## )", cell.source, flags=re.M):
            if part.startswith("## "):
                heading = part.split("\n")[0].removeprefix("## ")
                found[heading] = []
            if heading:
                found[heading].append(nbformat.v4.new_markdown_cell(part))
    return found


IDEAS = ideas()


@pytest.mark.parametrize("idea", IDEAS)
def test_an_idea_has_a_picture_a_little_code_and_a_question(idea):
    cells = IDEAS[idea]
    code = [cell for cell in cells if cell.cell_type == "code"]
    code = [cell for cell in code if "setup" not in cell.metadata.get("tags", [])]
    assert len(code) == 2, f"{FIRST}, {idea!r}: needs two cells, a figure and code to read"
    figure, shown = code
    assert figure.metadata.tags == ["hide-input"]
    number = [*IDEAS].index(idea) + 1
    caption = cells[cells.index(figure) + 1].source
    assert caption.startswith(f"*Figure {number}. "), f"{FIRST}: caption of figure {number}"
    assert len(shown.source.split("\n")) <= 3 and shown.outputs
    assert len(FOLDED.findall(text(cells))) == 1, f"{FIRST}, {idea!r}: needs one folded answer"


def test_the_folded_answers_are_right():
    """In each answer stands the number that PyTorch computes."""
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
        "Softmax": "2, 1, 0",
        "Mean and variance": f"{variance:.0f}",
        "Gradient descent": f"{w.detach() - 1.5 * w.grad:g}",
        "Batches and shapes": f"{tuple((x @ x.mT).shape)}",
    }
    assert [*right] == [*IDEAS], f"{FIRST} has other sections: give the answer of each here"
    for idea, number in right.items():
        answer = FOLDED.search(text(IDEAS[idea]))[1]
        assert number in answer, f"{FIRST}, {idea!r}: the answer is {number}"


def test_the_first_page_lists_every_chapter_by_its_question():
    rows = re.findall(r"^\| (\d+) \| \[(.+?)\]\((.+?)\) \|", text(read(INDEX)), re.M)
    titles = []
    for path in chapters(ROOT):
        title = TITLE.match(nbformat.read(path, as_version=4).cells[0].source)
        titles.append((title["number"], title["question"], path.name))
    assert rows == titles, f"the table of {INDEX} and the titles of the chapters differ"


def test_the_first_cell_has_three_doors_each_with_where_to_go_and_how_long():
    doors = re.findall(r"^- \*\*\w+\.\*\* (.+)$", read(INDEX)[0].source, re.M)
    places = ("01-", "index.ipynb#", "teaching.md")
    assert len(doors) == len(places), f"{INDEX}: the first cell lists doors to {places}"
    for door, place in zip(doors, places, strict=True):
        assert f"]({place}" in door, f"{INDEX}: this door has to lead to {place}: {door}"
        assert re.search(r"\b(hour|minute)", door), f"{INDEX}: say how long it takes: {door}"
