"""Drawing the next token: the figure cuts and draws as ``generate`` does."""

import re

import browser
import examples
import pytest
import torch
from examples import PROMPTS, alive, close, figure, fits, number, numbers, percent, said
from playwright.sync_api import expect

from attnbook.figures import interactive
from attnbook.language_model import _to_draw

browser.skip_without()
show = examples.show
LOGITS = PROMPTS[:2]  # the third ones follow the likeliest token of the first
SETTINGS = [  # prompt, temperature, top-k, top-p
    (0, 1.0, None, 1.0),
    (0, 0.1, None, 1.0),
    (1, 3.0, None, 1.0),
    (1, 1.0, 5, 1.0),
    (0, 2.0, 30, 1.0),
    (1, 0.5, None, 0.5),
    (0, 1.5, None, 0.9),
    (1, 1.0, 10, 0.5),
    (0, 3.0, 1, 1.0),
    (0, 1.0, None, 0.05),
]


def expected(prompt, temperature, top_k, top_p):
    """By ``generate``'s own code: probabilities before and after the cuts, the likeliest first."""
    logits = LOGITS[prompt].double()
    before, _ = _to_draw(logits, temperature, None, 1.0)
    cut, _ = _to_draw(logits, temperature, top_k, top_p)
    after = torch.zeros(3000, dtype=torch.float64)
    after[: len(cut)] = cut / cut.sum()
    return before, after


# in one go, until the slider says so: a key for each step takes ten times as long
SLIDE = """(slider, wanted) => {
  slider.value = slider.min;
  for (let step = 0; step < 100 && slider.ariaValueText !== wanted; step++, slider.stepUp())
    slider.dispatchEvent(new Event("input", { bubbles: true }));
}"""


def set_to(page, prompt, temperature, top_k, top_p):
    """Set all controls, which have labels."""
    page.get_by_label("Prompt").select_option(index=prompt)
    texts = f"{temperature:.1f}", str(top_k or "off"), "off" if top_p == 1 else f"{top_p:.2f}"
    for name, wanted in zip(("Temperature", "top-k", "top-p"), texts, strict=True):
        slider = page.get_by_role("slider", name=name)
        if slider.get_attribute("aria-valuetext") != wanted:
            slider.evaluate(SLIDE, wanted)
        assert slider.get_attribute("aria-valuetext") == wanted


@pytest.mark.parametrize("setting", SETTINGS)
def test_probabilities_are_those_that_generate_draws_from(show, setting):
    page = show(alive("sampling"))
    set_to(page, *setting)
    before, after = expected(*setting)
    _, rows = numbers(page)
    assert list(rows) == [f"<{token}>" for token in LOGITS[setting[0]].topk(8).indices.tolist()]
    logits, *shown = torch.tensor([[number(text) for text in row] for row in rows.values()]).T
    assert (logits - LOGITS[setting[0]].topk(8).values).abs().max() < 0.006
    assert close(shown[0], before[:8])
    assert close(shown[1], after[:8])
    texts = page.locator(".next .number").all_inner_texts()
    kept = (after > 0).tolist()
    assert [text == "cut" for text in texts] == [*(not k for k in kept[:8]), not any(kept[8:])]
    others = float(after[8:].sum())
    if any(kept[8:]):
        shown = [percent(others + change) for change in (-1e-3, 0, 1e-3)]  # it may be rounded
        assert texts[-1] in shown


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_sentence_says_how_many_tokens_can_be_drawn_and_what_they_had(show, setting):
    page = show(alive("sampling"))
    set_to(page, *setting)
    before, after = expected(*setting)
    count = int(after.count_nonzero())
    told = re.fullmatch(
        r"(About )?([\d,]+) of 3,000 tokens can be drawn\. Before the cut, (they|it) had (.+) of "
        r"the probability\.",
        said(page),
    )
    if setting[2:] == (None, 1.0):
        assert said(page) == "All 3,000 tokens can be drawn."
        return
    assert (told[1] is None) == (count <= 30)
    assert abs(int(told[2].replace(",", "")) - count) <= (60 if told[1] else 0)
    assert told[3] == ("they" if count > 1 else "it")
    share = before[:count].sum().item()
    assert told[4] in [percent(share + change) for change in (-1e-3, 0, 1e-3)]


