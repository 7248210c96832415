"""Lessons of a sentence: training predicts all rows in one pass, and writing one row a pass."""

import browser
import examples
from examples import LESSONS, alive, numbers, percent, said

browser.skip_without()
show = examples.show
COUNT = len(LESSONS["says"])
MASKED = 1  # the step at which the mask is there and nothing is predicted
AT_FIRST = 3  # passes that are shown before anybody presses
ROWS = """panel => {
  const rows = [...panel.querySelectorAll(".chance")].map(() => []);
  for (const cell of panel.querySelectorAll(".cell"))
    rows[parseInt(cell.style.gridRowStart) - 1]
      .push([cell.className.replace("cell ", ""), cell.textContent]);
  return rows;
}"""


def rows(page, panel):
    """What each row of a panel shows: of each token its kind and its text."""
    return page.locator(f".{panel}").evaluate(ROWS)


def chances(page, panel):
    """The probabilities that a panel shows; a row that predicts nothing has none."""
    return [text for text in page.locator(f".{panel} .chance").all_inner_texts() if text]


def at(page, step):
    page.evaluate("step => document.querySelector('[label]').go(step)", step)


def test_training_predicts_all_rows_in_the_first_pass_and_writing_one_row_in_each(show):
    page = show(alive("lessons"), motion="reduce")
    at(page, MASKED)
    right = [*map(percent, LESSONS["chances"].tolist())]
    following = page.get_by_role("button", name="next")
    for passes in range(COUNT + 1):
        assert chances(page, "training") == (right if passes else [])
        assert chances(page, "writing") == right[:passes]
        training, writing = rows(page, "training"), rows(page, "writing")
        for t in range(COUNT):
            reads = LESSONS["reads"][: t + 1]
            kind = "guess" if passes else "asked"
            assert training[t][: t + 2] == [["read", token] for token in reads] + [
                [kind, LESSONS["says"][t]]
            ]
            kinds = ["read", *["own"] * t] if t <= passes else ["open"] * (t + 1)
            kinds += ["guess" if t < passes else "open"] + ["open"] * (COUNT - 1 - t)
            assert [kind for kind, _ in writing[t]] == kinds
            assert [token for _, token in writing[t]] == [*LESSONS["reads"], LESSONS["says"][-1]]
        assert page.locator(".pass.now").count() == (2 if passes == 1 else min(passes, 1))
        arrows = page.locator(".down:visible")  # from what a row predicts to the row that reads it
        assert arrows.count() == (COUNT - 1 if passes else 0)
        assert page.get_by_text("causal mask").is_visible()
        following.press("Enter")
    assert said(page).startswith(f"After {COUNT} passes, ")
    assert following.get_attribute("aria-disabled") == "true"


def test_the_mask_covers_what_comes_after_the_token_to_predict_and_is_not_there_at_first(show):
    page = show(alive("lessons"), motion="reduce")
    covered = """panel => [...panel.querySelectorAll(".sheet")].map(sheet => {
      const box = sheet.getBoundingClientRect();
      const row = [...panel.querySelectorAll(".cell")]
        .filter(cell => Math.abs(cell.getBoundingClientRect().top - box.top) < 2);
      return row.filter(cell => cell.getBoundingClientRect().left > box.left - 2).length;
    })"""
    cover = page.locator(".training").evaluate(covered)
    assert cover == [COUNT - 1 - t for t in range(COUNT - 1)] + [0]
    cover = page.locator(".writing").evaluate(covered)  # what is not written: rows 4 and 5, too
    assert cover == [COUNT - 1, COUNT - 2, COUNT - 3, COUNT - 3, COUNT + 1]
    assert page.locator(".sheet.away").count() == 0
    at(page, 0)
    assert page.locator(".training .sheet.away").count() == COUNT
    answers = page.locator(".training .answer").all_inner_texts()
    assert answers == LESSONS["says"] and "could read its answer" in said(page)


def test_it_opens_after_a_few_passes_and_its_table_has_all_lessons(show):
    page = show(alive("lessons"), motion="reduce")
    page.wait_for_timeout(500)
    assert said(page).startswith(f"Pass {AT_FIRST}: writing predicts “{LESSONS['says'][2]}”")
    heading, table = numbers(page)
    assert heading == ["reads", "predicts", "probability"]
    assert table == {
        str(t + 1): [
            " ".join(LESSONS["reads"][: t + 1]),
            LESSONS["says"][t],
            f"{LESSONS['chances'][t]:.3f}",
        ]
        for t in range(COUNT)
    }


def test_it_plays_once_when_it_is_seen_and_stops_when_somebody_steps(show):
    page = show(alive("lessons"))
    page.get_by_text("In training, the correct translation").wait_for()
    page.get_by_text("Pass 1: ").wait_for()
    page.get_by_role("button", name="back").click()
    assert said(page).startswith("The mask hides")
    page.wait_for_timeout(1500)
    assert said(page).startswith("The mask hides")
    page.get_by_role("button", name="next").click()
    moving = "document.querySelector('[label]').shadowRoot.getAnimations().length"
    assert page.evaluate(moving) > COUNT, "what is predicted appears, and drops into the next row"
