"""Queries, keys and values are put into another order: outputs are PyTorch's, and rows slide."""

import itertools

import browser
import examples
import pytest
import torch
from examples import REORDER, alive, close, said, values

from attnbook.attention import attention
from attnbook.figures import interactive

browser.skip_without()
show = examples.show
PARTS = ["queries", "keys", "values"]
WORDS = ["dog", "<i>", "</script>"]
ORDER = [1, 2, 0]


def rows(page):
    """What stands in the picture, row after row."""
    found = page.locator(".room > :not(.text)").evaluate_all(
        """all => all.map(e => [e.getBoundingClientRect().y, e.getBoundingClientRect().x,
                                e.firstChild.textContent])"""
    )
    found = sorted((round(y), x, text) for y, x, text in found)
    return [[text for *_, text in row] for _, row in itertools.groupby(found, lambda each: each[0])]


def point(numbers):
    return f"({', '.join(f'{number:.2f}' for number in numbers)})".replace("-", "−")


@pytest.mark.parametrize("moved", [*itertools.product([False, True], repeat=3)])
def test_weights_follow_queries_and_keys_and_outputs_are_those_of_the_layer(show, moved):
    page = show(alive("reorder"), motion="reduce")
    for part, on in zip(PARTS, moved, strict=True):
        page.get_by_role("switch", name=part).set_checked(on)
    orders = [ORDER if on else [0, 1, 2] for on in moved]
    before, _ = attention(*REORDER.values())
    outputs, weights = attention(
        *(x[order] for x, order in zip(REORDER.values(), orders, strict=True)), need_weights=True
    )
    keys, *found = rows(page)[:4]
    assert keys == [WORDS[i] for i in orders[1]]
    assert found == [
        [WORDS[i], *(f"{share:.2f}" for share in row), point(output)]
        for i, row, output in zip(orders[0], weights.tolist(), outputs.tolist(), strict=True)
    ]
    by_word = outputs[[orders[0].index(i) for i in range(3)]]
    assert close(values(page)[:, 3:], by_word)
    kept = moved[1] == moved[2]
    assert torch.allclose(by_word, before) is kept
    notes = page.locator(".output small").all_inner_texts()
    assert notes == ["the same" if kept else "changed"] * 3 * any(moved)
    assert ("3 of 3 outputs change" in said(page)) is not kept
    formula = f"{'P ' * moved[0]}w{' Pᵀ' * moved[1]}"
    assert page.locator(".formula").inner_text() == formula


# whether what a figure says from now on is spoken
HEARD = """() => {
  const figure = document.querySelector("[label]");
  const say = figure.say.bind(figure);
  figure.heard = [];
  figure.say = (text) => say(text, figure.heard.push(figure.said.ariaLive));
}"""


def test_rows_slide_and_then_columns_once_in_silence_when_it_is_seen(show):
    page = show(alive("reorder"))
    page.evaluate(HEARD)
    states = [[False] * 3, [True, False, False], [True] * 3]
    checked = """() => [...document.querySelector('[label]').shadowRoot.querySelectorAll('input')]
                      .map(e => e.checked)"""
    for state in states[1:]:
        page.wait_for_function(f"({checked})().join() === '{','.join(map(str, state)).lower()}'")
        moving = page.locator("[label]").evaluate("e => e.shadowRoot.getAnimations().length")
        assert moving > 0
    assert "“<i> </script> dog”" in said(page)
    assert {*page.evaluate("document.querySelector('[label]').heard")} == {"off"}
    page.get_by_role("switch", name="keys").press("Space")
    assert "3 of 3 outputs change" in said(page)
    quiet = show(alive("reorder"), motion="reduce")
    quiet.wait_for_timeout(300)
    assert quiet.evaluate(checked) == states[0]


def test_a_single_query_stays(show):
    given = REORDER | {"query": REORDER["query"][:1]}
    figure = interactive.reorder(**given, words=WORDS, asks=["dog"], order=ORDER).to_html()
    page = show(figure, motion="reduce")
    output = page.locator(".output > span").inner_text()
    assert page.get_by_role("switch").count() == 2
    page.get_by_role("switch", name="keys").press("Space")
    assert "the output changes" in said(page)
    page.get_by_role("switch", name="values").press("Space")
    assert page.locator(".output > span").inner_text() == output and "nothing changes" in said(page)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"asks": ["dog", "<i>"]}, "asks must be all words or one of"),
        ({"query": REORDER["query"][:2]}, "got 2 queries, 3 keys and 3 values"),
        ({"order": [0, 0, 1]}, "must list each of 3 words once"),
        ({"key": REORDER["key"] / 0}, "key must be finite"),
    ],
)
def test_what_does_not_fit_is_refused(changed, message):
    given = REORDER | {"words": WORDS, "asks": WORDS, "order": ORDER} | changed
    with pytest.raises(ValueError, match=message):
        interactive.reorder(**given)
