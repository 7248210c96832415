"""What is compared: attention, layers, steps of training, and decoding."""

from copy import deepcopy
from functools import partial

import torch
import torch.nn.functional as F
from measure import Case, Run, Where
from torch import nn

from attnbook.attention import attention, causal_mask, padding_mask
from attnbook.blocks import DecoderBlock, EncoderBlock
from attnbook.data import PAD, START
from attnbook.decoding import greedy_search
from attnbook.multihead import MultiHeadAttention
from attnbook.pytorch import to_pytorch
from attnbook.training import smoothed_loss
from attnbook.transformer import Transformer

BATCH, LENGTH, WORDS = 32, 32, 8000
NEVER = -1  # an end symbol that no model writes: all targets are equally long


def close(a: object, b: object) -> bool:
    tolerance = 1e-3 if a.dtype == torch.float32 else 0.1
    return torch.allclose(a, b, rtol=tolerance, atol=tolerance)


def draw(where: Where, *shape: int) -> torch.Tensor:
    device, dtype = where
    return torch.randn(*shape).to(device, dtype)


def train_or_infer(function, inputs: list[torch.Tensor], backward: bool) -> Run:
    """One run of a function of these tensors, with or without gradients."""

    def run() -> torch.Tensor:
        if not backward:
            with torch.no_grad():
                return function(*inputs)
        tensors = [tensor.requires_grad_() for tensor in inputs]
        output = function(*tensors)
        torch.autograd.grad(output.sum(), tensors)
        return output

    return run


def attention_side(ours: bool, length: int, causal: bool, backward: bool, where: Where) -> Run:
    torch.manual_seed(0)
    inputs = [draw(where, 1, 8, length, 64) for _ in range(3)]

    def function(query, key, value):
        if ours:
            return attention(query, key, value, causal=causal)[0]
        return F.scaled_dot_product_attention(query, key, value, is_causal=causal)

    return train_or_infer(function, inputs, backward)


def layer_side(ours: bool, kind: type, where: Where) -> Run:
    """A layer of d_model 256 forward and backward on padded sentences."""
    torch.manual_seed(0)
    options = {"d_model": 256, "num_heads": 4}
    if kind is not MultiHeadAttention:
        options |= {"d_ff": 1024, "norm_first": True}
    layer = kind(**options).to(*where)
    x = draw(where, BATCH, LENGTH, 256)
    lengths = torch.arange(BATCH, device=where[0]) % 16 + 17
    mask = padding_mask(lengths, LENGTH)
    padding = ~mask.squeeze(1)
    future = ~causal_mask(LENGTH, device=where[0])
    if ours:
        calls = {
            MultiHeadAttention: lambda x: layer(x, mask=mask)[0],
            EncoderBlock: lambda x: layer(x, mask)[0],
            DecoderBlock: lambda x: layer(x, x, mask)[0],
        }
    else:
        theirs = to_pytorch(layer)
        calls = {
            MultiHeadAttention: lambda x: theirs(
                x, x, x, key_padding_mask=padding, need_weights=False
            )[0],
            EncoderBlock: lambda x: theirs(x, src_key_padding_mask=padding),
            DecoderBlock: lambda x: theirs(
                x, x, tgt_mask=future, memory_key_padding_mask=padding, tgt_is_causal=True
            ),
        }
    return train_or_infer(calls[kind], [x], backward=True)


class PyTorchTransformer(nn.Module):
    """nn.Transformer with the embeddings and the output projection of ours."""

    def __init__(self, ours: Transformer) -> None:
        super().__init__()
        self.source_embedding = deepcopy(ours.source_embedding)
        self.target_embedding = deepcopy(ours.target_embedding)
        self.output = deepcopy(ours.output)
        self.transformer = to_pytorch(ours)

    def hidden(self, source, target, lengths):
        padding = ~padding_mask(lengths, source.shape[1]).squeeze(1)
        return self.transformer(
            self.source_embedding(source),
            self.target_embedding(target),
            tgt_mask=~causal_mask(target.shape[1], device=target.device),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )


