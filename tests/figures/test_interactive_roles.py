"""A word that asks, with and without its projections: all numbers are PyTorch's."""

import browser
import examples
import pytest
import torch
from examples import ROLES, alive, close, column, numbers, percent, press, said

browser.skip_without()
show = examples.show

X, W_Q, W_K, W_V = (ROLES[name].double() for name in ("x", "W_Q", "W_K", "W_V"))
CASES = {
    "all three": (X @ W_Q, X @ W_K, X @ W_V),
    "no query": (X @ W_K, X @ W_K, X @ W_V),
    "no value": (X @ W_Q, X @ W_K, X),
    "none": (X, X, X),
}


def carried(page, case):
    """What a word carries in a case: of each sum the features with their numbers."""
    pills = page.locator(".case").nth([*CASES].index(case)).locator(".carries > span")
    return [
        dict(item.rsplit(" ", 1) for item in pill.locator("i").all_inner_texts())
        for pill in pills.all()
    ]


def listed(names, amounts):
    """The amounts that are not nearly 0, as a figure writes them."""
    return {
        name: pytest.approx(a, abs=0.05 + 1e-9)  # 0.25 may be 0.3
        for name, a in zip(names, amounts.tolist(), strict=True)
        if a >= 0.05
    }


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
        shares = page.locator(".shares span").evaluate_all(
            "all => all.map(part => parseFloat(part.style.width) / 100)"
        )
        assert close(torch.tensor(shares), weights)
        for widths in (*ribbons_of(page), places_of(page, ".shares span")):
            # with one scale where they leave the words, where they end, and in the bar below
            assert torch.allclose(widths, weights * widths_of_all(page), atol=0.5)


def test_all_four_cases_are_compared_without_a_press(show):
    page = show(alive("roles"), motion="reduce")
    for row, word in enumerate(ROLES["words"]):
        page.locator(".chip").nth(row).click()
        assert page.locator(".head").inner_text().endswith(f"what “{word}” then carries")
        for place, (case, (query, key, value)) in enumerate(CASES.items()):
            weights = (key @ query[row]).softmax(dim=-1)
            cells = page.locator(".case").nth(place).locator(".weight")
            assert cells.all_inner_texts() == [percent(w) for w in weights]
            shades = cells.evaluate_all(
                "all => all.map(cell => parseFloat(cell.style.getPropertyValue('--share')))"
            )
            shades = torch.tensor(shades).double()
            assert torch.allclose(shades / shades.sum(), weights, atol=1e-3)
            found = [
                {name: float(number) for name, number in pill.items()}
                for pill in carried(page, case)
            ]
            mixture = weights @ value
            if value.shape[1] == len(ROLES["hands"]):  # apart from what the word is
                own = listed(ROLES["features"], X[row])
                assert found == [own, listed(ROLES["hands"], mixture)]
            else:
                assert found == [listed(ROLES["features"], X[row] + mixture)]


def test_without_a_query_of_its_own_a_word_with_no_key_gives_all_the_same_weight(show):
    page = show(alive("roles"))
    assert said(page).startswith("The query of “<i>” is animal 3 and thing 2. So it finds ")
    assert said(page).endswith(
        "%). The mixture that it takes in stays apart from its own features."
    )
    page.get_by_role("button", name="no query").click()
    assert "which is nothing. So every word gets the same weight, 25" in said(page)
    assert page.locator(".voice").inner_text() == "With no query, <i> looks for nothing"


def test_words_and_cases_are_chosen_by_keyboard_alone(show):
    page = show(alive("roles"))
    press(page, "Tab", "Tab", "Enter")
    assert page.locator(".chip[aria-pressed=true]").all_inner_texts() == ["dog"]
    press(page, "Tab", "Tab", "Tab", "Tab", "Tab", "Space")
    assert page.locator(".case [aria-pressed=true]").all_inner_texts() == ["no value"]
    assert said(page).startswith("Without a value projection,")
    assert "“dog” adds the mixture" in said(page)
