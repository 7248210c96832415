"""A language model in one file, made of parts that learners write themselves.

Each function at the top answers an exercise of the book. ``GPT`` takes a learner's functions
instead, by the numbers of their exercises, and runs with the book's where there are none. It is the
model of ``language_model`` without options, so both give the same scores for the same weights. The
file needs nothing but PyTorch.

Rotary positions pair feature i with feature i + d/2, as in the weights that Hugging Face stores.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PAD, START, END = 0, 1, 2


def rms_norm(x, gamma, epsilon):
    return gamma * x / (x.square().mean(dim=-1, keepdim=True) + epsilon).sqrt()


def rotate_halves(x, start, base):
    length, d = x.shape[-2:]
    omega = base ** (-torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d)
    angle = torch.arange(start, start + length, device=x.device)[:, None] * omega
    cos, sin = angle.cos().to(x), angle.sin().to(x)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def grouped(query, key, value):
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, dim=1) for x in (key, value))
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).triu(1)
    return scores.masked_fill(later, -math.inf).softmax(dim=-1) @ value


def decode_step(query, keys, values, lengths):
    groups = query.unflatten(1, (keys.shape[1], -1))  # (batch, kv_heads, group, d_k)
    scores = groups @ keys.mT / math.sqrt(query.shape[-1])
    used = torch.arange(keys.shape[-2], device=query.device) < lengths[:, None]
    scores = scores.masked_fill(~used[:, None, None], -math.inf)
    return (scores.softmax(dim=-1) @ values).flatten(1, 2)


def teacher_forcing(targets):
    column = torch.zeros_like(targets[:, :1])
    says = torch.cat([targets, column + PAD], dim=1)
    says[torch.arange(len(says)), (targets != PAD).sum(dim=1)] = END
    return torch.stack([torch.cat([column + START, targets], dim=1), says])


def greedy_words(scores_of, max_length):
    tokens = [START]
    while len(tokens) <= max_length:
        best = scores_of(tokens).argmax().item()
        if best == END:
            break
        tokens.append(best)
    return torch.tensor(tokens[1:] + [PAD] * (max_length + 1 - len(tokens)))


PARTS: dict[str, Callable] = {
    "6.4": rotate_halves,
    "8.2": rms_norm,
    "9.2": teacher_forcing,
    "9.4": greedy_words,
    "10.4": decode_step,
    "11.4": grouped,
}
NAMES = {  # of the book's model, and of this one
    "attention_residual.norm.weight": "norm_1",
    "feed_forward_residual.norm.weight": "norm_2",
    "attention.": "",
    "feed_forward.": "",
    "norm.weight": "norm",
}


class Block(nn.Module):
    """Attention, then a feed-forward network with a gate."""

    def __init__(
        self, d_model, num_heads, num_kv_heads, d_ff, base, epsilon, parts
    ):  # fmt: skip
        super().__init__()
        self.parts, self.base, self.epsilon = parts, base, epsilon
        self.d_k = d_model // num_heads
        d_kv = num_kv_heads * self.d_k
        self.norm_1 = nn.Parameter(torch.ones(d_model))
        self.norm_2 = nn.Parameter(torch.ones(d_model))
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, d_kv, bias=False)
        self.v_proj = nn.Linear(d_model, d_kv, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)
        self.gate_proj = nn.Linear(d_model, d_ff, bias=False)
        self.up_proj = nn.Linear(d_model, d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x, cache=None):  # (batch, L, d_model)
        rms_norm, rotate = self.parts["8.2"], self.parts["6.4"]
        normed = rms_norm(x, self.norm_1, self.epsilon)
        query, key, value = (  # each (batch, heads, L, d_k)
            proj(normed).unflatten(-1, (-1, self.d_k)).transpose(1, 2)
            for proj in (self.q_proj, self.k_proj, self.v_proj)
        )
        start = len(cache) if cache is not None else 0
        query = rotate(query, start, self.base).to(x)
        key = rotate(key, start, self.base).to(x)
        if cache is None:
            heads = self.parts["11.4"](query, key, value)
        else:  # L is 1
            cache.append((key, value))
            keys = torch.cat([key for key, _ in cache], dim=2)
            values = torch.cat([value for _, value in cache], dim=2)
            lengths = torch.full((len(x),), len(cache), device=x.device)
            heads = self.parts["10.4"](query[:, :, 0], keys, values, lengths)
            heads = heads[:, :, None]
        x = x + self.out_proj(heads.transpose(1, 2).flatten(start_dim=2))
        normed = rms_norm(x, self.norm_2, self.epsilon)
        gate = F.silu(self.gate_proj(normed))
        return x + self.down_proj(gate * self.up_proj(normed))


class GPT(nn.Module):
    """A decoder alone, whose embedding is its output projection, too.

    ``parts`` has functions for some of the exercises in ``PARTS``, by their numbers.

    Raises ``ValueError`` for a number that is not in ``PARTS``, or for heads that do not divide
    ``d_model`` or each other.
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        d_model: int,
        num_heads: int,
        num_kv_heads: int,
        num_layers: int,
        d_ff: int,
        base: float = 10000.0,
        epsilon: float = 1e-5,
        parts: Mapping[str, Callable] | None = None,
    ) -> None:
        super().__init__()
        self.parts = PARTS | dict(parts or {})
        if unknown := self.parts.keys() - PARTS:
            raise ValueError(f"no part is exercise {min(unknown)!r}: the parts are {[*PARTS]}")
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError(
                "num_heads must divide d_model, and num_kv_heads must divide num_heads: got "
                f"{d_model=}, {num_heads=} and {num_kv_heads=}"
            )
        sizes = d_model, num_heads, num_kv_heads, d_ff, base, epsilon
        self.epsilon, self.norm = epsilon, nn.Parameter(torch.ones(d_model))
        self.embedding = nn.Embedding(vocabulary_size, d_model)
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
        self.blocks = nn.ModuleList(Block(*sizes, self.parts) for _ in range(num_layers))

    def forward(
        self,
        tokens: Tensor,  # (batch, L)
        caches: Sequence[list] | None = None,  # one for each block
    ) -> Tensor:
        """Scores of the next token after each: (batch, L, vocabulary)."""
        x = self.embedding(tokens)
        for i, block in enumerate(self.blocks):
            x = block(x, caches[i] if caches else None)
        normed = self.parts["8.2"](x, self.norm, self.epsilon)
        return normed @ self.embedding.weight.T

    def loss(self, targets: Tensor) -> Tensor:
        """Nats a token for whole texts (batch, L), filled up with ``PAD``."""
        reads, says = self.parts["9.2"](targets)
        scores = self(reads).flatten(0, 1)
        return F.cross_entropy(scores, says.flatten(), ignore_index=PAD)

    @torch.no_grad()
    def write(self, prompt: Sequence[int], max_length: int) -> list[int]:
        """The likeliest tokens after a prompt, until ``END`` or ``max_length``.

        Raises ``ValueError`` for an empty prompt.
        """
        if not prompt:
            raise ValueError("a prompt needs at least one token: got none")
        caches: list[list] = [[] for _ in self.blocks]
        device = self.embedding.weight.device
        scores = None  # of the newest token: a function may ask for them twice

        def scores_of(tokens):  # START is not a part of the text
            nonlocal scores
            for token in [*prompt, *tokens[1:]][len(caches[0]) :]:
                new = torch.tensor([[token]], device=device)
                scores = self(new, caches)[0, -1]
            return scores

        words = self.parts["9.4"](scores_of, max_length).tolist()
        return [word for word in words if word != PAD]

    @classmethod
    def from_book(cls, model, parts: Mapping[str, Callable] | None = None) -> "GPT":
        """A ``LanguageModel`` of the book as this one, with its weights.

        The book's rotary positions pair neighbouring features, so the rows that make queries and
        keys are reordered.

        Raises ``ValueError`` if the book's model has no rotary positions.
        """
        if model.rotary_base is None:
            raise ValueError("the model must have rotary positions: got rotary_base=None")
        first = model.blocks[0]
        gpt = cls(
            vocabulary_size=model.embedding.num_embeddings,
            d_model=model.embedding.embedding_dim,
            num_heads=first.attention.num_heads,
            num_kv_heads=first.attention.num_kv_heads,
            num_layers=len(model.blocks),
            d_ff=first.feed_forward.up_proj.out_features,
            base=model.rotary_base,
            epsilon=model.norm.eps,
            parts=parts,
        )
        weights = {}
        for name, weight in model.state_dict().items():
            if name.endswith(("q_proj.weight", "k_proj.weight")):
                # of each head: first the even rows, then the odd ones
                pairs = weight.unflatten(0, (-1, first.attention.d_k // 2, 2))
                weight = pairs.transpose(1, 2).flatten(end_dim=2)
            for theirs, ours in NAMES.items():
                name = name.replace(theirs, ours)
            weights[name] = weight
        del weights["output.weight"]  # the embedding
        gpt.load_state_dict(weights)
        return gpt.to(model.embedding.weight.device).eval()
