"""The codec's encoder: 24 kHz samples to 16 codes a frame (80 ms), for reference recordings.

    samples -> convolutions with strides (SEANet) -> transformer over all positions (25 Hz)
            -> convolution with stride 2 -> the nearest entries of the residual quantiser

It runs once over a whole clip; attention is quadratic in the clip's length.

Source: Défossez et al. 2024, "Moshi" (the Mimi codec); Tagliasacchi et al. 2020 (SEANet).
Legend: B rows, N samples, C channels, T positions or frames, Q codebooks, D hidden size.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from menura.engines.qwen3_tts.config import CodecEncoderConfig, TransformerConfig
from menura.nn.attention import Attention
from menura.nn.causal_conv import CausalConv1d
from menura.nn.feed_forward import GeluNetwork
from menura.nn.residual_vq import ResidualVQ, SplitResidualVQ
from menura.nn.rotary import Rotary
from menura.nn.transformer import Block, LayerScale, Transformer


class ResidualUnit(nn.Module):
    """x + what a narrowing and a widening convolution make of it, each behind an ELU."""

    def __init__(self, channels: int, config: CodecEncoderConfig) -> None:
        super().__init__()
        narrow = channels // config.compress
        self.narrow = CausalConv1d(channels, narrow, config.residual_kernel_size)
        self.widen = CausalConv1d(narrow, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The unit's output [B, C, T] for x [B, C, T]."""
        out: Tensor = x + self.widen(F.elu(self.narrow(F.elu(x))))
        return out


class DownsamplingBlock(nn.Module):
    """A residual unit, then twice the channels at every `stride`-th step."""

    def __init__(self, channels: int, stride: int, config: CodecEncoderConfig) -> None:
        super().__init__()
        self.unit = ResidualUnit(channels, config)
        self.down = CausalConv1d(channels, 2 * channels, 2 * stride, stride=stride)

    def forward(self, x: Tensor) -> Tensor:
        """The block's output [B, 2 C, ceil(T / stride)] for x [B, C, T]."""
        out: Tensor = self.down(F.elu(self.unit(x)))
        return out


class CodecEncoder(nn.Module):
    """Samples to codes: the first `n_codebooks` of the quantiser, the only ones that are used."""

    def __init__(self, config: CodecEncoderConfig, n_codebooks: int) -> None:
        super().__init__()
        hidden_size = config.transformer.hidden_size
        channels = [config.n_filters * 2**level for level in range(len(config.strides) + 1)]
        self.input_conv = CausalConv1d(1, channels[0], config.kernel_size)
        self.blocks = nn.ModuleList(
            DownsamplingBlock(channels[level], stride, config)
            for level, stride in enumerate(config.strides)
        )
        self.output_conv = CausalConv1d(channels[-1], hidden_size, config.last_kernel_size)
        self.transformer = _transformer(config.transformer)
        self.downsample = CausalConv1d(
            hidden_size,
            hidden_size,
            2 * config.downsample,
            stride=config.downsample,
            bias=False,
            pad_mode="replicate",
        )
        self.quantizer = _quantizer(config, n_codebooks)

    def forward(self, samples: Tensor) -> Tensor:
        """The codes int64 [B, Q, ceil(N / samples_per_frame)] of samples [B, N] in -1..1."""
        hidden = self.input_conv(samples[:, None])
        for block in self.blocks:
            hidden = block(hidden)
        hidden = self.output_conv(F.elu(hidden))
        hidden = self._attend(hidden.transpose(1, 2)).transpose(1, 2)
        return self.quantizer.encode(self.downsample(hidden))

    def _attend(self, x: Tensor) -> Tensor:
        """The hidden states [B, T, D] after the transformer."""
        positions = torch.arange(x.shape[1], device=x.device)
        # parity: the configured window of 250 positions is not applied: all earlier ones are seen.
        mask = positions[:, None] >= positions[None, :]
        out: Tensor = self.transformer(x, positions[None], mask[None, None])
        return out


def _transformer(config: TransformerConfig) -> Transformer:
    """Blocks with layer norms, a GELU network and layer scales; no norm after the last."""
    return Transformer(
        (_block(config, layer) for layer in range(config.n_layers)),
        nn.Identity(),
        Rotary(config.head_dim, config.rope_theta),
    )


def _block(config: TransformerConfig, layer: int) -> Block:
    size = config.hidden_size
    attention = Attention(size, config.n_heads, config.n_kv_heads, config.head_dim, layer=layer)
    return Block(
        attention,
        GeluNetwork(size, config.intermediate_size),
        norms=(nn.LayerNorm(size, eps=config.norm_eps), nn.LayerNorm(size, eps=config.norm_eps)),
        scales=(LayerScale(size), LayerScale(size)),
    )


def _quantizer(config: CodecEncoderConfig, n_codebooks: int) -> SplitResidualVQ:
    def stack(n_stacked: int) -> ResidualVQ:
        return ResidualVQ(
            n_stacked, config.codebook_size, config.quantizer_size, config.transformer.hidden_size
        )

    n_semantic = config.n_semantic_codebooks
    return SplitResidualVQ(stack(n_semantic), stack(n_codebooks - n_semantic))
