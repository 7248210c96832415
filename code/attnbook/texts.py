"""Short English passages to measure a language model on; ``texts.toml`` has their sources."""

import tomllib
from pathlib import Path

_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf8"))

TEXTS = tuple(passage["text"] for passage in _FILE["passages"])
