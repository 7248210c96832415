"""The tables of plans on the page for teachers: what ``plans.toml`` names, with its minutes."""

import textwrap
import tomllib
from datetime import datetime, timedelta
from math import ceil
from pathlib import Path

from nbformat import NotebookNode

from attnbook.exercises import MultipleChoice, catalogue
from attnbook.exercises.renumbered import BEFORE, sentence
from attncourse import UsageError
from attncourse.chapter import exercises_of, in_laboratory, linked_title, number, of_chapters
from attncourse.pages.timing import MINUTES_A_VOTE, predictions, sections

PLANS = "plans.toml"
LEAST_REST = 5  # minutes of a session for what nobody has planned
HOMEWORK = 120  # minutes a week at most
LABORATORY = 15  # minutes for a question of the laboratory, in pairs, after its page is read
SECTIONS = ("to", "without", "only")  # how a plan says which ones


class Plans:
    """The plans in ``plans.toml``, and the notebooks whose sections and exercises they name."""

    def __init__(self, notebooks: dict[Path, NotebookNode]) -> None:
        chapters = of_chapters(notebooks)
        path = next(iter(chapters)).parent / PLANS
        try:
            self.told = tomllib.loads(path.read_text("utf8"))
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"{path}: {error}") from error
        numbered = {number(path): book for path, book in chapters.items()}
        self.sections = {number: sections(book) for number, book in numbered.items()}
        self.predictions = {number: predictions(book) for number, book in numbered.items()}
        self.laboratory = {
            path.stem: linked_title(path, book)
            for path, book in notebooks.items()
            if in_laboratory(path)
        }
        self.to_read = {
            path.stem: round(sum(sections(book).values()))
            for path, book in notebooks.items()
            if in_laboratory(path)
        }
        self.tasks = {task.id: task for book in notebooks.values() for task in exercises_of(book)}
        self.on_pages = {task.id for book in chapters.values() for task in exercises_of(book)}

    def titles(self, entry: dict) -> list[str]:
        """The sections of a chapter that an entry of a plan takes."""
        chapter = entry["chapter"]
        if chapter not in self.sections:
            raise UsageError(f"{PLANS}: there is no chapter {chapter}")
        titles = list(self.sections[chapter])
        named = [title for key in SECTIONS for title in _listed(entry.get(key, []))]
        for title in named:
            if title not in titles:
                raise UsageError(
                    f"{PLANS}: chapter {chapter} has no section {title!r}; it has "
                    f"{', '.join(map(repr, titles))}"
                )
        if "to" in entry:
            return titles[: titles.index(entry["to"]) + 1]
        if "only" in entry:
            return named
        return [title for title in titles if title not in named]

    def reading(self, entry: dict) -> int:
        """Minutes of the sections that an entry takes."""
        titles = self.titles(entry)
        return round(sum(self.sections[entry["chapter"]][title] for title in titles))

    def polling(self, entry: dict) -> int:
        """Minutes of the predictions in them."""
        titles = self.titles(entry)
        asked = self.predictions[entry["chapter"]]
        return MINUTES_A_VOTE * sum(asked.get(title, 0) for title in titles)

    def solving(self, ids: list[str]) -> int:
        """Minutes of exercises."""
        for id in ids:
            if id not in self.tasks:
                now = BEFORE.get(id, {}).get("now")
                more = f". {sentence(id, now)}" if now in self.tasks else ""
                raise UsageError(f"{PLANS}: there is no exercise {id}{more}")
        return sum(self.tasks[id].minutes for id in ids)

    def story(self, entry: dict) -> str:
        """What an entry takes, such as ``3 to "Measure it" (5)``."""
        which = "".join(
            f" {key} " + ", ".join(f'"{title}"' for title in _listed(entry[key]))
            for key in SECTIONS
            if key in entry
        )
        return f"{entry['chapter']}{which} ({self.reading(entry)})"

    def question(self, name: str) -> str:
        """The question of a notebook of the laboratory, with a link."""
        if name not in self.laboratory:
            raise UsageError(
                f"{PLANS}: the laboratory has no {name}; it has {', '.join(self.laboratory)}"
            )
        return self.laboratory[name]

    def in_pairs(self, entry: dict) -> tuple[str, int]:
        """The questions of the laboratory that an entry takes, and their minutes, reading too."""
        names = entry.get("laboratory", [])
        titles = ", ".join(map(self.question, names))
        minutes = sum(self.to_read[name] + LABORATORY for name in names)
        return (f"{titles} ({minutes})" if names else ""), minutes

    def together(self, entry: dict) -> str:
        """The exercises that are solved in class, with their minutes."""
        ids = entry.get("together", [])
        return f"{', '.join(ids)} ({self.solving(ids)})" if ids else ""


def _listed(named: str | list[str]) -> list[str]:
    return [named] if isinstance(named, str) else named


