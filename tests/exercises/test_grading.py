"""What grades answers: it judges rightly, kindly, and whatever a learner hands in."""

import copy
import math
import re

import nbformat
import pytest
import torch
from answers.ch03 import right_scores
from nbclient import NotebookClient

from attnbook.exercises import Construction, Exercise, NumericAnswer, catalogue, check, hint, points
from attnbook.exercises.compare import Comparison
from attnbook.exercises.declare import GRADIENTS
from attnbook.exercises.grade import grade
from attnbook.exercises.properties import changed, cut_off, row_sums
from attnbook.exercises.report import beside, describe, told_apart
from attnbook.exercises.sandbox import Outcome

EXERCISES = {exercise.id: exercise for exercise in catalogue()}


def graded(id, answer):
    return grade(EXERCISES[id], answer)


def failures_of(id, answer):
    report = graded(id, answer)
    assert report.attempted and not report.passed
    return " ".join(report.failures)


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


def overwriting_what_backward_needs(query, key):
    powers = right_scores(query, key).exp()
    result = powers.log()
    powers.zero_()
    return result


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda q, k: right_scores(q, k).detach(), "The result is cut off from all inputs."),
        (lambda q, k: right_scores(q.data, k), "None reaches `query`"),
        (lambda q, k: right_scores(q, (k + k.detach()) / 2), "Those of `key` are wrong"),
        (overwriting_what_backward_needs, "`backward` fails: one of the variables needed for"),
    ],
)
def test_a_result_that_is_cut_off_from_its_inputs_is_found_out(answer, sentence):
    report = graded("3.2", answer)
    [failure] = report.failures
    assert failure.startswith(f"Not true: {GRADIENTS} {sentence}")
    assert 0 < EXERCISES["3.2"].share(report) < 0.5


@pytest.mark.parametrize(
    "wrong",
    [
        lambda query, key: right_scores(query, key) * query.sum(),
        # of one key there is nothing left, so gradients of 0 belong to it
        lambda query, key: (s := right_scores(query, key)) - s.amax(dim=-1, keepdim=True),
    ],
)
def test_wrong_numbers_have_other_gradients_and_that_is_not_held_against_them(wrong):
    report = graded("3.2", wrong)
    assert not report.passed and GRADIENTS in report.holds


def test_where_nothing_is_to_be_learned_gradients_may_be_cut_off():
    assert graded("3.3", lambda weights: EXERCISES["3.3"].reference(weights).detach()).passed


def test_an_answer_that_knows_one_shape_from_an_earlier_cell_is_found_out(scores):
    first = right_scores(torch.zeros(1, 1, 1, 3), torch.zeros(1, 2, 1, 3))

    def remembers_one_shape(query, key):
        result = right_scores(query, key)
        return first if result.shape == first.shape else result

    report = grade(scores, remembers_one_shape)
    assert not report.passed and "On 3 of 4 inputs, it is right." in " ".join(report.failures)


def test_an_answer_that_remembers_an_earlier_call_or_draws_numbers_is_found_out():
    first, right = [], EXERCISES["3.3"].reference

    def growing(weights):
        first.append(weights)
        return right(weights) * (1 + len(first) / 100)

    assert "must not depend on random numbers or on earlier calls" in failures_of("3.3", growing)
    assert not graded("3.3", lambda weights: right(first[0])).passed
    noisy = failures_of("3.3", lambda weights: right(weights) + 0.1 * torch.rand(()))
    assert "Called twice with the same input" in noisy


def refused_or_wrong(weights):
    return weights @ torch.eye(2) if weights.shape[-1] == 2 else weights * 2


@pytest.mark.parametrize(
    ("in_float64", "sentences"),
    [
        (torch.Tensor.float, []),  # precise enough
        (torch.ones_like, ["The result is not right"]),
        (lambda weights: 1 / 0, ["It raises ZeroDivision"]),
        (refused_or_wrong, ["The result is not right"]),  # a refused type excuses no wrong numbers
    ],
)
def test_float64_must_give_the_right_numbers(in_float64, sentences):
    def answer(scores, temperature):
        weights = (scores / temperature).softmax(dim=-1)
        return in_float64(weights) if scores.dtype == torch.float64 else weights

    report = graded("3.4", answer)
    assert report.passed != bool(sentences) and report.remarks == []
    for failure, sentence in zip(report.failures, sentences, strict=True):
        assert failure.startswith(f"With the same inputs in float64: {sentence}")


