"""The tables of plans on the page for teachers: what ``plans.toml`` names, with its minutes."""

import textwrap
import tomllib
from datetime import datetime, timedelta
from math import ceil
from pathlib import Path

from nbformat import NotebookNode

from attnbook.exercises import MultipleChoice, catalogue
from attncourse import UsageError
from attncourse.chapter import exercises_of, in_laboratory, linked_title, number, of_chapters
from attncourse.pages.timing import MINUTES_A_VOTE, predictions, sections

PLANS = "plans.toml"
LEAST_REST = 5  # minutes of a session for what nobody has planned
HOMEWORK = 120  # minutes a week at most
LABORATORY = 20  # minutes for a question of the laboratory, in pairs
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
        self.tasks = {task.id: task for book in notebooks.values() for task in exercises_of(book)}

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
                raise UsageError(f"{PLANS}: there is no exercise {id}")
        return sum(self.tasks[id].minutes for id in ids)

    def story(self, entry: dict) -> str:
        """What an entry takes, such as ``3 to "Measure it" (5)``."""
        which = "".join(
            f" {key} " + ", ".join(f'"{title}"' for title in _listed(entry[key]))
            for key in SECTIONS
            if key in entry
        )
        return f"{entry['chapter']}{which} ({self.reading(entry)})"

    def in_pairs(self, entry: dict) -> tuple[str, int]:
        """The questions of the laboratory that an entry takes, and their minutes."""
        names = entry.get("laboratory", [])
        for name in names:
            if name not in self.laboratory:
                raise UsageError(
                    f"{PLANS}: the laboratory has no {name}; it has {', '.join(self.laboratory)}"
                )
        minutes = LABORATORY * len(names)
        titles = ", ".join(self.laboratory[name] for name in names)
        return (f"{titles} ({minutes})" if names else ""), minutes

    def together(self, entry: dict) -> str:
        """The exercises that are solved in class, with their minutes."""
        ids = entry.get("together", [])
        return f"{', '.join(ids)} ({self.solving(ids)})" if ids else ""


def _listed(named: str | list[str]) -> list[str]:
    return [named] if isinstance(named, str) else named


def six_weeks(notebooks: dict[Path, NotebookNode]) -> str:
    """The sessions of a course; what a session leaves over is its rest."""
    plans = Plans(notebooks)
    length = plans.told["six_weeks"]["minutes"]
    rows = []
    for entry in plans.told["six_weeks"]["session"]:
        parts = {}
        if "chapter" in entry:
            story, used = plans.story(entry), plans.reading(entry)
            parts["polls"] = plans.polling(entry)
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
    shown: dict[int, set[str]] = {}
    used: list[str] = []
    for entry in plans.told["six_weeks"]["session"]:
        used += entry.get("together", [])
        if "chapter" in entry:
            shown.setdefault(entry["chapter"], set()).update(plans.titles(entry))
    weeks: dict[int, int] = {}
    rows = []
    for entry in plans.told["homework"]:
        ids = entry["exercises"]
        minutes = plans.solving(ids)
        chapter = int(ids[0].split(".")[0])
        left_out = plans.sections[chapter].keys() - shown.get(chapter, set())
        reading = round(sum(plans.sections[chapter][title] for title in left_out))
        weeks[entry["week"]] = weeks.get(entry["week"], 0) + minutes + reading
        for id in ids:
            if id in used:
                raise UsageError(f"{PLANS}: exercise {id} is planned twice")
            used.append(id)
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
        repeat, _ = plans.in_pairs({"laboratory": [entry["laboratory"]]})
        paper = f"[{entry['paper']}]({entry['link']})"
        rows.append((i, paper, story, repeat, entry["discuss"]))
    return table("Session | Paper | Read before | Repeat, in pairs | To discuss", rows)


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
