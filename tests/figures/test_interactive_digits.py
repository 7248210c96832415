"""Digits that flip and waves that glide: cells, curves and numbers are those of the positions."""

import browser
import examples
import torch
from examples import alive, close, said, values

from attnbook.positions import sinusoidal_positions

browser.skip_without()
show = examples.show
BITS = torch.arange(16)[:, None] // torch.tensor([1, 2, 4, 8]) % 2  # (positions, digits)
SINES = sinusoidal_positions(16, 16, dtype=torch.float64)[:, :8:2]


def at_the_marker(page):
    digits = page.locator(".tile").evaluate_all("a => a.map(e => +e.classList.contains('one'))")
    waves = page.locator(".sine").all_text_contents()
    return digits, [examples.number(text) for text in waves]


def test_each_position_has_its_digits_and_its_waves(show):
    page = show(alive("digits"), motion="reduce")
    assert close(values(page), torch.cat([BITS, SINES], dim=-1))
    cells = page.locator("rect:is(.one, .zero):not(.tile)")
    shown = cells.evaluate_all("a => a.map(e => +e.classList.contains('one'))")
    assert torch.equal(torch.tensor(shown).view(4, 16), BITS.T)
    for p in range(8, 16):
        digits, waves = at_the_marker(page)
        assert digits == BITS[p].tolist()
        assert torch.allclose(torch.tensor(waves).double(), SINES[p], rtol=0, atol=0.006)
        flips = (BITS[p] != BITS[p - 1]).sum().item()
        assert page.locator(".flipped").count() == flips
        assert said(page).startswith(f"From {p - 1} to {p}, {flips} of 4 digits flip")
        assert said(page).endswith(f"more than {(SINES[p] - SINES[p - 1]).abs().max():.2f}.")
        if p < 15:
            page.get_by_role("button", name="next position").click()
    assert page.trouble == []


def test_from_7_to_8_all_digits_flip_and_from_8_to_9_one(show):
    page = show(alive("digits"), motion="reduce")
    assert said(page).startswith("From 7 to 8, 4 of 4 digits flip.")
    page.get_by_role("button", name="next position").click()
    assert said(page).startswith("From 8 to 9, 1 of 4 digits flips.")


def test_it_plays_once_when_seen(show):
    page = show(alive("digits"))
    page.wait_for_function("() => document.querySelector('[label]').at % 1 > 0")
    page.wait_for_function("() => document.querySelector('[label]').step === 2")
    page.get_by_role("button", name="pause").click()
    page.get_by_role("button", name="← back").click()
    assert said(page).startswith("From 0 to 1, 1 of 4 digits flips.")
