"""A chapter as slides, made from its notebook: one drawing, result or poll each, in one file.

The page needs no network: reveal.js, which turns the slides, is in it, and so are the scripts of
the figures that can be used. What is in ``reveal`` is from the npm package reveal.js 5.2.1.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup
from nbformat import NotebookNode

from attnbook import figure_assets
from attncourse.chapter import TITLE, exercises_of, opening, tags
from attncourse.markdown_html import STYLE_OF_CODE, code, text
from attncourse.pages.timing import without_exercises

HERE = Path(__file__).parent
TEMPLATE = HERE / "slides.html"

NOTHING = Markup("")
NOT_SHOWN = {"setup", "remove-cell", "verify", "exercise", "solution"}
MOST_WORDS = 45  # of the text above a figure
MORE_WORDS = 10  # if its first sentence needs the one before
# a sentence that says little without the one before
HANGS = re.compile(
    r"(?:(?:So|But) )?(?:It|Its|They|Their|This|These|That|Those)\b|(?:Then|Instead|Therefore)\b"
    r"|[^.,]{0,30} then\b",
    re.I,
)
CAPTION = re.compile(r"\*(Figure [\d.]+\.\s.+)\*$", re.S)
EQUATION = re.compile(r"\\tag\{([\d.]+)\}")
LOCAL_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)\s]*\)")
CHOICE = re.compile(r"### Exercise [\d.]+\.0 .*")
OPTION = re.compile(r"- \*\*([A-Z])\*\* (.+)")
PREDICT = re.compile(r"> \*\*Predict\.\*\*\s*")
FIGURE = re.compile(r"<attnbook-([a-z-]+)")
ASKS_FOR_THE_LINE = re.compile(r" (Which line is wrong\?|First check the number)")
YOU_ARE_HERE = re.compile(r'"here": "')  # a small map of the model: where in it a page is
DATA = re.compile(r'<script type="application/json">(.*?)</script>', re.S)


@dataclass
class Option:
    """An answer to a prediction, and what is to be said of it."""

    letter: str
    text: Markup
    why: Markup
    right: bool


@dataclass
class Slide:
    """What one slide shows; which parts it has, its kind says."""

    kind: str  # figure, table, formula, code, poll, answer, broken or mended
    section: str
    lead: Markup = NOTHING
    body: Markup = NOTHING
    caption: Markup = NOTHING
    code: Markup = NOTHING  # below the body
    options: list[Option] = field(default_factory=list)


def deck(chapter: NotebookNode) -> str:
    """The slides of a chapter as one page."""
    found = TITLE.match(chapter.cells[0].source)
    said = dict(re.findall(r"> \*\*(Question|Short answer)\.\*\* (.+)", opening(chapter)))
    slides = [*slides_of(chapter), *_to_mend(chapter)]
    kinds = {kind for slide in slides for kind in FIGURE.findall(slide.body)}
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        TEMPLATE.read_text("utf8")
    )
    return page.render(
        number=found["number"],
        title=_inline(found["question"]),
        question=_inline(said["Question"]),
        answer=_shown(said.get("Short answer", "")),
        slides=slides,
        reveal=Markup((HERE / "reveal/reveal.js").read_text("utf8")),
        style=Markup((HERE / "reveal/reveal.css").read_text("utf8")),
        style_of_code=Markup(STYLE_OF_CODE),
        figures=Markup("".join(_scripts({kind.replace("-", "_") for kind in kinds}))),
    )


def _scripts(kinds: set[str]) -> Iterator[str]:
    """What figures of these kinds need, once."""
    if kinds:
        yield figure_assets.script(figure_assets.SHARED)
    for kind in sorted(kinds):
        for name in (*figure_assets.NEEDS.get(kind, ()), kind):
            yield figure_assets.script(name)


def slides_of(chapter: NotebookNode) -> Iterator[Slide]:
    """What is shown of a chapter, up to its exercises, in its order."""
    section = ""
    said: list[str] = []  # since the last slide
    choices: list[tuple[str, str]] = []
    last: Slide | None = None  # waits for its caption
    derived: NotebookNode | None = None  # the text cell whose formulas share a slide
    for cell in without_exercises(chapter):
        if cell.cell_type == "markdown":
            for block in _blocks(cell.source):
                heading = re.match(r"##+ (.+)", block)
                caption = CAPTION.match(block)
                option = OPTION.findall(block)
                if CHOICE.match(block):
                    said = []
                elif heading:
                    section, said = heading[1], []
                elif caption:
                    if last:
                        last.caption = _inline(caption[1])
                elif option:
                    choices = option
                elif "$$" in block and last and last.kind == "formula" and derived is cell:
                    last.body += _shown(*said, EQUATION.sub(r"\\qquad (\1)", block))
                    said = []
                elif "$$" in block or block.startswith("|"):
                    yield from filter(None, [last])
                    kind = "formula" if "$$" in block else "table"
                    body = _shown(EQUATION.sub(r"\\qquad (\1)", block))
                    last, derived = Slide(kind, section, _lead(said), body), cell
                    said = []
                else:
                    said.append(block)
            continue
        if NOT_SHOWN & {*tags(cell)}:
            continue
        new = list(_of_code(cell, section, said, choices))
        if new:
            yield from filter(None, [last])
            *before, last = new
            yield from before
            said, choices = [], []
    yield from filter(None, [last])


def _blocks(markdown: str) -> list[str]:
    """The paragraphs of a text cell, without what is folded, the first lines and local links."""
    if TITLE.match(markdown):
        return []
    markdown = re.sub(r"<details>.*?</details>", "", markdown, flags=re.S)
    return [
        block.strip() for block in LOCAL_LINK.sub(r"\1", markdown).split("\n\n") if block.strip()
    ]


def _of_code(
    cell: NotebookNode, section: str, said: list[str], choices: list[tuple[str, str]]
) -> Iterator[Slide]:
    """The slides of a code cell: a poll and its answer, what it shows, or code that has the tag."""
    if "predict" in tags(cell):
        data = json.loads(DATA.search(cell.outputs[0].data["text/html"])[1])
        options = _options(data, dict(choices))
        parts = section, _lead(said[:-1]), _shown(PREDICT.sub("", said[-1]))
        for kind in ("poll", "answer"):
            yield Slide(kind, *parts, options=options)
        return
    for output in cell.outputs:
        kind, body = _figure(output)
        if body:
            yield Slide(kind, section, _lead(said), body)
            said = []
    if "slide" in tags(cell):
        yield Slide("code", section, _lead(said), code(cell.source))


def _to_mend(chapter: NotebookNode) -> Iterator[Slide]:
    """The code with a wrong line and what it does, and then the same with the line mended."""
    figures = [cell.outputs[0] for cell in chapter.cells if "symptoms" in tags(cell)]
    tasks = [task for task in exercises_of(chapter) if "**Debug this.**" in task.text]
    for figure, task in zip(figures, tasks, strict=True):
        _, told = task.text.split("**Debug this.**")
        broken, _ = task.call
        lines = zip(broken.split("\n"), task.solution.split("\n"), strict=False)
        wrong = next(i for i, (line, mended) in enumerate(lines, start=1) if line != mended)
        parts = "Debug this", _inline(ASKS_FOR_THE_LINE.split(told)[0]), _figure(figure)[1]
        yield Slide("broken", *parts, code=code(broken))
        yield Slide("mended", *parts, code=code(task.solution, marked=wrong))


def _options(data: dict, texts: dict[str, str]) -> list[Option]:
    """The answers to choose from; those of a choice are in the text, under their letters."""
    return [
        Option(
            letter=chr(ord("A") + i),
            text=_inline(texts.get(option["text"], option["text"])),
            why=_inline(option["why"]),
            right=i == data["right"],
        )
        for i, option in enumerate(data["options"])
    ]


def _figure(output: NotebookNode) -> tuple[str, Markup]:
    """What an output shows, as HTML, and its kind; nothing of one that only prints."""
    data = output.get("data", {})
    if "image/svg+xml" in data:
        return "figure", Markup(data["image/svg+xml"])
    if FIGURE.search(data.get("text/html", "")) and not YOU_ARE_HERE.search(data["text/html"]):
        return "figure", Markup(data["text/html"])
    if "image/png" in data:
        alt = output.metadata.get("alt", "")
        source = f"data:image/png;base64,{data['image/png'].strip()}"
        return "figure", Markup('<img alt="{}" src="{}">').format(alt, source)
    if "text/markdown" in data:
        return "table", _shown(data["text/markdown"])
    return "", NOTHING


def _lead(said: list[str]) -> Markup:
    """The sentences right before a figure, as many as one reads at a glance."""
    if not said or said[-1].startswith(("- ", "1. ", ">")):
        return NOTHING
    sentences = re.split(r"(?<=[.?!:]) (?=[A-Z*_$])", said[-1])
    chosen: list[str] = []
    for sentence in reversed(sentences):
        if chosen and len(" ".join([sentence, *chosen]).split()) > MOST_WORDS:
            break
        chosen.insert(0, sentence)
    return _inline(" ".join(_complete(sentences, chosen)))


def _complete(sentences: list[str], chosen: list[str]) -> list[str]:
    """The last of some sentences, without hanging: with one more before them, or fewer."""
    more = sentences[-len(chosen) - 1 :]
    if HANGS.match(chosen[0]) and len(" ".join(more).split()) <= MOST_WORDS + MORE_WORDS:
        chosen = more
    whole = (i for i, sentence in enumerate(chosen) if not HANGS.match(sentence))
    return chosen[next(whole, 0) :]


def _shown(*markdown: str) -> Markup:
    return text(LOCAL_LINK.sub(r"\1", "\n\n".join(markdown)))


def _inline(markdown: str) -> Markup:
    """A line or two without the paragraph around them."""
    return Markup(re.sub(r"^<p>|</p>\s*$", "", _shown(markdown)))
