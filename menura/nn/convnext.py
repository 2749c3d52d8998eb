"""A causal ConvNeXt block: mix over time in each channel, then over channels in each time step.

Source: Liu et al. 2022, "A ConvNet for the 2020s", over one dimension as in Vocos (Siuzdak 2023).
Legend: B rows, C channels, T time steps.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from menura.nn.causal_conv import CausalConv1d, ConvMemory

KERNEL = 7
EXPANSION = 4
NORM_EPS = 1e-6


class ConvNeXtBlock(nn.Module):
    """x + gamma * MLP(LayerNorm(depthwise convolution of x))."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = CausalConv1d(channels, channels, KERNEL, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=NORM_EPS)
        self.expand = nn.Linear(channels, EXPANSION * channels)
        self.shrink = nn.Linear(EXPANSION * channels, channels)
        self.gamma = nn.Parameter(torch.empty(channels))

    def forward(self, x: Tensor, memory: ConvMemory | None = None) -> Tensor:
        """The block's output [B, C, T] for a clip x [B, C, T], or for its next piece."""
        hidden = self.depthwise(x, memory).transpose(1, 2)
        hidden = self.shrink(F.gelu(self.expand(self.norm(hidden))))
        out: Tensor = x + (self.gamma * hidden).transpose(1, 2)
        return out
