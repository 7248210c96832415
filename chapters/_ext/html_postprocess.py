"""A Sphinx extension: what the book's pages have beyond what the theme gives them.

Sphinx calls its functions in this order:

1. When the settings have been read, ``_locate`` derives the address of the pages from that of the
   repository. Until the book has a repository, no button leads there.
2. Before pages are written, ``_write_figures_scripts`` writes the scripts of interactive figures.
3. For each page, ``_rework`` adds the scripts of the figures that it has. Then it changes the
   HTML: code with fewer elements, true names of what unfolds, pictures of a known size that lead
   to their files, drawings as a part of the page, where they have its letters, and the still
   pictures of interactive figures in files of their own.
4. After the last page, ``_drop_unused_icons`` keeps of the theme's 1,900 icons those in use, and
   ``_write_palette`` puts the colours of ``palette.toml`` before the book's styles.

Building pages runs none of the book's code, and so never waits for torch.
"""

import base64
import hashlib
import html
import re
import struct
from pathlib import Path

from attnbook import figure_assets, palette
from attncourse.address import published_at

FIGURES_SCRIPT = "interactive.js"  # what all kinds share; each has another
FIRST_FONTS = "source-serif", "inter"  # those that a page needs first

_FIGURE = re.compile(r"<attnbook-([\w-]+) ")
_ICON = re.compile(r"\bfa-[\w-]+")
_ICON_RULE = re.compile(r"((?:\.fa-[\w-]+:before,?)+)\{content:[^}]*\}")
_PLAIN = re.compile(r'<span class="[npw]">([^<]*)</span>')
_NOT_READ = re.compile(r"^[ \t]*//.*\n|^[ \t]+", re.M)  # comments, indentation
_OPTION = re.compile(r'<span class="pre">(-\w+)</span>')
_PICTURE = re.compile(r'(<img [^>]*src="([^"]*_images/[^"]*)"[^>]*>)')
_STILL = re.compile(
    r'<img (alt="[^"]*") src="data:image/png;base64,([\w+/=]+)">'
)
_DRAWING = re.compile(
    r'^<svg xmlns="http://www.w3.org/2000/svg" class="attnbook"'
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
    """Write the scripts of interactive figures, without lines of comments and indentation.

    Within a line nothing changes: a minifier drops spaces of templates within templates.
    """
    folder = Path(app.outdir) / "_static"
    folder.mkdir(parents=True, exist_ok=True)
    scripts = {FIGURES_SCRIPT: figure_assets.script(figure_assets.SHARED)}
    for kind in figure_assets.kinds():
        scripts[_script_file(kind)] = figure_assets.script_of(kind)
    for name, script in scripts.items():
        (folder / name).write_text(_NOT_READ.sub("", script), "utf8")


def _script_file(kind: str) -> str:
    return f"interactive-{kind}.js"


def _rework(app, pagename, templatename, context, doctree) -> None:
    """Add the scripts of a page, and rework its HTML."""
    # the title of the page that the book opens with is the book's, which follows anyway
    if pagename == app.config.root_doc:
        context["title"] = "Learn attention by measuring it"
    context["metatags"] = context.get("metatags", "") + _preload(context)
    body = context.get("body", "")  # the page of search has none
    _add_scripts(app, body)
    for change in (_lighten, _name_truly, _keep_whole):
        body = change(body)
    body = _place_pictures(body, _sources(app))
    body = _take_out_stills(body, app, context["pathto"])
    if body:
        context["body"] = body


def _add_scripts(app, body: str) -> None:
    """Add those of the figures on the page."""
    shown = {name.replace("-", "_") for name in _FIGURE.findall(body)}
    if shown:
        app.add_js_file(FIGURES_SCRIPT)
    for kind in sorted(shown):
        # the weights of a model are too much to wait for before anything is painted
        later = "defer" if figure_assets.carries_weights(kind) else None
        app.add_js_file(_script_file(kind), loading_method=later)


def _lighten(body: str) -> str:
    """Take names, brackets and spaces out of elements whose colour is that of plain text."""
    return _PLAIN.sub(r"\1", body)


def _name_truly(body: str) -> str:
    """Name what unfolds by the text it shows, and give a table's empty corner no heading."""
    body = body.replace(
        '<summary aria-label="Toggle hidden content">', "<summary>"
    )
    return body.replace('<th class="head"><p></p></th>', "<td></td>")


def _keep_whole(body: str) -> str:
    """Let no line end within an option such as ``-m``."""
    return _OPTION.sub(r'<span class="pre whole">\1</span>', body)


def _preload(context) -> str:
    """Let the browser fetch the letters of the text before it has read the styles.

    Of a page from the file system it would complain.
    """
    files = [
        context["pathto"](f"_static/fonts/{font}.woff2", 1)
        for font in FIRST_FONTS
    ]
    return (
        f'\n<script>if (location.protocol !== "file:") for (const href of {files})'
        ' document.head.append(Object.assign(document.createElement("link"), { rel: "preload",'
        ' as: "font", type: "font/woff2", crossOrigin: "", href }));</script>\n'
    )


def _sources(app) -> dict[str, Path]:
    """Where the pictures of all pages come from, by the name of their file."""
    images = getattr(app.builder, "images", {})
    return {name: Path(app.srcdir, path) for path, name in images.items()}


def _place_pictures(body: str, sources: dict[str, Path]) -> str:
    """Let a picture lead to its file, reserve its room, and put drawings into the page.

    A plot has 120 pixels an inch. Set at 96, its letters are as large as the page's.
    """

    def place(picture: re.Match) -> str:
        image, file = picture.groups()
        source = sources.get(html.unescape(file).rpartition("/")[2])
        if source and source.suffix == ".svg":
            drawing = source.read_text("utf8")
            if _DRAWING.match(drawing):
                image = drawing
        elif source and source.suffix == ".png" and " width=" not in image:
            width, height = _size(source.read_bytes())
            image = image.replace(
                "<img ",
                f'<img srcset="{file} 1.25x" width="{width * 4 // 5}" height="{height * 4 // 5}" ',
                1,
            )
        return f'<a class="picture" href="{file}">{image}</a>'

    return _PICTURE.sub(place, body)


def _take_out_stills(body: str, app, pathto) -> str:
    """Write the pictures in interactive figures into files, which are fetched without scripts only.

    They are a third of a page, and the page would be painted later.
    """

    def take_out(picture: re.Match) -> str:
        alt, content = picture[1], base64.b64decode(picture[2])
        width, height = _size(content)
        file = f"_images/still-{hashlib.sha256(content).hexdigest()[:16]}.png"
        path = Path(app.outdir, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return (
            f'<img {alt} src="{pathto(file, 1)}" loading="lazy"'
            f' width="{width}" height="{height}">'
        )

    return _STILL.sub(take_out, body)


def _size(picture: bytes) -> tuple[int, int]:
    """Width and height of a PNG, in pixels, from its first bytes."""
    return struct.unpack(">II", picture[16:24])


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


def _write_palette(app, exception) -> None:
    """Put the book's colours before its styles, in one file."""
    sheet = Path(app.outdir) / "_static/book.css"
    if exception or not sheet.exists():
        return
    text = sheet.read_text("utf8")
    if text.startswith("html[data-theme"):  # nothing has been copied since
        text = text.partition("\n\n")[2]
    colours = (
        f'html[data-theme="light"] {{ {palette.declarations(palette.LIGHT)} }}\n'
        f'html[data-theme="dark"] {{ {palette.declarations(palette.DARK)} }}\n\n'
    )
    sheet.write_text(colours + text, "utf8")


def setup(app) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("config-inited", _locate)
    app.connect("write-started", _write_figures_scripts)
    app.connect("html-page-context", _rework)
    app.connect("build-finished", _drop_unused_icons)
    app.connect("build-finished", _write_palette)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
