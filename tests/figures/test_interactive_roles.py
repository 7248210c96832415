"""A word that asks, with and without its projections: all numbers are PyTorch's."""

import browser
import examples
import pytest
import torch
from examples import ROLES, alive, close, column, numbers, percent, press, said
from playwright.sync_api import expect

browser.skip_without()
show = examples.show

X, W_Q, W_K, W_V = (ROLES[name].double() for name in ("x", "W_Q", "W_K", "W_V"))
CASES = {
    "all three": (X @ W_Q, X @ W_K, X @ W_V),
    "without a query of its own": (X @ W_K, X @ W_K, X @ W_V),
    "without a value of its own": (X @ W_Q, X @ W_K, X),
    "without any of the three": (X, X, X),
}


def carried(page):
    """What the word carries: of each sum the features with their numbers."""
    return [
        {name: float(n) for name, n in (text.rsplit(" ", 1) for text in texts)}
        for pill in page.locator(".carries > span").all()
        for texts in [pill.locator("i").all_inner_texts()]
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


def named(names, row):
    """The names that a row of numbers has."""
    return ", ".join(name for name, n in zip(names, row.tolist(), strict=True) if n) or "–"


@pytest.mark.parametrize("case", CASES)
def test_the_picture_shows_query_keys_scores_values_and_what_the_word_carries(show, case):
    page = show(alive("roles"), motion="reduce")
    page.get_by_role("button", name=case, exact=True).click()
    query, key, value = CASES[case]
    heading = ROLES["labels" if key.shape[1] == len(ROLES["labels"]) else "features"]
    hands = value.shape[1] == len(ROLES["hands"])
    for row in range(len(ROLES["words"])):
        page.locator(".chip").nth(row).click()
        weights = (key @ query[row]).softmax(dim=-1)
        dots = [f"{name} {'●' * int(n)}" for name, n in zip(heading, query[row], strict=True) if n]
        assert page.locator(".wish").inner_text().split() == (" ".join(dots) or "nothing").split()
        scores = [f"score {n:.0f}" for n in (key @ query[row]).tolist()]
        assert page.locator(".weight small").all_inner_texts() == scores
        cells = page.locator(".weight")
        texts = [text.split("\n")[-1] for text in cells.all_inner_texts()]
        assert texts == [percent(w) for w in weights]
        shades = cells.evaluate_all(
            "all => all.map(cell => parseFloat(cell.style.getPropertyValue('--share')))"
        )
        shades = torch.tensor(shades).double()
        assert torch.allclose(shades / shades.sum(), weights, atol=1e-3)
        for name, names, rows in (
            ("key", heading, key),
            ("value", ROLES["hands" if hands else "features"], value),
        ):
            shown = page.locator(f".has.{name}").all_inner_texts()
            assert shown == [named(names, numbers) for numbers in rows]
        mixture = weights @ value
        if hands:  # apart from what the word is
            own = listed(ROLES["features"], X[row])
            assert carried(page) == [own, listed(ROLES["hands"], mixture)]
        else:
            assert carried(page) == [listed(ROLES["features"], X[row] + mixture)]


@pytest.mark.parametrize("width", [390, 800])
def test_the_query_starts_below_the_word_that_asks_and_meets_every_key(show, width):
    page = show(alive("roles"), motion="reduce", width=width)
    middles = (
        "all => all.map(e => { const r = e.getBoundingClientRect(); return r.x + r.width / 2; })"
    )
    for row in range(len(ROLES["words"])):
        page.locator(".chip").nth(row).click()
        words = page.locator(".chip").evaluate_all(middles)
        assert page.locator(".has.key").evaluate_all(middles) == pytest.approx(words, abs=1)
        ends = page.locator(".fan").evaluate_all(
            """all => all.map(path => [0, path.getTotalLength()].map(at =>
              path.getPointAtLength(at).matrixTransform(path.getScreenCTM()).x))"""
        )
        assert [x for x, _ in ends] == pytest.approx([words[row]] * len(words), abs=3)
        assert [x for _, x in ends] == pytest.approx(words, abs=3)
        bubble = page.locator(".wish").bounding_box()
        assert bubble["x"] <= words[row] <= bubble["x"] + bubble["width"]
        assert examples.fits(page)


def test_what_a_word_lacks_is_struck_out(show):
    page = show(alive("roles"))
    lacks = page.locator(".lacks b")
    assert lacks.count() == 0
    for case, names in (
        ("without a query of its own", ["query"]),
        ("without a value of its own", ["value"]),
        ("without any of the three", ["query", "key", "value"]),
        ("all three", []),
    ):
        page.get_by_role("button", name=case).click()
        assert lacks.all_inner_texts() == names


def test_without_a_query_of_its_own_a_word_with_no_key_gives_all_the_same_weight(show):
    page = show(alive("roles"))
    assert said(page).startswith("The query of “<i>” is animal 3 and thing 2. So it finds ")
    assert said(page).endswith(
        "%). The mixture that it takes in stays apart from its own features."
    )
    page.get_by_role("button", name="without a query").click()
    assert "which is nothing. So every word gets the same weight, 25" in said(page)
    assert page.locator(".wish").inner_text() == "nothing"
    assert page.locator(".label.query").inner_text().endswith("“<i>” asks with its key")


def test_words_and_cases_are_chosen_by_keyboard_alone(show):
    page = show(alive("roles"))
    press(page, "Tab", "Tab", "Enter")
    assert page.locator(".chip[aria-pressed=true]").all_inner_texts() == ["dog"]
    press(page, "Tab", "Tab", "Tab", "Tab", "Tab", "Space")
    assert page.locator(".cases [aria-pressed=true]").all_inner_texts() == [
        "without a value of its own"
    ]
    assert said(page).startswith("Without a value projection,")
    assert "“dog” adds the mixture" in said(page)


def test_each_row_names_the_matrix_that_made_it(show):
    page = show(alive("roles"), motion="reduce")
    gates = page.locator(".gate:visible")
    words = len(ROLES["words"])
    for case, query, key, value in (
        ("all three", "Q", "K", "V"),
        ("without a query of its own", "K", "K", "V"),
        ("without a value of its own", "Q", "K", ""),
        ("without any of the three", "", "", ""),
    ):
        page.get_by_role("button", name=case).click()
        wanted = query + words * key + words * value
        assert gates.all_inner_texts() == [f"W{name}" for name in wanted]


def test_it_shows_once_how_queries_keys_and_values_are_made(show):
    page = show(alive("roles"))
    ghosts = page.locator(".ghost")
    expect(ghosts).to_have_count(1 + 2 * len(ROLES["words"]))  # one query, keys and values of all
    expect(ghosts).to_have_count(0)
