"""A Sphinx extension: how the cells of a chapter are laid out on its page.

It changes the document between myst-nb, which folds code, and the writing of HTML, in this order:

1. What a chapter takes and needs goes into one block under its short answer, so that the first
   figure is not far.
2. No line ends within short code, a token such as -seven, or a number with its spread.
3. In each cell, the output comes first, then its caption, and the code last, behind a small switch.
   In a table of results, columns of numbers are marked as such.
4. The options of a prediction go into its buttons, and what answers it waits behind a veil, unless
   ``veil_results`` in ``_config.yml`` is false. The veils are made by book.js.
"""

import json
import re
from itertools import takewhile

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

_FACT = re.compile(r"(Time:|You need first:|Afterwards you can)")
_CAPTION = re.compile(r"Figure (?:\d+\.)?\d+\. ")
_NUMBER = re.compile(r"[+\-−±~≈<>]?\s*\d.*|[✓✗–]?")
_SPREAD = re.compile(r"[-−]?\d[\d.,]* ?(?:[±–(] ?.{1,12})?")
_TOKEN = re.compile(r"(?<!\S)(-\w+)")
_AS_TYPED = nodes.FixedTextElement, nodes.literal, nodes.math
_SHORT = 30  # letters of code that fit into a line of a telephone
_PREDICTION = re.compile(
    r'<attnbook-predict .*?json">(?P<data>.*?)</script>.*'
    r"(?=</attnbook-predict>)",
    re.S,
)


class QuietCells(SphinxPostTransform):
    """What a cell shows comes first, then its caption, and its folded code last."""

    default_priority = 300  # myst-nb has folded the code by then
    formats = ("html",)

    def run(self, **_: object) -> None:
        _gather_facts(self.document)
        _keep_whole(self.document)
        for cell in list(self.document.findall(_is_cell)):
            _take_caption(cell)
            folded = [
                part for part in cell if part.tagname == "HideCodeCellNode"
            ]
            if "tag_hide-input" in cell["classes"] and folded:
                cell.remove(folded[0])
                cell.append(folded[0])
            for code in cell.findall(nodes.literal_block):
                _leave_out_title(code)
            for table in cell.findall(nodes.table):
                _mark_numbers(table)


class Predictions(SphinxPostTransform):
    """A prediction is its buttons; what answers it waits behind a veil.

    Its own code, which names the right answer, is left out of the page, of search
    and of print; and so are the cells of a choice N.0 to answer it by code. The
    buttons say all that these say, and a page can't run them.
    """

    default_priority = 310  # captions are part of their cells by then
    formats = ("html",)

    def run(self, **_: object) -> None:
        asking = [
            cell
            for cell in self.document.findall(_is_cell)
            if _has(cell, "predict")
        ]
        # from the last, as a veil may hold another prediction with its own
        for cell in reversed(asking):
            _leave_out_code(cell)
            _put_options_into_buttons(cell)
            if self.config.veil_results:
                _veil(cell)


class Veil(nodes.General, nodes.Element):
    """What answers a prediction: book.js hides it, and without scripts it shows."""


def _open_veil(translator, node: Veil) -> None:
    translator.body.append(
        '<book-veil role="group" aria-label="The result" tabindex="-1">\n'
    )


def _close_veil(translator, node: Veil) -> None:
    translator.body.append("</book-veil>\n")


def _is_cell(node: nodes.Node) -> bool:
    return (
        isinstance(node, nodes.container)
        and node.get("nb_element") == "cell_code"
    )


def _is_output(part: nodes.Element) -> bool:
    """Whether this part of a cell is what the cell has shown."""
    return part.get("nb_element") == "cell_code_output"


def _has(node: nodes.Node | None, tag: str) -> bool:
    return _is_cell(node) and f"tag_{tag}" in node["classes"]


def _following(node: nodes.Node) -> list[nodes.Node]:
    """What follows in the same section, up to the next heading."""
    after = node.parent[node.parent.index(node) + 1 :]
    return list(
        takewhile(lambda sibling: not isinstance(sibling, nodes.section), after)
    )


def _next(node: nodes.Node) -> nodes.Node | None:
    """What follows first in the same section, if anything does."""
    return next(iter(_following(node)), None)


