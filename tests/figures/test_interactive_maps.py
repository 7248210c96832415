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


def test_the_map_opens_with_a_token_chosen_and_says_where_others_look(show):
    page = show(alive("attention_map"))
    best = WEIGHTS[0, 0].argmax(dim=-1).tolist()
    first = WEIGHTS[0, 0].max(dim=-1).values.argmax().item()  # of the largest weight

    def says(row):
        weight = WEIGHTS[0, 0, row, best[row]]
        return f"{ROWS[row]} looks at {COLUMNS[best[row]]} {weight:.2f}"

    def chosen():
        return page.locator("[aria-selected=true]").inner_text()

    assert said(page).startswith(says(first)) and chosen() == ROWS[first]
    assert first != 3
    page.get_by_role("option", name="book").hover()
    assert said(page).startswith(says(3))
    page.mouse.move(5, 600)
    assert said(page).startswith(says(first))
    page.get_by_role("option", name="book").click()
    page.mouse.move(5, 600)
    assert said(page).startswith(says(3)), "what was pressed stays chosen"
    page.get_by_label("Head").focus()
    page.keyboard.press("Tab")
    for key, row in (("", 3), ("ArrowDown", 4), ("ArrowDown", 4), ("Home", 0), ("ArrowUp", 0)):
        if key:
            page.keyboard.press(key)
        assert said(page).startswith(says(row)) and chosen() == ROWS[row], key
    page.keyboard.press("Escape")
    assert said(page).startswith("The lines show all weights at once")
    given = interactive.attention_map(WEIGHTS, rows=ROWS, columns=COLUMNS, alt="Weights.", row=4)
    page = show(given.to_html())
    assert said(page).startswith(says(4))


def test_the_weights_of_the_map_are_in_the_accessibility_tree(show):
    tree = show(alive("attention_map")).locator(".sides").aria_snapshot()
    first = WEIGHTS[0, 0].max(dim=-1).values.argmax().item()
    assert f"Weights of {ROWS[first]}" in tree.replace('"', "")
    for token, weight in zip(COLUMNS, WEIGHTS[0, 0, first], strict=True):
        assert f"{weight:.2f}" in tree, token
    for row, token in enumerate(ROWS):
        assert f"{token} looks at" in tree and f"{WEIGHTS[0, 0, row].max():.2f}" in tree


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
        assert said(page) == (
            f"To write {ROWS[t]}, the model looks most at {most} ({weights.max():.2f})."
        )

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
