"""All heads of a model: searches find what PyTorch finds."""

import re

import browser
import examples
import pytest
import torch
from examples import OF_HEADS, OF_TWIN, alive, numbers, ribbons, said

browser.skip_without()
show = examples.show


def percents(texts):
    """Shares that are shown as percentages; a small one is "< 1 %"."""
    found = [re.fullmatch(r"(<\s)?(\d+)\s%", text).groups() for text in texts]
    return torch.tensor([0.0 if small else float(number) / 100 for small, number in found])


def name(place):
    return "block {}, head {}".format(*divmod(place, 4))


def head_search(page):
    """The strongest heads as (name, score); of every head in its order score and colour."""
    strongest = [text.split(": ") for text in page.locator(".strongest button").all_inner_texts()]
    squares = page.get_by_role("option").and_(page.locator("[id^=head-]"))
    labels = squares.evaluate_all("all => all.map(e => e.getAttribute('aria-label'))")
    names, scores = zip(*(label.rsplit(", ", 1) for label in labels), strict=True)
    assert list(names) == [name(place) for place in range(12)]
    colors = squares.evaluate_all("all => all.map(e => +e.style.getPropertyValue('--share'))")
    return strongest, percents(scores), torch.tensor(colors)


def entropy(rows):
    return -torch.xlogy(rows, rows).sum(dim=-1)


SEARCHES = {
    "the blue word looks at": lambda maps: maps[..., 3, 1],
    "each word looks at the word before it": lambda maps: maps.diagonal(-1, -2, -1).mean(dim=-1),
    "each word looks at itself": lambda maps: maps.diagonal(0, -2, -1)[..., 1:].mean(dim=-1),
    "each word looks at the first word": lambda maps: maps[..., 1:, 0].mean(dim=-1),
    "each word looks at all words evenly": lambda maps: (
        entropy(maps)[..., 1:] / torch.arange(2.0, 6).double().log()
    ).mean(dim=-1),
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("twin", [False, True])
def test_a_search_among_all_heads_finds_what_pytorch_finds(show, search, twin):
    page = show(alive("all_heads"))
    page.locator(".explore > summary").click()
    page.get_by_label("Sentence").select_option(index=int(twin))
    page.get_by_label("Find heads in which").select_option(label=search)
    asked_for = page.get_by_role("combobox").count()  # the token looked at, where one is searched
    assert asked_for == (3 if search == "the blue word looks at" else 2)
    right = SEARCHES[search](OF_TWIN if twin else OF_HEADS).flatten()
    strongest, scores, colors = head_search(page)
    assert scores.sub(right).abs().max() < 0.01
    sure = right.sub(0.1).abs() > 0.005  # a head with less than 10 % stays empty
    darkest = int(re.findall(r"\d+", page.locator(".scale").inner_text())[-1]) / 100
    assert 0 <= darkest - right.max() < 0.055, "the scale ends at the largest weight shown"
    assert colors.mul(darkest).sub(right * (right > 0.1))[sure].abs().max() < 0.01
    order = right.argsort(descending=True).tolist()
    assert [name for name, _ in strongest] == [name(place) for place in order[:5]]
    assert percents([score for _, score in strongest]).sub(right[order[:5]]).abs().max() < 0.01
    chosen = page.get_by_role("option", selected=True).and_(page.locator("[id^=head-]"))
    assert chosen.get_attribute("id") == f"head-{right.argmax()}"
    rank = page.locator(".strongest + p").inner_text()
    told = percents(re.findall(r"\d+\s%", said(page) + rank))
    assert told.sub(right[[order[0], order[6]]]).abs().max() < 0.01
    assert said(page).startswith("The head that looks most ") and ", of 12:" in said(page)
    assert f"{name(order[0])} is number 1 of 12".capitalize() in rank


def test_the_weights_of_a_head_are_pytorchs_in_every_sentence(show):
    page = show(alive("all_heads"))
    page.locator(".explore > summary").click()
    for place in (0, 7, 11):
        page.locator(f"#head-{place}").click()
        for twin, maps in enumerate((OF_HEADS, OF_TWIN)):
            page.get_by_label("Sentence").select_option(index=twin)
            right = maps.flatten(0, 1)[place]
            _, rows = numbers(page)
            for row, cells in zip(right, rows.values(), strict=True):
                shown = torch.tensor([float(cell or 0) for cell in cells]).double()
                assert shown.sub(row).abs().max() < 0.003  # a step is 1 / 255
            assert [len([c for c in cells if c]) for cells in rows.values()] == [1, 2, 3, 4, 5]


def test_tokens_are_chosen_and_heads_walked_through_by_keyboard(show):
    page = show(alive("all_heads"), width=390)
    page.locator("#head-0").click()
    grid = page.get_by_role("listbox", name="All heads")
    grid.focus()
    for key, place in (("ArrowRight", 4), ("ArrowDown", 5), ("ArrowLeft", 1), ("End", 11)):
        page.keyboard.press(key)
        assert grid.get_attribute("aria-activedescendant") == f"head-{place}"
    page.locator(".tokens button").first.press("Enter")
    shares = page.locator(".tokens span + span").all_inner_texts()
    assert percents(shares[:1]) == 1 and shares[1:] == ["–"] * 4  # it sees itself alone
    assert said(page).startswith("All 12 heads look alike from")
    page.locator(".explore > summary").click()
    assert page.get_by_role("combobox").nth(2).locator("option").count() == 1
    page.locator(".tokens button").nth(3).click()
    shares = page.locator(".tokens span + span").all_inner_texts()
    assert percents(shares[:4]).sub(OF_HEADS[2, 3, 3, :4]).abs().max() < 0.01
    assert shares[4] == "–"
    assert page.trouble == []


def test_ribbons_are_as_wide_as_the_weights_of_the_chosen_word(show):
    page = show(alive("all_heads"), width=1000)
    for word, place in ((3, 6), (4, 11)):
        page.locator(".tokens button").nth(word).click()
        page.locator(f"#head-{place}").click()
        right = OF_HEADS.flatten(0, 1)[place, word, : word + 1]
        widths, ends = ribbons(page, ".looks path")
        drawn = right > 0.004
        assert (widths / widths.sum()).sub(right[drawn] / right[drawn].sum()).abs().max() < 0.01
        middles = page.locator(".tokens button").evaluate_all(
            "all => all.map(e => e.offsetLeft + e.offsetWidth / 2)"
        )
        assert ends.sub(torch.tensor(middles).double()[: word + 1][drawn]).abs().max() < 1


@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_a_finger_goes_over_the_map_and_sees_the_ribbons(show, width):
    page = show(alive("all_heads"), width=width)
    squares = [page.locator(f"#head-{place}").bounding_box() for place in range(12)]
    assert squares[11]["y"] + 24 < 640, "ribbons and map are on one screen"
    middles = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in squares]
    page.mouse.move(*middles[0])
    page.mouse.down()
    for place in (4, 5, 11, 3):
        page.mouse.move(*middles[place], steps=3)
        shares = percents(page.locator(".tokens span + span").all_inner_texts()[:4])
        assert shares.sub(OF_HEADS.flatten(0, 1)[place, 3, :4]).abs().max() < 0.01
        block, head = divmod(place, 4)
        assert page.locator(".axis .now").all_inner_texts() == [str(block), f"head {head}"]
        rank = 1 + int((OF_HEADS[..., 3, 1] > OF_HEADS.flatten(0, 1)[place, 3, 1]).sum())
        told = "The head that looks most" if rank == 1 else f"Number {rank} of 12 in looking"
        assert said(page).startswith(f"{told} from “book” to “reads”")
    page.mouse.up()
