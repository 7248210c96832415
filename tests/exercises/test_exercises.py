"""The exercises answer back: rightly, kindly, and whatever a learner hands in."""

import contextlib
import copy
import functools
import math
import random
import re
import sys
import threading
import time

import nbformat
import numpy as np
import pytest
import torch
from answers import RIGHT, WRONG
from answers.ch03 import right_scores
from nbclient import NotebookClient

from attnbook.exercises import (
    Exercise,
    MultipleChoice,
    NumericAnswer,
    catalogue,
    check,
    hint,
    points,
    sandbox,
)
from attnbook.exercises.compare import Comparison
from attnbook.exercises.exercise import GRADIENTS
from attnbook.exercises.properties import changed, row_sums
from attnbook.exercises.report import describe, told_apart
from attnbook.exercises.sandbox import Outcome

EXERCISES = {exercise.id: exercise for exercise in catalogue()}
CHOICES = [e for e in EXERCISES.values() if isinstance(e, MultipleChoice)]
MISTAKES = [
    pytest.param(exercise, name, id=f"{exercise.id}-{name}")
    for exercise in EXERCISES.values()
    for name in exercise.mistakes
]


def grade(id, answer):
    return EXERCISES[id].grade(answer)


@pytest.fixture
def scores():
    """An exercise of the tests' own, so that the chapters' may change their inputs."""
    exercise = Exercise("0.1", "Scores of several heads", hints=["…"])
    exercise.solution(lambda query, key: right_scores(query, key))

    @exercise.inputs
    def _(generator):
        for shape_query, shape_key in [
            ((1, 1, 1, 3), (1, 2, 1, 3)),
            ((1, 2, 3, 2), (1, 4, 3, 2)),
            ((2, 5, 2, 8), (2, 3, 2, 8)),
            ((2, 4, 4, 5), (2, 4, 4, 5)),
        ]:
            query = torch.randn(shape_query, generator=generator)
            yield query, torch.randn(shape_key, generator=generator)

    return exercise


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda e: e.id)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_reference_passes(exercise, seed):
    report = exercise.grade(exercise.reference, seed)
    assert report.attempted and report.passed and report.diagnosis is None
    assert report.failures == [] and report.holds


@pytest.mark.parametrize(("exercise", "name"), MISTAKES)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_catalogued_mistake_is_diagnosed_under_its_own_name(exercise, name, seed):
    report = exercise.grade(exercise.mistakes[name], seed)
    assert report.attempted and not report.passed
    assert report.diagnosis == name
    assert report.explanation and report.explanation in str(report)


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=lambda e: e.id)
def test_an_exercise_is_complete(exercise):
    fewest = 2 if isinstance(exercise, MultipleChoice) else 4
    assert exercise.hints and len(exercise.mistakes) >= fewest
    for name, explanation in exercise.explanations.items():
        assert name and explanation.count(". ") >= 1, (
            f"{name}: say what was done, then what it causes"
        )


def test_ids_are_unique_and_in_order():
    ids = [tuple(map(int, exercise.id.split("."))) for exercise in catalogue()]
    assert ids == sorted(set(ids))


@pytest.mark.parametrize(("id", "answer", "sentence"), WRONG)
def test_a_wrong_answer_that_is_not_listed_is_rejected_with_a_true_sentence(id, answer, sentence):
    report = grade(id, answer)
    assert report.attempted and not report.passed
    assert report.diagnosis is None
    assert sentence in " ".join(report.failures)


@pytest.mark.parametrize(("id", "answer"), RIGHT)
def test_a_right_answer_in_another_style_is_accepted(id, answer):
    report = grade(id, answer)
    assert report.passed, str(report)


def scores_cut_off(query, key, *, cut):
    product = right_scores(query, key)
    match cut:
        case "result":
            return product.detach()
        case "query":
            return right_scores(query.data, key)
        case "half":
            return right_scores(query, (key + key.detach()) / 2)
        case "no_grad":
            with torch.no_grad():
                return right_scores(query, key)
        case "item":
            return product * 0 + torch.tensor(product.tolist())
        case "in place":
            powers = product.exp()
            result = powers.log()
            powers.zero_()
            return result


