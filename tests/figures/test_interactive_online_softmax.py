"""Softmax block by block: each sum is that of its definition, the last output that of softmax."""

import browser
import examples
import pytest
import torch
from examples import HANDED, SCORES, alive, close, numbers, said, values
from playwright.sync_api import expect

browser.skip_without()
show = examples.show


def after_each_block(size, corrected=True):
    """The largest score so far, and what stands in the other columns, by its definition."""
    rows = []
    for n in range(0, len(SCORES), size):
        old, seen = SCORES[:n].double(), SCORES[: n + size].double()
        m = seen.max()
        factor = (old.max() - m).exp() if n else torch.tensor(0.0)
        parts = (seen - m).exp()
        below, above = parts.sum(), parts @ HANDED[: n + size].double()
        if not corrected and n:
            factor = torch.tensor(1.0)
            below = rows[-1][2] + parts[n:].sum()
            above = rows[-1][3] + parts[n:] @ HANDED[n : n + size].double()
        rows.append(torch.stack([m, factor, below, above, above / below]))
    return torch.stack(rows)


def plain(value):
    return f"{value:.2f}".rstrip("0").rstrip(".").replace("-", "−")


def lengths(place, selector):
    return place.locator(selector).evaluate_all("all => all.map(e => e.offsetWidth)")


def check(page, size, block, corrected=True):
    """The table, the numbers beside the bars, the bars and the sentence of a block."""
    right = after_each_block(size, corrected)
    assert numbers(page)[0] == ["m", "factor", "ℓ", "a", "a ÷ ℓ"]
    assert close(values(page), right)
    m, factor, *sums, output = right[block].tolist()
    assert page.locator(".m").inner_text() == f"m = {plain(m)}"
    assert page.locator(".total").all_inner_texts() == [plain(n) for n in (*sums, output)]
    by = "left as it is" if not corrected else f"× {plain(factor)}"
    assert page.locator(".by").all_inner_texts() == ([by] * 2 if block else [""] * 2)
    new = (SCORES[block * size : (block + 1) * size] - m).exp()
    assert page.locator(".parts .now .number").all_inner_texts() == [plain(n) for n in new]
    tall, whole = (
        page.locator(f".parts .now{part}").evaluate_all("all => all.map(e => e.offsetHeight)")
        for part in (" i", "")
    )
    assert tall == pytest.approx([n * h for n, h in zip(new.tolist(), whole, strict=True)], abs=1)
    if block:
        for track in page.locator(".track:has(.old)").all():
            (before,), (kept,) = lengths(track, ".old"), lengths(track, ".kept")
            assert kept == pytest.approx(factor * before, abs=1.5)
    assert said(page).startswith(f"Block {block + 1} of {len(right)}. ")
    ending = f"So far the output is {plain(output)}."
    if block == len(right) - 1:
        ending = f"The output is {plain(output)}, the same as from softmax over all scores at once."
        if not corrected:
            whole = plain((SCORES.softmax(dim=0) @ HANDED).item())
            ending = f"{plain(output)}; softmax over all scores at once gives {whole}."
    assert said(page).endswith(ending)


def test_a_softmax_is_followed_block_by_block(show):
    page = show(alive("online_softmax"), motion="reduce")
    check(page, 2, 1)  # where the old sums shrink
    back, next_block = (page.get_by_role("button", name=name) for name in ("back", "next"))
    back.click()
    for block in range(4):
        check(page, 2, block)
        next_block.press("Enter")  # the last one changes nothing
    check(page, 2, 3)
    assert next_block.get_attribute("aria-disabled") == "true"
    back.click()
    check(page, 2, 2)
    page.get_by_role("switch", name="don’t shrink").press("Space")
    check(page, 2, 2, corrected=False)
    next_block.click()
    check(page, 2, 3, corrected=False)
    page.get_by_role("switch", name="don’t shrink").click()
    size = page.get_by_label("Scores per block")
    size.select_option("all 7")
    check(page, 7, 0)
    size.select_option("1")
    next_block.click()
    check(page, 1, 1)


def test_it_plays_once_and_new_terms_go_from_their_columns_into_the_sums(show):
    page = show(alive("online_softmax"))
    expect(page.get_by_role("button", name="pause")).to_be_visible()
    expect(page.locator(".said")).to_contain_text("Block 2 of 4")
    for track in page.locator(".track:has(.old)").all():
        moving = "all => all.map(e => e.getAnimations().length)"
        assert track.locator(".new").evaluate_all(moving) == [0, 0, 1, 1, 0, 0, 0]
    page.get_by_role("button", name="pause").click()
