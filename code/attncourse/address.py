"""Where the book lives: its repository, its published pages, and the setup cell that follows."""

import re
from pathlib import Path
from urllib.parse import urljoin

import nbformat
import yaml
from nbformat import NotebookNode

from attnbook.atomic_files import atomic_write
from attncourse import UsageError
from attncourse.chapter import notebooks, seen_from_chapters, tags, write_notebook

UNSET = "https://github.com/owner.invalid/"  # as the book is shipped

LINK = re.compile(r"\[([^\]]+)\]\(([\w./-]+)\.(?:ipynb|md)(#[\w-]+)?\)")

RUNNING = re.compile(r"(<!-- computed: running -->\n).*?(<!-- end -->)", re.S)

ON_THEIR_COMPUTER = re.compile(r"^## Run it$.*?^```bash\n(.+?)\n```$", re.M | re.S)  # in the README

SETUP = """\
# setup
# On Google Colab this installs the book's package; elsewhere it does nothing.
try:
    import google.colab
except ImportError:
    pass
else:
    %pip install --quiet "{package} @ git+{url}@{branch}#subdirectory=code"
"""


def repository(root: Path) -> dict[str, str]:
    """The address and the branch of the book's repository, from _config.yml."""
    return yaml.safe_load((root / "_config.yml").read_text("utf8"))["repository"]


def setup_cell(root: Path, notebook: Path) -> str:
    """The source of a notebook's setup cell, for the address in _config.yml.

    It is the same in all notebooks, except that the front chapter, chapters 11 to 13, their
    laboratory and others that load a trained model also install what reads one.
    """
    place = repository(root)
    loads = notebook.exists() and "pretrained.load(" in notebook.read_text("utf8")
    loads |= notebook.name.startswith(("00-", "11-", "12-", "13-"))
    package = "attnbook[llm]" if loads else "attnbook"
    return SETUP.format(package=package, url=place["url"], branch=place["branch"]).rstrip()


def how_to_run(root: Path) -> str:
    """How readers of the landing page run the book; no button is named that is not there."""
    line = ON_THEIR_COMPUTER.search((root / "README.md").read_text("utf8"))[1]
    buttons = (
        "The rocket at the top of its page opens it in Google Colab, and the GitHub icon beside it "
        "leads to the repository. "
    )
    return (
        "**Run.** Every chapter is a notebook that needs no GPU. "
        + ("" if repository(root)["url"].startswith(UNSET) else buttons)
        + "In a copy of the repository, this line of the README sets everything up and builds "
        f"these pages on your own computer:\n\n```bash\n{line}\n```\n"
    )


def set_repository(root: Path, url: str) -> None:
    """Write the book's address into _config.yml and wherever notebooks depend on it.

    Raises ``UsageError`` if the address is not that of a GitHub repository, the only kind that
    Colab opens.
    """
    url = url.removesuffix("/").removesuffix(".git")
    if not re.fullmatch(r"https://github\.com/[A-Za-z0-9][\w.-]*/[\w.-]*\w[\w.-]*", url, re.A):
        raise UsageError(f"not of the form https://github.com/OWNER/REPOSITORY: {url}")
    config = root / "_config.yml"
    text, count = re.subn(
        r"(?m)^(repository:\n  url: ).*$", rf"\g<1>{url}", config.read_text("utf8")
    )
    if count != 1:
        raise UsageError(f"{config} must have one `repository:` with `url:` as its first entry")
    books = {path: nbformat.read(path, as_version=4) for path in notebooks(root)}
    atomic_write(config, text.encode())
    for path, notebook in books.items():
        for cell in notebook.cells:
            if "setup" in tags(cell):
                cell.source = setup_cell(root, path)
            elif cell.cell_type == "markdown" and RUNNING.search(cell.source):
                text = how_to_run(root)
                cell.source = RUNNING.sub(
                    lambda old, text=text: old[1] + text + old[2], cell.source
                )
        write_notebook(path, notebook)


def published_at(repository: str) -> str:
    """Where GitHub Pages serves the book of a repository; ends with a slash.

    >>> published_at("https://github.com/ada/attention-step-by-step")
    'https://ada.github.io/attention-step-by-step/'
    >>> published_at("https://github.com/ada/ada.github.io")
    'https://ada.github.io/'
    """
    owner, name = repository.split("/")[-2:]
    home = f"{owner}.github.io".lower()
    return f"https://{home}/" + (f"{name}/" if name.lower() != home else "")


def published_page(root: Path, notebook: Path) -> str:
    """Where a notebook can be read, or "" while nobody has said where the book lives."""
    url = repository(root)["url"]
    page = Path(seen_from_chapters(notebook)).with_suffix(".html").as_posix()
    return "" if url.startswith(UNSET) else f"{published_at(url)}chapters/{page}"


def with_links_to(page: str, text: str) -> str:
    """A text whose links to other pages of the book lead to the published ones beside ``page``.

    If there is no ``page``, it has their words alone.

    >>> with_links_to("https://ada.github.io/book/03.html", "See [Notation](notation.md#shapes).")
    'See [Notation](https://ada.github.io/book/notation.html#shapes).'
    >>> with_links_to("https://ada.github.io/book/lab/02.html", "See [Chapter 2](../02.ipynb).")
    'See [Chapter 2](https://ada.github.io/book/02.html).'
    >>> with_links_to("https://ada.github.io/book/02.html", "See [Cost](lab/10-cost.ipynb).")
    'See [Cost](https://ada.github.io/book/lab/10-cost.html).'
    >>> with_links_to("", "See [Notation](notation.md#shapes).")
    'See Notation.'
    """

    def moved(link: re.Match) -> str:
        words, name, place = link.groups(default="")
        return f"[{words}]({urljoin(page, name + '.html')}{place})" if page else words

    return LINK.sub(moved, text)


def install_note(chapter: NotebookNode) -> str:
    """What a learner has to know before the setup cell, which installs the package on Colab."""
    setup = next(cell for cell in chapter.cells if "setup" in tags(cell))
    package = re.search(r'"(attnbook\S* @ .+)"', setup.source)[1]
    return (
        "On Google Colab the next cell installs what you need; on your own computer, run this "
        f'once in a terminal: `pip install "{package}"`.'
    )