@pytest.mark.parametrize(
    ("cut", "sentence"),
    [
        ("result", "The result is cut off from all inputs. `detach`,"),
        ("no_grad", "The result is cut off from all inputs. `detach`,"),
        ("query", "None reaches `query`: it is not used, or cut off."),
        ("item", "None reaches `query`: it is not used, or cut off."),
        ("half", "Those of `key` are wrong: is a step cut off?"),
        ("in place", "`backward` fails: one of the variables needed for gradient"),
    ],
)
def test_a_result_that_is_cut_off_from_its_inputs_is_found_out(cut, sentence):
    report = grade("3.2", functools.partial(scores_cut_off, cut=cut))
    assert not report.passed and len(report.failures) == 1
    assert report.failures[0].startswith(f"Not true: {GRADIENTS} {sentence}")
    assert 0 < EXERCISES["3.2"].share(report) < 0.5


def test_wrong_numbers_have_other_gradients_and_that_is_not_held_against_them():
    report = grade("3.2", lambda query, key: right_scores(query, key) * query.sum())
    assert not report.passed and GRADIENTS in report.holds


def test_where_nothing_is_to_be_learned_gradients_may_be_cut_off():
    assert grade("3.3", lambda weights: EXERCISES["3.3"].reference(weights).detach()).passed


def tensors_in(argument):
    match argument:
        case torch.Tensor():
            yield argument
        case list() | tuple():
            for part in argument:
                yield from tensors_in(part)
        case dict():
            yield from tensors_in([*argument.values()])


OF_TENSORS = [
    id for id, e in EXERCISES.items() if type(e) is Exercise and [*tensors_in(e.probes())]
]


@pytest.mark.parametrize("id", OF_TENSORS)
def test_an_answer_that_keeps_results_by_shape_is_found_out(id):
    reference = EXERCISES[id].reference
    kept = {}

    @functools.wraps(reference)
    def remembers_shapes(*arguments):
        shapes = tuple(tensor.shape for tensor in tensors_in(arguments))
        others = tuple(a for a in arguments if isinstance(a, int | float))
        if (shapes, others) not in kept:
            kept[shapes, others] = reference(*arguments)
        return kept[shapes, others]

    report = grade(id, remembers_shapes)
    assert not report.passed
    if any(tensor.is_floating_point() for tensor in tensors_in(EXERCISES[id].trial(0).expected)):
        assert "the same result" in " ".join(report.failures)


def test_an_answer_that_knows_one_shape_from_an_earlier_cell_is_found_out(scores):
    first = right_scores(torch.zeros(1, 1, 1, 3), torch.zeros(1, 2, 1, 3))

    def remembers_one_shape(query, key):
        result = right_scores(query, key)
        return first if result.shape == first.shape else result

    report = scores.grade(remembers_one_shape)
    assert not report.passed and "On 3 of 4 inputs it is right." in " ".join(report.failures)


def by_parts(scores, temperature, in_float64):
    weights = (scores / temperature).softmax(dim=-1)
    return in_float64(weights) if scores.dtype == torch.float64 else weights


def test_float64_must_not_give_wrong_numbers():
    report = grade("3.4", functools.partial(by_parts, in_float64=torch.ones_like))
    assert not report.passed and len(report.failures) == 1
    assert report.failures[0].startswith("With the same inputs in float64: The result is not right")


def test_float64_must_not_be_an_error():
    report = grade("3.4", functools.partial(by_parts, in_float64=lambda dtype: 1 / 0))
    assert not report.passed
    assert report.failures[0].startswith("With the same inputs in float64: It raises ZeroDivision")


def test_a_type_that_torch_refuses_is_no_excuse_for_wrong_numbers():
    def refused_or_wrong(weights):
        return weights @ torch.eye(2) if weights.shape[-1] == 2 else weights * 2

    report = grade("3.4", functools.partial(by_parts, in_float64=refused_or_wrong))
    assert not report.passed and "The result is not right" in report.failures[0]


def test_numbers_rounded_to_float32_are_precise_enough():
    report = grade("3.4", functools.partial(by_parts, in_float64=torch.Tensor.float))
    assert report.passed and report.remarks == []


