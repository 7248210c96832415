"""A language model: a decoder alone, as in large models, which continues any text.

What changed since 2017: the norm is RMSNorm, positions rotate queries and keys in every layer,
groups of heads share their keys and values, the feed-forward network has a gate, and there is no
encoder.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnbook.attention import causal_mask
from attnbook.blocks import Residual, blocks_of
from attnbook.checks import require_at_least_1
from attnbook.decoding import inference
from attnbook.multihead import KVCache, MultiHeadAttention
from attnbook.positions import Rotations, rotations


class GatedFeedForward(nn.Module):
    """The same small network for each position, with a gate: ``(silu(x G) ⊙ x U) D``.

    The gate decides feature by feature how much of the up projection's output passes.

    Raises ``ValueError`` for a ``d_ff`` below 1.
    Source: Shazeer 2020, https://arxiv.org/abs/2002.05202, eq. 6 (SwiGLU).
    """

    def __init__(self, *, d_model: int, d_ff: int) -> None:
        super().__init__()
        require_at_least_1(d_ff=d_ff)
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
        for linear in (self.gate_proj, self.up_proj, self.down_proj):
            nn.init.xavier_uniform_(linear.weight)

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch d_model"]:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class LanguageBlock(nn.Module):
    """Causal self-attention with rotary positions, then the gated network; both pre-norm.

    The norm is RMSNorm (Zhang and Sennrich 2019, https://arxiv.org/abs/1910.07467, eq. 4).
    Source: Touvron et al. 2023, https://arxiv.org/abs/2302.13971, section 2.2.
    """

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        num_kv_heads: int | None,
        d_ff: int,
        dropout: float,
        epsilon: float,
    ) -> None:
        super().__init__()

        def residual() -> Residual:
            norm = nn.RMSNorm(d_model, eps=epsilon)
            return Residual(d_model, dropout=dropout, norm_first=True, norm=norm)

        self.attention = MultiHeadAttention(
            d_model=d_model, num_heads=num_heads, num_kv_heads=num_kv_heads, bias=False
        )
        self.attention_residual = residual()
        self.feed_forward = GatedFeedForward(d_model=d_model, d_ff=d_ff)
        self.feed_forward_residual = residual()

    def forward(
        self,
        x: Float[Tensor, "batch new d_model"],
        rotation: Rotations | None = None,
        *,
        past: KVCache | None = None,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "batch new d_model"],
        Float[Tensor, "batch heads new seen"] | None,
    ]:
        """Return the new stream and, on request, the weights of each head.

        With ``past``, the keys and values of the tokens before, x holds only new tokens. They are
        added to ``past``, and the weights are over all of them.
        """
        is_first = past is None or past.length == 0
        normed = self.attention_residual.before(x)
        key, value = self.attention.keys_and_values(normed, rotation)
        if past is not None:
            key, value = past.append(key, value)
        new, seen = x.shape[1], key.shape[2]
        update, weights = self.attention(
            normed,
            (key, value),
            # a single new token sees all; several see the past, and of each other what is before
            None if is_first or new == 1 else causal_mask(seen, device=x.device)[-new:],
            causal=is_first,
            rotation=rotation,
            need_weights=need_weights,
        )
        x = self.attention_residual.add(x, update)
        residual = self.feed_forward_residual
        return residual.add(x, self.feed_forward(residual.before(x))), weights


class LanguageModel(nn.Module):
    """``num_layers`` blocks between an embedding and an output projection that share one matrix.

    ``num_kv_heads`` is the number of heads of keys and values, by default as many as queries have.
    ``rotary_base`` is the base of the rotary positions' frequencies; None leaves positions out.

    Raises ``ValueError`` for less than one layer, and what its parts raise.
    Source: Radford et al. 2018 for a decoder alone, with the parts of Touvron et al. 2023,
    https://arxiv.org/abs/2302.13971, and tied embeddings (Press and Wolf 2017,
    https://arxiv.org/abs/1608.05859).

    >>> model = LanguageModel(vocabulary_size=9, d_model=8, num_heads=4, num_kv_heads=2,
    ...                       num_layers=3, d_ff=16)
    >>> logits, maps = model(torch.tensor([[3, 4, 5]]), need_weights=True)
    >>> logits.shape, maps.shape
    (torch.Size([1, 3, 9]), torch.Size([3, 1, 4, 3, 3]))
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        num_kv_heads: int | None = None,
        rotary_base: float | None = 10000.0,
        dropout: float = 0.0,
        epsilon: float = 1e-5,
    ) -> None:
        super().__init__()
        require_at_least_1(num_layers=num_layers)
        self.rotary_base = rotary_base
        self.embedding = nn.Embedding(vocabulary_size, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.blocks = nn.ModuleList(
            LanguageBlock(
                d_model=d_model,
                num_heads=num_heads,
                num_kv_heads=num_kv_heads,
                d_ff=d_ff,
                dropout=dropout,
                epsilon=epsilon,
            )
            for _ in range(num_layers)
        )
        self.d_k = d_model // num_heads
        self.norm = nn.RMSNorm(d_model, eps=epsilon)
        self.output = nn.Linear(d_model, vocabulary_size, bias=False)
        self.tie()
        # weights that are loaded by assignment have come apart
        self.register_load_state_dict_post_hook(LanguageModel.tie)

    def tie(self, _: object = None) -> None:
        """Let the embedding and the output projection share one matrix."""
        self.output.weight = self.embedding.weight

    def forward(
        self,
        tokens: Int[Tensor, "batch new"],
        past: Sequence[KVCache] | None = None,
        *,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "batch new vocabulary"],
        Float[Tensor, "layers batch heads new seen"] | None,
    ]:
        """Score every possible next token at each position.

        With ``past``, from ``init_cache``, the tokens continue the text where the last call ended.
        Returns the scores before softmax and, on request, the weights of all layers and heads.
        """
        hidden, maps = self.hidden(tokens, past, need_weights=need_weights)
        return self.output(hidden), maps

    def hidden(
        self,
        tokens: Int[Tensor, "batch new"],
        past: Sequence[KVCache] | None = None,
        *,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "batch new d_model"],
        Float[Tensor, "layers batch heads new seen"] | None,
    ]:
        """The output of the last norm, from which ``output`` makes the scores."""
        x = self.embedding(tokens)
        rotation = None
        if self.rotary_base is not None:
            # the angles need the length, the number of features, dtype and device
            like = x[..., : self.d_k]
            start = past[0].length if past else 0
            rotation = rotations(like, start=start, base=self.rotary_base)
        maps = []
        caches: Sequence[KVCache | None] = past or [None] * len(self.blocks)
        for block, cache in zip(self.blocks, caches, strict=True):
            x, weights = block(x, rotation, past=cache, need_weights=need_weights)
            maps.append(weights)
        return self.norm(x), torch.stack(maps) if need_weights else None

    def init_cache(self, batch: int, *, max_length: int) -> list[KVCache]:
        """An empty cache for each layer, for ``batch`` texts of up to ``max_length`` tokens.

        For inference: no gradient passes through the caches.
        """
        weight = self.embedding.weight
        return [
            KVCache(
                batch,
                block.attention.num_kv_heads,
                max_length,
                block.attention.d_k,
                dtype=weight.dtype,
                device=weight.device,
            )
            for block in blocks_of(self.blocks, LanguageBlock)
        ]


