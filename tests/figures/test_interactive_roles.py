"""A word that asks, with and without its projections: all numbers are PyTorch's."""

import re

import browser
import examples
import pytest
import torch
from examples import ROLES, alive, close, column, numbers, percent, press, said

browser.skip_without()
show = examples.show

X, W_Q, W_K, W_V = (ROLES[name].double() for name in ("x", "W_Q", "W_K", "W_V"))
CASES = {
    "nothing": (X @ W_Q, X @ W_K, X @ W_V),
    "separate query": (X @ W_K, X @ W_K, X @ W_V),
    "value projection": (X @ W_Q, X @ W_K, X),
    "all projections": (X, X, X),
}


def bars(page):
    """Each bar's name, the widths of its parts as shares of the widest bar, and its number."""
    return page.locator(".after li").evaluate_all(
        """all => all.map(li => [li.children[0].textContent,
          [...li.children[1].children].map(part => parseFloat(part.style.width) / 100),
          li.children[2].textContent])"""
    )


def ribbons_of(page):
    """How many pixels wide each ribbon is at its top and at its bottom."""
    ends = page.locator(".ribbon").evaluate_all(
        """all => all.map(path => {
          const at = path.getAttribute("d").match(/[-\\d.e]+/g).map(Number);
          const scale = path.getScreenCTM().a;
          return [(at.at(-2) - at[0]) * scale, (at[8] - at[6]) * scale];
        })"""
    )
    return torch.tensor(ends).double().T


def places_of(page, selector):
    """How many pixels wide some elements are."""
    widths = page.locator(selector).evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().width)"
    )
    return torch.tensor(widths).double()


def widths_of_all(page):
    """How many pixels stand for all of the weight; they stand below the word that asks."""
    (all_of_it,) = places_of(page, ".shares")
    middle = "e => { const r = e.getBoundingClientRect(); return r.x + r.width / 2; }"
    asks = page.locator(".chip[aria-pressed=true]").evaluate(middle)
    assert abs(page.locator(".shares").evaluate(middle) - asks) < 4
    return all_of_it


@pytest.mark.parametrize("case", CASES)
def test_weights_and_mixture_without_a_projection_are_pytorchs(show, case):
    page = show(alive("roles"), motion="reduce")
    page.get_by_role("button", name=case, exact=True).click()
    query, key, value = CASES[case]
    for row in range(len(ROLES["words"])):
        page.locator(".chip").nth(row).click()
        weights = (key @ query[row]).softmax(dim=-1)
        heading, rows = numbers(page)
        apart = value.shape[1] == len(ROLES["hands"])
        names = ROLES["hands"] if apart else ROLES["features"]
        assert heading == ["weight", *names]
        assert close(column(page, "weight"), weights)
        mixture = torch.tensor([float(text) for text in rows["mixture"][1:]])
        assert close(mixture, weights @ value)
        shown = page.locator(".weight:not(.label)").all_inner_texts()
        assert shown == [percent(w) for w in weights]
        shares = page.locator(".shares span").evaluate_all(
            "all => all.map(part => parseFloat(part.style.width) / 100)"
        )
        assert close(torch.tensor(shares), weights)
        for widths in (*ribbons_of(page), places_of(page, ".shares span")):
            # with one scale where they leave the words, where they end, and in the bar below
            assert torch.allclose(widths, weights * widths_of_all(page), atol=0.5)
        drawn = {name: (parts, text) for name, parts, text in bars(page)}
        parts = weights[:, None] * value  # (word, column)
        own = X[row]
        for k, name in enumerate(names):
            amounts = torch.cat([own[k : k + 1] * (not apart), parts[:, k]])
            assert re.fullmatch(r"\d+\.\d", drawn[name][1])
            assert abs(float(drawn[name][1]) - amounts.sum()) < 0.05 + 1e-9  # 0.25 may be 0.3
            widths = torch.tensor(drawn[name][0])
            assert torch.allclose(widths * amounts.sum(), amounts.float() * widths.sum(), atol=1e-3)
        itself = {name for name, k in zip(ROLES["features"], own, strict=True) if k}
        assert {*drawn} == {*names} | (itself if apart else set())


def test_without_a_query_of_its_own_a_word_with_no_key_gives_all_the_same_weight(show):
    page = show(alive("roles"))
    assert said(page).startswith("The query of “<i>” is animal 3 and thing 2. So it finds ")
    assert said(page).endswith(
        "%). The mixture that it takes in stays apart from its own features."
    )
    page.get_by_role("button", name="separate query").click()
    assert "which is nothing. So every word gets the same weight, 25" in said(page)
    assert page.locator(".voice").inner_text() == "<i> looks for nothing"


def test_projections_are_removed_and_words_chosen_by_keyboard_alone(show):
    page = show(alive("roles"))
    press(page, "Tab", "Tab", "Tab", "Space")
    pressed = page.locator(".controls [aria-pressed=true]")
    assert pressed.all_inner_texts() == ["value projection"]
    assert said(page).startswith("Without a value projection,")
    press(page, "Tab", "Tab", "Tab", "Enter")
    assert page.locator(".chip[aria-pressed=true]").all_inner_texts() == ["dog"]
    assert "“dog” adds the mixture" in said(page)
