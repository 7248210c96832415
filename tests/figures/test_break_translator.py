"""The breakable translator: what it writes and measures, where it looks, what switches change."""

import itertools
import json

import browser
import examples
import pytest
import torch
from examples import close, fits, number, numbers, press, ribbons, said
from translator_page import NUMBERS, TRANSLATOR, count_right, right, tokens, written

from attnbook.figures import interactive
from attnbook.figures.interactive.break_translator import HEADS, PARTS, SWITCHES, held_out
from attnbook.interventions import broken

browser.skip_without()
show = examples.show

TYPED = "A number below 100,000"
RIGHT = ["deux", "mille", "trois"]
# the switches of each chapter, as its notebook asks for them
CHAPTERS = [
    ["cross_weights=uniform", "encoder_weights=uniform"],
    ["divisor=off", "divisor=sqrt(d_model)"],
    ["encoder_weights=uniform", "decoder_weights=uniform", "cross_weights=uniform"],
    [name for name in SWITCHES if "positions" in name],
    [*HEADS],
    [*PARTS],
]


def figure(*arguments, **options):
    return interactive.break_translator(*arguments, **options).to_html()


def switch(page, name):
    return page.get_by_role("switch", name=SWITCHES.get(name, name))


def trained(page):
    """The words that it writes as trained, and those among them that it does not write now."""
    return [page.locator(f".as .{kind}").all_inner_texts() for kind in ("chip", "differs")]


def test_a_number_is_translated_while_it_is_typed_and_what_is_none_changes_nothing(show):
    page = show(figure(481))
    field, heading = page.get_by_label(TYPED), page.locator(".looks")
    assert tokens(page) == ["quatre", "cent", "quatre", "-vingt", "-un"]
    field.focus()
    press(page, "Control+A", *"2003")
    assert tokens(page) == RIGHT and trained(page) == [RIGHT, []]
    assert said(page) == "The translator writes “deux mille trois”, which is 2,003."
    for text in ("", "-5", "3.5", "two", "100000"):
        field.fill(text)
        assert "0 to 99,999" in heading.inner_text() and said(page) == heading.inner_text()
        assert field.get_attribute("aria-invalid") == "true" and tokens(page) == RIGHT
    field.fill("99,999")
    assert field.get_attribute("aria-invalid") == "false" and "99,999" not in heading.inner_text()
    assert tokens(page) == NUMBERS.target.split(NUMBERS.texts(99_999)[1])
    page.get_by_role("button", name="Another").click()
    assert field.input_value() == str(held_out()[0])
    assert said(page).endswith(f"“{NUMBERS.texts(held_out()[0])[1]}”, which is {held_out()[0]:,}.")


def test_a_switch_changes_what_is_written_at_once_above_what_was_written_as_trained(show):
    page = show(figure(2003, show=["source_positions=off", "source_positions=shuffled"]))
    off, shuffled = (switch(page, f"source_positions={change}") for change in ("off", "shuffled"))
    off.press("Enter")
    assert tokens(page) == ["deux", "mille", "deux", "cents"]
    assert page.locator(".french .wrong").all_inner_texts() == ["deux", "cents"]
    assert trained(page) == [RIGHT, ["trois"]]
    assert page.locator(".name.off b").inner_text() == "2,200"
    assert said(page).startswith("Now the translator writes “deux mille deux cents”, which is")
    assert page.locator(".looks").inner_text() == "To write deux, it looks at:", "the first mistake"
    shuffled.click()  # one or the other
    assert [node.get_attribute("aria-checked") for node in (off, shuffled)] == ["false", "true"]
    assert [" ".join(tokens(page))] == written([2003], {"source_positions": "shuffled"})
    shuffled.click()
    assert tokens(page) == RIGHT and trained(page) == [RIGHT, []]


@pytest.mark.parametrize("switches", [{}, {"divisor": "off"}, {"cross_heads_off": [1, 2]}], ids=str)
def test_ribbons_and_numbers_are_where_pytorch_looks(show, switches):
    page = show(figure(2003, switches=switches, show=[*HEADS]))
    with broken(TRANSLATOR.model, **switches):
        text = TRANSLATOR.translate(["two thousand three"])[0]
        *_, maps = TRANSLATOR.attention("two thousand three", text)
    cross = maps.cross[-1, 0]  # heads, French, English
    gone = switches.get("cross_heads_off", [])
    kept = torch.tensor([head not in gone for head in range(4)])[:, None, None]
    numbers(page)
    for i, chip in enumerate(page.locator(".french button").all()):
        chip.click()
        _, rows = numbers(page)
        shown = torch.tensor([[number(text) for text in row] for row in rows.values()])
        assert close(shown, cross[:, i].T)
        mean = (kept * cross)[:, i].mean(dim=0)
        widths, _ = ribbons(page, ".look.on")
        ratio = widths / mean[mean > 0.02]
        assert torch.allclose(ratio, ratio[:1], rtol=0.01)
    assert page.locator("[aria-checked=true]").count() == len(gone)