def _gather_facts(document: nodes.document) -> None:
    """Put time, needs and aims into one block, and with them the imports behind."""
    facts = [
        paragraph
        for paragraph in document.findall(nodes.paragraph)
        if isinstance(paragraph.parent, nodes.section)
        and _FACT.match(paragraph.astext())
    ]
    if not facts:
        return
    block = nodes.container(classes=["facts"])
    facts[0].replace_self(block)
    block += facts[0]
    for fact in facts[1:]:
        fact.parent.remove(fact)
        block += fact
    imports = _next(block)
    if _has(imports, "hide-input") and not any(map(_is_output, imports)):
        imports.parent.remove(imports)
        block += imports


def _take_caption(cell: nodes.container) -> None:
    """Make the line in italics under a figure its caption, a part of its cell."""
    line = _next(cell)
    in_italics = isinstance(line, nodes.paragraph) and isinstance(
        line[0], nodes.emphasis
    )
    if in_italics and _CAPTION.match(line.astext()):
        line.parent.remove(line)
        line["classes"].append("caption")
        cell.append(line)


def _leave_out_title(code: nodes.literal_block) -> None:
    """Leave out the line by which Colab titles a cell; the page has the switch."""
    text = re.sub(r"\A# @title .*\n", "", code.astext())
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
        parts = _TOKEN.split(text)
        if len(parts) > 1 and not isinstance(text.parent, _AS_TYPED):
            parts[1::2] = [
                nodes.inline("", token, classes=["whole"])
                for token in parts[1::2]
            ]
            parts[::2] = map(nodes.Text, parts[::2])
            text.parent.replace(text, parts)


def _leave_out_code(cell: nodes.container) -> None:
    """Remove a prediction's code, and the cells after it to answer it by code."""
    for part in list(cell):
        if not _is_output(part):
            cell.remove(part)
    stub, solution, *_ = [*_following(cell), None, None]
    if (
        _has(stub, "exercise")
        and _has(solution, "solution")
        and _has(solution, "hide-cell")
    ):
        for part in (stub, solution):
            part.parent.remove(part)


def _put_options_into_buttons(cell: nodes.container) -> None:
    """Move the list of options above a choice into the buttons of its figure."""
    figure = next(cell.findall(nodes.raw), None)
    found = figure and _PREDICTION.search(figure.astext())
    place = cell.parent.index(cell)
    options = cell.parent[place - 1] if place else None
    if not found or not isinstance(options, nodes.bullet_list):
        return
    names = [next(item.findall(nodes.strong), None) for item in options]
    letters = [
        option["text"] for option in json.loads(found["data"])["options"]
    ]
    if letters != [name.astext() for name in names if name]:
        return
    parts = [_raw(found[0])]
    for letter, name in zip(letters, names, strict=True):
        text = name.parent[name.parent.index(name) + 1 :]
        parts += [_raw(f'<span slot="{letter}">'), *text, _raw("</span>")]
    parts.append(_raw("</attnbook-predict>"))
    buttons = nodes.container("", *parts, classes=figure["classes"])
    figure.parent.replace(figure, buttons)
    options.parent.remove(options)


def _raw(markup: str) -> nodes.raw:
    return nodes.raw("", markup, format="html")


def _veil(cell: nodes.container) -> None:
    """Put what answers a prediction into a veil."""
    behind = _behind(cell)
    if behind:
        veil = Veil("")
        cell.parent.insert(cell.parent.index(cell) + 1, veil)
        for part in behind:
            part.parent.remove(part)
            veil.append(part)


def _behind(cell: nodes.container) -> list[nodes.Node]:
    """What answers a prediction.

    These are the cells tagged ``answer`` before the next prediction, with all before
    them and the text cell that follows; if there are none, all up to the next heading.
    """
    following = _following(cell)
    own = list(takewhile(lambda part: not _has(part, "predict"), following))
    answers = [part for part in own if _has(part, "answer")]
    if not answers:
        return following
    last = answers[-1]
    end = own.index(last) + 1
    text = takewhile(
        lambda part: _cell_index(part) in (last["cell_index"] + 1, None),
        own[end:],
    )
    return [*own[:end], *text]


def _cell_index(part: nodes.Node) -> int | None:
    """The place of the cell that a part is from, which is in myst-nb's lines.

    None for the few kinds of parts that have no line.
    """
    found = (
        node.line for node in part.findall() if getattr(node, "line", None)
    )
    return next((line // 10_000 - 1 for line in found), None)


def setup(app) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_config_value("veil_results", True, "env", bool)
    app.add_node(Veil, html=(_open_veil, _close_veil))
    app.add_post_transform(QuietCells)
    app.add_post_transform(Predictions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
