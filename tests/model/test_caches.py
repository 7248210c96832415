"""Sizes of caches: the formula, three published sizes, and what is refused."""

import pytest
import torch

from attnbook.caches import PUBLISHED_MODELS, CacheSizes
from attnbook.multihead import KVCache

# in bytes for each token, in 16 bits: https://arxiv.org/abs/2505.09343, table 1
PUBLISHED_SIZES = {"DeepSeek-V3": 70_272, "Qwen2.5 72B": 327_680, "Llama 3.1 405B": 516_096}


@pytest.mark.parametrize("name", PUBLISHED_SIZES)
def test_sizes_are_the_published_ones(name):
    (model,) = [model for model in PUBLISHED_MODELS if model.name == name]
    assert model.sizes.bytes(tokens=1) == PUBLISHED_SIZES[name]


def test_the_size_is_that_of_the_buffers():
    sizes = CacheSizes(heads=6, head_size=8, kv_heads=2, full=3)
    cache = KVCache(5, 2, 7, 8, dtype=torch.bfloat16)
    one_layer = sum(buffer.nbytes for buffer in (cache._keys, cache._values))
    assert sizes.bytes(tokens=7, texts=5) == 3 * one_layer


def test_windows_hold_at_most_their_tokens_and_states_do_not_grow():
    sizes = CacheSizes(
        heads=4, head_size=8, kv_heads=4, full=2, windowed=3, window=10, linear=5, state=100
    )
    for tokens, kept in ((4, 4), (10, 10), (11, 10), (5000, 10)):
        numbers = 64 * (2 * tokens + 3 * kept) + 500
        assert sizes.bytes(tokens, bytes_each=1) == numbers
        assert sizes.bytes(tokens, texts=3, bytes_each=0.5) == 1.5 * numbers


def test_a_latent_takes_the_place_of_keys_and_values():
    sizes = CacheSizes(heads=4, head_size=8, kv_heads=4, full=2, latent=20)
    assert sizes.bytes(tokens=3) == 2 * 2 * 3 * 20


@pytest.mark.parametrize("name", ["tokens", "texts", "bytes_each"])
def test_sizes_that_are_not_positive_are_refused(name):
    sizes = CacheSizes(heads=4, head_size=8, kv_heads=4, full=2)
    with pytest.raises(ValueError, match=f"{name} must be above 0: got 0"):
        sizes.bytes(**{"tokens": 1, name: 0})


def test_published_models_have_names_of_their_own_and_a_source():
    names = [model.name for model in PUBLISHED_MODELS]
    assert len({*names}) == len(names)
    assert all(model.source.startswith("https://") for model in PUBLISHED_MODELS)
    assert all(model.sizes.heads % model.sizes.kv_heads == 0 for model in PUBLISHED_MODELS)
