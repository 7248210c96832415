"""The whole Transformer as a map."""

import re
from functools import cache

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from attnbook.figures import style
from attnbook.figures.drawings.svg import tint
from attnbook.figures.interactive.base import Interactive
from attnbook.figures.interactive.break_translator import trained

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
        "Keys that must not be seen, such as later tokens or padding, get −∞ instead of the score "
        "that is drawn, so their weight is 0.",
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
WIDTH, HEIGHT = 344, 512
FIRST, STEP = 112, 98  # where the blocks begin, and the height of a sub-layer
SIDES = {"source": (26, 58), "target": (318, 180)}  # x of the stream, and where boxes begin
STACKS = {"source": "encoder", "target": "decoder"}
NUMBER = 481  # the sizes in the boxes are those of its translation
# Which side asks in an attention, and which side is looked at.
ATTENTIONS = {
    "self-attention": ("source", "source"),
    "masked self-attention": ("target", "target"),
    "cross-attention": ("target", "source"),
}


def transformer(*, here: str | None = None) -> Interactive:
    """The Transformer of encoder and decoder as a map: each box says what it does, and where.

    The vector of one token on each side goes up as soon as the map is seen, or step by step, while
    the book's translator reads a number: first on the encoder's side, then on the decoder's. A box
    that is chosen tells in a sentence what it does, and the numbers of the chapters about it; at
    first this is the encoder's self-attention. On the book's pages the numbers become titles with
    links, which the figure reads from the navigation of the page. Boxes have the sizes of what
    leaves them, tokens × features. Attention, network, norms and sums have colours of their own.
    Beside or below the map is the inside of every attention, with the sizes of the one chosen last,
    then the matrices of the box that is chosen, to scale, with what they are multiplied by. A
    matrix that is pressed shows how one row times one column gives one of its numbers. A fold has
    the names of all sizes. There, readers can change the map from pre-norm to the post-norm of
    2017.

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
            "ends in probabilities of the next token. " + _sizes_said()
        )
    else:
        parts = {name: PARTS[name] for name in (here, "residual stream")}
        alt = f"Where we are in the Transformer: {here}. {PARTS[here][0]}"
    data = {"here": here, "sheets": sheets, "parts": parts}
    if here is None:
        data |= {"number": NUMBER, "sizes": _sizes(), "asked": ATTENTIONS, "run": _run()}
    return Interactive("transformer", data, alt=alt, still=_still(sheets, here))


@cache
def _run() -> dict:
    """What the page's translator reads, and which token of each side the map follows."""
    translator = trained()
    words = translator.source_tokenizer.spell(NUMBER)
    source, target, _ = translator.attention(words, *translator.translate([words]))
    sides = {
        "source": (translator.source_tokenizer, source),
        "target": (translator.target_tokenizer, target),
    }
    number_of = {name: side.vocabulary.tokens.index for name, (side, _) in sides.items()}
    return {
        "words": {name: tokens for name, (_, tokens) in sides.items()},
        "ids": {name: list(map(number_of[name], tokens)) for name, (_, tokens) in sides.items()},
        "vocabulary": translator.target_tokenizer.vocabulary.tokens,
        "heads": translator.options["num_heads"],
        "follow": {"source": source.index("eighty"), "target": target.index("cent")},
    }


@cache
def _sizes() -> dict[str, int]:
    """The sizes of the book's translator and of the number that it translates."""
    options, words = trained().options, _run()["words"]
    return {
        **{side: len(tokens) for side, tokens in words.items()},
        "d_model": options["d_model"],
        "h": options["num_heads"],
        "d_k": options["d_model"] // options["num_heads"],
        "d_v": options["d_model"] // options["num_heads"],
        "d_ff": options["d_ff"],
        "vocabulary": len(_run()["vocabulary"]),
    }


