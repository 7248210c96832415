"""An encoder alone, as BERT has it, and the vector that it makes of a text."""

import warnings
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm

from attnbook.attention import padding_mask
from attnbook.blocks import EncoderBlock
from attnbook.checks import require_at_least_1
from attnbook.decoding import inference
from attnbook.positions import LearnedPositions
from attnbook.text_tokenizers import WordPieceTokenizer
from attnbook.transformer import require_a_length_for_each


class Encoder(nn.Module):
    """``num_layers`` post-norm blocks above an embedding. Every token sees all tokens of its text.

    A token's vector is the sum of three: of the token, of its position, and of its type, which
    tells the first text of a pair from the second. A norm follows.

    Raises ``ValueError`` for less than one layer, and what its parts raise.
    Source: Devlin et al. 2019, https://arxiv.org/abs/1810.04805, section 3 and figure 2.

    >>> model = Encoder(vocabulary_size=9, d_model=8, num_heads=4, num_layers=3, d_ff=16)
    >>> vectors, maps = model(torch.tensor([[3, 4, 5]]), need_weights=True)
    >>> vectors.shape, maps.shape
    (torch.Size([1, 3, 8]), torch.Size([3, 1, 4, 3, 3]))
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        d_ff: int,
        max_length: int = 512,
        num_token_types: int = 2,
        dropout: float = 0.1,
        epsilon: float = 1e-12,
    ) -> None:
        super().__init__()
        require_at_least_1(num_layers=num_layers)
        self.embedding = nn.Embedding(vocabulary_size, d_model)
        self.positions = LearnedPositions(max_length, d_model)
        self.token_types = nn.Embedding(num_token_types, d_model)
        for table in (self.embedding.weight, self.positions.table, self.token_types.weight):
            nn.init.normal_(table, std=0.02)
        self.norm = nn.LayerNorm(d_model, eps=epsilon)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            EncoderBlock(
                d_model=d_model,
                num_heads=num_heads,
                d_ff=d_ff,
                dropout=dropout,
                norm_first=False,
                activation=F.gelu,
                epsilon=epsilon,
            )
            for _ in range(num_layers)
        )

    def forward(
        self,
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"] | Sequence[int] | None = None,
        token_types: Int[Tensor, "batch length"] | None = None,
        *,
        need_weights: bool = False,
    ) -> tuple[
        Float[Tensor, "batch length d_model"],
        Float[Tensor, "layers batch heads length length"] | None,
    ]:
        """A vector for each token and, on request, the weights of all layers and heads.

        ``lengths`` tells tokens from padding; None means no padding. All tokens are of type 0
        unless ``token_types`` says otherwise. Raises ``ValueError`` for texts that are longer than
        ``max_length``, and for more or fewer lengths than texts.
        """
        mask = None
        if lengths is not None:
            require_a_length_for_each(tokens, lengths)
            mask = padding_mask(lengths, tokens.shape[1], device=tokens.device)
        x = self.embedding(tokens)
        types = self.token_types.weight[0] if token_types is None else self.token_types(token_types)
        x = self.dropout(self.norm(x + self.positions(x) + types))
        maps = []
        for block in self.blocks:
            x, weights = block(x, mask, need_weights=need_weights)
            maps.append(weights)
        return x, torch.stack(maps) if need_weights else None


def embed(
    encoder: Encoder,
    tokenizer: WordPieceTokenizer,
    texts: Sequence[str],
    *,
    batch_size: int = 32,
    progress: bool = False,
) -> Float[Tensor, "texts d_model"]:
    """One vector of length 1 for each text: the mean of its tokens' vectors, divided by its length.

    [CLS] and [SEP] count, and padding does not. Texts of similar length share a batch, so little
    is padded. If a text has more tokens than ``encoder`` has positions, a warning says that it is
    cut before [SEP].

    Raises ``TypeError`` for one text instead of several, and ``ValueError`` for a batch size
    below 1.
    Source: Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084, section 3.
    """
    if isinstance(texts, str):
        raise TypeError(f"texts must be a list of texts: got the text {texts!r}")
    require_at_least_1(batch_size=batch_size)
    rows = [tokenizer.encode(text) for text in texts]
    limit = len(encoder.positions.table)
    for i, row in enumerate(rows):
        if len(row) > limit:
            warnings.warn(f"text {i} has {len(row)} tokens and is cut to {limit}", stacklevel=2)
            rows[i] = [*row[: limit - 1], row[-1]]  # the last one is [SEP]
    weight = encoder.embedding.weight
    vectors = weight.new_empty(len(rows), weight.shape[1])
    by_length = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    batches = [by_length[i : i + batch_size] for i in range(0, len(rows), batch_size)]
    with inference(encoder):
        for batch in tqdm(batches, desc="texts", disable=not progress):
            lengths = [len(rows[i]) for i in batch]
            tokens = pad_sequence([torch.tensor(rows[i]) for i in batch], batch_first=True)
            hidden, _ = encoder(tokens.to(weight.device), lengths)
            # (batch, length, 1)
            real = padding_mask(lengths, max(lengths), device=weight.device).mT
            vectors[batch] = F.normalize((hidden * real).sum(dim=1), dim=-1)
    return vectors
