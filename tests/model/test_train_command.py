"""The command ``python -m attnbook.train``, in one process and in two."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from attnbook import train as command
from attnbook.data import Multi30k
from attnbook.training.checkpoint import saved_tensors
from attnbook.translator import Translator
from model.two_processes import learn


def environment(**more):
    """One thread each, and no network but loopback."""
    return os.environ | {
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "ATTNBOOK_MULTI30K": "/nowhere",
        **more,
    }


def options(text):
    return text.split()


SMALL = options(
    "--task numbers --below 200 --d-model 16 --num-heads 2 --num-layers 1 "
    "--d-ff 32 --batch 12 --warmup 5 --device cpu --evaluate-every 1000"
)
TWO_PROCESSES = options(
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
        [sys.executable, *TWO_PROCESSES, *map(str, arguments)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert result.returncode == 0, result.stderr
    return folder, result.stdout


def test_two_processes_reach_the_parameters_of_one(two_processes, tmp_path):
    learn(tmp_path)
    (one, one_state), (two, two_state) = (
        (
            load_file(folder / "step-30.safetensors"),
            json.loads((folder / "state.json").read_text()),
        )
        for folder in (tmp_path, two_processes[0] / "script")
    )
    assert one.keys() == two.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, rtol=1e-9, atol=1e-9)
    assert two_state["losses"] == pytest.approx(one_state["losses"])
    assert one_state["losses"][-1] < 0.7 * one_state["losses"][0]


@pytest.mark.parametrize("rank", [0, 1])
def test_two_processes_refuse_different_folders(two_processes, rank):
    said = (two_processes[0] / f"said-{rank}.txt").read_text()
    assert "the processes found different trainings" in said and "[30, 0] steps" in said


def test_the_command_runs_in_two_processes(two_processes, tmp_path, capsys):
    folder, printed = two_processes
    command.main([*SMALL, "--steps", "9", "--folder", str(tmp_path)])
    assert printed.count("parameters, on cpu") == 1
    assert printed.count("→") == capsys.readouterr().out.count("→") == 5
    losses = [
        json.loads((place / "state.json").read_text())["losses"]
        for place in (tmp_path, folder / "command")
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
    Translator.load(folder / "command")


def test_a_killed_command_started_again_gives_the_same_curve(tmp_path):
    arguments = [*SMALL, *options("--steps 60 --dropout 0.1 --save-every 2 --folder")]
    killed, straight = tmp_path / "killed", tmp_path / "straight"
    process = subprocess.Popen(
        [sys.executable, "-m", "attnbook.train", *arguments, str(killed)],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 180
    while not (killed / "state.json").exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = json.loads((killed / "state.json").read_text())["losses"]
    assert 0 < len(done) < 60
    assert not (killed / "model.safetensors").exists()
    for folder in (killed, straight):
        command.main([*arguments, str(folder)])
    curve, expected = (
        json.loads((folder / "state.json").read_text()) for folder in (killed, straight)
    )
    assert curve == expected and len(expected["losses"]) == 60
    weights, expected = (
        (folder / "model.safetensors").read_bytes() for folder in (killed, straight)
    )
    assert weights == expected
    files = [path.name for path in killed.glob("step-*")]
    assert files == ["step-60.safetensors"]


def small_command(tmp_path, *more):
    return [*SMALL, "--steps", "2", "--folder", str(tmp_path / "run"), *more]


def test_the_command_learns_saves_and_shows_number_words(tmp_path, capsys):
    command.main(small_command(tmp_path, "--steps", "3"))
    printed = capsys.readouterr().out
    assert "parameters, on cpu" in printed and "step 3  exact 0" in printed
    assert printed.count("→") == 5
    translator = Translator.load(tmp_path / "run")
    assert translator.options["d_model"] == 16
    # more steps go on; another setting does not
    command.main(small_command(tmp_path, "--steps", "5"))
    assert "step 5" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        command.main(small_command(tmp_path, "--clip", "9"))
    assert "clip=1.0 there, 9.0 now" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--norm", "middle"], "invalid choice: 'middle'"),
        (["--vocabulary", "50"], "numbers has no setting vocabulary"),
        (["--steps", "0"], "steps must be at least 1: got 0"),
        (["--save-every", "0"], "save_every must be at least 1: got 0"),
        (["--average", "0"], "average must be at least 1: got 0"),
        (["--threads", "0"], "threads must be at least 1: got 0"),
        (["--dropout", "2"], "got 2.0"),
        (["--clip", "0"], "clip must be above 0: got 0.0"),
        (["--peak-rate", "0"], "peak_rate must be above 0: got 0.0"),
        (["--label-smoothing", "2"], "label_smoothing must lie between 0 and 1: got 2.0"),
        (["--evaluate-every", "0"], "evaluate_every must be at least 1: got 0"),
        (["--longest", "0"], "with longest=0"),
        (["--device", "gpu"], "device must be cpu or cuda: got gpu"),
        (["--num-layers", "0"], "num_layers must be at least 1: got 0"),
        (["--target", "tlh"], "got 'tlh'"),
        (["--num-heads", "3"], "d_model=16 is not divisible by num_heads=3"),
        (["--below", "5"], "got 5"),
    ],
)
def test_the_command_names_what_is_wrong(tmp_path, capsys, arguments, says):
    with pytest.raises(SystemExit):
        command.main(small_command(tmp_path, *arguments))
    assert says in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_named(tmp_path, capsys):
    with pytest.raises(SystemExit):
        command.main(small_command(tmp_path, "--device", "cuda"))
    assert "device is cuda, but PyTorch finds no GPU" in capsys.readouterr().err


def test_an_error_within_the_training_is_no_error_in_the_options(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise ValueError("shapes do not match")

    monkeypatch.setattr(command, "train", broken)
    with pytest.raises(ValueError, match="shapes do not match"):
        command.main(small_command(tmp_path))


def test_a_full_disk_is_named_without_a_traceback(tmp_path, capsys, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "run/state.json")

    monkeypatch.setattr(command, "train", full)
    with pytest.raises(SystemExit) as stop:
        command.main(small_command(tmp_path))
    assert stop.value.code == 1
    assert "No space left on device: 'run/state.json'" in capsys.readouterr().err


def test_an_interruption_says_how_to_continue(tmp_path, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "train", interrupt)
    with pytest.raises(SystemExit) as stop:
        command.main(small_command(tmp_path))
    assert stop.value.code == 130
    assert "the same command continues" in capsys.readouterr().err


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
    small = options(
        "--task multi30k --vocabulary 60 --d-model 16 --num-heads 2 "
        "--num-layers 1 --d-ff 32 --batch 100 --steps 4 --device cpu "
        "--save-every 1 --average 3 --evaluate-every 2 --folder"
    )
    command.main([*small, str(folder)])
    printed = capsys.readouterr().out
    assert "perplexity" in printed and "a dog sees two birds." in printed
    assert "the mean of the last checkpoints: perplexity" in printed
    assert len(saved_tensors(folder)) == 3
    curve = json.loads((folder / "curve.json").read_text("utf8"))
    losses = json.loads((folder / "state.json").read_text("utf8"))["losses"]
    assert [point["step"] for point in curve] == [2, 4]
    assert curve[1]["loss"] == pytest.approx(sum(losses[2:]) / 2, abs=1e-4)
    translator = Translator.load(folder)
    model = translator.model
    assert translator.options["tied"] and len(translator.source_tokenizer) == 60
    assert model.output.weight is model.source_embedding.token.weight
    assert len(translator.translate(["A man sees six dogs."])) == 1
    assert model.output.weight.shape == (60, 16)


def test_the_command_says_how_to_get_the_sentences(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ATTNBOOK_MULTI30K", str(tmp_path / "nowhere"))
    with pytest.raises(SystemExit):
        command.main(["--task", "multi30k", "--folder", str(tmp_path / "run")])
    assert "nowhere/train.en.gz" in capsys.readouterr().err
