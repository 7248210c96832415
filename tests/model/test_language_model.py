"""The language model: its parts against formulas, its cache, how it writes and that it learns."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from attnbook.attention import causal_mask
from attnbook.data import END, START, NumberDataset, collate
from attnbook.language_model import GatedFeedForward, LanguageModel, generate
from attnbook.positions import rotary
from attnbook.pytorch import to_pytorch
from attnbook.training import train
from model.tensors import DEVICES, DTYPES, draw_tokens, randomise


def make(**options):
    options = {
        "vocabulary_size": 11,
        "d_model": 16,
        "num_heads": 4,
        "num_kv_heads": 2,
        "num_layers": 3,
        "d_ff": 20,
    } | options
    return randomise(LanguageModel(**options).double())


def write(tokens, max_new_tokens=1, **options):
    return generate(make(), tokens, max_new_tokens=max_new_tokens, **options)


def test_a_block_computes_what_its_formulas_say():
    model = make(num_layers=1, rotary_base=500.0)
    tokens = draw_tokens(0, (2, 5), 11)
    block = model.blocks[0]
    x = model.embedding.weight[tokens]

    def norm(x, scale):
        return scale * x / (x.square().mean(dim=-1, keepdim=True) + 1e-5).sqrt()

    normed = norm(x, block.attention_residual.norm.weight)
    heads = []
    for h in range(4):
        own, shared = slice(4 * h, 4 * h + 4), slice(4 * (h // 2), 4 * (h // 2) + 4)
        query = rotary(normed @ block.attention.q_proj.weight[own].mT, base=500.0)
        key = rotary(normed @ block.attention.k_proj.weight[shared].mT, base=500.0)
        scores = (query @ key.mT / 2).masked_fill(~causal_mask(5), -torch.inf)
        heads.append(scores.softmax(dim=-1) @ normed @ block.attention.v_proj.weight[shared].mT)
    x = x + torch.cat(heads, dim=-1) @ block.attention.out_proj.weight.mT
    normed, feed = norm(x, block.feed_forward_residual.norm.weight), block.feed_forward
    gate = normed @ feed.gate_proj.weight.mT
    gate = gate / (1 + (-gate).exp())
    x = x + (gate * (normed @ feed.up_proj.weight.mT)) @ feed.down_proj.weight.mT
    expected = norm(x, model.norm.weight) @ model.embedding.weight.mT
    torch.testing.assert_close(model(tokens)[0], expected)


def test_maps_are_asked_for_and_change_no_score():
    model, tokens = make(), draw_tokens(0, (2, 5), 11)
    logits, none = model(tokens)
    with_maps, maps = model(tokens, need_weights=True)
    assert none is None
    assert maps.shape == (3, 2, 4, 5, 5)
    torch.testing.assert_close(logits, with_maps)
    torch.testing.assert_close(maps.sum(dim=-1), torch.ones_like(maps[..., 0]))
    assert maps.triu(diagonal=1).max() == 0


@pytest.mark.parametrize("pieces", [(1, 1, 1, 1, 1, 1, 1), (2, 3, 1, 1)])
@torch.no_grad()
def test_with_the_cache_as_without_in_any_pieces(pieces):
    model, tokens = make(rotary_base=500.0), draw_tokens(0, (2, 7), 11)
    expected, expected_maps = model(tokens, need_weights=True)
    past = model.init_cache(2, max_length=7)
    for need_weights in (False, True):
        for cache in past:
            cache.length = 0
        found, first = [], 0
        for length in pieces:
            piece = tokens[:, first : first + length]
            logits, maps = model(piece, past, need_weights=need_weights)
            if need_weights:
                rows = expected_maps[..., first : first + length, : first + length]
                torch.testing.assert_close(maps, rows)
            found.append(logits)
            first += length
        torch.testing.assert_close(torch.cat(found, dim=1), expected)


def test_without_positions_the_mask_alone_tells_the_last_token_apart():
    model = make(rotary_base=None, num_layers=1)
    tokens = torch.tensor([[3, 4, 5, 6]])
    swapped = torch.tensor([[4, 3, 5, 6]])
    torch.testing.assert_close(model(tokens)[0][:, -1], model(swapped)[0][:, -1])
    with_positions = make(num_layers=1)
    difference = with_positions(tokens)[0][:, -1] - with_positions(swapped)[0][:, -1]
    assert difference.abs().max() > 1e-3


@pytest.mark.parametrize("dtype", DTYPES)
def test_text_is_drawn_in_every_dtype(dtype):
    model = make().to(dtype)
    assert len(list(generate(model, [3, 4], max_new_tokens=3, temperature=1.0))) == 3


@pytest.mark.parametrize("cached", [True, False])
def test_greedy_generation_takes_the_likeliest_token(cached):
    model = make(dropout=0.5).train()
    tokens = [3, 4, 5]
    written = list(generate(model, tokens, max_new_tokens=6, cached=cached))
    assert tokens == [3, 4, 5]
    assert model.training
    model.eval()  # nothing is dropped while it writes
    for token in written:
        assert model(torch.tensor([tokens]))[0][0, -1].argmax() == token
        tokens.append(token)
    assert len(written) == 6
    options = {"max_new_tokens": 6, "temperature": 1e-39, "cached": cached}
    assert list(generate(model, tokens[:3], **options)) == written


def test_the_next_token_is_there_before_the_rest_is_computed():
    model = make()
    steps = []
    model.blocks[0].register_forward_hook(lambda *_: steps.append(1))
    stream = generate(model, [3, 4], max_new_tokens=5)
    assert steps == []
    next(stream)
    assert len(steps) == 1
    assert torch.is_grad_enabled()
    assert len(list(itertools.islice(stream, 2))) == 2
    assert len(steps) == 3


def test_generation_ends_before_an_end_token():
    model = make()
    written = list(generate(model, [3, 4], max_new_tokens=8))
    end = written[3]
    assert (
        list(generate(model, [3, 4], max_new_tokens=8, end_tokens=[end]))
        == written[: written.index(end)]
    )


def test_drawn_tokens_have_the_probabilities_of_the_tempered_softmax():
    model = make(num_layers=1)
    scores = model(torch.tensor([[3, 4]]))[0][0, -1] / 2.0
    wanted = scores.softmax(dim=-1)
    drawn = [
        next(generate(model, [3, 4], max_new_tokens=1, temperature=2.0, seed=seed))
        for seed in range(600)
    ]
    found = torch.tensor(drawn).bincount(minlength=11) / 600
    assert (found - wanted).abs().max() < 4 * (0.25 / 600) ** 0.5


def test_top_p_keeps_as_few_of_the_likeliest_as_have_the_probability():
    model = make()
    probabilities = model(torch.tensor([[3, 4]]))[0][0, -1].softmax(dim=-1)
    sorted_, order = probabilities.sort(descending=True)
    kept = int((sorted_.cumsum(dim=-1) < 0.8).sum()) + 1
    assert 1 < kept < 11
    drawn = {
        next(generate(model, [3, 4], max_new_tokens=1, temperature=1.0, top_p=0.8, seed=seed))
        for seed in range(300)
    }
    assert drawn == set(order[:kept].tolist())
    tiny = [
        next(generate(model, [3, 4], max_new_tokens=1, temperature=1.0, top_p=1e-9, seed=seed))
        for seed in range(5)
    ]
    assert tiny == [order[0]] * 5


def test_top_k_keeps_so_many_of_the_likeliest_and_top_p_cuts_what_they_leave():
    model = make()
    with torch.no_grad():
        probabilities = model(torch.tensor([[3, 4]]))[0][0, -1].softmax(dim=-1)
    likeliest, order = probabilities.topk(4)
    shares = likeliest / likeliest.sum()

    def drawn(seeds, **options):
        options = {"max_new_tokens": 1, "temperature": 1.0, "top_k": 4} | options
        found = [next(generate(model, [3, 4], seed=seed, **options)) for seed in range(seeds)]
        return torch.tensor(found).bincount(minlength=11) / seeds

    found = drawn(600)
    assert found.count_nonzero() == 4
    assert (found[order] - shares).abs().max() < 4 * (0.25 / 600) ** 0.5
    # the first two have too little of all probability, but enough of what the four have
    enough = float(shares[:2].sum()) - 1e-3
    assert likeliest[:2].sum() < enough
    assert set(drawn(100, top_p=enough).nonzero().flatten().tolist()) == set(order[:2].tolist())
    assert drawn(50, top_k=1)[order[0]] == 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: make(num_kv_heads=3), "num_heads=4 is not divisible by num_kv_heads=3"),
        (lambda: make(num_kv_heads=0), "num_kv_heads=0"),
        (lambda: make(num_layers=0), "num_layers must be at least 1: got 0"),
        (lambda: GatedFeedForward(d_model=4, d_ff=0), "d_ff must be at least 1: got 0"),
        (lambda: to_pytorch(make().blocks[0].attention), "num_heads=4 and num_kv_heads=2"),
        (lambda: write([]), "at least one token"),
        (lambda: write([3], max_new_tokens=0), "max_new_tokens must be at least 1: got 0"),
        (lambda: write([3], temperature=-1.0), "0 or a finite positive number: got -1"),
        (lambda: write([3], temperature=math.nan), "0 or a finite positive number: got nan"),
        (lambda: write([3], top_k=0), "top_k must be at least 1: got 0"),
        (lambda: write([3], top_p=0.0), "top_p must be above 0 and at most 1: got 0"),
        (lambda: write([3], top_p=1.5), "top_p must be above 0 and at most 1: got 1.5"),
    ],
)
def test_impossible_numbers_are_refused_at_once(call, says):
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize("device", DEVICES)
def test_it_learns_number_words_better_than_counting_single_words(device):
    numbers = NumberDataset("en", "fr", below=1000)

    def pairs(step):
        return [([], numbers.pair(n)[0]) for n in numbers.sample(32, seed=step)]

    torch.manual_seed(0)
    model = LanguageModel(
        vocabulary_size=len(numbers.source), d_model=32, num_heads=4, num_layers=1, d_ff=64
    )
    history = train(
        model, pairs, steps=60, peak_rate=0.01, warmup=10, progress=False, device=device
    )
    batch = collate(pairs(-1)).to(device)
    targets = batch.target[:, 1:][batch.target[:, 1:] != 0]
    shares = targets.bincount().double() / len(targets)
    by_counting = -(shares[shares > 0] * shares[shares > 0].log()).sum()
    with torch.no_grad():
        logits, _ = model(batch.target[:, :-1])
    loss = F.cross_entropy(logits.mT, batch.target[:, 1:], ignore_index=0)
    assert history["losses"][0] > 2.5 > 1.7 > loss
    assert loss < 0.7 * by_counting
    written = list(generate(model, [START], max_new_tokens=9, end_tokens=[END]))
    assert 0 < len(written) < 9