def test_a_constant_that_is_float32_is_remarked_on_and_no_mistake():
    report = grade("3.4", lambda s, t: (s / t).softmax(-1) @ torch.eye(s.shape[-1]))
    assert report.passed and ".to(x)" in report.remarks[0]
    assert "Remark: With the same inputs in float64: It raises RuntimeError" in str(report)


@pytest.mark.parametrize("id", ["2.5", "2.7", "8.8"])
def test_float64_results_are_examined_like_others(id):
    reference = EXERCISES[id].reference
    report = grade(id, lambda *arguments: reference(*arguments).double())
    assert report.passed, str(report)


@pytest.mark.parametrize("id", [id for id, e in EXERCISES.items() if type(e) is Exercise])
def test_once_there_is_nan_nothing_else_is_said(id):
    reference = EXERCISES[id].reference

    @functools.wraps(reference)
    def spoilt(*arguments):
        return reference(*arguments) * math.nan

    if getattr(reference(*EXERCISES[id].probes()[0]), "dtype", None) == torch.bool:
        return  # True and False can't be NaN
    report = grade(id, spoilt)
    assert len(report.failures) == 1
    assert report.failures[0].startswith("The result contains NaN (not a number).")


def test_nan_where_only_a_property_asks_is_named():
    def fails_for_equal_weights(weights):
        right = EXERCISES["3.3"].reference(weights)
        return right.where(weights.std(dim=-1) > 1e-6, math.nan)

    failures = " ".join(grade("3.3", fails_for_equal_weights).failures)
    assert "contains NaN" in failures and "nan" not in failures


def test_an_error_on_some_inputs_leaves_no_doubt_about_the_others():
    def stops_at_two_heads(query, key):
        if query.shape[2] > 1:
            raise ValueError
        return right_scores(query, key) + 1

    failures = grade("3.2", stops_at_two_heads).failures
    assert failures[0].startswith("It raises ValueError")
    assert failures[1].startswith("Where it runs, the result is not right: it is off by up to 1.")


def rows_times(scores):
    return scores * torch.arange(1.0, scores.shape[-2] + 1)[:, None]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda s: -s, "It is wrong by the same factor everywhere: the sign."),
        (lambda s: s * 3, "It is wrong by the same factor everywhere."),
        (lambda s: s + 3, "It is wrong by the same amount everywhere."),
        (rows_times, "Each row is the right one times a number."),
        (lambda s: s - s.amax(dim=-1, keepdim=True), "Each row is the right one plus a number."),
        (lambda s: s.flip(-1), "The numbers are right, but not their order."),
        (lambda s: s.clone().index_fill_(3, torch.tensor(0), 9.0), "only the first entry is wrong"),
        (lambda s: s.exp(), None),
    ],
)
def test_what_all_wrong_results_have_in_common_is_said(scores, wrong, sentence):
    failures = " ".join(scores.grade(lambda q, k: wrong(right_scores(q, k))).failures)
    assert "The result is not right" in failures
    hints = ["same", "Each row is", "The numbers are", "axes are", "Along axis"]
    if sentence:
        assert sentence in failures
    else:
        assert not any(hint in failures for hint in hints)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([[1.0, 3.0], [2.0, 4.0]], "Two of its axes are exchanged."),
        ([[1.0, 9.0], [3.0, 9.0]], "Along axis 1 only the first entry is right."),
        ([[1.0, 2.0], [3.0, 9.0]], "Along axis 0 only the first entry is right."),
        ([[9.0, 2.0], [9.0, 9.0]], None),
    ],
)
def test_what_one_wrong_table_shows_is_said(value, sentence):
    outcome, right = Outcome(torch.tensor(value)), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    said = Comparison([(outcome, right)], [], None).difference()
    assert said.startswith("The result is not right: it is off by up to ")
    assert said.endswith(sentence if sentence else said.split(": ")[1])


def test_infinite_results_are_no_numbers_to_be_off_by():
    right = torch.tensor([1.0, -math.inf, 2.0])
    for value, sentence in [
        ([1.0, -1e9, 2.0], "it must be infinite where it is not."),
        ([1.0, -math.inf, 2.5], "it is off by up to 0.5."),
        ([1.0, -1e9, 2.5], "it is off by up to 0.5."),
    ]:
        said = Comparison([(Outcome(torch.tensor(value)), right)], [], None).difference()
        assert said.startswith(f"The result is not right: {sentence}")


