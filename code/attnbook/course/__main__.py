"""Keep the chapters in order, and make hand-outs, assignments and the answer book from them.

Run in the repository's root: ``python -m attnbook.course --help``.
"""

import argparse
import sys
from argparse import Namespace
from pathlib import Path

import nbformat
import yaml
from tqdm import tqdm

from attnbook.course import assignment, handouts
from attnbook.course.address import published_at, repository, set_repository
from attnbook.course.chapter import chapters, exercises_of, notebooks, pages

ROOT = Path()  # the commands run in the repository's root


def run(options: Namespace) -> None:
    """Execute chapters and store their outputs."""
    from attnbook.course.run import run  # needs what a grader has no use for

    for path in tqdm(options.chapter, unit="chapter"):
        run(path)


def home(options: Namespace) -> None:
    """Set the address of the book's repository."""
    set_repository(ROOT, options.url)
    print(f"_config.yml and all notebooks say {options.url}; push them")


def labels(options: Namespace) -> None:
    """Bring up to date what chapters and reference pages state of the chapters."""
    from attnbook.course.labels import relabel, renew_figures  # needs what builds the book

    renewed = renew_figures(notebooks(ROOT))
    changed = relabel(chapters(ROOT), sorted((ROOT / "chapters").glob("*.md")))
    for path in dict.fromkeys([*renewed, *changed]):
        print(f"brought up to date: {path}")


def pdf(options: Namespace) -> None:
    """Print the built book, without folded parts, into one file."""
    from attnbook.course.pdf import write_pdf  # needs a browser

    missing = [str(path) for path in pages(ROOT) if not path.exists()]
    if missing:
        raise ValueError(f"not built yet: {', '.join(missing)}; first: jupyter-book build .")
    title = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["title"]
    target = ROOT / "_build/book.pdf"
    count = write_pdf(pages(ROOT), target, title=title)
    print(f"{count} pages are in {target}")


def student(options: Namespace) -> None:
    """Write chapters without solutions."""
    folder = handouts.Folder(options.folder)
    for path in tqdm(options.chapter, unit="chapter"):
        folder.write(path.name, handouts.student(nbformat.read(path, as_version=4)))
    _tell(folder)


def assign(options: Namespace) -> None:
    """Write an nbgrader course with one assignment a chapter."""
    folder = handouts.Folder(options.folder)
    books = {path: nbformat.read(path, as_version=4) for path in options.chapter}
    if options.only:
        there = {
            path: {exercise.id for exercise in exercises_of(book) if exercise.points}
            for path, book in books.items()
        }
        unknown = sorted({*options.only}.difference(*there.values()))
        if unknown:
            raise ValueError(f"no such exercise with points: {', '.join(unknown)}")
        books = {path: book for path, book in books.items() if there[path] & {*options.only}}
    folder.write("nbgrader_config.py", assignment.NBGRADER_CONFIG)
    address = published_at(repository(ROOT)["url"])
    for path, book in tqdm(books.items(), unit="chapter"):
        page = f"{address}chapters/{path.stem}.html"
        source = assignment.assignment(book, folder.seeds(), page, options.only)
        folder.write(f"source/{path.stem}/{path.name}", source)
    _tell(folder)
    print(f"next, in that folder: nbgrader generate_assignment {next(iter(books)).stem}")


def answers(options: Namespace) -> None:
    """Write the whole book with its solutions open, to be built as the book itself."""
    folder = handouts.Folder(options.folder)
    for name in ("_config.yml", "_toc.yml"):
        folder.write(name, (ROOT / name).read_bytes())
    for path in sorted((ROOT / "chapters").rglob("*")):
        page = path not in chapters(ROOT) and path.suffix != ".pyc"
        if path.is_file() and page:
            folder.write(str(path.relative_to(ROOT)), path.read_bytes())
    for path in tqdm(chapters(ROOT), unit="chapter"):
        folder.write(f"chapters/{path.name}", handouts.answers(nbformat.read(path, as_version=4)))
    _tell(folder)


def _tell(folder: handouts.Folder) -> None:
    print(f"{len(folder.written)} files are up to date in {folder.path}")
    for name in folder.kept:
        print(f"kept as you have edited it: {folder.path / name}")


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    parser = argparse.ArgumentParser(prog="python -m attnbook.course", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, function in {
        "run": run,
        "home": home,
        "labels": labels,
        "pdf": pdf,
        "student": student,
        "assignment": assign,
        "answers": answers,
    }.items():
        command = commands.add_parser(name, help=function.__doc__.rstrip(".").lower())
        command.set_defaults(function=function)
        if name in ("student", "assignment", "answers"):
            command.add_argument("folder", type=Path, help="where to write")
        if name in ("run", "student", "assignment"):
            command.add_argument(
                "chapter", nargs="*", type=Path, help="notebooks; by default all of them"
            )
        if name == "home":
            command.add_argument("url", help="https://github.com/OWNER/REPOSITORY")
        if name == "assignment":
            command.add_argument(
                "--only",
                nargs="+",
                metavar="EXERCISE",
                help="the exercises to assign, such as 3.2 3.9; by default all",
            )
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Run one command; what it is told wrongly is said without a traceback."""
    options = parser().parse_args(arguments)
    if not (ROOT / "_config.yml").exists():
        sys.exit(f"no _config.yml in {Path.cwd()}: run this in the root of the book's repository")
    if "chapter" in options:
        missing = [str(path) for path in options.chapter if not path.exists()]
        if missing:
            sys.exit(f"no such notebook: {', '.join(missing)}")
        options.chapter = options.chapter or chapters(ROOT)
    try:
        options.function(options)
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
