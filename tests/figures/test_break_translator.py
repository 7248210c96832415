"""The breakable translator: what it reads and writes, where it looks, and what switches change."""

import math
import re

import browser
import pytest
import torch
import translator_page
from conftest import ROOT
from examples import table_of
from translator_page import NUMBERS, TRANSLATOR, french, french_of, said, type_in

from attnbook.data import END, START, collate
from attnbook.figures.interactive.break_translator import MOST_WRITTEN, SWITCHES, held_out
from attnbook.interventions import SHUFFLED, broken

browser.skip_without()
still, show = translator_page.still, translator_page.show

POSITIONS = "Positions of the English words"


def verdict(page):
    return page.locator(".verdict").inner_text()


def test_it_writes_the_number_that_is_typed_or_its_words(show):
    page = show(481)
    assert french(page) == ["quatre", "cent", "quatre", "-vingt", "-un", "⟨end⟩"]
    for typed, number in (
        ("2003", 2003),
        ("Three  Thousand and TWO", 3002),
        ("forty two", 42),
        ("99,999", 99_999),
    ):
        type_in(page, typed)
        assert french(page) == french_of(number)
        assert verdict(page) == f"✓ right: {number:,}"
    page.get_by_role("button", name="Another number").click()
    english, right = NUMBERS.texts(held_out()[0])
    assert french(page) == french_of(held_out()[0])
    assert said(page).startswith(f"“{english}” became “{right}”")
    type_in(page, "two two two")  # which is no number, and so neither right nor wrong
    assert not re.search("[✓✗]", verdict(page))


def test_what_it_cannot_read_is_refused_and_what_it_wrote_stays(show):
    page = show(481)
    refused, typed = page.get_by_role("alert"), page.get_by_label("A number below 100,000")
    for text, names in {
        "": "481",
        "-5": "minus",
        "123456789012345678901234567890": "100,000",
        "3.5": "digits",
        "two million": "“million”",
        "one hundred thousand": "100,000",
        "two " * 20: f"{MOST_WRITTEN} words",
    }.items():
        type_in(page, text)
        assert names in refused.inner_text(), text
        assert "“four hundred eighty-one”" in refused.inner_text()
        assert verdict(page) == "✓ right: 481"
        assert typed.get_attribute("aria-invalid") == "true"
    type_in(page, "7")
    assert french(page) == ["sept", "⟨end⟩"] and refused.inner_text() == ""


@pytest.mark.parametrize("switches", [{}, {"causal_mask": "off"}], ids=str)
def test_a_token_is_shown_with_what_was_there_when_it_was_chosen(show, switches):
    """No word that came later has a weight, and the others have those of that moment."""
    page = show(97, switches=switches)
    page.get_by_role("button", name="at the French so far").click()
    tokens = ["quatre", "-vingt", "-dix", "-sept"]
    for i in range(len(tokens) + 1):
        page.locator(".french button").nth(i).click()
        cells = page.locator(".heads button").all_inner_texts()
        assert cells[4 * (i + 1) :] == ["–"] * 4 * (len(tokens) - i)
        before = " ".join(tokens[:i]).replace(" -", "-")
        shown = torch.tensor([float(text) for text in cells[: 4 * (i + 1)]]).view(-1, 4)
        expected = torch.ones(1, 4)  # at first there is ⟨start⟩ alone
        if before:
            with broken(TRANSLATOR.model, **switches):
                _, _, maps = TRANSLATOR.attention("ninety-seven", before)
            expected = maps.target[0, 0, :, i].T
        torch.testing.assert_close(shown, expected, rtol=0, atol=0.0051)
        looked = said(page).split("Of the French words so far, ")[1]
        assert not any(token in looked for token in tokens[i:])


