"""Words that make a sentence hard to read at once, in all that the book says to its readers.

They are mostly German in English clothes. Each pattern has the words to write instead.
"""

import re
from collections.abc import Iterator

from attncourse.rules.book import Notebook

SUSPECT = {
    r"rightly": "correctly",
    r"anew": "again",
    r"dealt (?:out )?at random": "shuffled",
    r"in place of": "instead of",
    r"lea(?:ves?|ving) away|left away": "drop",
    r"is another thing": "is different",
    r"trainings": "training runs",
    r"h[au]ngs? on": "depends on",
    r"go(?:es)? on (?:beyond|to places|there)": "extrapolates",
    r"no \w+ more": "no more parameters",
    r"(?:stands?|stood|standing) (?:there|in|at|beside|behind|above|below)": "is, appears",
    r"(?:right|directly|put|comes?) behind": "after",
    r"what (?:is|was) (?:found|there)": "the name of the thing",
    r"who wants to": "if you want to",
    r"as good as": "nearly, or: no worse than",
    r"(?:is|are|was) to say": "must predict",
    r"aright": "correctly",
    r"takes? along": "takes in",
    r"an? training(?! (?:run|step|pass)s?\b)": "a training run",
    r"of like \w+": "of similar length",
    r"output map": "output projection",
    r"(?:below|above) each other": "one below the other",
}
RIGHT = {  # where such words are good English, and why
    "stand in for": "to replace somebody",
    "stands in for": "to replace somebody",
    "stood in for": "to replace somebody",
    "could stand in its place": "to replace somebody",
    "task is to say": "what the task asks for",
    "as good as the": "compares two qualities",
}
_SUSPECT = re.compile(rf"\b(?:{'|'.join(SUSPECT)})\b", re.I)
_RIGHT = re.compile("|".join(map(re.escape, RIGHT)), re.I)
_SENTENCE = re.compile(r"(?<=[.?!:])\s+|\n\s*\n|\n(?=[-*|#>])")


def suspect(text: str) -> Iterator[str]:
    """What to write instead of each suspect word, with its sentence.

    >>> [*suspect("It learns. Then it is trained anew, and others stand in for it.")]
    ["'anew' (write: again) in: Then it is trained anew, and others stand in for it."]
    """
    for sentence in _SENTENCE.split(text):
        flat = " ".join(sentence.split())
        for found in _SUSPECT.finditer(_RIGHT.sub("", flat)):
            instead = next(
                words for form, words in SUSPECT.items() if re.fullmatch(form, found[0], re.I)
            )
            yield f"{found[0]!r} (write: {instead}) in: {flat}"


def read_well(notebook: Notebook) -> Iterator[str]:
    """No sentence of a notebook has such words."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for fault in suspect(cell.source):
                yield f"cell {cell.id}: {fault}"
