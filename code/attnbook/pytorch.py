"""The same layers as PyTorch's own modules: to compare results, and to continue with them."""

from copy import deepcopy
from functools import singledispatch

import torch
from torch import nn

from attnbook.blocks import DecoderBlock, EncoderBlock, blocks_of
from attnbook.multihead import MultiHeadAttention
from attnbook.transformer import Transformer


@singledispatch
def to_pytorch(module: nn.Module) -> nn.Module:
    """Build PyTorch's counterpart of a module of this package, with a copy of its weights.

    ======================  ================================================================
    ``MultiHeadAttention``  ``nn.MultiheadAttention``
    ``EncoderBlock``        ``nn.TransformerEncoderLayer``
    ``DecoderBlock``        ``nn.TransformerDecoderLayer``
    ``Transformer``         ``nn.Transformer``, which has no embeddings and no output projection
    ======================  ================================================================

    All of them are batch first. They do not drop attention weights, because ours do not; modules
    from PyTorch's own constructors do. Their masks are True where attending is **not** allowed:

    >>> from attnbook.attention import causal_mask
    >>> ours = MultiHeadAttention(d_model=4, num_heads=2)
    >>> theirs, x, mask = to_pytorch(ours), torch.randn(1, 3, 4), causal_mask(3)
    >>> torch.allclose(ours(x, mask=mask)[0], theirs(x, x, x, attn_mask=~mask)[0], atol=1e-6)
    True

    Raises ``TypeError`` for any other module, ``ValueError`` for heads that share their keys.
    """
    raise TypeError(f"PyTorch has no counterpart of {type(module).__name__} that we know of")


@to_pytorch.register
@torch.no_grad()
def _attention_to_pytorch(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    if ours.num_kv_heads != ours.num_heads:
        raise ValueError(
            "in PyTorch's module, every head has keys of its own: "
            f"got num_heads={ours.num_heads} and num_kv_heads={ours.num_kv_heads}"
        )
    maps = ours.q_proj, ours.k_proj, ours.v_proj
    bias = ours.out_proj.bias is not None
    theirs = nn.MultiheadAttention(
        ours.out_proj.in_features,
        ours.num_heads,
        dropout=ours.dropout,
        bias=bias,
        batch_first=True,
        dtype=ours.out_proj.weight.dtype,
        device=ours.out_proj.weight.device,
    )
    theirs.in_proj_weight.copy_(torch.cat([linear.weight for linear in maps]))
    theirs.out_proj.load_state_dict(ours.out_proj.state_dict())
    if bias:
        theirs.in_proj_bias.copy_(torch.cat([linear.bias for linear in maps]))
    return theirs.train(ours.training)


@to_pytorch.register
def _encoder_block_to_pytorch(ours: EncoderBlock) -> nn.TransformerEncoderLayer:
    theirs = nn.TransformerEncoderLayer(**_options(ours))
    theirs.self_attn = _attention_to_pytorch(ours.self_attention)
    _copy(ours.attention_residual.norm, theirs.norm1)
    _copy(ours.feed_forward.up_proj, theirs.linear1)
    _copy(ours.feed_forward.down_proj, theirs.linear2)
    _copy(ours.feed_forward_residual.norm, theirs.norm2)
    return theirs.train(ours.training)


@to_pytorch.register
def _decoder_block_to_pytorch(ours: DecoderBlock) -> nn.TransformerDecoderLayer:
    theirs = nn.TransformerDecoderLayer(**_options(ours))
    theirs.self_attn = _attention_to_pytorch(ours.self_attention)
    theirs.multihead_attn = _attention_to_pytorch(ours.cross_attention)
    _copy(ours.self_attention_residual.norm, theirs.norm1)
    _copy(ours.cross_attention_residual.norm, theirs.norm2)
    _copy(ours.feed_forward.up_proj, theirs.linear1)
    _copy(ours.feed_forward.down_proj, theirs.linear2)
    _copy(ours.feed_forward_residual.norm, theirs.norm3)
    return theirs.train(ours.training)


@to_pytorch.register
def _transformer_to_pytorch(ours: Transformer) -> nn.Transformer:
    encoder = blocks_of(ours.encoder, EncoderBlock)
    decoder = blocks_of(ours.decoder, DecoderBlock)
    options = _options(encoder[0])
    # stacks without layers and norm first, since PyTorch would copy one layer to all places
    theirs = nn.Transformer(
        **options,
        custom_encoder=nn.TransformerEncoder(
            _encoder_block_to_pytorch(encoder[0]), 0, enable_nested_tensor=False
        ),
        custom_decoder=nn.TransformerDecoder(_decoder_block_to_pytorch(decoder[0]), 0),
    )
    for blocks, norm, stack in (
        (ours.encoder, ours.encoder_norm, theirs.encoder),
        (ours.decoder, ours.decoder_norm, theirs.decoder),
    ):
        stack.layers = nn.ModuleList(map(to_pytorch, blocks))
        stack.num_layers = len(blocks)
        if options["norm_first"]:
            stack.norm = deepcopy(norm)
    return theirs.train(ours.training)


def _options(block: EncoderBlock | DecoderBlock) -> dict:
    residual = block.feed_forward_residual
    return {
        "d_model": block.feed_forward.up_proj.in_features,
        "nhead": block.self_attention.num_heads,
        "dim_feedforward": block.feed_forward.up_proj.out_features,
        "dropout": residual.dropout.p,
        "activation": block.feed_forward.activation,
        "layer_norm_eps": residual.norm.eps,
        "norm_first": residual.norm_first,
        "batch_first": True,
        "dtype": residual.norm.weight.dtype,
        "device": residual.norm.weight.device,
    }


def _copy(ours: nn.Module, theirs: nn.Module) -> None:
    theirs.load_state_dict(ours.state_dict())
