"""Executing a notebook as a learner would, and storing what it shows."""

import ast
import base64
import hashlib
import re
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from attnbook.figures import interactive, style
from attnbook.laboratory import read_runs
from attncourse import UsageError
from attncourse.chapter import EXERCISE_TAGS, tags, write_notebook
from attncourse.chromium import new_page

SVG, PNG = "image/svg+xml", "image/png"
TO_FOLD = {"hide-input", "setup"}  # tags of cells whose code waits behind a switch
KINDS = "prediction", "answer", "check", "drawing", "table", "output", "imports", "code"
HASH = "source_hash"  # in the metadata of an output that has a picture


def run(path: Path) -> None:
    """Execute a chapter as a learner would, alone in an empty folder, and store its outputs.

    Raises ``nbclient.exceptions.CellExecutionError`` if a cell fails, and ``UsageError`` if
    somebody has edited the file meanwhile; the file is then unchanged.
    """
    before = path.read_bytes()
    notebook = nbformat.reads(before.decode(), as_version=4)
    known = {shown[SVG]: shown[PNG] for shown in _drawings(notebook) if PNG in shown}
    with tempfile.TemporaryDirectory() as empty_folder:
        NotebookClient(
            notebook,
            timeout=600,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": empty_folder}},
        ).execute()
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            make_small(output.get("data", {}))
    add_pictures(notebook, known)
    hash_sources(notebook)
    fold(notebook)
    # the version of whoever ran it last is not a property of the chapter
    notebook.metadata.language_info = {"name": "python"}
    if path.read_bytes() != before:
        raise UsageError(
            f"{path} was edited while it ran, so its outputs are not stored: run it again"
        )
    write_notebook(path, notebook)


def fold(notebook: NotebookNode) -> None:
    """Let JupyterLab and Colab hide the code that the page hides, each by its own metadata.

    JupyterLab then shows the first line, so this is a comment that says what is hidden. It also
    hides the result of a prediction until the cell is run; ``predict_results`` says what then.
    """
    for cell in notebook.cells:
        if TO_FOLD & {*tags(cell)}:
            cell.metadata.update(jupyter=hidden(cell), cellView="form")
            cell.source = labelled(cell)


def hidden(cell: NotebookNode) -> dict[str, bool]:
    """What JupyterLab hides of a folded cell, as its metadata say it."""
    result = {"outputs_hidden": True} if "answer" in tags(cell) else {}
    return {"source_hidden": True} | result


def labelled(cell: NotebookNode) -> str:
    """The code of a folded cell below a comment of one word that says what it is."""
    if {"setup", "experiment"} & {*tags(cell)}:  # one has its label, the other has stored runs
        return cell.source
    code = re.sub(rf"\A# ({'|'.join(KINDS)})\n", "", cell.source)
    return f"# {_kind(cell, code)}\n{code}"


def _kind(cell: NotebookNode, code: str) -> str:
    for tag, kind in (("predict", "prediction"), ("answer", "answer"), ("verify", "check")):
        if tag in tags(cell):
            return kind
    shown = {kind for output in cell.outputs for kind in output.get("data", {"text": ""})}
    if {PNG, SVG, "text/html"} & shown:
        return "drawing"
    if shown:
        return "table" if "text/markdown" in shown else "output"
    return "imports" if code.startswith(("import ", "from ")) else "code"


def make_small(shown: dict) -> None:
    """Store pictures with fewer colours, and interactive figures without the script.

    The page has the script once for all; in a notebook, running the cell brings it back.
    """
    if "image/png" in shown:
        picture = base64.b64decode(shown["image/png"])
        shown["image/png"] = base64.b64encode(style.with_fewer_colours(picture, 64)).decode()
    if "text/html" in shown:
        shown["text/html"] = interactive.without_script(shown["text/html"])


def hash_sources(notebook: NotebookNode) -> None:
    """Store beside each picture a hash of the code that made it: no test compares pictures."""
    for _, output, current in pictures(notebook):
        output.metadata[HASH] = current


def pictures(notebook: NotebookNode) -> Iterator[tuple[NotebookNode, NotebookNode, str]]:
    """Yield each output with a picture or an interactive figure, after its cell, and before the
    hash of the code that makes it now.

    A picture can depend on every cell above. So the hash covers the code of its own cell, the code
    above except the setup and exercises, and the stored runs that this code reads.
    Comments and layout do not change the hash. It does not cover the packages. So if you change how
    ``attnbook`` draws, run all notebooks again.
    """
    above = hashlib.sha256()
    for cell in notebook.cells:
        if cell.cell_type != "code" or "setup" in tags(cell):
            continue
        own = above.copy()
        own.update(_without_layout(ast.parse(cell.source)).encode())
        for name in re.findall(r'read_runs\("(.+?)"\)', cell.source):
            runs = {column: cells.tolist() for column, cells in read_runs(name).items()}
            own.update(repr(runs).encode())
        for output in cell.outputs:
            shown = output.get("data", {})
            if PNG in shown or "<attnbook-" in shown.get("text/html", ""):
                yield cell, output, own.hexdigest()[:16]
        if not EXERCISE_TAGS & {*tags(cell)}:
            above = own


def _without_layout(node: object) -> str:
    """Code as a text that is the same for every layout and, unlike ``ast.dump``, every Python."""
    if isinstance(node, list):
        return f"[{','.join(map(_without_layout, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [(name, value) for name, value in ast.iter_fields(node) if value not in (None, [])]
    parts = [f"{name}={_without_layout(value)}" for name, value in fields]
    return f"{type(node).__name__}({','.join(parts)})"


def add_pictures(notebook: NotebookNode, known: dict[str, str]) -> None:
    """Store each drawing as a PNG, too: JupyterLab shows no SVG of a notebook it doesn't trust.

    ``known`` has PNGs, in base64, by their SVG. Raises ``UsageError`` if a new one is needed and
    there is no Chromium to draw it.
    """
    for shown in _drawings(notebook):
        if shown[SVG] in known:
            shown[PNG] = known[shown[SVG]]
    new = [shown for shown in _drawings(notebook) if PNG not in shown]
    if not new:
        return
    with new_page(f"store {len(new)} drawings as pictures", device_scale_factor=1.5) as page:
        for shown in new:
            page.set_content(
                f"<style>{_font()}</style><body style='background: white'>{shown[SVG]}"
            )
            page.evaluate("document.fonts.ready")
            picture = page.locator("svg").first.screenshot()
            shown[PNG] = base64.b64encode(style.with_fewer_colours(picture, 128)).decode()


def _font() -> str:
    """The letters of the book's figures, as a rule of a style sheet."""
    rules = []
    for weight, file in ((400, "Regular"), (700, "Bold")):
        path = resources.files("attnbook").joinpath(f"figures/fonts/{style.FONT}-{file}.ttf")
        font = base64.b64encode(path.read_bytes()).decode()
        rules.append(
            f"@font-face {{ font-family: {style.FONT}; font-weight: {weight}; "
            f"src: url(data:font/ttf;base64,{font}) }}"
        )
    return " ".join(rules)


def _drawings(notebook: NotebookNode) -> Iterator[dict]:
    """What each output shows that has an SVG, by its kind."""
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if SVG in output.get("data", {}):
                yield output["data"]
