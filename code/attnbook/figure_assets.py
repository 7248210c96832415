"""The scripts of the interactive figures, as a notebook and as a page loads them.

Pages are built without torch, so this module imports nothing of the model.
"""

import base64
import json
import re
from importlib import resources

import numpy as np

from attnbook.palette import DARK, LIGHT, declarations

_PACKAGE = resources.files("attnbook")
_FOLDER = _PACKAGE / "figures/interactive"
_NUMBERS = _PACKAGE / "numbers_en_fr"
_PAIR = _PACKAGE / "two_translators_en_fr"

# kinds of figures that consist of several scripts: those that come before the one of its name
NEEDS = {
    "asking": ("asking_table",),
    "break_translator": ("translator_data", "translator", "writing", "picturing"),
    "hero": ("translator_data", "translator", "writing", "picturing"),
    "stack": ("translator_data", "translator", "writing"),
    "shapes": ("matrices",),
    "token": ("token_explaining",),
    "transformer": (
        "translator_data",
        "translator",
        "matrices",
        "transformer_run",
        "transformer_matrices",
    ),
    "two_translators": ("pair_data", "translator", "recurrent"),
}
SHARED = "base"


def kinds() -> list[str]:
    """The kinds of figures, each of which has a script of its name."""
    names = {path.name.removesuffix(".js") for path in _FOLDER.iterdir() if path.suffix == ".js"}
    needed = {name for names in NEEDS.values() for name in names}
    return sorted(names - needed - {SHARED})


def carries_weights(kind: str) -> bool:
    """Whether the script of a kind carries the weights of a model, some 50 kB."""
    return any(name.endswith("_data") for name in NEEDS.get(kind, ()))


def script_of(kind: str) -> str:
    """All that a kind of figure needs besides the script that all share."""
    return "".join(map(script, [*NEEDS.get(kind, ()), kind]))


def script(name: str) -> str:
    """One of the scripts that make up a figure, such as ``SHARED``, without its comments in lines
    of their own and without indentation: a figure on Colab carries all of it."""
    if name == "translator_data":
        return _translator_data()
    if name == "pair_data":
        return _pair_data()
    text = _FOLDER.joinpath(f"{name}.js").read_text("utf8")
    text = re.sub(r"^ *(?://.*\n)?", "", text, flags=re.M)
    if name == SHARED:
        text = text.replace("@light", declarations(LIGHT)).replace("@dark", declarations(DARK))
    return text


def _translator_data() -> str:
    """The weights of the translator of numbers."""
    weights = _in_8_bits(_NUMBERS.joinpath("model.safetensors").read_bytes())
    return f"attnbook.numbers ??= {json.dumps({'weights': weights}, separators=(',', ':'))};\n"


def _pair_data() -> str:
    """The weights of the two recurrent translators, by their designs."""
    files = {p.name: p for p in _PAIR.iterdir() if p.name.endswith(".safetensors")}
    weights = {
        name.removesuffix(".safetensors"): _in_8_bits(files[name].read_bytes())
        for name in sorted(files)
    }
    return f"attnbook.pair ??= {json.dumps(weights, separators=(',', ':'))};\n"


def _in_8_bits(file: bytes) -> dict:
    """A file of weights that ``round_weights`` has rounded, as whole numbers and powers of two.

    Raises ``ValueError`` if they are not rounded in this way.
    """
    start = 8 + int.from_bytes(file[:8], "little")
    header = json.loads(file[8:start])
    header.pop("__metadata__", None)
    shapes, numbers, powers = [], b"", b""
    for name, tensor in header.items():
        first, last = (start + offset for offset in tensor["data_offsets"])
        *_, columns = tensor["shape"]
        rows = np.frombuffer(file[first:last], "<f2").astype(float).reshape(-1, columns)
        most = np.abs(rows).max(axis=1, keepdims=True)
        power = np.ceil(np.log2(np.where(most > 0, most / 127, 1)))
        whole = rows / 2**power
        if (whole != whole.round()).any():
            raise ValueError(f"{name} is not rounded to 8 bits, so train it with --bits 8")
        shapes.append([name, len(rows), columns])
        numbers += whole.astype(np.int8).tobytes()
        powers += power.astype(np.int8).tobytes()
    numbers, powers = (base64.b64encode(part).decode() for part in (numbers, powers))
    return {"shapes": shapes, "numbers": numbers, "powers": powers}