def stairs(page):
    """Where the bars of each row begin and how long they are: before the cuts, and after them."""
    return torch.tensor(
        page.locator(".room:has(> i)").evaluate_all(
            """rooms => rooms.map(room => [...room.querySelectorAll("i")].map(
                 ({ style }) => [parseFloat(style.left) / 100, parseFloat(style.width) / 100]))"""
        )
    ).double()


@pytest.mark.parametrize("setting", [(1, 2.0, 10, 1.0), (1, 0.2, 2, 1.0), (0, 0.2, None, 0.6)])
def test_each_step_of_the_stairs_begins_where_the_one_above_ends(show, setting):
    page = show(alive("sampling"))
    set_to(page, *setting)
    both = torch.stack(expected(*setting), dim=1)
    right = torch.cat([both[:8], both[8:].sum(dim=0)[None]])
    starts, widths = stairs(page).unbind(dim=-1)
    assert torch.allclose(widths, right, atol=1e-3)
    assert torch.allclose(starts, right.cumsum(dim=0) - right, atol=1e-3)
    crossing = page.locator(".room s")
    assert crossing.is_visible() == (setting[3] < 1)
    if setting[3] < 1:  # the line crosses the last step that is kept
        at = float(crossing.evaluate("line => parseFloat(line.style.left)")) / 100
        last = int(right[:, 1].nonzero().max())
        assert starts[last, 0] <= at <= starts[last, 0] + widths[last, 0]


@pytest.mark.parametrize("setting", [(1, 1.0, None, 1.0), (0, 1.0, 5, 1.0), (1, 2.0, None, 0.6)])
def test_draws_have_the_probabilities_after_the_cuts(show, setting):
    page = show(alive("sampling"))
    set_to(page, *setting)
    found = page.evaluate("document.querySelector('[label]').sample(4000)")
    places = torch.tensor([one["place"] for one in found]).clamp(max=8)
    drawn = places.bincount(minlength=9) / 4000
    _, after = expected(*setting)
    right = torch.cat([after[:8], after[8:].sum()[None]])
    assert (drawn - right).abs().max() < 4 * (0.25 / 4000) ** 0.5
    assert not drawn[right == 0].any()
    at = torch.tensor([one["x"] for one in found])  # each number is above the step that it falls on
    starts, widths = stairs(page)[:, 1].unbind(dim=-1)
    assert ((starts - 1e-3)[places] <= at).all()
    assert (at <= (starts + widths + 1e-3)[places]).all()


