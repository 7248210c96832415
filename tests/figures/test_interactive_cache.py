"""The calculator: its sizes are those of the package, for every model and for typed sizes."""

import dataclasses

import browser
import examples
import pytest
from examples import CACHES, alive, numbers, said

from attnbook.figures import interactive

browser.skip_without()
show = examples.show


def shown_bytes(page):
    return [float(row[0].replace(",", "")) for row in numbers(page)[1].values()]


def stages(sizes, tokens, texts, bits):
    """The four sizes that the bars show."""
    layers = sizes.full + sizes.windowed + sizes.linear
    everywhere = dataclasses.replace(sizes, full=layers, windowed=0, linear=0)
    own = dataclasses.replace(everywhere, kv_heads=sizes.heads, latent=0)
    return [
        *(each.bytes(tokens, texts) for each in (own, everywhere, sizes)),
        sizes.bytes(tokens, texts, bits / 8),
    ]


def choose(page, model=None, tokens=None, texts=None, bits=None):
    """Set controls; tokens and texts are powers of two."""
    if model is not None:
        page.get_by_label("Model").select_option(str(model))
    for label, power in (("Tokens in a text", tokens), ("Texts at once", texts)):
        if power is not None:
            page.get_by_role("slider", name=label).fill(str(power))
    if bits is not None:
        page.get_by_label("Bits of a number").select_option(label=str(bits))


def type_size(page, label, text):
    """Type a size of the model; returns what the field then holds."""
    if not page.get_by_label(label).is_visible():
        page.get_by_text("The sizes of the model").click()
    typed = page.get_by_label(label)
    typed.fill(text)
    typed.press("Tab")
    return typed.input_value()


@pytest.mark.parametrize("model", [0, 1])
def test_sizes_are_those_of_the_package(show, model):
    page = show(alive("cache"))
    choose(page, model)
    assert shown_bytes(page) == stages(CACHES[model].sizes, 2**17, 1, 16)
    for tokens, texts, bits in ((4, 0, 16), (5, 3, 8), (20, 10, 4), (0, 0, 32)):
        choose(page, model, tokens, texts, bits)
        right = stages(CACHES[model].sizes, 2**tokens, 2**texts, bits)
        assert shown_bytes(page) == right
        bars = examples.widths_of_bars(page)
        assert all(
            abs(bar - size / max(right)) < 0.02 for bar, size in zip(bars, right, strict=True)
        )
        assert page.locator(".bars .name").last.inner_text() == f"with {bits} bits for each number"


def test_typed_sizes_make_a_model_of_the_reader(show):
    page = show(alive("cache"))
    assert type_size(page, "heads of keys and values", "8") == "8"
    sizes = dataclasses.replace(CACHES[0].sizes, kv_heads=8)
    assert shown_bytes(page) == stages(sizes, 2**17, 1, 16)
    assert page.get_by_label("Model").evaluate("s => s.selectedOptions[0].text") == "your own sizes"
    assert said(page).startswith("A model with your sizes keeps ")
    choose(page, 0)
    assert page.get_by_label("heads of keys and values").input_value() == "2"
    assert shown_bytes(page) == stages(CACHES[0].sizes, 2**17, 1, 16)


@pytest.mark.parametrize("text", ["0", "-2", "1.5", "", "99999999"])
def test_what_is_no_size_is_undone(show, text):
    page = show(alive("cache"))
    assert type_size(page, "features of a head", text) == "16"
    assert shown_bytes(page) == stages(CACHES[0].sizes, 2**17, 1, 16)
    assert type_size(page, "layers that keep all tokens", "") == "3"
    assert shown_bytes(page) == stages(CACHES[0].sizes, 2**17, 1, 16)


def test_the_sentence_gives_the_size_and_what_is_saved(show):
    page = show(alive("cache"))
    text = said(page).replace("\N{NO-BREAK SPACE}", " ")
    own, *_, now = stages(CACHES[0].sizes, 2**17, 1, 16)
    assert text.startswith(f"</script> keeps {now / 1e6:.1f} MB for one text of 131,072 tokens.")
    assert f"would take {own / 1e6:.0f} MB, which is {own / now:.2f} times as much." in text


def test_equal_sizes_with_shared_keys_are_not_called_unshared(show):
    page = show(alive("cache"))
    for label in ("layers with a fixed state", "numbers in the state"):
        type_size(page, label, "0")
    type_size(page, "heads of keys and values", "4")
    assert "times as much" in said(page)
    choose(page, bits=32)  # half of the heads, and twice the bits
    assert "1.00 times as much" in said(page)
    choose(page, bits=16)
    type_size(page, "heads of keys and values", "8")
    assert "so nothing is saved" in said(page)


def test_it_begins_with_the_model_that_the_notebook_names(show):
    page = show(interactive.cache(CACHES, first="a <latent>", alt="Two caches.").to_html())
    assert shown_bytes(page) == stages(CACHES[1].sizes, 2**17, 1, 16)
    assert page.get_by_label("Model").input_value() == "1"
