"""Interventions: change what a trained model computes, for as long as a ``with`` block lasts.

An observation says that a head looks at the right word. An intervention asks whether the model
needs it to. Switch the head off, and measure what fails.

    with without_heads(model.decoder[0].cross_attention, [2]):
        translator.translate(["two thousand three"])

Each works on the modules that it is given and on all within them: ``divisor(model, 1.0)`` on every
attention of a model. Several may be combined, in any order. Around a training run, they ask whether
a model can learn without a part. They work on compiled models, too, and cost nothing when unused.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnbook.attention import causal_mask
from attnbook.blocks import DecoderBlock, EncoderBlock, FeedForward, Residual, blocks_of
from attnbook.language_model import LanguageModel
from attnbook.multihead import MultiHeadAttention
from attnbook.replacing import (
    attentions_of,
    parts,
    parts_of,
    replaced_attribute,
    replaced_forward,
    require_heads,
    require_some,
)
from attnbook.transformer import Transformer

Weights = Float[Tensor, "*batch heads query key"]
Allowed = Bool[Tensor, "*batch heads query key"]

# new weights, from those of the model and from where its masks allow attending
Change = Callable[[Weights, Allowed], Weights]

# new keys and values, from an attention and those that it has made
KeyValueChange = Callable[
    [MultiHeadAttention, Float[Tensor, "..."], Float[Tensor, "..."]], tuple[Tensor, Tensor]
]

# where ``broken`` moves the tokens of a sentence to: none of the first sixteen keeps its position
SHUFFLED = (5, 2, 7, 0, 6, 1, 3, 4, 13, 10, 15, 8, 14, 9, 11, 12)


@contextmanager
def attention_weights(
    *within: nn.Module, change: Change, heads: Sequence[int] | None = None
) -> Iterator[None]:
    """Replace the attention weights, of all heads or of some: ``change=uniform``.

    Raises ``ValueError`` if there is no attention within, or no such head.
    """
    layers = attentions_of(within)
    for layer in layers:
        require_heads(layer, heads or [])

    def replaced(layer: MultiHeadAttention) -> Callable:
        attend: Callable = layer.attend

        def changed(query, key, value, mask=None, *, need_weights=False, **options):
            _, weights = attend(query, key, value, mask, need_weights=True, **options)
            allowed = torch.ones_like(weights, dtype=torch.bool)
            if mask is not None:
                allowed = allowed & mask
            if options.get("causal"):
                allowed = allowed & causal_mask(query.shape[-2], device=query.device)
            new = change(weights, allowed)
            if heads is not None:
                chosen = torch.zeros(layer.num_heads, dtype=torch.bool, device=query.device)
                chosen[list(heads)] = True
                new = torch.where(chosen[:, None, None], new, weights)
            group = layer.num_heads // layer.num_kv_heads
            return new @ value.repeat_interleave(group, dim=1), new if need_weights else None

        return changed

    with replaced_attribute("attend", {layer: replaced(layer) for layer in layers}):
        yield


def uniform(weights: Weights, allowed: Allowed) -> Weights:
    """A change: each query attends equally to all that it may attend to."""
    shares = allowed.to(weights)
    return shares / shares.sum(dim=-1, keepdim=True).clamp(min=1)


def on_token(index: int) -> Change:
    """A change: each query attends to the token of this number alone, counted from 0.

    A query that may not attend to it attends to nothing: its weights are zero.
    """

    def change(weights: Weights, allowed: Allowed) -> Weights:
        length = weights.shape[-1]
        if not 0 <= index < length:
            raise ValueError(f"there are {length} tokens, counted from 0: got the token {index}")
        chosen = torch.arange(length, device=weights.device) == index
        return (allowed & chosen).to(weights)

    return change


def forced(weights: Float[Tensor, "*#batch #query #key"]) -> Change:
    """A change: these weights instead of the model's; several of their axes may be 1."""

    def change(old: Weights, allowed: Allowed) -> Weights:
        return weights.to(old).expand_as(old)

    return change


def permuted(seed: int) -> Change:
    """A change: each query's weights, shuffled among the tokens that it may attend to.

    Its weights are as sharp as before and look at the wrong tokens.
    """

    def change(weights: Weights, allowed: Allowed) -> Weights:
        generator = torch.Generator(weights.device).manual_seed(seed)
        noise = torch.rand(weights.shape, generator=generator, device=weights.device)
        allowed = allowed.expand_as(weights)
        # both orders have what is allowed first: in its own order, and in a random one
        own = (~allowed).to(torch.uint8).sort(dim=-1, stable=True).indices
        dealt = noise.masked_fill(~allowed, 2.0).argsort(dim=-1)
        return torch.zeros_like(weights).scatter(-1, own, weights.gather(-1, dealt))

    return change


