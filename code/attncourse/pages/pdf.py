"""The book as one PDF: Chromium prints the built pages, which are then joined.

Needs the packages that build the book (requirements.txt) and Chromium or Chrome.
"""

import io
import shutil
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, NameObject, NullObject
from tqdm import tqdm

# Playwright starts a browser of its own, if it has one, where there is none of these.
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
# A picture's own file is not in the PDF, so no link leads there. And Chromium gives a place a name
# in the PDF only if the same page links to it.
PREPARE = """() => {
  for (const link of document.querySelectorAll("a:has(> img)")) link.removeAttribute("href");
  const links = document.createElement("div");
  links.hidden = true;
  for (const { id } of document.querySelectorAll("[id]")) {
    const link = document.createElement("a");
    link.href = "#" + id;
    links.append(link);
  }
  document.body.append(links);
}"""
FOOTER = """
<div style="width: 100%; font: 7pt sans-serif; text-align: center; color: #55606e">
  <span class="title"></span> · <span class="pageNumber"></span>
</div>
"""


def write_pdf(pages: list[Path], target: Path, *, title: str) -> int:
    """Print built pages into one file and return how many sheets it has.

    Headings become the file's outline, and links between the pages lead from sheet to sheet.
    """
    book, parts = PdfWriter(), {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        for path in tqdm(pages, unit="page"):
            part = PdfReader(io.BytesIO(_printed(browser, path)))
            parts[path.resolve().as_uri()] = len(book.pages), part
            book.append(part)
        browser.close()
    for start, part in parts.values():
        for sheet in book.pages[start : start + len(part.pages)]:
            for link in sheet.get("/Annots", []):
                _lead_inside(link.get_object(), book, start, part, parts)
    book.add_metadata({"/Title": title})
    book.write(target)
    return len(book.pages)


def _printed(browser: Browser, path: Path) -> bytes:
    page = browser.new_page()
    page.goto(path.resolve().as_uri())
    page.wait_for_load_state("networkidle")
    page.evaluate("window.MathJax?.startup?.promise")
    page.evaluate(PREPARE)
    pdf = page.pdf(
        format="A4",
        margin=dict.fromkeys(("top", "right", "bottom", "left"), "17mm"),
        print_background=True,
        display_header_footer=True,
        header_template="<span></span>",
        footer_template=FOOTER,
        outline=True,
        tagged=True,
    )
    page.close()
    return pdf


def _lead_inside(link: dict, book: PdfWriter, start: int, part: PdfReader, parts: dict) -> None:
    """Have a link to another page of the book, or within this one, lead to the place there."""
    address, _, anchor = str(link.get("/A", {}).get("/URI", "")).partition("#")
    name = link.get("/Dest")
    if address in parts:
        start, part = parts[address]
        name = f"/{anchor}"
        del link["/A"]
    elif name is None:
        return
    sheet, left, top = start, None, None  # the first, for a link to a page as a whole
    if name in part.named_destinations:
        place = part.named_destinations[name]
        sheet += part.get_destination_page_number(place)
        left, top = place.left, place.top
    link[NameObject("/Dest")] = ArrayObject(
        [
            book.pages[sheet].indirect_reference,
            NameObject("/XYZ"),
            NullObject() if left is None else left,
            NullObject() if top is None else top,
            NullObject(),
        ]
    )