def six_weeks(notebooks: dict[Path, NotebookNode]) -> str:
    """The sessions of a course; what a session leaves over is its rest."""
    return _sessions(Plans(notebooks), "six_weeks")


def three_weeks(notebooks: dict[Path, NotebookNode]) -> str:
    """The sessions of a part of a course."""
    return _sessions(Plans(notebooks), "three_weeks")


def _sessions(plans: Plans, plan: str) -> str:
    length = plans.told[plan]["minutes"]
    rows = []
    for entry in plans.told[plan]["session"]:
        parts = {}
        if "chapter" in entry:
            taken = _taken(entry)
            story, used = ", ".join(map(plans.story, taken)), sum(map(plans.reading, taken))
            parts["polls"] = sum(map(plans.polling, taken))
        else:
            story, used = f"{entry['story']} ({entry['minutes']})", entry["minutes"]
        solving = plans.solving(entry.get("together", []))
        laboratory, in_pairs = plans.in_pairs(entry)
        rest = length - used - parts.get("polls", 0) - solving - in_pairs
        if rest < LEAST_REST:
            raise UsageError(
                f"{PLANS}: session {entry['session']} takes {length - rest} of its {length} "
                f"minutes, but {LEAST_REST} must be left"
            )
        besides = [f"polls {parts['polls']}"] if parts else []
        besides += [f"together {plans.together(entry)}"] if solving else []
        row = entry["session"], story, "; ".join([*besides, f"rest {rest}"]), laboratory
        rows.append((*row, entry["discuss"]))
    header = "Week | Story | Other parts, in minutes | Laboratory, in pairs"
    return table(f"{header} | Poll to discuss, then run live", rows)


def _taken(entry: dict) -> list[dict]:
    """The parts of chapters that a session takes, one for each chapter."""
    return [entry, *entry.get("also", [])] if "chapter" in entry else []


def changes(notebooks: dict[Path, NotebookNode]) -> str:
    """For each question of the laboratory, a line that pairs can change."""
    plans = Plans(notebooks)
    sources = {
        path.stem: [cell.source for cell in book.cells if cell.cell_type == "code"]
        for path, book in notebooks.items()
        if in_laboratory(path)
    }
    rows = []
    for entry in plans.told.get("change", []):
        question = plans.question(name := entry["laboratory"])
        times = sum(source.count(entry["find"]) for source in sources[name])
        if times != 1:
            raise UsageError(f"{PLANS}: {name} has {entry['find']!r} {times} times, not once")
        rows.append((question, f"`{entry['find']}`", f"`{entry['to']}`"))
    return table("Laboratory | Line | Change it to", rows)


def workload(notebooks: dict[Path, NotebookNode]) -> str:
    """Hours in class and at home; of sessions to choose from, those that take the longest."""
    plans = Plans(notebooks)
    rows = []
    for plan, name in (("six_weeks", "Six weeks"), ("three_weeks", "Three weeks")):
        sessions = plans.told[plan]["session"]
        home: dict[str, int] = {}  # by the number of the session, without "(a)"
        weeks: dict[str, int] = {}
        for entry in sessions:
            chapters = {part["chapter"] for part in _taken(entry)}
            minutes = sum(
                plans.solving(row["exercises"]) + _left_out(plans, plan, chapter)
                for row in plans.told["homework"]
                if (chapter := _chapter(row)) in chapters
            )
            number = entry["session"].split()[0]
            home[number] = max(home.get(number, 0), minutes)
        for number, minutes in home.items():
            week = number.split(".")[0]
            weeks[week] = weeks.get(week, 0) + minutes
        hours = len(home) * plans.told[plan]["minutes"] / 60, sum(home.values()) / 60
        in_all = [f"{part:.0f}" for part in (*hours, sum(hours))]
        rows.append((name, len(home), *in_all, max(weeks.values())))
    header = (
        "Plan | Sessions | Hours in class | Hours at home | Together | Most minutes at home a week"
    )
    return table(header, rows)


def _chapter(row: dict) -> int:
    """The chapter of a row of homework."""
    return int(row["exercises"][0].split(".")[0])


def _left_out(plans: Plans, plan: str, chapter: int) -> int:
    """Minutes of the sections of a chapter that no session of a plan has room for."""
    shown: set[str] = set()
    for entry in plans.told[plan]["session"]:
        for part in _taken(entry):
            if part["chapter"] == chapter:
                shown.update(plans.titles(part))
    sections = plans.sections[chapter]
    return round(sum(minutes for title, minutes in sections.items() if title not in shown))


