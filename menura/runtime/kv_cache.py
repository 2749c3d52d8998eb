"""Where a transformer keeps the keys and values of earlier positions.

Every cache fits `menura.nn.attention.LayerCache`, so a model does not know which one it has.

Legend: B rows, G key heads, T new positions, S all positions, d channels of a head.
"""

from typing import Self

import torch
from torch import Tensor


class GrowingCache:
    """A cache that grows by joining, as long as the utterance is: the plain, exact one."""

    def __init__(self) -> None:
        self._layers: dict[int, tuple[Tensor, Tensor]] = {}

    @property
    def n_positions(self) -> int:
        """How many positions every layer holds between two steps."""
        return next((keys.shape[-2] for keys, _ in self._layers.values()), 0)

    def update(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values [B, G, S, d] of the layer after these new ones [B, G, T, d]."""
        if layer in self._layers:
            old_keys, old_values = self._layers[layer]
            keys = torch.cat((old_keys, keys), dim=-2)
            values = torch.cat((old_values, values), dim=-2)
        self._layers[layer] = (keys, values)
        return keys, values


class WindowCache:
    """The keys and values of the last `n_kept` positions, for each layer of a model."""

    def __init__(self, n_kept: int) -> None:
        self._n_kept = n_kept
        self._layers: dict[int, tuple[Tensor, Tensor]] = {}

    @property
    def n_positions(self) -> int:
        """How many earlier positions are held."""
        return self._layers[0][0].shape[2] if self._layers else 0

    def update(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """The held and the new keys and values [B, G, S, d], after the new ones [B, G, T, d]."""
        if layer in self._layers:
            held_keys, held_values = self._layers[layer]
            keys = torch.cat([held_keys, keys], dim=2)
            values = torch.cat([held_values, values], dim=2)
        first = max(0, keys.shape[2] - self._n_kept)
        self._layers[layer] = (keys[:, :, first:].clone(), values[:, :, first:].clone())
        return keys, values

    def copy(self) -> Self:
        """The same positions, to go on from here on its own (held tensors are not written)."""
        twin = type(self)(self._n_kept)
        twin._layers.update(self._layers)
        return twin