def generate(
    model: LanguageModel,
    tokens: Sequence[int],
    *,
    max_new_tokens: int,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    seed: int = 0,
    end_tokens: Iterable[int] = (),
    cached: bool = True,
) -> Iterator[int]:
    """Continue a text, one token after the other; yield each as soon as it is known.

    At temperature 0, the likeliest token comes next (greedy). Otherwise, the token is drawn from
    the softmax of ``scores / temperature``. ``top_k`` keeps only this number of the likeliest
    tokens. From these, ``top_p`` keeps the smallest number of the likeliest that have this share of
    their probability together. ``seed`` decides the draws. Generation ends before one of the
    ``end_tokens``, or after ``max_new_tokens``. ``cached=False`` computes all tokens again for each
    new one, which is slower and gives the same tokens except for rounding.

    Raises ``ValueError`` for an empty text, a negative temperature, a ``top_k`` below 1, or a
    ``top_p`` that is not above 0 and at most 1.
    Source: Fan et al. 2018, https://arxiv.org/abs/1805.04833, section 5.4 (top-k); Holtzman et al.
    2020, https://arxiv.org/abs/1904.09751, section 3.1 (top-p).
    """
    if len(tokens) == 0:
        raise ValueError("a text to continue needs at least one token: got none")
    require_at_least_1(max_new_tokens=max_new_tokens)
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature must be 0 or a finite positive number: got {temperature}")
    if top_k is not None:
        require_at_least_1(top_k=top_k)
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1: got {top_p}")
    cuts = temperature, top_k, top_p
    return _tokens(model, list(tokens), max_new_tokens, cuts, seed, set(end_tokens), cached)


def _tokens(
    model: LanguageModel,
    tokens: list[int],
    max_new_tokens: int,
    cuts: tuple[float, int | None, float],
    seed: int,
    end_tokens: set[int],
    cached: bool,
) -> Iterator[int]:
    device = model.embedding.weight.device
    generator = torch.Generator(device).manual_seed(seed)
    past = model.init_cache(1, max_length=len(tokens) + max_new_tokens) if cached else None
    new = tokens
    # asked once: a walk through all modules takes a hundredth of a token's time
    trains = any(module.training for module in model.modules())
    for _ in range(max_new_tokens):
        # not around the loop: the caller's code runs in between
        with torch.inference_mode(), inference(model) if trains else nullcontext():
            given = torch.tensor([new if cached else tokens], device=device)
            hidden, _ = model.hidden(given, past)
            token = _choose(model.output(hidden[0, -1]), *cuts, generator)
        if token in end_tokens:
            return
        yield token
        tokens.append(token)
        new = [token]


def _choose(
    scores: Float[Tensor, " vocabulary"],
    temperature: float,
    top_k: int | None,
    top_p: float,
    generator: torch.Generator,
) -> int:
    if temperature == 0:
        return int(scores.argmax().item())
    probabilities, tokens = _to_draw(scores.float(), temperature, top_k, top_p)
    return int(tokens[probabilities.multinomial(1, generator=generator)].item())


def _to_draw(
    scores: Float[Tensor, " vocabulary"], temperature: float, top_k: int | None, top_p: float
) -> tuple[Float[Tensor, " kept"], Int[Tensor, " kept"]]:
    """The likeliest tokens first, with their probabilities, which are 0 for what ``top_p`` cuts.

    After a cut they do not sum to 1, which drawing does not require.
    """
    likeliest_first, tokens = ((scores - scores.max()) / temperature).sort(descending=True)
    probabilities = likeliest_first[:top_k].softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    # the first one always stays
    return probabilities.masked_fill(before >= top_p, 0.0), tokens[:top_k]
