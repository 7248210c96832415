"""One head mixes two words by its weights, and two heads keep them apart, in both sentences."""

import browser
import examples
import pytest
from examples import alive, number, numbers, said

from attnbook.figures import interactive

browser.skip_without()
show = examples.show
# how wide each ribbon is, where it starts and where it ends
RIBBONS = """all => all.flatMap(e => {
  const n = e.getAttribute('d').match(/-?[\\d.]+/g).map(Number);
  return [n[13] - n[0], n[8] - n[6]];
})"""


def hues(page, selector):
    """How much of the first noun's colour each box has, from above and from the left."""
    found = page.locator(selector).evaluate_all(
        """all => all.map(e => [e.y.baseVal.value, e.x.baseVal.value,
                                parseFloat(e.style.getPropertyValue('--first')) / 100])"""
    )
    return [first for *_, first in sorted(found)]


def shown(page):
    return page.locator("svg text").all_text_contents()


@pytest.mark.parametrize("width", [390, 700])
def test_one_head_gives_a_mixture_by_its_weights_and_two_heads_give_both_words(show, width):
    page = show(alive("one_head_or_two"), motion="reduce", width=width)
    slider = page.get_by_role("slider")
    for share in (0.5, 0.7, 1.0, 0.0, 0.5):
        slider.fill(str(share))
        rows = [
            [number(text.replace("½", "0.5")) for text in row] for row in numbers(page)[1].values()
        ]
        one, swapped = [share, 1 - share], [1 - share, share]
        assert rows == [
            pytest.approx(row) for row in (one, [1, 0], [0, 1], swapped, [0, 1], [1, 0])
        ]
        assert hues(page, ".two .filled") == [1, 0, 1, 0, 0, 1, 0, 1], "words and what arrives"
        assert hues(page, ".mixed") == pytest.approx([share, 1 - share])
        widths = page.locator(".ribbon").evaluate_all(RIBBONS)  # a weight of 1 is the last
        every = (*one, *one, 1, 1, 1, 1)
        assert widths == pytest.approx([widths[-1] * w for w in every for _ in "ab"])
        assert any("= the same mixture" in text for text in shown(page)) == (share == 0.5)
        assert (
            "the same mixture" in said(page)
            if share == 0.5
            else "differ" in said(page) or share in (0, 1)
        )
    assert "½ dog + ½ <i>" in shown(page) and "½ <i> + ½ dog" in shown(page)
    slider.press("ArrowRight")
    assert "0.6 dog + 0.4 <i>" in shown(page) and "≠ two mixtures" in shown(page)


def test_words_go_to_what_the_verb_gets_once_when_seen_and_again(show):
    page = show(alive("one_head_or_two"))
    mixed = "e => e.shadowRoot.textContent.includes('½ dog + ½ <i>')"
    figure = page.locator("[label]")
    page.wait_for_function(f"!({mixed})(document.querySelector('[label]'))")
    page.wait_for_function(f"({mixed})(document.querySelector('[label]'))")
    page.wait_for_timeout(300)
    assert figure.evaluate(mixed)
    page.get_by_role("button", name="Mix again").click()
    assert not figure.evaluate(mixed)
    page.get_by_role("slider").press("End")  # whoever acts need not wait
    page.wait_for_timeout(100)
    assert "≠ the first word only" in shown(page)
    quiet = show(alive("one_head_or_two"), motion="reduce")
    quiet.get_by_role("button", name="Mix again").click()
    assert quiet.locator("[label]").evaluate(mixed)


def test_there_are_three_words_and_two_questions():
    with pytest.raises(ValueError, match="got 2 words and 1 questions"):
        interactive.one_head_or_two(["a", "b"], questions=["c"], asks="d")
