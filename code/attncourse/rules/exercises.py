"""Rules for exercises: those of the catalogue, and how they appear in their notebooks."""

import itertools
import re
from collections.abc import Iterator

from attnbook.exercises import Construction, Exercise, MultipleChoice, NumericAnswer
from attncourse.chapter import (
    EXERCISE_TAGS,
    HEADING,
    POINTS,
    SOLUTION,
    ChapterExercise,
    cells_to_answer_in,
    names,
    tags,
)
from attncourse.rules.book import MODEL_ANSWER_BELOW, Notebook

GRADIENTS = "Gradients flow back to "  # the beginning of a property that does not count
FEWEST = 6  # exercises of the catalogue that a chapter has
MOST_ON_PAGE = 6  # exercises on a chapter's own page, beside N.0
PROPERTIES = (1, 2)  # of right answers, besides that gradients flow
READ = "**Read the figure.**"
FEWEST_MISTAKES = 4  # that an exercise knows; a choice has fewer options


def module(notebook: Notebook) -> str:
    """The file of a chapter's exercises, whatever name follows its number."""
    folder = "code/attnbook/exercises"
    found = sorted((notebook.book.root / folder).glob(f"ch{notebook.number:02d}_*.py"))
    name = found[0].name if found else f"ch{notebook.path.stem.replace('-', '_')}.py"
    return f"{folder}/{name}"


def answers(notebook: Notebook) -> str:
    """The file with right and wrong answers to a chapter's exercises."""
    return f"tests/exercises/answers/ch{notebook.number:02d}.py"


def _of_chapter(notebook: Notebook) -> list[Exercise]:
    tasks = notebook.book.exercises.values()
    return [task for task in tasks if task.id.startswith(f"{notebook.number}.")]


def _is_function(task: Exercise) -> bool:
    return not isinstance(task, MultipleChoice | NumericAnswer | Construction)


def has_a_catalogue(notebook: Notebook) -> Iterator[str]:
    """A chapter has one prediction, N.0, and enough to practise; each exercise knows mistakes."""
    tasks = _of_chapter(notebook)
    if len(tasks) < FEWEST:
        yield f"it has {len(tasks)} exercises and needs {FEWEST} or more, such as `Exercise(…)`"
    choices = [task.id for task in tasks if isinstance(task, MultipleChoice) and not task.figure]
    if choices != [f"{notebook.number}.0"]:
        yield (
            f"its predictions are {choices}; a chapter has one, "
            f'`MultipleChoice("{notebook.number}.0", …)`, before the experiment that surprises '
            "most. A choice that asks what a figure shows has `figure=True`"
        )
    for task in tasks:
        yield from (f"exercise {task.id}: {lack}" for lack in _lacks_of_exercise(task))


def _lacks_of_exercise(task: Exercise) -> Iterator[str]:
    fewest = 2 if isinstance(task, MultipleChoice | Construction) else FEWEST_MISTAKES
    if not task.hints:
        yield "it needs a hint or more, `hints=[…]`"
    if len(task.mistakes) < fewest:
        yield (
            f"it knows {len(task.mistakes)} mistakes and needs {fewest} or more. Write wrong "
            'answers that people give, each as a function with `@….mistake("…")`'
        )
    teaching = {p.sentence for p in task.properties if not p.sentence.startswith(GRADIENTS)}
    if _is_function(task) and len(teaching) not in PROPERTIES:
        yield (
            f"it has {len(teaching)} properties and needs one or two, those whose failure teaches "
            "most; for other slips, add an input that shows them"
        )
    for name, explanation in task.explanations.items():
        if not name or explanation.count(". ") < 1:
            yield (
                f"the mistake {name!r} needs two sentences: what was done, then what that causes"
            )


