"""Writing with a cache and without: what a step computes is counted, and what is kept stays."""

import browser
import examples
import pytest
from examples import alive, numbers, said
from playwright.sync_api import expect

from attnbook.figures import interactive

browser.skip_without()
show = examples.show
WORDS = ["so", "<b>", "it", "</script>", "is"]
COMPUTED = [(n, n**2, 1, n) for n in range(1, len(WORDS))]  # keys and scores, without and with


def panels(page):
    return page.locator(".panels > div").all()


def drawn(panel, kind):
    return panel.locator(f"i.{kind}:not(.not):not(.there):not(.ghost)").count()


def check_step(page, step, *, prompt=1):
    """The pictures, the numbers and the sentence of a step say the same."""
    all_new = step == prompt
    for panel, (keys, scores), state in zip(
        panels(page),
        [(step, step**2), (step, step**2) if all_new else (1, step)],
        ["all made again", "new"],
        strict=True,
    ):
        assert [drawn(panel, kind) for kind in "kvqs"] == [keys, keys, keys, scores]
        assert panel.locator("i.k.there").count() == step - keys
        assert panel.locator(".kept").is_visible() == (keys < step)
        state = ("new" if step == 1 else "all new") if all_new else state
        assert panel.locator(".state:not(.kept)").inner_text() == state
        count = f"{step} × {step} = {scores}" if keys > 1 else str(scores)
        many = "s" * (scores > 1)
        assert panel.locator("p").last.inner_text().startswith(f"{count} score{many}\n")
    assert page.locator(".written b").inner_text() == WORDS[step]
    assert page.locator("output").inner_text() == str(step)
    if not all_new:
        many = "s" * (step > 2)
        assert f"“{WORDS[step]}” takes {step} × {step} = {step**2} scores" in said(page)
        assert f"keeps {step - 1} key{many} and {step - 1} value{many}" in said(page)


def test_a_step_without_a_cache_computes_all_again_and_with_one_only_what_is_new(show):
    page = show(alive("caching"), motion="reduce")
    assert page.locator(".written").inner_text() == "so <b> → it", "it begins midway"
    page.get_by_role("slider").press("Home")
    for step in range(1, len(WORDS)):
        check_step(page, step)
        totals = [sum(of[part] for of in COMPUTED[:step]) for part in (1, 3)]
        assert [f"{n} so far" in p.inner_text() for n, p in zip(totals, panels(page), strict=True)]
        page.get_by_role("button", name="next token").press("Enter")
    _, rows = numbers(page)
    assert [tuple(map(int, row)) for row in rows.values()] == COMPUTED


def test_twice_as_many_tokens_are_four_squares_of_half_the_length(show):
    page = show(alive("caching"), motion="reduce")
    slider = page.get_by_role("slider")
    without, cached = panels(page)
    quarters = without.locator(".quarter").filter(visible=True)
    assert quarters.count() == 0, "2 is not drawn in parts"
    slider.press("End")
    assert quarters.all_inner_texts() == ["4"] * 4
    first, last = (quarters.nth(n).bounding_box() for n in (0, 3))
    cells = without.locator("i.s:not(.not)")
    ends = [cells.first.bounding_box()["x"], cells.last.bounding_box()["x"]]
    assert first["x"] <= ends[0] < last["x"] < ends[1] < last["x"] + last["width"]
    assert [panel.locator(".more").inner_text() for panel in (without, cached)] == [
        "4 × the 4 of 2 tokens",
        "2 × the 2 of 2 tokens",
    ]


def test_a_prompt_is_read_at_once_and_then_the_cache_helps(show):
    page = show(interactive.caching(WORDS, prompt=2).to_html(), motion="reduce")
    page.get_by_role("slider").press("Home")
    assert said(page).startswith("Both read the 2 tokens of the prompt at once")
    for step in (2, 3, 4):
        check_step(page, step, prompt=2)
        assert page.locator(".written span").inner_text() == "so <b>"
        page.get_by_role("button", name="next token").press("Enter")
    assert list(numbers(page)[1]) == ["2 tokens", "3 tokens", "4 tokens"]


def test_new_keys_come_down_from_their_words_and_kept_ones_do_not_move(show):
    page = show(alive("caching"))
    page.get_by_role("button", name="pause").click()
    page.locator("[label]").evaluate("e => (e.go(1), e.go(2))")
    moving = "all => all.map(e => e.getAnimations().length)"
    without, cached = panels(page)
    assert without.locator("i.k").evaluate_all(moving)[:2] == [1, 1]
    assert cached.locator("i.k").evaluate_all(moving)[:2] == [0, 1]
    ends = """all => Math.max(...all.flatMap(e => e.getAnimations())
        .map(a => a.effect.getComputedTiming().endTime))"""
    later = [panel.locator("i.s").evaluate_all(ends) for panel in (without, cached)]
    assert later[0] - later[1] == 32, "two more scores, each of which takes its time"
    page.get_by_role("slider").press("ArrowRight")
    assert sum(without.locator("i.k").evaluate_all(moving)) == 0, "a slider shows where it is"


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_it_plays_once_when_it_is_seen_unless_nothing_may_move(show, motion):
    page = show(alive("caching"), motion=motion)
    if motion == "reduce":
        page.wait_for_timeout(300)
        assert page.get_by_role("button", name="play").count() == 1
        return
    expect(page.locator("output")).to_have_text("3")
    check_step(page, 3)  # what can be read belongs to what can be seen, while it plays
    expect(page.locator(".written b")).to_have_text(WORDS[-1], timeout=15_000)
    expect(page.get_by_role("button", name="play")).to_be_visible()