@contextmanager
def keys_and_values(*within: nn.Module, change: KeyValueChange) -> Iterator[None]:
    """Replace the keys and values that tokens offer; the queries stay the same.

    ``change`` gets the attention and its keys and values, of the form (batch, heads, token, d_k),
    and returns new ones. Raises ``ValueError`` if there is no attention within.
    """

    def replaced(layer: MultiHeadAttention) -> Callable:
        make: Callable = layer.keys_and_values
        return lambda *inputs: change(layer, *make(*inputs))

    layers = attentions_of(within)
    with replaced_attribute("keys_and_values", {layer: replaced(layer) for layer in layers}):
        yield


@contextmanager
def divisor(*within: nn.Module, number: float) -> Iterator[None]:
    """Divide the scores by ``number`` instead of √d_k; 1.0 leaves them as they are.

    Raises ``ValueError`` if there is no attention within, or for a number that is not above 0.
    """
    if not 0 < number < math.inf:
        raise ValueError(f"scores can only be divided by a number above 0: got {number}")

    def replaced(layer: MultiHeadAttention) -> Callable:
        attend: Callable = layer.attend

        def changed(query, *others, **options):
            return attend(query * (math.sqrt(query.shape[-1]) / number), *others, **options)

        return changed

    with replaced_attribute("attend", {layer: replaced(layer) for layer in attentions_of(within)}):
        yield


@contextmanager
def without_causal_mask(*within: nn.Module) -> Iterator[None]:
    """Let each token of the target attend to those after it, too.

    Several tokens that follow others in a cache keep their mask.
    Raises ``ValueError`` if there is no attention within.
    """

    def replaced(forward: Callable) -> Callable:
        return lambda *inputs, **options: forward(*inputs, **{**options, "causal": False})

    with replaced_forward(attentions_of(within), replaced):
        yield


@contextmanager
def patched(
    *sublayers: nn.Module,
    output: Float[Tensor, "..."],
    tokens: slice | Sequence[int] = slice(None),
) -> Iterator[None]:
    """Replace the outputs of parts by these vectors, at some tokens or at all of them.

    ``output`` usually comes from another text (``attnbook.circuits.recorded``), so the prediction
    shows what the model reads from the part. ``tokens`` are counted from 0.
    Source: Vig et al. 2020, https://arxiv.org/abs/2004.12265; Meng et al. 2022,
    https://arxiv.org/abs/2202.05262, section 2.
    """
    chosen = tokens if isinstance(tokens, slice) else list(tokens)

    def replaced(forward: Callable) -> Callable:
        def changed(*inputs, **options):
            own = forward(*inputs, **options)  # an attention's comes with its weights
            vectors, *others = own if isinstance(own, tuple) else (own,)
            vectors = vectors.clone()
            vectors[..., chosen, :] = output.to(vectors)
            return (vectors, *others) if others else vectors

        return changed

    with replaced_forward(sublayers, replaced):
        yield


@contextmanager
def patched_heads(
    layer: nn.Module, heads: Sequence[int], merged: Float[Tensor, "..."]
) -> Iterator[None]:
    """Let some heads, counted from 0, hand these outputs to the projection W_O of an attention.

    ``merged`` has the outputs of all heads side by side, as ``out_proj`` gets them. Raises
    ``ValueError`` if there is no such head.
    """
    (attention,) = attentions_of([layer])
    require_heads(attention, heads)

    def replaced(forward: Callable) -> Callable:
        def changed(own):  # (batch, query, heads · d_k), the heads side by side
            other = torch.zeros(attention.num_heads, dtype=torch.bool, device=own.device)
            other[list(heads)] = True
            d_k = own.shape[-1] // attention.num_heads
            return forward(torch.where(other.repeat_interleave(d_k), merged.to(own), own))

        return changed

    with replaced_forward([attention.out_proj], replaced):
        yield


@contextmanager
def without_heads(layer: nn.Module, heads: Sequence[int]) -> Iterator[None]:
    """Withhold the outputs of some heads, counted from 0, from the projection W_O of an attention.

    Raises ``ValueError`` if there is no such head.
    """
    with patched_heads(layer, heads, torch.zeros(1)):
        yield


@contextmanager
def without(*sublayers: nn.Module, tokens: slice | Sequence[int] = slice(None)) -> Iterator[None]:
    """Let an attention or a feed-forward network add nothing to the residual stream.

    ``tokens`` names the tokens to which it adds nothing, counted from 0; by default all.
    """
    with patched(*sublayers, output=torch.zeros(1), tokens=tokens):
        yield


@contextmanager
def without_residual(*within: nn.Module) -> Iterator[None]:
    """Pass on each sub-layer's update alone, instead of adding it to the stream.

    Raises ``ValueError`` if there is no residual stream within.
    """

    def replaced(residual: Residual) -> Callable:
        add = residual.add
        return lambda x, update: add(torch.zeros_like(x), update)

    found = parts_of(within, Residual, "residual stream")
    with replaced_attribute("add", {residual: replaced(residual) for residual in found}):
        yield


