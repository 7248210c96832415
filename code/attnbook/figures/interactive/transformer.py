"""The whole Transformer as a map."""

import re

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from attnbook.figures import style
from attnbook.figures.drawings.svg import tint
from attnbook.figures.interactive.base import Interactive

# What a part does, the shape of what leaves it, and the chapters about it. L is the length of the
# source or of the target, on whichever side the part stands.
PARTS = {
    "source": (
        "This is the sentence to translate, with one whole number for each token.",
        "(batch, L)",
        [9],
    ),
    "target": (
        "These are the tokens written so far, beginning with a start symbol.",
        "(batch, L)",
        [9],
    ),
    "embedding": (
        "A table of learned vectors replaces each token by its own vector.",
        "(batch, L, d_model)",
        [1, 2],
    ),
    "positions": (
        "Each position has a vector that is added here, because attention alone does not know the "
        "word order.",
        "(batch, L, d_model)",
        [5, 6],
    ),
    "word plus position": (
        "The vectors of word and position are added. The residual stream begins with this sum.",
        "(batch, L, d_model)",
        [6, 8],
    ),
    "residual stream": (
        "The output of each sub-layer is added to the stream of vectors, which runs straight "
        "through all blocks. So a sub-layer only changes the stream.",
        "(batch, L, d_model)",
        [8],
    ),
    "norm": (
        "The features of each token are shifted and scaled to mean 0 and variance 1.",
        "(batch, L, d_model)",
        [8],
    ),
    "self-attention": (
        "Each source token looks at all source tokens and takes a mixture of what they hand over.",
        "(batch, L, d_model)",
        [2, 7],
    ),
    "masked self-attention": (
        "Each target token looks at itself and at the tokens before it, but never at later ones.",
        "(batch, L, d_model)",
        [5, 8],
    ),
    "cross-attention": (
        "Each target token looks at the source. Its query meets keys and values that are computed "
        "from the memory.",
        "(batch, L, d_model)",
        [1, 8],
    ),
    "feed-forward": (
        "A small network, two linear projections with a ReLU between them, processes each token "
        "separately.",
        "(batch, L, d_model)",
        [8],
    ),
    "memory": (
        "This is the encoder's output for the source. Every block of the decoder reads it.",
        "(batch, L, d_model)",
        [1, 8],
    ),
    "linear": (
        "One linear projection gives each token of the vocabulary a score, its logit.",
        "(batch, L, vocabulary)",
        [8, 9],
    ),
    "probabilities": (
        "Softmax turns the logits into the probability of each token to come next.",
        "(batch, L, vocabulary)",
        [4, 9],
    ),
    "projections": (
        "In each head, three learned projections turn the tokens into queries, keys and values.",
        "(batch, h, L, d_k)",
        [2, 7],
    ),
    "scores": (
        "Every pair of a query and a key gets a score, their dot product. So the cost grows with "
        "the square of the length.",
        "(batch, h, L_query, L_key)",
        [2, 10],
    ),
    "scaling": (
        "Dividing by √dₖ keeps the scores at the same size, however many features a key has.",
        "(batch, h, L_query, L_key)",
        [3],
    ),
    "mask": (
        "Scores of keys that must not be seen, such as later tokens or padding, become −∞.",
        "(batch, h, L_query, L_key)",
        [4, 5],
    ),
    "softmax": (
        "Softmax turns each query's scores into weights that are never negative and add up to 1.",
        "(batch, h, L_query, L_key)",
        [4],
    ),
    "mixing": (
        "Each query gets a mixture of the values, with its weights as their shares.",
        "(batch, h, L_query, d_v)",
        [2],
    ),
    "heads": (
        "The heads' outputs are put side by side and mixed by one more projection.",
        "(batch, L_query, d_model)",
        [7],
    ),
}

