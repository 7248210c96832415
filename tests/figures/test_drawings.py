"""The rules of all drawings: they can be read on every page, and refuse what has no room."""

import io
import itertools
import math
import re
import xml.etree.ElementTree as ElementTree

import browser
import numpy as np
import pytest
import torch
from gallery import (
    ALL,
    ASKS,
    BASE,
    BLOCK,
    BOTH_WAYS,
    INDUCTION,
    LESSONS,
    NAMED,
    NEURONS,
    PATH,
    SPLITS,
    STATES,
    TREE,
    TURNS,
    TWO_HEADS,
    WORDS,
)
from PIL import Image
from test_style import COLORS, contrast, in_dark_mode

from attnbook.figures import drawings, style
from attnbook.figures.drawings import Matrix, svg

TELEPHONE = 350  # pixels for a figure
WIDE = "DejaVu Sans, Verdana"  # the widest font that readers may have
# of each piece of text its box, size, colour and words; then the picture without text
MEASURE = """([svg, font]) => {
  document.body.innerHTML = svg;
  const root = document.querySelector("svg");
  if (font) root.setAttribute("font-family", font);
  const frame = root.viewBox.baseVal;
  root.setAttribute("width", frame.width);
  root.setAttribute("height", frame.height);
  const pieces = [...root.querySelectorAll("text")].flatMap(text => {
    const parts = [...text.querySelectorAll("tspan[x]")];
    return parts.length ? parts : [text];
  });
  const texts = pieces.map(piece => {
    const { left, top, right, bottom } = piece.getBoundingClientRect();
    const sizes = [piece, ...piece.querySelectorAll("tspan")].map(
      part => parseFloat(getComputedStyle(part).fontSize));
    return { left, top, right, bottom, size: sizes[0], index: Math.min(...sizes),
      words: piece.textContent,
      color: getComputedStyle(piece).fill.match(/\\d+/g).map(Number) };
  });
  for (const text of root.querySelectorAll("text")) text.remove();
  return { texts, width: frame.width, height: frame.height };
}"""


@pytest.fixture(scope="module")
def page(chromium):
    """An empty page, on which drawings are measured."""
    browser.skip_without()
    page = chromium.new_page(viewport={"width": 500, "height": 1000})
    page.set_content("<style>body { margin: 0 }</style>")
    yield page
    page.close()


def demand_room(found, words):
    """Every text lies inside the picture, and over no other."""
    for text in found["texts"]:
        inside = text["left"] >= 0 and text["right"] <= found["width"]
        inside &= text["top"] >= 0 and text["bottom"] <= found["height"]
        assert inside, f"{text['words']!r} reaches beyond the picture {words}"
    for a, b in itertools.combinations(found["texts"], 2):
        across = min(a["right"], b["right"]) - max(a["left"], b["left"])
        upright = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
        shallow = 0.3 * min(a["size"], b["size"])  # a line of text is higher than its letters
        apart = across <= 0.5 or upright <= shallow
        assert apart, f"{a['words']!r} lies over {b['words']!r} {words}"


@pytest.mark.parametrize("name", ALL)
def test_a_drawing_can_be_read_on_telephones_on_light_and_on_dark_pages(page, name):
    demand_room(page.evaluate(MEASURE, [ALL[name].svg, WIDE]), f"in {WIDE}")
    found = page.evaluate(MEASURE, [ALL[name].svg, None])
    demand_room(found, "in the page's letters")
    smallest = min(text["size"] for text in found["texts"])
    assert smallest * min(1.15, TELEPHONE / found["width"]) >= 10, "too small on a telephone"
    index = min(text["index"] for text in found["texts"])
    assert index * min(1.15, TELEPHONE / found["width"]) >= 8, "an index is too small"
    picture = Image.open(io.BytesIO(page.locator("svg").screenshot())).convert("RGB")
    ground = np.asarray(picture) / 255
    for text in found["texts"]:
        x = round((text["left"] + text["right"]) / 2)
        y = round((text["top"] + text["bottom"]) / 2)
        below, color = ground[y, x], np.array(text["color"]) / 255
        assert contrast(below, color) >= 4.5, text["words"]
        assert contrast(in_dark_mode(below), in_dark_mode(color)) >= 4.5, text["words"]


PALETTE = [getattr(style, name) for name in COLORS] + [svg.INK, svg.SOFT, svg.LINE]


