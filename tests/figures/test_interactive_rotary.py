"""Rotary positions to drag: arrows, products and score are those of the rotated vectors."""

import re

import browser
import examples
import pytest
import torch
from examples import STRANGE, TURNED, alive, close, fits, numbers, press, said, swipe

from attnbook.figures import interactive
from attnbook.positions import rotary

browser.skip_without()
show = examples.show

LAST = len(STRANGE) - 1
TURNS = """() => document.querySelector("[label]").turned.join() !== "1,1" """  # at first sight


def turned(p, r):
    """The query at place p and the key at place r, in pairs: (two, pairs, 2)."""
    vectors = torch.zeros(2, 12, dtype=torch.float64)
    vectors[:, :6] = TURNED
    at = [rotary(x[None], start=place)[0, :6] for x, place in zip(vectors, (p, r), strict=True)]
    return torch.stack(at).view(2, 3, 2)


def parts(p, r):
    return turned(p, r).prod(dim=0).sum(dim=-1)


def slider(page, name):
    return page.locator(f'input[name="{name}"]')


def place(page, p, r):
    """Bring the query and the key to their places; r < p."""
    slider(page, "key").fill("0")
    slider(page, "query").fill(str(p))
    slider(page, "key").fill(str(r))


def tips(group):
    """Where the arrows of the query and of the key end, upwards."""
    heads = group.locator(".head").evaluate_all("a => a.map(e => e.getAttribute('d'))")
    ends = [re.match(r"M([-\d.e]+),([-\d.e]+)", head).groups() for head in heads]
    return torch.tensor([[*map(float, end)] for end in ends]).double() * torch.tensor([1, -1])


def texts(page, selector):
    return [text.replace("−", "-") for text in page.locator(selector).all_text_contents()]


@pytest.mark.parametrize(("p", "r"), [(5, 2), (LAST, 0), (1, 0), (LAST, LAST - 1)])
def test_arrows_products_and_score_are_those_of_the_rotated_vectors(show, p, r):
    page = show(alive("rotary"), motion="reduce")
    place(page, p, r)
    right = turned(p, r)
    for pair in range(3):
        shown = tips(page.locator(".dial").nth(pair))
        unit = shown[0].norm() / right[0, pair].norm()
        assert close(shown / unit, right[:, pair])
    shown = tips(page.locator(".plane"))
    assert close(shown / shown[0].norm() * right[0, 1].norm(), right[:, 1])
    assert texts(page, ".part") == [f"{part:.2f}" for part in parts(p, r)]
    assert texts(page, ".large") == [f"{parts(p, r).sum():.2f}"]
    _, rows = numbers(page)
    assert list(rows) == ["fast", "middle", "slow", "score"]
    assert [row[-1].replace("−", "-") for row in rows.values()] == [
        f"{number:.3f}" for number in (*parts(p, r), parts(p, r).sum())
    ]


def test_moving_both_turns_every_arrow_and_changes_no_product(show):
    page = show(alive("rotary"), motion="reduce")
    before, tip = texts(page, ".part"), tips(page.locator(".plane"))
    slider(page, "both").focus()
    press(page, "ArrowRight", "ArrowRight")
    assert texts(page, ".part") == before
    stays = f"Move both words: the score stays {parts(5, 2).sum():.2f}"
    assert texts(page, ".title") == [stays]
    assert (tips(page.locator(".plane")) - tip).norm(dim=-1).min() > 10
    assert close(tips(page.locator(".plane")).norm(dim=-1), tip.norm(dim=-1))
    assert page.get_by_text("the same", exact=True).count() == 1
    assert page.locator(".wedge.old").count() == 1  # as wide as the new one
    assert said(page).startswith("Both words moved by 2 places.")
    assert said(page).endswith(f"The score is still {parts(5, 2).sum():.2f}.".replace("-", "−"))
    slider(page, "query").focus()
    press(page, "ArrowLeft")
    assert texts(page, ".part") != before and texts(page, ".title") != [stays]
    assert page.locator(".wedge.old").count() == 0
    assert said(page).startswith("“its” is 2 places after “cat”, no longer 3.")
    was, now = (f"{parts(*at).sum():.2f}".replace("-", "−") for at in ((5, 2), (6, 4)))
    assert said(page).endswith(f"from {was} to {now}.")
    press(page, "ArrowRight")
    assert said(page).startswith("“its” is 3 places after “cat”.")


def test_each_word_is_at_the_tip_of_its_arrow_or_beside_it(show):
    page = show(alive("rotary"), motion="reduce")
    for at in ((5, 2), (8, 1), (3, 2)):
        place(page, *at)
        arrows = tips(page.locator(".plane"))
        words = page.locator(".plane .tip")
        assert words.all_text_contents() == ["its", "cat"]
        for word, tip in zip(words.all(), arrows, strict=True):
            x, y = (float(word.get_attribute(name)) for name in ("x", "y"))
            assert 10 < (torch.tensor([x, 6 - y]) - tip).norm() < 70


