"""Runs of rival designs as a figure: the design that a text names in colour, its rivals grey.

``strips`` draws a row of dots for each design, and ``lines`` a line over something that changes.
Each carries its label. The figures are as wide as the page's text.
"""

import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from attnbook.figures.style import NEUTRAL, WEIGHTS, heights, subplots
from attnbook.palette import PLOTS

Cells: TypeAlias = ArrayLike | Sequence[ArrayLike | None]
Row: TypeAlias = tuple[str, str]  # its group, which may be "", and its name
Named: TypeAlias = Collection[str | Row] | Mapping[str | Row, str]
Shows: TypeAlias = str | Callable[[np.ndarray], str]

LONGEST = 25  # letters in a line of a label
RIVAL = PLOTS["outline"]  # dots and lines; their labels are NEUTRAL
_HALO = [patheffects.withStroke(linewidth=3, foreground="white")]
_RIVAL_LINES = ("-", "--", ":", "-.", (0, (6, 1.5, 1, 1.5, 1, 1.5)))


def strips(
    rows: Mapping[str, Cells | Mapping[str, Cells]],
    *,
    named: Named = (),
    columns: Sequence[str] = (),
    joined: Sequence[tuple[str, str]] = (),
    shows: Shows | list[Shows] = "{:.0f} %",
    header: str = "median",
    **settings: object,
) -> list[Axes]:
    """Draw a row for each name, the first on top: a dot for each run, and a bar at their median.

    Rows may be in groups, a mapping for each heading. With ``columns``, which are titles, a row has
    runs for each of them, or None. A row of one number is a bar from 0. Rows that are ``named`` are
    in plum, or in a colour of their own in a mapping, and the others are grey; a name may also be
    that of a group, or a pair of both. Rows that are ``joined`` have thin lines between runs of one
    seed. To the right of each row is its median, in the format ``shows``, below the word
    ``header``.

    Other settings go to the axes; one that is a list has an entry for each column. Returns the axes
    of all columns. Raises ``ValueError`` for a name that no row has.
    """
    places, headings = _places(rows)
    colors = _colors(places, named)
    labels = {row: textwrap.fill(row[1], LONGEST) for row in places}
    two_lines = any("\n" in label for label in labels.values())
    end = max([*places.values()]) + 0.6
    height = (0.44 if two_lines else 0.37) * (end + 0.6) + (1.15 if columns else 0.75)
    width = max(1, len(columns))
    _, panels = subplots(width, height=height, wide=True, sharey=True, squeeze=False)
    panels = panels[0].tolist()
    for column, axes in enumerate(panels):
        found = {}
        for row, cells in _cells(rows).items():
            runs = cells[column] if columns else cells
            if runs is None:
                continue
            found[row] = np.atleast_1d(np.asarray(runs, dtype=float))
            _draw_row(axes, found[row], places[row], colors[row])
            _beside(axes, places[row], _shown(found[row], _of(column, shows)), colors[row])
        _join(axes, found, places, joined)
        if header and any(runs.size > 1 for runs in found.values()):
            _beside(axes, -0.95, header, NEUTRAL)
        if columns:
            axes.set_title(columns[column], pad=22)
        axes.set(**{name: _of(column, value) for name, value in settings.items()})
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    if columns and isinstance(settings.get("xlabel"), str):
        _share_label(panels, settings["xlabel"])
    panels[0].set_yticks([*places.values()], [*labels.values()])
    panels[0].set_ylim(end, -0.6)
    for text, color in zip(panels[0].get_yticklabels(), colors.values(), strict=True):
        text.set(color=color, weight="normal" if color == NEUTRAL else "bold", linespacing=1.0)
    for heading, place in headings.items():
        where = {"xycoords": panels[0].get_yaxis_transform(), "va": "center"}
        panels[0].annotate(heading, (0, place + 0.15), path_effects=_HALO, **where)
    return panels


