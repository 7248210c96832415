"""What interactive figures cannot show is refused by an error that names the values."""

import re

import pytest
import torch
from examples import (
    ASKING,
    BOOK,
    COLUMNS,
    FACT,
    HANDED,
    INDUCTION,
    LIKELIEST,
    OF_HEADS,
    OF_TWIN,
    PAPER,
    ROLES,
    ROWS,
    SCORES,
    WEIGHTS,
)

from attnbook.figures import interactive


def asked_query(keys, values, query=(1, 1), labels=None):
    labels = labels or ["x"] * len(keys)
    return interactive.query(keys, values, query=query, labels=labels, alt="")


def mapped(weights=WEIGHTS, rows=ROWS, columns=COLUMNS, **options):
    return interactive.attention_map(weights, rows=rows, columns=columns, alt="", **options)


def decoded(weights=WEIGHTS[0, 0], likeliest=LIKELIEST, written=ROWS):
    options = {"source": COLUMNS, "written": written, "likeliest": likeliest, "alt": ""}
    return interactive.decoding(weights, **options)


def scaled(query, key, factor=1.0):
    return interactive.scale(torch.ones(query), factor * torch.ones(key), alt="")


def online(scores, values):
    return interactive.online_softmax(scores, values, alt="")


def dragged(words, *scores):
    numbers = torch.tensor(scores)
    return interactive.softmax(numbers, words=words, alt="")


def permuted(tokens, embeddings, positions, factor=1.0, order=None):
    vectors = factor * torch.ones(embeddings), torch.ones(positions)
    places = {"positions": vectors[1], "order": range(tokens) if order is None else order}
    return interactive.permutation(vectors[0], tokens=["x"] * tokens, **places, alt="")


def clocks(d_model, length):
    return interactive.clocks(d_model=d_model, length=length, alt="")


def stretch(d_features=16, pairs=6, trained_length=32):
    sizes = {"d_features": d_features, "pairs": pairs, "trained_length": trained_length}
    return interactive.stretch(**sizes, alt="")


def turned(query=6, key=6, tokens="abc", asks=2, found=0, d_features=6, factor=1.0):
    vectors = factor * torch.ones(query), torch.ones(key)
    places = {"asks": asks, "found": found}
    return interactive.rotary(*vectors, tokens=tokens, d_features=d_features, **places, alt="")


def waves(*shape, tokens="ab"):
    return interactive.waves(torch.ones(shape), tokens=tokens, d_model=6, alt="")


def followed(tokens, x, *projections, follow=0, factor=1.0):
    tensors = factor * torch.ones(x), *map(torch.ones, projections)
    return interactive.token(*tensors, tokens=["x"] * tokens, follow=follow, alt="")


def headed(*texts, link=(3, 1)):
    return interactive.all_heads(*texts, link=link, alt="")


def carried(**options):
    return interactive.path_of_a_fact(**FACT | options)


def repeated(**options):
    return interactive.induction(**INDUCTION | options)


def sampled(*shapes, factor=1.0):
    prompts = {(i,): factor * torch.ones(shape) for i, shape in enumerate(shapes)}
    return interactive.sampling(prompts, decode=str, alt="")


def asked(**options):
    return interactive.asking(**ASKING | {"asks": "cat", "view": "row", "alt": ""} | options)


def removed(**options):
    return interactive.roles(**ROLES | {"asks": "cat", "alt": ""} | options)


