"""The translator as heads and a network: what it writes and where it looks is PyTorch's."""

import itertools

import browser
import examples
import pytest
import torch
from examples import alive, close, numbers, ribbons, said
from playwright.sync_api import expect

from attnbook.data import END, START
from attnbook.figures import interactive
from attnbook.figures.interactive.break_translator import trained
from attnbook.interventions import broken

browser.skip_without()
show = examples.show

NUMBERS = (481, 97, 2003, 30_071)
ASKS = "To write -un, -vingt asks."  # the last word of 481, and the word before it
FRENCH = ["quatre", "cent", "quatre", "-vingt", "-un"]


def probabilities(switches, words, written, chosen):
    """How probable PyTorch finds each word, by name, after the words before the chosen one."""
    translator = trained()
    french = translator.target_tokenizer
    source = torch.tensor([[*translator.source_tokenizer.encode(words), END]])
    target = torch.tensor([[START, *french.encode(written)][: chosen + 1]])
    with broken(translator.model, **switches), torch.no_grad():
        logits, _ = translator.model(source, target)
    names = [token.strip("<>") for token in french.vocabulary.tokens]
    return dict(zip(names, logits[0, -1].softmax(dim=-1).tolist(), strict=True))


def check(page, number, switches, chosen=None):
    """What is written, and the looks of each head before the chosen token."""
    translator = trained()
    words, right = (
        side.spell(number) for side in (translator.source_tokenizer, translator.target_tokenizer)
    )
    with broken(translator.model, **switches):
        (written,) = translator.translate([words], max_length=16)
        _, _, maps = translator.attention(words, written)
    tokens = page.locator(".french button").all_inner_texts()
    assert " ".join(tokens).replace(" -", "-") == written
    correct = written == right
    chosen = len(tokens) - 1 if chosen is None else chosen
    assert not (correct and page.locator(".french .wrong").count())
    ends = f" The French for {number:,} is {'right' if correct else 'wrong'}."
    asks = ["start", *tokens][chosen]
    assert said(page).startswith(f"“{asks}” asks, and ") and said(page).endswith(ends)
    assert f"The next word is “{tokens[chosen]}”." in said(page)
    assert page.locator(".reads .chip").inner_text() == asks
    heading = page.locator(".looks").inner_text()
    one = f"To write {tokens[chosen]}, {asks} asks. Head "  # which is chosen
    assert heading == f"{asks} asks, and every head looks:" or heading.startswith(one)
    likely = page.locator(".score").inner_text().removeprefix("next: ").split(", ")
    expected = probabilities(switches, words, written, chosen)
    named = [name.replace("\u00a0", " ").split(" ", 1) for name in likely]
    assert named[0][0] == tokens[chosen] and len(named) == 3
    for (name, share), best in zip(named, sorted(expected.values())[:-4:-1], strict=True):
        shown = float(share.removeprefix("< ").removesuffix(" %"))
        assert max(abs(shown - 100 * expected[name]), abs(shown - 100 * best)) < 2
    assert page.locator(".back").count() == (chosen > 0)
    _, rows = numbers(page)
    shown = torch.tensor([[float(text) for text in row] for row in rows.values()])
    assert close(shown, maps.cross[-1, 0, :, chosen])


@pytest.mark.parametrize("off", [[], ["head 2"], ["head 1", "head 4"], ["small network"]], ids=str)
def test_what_is_switched_off_is_missing_in_all_that_is_shown(show, off):
    page = show(alive("stack"), motion="reduce")
    for name in off:
        part = page.get_by_role("switch", name=name)
        assert part.get_attribute("aria-checked") == "true"
        part.click()
        assert part.get_attribute("aria-checked") == "false"
    heads = [int(name[-1]) - 1 for name in off if name.startswith("head")]
    switches = {"cross_heads_off": heads} if heads else {}
    if "small network" in off:
        switches["feed_forward"] = "off"
    check(page, NUMBERS[0], switches, chosen=4)
    for head in range(4):
        assert (f"head {head + 1}" in said(page)) == (head not in heads)
    for name in off:
        page.get_by_role("switch", name=name).press("Space")
    check(page, NUMBERS[0], {}, chosen=4)


