import numpy as np
import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from menura.runtime.native.codec_layers import (
    Conv,
    FloatArray,
    Layer,
    Residual,
    Snake,
    folded,
    linear,
    project_heads,
    upsampling,
    with_input_scale,
    with_output_scale,
)
from tests.unit.runtime.native import codec_twin


def numbers(*shape: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(np.float32)


def conv(n_out: int, n_in: int, taps: int, dilation: int = 1, *, has_bias: bool = True) -> Conv:
    bias = numbers(n_out) if has_bias else np.zeros(n_out, np.float32)
    return Conv(numbers(n_out, n_in, taps), bias, dilation)


def ran(layers: list[Layer]) -> FloatArray:
    """The output of the layers for five channels of nine steps."""
    x = torch.from_numpy(numbers(5, 9, seed=3)).double()
    for layer in layers:
        x = codec_twin.run(layer, x)
    out: FloatArray = x.numpy()
    return out


@pytest.mark.parametrize(("kernel", "stride"), [(2, 2), (6, 3), (5, 2), (3, 1), (7, 3)])
def test_an_upsampling_is_a_transposed_convolution(kernel: int, stride: int) -> None:
    weight, bias = numbers(5, 4, kernel), numbers(4)
    x = torch.from_numpy(numbers(5, 9, seed=3))
    wanted = F.conv_transpose1d(
        x[None], torch.from_numpy(weight), torch.from_numpy(bias), stride=stride
    )[0, :, : 9 * stride]
    got = ran([upsampling(weight, bias, stride)])
    np.testing.assert_allclose(got, wanted.numpy(), rtol=0, atol=1e-5)


FOLDS: dict[str, tuple[list[Layer], int]] = {
    "projections": ([conv(3, 5, 1), conv(5, 3, 1), conv(2, 5, 1)], 1),
    "a projection behind taps": ([conv(5, 5, 3, 2), conv(4, 5, 1)], 1),
    "taps behind a projection": ([conv(5, 5, 1, has_bias=False), conv(4, 5, 3, 2)], 1),
    "taps behind a bias": ([conv(5, 5, 1), conv(4, 5, 3)], 2),
    "taps behind taps": ([conv(5, 5, 3), conv(4, 5, 3)], 2),
    "an upsampling behind a projection": (
        [conv(6, 5, 1), upsampling(numbers(6, 4, 2), numbers(4), 2)],
        1,
    ),
    "a projection behind an upsampling": (
        [upsampling(numbers(5, 4, 2), numbers(4), 2), conv(4, 4, 1)],
        2,
    ),
    "a narrow place between": ([conv(1, 5, 1), conv(9, 1, 1)], 2),
    "something between": ([conv(5, 5, 1), Snake(numbers(5), numbers(5)), conv(2, 5, 1)], 3),
}


@pytest.mark.parametrize("case", FOLDS)
def test_neighbours_become_one_where_that_changes_nothing(case: str) -> None:
    layers, n_left = FOLDS[case]
    fewer = list(folded(layers))
    assert len(fewer) == n_left
    np.testing.assert_allclose(ran(fewer), ran(layers), rtol=0, atol=1e-5)


def test_layers_inside_a_residual_are_folded_too() -> None:
    [outer] = folded([Residual((conv(5, 5, 1), conv(5, 5, 1)))])
    assert isinstance(outer, Residual)
    assert len(outer.inner) == 1


def test_scales_go_into_a_convolution() -> None:
    given, scale, shift = conv(4, 5, 1), numbers(5, seed=1), numbers(5, seed=2)
    x = numbers(5, 9, seed=3).astype(np.float64)
    inside = scale[:, None] * x + shift[:, None]
    wanted = given.weight[:, :, 0] @ inside + given.bias[:, None]
    np.testing.assert_allclose(
        ran([with_input_scale(given, scale, shift)]), wanted, rtol=0, atol=1e-5
    )
    outside = numbers(4, seed=4)
    np.testing.assert_allclose(
        ran([with_output_scale(given, outside)]),
        outside[:, None] * ran([given]),
        rtol=0,
        atol=1e-5,
    )


def test_a_shift_does_not_go_behind_padding() -> None:
    with pytest.raises(AssertionError, match="padding"):
        with_input_scale(conv(4, 5, 3), numbers(5), numbers(5))


def test_queries_come_scaled() -> None:
    query, key, value = numbers(8, 5), numbers(4, 5), numbers(4, 5, seed=1)
    together = project_heads(query, key, value, 4)
    assert np.array_equal(together.weight[:8, :, 0], query / 2)
    assert np.array_equal(together.weight[8:, :, 0], np.concatenate([key, value]))
    assert not linear(query).bias.any()
