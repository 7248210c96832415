"""The translator as heads and a network: what it writes and where it looks is PyTorch's."""

import browser
import examples
import pytest
import torch
from examples import alive, close, numbers, said

from attnbook.figures.interactive.break_translator import trained
from attnbook.interventions import broken

browser.skip_without()
show = examples.show

NUMBERS = (481, 97, 2003, 30_071)


def check(page, number, switches, chosen):
    """What is written, and the looks of each head before the chosen token."""
    translator = trained()
    words, right = (
        side.spell(number) for side in (translator.source_tokenizer, translator.target_tokenizer)
    )
    with broken(translator.model, **switches):
        (written,) = translator.translate([words], max_length=16)
        _, _, maps = translator.attention(words, written)
    tokens = page.locator(".french").all_inner_texts()
    assert " ".join(tokens).replace(" -", "-") == written
    correct = written == right
    assert not (correct and page.locator(".french.wrong").count())
    ends = f" The French for {number:,} is {'right' if correct else 'wrong'}."
    assert said(page).startswith(f"To write “{tokens[chosen]}”, ") and said(page).endswith(ends)
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
    check(page, NUMBERS[0], switches, chosen=1)
    for head in range(4):
        assert (f"head {head + 1}" in said(page)) == (head not in heads)
    for name in off:
        page.get_by_role("switch", name=name).press("Space")
    check(page, NUMBERS[0], {}, chosen=1)


def test_a_button_takes_the_next_number_and_begins_again_after_the_last(show):
    page = show(alive("stack"))
    for number in (*NUMBERS[1:], NUMBERS[0]):
        page.get_by_role("button", name="Another number").click()
        check(page, number, {}, chosen=1)


def test_each_written_token_shows_where_the_heads_looked_for_it(show):
    page = show(alive("stack"), width=390)
    for place in range(page.locator(".french").count()):
        page.locator(".french").nth(place).focus()
        page.keyboard.press("Enter")
        check(page, NUMBERS[0], {}, chosen=place)
        weights = torch.tensor([[float(x) for x in row] for row in numbers(page)[1].values()])
        thick = page.locator(".look").evaluate_all(
            "all => all.map(curve => +curve.getAttribute('stroke-width'))"
        )
        assert close(torch.tensor(thick) / 16, weights[weights >= 0.05])


def test_the_curves_follow_the_width_of_the_page(show):
    page = show(alive("stack"))
    before = page.locator(".look").first.get_attribute("d")
    page.set_viewport_size({"width": 390, "height": 900})
    page.wait_for_function(
        "d => document.querySelector('[label]').shadowRoot.querySelector('.look')"
        ".getAttribute('d') !== d",
        arg=before,
    )
