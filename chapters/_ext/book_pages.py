"""A Sphinx extension: pages that weigh little, are no walls of code, and say where they live.

Pygments puts every name, bracket and space of the code into an element of its own. The book's
styles give these three the colour of plain text, so the elements can go. And each figure to touch
brings the script of all; a page needs it once. A page without formulas needs no MathJax.

A figure leads to its picture alone, which can be enlarged on a telephone.

The rest of a long cell waits behind a switch, a checkbox that styles react to: on paper, and for
search, everything is there.

Search engines and link previews want whole addresses. They follow from that of the repository.
Until the book has one, no button leads there.
"""

import html
import re
from itertools import count
from pathlib import Path

from attnbook.course.address import published_at

LONGEST = 36  # lines of code that are shown at once

_PLAIN = re.compile(r'<span class="[npw]">([^<]*)</span>')
_FIGURE = re.compile(r"(</attnbook-\w+>)\s*<script>.*?</script>", re.S)
_ICON = re.compile(r'(?:\.fa-[\w-]+:before,?)+\{content:"[^"]*"\}')
_PICTURE = re.compile(r'(<img [^>]*src="([^"]*_images/[^"]*)"[^>]*>)')
_INLINE = re.compile(r'(<span class="math[^>]*)>\\\((.*?)\\\)<', re.S)
_CODE = re.compile(
    r'(<div class="cell[^"]*docutils container">\n<div class="cell_input docutils container">\n)'
    r'(<div class="highlight-python.*?</pre></div>\n</div>\n)',
    re.S,
)


def _lighten(body: str) -> str:
    body = _PLAIN.sub(r"\1", body)
    first = _FIGURE.search(body)
    if first:
        body = body[: first.end()] + _FIGURE.sub(r"\1", body[first.end() :])
    return body


def _link_pictures(body: str) -> str:
    return _PICTURE.sub(r'<a href="\2">\1</a>', body)


def _reserve_room(body: str) -> str:
    # an inline formula is about as wide as its letters, before MathJax has set it, too
    def measure(formula: re.Match) -> str:
        tex = html.unescape(formula[2])
        tex = re.sub(r"\\(?:text|operatorname|mathbb|sqrt|frac|[,;])", "", tex)
        tex = re.sub(r"\\(log|exp|tanh|max|min|sin|cos)\b", r"\1", tex)
        tex = re.sub(r"\\[a-zA-Z]+", "x", tex)
        letters = len(re.sub(r"[\s{}_^\\]", "", tex))
        return f'{formula[1]} style="--letters: {letters}">\\({formula[2]}\\)<'

    return _INLINE.sub(measure, body)


def _fold(body: str) -> str:
    numbers = count(1)

    def shorten(cell: re.Match) -> str:
        lines = cell[2].count("\n") - 2
        if lines <= LONGEST:
            return cell[0]
        name = f"fold-{next(numbers)}"
        return (
            f'{cell[1]}<input type="checkbox" class="fold" id="{name}">\n{cell[2]}'
            f'<label for="{name}"><span>Show all {lines} lines</span>'
            "<span>Show less</span></label>\n"
        )

    return _CODE.sub(shorten, body)


def _rework(app, pagename, templatename, context, doctree) -> None:
    # the title of the page that the book opens with is the book's, which follows anyway
    if pagename == app.config.root_doc:
        context["title"] = "Learn attention by measuring it"
    body = context.get("body", "")
    if 'class="math' not in body:
        context["script_files"] = [
            file
            for file in context["script_files"]
            if "mathjax" not in str(getattr(file, "filename", file) or "")
        ]
    for change in (_lighten, _link_pictures, _reserve_room, _fold):
        body = change(body)
    if "body" in context:
        context["body"] = body


def _drop_unused_icons(app, exception) -> None:
    # the theme's style sheet has a rule for each of 1400 icons: a quarter of its bytes
    out = Path(app.outdir)
    sheet = out / "_static/styles/pydata-sphinx-theme.css"
    if exception or not sheet.exists():
        return
    sources = [*out.rglob("*.html"), *out.glob("_static/**/*.js")]
    used = {
        icon
        for path in sources
        for icon in re.findall(r"fa-[\w-]+", path.read_text("utf8"))
    }

    def kept(rule: re.Match) -> str:
        return rule[0] if used & {*re.findall(r"fa-[\w-]+", rule[0])} else ""

    sheet.write_text(_ICON.sub(kept, sheet.read_text("utf8")), "utf8")


def _locate(app, config) -> None:
    theme = config.html_theme_options
    repository = theme["repository_url"]
    config.html_baseurl = config.ogp_site_url = published_at(repository)
    if "//github.com/owner.invalid/" in repository:  # the book has no home yet
        theme["use_repository_button"] = theme["use_issues_button"] = False
        theme["launch_buttons"] = {}


def setup(app) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("config-inited", _locate)
    app.connect("build-finished", _drop_unused_icons)
    app.connect("html-page-context", _rework)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
