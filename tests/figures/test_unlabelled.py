"""Figures to read: what identifies the right answer is true of one panel, or gives one number."""

import math

import matplotlib.pyplot as plt
import pytest
import torch

from attnbook import figures
from attnbook.exercises import MultipleChoice, catalogue
from attnbook.exercises.grade import grade
from attnbook.figures import interactive
from attnbook.figures.unlabelled import FIGURES, Bars, Curves, Dots, Histogram, Maps, _draw, shown

EXERCISES = {exercise.id: exercise for exercise in catalogue()}
PRETRAINED = ("11.1", "13.9")  # ids of figures that show pretrained models


def only(found):
    """The one letter for which something is true."""
    [letter] = [letter for letter, true in found.items() if true]
    return letter


def is_symmetric(scores):
    return torch.allclose(scores, scores.T, atol=1e-5)


def is_blind_to_places(weights):  # words 0 and 3 are the same
    return torch.allclose(weights[0], weights[3]) and torch.allclose(weights[:, 0], weights[:, 3])


def goes_round(scores):
    """Whether a score depends on the distance alone, and rises as well as falls with it."""
    diagonals = [scores.diagonal(i) for i in range(-15, 16)]
    same = all(d.max() - d.min() < 1e-3 for d in diagonals)
    steps = torch.stack([d[0] for d in diagonals[15:]]).diff()
    return same and bool((steps > 1e-3).any()) and bool((steps < -1e-3).any())


@pytest.mark.parametrize(
    ("id", "is_right"),
    [("2.8", is_symmetric), ("5.9", is_blind_to_places), ("6.9", goes_round)],
)
def test_one_map_has_what_the_exercise_asks_for(id, is_right):
    maps = shown(id).maps
    right = only({letter: is_right(values) for letter, values in maps.items()})
    assert right == EXERCISES[id].reference


def test_one_stream_grows_ever_more_slowly():
    curves = shown("8.8").curves
    grows = {
        letter: 1.3 < sizes[-1] / sizes[8] < 3 and sizes[8] > 2 for letter, sizes in curves.items()
    }
    assert only(grows) == EXERCISES["8.8"].reference


def test_one_curve_of_operations_gets_less_steep():
    figure = shown("10.11")
    slopes = {
        letter: [math.log2(curve[i + 1] / curve[i]) for i in (0, -2)]
        for letter, curve in figure.curves.items()
    }
    bends = {letter: first > last + 0.5 for letter, (first, last) in slopes.items()}
    assert only(bends) == EXERCISES["10.11"].reference


def test_numbers_can_be_read():
    spread = shown("3.12").numbers.std().item()
    assert spread**2 == pytest.approx(EXERCISES["3.12"].reference, rel=0.03)
    dots = shown("4.11")
    low, high = dots.xs.argmin(), dots.xs.argmax()
    temperature = (dots.xs[high] - dots.xs[low]) / (dots.ys[high] / dots.ys[low]).log()
    assert temperature.item() == pytest.approx(EXERCISES["4.11"].reference)
    sizes = shown("7.9").ys
    assert 48 / (sizes > 1e-3).sum().item() == EXERCISES["7.9"].reference
    assert sizes[7] > 1e5 * sizes[8], "the rank can't be seen"


@pytest.mark.parametrize("id", [id for id in FIGURES if id not in PRETRAINED])
def test_figures_are_drawn_the_same_whenever_they_are_drawn(id):
    before = torch.get_rng_state()
    figures.unlabelled(id)
    drawn = plt.gcf()
    letters = {text.get_text() for axes in drawn.axes for text in axes.texts}
    letters |= {axes.get_title(loc="left") for axes in drawn.axes}
    if isinstance(EXERCISES[id], MultipleChoice):
        assert {*EXERCISES[id].options} <= letters
    assert torch.equal(before, torch.get_rng_state())
    plt.close("all")


@pytest.mark.parametrize(
    "figure",
    [
        Maps(dict.fromkeys("ABCD", torch.eye(2)), ["a", "b"], ["a", "b"], limit=1.0),
        Bars(dict.fromkeys("ABCD", torch.ones(3)), ["a", "b", "c"], "change"),
        Curves([1.0, 2.0], {letter: [1.0, 2.0] for letter in "ABCD"}, "x", "y", (False, False)),
        Dots(torch.ones(2), torch.ones(2), "x", "y"),
        Histogram(torch.ones(2), [0, 2], "x"),
    ],
)
def test_each_kind_of_figure_is_drawn(figure):
    _draw(figure)
    plt.close("all")


def test_an_exercise_without_a_figure_is_refused():
    with pytest.raises(KeyError, match=r"'2.2' has no figure to read: these have one, \['2.8'"):
        figures.unlabelled("2.2")


def test_a_choice_about_a_figure_is_no_prediction():
    assert "The figure contradicts A." in str(grade(EXERCISES["2.8"], "A"))
    with pytest.raises(KeyError, match=r"no choice '2.8'"):
        interactive.predict("2.8")
