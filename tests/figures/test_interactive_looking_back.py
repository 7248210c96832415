"""One look back: every step shows PyTorch's numbers, and the figure plays once."""

import browser
import examples
import torch
from examples import alive, close, column, fits, numbers, said
from playwright.sync_api import expect

browser.skip_without()
show = examples.show

Z = torch.tensor([1.0, -1.0]).double()
STATES = torch.tensor([[2.0, 0.0], [-1.0, 1.0], [-1.0, 2.0]]).double()
ENERGIES = STATES @ Z
WEIGHTS = ENERGIES.softmax(dim=0)


def written(numbers):
    return [f"{number:g}".replace("-", "−") for number in numbers.tolist()]


def hundredths(numbers):
    return [f"{number:.2f}".replace("-", "−") for number in numbers.tolist()]


def test_all_numbers_are_pytorchs(show):
    page = show(alive("looking_back"), motion="reduce")
    numbers(page)
    for name, wanted in (
        ("energy", ENERGIES),
        ("exponential", ENERGIES.exp()),
        ("weight", WEIGHTS),
    ):
        assert close(column(page, name), wanted)
    made = page.locator(".made b").all_inner_texts()
    energies, exponentials, weights = made[:3], made[3:6], made[6:]
    assert energies == ["2", "−2", "−3"] == written(ENERGIES)
    assert exponentials == hundredths(ENERGIES.exp())
    assert weights == hundredths(WEIGHTS)
    context = ", ".join(hundredths(WEIGHTS @ STATES))
    assert page.locator(".sum > b").inner_text() == f"≈ ({context})"
    assert said(page).endswith(f"The sum is the context, ({context}).")
    bars = page.locator(".bar").evaluate_all("all => all.map(e => e.getBoundingClientRect().width)")
    shares = torch.tensor(bars).double()
    assert torch.allclose(shares / shares.sum(), WEIGHTS, atol=0.01)


def test_each_step_shows_one_more_line_and_its_numbers_travel_there(show):
    page = show(alive("looking_back"))
    moving = "document.querySelector('[label]').shadowRoot.getAnimations().filter(each =>"
    moving += " each.effect.getKeyframes().some(frame => frame.transform)).length"
    later = page.locator(".row.later")
    expect(page.get_by_role("button", name="pause")).to_be_visible()
    page.get_by_role("button", name="back").click()  # it does not play any longer
    assert later.count() == 5
    for hidden, copies in ((4, 12), (3, 3), (2, 3), (0, 9)):
        page.get_by_role("button", name="next").click()
        assert later.count() == hidden and page.evaluate(moving) >= copies


def test_it_plays_once_and_then_shows_all(show):
    page = show(alive("looking_back"))
    expect(page.locator(".row.later")).not_to_have_count(0)
    expect(page.get_by_role("button", name="play")).to_be_visible(timeout=15_000)
    assert page.locator(".row.later").count() == 0
    assert said(page).startswith("Each state is multiplied by its weight.")


def test_without_motion_all_is_there_at_once_on_a_telephone(show):
    page = show(alive("looking_back"), motion="reduce", width=390)
    page.wait_for_timeout(300)
    assert page.locator(".row.later").count() == 0 and fits(page)
