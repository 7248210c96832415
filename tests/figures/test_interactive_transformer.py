"""The map of the Transformer: shapes and norms are the model's, and links lead to chapters."""

import re

import browser
import examples
import pytest
import torch
from examples import alive, figure, fits, number, numbers, press, said, strips

from attnbook.figures import interactive
from attnbook.figures.interactive.break_translator import trained
from attnbook.figures.interactive.transformer import PARTS
from attnbook.transformer import Transformer

browser.skip_without()
show = examples.show

WIDE = "<style>:root { --figure-width: none; }</style>"  # as on the book's pages
# what the navigation of the book's pages has: see chapters 2 and 8
NAVIGATION = """<nav class="bd-links"><a href="02-queries.html">2 · What are queries?</a>
  <a href="#">7 · Why heads?</a><a href="08-blocks.html">8 · How?</a>
  <a href="lab/02-maps.html">2.1 · Must they?</a><a href="12.html">12 · And then?</a></nav>"""


def test_each_part_says_what_it_does_the_shape_that_leaves_it_and_its_chapters(show):
    page = show(alive("transformer"), motion="reduce")
    boxes = [box for sheet in figure("transformer").data["sheets"] for box in sheet["boxes"]]
    assert {box["part"] for box in boxes} == {*PARTS}
    for place, box in enumerate(boxes):
        page.locator(".box").nth(place).dispatch_event("click")
        does, _, chapters = PARTS[box["part"]]
        assert said(page) == does
        assert page.locator("div:not([aria-hidden]) > .part").inner_text() == box["part"]
        more = page.locator(".more").inner_text().splitlines()
        assert more == [f"Chapter {number}" for number in chapters]
        pressed = page.locator('.box[aria-pressed="true"]').count()
        assert pressed == sum(other["part"] == box["part"] for other in boxes)
    head, rows = numbers(page)
    assert head == ["output shape", "chapters"]
    assert {part: row[0] for part, row in rows.items()} == {
        part: of[1] for part, of in PARTS.items()
    }
    assert page.locator("a").count() == 0  # there is no book around it


@pytest.mark.parametrize("width", [880, 358])
def test_at_the_start_the_encoders_self_attention_is_explained_without_a_focus(show, width):
    page = show(WIDE + alive("transformer"), width=width, motion="reduce")
    boxes = [box for sheet in figure("transformer").data["sheets"] for box in sheet["boxes"]]
    pressed = page.locator(".box").evaluate_all(
        """all => all.flatMap((box, place) => box.getAttribute("aria-pressed") === "true"
             ? [place] : [])"""
    )
    assert [(boxes[n]["part"], boxes[n]["side"]) for n in pressed] == [("self-attention", "source")]
    assert said(page) == PARTS["self-attention"][0]
    assert page.evaluate("document.activeElement === document.body")
    press(page, *["Tab"] * 4)  # past the buttons of the steps
    focused = "document.querySelector('[label]').shadowRoot.activeElement.textContent"
    assert page.evaluate(focused).startswith("self-attention ")
    inside, unfolds = page.locator(".inside").bounding_box(), page.locator(".unfolds")
    assert unfolds.bounding_box()["y"] >= inside["y"] + inside["height"]
    hidden = page.locator(".norms"), page.locator("table")
    assert not any(part.is_visible() for part in hidden), "shapes and norms wait to be unfolded"
    unfolds.locator("summary").click()
    for part in hidden:
        part.wait_for()


def test_labels_are_legible_and_their_subscripts_are_real(show):
    page = show(WIDE + alive("transformer"), width=880)
    sizes = page.locator(".box").evaluate_all(
        "all => all.map(box => parseFloat(getComputedStyle(box).fontSize))"
    )
    sizes += page.locator(".sheet svg text").evaluate_all(
        "all => all.map(text => parseFloat(getComputedStyle(text).fontSize) * text.getCTM().a)"
    )
    assert min(sizes) >= 12.5
    with_sub = page.locator(".box > span", has=page.locator("sub")).all()
    below = {box.inner_text(): box.locator("sub").inner_text() for box in with_sub}
    assert below == {"÷ √dk": "k", "heads, WO": "O"}


