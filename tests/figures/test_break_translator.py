"""The translator in the page: equal to PyTorch's under every switch, and measured as it says."""

import html
import importlib.util
import json
import math
import re

import browser
import pytest
import torch
from conftest import ROOT

from attnbook import figure_assets
from attnbook.data import END, START, NumberDataset, collate
from attnbook.figures import interactive
from attnbook.figures.interactive.break_translator import MOST_WRITTEN, SWITCHES, held_out
from attnbook.interventions import SHUFFLED, broken
from attnbook.translator import NUMBERS_TO_FRENCH, Translator
from attncourse.pages import ablation_data

browser.skip_without()

NUMBERS = NumberDataset("en", "fr", below=100_000)
TRANSLATOR = Translator.load(NUMBERS_TO_FRENCH)
SINGLE = [
    {},
    *({"divisor": value} for value in ("off", "sqrt(d_model)")),
    *(
        {f"{place}_weights": value}
        for place in ("encoder", "decoder", "cross")
        for value in ("uniform", "first", "off")
    ),
    *({f"{place}_heads_off": [h]} for place in ("encoder", "decoder", "cross") for h in range(4)),
    *(
        {f"{side}_positions": value}
        for side in ("source", "target")
        for value in ("off", "shuffled")
    ),
    *({part: "off"} for part in ("causal_mask", "residual", "norm", "feed_forward")),
]
TOGETHER = [
    {"divisor": "off", "decoder_weights": "uniform", "causal_mask": "off"},
    {"encoder_weights": "first", "cross_heads_off": [0, 3], "target_positions": "shuffled"},
    {"source_positions": "off", "target_positions": "off"},
    {"residual": "off", "norm": "off"},
    {"cross_weights": "uniform", "cross_heads_off": [1], "feed_forward": "off"},
    {"encoder_heads_off": [0, 1, 2, 3], "divisor": "sqrt(d_model)", "norm": "off"},
]

# run by the page: what the model writes for each number, and its scores at all positions
IN_PAGE = """({ numbers, switches, tokens, most, targets }) => {
  const T = attnbook.translator;
  const model = { parameters: T.load(attnbook.numbers.weights), numHeads: 4 };
  const encode = (number) =>
    [...T.tokensOf(T.spell(number)).map((token) => tokens.indexOf(token)), T.END];
  const written = numbers.map((number) =>
    [...T.greedySearch(model, encode(number), { maxLength: most, switches })]
      .map(({ token }) => token));
  const logits = targets.map((target, i) => {
    const { memory } = T.encode(model, encode(numbers[i]), switches);
    return [...T.decode(model, target, memory, switches).logits.data];
  });
  return { written, logits };
}"""


@pytest.fixture(scope="module")
def context(chromium):
    context = chromium.new_context(offline=True, reduced_motion="reduce")
    yield context
    context.close()


@pytest.fixture(scope="module")
def model(context):
    """A page with the model's script alone."""
    page = context.new_page()
    page.set_content("<title>x</title>")
    for name in ("translator_data", "translator"):
        page.add_script_tag(content="window.attnbook ??= {};" + figure_assets.script(name))
    return page


def numbers_for_parity(switches):
    """Five hundred for the model as it was trained, of these another hundred for each change."""
    drawn = NUMBERS.sample(800, held_out=True, seed="parity")
    numbers = list(dict.fromkeys(drawn))[:500]
    if not switches:
        return numbers
    first = 100 * ([*SINGLE, *TOGETHER].index(switches) % 5)
    return numbers[first : first + 100]


@pytest.mark.parametrize("switches", [*SINGLE, *TOGETHER], ids=str)
def test_the_model_in_the_page_is_the_one_in_pytorch(model, switches):
    numbers = numbers_for_parity(switches)
    pairs = [NUMBERS.pair(number) for number in numbers[:8]]
    targets = [[START, *target] for _, target in pairs]
    found = model.evaluate(
        IN_PAGE,
        {
            "numbers": numbers,
            "switches": switches,
            "tokens": NUMBERS.source.vocabulary.tokens,
            "most": MOST_WRITTEN,
            "targets": targets,
        },
    )
    sources = [NUMBERS.source.spell(number) for number in numbers]
    with broken(TRANSLATOR.model, **switches), torch.no_grad():
        expected = TRANSLATOR.translate(sources, max_length=MOST_WRITTEN)
        for pair, target, logits in zip(pairs, targets, found["logits"], strict=True):
            source = collate([pair]).source
            ours, _ = TRANSLATOR.model(source, torch.tensor([target]))
            torch.testing.assert_close(
                torch.tensor(logits).view(ours.shape), ours, rtol=0, atol=1e-3
            )
    written = [[t for t in tokens if t != END][:MOST_WRITTEN] for tokens in found["written"]]
    assert [NUMBERS.target.decode(tokens) for tokens in written] == expected