def one_day(notebooks: dict[Path, NotebookNode]) -> str:
    """The parts of one day, each beginning when the one before ends."""
    plans = Plans(notebooks)
    day = plans.told["one_day"]
    now, end = (datetime.strptime(day[key], "%H:%M") for key in ("start", "end"))
    rows = []
    for entry in day["part"]:
        if "chapter" in entry:
            story, polls = plans.story(entry), plans.polling(entry)
            used = plans.reading(entry) + polls + plans.solving(entry.get("together", []))
            minutes = 5 * ceil(used / 5)
        else:
            story, polls, minutes = entry["story"], 0, entry["minutes"]
        rows.append(
            (f"{now:%-H:%M}", story, polls or "", plans.together(entry), minutes),
        )
        now += timedelta(minutes=minutes)
    if now > end:
        raise UsageError(f"{PLANS}: the one day ends at {now:%H:%M}, after {day['end']}")
    return table("Time | Story | Polls | Together | Minutes", rows)


def polls(notebooks: dict[Path, NotebookNode]) -> str:
    """The poll of each chapter, its right answer, and what those believe who choose another."""
    rows = []
    for path, book in notebooks.items():
        here = {task.id for task in exercises_of(book)}
        for choice in catalogue():
            if not isinstance(choice, MultipleChoice) or choice.figure:
                continue
            if choice.id in here:
                wrong = sorted((letter, name) for name, letter in choice.mistakes.items())
                beliefs = " · ".join(f"**{letter}** {name}" for letter, name in wrong)
                link = f"[{choice.title}]({path.name})"
                rows.append((choice.id, link, choice.reference, beliefs))
    return table("Poll | About | Right | Beliefs behind the other answers", rows)


def homework(notebooks: dict[Path, NotebookNode]) -> str:
    """What to assign, and how long the sections take that no session has room for."""
    plans = Plans(notebooks)
    used: list[str] = []
    for plan in ("six_weeks", "three_weeks"):
        used += [id for entry in plans.told[plan]["session"] for id in entry.get("together", [])]
    weeks: dict[int | str, int] = {}
    rows = []
    for entry in plans.told["homework"]:
        ids = entry["exercises"]
        minutes = plans.solving(ids)
        reading = _left_out(plans, "six_weeks", _chapter(entry))
        weeks[entry["week"]] = weeks.get(entry["week"], 0) + minutes + reading
        for id in ids:
            if id in used:
                raise UsageError(f"{PLANS}: exercise {id} is planned twice")
            used.append(id)
            if id not in plans.on_pages:
                raise UsageError(
                    f"{PLANS}: exercise {id} is in the laboratory, whose page takes time, too"
                )
            if not plans.tasks[id].points:
                raise UsageError(f"{PLANS}: exercise {id} has no points, so nobody can be assigned")
        rows.append((entry["week"], ", ".join(ids), minutes, reading or "", entry["why"]))
    for week, minutes in weeks.items():
        if minutes > HOMEWORK:
            raise UsageError(f"{PLANS}: week {week} has {minutes} minutes at home, not {HOMEWORK}")
    return table("Week | Assign | Minutes | Sections to read | Why these exercises", rows)


def homework_command(notebooks: dict[Path, NotebookNode]) -> str:
    """The command that makes all homework."""
    ids = [id for entry in Plans(notebooks).told["homework"] for id in entry["exercises"]]
    lines = textwrap.wrap(" ".join(ids), 70)
    command = "python -m attncourse assignment ../attention-class --only"
    return "\n    ".join(["```bash\n" + command, *lines]).replace("\n    ", " \\\n    ") + "\n```\n"


def seminar(notebooks: dict[Path, NotebookNode]) -> str:
    """A paper for each session, what prepares for it, and what to repeat."""
    plans = Plans(notebooks)
    rows = []
    for i, entry in enumerate(plans.told["seminar"], start=1):
        minutes = sum(plans.reading({"chapter": chapter}) for chapter in entry["chapters"])
        chapters = " and ".join(map(str, entry["chapters"]))
        story = f"chapter{'s' * (len(entry['chapters']) > 1)} {chapters} ({minutes})"
        repeat = f"{plans.question(name := entry['laboratory'])} ({plans.to_read[name]})"
        paper = f"[{entry['paper']}]({entry['link']})"
        rows.append((i, paper, story, repeat, entry["discuss"]))
    return table("Session | Paper | Read before | Read, and repeat in pairs | To discuss", rows)


def self_study(notebooks: dict[Path, NotebookNode]) -> str:
    """Paths for those who learn alone."""
    plans = Plans(notebooks)
    rows = []
    for entry in plans.told["self_study"]:
        minutes = sum(map(plans.reading, entry["read"]))
        plans.solving(entry["exercises"])  # refuses what does not exist
        stories = ", ".join(map(plans.story, entry["read"]))
        rows.append((entry["want"], stories, minutes, ", ".join(entry["exercises"])))
    return table("You want | Read | Minutes | Then exercises", rows)


def table(header: str, rows: list[tuple]) -> str:
    """A table in Markdown."""
    columns = header.count("|") + 1
    lines = [f"| {header} |", "|" + "---|" * columns]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"
