"""Words ask each other: a query is changed, a row is chosen, and all numbers are PyTorch's."""

import browser
import examples
import pytest
import torch
from examples import (
    ASKING,
    alive,
    close,
    column,
    fits,
    numbers,
    percent,
    press,
    ribbons,
    said,
    swipe,
    table_of,
)
from playwright.sync_api import expect

from attnbook.figures import interactive

browser.skip_without()
show = examples.show

QUERIES, KEYS, VALUES = (ASKING[name] for name in ("queries", "keys", "values"))
TERMS = VALUES.any(dim=1).nonzero().flatten().tolist()  # the words that have something to hand over


def weights_of(queries):
    return (queries @ KEYS.mT).double().softmax(dim=-1)


def check_query(page, query):
    """All that is shown is what PyTorch computes for the query of the word that asks."""
    query = torch.tensor(query)
    weights = weights_of(query)
    heading, rows = numbers(page)
    assert heading == ["fit", "weight", *ASKING["hands"]]
    assert close(column(page, "weight"), weights)
    mixture = torch.tensor([float(text) for text in rows["mixture"][2:]])
    assert close(mixture, weights @ VALUES.double())
    shown = page.locator(".shares").all_inner_texts()
    assert shown == [percent(weight) for weight in weights.tolist()]
    fits = KEYS @ query
    assert torch.equal(column(page, "fit"), fits)
    assert count(page, ".fit") == fits.tolist()
    told = page.locator(".fit:not(.label)").all_inner_texts()
    assert told == ["" if fit else "no fit" for fit in fits.tolist()]
    assert count(page, ".slots") == query.tolist()
    points = ", ".join(f"{name} {n}" for name, n in zip("abc", query.tolist(), strict=True))
    assert said(page).startswith(
        f"“cat” looks for {points}. It gives {percent(weights.max().item())}"
    )
    sliders = page.get_by_role("slider")
    assert sliders.evaluate_all("all => all.map(s => s.getAttribute('aria-valuetext'))") == [
        f"{n} of 6 points" for n in query.tolist()
    ]
    check_ribbons(page, ".ribbons path", weights, unit=56.25, least=0)
    handed = page.locator(".bar i").evaluate_all(
        "all => all.map(bar => parseFloat(bar.style.getPropertyValue('--taken')))"
    )
    assert close(torch.tensor(handed) / 100, weights[TERMS].repeat(VALUES.shape[1]))
    assert page.locator(".bar:not(.sum)").all_inner_texts() == [
        str(number or "") for number in VALUES[TERMS].T.flatten().tolist()
    ]
    assert page.locator(".of .weight").all_inner_texts() == [shown[j] for j in TERMS]
    assert page.locator(".sum").all_inner_texts() == [f"{n:.1f}" for n in mixture.tolist()]
    products = (weights[:, None] * VALUES.double())[TERMS]
    widths = page.locator(".part").evaluate_all(
        "all => all.map(p => p.getBoundingClientRect().width)"
    )
    wanted = (products.T * unit_of(page)).flatten()
    assert torch.allclose(torch.tensor(widths).double(), wanted, atol=0.1)
    return page.locator(".verdict").inner_text()


def count(page, parts):
    """How many dots each of some parts has; rings do not count."""
    return page.locator(parts + ":not(.label)").evaluate_all(
        "all => all.map(part => part.querySelectorAll('.point:not(.none)').length)"
    )


def unit_of(page):
    """How many pixels wide one point of a value is drawn."""
    bars = page.locator(".bar i").evaluate_all(
        "all => all.map(b => b.getBoundingClientRect().width)"
    )
    values = VALUES[TERMS].T.flatten()
    units = torch.tensor(bars).double() / values
    assert torch.allclose(units[values > 0], units[0], atol=0.1)
    return units[0]


def check_ribbons(page, selector, weights, unit=75, least=0.004):
    """A ribbon goes to each word that gets some weight, as wide as that; all are ``unit``."""
    widths, ends = ribbons(page, selector)
    drawn = weights >= least
    assert ends.div(100).floor().tolist() == drawn.nonzero().flatten().tolist()
    assert close(widths / unit, weights[drawn])  # a word is 100 wide


