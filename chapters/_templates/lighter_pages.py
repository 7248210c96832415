"""A Sphinx extension that makes pages lighter.

Pygments puts every name, bracket and space of the code into an element of its own. The book's
styles give these three the colour of plain text, so the elements can go. And each figure to touch
brings the script of all; a page needs it once.
"""

import re

_PLAIN = re.compile(r'<span class="[npw]">([^<]*)</span>')
_FIGURE = re.compile(r"(</attnbook-\w+>)\s*<script>.*?</script>", re.S)


def _lighten(app, pagename, templatename, context, doctree) -> None:
    if "body" in context:
        body = _PLAIN.sub(r"\1", context["body"])
        first = _FIGURE.search(body)
        if first:
            rest = _FIGURE.sub(r"\1", body[first.end() :])
            body = body[: first.end()] + rest
        context["body"] = body


def setup(app) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("html-page-context", _lighten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
