"""Scores as walks: sums, spread and curves are PyTorch's, to scale, at each stop."""

import re

import browser
import examples
import pytest
import torch
from examples import STEPS, alive, press, said, values

browser.skip_without()
show = examples.show
QUERY, KEY = STEPS.double()
SUMS = (QUERY * KEY).cumsum(dim=-1)
STOPS = [16, 64, 144, 256]  # of 256 features


def points(page, selector):
    """The places on each path."""
    paths = page.locator(selector).evaluate_all("all => all.map(p => p.getAttribute('d'))")
    return [torch.tensor([float(n) for n in re.findall(r"-?[\d.]+", d)]).view(-1, 2) for d in paths]


def check(page, d, divided=False):
    """All walks and curves have come as far as d features, on one scale."""
    heads = page.locator(".head").evaluate_all("all => all.map(e => +e.getAttribute('cy'))")
    up, down = (edge[-1, 1] for edge in points(page, ".root"))
    middle, unit = (up + down) / 2, (down - up) / 2  # of one root of d
    found = (middle - torch.tensor(heads)) / unit
    torch.testing.assert_close(found, (SUMS[:, d - 1] / d**0.5).float(), rtol=0, atol=0.02)
    for walk, sums in zip(points(page, ".walk"), SUMS, strict=True):
        assert len(walk) == d / 2 + 2  # every second feature, and the end
        steps = torch.arange(2, d + 1, 2)
        scaled = sums[steps - 1] / (steps if divided else torch.tensor(d)).sqrt()
        torch.testing.assert_close((middle - walk[1:-1, 1]) / unit, scaled.float(), rtol=0,
                                   atol=0.04)  # fmt: skip
    assert page.locator(".reach").count() == STOPS.index(d) + 1


def test_walks_grow_to_each_stop_and_spread_like_the_root(show):
    page = show(alive("walks"), motion="reduce")
    check(page, 256)
    spreads = SUMS[:, [d - 1 for d in STOPS]].square().mean(dim=0).sqrt()
    roots = torch.tensor(STOPS).double().sqrt()
    expected = torch.stack([roots, spreads, spreads / roots], dim=-1)
    torch.testing.assert_close(values(page), expected, rtol=0, atol=0.06)
    for d in STOPS[-2::-1]:
        page.get_by_role("button", name="← back").click()
        check(page, d)
    assert "lie √16 = 4 away from 0".replace(
        " = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
    ) in said(page)
    page.get_by_role("button", name="← back").click()
    assert said(page).startswith("6 scores begin at 0.") and page.locator(".reach").count() == 0


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_divided_by_the_root_they_are_as_wide_everywhere(show, motion):
    page = show(alive("walks"), motion=motion)
    page.locator("button", has_text="play").wait_for()
    press(page, "Tab", "Tab", "Tab", "Tab", "Space")
    page.wait_for_function("document.querySelector('[label]').narrowed === 1")
    check(page, 256, divided=True)
    assert page.trouble == []
    for edge in points(page, ".root"):
        assert (edge[:, 1] - edge[0, 1]).abs().max() < 0.01
    assert f"spread by {(SUMS[:, -1] / 16).square().mean().sqrt():.2f}." in said(page)


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_they_walk_once_by_themselves_when_seen_unless_nothing_may_move(show, motion):
    page = show(alive("walks"), motion=motion)
    if motion == "reduce":
        page.wait_for_timeout(200)
        check(page, 256)
    else:
        page.locator("button", has_text="pause").wait_for()
        assert page.locator(".reach").count() < 4
        page.locator("button", has_text="play").wait_for()
        page.wait_for_function("document.querySelector('[label]').at === 4")
        check(page, 256)
