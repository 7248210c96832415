"""Layer norm as what happens to the features of a token, which are bars."""

from jaxtyping import Float
from torch import Tensor

from attnbook.figures.drawings.cells import number
from attnbook.figures.drawings.svg import INK, TEXT, Canvas, Drawing, tint
from attnbook.figures.style import NEUTRAL, OTHER

MOST = 4  # features
HIGH, BAR, PITCH, PANEL = (
    130.0,
    20.0,
    34.0,
    146.0,
)  # units
STEPS = "x", "x − μ", "(x − μ) / σ"


def layer_norm(token: Float[Tensor, " d"]) -> Drawing:
    """The features of a token three times: as they are, centred, and divided by σ.

    All bars have one scale. Raises ``ValueError`` if there are more than 4 features, or they are
    all equal or not finite.
    """
    mean, spread = token.mean(), token.std(correction=0)
    if len(token) > MOST or not (spread > 0 and spread.isfinite()):
        raise ValueError(f"at most {MOST} finite and different features: got {token.tolist()}")
    steps = [one.tolist() for one in (token, token - mean, (token - mean) / spread)]
    highest, lowest = max(0.0, *steps[0], *steps[1]), min(0.0, *steps[0], *steps[1])
    unit = HIGH / (highest - lowest)
    does = f"mean μ = {_text(mean.item())}", f"σ = {_text(spread.item())}", "mean 0, σ = 1"
    canvas = Canvas()
    for panel, (name, values) in enumerate(zip(STEPS, steps, strict=True)):
        left, zero, wide = panel * PANEL, highest * unit, PITCH * len(token)
        canvas.text(left + wide / 2, -44, name, formula=True, size=TEXT, color=INK)
        canvas.text(left + wide / 2, -26, does[panel], color=OTHER, bold=True)
        with canvas.group(name, left, 0):
            for j, value in enumerate(values):
                x, long = j * PITCH + (PITCH - BAR) / 2, abs(value) * unit
                canvas.box(x, zero - max(value * unit, 0), BAR, long, fill=tint(NEUTRAL, 0.3),
                           stroke=NEUTRAL, thick=1)  # fmt: skip
                y = zero - value * unit + (10 if value < 0 else -10)
                canvas.text(x + BAR / 2, y, _text(value), color=INK)
            canvas.line((0, zero), (wide, zero))
    said = ["(" + ", ".join(map(_text, values)) + ")" for values in steps]
    return canvas.finish(
        f"Layer norm of the token {said[0]}. Its mean is {_text(mean.item())}. Centred, it is "
        f"{said[1]}. Divided by σ = {_text(spread.item())}, it is {said[2]}."
    )


def _text(value: float) -> str:
    return number(value, 1).removesuffix(".0")
