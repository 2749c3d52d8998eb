"""How a native codec's channels are padded, and its weights packed in tiles of 32 channels.

A `Place` says where each true channel stands among the padded ones, so that a gate's rows can be
interleaved and heads be widened. The same bytes serve every body of the library.

Legend: R rows, C input channels, K taps, d head size.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from menura.runtime.native.codec_layers import FloatArray

TILE = 32


@dataclass(frozen=True, eq=False)
class Place:
    """Where true channels stand: `at` [C] among `size` padded ones."""

    at: NDArray[np.int64]
    size: int


def rounded_up(n: int, to: int) -> int:
    """The next whole multiple of `to`."""
    return -(-n // to) * to


def evenly(n_channels: int) -> Place:
    """Channels one behind the other, then the padding."""
    return Place(np.arange(n_channels), rounded_up(n_channels, TILE))


def head_place(n_heads: int, head_dim: int) -> Place:
    """Heads [d] of which each half is padded on its own, because the halves turn together."""
    size = rounded_up(head_dim, TILE)
    inside = np.arange(head_dim)
    inside[head_dim // 2 :] += (size - head_dim) // 2
    at = np.arange(n_heads)[:, None] * size + inside
    return Place(at.reshape(-1), n_heads * size)


def spread(values: FloatArray, place: Place) -> FloatArray:
    """Values [C] at their places, zeros between."""
    filled = np.zeros(place.size, np.float32)
    filled[place.at] = values
    return filled


def tiles(weight: FloatArray, *, is_bfloat16: bool) -> NDArray[np.generic]:
    """Weights [R, C, K] in the order of reading: [tile, K, C, 32], or pairs of C in bfloat16."""
    _, n_in, taps = weight.shape
    if not is_bfloat16:
        return weight.reshape(-1, TILE, n_in, taps).transpose(0, 3, 2, 1)
    halves = _bfloat16(weight).reshape(-1, TILE, n_in // 2, 2, taps)
    return halves.transpose(0, 4, 2, 1, 3)


def _bfloat16(x: FloatArray) -> NDArray[np.uint16]:
    """The upper halves of float32 numbers, rounded to nearest, ties to even."""
    bits = x.view(np.uint32)
    odd = (bits >> 16) & 1
    return ((bits + (odd + 0x7FFF)) >> 16).astype(np.uint16)
