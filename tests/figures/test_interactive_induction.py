"""Two heads that continue a repetition: a note, a match and a copy, on the weights given."""

import browser
import examples
import pytest
import torch
from examples import INDUCTION, alive, numbers, percent, ribbons, said
from playwright.sync_api import expect

from attnbook.figures import interactive

browser.skip_without()
show = examples.show
NOTES, MATCHES = INDUCTION["notes"], INDUCTION["matches"]


def opened(show, **options):
    return show(alive("induction"), **{"motion": "reduce"} | options)


def test_the_last_word_finds_the_note_that_names_it_and_its_word_is_copied(show):
    page = opened(show)
    assert said(page) == (
        "3. Copy: the word with the note “after a” is “b”. It is copied into the prediction."
    )
    assert page.locator(".note").all_text_contents() == ["–", "<i>", "a", "b"]
    assert page.locator(".copy").text_content() == "b" and page.locator(".hit").count() == 1
    assert page.locator(".share").all_text_contents() == [percent(w) for w in MATCHES[3].tolist()]
    _, rows = numbers(page)
    assert rows["<i>"][0] == "–", "nothing is before the first word"
    assert rows["b"] == ["after a", percent(0.8), percent(0.8)]


@pytest.mark.parametrize(("part", "weights"), [("one", NOTES), ("two", MATCHES[3:])])
def test_ribbons_are_as_wide_as_the_weights(show, part, weights):
    widths, _ = ribbons(opened(show), f".{part}")
    drawn = weights[weights > 0.01].double()
    assert (widths / widths.sum()).sub(drawn / drawn.sum()).abs().max() < 0.01


def test_each_step_shows_what_its_head_has_done(show):
    page = opened(show)
    parts = ".noted", ".two", ".copy"
    for count in (2, 1, 0):
        page.get_by_role("button", name="back").press("Enter")
        for i, part in enumerate(parts):
            shown = expect(page.locator(part).last)
            shown.to_have_css("opacity", "1" if i < count else "0")
    assert said(page).startswith("What comes after “a”?")
    page.get_by_role("button", name="next step").click()
    assert f"gets {percent(0.7)} or more of the weight in head 1" in said(page)


def test_another_word_can_ask_and_may_find_no_note(show):
    page = opened(show, width=390)
    page.get_by_role("group", name="Words").get_by_role("button", name="b", exact=True).press(
        "Enter"
    )
    assert page.locator(".copy").text_content() == "?" and page.locator(".hit").count() == 0
    assert "head 2 does not find the note “after b”" in said(page)
    page.get_by_role("button", name="back").click()
    assert said(page).endswith(f"No word has it yet. “b” gets the most weight, {percent(0.5)}.")
    shares = page.locator(".share").all_text_contents()
    assert shares == [percent(w) for w in MATCHES[2, :3].tolist()]


def test_a_note_that_is_there_may_be_missed_and_the_first_word_has_none(show):
    matches = MATCHES.clone()
    matches[3] = torch.tensor([0.9, 0.02, 0.07, 0.01])
    figure = interactive.induction(["a", "b", "c", "a"], notes=NOTES, matches=matches)
    page = show(figure.to_html(), motion="reduce")
    assert "head 2 does not find the note “after a”" in said(page)
    page.get_by_role("button", name="back").click()
    assert said(page).endswith(
        f"“b” has it, but gets only {percent(0.02)}, and “a” gets {percent(0.9)}."
    )
    assert page.locator(".hit").count() == 0 and page.locator(".copy").text_content() == "?"
    page.get_by_role("button", name="a", exact=True).first.press("Enter")
    assert said(page).endswith(f"No word has it yet. “a” gets the most weight, {percent(1)}.")


def test_it_plays_once_when_it_is_seen_and_stops_for_a_reader(show):
    page = opened(show, motion="no-preference")
    page.get_by_text("1. Note: ").wait_for()
    page.get_by_text("3. Copy: ").wait_for()
    page.get_by_role("button", name="play").click()
    page.get_by_role("button", name="next step").click()
    before = said(page)
    page.wait_for_timeout(3000)
    assert said(page) == before
