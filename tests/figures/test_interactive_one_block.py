"""A word in one block: all bars are its numbers, and the old bars stay."""

import browser
import examples
import pytest
import torch
from examples import BLOCK, alive, fits, number, numbers, said

from attnbook.figures import interactive

browser.skip_without()
show = examples.show
STAGES = BLOCK["stages"].double()


def bars(page, level):
    """How high the parts of each bar of a level are, from below, in units."""
    piles = page.locator(".level").nth(2 - level).locator(".pile")
    heights = "all => all.map(p => [...p.querySelectorAll('i')].reverse().map(i => i.offsetHeight))"
    return piles.evaluate_all(heights)


def next_step(page):
    page.get_by_role("button", name="next").press("Enter")


@pytest.mark.parametrize("word", [0, 1])
@pytest.mark.parametrize("width", [390, 900])
def test_bars_grow_by_what_the_two_parts_add_and_nothing_else_changes(show, word, width):
    page = show(alive("one_block"), motion="reduce", width=width)
    page.get_by_role("combobox").select_option(str(word))
    high = page.locator(".frame").bounding_box()["height"]
    reached = page.locator(".level.reached")
    for level in range(3):
        assert reached.count() == level + 1
        for below in range(level + 1):
            updates = torch.cat([STAGES[:1, word], STAGES[: below + 1, word].diff(dim=0)])
            right = [[28 * n for n in column if n > 0] for column in updates.T.tolist()]
            shown = bars(page, below)
            assert [pytest.approx(column, abs=1) for column in right] == shown
        written = reached.first.locator(".pile b").all_inner_texts()
        wanted = [n for n in STAGES[level, word].tolist() if n]
        assert [number(text) for text in written] == pytest.approx(wanted, abs=0.051)
        assert fits(page)
        assert page.locator(".frame").bounding_box()["height"] == pytest.approx(high, abs=1)
        next_step(page)
    heading, rows = numbers(page)
    assert heading == BLOCK["features"]
    table = torch.tensor([[number(text) for text in row] for row in rows.values()]).double()
    updates = torch.cat([STAGES[:1, word], STAGES[:, word].diff(dim=0), STAGES[2:, word]])
    assert torch.allclose(table, updates, atol=1e-3)


def test_the_word_looked_at_most_and_the_answers_are_lit_when_it_is_their_turn(show):
    page = show(alive("one_block"), motion="reduce")
    attention, network = (page.locator(f".part.{name}") for name in ("attention", "network"))
    share = "all => all.map(chip => Number(chip.style.getPropertyValue('--share')))"
    assert attention.locator(".chips span").evaluate_all(share) == [0, 0, 0]
    assert said(page) == "“dog” comes in with 1.0 animal."
    next_step(page)
    weights = pytest.approx(BLOCK["weights"][0].tolist())
    assert attention.locator(".chips span").evaluate_all(share) == weights
    assert attention.locator(".chips b").all_inner_texts() == ["0.8"]
    assert network.locator(".chips b").filter(visible=True).count() == 0
    assert said(page).startswith("Attention adds 0.3 <b>, 0.8 biting. The weight of “bites” is 0.8")
    next_step(page)
    assert network.locator(".chips b").all_inner_texts() == ["Yes", "No"]
    assert "“An animal that bites?” is yes, so the network adds 1.5 hungry." in said(page)
    page.get_by_role("combobox").select_option("1")
    assert said(page).startswith("No answer is yes, so the network adds nothing.")
    assert network.locator(".chips b").all_inner_texts() == ["No", "No"]


def test_it_plays_once_when_it_is_seen_and_what_is_added_flies_unless_nothing_may_move(show):
    moving = "e => (e.go(e.step + 1), e.shadowRoot.getAnimations().length)"
    page = show(alive("one_block"))
    page.get_by_text("so the network adds").wait_for()
    page.get_by_role("button", name="play").wait_for()
    page.get_by_role("button", name="back").click()
    assert page.locator("[label]").evaluate(moving) > 0
    quiet = show(alive("one_block"), motion="reduce")
    quiet.wait_for_timeout(300)
    assert quiet.get_by_role("button", name="pause").count() == 0
    assert quiet.locator("[label]").evaluate(moving) == 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"questions": ["Who?"]}, "2 neurons need a question each: got 1"),
        ({"stages": STAGES.flip(0)}, "no bar may shrink or begin below 0: got -1.5 for dog"),
        ({"weights": BLOCK["weights"].log() * 0 + torch.nan}, "weights must be finite"),
    ],
)
def test_what_does_not_fit_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        interactive.one_block(**BLOCK | changed, asks=[0, 1])
