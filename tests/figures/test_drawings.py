"""Drawings show the numbers they are given, to scale, and can be read on every page."""

import io
import itertools
import math
import re
import xml.etree.ElementTree as ElementTree

import browser
import numpy as np
import pytest
import torch
from PIL import Image
from test_style import contrast, in_dark_mode

from attnbook import figures
from attnbook.attention import attention, causal_mask
from attnbook.figures import drawings
from attnbook.figures.drawings import Matrix
from attnbook.figures.drawings.svg import tint
from attnbook.positions import sinusoidal_positions

TOKENS = ["a_1", "a_2", "a_3", "a_4"]
PINYIN = ["wǒ", "xiǎng", "chī", "suān", "cài", "yú"]
BASE = {"length": 6, "d_model": 512, "num_heads": 8, "d_ff": 2048}
MODEL = {"length": 6, "d_model": 576, "num_heads": 9, "num_kv_heads": 3, "d_ff": 1536}
BOTH = {
    "length": 6,
    "d_model": (512, 576),
    "num_heads": (8, 9),
    "num_kv_heads": 3,
    "d_ff": (2048, 1536),
}
WHOLE = {
    "source": PINYIN,
    "target": ["<s>", "I", "want", "to"],
    "d_model": 512,
    "num_heads": 8,
    "num_layers": 6,
    "d_ff": 2048,
}
QUERY_AND_KEY = torch.tensor([2.0, -1, 0, 1]), torch.tensor([1.0, 1, 3, 2])
SCORES_AND_VALUES = torch.tensor([3.0, 1.5, 0.5]).log(), torch.tensor([10.0, 20.0, 60.0])
ASKS = torch.tensor([1.0, 1.0])
STATES = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 2.0]])
WORDS, NEWS = ["dog", "bites", "man"], [2, 1, 0]
KEYS, VALUES = torch.tensor([[2.0], [0.0], [1.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [1, 1]])
FOUR_SCORES = torch.tensor([2.0, 2, 8, 4]).log(), torch.tensor([8.0, 16, 4, 2])
TELEPHONE = 350  # pixels for a figure
TWO_HEADS = {
    "weights": torch.tensor([[0.7, 0.0, 0.3], [0.3, 0.0, 0.7]]),
    "values": torch.tensor([[2.0, 1.0], [0.0, 0.0], [4.0, -3.0]]),
    "out_proj": torch.tensor([[1.75, -0.75], [-0.5, 1.25]]),
}
NAMED = torch.arange(3)[:, None] + torch.arange(4) / 10  # the token, the feature
SPLITS = {
    "view, transpose": NAMED.view(3, 2, 2).transpose(0, 1),
    "view alone": NAMED.view(2, 3, 2),
}

LESSONS = {
    "source": "two children are playing in the snow .",
    "reads": ["<start>", "zwei", "kinder", "spielen", "im", "schnee", "."],
    "says": ["zwei", "kinder", "spielen", "im", "schnee", ".", "<end>"],
    "chances": torch.tensor([0.93, 0.94, 0.9, 0.5, 0.99, 1.0, 0.004]),
}
TREE = [
    [
        drawings.Beginning("auf", -1.8, 0, True, greedy=True),
        drawings.Beginning(",", -2.25, 0, True, best=True),
        drawings.Beginning("vor", -2.4, 0, False),
    ],
    [
        drawings.Beginning("eine", -3.4, 0, False, greedy=True),
        drawings.Beginning("einer", -3.1, 0, True),
        drawings.Beginning("um", -2.26, 1, True, best=True),
        drawings.Beginning("wasserspielplatz", -9.0, 1, False),
    ],
]


def paper_example():
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 2.0]])
    projections = {
        "q_proj": torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]),
        "k_proj": torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 1.0]]),
        "v_proj": torch.tensor([[3.0, 0.0], [1.0, 2.0]]),
    }
    return x, projections


def six_characters():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(6, 768, generator=generator)
    projections = torch.randn(3, 768, 768, generator=generator) / math.sqrt(768)
    return x, dict(zip(("q_proj", "k_proj", "v_proj"), projections, strict=True))


def weights_of(x, projections, num_heads=1):
    query, key = (
        (x @ projections[name]).unflatten(1, (num_heads, -1)).transpose(0, 1)
        for name in ("q_proj", "k_proj")
    )
    return (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1)


WORDS_AND_PLACES = (
    torch.tensor([[0.5, -0.2, 0.3, 0.1], [-0.4, 0.6, 0.2, -0.3], [0.5, -0.2, 0.3, 0.1]]),
    sinusoidal_positions(3, 4),
)


