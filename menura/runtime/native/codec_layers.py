"""The layers that a native codec decoder is described with, and how linear ones become one.

An engine lists its decoder in these records; nothing here knows an engine. All weights are float32.
Every linear layer is a `Conv`: a projection has one tap, and a transposed convolution is one whose
output channels are several steps of the output. What follows a linear layer without anything
between them is folded into it, so that the kernels see few, large products.

Legend: C input channels, R output rows (steps of the output times channels), K taps, Q codebooks,
V entries, D size of an entry.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Lookup:
    """Codes to channels: the summed entries [D] of each group of codebooks, one behind the other.

    `groups` are one or two arrays [Q, V, D]; the first holds the first codebooks.
    """

    groups: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class Conv:
    """A causal convolution: `weight` [R, C, K], the oldest tap first, and `bias` [R].

    A row is a channel of one of `rate` output steps: row = step * channels + channel.
    """

    weight: FloatArray
    bias: FloatArray
    dilation: int = 1
    rate: int = 1


@dataclass(frozen=True, eq=False)
class Snake:
    """x + sin(frequency * x)^2 * scale, each [C]; stands between two convolutions."""

    frequency: FloatArray
    scale: FloatArray


@dataclass(frozen=True)
class Gelu:
    """The exact GELU; stands between two convolutions."""


@dataclass(frozen=True)
class Gated:
    """SiLU of the first half of the channels times the second; stands between two convolutions."""


@dataclass(frozen=True)
class RmsNorm:
    """Division by the root mean square of the channels; its weight belongs into what follows."""

    eps: float


@dataclass(frozen=True, eq=False)
class Mix:
    """A causal convolution over time in each channel, then a layer norm without weights.

    `weight` [C, K], `bias` [C]; `eps` is the norm's.
    """

    weight: FloatArray
    bias: FloatArray
    eps: float


@dataclass(frozen=True, eq=False)
class Attention:
    """Causal attention over the last `window` frames, between two projections.

    Its input are queries, keys and values. Channel i of a head turns with i + d/2 by `frequencies`
    [d/2] times the position. Queries come scaled (see `project_heads`).
    """

    n_heads: int
    n_kv_heads: int
    head_dim: int
    window: int
    frequencies: FloatArray


@dataclass(frozen=True, eq=False)
class Output:
    """The last convolution, to one channel: `weight` [C, K]; samples limited to -1..1."""

    weight: FloatArray
    bias: float
    is_tanh: bool = False


@dataclass(frozen=True)
class Residual:
    """x + what the inner layers make of it."""

    inner: tuple["Layer", ...]


Layer = Lookup | Conv | Snake | Gelu | Gated | RmsNorm | Mix | Attention | Output | Residual


def linear(weight: FloatArray, bias: FloatArray | None = None) -> Conv:
    """A projection by `weight` [R, C] as a convolution of one tap."""
    return Conv(weight[:, :, None], np.zeros(len(weight), np.float32) if bias is None else bias)


def upsampling(weight: FloatArray, bias: FloatArray, stride: int) -> Conv:
    """A causal transposed convolution, `weight` [C, O, kernel] as torch has it, as a `Conv`.

    Output step t * stride + j hears input t by the kernel's step j, input t - 1 by j + stride, and
    so on; a kernel that is no whole strides is filled up with zeros.
    """
    n_in, n_out, kernel = weight.shape
    taps = -(-kernel // stride)
    filled = np.zeros((n_in, n_out, taps * stride), np.float32)
    filled[:, :, :kernel] = weight
    by_tap = filled.reshape(n_in, n_out, taps, stride)[:, :, ::-1]
    rows = by_tap.transpose(3, 1, 0, 2).reshape(stride * n_out, n_in, taps)
    return Conv(rows, np.tile(bias, stride), rate=stride)


def folded(layers: Iterable[Layer]) -> Iterator[Layer]:
    """The same layers with fewer convolutions: neighbours become one where that saves products."""
    held: Conv | None = None
    for layer in layers:
        joined = _joined(held, layer) if held and isinstance(layer, Conv) else None
        if held and not joined:
            yield held
        held = joined or (layer if isinstance(layer, Conv) else None)
        if not held:
            yield Residual(tuple(folded(layer.inner))) if isinstance(layer, Residual) else layer
    if held:
        yield held


def _joined(first: Conv, second: Conv) -> Conv | None:
    """One convolution for two, or None where there is none, or it would have more weights."""
    _, n_in, first_taps = first.weight.shape
    n_second, _, second_taps = second.weight.shape
    n_weights = n_second * n_in * max(first_taps, second_taps)
    # In front of a clip stand zeros; a bias would not stand there, so it passes one tap only.
    is_one = second_taps == 1 or (first_taps == 1 and not first.bias.any())
    if first.rate > 1 or not is_one or n_weights > first.weight.size + second.weight.size:
        return None
    weight = np.einsum("rmk,mcj->rckj", second.weight, first.weight, optimize=True)
    bias = second.bias + second.weight[:, :, 0] @ first.bias
    dilation = first.dilation if second_taps == 1 else second.dilation
    return Conv(weight.reshape(n_second, n_in, -1), bias, dilation, second.rate)


def with_input_scale(conv: Conv, scale: FloatArray, shift: FloatArray | None = None) -> Conv:
    """The convolution of scale [C] * x + shift [C], as a norm's weights ask for."""
    taps = conv.weight.shape[2]
    assert shift is None or taps == 1, "the padding would carry the shift"
    bias = conv.bias if shift is None else conv.bias + conv.weight[:, :, 0] @ shift
    return replace(conv, weight=conv.weight * scale[None, :, None], bias=bias)


def with_output_scale(conv: Conv, scale: FloatArray) -> Conv:
    """The convolution with its output times scale [R]."""
    return replace(conv, weight=conv.weight * scale[:, None, None], bias=conv.bias * scale)


def project_heads(query: FloatArray, key: FloatArray, value: FloatArray, head_dim: int) -> Conv:
    """One projection to queries, keys and values, of weights [R, C]; the queries are scaled."""
    return linear(np.concatenate([query * np.float32(head_dim**-0.5), key, value]))
