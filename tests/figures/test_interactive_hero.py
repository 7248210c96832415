"""The translator of the landing page: what it writes and shows, and what each button breaks."""

import re

import browser
import examples
import pytest
import torch
from examples import alive, fits, ribbons, said
from playwright.sync_api import expect
from translator_page import NUMBERS, TRANSLATOR, count_right, right, tokens, written

from attnbook.figures.interactive.break_translator import held_out
from attnbook.figures.interactive.hero import BREAKS, NUMBERS as SHOWN

browser.skip_without()
show = examples.show

FRENCH = ["quatre", "-vingt", "-dix", "-sept"]
MOST = 8  # tokens that are shown
HIDE, SHOW = "Hide the English", "Show the English again"


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
    assert texts[0] == "…\ntesting 200 numbers", "the old count is gone at once"
    assert len(texts) > 1
    assert all(re.match(r"\d+\nof \d+ right so far", text) for text in texts[1:])
    right(page)
    assert re.match(r"\d+\nof 200 numbers are right", page.locator(".count").inner_text())


@pytest.mark.parametrize(("labels", "change"), BREAKS.items())
def test_a_button_breaks_the_translator_and_pressed_again_mends_it(show, labels, change):
    page = show(alive("hero"), motion="reduce")
    assert right(page) == len(held_out()), "as trained"
    switches, why = change
    act, undo = (page.get_by_role("button", name=label) for label in labels)
    assert page.locator(".break:has(.try)").inner_text().startswith(next(iter(BREAKS))[0])
    act.press("Enter")
    assert undo.evaluate("e => e === e.getRootNode().activeElement") and act.count() == 0
    switched(page, 1, 1)
    (text,) = written(SHOWN[:1], switches)
    assert tokens(page) == NUMBERS.target.split(text)[:MOST] != FRENCH
    wrong = page.locator(".french .wrong").count()
    assert wrong == sum(a != b for a, b in zip(tokens(page), [*FRENCH, *[""] * MOST], strict=False))
    assert said(page).startswith("Now the translator writes") and said(page).endswith(why)
    count = count_right(held_out(), switches)
    assert right(page) == count < len(held_out()) / 2, "choose a break whose effect is clear"
    assert page.locator(".spoken").inner_text() == f"{count} of 200 numbers are right."
    assert page.locator(".meter .right").count() == count
    assert page.locator(".try").count() == 0
    says = page.locator(".name.off b").inner_text().replace(",", "")
    assert says == "?" or NUMBERS.texts(int(says))[1] == text
    undo.press("Enter")
    switched(page, 0, 1)
    assert act.count() == 1 and undo.count() == 0
    assert tokens(page) == FRENCH and right(page) == len(held_out())
    assert page.locator(".french .wrong").count() == 0


def test_without_a_look_at_the_english_it_writes_the_same_for_every_number():
    switches, _ = BREAKS[HIDE, SHOW]
    assert len({*written(held_out()[:30], switches)}) == 1


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
    *_, maps = TRANSLATOR.attention(words, *written(SHOWN[:1], {}))
    weights = maps.cross[-1, 0].mean(dim=0)
    for i, token in enumerate(page.locator(".french button").all()):
        token.hover()
        assert page.locator(".looks").inner_text() == f"To write {FRENCH[i]}, it looks at:"
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
    looked = "-sept, the translator looked at"
    assert re.fullmatch(rf"{looked} -seven \d+ percent, the end of the number \d+ percent", told)
    page.get_by_role("button", name=HIDE).click()
    assert page.locator(".look").count() == 0, "it no longer looks"
    heading = page.locator(".looks").inner_text()
    assert heading == f"It writes {tokens(page)[-1]} without the English."
    stubs = len(page.locator(".chip:not(.waiting)").all())
    assert page.locator(".cut").count() == stubs, "ribbons would begin and end there"


def test_a_token_that_is_pressed_shows_its_own_ribbons_alone(show):
    page = show(alive("hero"), motion="reduce", width=390)
    token = page.locator(".french button").nth(1)
    told = token.get_attribute("aria-label")
    assert re.match(r"-vingt, the translator looked at \S+ \d+ percent", told)

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


def switched(page, count, timeout):
    expect(page.locator(".break.broken")).to_have_count(count, timeout=timeout)


# the figure again, with pauses that are shorter, and what one sees after each change of it
WATCHED = """(pace) => {
  const real = window.setTimeout;
  window.setTimeout = (what, pause) => real(what, pause / pace);
  const old = document.querySelector("[label]"), figure = old.cloneNode(true);
  old.replaceWith(figure);
  const all = (selector) => [...figure.shadowRoot.querySelectorAll(selector)];
  const text = (selector) => all(selector)[0].textContent.replaceAll("\u00a0", " ");
  window.seen = [];
  const look = () => {
    const now = { said: text(".said"), broken: all(".broken").length, next: all(".next").length,
      right: text(".count strong"), cells: all(".meter .right, .meter .wrong").length,
      writing: all(".french .waiting").length };
    if (JSON.stringify(now) !== JSON.stringify(seen.at(-1))) seen.push(now);
  };
  new MutationObserver(look).observe(figure.shadowRoot,
    { subtree: true, childList: true, attributes: true, characterData: true });
}"""


