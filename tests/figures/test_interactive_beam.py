"""A beam beside greedy search: all its beginnings are shown, and those that are dropped fade."""

import browser
import examples
import pytest
from examples import TREE, alive, number, numbers, said

from attnbook.figures import interactive

browser.skip_without()
show = examples.show
JOINED = """figure => figure.lines.map((all, t) => all.map((pair, r) => {
  const line = pair.find(line => line.checkVisibility());
  const before = figure.nodes[t][t ? figure.data.steps[t][r].before : 0];
  return [[before, 0], [figure.nodes[t + 1][r], line.getTotalLength()]].every(([node, at]) => {
    const { left, right, top, bottom } = node.getBoundingClientRect();
    const { x, y } = line.getPointAtLength(at).matrixTransform(line.getScreenCTM());
    return x > left - 2 && x < right + 2 && y > top - 2 && y < bottom + 2;
  });
}))"""


def boxes(page, kind):
    """The tokens and the numbers of the beginnings of a kind that can be seen."""
    texts = page.locator(f".node.{kind}:not(.later, .start)").all_inner_texts()
    return [(token, number(log_p)) for token, log_p in (text.split("\n") for text in texts)]


def right(kind, step):
    return [(one.token, one.log_p) for all in TREE[:step] for one in all if getattr(one, kind)]


@pytest.mark.parametrize("width", [390, 900])
def test_each_step_shows_its_beginnings_in_order_and_drops_those_that_are_not_kept(show, width):
    page = show(alive("beam"), motion="reduce", width=width)
    for step in (2, 1, 0):  # it opens at the end
        for kind in ("kept", "greedy", "best"):
            assert boxes(page, kind) == right(kind, step)
        dropped = [(one.token, one.log_p) for all in TREE[:step] for one in all if not one.kept]
        assert boxes(page, "dropped") == dropped
        way = page.locator("svg.wide" if width > 600 else "svg.narrow")
        assert way.is_visible()
        lines = way.locator("path:not(.later)")
        assert lines.count() == sum(map(len, TREE[:step]))
        assert page.locator(".written .ahead").count() == (step > 0)
        page.get_by_role("button", name="back").press("Enter")
    heading, rows = numbers(page)
    assert heading == [f"place {place}" for place in (1, 2, 3, 4)]
    assert rows["step 1"] == ["auf −1.80", ", −2.25", "vor −2.40 (dropped)"]


def test_it_says_so_if_greedy_search_ends_ahead(show):
    changed = [[one._replace(greedy=one.best, best=one.greedy) for one in all] for all in TREE]
    page = show(interactive.beam("x", changed, alt="").to_html(), motion="reduce")
    assert said(page).endswith("Greedy search, with −2.26, is not behind.")


@pytest.mark.parametrize("width", [390, 900])
def test_a_line_joins_each_beginning_to_what_it_continues(show, width):
    page = show(alive("beam"), motion="reduce", width=width)
    found = page.locator("[label]").evaluate(JOINED)
    assert found == [[True] * len(all) for all in TREE]


def test_it_says_who_is_ahead_and_plays_once_when_it_is_seen(show):
    page = show(alive("beam"))
    page.get_by_text("Both searches have written “… kniet”.").wait_for()
    page.get_by_text("But the beam keeps “,”, too.").wait_for()
    page.get_by_text("The beam ends with the log p −2.26.").wait_for()
    page.get_by_role("button", name="play").wait_for()
    page.get_by_role("button", name="back").click()
    page.get_by_role("button", name="next").click()
    moving = "document.querySelector('[label]').shadowRoot.getAnimations().length"
    assert page.evaluate(moving) > len(TREE[1]), "all leave what they continue"
    quiet = show(alive("beam"), motion="reduce")
    quiet.wait_for_timeout(300)
    assert said(quiet).startswith("The beam ends") and quiet.evaluate(moving) == 0


@pytest.mark.parametrize(
    ("first", "message"),
    [
        (TREE[0][:1], "step 1: one beginning must be greedy, and one the best"),
        (TREE[0][::-1], "step 1: the likeliest come first, and those kept before others"),
    ],
)
def test_a_step_that_does_not_show_both_searches_in_order_is_refused(first, message):
    with pytest.raises(ValueError, match=message):
        interactive.beam("a", [first], alt="")
