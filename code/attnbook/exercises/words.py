"""Words for a value, and for several words in a row."""

import torch


def kind_of(value: object) -> str:
    """A few words for what a value is."""
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    name = type(value).__name__
    if type(value).__module__ == "numpy":
        return f"a NumPy {name}"
    return f"{_article(name)} {name}"


def _article(word: str) -> str:
    return "an" if word[0].lower() in "aeiou" else "a"


def shortened(text: str, length: int) -> str:
    """The text, or its beginning and "…" if it is longer.

    >>> shortened("return x", 5)
    'retu…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


def listed(words: list[str], last: str = "and") -> str:
    """The words with commas between them, and one word before the last."""
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
