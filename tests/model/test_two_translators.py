"""The two translators of chapter 1: how they are made, and what they were measured to do."""

import random

import torch

from attnbook import two_translators
from attnbook.data import NumberDataset
from attnbook.two_translators import DESIGNS, count_right, draw, load, measured, of_length


def test_both_translators_have_the_same_parameters():
    one, looking = load().values()
    assert {n: p.shape for n, p in one.named_parameters()} == {
        n: p.shape for n, p in looking.named_parameters()
    }


def test_what_was_measured_is_what_they_do():
    for design, model in load().items():
        for digits in (1, 3, 5):
            assert count_right(model, of_length(digits)) == measured()[design][digits - 1]


def test_looking_back_wins_by_far_where_numbers_are_long_and_one_vector_does_well_on_short_ones():
    one, looking = (
        [right / tested for right, tested in zip(measured()[d], measured()["tested"], strict=True)]
        for d in DESIGNS
    )
    assert min(one[:3]) >= 0.9 and max(one[4:]) <= 0.25
    assert min(looking) >= 0.97


def test_numbers_to_learn_and_to_test_have_nothing_in_common():
    generator, numbers = random.Random(0), NumberDataset("en", "fr", below=10**6)
    assert not any(numbers.is_held_out(draw(generator, held_out=False)) for _ in range(200))
    assert all(map(numbers.is_held_out, [*of_length(3), *of_length(6)]))
    assert [len(of_length(digits)) for digits in range(1, 7)] == measured()["tested"]
    assert {len(str(n)) for n in of_length(6)} == {6}


def test_the_command_trains_both_and_writes_the_same_again(tmp_path):
    made = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        two_translators.main(["--folder", str(folder), "--steps", "2"])
        made.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert made[0] == made[1]
    assert {*made[0]} == {"README.md", "right.json", *(f"{d}.safetensors" for d in DESIGNS)}


def test_the_weights_have_8_bits():
    for model in load().values():
        for parameter in model.parameters():
            rows = parameter.detach().reshape(-1, parameter.shape[-1])
            most = rows.abs().amax(dim=-1, keepdim=True)
            power = torch.where(most > 0, most / 127, 1.0).log2().ceil().exp2()
            assert torch.equal((rows / power).round() * power, rows)
