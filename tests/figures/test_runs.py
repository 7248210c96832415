"""Runs of rivals: who is in colour, where labels stand, and errors that name the rows."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

from attnbook import figures
from attnbook.figures import runs

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def closed():
    """Figures are closed after each test."""
    yield
    plt.close("all")


def texts(axes):
    """Each text beside the rows or lines of a plot, with its colour."""
    return {text.get_text(): text.get_color() for text in axes.texts}


def dots_of(axes):
    """The numbers of each row of dots."""
    return [line.get_xdata().tolist() for line in axes.lines if line.get_marker() == "o"]


def overlapping(axes):
    """The pairs of labels that cover each other."""
    axes.figure.canvas.draw()
    boxes = [(t.get_text(), t.get_window_extent()) for t in axes.texts if t.get_text()]
    return [
        (a, b)
        for i, (a, one) in enumerate(boxes)
        for b, other in boxes[i + 1 :]
        if min(one.x1, other.x1) - max(one.x0, other.x0) > 1
        and min(one.y1, other.y1) - max(one.y0, other.y0) > 1
    ]


def test_each_row_has_its_runs_its_median_and_its_name_and_the_named_one_is_in_colour():
    (axes,) = figures.strips(
        {"softmax": [90, 100, 95], "sigmoid": [10, 30, 20]}, named=["softmax"], xlabel="right, %"
    )
    assert dots_of(axes) == [[90, 100, 95], [10, 30, 20]]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["softmax", "sigmoid"] and axes.yaxis_inverted()
    assert [label.get_color() for label in axes.get_yticklabels()] == [
        figures.WEIGHTS,
        figures.NEUTRAL,
    ]
    shown = texts(axes)
    assert (shown["95 %"], shown["20 %"]) == (figures.WEIGHTS, figures.NEUTRAL)
    assert "median" in shown and axes.get_xlabel() == "right, %"
    assert axes.get_legend() is None


def test_rows_stand_in_groups_and_columns_and_what_was_not_run_is_left_out():
    rows = {"few": {"a": ([1, 2], [3, 4]), "b": ([5, 6], None)}, "many": {"a": ([7, 8], [9, 10])}}
    left, right = figures.strips(
        rows, columns=["here", "there"], named=[("many", "a")], shows=["{:.1f}", "{:.0f} s"]
    )
    assert dots_of(left) == [[1, 2], [5, 6], [7, 8]] and dots_of(right) == [[3, 4], [9, 10]]
    assert tuple(axes.get_title(loc="left") for axes in (left, right)) == ("here", "there")
    assert {"few", "many"} <= {*texts(left)} and texts(left)["7.5"] == figures.WEIGHTS
    assert texts(right)["4 s"] == figures.NEUTRAL and texts(left)["1.5"] == figures.NEUTRAL


def test_one_number_is_a_bar_and_runs_of_a_seed_can_be_joined():
    (axes,) = figures.strips({"a": 3.0})
    assert [patch.get_width() for patch in axes.patches] == [3.0]
    assert "median" not in texts(axes)
    (axes,) = figures.strips({"a": [1, 2], "b": [3, 4]}, joined=[("a", "b")])
    assert [line.get_xdata().tolist() for line in axes.lines if len(line.get_xdata()) == 2][
        -2:
    ] == [[1, 3], [2, 4]]


def test_a_line_goes_through_medians_and_its_name_stands_where_it_ends():
    curves = {"ours": {1: [1, 3, 2], 10: [8, 9, 10]}, "rival": {1: [0, 0, 0], 10: [9, 9, 9]}}
    axes = figures.lines(curves, named={"ours": figures.KEY}, xscale="log")
    ours, rival = (line for line in axes.lines if line.get_marker() in ("None", ""))
    assert [*ours.get_ydata()] == [2, 9] and [*rival.get_ydata()] == [0, 9]
    assert ours.get_color() == figures.KEY and rival.get_color() == runs.RIVAL
    assert rival.get_linewidth() < ours.get_linewidth()
    assert texts(axes) == {"ours": figures.KEY, "rival": figures.NEUTRAL}
    assert overlapping(axes) == [], "both end at the same place"
    assert axes.get_xscale() == "log" and axes.get_legend() is None


def test_a_band_reaches_from_the_least_to_the_largest_run():
    axes = figures.lines({"a": {0: [1, 5], 1: [2, 8]}}, band=True)
    path = axes.collections[0].get_paths()[0].vertices
    assert (path[:, 1].min(), path[:, 1].max()) == (1, 8)
    assert dots_of(axes) == []


@pytest.mark.parametrize("count", [2, 5, 9])
def test_names_of_lines_that_end_together_do_not_cover_each_other(count):
    names = [f"a design called {i}" for i in range(count)]
    axes = figures.lines({name: {0: [0], 1: [1 + i / 100]} for i, name in enumerate(names)})
    assert overlapping(axes) == []


def test_labels_are_moved_as_little_as_possible():
    assert runs._apart([(0, 10), (20, 30)]) == [0, 0]
    moved = runs._apart([(0, 10), (4, 14)])
    assert moved == pytest.approx([-3, 3])


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_words_at_a_number_stand_within_the_plot_at_either_side(side):
    axes = figures.lines({"a": {0: [1], 1: [2]}}, ylim=(0, 3))
    figures.mark(axes, "guessing", y=0.5, side=side)
    axes.figure.canvas.draw()
    box, plot = axes.texts[-1].get_window_extent(), axes.get_window_extent()
    assert plot.x0 < box.x0 < box.x1 < plot.x1
    assert (box.x0 > plot.x0 + plot.width / 2) == (side == "right")


@pytest.mark.parametrize("where", [{"x": 12.5}, {"y": 12.5}])
def test_a_number_to_compare_with_is_a_dashed_line_with_its_name(where):
    (axes,) = figures.strips({"a": [10, 60]}, xlim=(0, 100))
    before = len(axes.lines)
    figures.mark(axes, "guessing", **where)
    line = axes.lines[before]
    data = line.get_xdata() if "x" in where else line.get_ydata()
    assert [*data] == [12.5, 12.5] and line.get_linestyle() == "--"
    assert "guessing" in texts(axes)


def test_a_name_that_no_row_has_is_an_error_that_names_those_there_are():
    with pytest.raises(ValueError, match=r"no row is called \['softmx'\].*'softmax'"):
        figures.strips({"softmax": [1, 2]}, named=["softmx"])
    with pytest.raises(ValueError, match=r"no row is called \['b'\].*'a'"):
        figures.lines({"a": {0: [1]}}, named=["b"])


def test_the_letters_of_a_wide_figure_are_larger_and_fit():
    (axes,) = figures.strips({"a rather long name of a design": np.arange(5.0)})
    axes.figure.canvas.draw()
    assert axes.figure.get_figwidth() == 5.7
    box = axes.get_yticklabels()[0].get_window_extent()
    assert box.x0 >= 0 and "\n" in axes.get_yticklabels()[0].get_text()
    assert to_hex(axes.get_yticklabels()[0].get_color()) == figures.NEUTRAL
