"""Words ask each other: a query is dragged, a row is chosen, and all numbers are PyTorch's."""

import browser
import examples
import torch
from examples import ASKING, alive, close, column, numbers, press, ribbons, said, swipe

from attnbook.figures import interactive

browser.skip_without()
show = examples.show

QUERIES, KEYS, VALUES = (ASKING[name] for name in ("queries", "keys", "values"))


def weights_of(queries):
    return (queries @ KEYS.mT).double().softmax(dim=-1)


def check_query(page, query):
    """All that is shown is what PyTorch computes for the query of the word that asks."""
    query = torch.tensor(query)
    weights = weights_of(query)
    heading, rows = numbers(page)
    assert heading == ["weight", *ASKING["hands"]]
    assert close(column(page, "weight"), weights)
    mixture = torch.tensor([float(text) for text in rows["mixture"][1:]])
    assert close(mixture, weights @ VALUES.double())
    shown = page.locator(".weight:not(.label)").all_inner_texts()
    assert shown == [f"{100 * weight:.0f} %" for weight in weights.tolist()]
    points = ", ".join(f"{name} {n}" for name, n in zip("abc", query.tolist(), strict=True))
    assert said(page).startswith(f"“cat” looks for {points}. It gives {weights.max():.0%}"[:-1])
    assert page.locator(".handle").get_attribute("aria-valuetext") == points
    check_ribbons(page, ".ribbons path", weights)
    products = page.locator(".part span:last-child").all_text_contents()
    assert products == [
        f"{100 * weight:.0f} % × {value[k]:.0f}"
        for k in range(VALUES.shape[1])
        for weight, value in zip(weights.tolist(), VALUES.tolist(), strict=True)
    ]
    return page.locator(".verdict").inner_text()


def check_ribbons(page, selector, weights, unit=75):
    """A ribbon goes to each word that gets some weight, as wide as that; all are ``unit``."""
    widths, ends = ribbons(page, selector)
    drawn = weights >= 0.004
    assert ends.div(100).floor().tolist() == drawn.nonzero().flatten().tolist()
    assert close(widths / unit, weights[drawn])  # a word is 100 wide


def corner(page, k):
    """Where a corner of the triangle is on the page."""
    name = page.locator(".triangle text").nth(k).bounding_box()
    below = name["height"] + 6 if k == 0 else -14
    return name["x"] + [name["width"] / 2, 0, name["width"]][k], name["y"] + below


def test_a_query_is_dragged_to_whole_numbers_with_the_same_sum(show):
    page = show(alive("asking"))
    assert check_query(page, [4, 0, 2]) == "So “cat” now carries mostly what it found at <i>."
    handle = page.locator(".handle").bounding_box()
    page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
    page.mouse.down()
    page.mouse.move(*corner(page, 1), steps=5)
    page.mouse.up()
    assert check_query(page, [0, 6, 0]) == "So “cat” now carries mostly what it found at </script>."
    page.mouse.move(*corner(page, 0))
    assert check_query(page, [0, 6, 0]), "it follows only while it is dragged"
    page.mouse.click(*corner(page, 2))
    check_query(page, [0, 0, 6])


def test_the_arrow_keys_move_the_query_and_stop_at_the_sides(show):
    page = show(alive("asking"))
    for keys, query in (
        (["ArrowUp"], [5, 0, 1]),
        (["ArrowUp", "ArrowUp"], [6, 0, 0]),
        (["ArrowDown", "ArrowDown", "ArrowDown", "ArrowLeft"], [3, 3, 0]),
        (["ArrowRight"] * 3, [3, 0, 3]),
    ):
        page.locator(".handle").focus()
        press(page, *keys)
        check_query(page, query)


def test_a_finger_moves_the_query_and_not_the_page(show):
    page = show(alive("asking") + "<div style='height: 200rem'></div>", width=390)
    (x, y), (to, down) = corner(page, 0), corner(page, 2)
    swipe(page, (x, y), (to - x, down - y))
    check_query(page, [0, 0, 6])
    assert page.evaluate("scrollY") == 0


def test_a_blend_is_called_a_blend(show):
    page = show(alive("asking"))
    assert check_query(page, [4, 0, 2]) == "So “cat” now carries mostly what it found at <i>."
    page.locator(".handle").focus()
    press(page, "ArrowDown", "ArrowRight")
    assert check_query(page, [3, 0, 3]) == "So “cat” now carries a blend of <i> and cat."


def test_all_rows_are_there_and_one_is_chosen_by_pointing_and_by_the_keyboard(show):
    page = show(interactive.asking(**ASKING, asks="dog", alt="Four words.").to_html())
    weights = weights_of(QUERIES)
    heading, rows = numbers(page)
    assert heading == [*ASKING["words"], *ASKING["hands"]] and list(rows) == list(ASKING["words"])
    shown = torch.tensor([[float(text) for text in row] for row in rows.values()])
    assert close(shown, torch.cat([weights, weights @ VALUES.double()], dim=1))
    chips = page.locator("button.chip")
    unit = min(75, 90 / weights.sum(dim=0).max())  # the ribbons of a word fit below it
    for place, (word, question) in enumerate(ASKING["words"].items()):
        chips.nth(place).focus()
        pressed = chips.evaluate_all("all => all.map(c => c.getAttribute('aria-pressed'))")
        assert pressed == [str(i == place).lower() for i in range(len(chips.all()))]
        assert said(page).startswith(f"“{word}” asks: “{question}” It gives ")
        check_ribbons(page, ".ribbons .on", weights[place], unit)
    page.locator(".hit").nth(1).hover()
    assert said(page).startswith("“dog” asks")
    check_ribbons(page, ".ribbons .on", weights[1], unit)
