"""Slides, which need what grades assignments, shown in a browser."""

import re

import nbformat
from classroom import run
from conftest import ROOT

from attncourse.pages.timing import without_exercises

EACH_SLIDE = """
[...document.querySelectorAll(".slides > section")].map((_, i) => {
  Reveal.slide(i);
  const s = Reveal.getCurrentSlide();
  const over = Math.max(s.scrollHeight - s.clientHeight, s.scrollWidth - s.clientWidth);
  return [over, s.innerText, s.querySelectorAll(".body > *").length];
})
"""


def test_slides_show_every_drawing_and_ask_each_vote_without_a_network(tmp_path, chromium):
    """One deck in a browser: a slide for what is shown, two for a poll, nothing cut off."""
    run(ROOT, "python", "-m", "attncourse", "slides", str(tmp_path), "2")
    chapter = nbformat.read(ROOT / "chapters/02-queries-keys-values.ipynb", as_version=4)
    cells = without_exercises(chapter)
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(error))
    page.goto((tmp_path / "02-queries-keys-values.html").as_uri())
    page.wait_for_function("Reveal.isReady()")
    drawings = [
        cell
        for cell in cells
        if any("image/svg+xml" in o.get("data", {}) for o in cell.get("outputs", []))
    ]
    assert page.locator(".body > svg").count() == len(drawings) > 3
    polls = [cell for cell in cells if "predict" in cell.metadata.get("tags", [])]
    assert (
        page.locator("section.poll").count()
        == page.locator("section.answer .right").count()
        == len(polls)
        > 3
    )
    assert (
        page.locator("section.code").count()
        == sum("slide" in cell.metadata.get("tags", []) for cell in cells)
        > 0
    )
    # no text begins with a sentence that needs the one before it
    leads = page.locator("section.figure .lead, section.formula .lead").all_text_contents()
    hanging = re.compile(r"(It|This|They|These|That|Then|Instead|Therefore)\b|A score then")
    assert len(leads) > 5 and not [lead for lead in leads if hanging.match(lead)]
    mended = page.locator("section.mended .hll").all_text_contents()
    assert [line.strip() for line in mended] == ["weights = scores.softmax(dim=-1)  # 2"]
    assert page.locator("section.broken .picture img").count() == 1
    for i, (over, text, shown) in enumerate(page.evaluate(EACH_SLIDE)):
        assert over <= 1 and (text.strip() or shown), i
        assert "$" not in text and "](" not in text, i
    assert len(asked) == 1 and not errors
    page.close()