def has_tested_answers(notebook: Notebook) -> Iterator[str]:
    """What learners write or find is tried on answers that no catalogue lists."""
    text = notebook.book.text(answers(notebook))
    tasks = _of_chapter(notebook)
    functions = [task.id for task in tasks if _is_function(task) or isinstance(task, Construction)]
    untried = [id for id in functions if f'"{id}"' not in text]
    lists = [name for name in ("WRONG", "RIGHT") if not re.search(rf"^{name}\b", text, re.M)]
    if lists or untried:
        yield (
            "it must have two lists, `WRONG` and `RIGHT`, with answers to each exercise that are "
            "not in the module: a wrong one that is no mistake of the catalogue, and a right one. "
            f"There is none yet for {', '.join([*lists, *untried])}"
        )


def stand_where_they_are_found(notebook: Notebook) -> Iterator[str]:
    """A chapter and its laboratory number their exercises from N.0 in the order of reading."""
    ids = [id for other in notebook.family for id, _ in other.exercises()]
    for task in _of_chapter(notebook):
        if task.id not in ids:
            yield f"no cell begins with `### Exercise {task.id} ★☆☆ · MINUTES min`"
    for id in sorted({id for id in ids if ids.count(id) > 1}):
        yield f"exercise {id} is in {ids.count(id)} places of the chapter and its laboratory"
    once = [*dict.fromkeys(ids)]
    for k, id in enumerate(once):
        if id != f"{notebook.number}.{k}":
            yield (
                f"exercise {id} must have the number {notebook.number}.{k}: count from 0 in the "
                "order of reading, first on the page and then in the laboratory, without a gap"
            )
            break
    on_page = [id for id, _ in notebook.exercises() if not id.endswith(".0")]
    if len(on_page) > MOST_ON_PAGE:
        yield (
            f"its page has {len(on_page)} exercises beside {notebook.number}.0, and may have "
            f"{MOST_ON_PAGE}: move one to a notebook of its laboratory"
        )


def has_answers_in_words(notebook: Notebook) -> Iterator[str]:
    """The last exercise of a chapter is in words, and so are proofs; both are marked by points."""
    answers = {id: text for other in notebook.family for id, text in other.model_answers.items()}
    proofs = [id for other in notebook.family for id in other.proofs]
    last = [id for id, _ in notebook.exercises()][-1:]
    if [id for id in answers if id not in proofs] != last:
        yield (
            "its last exercise has a model answer, and so have proofs, which begin with "
            f"`**Prove it.** `, but no other exercise has one: {MODEL_ANSWER_BELOW}"
        )
    for id, text in answers.items():
        if not POINTS.search(text):
            yield f"the model answer of {id} must say what gets points, as in (2 points)"


def are_built_alike(notebook: Notebook) -> Iterator[str]:
    """An exercise is its text, a stub that ends with ``check``, and a solution that is folded."""
    for cell in notebook.cells:
        asks = cell.cell_type == "markdown" and cell.source.startswith("### Exercise")
        if asks and not HEADING.match(cell.source):
            yield f"cell {cell.id}: it begins with a line like `### Exercise 3.2 ★★☆ · 10 min`"
    unknown = []
    for id, place in notebook.exercises():
        task = notebook.book.exercises.get(id)
        if not id.startswith(f"{notebook.number}."):
            yield f"exercise {id} does not belong to chapter {notebook.number}"
        elif task is not None:
            yield from (f"exercise {id}: {lack}" for lack in _lacks_of_cells(notebook, task, place))
        elif id not in notebook.model_answers:
            unknown.append(id)
    if unknown:
        yield (
            f"{module(notebook)} does not have {', '.join(unknown)}; an exercise without a check "
            f"has a model answer in its cell, {MODEL_ANSWER_BELOW}"
        )