@pytest.mark.parametrize("width", [880, 358, 320])
def test_no_label_and_no_size_is_cut(show, width):
    page = show(WIDE + alive("transformer"), width=width)
    page.get_by_role("button", name="cross-attention").click()  # its projections have two sizes
    cut = """all => all.filter(({ scrollWidth, scrollHeight, clientWidth, clientHeight }) =>
      scrollWidth > clientWidth || scrollHeight > clientHeight).map(e => e.textContent)"""
    assert page.locator(".box").evaluate_all(cut) == []
    assert fits(page)


def test_the_sizes_are_those_of_the_translator_that_reads_the_number(show):
    translator, found = trained(), {}

    def note(name):
        return lambda module, given, output: found.update({name: output})

    model = translator.model
    for name, module in model.named_modules():
        module.register_forward_hook(note(name))
    words = translator.source_tokenizer.spell(481)
    _, _, maps = translator.attention(words, *translator.translate([words]))
    shape = {name: " × ".join(map(str, out.shape[1:])) for name, out in found.items()
             if isinstance(out, torch.Tensor)}  # fmt: skip
    heads, queries, keys = maps.cross[0, 0].shape
    width = model.output.in_features // heads
    page = show(alive("transformer"), motion="reduce")
    sizes = page.locator(".map .box:has(.size)").evaluate_all(
        "all => all.map(e => [...e.children].map(part => part.textContent))"
    )
    stream = {keys: shape["encoder_norm"], queries: shape["decoder_norm"]}
    network = model.encoder[0].feed_forward
    wide = " → ".join(map(str, (network.up_proj.in_features, network.up_proj.out_features,
                                network.down_proj.out_features)))  # fmt: skip
    for name, size in sizes:
        if name.endswith("attention"):
            length = keys if name == "self-attention" else queries
            assert size == f"{heads} heads of {length} × {width}"
        elif name == "feed-forward":
            assert size == wide
        elif name.endswith("tokens"):
            assert size == str(keys if name.startswith("source") else queries)
        elif name in ("linear", "probabilities"):
            assert size == shape["output"]
        else:
            assert size in stream.values(), name
    assert [size for name, size in sizes if name == "memory"] == [shape["encoder_norm"]]
    asked = {"self-attention": (keys, keys), "masked self-attention": (queries, queries)}
    for name, (rows, columns) in (asked | {"cross-attention": (queries, keys)}).items():
        page.locator(".map .box", has=page.get_by_text(name, exact=True)).click()
        inside = page.locator(".inside .size").all_inner_texts()
        other = "" if rows == columns else f"\nK, V: {columns} × {width}"
        assert inside[0] == f"{'Q: ' * bool(other)}{rows} × {width}{other}"
        assert {*inside[1:5]} == {f"{rows} × {columns}"}
        assert inside[5:] == [f"{rows} × {width}", stream[rows]]
        page.get_by_role("button", name="linear").click()  # the sizes stay
        assert page.locator(".inside .size").all_inner_texts() == inside
        assert name in page.locator(".inside .note").inner_text()


@pytest.mark.parametrize("width", [880, 358])
def test_the_matrices_of_every_part_have_one_scale_and_fit_each_other(show, width):
    page = show(WIDE + alive("transformer"), width=width, motion="reduce")
    drawn = """svg => [...svg.querySelectorAll(".matrix")].map(g => {
      const [rect, [name, size]] = [g.querySelector(".edge"), g.querySelectorAll("text")];
      return [name.textContent, size.textContent, +rect.getAttribute("width"),
        +rect.getAttribute("height"), g.getBBox().x + g.getBBox().width - svg.clientWidth];
    })"""
    seen = {}
    for box in page.locator(".box").all():
        box.dispatch_event("click")
        blocks = page.locator(".scale svg").evaluate(drawn)
        part = page.locator("div:not([aria-hidden]) > .part").inner_text()
        seen[part] = {name: tuple(map(int, size.split(" × "))) for name, size, *_ in blocks}
        units = [
            unit
            for name, _, wide, tall, _ in blocks
            for unit in (tall / seen[part][name][0], wide / seen[part][name][1])
        ]
        assert units == pytest.approx([units[0]] * len(units)), part
        assert all(beyond < 1 for *_, beyond in blocks), part
    assert {*seen} == {*PARTS}
    network = seen["feed-forward"]
    assert network == {"x": (6, 32), "neurons": (6, 128), "W1": (32, 128), "output": (6, 32),
                       "W2": (128, 32)}  # fmt: skip
    asks = seen["cross-attention"]
    assert asks["Q"] == (6, 8) and asks["Kᵀ"] == (8, 5) and asks["weights"] == (6, 5)
    assert asks["V"] == (5, 8) and asks["head"] == (6, 8) and ("WO" in asks) == (width == 880)
    assert fits(page)


