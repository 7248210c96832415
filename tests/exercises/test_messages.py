"""What a report says is true: of the answer, of the input that it shows, and of the clock."""

import threading
import time

import pytest
import torch

from attnbook.exercises import Exercise, catalogue, sandbox
from attnbook.exercises.grade import grade
from attnbook.exercises.report import describe
from attnbook.exercises.shrink import Bounds, cuts

EXERCISES = {exercise.id: exercise for exercise in catalogue()}


def report_on(id, mistake):
    report = grade(EXERCISES[id], EXERCISES[id].mistakes[mistake])
    assert report.diagnosis == mistake
    return str(report)


def doubling(*inputs, double=lambda x: 2 * x):
    exercise = Exercise("0.1", "Twice", hints=["…"])
    exercise.solution(double)
    exercise.inputs(lambda generator: inputs)
    return exercise


def parts_of(exercise):
    """All inputs to which a counterexample may shrink, and the inputs themselves."""
    trial = exercise.trial(0)
    bounds, found = Bounds(trial.probes), []
    for pair in zip(trial.probes, trial.expected, strict=True):
        to_cut = [pair]
        while to_cut:
            probe, right = to_cut.pop()
            found.append(probe)
            for pieces in cuts(exercise.reference, probe, right, bounds):
                to_cut += [pieces.parts[0], *pieces.pairs[:1]]
                break
    return found


@pytest.mark.parametrize(
    ("id", "holds"),
    [
        ("2.7", lambda q_proj, k_proj: q_proj.shape == k_proj.shape),
        ("2.9", lambda wanted, k_proj: len(wanted) == wanted.shape[1] == len(k_proj)),
        ("6.7", lambda scores, slopes: scores.shape[1] == len(slopes)),
        ("7.3", lambda query_weight, key_weight, heads: query_weight.shape == key_weight.shape),
    ],
)
def test_a_smaller_input_is_still_one_that_the_task_allows(id, holds):
    assert all(holds(*probe) for probe in parts_of(EXERCISES[id]))


def test_inputs_are_cut_where_nothing_is_tied():
    assert len(parts_of(EXERCISES["3.2"])) > len(EXERCISES["3.2"].probes())


@pytest.mark.parametrize(
    ("id", "mistake", "sentence"),
    [
        ("1.10", "rounded down", "Where it is wrong, it is off by the same amount."),
        ("7.8", "logarithms with base 2", "Where it is wrong, it is off by the same factor."),
    ],
)
def test_what_wrong_results_have_in_common_is_said_of_them_alone(id, mistake, sentence):
    shown = report_on(id, mistake)
    assert sentence in shown and "everywhere" not in shown


@pytest.mark.parametrize("mistake", ["without W_O", "projections transposed"])
def test_a_property_that_presupposes_the_rest_is_not_believed_of_a_known_mistake(mistake):
    assert "The queries of one head" not in report_on("7.4", mistake)


def test_no_axis_is_blamed_once_a_mistake_is_recognised():
    exercise = doubling((torch.ones(2),), (torch.eye(2),), (torch.ones(2, 2, 2),))
    mistake = exercise.mistake("only of vectors")(lambda x: 2 * x if x.ndim < 2 else x)
    report = grade(exercise, lambda x: x * (1 + (x.ndim < 2)))
    assert report.diagnosis == "only of vectors" and "axes" not in str(report)
    exercise.mistakes.clear()
    assert "count the axes from the front" in str(grade(exercise, mistake))


def endless(x):
    while x.ndim:
        time.sleep(0.01)
    return x


def test_what_does_not_finish_is_called_no_error(monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS_PER_CALL", 0.3)
    shown = str(grade(doubling((torch.ones(3),)), endless))
    assert "for `x = [1, 1, 1]` it does not finish." in shown and "error" not in shown
    shown = str(grade(doubling((torch.tensor(1.0),), (torch.ones(3),)), endless))
    assert "Where it finishes, the result is not right" in shown


def test_no_input_is_blamed_if_all_together_take_too_long(monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS_PER_CHECK", 0.5)
    shown = str(grade(doubling((torch.ones(3),)), endless))
    assert "Trying it on a few small inputs took more than 0.5 seconds" in shown
    assert "counterexample" not in shown


def test_what_does_not_finish_contradicts_no_property(monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS_PER_CALL", 0.3)
    exercise = doubling((torch.tensor(1.0),))
    exercise.holds("Zeros stay zeros.")(lambda f, x: f(torch.zeros(2)).any() or None)
    report = grade(exercise, lambda x: 2 * endless(x))
    assert not report.passed and report.holds == []
    assert "It did not finish" in str(report) and "Not true" not in str(report)


def test_no_thread_is_left_after_a_check(monkeypatch):
    def run_and_rest(worker, run=sandbox._Worker.run):
        run(worker)
        time.sleep(0.2)

    monkeypatch.setattr(sandbox._Worker, "run", run_and_rest)
    grade(EXERCISES["3.2"], EXERCISES["3.2"].reference)
    assert not [t for t in threading.enumerate() if isinstance(t, sandbox._Worker)]


def test_one_more_input_is_one():
    exercise = doubling((torch.ones(2),), (torch.ones(3),))
    assert "The same happens on 1 more input." in str(grade(exercise, lambda x: x[:, None]))


def too_wide(x):
    return x + torch.ones(17) + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0 + 0


def test_code_that_is_cut_off_ends_in_dots():
    assert "+ 0 +…`: The size" in str(grade(doubling((torch.ones(2),)), too_wide))


def test_zero_has_no_sign():
    assert describe(-0.0) == "0" and describe(torch.tensor([-0.0, -1.0])) == "[0, -1]"


def test_dictionaries_of_tensors_are_shown_whole():
    exercise = EXERCISES["9.8"]
    shown = grade(exercise, next(iter(exercise.mistakes.values()))).counterexample
    assert "tensor(" not in shown and "…" not in shown


def test_a_failed_check_ends_with_a_hint_to_copy_and_a_passed_one_does_not():
    exercise = doubling((torch.ones(2),))
    assert str(grade(exercise, lambda x: x)).endswith('\n  Stuck? Run `hint("0.1")`.')
    assert grade(exercise, lambda x: x).to_html().count("<code>hint(&quot;0.1&quot;)</code>") == 1
    assert "hint(" not in str(grade(exercise, lambda x: 2 * x))


def test_a_slip_that_only_a_batch_shows_is_shown_on_two_sentences_with_the_right_result():
    exercise = doubling((torch.ones(1, 3, 5),), (torch.arange(60.0).view(4, 3, 5),))
    report = grade(exercise, lambda x: 2 * x if len(x) == 1 else x)
    assert report.counterexample == (
        "for `x = [[[0]], [[15]]]` you return `[[[0]], [[15]]]`; right is `[[[0]], [[30]]]`."
    )
    assert "Cut along axis 0 of `x`, each part alone gets the right result" in str(report)


def test_an_input_too_large_to_show_makes_room_for_a_smaller_one():
    exercise = doubling((torch.ones(5, 6),), (torch.eye(2),), double=lambda x: x @ x.mT)
    report = grade(exercise, lambda x: (x @ x.mT).flatten()[0] * torch.ones(len(x), len(x)))
    assert "`x = [[1, 0], [0, 1]]` you return `[[1, 1], [1, 1]]`" in report.counterexample
    report = grade(doubling((torch.ones(2),)), lambda x: 2 * x[:, None])
    assert "`x = [1]` you return `[[2]]`; right is `[2]`" in report.counterexample
