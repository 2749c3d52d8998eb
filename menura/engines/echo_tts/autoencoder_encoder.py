"""The autoencoder's encoder: 44.1 kHz samples to 1024 channels, four positions a latent.

    samples -> convolution -> four blocks of residual units and a stride -> windowed transformer
            -> Snake -> convolution

Every layer is causal, so a clip may be walked in pieces with a `CausalState`: the same channels up
to rounding, in the memory of one piece.

Source: specification section 5 (Fish S1-DAC); Kumar et al. 2023 (DAC).
Legend: B rows, N samples, C channels, T positions.
"""

from torch import Tensor, nn

from menura.engines.echo_tts.config import AutoencoderConfig
from menura.engines.echo_tts.windowed_transformer import CausalState, WindowedTransformer
from menura.nn.causal_conv import CausalConv1d, ConvMemory
from menura.nn.codec_blocks import DILATIONS, KERNEL, ResidualUnit
from menura.nn.snake import Snake

LAST_KERNEL = 3


class DownsamplingBlock(nn.Module):
    """Residual units of growing reach, then twice the channels at every `rate`-th step."""

    def __init__(self, channels: int, rate: int) -> None:
        super().__init__()
        self.units = nn.ModuleList(
            ResidualUnit(channels, dilation, Snake) for dilation in DILATIONS
        )
        self.act = Snake(channels)
        self.down = CausalConv1d(channels, 2 * channels, 2 * rate, stride=rate)

    def forward(self, x: Tensor, memory: ConvMemory | None = None) -> Tensor:
        """The block's output [B, 2 C, ceil(T / rate)] for a clip x [B, C, T] or its next piece."""
        for unit in self.units:
            x = unit(x, memory)
        out: Tensor = self.down(self.act(x), memory)
        return out


class AutoencoderEncoder(nn.Module):
    """Samples to channels. With a state, a clip's pieces one after another; without, a clip."""

    def __init__(self, config: AutoencoderConfig) -> None:
        super().__init__()
        channels = [config.encoder_width * 2**level for level in range(len(config.encoder_rates))]
        self.input_conv = CausalConv1d(1, config.encoder_width, KERNEL)
        self.blocks = nn.ModuleList(
            DownsamplingBlock(width, rate)
            for width, rate in zip(channels, config.encoder_rates, strict=True)
        )
        last_width = 2 * channels[-1]
        self.transformer = (
            WindowedTransformer(config.encoder_transformer) if config.encoder_transformer else None
        )
        self.output_act = Snake(last_width)
        self.output_conv = CausalConv1d(last_width, config.latent_dim, LAST_KERNEL)

    def forward(self, samples: Tensor, state: CausalState | None = None) -> Tensor:
        """The channels [B, C, T] of samples [B, N] in -1..1; T = N / the rates' product.

        A clip that ends inside a position is filled with silence; a piece must not.
        """
        memory = state.memory if state else None
        hidden = self.input_conv(samples[:, None], memory)
        for block in self.blocks:
            hidden = block(hidden, memory)
        if self.transformer is not None:
            hidden = self.transformer(hidden, state)
        out: Tensor = self.output_conv(self.output_act(hidden), memory)
        return out