def test_the_vector_that_goes_up_is_the_translators(show):
    translator, found = trained(), {}

    def note(name):
        return lambda module, given, output: found.update({name: output})

    for name, module in translator.model.named_modules():
        module.register_forward_hook(note(name))
    words = translator.source_tokenizer.spell(481)
    _, tokens, maps = translator.attention(words, *translator.translate([words]))
    page = show(WIDE + alive("transformer"), width=880, motion="reduce")
    steps = page.locator("[label]").evaluate(
        "e => e.steps.map(s => s.copy ?? s.stream ?? s.written)"
    )
    heads = page.locator("[label]").evaluate("e => e.steps.map(s => s.head)")
    source, target = 2, 2  # eighty, cent
    assert tokens[target] == "cent"
    for step, name, row in (
        (3, "source_embedding", source), (5, "encoder.0.self_attention", source),
        (8, "encoder.0.feed_forward", source), (11, "encoder_norm", source),
        (17, "decoder.0.self_attention", target), (20, "decoder.0.cross_attention", target),
        (23, "decoder.0.feed_forward", target), (26, "output", target),
    ):  # fmt: skip
        right = found[name][0] if isinstance(found[name], tuple) else found[name]
        assert torch.allclose(torch.tensor(steps[step]), right[0, row], atol=1e-4), name
    assert steps[27] == pytest.approx(found["output"][0, target].softmax(dim=-1).tolist(), abs=1e-4)
    page.locator(".map .box", has=page.get_by_text("cross-attention", exact=True)).click()
    shown = [
        number(text)
        for text in page.locator(".strip").nth(1).locator("text").all_text_contents()[1:]
    ]
    assert shown == pytest.approx(maps.cross[0, 0, heads[20], target].tolist(), abs=0.006)


@pytest.mark.parametrize("width", [880, 358])
def test_a_matrix_opens_to_a_row_times_a_column_and_arrow_keys_take_another(show, width):
    page = show(f"<h1>A map</h1>{WIDE}{alive('transformer')}", width=width, motion="reduce")
    page.get_by_role("button", name=re.compile("^scores, ")).click()
    seen = set()
    for key in ("ArrowRight", "ArrowUp", "ArrowLeft"):
        (row, column, each), total = strips(page)
        assert [a * b for a, b in zip(row, column, strict=True)] == pytest.approx(each, abs=0.3)
        numbers_ = [number(text) for text in re.findall(r"[-−]?\d+\.\d+", total)]
        assert numbers_[0] == pytest.approx(sum(each), abs=0.5)
        assert numbers_[1] == pytest.approx(numbers_[0] / 8**0.5, abs=0.01)
        seen.add(page.locator(".scale .note").inner_text())
        page.get_by_role("button", name=re.compile("^scores, ")).focus()
        press(page, key)
    assert len(seen) == 3 and all("×" in text for text in seen)
    assert browser.violations(page) == []
    page.get_by_role("button", name="← all").click()
    assert page.locator(".scale .matrix").count() > 7
    page.get_by_role("button", name=re.compile("^scores, ")).focus()
    press(page, "Enter")
    assert page.locator(".scale .matrix").count() == 3


def test_a_vector_goes_up_once_it_is_seen_and_whoever_chooses_a_box_stops_it(show):
    page = show(WIDE + alive("transformer"), width=880)
    page.get_by_role("button", name="pause").wait_for()
    assert page.locator(".now").inner_text().startswith("source tokens")
    page.locator(".now", has_text="embedding").wait_for()
    page.get_by_role("button", name="linear").click()
    assert page.get_by_role("button", name="play").is_visible()
    assert page.locator(".now").inner_text().startswith("linear")
    page.get_by_role("button", name="next").click()
    assert page.locator(".vector b.alone").inner_text() == "quatre"


