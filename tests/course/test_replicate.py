"""Replicating an experiment: the same rows however it runs, and no finished seed is ever lost."""

import errno
import os
import signal
import subprocess
import sys
import time

import nbformat
import pytest
from conftest import ROOT
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from attnbook.laboratory import columns
from attncourse import UsageError, __main__ as commands, replicate as module
from attncourse.chapter import laboratory, stored_runs
from attncourse.replicate import Runs, experiment, fingerprint, replicate

HELPER = "import random\n\n\ndef draw(seed):\n    return random.Random(seed).random()"
RUN = """\
import time


def experiment(seed):
    print("this is no row")
    time.sleep(seed == 0)  # so that the first seed is not the first to be finished
    return [{"design": d, "right": 100 * draw(f"{d} {seed}")} for d in ("one", 'two, "so"')]
"""


def tagged(source, tag):
    return new_code_cell(source, metadata={"tags": [tag]})


def write(path, run=RUN):
    """A small laboratory notebook, in a repository whose package has no stored runs yet."""
    cells = [
        new_markdown_cell("# Lab 1 · Which?\n\n> **Result.** This."),
        tagged(HELPER, "experiment"),
        new_code_cell("1 / 0  # no part of the experiment"),
        tagged(run, "experiment"),
    ]
    for folder in (path.parent, stored_runs(path).parent):
        folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=cells), path)
    return path


@pytest.fixture
def lab(tmp_path):
    return write(tmp_path / "chapters/lab/01-which.ipynb")


def rows_of(path):
    return Runs.read(stored_runs(path).read_text("utf8")).rows


def test_two_workers_store_what_one_does(lab, tmp_path):
    other = write(tmp_path / "alone/chapters/lab/01-which.ipynb")
    assert replicate(lab, 3, workers=2) == replicate(other, 3, workers=1) == 3
    text = stored_runs(lab).read_text("utf8")
    assert text == stored_runs(other).read_text("utf8")
    code = experiment(nbformat.read(lab, 4))
    assert text.startswith(f"# experiment {fingerprint(code)}\n# python 3.")
    assert "\n# torch 2." in text and "\n# attnbook " in text and "/ 0" not in code
    runs = columns(text)
    assert runs["seed"].tolist() == [0, 0, 1, 1, 2, 2]
    assert runs["design"].tolist() == ["one", 'two, "so"'] * 3
    names = {}
    exec(code, names)
    assert runs["right"][3] == pytest.approx(100 * names["draw"]('two, "so" 1'), rel=1e-4)


def test_after_a_kill_it_goes_on_where_it_was(lab):
    # seed 2 waits for a file, so that the command can be killed when two seeds are finished
    gate = lab.with_name("gate")
    wait = f"""\
import pathlib, time
def experiment(seed):
    while seed == 2 and not pathlib.Path({str(gate)!r}).exists():
        time.sleep(0.05)
    with open({str(gate)!r} + ".log", "a") as file:
        file.write(f"{{seed}} ")
    return {{"right": seed / 2}}
"""
    write(lab, wait)
    start = f"from pathlib import Path; from attncourse.replicate import replicate; \
replicate(Path({str(lab)!r}), 4, workers=1)"
    process = subprocess.Popen([sys.executable, "-c", start], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (stored_runs(lab).exists() and len(rows_of(lab)) == 2):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert sorted(rows_of(lab)) == [0, 1]
    gate.touch()
    assert replicate(lab, 4, workers=1) == 2
    assert sorted(rows_of(lab)) == [0, 1, 2, 3]
    log = lab.with_name("gate.log").read_text()
    assert log.count("0") == log.count("1") == 1
    assert replicate(lab, 4) == 0  # nothing is left to do


def test_a_seed_that_fails_is_named_and_the_others_are_kept(tmp_path, monkeypatch, root):
    lab = tmp_path / "chapters/lab/01-which.ipynb"
    run = """\
def experiment(seed):
    if seed == 1:
        raise ArithmeticError("no such number")
    if seed == 2:
        import os

        os._exit(3)
    return {"right": seed}
"""
    write(lab, run)
    (tmp_path / "_config.yml").write_text("")
    (tmp_path / "_toc.yml").write_text("root: x\nchapters:\n  - file: chapters/lab/01-which\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        commands.main(["replicate", "lab/01-which", "--seeds", "4", "--workers", "2"])
    says = str(stopped.value)  # as text it is printed, and the command exits with 1
    assert "seed 1 failed: ArithmeticError: no such number (line 10: raise Arith" in says
    assert "seed 2 failed: its process ended with 3" in says
    assert "2 other seeds are in code/attnbook/stored_runs/01-which.csv" in says
    assert sorted(rows_of(lab)) == [0, 3]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("[]", "returned no row"),
        ('[{"a": 1}, {"b": 1}]', r"columns \['b'\]"),
        ('{"seed": 1}', r"columns \['seed'\]"),
        ('{"a": None}', "TypeError"),
    ],
)
def test_what_no_table_can_have_is_refused(lab, value, says):
    write(lab, f"def experiment(seed):\n    return {value}")
    with pytest.raises(UsageError, match=says):
        replicate(lab, 1)
    assert not stored_runs(lab).exists()


def test_a_full_disk_is_one_sentence_and_keeps_what_was_finished(lab, monkeypatch):
    replicate(lab, 1)

    def full(path, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "atomic_write", full)
    with pytest.raises(UsageError, match=r"No space left on device: .*01-which\.csv; 1 seeds are"):
        replicate(lab, 2)
    monkeypatch.undo()
    assert sorted(rows_of(lab)) == [0]
    assert replicate(lab, 2) == 1


def test_rows_of_changed_code_are_not_mixed_with_older_ones(lab):
    replicate(lab, 1)
    before = rows_of(lab)
    write(lab, RUN.replace("100 *", "1000 *"))
    with pytest.raises(UsageError, match=r"01-which\.csv was made by experiment \w+, .*--again"):
        replicate(lab, 2)
    assert rows_of(lab) == before
    assert replicate(lab, 2, again=True) == 2
    assert float(rows_of(lab)[0][0]["right"]) > 100


def test_a_notebook_without_an_experiment_is_refused(tmp_path):
    path = tmp_path / "01-a.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(RUN)]), path)
    with pytest.raises(UsageError, match=r"01-a\.ipynb needs a cell with the tag experiment"):
        replicate(path, 1)


def test_every_file_of_stored_runs_belongs_to_a_notebook_and_would_be_written_so_again():
    folder = ROOT / "code/attnbook/stored_runs"
    files = {*folder.glob("*.csv")}
    assert files == {stored_runs(path) for path in laboratory(ROOT)}
    unseen = {*(folder / "unseen").glob("*")}
    assert {file.name for file in unseen} <= {file.name for file in files}
    assert {*folder.glob("*")} == {*files, folder / "unseen"}
    for text in (file.read_text("utf8") for file in files | unseen):
        assert Runs.read(text).text() == text