def test_numbers_are_spelt_in_the_page_as_in_the_package(model):
    numbers = [*range(1200), *range(1200, 100_000, 37), 80_000, 80_080, 71_071, 99_999]
    texts = [[number, *NUMBERS.texts(number)] for number in numbers]
    wrong = model.evaluate(
        """texts => texts.filter(([number, english, french]) =>
             attnbook.translator.spell(number) !== english ||
             attnbook.translator.spellFrench(number) !== french ||
             attnbook.translator.numberOf(english) !== number)""",
        texts,
    )
    assert wrong == []
    for words in ("two two", "thousand two", "three thousand thousand", "hundred", "zero one"):
        assert model.evaluate(f"attnbook.translator.numberOf({words!r})") is None


def test_the_page_and_the_package_shuffle_positions_alike():
    script = figure_assets.script("translator")
    (order,) = re.findall(r"SHUFFLED = (\[.*?\])", script)
    assert tuple(json.loads(order)) == SHUFFLED
    assert all(place != p for p, place in enumerate(SHUFFLED))


def test_what_the_page_tests_was_held_out_and_each_number_is_another():
    numbers = held_out()
    assert len({*numbers}) == 200 and all(NUMBERS.is_held_out(number) for number in numbers)


def small(*names):
    """Scripts as the book's pages load them."""
    path = ROOT / "chapters/_ext/html_postprocess.py"
    spec = importlib.util.spec_from_file_location("html_postprocess", path)
    html_postprocess = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(html_postprocess)
    return html_postprocess._small("\n".join(map(figure_assets.script, names)))


def test_a_page_loads_little_for_it_and_it_works_without_spaces(context):
    whole = interactive.break_translator(481).to_html()
    figure = interactive.without_script(whole)
    script = small("base", "translator_data", "translator", "break_translator")
    assert len(figure) + len(script) <= 115_000
    page = context.new_page()
    trouble = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    seen = []
    for code in (whole.removeprefix(figure), f"<script>{script}</script>"):
        page.set_content(f"<!doctype html><html lang=en><title>x</title>{figure}{code}")
        page.locator(".verdict", has_text="right: 481").wait_for()
        page.locator(".heads button").first.click()
        page.get_by_label("Layer norm").select_option("off")
        box = page.locator(".frame").bounding_box()
        seen.append([page.locator(".frame").inner_text(), box["width"], box["height"]])
        page.goto("about:blank")
    page.close()
    assert seen[0] == seen[1] and trouble == []


def test_the_figure_quotes_what_the_laboratory_has_stored():
    stored = (ROOT / ablation_data.STORED).read_text("utf8")
    assert (ROOT / ablation_data.QUOTED).read_text("utf8") == ablation_data.summary(stored) + "\n"


@pytest.fixture
def show(context):
    """Open the figure in a page of this test's own; it notes what goes wrong."""
    pages = []

    def show(*arguments, frame=False, width=800, within=context, book=False, **options):
        page = within.new_page()
        pages.append(page)
        page.trouble = []
        page.on("console", lambda m: page.trouble.append(m.text))
        page.on("pageerror", lambda error: page.trouble.append(str(error)))
        page.set_viewport_size({"width": width, "height": 900})
        body = interactive.break_translator(*arguments, **options).to_html()
        if frame:
            body = f'<iframe sandbox="allow-scripts" srcdoc="{html.escape(body)}" height=900 />'
        of_book = "data-content_root=../" if book else ""  # as Sphinx marks its pages
        page.set_content(
            f"<!doctype html><html lang=en {of_book}><title>x</title><main>{body}</main>"
        )
        place = page.frame_locator("iframe") if frame else page
        place.locator(".verdict:not(:empty)").wait_for()  # the first number is written
        return page

    yield show
    for page in pages:
        # some Chromium says, at any time, that a sandboxed frame may not write to the clipboard
        assert [text for text in page.trouble if "clipboard" not in text.lower()] == []
        if not page.is_closed():
            page.close()


@pytest.fixture
def stopped(chromium, show):
    """Open the figure where motion is wanted; then the clock stands still, but for run_for().

    It stands for all pages of a browser context, so this has one of its own.
    """
    context = chromium.new_context(offline=True, reduced_motion="no-preference")

    def stopped(*arguments, **options):
        page = show(*arguments, within=context, **options)
        page.clock.install(time=0)
        page.clock.pause_at(1000)
        return page

    yield stopped
    context.close()


