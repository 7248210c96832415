"""A Sphinx extension: what the book's pages have beyond what the theme gives them.

Sphinx calls its functions in this order:

1. When the settings have been read, ``_locate`` derives the address of the pages from that of the
   repository. Until the book has a repository, no button leads there.
2. Before pages are written, ``_write_figures_scripts`` writes the scripts of interactive figures.
3. For each page, ``_rework`` adds the scripts of the figures that it has, and drops MathJax where
   it has no formula. Then it changes the HTML: code with fewer elements, true names of what
   unfolds, pictures that lead to their files, room for formulas, and a switch behind which the
   rest of a long cell waits. The switch is a checkbox that styles react to, so paper and search
   have the whole cell.
4. After the last page, ``_drop_unused_icons`` keeps of the theme's 1,900 icons those in use.

Building pages runs none of the book's code, and so never waits for torch.
"""

import html
import re
from itertools import count
from pathlib import Path

import rjsmin

from attnbook import figure_assets
from attncourse.address import published_at

LONGEST = 36  # lines of code that are shown at once
FIGURES_SCRIPT = "interactive.js"  # what all kinds share; each has another

_FIGURE = re.compile(r"<attnbook-([\w-]+) ")
_ICON = re.compile(r"\bfa-[\w-]+")
_ICON_RULE = re.compile(r"((?:\.fa-[\w-]+:before,?)+)\{content:[^}]*\}")
_PLAIN = re.compile(r'<span class="[npw]">([^<]*)</span>')
_PICTURE = re.compile(r'(<img [^>]*src="([^"]*_images/[^"]*)"[^>]*>)')
_INLINE = re.compile(r'(<span class="math[^>]*)>\\\((.*?)\\\)<', re.S)
_CODE = re.compile(
    r'(<div class="cell[^"]*docutils container">\n<div class="cell_input docutils container">\n)'
    r'(<div class="highlight-python.*?</pre></div>\n</div>\n)',
    re.S,
)


def _locate(app, config) -> None:
    """Tell Sphinx where the pages will be published."""
    theme = config.html_theme_options
    repository = theme["repository_url"]
    config.html_baseurl = config.ogp_site_url = published_at(repository)
    if "//github.com/owner.invalid/" in repository:  # the book has no home yet
        theme["use_repository_button"] = theme["use_issues_button"] = False
        theme["launch_buttons"] = {}


def _write_figures_scripts(app, builder) -> None:
    """Write the scripts of interactive figures, without comments and spaces."""
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    scripts = {FIGURES_SCRIPT: figure_assets.script(figure_assets.SHARED)}
    for kind in figure_assets.kinds():
        scripts[_script_file(kind)] = figure_assets.script_of(kind)
    for name, script in scripts.items():
        (folder / name).write_text(rjsmin.jsmin(script), "utf8")


def _script_file(kind: str) -> str:
    return f"interactive-{kind}.js"


def _rework(app, pagename, templatename, context, doctree) -> None:
    """Choose the scripts of a page, and rework its HTML."""
    # the title of the page that the book opens with is the book's, which follows anyway
    if pagename == app.config.root_doc:
        context["title"] = "Learn attention by measuring it"
    body = context.get("body", "")  # the page of search has none
    _choose_scripts(app, context, body)
    for change in (_lighten, _name_truly, _link_pictures, _reserve_room, _fold):
        body = change(body)
    if body:
        context["body"] = body


def _choose_scripts(app, context, body: str) -> None:
    """Add those of the figures on the page, and leave out MathJax where no formula is."""
    shown = {name.replace("-", "_") for name in _FIGURE.findall(body)}
    if shown:
        app.add_js_file(FIGURES_SCRIPT)
    for kind in sorted(shown):
        app.add_js_file(_script_file(kind))
    if 'class="math' not in body:
        context["script_files"] = [
            file
            for file in context["script_files"]
            if "mathjax" not in str(getattr(file, "filename", file) or "")
        ]


def _lighten(body: str) -> str:
    """Take names, brackets and spaces out of elements whose colour is that of plain text."""
    return _PLAIN.sub(r"\1", body)


def _name_truly(body: str) -> str:
    """Name what unfolds by the text it shows, and give a table's empty corner no heading."""
    body = body.replace(
        '<summary aria-label="Toggle hidden content">', "<summary>"
    )
    return body.replace('<th class="head"><p></p></th>', "<td></td>")


def _link_pictures(body: str) -> str:
    """Let a picture lead to its file.

    A plot has 120 pixels an inch. Set at 96, its letters are as large as the page's.
    """

    def link(picture: re.Match) -> str:
        image, file = picture.groups()
        if file.endswith(".png"):
            image = image.replace("<img ", f'<img srcset="{file} 1.25x" ', 1)
        return f'<a href="{file}">{image}</a>'

    return _PICTURE.sub(link, body)


def _reserve_room(body: str) -> str:
    """Tell the styles about how many letters each inline formula is wide."""

    def measure(formula: re.Match) -> str:
        tex = html.unescape(formula[2])
        tex = re.sub(r"\\(?:text|operatorname|mathbb|sqrt|frac|[,;])", "", tex)
        tex = re.sub(r"\\(log|exp|tanh|max|min|sin|cos)\b", r"\1", tex)
        tex = re.sub(r"\\[a-zA-Z]+", "x", tex)
        letters = len(re.sub(r"[\s{}_^\\]", "", tex))
        return f'{formula[1]} style="--letters: {letters}">\\({formula[2]}\\)<'

    return _INLINE.sub(measure, body)


def _fold(body: str) -> str:
    """Put a checkbox before, and its label behind, the code of each long cell."""
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


def _drop_unused_icons(app, exception) -> None:
    """Leave out of the theme's style sheet the rules of icons that no page shows.

    They are 85 of its 391 kB, and nothing is painted before it has come.
    """
    built = Path(app.outdir)
    sheet = built / "_static/styles/pydata-sphinx-theme.css"
    if exception or not sheet.exists():
        return
    shown = {
        icon
        for path in [*built.rglob("*.html"), *built.glob("_static/**/*.js")]
        for icon in _ICON.findall(path.read_text("utf8"))
    }

    def keep_if_shown(rule: re.Match) -> str:
        return "" if shown.isdisjoint(_ICON.findall(rule[1])) else rule[0]

    sheet.write_text(
        _ICON_RULE.sub(keep_if_shown, sheet.read_text("utf8")), "utf8"
    )


def setup(app) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("config-inited", _locate)
    app.connect("write-started", _write_figures_scripts)
    app.connect("html-page-context", _rework)
    app.connect("build-finished", _drop_unused_icons)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
