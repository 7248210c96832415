"""The translator of the landing page: what it writes and shows, and what each switch breaks."""

import re

import browser
import examples
import pytest
import torch
from examples import alive, fits, ribbons, said
from playwright.sync_api import expect
from translator_page import NUMBERS, TRANSLATOR

from attnbook.figures.interactive.break_translator import MOST_WRITTEN, held_out
from attnbook.figures.interactive.hero import BREAKS, NUMBERS as SHOWN
from attnbook.interventions import broken

browser.skip_without()
show = examples.show

FRENCH = ["quatre", "-vingt", "-dix", "-sept"]
MOST = 8  # tokens that are shown


def tokens(page):
    """The French tokens that have been written."""
    return page.locator(".french button:not(.waiting)").all_inner_texts()


def right(page):
    """How many numbers are right, once all are measured."""
    expect(page.locator(".meter i:not([class])")).to_have_count(0, timeout=20_000)
    expect(page.locator(".meter i[class='']")).to_have_count(0, timeout=20_000)
    return int(page.locator(".count strong").inner_text())


def written(number, switches):
    """What the model in PyTorch writes."""
    with broken(TRANSLATOR.model, **switches), torch.no_grad():
        return TRANSLATOR.translate([NUMBERS.source.spell(number)], max_length=MOST_WRITTEN)[0]


def test_it_writes_its_number_by_itself_token_after_token_and_nothing_moves(show):
    page = show(alive("hero"))
    height = page.locator(".frame").bounding_box()["height"]
    expect(page.locator(".french .waiting")).not_to_have_count(0)
    seen = len(tokens(page))
    expect(page.locator(".french .waiting")).to_have_count(0, timeout=10_000)
    assert seen < len(tokens(page)) == 4
    assert tokens(page) == FRENCH
    assert said(page).startswith("The translator writes “quatre-vingt-dix-sept”, which is 97.")
    assert page.locator(".name b").all_inner_texts() == ["97", "97"]
    glosses = page.locator(".french button").evaluate_all("all => all.map(e => e.dataset.gloss)")
    assert glosses == ["4", "20", "10", "7"]
    assert page.locator(".frame").bounding_box()["height"] == height
    assert page.asked == [] and page.trouble == []


def test_whoever_wants_no_motion_gets_the_whole_picture_at_once(show):
    page = show(alive("hero"), motion="reduce")
    assert tokens(page) == FRENCH
    assert page.locator(".look").evaluate_all("all => all.filter(p => p.style.display).length") == 0
    assert page.locator(".later").count() == 0


def test_what_is_known_is_shown_at_once_and_what_is_not_says_so_far(show):
    page = show(alive("hero"), motion="reduce")
    assert page.locator(".count").inner_text() == "200\nof 200 numbers are right"
    assert page.locator(".meter .right").count() == len(held_out())
    texts = page.evaluate("""() => {
      const root = document.querySelector("[label]").shadowRoot, texts = [];
      new MutationObserver(() => texts.push(root.querySelector(".count").innerText))
        .observe(root.querySelector(".count"), { childList: true, subtree: true });
      root.querySelector(".break").click();
      return new Promise((done) => setTimeout(() => done(texts), 60));
    }""")
    assert texts and all(re.match(r"\d+\nof \d+ right so far", text) for text in texts)
    right(page)
    assert re.match(r"\d+\nof 200 numbers are right", page.locator(".count").inner_text())


@pytest.mark.parametrize(("label", "change"), BREAKS.items())
def test_a_button_breaks_the_translator_and_pressed_again_mends_it(show, label, change):
    page = show(alive("hero"), motion="reduce")
    assert right(page) == len(held_out()), "as trained"
    switches, why = change
    button = page.get_by_role("button", name=label)
    assert page.locator(".break:has(.try)").inner_text().startswith(next(iter(BREAKS)))
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    text = written(SHOWN[0], switches)
    assert tokens(page) == NUMBERS.target.split(text)[:MOST] != FRENCH
    wrong = page.locator(".french .wrong").count()
    assert wrong == sum(a != b for a, b in zip(tokens(page), [*FRENCH, *[""] * MOST], strict=False))
    assert said(page).startswith("Now the translator writes") and said(page).endswith(why)
    count = sum(written(n, switches) == NUMBERS.texts(n)[1] for n in held_out())
    assert right(page) == count < len(held_out()) / 2, "choose a break whose effect is clear"
    assert page.locator(".spoken").inner_text() == f"{count} of 200 numbers are right."
    assert page.locator(".meter .right").count() == count
    assert page.locator(".try").count() == 0
    says = page.locator(".name.off b").inner_text().replace(",", "")
    assert says == "?" or NUMBERS.texts(int(says))[1] == text
    button.press("Enter")
    assert tokens(page) == FRENCH and right(page) == len(held_out())
    assert page.locator(".french .wrong").count() == 0


def test_without_a_look_at_the_english_it_writes_the_same_for_every_number():
    switches, _ = BREAKS["Ignore the English"]
    assert len({written(number, switches) for number in held_out()[:30]}) == 1


def under(page, places):
    """The English chips below which some places of the picture lie."""
    bounds = page.locator(".english .chip").evaluate_all(
        """all => all.map(chip => {
          const [box, stage] = [chip, chip.closest(".text")].map(e => e.getBoundingClientRect());
          return [box.left - stage.left, box.right - stage.left];
        })"""
    )
    return [i for x in places for i, (left, right) in enumerate(bounds) if left <= x <= right]


