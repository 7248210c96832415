"""The map of the Transformer: shapes and norms are the model's, and links lead to chapters."""

import browser
import examples
import torch
from examples import alive, figure, fits, numbers, said

from attnbook.figures import interactive
from attnbook.figures.interactive.transformer import PARTS
from attnbook.transformer import Transformer

browser.skip_without()
show = examples.show

# what the navigation of the book's pages has: see chapters 2 and 8
NAVIGATION = """<nav class="bd-links"><a href="02-queries.html">2 · What are queries?</a>
  <a href="#">7 · Why heads?</a><a href="08-blocks.html">8 · How?</a>
  <a href="lab/02-maps.html">2.1 · Must they?</a><a href="12.html">12 · And then?</a></nav>"""


def test_each_part_says_what_it_does_the_shape_that_leaves_it_and_its_chapters(show):
    page = show(alive("transformer"))
    boxes = [box for sheet in figure("transformer").data["sheets"] for box in sheet["boxes"]]
    assert {box["part"] for box in boxes} == {*PARTS}
    for place, box in enumerate(boxes):
        page.locator(".box").nth(place).dispatch_event("click")
        does, leaves, chapters = PARTS[box["part"]]
        assert said(page) == does
        side = box.get("side", "L")
        more = page.locator(".more").inner_text().splitlines()
        assert more == [
            f"Leaves as {leaves.replace('(batch, L', f'(batch, {side}')}",
            *(f"Chapter {number}" for number in chapters),
        ]
        pressed = page.locator('.box[aria-pressed="true"]').count()
        assert pressed == sum(other["part"] == box["part"] for other in boxes)
    assert list(numbers(page)[1]) == [*PARTS]
    assert page.locator("a").count() == 0  # there is no book around it


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
        (model.source_embedding, "positions", "source"),
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
    norms = page.locator(".box:not(.gone)", has_text="norm")
    sizes = {"source_size": 9, "target_size": 9, "d_model": 4, "num_heads": 2, "d_ff": 8}
    streams = [26 / 344, 318 / 344]
    for post in (False, True):
        page.get_by_role("switch").set_checked(post)
        model = Transformer(**sizes, num_layers=1, norm_first=not post)
        modules = [m for m in model.modules() if isinstance(m, torch.nn.LayerNorm)]
        places = norms.evaluate_all(
            "all => all.map(e => (e.offsetLeft + e.offsetWidth / 2) / e.offsetParent.offsetWidth)"
        )
        assert len(places) == len(modules) == (5 if post else 7)
        on_stream = [any(abs(place - x) < 0.02 for x in streams) for place in places]
        assert sum(on_stream) == (5 if post else 2)  # in pre-norm only the last of each stack
        assert said(page).startswith("Post-norm" if post else "The encoder reads")


def test_a_page_of_the_book_links_to_the_chapters_but_to_itself(show):
    page = show(NAVIGATION + alive("transformer"))
    page.get_by_role("button", name="self-attention", exact=True).click()
    assert page.locator(".more").inner_text().splitlines()[1:] == [
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
