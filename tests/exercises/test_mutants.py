"""No small slip goes unnoticed: checks reject all mutants of what they check against."""

import copy
import functools
import inspect
import tomllib
from pathlib import Path

import pytest
from mutants import define, mutants

from attnbook.exercises import catalogue, sandbox
from attnbook.exercises.compare import Comparison
from attnbook.exercises.exercise import Exercise

EXERCISES = {e.id: e for e in catalogue() if type(e) is Exercise}
LISTED = tomllib.loads((Path(__file__).parent / "survivors.toml").read_text("utf-8"))


@pytest.fixture
def as_in_a_notebook(no_shape_checks, monkeypatch):
    """No checks of shapes, and endless loops end early."""
    monkeypatch.setattr(sandbox, "SECONDS_PER_CALL", 1.0)


def accepts(exercise, answer, seed=0):
    """Whether the check would be passed; the names of mistakes do not matter for that."""
    if not is_right(exercise, answer, seed):  # most mutants are wrong on the first input already
        return False
    check = copy.copy(exercise)
    check.mistakes = {}
    return check.grade(answer, seed).passed


def is_right(exercise, answer, seed):
    """Whether all results are, as far as the first that is not."""
    trial = exercise.trial(seed)
    names = list(inspect.signature(exercise.reference).parameters)
    with sandbox.reproducible(), sandbox.Sandbox() as box:
        return all(
            Comparison([(box.call(answer, probe), right)], names, answer).all_right
            for probe, right in zip(trial.probes, trial.expected, strict=True)
        )


@functools.cache
def mutants_of(id):
    return mutants(EXERCISES[id].reference)


def survivors(exercise, seed=0):
    reference = exercise.reference
    return {
        line
        for line, source in mutants_of(exercise.id).items()
        if accepts(exercise, define(source, reference), seed)
    }


def listed(kind, id):
    return [line for lines in LISTED[kind].get(id, {}).values() for line in lines]


@pytest.mark.mutants
@pytest.mark.usefixtures("as_in_a_notebook")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda e: e.id)
def test_all_mutants_are_rejected_but_those_listed_with_a_reason(exercise):
    found = survivors(exercise)
    excused = {*listed("same", exercise.id), *listed("open", exercise.id)}
    assert sorted(found - excused) == [], "choose probes on which they differ"
    assert sorted(excused - found) == [], "rejected, or no mutant at all"


@pytest.mark.mutants
@pytest.mark.usefixtures("as_in_a_notebook")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("id", LISTED["same"])
def test_a_mutant_that_is_the_same_passes_with_other_inputs_too(id):
    reference = EXERCISES[id].reference
    for line in listed("same", id):
        mutant = define(mutants_of(id)[line], reference)
        assert accepts(EXERCISES[id], mutant, seed=1), line


def test_of_the_mutants_that_differ_97_in_100_are_rejected():
    same, open_ = (sum(len(listed(kind, id)) for id in EXERCISES) for kind in ("same", "open"))
    differ = sum(len(mutants_of(id)) for id in EXERCISES) - same
    assert differ > 5000 and open_ < 0.03 * differ


def test_survivors_are_listed_once_and_under_an_exercise():
    assert set(LISTED) == {"same", "open"}
    assert {id for kind in LISTED.values() for id in kind} <= set(EXERCISES)
    for id in EXERCISES:
        lines = listed("same", id) + listed("open", id)
        assert len(lines) == len(set(lines))


@pytest.mark.usefixtures("as_in_a_notebook")
@pytest.mark.filterwarnings("ignore")
def test_a_single_probe_is_too_few():
    weak = copy.copy(EXERCISES["3.2"])
    weak.inputs(lambda generator: EXERCISES["3.2"].probes()[:1])
    weak.properties = []
    passing = survivors(weak) - set(listed("same", "3.2"))
    assert "_heads_first: return (query, key.transpose(1, 2))" in passing


def _spread(a, b):
    return (a - b).sum(dim=-1)


def test_a_mutant_has_one_slip():
    assert set(mutants(_spread)) == {
        *(f"return (a {op} b).sum(dim=-1)" for op in ("+", "*", "/")),
        *(f"return (a {op} b).sum(dim=-1)" for op in ("//", "%", "@")),
        *(f"return ({x}).sum(dim=-1)" for x in ("b - a", "a - a", "b - b")),
        *(f"return {x}.sum(dim=-1)" for x in ("a", "b")),
        *(f"return (a - b).sum(dim={axis})" for axis in (0, 1, -2)),
        *(f"return (a - b).{name}(dim=-1)" for name in ("mean", "prod")),
        "return (a - b).sum()",
        "return a - b",
    }


def test_the_slip_may_be_in_a_helper_and_names_are_known_to_it():
    bias = 10

    def answer(x):
        """Its docstring is not a part of the mutants."""
        return _half(x) + bias

    found = mutants(answer)
    assert answer(4) == 12
    assert define(found["_half: return x * 2"], answer)(4) == 18
    assert define(found["return _half(x)"], answer)(4) == 2
    assert define(found["return _half(x) - bias"], answer)(4) == -8


def _half(x):
    return x / 2


def test_loops_end_early_or_never_and_steps_are_left_out():
    def count(limit):
        n = 0
        while n < limit:
            if n == 7:
                break
            n += 1
        for _ in range(3):
            n = n + limit
        return n

    found = set(mutants(count))
    assert {"while True:", "continue", "for _ in ():"} <= found
    assert {"without break", "without n = n + limit"} <= found
    assert {"without while n < limit:", "if not n == 7:"} <= found
