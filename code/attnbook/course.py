"""Keep the chapters in order, and make hand-outs, assignments and the answer book from them.

Run in the repository's root: ``python -m attnbook.course --help``. Needs the packages that
build the book (requirements.txt), unlike the rest of attnbook.
"""

import argparse
import base64
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import nbformat
import yaml
from nbclient import NotebookClient
from tqdm import tqdm

from . import handouts, plotting

SETUP = """\
# Setup: on Google Colab this installs the book's package; elsewhere it does nothing.
try:
    import google.colab
except ImportError:
    pass
else:
    %pip install --quiet "attnbook @ git+{url}@{branch}#subdirectory=code"
"""


def setup_cell(root: Path) -> str:
    """The source of the setup cell that every chapter must have, for the address in _config.yml."""
    repository = yaml.safe_load((root / "_config.yml").read_text("utf8"))["repository"]
    return SETUP.format(url=repository["url"], branch=repository["branch"]).rstrip()


def chapters(root: Path) -> list[Path]:
    """The notebooks of the book's chapters, in order."""
    return sorted((root / "chapters").glob("[0-9]*.ipynb"))


def notebooks(root: Path) -> list[Path]:
    """The chapters, and the page that the book opens with."""
    return [*chapters(root), *(root / "chapters").glob("index.ipynb")]


def pages(root: Path) -> list[Path]:
    """The built pages of the book, in order."""
    contents = yaml.safe_load((root / "_toc.yml").read_text("utf8"))
    names = [contents["root"], *(c["file"] for c in contents["chapters"])]
    return [root / f"_build/html/{name}.html" for name in names]


def move_home(root: Path, url: str) -> None:
    """Write the book's address into _config.yml and into the setup cell of every notebook.

    Raises ``ValueError`` if the address is not that of a GitHub repository, the only kind that
    Colab opens.
    """
    url = url.removesuffix("/").removesuffix(".git")
    if not re.fullmatch(r"https://github\.com/[A-Za-z0-9][\w.-]*/[\w.-]*\w[\w.-]*", url, re.A):
        raise ValueError(f"not of the form https://github.com/OWNER/REPOSITORY: {url}")
    config = root / "_config.yml"
    text, count = re.subn(
        r"(?m)^(repository:\n  url: ).*$", rf"\g<1>{url}", config.read_text("utf8")
    )
    if count != 1:
        raise ValueError(f"{config} must have one `repository:` with `url:` as its first entry")
    books = {path: nbformat.read(path, as_version=4) for path in notebooks(root)}
    config.write_text(text, "utf8")
    for path, notebook in books.items():
        for cell in notebook.cells:
            if "setup" in cell.metadata.get("tags", []):
                cell.source = setup_cell(root)
        nbformat.write(notebook, path)


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


def run(path: Path) -> None:
    """Execute a chapter as a learner would, alone in an empty folder, and store its outputs.

    Raises ``nbclient.exceptions.CellExecutionError`` if a cell fails; the file is then unchanged.
    """
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as empty_folder:
        NotebookClient(
            notebook,
            timeout=600,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": empty_folder}},
        ).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                whole = base64.b64decode(output.data["image/png"])
                small = plotting.with_fewer_colours(whole, 256)
                output.data["image/png"] = base64.b64encode(small).decode()
    # the version of whoever ran it last is no property of the chapter
    notebook.metadata.language_info = {"name": "python"}
    written = path.with_suffix(".tmp")
    nbformat.write(notebook, written)
    os.replace(written, path)


NBGRADER_CONFIG = r"""# Settings of nbgrader for this course; it is yours to edit.
from pathlib import Path

from attnbook.grading import Restore, Run
from nbgrader.converters import Autograde

c = get_config()
here = Path(__file__).parent
c.CourseDirectory.course_id = "attention"
c.CourseDirectory.root = str(here)
c.Exchange.root = str(here / "exchange")
c.ClearSolutions.code_stub = {"python": ""}  # the stub stands above the solution
c.ClearSolutions.text_stub = "*Your answer:*"
c.Execute.timeout = 120  # seconds a cell; an endless loop is stopped then
# How zip_collect finds student and assignment in the names that a platform gives to files:
#     Ada Lovelace_123_assignsubmission_file/03-scaling.ipynb (Moodle)
#     lovelaceada_123_456_03-scaling-1.ipynb (Canvas)
c.FileNameCollectorPlugin.named_regexp = (
    r".*/(?P<student_id>[^/_]+(_LATE)?_\d+)_[^/]*(/[^/]*?)??"
    r"(?P<file_id>\d\d-[a-z]+(-[a-z]+)*)[^/]*\.ipynb$"
)

defaults = Autograde.sanitize_preprocessors.default_args[0]
c.Autograde.sanitize_preprocessors = [Restore, *defaults]
defaults = Autograde.autograde_preprocessors.default_args[0]
c.Autograde.autograde_preprocessors = [Run, *defaults[1:]]
"""


def write_students(root: Path, folder: handouts.Folder, paths: list) -> None:
    """Write chapters without solutions."""
    for path in tqdm(paths, unit="chapter"):
        chapter = nbformat.read(path, as_version=4)
        folder.write(path.name, handouts.student(chapter))