def french(page):
    chips = page.locator(".french button")
    return [re.sub(r"\s", "", text) for text in chips.all_inner_texts()]


def type_in(page, text):
    page.get_by_label("A number below 100,000").fill(text)
    page.keyboard.press("Enter")


def measure(page, guess="0 to 20"):
    page.get_by_role("button", name="Measure on 200").click()
    asked = page.locator(".guess button")
    if asked.count():
        page.get_by_role("button", name=guess, exact=True).click()
    page.locator(".guess", has_text="of 200 right,").wait_for(timeout=60_000)
    return page.locator(".guess").inner_text()


def table(page):
    return page.locator(".tried tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    )


def test_it_writes_the_number_that_is_typed_or_its_words(show):
    page = show(481)
    assert french(page) == ["quatre", "cent", "quatre", "-vingt", "-un", "⟨end⟩"]
    assert page.locator(".verdict").inner_text() == "✓ right: 481"
    for typed, expected in (
        ("2003", ["deux", "mille", "trois", "⟨end⟩"]),
        ("Three  Thousand and TWO", ["trois", "mille", "deux", "⟨end⟩"]),
        ("forty two", ["quarante", "-deux", "⟨end⟩"]),
        ("99,999", [*french_of(99_999), "⟨end⟩"]),
    ):
        type_in(page, typed)
        assert french(page) == expected
        assert page.locator(".verdict").inner_text().startswith("✓ right")
    type_in(page, "0")
    assert "0 is “zéro”" in page.locator(".verdict").inner_text()
    assert "hardly ever met it" in page.locator(".verdict").inner_text()
    for short in ("80", "500", "700", "800"):  # wrong as trained
        type_in(page, short)
        assert "✗ wrong" in page.locator(".verdict").inner_text()
        assert "were rare in its training" in page.locator(".verdict").inner_text()
    page.get_by_role("button", name="Another number").click()
    first = held_out()[0]
    assert french(page) == [*french_of(first), "⟨end⟩"]
    said = page.locator(".said").inner_text()
    assert said.startswith(f"“{NUMBERS.texts(first)[0]}” became “{NUMBERS.texts(first)[1]}”, which")


def french_of(number):
    return NUMBERS.target.split(NUMBERS.texts(number)[1])


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "Type a number, such as 481"),
        ("-5", "no word for minus"),
        ("100000", "numbers below 100,000"),
        ("123456789012345678901234567890", "numbers below 100,000"),
        ("3.5", "digits alone"),
        ("hello", "never seen “hello”"),
        ("two million", "never seen “million”"),
        ("five hundred thousand", "numbers below 100,000"),
        ("one hundred thousand", "numbers below 100,000"),
        ("<end>", "never seen “<end>”"),
        ("two " * 20, "up to 16 words"),
    ],
)
def test_what_it_cannot_read_gets_a_sentence_that_helps(show, typed, says):
    page = show(481)
    type_in(page, typed)
    refused = page.get_by_role("alert")
    assert says in refused.inner_text()
    assert "still stands “four hundred eighty-one”" in refused.inner_text()
    assert page.locator(".verdict").inner_text() == "✓ right: 481"
    assert page.get_by_label("A number below 100,000").get_attribute("aria-invalid") == "true"
    type_in(page, "7")
    assert french(page) == ["sept", "⟨end⟩"] and refused.inner_text() == ""


def test_words_that_are_no_number_have_no_right_answer(show):
    page = show("two two two")
    assert "no right answer" in page.locator(".verdict").inner_text()
    assert "which is" not in page.locator(".said").inner_text()


def test_french_words_say_the_number_that_is_spelt_so_or_none(model):
    numbers = [*range(1200), *range(1200, 100_000, 37), 80_000, 80_080, 71_071, 95_060, 99_999]
    wrong = model.evaluate(
        """texts => texts.filter(([number, french]) =>
             attnbook.translator.numberOfFrench(french) !== number)""",
        [[number, NUMBERS.texts(number)[1]] for number in numbers],
    )
    assert wrong == []
    for words in (
        "",
        "cents",
        "un mille",
        "deux cents un",
        "mille mille",
        "quatre-vingts-un",
        "et",
    ):
        assert model.evaluate(f"attnbook.translator.numberOfFrench({words!r})") is None, words


