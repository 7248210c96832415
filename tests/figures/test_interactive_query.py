"""A query is moved among keys by mouse, finger and keyboard: all numbers are PyTorch's."""

import browser
import examples
import pytest
import torch
from examples import (
    KEYS,
    NAMES,
    VALUES,
    alive,
    close,
    column,
    numbers,
    press,
    said,
    swipe,
    widths_of_bars,
)

from attnbook.figures import interactive

browser.skip_without()
show = examples.show


def check_query(page, query, temperature=1.0):
    """All that is shown is what PyTorch computes for this query."""
    query = torch.tensor(query)
    scores = KEYS @ query / 2**0.5 / temperature
    weights = scores.softmax(dim=-1)
    output = weights @ VALUES
    assert list(numbers(page)[1]) == [*NAMES, "output"]
    assert close(column(page, "score"), scores)
    assert close(column(page, "weight"), weights)
    assert close(column(page, "value"), VALUES)
    parts = torch.cat([weights * VALUES, output[None]])
    assert close(column(page, "weight × value"), parts)
    bars = page.locator(".bars li").all_inner_texts()
    for j, bar in enumerate(bars):
        number = f"{weights[j]:.2f} × {VALUES[j]:g}".replace("-", "−")
        assert bar.split() == [*NAMES[j].split(), *number.split()]
    best = weights.argmax()
    begins = "The query is at ({:.2f}, {:.2f}). It gives {} the weight {:.2f}, "
    begins = begins.format(*query, NAMES[best], weights[best]).replace("-", "−")
    assert said(page).startswith(begins)
    assert said(page).endswith(f". The output is {output:.2f}.".replace("-", "−"))
    assert widths_of_bars(page).sub(weights).abs().max() < 0.02


def plane(page):
    """A function from a point of the plane to its place on the page, in pixels."""
    box = page.locator("svg").first.bounding_box()
    unit = (box["width"] * (160 - 12) / 320) / 1.25  # pixels for a 1
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    return lambda x, y: (middle[0] + unit * x, middle[1] - unit * y)


def test_the_query_is_dragged_by_the_mouse(show):
    page = show(alive("query"))
    check_query(page, [0.8, 0.4])
    handle = page.get_by_role("slider", name="Query, moved")
    to = plane(page)
    page.mouse.move(*to(0.8, 0.4))
    page.mouse.down()
    page.mouse.move(*to(0.0, 0.0), steps=3)
    page.mouse.move(*to(-0.7, -0.5), steps=3)
    check_query(page, [-0.7, -0.5])
    page.mouse.move(*to(3, 2))  # out of the plane
    check_query(page, [1.25, 1.25])
    page.mouse.up()
    page.mouse.move(*to(0.2, 0.2))
    check_query(page, [1.25, 1.25])
    page.mouse.click(*to(-0.2, 0.6))
    check_query(page, [-0.2, 0.6])
    assert min(handle.bounding_box()[side] for side in ("width", "height")) > 24


def test_values_that_are_points_are_mixed_in_the_plane(show):
    memory = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, -2.0]])
    page = show(
        interactive.query(
            memory, memory, query=[1, 1], labels="abc", alt="Three.", divide=False
        ).to_html()
    )
    page.get_by_role("slider", name="Query, moved").press("ArrowRight")
    asked = torch.tensor([1.0 + page.evaluate("document.querySelector('[label]').data.step"), 1.0])
    weights = (memory @ asked).softmax(dim=-1)  # not divided
    output = weights @ memory
    assert close(column(page, "weight"), weights)
    assert said(page).endswith("The output is ({:.2f}, {:.2f}).".format(*output).replace("-", "−"))
    lines = page.locator("line.part").evaluate_all(
        "all => all.map(l => l.getAttribute('stroke-width'))"
    )
    assert torch.tensor([float(width) for width in lines]).sub(9 * weights).abs().max() < 1e-4
    # the triangle stands where the output is
    *place, two = page.locator("line.part").first.evaluate(
        "l => [+l.getAttribute('x1'), -l.getAttribute('y1'), +l.getAttribute('x2')]"
    )
    assert torch.tensor(place).div(two / 2).sub(output).abs().max() < 1e-3


@pytest.mark.parametrize("query", [(1, 1), (-2.5, 1), (2, 0)])
def test_no_name_lies_on_the_query_or_on_the_output(show, query):
    memory = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 2.0]])
    labels = ["forty", "-two", "END"]
    figure = interactive.query(memory, memory, query=query, labels=labels, alt="", divide=False)
    page = show(figure.to_html())

    def boxes(selector):
        found = page.locator(selector).all()
        return [(box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"])
                for box in (one.bounding_box() for one in found)]  # fmt: skip

    names, dots = boxes(".plane text:not(.soft)"), boxes(".plane :is(circle.query, .found)")
    assert len(names) == 4 and len(dots) == 2
    for left, top, right, bottom in names:
        middle = (top + bottom) / 2  # the letters are lower than their box
        for x1, y1, x2, y2 in dots:
            assert right < x1 + 3 or left > x2 - 3 or not y1 < middle < y2


def test_the_query_is_dragged_by_finger_and_beside_it_the_page_scrolls(show):
    page = show(alive("query") + "<p style='height: 2000px'>", width=390)
    numbers(page)  # opened now, so that the focus stays with the query
    page.evaluate("scrollTo(0, 0)")
    to = plane(page)
    (x, y), (right, above) = to(0.8, 0.4), to(-0.5, 1.0)
    swipe(page, (x, y), (right - x, above - y))
    assert page.evaluate("scrollY") == 0
    check_query(page, [-0.5, 1.0])
    page.keyboard.press("ArrowUp")
    check_query(page, [-0.5, 1.05])
    swipe(page, to(0.8, -0.8), (0, -150))
    page.wait_for_function("scrollY > 20")
    check_query(page, [-0.5, 1.05])


def test_the_query_is_moved_by_keyboard_alone(show):
    page = show(alive("query"))
    numbers(page)
    page.evaluate("document.activeElement.blur()")

    def value(name):
        slider = page.get_by_role("slider", name=name)
        return slider.get_attribute("aria-valuetext")

    page.locator("summary").focus()
    press(page, *["Shift+Tab"] * 4)
    press(page, "ArrowLeft", "ArrowLeft")
    check_query(page, [0.7, 0.4])
    press(page, "Tab", "End")
    check_query(page, [0.7, 1.25])
    assert value("Query y") == "1.25"
    press(page, "Tab", "Home", "ArrowRight", "ArrowRight", "ArrowRight")
    check_query(page, [0.7, 1.25], temperature=0.1)
    assert value("Temperature") == "0.1"
    press(page, "Tab", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown")
    check_query(page, [0.75, 1.1], temperature=0.1)
    assert value("Query, moved") == "x 0.75, y 1.10"