@pytest.mark.parametrize("place", ["encoder", "cross", "decoder"])
def test_the_weights_and_the_products_shown_are_pytorchs(show, place):
    switches = {"divisor": "off", "cross_heads_off": [1]}
    page = show(2003, switches=switches)
    column = 2
    if place == "encoder":
        page.locator(".tokens").first.locator("button").nth(column).click()
    else:
        page.locator(".french button").nth(column).click()
        if place == "decoder":
            page.get_by_role("button", name="at the French so far").click()
    cells = page.locator(".heads button").all_inner_texts()
    later = [text == "–" for text in cells]  # its own words that were not yet written
    assert later == [place == "decoder" and i // 4 > column for i in range(len(cells))]
    shown = torch.tensor([0.0 if text == "–" else float(text) for text in cells]).view(-1, 4)
    with broken(TRANSLATOR.model, **switches):
        (written,) = TRANSLATOR.translate(["two thousand three"])
        _, _, maps = TRANSLATOR.attention("two thousand three", written)
    name = {"encoder": "source", "cross": "cross", "decoder": "target"}[place]
    expected = getattr(maps, name)[0, 0, :, column].T
    torch.testing.assert_close(shown, expected, rtol=0, atol=0.0051)
    page.locator(".heads button").nth(4 + 2).click()  # the second key, the third head
    rows = table_of(page, ".product")
    query, key, products = (
        torch.tensor([float(text.replace("−", "-")) for text in row[1:]]) for row in rows
    )
    torch.testing.assert_close(query * key, products, rtol=0, atol=0.5)
    explained = page.locator(".product").inner_text().replace("−", "-")
    total = float(re.search(r"add up to (-?[\d.]+)", explained)[1])
    assert abs(products.sum().item() - total) < 0.5


def test_the_likeliest_tokens_are_named_with_their_chances(show):
    switches = {"decoder_weights": "uniform"}
    page = show(481, switches=switches)
    with broken(TRANSLATOR.model, **switches), torch.no_grad():
        source = collate([NUMBERS.pair(481)]).source
        written = [NUMBERS.target.vocabulary.tokens.index(t) for t in french(page)[:-1]]
        logits, _ = TRANSLATOR.model(source, torch.tensor([[START, *written]]))
    chances = logits[0].softmax(dim=-1)
    for place in (1, 3):
        page.locator(".french button").nth(place).click()
        found = re.findall(
            r"“(\S+)” ([\d.]+|under 0\.1) %", said(page).split("likeliest tokens were")[1]
        )
        best = chances[place].topk(3)
        names = ["⟨end⟩" if t == END else NUMBERS.target.vocabulary.tokens[t] for t in best.indices]
        assert [name for name, _ in found] == names
        for (_, told), share in zip(found, best.values, strict=True):
            off = abs(float(told.removeprefix("under ")) - 100 * share)
            assert off < (0.101 if "." in told else 0.51)


def test_a_switch_changes_what_is_written_at_once_beside_what_was_written_as_trained(show):
    page = show(2003)
    echo, wrong = page.locator(".echo"), page.locator(".tokens .wrong")
    assert "“deux mille trois” ✓" in echo.inner_text()
    page.get_by_label(POSITIONS).select_option("off")
    assert french(page) == ["deux", "mille", "deux", "cents", "⟨end⟩"]
    assert wrong.all_inner_texts() == ["deux"]
    assert verdict(page).startswith("✗") and "2,200" in verdict(page)
    now, trained = echo.inner_text().splitlines()
    assert "“deux mille deux cents” ✗" in now and "“deux mille trois”" in trained
    page.get_by_role("button", name="Reset all switches").click()
    assert french(page) == ["deux", "mille", "trois", "⟨end⟩"] and wrong.count() == 0
    assert page.get_by_label(POSITIONS).input_value() == ""


def test_a_shuffled_order_is_shown(show):
    page = show(2003, switches={"source_positions": "shuffled", "target_positions": "shuffled"})
    places = page.locator(".tokens small").all_inner_texts()
    english, written = 4, len(french(page))
    expected = [*SHUFFLED[:english], *SHUFFLED[1 : written + 1]]
    assert places == [f"position {p + 1}" for p in expected]


def test_padding_that_is_written_is_a_dot(show):
    page = show(2003, switches=dict.fromkeys(("residual", "norm", "feed_forward"), "off"))
    assert french(page) == ["·"] * MOST_WRITTEN
    assert "<pad>" not in page.locator(".frame").inner_text()


def test_the_book_links_the_chapter_of_each_switch(show):
    notes = show(481).locator(".switches .note")
    assert notes.count() == len(SWITCHES) and notes.locator("a").count() == 0
    links = show(481, book=True).locator(".switches a")
    found = links.evaluate_all("links => links.map(a => a.getAttribute('href'))")
    assert len(found) == len(SWITCHES)
    for link in found:
        chapter = ROOT / link.replace("../", "", 1).replace(".html", ".ipynb")
        assert chapter.exists(), f"break_translator_switches.js has {link}, which is no chapter"


def test_on_a_telephone_buttons_are_large_enough_for_thumbs_and_what_is_written_stays(show):
    page = show(481, width=390)
    high = page.locator("button:visible, select:visible").evaluate_all(
        "nodes => nodes.map(node => [node.closest('.heads') !== null, node.offsetHeight])"
    )
    assert min(height for small, height in high if not small) >= 40
    assert min(height for small, height in high if small) >= 35
    page.get_by_label("Causal mask").scroll_into_view_if_needed()
    assert 0 <= page.locator(".echo").evaluate("node => node.getBoundingClientRect().top") < 300


def test_the_sentence_names_heads_only_where_they_are_used(show):
    page = show(97)
    looks = page.get_by_label("The decoder looks at the English words")
    assert {*re.findall(r"head (\d) (?:looked most )?at", said(page))} == {*"1234"}
    for value in ("off", "uniform"):
        looks.select_option(value)
        assert "head " not in said(page).replace("each head", "")
    looks.select_option("")
    heads = page.get_by_role("group", name="Heads of cross-attention")
    heads.get_by_role("button", name="head 4").click()
    assert {*re.findall(r"head (\d) (?:looked most )?at", said(page))} == {*"123"}


def test_products_and_their_sum_agree_and_zero_has_no_sign(show):
    page = show(97)
    for cell in page.locator(".heads button").all():
        cell.click()
        shown = page.locator(".product").inner_text().replace("\n", " ")
        assert not re.search(r"−0\.0+(?![0-9])", shown)
        found = re.search(
            r"add up to (\S+); dividing by √8 = 2.83 gives the score (−?[\d.]+)\. ", shown
        )
        total, score = (float(text.replace("−", "-")) for text in found.groups())
        assert total / math.sqrt(8) == pytest.approx(score, abs=0.008)


def test_only_the_switches_that_are_asked_for_stand_open(show):
    page = show(481, show=["norm"])
    assert page.get_by_label("Layer norm").is_visible()
    assert not page.get_by_label("Residual addition").is_visible()
    page.locator("summary", has_text="More switches").click()
    assert page.get_by_label("Residual addition").is_visible()


def test_a_press_on_a_token_moves_no_table(show):
    page = show(97)
    places = []
    for chip in page.locator(".tokens button").all():
        chip.click()
        places.append(page.locator(".heads").bounding_box()["y"])
    assert len({*places}) == 1
