"""The language model in one file: it is the book's, and it runs with the functions of learners."""

import inspect
import re
import textwrap

import pytest
import torch

from attnbook import data, gpt
from attnbook.exercises import check
from attnbook.figures import drawings
from attnbook.gpt import END, GPT, PAD, PARTS, START
from attnbook.language_model import LanguageModel, generate

SIZES = {"d_model": 24, "num_heads": 6, "num_kv_heads": 3, "num_layers": 3, "d_ff": 40}


def both(seed, parts=None):
    """The book's model with random weights, its norms included, and the one in one file."""
    torch.manual_seed(seed)
    book = LanguageModel(vocabulary_size=30, rotary_base=300.0, epsilon=1e-3, **SIZES).eval()
    for parameter in book.parameters():
        if parameter.ndim == 1:
            torch.nn.init.normal_(parameter, mean=1, std=0.3)
    return book, GPT.from_book(book, parts)


@pytest.mark.parametrize("seed", range(3))
def test_it_gives_the_scores_of_the_books_model_and_writes_its_tokens(seed):
    book, own = both(seed)
    tokens = torch.randint(3, 30, (2, 9))
    with torch.no_grad():
        torch.testing.assert_close(own(tokens), book(tokens)[0], atol=1e-5, rtol=1e-4)
    prompt = tokens[0].tolist()
    right = list(generate(book, prompt, max_new_tokens=12, end_tokens=[END]))
    assert own.write(prompt, 12) == right
    assert own.write(prompt, 1) == right[:1]


def test_its_loss_is_that_of_the_next_tokens_without_padding():
    _, own = both(0)
    texts = torch.tensor([[7, 8, 9], [5, PAD, PAD]])
    with torch.no_grad():
        scores = own(torch.tensor([[START, 7, 8, 9]]))[0].log_softmax(dim=-1)
        short = own(torch.tensor([[START, 5]]))[0].log_softmax(dim=-1)
        nats = [*scores[range(4), [7, 8, 9, END]], *short[range(2), [5, END]]]
        assert own.loss(texts).item() == pytest.approx(-sum(nats).item() / 6, rel=1e-5)


@pytest.mark.parametrize("number", PARTS)
def test_it_runs_with_the_function_of_a_learner(number):
    asked = []

    def of_a_learner(*arguments):
        asked.append(number)
        return PARTS[number](*arguments)

    _, own = both(0, {number: of_a_learner})
    own.loss(torch.tensor([[7, 8, 9]]))
    own.write([START], 3)
    assert asked


@pytest.mark.parametrize("number", PARTS)
def test_the_books_part_answers_its_exercise(number):
    assert check(number, PARTS[number]).passed


def test_its_tokens_and_its_drawing_are_those_of_the_book():
    assert (gpt.PAD, gpt.START, gpt.END) == (data.PAD, data.START, data.END)
    assert {*re.findall(r"\((\d+\.\d+)\)", drawings.own_gpt().alt)} == {*PARTS}


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"parts": {"7.4": print}}, r"no part is exercise '7\.4': the parts are \['6\.4'"),
        ({"num_heads": 5}, "got d_model=24, num_heads=5 and num_kv_heads=3"),
        ({"num_kv_heads": 4}, "got d_model=24, num_heads=6 and num_kv_heads=4"),
    ],
)
def test_a_model_that_cannot_be_built_is_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        GPT(vocabulary_size=9, **SIZES | sizes)


@pytest.mark.parametrize("shown", [gpt.Block, GPT.forward, GPT.loss, GPT.write])
def test_what_the_page_shows_is_as_narrow_as_the_code_of_notebooks(shown):
    lines = textwrap.dedent(inspect.getsource(shown)).splitlines()
    assert max(map(len, lines)) <= 80


def test_what_it_cannot_continue_or_copy_is_refused():
    with pytest.raises(ValueError, match="at least one token: got none"):
        both(0)[1].write([], 3)
    without = LanguageModel(vocabulary_size=9, rotary_base=None, **SIZES)
    with pytest.raises(ValueError, match="got rotary_base=None"):
        GPT.from_book(without)


def test_functions_of_learners_may_calculate_in_float64_and_ask_twice():
    def in_double(x, start, base):
        return PARTS["6.4"](x.double(), start, base)

    def asks_twice(scores_of, max_length):
        tokens = [START]
        while scores_of(tokens).argmax() != END and len(tokens) <= max_length:
            tokens.append(int(scores_of(tokens).argmax()))
        return torch.tensor(tokens[1:])

    book, own = both(0, {"6.4": in_double, "9.4": asks_twice})
    prompt = [7, 8, 9]
    assert own.write(prompt, 12) == list(
        generate(book, prompt, max_new_tokens=12, end_tokens=[END])
    )
    assert own(torch.tensor([prompt])).dtype == torch.float32