def test_an_attention_on_the_way_shows_matrix_by_matrix_what_it_makes(show):
    page = show(WIDE + alive("transformer"), width=880)
    page.get_by_role("button", name="memory").click()  # so nothing comes by itself
    waits = page.locator("[label]").evaluate("e => [4, 5].map(step => (e.go(step), e.takes))")
    assert waits[0] == 0 < waits[1], "who plays waits for what is shown"
    inner = page.locator(".inside [aria-pressed=true]")
    for part in ("Q, K, V", "Q Kᵀ", "softmax", "× V", "heads"):
        inner.filter(has_text=part).wait_for()
        if part != "softmax":  # a row passes over the columns
            page.locator(".scale .passing").wait_for()
            assert page.locator(".scale .matrix").count() == 3
    page.locator(".map .now[aria-pressed=true]").wait_for()
    assert page.locator(".scale .matrix").count() > 7 and inner.count() == 0


def test_the_shapes_are_those_of_the_books_transformer():
    sizes = {"batch": 2, "source": 5, "target": 4, "d_model": 6, "vocabulary": 11, "h": 3}
    sizes |= {"d_k": 2, "d_v": 2}
    model = Transformer(source_size=9, target_size=11, d_model=6, num_heads=3, num_layers=1, d_ff=8)
    found = {}

    def note(name, side):
        def hook(module, inputs, output):
            output = output[0] if isinstance(output, tuple) else output
            found[name, side] = tuple(output.shape)

        return hook

    encoder, decoder = model.encoder[0], model.decoder[0]
    for module, name, side in (
        (model.source_embedding.token, "embedding", "source"),
        (model.source_embedding, "word plus position", "source"),
        (encoder.self_attention, "self-attention", "source"),
        (encoder.feed_forward, "feed-forward", "source"),
        (encoder.feed_forward_residual.norm, "norm", "source"),
        (model.encoder_norm, "memory", "source"),
        (decoder, "residual stream", "target"),
        (decoder.self_attention, "masked self-attention", "target"),
        (decoder.cross_attention, "cross-attention", "target"),
        (model.output, "linear", "target"),
    ):
        module.register_forward_hook(note(name, side))
    source, target = torch.ones(2, 5, dtype=torch.long), torch.ones(2, 4, dtype=torch.long)
    logits, maps = model(source, target, need_weights=True)
    found |= {("source", "source"): tuple(source.shape), ("target", "target"): tuple(target.shape)}
    found["positions", "source"] = found["word plus position", "source"]  # added to each token
    found["probabilities", "target"] = tuple(logits.softmax(dim=-1).shape)
    key, value = encoder.self_attention.keys_and_values(torch.ones(2, 5, 6))
    found["projections", "source"] = tuple(key.shape)
    crossing = {"L_query": "target", "L_key": "source"}
    weights = tuple(maps.cross[0].shape)
    found |= {(name, "target"): weights for name in ("scores", "scaling", "mask", "softmax")}
    found["mixing", "target"] = (*weights[:-1], value.shape[-1])
    found["heads", "target"] = found["cross-attention", "target"]
    assert {name for name, _ in found} == {*PARTS}
    for (name, side), shape in found.items():
        axes = PARTS[name][1].strip("()").split(", ")
        named = [crossing.get(axis, side if axis == "L" else axis) for axis in axes]
        assert shape == tuple(sizes[axis] for axis in named), name


