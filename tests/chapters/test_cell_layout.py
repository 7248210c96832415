"""How chapters/_ext lays out cells and predictions, in a book of two pages with all kinds."""

import re
import shutil

import browser
import nbformat
import pytest
from building import build, copy_settings, watch

from attnbook.figures import interactive
from attnbook.figures.interactive import without_script

browser.skip_without()


def cell(code, *tags, **shown):
    """A cell that was run: its code, its tags, and what it shows, by the name of the format."""
    outputs = []
    for kind, text in shown.items():
        if kind == "stdout":
            outputs.append(nbformat.v4.new_output("stream", name=kind, text=text))
        else:
            data = {f"text/{kind}": text}
            outputs.append(nbformat.v4.new_output("display_data", data=data))
    return nbformat.v4.new_code_cell(code, metadata={"tags": [*tags]}, outputs=outputs)


def asking(figure):
    """A prediction as it is stored."""
    return cell("predict()", "hide-input", "predict", html=without_script(figure.to_html()))


SOLUTION = "<details>\n<summary>Solution 2.0</summary>\n\n```python\nx = 'B'\n```\n\n</details>"


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """A book of two pages, without a home, that have what a page can have."""
    book = tmp_path_factory.mktemp("small")
    copy_settings(book)
    (book / "_toc.yml").write_text(
        "format: jb-book\nroot: chapters/page\nchapters:\n  - file: chapters/choice\n"
    )
    text = nbformat.v4.new_markdown_cell
    table = "| design | seeds | range |\n|---|---|---|\n| one | 5 | −0.3 to 1 |\n| two | ✗ | 7 % |"
    x_or_y = interactive.predict(options={"X": "For X.", "Y": "For Y."}, right="Y")
    page = [
        text("# A page\n\n> **Question.** What is there?"),
        cell("import torch", "hide-input"),
        text(
            "With 7 % of it.\n\n> **Note.** Aside.\n\n**Time:** 30 minutes to read and run; "
            "2 exercises, about ½ hour.\n\n**You need first:** nothing."
        ),
        cell("confirm()", "hide-input", "verify", stdout="✓ equal to PyTorch's (to 1e-06)\n"),
        cell("table()", "hide-input", markdown=table),
        text("## Questions\n\n> **Predict.** X or Y?"),
        asking(x_or_y),
        text("The first result.\n\n> **Predict.** And now, X or Y?"),
        asking(x_or_y),
        text("A concept."),
        cell("1 + 1", "answer", stdout="The second result."),
        text("It means this.\n\nAnd that.\n\n## Another section\n\nIts text."),
    ]
    options = "- **A** Neither.\n- **B** The first, but not $x$.\n- **C** Both."
    choice = [
        text("# A choice\n\nIt is made by button."),
        text(f"## One\n\n### Exercise 2.0 ★☆☆ · 2 min\n\nWhich one?\n\n{options}"),
        asking(interactive.predict("2.0")),
        cell('check("2.0", ...)', "exercise", stdout="not attempted"),
        nbformat.v4.new_markdown_cell(SOLUTION, metadata={"tags": ["solution"]}),
        cell("train()"),
        cell("plot()", "hide-input", "answer", stdout="The answer."),
        text("*Figure 2.1. What it shows.*\n\nWhat it means."),
        text("What follows.\n\n## Two\n\n> **Predict.** X or Y?"),
        asking(x_or_y),
        cell("1 + 1", "answer", stdout="Another answer.", html="<svg class='result'></svg>"),
        text("## Three\n\nThe end."),
    ]
    for name, cells in {"page": page, "choice": choice}.items():
        metadata = {"language_info": {"name": "python"}}
        notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
        nbformat.write(notebook, book / f"chapters/{name}.ipynb")
    return book


@pytest.fixture(scope="session")
def pages(small):
    return build(small) / "chapters"


def test_until_the_book_has_a_home_no_button_leads_there(pages):
    page = (pages / "page.html").read_text("utf8")
    body = page[page.index("<body") :]
    assert not re.search(r'href="[^"]*(owner\.invalid|colab)', body)


@pytest.fixture
def open_alone(context, tmp_path):
    """Open a file in a browser that remembers nothing of others."""
    opened = []

    def open_one(path, *, start="", width=1400):
        page = watch(context.new_page())
        opened.append(page)
        page.set_viewport_size({"width": width, "height": 900})
        page.add_init_script(start)
        page.goto(path.as_uri())
        return page

    (tmp_path / "empty.html").touch()
    context.pages[0].goto((tmp_path / "empty.html").as_uri())
    context.pages[0].evaluate("localStorage.clear()")  # all files share it
    yield open_one
    for page in opened:
        page.close()


