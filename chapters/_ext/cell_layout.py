"""A Sphinx extension: how the cells of a chapter are laid out on its page.

It changes the document between myst-nb, which folds code, and the writing of HTML, in this order:

1. What a chapter takes and needs becomes one line, which unfolds. With it go the imports. A
   question, a short answer and notes are marked, so that the styles tell them apart.
2. No line ends within short code, a token such as -seven, a number with its spread, or before %.
3. In each cell, the output comes first, then its caption, and the code last, behind a small switch.
   Figures that need more room than the text are marked. In a table of results, columns of numbers
   are marked as such.
"""

import re
from itertools import takewhile
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

_FACT = re.compile(r"(Time:|You need first:|Afterwards you can)")
_TIME = re.compile(r"(\d+ minutes).*?; (\d+ exercises?)")
_KINDS = {
    "Question.": "question",
    "Short answer.": "answer",
    "Predict.": "predict",
    "Note.": "note",
}
_FIGURE = re.compile(r"<attnbook-([\w-]+) ")
WIDE = {
    "all-heads",
    "asking",
    "beam",
    "break-translator",
    "decoding",
    "heads",
    "lessons",
    "roles",
    "scale",
    "shapes",
    "stack",
    "token",
    "transformer",
    "two-translators",
    "waves",
}
WIDEST_IN_TEXT = 710  # pixels of a file, at 120 an inch, that fit into it
_CAPTION = re.compile(r"(?:Figure (?:\d+\.)?\d+|Interactive figure)\. ")
_NUMBER = re.compile(r"[+\-−±~≈<>]?\s*\d.*|[✓✗–]?")
_SPREAD = re.compile(r"[-−]?\d[\d.,]* ?(?:[±–(] ?.{1,12})?")
_TOKEN = re.compile(r"(?<!\S)(-\w+)")
_AS_TYPED = nodes.FixedTextElement, nodes.literal, nodes.math
_SHORT = 30  # letters of code that fit into a line of a telephone


class QuietCells(SphinxPostTransform):
    """What a cell shows comes first, then its caption, and its folded code last."""

    default_priority = 300  # myst-nb has folded the code by then
    formats = ("html",)

    def run(self, **_: object) -> None:
        _gather_facts(self.document)
        _mark_kinds(self.document)
        _keep_whole(self.document)
        for cell in list(self.document.findall(is_cell)):
            _take_caption(cell)
            if _needs_room(cell):
                cell["classes"].append("wide")
            folded = [
                part for part in cell if part.tagname == "HideCodeCellNode"
            ]
            if "tag_hide-input" in cell["classes"] and folded:
                cell.remove(folded[0])
                cell.append(folded[0])
            if "tag_hide-input" in cell["classes"]:
                for code in cell.findall(nodes.literal_block):
                    _leave_out_label(code)
            for table in cell.findall(nodes.table):
                _mark_numbers(table)


def is_cell(node: nodes.Node) -> bool:
    return (
        isinstance(node, nodes.container)
        and node.get("nb_element") == "cell_code"
    )


def is_output(part: nodes.Element) -> bool:
    """Whether this part of a cell is what the cell has shown."""
    return part.get("nb_element") == "cell_code_output"


def has(node: nodes.Node | None, tag: str) -> bool:
    return is_cell(node) and f"tag_{tag}" in node["classes"]


def following(node: nodes.Node) -> list[nodes.Node]:
    """What follows in the same section, up to the next heading."""
    after = node.parent[node.parent.index(node) + 1 :]
    return list(
        takewhile(lambda sibling: not isinstance(sibling, nodes.section), after)
    )


def next_part(node: nodes.Node) -> nodes.Node | None:
    """What follows first in the same section, if anything does."""
    return next(iter(following(node)), None)


