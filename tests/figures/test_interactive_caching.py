"""Writing with a cache and without: what a step computes is counted, and what is kept stays."""

import browser
import examples
import pytest
from examples import alive, numbers, said
from playwright.sync_api import expect

browser.skip_without()
show = examples.show
WORDS = ["so", "<b>", "it", "</script>", "is"]
COMPUTED = [(n, n**2, 1, n) for n in range(1, len(WORDS))]  # keys and scores, without and with


def states(panel):
    """What is written on the keys and on the values of a panel."""
    texts = panel.locator(".state").all_text_contents()
    assert texts[::2] == texts[1::2], "a key and its value belong together"
    return [text for text in texts[::2] if text]


def drawn(panel, kind):
    return panel.locator(f"rect.{kind}:not(.not):not(.there)").count()


def test_a_step_without_a_cache_computes_all_again_and_with_one_only_what_is_new(show):
    page = show(alive("caching"), motion="reduce")
    assert page.locator(".written").inner_text() == "so <b> it → </script>", "it begins midway"
    for _ in WORDS:
        page.get_by_role("button", name="back").press("Enter")
    without, cached = page.locator(".panels > div").all()
    for step, (keys, scores, key, row) in enumerate(COMPUTED, 1):
        assert page.locator(".written b").inner_text() == WORDS[step]
        assert states(without) == ["new"] * keys
        assert states(cached) == ["kept"] * (step - 1) + ["new"]
        assert [drawn(without, kind) for kind in "kvs"] == [keys, keys, scores]
        assert [drawn(cached, kind) for kind in "kvs"] == [key, key, row]
        for panel, counts in ((without, (keys, scores)), (cached, (key, row))):
            said_there = panel.locator(".line span").inner_text()
            assert [int(word) for word in said_there.split() if word.isdigit()] == [
                counts[0],
                *counts,
            ]
        totals = [sum(of[part] for of in COMPUTED[:step]) for part in (1, 3)]
        texts = page.locator(".bars .number").all_inner_texts()
        assert texts == [f"{total} score{'s' * (total > 1)} so far" for total in totals]
        many = "s" * (keys > 1)
        assert f"computes {keys} key{many} and {keys} value{many}" in said(page)
        page.get_by_role("button", name="next token").press("Enter")
    _, rows = numbers(page)
    assert [tuple(map(int, row)) for row in rows.values()] == COMPUTED


def test_new_keys_come_down_from_their_words_and_kept_ones_do_not_move(show):
    page = show(alive("caching"))
    page.get_by_role("button", name="pause").click()
    page.locator("[label]").evaluate("e => (e.go(1), e.go(2))")
    moving = "all => all.map(e => e.getAnimations().length)"
    without, cached = page.locator(".panels > div").all()
    step = 2
    assert without.locator("rect.k").evaluate_all(moving)[:step] == [1, 1]
    assert cached.locator("rect.k").evaluate_all(moving)[:step] == [0, 1]
    frames = "e => e.getAnimations()[0].effect.getKeyframes().map(f => f.transform)"
    assert cached.locator("rect.k").nth(1).evaluate(frames) == ["translateY(-32px)", "none"]


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_it_plays_once_when_it_is_seen_unless_nothing_may_move(show, motion):
    page = show(alive("caching"), motion=motion)
    if motion == "reduce":
        page.wait_for_timeout(300)
        assert page.get_by_role("button", name="play").count() == 1
        return
    expect(page.locator(".written b")).to_have_text(WORDS[-1], timeout=15_000)
    expect(page.get_by_role("button", name="play")).to_be_visible()
