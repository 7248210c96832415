"""The translator as heads and a network: what it writes and where it looks is PyTorch's."""

import browser
import examples
import pytest
import torch
from examples import alive, close, numbers, ribbons, said

from attnbook.data import END, START
from attnbook.figures.interactive.break_translator import trained
from attnbook.interventions import broken

browser.skip_without()
show = examples.show

NUMBERS = (481, 97, 2003, 30_071)
ASKS = "To write -un, -vingt asks."  # the last word of 481, and the word before it


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
    assert heading.startswith(f"To write {tokens[chosen]}, {asks} asks. Head ")
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
    page = show(alive("stack"))
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
    page = show(alive("stack"))
    for number in (*NUMBERS[1:], NUMBERS[0]):
        page.get_by_role("button", name="Another number").click()
        check(page, number, {})


def test_each_written_token_shows_where_the_heads_looked_for_it(show):
    page = show(alive("stack"), width=390)
    for place in range(page.locator(".french button").count()):
        page.locator(".french button").nth(place).focus()
        page.keyboard.press("Enter")
        check(page, NUMBERS[0], {}, chosen=place)
        weights = torch.tensor([[float(x) for x in row] for row in numbers(page)[1].values()])
        widths, _ = ribbons(page, ".look")
        drawn = weights[weights >= 0.02]
        unit = widths.sum() / drawn.sum()
        assert torch.allclose(widths / unit, drawn.double(), atol=2e-3)


def test_one_head_at_a_time_is_lit_with_its_shares_until_somebody_chooses(show):
    page = show(alive("stack"))

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

    page.wait_for_function(
        "() => document.querySelector('[label]').shadowRoot.querySelector('.looks')"
        ".textContent.includes('Head 2')"
    )
    assert lit() == 1, "it goes on by itself"
    page.get_by_role("button", name="head 4").hover()
    assert lit() == 3
    page.wait_for_timeout(3000)
    assert lit() == 3, "and stops at the first touch"
    page.get_by_role("button", name="head 3").focus()
    assert lit() == 2
    page.get_by_role("switch", name="head 3").click()
    assert page.locator(".looks").inner_text() == f"{ASKS} Head 3 is off."
    assert page.locator(".look.on").count() == 0


AGAIN = """(pace) => {
  const real = window.setTimeout;
  window.setTimeout = (what, pause) => real(what, pause / pace);
  const old = document.querySelector("[label]");
  const figure = old.cloneNode(true);
  old.replaceWith(figure);
  window.lit = [];
  figure.light = function (head) {
    window.lit.push(head);
    Object.getPrototypeOf(this).light.call(this, head);
  };
}"""


def test_a_tour_lights_each_head_once_and_ends_when_somebody_touches_the_figure(show):
    page = show(alive("stack"))
    page.mouse.move(0, 0)
    page.evaluate(AGAIN, 50)
    page.wait_for_timeout(1000)  # of 50 ms for each head
    assert page.evaluate("window.lit") == [1, 2, 3, 0]
    page.evaluate(AGAIN, 1)
    page.get_by_role("switch", name="small network").hover()
    seen = page.evaluate("window.lit")
    page.wait_for_timeout(3000)  # more than one head would have
    assert page.evaluate("window.lit") == seen
    assert len(seen) < 4


def test_whoever_wants_no_motion_sees_one_head_all_the_time(show):
    page = show(alive("stack"), motion="reduce")
    page.wait_for_timeout(3000)
    assert page.locator(".looks").inner_text() == f"{ASKS} Head 1 looks at:"


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
    page = show(alive("stack"), width=width)
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
