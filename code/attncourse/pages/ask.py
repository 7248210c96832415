"""Search the book for sections that answer a question, with the encoder of chapter 13.

The question is the query, and the paragraphs are the keys. A section is as near as its nearest
paragraph, read below its heading. This finds the right chapter for more of the questions in
``chapters/questions.toml`` than the mean of the paragraphs, or the title with the first paragraph.
"""

import hashlib
import io
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import nbformat
import numpy as np
from myst_parser.mdit_to_docutils.base import default_slugify as anchor

from attnbook import pretrained
from attnbook.atomic_files import atomic_write
from attnbook.encoder import embed
from attncourse import UsageError
from attncourse.chapter import contents, studies

MODEL = "all-minilm-l6-v2"
PAGES = ("prerequisites", "notation", "glossary")  # besides chapters and the laboratory
HEADING = re.compile(r"^(#{1,2}) (.+)$", re.M)
NOT_TEXT = re.compile(r"<!--.*?-->|</?\w[^>\n]*>|```.*?```", re.S)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
BREAK = re.compile(r"\n\s*\n|\n(?=[|>-])")  # rows of tables and points of lists are paragraphs
MARKS = re.compile(r"[*`>#]+")
LINES = re.compile(r"\||:?-{3,}:?")  # of tables


@dataclass(frozen=True)
class Section:
    """What is below one heading, or above the first one of a page."""

    page: str
    heading: str
    address: str  # as the links in the folder of the chapters have it
    paragraphs: tuple[str, ...]

    @property
    def title(self) -> str:
        return " · ".join(filter(None, (self.page, self.heading)))

    @property
    def chapter(self) -> int | None:
        """The chapter that it is of, or that its experiment belongs to."""
        return int(found[1]) if (found := re.match(r"(?:lab/)?(\d+)-", self.address)) else None

    def read(self) -> list[str]:
        """What the encoder reads: each paragraph below its heading."""
        return [f"{self.heading or self.page} {paragraph}" for paragraph in self.paragraphs]


def sections(root: Path) -> list[Section]:
    """The sections of chapters, of the laboratory and of three pages, in the order of the book."""
    files = {path.with_suffix("") for path in studies(root)}
    files |= {root / "chapters" / name for name in PAGES}
    return [each for file in contents(root) if file in files for each in _sections(file, root)]


def _sections(file: Path, root: Path) -> Iterator[Section]:
    if (path := file.with_name(f"{file.name}.ipynb")).exists():
        cells = nbformat.read(path, as_version=4).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    else:
        path = file.with_name(f"{file.name}.md")
        text = path.read_text("utf8")
    address = path.relative_to(root / "chapters").as_posix()
    # before the first heading; then for each heading its level, itself, and what is below it
    _, *parts = HEADING.split(NOT_TEXT.sub("", text))
    page = plain(parts[1])
    for level, heading, below in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        place = (plain(heading), f"{address}#{anchor(heading)}") if level == "##" else ("", address)
        if paragraphs := tuple(filter(None, map(plain, BREAK.split(below)))):
            yield Section(page, *place, paragraphs)


def plain(markdown: str) -> str:
    """A text without the marks of Markdown."""
    return " ".join(LINES.sub(" ", MARKS.sub("", LINK.sub(r"\1", markdown))).split())


def asked(question: str, file: str) -> list[dict]:
    """The questions of a file, each with its chapter, or else the one question."""
    if file:
        if Path(file).is_file():
            return tomllib.loads(Path(file).read_text("utf8"))["question"]
        raise UsageError(f"no such file: {file}")
    if not question.strip():
        raise UsageError('ask a question, such as python -m attncourse ask "why divide by √d?"')
    return [{"ask": question}]


@dataclass(frozen=True)
class Vectors:
    """The vectors of texts. A file keeps them for the next time."""

    read: Callable[[Sequence[str]], np.ndarray]
    file: Path

    def kept(self, texts: Sequence[str]) -> np.ndarray:
        """A vector for each text. It reads those that the file lacks, and keeps no others."""
        names = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        known: dict[str, np.ndarray] = {}
        with suppress(FileNotFoundError, ValueError, BadZipFile):  # none yet, or damaged
            known = dict(np.load(io.BytesIO(self.file.read_bytes())))
        new = {name: text for name, text in zip(names, texts, strict=True) if name not in known}
        if new:
            known |= zip(new, self.read([*new.values()]), strict=True)
            content = io.BytesIO()
            np.savez(content, **{name: known[name] for name in names})
            atomic_write(self.file, content.getvalue())
        return np.stack([known[name] for name in names])


def of_encoder() -> Vectors:
    """The vectors of the encoder, which are kept beside its weights."""
    encoder, tokenizer = pretrained.load(MODEL)

    def read(texts: Sequence[str]) -> np.ndarray:
        return embed(encoder, tokenizer, texts, progress=len(texts) > 1).cpu().numpy()

    return Vectors(read, pretrained.fetch(MODEL)[0].with_name("vectors.npz"))


def scores(questions: Sequence[str], sections: Sequence[Section], vectors: Vectors) -> np.ndarray:
    """(questions, sections): the cosine of a question with a section's nearest paragraph."""
    keys = vectors.kept([text for section in sections for text in section.read()])
    ends = np.cumsum([0, *(len(section.paragraphs) for section in sections)])
    return np.maximum.reduceat(vectors.read(questions) @ keys.T, ends[:-1], axis=1)


def best(found: np.ndarray, count: int = 5) -> list[int]:
    """Which sections have the best scores for one question, the best first."""
    return np.argsort(-found, kind="stable")[:count].tolist()


def right_chapter(chapters: Sequence[int], found: np.ndarray, sections: Sequence[Section]) -> str:
    """How often the best section, or one of the best three, is of the right chapter."""
    pairs = zip(chapters, found, strict=True)
    of = [[sections[i].chapter == right for i in best(row, count=3)] for right, row in pairs]
    first, among = sum(three[0] for three in of), sum(map(any, of))
    return f"first {first}, among the first three {among}, of {len(of)} questions"
