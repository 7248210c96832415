"""The page of questions as people ask them: what is said, a verdict, and what settles it."""

import tomllib
from pathlib import Path

from nbformat import NotebookNode

from attncourse import UsageError
from attncourse.chapter import linked_title, number, of_chapters
from attncourse.pages.claims import finding, ledger, measured
from attncourse.pages.results import cells_of

VERDICTS = ("True", "Half true", "Wrong")


def asked(folder: Path) -> list[dict]:
    """The questions in the folder of the chapters, in the order of their chapters."""
    return tomllib.loads((folder / "questions.toml").read_text("utf8"))["question"]


def questions(notebooks: dict[Path, NotebookNode]) -> str:
    """Each question with what is often said, whether that holds, why, and what was measured."""
    chapters = of_chapters(notebooks)
    folder = next(iter(chapters)).parent
    parts = []
    for path, chapter in chapters.items():
        here = [item for item in asked(folder) if item["chapter"] == number(path)]
        if here:
            parts.append(f"## {linked_title(path, chapter)}")
        for item in here:
            if item["verdict"] not in VERDICTS:
                raise UsageError(
                    f"chapters/questions.toml, {item['ask']}: the verdict is {item['verdict']}, "
                    f"and has to be one of {', '.join(VERDICTS)}"
                )
            parts.append(f"### {item['ask']}")
            parts.append(f"> “{item['said']}”")
            parts.append(f"**{item['verdict']}.** {item['answer'].strip()}")
            proofs = [_settles(each, item["ask"], folder, notebooks) for each in item["measured"]]
            parts.append("\n".join(f"- {line}" for line in proofs))
    return "\n\n".join(parts) + "\n"


def _settles(proof: str | dict, ask: str, folder: Path, notebooks: dict[Path, NotebookNode]) -> str:
    """A line that settles a question: one of the index of experiments, or one on other cells."""
    told = f"chapters/questions.toml, {ask}"
    if isinstance(proof, dict):
        cells = [cell for path, book in notebooks.items() for cell in cells_of(path, book)]
        return finding(proof, cells, told)
    id, _, begins = proof.partition(" ")  # such as C05 Rows in which
    claims = ledger(folder)
    if id not in claims:
        raise UsageError(f"{told}: {id} is not a claim of chapters/claims.toml")
    here = {p: book for p, book in notebooks.items() if number(p) == claims[id]["chapter"]}
    lines = [*measured(id, claims[id], here)]
    fitting = [line for line in lines if line.startswith(begins)]
    if len(fitting) != 1:
        raise UsageError(
            f"{told}: {len(fitting)} lines of {id} begin with {begins!r}, and one must; they are "
            + " / ".join(line[:40] for line in lines)
        )
    return fitting[0]
