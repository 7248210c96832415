"""Maps of weights, and a translation token by token: what is shown are the weights."""

import browser
import examples
import torch
from examples import COLUMNS, ROWS, WEIGHTS, alive, close, numbers, said, values

from attnbook.figures import interactive

browser.skip_without()
show = examples.show


def test_the_map_shows_the_weights_of_each_block_and_head_and_opens_where_it_is_told_to(show):
    page = show(alive("attention_map"))
    heading, rows = numbers(page)
    assert heading == COLUMNS and list(rows) == ROWS
    assert close(values(page), WEIGHTS[0, 0])
    page.get_by_label("Block").select_option("block 2")
    page.get_by_label("Head").select_option("head 3")
    assert close(values(page), WEIGHTS[1, 2])
    page.get_by_label("Head").select_option("mean of all heads")
    assert close(values(page), WEIGHTS[1].mean(dim=0))
    figure = interactive.attention_map(
        WEIGHTS, rows=ROWS, columns=COLUMNS, alt="Weights.", start=(1, 3)
    )
    page = show(figure.to_html())
    assert close(values(page), WEIGHTS[1].mean(dim=0))


def test_the_map_says_where_a_token_looks_by_mouse_and_by_keyboard(show):
    page = show(alive("attention_map"))
    best = WEIGHTS[0, 0].argmax(dim=-1).tolist()

    def says(row):
        weight = WEIGHTS[0, 0, row, best[row]]
        return f"{ROWS[row]} looks at {COLUMNS[best[row]]} {weight:.2f}"

    assert said(page).startswith("Point at a token")
    page.get_by_role("option", name="book").hover()
    assert said(page).startswith(says(3))
    page.mouse.move(5, 600)
    assert said(page).startswith("Point at a token")
    page.get_by_label("Head").focus()
    page.keyboard.press("Tab")
    for key, row in (("", 0), ("ArrowDown", 1), ("End", 4), ("ArrowDown", 4)):
        if key:
            page.keyboard.press(key)
        assert said(page).startswith(says(row)), key
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    assert said(page).startswith(says(0))
    page.keyboard.press("Escape")
    assert said(page).startswith("Point at a token")


def test_a_translation_is_followed_token_by_token(show):
    page = show(alive("decoding"))
    assert close(values(page), WEIGHTS[0, 0])

    def shows(t):
        weights = WEIGHTS[0, 0, t]
        assert page.locator("mark").inner_text() == ROWS[t]
        assert page.locator(".written").inner_text().split() == ROWS[: t + 1]
        chips = page.locator(".token small").all_inner_texts()
        assert close(torch.tensor([*map(float, chips)]), weights.round(decimals=2))
        bars = page.locator(".candidates span").all_inner_texts()
        assert bars == [f"first {t}", f"{0.5 + 0.1 * t:.2f}", "second", "0.25"]
        most = COLUMNS[weights.argmax()]
        assert said(page) == (f"Writing {ROWS[t]}, it looks most at {most} ({weights.max():.2f}).")

    shows(0)
    page.get_by_role("button", name="next").click()
    shows(1)
    back = page.get_by_role("button", name="back")
    back.click()
    shows(0)
    assert back.get_attribute("aria-disabled") == "true"
    back.press("Enter")
    shows(0)
    page.get_by_label("Token").focus()
    page.keyboard.press("End")
    shows(4)
    page.keyboard.press("ArrowLeft")
    shows(3)
