"""A prediction: its buttons, its reasons, and what it tells the page."""

import browser
import examples
import pytest
from examples import alive, press, said

from attnbook.exercises import catalogue
from attnbook.figures import interactive

browser.skip_without()
show = examples.show


def answers(page):
    """The answers of a prediction: text, mark and whether it is the present one."""
    return [
        (button.inner_text().replace("\n", " ").strip(), button.get_attribute("aria-pressed"))
        for button in page.get_by_role("button").all()
    ]


def test_a_prediction_names_what_is_believed_and_lets_one_change_ones_mind(show):
    figure = interactive.predict("2.0").to_html()  # reasons of 6 and of 4 lines
    page = show(figure + "<p id=after>the rest</p>", width=390)
    choice = next(exercise for exercise in catalogue() if exercise.id == "2.0")
    assert answers(page) == [("A", "false"), ("B", "false"), ("C", "false")]
    for why in (*choice.explanations.values(), choice.because):
        assert not page.get_by_text(why).first.is_visible()
    page.evaluate(
        "window.heard = 0; addEventListener('attnbook-predicted', () => window.heard += 1)"
    )
    page.get_by_role("button", name="C").click()
    belief = "more training cures everything"
    assert said(page) == f"✗ Not so: “{belief}”. {choice.explanations[belief]}"
    assert answers(page)[1:] == [("✓ B", "false"), ("✗ C your first answer", "true")]
    before = page.locator("#after").bounding_box()["y"]
    page.get_by_role("button", name="B").click()
    assert said(page) == f"✓ That is right. {choice.because}"
    assert answers(page) == [("A", "false"), ("✓ B", "true"), ("✗ C your first answer", "false")]
    assert page.evaluate("window.heard") == 2
    assert page.locator("#after").bounding_box()["y"] == before  # nothing jumps


def test_a_prediction_is_made_by_keyboard_and_spoken(show):
    page = show(alive("predict"), width=390)
    press(page, "Tab", "Tab", "Enter")
    assert said(page) == "✗ Not so. No height."
    assert page.locator(".said code").inner_text() == "height"
    assert page.locator(".said").get_attribute("aria-live") == "polite"
    press(page, "Tab", "Space")
    assert said(page) == "✓ That is right. The mean."
    assert "your first answer" in answers(page)[1][0]


def test_short_options_stand_in_a_row_and_only_letters_are_bold(show):
    figure = interactive.predict(options={"2": "Right.", "3.5": "No.", "many": "No."}, right="2")
    page = show(figure.to_html(), width=700)
    assert page.locator(".text b").count() == 0
    assert len({button.bounding_box()["y"] for button in page.get_by_role("button").all()}) == 1
    page = show(interactive.predict("2.0").to_html(), width=700)
    assert page.locator(".text b").all_inner_texts() == ["A", "B", "C"]


def test_a_prediction_of_the_catalogue_has_to_be_one():
    with pytest.raises(KeyError, match=r"no choice '2\.1'; there are 1\.0, 2\.0, "):
        interactive.predict("2.1")