def slot(page, k, place):
    """Where a dot of a feature's slider is on the page, counted from 1."""
    box = page.locator(".slots").nth(k).locator(".point").nth(place - 1).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_pressed_or_dragged_dot_takes_the_others_from_the_fullest_feature(show):
    page = show(alive("asking"), motion="reduce")
    assert check_query(page, [4, 0, 2]) == "So “cat” now carries mostly what it found at <i>."
    assert page.locator(".step.ask").inner_text().endswith("What cat looks for is its query.")
    page.mouse.click(*slot(page, 1, 2))
    check_query(page, [2, 2, 2])
    page.mouse.move(*slot(page, 1, 2))
    page.mouse.down()
    page.mouse.move(*slot(page, 1, 6), steps=5)
    page.mouse.up()
    assert check_query(page, [0, 6, 0]) == "So “cat” now carries mostly what it found at </script>."
    page.mouse.move(*slot(page, 0, 6))
    check_query(page, [0, 6, 0])
    page.mouse.click(*slot(page, 2, 6))
    check_query(page, [0, 0, 6])


def test_the_arrow_keys_move_points_and_give_them_to_the_emptiest_feature(show):
    page = show(alive("asking"), motion="reduce")
    for feature, keys, query in (
        (0, ["ArrowRight"], [5, 0, 1]),
        (0, ["ArrowRight", "ArrowRight"], [6, 0, 0]),
        (0, ["ArrowLeft"] * 3, [3, 2, 1]),
        (2, ["End"], [0, 0, 6]),
    ):
        page.get_by_role("slider").nth(feature).focus()
        press(page, *keys)
        check_query(page, query)


def test_a_button_asks_for_something_else_and_for_the_first_thing_again(show):
    page = show(alive("asking"), motion="reduce")
    hint = page.locator(".try p")
    assert hint.inner_text().startswith("Press the button")
    page.get_by_role("button", name="Look for b instead").click()
    check_query(page, [0, 6, 0])
    changed = "The question has changed. Now </script> gets most of the weight."
    assert hint.inner_text() == changed
    page.get_by_role("button", name="Look for a again").click()
    check_query(page, [4, 0, 2])
    page.mouse.click(*slot(page, 2, 3))
    assert hint.inner_text().endswith("Now <i> and cat get most of the weight.")
    page.get_by_role("button", name="Look for a again").click()
    assert hint.inner_text().startswith("Press the button")


def test_a_finger_moves_the_points(show):
    page = show(alive("asking"), motion="reduce", width=390)
    (x, y), (to, _) = slot(page, 2, 2), slot(page, 2, 6)
    swipe(page, (x, y), (to - x, 0))
    check_query(page, [0, 0, 6])


def test_a_blend_is_called_a_blend(show):
    page = show(alive("asking"), motion="reduce")
    assert check_query(page, [4, 0, 2]) == "So “cat” now carries mostly what it found at <i>."
    page.mouse.click(*slot(page, 2, 3))
    assert check_query(page, [3, 0, 3]) == "So “cat” now carries a blend of <i> and cat."


def test_all_rows_are_there_and_one_is_chosen_by_pointing_and_by_the_keyboard(show):
    page = show(view_of("ribbons"))
    weights = weights_of(QUERIES)
    heading, rows = numbers(page)
    assert heading == [*ASKING["words"], *ASKING["hands"]] and list(rows) == list(ASKING["words"])
    shown = torch.tensor([[float(text) for text in row] for row in rows.values()])
    assert close(shown, torch.cat([weights, weights @ VALUES.double()], dim=1))
    chips = page.locator("button.chip")
    unit = min(75, 90 / weights.sum(dim=0).max())  # the ribbons of a word fit below it
    for place, (word, question) in enumerate(ASKING["words"].items()):
        chips.nth(place).focus()
        pressed = chips.evaluate_all("all => all.map(c => c.getAttribute('aria-pressed'))")
        assert pressed == [str(i == place).lower() for i in range(len(chips.all()))]
        assert said(page).startswith(f"“{word}” asks: “{question}” It gives ")
        check_ribbons(page, ".ribbons .on", weights[place], unit)
    chips.nth(1).hover()
    assert said(page).startswith("“dog” asks")
    check_ribbons(page, ".ribbons .on", weights[1], unit)


