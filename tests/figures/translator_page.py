"""The translators that run in a page: what is read in their figures, and what PyTorch writes."""

import torch
from playwright.sync_api import expect

from attnbook.data import NumberDataset
from attnbook.figures.interactive.break_translator import MOST_WRITTEN
from attnbook.interventions import broken
from attnbook.translator import NUMBERS_TO_FRENCH, Translator

NUMBERS = NumberDataset("en", "fr", below=100_000)
TRANSLATOR = Translator.load(NUMBERS_TO_FRENCH)


def tokens(page):
    """The French tokens that have been written."""
    return page.locator(".french button:not(.waiting)").all_inner_texts()


def right(page):
    """How many numbers are right, once all are measured."""
    expect(page.locator(".meter i:not([class])")).to_have_count(0, timeout=20_000)
    expect(page.locator(".meter i[class='']")).to_have_count(0, timeout=20_000)
    return int(page.locator(".count strong").inner_text())


def written(numbers, switches):
    """What the model in PyTorch writes for each of some numbers."""
    english = [NUMBERS.source.spell(number) for number in numbers]
    with broken(TRANSLATOR.model, **switches), torch.no_grad():
        return TRANSLATOR.translate(english, max_length=MOST_WRITTEN)


def count_right(numbers, switches):
    """How many of some numbers the model in PyTorch writes correctly."""
    french = [NUMBERS.texts(number)[1] for number in numbers]
    return sum(a == b for a, b in zip(written(numbers, switches), french, strict=True))