def gallery():
    x, projections = paper_example()
    large, large_projections = six_characters()
    projection = Matrix(projections["q_proj"], name="W_Q", color=figures.QUERY)
    of_tokens = Matrix(x, name="x", rows=TOKENS, row=1)
    query = Matrix(x @ projections["q_proj"], name="Q", color=figures.QUERY, row=1)
    large_x = Matrix(large, name="x", rows=PINYIN, row=0)
    large_projection = Matrix(large_projections["q_proj"], name="W_Q", color=figures.QUERY)
    large_query = Matrix(
        large @ large_projection.values.float(), name="Q", color=figures.QUERY, row=0
    )
    return {
        "matrix": drawings.matrix(query.values, name="Q", color=figures.QUERY, rows=TOKENS, row=1),
        "matrices": drawings.matrices(of_tokens, "·", projection, "=", query),
        "product": drawings.product(
            of_tokens, projection, name="Q", color=figures.QUERY, row=1, column=3
        ),
        "score": drawings.score(*QUERY_AND_KEY),
        "score of six features": drawings.score(torch.linspace(-2, 2, 6), torch.ones(6)),
        "softmax": drawings.softmax(*SCORES_AND_VALUES),
        "softmax of extremes": drawings.softmax(
            torch.tensor([5.0, -5.0, -4.99]), torch.tensor([10.0, -20.0, 60.25])
        ),
        "softmax of one": drawings.softmax(torch.zeros(1), torch.ones(1)),
        "large matrices": drawings.matrices(large_x, "·", large_projection, "=", large_query),
        "large product": drawings.product(large_x, large_projection, name="Q", color=figures.QUERY),
        "weights": drawings.matrix(
            torch.linspace(0, 1, 36).view(6, 6),
            name="weights",
            color=figures.WEIGHTS,
            rows=PINYIN,
            columns=PINYIN,
            row=0,
        ),
        "self-attention": drawings.self_attention(x, **projections, tokens=TOKENS, row=1, name="a"),
        "large self-attention": drawings.self_attention(
            large, **large_projections, tokens=PINYIN, row=0
        ),
        "looking back": drawings.looking_back(ASKS, STATES, tokens=["forty", "-two", "END"]),
        "looking back at two": drawings.looking_back(-ASKS, STATES[:2], tokens=["six", "END"]),
        "two orders": drawings.two_orders(
            ASKS[:1], KEYS, VALUES, words=WORDS, order=NEWS, asks="man"
        ),
        "heard": drawings.heard(causal_mask(4), words=[*WORDS, "?"], order=[*NEWS, 3]),
        "heard by two": drawings.heard(~causal_mask(2), words=["six", "END"], order=[1, 0]),
        "word plus position": drawings.word_plus_position(
            *WORDS_AND_PLACES, tokens=["two", "thousand", "two"]
        ),
        "12 heads": drawings.heads(weights_of(large, large_projections, 12), d_model=768, head=2),
        "2 heads": drawings.heads(weights_of(x, projections, 2), d_model=4),
        "heads add up": drawings.heads_add_up(
            **TWO_HEADS, tokens=["dog", "bites", "man"], answers=["who", "whom"]
        ),
        "splits": drawings.splits(NAMED, SPLITS, tokens=["token 0", "token 1", "token 2"]),
        "growth": drawings.growth(large[:, :2], large[:, 2:4], large[:, 4:6], lengths=(1, 3, 6)),
        "softmax in blocks": drawings.softmax_in_blocks(*FOUR_SCORES, block=2),
        "two orders of tiles": drawings.loop_orders(4),
        "two orders of few tiles": drawings.loop_orders(2),
        "caching": drawings.caching((3, 4, 5)),
        "caching of one": drawings.caching((1,)),
        "shared heads": drawings.shared_heads(9, kv_heads=(9, 3, 1)),
        "shared heads, one panel": drawings.shared_heads(12, kv_heads=(4,)),
        "teacher forcing": drawings.teacher_forcing(**LESSONS, lesson=2),
        "teacher forcing, two lessons": drawings.teacher_forcing(
            "six", ["<start>", "six"], ["six", "<end>"], torch.ones(2), lesson=0
        ),
        "beam": drawings.beam_tree("… fotograf kniet", TREE),
        "beam of one step": drawings.beam_tree("a", TREE[:1]),
        "beam of many steps": drawings.beam_tree("… zwei alte frauen", [TREE[0]] + [TREE[0]] * 4),
        "writing": drawings.writing(9, LESSONS["reads"]),
        "writing as much as is drawn": drawings.writing(11, ["wasserspielplatz"] * 11),
        "writing one": drawings.writing(1, ["<start>"]),
        "encoder block": drawings.encoder_block(**BASE),
        "encoder block, post-norm": drawings.encoder_block(**BASE, norm_first=False),
        "decoder block": drawings.decoder_block(**BASE),
        "decoder block, post-norm": drawings.decoder_block(**BASE, norm_first=False),
        "language block": drawings.language_block(**MODEL),
        "then and now": drawings.then_and_now(**BOTH),
        "transformer": drawings.transformer(**WHOLE),
        "transformer, post-norm": drawings.transformer(**WHOLE, norm_first=False),
    }


