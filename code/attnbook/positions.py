"""Positions: attention does not see order, so the vectors themselves have to carry it."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnbook.checks import require_at_least_1


def frequencies(
    d_features: int, base: float = 10000.0, *, device: torch.device | str | None = None
) -> Float[Tensor, " pairs"]:
    """Angular frequencies of the pairs of features, in radians per position, as float64.

    Pair i rotates by ``base^(-2i / d_features)`` from one position to the next: the first pair
    completes a cycle in 2π positions, the last in ``base^((d_features - 2) / d_features) · 2π``. An
    odd last feature counts as a pair. A larger base makes slower pairs, for longer texts.

    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.5.

    >>> frequencies(4)
    tensor([1.0000, 0.0100], dtype=torch.float64)
    """
    require_at_least_1(d_features=d_features)
    even_features = torch.arange(0, d_features, 2, dtype=torch.float64, device=device)
    return torch.exp(-math.log(base) * even_features / d_features)


STRETCHES = ("as trained", "interpolation", "a larger base", "by parts")


def stretched_frequencies(
    d_features: int,
    factor: float,
    *,
    method: str,
    trained_length: int,
    base: float = 10000.0,
) -> Float[Tensor, " pairs"]:
    """Frequencies with which rotary positions read texts ``factor`` times as long as in training.

    - ``"as trained"``: those of ``frequencies``.
    - ``"interpolation"``: all are divided by the factor (Chen et al. 2023,
      https://arxiv.org/abs/2306.15595).
    - ``"a larger base"``: the base is larger by ``factor^(d / (d - 2))``, so that the fastest pair
      stays as it is and the slowest is divided by the factor (Peng et al. 2023,
      https://arxiv.org/abs/2309.00071, section 3.1).
    - ``"by parts"``: only pairs that complete no turn within ``trained_length`` positions are
      divided (Peng et al., section 3.2, which lets the division grow gradually).

    Raises ``ValueError`` for another method, a factor below 1, or fewer than 4 features.

    >>> stretched_frequencies(4, 2.0, method="by parts", trained_length=32)
    tensor([1.0000, 0.0050], dtype=torch.float64)
    """
    require_at_least_1(factor=factor, trained_length=trained_length)
    if method not in STRETCHES:
        raise ValueError(f"method must be one of {STRETCHES}: got {method!r}")
    if d_features < 4:
        raise ValueError(f"needs at least two pairs of features: got d_features={d_features}")
    if method == "a larger base":
        base *= factor ** (d_features / (d_features - 2))
    trained = frequencies(d_features, base)
    if method == "interpolation":
        return trained / factor
    if method == "by parts":
        completes_a_turn = trained * trained_length >= 2 * math.pi
        return torch.where(completes_a_turn, trained, trained / factor)
    return trained


def sinusoidal_positions(
    length: int,
    d_model: int,
    *,
    start: int = 0,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Float[Tensor, "length d_model"]:
    """Vectors for positions ``start`` to ``start + length - 1``, made of sines and cosines.

    Features 2i and 2i + 1 are the sine and the cosine of one angle, ``p · 10000^(-2i / d_model)``
    at position p. An odd ``d_model`` ends with a sine. Computed in float64, then rounded to
    ``dtype``.

    Raises ``ValueError`` for a negative length or a ``d_model`` below 1.
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.5.

    >>> sinusoidal_positions(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    if length < 0:
        raise ValueError(f"length cannot be negative: got {length}")
    angle = _angles(start, length, frequencies(d_model, device=_with_float64(device)))
    waves = torch.stack([angle.sin(), angle.cos()], dim=-1)
    return waves.flatten(start_dim=1)[:, :d_model].to(device, dtype)


def shift_matrix(offset: int, d_model: int) -> Float[Tensor, "d_model d_model"]:
    """The matrix M with ``PE(p + offset) = M PE(p)`` for every position p, in float64.

    Each pair (sine, cosine) rotates by its own angle, whatever p is, because
    ``sin(a + b) = cos(b) sin(a) + sin(b) cos(a)`` and
    ``cos(a + b) = cos(b) cos(a) - sin(b) sin(a)``.

    Raises ``ValueError`` if ``d_model`` is odd: the last sine then has no cosine to rotate with.
    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.5 (stated there).

    >>> shift_matrix(1, 2)
    tensor([[ 0.5403,  0.8415],
            [-0.8415,  0.5403]], dtype=torch.float64)
    """
    _require_even("d_model", d_model)
    angle = offset * frequencies(d_model)
    sin, cos = angle.sin(), angle.cos()
    blocks = torch.stack([cos, sin, -sin, cos], dim=-1).view(-1, 2, 2)
    return torch.block_diag(*blocks)


def rotary(
    x: Float[Tensor, "*batch length d_k"], *, start: int = 0, base: float = 10000.0
) -> Float[Tensor, "*batch length d_k"]:
    """Rotate each pair of features by an angle that grows with the vector's position.

    Applied to queries and to keys: their dot product then depends on how far apart two positions
    are, and not on where they are. Row i has the position ``start + i``. A pair counts as
    (cosine, sine) here, so the rotation is the transpose of the one in ``shift_matrix``.

    Raises ``ValueError`` if the number of features is odd.
    Source: Su et al. 2021, https://arxiv.org/abs/2104.09864, section 3.4.2, eq. 34.

    >>> rotary(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    return rotate(x, rotations(x, start=start, base=base))


Rotations = tuple[Float[Tensor, "length pairs 1"], Float[Tensor, "length pairs 2"]]


def rotations(
    x: Float[Tensor, "*batch length d_k"], *, start: int = 0, base: float = 10000.0
) -> Rotations:
    """The cosines and signed sines by which ``rotate`` rotates vectors like ``x``.

    They are rounded to float32, or to the dtype of x if that is more precise. All layers rotate by
    the same angles, so a model computes them once.
    """
    length, d_k = x.shape[-2:]
    _require_even("the number of features", d_k)
    angle = _angles(start, length, frequencies(d_k, base, device=_with_float64(x.device)))
    sin = torch.stack([-angle.sin(), angle.sin()], dim=-1)
    dtype = torch.promote_types(x.dtype, torch.float32)
    return angle.cos().unsqueeze(-1).to(x.device, dtype), sin.to(x.device, dtype)


def rotate(
    x: Float[Tensor, "*batch length d_k"], by: Rotations
) -> Float[Tensor, "*batch length d_k"]:
    """Rotate the pairs of features of each vector: (a, b) to (a cos − b sin, b cos + a sin)."""
    cos, sin = by
    pairs = x.unflatten(-1, (-1, 2))  # (..., length, pairs, 2)
    # half precision is rounded once, after the sum
    return (pairs * cos + pairs.flip(-1) * sin).flatten(start_dim=-2).to(x.dtype)


class SinusoidalPositions(nn.Module):
    """``sinusoidal_positions`` as a module: nothing to learn, nothing to save, any length.

    The vectors are computed at each call. A stored table would have to follow the model to other
    devices and dtypes and into compilers, and would save less than a hundredth of a step's time.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        require_at_least_1(d_model=d_model)
        self.d_model = d_model

    def forward(
        self, x: Float[Tensor, "*batch length d_model"], start: int = 0
    ) -> Float[Tensor, "length d_model"]:
        """Vectors to be added to x, for positions ``start``, ``start + 1`` and so on.

        Raises ``ValueError`` for a negative start.
        """
        if start < 0:
            raise ValueError(f"start cannot be negative: got {start}")
        return sinusoidal_positions(
            x.shape[-2], self.d_model, start=start, dtype=x.dtype, device=x.device
        )


class LearnedPositions(nn.Module):
    """One vector for each of ``max_length`` positions, learned like the words' vectors.

    At the start of training they are random and as large as the sinusoidal ones.

    Source: Gehring et al. 2017, https://arxiv.org/abs/1705.03122, section 3.1.
    """

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        require_at_least_1(max_length=max_length, d_model=d_model)
        self.table = nn.Parameter(torch.empty(max_length, d_model))
        nn.init.normal_(self.table, std=math.sqrt(0.5))

    def forward(
        self, x: Float[Tensor, "*batch length d_model"], start: int = 0
    ) -> Float[Tensor, "length d_model"]:
        """Vectors to be added to x, for positions ``start``, ``start + 1`` and so on.

        Raises ``ValueError`` beyond ``max_length``, because no vector was learned for those
        positions.
        """
        length = x.shape[-2]
        end = start + length
        if start < 0 or end > len(self.table):
            raise ValueError(
                f"there are max_length={len(self.table)} learned positions, counted from 0: "
                f"got {length} positions from {start} on"
            )
        return self.table[start:end]


class TokenEmbedding(nn.Module):
    """Tokens to vectors: the token's vector plus the position's vector, then dropout.

    ``positions`` is a module that, called with ``(x, start)``, returns the vectors to add to x,
    such as ``SinusoidalPositions(d_model)``; None leaves positions out. The tokens' vectors
    are drawn with the variance ``1 / d_model`` and multiplied by ``√d_model``, so they start out
    about as large as the positions' features, which lie between -1 and 1.

    Source: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, sections 3.4, 3.5 and 5.4.
    """

    def __init__(
        self,
        num_tokens: int,
        d_model: int,
        *,
        positions: nn.Module | None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.token = nn.Embedding(num_tokens, d_model)
        nn.init.normal_(self.token.weight, std=d_model**-0.5)
        self.positions = positions
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, tokens: Int[Tensor, "batch length"], start: int = 0
    ) -> Float[Tensor, "batch length d_model"]:
        """Embed tokens whose positions are ``start``, ``start + 1``, and so on."""
        x = self.token(tokens) * math.sqrt(self.token.embedding_dim)
        if self.positions is not None:
            x = x + self.positions(x, start)
        return self.dropout(x)


def _angles(start: int, length: int, frequency: Tensor) -> Float[Tensor, "length pairs"]:
    position = torch.arange(start, start + length, dtype=torch.float64, device=frequency.device)
    return torch.outer(position, frequency)


def _with_float64(device: torch.device | str | None) -> torch.device | str | None:
    """The device, or the CPU for Apple's GPUs, which have no float64."""
    return "cpu" if device is not None and torch.device(device).type == "mps" else device


def _require_even(name: str, number: int) -> None:
    if number < 1 or number % 2:
        raise ValueError(f"{name} must be even, since features rotate in pairs: got {number}")
