"""The book's figures: right data, legible colours, errors that name the sizes."""

import io
import re
from importlib import resources
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties
from matplotlib.ft2font import FT2Font
from PIL import Image

from attnbook import palette
from attnbook.figures import in_words, style, table

matplotlib.use("agg")
ROLES = ("QUERY", "KEY", "VALUE", "WEIGHTS")
COLORS = (*ROLES, "NEUTRAL", "OTHER", "BLACK", "RED")


@pytest.fixture
def axes():
    """Those of an empty figure in the book's style."""
    _, axes = style.subplots()
    yield axes
    plt.close("all")


def luminance(color):
    """Relative luminance as WCAG 2 defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def in_dark_mode(color):
    """The page's CSS in dark mode: invert(0.93), then hue-rotate(180deg)."""
    inverted = np.array([0.93 - 0.86 * c for c in to_rgb(color)])
    rotation = np.array(  # the matrix of the CSS filter effects specification for 180 degrees
        [[-0.574, 1.430, 0.144], [0.426, 0.430, 0.144], [0.426, 1.430, -0.856]]
    )
    return np.clip(rotation @ inverted, 0, 1)


@pytest.mark.parametrize("name", COLORS)
def test_every_colour_stands_out_on_light_and_dark_pages(name):
    color = getattr(style, name)
    assert contrast(to_rgb(color), to_rgb("white")) >= 4.5
    assert contrast(in_dark_mode(color), to_rgb(palette.DARK["page"])) >= 4.5


def test_no_two_roles_share_a_colour():
    assert len({getattr(style, name) for name in COLORS}) == len(COLORS)