@contextmanager
def without_norm(*within: nn.Module) -> Iterator[None]:
    """Let vectors pass all norms unchanged. Raises ``ValueError`` if there is no norm within."""
    norms = parts_of(within, (nn.LayerNorm, nn.RMSNorm), "norm")
    with replaced_forward(norms, lambda forward: lambda x: x):
        yield


@contextmanager
def without_positions(*within: nn.Module) -> Iterator[None]:
    """Embed tokens without their position, and rotate no queries and keys.

    Raises ``ValueError`` if there are no positions within.
    """
    rotating = [part for part in parts(within) if isinstance(part, LanguageModel)]
    added = _added_positions(within)
    require_some([*rotating, *added], within, "part with positions")
    with replaced_attribute("rotary_base", dict.fromkeys(rotating)), without(*added):
        yield


@contextmanager
def shuffled_positions(*within: nn.Module, order: Sequence[int]) -> Iterator[None]:
    """Give the token at position p the vector of position ``order[p]``.

    Positions beyond the end of ``order`` keep their own vectors. Raises ``ValueError`` if ``order``
    is not a permutation of 0, 1, … or if no positions are added within.
    """
    if sorted(order) != list(range(len(order))):
        raise ValueError(f"order must have each of 0 to {len(order) - 1} once: got {order}")

    def replaced(forward: Callable) -> Callable:
        def changed(x, start=0):
            length, d_model = x.shape[-2:]
            rows = [order[p] if p < len(order) else p for p in range(start, start + length)]
            return forward(x.new_empty(max([*rows, -1]) + 1, d_model), 0)[rows]

        return changed

    found = require_some(_added_positions(within), within, "embedding with positions")
    with replaced_forward(found, replaced):
        yield


@contextmanager
def broken(model: Transformer, **switches: str | Sequence[int]) -> Iterator[None]:
    """Set the switches of the figure ``interactive.break_translator`` on a Transformer.

    ``broken(model, divisor="off", cross_heads_off=[1, 2])``. With none given, nothing changes. The
    laboratory asks for ``"first"`` as well, which the figure does not have.

    ========================================================  =====================================
    ``divisor``                                               ``"off"``, ``"sqrt(d_model)"``
    ``encoder_weights``, ``decoder_weights``,                 ``"uniform"``, ``"first"`` (all on the
    ``cross_weights``                                         first token), ``"off"`` (no attention)
    ``encoder_heads_off``, ``decoder_heads_off``,             heads that are removed, counted from 0
    ``cross_heads_off``
    ``source_positions``, ``target_positions``                ``"off"``, ``"shuffled"``
    ``causal_mask``, ``residual``, ``norm``,                  ``"off"``
    ``feed_forward``
    ========================================================  =====================================

    Raises ``ValueError`` for a switch or a value that is not among them.
    """
    with ExitStack() as stack:
        for name, value in switches.items():
            for switched in _switch(model, name, value):
                stack.enter_context(switched)
        yield


def _switch(
    model: Transformer, name: str, value: str | Sequence[int]
) -> Iterable[AbstractContextManager[None]]:
    encoder = blocks_of(model.encoder, EncoderBlock)
    decoder = blocks_of(model.decoder, DecoderBlock)
    attentions = {
        "encoder": [block.self_attention for block in encoder],
        "decoder": [block.self_attention for block in decoder],
        "cross": [block.cross_attention for block in decoder],
    }
    place, _, what = name.partition("_")
    if place in attentions and what == "heads_off":
        if isinstance(value, str):
            raise ValueError(f"{name} must be a list of heads: got {value!r}")
        return [without_heads(layer, value) for layer in attentions[place]]
    if place in attentions and what == "weights":
        layers = attentions[place]
        choices = {
            "uniform": lambda: attention_weights(*layers, change=uniform),
            "first": lambda: attention_weights(*layers, change=on_token(0)),
            "off": lambda: without(*layers),
        }
    elif name in ("source_positions", "target_positions"):
        embedding = getattr(model, f"{place}_embedding")
        choices = {
            "off": lambda: without_positions(embedding),
            "shuffled": lambda: shuffled_positions(embedding, order=SHUFFLED),
        }
    else:
        d_model = model.output.in_features
        choices = {
            "divisor": {
                "off": lambda: divisor(model, number=1.0),
                "sqrt(d_model)": lambda: divisor(model, number=math.sqrt(d_model)),
            },
            "causal_mask": {"off": lambda: without_causal_mask(model)},
            "residual": {"off": lambda: without_residual(model)},
            "norm": {"off": lambda: without_norm(model)},
            "feed_forward": {
                "off": lambda: without(*parts_of([model], FeedForward, "feed-forward network"))
            },
        }.get(name, {})
    if value not in choices:
        raise ValueError(f"{name}={value!r} is not a switch; {name} can be {list(choices)}")
    return [choices[value]()]


def _added_positions(within: Sequence[nn.Module]) -> list[nn.Module]:
    found = (getattr(part, "positions", None) for part in parts(within))
    return [positions for positions in found if isinstance(positions, nn.Module)]
