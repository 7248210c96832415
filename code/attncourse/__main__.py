"""Keep the chapters in order, and make hand-outs, assignments and the answer book from them.

Run in the root of the book's repository; ``collect``, ``grade`` and ``return`` run in the folder of
a course. ``missing``, ``run``, ``replicate``, ``unseen``, ``labels`` and ``ask`` need what builds
the book (``requirements.txt``). The others need what grades:
``pip install ./code "./code/attncourse[teach]"``.
"""

import argparse
import inspect
import os
import sys
from pathlib import Path

import nbformat
from tqdm import tqdm

from attnbook.atomic_files import atomic_write
from attnbook.exercises.renumbered import number_now
from attncourse import UsageError
from attncourse.address import UNSET, published_page, repository, set_repository
from attncourse.arguments import add_argument
from attncourse.chapter import (
    chapters,
    exercises_of,
    find_chapter,
    in_laboratory,
    laboratory,
    seen_from_chapters,
    stored_runs,
    studies,
    workshop,
)
from attncourse.handouts import assignment, editions
from attncourse.handouts.folder import Folder

ROOT = Path()  # the commands run in the repository's root, or in the folder of a course


def missing(notebook: str = "") -> None:
    """List what a notebook still lacks, in the order in which to add it."""
    from attncourse.rules import missing  # needs what builds the book

    found = missing.report(ROOT, notebook)
    print(found or "nothing is missing")
    if found:
        sys.exit(1)


def run(chapter: list[str]) -> None:
    """Execute chapters and laboratory notebooks and store their outputs."""
    from attncourse.run import run  # needs what a grader has no use for

    for path in tqdm(_chapters(chapter), unit="chapter"):
        run(path)


def replicate(notebook: str, *, seeds: int = 20, workers: int = 0, again: bool = False) -> None:
    """Run a laboratory notebook's experiment for many seeds, and store the results."""
    from attncourse.replicate import replicate  # needs what a grader has no use for

    path = find_chapter(ROOT, notebook)
    new = replicate(path, seeds, workers=workers, again=again)
    print(
        f"{new} new seeds, all {seeds} are in {stored_runs(path)}; next: "
        f"python -m attncourse run {path}"
    )


def unseen(notebook: list[str], *, seeds: int = 3, workers: int = 0, again: bool = False) -> None:
    """Run experiments with the seeds after the stored ones, and compare the results with them."""
    from attncourse.unseen import unseen  # needs what a grader has no use for

    os.environ.setdefault("MPLBACKEND", "agg")  # the figures are not looked at
    print("notebook, values, outside the stored range, expected outside, failed assertions")
    for path in (find_chapter(ROOT, name) for name in notebook) if notebook else laboratory(ROOT):
        found = unseen(path, seeds, workers=workers, again=again)
        counts = f"{found.values}, {found.outside}, {found.expected:.1f}, {len(found.failed)}"
        print("\n    ".join([f"{path.stem}, {counts}", *found.failed]), flush=True)


def ask(question: str = "", *, measure: str = "") -> None:
    """Print the five sections of the book that answer a question best."""
    from attncourse.pages import ask  # needs what builds the book

    items, sections = ask.asked(question, measure), ask.sections(ROOT)
    found = ask.scores([item["ask"] for item in items], sections, ask.of_encoder())
    if measure:
        print(ask.right_chapter([item["chapter"] for item in items], found, sections))
        return
    for i in ask.best(found[0]):
        print(f"{found[0, i]:.2f}  {sections[i].title}\n      {sections[i].address}")


def home(url: str) -> None:
    """Set the address of the book's repository."""
    set_repository(ROOT, url)
    print(f"_config.yml and all notebooks now have {url}; push them")


def labels() -> None:
    """Bring up to date what chapters and reference pages state about the chapters."""
    from attncourse.pages import screenshots  # needs what builds the book
    from attncourse.pages.generated_pages import outdated, pages

    notebooks = {path: nbformat.read(path, as_version=4) for path in _chapters([])}
    texts = outdated(notebooks, pages(ROOT))
    for path, text in texts.items():
        atomic_write(path, text.encode())
    for path in [*texts, *screenshots.write(ROOT)]:
        print(f"brought up to date: {path}")


