"""Scores are dragged, moved together and multiplied, by five rules: all numbers are PyTorch's."""

import re

import browser
import examples
import pytest
import torch
from examples import alive, close, column, number, numbers, press, said, swipe

browser.skip_without()
show = examples.show
SCORES = torch.tensor([3.0, 1.5, 0.5], dtype=torch.float64).log()
RULES = {
    "softmax": torch.exp,
    "scores": lambda s: s,
    "squares": torch.square,
    "ReLU": torch.relu,
    "sigmoid": torch.sigmoid,
}


def handle(page, word):
    return page.get_by_role("slider", name=f"Score of {word}")


def multiply(page, factor):
    slider = page.locator("input[type=range]")
    for place in range(16):
        slider.fill(str(place))
        if slider.get_attribute("aria-valuetext") == f"× {factor}":
            return
    raise AssertionError(f"no factor {factor}")


def widths(page, selector):
    found = page.locator(selector).evaluate_all("all => all.map(e => +e.getAttribute('width'))")
    return torch.tensor(found).double()


def heights(page):
    found = page.locator(".part").evaluate_all("all => all.map(e => +e.getAttribute('height'))")
    return torch.tensor(found).double()


def check(page, scores, factor=1.0, rule="softmax"):
    """Table, curve, bars and pieces are those of these scores."""
    expected = RULES[rule](factor * scores)
    weights = expected / expected.sum()
    assert close(column(page, "score"), scores)
    _, rows = numbers(page)
    *shown, whole = [row[3] for row in rows.values()]
    found = [number(re.sub("·10.+", "e-5", text)) for text in shown]  # or less
    assert close(torch.tensor(found), weights) and whole == "1.000"
    outside = int(((weights < 0) | (weights > 1)).sum())
    assert page.locator(".part.outside").count() == (expected < 0).sum()
    assert page.locator(".share.outside").count() == outside
    parts, pieces = heights(page), widths(page, ".piece")
    torch.testing.assert_close(parts / parts.sum(), weights.abs() / weights.abs().sum(), rtol=0,
                               atol=2e-3)  # fmt: skip
    torch.testing.assert_close(pieces / pieces.sum(), weights.abs() / weights.abs().sum(), rtol=0,
                               atol=1e-2)  # fmt: skip
    # a bar is read off the curve, which is drawn by points
    dots = page.locator(".dot").evaluate_all("all => all.map(e => [+e.getAttribute('cx'), "
                                             "+e.getAttribute('cy')])")  # fmt: skip
    curve = page.locator(".curve").get_attribute("d")
    points = torch.tensor([float(n) for n in re.findall(r"-?[\d.]+", curve)]).view(-1, 2)
    for (x, y), part in zip(dots, page.locator(".part").all(), strict=True):
        assert (points - torch.tensor([x, y])).norm(dim=-1).min() < 5
        end = 0 if part.evaluate("e => e.classList.contains('outside')") else None
        top, high = (float(part.get_attribute(name)) for name in ("y", "height"))
        assert abs(top + (high if end == 0 else 0) - y) < 0.1


def test_a_score_is_dragged_up_and_takes_from_all_others_in_the_same_proportion(show):
    page = show(alive("softmax"))
    check(page, SCORES)
    box = handle(page, "cat").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y, steps=4)
    page.mouse.up()
    page.mouse.move(x - 60, y)
    now = column(page, "score")
    assert now[0] > SCORES[0] + 0.5 and close(now[1:], SCORES[1:])
    check(page, SCORES + torch.tensor([(now - SCORES)[0].round(decimals=1), 0, 0]))
    by = (now.softmax(0) / SCORES.softmax(0))[1:]
    assert close(by[:1], by[1:])
    assert page.locator(".change").all_text_contents()[1:] == [f"× {by[0]:.2f}"] * 2
    assert said(page) == (
        f"Raising cat takes weight from <i> and drank in the same proportion: both × {by[0]:.2f}."
    )


def test_weights_of_which_one_is_negative_are_multiplied_not_taken_from(show):
    page = show(alive("softmax"), motion="reduce")
    page.get_by_role("button", name="scores").click()
    handle(page, "cat").press("PageUp")
    by = SCORES.sum() / (SCORES.sum() + 1)
    assert said(page) == f"Raising cat multiplies every other weight by {by:.2f}."


