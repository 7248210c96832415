"""Drawing the next token: the figure cuts and draws as ``generate`` does."""

import re

import browser
import examples
import pytest
import torch
from examples import PROMPTS, alive, close, figure, fits, number, numbers, percent, said

from attnbook.figures import interactive
from attnbook.language_model import _to_draw

browser.skip_without()
show = examples.show
LOGITS = list(PROMPTS.values())
SETTINGS = [  # prompt, temperature, top-k, top-p
    (0, 1.0, None, 1.0),
    (0, 0.1, None, 1.0),
    (1, 3.0, None, 1.0),
    (1, 1.0, 5, 1.0),
    (0, 2.0, 200, 1.0),
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


def set_to(page, prompt, temperature, top_k, top_p):
    """Set all controls, through their labels."""
    page.get_by_label("Prompt").select_option(index=prompt)
    for name, value in (("Temperature", f"{temperature:.1f}"), ("top-k", top_k), ("top-p", top_p)):
        slider = page.get_by_role("slider", name=name)
        wanted = {None: "off", 1.0: "off"}.get(value, value) if name != "top-k" else value or "off"
        wanted = f"{wanted:.2f}" if isinstance(wanted, float) else str(wanted)
        if slider.get_attribute("aria-valuetext") != wanted:
            slider.press("Home")
        for _ in range(40):
            if slider.get_attribute("aria-valuetext") == wanted:
                break
            slider.press("ArrowRight")
        assert slider.get_attribute("aria-valuetext") == wanted


@pytest.mark.parametrize("setting", SETTINGS)
def test_probabilities_are_those_that_generate_draws_from(show, setting):
    page = show(alive("sampling"))
    set_to(page, *setting)
    before, after = expected(*setting)
    _, rows = numbers(page)
    assert list(rows) == [f"<{token}>" for token in LOGITS[setting[0]].topk(12).indices.tolist()]
    logits, *shown = torch.tensor([[number(text) for text in row] for row in rows.values()]).T
    assert (logits - LOGITS[setting[0]].topk(12).values).abs().max() < 0.006
    assert close(shown[0], before[:12])
    assert close(shown[1], after[:12])
    texts = page.locator(".next .number").all_inner_texts()
    kept = (after > 0).tolist()
    assert [text == "cut" for text in texts] == [*(not k for k in kept[:12]), not any(kept[12:])]
    others = float(after[12:].sum())
    if any(kept[12:]):
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
    assert (told[1] is None) == (count <= 200)
    assert abs(int(told[2].replace(",", "")) - count) <= (60 if told[1] else 0)
    assert told[3] == ("they" if count > 1 else "it")
    share = before[:count].sum().item()
    assert told[4] in [percent(share + change) for change in (-1e-3, 0, 1e-3)]


def test_bars_show_both_probabilities_on_the_scale_above_them(show):
    page = show(alive("sampling"), width=800)
    for setting, end in (((1, 2.0, 10, 1.0), 0.2), ((1, 0.2, 2, 1.0), 1)):
        set_to(page, *setting)
        ticks = page.locator(".axis b").all_inner_texts()
        assert ticks == [percent(part * end) for part in (0, 0.5, 1)]
        widths = page.locator(".room").evaluate_all(
            """rooms => rooms.slice(1, -1).map(
                 (room) => [...room.children].map((bar) => parseFloat(bar.style.width)))"""
        )
        both = torch.stack([part[:12] for part in expected(*setting)], dim=1) * 100 / end
        assert torch.allclose(torch.tensor(widths).double(), both, atol=0.5)


@pytest.mark.parametrize("setting", [(1, 1.0, None, 1.0), (0, 1.0, 5, 1.0), (1, 2.0, None, 0.6)])
def test_draws_have_the_probabilities_after_the_cuts(show, setting):
    page = show(alive("sampling"))
    set_to(page, *setting)
    places = page.evaluate("document.querySelector('[label]').sample(4000)")
    drawn = torch.tensor(places).clamp(max=12).bincount(minlength=13) / 4000
    _, after = expected(*setting)
    right = torch.cat([after[:12], after[12:].sum()[None]])
    assert (drawn - right).abs().max() < 4 * (0.25 / 4000) ** 0.5
    assert not drawn[right == 0].any()


def test_a_button_draws_ten_tokens_the_same_on_every_page(show):
    found = []
    for _ in range(2):
        page = show(alive("sampling"))
        set_to(page, 0, 1.0, 20, 1.0)
        page.get_by_role("button", name="Draw 10 tokens").click()
        rows = page.locator(".dots").evaluate_all("all => all.map(row => row.children.length)")
        assert sum(rows) == 10
        told = page.locator(".drawn").inner_text()
        names = page.locator(".next .name").all_inner_texts()
        for name, dots in zip(names[:12], rows, strict=False):
            times = re.search(re.escape(f"“{name}”") + r"(?: \((\d+) times\))?", told)
            assert (int(times[1] or 1) if times else 0) == dots
        found.append(told)
    assert found[0] == found[1]
    page.get_by_role("button", name="Draw 10 tokens").click()
    assert page.locator(".drawn").inner_text() != found[0], "other tokens each time"
    page.get_by_role("slider", name="top-p").press("ArrowLeft")
    assert page.locator(".dots i").count() == 0 and page.locator(".drawn").inner_text() == ""


def test_the_temperature_0_is_greedy_whatever_is_cut(show):
    page = show(alive("sampling"))
    set_to(page, 1, 1.0, 5, 0.5)
    page.get_by_role("slider", name="Temperature").press("Home")
    assert said(page).endswith("the likeliest token is always taken (greedy decoding).")
    _, rows = numbers(page)
    assert [row[2] for row in rows.values()] == ["1.0000", *["0.0000"] * 11]
    page.get_by_role("button", name="Draw 10 tokens").click()
    assert page.locator(".drawn").inner_text().endswith("(10 times).")


@pytest.mark.parametrize("logits", [*LOGITS, torch.linspace(0, -1, 3000), torch.zeros(250)])
def test_what_is_not_stored_leaves_the_denominator_right_within_a_thousandth(logits):
    made = interactive.sampling({"x": logits}, decode=str, alt="")
    (stored,) = made.data["prompts"]
    counts = torch.tensor(stored["counts"]).double()
    assert 200 + counts.sum() == len(logits)
    top = torch.tensor(stored["logits"]).double()
    middles = top[-1] - (torch.arange(len(counts)) + 0.5) * stored["width"]
    largest = logits.max().double()
    for temperature in (0.1, 0.2, 0.5, 1.0, 2.0, 3.0):
        right = ((logits.double() - largest) / temperature).exp().sum()
        found = ((top - largest) / temperature).exp().sum()
        found += (counts * ((middles - largest) / temperature).exp()).sum()
        assert found.item() == pytest.approx(right.item(), rel=1e-3)


def test_a_vocabulary_that_is_stored_entirely_needs_no_histogram(show):
    page = show(interactive.sampling({"x": torch.arange(13.0)}, decode=str, alt="").to_html())
    assert said(page) == "All 13 tokens can be drawn."


def test_it_is_small():
    assert len(figure("sampling")._json) < 20_000


@pytest.mark.parametrize("width", [800, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_it_fits(show, width, scheme):
    page = show(f"<h1>Draw</h1>{alive('sampling')}", width=width, scheme=scheme)
    page.get_by_role("slider", name="top-p").press("Home")
    page.get_by_role("button", name="Draw 10 tokens").click()
    assert browser.violations(page) == []
    assert fits(page)
