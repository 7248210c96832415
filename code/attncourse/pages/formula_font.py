"""The letters of formulas: STIX Two Math, cut down to what a course on attention writes.

A formula with a sign that is not among them fails ``tests/chapters/test_formulas.py``. Add it to
``SIGNS`` and make the font again; the package ziamath has the whole one:

    pip install brotli ziamath
    python -m attncourse.pages.formula_font
"""

import string
from importlib.resources import files
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

PAGES_FONT = Path("chapters/_static/fonts/stix-two-math.woff2")
GREEK = "".join(map(chr, [*range(0x391, 0x3AA), *range(0x3B1, 0x3CA), 0x3D5, 0x3F5]))
ITALIC = "".join(map(chr, [*range(0x1D434, 0x1D468), 0x210E, *range(0x1D6E2, 0x1D71C)]))
SIGNS = " ±·×÷‖†…′″\u2061ℓℝ𝔼←↑→↓↔↦⇒⇔∀∂∃∅∇∈∉∏∑−∓∘√∝∞∣∥∧∨∩∪∫≈≠≡≤≥≪≫⊂⊆⊕⊗⊙⊤⋅⋮⋯⋱⌈⌉⌊⌋⟨⟩" + "".join(
    map(chr, range(0x20, 0x7F))
)
PRIMES = {"minute", "second"}  # of other signs, one form serves all sizes


def cut(font: TTFont) -> None:
    """Keep the signs in use, with the parts that tall roots and brackets are made of."""
    for lookup in font["GSUB"].table.LookupList.Lookup:
        for table in lookup.SubTable:
            for forms in ("mapping", "alternates"):
                for name in set(getattr(table, forms, {})) - PRIMES:
                    del getattr(table, forms)[name]
    options = Options(hinting=False, layout_features=["ssty"])
    subsetter = Subsetter(options)
    subsetter.populate(text=string.ascii_letters + GREEK + ITALIC + SIGNS)
    subsetter.subset(font)


def level_subscripts(font: TTFont) -> None:
    """Put the index of q as high as that of k, though q reaches below the line.

    TeX does so beside a single letter; browsers lower each index to where its letter ends.
    """
    font["MATH"].table.MathConstants.SubscriptBaselineDropMin.Value = 0


def narrow_roots(font: TTFont) -> None:
    """Make tall roots as narrow as the low one.

    Chromium reserves the width of the widest root for each, and so leaves a gap behind √d.
    """
    root = font.getBestCmap()[ord("√")]
    variants = font["MATH"].table.MathVariants
    tall = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(root)]
    names = {record.VariantGlyph for record in tall.MathGlyphVariantRecord}
    names |= {part.glyph for part in tall.GlyphAssembly.PartRecords}
    width = font["hmtx"][root][0]
    for name in names - {root}:
        glyph, (old, _) = font["glyf"][name], font["hmtx"][name]
        glyph.coordinates.scale((width / old, 1))
        glyph.coordinates.toInt()
        glyph.recalcBounds(font["glyf"])
        font["hmtx"][name] = width, glyph.xMin


def main() -> None:
    """Write the font of the pages."""
    font = TTFont(str(files("ziamath") / "fonts/STIXTwoMath-Regular.ttf"))
    for change in (cut, level_subscripts, narrow_roots):
        change(font)
    font.flavor = "woff2"
    font.save(PAGES_FONT)


if __name__ == "__main__":
    main()
