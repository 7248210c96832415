"""Why softmax: scores divided by their sum beside it, and how rules answer to other scores."""

from collections.abc import Callable, Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import number
from attnbook.figures.drawings.svg import (
    INK,
    LINE,
    MARGIN,
    NAME,
    SMALL,
    SOFT,
    TEXT,
    WIDEST,
    Canvas,
    Drawing,
    formula_width,
    text_width,
    tint,
)
from attnbook.figures.style import KEY, NEUTRAL, RED, VALUE, WEIGHTS

MOST, LARGEST = 3, 5.0  # keys; size of a score
LARGEST_SHARE = 10.0
ROW, BAR = 32.0, 20  # height of a key's row and of its bar, in units
PANEL = 90.0  # width from the least to the largest share
GAP, BESIDE, APART = 6, 8, 20  # beside a number, and between columns and panels
PALE = 0.4  # share of the colour in bars that are as before
LABEL, CELL = 66.0, 116.0  # width of a rule's name, and of its panel for one kind of scores
STICK, STEP = 24.0, 32.0  # width of an upright bar, and from one to the next
UNIT = 44.0  # height of the weight 1
ROOM = 20.0  # height of the number above a bar


def softmax(
    scores: Float[Tensor, " key"], value: Float[Tensor, " key"], *, labels: Sequence[str]
) -> Drawing:
    """Scores divided by their sum, beside exponentials divided by theirs: softmax.

    What lies outside 0 to 1 is red. Below are both outputs, on a line with the values. ``labels``
    name the keys.

    Raises ``ValueError`` if there are none or more than 3 keys, not as many values or labels, if a
    score is below −5 or above 5, if a score divided by the sum is 10 or more, or if a number is
    not finite or has no room.
    """
    if not scores.shape == value.shape == (len(labels),) or not 1 <= len(labels) <= MOST:
        raise ValueError(
            f"needs 1 to {MOST} keys with a score, a value and a label each: "
            f"got shapes {tuple(scores.shape)} and {tuple(value.shape)}, and {len(labels)} labels"
        )
    if not ((scores.abs() <= LARGEST).all() and value.isfinite().all()):
        raise ValueError(
            f"scores must lie between −{LARGEST:g} and {LARGEST:g}, and values be finite: "
            f"got {scores.tolist()} and {value.tolist()}"
        )
    divided, weights = scores / scores.sum(), scores.softmax(dim=0)
    if not (divided.abs() < LARGEST_SHARE).all():
        raise ValueError(
            f"scores divided by their sum must be less than {LARGEST_SHARE:g}: "
            f"got {divided.tolist()}"
        )
    exponentials = scores.exp()
    texts = [_texts(row) for row in (scores, value, exponentials)]
    sums = [_texts(row.sum()[None])[0] for row in (scores, exponentials)]
    shares = [_texts(row) for row in (divided, weights)]
    outputs = [row @ value for row in (divided, weights)]
    ends = [number(o.item(), 0 if torch.isclose(o, o.round()) else 1) for o in outputs]

    canvas = Canvas()
    middles = [(i + 0.5) * ROW for i in range(len(scores))]
    for i, y in enumerate(middles):
        canvas.text(0, y, labels[i], color=KEY, anchor="start")
    names = max(text_width(label, TEXT) for label in labels)
    end = _column(canvas, "value", names + GAP, middles, texts[1], VALUE)
    least, most = min(0.0, divided.min().item()), max(1.0, divided.max().item())
    unit = PANEL / (most - least)
    for name, color, row, parts, share, total, used, short in (
        ("scores ÷ sum", RED, "score", texts[0], shares[0], sums[0], divided, least),
        ("softmax", WEIGHTS, "e^s", texts[2], shares[1], sums[1], weights, 0.0),
    ):
        start = end + APART
        zero = _column(canvas, row, start, middles, parts, INK) + BESIDE - short * unit
        end = _shares(canvas, name, zero, unit, middles, used, share)
        left = zero + short * unit - BESIDE + GAP  # beside the name of the column
        middle = max(zero + unit / 2, left + text_width(f"÷ {total}", TEXT) / 2)
        canvas.text(middle, -14, f"÷ {total}")
        canvas.text((start + end) / 2, -38, name, size=NAME, color=color, bold=True)
    if end > WIDEST - 2 * MARGIN:
        raise ValueError(f"the numbers have no room: got {scores.tolist()} and {value.tolist()}")
    with canvas.group("outputs", 0, len(scores) * ROW + 66):
        _draw_outputs(canvas, end, value, texts[1], outputs, ends)
    return canvas.finish(
        f"The keys {', '.join(labels)} with the scores {', '.join(texts[0])} and the values "
        f"{', '.join(texts[1])}. The scores divided by their sum {sums[0]} are "
        f"{', '.join(shares[0])}, drawn as bars beside a box from 0 to 1. With them as weights the "
        f"output is {ends[0]}. The exponentials {', '.join(texts[2])} divided by their sum "
        f"{sums[1]} are {', '.join(shares[1])}. With them the output is {ends[1]}. On a line of "
        "numbers, both outputs are marked, and the range of the values."
    )