def test_a_button_takes_the_next_number_and_begins_again_after_the_last(show):
    page = show(alive("stack"), motion="reduce")
    for number in (*NUMBERS[1:], NUMBERS[0]):
        page.get_by_role("button", name="Another number").click()
        check(page, number, {})


def test_each_written_token_shows_where_the_heads_looked_for_it(show):
    page = show(alive("stack"), motion="reduce", width=390)
    for place in range(page.locator(".french button").count()):
        page.locator(".french button").nth(place).focus()
        page.keyboard.press("Enter")
        check(page, NUMBERS[0], {}, chosen=place)
        weights = torch.tensor([[float(x) for x in row] for row in numbers(page)[1].values()])
        widths, _ = ribbons(page, ".look")
        drawn = weights[weights >= 0.02]
        unit = widths.sum() / drawn.sum()
        assert torch.allclose(widths / unit, drawn.double(), atol=2e-3)


def test_all_heads_look_alike_until_somebody_chooses_one(show):
    page = show(alive("stack"), motion="reduce")
    opacity = "all => [...new Set(all.map(path => getComputedStyle(path).opacity))]"
    assert page.locator(".part.lit, .look.on").count() == 0
    assert page.locator(".look").evaluate_all(opacity) == ["0.5"]
    assert {*page.locator(".share").all_inner_texts()} == {""}

    def lit():
        (head,) = {*page.locator(".look.on").evaluate_all("all => all.map(p => p.head)")}
        assert page.locator(".part.lit").inner_text() == f"head {head + 1}"
        assert page.locator(".looks").inner_text() == f"{ASKS} Head {head + 1} looks at:"
        _, rows = numbers(page)
        shares = [float(weight) for weight in rows[f"head {head + 1}"]]
        for label, share in zip(page.locator(".share").all_inner_texts(), shares, strict=True):
            assert abs(int(label.split("\u00a0")[-2]) - 100 * share) < 1
        strips = page.locator(".strip i").evaluate_all(
            "all => all.map(e => parseFloat(e.style.getPropertyValue('--share')))"
        )
        expected = [float(weight) for row in rows.values() for weight in row]
        assert strips == pytest.approx([100 * weight for weight in expected], abs=0.06)
        return head

    page.get_by_role("button", name="head 4").hover()
    assert lit() == 3
    page.mouse.move(0, 0)
    assert lit() == 3
    page.get_by_role("button", name="head 3").focus()
    assert lit() == 2
    page.get_by_role("switch", name="head 3").click()
    assert page.locator(".looks").inner_text() == f"{ASKS} Head 3 is off."
    assert page.locator(".look.on").count() == 0


# the figure again, some times as fast, with what flies in it, and what one sees in each frame
WATCHED = """(pace) => {
  const { setTimeout: later } = window, { animate } = Element.prototype;
  window.setTimeout = (act, pause) => later(act, pause / pace);
  Element.prototype.animate = function (...all) {
    const move = animate.apply(this, all);
    move.playbackRate = pace;
    return move;
  };
  const old = document.querySelector("[label]"), figure = old.cloneNode(true);
  old.replaceWith(figure);
  const all = (selector) => [...figure.shadowRoot.querySelectorAll(selector)];
  [window.flown, window.seen] = [[], []];
  new MutationObserver((changes) => changes.forEach(({ addedNodes: [node] }) => {
    if (node?.classList?.contains("flies")) flown.push(node.textContent);
  })).observe(all(".flow")[0], { childList: true });
  const frame = () => {
    const now = { written: all(".french button:not(.later)").length,
      verdict: getComputedStyle(all(".verdict")[0]).opacity > 0, height: figure.offsetHeight,
      hidden: all(".later").every((word) => getComputedStyle(word).color === "rgba(0, 0, 0, 0)"),
      playing: figure.playing };
    if (JSON.stringify(now) !== JSON.stringify(seen.at(-1))) seen.push(now);
    requestAnimationFrame(frame);
  };
  frame();
}"""
DOTS = [""] * 5  # from four heads to the network, and on


