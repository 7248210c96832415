"""Words that are hard to read at once are in no page, and in no sentence that the software says."""

import ast
import re

import pytest
from conftest import ROOT

from attncourse.rules.words import RIGHT, suspect

PAGES = [*ROOT.glob("*.md"), *ROOT.glob("chapters/*.md"), *ROOT.glob("chapters/*.toml")]
MODULES = [path for path in ROOT.glob("code/*/**/*.py") if path.name != "words.py"]
SCRIPTS = [*ROOT.glob("code/attnbook/figures/interactive/*.js")]


@pytest.mark.parametrize("path", [*PAGES, *SCRIPTS], ids=lambda path: path.name)
def test_a_page_and_a_script_have_no_such_words(path):
    text = re.sub(r"(?m)^\s*//.*$| // .*$", "", path.read_text("utf8"))  # readers see no comment
    assert [*suspect(text)] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT / "code")))
def test_docstrings_and_messages_have_no_such_words(path):
    nodes = ast.walk(ast.parse(path.read_text("utf8")))
    texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
    assert [fault for text in texts if isinstance(text, str) for fault in suspect(text)] == []


@pytest.mark.parametrize("words", RIGHT)
def test_where_such_words_are_right_they_are_left_alone(words):
    assert [*suspect(f"These {words} others.")] == []
