"""What a notebook still lacks, in the order in which its author adds it, with the file to edit."""

from collections.abc import Iterator
from pathlib import Path

from attncourse import UsageError
from attncourse.pages import generated_pages, screenshots
from attncourse.rules import chapter, exercises, laboratory, notebook as every, words
from attncourse.rules.book import Book, Notebook

IN_EVERY_NOTEBOOK = [
    every.has_ids_of_its_own,
    every.has_the_setup_cell,
    every.is_plain,
    every.has_short_lines,
    words.read_well,
]
IN_A_CHAPTER = [
    chapter.begins_with_its_question,
    chapter.numbers_its_equations,
    chapter.asks_before_it_answers,
    chapter.asserts_what_it_proves,
    chapter.ends_with_its_sums_and_sources,
    exercises.are_built_alike,
    exercises.leave_the_readers_names_alone,
    exercises.stand_where_they_are_found,
    exercises.has_answers_in_words,
    exercises.has_its_choice_in_the_story,
    exercises.name_the_panels_of_their_figures,
]
IN_THE_FRONT_CHAPTER = [chapter.shows_before_it_says, chapter.asserts_what_it_proves]
IN_THE_LABORATORY = [
    laboratory.begins_with_its_result,
    laboratory.has_an_experiment,
    laboratory.has_stored_runs,
    laboratory.types_no_result,
    chapter.asserts_what_it_proves,
    exercises.are_built_alike,
    exercises.leave_the_readers_names_alone,
    exercises.name_the_panels_of_their_figures,
]
ONCE_IT_WAS_RUN = [
    every.was_run_by_the_command,
    every.shows_no_error,
    every.has_figures,
    laboratory.shows_its_result_first,
    every.has_pictures_of_its_code,
    exercises.are_not_attempted,
]


def rules(notebook: Notebook) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield what a notebook lacks by each rule, with the file to edit, in the order to do it."""
    file = notebook.name
    yield file, every.exists(notebook)
    if notebook.is_study:
        yield "_toc.yml", chapter.stands_in_the_contents(notebook)
    for rule in IN_EVERY_NOTEBOOK + (_of_its_kind(notebook) if notebook.is_study else []):
        yield file, rule(notebook)
    if notebook.is_study and not notebook.in_laboratory and not notebook.is_front:
        yield exercises.module(notebook), exercises.has_a_catalogue(notebook)
        yield exercises.answers(notebook), exercises.has_tested_answers(notebook)
        yield "chapters/claims.toml", chapter.proves_what_the_ledger_claims(notebook)
        yield "chapters/glossary.md", chapter.is_in_the_glossary(notebook)
        yield "chapters/plans.toml", chapter.is_taught(notebook)
    to_run = [*every.was_run(notebook)]
    yield file, iter(to_run)
    for rule in [] if to_run else ONCE_IT_WAS_RUN:
        yield file, rule(notebook)


def _of_its_kind(notebook: Notebook) -> list:
    if notebook.is_front:
        return IN_THE_FRONT_CHAPTER
    return IN_THE_LABORATORY if notebook.in_laboratory else IN_A_CHAPTER


def lacks(notebook: Notebook) -> list[str]:
    """What a notebook lacks: the file to edit, and what the rule demands."""
    return [f"{file}: {lack}" for file, found in rules(notebook) for lack in found]


def not_up_to_date(book: Book) -> list[str]:
    """The files that ``python -m attncourse labels`` would bring up to date.

    Without what it needs, it says what that is.
    """
    notebooks = {path: each.node for path, each in book.notebooks.items() if each.is_study}
    try:
        pages = generated_pages.outdated(notebooks, generated_pages.pages(book.root))
    except UsageError as error:
        return [str(error)]
    return [
        f"{path.relative_to(book.root)}: python -m attncourse labels brings it up to date"
        for path in [*pages, *screenshots.outdated(book.root)]
    ]


def report(root: Path, told: str | None = None) -> str:
    """What a notebook lacks, or all of them, in numbered lines; "" if it is nothing.

    What ``labels`` would bring up to date is said last: it needs all the rest.
    """
    path = find(root, told) if told else None
    book = Book(root, also=(path,) if path else ())
    wanted = [book.notebooks[path]] if path else book.notebooks.values()
    found = [lack for notebook in wanted for lack in lacks(notebook)] or not_up_to_date(book)
    return "\n".join(f"{i}. {lack}" for i, lack in enumerate(found, start=1))


def find(root: Path, told: str) -> Path:
    """The notebook that somebody means, also if the book does not list it yet, or has no file.

    ``told`` is a chapter's number, or a name such as ``12-memory`` or ``lab/12-why``, with or
    without the folder and the ending. Raises ``UsageError`` if no notebook can be called so.
    """
    path = Path(told.removesuffix(".ipynb"))
    in_laboratory = path.parent.name == "lab"
    folder = root / "chapters" / ("lab" if in_laboratory else "")
    name = path.name
    if name.isdigit() and not in_laboratory:
        found = sorted(folder.glob(f"{int(name):02d}-*.ipynb"))
        return found[0] if found else folder / f"{int(name):02d}-NAME.ipynb"
    if (folder / f"{name}.ipynb").exists() or (name[:2].isdigit() and name[2:3] == "-"):
        return folder / f"{name}.ipynb"
    raise UsageError(
        f"{told} names no notebook: say 12 or 12-memory for a chapter, lab/12-why for one of the "
        "laboratory"
    )
