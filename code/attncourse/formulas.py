"""Formulas as MathML, which browsers set and screen readers read without a script."""

import re

from math_core import LatexError, LatexToMathML

TAG = re.compile(r"\s*\\tag\{([^}]*)\}")
_converter = LatexToMathML(fancy_error=False)


def to_mathml(latex: str, *, display: bool) -> str:
    r"""A formula without its number, which ``TAG`` finds.

    Raises ``ValueError`` for what is no LaTeX, or is a command that no browser could set.

    >>> to_mathml("q_i", display=False)
    '<math><msub><mi>q</mi><mi>i</mi></msub></math>'
    """
    try:
        return _converter.convert_with_local_state(latex.strip(), displaystyle=display)
    except LatexError as error:
        raise ValueError(f"{latex.strip()}: {error}") from error
