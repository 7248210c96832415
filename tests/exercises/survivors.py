"""Mutants of the exercises' references that the checks let through, and why they may.

``survivors.toml`` lists their slips. This writes it again, after a change to an exercise, in a
minute:

    python tests/exercises/survivors.py

Reasons are kept. Slips that have none are then in the table ``new``.
"""

import copy
import json
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import torch
from mutants import Mutant, define, mutants

from attnbook.exercises import Exercise, Repair, catalogue, sandbox
from attnbook.exercises.compare import Comparison
from attnbook.exercises.grade import grade

KINDS = ("same", "open")
FILE = Path(__file__).parent / "survivors.toml"
HEADER = """\
# Slips in the exercises' references that pass the checks, each under the reason why it may pass.
# Those called "same" give the same result for all inputs that the task's text allows. Of those
# called "open", the text asks for neither result. Letters are a line's variables, in their order.
# `python tests/exercises/survivors.py` writes this file after a change and keeps the reasons.
"""
EXERCISES = {e.id: e for e in catalogue() if type(e) in (Exercise, Repair)}


@cache
def mutants_of(id: str) -> list[Mutant]:
    """All mutants of an exercise's reference."""
    return mutants(EXERCISES[id].reference)


def survivors(exercise: Exercise, seed: int = 0) -> list[Mutant]:
    """The mutants that pass the check."""
    return [m for m in mutants_of(exercise.id) if passes(exercise, m, seed)]


def passes(exercise: Exercise, mutant: Mutant, seed: int = 0) -> bool:
    """Whether a mutant passes the check; the names of mistakes do not matter for that."""
    answer = define(mutant.source, exercise.reference)
    if not _is_right(exercise, answer, seed):  # most are wrong on the first input already
        return False
    check = copy.copy(exercise)
    check.mistakes = {}
    return grade(check, answer, seed).passed


def _is_right(exercise: Exercise, answer: Callable, seed: int) -> bool:
    """Whether all results are, as far as the first that is not."""
    trial = exercise.trial(seed)
    with sandbox.reproducible(), sandbox.Sandbox() as box:
        return all(
            Comparison([(box.call(answer, probe), right)], exercise.arguments, answer).all_right
            for probe, right in zip(trial.probes, trial.expected, strict=True)
        )


def listed() -> Iterator[tuple[str, str, str, Counter]]:
    """What the file lists: "same" or "open", the exercise, the reason, and the slips."""
    for kind, reasons in tomllib.loads(FILE.read_text("utf8")).items():
        for key, slips in reasons.items():
            id, _, reason = key.partition(" ")
            yield kind, id, reason, Counter(slips.split("; "))


def slips_of(id: str, kinds: tuple[str, ...] = KINDS) -> Counter:
    """How often each slip is listed for an exercise."""
    here = (slips for kind, other, _, slips in listed() if kind in kinds and other == id)
    return sum(here, Counter())


def record() -> None:
    """Try all mutants and write the file; a slip stays under its reason as long as it survives."""
    found = {id: Counter(m.slip for m in survivors(e)) for id, e in EXERCISES.items()}
    tables: dict[str, dict] = {"same": {}, "open": {}, "new": {}}
    for kind, id, reason, slips in listed():
        if still := slips & found.get(id, Counter()):
            tables[kind][id, reason] = still
            found[id] -= still
    tables["new"] = {(id, "why?"): slips for id, slips in found.items() if slips}
    write(tables)


def write(tables: dict[str, dict[tuple[str, str], Counter]]) -> None:
    """Write the file: slips by exercise and reason, for each kind."""
    order = [*EXERCISES]
    lines = [HEADER]
    for kind, reasons in tables.items():
        lines += [f"\n[{kind}]\n"] if reasons else []
        for id, reason in sorted(reasons, key=lambda key: order.index(key[0])):
            slips = "; ".join(sorted(reasons[id, reason].elements()))
            key, slips = (json.dumps(x, ensure_ascii=False) for x in (f"{id} {reason}", slips))
            lines.append(f"{key} = {slips}\n")
    FILE.write_text("".join(lines), "utf8")


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    sandbox.SECONDS_PER_CALL = 1.0  # loops that never end
    record()
