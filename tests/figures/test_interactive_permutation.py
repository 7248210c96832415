"""Tokens are put into another order by mouse, finger and keyboard: outputs are PyTorch's."""

import functools

import browser
import examples
import torch
from examples import (
    EMBEDDINGS,
    POSITIONS,
    TOKENS,
    alive,
    close,
    number,
    numbers,
    press,
    said,
    swipe,
)

from attnbook.attention import attention
from attnbook.figures import interactive

browser.skip_without()
show = examples.show


def layer(order, positions):
    """The outputs and the weights."""
    x = EMBEDDINGS[order] + (POSITIONS if positions else 0)
    return attention(x, x, x, need_weights=True)


def outputs(order, positions):
    return layer(order, positions)[0]


def table(page):
    """The numbers of a table with repeated headings: the heading of each row, and the rest."""
    numbers(page)
    rows = page.locator("table").evaluate(
        "t => [...t.tBodies[0].rows].map(row => [...row.cells].map(c => c.innerText))"
    )
    shown = [[number(text) for text in texts] for _, *texts in rows]
    return [token for token, *_ in rows], torch.tensor(shown, dtype=torch.float64)


def shows(page, order, positions=False):
    """Tokens, table and sentence are those of this order."""
    names = [TOKENS[i] for i in order]
    tokens, shown = table(page)
    right, weights = layer(order, positions)
    joins = page.locator(".join").evaluate_all(
        """all => all.map(e => [...e.getAttribute('d').matchAll(/(\\d+),/g)]
                   .map(([, x]) => (x - 50) / 100))"""
    )
    kept = (right - outputs(range(5), positions)[order]).abs().amax(dim=1) < 1e-9
    change = (right - outputs(range(5), positions)[order]).abs().max()
    if order == [0, 1, 2, 3, 4]:
        sentence = "the original order"
    elif positions:
        assert change > 0.05
        sentence = f"The largest change of a number is {change:.2f}."
    else:
        sentence = "Each token's output is the same as in the original order."
    return (
        page.locator(".places button").all_inner_texts() == tokens == names
        and close(shown, torch.cat([weights, right], dim=1))
        and page.locator(".word").all_inner_texts() == TOKENS
        and joins == [[token, place] for place, token in enumerate(order)]
        and page.locator(".kept div").all_inner_texts() == ["≠="[same] for same in kept.tolist()]
        and sentence in said(page)
        and f"“{' '.join(names)}”" in said(page)
    )


def drag(page, start, end, *, drop=True):
    """Take the token at one place to another, by the mouse."""
    for place, act in ((start, page.mouse.down), (end, page.mouse.up)):
        box = page.locator(".places button").nth(place).bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
        if drop or place == start:
            act()


def test_tokens_are_dragged_and_take_their_outputs_with_them(show):
    page = show(alive("permutation"), motion="reduce")
    assert shows(page, [0, 1, 2, 3, 4])
    drag(page, 0, 3)
    assert shows(page, [1, 2, 3, 0, 4])
    assert said(page).startswith("With “dog” fourth, the order is “")
    page.keyboard.press("ArrowRight")  # the focus went along
    assert page.locator("[label]").evaluate("e => e.shadowRoot.getAnimations().length") == 0
    assert shows(page, [1, 2, 3, 4, 0])
    page.keyboard.press("ArrowLeft")
    page.mouse.move(300, 600)  # let go: nothing follows the mouse any more
    page.mouse.move(20, 600)
    assert shows(page, [1, 2, 3, 0, 4])
    drag(page, 4, 0, drop=False)
    page.mouse.move(2000, 600)  # beyond the edge is the last place
    page.mouse.up()
    assert shows(page, [1, 2, 3, 0, 4])


