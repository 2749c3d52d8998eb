"""The conditioning encoders: text, the speaker, and the latents that were made so far.

    text:    bytes -> embedding --------------------> blocks (each sees all) -> norm
    latents: 80 channels -> patches of 4 -> in_proj -> blocks (causal) -------> norm

They have no padding and no masks: each encodes one utterance, as long as it is.

Source: Echo-TTS (Darefsky), 2025; Touvron et al., "LLaMA", 2023 (the blocks).
Legend: S positions (bytes or patches), D hidden size, T latents, C channels of a latent.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from menura.engines.echo_tts.config import ROPE_THETA, EncoderConfig
from menura.engines.echo_tts.gated_attention import GatedAttention
from menura.nn.feed_forward import SwiGLU
from menura.nn.norm import RMSNorm
from menura.nn.rotary import PairRotary, Rotation

LATENT_SCALE = 6.0  # the projected patches are divided by it


class EncoderAttention(GatedAttention):
    """Gated self-attention in which every head is turned to its position."""

    def __init__(self, config: EncoderConfig, eps: float, *, is_causal: bool) -> None:
        super().__init__(config.hidden_size, config.n_heads, eps)
        self.is_causal = is_causal

    def forward(self, x: Tensor, rotation: Rotation) -> Tensor:
        """What every position gathers [S, D] from the positions [S, D] that it may see."""
        queries = rotation.turn(self.queries(x).transpose(0, 1)[None])
        keys = rotation.turn(self.keys(x).transpose(0, 1)[None])
        values = self.values(x).transpose(0, 1)[None]
        gathered = F.scaled_dot_product_attention(queries, keys, values, is_causal=self.is_causal)
        return self.closed(gathered[0].transpose(0, 1).flatten(1), x)


class EncoderBlock(nn.Module):
    """Attention and a feed-forward network, each behind a norm and added to its input."""

    def __init__(self, config: EncoderConfig, eps: float, *, is_causal: bool) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.hidden_size, eps, weight_first=True)
        self.attention = EncoderAttention(config, eps, is_causal=is_causal)
        self.feed_forward_norm = RMSNorm(config.hidden_size, eps, weight_first=True)
        self.feed_forward = SwiGLU(config.hidden_size, config.intermediate_size)

    def forward(self, x: Tensor, rotation: Rotation) -> Tensor:
        """The positions [S, D] after this block."""
        x = x + self.attention(self.attention_norm(x), rotation)
        after: Tensor = x + self.feed_forward(self.feed_forward_norm(x))
        return after


class EncoderStack(nn.Module):
    """The blocks and the final norm, at the positions 0, 1, 2, ..."""

    def __init__(self, config: EncoderConfig, eps: float, *, is_causal: bool) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            EncoderBlock(config, eps, is_causal=is_causal) for _ in range(config.n_layers)
        )
        self.final_norm = RMSNorm(config.hidden_size, eps, weight_first=True)
        self.rotary = PairRotary(config.head_dim, ROPE_THETA)

    def forward(self, x: Tensor) -> Tensor:
        """The hidden states [S, D], normed, of inputs [S, D]."""
        rotation = self.rotary(torch.arange(x.shape[0], device=x.device)[None])
        for block in self.blocks:
            x = block(x, rotation)
        hidden: Tensor = self.final_norm(x)
        return hidden


class TextEncoder(nn.Module):
    """The bytes of a text; every byte sees the whole text."""

    def __init__(self, config: EncoderConfig, vocab_size: int, eps: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, config.hidden_size)
        self.stack = EncoderStack(config, eps, is_causal=False)

    def forward(self, ids: Tensor) -> Tensor:
        """The hidden states [S, D] of ids int64 [S]."""
        hidden: Tensor = self.stack(self.embedding(ids))
        return hidden


class LatentEncoder(nn.Module):
    """Latents, a patch of them as one position; a patch sees itself and all before it."""

    def __init__(
        self, config: EncoderConfig, latent_size: int, patch_size: int, eps: float
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.in_proj = nn.Linear(patch_size * latent_size, config.hidden_size)
        self.stack = EncoderStack(config, eps, is_causal=True)

    def forward(self, latents: Tensor) -> Tensor:
        """The hidden states [T / patch, D] of latents [T, C]; T is a multiple of the patch.

        A patch holds its latents one after another, each with all of its channels.
        """
        assert latents.shape[0] % self.patch_size == 0, "the last patch is not full"
        patches = latents.reshape(latents.shape[0] // self.patch_size, -1)
        hidden: Tensor = self.stack(self.in_proj(patches) / LATENT_SCALE)
        return hidden
