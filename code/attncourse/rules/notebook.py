"""Rules for every notebook: what it is made of, how its text is written, and that it was run.

Each rule is a function that yields what a notebook lacks, in sentences that say what it demands.
"""

import itertools
import json
import re
from collections.abc import Iterator

import nbformat

from attncourse.address import setup_cell
from attncourse.chapter import tags
from attncourse.rules.book import Notebook
from attncourse.run import HASH, PNG, SVG, TO_FOLD, hidden, labelled, pictures

MOST_BYTES = 1_000_000
LONGEST_LINE = 80
NOT_PLAIN = {  # what must not stand in the text, and why
    r"!\[": "an image must be the output of a cell, or it is missing on Colab",
    r"\]\(#": "a link to a heading needs its file, as in [words](03-scaling.ipynb#measure-it)",
    r"\\(?:begin|label|eqref)\b": "\\begin, \\label and \\eqref are not shown alike everywhere",
    r"\\\\[a-zA-Z,;]": "TeX reads a doubled backslash as a new line, and its command as letters",
    r"<(?!/?(?:details|summary)\b)/?[a-z]+[^>]*>": "only <details> and <summary> are allowed",
}
MYST = re.compile(r"^\s*(?::::|```\{)|(?<!`)\{[a-z:]+\}`", re.M)


def exists(notebook: Notebook) -> Iterator[str]:
    """There is such a file, a valid notebook that is small enough to be loaded quickly."""
    if not notebook.path.exists():
        yield "write the notebook; the lines below say what it must have"
        return
    try:
        nbformat.validate(notebook.node)
    except nbformat.ValidationError as error:
        yield f"it is not a valid notebook: {error}"
    if (size := notebook.path.stat().st_size) >= MOST_BYTES:
        yield f"it has {size:,} bytes and may have {MOST_BYTES:,}, so show less in its outputs"


def has_ids_of_its_own(notebook: Notebook) -> Iterator[str]:
    """Cell ids tell cells apart in the whole book, by the name of their notebook."""
    name = notebook.path.stem
    if notebook.is_study:
        start = f"lab{name}-" if notebook.in_laboratory else f"{name[:2]}-"
        wrong = [cell.id for cell in notebook.cells if not cell.id.startswith(start)]
        if wrong:
            yield f"cell ids must begin with {start}, and these do not: {', '.join(wrong)}"
    others = [other for other in notebook.book.notebooks.values() if other is not notebook]
    taken = {cell.id for other in others for cell in other.cells}
    if both := taken & {cell.id for cell in notebook.cells}:
        yield f"another notebook has these cell ids, too: {', '.join(sorted(both))}"


def has_the_setup_cell(notebook: Notebook) -> Iterator[str]:
    """The first cell of code installs the package on Colab, and is the same everywhere."""
    expected = setup_cell(notebook.book.root, notebook.path)
    setups = [cell for cell in notebook.code if "setup" in tags(cell)]
    first = notebook.code[:1]
    if setups != first or not first or first[0].source != expected or first[0].outputs:
        same = [
            other.path.name
            for other in notebook.book.notebooks.values()
            if other is not notebook and setup_cell(notebook.book.root, other.path) == expected
        ]
        yield f"the first cell of code, and no other, is the setup cell: copy it from {same[0]}"
    elif tags(first[0]) != ["setup", "remove-cell"]:
        yield f"the setup cell has the tags setup and remove-cell, not {tags(first[0])}"


def is_plain(notebook: Notebook) -> Iterator[str]:
    """Plain Markdown reads well on the page, on Colab, in JupyterLab and on GitHub."""
    text = re.sub(r"<!--.*?-->", "", notebook.prose, flags=re.S)
    if found := MYST.search(notebook.text):
        yield f"the text has {found[0].strip()!r}, but MyST is understood only on the page"
    for pattern, why in NOT_PLAIN.items():
        if found := re.search(pattern, text, re.M):
            yield f"the text has {found[0].strip()!r}, but {why}"
    if text.count("$$") % 2:
        yield "the text has $$ an odd number of times, so a formula is not closed"


def was_run(notebook: Notebook) -> Iterator[str]:
    """Its cells were run in their order, all at once, and they store what they show."""
    counts = [cell.execution_count for cell in notebook.code]
    if not counts or counts != [*range(1, len(counts) + 1)]:
        yield f"run it, and its outputs are stored: python -m attncourse run {notebook.name}"