def is_tint(color):
    """Whether a colour is one of the palette's, mixed with white."""
    missing = 255 - np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)])
    for whole in PALETTE:
        full = 255 - np.array([int(whole[i : i + 2], 16) for i in (1, 3, 5)])
        share = missing.max() / full.max()
        if share <= 1 and np.abs(missing - share * full).max() <= 2:
            return True
    return False


@pytest.mark.parametrize("name", ALL)
def test_a_drawing_is_small_stands_alone_has_the_books_colours_and_is_said_in_words(name):
    drawing = ALL[name]
    root = ElementTree.fromstring(drawing.svg)
    assert root.attrib["aria-label"] == drawing.alt
    assert len(drawing.alt) > 80 and "\n" not in drawing.alt
    assert len(drawing.svg.encode()) <= 15_000
    assert not re.search(r"href|url\(|<script|<image", drawing.svg)
    strange = [c for c in {*re.findall("#[0-9a-f]{6}", drawing.svg)} if not is_tint(c)]
    assert strange == [], "colours that are none of attnbook.figures.style, nor a tint of one"
    assert drawing._repr_mimebundle_() == {"image/svg+xml": drawing.svg, "text/plain": drawing.alt}


def two_heads(**changed):
    given = {**TWO_HEADS, "tokens": WORDS, "answers": ["who", "whom"]}
    return drawings.heads_add_up(**given | changed)


def turning(**changed):
    given = {"x": torch.eye(2), **TURNS, "words": ["its", "cat"]}
    return drawings.turning(**given | changed)


def neurons(**changed):
    return drawings.neurons(**NEURONS | changed, token="milk")


def one_block(**changed):
    return drawings.one_block(**BLOCK | changed)


def split(x, heads):
    return drawings.splits(x, {"wrong": heads}, tokens=["a", "b", "c"])


