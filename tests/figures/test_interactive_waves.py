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

MARKS = sinusoidal_positions(6, 20, dtype=torch.float64)[:, :5]
RECTANGLES = """all => all.map(e => [...e.querySelectorAll("rect")].map(bar => {
    const zero = Number(e.querySelector(".zero").getAttribute("d").match(/,([\\d.]+)/)[1]);
    const [y, height] = ["y", "height"].map(name => Number(bar.getAttribute(name)));
    return y + height / 2 < zero ? height : -height;
  }))"""


def vectors(page, kind):
    """The bars of each group of a kind, in the unit of the numbers."""
    groups = page.locator(f"g:has(> .{kind})")
    return torch.tensor(groups.evaluate_all(RECTANGLES)).double() / 21


def test_bars_are_those_of_positions_words_and_sums_wherever_the_line_is(show):
    page = show(alive("waves"), motion="reduce")
    for place in (5, *range(5)):
        page.get_by_role("slider").fill(str(place))
        *fixed, reading = vectors(page, "position")
        assert close(torch.stack(fixed), MARKS) and close(reading, MARKS[place])
        assert close(vectors(page, "word"), SAID)
        assert close(vectors(page, "sum"), MARKS + SAID)
        heading, rows = numbers(page)
        assert heading == [f"position {place}", f"“{SENTENCE[place]}”", "sum"]
        assert list(rows) == [f"wave {i}" for i in range(1, 6)]
        assert close(
            values(page).T, torch.stack([MARKS[place], SAID[place], (MARKS + SAID)[place]])
        )
        assert said(page).startswith(f"At position {place}, the line reads five heights")
        assert ("The same word" in said(page)) == (SENTENCE[place] == "so")


def test_the_line_crosses_the_waves_under_its_word_and_lines_lead_on_to_the_bars(show):
    page = show(alive("waves"), motion="reduce")
    for place in (5, 3):
        page.get_by_role("slider").fill(str(place))
        x = float(page.locator("text.middle").nth(2 * place).get_attribute("x"))
        dots = page.locator(".dot")
        for i, wave in enumerate(page.locator(".wave").all()):
            points = re.findall(r"[\d.]+,[\d.]+", wave.get_attribute("d"))
            points = torch.tensor([[*map(float, point.split(","))] for point in points])
            crossed = points[(points[:, 0] - x).abs().argmin(), 1]
            dot = [float(dots.nth(i).get_attribute(name)) for name in ("cx", "cy")]
            assert abs(dot[0] - x) < 0.01 and abs(dot[1] - crossed) < 0.5
            join = page.locator(".join").nth(i).get_attribute("d")
            *start, bar = map(float, re.match(r"M([\d.]+),([\d.]+) H([\d.]+)", join).groups())
            assert start == dot
            box = page.locator("rect.position").nth(30 + i)
            left, wide = [float(box.get_attribute(name)) for name in ("x", "width")]
            assert left < bar < left + wide


def verdicts(words, tokens):
    return interactive.waves(words, tokens=tokens, d_model=8, alt="").to_html()


def test_brackets_compare_a_word_that_comes_again(show):
    words = torch.tensor([[0.5, 0.2], [0.1, 0.3], [0.5, 0.2]])
    page = show(verdicts(words, ["two", "thousand", "two"]))
    assert page.locator(".verdict").all_text_contents() == ["the same", "different"]
    other = show(verdicts(words + torch.arange(3)[:, None], ["two", "thousand", "two"]))
    assert other.locator(".verdict").all_text_contents() == ["different", "different"]
    alone = show(verdicts(words, ["two", "thousand", "three"]))
    assert alone.locator(".verdict").count() == 0 and "The same word" not in said(alone)


def test_the_line_follows_keys_and_the_pointer_and_glides(show):
    page = show(alive("waves"))
    slider = page.get_by_role("slider", name="Position")
    assert slider.get_attribute("aria-valuetext") == "5, “so”"
    press(page, "Tab", "ArrowLeft", "ArrowLeft")
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


def test_the_fast_and_the_slow_wave_say_what_they_are_for(show):
    for width in (800, 390):
        page = show(alive("waves"), width=width)
        for words in ("tells neighbours apart", "tells far places apart"):
            assert page.get_by_text(words).count() == 1
        assert fits(page)


def test_at_first_the_line_comes_from_the_first_word_and_columns_appear_where_it_has_been(show):
    page = show(verdicts(torch.ones(5, 2), ["two", "thousand", "two", "hundred", "three"]))
    sums = page.locator("g:has(> .sum)")
    shades = "all => all.map(e => Number(e.getAttribute('opacity')))"
    page.wait_for_function("() => document.querySelector('[label]').far < 1.5")
    assert sums.evaluate_all(shades)[2] < 1  # the second "two", which is not yet compared
    page.wait_for_function("() => document.querySelector('[label]').at === 2")
    first, _, second, *ahead = sums.evaluate_all(shades)
    assert first == second == 1 and max(ahead) < 0.2
    assert page.locator("g:has(> .verdict)").evaluate_all(shades) == [1, 1]
    page.get_by_role("slider").fill("4")
    page.wait_for_function("() => document.querySelector('[label]').at === 4")
    assert sums.evaluate_all(shades) == [1, 0.28, 1, 0.28, 1]
