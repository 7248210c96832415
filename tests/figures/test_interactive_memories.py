"""Two memories, tile by tile: all that moves is counted once, and the figure plays once."""

import browser
import examples
import pytest
from examples import alive, numbers, said

browser.skip_without()
show = examples.show
BLOCKS, KB = 5, 64 * 64 * 2 / 1000  # of a small square
STEPS = BLOCKS**2
WHOLE = (4 * BLOCKS + 4 * STEPS) * KB, (2 * BLOCKS + 2 * STEPS) * KB


def squares(step):
    """How many squares of each matrix have moved, for the four lines and for flash attention."""
    first, second, third = (min(max(3 * step - n * STEPS, 0), STEPS) for n in range(3))
    rows, ends = -(-step // BLOCKS), step // BLOCKS
    return {
        "Q": (-(-first // BLOCKS), rows),
        "K": (min(first, BLOCKS), step),
        "V": (min(third, BLOCKS), step),
        "out": (third // BLOCKS, ends),
        "scores": (first + second, 0),
        "weights": (second + third, 0),
    }


def test_what_has_moved_is_counted_and_both_ways_end_together(show):
    page = show(alive("memories"), motion="reduce")
    following = page.get_by_role("button", name="next tile")
    for step in range(1, STEPS + 1):
        heading, rows = numbers(page)
        assert heading == ["four lines", "flash attention"]
        right = squares(step)
        assert rows == {name: [f"{n * KB:.0f}" for n in both] for name, both in right.items()}
        moved = [KB * sum(counts) for counts in zip(*right.values(), strict=True)]
        written = page.locator(".bars .number").all_inner_texts()
        assert written == [
            f"{now:,.0f} of {whole:,.0f} kB moved" for now, whole in zip(moved, WHOLE, strict=True)
        ]
        widths = examples.widths_of_bars(page).tolist()
        assert widths == pytest.approx([now / WHOLE[0] for now in moved], abs=0.01)
        assert all(f"{now:,.0f} kB" in said(page) for now in moved)
        following.press("Enter")
    assert said(page).startswith("At the end, ")
    assert following.get_attribute("aria-disabled") == "true"
    page.get_by_role("button", name="back").click()
    assert said(page).startswith(f"After step {STEPS - 1} of {STEPS}, ")


def test_scores_and_weights_fill_the_slow_memory_of_the_four_lines_only(show):
    page = show(alive("memories"), motion="reduce")
    four, flash = page.locator(".panels > div").all()
    for way, count in ((four, 4 * BLOCKS + 2 * STEPS), (flash, 4 * BLOCKS)):
        assert way.locator(".block").count() == count
    there = four.locator(".block:not(.empty)")
    assert there.count() == 3 * BLOCKS + 3  # Q, K and V, and the scores of three tiles
    for _ in range(STEPS - 1):
        page.get_by_role("button", name="next tile").click()
    assert there.count() == 4 * BLOCKS + 2 * STEPS
    assert flash.locator(".block:not(.empty)").count() == 4 * BLOCKS


def test_it_plays_once_when_it_is_seen_and_stops_when_somebody_steps(show):
    page = show(alive("memories"))
    page.get_by_text("At the end, ").wait_for()
    page.get_by_role("button", name="play").click()
    page.get_by_role("button", name="back").click()
    before = said(page)
    page.wait_for_timeout(500)
    assert said(page) == before and before.startswith("After step ")


def test_it_stands_still_for_whoever_wants_no_motion_and_after_it_is_removed(show):
    page = show(alive("memories"), motion="reduce")
    page.wait_for_timeout(500)
    assert said(page).startswith("After step 1 of ")
    assert page.locator(".flies").count() == 0
    page = show(alive("memories"))
    page.get_by_role("button", name="pause").wait_for()
    step = page.evaluate("(window.old = document.querySelector('[label]'), old.remove(), old.step)")
    page.wait_for_timeout(500)
    assert page.evaluate("old.step") == step
