"""Scores of more and more features, divided or not: weights and gradients are PyTorch's."""

import browser
import examples
import torch
from examples import KEY, QUERY, alive, close, column, numbers, press, said, widths_of_bars

from attnbook.figures import interactive

browser.skip_without()
show = examples.show


def check_scale(page, d, *, divided=False, draw=0):
    """All that is shown is what PyTorch computes from the first d features."""
    scores = KEY[draw, :, :d] @ QUERY[draw, :d]
    scores = (scores / (d**0.5 if divided else 1)).double()
    weights = scores.softmax(dim=-1)
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(dim=-1), scores).norm()
    measures = torch.stack([weights.max(), jacobian])
    assert close(column(page, "score"), scores)
    assert close(column(page, "weight"), torch.cat([weights, measures]))
    shares = torch.cat([weights, measures / torch.tensor([1, 0.5])])
    assert widths_of_bars(page).sub(shares).abs().max() < 0.02
    assert said(page).startswith(
        f"d = {d}, {'divided by √d' if divided else 'undivided'}: key "
        f"{weights.argmax() + 1} has the largest weight, {weights.max():.2f}."
    )
    assert said(page).endswith("saturated." if jacobian < 0.01 else "listens.")
    return jacobian < 0.01


def test_the_weights_at_each_size_are_pytorchs(show):
    page = show(alive("scale"))
    saturated = []
    for draw in range(3):
        page.get_by_label("Draw").select_option(f"draw {draw + 1}")
        for divided in (False, True):
            page.get_by_label("divide by √d").set_checked(divided)
            for place in range(6):
                page.get_by_role("slider").fill(str(place))
                at = {"divided": divided, "draw": draw}
                saturated.append(check_scale(page, 2 ** (place + 1), **at))
    assert True in saturated and False in saturated


def test_the_size_is_set_and_divided_by_keyboard_alone(show):
    page = show(alive("scale"))
    numbers(page)
    page.locator("summary").focus()
    press(page, *["Shift+Tab"] * 3)
    check_scale(page, 2)
    press(page, "End", "ArrowLeft")
    slider = page.get_by_role("slider", name="Features d")
    assert slider.get_attribute("aria-valuetext") == "32"
    press(page, "Tab", "Space")
    check_scale(page, 32, divided=True)
    press(page, "Tab", "ArrowDown")
    check_scale(page, 32, divided=True, draw=1)


def test_weights_stay_numbers_where_exponentials_overflow(show):
    query, key = torch.tensor([[30.0, 30.0]]), torch.zeros(1, 2, 2)
    key[0, 0] = 30
    page = show(interactive.scale(query, key, alt="Two weights.").to_html())
    expected = torch.tensor([1.0, 0.0, 1.0, 0.0])
    assert close(column(page, "weight"), expected)
