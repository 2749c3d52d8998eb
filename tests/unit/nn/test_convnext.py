import math

import numpy as np
import torch

from menura.nn.causal_conv import ConvMemory
from menura.nn.convnext import ConvNeXtBlock
from tests.unit.nn.random_weights import fill

CHANNELS = 3


def block() -> ConvNeXtBlock:
    made = ConvNeXtBlock(CHANNELS)
    fill(made)
    return made


def signal(n_steps: int) -> torch.Tensor:
    return torch.randn(2, CHANNELS, n_steps, generator=torch.Generator().manual_seed(1))


def test_the_block_is_its_formula() -> None:
    layer = block()
    values = {name: p.detach().double().numpy() for name, p in layer.named_parameters()}
    x = signal(9)
    padded = np.pad(x.double().numpy(), ((0, 0), (0, 0), (6, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, 7, axis=2)
    mixed = (windows * values["depthwise.conv.weight"][:, 0][None, :, None]).sum(-1)
    mixed = (mixed + values["depthwise.conv.bias"][:, None]).transpose(0, 2, 1)
    centred = mixed - mixed.mean(-1, keepdims=True)
    normed = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-6)
    normed = normed * values["norm.weight"] + values["norm.bias"]
    wide = normed @ values["expand.weight"].T + values["expand.bias"]
    wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
    narrow = wide @ values["shrink.weight"].T + values["shrink.bias"]
    expected = x.double().numpy() + (values["gamma"] * narrow).transpose(0, 2, 1)
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, rtol=0, atol=2e-6)


def test_pieces_join_to_the_whole() -> None:
    layer, memory, x = block(), ConvMemory(), signal(11)
    pieces = [layer(piece, memory) for piece in torch.split(x, [1, 7, 3], dim=-1)]
    torch.testing.assert_close(torch.cat(pieces, dim=-1), layer(x), rtol=0, atol=2e-6)
