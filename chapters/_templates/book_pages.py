"""A Sphinx extension: pages that weigh little and say where they live.

Pygments puts every name, bracket and space of the code into an element of its own. The book's
styles give these three the colour of plain text, so the elements can go. And each figure to touch
brings the script of all; a page needs it once.

Search engines and link previews want whole addresses. They follow from that of the repository.
"""

import re

from attnbook.course import published_at

_PLAIN = re.compile(r'<span class="[npw]">([^<]*)</span>')
_FIGURE = re.compile(r"(</attnbook-\w+>)\s*<script>.*?</script>", re.S)


def _tell_apart(app, pagename, templatename, context, doctree) -> None:
    # the title of the page that the book opens with is the book's, which follows anyway
    if pagename == app.config.root_doc:
        context["title"] = "Learn attention by measuring it"


def _lighten(app, pagename, templatename, context, doctree) -> None:
    if "body" in context:
        body = _PLAIN.sub(r"\1", context["body"])
        first = _FIGURE.search(body)
        if first:
            rest = _FIGURE.sub(r"\1", body[first.end() :])
            body = body[: first.end()] + rest
        context["body"] = body


def _locate(app, config) -> None:
    repository = config.html_theme_options["repository_url"]
    config.html_baseurl = config.ogp_site_url = published_at(repository)


def setup(app) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("config-inited", _locate)
    app.connect("html-page-context", _tell_apart)
    app.connect("html-page-context", _lighten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
