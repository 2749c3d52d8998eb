"""The autoencoder's bottleneck: the encoder's positions to latents of codes, and back.

    encoder's channels -> strides with ConvNeXt -> windowed transformer (`pre`)
                       -> one semantic codebook, then nine residual ones -> z_q
    z_q -> windowed transformer (`post`) -> upsampling with ConvNeXt -> decoder's channels

z_q is the sum of the chosen entries; the diffusion model speaks a linear projection of it. Both
ways are causal.

Source: specification section 5 (Fish S1-DAC).
Legend: B rows, C channels, T latents, P positions of encoder and decoder (4 T), Q codebooks.
"""

import torch
from torch import Tensor, nn

from menura.engines.echo_tts.config import AutoencoderConfig
from menura.engines.echo_tts.windowed_transformer import CausalState, WindowedTransformer
from menura.nn.causal_conv import CausalConv1d, ConvMemory
from menura.nn.codec_blocks import LatentUpsampling
from menura.nn.convnext import ConvNeXtBlock
from menura.nn.residual_vq import FactorizedResidualVQ

N_SEMANTIC = 1


class LatentDownsampling(nn.Module):
    """Every `ratio`-th step of the channels, then a ConvNeXt block."""

    def __init__(self, channels: int, ratio: int) -> None:
        super().__init__()
        self.down = CausalConv1d(channels, channels, ratio, stride=ratio)
        self.mix = ConvNeXtBlock(channels)

    def forward(self, x: Tensor, memory: ConvMemory | None = None) -> Tensor:
        """The channels [B, C, ceil(T / ratio)] of a clip x [B, C, T], or of its next piece."""
        out: Tensor = self.mix(self.down(x, memory), memory)
        return out


class Quantizer(nn.Module):
    """Channels to codes, codes to z_q, and z_q to channels."""

    def __init__(self, config: AutoencoderConfig) -> None:
        super().__init__()
        size = config.latent_dim
        self.downsampling = nn.ModuleList(
            LatentDownsampling(size, factor) for factor in config.downsample_factors
        )
        self.pre = WindowedTransformer(config.quantizer_transformer)
        self.semantic = FactorizedResidualVQ(
            N_SEMANTIC, config.semantic_codebook_size, config.codebook_dim, size
        )
        self.residual = FactorizedResidualVQ(
            config.n_codebooks, config.codebook_size, config.codebook_dim, size
        )
        self.post = WindowedTransformer(config.quantizer_transformer)
        self.upsampling = nn.ModuleList(
            LatentUpsampling(size, factor) for factor in reversed(config.downsample_factors)
        )

    def encode(self, hidden: Tensor, state: CausalState | None = None) -> Tensor:
        """The codes int64 [B, Q, T] of the encoder's channels [B, C, P]; the semantic one first."""
        for stage in self.downsampling:
            hidden = stage(hidden, state.memory if state else None)
        hidden = self.pre(hidden, state)
        semantic, described = self.semantic.encode(hidden)
        residual, _ = self.residual.encode(hidden - described)
        return torch.cat([semantic, residual], dim=1)

    def decode(self, codes: Tensor) -> Tensor:
        """z_q [B, C, T]: the sum of the entries of codes [B, Q, T]."""
        semantic = self.semantic.decode(codes[:, :N_SEMANTIC])
        return semantic + self.residual.decode(codes[:, N_SEMANTIC:])

    def upsample(self, z_q: Tensor, state: CausalState | None = None) -> Tensor:
        """The decoder's channels [B, C, P] of z_q [B, C, T]."""
        hidden: Tensor = self.post(z_q, state)
        for stage in self.upsampling:
            hidden = stage(hidden, state.memory if state else None)
        return hidden
