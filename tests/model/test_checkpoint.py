"""A training in a folder: exact resumption, and files that are whole or named as damaged."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from attnbook.training import (
    average_checkpoints,
    load_weights,
    round_weights,
    save_weights,
)
from attnbook.training.checkpoint import saved_tensors
from model.small_training import make, parameters, run


@pytest.mark.parametrize(("stop", "tied"), [(1, False), (7, True)])
def test_an_interrupted_training_goes_on_as_if_it_had_not_been(tmp_path, stop, tied):
    sizes = {"source_size": 60, "target_size": 60} if tied else {}
    straight, model = (make(tied=tied, **sizes) for _ in range(2))
    expected = run(straight)
    run(model, steps=stop, folder=tmp_path)
    other = make(seed=5, tied=tied, **sizes)
    assert run(other, folder=tmp_path) == expected
    again = make(seed=6, tied=tied, **sizes)
    assert run(again, folder=tmp_path) == expected  # nothing left to do
    for resumed in (other, again):
        assert torch.equal(parameters(resumed), parameters(straight))


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
    with pytest.raises(ValueError, match="elsewhere"):
        average_checkpoints(trained, tmp_path / "elsewhere", 2)


@pytest.mark.parametrize("victim", ["step-", "state"])
def test_a_training_killed_while_saving_keeps_the_last_whole_state(tmp_path, monkeypatch, victim):
    run(make(), steps=4, folder=tmp_path)
    replace = Path.replace

    def killed(temporary, path):
        if path.name.startswith(victim):
            temporary.write_bytes(b"half")
            raise KeyboardInterrupt
        return replace(temporary, path)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "replace", killed)
        run(make(), steps=8, folder=tmp_path)
    assert run(make(), folder=tmp_path) == run(make())


def test_other_settings_another_model_or_fewer_steps_are_refused(tmp_path):
    run(make(), folder=tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=r"clip=1\.0 there, 2\.0 now"):
        run(make(), folder=tmp_path, clip=2.0)
    with pytest.raises(ValueError, match=r"\(48, 16\).*\(32, 16\)"):
        run(make(d_ff=48), folder=tmp_path)
    with pytest.raises(ValueError, match=r"12 steps.*steps=3"):
        run(make(), steps=3, folder=tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_weights_come_back_and_those_of_another_model_are_refused(tmp_path):
    path, sizes = tmp_path / "model.safetensors", {"source_size": 60, "target_size": 60}
    model, other = (make(seed, **sizes, tied=True) for seed in (0, 1))
    save_weights(model, path)
    assert path.stat().st_size < 4 * len(parameters(model)) + 6000
    load_weights(other, path)
    assert torch.equal(parameters(other), parameters(model))
    for options, says in (
        ({"d_ff": 48}, r"up_proj\.weight is \(48, 16\) here and \(32"),
        ({"num_layers": 2}, r"encoder\.1.* missing there"),
        ({"norm_first": False}, r"coder_norm.* missing here"),
    ):
        different = make(**sizes, tied=True, **options)
        before = parameters(different)
        with pytest.raises(ValueError, match=says):
            load_weights(different, path)
        assert torch.equal(parameters(different), before)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"model\.safetensors is damaged"):
        load_weights(model, path)


def test_rounded_weights_are_whole_numbers_times_a_power_of_two_for_each_row(tmp_path):
    model, loaded, path = make(), make(1), tmp_path / "model.safetensors"
    exact = [parameter.detach().clone() for parameter in model.parameters()]
    round_weights(model, 8)
    for before, after in zip(exact, model.parameters(), strict=True):
        most = before.abs().amax(dim=-1, keepdim=True).clamp(min=1e-30)
        power = 2.0 ** torch.ceil(torch.log2(most / 127))
        whole = after / power
        assert torch.equal(whole, whole.round()) and whole.abs().max() <= 127
        assert ((after - before).abs() <= power / 2).all()
    save_weights(model, path, dtype=torch.float16)
    assert path.stat().st_size < 2 * len(parameters(model)) + 6000
    load_weights(loaded, path)
    assert torch.equal(parameters(loaded), parameters(model))  # half precision has them exactly
    assert parameters(loaded).dtype == torch.float32
    with pytest.raises(ValueError, match="2 bits: got 1"):
        round_weights(model, 1)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"losses": [', r"state\.json is damaged"),
        ('{"losses": []}', r"state\.json lacks 'settings'"),
    ],
)
def test_a_damaged_state_is_named(tmp_path, content, says):
    run(make(), steps=2, folder=tmp_path)
    (tmp_path / "state.json").write_text(content)
    with pytest.raises(ValueError, match=says):
        run(make(), folder=tmp_path)


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
