"""Blocks of the Transformer around the residual stream, from below upwards."""

from dataclasses import dataclass, replace

from attnbook.figures.drawings.svg import INK, LINE, SMALL, SOFT, TEXT, Canvas, Drawing, tint
from attnbook.figures.style import NEUTRAL, OTHER, WEIGHTS

WIDE = 130  # of a sub-layer's box
FROM_STREAM = 26  # to the box


@dataclass(frozen=True)
class SubLayer:
    """What reads from the stream and adds to it."""

    name: str
    detail: str
    color: str
    note: tuple[str, str]
    reads_encoder: bool = False
    norm: str = "norm"


@dataclass(frozen=True)
class Side:
    """One of two blocks that are beside each other."""

    name: str
    sub_layers: list[SubLayer]
    shape: str
    norm_first: bool
    note: str = ""


def encoder_blocks(*, length: int, d_model: int, num_heads: int, d_ff: int) -> Drawing:
    """An encoder block with pre-norm beside one with post-norm.

    The residual stream goes up, and two sub-layers read from it and add to it. In post-norm, a norm
    is on the stream after each addition.

    Raises ``ValueError`` if ``d_model`` is not divisible by ``num_heads``.
    """
    sub_layers, shape = _encoder(d_model, num_heads, d_ff), f"{length} × {d_model}"
    return _side_by_side(
        [
            Side("pre-norm", sub_layers, shape, True, "no norm on the stream"),
            Side("post-norm", sub_layers, shape, False, "norms on the stream"),
        ]
    )


def decoder_block(*, length: int, d_model: int, num_heads: int, d_ff: int) -> Drawing:
    """A decoder block with pre-norm, with masked self-attention and cross-attention.

    Raises ``ValueError`` if ``d_model`` is not divisible by ``num_heads``.
    """
    sub_layers, shape = _decoder(d_model, num_heads, d_ff), f"{length} × {d_model}"
    canvas = Canvas()
    canvas.text(0, 12, f"x  {shape}", formula=True, size=TEXT, color=INK)
    canvas.line((0, 0), (0, -9), thick=5)
    y = -8.0
    for sub_layer in sub_layers:
        y = _draw_sub_layer(canvas, 0, y, sub_layer, True, with_notes=True)
    _end_of_stream(canvas, 0, y)
    canvas.text(0, y - 34, shape, size=TEXT, color=INK)
    says = _say(sub_layers, shape, norm_first=True)
    return canvas.finish(f"A decoder block, from below upwards. {says}")


def then_and_now(
    *,
    length: int,
    d_model: tuple[int, int],
    num_heads: tuple[int, int],
    num_kv_heads: int,
    d_ff: tuple[int, int],
) -> Drawing:
    """A decoder block of 2017, post-norm, beside a block of a language model.

    Sizes are those of the first, then of the second; ``num_kv_heads`` is of the second alone.

    Raises ``ValueError`` if a ``d_model`` is not divisible by its ``num_heads``, or the second
    ``num_heads`` by ``num_kv_heads``.
    """
    then = _decoder(d_model[0], num_heads[0], d_ff[0])
    now = _language(d_model[1], num_heads[1], num_kv_heads, d_ff[1])
    shapes = [f"{length} × {d}" for d in d_model]
    return _side_by_side(
        [
            Side("decoder, 2017", then, shapes[0], False),
            Side("language model", now, shapes[1], True),
        ]
    )


def _side_by_side(sides: list[Side]) -> Drawing:
    canvas = Canvas()
    says = []
    for place, side in enumerate(sides):
        x = place * (FROM_STREAM + WIDE + 28.0)
        middle = x + FROM_STREAM + WIDE / 2
        canvas.text(middle, 34, side.name, size=TEXT, color=INK, bold=True)
        if side.note:
            canvas.text(middle, 52, side.note, size=SMALL)
        canvas.text(x, 12, side.shape, size=TEXT, color=INK)
        canvas.line((x, 0), (x, -9), thick=5)
        y = -8.0
        for sub_layer in side.sub_layers:
            if sub_layer.reads_encoder:
                sub_layer = replace(sub_layer, detail="on the encoder")
            y = _draw_sub_layer(canvas, x, y, sub_layer, side.norm_first)
        _end_of_stream(canvas, x, y)
        note = f" It has {side.note}." if side.note else ""
        says.append(f"{side.name}: {_say(side.sub_layers, side.shape, side.norm_first)}{note}")
    return canvas.finish(f"Two blocks side by side, from below upwards. {' '.join(says)}")


