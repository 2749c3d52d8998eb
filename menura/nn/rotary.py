"""Rotary position embedding: a head's channels are turned by angles that grow with the position.

Two channels make a pair and are turned together. Models differ in which two: channel i and
i + d/2 (`Rotary`), or the neighbours 2i and 2i + 1 (`PairRotary`).

Source: Su et al., "RoFormer", 2021 (neighbours); GPT-NeoX, 2022 (halves).
Legend: B rows, H heads, T positions, d channels of a head.
"""

from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor, nn


class Rotation(Protocol):
    """The angles of some positions, as tables; it knows how to turn queries and keys by them."""

    def to(self, dtype: torch.dtype) -> Self:
        """The same angles, ready for queries and keys [B, H, T, d] of this dtype."""
        ...

    def turn(self, x: Tensor) -> Tensor:
        """Queries or keys [B, H, T, d] turned to their positions, in their own dtype."""
        ...


class HalfRotation(NamedTuple):
    """The cosines and sines [B, T, d] where channel i is paired with i + d/2.

    The tables have the dtype of what they turn, so the products are rounded to it.
    """

    cos: Tensor
    sin: Tensor

    def to(self, dtype: torch.dtype) -> "HalfRotation":
        """The same tables [B, T, d] in another dtype."""
        return HalfRotation(self.cos.to(dtype), self.sin.to(dtype))

    def turn(self, x: Tensor) -> Tensor:
        """Queries or keys [B, H, T, d] turned to their positions."""
        first, second = x.chunk(2, dim=-1)
        turned = torch.cat((-second, first), dim=-1)
        return x * self.cos[:, None] + turned * self.sin[:, None]


class PairRotation(NamedTuple):
    """cos + i sin, complex64 [B, T, d/2], where channel 2i is paired with 2i + 1.

    A pair of channels is a complex number, and turning it is one product in float32.
    """

    angles: Tensor

    def to(self, dtype: torch.dtype) -> "PairRotation":
        """The same table [B, T, d/2]: its products are in float32 for inputs of every dtype."""
        del dtype
        return self

    def turn(self, x: Tensor) -> Tensor:
        """Queries or keys [B, H, T, d] turned to their positions, rounded once at the end."""
        pairs = torch.view_as_complex(x.float().view(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.angles[:, None]).flatten(-2).to(x.dtype)


class _Frequencies(nn.Module):
    """The angles of given positions, always computed in float32.

    The frequencies are no buffer: a model's change of dtype would round them, and they must be
    there when the model is built without memory (on the meta device).
    """

    def __init__(self, head_dim: int, theta: float) -> None:
        super().__init__()
        exponents = torch.arange(0, head_dim, 2, dtype=torch.float32, device="cpu") / head_dim
        self._frequencies = 1.0 / (theta**exponents)

    def angles(self, positions: Tensor) -> Tensor:
        """The angle [B, T, d/2] of every pair at the positions [B, T]."""
        if self._frequencies.device != positions.device:
            self._frequencies = self._frequencies.to(positions.device)
        return positions[..., None].float() * self._frequencies


class Rotary(_Frequencies):
    """The tables for given positions, where channel i is paired with i + d/2."""

    def forward(self, positions: Tensor) -> HalfRotation:
        """The tables [B, T, d] in float32 for the positions [B, T]."""
        angles = self.angles(positions)
        angles = torch.cat((angles, angles), dim=-1)
        return HalfRotation(angles.cos(), angles.sin())


class PairRotary(_Frequencies):
    """The table for given positions, where channel 2i is paired with 2i + 1.

    `table_dtype` is the dtype that the cosines and sines are rounded to; some models were trained
    with rounded ones. The products stay in float32.
    """

    def __init__(
        self, head_dim: int, theta: float, table_dtype: torch.dtype = torch.float32
    ) -> None:
        super().__init__(head_dim, theta)
        self._table_dtype = table_dtype

    def forward(self, positions: Tensor) -> PairRotation:
        """The table [B, T, d/2] for the positions [B, T]."""
        angles = self.angles(positions)
        cos, sin = (table.to(self._table_dtype).float() for table in (angles.cos(), angles.sin()))
        return PairRotation(torch.complex(cos, sin))
