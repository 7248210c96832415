"""The path of a fact: after each block, one of the swapped vectors turns the answer."""

import browser
import examples
import pytest
from examples import FACT, alive, numbers, percent, said
from playwright.sync_api import expect

browser.skip_without()
show = examples.show
FACTS, LASTS = FACT["chances"].tolist()
NAMES = ["␣", "↵", "</script>", "Paris"]


def opened(show, **options):
    return show(alive("path_of_a_fact"), **{"motion": "reduce"} | options)


def answer(chances):
    """What is written beside a token's line."""
    right, other = chances
    share = percent(max(chances))
    return f"{FACT['answers'][other > right]} {share}"


def at(page):
    return page.locator("text.now").text_content()


def test_each_block_has_the_answers_after_a_swap_and_what_the_model_would_say_there(show):
    page = opened(show)
    assert at(page) == "after block 1", "it begins before the head"
    for block in (1, 2, 3):
        rows = [FACTS[-1], FACTS[block], LASTS[block]]  # the first token's vector is no other one
        texts = page.locator("svg text").all_text_contents()
        assert [text for text in texts if text.startswith(("Paris ", "<b> "))][-3:] == [
            answer(row) for row in rows
        ]
        turned = page.locator(".turned")
        assert turned.count() == 1 and turned.text_content().startswith("<b> ")
        assert f"Stopped here: “{NAMES[block]}”." in texts
        assert f"Paris is guess {FACT['ranks'][block]:,}." in texts
        assert page.locator(".bar.now").count() == 1
        holder = "<i>" if block < 2 else "is"
        lifted = page.locator(".swap .at").all_text_contents()  # from the other sentence to ours
        assert lifted == [FACT["other"] if block < 2 else "is", holder]
        assert f"After block {block}, only a swap at “{holder}” turns" in said(page)
        page.get_by_role("button", name="next block").press("Enter")
    heading, rows = numbers(page)
    assert heading == ["“<i>” swapped: <b>", "“is” swapped: <b>", "place of Paris", "first guess"]
    for block, cells in enumerate(rows.values()):
        chances = [percent(of[block][1]) for of in (FACTS, LASTS)]
        assert cells == [*chances, f"{FACT['ranks'][block]:,}", NAMES[block]]


def test_the_country_moves_to_the_last_token_and_lines_are_as_wide_as_the_answer_is_likely(show):
    page = opened(show)
    box = page.locator(".country").bounding_box
    before = box()
    rivers = page.locator(".river:not(.past)")
    heights = rivers.evaluate_all("all => all.map(e => e.getBBox().height)")
    assert heights == pytest.approx([28 * 0.7, 28 * 0.9], abs=0.1)
    width = page.locator(".ribbon").evaluate("e => Number(e.getAttribute('stroke-width'))")
    assert width == 28 * FACT["moved"]
    page.get_by_role("button", name="next block").click()
    assert box()["y"] > before["y"] + 60 and page.locator(".ribbon.past").count() == 1
    page.get_by_role("button", name="back").click()
    assert box() == before and page.locator(".ribbon.past").count() == 0


def test_the_block_is_chosen_by_keys_by_dragging_and_by_a_finger(show):
    page = opened(show, width=390)
    slider = page.get_by_role("slider", name="Block")
    slider.press("ArrowRight")
    assert at(page) == "after block 2" and slider.get_attribute("aria-valuetext") == "2"
    circles = page.locator(".vector").first
    near, picture = circles.bounding_box(), page.locator(".picture").bounding_box()
    page.mouse.move(near["x"] + 4, near["y"] + 4)
    page.mouse.down()
    page.mouse.move(picture["x"] + 80, near["y"] + 4, steps=4)
    page.mouse.up()
    assert at(page) == "after block 0" and slider.input_value() == "0"
    far = picture["x"] + picture["width"] - 110, near["y"]
    page.mouse.click(*far)
    assert at(page) == "after block 3"


def test_it_plays_once_when_it_is_seen_and_stops_for_a_reader(show):
    page = opened(show, motion="no-preference")
    expect(page.locator("text.now")).to_have_text("after block 3")
    page.get_by_role("button", name="play").click()
    page.get_by_role("button", name="back").click()
    before = at(page)
    page.wait_for_timeout(600)
    assert at(page) == before
