"""Small programs of the native codec with random weights, one for each kind of layer."""

import numpy as np
from numpy.typing import NDArray

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
    linear,
    project_heads,
    upsampling,
)  # fmt: skip

N_ENTRIES = 9


def numbers(*shape: int, seed: int = 0, scale: float = 0.3) -> FloatArray:
    drawn = np.random.default_rng([seed, *shape]).normal(0, scale, shape)
    return drawn.astype(np.float32)


def codes(n_frames: int, n_codebooks: int = 3, seed: int = 1) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, N_ENTRIES, (n_frames, n_codebooks))


def conv(n_out: int, n_in: int, taps: int = 1, dilation: int = 1, seed: int = 0) -> Conv:
    weight = numbers(n_out, n_in, taps, seed=seed, scale=(n_in * taps) ** -0.5)
    return Conv(weight, numbers(n_out, seed=seed, scale=0.1), dilation)


def around(*layers: Layer, size: int) -> list[Layer]:
    """A whole decoder around layers that take 10 channels and give `size`."""
    lookup = Lookup((numbers(1, N_ENTRIES, 5, scale=1), numbers(2, N_ENTRIES, 5, scale=0.7)))
    weight = numbers(size, 3, scale=0.2 * (3 * size) ** -0.5)
    return [lookup, conv(10, 10, seed=4), *layers, Output(weight, 0.02)]


def snake(size: int) -> Snake:
    return Snake(np.exp(numbers(size, seed=7)), np.exp(numbers(size, seed=8)))


def heads(n_heads: int, n_kv_heads: int, head_dim: int, window: int) -> tuple[Layer, ...]:
    frequencies = (10_000.0 ** -np.linspace(0, 1, head_dim // 2)).astype(np.float32)
    size, kv_size = n_heads * head_dim, n_kv_heads * head_dim
    query, key, value = (numbers(n, 10, seed=n, scale=0.5) for n in (size, kv_size, kv_size + 1))
    return (
        project_heads(query, key, value[1:], head_dim),
        Attention(n_heads, n_kv_heads, head_dim, window, frequencies),
        linear(numbers(10, size, scale=0.5 * size**-0.5)),
    )


MANY_STEPS: tuple[Layer, ...] = (
    upsampling(numbers(10, 40, 48, scale=0.15), numbers(40), 24),
    Residual((snake(40), conv(40, 40, 7, 9), snake(40), conv(40, 40))),
    snake(40),
    upsampling(numbers(40, 20, 50, scale=0.07), numbers(20), 25),
    Residual((snake(20), conv(20, 20, 7), snake(20), conv(20, 20))),
    snake(20),
)

KINDS: dict[str, list[Layer]] = {
    "lookup": around(size=10),
    "projection": around(conv(45, 10), size=45),
    "convolution": around(conv(33, 10, 7), size=33),
    "dilation": around(conv(12, 10, 5, dilation=3), size=12),
    "snake": around(conv(40, 10), snake(40), conv(7, 40), size=7),
    "gelu": around(conv(40, 10), Gelu(), conv(7, 40), size=7),
    "gated": around(conv(2 * 21, 10), Gated(), conv(7, 21), size=7),
    "upsampling": around(upsampling(numbers(10, 6, 5), numbers(6), 2), size=6),
    "upsampling without overlap": around(upsampling(numbers(10, 6, 3), numbers(6), 3), size=6),
    "residual": around(Residual((snake(10), conv(10, 10, 7, 3), snake(10), conv(10, 10))), size=10),
    "norm": around(RmsNorm(1e-5), conv(11, 10), size=11),
    "mix": around(Residual((Mix(numbers(10, 7), numbers(10), 1e-6), conv(10, 10))), size=10),
    "attention": around(*heads(4, 2, 4, 3), size=10),
    "wide heads": around(*heads(2, 2, 64, 20), size=10),
    "narrow window": around(*heads(2, 1, 8, 1), size=10),
    "many steps": around(*MANY_STEPS, size=20),
    "all of it": around(
        *heads(2, 2, 64, 20),
        Residual((Mix(numbers(10, 7), numbers(10), 1e-6), conv(10, 10))),
        *MANY_STEPS,
        size=20,
    ),
}
