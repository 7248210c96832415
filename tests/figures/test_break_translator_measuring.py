"""The breakable translator: what it measures, and that the page stays alive meanwhile."""

import json
import math
import re

import browser
import pytest
import translator_page
from examples import press, table_of
from translator_page import (
    NUMBERS,
    TRANSLATOR,
    french,
    french_of,
    measure,
    pages,
    type_in,
)

from attnbook.figures.interactive.break_translator import MOST_WRITTEN, held_out
from attnbook.interventions import broken
from attnbook.laboratory import read_runs, where

browser.skip_without()
still, show = translator_page.still, translator_page.show


@pytest.fixture
def stopped(chromium):
    """Open the figure where motion is wanted; then the clock stands still, but for run_for().

    It stands for all pages of a browser context, so this has one of its own.
    """
    context = chromium.new_context(offline=True, reduced_motion="no-preference")
    with pages(context) as show:

        def stopped(*arguments):
            page = show(*arguments)
            page.clock.install(time=0)
            page.clock.pause_at(1000)
            return page

        yield stopped
    context.close()


def test_some_numbers_that_went_wrong_are_shown_with_what_they_say(show):
    page = show(97, switches={"cross_weights": "off"})
    measure(page)
    rows = table_of(page, ".wrongs")
    texts = [NUMBERS.texts(number) for number in held_out()]
    with broken(TRANSLATOR.model, cross_weights="off"):
        written = TRANSLATOR.translate([english for english, _ in texts], max_length=MOST_WRITTEN)
    wrong = [
        [f"{number:,}", f"“{text}”"]
        for number, text, (_, right) in zip(held_out(), written, texts, strict=True)
        if text != right
    ]
    assert [row[:2] for row in rows] == wrong[:4]
    assert f"The first 4 of the {len(wrong)} numbers" in page.locator(".wrongs").inner_text()
    page.get_by_role("button", name=f"Translate {wrong[0][0]}").click()
    assert page.locator(".verdict").inner_text().startswith(f"✗ wrong: {wrong[0][0]} is")


def test_measuring_asks_for_a_prediction_once_and_counts_as_pytorch_does(show):
    page = show(481, show=["source_positions", "cross_heads_off"])
    assert "200 of 200 right, which is 100 %" in measure(page)  # as trained: nothing to predict
    across = page.get_by_role("group", name="Heads of cross-attention")
    across.get_by_role("button", name="head 3").click()
    across.get_by_role("button", name="head 4").click()
    texts = [NUMBERS.texts(number) for number in held_out()]
    with broken(TRANSLATOR.model, cross_heads_off=[2, 3]):
        written = TRANSLATOR.translate([source for source, _ in texts])
    right = sum(w == t for w, (_, t) in zip(written, texts, strict=True))
    page.get_by_role("button", name="Measure on 200").click()
    assert page.locator(".guess button").count() == 4 and len(table_of(page, ".tried")) == 2
    page.get_by_role("button", name="101 to 180").click()
    page.locator(".guess", has_text="You predicted 101–180").wait_for(timeout=60_000)
    row = table_of(page, ".tried")[-1]
    assert row[0] == "Heads of cross-attention: without 3, 4" and row[1] == f"{right} of 200"
    assert row[3] == "101–180"
    page.get_by_role("button", name="Measure on 200").click()
    assert page.locator(".guess button").count() == 0
    page.locator(".guess", has_text="You predicted").wait_for(timeout=60_000)
    assert table_of(page, ".tried")[-1] == row and len(table_of(page, ".tried")) == 3


def test_the_interval_is_wilsons(show):
    page = show(481, switches={"norm": "off"})
    measure(page)
    _, right, interval, *_ = table_of(page, ".tried")[-1]
    share = int(right.split()[0]) / 200
    assert 0.1 < share < 0.9
    for end in interval.removesuffix("\u00a0%").split("–"):
        # ends where the share would be 1.96 standard errors away
        p = float(end) / 100
        errors = abs(share - p) / math.sqrt(p * (1 - p) / 200)
        assert abs(errors - 1.96) < 0.2


def test_what_was_measured_can_be_copied_even_where_no_clipboard_is_to_be_had(show):
    page = show(481, frame=True)
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Measure on 200").click()
    frame.locator(".tried td").first.wait_for(timeout=60_000)
    frame.get_by_role("button", name="Copy the table").click()
    area = frame.get_by_label("The table")
    head, row = area.input_value().split("\n")
    assert head.split("\t")[:2] == ["changed", "right"]
    assert row.split("\t")[:3] == ["As trained", "200 of 200", "98–100 %"]


def test_a_change_of_switches_ends_the_measurement(stopped):
    page = stopped(481)
    # each look at the clock takes a millisecond, so that a slice of work ends after some tokens
    page.evaluate("{ let now = 0; performance.now = () => now++; }")
    page.get_by_role("button", name="Measure on 200").click()
    page.clock.run_for(5)
    assert 0 < page.locator("progress").evaluate("bar => bar.value") < 200
    page.get_by_label("Layer norm").select_option("off")
    assert page.locator("progress").count() == 0
    page.clock.run_for(10_000)
    assert table_of(page, ".tried") == []


