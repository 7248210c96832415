"""The logit lens: guesses, probabilities and places are those that PyTorch computes."""

import browser
import examples
import pytest
import torch
from examples import PIECES, STAGES, alive, fits, numbers, percent, said
from playwright.sync_api import expect

browser.skip_without()
show = examples.show
CHANCES = STAGES.double().softmax(dim=-1)
NAMES = ["␣", "↵", *(piece.strip() for piece in PIECES[2:])]
WHEN = ["after the embedding", *(f"after block {block}" for block in range(3))]


def opened(show, **options):
    return show(alive("lens"), **{"motion": "reduce"} | options)


def place(stage, token):
    """Where the final guess is among all tokens, from 1."""
    order = STAGES[stage, token].argsort(descending=True).tolist()
    return 1 + order.index(STAGES[-1, token].argmax())


def test_every_stage_has_the_three_best_guesses_and_the_place_of_the_final_one(show):
    page = opened(show)
    for token in range(3):
        page.locator(".tokens button").nth(token).click()
        _, rows = numbers(page)
        assert list(rows) == WHEN
        final = STAGES[-1, token].argmax()
        for stage, cells in enumerate(rows.values()):
            best, guesses = CHANCES[stage, token].topk(3)
            expected = [
                f"{NAMES[g]} {percent(b.item())}" for g, b in zip(guesses, best, strict=True)
            ]
            expected.append(percent(CHANCES[stage, token, final].item()))
            assert cells == [*expected, str(place(stage, token))]


def test_each_token_shows_what_the_model_would_predict_if_it_stopped_there(show):
    page = opened(show)
    assert page.locator(".title output").inner_text() == WHEN[3], "nothing moves, so it is the end"
    for stage in (3, 2, 1, 0):
        best, guesses = CHANCES[stage].max(dim=-1)
        assert page.locator(".guess").all_inner_texts() == [NAMES[guess] for guess in guesses]
        shares = page.locator(".tokens small").all_inner_texts()
        assert shares == [percent(share.item()) for share in best]
        shades = page.locator(".guess").evaluate_all(
            "all => all.map(e => +e.style.getPropertyValue('--share'))"
        )
        assert shades == pytest.approx(best.tolist(), abs=1e-4)
        finals = page.locator(".guess").evaluate_all(
            "all => all.map(e => e.classList.contains('final'))"
        )
        assert finals == [place(stage, token) == 1 for token in range(3)]
        assert page.locator(".title output").inner_text() == WHEN[stage]
        back = page.get_by_role("button", name="Back")
        assert back.get_attribute("aria-disabled") == str(stage == 0).lower()
        back.click(force=True)


def test_the_sentence_tells_the_guess_and_where_the_final_one_is(show):
    page = opened(show)
    guess = NAMES[STAGES[3, 2].argmax()]
    share = percent(CHANCES[3, 2].max().item())
    end = f"After block 2, the last token predicts “{guess}” ({share}). This is its final guess."
    assert said(page) == end
    page.locator(".tokens button").nth(1).click()
    page.get_by_role("button", name="Back").click()
    assert said(page).startswith("After block 1, the token “<i>” would predict “")
    assert said(page).endswith("This is already its final guess.")
    page.get_by_role("slider", name="Stage").press("Home")
    assert said(page).startswith("After the embedding, ")
    final = NAMES[STAGES[3, 1].argmax()]
    assert said(page).endswith(f"Its final guess, “{final}”, is in place {place(0, 1)}.")


def test_bars_show_the_probability_of_the_final_guess_or_its_place(show):
    page = opened(show)
    for token in range(3):
        page.locator(".tokens button").nth(token).click()
        final = STAGES[-1, token].argmax()
        places = torch.tensor([place(stage, token) for stage in range(4)])
        for view, right in (
            ("its probability", CHANCES[:, token, final]),
            ("its place among all tokens", 1 - places.log() / torch.tensor(40.0).log()),
        ):
            page.get_by_label("Show").select_option(label=view)
            heights = page.locator(".stage i").evaluate_all(
                "all => all.map(e => parseFloat(e.style.height) / 100)"
            )
            assert heights == pytest.approx(right.tolist(), abs=1e-3)
    best = page.locator(".stage").evaluate_all("all => all.map(e => e.classList.contains('best'))")
    assert best == (places == 1).tolist()


@pytest.mark.parametrize("width", [800, 390])
def test_the_slider_stands_below_the_bar_of_its_stage(show, width):
    page = opened(show, width=width)
    slider = page.get_by_role("slider", name="Stage")
    box = slider.bounding_box()
    for stage in (0, 1, 3):
        page.locator(".stage").nth(stage).click()
        assert slider.input_value() == str(stage)
        bar = page.locator(".stage.now").bounding_box()
        thumb = box["x"] + 8 + stage / 3 * (box["width"] - 16)
        assert bar["x"] + bar["width"] / 2 == pytest.approx(thumb, abs=1)


def test_it_plays_once_when_it_is_seen_until_somebody_does_something(show):
    far = f"<div style='height: 2000px'></div>{alive('lens')}"
    page = show(far)
    shown = page.locator(".title output")
    page.wait_for_timeout(1500)
    assert shown.inner_text() == WHEN[0]
    page.locator("[label]").scroll_into_view_if_needed()
    expect(shown).to_have_text(WHEN[3])
    page = show(alive("lens"))
    page.locator("[label]").evaluate("""figure => {
        const go = figure.go;
        figure.go = (stage) => {
          go.call(figure, stage);
          setTimeout(() => figure.shadowRoot.dispatchEvent(new Event("pointerdown")));
        }; }""")
    shown = page.locator(".title output")
    expect(shown).to_have_text(WHEN[1])
    page.wait_for_timeout(600)
    assert shown.inner_text() == WHEN[1]
    expect(page.locator(".said")).to_have_attribute("aria-live", "polite")


@pytest.mark.parametrize("width", [800, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_it_fits(show, width, scheme):
    body = f"<h1>Lens</h1>{alive('lens')}"
    page = show(body, width=width, scheme=scheme, motion="reduce")
    for stage in range(4):
        page.locator(".stage").nth(stage).click()
        assert browser.violations(page) == []
    assert fits(page)
