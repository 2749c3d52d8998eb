"""A decoder-only transformer: pre-norm blocks of attention and feed-forward, rotary positions.

The blocks are put together from parts, so that models with other norms or networks share them.

Source: Touvron et al., "LLaMA", 2023 (`gated_transformer`); Touvron et al., "Going deeper with
Image Transformers", 2021 (`LayerScale`).
Legend: B rows, T new positions, S all positions with the cached ones, D hidden size.
"""

from collections.abc import Iterable
from typing import Protocol

import torch
from torch import Tensor, nn

from menura.nn.attention import Attention, LayerCache
from menura.nn.feed_forward import SwiGLU
from menura.nn.norm import RMSNorm
from menura.nn.rotary import PairRotary, Rotary, Rotation


class LayerScale(nn.Module):
    """A learnt factor for each channel of what a block adds."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size))

    def forward(self, x: Tensor) -> Tensor:
        """The scaled input [B, T, D]."""
        return self.weight * x


class Block(nn.Module):
    """Attention and a feed-forward network, each behind a norm and added to its input."""

    def __init__(
        self,
        attention: Attention,
        feed_forward: nn.Module,
        norms: tuple[nn.Module, nn.Module],
        scales: tuple[nn.Module, nn.Module] | None = None,
    ) -> None:
        super().__init__()
        self.attention_norm, self.feed_forward_norm = norms
        self.attention = attention
        self.feed_forward = feed_forward
        self.attention_scale, self.feed_forward_scale = scales or (nn.Identity(), nn.Identity())

    def forward(
        self, x: Tensor, rotation: Rotation, mask: Tensor | None, cache: LayerCache | None
    ) -> Tensor:
        """The positions [B, T, D] after this block; `mask` [B or 1, 1, T, S], True = keep."""
        gathered = self.attention(self.attention_norm(x), rotation, mask, cache)
        x = x + self.attention_scale(gathered)
        after: Tensor = x + self.feed_forward_scale(self.feed_forward(self.feed_forward_norm(x)))
        return after


class Transformer(nn.Module):
    """Blocks and a final norm. Positions are given, so that a row may start or go on anywhere."""

    def __init__(
        self, blocks: Iterable[Block], final_norm: nn.Module, rotary: Rotary | PairRotary
    ) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(blocks)
        self.final_norm = final_norm
        self.rotary = rotary

    def forward(
        self,
        x: Tensor,
        positions: Tensor,
        mask: Tensor | None = None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """The hidden states [B, T, D] after the final norm, from inputs [B, T, D].

        `positions` [B, T] are those of the inputs; `mask` is a boolean [B or 1, 1, T, S] over
        all positions, True = keep; without it a position sees itself and all before it.
        """
        rotation = self.rotary(positions).to(x.dtype)
        for block in self.blocks:
            x = block(x, rotation, mask, cache)
        hidden: Tensor = self.final_norm(x)
        return hidden


class TransformerSizes(Protocol):
    """The numbers that `gated_transformer` needs; an engine's own config has them."""

    @property
    def hidden_size(self) -> int:
        """Channels of a position between the blocks."""
        ...

    @property
    def intermediate_size(self) -> int:
        """Inner channels of the feed-forward networks."""
        ...

    @property
    def n_layers(self) -> int:
        """Blocks."""
        ...

    @property
    def n_heads(self) -> int:
        """Query heads."""
        ...

    @property
    def n_kv_heads(self) -> int:
        """Key heads; a divisor of the query heads."""
        ...

    @property
    def head_dim(self) -> int:
        """Channels of a head."""
        ...

    @property
    def norm_eps(self) -> float:
        """What is added to a mean square before its root."""
        ...

    @property
    def rope_theta(self) -> float:
        """The base of the rotary frequencies."""
        ...


def gated_transformer(
    sizes: TransformerSizes,
    *,
    qk_norm: bool,
    layer_scale: bool = False,
    rotary: Rotary | PairRotary | None = None,
) -> Transformer:
    """A transformer with RMSNorm and SwiGLU; with a norm of queries and keys where asked for.

    Without a `rotary` of its own, channel i is paired with i + d/2.
    """
    return Transformer(
        (_gated_block(sizes, layer, qk_norm, layer_scale) for layer in range(sizes.n_layers)),
        RMSNorm(sizes.hidden_size, sizes.norm_eps),
        rotary or Rotary(sizes.head_dim, sizes.rope_theta),
    )


def _gated_block(sizes: TransformerSizes, layer: int, qk_norm: bool, layer_scale: bool) -> Block:
    size, eps = sizes.hidden_size, sizes.norm_eps
    attention = Attention(
        size,
        sizes.n_heads,
        sizes.n_kv_heads,
        sizes.head_dim,
        layer=layer,
        qk_norm_eps=eps if qk_norm else None,
    )
    return Block(
        attention,
        SwiGLU(size, sizes.intermediate_size),
        norms=(RMSNorm(size, eps), RMSNorm(size, eps)),
        scales=(LayerScale(size), LayerScale(size)) if layer_scale else None,
    )
