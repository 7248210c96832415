"""Files that an interruption leaves whole and whose damage is reported by name."""

import json
import os
from pathlib import Path


def atomic_write(path: Path, content: bytes) -> None:
    """Write a file so that at any moment its old or its new content is there, whole."""
    temporary = path.with_name(f".{path.name}.part")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_json(path: Path) -> dict:
    """Read a file of settings or of state. Raises ``ValueError`` and names it if it is damaged."""
    try:
        content = json.loads(path.read_text("utf8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} is damaged: it holds no names with values")
    return content