def lines(
    curves: Mapping[str, Mapping[float, ArrayLike]],
    *,
    named: Named = (),
    band: bool = False,
    at: Mapping[str, tuple[float, float]] | None = None,
    height: float = 3.6,
    axes: Axes | None = None,
    **settings: object,
) -> Axes:
    """Draw a line through the medians of each name, its runs as dots or, as a band, their range.

    A curve maps each place on the horizontal axis to its runs. Its label is where it ends. The
    curves that are ``named`` are in plum, or in a colour of their own in a mapping, and the others
    are grey. A label that has no room there is put ``at`` a different place, with a thin line to
    its curve. Other settings go to the axes. Raises ``ValueError`` for a name that no curve has.
    """
    if axes is None:
        _, axes = subplots(height=height, wide=True)
    colors = _colors({("", name): None for name in curves}, named)
    looks = iter(_RIVAL_LINES * len(curves))
    axes.set(**settings)
    ends = {}
    for (_, name), color in colors.items():
        runs = {x: np.atleast_1d(np.asarray(y, dtype=float)) for x, y in curves[name].items()}
        medians = [np.median(y) for y in runs.values()]
        rival = color == NEUTRAL
        drawn = RIVAL if rival else color
        style = {"linestyle": next(looks) if rival else "-", "linewidth": 1.8 if rival else 2.6}
        axes.plot([*runs], medians, color=drawn, zorder=2 if rival else 3, **style)
        if band:
            low, high = np.array([(y.min(), y.max()) for y in runs.values()]).T
            axes.fill_between([*runs], low, high, color=drawn, alpha=0.2, linewidth=0)
        else:
            x = np.repeat([*runs], [len(y) for y in runs.values()])
            look = {"color": drawn, "markersize": 4, "alpha": 0.4, "markeredgewidth": 0}
            axes.plot(x, np.concatenate([*runs.values()]), "o", **look)
        ends[name] = ([*runs][-1], medians[-1], color)
    _label_ends(axes, ends, at or {})
    return axes


def mark(
    axes: Axes,
    says: str,
    *,
    x: float | None = None,
    y: float | None = None,
    side: str | None = None,
    color: str = NEUTRAL,
) -> None:
    """Draw a dashed line at a number to compare with, such as guessing, and say what it is.

    The words are above a line at ``y``, on the left or right ``side`` of the plot. Those for a line
    at ``x`` are in a free row at the bottom, to its left or right, usually where there is more
    room.
    """
    look = {"color": color, "linestyle": (0, (4, 3)), "linewidth": 1.2, "zorder": 1}
    text = {"color": color, "xytext": (4, 3), "textcoords": "offset points"}
    if x is None:
        axes.axhline(y, **look)
        if side == "right":
            text |= {"ha": "right", "xytext": (-4, 3)}
        place = (int(side == "right"), y)
        axes.annotate(says, place, xycoords=axes.get_yaxis_transform(), **text)
        return
    axes.axvline(x, **look)
    if axes.yaxis_inverted():  # rows: a free one at the bottom has the texts of all marks
        panels = axes.get_shared_y_axes().get_siblings(axes)
        if not any(label.get_gid() == "mark" for panel in panels for label in panel.texts):
            bottom, top = axes.get_ylim()
            axes.set_ylim(bottom + 0.75, top)
        text["gid"] = "mark"
    left, right = axes.get_xlim()
    if (side or ("left" if x > (left + right) / 2 else "right")) == "left":
        text |= {"ha": "right", "xytext": (-4, 3)}
    axes.annotate(says, (x, 0), xycoords=axes.get_xaxis_transform(), **text)


def _places(rows: Mapping) -> tuple[dict[tuple[str, str], float], dict[str, float]]:
    """Where rows are drawn, by group and name, and where headings are, downwards."""
    places, headings, place = {}, {}, 0.0
    for name, cells in rows.items():
        if isinstance(cells, Mapping):
            headings[name], place = place, place + 0.85
            for inner in cells:
                places[name, inner], place = place, place + 1
            place += 0.1
        else:
            places["", name], place = place, place + 1
    return places, headings


def _cells(rows: Mapping) -> dict[tuple[str, str], Cells]:
    """The runs of rows, by group and name."""
    found = {}
    for name, cells in rows.items():
        grouped = isinstance(cells, Mapping)
        found |= {(name, k): v for k, v in cells.items()} if grouped else {("", name): cells}
    return found


def _colors(rows: Mapping[tuple[str, str], object], named: Named) -> dict[tuple[str, str], str]:
    """The colour of each row, by group and name. Raises ``ValueError`` if no row has a name."""
    named = named if isinstance(named, Mapping) else dict.fromkeys(named, WEIGHTS)
    known = {name for row in rows for name in (row, *row)}
    if unknown := [name for name in named if name not in known]:
        raise ValueError(f"no row is called {unknown}: they are {[*rows]}")
    ways = [(row, row[1], row[0]) for row in rows]
    return {way[0]: next((named[name] for name in way if name in named), NEUTRAL) for way in ways}