# In the units of the drawing, from the bottom: the stream of the encoder is on the left of its
# boxes, that of the decoder on the right of them, so that the memory crosses neither.
WIDTH, HEIGHT = 344, 500
FIRST, STEP = 112, 94  # where the blocks begin, and the height of a sub-layer
SIDES = {"source": (26, 58), "target": (318, 180)}  # x of the stream, and where boxes begin
STACKS = {"source": "encoder", "target": "decoder"}


def transformer(*, here: str | None = None) -> Interactive:
    """The Transformer of encoder and decoder as a map: each box says what it does, and where.

    A box that is chosen tells in a sentence what it does, and the numbers of the chapters about it;
    at first this is the encoder's self-attention. On the book's pages the numbers become titles
    with links, which the figure reads from the navigation of the page. Attention, network, norms
    and sums have colours of their own. Beside or below the map is the inside of every attention,
    and a fold with the shape of what leaves each part. There, readers can change the map from
    pre-norm to the post-norm of 2017.

    With ``here``, the name of a part such as ``"self-attention"``, it is a small picture with this
    part lit: where in the whole a chapter is.

    Raises ``ValueError`` if there is no such part.
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, figures 1 and 2; Xiong et al.
    2020, https://arxiv.org/abs/2002.04745 (pre-norm).
    """
    if here is not None and here not in PARTS:
        raise ValueError(f"here must be one of {', '.join(PARTS)}: got {here!r}")
    sheets = [_both_stacks(), _inside()]
    if here is None:
        parts = PARTS
        alt = (
            "The Transformer. The encoder embeds the source, adds positions and passes it through "
            "blocks of self-attention and a feed-forward network. The decoder does the same with "
            "the target, with masked self-attention and attention to the encoder's output, and "
            "ends in probabilities of the next token."
        )
    else:
        parts = {name: PARTS[name] for name in (here, "residual stream")}
        alt = f"Where we are in the Transformer: {here}. {PARTS[here][0]}"
    data = {"here": here, "sheets": sheets, "parts": parts}
    return Interactive("transformer", data, alt=alt, still=_still(sheets, here))


def _box(part: str, label: str, x: int, bottom: int, width: int, height: int = 24) -> dict:
    return {"part": part, "label": label, "at": [x, HEIGHT - bottom - height, width, height]}


def _line(kind: str, *points: tuple[int, int]) -> dict:
    return {"kind": kind, "points": [[x, HEIGHT - y] for x, y in points]}


def _both_stacks() -> dict:
    """Boxes and lines of encoder and decoder.

    A box whose place is different in post-norm has this place too, or none if it is gone.
    """
    boxes, lines, frames = [], [], []
    layers = {
        "source": ["self-attention", "feed-forward"],
        "target": ["masked self-attention", "cross-attention", "feed-forward"],
    }
    for side, names in layers.items():
        stream, left = SIDES[side]
        edge = 0 if side == "source" else left
        end = FIRST + STEP * len(names)
        frame = _box("", f"{STACKS[side]} × N", edge, FIRST - 8, 164, end - FIRST + 10)
        frames.append(frame | {"middle": left + 53})
        top = 342 if side == "source" else 436  # where the next box begins
        new = [
            _box(side, f"{side} tokens", edge, 0, 164),
            _box("embedding", "embedding", edge, 34, 164),
            _box("positions", "positions", left, 72, 106),
            _box("word plus position", "+", stream - 12, 72, 24),
        ]
        lines += [
            _line("stream", (stream, 24), (stream, top)),
            _branch(side, 84, 84),
        ]
        for layer, name in enumerate(names):
            base = FIRST + STEP * layer
            norm = _box("norm", "norm", left, base + 2, 106)
            norm["post"] = _box("", "", stream - 24, base + 68, 48)["at"]
            new += [
                norm,
                _box(name, name, left, base + 34, 106, 32),
                _box("residual stream", "+", stream - 12, base + 38, 24),
            ]
            middle = left + 53
            lines += [
                _line("branch", (stream, base + 14), (middle, base + 14), (middle, base + 34)),
                _branch(side, base + 50, base + 50),
            ]
        last = _box("norm", "norm", stream - 24, end + 8, 48)
        last["post"] = None
        new.append(last)
        for box in new:
            box["side"] = side
        boxes += new
    memory = _box("memory", "memory", 0, 342, 120)
    linear = _box("linear", "linear", 180, 436, 164)
    chances = _box("probabilities", "softmax: next token", 180, 472, 164)
    memory["side"], linear["side"], chances["side"] = "source", "target", "target"
    boxes += [memory, linear, chances]
    cross = FIRST + STEP + 50
    lines += [
        _line("branch", (120, 354), (172, 354), (172, cross), (180, cross)),
        _line("branch", (318, 460), (318, 472)),
    ]
    return {"size": [WIDTH, HEIGHT], "frames": frames, "boxes": boxes, "lines": lines}