def test_ribbons_are_as_wide_as_the_mean_weight_of_the_heads(show):
    page = show(alive("hero"), motion="reduce")
    words = NUMBERS.source.spell(SHOWN[0])
    *_, maps = TRANSLATOR.attention(words, written(SHOWN[0], {}))
    weights = maps.cross[-1, 0].mean(dim=0)
    for i, token in enumerate(page.locator(".french button").all()):
        token.hover()
        assert page.locator(".looks").inner_text() == f"{FRENCH[i]} looks at:"
        labels = page.locator(".share")
        shares = labels.all_inner_texts()
        expected = [round(100 * w) for w in weights[i].tolist()]
        for share, percent in zip(shares, expected, strict=True):
            assert share == f"{percent}\N{NO-BREAK SPACE}%" or (share == "" and percent <= 5)
        widths, ends = ribbons(page, ".look.on")
        drawn = weights[i] > 0.05
        places = labels.evaluate_all(
            """all => all.filter(e => e.textContent).map(e => {
              const [box, stage] = [e, e.closest(".text")].map(e => e.getBoundingClientRect());
              return box.left + box.width / 2 - stage.left;
            })"""
        )
        assert places == pytest.approx(ends, abs=1), "each share is where its ribbon begins"
        ratio = widths / weights[i][drawn]
        assert torch.allclose(ratio, ratio[:1], rtol=0.01)
        assert under(page, ends) == drawn.nonzero().flatten().tolist()
    told = page.locator(".french button").last.get_attribute("aria-label")
    assert re.fullmatch(
        r"-sept, looked at -seven \d+ percent, the end of the number \d+ percent", told
    )
    page.get_by_role("button", name="Ignore the English").click()
    assert page.locator(".look").count() == 0, "it no longer looks"
    assert page.locator(".looks").inner_text().endswith(" cannot see the English")
    stubs = len(page.locator(".chip:not(.waiting)").all())
    assert page.locator(".cut").count() == stubs, "ribbons would begin and end there"


def test_a_token_that_is_pressed_shows_its_own_ribbons_alone(show):
    page = show(alive("hero"), motion="reduce", width=390)
    token = page.locator(".french button").nth(1)
    assert re.match(r"-vingt, looked at \S+ \d+ percent", token.get_attribute("aria-label"))

    def lit():
        on = page.locator(".look.on").evaluate_all("all => all.map(p => p.query)")
        chips = page.locator(".french button").evaluate_all(
            "all => all.flatMap((chip, i) => chip.classList.contains('lit') ? [i] : [])"
        )
        assert [*{*on}] == chips
        return chips

    assert lit() == [3], "those of the token that was written last"
    token.press("Enter")
    assert token.get_attribute("aria-pressed") == "true"
    assert lit() == [1]
    page.locator(".french button").first.hover()
    assert lit() == [0], "what is pointed at comes first"
    page.mouse.move(0, 0)
    assert lit() == [1]
    token.press("Enter")
    assert token.get_attribute("aria-pressed") == "false"
    assert lit() == [3]


@pytest.mark.parametrize("width", [1100, 390])
def test_all_its_numbers_are_right_as_trained_and_fit(show, width):
    page = show(alive("hero"), motion="reduce", width=width)
    for number in [*SHOWN[1:], SHOWN[0]]:
        page.get_by_role("button", name="Another number").click()
        assert tokens(page) == NUMBERS.target.split(NUMBERS.texts(number)[1])
        assert said(page).startswith(
            f"The translator writes “{NUMBERS.texts(number)[1]}”, which is {number:,}."
        )
        assert fits(page)


def test_a_gloss_is_the_number_that_a_token_says(show):
    page = show(alive("hero"), motion="reduce")
    words = ["cents", "trois", "-vingts", "-onze", "mille", "et"]
    glosses = "all => all.map(word => document.querySelector('[label]').glossOf(word))"
    assert page.evaluate(glosses, words) == ["100", "3", "20", "11", "1,000", "and"]


def switched(page, on, timeout):
    expect(page.locator(".break[aria-pressed=true]")).to_have_count(on, timeout=timeout)


def test_once_a_switch_goes_on_and_off_by_itself(show):
    page = show(alive("hero"))
    switched(page, 1, 10_000)
    assert right(page) < 100 and page.locator(".spoken").get_attribute("aria-live") == "off"
    switched(page, 0, 10_000)
    assert right(page) == 200
    expect(page.locator(".french .waiting")).to_have_count(0)
    assert tokens(page) == FRENCH and page.locator(".try").count() == 1
    expect(page.locator(".spoken")).to_have_attribute("aria-live", "polite")
    page.wait_for_timeout(5000)
    switched(page, 0, 1)


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_no_switch_goes_by_itself_if_somebody_acts_or_wants_no_motion(show, motion):
    page = show(alive("hero"), motion=motion)
    if motion != "reduce":
        page.get_by_role("button", name="Another number").focus()
    page.wait_for_timeout(6000)
    switched(page, 0, 1)


def test_axe_finds_nothing_by_day_and_by_night(show):
    for scheme in ("light", "dark"):
        page = show(alive("hero"), motion="reduce", scheme=scheme)
        page.get_by_role("button", name=next(iter(BREAKS))).click()
        right(page)
        found = browser.violations(page)
        assert [rule for rule, _ in found if rule not in {"page-has-heading-one", "region"}] == []
