"""The README's pictures: what readers see in a browser, photographed by Chromium.

A picture carries a fingerprint of what was photographed, so that nobody has to look at it to know
that it is old.
"""

import hashlib
import io
import re
from pathlib import Path

from PIL import Image, PngImagePlugin
from playwright.sync_api import Page
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from attnbook.atomic_files import atomic_write
from attnbook.exercises import catalogue
from attnbook.exercises.grade import grade
from attnbook.figures import interactive, style
from attncourse.chromium import new_page

FOLDER = Path("chapters/_static")
COLOURS = 48
PAGE = """<!doctype html><html lang="en">
<style>body {{ margin: 0; background: white; font: 16px sans-serif }} {style}
main {{ padding: 12px }} .highlight {{ padding: 0.6em 0.9em; margin-bottom: 1em; font-size: 15px }}
</style>
<main>{body}</main>"""
WRONG = """\
def scaled_scores(query, key):
    d_k = query.shape[-1]
    query, key = query.transpose(1, 2), key.transpose(1, 2)
    return query @ key.mT / d_k


check("3.2", scaled_scores)"""


def translator() -> str:
    """The translator that readers break."""
    figure = interactive.break_translator(481, show=["source_positions=off", "cross_weights=off"])
    return PAGE.format(style="", body=figure.to_html())


def without_positions(page: Page) -> None:
    """Switch the positions of the English words off."""
    page.get_by_role("switch").first.click()
    page.wait_for_timeout(1000)  # until the ribbons have come to rest


def mistake() -> str:
    """An answer with a known mistake, and what ``check`` says of it."""
    names: dict = {"check": lambda *_: None}
    exec(WRONG, names)
    (exercise,) = (task for task in catalogue() if task.id == "3.2")
    report = grade(exercise, names["scaled_scores"])
    colours = HtmlFormatter(style="default")
    body = highlight(WRONG, PythonLexer(), colours) + report.to_html()
    return PAGE.format(style=colours.get_style_defs(".highlight"), body=body)


SCENES = {  # what each picture shows, and what is done with the page before
    "break-the-translator": (translator, without_positions),
    "named-mistake": (mistake, lambda page: None),
}


def fingerprint(page: str) -> str:
    """A short text that changes with what is photographed.

    The picture for places where scripts do not run is not seen, and differs between machines.
    """
    return hashlib.sha256(re.sub(r'src="data:[^"]*"', "", page).encode()).hexdigest()[:16]


def outdated(root: Path) -> dict[Path, str]:
    """The pictures that do not show what readers see now, and the pages they must show."""
    pages = {root / FOLDER / f"{name}.png": html() for name, (html, _) in SCENES.items()}
    return {path: html for path, html in pages.items() if _made_of(path) != fingerprint(html)}


def write(root: Path) -> list[Path]:
    """Take the outdated pictures again; return them. Raises ``UsageError`` without Chromium."""
    pages = outdated(root)
    for path, html in pages.items():
        atomic_write(path, _photographed(path, html))
    return [*pages]


def _made_of(path: Path) -> str:
    if not path.exists():
        return ""
    with Image.open(path) as picture:
        return picture.info.get("Source", "")


def _photographed(path: Path, html: str) -> bytes:
    _, prepare = SCENES[path.stem]
    size = {"width": 720, "height": 1200}
    with new_page(f"take {path}", device_scale_factor=1.5, viewport=size, offline=True) as page:
        page.set_content(html)
        prepare(page)
        taken = page.locator("main").screenshot()
    about = PngImagePlugin.PngInfo()
    about.add_text("Source", fingerprint(html))
    file = io.BytesIO()
    with Image.open(io.BytesIO(style.with_fewer_colours(taken, COLOURS))) as few:
        few.save(file, "png", optimize=True, pnginfo=about)
    return file.getvalue()
