"""The arguments of commands: what each is, and how ``argparse`` takes it from a signature."""

import argparse
import inspect

HELP = {  # of arguments; what follows * in a function is an option of its command
    "notebook": "such as 12, 12-memory or lab/12-why",
    "chapter": "chapters, such as 3 or 03-scaling or chapters/03-scaling.ipynb, and laboratory "
    "notebooks, such as lab/02-values; by default all",
    "seeds": "number of seeds; by default 20, or 3 that nobody has looked at",
    "workers": "number of seeds that run at the same time; by default one for each core",
    "again": "drop stored runs of different code or versions",
    "question": 'such as "why divide by the root?"',
    "measure": "instead, how often the best section is of the right chapter, for the questions of "
    "a file such as chapters/questions.toml",
    "url": "https://github.com/OWNER/REPOSITORY",
    "folder": "where to write",
    "only": "what to assign, such as 3.2 3.9, or 5 for all of chapter 5; by default all",
    "assignment": "its name, such as 03-scaling",
    "archive": "the zip archive from Moodle or Canvas, or its unpacked folder",
    "processes": "number of submissions that run at the same time; by default one for each core",
    "minutes": "minutes after which a submission is stopped; by default 20",
    "before": "the CSV file with the answers before the course, from Moodle or of your own",
    "after": "the same after the course",
    "table": "the CSV file from Moodle (grading worksheet) or Canvas (gradebook) to fill in",
    "column": "name of the column of marks, if it is neither Grade nor the assignment's",
}


def add_argument(command: argparse.ArgumentParser, argument: inspect.Parameter) -> None:
    """Let a command take an argument of its function."""
    option, several = argument.kind is argument.KEYWORD_ONLY, argument.annotation == list[str]
    name, about = ("--" if option else "") + argument.name, {"help": HELP[argument.name]}
    if argument.default is not argument.empty:
        about["default"] = argument.default
    if argument.annotation is bool:
        command.add_argument(name, action="store_true", **about)
        return
    if several:
        about["nargs"] = "+" if option else "*"
    elif "default" in about and not option:
        about["nargs"] = "?"
    command.add_argument(name, type=str if several else argument.annotation, **about)