def _language(d_model: int, num_heads: int, num_kv_heads: int, d_ff: int) -> list[SubLayer]:
    attention, feed_forward = _encoder(d_model, num_heads, d_ff)
    if num_heads % num_kv_heads:
        raise ValueError(f"num_heads={num_heads} is not divisible by num_kv_heads={num_kv_heads}")
    rotated = ("looks back; positions", "rotate queries and keys")
    gate = ("a gate decides which", "features pass")
    return [
        replace(
            attention, detail=f"{num_heads} heads on {num_kv_heads}", note=rotated, norm="RMSNorm"
        ),
        replace(feed_forward, name="gated network", note=gate, norm="RMSNorm"),
    ]


def _encoder(d_model: int, num_heads: int, d_ff: int) -> list[SubLayer]:
    if d_model % num_heads:
        raise ValueError(f"d_model={d_model} is not divisible by num_heads={num_heads}")
    heads = f"{num_heads} head{'s' * (num_heads > 1)} of {d_model // num_heads}"
    return [
        SubLayer("self-attention", heads, WEIGHTS, ("every position looks", "at all positions")),
        SubLayer(
            "feed-forward",
            f"{d_model} → {d_ff} → {d_model}",
            OTHER,
            ("the same network for", "each position alone"),
        ),
    ]


def _decoder(d_model: int, num_heads: int, d_ff: int) -> list[SubLayer]:
    attention, feed_forward = _encoder(d_model, num_heads, d_ff)
    looking_back = ("a position looks at itself", "and those before it")
    from_encoder = ("memory: its keys and", "values are made inside")
    return [
        SubLayer("self-attention", "masked", WEIGHTS, looking_back),
        SubLayer("cross-attention", attention.detail, WEIGHTS, from_encoder, reads_encoder=True),
        feed_forward,
    ]


def _say(sub_layers: list[SubLayer], shape: str, norm_first: bool) -> str:
    names = [
        f"{one.name} ({one.detail}{', keys and values from the encoder' * one.reads_encoder})"
        for one in sub_layers
    ]
    norm = (
        "Each reads the stream through a norm and adds its result to the stream."
        if norm_first
        else "Each reads the stream and adds its result to it; a norm on the stream follows."
    )
    return f"Along a residual stream of {shape} stand {', then '.join(names)}. {norm}"


def _draw_sub_layer(
    canvas: Canvas,
    x: float,
    y: float,
    sub_layer: SubLayer,
    norm_first: bool,
    *,
    with_notes: bool = False,
) -> float:
    """Draw a sub-layer on the right of the stream at x, from y upwards.

    Returns the height at which the stream continues.
    """
    middle = x + FROM_STREAM + WIDE / 2
    left = middle - WIDE / 2
    top = y - (134 if norm_first else 132)
    canvas.line((x, y + 1), (x, top), thick=5)

    canvas.arrow((x, y - 10), (middle, y - 10), (middle, y - 24))
    box = y - 24
    if norm_first:
        _box(canvas, left, box - 24, 24, sub_layer.norm, NEUTRAL)
        canvas.arrow((middle, box - 24), (middle, box - 38))
        box -= 38
    _box(canvas, left, box - 44, 44, sub_layer.name, sub_layer.color, sub_layer.detail)
    plus = box - 44 - 12
    canvas.arrow((middle, box - 44), (middle, plus), (x + 9, plus))
    canvas.plus(x, plus)
    if not norm_first:
        canvas.box(x - 22, plus - 44, 44, 22, fill=tint(NEUTRAL, 0.14), stroke=NEUTRAL, round=4)
        canvas.text(x, plus - 33, "norm", size=SMALL, color=INK)

    if with_notes:
        start = left + WIDE + 14
        if sub_layer.reads_encoder:
            start += 26
            canvas.arrow((start - 4, box - 22), (left + WIDE, box - 22))
        for line, dy in zip(sub_layer.note, (-9, 9), strict=True):
            canvas.text(start, box - 22 + dy, line, size=SMALL, color=SOFT, anchor="start")
    return top


def _box(
    canvas: Canvas, x: float, y: float, height: float, name: str, color: str, detail: str = ""
) -> None:
    canvas.box(x, y, WIDE, height, fill=tint(color, 0.14), stroke=color, round=4)
    middle = x + WIDE / 2, y + height / 2
    if not detail:
        canvas.text(*middle, name, size=SMALL, color=INK)
        return
    canvas.text(middle[0], middle[1] - 9, name, size=TEXT, color=INK)
    canvas.text(middle[0], middle[1] + 10, detail, size=SMALL, color=SOFT)


def _end_of_stream(canvas: Canvas, x: float, y: float) -> None:
    canvas.line((x, y + 1), (x, y - 12), thick=5)
    canvas.elements.append(f'<path d="M{x:g} {y - 24:g}l-8 13h16z" fill="{LINE}"/>')
    canvas.reach(x - 8, y - 24, x + 8, y)
