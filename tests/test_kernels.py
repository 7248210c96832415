"""A kernel that is copied sees what a notebook sees that somebody opens, and nothing else."""

from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

CODE = """
import importlib.util, os, sys
print([importlib.util.find_spec(name) is None for name in ("browser", "kernels", "shared")])
print([path for path in sys.path if "tests" in path.split(os.sep)])
print([name for name in dir() if not name.startswith("_")])
print("attnbook" in sys.modules, importlib.util.find_spec("attnbook") is not None)
"""


def test_a_kernel_sees_no_helper_of_the_tests_and_has_nothing_of_the_package(tmp_path):
    notebook = new_notebook(cells=[new_code_cell(CODE)])
    NotebookClient(notebook, resources={"metadata": {"path": tmp_path}}).execute()
    (said,) = notebook.cells[0].outputs
    hidden, paths, names, package = said.text.splitlines()
    assert hidden == "[True, True, True]" and paths == "[]"
    assert names == "['In', 'Out', 'exit', 'get_ipython', 'importlib', 'open', 'os', 'quit', 'sys']"
    assert package == "False True"
