"""The drawings that the book's pages show, and others with extreme numbers, for their tests."""

import math

import nbformat
import torch
from conftest import ROOT
from examples import PAPER, TREE, TURNS

from attnbook import figures
from attnbook.figures import drawings
from attnbook.figures.drawings import Matrix

TOKENS = ["a_1", "a_2", "a_3", "a_4"]
PINYIN = ["wǒ", "xiǎng", "chī", "suān", "cài", "yú"]
BASE = {"length": 6, "d_model": 512, "num_heads": 8, "d_ff": 2048}
TOKEN = torch.tensor([3.0, 9.0, 11.0, 17.0])
ASKS = torch.tensor([1.0, 1.0])
STATES = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 2.0]])
WORDS, NEWS = ["dog", "bites", "man"], [2, 1, 0]
KEYS, VALUES = torch.tensor([[2.0], [0.0], [1.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [1, 1]])
TWO_HEADS = {
    "weights": torch.tensor([[0.7, 0.0, 0.3], [0.3, 0.0, 0.7]]),
    "values": torch.tensor([[2.0, 1.0], [0.0, 0.0], [4.0, -3.0]]),
    "out_proj": torch.tensor([[1.75, -0.75], [-0.5, 1.25]]),
}
FINDING = {
    "weights": TWO_HEADS["weights"],
    "values": torch.tensor([[2.0, 2.0], [0.0, 0.0], [4.0, 4.0]]),
    "out_proj": torch.tensor([[1.75, -0.75], [-0.75, 1.75]]),
}
NAMED = torch.arange(3)[:, None] + torch.arange(4) / 10  # the token, the feature
SPLITS = {
    "view, transpose": NAMED.view(3, 2, 2).transpose(0, 1),
    "view alone": NAMED.view(2, 3, 2),
}
LESSONS = {
    "source": "two children are playing in the snow .",
    "reads": ["<start>", "zwei", "kinder", "spielen", "im", "schnee", "."],
    "says": ["zwei", "kinder", "spielen", "im", "schnee", ".", "<end>"],
    "chances": torch.tensor([0.93, 0.94, 0.9, 0.5, 0.99, 1.0, 0.004]),
}
NEURONS = {
    "x": torch.tensor([0.5, -1.0, 0.0, 2.0, 1.0, 0.0, 0.0, -2.5]),
    "up_proj": torch.tensor(  # a neuron is a row here, a feature a column
        [
            [3.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            [-2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 3.0, 1.0, 0.0, 0.0],
        ]
    ).T,
    "bias": torch.tensor([-1.0, -2.0, 0.5, 1.0]),  # the second sum is 0
    "down_proj": torch.tensor(
        [
            [0.0, 0.0, 3.0, 0.0, 0.0, 0.0, -2.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0],
            [2.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.5, 0.0, -2.0, 0.0, 0.0],
        ]
    ),
    "features": ["animal", "thing", "drinking", "thirsty", "liquid", "calm", "hot", "cold"],
    "questions": [("An animal", "that drinks?"), ("A thing", "that is drunk?")] * 2,
}


BLOCK = {
    "stages": torch.tensor(
        [
            [1.0, 0.0, 0.5, 0.0, 0.0, 0.0],
            [1.0, 0.0, 1.5, 0.0, 0.25, 0.0],
            [1.0, 2.0, 1.5, 0.0, 0.25, 0.0],
        ]
    ),
    "weights": torch.tensor([0.05, 0.75, 0.2]),
    "words": ["dog", "bites", "man"],
    "word": 2,
    "features": ["animal", "thing", "drinking", "thirsty", "liquid", "calm"],
    "fires": "An animal that drinks?",
}
BOTH_WAYS = {
    "words": ["The", "bank", "was", "robbed"],
    "other": "flooded",
    "asks": 1,
    "readings": [
        drawings.Reading("from left to right", [0.88, 0.12, 0.0, 0.0], 1.0),
        drawings.Reading("in both directions", [0.06, 0.08, 0.04, 0.1], 0.94),
    ],
}
DECIDES = torch.tensor([1.0] * 8 + [0.8] * 8 + [0.0] * 8)  # of the fact, and of the last token
READS_IT = torch.tensor([0.05] * 15 + [0.2] + [0.9] * 8)
PATH = {
    "tokens": ["The", "capital", "of", "France", "is"],
    "shares": torch.cat([torch.zeros(3, 24), torch.stack([DECIDES, READS_IT])]),
    "head": (16, 3),
    "weight": 0.7,
    "moved": 0.5,
    "ranks": {6: 3120, 11: 2999, 16: 96, 23: 1},
    "answers": ("Paris", "Berlin"),
    "other": "Germany",
}
INDUCTION = {
    "words": ["The", "owl", "Zibo", "slept", ".", "Then", "Zibo"],
    "before": ["start", "The", "owl", "Zibo", "slept", ".", "Then"],
    "weights": [0.0, 0.01, 0.04, 0.7, 0.05, 0.1, 0.1],
    "guess": "slept",
}


def paper_example():
    x, *projections = PAPER
    return x, dict(zip(("q_proj", "k_proj", "v_proj"), projections, strict=True))


def six_characters():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(6, 768, generator=generator)
    projections = torch.randn(3, 768, 768, generator=generator) / math.sqrt(768)
    return x, dict(zip(("q_proj", "k_proj", "v_proj"), projections, strict=True))


def weights_of(x, projections, num_heads=1):
    query, key = (
        (x @ projections[name]).unflatten(1, (num_heads, -1)).transpose(0, 1)
        for name in ("q_proj", "k_proj")
    )
    return (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1)


def _gallery():
    x, projections = paper_example()
    large, large_projections = six_characters()
    projection = Matrix(projections["q_proj"], name="W_Q", color=figures.QUERY)
    of_tokens = Matrix(x, name="x", rows=TOKENS, row=1)
    query = Matrix(x @ projections["q_proj"], name="Q", color=figures.QUERY, row=1)
    large_x = Matrix(large, name="x", rows=PINYIN, row=0)
    large_projection = Matrix(large_projections["q_proj"], name="W_Q", color=figures.QUERY)
    large_query = Matrix(
        large @ large_projection.values.float(), name="Q", color=figures.QUERY, row=0
    )
    return {
        "matrices": drawings.matrices(of_tokens, "·", projection, "=", query),
        "product": drawings.product(
            of_tokens, projection, name="Q", color=figures.QUERY, row=1, column=3
        ),
        "score of six features": drawings.score(torch.linspace(-2, 2, 6), torch.ones(6)),
        "layer norm": drawings.layer_norm(TOKEN),
        "layer norm of negative numbers": drawings.layer_norm(-10 * TOKEN),
        "large matrices": drawings.matrices(large_x, "·", large_projection, "=", large_query),
        "large product": drawings.product(large_x, large_projection, name="Q", color=figures.QUERY),
        "looking back": drawings.looking_back(ASKS, STATES, tokens=["forty", "-two", "END"]),
        "induction": drawings.induction(**INDUCTION),
        "path of a fact": drawings.path_of_a_fact(**PATH),
        "both ways": drawings.both_ways(**BOTH_WAYS),
        "in parallel": drawings.in_parallel(["The", "cat", "drank", "its", "milk"], link=(0, 1)),
        "one vector": drawings.encoder_decoder(["forty", "-two"], ["quarante", "-deux"]),
        "all states": drawings.encoder_decoder(
            ["forty", "-two", "END"], ["quarante-deux", "END"], weights=torch.eye(2, 3)
        ),
        "one neuron": drawings.neurons(
            torch.tensor([-1.0]),
            torch.tensor([[-3.0]]),
            torch.tensor([0.5]),
            torch.tensor([[-2.0]]),
            token="it",
            features=["thing"],
            questions=[("Is it", "no thing?")],
        ),
        "four neurons": drawings.neurons(**NEURONS, token="milk"),
        "five marks": drawings.five_marks(),
        "heads add up": drawings.heads_add_up(
            **TWO_HEADS, tokens=["dog", "bites", "man"], answers=["who", "whom"]
        ),
        "heads that find their words": drawings.heads_add_up(
            **FINDING,
            tokens=["dog", "bites", "man"],
            answers=["who", "whom"],
            asks="Who bites? Whom?",
            value_name="sizes",
        ),
        "one block": drawings.one_block(**BLOCK),
        "one block that adds nothing": drawings.one_block(
            torch.tensor([[2.0]] * 3),
            torch.ones(1),
            words=["it"],
            word=0,
            features=["thing"],
            fires="A thing?",
        ),
        "splits": drawings.splits(NAMED, SPLITS, tokens=["token 0", "token 1", "token 2"]),
        "two memories of few blocks": drawings.memories(256, d=64, tile=64, size=4),
        "a latent for one head": drawings.latent(1),
        "a latent for twelve heads": drawings.latent(12),
        "guesses": drawings.guessing("the cat", ["a", "b", "c"], ["a", "x", "c", "d"]),
        "guesses that are all right": drawings.guessing("it", ["a", "b"], ["a", "b", "c"]),
        "turning": drawings.turning(torch.eye(2), **TURNS, words=["its", "cat"]),
        "a word that is turned away": drawings.turning(
            torch.tensor([[1.0, 0.0], [0.8, 0.6]]), torch.eye(2), TURNS["W_Q"], words=["it", "milk"]
        ),
        "own gpt": drawings.own_gpt(),
        "shared heads, one panel": drawings.shared_heads(12, kv_heads=(4,)),
        "teacher forcing": drawings.teacher_forcing(**LESSONS),
        "caching of one": drawings.caching((1,)),
        "beam": drawings.beam_tree("… fotograf kniet", TREE),
        "beam of many steps": drawings.beam_tree("… zwei alte frauen", [TREE[0]] + [TREE[0]] * 4),
        "encoder blocks, norm before and after": drawings.encoder_blocks(**BASE),
        "decoder block": drawings.decoder_block(**BASE),
    }


def _stored():
    """The drawings on the book's pages, by chapter and cell."""
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            for output in cell.get("outputs", []):
                data = output.get("data", {})
                if "image/svg+xml" in data:
                    drawing = drawings.Drawing(data["image/svg+xml"], data["text/plain"])
                    yield f"{path.stem}, {cell.id}", drawing


GALLERY = _gallery()
ALL = dict(_stored()) | GALLERY