def test_a_squeezed_result_is_named():
    failures = grade("3.2", lambda q, k: right_scores(q, k).squeeze()).failures
    missing = "An axis of size 1 is missing: is there a `squeeze`?"
    assert "it has (2,). " + missing in failures[0]
    assert missing not in grade("3.2", lambda q, k: right_scores(q, k)[0]).failures[0]


def test_grading_leaves_the_probes_as_they_were():
    for exercise in EXERCISES.values():
        if type(exercise) is Exercise:
            exercise.grade(exercise.reference)
            kept, anew = (
                [*tensors_in(probes)] for probes in (exercise.trial(0).probes, exercise.probes(0))
            )
            assert sandbox.identical(kept, anew)


def test_new_inputs_are_used_though_others_are_known():
    exercise = copy.copy(EXERCISES["3.3"])
    assert exercise.grade(exercise.reference).passed
    exercise.inputs(lambda generator: [(torch.full((1, 2), 0.5),)])
    assert "on 1 inputs" in str(exercise.grade(exercise.reference))
    original = EXERCISES["3.3"]
    assert f"on {len(original.probes())} inputs" in str(original.grade(original.reference))


def test_a_gradient_of_0_that_belongs_to_a_wrong_result_is_not_called_cut_off():
    def less_the_largest(query, key):  # of one key there is nothing left
        result = right_scores(query, key)
        return result - result.amax(dim=-1, keepdim=True)

    assert "None reaches" not in " ".join(grade("3.2", less_the_largest).failures)


def test_checks_leave_no_threads_behind():
    before = threading.active_count()
    for _ in range(20):
        grade("3.2", right_scores)
    time.sleep(0.1)
    assert threading.active_count() <= before + 1


def test_the_nearest_of_the_known_numbers_is_the_diagnosis():
    guess = NumericAnswer("0.1", "A number", answer=100.0, within=0.05, hints=[])
    guess.wrong_value("ten", 10.0, "")
    guess.wrong_value("a bit more", 10.3, "")
    assert guess.grade(10.1).diagnosis == "ten"
    assert guess.grade(10.2).diagnosis == "a bit more"


def test_points_need_a_seed():
    with pytest.raises(ValueError, match="seeds is empty"):
        points("3.2", right_scores, of=4, seeds=[])
    assert points("3.2", right_scores, of=4, seeds=iter([0, 1])) == 4


def test_numbers_that_should_be_zero_are_not_wrong_by_a_factor():
    def all_ones(order):
        return torch.ones(*order.shape, order.shape[-1])

    failures = " ".join(grade("5.2", all_ones).failures)
    assert "off by up to 1" in failures and "same factor" not in failures


@pytest.mark.parametrize(
    "mode",
    [
        torch.no_grad,
        torch.inference_mode,
        lambda: torch.autocast("cpu", torch.bfloat16),
        lambda: torch.device("meta"),
    ],
)
@pytest.mark.parametrize("id", ["3.2", "3.7", "5.2", "9.3"])
def test_the_mode_the_notebook_is_in_does_not_matter(mode, id):
    exercise = copy.copy(EXERCISES[id])
    exercise.solution(exercise.reference)  # nothing is known from earlier checks
    with mode():
        report = exercise.grade(exercise.reference)
    assert report.passed, str(report)


def stub(query, key):
    """Its docstring stays."""
    # your code here
    ...


def stub_that_passes(query, key):
    pass


def stub_that_raises(query, key):
    raise NotImplementedError


def stub_that_returns(query, key):
    return ...


def without_source(body, indent="\n    "):
    """A function that was not read from any file."""
    found = {}
    exec(f"def answer(query, key):{indent}{body}", found)
    return found["answer"]


STUBS = [
    None,
    ...,
    stub,
    stub_that_passes,
    stub_that_raises,
    stub_that_returns,
    lambda query, key: ...,
    lambda query, key: None,
    without_source("..."),
    without_source("pass", indent=" "),
    without_source("'Its docstring.'\n    ..."),
]


