"""Softmax block by block: each sum is that of its definition, the last output that of softmax."""

import browser
import examples
import pytest
import torch
from examples import HANDED, SCORES, alive, close, numbers, said, values

browser.skip_without()
show = examples.show


def after_each_block(size, corrected=True):
    """The largest score so far, and what stands in the other columns, by its definition."""
    rows = []
    for n in range(0, len(SCORES), size):
        old, seen = SCORES[:n].double(), SCORES[: n + size].double()
        m = seen.max()
        factor = (old.max() - m).exp() if n else torch.tensor(0.0)
        parts = (seen - m).exp()
        below, above = parts.sum(), parts @ HANDED[: n + size].double()
        if not corrected and n:
            factor = torch.tensor(1.0)
            below = rows[-1][2] + parts[n:].sum()
            above = rows[-1][3] + parts[n:] @ HANDED[n : n + size].double()
        rows.append(torch.stack([m, factor, below, above, above / below]))
    return torch.stack(rows)


def test_a_softmax_is_followed_block_by_block(show):
    page = show(alive("online_softmax"))
    whole = (SCORES.softmax(dim=0) @ HANDED).item()
    lines, now = page.locator(".sums b"), page.locator(".keys .now")

    def stands(size, block, corrected=True):
        right = after_each_block(size, corrected)
        assert numbers(page)[0] == ["m", "factor", "ℓ", "a", "a ÷ ℓ"]
        assert close(values(page), right)
        m, *_, output = right[block].tolist()
        ends = [line.split("=")[-1].strip() for line in lines.all_inner_texts()]
        shown = [f"{number:.2f}".replace("-", "−") for number in right[block].tolist()]
        shown[1] = "nothing to correct" if block == 0 else shown[1]
        assert ends == shown if corrected else ends[2:] == shown[2:]
        new = (SCORES[block * size : (block + 1) * size] - m).exp()
        parts = [text.split("= ")[-1].strip() for text in now.all_inner_texts()]
        assert parts == [f"{part:.2f}" for part in new]
        blocks = -(-len(SCORES) // size)
        assert said(page).startswith(f"Block {block + 1} of {blocks}. ")
        ending = f"So far the output is {output:.2f}."
        if block == blocks - 1:
            ending = (
                f"The output is {output:.2f}, the same as from softmax over all scores at once."
            )
            if not corrected:
                ending = f"{output:.2f}; softmax over all scores at once gives {whole:.2f}."
        assert said(page).endswith(ending.replace("-", "−"))

    assert after_each_block(2)[-1, -1].item() == pytest.approx(whole)
    next_block = page.get_by_role("button", name="next")
    for block in range(4):
        stands(2, block)
        next_block.press("Enter")  # the last one changes nothing
    stands(2, 3)
    assert next_block.get_attribute("aria-disabled") == "true"
    page.get_by_role("button", name="back").click()
    stands(2, 2)
    page.get_by_role("switch", name="leave the old sums").press("Space")
    stands(2, 2, corrected=False)
    next_block.click()
    stands(2, 3, corrected=False)
    page.get_by_role("switch", name="leave the old sums").click()
    size = page.get_by_label("Scores per block")
    size.select_option("all 7")
    stands(7, 0)
    size.select_option("1")
    next_block.click()
    stands(1, 1)
