"""Executing a notebook as a learner would, and storing what it shows."""

import base64
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from attnbook.course.chapter import write_notebook
from attnbook.figures import interactive, style


def run(path: Path) -> None:
    """Execute a chapter as a learner would, alone in an empty folder, and store its outputs.

    Raises ``nbclient.exceptions.CellExecutionError`` if a cell fails; the file is then unchanged.
    """
    notebook = nbformat.read(path, as_version=4)
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
    # the version of whoever ran it last is no property of the chapter
    notebook.metadata.language_info = {"name": "python"}
    write_notebook(path, notebook)


def make_small(shown: dict) -> None:
    """Store pictures with fewer colours, and interactive figures without the script.

    The page has the script once for all; in a notebook, running the cell brings it back.
    """
    if "image/png" in shown:
        picture = base64.b64decode(shown["image/png"])
        shown["image/png"] = base64.b64encode(style.with_fewer_colours(picture, 64)).decode()
    if "text/html" in shown:
        shown["text/html"] = interactive.without_script(shown["text/html"])
