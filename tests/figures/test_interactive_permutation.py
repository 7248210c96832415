"""Tokens are put into another order by mouse, finger and keyboard: outputs are PyTorch's."""

import functools

import browser
import examples
import pytest
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
    ribbons,
    said,
    swipe,
)

from attnbook.attention import attention
from attnbook.figures import interactive

browser.skip_without()
show = examples.show
PRESSED = "all => all.findIndex(button => button.ariaPressed === 'true')"


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
    picked = page.locator(".places button").evaluate_all(PRESSED)
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
        sentence = f"the outputs differ, by up to {change:.2f}."
    else:
        sentence = f"“{names[picked]}” gives the same weights to the same words."
    widths, _ = ribbons(page, ".below .ways .on")
    by_token = weights[picked][sorted(range(5), key=order.__getitem__)]
    taken = page.locator(".below .weight").all_inner_texts()
    return (
        page.locator(".places button").all_inner_texts() == tokens == names
        and close(shown, torch.cat([weights, right], dim=1))
        and page.locator("div.word").all_inner_texts() == TOKENS
        and joins == [[token, order.index(token)] for token in range(5)]
        and page.locator(".name b").all_inner_texts()
        == [("differs", "the same")[same] for same in kept.tolist()]
        and taken == [f"× {share:.2f}" for share in weights[picked].tolist()]
        and close(widths.abs() / widths.abs().sum(), by_token)
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
        ".below .bar",
        """all => all.map(e => [e.x, e.width].map(a => a.baseVal.value))
                   .map(([x, width]) => x < 49.99 ? -width : width)""",
    )
    right = outputs([0, 2, 1, 3, 4], False)
    assert close(torch.tensor(bars).view(5, 4) / 48, right / right.abs().max())


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
    assert moving.count("on") == 3, "the ribbons to the output of dog"
    page.wait_for_function("!document.querySelector('[label]').shadowRoot.getAnimations().length")
    assert places(page) == TOKENS[2::-1]
    assert page.locator(".name b").all_inner_texts() == ["the same"] * 3
    assert "All outputs are the same." in said(page)
    page.get_by_role("button", name="Original order").click()
    page.wait_for_timeout(2000)
    assert places(page) == TOKENS[:3]


def test_no_word_moves_by_itself_if_somebody_acts_and_all_is_there_without_motion(show):
    page = show(swapped())
    page.get_by_role("switch").focus()
    page.wait_for_timeout(2000)
    assert places(page) == TOKENS[:3]
    assert places(show(swapped(), motion="reduce")) == TOKENS[2::-1]


WHO = [*"abc?"]


def hears(page):
    """Whom each word has heard, above and below, and whether the words below heard the same."""
    boxes = page.locator(".output").evaluate_all(
        "all => all.map(box => [...box.children].map(chip => chip.textContent).join(' '))"
    )
    return boxes, page.locator(".name b:not(.later)").all_inner_texts()


def test_it_is_shown_word_by_word_whom_each_has_heard_in_both_orders(show):
    page = show(interactive.heard(WHO, order=[2, 1, 0, 3]).to_html())
    page.get_by_text("“?” has heard the same words in both orders").wait_for()  # it plays once
    every = ["nobody", "a", "a b", "a b c", "nobody", "c", "c b", "c b a"]
    assert hears(page) == (every, ["differs"] * 3 + ["the same"])
    back = page.get_by_role("button", name="back")
    back.click()
    assert hears(page) == ([text * (n % 4 < 3) for n, text in enumerate(every)], ["differs"] * 3)
    assert "“c” has heard “a” and “b” above, and “a” has heard “c” and “b” below" in said(page)
    back.click()
    page.get_by_role("button", name="next").click()
    flying = "e => e.shadowRoot.getAnimations().map(a => a.effect.target.textContent)"
    assert page.locator("[label]").evaluate(flying) == ["a", "b", "c", "b"]
    page.locator(".places button").first.press("ArrowRight")  # the words can still be moved
    assert hears(page)[0][4:7] == ["nobody", "b", "b c"]
    quiet = show(interactive.heard(WHO, order=[2, 1, 0, 3]).to_html(), motion="reduce")
    assert hears(quiet)[0] == every
    assert numbers(quiet)[1]["?"] == ["“c”, “b” and “a”"]


@pytest.mark.parametrize("words", ["a", "abcdef", "abc"])
def test_the_order_of_those_who_hear_lists_each_of_two_to_five_words(words):
    with pytest.raises(ValueError, match=r"needs 2 to 5|must list each of 3"):
        interactive.heard([*words], order=[0, 0, 1])