@pytest.mark.parametrize("answer", STUBS)
def test_an_untouched_stub_is_not_attempted(answer, capsys):
    report = check("3.2", answer)
    assert not report.attempted and not report.passed and report.failures == []
    assert "not attempted" in capsys.readouterr().out


@pytest.mark.parametrize(
    "answer",
    [
        lambda query, key: 0,
        lambda query, key: True,
        lambda query, key: "text",
        lambda query, key: query,
        lambda query, key: key,
        lambda query, key: math.inf,
        without_source("return 5"),
        without_source("'Its docstring.'\n    return 'text'"),
        without_source("if key is None: pass"),
    ],
)
def test_the_shortest_of_answers_is_one(answer):
    assert grade("3.2", answer).attempted


@pytest.mark.parametrize("id", ["3.0", "3.1"])
@pytest.mark.parametrize("answer", [None, ...])
def test_an_untouched_prediction_is_not_attempted(id, answer):
    report = check(id, answer)
    assert not report.attempted and report.failures == []
    assert "Replace the `...`" in str(report)


def endless(query, key):
    while True:
        pass


def endless_and_loud(query, key):
    while True:
        print("still here")


def fork_bomb_of_calls(query, key):
    return fork_bomb_of_calls(query, key)


def forgets_to_return(query, key):
    _ = query @ key.mT


def undefined_name(query, key):
    return query @ key.mT / root  # noqa: F821


def object_without_repr(query, key):
    class Hostile:
        def __repr__(self):
            raise RuntimeError

        def __eq__(self, other):
            raise RuntimeError

        __hash__ = None

    return Hostile()


def edits_both(query, key):
    query *= 0
    key.zero_()
    return query @ key.mT


def raises_something_hostile(query, key):
    class Hostile(Exception):
        def __str__(self):
            raise SystemExit

    raise Hostile


async def asynchronous(query, key):
    return right_scores(query, key)


SURVIVED = [
    (endless, "did not finish within"),
    (endless_and_loud, "did not finish within"),
    (fork_bomb_of_calls, "RecursionError"),
    (forgets_to_return, "is a `return` missing?"),
    (undefined_name, "NameError in line"),
    (undefined_name, "`return query @ key.mT / root  # noqa: F821`"),
    (object_without_repr, "must return a torch tensor; it returns a Hostile"),
    (edits_both, "changes its input `query` and `key` in place"),
    (lambda q, k: sys.exit("bye"), "SystemExit"),
    (lambda q, k: (_ for _ in ()).throw(KeyboardInterrupt), "KeyboardInterrupt"),
    (lambda q, k: input("?"), "It raises"),
    (lambda q, k: right_scores(q, k).to_sparse(), "can't be examined"),
    (lambda q, k: right_scores(q, k).to("meta"), "can't be examined"),
    (lambda q, k: (q.int() @ k.mT.int()).softmax(-1), "It raises"),
    (raises_something_hostile, "It raises Hostile"),
    (asynchronous, "leave that word out"),
    (lambda q, k: q[0] @ k, "It raises RuntimeError"),
    (lambda q, k: q[0] @ k, "is a transpose missing, one too many, or of other axes?"),
    (lambda q, k: right_scores(q, k) * torch.nan, "contains NaN"),
    (lambda q, k: right_scores(q, k) + torch.inf, "infinite"),
    (lambda q, k: 3.0, "must return a torch tensor; it returns a float"),
    (lambda q, k: q.tolist(), "it returns a list"),
    (lambda q, k: (q @ k.mT, None), "it returns a tuple"),
    (lambda q, k: right_scores(q, k) * 1j, "complex"),
    (lambda q, k: torch.ones(0), "it has (0,)"),
    (lambda q: q, "yours takes q"),
    (lambda: 0, "yours takes no arguments"),
    (3.0, "yours is a float, not a function"),
    (np.ones((2, 2)), "yours is a NumPy ndarray, not a function"),
    (torch.ones(2), "not a function"),
    (print, "is a `return` missing?"),
    (torch.add, "The result must have the shape"),
    (torch.nn.Linear, "It raises"),
]


