"""The scripts of the interactive figures, as a notebook and as a page loads them.

Pages are built without torch, so this imports nothing of the model.
"""

import base64
import json
from importlib import resources

_PACKAGE = resources.files("attnbook")
_FOLDER = _PACKAGE / "figures/interactive"
_NUMBERS = _PACKAGE / "numbers_en_fr"

# kinds of figures with the scripts that only they need, in their order
NEEDS = {"break_translator": ("translator_data", "translator")}
SHARED = "base"


def script(name: str) -> str:
    """The script of a kind of figure, or one that several need."""
    if name == "translator_data":
        return _translator_data()
    return _FOLDER.joinpath(f"{name}.js").read_text("utf8")


def kinds() -> list[str]:
    """The kinds of figures, each of which has a script of its name."""
    names = {path.name.removesuffix(".js") for path in _FOLDER.iterdir() if path.suffix == ".js"}
    needed = {name for names in NEEDS.values() for name in names}
    return sorted(names - needed - {SHARED})


def _translator_data() -> str:
    """The weights, as their file has them, and how well models learn that never had a part."""
    weights = base64.b64encode(_NUMBERS.joinpath("model.safetensors").read_bytes()).decode()
    without = json.loads(_NUMBERS.joinpath("without.json").read_text("utf8"))
    return f'attnbook.numbers ??= {{ weights: "{weights}", without: {json.dumps(without)} }};\n'
