"""The training loop: the right loss, the right steps, and what it learns."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from attnbook.data import PAD, collate
from attnbook.training import learning_rate, loop, smoothed_loss
from attnbook.training.checkpoint import saved_tensors
from model.small_training import make, pairs, parameters, run
from model.tensors import DEVICES, draw, draw_tokens


def test_the_rate_rises_in_a_line_and_falls_with_the_root():
    assert learning_rate(0, peak=0.4, warmup=0) == pytest.approx(0.4)
    # the paper: d_model^-0.5 · min(step^-0.5, step · warmup^-1.5)
    for step in (1, 100, 4000, 9000):
        paper = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        ours = learning_rate(step - 1, peak=(512 * 4000) ** -0.5, warmup=4000)
        assert ours == pytest.approx(paper)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("smoothing", "words", "count"), [(0.0, 11, 8), (0.1, 2**16, 70)])
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
        assert smoothed_loss(hidden, weight, target, smoothing) == loss


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
    sides = draw(0, (40, 8), (30, 8))
    target = draw_tokens(0, (40,), 30)
    work = []
    for trained in ((True, True), (True, False), (False, True), (False, False)):
        inputs = [
            x.clone().requires_grad_(needed) for x, needed in zip(sides, trained, strict=True)
        ]
        with FlopCounterMode(display=False) as counter:
            loss = smoothed_loss(*inputs, target)
        work.append(counter.get_total_flops())
        if any(trained):
            loss.backward()
            assert [x.grad is not None for x in inputs] == [*trained]
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


def test_it_evaluates_in_time_goes_on_training_and_prints_nothing(capsys):
    model = make(dropout=0.9)
    seen = []

    def evaluate(model):
        seen.append((model.training, torch.is_grad_enabled()))
        torch.manual_seed(99)  # disturbs nothing
        return {"calls": torch.tensor(len(seen))}

    history = run(model, evaluate=evaluate, evaluate_every=5)
    assert history["evaluations"] == [
        {"step": step, "calls": calls} for calls, step in enumerate((5, 10, 12), start=1)
    ]
    assert seen == 3 * [(False, False)]
    assert history["losses"] == run(make(dropout=0.9))["losses"]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"steps": 0}, "steps.*0"),
        ({"save_every": 0}, "save_every.*0"),
        ({"keep": 0}, "keep.*0"),
        ({"evaluate_every": 0}, "evaluate_every.*0"),
        ({"peak_rate": -0.1}, "peak_rate.*-0.1"),
        ({"clip": 0.0}, "clip.*0.0"),
        ({"label_smoothing": 2.0}, "label_smoothing.*2.0"),
        ({"pairs_of_step": lambda step: []}, "pair.*none"),
    ],
)
def test_impossible_settings_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        run(make(), **options)


class GradientTimes(torch.autograd.Function):
    """Hands numbers on as they are, and their gradient times a factor."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.factor, None


@pytest.mark.parametrize(
    ("where", "factor", "clip"),
    [
        ("loss", 1.0, 1.0),  # the gradients stay finite
        ("gradient norm", math.nan, 1.0),
        ("gradient norm", 1e30, 1.0),  # each gradient is finite, the sum of their squares is not
        ("gradient norm", 1e30, math.inf),
    ],
)
def test_what_is_not_finite_is_neither_applied_nor_saved(
    tmp_path, monkeypatch, where, factor, clip
):
    model, before, whole = (make(dropout=0.0) for _ in range(3))
    losses, gradients = itertools.count(), itertools.count()
    options = {"folder": tmp_path, "save_every": 4, "log_interval": 5, "steps": 8, "clip": clip}
    if where == "loss":
        monkeypatch.setattr(
            loop,
            "smoothed_loss",
            lambda *inputs: smoothed_loss(*inputs) + (math.inf if next(losses) == 7 else 0.0),
        )
    hook = model.decoder_norm.register_forward_hook(
        lambda module, inputs, output: GradientTimes.apply(
            output, factor if next(gradients) == 7 else 1.0
        )
    )
    with pytest.raises(ValueError, match=rf"{where} of step 7 is (inf|nan).*0\.01.*5 steps"):
        run(model, **options)
    monkeypatch.undo()
    hook.remove()
    run(before, steps=7, clip=clip)
    assert torch.equal(parameters(model), parameters(before))
    assert [file.name for file in saved_tensors(tmp_path)] == ["step-4.safetensors"]
    assert run(model, **options) == run(whole, steps=8, clip=clip)
    assert torch.equal(parameters(model), parameters(whole))


@pytest.mark.parametrize("device", DEVICES)
def test_number_words_are_learned(device):
    model = make(d_model=32, num_heads=4, d_ff=64, dropout=0.0)
    history = run(
        model, steps=250, pairs_of_step=lambda step: pairs(step, 64), warmup=100, device=device
    )
    assert history["losses"][0] > 3 and sum(history["losses"][-20:]) / 20 < 0.1
