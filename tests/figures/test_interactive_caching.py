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
WAYS = ["no cache", "KV cache", "flash attention"]


def panels(page):
    return page.locator(".panels > div").all()


def drawn(panel, kind):
    return panel.locator(f"i.{kind}:not(.not):not(.there):not(.ghost)").count()


def costs(step, prompt=1):
    """How many scores each way computes, and how many are in memory at once."""
    row = step if step > prompt else step**2
    return [(step**2, step**2), (row, row), (step**2, min(2, step) ** 2)]


def check_step(page, step, *, prompt=1):
    """The pictures, the numbers and the sentence of a step say the same."""
    first = step == prompt
    for way, (panel, (made, held)) in enumerate(
        zip(panels(page), costs(step, prompt), strict=True)
    ):
        keys = 1 if way == 1 and not first else step
        for kind, count in (("k", keys), ("v:not(.sum)", keys), ("q", keys), ("s", held)):
            assert drawn(panel, kind) == count
        assert drawn(panel, "sum") == (step if way == 2 else 0)
        assert panel.locator("i.k.there").count() == step - keys
        state = ("new" if step == 1 else "all new") if first else "all made again"
        state = f"{step - 1} kept, 1 new" if keys < step else state
        assert panel.locator(".state").inner_text() == state
        assert panel.locator(".cost b").all_inner_texts() == [str(made), str(held)]
    assert page.locator(".written b").inner_text() == WORDS[step]
    assert page.locator("output").inner_text() == str(step)
    if not first:
        assert f"“{WORDS[step]}” takes {step} × {step} = {step**2} scores" in said(page)
        assert f"only a row of {step} is new" in said(page)


def test_a_step_without_a_cache_computes_all_again_and_with_one_only_what_is_new(show):
    page = show(alive("caching"), motion="reduce")
    assert page.locator(".written").inner_text() == "so <b> it </script> → is", "it shows the last"
    page.get_by_role("slider").press("Home")
    for step in range(1, len(WORDS)):
        check_step(page, step)
        page.get_by_role("button", name="next token").press("Enter")
    heading, rows = numbers(page)
    assert heading == [f"{cost}, {way}" for way in WAYS for cost in ("computed", "in memory")]
    right = [sum(costs(step), ()) for step in range(1, len(WORDS))]
    assert [tuple(map(int, row)) for row in rows.values()] == right


def test_twice_as_many_tokens_are_four_squares_of_half_the_length(show):
    page = show(alive("caching"), motion="reduce")
    slider = page.get_by_role("slider")
    without, _, flash = panels(page)
    quarters = without.locator(".quarter").filter(visible=True)
    slider.press("Home")
    slider.press("ArrowRight")
    assert quarters.count() == 0, "2 is not drawn in parts"
    slider.press("End")
    assert quarters.all_inner_texts() == ["4"] * 4
    first, last = (quarters.nth(n).bounding_box() for n in (0, 3))
    cells = without.locator("i.s:not(.not)")
    ends = [cells.first.bounding_box()["x"], cells.last.bounding_box()["x"]]
    assert first["x"] <= ends[0] < last["x"] < ends[1] < last["x"] + last["width"]
    assert "16 scores, 4 × the 4 of 2 tokens" in said(page)
    tile = flash.locator(".quarter").filter(visible=True)
    assert tile.count() == 1
    assert tile.bounding_box()["width"] == pytest.approx(first["width"]), "a tile of 2 × 2"


def test_a_prompt_is_read_at_once_and_then_the_cache_helps(show):
    page = show(interactive.caching(WORDS, prompt=2).to_html(), motion="reduce")
    page.get_by_role("slider").press("Home")
    assert said(page).startswith("All three read the 2 tokens of the prompt at once")
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
    without, cached, flash = panels(page)
    assert without.locator("i.k").evaluate_all(moving)[:2] == [1, 1]
    assert cached.locator("i.k").evaluate_all(moving)[:2] == [0, 1]
    ends = """all => Math.max(...all.flatMap(e => e.getAnimations())
        .map(a => a.effect.getComputedTiming().endTime))"""
    later = [panel.locator("i.s").evaluate_all(ends) for panel in (without, cached)]
    assert later[0] - later[1] == 32, "two more scores, each of which takes its time"
    assert flash.locator("i.s").evaluate_all(ends) == flash.locator("i.sum").evaluate_all(ends)
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
