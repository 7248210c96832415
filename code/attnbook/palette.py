"""The book's colours, from ``palette.toml``: for pages, scripts, drawings and plots."""

import tomllib
from importlib import resources

_PALETTE = tomllib.loads(resources.files("attnbook").joinpath("palette.toml").read_text("utf8"))
LIGHT, DARK, PLOTS = _PALETTE["light"], _PALETTE["dark"], _PALETTE["plots"]


def declarations(colours: dict[str, str]) -> str:
    """Colours as variables of a style sheet.

    >>> declarations({"query": "#0072b2", "key": "#b84f00"})
    '--query: #0072b2; --key: #b84f00;'
    """
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())