def view_of(view):
    return interactive.asking(**ASKING, asks="dog", view=view, alt="Four words.").to_html()


PARTS = "all => all.map(bar => Number(bar.style.getPropertyValue('--part')))"
CUT = "all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)"


def plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\n", " ")


def tenths(weight):
    """A weight as it is written where a reader multiplies it."""
    return f"{100 * weight:.1f} %"


def product_of(weight, value):
    """As it is written: nothing for zero; what is shown is right for the weight that is shown."""
    if not value:
        return ""
    shown, result = round(1000 * weight) * value / 1000, round(weight * value, 2)
    assert abs(shown - result) < 0.0051, "whoever multiplies what is shown gets something else"
    sign = "=" if abs(shown - result) < 1e-9 else "≈"
    return f"{tenths(weight)} × {value} {sign} {result:.2f}"


@pytest.mark.parametrize("width", [800, 390])
def test_one_word_is_worked_out_and_the_tables_of_all_are_behind_a_fold(show, width):
    page = show(view_of("row"), width=width)
    assert not page.locator(".table").is_visible()
    page.get_by_text("All rows at once").click()
    all_fits, all_weights = QUERIES @ KEYS.mT, weights_of(QUERIES)
    mixtures = all_weights @ VALUES.double()
    for i, word in enumerate(ASKING["words"]):
        if i % 2:
            page.locator(".hit").nth(i).click()
        else:
            page.get_by_role("button", name=word, exact=True).click()
        assert said(page).startswith(f"“{word}” asks")
        assert page.locator(".wanted b").all_inner_texts() == [str(n) for n in QUERIES[i].tolist()]
        rows = table_of(page, ".fitting tbody")
        assert [row[0] for row in rows] == list(ASKING["words"])
        assert [row[1] for row in rows] == ["a", "no label", "c", "b"]
        shown = page.locator("tbody .fit b").all_inner_texts()
        assert [int(text) for text in shown] == all_fits[i].tolist()
        assert [plain(row[-1]) for row in rows] == [tenths(w) for w in all_weights[i].tolist()]
        pairs = page.locator("td.pair i").evaluate_all(PARTS)
        assert close(torch.tensor(pairs[::2]), all_fits[i] / all_fits.max())
        assert close(torch.tensor(pairs[1::2]), all_weights[i])
        rows = table_of(page, ".sum tbody")
        assert [[plain(cell) for cell in row] for row in rows] == [
            [word, *(product_of(weight, v) for v in value)]
            for word, weight, value in zip(
                ASKING["words"], all_weights[i].tolist(), VALUES.tolist(), strict=True
            )
        ]
        assert page.locator(".sum td").evaluate_all(CUT) == []
        shown = table_of(page, ".sum tfoot")[0][-2:]
        assert shown == [f"{amount:.1f}" for amount in mixtures[i].tolist()]
    cells = page.locator(".table .box + text").all_text_contents()
    right = [KEYS.mT, VALUES, QUERIES, all_fits]
    right = [str(n) for table in right for n in table.flatten().tolist()]
    right += [f"{100 * w:.0f}" for w in all_weights.flatten().tolist()]
    assert cells == [*right, *(f"{amount:.1f}" for amount in mixtures.flatten().tolist())]
    assert fits(page)


def step(page):
    """The step that is shown, and how much one sees of what the later ones bring."""
    pressed = page.locator(".step[aria-pressed=true] i").all_inner_texts()
    seen = [page.locator(part).first.evaluate("e => getComputedStyle(e).opacity")
            for part in (".fit", ".mixture")]  # fmt: skip
    return pressed, [float(opacity) for opacity in seen]


def test_its_steps_build_up_once_when_it_is_seen(show):
    page = show(alive("asking"), motion="no-preference")
    pressed = page.locator(".step[aria-pressed=true] i")
    for name in "123":
        expect(pressed).to_have_text(name, timeout=10_000)
    page.wait_for_timeout(700)
    assert step(page) == (["3"], [1, 1])