@pytest.mark.parametrize("switches", [{}, {"causal_mask": "off"}], ids=str)
def test_a_token_is_shown_with_what_was_there_when_it_was_chosen(show, switches):
    """No word that came later has a weight, and the others have those of that moment."""
    page = show(97, switches=switches)
    page.get_by_role("button", name="at its own words").click()
    tokens = ["quatre", "-vingt", "-dix", "-sept"]
    for i in range(len(tokens) + 1):
        page.locator(".french button").nth(i).click()
        cells = page.locator(".heads button").all_inner_texts()
        assert cells[4 * (i + 1) :] == ["–"] * 4 * (len(tokens) - i)
        before = " ".join(tokens[:i]).replace(" -", "-")
        shown = torch.tensor([float(text) for text in cells[: 4 * (i + 1)]]).view(-1, 4)
        expected = torch.ones(1, 4)  # at first there is ⟨start⟩ alone
        if before:
            with broken(TRANSLATOR.model, **switches):
                _, _, maps = TRANSLATOR.attention("ninety-seven", before)
            expected = maps.target[0, 0, :, i].T
        torch.testing.assert_close(shown, expected, rtol=0, atol=0.0051)
        looked = said(page).split("looking at its own words")[1]
        assert not any(token in looked for token in tokens[i:])
    page.locator(".french button").first.click()
    page.locator(".heads button").last.click()
    explained = page.locator(".product").inner_text()
    assert "“-sept” was not written yet when “quatre” was chosen" in explained
    assert "causal mask" in explained and "Softmax" not in explained


def said(page):
    return page.locator(".said").inner_text().replace("\u2011", "-")


def test_the_sentence_says_only_what_is_used(show):
    page = show(97)
    across = page.get_by_label("The decoder looks across at the English words")
    assert "looking at the English, head " in said(page)
    assert re.search(r"head \d at -", page.locator(".said").inner_text()) is None  # it breaks there
    across.select_option("off")
    assert said(page).endswith("looking at the English is switched off.")
    across.select_option("uniform")
    assert said(page).endswith("looking at the English, each head equally at all.")
    across.select_option("")
    heads = page.get_by_role("group", name="Heads of the decoder, across")
    heads.get_by_role("button", name="head 4").click()
    assert "head 4 at" not in said(page) and said(page).endswith("; head 4 is off.")
    for head in (1, 2, 3):
        heads.get_by_role("button", name=f"head {head}").click()
    assert said(page).endswith("looking at the English is switched off.")


def test_products_and_their_sum_agree_and_zero_has_no_sign(show):
    page = show(97)
    for cell in page.locator(".heads button").all():
        cell.click()
        shown = page.locator(".product").inner_text()
        assert not re.search(r"−0\.0+(?![0-9])", shown)
        total, score = re.search(
            r"add up to (\S+); divided by √8 = 2.83 that is the score (−?[\d.]+)\. ",
            shown.replace("\n", " "),
        ).groups()
        assert "Before rounding" in shown
        numbers = [float(text.replace("−", "-")) for text in (total, score)]
        assert numbers[0] / math.sqrt(8) == pytest.approx(numbers[1], abs=0.008)


def test_a_wrong_translation_says_which_number_it_is_and_where_it_goes_wrong(show):
    page = show(2003, switches={"source_positions": "off"})
    wrong = page.locator(".tokens .wrong")
    assert wrong.all_inner_texts() == ["trois"]
    assert "the first that is wrong" in wrong.get_attribute("aria-label")
    assert page.locator(".verdict").inner_text().endswith("What it wrote says 3,002")
    page.get_by_role("button", name="Undo all switches").click()
    assert wrong.count() == 0


def test_a_shuffled_order_is_shown(show):
    page = show(2003, switches={"source_positions": "shuffled", "target_positions": "shuffled"})
    places = page.locator(".tokens small").all_inner_texts()
    english, written = 4, len(french(page))
    expected = [*SHUFFLED[:english], *SHUFFLED[1 : written + 1]]
    assert places == [f"place {p + 1}" for p in expected]
    notes = page.locator(".switches .note", has_text="Shuffled: in every sentence alike")
    said = [re.findall(r"place (\d+)", text) for text in notes.all_inner_texts()]
    assert said == [re.findall(r"\d+", " ".join(places[i : i + 2])) for i in (0, english)]


def test_padding_that_is_written_is_a_dot(show):
    parts = ("residual", "norm", "feed_forward")
    page = show(2003, switches=dict.fromkeys(parts, "off"))
    assert french(page) == ["·"] * MOST_WRITTEN
    assert page.locator(".french button").first.get_attribute("title").startswith("padding: ")
    assert "<pad>" not in page.locator(".frame").inner_text()


