"""A Sphinx extension: the experiments of the laboratory's page are cards with a picture.

In the file they are lists below the heading of each chapter, first the main experiments, then the
others. On the page each item gets the picture that shows its notebook's result, from the outputs
that the notebook has stored. A main experiment is a card with a large picture, and another one is a
row with a small picture. Above all are buttons that leave only the cards of one chapter. The
buttons need no script: without any, all cards show, and the styles react to the button that is
pressed.
"""

import base64
import html
import io
import re
from collections.abc import Iterable
from pathlib import Path

import nbformat
from docutils import nodes
from PIL import Image
from sphinx.addnodes import pending_xref
from sphinx.transforms import SphinxTransform

PAGE = "chapters/laboratory"
FOLDER = "_static/gallery"
WIDTH = 640  # pixels, for screens with two to a point
_NOTEBOOK = re.compile(r"lab/([\w-]+)(?:\.ipynb)?$")


class Gallery(SphinxTransform):
    """Make cards of the lists, and put the buttons above them."""

    default_priority = 500

    def apply(self, **_: object) -> None:
        if self.env.docname != PAGE:
            return
        chapters = {}
        for items in self.document.findall(nodes.bullet_list):
            section = items.parent
            section[section.index(items) - 1]["classes"].append("rank")
            number = section.next_node(nodes.title).astext().split()[0]
            items["classes"].append("gallery")
            if number in chapters:
                items["classes"].append("others")
            else:
                section["classes"] += ["of-chapter", f"of-{number}"]
                chapters[number] = section
            for item in items:
                self._make_card(item)
        if chapters:
            first = next(iter(chapters.values()))
            place = first.parent.index(first)
            buttons = nodes.raw("", _buttons(chapters), format="html")
            first.parent.insert(place, buttons)

    def _make_card(self, item: nodes.list_item) -> None:
        (text,) = item
        link = next(text.findall(pending_xref))
        end = text.index(link) + 1
        question = nodes.paragraph("", "", *text[:end], classes=["question"])
        result = nodes.paragraph("", "", *text[end:])
        item[:] = [*self._picture(link["reftarget"]), question, result]

    def _picture(self, target: str) -> list[nodes.raw]:
        """The small picture of a notebook, if it has one."""
        name = _NOTEBOOK.search(target)[1]
        path = Path(self.env.srcdir, "chapters/lab", f"{name}.ipynb")
        self.env.note_dependency(str(path))
        found = first_picture(path)
        if not found:
            return []
        picture, alt = found
        width, height = Image.open(io.BytesIO(picture)).size
        alt = html.escape(re.split(r"(?<=\.) ", alt)[0])
        markup = (
            f'<img src="../{FOLDER}/{name}.webp" alt="{alt}" width="{width}" '
            f'height="{height}" loading="lazy">'
        )
        return [nodes.raw("", markup, format="html")]


def first_picture(path: Path) -> tuple[bytes, str] | None:
    """The first picture that a notebook shows, and the text for those who can't see it."""
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                image = cell.metadata.get("mystnb", {}).get("image", {})
                picture = base64.b64decode(output.data["image/png"])
                return picture, image.get("alt", "")
    return None


def _buttons(chapters: Iterable[str]) -> str:
    """A button for each chapter, and what its choice hides."""
    only = "".join(
        f'<label><input type="radio" name="chapter" id="only-{n}">{n}</label>'
        for n in chapters
    )
    hide = "".join(
        f"article:has(#only-{n}:checked) .of-chapter:not(.of-{n}){{display:none}}"
        for n in chapters
    )
    return (
        '<fieldset class="of-which"><legend>Show the experiments of chapter</legend>'
        f'<label><input type="radio" name="chapter" id="only-all" checked>all</label>{only}'
        f"</fieldset>\n<style>{hide}</style>\n"
    )


def _write_pictures(app, builder) -> None:
    """Write the small pictures that are not there yet, or older than their notebooks."""
    folder = Path(app.outdir, FOLDER)
    for path in sorted(Path(app.srcdir, "chapters/lab").glob("*.ipynb")):
        file = folder / f"{path.stem}.webp"
        if file.exists() and file.stat().st_mtime > path.stat().st_mtime:
            continue
        found = first_picture(path)
        if found:
            folder.mkdir(parents=True, exist_ok=True)
            image = Image.open(io.BytesIO(found[0])).convert("RGB")
            image.thumbnail((WIDTH, WIDTH))
            image.save(file, quality=80, method=6)


def setup(app) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_transform(Gallery)
    app.connect("write-started", _write_pictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
