"""The page of questions as people ask them: what is said, a verdict, and what settles it."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

from attncourse import UsageError
from attncourse.chapter import in_laboratory, linked_title, number
from attncourse.pages.claims import evidence, finding, ledger, measured

VERDICTS = ("True", "Half true", "Wrong")


def asked(folder: Path) -> list[dict]:
    """The questions that stand beside the chapters in a folder, in the order of their chapters."""
    return tomllib.loads((folder / "questions.toml").read_text("utf8"))["question"]


def questions(notebooks: dict[Path, NotebookNode]) -> str:
    """Each question with what is often said, whether that holds, why, and what was measured."""
    chapters = {path: book for path, book in notebooks.items() if not in_laboratory(path)}
    folder = next(iter(chapters)).parent
    parts = []
    for path, chapter in chapters.items():
        here = [item for item in asked(folder) if item["chapter"] == number(path)]
        if here:
            parts.append(f"## {linked_title(path, chapter)}")
        for item in here:
            if item["verdict"] not in VERDICTS:
                raise UsageError(f"{item['ask']} is {item['verdict']}: not one of {VERDICTS}")
            parts.append(f"### {item['ask']}")
            parts.append(f"> “{item['said']}”")
            parts.append(f"**{item['verdict']}.** {item['answer'].strip()}")
            parts.append("\n".join(f"- {line}" for line in _measured(item, folder, notebooks)))
    return "\n\n".join(parts) + "\n"


def _measured(item: dict, folder: Path, notebooks: dict[Path, NotebookNode]) -> Iterator[str]:
    """What settles a question: lines of the index of experiments, or other cells of a notebook."""
    for proof in item["measured"]:
        if isinstance(proof, str):  # such as C05.2, the second line of the claim C05
            yield _line_of_claim(proof, ledger(folder), notebooks)
        else:
            path = folder / f"{proof['notebook']}.ipynb"
            if path not in notebooks:
                raise UsageError(f"{item['ask']}: there is no notebook {proof['notebook']}")
            cells = enumerate(notebooks[path].cells)
            proofs = [(path, i, evidence(cell)) for i, cell in cells if cell.cell_type == "code"]
            yield finding(proof, proofs, item["ask"], proof["notebook"], notebooks)


def _line_of_claim(name: str, claims: dict[str, dict], notebooks: dict[Path, NotebookNode]) -> str:
    id, line = name.split(".")
    if id not in claims:
        raise UsageError(f"{id} is not a claim of the ledger")
    here = {p: book for p, book in notebooks.items() if number(p) == claims[id]["chapter"]}
    lines = [*measured(id, claims[id], here)]
    if not 0 < int(line) <= len(lines):
        raise UsageError(f"{id} has no line {line}: it has {len(lines)}")
    return lines[int(line) - 1]
