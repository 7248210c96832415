"""How large the cache of keys and values is, in published models and in your own.

Sizes of the models are in ``published_models.toml``, each with its source.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from attnbook.checks import require_above_0


@dataclass(frozen=True, kw_only=True)
class CacheSizes:
    """What a model keeps of each token while it writes.

    Each layer has ``heads`` heads of queries with ``head_size`` features, and ``kv_heads`` heads of
    keys and values. If ``latent`` is not 0, each layer keeps this many numbers of a token instead
    of keys and values (multi-head latent attention). ``full`` layers keep all tokens, and
    ``windowed`` layers the latest ``window``. ``linear`` layers keep ``state`` numbers for each
    text, however long it is.

    Source of the formula: Shazeer 2019, https://arxiv.org/abs/1911.02150, and for the latent
    DeepSeek-AI 2024, https://arxiv.org/abs/2405.04434, section 2.1.
    """

    heads: int
    head_size: int
    kv_heads: int
    full: int
    windowed: int = 0
    window: int = 0
    latent: int = 0
    linear: int = 0
    state: int = 0

    def numbers_per_token(self) -> int:
        """How many numbers one layer keeps of one token."""
        return self.latent or 2 * self.kv_heads * self.head_size

    def bytes(self, tokens: int, texts: int = 1, bytes_each: float = 2) -> float:
        """The size of the cache in bytes, for ``texts`` texts of ``tokens`` tokens each.

        Raises ``ValueError`` if one of the three is not positive.

        >>> sizes = CacheSizes(heads=9, head_size=64, kv_heads=3, full=30)
        >>> sizes.bytes(tokens=8192) / 1e6
        188.74368
        """
        require_above_0(tokens=tokens, texts=texts, bytes_each=bytes_each)
        places = self.full * tokens + self.windowed * min(tokens, self.window)
        return texts * bytes_each * (self.numbers_per_token() * places + self.linear * self.state)


@dataclass(frozen=True, kw_only=True)
class PublishedModel:
    """A model, the year of its report, the report's address, and the sizes of its cache."""

    name: str
    year: int
    source: str
    sizes: CacheSizes


def _read() -> tuple[PublishedModel, ...]:
    rows = tomllib.loads(Path(__file__).with_name("published_models.toml").read_text("utf8"))
    return tuple(
        PublishedModel(**{**row, "sizes": CacheSizes(**row["sizes"])}) for row in rows["model"]
    )


PUBLISHED_MODELS = _read()