X, INFINITE = torch.ones(4, 3), torch.full((1,), math.nan)
THREE_HEADS = {name: torch.ones(3, 3) for name in ("weights", "values", "out_proj")}
REFUSED = [
    (
        lambda: drawings.matrix(torch.ones(200, 3), name="W", row=100),
        "row 100 is in the break, only 0, 1, 2, 3, 4, 198, 199 are drawn",
    ),
    (lambda: drawings.in_parallel("abcdef", link=(0, 1)), "2 to 5 words: got 6"),
    (lambda: drawings.in_parallel("abc", link=(1, 1)), "to a later one: got (1, 1)"),
    (lambda: drawings.in_parallel("abc", link=(1, 3)), "to a later one: got (1, 3)"),
    (lambda: drawings.both_ways(**BOTH_WAYS | {"words": "ab"}), "3 to 5 words: got 2"),
    (lambda: drawings.both_ways(**BOTH_WAYS | {"asks": 3}), "0 to 2, asks: got 3"),
    (lambda: drawings.both_ways(**BOTH_WAYS | {"words": "abc"}), "got 4 weights for 3 words"),
    (lambda: drawings.induction(**INDUCTION | {"words": "ab"}), "3 to 9 words: got 2"),
    (
        lambda: drawings.induction(**INDUCTION | {"before": "ab"}),
        "before needs one entry for each of 7 words: got 2",
    ),
    (lambda: drawings.path_of_a_fact(**PATH | {"tokens": "ab"}), "got 2 tokens and shares (5, 24)"),
    (
        lambda: drawings.path_of_a_fact(**PATH | {"shares": torch.zeros(5, 41)}),
        "after each of at most 40 blocks: got 5 tokens and shares (5, 41)",
    ),
    (lambda: drawings.latent(13), "1 to 12 heads are drawn: got 13"),
    (lambda: drawings.guessing("it", ["a"], ["a", "b"]), "got 1 guesses and 2 replies"),
    (lambda: drawings.guessing("it", ["a", "b"], ["a"]), "got 2 guesses and 1 replies"),
    (lambda: drawings.shared_heads(13, kv_heads=(1,)), "got 13 heads and 1 panels"),
    (lambda: drawings.matrix(X, name="W", rows="abc"), "(4, 3), which needs 4 row labels: got 3"),
    (lambda: drawings.matrix(X, name="W", row=4), "(4, 3): there is no row 4"),
    (lambda: drawings.matrix(X[0], name="W"), "W must be a matrix: got shape (3,)"),
    (lambda: drawings.matrix(X * math.nan, name="W"), "W must be finite: got nan"),
    (
        lambda: drawings.product(Matrix(X, name="A"), Matrix(X, name="B"), name="C", color="#000"),
        "A 4 × 3 and B 4 × 3 can't be multiplied: 3 columns",
    ),
    (
        lambda: drawings.matrices(*[Matrix(X, name="x")] * 20),
        "too wide for one drawing: x 4 × 3, x 4 × 3",
    ),
    (lambda: turning(words=["its"]), "got 1 words and [[1.0, 0.0], [0.0, 1.0], [0.8"),
    (lambda: turning(W_Q=2 * TURNS["W_Q"]), "arrows of length 1 that point to the right and up"),
    (lambda: turning(W_K=TURNS["W_Q"]), "arrows of length 1 that point to the right and up"),
    (lambda: drawings.score(X[0], X[:, 0]), "got shapes (3,) and (4,)"),
    (lambda: drawings.score(INFINITE, torch.ones(1)), "q must be finite: got nan"),
    (lambda: drawings.layer_norm(torch.arange(5.0)), "at most 4 finite and different features"),
    (lambda: drawings.layer_norm(torch.ones(2)), "different features: got [1.0, 1.0]"),
    (lambda: drawings.layer_norm(INFINITE), "different features: got [nan]"),
    (
        lambda: neurons(features=["animal"]),
        "got 1 and 4 for a projection (8, 4)",
    ),
    (
        lambda: neurons(down_proj=torch.ones(4, 8)),
        "two neurons add to the same feature: the drawing has room for one",
    ),
    (lambda: neurons(bias=torch.full((4,), -112.5)), "1.5 + 1.0 − 112.5 has no room"),
    (lambda: neurons(x=torch.full((8,), -12.55)), "has no room in the drawing"),
    (lambda: neurons(questions=[]), "got 8 and 0 for a projection (8, 4)"),
    (
        lambda: neurons(up_proj=torch.ones(8, 5), questions=[("a", "b")] * 5),
        "at most 8 named features and 4 questions: got 8 and 5",
    ),
    (lambda: drawings.decoder_block(**BASE | {"num_heads": 7}), "d_model=512 is not divisible by"),
    (lambda: two_heads(**THREE_HEADS), "the drawing has 2 heads: got weights (3, 3)"),
    (lambda: two_heads(tokens=["dog", "man"]), "do not fit 2 tokens and 2 answers"),
    (lambda: two_heads(tokens=["a", "b" * 30, "c"]), "has no room in a cell"),
    (lambda: one_block(weights=torch.ones(2)), "3 words and 2 weights"),
    (lambda: one_block(features=["animal"] * 7), "at most 6 named features"),
    (lambda: one_block(stages=BLOCK["stages"].flip(0)), "no bar may shrink or begin below 0"),
    (lambda: one_block(words=["wasserspielplatz"] * 3), "has no room in the drawing"),
    (lambda: split(X.T, SPLITS["view alone"]), "all 12 numbers of x must differ: 1 do"),
    (lambda: split(NAMED, NAMED.view(1, 3, 4)), "gives no cell of x (3, 4) to each of 2 heads"),
    (lambda: drawings.looking_back(ASKS, STATES, tokens="ab"), "got 2 tokens and 3 states"),
    (lambda: drawings.looking_back(ASKS, STATES / 0, tokens="abc"), "must be finite"),
    (lambda: drawings.encoder_decoder("ab", "abcde"), "2 to 4 tokens on each side: got 5"),
    (
        lambda: drawings.encoder_decoder("ab", "abc", weights=torch.ones(2, 3)),
        "3 × 2 pairs: got (2, 3)",
    ),
    (
        lambda: drawings.memories(512, d=64, tile=32, size=2),
        "into 4 to 8 blocks: got 512 tokens and tiles of 32",
    ),
    (
        lambda: drawings.memories(1024, d=64, tile=64, size=2),
        "into 4 to 8 blocks: got 1024 tokens and tiles of 64",
    ),
    (lambda: drawings.caching((9,)), "each of 1 to 8 tokens: got [9]"),
    (lambda: drawings.shared_heads(9, kv_heads=(2,)), "num_heads=9 is not divisible by kv_heads=2"),
    (
        lambda: drawings.teacher_forcing(**LESSONS | {"says": LESSONS["reads"]}),
        "shifted by one",
    ),
    (
        lambda: drawings.teacher_forcing(**LESSONS | {"chances": torch.ones(6)}),
        "got 7, 7 and 6",
    ),
    (
        lambda: drawings.beam_tree("a", [*TREE, [drawings.Beginning("b", -1.0, 3, True)]]),
        "step 3: b continues nothing",
    ),
]


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize(("draw", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_what_does_not_fit_is_an_error_that_names_the_sizes(draw, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        draw()
