"""Every term of the glossary is found in its place, and in the section that explains it."""

import re

import nbformat
import pytest
from conftest import ROOT

from attncourse.chapter import chapters
from attncourse.pages import claims

PAGE = (ROOT / "chapters/glossary.md").read_text("utf8")
ENTRY = re.compile(
    r"\*\*(?P<term>[^*]+)\*\*(?: \((?P<names>[^)]+)\))?(?:, \$.+?\$)?\. .+ "
    r"\[(?P<number>\d+) · (?P<heading>[^\n]+)\]\((?P<file>\S+)#(?P<anchor>\S+)\)"
)


def entries():
    """(letter, entry) of the page, in its order."""
    for part in re.split(r"^## ", PAGE, flags=re.M)[1:]:
        letter, *texts = part.strip().split("\n\n")
        for text in texts:
            yield letter, ENTRY.fullmatch(text) or text


def sections(name):
    """What stands below each heading of a chapter, code included."""
    cells = nbformat.read(ROOT / "chapters" / name, as_version=4).cells
    text = "\n\n".join(
        cell.source if cell.cell_type == "markdown" else re.sub("^#", " #", cell.source, flags=re.M)
        for cell in cells
    )
    _, *found = claims.HEADING.split(text)
    return dict(zip(found[::2], found[1::2], strict=True))


SECTIONS = {path.name: sections(path.name) for path in chapters(ROOT)}


@pytest.mark.parametrize("entry", [e for _, e in entries()], ids=lambda entry: entry[0][:20])
def test_a_term_is_used_where_the_glossary_says_it_is_explained(entry):
    assert isinstance(entry, re.Match), "not of the form of an entry"
    heading, file = entry["heading"], entry["file"]
    assert file.startswith(f"{int(entry['number']):02d}-")
    assert entry["anchor"] == claims.anchor(heading)
    text = SECTIONS[file][heading].lower()
    names = [entry["term"], *(entry["names"] or "").split(", ")]
    assert any(name.lower() in text for name in filter(None, names))


def test_terms_stand_in_alphabetical_order_each_once_below_its_letter():
    terms = [(letter, entry["term"]) for letter, entry in entries()]
    sorted_as = [re.sub(r"\W", "", term.lower()) for _, term in terms]
    assert sorted_as == sorted(set(sorted_as))
    assert all(term[0].upper() == letter for letter, term in terms)
    letters = re.findall(r"^## (.+)$", PAGE, re.M)
    assert letters == sorted(set(letters))
