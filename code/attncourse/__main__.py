"""Keep the chapters in order, and make hand-outs, assignments and the answer book from them.

Run in the root of the book's repository; ``collect``, ``grade`` and ``return`` run in the folder of
a course. ``run``, ``labels`` and ``pdf`` need what builds the book
(``requirements.txt``), the others what grades (``pip install ./code "./code/attncourse[teach]"``).
"""

import argparse
import os
import sys
from argparse import Namespace
from pathlib import Path

import nbformat
import yaml
from tqdm import tqdm

from attncourse import UsageError
from attncourse.address import UNSET, published_page, repository, set_repository
from attncourse.chapter import (
    chapters,
    exercises_of,
    find_chapter,
    in_laboratory,
    laboratory,
    pages,
    seen_from_chapters,
)
from attncourse.handouts import assignment, handouts
from attncourse.pages import ablation_data, pictures

ROOT = Path()  # the commands run in the repository's root, or in the folder of a course
IN_A_COURSE = ("collect", "grade", "return")
FOR_THE_BOOK = ("run", "replicate", "labels", "pdf")  # they need what builds the book


def run(options: Namespace) -> None:
    """Execute chapters and laboratory notebooks and store their outputs."""
    from attncourse.run import run  # needs what a grader has no use for

    for path in tqdm(_chapters(options.chapter), unit="chapter"):
        run(path)


def replicate(options: Namespace) -> None:
    """Run a laboratory notebook's experiment for many seeds, and store what comes out."""
    from attncourse.replicate import replicate  # needs what a grader has no use for

    path = find_chapter(ROOT, options.notebook)
    new = replicate(path, options.seeds, workers=options.workers, again=options.again)
    print(
        f"{new} new seeds, all {options.seeds} are in {path.with_suffix('.csv')} and in the "
        f"notebook; next: python -m attncourse run {path}"
    )


def home(options: Namespace) -> None:
    """Set the address of the book's repository."""
    set_repository(ROOT, options.url)
    print(f"_config.yml and all notebooks say {options.url}; push them")


def labels(options: Namespace) -> None:
    """Bring up to date what chapters and reference pages state of the chapters."""
    from attncourse.pages.generated_pages import pages, relabel  # needs what builds the book

    for path in (
        relabel(_chapters([]), pages(ROOT)) + ablation_data.write(ROOT) + pictures.write(ROOT)
    ):
        print(f"brought up to date: {path}")


def pdf(options: Namespace) -> None:
    """Print the built book, without folded parts, into one file."""
    from attncourse.pages.pdf import write_pdf  # needs a browser

    missing = [str(path) for path in pages(ROOT) if not path.exists()]
    if missing:
        raise UsageError(f"not built yet: {', '.join(missing)}; first: jupyter-book build .")
    title = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["title"]
    target = ROOT / "_build/book.pdf"
    count = write_pdf(pages(ROOT), target, title=title)
    print(f"{count} pages are in {target}")


def student(options: Namespace) -> None:
    """Write chapters without solutions."""
    folder = handouts.Folder(options.folder)
    for path in tqdm(_chapters(options.chapter), unit="chapter"):
        chapter = nbformat.read(path, as_version=4)
        folder.write(
            seen_from_chapters(path), handouts.student(chapter, published_page(ROOT, path))
        )
    _tell(folder)
    _warn_of_address()


def assign(options: Namespace) -> None:
    """Write an nbgrader course with one assignment a notebook that has exercises."""
    books = {path: nbformat.read(path, as_version=4) for path in _chapters(options.chapter)}
    only = _exercises(options.only, books) if options.only else None
    books = {
        path: book
        for path, book in books.items()
        if any(task.points and (not only or task.id in only) for task in exercises_of(book))
    }
    if not books:
        raise UsageError(f"no exercises in {', '.join(options.chapter)}")
    folder = handouts.Folder(options.folder)
    folder.write("nbgrader_config.py", assignment.NBGRADER_CONFIG)
    for path, book in tqdm(books.items(), unit="chapter"):
        source = assignment.assignment(book, folder.seeds(), published_page(ROOT, path), only)
        folder.write(f"source/{path.stem}/{path.name}", source)
    _tell(folder)
    _warn_of_address()
    print(f"next, in that folder: nbgrader generate_assignment {next(iter(books)).stem}")