def _gather_facts(document: nodes.document) -> None:
    """Fold time, needs, aims and the imports behind one line."""
    facts = [
        paragraph
        for paragraph in document.findall(nodes.paragraph)
        if isinstance(paragraph.parent, nodes.section)
        and _FACT.match(paragraph.astext())
    ]
    if not facts:
        return
    before = facts[0].parent.children
    imports = next(
        (
            part
            for part in before
            if has(part, "hide-input") and not any(map(is_output, part))
        ),
        None,
    )
    minutes = _TIME.search(facts[0].astext())
    line = " and ".join(minutes.groups()) if minutes else "Time"
    start = (
        f'<details class="facts"><summary>{line} · what you need first · '
        "what you will be able to do</summary>\n"
    )
    block = nodes.container(classes=["facts"])
    section = facts[0].parent
    place = section.index(facts[0])
    section[place:place] = [raw(start), block, raw("</details>\n")]
    for fact in [*facts, *([imports] if imports else [])]:
        fact.parent.remove(fact)
        block += fact


def _mark_kinds(document: nodes.document) -> None:
    """Mark questions, short answers and notes; a question needs no label."""
    for quote in document.findall(nodes.block_quote):
        label = next(quote.findall(nodes.strong), None)
        kind = _KINDS.get(label.astext()) if label else None
        if not kind:
            continue
        quote["classes"].append(kind)
        if kind == "question":
            paragraph = label.parent
            paragraph.remove(label)
            first = paragraph[0]
            paragraph.replace(first, nodes.Text(first.astext().lstrip()))


def _needs_room(cell: nodes.container) -> bool:
    """Whether what a cell shows is wider than the text."""
    figures = (
        _FIGURE.search(part.astext()) for part in cell.findall(nodes.raw)
    )
    if any(figure and figure[1] in WIDE for figure in figures):
        return True
    return any(
        _width(Path(picture["uri"])) > WIDEST_IN_TEXT
        for picture in cell.findall(nodes.image)
    )


def _width(picture: Path) -> int:
    """The width of a PNG in pixels; 0 of anything else."""
    if picture.suffix != ".png" or not picture.exists():
        return 0
    with picture.open("rb") as file:
        return int.from_bytes(file.read(20)[16:])


def _take_caption(cell: nodes.container) -> None:
    """Make the line in italics under a figure its caption, a part of its cell."""
    line = next_part(cell)
    in_italics = isinstance(line, nodes.paragraph) and isinstance(
        line[0], nodes.emphasis
    )
    if in_italics and _CAPTION.match(line.astext()):
        line.parent.remove(line)
        line["classes"].append("caption")
        cell.append(line)


def _leave_out_label(code: nodes.literal_block) -> None:
    """Leave out the word that JupyterLab shows of folded code; the page has the switch."""
    text = re.sub(r"\A# [a-z]+\n", "", code.astext())
    if text != code.astext():
        code.rawsource = text
        code[:] = [nodes.Text(text)]


def _mark_numbers(table: nodes.table) -> None:
    """Mark the columns of a table of results that hold nothing but numbers."""
    rows = [list(row) for row in table.findall(nodes.row)]
    for head, *column in zip(*rows, strict=True):
        if all(_NUMBER.fullmatch(entry.astext()) for entry in column):
            for entry in (head, *column):
                entry["classes"].append("number")


def _keep_whole(document: nodes.document) -> None:
    """Mark what no line may end in: short code, tokens like -seven, numbers."""
    for code in document.findall(nodes.literal):
        if len(code.astext()) <= _SHORT:
            code["classes"].append("whole")
    for entry in document.findall(nodes.entry):
        if _SPREAD.fullmatch(entry.astext()):
            entry["classes"].append("whole")
    for text in list(document.findall(nodes.Text)):
        if " %" in text and not isinstance(text.parent, _AS_TYPED):
            whole = nodes.Text(text.replace(" %", "\N{NO-BREAK SPACE}%"))
            text.parent.replace(text, whole)
            text = whole
        parts = _TOKEN.split(text)
        if len(parts) > 1 and not isinstance(text.parent, _AS_TYPED):
            parts[1::2] = [
                nodes.inline("", token, classes=["whole"])
                for token in parts[1::2]
            ]
            parts[::2] = map(nodes.Text, parts[::2])
            text.parent.replace(text, parts)


def raw(markup: str) -> nodes.raw:
    """HTML as it is."""
    return nodes.raw("", markup, format="html")


def setup(app) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_post_transform(QuietCells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
