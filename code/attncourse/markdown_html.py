"""Markdown as HTML that needs no network: formulas become MathML, which browsers can show."""

import re

from latex2mathml.converter import convert as to_mathml
from markupsafe import Markup
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

STYLE_OF_CODE = HtmlFormatter(style="default").get_style_defs(".highlight")
FUNCTION = re.compile(r"(<mi>[a-z]{2,}</mi>)(?=<mi>)")  # log n has a space between


class _Renderer(IPythonRenderer):
    def inline_math(self, body: str) -> str:
        return _formula(body, "inline") or super().inline_math(body)

    def block_math(self, body: str) -> str:
        return _formula(body, "block") or super().block_math(body)


def _formula(latex: str, display: str) -> str:
    try:
        mathml = to_mathml(latex, display=display)
    except Exception:  # of many kinds; a student's answer may hold what is no LaTeX
        return ""
    return FUNCTION.sub(r'\1<mspace width="0.17em"/>', mathml)


def text(markdown: str, *, html: bool = True) -> Markup:
    """Markdown with ``$…$`` as HTML.

    Without ``html``, tags in it are shown as they are written, and a link can't run a script.
    """
    renderer = _Renderer(escape=not html, allow_harmful_protocols=html, exclude_anchor_links=True)
    return Markup(MarkdownWithMath(renderer=renderer).render(markdown))


def code(source: str, marked: int = 0) -> Markup:
    """Python in colours; the marked line, counted from 1, has a background of its own."""
    form = HtmlFormatter(hl_lines=[marked])
    return Markup(highlight(source, PythonLexer(), form))
