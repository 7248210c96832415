"""The page that the book opens with, and the page of what its readers need first."""

import re

import nbformat
import pytest
import torch
from conftest import ROOT

from attnbook.exercises import catalogue
from attncourse.chapter import TITLE, chapters
from attncourse.pages.questions import asked

FOLDED = re.compile(r"<details>\n<summary>Answer</summary>\n\n(.+?)\n\n</details>", re.S)


def read(name):
    return nbformat.read(ROOT / f"chapters/{name}.ipynb", as_version=4).cells


def text(cells):
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def ideas():
    """The cells of each section of the page of what readers need first, by its heading.

    A text cell may end one section and begin the next.
    """
    found, heading = {}, ""
    for cell in read("prerequisites"):
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
def test_an_idea_has_a_picture_a_little_code_a_question_and_where_it_is_used(idea):
    cells = IDEAS[idea]
    code = [cell for cell in cells if cell.cell_type == "code"]
    code = [cell for cell in code if "setup" not in cell.metadata.get("tags", [])]
    figure, shown = code
    assert figure.metadata.tags == ["hide-input"]
    assert len(figure.metadata.mystnb.image.alt) > 80
    number = [*IDEAS].index(idea) + 1
    assert cells[cells.index(figure) + 1].source.startswith(f"*Figure {number}. ")
    assert len(shown.source.split("\n")) <= 3
    assert shown.outputs
    said = text(cells)
    assert said.count("**Check yourself.**") == len(FOLDED.findall(said)) == 1
    used = said.split("</details>")[1].strip()
    assert re.match(r"Used (in chapters \[\d|wherever|in every chapter)", used)


def test_the_page_of_what_one_needs_first_is_short():
    prose = re.sub(r"\]\([^)]*\)|\$\$.*?\$\$|</?\w+>", "", text(read("prerequisites")), flags=re.S)
    assert len(prose.split()) <= 900
    assert len(IDEAS) == 6


def answer(idea):
    return FOLDED.search(text(IDEAS[idea]))[1]


def test_the_folded_answers_are_right():
    q = torch.tensor([2.0, 1.0])
    assert r"\sqrt{5}" in answer("Vectors and the dot product")
    assert torch.isclose(q @ (q / q.norm()), torch.tensor(5.0).sqrt())

    shape = tuple((torch.ones(6, 768) @ torch.ones(768, 64)).shape)
    assert answer("The matrix product").startswith(f"{shape}.")

    assert "The same as 2, 1, 0" in answer("Softmax")
    shares = [torch.tensor([a, a - 1, a - 2]).softmax(dim=0) for a in (102.0, 2.0)]
    assert torch.allclose(*shares)

    torch.manual_seed(1)
    variance = (torch.randn(100_000, 64).sum(dim=1) / 8).var()
    assert answer("Mean and variance").startswith(f"{variance:.0f}:")

    w = torch.tensor(0.0, requires_grad=True)
    ((w - 3) ** 2).backward()
    assert f"From 0 to {w.detach() - 1.5 * w.grad:g}:" in answer("Gradient descent")

    x = torch.ones(32, 10, 64)
    assert answer("Batches and shapes").startswith(f"{tuple((x @ x.mT).shape)}:")


def test_the_first_page_lists_every_chapter_by_its_question():
    rows = re.findall(r"^\| (\d+) \| \[(.+?)\]\((.+?)\) \|", text(read("index")), re.M)
    titles = []
    for path in chapters(ROOT):
        title = TITLE.match(read(path.stem)[0].source)
        titles.append((title["number"], title["question"], path.name))
    assert rows == titles


def test_the_first_cell_has_three_doors_each_with_where_to_go_and_how_long():
    doors = re.findall(r"^- \*\*(\w+)\.\*\* (.+)$", read("index")[0].source, re.M)
    assert [name for name, _ in doors] == ["Read", "Run", "Teach"]
    places = ("01-", "index.ipynb#take-it-with-you", "teaching.md")
    for (_, door), place in zip(doors, places, strict=True):
        assert f"]({place}" in door
        assert re.search("hour|minute", door)
    assert "](prerequisites.ipynb)" in doors[0][1]


def test_the_first_page_promises_what_is_there():
    said = text(read("index"))
    minutes = [
        int(re.search(r"\*\*Time:\*\* (\d+) minutes", read(path.stem)[0].source)[1])
        for path in chapters(ROOT)
    ]
    assert "Most chapters take half an hour to three quarters of one." in said
    assert sum(25 <= m <= 50 for m in minutes) > 0.8 * len(minutes)
    assert "forty that people ask" in said
    assert 38 <= len(asked(ROOT / "chapters")) <= 45
    assert "About a hundred exercises" in said
    assert 85 <= len([*catalogue()]) <= 115
    teaching = (ROOT / "chapters/teaching.md").read_text("utf8")
    assert "15 minutes to read" in said and "Its text takes a quarter of an hour" in teaching
