"""The book as a PDF: one file with an outline, whose links stay inside."""

from concurrent.futures import ThreadPoolExecutor

import browser
import pytest
from pypdf import PdfReader

from attncourse.pages import pdf

browser.skip_without()

FIRST = """<title>Front</title><script>window.MathJax = {}</script><h1>Front</h1>
<p><a href="second.html#there">inside</a> <a href="https://example.org/">out</a>
<a href="#below">down</a> <a href="second.html#%C3%BCber">far inside</a>
<a href="second.html#nowhere">to a place that is not there</a>
<a href="picture.png"><img alt="A picture" width="9" height="9"></a></p>
<h2 id="below" style="break-before: page">Below</h2><p>More.</p>"""
SECOND = """<title>Second</title><h1 id="there">Second</h1>
<p><a href="first.html">back</a></p>
<h2 id="über" style="break-before: page">Far</h2>"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    names = {"first.html": FIRST, "second.html": SECOND}
    for name, text in names.items():
        (folder / name).write_text(f"<!doctype html>{text}", "utf8")
    target = folder / "book.pdf"
    pages = [folder / name for name in names]
    # in a thread of its own: one that has the tests' browser can't start another
    with ThreadPoolExecutor() as pool:
        count = pool.submit(pdf.write_pdf, pages, target, title="All of it").result()
    reader = PdfReader(target)
    assert len(reader.pages) == count == 4
    return reader


def links(book, page):
    """What each link of a page leads to: the number of a sheet, or an address."""
    numbers = {p.indirect_reference: i for i, p in enumerate(book.pages)}
    for annotation in book.pages[page]["/Annots"]:
        link = annotation.get_object()
        if "/Dest" in link:
            yield numbers[link["/Dest"][0]]
        else:
            yield link["/A"]["/URI"]


def test_the_pages_follow_each_other_and_the_title_is_the_books(book):
    texts = [page.extract_text() for page in book.pages]
    for text, word in zip(texts, ("Front", "Below", "Second", "Far"), strict=True):
        assert word in text
    assert book.metadata.title == "All of it"


def test_headings_are_the_outline(book):
    front, (below,), second, (far,) = book.outline
    titles = [part["/Title"] for part in (front, below, second, far)]
    assert titles == ["Front", "Below", "Second", "Far"]
    numbers = [book.get_destination_page_number(p) for p in (front, below, second, far)]
    assert numbers == [0, 1, 2, 3]


def test_links_between_pages_lead_from_sheet_to_sheet(book):
    assert list(links(book, 0)) == [2, "https://example.org/", 1, 3, 2]
    assert list(links(book, 2)) == [0]


def test_a_link_to_a_section_of_another_page_leads_to_its_height_there(book):
    first, *_ = book.pages[0]["/Annots"]
    sheet, kind, _, top, _ = first.get_object()["/Dest"]
    assert sheet == book.pages[2].indirect_reference and kind == "/XYZ"
    height = float(book.pages[2].mediabox.height)
    assert 0.8 * height < top < height
