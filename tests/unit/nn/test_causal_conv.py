import numpy as np
import pytest
import torch
from torch import Tensor

from menura.nn.causal_conv import CausalConv1d, CausalConvTranspose1d, ConvMemory, PadMode
from tests.unit.nn.random_weights import fill

Causal = CausalConv1d | CausalConvTranspose1d


def signal(n_steps: int, channels: int = 4, seed: int = 1) -> Tensor:
    return torch.randn(2, channels, n_steps, generator=torch.Generator().manual_seed(seed))


def conv(
    kernel: int,
    *,
    stride: int = 1,
    dilation: int = 1,
    bias: bool = True,
    pad_mode: PadMode = "constant",
) -> CausalConv1d:
    layer = CausalConv1d(
        4, 6, kernel, stride=stride, dilation=dilation, bias=bias, pad_mode=pad_mode
    )
    fill(layer)
    return layer


def transposed(kernel: int, stride: int) -> CausalConvTranspose1d:
    layer = CausalConvTranspose1d(4, 3, kernel, stride=stride)
    fill(layer)
    return layer


def in_pieces(layer: Causal, x: Tensor, *ends: int) -> Tensor:
    memory = ConvMemory()
    starts = (0, *ends)
    stops = (*ends, x.shape[-1])
    pieces = [layer(x[..., a:b], memory) for a, b in zip(starts, stops, strict=True)]
    return torch.cat(pieces, dim=-1)


def by_definition(layer: CausalConv1d, x: Tensor, dilation: int = 1) -> Tensor:
    """Every output as its own sum over the kernel, in float64."""
    weight = layer.conv.weight.detach().double().numpy()
    values = x.double().numpy()
    n_rows, _, n_steps = values.shape
    n_out, _, kernel = weight.shape
    stride = layer.stride
    out = np.zeros((n_rows, n_out, -(-n_steps // stride)))
    for step in range(out.shape[-1]):
        newest = step * stride + stride - 1
        for k in range(kernel):
            at = newest - (kernel - 1 - k) * dilation
            if 0 <= at < n_steps:
                out[..., step] += values[..., at] @ weight[..., k].T
    bias = layer.conv.bias
    return torch.from_numpy(out if bias is None else out + bias.detach().numpy()[:, None])


@pytest.mark.parametrize("n_steps", [1, 2, 7, 12])
@pytest.mark.parametrize(
    ("kernel", "stride", "dilation"), [(1, 1, 1), (7, 1, 1), (3, 1, 9), (4, 2, 1), (12, 6, 1)]
)
def test_a_convolution_reads_zeros_before_the_clip_and_after_it(
    kernel: int, stride: int, dilation: int, n_steps: int
) -> None:
    layer = conv(kernel=kernel, stride=stride, dilation=dilation)
    x = signal(n_steps)
    torch.testing.assert_close(
        layer(x).double(), by_definition(layer, x, dilation), rtol=0, atol=1e-5
    )


@pytest.mark.parametrize(("n_steps", "n_before", "n_after"), [(1, 2, 1), (4, 2, 0), (5, 2, 1)])
def test_replicate_repeats_the_first_and_the_last_step(
    n_steps: int, n_before: int, n_after: int
) -> None:
    layer = conv(kernel=4, stride=2, bias=False, pad_mode="replicate")
    x = signal(n_steps)
    padded = torch.cat(
        [x[..., :1].repeat(1, 1, n_before), x, x[..., -1:].repeat(1, 1, n_after)], dim=-1
    )
    assert torch.equal(layer(x), layer.conv(padded))


def test_a_convolution_never_looks_ahead() -> None:
    layer = conv(kernel=5, dilation=2)
    x = signal(20).requires_grad_()
    layer(x)[..., 11].sum().backward()
    assert x.grad is not None
    reached = x.grad.abs().sum(dim=(0, 1)).nonzero().flatten().tolist()
    assert reached == [3, 5, 7, 9, 11]


def test_a_transposed_convolution_never_looks_ahead() -> None:
    layer = transposed(kernel=6, stride=3)
    x = signal(5).requires_grad_()
    layer(x)[..., 6:9].sum().backward()
    assert x.grad is not None
    assert x.grad.abs().sum(dim=(0, 1)).nonzero().flatten().tolist() == [1, 2]


@pytest.mark.parametrize(("kernel", "stride"), [(2, 2), (6, 3), (5, 3), (16, 8)])
def test_a_transposed_convolution_has_stride_outputs_a_step(kernel: int, stride: int) -> None:
    layer = transposed(kernel, stride)
    x = signal(7)
    assert torch.equal(layer(x), layer.conv(x)[..., : 7 * stride])


@pytest.mark.parametrize("ends", [(1,), (1, 2, 3, 4), (10,), (4, 5, 12)])
@pytest.mark.parametrize(
    "layer",
    [
        conv(kernel=1),
        conv(kernel=7),
        conv(kernel=3, dilation=9),
        transposed(2, 2),
        transposed(6, 3),
        transposed(7, 2),
    ],
)
def test_pieces_join_to_the_whole(layer: Causal, ends: tuple[int, ...]) -> None:
    x = signal(13)
    torch.testing.assert_close(in_pieces(layer, x, *ends), layer(x), rtol=0, atol=2e-6)


@pytest.mark.parametrize("layer", [transposed(6, 3), transposed(7, 2)])
def test_long_pieces_join_to_the_whole_as_short_ones_do(layer: CausalConvTranspose1d) -> None:
    x = signal(30)
    torch.testing.assert_close(in_pieces(layer, x, 2, 25), layer(x), rtol=0, atol=2e-6)


def test_whole_strides_in_pieces_join_to_the_whole() -> None:
    layer = conv(kernel=4, stride=2)
    x = signal(12)
    torch.testing.assert_close(in_pieces(layer, x, 2, 8), layer(x), rtol=0, atol=2e-6)


def test_a_piece_that_ends_inside_a_stride_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError, match="inside a stride"):
        conv(kernel=4, stride=2)(signal(3), ConvMemory())


@pytest.mark.parametrize("layer", [conv(kernel=5), transposed(6, 3)])
def test_a_copied_memory_goes_on_alone(layer: Causal) -> None:
    memory = ConvMemory()
    layer(signal(6), memory)
    twin = memory.copy()
    here = layer(signal(4, seed=2), memory)
    layer(signal(4, seed=3), memory)
    assert torch.equal(layer(signal(4, seed=2), twin), here)


def test_layers_do_not_share_a_tail() -> None:
    first, second = conv(kernel=3), conv(kernel=3)
    memory = ConvMemory()
    first(signal(4), memory)
    assert torch.equal(second(signal(4), memory), second(signal(4)))


def test_a_tail_does_not_keep_the_piece_alive() -> None:
    memory = ConvMemory()
    layer = conv(kernel=3)
    layer(signal(1000), memory)
    tail = memory.tail(layer)
    assert tail is not None
    assert tail.shape == (2, 4, 2)
    assert tail.untyped_storage().nbytes() == 2 * 4 * 2 * 4