def _branch(side: str, start: int, end: int) -> dict:
    """From a box back to the stream."""
    stream, left = SIDES[side]
    box, add = (left, stream + 12) if side == "source" else (left + 106, stream - 12)
    return _line("branch", (box, start), (add, end))


def _inside() -> dict:
    """Boxes and lines of one attention, in two rows."""
    rows = [
        [("projections", "Q, K, V"), ("scores", "Q Kᵀ"), ("scaling", "÷ √d_k"), ("mask", "mask")],
        [("softmax", "softmax"), ("mixing", "× V"), ("heads", "heads, W_O")],
    ]
    boxes, lines = [], []
    for row, names in enumerate(rows):
        width = (WIDTH - 14 * (len(names) - 1)) / len(names)
        for place, (part, label) in enumerate(names):
            x, y = place * (width + 14), 40 * row
            boxes.append({"part": part, "label": label, "at": [round(x), y, round(width), 26]})
            if place:
                points = [[round(x) - 14, y + 13], [round(x), y + 13]]
                lines.append({"kind": "branch", "points": points})
    turn = [[WIDTH - 37, 26], [WIDTH - 37, 33], [52, 33], [52, 40]]
    lines.append({"kind": "branch", "points": turn})
    return {"size": [WIDTH, 66], "frames": [], "boxes": boxes, "lines": lines}


def _fill(part: str) -> str:
    """The colour of a part's role."""
    if part.endswith("attention"):
        return tint(style.WEIGHTS, 0.2)
    return {"feed-forward": tint(style.OTHER, 0.25), "norm": tint(style.NEUTRAL, 0.2)}.get(
        part, "white"
    )


def _still(sheets: list[dict], here: str | None) -> plt.Figure:
    """Both sheets, one below the other; small and without words if a part is lit."""
    scale = 80 if here is None else 160  # units for an inch
    still, axes = style.subplots()
    height = HEIGHT + 20 + sheets[1]["size"][1]
    still.set_size_inches(WIDTH / scale, height / scale)
    axes.axis("off")
    for sheet, top in zip(sheets, (0, HEIGHT + 20), strict=True):
        for line in sheet["lines"]:
            x, y = zip(*line["points"], strict=True)
            width = 3 if line["kind"] == "stream" else 1
            axes.plot(x, [top + at for at in y], color=style.NEUTRAL, linewidth=width, zorder=1)
        for box in sheet["frames"] + sheet["boxes"]:
            framed, lit = box["part"] == "", box["part"] == here
            x, y, width, height = box["at"]
            color = "#f5f5f5" if framed else style.WEIGHTS if lit else _fill(box["part"])
            edge = "none" if framed else style.NEUTRAL
            corner, order = (x, top + y), 0 if framed else 2
            axes.add_patch(Rectangle(corner, width, height, fc=color, ec=edge, zorder=order))
            if here is None:
                text = re.sub(r"(\w)_(\w)", r"$\1_\2$", box["label"]).replace("masked ", "masked\n")
                place = box.get("middle", x + width / 2), top + y + (14 if framed else height / 2)
                axes.text(*place, text, ha="center", va="center", fontsize=8, linespacing=1)
    axes.set(xlim=(-4, WIDTH + 4), ylim=(HEIGHT + 90, -4))
    return still
