"""Layer norm in two motions: bars are the features at each step, to one scale."""

import browser
import examples
import pytest
import torch
from examples import alive, number, said, values

browser.skip_without()
show = examples.show
TOKEN = torch.tensor([3.0, 9.0, 11.0, 17.0])
STEPS = torch.stack([TOKEN, TOKEN - 10, torch.nn.functional.layer_norm(TOKEN, (4,))])
PLACES = """plot => {
  const at = (node) => node.getBoundingClientRect();
  const zero = at(plot.querySelector(".zero")).top + 1;
  return [...plot.querySelectorAll(".bar")].map(at).map(({ top, bottom }) =>
    (zero - top > bottom - zero ? zero - top : zero - bottom));
}"""  # how far each bar reaches above the line of 0


@pytest.mark.parametrize("width", [390, 900])
def test_bars_and_numbers_are_the_features_at_each_step(show, width):
    page = show(alive("layer_norm"), motion="reduce", width=width)
    for step, right in enumerate(STEPS):
        heights = torch.tensor(page.locator(".plot").evaluate(PLACES))
        assert torch.allclose(heights, 150 / 24 * right, atol=1)
        shown = [number(text) for text in page.locator(".number").all_inner_texts()]
        assert shown == pytest.approx(right.tolist(), abs=0.051)
        assert page.locator(".steps .now").count() == 1
        spread = page.locator(".spread")
        assert ("away" in spread.get_attribute("class")) == (step == 0)
        if step:
            high = spread.bounding_box()["height"]
            assert high == pytest.approx(2 * 150 / 24 * (5, 1)[step - 1], abs=1)
        page.get_by_role("button", name="next").press("Enter")
    assert torch.allclose(values(page), STEPS.double(), atol=1e-3)


def test_it_plays_once_when_it_is_seen_and_bars_move_on_the_way(show):
    page = show(alive("layer_norm"))
    page.get_by_text("so σ\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}5.").wait_for()
    page.get_by_text("Each feature is divided by σ.").wait_for()
    page.get_by_role("button", name="back").click()
    assert said(page).startswith("μ is subtracted")
    at = page.evaluate("document.querySelector('[label]').at")
    assert 1 < at <= 2, "it is on its way"
    page.wait_for_function("document.querySelector('[label]').at === 1")