def test_it_counts_as_pytorch_does_and_only_when_it_is_asked(show):
    page = show(figure(481, show=["cross_heads_off"]), motion="reduce")
    measure, count = page.get_by_role("button", name="Measure on 200"), page.locator(".count")
    assert right(page) == len(held_out()) and measure.count() == 0, "as trained, it is known"
    heads = page.get_by_role("group", name=HEADS["cross_heads_off"])
    for head in (3, 4):
        heads.get_by_role("switch", name=f"head {head}").click()
    assert count.inner_text().startswith("?")
    measure.press("Enter")
    expected = count_right(held_out(), {"cross_heads_off": [2, 3]})
    assert right(page) == expected
    assert "of 200 numbers are right (as trained: 200)" in count.inner_text()
    assert page.locator(".spoken").inner_text() == f"{expected} of 200 numbers are right."
    heads.get_by_role("switch", name="head 4").click()
    assert measure.count() == 1
    heads.get_by_role("switch", name="head 4").click()
    assert right(page) == expected and measure.count() == 0, "it is remembered"


def test_another_switch_ends_the_measurement(show):
    page = show(figure(481, show=["norm=off", "residual=off"]), motion="reduce")
    switch(page, "norm=off").click()
    page.evaluate("""() => {
      const { shadowRoot } = document.querySelector("[label]");
      const click = (node) => node.click();
      click(shadowRoot.querySelector(".result button"));
      return new Promise((done) => setTimeout(() => {
        click(shadowRoot.querySelectorAll("[role=switch]")[1]);
        done();
      }, 60));
    }""")
    page.wait_for_timeout(200)
    assert page.locator(".count").inner_text().startswith("?")
    assert page.locator(".meter .right, .meter .wrong").count() == 0


def test_ribbons_glide_to_where_it_looks_now(show):
    page = show(figure(2003, show=["source_positions=off"]))
    widths = page.evaluate("""() => {
      const { shadowRoot } = document.querySelector("[label]");
      const first = () => {
        const edges = shadowRoot.querySelector(".look").getAttribute("d").match(/[-\\d.e]+/g);
        return edges.at(-2) - edges[0];
      };
      const seen = [first()];
      shadowRoot.querySelector("[role=switch]").click();
      return new Promise((done) => {
        const frame = () => {
          seen.push(first());
          if (seen.length === 90) done(seen);
          else requestAnimationFrame(frame);
        };
        requestAnimationFrame(frame);
      });
    }""")
    steps = [abs(b - a) for a, b in itertools.pairwise(widths)]
    assert len({*widths}) > 5 and max(steps) < 0.6 * (max(widths) - min(widths))
    assert widths[-1] == widths[-2] != widths[0], "it comes to rest"


@pytest.mark.parametrize("width", [880, 640, 390])
@pytest.mark.parametrize("names", CHAPTERS, ids=lambda names: names[0])
def test_no_switch_moves_anything(show, names, width):
    page = show(figure(481, show=names), motion="reduce", width=width)
    heights = {page.locator(".frame").bounding_box()["height"]}
    for node in page.get_by_role("switch").all():
        node.click()
        heights.add(page.locator(".frame").bounding_box()["height"])
        assert fits(page)
        node.click()
    assert len(heights) == 1 and max(heights) < (650 if width == 880 else 800)
    if width == 390:
        small = "nodes => Math.min(...nodes.map(node => node.offsetHeight))"
        thumbs = page.locator(".panel button, .name button, .name input")
        assert thumbs.evaluate_all(small) >= 40


def test_axe_finds_nothing_by_day_and_by_night(show):
    for scheme in ("light", "dark"):
        page = show(figure(2003), motion="reduce", scheme=scheme)
        switch(page, "source_positions=off").click()
        found = browser.violations(page)
        assert [rule for rule, _ in found if rule not in {"page-has-heading-one", "region"}] == []


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
    page = context.new_page()
    page.set_content(f"<!doctype html><html lang=en><title>x</title><main>{figure(481)}</main>")
    page.get_by_label(TYPED).fill("77777")
    switch(page, "residual=off").click()  # it writes, and never stops
    page.get_by_role("button", name="Measure on 200").click()
    right(page)
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
    assert 150 < sum(tries[-1]) < 10_000  # a measurement; a reader waits 5 s at most for it
