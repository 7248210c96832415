"""Files of the repository that are computed from its notebooks and their stored runs.

The figure ``break_translator`` quotes from the laboratory how well models learn without a part. The
README shows drawings that chapters have stored.
"""

import json
from pathlib import Path

import nbformat
import numpy as np

from attnbook.atomic_files import atomic_write
from attnbook.laboratory import Columns, columns
from attncourse.chapter import stored_runs

WITHOUT = Path("chapters/lab/09-without.ipynb")
QUOTED = Path("code/attnbook/numbers_en_fr/without.json")
PICTURES = {  # name: notebook and cell
    "self-attention": ("chapters/02-queries-keys-values.ipynb", "02-d09"),
    "then-and-now": ("chapters/11-language-model.ipynb", "11-m05"),
}


def texts(root: Path) -> dict[Path, str]:
    """What each of these files has to hold, by its path."""
    runs = columns(stored_runs(root / WITHOUT).read_text("utf8"))
    found = {root / QUOTED: summary(runs) + "\n"}
    for name, (notebook, cell_id) in PICTURES.items():
        cells = nbformat.read(root / notebook, as_version=4).cells
        (drawn,) = [output for cell in cells if cell.id == cell_id for output in cell.outputs]
        picture = root / f"chapters/_static/{name}.svg"
        found[picture] = on_paper(drawn.data["image/svg+xml"])
    return found


def write(root: Path) -> list[Path]:
    """Renew these files in this repository; return those that this changed."""
    changed = []
    for path, text in texts(root).items():
        if not path.exists() or path.read_text("utf8") != text:
            atomic_write(path, text.encode())
            changed.append(path)
    return changed


def summary(runs: Columns) -> str:
    """Of each switch the smallest, the middle and the largest share that was right, as JSON.

    >>> summary(columns("seed,switch,right\\n0,norm=off,97\\n1,norm=off,98"))
    '{"seeds": 2, "switches": {"norm=off": [97.0, 97.5, 98.0]}}'
    """
    shares = {}
    for switch in dict.fromkeys(runs["switch"].tolist()):
        right = runs["right"][runs["switch"] == switch]
        shares[switch] = [right.min(), float(np.median(right)), right.max()]
    return json.dumps({"seeds": len({*runs["seed"].tolist()}), "switches": shares})


def on_paper(svg: str) -> str:
    """A drawing on white: a page that shows it may be dark.

    >>> print(on_paper('<svg viewBox="-2 0 9 5"></svg>'))
    <svg viewBox="-2 0 9 5"><rect x="-2" y="0" width="100%" height="100%" fill="white"/></svg>
    """
    start = svg.index(">") + 1
    x, y, *_ = svg.split('viewBox="')[1].split()
    paper = f'<rect x="{x}" y="{y}" width="100%" height="100%" fill="white"/>'
    return svg[:start] + paper + svg[start:]
