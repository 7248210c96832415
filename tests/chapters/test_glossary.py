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
    assert isinstance(entry, re.Match), f"chapters/glossary.md: no entry in form: {entry}"
    heading, file = entry["heading"], entry["file"]
    link = f"chapters/glossary.md, {entry['term']}: the link"
    assert file.startswith(f"{int(entry['number']):02d}-"), f"{link} and its number differ"
    assert entry["anchor"] == claims.anchor(heading), f"{link} leads to #{claims.anchor(heading)}"
    assert heading in SECTIONS[file], f"{link} names a section that {file} has not: {heading}"
    text = SECTIONS[file][heading].lower()
    names = [entry["term"], *(entry["names"] or "").split(", ")]
    used = any(name.lower() in text for name in filter(None, names))
    assert used, f"chapters/glossary.md: the section {heading!r} of {file} never says {names[0]}"


def test_terms_stand_in_alphabetical_order_each_once_below_its_letter():
    terms = [(letter, entry["term"]) for letter, entry in entries()]
    sorted_as = [re.sub(r"\W", "", term.lower()) for _, term in terms]
    assert sorted_as == sorted(set(sorted_as)), "chapters/glossary.md: each term once, in order"
    strangers = [term for letter, term in terms if term[0].upper() != letter]
    assert strangers == [], "chapters/glossary.md: terms below another letter"
    letters = re.findall(r"^## (.+)$", PAGE, re.M)
    assert letters == sorted(set(letters)), "chapters/glossary.md: letters out of order"