ONE_NAN = WEIGHTS[0, 0].clone()
ONE_NAN[2, 1] = torch.nan
FITS = (4, 2), (2, 4), (2, 4), (2, 2)  # the shapes of four tokens to follow
TWO = {"x": "One.", "y": "The other."}
LONG = torch.ones(13, 2)
TWO_BY_FOUR = torch.ones(4, 2, dtype=torch.int64)
REFUSED = [
    (lambda: repeated(words="abc"), "3 × 3 for 3 words: got (4, 4)"),
    (lambda: repeated(matches=torch.full((4, 4), torch.nan)), "matches must be finite: got nan"),
    (lambda: repeated(words="ab", notes=torch.eye(2), matches=torch.eye(2)), "got 2"),
    (lambda: asked_query(torch.ones(3, 3), torch.ones(3)), "got (3, 3)"),
    (lambda: asked_query(torch.ones(3, 2), torch.ones(3), labels="ab"), "2 labels"),
    (lambda: asked_query(LONG, LONG[:, 0]), "got 13"),
    (lambda: asked_query(LONG[:3], LONG[:3, 0], [1, 1, 1]), "got shape (3,)"),
    (lambda: asked_query(LONG[:3], LONG[:3, 0], [1, torch.inf]), "query must be finite: got inf"),
    (lambda: interactive.rivals({"ALiBi": (1.0, 1.0)}, alt=""), "sinusoids: got ALiBi"),
    (lambda: scaled((8,), (3, 8)), "got (8,) and (3, 8)"),
    (lambda: scaled((1, 8), (2, 3, 8)), "got (1, 8) and (2, 3, 8)"),
    (lambda: scaled((1, 8), (1, 13, 8)), "(1, 13, 8)"),
    (lambda: scaled((1, 4), (1, 3, 4), torch.nan), "key must be finite: got nan"),
    (lambda: mapped(start=(2, 0)), "no start (2, 0)"),
    (lambda: mapped(torch.zeros(2, 3), "abc", "abc"), "3 rows and 3 columns"),
    (lambda: mapped(torch.zeros(51, 1), "x" * 51, "x"), "51 rows and 1 columns"),
    (lambda: mapped(ONE_NAN), "weights must be finite: got nan"),
    (
        lambda: decoded(likeliest=[[(token, torch.inf)] for token in ROWS]),
        "must be finite: got inf",
    ),
    (lambda: decoded(written=["a", "b"], likeliest=[[]]), "2 written tokens"),
    (lambda: online(SCORES, HANDED[:6]), "got shapes (7,) and (6,)"),
    (lambda: online(torch.zeros(9), torch.zeros(9)), "2 to 8 scores"),
    (lambda: online(SCORES / 0, HANDED), "scores must be finite: got inf"),
    (lambda: online(SCORES, 1000 * HANDED), "must lie within ±100: got 100000"),
    (lambda: dragged("abcd", 1.0, 2.0, 3.0, 4.0), "got 4 words"),
    (lambda: dragged("ab", 1.0, 2.0, 3.0), "got 2 words and shape (3,)"),
    (lambda: dragged("ab", 1.0, 4.5), "between −4 and 4: got [1.0, 4.5]"),
    (lambda: dragged("ab", 1.0, torch.nan), "scores must be finite: got nan"),
    (lambda: permuted(3, (3, 4), (3, 4), order=[0, 2, 2]), "order must list each of 3 tokens once"),
    (lambda: permuted(6, (6, 4), (6, 4)), "got 6 tokens"),
    (lambda: permuted(3, (4, 4), (4, 4)), "got 3 tokens, embeddings of shape (4, 4)"),
    (lambda: permuted(3, (3, 9), (3, 9)), "embeddings of shape (3, 9)"),
    (lambda: permuted(3, (3, 4), (4, 4)), "positions of shape (4, 4)"),
    (lambda: permuted(3, (3, 2), (3, 2), factor=torch.nan), "embeddings must be finite: got nan"),
    (lambda: stretch(pairs=1), "at most half of d_features: got pairs=1 and d_features=16"),
    (lambda: stretch(d_features=8), "at most half of d_features: got pairs=6 and d_features=8"),
    (lambda: turned(key=4), "got shapes (6,) and (4,), and d_features=6"),
    (lambda: turned(d_features=4), "and d_features=4"),
    (lambda: turned(asks=0), "got 3 tokens, found=0 and asks=0"),
    (lambda: turned(tokens="x" * 11), "got 11 tokens"),
    (lambda: turned(tokens="x" * 10, d_features=512), "rotates by 497° over 10 tokens"),
    (lambda: turned(factor=torch.inf), "query must be finite: got inf"),
    (lambda: stretch(trained_length=7), "trained_length must be from 8 to 128: got 7"),
    (lambda: interactive.cache([], first="GPT", alt=""), "first must be one of []: got 'GPT'"),
    (lambda: clocks(5, 9), "d_model must be even and from 2 to 512: got 5"),
    (lambda: clocks(514, 9), "got 514"),
    (lambda: clocks(4, 501), "got 501"),
    (lambda: waves(1, 4), "2 to 16 words of 2, 4, 6 or 8 features"),
    (lambda: waves(2, 5), "got shape (2, 5) and d_model=6"),
    (lambda: waves(2, 8), "got shape (2, 8) and d_model=6"),
    (lambda: waves(2, 4, tokens="abc"), "got 3 tokens and 2 words"),
    (lambda: followed(7, (7, 2), *FITS[1:]), "got 7 tokens and (2, 4, 2)"),
    (lambda: followed(4, (4, 2), (2, 5), (2, 5), (2, 2)), "got 4 tokens and (2, 5, 2)"),
    (lambda: followed(4, *FITS[:2], (2, 3), (2, 2)), "(4, 2), (2, 4), (2, 3), (2, 2)"),
    (lambda: followed(4, (4, 2), (3, 4), (3, 4), (2, 2)), "needs x of shape (tokens, d_model)"),
    (lambda: followed(3, *FITS), "got 3 tokens and (4, 2)"),
    (lambda: followed(4, *FITS, follow=4), "follow must be from 0 to 3: got 4"),
    (
        lambda: interactive.token(*PAPER[:3], PAPER[3] / 0, tokens="abcd", alt=""),
        "W_V must be finite: got inf",
    ),
    (lambda: followed(4, *FITS, factor=1000), "numbers up to 999 fit into the cells: got"),
    (lambda: interactive.transformer(here="decoder"), "here must be one of source, target,"),
    (lambda: interactive.predict(options={"x": "One."}, right="x"), "two or more options"),
    (lambda: interactive.predict(options=TWO, right="z"), "one of them right: got "),
    (lambda: headed(), "needs at least one text: got none"),
    (lambda: headed((BOOK, OF_HEADS), link=(1, 3)), "0 to 4, to itself or to an earlier one"),
    (lambda: headed((BOOK[:4], OF_HEADS)), "got (3, 4, 5, 5) for 4 tokens"),
    (lambda: headed((BOOK, OF_HEADS.mT)), "no token may look at a later one"),
    (lambda: headed((BOOK, 2 * OF_HEADS)), "weights must be from 0 to 1: got 0.0 to 2.0"),
    (lambda: headed((BOOK, OF_HEADS), (BOOK, OF_HEADS[:2])), "need the same blocks and heads"),
    (lambda: headed((BOOK, OF_HEADS), (BOOK, OF_TWIN)), "first 5 tokens are equal, but their w"),
    (lambda: headed((BOOK, OF_HEADS * torch.nan)), "weights must be finite: got nan"),
    (lambda: carried(ranks=[3, 2, 1]), "got 2 tokens, 3 ranks and 4 guesses"),
    (lambda: carried(chances=FACT["chances"][:1]), "got 1 tokens, 4 ranks and 4 guesses"),
    (lambda: carried(chances=FACT["chances"] * torch.nan), "chances must be finite: got nan"),
    (lambda: interactive.caching("abc"), "needs 4 to 9 words: got ['a', 'b', 'c']"),
    (lambda: interactive.caching("abcd", prompt=3), "a prompt of 1 to 2 words: got 3"),
    (lambda: sampled(), "got 0 texts"),
    (lambda: sampled(8), "vocabulary of more than 8 tokens: got 1 texts"),
    (lambda: sampled(20, 30), "with logits of the shapes [(20,), (30,)]"),
    (lambda: sampled((1, 20)), "with logits of the shapes [(1, 20)]"),
    (lambda: sampled(20, factor=torch.nan), "logits must be finite: got nan"),
    (lambda: asked(keys=torch.ones(3, 3)), "got [(4, 3), (3, 3), (4, 2)] for 4 words"),
    (lambda: asked(hands=["soft"]), "of the shapes [(4, 3), (4, 3), (4, 1)]"),
    (lambda: asked(**dict.fromkeys(("queries", "keys"), TWO_BY_FOUR), features="ab"), "got 2"),
    (lambda: asked(values=-ASKING["values"]), "all numbers must be 0 or more: got -5"),
    (lambda: asked(asks="cow"), "asks first must be one of"),
    (lambda: removed(x=torch.ones(4, 2)), "got [(4, 2), (3, 2), (3, 2), (3, 2)] for 4 words"),
    (lambda: removed(hands=["soft"]), "[(4, 3), (3, 2), (3, 2), (3, 1)]"),
    (lambda: removed(W_K=-ROLES["W_K"]), "all numbers must be 0 or more: got -2"),
    (lambda: removed(asks="cow"), "asks first must be one of"),
    (lambda: interactive.stack([]), "at least one number, from 0 to 99,999: got []"),
    (lambda: interactive.stack([7, 100_000]), "0 to 99,999: got [7, 100000]"),
    (lambda: interactive.break_translator(481, show=["nrom"]), "there is no switch nrom"),
    (lambda: interactive.break_translator(100_000), "a number from 0 to 99,999: got 100000"),
]


@pytest.mark.usefixtures("no_shape_checks")
@pytest.mark.parametrize(("make", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_what_does_not_fit_is_refused_with_its_values(make, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        make()