def _draw_row(axes: Axes, runs: np.ndarray, place: float, color: str) -> None:
    lighter = RIVAL if color == NEUTRAL else color
    if runs.size == 1:
        axes.barh(place, runs, color=lighter, height=0.5)
        return
    look = {"color": lighter, "markersize": 5.5, "alpha": 0.55, "markeredgewidth": 0}
    axes.plot(runs, place + heights(runs.size), "o", **look)
    median = np.median(runs)
    axes.vlines(median, place - 0.38, place + 0.38, color=color, linewidth=3, zorder=3)


def _of(column: int, setting: object) -> object:
    """A setting of a column: lists have one for each."""
    return setting[column] if isinstance(setting, list) else setting


def _shown(runs: np.ndarray, shows: Shows) -> str:
    text = shows(runs) if callable(shows) else shows.format(np.median(runs))
    return text.replace("-", "−")


def _share_label(panels: Sequence[Axes], label: str) -> None:
    """Let one label begin under the first of several axes and reach under the others."""
    for axes in panels[1:]:
        axes.set_xlabel(" ")
    panels[0].set_xlabel(label, loc="left").set_in_layout(False)


def _beside(axes: Axes, place: float, text: str, color: str) -> None:
    """Write at the right of a row."""
    where = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points"}
    weight = "normal" if color == NEUTRAL else "bold"
    look = {"va": "center", "color": color, "weight": weight, "annotation_clip": False}
    axes.annotate(text, (1, place), xytext=(8, 0), **where, **look)


def _join(axes: Axes, found: Mapping, places: Mapping, joined: Sequence[tuple[str, str]]) -> None:
    """Draw a thin line between the runs of one seed in two rows of a group, or in two groups."""
    for first, second in pairwise(found):
        if (first[1], second[1]) in joined:
            offsets = heights(found[first].size)
            ends = [found[first], found[second]], [places[row] + offsets for row in (first, second)]
            axes.plot(*ends, color=NEUTRAL, linewidth=0.7, alpha=0.5, zorder=1)


def _label_ends(
    axes: Axes,
    ends: Mapping[str, tuple[float, float, str]],
    at: Mapping[str, tuple[float, float]],
) -> None:
    """Write the name of each line where it ends, and push apart the names that would overlap."""
    labels = []
    for name, (x, y, color) in ends.items():
        look = {"color": color, "weight": "normal" if color == NEUTRAL else "bold"}
        look |= {"linespacing": 1.0, "path_effects": _HALO, "annotation_clip": False}
        if name in at:
            leads = {"arrowstyle": "-", "color": color, "linewidth": 0.8}
            axes.annotate(name, (x, y), xytext=at[name], arrowprops=leads, **look)
        else:
            look |= {"xytext": (9, 0), "textcoords": "offset points", "va": "center"}
            labels.append(axes.annotate(textwrap.fill(name, 17), (x, y), **look))
    figure = axes.figure
    figure.canvas.draw()  # with the labels in their layout
    labels.sort(key=lambda label: label.get_window_extent().y0)
    for x in {label.xy[0] for label in labels}:
        here = [label for label in labels if label.xy[0] == x]
        spans = [(box.y0, box.y1) for box in (label.get_window_extent() for label in here)]
        for label, shift in zip(here, _apart(spans), strict=True):
            label.xyann = (9, shift * 72 / figure.dpi)


def _apart(spans: Sequence[tuple[float, float]]) -> list[float]:
    """How far to move each of several spans, from the lowest up, so that none overlap."""
    clusters = []  # of spans that touch: where each begins when the cluster does at 0
    for low, high in spans:
        clusters.append([(low, high)])
        while len(clusters) > 1 and _start(clusters[-2])[1] > _start(clusters[-1])[0]:
            last = clusters.pop()
            clusters[-1] += last
    shifts = []
    for cluster in clusters:
        begin, _ = _start(cluster)
        for low, high in cluster:
            shifts.append(begin - low)
            begin += high - low
    return shifts


def _start(cluster: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Where spans that lie end to end begin and end if they are moved as little as possible."""
    size = sum(high - low for low, high in cluster)
    middle = np.mean([(low + high) / 2 for low, high in cluster])
    return middle - size / 2, middle + size / 2