def seats(page):
    """The words from left to right."""
    words = page.locator(".word").evaluate_all(
        "all => all.map(e => [Number(e.getAttribute('x')), e.textContent])"
    )
    return [word for _, word in sorted(words)]


def test_words_make_room_and_the_key_stays_before_its_query(show):
    page = show(alive("rotary"), motion="reduce")
    assert seats(page) == STRANGE
    place(page, 7, 4)
    others = [word for word in STRANGE if word not in ("its", "cat")]
    assert seats(page) == [*others[:4], "cat", *others[4:6], "its", others[6]]
    slider(page, "key").fill(str(LAST))
    assert slider(page, "key").input_value() == "6"
    slider(page, "query").fill("0")
    assert slider(page, "query").get_attribute("aria-valuetext") == "place 7, 1 place apart"


def middle(page, selector):
    box = page.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.parametrize("width", [800, 390])
def test_words_and_bar_are_dragged_by_mouse_and_finger(show, width):
    page = show(alive("rotary"), width=width)
    page.wait_for_function(TURNS)
    page.wait_for_function(f"!({TURNS})()")
    assert fits(page)
    stops = page.locator(".place").evaluate_all("all => all.map(e => Number(e.getAttribute('x')))")
    step = stops[1] - stops[0]
    for selector, steps, now in (
        ("rect.query", 2, (7, 2)),
        ("rect.key", -1, (7, 1)),
        ("rect.bar", 1, (8, 2)),
    ):
        x, y = middle(page, selector)
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + steps * step, y, steps=6)
        page.mouse.up()
        assert [slider(page, name).input_value() for name in ("query", "key")] == [*map(str, now)]
        page.wait_for_timeout(350)  # words and bar glide
    swipe(page, middle(page, "rect.bar"), (-2 * step, 0))
    assert [slider(page, name).input_value() for name in ("query", "key")] == ["6", "0"]
    page.wait_for_timeout(350)
    assert texts(page, ".large") == [f"{parts(6, 0).sum():.2f}"]
    assert page.trouble == []


def test_a_press_enlarges_a_pair_and_fast_ones_may_complete_turns(show):
    page = show(alive("rotary"), motion="reduce")
    place(page, 8, 1)
    height = page.locator("svg").first.bounding_box()["height"]
    for pair, name in ((0, "fast"), (2, "slow"), (1, "middle")):
        button = page.get_by_role("button", name=f"Enlarge the {name} pair")
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        assert page.locator('[aria-pressed="true"]').count() == 1
        right = turned(8, 1)[:, pair]
        shown = tips(page.locator(".plane"))
        assert close(shown / shown[0].norm() * right[0].norm(), right)
        assert page.get_by_text(f"the {name} pair: ").count() == 1
        assert said(page).startswith(f"This is the {name} pair. q and k are 7 places apart")
        assert page.locator("svg").first.bounding_box()["height"] == height
    page.get_by_role("button", name="Enlarge the fast pair").press("Enter")
    way = page.locator(".way.query").get_attribute("d")
    assert way.count("M") == 2  # one turn of 360°, and 98° of the next


def test_when_played_both_words_move_on_and_the_score_stays(show):
    page = show(alive("rotary"), motion="reduce")
    before, score = texts(page, ".part"), texts(page, ".large")
    page.get_by_role("button", name="next place").click()
    assert [slider(page, name).input_value() for name in ("query", "key")] == ["6", "3"]
    page.get_by_role("button", name="play").click()
    page.get_by_role("button", name="play").wait_for(timeout=5000)  # it has stopped by itself
    assert [slider(page, name).input_value() for name in ("query", "key")] == ["8", "5"]
    assert (texts(page, ".part"), texts(page, ".large")) == (before, score)
    assert said(page).startswith("Both words moved by 1 place.")
    assert page.get_by_role("button", name="next place").get_attribute("aria-disabled") == "true"
    slider(page, "key").fill("2")
    page.get_by_role("button", name="← back").click()
    assert [slider(page, name).input_value() for name in ("query", "key")] == ["7", "1"]


def test_at_first_sight_the_query_rotates_to_its_place_and_then_the_key(show):
    page = show(alive("rotary"))
    right = turned(5, 2)[:, 1]
    page.wait_for_function(TURNS)
    early = tips(page.locator(".plane"))
    assert not close(early / early[0].norm() * right[0].norm(), right)
    page.wait_for_function(f"!({TURNS})()")
    shown = tips(page.locator(".plane"))
    assert close(shown / shown[0].norm() * right[0].norm(), right)
    assert texts(page, ".large") == [f"{parts(5, 2).sum():.2f}"]


def test_the_bar_can_not_leave_the_row(show):
    tokens = ["the", "cat", "its"]
    page = show(interactive.rotary(*TURNED, tokens=tokens, asks=2, found=0, d_features=6, alt="")
                .to_html())  # fmt: skip
    both = slider(page, "both")
    both.press("End")
    assert both.input_value() == "0" and both.get_attribute("max") == "0"
    assert seats(page) == tokens