def test_tokens_are_dragged_by_finger_and_the_page_still_scrolls(show):
    page = show(alive("permutation") + "<p style='height: 2000px'>", width=390)
    box = page.locator(".places button").nth(0).bounding_box()
    start = box["x"] + 9, box["y"] + 9
    swipe(page, start, (2 * box["width"] + 20, 5))
    assert shows(page, [1, 2, 0, 3, 4])
    assert page.evaluate("scrollY") == 0
    swipe(page, start, (5, -70))
    page.wait_for_function("scrollY > 20")
    assert shows(page, [1, 2, 0, 3, 4])


def test_tokens_are_moved_by_keyboard_alone(show):
    page = show(alive("permutation"))
    pressed = page.locator('.places [aria-pressed="true"]')

    page.eval_on_selector("details", "e => { e.open = true }")
    press(page, *["Tab"] * 5)
    press(page, "ArrowLeft")  # there is nothing before the first
    assert shows(page, [0, 1, 2, 3, 4])
    press(page, "Tab", "ArrowRight", "ArrowRight", "Control+ArrowRight")
    assert shows(page, [0, 2, 3, 1, 4])
    assert said(page).startswith("With “bites” fourth, the order is “")
    assert pressed.get_attribute("aria-label") == "bites, fourth of 5"
    assert pressed.evaluate("e => e === e.getRootNode().activeElement")
    press(page, "Alt+ArrowRight", "ArrowRight")
    assert shows(page, [0, 2, 3, 4, 1])
    press(page, *["Shift+Tab"] * 8)  # to "Earlier"
    press(page, "Enter", "Space")
    assert shows(page, [0, 2, 1, 3, 4])
    press(page, "Tab", "Enter", "Tab", "Tab", "Space")  # "Later", "with positions"
    assert shows(page, [0, 2, 3, 1, 4], positions=True)
    press(page, "Shift+Tab", "Enter")  # "Original order"
    assert shows(page, [0, 1, 2, 3, 4], positions=True)


def test_bars_are_as_long_as_the_outputs(show):
    page = show(alive("permutation"))
    page.locator(".places button").nth(1).press("ArrowRight")
    bars = page.eval_on_selector_all(
        ".output",
        """all => all.map(e => [e.x, e.width].map(a => a.baseVal.value))
                   .map(([x, width]) => x < 49.99 ? -width : width)""",
    )
    right = outputs([0, 2, 1, 3, 4], False)
    both = torch.stack([outputs([0, 1, 2, 3, 4], on) for on in (False, True)])
    assert close(torch.tensor(bars).view(5, 4) / 48, right / both.abs().max())


@functools.cache
def swapped():
    """A figure whose lower sentence is in another order."""
    return interactive.permutation(
        EMBEDDINGS[:3],
        tokens=TOKENS[:3],
        positions=POSITIONS[:3],
        order=[2, 1, 0],
        alt="Three words, backwards.",
    ).to_html()


def places(page):
    return page.locator(".places button").all_inner_texts()


def test_words_change_places_once_when_seen_and_take_outputs_and_lines_along(show):
    page = show(swapped())
    assert places(page) == TOKENS[:3] and "is the original order" in said(page)
    page.wait_for_function(
        "document.querySelector('[label]').shadowRoot.getAnimations().length > 0"
    )
    moving = page.locator("[label]").evaluate(
        "e => e.shadowRoot.getAnimations().map(each => each.effect.target.className.baseVal ?? '')"
    )
    assert moving.count("join") == 2, "that of the word in the middle stays"
    page.wait_for_function("!document.querySelector('[label]').shadowRoot.getAnimations().length")
    assert places(page) == TOKENS[2::-1]
    assert page.locator(".kept div").all_inner_texts() == ["the same"] * 3
    assert "output is the same as in the original order" in said(page)
    page.get_by_role("button", name="Original order").click()
    page.wait_for_timeout(2000)
    assert places(page) == TOKENS[:3]


def test_no_word_moves_by_itself_if_somebody_acts_and_all_is_there_without_motion(show):
    page = show(swapped())
    page.get_by_role("switch").focus()
    page.wait_for_timeout(2000)
    assert places(page) == TOKENS[:3]
    assert places(show(swapped(), motion="reduce")) == TOKENS[2::-1]
