"""The training loop: right loss, exact resumption, one process or two, and what it learns."""

import itertools
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
import torch
import torch.nn.functional as F
from nbclient import NotebookClient
from safetensors.torch import load_file, save_file
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from attnbook.data import PAD, NumberDataset, collate
from attnbook.training import (
    Checkpoint,
    __main__ as command,
    average_checkpoints,
    checkpoint,
    learning_rate,
    load_weights,
    loop,
    round_weights,
    save_weights,
    smoothed_loss,
    train,
)
from attnbook.training.checkpoint import saved_tensors
from attnbook.transformer import Transformer
from attnbook.translator import Translator
from shared import DEVICES, draw, draw_tokens
from two_processes import learn

NUMBERS = NumberDataset("en", "fr", below=1000)


def make(seed=0, **options):
    torch.manual_seed(seed)
    options = {
        "source_size": len(NUMBERS.source),
        "target_size": len(NUMBERS.target),
        "d_model": 16,
        "num_heads": 2,
        "num_layers": 1,
        "d_ff": 32,
        "dropout": 0.1,
    } | options
    return Transformer(**options)


def pairs(step, count=16):
    return [NUMBERS.pair(n) for n in NUMBERS.sample(count, seed=step)]


def run(model, steps=12, pairs_of_step=pairs, **options):
    options = {"peak_rate": 0.01, "warmup": 5, "progress": False} | options
    return train(model, pairs_of_step, steps=steps, **options)


def parameters(model):
    return torch.cat([p.detach().flatten().cpu() for p in model.parameters()])


def test_the_rate_rises_in_a_line_and_falls_with_the_root():
    rates = [learning_rate(s, peak=0.4, warmup=4) for s in range(16)]
    assert rates[:4] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert rates[15] == pytest.approx(0.2)  # step 16: √(4/16) of the peak
    assert max(rates) == rates[3]
    assert learning_rate(0, peak=0.4, warmup=0) == pytest.approx(0.4)
    # the paper: d_model^-0.5 · min(step^-0.5, step · warmup^-1.5)
    for step in (1, 100, 4000, 9000):
        paper = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        ours = learning_rate(step - 1, peak=(512 * 4000) ** -0.5, warmup=4000)
        assert ours == pytest.approx(paper)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("words", "count"), [(11, 8), (2**16, 70)])