def translation_model(where: Where, d_model: int, words: int, dropout: float) -> Transformer:
    torch.manual_seed(0)
    return Transformer(
        source_size=words,
        target_size=words,
        d_model=d_model,
        num_heads=4,
        num_layers=2,
        d_ff=4 * d_model,
        dropout=dropout,
    ).to(*where)


def sentences(where: Where, words: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    draw_words = partial(torch.randint, 4, words, (BATCH, LENGTH), generator=generator)
    lengths = torch.arange(BATCH) % 16 + 17
    return [x.to(where[0]) for x in (draw_words(), draw_words(), lengths)]


def training_side(
    ours: bool, d_model: int, words: int, dropout: float, own_loss: bool, where: Where
) -> Run:
    """Forward, loss, backward, and Adam's step."""
    model = translation_model(where, d_model, words, dropout)
    if not ours:
        model = PyTorchTransformer(model)
        for layer in model.modules():  # as nn.Transformer makes them
            if isinstance(layer, nn.MultiheadAttention):
                layer.dropout = dropout
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    source, target, lengths = sentences(where, words)
    wanted = target.roll(-1, dims=1)

    def run() -> torch.Tensor:
        hidden = model.hidden(source, target, lengths)
        if ours:
            hidden, _ = hidden
        if ours and own_loss:
            loss = smoothed_loss(hidden, model.output.weight, wanted, 0.1)
            loss = loss / (wanted != PAD).sum()
        else:
            loss = F.cross_entropy(
                model.output(hidden).flatten(0, 1),
                wanted.flatten(),
                ignore_index=PAD,
                label_smoothing=0.1,
            )
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return run


def greedy_side(ours: bool, where: Where) -> Run:
    """Greedy decoding of 64 tokens each; theirs computes the whole target again for each token."""
    model = translation_model(where, 256, WORDS, 0.0).eval()
    source, _, lengths = sentences(where, WORDS)
    if ours:
        return lambda: torch.tensor(
            greedy_search(model, source, lengths, start_token=START, end_token=NEVER, max_length=64)
        )
    theirs = PyTorchTransformer(model).eval()
    padding = ~padding_mask(lengths, LENGTH).squeeze(1)

    @torch.inference_mode()
    def run() -> torch.Tensor:
        memory = theirs.transformer.encoder(
            theirs.source_embedding(source), src_key_padding_mask=padding
        )
        written = source.new_full((BATCH, 1), START)
        for length in range(1, 65):
            hidden = theirs.transformer.decoder(
                theirs.target_embedding(written),
                memory,
                tgt_mask=~causal_mask(length, device=source.device),
                memory_key_padding_mask=padding,
                tgt_is_causal=True,
            )
            token = theirs.output(hidden[:, -1:]).argmax(dim=-1)
            written = torch.cat([written, token], dim=1)
        return written[:, 1:].cpu()

    return run


def both_sides(name: str, side, *options, same=close) -> Case:
    return Case(name, partial(side, False, *options), partial(side, True, *options), same)


CASES = [
    both_sides(
        f"attention, L={length}{', causal' * causal}, "
        f"{'forward + backward' if backward else 'forward'} | SDPA",
        attention_side,
        length,
        causal,
        backward,
    )
    for length in (512, 2048)
    for causal in (False, True)
    for backward in (False, True)
]
CASES += [
    both_sides(f"{ours.__name__}, d_model 256 | nn.{theirs.__name__}", layer_side, ours)
    for ours, theirs in (
        (MultiHeadAttention, nn.MultiheadAttention),
        (EncoderBlock, nn.TransformerEncoderLayer),
        (DecoderBlock, nn.TransformerDecoderLayer),
    )
]
CASES += [
    both_sides(
        f"step, d_model {d_model}, {words} words, dropout {dropout}"
        f"{', our loss' * own_loss} | nn.Transformer",
        training_side,
        d_model,
        words,
        dropout,
        own_loss,
        same=close if dropout == 0 else None,
    )
    for d_model, words in ((256, WORDS), (64, WORDS), (64, 64))
    for dropout in (0.0, 0.1)
    for own_loss in ((False, True) if words == WORDS else (False,))
]
CASES.append(
    both_sides(
        "greedy decoding, 64 tokens | nn.Transformer, uncached",
        greedy_side,
        same=lambda a, b: (a == b).float().mean().item() > 0.99,
    )
)