def student(folder: Path, chapter: list[str]) -> None:
    """Write chapters without solutions."""
    target = Folder(folder)
    paths = _chapters(chapter) if chapter else [*studies(ROOT), *workshop(ROOT)]
    for path in tqdm(paths, unit="chapter"):
        book = nbformat.read(path, as_version=4)
        target.write(seen_from_chapters(path), editions.student(book, published_page(ROOT, path)))
    _tell(target)
    _warn_of_address()


def assign(folder: Path, chapter: list[str], *, only: list[str] = ()) -> None:
    """Write an nbgrader course with one assignment a notebook that has exercises."""
    books = {path: nbformat.read(path, as_version=4) for path in _chapters(chapter)}
    only = _exercises(only, books) if only else None
    books = {
        path: book
        for path, book in books.items()
        if any(task.points and (not only or task.id in only) for task in exercises_of(book))
    }
    if not books:
        raise UsageError(f"no exercises in {', '.join(chapter)}")
    target = Folder(folder)
    target.write("nbgrader_config.py", assignment.NBGRADER_CONFIG)
    for path, book in tqdm(books.items(), unit="chapter"):
        source = assignment.assignment(book, target.seeds(), published_page(ROOT, path), only)
        target.write(f"source/{path.stem}/{path.name}", source)
    _tell(target)
    _warn_of_address()
    print(f"next, in that folder: nbgrader generate_assignment {next(iter(books)).stem}")


def answers(folder: Path) -> None:
    """Write the whole book with its solutions open, to be built as the book itself."""
    target = Folder(folder)
    for name in ("_config.yml", "_toc.yml"):
        target.write(name, (ROOT / name).read_bytes())
    for path in sorted((ROOT / "chapters").rglob("*")):
        hidden = path.suffix == ".pyc" or "/." in path.as_posix()
        if path.is_file() and not hidden and path not in _chapters([]):
            target.write(str(path.relative_to(ROOT)), path.read_bytes())
    for path in tqdm(_chapters([]), unit="chapter"):
        book = nbformat.read(path, as_version=4)
        target.write(f"chapters/{seen_from_chapters(path)}", editions.answers(book))
    _tell(target)


def slides(folder: Path, chapter: list[str]) -> None:
    """Write a page of slides for each chapter: its drawings, results and polls."""
    from attncourse.handouts.slides import deck

    target = Folder(folder)
    paths = _chapters(chapter) if chapter else chapters(ROOT)
    for path in tqdm(paths, unit="chapter"):
        if in_laboratory(path):
            raise UsageError(f"{path} is not a chapter: slides are made of chapters")
        target.write(f"{path.stem}.html", deck(nbformat.read(path, as_version=4)))
    _tell(target)


def forms(folder: Path) -> None:
    """Write two parallel forms to measure a class with, and an exam with its key."""
    from attncourse.handouts.forms import files

    target = Folder(folder)
    for name, text in files(ROOT).items():
        target.write(name, text)
    _tell(target)


def gain(before: Path, after: Path) -> None:
    """Say how much a class has learned, from its answers to a form before and after the course."""
    from attncourse.grading import gain
    from attncourse.handouts.forms import read

    for path in (before, after):
        if not path.is_file():
            raise UsageError(f"no such file: {path}")
    found = gain.gain(before, after)
    print(gain.summary(found, [pair["about"] for pair in read(ROOT)["pair"]]))
    _list({"in one of the tables alone, and left out": found.only_once})


def collect(assignment: str, archive: Path) -> None:
    """Sort the files that students handed in on a platform into the folder of a course."""
    from attncourse.grading.collect import collect

    _check_assignment(assignment)
    if not archive.exists():
        raise UsageError(f"no such archive or folder: {archive}")
    done = collect(ROOT, assignment, archive)
    print(f"{len(done.new)} new submissions, {len(done.as_before)} as before")
    _list(
        {
            "handed in again, to be graded again": done.again,
            "older than what was collected before, left alone": done.older,
            "several notebooks, of which the newest was taken": done.several,
            "no notebook with these exercises": done.without_notebook,
            "not on the roster, collected under their own names": done.not_on_roster,
            "of unknown students: put these into submitted/NAME/ASSIGNMENT by hand": done.unknown,
        }
    )
    print(f"next: python -m attncourse grade {assignment}")


