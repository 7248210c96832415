"""What drawings show are the numbers that they are given, to scale."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
import torch
from gallery import (
    ASKS,
    BLOCK,
    BOTH_WAYS,
    FINDING,
    GALLERY,
    INDUCTION,
    NAMED,
    NEURONS,
    SPLITS,
    STATES,
    TOKEN,
    TURNS,
    TWO_HEADS,
    WORDS,
    paper_example,
)

from attnbook import figures
from attnbook.figures import drawings, style
from attnbook.figures.drawings import Matrix
from attnbook.figures.drawings.layer_norm import STEPS
from attnbook.figures.drawings.positions import WIDE
from attnbook.figures.drawings.svg import SOFT, tint
from attnbook.figures.drawings.turning import BAND, LONG
from attnbook.positions import sinusoidal_positions

# Looking into an SVG: groups have the names of matrices.


def root_of(drawing):
    return ElementTree.fromstring(re.sub(r' xmlns="[^"]+"', "", drawing.svg))


def parts(drawing, name, kind):
    """The elements of a kind in each matrix of this name."""
    root = root_of(drawing)
    group = root.find(f".//g[@data-name='{name}']")
    assert group is not None, name
    return group.findall(f".//{kind}")


def size(box):
    return float(box.attrib["width"]), float(box.attrib["height"])


def numbers_in(drawing, name):
    """Those of all groups of this name: a row for each line of text that has some."""
    groups = root_of(drawing).findall(f".//g[@data-name='{name}']")
    lines = [text for group in groups for text in group.findall(".//text")]
    rows = [[float(part.text.replace("−", "-")) for part in line.findall("tspan[@x]")]
            for line in lines]  # fmt: skip
    return torch.tensor([row for row in rows if row])


def plain(text):
    return text.replace("−", "-")


def darkness(group, lefts, height, darkest=None):
    """How dark each cell of a map is, as a share of the darkest one, or of this; white is 0."""
    cells = torch.zeros(8, len(lefts))
    step = lefts[1] - lefts[0]
    for path in group.findall("./g/path"):
        color = path.attrib["stroke"]
        dark = sum(255 - int(color[i : i + 2], 16) for i in (1, 3, 5))
        for x, y, long in re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)", path.attrib["d"]):
            first, row = round((float(x) - lefts[0]) / step), int(float(y) // height)
            cells[row, first : first + round(float(long) / step)] = dark
    rows = int(cells.any(dim=1).nonzero().max()) + 1
    return cells[:rows] / (darkest or cells.max())


def heads_add_up():
    weights, values, out_proj = TWO_HEADS.values()
    joined = (weights * values.mT).sum(dim=1, keepdim=True)
    shown = {"weights": weights, "joined": joined, "W_O": out_proj}
    return shown | {"added": joined * out_proj}


NUMBERS = {
    "heads add up": heads_add_up(),
    "product": {
        "Q": paper_example()[0] @ paper_example()[1]["q_proj"],
    },
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_those_of_the_tensors(name):
    for group, tensor in NUMBERS[name].items():
        shown = numbers_in(GALLERY[name], group)
        assert torch.allclose(shown, tensor.float(), rtol=0, atol=0.0051), group


def written(drawn, name):
    """The texts in a group."""
    return [plain(text.text) for text in parts(drawn, name, "text")]


def test_heads_that_add_up_begin_with_the_question_and_end_with_the_words_that_answer_it():
    drawn = GALLERY["heads that find their words"]
    first = root_of(drawn).find(".//text")
    assert first.text == "Who bites? Whom?" and drawn.alt.startswith("Who bites? Whom? The sizes")
    values = [part.text for part in parts(drawn, "values", "tspan")]
    assert values == ["dog 2", "bites 0", "man 4"]
    assert written(drawn, "output") == ["who: 2 = dog", "whom: 4 = man"]


def test_heads_that_find_no_word_say_only_numbers():
    drawn = GALLERY["heads add up"]
    assert root_of(drawn).find(".//text").text == "who? whom?"
    weights, values, out_proj = TWO_HEADS.values()
    shown = [plain(part.text) for part in parts(drawn, "values", "tspan")]
    assert shown == ["dog 2, 1", "bites 0", "man 4, -3"]
    output = (weights * values.mT).sum(dim=1) @ out_proj
    expected = zip(("who", "whom"), output, strict=True)
    assert written(drawn, "output") == [f"{name}: {number:.2f}" for name, number in expected]
    alike = FINDING | {"values": torch.tensor([[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]),
                       "out_proj": torch.eye(2)}  # fmt: skip
    drawn = drawings.heads_add_up(**alike, tokens=WORDS, answers=["who", "whom"])
    assert written(drawn, "output") == ["who: 2", "whom: 2"], "no one of three words"


def test_a_score_is_drawn_as_its_products_and_as_their_sums():
    generator = torch.Generator().manual_seed(0)
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


@pytest.mark.parametrize("name", SPLITS)
def test_a_split_shows_what_each_head_gets_and_whose_each_cell_is(name):
    drawn = GALLERY["splits"]
    root = root_of(drawn)

    def colors(of):
        groups = root.findall(f".//g[@data-name='{of}, {name}']")
        return [[box.attrib["fill"] for box in group.findall("rect")] for group in groups]

    torch.testing.assert_close(numbers_in(drawn, f"x, {name}"), NAMED)
    color_of = {}
    for head in range(2):
        torch.testing.assert_close(numbers_in(drawn, f"head {head + 1}, {name}"),
                                   SPLITS[name][head])  # fmt: skip
        (color,) = {color for row in colors(f"head {head + 1}") for color in row}
        color_of |= dict.fromkeys(SPLITS[name][head].flatten().tolist(), color)
    assert len({*color_of.values()}) == 2
    assert colors("x") == [[color_of[value] for value in row] for row in NAMED.tolist()]


def test_a_look_back_has_the_numbers_of_its_steps_and_lines_as_thick_as_weights():
    drawn = GALLERY["looking back"]
    energies = STATES @ ASKS
    weights = energies.softmax(dim=-1)

    def said(box):
        (text,) = parts(drawn, box, "text")
        return "".join(text.itertext()).replace("−", "-")

    for j, state in enumerate(STATES):
        assert said(f"state {j + 1}") == "h{} = ({:.0f}, {:.0f})".format(j + 1, *state)
        assert float(said(f"energy {j + 1}")) == energies[j]
        assert said(f"weight {j + 1}") == f"{weights[j]:.2f}"
    context = ", ".join(f"{number:.2f}" for number in weights @ STATES)
    assert said("context") == f"c = ({context})" and f"({context})" in drawn.alt
    line = rf'stroke="{tint(figures.VALUE, 0.6)}" stroke-width="([\d.]+)"'
    thick = torch.tensor([float(width) for width in re.findall(line, drawn.svg)])
    assert thick.sub(12 * weights).abs().max() < 0.01


def test_all_words_work_in_step_1_or_one_in_each_step():
    words, (start, end) = ["The", "cat", "drank", "its", "milk"], (1, 3)
    root = root_of(drawings.in_parallel(words, link=(start, end)))
    cells = [(float(box.get("y")), box.get("stroke")) for box in root.iter("rect")][1:]
    steps = sorted({y for y, _ in cells})
    at_work = {color: [steps.index(y) for y, stroke in cells if stroke == color]
               for color in (figures.NEUTRAL, figures.WEIGHTS)}  # fmt: skip
    assert at_work == {figures.NEUTRAL: [0, 1, 2, 3, 4], figures.WEIGHTS: [0] * 5}
    lines = {
        text.text: float(text.get("y")) for text in root.iter("text") if text.text != "finished"
    }
    ends = sorted(float(text.get("y")) for text in root.iter("text") if text.text == "finished")
    assert lines["step 1"] < ends[0] <= lines["step 2"] < lines["step 5"] < ends[1]
    assert {"“cat” to “its”: 2 hand-overs", "“cat” to “its”: 1 look"} <= lines.keys()
    heads = [path for path in root.iter("path") if path.get("fill") == figures.WEIGHTS]
    assert len(heads) == end - start
    others = [path for path in root.iter("path") if path.get("fill") == SOFT]
    assert len(heads) + len(others) == len(words) - 1
    assert len(cells) == len(words) ** 2 + len(words), "nobody works later on the right"


def test_an_induction_head_looks_at_notes_as_much_as_its_weights_say():
    root = root_of(GALLERY["induction"])
    widths = []
    for path in root.iter("path"):
        if path.get("d").endswith("z") and path.get("d").count("C") == 2:
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", path.get("d"))]
            widths.append(numbers[13] - numbers[0])
    drawn = [weight for weight in INDUCTION["weights"] if weight >= 0.02]
    assert widths == pytest.approx([18 * weight for weight in drawn], abs=0.2)
    # under each word its note: Zibo is two words, and the note of slept
    at = [(text.text, float(text.get("x"))) for text in root.iter("text")]
    noted = sorted(x for word, x in at if word == "Zibo")
    places = {word: x for word, x in at if word in ("The", "owl", "Then")}
    assert len(noted) == 3 and len({*noted}) == 3 and len(places) == 3
    assert "2  The last word asks: who comes after “Zibo”?" in dict(at)


def test_the_path_of_a_fact_is_as_wide_as_what_each_vector_and_the_head_decide():
    root = root_of(GALLERY["path of a fact"])
    areas = []
    for path in root.iter("path"):
        if path.get("d").endswith("z") and path.get("d").count("L") > 2:
            points = re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.get("d"))
            ys = [float(y) for _, y in points]
            half = len(ys) // 2
            areas.append(
                [low - high for high, low in zip(ys[:half], ys[: half - 1 : -1], strict=True)]
            )
    france, early, late = areas  # the ends are as wide as the blocks beside them
    assert france[1:-1] == pytest.approx([30] * 8 + [24] * 8, abs=0.2)
    assert early[1:-1] == pytest.approx([1.5] * 15 + [6], abs=0.2)
    assert late[1:-1] == pytest.approx([27] * 8, abs=0.2)
    (ribbon,) = (path for path in root.iter("path") if path.get("stroke") == style.WEIGHTS)
    assert float(ribbon.get("stroke-width")) == 15
    said = " ".join(text for text in root.itertext())
    assert "“is” looks at “France”, 70 %" in said and "3,120" in said
    assert "80 %" in said and "90 %" in said


def test_a_word_read_both_ways_has_lines_as_thick_as_its_weights_and_pale_words_unread():
    root = root_of(GALLERY["both ways"])
    thick = [
        float(path.get("stroke-width")) for path in root.iter("path") if path.get("fill") == "none"
    ]
    looks = [
        w for _, weights, _ in BOTH_WAYS["readings"] for j, w in enumerate(weights) if j != 1 and w
    ]
    assert sorted(thick)[-len(looks) :] == pytest.approx(
        sorted(1.5 + 9 * w for w in looks), abs=0.06
    )
    assert sum(box.get("stroke-dasharray") is not None for box in root.iter("rect")) == 3
    texts = [text.text for text in root.iter("text")]
    assert {"0.88", "0.06", "0.04", "0.10"} <= {*texts} and "0.12" not in texts
    assert "exactly the same vector (cosine 1.00)" in texts
    assert "a different vector in each (cosine 0.94)" in texts


def test_bars_of_a_block_are_as_tall_as_the_vector_in_the_colours_of_what_was_added():
    drawn = GALLERY["one block"]
    stages, colors = BLOCK["stages"], (figures.NEUTRAL, figures.WEIGHTS, figures.OTHER)
    shelves = root_of(drawn).findall(".//g[@data-name='bars']")
    unit = size(shelves[0].find("rect"))[1] / stages[0, 0].item()
    assert len(shelves) == 3
    for stage, shelf in enumerate(shelves):
        updates = torch.stack([stages[0], *stages.diff(dim=0)])[: stage + 1]
        places = updates.nonzero().tolist()
        tall = sorted((colors[part], unit * updates[part, j].item()) for part, j in places)
        bars = sorted((bar.get("stroke"), size(bar)[1]) for bar in shelf.findall("rect"))
        assert [color for color, _ in bars] == [color for color, _ in tall]
        assert [high for _, high in bars] == pytest.approx([high for _, high in tall], abs=0.06)
        said = [float(text.text) for text in shelf.findall("text") if text.text[0].isdigit()]
        assert said == pytest.approx([y for y in stages[stage].tolist() if y], abs=0.051)
    assert "adds 1.0 drinking, 0.2 liquid" in drawn.alt and "adds 2.0 thing" in drawn.alt
    looks = [text.text for text in root_of(drawn).findall(".//g[@data-name='word']/text")]
    assert looks == ["dog", "bites 0.8", "man"]


@pytest.mark.parametrize("sign", [1, -1])
def test_neurons_show_their_sums_and_what_they_add(sign):
    x = sign * NEURONS["x"]
    drawn = drawings.neurons(**NEURONS | {"x": x}, token="milk")
    up_proj, bias, down_proj = (NEURONS[name] for name in ("up_proj", "bias", "down_proj"))
    sums = x @ up_proj + bias
    hidden = sums.relu()
    groups = [g for g in root_of(drawn).iter("g") if g.get("data-name").startswith("neuron ")]
    for k, group in enumerate(groups):
        *question, terms, total = ("".join(text.itertext()) for text in group.findall("text"))
        assert tuple(question) == NEURONS["questions"][k]
        shown = [
            *[w * v for w, v in zip(up_proj[:, k].tolist(), x.tolist(), strict=True) if w],
            bias[k].item(),
        ]
        terms = plain(terms).replace(" - ", " -").replace(" + ", " ")
        assert [float(term) for term in terms.split()] == pytest.approx(shown)
        assert plain(total) == f"= {sums[k]:.1f}".replace("-0.0", "0.0") + ", so 0" * (sums[k] <= 0)
    assert len(groups) == 4
    products = [
        re.split(" × ", plain("".join(text.itertext())))
        for text in root_of(drawn).findall("text")
        if "×" in "".join(text.itertext())
    ]
    expected = [(hidden[k].item(), down_proj[k, j].item()) for k, j in down_proj.nonzero().tolist()]
    assert [tuple(map(float, product)) for product in products] == expected
    for name, right in (("before", x), ("after", x + hidden @ down_proj)):
        shown = [float(plain(text.text)) for text in parts(drawn, name, "text")]
        assert shown == pytest.approx(right.tolist())


def test_five_marks_are_the_number_the_share_one_hot_digits_and_waves():
    drawn = GALLERY["five marks"]
    position = torch.arange(8)
    numbers = [size(bar)[0] for bar in parts(drawn, "number", "rect")]
    assert numbers == pytest.approx([numbers[0] * p for p in range(1, 8)], abs=0.1)
    shares = [size(bar)[0] for bar in parts(drawn, "share", "rect")]
    whole = shares[3]
    expected = [p / (n - 1) for n in (5, 8) for p in range(1, n)]
    assert shares == pytest.approx([whole * share for share in expected], abs=0.1)
    waves = sinusoidal_positions(8, 32)[:, :6]
    for name, right in (
        ("one-hot", torch.eye(8)),
        ("binary", position[:, None] // torch.tensor([4, 2, 1]) % 2),
        ("waves", (waves + 1) / 2),
    ):
        group = root_of(drawn).find(f".//g[@data-name='{name}']")
        wide = min(WIDE / right.shape[1], 24)
        left = (WIDE - wide * right.shape[1]) / 2
        shown = darkness(group, [left + wide * j for j in range(right.shape[1])], 16)
        assert torch.allclose((0.76 * shown - 0.06) / 0.7, right.float(), atol=0.02), name


@pytest.mark.parametrize(
    ("name", "kept", "drawn"),
    [
        ("guesses", "1 of 3 guesses is kept", "ax"),
        ("guesses that are all right", "2 of 2 guesses are kept", "abc"),
    ],
)
def test_guesses_are_kept_up_to_the_first_wrong_one(name, kept, drawn):
    assert kept in GALLERY[name].alt
    texts = [text.text for text in root_of(GALLERY[name]).iter("text")]
    replies = texts[texts.index("its next tokens") + 1 :]
    assert "".join(text for text in replies if text not in ("kept", "new", "no use")) == drawn
    assert [text for text in replies if text == "kept"] == ["kept"] * (len(drawn) - 1)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.5, 1.0], ["0.5", "1.0"]),
        ([0.123, -0.001], ["0.12", "0.00"]),
        ([-123.4, 5.0], ["−123", "5"]),
    ],
)
def test_numbers_have_no_more_decimals_than_they_need(values, texts):
    assert Matrix(torch.tensor([values]), name="x").numbers() == [texts]


@pytest.mark.parametrize(("length", "number"), [(512, 2), (256, 4)])
def test_arrows_between_two_memories_are_as_wide_as_the_bytes_that_move(length, number):
    drawing = drawings.memories(length, d=64, tile=64, size=number)
    q, scores = 64 * length * number, length**2 * number
    moved = {
        "four lines": [4 * q, 4 * scores],  # once; out and in again, before and after softmax
        "flash attention": [2 * q, 2 * q * length // 64],  # keys and values for each block
    }
    for name, right in moved.items():
        heads = [re.search(r"l([\d.]+) 9h-5", p.attrib["d"]) for p in parts(drawing, name, "path")]
        widths = torch.tensor([2 * (float(head[1]) - 5) for head in heads])
        bytes_of = torch.tensor(right)
        assert torch.allclose(widths / 64, bytes_of / (4 * scores), atol=0.005)
        written = " ".join(text.text or "" for text in parts(drawing, name, "text"))
        assert all(f"{n / 1000:,.0f} kB" in written for n in (*right, sum(right)))


def test_turned_words_are_arrows_to_scale_and_the_shadow_is_as_long_as_their_dot_product():
    drawing = GALLERY["turning"]
    query = torch.eye(2)[0] @ TURNS["W_Q"]
    key = torch.eye(2)[1] @ TURNS["W_K"]
    (shadow,) = (p for p in parts(drawing, "projected", "path") if _thick(p) == BAND)
    foot = torch.tensor(_ends(shadow)[1]) / LONG
    assert torch.allclose(foot * torch.tensor([1, -1]), key * (query @ key), atol=0.01)
    tips = [_ends(path)[0] for path in parts(drawing, "projected", "path") if "fill" in path.attrib]
    shares = torch.tensor(tips) / LONG * torch.tensor([1, -1])
    for arrow in (*torch.eye(2), query, key):
        assert (shares - arrow).abs().amax(dim=1).min() < 0.01
    assert not any(_thick(path) == BAND for path in parts(drawing, "words", "path"))
    texts = [text for text in root_of(drawing).itertext() if "=" in text]
    assert "= 0, no shadow" in texts and "= 0.96, the shadow of q" in texts


def _thick(path):
    return float(path.attrib.get("stroke-width", 0))


def _ends(path):
    """The first two points of a path."""
    found = re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path.attrib["d"])
    return [[float(x), float(y)] for x, y in found[:2]]


@pytest.mark.parametrize("token", [TOKEN, -100 * TOKEN])
def test_layer_norm_draws_a_token_its_differences_from_the_mean_and_its_norm_to_one_scale(token):
    drawing = drawings.layer_norm(token)
    normed = torch.nn.functional.layer_norm(token, (4,))
    unit = 0
    for name, values in zip(STEPS, (token, token - token.mean(), normed), strict=True):
        bars = torch.tensor([size(bar)[1] for bar in parts(drawing, name, "rect")])
        unit = bars.max() / values.abs().max() if name == "x" else unit
        assert torch.allclose(bars, unit * values.abs(), atol=0.1)
    assert "(−1.4, −0.2, 0.2, 1.4)" in drawings.layer_norm(TOKEN).alt
