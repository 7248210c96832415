"""Stretched rotary positions: angles, colours and sentence are those of the frequencies."""

import math
import re

import browser
import examples
import pytest
import torch
from examples import FOUND, alive, column, numbers, said

from attnbook.positions import STRETCHES, stretched_frequencies

browser.skip_without()
show = examples.show
LENGTH, PAIRS = 32, 6


def choose(page, method, factor):
    page.get_by_role("button", name=method).click()
    page.get_by_role("slider", name="Length of the text").fill(str((1, 2, 4, 8).index(factor)))


def right(method, factor):
    frequencies = stretched_frequencies(16, float(factor), method=method, trained_length=LENGTH)
    return frequencies[:PAIRS]


def is_new(method, factor, distances):
    """For each pair and distance, whether training had no such angle."""
    seen = right("as trained", 1)[:, None] * LENGTH
    return right(method, factor)[:, None] * distances % (2 * math.pi) > seen


@pytest.mark.parametrize("method", STRETCHES)
def test_frequencies_and_new_angles_are_those_of_the_package(show, method):
    page = show(alive("stretch"), motion="reduce")
    for factor in (4, 1, 8):
        choose(page, method, factor)
        heading, rows = numbers(page)
        now = torch.tensor([float(row[1]) for row in rows.values()]).double()
        torch.testing.assert_close(now, right(method, factor), rtol=6e-3, atol=0)
        new = is_new(method, factor, torch.arange(factor * LENGTH)).sum(dim=1)
        shown = [row[-1] for row in rows.values()]
        assert shown == [f"{n} of {factor * LENGTH}" for n in new]
        assert heading[-1] == "distances with new angles"


@pytest.mark.parametrize("method", STRETCHES)
def test_the_curve_is_the_cosine_and_red_where_the_angle_is_new(show, method):
    page = show(alive("stretch"), motion="reduce")
    choose(page, method, 4)
    distances = torch.arange(0, 127.01, 0.125, dtype=torch.float64)
    new = is_new(method, 4, distances)
    for pair, frequency in enumerate(right(method, 4)):
        whole, red = (
            page.locator(selector).nth(pair).get_attribute("d")
            for selector in (".wave:not(.new)", ".wave.new")
        )
        whole, red = (
            torch.tensor([*map(float, re.findall(r"[\d.]+", path))]).double().view(-1, 2)
            for path in (whole, red)
        )
        width = whole[-1, 0] - whole[0, 0]
        along = (whole[:, 0] - whole[0, 0]) / width * distances[-1]
        torch.testing.assert_close(along, distances, rtol=0, atol=0.05)
        height = (20 - whole[:, 1]) / 16
        torch.testing.assert_close(height, (frequency * distances).cos(), rtol=0, atol=0.01)
        assert torch.equal(red, whole[new[pair]])


def test_the_sentence_names_the_pairs_and_the_price(show):
    page = show(alive("stretch"), motion="reduce")
    choose(page, "as trained", 4)
    assert said(page) == "Pairs 2, 3, 4 and 5 meet new angles (red)."
    choose(page, "interpolation", 4)
    assert "No pair meets a new angle. But" in said(page)
    assert "pair 0 rotates by 14° a token instead of 57°" in said(page)
    assert page.locator(".slower").count() == 2
    choose(page, "by parts", 4)
    assert said(page).endswith("Pairs that met every angle in training stay as they were.")
    assert page.locator(".slower").count() == 0
    choose(page, "as trained", 1)
    assert "no pair meets a new angle" in said(page)


def test_waves_stretch_on_their_way_to_another_method_while_the_sentence_is_there_at_once(show):
    page = show(alive("stretch"))
    wave = page.locator(".wave:not(.new)").first
    before = wave.get_attribute("d")
    page.evaluate(
        """() => {
          const figure = document.querySelector("[label]"), draw = figure.drawWaves;
          window.speeds = [];
          figure.drawWaves = (now) => { speeds.push(now[0]); draw.call(figure, now); };
        }"""
    )
    choose(page, "interpolation", 4)
    assert said(page).startswith("No pair meets a new angle")
    page.wait_for_function("() => speeds.at(-1) < 0.26")  # it was 1, and becomes a fourth
    assert page.evaluate("speeds.length") >= 2 and page.evaluate("speeds[0]") > 0.9
    assert wave.get_attribute("d") != before and page.locator(".slower").count() == 2
    assert page.trouble == []


def test_ways_are_made_for_the_longest_text_and_bars_are_what_a_model_finds(show):
    page = show(examples.ways(), motion="reduce")
    for i, (name, found) in enumerate(FOUND.items()):
        page.get_by_role("button", name=name).click()
        assert page.locator('[aria-pressed="true"]').inner_text().startswith(name)
        for factor in (8, 1):
            page.get_by_role("slider").fill(str((1, 2, 4, 8).index(factor)))
            sizes = {"method": STRETCHES[i], "trained_length": LENGTH, "base": 200.0}
            right = stretched_frequencies(16, 8.0, **sizes)[[0, 2, 4]]
            assert list(numbers(page)[1]) == ["0", "2", "4"]
            torch.testing.assert_close(column(page, "frequency"), right, rtol=6e-3, atol=0)
            near, names = (
                f"{round(share)}\N{NO-BREAK SPACE}%" for share in found[0 if factor == 1 else 3]
            )
            says = page.get_by_role("button", name=name).get_attribute("aria-description")
            assert says == f"what is near: {near}, names: {names}"
    assert browser.violations(page, "label-content-name-mismatch") == []
    assert page.locator(".share.few").count() == 2  # of 14 % and of 48 %, in a short text
    page.get_by_role("slider").fill("3")
    assert page.locator(".share.few").count() == 3


def test_ways_run_once_seen_up_to_the_last(show):
    page = show(examples.ways())
    page.wait_for_function("() => document.querySelector('[label]').method === 1")
    assert page.locator(".said").get_attribute("aria-live") == "off"
    page.get_by_role("button", name="pause").click()
    assert page.locator(".slower").count() == 2 and page.trouble == []
