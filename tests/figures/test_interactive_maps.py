"""Maps of weights, and a translation token by token: what is shown are the weights."""

import browser
import examples
import pytest
import torch
from examples import (
    COLUMNS,
    LIKELIEST,
    ROWS,
    WEIGHTS,
    alive,
    close,
    numbers,
    percent,
    ribbons,
    said,
    values,
    widths_of_bars,
)

from attnbook.figures import interactive

browser.skip_without()
show = examples.show
FAINT = 0.03  # the weight below which a translation shows no ribbon


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
    page = show(alive("decoding"), motion="reduce")
    assert close(values(page), WEIGHTS[0, 0])

    def shows(t):
        weights = WEIGHTS[0, 0, t]
        assert page.locator(".written .now .chip").all_inner_texts() == [ROWS[t]]
        assert page.locator(".written .old .chip").all_inner_texts() == ROWS[:t]
        assert page.locator(".written .later").count() == len(ROWS) - t - 1
        seen = [percent(share) if share >= FAINT else "" for share in weights.tolist()]
        small = page.locator(".source small").all_inner_texts()
        assert [text.replace("\n", "") for text in small] == seen
        others = 1 - sum(chance for _, chance in LIKELIEST[t])
        chances = [chance for _, chance in LIKELIEST[t]] + [others]
        assert page.locator(".bars .name").all_inner_texts() == [ROWS[t], "second", "all others"]
        assert page.locator(".bars .number").all_inner_texts() == [*map(percent, chances)]
        assert torch.allclose(widths_of_bars(page), torch.tensor(chances), atol=0.01)
        widths, ends = ribbons(page, ".looks path")
        right = weights[weights >= FAINT]
        assert torch.allclose(widths / widths.sum(), right / right.sum(), atol=1e-3)
        at = page.locator(".source .place:has(small:not(:empty)) .chip").evaluate_all(
            "chips => chips.map(chip => { const box = chip.getBoundingClientRect(); return box.x + "
            "box.width / 2 - chip.closest('.flow').getBoundingClientRect().x; })"
        )
        assert torch.allclose(ends, torch.tensor(at).double(), atol=1), "each ends at its token"
        most = COLUMNS[weights.argmax()]
        assert said(page) == (
            f"Token {t + 1} of {len(ROWS)}: the model looks most at “{most}” "
            f"({percent(weights.max().item())}) and writes “{ROWS[t]}”, the likeliest token "
            f"({percent(chances[0])})."
        )

    shows(0)  # where the model is least sure
    following, back = (page.get_by_role("button", name=name) for name in ("next", "back"))
    following.click()
    shows(1)
    back.click()
    shows(0)
    assert back.get_attribute("aria-disabled") == "true"
    back.press("Enter")
    shows(0)
    for t in range(1, len(ROWS)):
        following.press("Enter")
        shows(t)
    assert following.get_attribute("aria-disabled") == "true"


def test_the_token_that_is_taken_flies_to_its_place_once_the_ribbons_have_grown(show):
    page = show(alive("decoding"))
    flying = page.locator(".flies")
    flying.wait_for()  # it plays when it is seen
    page.get_by_role("button", name="back").click()
    assert flying.count() == 0
    page.get_by_role("button", name="next").click()
    assert flying.inner_text() == ROWS[1]
    apart = """flying => {
      flying.getAnimations().forEach(flight => flight.finish());
      const chip = flying.parentNode.querySelector(".now .chip");
      const [a, b] = [flying, chip].map(node => node.getBoundingClientRect());
      return Math.abs(a.x - b.x) + Math.abs(a.y - b.y);
    }"""
    assert flying.evaluate(apart) < 1, "it lands where it is written"
    flying.wait_for(state="detached")


def test_a_token_that_is_not_the_likeliest_is_refused():
    with pytest.raises(ValueError, match="the likeliest token is written: got 'she', not 'he'"):
        interactive.decoding(
            WEIGHTS[0, 0, :1],
            source=COLUMNS,
            written=["she"],
            likeliest=[[("he", 0.6), ("she", 0.4)]],
            alt="",
        )
