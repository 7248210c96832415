"""Waves of sinusoidal positions: a line reads them off, and what is added are those numbers."""

import re

import browser
import examples
import torch
from examples import SAID, SENTENCE, alive, close, fits, numbers, press, said, values

from attnbook.figures import interactive
from attnbook.positions import sinusoidal_positions

browser.skip_without()
show = examples.show

MARKS = sinusoidal_positions(6, 20, dtype=torch.float64)[:, :6]
TWINS = [0, 2, 5]  # the places of "so"
RECTANGLES = """all => all.map(e => [...e.querySelectorAll("rect")].map(bar => {
    const zero = Number(e.querySelector(".zero").getAttribute("d").match(/,([\\d.]+)/)[1]);
    const [y, height] = ["y", "height"].map(name => Number(bar.getAttribute(name)));
    return y + height / 2 < zero ? height : -height;
  }))"""


def vectors(page, kind):
    """The bars of each group of a kind, in the unit of the numbers."""
    groups = page.locator(f"g:has(> rect.{kind})")
    return torch.tensor(groups.evaluate_all(RECTANGLES)).double() / 22


def test_bars_are_those_of_positions_words_and_sums_wherever_the_line_is(show):
    page = show(alive("waves"), motion="reduce")
    for place in (5, *range(5)):
        page.get_by_role("slider").fill(str(place))
        twins = [p for p in TWINS if place in TWINS and p != place]
        for kind, numbers_of in (("position", MARKS), ("word", SAID), ("sum", MARKS + SAID)):
            assert close(vectors(page, kind), numbers_of[[*twins, place]])
        heading, rows = numbers(page)
        assert heading == [f"position {place}", f"“{SENTENCE[place]}”", "sum"]
        assert list(rows) == [f"wave {i}" for i in range(1, 7)]
        assert close(
            values(page).T, torch.stack([MARKS[place], SAID[place], (MARKS + SAID)[place]])
        )
        assert said(page).startswith(f"At position {place}, the line reads six heights")
        assert ("The same word" in said(page)) == (place in TWINS)


def test_the_line_crosses_the_waves_under_its_word_and_lines_lead_on_to_the_bars(show):
    page = show(alive("waves"), motion="reduce")
    for place in (5, 3):
        page.get_by_role("slider").fill(str(place))
        x = float(page.locator("text.middle").nth(2 * place).get_attribute("x"))
        dots, waves = page.locator(".dot"), page.locator(".wave[d*=L]")  # not the short ones
        assert waves.count() == dots.count() == 6
        for i, wave in enumerate(waves.all()):
            points = re.findall(r"[\d.]+,[\d.]+", wave.get_attribute("d"))
            points = torch.tensor([[*map(float, point.split(","))] for point in points])
            crossed = points[(points[:, 0] - x).abs().argmin(), 1]
            dot = [float(dots.nth(i).get_attribute(name)) for name in ("cx", "cy")]
            assert abs(dot[0] - x) < 0.01 and abs(dot[1] - crossed) < 0.9
            join = page.locator(".join").nth(i).get_attribute("d")
            *start, bar = map(float, re.match(r"M([\d.]+),([\d.]+) H([\d.]+)", join).groups())
            assert start == dot
            box = page.locator("g:has(> rect.position)").last.locator("rect").nth(i)
            left, wide = [float(box.get_attribute(name)) for name in ("x", "width")]
            assert left < bar < left + wide
        heights = page.locator(".stem").evaluate_all(
            """all => all.map(e =>
                 e.getAttribute("d").match(/,([\\d.]+) V([\\d.]+)/).slice(1).map(Number))"""
        )
        sines = (torch.tensor(heights) @ torch.tensor([1.0, -1.0]) / 25).view(3, 6)
        assert close(sines, MARKS[:, ::2].T)


def verdicts(words, tokens):
    return interactive.waves(words, tokens=tokens, d_model=8, alt="").to_html()


def test_brackets_compare_a_word_that_comes_again(show):
    words = torch.tensor([[0.5, 0.2], [0.1, 0.3], [0.5, 0.2]])
    page = show(verdicts(words, ["two", "thousand", "two"]))
    assert page.locator(".verdict").all_text_contents() == ["the same", "different"]
    other = show(verdicts(words + torch.arange(3)[:, None], ["two", "thousand", "two"]))
    assert other.locator(".verdict").all_text_contents() == ["different", "different"]
    page.get_by_role("slider").fill("1")  # "thousand", which comes once
    assert page.locator(".verdict").count() == 0 and "The same word" not in said(page)


def test_the_line_follows_keys_and_the_pointer_and_glides(show):
    page = show(alive("waves"))
    slider = page.get_by_role("slider", name="Position")
    assert slider.get_attribute("aria-valuetext") == "2, “so”"  # the first twin
    press(page, "Tab", "ArrowRight")
    assert slider.get_attribute("aria-valuetext") == "3, “it”"

    def line_is_at(place):
        x = page.locator("text.middle").nth(2 * place).get_attribute("x")
        page.wait_for_function(
            """x => document.querySelector("[label]").shadowRoot.querySelector(".line")
                 .getAttribute("d").startsWith(`M${x},`)""",
            arg=x,
        )

    line_is_at(3)
    wave = page.locator(".wave").nth(2).bounding_box()
    box = page.locator("svg").first.bounding_box()
    x = [float(page.locator("text.middle").nth(2 * p).get_attribute("x")) for p in (1, 4)]
    page.mouse.move(box["x"] + x[0], wave["y"])
    page.mouse.down()
    line_is_at(1)
    page.mouse.move(box["x"] + x[1] + 3, wave["y"], steps=4)
    line_is_at(4)
    page.mouse.up()
    assert said(page).startswith("At position 4,")
    assert page.trouble == []


def test_the_fast_and_the_slow_pair_say_what_they_are_for(show):
    for width in (800, 390):
        page = show(alive("waves"), width=width)
        for words in ("tells neighbours apart", "tells far places apart", "cosine"):
            assert page.get_by_text(words).count() == 1
        assert fits(page)


def test_at_first_the_line_comes_from_the_first_word_and_leaves_the_twin_of_its_word_behind(show):
    page = show(verdicts(torch.ones(5, 2), ["two", "thousand", "two", "hundred", "three"]))
    shades = "all => all.map(e => Number(e.getAttribute('opacity')))"
    page.wait_for_function("() => document.querySelector('[label]').at < 0.5")
    assert page.locator("g:has(> .verdict)").evaluate_all(shades) == [0, 0]
    page.wait_for_function("() => document.querySelector('[label]').at === 2")
    assert page.locator("g:has(> .verdict)").evaluate_all(shades) == [1, 1]
    assert page.locator("g:has(> rect.sum)").evaluate_all(shades) == [1, 1]
