"""Scores of more and more features, divided or not: walks and weights are PyTorch's."""

import re

import browser
import examples
import pytest
import torch
from examples import KEY, QUERY, alive, close, numbers, press, said

from attnbook.figures import interactive

browser.skip_without()
show = examples.show


SIZES = [2**n for n in range(1, 7)]
SUMS = (KEY * QUERY[:, None]).cumsum(-1).double()  # (draws, keys, 64)


def verdict(largest, jacobian):
    if jacobian < 0.01:
        return "Softmax no longer reacts."
    return (
        "Softmax hardly reacts."
        if largest >= 0.95
        else "Softmax still reacts."
        if largest >= 0.6
        else "Softmax reacts."
    )


def attributes(place, selector, name):
    found = place.locator(selector).evaluate_all(f"all => all.map(e => e.getAttribute('{name}'))")
    return torch.tensor([*map(float, found)]).double()


def points(place, selector):
    """The places on each path."""
    paths = place.locator(selector).evaluate_all("all => all.map(p => p.getAttribute('d'))")
    found = [[float(n) for n in re.findall(r"-?[\d.]+", path)] for path in paths]
    return [torch.tensor(numbers_).double().view(-1, 2) for numbers_ in found]


def check_scale(page, d, draw=0):
    """All that is shown is what PyTorch computes from the first d features."""
    scores = SUMS[draw, :, d - 1]
    _, rows = numbers(page)
    seen = []
    for side, divided in enumerate((scores, scores / d**0.5)):
        weights = divided.softmax(dim=-1)
        jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(dim=-1), divided).norm()
        *keys, largest, size = [row[2 * side : 2 * side + 2] for row in rows.values()]
        shown = torch.tensor([[float(t.replace("−", "-")) for t in row] for row in keys])
        assert close(shown[:, 0], divided) and close(shown[:, 1], weights)
        assert (largest[1], size[1]) == (f"{weights.max():.3f}", f"{jacobian:.3f}")
        panel = page.locator(".sides > div").nth(side)
        ranked = divided.sort(descending=True).values.flip(0)  # the best one is drawn last
        width = panel.locator("svg").bounding_box()["width"]
        long = attributes(panel, ".share", "width") / min(150, 0.25 * width)
        assert (long - ranked.softmax(dim=-1)).abs().max() < 0.02  # what is small is still seen
        # dots are to scale: the curves of the root end where a score would be √d, or 1
        up, down = (edge[-1, 1] for edge in points(panel, ".root"))
        dots = (up + down) / 2 - attributes(panel, ".dot", "cy")
        level = 1 if side else d**0.5
        inside = dots.abs() < 100  # what is beyond the edges is at them
        found = dots / (down - up) * 2 * level
        assert torch.allclose(found[inside], ranked[inside], atol=0.05 * level)
        # and lines lead from them to the bars
        for end, (path, dot) in enumerate(zip(points(panel, ".join"), dots, strict=True)):
            assert abs((up + down) / 2 - path[0, 1] - dot) < 0.01
            bar = panel.locator(".share").nth(end)
            top, high = (float(bar.get_attribute(name)) for name in ("y", "height"))
            assert abs(path[-1, 1] - top - high / 2) < 0.01
        assert panel.locator(".weight").first.text_content() == f"{weights.max():.2f}"
        raised = divided.scatter_add(0, divided.argmax()[None], torch.ones(1).double())
        best = raised.softmax(dim=-1).max()
        assert panel.locator(".moves b").text_content() == f"{weights.max():.2f} → {best:.2f}"
        seen.append(verdict(weights.max(), jacobian))
        assert panel.locator(".verdict").text_content() == seen[-1]
        assert f"{weights.max():.2f}" in said(page)
    assert said(page).startswith(f"With {d} features, the scores lie between ")
    return seen


def test_both_sides_at_each_size_are_pytorchs(show):
    page = show(alive("scale"), motion="reduce")
    seen = set()
    for draw in range(3):
        for place in range(6):
            page.get_by_role("slider").fill(str(place))
            seen |= {*check_scale(page, 2 ** (place + 1), draw)}
        page.get_by_role("button", name="New vectors").click()
    check_scale(page, 64)  # after the last draw, the first
    assert seen >= {
        f"Softmax {how} reacts.".replace("  ", " ") for how in ("", "still", "no longer")
    }


