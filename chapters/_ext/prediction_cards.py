"""A Sphinx extension: predictions, each of which is one card on its page.

A card has the question, the options as buttons, and the result: the cells tagged ``answer`` that
come first, with the paragraph after them. The result waits behind a veil, which book.js makes,
unless ``veil_results`` in ``_config.yml`` is false. Further cells tagged ``answer`` have a veil of
their own in their place, and all other text stays in sight. Code that comes between the buttons and
the result is placed before the card.

The code of a prediction, which names the right answer, is left out of the page, of search and of
print. So are the cells of a choice N.0 to answer it by code. The buttons say all that these say,
and a page can't run them.
"""

import json
import re
from itertools import takewhile

from cell_layout import following, has, is_cell, is_output, raw
from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

_PREDICTION = re.compile(
    r'<attnbook-predict .*?json">(?P<data>.*?)</script>.*'
    r"(?=</attnbook-predict>)",
    re.S,
)


class Card(nodes.General, nodes.Element):
    """A question to predict, with its options and its result."""


class Veil(nodes.General, nodes.Element):
    """What answers a prediction: book.js hides it, and without scripts it shows."""


class Predictions(SphinxPostTransform):
    """Make a card of each prediction."""

    default_priority = 310  # captions are part of their cells by then
    formats = ("html",)

    def run(self, **_: object) -> None:
        asking = [
            cell
            for cell in self.document.findall(is_cell)
            if has(cell, "predict")
        ]
        for number, cell in enumerate(asking, start=1):
            _leave_out_code(cell)
            _put_options_into_buttons(cell)
            _place(cell, number, veiled=self.config.veil_results)


def _leave_out_code(cell: nodes.container) -> None:
    """Remove a prediction's code, and the cells after it to answer it by code."""
    for part in list(cell):
        if not is_output(part):
            cell.remove(part)
    stub, *after = [*following(cell), None]
    if not has(stub, "exercise"):
        return
    stub.parent.remove(stub)
    if _is_raw(after[0], "<details>"):
        for part in after:  # the solution
            part.parent.remove(part)
            if _is_raw(part, "</details>"):
                break


def _is_raw(part: nodes.Node | None, start: str) -> bool:
    return isinstance(part, nodes.raw) and part.astext().startswith(start)


def _put_options_into_buttons(cell: nodes.container) -> None:
    """Move the list of options above a choice into the buttons of its figure."""
    figure = next(cell.findall(nodes.raw), None)
    found = figure and _PREDICTION.search(figure.astext())
    place = cell.parent.index(cell)
    options = cell.parent[place - 1] if place else None
    if not found or not isinstance(options, nodes.bullet_list):
        return
    names = [next(item.findall(nodes.strong), None) for item in options]
    letters = [
        option["text"] for option in json.loads(found["data"])["options"]
    ]
    if letters != [name.astext() for name in names if name]:
        return
    parts = [raw(found[0])]
    for letter, name in zip(letters, names, strict=True):
        text = name.parent[name.parent.index(name) + 1 :]
        parts += [raw(f'<span slot="{letter}">'), *text, raw("</span>")]
    parts.append(raw("</attnbook-predict>"))
    buttons = nodes.container("", *parts, classes=figure["classes"])
    figure.parent.replace(figure, buttons)
    options.parent.remove(options)


def _place(cell: nodes.container, number: int, *, veiled: bool) -> None:
    """Put a prediction into a card, and what answers it behind veils."""
    first, *others = _answers(cell) or [[]]
    between = list(takewhile(lambda part: part not in first, following(cell)))
    close = first and not any(map(_shows, between))
    card = Card("", question=number)
    where = first[0] if close else cell
    where.parent.insert(where.parent.index(where), card)
    for part in [*_question(cell), cell]:
        part.parent.remove(part)
        card.append(part)
    if not veiled:
        return
    for run in [first, *others] if first else []:
        veil = Veil("", question=number)
        if run is first and close:
            card.append(veil)
        else:
            run[0].parent.insert(run[0].parent.index(run[0]), veil)
        for part in run:
            part.parent.remove(part)
            veil.append(part)


def _question(cell: nodes.container) -> list[nodes.Node]:
    """What is above the buttons: the quoted question, or the text of a choice N.0."""
    before = cell.parent[: cell.parent.index(cell)]
    if cell.parent["ids"][:1] and cell.parent["ids"][0].startswith("exercise-"):
        return [part for part in before if not isinstance(part, nodes.title)]
    quoted = before and isinstance(before[-1], nodes.block_quote)
    return before[-1:] if quoted else []


def _answers(cell: nodes.container) -> list[list[nodes.Node]]:
    """What answers a prediction, before the next one and the next heading.

    Cells tagged ``answer`` that follow one another are one run, with the paragraph after them,
    unless this leads on with a colon. Without such cells it is the first paragraph.
    """
    own = list(
        takewhile(lambda part: not has(part, "predict"), following(cell))
    )
    asked = own and isinstance(own[-1], nodes.block_quote)
    if asked and len(own) < len(following(cell)):
        own.pop()  # the next question
    runs, run = [], []
    for part in own:
        if has(part, "answer"):
            run.append(part)
        elif run:
            run += [part] if _says_it(part) else []
            runs.append(run)
            run = []
    runs += [run] if run else []
    if runs:
        return runs
    return [[part] for part in own if isinstance(part, nodes.paragraph)][:1]


def _says_it(part: nodes.Node) -> bool:
    return isinstance(part, nodes.paragraph) and not part.astext().endswith(":")


def _shows(part: nodes.Node) -> bool:
    """Whether it is more than code: a text, or a cell that shows something."""
    return not is_cell(part) or any(map(is_output, part))


def _open_card(translator, node: Card) -> None:
    translator.body.append(
        f'<div class="prediction" data-question="{node["question"]}">\n'
    )


def _close_card(translator, node: Card) -> None:
    translator.body.append("</div>\n")


def _open_veil(translator, node: Veil) -> None:
    translator.body.append(
        f'<book-veil data-question="{node["question"]}" role="group" '
        'aria-label="The result" tabindex="-1">\n'
    )


def _close_veil(translator, node: Veil) -> None:
    translator.body.append("</book-veil>\n")


def setup(app) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_config_value("veil_results", True, "env", bool)
    app.add_node(Card, html=(_open_card, _close_card))
    app.add_node(Veil, html=(_open_veil, _close_veil))
    app.add_post_transform(Predictions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