def write_assignments(
    root: Path, folder: handouts.Folder, paths: list, only: list[str] | None = None
) -> None:
    """Write an nbgrader course with one assignment a chapter.

    Raises ``ValueError`` if one of the exercises in ``only`` is in none of the chapters.
    """
    notebooks = {path: nbformat.read(path, as_version=4) for path in paths}
    if only is not None:
        there = {
            path: {t.id for t in handouts.tasks(chapter) if t.points}
            for path, chapter in notebooks.items()
        }
        unknown = sorted({*only}.difference(*there.values()))
        if unknown:
            raise ValueError(f"no such exercise with points: {', '.join(unknown)}")
        notebooks = {path: chapter for path, chapter in notebooks.items() if there[path] & {*only}}
    repository = yaml.safe_load((root / "_config.yml").read_text("utf8"))["repository"]
    folder.write("nbgrader_config.py", NBGRADER_CONFIG)
    for path, chapter in tqdm(notebooks.items(), unit="chapter"):
        home = published_at(repository["url"])
        address = f"{home}chapters/{path.stem}.html"
        notebook = handouts.assignment(chapter, folder.seeds(), address, only)
        folder.write(f"source/{path.stem}/{path.name}", notebook)


def write_answers(root: Path, folder: handouts.Folder, paths: list) -> None:
    """Write the whole book with its solutions open, to be built as the book itself."""
    for name in ("_config.yml", "_toc.yml"):
        folder.write(name, (root / name).read_bytes())
    for path in sorted((root / "chapters").rglob("*")):
        page = path not in chapters(root) and path.suffix != ".pyc"
        if path.is_file() and page:
            folder.write(str(path.relative_to(root)), path.read_bytes())
    for path in tqdm(paths, unit="chapter"):
        chapter = nbformat.read(path, as_version=4)
        folder.write(f"chapters/{path.name}", handouts.answers(chapter))


WRITERS = {"student": write_students, "assignment": write_assignments, "answers": write_answers}


def _first_line(function: Callable) -> str:
    return function.__doc__.split("\n")[0].rstrip(".").lower()


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    parser = argparse.ArgumentParser(prog="python -m attnbook.course", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run", help="execute chapters and store their outputs")
    runner.add_argument("chapter", nargs="*", type=Path, help="notebooks; by default all of them")
    home = commands.add_parser("home", help="set the address of the book's repository")
    home.add_argument("url", help="https://github.com/OWNER/REPOSITORY")
    commands.add_parser(
        "labels",
        help="bring up to date what chapters state of their length, their "
        "figures' script and the index of experiments",
    )
    commands.add_parser("pdf", help="print the built book, without folded parts, into one file")
    for name, writer in WRITERS.items():
        command = commands.add_parser(name, help=_first_line(writer))
        command.add_argument("folder", type=Path, help="where to write")
        if name != "answers":
            command.add_argument(
                "chapter", nargs="*", type=Path, help="notebooks; by default all of them"
            )
        if name == "assignment":
            command.add_argument(
                "--only",
                nargs="+",
                metavar="EXERCISE",
                help="the exercises to assign, such as 3.2 3.9; by default all",
            )
    return parser


def main(arguments: list[str] | None = None) -> None:
    options = parser().parse_args(arguments)
    root = Path.cwd()
    if not (root / "_config.yml").exists():
        sys.exit(f"no _config.yml in {root}: run this in the root of the book's repository")
    asked = getattr(options, "chapter", [])
    missing = [str(path) for path in asked if not path.exists()]
    if missing:
        sys.exit(f"no such notebook: {', '.join(missing)}")
    paths = asked or chapters(root)
    if options.command == "run":
        for path in tqdm(paths, unit="chapter"):
            run(path)
        return
    if options.command == "pdf":
        from . import printing  # needs what a grader has no use for

        missing = [str(path) for path in pages(root) if not path.exists()]
        if missing:
            sys.exit(f"not built yet: {', '.join(missing)}; first: jupyter-book build .")
        title = yaml.safe_load((root / "_config.yml").read_text("utf8"))["title"]
        target = root / "_build/book.pdf"
        count = printing.write_pdf(pages(root), target, title=title)
        print(f"{count} pages are in {target}")
        return
    try:
        if options.command == "labels":
            from . import labels  # needs what builds the book

            texts = sorted((root / "chapters").glob("*.md"))
            renewed = labels.renew_figures(notebooks(root))
            changed = labels.relabel(chapters(root), texts)
            for path in dict.fromkeys([*renewed, *changed]):
                print(f"brought up to date: {path}")
        elif options.command in WRITERS:
            folder = handouts.Folder(options.folder)
            chosen = {"only": options.only} if "only" in options else {}
            WRITERS[options.command](root, folder, paths, **chosen)
            print(f"{len(folder.written)} files are up to date in {folder.path}")
            for name in folder.written:
                if name.startswith("source/"):
                    print(f"next, in that folder: nbgrader generate_assignment {Path(name).stem}")
                    break
            for name in folder.kept:
                print(f"kept as you have edited it: {folder.path / name}")
        else:
            move_home(root, options.url)
            print(f"_config.yml and all chapters say {options.url}; push them")
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
