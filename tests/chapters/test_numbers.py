"""No measured number is typed: what a text says was printed by a cell, here or in the laboratory.

It holds for laboratory notebooks, and for chapters that link to one. See CONTRIBUTING.md.
"""

import re

import nbformat
import pytest
from conftest import ROOT

from attncourse.chapter import in_laboratory, studies

LAB_LINK = re.compile(r"\]\((lab/[\w-]+\.ipynb)")

# what is no measurement: formulas, code, links, questions, and the names of figures and equations
NO_MEASUREMENT = re.compile(
    r"\$\$.*?\$\$|\$[^$]+\$|```.*?```|`[^`]*`|\[[^\]]*\]\([^)]*\)"
    r"|^> \*\*(?:Question|Predict)\.\*\*[^\n]*"
    r"|\b(?:Figures?|Exercises?|Solution|[Ee]quations?|[Ss]ections?) \d+(?:\.\d+)*"
    r"(?:(?:,| and| to) \d+\.\d+)*"
    r"|\([1-9]\d?\.\d+\)",
    re.M | re.S,
)
NUMBER = r"\d+(?:\.\d+)?"
QUANTITY = re.compile(
    rf"{NUMBER}(?:(?:–|, | ?± ?| to | and | or ){NUMBER})*\s?%|(?<![\w.])\d+\.\d+(?!\.?\d)"
)


def measured_numbers(text):
    """The decimals and the percentages of a text."""
    text = NO_MEASUREMENT.sub(" ", text)
    return [n for found in QUANTITY.findall(text) for n in re.findall(NUMBER, found)]


def printed(path):
    """What the cells of a notebook show as text.

    The text of an interactive figure is its description, which was typed.
    """
    shown = []
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" not in data:
                shown += [output.get("text", ""), data.get("text/markdown", "")]
                shown.append(data.get("text/plain", ""))
    return "\n".join(shown)


def sections(notebook):
    """Heading and text of each section before the exercises, the first one without a heading, and
    of what a chapter says of a language model.
    """
    texts = [
        cell.source
        for cell in notebook.cells
        if cell.cell_type == "markdown" and not cell.source.startswith("### Exercise ")
    ]
    before, *behind = re.split(r"^## Exercises$", "\n\n".join(texts), flags=re.M)
    for part in re.split(r"^(?=## )", before, flags=re.M):
        yield part.split("\n")[0], part
    for part in re.split(r"^(?=## )", "".join(behind), flags=re.M):
        if part.startswith("## In a language model"):
            yield part.split("\n")[0], part


def typed_numbers(path):
    """Yield heading and number of all that a text says and no cell has printed."""
    notebook, here = nbformat.read(path, as_version=4), printed(path)
    for heading, text in sections(notebook):
        linked = [printed(path.parent / link) for link in {*LAB_LINK.findall(text)}]
        known = {*re.findall(NUMBER, "\n".join([here, *linked]))}
        yield from ((heading, n) for n in measured_numbers(text) if n not in known)


def in_the_new_form(path):
    return in_laboratory(path) or LAB_LINK.search(path.read_text("utf8"))


@pytest.mark.parametrize(
    "path",
    [path for path in studies(ROOT) if in_the_new_form(path)],
    ids=lambda path: path.stem,
)
def test_every_number_that_a_text_says_was_printed_by_a_cell(path):
    for heading, number in typed_numbers(path):
        pytest.fail(
            f"{path.name}, {heading!r} says {number}, which no cell of it printed, nor one of a "
            "laboratory notebook that the section links to: print it there, or link to where it is",
            pytrace=False,
        )


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("The loss is 0.31, not 12.", ["0.31"]),
        ("right in 72 to 78 % of cases, 5 ± 2 %, 3–4 %", ["72", "78", "5", "2", "3", "4"]),
        ("of 20 seeds 19 solve it", []),
        ("Figure 2.1, Exercise 2.5, equation (2.3), sections 3.2 and 3.4", []),
        ("$0.5$ and $$0.7$$ and `0.9` and [Li et al. 2.5](x-1.5.md)", []),
        ("torch 2.13.0", []),
        ("> **Predict.** What if it is 0.5?\n\nIt is 0.6.", ["0.6"]),
        ("> **Result.** In 0.5 of all.", ["0.5"]),
        ("−0.25 of a colour, (0.75), 1.5.", ["0.25", "0.75", "1.5"]),
    ],
)
def test_decimals_and_percentages_are_measured_numbers(text, numbers):
    assert measured_numbers(text) == numbers


@pytest.fixture
def book(tmp_path):
    """A chapter whose cell prints 0.25, and a laboratory notebook whose cell prints 71 %.

    Each shows an interactive figure, too, whose description says 0.5.
    """
    data = {"text/html": "<attnbook-query></attnbook-query>", "text/plain": "it is 0.5"}
    figure = nbformat.v4.new_output("display_data", data=data)

    def notebook(name, *cells, prints):
        output = nbformat.v4.new_output("stream", name="stdout", text=prints)
        code = nbformat.v4.new_code_cell("x = 0.99", outputs=[output, figure])
        cells = [*map(nbformat.v4.new_markdown_cell, cells), code]
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        return path

    notebook("lab/02-why.ipynb", prints="right 71 %")
    return lambda *texts: notebook("02-maps.ipynb", *texts, prints="loss 0.25")


def test_a_number_may_come_from_the_notebook_or_from_a_linked_laboratory(book):
    link = "[the laboratory](lab/02-why.ipynb#more)"
    assert list(typed_numbers(book(f"# 2\n\n## A\n\n0.25, and 71 % in {link}"))) == []
    assert list(typed_numbers(book(f"# 2\n\n{link}\n\n## A\n\n0.25, 71 %"))) == [("## A", "71")]


def test_a_typed_number_is_found_though_code_or_the_description_of_a_figure_has_it(book):
    chapter = book("# 2 · Why?\n\n0.5", "## A", "0.25 and 0.99", "## Exercises\n\n0.7")
    assert list(typed_numbers(chapter)) == [("# 2 · Why?", "0.5"), ("## A", "0.99")]