@pytest.mark.parametrize("width", [880, 358])
def test_walks_lead_to_the_scores_between_the_curves_of_the_root(show, width):
    wide = "<style>:root { --figure-width: none; }</style>"  # as on the book's pages
    page = show(wide + alive("scale"), width=width, motion="reduce")
    page.get_by_role("slider").fill("3")  # 16 features
    for side in range(2):
        panel = page.locator(".sides > div").nth(side)
        (up, down), walks = points(panel, ".root"), points(panel, ".walk.key")
        assert panel.locator(".walk:not(.key)").count() == 16  # of the other draws
        middle, unit = (up[-1, 1] + down[-1, 1]) / 2, (down[-1, 1] - up[-1, 1]) / 2
        features = torch.arange(1, 17).double()
        ranked = SUMS[0, SUMS[0, :, 15].argsort(), :16] / (features**0.5 if side else 4)
        for walk, sums in zip(walks, ranked, strict=True):
            inside = (walk[-16:, 1] > 14) & (walk[-16:, 1] < 140)  # no number lies beyond the edges
            assert torch.allclose((middle - walk[-16:, 1])[inside] / unit, sums[inside], atol=0.05)
        heights = (middle - up[:, 1]) / unit
        far = (up[:, 0] - walks[0][0, 0]) / (up[-1, 0] - walks[0][0, 0])
        assert torch.allclose(heights, torch.ones(41).double() if side else far.sqrt(), atol=0.02)
        dot, label = panel.locator(".dot").last, panel.locator(".join").last
        assert dot.bounding_box()["x"] < label.bounding_box()["x"] + 5
    assert examples.fits(page)


def test_a_raised_score_is_heard_where_scores_are_divided(show):
    page = show(alive("scale"), motion="reduce")
    page.get_by_role("slider").fill("5")
    page.get_by_role("button", name="Best score + 1").click()
    scores = SUMS[0, :, -1].sort().values
    higher = scores / 8 + torch.tensor([0.0] * 7 + [1.0])
    right = page.locator(".sides > div").last
    long = min(150, 0.25 * right.locator("svg").bounding_box()["width"])
    for selector, expected in ((".share", higher), (".before", scores / 8)):
        found = attributes(right, selector, "width") / long
        assert (found - expected.softmax(dim=-1)[-len(found) :]).abs().max() < 0.02
    ends = [f"{weights.softmax(dim=-1).max():.2f}" for weights in (scores / 8, higher)]
    assert said(page).endswith(f"from {ends[0]} to {ends[1]} with the division.")
    page.get_by_role("button", name="Best score + 1").click()
    assert page.locator(".before").count() == 0


def test_the_cut_comes_once_by_itself_from_few_features(show):
    page = show(alive("scale"))
    page.wait_for_function("() => document.querySelector('[label]').at < 4")
    page.wait_for_function("() => document.querySelector('[label]').at === 5")
    check_scale(page, 64)


def test_the_size_is_set_by_keyboard_alone_and_other_vectors_drawn(show):
    page = show(alive("scale"), motion="reduce")
    assert said(page).startswith("With 64 features"), "it begins where the two sides differ"
    press(page, "Tab", "End", "ArrowLeft")
    slider = page.get_by_role("slider", name="Features d")
    assert slider.get_attribute("aria-valuetext") == "32"
    check_scale(page, 32)
    page.get_by_role("slider").focus()
    press(page, "Tab", "Enter")
    check_scale(page, 32, draw=1)


def test_weights_stay_numbers_where_exponentials_overflow(show):
    query, key = torch.tensor([[30.0, 30.0]]), torch.zeros(1, 2, 2)
    key[0, 0] = 30
    page = show(interactive.scale(query, key, alt="Two weights.").to_html())
    _, rows = numbers(page)
    assert [row[1] for row in rows.values()] == ["1.000", "0.000", "1.000", "0.000"]