def _lacks_of_cells(notebook: Notebook, task: Exercise, place: int) -> Iterator[str]:
    below = notebook.cells[place + 1 :]
    found = cells_to_answer_in(notebook.node, place) if below else []
    if [tags(cell) for cell in found] != [["exercise"], ["solution"]]:
        yield (
            "below its text there must be a stub, tagged exercise, and then a text with the "
            "solution, tagged solution"
        )
        return
    stub, solution = found
    written = SOLUTION.fullmatch(solution.source)
    if solution.cell_type != "markdown" or not written or written["id"] != task.id:
        yield (
            "its solution is a text, so that running all cells solves nothing: "
            f"<details>, <summary>Solution {task.id}</summary>, the code between ```python and "
            "```, and </details>, with empty lines around the code"
        )
        return
    last = stub.source.rstrip().split("\n")[-1]
    if not last.startswith(f'check("{task.id}", '):
        yield f'cell {stub.id}: it ends with `check("{task.id}", …)`'
    elif _is_function(task):
        for cell in found:
            handed = ChapterExercise(task.id, 0, 0, "", stub=stub.source).call[1]
            if f"def {handed}(" not in cell.source:
                yield f"cell {cell.id}: it defines the function that the stub hands to check"


def leave_the_readers_names_alone(notebook: Notebook) -> Iterator[str]:
    """No other cell defines or uses what a reader writes: running all cells would overwrite it."""
    known: dict[str, str] = {}  # name: the first cell that has it
    for cell in notebook.code:
        if not EXERCISE_TAGS & {*tags(cell)}:
            for name in itertools.chain(*names(cell.source)):
                known.setdefault(name, cell.id)
    for cell in notebook.tagged("exercise"):
        for name in sorted(names(cell.source)[1]):
            if name in known:
                yield (
                    f"cell {cell.id}: give `{name}` a different name, because the cell "
                    f"{known[name]} has it"
                )
            known[name] = cell.id


def are_not_attempted(notebook: Notebook) -> Iterator[str]:
    """As the notebook was run, check takes a stub as not attempted."""
    for cell in notebook.tagged("exercise"):
        data = [output.get("data", {}) for output in cell.outputs]
        if not any("not attempted." in shown.get("text/plain", "") for shown in data):
            yield f"cell {cell.id}: its check must say 'not attempted.'"


def has_its_choice_in_the_story(notebook: Notebook) -> Iterator[str]:
    """The choice N.0 comes before the experiment that decides it, with the module's options."""
    choice = notebook.book.exercises.get(f"{notebook.number}.0")
    place = dict(notebook.exercises()).get(f"{notebook.number}.0")
    if not isinstance(choice, MultipleChoice) or place is None:
        return  # has_a_catalogue or stand_where_they_are_found says so
    story = "\n\n".join(cell.source for cell in notebook.cells[:place])
    if "\n## " not in story or "## Exercises" in story:
        yield f"exercise {choice.id} is in a section of the story, not among the exercises"
    yield from _letters_that_differ(notebook, choice, place)


def name_the_panels_of_their_figures(notebook: Notebook) -> Iterator[str]:
    """A choice about a figure says so, and has the module's letters; options may be panels."""
    for id, place in notebook.exercises():
        choice = notebook.book.exercises.get(id)
        if isinstance(choice, MultipleChoice) and choice.figure:
            if READ not in notebook.cells[place].source:
                yield f"exercise {id} asks about a figure, so its text begins with {READ}"
            yield from _letters_that_differ(notebook, choice, place)


def _letters_that_differ(notebook: Notebook, choice: MultipleChoice, place: int) -> Iterator[str]:
    """Where the letters of a choice are not those of the module: in its text, stub or solution."""
    found = cells_to_answer_in(notebook.node, place)
    if len(found) < 2:
        return  # are_built_alike says so
    stub, solution = found
    listed = re.findall(r"^- \*\*(.+?)\*\* ", notebook.cells[place].source, re.M)
    for where, expected, letters in (
        ("text", choice.options, listed),
        ("stub", choice.options, re.findall(r'"([A-Z])"', stub.source)),
        ("solution", [choice.reference], re.findall(r'"([A-Z])"', solution.source)),
    ):
        panels = choice.figure and where == "text" and not letters
        if letters != [*expected] and not panels:
            yield f"exercise {choice.id}: its {where} has {letters}, and the module {expected}"