def test_it_writes_once_and_each_word_runs_back_before_the_next_drops(show):
    page = show(alive("stack"))
    page.evaluate(WATCHED, 3)
    page.wait_for_function("flown.at(-1) === '-un' && seen.at(-1).verdict", timeout=15_000)
    seen, flown = page.evaluate("[seen, flown]")
    played = [now for now in seen if now["playing"]]
    assert [*dict.fromkeys(now["written"] for now in played)] == [1, 2, 3, 4]
    assert not any(now["verdict"] for now in played)
    assert {now["written"] for now in played if now["hidden"]} == {1, 2, 3, 4}
    assert len({now["height"] for now in seen}) == 1
    ways = [*DOTS, FRENCH[0]]
    for before, word in itertools.pairwise(FRENCH):
        ways += [before, *DOTS, word]
    assert flown == ways
    page.wait_for_timeout(2500)  # more than two words would have
    assert page.locator(".flies").count() == 0 and len(page.evaluate("flown")) == len(ways)
    assert said(page).endswith("The French for 481 is right.")


def test_a_word_that_is_chosen_is_written_again_and_alone(show):
    page = show(alive("stack"))
    page.evaluate(WATCHED, 5)
    page.wait_for_function("seen.at(-1).written === 3", timeout=15_000)
    page.locator(".french button").nth(1).click()
    page.evaluate("flown.length = 0")
    page.locator(".french button").nth(1).click()
    assert page.locator(".french [aria-pressed=true]").inner_text() == "cent"
    expect(page.locator(".later")).to_have_text(FRENCH[2:])
    page.wait_for_timeout(1500)
    assert page.evaluate("flown") == ["quatre", *DOTS, "cent"]
    page.get_by_role("button", name="next →").click()
    assert page.evaluate("flown.at(-1)") == "quatre"
    page.get_by_role("button", name="← back").click()
    assert page.locator(".flies").count() == 0
    check(page, NUMBERS[0], {}, chosen=1)


def test_whoever_wants_no_motion_gets_every_word_at_once(show):
    page = show(alive("stack"), motion="reduce")
    page.evaluate(WATCHED, 1)
    for name in ("Another number", "play", "next →"):
        page.get_by_role("button", name=name, exact=True).click()
        assert page.evaluate("flown") == []
        assert (page.locator(".later").count() == 0) == (name == "Another number")


def test_a_number_of_one_word_is_written_too(show):
    page = show(interactive.stack([5]).to_html(), motion="reduce")
    page.get_by_role("button", name="play").click()
    expect(page.get_by_role("button", name="play")).to_be_visible(timeout=5000)
    check(page, 5, {})


def test_the_curves_follow_the_width_of_the_page(show):
    page = show(alive("stack"))
    before = page.locator(".look").first.get_attribute("d")
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_function(
        "d => document.querySelector('[label]').shadowRoot.querySelector('.look')"
        ".getAttribute('d') !== d",
        arg=before,
    )


@pytest.mark.parametrize("width", [800, 390])
def test_the_line_back_crosses_no_word(show, width):
    page = show(alive("stack"), motion="reduce", width=width)
    page.get_by_role("switch", name="small network").click()  # what it writes then is long
    for word in page.locator(".french button").all()[1:]:
        word.click()
        crossed = page.evaluate("""() => {
          const root = document.querySelector("[label]").shadowRoot;
          const line = root.querySelector(".back");
          const words = [...root.querySelectorAll(".french button")];
          const boxes = words.map((e) => e.getBoundingClientRect());
          const at = (share) => line.getPointAtLength(share * line.getTotalLength());
          const points = [...Array(400).keys()].map((i) =>
            at(i / 399).matrixTransform(line.getScreenCTM()));
          return points.filter(({ x, y }) => boxes.some((box) =>
            x > box.left && x < box.right && y > box.top + 1 && y < box.bottom - 1)).length;
        }""")
        assert crossed == 0
