"""One token on its way through self-attention: every number is PyTorch's, and is explained so."""

import re

import browser
import examples
import pytest
import torch
import torch.nn.functional as F
from examples import PAPER, alive, close, number, numbers, press, said, swipe

from attnbook.figures import interactive

browser.skip_without()
show = examples.show


STEPS = {"x": 0, "q": 1, "k": 1, "v": 1, "score": 2, "scaled": 3, "weight": 4, "output": 5}


def random_tokens(tokens, d_model, d_k, d_v):
    generator = torch.Generator().manual_seed(tokens)
    shapes = (tokens, d_model), (d_model, d_k), (d_model, d_k), (d_model, d_v)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def way(x, W_Q, W_K, W_V, follow):
    """What PyTorch computes on the way of a token, and for all tokens their queries."""
    x, W_Q, W_K, W_V = (tensor.double() for tensor in (x, W_Q, W_K, W_V))
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    score = k @ q[follow]
    scaled = score / k.shape[-1] ** 0.5
    output = F.scaled_dot_product_attention(q[None], k[None], v[None])[0, follow]
    numbers = {"x": x, "q": q[follow], "k": k, "v": v, "score": score, "scaled": scaled}
    return numbers | {"weight": scaled.softmax(dim=-1), "output": output}, q


def as_shown(value):
    """Whole numbers as they are, others with as many digits as there is room for."""
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    text = f"{value:.0f}" if abs(value - round(value)) < 1e-9 else f"{value:.{digits}f}"
    return text.replace("-", "−")


def cells(page):
    """The cells of the picture by kind, as texts in the shape of what they show."""
    found = page.locator(".flow .cell").evaluate_all(
        "all => all.map(e => [e.getAttribute('aria-label'), e.textContent])"
    )
    shown = {}
    for label, text in found:
        kind = re.match(r"[a-z]+", label)[0]
        assert label.endswith(f": {text}")
        shown.setdefault(kind, []).append(text)
    return shown


def read_aloud(page):
    """The names of the cells in the accessibility tree."""
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    buttons = [n for n in tree if not n["ignored"] and n["role"]["value"] == "button"]
    names = [button["name"]["value"] for button in buttons]
    return [name for name in names if re.match(r"[a-z]+[₁₂₃₄₅₆].*: ", name)]


def go(page, step):
    page.locator(".names button").nth(step).click()


def follow(page, i):
    page.locator(".controls button").nth(i).click()


@pytest.mark.parametrize(
    "tensors",
    [PAPER, random_tokens(6, 4, 4, 4), random_tokens(2, 1, 1, 3)],
    ids=["paper", "largest", "smallest"],
)
def test_every_number_on_the_way_of_every_token_is_pytorchs(show, tensors):
    n = len(tensors[0])
    names = [f"t{i}" for i in range(n)]
    page = show(interactive.token(*tensors, tokens=names, follow=n - 1, alt="x").to_html())
    go(page, 6)
    for i in [n - 1, *range(n - 1)]:
        if i < n - 1:
            follow(page, i)
        right, queries = way(*tensors, i)
        shown = cells(page)
        assert {*shown} == {*STEPS}
        for kind, values in right.items():
            assert shown[kind] == [as_shown(value) for value in values.flatten().tolist()], kind
        _, rows = numbers(page)
        *inside, last = rows.values()
        columns = [right["x"], queries, right["k"]]
        columns += [right[name][:, None] for name in ("score", "scaled", "weight")] + [right["v"]]
        table = torch.tensor([[number(text) for text in row] for row in inside])
        assert close(table, torch.cat(columns, dim=-1))
        assert close(torch.tensor([number(text) for text in last if text]), right["output"])


def test_a_number_appears_in_its_step_and_stays(show):
    page = show(alive("token"))
    for step in [*range(7), 3, 0]:
        go(page, step)
        shown = {kind for kind, texts in cells(page).items() if all(texts)}
        assert shown == {kind for kind, first in STEPS.items() if first <= step}
        assert all(
            text == "" for k, texts in cells(page).items() if k not in shown for text in texts
        )
        lit = page.locator(".flow .lit").evaluate_all("all => all.map(e => e.ariaLabel)")
        newest = {kind for kind, first in STEPS.items() if first == step}
        assert newest <= {re.match("[a-z]+", label)[0] for label in lit}
        assert len(read_aloud(page)) == sum(len(cells(page)[kind]) for kind in shown)


def test_it_plays_once_to_the_output_unless_somebody_presses_a_step(show):
    page = show(alive("token"))
    page.locator(".said", has_text=STEPS_SAY[6]).wait_for(timeout=20_000)
    page = show(alive("token"))
    go(page, 2)
    page.wait_for_timeout(3_000)
    assert STEPS_SAY[2] in said(page)


def test_it_opens_with_query_keys_and_values_and_prints_its_last_step(show):
    page = show(alive("token"), motion="reduce")
    assert STEPS_SAY[1] in said(page)
    assert page.locator(".lens .cell").count() == 12
    page.emulate_media(media="print")
    page.locator(".said", has_text=STEPS_SAY[6]).wait_for()
    assert all(text for texts in cells(page).values() for text in texts)
    page.emulate_media(media="screen")
    page.locator(".said", has_text=STEPS_SAY[1]).wait_for()


def test_no_heading_stands_between_a_column_and_another_ones_heading(show):
    page = show(alive("token"))
    top = {
        name: page.locator(selector).first.bounding_box()["y"]
        for name, selector in {
            "query": ".side:not(.token)",
            "heading": ".head",
            "x": '.cell[aria-label^="x₁"]',
        }.items()
    }
    assert top["query"] < top["heading"] < top["x"]


