"""The result of a prediction, folded under a switch: *Run all* must not give it away.

The book's pages veil results by themselves, and the book stores results open. So a result is
folded only where a person reads: JupyterLab and VS Code send the id of the cell that they run, and
commands that run whole notebooks send none.
"""

import base64
import html
import re
import sys

FIRST_LINE = "# answer"  # of a cell that shows what readers were asked to predict
_MAGIC = "behind_a_switch"
_FOLD = (
    '<details class="attnbook-result"><summary style="cursor:pointer;padding:.4em 0">'
    "Predict first, then open the result</summary>{}</details>"
)


def fold_results() -> None:
    """From now on, fold the output of each cell that begins with ``# answer`` under a switch."""
    if "IPython" not in sys.modules:
        return
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None and _as_magic not in shell.input_transformers_cleanup:
        shell.register_magic_function(_behind_a_switch, "cell", _MAGIC)
        shell.input_transformers_cleanup.append(_as_magic)


def _as_magic(lines: list[str]) -> list[str]:
    """The lines of a cell; its first one becomes a magic command if a reader runs an answer."""
    if lines and lines[0].strip() == FIRST_LINE and _is_read():
        return [f"%%{_MAGIC}\n", *lines[1:]]
    return lines


def _is_read() -> bool:
    """Whether a person runs this cell, in a notebook, and not a command."""
    from IPython import get_ipython

    asked = getattr(get_ipython(), "get_parent", dict)()
    return "google.colab" in sys.modules or "cellId" in asked.get("metadata", {})


def _behind_a_switch(_: str, cell: str) -> None:
    """Run a cell, and show what it prints, draws and returns behind a switch."""
    from IPython import get_ipython
    from IPython.display import display
    from IPython.utils.capture import capture_output

    with capture_output(stderr=False) as shown:
        result = get_ipython().run_cell(cell)
    all_data = [{"text/plain": shown.stdout}] if shown.stdout else []
    all_data += [output.data for output in shown.outputs]
    if all_data:
        folded = _FOLD.format("".join(map(_as_html, all_data)))
        plain = "\n".join(data.get("text/plain", "") for data in all_data)
        display({"text/html": folded, "text/plain": plain}, raw=True)
    result.raise_error()


def _as_html(data: dict) -> str:
    """What a notebook would show of an output, as HTML."""
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            return data[kind]
    if "image/png" in data:
        picture = data["image/png"]
        text = base64.b64encode(picture).decode() if isinstance(picture, bytes) else picture
        return f'<img alt="The result" src="data:image/png;base64,{text}">'
    table = data.get("text/markdown", "")
    return _table(table) if table.startswith("| ") else _preformatted(data.get("text/plain", ""))


def _preformatted(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def _table(markdown: str) -> str:
    """A table of ``figures.table`` as HTML."""
    header, rule, *rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in markdown.split("\n")
    ]
    sides = ["right" if dashes.endswith(":") else "left" for dashes in rule]

    def line(cells: list[str], tag: str) -> str:
        texts = (html.escape(cell.replace(r"\|", "|")) for cell in cells)
        texts = (re.sub(r"`(.+?)`", r"<code>\1</code>", text) for text in texts)
        pairs = zip(sides, texts, strict=True)
        return "".join(f'<{tag} style="text-align:{side}">{text}</{tag}>' for side, text in pairs)

    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    return f"<table><thead><tr>{line(header, 'th')}</tr></thead><tbody>{body}</tbody></table>"
