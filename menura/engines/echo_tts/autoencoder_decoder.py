"""The autoencoder's decoder: 1024 channels, four positions a latent, to 44.1 kHz samples.

    channels -> convolution -> four blocks of an upsampling and residual units -> Snake
             -> convolution -> tanh -> samples

Source: specification section 5 (Fish S1-DAC); Kumar et al. 2023 (DAC).
Legend: B rows, N samples, C channels, T positions.
"""

import torch
from torch import Tensor, nn

from menura.engines.echo_tts.config import AutoencoderConfig
from menura.engines.echo_tts.windowed_transformer import CausalState
from menura.nn.causal_conv import CausalConv1d, ConvMemory, pieces_of
from menura.nn.codec_blocks import KERNEL, UpsamplingBlock
from menura.nn.snake import Snake

# A block's output is made in tiles of so many values, so that it stays in the processor's cache.
TILE_VALUES = 2**21


class AutoencoderDecoder(nn.Module):
    """Channels to samples. With a state, a clip's pieces one after another; without, a clip."""

    def __init__(self, config: AutoencoderConfig) -> None:
        super().__init__()
        widths = [
            config.decoder_width // 2**level for level in range(len(config.decoder_rates) + 1)
        ]
        self.input_conv = CausalConv1d(config.latent_dim, config.decoder_width, KERNEL)
        self.blocks = nn.ModuleList(
            UpsamplingBlock(widths[level], widths[level + 1], rate, Snake)
            for level, rate in enumerate(config.decoder_rates)
        )
        self._tile_steps = [
            TILE_VALUES // (width * rate)
            for width, rate in zip(widths[1:], config.decoder_rates, strict=True)
        ]
        self.output_act = Snake(widths[-1])
        self.output_conv = CausalConv1d(widths[-1], 1, KERNEL)

    def forward(self, hidden: Tensor, state: CausalState | None = None) -> Tensor:
        """The samples [B, N] in -1..1 of channels [B, C, T]; N = T * the rates' product."""
        memory = state.memory if state else ConvMemory()
        return self._walk(self.input_conv(hidden, memory), 0, memory)

    def _walk(self, hidden: Tensor, level: int, memory: ConvMemory) -> Tensor:
        """The samples [B, N] of what comes into this level [B, C, T], tile by tile."""
        if level == len(self.blocks):
            samples: Tensor = self.output_conv(self.output_act(hidden), memory)
            return samples.squeeze(1).tanh_()
        block = self.blocks[level]
        tiles = pieces_of(hidden, self._tile_steps[level])
        return torch.cat([self._walk(block(tile, memory), level + 1, memory) for tile in tiles], -1)
