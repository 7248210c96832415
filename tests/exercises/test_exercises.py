"""The catalogue: its references pass, it knows each mistake, and it judges new answers rightly."""

import copy
import functools
import inspect
import math
import re
from pathlib import Path

import nbformat
import pytest
import torch
from answers import RIGHT, WRONG
from conftest import ROOT

from attnbook import exercises
from attnbook.data import END, PAD, START
from attnbook.exercises import (
    Construction,
    Exercise,
    MultipleChoice,
    NumericAnswer,
    Repair,
    Suspects,
    catalogue,
    sandbox,
)
from attnbook.exercises.grade import grade
from attnbook.exercises.verdicts import verdicts_of
from attncourse.chapter import exercises_of

EXERCISES = {exercise.id: exercise for exercise in catalogue()}
CODED = [e for e in EXERCISES.values() if type(e) in (Exercise, Repair)]
SORTED = [e for e in EXERCISES.values() if isinstance(e, Suspects)]
CHOICES = [e for e in EXERCISES.values() if isinstance(e, MultipleChoice)]

TASKS = [
    task
    for path in sorted((ROOT / "chapters").glob("**/[0-9]*.ipynb"))
    for task in exercises_of(nbformat.read(path, as_version=4))
]
TEXTS = {task.id: task.text for task in TASKS}

for_each = functools.partial(pytest.mark.parametrize, "exercise", ids=lambda e: e.id)


def place(exercise):
    """An exercise and its file, for the messages of rules."""
    chapter = int(exercise.id.split(".")[0])
    [file] = Path(exercises.__file__).parent.glob(f"ch{chapter:02d}_*.py")
    return f"Exercise {exercise.id} in code/attnbook/exercises/{file.name}"


def tensors_in(argument):
    match argument:
        case torch.Tensor():
            yield argument
        case list() | tuple():
            for part in argument:
                yield from tensors_in(part)
        case dict():
            yield from tensors_in([*argument.values()])


@functools.cache
def report_on(id, mistake, seed):
    return grade(EXERCISES[id], EXERCISES[id].mistakes[mistake], seed)


@functools.cache
def report_on_wrong(number):
    id, answer, _ = WRONG[number]
    return grade(EXERCISES[id], answer)


@for_each(EXERCISES.values())
@pytest.mark.parametrize("seed", [0, 2])  # each tries the inputs of the next as well
def test_the_reference_passes_and_its_inputs_stay_as_they_were(exercise, seed):
    report = grade(exercise, exercise.reference, seed)
    assert report.passed and report.holds, f"{place(exercise)}: its own solution fails. {report}"
    assert report.diagnosis is None and report.failures == []
    if exercise in CODED:
        probes = exercise.trial(seed).probes, exercise.probes(seed)
        assert sandbox.identical(*([*tensors_in(inputs)] for inputs in probes)), (
            f"{place(exercise)} changes its inputs, or they don't all come from the generator"
        )


@for_each(EXERCISES.values())
def test_every_mistake_is_diagnosed_under_its_own_name(exercise):
    # every eighth of them on other inputs, too
    tried = [(name, 0) for name in exercise.mistakes] + [(n, 1) for n in [*exercise.mistakes][::8]]
    wrong = {}
    for name, seed in tried:
        report = report_on(exercise.id, name, seed)
        if report.passed or not report.attempted or report.diagnosis != name:
            wrong[name] = f"called {report.diagnosis!r} with the inputs of seed {seed}"
        else:
            assert report.explanation and report.explanation in str(report)
    assert not wrong, (
        f"{place(exercise)}: each mistake must be rejected under its own name, but these are not: "
        f"{wrong}. Choose inputs on which all mistakes give different results."
    )


