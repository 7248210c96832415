"""Rules for chapters: their parts, what they claim, and where else the book speaks of them."""

import itertools
import re
from collections.abc import Iterator

from attncourse.chapter import opening, tags
from attncourse.rules.book import Notebook

LAST = ["Exercises", "What we measured", "Where this comes from"]


def stands_in_the_contents(notebook: Notebook) -> Iterator[str]:
    """The table of contents is the order of the book, and numbers the pages of the laboratory."""
    listed = notebook.book.listed
    if notebook.path not in listed:
        where = "below its chapter, under `sections:`" if notebook.in_laboratory else "in its part"
        yield f"list it {where}, as `- file: {notebook.name.removesuffix('.ipynb')}`"
    elif notebook.in_laboratory:
        before = listed[listed.index(notebook.path) - 1]  # its chapter, or another one of these
        if before.stem[:2] != notebook.path.stem[:2]:
            yield f"list it below chapter {notebook.number}, not after {before.stem}"


def begins_with_its_question(notebook: Notebook) -> Iterator[str]:
    """It says what it answers, then shows it, then says what a reader needs and will get."""
    if not re.match(rf"# {notebook.number} · .+\?\n", notebook.first):
        yield f"the first cell begins with the chapter's question, `# {notebook.number} · …?`"
    if "\n> **Question.**" not in notebook.first:
        yield "the first cell needs a line that begins with `> **Question.**`"
    for line in ("**Time:**", "**You need first:**", "**Afterwards"):
        if f"\n{line}" not in opening(notebook.node):
            yield f"before its first section it needs a line that begins with `{line}`"
    if not notebook.node.metadata.get("measures"):
        yield (
            'the notebook\'s metadata need `"measures": "…"`, what a reader will measure in it, '
            "for the list on the landing page"
        )


def shows_before_it_says(notebook: Notebook) -> Iterator[str]:
    """Each section of the front chapter begins with a figure and leads to its chapter."""
    if not re.match(r"# \D+\n", notebook.first):
        yield "the first cell begins with a title without a number, `# …`"
    starts = [i for i, cell in enumerate(notebook.cells) if cell.source.startswith("## ")]
    for start, end in itertools.pairwise(starts):  # the last one sums up
        heading, *cells = notebook.cells[start:end]
        title = heading.source.split("\n")[0]
        if not cells or "hide-input" not in tags(cells[0]):
            yield f"{title!r} needs a figure right below: a cell of code tagged hide-input"
        if not re.search(r"\]\(\d\d-[\w-]+\.ipynb", (cells or [heading])[-1].source):
            yield f"{title!r} must end with a link to the chapter that proves it"


def numbers_its_equations(notebook: Notebook) -> Iterator[str]:
    """Equations are numbered in their order, and a reference names one that is there."""
    text = notebook.prose
    numbers = re.findall(r"\\tag\{([\d.]+)\}", text)
    expected = [f"{notebook.number}.{i + 1}" for i in range(len(numbers))]
    if numbers != expected:
        yield f"its equations are numbered {numbers}, and must be {expected}"
    for reference in re.findall(rf"\(({notebook.number}\.\d+)\)", text):
        if reference not in numbers:
            yield f"the text refers to equation ({reference}), which is not there"


def asks_before_it_answers(notebook: Notebook) -> Iterator[str]:
    """The buttons of a prediction come after its question, and before what answers it."""
    asked = False
    for above, cell in itertools.pairwise(notebook.cells):
        if "predict" in tags(cell):
            asked = True
            if not {"hide-input", "nbval-ignore-output"} <= {*tags(cell)}:
                yield f"cell {cell.id}: buttons have the tags hide-input and nbval-ignore-output"
            if not above.source.split("\n\n")[-1].startswith(("> **Predict.** ", "- **A** ")):
                yield (
                    f"cell {cell.id}: the text above its buttons ends with the question, "
                    "`> **Predict.** …`, or with the options, `- **A** …`"
                )
        if "answer" in tags(cell) and not asked:
            yield f"cell {cell.id}: the tag answer needs a prediction above it"
        behind_the_veil = re.split(r"^##+ ", cell.source, flags=re.M)[0]
        hides = "answer" in tags(above) and cell.cell_type == "markdown"
        if hides and "**Predict.**" in behind_the_veil:
            yield (
                f"cell {cell.id}: it hides a question together with the answer above, so use a "
                "new cell"
            )


def ends_with_its_sums_and_sources(notebook: Notebook) -> Iterator[str]:
    """The last sections are the same everywhere, so that readers find them."""
    last = [title for title in notebook.headings if title != "In a language model"][-3:]
    if last != LAST:
        yield f"its last sections are {last}; they must be {LAST}, besides 'In a language model'"
    if not re.search(r"\]\(https://arxiv\.org/abs/", notebook.prose.split("## ")[-1]):
        yield "its last section links to a paper, as in [words](https://arxiv.org/abs/1706.03762)"


def proves_what_the_ledger_claims(notebook: Notebook) -> Iterator[str]:
    """Each claim of the chapter is asserted by a cell, there or in its laboratory."""
    here = [id for id, claim in notebook.book.claims.items() if claim["chapter"] == notebook.number]
    tagged = {tag for other in notebook.family for cell in other.code for tag in tags(cell)}
    for id in here:
        if f"claim-{id}" not in tagged:
            yield (
                f"{id} belongs to chapter {notebook.number}, but no cell of this chapter or of its "
                f"laboratory has the tag claim-{id}"
            )


def asserts_what_it_proves(notebook: Notebook) -> Iterator[str]:
    """A cell with the tag of a claim would fail if the claim were wrong."""
    for cell in notebook.code:
        for tag in tags(cell):
            id = tag.removeprefix("claim-")
            if id != tag and id not in notebook.book.claims:
                yield f"cell {cell.id}: the ledger, chapters/claims.toml, has no claim {id}"
            elif id != tag and not re.search(r"^(assert |confirm\()", cell.source, re.M):
                yield f"cell {cell.id}: it proves {id}, so it needs an `assert` or a `confirm(…)`"


def is_in_the_glossary(notebook: Notebook) -> Iterator[str]:
    """Readers look terms up, and are led to the section that explains them."""
    if f"]({notebook.path.name}#" not in notebook.book.text("chapters/glossary.md"):
        yield (
            "no term leads to the chapter: add those that it explains, as in `**term**. What it "
            f"is. [{notebook.number} · Heading]({notebook.path.name}#heading)`"
        )


def is_taught(notebook: Notebook) -> Iterator[str]:
    """The plan of six weeks visits every chapter, and assigns its last exercise, in words.

    Proofs are for whoever likes them.
    """
    plans = notebook.book.plans
    if notebook.number not in {each.get("chapter") for each in plans["six_weeks"]["session"]}:
        yield f"a [[six_weeks.session]] must take chapter {notebook.number}"
    assigned = {id for each in plans["homework"] for id in each["exercises"]}
    for other in notebook.family:
        for id in other.model_answers.keys() - assigned - {*other.proofs}:
            yield f"a [[homework]] must assign exercise {id}, which is answered in words"
