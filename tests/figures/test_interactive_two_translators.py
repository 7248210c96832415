"""Two translators in a page: they are those in PyTorch, and readers see which of them is right."""

import html
import random

import browser
import examples
import pytest
import torch
from examples import alive, close, fits, percent, ribbons, said
from playwright.sync_api import expect

from attnbook import figure_assets
from attnbook.figures import interactive
from attnbook.figures.interactive.two_translators import FAINT, STEPS
from attnbook.two_translators import DESIGNS, draw, load, looks, measured, translate

browser.skip_without()
show = examples.show
DRAWN = [draw(random.Random(f"page {i}"), held_out=True) for i in range(200)]
ONE, LOOKING = DESIGNS


def verdicts(page):
    return page.locator(".verdict").all_inner_texts()


def opened(show, **options):
    return show(alive("two_translators"), **{"motion": "reduce"} | options)


def test_each_translator_in_the_page_writes_what_it_writes_in_pytorch(show):
    page = opened(show)
    for design, model in load().items():
        found = page.evaluate(
            """([design, numbers]) => numbers.map((number) =>
                 document.querySelector("[label]").write(design, number).texts)""",
            [design, DRAWN],
        )
        assert found == translate(model, DRAWN)


def test_the_looks_in_the_page_are_the_weights_of_pytorch(show):
    page = opened(show)
    for number in (47, 4321, DRAWN[0]):
        (written,) = translate(load()[LOOKING], [number])
        expected = looks(load()[LOOKING], number, written)
        found = page.evaluate(
            "n => document.querySelector('[label]').write('looking_back', n).looks", number
        )
        for ours, theirs in zip(found, expected, strict=True):
            assert ours == pytest.approx(theirs, abs=1e-4)


def test_a_longer_number_breaks_the_translator_with_one_vector_and_not_the_other(show):
    page = opened(show)
    rights = []
    for step in STEPS:
        page.get_by_role("button", name=f"{step:,}", exact=True).click()
        rights.append([verdict == "✓ right" for verdict in verdicts(page)])
    assert rights[:3] == [[True, True]] * 3
    assert rights[-1] == [False, True]
    assert page.locator(".one_vector .wrong, .one_vector .missing").count() > 0
    lines = page.locator(".one_vector path").evaluate_all(
        "all => all.map(e => getComputedStyle(e)).map(s => s.fill + s.strokeWidth)"
    )
    assert len(lines) > 5 and {*lines} == {"none2px"}  # nothing is weighted
    assert page.locator(".looking_back").locator(".wrong, .missing").count() == 0
    five = [measured()[design][4] for design in (ONE, LOOKING)]
    assert f"the first gets {five[0]} right, and the second gets {five[1]}" in said(page)


def test_the_share_of_right_numbers_is_the_largest_text_beside_each_translator(show):
    for width in (1000, 390):
        page = opened(show, width=width)
        for digits, step in enumerate(STEPS):
            page.get_by_role("button", name=f"{step:,}", exact=True).click()
            tested = measured()["tested"][digits]
            right = [measured()[design][digits] for design in DESIGNS]
            rates = page.locator(".rate b")
            assert rates.all_inner_texts() == [percent(count / tested) for count in right]
            names = ("one digit", "two digits", "three digits", "four digits", "five digits")
            assert {*page.locator(".rate span").all_inner_texts()} == {
                f"right, with {names[digits]}"
            }
            sizes = page.locator(".about *").evaluate_all(
                "all => all.map(e => [parseFloat(getComputedStyle(e).fontSize), e.localName])"
            )
            largest = max(size for size, _ in sizes)
            assert largest >= 25 and {name for size, name in sizes if size == largest} == {"b"}
            assert page.locator(".shares .on").all_text_contents() == [f"{digits + 1}"] * 2


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_both_pictures_follow_the_numbers_and_the_rest_comes_below(show, width):
    page = opened(show, width=width)
    panels = [panel.bounding_box() for panel in page.locator(".panel").all()]
    numbers = page.locator(".steps").bounding_box()
    assert numbers["y"] + numbers["height"] <= panels[0]["y"]
    below = panels[1]["y"] + panels[1]["height"]
    assert below - numbers["y"] < (510 if width == 390 else 560)
    assert page.locator("form").bounding_box()["y"] >= below
    assert fits(page)


def test_a_number_is_typed_and_what_cannot_be_translated_is_said(show):
    page = opened(show)
    field = page.get_by_label("or your own")
    for typed, told in (
        ("", "Type a number"),
        ("cat", "in digits"),
        ("-3", "in digits"),
        ("1000000", "below 1,000,000"),
    ):
        field.fill(typed)
        page.keyboard.press("Enter")
        assert told in page.locator("[role=alert]").inner_text()
        assert "still shows 54,321" in page.locator("[role=alert]").inner_text()
        assert field.get_attribute("aria-invalid") == "true"
    field.fill("4,321")
    page.get_by_role("button", name="Translate").click()
    assert page.locator("[role=alert]").inner_text() == ""
    assert field.get_attribute("aria-invalid") is None
    assert said(page).startswith("The translator with one vector gets 4,321 ")
    pressed = page.locator(".steps [aria-pressed=true]").all_inner_texts()
    assert pressed == ["4,321"]


