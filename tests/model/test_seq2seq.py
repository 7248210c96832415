"""GRU translators: the context vector, the four energies, and their alignments."""

import pytest
import torch
from hypothesis import given, settings, strategies as st

from attnbook import attention as scores
from attnbook.seq2seq import ENERGIES, Energy, Seq2Seq
from model.tensors import draw, draw_tokens, seeds

ALL = pytest.mark.parametrize("energy", [None, *ENERGIES])


def make(energy, **options):
    torch.manual_seed(0)
    sizes = {"source_size": 11, "target_size": 9, "d_model": 8} | options
    return Seq2Seq(**sizes, energy=energy).double()


@pytest.mark.parametrize("energy", ENERGIES)
def test_the_query_is_the_state_before_the_step(energy):
    model = make(energy)
    source, target = draw_tokens(0, (2, 6), 11), draw_tokens(1, (2, 3), 9)
    logits, alignments = model(source, target)
    assert alignments.shape == (2, 3, 6)
    memory, last = model.encoder(model.source_embedding(source))
    hidden = model.initial_state(torch.cat([last[0], last[1]], dim=-1)).tanh()
    for t in range(3):
        weights = model.energy(hidden.unsqueeze(1), memory).squeeze(1).softmax(dim=-1)
        torch.testing.assert_close(alignments[:, t], weights)
        context = (weights.unsqueeze(-1) * memory).sum(dim=1)
        words = model.target_embedding(target[:, t])
        hidden = model.decoder(torch.cat([words, context], dim=-1), hidden)
        seen = torch.cat([hidden, context], dim=-1)
        torch.testing.assert_close(logits[:, t], model.output(seen))


def test_a_fixed_context_is_the_encoders_last_states_at_every_step():
    model = make(None)
    source, target = draw_tokens(0, (2, 6), 11), draw_tokens(1, (2, 3), 9)
    logits, alignments = model(source, target)
    assert alignments is None
    memory, _ = model.encoder(model.source_embedding(source))
    # forward from the last token, backward from the first
    context = torch.cat([memory[:, -1, :4], memory[:, 0, 4:]], dim=-1)
    hidden = model.initial_state(context).tanh()
    for t in range(3):
        words = model.target_embedding(target[:, t])
        hidden = model.decoder(torch.cat([words, context], dim=-1), hidden)
        seen = torch.cat([hidden, context], dim=-1)
        torch.testing.assert_close(logits[:, t], model.output(seen))


@pytest.mark.parametrize("kind", ENERGIES)
def test_the_energies_are_the_score_functions_of_their_names(kind):
    query, key = draw(0, (2, 3, 8), (2, 5, 8))
    energy = Energy(kind, 8).double()
    score = getattr(scores, f"{kind}_scores")
    torch.testing.assert_close(energy(query, key), score(query, key, **energy.weights))


def test_the_dot_products_add_no_parameters():
    counts = {
        energy: sum(p.numel() for p in make(energy).parameters()) for energy in (None, *ENERGIES)
    }
    assert counts[None] == counts["dot"] == counts["scaled_dot"]
    assert counts["general"] == counts[None] + 8 * 8
    assert counts["additive"] == counts[None] + 2 * 8 * 8 + 8


@ALL
@settings(max_examples=5, deadline=None)
@given(seed=seeds, length=st.integers(1, 6), extra=st.integers(1, 4))
def test_neither_padding_nor_batch_mates_change_an_example(energy, seed, length, extra):
    model = make(energy)
    source = draw_tokens(seed, (2, length + extra), 11)
    target = draw_tokens(seed, (2, 4), 9)
    lengths = torch.tensor([length, length + extra])
    together, alignments = model(source, target, lengths)
    assert energy is None or not alignments[0, :, length:].any()
    alone, _ = model(source[:1, :length], target[:1])
    torch.testing.assert_close(together[:1], alone)
    mate, _ = model(source[1:], target[1:])
    torch.testing.assert_close(together[1:], mate)


@ALL
def test_one_token_at_a_time_gives_the_same_scores_as_all_at_once(energy):
    model = make(energy)
    source, target = draw_tokens(0, (3, 5), 11), draw_tokens(1, (3, 4), 9)
    lengths = torch.tensor([5, 1, 3])
    expected, _ = model(source, target, lengths)
    state = model.prefill(source, lengths, max_length=4)
    for t in range(4):
        torch.testing.assert_close(model.decode_step(target[:, t], state), expected[:, t])


@ALL
def test_every_parameter_learns(energy):
    model = make(energy)
    logits, _ = model(draw_tokens(0, (3, 5), 11), draw_tokens(1, (3, 4), 9))
    logits.sum().backward()
    assert all((p.grad != 0).any() for p in model.parameters())


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: make("dot", d_model=7), "even.*got 7"),
        (lambda: make("dot", d_model=0), "even.*got 0"),
        (lambda: make("cosine"), "'additive'.*got 'cosine'"),
        (
            lambda: make("dot")(
                draw_tokens(0, (2, 3), 9), draw_tokens(0, (2, 3), 9), torch.tensor([3, 0])
            ),
            r"at least one token each: got lengths \[3, 0\]",
        ),
        (
            lambda: make("dot").prefill(torch.zeros(0, 3).long()),
            r"at least one source is needed.*got lengths \[\]",
        ),
    ],
)
def test_bad_input_raises_an_error_that_names_it(call, says):
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.usefixtures("no_shape_checks")
def test_every_source_needs_a_length():
    with pytest.raises(ValueError, match="2 sources and 1 lengths"):
        make("dot").prefill(draw_tokens(0, (2, 6), 11), torch.tensor([6]))