def _column(
    canvas: Canvas, name: str, start: float, middles: list[float], texts: list[str], color: str
) -> float:
    """Draw numbers below a name, and return where they end."""
    end = start + max(formula_width(name, TEXT), *(text_width(text, TEXT) for text in texts))
    canvas.text(end, -14, name, formula=True, anchor="end")
    for y, text in zip(middles, texts, strict=True):
        canvas.text(end, y, text, color=color, anchor="end")
    return end


def _shares(
    canvas: Canvas,
    name: str,
    zero: float,
    unit: float,
    middles: list[float],
    shares: Tensor,
    texts: list[str],
) -> float:
    """Draw a bar for each share over a box from 0 to 1, red where it lies outside.

    Returns where the numbers beside the bars end.
    """
    bottom = middles[-1] + ROW / 2
    end = zero + max(1.0, shares.max().item()) * unit + GAP
    end += max(text_width(text, TEXT) for text in texts)
    canvas.box(zero, 0, unit, bottom, fill=tint(NEUTRAL, 0.15))
    with canvas.group(name, 0, 0):
        for y, share, text in zip(middles, shares.tolist(), texts, strict=True):
            top, inside = y - BAR / 2, min(max(share, 0.0), 1.0)
            if inside:
                canvas.box(zero, top, inside * unit, BAR, fill=WEIGHTS)
            if share != inside:
                left, right = sorted((inside, share))
                canvas.box(zero + left * unit, top, (right - left) * unit, BAR, fill=RED)
            color = WEIGHTS if share == inside else RED
            canvas.text(end, y, text, color=color, anchor="end", bold=True)
    for place in (0, 1):
        x = zero + place * unit
        canvas.line((x, 0), (x, bottom), thick=1)
        canvas.text(x, bottom + 11, str(place), size=SMALL)
    return end


def _draw_outputs(
    canvas: Canvas,
    width: float,
    value: Tensor,
    texts: list[str],
    outputs: list[Tensor],
    ends: list[str],
) -> None:
    """Draw a line of numbers with the range of the values and both outputs."""
    every = torch.cat([value, torch.stack(outputs)])
    low, long = every.min().item(), (every.max() - every.min()).item() or 1.0
    inset = 46.0  # room for half a label at the ends

    def place(number: Tensor) -> float:
        return inset + (number.item() - low) / long * (width - 2 * inset)

    left, right = place(value.min()), place(value.max())
    canvas.box(left, -9, right - left, 18, fill=tint(VALUE, 0.3))
    canvas.line((0, 0), (width, 0), color=SOFT)
    taken = -1e9
    for v, text in sorted(zip(value, texts, strict=True), key=lambda pair: pair[0].item()):
        x = place(v)
        canvas.line((x, -9), (x, 9), color=VALUE, thick=1.5)
        if x - text_width(text, TEXT) / 2 > taken:
            canvas.text(x, 20, text, color=VALUE)
            taken = x + text_width(text, TEXT) / 2 + 3
    for output, end, color in zip(outputs, ends, (RED, WEIGHTS), strict=True):
        x = place(output)
        canvas.disc(x, 0, 6, fill=color)
        canvas.text(x, -21, f"output {end}", color=color, bold=True)


