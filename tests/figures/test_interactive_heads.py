"""Two heads in stages: numbers are those of the layer, and one stage at a time is lit."""

import browser
import examples
import pytest
import torch
from examples import OF_WORDS, PROJECTIONS, alive, close, number, numbers, said

from attnbook.figures import interactive

browser.skip_without()
show = examples.show


def layer(word):
    """The rows of a token, and its weights in two heads, by their definition."""
    x, (W_Q, W_K, W_V, W_O) = OF_WORDS.double(), (p.double() for p in PROJECTIONS)
    found, weights = [], []
    for own in (slice(0, 3), slice(3, 6)):
        scores = (x @ W_Q[:, own]) @ (x @ W_K[:, own]).T
        weights.append(scores.softmax(dim=-1)[word])
        found.append(weights[-1] @ (x @ W_V[:, own]))
    joined = torch.cat(found)
    return [*(x[word] @ W for W in (torch.eye(6).double(), W_Q, W_K, W_V)), joined,
            joined @ W_O], weights  # fmt: skip


@pytest.mark.parametrize("word", range(4))
def test_every_row_is_that_of_the_layer(show, word):
    page = show(alive("heads"))
    page.get_by_label("Word").select_option(str(word))
    _, rows = numbers(page)
    shown = [torch.tensor([number(t) for t in row if t]).double() for row in rows.values()]
    made, weights = layer(word)
    assert all(close(a, b) for a, b in zip(shown, [*made, *weights], strict=True))
    cells = page.locator(".stage").last.locator(".cell").all_inner_texts()
    right = torch.tensor([number(text) for text in cells]).double()
    assert torch.allclose(right, made[-1], rtol=0, atol=0.051)
    best = [share.max().item() for share in weights]
    terms = page.locator(".term").all_inner_texts()
    assert [float(term.split()[0]) for term in terms] == pytest.approx(best, abs=0.006)


def test_one_stage_is_lit_and_its_numbers_travel_unless_nothing_may_move(show):
    page = show(alive("heads"))
    lit = "all => all.map(stage => stage.classList.contains('now')).indexOf(true)"
    moving = "e => e.shadowRoot.getAnimations().length"
    forward, back = (page.get_by_role("button", name=name) for name in ("next", "back"))
    spoken = set()
    for stage in range(5):
        assert page.locator(".stage").evaluate_all(lit) == stage
        assert page.locator(".stage.now").count() == 1
        assert page.locator('[aria-pressed="true"]').count() == 1
        assert (page.locator("[label]").first.evaluate(moving) > 0) == (stage > 0)
        spoken.add(said(page))
        forward.press("Enter")  # the last one changes nothing
    assert len(spoken) == 5 and page.locator(".stage").evaluate_all(lit) == 4
    assert forward.get_attribute("aria-disabled") == "true"
    back.click()
    assert page.locator(".stage").evaluate_all(lit) == 3
    page.get_by_role("button", name="1 project").click()
    assert page.locator(".stage").evaluate_all(lit) == 0
    quiet = show(alive("heads"), motion="reduce")
    quiet.get_by_role("button", name="next").click()
    assert quiet.locator("[label]").first.evaluate(moving) == 0


def test_what_does_not_fit_is_refused():
    given = {
        "tokens": [*"abcd"],
        "jobs": ["x", "y"],
        "features": {"a": 6},
        "asks": "a",
        "alt": "",
    }
    for changed, message in (
        ({"tokens": ["a"]}, "needs 4 tokens"),
        ({"features": {"a": 5}}, "must have 6 columns"),
        ({"asks": "e"}, "got 'e'"),
    ):
        with pytest.raises(ValueError, match=message):
            interactive.heads(OF_WORDS, PROJECTIONS, **given | changed)
