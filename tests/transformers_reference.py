"""What Hugging Face transformers makes of the same weights and the same lines, stored.

Of the language model as of the encoder.

``python tests/transformers_reference.py`` writes ``transformers_reference.json`` beside this file.
It needs an environment of its own, with ``transformers`` and ``accelerate`` beside what
``requirements.txt`` has, and compares all logits with ours before it stores some of them.

The file of weights says "smollm" of its tokens: each digit alone, then the rule of GPT-2. As of
version 5 transformers does not read this word and leaves digits to the rule of GPT-2, so it gets
them here. A third, plain implementation with regular expressions decides whether this is right.
"""

import itertools
import json
import math
import operator
import random
import zlib
from pathlib import Path

import regex
import safetensors.torch
import torch

from attnbook.texts import TEXTS

STORED = Path(__file__).with_name("transformers_reference.json")
MODEL = "smollm2-135m-instruct"

PROMPTS = (
    "The capital of France is Paris. The capital of Germany is",
    "The animal didn't cross the street because it was too tired.",
    "def fibonacci(n):\n    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)\n",
    "17 + 25 = 42; 1999, 2000, 2001, 2002,",
    "<|im_start|>user\nWas ist ein Schlüssel? 鍵とは何ですか<|im_end|>\n<|im_start|>assistant\n",
)
ENCODER = "all-minilm-l6-v2"
BERT = {
    "vocab_size": 30522,
    "hidden_size": 384,
    "num_attention_heads": 12,
    "num_hidden_layers": 6,
    "intermediate_size": 1536,
}
COLUMNS = range(0, 49152, 997)  # the scores that are stored: of 50 tokens

INGREDIENTS = """\
the attention of a model it's we'll they'd I'm don't Query key VALUE naïve Straße façade
snake_case camelCase http://example.org/a?b=c#d user@example.org 3.14 1,000,000 -42 1e-9 0x1F
½ ² ٣ ৪ Ⅷ ① 100% $5 §7 → ≤ ∑ 你好 世界 注意力 こんにちは カタカナ 안녕하세요
Привет мир שלום مرحبا नमस्ते ไทย Ελληνικά 😀 👩\u200d👩\u200d👧 🇩🇪 é e\u0301
\u00a0 \u200b \u3000 \ufeff ... !!! ?! " ' ` ~ // /* */ <!-- --> \\n {} [] () => :: +=
<|im_end|> <|endoftext|> <repo_name> <|unknown|> aaaaaaaaaaaaaaaa lorem ipsum"""
WORDS = INGREDIENTS.replace("\n", " ").split(" ")
SPACES = (" ", " ", " ", " ", "  ", "    ", "\t", "\n", "\n\n", " \n", "\r\n", "", "")


def varied_lines() -> list[str]:
    """A thousand texts: words, code, digits, scripts, signs and spaces in every mixture."""
    rng = random.Random(0)
    lines = []
    for _ in range(800):
        words = [rng.choice(WORDS) + rng.choice(SPACES) for _ in range(rng.randint(1, 12))]
        lines.append(rng.choice(SPACES) + "".join(words))
    for _ in range(100):
        lines.append("".join(chr(rng.randint(1, 0x24F)) for _ in range(rng.randint(1, 30))))
    for _ in range(50):
        lines.append("".join(rng.choice("0123456789 .,-") for _ in range(rng.randint(1, 30))))
    while len(lines) < 1000:
        code = rng.randint(0x250, 0x1FFFF)
        if not 0xD800 <= code < 0xE000:
            lines.append(f"a{chr(code)} {chr(code)}{chr(code)}9")
    return lines


ENCODED = (*PROMPTS, *TEXTS[:20], *varied_lines()[:24], "")