GALLERY = gallery()
every_drawing = pytest.mark.parametrize("name", GALLERY)

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
    return { left, top, right, bottom, size: Math.min(...sizes), words: piece.textContent,
      color: getComputedStyle(piece).fill.match(/\\d+/g).map(Number) };
  });
  for (const text of root.querySelectorAll("text")) text.remove();
  return { texts, width: frame.width, height: frame.height };
}"""


@pytest.fixture(scope="module")
def measured(chromium):
    """What a browser says about each drawing: its texts, and the picture below them."""
    browser.skip_without()
    page = chromium.new_page(viewport={"width": 500, "height": 1000})
    page.set_content("<style>body { margin: 0 }</style>")
    found = {}
    for name, drawing in GALLERY.items():
        wide = page.evaluate(MEASURE, [drawing.svg, WIDE])
        found[name] = page.evaluate(MEASURE, [drawing.svg, None]) | {"wide": wide["texts"]}
        picture = Image.open(io.BytesIO(page.locator("svg").screenshot())).convert("RGB")
        found[name]["ground"] = np.asarray(picture) / 255
    page.close()
    return found


@every_drawing
@pytest.mark.parametrize("font", ["texts", "wide"])
def test_every_text_lies_inside_the_picture_and_over_no_other(measured, name, font):
    texts, width, height = (measured[name][key] for key in (font, "width", "height"))
    assert texts
    for text in texts:
        assert text["left"] >= 0 and text["right"] <= width, text["words"]
        assert text["top"] >= 0 and text["bottom"] <= height, text["words"]
    for a, b in itertools.combinations(texts, 2):
        across = min(a["right"], b["right"]) - max(a["left"], b["left"])
        upright = min(a["bottom"], b["bottom"]) - max(a["top"], b["top"])
        shallow = 0.3 * min(a["size"], b["size"])  # a line of text is higher than its letters
        assert across <= 0.5 or upright <= shallow, (a["words"], b["words"])


@every_drawing
def test_text_is_at_least_10_pixels_high_on_a_telephone(measured, name):
    scale = min(1.15, TELEPHONE / measured[name]["width"])
    assert min(text["size"] for text in measured[name]["texts"]) * scale >= 10


@every_drawing
def test_text_stands_out_from_what_is_below_it_on_light_and_dark_pages(measured, name):
    ground = measured[name]["ground"]
    for text in measured[name]["texts"]:
        x = round((text["left"] + text["right"]) / 2)
        y = round((text["top"] + text["bottom"]) / 2)
        below, color = ground[y, x], np.array(text["color"]) / 255
        assert contrast(below, color) >= 4.5, text["words"]
        assert contrast(in_dark_mode(below), in_dark_mode(color)) >= 4.5, text["words"]


@every_drawing
def test_a_drawing_is_small_stands_alone_and_is_said_in_words(name):
    drawing = GALLERY[name]
    root = ElementTree.fromstring(drawing.svg)
    assert root.attrib["aria-label"] == drawing.alt
    assert len(drawing.alt) > 80 and "\n" not in drawing.alt
    assert len(drawing.svg.encode()) <= 15_000
    assert not re.search(r"href|url\(|<script|<image", drawing.svg)
    assert drawing._repr_mimebundle_() == {"image/svg+xml": drawing.svg, "text/plain": drawing.alt}


def test_a_drawing_is_the_same_each_time():
    x, projections = paper_example()
    again = drawings.self_attention(x, **projections, tokens=TOKENS, row=1, name="a")
    assert again == GALLERY["self-attention"]


# Looking into an SVG: groups have the names of matrices.


def parts(drawing, name, kind):
    """The elements of a kind in each matrix of this name."""
    root = ElementTree.fromstring(re.sub(r' xmlns="[^"]+"', "", drawing.svg))
    group = root.find(f".//g[@data-name='{name}']")
    assert group is not None, name
    return group.findall(f".//{kind}")


def size(box):
    return float(box.attrib["width"]), float(box.attrib["height"])


def numbers_in(drawing, name):
    rows = [[float(part.text.replace("−", "-")) for part in text.findall("tspan[@x]")]
            for text in parts(drawing, name, "text")]  # fmt: skip
    return torch.tensor([row for row in rows if row])


def test_numbers_are_those_of_the_tensors():
    x, projections = paper_example()
    query, key, value = (x @ projection for projection in projections.values())
    output, weights = attention(query, key, value, need_weights=True)
    drawn = GALLERY["self-attention"]
    expected = {
        "a": x,
        "W_Q": projections["q_proj"],
        "W_K": projections["k_proj"],
        "W_V": projections["v_proj"],
        "Q": query,
        "K": key,
        "V": value,
        "Q K^T": query @ key.mT,
        "scores": query @ key.mT / 2,
        "weights": weights,
        "output": output,
    }
    for name, tensor in expected.items():
        torch.testing.assert_close(numbers_in(drawn, name), tensor, rtol=0, atol=0.00501)
    assert "0.07 for a 1, 0.20 for a 2, 0.20 for a 3, 0.53 for a 4" in drawn.alt
    assert "(2.27, 2.92)" in drawn.alt


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1.0, -2.0], ["1", "−2"]),
        ([0.5, 1.0], ["0.5", "1.0"]),
        ([0.123, -0.001], ["0.12", "0.00"]),
        ([12.34, 0.0], ["12.3", "0.0"]),
        ([-123.4, 5.0], ["−123", "5"]),
    ],
)
def test_numbers_have_no_more_decimals_than_they_need(values, texts):
    assert Matrix(torch.tensor([values]), name="x").numbers() == [texts]


def test_matrices_are_drawn_to_scale():
    drawn = GALLERY["matrices"]
    (x, *_), (projection, *_), (query, *_) = (
        parts(drawn, name, "rect") for name in ("x", "W_Q", "Q")
    )
    assert size(projection)[0] == size(query)[0] == 2 * size(x)[0]
    assert size(x)[1] == size(query)[1] == 2 * size(projection)[1]


def test_a_long_axis_has_a_break_and_its_true_length_in_words():
    drawn = GALLERY["large matrices"]
    x, projection = parts(drawn, "x", "rect")[0], parts(drawn, "W_Q", "rect")[0]
    assert size(x)[0] == size(projection)[0] == size(projection)[1]
    assert size(x)[0] < size(x)[1] * 768 / 6
    assert [text.text for text in parts(drawn, "x", "text")][-1] == "6 × 768"
    assert "x has 6 rows and 768 columns" in drawn.alt
    short = drawings.matrix(torch.zeros(12, 12), name="x")
    assert [*projection_dots(short)] == [] and [*projection_dots(drawn)] != []


def projection_dots(drawing):
    return re.findall('stroke-linecap="round"', drawing.svg)


@pytest.mark.parametrize("row", range(4))
def test_the_row_asked_for_is_framed(row):
    drawn = drawings.matrix(torch.ones(4, 2), name="x", rows=TOKENS, row=row)
    whole, frame = parts(drawn, "x", "rect")
    assert size(frame) == (size(whole)[0], size(whole)[1] / 4)
    offset = float(frame.attrib["y"]) - float(whole.attrib["y"])
    assert offset == row * size(frame)[1]
    bold = parts(drawn, "x", "text[@font-weight][@text-anchor]")
    assert ["".join(text.itertext()) for text in bold] == [f"a{row + 1}"]
    assert f"Framed is its row a {row + 1}, (1, 1)." in drawn.alt


def test_a_product_frames_the_entry_and_writes_out_how_it_comes_about():
    left = Matrix(torch.tensor([[1.0, 2.0], [3.0, -4.0]]), name="A")
    right = Matrix(torch.tensor([[5.0, 6.0], [7.0, 8.0]]), name="B")
    drawn = drawings.product(left, right, name="AB", color=figures.RED, row=1, column=0)
    torch.testing.assert_close(numbers_in(drawn, "AB"), (left.values @ right.values).float())
    whole, frame = parts(drawn, "AB", "rect")
    assert size(frame) == (size(whole)[0] / 2, size(whole)[1] / 2)
    assert (frame.attrib["x"], frame.attrib["y"]) == ("-.5", "27.5")
    assert ">3·5 + (−4)·7 = −13</text>" in drawn.svg


@pytest.mark.parametrize("seed", range(3))
def test_a_score_is_drawn_as_its_products_and_as_their_sums(seed):
    generator = torch.Generator().manual_seed(seed)
    query, key = 10 * torch.randn(2, 5, generator=generator).round(decimals=1)
    drawn = drawings.score(query, key)
    for name, row in (("q", query), ("k", key), ("product", query * key)):
        torch.testing.assert_close(numbers_in(drawn, name), row[None], rtol=0, atol=0.0501)
    level, *lines = [
        [float(n) for n in re.findall(r"-?[\d.]+", path.attrib["d"])]
        for path in parts(drawn, "walk", "path")
        if path.attrib.get("stroke-width") in ("1", "2.5")
    ]
    heights = torch.tensor([level[1] - line[1] for line in lines])  # above the line of 0
    sums = (query * key).cumsum(dim=0)
    torch.testing.assert_close(heights / heights.abs().max(), sums / sums.abs().max(), rtol=0,
                               atol=0.01)  # fmt: skip
    assert f"from 0 to {sums[-1]:.0f}".replace("-", "−") in drawn.alt


@pytest.mark.parametrize("seed", range(3))
def test_softmax_is_drawn_as_bars_of_scores_exponentials_and_parts_of_one_whole(seed):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(3, generator=generator)
    drawn = drawings.softmax(scores, torch.ones(3))
    widths, ends = {}, {}
    for name in ("score s", "e^s", "weight w"):
        bars = parts(drawn, name, "rect")
        left = torch.tensor([float(bar.attrib["x"]) for bar in bars])
        widths[name] = torch.tensor([size(bar)[0] for bar in bars])
        ends[name] = left, left + widths[name]
    for name, row in (("score s", scores.abs()), ("e^s", scores.exp())):
        torch.testing.assert_close(
            widths[name] / widths[name].max(), row / row.max(), rtol=0, atol=0.01
        )
    negative = scores < 0
    left, right = ends["score s"]
    zero = torch.where(negative, right, left)
    assert zero.max() - zero.min() < 0.2  # to both sides of one line
    shares = widths["weight w"] / widths["weight w"].sum()
    torch.testing.assert_close(shares, scores.softmax(dim=0), rtol=0, atol=0.01)
    left, right = ends["weight w"]
    torch.testing.assert_close(left[1:], right[:-1], rtol=0, atol=0.2)  # one after the other


def test_the_mixture_below_softmax_is_the_weighted_sum_of_the_values():
    assert drawings.softmax(*SCORES_AND_VALUES).alt.endswith("0.6·10 + 0.3·20 + 0.1·60 = 18.")
    assert GALLERY["softmax of extremes"].alt.endswith(
        "1.00·10.00 + 0.00·(−20.00) + 0.00·60.25 = 10.00."
    )


def test_shades_follow_the_values():
    drawn = drawings.matrix(torch.eye(9), name="weights", color=figures.WEIGHTS)
    (cells,) = parts(drawn, "weights", "g/path")  # white is not drawn
    starts = re.findall(r"M(\d+) (\d+)h", cells.attrib["d"])
    assert len(starts) == 9
    assert all(int(x) + 10 == int(y) for x, y in starts)  # along the diagonal


def all_numbers_in(drawing, name):
    """Those of all groups of this name, in their order: a row each."""
    root = ElementTree.fromstring(re.sub(r' xmlns="[^"]+"', "", drawing.svg))
    return torch.tensor(
        [
            [float(part.text.replace("−", "-")) for part in group.findall(".//tspan[@x]")]
            for group in root.findall(f".//g[@data-name='{name}']")
        ]
    )


def test_two_heads_are_mixed_multiplied_and_added_up():
    drawn = GALLERY["heads add up"]
    weights, values, out_proj = TWO_HEADS.values()
    joined = (weights * values.mT).sum(dim=1, keepdim=True)
    expected = {
        "weights": weights,
        "values": values.mT,
        "joined": joined,
        "W_O": out_proj,
        "added": joined * out_proj,
        "output": joined.mT @ out_proj,
    }
    for name, tensor in expected.items():
        found = all_numbers_in(drawn, name)
        torch.testing.assert_close(found, tensor, rtol=0, atol=0.00501)
    assert "which give 2.6" in drawn.alt and "Added up: who 5.45, whom" in drawn.alt


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (
            {
                "weights": torch.ones(3, 3),
                "values": torch.ones(3, 3),
                "out_proj": torch.ones(3, 2),
            },
            "the drawing has 2 heads: got weights (3, 3)",
        ),
        ({"tokens": ["dog", "man"]}, "do not fit 2 tokens and 2 answers"),
        ({"answers": ["who"]}, "do not fit 3 tokens and 1 answers"),
        ({"tokens": ["a", "b" * 30, "c"]}, "has no room in a cell"),
    ],
)
def test_two_heads_that_do_not_fit_are_refused(changed, says):
    given = {**TWO_HEADS, "tokens": ["dog", "bites", "man"], "answers": ["who", "whom"]}
    with pytest.raises(ValueError, match=re.escape(says)):
        drawings.heads_add_up(**given | changed)


@pytest.mark.parametrize("name", SPLITS)
def test_a_split_shows_what_each_head_gets_and_whose_each_cell_is(name):
    drawn = GALLERY["splits"]
    root = ElementTree.fromstring(re.sub(r' xmlns="[^"]+"', "", drawn.svg))

    def colors(of):
        groups = root.findall(f".//g[@data-name='{of}, {name}']")
        return [[box.attrib["fill"] for box in group.findall("rect")] for group in groups]

    torch.testing.assert_close(all_numbers_in(drawn, f"x, {name}"), NAMED)
    color_of = {}
    for head in range(2):
        torch.testing.assert_close(all_numbers_in(drawn, f"head {head + 1}, {name}"),
                                   SPLITS[name][head])  # fmt: skip
        (color,) = {color for row in colors(f"head {head + 1}") for color in row}
        color_of |= dict.fromkeys(SPLITS[name][head].flatten().tolist(), color)
    assert len({*color_of.values()}) == 2
    assert colors("x") == [[color_of[value] for value in row] for row in NAMED.tolist()]


@pytest.mark.parametrize(
    ("x", "heads", "says"),
    [
        (torch.ones(3, 4), SPLITS["view alone"], "all 12 numbers of x must differ: 1 do"),
        (NAMED, NAMED.view(1, 3, 4), "gives no cell of x (3, 4) to each of 2 heads"),
        (NAMED, SPLITS["view alone"] + 1, "gives no cell of x (3, 4) to each of 2 heads"),
    ],
)
def test_a_split_that_loses_cells_is_refused(x, heads, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        drawings.splits(x, {"wrong": heads}, tokens=["a", "b", "c"])


def test_heads_are_equal_parts_and_the_head_asked_for_is_framed():
    drawn = GALLERY["12 heads"]
    whole = size(parts(drawn, "x", "rect")[0])
    for name in ("Q", "K", "V", "joined"):
        (frame,) = parts(drawn, name, "rect")
        head, height = size(frame)
        assert height == head == whole[1]  # six rows each, and a square map of weights
        assert 12 * head + 11 * 4 == whole[0]
        assert float(frame.attrib["x"]) == 2 * (head + 4)
    assert "head 3" in drawn.alt


@pytest.mark.parametrize(("name", "sign", "n"), [("", 1, 3), (" at two", -1, 2)])
def test_a_look_back_has_the_numbers_of_its_steps_and_lines_as_thick_as_weights(name, sign, n):
    drawn, memory = GALLERY["looking back" + name], STATES[:n]
    energies = memory @ (sign * ASKS)
    weights = energies.softmax(dim=-1)

    def said(box):
        (text,) = parts(drawn, box, "text")
        return "".join(text.itertext()).replace("−", "-")

    for j in range(n):
        assert said(f"state {j + 1}") == f"h{j + 1} = ({memory[j, 0]:.0f}, {memory[j, 1]:.0f})"
        assert float(said(f"energy {j + 1}")) == energies[j]
        assert said(f"weight {j + 1}") == f"{weights[j]:.2f}"
    context = ", ".join(f"{number:.2f}" for number in weights @ memory)
    assert said("context") == f"c = ({context})" and f"({context})" in drawn.alt
    line = rf'stroke="{tint(figures.VALUE, 0.6)}" stroke-width="([\d.]+)"'
    thick = torch.tensor([float(width) for width in re.findall(line, drawn.svg)])
    assert thick.sub(12 * weights).abs().max() < 0.01


def test_two_orders_have_the_same_output_and_weights_that_go_along_with_their_words():
    drawn = GALLERY["two orders"]
    weights = KEYS[:, 0].softmax(dim=-1)  # the query is 1

    output = ", ".join(f"{number:.2f}" for number in weights @ VALUES)
    for order in (1, 2):
        (text,) = parts(drawn, f"output, order {order}", "text")
        assert "".join(text.itertext()) == f"({output})"
        for word, share in zip(WORDS, weights, strict=True):
            (text,) = parts(drawn, f"weight of {word}, order {order}", "text")
            assert text.text == f"{share:.2f}"
    boxes = r'data-name="weight of (\w+), order (\d)" transform="translate\(([\d.]+)'
    found = sorted((order, float(x), word) for word, order, x in re.findall(boxes, drawn.svg))
    assert [word for *_, word in found] == [*WORDS, *WORDS[::-1]]
    line = rf'stroke="{tint(figures.WEIGHTS, 0.35)}" stroke-width="([\d.]+)"'
    thick = torch.tensor([float(width) for width in re.findall(line, drawn.svg)])
    assert thick.sub((12 * weights[NEWS]).clamp_min(1)).abs().max() < 0.01


def test_behind_a_mask_each_word_lists_whom_it_has_heard_and_stands_out_if_the_order_changes_it():
    drawn = GALLERY["heard"]
    expected = {
        1: {"dog": ["–"], "bites": ["dog"], "man": ["dog", "bites"], "?": WORDS},
        2: {"man": ["–"], "bites": ["man"], "dog": ["man", "bites"], "?": WORDS[::-1]},
    }
    for order, lists in expected.items():
        for word, others in lists.items():
            name = f"{word} has heard, order {order}"
            assert ["".join(t.itertext()) for t in parts(drawn, name, "text")] == others
            (box,) = parts(drawn, name, "rect")
            assert (box.attrib["stroke"] == figures.KEY) == (word != "?")
    assert "man has heard dog and bites" in drawn.alt and "dog has heard nobody" in drawn.alt


def test_orders_that_are_none_and_words_without_room_are_refused(no_shape_checks):
    def two_orders(key=KEYS, words=WORDS, order=NEWS):
        return drawings.two_orders(ASKS[:1], key, VALUES, words=words, order=order, asks="man")

    with pytest.raises(ValueError, match=r"each of 3 words once: got \[0, 1, 1\]"):
        two_orders(order=[0, 1, 1])
    with pytest.raises(ValueError, match="2 to 4 words: got 5"):
        two_orders(words="abcde")
    with pytest.raises(ValueError, match="each of 3 words: got 2 keys and 3 values"):
        two_orders(key=KEYS[:2])
    with pytest.raises(ValueError, match="12345678 has no room"):
        two_orders(key=torch.tensor([[12345678.0], [0.0], [1.0]]))
    with pytest.raises(ValueError, match="must be finite"):
        two_orders(key=KEYS / 0)
    with pytest.raises(ValueError, match=r"a mask for 3 words: got shape \(2, 2\)"):
        drawings.heard(causal_mask(2), words=WORDS, order=NEWS)
    with pytest.raises(ValueError, match="a very long sentence has no room"):
        drawings.heard(causal_mask(2), words=["a very long sentence", "b"], order=[1, 0])


def test_word_and_position_stand_above_their_sum():
    drawn = GALLERY["word plus position"]
    root = ElementTree.fromstring(drawn.svg)
    shown, tops = {}, []
    for group in root.iter():
        if name := group.get("data-name"):
            shown[name] = [text.text for text in group.iter() if text.get("x") and text.text]
            tops.append(float(re.findall(r"[\d.]+", group.get("transform"))[1]))
    words, positions = WORDS_AND_PLACES
    assert [*shown] == ["word", "position", "sum"] and tops == sorted(tops)
    for name, matrix in (("word", words), ("position", positions), ("sum", words + positions)):
        numbers = [float(t.replace("−", "-")) for t in shown[name] if re.fullmatch(r"−?[\d.]+", t)]
        assert torch.tensor(numbers).view(3, 4).sub(matrix).abs().max() <= 0.0051
    assert "position 2" in shown["position"]
    assert "two (0.5, −0.2, 0.3, 0.1) plus position 2 (0.91, −0.42, 0.02, 1.00)" in drawn.alt


def test_words_and_positions_must_fit(no_shape_checks):
    with pytest.raises(ValueError, match=r"got shapes \(3, 4\) and \(3, 2\)"):
        drawings.word_plus_position(WORDS_AND_PLACES[0], WORDS_AND_PLACES[1][:, :2], tokens="abc")
    with pytest.raises(ValueError, match="needs 3 row labels: got 2"):
        drawings.word_plus_position(*WORDS_AND_PLACES, tokens="ab")


def test_weights_are_a_square_of_as_many_tokens_and_all_else_only_gets_longer():
    root = ElementTree.fromstring(re.sub(r' xmlns="[^"]+"', "", GALLERY["growth"].svg))
    for color, wide in ((figures.WEIGHTS, None), (figures.QUERY, 2), (figures.VALUE, 2)):
        boxes = root.findall(f".//rect[@stroke='{tint(color, 0.6)}']")
        sizes = {tuple(side / 9 for side in size(box)) for box in boxes}
        assert sizes == {(wide or length, length) for length in (1, 3, 6)}
    assert all(f">{length**2} weights</text>" in GALLERY["growth"].svg for length in (1, 3, 6))


@pytest.mark.parametrize("seed", range(3))
def test_a_softmax_in_blocks_ends_with_the_mix_of_all(seed):
    generator = torch.Generator().manual_seed(seed)
    scores, values = torch.randn(2, 4, generator=generator).round(decimals=1)
    said = drawings.softmax_in_blocks(scores, values, block=2).alt.replace("−", "-")
    first, last = map(float, re.findall(r"a ÷ ℓ = (-?[\d.]+\d|-?\d)", said))
    assert abs(last - scores.softmax(dim=0) @ values) < 0.006
    assert abs(first - scores[:2].softmax(dim=0) @ values[:2]) < 0.006


def test_a_larger_score_in_the_second_block_corrects_the_sums_of_the_first():
    scores, values = FOUR_SCORES
    whole = scores.softmax(dim=0) @ values
    assert GALLERY["softmax in blocks"].alt.endswith(f"a ÷ ℓ = {whole:.1f}, the output.")


@pytest.mark.parametrize("blocks", [2, 4])
def test_tiles_are_numbered_down_the_columns_or_along_the_rows(blocks):
    drawn = drawings.loop_orders(blocks)
    grids = []
    for name in ("FlashAttention", "FlashAttention-2"):
        texts = [text for text in parts(drawn, name, "text") if (text.text or "").isdigit()]
        places = sorted((float(t.attrib["y"]), float(t.attrib["x"]), int(t.text)) for t in texts)
        grids.append(torch.tensor([n for _, _, n in places]).view(blocks, blocks))
    counted = torch.arange(1, blocks**2 + 1).view(blocks, blocks)
    assert torch.equal(grids[0], counted.T) and torch.equal(grids[1], counted)


def test_a_cache_leaves_one_row_of_scores_to_compute():
    for name, of_step in (("no cache", lambda n: n * n), ("cache", lambda n: n)):
        for step in (3, 4, 5):
            boxes = parts(GALLERY["caching"], f"{name}, token {step}", "rect")
            greys = [tint(figures.NEUTRAL, share) for share in (0.3, 0.75)]
            assert sum(box.attrib["fill"] in greys for box in boxes) == of_step(step)
            fresh = [box for box in boxes if box.attrib["fill"] == tint(figures.KEY, 0.6)]
            assert len(fresh) == (1 if name == "cache" else step)


@pytest.mark.parametrize("kv_heads", [9, 3, 1])
def test_each_head_of_queries_is_joined_to_the_keys_of_its_group(kv_heads):
    boxes = parts(GALLERY["shared heads"], f"{kv_heads} heads of keys", "rect")
    keys = [float(box.attrib["x"]) for box in boxes if box.attrib["fill"] == tint(figures.KEY, 0.6)]
    lines = [
        [float(n) for n in re.findall(r"-?[\d.]+", path.attrib["d"])]
        for path in parts(GALLERY["shared heads"], f"{kv_heads} heads of keys", "path")
    ]
    assert len(keys) == kv_heads and len(lines) == 9
    ends = [min(range(kv_heads), key=lambda i: abs(keys[i] - line[2])) for line in lines]
    assert ends == [h // (9 // kv_heads) for h in range(9)]


def test_costs_that_have_no_room_are_refused(no_shape_checks):
    x = torch.ones(4, 2)
    with pytest.raises(ValueError, match=r"a length must be 1 to 4, of 4 tokens .* got 5"):
        drawings.growth(x, x, x, lengths=(2, 5))
    with pytest.raises(ValueError, match="got 3 scores, 3 values and blocks of 2"):
        drawings.softmax_in_blocks(torch.ones(3), torch.ones(3), block=2)
    with pytest.raises(ValueError, match="scores must be finite: got inf"):
        drawings.softmax_in_blocks(torch.ones(4) / 0, torch.ones(4), block=2)
    with pytest.raises(ValueError, match="2 to 5 blocks are drawn: got 6"):
        drawings.loop_orders(6)
    with pytest.raises(ValueError, match=r"each of 1 to 6 tokens: got \[7\]"):
        drawings.caching((7,))
    with pytest.raises(ValueError, match="got 13 heads and 1 panels"):
        drawings.shared_heads(13, kv_heads=(1,))
    with pytest.raises(ValueError, match="num_heads=9 is not divisible by kv_heads=2"):
        drawings.shared_heads(9, kv_heads=(2,))


def test_a_post_norm_block_has_its_norms_on_the_stream():
    pre, post = (
        [box.attrib["x"] for box in ElementTree.fromstring(GALLERY[name].svg).iter()
         if box.attrib.get("height") in ("24", "22")]
        for name in ("encoder block", "encoder block, post-norm")
    )  # fmt: skip
    assert pre == ["28", "28"] and post == ["-22", "-22"]


def test_a_look_back_that_has_no_room_is_refused(no_shape_checks):
    with pytest.raises(ValueError, match="got 2 tokens and 3 states"):
        drawings.looking_back(ASKS, STATES, tokens=["a", "b"])
    with pytest.raises(ValueError, match="2 to 3 tokens"):
        drawings.looking_back(ASKS, STATES.repeat(2, 1), tokens="abcdef")
    with pytest.raises(ValueError, match=r"z = \(1, 1, 1, 1, 1\) has no room"):
        drawings.looking_back(torch.ones(5), torch.ones(2, 5), tokens="ab")
    with pytest.raises(ValueError, match="must be finite"):
        drawings.looking_back(ASKS, STATES / 0, tokens="abc")


def test_what_does_not_fit_is_an_error_that_names_the_sizes(no_shape_checks):
    x = torch.ones(4, 3)
    with pytest.raises(ValueError, match=r"W has shape \(4, 3\), which needs 4 row labels: got 3"):
        drawings.matrix(x, name="W", rows=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"same 1 to 6 features: got shapes \(3,\) and \(4,\)"):
        drawings.score(torch.ones(3), torch.ones(4))
    with pytest.raises(ValueError, match=r"same 1 to 6 features: got shapes \(7,\) and \(7,\)"):
        drawings.score(torch.ones(7), torch.ones(7))
    with pytest.raises(ValueError, match=r"same 1 to 6 features: got shapes \(1, 3\) and"):
        drawings.score(torch.ones(1, 3), torch.ones(1, 3))
    with pytest.raises(ValueError, match=r"q must be finite: got nan"):
        drawings.score(torch.tensor([math.nan]), torch.ones(1))
    with pytest.raises(ValueError, match=r"1 to 3 keys .* got shapes \(3,\) and \(2,\)"):
        drawings.softmax(torch.ones(3), torch.ones(2))
    with pytest.raises(ValueError, match=r"1 to 3 keys .* got shapes \(4,\) and \(4,\)"):
        drawings.softmax(torch.ones(4), torch.ones(4))
    with pytest.raises(ValueError, match=r"between −5 and 5, .* got \[6.0\] and \[1.0\]"):
        drawings.softmax(torch.tensor([6.0]), torch.ones(1))
    with pytest.raises(ValueError, match=r"values be finite: got \[1.0\] and \[nan\]"):
        drawings.softmax(torch.ones(1), torch.tensor([math.nan]))
    with pytest.raises(ValueError, match=r"\(4, 3\), which needs 3 column labels: got 1"):
        drawings.matrix(x, name="W", columns=["a"])
    with pytest.raises(ValueError, match=r"\(4, 3\): there is no row 4"):
        drawings.matrix(x, name="W", row=4)
    with pytest.raises(ValueError, match=r"W must be a matrix: got shape \(4,\)"):
        drawings.matrix(x[:, 0], name="W")
    with pytest.raises(ValueError, match="W must be finite: got nan"):
        drawings.matrix(x * math.nan, name="W")
    with pytest.raises(ValueError, match=r"row 100 is in the break, only 0, 1, .*, 199 are drawn"):
        drawings.matrix(torch.ones(200, 3), name="W", row=100)
    with pytest.raises(ValueError, match="A 4 × 3 and B 4 × 3 can't be multiplied: 3 columns"):
        drawings.product(Matrix(x, name="A"), Matrix(x, name="B"), name="C", color=figures.RED)
    with pytest.raises(ValueError, match="too wide for one drawing: x 4 × 3, x 4 × 3"):
        drawings.matrices(*[Matrix(x, name="x")] * 20)
    with pytest.raises(ValueError, match="d_model=10 is not divisible by num_heads=4"):
        drawings.heads(torch.ones(4, 2, 2), d_model=10)
    with pytest.raises(ValueError, match="there are 4 heads: there is no head 4"):
        drawings.heads(torch.ones(4, 2, 2), d_model=8, head=4)
    with pytest.raises(ValueError, match="2 to 16 heads: got 1"):
        drawings.heads(torch.ones(1, 2, 2), d_model=8)
    with pytest.raises(ValueError, match="d_model=512 is not divisible by num_heads=7"):
        drawings.decoder_block(**BASE | {"num_heads": 7})
    with pytest.raises(ValueError, match="got 6 of the source, 0 of the target"):
        drawings.transformer(**WHOLE | {"target": []})


def test_tokens_are_written_as_they_are():
    drawn = drawings.matrix(torch.ones(2, 2), name="x", rows=["<s>", "R&D"])
    labels = [text.text for text in parts(drawn, "x", "text[@text-anchor]")]
    assert labels == ["<s>", "R&D"]


# How a translator learns and writes.


def test_the_lesson_set_off_is_the_one_asked_for_with_what_it_has_read():
    drawn = GALLERY["teacher forcing"]
    assert "it has read <start> zwei kinder and is to say spielen." in drawn.alt
    bold = [
        t
        for n in range(1, 8)
        if (t := parts(drawn, f"lesson {n}", "text"))[1].attrib.get("font-weight")
    ]
    assert [[text.text for text in texts] for texts in bold] == [["kinder", "spielen", "0.90"]]
    dark = [parts(drawn, f"lesson {n}", "rect")[0].attrib["fill"] for n in range(1, 8)]
    assert len({*dark[:3]}) == len({*dark[3:]}) == 1 and dark[0] != dark[3]


def test_a_beam_boxes_what_it_keeps_and_nothing_else():
    drawn = GALLERY["beam"]
    boxes = {
        (one.token, n): len(parts(drawn, f"{one.token}, step {n}", "rect"))
        for n, step in enumerate(TREE, start=1)
        for one in step
    }
    assert boxes == {
        (one.token, n): int(one.kept) for n, step in enumerate(TREE, 1) for one in step
    }


def test_what_a_cache_spares_is_counted():
    assert "91 in all. With a cache" in GALLERY["writing"].alt  # 10 + 11 + … + 16
    assert "16 in all" in GALLERY["writing"].alt  # 10 + 6
    kept, made = [], []
    for n in range(1, 8):
        boxes = parts(GALLERY["writing"], f"with a cache, step {n}", "rect")
        kept.append(sum(box.attrib["fill"] == "#fff" for box in boxes))
        made.append(len(boxes) - kept[-1])
    assert kept == [0, *[2] * 6] and made == [2, *[1] * 6]  # runs of cells: source, so far, new


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: drawings.teacher_forcing(**LESSONS | {"says": LESSONS["reads"]}, lesson=0),
         "shifted by one"),
        (lambda: drawings.teacher_forcing(**LESSONS, lesson=7), "lessons are 0 to 6: got 7"),
        (lambda: drawings.teacher_forcing(**LESSONS | {"chances": torch.ones(2)}, lesson=0),
         "7 tokens to read, 7 to say and 2 chances"),
        (lambda: drawings.beam_tree("a", []), "got 0"),
        (lambda: drawings.beam_tree("a", [*TREE, [drawings.Beginning("b", -1.0, 3, True)]]),
         "step 3: b continues nothing"),
        (lambda: drawings.writing(20, ["a", "b", "c"]), "got 20 and 3"),
        (lambda: drawings.writing(3, []), "got 3 and 0"),
    ],
)  # fmt: skip
def test_impossible_lessons_beams_and_writing_are_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