def answers(options: Namespace) -> None:
    """Write the whole book with its solutions open, to be built as the book itself."""
    folder = handouts.Folder(options.folder)
    for name in ("_config.yml", "_toc.yml"):
        folder.write(name, (ROOT / name).read_bytes())
    for path in sorted((ROOT / "chapters").rglob("*")):
        page = path not in _chapters([]) and path.suffix != ".pyc"
        if path.is_file() and page:
            folder.write(str(path.relative_to(ROOT)), path.read_bytes())
    for path in tqdm(_chapters([]), unit="chapter"):
        chapter = nbformat.read(path, as_version=4)
        folder.write(f"chapters/{seen_from_chapters(path)}", handouts.answers(chapter))
    _tell(folder)


def slides(options: Namespace) -> None:
    """Write a page of slides for each chapter: its drawings, results and polls."""
    from attncourse.handouts.slides import deck

    folder = handouts.Folder(options.folder)
    paths = _chapters(options.chapter) if options.chapter else chapters(ROOT)
    for path in tqdm(paths, unit="chapter"):
        if in_laboratory(path):
            raise UsageError(f"{path} is not a chapter: slides are made of chapters")
        folder.write(f"{path.stem}.html", deck(nbformat.read(path, as_version=4)))
    _tell(folder)


def collect(options: Namespace) -> None:
    """Sort what students handed in on a platform into the folder of a course."""
    from attncourse.grading.collect import collect

    _check_assignment(options.assignment)
    if not options.archive.exists():
        raise UsageError(f"no such archive or folder: {options.archive}")
    done = collect(ROOT, options.assignment, options.archive)
    print(f"{len(done.new)} new submissions, {len(done.as_before)} as before")
    for title, names in {
        "handed in again, to be graded again": done.again,
        "older than what was collected before, left alone": done.older,
        "of several notebooks the newest was taken": done.several,
        "no notebook with these exercises": done.without_notebook,
        "not on the roster, collected under their own names": done.not_on_roster,
        "whose is this? put it into submitted/NAME/ASSIGNMENT by hand": done.unknown,
    }.items():
        if names:
            print(f"{title}:", *names, sep="\n    ")
    print(f"next: python -m attncourse grade {options.assignment}")


def grade(options: Namespace) -> None:
    """Grade what is new, several at a time, and sum up what the class got right and wrong."""
    from attncourse.grading import grade, summary

    _check_assignment(options.assignment)
    if options.processes < 1:
        raise UsageError(f"--processes must be at least 1, not {options.processes}")
    if options.minutes <= 0:
        raise UsageError(f"--minutes must be more than 0, not {options.minutes:g}")
    if not grade.handed_in(ROOT, options.assignment):
        raise UsageError(
            f"nobody has handed in {options.assignment}; first: python -m attncourse collect"
        )
    failed = grade.grade(ROOT, options.assignment, options.processes, options.minutes)
    print(summary.summary(ROOT, options.assignment))
    if failed:
        print("not graded:", *failed, sep="\n    ")
    print(
        f"next, when all answers in words are marked: nbgrader generate_feedback "
        f"{options.assignment}"
    )


def give_back(options: Namespace) -> None:
    """Fill marks into a table of Moodle or Canvas, and zip the feedback under its names."""
    from attncourse.grading.give_back import give_back
    from attncourse.grading.marks import marks  # needs nbgrader

    _check_assignment(options.assignment)
    if not options.table.is_file():
        raise UsageError(f"no such file: {options.table}")
    known = marks(ROOT, options.assignment)
    done = give_back(ROOT, options.assignment, known, options.table, options.column)
    print(f"{len(done.filled)} marks are in {done.table}")
    print(f"{len(done.pages)} pages of feedback are in {done.archive}")
    for title, names in done.left_out().items():
        if names:
            print(f"{title}:", *names, sep="\n    ")


def _check_assignment(name: str) -> None:
    names = sorted(path.stem for path in ROOT.glob("release/*/*.ipynb"))
    if name not in names:
        raise UsageError(
            f"no such assignment: {name}; generated in {Path.cwd()} are "
            f"{', '.join(names) or 'none'}"
        )


def _chapters(told: list[str]) -> list[Path]:
    """The notebooks that somebody names; all chapters and the laboratory if none."""
    if not told:
        return [*chapters(ROOT), *laboratory(ROOT)]
    return [
        Path(name) if name.endswith(".ipynb") and Path(name).exists() else find_chapter(ROOT, name)
        for name in told
    ]


def _exercises(told: list[str], books: dict[Path, nbformat.NotebookNode]) -> list[str]:
    """The exercises that somebody names, each by its number or all of a chapter by its."""
    points = {task.id: task.points for book in books.values() for task in exercises_of(book)}
    chosen = []
    for name in told:
        of_chapter = [id for id in points if id.split(".")[0] == name.lstrip("0") and points[id]]
        if points.get(name) == 0:
            raise UsageError(f"{name} is a poll before an experiment: it has no points")
        if not of_chapter and name not in points:
            where = ", ".join(path.stem for path in books)
            raise UsageError(f"no such exercise or chapter: {name}; looked into {where}")
        chosen += of_chapter or [name]
    return chosen


