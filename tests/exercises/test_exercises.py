"""The exercises answer back: rightly, kindly, and whatever a learner hands in."""

import contextlib
import copy
import functools
import math
import random
import re
import sys
import time

import nbformat
import numpy as np
import pytest
import torch
from answers import RIGHT, WRONG
from answers.ch03 import right_scores
from nbclient import NotebookClient

from attnbook.exercises import Choice, Prediction, catalogue, check, hint, sandbox
from attnbook.exercises.exercise import GRADIENTS
from attnbook.exercises.properties import changed, row_sums
from attnbook.exercises.report import describe, told_apart

EXERCISES = {exercise.id: exercise for exercise in catalogue()}
CHOICES = [e for e in EXERCISES.values() if isinstance(e, Choice)]
MISTAKES = [
    pytest.param(exercise, name, id=f"{exercise.id}-{name}")
    for exercise in EXERCISES.values()
    for name in exercise.mistakes
]


def grade(id, answer):
    return EXERCISES[id].grade(answer)


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
    fewest = 2 if isinstance(exercise, Choice) else 4
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


@pytest.mark.parametrize(
    ("cut", "sentence"),
    [
        ("result", "The result is cut off from all inputs. `detach`,"),
        ("no_grad", "The result is cut off from all inputs. `detach`,"),
        ("query", "None reaches `query`: it is not used, or cut off."),
        ("item", "None reaches `query`: it is not used, or cut off."),
        ("half", "Those of `key` are wrong: is a step cut off?"),
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


@pytest.mark.parametrize("answer", [None, ..., stub, stub_that_passes, stub_that_raises])
def test_an_untouched_stub_is_not_attempted(answer, capsys):
    report = check("3.2", answer)
    assert not report.attempted and not report.passed and report.failures == []
    assert "not attempted" in capsys.readouterr().out


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
    (lambda q, k: q[0] @ k, "is a transpose missing"),
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
        (1, 1.0, "1"),
        (torch.tensor([1.0, 2.00002]), torch.tensor([1.0, 2.0]), "[1, 2.00002]"),
    ],
)
def test_a_number_has_as_many_digits_as_tell_it_from_the_other(value, other, text):
    assert told_apart(value, other) == text


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
        if isinstance(exercise, Prediction):
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


@pytest.mark.parametrize("written", ["c", "C", " c ", "C\n"])
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
