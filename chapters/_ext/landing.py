"""A Sphinx extension: the chapters on the page that the book opens with are cards.

In the notebook they are a table, which reads well everywhere: number, question with its link,
minutes, and what is measured. On the page each row becomes a card. Its picture is the drawing of
the chapter's number in ``_static/cards``; without one it shows the number.
"""

from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

_OF_CHAPTERS = "What you will measure"  # heads the last column of the table
_DRAWINGS = Path(__file__).parents[1] / "_static/cards"


class Cards(SphinxPostTransform):
    """The table of the chapters becomes a list of cards."""

    default_priority = 320  # links are resolved by then
    formats = ("html",)

    def run(self, **_: object) -> None:
        for table in list(self.document.findall(nodes.table)):
            *_, last = next(table.findall(nodes.thead))[0]
            if last.astext() == _OF_CHAPTERS:
                rows = next(table.findall(nodes.tbody))
                cards = nodes.bullet_list(
                    "", *map(_card, rows), classes=["cards"]
                )
                table.replace_self(cards)


def _card(row: nodes.row) -> nodes.list_item:
    """One card; all of it is the link."""
    number, question, minutes, measures = row
    link = next(question.findall(nodes.reference))
    about = f"{_name(number.astext())} · {minutes.astext()} minutes"
    parts = {
        "picture": _picture(number.astext()),
        "about": nodes.Text(about),
        "question": nodes.Text(link.astext()),
        "measures": nodes.Text(measures.astext()),
    }
    link[:] = [
        nodes.inline("", "", part, classes=[kind])
        for kind, part in parts.items()
    ]
    return nodes.list_item("", nodes.paragraph("", "", link))


def _name(number: str) -> str:
    return f"Chapter {number}" if number.strip("0") else "Start here"


def _picture(number: str) -> nodes.Node:
    """The drawing of a chapter, as a part of the page, so that it has the page's colours."""
    file = _DRAWINGS / f"{int(number or 0):02}.svg"
    if not file.exists():
        return nodes.Text(number)
    drawing = file.read_text("utf8").strip()
    drawing = drawing.replace("<svg ", '<svg aria-hidden="true" ', 1)
    return nodes.raw("", drawing, format="html")


def setup(app) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_post_transform(Cards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
