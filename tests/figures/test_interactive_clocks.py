"""Clocks of sinusoidal positions: hands, products and the curve are those of the positions."""

import re

import browser
import examples
import torch
from examples import alive, close, number, numbers, said

from attnbook.positions import frequencies, sinusoidal_positions

browser.skip_without()
show = examples.show


def slide(page, label, value):
    """Bring a slider to a value, by keys."""
    slider = page.get_by_role("slider", name=label, exact=True)
    slider.press("Home")
    for _ in range(value):
        slider.press("ArrowRight")


def product(page):
    return float(re.search(r" = (-?\d+\.\d+)", said(page).replace("−", "-"))[1])


def clocks_are(page, p, k):
    """Table, sentence and clocks are those of position p and offset k."""
    marks = sinusoidal_positions(120, 20, dtype=torch.float64)
    _, rows = numbers(page)
    assert list(rows) == [*map(str, range(10)), "sum"]
    *pairs, total_row = rows.values()
    omega, at_p, later, cosine = torch.tensor([[*map(number, row)] for row in pairs]).double().T
    total = marks[p] @ marks[p + k]
    faces = page.locator(".clocks output").all_inner_texts()
    right = [f"{torch.cos(k * frequencies(20)[i]):.2f}" for i in PAIRS]
    return (
        torch.allclose(omega, frequencies(20), rtol=1e-3)
        and close(at_p.sin(), marks[p, ::2])
        and close(at_p.cos(), marks[p, 1::2])
        and close(later.sin(), marks[p + k, ::2])
        and close(later.cos(), marks[p + k, 1::2])
        and close(cosine.sum() / 10, total / 10)
        and close(torch.tensor(number(total_row[-1])), total)
        and abs(product(page) - total) < 0.006
        and f"PE({p}) · PE({p + k})" in said(page)
        and [text.replace("−", "-") for text in faces] == right
    )


PAIRS = [0, 1, 2, 3]  # of ten; the slowest are left out


def test_clocks_and_products_are_those_of_the_positions(show):
    page = show(alive("clocks"))
    assert clocks_are(page, 3, 5)
    for label, value, now in (
        ("Position p", 17, (17, 5)),
        ("Offset k", 11, (17, 11)),
        ("Offset k", 0, (17, 0)),
        ("Position p", 0, (0, 0)),
    ):
        slide(page, label, value)
        assert clocks_are(page, *now)
        assert page.locator("label output").all_inner_texts() == [*map(str, now)]


def test_moving_p_rotates_every_hand_and_leaves_the_product(show):
    page = show(alive("clocks"))

    def attributes(selector):
        return page.eval_on_selector_all(selector, "all => all.map(e => e.getAttribute('d'))")

    product_before = product(page)
    hands = attributes(".hand")
    page.get_by_label("Position p").press("ArrowRight")
    assert product(page) == product_before
    assert not {*hands} & {*attributes(".hand")}
    page.get_by_label("Offset k").press("ArrowRight")
    assert product(page) != product_before


def test_hands_point_to_sine_and_cosine(show):
    page = show(alive("clocks"))
    slide(page, "Position p", 9)
    ends = page.eval_on_selector_all(
        ".hand", "all => all.map(e => e.getAttribute('d').split('L')[1])"
    )
    ends = torch.tensor([[*map(float, end.split(","))] for end in ends]) / 40
    marks = sinusoidal_positions(15, 20).view(15, 10, 2)
    right = marks[[9, 14]][:, PAIRS] * torch.tensor([1, -1])  # y grows downwards
    assert close(ends.view(4, 2, 2), right.transpose(0, 1))
    arcs = page.eval_on_selector_all(".rotation", "all => all.map(e => e.getAttribute('d'))")
    large = [re.search(r"A30,30 0 (\d) 1 ", arc)[1] for arc in arcs]
    assert large == [*"1000"]  # five steps of pair 0 are beyond half a cycle


def test_the_curve_is_the_product_against_the_offset(show):
    page = show(alive("clocks"))
    slide(page, "Offset k", 7)
    path = page.locator(".curve").get_attribute("d")
    points = torch.tensor([*map(float, re.findall(r"[\d.]+", path))]).view(-1, 2)
    marks = sinusoidal_positions(60, 20)
    right = marks @ marks[0]
    height = (points[0, 1] - points[:, 1]) / (points[0, 1] - points[7, 1])
    assert close(height, (right - 10) / (right[7] - 10))
    mark = page.locator(".here")
    place = [float(mark.get_attribute(name)) for name in ("cx", "cy")]
    assert close(torch.tensor(place), points[7])


def test_the_position_runs_when_played_and_the_product_stays(show):
    page = show(alive("clocks"))
    before = product(page)
    page.get_by_role("button", name="p + 1").click()
    assert said(page).endswith("depends on k alone.") and "PE(4) · PE(9)" in said(page)
    page.get_by_role("button", name="play").click()
    page.wait_for_function("() => document.querySelector('[label]').p > 6")
    page.get_by_role("button", name="pause").click()
    p = int(page.get_by_label("Position p").input_value())
    page.wait_for_timeout(400)
    assert product(page) == before and clocks_are(page, p, 5)
    page.get_by_role("button", name="← back").click()
    assert clocks_are(page, p - 1, 5)
    slide(page, "Position p", 59)
    assert page.get_by_role("button", name="p + 1").get_attribute("aria-disabled") == "true"
