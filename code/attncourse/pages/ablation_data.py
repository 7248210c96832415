"""What the figure ``break_translator`` quotes from the laboratory: how well models learn without.

The stored runs of the notebook are the one source; the package carries what is computed from them.
"""

import json
from pathlib import Path

import numpy as np

from attnbook.atomic_files import atomic_write
from attnbook.laboratory import read_runs

STORED = Path("chapters/lab/09-without.csv")
QUOTED = Path("code/attnbook/numbers_en_fr/without.json")


def summary(stored: str) -> str:
    """Of each switch the smallest, the middle and the largest share that was right, as JSON.

    >>> summary("seed,switch,right,loss\\n0,norm=off,97,0.1\\n1,norm=off,98,0.1")
    '{"seeds": 2, "switches": {"norm=off": [97.0, 97.5, 98.0]}}'
    """
    runs = read_runs(stored)
    shares = {}
    for switch in dict.fromkeys(runs["switch"].tolist()):
        right = runs["right"][runs["switch"] == switch]
        shares[switch] = [right.min(), float(np.median(right)), right.max()]
    return json.dumps({"seeds": len({*runs["seed"].tolist()}), "switches": shares})


def write(root: Path) -> list[Path]:
    """Renew the package's file in this repository; return it if that changed it."""
    path, text = root / QUOTED, summary((root / STORED).read_text("utf8")) + "\n"
    if path.exists() and path.read_text("utf8") == text:
        return []
    atomic_write(path, text.encode())
    return [path]
