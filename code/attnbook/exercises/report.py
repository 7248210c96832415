"""What a check tells the learner: as an object to test, as text, and as HTML in notebooks."""

import html
from dataclasses import dataclass, field

import numpy as np
import torch

from attnbook.exercises.words import shortened

PASSED, WRONG, OPEN = "✓", "✗", "○"
_ACCENT = {PASSED: "#15803d", WRONG: "#c2410c", OPEN: "#6b7280"}


@dataclass
class Report:
    """The result of ``check``: what was recognised, what fails and what holds, in sentences."""

    exercise: str  # "3.2 · Scaled scores"
    attempted: bool = True
    diagnosis: str | None = None  # the name of the recognised mistake
    explanation: str = ""  # what was done and what it causes
    counterexample: str = ""
    failures: list[str] = field(default_factory=list)
    holds: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # what is good to know and no mistake
    printed: str = ""  # what the learner's function printed on the counterexample

    @property
    def passed(self) -> bool:
        return self.attempted and not self.failures

    def __repr__(self) -> str:
        state = "passed" if self.passed else "not yet" if self.attempted else "not attempted"
        recognised = f", {self.diagnosis}" if self.diagnosis else ""
        return f"<Exercise {self.exercise}: {state}{recognised}>"

    def __str__(self) -> str:
        return "\n  ".join(f"{label} {text}".strip() for label, text in self._lines())

    def to_html(self) -> str:
        """The same lines for a notebook; styled in place, since Colab loads no style sheet."""
        accent = _ACCENT[self._mark()]
        rows = "".join(
            f"<div><b>{html.escape(label)}</b> {_code(text)}</div>" for label, text in self._lines()
        )
        return (
            f'<div class="attnbook-report" style="border-left:4px solid {accent};'
            f'padding:.4em .9em;line-height:1.55">{rows}</div>'
        )

    def _ipython_display_(self) -> None:
        # check() has already shown the report; the echo of a cell's last line must not repeat it
        if getattr(self, "_shown_in_cell", None) != _current_cell():
            self.show()

    def show(self) -> None:
        """Display the report: HTML in a notebook, text elsewhere."""
        self._shown_in_cell = _current_cell()
        if self._shown_in_cell is None:
            print(self)
        else:
            from IPython.display import display

            display({"text/plain": str(self), "text/html": self.to_html()}, raw=True)

    def _mark(self) -> str:
        return PASSED if self.passed else WRONG if self.attempted else OPEN

    def _lines(self) -> list[tuple[str, str]]:
        stuck = f'Stuck? Run `hint("{self.exercise.split(" ")[0]}")`.'
        if not self.attempted:
            return [
                (f"{OPEN} Exercise {self.exercise}:", "not attempted."),
                ("", f"Replace the `...` and run the cell. {stuck}"),
            ]
        if self.passed:
            head = (f"{PASSED} Exercise {self.exercise}:", "solved.")
            remarks = (("Remark:", sentence) for sentence in self.remarks)
            return [head, *((PASSED, sentence) for sentence in self.holds), *remarks]
        lines = [(f"{WRONG} Exercise {self.exercise}:", "not yet.")]
        if self.diagnosis:
            lines.append((f"Recognised: {self.diagnosis}.", self.explanation))
        if self.counterexample:
            lines.append(("Smallest counterexample:", self.counterexample))
        lines += [(WRONG, sentence) for sentence in self.failures]
        lines += [(PASSED, sentence) for sentence in self.holds]
        if self.printed:
            lines.append(("There your function printed:", self.printed))
        return [*lines, ("", stuck)]


def _current_cell() -> int | None:
    """The number of the notebook cell that is running, or None outside IPython."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    shell = get_ipython()
    return None if shell is None else shell.execution_count


def _code(text: str) -> str:
    """Escape for HTML and turn `backticks` into <code>."""
    parts = html.escape(text).replace("\n", "<br>").split("`")
    return "".join(
        f"<code>{part}</code>" if i % 2 and i < len(parts) - 1 else ("`" if i % 2 else "") + part
        for i, part in enumerate(parts)
    )


def describe(value: object, digits: int = 4) -> str:
    """A value in few characters: numbers to four digits, large tensors by shape and first row."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        if value.numel() <= 24:
            return _nested(value.tolist(), digits)
        first = _nested(value.flatten()[:4].tolist(), digits)
        return f"a tensor of shape {tuple(value.shape)} that starts {first[:-1]}, …]"
    if isinstance(value, float | int | np.number):
        return _number(value, digits)
    if isinstance(value, list | dict) and _parts(value):
        return shortened(_with_parts(value, digits), 600)
    try:
        text = repr(value)
    except Exception:
        return f"an object of type {type(value).__name__}"
    return shortened(text, 200)


def _parts(value: list | dict) -> list | None:
    """Its parts, if these are tensors, or lists and dictionaries of them."""
    parts = [*value.values()] if isinstance(value, dict) else value
    fine = all(
        isinstance(x, torch.Tensor) or (isinstance(x, list | dict) and _parts(x)) for x in parts
    )
    return parts if fine else None


def _with_parts(value: list | dict, digits: int) -> str:
    if isinstance(value, dict):
        pairs = (f"{name!r}: {describe(part, digits)}" for name, part in value.items())
        return "{" + ", ".join(pairs) + "}"
    return "[" + ", ".join(describe(part, digits) for part in value) + "]"


def told_apart(value: object, other: object) -> str:
    """A value with four digits, or with as many more as it takes to differ from another one."""
    for digits in range(4, 18):
        text = describe(value, digits)
        if text != describe(other, digits):
            return text
    return describe(value)


def beside(value: object, right: object) -> str:
    """What was returned and, where it differs, what is right: all of it, or one entry."""
    ours = told_apart(value, right)
    if getattr(value, "shape", ()) != getattr(right, "shape", ()):
        return f"you return `{ours}`; right is `{describe(right)}`"
    if isinstance(right, torch.Tensor) and right.numel() > 24 and not torch.equal(value, right):
        off = (value.double() - right.double()).abs()
        # infinity off infinity is NaN, and so is NaN off anything
        off = torch.where(value == right, 0.0, off.nan_to_num(torch.inf))
        place = tuple(torch.unravel_index(off.argmax(), off.shape))
        where = [int(i) for i in place]
        ours = f"`{describe(value)}`, with {told_apart(value[place].item(), right[place].item())}"
        return f"you return {ours} at {where}; right is {describe(right[place].item())}"
    theirs = told_apart(right, value)
    return f"you return `{ours}`" + (f"; right is `{theirs}`" if ours != theirs else "")


def _nested(value: object, digits: int) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_nested(item, digits) for item in value) + "]"
    return _number(value, digits) if isinstance(value, float | int) else repr(value)


def _number(value: float | int, digits: int) -> str:
    if isinstance(value, bool):
        return str(value)
    if value == 0:
        return "0"  # not -0
    if 10**digits <= abs(value) < 1e9:
        return f"{value:.0f}"  # 49728, not 4.973e+04
    return f"{value:.{digits}g}"
