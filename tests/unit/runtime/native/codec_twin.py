"""The codec's layers in plain torch: what every body of the native library is compared with."""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from menura.runtime.native.codec_layers import (
    Attention,
    Conv,
    FloatArray,
    Gated,
    Gelu,
    Layer,
    Lookup,
    Mix,
    Output,
    Residual,
    RmsNorm,
    Snake,
)


def decode(layers: Iterable[Layer], codes: NDArray[np.int64]) -> FloatArray:
    """The samples [n] of codes [T, Q], in float64 inside."""
    listed = list(layers)
    assert isinstance(listed[0], Lookup)
    x = _entries(listed[0], codes)
    for layer in listed[1:]:
        x = run(layer, x)
    samples: FloatArray = x[0].float().numpy()
    return samples


def run(layer: Layer, x: Tensor) -> Tensor:  # noqa: C901, PLR0911 - one case a kind of layer
    """The output [R, T'] of one layer for x [C, T]."""
    match layer:
        case Conv():
            return _conv(layer, x)
        case Snake():
            frequency, scale = _wide(layer.frequency)[:, None], _wide(layer.scale)[:, None]
            return x + scale * torch.sin(x * frequency) ** 2
        case Gelu():
            return F.gelu(x)
        case Gated():
            gate, up = x.chunk(2)
            return F.silu(gate) * up
        case RmsNorm():
            return x * torch.rsqrt(x.pow(2).mean(0) + layer.eps)
        case Mix():
            padded = F.pad(x, (layer.weight.shape[1] - 1, 0))[None]
            weight = _wide(layer.weight)[:, None]
            mixed = F.conv1d(padded, weight, _wide(layer.bias), groups=len(weight))[0]
            return F.layer_norm(mixed.T, (len(mixed),), eps=layer.eps).T
        case Attention():
            return _attention(layer, x)
        case Output():
            padded = F.pad(x, (layer.weight.shape[1] - 1, 0))[None]
            samples = F.conv1d(padded, _wide(layer.weight)[None])[0] + layer.bias
            return torch.tanh(samples) if layer.is_tanh else samples.clamp(-1, 1)
        case Residual():
            inner = x
            for step in layer.inner:
                inner = run(step, inner)
            return x + inner
        case Lookup():
            raise AssertionError("a lookup stands first")


def _wide(array: FloatArray) -> Tensor:
    return torch.from_numpy(array.astype(np.float64))


def _entries(layer: Lookup, codes: NDArray[np.int64]) -> Tensor:
    """The channels [C, T] of codes [T, Q]."""
    rows, first = [], 0
    for group in layer.groups:
        mine = codes[:, first : first + len(group)]
        rows.append(sum(_wide(table)[mine[:, q]] for q, table in enumerate(group)))
        first += len(group)
    return torch.cat([row.T for row in rows if isinstance(row, Tensor)])


def _conv(layer: Conv, x: Tensor) -> Tensor:
    padded = F.pad(x, ((layer.weight.shape[2] - 1) * layer.dilation, 0))[None]
    rows = F.conv1d(padded, _wide(layer.weight), _wide(layer.bias), dilation=layer.dilation)[0]
    channels = len(rows) // layer.rate
    return rows.view(layer.rate, channels, -1).permute(1, 2, 0).reshape(channels, -1)


def _attention(layer: Attention, x: Tensor) -> Tensor:
    n_steps, d = x.shape[1], layer.head_dim
    heads = x.T.view(n_steps, -1, d).transpose(0, 1)
    queries, keys, values = torch.split(heads, [layer.n_heads, layer.n_kv_heads, layer.n_kv_heads])
    angles = torch.arange(n_steps)[:, None] * _wide(layer.frequencies)
    shared = layer.n_heads // layer.n_kv_heads
    keys = _turned(keys, angles).repeat_interleave(shared, dim=0)
    place = torch.arange(n_steps)
    behind = place[:, None] - place
    is_seen = (behind >= 0) & (behind < layer.window)
    values = values.repeat_interleave(shared, dim=0)
    gathered = F.scaled_dot_product_attention(
        _turned(queries, angles), keys, values, attn_mask=is_seen, scale=1.0
    )
    return gathered.transpose(0, 1).reshape(n_steps, -1).T


def _turned(x: Tensor, angles: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