def test_a_heat_map_has_a_token_on_each_line_and_a_number_in_each_cell(axes):
    style.heat_map(axes, [[0.25, 0.75]], rows=["it"], columns=["the", "cat"])
    assert [text.get_text() for text in axes.get_xticklabels()] == ["the", "cat"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["it"]
    assert [text.get_text() for text in axes.texts] == ["0.25", "0.75"]
    axes.clear()  # a large one has no numbers
    labels = list(map(str, range(13)))
    style.heat_map(axes, np.eye(13), rows=labels, columns=labels)
    assert not axes.texts


def test_numbers_in_a_heat_map_are_legible_on_every_shade_of_light_and_dark_pages(axes):
    style.heat_map(axes, [[0.004, 0.006]], rows=["q"], columns=["zero", "more"])
    zero, digits = (to_rgb(text.get_color()) for text in axes.texts)
    assert zero != digits  # what rounds to 0.00 is grey
    image = axes.images[0]
    assert axes.texts[0].get_path_effects() == []
    for weight in np.linspace(0, 1, 256):
        shade = image.cmap(image.norm(weight))[:3]
        for ink in (digits, *([zero] if weight < 0.005 else [])):
            assert contrast(shade, ink) >= 4.5
            assert contrast(in_dark_mode(shade), in_dark_mode(ink)) >= 4.5


def test_wrong_sizes_raise_an_error_that_names_them(axes):
    with pytest.raises(ValueError, match=r"\(2, 2\).*got 1 rows and 2 columns"):
        style.heat_map(axes, np.eye(2), rows=["a"], columns=["b", "c"])


def test_a_picture_of_few_colours_is_as_large_and_on_white():
    ramp = Image.linear_gradient("L").convert("RGBA")
    ramp.putpixel((0, 0), (0, 0, 0, 0))  # transparent
    file = io.BytesIO()
    ramp.save(file, "png")
    small = style.with_fewer_colours(file.getvalue(), 8)
    picture = Image.open(io.BytesIO(small)).convert("RGB")
    assert picture.size == ramp.size
    assert len(picture.getcolors()) <= 8
    assert min(picture.getpixel((0, 0))) > 200


def test_equal_runs_in_a_row_can_be_counted():
    heights = sorted(style.heights(20))
    assert min(np.diff(heights)) > 0.005
    assert -0.4 < heights[0] < heights[-1] < 0.4


def test_a_table_is_markdown_with_its_numbers_to_the_right():
    shown = table(
        ["design", "right", "of | seeds"], [["one projection", "51 ± 7", "0"], ["two", 100, 20]]
    )
    assert shown._repr_markdown_() == (
        "| design | right | of \\| seeds |\n"
        "| --- | ---: | ---: |\n"
        "| one projection | 51 ± 7 | 0 |\n"
        "| two | 100 | 20 |"
    )
    assert repr(shown).split("\n")[1] == "one projection  51 ± 7           0"


@pytest.mark.parametrize("cell", [in_words(1.6e11), "3e-8", "−0.5", "72–78 %", "589,824", "12 %"])
def test_spreads_and_percentages_are_numbers_too(cell):
    assert "---:" in table(["a"], [[cell]])._repr_markdown_()
    assert "---:" not in table(["a"], [[cell], ["none"]])._repr_markdown_()


def test_a_table_with_a_missing_cell_is_refused():
    with pytest.raises(ValueError, match=r"2 columns, a, b: got the row \['x'\]"):
        table(["a", "b"], [["x"]])
    with pytest.raises(ValueError, match="got none"):
        table(["a"], [])


SIGNS = "√d ÷ 2² · αβσ ← → ≤ ½ − ± × ∞ Σ ✓ ✗ ⊕ dₖ wᵢ é ü ō wǒ"


def test_the_font_of_plots_is_the_one_that_the_package_brings(axes):
    fonts = [FontProperties(weight=weight) for weight in ("normal", "bold")]
    found = [Path(font_manager.findfont(font)) for font in fonts]
    brought = Path(str(resources.files("attnbook"))) / "figures/fonts"
    assert found == [brought / f"{style.FONT}-{name}.ttf" for name in ("Regular", "Bold")]
    for path in found:
        drawn = FT2Font(path).get_charmap()
        assert [sign for sign in SIGNS if ord(sign) not in drawn] == []


def test_every_colour_of_the_plots_style_is_in_the_palette(axes):
    text = (resources.files("attnbook") / "figures/book.mplstyle").read_text("utf8")
    assert {*re.findall("#[0-9a-f]{6}", text)} <= {*palette.PLOTS.values()}


@pytest.mark.parametrize("colours", [palette.LIGHT, palette.DARK])
@pytest.mark.parametrize(
    "name",
    ["query", "key", "value", "weights", "other", "word", "link", "soft", "right", "wrong"],
)
def test_every_colour_of_text_is_legible_on_both_surfaces(colours, name):
    raised = [colours["hover"]] if name == "wrong" else []  # a mistaken token is a button
    for surface in (colours["page"], colours["paper"], *raised):
        assert contrast(to_rgb(colours[name]), to_rgb(surface)) >= 4.5


def lab(color):
    """Lightness and two hues as CIELAB has them, in which distances are those that one sees."""
    linear = np.array([c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color])
    to_xyz = [[0.4339, 0.3762, 0.1899], [0.2126, 0.7152, 0.0722], [0.0178, 0.1095, 0.8728]]
    x, y, z = np.cbrt(np.array(to_xyz) @ linear)  # of shares of white
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("colours", [palette.LIGHT, palette.DARK])
@pytest.mark.parametrize("other", ["weights", "key", "accent"])
def test_nobody_takes_the_red_of_a_mistake_for_the_colour_of_weights(colours, other):
    distance = np.linalg.norm(lab(to_rgb(colours["wrong"])) - lab(to_rgb(colours[other])))
    assert distance > 35


def test_no_sign_is_missing(axes):
    axes.set_title("√dₖ ÷ 2 · ★ wǒ ≤ ½")
    axes.figure.canvas.draw()  # warns of a sign without a picture, and warnings are errors