def _refuse_chapter_as_folder(folder: Path) -> None:
    """A chapter in the place of the folder was meant for the next argument."""
    if folder.parent != Path() and folder.suffix != ".ipynb":
        return
    try:
        find_chapter(ROOT, str(folder))
    except UsageError:
        return
    raise UsageError(f"first the folder to write to, then chapters; {folder} is a chapter")


def _tell(folder: handouts.Folder) -> None:
    print(f"{len(folder.written)} files are up to date in {folder.path}")
    for name in folder.kept:
        print(f"kept as you have edited it: {folder.path / name}")


def _warn_of_address() -> None:
    if repository(ROOT)["url"].startswith(UNSET):
        print(
            "Warning: the book does not know where it is published, so nobody can install its "
            "package from these files. Set the address, push, and run this command again:\n"
            "    python -m attncourse home https://github.com/OWNER/REPOSITORY",
            file=sys.stderr,
        )


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    parser = argparse.ArgumentParser(prog="python -m attncourse", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    added = {}
    for name, function in {
        "run": run,
        "replicate": replicate,
        "home": home,
        "labels": labels,
        "pdf": pdf,
        "student": student,
        "assignment": assign,
        "answers": answers,
        "slides": slides,
        "collect": collect,
        "grade": grade,
        "return": give_back,
    }.items():
        added[name] = commands.add_parser(
            name, help=function.__doc__.rstrip(".").lower(), description=function.__doc__
        )
        added[name].set_defaults(function=function)
    for name in ("student", "assignment", "answers", "slides"):
        added[name].add_argument("folder", type=Path, help="where to write")
    for name in ("run", "student", "assignment", "slides"):
        added[name].add_argument(
            "chapter",
            nargs="*",
            help="chapters, such as 3 or 03-scaling or chapters/03-scaling.ipynb, and laboratory "
            "notebooks, such as lab/02-values; by default all",
        )
    added["replicate"].add_argument("notebook", help="such as 02-values or lab/02-values")
    added["replicate"].add_argument(
        "--seeds", type=int, default=20, help="how many, counted from 0; by default 20"
    )
    added["replicate"].add_argument(
        "--workers", type=int, help="how many at the same time; by default one for each core"
    )
    added["replicate"].add_argument(
        "--again", action="store_true", help="drop what other code or other versions have stored"
    )
    added["home"].add_argument("url", help="https://github.com/OWNER/REPOSITORY")
    added["assignment"].add_argument(
        "--only",
        nargs="+",
        metavar="EXERCISE",
        help="what to assign, such as 3.2 3.9, or 5 for all of chapter 5; by default all",
    )
    for name in IN_A_COURSE:
        added[name].add_argument("assignment", help="its name, such as 03-scaling")
    added["collect"].add_argument(
        "archive", type=Path, help="the zip archive from Moodle or Canvas, or its unpacked folder"
    )
    added["grade"].add_argument(
        "--processes",
        type=int,
        default=os.cpu_count(),
        help="how many submissions at the same time; by default one for each core",
    )
    added["grade"].add_argument(
        "--minutes",
        type=float,
        default=20,
        help="after which a submission is given up, by default 20",
    )
    added["return"].add_argument(
        "table",
        type=Path,
        help="the CSV file from Moodle (grading worksheet) or Canvas (gradebook) to fill in",
    )
    added["return"].add_argument(
        "--column", help="of the marks, if it is not called Grade or as the assignment"
    )
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Run one command; what it is told wrongly is said without a traceback."""
    options = parser().parse_args(arguments)
    try:
        _check_place(options)
        options.function(options)
    except UsageError as error:
        sys.exit(str(error))
    except ModuleNotFoundError as error:
        of = (
            "-r requirements.txt"
            if options.command in FOR_THE_BOOK
            else './code "./code/attncourse[teach]"'
        )
        sys.exit(f"{options.command} needs {error.name}, which is not installed: pip install {of}")


def _check_place(options: Namespace) -> None:
    in_a_course = options.command in IN_A_COURSE
    needed = "nbgrader_config.py" if in_a_course else "_config.yml"
    where = "folder of your course" if in_a_course else "root of the repository"
    if not (ROOT / needed).exists():
        raise UsageError(f"no {needed} in {Path.cwd()}: run this in the {where}")
    if "folder" in options:
        _refuse_chapter_as_folder(options.folder)


if __name__ == "__main__":
    main()
