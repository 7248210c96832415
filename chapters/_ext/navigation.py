"""A Sphinx extension: how readers come from a page to others.

``_toc.yml`` has the order of the book. A laboratory notebook is listed below its chapter, so:

1. Its page is numbered by this place. "Lab 9 · …" becomes "9.3 · …" in its title, and so wherever
   that is shown.
2. The sidebar has it only while its chapter, or a page beside it, is open, and shows the main
   experiments of the chapter in a darker colour than the others.
3. *Next* and *Previous* lead from chapter to chapter, or through the laboratory of one and back.
4. Search ranks first a page that has the words of the query in its title, one of its headings, or
   a term of the glossary that it explains (``search_scorer.js``).
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

from attncourse.chapter import laboratory_numbers, main_experiments, notebooks

LAB = re.compile(r"^Lab \d+ · ")
TERM = re.compile(
    r"^\*\*(?P<term>[^*]+)\*\*(?: \((?P<names>[^)]+)\))?.*"
    r"\]\((?P<file>[\w-]+)\.ipynb#(?P<anchor>\S+)\)$",
    re.M,
)


def _set_up(app, config) -> None:
    """Number the laboratory, and choose the sidebar's depth and what ranks search."""
    root = Path(app.srcdir)
    config.laboratory_numbers = {
        str(path.relative_to(root).with_suffix("")): number
        for path, number in laboratory_numbers(notebooks(root)).items()
    }
    config.html_search_scorer = str(
        Path(__file__).with_name("search_scorer.js")
    )


def _renumbered(app, env, added, changed, removed) -> list[str]:
    """The pages of the laboratory whose number has changed since they were read."""
    before = getattr(env, "laboratory_numbers", {})
    env.laboratory_numbers = now = app.config.laboratory_numbers
    return [
        page
        for page in now
        if page in env.found_docs and before.get(page) != now[page]
    ]


class Numbers(SphinxTransform):
    """The title of a laboratory page begins with its number."""

    default_priority = 800  # just before Sphinx collects the titles

    def apply(self, **_: object) -> None:
        number = self.config.laboratory_numbers.get(self.env.docname)
        title = next(self.document.findall(nodes.title), None)
        if number and title:
            text = LAB.sub(f"{number} · ", title[0].astext())
            title.replace(title[0], nodes.Text(text))


class Term(nodes.title):
    """A term of the glossary at the section that explains it: search takes it for a heading."""


class Terms(SphinxPostTransform):
    """Search finds a term of the glossary where it is explained."""

    default_priority = 400
    formats = ("html",)

    def run(self, **_: object) -> None:
        glossary = Path(self.env.srcdir, "chapters/glossary.md")
        text = glossary.read_text("utf8") if glossary.exists() else ""
        page = self.env.docname.rpartition("/")[2]
        sections = {
            id: section
            for section in self.document.findall(nodes.section)
            for id in section["ids"]
        }
        for entry in TERM.finditer(text):
            section = (
                sections.get(entry["anchor"]) if entry["file"] == page else None
            )
            if not section:
                continue
            heading = section.next_node(nodes.title).astext().lower()
            names = [entry["term"], *(entry["names"] or "").split(", ")]
            section += [
                Term("", name) for name in names if name and name != heading
            ]


def _leave_out(translator, node: Term) -> None:
    raise nodes.SkipNode


def _place(app, pagename, templatename, context, doctree) -> None:
    """Give a page its sidebar, and the pages before and after it."""
    chapters = Path(app.srcdir, "chapters")
    context["book_contents"] = lambda: _sidebar(
        context["generate_toctree_html"], main_experiments(chapters)
    )
    context["prev"], context["next"] = _neighbours(app, pagename)


def _sidebar(toctree, main):
    """The contents with the laboratory of the open chapter, without a switch to unfold it."""
    soup = toctree(
        kind="raw",
        startdepth=0,
        maxdepth=2,
        collapse=True,
        includehidden=True,
        titles_only=True,
    )
    for part in soup("ul", recursive=False):
        part["class"] = sorted({*part.get("class", []), "nav", "bd-sidenav"})
    for link in soup.select("a.current"):
        link["aria-current"] = "page"
    for link in soup.select("li li > a"):  # a notebook of the laboratory
        if Path(link["href"]).stem in main:
            link["class"] = sorted({*link.get("class", []), "main-experiment"})
    return soup


def _neighbours(app, page: str) -> list[dict[str, str] | None]:
    """The links to the pages before and after one, None where the book begins and ends."""
    below, root = app.env.toctree_includes, app.config.root_doc
    chapter = next((c for c in below if c != root and page in below[c]), None)
    if chapter:
        row = [chapter, *below[chapter], chapter]
    else:
        row = [None, root, *below.get(root, []), None]
    if page not in row:
        return [None, None]
    place = row.index(page)
    around = [
        _link(app, page, other) for other in (row[place - 1], row[place + 1])
    ]
    if chapter and row[place + 1] == chapter:
        around[1]["title"] = f"Back to chapter {int(Path(chapter).name[:2])}"
    return around


def _link(app, page: str, other: str | None) -> dict[str, str] | None:
    if other is None:
        return None
    title = app.builder.render_partial(app.env.titles[other])["title"]
    return {"link": app.builder.get_relative_uri(page, other), "title": title}


def setup(app) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_config_value("laboratory_numbers", {}, "")
    app.connect("config-inited", _set_up)
    app.connect("env-get-outdated", _renumbered)
    app.add_transform(Numbers)
    app.add_node(Term, html=(_leave_out, None))
    app.add_post_transform(Terms)
    app.connect("html-page-context", _place)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