@for_each([*CODED, *SORTED, *(e for e in EXERCISES.values() if isinstance(e, Construction))])
def test_each_property_can_fail(exercise):
    sentences = [item.sentence for item in exercise.properties]
    reports = [report_on(exercise.id, name, 0) for name in exercise.mistakes]
    reports += [report_on_wrong(i) for i, (id, *_) in enumerate(WRONG) if id == exercise.id]
    failures = " ".join(failure for report in reports for failure in report.failures)
    idle = [sentence for sentence in sentences if f"Not true: {sentence}" not in failures]
    assert not idle, (
        f"{place(exercise)}: no wrong answer contradicts {idle}. Add one to WRONG in "
        "tests/exercises/answers, or remove the property."
    )


def test_ids_are_unique_and_in_order():
    ids = [tuple(map(int, exercise.id.split("."))) for exercise in catalogue()]
    assert ids == sorted(set(ids)), (
        "exercises must have ids of their own, and stand in their order in code/attnbook/exercises"
    )


@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda i: f"{WRONG[i][0]}-{WRONG[i][2]}")
def test_a_wrong_answer_that_is_not_listed_is_rejected_with_a_true_sentence(number):
    report = report_on_wrong(number)
    assert report.attempted and not report.passed
    assert report.diagnosis is None
    assert WRONG[number][2] in " ".join(report.failures)


@pytest.mark.parametrize(("id", "answer"), RIGHT)
def test_a_right_answer_in_another_style_is_accepted(id, answer):
    report = grade(EXERCISES[id], answer)
    assert report.passed, str(report)


@for_each([exercise for exercise in CODED if [*tensors_in(exercise.probes())]])
def test_an_answer_that_keeps_results_by_shape_is_found_out(exercise):
    kept = {}

    @functools.wraps(exercise.reference)
    def remembers_shapes(*arguments):
        shapes = tuple(tensor.shape for tensor in tensors_in(arguments))
        others = tuple(a for a in arguments if isinstance(a, int | float))
        if (shapes, others) not in kept:
            kept[shapes, others] = exercise.reference(*arguments)
        return kept[shapes, others]

    report = grade(exercise, remembers_shapes)
    assert not report.passed, (
        f"{place(exercise)} accepts results that belong to other inputs of the same shapes: its "
        "inputs must depend on the generator"
    )
    if any(tensor.is_floating_point() for tensor in tensors_in(exercise.trial(0).expected)):
        assert "the same result" in " ".join(report.failures)


def has_a_thin_inner_axis(tensor):
    """Whether an axis of size 1 stands between longer ones, where a lost axis goes unnoticed."""
    shape = tensor.shape
    return any(
        shape[i] == 1 and max(shape[:i]) > 1 and max(shape[i + 1 :]) > 1
        for i in range(1, len(shape) - 1)
    )


@for_each([e for e in CODED if "(...," in TEXTS[e.id]])
def test_where_any_axes_may_lead_one_of_them_has_the_size_1(exercise):
    tensors = [tensor for probe in exercise.probes() for tensor in tensors_in(probe)]
    assert any(map(has_a_thin_inner_axis, tensors)), (
        f"{place(exercise)}: its text allows any axes in front, so an input needs one of size 1 "
        "between longer ones, on which a stray `squeeze` shows"
    )


@pytest.mark.parametrize("id", ["1.10", "3.2", "9.8"])  # numbers, a tensor, inputs in a dict
def test_once_there_is_nan_nothing_else_is_said(id):
    reference = EXERCISES[id].reference

    @functools.wraps(reference)
    def spoilt(*arguments):
        return reference(*arguments) * math.nan

    [failure] = grade(EXERCISES[id], spoilt).failures
    assert failure.startswith("The result contains NaN (not a number).")


@pytest.mark.parametrize("id", ["2.7", "2.9", "8.13"])
def test_float64_results_are_examined_like_others(id):
    reference = EXERCISES[id].reference
    report = grade(EXERCISES[id], lambda *arguments: reference(*arguments).double())
    assert report.passed, str(report)


