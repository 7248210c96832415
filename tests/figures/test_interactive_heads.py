"""Two heads in stages: numbers are those of the layer, and each stage shows its own part, large."""

import re

import browser
import examples
import pytest
import torch
from examples import OF_WORDS, PROJECTIONS, alive, close, fits, number, numbers, said

from attnbook.figures import interactive

browser.skip_without()
show = examples.show
STAGES = 6
ROOM = ".room > :not(.gone)"


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


def step_to(page, stage):
    page.locator(".tabs button").nth(stage).click()


def cells(page, selector):
    """The numbers of the cells that can be seen, as they stand beside or below each other."""
    texts = page.locator(f"{ROOM}{selector} .cell").all_inner_texts()
    return torch.tensor([number(text) for text in texts]).double()


def flying(page):
    """How many rows fly after a step."""
    return page.locator("[label]").evaluate(
        """figure => {
          figure.go(figure.step + 1);
          return figure.shadowRoot.querySelectorAll(".flies").length;
        }"""
    )


@pytest.mark.parametrize("word", range(4))
def test_every_row_is_that_of_the_layer(show, word):
    page = show(alive("heads"), motion="reduce")
    page.get_by_label("Word").select_option(str(word))
    _, rows = numbers(page)
    shown = [torch.tensor([number(t) for t in row if t]).double() for row in rows.values()]
    made, weights = layer(word)
    assert all(close(a, b) for a, b in zip(shown, [*made, *weights], strict=True))
    right = dict(zip(("x", "q", "k", "v", "joined", "output"), made, strict=True))

    def same(found, wanted):
        return torch.allclose(found, wanted, rtol=0, atol=0.051)

    hidden = page.locator(f"{ROOM}.other:not(.own) .cell").first
    assert hidden.evaluate("cell => getComputedStyle(cell).fontSize") == "0px", "only colour"
    for role in "xq":
        assert same(cells(page, f".{role}"), right[role])
    for stage in (0, 1, 3):
        step_to(page, stage)
        for role, W in (("k", PROJECTIONS[1]), ("v", PROJECTIONS[2])):
            of_all = (OF_WORDS @ W).double()  # of each word its half in head 1, then in head 2
            shown = cells(page, f".{role}:not(.falls)").view(2, 4, 3)
            assert same(shown, of_all.view(4, 2, 3).transpose(0, 1))
    texts = page.locator(f"{ROOM}.weight").all_inner_texts()
    assert [float(text.removesuffix(" ×")) for text in texts] == pytest.approx(
        torch.cat(weights).tolist(), abs=0.006
    )
    for stage in (3, 4, 5):
        step_to(page, stage)
        if stage == 3:
            arcs = page.locator(f"{ROOM}.arcs path").evaluate_all(
                "all => all.map(arc => Number(arc.getAttribute('stroke-width')))"
            )
            assert close(torch.tensor(arcs) * 2 / sum(arcs), torch.cat(weights)), (
                "as wide as weights"
            )
        assert same(cells(page, ".falls.v"), right["joined"])
    assert same(cells(page, ".x:not(.falls)").view(6, 6), PROJECTIONS[3].double())
    assert same(cells(page, ".x.falls"), right["output"])


@pytest.mark.parametrize("width", [390, 900])
def test_the_halves_part_into_the_heads_and_their_averages_meet_again(show, width):
    page = show(alive("heads"), motion="reduce", width=width)

    def boxes(selector):
        return [node.bounding_box() for node in page.locator(f"{ROOM}{selector}").all()]

    first, second = boxes(".q:not(.text)")
    assert second["x"] == pytest.approx(first["x"] + first["width"], abs=1), "one row"
    for role in "kv":
        rows = boxes(f".{role}:not(.text, .falls)")  # of all words in head 1, then in head 2
        assert [box["y"] for box in rows[:4]] == [box["y"] for box in rows[4:]], "side by side"
    for stage in range(1, 5):
        step_to(page, stage)
        heads = boxes(".head")
        for half, head in zip(boxes(".q:not(.text)"), heads, strict=True):
            assert head["x"] < half["x"] < half["x"] + half["width"] < head["x"] + head["width"]
            assert head["y"] < half["y"] < head["y"] + head["height"]
        assert fits(page)
    joined = boxes(".falls.v")
    assert len({round(box["y"]) for box in joined}) == 1, "one row below both heads"
    assert joined[0]["y"] > max(head["y"] + head["height"] for head in heads)
    step_to(page, 5)
    joined, rows = boxes(".falls.v"), boxes(".x:not(.falls)")
    assert [box["y"] for box in joined] == pytest.approx([box["y"] for box in rows], abs=1)
    assert boxes(".head") == []


def test_stages_are_gone_through_by_keyboard_and_each_says_something_else(show):
    page = show(alive("heads"), motion="reduce")
    lit = "all => all.map(tab => tab.getAttribute('aria-pressed')).indexOf('true')"
    forward, back = (page.get_by_role("button", name=name) for name in ("next", "back"))
    spoken = set()
    for stage in range(STAGES):
        assert page.locator(".tabs button").evaluate_all(lit) == stage
        spoken.add(said(page))
        forward.press("Enter")  # the last one changes nothing
    assert len(spoken) == STAGES and forward.get_attribute("aria-disabled") == "true"
    back.click()
    assert page.locator(".tabs button").evaluate_all(lit) == STAGES - 2
    page.get_by_role("button", name="1 project").click()
    assert page.locator(".tabs button").evaluate_all(lit) == 0


def test_rows_fly_into_their_sum_unless_nothing_may_move(show):
    page = show(alive("heads"))
    page.get_by_role("button", name="pause").click()
    for stage, rows in ((2, 0), (3, 8), (4, 0), (5, 6)):
        step_to(page, stage - 1)
        page.locator(".flies").first.wait_for(state="detached")
        assert flying(page) == rows
    page.locator(".flies").first.wait_for(state="detached")
    quiet = show(alive("heads"), motion="reduce")
    quiet.wait_for_timeout(300)
    assert quiet.get_by_role("button", name="pause").count() == 0
    step_to(quiet, 2)
    assert flying(quiet) == 0


def test_it_plays_once_when_it_is_seen_and_stops_when_somebody_chooses(show):
    page = show(alive("heads"))
    page.get_by_text("Nothing is computed").wait_for()
    page.get_by_label("Word").select_option("0")
    page.get_by_role("button", name="play").wait_for()
    before = said(page)
    page.wait_for_timeout(3500)
    assert said(page) == before


def test_what_does_not_fit_is_refused():
    given = {
        "tokens": [*"abcd"],
        "jobs": ["x", "y"],
        "features": {"a": 6},
        "gives": {"b": 6},
        "asks": "a",
        "alt": "",
    }
    for changed, message in (
        ({"tokens": ["a"]}, "needs 4 tokens"),
        ({"features": {"a": 5}}, "need 6 columns"),
        ({"gives": {"a": 5}}, "need 6 columns"),
        ({"asks": "e"}, "got 'e'"),
        ({"jobs": ["x"]}, "each of 2 heads has a job: got ['x']"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            interactive.heads(OF_WORDS, PROJECTIONS, **given | changed)