def test_by_keyboard_one_types_switches_opens_predicts_and_measures(show):
    page = show(481, show=["causal_mask"])
    press(page, "Tab", "Control+A", *"12", "Enter")
    assert french(page) == ["douze", "⟨end⟩"]
    page.locator(".heads button").first.focus()
    page.keyboard.press("Enter")
    assert "head 1:" in page.locator(".product").inner_text()
    page.get_by_label("Causal mask").focus()
    page.keyboard.press("ArrowDown")
    page.get_by_role("button", name="Measure on 200").focus()
    press(page, "Enter", "Enter")  # the first of the predictions has the focus
    page.locator(".guess", has_text="You predicted 0–20").wait_for(timeout=60_000)
    assert table_of(page, ".tried")[-1][:2] == ["Causal mask: off", "200 of 200"]


def test_token_by_token_is_seen_unless_one_wants_no_motion(stopped):
    page = stopped(481)
    verdict = page.locator(".verdict")
    type_in(page, "77777")
    assert french(page) == []  # at once, nothing of the number before
    page.clock.run_for(1)
    whole = french_of(77_777)
    for count in range(1, len(whole) + 1):
        assert french(page) == whole[:count]
        assert verdict.inner_text() == ""
        page.clock.run_for(110)
    assert verdict.inner_text() == "✓ right: 77,777"
    page.emulate_media(reduced_motion="reduce")
    type_in(page, "88888")
    assert french(page) == french_of(88_888)
    assert verdict.inner_text() == "✓ right: 88,888"


def tasks(trace):
    """The tasks of the page's main thread, in milliseconds of its processor time.

    That stands still while another program has the processor, unlike a clock, and unlike what a
    PerformanceObserver calls a long task: so a busy machine makes no task longer. The task that
    parses the page is left out; it is Playwright's and Chromium's more than the figure's.
    """
    events = json.loads(trace)["traceEvents"]
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    of_main = [event for event in events if (event["pid"], event["tid"]) in threads]
    parsed = [event["ts"] for event in of_main if event["name"] == "ParseHTML"]
    return [
        event["tdur"] / 1000
        for event in of_main
        if event["name"].endswith("RunTask") and "tdur" in event
        if not any(0 <= ts - event["ts"] <= event["dur"] for ts in parsed)
    ]


def traced(chromium):
    """How long each task of the page takes, in ms, while the figure writes and measures."""
    context = chromium.new_context(offline=True, reduced_motion="no-preference")
    context.new_page()
    chromium.start_tracing(categories=["toplevel", "devtools.timeline"])
    with pages(context) as show:
        page = show(481)
        type_in(page, "77777")
        page.locator(".verdict", has_text="77,777").wait_for()
        page.locator(".heads button").last.click()
        measure(page)
        page.get_by_label("Residual addition").select_option("off")  # it writes, and never stops
        measure(page)
    times = tasks(chromium.stop_tracing())
    context.close()
    return times


def test_the_page_stays_alive_while_the_figure_writes_and_measures(chromium):
    """No task takes over 50 ms, from the first number on, when no code has run before.

    A core that two programs share takes more of its time for a task, so the best of three tries
    counts: a task that is too long is so in each.
    """
    tries = []
    while len(tries) < 3 and not (tries and max(tries[-1]) <= 50):
        tries.append(traced(chromium))
    assert max(tries[-1]) <= 50, [max(times) for times in tries]
    assert 300 < sum(tries[-1]) < 10_000  # two measurements; a reader waits 5 s at most for one


def test_a_press_that_lasts_while_a_token_is_written_is_not_lost(stopped):
    page = stopped(481)
    type_in(page, "99999")
    page.clock.run_for(111)
    assert french(page) == ["quatre", "-vingt"]
    second = page.locator(".french button").nth(1)
    second.hover()
    page.mouse.down()
    page.clock.run_for(110)
    assert len(french(page)) == 3
    page.mouse.up()
    assert french(page) == french_of(99_999)
    assert second.get_attribute("aria-pressed") == "true"


def test_the_result_sets_a_changed_model_against_models_that_grew_so(show):
    learned = where(read_runs("09-without"), switch="norm=off")["right"]
    page = show(481, switches={"norm": "off"})
    measure(page)
    changed, grown, _ = page.locator(".guess p").all_inner_texts()
    right, share = re.search(
        r"off”, the model gets (\d+) of 200 right, which is ([\d.]+)\s%", changed
    ).groups()
    assert float(share) == int(right) / 2  # to the half
    assert f"{learned.min():g} to {learned.max():g}\u00a0%" in grown


def test_a_press_while_it_writes_shows_all_of_it(stopped):
    page = stopped(99_999)
    for act in (
        lambda: page.locator(".heads button").last.click(),  # a weight of the number before
        lambda: page.locator(".french button").last.click(),
        lambda: page.get_by_label("Layer norm").select_option(""),
        lambda: type_in(page, "minus two"),  # what it cannot read
    ):
        type_in(page, "77777")
        page.clock.run_for(5000)
        type_in(page, "42")  # fewer tokens than before
        page.clock.run_for(1)
        assert french(page) == ["quarante"]
        act()
        assert french(page) == ["quarante", "-deux", "⟨end⟩"]
        page.clock.run_for(5000)  # and nothing more is written
        assert french(page) == ["quarante", "-deux", "⟨end⟩"]
