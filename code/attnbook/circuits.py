"""Circuits: what the parts of a model hand to each other, read from its weights and its outputs.

Interventions ask whether a part is needed. These functions ask what it does: where a head looks and
what it moves, what each part adds to a logit, and which token the stream would predict already.

    with recorded(*model.blocks) as outputs:
        model(tokens)
    early = model.output(model.norm(outputs[model.blocks[3]]))  # the logit lens

All work on a ``Transformer`` and on a ``LanguageModel``, also on compiled ones.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnbook.blocks import FeedForward
from attnbook.language_model import GatedFeedForward, LanguageModel
from attnbook.multihead import MultiHeadAttention
from attnbook.replacing import attentions_of, parts_of, replaced_attribute, require_heads
from attnbook.transformer import Transformer


@contextmanager
def recorded(*modules: nn.Module, inputs: bool = False) -> Iterator[dict[nn.Module, Tensor]]:
    """The outputs of these modules, or their inputs, in their last calls within the block.

    Of several outputs, such as an attention's with its weights, the first one is kept.
    """
    found: dict[nn.Module, Tensor] = {}

    def recording(module: nn.Module) -> Callable:
        forward = module.forward

        def changed(*given, **options):
            output = forward(*given, **options)
            first = output[0] if isinstance(output, tuple) else output
            found[module] = (given[0] if inputs else first).detach()
            return output

        return changed

    with replaced_attribute("forward", {module: recording(module) for module in modules}):
        yield found


def head_updates(
    layer: MultiHeadAttention, merged: Float[Tensor, "*batch token features"]
) -> Float[Tensor, "*batch token heads d_model"]:
    """What each head adds to the stream, from the heads' outputs side by side.

    ``merged`` is the input of ``out_proj``: ``recorded(layer.out_proj, inputs=True)``. The sum over
    the heads is the attention's output without its bias.
    """
    heads = merged.unflatten(-1, (layer.num_heads, layer.d_k))
    moves = layer.out_proj.weight.unflatten(-1, (layer.num_heads, layer.d_k))
    return torch.einsum("...thk,dhk->...thd", heads, moves)


def qk_circuit(layer: MultiHeadAttention, head: int) -> Float[Tensor, "d_model d_model"]:
    """Where a head looks: the matrix A for which ``x_query @ A @ x_key`` is the score, over √d_k.

    Biases and rotations are left out, so with rotary positions, the score is that of two tokens at
    the same place. Raises ``ValueError`` if there is no such head.
    Source: Elhage et al. 2021, https://transformer-circuits.pub/2021/framework.
    """
    query, key = _rows(layer, layer.q_proj, head), _rows(layer, layer.k_proj, head)
    return query.T @ key / layer.d_k**0.5


def ov_circuit(layer: MultiHeadAttention, head: int) -> Float[Tensor, "d_model d_model"]:
    """What a head moves: ``x @ A`` is added to a query that looks at x alone, without biases.

    Raises ``ValueError`` if there is no such head.
    Source: Elhage et al. 2021, https://transformer-circuits.pub/2021/framework.
    """
    value = _rows(layer, layer.v_proj, head)
    columns = slice(head * layer.d_k, (head + 1) * layer.d_k)
    return value.T @ layer.out_proj.weight[:, columns].T


def _rows(layer: MultiHeadAttention, projection: nn.Linear, head: int) -> Float[Tensor, "d_k d_in"]:
    """The rows of a projection that belong to a head, or to the group that it is in."""
    require_heads(layer, [head])
    rows = projection.weight.unflatten(0, (-1, layer.d_k))
    return rows[head * len(rows) // layer.num_heads]


@torch.no_grad()
def attribution(
    model: LanguageModel | Transformer, *inputs: Tensor, token: int, place: int = -1
) -> dict[str, Float[Tensor, " batch"]]:
    """What each part adds to the logit of ``token`` after the token at ``place``: a sum.

    The parts are the embedding, each head, each feed-forward network, and biases if there are any.
    Blocks and heads are counted from 0. The last norm divides all parts by the same number, so
    that they add up to the logit. Each number is what a part adds *directly*. What later parts make
    of it counts as theirs.

    Raises ``ValueError`` for a model whose norms are on the stream itself (post-norm), because no
    sum remains there.
    Source: Elhage et al. 2021, https://transformer-circuits.pub/2021/framework.
    """
    embedding, blocks, norm = _stack(model)
    if not isinstance(norm, (nn.RMSNorm, nn.LayerNorm)):
        raise ValueError("attribution needs a pre-norm model: with post-norm, no sum remains")
    layers = attentions_of(blocks)
    networks = parts_of(blocks, (FeedForward, GatedFeedForward), "feed-forward network")
    merges = [layer.out_proj for layer in layers]
    with recorded(embedding, norm, *networks) as out, recorded(norm, *merges, inputs=True) as into:
        model(*inputs)
    updates = {"embedding": out[embedding][:, place]}
    for name, part in _named_parts(blocks):
        if isinstance(part, MultiHeadAttention):
            heads = head_updates(part, into[part.out_proj][:, place])
            updates |= {f"{name} {h}": heads[:, h] for h in range(part.num_heads)}
            if part.out_proj.bias is not None:
                updates[f"{name} bias"] = part.out_proj.bias.expand_as(heads[:, 0])
        else:
            updates[name] = out[part][:, place]
    stream = into[norm][:, place]
    reads = model.output.weight[token]
    found = {name: _passed(norm, update, stream) @ reads for name, update in updates.items()}
    if isinstance(norm, nn.LayerNorm):
        found["norm bias"] = (norm.bias @ reads).expand(len(stream))
    return found


def _stack(model: nn.Module) -> tuple[nn.Module, list[nn.Module], nn.Module]:
    """Embedding, blocks and last norm of the part of a model that predicts."""
    if isinstance(model, LanguageModel):
        return model.embedding, list(model.blocks), model.norm
    if isinstance(model, Transformer):
        return model.target_embedding, list(model.decoder), model.decoder_norm
    raise ValueError(f"model must be a LanguageModel or a Transformer: got {type(model).__name__}")


def _named_parts(
    blocks: list[nn.Module],
) -> Iterator[tuple[str, MultiHeadAttention | FeedForward | GatedFeedForward]]:
    """The sub-layers that write into the stream, with the names that they have in a table."""
    for number, block in enumerate(blocks):
        for name, part in block.named_modules():
            if isinstance(part, MultiHeadAttention):
                cross = "cross " if name.endswith("cross_attention") else ""
                yield f"block {number} {cross}head", part
            elif isinstance(part, FeedForward | GatedFeedForward):
                yield f"block {number} network", part


def _passed(norm: nn.RMSNorm | nn.LayerNorm, update: Tensor, stream: Tensor) -> Tensor:
    """An update as the last norm passes it on, which it does by the size of the whole stream."""
    if isinstance(norm, nn.LayerNorm):
        stream = stream - stream.mean(dim=-1, keepdim=True)
        update = update - update.mean(dim=-1, keepdim=True)
    size = (stream.square().mean(dim=-1, keepdim=True) + (norm.eps or 0.0)).sqrt()
    return update / size * norm.weight