def test_a_button_draws_ten_tokens_the_same_on_every_page(show):
    found = []
    for _ in range(2):
        page = show(alive("sampling"), motion="reduce")
        set_to(page, 0, 1.0, 20, 1.0)
        page.get_by_role("button", name="Draw 10").click()
        rows = page.locator(".room > span").evaluate_all(
            "all => all.map(row => row.childElementCount)"
        )
        assert sum(rows) == 10
        told = said(page)
        names = page.locator(".next .name").all_inner_texts()
        for name, balls in zip(names[:8], rows, strict=False):
            times = re.search(re.escape(f"“{name}”") + r"(?: \((\d+) times\))?", told)
            assert (int(times[1] or 1) if times else 0) == balls
        found.append(told)
    assert found[0] == found[1]
    page.get_by_role("button", name="Draw 10").click()
    assert said(page) != found[0], "other tokens each time"
    page.get_by_role("slider", name="top-p").press("ArrowLeft")
    assert page.locator(".room u").count() == 0 and "Drawn" not in said(page)


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_a_drawn_token_is_appended_and_the_next_ones_follow(show, motion):
    page = show(alive("sampling"), motion=motion)
    set_to(page, 0, 0.1, 1, 1.0)
    text = page.locator(".text")
    on, back = (page.get_by_role("button", name=name) for name in ("Draw one, go on", "← back"))
    assert text.inner_text() == " <1>".strip() and back.get_attribute("aria-disabled") == "true"
    on.click()
    best = LOGITS[0].argmax().item()
    expect(text).to_have_text(f" <1> <{best}>")
    names = [f"<{token}>" for token in PROMPTS[2].topk(8).indices.tolist()]
    assert page.locator(".next .name").all_inner_texts()[:8] == names
    on.click()
    expect(page.locator(".said")).to_contain_text("has not stored what comes after it")
    expect(text).to_have_text(f" <1> <{best}> {names[0]}")
    assert on.get_attribute("aria-disabled") == "true" and page.locator(".room u").count() == 1
    on.dispatch_event("click")  # does nothing
    back.click()
    assert text.inner_text() == f"<1> <{best}>" and on.get_attribute("aria-disabled") == "false"
    page.get_by_label("Prompt").select_option(index=1)
    assert text.inner_text() == "<2> <3>"


def test_ten_numbers_fall_once_it_is_seen_and_none_without_motion(show):
    page = show(alive("sampling"))
    page.locator(".room u").nth(9).wait_for()
    assert page.locator(".said").get_attribute("aria-live") == "polite"
    page = show(alive("sampling"), motion="reduce")
    page.wait_for_timeout(600)
    assert page.locator(".room u").count() == 0


def test_the_temperature_0_is_greedy_whatever_is_cut(show):
    page = show(alive("sampling"))
    set_to(page, 1, 1.0, 5, 0.5)
    page.get_by_role("slider", name="Temperature").press("Home")
    assert said(page).endswith("the likeliest token is always taken (greedy decoding).")
    _, rows = numbers(page)
    assert [row[2] for row in rows.values()] == ["1.0000", *["0.0000"] * 7]
    page.get_by_role("button", name="Draw 10").click()
    assert said(page).endswith("(10 times).")


@pytest.mark.parametrize("logits", [*LOGITS, torch.linspace(0, -1, 3000), torch.zeros(250)])
def test_what_is_not_stored_leaves_the_denominator_right_within_a_thousandth(logits):
    (node,) = interactive.sampling({(0,): logits}, decode=str, alt="").data["nodes"]
    counts, means = (torch.tensor(node[name]).double() for name in ("counts", "means"))
    assert 30 + counts.sum() == len(logits)
    top = torch.tensor(node["logits"]).double()
    largest = logits.max().double()
    for temperature in (0.1, 0.2, 0.5, 1.0, 2.0, 3.0):
        right = ((logits.double() - largest) / temperature).exp().sum()
        found = ((top - largest) / temperature).exp().sum()
        half = torch.tensor(node["width"] / 2 / temperature)  # evenly spread about the mean
        found += (counts * ((means - largest) / temperature).exp()).sum() * half.sinh() / half
        assert found.item() == pytest.approx(right.item(), rel=1e-3)


def test_a_vocabulary_that_is_stored_entirely_needs_no_histogram(show):
    page = show(interactive.sampling({(0,): torch.arange(9.0)}, decode=str, alt="").to_html())
    page.get_by_role("slider", name="top-k").press("End")
    assert said(page) == "All 9 tokens can be drawn."


def test_it_is_small():
    assert len(figure("sampling")._json) < 20_000


@pytest.mark.parametrize("width", [800, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_it_fits(show, width, scheme):
    page = show(f"<h1>Draw</h1>{alive('sampling')}", width=width, scheme=scheme)
    page.get_by_role("slider", name="top-p").press("Home")
    page.get_by_role("button", name="Draw 10").click()
    assert browser.violations(page) == []
    assert fits(page)
