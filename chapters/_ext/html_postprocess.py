"""A Sphinx extension: what the book's pages have beyond what the theme gives them.

- Of the scripts of interactive figures those whose figures a page has.
- Formulas: MathJax only where there are some, and room for them before it has set them.
- Code: the rest of a long cell waits behind a switch, a checkbox that styles react to; on paper,
  and for search, everything is there.
- A picture leads to its file, which can be enlarged on a telephone; a plot's letters are as large
  as the page's.
- Whole addresses for search engines and link previews, which follow from the repository's. Until
  the book has a repository, no button leads there.
- Of the theme's 1,900 icons, those in use.

Building pages runs none of the book's code, and so never waits for torch.
"""

import html
import re
from itertools import count
from pathlib import Path

from attnbook import figure_assets
from attncourse.address import published_at

LONGEST = 36  # lines of code that are shown at once
FIGURES_SCRIPT = "interactive.js"  # what they share; another for each kind

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


def _rework(app, pagename, templatename, context, doctree) -> None:
    # the title of the page that the book opens with is the book's, which follows anyway
    if pagename == app.config.root_doc:
        context["title"] = "Learn attention by measuring it"
    body = context.get("body", "")
    shown = {name.replace("-", "_") for name in _FIGURE.findall(body)}
    if shown:
        app.add_js_file(FIGURES_SCRIPT)
    for kind in sorted(shown):
        app.add_js_file(f"interactive-{kind}.js")
    if 'class="math' not in body:
        context["script_files"] = [
            file
            for file in context["script_files"]
            if "mathjax" not in str(getattr(file, "filename", file) or "")
        ]
    for change in (_lighten, _name_truly, _link_pictures, _reserve_room, _fold):
        body = change(body)
    if "body" in context:
        context["body"] = body


def _write_figures_scripts(app, builder) -> None:
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    files = {FIGURES_SCRIPT: [figure_assets.SHARED]}
    for kind in figure_assets.kinds():
        files[f"interactive-{kind}.js"] = [
            *figure_assets.NEEDS.get(kind, ()),
            kind,
        ]
    for name, parts in files.items():
        text = "\n".join(map(figure_assets.script, parts))
        (folder / name).write_text(_small(text), "utf8")


def _small(script: str) -> str:
    """A script as pages load it, a third lighter: no comments, hardly any spaces.

    Between backticks it is style: all our templates of several lines are. A line with a template
    of its own, a slash or a single quote keeps its spaces, for they may be text or a pattern.
    """
    script = re.sub(r"/\* .*? \*/|(?:^|(?<=\s))// .*", "", script, flags=re.M)
    lines, in_style = [], False
    for line in filter(None, map(str.strip, script.splitlines())):
        if re.sub('"[^"]*"', "", line).count("`") % 2:
            in_style = not in_style
        elif in_style:
            line = re.sub(r"([:;,{]) | (?=[{}])", r"\1", line)
        elif not re.search(r"['`/\\]", line):
            parts = re.split(r'("[^"]*")', line)  # every other one is a string
            spaces = r" ?([=><?:,;{}()\[\]&|*]+) ?"
            parts[::2] = [re.sub(spaces, r"\1", part) for part in parts[::2]]
            line = "".join(parts).strip()
        lines.append(line)
    return re.sub(r"([,;{(\[])\n", r"\1", "\n".join(lines) + "\n")


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
    app.connect("write-started", _write_figures_scripts)
    app.connect("html-page-context", _rework)
    app.connect("build-finished", _drop_unused_icons)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
