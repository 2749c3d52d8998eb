"""The blocks that neural audio codecs are built of: residual units, and steps up in rate.

Source: Zeghidour et al. 2021 (SoundStream) for the residual unit and the upsampling block; Siuzdak
2023 (Vocos) for ConvNeXt blocks.
Legend: B rows, C channels, T time steps.
"""

from collections.abc import Callable

from torch import Tensor, nn

from menura.nn.causal_conv import CausalConv1d, CausalConvTranspose1d, ConvMemory
from menura.nn.convnext import ConvNeXtBlock

KERNEL = 7
DILATIONS = (1, 3, 9)

# An activation for so many channels.
ActivationMaker = Callable[[int], nn.Module]


class ResidualUnit(nn.Module):
    """x + what a dilated and a pointwise convolution make of it, each behind an activation."""

    def __init__(self, channels: int, dilation: int, activation: ActivationMaker) -> None:
        super().__init__()
        self.dilated_act = activation(channels)
        self.dilated = CausalConv1d(channels, channels, KERNEL, dilation=dilation)
        self.pointwise_act = activation(channels)
        self.pointwise = CausalConv1d(channels, channels, 1)

    def forward(self, x: Tensor, memory: ConvMemory | None = None) -> Tensor:
        """The unit's output [B, C, T] for a clip x [B, C, T], or for its next piece."""
        hidden = self.dilated(self.dilated_act(x), memory)
        added: Tensor = self.pointwise(self.pointwise_act(hidden), memory)
        return added.add_(x)  # in place: no other tensor of this size


class UpsamplingBlock(nn.Module):
    """`rate` times the steps with other channels, then residual units of growing reach."""

    def __init__(
        self, in_channels: int, out_channels: int, rate: int, activation: ActivationMaker
    ) -> None:
        super().__init__()
        self.act = activation(in_channels)
        self.up = CausalConvTranspose1d(in_channels, out_channels, 2 * rate, stride=rate)
        self.units = nn.ModuleList(
            ResidualUnit(out_channels, dilation, activation) for dilation in DILATIONS
        )

    def forward(self, x: Tensor, memory: ConvMemory | None = None) -> Tensor:
        """The block's output [B, C', T * rate] for a clip x [B, C, T], or for its next piece."""
        x = self.up(self.act(x), memory)
        for unit in self.units:
            x = unit(x, memory)
        return x


class LatentUpsampling(nn.Module):
    """`ratio` times the steps of the latents, then a ConvNeXt block."""

    def __init__(self, channels: int, ratio: int) -> None:
        super().__init__()
        self.up = CausalConvTranspose1d(channels, channels, ratio, stride=ratio)
        self.mix = ConvNeXtBlock(channels)

    def forward(self, x: Tensor, memory: ConvMemory | None = None) -> Tensor:
        """The latents [B, C, T * ratio] for a clip x [B, C, T], or for its next piece."""
        out: Tensor = self.mix(self.up(x, memory), memory)
        return out
