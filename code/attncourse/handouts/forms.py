"""Two parallel forms that measure a class before and after the course, and an exam with its key."""

import random
import re
import tomllib
from pathlib import Path

FORMS = "chapters/forms.toml"
LETTERS = "ABCD"
NO_IDEA = "I don't know."  # so that nobody has to guess


def read(root: Path) -> dict[str, list[dict]]:
    """The pairs of questions and the questions of the exam, as ``forms.toml`` has them."""
    return tomllib.loads((root / FORMS).read_text("utf8"))


def shown(pairs: list[dict], name: str) -> list[list[tuple[str, bool]]]:
    """The options of each question and whether they are right, in an order that looks random.

    Each letter is right about equally often.
    """
    order = random.Random(name)
    places = [i % len(LETTERS) for i in range(len(pairs))]
    order.shuffle(places)
    found = []
    for place, pair in zip(places, pairs, strict=True):
        right, *wrong = pair[name]["options"]
        order.shuffle(wrong)
        options = [(text, False) for text in wrong]
        options.insert(place, (right, True))
        found.append(options)
    return found


def form(pairs: list[dict], name: str) -> str:
    """Form a or b on paper, in Markdown."""
    lines = [f"# What do you know about attention? Form {name.upper()}\n"]
    lines.append("Each question has one right answer. If you have no idea, choose E.\n")
    asked = zip(pairs, shown(pairs, name), strict=True)
    for number, (pair, options) in enumerate(asked, start=1):
        lines.append(f"**{number}.** {pair[name]['ask']}\n")
        lettered = zip(LETTERS, options, strict=True)
        lines += [f"- **{letter}** {text}" for letter, (text, _) in lettered]
        lines.append(f"- **E** {NO_IDEA}")
        lines.append("")
    return "\n".join(lines)


def key(pairs: list[dict]) -> str:
    """The right letters of both forms, and what each pair is about."""
    lines = ["| | About | Chapter | Form A | Form B |", "|---|---|---|---|---|"]
    letters = [
        [LETTERS[[right for _, right in options].index(True)] for options in shown(pairs, name)]
        for name in "ab"
    ]
    for number, (pair, *right) in enumerate(zip(pairs, *letters, strict=True), start=1):
        lines.append(f"| {number} | {pair['about']} | {pair['chapter']} | {' | '.join(right)} |")
    return "# The right answers\n\n" + "\n".join(lines) + "\n"


def gift(pairs: list[dict], name: str) -> str:
    """Form a or b for import into Moodle, in its format GIFT; Moodle shuffles the options."""
    questions = []
    for number, pair in enumerate(pairs, start=1):
        options = (
            ("=" if i == 0 else "~") + _escaped(text)
            for i, text in enumerate(pair[name]["options"])
        )
        told = "\n".join(f"    {option}" for option in [*options, "~" + NO_IDEA])
        title = f"{number:02d} {name.upper()} {pair['about']}"
        questions.append(
            f"::{_escaped(title)}::[markdown]{_escaped(pair[name]['ask'])} {{\n{told}\n}}\n"
        )
    return "\n".join(questions)


def _escaped(text: str) -> str:
    return re.sub(r"([~=#{}:\\])", r"\\\1", text)


def exam(questions: list[dict], *, with_key: bool) -> str:
    """The exam in Markdown, for students or with the answers that get points."""
    total = sum(question["points"] for question in questions)
    lines = [f"# Exam: attention{', with its key' if with_key else ''}\n", f"{total} points.\n"]
    for number, question in enumerate(questions, start=1):
        points = f"{question['points']} point{'s' if question['points'] > 1 else ''}"
        lines.append(f"**{number}.** {question['ask']} *({points})*\n")
        if with_key:
            lines.append(f"> {question['key']} (Chapter {question['chapter']})\n")
    return "\n".join(lines)


def files(root: Path) -> dict[str, str]:
    """All of it, by file name."""
    told = read(root)
    pairs = told["pair"]
    return {
        "form-a.md": form(pairs, "a"),
        "form-b.md": form(pairs, "b"),
        "form-a.gift.txt": gift(pairs, "a"),
        "form-b.gift.txt": gift(pairs, "b"),
        "forms-key.md": key(pairs),
        "exam.md": exam(told["exam"], with_key=False),
        "exam-key.md": exam(told["exam"], with_key=True),
    }