def test_a_constant_that_is_float32_is_remarked_on_and_no_mistake():
    report = graded("3.4", lambda s, t: (s / t).softmax(-1) @ torch.eye(s.shape[-1]))
    assert report.passed and ".to(x)" in report.remarks[0]
    assert "Remark: With the same inputs in float64: It raises RuntimeError" in str(report)


def test_nan_where_only_a_property_asks_is_named():
    def fails_for_equal_weights(weights):
        right = EXERCISES["3.3"].reference(weights)
        return right.where(weights.std(dim=-1) > 1e-6, math.nan)

    failures = failures_of("3.3", fails_for_equal_weights)
    assert "contains NaN" in failures and "nan" not in failures


def test_an_error_on_some_inputs_leaves_no_doubt_about_the_others():
    def stops_at_two_heads(query, key):
        if query.shape[2] > 1:
            raise ValueError
        return right_scores(query, key) + 1

    first, second = graded("3.2", stops_at_two_heads).failures[:2]
    assert first.startswith("It raises ValueError")
    assert second.startswith("Where it runs, the result is not right. It is off by up to 1.")


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda s: -s, "It has the wrong sign everywhere."),
        (lambda s: s * 3, "by the same factor everywhere."),
        (lambda s: s + 3, "by the same amount everywhere."),
        (lambda s: s * torch.arange(1.0, s.shape[-2] + 1)[:, None], "ach row is the right one t"),
        (lambda s: s - s.amax(dim=-1, keepdim=True), "Each row is the right one plus a number."),
        (lambda s: s.flip(-1), "but not their order."),
        (lambda s: s.clone().index_fill_(3, torch.tensor(0), 9.0), "only the first entry is wrong"),
        (lambda s: s.exp(), ""),
    ],
)
def test_what_all_wrong_results_have_in_common_is_said(scores, wrong, sentence):
    failures = " ".join(grade(scores, lambda q, k: wrong(right_scores(q, k))).failures)
    assert "The result is not right" in failures and sentence in failures
    hints = ["same", "Each row is", "The numbers are", "axes are", "Along axis"]
    assert sentence or not any(hint in failures for hint in hints)


TABLE = [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    ("value", "right", "sentence"),
    [
        ([[1.0, 3.0], [2.0, 4.0]], TABLE, "Two of its axes are exchanged."),
        ([[1.0, 9.0], [3.0, 9.0]], TABLE, "Along axis 1, only the first entry is right."),
        ([[1.0, 2.0], [3.0, 9.0]], TABLE, "Along axis 0, only the first entry is right."),
        ([[9.0, 2.0], [9.0, 9.0]], TABLE, "off by up to 8."),
        ([1.0, -1e9, 2.0], [1.0, -math.inf, 2.0], "It is finite where it must be infinite."),
        ([1.0, -math.inf, 2.5], [1.0, -math.inf, 2.0], "off by up to 0.5."),
        ([1.0, -1e9, 2.5], [1.0, -math.inf, 2.0], "off by up to 0.5."),
        ([0.123] * 3, [0.0] * 3, "off by up to 0.12."),
        ([49728.0] * 3, [0.0] * 3, "off by up to 49728."),
    ],
)
def test_what_one_wrong_table_shows_is_said(value, right, sentence):
    pair = Outcome(torch.tensor(value)), torch.tensor(right)
    assert sentence in Comparison([pair], [], None).difference()


def test_numbers_that_should_be_zero_are_not_wrong_by_a_factor():
    one_hot = Exercise("0.1", "One-hot vectors", hints=[])
    one_hot.solution(lambda numbers: torch.eye(4)[numbers])
    one_hot.inputs(lambda generator: [(torch.tensor([1, 3]),)])
    failures = " ".join(grade(one_hot, lambda numbers: torch.ones(2, 4)).failures)
    assert "off by up to 1" in failures and "same factor" not in failures