STEPS_SAY = (
    "The vector of <i>₂ is x₂ = (0, 1).",
    "q₂ = x₂ WQ = (0, 1, 0, 1).",
    "q₂ · k₄ = 0·0 + 1·2 + 0·2 + 1·2 = 4.",
    "For a name t…₄, 4 ÷ √4 = 2.",
    "For a name t…₄, e^2 = 7.39. Divided by 13.83, the sum of all 4 powers, this gives 0.53.",
    "Number 1 is 0.07·3 + 0.20·1 + 0.20·4 + 0.53·2 = 2.27.",
    "<i>₂ came in as (0, 1) and leaves as (2.27, 2.92), a mixture of all values. The largest "
    "share, 0.53, comes from a name t…₄.",
)


IN_FOCUS = "e => e.shadowRoot.activeElement.getAttribute('aria-current')"


def test_all_steps_are_walked_by_keyboard_alone(show):
    page = show(alive("token"))

    def at(step):
        current = page.locator('.names [aria-current="step"]')
        return STEPS_SAY[step] in said(page) and current.count() == 1

    press(page, *["Tab"] * 6)  # the tokens, Back, the steps
    assert at(1)
    page.keyboard.press("Home")
    assert at(0)
    for step in range(1, 7):
        page.keyboard.press("ArrowRight")
        assert at(step), step
        assert page.locator("[label]").evaluate(IN_FOCUS) == "step"
    page.keyboard.press("ArrowRight")  # there is nothing after the last
    assert at(6)
    page.keyboard.press("Home")
    assert at(0)
    page.keyboard.press("Tab")  # Next
    for step in range(1, 7):
        page.keyboard.press("Enter")
        assert at(step), step
    assert page.get_by_role("button", name="Next").get_attribute("aria-disabled") == "true"
    page.keyboard.press("Tab")  # into the picture
    page.keyboard.press("ArrowUp")
    assert "<i>₂" not in said(page) and "the₁ is x₁ = (1, 0)." in said(page)
    page.locator('.cell[aria-label^="scaled₃"]').focus()
    page.keyboard.press("ArrowLeft")
    assert "q₂ · k₃ = 0·1 + 1·1 + 0·2 + 1·1 = 2." in said(page)
    page.get_by_role("button", name="Back").press("Enter")
    assert at(5)


def test_a_number_that_is_pointed_at_shows_how_it_was_computed(show):
    tensors = random_tokens(5, 3, 4, 2)
    page = show(interactive.token(*tensors, tokens="abcde", follow=1, alt="x").to_html())
    go(page, 6)
    right, _ = way(*tensors, 1)
    W_K = tensors[2].double()

    def opens(label, a, b, result):
        """The sentence has these products and their sum, and so has the row below."""
        page.locator(f'.cell[aria-label^="{label}"]').hover()
        factors = [
            "·".join(f"({t})" if t.startswith("−") else t for t in map(as_shown, pair))
            for pair in zip(a.tolist(), b.tolist(), strict=True)
        ]
        assert f"{' + '.join(factors)} = {as_shown(result.item())}." in said(page)
        used = page.locator(".flow .used").evaluate_all("all => all.map(e => e.textContent)")
        lens = page.locator(".lens .cell").all_inner_texts()
        return used, lens

    def shown(*rows):
        return [as_shown(value) for row in rows for value in row.tolist()]

    q, k, score = right["q"], right["k"][3], right["score"][3]
    assert opens("score₄", q, k, score) == (shown(q, k), shown(q, k, q * k))
    assert page.locator(".lens b").last.inner_text() == f"= {as_shown(score.item())}"
    weight, v = right["weight"], right["v"][:, 1]
    used, lens = opens("output₂, number 2", weight, v, right["output"][1])
    assert lens == shown(weight, v, weight * v) and sorted(used) == sorted(shown(weight, v))
    x = right["x"][3]
    assert opens("k₄, number 3", x, W_K[:, 2], k[2]) == (shown(x), shown(*W_K, k))
    page.locator('.cell[aria-label^="weight₃"]').hover()
    scores = right["scaled"]
    least = scores.max() if not 0 <= scores.max() <= 6 else 0
    powers = (scores - least).exp()
    assert f"{powers.sum():.2f}, the sum of all 5 powers, this gives {weight[2]:.2f}" in said(page)
    page.mouse.move(1, 1)
    assert "came in as" in said(page)


def test_steps_and_numbers_are_chosen_by_finger(show):
    page = show(alive("token"), width=390)

    def tap(locator):
        box = locator.bounding_box()
        swipe(page, (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2), (0, 0))

    for step in (2, 3):
        tap(page.get_by_role("button", name="Next"))
        page.locator(".said", has_text=STEPS_SAY[step]).wait_for()
    tap(page.locator('.cell[aria-label^="score₃"]'))
    page.locator(".said", has_text="q₂ · k₃ = 0·1 + 1·1 + 0·2 + 1·1 = 2.").wait_for()


def test_weights_of_scores_as_large_as_fit_are_numbers(show):
    x = torch.tensor([[1.0], [-1.0]])
    one = torch.tensor([[1.0]])
    page = show(interactive.token(x, 900 * one, one, one, tokens="ab", alt="x").to_html())
    go(page, 4)
    assert cells(page)["weight"] == ["0", "1"]
    assert "For b₂, e^0 = 1. Divided by 1.00, the sum of all 2 powers, this gives 1." in said(page)