def rules(
    scores: Float[Tensor, " key"], tried: Mapping[str, Callable[[Tensor], Tensor]], *, named: str
) -> Drawing:
    """Weights of three scores by several rules: as they are, with 1 added to all, and doubled.

    Bars that changed are darker, and negative weights are red. The name of the rule ``named`` is
    bold; a name may have two lines.

    Raises ``ValueError`` if there are not 3 scores, or if a weight is not finite or has no room.
    """
    if scores.shape != (3,):
        raise ValueError(f"needs 3 scores: got shape {tuple(scores.shape)}")
    changes = {"as they are": scores, "1 added to all": scores + 1, "all doubled": 2 * scores}
    canvas = Canvas()
    centres = [LABEL + (i + 0.5) * CELL for i in range(len(changes))]
    for x, (change, row) in zip(centres, changes.items(), strict=True):
        canvas.text(x, 0, change, color=INK, bold=True)
        canvas.text(x, 18, ", ".join(number(s, 1) for s in row.tolist()), size=SMALL)
    top, said = 34.0, []
    for name, rule in tried.items():
        weights = torch.stack([rule(row) for row in changes.values()])
        if not (weights.abs() < 2).all():
            raise ValueError(f"weights must lie between −2 and 2: {name} gives {weights.tolist()}")
        same = ((weights - weights[0]).abs() < 0.005).all(dim=-1).tolist()
        zero = top + ROOM + UNIT * max(0.0, weights.max().item())
        bottom = zero + UNIT * max(0.0, -weights.min().item())
        lines = name.split("\n")
        for i, line in enumerate(lines):
            y = zero - 10 - 17 * (len(lines) - 1 - i)
            canvas.text(0, y, line, color=INK, anchor="start", bold=name == named)
        with canvas.group(name, 0, 0):
            for i, (x, row) in enumerate(zip(centres, weights.tolist(), strict=True)):
                _sticks(canvas, x, zero, row, "before" if not i else "same" if same[i] else "")
        top = bottom + 8
        lists = [", ".join(number(w, 2) for w in row) for row in weights.tolist()]
        said.append(
            f"{' '.join(lines)}: {lists[0]}; with 1 added "
            f"{'the same' if same[1] else lists[1]}; doubled "
            f"{'the same' if same[2] else lists[2]}"
        )
    return canvas.finish(
        f"Weights of the scores {', '.join(number(s, 2) for s in scores.tolist())} as three bars, "
        f"by {len(tried)} rules. {'. '.join(said)}."
    )


def _sticks(canvas: Canvas, x: float, zero: float, weights: Sequence[float], kind: str) -> None:
    """Draw upright bars about x: pale unless they changed."""
    left = x - (STEP * (len(weights) - 1) + STICK) / 2
    canvas.line((left - 3, zero), (left + STEP * (len(weights) - 1) + STICK + 3, zero), color=LINE,
                thick=1)  # fmt: skip
    for i, weight in enumerate(weights):
        color = RED if weight < 0 else WEIGHTS
        y = zero - max(weight, 0.0) * UNIT
        canvas.box(left + i * STEP, y, STICK, abs(weight) * UNIT,
                   fill=tint(color, PALE) if kind else color)  # fmt: skip
        if kind != "same":
            canvas.text(left + i * STEP + STICK / 2, y - 9, number(weight, 2), color=color,
                        size=SMALL, bold=not kind)  # fmt: skip
    if kind == "same":
        canvas.text(x + STEP / 2, zero - max(*weights[1:], 0.0) * UNIT - 10, "same", color=SOFT)


def _texts(row: Tensor) -> list[str]:
    """The numbers with as many decimals as they all need, at most two."""
    exact = (d for d in range(2) if torch.allclose(row, row.round(decimals=d), rtol=0, atol=1e-6))
    digits = next(exact, 2)
    return [number(value, digits) for value in row.tolist()]