def test_norms_stand_where_the_two_kinds_of_model_have_them(show):
    page = show(alive("transformer"), motion="reduce")
    page.locator(".unfolds summary").click()
    norms = page.locator(".box:not(.gone)", has_text="norm")
    sizes = {"source_size": 9, "target_size": 9, "d_model": 4, "num_heads": 2, "d_ff": 8}
    streams = [26 / 344, 318 / 344]
    first_words = "all => all.map(e => e.textContent.split(' ')[0])"
    heights = {page.locator("[label]").bounding_box()["height"]}
    for post in (True, False):
        page.get_by_role("radio", name="post-norm" if post else "pre-norm").check()
        model = Transformer(**sizes, num_layers=1, norm_first=not post)
        modules = [m for m in model.modules() if isinstance(m, torch.nn.LayerNorm)]
        places = norms.evaluate_all(
            "all => all.map(e => (e.offsetLeft + e.offsetWidth / 2) / e.offsetParent.offsetWidth)"
        )
        assert len(places) == len(modules) == (5 if post else 7)
        on_stream = [any(abs(place - x) < 0.02 for x in streams) for place in places]
        assert sum(on_stream) == (5 if post else 2)  # in pre-norm only the last of each stack
        assert page.locator('.box[aria-pressed="true"]').evaluate_all(first_words) == ["norm"] * 7
        page.get_by_role("button", name="linear").click()
        assert said(page) == PARTS["linear"][0]
        page.get_by_role("radio", name="pre-norm" if post else "post-norm").check()
        page.get_by_role("radio", name="post-norm" if post else "pre-norm").check()
        assert said(page).startswith("Post-norm" if post else "Pre-norm")
        heights.add(page.locator("[label]").bounding_box()["height"])
    assert len(heights) == 1


def test_arrow_keys_lead_to_a_box_that_says_something_else(show):
    page = show(alive("transformer"), motion="reduce")
    boxes = [box for sheet in figure("transformer").data["sheets"] for box in sheet["boxes"]]
    for start, box in enumerate(boxes):
        for key in ("ArrowUp", "ArrowRight", "ArrowDown", "ArrowLeft"):
            page.locator(".box").nth(start).focus()
            before = page.locator(".text > div:first-child").inner_text()
            page.keyboard.press(key)
            now = page.evaluate(
                "document.querySelector('[label]').shadowRoot.activeElement.textContent"
            )
            after = page.locator(".text > div:first-child").inner_text()
            label = box["label"].replace("_", "")
            assert after != before or now.startswith(label), (label, key)


def test_attention_network_norms_and_sums_have_colours_of_their_own(show):
    page = show(alive("transformer"))
    page.get_by_role("button", name="memory").click()  # no attention is chosen, nor inside of one
    looks = {}
    for box in page.locator(".map .box").all():
        text = box.locator("span").first.inner_text()
        kind = text if text in ("+", "norm", "feed-forward") else text.split()[-1].split("-")[-1]
        style = (
            "e => { const s = getComputedStyle(e); return [s.backgroundColor, s.borderColor, "
            "s.borderRadius].join(); }"
        )
        looks.setdefault(kind, set()).add(box.evaluate(style))
    kinds = "attention", "feed-forward", "norm", "+", "linear"
    assert all(len(looks[kind]) == 1 for kind in kinds)
    assert len({look for kind in kinds for look in looks[kind]}) == len(kinds)


def test_a_page_of_the_book_links_to_the_chapters_but_to_itself(show):
    page = show(NAVIGATION + alive("transformer"))
    page.locator(".box").filter(has_text=re.compile("^self-attention")).click()
    assert page.locator(".more").inner_text().splitlines() == [
        "Chapter 2 · What are queries?",
        "Chapter 7 · Why heads?",
    ]
    links = page.locator(".more a").evaluate_all("all => all.map(e => e.getAttribute('href'))")
    assert links == ["02-queries.html"]


def test_you_are_here_is_a_small_picture_with_that_part_lit(show):
    parts = "self-attention", "residual stream", "scaling", "heads"
    figures = {part: interactive.transformer(here=part) for part in parts}
    page = show(NAVIGATION + "".join(f.to_html() for f in figures.values()), width=390)
    boxes = [box for sheet in figure("transformer").data["sheets"] for box in sheet["boxes"]]
    lit = page.locator("[label]").evaluate_all(
        """all => all.map(({ shadowRoot: root }) => [...root.querySelectorAll("rect")]
             .map((rect, place) => rect.classList.contains("lit") ? place : null)
             .filter(place => place !== null))"""
    )
    for part, places in zip(parts, lit, strict=True):
        assert places == [n for n, box in enumerate(boxes) if box["part"] == part]
        assert part in figures[part].alt
    assert page.locator("details, button").count() == 0
    links = page.locator("[label] a").evaluate_all("all => all.map(e => e.getAttribute('href'))")
    assert links == ["08-blocks.html"] * len(parts)
    assert fits(page) and page.trouble == []