def test_a_squeezed_result_is_named():
    missing = "An axis of size 1 is missing. Is there a `squeeze`?"
    squeezed = failures_of("3.2", lambda q, k: right_scores(q, k).squeeze())
    assert f"it has (2,). {missing}" in squeezed
    assert missing not in failures_of("3.2", lambda q, k: right_scores(q, k)[0])

    def broadcast(x, gamma, epsilon):
        return gamma * x / (x.square().mean(-1).squeeze()[..., None] + epsilon).sqrt()

    grown = "An axis of size 1 has grown. Does an earlier step `squeeze`?"
    assert f"it has (2, 2, 3, 4). {grown}" in failures_of("8.2", broadcast)
    assert grown not in failures_of("4.3", lambda s: s.softmax(-1).log())


def test_nan_in_a_gradient_is_named_as_such():
    def fading(query, key, value, decay):
        place = torch.arange(query.shape[-2])
        ages = (place[:, None] - place).float()
        parts = torch.where(ages >= 0, query @ key.mT * decay**ages, 0.0)  # ∞ in the future
        return parts @ value / parts.sum(dim=-1, keepdim=True)

    [failure] = graded("4.9", fading).failures
    assert "Those of `query` contain NaN" in failure and "`detach`" not in failure


def test_wrong_numbers_come_before_gradients_and_are_no_reason_to_doubt_these():
    report = graded("3.2", lambda q, k: right_scores(q.detach(), k) + 1)
    assert report.failures[-1].startswith(f"Not true: {GRADIENTS} None reaches `query`")
    assert "The result is not right" in report.failures[-2]
    projections_transposed = EXERCISES["7.4"].mistakes["projections transposed"]
    assert GRADIENTS in graded("7.4", projections_transposed).holds  # it is right where W = 1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_named(dtype):
    kind = str(dtype).removeprefix("torch.")
    returned = failures_of("8.2", lambda *given: EXERCISES["8.2"].reference(*given).to(dtype))
    assert returned.startswith(f"The result is in {kind}, which has few digits")
    inside = failures_of("8.2", lambda *a: EXERCISES["8.2"].reference(*a).to(dtype).float())
    assert inside.startswith(f"Its numbers have no more digits than {kind} has")
    assert "digits" not in failures_of("3.4", lambda s, t: (s / t).softmax(dim=-1) * 1.003)


@pytest.mark.parametrize("id", ["4.7", "9.4", "11.2"])  # zeros are also what some mistakes give
def test_a_result_that_was_never_filled_is_called_empty(id):
    exercise = EXERCISES[id]
    report = graded(id, lambda *given: torch.zeros_like(exercise.reference(*given)))
    assert (
        report.failures[0] == "The result is all zeros, whatever the inputs are. Is it ever filled?"
    )
    assert report.diagnosis is None or "All your weights are 0." in report.explanation


def test_a_mask_that_was_never_filled_is_called_empty():
    nowhere = failures_of("8.3", lambda document: document[:, :, None] * document[:, None] < 0)
    assert nowhere.startswith("The result is False everywhere. Is it ever filled?")


def sparsemax_with_one_support(scores):
    ordered = scores.sort(dim=-1, descending=True).values
    thresholds = (ordered.cumsum(dim=-1) - 1) / torch.arange(1, scores.shape[-1] + 1)
    count = (ordered > thresholds).sum().clamp(max=scores.shape[-1])  # over all rows
    return (scores - thresholds[..., count - 1, None]).clamp(min=0)


def test_what_is_right_for_each_row_alone_but_not_for_all_is_said():
    report = graded("4.7", sparsemax_with_one_support)
    assert "Cut along axis 0 of `scores`, each part alone gets the right" in report.failures[-1]
    other_shape = failures_of("3.2", lambda q, k: torch.einsum("bqhd,bkhd->bqhk", q, k))
    assert "Cut along" not in other_shape


def test_a_counterexample_is_one_sentence_of_a_batch():
    def every_row(weights):
        return EXERCISES["3.3"].reference(weights) + (weights[..., 0] < 0.2)

    report = graded("3.3", every_row)
    [row] = re.findall(r"`weights = (\[\[.*?\]\])`", report.counterexample)
    assert row.count("[") == 2 and "; right is `[" in report.counterexample

    table = torch.arange(30.0).view(5, 6)
    other = table.clone().index_fill_(0, torch.tensor(2), 0.0)
    assert beside(other, table).endswith("…]`, with 0 at [2, 5]; right is 17")
    assert beside(table, table) == f"you return `{describe(table)}`"


