"""A Sphinx extension: formulas become MathML when the book is built, so that pages need no script.

``html_math_renderer: mathml`` in the settings chooses it. A formula that it can't set stops the
build. Numbers such as ``\\tag{3.1}`` are beside their formulas, and what touches a formula in a
sentence, such as a comma, stays in its line.
"""

import re

from docutils import nodes
from sphinx.errors import SphinxError

from attncourse.formulas import TAG, to_mathml

_BEFORE = re.compile(r'([^\s>]{1,30})(<span class="math notranslate">)')
_AFTER = re.compile(r"(</math></span>)([^\s<]{1,30})")


def _mathml(node, *, display: bool) -> str:
    try:
        return to_mathml(TAG.sub("", node.astext()), display=display)
    except ValueError as error:
        raise SphinxError(f"{node.source}:{node.line}: {error}") from error


def _inline(writer, node) -> None:
    mathml = _mathml(node, display=False)
    writer.body.append(f'<span class="math notranslate">{mathml}</span>')
    raise nodes.SkipNode


def _display(writer, node) -> None:
    number = TAG.search(node.astext())
    writer.body += [
        writer.starttag(node, "div", CLASS="math notranslate"),
        _mathml(node, display=True),
        f'<span class="eqno">({number[1]})</span>' if number else "",
        "</div>\n",
    ]
    raise nodes.SkipNode


def _join(app, pagename, templatename, context, doctree) -> None:
    """Let no line break come between a formula and the signs or letters that it touches."""
    if body := context.get("body"):
        body = _BEFORE.sub(r"\2\1", body)
        context["body"] = _AFTER.sub(r"</math>\2</span>", body)


def setup(app) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    app.connect("html-page-context", _join)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
