"""Run the experiment of a laboratory notebook for one seed: a program of its own.

It reads the code and the seed from its standard input, as JSON, and writes the rows to its standard
output. A process for each seed costs a second, keeps one run from changing another, and a crash
concerns one seed alone.
"""

import contextlib
import json
import linecache
import sys
import traceback

from attnbook.laboratory import as_stored

NAME = "<experiment>"


def rows_of(code: str, seed: int) -> list[dict[str, str]]:
    """What ``experiment(seed)`` returns, a row or several, as text."""
    linecache.cache[NAME] = len(code), None, code.splitlines(keepends=True), NAME
    names = {"__name__": "__main__"}
    exec(compile(code, NAME, "exec"), names)
    rows = names["experiment"](seed)
    rows = [rows] if isinstance(rows, dict) else list(rows)
    rows = [{name: as_stored(value) for name, value in row.items()} for row in rows]
    _refuse_what_no_table_can_have(rows)
    return rows


def _refuse_what_no_table_can_have(rows: list[dict[str, str]]) -> None:
    if not rows:
        raise ValueError("experiment returned no row")
    for row in rows:
        if [*row] != [*rows[0]] or "seed" in row:
            raise ValueError(f"a row has the columns {[*row]}, the first one {[*rows[0]]}")
        for cell in (*row, *row.values()):
            if any(mark in cell for mark in ',"\n'):
                raise ValueError(f"neither a comma nor a quotation mark may stand in {cell!r}")


def said(error: Exception) -> str:
    """An error in one line, with the line of the experiment where it happened."""
    what = "".join(traceback.format_exception_only(error)).strip()
    lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == NAME]
    place = f" (line {lines[-1].lineno}: {lines[-1].line})" if lines else ""
    return f"{what}{place}"


def main() -> None:
    """Answer with the rows, or with what went wrong."""
    task = json.load(sys.stdin)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            answer = {"rows": rows_of(task["code"], task["seed"])}
    except Exception as error:
        answer = {"error": said(error)}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