def test_the_likeliest_tokens_are_named_with_their_chances(show):
    switches = {"decoder_weights": "uniform"}
    page = show(481, switches=switches)
    with broken(TRANSLATOR.model, **switches), torch.no_grad():
        source = collate([NUMBERS.pair(481)]).source
        written = [NUMBERS.target.vocabulary.tokens.index(t) for t in french(page)[:-1]]
        logits, _ = TRANSLATOR.model(source, torch.tensor([[START, *written]]))
    chances = logits[0].softmax(dim=-1)
    for place in (1, 3):
        page.locator(".french button").nth(place).click()
        found = re.findall(r"“(\S+)” ([\d.]+|under 0\.1) %", said(page).split("likeliest were")[1])
        best = chances[place].topk(3)
        names = ["⟨end⟩" if t == END else NUMBERS.target.vocabulary.tokens[t] for t in best.indices]
        assert [name for name, _ in found] == names
        for (_, told), share in zip(found, best.values, strict=True):
            if told == "under 0.1":
                assert share < 0.001
            else:
                digits = len(told.partition(".")[2])
                assert abs(float(told) - 100 * share) < (0.51 if digits == 0 else 0.101)


def test_what_it_writes_as_trained_stays_beside_what_it_writes_now(show):
    page = show(2003)
    echo = page.locator(".echo")
    assert echo.inner_text() == "It writes “deux mille trois” ✓"
    page.get_by_label("Positions of the English words").select_option("off")
    assert echo.inner_text() == "It writes “trois mille deux” ✗\nAs trained: “deux mille trois”"
    type_in(page, "80")  # which it gets wrong as trained, too
    with torch.no_grad():
        (before,) = TRANSLATOR.translate(["eighty"])
    assert before != "quatre-vingts"
    assert echo.inner_text().endswith(f"As trained: “{before}”")


def test_each_switch_says_what_it_is_for_and_the_book_links_its_chapter(show):
    page = show(481)
    notes = page.locator(".switches .note")
    assert notes.count() == len(SWITCHES)
    assert all(re.search(r"\w\. Chapter [1-9]$", text) for text in notes.all_inner_texts())
    assert page.locator(".switches a").count() == 0
    page = show(481, book=True)
    links = page.locator(".switches a").evaluate_all(
        "links => links.map(a => a.getAttribute('href'))"
    )
    assert len(links) == len(SWITCHES)
    for link in links:
        assert (ROOT / link.replace("../", "", 1).replace(".html", ".ipynb")).exists()