def _sizes_said() -> str:
    """The sizes in the order in which they change, from tokens to logits."""
    sizes = _sizes()
    return (
        f"For the number {NUMBER}, {sizes['source']} source tokens become vectors of "
        f"{sizes['d_model']} features each. Attention has {sizes['h']} heads of {sizes['d_k']} "
        f"features, and the network {sizes['d_ff']} neurons. Each of the {sizes['target']} target "
        f"tokens ends with {sizes['vocabulary']} logits."
    )


def _shape(part: str, query: str, key: str) -> str:
    """What leaves a part, of one sentence and one head, if one side asks and the other is asked."""
    sizes = _sizes()
    sides = {"L": sizes[query], "L_query": sizes[query], "L_key": sizes[key]}
    axes = PARTS[part][1].strip("()").split(", ")
    return " × ".join(str((sizes | sides)[axis]) for axis in axes if axis not in ("batch", "h"))


def _size(part: str, side: str) -> str:
    """What is written in a box of the stacks: an attention or a network says what is inside."""
    sizes = _sizes()
    if part in ATTENTIONS:
        return f"{sizes['h']} heads of {sizes[side]} × {sizes['d_v']}"
    if part == "feed-forward":
        return f"{sizes['d_model']} → {sizes['d_ff']} → {sizes['d_model']}"
    return _shape(part, side, side)


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
        top = end + 42  # where the next box begins
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
            norm["post"] = _box("", "", stream - 24, base + 72, 48)["at"]
            new += [
                norm,
                _box(name, name, left, base + 34, 106, 40),
                _box("residual stream", "+", stream - 12, base + 42, 24),
            ]
            middle = left + 53
            lines += [
                _line("branch", (stream, base + 14), (middle, base + 14), (middle, base + 34)),
                _branch(side, base + 54, base + 54),
            ]
        last = _box("norm", "norm", stream - 24, end + 8, 48)
        last["post"] = None
        new.append(last)
        for box in new:
            box["side"] = side
        boxes += new
    memory = _box("memory", "memory", 0, FIRST + 2 * STEP + 42, 120)
    linear = _box("linear", "linear", 180, HEIGHT - 64, 164)
    chances = _box("probabilities", "probabilities", 180, HEIGHT - 28, 164)
    memory["side"], linear["side"], chances["side"] = "source", "target", "target"
    boxes += [memory, linear, chances]
    for box in boxes:
        if box["label"] != "+" and box["at"][2] > 48:  # there is room
            box["size"] = _size(box["part"], box["side"])
    out = FIRST + 2 * STEP + 54
    cross = FIRST + STEP + 54
    lines += [
        _line("branch", (120, out), (172, out), (172, cross), (180, cross)),
        _line("branch", (318, HEIGHT - 40), (318, HEIGHT - 28)),
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
            x, y = place * (width + 14), 58 * row
            sizes = {name: _shape(part, *sides) for name, sides in ATTENTIONS.items()}
            if part == "projections":  # keys and values come from the other side
                other = _shape(part, "source", "source")
                sizes["cross-attention"] = f"Q: {sizes['cross-attention']}\nK, V: {other}"
            box = {"part": part, "label": label, "at": [round(x), y, round(width), 44]}
            boxes.append(box | {"size": sizes["self-attention"], "sizes": sizes})
            if place:
                points = [[round(x) - 14, y + 22], [round(x), y + 22]]
                lines.append({"kind": "branch", "points": points})
    turn = [[WIDTH - 37, 44], [WIDTH - 37, 51], [52, 51], [52, 58]]
    lines.append({"kind": "branch", "points": turn})
    return {"size": [WIDTH, 102], "frames": [], "boxes": boxes, "lines": lines}


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
    total = HEIGHT + 24 + sheets[1]["size"][1]
    still.set_size_inches(WIDTH / scale, total / scale)
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
                if "size" in box:
                    text += ("\n" if box["at"][3] > 24 else "   ") + box["size"]
                place = box.get("middle", x + width / 2), top + y + (14 if framed else height / 2)
                axes.text(*place, text, ha="center", va="center", fontsize=8, linespacing=1)
    axes.set(xlim=(-4, WIDTH + 4), ylim=(total, -4))
    return still