def grade(assignment: str, *, processes: int = os.cpu_count() or 1, minutes: float = 20) -> None:
    """Grade what is new, several at a time, and sum up what the class got right and wrong."""
    from attncourse.grading import grade, summary

    _check_assignment(assignment)
    if processes < 1:
        raise UsageError(f"--processes must be at least 1, not {processes}")
    if minutes <= 0:
        raise UsageError(f"--minutes must be more than 0, not {minutes:g}")
    if not grade.handed_in(ROOT, assignment):
        raise UsageError(
            f"nobody has handed in {assignment}. First run python -m attncourse collect"
        )
    failed = grade.grade(ROOT, assignment, processes, minutes)
    print(summary.summary(ROOT, assignment))
    _list({"not graded": failed})
    print(f"next, when all answers in words are marked: nbgrader generate_feedback {assignment}")


def give_back(assignment: str, table: Path, *, column: str = "") -> None:
    """Fill marks into a table from Moodle or Canvas, and zip the feedback for it."""
    from attncourse.grading.give_back import give_back
    from attncourse.grading.marks import marks  # needs nbgrader

    _check_assignment(assignment)
    if not table.is_file():
        raise UsageError(f"no such file: {table}")
    known = marks(ROOT, assignment)
    done = give_back(ROOT, assignment, known, table, column or None)
    print(f"{len(done.filled)} marks are in {done.table}")
    print(f"{len(done.pages)} pages of feedback are in {done.archive}")
    _list(done.left_out())


def _list(found: dict[str, list[str]]) -> None:
    for title, names in found.items():
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
        return studies(ROOT)
    return [
        Path(name) if name.endswith(".ipynb") and Path(name).exists() else find_chapter(ROOT, name)
        for name in told
    ]


def _exercises(told: list[str], books: dict[Path, nbformat.NotebookNode]) -> list[str]:
    """The exercises that somebody names, each by its number or all of a chapter by its."""
    points = {task.id: task.points for book in books.values() for task in exercises_of(book)}
    chosen = []
    for name in told:
        name = number_now(name, points)
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
    raise UsageError(f"give the folder to write to first, then chapters; {folder} is a chapter")


def _tell(folder: Folder) -> None:
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


COMMANDS = {
    "missing": missing,
    "run": run,
    "replicate": replicate,
    "unseen": unseen,
    "labels": labels,
    "ask": ask,
    "home": home,
    "student": student,
    "assignment": assign,
    "answers": answers,
    "slides": slides,
    "forms": forms,
    "gain": gain,
    "collect": collect,
    "grade": grade,
    "return": give_back,
}
IN_A_COURSE = ("collect", "grade", "return")  # they run in the folder of a course
# they need what builds the book
FOR_THE_BOOK = ("missing", "run", "replicate", "unseen", "labels", "ask")


def parser() -> argparse.ArgumentParser:
    """The commands, each with the arguments of its function."""
    parser = argparse.ArgumentParser(prog="python -m attncourse", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, function in COMMANDS.items():
        says = function.__doc__
        added = commands.add_parser(name, help=says.rstrip(".").lower(), description=says)
        added.set_defaults(function=function)
        for argument in inspect.signature(function).parameters.values():
            add_argument(added, argument)
    return parser


def main(arguments: list[str] | None = None) -> None:
    """Run one command; wrong arguments are reported without a traceback."""
    told = vars(parser().parse_args(arguments))
    command, function = told.pop("command"), told.pop("function")
    try:
        _check_place(command)
        if "folder" in told:
            _refuse_chapter_as_folder(told["folder"])
        function(**told)
    except UsageError as error:
        sys.exit(str(error))
    except ModuleNotFoundError as error:
        of = (
            "-r requirements.txt"
            if command in FOR_THE_BOOK
            else './code "./code/attncourse[teach]"'
        )
        sys.exit(f"{command} needs {error.name}, which is not installed: pip install {of}")


def _check_place(command: str) -> None:
    in_a_course = command in IN_A_COURSE
    needed = "nbgrader_config.py" if in_a_course else "_config.yml"
    where = "folder of your course" if in_a_course else "root of the repository"
    if not (ROOT / needed).exists():
        raise UsageError(f"no {needed} in {Path.cwd()}: run this command in the {where}")


if __name__ == "__main__":
    main()
