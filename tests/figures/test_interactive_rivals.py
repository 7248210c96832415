"""Four ways to mark positions: scores slide along with their query, but those with sinusoids."""

import re

import browser
import examples
import torch
from examples import alive, close, column, press, said

from attnbook.figures.interactive.rivals import hands
from attnbook.positions import rotary, sinusoidal_positions

browser.skip_without()
show = examples.show


def curves(page, selector):
    """The points of each curve at whole distances, from its query on."""
    paths = page.locator(selector).evaluate_all("all => all.map(p => p.getAttribute('d'))")
    points = [[*map(float, re.findall(r"[\d.]+", path))] for path in paths]
    return torch.tensor(points).double().view(len(paths), -1, 2)[:, ::8]


def with_sinusoids(p):
    query, key = hands()
    marks = sinusoidal_positions(32, 16, dtype=torch.float64)[:, :6]
    return ((key + marks[p - 15 : p + 1]) @ (query + marks[p])).flip(0)


def test_scores_are_those_of_rotated_vectors_of_numbers_of_a_slope_and_of_sums(show):
    page = show(alive("rivals"), motion="reduce")
    hand = torch.nn.functional.pad(hands(), (0, 10))[:, None]
    rotated = [(rotary(hand[0], start=97 + k) * rotary(hand[1], start=97)).sum() for k in range(16)]
    for p in (31, 20, 15):
        page.get_by_role("slider").fill(str(p))
        assert torch.allclose(column(page, "rotary"), torch.stack(rotated), atol=0.006)
        assert torch.allclose(column(page, "sinusoids"), with_sinusoids(p), atol=0.006)
        for drawn, name in zip(curves(page, ".curve"), examples.numbers(page)[0], strict=False):
            shapes = torch.stack([drawn[:, 1], column(page, name)])
            assert torch.corrcoef(shapes)[0, 1] < -0.999, name
    assert close(column(page, "ALiBi"), -0.5 * torch.arange(16))


def test_three_curves_are_the_same_at_every_place_and_move_along_with_the_query(show):
    page = show(alive("rivals"), motion="reduce")
    first = curves(page, ".curve")
    assert torch.equal(first[:3], curves(page, ".ghost")[:3])
    assert not torch.equal(first[3], curves(page, ".ghost")[3])
    page.get_by_role("slider").fill("24")
    now = curves(page, ".curve")
    moved = first[0, 0, 0] - now[0, 0, 0]
    assert torch.allclose(now[:3], first[:3] - torch.tensor([moved, 0.0]))
    assert not torch.allclose(now[3, :, 1], first[3, :, 1], atol=1)
    most = (with_sinusoids(24) - with_sinusoids(15)).abs().max()
    assert said(page).endswith(f"scores change by up to {most:.1f}.")
    page.get_by_role("slider").fill("15")
    assert page.locator(".gap").count() == 1  # and without an area
    assert torch.equal(curves(page, ".curve"), curves(page, ".ghost"))


def test_right_answers_are_those_of_the_places_where_the_query_is(show):
    page = show(alive("rivals"), motion="reduce")
    assert page.locator(".share").all_text_contents() == [
        f"{share}\N{NO-BREAK SPACE}%" for share in (97, 100, 100, 4)
    ]
    assert page.locator(".share.few").count() == 1
    press(page, *4 * ["Tab"], *16 * ["ArrowLeft"])
    assert page.get_by_role("slider").get_attribute("aria-valuetext") == "15, trained"
    assert page.get_by_text("trained places").count() == 2
    assert page.locator(".share").first.text_content() == "98\N{NO-BREAK SPACE}%"


def test_once_seen_the_query_slides_to_its_last_place_in_silence(show):
    page = show(alive("rivals"))
    page.wait_for_function("() => document.querySelector('[label]').at > 16")
    assert page.locator(".said").get_attribute("aria-live") == "off"
    page.get_by_role("button", name="pause").click()
    assert "three designs give each distance the same score" in said(page)
    assert page.trouble == []