def was_run_by_the_command(notebook: Notebook) -> Iterator[str]:
    """``python -m attncourse run`` also hides code, and drops what would differ each time."""
    wrong = [cell.id for cell in notebook.code if not _is_as_run_leaves_it(cell)]
    if notebook.node.metadata.get("language_info") != {"name": "python"}:
        wrong.insert(0, "its metadata")
    if wrong:
        yield (
            f"python -m attncourse run {notebook.name} hides code in JupyterLab and on Colab "
            "behind its first line, a word such as `# drawing`, stores a PNG of each drawing and "
            f"no times. It is yet to do so in {', '.join(wrong)}"
        )


def _is_as_run_leaves_it(cell: dict) -> bool:
    folded = TO_FOLD & {*tags(cell)}
    metadata = (hidden(cell), "form") if folded else (None, None)
    kinds = [output.get("data", {}) for output in cell.outputs]
    return (
        (cell.metadata.get("jupyter"), cell.metadata.get("cellView")) == metadata
        and (not folded or cell.source == labelled(cell))
        and "execution" not in cell.metadata
        and all(PNG in data for data in kinds if SVG in data)
    )


def shows_no_error(notebook: Notebook) -> Iterator[str]:
    """What readers see is neither an error nor a warning, and is the same in every run."""
    for cell in notebook.code:
        for output in cell.outputs:
            if output.output_type == "error" or output.get("name") == "stderr":
                yield f"cell {cell.id}: it ends with an error or prints a warning, so correct it"
            if " at 0x" in json.dumps(output):
                yield f"cell {cell.id}: it prints an address in memory, which differs every time"
            figure = "<attnbook-" in output.get("data", {}).get("text/html", "")
            if figure and "nbval-ignore-output" not in tags(cell):
                yield (
                    f"cell {cell.id}: an interactive figure is stored without its script, so no "
                    "test can compare it, and the cell has the tag nbval-ignore-output"
                )


def has_pictures_of_its_code(notebook: Notebook) -> Iterator[str]:
    """No test compares pictures, so each has a hash of the code that made it."""
    try:
        found = [*pictures(notebook.node)]
    except (SyntaxError, FileNotFoundError) as error:
        yield f"its code can't be read, or reads runs that are not stored: {error}"
        return
    stale = [cell.id for cell, output, now in found if output.metadata.get(HASH) != now]
    if stale:
        others = f", as are {len(stale) - 1} pictures below it" if stale[1:] else ""
        yield (
            f"the picture of the cell {stale[0]} is older than its code, the code above it or the "
            f"stored runs{others}. This makes them again: python -m attncourse run {notebook.name}"
        )


def has_short_lines(notebook: Notebook) -> Iterator[str]:
    """Code that readers see fits the page, also on a narrow screen."""
    for cell in notebook.code:
        longest = max(map(len, cell.source.split("\n")))
        seen = not {"setup", "hide-input"} & {*tags(cell)}
        if seen and longest > LONGEST_LINE:
            yield f"cell {cell.id}: a line has {longest} characters and may have {LONGEST_LINE}"


def has_figures(notebook: Notebook) -> Iterator[str]:
    """A figure has a text for those who can't see it, and a caption with the next number.

    The symptoms of code that is to be mended, and a figure to read, have the text of their exercise
    as their caption. An interactive figure may have a number, too.
    """
    if not notebook.is_study:
        return  # other pages have figures as they like
    number = 0
    unnumbered = notebook.in_laboratory or notebook.is_front
    chapter = "" if unnumbered else f"{notebook.number}."
    for cell, following in itertools.pairwise(notebook.cells):
        shown = [{*output.get("data", {})} & {PNG, SVG} for output in cell.get("outputs", [])]
        pictures = [*filter(None, shown)]
        live = [output.get("data", {}).get("text/html", "") for output in cell.get("outputs", [])]
        numbered = "<attnbook-" in "".join(live) and following.source.startswith("*Figure ")
        if not pictures and not numbered:
            continue
        captioned = not {"symptoms", "to-read"} & {*tags(cell)}
        number += captioned
        if len(pictures) > 1:
            yield f"cell {cell.id}: it shows {len(pictures)} pictures, but a cell may show only one"
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
        if pictures and (len(alt) <= 80 or "\n" in alt):  # an interactive one brings its own
            yield (
                f"cell {cell.id}: its metadata need a text for those who can't see the picture, "
                'one line of more than 80 characters: "mystnb": {"image": {"alt": "…"}}'
            )
        caption = f"*Figure {chapter}{number}. "
        if captioned and not following.source.startswith(caption):
            yield f"cell {cell.id}: the text below begins with its caption, `{caption}…*`"
        if "hide-input" not in tags(cell):
            yield f"cell {cell.id}: code that draws a figure has the tag hide-input"
    if not number:
        yield "it needs a figure, so draw the mechanism or the result"
