"""What the figure ``break_translator`` quotes from the laboratory, stored beside the translator.

It is how well models learn that were trained without a part.
"""

import json
from pathlib import Path

import numpy as np

from attnbook.laboratory import Columns, columns
from attncourse.chapter import stored_runs

WITHOUT = Path("chapters/lab/09-without.ipynb")
QUOTED = Path("code/attnbook/numbers_en_fr/without.json")


def outdated(root: Path) -> dict[Path, str]:
    """What the file has to hold, by its path, if it does not."""
    path = root / QUOTED
    text = summary(columns(stored_runs(root / WITHOUT).read_text("utf8"))) + "\n"
    return {} if path.exists() and path.read_text("utf8") == text else {path: text}


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
