"""No small slip goes unnoticed: checks reject all mutants of what they check against."""

import copy
from collections import Counter

import pytest
import survivors
from mutants import define, mutants
from survivors import EXERCISES, mutants_of, passes, slips_of

from attnbook.exercises import sandbox

RECORD = "run `python tests/exercises/survivors.py`"


@pytest.fixture
def as_in_a_notebook(no_shape_checks, monkeypatch):
    """No checks of shapes, and endless loops end early."""
    monkeypatch.setattr(sandbox, "SECONDS_PER_CALL", 1.0)


@pytest.mark.mutants
@pytest.mark.usefixtures("as_in_a_notebook")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda e: e.id)
def test_all_mutants_are_rejected_but_those_listed_with_a_reason(exercise):
    found, listed = survivors.survivors(exercise), slips_of(exercise.id)
    new = Counter(mutant.slip for mutant in found) - listed
    lines = "\n".join(f"{m.slip!r} in `{m.line}`" for m in found if m.slip in new)
    file = exercise.reference.__module__.replace(".", "/")
    assert not new, (
        f"The check of exercise {exercise.id} must reject every slip in its reference; it accepts"
        f"\n{lines}\nAdd inputs on which they differ to code/{file}.py. If there can be none, "
        f"{RECORD} and write the reason into survivors.toml."
    )
    gone = listed - Counter(mutant.slip for mutant in found)
    assert not gone, (
        f"survivors.toml excuses slips of exercise {exercise.id} that its check rejects, or that "
        f"no longer exist: {dict(gone)}. To remove them, {RECORD}."
    )


@pytest.mark.mutants
@pytest.mark.usefixtures("as_in_a_notebook")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("id", EXERCISES)
def test_a_mutant_that_is_the_same_passes_with_other_inputs_too(id):
    same = slips_of(id, kinds=("same",))
    alike = [mutant for mutant in mutants_of(id) if mutant.slip in same]
    passing = Counter(mutant.slip for mutant in alike if passes(EXERCISES[id], mutant, seed=1))
    assert not same - passing, (
        f"survivors.toml says of slips of exercise {id} that they compute the same, but with the "
        f"inputs of seed 1 the check rejects them: {dict(same - passing)}"
    )


def test_of_the_mutants_that_differ_97_in_100_are_rejected():
    same, open_ = (
        sum(slips_of(id, (kind,)).total() for id in EXERCISES) for kind in survivors.KINDS
    )
    differ = sum(len(mutants_of(id)) for id in EXERCISES) - same
    assert differ > 5000 and open_ < 0.03 * differ


def test_survivors_are_listed_under_an_exercise_with_a_reason():
    for kind, id, reason, _ in survivors.listed():
        assert kind in survivors.KINDS and id in EXERCISES and reason, (
            f'survivors.toml lists slips in [{kind}] under "{id} {reason}": they belong in [same] '
            "or [open], under an exercise and the reason why its check may accept them"
        )


def test_recording_keeps_the_reasons(monkeypatch, tmp_path):
    file = tmp_path / "survivors.toml"
    file.write_text('[same]\n"2.9 a reason" = "a → b; c"\n"9.6 another" = "a → b"\n', "utf8")
    monkeypatch.setattr(survivors, "FILE", file)
    monkeypatch.setattr(survivors, "EXERCISES", {"2.9": EXERCISES["2.9"]})
    passing = {"a → b", "@ → +"}  # the first of them is the slip of two mutants
    monkeypatch.setattr(survivors, "passes", lambda exercise, mutant, seed: mutant.slip in passing)
    survivors.record()
    assert [*survivors.listed()] == [
        ("same", "2.9", "a reason", Counter({"a → b": 1})),
        ("new", "2.9", "why?", Counter({"a → b": 1, "@ → +": 1})),
    ]


@pytest.mark.usefixtures("as_in_a_notebook")
@pytest.mark.filterwarnings("ignore")
def test_a_single_probe_is_too_few():
    weak = copy.copy(EXERCISES["3.2"])
    weak.inputs(lambda generator: EXERCISES["3.2"].probes()[:1])
    weak.properties = []
    passing = {mutant.line for mutant in survivors.survivors(weak)}
    assert "_heads_first: return (query, key.transpose(1, 2))" in passing


def _spread(a, b):
    return (a - b).sum(dim=-1)


def test_a_mutant_has_one_slip():
    assert {mutant.line for mutant in mutants(_spread)} == {
        *(f"return (a {op} b).sum(dim=-1)" for op in ("+", "*", "/")),
        *(f"return (a {op} b).sum(dim=-1)" for op in ("//", "%", "@")),
        *(f"return ({x}).sum(dim=-1)" for x in ("b - a", "a - a", "b - b")),
        *(f"return {x}.sum(dim=-1)" for x in ("a", "b")),
        *(f"return (a - b).sum(dim={axis})" for axis in (0, 1, -2)),
        *(f"return (a - b).{name}(dim=-1)" for name in ("mean", "prod")),
        "return (a - b).sum()",
        "return a - b",
    }


def test_a_slip_has_the_same_name_whatever_variables_are_called():
    def other_names(first, second):
        return (first - second).sum(dim=-1)

    slips = [mutant.slip for mutant in mutants(_spread)]
    assert slips == [mutant.slip for mutant in mutants(other_names)]
    assert {"a - b → b - a", "sum → mean", "-1 → 1", "- → *"} <= {*slips}


def test_the_slip_may_be_in_a_helper_and_names_are_known_to_it():
    bias = 10

    def answer(x):
        """Its docstring is not a part of the mutants."""
        return _half(x) + bias

    found = {mutant.line: mutant.source for mutant in mutants(answer)}
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

    found = {mutant.line for mutant in mutants(count)}
    assert {"while True:", "continue", "for _ in ():"} <= found
    assert {"without break", "without n = n + limit"} <= found
    assert {"without while n < limit:", "if not n == 7:"} <= found
