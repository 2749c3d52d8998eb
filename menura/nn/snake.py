"""SnakeBeta: x + sin(a x)^2 / b, an activation with a period of its own in every channel.

Source: Ziyin et al. 2020, "Neural networks fail to learn periodic functions and how to fix it";
BigVGAN (Lee et al. 2023) for the two log-scale parameters.
"""

import torch
from torch import Tensor, nn

TINY = 1e-9  # keeps 1 / b finite


class SnakeBeta(nn.Module):
    """x + sin(exp(alpha) x)^2 / (exp(beta) + 1e-9), with a learnt alpha and beta a channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.empty(channels))
        self.beta = nn.Parameter(torch.empty(channels))

    def forward(self, x: Tensor) -> Tensor:
        """The activations [B, C, T] of x [B, C, T]."""
        frequency = self.alpha[:, None].exp()
        scale = 1.0 / (self.beta[:, None].exp() + TINY)
        return x + scale * torch.sin(x * frequency).pow(2)
