"""Texts as numbers: vocabularies, number words without end, Multi30k, batches of similar length."""

from attnbook.data.batches import (
    Batch,
    EpochSampler,
    Pair,
    PairsOfStep,
    batches_by_length,
    collate,
)
from attnbook.data.multi30k import Multi30k
from attnbook.data.number_words import LANGUAGES, NumberDataset, NumberTokenizer
from attnbook.data.subwords import SubwordTokenizer
from attnbook.data.vocabulary import END, PAD, SPECIAL, START, UNKNOWN, Vocabulary

__all__ = [
    "END",
    "LANGUAGES",
    "PAD",
    "SPECIAL",
    "START",
    "UNKNOWN",
    "Batch",
    "EpochSampler",
    "Multi30k",
    "NumberDataset",
    "NumberTokenizer",
    "Pair",
    "PairsOfStep",
    "SubwordTokenizer",
    "Vocabulary",
    "batches_by_length",
    "collate",
]
