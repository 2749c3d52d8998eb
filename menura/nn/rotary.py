"""Rotary position embedding: a head's channels are turned by angles that grow with the position.

Source: Su et al., "RoFormer", 2021; the convention in which channel i is paired with i + d/2.
Legend: B rows, H heads, T positions, d channels of a head.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn


class Rotation(NamedTuple):
    """The cosines and sines [B, T, d] of the angles of every position and channel."""

    cos: Tensor
    sin: Tensor

    def to(self, dtype: torch.dtype) -> "Rotation":
        """The same tables [B, T, d] in another dtype."""
        return Rotation(self.cos.to(dtype), self.sin.to(dtype))


class Rotary(nn.Module):
    """The tables for given positions, always computed in float32.

    The frequencies are no buffer: a model's change of dtype would round them, and they must be
    there when the model is built without memory (on the meta device).
    """

    def __init__(self, head_dim: int, theta: float) -> None:
        super().__init__()
        exponents = torch.arange(0, head_dim, 2, dtype=torch.float32, device="cpu") / head_dim
        self._frequencies = 1.0 / (theta**exponents)

    def forward(self, positions: Tensor) -> Rotation:
        """The tables [B, T, d] in float32 for the positions [B, T]."""
        if self._frequencies.device != positions.device:
            self._frequencies = self._frequencies.to(positions.device)
        angles = positions[..., None].float() * self._frequencies
        angles = torch.cat((angles, angles), dim=-1)
        return Rotation(angles.cos(), angles.sin())


def rotate(x: Tensor, rotation: Rotation) -> Tensor:
    """Queries or keys [B, H, T, d] turned to their positions; the tables have the input's dtype."""
    first, second = x.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return x * rotation.cos[:, None] + turned * rotation.sin[:, None]
