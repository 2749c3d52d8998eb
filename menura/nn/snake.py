"""Snake: x + sin(a x)^2 / b, an activation with a period of its own in every channel.

Source: Ziyin et al. 2020, "Neural networks fail to learn periodic functions and how to fix it"
(one parameter, b = a); BigVGAN (Lee et al. 2023) for two parameters on a log scale.
Legend: B rows, C channels, T time steps.
"""

import torch
from torch import Tensor, nn

TINY = 1e-9  # keeps 1 / b finite


class Snake(nn.Module):
    """x + sin(alpha x)^2 / (alpha + 1e-9), with a learnt alpha a channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.empty(1, channels, 1))

    def forward(self, x: Tensor) -> Tensor:
        """The activations [B, C, T] of x [B, C, T]."""
        return _waved(x, self.alpha, 1.0 / (self.alpha + TINY))


class SnakeBeta(nn.Module):
    """x + sin(exp(alpha) x)^2 / (exp(beta) + 1e-9), with a learnt alpha and beta a channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.empty(channels))
        self.beta = nn.Parameter(torch.empty(channels))

    def forward(self, x: Tensor) -> Tensor:
        """The activations [B, C, T] of x [B, C, T]."""
        frequency = self.alpha[:, None].exp()
        return _waved(x, frequency, 1.0 / (self.beta[:, None].exp() + TINY))


def _waved(x: Tensor, frequency: Tensor, scale: Tensor) -> Tensor:
    """The input + scale * sin(frequency x)^2 [B, C, T]; frequency and scale are [C, 1] or alike."""
    return x + scale * torch.sin(x * frequency).pow(2)