def test_words_that_are_wrong_and_missing_are_marked(show):
    page = opened(show)
    marks = """([texts, wanted]) => {
      const figure = document.querySelector("[label]");
      figure.wanted = wanted;
      return figure.compare(texts).map(({ kind, text }) => `${kind} ${text}`);
    }"""
    wanted = ["cent", "vingt", "-deux"]
    for texts, expected in (
        (wanted, ["right cent", "right vingt", "right -deux"]),
        (["cent", "-deux"], ["right cent", "missing vingt", "right -deux"]),
        (["cent", "dix", "-deux"], ["right cent", "wrong dix", "right -deux"]),
        ([*wanted, "mille"], ["right cent", "right vingt", "right -deux", "wrong mille"]),
        ([], ["missing cent", "missing vingt", "missing -deux"]),
    ):
        assert page.evaluate(marks, [texts, wanted]) == expected


def test_the_vector_fills_up_while_both_read_and_then_they_write(show):
    page = show(alive("two_translators"))
    moment = """time => {
      const figure = document.querySelector("[label]");
      figure.show(54321);  // eight tokens
      figure.at(time);
      const of = (selector) => [...figure.shadowRoot.querySelectorAll(selector)];
      const vectors = (panel) => of(`${panel} .vector`).map((vector) =>
        [...vector.children].map((bar) => Number(bar.style.getPropertyValue("--x"))));
      return [vectors(".one_vector")[0], vectors(".looking_back"),
        of(".one_vector .french .chip:not(.waiting)").length]; }"""
    empty, states, none = page.evaluate(moment, 0)
    assert not any(map(any, [empty, *states])) and none == 0
    half, states, none = page.evaluate(moment, 3)
    assert all(half) and none == 0
    full, all_states, some = page.evaluate(moment, 10)
    assert full != half and some == 2
    assert len(all_states) == 8 and all(map(all, all_states))
    for j, (state, last) in enumerate(zip(states, all_states, strict=True)):
        left, right = last[:8], last[8:]  # of the GRU that reads from the left, and of the other
        assert state == [*(left if j < 3 else [0] * 8), *(right if j >= 5 else [0] * 8)]
    assert page.evaluate(moment, 99)[:2] == [full, all_states]


def test_ribbons_are_as_wide_as_the_weights(show):
    page = opened(show)
    (written,) = translate(load()[LOOKING], [54_321])
    steps = page.locator(".looking_back path").evaluate_all("all => all.map(path => path.step)")
    widths, _ = ribbons(page, ".looking_back path")
    weights = torch.tensor(looks(load()[LOOKING], 54_321, written)).double()
    drawn = weights > FAINT
    assert steps == drawn.nonzero()[:, 0].tolist()
    assert close(widths / widths[0], weights[drawn] / weights[drawn][0])


def test_the_result_is_there_at_once_and_a_button_shows_how_it_is_written(show):
    page = show(alive("two_translators"))
    waiting = page.locator(".french .waiting")
    expect(waiting).to_have_count(0)
    assert page.locator(".steps [aria-pressed=true]").inner_text() == "54,321"
    assert verdicts(page) == ["✗ predicts 21,321", "✓ right"]
    result = said(page)
    page.get_by_role("button", name="Watch them write").click()
    button = page.get_by_role("button", name="Stop")
    expect(button).to_be_visible()
    assert waiting.count() > 0 and said(page).startswith("Both read the number")
    assert verdicts(page) == ["reads …"] * 2
    shown = page.locator(".french .chip").evaluate_all(
        "all => all.every(e => e.offsetHeight > 0 && getComputedStyle(e).visibility === 'visible')"
    )
    assert shown, "the places of what is not yet written are kept"
    expect(page.locator(".said")).to_contain_text("Both write token by token", timeout=10_000)
    button.click()
    expect(waiting).to_have_count(0)
    assert said(page) == result
    page.get_by_role("button", name="21", exact=True).click()
    watch = page.get_by_role("button", name="Watch them write")
    watch.click()
    expect(button).to_be_visible()
    expect(watch).to_be_visible(timeout=10_000)
    assert verdicts(page) == ["✓ right", "✓ right"] and waiting.count() == 0


@pytest.mark.parametrize("width", [1000, 800, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_it_fits(show, width, scheme):
    body = f"<h1>Two</h1>{alive('two_translators')}"
    page = show(body, width=width, scheme=scheme, motion="reduce")
    assert browser.violations(page) == []
    assert fits(page)
    page.get_by_label("or your own").fill("cat")
    page.keyboard.press("Enter")
    assert browser.violations(page) == []


def test_the_figure_is_small():
    data = figure_assets.script("pair_data")
    assert len(data) < 30_000, "weights of both translators, in base64"


def test_numbers_that_the_translators_do_not_know_are_refused():
    for number in (-1, 10**6):
        with pytest.raises(ValueError, match=f"got {number}"):
            interactive.two_translators(number)


def test_it_works_in_a_sandboxed_frame(show):
    page = show(
        f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(alive("two_translators"))}">'
    )
    frame = page.frame_locator("iframe")
    expect(frame.locator(".verdict:is(.good, .bad)")).to_have_count(2)