def test_a_number_added_to_all_scores_changes_no_weight(show):
    page = show(alive("softmax"))
    add, subtract = (page.get_by_role("button", name=name) for name in ("Add 1", "Subtract 1"))
    before = widths(page, ".piece")
    add.click()
    page.get_by_text("is multiplied by 2.72").wait_for()  # the scores take a moment to rise
    check(page, SCORES + 1)
    assert torch.equal(widths(page, ".piece"), before)
    assert page.locator(".change").all_text_contents() == ["same"] * 3
    assert said(page).endswith("So no weight changes.")
    add.click()
    add.press("Enter")  # would leave the track
    page.wait_for_timeout(800)
    check(page, SCORES + 2)
    assert add.get_attribute("aria-disabled") == "true"
    page.emulate_media(reduced_motion="reduce")
    subtract.click()
    check(page, SCORES + 1)
    assert "is divided by 2.72" in said(page)


def test_the_factor_leads_from_even_weights_to_one_winner(show):
    page = show(alive("softmax"), motion="reduce")
    for factor in ("0", "0.5", "2", "5"):
        multiply(page, factor)
        check(page, SCORES, float(factor))
        if factor == "0":
            assert "T = ∞" in said(page) and said(page).endswith("the weights are even.")
    assert "cat has 0.97 of the weight" in said(page)
    multiply(page, "1")
    page.get_by_role("button", name="Double all").click()
    check(page, SCORES, 2)
    assert said(page).endswith("each ratio of two weights is squared.")


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_has_its_curve_and_softmax_alone_keeps_its_weights_if_1_is_added(show, rule):
    page = show(alive("softmax"), motion="reduce")
    page.get_by_role("button", name=rule).click()
    check(page, SCORES, rule=rule)
    page.get_by_role("button", name="Add 1").click()
    check(page, SCORES + 1, rule=rule)
    assert (page.locator(".change").all_text_contents() == ["same"] * 3) == (rule == "softmax")
    page.get_by_role("button", name="Subtract 1").click()
    page.get_by_role("button", name="Double all").click()
    check(page, SCORES, 2, rule)
    grows = rule in ("softmax", "sigmoid")
    assert ("no weight changes" in said(page)) != grows
    assert (page.locator(".change").all_text_contents()[0] == "same") != grows


def test_a_factor_that_comes_back_says_nothing_about_the_rule(show):
    page = show(alive("softmax"), motion="reduce")
    page.get_by_role("button", name="sigmoid").click()
    for factor in ("0", "1"):
        multiply(page, factor)
    assert said(page) == "The scores are as they were, and so is every weight."


def test_scores_that_sum_to_nothing_have_no_weights(show):
    page = show(alive("softmax"), motion="reduce")
    multiply(page, "0")
    for rule in ("scores", "squares", "ReLU"):
        page.get_by_role("button", name=rule).click()
        assert page.locator(".piece").count() == 0 and "gives no weights" in said(page)
        assert "none" in handle(page, "cat").get_attribute("aria-valuetext")


def test_it_reads_the_bars_off_the_curve_once_unless_nothing_may_move(show):
    page = show(alive("softmax"))
    page.locator(".reading").wait_for()
    handle(page, "cat").press("ArrowUp")
    assert page.locator(".reading").count() == 0
    page = show(alive("softmax"), motion="reduce")
    page.wait_for_timeout(100)
    assert page.locator(".reading").count() == 0


@pytest.mark.parametrize("key", ["Home", "End"])
def test_keys_move_a_score_and_no_weight_is_shown_as_nothing(show, key):
    page = show(alive("softmax"), motion="reduce")
    numbers(page)
    handle(page, "drank").focus()
    press(page, "ArrowUp", "ArrowUp", "ArrowDown", "PageUp")
    moved = SCORES + torch.tensor([0, 0, 1.1])
    check(page, moved)
    assert handle(page, "drank").get_attribute("aria-valuetext").startswith("0.41, weight 0.")
    handle(page, "drank").focus()
    press(page, key)
    moved[2] = -4 if key == "Home" else 4
    multiply(page, "5")
    check(page, moved, 5)
    shown = page.locator(".share").all_text_contents()
    assert [text.endswith("> 0".replace(" ", "\N{NO-BREAK SPACE}")) for text in shown] == [
        weight < 0.005 for weight in (5 * moved).softmax(dim=0)
    ]


def test_a_finger_moves_the_score_and_beside_it_the_page_scrolls(show):
    page = show(alive("softmax") + "<p style='height: 2000px'>", width=390)
    box = handle(page, "drank").bounding_box()
    assert min(box["width"], box["height"]) >= 44
    swipe(page, (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2), (30, -30))
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