@pytest.mark.parametrize(("answer", "sentence"), SURVIVED)
def test_whatever_is_handed_in_gets_a_sentence(answer, sentence, monkeypatch, capsys):
    monkeypatch.setattr(sandbox, "SECONDS_PER_CALL", 0.3)
    report = check("3.2", answer)
    assert report.attempted and not report.passed and report.diagnosis is None
    assert sentence in " ".join(report.failures)
    shown = capsys.readouterr().out
    assert sentence in shown and "Traceback" not in shown


def test_a_loop_that_catches_everything_does_not_hang_the_check(monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS_PER_CALL", 0.2)
    alive = True

    def until_the_test_ends(query, key):
        while alive:
            with contextlib.suppress(BaseException):
                time.sleep(0.001)

    started = time.monotonic()
    report = grade("3.2", until_the_test_ends)
    alive = False
    assert "did not finish" in report.failures[0]
    assert time.monotonic() - started < 10


def test_many_slow_calls_run_out_of_time_together(monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS_PER_CHECK", 0.5)

    def slow(query, key):
        time.sleep(0.2)
        return right_scores(query, key)

    assert "took more than 0.5 seconds" in grade("3.2", slow).failures[0]


def test_what_is_printed_is_shown_with_the_counterexample_and_cut():
    def chatty(query, key):
        print("shapes", tuple(query.shape), "x" * 10_000_000)
        return right_scores(query, key) * math.sqrt(query.shape[-1])

    report = grade("3.2", chatty)
    assert report.diagnosis == "no scaling at all"
    assert report.printed.startswith("shapes (1, 1, 1, 3)") and len(report.printed) <= 1000
    assert "There your function printed: shapes (1, 1, 1, 3)" in str(report)


def test_the_counterexample_is_the_smallest_input_and_shows_the_result_but_not_the_answer():
    text = str(grade("3.2", EXERCISES["3.2"].mistakes["no scaling at all"]))
    given = "`query = [[[[1, 2, 0]]]]`, `key = [[[[3, 1, 1]], [[0, 1, 2]]]]`"
    assert f"for {given} you return `[[[[5, 2]]]]`" in text
    assert f"{5 / math.sqrt(3):.2g}" not in text


@pytest.mark.usefixtures("no_shape_checks")  # beartype draws from `random`
def test_a_check_leaves_no_trace():
    def careless(query, key):
        torch.manual_seed(3), np.random.seed(3), random.seed(3)
        torch.set_default_dtype(torch.float64)
        sys.stdout.close()
        return right_scores(query, key)

    torch.manual_seed(0), np.random.seed(0), random.seed(0)
    expected = torch.rand(1), np.random.rand(), random.random()
    torch.manual_seed(0), np.random.seed(0), random.seed(0)
    before = sys.stdout
    grade("3.2", careless)
    assert sys.stdout is before and not before.closed
    assert (torch.rand(1), np.random.rand(), random.random()) == expected
    assert torch.get_default_dtype() == torch.float32


def test_an_answer_that_remembers_an_earlier_call_is_found_out():
    first = []

    def forgetful(weights):
        first.append(weights)
        return (-torch.xlogy(first[0], first[0]).sum(dim=-1)).exp()

    def growing(weights):
        first.append(weights)
        keys = (-torch.xlogy(weights, weights).sum(dim=-1)).exp()
        return keys * (1 + len(first) / 100)

    assert not grade("3.3", forgetful).passed
    assert "remember earlier calls" in " ".join(grade("3.3", growing).failures)


def test_an_answer_that_draws_from_the_global_generator_is_found_out():
    def noisy(weights):
        keys = (-torch.xlogy(weights, weights).sum(dim=-1)).exp()
        return keys + 0.1 * torch.rand(())

    assert "Called twice with the same input" in " ".join(grade("3.3", noisy).failures)


@pytest.mark.parametrize(
    ("value", "other", "text"),
    [
        (5.774, 1, "5.774"),
        (1.0002, 1, "1.0002"),
        (0.99999999, 1.0, "0.99999999"),
        (49728, 50000, "49728"),
        (49728.25, 49728, "49728.2"),
        (123456.0, 123457.0, "123456"),
        (1, 1.0, "1"),
        (torch.tensor([1.0, 2.00002]), torch.tensor([1.0, 2.0]), "[1, 2.00002]"),
    ],
)
def test_a_number_has_as_many_digits_as_tell_it_from_the_other(value, other, text):
    assert told_apart(value, other) == text


def test_how_far_a_result_is_off_is_a_plain_number():
    right = torch.zeros(3)
    for off, text in [(0.123, "0.12"), (99.0, "99"), (100.0, "100"), (49728.0, "49728")]:
        said = Comparison([(Outcome(right + off), right)], [], None).difference()
        assert f"off by up to {text}." in said


def test_a_sentence_never_shows_one_number_twice_where_two_are_meant():
    ones, infinite = torch.ones(2), torch.tensor([torch.inf, 1.0])
    assert changed(ones, ones * 1.0013, "from {} to {}") == "From 1 to 1.001."
    assert changed(infinite, infinite - 0.5, "from {} to {}") == "From 1 to 0.5."
    assert row_sums(torch.tensor([[0.5, 0.5002]])) == "One sums to 1.0002."


def test_html_escapes_what_the_learner_wrote():
    def attack(query, key):
        print("<script>alert(1)</script>")
        raise ValueError("<b>bold</b>")

    html = grade("3.2", attack).to_html()
    assert "<script>" not in html and "<b>bold" not in html
    assert "&lt;b&gt;bold" in html


def test_an_unknown_exercise_is_an_error_that_lists_the_known_ones():
    for function in (lambda: check("3.99", None), lambda: hint("3.99")):
        with pytest.raises(KeyError, match=r"3\.99.*'3\.1', '3\.2'"):
            function()


def test_hints_unfold_one_at_a_time(capsys):
    hints = EXERCISES["3.3"].hints
    for given in (1, 2, 3, 3):
        hint("3.3")
        shown = capsys.readouterr().out
        assert [text in shown for text in hints] == [i < given for i in range(len(hints))]
        assert ("last hint" in shown) == (given == len(hints))


def test_a_prediction_is_never_answered_for_the_learner():
    for exercise in EXERCISES.values():
        if isinstance(exercise, NumericAnswer):
            for wrong in (*exercise.mistakes.values(), 7.0, 1e6):
                numbers = str(exercise.grade(wrong)).replace(",", " ").split()
                assert f"{exercise.reference:g}" not in [n.rstrip(".") for n in numbers]


@pytest.mark.parametrize("choice", CHOICES, ids=lambda e: e.id)
def test_a_wrong_option_never_gives_the_right_one_away(choice):
    assert choice.options == [*"ABCDEF"[: len(choice.options)]]
    for letter in choice.mistakes.values():
        shown = str(choice.grade(letter))
        assert not re.search(rf"\b{choice.reference}\b", shown), shown
        assert choice.because not in shown


@pytest.mark.parametrize("written", ["c", "C", " c ", "C\n", "C.", "(C)", "c)", "**c**"])
def test_a_letter_counts_however_it_is_written(written):
    report = check("3.0", written)
    assert report.passed and report.holds == [EXERCISES["3.0"].because]


@pytest.mark.parametrize("answer", [3, "Z", "", ["A"], "A and B", "AB", b"A", torch.ones(3)])
def test_what_is_none_of_the_letters_gets_a_sentence_that_lists_them(answer):
    report = check("3.0", answer)
    assert report.attempted and not report.passed and report.diagnosis is None
    listed = 'The answer is one letter, `"A"`, `"B"` or `"C"`; yours is '
    assert report.failures == [f"{listed}`{describe(answer)}`."]


def test_a_notebook_shows_each_report_once_and_again_when_asked():
    cells = [
        "from attnbook.exercises import check",
        'report = check("3.1", 400)',
        'check("3.1", 400)',
        "report",
    ]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    NotebookClient(notebook, kernel_name="python3").execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert [len(shown) for shown in outputs] == [0, 1, 1, 1]
    for shown in outputs[1:]:
        data = shown[0].data
        assert "the variance, not the standard deviation" in data["text/plain"]
        assert data["text/html"].startswith('<div class="attnbook-report"')