@pytest.mark.parametrize("width", [390, 1400])
def test_what_was_checked_is_one_small_line_with_the_code_behind_a_switch_in_it(
    open_alone, pages, width
):
    page = open_alone(pages / "page.html", width=width)
    checked = page.locator(".tag_verify")
    line, switch = checked.locator(".cell_output pre"), checked.locator("summary")
    before = switch.bounding_box()
    assert checked.bounding_box()["height"] < (40 if width == 390 else 60)  # two in the margin
    assert before["x"] > line.bounding_box()["x"] + line.bounding_box()["width"] - 1
    assert not checked.locator(".cell_input").is_visible()
    switch.press("Enter")
    assert checked.locator(".cell_input").is_visible()
    assert switch.bounding_box() == before
    assert checked.locator(".cell_input").bounding_box()["y"] > before["y"] + 10


def test_a_table_of_results_has_its_numbers_under_each_other_and_one_rule(open_alone, pages):
    page = open_alone(pages / "page.html")
    cells = page.locator(".cell_output td, .cell_output th").evaluate_all(
        "cells => cells.map(cell => [cell.innerText, getComputedStyle(cell).textAlign])"
    )
    right = {text for text, align in cells if align == "right"}
    assert right == {"seeds", "range", "5", "−0.3 to 1", "✗", "7\N{NO-BREAK SPACE}%"}
    grounds = page.locator("article tr").evaluate_all(
        "rows => rows.map(row => getComputedStyle(row).backgroundColor)"
    )
    assert {*grounds} == {"rgba(0, 0, 0, 0)"}


BOX = "Show the result"
ANSWER = ["The answer.", "Figure 2.1. What it shows.", "What it means."]


def seen(page, *texts):
    """Those of the texts that can be seen."""
    return [
        text
        for text in texts
        if any(place.is_visible() for place in page.get_by_text(text, exact=True).all())
    ]


@pytest.fixture
def choosing(open_alone, pages):
    """A page with two predictions, in a browser that has not seen it."""
    return open_alone(pages / "choice.html")


def test_a_choice_names_the_misconception_and_shows_its_result_whole_and_alone(choosing):
    assert seen(choosing, *ANSWER, "Another answer.", "What follows.") == ["What follows."]
    assert (
        choosing.locator(".tag_exercise, .tag_solution").count() == 0
    )  # buttons are there instead
    assert choosing.get_by_text("predict()").count() == 0  # this code would tell
    question = choosing.locator("attnbook-predict").first
    assert choosing.locator("[slot=B] math").is_visible()
    before = question.bounding_box()
    question.get_by_role("button", name="C Both.").press("Enter")
    said = question.locator(".said").inner_text()
    assert said.startswith("✗ Not so: “more training cures everything”. This assumes")
    assert seen(choosing, *ANSWER, "Another answer.") == ANSWER
    assert [box.is_visible() for box in choosing.get_by_text(BOX).all()] == [False, True]
    assert question.bounding_box()["y"] == before["y"]
    assert choosing.trouble == []


def test_a_result_is_seen_without_predicting_and_the_keyboard_stays_there(choosing):
    button = choosing.locator(".veil-box button").first
    assert button.inner_text() == BOX
    button.press("Enter")
    assert seen(choosing, *ANSWER, "Another answer.") == ANSWER
    assert not button.is_visible()
    assert choosing.evaluate("document.activeElement.getAttribute('aria-label')") == "The result"
    assert "The answer." in choosing.evaluate("document.activeElement.innerText")


def test_results_are_shown_always_once_one_has_asked_for_it_on_every_page(choosing, pages):
    def switch():
        return choosing.get_by_role("checkbox", name="Always show results").last

    choosing.set_viewport_size({"width": 390, "height": 400})
    switch().evaluate("input => input.scrollIntoView({ behavior: 'instant', block: 'center' })")
    place = switch().bounding_box()["y"]
    switch().press("Space")
    assert seen(choosing, *ANSWER, "Another answer.") == [*ANSWER, "Another answer."]
    assert abs(switch().bounding_box()["y"] - place) < 2
    choosing.goto((pages / "page.html").as_uri())
    assert seen(choosing, "The first result.", "The second result.", BOX) == [
        "The first result.",
        "The second result.",
    ]
    assert switch().is_checked()
    switch().press("Space")
    assert seen(choosing, "The first result.", "The second result.") == []
    choosing.goto((pages / "choice.html").as_uri())
    assert seen(choosing, *ANSWER, "Another answer.") == []


def test_the_preview_of_a_result_is_its_own_picture_and_never_the_icon_to_copy_it(choosing):
    icons = choosing.locator("book-veil .cell_output button.copybtn svg")
    assert icons.count() == 2, "both results are texts with a button to copy them"
    previews = choosing.locator(".glimpse").evaluate_all(
        "all => all.map(one => [...one.children].map(child => child.getAttribute('class')))"
    )
    assert previews == [[], ["result"]]