def test_it_is_complete_as_soon_as_a_reader_does_something_until_a_step_is_pressed(show):
    page = show(alive("asking"), motion="no-preference")
    expect(page.locator(".step[aria-pressed=true] i")).to_have_text("1")
    page.get_by_text("The numbers").click()
    page.wait_for_timeout(700)
    moving = "document.querySelector('[label]').shadowRoot.getAnimations().length"
    assert step(page) == (["3"], [1, 1]) and page.evaluate(moving) == 0
    for k, (name, seen) in enumerate((("1", [0.25, 0.25]), ("2", [1, 0.25]), ("3", [1, 1]))):
        page.locator(".step").nth(k).click()
        if name == "2":
            assert page.evaluate(moving) > 0, "the points of the query travel"
        page.wait_for_timeout(700)
        assert step(page) == ([name], seen)
    page.locator(".step").first.click()
    page.get_by_role("slider").first.focus()
    press(page, "ArrowRight")
    assert step(page)[0] == ["3"], "who moves the query sees what it changes"


def test_points_land_before_words_change_and_then_shares_flow_into_the_sum(show):
    page = show(alive("asking"))
    before = page.locator(".shares").all_inner_texts()
    page.locator(".try button").click()
    assert page.locator(".try p").inner_text() == "", "the points fly over this place"
    assert page.locator(".shares").all_inner_texts() == before
    targets = """document.querySelector('[label]').shadowRoot.getAnimations()
        .filter(each => each.effect.getKeyframes().at(-1).transform === 'none')
        .map(each => each.effect.target.className)"""
    assert {*page.evaluate(targets)} == {"point"}
    page.wait_for_function("document.querySelector('[label]').hint.textContent")
    assert page.locator(".try p").inner_text().startswith("The question has changed.")
    assert page.locator(".shares").all_inner_texts() != before
    assert {*page.evaluate(targets)} == {"part"}
    page.wait_for_function(f"!{targets}.length")
    page.get_by_role("slider").first.focus()
    press(page, "ArrowRight")
    assert page.evaluate(targets) == [], "who drags a point sees all at once"


WORDS = ["The", "cat", "drank", "its", "milk"]  # of the first chapter, as are the numbers
TEN_MINUTES = {
    "features": ["animal", "action", "thing"],
    "queries": torch.tensor([[3, 0, 3], [0, 4, 0], [3, 0, 3], [4, 0, 2], [1, 4, 0]]),
    "keys": torch.tensor([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]]),
    "hands": ["alive", "soft", "wet"],
    "values": torch.tensor([[0, 0, 0], [5, 3, 0], [1, 0, 2], [0, 0, 0], [0, 1, 5]]),
}
WIDTHS = (320, 360, 390, 640, 688, 800, 864, 1160)  # of the column, on windows up to 1920
UNREADABLE = """all => all.filter(e => e.checkVisibility() && !e.closest(".said, .unseen, .scroll")
  && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 2)
  && (e.matches(".of, .chip, .step") || getComputedStyle(e).overflowX !== "visible"))
  .map(e => e.textContent)"""


def test_its_labels_and_its_conclusion_are_whole_at_every_width(show):
    words = dict.fromkeys(WORDS, "Who?")
    asking = interactive.asking(words, **TEN_MINUTES, asks="its", view="query", alt="Five words.")
    wide = "<style>:root { --figure-width: none; } body { margin: 0; }</style>"
    page = show(wide + asking.to_html(), motion="reduce")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        heights = set()
        for name in ("none", "Look for action instead", "a blend", "Look for animal again"):
            if name == "a blend":
                for feature in (0, 2):
                    page.get_by_role("slider").nth(feature).fill("2")
                assert page.locator(".verdict").inner_text().count(" and ") == 2
            elif name != "none":
                page.get_by_role("button", name=name).click()
            assert page.locator("[label] *").evaluate_all(UNREADABLE) == [], (width, name)
            heights.add(page.locator(".frame").bounding_box()["height"])
        assert len(heights) == 1, (width, heights)


def test_without_motion_and_on_paper_all_steps_are_seen(show):
    page = show(alive("asking"), motion="reduce")
    page.wait_for_timeout(300)
    assert step(page) == (["3"], [1, 1])
    page.locator(".step").first.click()
    assert step(page) == (["1"], [0.25, 0.25])
    page.emulate_media(media="print")
    assert step(page) == (["1"], [1, 1])
    page.emulate_media(media="screen")