def test_a_caption_says_what_is_hidden_before_it_is_hidden_and_when_it_is_restored(show):
    page = show(alive("hero"))
    page.mouse.move(0, 0)
    page.evaluate(WATCHED, 4)
    page.wait_for_function("seen.at(-1)?.said.startsWith('Restored')", timeout=15_000)
    expect(page.locator(".spoken")).to_have_attribute("aria-live", "polite")
    seen = page.evaluate("seen")
    stages = [
        [now for now in seen if now["said"].startswith(text)]
        for text in ("The translator", "Watch: we now hide", "Now the translator", "Restored.")
    ]
    intact, warned, broken, restored = stages
    begins = [seen.index(stage[0]) for stage in stages]
    assert begins == sorted(begins)
    assert {(now["broken"], now["right"]) for now in intact + warned} == {(0, "200")}
    assert all(now["writing"] == 0 and now["next"] for now in warned)
    assert broken[0]["right"] == "…" and broken[0]["cells"] == 0, "the count is not that of before"
    assert broken[-1]["right"] == "0" and broken[-1]["cells"] == 200
    assert {now["broken"] for now in broken} == {1} and not any(now["next"] for now in broken)
    assert restored[-1]["broken"] == 0 and restored[-1]["right"] == "200"
    expect(page.locator(".french .waiting")).to_have_count(0)
    assert tokens(page) == FRENCH and page.locator(".try").count() == 1
    page.wait_for_timeout(4000)  # more than the whole tour at this pace
    switched(page, 0, 1)


def test_what_was_announced_does_not_come_if_somebody_touches_the_figure(show):
    page = show(alive("hero"))
    page.mouse.move(0, 0)
    page.evaluate(WATCHED, 4)
    page.wait_for_function("seen.at(-1)?.said.startsWith('Watch')", timeout=15_000)
    page.locator(".french button").first.hover()
    assert said(page).startswith("The translator writes “quatre-vingt-dix-sept”")
    page.wait_for_timeout(2500)
    switched(page, 0, 1)
    assert page.locator(".next").count() == 0


# in each frame the word that the heading names, those whose ribbons are strong, and what is written
FRAMES = """() => {
  const old = document.querySelector("[label]"), figure = old.cloneNode(true);
  old.replaceWith(figure);
  const all = (selector) => [...figure.shadowRoot.querySelectorAll(selector)];
  const opacity = (node) => Number(getComputedStyle(node).opacity);
  return new Promise((done) => {
    const frames = [];
    const frame = () => {
      const looks = all(".look").filter((path) => path.style.display !== "none");
      const strong = looks.filter((path) => opacity(path) > 0.15);
      frames.push({ named: all(".looks b")[0].textContent,
        words: all(".french button").map((chip) => chip.textContent),
        written: all(".french button:not(.waiting)").length,
        shares: all(".share").map((share) => share.textContent).filter(Boolean),
        strong: strong.map((path) => path.query), drawn: strong.map((path) => path.share),
        bright: new Set(looks.map(opacity)).size, whole: looks.every((path) =>
          getComputedStyle(path).clipPath === "none"),
        widths: strong.map((path) => path.getAttribute("d").match(/[-\\d.e]+/g).map(Number))
          .map((numbers) => numbers.at(-2) - numbers[0]) });
      if (frames.at(-1).written === 4 && frames.at(-2).written === 4) done(frames);
      else requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
}"""


def test_heading_shares_and_ribbons_change_in_one_frame_and_widths_are_weights(show):
    page = show(alive("hero"))
    page.mouse.move(0, 0)
    frames = page.evaluate(FRAMES)
    assert {frame["written"] for frame in frames} == {1, 2, 3, 4}
    for frame in frames:
        last = frame["written"] - 1
        assert frame["named"] == frame["words"][last]
        assert {*frame["strong"]} == {last}
        assert frame["shares"] == [f"{100 * w:.0f}\N{NO-BREAK SPACE}%" for w in frame["drawn"]]
        assert frame["bright"] <= 2 and frame["whole"], "no ribbon is on its way"
        units = torch.tensor(frame["widths"]) / torch.tensor(frame["drawn"])
        assert torch.allclose(units, units[:1], rtol=0.01)


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_no_switch_goes_by_itself_if_somebody_acts_or_wants_no_motion(show, motion):
    page = show(alive("hero"), motion=motion)
    if motion != "reduce":
        page.get_by_role("button", name="Another number").focus()
    else:
        page.mouse.move(0, 0)
    page.wait_for_timeout(9500)
    switched(page, 0, 1)


def test_axe_finds_nothing_by_day_and_by_night(show):
    for scheme in ("light", "dark"):
        page = show(alive("hero"), motion="reduce", scheme=scheme)
        page.get_by_role("button", name=HIDE).click()
        right(page)
        found = browser.violations(page)
        assert [rule for rule, _ in found if rule not in {"page-has-heading-one", "region"}] == []
