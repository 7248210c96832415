"""The README's pictures: drawings that chapters have stored."""

from pathlib import Path

import nbformat

from attnbook.atomic_files import atomic_write

FOLDER = Path("chapters/_static")
PICTURES = {  # name: notebook and cell
    "self-attention": ("chapters/02-queries-keys-values.ipynb", "02-d09"),
    "then-and-now": ("chapters/11-language-model.ipynb", "11-m05"),
}


def on_paper(svg: str) -> str:
    """A drawing on white: a page that shows it may be dark.

    >>> print(on_paper('<svg viewBox="-2 0 9 5"></svg>'))
    <svg viewBox="-2 0 9 5"><rect x="-2" y="0" width="100%" height="100%" fill="white"/></svg>
    """
    start = svg.index(">") + 1
    x, y, *_ = svg.split('viewBox="')[1].split()
    paper = f'<rect x="{x}" y="{y}" width="100%" height="100%" fill="white"/>'
    return svg[:start] + paper + svg[start:]


def write(root: Path) -> list[Path]:
    """Renew the pictures in this repository; return those that this changed."""
    changed = []
    for name, (notebook, cell_id) in PICTURES.items():
        cells = nbformat.read(root / notebook, as_version=4).cells
        (drawn,) = [output for cell in cells if cell.id == cell_id for output in cell.outputs]
        path, text = root / FOLDER / f"{name}.svg", on_paper(drawn.data["image/svg+xml"])
        if not path.exists() or path.read_text("utf8") != text:
            atomic_write(path, text.encode())
            changed.append(path)
    return changed
