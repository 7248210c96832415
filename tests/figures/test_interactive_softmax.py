"""Scores are dragged, moved together and multiplied: all numbers and lengths are PyTorch's."""

import re

import browser
import examples
import pytest
import torch
from examples import alive, close, column, number, numbers, press, said, swipe

browser.skip_without()
show = examples.show
SCORES = torch.tensor([3.0, 1.5, 0.5], dtype=torch.float64).log()


def handle(page, word):
    return page.get_by_role("slider", name=f"Score of {word}")


def multiply(page, factor):
    slider = page.locator("input[type=range]")
    for place in range(16):
        slider.fill(str(place))
        if slider.get_attribute("aria-valuetext") == f"scores × {factor}":
            return
    raise AssertionError(f"no factor {factor}")


def widths(page, selector):
    found = page.locator(selector).evaluate_all("all => all.map(e => +e.getAttribute('width'))")
    return torch.tensor(found).double()


def heights(page):
    found = page.locator(".part").evaluate_all("all => all.map(e => +e.getAttribute('height'))")
    return torch.tensor(found).double()


def check_softmax(page, scores, factor=1.0):
    """Table, bars and pieces are those of these scores."""
    weights = (factor * scores).softmax(dim=0)
    assert close(column(page, "score"), scores)
    _, rows = numbers(page)
    *shown, whole = [row[3] for row in rows.values()]
    found = [number(re.sub("·10.+", "e-5", text)) for text in shown]  # or less
    assert close(torch.tensor(found), weights) and whole == "1.000"
    if factor:
        plain = scores / scores.sum()
        assert close(column(page, "score ÷ sum"), plain)
        outside = (plain < 0).logical_or(plain > 1).sum()
        assert page.locator(".outside").count() == outside
    parts, pieces = heights(page), widths(page, ".piece")
    torch.testing.assert_close(parts / parts.sum(), weights, rtol=0, atol=2e-3)
    torch.testing.assert_close(pieces / pieces.sum(), weights, rtol=0, atol=1e-2)


def test_a_score_is_dragged_up_and_takes_from_all_others_in_the_same_proportion(show):
    page = show(alive("softmax"))
    check_softmax(page, SCORES)
    box = handle(page, "cat").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 20, steps=4)
    page.mouse.up()
    page.mouse.move(x, y + 60)
    now = column(page, "score")
    assert now[0] > SCORES[0] + 0.5 and close(now[1:], SCORES[1:])
    check_softmax(page, SCORES + torch.tensor([(now - SCORES)[0].round(decimals=1), 0, 0]))
    by = (now.softmax(0) / SCORES.softmax(0))[1:]
    assert close(by[:1], by[1:])
    assert page.locator(".change").all_text_contents()[1:] == [f"× {by[0]:.2f}"] * 2
    assert said(page) == (
        f"Raising cat takes weight from <i> and drank in the same proportion: both × {by[0]:.2f}."
    )


def test_a_number_added_to_all_scores_changes_no_weight(show):
    page = show(alive("softmax"))
    add, subtract = (page.get_by_role("button", name=name) for name in ("Add 1", "Subtract 1"))
    before, bars = widths(page, ".piece"), heights(page)
    add.click()
    page.get_by_text("is multiplied by 2.72").wait_for()  # the scores take a moment to rise
    check_softmax(page, SCORES + 1)
    assert torch.equal(widths(page, ".piece"), before)
    torch.testing.assert_close(heights(page) / bars, torch.full((3,), torch.e).double())
    assert page.locator(".change").all_text_contents() == ["same"] * 3
    assert said(page).endswith("So no weight changes.")
    add.click()
    add.press("Enter")  # would leave the track
    page.wait_for_timeout(600)
    check_softmax(page, SCORES + 2)
    assert add.get_attribute("aria-disabled") == "true"
    page.emulate_media(reduced_motion="reduce")
    subtract.click()
    check_softmax(page, SCORES + 1)
    assert "is divided by 2.72" in said(page)


def test_the_factor_leads_from_even_weights_to_one_winner(show):
    page = show(alive("softmax"), motion="reduce")
    for factor, best in (("0", 1 / 3), ("0.5", 0), ("2", 0), ("5", 0)):
        multiply(page, factor)
        check_softmax(page, SCORES, float(factor))
        if best:
            assert "T = ∞" in said(page) and said(page).endswith("the weights are even.")
            assert (
                page.locator(".outside").all_text_contents() == ["none"] * 3
            )  # no sum to divide by
    assert "cat has 0.97 of the weight" in said(page)
    multiply(page, "2")
    assert said(page).endswith("each ratio of two weights is squared.")


@pytest.mark.parametrize("key", ["Home", "End"])
def test_keys_move_a_score_and_no_weight_is_shown_as_nothing(show, key):
    page = show(alive("softmax"), motion="reduce")
    numbers(page)
    handle(page, "drank").focus()
    press(page, "ArrowUp", "ArrowUp", "ArrowDown", "PageUp")
    moved = SCORES + torch.tensor([0, 0, 1.1])
    check_softmax(page, moved)
    assert handle(page, "drank").get_attribute("aria-valuetext").startswith("0.41, weight 0.")
    handle(page, "drank").focus()
    press(page, key)
    moved[2] = -4 if key == "Home" else 4
    multiply(page, "5")
    check_softmax(page, moved, 5)
    shown = page.locator(".share").all_text_contents()
    assert [text.endswith("> 0".replace(" ", "\N{NO-BREAK SPACE}")) for text in shown] == [
        weight < 0.005 for weight in (5 * moved).softmax(dim=0)
    ]


def test_a_finger_moves_the_score_and_beside_it_the_page_scrolls(show):
    page = show(alive("softmax") + "<p style='height: 2000px'>", width=390)
    box = handle(page, "drank").bounding_box()
    assert min(box["width"], box["height"]) >= 44
    swipe(page, (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2), (0, -30))
    assert page.evaluate("scrollY") == 0
    assert float(handle(page, "drank").get_attribute("aria-valuenow")) > 0.5
    whole = page.locator(".piece").first.bounding_box()
    swipe(page, (whole["x"] + 20, whole["y"] + 10), (0, -150))
    page.wait_for_function("scrollY > 20")


@pytest.mark.parametrize("width", [880, 358])
def test_names_of_pieces_never_overlap_and_stay_inside(show, width):
    wide = "<style>:root { --figure-width: none; }</style>"
    page = show(wide + alive("softmax"), width=width, motion="reduce")
    frame = page.locator(".frame").bounding_box()
    for word in ("cat", "<i>", "drank"):
        for key in ("End", "Home"):
            for factor in ("5", "1"):
                handle(page, word).press(key)
                multiply(page, factor)
                boxes = [one.bounding_box() for one in page.locator(".share:not(.in)").all()]
                ends = [frame["x"], *(box["x"] + box["width"] for box in boxes)]
                for end, box in zip(ends, boxes, strict=False):
                    assert box["x"] > end, (word, key, factor)
                assert ends[-1] < frame["x"] + frame["width"]
                for one, piece in zip(
                    page.locator(".share").all(), page.locator(".piece").all(), strict=True
                ):
                    if "in" in one.get_attribute("class").split():
                        box, room = one.bounding_box(), piece.bounding_box()
                        assert room["x"] < box["x"], (word, key, factor)
                        assert box["x"] + box["width"] < room["x"] + room["width"]
