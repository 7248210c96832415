"""The folder that hand-outs go to, where they never replace what somebody has edited."""

import hashlib
import json
import secrets
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from attnbook.atomic_files import atomic_write


class Folder:
    """Writes files into a folder, but never over what somebody has changed there.

    It remembers a fingerprint of each file that it wrote. A file that is still as it was written
    is brought up to date; a file that was edited, or that was there before, is kept.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._record = path / ".attnbook.json"
        self.kept: list[str] = []
        self.written: list[str] = []
        known = {"files": {}}
        if self._record.exists():
            known = json.loads(self._record.read_text("utf8"))
        self._known = known

    def seeds(self, count: int = 3) -> list[int]:
        """Random seeds, drawn once for this folder."""
        if "seeds" not in self._known:
            self._known["seeds"] = [secrets.randbelow(10**9) for _ in range(count)]
        return self._known["seeds"]

    def write(self, name: str, content: str | bytes | NotebookNode) -> None:
        """Write one file, unless somebody has changed it since it was last written here."""
        if isinstance(content, NotebookNode):
            nbformat.validate(content)
            content = nbformat.writes(content) + "\n"
        if isinstance(content, str):
            content = content.encode("utf8")
        path = self.path / name
        files = self._known["files"]
        if path.exists():
            there = _fingerprint(path.read_bytes())
            if there not in (files.get(name), _fingerprint(content)):
                self.kept.append(name)
                return
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, content)
        files[name] = _fingerprint(content)
        atomic_write(self._record, json.dumps(self._known, indent=1).encode())
        self.written.append(name)


def _fingerprint(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