def test_a_prediction_is_never_answered_for_the_learner():
    for exercise in EXERCISES.values():
        if isinstance(exercise, NumericAnswer):
            for wrong in (*exercise.mistakes.values(), 7.0, 1e6):
                numbers = str(grade(exercise, wrong)).replace(",", " ").split()
                assert f"{exercise.reference:g}" not in [n.rstrip(".") for n in numbers], (
                    f"{place(exercise)}: what is said about {wrong:g} contains the right number"
                )


@for_each(CHOICES)
def test_a_wrong_option_never_gives_the_right_one_away(exercise):
    assert exercise.options == [*"ABCDEF"[: len(exercise.options)]], (
        f"{place(exercise)}: its options must be the first letters, one each"
    )
    for letter in exercise.mistakes.values():
        shown = str(grade(exercise, letter))
        given_away = re.search(rf"\b{exercise.reference}\b", shown) or exercise.because in shown
        assert not given_away, (
            f"{place(exercise)}: what is said about {letter} gives it away: {shown}"
        )


@for_each([exercise for exercise in EXERCISES.values() if isinstance(exercise, Repair)])
def test_what_is_to_be_mended_is_the_stub_and_each_of_its_lines_gets_an_answer(exercise):
    [task] = (task for task in TASKS if task.id == exercise.id)
    numbers = [int(number) for number in re.findall(r"# (\d+)$", task.stub, re.M)]
    assert numbers == [*range(1, len(numbers) + 1)], f"{place(exercise)}: its lines are {numbers}"
    assert {*numbers} == {exercise.line, *exercise.right_lines}
    for number in numbers:
        report = grade(exercise, number)
        assert not report.passed and report.attempted
        assert (number == exercise.line) == bool(report.holds)
    assert "There is no line" in str(grade(exercise, len(numbers) + 1))
    above, name = task.call
    given = {"math": math, "torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    given |= {"PAD": PAD, "START": START, "END": END}
    exec(above, given)
    report = grade(exercise, given[name])
    assert report.diagnosis == Repair.NOT_MENDED and exercise.share(report) == 0
    mended, stub = ([*map(str.strip, code.split("\n"))] for code in (task.solution, above))
    changed = [i for i, line in enumerate(stub) if line not in mended]
    assert [int(stub[i].split("# ")[-1]) for i in changed] == [exercise.line], (
        f"{place(exercise)}: its solution must change line {exercise.line} of the stub alone"
    )


@for_each(SORTED)
def test_suspects_can_be_sorted_by_their_results_alone(exercise):
    shown = [one.right for one in exercise.suspects if one.letter]
    unseen = [one.right for one in exercise.suspects if not one.letter]
    assert len(shown) == 6 and 2 <= shown.count(False) <= 4, f"{place(exercise)} has {shown}"
    assert shown not in (sorted(shown), sorted(shown, reverse=True)), "their order gives them away"
    assert {*unseen} == {True, False}, f"{place(exercise)} keeps back {unseen}: it takes both kinds"
    calls = {str(inspect.signature(one.function)) for one in exercise.suspects}
    assert len(calls) == 1, f"{place(exercise)}: its suspects take different arguments, {calls}"
    with sandbox.Sandbox() as box:
        for test in (exercise.reference, *exercise.mistakes.values()):
            verdicts = verdicts_of(exercise, test, box, seed=0)
            stopped = {v.suspect.does: v.stopped for v in verdicts if v.stopped}
            assert not stopped, f"{place(exercise)}: none may stop with an error, but {stopped}"


@for_each(SORTED)
def test_suspects_leave_their_inputs_as_they_were(exercise):
    def careful(function):
        def f(*arguments):
            before = copy.deepcopy(arguments)
            result = function(*arguments)
            assert sandbox.identical(before, arguments)
            return result

        return f

    with sandbox.reproducible():
        for one in exercise.suspects:
            assert exercise.reference(careful(one.function)) == one.right
