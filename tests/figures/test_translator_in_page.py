"""The translator that runs in the page is the one in PyTorch, under every switch."""

import json
import re

import browser
import pytest
import torch
from translator_page import NUMBERS, TRANSLATOR

from attnbook import figure_assets
from attnbook.data import END, START, collate
from attnbook.figures.interactive.break_translator import HEADS, MOST_WRITTEN, SWITCHES, held_out
from attnbook.interventions import SHUFFLED, broken

browser.skip_without()

PLACES = ("encoder", "decoder", "cross")
SINGLE = [
    {},
    *({"divisor": value} for value in ("off", "sqrt(d_model)")),
    *({f"{p}_weights": value} for p in PLACES for value in ("uniform", "off")),
    *({f"{p}_heads_off": [h]} for p in PLACES for h in range(4)),
    *({f"{s}_positions": value} for s in ("source", "target") for value in ("off", "shuffled")),
    *({part: "off"} for part in ("causal_mask", "residual", "norm", "feed_forward")),
]
TOGETHER = [
    {"divisor": "off", "decoder_weights": "uniform", "causal_mask": "off"},
    {"encoder_weights": "uniform", "cross_heads_off": [0, 3], "target_positions": "shuffled"},
    {"source_positions": "off", "target_positions": "off"},
    {"residual": "off", "norm": "off"},
    {"cross_weights": "uniform", "cross_heads_off": [1], "feed_forward": "off"},
    {"encoder_heads_off": [0, 1, 2, 3], "divisor": "sqrt(d_model)", "norm": "off"},
]
ALL = [*SINGLE, *TOGETHER]
# 500 for the model as it was trained; another 50 for each change
DRAWN = list(dict.fromkeys(NUMBERS.sample(800, held_out=True, seed="parity")))[:500]

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
def model(context):
    """A page with the model's script alone."""
    page = context.new_page()
    page.set_content("<title>x</title>")
    for name in ("translator_data", "translator"):
        page.add_script_tag(content="window.attnbook ??= {};" + figure_assets.script(name))
    yield page
    page.close()


def test_every_switch_is_tried():
    tried = [f"{name}={value}" for switches in SINGLE for name, value in switches.items()]
    assert {*SWITCHES} < {*tried}
    assert {*HEADS} == {name.split("=")[0] for name in tried if "heads" in name}


@pytest.mark.parametrize("switches", ALL, ids=str)
def test_the_model_in_the_page_is_the_one_in_pytorch(model, switches):
    first = 50 * (ALL.index(switches) % 10)
    numbers = DRAWN[first : first + 50] if switches else DRAWN
    pairs = [NUMBERS.pair(number) for number in numbers[:8]]
    targets = [[START, *target] for _, target in pairs]
    arguments = {
        "numbers": numbers,
        "switches": switches,
        "tokens": NUMBERS.source.vocabulary.tokens,
        "most": MOST_WRITTEN,
        "targets": targets,
    }
    found = model.evaluate(IN_PAGE, arguments)
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


def test_numbers_are_spelt_and_read_in_the_page_as_in_the_package(model):
    some = [80_000, 80_080, 71_071, 95_060, 99_999, 200_000, 280_080, 480_300, 999_999]
    numbers = [*range(1200), *range(1200, 100_000, 37), *some]
    wrong = model.evaluate(
        """texts => texts.filter(([number, english, french]) =>
             attnbook.translator.spell(number) !== english ||
             attnbook.translator.spellFrench(number) !== french ||
             attnbook.translator.numberOfFrench(french) !== number)""",
        [[number, *NUMBERS.texts(number)] for number in numbers],
    )
    assert wrong == []


def test_words_that_spell_no_number_are_none(model):
    texts = ["", "cents", "un mille", "deux cents un", "mille mille", "et"]
    found = model.evaluate("texts => texts.map(attnbook.translator.numberOfFrench)", texts)
    assert found == [None] * len(texts)


def test_the_page_and_the_package_shuffle_positions_alike():
    script = figure_assets.script("translator")
    (order,) = re.findall(r"SHUFFLED = (\[.*?\])", script)
    assert tuple(json.loads(order)) == SHUFFLED
    assert all(place != p for p, place in enumerate(SHUFFLED))


def test_what_the_page_tests_was_held_out_and_each_number_is_another():
    numbers = held_out()
    assert len({*numbers}) == 200 and all(NUMBERS.is_held_out(number) for number in numbers)