def test_words_are_numbers_of_an_integer_type():
    for id in ("9.2", "9.4"):
        right = EXERCISES[id].reference
        [failure] = graded(id, lambda *given, right=right: right(*given).float()).failures
        assert "must be of an integer type" in failure and "torch.float32" in failure
        assert graded(id, lambda *given, right=right: right(*given).int()).passed


def test_a_mistake_is_recognised_though_some_inputs_stop_it():
    def without_output_weight(heads, weight, gradient):
        own = gradient.view(*gradient.shape[:2], heads.shape[1], -1).transpose(1, 2)
        return (heads * own).sum(dim=(2, 3)).abs().mean(dim=0)

    assert graded("7.11", without_output_weight).diagnosis == "W_O left out"


@pytest.mark.parametrize(
    ("value", "other", "text"),
    [
        (1.0002, 1, "1.0002"),
        (49728, 50000, "49728"),
        (49728.25, 49728, "49728.2"),
        (1, 1.0, "1"),
        (torch.tensor([1.0, 2.00002]), torch.tensor([1.0, 2.0]), "[1, 2.00002]"),
    ],
)
def test_a_number_has_as_many_digits_as_tell_it_from_the_other(value, other, text):
    assert told_apart(value, other) == text


def test_a_sentence_never_shows_one_number_twice_where_two_are_meant():
    infinite = torch.tensor([torch.inf, 1.0])
    assert changed(infinite, infinite * 1.0013, "from {} to {}") == "From 1 to 1.001."
    assert row_sums(torch.tensor([[0.5, 0.5002]])) == "One row sums to 1.0002."


def test_the_counterexample_is_a_part_of_the_smallest_input_with_the_result_and_the_right_one():
    def chatty(query, key):
        print("shapes", tuple(query.shape), "x" * 10_000_000)
        return EXERCISES["3.2"].mistakes["no scaling at all"](query, key)

    report = graded("3.2", chatty)
    assert report.diagnosis == "no scaling at all"
    given = "`query = [[[[1, 2, 0]]]]`, `key = [[[[3, 1, 1]]]]`"  # of two keys the first
    right = f"{5 / math.sqrt(3):.4g}"
    assert f"for {given} you return `[[[[5]]]]`; right is `[[[[{right}]]]]`." in str(report)
    assert report.printed.startswith("shapes (1, 1, 1, 3)") and len(report.printed) <= 1000
    assert "There your function printed: shapes (1, 1, 1, 3)" in str(report)


def test_html_escapes_what_the_learner_wrote():
    def attack(query, key):
        print("<script>alert(1)</script>")
        raise ValueError("<b>bold</b>")

    html = graded("3.2", attack).to_html()
    assert "<script>" not in html and "<b>bold" not in html
    assert "&lt;b&gt;bold" in html


def test_the_nearest_of_the_known_numbers_is_the_diagnosis():
    guess = NumericAnswer("0.1", "A number", answer=100.0, within=0.05, hints=[])
    guess.wrong_value("ten", 10.0, "")
    guess.wrong_value("a bit more", 10.3, "")
    assert grade(guess, 10.1).diagnosis == "ten"
    assert grade(guess, 10.2).diagnosis == "a bit more"


@pytest.mark.parametrize("written", ["c", "C", " c ", "C\n", "C.", "(C)", "c)", "**c**"])
def test_a_letter_counts_however_it_is_written(written):
    report = check("3.0", written)
    assert report.passed and report.holds == [EXERCISES["3.0"].because]


@pytest.mark.parametrize("answer", [3, "Z", "", ["A"], "A and B", "AB", b"A", torch.ones(3)])
def test_what_is_none_of_the_letters_gets_a_sentence_that_lists_them(answer):
    report = check("3.0", answer)
    assert report.attempted and not report.passed and report.diagnosis is None
    [failure] = report.failures
    assert '`"A"`, `"B"` or `"C"`' in failure and f"yours is `{describe(answer)}`" in failure


def test_new_inputs_are_used_though_others_are_known():
    exercise = copy.copy(EXERCISES["3.3"])
    assert grade(exercise, exercise.reference).passed
    exercise.inputs(lambda generator: [(torch.full((1, 2), 0.5),)])
    assert "on 1 inputs" in str(grade(exercise, exercise.reference))
    original = EXERCISES["3.3"]
    assert f"on {len(original.probes())} inputs" in str(grade(original, original.reference))


