"""A kernel that is a fork behaves like one that Jupyter starts."""

import sys
from pathlib import Path
from types import SimpleNamespace

import kernels
import nbval.kernel
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernels are forks only on Linux")
ASKED = """
import os, subprocess, sys
print(os.getppid(), os.getcwd(), os.environ["A_VARIABLE"], sep="\\n")
print("torch" in sys.modules, "torch" in globals(), *sys.path)
print(subprocess.run(["false"]).returncode)
import matplotlib, torch
print(torch.get_default_dtype(), matplotlib.get_backend())
torch.set_default_dtype(torch.float64)
"""


@pytest.mark.parametrize("value", ["first", "second"])
def test_a_kernel_has_its_folder_and_variables_and_nothing_of_another(value, tmp_path, monkeypatch):
    monkeypatch.setenv("A_VARIABLE", value)
    notebook = new_notebook(cells=[new_code_cell(ASKED)])
    NotebookClient(notebook, resources={"metadata": {"path": tmp_path}}, timeout=60).execute()
    parent, folder, variable, names, failed, last = notebook.cells[0].outputs[0].text.splitlines()
    assert int(parent) == kernels._parent().pid
    assert (Path(folder), variable, failed) == (tmp_path, value, "1")
    assert names.startswith("True False") and str(Path(__file__).parent) not in names.split()
    assert last == "torch.float32 module://matplotlib_inline.backend_inline"


def test_a_variable_that_python_reads_at_its_start_is_heeded(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "3")
    notebook = new_notebook(
        cells=[new_code_cell("import sys; print(sys.flags.hash_randomization)")]
    )
    NotebookClient(notebook, timeout=60).execute()
    assert notebook.cells[0].outputs[0].text == "1\n"


def test_a_kept_model_is_given_once_and_only_as_it_was_loaded():
    asked = []

    def load(name, **options):
        asked.append((name, options))
        return object(), object()

    package = SimpleNamespace(load=load)
    kernels._keep_models(package, ["known"])
    as_kept, elsewhere = {"device": "cpu", "progress": False}, {"device": "cuda"}
    assert asked == [("known", as_kept)]
    package.load("known", **elsewhere)
    first, second = package.load("known", **as_kept), package.load("known", **as_kept)
    assert first != second and asked[1:] == [("known", elsewhere), ("known", as_kept)]


@pytest.mark.parametrize("failures", [1, 2])
def test_a_kernel_that_does_not_answer_gets_one_successor(failures, monkeypatch):
    asked = []

    def start(*, kernel_name):
        asked.append(kernel_name)
        if len(asked) <= failures:
            raise RuntimeError("Kernel didn't respond in 60 seconds")
        return "manager", "client"

    monkeypatch.setattr(kernels, "start_and_wait", start)
    if failures == 1:
        assert nbval.kernel.start_new_kernel(kernel_name="python3") == ("manager", "client")
    else:
        with pytest.raises(RuntimeError, match="60 seconds"):
            nbval.kernel.start_new_kernel(kernel_name="python3")
    assert asked == ["python3"] * 2