def test_where_nothing_may_be_stored_the_switch_works_for_the_page(open_alone, pages):
    forbidden = "Object.defineProperty(window, 'localStorage', { get() { throw new Error(); } });"
    page = open_alone(pages / "choice.html", start=forbidden)
    assert seen(page, *ANSWER) == []
    page.get_by_role("checkbox", name="Always show results").first.check()
    assert seen(page, *ANSWER, "Another answer.") == [*ANSWER, "Another answer."]


def test_search_in_the_page_print_and_readers_without_scripts_reach_a_result(
    choosing, chromium, pages
):
    choosing.emulate_media(media="print")
    assert seen(choosing, *ANSWER) == ANSWER
    assert not choosing.locator(".veil-box").first.is_visible()
    choosing.emulate_media(media="screen")
    assert seen(choosing, *ANSWER) == []
    hidden = choosing.locator("book-veil").evaluate_all("veils => veils.map(veil => veil.hidden)")
    assert hidden == ["until-found"] * 2
    # as search does with what it has found
    choosing.get_by_text("The answer.").dispatch_event("beforematch")
    assert seen(choosing, *ANSWER, "Another answer.") == ANSWER
    still = chromium.new_page(java_script_enabled=False)
    still.goto((pages / "choice.html").as_uri())
    texts = [*ANSWER, "Another answer.", "Both."]
    assert seen(still, *texts, BOX) == texts
    still.close()


def test_veils_hide_what_answers_with_one_paragraph_and_nothing_else(open_alone, pages):
    page = open_alone(pages / "page.html")
    first, second = ["The first result."], ["The second result.", "It means this."]
    others = ["A concept.", "And that.", "Its text."]
    buttons = page.get_by_role("button", name="X")
    assert buttons.count() == page.get_by_role("button", name=BOX).count() == 2
    assert seen(page, *first, *second, *others) == others
    buttons.first.click()
    assert seen(page, *first, *second, *others) == [*first, *others]
    buttons.nth(1).click()
    assert seen(page, *first, *second, *others) == [*first, *second, *others]


def test_a_prediction_is_one_card_with_question_options_and_result(choosing):
    card = choosing.locator(".prediction").first
    choosing.get_by_role("button", name=BOX).first.click()
    assert seen(card, "Which one?", *ANSWER, "train()", "What follows.") == ["Which one?", *ANSWER]
    above = choosing.get_by_text("train()").bounding_box()
    assert above["y"] < card.bounding_box()["y"], "the code of an answer comes before the card"


def test_time_needs_and_imports_are_one_line_that_unfolds(open_alone, pages):
    page = open_alone(pages / "page.html")
    facts = ["Time:", "You need first:", "import torch"]
    assert seen(page, *facts) == []
    line = page.locator("summary", has_text="30 minutes and 2 exercises")
    assert line.bounding_box()["height"] >= 24
    line.press("Enter")
    assert seen(page, *facts[:2]) == facts[:2]
    assert page.locator("details.facts .cell_input").count() == 1
    question, note = page.locator("blockquote.question"), page.locator("blockquote.note")
    assert question.inner_text() == "What is there?"
    text = page.get_by_text("With 7\N{NO-BREAK SPACE}% of it.").bounding_box()
    assert note.bounding_box()["x"] >= text["x"] + text["width"], "it stands in the margin"


@pytest.mark.parametrize("width", [320, 1400])
def test_a_line_of_text_has_at_most_72_letters(open_alone, pages, width):
    page = open_alone(pages / "page.html", width=width)
    page.evaluate("document.fonts.ready")
    letters = page.get_by_text("Its text.").evaluate(
        """text => {
          text.textContent = "Tokens look at others, and each takes what it needs. ".repeat(60);
          const lines = text.getBoundingClientRect().height
            / parseFloat(getComputedStyle(text).lineHeight);
          return text.textContent.length / Math.round(lines);
        }"""
    )
    assert 66 <= letters <= 72 if width == 1400 else letters < 45, letters
    assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("start", ["", "delete HTMLElement.prototype.onbeforematch"])
def test_a_place_behind_a_veil_is_reached_by_a_link(open_alone, pages, start):
    page = open_alone(pages / "page.html", start=start)
    place = page.get_by_text("The second result.")
    place.evaluate("place => place.id = 'there'")
    assert not place.is_visible()
    page.evaluate("location.hash = 'there'")
    place.wait_for(state="visible")


def test_one_setting_builds_the_book_without_veils(small, open_alone, tmp_path):
    book = shutil.copytree(small, tmp_path / "book")
    settings = book / "_config.yml"
    text = settings.read_text("utf8")
    settings.write_text(text.replace("veil_results: true", "veil_results: false"))
    page = open_alone(build(book) / "chapters/choice.html")
    assert seen(page, *ANSWER, BOX) == ANSWER
    page.get_by_role("button", name="X").click()
    assert page.locator(".said").last.inner_text() == "✗ Not so. For X."
    assert page.trouble == []