def test_points_need_a_seed():
    with pytest.raises(ValueError, match="seeds is empty"):
        points("3.2", right_scores, of=4, seeds=[])
    assert points("3.2", right_scores, of=4, seeds=iter([0, 1])) == 4


@pytest.mark.parametrize("function", [lambda id: check(id, None), hint])
def test_an_unknown_exercise_is_an_error_that_lists_the_known_ones(function):
    with pytest.raises(KeyError, match=r"3\.99.*'3\.1', '3\.2'"):
        function("3.99")


def test_hints_unfold_one_at_a_time(capsys):
    hints = EXERCISES["3.3"].hints
    for given in (1, 2, 3, 3):
        hint("3.3")
        shown = capsys.readouterr().out
        assert [text in shown for text in hints] == [i < given for i in range(len(hints))]
        assert ("last hint" in shown) == (given == len(hints))


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


def test_gradients_are_not_asked_for_where_rounding_swallows_them():
    def detached(x):
        return x.detach()

    ordinary, large = torch.ones(2), torch.tensor([1.0, 1e25])
    assert cut_off(detached, torch.clone, ["x"], (ordinary,))
    assert cut_off(detached, torch.clone, ["x"], (large,)) is None


@pytest.fixture
def three():
    """Two numbers that must add up to 3."""
    sums = Construction("0.1", "Three from two", shape=(2,), hints=[])
    sums.reference = [1.0, 2.0]
    sums.holds("The sum is 3.")(lambda x: None if x.sum() == 3 else f"It is {x.sum():g}.")
    sums.holds("The first is smaller.")(lambda x: None if x[0] < x[1] else f"It is {x[0]:g}.")

    @sums.wrong("equal numbers", example=[1.5, 1.5])
    def _(x):
        """Your numbers are equal. So none of them is smaller."""
        return x[0] == x[1]

    return sums


@pytest.mark.parametrize("answer", [[1, 2], (0.5, 2.5), torch.tensor([-1.0, 4.0])])
def test_any_construction_with_the_properties_is_right(three, answer):
    report = grade(three, answer)
    assert report.passed and report.holds == ["The sum is 3.", "The first is smaller."]


def test_a_number_with_a_wide_tolerance_is_not_called_right_up_to_rounding():
    guess = NumericAnswer("0.1", "A number", answer=100.0, within=0.25, hints=[])
    assert grade(guess, 81).holds == ["Your number is right, within 25 %."]
    guess = NumericAnswer("0.1", "A number", answer=100.0, within=0.05, hints=[])
    assert grade(guess, 101).holds == ["Your number is right, up to rounding."]
    assert grade(guess, 104).holds == ["Your number is right, within 5 %."]


def test_a_tolerance_is_a_share_of_the_right_number_on_both_sides():
    guess = NumericAnswer("0.1", "A number", answer=100.0, within=0.25, hints=[])
    assert [grade(guess, x).passed for x in (74.9, 75, 125, 125.1)] == [False, True, True, False]


def test_a_construction_is_told_what_it_lacks_and_gets_points_for_the_rest(three):
    report = grade(three, [1.5, 1.5])
    assert report.failures == ["Not true: The first is smaller. It is 1.5."]
    assert report.diagnosis == "equal numbers" and three.share(report) == 0.25
    assert grade(three, [0, 1]).failures == ["Not true: The sum is 3. It is 1."]
    assert not grade(three, ...).attempted


@pytest.mark.parametrize(
    "answer", [[1, 2, 0], [1, math.inf], [1j, 2], "1, 2", [[1], [2, 3]], None, print]
)
def test_what_is_no_tensor_of_this_shape_is_refused(three, answer):
    report = grade(three, answer)
    assert not report.passed
    if report.attempted:
        assert (
            "must be a tensor of finite numbers of shape (2,), but yours is" in report.failures[0]
        )


@pytest.mark.parametrize("answer", ["2", True, [2]])
def test_what_is_neither_a_line_nor_a_function_is_refused_with_both(answer):
    failures = failures_of("2.4", answer)
    assert "the number of a line" in failures and "a function of query, key and value" in failures