def test_the_loss_is_cross_entropy_over_all_but_padding(device, smoothing, words, count):
    hidden, weight = draw(0, (2, count // 2, 4), (words, 4), device=device)
    inputs = [hidden.requires_grad_(), weight.requires_grad_()]
    target = draw_tokens(0, (2, count // 2), words, first=0).to(device)
    target[0, -2:] = PAD
    loss = smoothed_loss(hidden, weight, target, smoothing)
    expected = F.cross_entropy(
        (hidden @ weight.mT).flatten(0, 1),
        target.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(
        torch.autograd.grad(3 * loss, inputs), torch.autograd.grad(3 * expected, inputs)
    )
    with torch.inference_mode():
        torch.testing.assert_close(
            smoothed_loss(hidden, weight, target, smoothing), expected.detach()
        )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_softmax_and_sums_are_in_float32_whatever_the_products_are_in(dtype):
    hidden, weight = draw(0, (4096, 8), (30, 8), dtype=torch.float32)
    target = draw_tokens(0, (4096,), 30)
    exact = smoothed_loss(hidden, weight, target, 0.1)
    rounded = smoothed_loss(hidden.to(dtype), weight.to(dtype), target, 0.1)
    assert rounded.dtype == torch.float32
    assert rounded.item() == pytest.approx(exact.item(), rel=2e-3)
    weight.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        cast = smoothed_loss(hidden, weight, target, 0.1)
    assert cast.dtype == torch.float32
    assert cast.item() == pytest.approx(exact.item(), rel=2e-3) and cast.item() != exact.item()
    cast.backward()
    assert weight.grad.dtype == torch.float32


def test_a_frozen_side_gets_no_gradient_and_costs_none():
    hidden, weight = draw(0, (40, 8), (30, 8))
    target = draw_tokens(0, (40,), 30)
    work = []
    for trained in ([hidden, weight], [hidden], [weight], []):
        for side in (hidden, weight):
            side.requires_grad_(any(side is one for one in trained))
        with FlopCounterMode(display=False) as counter:
            loss = smoothed_loss(hidden, weight, target)
        work.append(counter.get_total_flops())
        if trained:
            for gradient in torch.autograd.grad(loss, trained):
                assert (gradient != 0).any()
    assert work == [3 * work[3], 2 * work[3], 2 * work[3], work[3]]


@pytest.mark.usefixtures("no_shape_checks")
def test_the_loss_needs_a_target_for_each_vector():
    with pytest.raises(ValueError, match=r"\(2, 3\) and targets \(3, 2\)"):
        smoothed_loss(torch.ones(2, 3, 8), torch.ones(30, 8), torch.ones(3, 2).long())


def test_a_step_is_adams_with_the_papers_constants():
    model, twin = (make(dropout=0.0).double() for _ in range(2))
    history = run(model, steps=3, label_smoothing=0.1, clip=0.5)
    optimizer = torch.optim.Adam(twin.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step in range(3):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, peak=0.01, warmup=5)
        batch = collate(pairs(step))
        logits, _ = twin(batch.source, batch.target[:, :-1], batch.source_lengths)
        loss = F.cross_entropy(
            logits.flatten(0, 1),
            batch.target[:, 1:].flatten(),
            ignore_index=PAD,
            label_smoothing=0.1,
        )
        assert history["losses"][step] == pytest.approx(loss.item(), rel=1e-5)
        optimizer.zero_grad()
        loss.backward()
        assert nn.utils.clip_grad_norm_(twin.parameters(), 0.5) > 0.5
        optimizer.step()
    torch.testing.assert_close(parameters(model), parameters(twin), rtol=0, atol=1e-9)
    assert not model.training


def test_the_seed_decides_everything():
    runs = [run(make(), seed=seed)["losses"] for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


def test_it_evaluates_in_time_and_goes_on_training():
    model = make(dropout=0.9)
    seen = []

    def evaluate(model):
        seen.append((model.training, torch.is_grad_enabled()))
        torch.manual_seed(99)  # disturbs nothing
        return {"calls": torch.tensor(len(seen))}

    history = run(model, evaluate=evaluate, evaluate_every=5)
    assert history["evaluations"] == [
        {"step": 5, "calls": 1},
        {"step": 10, "calls": 2},
        {"step": 12, "calls": 3},
    ]
    assert seen == 3 * [(False, False)]
    assert history["losses"] == run(make(dropout=0.9))["losses"]


@pytest.mark.parametrize("stop", [1, 7, 12])
@pytest.mark.parametrize("tied", [False, True])
def test_an_interrupted_training_goes_on_as_if_it_had_not_been(tmp_path, stop, tied):
    sizes = {"source_size": 60, "target_size": 60} if tied else {}
    straight, model = (make(tied=tied, **sizes) for _ in range(2))
    expected = run(straight)
    run(model, steps=stop, folder=tmp_path)
    other = make(seed=5, tied=tied, **sizes)
    assert run(other, folder=tmp_path) == expected
    assert torch.equal(parameters(other), parameters(straight))
    again = make(seed=6, tied=tied, **sizes)
    assert run(again, folder=tmp_path) == expected  # nothing left to do
    assert torch.equal(parameters(again), parameters(straight))


def test_a_checkpoint_is_two_files_without_pickles(tmp_path):
    run(make(), folder=tmp_path, save_every=5)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["state.json", "step-12.safetensors"]
    state = json.loads((tmp_path / "state.json").read_text("utf8"))
    assert len(state["losses"]) == 12
    content = (tmp_path / names[1]).read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert {name.split(".")[0] for name in header} <= {"model", "adam", "__metadata__"}


def test_the_mean_of_the_last_checkpoints_is_taken(tmp_path):
    straight = []
    for steps in (4, 8, 12):
        model = make()
        run(model, steps=steps)
        straight.append(parameters(model))
    trained = make()
    run(trained, folder=tmp_path, save_every=4, keep=2)
    assert torch.equal(parameters(trained), straight[2])
    names = [path.name for path in saved_tensors(tmp_path)]
    assert names == ["step-8.safetensors", "step-12.safetensors"]
    for last, expected in ((2, straight[1:]), (1, straight[2:])):
        average_checkpoints(trained, tmp_path, last)
        mean = torch.stack(expected).mean(dim=0)
        torch.testing.assert_close(parameters(trained), mean)
    with pytest.raises(ValueError, match="holds no checkpoint to average"):
        average_checkpoints(trained, tmp_path / "elsewhere", 2)
    with pytest.raises(ValueError, match="last must be at least 1: got 0"):
        average_checkpoints(trained, tmp_path, 0)


@pytest.mark.parametrize("victim", ["step-", "state"])
@pytest.mark.parametrize("moment", ["while writing", "before replacing"])
def test_a_training_killed_while_saving_keeps_the_last_whole_state(
    tmp_path, monkeypatch, victim, moment
):
    expected = run(make())
    run(make(), steps=4, folder=tmp_path)

    class Killed(BaseException):
        pass

    replace = checkpoint.atomic_write

    def broken(path, content):
        if path.name.startswith(victim):
            temporary = path.with_name(f".{path.name}.part")
            half = len(content) // 2 if moment == "while writing" else None
            temporary.write_bytes(content[:half])
            raise Killed
        replace(path, content)

    monkeypatch.setattr(checkpoint, "atomic_write", broken)
    with pytest.raises(Killed):
        run(make(), steps=8, folder=tmp_path)
    monkeypatch.undo()
    assert run(make(), folder=tmp_path) == expected


def test_other_settings_or_another_model_are_refused(tmp_path):
    run(make(), folder=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=r"clip=1\.0 there, 2\.0 now"):
        run(make(), folder=tmp_path, clip=2.0)
    with pytest.raises(ValueError, match=r"another model.*\(48, 16\).*\(32, 16\)"):
        run(make(d_ff=48), folder=tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_weights_come_back_and_those_of_another_model_are_refused(tmp_path):
    model = make(source_size=60, target_size=60, tied=True)
    path = tmp_path / "model.safetensors"
    save_weights(model, path)
    assert path.stat().st_size < 4 * len(parameters(model)) + 6000
    other = make(1, source_size=60, target_size=60, tied=True)
    load_weights(other, path)
    assert torch.equal(parameters(other), parameters(model))
    wider = make(d_ff=48, source_size=60, target_size=60, tied=True)
    before = parameters(wider)
    with pytest.raises(ValueError, match=r"up_proj\.weight is \(48, 16\) here and \(32"):
        load_weights(wider, path)
    deeper = make(num_layers=2, source_size=60, target_size=60, tied=True)
    with pytest.raises(ValueError, match=r"encoder\.1.* and missing there"):
        load_weights(deeper, path)
    assert torch.equal(parameters(wider), before)
    post_norm = make(source_size=60, target_size=60, tied=True, norm_first=False)
    with pytest.raises(ValueError, match=r"coder_norm.* is missing here"):
        load_weights(post_norm, path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged"):
        load_weights(model, path)


def test_weights_in_half_precision_need_half_the_file(tmp_path):
    model, path = make(), tmp_path / "model.safetensors"
    save_weights(model, path, dtype=torch.float16)
    assert path.stat().st_size < 2 * len(parameters(model)) + 6000
    other = make(1)
    load_weights(other, path)
    assert parameters(other).dtype == torch.float32
    assert torch.equal(parameters(other), parameters(model).half().float())


def test_rounded_weights_are_whole_numbers_times_a_power_of_two_for_each_row(tmp_path):
    model = make()
    exact = [parameter.detach().clone() for parameter in model.parameters()]
    round_weights(model, 8)
    for before, after in zip(exact, model.parameters(), strict=True):
        most = before.abs().amax(dim=-1, keepdim=True).clamp(min=1e-30)
        power = 2.0 ** torch.ceil(torch.log2(most / 127))
        whole = after / power
        assert torch.equal(whole, whole.round()) and whole.abs().max() <= 127
        assert ((after - before).abs() <= power / 2).all()
    once = parameters(model).clone()
    save_weights(model, tmp_path / "model.safetensors", dtype=torch.float16)
    load_weights(model, tmp_path / "model.safetensors")
    assert torch.equal(parameters(model), once)  # half precision has them exactly
    round_weights(model, 8)
    assert torch.equal(parameters(model), once)
    with pytest.raises(ValueError, match="at least 2 bits: got 1"):
        round_weights(model, 1)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"losses": [', r"state\.json is damaged"),
        ("[1]", r"state\.json is damaged"),
        ('{"losses": []}', r"state\.json lacks 'settings'"),
    ],
)
def test_a_damaged_state_is_named(tmp_path, content, says):
    run(make(), steps=2, folder=tmp_path)
    (tmp_path / "state.json").write_text(content)
    with pytest.raises(ValueError, match=says):
        run(make(), folder=tmp_path)


def test_fewer_steps_than_are_done_are_refused(tmp_path):
    run(make(), steps=4, folder=tmp_path)
    with pytest.raises(ValueError, match="training of 4 steps: got steps=3"):
        run(make(), steps=3, folder=tmp_path)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"steps": 0}, "steps must be at least 1: got 0"),
        ({"save_every": 0}, "save_every must be at least 1: got 0"),
        ({"keep": 0}, "keep must be at least 1: got 0"),
        ({"evaluate_every": 0}, "evaluate_every must be at least 1: got 0"),
        ({"peak_rate": -0.1}, "peak_rate must be above 0: got -0.1"),
        ({"clip": 0.0}, "clip must be above 0: got 0.0"),
        ({"label_smoothing": 2.0}, "label_smoothing must lie.*got 2.0"),
        ({"pairs_of_step": lambda step: []}, "at least one pair: got none"),
    ],
)
def test_impossible_settings_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        run(make(), **options)


def test_a_silent_training_prints_nothing(capsys):
    run(make(), evaluate=lambda model: {"x": 1.0})
    assert capsys.readouterr() == ("", "")


def test_importing_it_in_a_notebook_prints_nothing():
    cell = nbformat.v4.new_code_cell("from attnbook.training import train")
    notebook = nbformat.v4.new_notebook(cells=[cell])
    NotebookClient(notebook, kernel_name="python3").execute()
    assert notebook.cells[0].outputs == []


def test_a_loss_that_is_not_finite_stops_the_training_before_harm(tmp_path):
    model = make()
    with torch.no_grad():
        model.output.weight[5] = math.nan
    before = parameters(model.encoder)
    with pytest.raises(ValueError, match=r"loss of step 0 is nan: try.*than 0\.01.*than 5 steps"):
        run(model, folder=tmp_path)
    assert torch.equal(parameters(model.encoder), before)
    assert not list(tmp_path.iterdir())


class GradientTimes(torch.autograd.Function):
    """Hands numbers on as they are, and their gradient times a factor."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor, None


def test_a_gradient_that_is_not_finite_is_neither_applied_nor_saved(tmp_path):
    model, calls = make(dropout=0.0), itertools.count()
    model.decoder_norm.register_forward_hook(
        lambda module, inputs, output: GradientTimes.apply(
            output, math.nan if next(calls) == 6 else 1.0
        )
    )
    options = {"folder": tmp_path, "save_every": 4, "log_interval": 5, "steps": 8}
    with pytest.raises(ValueError, match=r"gradient norm of step 6 is nan: try.*than 0\.01"):
        run(model, **options)
    assert parameters(model).isfinite().all()
    assert [file.name for file in saved_tensors(tmp_path)] == ["step-4.safetensors"]
    model.decoder_norm._forward_hooks.clear()
    resumed, whole = run(model, **options), make(dropout=0.0)
    assert resumed == run(whole, steps=8)
    assert torch.equal(parameters(model), parameters(whole))


@pytest.mark.parametrize("where", ["loss", "norm"])
@pytest.mark.parametrize("clip", [1.0, math.inf])
def test_a_loss_or_a_norm_that_overflows_is_not_applied(monkeypatch, where, clip):
    model, once, step = make(dropout=0.0), make(dropout=0.0), itertools.count()
    run(once, steps=1, clip=clip)
    if where == "loss":  # the gradients stay finite
        monkeypatch.setattr(
            loop,
            "smoothed_loss",
            lambda *inputs: smoothed_loss(*inputs) + (math.inf if next(step) == 1 else 0.0),
        )
    else:  # each gradient is finite, the sum of their squares is not
        model.decoder_norm.register_forward_hook(
            lambda module, inputs, output: GradientTimes.apply(
                output, 1e30 if next(step) == 1 else 1.0
            )
        )
    with pytest.raises(ValueError, match=f"{where} of step 1 is inf"):
        run(model, steps=2, clip=clip)
    assert torch.equal(parameters(model), parameters(once))


def test_tensors_of_another_training_never_outlive_the_state(tmp_path):
    run(make(), steps=6, folder=tmp_path)
    (tmp_path / "state.json").unlink()  # somebody starts again
    run(make(), steps=2, folder=tmp_path)
    assert [file.name for file in saved_tensors(tmp_path)] == ["step-2.safetensors"]
    assert len(run(make(), steps=3, folder=tmp_path)["losses"]) == 3


def test_parameters_that_are_not_contiguous_are_saved(tmp_path):
    layer, loaded = nn.Linear(3, 4), nn.Linear(3, 4)
    layer.weight = nn.Parameter(layer.weight.detach().T.contiguous().T)
    assert not layer.weight.is_contiguous()
    save_weights(layer, tmp_path / "weights")
    load_weights(loaded, tmp_path / "weights")
    assert torch.equal(layer.weight, loaded.weight)


def test_weights_that_version_1_saved_are_loaded_under_their_new_names(tmp_path):
    model, loaded = make(), make(seed=1)
    names = {
        "attention.q_proj": "attention.query",
        "attention.k_proj": "attention.key",
        "attention.v_proj": "attention.value",
        "attention.out_proj": "attention.output",
        "up_proj": "widen",
        "down_proj": "narrow",
        "embedding.token": "embedding.word",
    }
    tensors = {}
    for name, parameter in model.named_parameters():
        for new, old in names.items():
            name = name.replace(new, old)
        tensors[name] = parameter.detach()
    assert "decoder.0.feed_forward.narrow.bias" in tensors and not any("proj" in n for n in tensors)
    save_file(tensors, tmp_path / "weights")
    load_weights(loaded, tmp_path / "weights")
    assert torch.equal(parameters(model), parameters(loaded))


@pytest.mark.parametrize("device", DEVICES)
def test_number_words_are_learned(device):
    model = make(d_model=32, num_heads=4, d_ff=64, dropout=0.0)
    history = run(
        model, steps=250, pairs_of_step=lambda step: pairs(step, 64), warmup=100, device=device
    )
    assert history["losses"][0] > 3 and sum(history["losses"][-20:]) / 20 < 0.1


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
    monkeypatch.setattr(command.Multi30k, "texts", lambda *_: sentences)
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


def test_checkpoints_of_a_folder_that_is_not_there_are_none(tmp_path):
    model = make()
    optimizer = torch.optim.Adam(model.parameters())
    assert Checkpoint(tmp_path / "no").load(model, optimizer, {}) is None
