"""The command ``python -m attnbook.train``, in one process and in two."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from attnbook import train as command
from attnbook.data import Multi30k
from attnbook.training.checkpoint import saved_tensors
from attnbook.translator import Translator
from model.two_processes import learn


def read_state(folder):
    return json.loads((folder / "state.json").read_text("utf8"))


TINY = "--d-model 16 --num-heads 2 --num-layers 1 --d-ff 32 --device cpu"
SMALL = f"{TINY} --task numbers --below 200 --batch 12 --warmup 5 --evaluate-every 1000".split()
TWO_PROCESSES = (
    "-m torch.distributed.run --nproc-per-node=2 --rdzv-backend=c10d "
    "--rdzv-endpoint=127.0.0.1:0 --local-addr=127.0.0.1"
)


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory):
    """The folder where two processes have trained together, and what they printed."""
    folder = tmp_path_factory.mktemp("two")
    script = Path(__file__).with_name("two_processes.py")
    arguments = [script, folder / "script", *SMALL, "--steps", "9", "--folder", folder / "command"]
    result = subprocess.run(
        [sys.executable, *TWO_PROCESSES.split(), *map(str, arguments)],
        env=os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


def test_two_processes_reach_the_parameters_of_one(two_processes, tmp_path):
    learn(tmp_path)
    folders = tmp_path, two_processes[0] / "script"
    one, two = (load_file(folder / "step-30.safetensors") for folder in folders)
    torch.testing.assert_close(two, one, rtol=1e-9, atol=1e-9)
    losses, losses_of_two = (read_state(folder)["losses"] for folder in folders)
    assert losses_of_two == pytest.approx(losses)
    assert losses[-1] < 0.7 * losses[0]


def test_two_processes_refuse_different_folders(two_processes):
    for rank in (0, 1):
        said = (two_processes[0] / f"said-{rank}.txt").read_text()
        assert "different training runs" in said and "[30, 0] steps" in said


def test_the_command_runs_in_two_processes(two_processes, tmp_path, capsys):
    folder, printed = two_processes
    command.main([*SMALL, "--steps", "9", "--folder", str(tmp_path)])
    assert printed.count("parameters, on cpu") == 1
    assert printed.count("→") == capsys.readouterr().out.count("→") == 5
    losses = read_state(folder / "command")["losses"]
    assert losses == pytest.approx(read_state(tmp_path)["losses"], rel=1e-3)
    Translator.load(folder / "command")


def small_command(tmp_path, *more):
    return [*SMALL, "--steps", "2", "--folder", str(tmp_path / "run"), *more]


def test_the_command_started_again_gives_the_same_translator(tmp_path, capsys):
    command.main(small_command(tmp_path, "--steps", "3"))
    printed = capsys.readouterr().out
    assert "parameters, on cpu" in printed and "step 3  exact 0" in printed
    assert printed.count("→") == 5
    assert Translator.load(tmp_path / "run").options["d_model"] == 16
    # more steps go on; another setting does not
    command.main(small_command(tmp_path, "--steps", "5"))
    command.main(small_command(tmp_path / "straight", "--steps", "5"))
    folders = tmp_path / "run", tmp_path / "straight/run"
    weights, straight = ((folder / "model.safetensors").read_bytes() for folder in folders)
    assert weights == straight
    assert read_state(folders[0])["losses"] == read_state(folders[1])["losses"]
    with pytest.raises(SystemExit):
        command.main(small_command(tmp_path, "--clip", "9"))
    assert "clip=1.0 there, 9.0 now" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--norm", "middle"], "middle"),
        (["--vocabulary", "50"], "numbers has no setting vocabulary"),
        (["--steps", "0"], "steps must be at least 1: got 0"),
        (["--average", "0"], "average must be at least 1: got 0"),
        (["--threads", "0"], "threads must be at least 1: got 0"),
        (["--clip", "0"], "clip must be above 0: got 0.0"),
        (["--label-smoothing", "2"], "label_smoothing must lie between 0 and 1: got 2.0"),
        (["--evaluate-every", "0"], "evaluate_every must be at least 1: got 0"),
        (["--longest", "0"], "longest=0"),
        (["--device", "gpu"], "got gpu"),
        pytest.param(
            ["--device", "cuda"],
            "no GPU",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
        (["--num-heads", "3"], "num_heads=3"),
    ],
)
def test_the_command_names_what_is_wrong(tmp_path, capsys, arguments, says):
    with pytest.raises(SystemExit):
        command.main(small_command(tmp_path, *arguments))
    assert says in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("happens", "code", "says"),
    [
        (OSError(28, "No space left on device", "run/state.json"), 1, "'run/state.json'"),
        (KeyboardInterrupt(), 130, "the same command continues"),
        (ValueError("shapes do not match"), None, ""),  # no error in the options
    ],
)
def test_what_stops_a_training_is_named(tmp_path, capsys, monkeypatch, happens, code, says):
    def stop(*_, **__):
        raise happens

    monkeypatch.setattr(command, "train", stop)
    with pytest.raises((SystemExit, ValueError)) as stopped:
        command.main(small_command(tmp_path))
    assert getattr(stopped.value, "code", None) == code
    assert says in capsys.readouterr().err


def test_the_commands_help_names_every_setting(capsys):
    with pytest.raises(SystemExit):
        command.main(["--help"])
    printed = capsys.readouterr().out
    for name in command.SETTINGS:
        assert f"--{name.replace('_', '-')} " in printed
    assert "numbers: 0.003, multi30k: 0.0035" in " ".join(printed.split()) and "torchrun" in printed


def test_the_command_trains_on_sentences_with_one_vocabulary(tmp_path, capsys, monkeypatch):
    sentences = [
        (f"A {a} sees {n} {b}s.", f"Ein {a} sieht {n} {b}s.")
        for a in ("dog", "cat", "man")
        for b in ("bird", "horse")
        for n in ("two", "six")
    ]
    monkeypatch.setattr(Multi30k, "texts", lambda *_: sentences)
    folder = tmp_path / "run"
    small = f"{TINY} --task multi30k --vocabulary 60 --batch 100 --steps 4 "
    small += f"--save-every 1 --average 3 --evaluate-every 2 --folder {folder}"
    command.main(small.split())
    printed = capsys.readouterr().out
    assert "perplexity" in printed and "a dog sees two birds." in printed
    assert "the mean of the last checkpoints: perplexity" in printed
    assert len(saved_tensors(folder)) == 3
    curve = json.loads((folder / "curve.json").read_text("utf8"))
    losses = read_state(folder)["losses"]
    assert [point["step"] for point in curve] == [2, 4]
    assert curve[1]["loss"] == pytest.approx(sum(losses[2:]) / 2, abs=1e-4)
    translator = Translator.load(folder)
    weight = translator.model.output.weight
    assert weight is translator.model.source_embedding.token.weight and weight.shape == (60, 16)
    assert len(translator.translate(["A man sees six dogs."])) == 1
