"""Scores of more and more features, divided or not: weights and gradients are PyTorch's."""

import browser
import examples
import pytest
import torch
from examples import KEY, QUERY, alive, close, numbers, press, said

from attnbook.figures import interactive

browser.skip_without()
show = examples.show


def verdict(largest, jacobian):
    if jacobian < 0.01:
        return "has all the weight"
    return (
        "nearly all"
        if largest >= 0.95
        else "most of the weight"
        if largest >= 0.6
        else "share the weight"
    )


# where each part is on its line, from -1 to 1
PLACES = "all => all.map(part => parseFloat(part.style.left) / 50 - 1)"
# where each line between a dot and a bar begins and ends, in percent of the room of the dots
JOINED = [
    f"all => all.map(join => Number(join.getAttribute('d').match(/[-\\d.e]+/g)[{n}]))"
    for n in (0, 2)
]


def farthest(scores):
    """How far from 0 scores (draws, keys, sizes) get, if each best one may rise by 1."""
    return (scores.abs() + (scores == scores.amax(dim=1, keepdim=True))).max()


def check_scale(page, d, draw=0):
    """All that is shown is what PyTorch computes from the first d features."""
    scores = (KEY[draw, :, :d] @ QUERY[draw, :d]).double()
    _, rows = numbers(page)
    sizes = torch.tensor([2**n for n in range(1, 7)])
    all_scores = (KEY * QUERY[:, None]).cumsum(-1)[..., sizes - 1]
    reach = farthest(all_scores)  # of all sizes and draws: the axis never changes
    zoom = (reach / farthest(all_scores / sizes.sqrt())).floor()
    assert zoom > 1 and f"zoomed in {zoom:.0f} times" == page.locator(".long").nth(3).text_content()
    seen = []
    for side, divided in enumerate((scores, scores / d**0.5)):
        weights = divided.softmax(dim=-1)
        jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(dim=-1), divided).norm()
        *keys, largest, size = [row[2 * side : 2 * side + 2] for row in rows.values()]
        shown = torch.tensor([[float(t.replace("−", "-")) for t in row] for row in keys])
        assert close(shown[:, 0], divided) and close(shown[:, 1], weights)
        assert (largest[1], size[1]) == (f"{weights.max():.3f}", f"{jacobian:.3f}")
        column = page.locator(".sides > div").nth(side)
        heights = column.locator(".share").evaluate_all(
            "all => all.map(bar => parseFloat(bar.style.height) / 100)"
        )
        assert close(torch.tensor(heights), weights.sort().values)  # as their scores are sorted
        for line, ends in enumerate([[reach], [reach, reach / zoom]][side]):
            found = column.locator(".line").nth(line)
            places = found.locator(".score").evaluate_all(PLACES)
            assert close(torch.tensor(places) * ends, divided.sort().values)
            texts, at = found.locator(".tick").all_text_contents(), found.locator(".tick")
            ticks = torch.tensor([*map(examples.number, texts)])
            assert close(torch.tensor(at.evaluate_all(PLACES)) * ends, ticks)
        assert column.locator(".share.best").get_attribute("data-weight") == f"{weights.max():.2f}"
        starts = column.locator(".join").evaluate_all(JOINED[0])
        assert close(torch.tensor(starts) / 50 - 1, torch.tensor(places))
        raised = divided.scatter_add(0, divided.argmax()[None], torch.ones(1).double())
        best = raised.softmax(dim=-1).max()
        moves = column.locator(".moves").text_content().split(": ")[-1]
        assert moves == f"{weights.max():.2f} → {best:.2f}"
        seen.append(verdict(weights.max(), jacobian))
        assert seen[-1] in column.locator(".verdict").inner_text()
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
    assert seen >= {"share the weight", "most of the weight", "has all the weight"}


@pytest.mark.parametrize(("width", "named"), [(880, 5), (358, 3)])
def test_a_line_leads_from_each_dot_to_its_bar_and_the_axis_has_numbers(show, width, named):
    wide = "<style>:root { --figure-width: none; }</style>"  # as on the book's pages
    page = show(wide + alive("scale"), width=width, motion="reduce")
    middle = """all => all.map(e => {
        const { x, width } = e.getBoundingClientRect();
        return x + width / 2;
      })"""
    for side in range(2):
        column = page.locator(".sides > div").nth(side)
        room = column.locator(".fan").bounding_box()
        dots = column.locator(".line").last.locator(".score")
        for ends, parts in zip(JOINED, (dots, column.locator(".share")), strict=True):
            shares = torch.tensor(column.locator(".join").evaluate_all(ends)) / 100
            found = torch.tensor(parts.evaluate_all(middle))
            assert (room["x"] + shares * room["width"] - found).abs().max() < 1, parts
        for line in column.locator(".line").all():
            texts = line.locator(".tick").filter(visible=True).all_inner_texts()
            numbers_shown = [examples.number(text) for text in texts]
            assert len(texts) == named and 0 in numbers_shown
            assert numbers_shown == [-number for number in reversed(numbers_shown)]
        label, best = [
            column.locator(part).last.bounding_box() for part in (".label", ".score.best")
        ]
        assert label["y"] < best["y"]
        assert label["x"] < best["x"] + best["width"] / 2 < label["x"] + label["width"]
        line = column.locator(".moves").inner_text()
        words = "if the best score rises by 1, its weight" if width == 880 else "best + 1"
        assert line.rsplit(": ", 1)[0] == words
        assert column.locator(".moves").bounding_box()["height"] < 25  # one line
    assert examples.fits(page)


def test_a_raised_score_is_heard_where_scores_are_divided(show):
    page = show(alive("scale"), motion="reduce")
    page.get_by_role("slider").fill("5")
    page.get_by_role("button", name="Best score + 1").click()
    scores = (KEY[0] @ QUERY[0]).double().sort().values
    higher = scores / 8 + torch.tensor([0.0] * 7 + [1.0])
    right = page.locator(".sides > div").last
    for selector, expected in ((".share", higher), (".before", scores / 8)):
        found = right.locator(selector).evaluate_all(
            "all => all.map(e => parseFloat(e.style.height))"
        )
        assert close(torch.tensor(found) / 100, expected.softmax(dim=-1))
        assert right.locator(selector).last.is_visible()
    ends = [f"{weights.softmax(dim=-1).max():.2f}" for weights in (scores / 8, higher)]
    assert said(page).endswith(f"from {ends[0]} to {ends[1]} with the division.")
    page.get_by_role("button", name="Best score + 1").click()
    assert not right.locator(".before").last.is_visible()


def test_scores_leave_trails_from_size_to_size(show):
    page = show(alive("scale"), motion="reduce")
    page.get_by_role("slider").fill("5")
    trails = page.locator(".trail path").evaluate_all("all => all.map(e => e.getAttribute('d'))")
    sums = (KEY[0] * QUERY[0]).cumsum(-1)[:, [1, 3, 7, 15, 31, 63]].double()
    reach = farthest((KEY * QUERY[:, None]).cumsum(-1)[..., [1, 3, 7, 15, 31, 63]])
    for trail, row in zip(trails, sums[sums[:, -1].argsort()], strict=True):
        x = torch.tensor([float(point.split(",")[0]) for point in trail.split("L")[1:]])
        assert close((x / 50 - 1) * reach, row)


def test_the_size_is_set_by_keyboard_alone_and_other_vectors_drawn(show):
    page = show(alive("scale"), motion="reduce")
    assert said(page).startswith("With 16 features"), "it begins where the two sides differ"
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