def test_some_numbers_that_went_wrong_are_shown_with_what_they_say(show):
    page = show(97, switches={"cross_weights": "off"})
    measure(page)
    rows = page.locator(".wrongs tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    )
    texts = [NUMBERS.texts(number) for number in held_out()]
    with broken(TRANSLATOR.model, cross_weights="off"):
        written = TRANSLATOR.translate([english for english, _ in texts], max_length=MOST_WRITTEN)
    wrong = [
        [f"{number:,}", f"“{text}”"]
        for number, text, (_, right) in zip(held_out(), written, texts, strict=True)
        if text != right
    ]
    assert [row[:2] for row in rows] == wrong[:4]
    assert {row[2] for row in rows} == {"says 95,060"}  # blind, it writes one number for all
    assert f"The first 4 of the {len(wrong)}" in page.locator(".wrongs").inner_text()
    page.get_by_role("button", name=f"Translate {wrong[0][0]}").click()
    assert page.locator(".verdict").inner_text().startswith(f"✗ wrong: {wrong[0][0]} is")
    page.get_by_role("button", name="Undo all switches").click()
    assert page.locator(".wrongs tr").count() == 0


def test_the_result_sets_a_changed_model_against_models_that_grew_so(show):
    quoted = json.loads((ROOT / ablation_data.QUOTED).read_text("utf8"))
    page = show(481, switches={"norm": "off"})
    heading = page.locator(".title", has_text="As trained, it writes").inner_text()
    measure(page)
    changed, grown, different = page.locator(".guess p").all_inner_texts()
    right, share = re.search(r"off: (\d+) of 200 right, ([\d.]+) %", changed).groups()
    assert float(share) == int(right) / 2  # to the half
    assert re.search(r"You said 0–20: wrong\. Your right predictions: 0 of 1\.", changed)
    low, _, high = quoted["switches"]["norm=off"]
    assert grown.startswith("Trained so from the start. 20 models, of a much shorter training")
    assert grown.endswith(f"have {low:g} to {high:g} % right.")
    assert "not the same as never to have had it" in different
    page.get_by_role("button", name="Undo all switches").click()
    own, anew = re.split("Trained anew.", measure(page))
    assert re.search(r"\d+ of 200 right", own)[0] in heading + " right"
    low, _, high = quoted["switches"]["none"]
    assert f"with nothing missing, of a much shorter training, have {low:g} to {high:g} %" in anew
    page.get_by_label("The decoder looks across at the English words").select_option("off")
    assert "of a much shorter training, have 0 % right" in measure(page)


def test_on_a_telephone_buttons_are_large_enough_for_thumbs_and_what_is_written_stays(show):
    page = show(481, width=390)
    high = page.locator("button:visible, select:visible").evaluate_all(
        "nodes => nodes.map(node => [node.closest('.heads') !== null, node.offsetHeight])"
    )
    assert min(height for small, height in high if not small) >= 40
    assert min(height for small, height in high if small) >= 35
    page.get_by_label("Causal mask").scroll_into_view_if_needed()
    page.get_by_label("Positions of the English words").select_option("off")
    echo = page.locator(".echo")
    assert echo.inner_text().startswith(f"It writes “{french_text(page)}”")
    assert not page.locator(".french").evaluate("node => node.getBoundingClientRect().bottom > 0")
    assert 0 <= echo.evaluate("node => node.getBoundingClientRect().top") < 300
    # what scrolls under it fades away, and is not cut through
    fade = echo.evaluate("node => getComputedStyle(node, '::after').backgroundImage")
    assert fade.startswith("linear-gradient(")


def french_text(page):
    return NUMBERS.target.decode(
        [NUMBERS.target.vocabulary.tokens.index(token) for token in french(page)[:-1]]
    )


def test_a_press_on_a_token_moves_no_table(show):
    page = show(97)
    places = []
    for chip in page.locator(".tokens button").all():
        chip.click()
        places.append(page.locator(".heads").bounding_box()["y"])
    assert len({*places}) == 1


@pytest.mark.parametrize("place", ["encoder", "cross", "decoder"])
def test_the_weights_and_the_products_shown_are_pytorchs(show, place):
    switches = {"divisor": "off", "cross_heads_off": [1]}
    page = show(2003, switches=switches)
    column = 2
    if place == "encoder":
        page.locator(".tokens").first.locator("button").nth(column).click()
    else:
        page.locator(".french button").nth(column).click()
        if place == "decoder":
            page.get_by_role("button", name="at its own words").click()
    cells = page.locator(".heads button").all_inner_texts()
    later = [text == "–" for text in cells]  # its own words that were not yet written
    assert later == [place == "decoder" and i // 4 > column for i in range(len(cells))]
    shown = torch.tensor([0.0 if text == "–" else float(text) for text in cells]).view(-1, 4)
    with broken(TRANSLATOR.model, **switches):
        (written,) = TRANSLATOR.translate(["two thousand three"])
        _, _, maps = TRANSLATOR.attention("two thousand three", written)
    name = {"encoder": "source", "cross": "cross", "decoder": "target"}[place]
    expected = getattr(maps, name)[0, 0, :, column].T
    torch.testing.assert_close(shown, expected, rtol=0, atol=0.0051)
    page.locator(".heads button").nth(4 + 2).click()  # the second key, the third head
    rows = page.locator(".product tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].slice(1).map(c => c.innerText))"
    )
    query, key, products = (
        torch.tensor([float(text.replace("−", "-")) for text in row]) for row in rows
    )
    torch.testing.assert_close(query * key, products, rtol=0, atol=0.5)
    total = float(
        re.search(r"add up to (−?[\d.]+)", page.locator(".product").inner_text())[1].replace(
            "−", "-"
        )
    )
    assert abs(products.sum().item() - total) < 0.5
    scores = math.log(shown[1, 2] / shown[0, 2]) if shown[:2, 2].min() > 0.05 else None
    assert scores is None or math.isfinite(scores)
    assert "divided by 1 that" in page.locator(".product").inner_text()


def test_a_switch_changes_what_is_written_at_once_and_all_can_be_set_back(show):
    page = show(2003)
    page.get_by_label("Positions of the English words").select_option("off")
    assert french(page) == ["trois", "mille", "deux", "⟨end⟩"]
    assert "✗ wrong: 2,003 is “deux mille trois”" in page.locator(".verdict").inner_text()
    page.get_by_role("button", name="Undo all switches").click()
    assert french(page) == ["deux", "mille", "trois", "⟨end⟩"]
    assert page.get_by_label("Positions of the English words").input_value() == ""


def test_measuring_asks_for_a_prediction_once_and_counts_as_pytorch_does(show):
    page = show(481, show=["source_positions", "cross_heads_off"])
    assert "200 of 200 right, 100 %" in measure(page)  # as trained: nothing to predict
    across = page.get_by_role("group", name="Heads of the decoder, across")
    across.get_by_role("button", name="head 3").click()
    across.get_by_role("button", name="head 4").click()
    texts = [NUMBERS.texts(number) for number in held_out()]
    with broken(TRANSLATOR.model, cross_heads_off=[2, 3]):
        written = TRANSLATOR.translate([source for source, _ in texts])
    right = sum(w == t for w, (_, t) in zip(written, texts, strict=True))
    page.get_by_role("button", name="Measure on 200").click()
    assert page.locator(".guess button").count() == 4 and len(table(page)) == 2
    page.get_by_role("button", name="101 to 180").click()
    page.locator(".guess", has_text="You said 101–180").wait_for(timeout=60_000)
    row = table(page)[-1]
    assert row[0] == "Heads of the decoder, across: without 3, 4" and row[1] == f"{right} of 200"
    assert row[3] == "101–180"
    page.get_by_role("button", name="Measure on 200").click()
    assert page.locator(".guess button").count() == 0
    page.locator(".guess", has_text="You said").wait_for(timeout=60_000)
    assert table(page)[-1] == row and len(table(page)) == 3


def test_the_interval_is_wilsons(show):
    page = show(481, switches={"norm": "off"})
    measure(page)
    _, right, interval, *_ = table(page)[-1]
    share = int(right.split()[0]) / 200
    assert 0.1 < share < 0.9
    for end in interval.removesuffix(" %").split("–"):
        # ends where the share would be 1.96 standard errors away
        p = float(end) / 100
        errors = abs(share - p) / math.sqrt(p * (1 - p) / 200)
        assert abs(errors - 1.96) < 0.2


def test_what_was_measured_can_be_copied_even_where_no_clipboard_is_to_be_had(show):
    page = show(481, frame=True)
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Measure on 200").click()
    frame.locator(".tried td").first.wait_for(timeout=60_000)
    frame.get_by_role("button", name="Copy the table").click()
    area = frame.get_by_label("The table")
    head, row = area.input_value().split("\n")
    assert head.split("\t")[:2] == ["changed", "right"]
    assert row.split("\t")[:3] == ["As trained", "200 of 200", "98–100 %"]


def test_a_change_of_switches_ends_the_measurement(stopped):
    page = stopped(481)
    # each look at the clock takes a millisecond, so that a slice of work ends after some tokens
    page.evaluate("{ let now = 0; performance.now = () => now++; }")
    page.get_by_role("button", name="Measure on 200").click()
    page.clock.run_for(5)
    assert 0 < page.locator("progress").evaluate("bar => bar.value") < 200
    page.get_by_label("Layer norm").select_option("off")
    assert page.locator("progress").count() == 0
    page.clock.run_for(10_000)
    assert table(page) == []
    page.get_by_label("Layer norm").select_option("")
    page.get_by_role("button", name="Measure on 200").click()
    page.clock.run_for(10_000)
    assert len(table(page)) == 2  # the heading, and what was measured to its end


def test_by_keyboard_one_types_switches_opens_predicts_and_measures(show):
    page = show(481, show=["causal_mask"])
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("12")
    page.keyboard.press("Enter")
    assert french(page) == ["douze", "⟨end⟩"]
    page.locator(".heads button").first.focus()
    page.keyboard.press("Enter")
    assert "head 1:" in page.locator(".product").inner_text()
    page.get_by_label("Causal mask").focus()
    page.keyboard.press("ArrowDown")
    page.get_by_role("button", name="Measure on 200").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")  # the first of the predictions has the focus
    page.locator(".guess", has_text="You said 0–20").wait_for(timeout=60_000)
    assert table(page)[-1][:2] == ["Causal mask: off", "200 of 200"]


def test_token_by_token_is_seen_unless_one_wants_no_motion(stopped):
    page = stopped(481)
    verdict = page.locator(".verdict")
    type_in(page, "77777")
    assert french(page) == []  # at once, nothing of the number before
    page.clock.run_for(1)
    whole = [*french_of(77_777), "⟨end⟩"]
    for count in range(1, len(whole) + 1):
        assert french(page) == whole[:count]
        assert verdict.inner_text() == ""
        page.clock.run_for(110)
    assert verdict.inner_text() == "✓ right: 77,777"
    page.emulate_media(reduced_motion="reduce")
    type_in(page, "88888")
    assert french(page) == [*french_of(88_888), "⟨end⟩"]
    assert verdict.inner_text() == "✓ right: 88,888"


def tasks(trace):
    """The tasks of the page's main thread, in milliseconds of its processor time.

    That stands still while another program has the processor, unlike a clock, and unlike what a
    PerformanceObserver calls a long task: so a busy machine makes no task longer. The task that
    parses the page is left out; it is Playwright's and Chromium's more than the figure's.
    """
    events = json.loads(trace)["traceEvents"]
    threads = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    of_main = [event for event in events if (event["pid"], event["tid"]) in threads]
    parsed = [event["ts"] for event in of_main if event["name"] == "ParseHTML"]
    return [
        event["tdur"] / 1000
        for event in of_main
        if event["name"].endswith("RunTask") and "tdur" in event
        if not any(0 <= ts - event["ts"] <= event["dur"] for ts in parsed)
    ]


def test_the_page_stays_alive_while_the_figure_writes_and_measures(chromium, show):
    """No task takes over 50 ms, from the first number on, when no code has run before."""
    context = chromium.new_context(offline=True, reduced_motion="no-preference")
    context.new_page()
    chromium.start_tracing(categories=["toplevel", "devtools.timeline"])
    page = show(481, within=context)
    type_in(page, "77777")
    page.locator(".verdict", has_text="77,777").wait_for()
    page.locator(".heads button").last.click()
    measure(page)
    page.get_by_label("Residual addition").select_option("off")  # it writes, and never stops
    measure(page)
    times = tasks(chromium.stop_tracing())
    context.close()
    assert max(times) <= 50
    assert 300 < sum(times) < 10_000  # two measurements; a reader waits 5 s at most for one


@pytest.mark.parametrize(
    "press",
    [
        lambda page: page.locator(".heads button").last.click(),
        lambda page: page.locator(".french button").last.click(),
        lambda page: page.get_by_role("button", name="at its own words").click(),
        lambda page: page.get_by_label("Causal mask").select_option("off"),
        lambda page: type_in(page, "minus two"),
    ],
    ids=["a weight of the number before", "a token", "a view", "a switch", "what it cannot read"],
)
def test_who_presses_something_while_it_writes_sees_all_of_it(stopped, press):
    page = stopped(99_999)
    page.locator("summary").last.click()  # the numbers as a table
    type_in(page, "42")  # fewer tokens than before
    page.clock.run_for(1)
    assert french(page) == ["quarante"]
    press(page)
    assert french(page) == ["quarante", "-deux", "⟨end⟩"]
    weights = page.locator(".heads tbody tr").count()
    page.clock.run_for(5000)  # and nothing more is written
    assert french(page) == ["quarante", "-deux", "⟨end⟩"]
    assert page.locator(".heads tbody tr").count() == weights
    assert page.locator(".look-numbers tbody tr").count() == weights


def test_a_press_that_lasts_while_a_token_is_written_is_not_lost(stopped):
    page = stopped(481)
    type_in(page, "99999")
    page.clock.run_for(111)
    assert french(page) == ["quatre", "-vingt"]
    second = page.locator(".french button").nth(1)
    second.hover()
    page.mouse.down()
    page.clock.run_for(110)
    assert len(french(page)) == 3
    page.mouse.up()
    assert french(page) == [*french_of(99_999), "⟨end⟩"]
    assert second.get_attribute("aria-pressed") == "true"
    type_in(page, "77777")
    page.clock.run_for(1)
    page.locator(".french button").first.focus()
    page.clock.run_for(110)
    assert page.locator(".french button").first.evaluate(
        "node => node.getRootNode().activeElement === node"
    )
    page.locator(".tokens button").first.hover()  # the English
    page.mouse.down()
    page.clock.run_for(110)
    page.mouse.up()
    assert french(page) == [*french_of(77_777), "⟨end⟩"]
    assert page.locator(".tokens button").first.get_attribute("aria-pressed") == "true"


def test_the_numbers_opened_while_it_writes_are_those_of_what_is_written(stopped):
    page = stopped(7)
    type_in(page, "99999")
    page.locator("summary").last.click()
    page.clock.run_for(5000)
    rows = page.locator(".look-numbers tbody th").all_inner_texts()
    assert rows == [*NUMBERS.source.split(NUMBERS.texts(99_999)[0]), "⟨end⟩"]


def test_only_the_switches_that_are_asked_for_stand_open(show):
    page = show(481, show=["norm"])
    assert page.get_by_label("Layer norm").is_visible()
    assert not page.get_by_label("Residual addition").is_visible()
    page.locator("summary", has_text="More switches").click()
    assert page.get_by_label("Residual addition").is_visible()
    with pytest.raises(ValueError, match="there is no switch nrom"):
        interactive.break_translator(481, show=["nrom"])
    with pytest.raises(ValueError, match=r"no token for \['million_'\]"):
        interactive.break_translator("two million_")
    assert {*SWITCHES} == {name for switches in SINGLE for name in switches}
