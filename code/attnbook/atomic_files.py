"""Files that an interruption leaves complete, and that an error names if they are damaged."""

import json
import os
from pathlib import Path


def atomic_write(path: Path, content: bytes) -> None:
    """Write a file so that it holds either its old or its new content at any moment, complete."""
    temporary = path.with_name(f".{path.name}.part")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_json(path: Path) -> dict:
    """Read a file of settings or of state. Raises ``ValueError`` with its name if it is damaged."""
    try:
        content = json.loads(path.read_text("utf8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} is damaged: it is not a table of names and values")
    return content
