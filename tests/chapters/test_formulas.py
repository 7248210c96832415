"""Formulas: what becomes of their LaTeX, and that the pages' font has every sign in use."""

import html
import re
import subprocess
import sys
from pathlib import Path

import building
import nbformat
import pytest
from conftest import ROOT
from fontTools.ttLib import TTFont

from attncourse.formulas import TAG, to_mathml
from attncourse.pages.formula_font import PAGES_FONT

FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$([^$\n]+?)\$", re.S)


CODE = re.compile(r"```.*?```|`[^`]*`", re.S)


def formulas():
    """Every formula of the book, with the page it is on and whether it has a line of its own."""
    for name in building.NAMES:
        for text in texts((ROOT / name).with_suffix(".ipynb")):
            for display, inline in FORMULA.findall(CODE.sub("", text)):
                yield name, display or inline, bool(display)


def texts(path):
    """The Markdown of a page."""
    if not path.exists():
        return [path.with_suffix(".md").read_text("utf8")]
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "markdown"]


def drawn(mathml):
    """The signs that a browser draws; a lone letter in <mi> is italic unless marked otherwise."""
    if "<msqrt" in mathml:
        yield "√"
    for attributes, text in re.findall(r"<m[ion]([^>]*)>([^<]*)</m[ion]>", mathml):
        text = html.unescape(text)
        if len(text) == 1 and "normal" not in attributes and text.isalpha():
            yield italic(text)
        yield from text
    for text in re.findall(r"<mtext[^>]*>([^<]*)</mtext>", mathml):
        yield from html.unescape(text)


def italic(letter):
    """The slanted form of a letter, as browsers choose it."""
    if letter == "h":
        return "ℎ"
    for first, last, start in (
        ("A", "Z", 0x1D434),
        ("a", "z", 0x1D44E),
        ("Α", "Ω", 0x1D6E2),
        ("α", "ω", 0x1D6FC),
    ):
        if first <= letter <= last:
            return chr(start + ord(letter) - ord(first))
    return letter


def test_the_font_of_formulas_has_every_sign_of_the_book():
    signs = {}
    for page, latex, display in formulas():
        for sign in drawn(to_mathml(TAG.sub("", latex), display=display)):
            signs.setdefault(sign, page)
    assert {italic("x"), "√", "∑", "d"} <= {*signs}, "formulas are not read as browsers draw them"
    known = TTFont(ROOT / PAGES_FONT).getBestCmap()
    visible = {sign: page for sign, page in signs.items() if not sign.isspace()}
    missing = {sign: page for sign, page in visible.items() if ord(sign) not in known}
    assert missing == {}, "add them to SIGNS in attncourse/pages/formula_font.py and make it again"


def test_a_formula_that_no_browser_could_set_names_itself():
    with pytest.raises(ValueError, match=r"^\\nonsense\{x\}: "):
        to_mathml(r"\nonsense{x}", display=False)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A book of one page."""
    folder = tmp_path_factory.mktemp("formulas")
    building.copy_settings(folder)
    (folder / "_toc.yml").write_text("format: jb-book\nroot: chapters/index\n")
    return folder


def build(book, text):
    """Build the page; returns its article, or what stopped the build."""
    (book / "chapters/index.md").write_text(f"# Formulas\n\n{text}\n")
    command = [Path(sys.executable).with_name("jupyter-book"), "build", book, "--all"]
    result = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if result.returncode:
        return result.stdout + result.stderr
    return (book / "_build/html/chapters/index.html").read_text().partition("<article")[2]


def test_a_page_has_formulas_as_mathml_with_their_numbers_and_what_touches_them(book):
    page = build(book, "A query $q_i$, and\n\n$$a = \\sqrt{d} \\tag{3.1}$$\n\nand (see $k$).")
    assert "<msub><mi>q</mi><mi>i</mi></msub></math>,</span>" in page, "the comma may be torn off"
    assert re.search(r'<span class="math notranslate">\(?<math', page)
    assert re.search(r'display="block".*?<msqrt>.*?<span class="eqno">\(3\.1\)</span>', page, re.S)
    assert "tag" not in re.search(r'<div class="math.*?</div>', page, re.S)[0]


def test_a_formula_that_can_not_be_set_stops_the_build_and_is_named(book):
    said = build(book, "A slip: $\\nonsense{x}$.")
    assert "index.md" in said and "\\nonsense{x}" in said
