"""Words that are hard to read at once are in no page, and in no sentence that the software says."""

import ast
import re

import pytest
from conftest import ROOT

from attncourse.rules.words import RIGHT, suspect

CARDS = [*ROOT.glob("code/attnbook/*/README.md"), *ROOT.glob("code/attncourse/*/*.html")]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("chapters/*.md"), *ROOT.glob("chapters/*.toml"), *CARDS]
MODULES = [*ROOT.glob("code/*/**/*.py"), *ROOT.glob("chapters/_ext/*.py")]
MODULES.remove(ROOT / "code/attncourse/rules/words.py")  # it has the words themselves
SCRIPTS = [
    *ROOT.glob("code/attnbook/figures/interactive/*.js"),
    *ROOT.glob("chapters/_static/*.js"),
]


@pytest.mark.parametrize("path", [*PAGES, *SCRIPTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_and_a_script_have_no_such_words(path):
    text = re.sub(r"(?m)^\s*//.*$| // .*$", "", path.read_text("utf8"))  # readers see no comment
    text = re.sub(r"""["'`]\s*\+\s*["'`]""", "", text)  # a sentence in several strings is one
    assert [*suspect(text)] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_hints_and_messages_have_no_such_words(path):
    texts = said(ast.parse(path.read_text("utf8")))
    assert [fault for text in texts for fault in suspect(text)] == []


def said(tree):
    """All texts of a module; what an f-string computes is an ellipsis."""
    pieces = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            pieces.update(node.values)
            fixed = [isinstance(piece, ast.Constant) for piece in node.values]
            texts = zip(node.values, fixed, strict=True)
            yield "".join(piece.value if is_text else "…" for piece, is_text in texts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in pieces:
            yield node.value


@pytest.mark.parametrize("words", RIGHT)
def test_where_such_words_are_right_they_are_left_alone(words):
    assert [*suspect(f"These {words} others.")] == []