ONE_DIGIT = regex.compile(r"\p{N}|\P{N}+")
GPT2 = regex.compile(r"'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def plain_encode(text: str, numbers: dict[str, int], ranks: dict, special: list[str]) -> list[int]:
    """Byte pair encoding, word for word and as slow as it reads."""
    tokens = []
    for part in regex.split("(" + "|".join(map(regex.escape, special)) + ")", text):
        if part in special:
            tokens.append(numbers[part])
            continue
        for piece in (p for some in ONE_DIGIT.findall(part) for p in GPT2.findall(some)):
            symbols = [as_character(byte) for byte in piece.encode()]
            while len(symbols) > 1:
                pairs = list(itertools.pairwise(symbols))
                first = min(range(len(pairs)), key=lambda i: ranks.get(pairs[i], math.inf))
                if pairs[first] not in ranks:
                    break
                symbols[first : first + 2] = ["".join(pairs[first])]
            # a few control characters are in no token, and are left out
            tokens += [numbers[symbol] for symbol in symbols if symbol in numbers]
    return tokens


def as_character(byte: int) -> str:
    """The visible character that stands for a byte in the vocabulary, as GPT-2 has it."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    if byte in visible:
        return chr(byte)
    return chr(0x100 + [b for b in range(256) if b not in visible].index(byte))


def mark(tokens: list[int]) -> int:
    """A number that nearly always differs if tokens do."""
    return zlib.crc32(",".join(map(str, tokens)).encode())


@torch.no_grad()
def encoder_reference() -> dict:
    """What BertModel makes of the encoder's weights: padded to the longest text, and alone."""
    import transformers

    from attnbook import pretrained

    ours, tokenizer = pretrained.load(ENCODER)
    folder = pretrained.fetch(ENCODER)[0].parent
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    theirs = transformers.BertModel(transformers.BertConfig(**BERT)).eval()
    theirs.load_state_dict(weights | {"embeddings.position_ids": torch.arange(512)[None]}, False)
    their_tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]"
    )
    their_tokenizer.backend_tokenizer.no_truncation()
    assert len(ENCODED) == 50
    tokens = [tokenizer.encode(text) for text in ENCODED]
    assert tokens == their_tokenizer(list(ENCODED), padding=False)["input_ids"]
    lengths = [len(row) for row in tokens]
    padded = torch.zeros(len(tokens), max(lengths), dtype=torch.long)
    for row, given in zip(padded, tokens, strict=True):
        row[: len(given)] = torch.tensor(given)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    together, _ = ours(padded, lengths)
    wanted = theirs(padded, attention_mask=mask.long()).last_hidden_state
    largest = (together - wanted)[mask].abs().max().item()
    for row, expected, length in zip(tokens, wanted, lengths, strict=True):
        alone, _ = ours(torch.tensor([row]))
        largest = max(largest, (alone[0] - expected[:length]).abs().max().item())
    print(f"the encoder's vectors differ by at most {largest:.2g}")
    vectors = [row[:n].mean(dim=0) for row, n in zip(wanted, lengths, strict=True)]
    return {
        "largest_difference": float(f"{largest:.2g}"),
        "marks": [mark(row) for row in tokens],
        "means": [[round(x, 5) for x in row[::24].tolist()] for row in vectors],
    }


@torch.no_grad()
def main() -> None:
    """Compare, then store."""
    import gguf
    import transformers
    from tokenizers import pre_tokenizers

    from attnbook import pretrained

    torch.set_num_threads(1)
    model, tokenizer = pretrained.load(MODEL)
    (path,) = pretrained.fetch(MODEL)
    source = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}
    their_tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    theirs.eval()

    lines = varied_lines()
    stock = [their_tokenizer.encode(line, add_special_tokens=False) for line in lines]
    backend = their_tokenizer.backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), backend.pre_tokenizer]
    )
    their_tokens = [their_tokenizer.encode(line, add_special_tokens=False) for line in lines]
    fields = gguf.GGUFReader(path).fields
    numbers = {t: i for i, t in enumerate(fields["tokenizer.ggml.tokens"].contents())}
    merges = fields["tokenizer.ggml.merges"].contents()
    ranks = {tuple(merge.split(" ")): i for i, merge in enumerate(merges)}
    plain = [plain_encode(line, numbers, ranks, [*tokenizer.special]) for line in lines]
    ours = [tokenizer.encode(line) for line in lines]
    assert plain == their_tokens, "transformers and the plain rule differ"
    for line, a, b in zip(lines, ours, plain, strict=True):
        if a != b:
            print(repr(line), a, b)
    print(f"tokens differ in {sum(map(operator.ne, ours, plain))} of {len(lines)} lines")
    without = [line for line, a, b in zip(lines, stock, plain, strict=True) if a != b]
    assert all(regex.search(r"\p{N}", line) for line in without)
    print(f"without the rule for digits transformers differs in {len(without)}, all with digits")

    prompts, largest = [], 0.0
    for text in PROMPTS:
        tokens = their_tokenizer.encode(text, add_special_tokens=False)
        wanted = theirs(torch.tensor([tokens])).logits[0]
        ours, _ = model(torch.tensor([tokens]))
        difference = (ours[0] - wanted).abs().max().item()
        print(f"{len(tokens)} tokens: logits differ by at most {difference:.2g}")
        largest = max(largest, difference)
        scores = [[round(x, 4) for x in row] for row in wanted[:, COLUMNS].tolist()]
        best = wanted.argmax(dim=-1).tolist()
        prompts.append({"text": text, "tokens": tokens, "best": best, "scores": scores})
    content = {
        "made_with": f"transformers {transformers.__version__}, torch {torch.__version__}",
        "largest_difference": float(f"{largest:.2g}"),
        "prompts": prompts,
        "marks": [mark(tokens) for tokens in their_tokens],
        "encoder": encoder_reference(),
    }
    rows = json.dumps(content, ensure_ascii=True)
    STORED.write_text(rows.replace("], [", "],\n[").replace("}, {", "},\n{") + "\n", "utf8")


if __name__ == "__main__":
    main()
