"""A Sphinx extension: a laboratory page shows what came out before the experiment.

A notebook has to define its experiment before it runs one, and readers first want the result. So
on the page, the section with the experiment comes after what came out, and its code is one fold.
"""

import re

from cell_layout import has, raw
from docutils import nodes
from sphinx.transforms import SphinxTransform

# the sections that come after the experiment on the page
_AFTER = re.compile(
    r"One \w+, now|Exercises|What would refute it|Where this comes from"
)


class ResultsFirst(SphinxTransform):
    """Before the page's contents are listed, so that they are in the page's order."""

    default_priority = 880

    def apply(self, **_: object) -> None:
        if not self.env.docname.startswith("chapters/lab/"):
            return
        for section in list(self.document.findall(nodes.section)):
            cells = [part for part in section if has(part, "experiment")]
            if cells:
                _fold(section, cells)
                _move_behind_results(section)


def _fold(section: nodes.section, cells: list[nodes.Node]) -> None:
    """Put all from the first of these cells to the last behind one switch."""
    first, last = section.index(cells[0]), section.index(cells[-1])
    lines = sum(
        len(code.astext().splitlines())
        for cell in cells
        for code in cell.findall(nodes.literal_block)
    )
    summary = f"<summary>The experiment, {lines} lines</summary>"
    section[last + 1 : last + 1] = [raw("</details>\n")]
    section[first:first] = [raw(f'<details class="experiment">{summary}\n')]


def _move_behind_results(section: nodes.section) -> None:
    """Move a section that shows no result after those that do."""
    page = section.parent
    results = [part for part in section if has(part, "hide-input")]
    after = [
        part
        for part in page[page.index(section) + 1 :]
        if isinstance(part, nodes.section) and _AFTER.match(part[0].astext())
    ]
    if after and not results:
        page.remove(section)
        page.insert(page.index(after[0]), section)


def setup(app) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_transform(ResultsFirst)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
