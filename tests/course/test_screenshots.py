"""The README's pictures show what readers see: `labels` takes those again that are old."""

import subprocess
import sys

import browser
from conftest import ROOT
from PIL import Image

from attncourse.pages import screenshots

# in a process of its own: this one may have a browser open, which starts no other
TAKE = (
    "from pathlib import Path; from attncourse.pages import screenshots; screenshots.write(Path())"
)


def test_pictures_are_taken_once_and_are_small(tmp_path):
    browser.skip_without()
    (tmp_path / screenshots.FOLDER).mkdir(parents=True)
    subprocess.run([sys.executable, "-c", TAKE], cwd=tmp_path, check=True)
    assert screenshots.outdated(tmp_path) == {}
    for name in screenshots.SCENES:
        path = tmp_path / screenshots.FOLDER / f"{name}.png"
        assert path.stat().st_size < 120_000, "a picture of the README loads at once"
        with Image.open(path) as picture, Image.open(ROOT / screenshots.FOLDER / path.name) as ours:
            assert picture.width == ours.width
            colours = picture.convert("L").getcolors()
        paper = max(colours)
        assert paper == max(colours, key=lambda pair: pair[1]), "dark words on white paper"


def test_a_fingerprint_changes_with_what_is_seen_alone():
    page = '<img src="data:image/png;base64,{}"><p>{}</p>'
    same = screenshots.fingerprint(page.format("abc", "x"))
    assert screenshots.fingerprint(page.format("def", "x")) == same
    assert screenshots.fingerprint(page.format("abc", "y")) != same
